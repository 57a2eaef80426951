#pragma once
/// @file wgmma_prologue.cuh
/// The sites prologue_a and prologue_b of the GEMMs of wgmma.cuh: what is multiplied of an element of a or b.
/// Both see words as those of mma.cu do, elements that follow each other along k, however a and b lie in
/// memory. A goes to `wgmma` through registers, where the site is. B it reads from shared memory alone, so
/// the consumers rewrite its tile there before the first product.

#include <ptxgraft/site.cuh>

#include "../hardware/copy.cuh"
#include "../hardware/mma.cuh"
#include "wgmma_tile.cuh"

namespace gemm {

enum class Prologue { none, a, b, both };
constexpr Prologue prologue = Prologue::PROLOGUE;
constexpr bool has_prologue_a = prologue == Prologue::a || prologue == Prologue::both;
constexpr bool has_prologue_b = prologue == Prologue::b || prologue == Prologue::both;
constexpr u32 word = 4 / bytes_of(type);  // elements that a site sees at once

/// A consumer's part of a's tiles, as `wgmma` takes it in registers: ldmatrix gives it as mma.sync has it.
struct ReaderOfA {
    static constexpr u32 step_k = 32 / bytes_of(type);  // elements along k of one product

    u32 first;  // this lane's address in the first stage
    u32 row;    // of a: that of the lane's register 0
    u32 k;      // the lane's first one, in a step

    __device__ ReaderOfA(u32 tile_row, u32 own_rows) {
        const u32 warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
        const u32 begin = shared_address(shared) + own_rows * row_bytes;
        // Of the 8 x 8 matrix whose rows' addresses this lane gives, the halves of the 16 rows and of k.
        const u32 half = lane / 8 % 2, half_k = lane / 16;
        const u32 line = major_a == Major::k ? 16 * warp + 8 * half + lane % 8 : 8 * half_k + lane % 8;
        const u32 unit = major_a == Major::k ? half_k : 2 * warp + half;
        first = begin + swizzled_offset<row_bytes>(line, unit);
        row = tile_row + own_rows + 16 * warp + lane / 4;
        k = lane % 4 * word;
    }
    /// 64 rows of a step's elements of k, the first of which is k0.
    __device__ __forceinline__ void load(u32 (&to)[4], u32 stage, u32 block, u32 step, u32 k0) const {
        const u32 at = first + stage + block * 64 * row_bytes;
        if constexpr (major_a == Major::k)
            ldmatrix_x4(to, at ^ step * 32);
        else
            ldmatrix_x4_trans(to, at + step * step_k * row_bytes);
#pragma unroll
        for (u32 i = 0; i < 4; ++i)
            PTXGRAFT_HOT_SITE("prologue_a", "", mod(b32, x, to[i]),
                              in(u32, row, row + 64 * block + i % 2 * 8),
                              in(u32, k, k0 + k + step * step_k + i / 2 * 4 * word));
    }
};

/// What rewrites b's tile in shared memory: all threads that multiply it, two units of 16 bytes at a time.
struct WriterOfB {
    static constexpr u32 rewriters = 128 * readers;
    static constexpr u32 rounds = b_bytes / (32 * rewriters);
    static constexpr u32 lines = rewriters / 8;  // that they have at once, of 8 units each

    u32 first;   // this thread's address in the first stage
    u32 col, k;  // of b: those of the thread's first element, in the tile's first round and step

    __device__ WriterOfB(u32 tile_col) {
        const u32 thread = (threadIdx.x - 128) % rewriters, unit = thread % 8;
        const u32 line = major_b == Major::k ? thread / 8 : thread / 8 * 2;
        first = shared_address(shared) + a_bytes + swizzled_offset<row_bytes>(line, unit);
        col = tile_col + (major_b == Major::k ? line : unit * 8);
        k = major_b == Major::k ? unit * 4 * word : line;
    }
    static __device__ __forceinline__ void fill_site(u32& x, u32 col, u32 k) {
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(u32, col), in(u32, k));
    }
    /// A tile along k: the units are of columns `lines` apart.
    static __device__ __forceinline__ void fill_along_k(u32 (&units)[2][4], u32 col, u32 k) {
#pragma unroll
        for (u32 i = 0; i < 8; ++i) fill_site(units[i / 4][i % 4], col + i / 4 * lines, k + i % 4 * word);
    }
    /// A tile along n: the units are of k and k + 1, and have two columns in each word.
    static __device__ __forceinline__ void fill_along_n(u32 (&units)[2][4], u32 col, u32 k) {
#pragma unroll
        for (u32 i = 0; i < 4; ++i) {
            u32 even = __byte_perm(units[0][i], units[1][i], 0x5410);
            u32 odd = __byte_perm(units[0][i], units[1][i], 0x7632);
            fill_site(even, col + 2 * i, k);
            fill_site(odd, col + 2 * i + 1, k);
            units[0][i] = __byte_perm(even, odd, 0x5410);
            units[1][i] = __byte_perm(even, odd, 0x7632);
        }
    }
    /// What can be done for a stage before it is full.
    __device__ void prepare(u32) {}
    /// The stage's tile, the first of whose elements of k is k0; all threads that multiply it then see it.
    __device__ __forceinline__ void rewrite(u32 stage, u32 k0, u32 barrier) const {
#pragma unroll 1
        for (u32 round = 0; round < rounds; ++round) {
            const u32 at = first + stage + round * 32 * rewriters;
            const u32 next = major_b == Major::k ? at + lines * row_bytes : (at ^ 16) + row_bytes;
            u32 units[2][4];
            ld_shared(units[0], at);
            ld_shared(units[1], next);
            if constexpr (major_b == Major::k)
                fill_along_k(units, col + round * 2 * lines, k0 + k);
            else  // panels of 64 columns have a line for each of 64 of k
                fill_along_n(units, col + round * 2 * lines / 64 * 64, k0 + k + round * 2 * lines % 64);
            st_shared(at, units[0]);
            st_shared(next, units[1]);
        }
        fence_proxy_async_shared();  // wgmma reads through another proxy than st.shared writes
        bar_sync(barrier, rewriters);
    }
};

}  // namespace gemm
