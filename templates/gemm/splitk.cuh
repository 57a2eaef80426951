// What the kernels have in common in which several blocks share a tile of c, each with a part of k: splitk.cu
// and splitk_quantised.cu.
//
// A block leaves its sums in `partials`, [batch, tile, split, row, column]. The last block of a tile to
// arrive adds them, from split 0 on whichever it is itself, so the result is the same bits in every run; the
// site sees each sum once. `arrived`, a word for each tile, is zero before and after a launch.
#pragma once
#include "mma_tile.cuh"

constexpr unsigned tile_sums = tile_m * tile_n;
struct alignas(16) Four {
    Accumulator of[4];
};

__device__ void leave_partial(const Accumulators& acc, Accumulator* partial) {
    const unsigned row = warp_row(threadIdx.x) + lane_row(threadIdx.x);
    partial += row * tile_n + warp_column(threadIdx.x) + lane_column(threadIdx.x);
#pragma unroll
    for (unsigned i = 0; i < 2 * blocks_m; ++i)
#pragma unroll
        for (unsigned j = 0; j < blocks_n; ++j) {
            const Accumulator* pair = &acc.of[i / 2][j][i % 2 * 2];
            st_global_if(partial + 8 * i * tile_n + 8 * j, true, bits(pair[0]), bits(pair[1]));
        }
}

// Counts the blocks of a tile that have come here; true for all threads of the last one. The barrier and the
// release of thread 0 show the block's partials to whoever acquires the count: the last block.
__device__ bool is_last_to_arrive(unsigned* arrived, unsigned splits) {
    __syncthreads();
    unsigned before = 0;
    if (threadIdx.x == 0)
        asm volatile("atom.acq_rel.gpu.global.add.u32 %0, [%1], 1;"
                     : "=r"(before)
                     : "l"(__cvta_generic_to_global(arrived))
                     : "memory");
    return __syncthreads_or(threadIdx.x == 0 && before == splits - 1);
}

// The sums of all splits to shared memory, eight pieces of a thread at a time: as many loads are in flight.
// Each piece is written by the thread that stores it to c.
__device__ void add_partials(const Accumulator* partials, unsigned splits, unsigned shared) {
    constexpr unsigned own = tile_sums / 4 / threads, at_once = own < 8 ? own : 8;
    const Four* pieces = reinterpret_cast<const Four*>(partials);
#pragma unroll 1
    for (unsigned first = threadIdx.x; first < tile_sums / 4; first += threads * at_once) {
        Four sums[at_once] = {};
#pragma unroll 1
        for (unsigned split = 0; split < splits; ++split)
#pragma unroll
            for (unsigned i = 0; i < at_once; ++i) {
                const Four term = pieces[1ull * split * (tile_sums / 4) + first + i * threads];
#pragma unroll
                for (unsigned j = 0; j < 4; ++j) sums[i].of[j] += term.of[j];
            }
#pragma unroll
        for (unsigned i = 0; i < at_once; ++i) {
            const unsigned one = first + i * threads;
            const unsigned words[4] = {bits(sums[i].of[0]), bits(sums[i].of[1]), bits(sums[i].of[2]),
                                       bits(sums[i].of[3])};
            st_shared(shared + result_offset(one / tile_pieces, one % tile_pieces), words);
        }
    }
}

// The sums of this block's part of k (the parts are as long as each other, but for the last ones, which may
// be shorter or empty), and by the last block of the tile those of all parts to c.
template <class B>
__device__ void multiply_and_share(const Matrices<typename B::Matrix>& of, Accumulator* partials,
                                   unsigned* arrived, const Output& to, unsigned shared) {
    const unsigned split = blockIdx.y, splits = gridDim.y;
    const unsigned tiles = (of.k + tile_k - 1) / tile_k, part = (tiles + splits - 1) / splits;
    const unsigned first = min(split * part, tiles), end = min(first + part, tiles);
    const TilePlace place = place_of_block(blockIdx.x, of.m, of.n);
    Accumulators acc = {};
    if (first < end) {
        TileProduct<B> product(of, place, first, end, shared);
        product.multiply(acc);
    }

    const unsigned tile = to.batch * gridDim.x + blockIdx.x;
    Accumulator* const of_tile = partials + 1ull * tile * splits * tile_sums;
    leave_partial(acc, of_tile + 1ull * split * tile_sums);
    if (!is_last_to_arrive(&arrived[tile], splits)) return;
    add_partials(of_tile, splits, shared);
    if (threadIdx.x == 0) arrived[tile] = 0;
    store_shared(to, place, shared);
}
