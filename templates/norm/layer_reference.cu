// norm/layer in double, a thread for each row: what it has to compute.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

__device__ float prologue(const Element* x, const Element* residual, unsigned row, unsigned column,
                          unsigned long long at) {
    float value = hardware::to_f32(x[at]);
    PTXGRAFT_SITE("prologue", "add.f32 _x, _x, _residual;", mod(f32, x, value),
                  in(f32, residual, residual ? hardware::to_f32(residual[at]) : 0.0f), in(u32, row),
                  in(u32, column));
    return value;
}

extern "C" __global__ void layer_norm_reference(const Element* x, const Element* residual,
                                                const Element* weight, const Element* bias, double* sum,
                                                double* y, unsigned rows, unsigned columns, float eps) {
    const unsigned row = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= rows) return;
    const unsigned long long begin = 1ull * row * columns;
    double total = 0, squares = 0;
    for (unsigned column = 0; column < columns; ++column)
        total += prologue(x, residual, row, column, begin + column);
    const double mean = total / columns;
    for (unsigned column = 0; column < columns; ++column) {
        const double difference = prologue(x, residual, row, column, begin + column) - mean;
        squares += difference * difference;
    }
    const double scale = 1 / sqrt(squares / columns + eps);
    for (unsigned column = 0; column < columns; ++column) {
        const float value = prologue(x, residual, row, column, begin + column);
        if (sum) sum[begin + column] = value;
        float result = static_cast<float>((value - mean) * scale);
        PTXGRAFT_SITE("epilogue", "fma.rn.f32 _y, _y, _weight, _bias;", mod(f32, y, result),
                      in(f32, weight, weight ? hardware::to_f32(weight[column]) : 1.0f),
                      in(f32, bias, bias ? hardware::to_f32(bias[column]) : 0.0f), in(u32, row),
                      in(u32, column));
        y[begin + column] = result;
    }
}
