// swiglu in double, a thread for each element: what it has to compute.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;

extern "C" __global__ void swiglu_reference(const Element* gate, const Element* up, double* y, unsigned rows,
                                            unsigned columns, unsigned pitch) {
    const unsigned column = blockIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x;
    if (column >= columns || row >= rows) return;
    float g = hardware::to_f32(gate[1ull * row * pitch + column]);
    float u = hardware::to_f32(up[1ull * row * pitch + column]);
    PTXGRAFT_SITE("prologue", "", mod(f32, gate, g), mod(f32, up, u), in(u32, row), in(u32, column));
    PTXGRAFT_SITE("activation",
                  "{ .reg .f32 e; mul.f32 e, _x, 0fBFB8AA3B; ex2.approx.ftz.f32 e, e; "
                  "add.f32 e, e, 0f3F800000; rcp.approx.ftz.f32 e, e; mul.f32 _x, _x, e; }",
                  mod(f32, x, g));
    float result = static_cast<float>(double(g) * u);
    PTXGRAFT_SITE("epilogue", "", mod(f32, y, result), in(u32, row), in(u32, column));
    y[1ull * row * columns + column] = result;
}
