// What wgmma.cu and grouped.cu compute, in double and in plain loops: a thread for each element of c, with
// the same sites.
#include <ptxgraft/site.cuh>

#ifndef LAYOUT  // which gemm/wgmma has not
#define LAYOUT contiguous
#endif

enum class Element { bf16, f16, e4m3, e5m2, f32 };
enum class Order { row, column };
enum class Layout { contiguous, masked };
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

extern "C" __global__ void gemm_wgmma_reference(const In* a, const In* b, const float* row_scale,
                                                const float* column_scale, const float* bias,
                                                const Out* residual, double* c, unsigned m, unsigned n,
                                                unsigned k, unsigned batches) {
    const unsigned long long col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const unsigned long long batch = blockIdx.z, at = (batch * m + row) * n + col;
    if (row >= m || col >= n || batch >= batches) return;
    const double sum = product(a + batch * m * k, b + batch * n * k, row, col, m, n, k);
    c[at] = epilogue(
        sum, row, col, batch,
        {row_scale ? row_scale[batch * m + row] : 1.0f, column_scale ? column_scale[batch * n + col] : 1.0f,
         bias ? bias[batch * n + col] : 0.0f, residual ? value_of<output>(residual[at]) : 0.0f});
}

// The same for groups of rows; blockIdx.z is the group where rows are masked. Rows of no group stay as they
// are, so c is of its own type here.
extern "C" __global__ void gemm_grouped_reference(const In* a, const In* b, const unsigned* sizes,
                                                  const float* row_scale, const float* column_scale,
                                                  const float* bias, const Out* residual, Out* c, unsigned m,
                                                  unsigned n, unsigned k, unsigned groups) {
    const unsigned long long col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
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
    const unsigned long long c_row = of_a * m + row, at = c_row * n + col;
    const double sum = product(a + of_a * m * k, b + group * n * k, row, col, m, n, k);
    c[at] = stored(
        epilogue(sum, row, col, group,
                 {row_scale ? row_scale[c_row] : 1.0f, column_scale ? column_scale[group * n + col] : 1.0f,
                  bias ? bias[group * n + col] : 0.0f, residual ? value_of<output>(residual[at]) : 0.0f}));
}
