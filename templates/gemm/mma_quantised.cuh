// A b that is stored in 8 or 4 bits an element, with a scale for each GROUP of k and column: what is copied
// of it, and how a block makes tiles of a's type of that in shared memory. TYPE_B says how it is stored.
// README.md says why it is done there.
#pragma once
#define TILE_K 64
#define LAYOUT_B column
#include "../hardware/narrow.cuh"
#include "mma_tile.cuh"

constexpr Narrow type_b = Narrow::TYPE_B;

// Blocks that a multiprocessor holds: as many as shared memory is enough for, of which the assembler knows
// nothing, but no more than leave registers for stubs. Left to itself it spills what lives across the main
// loop, for blocks that shared memory has no room for.
constexpr unsigned blocks = BLOCKS;

// A tile of b as it is stored: a row of bytes for each column. Neither copies nor pieces of 16 elements, of
// which a warp reads 32 that follow each other, need a permutation.
struct StoredTile {
    static constexpr bool is_along_k = true;
    static constexpr unsigned unit = 1, depth = tile_k * bits_of(type_b) / 8;
    static constexpr unsigned row_bytes = depth, rows = tile_n, panels = 1;
    static constexpr unsigned bytes = rows * row_bytes;
    static __device__ constexpr unsigned permutation(unsigned) { return 0; }
    static __device__ constexpr unsigned offset(unsigned row, unsigned piece_of_row) {
        return row * row_bytes + piece_of_row * 16;
    }
};

// Behind a tile are its scales, one for each column, copied with it.
struct StoredMatrix {
    const unsigned char* elements;  // of this batch, as scales are
    const float* scales;            // [n, groups]; null: they are 1
};
__device__ inline unsigned groups_of(unsigned k) { return (k + GROUP - 1) / GROUP; }
__device__ inline StoredMatrix stored_matrix(const unsigned char* elements, const float* scales,
                                             unsigned batch, unsigned n, unsigned k, unsigned pitch) {
    const unsigned long long column = 1ull * batch * n;
    return {elements + column * pitch, scales ? scales + column * groups_of(k) : nullptr};
}

class QuantisedB {
  public:
    using Matrix = StoredMatrix;
    static constexpr unsigned stage_bytes = StoredTile::bytes + 1024;  // a stage begins at one of 1024
    static constexpr bool is_made = true;
    static_assert(sizeof(Element) == 2 && GROUP % tile_k == 0 && tile_n * 4 <= 1024);

    // The first stage begins at `to`, and the next ones so many bytes further on as a has too.
    __device__ QuantisedB(const Matrices<Matrix>& of, unsigned column, unsigned first_tile, unsigned to)
        : copy(of.b.elements, of.n, of.k / (8 / bits_of(type_b)), of.pitch_b, column,
               first_tile * StoredTile::depth, to),
          scales(of.b.scales),
          n(of.n),
          groups(groups_of(of.k)),
          column(column),
          first_k(first_tile * tile_k),
          tile(to) {
        if (scales) return;
#pragma unroll
        for (unsigned stage = 0; stage < stages; ++stage)
            each_scale([&](unsigned col) {
                st_shared(scale_at(stage * (TileA::bytes + stage_bytes), col), bits(1.0f));
            });
    }
    __device__ void copy_whole(unsigned stage) const {
        copy.copy_whole(stage);
        copy_scales(stage);
    }
    __device__ void copy_part(unsigned stage) const {
        copy.copy_part(stage);
        copy_scales(stage);
    }
    __device__ void advance() {
        copy.advance();
        first_k += tile_k;
    }
    // Of the tile in that stage, which begins at k, a tile of a's type at `to`. A thread reads 16 elements of
    // every so many columns, and writes two pieces of each; one column after the other, for the sake of
    // registers.
    __device__ void make(unsigned to, unsigned stage, unsigned k) const {
#pragma unroll 1
        for (unsigned i = 0; i < pieces; ++i) {
            const unsigned col = line() + i * lines;
            Piece values;
            values.load(tile + stage + col * StoredTile::row_bytes + piece_of_line() * Piece::bytes);
            const float scale = __uint_as_float(ld_shared(scale_at(stage, col)));
            const unsigned col_of_b = hidden(column) + col, k_of_piece = hidden(k) + 16 * piece_of_line();
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                unsigned words[4];
#pragma unroll
                for (unsigned j = 0; j < 4; ++j)
                    words[j] = word_of(values, 4 * half + j, scale, col_of_b, k_of_piece + 8 * half + 2 * j);
                st_shared(to + TileB::offset(col, 2 * piece_of_line() + half), words);
            }
        }
    }

  private:
    using Piece = NarrowPiece<type_b>;
    static constexpr unsigned pieces_of_line = tile_k / 16, lines = threads / pieces_of_line;
    static constexpr unsigned pieces = tile_n / lines;
    TileCopy<StoredTile> copy;
    const float* scales;
    unsigned n, groups, column;
    unsigned first_k;  // of the tile to copy next
    unsigned tile;     // where the first stage's lies

    static __device__ unsigned line() { return threadIdx.x / pieces_of_line; }
    static __device__ unsigned piece_of_line() { return threadIdx.x % pieces_of_line; }
    __device__ unsigned scale_at(unsigned stage, unsigned col) const {
        return tile + stage + StoredTile::bytes + col * 4;
    }
    __device__ void copy_scales(unsigned stage) const {
        if (!scales) return;
        each_scale([&](unsigned col) {
            const unsigned col_of_b = column + col;
            cp_async_word_zfill(scale_at(stage, col), scales + (1ull * col_of_b * groups + first_k / GROUP),
                                col_of_b < n);
        });
    }
    // Of a tile's scales those that this thread copies.
    template <class Use> static __device__ void each_scale(const Use& use) {
#pragma unroll
        for (unsigned first = 0; first < tile_n; first += threads)
            if (first + threads <= tile_n || threadIdx.x < tile_n - first) use(first + threadIdx.x);
    }
    static __device__ unsigned word_of(const Piece& values, unsigned pair, float scale, unsigned col,
                                       unsigned k) {
        float low, high;
        values.pair(pair, low, high);
        unsigned x = pack(low * scale, high * scale, Element{});
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(f32, low), in(f32, high), in(f32, scale),
                          in(u32, col), in(u32, k));
        return x;
    }
};
