// c = a b where c has few tiles and k is long: `splits` blocks share a tile of c, each with a part of k, so
// that there are blocks for all multiprocessors. Elements, layouts and sites are those of mma.cu; splitk.cuh
// says how blocks share.
#include "splitk.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    gemm_splitk(const Element* a, const Element* b, const float* bias, const float* row_scale,
                const float* column_scale, const Result* residual, Accumulator* partials, unsigned* arrived,
                Result* c, unsigned m, unsigned n, unsigned k, unsigned pitch_a, unsigned pitch_b,
                float* statistics) {
    extern __shared__ __align__(1024) char memory[];
    const unsigned shared = shared_address(memory), batch = blockIdx.z;
    a += 1ull * batch * (a_is_along_k ? m : k) * pitch_a;
    b += 1ull * batch * (b_is_along_k ? n : k) * pitch_b;
    const unsigned long long first_result = 1ull * batch * m * n;
    c += first_result;
    if (residual) residual += first_result;

    multiply_and_share<PlainB>({a, b, m, n, k, pitch_a, pitch_b}, partials, arrived,
                               {c, residual, bias, row_scale, column_scale, m, n, batch, statistics}, shared);
}
