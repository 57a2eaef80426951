__device__ unsigned runs = 0;
__device__ float weights[4] = {1, 2, 3, 4};
extern "C" __global__ void partial(const float* x, float* partials, int n) {
    __shared__ float sums[64];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += x[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int s = 32; s > 0; s /= 2) {
        if (threadIdx.x < s) sums[threadIdx.x] += sums[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0] * weights[blockIdx.x];
}
extern "C" __global__ void total(const float* partials, float* y, int n) {
    float sum = 0;
    for (int i = 0; i < n; ++i) sum += partials[i];
    *y = sum;
    ++runs;
}
