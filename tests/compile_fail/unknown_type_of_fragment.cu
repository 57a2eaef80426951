// error: unknown operand type 'v4'; the types are
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", in(u32, n), ins(v4, 4, p));
#else
    PTXGRAFT_SITE("s", "", in(u32, n), ins(f32, 4, p));
#endif
    p[n] = x;
}
