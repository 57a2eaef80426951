// What tcgen05.cu computes: as gemm/wgmma's reference, without a statistic.
#define STATISTIC none
#include "wgmma_reference.cu"

extern "C" __global__ void gemm_tcgen05_reference(const In* a, const In* b, const float* row_scale,
                                                  const float* column_scale, const float* bias,
                                                  const Out* residual, double* c, unsigned m, unsigned n,
                                                  unsigned k, unsigned batches) {
    const unsigned col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
    const unsigned long long batch = blockIdx.z;
    if (row >= m || col >= n || batch >= batches) return;
    const Inputs in{a, b, row_scale, column_scale, bias, residual, m, n, k};
    c[(batch * m + row) * n + col] = element(in, batch, batch, row, col);
}
