// error: the words of a policy are load
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE_ALLOWING("s", "load magic", "", mod(f32, x));
#else
    PTXGRAFT_SITE_ALLOWING("s", "load warp", "", mod(f32, x));
#endif
    p[n] = x;
}
