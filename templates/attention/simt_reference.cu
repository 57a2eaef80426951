// What attention/simt computes, a query of a head by a thread, in double precision.
#include <ptxgraft/site.cuh>

__device__ double infinity() { return __longlong_as_double(0x7FF0000000000000); }

// The scaled score of a query and a key, as the site has it.
__device__ double score_of(const float* q, const float* k, float scale, unsigned row, unsigned column,
                           unsigned head) {
    double product = 0;
    for (unsigned i = 0; i < HEAD_DIM; ++i) product += double(q[i]) * k[i];
    float score = static_cast<float>(product * scale);
    PTXGRAFT_SITE("score", "", mod(f32, score), in(u32, row), in(u32, column), in(u32, head));
    return score;
}

extern "C" __global__ void attention_reference(const float* q, const float* k, const float* v, double* out,
                                               unsigned rows, unsigned columns, float scale) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x, head = blockIdx.y;
    if (row >= rows) return;
    const unsigned long long query = (1ull * head * rows + row) * HEAD_DIM;
    const unsigned long long keys = 1ull * head * columns * HEAD_DIM;
    double top = -infinity(), sum = 0, values[HEAD_DIM] = {};
    for (unsigned column = 0; column < columns; ++column)
        top = fmax(top, score_of(q + query, k + keys + 1ull * column * HEAD_DIM, scale, row, column, head));
    for (unsigned column = 0; column < columns; ++column) {
        const unsigned long long key = keys + 1ull * column * HEAD_DIM;
        const double score = score_of(q + query, k + key, scale, row, column, head);
        const double weight = score == -infinity() ? 0 : exp(score - top);
        sum += weight;
        for (unsigned i = 0; i < HEAD_DIM; ++i) values[i] += weight * v[key + i];
    }
    for (unsigned column = 0; column < HEAD_DIM; ++column) {
        float value = sum == 0 ? 0.0f : static_cast<float>(values[column] / sum);
        PTXGRAFT_SITE("epilogue", "", mod(f32, value), in(u32, row), in(u32, column), in(u32, head));
        out[query + column] = value;
    }
}
