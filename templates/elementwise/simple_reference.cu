// elementwise/simple: all of it is the site's.
#include <ptxgraft/site.cuh>

extern "C" __global__ void elementwise_reference(const float* x, double* y, unsigned n) {
    const unsigned index = blockIdx.x * blockDim.x + threadIdx.x;
    if (index >= n) return;
    float result;
    PTXGRAFT_SITE("function", "mov.f32 _y, _x;", in(f32, x, x[index]), out(f32, y, result), in(u32, index));
    y[index] = result;
}
