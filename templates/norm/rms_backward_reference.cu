// norm/rms_backward in double: a thread for each row of dweight, and so for the rows of dx that it sums.
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

extern "C" __global__ void rms_norm_backward_reference(const Element* x, const Element* weight,
                                                       const Element* dy, const Element* dresidual,
                                                       double* dx, double* dweight, unsigned rows,
                                                       unsigned columns, float eps) {
    const unsigned part = blockIdx.x, parts = gridDim.x;
    double* const sums = dweight + 1ull * part * columns;
    for (unsigned column = 0; column < columns; ++column) sums[column] = 0;
    for (unsigned row = part; row < rows; row += parts) {
        double squares = 0, products = 0;
        for (unsigned column = 0; column < columns; ++column) {
            const Operands o = prologue(x, dy, row, column, columns);
            const double g = o.dy * double(weight ? hardware::to_f32(weight[column]) : 1.0f);
            squares += double(o.x) * o.x;
            products += g * o.x;
        }
        const double scale = 1 / sqrt(squares / columns + eps);
        const double mean = products / columns * scale;
        for (unsigned column = 0; column < columns; ++column) {
            const unsigned long long at = 1ull * row * columns + column;
            const Operands o = prologue(x, dy, row, column, columns);
            const double h = o.x * scale, g = o.dy * double(weight ? hardware::to_f32(weight[column]) : 1.0f);
            sums[column] += o.dy * h;
            float result = static_cast<float>(scale * (g - h * mean));
            PTXGRAFT_SITE("epilogue", "add.f32 _dx, _dx, _dresidual;", mod(f32, dx, result),
                          in(f32, dresidual, dresidual ? hardware::to_f32(dresidual[at]) : 0.0f),
                          in(u32, row), in(u32, column));
            dx[at] = result;
        }
    }
}
