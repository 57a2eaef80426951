#pragma once
/// @file attention_wgmma.hpp
/// Attention, softmax(q k^T * scale) v for each head, by the tensor cores of sm_90a: any numbers of queries
/// and keys but 0. Tensor copies give zeros for what is beyond an edge; such keys are masked, such queries
/// not stored. A query that sees no key gives zeros.
///
/// A block is one warpgroup that copies and two or three that multiply, 64 queries of one head each. While
/// the tensor cores multiply the weights of some keys by their values, the other units make weights of the
/// next scores.
///
/// Arguments: tensor maps of q, k, v (WgmmaAttention::map_queries, map_keys); Tensor out; u32 rows, columns
/// (queries and keys, below 2^31); u32 group (heads of q for each head of k and v); f32 scale. Sites:
/// `score`: mod f32 score, in u32 row, in u32 column, in u32 head, on the scaled score, which may become
/// -inf; `epilogue`: mod f32 value, in u32 row, in u32 column, in u32 head.

#include <optional>

#include "attention_rows.hpp"
#include "ptxgraft/launch.hpp"

namespace attention {

/// How many warpgroups multiply; keys of a block of them, and how many such blocks are in shared memory.
struct WgmmaShape {
    std::uint32_t consumers = 2, keys = 128, stages = 2;
};

template <Options O, WgmmaShape S> class WgmmaAttention;

/// Emits the kernel.
template <Options O = Options{}, WgmmaShape S = WgmmaShape{}>
void emit_attention_wgmma(Module& module, std::string_view name = "attention_wgmma") {
    WgmmaAttention<O, S> attention(module, name);
    attention.find_places();    // of this block and thread
    attention.make_barriers();  // mbarrier.init: for queries, and of every stage for keys and for values
    attention.k.if_(
        attention.is_producer,
        [&] {
            attention.give_registers();  // setmaxnreg.dec
            attention.one_thread([&] {
                attention.copy_queries();  // mbarrier.arrive.expect_tx, cp.async.bulk.tensor
                attention.for_each_tile([&] {
                    attention.copy_keys();  // mbarrier.try_wait: until the stage is empty
                    attention.copy_values();
                });
            });
        },
        [&] {
            attention.take_registers();  // setmaxnreg.inc
            attention.begin();
            attention.if_there_are_keys([&] {
                attention.wait_for_queries();  // mbarrier.try_wait
                attention.wait_for_keys();
                attention.fence();          // wgmma.fence
                attention.multiply_keys();  // wgmma.mma_async, wgmma.commit_group: scores
                attention.finish_keys(0);   // wgmma.wait_group, mbarrier.arrive: their stage is empty
                attention.weigh();          // the site, the online softmax
                attention.wait_for_values();
                attention.keep_weights();  // for the product with the values
                attention.begin_turns();   // bar.arrive
                attention.for_each_further_tile([&] {
                    attention.wait_for_keys();
                    attention.take_turn();  // bar.sync: other warpgroups make weights meanwhile
                    attention.fence();
                    attention.multiply_keys();
                    attention.multiply_values();  // of the keys before; wgmma: output
                    attention.pass_turn();        // bar.arrive
                    attention.finish_keys(1);     // while the product with the values goes on
                    attention.weigh();
                    attention.wait_for_values();  // behind this loop no assembler moves exponentials
                    attention.finish_values();
                    attention.rescale_output();
                    attention.keep_weights();
                });
                attention.end_turns();
                attention.fence();
                attention.multiply_values();
                attention.finish_values();
            });
            attention.store();  // the site, st.global
        });
    attention.k.template emit<"ret">();
}

template <Options O, WgmmaShape S> class WgmmaAttention {
    // A row of 64 or 128 elements is a row in one or in two tiles, side by side, of 64 columns each.
    static constexpr TileRows tile = tile_of(128);
    static constexpr std::uint32_t panels = O.head_dim / 64, block_rows = 64 * S.consumers;
    static constexpr std::uint32_t q_bytes = panels * block_rows * tile.row_bytes,
                                   panel_bytes = S.keys * tile.row_bytes, keys_bytes = panels * panel_bytes;
    static constexpr std::uint32_t warps = 4, threads = 32 * warps * (1 + S.consumers);  // warps of a group
    // Of 64 K registers; a thread begins with as many as all of them can have: 168, or 128.
    static constexpr std::uint32_t producer_registers = S.consumers == 2 ? 40 : 32,
                                   consumer_registers = S.consumers == 2 ? 232 : 160;
    static_assert(O.type == f16 || O.type == bf16);
    static_assert(O.head_dim == 64 || O.head_dim == 128);
    static_assert(S.consumers == 2 || S.consumers == 3);
    static_assert(S.keys % 16 == 0 && S.keys <= 256 && S.stages >= 2);

  public:
    static constexpr std::uint32_t shared_bytes = q_bytes + 2 * S.stages * keys_bytes;
    static_assert(shared_bytes <= 227 * 1024 - 1024);

    /// The launch for so many queries of so many heads of sequences.
    static ptxgraft::LaunchConfig launch(std::uint32_t rows, std::uint32_t heads, std::uint32_t batches) {
        return {.grid = {(rows + block_rows - 1) / block_rows, heads, batches},
                .block = {threads},
                .shared_bytes = shared_bytes};
    }
    /// Tensor maps of q, and of k and v, each for so many rows of heads of sequences.
    static ptxgraft::TensorMapOptions map_queries(const Tensor& q, std::uint32_t rows, std::uint32_t heads,
                                                  std::uint32_t batches) {
        return map(q, {O.head_dim, rows, heads, batches}, block_rows);
    }
    static ptxgraft::TensorMapOptions map_keys(const Tensor& keys, std::uint32_t columns, std::uint32_t heads,
                                               std::uint32_t batches) {
        return map(keys, {O.head_dim, columns, heads, batches}, S.keys);
    }

  private:
    friend void emit_attention_wgmma<O, S>(Module& module, std::string_view name);

    static ptxgraft::TensorMapOptions map(const Tensor& of, const std::vector<std::uint64_t>& dims,
                                          std::uint32_t box_rows) {
        return {.type = O.type == bf16 ? ptxgraft::TensorType::bf16 : ptxgraft::TensorType::f16,
                .address = of.address,
                .dims = dims,
                .strides = {2 * std::uint64_t{of.row}, 2 * std::uint64_t{of.head}, 2 * of.batch},
                .box = {64, box_rows, 1, 1},
                .swizzle = tile.swizzle,
                .l2 = ptxgraft::TensorL2Promotion::bytes128};
    }

    WgmmaAttention(Module& module, std::string_view name)
        : k(module.entry<sm_90a>(name)),
          shared(module.dynamic_shared("tiles", swizzle_alignment(tile.swizzle))) {
        k.directives({.required_threads = {threads}, .min_blocks = 1});
    }

    void find_places() {
        for (std::uint32_t i = 0; i < maps.size(); ++i) maps[i] = address_of_map(i);
        const auto o = k.parameter("out", sizeof(Tensor), 8);
        of = {k.argument<u32>("rows"), k.argument<u32>("columns"), read<"%ctaid.y">(k)};
        const auto head = value(k, of.head);
        shared_head = head / k.argument<u32>("group");
        of.scale = k.argument<f32>("scale");
        batch = read<"%ctaid.z">(k);
        out = find_matrix(k, o, head);
        const auto number = read<"%tid.x">(k);
        thread = number;
        const auto group_of = number >> 7;
        // What all lanes have may stand in uniform registers.
        k.emit<"shfl.sync.idx.b32">(group_of, group_of, 0, 31, -1);
        is_producer = group_of == 0;
        consumer = group_of - 1;
        begin_of_tiles = address_of(k, shared);
        first_row = first_row_of_block<O>(k, block_rows);
        limit = keys_seen<O>(k, of, value(k, first_row), block_rows);
        k.emit<"mov.u32">(column, 0);
    }
    Reg<u64> address_of_map(std::uint32_t i) {
        constexpr std::array<std::string_view, 3> names = {"q", "k", "v"};
        const auto address = k.reg<u64>();
        k.emit<"mov.b64">(address, k.tensor_map(names[i]));
        k.emit<"cvta.param.u64">(address, address);
        return address;
    }
    void make_barriers() {
        k.if_(value(k, thread) == 0, [&] {
            for (const Reg<u64> map_of : maps) k.emit<"prefetch.tensormap">(at(map_of));
            queries_full.init(1);  // the producer, and the bytes that it announces
            keys_full.init(1), values_full.init(1);
            // The consumers' warps.
            keys_empty.init(warps * S.consumers), values_empty.init(warps * S.consumers);
            k.emit<"fence.mbarrier_init.release.cluster">();
        });
        k.emit<"bar.sync">(0);
    }

    // ---- the producer

    void give_registers() { k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<producer_registers>); }
    template <class Body> void one_thread(Body&& body) {
        k.if_(value(k, thread) == 0, [&] {
            // The first round finds all stages empty.
            next_keys = cursor(k, 1), next_values = cursor(k, 1);
            if_there_are_keys(body);
        });
    }
    template <class Body> void if_there_are_keys(Body&& body) { k.if_(value(k, limit) > 0, body); }
    template <class Body> void for_each_tile(Body&& body) {
        k.loop_while([&] {
            body();
            k.emit<"add.u32">(column, column, S.keys);
            return value(k, column) < limit;
        });
    }
    void copy_queries() {
        const Cursor first = cursor(k);
        const auto barrier = queries_full.expect_tx(first, q_bytes);
        copy(maps[0], {begin_of_tiles, q_bytes, first_row, of.head}, barrier);
    }
    void copy_keys() { copy_tile(maps[1], keys_empty, keys_full, next_keys, q_bytes); }
    void copy_values() {
        copy_tile(maps[2], values_empty, values_full, next_values, q_bytes + S.stages * keys_bytes);
    }
    void copy_tile(Reg<u64> from, const Barriers<sm_90a>& empty, const Barriers<sm_90a>& full,
                   const Cursor& next, std::uint32_t begin) {
        empty.wait(next);
        const auto barrier = full.expect_tx(next, keys_bytes);
        const auto to = value(k, next.stage) * keys_bytes + begin_of_tiles + begin;
        copy(from, {to, keys_bytes, column, shared_head}, barrier);
        advance(k, next, S.stages);
    }
    struct Copy {
        Reg<u32> to;
        std::uint32_t bytes;
        Reg<u32> row, head;
    };
    void copy(Reg<u64> from, const Copy& tiles, Reg<u32> barrier) {
        const auto col = k.reg<u32>();
        for (std::uint32_t panel = 0; panel < panels; ++panel) {
            k.emit<"mov.u32">(col, 64 * panel);
            k.emit<"cp.async.bulk.tensor.4d.shared::cluster.global.tile.mbarrier::complete_tx::bytes">(
                at(tiles.to, panel * (tiles.bytes / panels)),
                at(from, vec(col, tiles.row, tiles.head, batch)), at(barrier));
        }
    }

    // ---- a consumer: 64 queries

    void take_registers() { k.emit<"setmaxnreg.inc.sync.aligned.u32">(imm<consumer_registers>); }
    void begin() {
        const auto begin = value(k, begin_of_tiles);
        q_first = descriptor(k, descriptor_of(tile), value(k, consumer) * (64 * tile.row_bytes) + begin);
        k_first = descriptor(k, descriptor_of(tile), begin + q_bytes);
        v_first = descriptor(k, mn_descriptor_of(tile, S.keys), begin + (q_bytes + S.stages * keys_bytes));
        is_signalling = (value(k, thread) & 31) == 0;
        next_keys = cursor(k), next_values = cursor(k), awaited_values = cursor(k);
        for (const auto& one : output) k.emit<"mov.f32">(one, 0.0f);
        rows.emplace(k, of, ((value(k, thread) >> 5) - warps) * 16 + first_row);
    }
    void wait_for_queries() { queries_full.wait(cursor(k)); }
    template <class Body> void for_each_further_tile(Body&& body) {
        k.loop([&](Label end) {
            k.if_(value(k, column) >= limit).emit<"bra">(end);
            body();
        });
    }

    // Named barriers: at 1 + consumer a warpgroup waits for its turn, and the one before it arrives.

    void begin_turns() {
        k.if_(value(k, consumer) == S.consumers - 1, [&] { pass_turn(); });
    }
    void take_turn() { k.emit<"bar.sync">(value(k, consumer) + 1, 64 * warps); }
    void pass_turn() {
        const auto next = value(k, consumer) + 2;
        k.emit<"selp.b32">(next, 1, next, next > S.consumers);
        k.emit<"bar.arrive">(next, 64 * warps);
    }
    void end_turns() {
        k.if_(value(k, consumer) == 0, [&] { take_turn(); });
    }

    // What was written to registers is there for the products behind this.
    void fence() { k.emit<"wgmma.fence.sync.aligned">(); }
    void wait_for_keys() { keys_full.wait(next_keys); }
    void multiply_keys() {
        const auto keys = descriptor_in(next_keys, k_first);
        for (std::uint32_t i = 0; i < O.head_dim / 16; ++i) {
            const auto along = [&](std::uint32_t panel) {
                return MatrixDescriptor::advance(i / 4 * panel + i % 4 * 32);
            };
            k.emit<wgmma_of<S.keys, O.type>>(scores, value(k, q_first) + along(q_bytes / panels),
                                             value(k, keys) + along(panel_bytes), i == 0 ? 0 : 1, 1, 1, 0, 0);
        }
        k.emit<"wgmma.commit_group.sync.aligned">();
    }
    // All products are done but the last `pending` ones.
    void finish_keys(std::uint32_t pending) {
        k.emit<"wgmma.wait_group.sync.aligned">(pending);
        free(keys_empty, next_keys);
    }

    void weigh() {
        rows->score(scores, column);
        rows->weigh(scores);
        k.emit<"add.u32">(column, column, S.keys);
    }
    void keep_weights() { pack<O.type>(k, weights, scores); }
    void rescale_output() { rows->rescale(output); }

    void wait_for_values() {
        values_full.wait(awaited_values);
        advance(k, awaited_values, S.stages);
    }
    void multiply_values() {
        const auto values = descriptor_in(next_values, v_first);
        for (std::uint32_t i = 0; i < S.keys / 16; ++i)
            k.emit<wgmma_of<O.head_dim, O.type>>(
                output, slice<4>(weights, 4 * i),
                value(k, values) + MatrixDescriptor::advance(16 * i * tile.row_bytes), 1, 1, 1, 1);
        k.emit<"wgmma.commit_group.sync.aligned">();
    }
    void finish_values() {
        k.emit<"wgmma.wait_group.sync.aligned">(0);
        free(values_empty, next_values);
    }

    // A descriptor in the first stage, moved to another one.
    Reg<u64> descriptor_in(const Cursor& stage, Reg<u64> first) {
        const auto made = k.reg<u64>();
        k.emit<"mad.wide.u32">(made, stage.stage, MatrixDescriptor::advance(keys_bytes), first);
        return made;
    }
    void free(const Barriers<sm_90a>& empty, const Cursor& stage) {
        empty.arrive_if(is_signalling, stage);
        advance(k, stage, S.stages);
    }

    void store() { rows->store(output, out); }

    FunctionBuilder<sm_90a>& k;
    Variable<Space::shared> shared;  // queries; the stages of keys; those of values
    Barriers<sm_90a> queries_full = {k, "queries_full", 1}, keys_full = {k, "keys_full", S.stages},
                     keys_empty = {k, "keys_empty", S.stages}, values_full = {k, "values_full", S.stages},
                     values_empty = {k, "values_empty", S.stages};
    Problem of = {};
    Matrix out = {};
    std::array<Reg<u64>, 3> maps = {};      // of q, k and v
    Reg<u32> shared_head = {}, batch = {};  // of k and v
    Reg<u32> thread = {}, consumer = {};    // consumer: which warpgroup of them
    Reg<u32> begin_of_tiles = {};
    Reg<u32> first_row = {};         // of the block
    Reg<u32> limit = {};             // keys that the block's queries see
    Reg<u32> column = k.reg<u32>();  // the next key
    Pred is_producer = {}, is_signalling = {};
    Cursor next_keys = {}, next_values = {},
           awaited_values = {};                         // to be copied or multiplied; to be waited for
    Reg<u64> q_first = {}, k_first = {}, v_first = {};  // descriptors in the first stage
    std::optional<Rows<sm_90a, O>> rows;
    Fragment<S.keys / 2> scores = k.regs<f32, S.keys / 2>();
    Regs<b32, S.keys / 4> weights = k.regs<b32, S.keys / 4>();
    Fragment<O.head_dim / 2> output = k.regs<f32, O.head_dim / 2>();
};

}  // namespace attention
