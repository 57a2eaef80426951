#pragma once
/// @file dsl/schedule.hpp
/// Which block computes which tiles of a matrix, in which order. A grid of any size is launched, as many
/// blocks as run at the same time, and each takes tile after tile.
///
/// @code
/// TileSchedule schedule(k);
/// schedule.for_each({tiles_m, tiles_n}, [&](const TilePlace& tile) {
///     …                                             // the tile at row tile.row and column tile.col of tiles
/// });
/// @endcode
///
/// Tiles are numbered in bands of some rows of tiles, and in a band column after column. What runs at the
/// same time is then a block of tiles that is about as wide as high, which need few rows of A and columns of
/// B: L2 has them. Here with bands of 2, 3 rows and 4 columns:
/// @code
/// 0 2 4 6
/// 1 3 5 7
/// 8 9 10 11
/// @endcode
///
/// Several problems, of sizes of their own, are one row of tiles: for_each() once for each, one after the
/// other, with the same schedule. Blocks that had no tile of one problem begin with the next.

#include <cstdint>

#include "ptxgraft/dsl/builder.hpp"
#include "ptxgraft/dsl/value.hpp"

namespace ptxgraft::dsl {

/// How many rows and columns of tiles there are: none of a problem that is empty.
struct TileGrid {
    Reg<u32> rows, cols;
};
/// A tile, in tiles.
struct TilePlace {
    Reg<u32> row, col;
};

/// So many tiles of this size cover a length: `add.u32 %u1, length, tile - 1;` `div.u32 %u1, %u1, tile;`. The
/// length is at most 2^32 - tile.
template <Target On> [[nodiscard]] Reg<u32> tiles_over(Builder<On>& b, Reg<u32> length, std::uint32_t tile) {
    return (value(b, length) + (tile - 1)) / tile;
}

/// Where the tile of this number is, in a grid that has it, by bands of so many rows:
/// @code
/// mul.lo.u32 %tiles, cols, 8;          // of a band
/// div.u32 %band, number, %tiles;
/// mul.lo.u32 %before, %band, %tiles;
/// sub.u32 %inside, number, %before;
/// mul.lo.u32 %first, %band, 8;         // its first row
/// sub.u32 %high, rows, %first;
/// min.u32 %high, %high, 8;             // the last band may have fewer
/// div.u32 col, %inside, %high;
/// mul.lo.u32 %above, col, %high;
/// sub.u32 row, %inside, %above;
/// add.u32 row, row, %first;
/// @endcode
/// All products are below 2^32: there are fewer tiles than that, together with those that a whole last band
/// would have.
template <Target On>
[[nodiscard]] TilePlace tile_at(Builder<On>& b, Reg<u32> number, const TileGrid& of, std::uint32_t band = 8) {
    const auto tiles = value(b, of.cols) * band, which = value(b, number) / tiles;
    const auto before = which * tiles, inside = value(b, number) - before;
    const auto first = which * band;
    const auto high = value(b, of.rows) - first;
    b.template emit<"min.u32">(high, high, band);
    const auto col = inside / high, above = col * high;
    const auto row = inside - above;
    b.template emit<"add.u32">(row, row, first);
    return {row, col};
}

/// The tiles of a block, or of a cluster whose blocks compute one tile together. The grid counts in x alone.
template <Target On> class TileSchedule {
  public:
    /// `mov.u32 next, %ctaid.x;` `mov.u32 step, %nctaid.x;`: every block takes tiles of its own. `band`: rows
    /// of tiles in a band.
    explicit TileSchedule(Builder<On>& b, std::uint32_t band = 8)
        : TileSchedule{b, read<"%ctaid.x">(b), read<"%nctaid.x">(b), band} {}
    /// `mov.u32 next, %clusterid.x;` `mov.u32 step, %nclusterid.x;`: every cluster does.
    [[nodiscard]] static TileSchedule of_clusters(Builder<On>& b, std::uint32_t band = 8) {
        return {b, read<"%clusterid.x">(b), read<"%nclusterid.x">(b), band};
    }

    /// The body for each of this block's tiles, and on to what comes after the grid's last:
    /// @code
    /// mul.lo.u32 %tiles, rows, cols;
    /// L1:
    /// setp.ge.u32 %p, next, %tiles;
    /// @%p bra L2;
    /// …                              // tile_at(next), the body
    /// add.u32 next, next, step;
    /// bra.uni L1;
    /// L2:
    /// sub.u32 next, next, %tiles;    // of the next problem's tiles the first that is this block's
    /// @endcode
    /// Registers are the same in all threads that come here.
    template <class Body> void for_each(const TileGrid& of, Body&& body) const {
        const auto tiles = value(b_, of.rows) * of.cols;
        b_.loop([&](Label end) {
            b_.if_(value(b_, next_) >= tiles).template emit<"bra">(end);
            body(tile_at(b_, next_, of, band_));
            b_.template emit<"add.u32">(next_, next_, step_);
        });
        b_.template emit<"sub.u32">(next_, next_, tiles);
    }

  private:
    TileSchedule(Builder<On>& b, Reg<u32> next, Reg<u32> step, std::uint32_t band)
        : b_(b), next_(next), step_(step), band_(band) {}
    Builder<On>& b_;
    Reg<u32> next_, step_;
    std::uint32_t band_;
};

}  // namespace ptxgraft::dsl
