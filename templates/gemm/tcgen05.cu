// c = a b on the tensor cores of sm_100a, for each matrix of a batch: a is m x k, b is k x n, c is m x n, of
// any sizes, but that tensor copies want rows of a and b to begin at 16 bytes. c is stored by tensor copies
// where its rows begin at 16 bytes, else element by element. tcgen05.md explains the design.
//
// A block has six warps. One copies tiles of a and b into a ring of stages in shared memory; one multiplies
// them, into tensor memory; four take finished tiles of c from there, through the site, to global memory,
// while the next tile is multiplied into other columns. Of the copying and the multiplying warp one thread
// works. With CTA_GROUP 2 a pair of blocks has a tile of 256 rows, each half of it; the first block's thread
// starts the products of both.
//
// Four kinds of mbarriers keep them together:
//   full    of a stage: its tiles have come                     copies -> products
//   empty   of a stage: the products have read them             products -> copies
//   made    of an accumulator: the tile of c is complete        products -> epilogue
//   taken   of an accumulator: the epilogue has loaded it       epilogue -> products
//
// One site, `epilogue`, called for every element of the tiles, on its way from the f32 accumulator to c; also
// for those beyond c's edges, whose results are dropped. Its operands row_scale, col_scale, bias and residual
// are 1, 1, 0 and 0 where their arrays are null; of what a stub does not use nothing is loaded.
#include "../hardware/tcgen05.cuh"
#include "epilogue.cuh"

using namespace gemm;

namespace {

constexpr u32 group = CTA_GROUP;  // blocks on a tile of c
constexpr u32 block_m = 128;      // rows of a tile that a block has: the lanes of its tensor memory
constexpr u32 tile_m = block_m * group, tile_n = TILE_N, stages = STAGES;
constexpr u32 block_n = tile_n / group;  // columns of b that a block copies
constexpr u32 columns = EPILOGUE_COLUMNS;
constexpr u32 a_bytes = block_m * row_bytes, b_bytes = block_n * row_bytes, stage_bytes = a_bytes + b_bytes;

// MN-major tiles lie in panels of 128 bytes, each with a row for each of the depth.
constexpr u32 panel = row_bytes / bytes_of(type), panel_bytes = tile_k * row_bytes;
constexpr u32 panels_a = major_a == Major::k ? 1 : block_m / panel;
constexpr u32 panels_b = major_b == Major::k ? 1 : block_n / panel;

constexpr u32 instruction = tcgen05_instruction(type, tile_m, tile_n, major_a, major_b);
constexpr u32 accumulators = 2, all_columns = tensor_columns(accumulators * tile_n);

constexpr u32 copying_warp = 4, multiplying_warp = 5, threads = 6 * 32;  // those before: the epilogue

// Of each warp of the epilogue: two places for 32 rows of 128 bytes of c, of which one is written while a
// tensor copy reads the other one.
constexpr u32 place_bytes = 32 * 128;
constexpr u32 staging_begin = stages * stage_bytes;
constexpr u32 barriers_begin = staging_begin + 4 * 2 * place_bytes;
constexpr u32 slot_begin = barriers_begin + 8 * (2 * stages + 2 * accumulators);  // of an address

extern __shared__ __align__(1024) unsigned char shared[];

__device__ inline u32 full_of(u32 stage) { return shared_address(shared + barriers_begin) + 8 * stage; }
__device__ inline u32 empty_of(u32 stage) { return full_of(stages + stage); }
__device__ inline u32 made_of(u32 accumulator) { return full_of(2 * stages + accumulator); }
__device__ inline u32 taken_of(u32 accumulator) { return made_of(accumulators + accumulator); }

/// The address of a barrier of the first block of the pair.
__device__ inline u32 of_first_block(u32 barrier) { return group == 1 ? barrier : mapa(barrier, 0); }
/// Of the block in its pair.
__device__ inline u32 own_rank() { return group == 1 ? 0 : cluster_ctarank(); }
__device__ inline void sync_all() {
    if constexpr (group == 1)
        __syncthreads();
    else
        cluster_sync();
}

/// The tiles that a block takes, one by one: of each so many-th tile, over all products of the batch. A
/// tile's row is the block's own.
struct Tiles {
    u32 unit, units, rank, m, tiles_m, tiles_n;

    __device__ Tiles(u32 m, u32 n, u32 batch)
        : unit(blockIdx.x / group),
          rank(own_rank()),
          m(m),
          tiles_m((m + tile_m - 1) / tile_m),
          tiles_n((n + tile_n - 1) / tile_n) {
        units = tiles_m * tiles_n * batch;
    }
    __device__ bool next(Tile& tile) {
        if (unit >= units) return false;
        const u32 batch = unit / (tiles_m * tiles_n);
        const Unit at = unit_of(unit % (tiles_m * tiles_n), tiles_m, tiles_n);
        tile = {at.row * tile_m + rank * block_m, at.col * tile_n, m, batch, batch, u64{batch} * m};
        unit += gridDim.x / group;
        return true;
    }
};

// ---- the thread that copies

__device__ inline void copy_box(u32 to, const TensorMap& map, u32 full, u32 x, u32 y, u32 batch) {
    if constexpr (group == 1)
        tma_load_3d(to, map, full, x, y, batch);
    else
        tma_load_3d_of_pair(to, map, full, x, y, batch);
}
/// A block's rows of a and columns of b, for a stage.
__device__ inline void copy_stage(const TensorMap& a, const TensorMap& b, const Tile& tile, u32 col, u32 k0,
                                  u32 stage, u32 full) {
    const u32 to_a = shared_address(shared) + stage * stage_bytes, to_b = to_a + a_bytes;
#pragma unroll
    for (u32 i = 0; i < panels_a; ++i) {
        const u32 row = tile.row + i * panel;
        copy_box(to_a + i * panel_bytes, a, full, major_a == Major::k ? k0 : row,
                 major_a == Major::k ? row : k0, tile.batch_a);
    }
#pragma unroll
    for (u32 i = 0; i < panels_b; ++i) {
        const u32 of_panel = col + i * panel;
        copy_box(to_b + i * panel_bytes, b, full, major_b == Major::k ? k0 : of_panel,
                 major_b == Major::k ? of_panel : k0, tile.batch_b);
    }
}

__device__ inline void copy_tiles(Tiles walk, const TensorMap& a, const TensorMap& b, u32 k) {
    const u32 first_full = of_first_block(full_of(0));
    RingPlace<stages> place{0, 1};
    Tile tile;
    while (walk.next(tile)) {
#pragma unroll 1
        for (u32 k0 = 0; k0 < k; k0 += tile_k) {
            mbarrier_wait_relaxed(empty_of(place.stage), place.parity);
            // The first block waits for the bytes of both.
            if (walk.rank == 0) mbarrier_arrive_expect_tx(full_of(place.stage), group * stage_bytes);
            copy_stage(a, b, tile, tile.col + walk.rank * block_n, k0, place.stage,
                       first_full + 8 * place.stage);
            place.advance();
        }
    }
    // Commits on their way to this block's barriers arrive before the block ends.
#pragma unroll 1
    for (u32 i = 0; i < stages; ++i) {
        mbarrier_wait_relaxed(empty_of(place.stage), place.parity);
        place.advance();
    }
}

// ---- the thread that multiplies

__device__ inline void multiply_stage(u32 d, u64 a, u64 b, u32 accumulate) {
#pragma unroll
    for (u32 step = 0; step < row_bytes / 32; ++step)
        tcgen05_mma<type, group>(d, tcgen05_advance(a, step * tcgen05_step_bytes(type, major_a)),
                                 tcgen05_advance(b, step * tcgen05_step_bytes(type, major_b)), instruction,
                                 step > 0 ? 1 : accumulate);
}

__device__ inline void multiply_tiles(Tiles walk, u32 steps, u32 tensor) {
    const u32 begin = shared_address(shared);
    const u64 a_first = tcgen05_descriptor<major_a>(begin, panel_bytes);
    const u64 b_first = tcgen05_descriptor<major_b>(begin + a_bytes, panel_bytes);
    RingPlace<stages> place{0, 0};
    RingPlace<accumulators> to{0, 1};
    Tile tile;
    while (walk.next(tile)) {
        tcgen05_wait(taken_of(to.stage), to.parity);
#pragma unroll 1
        for (u32 step = 0; step < steps; ++step) {
            tcgen05_wait(full_of(place.stage), place.parity);
            const u32 offset = place.stage * stage_bytes;
            multiply_stage(tensor + to.stage * tile_n, tcgen05_advance(a_first, offset),
                           tcgen05_advance(b_first, offset), step > 0 ? 1 : 0);
            tcgen05_commit<group>(empty_of(place.stage));
            place.advance();
        }
        tcgen05_commit<group>(made_of(to.stage));
        to.advance();
    }
}

// ---- the warps of the epilogue: a thread has a row of the tile, as its lane of tensor memory has it

/// Where c is. Where its rows begin at 16 bytes, they are stored by tensor copies, else element by element.
struct Result {
    Out* c;
    const TensorMap* map;
    bool is_aligned;
    u32 n;
    Extras extras;
};

/// Elements of the residual beside each other in the thread's row, 0 where there are none.
__device__ __forceinline__ void load_residual(float (&values)[columns], const Tile& tile, const Result& to,
                                              const OfRow& row, u32 col) {
    const Out* const from = to.extras.residual;
    const u64 first = (tile.c_row + row.row) * to.n + col;
    const bool is_there = row.inside && from;
    if (!to.is_aligned) {
#pragma unroll
        for (u32 i = 0; i < columns; ++i)
            values[i] = load_if(is_there && col + i < to.n, from, first + i, 0.0f);
        return;
    }
#pragma unroll
    for (u32 i = 0; i < columns; i += vector) {
        const uint4 v = load_vector_if(is_there && col + i < to.n, from, first + i);
        unpack(values + i, v);
    }
}

/// Stores the 32 rows of a chunk of columns, from `row` and `col` on, that the warp has put at `from`.
__device__ __forceinline__ void store_chunk(u32 from, const Tile& tile, const Result& to, u32 row, u32 col) {
    const u32 lane = threadIdx.x % 32;
    if (to.is_aligned) {
        fence_proxy_async_shared();
        __syncwarp();
        if (elect_sync()) {  // always the same lane
            tma_store_3d(*to.map, from, col, row, tile.batch_a);
            bulk_commit_group();
        }
        return;
    }
    __syncwarp();
#pragma unroll 1
    for (u32 i = lane; i < 32 * chunk; i += 32) {
        const u32 r = i / chunk, c = i % chunk;
        const auto* x = reinterpret_cast<const Out*>(
            __cvta_shared_to_generic(from + unit_out(r, c / vector) + c % vector * sizeof(Out)));
        if (row + r < tile.row_end && col + c < to.n) to.c[(tile.c_row + row + r) * to.n + col + c] = *x;
    }
}

/// From tensor memory at `from`, whose lanes are this warp's, to c.
__device__ inline void write_tile(u32 from, const Tile& tile, const Result& to, u32 staging, u32& place) {
    const u32 lane = threadIdx.x % 32, first_row = tile.row + threadIdx.x / 32 * 32;
    if (first_row >= tile.row_end) return;
    const OfRow row = of_row(tile, to.extras, first_row + lane);
    const u32 width = min(tile_n, to.n - tile.col);
#pragma unroll 1
    for (u32 first = 0; first < width; first += chunk) {
        // The chunk before the last one has left its place.
        if (elect_sync()) bulk_wait_group_read<1>();
        __syncwarp();
        const u32 at = staging + place + unit_out(lane, 0);
#pragma unroll 1
        for (u32 part = 0; part < chunk; part += columns) {
            const u32 col = tile.col + first + part;
            float values[columns], residual[columns];
            tcgen05_ld(values, from + first + part);
            load_residual(residual, tile, to, row, col);
            tcgen05_wait_ld(values);
#pragma unroll
            for (u32 i = 0; i < columns; ++i)
                apply_epilogue(values[i], tile, row, of_col(tile, to, col + i), residual[i]);
#pragma unroll
            for (u32 i = 0; i < columns; i += vector)  // as unit_out(lane, (part + i) / vector)
                store_shared(at ^ part * sizeof(Out) ^ i * sizeof(Out), packed(values + i));
        }
        store_chunk(staging + place, tile, to, first_row, tile.col + first);
        place ^= place_bytes;
    }
}

__device__ inline void write_tiles(Tiles walk, const Result& to, u32 tensor) {
    const u32 warp = threadIdx.x / 32;
    const u32 lanes = tensor + tensor_offset(32 * warp, 0);
    const u32 staging = shared_address(shared) + staging_begin + warp * 2 * place_bytes;
    const u32 first_taken = of_first_block(taken_of(0));
    RingPlace<accumulators> from{0, 0};
    u32 place = 0;
    Tile tile;
    while (walk.next(tile)) {
        tcgen05_wait(made_of(from.stage), from.parity);
        write_tile(lanes + from.stage * tile_n, tile, to, staging, place);
        tcgen05_fence_before();
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive_relaxed(first_taken + 8 * from.stage);
        from.advance();
    }
    if (elect_sync()) bulk_wait_group();
}

}  // namespace

extern "C" __global__ void __launch_bounds__(threads, 1) __cluster_dims__(group, 1, 1)
    gemm_tcgen05(const __grid_constant__ TensorMap a, const __grid_constant__ TensorMap b,
                 const float* __restrict__ row_scale, const float* __restrict__ column_scale,
                 const float* __restrict__ bias, const Out* __restrict__ residual, Out* __restrict__ c,
                 const __grid_constant__ TensorMap map_c, u32 m, u32 n, u32 k, u32 batch) {
    const u32 warp = warp_uniform(threadIdx.x / 32);
    const u32 slot = shared_address(shared + slot_begin);
    const bool is_aligned = n * sizeof(Out) % 16 == 0;
    if (threadIdx.x == 0) {
        prefetch_tensormap(a);
        prefetch_tensormap(b);
        if (is_aligned) prefetch_tensormap(map_c);
        for (u32 stage = 0; stage < stages; ++stage) {
            mbarrier_init(full_of(stage), 1);   // who announces the bytes
            mbarrier_init(empty_of(stage), 1);  // a commit
        }
        for (u32 accumulator = 0; accumulator < accumulators; ++accumulator) {
            mbarrier_init(made_of(accumulator), 1);           // a commit
            mbarrier_init(taken_of(accumulator), 4 * group);  // warps of the epilogue
        }
        fence_mbarrier_init();
    }
    if (warp == multiplying_warp) {
        tcgen05_alloc<group>(slot, all_columns);
        tcgen05_relinquish_alloc_permit<group>();
    }
    sync_all();
    const u32 tensor = *reinterpret_cast<const volatile u32*>(shared + slot_begin);

    const Tiles walk(m, n, batch);
    if (warp == copying_warp) {
        if (elect_sync()) copy_tiles(walk, a, b, k);
        __syncwarp();
    } else if (warp == multiplying_warp) {
        if (walk.rank == 0 && elect_sync()) multiply_tiles(walk, (k + tile_k - 1) / tile_k, tensor);
        __syncwarp();
    } else {
        write_tiles(walk, {c, &map_c, is_aligned, n, {row_scale, column_scale, bias, residual}}, tensor);
    }
    // Nobody accesses tensor memory, or signals the other block, any more.
    sync_all();
    if (warp == multiplying_warp) tcgen05_dealloc<group>(tensor, all_columns);
}
