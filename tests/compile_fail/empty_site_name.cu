// error: the name of a site is letters
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("", "");
#else
    PTXGRAFT_SITE("s", "");
#endif
    p[n] = x;
}
