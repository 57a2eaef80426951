#pragma once
/// @file race.hpp
/// Races among the threads of a CTA, on shared and on global memory: two accesses of one byte by different threads, one
/// of them a write, one of them weak (neither atomic nor volatile nor of the relaxed, acquire or release kind), and
/// neither happens before the other (PTX ISA 8, memory consistency model). What copies or multiplies for a thread
/// asynchronously is as another thread, which the thread has to wait for.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/clock.hpp"

namespace ptxgraft::emulator {

/// `atomic`: reads and writes in one step. A weak read beside one is no race here: loops around atom.cas begin with it, and find
/// out when they read something old.
enum class AccessKind : std::uint8_t { read, write, strong_read, strong_write, atomic };

/// Who accesses: a lane; or what works for it asynchronously, and is to know what `warp` and `lane` know.
struct Accessor {
    Stamp stamp;
    unsigned warp = 0, lane = 0;
};

/// An earlier access that nothing orders before the one at hand.
struct Race {
    Stamp other;
    std::uint32_t pc = 0;
    bool other_writes = false;
};

/// The last accesses to the words of a memory. Words, or bytes where smaller accesses occur.
class RaceShadow {
  public:
    explicit RaceShadow(const Order& order) : order_(&order) {}
    /// Forgets everything.
    void begin();
    /// Notes an access of `bytes` bytes; the race that it is part of, if it is.
    [[nodiscard]] std::optional<Race> note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, unsigned warp, unsigned lane,
                                           std::uint32_t pc) {
        return note(address, bytes, kind, Accessor{stamp(warp, lane, order_->now(warp)), warp, lane}, pc);
    }
    [[nodiscard]] std::optional<Race> note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Accessor& by, std::uint32_t pc);

    /// A write to the bytes that a clock does not know of, if there is one; those of `except` do not count.
    [[nodiscard]] std::optional<Race> unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except);

  private:
    static constexpr std::uint64_t page_bytes = 4096;

    struct Write {
        WarpTime time = 0;  // 0: none
        std::uint32_t pc = 0;
        std::uint16_t warp = 0;
        std::uint8_t lane = 0;
    };
    struct Cell {
        std::uint32_t generation = 0;
        bool is_atomic = false;  // the strong write
        bool has_many = false;   // readers in several warps
        Write weak, strong;      // the last ones
        WarpTime read_time = 0;  // of the last weak reads; 0: none
        std::uint32_t read_lanes = 0, read_pc = 0;
        std::uint32_t readers = 0;  // an index into readers_; 0: no place there yet
        std::uint16_t read_warp = 0;
    };
    struct Page {
        unsigned shift = 2;  // a cell has 1 << shift bytes: 4, or 1
        std::vector<Cell> cells;

        [[nodiscard]] Cell& at(std::uint64_t address) { return cells[address % page_bytes >> shift]; }
    };
    struct Reader {
        WarpTime time = 0;
        std::uint32_t lanes = 0, pc = 0;
    };

    Page& page(std::uint64_t number);
    void split(Page& page);
    std::optional<Race> note(Cell& cell, AccessKind kind, const Accessor& by, std::uint32_t pc);
    [[nodiscard]] std::optional<Race> unknown_write(const Write& write, unsigned warp, unsigned lane) const;
    void note_read(Cell& cell, const Accessor& by, std::uint32_t pc);
    [[nodiscard]] std::optional<Race> unknown_reader(const Cell& cell, unsigned warp, unsigned lane) const;
    [[nodiscard]] bool knows_all(unsigned warp, unsigned lane, std::uint16_t other, const Reader& reader, Race& race) const;

    const Order* order_;
    std::uint32_t generation_ = 1;
    std::unordered_map<std::uint64_t, Page> pages_;
    std::uint64_t last_number_ = ~std::uint64_t{0};
    Page* last_ = nullptr;
    std::vector<Reader> readers_;  // one per warp of the order, for each cell with many
};

}  // namespace ptxgraft::emulator
