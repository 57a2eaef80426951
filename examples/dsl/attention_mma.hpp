#pragma once
/// @file attention_mma.hpp
/// Attention, softmax(q k^T * scale) v for each head, by the tensor cores of sm_80 and all that came later:
/// any numbers of queries and keys, whose scores are never in memory. What is beyond an edge is copied as
/// zeros, masked, and not stored. A query that sees no key gives zeros.
///
/// A block takes some queries of one head and goes over the keys, a block of them at a time. Arguments:
/// Tensor q, k, v, out; u32 rows, columns (queries and keys, below 2^31); u32 group (heads of q for each head
/// of k and v); f32 scale. Sites: `score`: mod f32 score, in u32 row, in u32 column, in u32 head, on the
/// scaled score, which may become -inf; `epilogue`: mod f32 value, in u32 row, in u32 column, in u32 head.

#include <optional>
#include <vector>

#include "attention_rows.hpp"
#include "ptxgraft/launch.hpp"

namespace attention {

/// Warps of a block and queries of a warp; keys of a block of them, and how many such blocks there are in
/// shared memory: one is used while the others are on their way.
struct MmaShape {
    std::uint32_t warps = 4, warp_rows = 32, keys = 64, stages = 2;
};
/// What leaves registers for a stub in `score`.
constexpr MmaShape mma_shape(const Options& of) { return {.keys = of.head_dim == 64 ? 64u : 32u}; }

template <Options O, MmaShape S> class MmaAttention;

/// Emits the kernel.
template <Options O = Options{}, MmaShape S = mma_shape(O)>
void emit_attention_mma(Module& module, std::string_view name = "attention_mma") {
    MmaAttention<O, S> attention(module, name);
    attention.find_places();       // of this block, warp and lane in the tensors and in shared memory
    attention.copy_queries();      // cp.async
    attention.copy_first_tiles();  // cp.async, cp.async.commit_group: all stages but one are on their way
    attention.wait_for_queries();  // cp.async.wait_group, bar.sync
    attention.zero_output();
    attention.k.loop([&](Label end) {
        attention.leave_at_the_end(end);
        attention.wait_for_keys();    // cp.async.wait_group, bar.sync: they are there for all
        attention.copy_tile();        // cp.async, cp.async.commit_group: into the stage that was read last
        attention.multiply_keys();    // ldmatrix, mma.sync: scores
        attention.weigh();            // the site, the online softmax
        attention.wait_for_values();  // cp.async.wait_group, bar.sync
        attention.multiply_values();  // ldmatrix.trans, mma.sync: output
    });
    attention.store();  // the site, st.global
    attention.k.template emit<"ret">();
}

template <Options O, MmaShape S> class MmaAttention {
    // A row of 64 or 128 elements is a row in one or in two tiles, side by side, of 64 columns each.
    static constexpr TileRows tile = tile_of(128);
    static constexpr std::uint32_t panels = O.head_dim / 64;
    static constexpr std::uint32_t threads = 32 * S.warps, block_rows = S.warps * S.warp_rows;
    static constexpr std::uint32_t strips = S.warp_rows / 16;  // of a warp, 16 rows each
    static constexpr std::uint32_t q_bytes = panels * block_rows * tile.row_bytes,
                                   keys_bytes = panels * S.keys * tile.row_bytes,
                                   stage_bytes = 2 * keys_bytes;
    static constexpr std::uint32_t rows_at_once = RowCopy<sm_80>::at_once(tile, threads);
    // Queries stay in registers where these are few.
    static constexpr bool keeps_queries = S.warp_rows * O.head_dim <= 32 * 64;

    static_assert(O.type == f16 || O.type == bf16);
    static_assert(O.head_dim == 64 || O.head_dim == 128);
    static_assert(S.warp_rows % 16 == 0 && S.keys % 16 == 0 && S.stages >= 2);
    static_assert(block_rows % rows_at_once == 0 && S.keys % rows_at_once == 0 && rows_at_once % 8 == 0,
                  "threads copy whole patterns of 8 rows");

  public:
    static constexpr std::uint32_t shared_bytes = q_bytes + S.stages * stage_bytes;
    static_assert(shared_bytes <= 163 * 1024);
    /// The launch for so many queries of so many heads of sequences.
    static ptxgraft::LaunchConfig launch(std::uint32_t rows, std::uint32_t heads, std::uint32_t batches) {
        return {.grid = {(rows + block_rows - 1) / block_rows, heads, batches},
                .block = {threads},
                .shared_bytes = shared_bytes};
    }

  private:
    friend void emit_attention_mma<O, S>(Module& module, std::string_view name);

    MmaAttention(Module& module, std::string_view name)
        : k(module.entry<sm_80>(name)),
          shared(module.dynamic_shared("tiles", swizzle_alignment(tile.swizzle))) {
        k.directives({.required_threads = {threads}});
    }

    void find_places() {
        const auto q = k.structure<Tensor>("q"), keys = k.structure<Tensor>("k"),
                   values = k.structure<Tensor>("v"), o = k.structure<Tensor>("out");
        of = {k.argument<u32>("rows"), k.argument<u32>("columns"), read<"%ctaid.y">(k)};
        const auto group = k.argument<u32>("group");
        of.scale = k.argument<f32>("scale");
        const auto thread = read<"%tid.x">(k), lane = thread & 31, warp = thread >> 5;
        const auto head = value(k, of.head), shared_head = head / group;
        const auto block_row = first_row_of_block<O>(k, block_rows);
        out = find_matrix(k, o, head);
        limit = keys_seen<O>(k, of, block_row, block_rows);
        copy.emplace(k, tile, threads, thread, address_of(k, shared));
        write_stage = zero(), read_stage = zero(), copied_column = zero(), column = zero();
        queries = rows_of(find_matrix(k, q, head), block_row, of.rows);
        sources = {rows_of(find_matrix(k, keys, shared_head), zero(), of.columns),
                   rows_of(find_matrix(k, values, shared_head), zero(), of.columns)};
        find_fragments(lane, warp);
        for (std::uint32_t i = 0; i < strips; ++i)
            rows.emplace_back(k, of, warp * S.warp_rows + block_row + 16 * i);
    }
    CopiedRows rows_of(const Matrix& matrix, const Value<u32, sm_80>& first, Reg<u32> count) {
        return copy->rows(matrix.address, matrix.row_bytes, first, count);
    }
    Value<u32, sm_80> zero() {
        const auto made = k.reg<u32>();
        k.emit<"mov.u32">(made, 0);
        return value(k, made);
    }

    // ---- cp.async

    void copy_queries() {
        copy->next<block_rows, panels>(queries, copy->target());
        k.emit<"cp.async.commit_group">();
    }
    void copy_first_tiles() {
        k.unroll(S.stages - 1, [&](std::uint32_t) { copy_tile(); });
    }
    // The next keys and their values, a group each; behind the last ones groups that are empty.
    void copy_tile() {
        const Pred has_more = value(k, copied_column) < limit;
        const auto to = copy->target() + write_stage;
        for (std::uint32_t i = 0; i < sources.size(); ++i) {
            k.if_(has_more, [&] { copy->next<S.keys, panels>(sources[i], to, q_bytes + i * keys_bytes); });
            k.emit<"cp.async.commit_group">();
        }
        k.emit<"add.u32">(copied_column, copied_column, S.keys);
        next_stage(write_stage);
    }
    void next_stage(Reg<u32> stage) {
        k.emit<"add.u32">(stage, stage, stage_bytes);
        k.emit<"selp.b32">(stage, 0, stage, value(k, stage) == S.stages * stage_bytes);
    }

    // ---- ldmatrix, mma.sync: a warp multiplies strips of 16 queries

    using Blocks = std::array<Regs<b32, 4>, strips>;  // of 16 x 16 elements, one for each strip

    void find_fragments(Value<u32, sm_80> lane, Value<u32, sm_80> warp) {
        const auto begin = address_of(k, shared);
        q_rows = warp * (S.warp_rows * tile.row_bytes) + begin + ldmatrix_offset_a(k, tile, lane);
        k_rows = begin + ldmatrix_offset_b(k, tile, lane) + q_bytes;
        v_rows = begin + ldmatrix_offset_a(k, tile, lane) + (q_bytes + keys_bytes);
    }
    // The place of a block of 16 rows and columns, in tiles of `tile_rows` rows side by side.
    struct Block {
        std::uint32_t row, col, tile_rows;
    };
    auto place_of(Reg<u32> rows_of, const Block& at_block) {
        const auto here = value(k, rows_of) ^ 32 * (at_block.col % 4);
        return at(here, (at_block.col / 4 * at_block.tile_rows + 16 * at_block.row) * tile.row_bytes);
    }

    void wait_for_queries() {
        k.emit<"cp.async.wait_group">(2 * (S.stages - 1));
        k.emit<"bar.sync">(0);
        if constexpr (keeps_queries)
            for (std::uint32_t col = 0; col < kept.size(); ++col) kept[col] = load_queries(col);
    }
    Blocks load_queries(std::uint32_t col) {
        Blocks blocks;
        for (std::uint32_t i = 0; i < strips; ++i) {
            blocks[i] = k.regs<b32, 4>();
            k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(blocks[i],
                                                               place_of(q_rows, {i, col, block_rows}));
        }
        return blocks;
    }
    void zero_output() {
        for (auto& strip : output)
            for (const auto& one : strip) k.emit<"mov.f32">(one, 0.0f);
    }

    void leave_at_the_end(Label end) { k.if_(value(k, column) >= limit).emit<"bra">(end); }
    void wait_for_keys() {
        k.emit<"cp.async.wait_group">(2 * S.stages - 3);
        k.emit<"bar.sync">(0);
    }
    void multiply_keys() {
        const auto stage = value(k, k_rows) + read_stage;
        for (auto& strip : scores)
            for (const auto& one : strip) k.emit<"mov.f32">(one, 0.0f);
        for (std::uint32_t col = 0; col < O.head_dim / 16; ++col) {
            const Blocks a = keeps_queries ? kept[col] : load_queries(col);
            for (std::uint32_t row = 0; row < S.keys / 16; ++row) {
                const auto b = k.regs<b32, 4>();
                k.emit<"ldmatrix.sync.aligned.m8n8.x4.shared.b16">(b, place_of(stage, {row, col, S.keys}));
                multiply(scores, row, a, b);
            }
        }
    }
    // Adds the products with 16 columns, to the columns from 16 `at_col` on.
    template <std::size_t N>
    void multiply(const std::array<Regs<f32, N>, strips>& d, std::uint32_t at_col, const Blocks& a,
                  const Regs<b32, 4>& b) {
        constexpr auto mma =
            typed<typed<typed<"mma.sync.aligned.m16n8k16.row.col.f32", O.type>(), O.type>(), f32>();
        for (std::uint32_t i = 0; i < strips; ++i)
            for (std::uint32_t half = 0; half < 2; ++half) {
                const auto acc = slice<4>(d[i], 8 * at_col + 4 * half);
                k.emit<mma>(acc, a[i], slice<2>(b, 2 * half), acc);
            }
    }

    void weigh() {
        for (std::uint32_t i = 0; i < strips; ++i) {
            rows[i].score(scores[i], column);
            rows[i].softmax.weigh(scores[i]);
            rows[i].softmax.rescale(output[i]);
            pack<O.type>(k, weights[i], scores[i]);
        }
        k.emit<"add.u32">(column, column, S.keys);
    }

    void wait_for_values() {
        k.emit<"cp.async.wait_group">(2 * (S.stages - 1));
        k.emit<"bar.sync">(0);
    }
    void multiply_values() {
        const auto stage = value(k, v_rows) + read_stage;
        for (std::uint32_t row = 0; row < S.keys / 16; ++row) {
            Blocks a;
            for (std::uint32_t i = 0; i < strips; ++i) a[i] = slice<4>(weights[i], 4 * row);
            for (std::uint32_t col = 0; col < O.head_dim / 16; ++col) {
                const auto b = k.regs<b32, 4>();
                k.emit<"ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16">(b,
                                                                         place_of(stage, {row, col, S.keys}));
                multiply(output, col, a, b);
            }
        }
        next_stage(read_stage);
    }

    void store() {
        for (std::uint32_t i = 0; i < strips; ++i) rows[i].store(output[i], out);
    }
    template <std::size_t N, Type T = f32> std::array<Regs<T, N>, strips> fragments() {
        std::array<Regs<T, N>, strips> made;
        for (auto& strip : made) strip = k.regs<T, N>();
        return made;
    }

    FunctionBuilder<sm_80>& k;
    Variable<Space::shared> shared;  // queries, and the stages, each of keys and of values
    Problem of = {};
    Matrix out = {};
    Reg<u32> limit = {};                         // keys that the block's queries see
    Reg<u32> column = {}, copied_column = {};    // the next key to multiply, and to copy
    Reg<u32> write_stage = {}, read_stage = {};  // in bytes
    std::optional<RowCopy<sm_80>> copy;
    CopiedRows queries = {};
    std::array<CopiedRows, 2> sources = {};          // keys and values
    Reg<u32> q_rows = {}, k_rows = {}, v_rows = {};  // what ldmatrix reads, in the first stage
    std::vector<Rows<sm_80, O>> rows;
    std::array<Blocks, O.head_dim / 16> kept = {};
    std::array<Regs<f32, S.keys / 2>, strips> scores = fragments<S.keys / 2>();
    std::array<Regs<b32, S.keys / 4>, strips> weights = fragments<S.keys / 4, b32>();
    std::array<Regs<f32, O.head_dim / 2>, strips> output = fragments<O.head_dim / 2>();
};

}  // namespace attention
