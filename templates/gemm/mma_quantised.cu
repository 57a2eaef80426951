// c = a b as gemm/mma, of bf16 or f16, where b is stored in 8 or 4 bits an element (TYPE_B), with a scale for
// each GROUP of k and column: the weights of a network. b is n columns of k elements, pitch_b bytes from one
// to the next, which begin at multiples of 16 bytes; scale_b, [batch, n, groups of k], may be null (ones).
//
// The site `prologue_b` stands where two elements have been read: it may make the product's elements of them
// in its own way. The other sites, and all other arguments, are those of mma.cu.
#include "mma_quantised.cuh"

extern "C" __global__ void __launch_bounds__(threads, blocks)
    gemm_quantised(const Element* a, const unsigned char* b, const float* scale_b, const float* bias,
                   const float* row_scale, const float* column_scale, const Result* residual, Result* c,
                   unsigned m, unsigned n, unsigned k, unsigned pitch_a, unsigned pitch_b,
                   float* statistics) {
    extern __shared__ __align__(1024) char memory[];
    const unsigned shared = shared_address(memory), batch = blockIdx.y;
    a += 1ull * batch * (a_is_along_k ? m : k) * pitch_a;
    const unsigned long long first_result = 1ull * batch * m * n;
    c += first_result;
    if (residual) residual += first_result;

    const TilePlace place = place_of_block(blockIdx.x, m, n);
    Accumulators acc = {};
    TileProduct<QuantisedB> product(
        {a, stored_matrix(b, scale_b, batch, n, k, pitch_b), m, n, k, pitch_a, pitch_b}, place, 0,
        (k + tile_k - 1) / tile_k, shared);
    product.multiply(acc);
    store({c, residual, bias, row_scale, column_scale, m, n, batch, statistics}, acc, place, shared);
}
