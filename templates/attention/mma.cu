// Attention, softmax(q k^T * scale) v for each head, by the tensor cores of sm_80 and all that came later.
// The scores are never in memory. q and out are batch x queries x heads x head_dim, k and v batch x keys x
// kv_heads x head_dim; with offsets sequences of different lengths are packed one behind the other, and with
// pages keys and values lie in pages that a table names.
//
// A block takes some queries of a head and goes over the keys, tile by tile. Each warp has 16 of the queries,
// or twice 16, for itself: a row of scores and of the output lies in the registers of four of its lanes, and
// the weights, which are the accumulators of the first product, are an operand of the second one as they are.
// cp.async brings tiles of keys and values some stages ahead. The softmax is online: softmax.cuh.
//
// SPLIT makes attention/decode of it: a few queries, and many blocks that share the keys of each. The rows of
// a block are then the queries of all heads that share keys, and the block that is the last to finish adds up
// what all have found, always in the same order.
#include "../hardware/copy.cuh"
#include "../hardware/mma.cuh"
#include "softmax.cuh"

#ifndef SPLIT  // which attention/mma has not
#define SPLIT 0
#endif

using namespace hardware;
using namespace attention;

using Element = TYPE;
constexpr unsigned head_dim = HEAD_DIM, warps = WARPS, strips = STRIPS, tile_keys = TILE_KEYS,
                   stages = STAGES;
constexpr unsigned page = PAGE;  // keys of a page; 0: a sequence's keys are one behind the other
constexpr bool is_split = SPLIT;
constexpr unsigned threads = 32 * warps, tile_queries = 16 * strips * warps;

// A tile lies in shared memory as panels side by side, each with a row of 64 elements, or 32 where head_dim
// is no multiple of 64, for each row of the tile.
constexpr unsigned panel_columns = head_dim % 64 == 0 ? 64 : 32, panels = head_dim / panel_columns;
constexpr unsigned row_bytes = panel_columns * sizeof(Element), pieces = row_bytes / 16;
constexpr unsigned query_bytes = tile_queries * head_dim * sizeof(Element);
constexpr unsigned tile_bytes = tile_keys * head_dim * sizeof(Element);
constexpr unsigned rows_at_once = threads / pieces;  // that all threads copy together

// Queries stay in registers where they are few; else they are read again for each tile.
constexpr bool keeps_queries = strips * head_dim <= 128;
// No assembler moves a load across __syncwarp(), of which an instruction without effect is left. Without it
// fragments are loaded so early that registers lack for stubs. With pages, or few queries, one before each
// fragment costs nothing that counts; else there is one for 16 keys.
constexpr bool loads_in_order = is_split || page != 0;
constexpr unsigned scores_count = tile_keys / 2, output_count = head_dim / 2;  // registers of a strip

static_assert(tile_keys % 32 == 0 && stages >= 2);
static_assert(page == 0 || page % 8 == 0);

struct Fragment {
    unsigned word[4];
};
// Four of many registers.
__device__ inline float (&block_of(float* registers, unsigned i))[4] {
    return *reinterpret_cast<float(*)[4]>(registers + 4 * i);
}

struct Arguments {
    const Element *q, *k, *v;
    Element* out;
    float* lse;
    const unsigned *offsets_q, *offsets_k, *table;
    unsigned queries, keys, heads, group;
    float scale;
    unsigned left, right;
    unsigned splits;
    float *partials, *partial_lse;
    unsigned* finished;
};

// ---- the place of a block in the problem

// The block's own number, read so that a compiler computes what follows of it again, where that is cheaper
// than a register throughout the main loop.
__device__ inline uint3 block_index() {
    uint3 index;
    asm volatile("mov.u32 %0, %%ctaid.x;\n\tmov.u32 %1, %%ctaid.y;\n\tmov.u32 %2, %%ctaid.z;"
                 : "=r"(index.x), "=r"(index.y), "=r"(index.z));
    return index;
}

struct Block {
    uint3 index = block_index();
    unsigned batch, kv_head, kv_heads, heads, group, split;
    Sequence queries, keys;
    unsigned
        first;  // of the block's rows, in its sequence and head; or in its sequence, of all heads of a group

    __device__ explicit Block(const Arguments& of)
        : batch(index.z),
          heads(of.heads),
          group(of.group),
          queries(sequence_of(of.offsets_q, batch, of.queries)),
          keys(sequence_of(of.offsets_k, batch, of.keys)) {
        kv_heads = heads / group;
        kv_head = is_split ? index.y : index.y / group;
        split = is_split ? index.x % of.splits : 0;
        // With a causal window the last queries see the most keys: they begin first.
        const unsigned tile = is_split ? index.x / of.splits : gridDim.x - 1 - index.x;
        first = tile * tile_queries;
    }
    __device__ unsigned rows() const { return is_split ? queries.length * group : queries.length; }
    __device__ Query query(unsigned row) const {
        if (is_split) return {row / group, kv_head * group + row % group, batch};
        return {row, index.y, batch};
    }
    // Of the query in q and in the output.
    __device__ unsigned long long element_of(const Query& query) const {
        return (1ull * (queries.first + query.row) * heads + query.head) * head_dim;
    }
    __device__ Tiles<tile_keys> tiles(const Arguments& of) const {
        const unsigned behind = min(first + tile_queries, rows());
        Tiles<tile_keys> made;
        made.window = window_of(queries.length, keys.length, of.left, of.right);
        made.first_row = query(first).row, made.last_row = query(behind - 1).row;
        made.head = query(first).head, made.batch = batch;
        made.end = made.last_end();
        return made;
    }
};

// ---- cp.async: a thread copies one piece of 16 bytes of each panel of some rows

struct Copier {
    const Arguments& of;
    const Block& block;
    unsigned row = threadIdx.x / pieces, piece = threadIdx.x % pieces;

    // Rows from `first` on, of which those from `end` on are zeros. `row_at` says where a row begins.
    template <unsigned rows, class RowAt>
    __device__ void copy(unsigned to, unsigned first, unsigned end, RowAt row_at) const {
#pragma unroll
        for (unsigned i = 0; i < rows; i += rows_at_once) {
            const unsigned at = row + i;
            if (rows % rows_at_once != 0 && at >= rows) break;
            const unsigned bytes = first + at < end ? 16 : 0;
            const Element* const source = row_at(i) + piece * (16 / sizeof(Element));
#pragma unroll
            for (unsigned panel = 0; panel < panels; ++panel)
                cp_async_zfill(to + panel * rows * row_bytes + swizzled_offset<row_bytes>(at, piece),
                               source + panel * panel_columns, bytes);
        }
    }
    __device__ void copy_queries(unsigned to) const {
        copy<tile_queries>(to, block.first, block.rows(), [&](unsigned i) {
            return of.q + block.element_of(block.query(block.first + row + i));
        });
    }
    __device__ void copy_keys(unsigned to, const Element* from, unsigned column) const {
        const unsigned long long row_elements = 1ull * block.kv_heads * head_dim;
        const auto at = [&](unsigned key) {
            return from + row_of_key(key) * row_elements + block.kv_head * head_dim;
        };
        // Rows that a table does not move are equally far from each other.
        const Element* const first = page == 0 ? at(column + row) : nullptr;
        copy<tile_keys>(to, column, block.keys.length, [&](unsigned i) {
            return page == 0 ? first + i * row_elements : at(column + row + i);
        });
    }
    // Without a table the pages of a sequence, and the sequences, are one behind the other.
    __device__ unsigned row_of_key(unsigned key) const {
        if constexpr (page == 0) {
            return block.keys.first + key;
        } else {
            if (key >= block.keys.length) return 0;
            constexpr unsigned size = page == 0 ? 1 : page;  // NVRTC would warn of a division by 0
            const unsigned in_table = block.batch * ((of.keys + size - 1) / size) + key / size;
            return (of.table == nullptr ? in_table : of.table[in_table]) * size + key % size;
        }
    }
};

// ---- ldmatrix: fragments of 16 rows and 16 columns

// Where lane l has its row of 16 bytes: as A, or as values, matrices 0 and 1 are one below the other; as
// keys, side by side.
struct Reader {
    unsigned row, piece;
    __device__ static Reader below() { return {threadIdx.x % 16, threadIdx.x / 16 % 2}; }
    __device__ static Reader beside() {
        return {threadIdx.x % 8 + threadIdx.x / 16 % 2 * 8, threadIdx.x / 8 % 2};
    }
    // first_row is a multiple of 8, after which the swizzle repeats.
    template <unsigned rows>
    __device__ unsigned at(unsigned tile, unsigned first_row, unsigned block_column) const {
        constexpr unsigned blocks = panel_columns / 16;  // of a panel
        const unsigned of_lane = swizzled_offset<row_bytes>(row, block_column % blocks * 2 + piece);
        return tile + of_lane + (block_column / blocks * rows + first_row) * row_bytes;
    }
};

// ---- a warp

struct Warp {
    const Block& block;
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    const unsigned first = warp * 16 * strips;  // row in the block
    Reader queries = Reader::below(), keys = Reader::beside(), values = Reader::below();
    Fragment kept[head_dim / 16][strips];
    Rows<SCORED> rows[strips];
    float scores[strips][scores_count], output[strips][output_count] = {};

    __device__ Warp(const Block& block, float scale) : block(block) {
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const Query query = block.query(block.first + row_of(strip, half));
                rows[strip].query[half] = query;
                rows[strip].of_row[half] = value_of_row(query);
                rows[strip].scale = scale;
            }
    }
    __device__ unsigned row_of(unsigned strip, unsigned half) const {
        return first + 16 * strip + 8 * half + lane / 4;
    }

    __device__ Fragment load_queries(unsigned tile, unsigned column, unsigned strip) const {
        Fragment made;
        ldmatrix_x4(made.word, queries.at<tile_queries>(tile, first + 16 * strip, column));
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            change_query(made.word[i], rows[strip].query[i % 2], 16 * column + i / 2 * 8 + lane % 4 * 2);
        return made;
    }
    __device__ void keep_queries(unsigned tile) {
#pragma unroll
        for (unsigned column = 0; column < head_dim / 16; ++column)
#pragma unroll
            for (unsigned strip = 0; strip < strips; ++strip)
                kept[column][strip] = load_queries(tile, column, strip);
    }

    // Scores of the warp's queries and the tile's keys.
    __device__ void multiply_keys(unsigned query_tile, unsigned tile, unsigned first_column) {
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip)
#pragma unroll
            for (float& score : scores[strip]) score = 0;
#pragma unroll
        for (unsigned column = 0; column < head_dim / 16; ++column) {
            Fragment a[strips];
#pragma unroll
            for (unsigned strip = 0; strip < strips; ++strip)
                a[strip] = keeps_queries ? kept[column][strip] : load_queries(query_tile, column, strip);
#pragma unroll
            for (unsigned key = 0; key < tile_keys; key += 16) {
                if (loads_in_order) __syncwarp();
                unsigned b[4];
                ldmatrix_x4(b, keys.at<tile_keys>(tile, key, column));
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    change_key(b[i], first_column + key + i / 2 * 8 + lane / 4,
                               16 * column + i % 2 * 8 + lane % 4 * 2, block.kv_head, block.batch);
                multiply(scores, key / 16, a, b);
            }
        }
    }
    // Adds the products with 16 columns of B to the columns from 16 `at` on.
    template <unsigned count>
    __device__ void multiply(float (&d)[strips][count], unsigned at, const Fragment (&a)[strips],
                             const unsigned (&b)[4]) {
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip)
#pragma unroll
            for (unsigned half = 0; half < 2; ++half)
                Mma<Element>::add(block_of(d[strip], 2 * at + half), a[strip].word, b[2 * half],
                                  b[2 * half + 1]);
    }

    // Scores become weights, and the output is made relative to the same score as they.
    __device__ void weigh(const Tiles<tile_keys>::Tile& tile, const Window& window) {
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip) rows[strip].score<0>(scores[strip], tile.column);
        if (tile.cut != 0) {
#pragma unroll
            for (unsigned strip = 0; strip < strips; ++strip)
                rows[strip].hide(scores[strip], tile.column, window);
        }
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip) {
            float factor[2];
            rows[strip].weigh(scores[strip], factor);
            Rows<SCORED>::rescale(output[strip], factor);
        }
    }
    // Two neighbouring blocks of 8 columns of accumulators are a fragment of A.
    __device__ static Fragment weights(const float (&from)[scores_count], unsigned key) {
        Fragment made;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            made.word[i] = pack(Element{}, from[key / 2 + 2 * i], from[key / 2 + 2 * i + 1]);
        return made;
    }
    __device__ void multiply_values(unsigned tile, unsigned first_column) {
#pragma unroll
        for (unsigned key = 0; key < tile_keys; key += 16) {
            Fragment a[strips];
#pragma unroll
            for (unsigned strip = 0; strip < strips; ++strip) a[strip] = weights(scores[strip], key);
            __syncwarp();
#pragma unroll
            for (unsigned column = 0; column < head_dim / 16; ++column) {
                if (loads_in_order) __syncwarp();
                unsigned b[4];
                ldmatrix_x4_trans(b, values.at<tile_keys>(tile, key, column));
#pragma unroll
                for (unsigned i = 0; i < 4; ++i)
                    change_value(b[i], first_column + key + i % 2 * 8 + lane % 4 * 2,
                                 16 * column + i / 2 * 8 + lane / 4, block.kv_head, block.batch);
                multiply(output, column, a, b);
            }
        }
    }
};

// ---- the output

struct Output {
    const Arguments& of;
    const Block& block;
    unsigned char* tile;  // where the queries were, in shared memory

    // The weights over their sum, and its logarithm. With split keys both are of the block's share of them.
    __device__ void store(Warp& warp) const {
        __syncwarp();  // the queries have been read
#pragma unroll
        for (unsigned strip = 0; strip < strips; ++strip) {
            float inverse[2], log_sum[2];
            warp.rows[strip].finish(inverse, log_sum);
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                const unsigned row = warp.row_of(strip, half);
                const Query query = block.query(block.first + row);
                if (warp.lane % 4 == 0 && block.first + row < block.rows())
                    store_log_sum(query, log_sum[half]);
#pragma unroll
                for (unsigned i = 2 * half; i < output_count; i += 4) {
                    const float first = warp.output[strip][i] * inverse[half],
                                second = warp.output[strip][i + 1] * inverse[half];
                    if (is_split)
                        store_partial(query, row, warp.lane, i, first, second);
                    else
                        store_in_tile(query, row, warp.lane, i, first, second);
                }
            }
        }
        if (!is_split) store_tile(warp);
    }

    __device__ unsigned long long row_of(const Query& query) const {
        return (1ull * query.batch * block.heads + query.head) * of.queries + query.row;
    }
    __device__ unsigned long long partial_row(unsigned split, const Query& query) const {
        return 1ull * split * gridDim.z * block.heads * of.queries + row_of(query);
    }
    __device__ void store_log_sum(const Query& query, float log_sum) const {
        if (is_split)
            of.partial_lse[partial_row(block.split, query)] = log_sum;
        else if (of.lse != nullptr)
            of.lse[row_of(query)] = log_sum;
    }

    // Through the shared memory in which the warp's queries were, so that lanes store 16 bytes each, side by
    // side.
    __device__ void store_in_tile(const Query& query, unsigned row, unsigned lane, unsigned i, float first,
                                  float second) const {
        const unsigned column = column_of(i), place = 2 * (lane % 4);
        change_output(first, query, column + place);
        change_output(second, query, column + place + 1);
        const unsigned offset = column / panel_columns * tile_queries * row_bytes +
                                swizzled_offset<row_bytes>(row, column % panel_columns / 8);
        *reinterpret_cast<unsigned*>(tile + offset + place * sizeof(Element)) =
            pack(Element{}, first, second);
    }
    __device__ void store_tile(const Warp& warp) const {
        __syncwarp();
#pragma unroll
        for (unsigned i = 0; i < 16 * strips; i += 32 / pieces) {
            const unsigned row = warp.first + i + warp.lane / pieces, piece = warp.lane % pieces;
            if (block.first + row >= block.rows()) continue;
            Element* const to = of.out + block.element_of(block.query(block.first + row)) + piece * 8;
#pragma unroll
            for (unsigned panel = 0; panel < panels; ++panel)
                *reinterpret_cast<uint4*>(to + panel * panel_columns) = *reinterpret_cast<const uint4*>(
                    tile + panel * tile_queries * row_bytes + swizzled_offset<row_bytes>(row, piece));
        }
    }

    __device__ void store_partial(const Query& query, unsigned row, unsigned lane, unsigned i, float first,
                                  float second) const {
        if (block.first + row >= block.rows()) return;
        float* const to = of.partials + partial_row(block.split, query) * head_dim;
        // In one instruction, which NVRTC would split: four lanes then fill a sector.
        asm volatile("st.global.v2.f32 [%0], {%1, %2};" ::"l"(
                         __cvta_generic_to_global(to + column_of(i) + 2 * (lane % 4))),
                     "f"(first), "f"(second)
                     : "memory");
    }
    // Whether all blocks with the same queries have stored. The counter is 0 again for the next launch.
    __device__ bool is_last() const {
        __shared__ bool last;
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0) {
            const unsigned tiles = gridDim.x / of.splits;
            unsigned* const counter = of.finished + (block.batch * block.kv_heads + block.kv_head) * tiles +
                                      block.index.x / of.splits;
            last = atomicAdd(counter, 1) == of.splits - 1;
            if (last) *counter = 0;
            __threadfence();
        }
        __syncthreads();
        return last;
    }
    // Each output is relative to its own sum: sum s of them has exp(lse s) in the whole.
    __device__ void add_partials() const {
        constexpr unsigned at_once = 4;  // elements of a thread
        const unsigned rows = min(tile_queries, block.rows() - block.first);
        for (unsigned i = threadIdx.x; i < rows * (head_dim / at_once); i += threads) {
            const Query query = block.query(block.first + i / (head_dim / at_once));
            const unsigned column = i % (head_dim / at_once) * at_once;
            float top = -infinity, sum = 0, value[at_once] = {};
            for (unsigned split = 0; split < of.splits; ++split)
                top = fmaxf(top, of.partial_lse[partial_row(split, query)]);
            for (unsigned split = 0; split < of.splits && top != -infinity; ++split) {
                const unsigned long long row = partial_row(split, query);
                const float weight = exp2_of((of.partial_lse[row] - top) * log2_e);
                const float4 part = *reinterpret_cast<const float4*>(of.partials + row * head_dim + column);
                sum += weight;
                value[0] += weight * part.x, value[1] += weight * part.y;
                value[2] += weight * part.z, value[3] += weight * part.w;
            }
            const float inverse = sum == 0 ? 0 : __fdividef(1.0f, sum);
#pragma unroll
            for (unsigned j = 0; j < at_once; ++j) {
                value[j] *= inverse;
                change_output(value[j], query, column + j);
            }
            *reinterpret_cast<uint2*>(of.out + block.element_of(query) + column) =
                make_uint2(pack(Element{}, value[0], value[1]), pack(Element{}, value[2], value[3]));
            if (of.lse != nullptr && column == 0)
                of.lse[row_of(query)] = sum == 0 ? -infinity : top + __log2f(sum) * ln_2;
        }
    }
};

// ---- the kernel

__device__ void attend(const Arguments& of) {
    extern __shared__ __align__(128) unsigned char shared[];
    const unsigned query_tile = shared_address(shared), first_stage = query_tile + query_bytes;
    const Block block(of);
    if (block.first >= block.rows()) return;
    const Copier copier = {of, block};
    Tiles<tile_keys> tiles = block.tiles(of);
    unsigned column = tiles.first_column();
    if (is_split) column = tiles.take_share(column, block.split, of.splits);

    copier.copy_queries(query_tile);
    cp_async_commit_group();
    // Keys and values are a group each; behind the last tile groups are empty.
    const auto copy = [&](unsigned column, unsigned stage) {
        const unsigned to = first_stage + stage * 2 * tile_bytes;
        if (column < tiles.end) copier.copy_keys(to, of.k, column);
        cp_async_commit_group();
        if (column < tiles.end) copier.copy_keys(to + tile_bytes, of.v, column);
        cp_async_commit_group();
    };
    typename Tiles<tile_keys>::Tile ahead[stages];  // those in shared memory or on their way there
#pragma unroll
    for (unsigned i = 0; i + 1 < stages; ++i) {
        ahead[i] = tiles.from(column);
        column = ahead[i].column + tile_keys;
        copy(ahead[i].column, i);
    }
    Warp warp(block, of.scale);
    cp_async_wait_group<2 * (stages - 1)>();
    __syncthreads();
    if (keeps_queries) warp.keep_queries(query_tile);

    unsigned read = 0, write = stages - 1;  // stages
    while (ahead[0].column < tiles.end) {
        cp_async_wait_group<2 * stages - 3>();
        __syncthreads();  // the keys are there for all; the stage that was read last is free
        ahead[stages - 1] = tiles.from(ahead[stages - 2].column + tile_keys);
        copy(ahead[stages - 1].column, write);
        const unsigned stage = first_stage + read * 2 * tile_bytes;
        warp.multiply_keys(query_tile, stage, ahead[0].column);
        warp.weigh(ahead[0], tiles.window);
        cp_async_wait_group<2 * (stages - 1)>();
        __syncthreads();  // the values are there for all
        warp.multiply_values(stage + tile_bytes, ahead[0].column);
#pragma unroll
        for (unsigned i = 0; i + 1 < stages; ++i) ahead[i] = ahead[i + 1];
        read = read + 1 == stages ? 0 : read + 1;
        write = write + 1 == stages ? 0 : write + 1;
    }
    const Block again(of);
    const Output output = {of, again, shared};
    output.store(warp);
    if (is_split && output.is_last()) output.add_partials();
}

extern "C" __global__ void __launch_bounds__(threads, 256 / threads)
    attention_mma(const Element* q, const Element* k, const Element* v, Element* out, float* lse,
                  const unsigned* offsets_q, const unsigned* offsets_k, const unsigned* table,
                  unsigned queries, unsigned keys, unsigned heads, unsigned group, float scale, unsigned left,
                  unsigned right
#if SPLIT
                  ,
                  unsigned splits, float* partials, float* partial_lse, unsigned* finished
#endif
    ) {
    attend({
        q, k, v, out, lse, offsets_q, offsets_k, table, queries, keys, heads, group, scale, left, right
#if SPLIT
            ,
            splits, partials, partial_lse, finished
#endif
    });
}
