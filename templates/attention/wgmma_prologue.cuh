// The sites prologue_q, prologue_k and prologue_v of attention/wgmma. Operands of `wgmma` come from shared
// memory and never pass through registers, so tiles are rewritten there: each warpgroup that multiplies
// rewrites its own queries once, and the warps that have nothing to copy rewrite keys and values between
// their copy and their products. Without these sites (PROLOGUE none) nothing of this is in the kernel.
#pragma once
#include "../hardware/copy.cuh"
#include "../hardware/mma.cuh"
#include "../hardware/tma.cuh"
#include "sites.cuh"

namespace attention {

enum class Prologue { none, q, kv, both };
constexpr Prologue prologue = Prologue::PROLOGUE;
constexpr bool changes_queries = prologue == Prologue::q || prologue == Prologue::both;
constexpr bool changes_tiles = prologue == Prologue::kv || prologue == Prologue::both;

// Of a tile of panels side by side, each with 8 units of 16 bytes for each row, as tensor copies swizzle
// them: which unit a thread has in its round.
struct Unit {
    unsigned row, panel, unit;
    __device__ Unit(unsigned index, unsigned rows)
        : row(index / 8 % rows), panel(index / 8 / rows), unit(index % 8) {}
    __device__ unsigned element() const { return panel * 64 + unit * 8; }
    __device__ unsigned address(unsigned tile, unsigned panel_bytes) const {
        return tile + panel * panel_bytes + hardware::swizzled_offset<128>(row, unit);
    }
};

// The 64 queries of a warpgroup; `first` is the first of them, and `tile` where it lies.
template <unsigned head_dim>
__device__ inline void change_queries(unsigned tile, unsigned panel_bytes, const Query& first) {
#pragma unroll 1
    for (unsigned index = threadIdx.x % 128; index < 64 * ((head_dim + 63) / 64) * 8; index += 128) {
        const Unit unit(index, 64);
        if (unit.element() >= head_dim) continue;
        const unsigned at = unit.address(tile, panel_bytes);
        unsigned pairs[4];
        hardware::ld_shared(pairs, at);
#pragma unroll
        for (unsigned i = 0; i < 4; ++i)
            change_query(pairs[i], {first.row + unit.row, first.head, first.batch}, unit.element() + 2 * i);
        hardware::st_shared(at, pairs);
    }
    hardware::fence_proxy_async_shared();  // wgmma reads through another proxy than st.shared writes
}

// What rewrites tiles of keys and of values: three warps, which are `thread` 0 to 95.
template <unsigned head_dim, unsigned tile_keys> struct TileWriter {
    static constexpr unsigned warps = 3, writers = 32 * warps, units = tile_keys * ((head_dim + 63) / 64) * 8;
    static constexpr unsigned panel_bytes = tile_keys * 128;

    unsigned thread, head, batch;
    unsigned length;  // keys of the sequence

    __device__ __forceinline__ void change_keys(unsigned tile, unsigned column) const {
#pragma unroll 1
        for (unsigned index = thread; index < units; index += writers) {
            const Unit unit(index, tile_keys);
            if (unit.element() >= head_dim) continue;
            const unsigned at = unit.address(tile, panel_bytes);
            unsigned pairs[4];
            hardware::ld_shared(pairs, at);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i)
                change_key(pairs[i], column + unit.row, unit.element() + 2 * i, head, batch);
            hardware::st_shared(at, pairs);
        }
        hardware::fence_proxy_async_shared();
    }
    // Two rows at a time, whose elements are pairs of the site. Beyond the last key there are zeros.
    __device__ __forceinline__ void change_values(unsigned tile, unsigned column) const {
#pragma unroll 1
        for (unsigned index = thread; index < units / 2; index += writers) {
            Unit unit(index, tile_keys / 2);
            unit.row *= 2;
            if (unit.element() >= head_dim) continue;
            const unsigned first = unit.address(tile, panel_bytes);
            ++unit.row;
            const unsigned second = unit.address(tile, panel_bytes), key = column + unit.row - 1;
            unsigned even[4], odd[4];
            hardware::ld_shared(even, first);
            hardware::ld_shared(odd, second);
#pragma unroll
            for (unsigned i = 0; i < 4; ++i) change_pairs(even[i], odd[i], key, unit.element() + 2 * i);
            hardware::st_shared(first, even);
            hardware::st_shared(second, odd);
        }
        hardware::fence_proxy_async_shared();
    }

  private:
    // Elements `element` and the next of values `key`, which is even, and of the next.
    __device__ __forceinline__ void change_pairs(unsigned& even, unsigned& odd, unsigned key,
                                                 unsigned element) const {
        if (key + 1 >= length) odd = 0;
        unsigned lower = __byte_perm(even, odd, 0x5410), upper = __byte_perm(even, odd, 0x7632);
        change_value(lower, key, element, head, batch);
        change_value(upper, key, element + 1, head, batch);
        even = key < length ? __byte_perm(lower, upper, 0x5410) : 0;
        odd = key + 1 < length ? __byte_perm(lower, upper, 0x7632) : 0;
    }
};

}  // namespace attention
