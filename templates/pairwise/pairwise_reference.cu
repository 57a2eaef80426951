// pairwise, a thread for each element of c. What is folded goes through a stub, so it is f32 here too.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

extern "C" __global__ void pairwise_reference(const Element* a, const Element* b, const float* u,
                                              const float* v, double* c, unsigned m, unsigned n, unsigned k) {
    const unsigned column = blockIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x;
    if (row >= m || column >= n) return;
    float s, t, result;
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s), out(f32, t));
    for (unsigned i = 0; i < k; ++i)
        PTXGRAFT_SITE("accumulate", "{ .reg .f32 d; sub.f32 d, _a, _b; fma.rn.f32 _s, d, d, _s; }",
                      mod(f32, s), mod(f32, t), in(f32, a, hardware::to_f32(a[1ull * row * k + i])),
                      in(f32, b, hardware::to_f32(b[1ull * column * k + i])), in(u32, k, i));
    PTXGRAFT_SITE("epilogue", "mov.f32 _c, _s;", in(f32, s), in(f32, t), in(f32, u, u ? u[row] : 0.0f),
                  in(f32, v, v ? v[column] : 0.0f), out(f32, c, result), in(u32, row), in(u32, column));
    c[1ull * row * n + column] = result;
}
