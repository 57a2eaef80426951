// y = function(x), element by element. Any grid and block shape of one dimension computes every element.
#include <ptxgraft/site.cuh>

extern "C" __global__ void elementwise(const float* x, float* y, unsigned n) {
    // 64 bits: one stride past the end may be more than 2^32.
    const unsigned long long first = 1ull * blockIdx.x * blockDim.x + threadIdx.x;
    const unsigned long long stride = 1ull * gridDim.x * blockDim.x;
    // From sm_100 on NVRTC would unroll it, and copy the site.
#pragma unroll 1
    for (unsigned long long i = first; i < n; i += stride) {
        float result;
        PTXGRAFT_SITE("function", "mov.f32 _y, _x;", in(f32, x, x[i]), out(f32, y, result),
                      in(u32, index, static_cast<unsigned>(i)));
        y[i] = result;
    }
}
