// Attention, softmax(q k^T * scale) v for each head, by the tensor cores of sm_90a. What it computes, and how
// its arrays lie, is as in mma.cu; how it does so is not.
//
// A block is one warpgroup that copies, and two or three that multiply, 64 queries of one head each. One
// thread of the first starts tensor copies (TMA) of the queries and then, tile by tile, of keys and values
// into rings of stages; mbarriers say when a stage is full, and when it is empty again. The others multiply
// by wgmma: queries and keys from shared memory, weights from the registers that they were made in. Products
// run by themselves: while the tensor cores multiply the weights of one tile by its values, a warpgroup makes
// weights of the next one's scores. And the warpgroups take turns in starting products (named barriers), so
// that the tensor cores have work of one while another is at its exponentials.
//
// PROLOGUE says which of the sites prologue_q, prologue_k and prologue_v there are (wgmma_prologue.cuh). With
// TYPE_KV, which attention/quantised has, keys and values are stored in 8 bits, with a scale for each key and
// head, and become elements of the product where they are rewritten (wgmma_quantised.cuh).
#include "../hardware/mma.cuh"
#include "../hardware/tma.cuh"
#include "../hardware/wgmma.cuh"
#include "softmax.cuh"
#ifdef TYPE_KV
#include "wgmma_quantised.cuh"
#else
#include "wgmma_prologue.cuh"
#endif

using namespace hardware;
using namespace attention;

using Half = hardware::TYPE;
constexpr Element type = Element::TYPE;
constexpr u32 head_dim = HEAD_DIM, consumers = CONSUMERS, tile_keys = TILE_KEYS, stages = STAGES;
constexpr u32 page = PAGE;  // keys of a page; 0: a sequence's keys are one behind the other
constexpr u32 warpgroup = 128, threads = warpgroup * (1 + consumers), tile_queries = 64 * consumers;

// A tile lies in shared memory as panels side by side, each with 64 elements, 128 bytes, for each row of the
// tile. Of 96 columns half of the second panel is beyond the tensor's edge: zeros, which no product takes.
constexpr u32 row_bytes = 128, panels = (head_dim + 63) / 64;
constexpr u32 query_panel = tile_queries * row_bytes, query_bytes = panels * query_panel;
constexpr u32 tile_panel = tile_keys * row_bytes, tile_bytes = panels * tile_panel;
constexpr u32 box_keys = page == 0 || page > tile_keys ? tile_keys : page;  // that one copy brings
// A tile as it is copied: the whole of it, or in fewer bytes at its end, to be rewritten from its start on.
#ifdef TYPE_KV
constexpr u32 copied_row_bytes = 64;
#else
constexpr u32 copied_row_bytes = row_bytes;
#endif
constexpr u32 copied_panel = tile_keys * copied_row_bytes, copied_bytes = panels * copied_panel;

// 64 K registers are shared out: the warpgroup that copies needs few, and more where it rewrites tiles.
constexpr u32 producer_registers = consumers == 2 ? (changes_tiles ? 64 : 40) : (changes_tiles ? 56 : 32);
constexpr u32 consumer_registers = consumers == 2 ? (changes_tiles ? 224 : 232) : (changes_tiles ? 152 : 160);

// Else stubs that convert columns, or compute with other values than the scores, would all be begun before
// the products are done, and keep more values alive than there are registers.
constexpr u32 scores_at_once = 16;

// Whether there are uniform registers for the descriptors of all steps along head_dim.
constexpr bool keeps_steps = head_dim <= 128;

static_assert(tile_keys % 32 == 0 && stages >= 2);
static_assert(page == 0 || page % tile_keys == 0 || tile_keys % page == 0, "a box has rows of one page");

struct Arguments {
    const TensorMap &q, &k, &v;
    Half* out;
    float* lse;
    const u32 *offsets_q, *offsets_k, *table;
    u32 queries, keys, heads, group;
    float scale;
    u32 left, right;
    const float *scale_k = nullptr, *scale_v = nullptr;  // of attention/quantised
};

// ---- the place of a block in the problem

struct Block {
    u32 batch = blockIdx.z, head = blockIdx.y, kv_head, first;
    Sequence queries, keys;

    __device__ explicit Block(const Arguments& of)
        : kv_head(head / of.group),
          queries(sequence_of(of.offsets_q, batch, of.queries)),
          keys(sequence_of(of.offsets_k, batch, of.keys)) {
        // With a causal window the last queries see the most keys: they begin first.
        first = (gridDim.x - 1 - blockIdx.x) * tile_queries;
    }
    __device__ Tiles<tile_keys> tiles(const Arguments& of) const {
        Tiles<tile_keys> made;
        made.window = window_of(queries.length, keys.length, of.left, of.right);
        made.first_row = first, made.last_row = min(first + tile_queries, queries.length) - 1;
        made.head = head, made.batch = batch;
        made.end = made.last_end();
        return made;
    }
    // Without a table the pages of a sequence, and the sequences, are one behind the other. Pages beyond the
    // last key are hidden: any page will do.
    __device__ u32 row_of_key(const Arguments& of, u32 key) const {
        if constexpr (page == 0) {
            return keys.first + key;
        } else {
            if (key >= keys.length) key = 0;
            constexpr u32 size = page == 0 ? 1 : page;  // NVRTC would warn of a division by 0
            const u32 in_table = batch * ((of.keys + size - 1) / size) + key / size;
            return (of.table == nullptr ? in_table : of.table[in_table]) * size + key % size;
        }
    }
};

// ---- rings of stages

struct Barriers {
    u64 queries_full, keys_full[stages], keys_empty[stages], values_full[stages], values_empty[stages];
};
// Stages that are copied and not rewritten yet.
struct CopiedBarriers {
    u64 keys[stages], values[stages];
};
// Of keys or of values: a stage is at `tiles`, and has a barrier of each kind. It is full when it was copied,
// where nothing rewrites it.
struct Ring {
    u32 tiles, copied, full, empty;
    __device__ u32 tile(const RingPlace<stages>& at) const { return tiles + at.stage * tile_bytes; }
    __device__ void wait_copied(const RingPlace<stages>& at) const {
        mbarrier_wait(copied + at.stage * sizeof(u64), at.parity);
    }
    // Each lane of the warp has fenced what it wrote.
    __device__ void fill(const RingPlace<stages>& at) const {
        __syncwarp();
        if (threadIdx.x % 32 == 0) mbarrier_arrive(full + at.stage * sizeof(u64));
    }
    __device__ void wait_full(const RingPlace<stages>& at) const {
        mbarrier_wait(full + at.stage * sizeof(u64), at.parity);
    }
    __device__ void wait_empty(const RingPlace<stages>& at) const {
        mbarrier_wait(empty + at.stage * sizeof(u64), at.parity);
    }
    // One lane of each warp says so for the others, which have waited with it.
    __device__ void release(const RingPlace<stages>& at) const {
        if (threadIdx.x % 32 == 0) mbarrier_arrive(empty + at.stage * sizeof(u64));
    }
};

// ---- the producer: one thread

struct Producer {
    const Arguments& of;
    const Block& block;

    __device__ void copy_queries(u32 to, u32 barrier) const {
        mbarrier_arrive_expect_tx(barrier, query_bytes);
#pragma unroll
        for (u32 panel = 0; panel < panels; ++panel)
            tma_load_3d(to + panel * query_panel, of.q, barrier, panel * 64, block.head,
                        block.queries.first + block.first);
    }
    __device__ void copy_tile(const Ring& ring, RingPlace<stages>& at, const TensorMap& from,
                              u32 column) const {
        ring.wait_empty(at);
        const u32 to = ring.tile(at) + tile_bytes - copied_bytes;
        const u32 barrier = ring.copied + at.stage * sizeof(u64);
        mbarrier_arrive_expect_tx(barrier, copied_bytes);
#pragma unroll
        for (u32 key = 0; key < tile_keys; key += box_keys) {
            const u32 row = block.row_of_key(of, column + key);
#pragma unroll
            for (u32 panel = 0; panel < panels; ++panel)
                tma_load_3d(to + panel * copied_panel + key * copied_row_bytes, from, barrier, panel * 64,
                            block.kv_head, row);
        }
        at.advance();
    }
};

// ---- the warps beside the producer's: they rewrite tiles, where there are sites for that

#ifdef TYPE_KV
using Writer = Dequantiser<head_dim, tile_keys, 1 + 2 * consumers>;  // its barrier is behind the consumers'
#else
using Writer = TileWriter<head_dim, tile_keys>;
#endif

__device__ inline void rewrite(const Arguments& of, const Tiles<tile_keys>& tiles, const Block& block,
                               const Ring& keys, const Ring& values) {
    const Writer writer = {threadIdx.x - 32, block.kv_head, block.batch, block.keys.length};
    [[maybe_unused]] const auto row_of_key = [&](u32 key) {
        return u64{block.row_of_key(of, key)} * (of.heads / of.group) + block.kv_head;
    };
    RingPlace<stages> at = {0, 0};
    for (auto tile = tiles.from(tiles.first_column()); tile.column < tiles.end;
         tile = tiles.from(tile.column + tile_keys), at.advance()) {
#ifdef TYPE_KV
        writer.load_scales(of.scale_k, tile.column, 0, row_of_key);
#endif
        keys.wait_copied(at);
        writer.change_keys(keys.tile(at), tile.column);
        keys.fill(at);
#ifdef TYPE_KV
        writer.load_scales(of.scale_v, tile.column, 1, row_of_key);
#endif
        values.wait_copied(at);
        writer.change_values(values.tile(at), tile.column);
        values.fill(at);
    }
}

// ---- a consumer: 64 queries

// Registers that a product has written are not to be read before the wait that stands above this; the
// compiler, to which a wait is no write, is told so.
template <u32 count> __device__ inline void written(float (&registers)[count]) {
#pragma unroll
    for (u32 i = 0; i < count; ++i) asm volatile("" : "+f"(registers[i])::"memory");
}

struct Consumer {
    u32 number;  // of the warpgroups that multiply
    Ring keys, values;
    u64 queries[head_dim / 16], first_keys, first_values;  // descriptors, of the steps and of stage 0
    Rows<SCORED> rows = {};
    float scores[tile_keys / 2], output[head_dim / 2] = {};
    u32 weights[tile_keys / 16][4];

    __device__ void multiply_keys(const RingPlace<stages>& at) {
        const u64 stage = wgmma_advance(first_keys, at.stage * tile_bytes);
#pragma unroll
        for (u32 i = 0; i < head_dim / 16; ++i) {
            const u32 step = i % 4 * wgmma_step_bytes(Major::k);
            const u64 a = keeps_steps ? queries[i] : wgmma_advance(queries[0], i / 4 * query_panel + step);
            Wgmma<type, tile_keys>::multiply(scores, a, wgmma_advance(stage, i / 4 * tile_panel + step),
                                             i != 0);
        }
        wgmma_commit_group();
    }
    __device__ void multiply_values(const RingPlace<stages>& at) {
        const u64 stage = wgmma_advance(first_values, at.stage * tile_bytes);
#pragma unroll
        for (u32 i = 0; i < tile_keys / 16; ++i)
            Wgmma<type, head_dim>::template multiply<Major::mn>(
                output, weights[i], wgmma_advance(stage, i * wgmma_step_bytes(Major::mn)), 1);
        wgmma_commit_group();
    }
    // All but so many groups are done, and with them the scores.
    template <u32 pending> __device__ void finish_keys(const RingPlace<stages>& at) {
        wgmma_wait_group<pending>();
        written(scores);
        keys.release(at);
    }
    __device__ void finish_values(const RingPlace<stages>& at) {
        wgmma_wait_group<0>();
        written(output);
        values.release(at);
    }
    __device__ void weigh(const Tiles<tile_keys>::Tile& tile, const Window& window, float (&factor)[2]) {
        rows.score<scores_at_once>(scores, tile.column);
        if (tile.cut != 0) rows.hide(scores, tile.column, window);
        rows.weigh(scores, factor);
    }
    // Accumulators of 16 columns are an operand A of the next product.
    __device__ void keep_weights() {
#pragma unroll
        for (u32 i = 0; i < tile_keys / 16 * 4; ++i)
            weights[i / 4][i % 4] = pack(Half{}, scores[2 * i], scores[2 * i + 1]);
    }

    // Named barriers: at 1 + number a warpgroup waits for its turn, and the one before it arrives.
    __device__ void take_turn() const { bar_sync(1 + number, 2 * warpgroup); }
    __device__ void pass_turn() const { bar_arrive(number + 1 == consumers ? 1 : number + 2, 2 * warpgroup); }

    __device__ void go_over(const Tiles<tile_keys>& tiles) {
        auto tile = tiles.from(tiles.first_column());
        if (tile.column >= tiles.end) return;
        float factor[2];
        RingPlace<stages> at = {0, 0};  // the tile's stage of keys, and of values
        keys.wait_full(at);
        wgmma_fence();
        multiply_keys(at);
        finish_keys<0>(at);
        weigh(tile, tiles.window, factor);
        values.wait_full(at);
        keep_weights();
        if (number == consumers - 1) pass_turn();
        for (tile = tiles.from(tile.column + tile_keys); tile.column < tiles.end;
             tile = tiles.from(tile.column + tile_keys)) {
            const RingPlace<stages> before = at;
            at.advance();
            keys.wait_full(at);
            take_turn();
            wgmma_fence();
            multiply_keys(at);
            multiply_values(before);
            pass_turn();
            finish_keys<1>(at);  // while the product with the values goes on
            weigh(tile, tiles.window, factor);
            values.wait_full(at);  // behind this loop no assembler moves exponentials
            finish_values(before);
            Rows<SCORED>::rescale(output, factor);
            keep_weights();
        }
        if (number == 0) take_turn();
        wgmma_fence();
        multiply_values(at);
        finish_values(at);
    }
};

// ---- the output

// Through the shared memory in which the warp's queries were, so that lanes store 16 bytes each, side by
// side.
__device__ void store(Consumer& consumer, const Arguments& of, const Block& block, unsigned char* tile) {
    const u32 lane = threadIdx.x % 32, first_row = consumer.number * 64 + threadIdx.x / 32 % 4 * 16;
    float inverse[2], log_sum[2];
    consumer.rows.finish(inverse, log_sum);
    bar_sync(1 + consumers + consumer.number, warpgroup);  // its products have read the queries
#pragma unroll
    for (u32 half = 0; half < 2; ++half) {
        const u32 row = first_row + lane / 4 + 8 * half;
        const Query query = {block.first + row, block.head, block.batch};
        if (of.lse != nullptr && lane % 4 == 0 && query.row < block.queries.length)
            of.lse[(1ull * block.batch * of.heads + block.head) * of.queries + query.row] = log_sum[half];
#pragma unroll
        for (u32 i = 2 * half; i < head_dim / 2; i += 4) {
            const u32 column = column_of(i), place = 2 * (lane % 4);
            float first = consumer.output[i] * inverse[half], second = consumer.output[i + 1] * inverse[half];
            change_output(first, query, column + place);
            change_output(second, query, column + place + 1);
            const u32 piece = column % 64 / 8 ^ row % 8;  // of 16 bytes, as TMA has swizzled the queries
            *reinterpret_cast<u32*>(tile + column / 64 * query_panel + row * row_bytes + piece * 16 +
                                    place * 2) = pack(Half{}, first, second);
        }
    }
    __syncwarp();
    constexpr u32 pieces = head_dim / 8;  // of a row
#pragma unroll
    for (u32 i = 0; i < 16 * pieces; i += 32) {
        const u32 row = first_row + (i + lane) / pieces, column = (i + lane) % pieces;
        if (block.first + row >= block.queries.length) continue;
        const u32 piece = column % 8 ^ row % 8;
        const unsigned long long at =
            (1ull * (block.queries.first + block.first + row) * of.heads + block.head) * head_dim;
        *reinterpret_cast<uint4*>(of.out + at + column * 8) =
            *reinterpret_cast<const uint4*>(tile + column / 8 * query_panel + row * row_bytes + piece * 16);
    }
}

// ---- the kernel

#ifdef TYPE_KV
#define PARAMETERS_OF_SCALES , const float *scale_k, const float *scale_v
#define ARGUMENTS_OF_SCALES , scale_k, scale_v
#else
#define PARAMETERS_OF_SCALES
#define ARGUMENTS_OF_SCALES
#endif

extern "C" __global__ void __launch_bounds__(threads, 1)
    attention_wgmma(const __grid_constant__ TensorMap q, const __grid_constant__ TensorMap k,
                    const __grid_constant__ TensorMap v, Half* out, float* lse, const u32* offsets_q,
                    const u32* offsets_k, const u32* table, u32 queries, u32 keys, u32 heads, u32 group,
                    float scale, u32 left, u32 right PARAMETERS_OF_SCALES) {
    extern __shared__ __align__(1024) unsigned char shared[];
    __shared__ Barriers barriers;
    const Arguments of = {q,         k,         v,     out,     lse,
                          offsets_q, offsets_k, table, queries, keys,
                          heads,     group,     scale, left,    right ARGUMENTS_OF_SCALES};
    const Block block(of);
    if (block.first >= block.queries.length) return;

    const u32 query_tile = shared_address(shared), queries_full = shared_address(&barriers.queries_full);
    Ring key_ring = {query_tile + query_bytes, shared_address(barriers.keys_full),
                     shared_address(barriers.keys_full), shared_address(barriers.keys_empty)};
    Ring value_ring = {key_ring.tiles + stages * tile_bytes, shared_address(barriers.values_full),
                       shared_address(barriers.values_full), shared_address(barriers.values_empty)};
    if constexpr (changes_tiles) {
        __shared__ CopiedBarriers copied;
        key_ring.copied = shared_address(copied.keys), value_ring.copied = shared_address(copied.values);
    }
    if (threadIdx.x == 0) {
        prefetch_tensormap(q), prefetch_tensormap(k), prefetch_tensormap(v);
        mbarrier_init(queries_full, 1);
        for (u32 i = 0; i < stages; ++i) {
            // The producer, and the bytes it announces; or the warps that rewrite what it copied.
            constexpr u32 filling = changes_tiles ? Writer::warps : 1;
            mbarrier_init(key_ring.full + i * sizeof(u64), filling);
            mbarrier_init(value_ring.full + i * sizeof(u64), filling);
            if constexpr (changes_tiles) {
                mbarrier_init(key_ring.copied + i * sizeof(u64), 1);
                mbarrier_init(value_ring.copied + i * sizeof(u64), 1);
            }
            mbarrier_init(key_ring.empty + i * sizeof(u64), 4 * consumers);  // warps
            mbarrier_init(value_ring.empty + i * sizeof(u64), 4 * consumers);
        }
        fence_mbarrier_init();
    }
    __syncthreads();

    const Tiles<tile_keys> tiles = block.tiles(of);
    const u32 number = warp_uniform(threadIdx.x / warpgroup);
    if (number == 0) {
        setmaxnreg_dec<producer_registers>();
        if (threadIdx.x == 0) {
            const Producer producer = {of, block};
            RingPlace<stages> at_keys = {0, 1}, at_values = {0, 1};
            auto tile = tiles.from(tiles.first_column());
            if (tile.column < tiles.end) producer.copy_queries(query_tile, queries_full);
            for (; tile.column < tiles.end; tile = tiles.from(tile.column + tile_keys)) {
                producer.copy_tile(key_ring, at_keys, k, tile.column);
                producer.copy_tile(value_ring, at_values, v, tile.column);
            }
        }
        if constexpr (changes_tiles)
            if (threadIdx.x >= 32) rewrite(of, tiles, block, key_ring, value_ring);
    } else {
        setmaxnreg_inc<consumer_registers>();
        Consumer consumer = {number - 1, key_ring, value_ring};
        // Made so that no assembler makes them again in the loop.
#pragma unroll
        for (u32 i = 0; i < (keeps_steps ? head_dim / 16 : 1); ++i)
            consumer.queries[i] = wgmma_descriptor<Major::k>(
                warp_uniform(query_tile + consumer.number * 64 * row_bytes + i / 4 * query_panel +
                             i % 4 * wgmma_step_bytes(Major::k)));
        consumer.first_keys = wgmma_descriptor<Major::k>(key_ring.tiles);
        consumer.first_values = wgmma_descriptor<Major::mn>(value_ring.tiles, tile_panel);
        consumer.rows.scale = scale;
#pragma unroll
        for (u32 half = 0; half < 2; ++half) {
            const u32 row = block.first + consumer.number * 64 + accumulator_row() + 8 * half;
            consumer.rows.query[half] = {row, block.head, block.batch};
            consumer.rows.of_row[half] = value_of_row(consumer.rows.query[half]);
        }
        if (tiles.from(tiles.first_column()).column < tiles.end) {
            mbarrier_wait(queries_full, 0);
            if constexpr (changes_queries) {
                const u32 first = consumer.number * 64;
                change_queries<head_dim>(query_tile + first * row_bytes, query_panel,
                                         {block.first + first, block.head, block.batch});
                bar_sync(1 + consumers + consumer.number, warpgroup);
            }
        }
        consumer.go_over(tiles);
        store(consumer, of, block, shared);
    }
}
