#pragma once
// What a norm sees of a row: prologue(x + residual).
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

struct Input {
    const Element *x, *residual;  // of this row; residual may be null
    unsigned row;
};
template <unsigned n> struct Loaded { Vectors<n> x, residual; };

template <unsigned n> __device__ Loaded<n> load(const Input& input, const Share& share, Part<n> part) {
    Loaded<n> loaded;
    share.load(input.x, part, loaded.x);
    share.load_or({}, input.residual, part, loaded.residual);
    return loaded;
}

// What the norm sees.
template <unsigned n>
__device__ void prologue(const Input& input, Part<n> part, const Loaded<n>& loaded, Values<n>& x) {
    Values<n> residual;
    unpack<n>(loaded.x, x);
    unpack<n>(loaded.residual, residual);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("prologue", "add.f32 _x, _x, _residual;", mod(f32, x, x[i][e]),
                          in(f32, residual, residual[i][e]), in(u32, row, input.row),
                          in(u32, column, part.at(i, e)));
}
