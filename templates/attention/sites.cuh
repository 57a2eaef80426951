// The sites of attention/mma, attention/decode, attention/wgmma, attention/quantised and of their reference,
// each written once: what fits a kernel fits its reference. A site without a stub is no instruction; operands
// that no stub reads are not computed.
#pragma once
#include <ptxgraft/site.cuh>

namespace attention {

// A query of a sequence: rows count within the sequence, and so do columns, the keys.
struct Query {
    unsigned row, head, batch;
};

// Once for each query: a value for all of its scores.
__device__ inline float value_of_row(const Query& query) {
    float of_row = 0;
    PTXGRAFT_SITE("score_row", "", mod(f32, of_row), in(u32, row, query.row), in(u32, head, query.head),
                  in(u32, batch, query.batch));
    return of_row;
}
// Once for each key, between the scores of two queries.
__device__ inline float value_of_column(unsigned column, const Query& query) {
    float of_column = 0;
    PTXGRAFT_HOT_SITE("score_column", "", mod(f32, of_column), in(u32, column), in(u32, head, query.head),
                      in(u32, batch, query.batch));
    return of_column;
}
__device__ inline void change_score(float& score, const Query& query, unsigned column, float scale,
                                    float of_row, float of_column) {
    PTXGRAFT_HOT_SITE("score", "", mod(f32, score), in(u32, row, query.row), in(u32, column),
                      in(u32, head, query.head), in(u32, batch, query.batch), in(f32, scale), in(f32, of_row),
                      in(f32, of_column));
}

// Bit i says whether the query sees key column + i. Asked in tiles that are cut.
__device__ inline void change_mask(unsigned& visible, const Query& query, unsigned column) {
    PTXGRAFT_HOT_SITE("mask", "", mod(b32, visible), in(u32, row, query.row), in(u32, column),
                      in(u32, head, query.head), in(u32, batch, query.batch));
}
// Of a tile of scores: whether nothing of it is seen, so that it is skipped; and whether not all is, so that
// `mask` says what.
__device__ inline void change_tile(unsigned& hidden, unsigned& cut, unsigned first_row, unsigned last_row,
                                   unsigned first_column, unsigned last_column, unsigned head,
                                   unsigned batch) {
    PTXGRAFT_HOT_SITE("mask_tile", "", mod(u32, hidden), mod(u32, cut), in(u32, first_row), in(u32, last_row),
                      in(u32, first_column), in(u32, last_column), in(u32, head), in(u32, batch));
}

// Weights of a query's neighbouring columns: 2 to the power of x, which is a score over the largest one so
// far and at or below 0 but for rounding. A stub that does not read the weights that come takes their place:
// an assembler drops what made them.
__device__ inline void change_weights(float (&weight)[2], const float (&x)[2]) {
    PTXGRAFT_HOT_SITE("exponent", "", mods(f32, 2, weight), ins(f32, 2, x));
}

// Two neighbouring elements of a query, of a key, of two values: element and element + 1 of query `row` and
// of key `column`; element `element` of values column and column + 1.
__device__ inline void change_query(unsigned& pair, const Query& query, unsigned element) {
    PTXGRAFT_SITE("prologue_q", "", mod(b32, pair), in(u32, row, query.row), in(u32, element),
                  in(u32, head, query.head), in(u32, batch, query.batch));
}
__device__ inline void change_key(unsigned& pair, unsigned column, unsigned element, unsigned head,
                                  unsigned batch) {
    PTXGRAFT_HOT_SITE("prologue_k", "", mod(b32, pair), in(u32, column), in(u32, element), in(u32, head),
                      in(u32, batch));
}
__device__ inline void change_value(unsigned& pair, unsigned column, unsigned element, unsigned head,
                                    unsigned batch) {
    PTXGRAFT_HOT_SITE("prologue_v", "", mod(b32, pair), in(u32, column), in(u32, element), in(u32, head),
                      in(u32, batch));
}

// The same two where keys and values are stored in fewer bits (attention/quantised): `low` and `high` are the
// elements as they are stored, `pair` what they make when they are multiplied by their key's scale and
// rounded. Of a stub that does not read `pair` nothing is left of that.
__device__ inline void make_key(unsigned& pair, float low, float high, float scale, unsigned column,
                                unsigned element, unsigned head, unsigned batch) {
    PTXGRAFT_HOT_SITE("prologue_k", "", mod(b32, pair), in(f32, low), in(f32, high), in(f32, scale),
                      in(u32, column), in(u32, element), in(u32, head), in(u32, batch));
}
__device__ inline void make_value(unsigned& pair, float low, float high, float scale_low, float scale_high,
                                  unsigned column, unsigned element, unsigned head, unsigned batch) {
    PTXGRAFT_HOT_SITE("prologue_v", "", mod(b32, pair), in(f32, low), in(f32, high), in(f32, scale_low),
                      in(f32, scale_high), in(u32, column), in(u32, element), in(u32, head), in(u32, batch));
}

__device__ inline void change_output(float& value, const Query& query, unsigned column) {
    PTXGRAFT_COLD_SITE("epilogue", "", mod(f32, value), in(u32, row, query.row), in(u32, column),
                       in(u32, head, query.head), in(u32, batch, query.batch));
}

}  // namespace attention
