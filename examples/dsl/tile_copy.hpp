#pragma once
/// @file tile_copy.hpp
/// Tiles of a matrix of elements of 16 bits, copied into shared memory one after the other along K, by
/// cp.async of all threads of a block (sm_80). What is beyond an edge is written as zeros.

#include "gemm_output.hpp"
#include "ptxgraft/dsl.hpp"

namespace gemm {

/// A tile in shared memory: panels one behind the other, each of rows that are as wide as their swizzle.
/// K-major: one panel, whose rows run along K. MN-major: panels of 64 elements of M or N, with a row for each
/// element of K.
struct StagedTile {
    Major major = Major::k;
    TileRows rows_are;
    std::uint32_t rows = 0, panels = 1;

    [[nodiscard]] constexpr std::uint32_t panel_bytes() const { return rows * rows_are.row_bytes; }
    [[nodiscard]] constexpr std::uint32_t bytes() const { return panels * panel_bytes(); }
};
constexpr StagedTile staged_tile(Major major, std::uint32_t mn, std::uint32_t depth) {
    if (major == Major::k) return {major, tile_of(2 * depth), mn};
    return {major, tile_of(128), depth, mn / 64};
}

/// A matrix in global memory: `mn` rows of A, or columns of B, of which each has `depth` elements; rows,
/// which run along K or along M or N, are `ld` elements apart.
struct Matrix {
    Reg<u64> address;
    Reg<u32> mn, depth, ld;
};

/// One thread's pieces of 16 bytes of some rows of each tile.
class TileCopy {
  public:
    TileCopy(Builder<sm_80>& b, const StagedTile& tile, std::uint32_t threads)
        : b_(b),
          tile_(tile),
          pieces_(tile.rows_are.pieces()),
          rows_at_once_(threads / pieces_),
          steps_(tile.rows / rows_at_once_) {}
    /// Whether threads copy whole patterns of 8 rows.
    static constexpr bool is_possible(const StagedTile& tile, std::uint32_t threads) {
        const std::uint32_t at_once = threads / tile.rows_are.pieces();
        return tile.rows_are.swizzle != ptxgraft::TensorSwizzle::none && at_once % 8 == 0 &&
               tile.rows % at_once == 0 && tile.panels > 0;
    }

    // Where the tile begins in the first stage.
    void find_thread(Value<u32, sm_80> thread, Reg<u32> begin) {
        row_ = thread / pieces_;
        piece_ = (thread % pieces_) << 4;
        const auto in_tile = value(b_, row_) * tile_.rows_are.row_bytes + piece_;
        swizzle(b_, tile_.rows_are.swizzle, in_tile);
        target_ = in_tile + begin;
    }
    // The tiles whose first row or column, along M or N, is this.
    void find_tile(const Matrix& of, Value<u32, sm_80> first) {
        const bool is_k_major = tile_.major == Major::k;
        const auto row = is_k_major ? first + row_ : value(b_, row_);
        const auto byte = is_k_major ? value(b_, piece_) : (first << 1) + piece_;
        const auto width = value(b_, is_k_major ? of.depth : of.mn) << 1;
        const auto offset = b_.reg<u64>(), along = b_.reg<u64>();
        b_.emit<"sub.s32">(rows_left_, is_k_major ? of.mn : of.depth, row);
        b_.emit<"sub.s32">(bytes_left_, width, byte);
        b_.emit<"mul.wide.u32">(offset, row, of.ld);
        b_.emit<"cvt.u64.u32">(along, byte);
        address_ = (value(b_, offset) << 1) + along + of.address;
        b_.emit<"mul.wide.u32">(step_, of.ld, 2 * rows_at_once_);
        if (!is_k_major) b_.emit<"mul.wide.u32">(next_, of.ld, 2 * tile_.rows);
    }

    // The next tile, into the stage that begins so many bytes behind the first.
    void copy(Reg<u32> stage) {
        const auto is_inside = b_.reg<pred>();
        b_.emit<"setp.gt.s32">(is_inside, rows_left_, (steps_ - 1) * rows_at_once_);
        b_.emit<"setp.ge.and.s32">(is_inside, bytes_left_, 16 + 128 * (tile_.panels - 1), is_inside);
        b_.if_(
            is_inside, [&] { copy_whole(stage); }, [&] { copy_part(stage); });
        advance();
    }

  private:
    void copy_whole(Reg<u32> stage) {
        for_each_piece(stage, [&](std::uint32_t, std::uint32_t, const auto& to, const auto& from) {
            b_.emit<"cp.async.cg.shared.global.L2::128B">(to, from, 16);
        });
    }
    // Of a piece the bytes that are in a row of the matrix, and zeros behind them.
    void copy_part(Reg<u32> stage) {
        const auto left = b_.reg<s32>();
        const auto count = b_.reg<u32>();
        const auto is_row = b_.reg<pred>();
        for_each_piece(stage, [&](std::uint32_t i, std::uint32_t panel, const auto& to, const auto& from) {
            b_.emit<"sub.s32">(left, bytes_left_, 128 * panel);
            b_.emit<"setp.gt.s32">(is_row, rows_left_, i * rows_at_once_);
            b_.emit<"selp.b32">(count, bytes_within<16>(b_, left), 0, is_row);
            async_copy<16>(b_, to, from, count);
        });
    }
    template <class Body> void for_each_piece(Reg<u32> stage, Body&& body) {
        const auto to = value(b_, target_) + stage;
        const auto row = b_.reg<u64>();
        b_.emit<"mov.u64">(row, address_);
        for (std::uint32_t i = 0; i < steps_; ++i) {
            if (i > 0) b_.emit<"add.u64">(row, row, step_);
            for (std::uint32_t panel = 0; panel < tile_.panels; ++panel)
                body(i, panel,
                     at(to, panel * tile_.panel_bytes() + i * rows_at_once_ * tile_.rows_are.row_bytes),
                     at(row, 128 * panel));
        }
    }
    void advance() {
        if (tile_.major == Major::k) {
            b_.emit<"add.u64">(address_, address_, tile_.rows_are.row_bytes);
            b_.emit<"sub.s32">(bytes_left_, bytes_left_, tile_.rows_are.row_bytes);
        } else {
            b_.emit<"add.u64">(address_, address_, next_);
            b_.emit<"sub.s32">(rows_left_, rows_left_, tile_.rows);
        }
    }

    Builder<sm_80>& b_;
    StagedTile tile_;
    std::uint32_t pieces_, rows_at_once_, steps_;   // of a row; that all threads copy together; of a thread
    Reg<u32> row_ = {}, piece_ = {}, target_ = {};  // of a thread's first piece in a tile; in the first stage
    Reg<u64> address_ = {},
             step_ = b_.reg<u64>();  // of it in the next tile; from one of its rows to the next
    Reg<u64> next_ = b_.reg<u64>();  // from tile to tile
    Reg<s32> rows_left_ = b_.reg<s32>(), bytes_left_ = b_.reg<s32>();  // from its first piece on
};

}  // namespace gemm
