// Which lane and register holds which element, where no product needs to be fast: mma.m8n8k4 of .f16,
// wmma.load and wmma.store, ldmatrix, stmatrix, movmatrix.
#include <bit>
#include <cmath>
#include <cstring>

#include "emulator/matrix/engine.hpp"
#include "emulator/matrix/matrix.hpp"

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

namespace ptxgraft::emulator {
namespace {

const std::uint32_t* column(const void* of) { return static_cast<const std::uint32_t*>(of); }

/// Element i of a lane's fragment of 16-bit elements.
std::uint32_t half_of(const void* const* registers, unsigned lane, unsigned i) {
    return column(registers[i / 2])[lane] >> i % 2 * 16 & 0xFFFF;
}
void set_half(void* const* registers, unsigned lane, unsigned i, std::uint32_t bits) {
    auto& word = static_cast<std::uint32_t*>(registers[i / 2])[lane];
    word = (word & 0xFFFF0000u >> i % 2 * 16) | bits << i % 2 * 16;
}

// --- mma.m8n8k4 of .f16 (PTX ISA 9.7.14.5.1): four products, each by lanes 4p to 4p + 3 and 4p + 16 to 4p
// + 19.

struct Cell {
    unsigned lane, i;
};
/// The lane that has row (or column) `i` of product `pair`.
unsigned lane_of(unsigned pair, unsigned i) { return 4 * pair + i % 4 + (i < 4 ? 0 : 16); }

/// Element (row, k) of A. Of B in a .col layout: (column, k), as its layout is A's.
Cell along_k(unsigned pair, unsigned row, unsigned k) { return {lane_of(pair, row), k}; }
/// Element (row, k) of A in a .col layout, of B in a .row layout.
Cell across_k(unsigned pair, unsigned row, unsigned k) { return {lane_of(pair, k + (row & 4)), row % 4}; }

/// Element (row, col) of C or D: figure 50; for .f32 figures 51 and 52.
Cell accumulator_cell(MatrixType type, unsigned pair, unsigned row, unsigned col) {
    if (type == MatrixType::f16) return {lane_of(pair, row), col};
    return {lane_of(pair, (row & 5) | (col & 2)), (col & 5) | (row & 2)};
}

float accumulator_of(const Mma& mma, const MmaOperands& operands, Cell cell) {
    if (mma.c == MatrixType::f16) return f16_value(half_of(operands.c, cell.lane, cell.i));
    return std::bit_cast<float>(column(operands.c[cell.i])[cell.lane]);
}

}  // namespace

void multiply_quad_pairs(const Mma& mma, const MmaOperands& operands) {
    float sums[4][8][8];
    const auto a_cell = mma.a_layout == MatrixLayout::row ? along_k : across_k;
    const auto b_cell = mma.b_layout == MatrixLayout::col ? along_k : across_k;
    for (unsigned i = 0; i < 256; ++i) {
        const unsigned pair = i / 64, row = i / 8 % 8, col = i % 8;
        float sum = accumulator_of(mma, operands, accumulator_cell(mma.c, pair, row, col));
        for (unsigned k = 0; k < 4; ++k) {
            const Cell a = a_cell(pair, row, k), b = b_cell(pair, col, k);
            sum = std::fma(f16_value(half_of(operands.a, a.lane, a.i)),
                           f16_value(half_of(operands.b, b.lane, b.i)), sum);
        }
        sums[pair][row][col] = sum;
    }
    for (unsigned i = 0; i < 256; ++i) {
        const unsigned pair = i / 64, row = i / 8 % 8, col = i % 8;
        const Cell cell = accumulator_cell(mma.d, pair, row, col);
        const float sum = sums[pair][row][col];
        if (mma.d == MatrixType::f16)
            set_half(operands.d, cell.lane, cell.i, f16_bits(sum));
        else
            static_cast<std::uint32_t*>(operands.d[cell.i])[cell.lane] = f32_bits(sum);
    }
}

// --- wmma.load, wmma.store

namespace {

/// The first element of register `i` of a lane, and how many there are side by side: along k, or along the
/// row of C.
struct Elements {
    unsigned row, column, count;
};
Elements elements_of(const Mma& mma, WmmaMatrix matrix, unsigned i, unsigned lane) {
    const Tiling tiling = tiling_of(mma);
    const unsigned g = lane / 4, t = lane % 4;
    const unsigned per_word = mma.a == MatrixType::f64 ? 1 : 32 / element_bits(mma.a);
    if (matrix == WmmaMatrix::a) {
        i %= tiling.blocks * tiling.a;  // the eight registers of .f16 may hold everything several times
        const unsigned block = i / tiling.a, j = i % tiling.a;
        return {16 * block + 8 * (j % tiling.halves) + g, (j / tiling.halves * 4 + t) * per_word, per_word};
    }
    if (matrix == WmmaMatrix::b) {
        i %= tiling.tiles * tiling.b;
        return {(i % tiling.b * 4 + t) * per_word, 8 * (i / tiling.b) + g, per_word};
    }
    const bool halves = (matrix == WmmaMatrix::c ? mma.c : mma.d) == MatrixType::f16;
    const unsigned of_tile = matrix == WmmaMatrix::c ? tiling.c : tiling.d, j = i % of_tile,
                   product = i / of_tile;
    const unsigned row = product / tiling.tiles * 16 + (halves ? j : j / 2) * 8 + g;
    return {row, product % tiling.tiles * 8 + 2 * t + (halves ? 0 : j % 2), halves ? 2u : 1u};
}

}  // namespace

std::vector<WmmaAccess> wmma_accesses(const Mma& mma, WmmaMatrix matrix, MatrixLayout layout) {
    const FragmentSizes sizes = fragment_sizes(mma);
    const bool of_a = matrix == WmmaMatrix::a, of_b = matrix == WmmaMatrix::b;
    const unsigned registers = of_a ? sizes.a : of_b ? sizes.b : matrix == WmmaMatrix::c ? sizes.c : sizes.d;
    const MatrixType type = of_a ? mma.a : of_b ? mma.b : matrix == WmmaMatrix::c ? mma.c : mma.d;
    const bool side_by_side = layout == (of_b ? MatrixLayout::col : MatrixLayout::row);
    const unsigned bits = element_bits(type);
    std::vector<WmmaAccess> accesses;
    for (unsigned i = 0; i < registers; ++i) {
        const unsigned count = elements_of(mma, matrix, i, 0).count;
        const unsigned together = side_by_side || bits < 8 ? count : 1;
        for (unsigned j = 0; j < count; j += together) {
            WmmaAccess access;
            access.reg = static_cast<std::uint8_t>(i);
            access.shift = static_cast<std::uint8_t>(j * bits);
            access.bits = static_cast<std::uint8_t>(together * bits);
            for (unsigned lane = 0; lane < 32; ++lane) {
                const Elements elements = elements_of(mma, matrix, i, lane);
                access.row[lane] = static_cast<std::uint8_t>(elements.row + (of_b ? j : 0));
                access.column[lane] = static_cast<std::uint8_t>(elements.column + (of_b ? 0 : j));
            }
            accesses.push_back(access);
        }
    }
    return accesses;
}

unsigned wmma_default_stride(const Mma& mma, WmmaMatrix matrix, MatrixLayout layout) {
    const unsigned rows = matrix == WmmaMatrix::b ? mma.k : mma.m,
                   columns = matrix == WmmaMatrix::a ? mma.k : mma.n;
    return layout == MatrixLayout::row ? columns : rows;
}

// --- ldmatrix, stmatrix, movmatrix: a register holds a matrix row by row, four lanes each.

void transpose_halves(std::uint32_t* words) {
#if defined(__SSE2__)
    auto* rows = reinterpret_cast<__m128i*>(words);
    __m128i pairs[8], fours[8];
    for (int i = 0; i < 4; ++i) {
        const __m128i low = _mm_load_si128(rows + 2 * i), high = _mm_load_si128(rows + 2 * i + 1);
        pairs[2 * i] = _mm_unpacklo_epi16(low, high);
        pairs[2 * i + 1] = _mm_unpackhi_epi16(low, high);
    }
    for (int i = 0; i < 2; ++i)
        for (int j = 0; j < 2; ++j) {
            fours[4 * i + 2 * j] = _mm_unpacklo_epi32(pairs[4 * i + j], pairs[4 * i + 2 + j]);
            fours[4 * i + 2 * j + 1] = _mm_unpackhi_epi32(pairs[4 * i + j], pairs[4 * i + 2 + j]);
        }
    for (int i = 0; i < 4; ++i) {
        _mm_store_si128(rows + 2 * i, _mm_unpacklo_epi64(fours[i], fours[4 + i]));
        _mm_store_si128(rows + 2 * i + 1, _mm_unpackhi_epi64(fours[i], fours[4 + i]));
    }
#else
    std::uint16_t from[8][8], to[8][8];
    std::memcpy(from, words, sizeof from);
    for (unsigned i = 0; i < 64; ++i) to[i % 8][i / 8] = from[i / 8][i % 8];
    std::memcpy(words, to, sizeof to);
#endif
}

namespace {

constexpr std::size_t row_bytes = 16, matrix_bytes = 8 * row_bytes;

struct alignas(64) RegisterWords {
    std::uint32_t lanes[32];
};

}  // namespace

void load_matrices(const std::byte* const* rows, unsigned count, Transposition transposition,
                   void* const* registers) {
    for (unsigned i = 0; i < count; ++i) {
        RegisterWords matrix;
        for (unsigned r = 0; r < 8; ++r) std::memcpy(matrix.lanes + 4 * r, rows[8 * i + r], row_bytes);
        if (transposition == Transposition::trans) transpose_halves(matrix.lanes);
        std::memcpy(registers[i], matrix.lanes, matrix_bytes);
    }
}

void store_matrices(const void* const* registers, unsigned count, Transposition transposition,
                    std::byte* const* rows) {
    for (unsigned i = 0; i < count; ++i) {
        RegisterWords matrix;
        std::memcpy(matrix.lanes, registers[i], matrix_bytes);
        if (transposition == Transposition::trans) transpose_halves(matrix.lanes);
        for (unsigned r = 0; r < 8; ++r) std::memcpy(rows[8 * i + r], matrix.lanes + 4 * r, row_bytes);
    }
}

void transpose_matrix(void* d, const void* a) {
    RegisterWords matrix;
    std::memcpy(matrix.lanes, a, matrix_bytes);
    transpose_halves(matrix.lanes);
    std::memcpy(d, matrix.lanes, matrix_bytes);
}

}  // namespace ptxgraft::emulator
