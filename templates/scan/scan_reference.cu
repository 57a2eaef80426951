// scan, one thread, one element after the other. What is folded goes through a stub, so it is f32 here too;
// for the default, whose sums would lose digits so, 512 elements at a time are folded first.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;
enum class Kind { inclusive, exclusive };

__device__ float combined(float mine, float later) {
    PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2;", mod(f32, s, mine), in(f32, s2, later));
    return mine;
}

extern "C" __global__ void scan_reference(const Element* x, double* y, unsigned n) {
    float zero;
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000;", out(f32, s, zero));
    float before = zero, folded = zero;
    for (unsigned i = 0; i < n; ++i) {
        if (i % 512 == 0) before = combined(before, folded), folded = zero;
        float value = hardware::to_f32(x[i]);
        PTXGRAFT_SITE("map", "", mod(f32, x, value), in(u32, index, i));
        const float without = combined(before, folded);
        folded = combined(folded, value);
        float result = Kind::KIND == Kind::inclusive ? combined(before, folded) : without;
        PTXGRAFT_SITE("epilogue", "", mod(f32, y, result), in(u32, index, i));
        y[i] = result;
    }
}
