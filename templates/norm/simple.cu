// RMS norm of each row as one would write it first: y = x / sqrt(mean(x^2) + eps) * weight. Rows of any
// length (below 2^31), one after the other in memory; weight has as many elements as a row, or is null (then
// the epilogue sees 1). norm/rms is the fast one: it reads a row once, 16 bytes at a time.
//
// A block takes a row, then the row gridDim.x further, and so on. Each thread sums its part of the row, a
// warp adds its 32 sums by shuffles, the block the sums of its warps through shared memory. The block is a
// multiple of 32 threads.
#include <ptxgraft/site.cuh>

constexpr unsigned warp_size = 32;
constexpr unsigned most_warps = 32;

// Every lane gets the sum of all 32.
__device__ float sum_of_warp(float value) {
    for (unsigned distance = warp_size / 2; distance > 0; distance /= 2)
        value += __shfl_xor_sync(0xFFFFFFFFu, value, distance);
    return value;
}

// Every thread gets the sum of the block.
__device__ float sum_of_block(float value) {
    __shared__ float sums[most_warps];
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    value = sum_of_warp(value);
    __syncthreads();  // the sums of the row before have been read
    if (lane == 0) sums[warp] = value;
    __syncthreads();
    return sum_of_warp(lane < blockDim.x / warp_size ? sums[lane] : 0.0f);
}

// An element as the norm sees it. The row is read twice and the site stands twice: it gives the same both
// times.
__device__ float element(const float* x, unsigned row, unsigned column, unsigned columns) {
    float value = x[1ull * row * columns + column];
    PTXGRAFT_SITE("prologue", "", mod(f32, x, value), in(u32, row), in(u32, column));
    return value;
}

extern "C" __global__ void rms_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                    float* __restrict__ y, unsigned rows, unsigned columns, float eps) {
    for (unsigned long long row = blockIdx.x; row < rows; row += gridDim.x) {
        float sum = 0;
        for (unsigned column = threadIdx.x; column < columns; column += blockDim.x) {
            const float value = element(x, static_cast<unsigned>(row), column, columns);
            sum += value * value;
        }
        const float scale = rsqrtf(sum_of_block(sum) / static_cast<float>(columns) + eps);

        for (unsigned column = threadIdx.x; column < columns; column += blockDim.x) {
            float result = element(x, static_cast<unsigned>(row), column, columns) * scale;
            PTXGRAFT_SITE("epilogue", "mul.f32 _y, _y, _weight;", mod(f32, y, result),
                          in(f32, weight, weight ? weight[column] : 1.0f),
                          in(u32, row, static_cast<unsigned>(row)), in(u32, column));
            y[row * columns + column] = result;
        }
    }
}
