// What the references of gemm/mma and the kernels like it have in common, in double precision: a thread for
// each element of c, plain loops.
#pragma once
#include <ptxgraft/site.cuh>

#include "../hardware/mma.cuh"

using namespace hardware;
using Element = TYPE;
using Result = OUTPUT;
enum class Layout { row, column };
enum class Statistic { none, row, column };

constexpr unsigned word = 4 / sizeof(Element);  // elements that a register of a fragment holds

// Elements k to k + word - 1 of a row of a or column of b, the first in the lowest bits. From one k to the
// next it is `step` elements; past the matrix there are zeros.
__device__ unsigned load(const Element* first, unsigned long long step, unsigned k, unsigned end) {
    unsigned bits = 0;
    for (unsigned i = 0; i < word && k + i < end; ++i) {
        const Element element = first[(k + i) * step];
        unsigned one = 0;
        for (unsigned byte = 0; byte < sizeof(Element); ++byte)
            one |= unsigned{reinterpret_cast<const unsigned char*>(&element)[byte]} << 8 * byte;
        bits |= one << 8 * sizeof(Element) * i;
    }
    return bits;
}
// Element i of a word. Of a tf32 the tensor core reads the upper 19 bits.
__device__ double element(unsigned bits, unsigned i, bf16) {
    return to_f32(bf16{static_cast<unsigned short>(bits >> 16 * i)});
}
__device__ double element(unsigned bits, unsigned i, f16) {
    return to_f32(f16{static_cast<unsigned short>(bits >> 16 * i)});
}
__device__ double element(unsigned bits, unsigned, tf32) { return __uint_as_float(bits & 0xFFFFE000); }
__device__ double element(unsigned bits, unsigned i, s8) { return static_cast<s8>(bits >> 8 * i); }

// Integers are rounded where they are stored; what rounding to another type may cost is known of the type.
__device__ double rounded(float x, s32) { return from_f32<s32>(x); }
template <class Float> __device__ double rounded(float x, Float) { return x; }

// The elements of a and b in the words x and y: what they add to the product. `row` is a's.
__device__ double product_of_words(unsigned x, unsigned y, unsigned row, unsigned k) {
    PTXGRAFT_HOT_SITE("prologue_a", "", mod(b32, x), in(u32, row), in(u32, k));
    double sum = 0;
    for (unsigned j = 0; j < word; ++j) sum += element(x, j, Element{}) * element(y, j, Element{});
    return sum;
}

struct Inputs {
    const Element* a;
    const float *bias, *row_scale, *column_scale;
    const Result* residual;
    unsigned m, n, k, pitch_a;
};

// What the epilogue makes of an element's sum. word_of_b(col, i) is the word of b that has element i of
// column col first, as it is multiplied.
template <class WordOfB>
__device__ float result(const Inputs& of, unsigned row, unsigned col, unsigned batch,
                        const WordOfB& word_of_b) {
    const bool a_is_row = Layout::LAYOUT_A == Layout::row;
    const unsigned m = of.m, n = of.n, k = of.k, pitch_a = of.pitch_a;
    const Element* a =
        of.a + (1ull * batch * (a_is_row ? m : k) * pitch_a + (a_is_row ? 1ull * row * pitch_a : row));

    double sum = 0;
    const unsigned end = (k + TILE_K - 1) / TILE_K * TILE_K;  // the sites see whole tiles
    for (unsigned i = 0; i < end; i += word)
        sum += product_of_words(load(a, a_is_row ? 1 : pitch_a, i, k), word_of_b(col, i), row, i);

    float acc = static_cast<float>(sum);
    PTXGRAFT_COLD_SITE(
        "epilogue", "", mod(f32, acc), in(u32, row), in(u32, col), in(u32, batch),
        in(f32, bias, of.bias ? of.bias[col] : 0.0f),
        in(f32, row_scale, of.row_scale ? of.row_scale[row] : 1.0f),
        in(f32, col_scale, of.column_scale ? of.column_scale[col] : 1.0f),
        in(f32, residual, of.residual ? to_f32(of.residual[(1ull * batch * m + row) * n + col]) : 0.0f));
    return acc;
}

// What the site makes of an element, for the statistic of its row or column.
__device__ double contribution(float x, unsigned row, unsigned col, unsigned batch) {
    PTXGRAFT_COLD_SITE("reduce", "", mod(f32, x), in(u32, row), in(u32, col), in(u32, batch));
    return x;
}

// This thread's element of c, and, if it is the first one of a row or column of a tile, that one's statistic.
template <class WordOfB>
__device__ void leave(const Inputs& of, const WordOfB& word_of_b, double* c, double* statistics) {
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned batch = blockIdx.z, m = of.m, n = of.n;
    if (row >= m || col >= n) return;
    c[(1ull * batch * m + row) * n + col] = rounded(result(of, row, col, batch, word_of_b), Result{});

    const bool is_first = Statistic::STATISTIC == Statistic::row ? col % TILE_N == 0 : row % TILE_M == 0;
    if (Statistic::STATISTIC == Statistic::none || !is_first || !statistics) return;
    const auto contribution_of = [&](unsigned i, unsigned j) {
        return contribution(result(of, i, j, batch, word_of_b), i, j, batch);
    };
    double sum = 0;
    if (Statistic::STATISTIC == Statistic::row) {
        const unsigned tiles = (n + TILE_N - 1) / TILE_N;
        for (unsigned i = col; i < min(col + TILE_N, n); ++i) sum += contribution_of(row, i);
        statistics[(1ull * batch * tiles + col / TILE_N) * m + row] = sum;
    } else {
        const unsigned tiles = (m + TILE_M - 1) / TILE_M;
        for (unsigned i = row; i < min(row + TILE_M, m); ++i) sum += contribution_of(i, col);
        statistics[(1ull * batch * tiles + row / TILE_M) * n + col] = sum;
    }
}
