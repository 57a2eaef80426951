// c = a b on the tensor cores of sm_80 and all that came later: cp.async into swizzled shared memory, several
// stages deep, ldmatrix, mma.sync. Elements of a and b (TYPE): bf16, f16, tf32 (f32 in memory), s8; sums are
// f32, of s8 s32. Any m, n and k below 2^31, and a batch of matrices one behind the other.
//
// LAYOUT_A row: a is m rows of k; column: k rows of m. LAYOUT_B row: b is k rows of n; column: n rows of k.
// Rows of a and b are pitch_a and pitch_b elements apart, and begin at multiples of 16 bytes; c and residual
// are m rows of n. Null stands for zeros of bias and residual, and for ones of the scales.
//
// With STATISTIC each tile leaves sums of its rows or columns in `statistics`, [batch, tile, row or column].
//
// mma_tile.cuh has the way of the data, README.md explains it.
#include "mma_tile.cuh"

extern "C" __global__ void __launch_bounds__(threads)
    gemm(const Element* a, const Element* b, const float* bias, const float* row_scale,
         const float* column_scale, const Result* residual, Result* c, unsigned m, unsigned n, unsigned k,
         unsigned pitch_a, unsigned pitch_b, float* statistics) {
    extern __shared__ __align__(1024) char memory[];
    const unsigned shared = shared_address(memory), batch = blockIdx.y;
    a += 1ull * batch * (a_is_along_k ? m : k) * pitch_a;
    b += 1ull * batch * (b_is_along_k ? n : k) * pitch_b;
    const unsigned long long first_result = 1ull * batch * m * n;
    c += first_result;
    if (residual) residual += first_result;

    const TilePlace place = place_of_block(blockIdx.x, m, n);
    Accumulators acc = {};
    TileProduct<PlainB> product({a, b, m, n, k, pitch_a, pitch_b}, place, 0, (k + tile_k - 1) / tile_k,
                                shared);
    product.multiply(acc);
    store({c, residual, bias, row_scale, column_scale, m, n, batch, statistics}, acc, place, shared);
}
