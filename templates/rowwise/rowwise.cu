// A function of each row, made of sites: two statistics of the row, folded from its elements, and then every
// element from itself and them. Norms, softmaxes, scalings, losses are stubs here (README.md has some).
//
//   x = map(x, other)                     every element, in registers from then on
//   (s, t) = initial                      of every thread
//   (s, t) = reduce(s, t, x)              for each of its elements
//   (s, t) = combine(s, t, s', t')        of two threads, until one pair is left of the row
//   (s, t) = finish(s, t, columns)        once a row, in every thread
//   y = apply(x, s, t, weight, bias)      every element
//
// As they are, y = x / sqrt(sum(x²)) * weight + bias. A row is read once and written once (row.cuh). y may
// be x or other.
#include <ptxgraft/site.cuh>

#include "row.cuh"

using namespace rowwise;

struct Input {
    const Element *x, *other;  // of this row; other may be null
    unsigned row;
};
template <unsigned n> struct Loaded { Vectors<n> x, other; };

template <unsigned n> __device__ Loaded<n> load(const Input& input, const Share& share, Part<n> part) {
    Loaded<n> loaded;
    share.load(input.x, part, loaded.x);
    share.load_or({}, input.other, part, loaded.other);
    return loaded;
}

template <unsigned n>
__device__ void map(const Input& input, Part<n> part, const Loaded<n>& loaded, Values<n>& x) {
    Values<n> other;
    unpack<n>(loaded.x, x);
    unpack<n>(loaded.other, other);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("map", "", mod(f32, x, x[i][e]), in(f32, other, other[i][e]),
                          in(u32, row, input.row), in(u32, column, part.at(i, e)));
}

using Statistics = float[2];

template <unsigned n>
__device__ void reduce(const Input& input, const Share& share, Part<n> part, const Values<n>& x,
                       Statistics& statistics) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            Statistics next = {statistics[0], statistics[1]};
            PTXGRAFT_SITE("reduce", "fma.rn.f32 _s, _x, _x, _s;", mod(f32, s, next[0]), mod(f32, t, next[1]),
                          in(f32, x, x[i][e]), in(u32, row, input.row), in(u32, column, part.at(i, e)));
            const bool is_inside = share.has(part, i, e);
            for (unsigned k = 0; k < 2; ++k) statistics[k] = is_inside ? next[k] : statistics[k];
        }
}

struct Combine {
    __device__ void operator()(Statistics& mine, const Statistics& others) const {
        PTXGRAFT_SITE("combine", "add.f32 _s, _s, _s2; add.f32 _t, _t, _t2;", mod(f32, s, mine[0]),
                      mod(f32, t, mine[1]), in(f32, s2, others[0]), in(f32, t2, others[1]));
    }
};

struct Output {
    Element* y;  // of this row
    unsigned row;
};

template <unsigned n>
__device__ void write(const Output& output, const Share& share, Part<n> part, Values<n>& x,
                      const Statistics& statistics, const Vectors<n>& weights, const Vectors<n>& biases) {
    Values<n> weight, bias;
    unpack<n>(weights, weight);
    unpack<n>(biases, bias);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            PTXGRAFT_SITE("apply", "mul.f32 _x, _x, _s; fma.rn.f32 _x, _x, _weight, _bias;",
                          mod(f32, x, x[i][e]), in(f32, s, statistics[0]), in(f32, t, statistics[1]),
                          in(f32, weight, weight[i][e]), in(f32, bias, bias[i][e]), in(u32, row, output.row),
                          in(u32, column, part.at(i, e)));
        }
    share.store(output.y, part, x);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<16>)
    rowwise_kernel(const Element* x, const Element* other, const Element* weight, const Element* bias,
                   Element* y, unsigned rows, unsigned columns) {
    __shared__ RowSlots<2> slots;
    const unsigned row = group_of_thread();
    if (row >= rows) return;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x, other, weight, bias, y)));
    const Input input{row_of(x, row, columns), row_of(other, row, columns), row};
    const auto loaded = load(input, share, share.held_part());
    Vectors<held> weights, biases;
    share.load_or(ones<Element>(), weight, share.held_part(), weights);  // while the row is reduced
    share.load_or({}, bias, share.held_part(), biases);

    Values<held> values;
    map(input, share.held_part(), loaded, values);
    Statistics statistics;
    PTXGRAFT_SITE("initial", "mov.f32 _s, 0f00000000; mov.f32 _t, 0f00000000;", out(f32, s, statistics[0]),
                  out(f32, t, statistics[1]));
    reduce(input, share, share.held_part(), values, statistics);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        map(input, part, load(input, share, part), more);
        reduce(input, share, part, more, statistics);
    }
    wait_for_start();
    fold_row(statistics, slots, 0, Combine{});
    PTXGRAFT_SITE("finish", "rsqrt.approx.f32 _s, _s;", mod(f32, s, statistics[0]),
                  mod(f32, t, statistics[1]), in(u32, row), in(u32, columns));

    const Output output{row_of(y, row, columns), row};
    write(output, share, share.held_part(), values, statistics, weights, biases);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        Vectors<1> weights_of_more, biases_of_more;
        map(input, part, load(input, share, part), more);
        share.load_or(ones<Element>(), weight, part, weights_of_more);
        share.load_or({}, bias, part, biases_of_more);
        write(output, share, part, more, statistics, weights_of_more, biases_of_more);
    }
}
