// norm/simple in double, a thread for each row: what it has to compute.
#include <ptxgraft/site.cuh>

__device__ float prologue(const float* x, unsigned row, unsigned column, unsigned columns) {
    float value = x[1ull * row * columns + column];
    PTXGRAFT_SITE("prologue", "", mod(f32, x, value), in(u32, row), in(u32, column));
    return value;
}

extern "C" __global__ void rms_norm_reference(const float* x, const float* weight, double* y, unsigned rows,
                                              unsigned columns, float eps) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    double squares = 0;
    for (unsigned column = 0; column < columns; ++column) {
        const double value = prologue(x, row, column, columns);
        squares += value * value;
    }
    const double scale = 1 / sqrt(squares / columns + eps);
    for (unsigned column = 0; column < columns; ++column) {
        float result = static_cast<float>(prologue(x, row, column, columns) * scale);
        PTXGRAFT_SITE("epilogue", "mul.f32 _y, _y, _weight;", mod(f32, y, result),
                      in(f32, weight, weight ? weight[column] : 1.0f), in(u32, row), in(u32, column));
        y[1ull * row * columns + column] = result;
    }
}
