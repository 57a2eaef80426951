// wgmma.mma_async: matrix descriptors (PTX ISA 9.7.15.5.1.2), and the product of one warp.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/matrix/engine.hpp"
#include "emulator/matrix/matrix.hpp"
#include "emulator/matrix/sparse.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned chunk_bytes = 16;  // what descriptors count in: 128 bits
constexpr unsigned a_chunks = 2;      // K of A is 32 bytes
constexpr unsigned most_b_chunks = 4, most_n = 256;

/// 16-byte chunks of eight neighbours: of rows of a K-major matrix, of k of an MN-major one.
struct Block {
    std::uint32_t begin = 0;  ///< before swizzling
    std::uint32_t step = 0;
};

/// Matrix descriptor format, 9.7.15.5.1.2.2.
class Descriptor {
  public:
    Descriptor(std::uint64_t bits, bool mn_major)
        : start_(field(bits, 0)),
          leading_(field(bits, 16)),
          stride_(field(bits, 32)),
          base_(static_cast<std::uint32_t>(bits >> 49 & 7)),
          mn_major_(mn_major) {
        constexpr std::uint32_t widths[] = {16, 128, 64, 32};
        width_ = widths[bits >> 62];
    }

    /// The block of rows (columns of B) 8 * mn and on, chunk `k` of K; of an MN-major matrix k = 8 * k and
    /// on. The canonical layouts of 9.7.15.5.1.2.1.3: what is inside of a block is one atom, and has its
    /// width for step.
    [[nodiscard]] Block block(unsigned mn, unsigned k) const {
        if (!mn_major_) return {start_ + mn * stride_ + k * (is_swizzled() ? chunk_bytes : leading_), width_};
        if (!is_swizzled()) return {start_ + mn * stride_ + k * leading_, width_};
        const unsigned chunks = width_ / chunk_bytes;
        return {start_ + mn % chunks * chunk_bytes + mn / chunks * leading_ + k * stride_, width_};
    }

    /// Bits 4 to 6 are changed by bits 7 to 9, counted from where the pattern begins.
    [[nodiscard]] std::uint32_t swizzled(std::uint32_t address) const {
        const std::uint32_t mask = width_ / chunk_bytes - 1;
        return address ^ ((((address >> 7) - base_) & mask) << 4);
    }

    /// Nothing of the blocks before `mn` and `k` lies behind it: swizzling leaves a chunk in its 128 bytes.
    [[nodiscard]] std::uint64_t end(unsigned mn, unsigned k) const {
        constexpr std::uint64_t line = 128;
        const unsigned chunks = width_ / chunk_bytes, m = mn - 1, l = k - 1;
        const std::uint64_t leading = leading_, stride = stride_;
        std::uint64_t begin = start_;
        if (!is_swizzled()) return begin + m * stride + l * leading + 7 * std::uint64_t{width_} + chunk_bytes;
        if (mn_major_)
            begin += m / chunks * leading + l * stride + std::uint64_t{std::min(m, chunks - 1)} * chunk_bytes;
        else
            begin += m * stride + std::uint64_t{l} * chunk_bytes;
        return ((begin + 7 * std::uint64_t{width_}) | (line - 1)) + 1;
    }

    [[nodiscard]] bool is_swizzled() const { return width_ != chunk_bytes; }
    [[nodiscard]] bool holds(unsigned chunks) const {
        return mn_major_ || !is_swizzled() || chunks * chunk_bytes <= width_;
    }
    [[nodiscard]] std::uint32_t start() const { return start_; }
    [[nodiscard]] bool is_mn_major() const { return mn_major_; }

  private:
    static std::uint32_t field(std::uint64_t bits, unsigned at) {
        return static_cast<std::uint32_t>(bits >> at & 0x3FFF) << 4;
    }

    std::uint32_t start_, leading_, stride_, base_, width_ = 0;
    bool mn_major_;
};

/// Reads blocks into registers of the layout that mma has: lane 4g + t the t-th word of row g's chunk.
class Reader {
  public:
    Reader(const Descriptor& descriptor, SharedMemory shared, char operand)
        : descriptor_(descriptor), shared_(shared), operand_(operand) {}

    /// Whether `count` blocks from `first` on, of `chunks` chunks, lie in shared memory; if not, where not.
    [[nodiscard]] std::optional<WgmmaFault> find_fault(unsigned first, unsigned count,
                                                       unsigned chunks) const {
        if (descriptor_.end(first + count, chunks) <= shared_.size) return std::nullopt;
        for (unsigned k = 0; k < chunks; ++k)
            for (unsigned i = first; i < first + count; ++i) {
                const Block block = descriptor_.block(i, k);
                for (std::uint32_t r = 0; r < 8; ++r)
                    if (const std::uint32_t address = descriptor_.swizzled(block.begin + r * block.step);
                        address + chunk_bytes > shared_.size)
                        return WgmmaFault{operand_, WgmmaFault::Reason::outside, address, shared_.size};
            }
        return std::nullopt;
    }
    void read(unsigned mn, unsigned k, std::uint32_t* words) {
        const Block block = descriptor_.block(mn, k);
        const std::uint32_t place = block.begin % pattern / chunk_bytes;
        if ((prepared_ >> place & 1) == 0) prepare(block, place);
        const std::byte* from = shared_.bytes + block.begin;
        for (unsigned r = 0; r < 8; ++r) std::memcpy(words + 4 * r, from + offsets_[place][r], chunk_bytes);
        if (descriptor_.is_mn_major()) transpose_halves(words);
    }

  private:
    static constexpr std::uint32_t pattern = 1024;  // the offsets of a block repeat with the widest swizzling

    void prepare(const Block& block, std::uint32_t place) {
        prepared_ |= std::uint64_t{1} << place;
        for (unsigned r = 0; r < 8; ++r)
            offsets_[place][r] =
                static_cast<std::int32_t>(descriptor_.swizzled(block.begin + r * block.step) - block.begin);
    }

    const Descriptor& descriptor_;
    SharedMemory shared_;
    char operand_;
    std::uint64_t prepared_ = 0;
    std::int32_t offsets_[pattern / chunk_bytes][8];
};

unsigned b_chunks(const Wgmma& wgmma) { return wgmma.sparse ? 2 * a_chunks : a_chunks; }

/// What the instruction reads of shared memory.
struct Multiplicands {
    Descriptor a, b;
    Multiplicands(const Wgmma& wgmma, const WgmmaOperands& operands)
        : a(operands.a_descriptor, wgmma.transpose_a), b(operands.b_descriptor, wgmma.transpose_b) {}
};

struct AWords {
    alignas(64) std::uint32_t words[2 * a_chunks][32];
    const void* registers[2 * a_chunks];
};

std::optional<WgmmaFault> read_a(const Descriptor& a, const WgmmaOperands& operands, SharedMemory shared,
                                 AWords& to) {
    Reader reader(a, shared, 'a');
    if (auto fault = reader.find_fault(2u * operands.warp, 2, a_chunks)) return fault;
    for (unsigned k = 0; k < a_chunks; ++k)
        for (unsigned half = 0; half < 2; ++half) {
            to.registers[2 * k + half] = to.words[2 * k + half];
            reader.read(2u * operands.warp + half, k, to.words[2 * k + half]);
        }
    return std::nullopt;
}

std::optional<WgmmaFault> find_b_fault(const Wgmma& wgmma, const Descriptor& b, const Reader& reader,
                                       std::uint32_t shared_size) {
    if (!b.holds(b_chunks(wgmma)))
        return WgmmaFault{'b', WgmmaFault::Reason::too_wide, b.start(), shared_size};
    return reader.find_fault(0, wgmma.n / 8u, b_chunks(wgmma));
}

template <class Element>
void multiply_tiles(const Wgmma& wgmma, const WgmmaOperands& operands, const void* const* a_registers,
                    Reader& b_reader, const ProductFunctions<Element>& functions) {
    alignas(64) Element a[panel_rows * a_width];
    alignas(64) Element b[most_tiles * panel_rows * b_width];
    DenseRows dense;
    const void* registers[4 * a_chunks];
    const unsigned chunks = b_chunks(wgmma), of_tile = wgmma.d == MatrixType::f16 ? 2 : 4;
    if (wgmma.sparse) {
        expand({wgmma.a, depth(wgmma), wgmma.selector, operands.metadata, false}, a_registers, dense);
        for (unsigned i = 0; i < 2 * chunks; ++i) registers[i] = dense.words[i];
        a_registers = registers;
    }
    functions.unpack_a({a_registers, 2 * chunks, wgmma.a, 2, wgmma.negate_a != wgmma.negate_b}, a);
    for (unsigned tile = 0; tile < wgmma.n / 8u; tile += most_tiles) {
        const unsigned count = std::min(most_tiles, wgmma.n / 8u - tile);
        alignas(64) std::uint32_t words[most_tiles][most_b_chunks][32];
        for (unsigned i = 0; i < count; ++i)
            for (unsigned k = 0; k < chunks; ++k) b_reader.read(tile + i, k, words[i][k]);
        for (unsigned i = 0; i < count; ++i) {
            const void* const b_registers[most_b_chunks] = {words[i][0], words[i][1], words[i][2],
                                                            words[i][3]};
            functions.unpack_b({b_registers, chunks, wgmma.b}, b + i * panel_rows * b_width);
        }
        void* const* d = operands.d + tile * of_tile;
        functions.multiply({a, b, chunks * 4 * rows_per_word(wgmma.a), count, 2,
                            wgmma.sparse ? dense.present : nullptr, wgmma.d, wgmma.d,
                            operands.scale_d ? d : nullptr, d, wgmma.satfinite, BitOperation::and_});
    }
}

bool is_f8(MatrixType type) { return type == MatrixType::e4m3 || type == MatrixType::e5m2; }
bool is_i8(MatrixType type) { return type == MatrixType::s8 || type == MatrixType::u8; }

void append_blocks(const Descriptor& descriptor, unsigned first, unsigned count, unsigned chunks,
                   std::vector<SharedRange>& ranges) {
    const auto begin = static_cast<std::ptrdiff_t>(ranges.size());
    for (unsigned i = 0; i < count * chunks; ++i) {
        const Block block = descriptor.block(first + i / chunks, i % chunks);
        for (unsigned r = 0; r < 8; ++r) {
            const std::uint32_t address = descriptor.swizzled(block.begin + r * block.step);
            ranges.push_back({address, address + chunk_bytes});
        }
    }
    std::sort(ranges.begin() + begin, ranges.end(),
              [](SharedRange x, SharedRange y) { return x.begin < y.begin; });
    auto last = ranges.begin() + begin;
    for (auto next = last + 1; next != ranges.end(); ++next) {
        if (next->begin <= last->end)
            last->end = std::max(last->end, next->end);
        else
            *++last = *next;
    }
    ranges.erase(last + 1, ranges.end());
}

}  // namespace

bool is_supported(const Wgmma& wgmma) {
    using enum syntax::Type;
    if (wgmma.n == 0 || wgmma.n % 8 != 0 || wgmma.n > most_n) return false;
    const bool integers = wgmma.d == s32;
    if (integers && wgmma.n > 32 && wgmma.n % 16 != 0) return false;
    if ((wgmma.transpose_a || wgmma.transpose_b) && wgmma.a != f16 && wgmma.a != bf16) return false;
    if (integers && (wgmma.negate_a || wgmma.negate_b)) return false;
    if (is_i8(wgmma.a)) return is_i8(wgmma.b) && integers;
    if (is_f8(wgmma.a)) return is_f8(wgmma.b) && (wgmma.d == f16 || wgmma.d == f32);
    if (wgmma.a != wgmma.b) return false;
    if (wgmma.a == b1) return integers && !wgmma.sparse;
    if (wgmma.a == f16) return wgmma.d == f16 || wgmma.d == f32;
    return (wgmma.a == bf16 || wgmma.a == tf32) && wgmma.d == f32;
}

unsigned depth(const Wgmma& wgmma) { return b_chunks(wgmma) * chunk_bytes * 8 / element_bits(wgmma.a); }

unsigned accumulator_size(const Wgmma& wgmma) { return wgmma.n / (wgmma.d == MatrixType::f16 ? 4u : 2u); }

std::string describe(const WgmmaFault& fault) {
    if (fault.reason == WgmmaFault::Reason::too_wide)
        return fmt::format(
            "the descriptor of {} (at address {:#x}) says K-major with 32-byte swizzling, which holds 32 "
            "bytes of K; a "
            "sparse product reads 64 of it: no swizzling, or that of 64 or 128 bytes",
            fault.operand, fault.address);
    return fmt::format("the descriptor of {} reaches address {:#x} of shared memory, which has {} bytes",
                       fault.operand, fault.address, fault.size);
}

std::optional<WgmmaFault> multiply(const Wgmma& wgmma, const WgmmaOperands& operands, SharedMemory shared) {
    const Multiplicands multiplicands(wgmma, operands);
    AWords a;
    Reader b(multiplicands.b, shared, 'b');
    const void* const* a_registers = operands.a;
    if (a_registers == nullptr) {
        if (auto fault = read_a(multiplicands.a, operands, shared, a)) return fault;
        a_registers = a.registers;
    }
    if (auto fault = find_b_fault(wgmma, multiplicands.b, b, shared.size)) return fault;
    const EngineFunctions& e = engine();
    if (wgmma.d == MatrixType::s32)
        multiply_tiles(wgmma, operands, a_registers, b, wgmma.a == MatrixType::b1 ? e.bits : e.integers);
    else
        multiply_tiles(wgmma, operands, a_registers, b, e.floats);
    return std::nullopt;
}

std::size_t wgmma_ranges(const Wgmma& wgmma, const WgmmaOperands& operands,
                         std::vector<SharedRange>& ranges) {
    const Multiplicands multiplicands(wgmma, operands);
    if (operands.a == nullptr) append_blocks(multiplicands.a, 2u * operands.warp, 2, a_chunks, ranges);
    const std::size_t of_a = ranges.size();
    append_blocks(multiplicands.b, 0, wgmma.n / 8u, b_chunks(wgmma), ranges);
    return of_a;
}

void wgmma_rows(const Wgmma& wgmma, const WgmmaOperands& operands, std::vector<std::uint32_t>& rows) {
    const Multiplicands multiplicands(wgmma, operands);
    const auto append = [&](const Descriptor& descriptor, unsigned first, unsigned count, unsigned chunks) {
        for (unsigned i = 0; i < count * chunks; ++i) {
            const Block block = descriptor.block(first + i / chunks, i % chunks);
            for (unsigned r = 0; r < 8; ++r)
                rows.push_back(descriptor.swizzled(block.begin + r * block.step));
        }
    };
    if (operands.a == nullptr) append(multiplicands.a, 2u * operands.warp, 2, a_chunks);
    if (operands.warp == 0) append(multiplicands.b, 0, wgmma.n / 8u, b_chunks(wgmma));
}

// Lane 4g + t has words of row (or column) g of a block, in all layouts.
UndefinedParts undefined_parts(const Wgmma& wgmma, const WgmmaOperands& states, SharedMemory written) {
    const Multiplicands multiplicands(wgmma, states);
    AWords a;
    Reader b_reader(multiplicands.b, written, 'b');
    UndefinedParts parts;
    const auto needed_of = [](MatrixType type) {
        const auto bits = static_cast<std::uint32_t>(significant_bits(type));
        return element_bits(type) == 32 ? bits : ~0u;
    };
    const void* const* a_registers = states.a;
    if (a_registers == nullptr) {
        if (read_a(multiplicands.a, states, written, a)) return parts;
        a_registers = a.registers;
    }
    if (find_b_fault(wgmma, multiplicands.b, b_reader, written.size)) return parts;
    const std::uint32_t needed_a = needed_of(wgmma.a), needed_b = needed_of(wgmma.b);
    for (unsigned i = 0; i < 2 * a_chunks; ++i)
        for (unsigned lane = 0; lane < 32; ++lane)
            if ((static_cast<const std::uint32_t*>(a_registers[i])[lane] & needed_a) != needed_a)
                parts.rows.set(i % 2 * 8 + lane / 4);
    for (unsigned tile = 0; tile < wgmma.n / 8u; ++tile)
        for (unsigned k = 0; k < b_chunks(wgmma); ++k) {
            alignas(64) std::uint32_t words[32];
            b_reader.read(tile, k, words);
            for (unsigned lane = 0; lane < 32; ++lane)
                if ((words[lane] & needed_b) != needed_b) parts.columns.set(8 * tile + lane / 4);
        }
    return parts;
}

std::optional<MetadataFault> find_metadata_fault(const Wgmma& wgmma, const WgmmaOperands& operands,
                                                 SharedMemory shared) {
    const SparseRows rows{wgmma.a, depth(wgmma), wgmma.selector, operands.metadata, false};
    const auto fault = find_metadata_fault(rows, operands.a);
    if (!fault || operands.a != nullptr) return fault;
    AWords a;
    const Multiplicands multiplicands(wgmma, operands);
    return read_a(multiplicands.a, operands, shared, a) ? std::nullopt
                                                        : find_metadata_fault(rows, a.registers);
}

}  // namespace ptxgraft::emulator
