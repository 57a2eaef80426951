// Layer norm of each row: x = prologue(x + residual), y = (x - mean(x)) / sqrt(variance(x) + eps) * weight
// + bias. Where they are given, `residual` is added before and the sum is written to `sum`.
//
// The variance is the mean of squared differences from the mean, a second pass over registers:
// mean(x²) - mean(x)² would have no digits left where the mean is large. A row is read once and written
// once (rowwise/row.cuh). y may be x or residual, and so may sum, if it is not y.
#include "input.cuh"

// The sum of f(element), a chain of additions for each vector.
template <unsigned n, class Function>
__device__ void add_all(const Share& share, Part<n> part, const Values<n>& x, float& sum, Function f) {
    for (unsigned i = 0; i < n; ++i) {
        float of_vector = 0;
        for (unsigned e = 0; e < element_width; ++e) of_vector += share.has(part, i, e) ? f(x[i][e]) : 0.0f;
        sum += of_vector;
    }
}

// The sum of f(element) over the row, divided by its length.
template <class Function>
__device__ float mean_of(const Input& input, const Share& share, const Values<held>& values,
                         RowSlots<1>& slots, unsigned turn, Function f) {
    float sum[1] = {0};
    add_all(share, share.held_part(), values, sum[0], f);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        prologue(input, part, load(input, share, part), more);
        add_all(share, part, more, sum[0], f);
    }
    if (turn == 0) wait_for_start();
    fold_row(sum, slots, turn, Sum{});
    return __fdividef(sum[0], static_cast<float>(share.columns));
}

struct Output {
    Element *y, *sum;  // of this row; sum may be null
    unsigned row;
    float mean, scale;
};

template <unsigned n>
__device__ void write(const Output& output, const Share& share, Part<n> part, Values<n>& x,
                      const Vectors<n>& weights, const Vectors<n>& biases) {
    if (output.sum) share.store(output.sum, part, x);
    Values<n> weight, bias;
    unpack<n>(weights, weight);
    unpack<n>(biases, bias);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            x[i][e] = (x[i][e] - output.mean) * output.scale;
            PTXGRAFT_SITE("epilogue", "fma.rn.f32 _y, _y, _weight, _bias;", mod(f32, y, x[i][e]),
                          in(f32, weight, weight[i][e]), in(f32, bias, bias[i][e]), in(u32, row, output.row),
                          in(u32, column, part.at(i, e)));
        }
    share.store(output.y, part, x);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<16>)
    layer_norm(const Element* x, const Element* residual, const Element* weight, const Element* bias,
               Element* sum, Element* y, unsigned rows, unsigned columns, float eps) {
    __shared__ RowSlots<1> slots;
    const unsigned row = group_of_thread();
    if (row >= rows) return;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x, residual, weight, bias, sum, y)));
    const Input input{row_of(x, row, columns), row_of(residual, row, columns), row};
    const auto loaded = load(input, share, share.held_part());
    Vectors<held> weights, biases;
    share.load_or(ones<Element>(), weight, share.held_part(), weights);  // while the row is summed
    share.load_or({}, bias, share.held_part(), biases);

    Values<held> values;
    prologue(input, share.held_part(), loaded, values);
    const float mean = mean_of(input, share, values, slots, 0, [](float x) { return x; });
    const float variance =
        mean_of(input, share, values, slots, 1, [=](float x) { return (x - mean) * (x - mean); });

    const Output output{row_of(y, row, columns), row_of(sum, row, columns), row, mean,
                        rsqrtf(variance + eps)};
    write(output, share, share.held_part(), values, weights, biases);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        Vectors<1> weights_of_more, biases_of_more;
        prologue(input, part, load(input, share, part), more);
        share.load_or(ones<Element>(), weight, part, weights_of_more);
        share.load_or({}, bias, part, biases_of_more);
        write(output, share, part, more, weights_of_more, biases_of_more);
    }
}
