// What quantised.cu computes, in double and in plain loops: a thread for each element of c, with the same
// sites.
#include "../hardware/narrow.cuh"
#include "wgmma_reference.cuh"

enum class Order { row, column };
constexpr bool a_is_row = Order::LAYOUT_A == Order::row;
struct Inputs {
    const In* a;
    const unsigned char* b;
    const float *scale_b, *row_scale, *column_scale, *bias;
    const Out* residual;
    unsigned long long m, n;
    unsigned k;
};

/// Elements k and k + 1 of a column, as they are multiplied; beyond the last one there are zeros.
__device__ unsigned dequantised(const Inputs& in, unsigned long long batch, unsigned col, unsigned k) {
    const unsigned long long column = batch * in.n + col, at = column * in.k + k;
    const float low = k < in.k ? hardware::narrow_value<hardware::Narrow::TYPE_B>(in.b, at) : 0;
    const float high = k + 1 < in.k ? hardware::narrow_value<hardware::Narrow::TYPE_B>(in.b, at + 1) : 0;
    const unsigned long long group = column * ((in.k + GROUP - 1) / GROUP) + k / 64 * 64 / GROUP;
    const float scale = in.scale_b ? in.scale_b[group] : 1;
    unsigned x = hardware::pack(low * scale, high * scale, hardware::TYPE{});
    PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(f32, low), in(f32, high), in(f32, scale),
                      in(u32, col), in(u32, k));
    return x;
}

__device__ double product(const Inputs& in, unsigned long long batch, unsigned row, unsigned col) {
    const In* const a = in.a + batch * in.m * in.k + (a_is_row ? 1ull * row * in.k : row);
    double sum = 0;
    for (unsigned i = 0; i < (in.k + 63) / 64 * 64; i += 2) {
        unsigned x = load(a, a_is_row ? 1 : in.m, i, in.k);
        fill_prologue_a(x, row, i);
        sum += product_of_words(x, dequantised(in, batch, col, i));
    }
    return sum;
}

__device__ double element(const Inputs& in, unsigned long long batch, unsigned row, unsigned col) {
    const unsigned long long c_row = batch * in.m + row, c_col = batch * in.n + col, at = c_row * in.n + col;
    return epilogue(
        product(in, batch, row, col), row, col, batch,
        {in.row_scale ? in.row_scale[c_row] : 1.0f, in.column_scale ? in.column_scale[c_col] : 1.0f,
         in.bias ? in.bias[c_col] : 0.0f, in.residual ? value_of<output>(in.residual[at]) : 0.0f});
}

extern "C" __global__ void gemm_quantised_reference(const In* a, const unsigned char* b, const float* scale_b,
                                                    const float* row_scale, const float* column_scale,
                                                    const float* bias, const Out* residual, double* c,
                                                    unsigned m, unsigned n, unsigned k, unsigned batches,
                                                    double* statistics) {
    const unsigned col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const unsigned batch = blockIdx.z;
    if (row >= m || col >= n || batch >= batches) return;
    const Inputs in{a, b, scale_b, row_scale, column_scale, bias, residual, m, n, k};
    c[(1ull * batch * m + row) * n + col] = element(in, batch, row, col);
    const auto contribution_of = [&](unsigned i, unsigned j) {
        return contribution(element(in, batch, i, j), i, j, batch);
    };
    leave_statistic(contribution_of, row, col, m, n, batch, statistics);
}
