// reduce/columns, a thread for each column. The statistics go through stubs, so they are f32 here too: those
// of 32 rows at a time are combined, so that errors do not grow with the column.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

__device__ void initial(float& s, float& t) {
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s), out(f32, t));
}

extern "C" __global__ void reduce_columns_reference(const Element* x, double* y, double* z, unsigned rows,
                                                    unsigned columns) {
    const unsigned column = blockIdx.x * blockDim.x + threadIdx.x;
    if (column >= columns) return;
    float s, t;
    initial(s, t);
    for (unsigned begin = 0; begin < rows; begin += 32) {
        float s2, t2;
        initial(s2, t2);
        for (unsigned row = begin; row < rows && row < begin + 32; ++row)
            PTXGRAFT_SITE("reduce", "add.f32 _s, _s, _x;", mod(f32, s, s2), mod(f32, t, t2),
                          in(f32, x, hardware::to_f32(x[1ull * row * columns + column])), in(u32, row),
                          in(u32, column));
        PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s), mod(f32, t),
                      in(f32, s2), in(f32, t2));
    }
    PTXGRAFT_SITE("finish", "", mod(f32, s), mod(f32, t), in(u32, index, column), in(u32, count, rows));
    y[column] = s;
    if (z) z[column] = t;
}
