// Attention, softmax(q k^T * scale) v for each head, in float. q and out are heads x rows x HEAD_DIM, k and v
// are heads x columns x HEAD_DIM; rows and columns (the numbers of queries and of keys, below 2^31) are free,
// and so is their ratio.
//
// A block of 8 warps takes 32 queries of a head, 4 a warp, and walks over the keys 32 at a time. A lane has
// one key of the block when scores are made and every 32nd element of the head dimension when values are
// added. The softmax is online: `top` is the largest score so far, `sum` and `acc` are relative to it and are
// scaled down when it grows.
//
// The site `score` sees the scaled score and may return -inf to mask a key. A query all of whose keys are
// masked, or that has no keys, gives zeros.
#include <ptxgraft/site.cuh>

#ifndef HEAD_DIM
#define HEAD_DIM 64
#endif
static_assert(HEAD_DIM >= 1 && HEAD_DIM <= 128, "HEAD_DIM is 1 to 128");

constexpr unsigned head_dim = HEAD_DIM;
constexpr unsigned lanes = 32;  // keys of a step
constexpr unsigned warps = 8;
constexpr unsigned threads = warps * lanes;
constexpr unsigned queries = 4;                                // of a warp
constexpr unsigned elements = (head_dim + lanes - 1) / lanes;  // of the head dimension, of a lane
constexpr unsigned all_lanes = 0xFFFFFFFFu;
constexpr float infinity = __builtin_bit_cast(float, 0x7F800000);

__device__ float max_of_warp(float value) {
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        value = fmaxf(value, __shfl_xor_sync(all_lanes, value, distance));
    return value;
}
__device__ float sum_of_warp(float value) {
    for (unsigned distance = lanes / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(all_lanes, value, distance);
    return value;
}

// `count` rows of a matrix from row `first` on; rows past its end are zeros. One padding element a row: 32
// lanes that read a column each take another bank.
using Row = float[head_dim + 1];
__device__ void load(Row* target, const float* source, unsigned first, unsigned count, unsigned rows) {
    for (unsigned i = threadIdx.x; i < count * head_dim; i += threads) {
        const unsigned row = i / head_dim, column = i % head_dim;
        target[row][column] = first + row < rows ? source[1ull * (first + row) * head_dim + column] : 0.0f;
    }
}

// Two blocks a multiprocessor leave 128 registers a thread: no spills, and room for stubs.
extern "C" __global__ void __launch_bounds__(threads, 2)
    attention(const float* __restrict__ q, const float* __restrict__ k, const float* __restrict__ v,
              float* __restrict__ out, unsigned rows, unsigned columns, float scale) {
    __shared__ Row qs[warps * queries];
    __shared__ Row tile[lanes];  // keys, then values
    const unsigned lane = threadIdx.x % lanes, warp = threadIdx.x / lanes, head = blockIdx.y;
    const unsigned block_row = blockIdx.x * warps * queries, my_query = warp * queries;
    q += 1ull * head * rows * head_dim;
    k += 1ull * head * columns * head_dim;
    v += 1ull * head * columns * head_dim;
    out += 1ull * head * rows * head_dim;

    float top[queries], sum[queries], acc[queries][elements];
    for (unsigned i = 0; i < queries; ++i) {
        top[i] = -infinity;
        sum[i] = 0;
        for (float& value : acc[i]) value = 0;
    }
    load(qs, q, block_row, warps * queries, rows);

    for (unsigned first = 0; first < columns; first += lanes) {
        __syncthreads();  // the values of the step before have been read
        load(tile, k, first, lanes, columns);
        __syncthreads();
        const unsigned column = first + lane;
        float score[queries] = {};
        for (unsigned d = 0; d < head_dim; ++d)
            for (unsigned i = 0; i < queries; ++i) score[i] += qs[my_query + i][d] * tile[lane][d];

        float weight[queries];
#pragma unroll
        for (unsigned i = 0; i < queries; ++i) {
            const unsigned row = block_row + my_query + i;
            float value = -infinity;
            if (row < rows && column < columns) {
                value = score[i] * scale;
                PTXGRAFT_SITE("score", "", mod(f32, score, value), in(u32, row), in(u32, column),
                              in(u32, head));
            }
            const float new_top = fmaxf(top[i], max_of_warp(value));
            // As long as every key is masked there is nothing to be relative to: -inf - -inf would be NaN.
            const float base = new_top == -infinity ? 0.0f : new_top;
            const float shrink = expf(top[i] - base);
            weight[i] = expf(value - base);
            sum[i] = sum[i] * shrink + sum_of_warp(weight[i]);
            for (float& value_sum : acc[i]) value_sum *= shrink;
            top[i] = new_top;
        }

        __syncthreads();  // the keys have been read
        load(tile, v, first, lanes, columns);
        __syncthreads();
#pragma unroll 4
        for (unsigned key = 0; key < lanes; ++key)
            for (unsigned i = 0; i < queries; ++i) {
                const float w = __shfl_sync(all_lanes, weight[i], key);
                for (unsigned e = 0; e < elements; ++e)
                    if (e * lanes + lane < head_dim) acc[i][e] += w * tile[key][e * lanes + lane];
            }
    }

#pragma unroll
    for (unsigned i = 0; i < queries; ++i) {
        const unsigned row = block_row + my_query + i;
        if (row >= rows) continue;
        const float inverse = sum[i] == 0 ? 0.0f : 1.0f / sum[i];
#pragma unroll
        for (unsigned e = 0; e < elements; ++e) {
            const unsigned column = e * lanes + lane;
            if (column >= head_dim) continue;
            float value = acc[i][e] * inverse;
            PTXGRAFT_SITE("epilogue", "", mod(f32, value), in(u32, row), in(u32, column), in(u32, head));
            out[1ull * row * head_dim + column] = value;
        }
    }
}
