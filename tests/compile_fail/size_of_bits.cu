// error: must have the size of its PTX type
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", mod(f16, x));
#else
    PTXGRAFT_SITE("s", "", mod(b32, x));
#endif
    p[n] = x;
}
