// The tensor cores on a warp: registers are its columns, memory its spaces.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_accumulators = 128;  // of a wgmma with N = 256
constexpr std::size_t most_accesses = 32;       // of a wmma.load: eight registers of single bytes

const MatrixInstruction& instruction_of(const Warp& warp, const Operation& operation) {
    return warp.program().matrix_of(operation);
}

/// What is executed by some lanes only has no meaning: 9.7.14.5.14, "undefined if … any thread in the warp
/// has exited".
Flow not_whole(Warp& warp, std::uint32_t mask) {
    const auto lane = first_lane(mask);
    return warp.fail(Errc::warp_not_whole, lane,
                     fmt::format("executed by the lanes {:#010x}, and {}", mask,
                                 (mask | ~warp.live()) == ~0u ? "the others have exited or were never there"
                                                              : "the others are elsewhere"));
}

/// The columns of operands `first` to `first + count - 1`.
template <class Pointer> void columns(Warp& warp, const Ref* refs, std::size_t count, Pointer* to) {
    for (std::size_t i = 0; i < count; ++i) to[i] = warp.column(refs[i]);
}

template <class T> bool is_uniform(const T* column) {
    T differences = 0;
    for (unsigned lane = 1; lane < lane_count; ++lane)
        differences |= static_cast<T>(column[lane] ^ column[0]);
    return differences == 0;
}

/// The value that an operand has in all lanes; an error when they differ.
bool uniform(Warp& warp, Ref ref, std::string_view name, std::uint64_t& value) {
    value = warp.value(ref, 0);
    const std::uint32_t bytes = width(ref);
    if ((bytes == 8 && is_uniform(warp.column_of<std::uint64_t>(ref))) ||
        (bytes == 4 && is_uniform(warp.column_of<std::uint32_t>(ref))) ||
        (bytes == 1 && is_uniform(warp.column_of<std::uint8_t>(ref))))
        return true;
    for (unsigned lane = 1; lane < lane_count; ++lane) {
        const std::uint64_t other = warp.value(ref, lane);
        if (other == value) continue;
        return warp.fail(Errc::matrix_operand_invalid, lane,
                         fmt::format("{} is {:#x} in lane {} and {:#x} in lane 0; all lanes have to agree",
                                     name, other, lane, value));
    }
    return true;
}

Flow meaningless(Warp& warp, const MetadataFault& fault) {
    return warp.fail(
        Errc::matrix_operand_invalid, fault.lane,
        fmt::format("bits {} to {} of the sparsity metadata of lane {} are {:#06b}, which names no elements",
                    fault.bit, fault.bit + 3, fault.lane, fault.indices));
}

}  // namespace

Flow execute_gathering(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask == warp.live()) return Flow::next;
    return execute_collective(warp, operation, mask);
}

Flow execute_mma(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    const Mma& mma = instruction_of(warp, operation).mma;
    const FragmentSizes sizes = fragment_sizes(mma);
    const Ref* const refs = warp.operands(operation);
    void* d[8];
    const void* sources[25];
    columns(warp, refs, sizes.d, d);
    columns(warp, refs + sizes.d, operation.inputs, sources);
    const void* const* const b = sources + sizes.a;
    const void* const* const c = b + sizes.b;
    MmaOperands operands{d, sources, b, c};
    if (mma.sparsity != Sparsity::dense) {
        operands.metadata = static_cast<const std::uint32_t*>(c[sizes.c]);
        if (const auto fault = find_metadata_fault(mma, operands)) return meaningless(warp, *fault);
    }
    if (warp.checks().tracks_written() && !warp.checks().matrices().track_mma(operation, mma))
        return Flow::fail;
    multiply(mma, operands);
    warp.checks().races().meet();
    return Flow::next;
}

// --- wmma.load, wmma.store

namespace {

/// The whole matrix, whose elements lie `stride` apart.
struct WmmaPlace {
    std::uint64_t address = 0;
    std::uint64_t stride = 0;
    std::uint64_t bytes = 0;  ///< from the first element to the last
    unsigned element_bits = 0;
    bool by_rows = false;

    [[nodiscard]] std::uint64_t offset(const WmmaAccess& access, unsigned lane) const {
        const std::uint64_t major = by_rows ? access.row[lane] : access.column[lane],
                            minor = by_rows ? access.column[lane] : access.row[lane];
        return (major * stride + minor) * element_bits / 8;
    }
};

MatrixType element_type(const MatrixInstruction& instruction) {
    switch (instruction.matrix) {
        case WmmaMatrix::a: return instruction.mma.a;
        case WmmaMatrix::b: return instruction.mma.b;
        case WmmaMatrix::c: return instruction.mma.c;
        default: return instruction.mma.d;
    }
}

bool find_place(Warp& warp, const Operation& operation, const MatrixInstruction& instruction,
                WmmaPlace& place) {
    const Ref* input = warp.operands(operation) + operation.outputs;
    std::uint64_t base = 0;
    if (instruction.access.has_base && !uniform(warp, *input++, "the address", base)) return false;
    place.address = warp.memory().address(instruction.access, operation, 0);
    place.stride = instruction.least_stride;
    if (instruction.has_stride && !uniform(warp, *input, "the stride", place.stride)) return false;
    if (place.stride < instruction.least_stride) {
        return warp.fail(Errc::matrix_operand_invalid, 0,
                         fmt::format("a stride of {} elements; one line of this matrix has {}", place.stride,
                                     instruction.least_stride));
    }
    place.element_bits = element_bits(element_type(instruction));
    place.by_rows = instruction.layout == MatrixLayout::row;
    place.bytes =
        ((instruction.lines - 1) * place.stride + instruction.least_stride) * place.element_bits / 8;
    return true;
}

/// Moves the part of a register that an access names, of all lanes; `memory[lane]` is where it is.
template <class T>
void move_part(const WmmaAccess& access, std::byte* const* memory, std::byte* column, std::size_t bytes,
               Use use) {
    std::byte* part = column + access.shift / 8;
    for (unsigned lane = 0; lane < lane_count; ++lane, part += bytes) {
        if (use == Use::read)
            std::memcpy(part, memory[lane], sizeof(T));
        else
            std::memcpy(memory[lane], part, sizeof(T));
    }
}
void move_part(const WmmaAccess& access, std::byte* const* memory, std::byte* column, std::size_t bytes,
               Use use) {
    switch (access.bits) {
        case 8: return move_part<std::uint8_t>(access, memory, column, bytes, use);
        case 16: return move_part<std::uint16_t>(access, memory, column, bytes, use);
        case 32: return move_part<std::uint32_t>(access, memory, column, bytes, use);
        default: return move_part<std::uint64_t>(access, memory, column, bytes, use);
    }
}

/// The whole matrix in memory, when it lies in one piece and every access is aligned; else each is resolved.
std::byte* find_all(Warp& warp, const MatrixInstruction& instruction, const WmmaPlace& place, Use use) {
    const Space space = instruction.access.space == Space::generic ? emulator::place(place.address).space
                                                                   : instruction.access.space;
    const std::uint32_t bytes = instruction.accesses.front().bits / 8u;
    if (space == Space::local || place.address % bytes != 0 ||
        place.stride * place.element_bits / 8 % bytes != 0)
        return nullptr;
    return warp.memory().find(instruction.access.space, place.address, 0, place.bytes, use);
}

constexpr std::uint64_t most_piece_bytes = std::uint64_t{1} << 31;  // offsets have 32 bits

/// Whether something wrote the whole matrix.
bool is_written(const MatrixInstruction& instruction, const WmmaPlace& place, const std::uint8_t* states) {
    const std::uint64_t stride = place.stride * place.element_bits / 8,
                        bytes = instruction.least_stride * place.element_bits / 8;
    for (unsigned line = 0; states != nullptr && line < instruction.lines; ++line, states += stride)
        if (!are_defined(states, bytes)) return false;
    return true;
}

/// The places of an access in a piece of memory, for a checked launch.
void locate(const WmmaPlace& place, const WmmaAccess& access, Located& located) {
    for (unsigned lane = 0; lane < lane_count; ++lane)
        located.offsets[lane] = static_cast<std::uint32_t>(place.offset(access, lane));
    const auto [least, most] = std::ranges::minmax(located.offsets);
    located.least = least, located.most = most;
}

Flow move_wmma(Warp& warp, const Operation& operation, std::uint32_t mask, Use use) {
    if (mask != ~0u) return not_whole(warp, mask);
    const MatrixInstruction& instruction = instruction_of(warp, operation);
    WmmaPlace place;
    if (!find_place(warp, operation, instruction, place)) return Flow::fail;
    const std::size_t skipped =
        use == Use::read ? 0 : (instruction.access.has_base ? 1u : 0u) + (instruction.has_stride ? 1u : 0u);
    const Ref* const refs = warp.operands(operation) + skipped;
    const AccessKind kind = use == Use::read ? AccessKind::read : AccessKind::write;
    std::byte* const all = find_all(warp, instruction, place, use);
    std::uint64_t addresses[most_accesses * lane_count];
    const bool is_observed = warp.observation().is_on();
    Located piece;
    const bool is_piece =
        all != nullptr && (warp.checks().looks_at_memory()) && place.bytes <= most_piece_bytes;
    if (is_piece) warp.memory().describe(instruction.access.space, place.address, 0, piece);
    for (std::size_t i = 0; i < instruction.accesses.size(); ++i) {
        const WmmaAccess& access = instruction.accesses[i];
        if (is_piece) {
            locate(place, access, piece);
            const std::byte* const stored = warp.column(refs[access.reg]) + access.shift / 8;
            const ValuesBy values([&](unsigned lane) { return stored + lane * width(refs[access.reg]); });
            if (!warp.checks().races().note_accesses(
                    mask, piece, access.bits / 8u,
                    {.kind = kind, .values = use == Use::write ? &values : nullptr}))
                return Flow::fail;
        }
        std::byte* memory[lane_count];
        for (unsigned lane = 0; lane < lane_count; ++lane) {
            const std::uint64_t offset = place.offset(access, lane);
            addresses[i * lane_count + lane] = place.address + offset;
            if (is_observed)
                warp.observation().add(
                    {instruction.access.space, place.address + offset, access.bits / 8u, kind});
            memory[lane] = all != nullptr
                               ? all + offset
                               : warp.memory().resolve(instruction.access.space, place.address + offset, lane,
                                                       access.bits / 8u, use);
            if (memory[lane] == nullptr) return Flow::fail;
            if (!is_piece &&
                !warp.checks().races().note_access(instruction.access.space, place.address + offset, lane,
                                                   access.bits / 8u, {kind}))
                return Flow::fail;
        }
        move_part(access, memory, warp.column(refs[access.reg]), width(refs[access.reg]), use);
    }
    if (!warp.checks().tracks_written()) return Flow::next;
    if (use == Use::write)
        return next_if(warp.checks().matrices().note_wmma_stored(refs, instruction, addresses));
    if (!is_piece || !is_written(instruction, place, piece.written))
        warp.checks().matrices().note_wmma_loaded(operation, instruction, addresses);
    return Flow::next;
}

}  // namespace

Flow execute_wmma_load(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return move_wmma(warp, operation, mask, Use::read);
}
Flow execute_wmma_store(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return move_wmma(warp, operation, mask, Use::write);
}

// --- ldmatrix, stmatrix, movmatrix

namespace {

constexpr std::uint32_t row_bytes = 16;

/// The rows that stmatrix stores.
class StoredRows : public StoredValues {
  public:
    StoredRows(const void* const* registers, unsigned count, Transposition transposition) {
        std::array<std::byte*, lane_count> rows = {};
        for (unsigned row = 0; row < 8 * count; ++row) rows[row] = rows_[row].data();
        store_matrices(registers, count, transposition, rows.data());
    }
    [[nodiscard]] const std::byte* of(unsigned lane) const override { return rows_[lane].data(); }

  private:
    std::array<std::array<std::byte, row_bytes>, lane_count> rows_;
};

/// The rows of 16 bytes at the addresses of the first lanes, eight for each matrix; false after fail().
/// `values`: what is stored there.
bool find_rows(Warp& warp, const Operation& operation, const MatrixInstruction& instruction, unsigned count,
               const StoredValues* values, MatrixRows& rows) {
    const Use use = values == nullptr ? Use::read : Use::write;
    const Access& access = instruction.access;
    const std::uint32_t mask = count == 4 ? ~0u : (1u << 8 * count) - 1;
    const AccessKind kind = use == Use::read ? AccessKind::read : AccessKind::write;
    rows.count = 8 * count;
    Located located;
    std::byte* const memory = warp.memory().locate(access, operation, mask, use, located);
    if (memory != nullptr && (access.space == Space::shared || located.is_shared)) {
        if (!warp.checks().races().note_accesses(mask, located, row_bytes, {.kind = kind, .values = values}))
            return false;
        for (unsigned lane = 0; lane < rows.count; ++lane) {
            rows.bytes[lane] = memory + located.offsets[lane];
            if (!warp.checks().tracks_written()) continue;
            rows.written[lane] = located.written + located.offsets[lane];
            rows.places[lane] = located.begin + located.offsets[lane];
        }
        return true;
    }
    for (unsigned lane = 0; lane < rows.count; ++lane) {
        const std::uint64_t address = warp.memory().address(access, operation, lane);
        if (access.space == Space::generic && place(address).space != Space::shared) {
            return warp.fail(Errc::address_out_of_bounds, lane,
                             fmt::format("the row at {:#x} is not in shared memory", address));
        }
        rows.bytes[lane] = warp.memory().resolve(access.space, address, lane, row_bytes, use);
        if (rows.bytes[lane] == nullptr) return false;
        if (!warp.checks().looks_at_memory()) continue;
        warp.memory().describe(access.space, address, lane, located);
        rows.written[lane] = located.written;
        rows.places[lane] = located.begin;
        located.host = rows.bytes[lane];
        if (!warp.checks().races().note_accesses(1u << lane, located, row_bytes,
                                                 {.kind = kind, .values = values}))
            return false;
    }
    return true;
}

}  // namespace

Flow execute_ldmatrix(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    const MatrixInstruction& instruction = instruction_of(warp, operation);
    const unsigned count = operation.outputs;
    MatrixRows rows;
    if (!find_rows(warp, operation, instruction, count, nullptr, rows)) return Flow::fail;
    void* registers[4];
    columns(warp, warp.operands(operation), count, registers);
    load_matrices(rows.bytes.data(), count, instruction.transposition, registers);
    if (warp.checks().tracks_written())
        warp.checks().matrices().note_rows_loaded(warp.operands(operation), instruction.transposition, rows);
    return Flow::next;
}

Flow execute_stmatrix(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    const MatrixInstruction& instruction = instruction_of(warp, operation);
    const unsigned skipped = instruction.access.has_base ? 1 : 0, count = operation.inputs - skipped;
    const void* registers[4];
    columns(warp, warp.operands(operation) + skipped, count, registers);
    const StoredRows values(registers, count, instruction.transposition);
    MatrixRows rows;
    if (!find_rows(warp, operation, instruction, count, &values, rows)) return Flow::fail;
    for (unsigned row = 0; row < rows.count; ++row) std::memcpy(rows.bytes[row], values.of(row), row_bytes);
    if (warp.checks().tracks_written())
        warp.checks().matrices().note_rows_stored(warp.operands(operation) + skipped,
                                                  instruction.transposition, rows);
    return Flow::next;
}

Flow execute_movmatrix(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    const Ref* const refs = warp.operands(operation);
    if (warp.checks().tracks_written()) warp.checks().matrices().track_movmatrix(operation);
    transpose_matrix(warp.column(refs[0]), warp.column(refs[1]));
    return Flow::next;
}

// --- wgmma

Flow execute_wgmma(Warp& warp, const Operation& operation, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    const MatrixInstruction& instruction = instruction_of(warp, operation);
    const Ref* input = warp.operands(operation);
    void* d[most_accumulators];
    const void* a[4];
    columns(warp, input, operation.outputs, d);
    input += operation.outputs;
    WgmmaOperands operands{.d = d, .warp = static_cast<std::uint8_t>(warp.index() % 4)};
    if (instruction.a_in_registers) {
        columns(warp, input, 4, a);
        operands.a = a;
        input += 4;
    } else if (!uniform(warp, *input++, "the descriptor of a", operands.a_descriptor)) {
        return Flow::fail;
    }
    std::uint64_t scale = 0;
    if (!warp.checks().definedness().require_all(
            {input - (instruction.a_in_registers ? 0 : 1),
             warp.operands(operation) + operation.outputs + operation.inputs}))
        return Flow::fail;
    if (!uniform(warp, *input++, "the descriptor of b", operands.b_descriptor)) return Flow::fail;
    if (instruction.wgmma.sparse) operands.metadata = warp.column_of<std::uint32_t>(*input++);
    if (!uniform(warp, *input, "scale-d", scale)) return Flow::fail;
    operands.scale_d = (scale & 1) != 0;
    warp.work().charge(instruction.wgmma.n);  // a column of 16 rows is about an instruction of others
    const SharedMemory shared{warp.cta().shared().data(),
                              static_cast<std::uint32_t>(warp.cta().shared().size())};
    if (operands.metadata != nullptr)
        if (const auto fault = find_metadata_fault(instruction.wgmma, operands, shared))
            return meaningless(warp, *fault);
    const auto fault = multiply(instruction.wgmma, operands, shared);
    if (fault) return warp.fail(Errc::matrix_operand_invalid, 0, describe(*fault));
    if (warp.observation().is_on()) {
        std::vector<std::uint32_t> rows;
        wgmma_rows(instruction.wgmma, operands, rows);
        for (const std::uint32_t row : rows)
            warp.observation().add({Space::shared, row, 16, AccessKind::read});
    }
    return next_if(warp.checks().warpgroup().note_wgmma(operation, operands));
}

Flow execute_wgmma_fence(Warp& warp, const Operation&, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    warp.checks().races().meet();
    return warp.wgmma().fence(mask);
}

Flow execute_wgmma_commit(Warp& warp, const Operation&, std::uint32_t mask) {
    if (mask != ~0u) return not_whole(warp, mask);
    warp.wgmma().commit();
    return Flow::next;
}

Flow execute_set_registers(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return mask != warp.started()
               ? not_whole(warp, mask)
               : next_if(warp.checks().warpgroup().check_set_registers(SetRegisters::of(operation.extra)));
}

Flow execute_wgmma_wait(Warp& warp, const Operation& operation, std::uint32_t mask) {
    return warp.wgmma().wait(mask, operation.pending_groups());
}

}  // namespace ptxgraft::emulator
