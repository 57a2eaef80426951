// SwiGLU: y = activation(gate) * up, element by element, where the activation is SiLU, x / (1 + exp(-x));
// another stub there makes GeGLU, ReGLU or GLU of it.
//
// Rows of gate and of up are `pitch` elements apart: 2 * columns, and up = gate + columns, where one matrix
// product made both. Each group of threads has a piece of a row (rowwise/row.cuh), all loads of both arrays
// in flight together. y may be gate or up where pitch is columns.
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

struct Arrays {  // of this row
    const Element *gate, *up;
    Element* y;
    unsigned row;
};

template <unsigned n> __device__ void apply(const Arrays& arrays, const Share& share, Part<n> part) {
    Vectors<n> gate_words, up_words;
    share.load(arrays.gate, part, gate_words);
    share.load(arrays.up, part, up_words);
    Values<n> gate, up;
    unpack<n>(gate_words, gate);
    unpack<n>(up_words, up);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            PTXGRAFT_SITE("prologue", "", mod(f32, gate, gate[i][e]), mod(f32, up, up[i][e]),
                          in(u32, row, arrays.row), in(u32, column, part.at(i, e)));
            // exp(-x) is infinite far below 0, and the result is -0 then.
            PTXGRAFT_SITE("activation",
                          "{ .reg .f32 e; mul.f32 e, _x, 0fBFB8AA3B; ex2.approx.ftz.f32 e, e; "
                          "add.f32 e, e, 0f3F800000; rcp.approx.ftz.f32 e, e; mul.f32 _x, _x, e; }",
                          mod(f32, x, gate[i][e]));
            gate[i][e] *= up[i][e];
            PTXGRAFT_SITE("epilogue", "", mod(f32, y, gate[i][e]), in(u32, row, arrays.row),
                          in(u32, column, part.at(i, e)));
        }
    share.store(arrays.y, part, gate);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<32>)
    swiglu(const Element* gate, const Element* up, Element* y, unsigned rows, unsigned columns,
           unsigned pitch) {
    const Piece piece = piece_of_thread(columns);
    if (piece.row >= rows) return;
    const Share share(piece.end, are_aligned(columns | pitch, addresses_of(gate, up, y)), piece.begin);
    const Arrays arrays{row_of(gate, piece.row, pitch), row_of(up, piece.row, pitch),
                        row_of(y, piece.row, columns), piece.row};
    apply(arrays, share, share.held_part());
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) apply(arrays, share, part);
}
