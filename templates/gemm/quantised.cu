// c = a b as gemm/wgmma, of bf16 or f16, where b is stored in 8 or 4 bits an element, with a scale for each
// GROUP of k and column: b's tiles come as they are stored, and pass to a's type in shared memory. wgmma.md
// says how.
//
// The site `prologue_b` stands where two elements have been read: it may make the product's elements of them
// in its own way. The other sites are those of wgmma.cu.
#define LAYOUT_B column
#define PRODUCER_REGISTERS 40  // with 24, and 240 for consumers, ptxas spills one where those are in turns
#include "wgmma.cuh"
#include "wgmma_quantised.cuh"

using namespace gemm;

extern "C" __global__ void __launch_bounds__(threads, 1) __cluster_dims__(cluster, 1, 1)
    gemm_quantised(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                   const float* __restrict__ scale_b, const float* __restrict__ row_scale,
                   const float* __restrict__ column_scale, const float* __restrict__ bias,
                   const Out* __restrict__ residual, Out* __restrict__ c,
                   const __grid_constant__ TensorMap map_c, u32 m, u32 n, u32 k, u32 batch,
                   float* __restrict__ statistics) {
    run([&] { return TilesOfBatch(m, n, batch); }, Quantised{a, b, {scale_b, n, (k + GROUP - 1) / GROUP}}, k,
        {c,
         &map_c,
         n * sizeof(Out) % 16 == 0,
         n,
         {row_scale, column_scale, bias, residual},
         {statistics, m, n}});
}
