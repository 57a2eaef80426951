// c = a b for groups of rows, each with a b of its own, as the experts of a mixture have them, on the tensor
// cores of sm_90a. sizes[g] is how many rows group g has. LAYOUT of a and c, in which `m` rows are:
//   contiguous   the rows of all groups, one group behind the other, without gaps and of any size
//   masked       m rows for each group, of which the first sizes[g] are its own
// Rows of no group are neither read for c nor written.
//
// One persistent kernel: blocks take tile after tile of all groups as if they were one row of tiles; what is
// within a tile is wgmma.cuh's, and wgmma.md explains it. The sites are those of wgmma.cu: `batch` is the
// group, and `row` is one of all rows where groups are contiguous, else one of the group.
#include "wgmma.cuh"

using namespace gemm;

enum class Layout { contiguous, masked };
constexpr Layout layout = Layout::LAYOUT;

/// The tiles that a block takes, one by one. Every thread walks over the groups by itself: it needs their
/// sizes alone, which stay in the cache. It keeps little from tile to tile: registers are the stub's.
struct Tiles {
    static constexpr bool by_map = false;  // the last tile of a group ends before the rows of the next one
    const u32* sizes;
    u32 groups, m, n;
    u32 group, row;  // the group under way, and where its rows begin in c
    u32 unit;        // of that group, to take next; beyond its last one, of a later group

    __device__ Tiles(const u32* sizes, u32 groups, u32 m, u32 n)
        : sizes(sizes), groups(groups), m(m), n(n), group(0), row(0), unit(first_unit()) {}

    __device__ bool next(Tile& tile) {
        const u32 tiles_n = units_n(n);
        for (; group < groups; ++group) {
            // No group has rows beyond the arrays, whatever its size says.
            const u32 size = min(sizes[group], layout == Layout::contiguous ? m - row : m);
            const u32 tiles_m = units_m(size);
            if (unit < tiles_m * tiles_n) {
                const Unit own = own_tile(unit_of(unit, tiles_m, tiles_n), own_rank());
                const u32 of_a = layout == Layout::contiguous ? 0 : group;
                tile = {row + own.row * tile_m, own.col * tile_n, row + size, of_a, group, u64{of_a} * m};
                unit += gridDim.x / cluster;
                return true;
            }
            unit -= tiles_m * tiles_n;
            if (layout == Layout::contiguous) row += size;
        }
        return false;
    }
};

extern "C" __global__ void __launch_bounds__(threads, 1) __cluster_dims__(cluster, 1, 1)
    gemm_grouped(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                 const u32* __restrict__ sizes, const float* __restrict__ row_scale,
                 const float* __restrict__ column_scale, const float* __restrict__ bias,
                 const Out* __restrict__ residual, Out* __restrict__ c, u32 m, u32 n, u32 k, u32 groups,
                 float* __restrict__ statistics) {
    run([&] { return Tiles(sizes, groups, m, n); }, Matrices{a, b}, k,
        {c,
         nullptr,
         n * sizeof(Out) % 16 == 0,
         n,
         {row_scale, column_scale, bias, residual},
         {statistics, m, n}});
}
