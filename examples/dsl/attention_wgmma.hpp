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
                attention.keys.wait();
                attention.fence();          // wgmma.fence
                attention.multiply_keys();  // wgmma.mma_async, wgmma.commit_group: scores
                attention.finish_keys(0);   // wgmma.wait_group, mbarrier.arrive: their stage is empty
                attention.weigh();          // the site, the online softmax
                attention.wait_for_values();
                attention.keep_weights();                   // for the product with the values
                attention.turns.begin(attention.consumer);  // bar.arrive
                attention.for_each_further_tile([&] {
                    attention.keys.wait();
                    attention.turns.take();  // bar.sync: other warpgroups make weights meanwhile
                    attention.fence();
                    attention.multiply_keys();
                    attention.multiply_values();  // of the keys before; wgmma: output
                    attention.turns.pass();       // bar.arrive
                    attention.finish_keys(1);     // while the product with the values goes on
                    attention.weigh();
                    attention.wait_for_values();  // behind this loop no assembler moves exponentials
                    attention.finish_values();
                    attention.rows->softmax.rescale(attention.output);
                    attention.keep_weights();
                });
                attention.turns.end();
                attention.fence();
                attention.multiply_values();
                attention.finish_values();
            });
            attention.rows->store(attention.output, attention.out);  // the site, st.global
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
        for (std::uint32_t i = 0; i < maps.size(); ++i) {
            maps[i] = address_of(k, k.tensor_map(std::array{"q", "k", "v"}[i]));
            k.emit<"cvta.param.u64">(maps[i], maps[i]);
        }
        const auto o = k.structure<Tensor>("out");
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
    void make_barriers() {
        k.if_(value(k, thread) == 0, [&] {
            for (const Reg<u64> map_of : maps) k.emit<"prefetch.tensormap">(at(map_of));
            queries_full.init(1);
            keys.init(warps * S.consumers), values.init(warps * S.consumers);
            k.emit<"fence.mbarrier_init.release.cluster">();
        });
        k.emit<"bar.sync">(0);
    }

    // ---- the producer

    void give_registers() { k.emit<"setmaxnreg.dec.sync.aligned.u32">(imm<producer_registers>); }
    template <class Body> void one_thread(Body&& body) {
        k.if_(value(k, thread) == 0, [&] {
            keys.begin_filling(), values.begin_filling();
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
        const auto barrier = queries_full.expect_tx(cursor(k), q_bytes);
        copy<q_bytes>(maps[0], begin_of_tiles, first_row, of.head, barrier);
    }
    void copy_keys() { copy_tile(maps[1], keys, q_bytes); }
    void copy_values() { copy_tile(maps[2], values, q_bytes + S.stages * keys_bytes); }
    void copy_tile(Reg<u64> from, const Ring<sm_90a>& stages, std::uint32_t begin) {
        stages.fill(keys_bytes, [&](Reg<u32> barrier) {
            const auto to = value(k, stages.next.stage) * keys_bytes + begin_of_tiles + begin;
            copy<keys_bytes>(from, to, column, shared_head, barrier);
        });
    }
    template <std::uint32_t Bytes>
    void copy(Reg<u64> from, Reg<u32> to, Reg<u32> row, Reg<u32> head, Reg<u32> barrier) {
        const auto col = k.reg<u32>();
        for (std::uint32_t panel = 0; panel < panels; ++panel) {
            k.emit<"mov.u32">(col, 64 * panel);
            tensor_copy(k, at(to, panel * (Bytes / panels)), from, vec(col, row, head, batch), barrier);
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
        keys.begin_emptying(), values.begin_emptying(), awaited_values = cursor(k);
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

    // What was written to registers is there for the products behind this.
    void fence() { k.emit<"wgmma.fence.sync.aligned">(); }
    void multiply_keys() {
        const auto staged = value(k, descriptor_in(k, keys.next.stage, keys_bytes, k_first));
        for (std::uint32_t i = 0; i < O.head_dim / 16; ++i) {
            const auto along = [&](std::uint32_t panel) {
                return MatrixDescriptor::advance(i / 4 * panel + i % 4 * 32);
            };
            k.emit<wgmma_of<S.keys, O.type>>(scores, value(k, q_first) + along(q_bytes / panels),
                                             staged + along(panel_bytes), i == 0 ? 0 : 1, 1, 1, 0, 0);
        }
        k.emit<"wgmma.commit_group.sync.aligned">();
    }
    // All products are done but the last `pending` ones.
    void finish_keys(std::uint32_t pending) {
        k.emit<"wgmma.wait_group.sync.aligned">(pending);
        keys.free(is_signalling);
    }

    void weigh() {
        rows->score(scores, column);
        rows->softmax.weigh(scores);
        k.emit<"add.u32">(column, column, S.keys);
    }
    void keep_weights() { pack<O.type>(k, weights, scores); }

    void wait_for_values() {
        values.full.wait(awaited_values);
        advance(k, awaited_values, S.stages);
    }
    void multiply_values() {
        const auto staged = value(k, descriptor_in(k, values.next.stage, keys_bytes, v_first));
        for (std::uint32_t i = 0; i < S.keys / 16; ++i)
            k.emit<wgmma_of<O.head_dim, O.type>>(output, slice<4>(weights, 4 * i),
                                                 staged + MatrixDescriptor::advance(16 * i * tile.row_bytes),
                                                 1, 1, 1, 1);
        k.emit<"wgmma.commit_group.sync.aligned">();
    }
    void finish_values() {
        k.emit<"wgmma.wait_group.sync.aligned">(0);
        values.free(is_signalling);
    }

    FunctionBuilder<sm_90a>& k;
    Variable<Space::shared> shared;  // queries; the stages of keys; those of values
    Barriers<sm_90a> queries_full = {k, "queries_full", 1};
    Ring<sm_90a> keys = {k, "keys", S.stages}, values = {k, "values", S.stages};
    Turns<sm_90a> turns = {k, S.consumers, 32 * warps};
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
    Cursor awaited_values = {};                         // values.next is to be multiplied
    Reg<u64> q_first = {}, k_first = {}, v_first = {};  // descriptors in the first stage
    std::optional<Rows<sm_90a, O>> rows;
    Regs<f32, S.keys / 2> scores = k.regs<f32, S.keys / 2>();
    Regs<b32, S.keys / 4> weights = k.regs<b32, S.keys / 4>();
    Regs<f32, O.head_dim / 2> output = k.regs<f32, O.head_dim / 2>();
};

}  // namespace attention
