#pragma once
/// @file wgmma_quantised.cuh
/// Where b is stored in fewer bits than it is multiplied in: what the producer copies, and how the consumers
/// make a tile of the product's type of it, in the same place of shared memory.

#include "../hardware/narrow.cuh"
#include "wgmma.cuh"

namespace gemm {

constexpr Narrow stored = Narrow::TYPE_B;
constexpr u32 stored_row_bytes =
    tile_k * bits_of(stored) / 8;  // of a stored tile: a column's elements along k
using Piece = NarrowPiece<stored>;

/// The scales of b: `groups` for each column, of GROUP elements along k each. Null: 1.
struct Scales {
    const float* array;
    u32 n, groups;
};

/// All threads that multiply a tile: each reads its pieces of the stored tile, and when all have done so,
/// they write a tile of the product's type over it.
struct Dequantiser {
    static constexpr u32 rewriters = 128 * readers;
    static constexpr u32 pieces_of_line = tile_k / 16, lines = rewriters / pieces_of_line;
    static constexpr u32 pieces = tile_n / lines;  // of a thread: one of each `lines`-th column
    static_assert(tile_k == 64 && GROUP % tile_k == 0 && tile_n % lines == 0);

    const Scales& scales;
    u32 tile, line, piece;  // where the stages' tiles begin, and what this thread has of one
    u32 col, batch;         // of b, in the first line
    float scale[pieces];

    __device__ Dequantiser(const Scales& scales, const Tile& tile)
        : scales(scales),
          tile(shared_address(shared) + a_bytes),
          line((threadIdx.x - 128) % rewriters / pieces_of_line),
          piece(threadIdx.x % pieces_of_line),
          col(tile.col + line),
          batch(tile.batch_b) {}

    __device__ __forceinline__ void prepare(u32 k0) {
#pragma unroll
        for (u32 i = 0; i < pieces; ++i)
            scale[i] = load_if(scales.array && col + i * lines < scales.n, scales.array,
                               (u64{batch} * scales.n + col + i * lines) * scales.groups + k0 / GROUP, 1.0f);
    }
    __device__ __forceinline__ void rewrite(u32 stage, u32 k0, u32 barrier) const {
        Piece values[pieces];
        const u32 from = tile + stage + line * stored_row_bytes + piece * Piece::bytes;
#pragma unroll
        for (u32 i = 0; i < pieces; ++i) values[i].load(from + i * lines * stored_row_bytes);
        bar_sync(barrier, rewriters);
#pragma unroll
        for (u32 i = 0; i < pieces; ++i)
#pragma unroll
            for (u32 half = 0; half < 2; ++half) {
                u32 words[4];
#pragma unroll
                for (u32 j = 0; j < 4; ++j)
                    words[j] = word_of(values[i], 4 * half + j, i, k0 + 16 * piece + 8 * half + 2 * j);
                st_shared(
                    tile + stage + i * lines * row_bytes + swizzled_offset<row_bytes>(line, 2 * piece + half),
                    words);
            }
        fence_proxy_async_shared();
        bar_sync(barrier, rewriters);
    }

  private:
    __device__ __forceinline__ u32 word_of(const Piece& values, u32 pair, u32 i, u32 k) const {
        float low, high;
        values.pair(pair, low, high);
        u32 x = hardware::pack(low * scale[i], high * scale[i], hardware::TYPE{});
        PTXGRAFT_HOT_SITE("prologue_b", "", mod(b32, x), in(f32, low), in(f32, high),
                          in(f32, scale, scale[i]), in(u32, col, col + i * lines), in(u32, k));
        return x;
    }
};

/// What a producer copies: b's tiles as they are stored, where those of the product's type will be.
struct Quantised {
    static constexpr u32 stored_bytes = tile_n * stored_row_bytes, bytes = a_bytes + stored_bytes;
    const TensorMap &a, &b;
    Scales scales;

    __device__ void begin(const Tile&, u32) {}
    __device__ void copy(const Tile& tile, u32 k0, u32 stage, u32 rank) {
        const u32 to = shared_address(shared) + stage * stage_bytes, full = full_of(stage);
        copy_matrix<major_a, tile_m, cluster_n>(a, to, full, tile.row, k0, tile.batch_a, rank);
        const u32 own = cluster_m > 1 ? rank * (tile_n / cluster_m) : 0, x = k0 * bits_of(stored) / 8;
        const u32 to_own = to + a_bytes + own * stored_row_bytes;
        if constexpr (cluster_m > 1)
            tma_load_3d_multicast(to_own, b, full, x, tile.col + own, tile.batch_b, 3);
        else
            tma_load_3d(to_own, b, full, x, tile.col + own, tile.batch_b);
    }
    __device__ Dequantiser writer(const Tile& tile) const { return Dequantiser(scales, tile); }
};

}  // namespace gemm
