// What gemm/simt computes, element by element. Its sums go through the site, in float: the site is the
// semiring.
#include <ptxgraft/site.cuh>

extern "C" __global__ void gemm_reference(const float* a, const float* b, const float* bias, double* c,
                                          unsigned m, unsigned n, unsigned k) {
    const unsigned col = blockIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x;
    if (col >= n) return;
    float acc;
    PTXGRAFT_SITE("initial", "mov.f32 _acc, 0f00000000;", out(f32, acc));
    for (unsigned step = 0; step < k; ++step)
        PTXGRAFT_SITE("multiply_accumulate", "fma.rn.f32 _acc, _a, _b, _acc;", mod(f32, acc),
                      in(f32, a, a[1ull * row * k + step]), in(f32, b, b[1ull * step * n + col]));
    PTXGRAFT_SITE("epilogue", "", mod(f32, acc), in(u32, row), in(u32, col),
                  in(f32, bias, bias ? bias[col] : 0.0f));
    c[1ull * row * n + col] = acc;
}
