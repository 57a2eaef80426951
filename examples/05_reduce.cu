// A sum in two kernels, as one finds it: each block adds its part, one thread adds the parts.
__device__ unsigned finished;  // how many sums were made

extern "C" __global__ void add_blocks(const float* x, float* partials, int n) {
    __shared__ float sums[128];
    const int each = n / gridDim.x;  // elements of a block
    float sum = 0;
    for (int i = threadIdx.x; i < each; i += blockDim.x) sum += x[blockIdx.x * each + i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) partials[blockIdx.x] = sums[0];
}

extern "C" __global__ void add_partials(const float* partials, float* sum, int blocks) {
    float all = 0;
    for (int i = 0; i < blocks; ++i) all += partials[i];
    *sum = all;
    ++finished;
}
