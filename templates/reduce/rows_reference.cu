// reduce/rows, a thread for each row. The statistics go through stubs, so they are f32 here too: those of 32
// columns at a time are combined, so that errors do not grow with the row.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

__device__ void initial(float& s, float& t) {
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s), out(f32, t));
}

extern "C" __global__ void reduce_rows_reference(const Element* x, double* y, double* z, unsigned rows,
                                                 unsigned columns) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    float s, t;
    initial(s, t);
    for (unsigned begin = 0; begin < columns; begin += 32) {
        float s2, t2;
        initial(s2, t2);
        for (unsigned column = begin; column < columns && column < begin + 32; ++column)
            PTXGRAFT_SITE("reduce", "add.f32 _s, _s, _x;", mod(f32, s, s2), mod(f32, t, t2),
                          in(f32, x, hardware::to_f32(x[1ull * row * columns + column])), in(u32, row),
                          in(u32, column));
        PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s), mod(f32, t),
                      in(f32, s2), in(f32, t2));
    }
    PTXGRAFT_SITE("finish", "", mod(f32, s), mod(f32, t), in(u32, index, row), in(u32, count, columns));
    y[row] = s;
    if (z) z[row] = t;
}
