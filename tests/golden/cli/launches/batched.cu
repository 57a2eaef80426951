// C[i] = A[i] * B[i] for matrices behind arrays of pointers, as cublasSgemmBatched takes them.
extern "C" __global__ void gemm_batched(const float* const* a, const float* const* b, float* const* c, int m, int n, int k) {
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n) return;
    const float *left = a[blockIdx.z], *right = b[blockIdx.z];
    float sum = 0;
    for (int i = 0; i < k; ++i) sum += left[row * k + i] * right[i * n + column];
    c[blockIdx.z][row * n + column] = sum;
}
