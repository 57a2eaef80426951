// elementwise/map, a thread for each element: what it has to compute. All of it is the site's.
#include <ptxgraft/site.cuh>

#include "../hardware/vector.cuh"

using Element = hardware::TYPE;
enum class Shape { none, full, row, column, scalar, strided };

__device__ float operand(Shape shape, const Element* x, unsigned row, unsigned column, unsigned row_stride,
                         unsigned column_stride) {
    if (shape == Shape::none) return 0;
    const bool has_rows = shape == Shape::full || shape == Shape::column || shape == Shape::strided;
    const bool has_columns = shape == Shape::full || shape == Shape::row || shape == Shape::strided;
    const unsigned long long at =
        (has_rows ? 1ull * row * row_stride : 0) +
        (has_columns ? 1ull * column * (shape == Shape::strided ? column_stride : 1) : 0);
    return hardware::to_f32(x[at]);
}

extern "C" __global__ void map_reference(const Element* x0, const Element* x1, const Element* x2, double* y,
                                         unsigned rows, unsigned columns, unsigned row_stride0,
                                         unsigned row_stride1, unsigned row_stride2, unsigned row_stride_y,
                                         unsigned column_stride0, unsigned column_stride1,
                                         unsigned column_stride2) {
    const unsigned column = blockIdx.y * blockDim.x + threadIdx.x, row = blockIdx.x;
    if (column >= columns || row >= rows) return;
    float result;
    PTXGRAFT_SITE("function", "add.f32 _y, _x0, _x1; add.f32 _y, _y, _x2;",
                  in(f32, x0, operand(Shape::SHAPE_0, x0, row, column, row_stride0, column_stride0)),
                  in(f32, x1, operand(Shape::SHAPE_1, x1, row, column, row_stride1, column_stride1)),
                  in(f32, x2, operand(Shape::SHAPE_2, x2, row, column, row_stride2, column_stride2)),
                  out(f32, y, result), in(u32, row), in(u32, column));
    y[1ull * row * row_stride_y + column] = result;
}
