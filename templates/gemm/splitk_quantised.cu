// c = a b as gemm/splitk, where b is stored in 8 or 4 bits an element as that of mma_quantised.cu: few rows
// of a by the weights of a network.
#include "mma_quantised.cuh"
#include "splitk.cuh"

extern "C" __global__ void __launch_bounds__(threads, blocks)
    gemm_splitk_quantised(const Element* a, const unsigned char* b, const float* scale_b, const float* bias,
                          const float* row_scale, const float* column_scale, const Result* residual,
                          Accumulator* partials, unsigned* arrived, Result* c, unsigned m, unsigned n,
                          unsigned k, unsigned pitch_a, unsigned pitch_b, float* statistics) {
    extern __shared__ __align__(1024) char memory[];
    const unsigned shared = shared_address(memory), batch = blockIdx.z;
    a += 1ull * batch * (a_is_along_k ? m : k) * pitch_a;
    const unsigned long long first_result = 1ull * batch * m * n;
    c += first_result;
    if (residual) residual += first_result;

    multiply_and_share<QuantisedB>(
        {a, stored_matrix(b, scale_b, batch, n, k, pitch_b), m, n, k, pitch_a, pitch_b}, partials, arrived,
        {c, residual, bias, row_scale, column_scale, m, n, batch, statistics}, shared);
}
