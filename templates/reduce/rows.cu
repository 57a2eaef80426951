// y[row] = the fold of a row's elements, by sites: (s, t) = initial, then reduce(s, t, x) for each element,
// combine() of what threads have, finish(). As they are, the sum.
//
// A warp, a block or a cluster has a row, and reads it in steps of `vectors` 16-byte loads a thread.
#include "reduce.cuh"

template <unsigned n>
__device__ void add(const Element* x, unsigned row, const Share& share, Part<n> part,
                    Statistics& statistics) {
    Vectors<n> words;
    Values<n> values;
    share.load(x, part, words);
    unpack<n>(words, values);
    constexpr bool is_whole = n > 1 || !any_length;  // vectors are there or not, no parts of them
    for (unsigned i = 0; i < n; ++i) {
        Statistics next = {statistics[0], statistics[1]};
        for (unsigned e = 0; e < element_width; ++e) {
            reduce(next, values[i][e], row, part.at(i, e));
            if (!is_whole) take_if(share.has(part, i, e), statistics, next);
        }
        if (is_whole) take_if(share.has(part, i, 0), statistics, next);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<64>)
    reduce_rows(const Element* x, float* y, float* z, unsigned rows, unsigned columns) {
    __shared__ RowSlots<2> slots;
    const unsigned row = group_of_thread();
    if (row >= rows) return;
    arrive_at_start();
    const Share share(columns, are_aligned(columns, addresses_of(x)));
    const Element* const x_of_row = row_of(x, row, columns);
    Statistics statistics;
    initial(statistics);
    if (share.is_aligned) {
#pragma unroll 1
        for (Part<held> part{share.first}; part.column < columns; part.column += held * step)
            add(x_of_row, row, share, part, statistics);
    } else {
#pragma unroll 1
        for (auto part = share.rest(); share.has(part); part = share.next(part))
            add(x_of_row, row, share, part, statistics);
    }
    wait_for_start();
    fold_row(statistics, slots, 0, Combine{});
    const bool is_first_thread = threadIdx.x % (is_warp ? warp_size : threads) == 0;
    if (is_first_thread && (is_warp || blockIdx.x % cluster == 0)) finish(statistics, row, columns, y, z);
}
