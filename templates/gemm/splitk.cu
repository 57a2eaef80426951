// c = a b where c has few tiles and k is long: `splits` blocks share a tile of c, each with a part of k, so
// that there are blocks for all multiprocessors. Elements, layouts and sites are those of mma.cu.
//
// A block leaves its sums in `partials`, [batch, tile, split, row, column]. The last block of a tile to
// arrive adds them, from split 0 on whichever it is itself, so the result is the same bits in every run; the
// site sees each sum once. `arrived`, a word for each tile, is zero before and after a launch.
#define EPILOGUE unrolled  // the one that mma_tile.cuh has for this kernel
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

    // The parts are as long as each other, but for the last ones, which may be shorter or empty.
    const unsigned split = blockIdx.y, splits = gridDim.y;
    const unsigned tiles = (k + tile_k - 1) / tile_k, part = (tiles + splits - 1) / splits;
    const unsigned first = min(split * part, tiles), end = min(first + part, tiles);
    const TilePlace place = place_of_block(blockIdx.x, m, n);
    Accumulators acc = {};
    if (first < end) {
        TileProduct product({a, b, m, n, k, pitch_a, pitch_b}, place, first, end, shared);
        product.multiply(acc);
    }

    const unsigned tile = batch * gridDim.x + blockIdx.x;
    Accumulator* const of_tile = partials + 1ull * tile * splits * tile_sums;
    leave_partial(acc, of_tile + 1ull * split * tile_sums);
    if (!is_last_to_arrive(&arrived[tile], splits)) return;
    add_partials(of_tile, splits, shared);
    if (threadIdx.x == 0) arrived[tile] = 0;
    store_shared({c, residual, bias, row_scale, column_scale, m, n, batch, statistics}, place, shared);
}
