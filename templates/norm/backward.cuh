#pragma once
// What the backward norms share: their operands, the end of dx, and sums over rows.
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

struct Arrays {
    const Element *x, *weight, *dy, *dresidual;  // weight and dresidual may be null
    Element* dx;
};

struct Input {  // the arrays, of one row
    const Element *x, *weight, *dy, *dresidual;
    Element* dx;
    unsigned row;
    __device__ Input(const Arrays& of, unsigned row, unsigned columns)
        : x(row_of(of.x, row, columns)),
          weight(of.weight),
          dy(row_of(of.dy, row, columns)),
          dresidual(row_of(of.dresidual, row, columns)),
          dx(row_of(of.dx, row, columns)),
          row(row) {}
};

template <unsigned n> struct Operands { Values<n> x, weight, dy; };

template <unsigned n>
__device__ void read(const Input& input, const Share& share, Part<n> part, Operands<n>& o) {
    Vectors<n> x, weight, dy;
    share.load(input.x, part, x);
    share.load(input.dy, part, dy);
    share.load_or(ones<Element>(), input.weight, part, weight);
    unpack<n>(x, o.x);
    unpack<n>(dy, o.dy);
    unpack<n>(weight, o.weight);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("prologue", "", mod(f32, x, o.x[i][e]), mod(f32, dy, o.dy[i][e]),
                          in(u32, row, input.row), in(u32, column, part.at(i, e)));
}

// o.x is the norm's gradient here.
template <unsigned n>
__device__ void epilogue(const Input& input, const Share& share, Part<n> part, Operands<n>& o) {
    Vectors<n> words;
    Values<n> dresidual;
    share.load_or({}, input.dresidual, part, words);
    unpack<n>(words, dresidual);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("epilogue", "add.f32 _dx, _dx, _dresidual;", mod(f32, dx, o.x[i][e]),
                          in(f32, dresidual, dresidual[i][e]), in(u32, row, input.row),
                          in(u32, column, part.at(i, e)));
    share.store(input.dx, part, o.x);
}

// Sums over rows, of f32: held columns in registers, those of the rest in memory, which no other thread
// touches; 16 bytes at a time where rows begin at such.
__device__ inline void clear_rest(const Share& share, float* sums) {
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        for (unsigned e = 0; e < element_width; e += 4)
            store_16_if(share.is_aligned, sums + part.at(0, e), {});
        for (unsigned e = 0; e < element_width; ++e)
            if (!share.is_aligned && share.has(part, 0, e)) sums[part.at(0, e)] = 0;
    }
}
__device__ inline void add_rest(const Share& share, Part<1> part, float* sums, const Values<1>& more) {
    if (share.is_aligned) {
        for (unsigned e = 0; e < element_width; e += 4) {
            float four[4];
            hardware::unpack<float>(load_16_if(true, sums + part.at(0, e)), four);
            for (unsigned i = 0; i < 4; ++i) four[i] += more[0][e + i];
            store_16_if(true, sums + part.at(0, e), pack<float>(four));
        }
        return;
    }
    for (unsigned e = 0; e < element_width; ++e)
        if (share.has(part, 0, e)) sums[part.at(0, e)] += more[0][e];
}
__device__ inline void write_sums(const Share& share, float* sums, const Values<held>& values) {
    const auto part = share.held_part();
    for (unsigned i = 0; i < held; ++i)
        for (unsigned e = 0; e < element_width; e += 4) {  // 16 bytes of f32, aligned as the row is
            const float four[4] = {values[i][e], values[i][e + 1], values[i][e + 2], values[i][e + 3]};
            store_16_if(share.is_aligned && part.at(i) < share.columns, sums + part.at(i, e),
                        pack<float>(four));
        }
}
