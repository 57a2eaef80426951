// error: a site has a name and a default stub
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s");
#else
    PTXGRAFT_SITE("s", "");
#endif
    p[n] = x;
}
