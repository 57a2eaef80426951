// error: the count of a fragment is a number from 1 to 256 in digits, not '257'
#include <ptxgraft/site.cuh>

extern "C" __global__ void kernel(float* p, unsigned n) {
    float x = p[n];
#ifdef FAULT
    PTXGRAFT_SITE("s", "", ins(f32, 257, p));
#else
    PTXGRAFT_SITE("s", "", ins(f32, 256, p));
#endif
    p[n] = x;
}
