// error: the name of a site is letters
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("my site", "", mod(f32, x));
#else
    PTXGRAFT_SITE("my_site", "", mod(f32, x));
#endif
    p[n] = x;
}
