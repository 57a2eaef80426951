// reduce/all, one block of 1024 threads. The statistics go through stubs, so they are f32 here too, and are
// combined by a tree, so that errors stay small.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

__device__ void initial(float& s, float& t) {
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s), out(f32, t));
}
__device__ void combine(float& s, float& t, float s2, float t2) {
    PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s), mod(f32, t),
                  in(f32, s2), in(f32, t2));
}

extern "C" __global__ void reduce_all_reference(const Element* x, double* y, double* z, unsigned n) {
    __shared__ float of_threads[2][1024];
    const unsigned me = threadIdx.x, everyone = blockDim.x;
    float s, t;
    initial(s, t);
    for (unsigned long long i = me; i < n; i += everyone)
        PTXGRAFT_SITE("reduce", "add.f32 _s, _s, _x;", mod(f32, s), mod(f32, t),
                      in(f32, x, hardware::to_f32(x[i])), in(u32, row, 0), in(u32, column, unsigned(i)));
    of_threads[0][me] = s, of_threads[1][me] = t;
    for (unsigned distance = everyone / 2; distance > 0; distance /= 2) {
        __syncthreads();
        if (me >= distance) continue;
        combine(of_threads[0][me], of_threads[1][me], of_threads[0][me + distance],
                of_threads[1][me + distance]);
    }
    if (me != 0) return;
    s = of_threads[0][0], t = of_threads[1][0];
    PTXGRAFT_SITE("finish", "", mod(f32, s), mod(f32, t), in(u32, index, 0), in(u32, count, n));
    *y = s;
    if (z) *z = t;
}
