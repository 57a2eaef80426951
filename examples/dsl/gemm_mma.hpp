#pragma once
/// @file gemm_mma.hpp
/// A GEMM for the tensor cores of sm_80 and all that came later: C = A B^T, where A has m rows and B has n,
/// both of `depth` elements of .bf16, row-major; C is .f32. Any m, n and depth: what is beyond an edge is
/// copied as zeros, and not stored.
///
/// grouped_gemm.hpp multiplies by the same parts.
///
/// Arguments: u64 a, b, c (addresses, multiples of 16); u32 m, n, depth; u32 lda, ldb (elements from row to
/// row, multiples of 8), ldc (an even number). One site, `epilogue`: mod f32 acc, in u32 row, in u32 col.

#include <array>
#include <span>

#include "gemm_output.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/dsl/matrix.hpp"
#include "ptxgraft/launch.hpp"

namespace gemm {

/// What a block computes of C, how much of the depth at a time, by how many warps, and how many tiles of A
/// and B it has in shared memory: one is multiplied while the others are on their way.
struct MmaShape {
    std::uint32_t tile_m = 128, tile_n = 128, tile_depth = 32;
    std::uint32_t warps_m = 2, warps_n = 2, stages = 4;
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
    static constexpr std::uint32_t bytes = 2;  // of an element of A and B
    static constexpr TileRows tile = tile_of(S.tile_depth * bytes);
    static constexpr std::uint32_t a_bytes = S.tile_m * tile.row_bytes, b_bytes = S.tile_n * tile.row_bytes,
                                   stage_bytes = a_bytes + b_bytes;
    static constexpr std::uint32_t threads = 32 * S.warps_m * S.warps_n;
    static constexpr std::uint32_t warp_m = S.tile_m / S.warps_m, warp_n = S.tile_n / S.warps_n;
    static constexpr std::uint32_t mmas_m = warp_m / 16, mmas_n = warp_n / 8;
    static constexpr std::uint32_t rows_at_once = threads / tile.pieces();  // that all threads copy together

    static_assert(tile.swizzle != ptxgraft::TensorSwizzle::none, "rows of a tile have 32, 64 or 128 bytes");
    static_assert(S.tile_m % (16 * S.warps_m) == 0 && S.tile_n % (16 * S.warps_n) == 0,
                  "warps have blocks of 16");
    static_assert(S.tile_m % rows_at_once == 0 && S.tile_n % rows_at_once == 0 && rows_at_once % 8 == 0 &&
                      S.stages >= 2,
                  "threads copy whole patterns of 8 rows");

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
        : k(module.entry<sm_80>(name)),
          shared(module.dynamic_shared("tiles", swizzle_alignment(tile.swizzle))) {
        k.directives({.required_threads = {threads}});
    }

    // Where this thread, its warp and its lane are in shared memory and in tiles, whichever they are.
    void find_thread() {
        const auto thread = read<"%tid.x">(k);
        find_copies(thread);
        find_fragments(thread & 31, thread >> 5);
    }
    // A tile of C. What was read of the last one's stages is not written before all warps have read it: the
    // ring goes on where it was.
    void find_tile(const Product& of, const TilePlace& place) {
        c = of.c;
        const auto block_row = value(k, place.row) * S.tile_m, block_col = value(k, place.col) * S.tile_n;
        find_sources(of, block_row, block_col);
        row = value(k, row_in_tile) + block_row;
        col = value(k, col_in_tile) + block_col;
    }

    // ---- cp.async: a thread copies one piece of 16 bytes of some rows of a tile

    struct Source {
        Reg<u64> address = {};  // of its piece of the first row, in the next tile
        Reg<u64> step = {};     // from one of its rows to the next
        Reg<s32> rows_left = {};
        std::uint32_t steps = 0, begin = 0;  // rows of a thread; where in a stage the tile is
    };

    void find_copies(Value<u32, sm_80> thread) {
        const auto row = thread / tile.pieces(), piece = (thread % tile.pieces()) << 4;
        const auto in_tile = row * tile.row_bytes + piece;
        swizzle(k, tile.swizzle, in_tile);
        copied_row = row, copied_piece = piece;
        target = in_tile + address_of(k, shared);
        k.emit<"mov.u32">(write_stage, 0);
    }
    void find_sources(const Product& of, Reg<u32> block_row, Reg<u32> block_col) {
        const auto row = value(k, copied_row);
        k.emit<"sub.s32">(bytes_left, value(k, of.depth) << 1, copied_piece);
        find_source(a, {of.a, row + block_row, c.m, of.lda});
        find_source(b, {of.b, row + block_col, c.n, of.ldb});
        k.emit<"setp.gt.s32">(has_all_rows, a.rows_left, (a.steps - 1) * rows_at_once);
        k.emit<"setp.gt.and.s32">(has_all_rows, b.rows_left, (b.steps - 1) * rows_at_once, has_all_rows);
        tiles_left = tiles_over(k, of.depth, S.tile_depth);
        k.emit<"mov.s32">(copies_left, tiles_left);
    }
    struct Rows {
        Reg<u64> address;
        Reg<u32> row, count, ld;  // of the matrix: this thread's first, and how many there are
    };
    void find_source(Source& of, const Rows& rows) {
        const auto offset = k.reg<u64>(), piece = k.reg<u64>();
        k.emit<"sub.s32">(of.rows_left, rows.count, rows.row);
        k.emit<"mul.wide.u32">(offset, rows.row, rows.ld);
        k.emit<"cvt.u64.u32">(piece, copied_piece);
        of.address = (value(k, offset) << 1) + piece + rows.address;
        k.emit<"mul.wide.u32">(of.step, rows.ld, rows_at_once * bytes);
    }

    void copy_first_tiles() {
        k.unroll(S.stages - 1, [&](std::uint32_t) { copy_tile(); });
    }
    // The next tile of A and of B; behind the last one a group that is empty.
    void copy_tile() {
        k.if_(value(k, copies_left) > 0, [&] {
            const auto is_inside = k.reg<pred>();
            k.emit<"setp.ge.and.s32">(is_inside, bytes_left, 16, has_all_rows);
            k.if_(
                is_inside, [&] { copy_whole(a), copy_whole(b); },
                [&] {
                    // Bytes of a piece that are in the row; behind them zeros are written.
                    const auto size = bytes_within<16>(k, bytes_left);
                    copy_part(a, size), copy_part(b, size);
                });
            for (const Source& of : {a, b}) k.emit<"add.u64">(of.address, of.address, tile.row_bytes);
            k.emit<"sub.s32">(bytes_left, bytes_left, tile.row_bytes);
            k.emit<"sub.s32">(copies_left, copies_left, 1);
            next_stage(write_stage);
        });
        k.emit<"cp.async.commit_group">();
    }
    void copy_whole(const Source& from) {
        for_each_row(from, [&](std::uint32_t, const auto& to, Reg<u64> row) {
            k.emit<"cp.async.cg.shared.global.L2::128B">(to, at(row), 16);
        });
    }
    void copy_part(const Source& from, Reg<s32> size) {
        const auto bytes_here = k.reg<u32>();
        const auto is_row = k.reg<pred>();
        for_each_row(from, [&](std::uint32_t i, const auto& to, Reg<u64> row) {
            k.emit<"setp.gt.s32">(is_row, from.rows_left, i * rows_at_once);
            k.emit<"selp.b32">(bytes_here, size, 0, is_row);
            async_copy<16>(k, to, at(row), bytes_here);
        });
    }
    // A thread's rows of a tile: where they go, and where they come from.
    template <class Body> void for_each_row(const Source& from, Body&& body) {
        const auto to = value(k, target) + write_stage;
        const auto row = k.reg<u64>();
        k.emit<"mov.u64">(row, from.address);
        for (std::uint32_t i = 0; i < from.steps; ++i) {
            if (i > 0) k.emit<"add.u64">(row, row, from.step);
            body(i, at(to, from.begin + i * rows_at_once * tile.row_bytes), row);
        }
    }
    void next_stage(Reg<u32> stage) {
        k.emit<"add.u32">(stage, stage, stage_bytes);
        k.emit<"selp.b32">(stage, 0, stage, value(k, stage) == shared_bytes);
    }

    // ---- ldmatrix, mma.sync: a warp multiplies some blocks of 16 rows of A and of 8 rows of B

    void find_fragments(Value<u32, sm_80> lane, Value<u32, sm_80> warp) {
        const auto warp_row = (warp % S.warps_m) * warp_m, warp_col = (warp / S.warps_m) * warp_n;
        const auto begin = address_of(k, shared);
        a_rows = warp_row * tile.row_bytes + begin + ldmatrix_offset_a(k, tile, lane);
        b_rows = warp_col * tile.row_bytes + begin + ldmatrix_offset_b(k, tile, lane) + a_bytes;
        k.emit<"mov.u32">(read_stage, 0);
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
        load_blocks(all.a, a_stage, step);
        load_blocks(all.b, b_stage, step);
        return all;
    }
    // Blocks of 16 rows and 16 columns, one below the other.
    void load_blocks(std::span<Regs<b32, 4>> blocks, Reg<u32> rows, std::uint32_t step) {
        const auto here = value(k, rows) ^ 32 * step;
        for (std::uint32_t i = 0; i < blocks.size(); ++i) {
            blocks[i] = k.regs<b32, 4>();
            k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(blocks[i], at(here, 16 * i * tile.row_bytes));
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
    Reg<u32> copied_row = {}, copied_piece = {};  // a thread's first in a tile; the piece in bytes
    Source a = {.step = k.reg<u64>(), .rows_left = k.reg<s32>(), .steps = S.tile_m / rows_at_once};
    Source b = {
        .step = k.reg<u64>(), .rows_left = k.reg<s32>(), .steps = S.tile_n / rows_at_once, .begin = a_bytes};
    Reg<u32> target = {};                 // of a thread's first piece in the first stage
    Pred has_all_rows = k.reg<pred>();    // of a thread's rows none is beyond A's and B's last
    Reg<s32> bytes_left = k.reg<s32>();   // of a row, from the thread's piece of the next tile on
    Reg<s32> copies_left = k.reg<s32>();  // tiles that nobody asked for yet
    Reg<u32> tiles_left = {};             // tiles to multiply
    Reg<u32> write_stage = k.reg<u32>(), read_stage = k.reg<u32>();  // in bytes
    Reg<u32> a_rows = {}, b_rows = {};                               // what ldmatrix reads in the first stage
    Reg<u32> row_in_tile = {}, col_in_tile = {}, row = {}, col = {};  // of the first accumulator
    std::array<std::array<Regs<f32, 4>, mmas_n>, mmas_m> acc = {};
};

}  // namespace gemm
