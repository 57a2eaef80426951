#pragma once
/// @file wgmma_reference.cuh
/// What the references of wgmma.cu, grouped.cu and conv/wgmma.cu have in common: elements as doubles, and the
/// sites.
#include <ptxgraft/site.cuh>

enum class Element { bf16, f16, e4m3, e5m2, f32 };
enum class Statistic { none, row, column };
constexpr Element type = Element::TYPE, output = Element::OUTPUT;

template <Element> struct Stored { using Bits = unsigned short; };
template <> struct Stored<Element::f32> { using Bits = float; };
template <> struct Stored<Element::e4m3> { using Bits = unsigned char; };
template <> struct Stored<Element::e5m2> { using Bits = unsigned char; };
using In = Stored<type>::Bits;
using Out = Stored<output>::Bits;

__device__ float float_of_f16(unsigned short bits) {
    float x;
    asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
    return x;
}
template <Element type> __device__ float value_of(typename Stored<type>::Bits bits) {
    if constexpr (type == Element::f32) {
        return bits;
    } else if constexpr (type == Element::bf16) {
        return __uint_as_float(static_cast<unsigned>(bits) << 16);
    } else if constexpr (type == Element::f16) {
        return float_of_f16(bits);
    } else if constexpr (type == Element::e5m2) {
        return float_of_f16(static_cast<unsigned short>(bits << 8));  // the upper half of an f16
    } else {
        unsigned both;  // two e4m3, of which the lower one is ours
        asm("cvt.rn.f16x2.e4m3x2 %0, %1;" : "=r"(both) : "h"(static_cast<unsigned short>(bits)));
        return float_of_f16(static_cast<unsigned short>(both));
    }
}

__device__ Out stored(float x) {
    if constexpr (output == Element::f32) {
        return x;
    } else {
        unsigned short bits;
        if constexpr (output == Element::bf16)
            asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        else
            asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
        return bits;
    }
}

// 8-bit elements have scales, and their products are scaled by default.
#define DEFAULT_EPILOGUE_bf16 ""
#define DEFAULT_EPILOGUE_f16 ""
#define DEFAULT_EPILOGUE_e4m3 "mul.f32 _acc, _acc, _row_scale; mul.f32 _acc, _acc, _col_scale;"
#define DEFAULT_EPILOGUE_e5m2 DEFAULT_EPILOGUE_e4m3
#define DEFAULT_EPILOGUE_OF(TYPE) DEFAULT_EPILOGUE_##TYPE
#define DEFAULT_EPILOGUE(TYPE) DEFAULT_EPILOGUE_OF(TYPE)

// A prologue sees words: elements that follow each other along k, the first one in the lowest bits, of whole
// tiles, which end in zeros. From one k to the next it is `step` elements.
constexpr unsigned word = 4 / sizeof(In), bits = 8 * sizeof(In);
__device__ unsigned load(const In* first, unsigned long long step, unsigned k, unsigned end) {
    unsigned words = 0;
    for (unsigned i = 0; i < word && k + i < end; ++i) words |= unsigned{first[(k + i) * step]} << bits * i;
    return words;
}

__device__ void fill_prologue_a(unsigned& x, unsigned row, unsigned k) {
    PTXGRAFT_HOT_SITE("prologue_a", "", mod(b32, x), in(u32, row), in(u32, k));
}
__device__ double product_of_words(unsigned x, unsigned y) {
    double sum = 0;
    for (unsigned j = 0; j < word; ++j)
        sum += static_cast<double>(value_of<type>(static_cast<In>(x >> bits * j))) *
               value_of<type>(static_cast<In>(y >> bits * j));
    return sum;
}
/// What the words add to the product.
__device__ double product_of_words(unsigned x, unsigned y, unsigned row, unsigned col, unsigned k) {
    fill_prologue_a(x, row, k);
    PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x, y), in(u32, col), in(u32, k));
    return product_of_words(x, y);
}

/// What arrays that may be null have for the row, the column and the element.
struct Extras {
    float row_scale, column_scale, bias, residual;
};
__device__ double epilogue(double sum, unsigned row, unsigned col, unsigned batch, const Extras& of) {
    float acc = static_cast<float>(sum);
    PTXGRAFT_SITE("epilogue", DEFAULT_EPILOGUE(TYPE), mod(f32, acc), in(u32, row), in(u32, col),
                  in(u32, batch), in(f32, row_scale, of.row_scale), in(f32, col_scale, of.column_scale),
                  in(f32, bias, of.bias), in(f32, residual, of.residual));
    return acc;
}

/// What the element adds to the statistic of its row or column.
__device__ double contribution(double element, unsigned row, unsigned col, unsigned batch) {
    float x = static_cast<float>(element);
    PTXGRAFT_COLD_SITE("reduce", "", mod(f32, x), in(u32, row), in(u32, col), in(u32, batch));
    return x;
}
/// The first thread of a row of a tile, or of 64 rows of a column, adds up all of it. Of the `batch`-th
/// matrix of m x n, whose elements add contribution_of(row, col).
template <class ContributionOf>
__device__ void leave_statistic(const ContributionOf& contribution_of, unsigned row, unsigned col,
                                unsigned long long m, unsigned long long n, unsigned long long batch,
                                double* statistics) {
    constexpr Statistic statistic = Statistic::STATISTIC;
    const bool is_first = statistic == Statistic::row ? col % TILE_N == 0 : row % 64 == 0;
    if (statistic == Statistic::none || !is_first || !statistics) return;
    double sum = 0;
    if (statistic == Statistic::row) {
        for (unsigned i = col; i < min(col + TILE_N, unsigned(n)); ++i) sum += contribution_of(row, i);
        statistics[(batch * ((n + TILE_N - 1) / TILE_N) + col / TILE_N) * m + row] = sum;
    } else {
        for (unsigned i = row; i < min(row + 64, unsigned(m)); ++i) sum += contribution_of(i, col);
        statistics[(batch * ((m + 63) / 64) + row / 64) * n + col] = sum;
    }
}
