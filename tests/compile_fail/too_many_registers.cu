// error: a site has at most 256 registers
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", ins(f32, 256, p), in(u32, n));
#else
    PTXGRAFT_SITE("s", "", ins(f32, 255, p), in(u32, n));
#endif
    p[n] = x;
}
