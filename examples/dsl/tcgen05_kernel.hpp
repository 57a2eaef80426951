#pragma once
/// @file tcgen05_kernel.hpp
/// What the GEMMs for sm_100a have in common: the roles of the warps, rings of mbarriers between them, tensor
/// memory, tiles of C, and the way from tensor memory through the site to C.
///
/// Four warps take finished tiles of C to memory, one copies A and B, one multiplies: while the four are at a
/// tile the next is being multiplied, into other columns of tensor memory. Blocks stay, and take tile after
/// tile. With two blocks on a tile (cta_group 2) each copies half of A and half of B, the first one
/// multiplies for both, and each has half of the rows of C in its tensor memory.

#include <array>

#include "gemm_output.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/launch.hpp"

namespace gemm {

/// Sizes of such a kernel.
struct Tcgen05Frame {
    std::uint32_t blocks = 1;         ///< on a tile of C: 1 or 2
    std::uint32_t tile_n = 256;       ///< columns of a tile; it has 128 rows a block
    std::uint32_t tile_depth = 64;    ///< elements of a step along the depth
    std::uint32_t stages = 4;         ///< steps whose A and B are in shared memory
    std::uint32_t stage_bytes = 0;    ///< that are copied into one, in each block
    std::uint32_t accumulators = 2;   ///< tiles of C in tensor memory
    std::uint32_t other_columns = 0;  ///< of tensor memory, behind the accumulators
};

template <Tcgen05Frame F> class Tcgen05Kernel {
  protected:
    static constexpr std::uint32_t block_rows = 128, tile_m = block_rows * F.blocks;
    static constexpr std::uint32_t copying_warp = 4, multiplying_warp = 5, threads = 32 * 6;

  public:
    /// What tcgen05.alloc is asked for, in columns.
    static constexpr std::uint32_t columns = allocated_columns(F.accumulators * F.tile_n + F.other_columns);
    /// From stage to stage: a swizzle's pattern begins with each.
    static constexpr std::uint32_t stage_pitch = (F.stage_bytes + 1023) / 1024 * 1024;
    static constexpr std::uint32_t shared_bytes = F.stages * stage_pitch;
    static_assert((F.blocks == 1 || F.blocks == 2) && F.stages >= 2 && F.tile_n % 32 == 0 && F.tile_n <= 256);
    static_assert(columns <= tensor_columns && shared_bytes <= 227 * 1024 - 1024);

    /// The launch for a C of m rows and n columns on a device that has so many multiprocessors.
    static ptxgraft::LaunchConfig launch(std::uint32_t m, std::uint32_t n, std::uint32_t multiprocessors) {
        const std::uint32_t tiles = ((m + tile_m - 1) / tile_m) * ((n + F.tile_n - 1) / F.tile_n);
        return {.grid = {std::min(tiles, std::max(multiprocessors / F.blocks, 1u)) * F.blocks},
                .block = {threads},
                .shared_bytes = shared_bytes};
    }

  protected:
    Tcgen05Kernel(Module& module, std::string_view name)
        : k(module.entry<sm_100a>(name)),
          shared(module.dynamic_shared("tiles", swizzle_alignment(ptxgraft::TensorSwizzle::bytes128))) {
        k.directives({.required_threads = {threads},
                      .cluster = F.blocks == 1 ? Extent{0, 0, 0} : Extent{F.blocks},
                      .min_blocks = 1});
    }
    Reg<u64> map(std::string_view name) {
        const auto address = k.reg<u64>();
        k.emit<"mov.b64">(address, k.tensor_map(name));
        k.emit<"cvta.param.u64">(address, address);
        return address;
    }

  public:
    // ---- the beginning and the end

    void find_places() {
        c.address = k.argument<u64>("c");
        c.m = k.argument<u32>("m"), c.n = k.argument<u32>("n"), depth = k.argument<u32>("depth");
        c.ld = k.argument<u32>("ldc");
        k.emit<"cvta.to.global.u64">(c.address, c.address);
        thread = read<"%tid.x">(k), rank = read<"%cluster_ctarank">(k);
        const auto warp_of = value(k, thread) >> 5;
        // What all lanes have may stand in uniform registers.
        k.emit<"shfl.sync.idx.b32">(warp_of, warp_of, 0, 31, -1);
        warp = warp_of;
        begin = address_of(k, shared);
        tiles_m = (value(k, c.m) + (tile_m - 1)) / tile_m;
        tiles = (value(k, c.n) + (F.tile_n - 1)) / F.tile_n * tiles_m;
        k.emit<"setp.eq.u32">(always, 0, 0);
    }
    void make_barriers() {
        k.if_(value(k, thread) == 0, [&] {
            full.init(1);              // the copying thread, and the bytes that it announces
            empty.init(1);             // a commit
            made.init(1);              // a commit
            taken.init(4 * F.blocks);  // the warps that store
            k.emit<"fence.mbarrier_init.release.cluster">();
        });
    }
    void take_tensor_memory() {
        const auto slot = address_of(k, k.shared("tensor_memory", {.type = u32}));
        k.if_(value(k, warp) == multiplying_warp, [&] {
            k.emit<grouped<"tcgen05.alloc", F.blocks, ".sync.aligned.shared::cta.b32">()>(at(slot), columns);
            k.emit<grouped<"tcgen05.relinquish_alloc_permit", F.blocks, ".sync.aligned">()>();
        });
        wait_for_all();
        tensor = k.reg<u32>();
        k.emit<"ld.shared.u32">(tensor, at(slot));
    }
    /// When all products are stored: neither block goes before the other has ceased to signal it.
    void give_tensor_memory() {
        wait_for_all();
        k.if_(value(k, warp) == multiplying_warp,
              [&] { k.emit<grouped<"tcgen05.dealloc", F.blocks, ".sync.aligned.b32">()>(tensor, columns); });
    }

    // ---- roles

    template <class Body> void copying(Body&& body) {
        one_thread_of(value(k, warp) == copying_warp, [&] {
            here = cursor(k, 1);  // the first round finds all stages empty
            body();
        });
    }
    template <class Body> void multiplying(Body&& body) {
        const Pred is_multiplying = value(k, warp) == multiplying_warp;
        if constexpr (F.blocks == 2) k.emit<"setp.eq.and.u32">(is_multiplying, rank, 0, is_multiplying);
        one_thread_of(is_multiplying, [&] {
            here = cursor(k), accumulator = cursor(k, 1);
            body();
        });
    }
    template <class Body> void storing(Body&& body) {
        k.if_(value(k, warp) < copying_warp, [&] {
            accumulator = cursor(k);
            body();
        });
    }

    // ---- tiles of C, and the steps along the depth

    template <class Body> void for_each_tile(Body&& body) {
        const auto number = read<"%ctaid.x">(k) / F.blocks, count = read<"%nctaid.x">(k) / F.blocks;
        k.loop([&](Label end) {
            k.if_(number >= tiles).emit<"bra">(end);
            row = value(k, rank) * block_rows + number % tiles_m * tile_m;
            col = number / tiles_m * F.tile_n;
            body();
            k.emit<"add.u32">(number, number, count);
        });
    }
    template <class Body> void for_each_step(Body&& body) {
        k.emit<"mov.u32">(step, 0);
        k.loop_while([&] {
            body();
            k.emit<"add.u32">(step, step, F.tile_depth);
            return value(k, step) < depth;
        });
    }

    // ---- the copying thread

    void wait_until_empty() { wait(empty, here); }
    /// Before it ends, a block's stages have all been freed: commits that are on their way have come.
    void wait_until_all_empty() {
        k.unroll(F.stages, [&](std::uint32_t) {
            wait(empty, here);
            advance(k, here, F.stages);
        });
    }

  protected:
    // The barrier of a stage, at which the copies into both blocks' shared memory complete.
    Reg<u32> expect_copies() {
        if constexpr (F.blocks == 1) return full.expect_tx(here, F.stage_bytes);
        k.if_(value(k, rank) == 0, [&] { full.expect_tx(here, 2 * F.stage_bytes); });
        return address_in(k, full.address(here), 0);
    }
    void copy(Reg<u32> to, std::uint32_t offset, Reg<u64> from, Reg<u32> x, Reg<u32> y, Reg<u32> barrier) {
        k.emit<grouped<"cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes",
                       F.blocks, "">()>(at(to, offset), at(from, vec(x, y)), at(barrier));
    }

  public:
    // ---- the multiplying thread

    void wait_until_full() { wait(full, here), see_others(); }
    void wait_until_taken() { wait(taken, accumulator), see_others(); }
    void free_stage() {
        commit(empty.address(here));
        advance(k, here, F.stages);
    }
    void give_product() {
        commit(made.address(accumulator));
        advance(k, accumulator, F.accumulators);
    }

    // ---- the warps that store: a thread has a row, as its warp's lanes of tensor memory have it

    void wait_for_product() { wait(made, accumulator), see_others(); }
    void store() {
        const auto from = value(k, accumulator.stage) * F.tile_n + tensor + (value(k, warp) << 21);
        const auto first_row = value(k, row) + thread, first_col = value(k, col) + 0;
        const Reg<u32> last_col = value(k, col) + F.tile_n;
        k.emit<"min.u32">(last_col, last_col, c.n);
        k.loop_while([&] {
            k.emit<"tcgen05.ld.sync.aligned.32x32b.x32.b32">(acc, at(from));
            k.emit<"tcgen05.wait::ld.sync.aligned">();
            std::array<Regs<f32, 2>, 16> pairs;
            for (std::uint32_t i = 0; i < pairs.size(); ++i) pairs[i] = {acc[2 * i], acc[2 * i + 1]};
            store_row(k, c, {first_row, first_col, pairs, 2});
            k.emit<"add.u32">(from, from, 32);
            k.emit<"add.u32">(first_col, first_col, 32);
            return first_col < last_col;
        });
    }
    void free_accumulator() {
        k.emit<"tcgen05.fence::before_thread_sync">();
        k.emit<"bar.warp.sync">(-1);
        k.if_((value(k, thread) & 31) == 0, [&] { signal_first_block(taken.address(accumulator)); });
        advance(k, accumulator, F.accumulators);
    }

    FunctionBuilder<sm_100a>& k;

  protected:
    Variable<Space::shared> shared;  // the stages
    Barriers<sm_100a> full = {k, "full", F.stages}, empty = {k, "empty", F.stages};
    Barriers<sm_100a> made = {k, "made", F.accumulators}, taken = {k, "taken", F.accumulators};
    Output c = {};
    Reg<u32> depth = {}, thread = {}, warp = {};
    Reg<u32> rank = {};    // of the block in its pair
    Reg<u32> begin = {};   // of the stages
    Reg<u32> tensor = {};  // memory's address
    Reg<u32> tiles_m = {}, tiles = {};
    Reg<u32> row = {}, col = {};   // of C's tile, the row this block's
    Reg<u32> step = k.reg<u32>();  // along the depth, in elements
    Pred always = k.reg<pred>();
    Cursor here = {}, accumulator = {};  // the next stage, the next tile in tensor memory
    Regs<f32, 32> acc = k.regs<f32, 32>();

  private:
    template <class Body> void one_thread_of(Pred is_warp, Body&& body) {
        k.if_(is_warp, [&] {
            k.if_(elect(k), body);
            k.emit<"bar.warp.sync">(-1);
        });
    }
    void wait_for_all() {
        if constexpr (F.blocks == 1)
            k.emit<"bar.sync">(0);
        else
            cluster_sync(k);
    }
    // What tcgen05 instructions of other threads have done is done for those that follow.
    void see_others() { k.emit<"tcgen05.fence::after_thread_sync">(); }

    void wait(const Barriers<sm_100a>& barriers, const Cursor& at_stage) {
        if constexpr (F.blocks == 1)
            barriers.wait(at_stage);
        else
            barriers.wait_in_cluster(at_stage);
    }
    void signal_first_block(Reg<u32> barrier) {
        if constexpr (F.blocks == 1)
            k.emit<"mbarrier.arrive.shared::cta.b64">(sink, at(barrier));
        else
            arrive_in(k, barrier, 0);
    }
    // When all that this thread has started is done, of each block.
    void commit(Reg<u32> barrier) {
        if constexpr (F.blocks == 1)
            k.emit<"tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64">(at(barrier));
        else
            k.emit<
                "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster.b64">(
                at(barrier), imm<pair_mask(0)>);
    }
};

/// Emits a kernel: what a step copies into a stage, what the multiplying thread does first, and how it
/// multiplies a step, differ from port to port.
template <Tcgen05Frame F, class Copy, class Begin, class Multiply>
void emit_roles(Tcgen05Kernel<F>& gemm, Copy&& copy, Begin&& begin, Multiply&& multiply) {
    gemm.find_places();         // of this thread; tiles of C
    gemm.make_barriers();       // mbarrier.init
    gemm.take_tensor_memory();  // tcgen05.alloc
    gemm.copying([&] {
        gemm.for_each_tile([&] {
            gemm.for_each_step([&] {
                gemm.wait_until_empty();  // mbarrier.try_wait
                copy();                   // mbarrier.arrive.expect_tx, cp.async.bulk.tensor
            });
        });
        gemm.wait_until_all_empty();
    });
    gemm.multiplying([&] {
        begin();
        gemm.for_each_tile([&] {
            gemm.wait_until_taken();  // mbarrier.try_wait: a tile's columns of tensor memory are stored
            gemm.for_each_step([&] {
                gemm.wait_until_full();  // mbarrier.try_wait
                multiply();              // tcgen05.mma
                gemm.free_stage();       // tcgen05.commit
            });
            gemm.give_product();  // tcgen05.commit
        });
    });
    gemm.storing([&] {
        gemm.for_each_tile([&] {
            gemm.wait_for_product();  // mbarrier.try_wait
            gemm.store();             // tcgen05.ld, the site, st.global
            gemm.free_accumulator();  // mbarrier.arrive
        });
    });
    gemm.give_tensor_memory();  // tcgen05.dealloc
    gemm.k.template emit<"ret">();
}

}  // namespace gemm
