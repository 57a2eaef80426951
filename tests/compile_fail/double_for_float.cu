// error: double
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    double d = 0.5 * n; PTXGRAFT_SITE("s", "", in(f32, d));
#else
    float d = 0.5f * n; PTXGRAFT_SITE("s", "", in(f32, d));
#endif
    p[n] = x;
}
