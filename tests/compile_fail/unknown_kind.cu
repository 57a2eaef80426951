// error: is no operand; operands are in(TYPE, NAME)
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", inout(f32, x));
#else
    PTXGRAFT_SITE("s", "", mod(f32, x));
#endif
    p[n] = x;
}
