#pragma once
// A row of an array for the threads that share it, and which elements each of them has: what the kernels over
// rows (rowwise, norm, softmax, swiglu) have in common. Their tunables are macros:
//
//   TYPE      bf16, f16 or f32: the elements in memory
//   THREADS   of a block
//   PER_ROW   warp: each warp of a block has a row of its own; block: all threads share one
//   CLUSTER   blocks that share a row; 1 but for PER_ROW=block
//   VECTORS   16-byte loads of a row that a thread has in flight at once, and holds until it writes
//   LENGTHS   any: rows of any length and beginning; aligned: whole vectors that begin at multiples of 16
//             bytes; held: such, and no more of them than threads hold
//
// Thread t has the vectors t, t + s, t + 2 s … of the row, where s threads share it: neighbours read
// neighbouring 16 bytes, 512 bytes a warp. The first VECTORS of them stay in registers, so that the row is
// read once. What a longer row has beyond is the rest: a loop takes it a vector at a time, and reads it again
// in every pass.
// What a kernel without one of these tunables has.
#ifndef PER_ROW
#define PER_ROW block
#endif
#ifndef CLUSTER
#define CLUSTER 1
#endif
#ifndef LENGTHS
#define LENGTHS any
#endif

#include "../hardware/vector.cuh"
#include "../hardware/warp.cuh"

namespace rowwise {

using namespace hardware;

enum class PerRow { warp, block };
enum class Lengths { any, aligned, held };

using Element = hardware::TYPE;
constexpr unsigned element_width = width<Element>;  // elements of a vector
constexpr unsigned threads = THREADS, cluster = CLUSTER, held = VECTORS;
constexpr bool is_warp = PerRow::PER_ROW == PerRow::warp;
constexpr bool any_length = Lengths::LENGTHS == Lengths::any;
constexpr unsigned row_threads = is_warp ? warp_size : threads * cluster;
constexpr unsigned rows_per_block = is_warp ? threads / warp_size : 1;
constexpr unsigned step = row_threads * element_width;  // columns from a thread's vector to its next
static_assert(!is_warp || cluster == 1, "a warp's row has no cluster");

// For __launch_bounds__: blocks that a multiprocessor has room for. A kernel whose threads do with 128
// registers for so many elements a thread is not given more of them, else a stub that keeps a few values
// would have the assembler take all there are, and leave a multiprocessor without a second block.
constexpr unsigned elements_of_thread = held * element_width;
template <unsigned elements_in_128_registers>
constexpr unsigned resident_blocks = elements_of_thread <= elements_in_128_registers ? 512 / threads
                                     : threads < 256                                 ? 2
                                                                                     : 1;

// Some of a thread's vectors: `count` of them, the first at `column`.
template <unsigned count> struct Part {
    unsigned column;
    __device__ unsigned at(unsigned vector, unsigned element = 0) const {
        return column + vector * step + element;
    }
};
// Their elements as they stand in memory, perhaps still on their way, and as f32.
template <unsigned count> using Vectors = Words[count];
template <unsigned count> using Values = float[count][element_width];

template <unsigned n> __device__ void unpack(const Vectors<n>& from, Values<n>& to) {
    for (unsigned i = 0; i < n; ++i) hardware::unpack<Element>(from[i], to[i]);
}

// Which of the row-sharing groups of the grid this thread is in: the groups take rows in their order.
__device__ inline unsigned group_of_thread() {
    return is_warp ? blockIdx.x * rows_per_block + threadIdx.x / warp_size : blockIdx.x / cluster;
}
__device__ inline unsigned groups_of_grid() { return gridDim.x * rows_per_block / cluster; }

// Whether all rows begin at multiples of 16 bytes: of `length` elements or so far apart (if there are several
// lengths, or-ed), in arrays at `addresses`, or-ed.
__device__ inline bool are_aligned(unsigned length, unsigned long long addresses) {
    return !any_length || (length % element_width == 0 && addresses % 16 == 0);
}

// The columns of a row that are this thread's.
//
// Rows that do not all begin at multiples of 16 bytes are taken element by element, all of them as the rest:
// right, and seldom enough that code of their own, with every site again, would cost more than it gives.
struct Share {
    unsigned first, columns;
    bool is_aligned;

    // Columns from `begin` to `end`, which are 0 and the length of a row unless a kernel cuts rows.
    __device__ Share(unsigned end, bool is_aligned, unsigned begin = 0)
        : first(begin + (is_warp ? threadIdx.x % warp_size : blockIdx.x % cluster * threads + threadIdx.x) *
                            element_width),
          columns(end),
          is_aligned(is_aligned) {}

    __device__ Part<held> held_part() const { return {is_aligned ? first : columns}; }

    // #pragma unroll 1
    // for (auto part = share.rest(); share.has(part); part = share.next(part))
    // Without the pragma NVRTC unrolls such loops from sm_100 on, and copies their sites.
    __device__ Part<1> rest() const { return {is_aligned ? first + held * step : first}; }
    __device__ bool has(Part<1> part) const { return any_length && part.column < columns; }
    __device__ Part<1> next(Part<1> part) const { return {part.column + step}; }

    // Whether an element is within the row. Sites are called for those behind its end as well (a branch for
    // each would cost more than the few calls), so what they give has to be left out of sums.
    template <unsigned n> __device__ bool has(Part<n> part, unsigned vector, unsigned element) const {
        return part.at(vector, any_length && n == 1 ? element : 0) < columns;
    }

    // Begins to load all vectors of the part of a row: they are in flight together, until unpack() looks at
    // them. What is beyond the row is `otherwise`.
    template <unsigned n>
    __device__ void load(const Element* row, Part<n> part, Vectors<n>& to, Words otherwise = {}) const {
        load_below(columns, row, part, to, otherwise);
    }
    // The same of an array that may be null: `otherwise` everywhere, then. That is a row of length 0, and no
    // branch, which loads would not be moved across.
    template <unsigned n>
    __device__ void load_or(Words otherwise, const Element* row, Part<n> part, Vectors<n>& to) const {
        load_below(row ? columns : 0, row, part, to, otherwise);
    }
    template <unsigned n> __device__ void store(Element* row, Part<n> part, const Values<n>& values) const {
        Element* to = row + part.column;
        Vectors<n> words;
        for (unsigned i = 0; i < n; ++i) words[i] = pack<Element>(values[i]);
        if (n == 1 && !is_aligned) return store_elements(to, left(columns, part.column), words[0]);
        for (unsigned i = 0; i < n; ++i) store_16_if(part.at(i) < columns, to + i * step, words[i]);
    }

  private:
    template <unsigned n>
    __device__ void load_below(unsigned end, const Element* row, Part<n> part, Vectors<n>& to,
                               Words otherwise) const {
        const Element* from = row + part.column;
        if (n == 1 && !is_aligned) {
            to[0] = load_elements(from, left(end, part.column), otherwise);
            return;
        }
        for (unsigned i = 0; i < n; ++i) to[i] = load_16_if(part.at(i) < end, from + i * step, otherwise);
    }
    __device__ static unsigned left(unsigned end, unsigned column) { return column < end ? end - column : 0; }
};

// Element (row, 0) of an array whose rows are `pitch` elements apart, or null as the array is.
template <class T> __device__ T* row_of(T* array, unsigned row, unsigned pitch) {
    return array ? array + 1ull * row * pitch : nullptr;
}
template <class... T> __device__ unsigned long long addresses_of(T*... arrays) {
    return (reinterpret_cast<unsigned long long>(arrays) | ...);
}

// For kernels without folds: rows are cut into pieces of as many columns as their threads hold, and each
// group of threads has one. The pieces of a row are neighbours.
struct Piece {
    unsigned row, begin, end;  // columns
};
__device__ inline Piece piece_of_thread(unsigned columns) {
    constexpr unsigned held_columns = held * step;
    const unsigned pieces = (columns + held_columns - 1) / held_columns, group = group_of_thread();
    const unsigned begin = group % pieces * held_columns;
    return {group / pieces, begin, min(columns, begin + held_columns)};
}

// Before a cluster's first fold_row(), and as early as can be: the wait is over by then.
__device__ inline void arrive_at_start() {
    if constexpr (cluster > 1) cluster_arrive();
}
__device__ inline void wait_for_start() {
    if constexpr (cluster > 1) cluster_wait();
}

template <unsigned count> using RowSlots = FoldSlots<is_warp ? 1 : threads / warp_size, cluster, count>;

// Folds each of the values over the threads that share the row. `turn` counts the folds with these slots.
template <unsigned count, class Combine>
__device__ void fold_row(float (&values)[count], RowSlots<count>& slots, unsigned turn,
                         const Combine& combine) {
    if constexpr (is_warp)
        fold_warp(values, combine);
    else
        fold_block<threads / warp_size, cluster>(values, slots, turn, combine);
}

}  // namespace rowwise
