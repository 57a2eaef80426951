// What wgmma.cu and grouped.cu compute, in double and in plain loops: a thread for each element of c, with
// the same sites.
#include <ptxgraft/site.cuh>

#ifndef LAYOUT  // which gemm/wgmma has not
#define LAYOUT contiguous
#endif

enum class Element { bf16, f16, e4m3, e5m2, f32 };
enum class Order { row, column };
enum class Layout { contiguous, masked };
enum class Statistic { none, row, column };
constexpr Element type = Element::TYPE, output = Element::OUTPUT;
constexpr Order layout_a = Order::LAYOUT_A, layout_b = Order::LAYOUT_B;

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

__device__ double product(const In* a, const In* b, unsigned row, unsigned col, unsigned long long m,
                          unsigned long long n, unsigned k) {
    constexpr bool a_is_row = layout_a == Order::row, b_is_row = layout_b == Order::row;
    a += a_is_row ? row * static_cast<unsigned long long>(k) : row;
    b += b_is_row ? col : col * static_cast<unsigned long long>(k);
    constexpr unsigned tile_k = 128 / sizeof(In);
    double sum = 0;
    for (unsigned i = 0; i < (k + tile_k - 1) / tile_k * tile_k; i += word) {
        unsigned x = load(a, a_is_row ? 1 : m, i, k), y = load(b, b_is_row ? n : 1, i, k);
        PTXGRAFT_HOT_SITE("prologue_a", "", mod(b32, x), in(u32, row), in(u32, k, i));
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x, y), in(u32, col), in(u32, k, i));
        for (unsigned j = 0; j < word; ++j)
            sum += static_cast<double>(value_of<type>(static_cast<In>(x >> bits * j))) *
                   value_of<type>(static_cast<In>(y >> bits * j));
    }
    return sum;
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

struct Inputs {
    const In *a, *b;
    const float *row_scale, *column_scale, *bias;
    const Out* residual;
    unsigned long long m, n;
    unsigned k;
};
/// An element of the product of the matrices `of_a` of a and `of_b` of b.
__device__ double element(const Inputs& in, unsigned long long of_a, unsigned long long of_b, unsigned row,
                          unsigned col) {
    const unsigned long long c_row = of_a * in.m + row, c_col = of_b * in.n + col, at = c_row * in.n + col;
    const double sum =
        product(in.a + of_a * in.m * in.k, in.b + of_b * in.n * in.k, row, col, in.m, in.n, in.k);
    return epilogue(
        sum, row, col, of_b,
        {in.row_scale ? in.row_scale[c_row] : 1.0f, in.column_scale ? in.column_scale[c_col] : 1.0f,
         in.bias ? in.bias[c_col] : 0.0f, in.residual ? value_of<output>(in.residual[at]) : 0.0f});
}
/// What it adds to the statistic of its row or column.
__device__ double contribution(const Inputs& in, unsigned long long of_a, unsigned long long of_b,
                               unsigned row, unsigned col) {
    float x = element(in, of_a, of_b, row, col);
    PTXGRAFT_COLD_SITE("reduce", "", mod(f32, x), in(u32, row), in(u32, col), in(u32, batch, unsigned(of_b)));
    return x;
}
/// The first thread of a row of a tile, or of 64 rows of a column, adds up all of it.
__device__ void leave_statistic(const Inputs& in, unsigned long long of_a, unsigned long long of_b,
                                unsigned row, unsigned col, double* statistics) {
    constexpr Statistic statistic = Statistic::STATISTIC;
    const bool is_first = statistic == Statistic::row ? col % TILE_N == 0 : row % 64 == 0;
    if (statistic == Statistic::none || !is_first || !statistics) return;
    double sum = 0;
    if (statistic == Statistic::row) {
        for (unsigned i = col; i < min(col + TILE_N, unsigned(in.n)); ++i)
            sum += contribution(in, of_a, of_b, row, i);
        statistics[(of_a * ((in.n + TILE_N - 1) / TILE_N) + col / TILE_N) * in.m + row] = sum;
    } else {
        for (unsigned i = row; i < min(row + 64, unsigned(in.m)); ++i)
            sum += contribution(in, of_a, of_b, i, col);
        statistics[(of_a * ((in.m + 63) / 64) + row / 64) * in.n + col] = sum;
    }
}

extern "C" __global__ void gemm_wgmma_reference(const In* a, const In* b, const float* row_scale,
                                                const float* column_scale, const float* bias,
                                                const Out* residual, double* c, unsigned m, unsigned n,
                                                unsigned k, unsigned batches, double* statistics) {
    const unsigned col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const unsigned long long batch = blockIdx.z;
    if (row >= m || col >= n || batch >= batches) return;
    const Inputs in{a, b, row_scale, column_scale, bias, residual, m, n, k};
    c[(batch * m + row) * n + col] = element(in, batch, batch, row, col);
    leave_statistic(in, batch, batch, row, col, statistics);
}

// The same for groups of rows; blockIdx.z is the group where rows are masked. Rows of no group stay as they
// are, so c is of its own type here.
extern "C" __global__ void gemm_grouped_reference(const In* a, const In* b, const unsigned* sizes,
                                                  const float* row_scale, const float* column_scale,
                                                  const float* bias, const Out* residual, Out* c, unsigned m,
                                                  unsigned n, unsigned k, unsigned groups,
                                                  double* statistics) {
    const unsigned col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    if (row >= m || col >= n) return;
    unsigned long long group = blockIdx.z, of_a = 0;
    if (Layout::LAYOUT == Layout::masked) {
        of_a = group;
        if (row >= sizes[group]) return;
    } else {
        unsigned long long end = 0;
        for (group = 0; group < groups; ++group) {
            end += sizes[group];
            if (row < end) break;
        }
        if (group == groups) return;
    }
    const Inputs in{a, b, row_scale, column_scale, bias, residual, m, n, k};
    c[(of_a * m + row) * n + col] = stored(element(in, of_a, group, row, col));
    leave_statistic(in, of_a, group, row, col, statistics);
}
