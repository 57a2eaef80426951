// What attention/mma, attention/decode, attention/wgmma and attention/quantised compute, in the plainest way:
// a thread has a query, and goes over all keys twice, in double precision; first for the largest score, then
// for the weights and the output. The sites stand where they stand in the kernels, and see the same in single
// precision.
#include "../hardware/narrow.cuh"
#include "sites.cuh"

#ifdef CONSUMERS  // attention/wgmma and attention/quantised
#define TILE_QUERIES (64 * CONSUMERS)
#else
#define TILE_QUERIES (16 * STRIPS * WARPS)
#endif
#ifndef SPLIT  // which attention/decode alone has
#define SPLIT 0
#endif

using namespace attention;
using Element = hardware::TYPE;
#ifdef TYPE_KV  // attention/quantised
using Stored = unsigned char;
#else
using Stored = Element;
#endif
constexpr unsigned head_dim = HEAD_DIM, tile_queries = TILE_QUERIES, tile_keys = TILE_KEYS, page = PAGE;
enum { product, logit };

struct Problem {
    const Element* q;
    const Stored *k, *v;
    const unsigned* table;
    unsigned heads, group, first_query, queries, first_key, keys, pages;
    float scale;
    unsigned left, right;
    Query query;
    float of_row;
    const float *scale_k, *scale_v;  // of attention/quantised
};

__device__ double value_of(unsigned bits, hardware::bf16) { return __uint_as_float(bits << 16); }
__device__ double value_of(unsigned bits, hardware::f16) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(static_cast<unsigned short>(bits)));
    return value;
}
__device__ unsigned pair_of(Element first, Element second) { return first.bits | second.bits << 16; }
__device__ double lower(unsigned pair) { return value_of(pair & 0xFFFF, Element{}); }
__device__ double upper(unsigned pair) { return value_of(pair >> 16, Element{}); }

// Element 0 of a key's head, in k and in v.
__device__ unsigned long long place_of(const Problem& of, unsigned key) {
    unsigned long long row = of.first_key + key;
    if (page != 0) {
        const unsigned keys_of_page = page == 0 ? 1 : page;
        const unsigned in_table = of.query.batch * of.pages + key / keys_of_page;
        row =
            1ull * (of.table == nullptr ? in_table : of.table[in_table]) * keys_of_page + key % keys_of_page;
    }
    return (row * (of.heads / of.group) + of.query.head / of.group) * head_dim;
}

// Whether the query sees the key by its window alone.
__device__ bool is_in_window(const Problem& of, unsigned row, unsigned key) {
    const long long beside = static_cast<long long>(row) + of.keys - of.queries;
    constexpr unsigned all = 1u << 30;
    return key < of.keys && (of.left >= all || key >= beside - of.left) &&
           (of.right >= all || key <= beside + of.right);
}
// What mask_tile says of the tile with the key, and the queries of a block: 0 hidden, 1 cut, 2 whole.
__device__ unsigned kind_of_tile(const Problem& of, unsigned key) {
    const unsigned shared = SPLIT ? of.group : 1;  // heads whose queries are rows of one block
    const unsigned head = of.query.head / shared * shared, all = of.queries * shared;
    const unsigned first = (of.query.row * shared + of.query.head - head) / tile_queries * tile_queries;
    const unsigned last = first + tile_queries < all ? first + tile_queries - 1 : all - 1;
    const unsigned first_row = first / shared, last_row = last / shared, column = key / tile_keys * tile_keys;
    // The window moves to the right with the rows.
    const bool is_whole =
        is_in_window(of, last_row, column) && is_in_window(of, first_row, column + tile_keys - 1);
    unsigned hidden = 0, cut = is_whole ? 0 : 1;
    change_tile(hidden, cut, first_row, last_row, column, column + tile_keys - 1, head + first % shared,
                of.query.batch);
    return hidden != 0 ? 0 : cut != 0 ? 1 : 2;
}
__device__ bool is_visible(const Problem& of, unsigned key) {
    const unsigned kind = kind_of_tile(of, key);
    if (kind != 1) return kind == 2;
    unsigned visible = 0;
    for (unsigned i = 0; i < 32; ++i)
        if (is_in_window(of, of.query.row, key / 32 * 32 + i)) visible |= 1u << i;
    change_mask(visible, of.query, key / 32 * 32);
    return visible >> key % 32 & 1;
}

// Elements `element` and the next of a key, as they are multiplied.
__device__ unsigned key_pair(const Problem& of, unsigned key, unsigned element) {
    const unsigned long long head = place_of(of, key), at = head + element;
    const unsigned kv_head = of.query.head / of.group;
#ifdef TYPE_KV
    const float scale = of.scale_k == nullptr ? 1 : of.scale_k[head / head_dim];
    const float low = hardware::narrow_value<hardware::Narrow::TYPE_KV>(of.k, at);
    const float high = hardware::narrow_value<hardware::Narrow::TYPE_KV>(of.k, at + 1);
    unsigned pair = hardware::pack(low * scale, high * scale, Element{});
    make_key(pair, low, high, scale, key, element, kv_head, of.query.batch);
#else
    unsigned pair = pair_of(of.k[at], of.k[at + 1]);
    change_key(pair, key, element, kv_head, of.query.batch);
#endif
    return pair;
}
// Element `element` of values `even` and the next; zero beyond the last.
__device__ unsigned value_pair(const Problem& of, unsigned even, unsigned element) {
    const bool is_last = even + 1 >= of.keys;
    const unsigned long long first = place_of(of, even), second = is_last ? 0 : place_of(of, even + 1);
    const unsigned kv_head = of.query.head / of.group;
#ifdef TYPE_KV
    const bool is_scaled = of.scale_v != nullptr;
    const float scale_low = is_scaled ? of.scale_v[first / head_dim] : 1;
    const float scale_high = is_scaled && !is_last ? of.scale_v[second / head_dim] : 1;
    const float low = hardware::narrow_value<hardware::Narrow::TYPE_KV>(of.v, first + element);
    const float high =
        is_last ? 0 : hardware::narrow_value<hardware::Narrow::TYPE_KV>(of.v, second + element);
    unsigned pair = hardware::pack(low * scale_low, high * scale_high, Element{});
    make_value(pair, low, high, scale_low, scale_high, even, element, kv_head, of.query.batch);
#else
    unsigned pair = pair_of(of.v[first + element], is_last ? Element{} : of.v[second + element]);
    change_value(pair, even, element, kv_head, of.query.batch);
#endif
    return pair;
}

__device__ double score_of(const Problem& of, unsigned key) {
    const Element* const q =
        of.q + (1ull * (of.first_query + of.query.row) * of.heads + of.query.head) * head_dim;
    double sum = 0;
    for (unsigned i = 0; i < head_dim; i += 2) {
        unsigned a = pair_of(q[i], q[i + 1]);
        change_query(a, of.query, i);
        const unsigned b = key_pair(of, key, i);
        sum += lower(a) * lower(b);
        sum += upper(a) * upper(b);
    }
    float score = static_cast<float>(SCORED == logit ? sum * of.scale : sum);
    change_score(score, of.query, key, of.scale, of.of_row, value_of_column(key, of.query));
    return SCORED == logit ? score : static_cast<double>(score) * of.scale;
}
__device__ double value_at(const Problem& of, unsigned key, unsigned element) {
    const unsigned pair = value_pair(of, key & ~1u, element);
    return key % 2 == 0 ? lower(pair) : upper(pair);
}

// A key's place in the pair of the site is that of an even and an odd column.
__device__ double weight_of(float x, unsigned key) {
    const float both[2] = {x, x}, exact = static_cast<float>(exp2(static_cast<double>(x)));
    float weight[2] = {exact, exact};
    change_weights(weight, both);
    return weight[key % 2];
}

extern "C" __global__ void attention_reference(const Element* q, const Stored* k, const Stored* v,
                                               double* out, double* lse, const unsigned* offsets_q,
                                               const unsigned* offsets_k, const unsigned* table,
                                               unsigned queries, unsigned keys, unsigned heads,
                                               unsigned group, float scale, unsigned left, unsigned right
#if SPLIT
                                               ,
                                               unsigned
#endif
#ifdef TYPE_KV
                                               ,
                                               const float* scale_k, const float* scale_v
#endif
) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, batch = blockIdx.z;
    Problem of = {q, k, v, table, heads, group, batch * queries, queries, batch * keys, keys};
    of.pages = page == 0 ? 0 : (keys + page - 1) / (page == 0 ? 1 : page);
    of.scale = scale, of.left = left, of.right = right;
#ifdef TYPE_KV
    of.scale_k = scale_k, of.scale_v = scale_v;
#endif
    of.query = {row, blockIdx.y, batch};
    if (offsets_q != nullptr)
        of.first_query = offsets_q[batch], of.queries = offsets_q[batch + 1] - of.first_query;
    if (offsets_k != nullptr) of.first_key = offsets_k[batch], of.keys = offsets_k[batch + 1] - of.first_key;
    if (row >= of.queries) return;
    of.of_row = value_of_row(of.query);

    // Scores below -1e8 are of keys that a stub has hidden.
    double top = -1e8 * (SCORED == logit ? 1 : scale), sum = 0, acc[head_dim] = {};
    for (unsigned key = 0; key < of.keys; ++key)
        if (is_visible(of, key)) top = fmax(top, score_of(of, key));
    for (unsigned key = 0; key < of.keys; ++key) {
        if (!is_visible(of, key)) continue;
        const double weight =
            weight_of(static_cast<float>((score_of(of, key) - top) * 1.4426950408889634), key);
        sum += weight;
        for (unsigned i = 0; i < head_dim; ++i) acc[i] += weight * value_at(of, key, i);
    }
    double* const to = out + (1ull * (of.first_query + row) * heads + of.query.head) * head_dim;
    for (unsigned i = 0; i < head_dim; ++i) {
        float value = static_cast<float>(sum == 0 ? 0 : acc[i] / sum);
        change_output(value, of.query, i);
        to[i] = value;
    }
    if (lse != nullptr)
        lse[(1ull * batch * heads + of.query.head) * queries + row] = sum == 0 ? -1.0 / 0.0 : top + log(sum);
}
