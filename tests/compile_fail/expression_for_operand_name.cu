// error: of an operand an identifier
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", in(f32, p[0]));
#else
    PTXGRAFT_SITE("s", "", in(f32, p0, p[0]));
#endif
    p[n] = x;
}
