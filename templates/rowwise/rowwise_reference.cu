// rowwise, a thread for each row, one element after the other. The statistics go through stubs, so they are
// f32 here too: the sums of 32 columns at a time are combined, so that errors do not grow with the row.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

struct Arrays {
    const Element *x, *other, *weight, *bias;
};
__device__ float map(const Arrays& arrays, unsigned row, unsigned column, unsigned columns) {
    const unsigned long long at = 1ull * row * columns + column;
    float value = hardware::to_f32(arrays.x[at]);
    PTXGRAFT_SITE("map", "", mod(f32, x, value),
                  in(f32, other, arrays.other ? hardware::to_f32(arrays.other[at]) : 0.0f), in(u32, row),
                  in(u32, column));
    return value;
}

__device__ void initial(float& s, float& t) {
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s), out(f32, t));
}

extern "C" __global__ void rowwise_reference(const Element* x, const Element* other, const Element* weight,
                                             const Element* bias, double* y, unsigned rows,
                                             unsigned columns) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const Arrays arrays{x, other, weight, bias};
    float s, t;
    initial(s, t);
    for (unsigned begin = 0; begin < columns; begin += 32) {
        float s2, t2;
        initial(s2, t2);
        for (unsigned column = begin; column < columns && column < begin + 32; ++column)
            PTXGRAFT_SITE("reduce", "fma.rn.f32 _s, _x, _x, _s;", mod(f32, s, s2), mod(f32, t, t2),
                          in(f32, x, map(arrays, row, column, columns)), in(u32, row), in(u32, column));
        PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s), mod(f32, t),
                      in(f32, s2), in(f32, t2));
    }
    PTXGRAFT_SITE("finish", "rsqrt.approx.f32 _s, _s;", mod(f32, s), mod(f32, t), in(u32, row),
                  in(u32, columns));
    for (unsigned column = 0; column < columns; ++column) {
        float value = map(arrays, row, column, columns);
        PTXGRAFT_SITE(
            "apply", "mul.f32 _x, _x, _s; fma.rn.f32 _x, _x, _weight, _bias;", mod(f32, x, value), in(f32, s),
            in(f32, t), in(f32, weight, weight ? hardware::to_f32(weight[column]) : 1.0f),
            in(f32, bias, bias ? hardware::to_f32(bias[column]) : 0.0f), in(u32, row), in(u32, column));
        y[1ull * row * columns + column] = value;
    }
}
