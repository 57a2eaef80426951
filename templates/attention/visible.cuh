// Which sequence a block has, which keys its queries see, and which tiles of keys it goes over.
#pragma once
#include "sites.cuh"

namespace attention {

// Where a sequence of a batch begins in the packed array, and how long it is. Without offsets all have the
// same length. Behind the load all lanes have the same; as the compiler cannot know.
struct Sequence {
    unsigned first, length;
};
__device__ inline Sequence sequence_of(const unsigned* offsets, unsigned batch, unsigned length) {
    if (offsets == nullptr) return {batch * length, length};
    const unsigned first = __shfl_sync(0xFFFFFFFF, offsets[batch], 0);
    return {first, __shfl_sync(0xFFFFFFFF, offsets[batch + 1], 0) - first};
}

// Bits from `first` on; none from 32 on, where C++ leaves a shift undefined and PTX does not.
__device__ inline unsigned ones_from(unsigned first) {
    unsigned ones;
    asm("shl.b32 %0, %1, %2;" : "=r"(ones) : "r"(~0u), "r"(first));
    return ones;
}

// The window: the last query stands beside the last key, and each sees so many keys to the left and to the
// right of the one beside it; from 2^30 on, all there are. Causal is right = 0.
struct Window {
    int keys;        // of the sequence
    int begin, end;  // of the keys that query 0 sees; of query i, i more
    __device__ int first(unsigned row) const { return static_cast<int>(row) + begin; }
    __device__ int behind(unsigned row) const { return min(static_cast<int>(row) + end, keys); }
    // Bit i: whether the query sees key column + i.
    __device__ unsigned mask(unsigned row, unsigned column) const {
        const int seen = behind(row) - static_cast<int>(column),
                  lacking = first(row) - static_cast<int>(column);
        return ones_from(max(lacking, 0)) & ~ones_from(max(seen, 0));
    }
};
__device__ inline Window window_of(unsigned rows, unsigned columns, unsigned left, unsigned right) {
    constexpr unsigned all = 1u << 30;
    const int beside = static_cast<int>(columns - rows);
    return {static_cast<int>(columns), beside - static_cast<int>(min(left, all)),
            beside + static_cast<int>(min(right, all)) + 1};
}

// The tiles of `width` keys that a block with some queries of a sequence goes over, and what each is.
template <unsigned width> struct Tiles {
    Window window;
    unsigned first_row, last_row, head, batch;
    unsigned end;  // no key from here on

    struct Tile {
        unsigned column;
        unsigned cut;  // 0 where all of it is seen
    };
    __device__ unsigned first_column() const {
        return static_cast<unsigned>(max(window.first(first_row), 0)) / width * width;
    }
    __device__ unsigned last_end() const { return static_cast<unsigned>(max(window.behind(last_row), 0)); }
    // Leaves one of `shares` equal parts of the tiles from the column on, and returns where it begins.
    __device__ unsigned take_share(unsigned column, unsigned share, unsigned shares) {
        const unsigned count = end > column ? (end - column + width - 1) / width : 0;
        const unsigned begin = column + share * count / shares * width;
        end = min(end, column + (share + 1) * count / shares * width);
        return begin;
    }
    // From the column on the first tile that is not hidden; `column` is at `end` or beyond where there is
    // none.
    __device__ Tile from(unsigned column) const {
        for (; column < end; column += width) {
            const bool is_whole = window.first(last_row) <= static_cast<int>(column) &&
                                  static_cast<int>(column + width) <= window.behind(first_row);
            unsigned hidden = 0, cut = is_whole ? 0 : 1;
            change_tile(hidden, cut, first_row, last_row, column, column + width - 1, head, batch);
            if (hidden == 0) return {column, cut};
        }
        return {column, 0};
    }
};

}  // namespace attention
