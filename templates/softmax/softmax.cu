// Softmax of each row: s = prologue(x), y = exp(s - max(s)) / sum(exp(s - max(s))).
//
// The maximum first, so that no exponential overflows; then their sum; both from registers: a row is read
// once and written once (rowwise/row.cuh). The exponential is 2^((s - max) log2 e), one FFMA and one MUFU.EX2
// an element. y may be x. A row of nothing but -inf, or with +inf or a NaN in it, becomes NaN.
#include <ptxgraft/site.cuh>

#include "../rowwise/row.cuh"

using namespace rowwise;

constexpr float log2_e = 1.4426950408889634f;
__device__ inline float minus_infinity() { return __int_as_float(0xFF800000); }

struct Input {
    const Element* x;  // of this row
    unsigned row;
};

template <unsigned n>
__device__ void prologue(const Input& input, Part<n> part, const Vectors<n>& loaded, Values<n>& x) {
    unpack<n>(loaded, x);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            PTXGRAFT_SITE("prologue", "", mod(f32, x, x[i][e]), in(u32, row, input.row),
                          in(u32, column, part.at(i, e)));
}
__device__ inline void read(const Input& input, const Share& share, Part<1> part, Values<1>& x) {
    Vectors<1> words;
    share.load(input.x, part, words);
    prologue(input, part, words, x);
}

template <unsigned n>
__device__ void find_largest(const Share& share, Part<n> part, const Values<n>& x, float& largest) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e)
            largest = fmaxf(largest, share.has(part, i, e) ? x[i][e] : minus_infinity());
}

// x becomes its exponential, without the factor 1 / sum. The difference is taken first: it is exact near the
// largest element, never above 0, and never overflows to a NaN.
template <unsigned n> __device__ void exponentiate(Values<n>& x, float largest) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            x[i][e] = (x[i][e] - largest) * log2_e;
            PTXGRAFT_SITE("exponent", "ex2.approx.ftz.f32 _x, _x;", mod(f32, x, x[i][e]));
        }
}

template <unsigned n>
__device__ void add_all(const Share& share, Part<n> part, const Values<n>& x, float& sum) {
    for (unsigned i = 0; i < n; ++i) {
        float of_vector = 0;
        for (unsigned e = 0; e < element_width; ++e) of_vector += share.has(part, i, e) ? x[i][e] : 0.0f;
        sum += of_vector;
    }
}

template <unsigned n>
__device__ void write(Element* y, unsigned row, const Share& share, Part<n> part, Values<n>& x, float scale) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            x[i][e] *= scale;
            PTXGRAFT_SITE("epilogue", "", mod(f32, y, x[i][e]), in(u32, row), in(u32, column, part.at(i, e)));
        }
    share.store(y, part, x);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<32>)
    softmax(const Element* x, Element* y, unsigned rows, unsigned columns) {
    __shared__ RowSlots<1> slots;
    const unsigned row = group_of_thread();
    if (row >= rows) return;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x, y)));
    const Input input{row_of(x, row, columns), row};
    Element* const y_of_row = row_of(y, row, columns);
    Vectors<held> loaded;
    Values<held> values;
    share.load(input.x, share.held_part(), loaded);
    prologue(input, share.held_part(), loaded, values);

    float largest[1] = {minus_infinity()};
    find_largest(share, share.held_part(), values, largest[0]);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        read(input, share, part, more);
        find_largest(share, part, more, largest[0]);
    }
    wait_for_start();
    fold_row(largest, slots, 0, Max{});

    float sum[1] = {0};
    exponentiate<held>(values, largest[0]);
    add_all(share, share.held_part(), values, sum[0]);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        read(input, share, part, more);
        exponentiate<1>(more, largest[0]);
        add_all(share, part, more, sum[0]);
    }
    fold_row(sum, slots, 1, Sum{});

    const float scale = __fdividef(1.0f, sum[0]);
    write(y_of_row, row, share, share.held_part(), values, scale);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        read(input, share, part, more);
        exponentiate<1>(more, largest[0]);
        write(y_of_row, row, share, part, more, scale);
    }
}
