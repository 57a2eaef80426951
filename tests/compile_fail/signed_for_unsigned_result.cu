// error: error:
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    int i = 0; PTXGRAFT_SITE("s", "", mod(u32, i)); n = i;
#else
    unsigned i = 0; PTXGRAFT_SITE("s", "", mod(u32, i)); n = i;
#endif
    p[n] = x;
}
