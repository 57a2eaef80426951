// norm/layer_backward in double: a thread for each row of dweight and dbias, and so for the rows of dx that
// they sum.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

struct Operands {
    float x, dy;
};
__device__ Operands prologue(const Element* x, const Element* dy, unsigned row, unsigned column,
                             unsigned columns) {
    const unsigned long long at = 1ull * row * columns + column;
    Operands o{hardware::to_f32(x[at]), hardware::to_f32(dy[at])};
    PTXGRAFT_SITE("prologue", "", mod(f32, x, o.x), mod(f32, dy, o.dy), in(u32, row), in(u32, column));
    return o;
}

extern "C" __global__ void layer_norm_backward_reference(const Element* x, const Element* weight,
                                                         const Element* dy, const Element* dresidual,
                                                         double* dx, double* dweight, double* dbias,
                                                         unsigned rows, unsigned columns, float eps) {
    const unsigned part = blockIdx.x, parts = gridDim.x;
    double* const sums = dweight + 1ull * part * columns;
    double* const sums_of_dy = dbias + 1ull * part * columns;
    for (unsigned column = 0; column < columns; ++column) sums[column] = sums_of_dy[column] = 0;
    for (unsigned row = part; row < rows; row += parts) {
        double total = 0, squares = 0, gradients = 0, products = 0;
        for (unsigned column = 0; column < columns; ++column)
            total += prologue(x, dy, row, column, columns).x;
        const double mean = total / columns;
        for (unsigned column = 0; column < columns; ++column) {
            const Operands o = prologue(x, dy, row, column, columns);
            const double d = o.x - mean, g = o.dy * double(weight ? hardware::to_f32(weight[column]) : 1.0f);
            squares += d * d;
            gradients += g;
            products += g * d;
        }
        const double scale = 1 / sqrt(squares / columns + eps);
        for (unsigned column = 0; column < columns; ++column) {
            const unsigned long long at = 1ull * row * columns + column;
            const Operands o = prologue(x, dy, row, column, columns);
            const double h = (o.x - mean) * scale;
            const double g = o.dy * double(weight ? hardware::to_f32(weight[column]) : 1.0f);
            sums[column] += o.dy * h;
            sums_of_dy[column] += o.dy;
            float result =
                static_cast<float>(scale * (g - gradients / columns - h * scale * products / columns));
            PTXGRAFT_SITE("epilogue", "add.f32 _dx, _dx, _dresidual;", mod(f32, dx, result),
                          in(f32, dresidual, dresidual ? hardware::to_f32(dresidual[at]) : 0.0f),
                          in(u32, row), in(u32, column));
            dx[at] = result;
        }
    }
}
