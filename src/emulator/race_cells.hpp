#pragma once
/// @file race_cells.hpp
/// The last accesses to every byte, by lane: what decides whether an access is part of a race.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/accesses.hpp"
#include "emulator/clock.hpp"

namespace ptxgraft::emulator {

/// The last accesses to each byte of a memory. What is always accessed together, of up to 16 bytes, has one record.
class RaceCells {
  public:
    explicit RaceCells(const Order& order) : order_(&order) {}
    /// Forgets everything.
    void begin();
    /// Notes the accesses of the lanes of `mask`, in order; the race that one is part of, if it is. After a race those behind its lane are
    /// left in `mask`.
    [[nodiscard]] std::optional<Race> note(const LaneAccesses& accesses, std::uint32_t& mask);
    /// Notes weak accesses that are part of no race, of some time ago.
    void keep(const LaneAccesses& accesses, std::uint32_t mask, WarpTime time);

    /// A write to the bytes that a clock does not know of, if there is one; those of `except` do not count.
    [[nodiscard]] std::optional<Race> unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except);

  private:
    static constexpr std::uint64_t page_bytes = 4096;
    static constexpr unsigned block_shift = 4;

    struct Write {
        WarpTime time = 0;  // 0: none
        std::uint32_t pc = 0;
        std::uint16_t warp = 0;
        std::uint8_t lane = 0;
    };
    struct Cell {
        explicit Cell(std::uint32_t of = 0) : generation(of) {}

        std::uint32_t generation;
        std::uint16_t read_warp = 0;
        bool is_atomic = false;     // the strong write
        bool has_many = false;      // readers in several warps
        WarpTime read_time = 0;     // of the last weak reads; 0: none
        std::uint32_t read_lanes = 0, read_pc = 0;
        std::uint32_t readers = 0;  // an index into readers_; 0: no place there yet
        Write weak, strong;         // the last ones
    };
    /// The cells of a page, one for each `1 << shift` bytes; a block of 16 bytes uses those of its units of `1 << shifts[block]`
    /// bytes alone, and is one unit until something smaller is accessed.
    struct Page {
        std::uint32_t generation = 0;
        std::uint8_t shift = block_shift;
        std::array<std::uint8_t, (page_bytes >> block_shift)> shifts = {};
        std::vector<Cell> cells;

        [[nodiscard]] Cell& at(std::uint64_t address) { return cells[address % page_bytes >> shift]; }
        [[nodiscard]] std::uint8_t& unit(std::uint64_t address) { return shifts[address % page_bytes >> block_shift]; }
    };
    struct Reader {
        WarpTime time = 0;
        std::uint32_t lanes = 0, pc = 0;
    };
    struct Recent {
        std::uint64_t number = ~std::uint64_t{0};
        Page* page = nullptr;
    };
    /// A warp that accesses, with what all of its lanes know.
    struct Observer {
        const Clock* known;
        WarpTime now;
        unsigned warp;
        std::uint32_t pc;
    };

    Page& page(std::uint64_t number);
    Page& find_page(std::uint64_t number);
    /// Makes units of no more than `bytes` bytes of the block.
    void split(Page& page, std::uint64_t address, std::uint32_t bytes);
    void refine(Page& page, unsigned shift);
    void copy(Cell& to, const Cell& from);
    std::optional<Race> note(const LaneAccesses& accesses, std::uint32_t& mask, WarpTime time);
    /// The accesses of some lanes to one place; of one lane, unless they are weak reads.
    std::optional<Race> note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Observer& by, std::uint32_t lanes);
    /// Whether a weak read by lanes, or a weak write by one, is soon seen to be no race: then it is noted.
    [[nodiscard]] bool reads_in_order(Cell& cell, const Observer& by, std::uint32_t lanes);
    [[nodiscard]] bool writes_in_order(Cell& cell, const Observer& by, unsigned lane);
    std::optional<Race> note_slowly(Cell& cell, AccessKind kind, const Observer& by, std::uint32_t lanes);
    std::optional<Race> note_lane(Cell& cell, AccessKind kind, const Observer& by, unsigned lane);
    [[nodiscard]] std::optional<Race> unknown_write(const Write& write, unsigned warp, unsigned lane) const;
    [[nodiscard]] Reader* begin_many(Cell& cell);
    [[nodiscard]] bool knows_readers(const Clock& known, const Cell& cell) const;
    void note_read(Cell& cell, const Observer& by, unsigned lane);
    [[nodiscard]] std::optional<Race> unknown_reader(const Cell& cell, unsigned warp, unsigned lane) const;
    [[nodiscard]] bool knows_all(unsigned warp, unsigned lane, std::uint16_t other, const Reader& reader, Race& race) const;

    const Order* order_;
    std::uint32_t generation_ = 1;
    std::unordered_map<std::uint64_t, Page> pages_;
    std::array<Recent, 16> recent_;
    std::vector<Reader> readers_;  // one per warp of the order, for each cell with many
};

}  // namespace ptxgraft::emulator
