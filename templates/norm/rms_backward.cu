// The gradients of norm/rms: of y = h weight with h = x s, s = 1 / sqrt(mean(x²) + eps), for the loss's
// gradient dy,
//
//   g = dy weight,   dx = s (g - h mean(g h)) + dresidual,   dweight = the sum over rows of dy h.
//
// Nothing but x is needed of the forward pass: s falls out of the pass over x that dx needs anyway, and both
// means are folded at once, as mean(g h) = s mean(g x).
//
// dweight is a sum over rows, and those are spread over the grid. There are `parts` groups of threads; group
// p takes rows p, p + parts, …, adds up in registers, and writes row p of dweight once: the sum of its rows
// is the gradient (reduce/columns adds them), in an order that no launch changes.
#include "backward.cuh"

template <unsigned n>
__device__ void add_products(const Share& share, Part<n> part, const Operands<n>& o, float (&sums)[2]) {
    for (unsigned i = 0; i < n; ++i) {
        float squares = 0, products = 0;
        for (unsigned e = 0; e < element_width; ++e)
            if (share.has(part, i, e)) {
                squares += o.x[i][e] * o.x[i][e];
                products += o.dy[i][e] * o.weight[i][e] * o.x[i][e];
            }
        sums[0] += squares, sums[1] += products;
    }
}

// dx, and what the row adds to dweight.
template <unsigned n>
__device__ void finish(const Input& input, const Share& share, Part<n> part, Operands<n>& o, float scale,
                       float mean, Values<n>& dweight) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            const float h = o.x[i][e] * scale;
            dweight[i][e] += o.dy[i][e] * h;
            o.x[i][e] = scale * (o.dy[i][e] * o.weight[i][e] - h * mean);
        }
    epilogue(input, share, part, o);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<16>)
    rms_norm_backward(const Element* x, const Element* weight, const Element* dy, const Element* dresidual,
                      Element* dx, float* dweight, unsigned rows, unsigned columns, float eps) {
    __shared__ RowSlots<2> slots;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x, weight, dy, dresidual, dx, dweight)));
    const Arrays arrays{x, weight, dy, dresidual, dx};
    const unsigned group = group_of_thread();
    float* const part_of_dweight = dweight + 1ull * group * columns;
    Values<held> sums_of_held{};
    clear_rest(share, part_of_dweight);
    wait_for_start();

    unsigned turn = 0;
    for (unsigned row = group; row < rows; row += groups_of_grid()) {
        const Input input(arrays, row, columns);
        Operands<held> operands;
        read(input, share, share.held_part(), operands);
        float sums[2] = {0, 0};
        add_products(share, share.held_part(), operands, sums);
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part)) {
            Operands<1> more;
            read(input, share, part, more);
            add_products(share, part, more, sums);
        }
        fold_row(sums, slots, turn++, Sum{});

        const float count = static_cast<float>(columns);
        const float scale = rsqrtf(__fdividef(sums[0], count) + eps);
        const float mean = __fdividef(sums[1], count) * scale;
        finish(input, share, share.held_part(), operands, scale, mean, sums_of_held);
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part)) {
            Operands<1> more;
            Values<1> sums_of_more{};
            read(input, share, part, more);
            finish(input, share, part, more, scale, mean, sums_of_more);
            add_rest(share, part, part_of_dweight, sums_of_more);
        }
    }
    write_sums(share, part_of_dweight, sums_of_held);
}
