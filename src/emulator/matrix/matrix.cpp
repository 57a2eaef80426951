// Products of the tensor cores by type and shape, on the vectors of the processor at hand.
#include "emulator/matrix/matrix.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <string_view>

#include "arithmetic/arithmetic.hpp"
#include "emulator/matrix/engine.hpp"
#include "emulator/matrix/sparse.hpp"

namespace ptxgraft::emulator {
namespace {

// Names for groups of types in the table below.
constexpr std::uint32_t bit_of(MatrixType type) { return 1u << static_cast<unsigned>(type); }
constexpr std::uint32_t f16 = bit_of(MatrixType::f16), bf16 = bit_of(MatrixType::bf16),
                        tf32 = bit_of(MatrixType::tf32), f64 = bit_of(MatrixType::f64),
                        f8 = bit_of(MatrixType::e4m3) | bit_of(MatrixType::e5m2),
                        i8 = bit_of(MatrixType::s8) | bit_of(MatrixType::u8),
                        i4 = bit_of(MatrixType::s4) | bit_of(MatrixType::u4), b1 = bit_of(MatrixType::b1),
                        f32 = bit_of(MatrixType::f32), s32 = bit_of(MatrixType::s32);

struct Shapes {
    enum Kind : std::uint8_t { mma, sparse, wmma } kind;
    std::uint16_t m, n;
    std::array<std::uint16_t, 3> k;  ///< 0: no more
    std::uint32_t multiplicands;     ///< a and b are of this group
    std::uint32_t accumulators;      ///< c and d too
    enum Equal : std::uint8_t { none, accumulators_equal, all_equal } equal;
};

// PTX ISA 9.7.14: what there is up to sm_90a.
constexpr Shapes shapes[] = {
    {Shapes::mma, 8, 8, {4, 0, 0}, f16, f16 | f32, Shapes::none},  // not d.f16 with c.f32
    {Shapes::mma, 16, 8, {8, 16, 0}, f16, f16 | f32, Shapes::all_equal},
    {Shapes::mma, 16, 8, {8, 16, 0}, bf16, f32, Shapes::all_equal},
    {Shapes::mma, 16, 8, {4, 8, 0}, tf32, f32, Shapes::all_equal},
    {Shapes::mma, 8, 8, {4, 0, 0}, f64, f64, Shapes::all_equal},
    {Shapes::mma, 16, 8, {4, 8, 16}, f64, f64, Shapes::all_equal},
    {Shapes::mma, 8, 8, {16, 0, 0}, i8, s32, Shapes::accumulators_equal},
    {Shapes::mma, 16, 8, {16, 32, 0}, i8, s32, Shapes::accumulators_equal},
    {Shapes::mma, 8, 8, {32, 0, 0}, i4, s32, Shapes::accumulators_equal},
    {Shapes::mma, 16, 8, {32, 64, 0}, i4, s32, Shapes::accumulators_equal},
    {Shapes::mma, 8, 8, {128, 0, 0}, b1, s32, Shapes::all_equal},
    {Shapes::mma, 16, 8, {128, 256, 0}, b1, s32, Shapes::all_equal},
    {Shapes::mma, 16, 8, {16, 32, 0}, f8, f16 | f32, Shapes::accumulators_equal},
    {Shapes::sparse, 16, 8, {16, 32, 0}, f16, f16 | f32, Shapes::all_equal},
    {Shapes::sparse, 16, 8, {16, 32, 0}, bf16, f32, Shapes::all_equal},
    {Shapes::sparse, 16, 8, {8, 16, 0}, tf32, f32, Shapes::all_equal},
    {Shapes::sparse, 16, 8, {32, 64, 0}, i8, s32, Shapes::accumulators_equal},
    {Shapes::sparse, 16, 8, {64, 128, 0}, i4, s32, Shapes::accumulators_equal},
    {Shapes::sparse, 16, 8, {64, 0, 0}, f8, f32, Shapes::accumulators_equal},
    {Shapes::wmma, 16, 16, {16, 0, 0}, f16, f16 | f32, Shapes::none},
    {Shapes::wmma, 8, 32, {16, 0, 0}, f16, f16 | f32, Shapes::none},
    {Shapes::wmma, 32, 8, {16, 0, 0}, f16, f16 | f32, Shapes::none},
    {Shapes::wmma, 16, 16, {16, 0, 0}, bf16, f32, Shapes::all_equal},
    {Shapes::wmma, 8, 32, {16, 0, 0}, bf16, f32, Shapes::all_equal},
    {Shapes::wmma, 32, 8, {16, 0, 0}, bf16, f32, Shapes::all_equal},
    {Shapes::wmma, 16, 16, {16, 0, 0}, i8, s32, Shapes::all_equal},
    {Shapes::wmma, 8, 32, {16, 0, 0}, i8, s32, Shapes::all_equal},
    {Shapes::wmma, 32, 8, {16, 0, 0}, i8, s32, Shapes::all_equal},
    {Shapes::wmma, 16, 16, {8, 0, 0}, tf32, f32, Shapes::all_equal},
    {Shapes::wmma, 8, 8, {4, 0, 0}, f64, f64, Shapes::all_equal},
    {Shapes::wmma, 8, 8, {32, 0, 0}, i4, s32, Shapes::all_equal},
    {Shapes::wmma, 8, 8, {128, 0, 0}, b1, s32, Shapes::all_equal},
};

bool matches(const Shapes& row, const Mma& mma) {
    const auto kind = mma.wmma                          ? Shapes::wmma
                      : mma.sparsity == Sparsity::dense ? Shapes::mma
                                                        : Shapes::sparse;
    return row.kind == kind && row.m == mma.m && row.n == mma.n && mma.k != 0 &&
           std::ranges::count(row.k, mma.k) != 0 && (bit_of(mma.a) & row.multiplicands) != 0 &&
           (bit_of(mma.b) & row.multiplicands) != 0 && (bit_of(mma.c) & row.accumulators) != 0 &&
           (bit_of(mma.d) & row.accumulators) != 0 && (row.equal == Shapes::none || mma.c == mma.d) &&
           (row.equal != Shapes::all_equal || mma.a == mma.b);
}

bool is_quad_pairs(const Mma& mma) { return mma.k == 4 && mma.a == MatrixType::f16; }

}  // namespace

Tiling tiling_of(const Mma& mma) {
    const unsigned halves = mma.m == 8 ? 1 : 2;
    const unsigned words = mma.a == MatrixType::f64 ? mma.k / 4u : mma.k * element_bits(mma.a) / 128;
    const auto accumulator = [&](MatrixType type) { return type == MatrixType::f16 ? halves : 2 * halves; };
    return {mma.m == 32 ? 2u : 1u,
            halves,
            mma.n / 8u,
            words * halves / (mma.sparsity == Sparsity::dense ? 1 : 2),
            words,
            accumulator(mma.c),
            accumulator(mma.d)};
}

// --- products of registers

namespace {

constexpr unsigned most_registers = 8;

/// Registers of D that stand in for those which other operands still need.
class Destination {
  public:
    Destination(const MmaOperands& operands, const FragmentSizes& sizes, bool many)
        : operands_(operands), size_(sizes.d) {
        overlaps_ = false;
        for (unsigned i = 0; i < sizes.d; ++i) {
            for (unsigned j = 0; j < sizes.c; ++j)
                overlaps_ |= (i != j || sizes.c != sizes.d) && operands.d[i] == operands.c[j];
            for (unsigned j = 0; many && j < sizes.a; ++j) overlaps_ |= operands.d[i] == operands.a[j];
            for (unsigned j = 0; many && j < sizes.b; ++j) overlaps_ |= operands.d[i] == operands.b[j];
            registers_[i] = values_[i];
        }
    }
    [[nodiscard]] void* const* registers() const { return overlaps_ ? registers_ : operands_.d; }
    void finish() const {
        for (unsigned i = 0; overlaps_ && i < size_; ++i)
            std::memcpy(operands_.d[i], values_[i], sizeof values_[i]);
    }

  private:
    const MmaOperands& operands_;
    unsigned size_;
    bool overlaps_;
    void* registers_[most_registers];
    alignas(64) std::uint32_t values_[most_registers][32];
};

/// .satfinite of a floating-point wmma.mma (until PTX ISA 6.4): infinities are the largest numbers, NaN is
/// zero.
void make_finite(void* column, MatrixType type) {
    auto* const words = static_cast<std::uint32_t*>(column);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned shift = 0; shift < 32; shift += element_bits(type)) {
            const std::uint32_t mask = type == MatrixType::f16 ? 0xFFFF : ~0u,
                                infinity = type == MatrixType::f16 ? 0x7C00 : 0x7F800000;
            const std::uint32_t magnitude = words[lane] >> shift & mask >> 1;
            if (magnitude < infinity) continue;
            if (magnitude > infinity)
                words[lane] &= ~(mask << shift);
            else
                words[lane] -= 1u << shift;  // the number before infinity, of the same sign
        }
}

template <class Element>
void multiply_tiles(const Mma& mma, const MmaOperands& operands, const ProductFunctions<Element>& functions) {
    alignas(64) Element a[panel_rows * a_width];
    alignas(64) Element b[most_tiles * panel_rows * b_width];
    DenseRows dense;
    const void* dense_registers[most_registers];
    const Tiling tiling = tiling_of(mma);
    const Destination destination(operands, fragment_sizes(mma), mma.wmma);
    const bool sparse = mma.sparsity != Sparsity::dense;
    for (unsigned block = 0; block < tiling.blocks; ++block) {
        WordColumns a_words{operands.a + block * tiling.a, tiling.a, mma.a, tiling.halves, false};
        if (sparse) {
            expand({mma.a, mma.k, mma.selector, operands.metadata, false}, operands.a, dense);
            for (unsigned i = 0; i < 2 * tiling.a; ++i) dense_registers[i] = dense.words[i];
            a_words.registers = dense_registers;
            a_words.count = 2 * tiling.a;
        }
        functions.unpack_a(a_words, a);
        for (unsigned tile = 0; tile < tiling.tiles; tile += most_tiles) {
            const unsigned count = std::min(most_tiles, tiling.tiles - tile),
                           first = block * tiling.tiles + tile;
            for (unsigned i = 0; i < count; ++i)
                functions.unpack_b({operands.b + (tile + i) * tiling.b, tiling.b, mma.b},
                                   b + i * panel_rows * b_width);
            functions.multiply({a, b, tiling.b * 4 * rows_per_word(mma.a), count, tiling.halves,
                                sparse ? dense.present : nullptr, mma.c, mma.d, operands.c + first * tiling.c,
                                destination.registers() + first * tiling.d, mma.satfinite, mma.bits});
        }
    }
    if (mma.satfinite && mma.d != MatrixType::s32)
        for (unsigned i = 0; i < fragment_sizes(mma).d; ++i) make_finite(destination.registers()[i], mma.d);
    destination.finish();
}

/// fma.rnd.f64 over columns.
const arithmetic::PureInstruction& fma_of(MatrixRounding rounding) {
    static const auto functions = [] {
        std::array<arithmetic::PureInstruction, 4> all;
        constexpr std::string_view names[] = {".rn", ".rz", ".rm", ".rp"};
        for (std::size_t i = 0; i < all.size(); ++i) {
            const std::string_view modifiers[] = {names[i], ".f64"};
            all[i] = arithmetic::find_pure("fma", modifiers, 4, false).value();
        }
        return all;
    }();
    return functions[static_cast<std::size_t>(rounding)];
}

// PTX leaves open which NaN is the result: it is the one that fma.f64 gives here.
bool multiply_numbers(const Mma& mma, const MmaOperands& operands) {
    const Tiling tiling = tiling_of(mma);
    double d[16][b_width];
    if (mma.rounding != MatrixRounding::rn ||
        !engine().multiply_doubles({operands.a, operands.b, operands.c, mma.k, tiling.halves, d}))
        return false;
    for (unsigned i = 0; i < tiling.c; ++i)
        for (unsigned g = 0; g < 8; ++g)
            std::memcpy(static_cast<double*>(operands.d[i]) + 4 * g, d[i / 2 * 8 + g] + i % 2 * 4,
                        4 * sizeof d[0][0]);
    return true;
}

void multiply_doubles(const Mma& mma, const MmaOperands& operands) {
    if (multiply_numbers(mma, operands)) return;
    const Tiling tiling = tiling_of(mma);
    alignas(64) double a[32], b[32], sums[4][2][32];
    const auto from = [](const void* column, unsigned lane) {
        return static_cast<const double*>(column)[lane];
    };
    for (unsigned i = 0; i < tiling.c; ++i) {
        std::memcpy(sums[i][0], operands.c[i], sizeof sums[i][0]);
        for (unsigned k = 0; k < mma.k; ++k) {
            for (unsigned lane = 0; lane < 32; ++lane) {
                a[lane] = from(operands.a[k / 4 * tiling.halves + i / 2], (lane & ~3u) + k % 4);
                b[lane] = from(operands.b[k / 4], 4 * (lane % 4 * 2 + i % 2) + k % 4);
            }
            void* const to[] = {sums[i][(k + 1) % 2]};
            const void* const inputs[] = {a, b, sums[i][k % 2]};
            fma_of(mma.rounding).run_columns(to, inputs, 32);
        }
    }
    for (unsigned i = 0; i < tiling.c; ++i) std::memcpy(operands.d[i], sums[i][mma.k % 2], sizeof sums[i][0]);
}

}  // namespace

bool is_supported(const Mma& mma) {
    const bool narrowed = is_quad_pairs(mma) && mma.d == MatrixType::f16 && mma.c == MatrixType::f32;
    return !narrowed && std::ranges::any_of(shapes, [&](const Shapes& row) { return matches(row, mma); });
}

FragmentSizes fragment_sizes(const Mma& mma) {
    if (is_quad_pairs(mma)) {
        const auto accumulator = [](MatrixType type) { return type == MatrixType::f16 ? 4u : 8u; };
        return {2, 2, accumulator(mma.c), accumulator(mma.d)};
    }
    const Tiling tiling = tiling_of(mma);
    const unsigned products = tiling.blocks * tiling.tiles;
    if (mma.wmma && mma.a == MatrixType::f16) return {8, 8, products * tiling.c, products * tiling.d};
    return {tiling.blocks * tiling.a, tiling.tiles * tiling.b, products * tiling.c, products * tiling.d};
}

void multiply(const Mma& mma, const MmaOperands& operands) {
    const EngineFunctions& e = engine();
    if (mma.a == MatrixType::f64) return multiply_doubles(mma, operands);
    if (is_quad_pairs(mma)) return multiply_quad_pairs(mma, operands);
    if (mma.d != MatrixType::s32) return multiply_tiles(mma, operands, e.floats);
    multiply_tiles(mma, operands, mma.a == MatrixType::b1 ? e.bits : e.integers);
}

std::optional<MetadataFault> find_metadata_fault(const Mma& mma, const MmaOperands& operands) {
    return find_metadata_fault(
        SparseRows{mma.a, mma.k, mma.selector, operands.metadata, mma.sparsity == Sparsity::ordered},
        operands.a);
}

AccumulationBound accumulation_bound(MatrixType type, MatrixType accumulator, unsigned k, double exact,
                                     double magnitudes) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    // from infinities or NaN among the terms: every order gives it
    if (!std::isfinite(exact)) return {exact, exact};
    const bool f8_type = type == MatrixType::e4m3 || type == MatrixType::e5m2;
    const bool half = accumulator == MatrixType::f16;
    // The error of one truncated operation, relative and of the smallest numbers.
    const double unit = half ? 0x1p-10 : f8_type ? 0x1p-13 : 0x1p-23, smallest = half ? 0x1p-24 : 0x1p-149;
    const double steps = k + 2.0;  // k sums, the alignment of c, the rounding of the result
    const double growth = std::expm1(steps * std::log1p(unit));
    const double error = growth * magnitudes + (1 + growth) * steps * smallest;
    if (!std::isfinite(error)) return {-infinity, infinity};
    // No intermediate sum is above that of all positive terms, nor below that of all negative ones. One that
    // overflows is infinite, or the largest number where sums are truncated, from which the terms of the
    // other sign are taken.
    const double most = half ? 65504.0 : 0x1.fffffep127;
    const double positive = (magnitudes + exact) / 2, negative = (magnitudes - exact) / 2;
    const bool up = positive + error >= most, down = negative + error >= most;
    if (up && down) return {-infinity, infinity};
    return {down ? -infinity : std::min(exact, up ? most - negative : exact) - error,
            up ? infinity : std::max(exact, down ? positive - most : exact) + error};
}

// --- versions

bool has_engine(MatrixEngine wanted) {
    if (wanted == MatrixEngine::plain) return true;
#if defined(__x86_64__) && defined(__GNUC__)
    const bool wide = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                      __builtin_cpu_supports("popcnt") && __builtin_cpu_supports("bmi") &&
                      __builtin_cpu_supports("bmi2");
    if (wanted == MatrixEngine::avx2) return wide;
    return wide && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq");
#else
    return false;
#endif
}

namespace {

const EngineFunctions* functions_of(MatrixEngine wanted) {
#if defined(__x86_64__) && defined(__GNUC__)
    if (wanted == MatrixEngine::avx512) return &avx512_engine;
    if (wanted == MatrixEngine::avx2) return &avx2_engine;
#endif
    return &plain_engine;
}

std::atomic<const EngineFunctions*>& selected() {
    static std::atomic<const EngineFunctions*> functions =
        functions_of(has_engine(MatrixEngine::avx512) ? MatrixEngine::avx512
                     : has_engine(MatrixEngine::avx2) ? MatrixEngine::avx2
                                                      : MatrixEngine::plain);
    return functions;
}

}  // namespace

const EngineFunctions& engine() { return *selected().load(std::memory_order_relaxed); }
void select_engine(MatrixEngine wanted) {
    if (has_engine(wanted)) selected().store(functions_of(wanted), std::memory_order_relaxed);
}

}  // namespace ptxgraft::emulator
