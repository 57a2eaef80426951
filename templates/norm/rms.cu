// RMS norm of each row: x = prologue(x + residual), y = x / sqrt(mean(x²) + eps) * weight. Where they are
// given, `residual` is added before and the sum is written to `sum` for the next layer's residual.
//
// A row is read once, held in registers, and written once (rowwise/row.cuh). y may be x or residual, and so
// may sum, if it is not y.
#include "input.cuh"

template <unsigned n>
__device__ void add_squares(const Share& share, Part<n> part, const Values<n>& x, float& sum) {
    for (unsigned i = 0; i < n; ++i) {
        float squares = 0;  // a chain of additions for each vector, not one for all
        for (unsigned e = 0; e < element_width; ++e)
            if (share.has(part, i, e)) squares += x[i][e] * x[i][e];
        sum += squares;
    }
}

struct Output {
    Element *y, *sum;  // of this row; sum may be null
    unsigned row;
    float scale;
};

template <unsigned n>
__device__ void write(const Output& output, const Share& share, Part<n> part, Values<n>& x,
                      const Vectors<n>& weights) {
    if (output.sum) share.store(output.sum, part, x);
    Values<n> weight;
    unpack<n>(weights, weight);
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            x[i][e] *= output.scale;
            PTXGRAFT_SITE("epilogue", "mul.f32 _y, _y, _weight;", mod(f32, y, x[i][e]),
                          in(f32, weight, weight[i][e]), in(u32, row, output.row),
                          in(u32, column, part.at(i, e)));
        }
    share.store(output.y, part, x);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<32>)
    rms_norm(const Element* x, const Element* residual, const Element* weight, Element* sum, Element* y,
             unsigned rows, unsigned columns, float eps) {
    __shared__ RowSlots<1> slots;
    const unsigned row = group_of_thread();
    if (row >= rows) return;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x, residual, weight, sum, y)));
    const Input input{row_of(x, row, columns), row_of(residual, row, columns), row};
    const auto loaded = load(input, share, share.held_part());
    Vectors<held> weights;
    share.load_or(ones<Element>(), weight, share.held_part(), weights);  // while the row is summed

    Values<held> values;
    prologue(input, share.held_part(), loaded, values);
    float squares[1] = {0};
    add_squares(share, share.held_part(), values, squares[0]);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        prologue(input, part, load(input, share, part), more);
        add_squares(share, part, more, squares[0]);
    }
    wait_for_start();
    fold_row(squares, slots, 0, Sum{});

    const float mean = __fdividef(squares[0], static_cast<float>(columns));
    const Output output{row_of(y, row, columns), row_of(sum, row, columns), row, rsqrtf(mean + eps)};
    write(output, share, share.held_part(), values, weights);
#pragma unroll 1
    for (auto part = share.rest(); share.has(part); part = share.next(part)) {
        Values<1> more;
        Vectors<1> weights_of_more;
        prologue(input, part, load(input, share, part), more);
        share.load_or(ones<Element>(), weight, part, weights_of_more);
        write(output, share, part, more, weights_of_more);
    }
}
