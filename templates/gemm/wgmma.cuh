#pragma once
/// @file wgmma.cuh
/// The parts of the GEMMs for the tensor cores of sm_90a: c = a b, where the tunables below say of what type
/// and order the matrices are and how the work is shared out. wgmma.md explains the design. wgmma.cu and
/// grouped.cu differ in how they walk over the tiles of c, conv/wgmma.cu in what it copies.
///
/// A block is one warpgroup that copies (of which one thread works) and two that multiply. Tiles of a and b
/// pass from it to them through a ring of stages in shared memory. A stage has two mbarriers: `full`, which
/// ends a phase when the bytes of both tiles have come, and `empty`, which does when all warps that read it
/// have done so.

#include "epilogue.cuh"
#include "wgmma_prologue.cuh"
#include "wgmma_statistic.cuh"
#include "wgmma_tile.cuh"

namespace gemm {

/// A block's row and column of tiles, in the unit of its cluster.
__device__ inline Unit own_tile(const Unit& unit, u32 rank) {
    return {unit.row * cluster_m + (cluster_m > 1 ? rank : 0),
            unit.col * cluster_n + (cluster_n > 1 ? rank : 0)};
}
/// How many units cover so many rows, and columns, of c.
__device__ inline u32 units_m(u32 m) { return (m + tile_m * cluster_m - 1) / (tile_m * cluster_m); }
__device__ inline u32 units_n(u32 n) { return (n + tile_n * cluster_n - 1) / (tile_n * cluster_n); }
__device__ inline u32 first_unit() { return cluster > 1 ? clusterid_x() : blockIdx.x; }
__device__ inline u32 own_rank() { return cluster > 1 ? cluster_ctarank() : 0; }

/// The tiles that a block takes, one by one: of each `clusters`-th unit, over all products of the batch.
struct TilesOfBatch {
    static constexpr bool by_map = epilogue == Epilogue::unrolled;  // rows of tiles end where c's do
    u32 unit, units, rank, m, tiles_m, tiles_n;

    __device__ TilesOfBatch(u32 m, u32 n, u32 batch)
        : unit(first_unit()), rank(own_rank()), m(m), tiles_m(units_m(m)), tiles_n(units_n(n)) {
        units = tiles_m * tiles_n * batch;
    }
    __device__ bool next(Tile& tile) {
        if (unit >= units) return false;
        const u32 batch = unit / (tiles_m * tiles_n);
        const Unit own = own_tile(unit_of(unit % (tiles_m * tiles_n), tiles_m, tiles_n), rank);
        tile = {own.row * tile_m, own.col * tile_n, m, batch, batch, u64{batch} * m};
        unit += gridDim.x / cluster;
        return true;
    }
};

/// Where c is. Where its rows begin at 16 bytes, they are stored by tensor copies of whole chunks or, where a
/// tile's rows may end before the tensor's do and there is no map, by vectors; else element by element.
struct Result {
    Out* c;
    const TensorMap* map;
    bool is_aligned;
    u32 n;
    Extras extras;
    Statistics statistics;
};

// ---- the producer, one thread

/// Of a or b the stage's part, of which blocks of a cluster that share the tile each copy theirs to all:
/// panels of 64 columns where the tile's rows run along m or n, else the tile as it is.
template <Major major, u32 tile_rows, u32 sharing>
__device__ inline void copy_matrix(const TensorMap& map, u32 to, u32 full, u32 first, u32 k0, u32 batch,
                                   u32 rank) {
    constexpr u32 rows = tile_rows / sharing, parts = major == Major::k ? 1 : rows / 64;
    const u32 own = sharing > 1 ? rank * rows : 0, to_own = to + own * row_bytes;
#pragma unroll
    for (u32 i = 0; i < parts; ++i) {
        const u32 row = first + own + 64 * i;
        const u32 x = major == Major::k ? k0 : row, y = major == Major::k ? row : k0;
        if constexpr (sharing > 1)
            tma_load_3d_multicast(to_own + i * 64 * row_bytes, map, full, x, y, batch, 3);
        else
            tma_load_3d(to_own + i * 64 * row_bytes, map, full, x, y, batch);
    }
}
/// What a producer copies where a and b are matrices, and how their sites are filled.
struct Matrices {
    static constexpr u32 bytes = stage_bytes;  // that it copies for a stage
    const TensorMap &a, &b;

    __device__ void begin(const Tile&, u32) {}
    __device__ void copy(const Tile& tile, u32 k0, u32 stage, u32 rank) {
        const u32 to = shared_address(shared) + stage * stage_bytes, full = full_of(stage);
        copy_matrix<major_a, tile_m, cluster_n>(a, to, full, tile.row, k0, tile.batch_a, rank);
        copy_matrix<major_b, tile_n, cluster_m>(b, to + a_bytes, full, tile.col, k0, tile.batch_b, rank);
    }
    __device__ WriterOfB writer(const Tile& tile) const { return WriterOfB(tile.col); }
};

/// `inputs` is as Matrices: it has the maps `a` and `b`, and copies a stage of them; before the first one of
/// a tile it is told which that is.
template <class Walk, class Inputs>
__device__ inline void produce(Walk walk, Inputs inputs, u32 k, u32 rank) {
    RingPlace<stages> place{0, 1};
    Tile tile;
    while (walk.next(tile)) {
        inputs.begin(tile, rank);
#pragma unroll 1
        for (u32 k0 = 0; k0 < k; k0 += tile_k) {
            mbarrier_wait(empty_of(place.stage), place.parity);
            mbarrier_arrive_expect_tx(full_of(place.stage), Inputs::bytes);
            inputs.copy(tile, k0, place.stage, rank);
            place.advance();
        }
    }
}

// ---- a consumer, a warpgroup

using Accumulators = float[group_blocks][tile_n / 2];

/// The products of a stage: what is under way when this returns is one group.
__device__ __forceinline__ void multiply_stage(Accumulators& d, u64 a, u64 b, int accumulate) {
    wgmma_fence();
#pragma unroll
    for (u32 step = 0; step < row_bytes / 32; ++step)
#pragma unroll
        for (u32 i = 0; i < group_blocks; ++i)
            Wgmma<type, tile_n>::template multiply<major_a, major_b>(
                d[i], wgmma_advance(a, step * wgmma_step_bytes(major_a) + i * 64 * row_bytes),
                wgmma_advance(b, step * wgmma_step_bytes(major_b)), step > 0 ? 1 : accumulate);
    wgmma_commit_group();
}

/// Tells the producers that this warp is done with a stage: of all blocks that copy to it, one lane for each.
__device__ __forceinline__ void release(u32 empty_in_cluster, u32 stage) {
    if (threadIdx.x % 32 >= cluster) return;
    if constexpr (cluster > 1)
        mbarrier_arrive_in_cluster(empty_in_cluster + 8 * stage);
    else
        mbarrier_arrive(empty_in_cluster + 8 * stage);
}

/// The products of a stage with a in registers, two sets of them: while one is multiplied the other is loaded
/// and passes through the site. A group is a step's products. The stage before, `last`, is released when its
/// last products have been made, if there is one.
__device__ __forceinline__ void multiply_stage_from_registers(Accumulators& d, const ReaderOfA& a, u64 b,
                                                              u32 stage, u32 k0, u32 empty_in_cluster,
                                                              u32 last) {
    u32 fragments[2][group_blocks][4];
#pragma unroll
    for (u32 step = 0; step < row_bytes / 32; ++step) {
        wgmma_wait_group<1>();
        if (step == 1 && k0 != 0) release(empty_in_cluster, last);
#pragma unroll
        for (u32 i = 0; i < group_blocks; ++i) a.load(fragments[step % 2][i], stage, i, step, k0);
        wgmma_fence();
#pragma unroll
        for (u32 i = 0; i < group_blocks; ++i)
            Wgmma<type, tile_n>::template multiply<major_b>(
                d[i], fragments[step % 2][i], wgmma_advance(b, step * wgmma_step_bytes(major_b)),
                step > 0 || k0 != 0);
        wgmma_commit_group();
    }
}

/// multiply_tile() with prologues. A stage is released when the products of the next one are under way: while
/// the tensor cores have those of one stage, the sites have the elements of the next.
template <class Inputs>
__device__ __forceinline__ void multiply_tile_with_sites(Accumulators& d, RingPlace<stages>& place,
                                                         const Inputs& inputs, const Tile& tile, u32 own_rows,
                                                         u32 steps, u64 a_first, u64 b_first,
                                                         u32 empty_in_cluster, u32 consumer) {
    const ReaderOfA reader(tile.row, own_rows);
    auto writer = inputs.writer(tile);
    u32 last = 0;
#pragma unroll 1
    for (u32 k0 = 0; k0 < steps * tile_k; k0 += tile_k) {
        const u32 stage = place.stage * stage_bytes;
        writer.prepare(k0);
        mbarrier_wait(full_of(place.stage), place.parity);
        if constexpr (has_prologue_b)
            writer.rewrite(stage, k0, 1 + (schedule == Schedule::pingpong ? consumer : 0));
        if constexpr (has_prologue_a) {
            multiply_stage_from_registers(d, reader, wgmma_advance(b_first, stage), stage, k0,
                                          empty_in_cluster, last);
        } else {
            multiply_stage(d, wgmma_advance(a_first, stage), wgmma_advance(b_first, stage), k0 != 0);
            wgmma_wait_group<1>();
            if (k0 != 0) release(empty_in_cluster, last);
        }
        last = place.stage;
        place.advance();
    }
    if constexpr (schedule == Schedule::pingpong)
        if (threadIdx.x % 32 == 0) mbarrier_arrive(turn_of(1 - consumer));
    wgmma_wait_group<0>();
    release(empty_in_cluster, last);
#pragma unroll
    for (u32 block = 0; block < group_blocks; ++block) wgmma_keep(d[block]);
}

/// Adds up the tile in d, step by step along k, through the ring.
__device__ __forceinline__ void multiply_tile(Accumulators& d, RingPlace<stages>& place, u32 steps,
                                              u64 a_first, u64 b_first, u32 empty_in_cluster, u32 consumer) {
    constexpr u32 pending = schedule == Schedule::cooperative ? 0 : 1;
    u32 last = place.stage;
    const auto multiply = [&](int accumulate) {
        mbarrier_wait(full_of(place.stage), place.parity);
        const u32 offset = place.stage * stage_bytes;
        multiply_stage(d, wgmma_advance(a_first, offset), wgmma_advance(b_first, offset), accumulate);
    };
    multiply(0);
    if constexpr (pending == 0) wgmma_wait_group<0>(), release(empty_in_cluster, last);
    place.advance();
#pragma unroll 1
    for (u32 step = 1; step < steps; ++step) {
        multiply(1);
        wgmma_wait_group<pending>();
        if constexpr (pending == 0) last = place.stage;
        release(empty_in_cluster, last);
        last = place.stage;
        place.advance();
    }
    if constexpr (schedule == Schedule::pingpong) {
        if (threadIdx.x % 32 == 0) mbarrier_arrive(turn_of(1 - consumer));
        wgmma_wait_group<0>();
        release(empty_in_cluster, last);
    }
#pragma unroll
    for (u32 block = 0; block < group_blocks; ++block) wgmma_keep(d[block]);
}

// ---- the epilogue

// A warp's place in shared memory: 16 rows of a chunk of columns, in units of 16 bytes, which are permuted in
// each row so that neither fragments (8 rows at a time) nor rows meet bank conflicts.

/// Compact: the unit of columns 4 u to 4 u + 3 as f32. A row of 16 units has its two halves (8 units, all
/// banks) permuted apart.
__device__ inline u32 unit_f32(u32 row, u32 unit) {
    return row * (chunk * 4) + ((unit ^ (row & 3) << 1 ^ unit >> 3) * 16);
}
/// A fragment as f32, by one of the two.
template <u32 (*unit_of)(u32 row, u32 unit)> __device__ __forceinline__ void put_f32(u32 to, const float* d) {
    const u32 lane = threadIdx.x % 32, begin = to + unit_of(lane / 4, lane % 4 / 2) + lane % 2 * 8;
#pragma unroll
    for (u32 j = 0; j < chunk / 8; ++j)
#pragma unroll
        for (u32 h = 0; h < 2; ++h) {
            // Row 8 h is permuted as row 0, and unit 2 j differs from 0 in its own bits alone.
            const u32 unit = unit_of(0, 2 * j),
                      at = (begin ^ unit % 128) + unit / 128 * 128 + unit_of(8 * h, 0);
            asm volatile("st.shared.v2.f32 [%0], {%1, %2};" ::"r"(at), "f"(d[4 * j + 2 * h]),
                         "f"(d[4 * j + 2 * h + 1])
                         : "memory");
        }
}
/// Packed to 16 bits: stmatrix stores four matrices of 8 x 8, 16 columns.
__device__ __forceinline__ void put_packed(u32 to, const float* d) {
    const u32 lane = threadIdx.x % 32, begin = to + unit_out(lane % 16, lane / 16);
#pragma unroll
    for (u32 j = 0; j < chunk / 16; ++j, d += 8)
        asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(begin ^ j * 32),
                     "r"(pack(d[0], d[1])), "r"(pack(d[2], d[3])), "r"(pack(d[4], d[5])),
                     "r"(pack(d[6], d[7]))
                     : "memory");
}
__device__ inline void store_if(bool is_inside, Out* to, const uint4& v) {
    asm volatile(
        "{\n"
        "\t.reg .pred is_inside;\n"
        "\tsetp.ne.u32 is_inside, %5, 0;\n"
        "\t@is_inside st.global.v4.u32 [%0], {%1, %2, %3, %4};\n"
        "}" ::"l"(to),
        "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(static_cast<u32>(is_inside))
        : "memory");
}

/// Stores 16 rows of a chunk of columns, from `row` and `col` on, which the warp has put at `from`.
template <bool by_map>
__device__ __forceinline__ void store_chunk(u32 from, const Tile& tile, const Result& to, u32 row, u32 col) {
    const u32 lane = threadIdx.x % 32;
    if constexpr (by_map) {
        if (to.is_aligned) {
            fence_proxy_async_shared();
            __syncwarp();
            if (lane == 0) {
                tma_store_3d(*to.map, from, col, row, tile.batch_a);
                bulk_commit_group();
            }
            return;
        }
        __syncwarp();
    } else {
        __syncwarp();
        if (to.is_aligned) {
            const u32 my_row = row + lane / 8, my_col = col + lane % 8 * vector;
            Out* at = to.c + (tile.c_row + my_row) * to.n + my_col;
            uint4 values[4];
#pragma unroll
            for (u32 i = 0; i < 4; ++i) values[i] = load_shared(from + unit_out(lane / 8 + 4 * i, lane % 8));
#pragma unroll
            for (u32 i = 0; i < 4; ++i, at += u64{4} * to.n)
                store_if(my_row + 4 * i < tile.row_end && my_col < to.n, at, values[i]);
            return;
        }
    }
#pragma unroll 1
    for (u32 i = lane; i < 16 * chunk; i += 32) {
        const u32 r = i / chunk, c = i % chunk;
        const auto* x = reinterpret_cast<const Out*>(
            __cvta_shared_to_generic(from + unit_out(r, c / vector) + c % vector * sizeof(Out)));
        if (row + r < tile.row_end && col + c < to.n) to.c[(tile.c_row + row + r) * to.n + col + c] = *x;
    }
}
/// Until the chunk before the last one has left its place; of the first chunk of a tile, until both have.
/// Where no tensor copy reads them there is nothing to wait for, and the branch is worth having all the same:
/// it ends ptxas's view of the sites before it. In one view with the stores it lets so many copies of a stub
/// overlap that it spills.
template <bool is_first> __device__ __forceinline__ void wait_for_place() {
    if (threadIdx.x % 32 == 0) bulk_wait_group_read<is_first ? 0 : 1>();
    __syncwarp();
}

/// The site in every register, then the result through the staging: the fastest code.
template <bool by_map>
__device__ __forceinline__ void write_unrolled(Accumulators& d, const Tile& tile, const Result& to, u32 row,
                                               u32 staging) {
    const u32 lane = threadIdx.x % 32;
#pragma unroll
    for (u32 block = 0; block < group_blocks; ++block) {
        const u32 first = row + 64 * block;
        // Blocks have columns in common. Through a shuffle the compiler does not know it, and does not keep
        // what a stub has of every column from one block to the next, in spilled registers.
        const u32 first_col = block == 0 ? tile.col : warp_uniform(tile.col);
        const OfRow rows[2] = {of_row(tile, to.extras, first + lane / 4),
                               of_row(tile, to.extras, first + lane / 4 + 8)};
#pragma unroll
        for (u32 i = 0; i < chunks; ++i) {
            float* const values = d[block] + i * chunk / 2;
#pragma unroll
            for (u32 j = 0; j < chunk / 8; ++j)
#pragma unroll
                for (u32 e = 0; e < 2; ++e) {
                    const OfCol col = of_col(tile, to, first_col + i * chunk + 8 * j + lane % 4 * 2 + e);
#pragma unroll
                    for (u32 h = 0; h < 2; ++h)
                        apply_epilogue(values[4 * j + 2 * h + e], tile, to, rows[h], col);
                }
            if (block + i == 0)
                wait_for_place<true>();
            else
                wait_for_place<false>();
            const u32 place = staging + (block * chunks + i) % 2 * chunk_bytes;
            if constexpr (output == Output::f32)
                put_f32<unit_out>(place, values);
            else
                put_packed(place, values);
            store_chunk<by_map>(place, tile, to, first, first_col + i * chunk);
        }
    }
}

/// The accumulators through the staging, then the site in a loop: `vector` copies, whatever the tile is.
__device__ __forceinline__ void write_compact(Accumulators& d, const Tile& tile, const Result& to, u32 row,
                                              u32 staging) {
    const u32 lane = threadIdx.x % 32, unit = lane % 8;
    PartSums<statistic> sums(staging);
#pragma unroll 1
    for (u32 part = 0; part < group_blocks * chunks; ++part) {
        __syncwarp();  // the part before has been read
#pragma unroll
        for (u32 i = 0; i < group_blocks * chunks; ++i)
            if (part == i) put_f32<unit_f32>(staging, d[i / chunks] + i % chunks * chunk / 2);
        __syncwarp();
        const u32 first = row + part / chunks * 64, col = tile.col + part % chunks * chunk + unit * vector;
#pragma unroll 1
        for (u32 r = lane / 8; r < 16; r += 4) {
            float values[vector];
#pragma unroll
            for (u32 i = 0; i < vector / 4; ++i) {
                const uint4 v = load_shared(staging + unit_f32(r, unit * (vector / 4) + i));
                values[4 * i] = __uint_as_float(v.x), values[4 * i + 1] = __uint_as_float(v.y);
                values[4 * i + 2] = __uint_as_float(v.z), values[4 * i + 3] = __uint_as_float(v.w);
            }
            const OfRow my_row = of_row(tile, to.extras, first + r);
#pragma unroll
            for (u32 i = 0; i < vector; ++i)
                apply_epilogue(values[i], tile, to, my_row, of_col(tile, to, col + i));
            sums.add(tile, to.statistics, values, r, first + r, col);
            if (!my_row.inside) continue;
            Out* const at = to.c + (tile.c_row + my_row.row) * to.n + col;
            u32 words[4];
            if constexpr (output == Output::f32)
#pragma unroll
                for (u32 i = 0; i < 4; ++i) words[i] = __float_as_uint(values[i]);
            else
#pragma unroll
                for (u32 i = 0; i < 4; ++i) words[i] = pack(values[2 * i], values[2 * i + 1]);
            if (to.is_aligned) {
                if (col < to.n) *reinterpret_cast<uint4*>(at) = {words[0], words[1], words[2], words[3]};
                continue;
            }
#pragma unroll
            for (u32 i = 0; i < vector; ++i)
                if (col + i < to.n) {
                    if constexpr (output == Output::f32)
                        at[i] = values[i];
                    else
                        at[i] = static_cast<unsigned short>(words[i / 2] >> i % 2 * 16);
                }
        }
        sums.finish(tile, to.statistics, part, first, tile.col + part % chunks * chunk);
    }
}

template <class Walk, class Inputs>
__device__ inline void consume(Walk walk, const Inputs& inputs, u32 consumer, u32 steps, const Result& to) {
    const u32 begin = shared_address(shared);
    const u32 own_rows = schedule == Schedule::cooperative ? consumer * group_m : 0;
    const u64 a_first = wgmma_descriptor<major_a>(begin + own_rows * row_bytes, 64 * row_bytes);
    const u64 b_first = wgmma_descriptor<major_b>(begin + a_bytes, 64 * row_bytes);
    const u32 warp = threadIdx.x / 32 - 4;
    const u32 staging = begin + staging_begin + warp * staging_bytes;
    const u32 empty = cluster > 1 ? mapa(empty_of(0), threadIdx.x % cluster) : empty_of(0);

    RingPlace<stages> place{0, 0};
    Tile tile;
    u32 number = 0;  // of the tiles of this block
    // Uniform, as the compiler does not know of loads: then the ring's place is in uniform registers, too.
    for (; warp_uniform(walk.next(tile)); ++number) {
        if constexpr (schedule == Schedule::pingpong) {
            if (number % consumers != consumer) {
                place.skip(steps);
                continue;
            }
            // The other one has waited for all of its stages: a parity would mean another phase before.
            mbarrier_wait(turn_of(consumer), number / consumers % 2 ^ (consumer == 0 ? 1 : 0));
        }
        Accumulators d;
        if constexpr (prologue == Prologue::none)
            multiply_tile(d, place, steps, a_first, b_first, empty, consumer);
        else
            multiply_tile_with_sites(d, place, inputs, tile, own_rows, steps, a_first, b_first, empty,
                                     consumer);
        const u32 row = tile.row + own_rows + warp % 4 * 16;
        if constexpr (epilogue == Epilogue::unrolled)
            write_unrolled<Walk::by_map>(d, tile, to, row, staging);
        else
            write_compact(d, tile, to, row, staging);
    }
    if (Walk::by_map && threadIdx.x % 32 == 0) bulk_wait_group();
}

// ---- the kernel

/// `make_walk()` gives a new walk over the tiles of this block. Each role makes one, behind its setmaxnreg:
/// what both had from before would cost the producer some of its few registers.
template <class MakeWalk, class Inputs>
__device__ inline void run(const MakeWalk& make_walk, const Inputs& inputs, u32 k, const Result& to) {
    using Walk = decltype(make_walk());
    if (threadIdx.x == 0) {
        prefetch_tensormap(inputs.a);
        prefetch_tensormap(inputs.b);
        if (Walk::by_map && to.is_aligned) prefetch_tensormap(*to.map);
        for (u32 stage = 0; stage < stages; ++stage) {
            mbarrier_init(full_of(stage), 1);
            mbarrier_init(empty_of(stage), readers * 4 * cluster);
        }
        for (u32 consumer = 0; consumer < consumers; ++consumer) mbarrier_init(turn_of(consumer), 4);
        fence_mbarrier_init();
    }
    if constexpr (cluster > 1)
        cluster_sync();
    else
        __syncthreads();

    const u32 group = warp_uniform(threadIdx.x / 128);
    if (group == 0) {
        setmaxnreg_dec<producer_registers>();
        if (warp_uniform(threadIdx.x / 32) == 0 && elect_sync()) produce(make_walk(), inputs, k, own_rank());
        __syncwarp();
    } else {
        setmaxnreg_inc<consumer_registers>();
        consume(make_walk(), inputs, group - 1, (k + tile_k - 1) / tile_k, to);
    }
    // What a block copies to the other one, and its arrivals there, need the other one's shared memory.
    if constexpr (cluster > 1) cluster_sync();
}

}  // namespace gemm
