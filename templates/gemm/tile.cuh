#pragma once
/// @file tile.cuh
/// What GEMMs by tensor copies have in common, gemm/wgmma, gemm/grouped and gemm/tcgen05: the types and
/// orders of the matrices, as their tunables say them, and how tiles of c are walked.

#include "../hardware/tma.cuh"
#include "../hardware/wgmma.cuh"  // Element, Major

namespace gemm {
using namespace hardware;

enum class Output { f32, bf16, f16 };
enum class Order { row, column };

constexpr Element type = Element::TYPE;
constexpr Output output = Output::OUTPUT;
constexpr Major major_a = Order::LAYOUT_A == Order::row ? Major::k : Major::mn;
constexpr Major major_b = Order::LAYOUT_B == Order::column ? Major::k : Major::mn;

constexpr u32 row_bytes = 128;  // of a tile in shared memory: as much as the swizzle has
constexpr u32 tile_k = row_bytes / bytes_of(type);

template <Output> struct OutOf { using Bits = unsigned short; };
template <> struct OutOf<Output::f32> { using Bits = float; };
using Out = OutOf<output>::Bits;
constexpr u32 chunk = 128 / sizeof(Out);  // columns of c that pass through shared memory at once
constexpr u32 vector = 16 / sizeof(Out);  // elements of c that a lane moves at once

/// A tile of c: its first row and column, the row where its rows end, and which matrices of the batches of a
/// and of b it is of. `c_row` is what c's row 0 of it has in all rows of c.
struct Tile {
    u32 row, col, row_end, batch_a, batch_b;
    u64 c_row;
};

/// The unit of a raster of tiles: bands of RASTER rows of tiles, column by column within a band, so that the
/// clusters that are at work share few rows of a and few columns of b, which then come from the L2 cache.
struct Unit {
    u32 row, col;
};
__device__ inline Unit unit_of(u32 index, u32 tiles_m, u32 tiles_n) {
    const u32 band = index / (RASTER * tiles_n), in_band = index % (RASTER * tiles_n);
    const u32 height = min(RASTER, tiles_m - band * RASTER);
    return {band * RASTER + in_band % height, in_band / height};
}

}  // namespace gemm
