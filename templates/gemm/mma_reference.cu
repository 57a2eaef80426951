// The result of mma.cu and splitk.cu in double precision.
#include "mma_reference.cuh"

extern "C" __global__ void gemm_reference(const Element* a, const Element* b, const float* bias,
                                          const float* row_scale, const float* column_scale,
                                          const Result* residual, double* c, unsigned m, unsigned n,
                                          unsigned k, unsigned pitch_a, unsigned pitch_b,
                                          double* statistics) {
    const bool b_is_row = Layout::LAYOUT_B == Layout::row;
    b += 1ull * blockIdx.z * (b_is_row ? k : n) * pitch_b;
    const auto word_of_b = [&](unsigned col, unsigned i) {
        const Element* const column = b + (b_is_row ? col : 1ull * col * pitch_b);
        unsigned x = load(column, b_is_row ? pitch_b : 1, i, k);
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(u32, col), in(u32, k, i));
        return x;
    };
    leave({a, bias, row_scale, column_scale, residual, m, n, k, pitch_a}, word_of_b, c, statistics);
}
