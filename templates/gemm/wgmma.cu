// c = a b on the tensor cores of sm_90a, for each matrix of a batch: a is m x k, b is k x n, c is m x n, of
// any sizes, but that tensor copies want rows of a and b to begin at 16 bytes. c is stored by tensor copies,
// or by vectors, where its rows begin at 16 bytes, else element by element.
//
// Blocks stay, and take tile after tile of c; wgmma.md says how, and wgmma.cuh has the parts.
//
// The site `epilogue` is called for every element of the tiles, on its way from the f32 accumulator to c, and
// for those beyond c's edges, whose results are dropped. Its operands row_scale, col_scale, bias and residual
// are 1, 1, 0 and 0 where their arrays are null; of what a stub does not use nothing is loaded.
// PROLOGUE says which of the sites prologue_a and prologue_b there are, by which elements of a and b go on
// their way to the product. With STATISTIC there is the site `reduce`, by which an element of c goes into the
// sum of a tile's row or of a column of 64 rows.
#include "wgmma.cuh"

using namespace gemm;

extern "C" __global__ void __launch_bounds__(threads, 1) __cluster_dims__(cluster, 1, 1)
    gemm_wgmma(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
               const float* __restrict__ row_scale, const float* __restrict__ column_scale,
               const float* __restrict__ bias, const Out* __restrict__ residual, Out* __restrict__ c,
               const __grid_constant__ TensorMap map_c, u32 m, u32 n, u32 k, u32 batch,
               float* __restrict__ statistics) {
    run([&] { return TilesOfBatch(m, n, batch); }, Matrices{a, b}, k,
        {c,
         &map_c,
         n * sizeof(Out) % 16 == 0,
         n,
         {row_scale, column_scale, bias, residual},
         {statistics, m, n}});
}
