#pragma once
/// @file wgmma_statistic.cuh
/// The site `reduce` of the GEMMs of wgmma.cuh, and the sums of what it makes of c's elements: for each row
/// of a tile, as [batch, column of tiles, row], or for each column of 64 rows, as [batch, 64 rows, column].
/// They are added up in a fixed order, where the compact epilogue has c's elements in a loop.

#include <ptxgraft/site.cuh>

#include "wgmma_tile.cuh"

namespace gemm {

enum class Statistic { none, row, column };
constexpr Statistic statistic = Statistic::STATISTIC;
static_assert(statistic == Statistic::none || epilogue == Epilogue::compact, "the loop has the sums");

/// Where the sums go, null for nowhere, of c's matrices of m rows and n columns.
struct Statistics {
    float* sums;
    u32 m, n;
};

/// What an element adds. The site sees elements beyond c's edges, too.
__device__ __forceinline__ float contribution(const Tile& tile, const Statistics& to, float x, u32 row,
                                              u32 col) {
    PTXGRAFT_COLD_SITE("reduce", "", mod(f32, x), in(u32, row), in(u32, col), in(u32, batch, tile.batch_b));
    return row < tile.row_end && col < to.n ? x : 0.0f;
}

/// The sums of a warp: 16 rows of a chunk of columns at a time, a part. Eight lanes have a row, `vector`
/// columns each, and four rows one after the other.
template <Statistic> struct PartSums {
    __device__ PartSums(u32) {}
    __device__ void add(const Tile&, const Statistics&, const float (&)[vector], u32, u32, u32) {}
    __device__ void finish(const Tile&, const Statistics&, u32, u32, u32) {}
};

/// Of rows: each lane its own columns of four rows, over all chunks of the tile; then its eight lanes.
template <> struct PartSums<Statistic::row> {
    float sums[4] = {};

    __device__ PartSums(u32) {}
    /// Of the part's row `line`, which is `row` of c, the columns from `col` on. No shuffle is here: the
    /// compiler does not know that all lanes make as many turns of the loop over lines, and a shuffle in it
    /// would cost the consumer's loop over k its uniform registers.
    __device__ __forceinline__ void add(const Tile& tile, const Statistics& to, const float (&values)[vector],
                                        u32 line, u32 row, u32 col) {
        float x = 0;
#pragma unroll
        for (u32 i = 0; i < vector; ++i) x += contribution(tile, to, values[i], row, col + i);
#pragma unroll
        for (u32 i = 0; i < 4; ++i) sums[i] += line / 4 == i ? x : 0.0f;
    }
    /// The part whose first row is this has been added. After the tile's last columns the sums go: lane
    /// 8 i + j, for j below 4, has that of row i + 4 j.
    __device__ __forceinline__ void finish(const Tile& tile, const Statistics& to, u32 part, u32 first, u32) {
        if (part % chunks != chunks - 1) return;
        const u32 j = threadIdx.x % 8, row = first + threadIdx.x % 32 / 8 + 4 * j;
        const u32 tiles = (to.n + tile_n - 1) / tile_n;
        float own = 0;
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
#pragma unroll
            for (u32 distance = 4; distance > 0; distance /= 2)
                sums[i] += __shfl_xor_sync(~0u, sums[i], distance);
            own = i == j ? sums[i] : own;
            sums[i] = 0;
        }
        // A block of a cluster may have a tile beyond the last column.
        if (to.sums && j < 4 && row < tile.row_end && tile.col < to.n)
            to.sums[(u64{tile.batch_a} * tiles + tile.col / tile_n) * to.m + row] = own;
    }
};

/// Of columns: each lane its own over four rows, then those of the warp, then the four warps of 64 rows.
template <> struct PartSums<Statistic::column> {
    float sums[vector] = {};
    u32 staging;  // of this warp, which is free between two parts

    __device__ PartSums(u32 staging) : staging(staging) {}
    __device__ __forceinline__ void add(const Tile& tile, const Statistics& to, const float (&values)[vector],
                                        u32, u32 row, u32 col) {
#pragma unroll
        for (u32 i = 0; i < vector; ++i) sums[i] += contribution(tile, to, values[i], row, col + i);
    }
    __device__ __forceinline__ void finish(const Tile& tile, const Statistics& to, u32, u32 first, u32 col) {
        const u32 lane = threadIdx.x % 32, thread = threadIdx.x % 128, barrier = 2 + threadIdx.x / 128;
        __syncwarp();  // the part has been read
#pragma unroll
        for (u32 i = 0; i < vector; ++i) {
            sums[i] += __shfl_xor_sync(~0u, sums[i], 8);
            sums[i] += __shfl_xor_sync(~0u, sums[i], 16);
            if (lane < 8) store(staging + (lane * vector + i) * 4, sums[i]);
            sums[i] = 0;
        }
        bar_sync(barrier, 128);
        const u32 block = first / 64, blocks = (to.m + 63) / 64;
        if (thread < chunk) {
            const u32 first_warp = staging - thread / 32 * staging_bytes;
            float sum = 0;
#pragma unroll
            for (u32 warp = 0; warp < 4; ++warp) sum += load(first_warp + warp * staging_bytes + thread * 4);
            if (to.sums && block * 64 < tile.row_end && col + thread < to.n)
                to.sums[(u64{tile.batch_a} * blocks + block) * to.n + col + thread] = sum;
        }
        bar_sync(barrier, 128);  // and the next part may be put there
    }
    static __device__ void store(u32 to, float x) {
        asm volatile("st.shared.f32 [%0], %1;" ::"r"(to), "f"(x) : "memory");
    }
    static __device__ float load(u32 from) {
        float x;
        asm volatile("ld.shared.f32 %0, [%1];" : "=f"(x) : "r"(from) : "memory");
        return x;
    }
};

}  // namespace gemm
