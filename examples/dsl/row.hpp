#pragma once
/// @file row.hpp
/// A row for a block: which elements its threads have, and passes over them. The first `held` chunks of each
/// thread are loaded once and stay in its registers for all passes; what a row has beyond those
/// threads * held chunks is loaded anew in each pass, so that rows may be of any length.

#include "elements.hpp"

namespace rows {

struct RowOptions {
    std::uint32_t threads = 256;  ///< of a block
    std::uint32_t held = 4;       ///< chunks that a thread keeps in registers
    /// `vector`: rows begin at multiples of 16 bytes, so columns are multiples of count_of(); else `element`.
    Access access = Access::vector;
};

/// What a thread loads at once: 16 bytes, or an element.
struct Chunk {
    bool is_held = true;
    Pred inside = {};      ///< it is within the row
    std::int64_t at = 0;   ///< bytes from the thread's first chunk; of one that is not held,
    Reg<u64> beyond = {};  ///< this register's
    Values x = {};         ///< what a pass's load puts here stays for the next pass, if it is held
};

/// The row of this block, %ctaid.x, of `columns` elements: at most 2^31 - 1.
template <Type T> class Row {
  public:
    Row(FunctionBuilder<>& k, const RowOptions& options, Reg<u32> columns)
        : k_(k),
          options_(options),
          columns_(columns),
          row_(k.reg<u32>()),
          first_(k.reg<u32>()),
          mine_(k.reg<u64>()) {
        const auto thread = k.reg<u32>();
        k.emit<"mov.u32">(thread, special<"%tid.x">);
        k.emit<"mov.u32">(row_, special<"%ctaid.x">);
        k.emit<"mul.lo.u32">(first_, thread, count_of<T>(options.access));
        k.emit<"mul.wide.u32">(mine_, first_, bytes_of<T>);
        for (std::uint32_t i = 0; i < options.held; ++i) {
            held_.push_back({.inside = k.reg<pred>(), .at = std::int64_t{i} * stride() * bytes_of<T>});
            const auto column = k.reg<u32>();
            k.emit<"add.u32">(column, first_, i * stride());
            k.emit<"setp.lt.u32">(held_.back().inside, column, columns);
        }
    }

    /// The address of this thread's first element in this block's row of an array whose rows are `pitch`
    /// elements apart, else `columns`.
    [[nodiscard]] Reg<u64> in_row(const Reg<u64>& array, const Reg<u32>& pitch) {
        const auto begin = k_.reg<u64>(), address = in_all_rows(array);
        k_.emit<"mul.wide.u32">(begin, row_, pitch);
        k_.emit<"shl.b64">(begin, begin, bytes_shift<T>);
        k_.emit<"add.u64">(address, address, begin);
        return address;
    }
    [[nodiscard]] Reg<u64> in_row(const Reg<u64>& array) { return in_row(array, columns_); }
    /// The same in an array of one row, for all rows.
    [[nodiscard]] Reg<u64> in_all_rows(const Reg<u64>& array) {
        const auto address = k_.reg<u64>();
        k_.emit<"cvta.to.global.u64">(address, array);
        k_.emit<"add.u64">(address, address, mine_);
        return address;
    }

    /// Loads and stores a chunk, by the address of this thread's first element.
    template <Memory M = Memory::changing>
    [[nodiscard]] Values load(const Reg<u64>& from, const Chunk& chunk) {
        return rows::load<T, M>(k_, options_.access, chunk.inside, address(from, chunk), chunk.at);
    }
    void store(const Reg<u64>& to, const Chunk& chunk, const Values& values) {
        rows::store<T>(k_, options_.access, chunk.inside, address(to, chunk), chunk.at, values);
    }

    /// load(chunk), of held chunks in the first pass alone, and body(chunk), of all chunks in turn. Both are
    /// also for chunks that are outside: what matters beyond registers has to be under `chunk.inside`.
    template <class Load, class Body> void pass(Load&& load, Body&& body) {
        if (!std::exchange(is_loaded_, true))
            for (Chunk& chunk : held_) load(chunk);
        for (Chunk& chunk : held_) body(chunk);
        const auto base = k_.reg<u32>();
        const auto is_more = k_.reg<pred>();
        k_.emit<"mov.u32">(base, options_.held * stride());
        k_.emit<"setp.lt.u32">(is_more, base, columns_);
        k_.if_(is_more, [&] {
            k_.loop_while([&] {
                Chunk chunk = chunk_at(base);
                load(chunk);
                body(chunk);
                k_.emit<"add.u32">(base, base, stride());
                k_.emit<"setp.lt.u32">(is_more, base, columns_);
                return is_more;
            });
        });
    }

  private:
    /// Elements that the block has in one chunk of each thread.
    [[nodiscard]] std::uint32_t stride() const { return options_.threads * count_of<T>(options_.access); }

    Chunk chunk_at(const Reg<u32>& base) {
        Chunk chunk{.is_held = false, .inside = k_.reg<pred>(), .beyond = k_.reg<u64>()};
        const auto column = k_.reg<u32>();
        k_.emit<"add.u32">(column, first_, base);
        k_.emit<"setp.lt.u32">(chunk.inside, column, columns_);
        k_.emit<"mul.wide.u32">(chunk.beyond, base, bytes_of<T>);
        return chunk;
    }
    Reg<u64> address(const Reg<u64>& of, const Chunk& chunk) {
        if (chunk.is_held) return of;
        const auto address = k_.reg<u64>();
        k_.emit<"add.u64">(address, of, chunk.beyond);
        return address;
    }

    FunctionBuilder<>& k_;
    RowOptions options_;
    Reg<u32> columns_, row_, first_;  // first_: the column of this thread's first element,
    Reg<u64> mine_;                   // and the bytes before it
    std::vector<Chunk> held_;
    bool is_loaded_ = false;
};

}  // namespace rows
