// The gradients of norm/layer: of y = h weight + bias with h = d s, d = x - mean(x) and
// s = 1 / sqrt(mean(d²) + eps), for the loss's gradient dy,
//
//   g = dy weight,   dx = s (g - mean(g) - h mean(g h)) + dresidual,
//   dweight = the sum over rows of dy h,   dbias = that of dy.
//
// Nothing but x is needed of the forward pass. The mean of x comes first; the three means that need it are
// folded at once. What sums over rows have to do with `parts` is said in rms_backward.cu.
#include "backward.cuh"

template <unsigned n>
__device__ void add_x(const Share& share, Part<n> part, const Operands<n>& o, float& sum) {
    for (unsigned i = 0; i < n; ++i) {
        float of_vector = 0;
        for (unsigned e = 0; e < element_width; ++e)
            if (share.has(part, i, e)) of_vector += o.x[i][e];
        sum += of_vector;
    }
}

// Sums of d², g and g d.
template <unsigned n>
__device__ void add_products(const Share& share, Part<n> part, const Operands<n>& o, float mean,
                             float (&sums)[3]) {
    for (unsigned i = 0; i < n; ++i) {
        float squares = 0, gradients = 0, products = 0;
        for (unsigned e = 0; e < element_width; ++e)
            if (share.has(part, i, e)) {
                const float d = o.x[i][e] - mean, g = o.dy[i][e] * o.weight[i][e];
                squares += d * d;
                gradients += g;
                products += g * d;
            }
        sums[0] += squares, sums[1] += gradients, sums[2] += products;
    }
}

struct Statistics {
    float mean, scale, mean_g, mean_gh;
};

// dx, and what the row adds to dweight and dbias.
template <unsigned n>
__device__ void finish(const Input& input, const Share& share, Part<n> part, Operands<n>& o,
                       const Statistics& s, Values<n>& dweight, Values<n>& dbias) {
    for (unsigned i = 0; i < n; ++i)
        for (unsigned e = 0; e < element_width; ++e) {
            const float h = (o.x[i][e] - s.mean) * s.scale;
            dweight[i][e] += o.dy[i][e] * h;
            dbias[i][e] += o.dy[i][e];
            o.x[i][e] = s.scale * (o.dy[i][e] * o.weight[i][e] - s.mean_g - h * s.mean_gh);
        }
    epilogue(input, share, part, o);
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<8>)
    layer_norm_backward(const Element* x, const Element* weight, const Element* dy, const Element* dresidual,
                        Element* dx, float* dweight, float* dbias, unsigned rows, unsigned columns,
                        float eps) {
    __shared__ RowSlots<1> slots_of_mean;
    __shared__ RowSlots<3> slots;
    arrive_at_start();
    const Share share(columns,
                      are_aligned(columns, addresses_of(x, weight, dy, dresidual, dx, dweight, dbias)));
    const Arrays arrays{x, weight, dy, dresidual, dx};
    const unsigned group = group_of_thread();
    float* const part_of_dweight = dweight + 1ull * group * columns;
    float* const part_of_dbias = dbias + 1ull * group * columns;
    Values<held> dweight_of_held{}, dbias_of_held{};
    clear_rest(share, part_of_dweight);
    clear_rest(share, part_of_dbias);
    wait_for_start();

    const float count = static_cast<float>(columns);
    unsigned turn = 0;
    for (unsigned row = group; row < rows; row += groups_of_grid(), ++turn) {
        const Input input(arrays, row, columns);
        Operands<held> operands;
        read(input, share, share.held_part(), operands);
        float sum[1] = {0};
        add_x(share, share.held_part(), operands, sum[0]);
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part)) {
            Operands<1> more;
            read(input, share, part, more);
            add_x(share, part, more, sum[0]);
        }
        fold_row(sum, slots_of_mean, turn, Sum{});
        const float mean = __fdividef(sum[0], count);

        float sums[3] = {0, 0, 0};
        add_products(share, share.held_part(), operands, mean, sums);
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part)) {
            Operands<1> more;
            read(input, share, part, more);
            add_products(share, part, more, mean, sums);
        }
        fold_row(sums, slots, turn, Sum{});
        const float scale = rsqrtf(__fdividef(sums[0], count) + eps);
        const Statistics statistics{mean, scale, __fdividef(sums[1], count),
                                    __fdividef(sums[2], count) * scale};

        finish(input, share, share.held_part(), operands, statistics, dweight_of_held, dbias_of_held);
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part)) {
            Operands<1> more;
            Values<1> dweight_of_more{}, dbias_of_more{};
            read(input, share, part, more);
            finish(input, share, part, more, statistics, dweight_of_more, dbias_of_more);
            add_rest(share, part, part_of_dweight, dweight_of_more);
            add_rest(share, part, part_of_dbias, dbias_of_more);
        }
    }
    write_sums(share, part_of_dweight, dweight_of_held);
    write_sums(share, part_of_dbias, dbias_of_held);
}
