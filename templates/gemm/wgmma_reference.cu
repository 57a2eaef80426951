// What wgmma.cu and grouped.cu compute, in double and in plain loops: a thread for each element of c, with
// the same sites.
#include "wgmma_reference.cuh"

#ifndef LAYOUT  // which gemm/wgmma has not
#define LAYOUT contiguous
#endif

enum class Order { row, column };
enum class Layout { contiguous, masked };
constexpr Order layout_a = Order::LAYOUT_A, layout_b = Order::LAYOUT_B;

__device__ double product(const In* a, const In* b, unsigned row, unsigned col, unsigned long long m,
                          unsigned long long n, unsigned k) {
    constexpr bool a_is_row = layout_a == Order::row, b_is_row = layout_b == Order::row;
    a += a_is_row ? row * static_cast<unsigned long long>(k) : row;
    b += b_is_row ? col : col * static_cast<unsigned long long>(k);
    constexpr unsigned tile_k = 128 / sizeof(In);
    double sum = 0;
    for (unsigned i = 0; i < (k + tile_k - 1) / tile_k * tile_k; i += word) {
        unsigned x = load(a, a_is_row ? 1 : m, i, k), y = load(b, b_is_row ? n : 1, i, k);
        sum += product_of_words(x, y, row, col, i);
    }
    return sum;
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
/// The statistic that the element is the first one of.
__device__ void leave_statistic(const Inputs& in, unsigned long long of_a, unsigned long long of_b,
                                unsigned row, unsigned col, double* statistics) {
    const auto contribution_of = [&](unsigned i, unsigned j) {
        return contribution(element(in, of_a, of_b, i, j), i, j, static_cast<unsigned>(of_b));
    };
    leave_statistic(contribution_of, row, col, in.m, in.n, of_a, statistics);
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
