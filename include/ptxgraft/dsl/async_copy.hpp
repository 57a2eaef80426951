#pragma once
/// @file dsl/async_copy.hpp
/// Copies from global to shared memory that go on while a thread computes: of 4, 8 or 16 bytes by every
/// thread (cp.async, from sm_80 on, PTX 7.0; PTX ISA 9.7.9.25.3.1), of rows by all threads of a block, and in
/// bulk or by a tensor map by one, at whose end an mbarrier is told (cp.async.bulk, from sm_90 on, PTX 8.0;
/// PTX ISA 9.7.9.25.4, 9.7.9.25.5).
///
/// @code
/// async_copy<16>(b, at(to), at(from));                              // 16 bytes
/// async_copy<16>(b, at(to), at(from), bytes_within<16>(b, left));   // those before an edge, and zeros
/// b.emit<"cp.async.commit_group">();
///
/// bulk_copy(k, full, here, {{a, a_from, 4096}, {b, b_from, 2048}});    // 6144 bytes are announced
/// @endcode

#include <cstdint>
#include <initializer_list>

#include "ptxgraft/dsl/matrix.hpp"
#include "ptxgraft/dsl/pipeline.hpp"
#include "ptxgraft/dsl/value.hpp"

namespace ptxgraft::dsl {

/// The name of a copy of so many bytes, for emit: only those of 16 go past L1 (.cg).
/// `cp.async.ca.shared.global` of 4 and 8, `cp.async.cg.shared.global` of 16.
template <std::uint32_t Bytes>
requires(Bytes == 4 || Bytes == 8 || Bytes == 16) inline constexpr auto cp_async = [] {
    constexpr std::string_view name = "cp.async.ca.shared.global";
    Literal<name.size() + 1> made;
    for (std::size_t i = 0; i < name.size(); ++i) made.text[i] = name[i];
    if (Bytes == 16) made.text[10] = 'g';
    return made;
}();

/// `cp.async.cg.shared.global [to], [from], 16;`: addresses, both multiples of Bytes.
template <std::uint32_t Bytes, Target On, Operand To, Operand From>
void async_copy(Builder<On>& b, const To& to, const From& from) {
    b.template emit<cp_async<Bytes>>(to, from, imm<Bytes>);
}
/// `cp.async.cg.shared.global [to], [from], 16, count;`: the first `count` bytes are read, 0 to Bytes, and
/// zeros written behind them.
template <std::uint32_t Bytes, Target On, Operand To, Operand From, Operand Count>
void async_copy(Builder<On>& b, const To& to, const From& from, const Count& count) {
    b.template emit<cp_async<Bytes>>(to, from, imm<Bytes>, count);
}
/// How many of the next bytes there are where `left` of them are left, which may be fewer than none:
/// @code
/// max.s32 count, left, 0;
/// min.s32 count, count, 16;     // Bytes
/// @endcode
template <std::uint32_t Bytes, Target On> [[nodiscard]] Reg<s32> bytes_within(Builder<On>& b, Reg<s32> left) {
    const auto count = b.template reg<s32>();
    b.template emit<"max.s32">(count, left, 0);
    b.template emit<"min.s32">(count, count, Bytes);
    return count;
}

/// Rows in .global memory, the next ones that a thread copies pieces of (RowCopy).
struct CopiedRows {
    Reg<u64> address;    ///< of the thread's piece of its next row
    Reg<u64> step;       ///< from one of its rows to the next, in bytes
    Reg<s32> rows_left;  ///< from its next row to the end; below 1: beyond it
};

/// Copies rows of elements of any type into tiles (matrix.hpp: TileRows) by all `threads` of a block: each a
/// piece of 16 bytes of every `rows_at_once`th row. A row may be wider than the tile's: then tiles stand one
/// behind the other, each with the next columns.
///
/// @code
/// const RowCopy copy(k, tile_of(128), 128, thread, tiles);     // 128 threads; tiles: an address in .shared
/// const auto rows = copy.rows(address, row_bytes, first, count);
/// copy.next<64, 2>(rows, copy.target());                       // 64 rows of 256 bytes
/// k.emit<"cp.async.commit_group">();
/// @endcode
template <Target On> class RowCopy {
  public:
    static constexpr std::uint32_t at_once(const TileRows& tile, std::uint32_t threads) {
        return threads / tile.pieces();
    }
    /// `tiles` is aligned to swizzle_alignment(tile.swizzle), at_once() a multiple of 8, whole patterns.
    /// @code
    /// div.u32 row, thread, 8;       // tile.pieces()
    /// rem.u32 byte, thread, 8;
    /// shl.b32 byte, byte, 4;
    /// mul.lo.u32 to, row, 128;      // tile.row_bytes
    /// add.u32 to, to, byte;
    /// …                             // swizzle()
    /// add.u32 to, to, tiles;
    /// @endcode
    RowCopy(Builder<On>& b, const TileRows& tile, std::uint32_t threads, const Value<u32, On>& thread,
            const Reg<u32>& tiles)
        : b_(b), tile_(tile), at_once_(at_once(tile, threads)) {
        const auto row = thread / tile.pieces(), byte = (thread % tile.pieces()) << 4;
        const auto in_tile = row * tile.row_bytes + byte;
        swizzle(b, tile.swizzle, in_tile);
        row_ = row, byte_ = byte, target_ = in_tile + tiles;
    }

    /// Where this thread's pieces go in the first tile; behind that they have the same distances everywhere.
    [[nodiscard]] Value<u32, On> target() const { return value(b_, target_); }

    /// The rows of a matrix from `first` to the one before `count`: at address + row * row_bytes, multiples
    /// of 16.
    /// @code
    /// mul.lo.u64 step, row_bytes, 16;                     // at_once
    /// add.u32 %row, first, row;
    /// sub.s32 rows_left, count, %row;
    /// cvt.u64.u32 %from, %row;
    /// mad.lo.u64 %from, %from, row_bytes, address;
    /// cvt.u64.u32 %byte, byte;
    /// add.u64 %from, %from, %byte;
    /// @endcode
    [[nodiscard]] CopiedRows rows(const Reg<u64>& address, const Reg<u64>& row_bytes,
                                  const Value<u32, On>& first, const Reg<u32>& count) const {
        const CopiedRows made = {b_.template reg<u64>(), value(b_, row_bytes) * at_once_,
                                 b_.template reg<s32>()};
        const auto row = first + row_;
        const auto offset = b_.template reg<u64>();
        b_.template emit<"sub.s32">(made.rows_left, count, row);
        b_.template emit<"cvt.u64.u32">(made.address, row);
        b_.template emit<"mad.lo.u64">(made.address, made.address, row_bytes, address);
        b_.template emit<"cvt.u64.u32">(offset, byte_);
        b_.template emit<"add.u64">(made.address, made.address, offset);
        return made;
    }

    /// The next `Rows` rows, into `Tiles` tiles one behind the other; what is beyond the last row is written
    /// as zeros. `to` is target(), plus where the first tile begins.
    /// @code
    /// setp.gt.s32 %p, rows_left, 0;                          // 0, at_once, 2 at_once …
    /// selp.b32 size, 16, 0, %p;
    /// cp.async.cg.shared.global [to], [address], 16, size;   // for each tile
    /// add.u64 address, address, step;
    /// …
    /// sub.s32 rows_left, rows_left, Rows;
    /// @endcode
    template <std::uint32_t Rows, std::uint32_t Tiles = 1>
    void next(const CopiedRows& from, const Reg<u32>& to, std::uint32_t begin = 0) const {
        const auto size = b_.template reg<u32>();
        for (std::uint32_t i = 0; i < Rows; i += at_once_) {
            b_.template emit<"selp.b32">(size, 16, 0, value(b_, from.rows_left) > i);
            for (std::uint32_t tile = 0; tile < Tiles; ++tile)
                async_copy<16>(b_, at(to, begin + (tile * Rows + i) * tile_.row_bytes),
                               at(from.address, tile * tile_.row_bytes), size);
            b_.template emit<"add.u64">(from.address, from.address, from.step);
        }
        b_.template emit<"sub.s32">(from.rows_left, from.rows_left, Rows);
    }

  private:
    Builder<On>& b_;
    TileRows tile_;
    std::uint32_t at_once_;
    Reg<u32> row_ = {}, byte_ = {}, target_ = {};  // of the thread's first piece
};

/// Bytes, a multiple of 16, as the addresses are: in .shared and in .global.
struct BulkCopy {
    Reg<u32> to;
    Reg<u64> from;
    std::uint32_t bytes;
};
/// Announces what all copies have together at a stage's barrier, and begins them: Barriers::expect_tx, and
/// for each `cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [to], [from], bytes, [%t];`.
/// One thread does that.
template <Target On>
void bulk_copy(FunctionBuilder<On>& k, const Barriers<On>& full, const Cursor& here,
               std::initializer_list<BulkCopy> copies) {
    std::uint32_t bytes = 0;
    for (const BulkCopy& copy : copies) bytes += copy.bytes;
    const auto barrier = full.expect_tx(here, bytes);
    for (const BulkCopy& copy : copies)
        k.template emit<"cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes">(
            at(copy.to), at(copy.from), copy.bytes, at(barrier));
}

namespace emitting {
template <std::size_t Dims> consteval auto tensor_copy() {
    constexpr std::string_view name =
        "cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes";
    Literal<name.size() + 1> made;
    for (std::size_t i = 0; i < name.size(); ++i) made.text[i] = name[i];
    made.text[name.find('1')] = '0' + Dims;
    return made;
}
}  // namespace emitting

/// A box of a tensor map, from these coordinates on, innermost first; its bytes complete at the mbarrier. One
/// thread does that.
/// @code
/// cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [to], [map, {c, d}], [b];
/// @endcode
template <Target On, Operand To, class... Coordinates>
void tensor_copy(Builder<On>& b, const To& to, const Reg<u64>& map, const Vector<Coordinates...>& from,
                 const Reg<u32>& barrier) {
    b.template emit<emitting::tensor_copy<sizeof...(Coordinates)>()>(to, at(map, from), at(barrier));
}

}  // namespace ptxgraft::dsl
