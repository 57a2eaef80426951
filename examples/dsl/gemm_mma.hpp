#pragma once
/// @file gemm_mma.hpp
/// A GEMM for the tensor cores of sm_80 and all that came later: C = A B^T, where A has m rows and B has n,
/// both of `depth` elements of .bf16, row-major, or B has `depth` rows of n (MmaShape::b); C is .f32. Any m,
/// n and depth: what is beyond an edge is copied as zeros, and not stored.
///
/// grouped_gemm.hpp multiplies by the same parts.
///
/// Arguments: u64 a, b, c (addresses, multiples of 16); u32 m, n, depth; u32 lda, ldb (elements from row to
/// row, multiples of 8), ldc (an even number). One site, `epilogue`: mod f32 acc, in u32 row, in u32 col.

#include <algorithm>
#include <array>
#include <span>

#include "gemm_output.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/launch.hpp"
#include "tile_copy.hpp"

namespace gemm {

/// What a block computes of C, how much of the depth at a time, by how many warps, and how many tiles of A
/// and B it has in shared memory: one is multiplied while the others are on their way.
struct MmaShape {
    std::uint32_t tile_m = 128, tile_n = 128, tile_depth = 32;
    std::uint32_t warps_m = 2, warps_n = 2, stages = 4;
    Major b = Major::k;
};

/// The matrices of a product, by addresses in .global.
struct Product {
    Reg<u64> a, b;
    Reg<u32> depth, lda, ldb;
    Output c;
};
inline void to_global(FunctionBuilder<sm_80>& k, const Product& of) {
    for (const auto& address : {of.a, of.b, of.c.address}) k.emit<"cvta.to.global.u64">(address, address);
}
inline Product product_of_arguments(FunctionBuilder<sm_80>& k) {
    Product of;
    of.a = k.argument<u64>("a"), of.b = k.argument<u64>("b"), of.c.address = k.argument<u64>("c");
    of.c.m = k.argument<u32>("m"), of.c.n = k.argument<u32>("n"), of.depth = k.argument<u32>("depth");
    of.lda = k.argument<u32>("lda"), of.ldb = k.argument<u32>("ldb"), of.c.ld = k.argument<u32>("ldc");
    to_global(k, of);
    return of;
}

template <MmaShape S> class MmaGemm;

/// Emits the kernel: a block computes one tile of C.
template <MmaShape S = MmaShape{}> void emit_gemm_mma(Module& module, std::string_view name = "gemm_mma") {
    MmaGemm<S> gemm(module, name);
    const Product product = product_of_arguments(gemm.k);
    gemm.find_thread();  // in shared memory, and in a tile
    gemm.find_tile(product, {read<"%ctaid.x">(gemm.k), read<"%ctaid.y">(gemm.k)});
    multiply_by_mma(gemm);
    gemm.store();  // the site, st.global
    gemm.k.template emit<"ret">();
}

/// A tile of C, from its first step along the depth to the last.
template <class Gemm> void multiply_by_mma(Gemm& gemm) {
    gemm.copy_first_tiles();  // cp.async, cp.async.commit_group: all stages but one are on their way
    gemm.zero_accumulators();
    gemm.k.loop([&](Label end) {
        gemm.leave_at_the_end(end);
        gemm.wait_for_tile();  // cp.async.wait_group, bar.sync: it is there for all; the last one is read
        gemm.copy_tile();      // cp.async, cp.async.commit_group: into the stage of the last one
        gemm.multiply_tile();  // ldmatrix, mma.sync
    });
}

template <MmaShape S> class MmaGemm {
    static constexpr StagedTile a_tile = staged_tile(Major::k, S.tile_m, S.tile_depth),
                                b_tile = staged_tile(S.b, S.tile_n, S.tile_depth);
    static constexpr std::uint32_t stage_bytes = a_tile.bytes() + b_tile.bytes();
    static constexpr std::uint32_t threads = 32 * S.warps_m * S.warps_n;
    static constexpr std::uint32_t warp_m = S.tile_m / S.warps_m, warp_n = S.tile_n / S.warps_n;
    static constexpr std::uint32_t mmas_m = warp_m / 16, mmas_n = warp_n / 8;
    static constexpr std::uint32_t alignment =
        std::max(swizzle_alignment(a_tile.rows_are.swizzle), swizzle_alignment(b_tile.rows_are.swizzle));

    static_assert(TileCopy::is_possible(a_tile, threads) && TileCopy::is_possible(b_tile, threads));
    static_assert(S.tile_m % (16 * S.warps_m) == 0 && S.tile_n % (16 * S.warps_n) == 0,
                  "warps have blocks of 16");
    static_assert(S.b == Major::k || (S.tile_n % 64 == 0 && (warp_n % 64 == 0 || 64 % warp_n == 0)),
                  "warps have parts of a panel, or whole ones");
    static_assert(a_tile.bytes() % alignment == 0 && stage_bytes % alignment == 0 && S.stages >= 2);

  public:
    static constexpr std::uint32_t shared_bytes = S.stages * stage_bytes;
    static_assert(shared_bytes <= 163 * 1024);
    /// The launch for a C of m rows and n columns.
    static ptxgraft::LaunchConfig launch(std::uint32_t m, std::uint32_t n) {
        return {.grid = {(m + S.tile_m - 1) / S.tile_m, (n + S.tile_n - 1) / S.tile_n},
                .block = {threads},
                .shared_bytes = shared_bytes};
    }

    MmaGemm(Module& module, std::string_view name)
        : k(module.entry<sm_80>(name)), shared(module.dynamic_shared("tiles", alignment)) {
        k.directives({.required_threads = {threads}});
    }

    // Where this thread, its warp and its lane are in shared memory and in tiles, whichever they are.
    void find_thread() {
        const auto thread = read<"%tid.x">(k), begin = address_of(k, shared);
        a.find_thread(thread, begin);
        b.find_thread(thread, begin + a_tile.bytes());
        k.emit<"mov.u32">(write_stage, 0);
        k.emit<"mov.u32">(read_stage, 0);
        find_fragments(thread & 31, thread >> 5, begin);
    }
    // A tile of C. What was read of the last one's stages is not written before all warps have read it: the
    // ring goes on where it was.
    void find_tile(const Product& of, const TilePlace& place) {
        c = of.c;
        const auto block_row = value(k, place.row) * S.tile_m, block_col = value(k, place.col) * S.tile_n;
        a.find_tile({of.a, c.m, of.depth, of.lda}, block_row);
        b.find_tile({of.b, c.n, of.depth, of.ldb}, block_col);
        tiles_left = tiles_over(k, of.depth, S.tile_depth);
        k.emit<"mov.u32">(copies_left, tiles_left);
        row = value(k, row_in_tile) + block_row;
        col = value(k, col_in_tile) + block_col;
    }

    // ---- cp.async

    void copy_first_tiles() {
        k.unroll(S.stages - 1, [&](std::uint32_t) { copy_tile(); });
    }
    // The next tile of A and of B; behind the last one a group that is empty.
    void copy_tile() {
        k.if_(value(k, copies_left) != 0, [&] {
            a.copy(write_stage), b.copy(write_stage);
            k.emit<"sub.u32">(copies_left, copies_left, 1);
            next_stage(write_stage);
        });
        k.emit<"cp.async.commit_group">();
    }
    void next_stage(Reg<u32> stage) {
        k.emit<"add.u32">(stage, stage, stage_bytes);
        k.emit<"selp.b32">(stage, 0, stage, value(k, stage) == shared_bytes);
    }

    // ---- ldmatrix, mma.sync: a warp multiplies some blocks of 16 rows of A and of 8 rows of B

    void find_fragments(Value<u32, sm_80> lane, Value<u32, sm_80> warp, Value<u32, sm_80> begin) {
        const auto warp_row = (warp % S.warps_m) * warp_m, warp_col = (warp / S.warps_m) * warp_n;
        constexpr TileRows of_a = a_tile.rows_are, of_b = b_tile.rows_are;
        a_rows = warp_row * of_a.row_bytes + begin + ldmatrix_offset_a(k, of_a, lane);
        if (S.b == Major::k) {
            b_rows = warp_col * of_b.row_bytes + begin + ldmatrix_offset_b(k, of_b, lane) + a_tile.bytes();
        } else {
            const auto in_panel = value(k, ldmatrix_offset_a(k, of_b, lane)) ^ ((warp_col % 64) << 1);
            b_rows = warp_col / 64 * b_tile.panel_bytes() + begin + in_panel + a_tile.bytes();
        }
        // Where mma_d has register 0 of the first block.
        row_in_tile = (lane >> 2) + warp_row;
        col_in_tile = ((lane & 3) << 1) + warp_col;
    }

    void zero_accumulators() {
        for (auto& blocks : acc)
            for (auto& block : blocks)
                for (const auto& one : block = k.regs<f32, 4>()) k.emit<"mov.f32">(one, 0.0f);
    }
    void leave_at_the_end(Label end) {
        k.if_(value(k, tiles_left) == 0).emit<"bra">(end);
        k.emit<"sub.u32">(tiles_left, tiles_left, 1);
    }
    void wait_for_tile() {
        k.emit<"cp.async.wait_group">(S.stages - 2);
        k.emit<"bar.sync">(0);
    }
    void multiply_tile() {
        const auto a_stage = value(k, a_rows) + read_stage, b_stage = value(k, b_rows) + read_stage;
        std::array<Fragments, 2> some;  // what is multiplied, and what is loaded meanwhile
        constexpr std::uint32_t steps = S.tile_depth / 16;
        some[0] = load_fragments(a_stage, b_stage, 0);
        for (std::uint32_t step = 0; step < steps; ++step) {
            if (step + 1 < steps) some[(step + 1) % 2] = load_fragments(a_stage, b_stage, step + 1);
            multiply(some[step % 2]);
        }
        next_stage(read_stage);
    }
    struct Fragments {
        std::array<Regs<b32, 4>, mmas_m> a;
        std::array<Regs<b32, 4>, mmas_n / 2> b;
    };
    Fragments load_fragments(Reg<u32> a_stage, Reg<u32> b_stage, std::uint32_t step) {
        Fragments all;
        load_blocks(all.a, a_tile.rows_are, a_stage, step);
        if (S.b == Major::k)
            load_blocks(all.b, b_tile.rows_are, b_stage, step);
        else
            load_panels(all.b, b_stage, step);
        return all;
    }
    // Blocks of 16 rows and 16 columns, one below the other.
    void load_blocks(std::span<Regs<b32, 4>> blocks, const TileRows& rows_are, Reg<u32> rows,
                     std::uint32_t step) {
        const auto here = value(k, rows) ^ 32 * step;
        for (std::uint32_t i = 0; i < blocks.size(); ++i) {
            blocks[i] = k.regs<b32, 4>();
            k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(blocks[i],
                                                               at(here, 16 * i * rows_are.row_bytes));
        }
    }
    // The same of rows along N: blocks side by side, four in a panel.
    void load_panels(std::span<Regs<b32, 4>> blocks, Reg<u32> rows, std::uint32_t step) {
        for (std::uint32_t i = 0; i < blocks.size(); ++i) {
            const auto here = value(k, rows) ^ 32 * (i % 4);
            blocks[i] = k.regs<b32, 4>();
            k.emit<"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16">(
                blocks[i], at(here, i / 4 * b_tile.panel_bytes() + 16 * step * 128));
        }
    }
    void multiply(const Fragments& of) {
        for (std::uint32_t i = 0; i < mmas_m; ++i)
            for (std::uint32_t j = 0; j < mmas_n; ++j) {
                const auto& [b0, b1, b2, b3] = of.b[j / 2];
                k.emit<"mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32">(
                    acc[i][j], of.a[i], j % 2 == 0 ? vec(b0, b1) : vec(b2, b3), acc[i][j]);
            }
    }

    void store() {
        for (std::uint32_t i = 0; i < 2 * mmas_m; ++i) {
            std::array<Regs<f32, 2>, mmas_n> pairs;
            for (std::uint32_t j = 0; j < mmas_n; ++j)
                pairs[j] = {acc[i / 2][j][i % 2 * 2], acc[i / 2][j][i % 2 * 2 + 1]};
            store_row(k, c, {value(k, row) + 8 * i, col, pairs});
        }
    }

    FunctionBuilder<sm_80>& k;

  private:
    Variable<Space::shared> shared;  // the stages, each a tile of A and one of B
    Output c = {};
    TileCopy a = {k, a_tile, threads}, b = {k, b_tile, threads};
    Reg<u32> copies_left = k.reg<u32>();                             // tiles that nobody asked for yet
    Reg<u32> tiles_left = {};                                        // tiles to multiply
    Reg<u32> write_stage = k.reg<u32>(), read_stage = k.reg<u32>();  // in bytes
    Reg<u32> a_rows = {}, b_rows = {};                               // what ldmatrix reads in the first stage
    Reg<u32> row_in_tile = {}, col_in_tile = {}, row = {}, col = {};  // of the first accumulator
    std::array<std::array<Regs<f32, 4>, mmas_n>, mmas_m> acc = {};
};

}  // namespace gemm
