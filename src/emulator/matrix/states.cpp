// What of a product is undefined because parts of its operands are: found by a product of ones, in which
// every element that nothing had written adds to all results that it has a part in.
#include <cstring>

#include "emulator/matrix/matrix.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr unsigned most_registers = 8;

struct alignas(64) Column {
    std::uint64_t values[32];
};

std::uint64_t one_of(MatrixType type) {
    switch (type) {
        case MatrixType::f16: return 0x3C00;
        case MatrixType::bf16: return 0x3F80;
        case MatrixType::tf32:
        case MatrixType::f32: return 0x3F800000;
        case MatrixType::e4m3: return 0x38;
        case MatrixType::e5m2: return 0x3C;
        case MatrixType::f64: return 0x3FF0000000000000;
        default: return 1;
    }
}

std::uint64_t all_of(MatrixType type) { return ~std::uint64_t{0} >> (64 - element_bits(type)); }

// The bits of a register of 4 or 8 bytes, whose elements are one after the other.
template <class F> std::uint64_t each_element(MatrixType type, F&& f) {
    const unsigned bits = element_bits(type), width = bits == 64 ? 64 : 32;
    std::uint64_t word = 0;
    for (unsigned at = 0; at < width; at += bits) word |= f(at) << at;
    return word;
}

std::uint64_t value(const void* column, MatrixType type, unsigned lane) {
    if (type == MatrixType::f64) return static_cast<const std::uint64_t*>(column)[lane];
    return static_cast<const std::uint32_t*>(column)[lane];
}

void set(void* column, MatrixType type, unsigned lane, std::uint64_t word) {
    if (type == MatrixType::f64)
        static_cast<std::uint64_t*>(column)[lane] = word;
    else
        static_cast<std::uint32_t*>(column)[lane] = static_cast<std::uint32_t>(word);
}

// An operand's registers: one for each element of which something is undefined, else zero; or one for each.
class Indicators {
  public:
    Indicators(MatrixType type, unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            registers_[i] = columns_[i].values;
            for (unsigned lane = 0; lane < 32; ++lane)
                set(columns_[i].values, type, lane,
                    each_element(type, [&](unsigned) { return one_of(type); }));
        }
    }
    Indicators(MatrixType type, unsigned count, const void* const* states) {
        const std::uint64_t needed = significant_bits(type);
        for (unsigned i = 0; i < count; ++i) {
            registers_[i] = columns_[i].values;
            for (unsigned lane = 0; lane < 32; ++lane) {
                const std::uint64_t written = value(states[i], type, lane);
                set(columns_[i].values, type, lane, each_element(type, [&](unsigned at) {
                        return (written >> at & needed) == needed ? 0 : one_of(type);
                    }));
            }
        }
    }
    [[nodiscard]] const void* const* registers() const { return registers_; }

  private:
    Column columns_[most_registers];
    const void* registers_[most_registers];
};

// Elements of D that are not zero lose their states.
void clear_where_set(MatrixType type, const void* product, void* states) {
    for (unsigned lane = 0; lane < 32; ++lane) {
        const std::uint64_t word = value(product, type, lane);
        const std::uint64_t defined = each_element(
            type, [&](unsigned at) { return (word >> at & all_of(type)) == 0 ? all_of(type) : 0; });
        set(states, type, lane, value(states, type, lane) & defined);
    }
}

}  // namespace

std::uint64_t significant_bits(MatrixType type) {
    return type == MatrixType::tf32 ? 0xFFFFE000 : all_of(type);
}

void multiply_states(const Mma& mma, const MmaOperands& states) {
    const FragmentSizes sizes = fragment_sizes(mma);
    Mma product = mma;
    product.bits = BitOperation::and_;
    const Indicators undefined_a(mma.a, sizes.a, states.a), undefined_b(mma.b, sizes.b, states.b),
        undefined_c(mma.c, sizes.c, states.c), ones_a(mma.a, sizes.a), ones_b(mma.b, sizes.b);
    Column columns[most_registers];
    void* d[most_registers];
    for (unsigned i = 0; i < sizes.d; ++i) {
        d[i] = columns[i].values;
        std::memset(states.d[i], 0xFF, mma.d == MatrixType::f64 ? 256 : 128);
    }
    const auto spread = [&](const Indicators& a, const Indicators& b) {
        multiply(product, {d, a.registers(), b.registers(), undefined_c.registers(), states.metadata});
        for (unsigned i = 0; i < sizes.d; ++i) clear_where_set(mma.d, d[i], states.d[i]);
    };
    spread(undefined_a, ones_b);
    spread(ones_a, undefined_b);
}

// --- wgmma: in the layout of its accumulators (9.7.15.5.1.1.1)

void undefined_columns(const Wgmma& wgmma, const UndefinedParts& parts, unsigned reg, std::uint32_t* states) {
    const bool halves = wgmma.d == MatrixType::f16;
    const unsigned of_tile = halves ? 2 : 4, tile = reg / of_tile, i = reg % of_tile;
    for (unsigned lane = 0; lane < 32; ++lane) {
        const unsigned row = lane / 4 + 8 * (halves ? i : i / 2), column = 8 * tile + 2 * (lane % 4);
        const auto is_undefined = [&](unsigned n) { return parts.rows[row] || parts.columns[column + n]; };
        if (halves)
            states[lane] = (is_undefined(0) ? 0 : 0xFFFFu) | (is_undefined(1) ? 0 : 0xFFFF0000u);
        else
            states[lane] = is_undefined(i % 2) ? 0 : ~0u;
    }
}

}  // namespace ptxgraft::emulator
