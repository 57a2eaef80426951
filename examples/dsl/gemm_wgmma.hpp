#pragma once
/// @file gemm_wgmma.hpp
/// A GEMM for the tensor cores of sm_90a: C = A B^T, where A has m rows and B has n, both of `depth` elements
/// of .bf16, row-major, or B has `depth` rows of n (WgmmaShape::b); C is .f32. Any m, n and depth but 0:
/// tensor copies give zeros for what is beyond an edge of A and B, and what is beyond one of C is not stored.
///
/// A block is one warpgroup that copies and two or three that multiply, 64 rows of a tile each. Blocks stay,
/// and take tile after tile of C; the CTAs of a cluster take tiles that lie one below the other, and each
/// copies a part of B for all of them.
///
/// split_k.hpp multiplies by the same parts.
///
/// Arguments: tensor maps of A and B (WgmmaGemm::map_a, map_b); u64 c; u32 m, n, depth; u32 ldc (elements
/// from row to row, an even number). One site, `epilogue`: mod f32 acc, in u32 row, in u32 col.

#include <array>

#include "gemm_output.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/launch.hpp"

namespace gemm {

/// How many warpgroups multiply, the columns of a tile of C, how many stages of A and B there are, and of how
/// many CTAs a cluster is.
struct WgmmaShape {
    std::uint32_t consumers = 2, tile_n = 128, stages = 4;
    Major b = Major::k;
    std::uint32_t cluster = 1;
};

template <WgmmaShape S> class WgmmaGemm;

/// Emits the kernel.
template <WgmmaShape S = WgmmaShape{}>
void emit_gemm_wgmma(Module& module, std::string_view name = "gemm_wgmma") {
    WgmmaGemm<S> gemm(module, name);
    gemm.find_places();    // of this thread; tiles of C
    gemm.make_barriers();  // mbarrier.init: of every stage one for "full" and one for "empty"
    gemm.k.if_(
        gemm.is_producer,
        [&] {
            gemm.give_registers();  // setmaxnreg.dec
            gemm.one_thread([&] { gemm.for_each_tile([&] { copy_for_wgmma(gemm); }); });
        },
        [&] {
            gemm.take_registers();  // setmaxnreg.inc
            gemm.for_each_tile([&] {
                multiply_by_wgmma(gemm);
                gemm.store();  // the site, st.global
            });
            gemm.finish();  // barrier.cluster: no CTA ends while others may still send to it
        });
    gemm.k.template emit<"ret">();
}

/// A tile's steps along the depth, of the producer's thread.
template <class Gemm> void copy_for_wgmma(Gemm& gemm) {
    gemm.for_each_step([&] {
        gemm.wait_until_empty();  // mbarrier.try_wait
        gemm.copy();              // mbarrier.arrive.expect_tx, cp.async.bulk.tensor
    });
}
/// The same steps, of the consumers.
template <class Gemm> void multiply_by_wgmma(Gemm& gemm) {
    gemm.for_each_step([&] {
        gemm.wait_until_full();  // mbarrier.try_wait
        gemm.multiply();         // wgmma.fence, wgmma.mma_async, wgmma.commit_group
        gemm.free_last();        // wgmma.wait_group 1, mbarrier.arrive: of the step before
    });
    gemm.free_all();  // wgmma.wait_group 0, mbarrier.arrive
}

template <WgmmaShape S> class WgmmaGemm {
  protected:
    static constexpr TileRows tile = tile_of(128);
    static constexpr std::uint32_t tile_m = 64 * S.consumers, cluster_m = tile_m * S.cluster, tile_depth = 64;
    static constexpr std::uint32_t a_bytes = tile_m * tile.row_bytes, b_bytes = S.tile_n * tile.row_bytes,
                                   stage_bytes = a_bytes + b_bytes;
    static constexpr std::uint32_t group = 128;
    // Of 64 K registers; a thread begins with as many as all of them can have: 168, or 128.
    static constexpr std::uint32_t producer_registers = S.consumers == 2 ? 40 : 32,
                                   consumer_registers = S.consumers == 2 ? 232 : 160;
    static_assert(S.consumers == 2 || S.consumers == 3);
    static_assert(S.tile_n % 8 == 0 && S.tile_n <= 256 && S.stages >= 2);
    static_assert(S.stages * stage_bytes <= 227 * 1024 - 1024);
    // A tile of an N-major B is panels of 64 columns, as many as a row of the swizzle has.
    static constexpr std::uint32_t own_cols = S.tile_n / S.cluster;  // that this CTA copies
    static constexpr std::uint32_t panels = S.b == Major::k ? 1 : own_cols / 64,
                                   panel_bytes = tile_depth * tile.row_bytes;
    static constexpr MatrixDescriptor b_layout =
        S.b == Major::k ? descriptor_of(tile) : mn_descriptor_of(tile, tile_depth);
    static constexpr std::uint32_t b_step_bytes =
        S.b == Major::k ? 32 : 16 * tile.row_bytes;  // 16 of the depth
    static constexpr int trans_b = S.b == Major::k ? 0 : 1;
    static constexpr Extent extent = S.cluster == 1 ? Extent{0, 0, 0} : Cluster<S.cluster>::extent;
    static_assert(S.tile_n % S.cluster == 0 && own_cols % (S.b == Major::k ? 8 : 64) == 0);

    static ptxgraft::TensorMapOptions map(std::uint32_t rows, std::uint32_t cols, std::uint64_t row_bytes,
                                          std::uint32_t box_rows) {
        return {.type = ptxgraft::TensorType::bf16,
                .dims = {cols, rows},
                .strides = {row_bytes},
                .box = {tile.row_bytes / 2, box_rows},
                .swizzle = tile.swizzle,
                .l2 = ptxgraft::TensorL2Promotion::bytes128};
    }

  public:
    static constexpr std::uint32_t threads = group * (1 + S.consumers), shared_bytes = S.stages * stage_bytes;

    /// The launch for a C of m rows and n columns on a device that has so many multiprocessors.
    static ptxgraft::LaunchConfig launch(std::uint32_t m, std::uint32_t n, std::uint32_t multiprocessors) {
        const std::uint32_t clusters = std::max(multiprocessors / S.cluster, 1u);
        return {.grid = {std::min(tiles_of(m, n), clusters * S.cluster)},
                .block = {threads},
                .shared_bytes = shared_bytes};
    }
    static std::uint32_t tiles_of(std::uint32_t m, std::uint32_t n) {
        return (m + cluster_m - 1) / cluster_m * S.cluster * ((n + S.tile_n - 1) / S.tile_n);
    }
    /// Tensor maps of A and of B, but for the address; the bytes from row to row are a multiple of 16.
    static ptxgraft::TensorMapOptions map_a(std::uint32_t m, std::uint32_t depth, std::uint64_t row_bytes) {
        return map(m, depth, row_bytes, tile_m);
    }
    static ptxgraft::TensorMapOptions map_b(std::uint32_t n, std::uint32_t depth, std::uint64_t row_bytes) {
        return S.b == Major::k ? map(n, depth, row_bytes, own_cols) : map(depth, n, row_bytes, tile_depth);
    }

    WgmmaGemm(Module& module, std::string_view name, const Extent& cluster = extent)
        : k(module.entry<sm_90a>(name)),
          shared(module.dynamic_shared("tiles", swizzle_alignment(tile.swizzle))) {
        k.directives({.required_threads = {threads}, .cluster = cluster, .min_blocks = 1});
    }

    void find_places() {
        map_of_a = address_of_map(k.tensor_map("a")), map_of_b = address_of_map(k.tensor_map("b"));
        c.address = k.argument<u64>("c");
        c.m = k.argument<u32>("m"), c.n = k.argument<u32>("n"), end_step = k.argument<u32>("depth");
        c.ld = k.argument<u32>("ldc");
        k.emit<"mov.u32">(first_step, 0);
        k.emit<"cvta.to.global.u64">(c.address, c.address);
        const auto number = read<"%tid.x">(k);
        thread = number, lane = number & 31;
        const auto group_of = number >> 7;
        // What all lanes have may stand in uniform registers.
        k.emit<"shfl.sync.idx.b32">(group_of, group_of, 0, 31, -1);
        is_producer = group_of == 0;
        consumer = group_of - 1;
        begin = address_of(k, shared);
        b_begin = value(k, begin) + a_bytes;
        if constexpr (S.cluster > 1) {
            rank = read<"%cluster_ctarank">(k);
            b_begin = value(k, rank) * (own_cols * tile.row_bytes) + b_begin;
        }
        tiles = {tiles_over(k, c.m, cluster_m), tiles_over(k, c.n, S.tile_n)};
    }
    Reg<u64> address_of_map(Variable<Space::param> map) {
        const auto address = k.reg<u64>();
        k.emit<"mov.b64">(address, map);
        k.emit<"cvta.param.u64">(address, address);
        return address;
    }
    void make_barriers() {
        k.if_(value(k, thread) == 0, [&] {
            k.emit<"prefetch.tensormap">(at(map_of_a));
            k.emit<"prefetch.tensormap">(at(map_of_b));
            full.init(1);                             // the producer, and the bytes that it announces
            empty.init(4 * S.consumers * S.cluster);  // all consumers' warps
            k.emit<"fence.mbarrier_init.release.cluster">();
        });
        if constexpr (S.cluster == 1)
            k.emit<"bar.sync">(0);
        else
            cluster_sync(k);
    }

    // ---- tiles of C, and the steps along the depth

    template <class Body> void for_each_tile(Body&& body) {
        const auto schedule = S.cluster == 1 ? TileSchedule(k) : TileSchedule<sm_90a>::of_clusters(k);
        schedule.for_each(tiles, [&](const TilePlace& tile) {
            find_tile(tile);
            body();
        });
    }
    void find_tile(const TilePlace& tile) {
        row = value(k, tile.row) * cluster_m;
        own_col = col = value(k, tile.col) * S.tile_n;
        if constexpr (S.cluster > 1) {
            row = value(k, rank) * tile_m + row;
            own_col = value(k, rank) * own_cols + col;
        }
    }
    template <class Body> void for_each_step(Body&& body) {
        k.emit<"mov.u32">(step, first_step);
        k.loop_while([&] {
            body();
            k.emit<"add.u32">(step, step, tile_depth);
            return value(k, step) < end_step;
        });
    }

    // ---- the producer

    void give_registers() { k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<producer_registers>); }
    template <class Body> void one_thread(Body&& body) {
        k.if_(value(k, thread) == 0, [&] {
            here = cursor(k, 1);  // the first round finds all stages empty
            body();
        });
    }
    void wait_until_empty() {
        if constexpr (S.cluster == 1)
            empty.wait(here);
        else
            empty.wait_in_cluster(here);
    }
    void copy() {
        const auto barrier = full.expect_tx(here, stage_bytes);
        const auto stage = value(k, here.stage) * stage_bytes, to_b = stage + b_begin;
        tensor_copy(k, at(stage + begin), map_of_a, vec(step, row), barrier);
        for (std::uint32_t i = 0; i < panels; ++i) {
            const Reg<u32> first = value(k, own_col) + 64 * i;
            const auto to = at(to_b, i * panel_bytes);
            const auto from = at(map_of_b, S.b == Major::k ? vec(step, first) : vec(first, step));
            if constexpr (S.cluster == 1)
                k.emit<"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes">(
                    to, from, at(barrier));
            else
                k.emit<
                    "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes."
                    "multicast::cluster">(to, from, at(barrier), Cluster<S.cluster>::all_mask);
        }
        advance(k, here, S.stages);
    }

    // ---- a consumer: 64 rows of the tile

    void take_registers() {
        k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<consumer_registers>);
        a_first = descriptor(k, descriptor_of(tile), value(k, consumer) * (64 * tile.row_bytes) + begin);
        b_first = descriptor(k, b_layout, value(k, begin) + a_bytes);
        is_signalling = value(k, lane) < S.cluster;  // to the CTA of its number
        k.emit<"setp.eq.u32">(always, 0, 0);
        here = cursor(k), last = cursor(k);
        find_accumulators();
    }
    void wait_until_full() { full.wait(here); }
    void multiply() {
        const auto a = descriptor_in(k, here.stage, stage_bytes, a_first),
                   b = descriptor_in(k, here.stage, stage_bytes, b_first);
        const Pred accumulate = value(k, step) != first_step;
        k.emit<"wgmma.fence.sync.aligned">();
        for (std::uint32_t i = 0; i < tile_depth / 16; ++i) {
            k.emit<wgmma_bf16<S.tile_n>>(acc, value(k, a) + MatrixDescriptor::advance(32 * i),
                                         value(k, b) + MatrixDescriptor::advance(b_step_bytes * i),
                                         i == 0 ? accumulate : always, 1, 1, 0, imm<trans_b>);
        }
        k.emit<"wgmma.commit_group.sync.aligned">();
        advance(k, here, S.stages);
    }
    // The product of this step goes on; that of the one before is done with its stage.
    void free_last() {
        k.emit<"wgmma.wait_group.sync.aligned">(1);
        k.if_(value(k, step) != first_step, [&] { free(); });
    }
    void free_all() {
        k.emit<"wgmma.wait_group.sync.aligned">(0);
        free();
    }
    void free() {
        if constexpr (S.cluster == 1)
            empty.arrive_if(is_signalling, last);
        else
            arrive_in_if(k, is_signalling, empty.address(last), value(k, lane) % S.cluster);
        advance(k, last, S.stages);
    }
    void finish() {
        if constexpr (S.cluster > 1) cluster_sync(k);
    }

    // Where wgmma_d has register 0, in the tile.
    void find_accumulators() {
        const auto in_warp = value(k, lane);
        row_in_tile = (value(k, thread) >> 5) * 16 - group / 32 * 16 + (in_warp >> 2);
        col_in_tile = (in_warp & 3) << 1;
    }
    void store() { store(acc, col); }
    // Those of as many columns, from this one on.
    template <std::size_t N> void store(const Regs<f32, N>& some, Reg<u32> begin_col) {
        const auto first_row = value(k, row) + row_in_tile, first_col = value(k, begin_col) + col_in_tile;
        for (std::uint32_t half = 0; half < 2; ++half) {
            std::array<Regs<f32, 2>, N / 4> pairs;
            for (std::uint32_t j = 0; j < pairs.size(); ++j)
                pairs[j] = {some[4 * j + 2 * half], some[4 * j + 2 * half + 1]};
            store_row(k, c, {first_row + 8 * half, first_col, pairs});
        }
    }

    FunctionBuilder<sm_90a>& k;
    Output c = {};
    TileGrid tiles = {};
    Reg<u32> row = {}, col = {};                        // of C's tile
    Reg<u32> first_step = k.reg<u32>(), end_step = {};  // along the depth, in elements
    Reg<u32> thread = {}, lane = {}, consumer = {};     // consumer: which warpgroup of them
    Reg<u32> begin = {};                                // of the stages
    Pred is_producer = {};
    Regs<f32, S.tile_n / 2> acc = k.regs<f32, S.tile_n / 2>();

  private:
    Variable<Space::shared> shared;  // the stages, each a tile of A and one of B
    Barriers<sm_90a> full = {k, "full", S.stages}, empty = {k, "empty", S.stages};
    Reg<u64> map_of_a = {}, map_of_b = {};
    Reg<u32> rank = {};                   // in the cluster
    Reg<u32> own_col = {}, b_begin = {};  // of what this CTA copies of B: in B, and in the first stage
    Reg<u32> step = k.reg<u32>();         // along the depth, in elements
    Pred is_signalling = {}, always = k.reg<pred>();
    Cursor here = {}, last = {};          // the next stage; of consumers the one before
    Reg<u64> a_first = {}, b_first = {};  // descriptors in the first stage
    Reg<u32> row_in_tile = {}, col_in_tile = {};
};

}  // namespace gemm
