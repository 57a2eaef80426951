// y = function(x0, x1, x2), element by element of a matrix; x1 and x2 are of the same shape, or broadcast.
// What an operand x is, by its tunable:
//
//   none      not there: 0
//   full      x[row * row_stride + column], 16 bytes at a time
//   row       x[column], the same for all rows, 16 bytes at a time
//   column    x[row * row_stride], one for all of a row
//   scalar    x[0]
//   strided   x[row * row_stride + column * column_stride], element by element: transposes, gaps
//
// Each group of threads has a piece of a row (rowwise/row.cuh), all loads of all operands in flight together.
// Dense operands of any number of dimensions are one row. y may be an operand that is read where y is
// written.
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

enum class Shape { none, full, row, column, scalar, strided };

template <Shape of> struct Operand {
    static constexpr Shape shape = of;
    const Element* x;
    unsigned row_stride, column_stride;

    __device__ const Element* at(unsigned row, unsigned column) const {
        return x + 1ull * row * row_stride + 1ull * column * column_stride;
    }
    // What it adds to the conditions for 16-byte accesses.
    __device__ unsigned length() const { return shape == Shape::full ? row_stride : 0; }
    __device__ unsigned long long address() const {
        return shape == Shape::full || shape == Shape::row ? addresses_of(x) : 0;
    }
};

__device__ inline Words splat(const Element* x) {
    const Words one = load_elements(x, 1);
    const unsigned bits = sizeof(Element) == 4 ? one.of[0] : one.of[0] * 0x10001u;
    return {{bits, bits, bits, bits}};
}

// Element by element, at their strides.
template <Shape shape>
__device__ Words gather(const Operand<shape>& operand, unsigned row, unsigned column, unsigned columns) {
    Words words{};
    for (unsigned e = 0; e < element_width; ++e) {
        const Words one = load_elements(operand.at(row, column + e), column + e < columns);
        if (sizeof(Element) == 4)
            words.of[e] = one.of[0];
        else
            words.of[e / 2] |= one.of[0] << 16 * (e % 2);
    }
    return words;
}

template <Shape shape, unsigned n>
__device__ void load(const Operand<shape>& operand, const Share& share, unsigned row, Part<n> part,
                     Vectors<n>& to) {
    if constexpr (shape == Shape::full) {
        share.load(operand.at(row, 0), part, to);
    } else if constexpr (shape == Shape::row) {
        share.load(operand.x, part, to);
    } else {
        Words all{};
        if constexpr (shape == Shape::column) all = splat(operand.at(row, 0));
        if constexpr (shape == Shape::scalar) all = splat(operand.x);
        for (unsigned i = 0; i < n; ++i)
            to[i] = shape == Shape::strided ? gather(operand, row, part.at(i), share.columns) : all;
    }
}

struct Arrays {
    Operand<Shape::SHAPE_0> x0;
    Operand<Shape::SHAPE_1> x1;
    Operand<Shape::SHAPE_2> x2;
    Element* y;  // of this row
    unsigned row;
};

template <unsigned n> __device__ void apply(const Arrays& arrays, const Share& share, Part<n> part) {
    Vectors<n> words0, words1, words2;
    load(arrays.x0, share, arrays.row, part, words0);
    load(arrays.x1, share, arrays.row, part, words1);
    load(arrays.x2, share, arrays.row, part, words2);
    Values<n> x0, x1, x2, y;
    unpack<n>(words0, x0);
    unpack<n>(words1, x1);
    unpack<n>(words2, x2);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("function", "add.f32 _y, _x0, _x1; add.f32 _y, _y, _x2;", in(f32, x0, x0[i][e]),
                          in(f32, x1, x1[i][e]), in(f32, x2, x2[i][e]), out(f32, y, y[i][e]),
                          in(u32, row, arrays.row), in(u32, column, part.at(i, e)));
    share.store(arrays.y, part, y);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<32>)
    map(const Element* x0, const Element* x1, const Element* x2, Element* y, unsigned rows, unsigned columns,
        unsigned row_stride0, unsigned row_stride1, unsigned row_stride2, unsigned row_stride_y,
        unsigned column_stride0, unsigned column_stride1, unsigned column_stride2) {
    const Piece piece = piece_of_thread(columns);
    if (piece.row >= rows) return;
    const Arrays arrays{{x0, row_stride0, column_stride0},
                        {x1, row_stride1, column_stride1},
                        {x2, row_stride2, column_stride2},
                        row_of(y, piece.row, row_stride_y),
                        piece.row};
    const unsigned lengths =
        columns | row_stride_y | arrays.x0.length() | arrays.x1.length() | arrays.x2.length();
    const unsigned long long addresses =
        addresses_of(y) | arrays.x0.address() | arrays.x1.address() | arrays.x2.address();
    const Share share(piece.end, are_aligned(lengths, addresses), piece.begin);
    apply(arrays, share, share.held_part());
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) apply(arrays, share, part);
}
