// y = the fold of all elements, by sites: (s, t) = initial, then reduce(s, t, x) for each element, combine()
// of what threads and blocks have, finish(). As they are, the sum.
//
// One launch: the blocks go over the array together, each with `vectors` 16-byte loads a thread at a time,
// and the last one to end folds what each of them has.
#include "reduce.cuh"

constexpr unsigned block_step = threads * element_width;  // elements from a thread's vector to its next

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<64>)
    reduce_all(const Element* x, float* y, float* z, float* partials, unsigned* ticket, unsigned n) {
    __shared__ RowSlots<2> slots;
    const bool is_aligned = addresses_of(x) % 16 == 0;
    const unsigned first = threadIdx.x * element_width;
    Statistics statistics;
    initial(statistics);
    // 64 bits: one step past the end may be more than 2^32.
#pragma unroll 1
    for (unsigned long long begin = 1ull * blockIdx.x * held * block_step; begin < n;
         begin += 1ull * gridDim.x * held * block_step) {
        Vectors<held> words;
        for (unsigned i = 0; i < held; ++i) {
            const unsigned long long at = begin + first + i * block_step;
            const bool is_whole = at + element_width <= n;
            words[i] = load_16_if(is_whole && is_aligned, x + at);
            if (at < n && !(is_whole && is_aligned))
                words[i] = load_elements(x + at, static_cast<unsigned>(n - at));
        }
        Values<held> values;
        unpack<held>(words, values);
        for (unsigned i = 0; i < held; ++i)
            for (unsigned e = 0; e < element_width; ++e) {
                const unsigned long long at = begin + first + i * block_step + e;
                Statistics next = {statistics[0], statistics[1]};
                reduce(next, values[i][e], 0, static_cast<unsigned>(at));
                take_if(at < n, statistics, next);
            }
    }
    fold_row(statistics, slots, 0, Combine{});
    if (threadIdx.x == 0)
        for (unsigned k = 0; k < 2; ++k) partials[2 * blockIdx.x + k] = statistics[k];
    if (!is_last(ticket, gridDim.x)) return;

    initial(statistics);
#pragma unroll 1
    for (unsigned block = threadIdx.x; block < gridDim.x; block += threads) {
        const Statistics others = {partials[2 * block], partials[2 * block + 1]};
        Combine{}(statistics, others);
    }
    fold_row(statistics, slots, 1, Combine{});
    if (threadIdx.x == 0) finish(statistics, 0, n, y, z);
}
