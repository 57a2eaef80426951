// y[column] = the fold of a column's elements, by sites: (s, t) = initial, then reduce(s, t, x) for each
// element, combine() of what threads and blocks have, finish(). As they are, the sum.
//
// A warp reads 512 neighbouring bytes of a row, 16 a lane; so a lane has the columns of one vector, the warps
// of a block have every other row, each `vectors` of them at a time, and fold what they have through shared
// memory. blockIdx.y cuts the rows into gridDim.y parts; the last block of a stripe of columns to end folds
// the parts.
#include "reduce.cuh"

constexpr unsigned warps = threads / warp_size;
constexpr unsigned stripe = warp_size * element_width;  // columns of a block

// Statistics in shared memory: those of element e of lane l's vector are at e * pitch + l. Lanes that write
// theirs are neighbours there; threads that read neighbouring columns meet in no bank either: the 32 / width
// lanes of 32 columns follow each other, and so do the groups of them for each e.
constexpr unsigned pitch = warp_size + warp_size / element_width;

using VectorStatistics = Statistics[element_width];

// The rows from `first` on, `apart` rows from one to the next.
__device__ void add_rows(const Element* x, unsigned rows, unsigned columns, unsigned column, unsigned first,
                         unsigned apart, VectorStatistics& statistics) {
#pragma unroll 1
    for (unsigned long long row = first; row < rows; row += 1ull * held * apart) {
        Words words[held];
        for (unsigned i = 0; i < held; ++i)
            words[i] = load_16_if(row + i * apart < rows && column < columns,
                                  x + (row + i * apart) * columns + column);
        for (unsigned i = 0; i < held; ++i) {
            float values[element_width];
            hardware::unpack<Element>(words[i], values);
            for (unsigned e = 0; e < element_width; ++e) {
                Statistics next = {statistics[e][0], statistics[e][1]};
                reduce(next, values[e], static_cast<unsigned>(row + i * apart), column + e);
                take_if(row + i * apart < rows, statistics[e], next);
            }
        }
    }
}
// The same where rows do not begin at multiples of 16 bytes, a row at a time.
__device__ void add_unaligned_rows(const Element* x, unsigned rows, unsigned columns, unsigned column,
                                   unsigned first, unsigned apart, VectorStatistics& statistics) {
#pragma unroll 1
    for (unsigned long long row = first; row < rows; row += apart) {
        float values[element_width];
        hardware::unpack<Element>(
            load_elements(x + row * columns + column, column < columns ? columns - column : 0), values);
        for (unsigned e = 0; e < element_width; ++e)
            reduce(statistics[e], values[e], static_cast<unsigned>(row), column + e);
    }
}

extern "C" __global__ void __launch_bounds__(THREADS, resident_blocks<64>)
    reduce_columns(const Element* x, float* y, float* z, float* partials, unsigned* tickets, unsigned rows,
                   unsigned columns) {
    __shared__ float of_warps[warps][2][element_width * pitch];
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size;
    const unsigned begin = blockIdx.x * stripe, column = begin + lane * element_width;
    const unsigned first = blockIdx.y * warps + warp, apart = gridDim.y * warps;
    VectorStatistics statistics;
    for (unsigned e = 0; e < element_width; ++e) initial(statistics[e]);
    if (are_aligned(columns, addresses_of(x)))
        add_rows(x, rows, columns, column, first, apart, statistics);
    else
        add_unaligned_rows(x, rows, columns, column, first, apart, statistics);

    for (unsigned e = 0; e < element_width; ++e)
        for (unsigned k = 0; k < 2; ++k) of_warps[warp][k][e * pitch + lane] = statistics[e][k];
    __syncthreads();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < stripe; i += threads) {
        const unsigned place = i % element_width * pitch + i / element_width, my_column = begin + i;
        Statistics all = {of_warps[0][0][place], of_warps[0][1][place]};
#pragma unroll 1
        for (unsigned w = 1; w < warps; ++w) {
            const Statistics others = {of_warps[w][0][place], of_warps[w][1][place]};
            Combine{}(all, others);
        }
        if (my_column >= columns) continue;
        for (unsigned k = 0; k < 2; ++k) partials[(2ull * blockIdx.y + k) * columns + my_column] = all[k];
    }
    if (!is_last(tickets + blockIdx.x, gridDim.y)) return;

#pragma unroll 1
    for (unsigned my_column = begin + threadIdx.x; my_column < columns && my_column < begin + stripe;
         my_column += threads) {
        Statistics all = {partials[my_column], partials[1ull * columns + my_column]};
#pragma unroll 1
        for (unsigned part = 1; part < gridDim.y; ++part) {
            const Statistics others = {partials[2ull * part * columns + my_column],
                                       partials[(2ull * part + 1) * columns + my_column]};
            Combine{}(all, others);
        }
        finish(all, my_column, rows, y, z);
    }
}
