// Keys and values of attention/quantised: stored in 8 bits, with a scale for each key and head. Tiles come as
// they are stored, into the last half of their place in shared memory; the warps that have nothing to copy
// make tiles of the product's type of them, from the place's start on, with the sites prologue_k and
// prologue_v.
#pragma once
#include "../hardware/narrow.cuh"
#include "wgmma_prologue.cuh"

namespace attention {

static_assert(changes_tiles, "what is stored in 8 bits is rewritten");
constexpr hardware::Narrow stored = hardware::Narrow::TYPE_KV;
static_assert(hardware::bits_of(stored) == 8);
using Piece = hardware::NarrowPiece<stored>;
using Product = hardware::TYPE;

// Three warps, which are `thread` 0 to 95. They go over a tile in rounds, each of which reads a piece of 16
// elements a thread, of one row or of two, and when all have read, writes two units of 16 bytes. What a round
// writes ends before what the next one reads begins: after x bytes of the n that are stored 2 x are written,
// and there are n before them.
template <unsigned head_dim, unsigned tile_keys, unsigned barrier> struct Dequantiser {
    static constexpr unsigned warps = 3, writers = 32 * warps, panels = (head_dim + 63) / 64;
    static constexpr unsigned stored_bytes = tile_keys * panels * 64, panel_bytes = tile_keys * 128;
    static constexpr unsigned pieces = stored_bytes / Piece::bytes;

    unsigned thread, head, batch;
    unsigned length;  // keys of the sequence

    // The scales of a tile's keys, or values: for rounds behind the next barrier. `place_of` a key is that of
    // its scale.
    template <class PlaceOf>
    __device__ __forceinline__ void load_scales(const float* from, unsigned column, unsigned which,
                                                const PlaceOf& place_of) const {
#pragma unroll
        for (unsigned row = thread; row < tile_keys; row += writers)
            scales(which)[row] =
                from != nullptr && column + row < length ? from[place_of(column + row)] : 1.0f;
    }
    __device__ __forceinline__ void change_keys(unsigned tile, unsigned column) const {
#pragma unroll 1
        for (unsigned first = 0; first < pieces; first += writers) {
            const unsigned index = first + thread, row = index / 4 % tile_keys;
            const unsigned element = index / 4 / tile_keys * 64 + index % 4 * 16;
            const bool is_there = index < pieces;
            Piece piece = {};
            if (is_there) piece.load(tile + stored_bytes + index * Piece::bytes);
            hardware::bar_sync(barrier, writers);
            if (!is_there || element >= head_dim) continue;
            const float scale = scales(0)[row];
            const unsigned to = place_of(tile, row, element);
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                unsigned pairs[4];
#pragma unroll
                for (unsigned i = 0; i < 4; ++i) {
                    float low, high;
                    piece.pair(4 * half + i, low, high);
                    pairs[i] = hardware::pack(low * scale, high * scale, Product{});
                    make_key(pairs[i], low, high, scale, column + row, element + 8 * half + 2 * i, head,
                             batch);
                }
                hardware::st_shared(to ^ 16 * half, pairs);
            }
        }
        hardware::fence_proxy_async_shared();
    }
    // Two rows at a time, whose elements are pairs of the site. Beyond the last key there are zeros.
    __device__ __forceinline__ void change_values(unsigned tile, unsigned column) const {
#pragma unroll 1
        for (unsigned first = 0; first < pieces / 2; first += writers) {
            const unsigned index = first + thread, row = index / 4 % (tile_keys / 2) * 2;
            const unsigned panel = index / 4 / (tile_keys / 2), element = panel * 64 + index % 4 * 16;
            const bool is_there = index < pieces / 2;
            Piece even = {}, odd = {};
            const unsigned at =
                tile + stored_bytes + (panel * tile_keys + row) * 64 + index % 4 * Piece::bytes;
            if (is_there) even.load(at), odd.load(at + 64);
            hardware::bar_sync(barrier, writers);
            if (!is_there || element >= head_dim) continue;
            // Of neighbouring pairs of rows one stores its odd row first: even rows alone would meet in half
            // of the banks.
            const unsigned is_odd = row / 2 % 2;
            const unsigned to_first = place_of(tile, row + is_odd, element);
            const unsigned to_second = place_of(tile, row + 1 - is_odd, element);
#pragma unroll
            for (unsigned half = 0; half < 2; ++half) {
                unsigned first_row[4], second_row[4];
                make_values(first_row, second_row, even, odd, half, scales(1)[row], scales(1)[row + 1],
                            column + row, element + 8 * half, is_odd);
                hardware::st_shared(to_first ^ 16 * half, first_row);
                hardware::st_shared(to_second ^ 16 * half, second_row);
            }
        }
        hardware::fence_proxy_async_shared();
    }

  private:
    static __device__ float* scales(unsigned which) {
        __shared__ float scales[2][tile_keys];
        return scales[which];
    }
    // Of elements `element`, a multiple of 16, and the next seven; the next eight are beside them, at ^ 16.
    static __device__ __forceinline__ unsigned place_of(unsigned tile, unsigned row, unsigned element) {
        return tile + element / 64 * panel_bytes + hardware::swizzled_offset<128>(row, element % 64 / 8);
    }
    // Of 8 elements, a half of 16, of values `key`, which is even, and of the next; `is_odd` says which comes
    // first.
    __device__ __forceinline__ void make_values(unsigned (&first_row)[4], unsigned (&second_row)[4],
                                                const Piece& even, const Piece& odd, unsigned half,
                                                float scale_even, float scale_odd, unsigned key,
                                                unsigned element, unsigned is_odd) const {
        const unsigned lower_halves = 0x5410, upper_halves = 0x7632;
        const unsigned of_first = is_odd == 0 ? lower_halves : upper_halves;
        const unsigned of_second = is_odd == 0 ? upper_halves : lower_halves;
#pragma unroll
        for (unsigned i = 0; i < 4; ++i) {
            float low[2], high[2];  // elements 2 i and the next: of `key`, of the next
            even.pair(4 * half + i, low[0], low[1]);
            odd.pair(4 * half + i, high[0], high[1]);
            if (key + 1 >= length) high[0] = high[1] = 0;
            unsigned pairs[2];
#pragma unroll
            for (unsigned j = 0; j < 2; ++j) {
                pairs[j] = hardware::pack(low[j] * scale_even, high[j] * scale_odd, Product{});
                make_value(pairs[j], low[j], high[j], scale_even, scale_odd, key, element + 2 * i + j, head,
                           batch);
            }
            first_row[i] = key + is_odd < length ? __byte_perm(pairs[0], pairs[1], of_first) : 0;
            second_row[i] = key + 1 - is_odd < length ? __byte_perm(pairs[0], pairs[1], of_second) : 0;
        }
    }
};

}  // namespace attention
