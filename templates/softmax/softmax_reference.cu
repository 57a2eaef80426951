// softmax in double, a thread for each row: what it has to compute.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

__device__ float prologue(const Element* x, unsigned row, unsigned column, unsigned columns) {
    float value = hardware::to_f32(x[1ull * row * columns + column]);
    PTXGRAFT_SITE("prologue", "", mod(f32, x, value), in(u32, row), in(u32, column));
    return value;
}

// The default stub's own result is only f32: the sums of it are double.
__device__ double exponent(double x, double largest) {
    float value = static_cast<float>((x - largest) * 1.4426950408889634);
    PTXGRAFT_SITE("exponent", "ex2.approx.ftz.f32 _x, _x;", mod(f32, x, value));
    return value;
}

extern "C" __global__ void softmax_reference(const Element* x, double* y, unsigned rows, unsigned columns) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double largest = prologue(x, row, 0, columns), sum = 0;
    for (unsigned column = 1; column < columns; ++column)
        largest = fmax(largest, double(prologue(x, row, column, columns)));
    for (unsigned column = 0; column < columns; ++column)
        sum += exponent(prologue(x, row, column, columns), largest);
    for (unsigned column = 0; column < columns; ++column) {
        float result = static_cast<float>(exponent(prologue(x, row, column, columns), largest) / sum);
        PTXGRAFT_SITE("epilogue", "", mod(f32, y, result), in(u32, row), in(u32, column));
        y[1ull * row * columns + column] = result;
    }
}
