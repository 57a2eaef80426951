#pragma once
/// @file race.hpp
/// Races among the threads of a CTA, on shared and on global memory: two accesses of one byte by different threads, one
/// of them a write, one of them weak (neither atomic nor volatile nor of the relaxed, acquire or release kind), and
/// neither happens before the other (PTX ISA 8, memory consistency model). What copies or multiplies for a thread
/// asynchronously is as another thread, which the thread has to wait for.
///
/// Where barriers divide a kernel into phases, whole lines of memory are soon seen to be accessed in order: for each line and warp the
/// times of the last read and write are kept, to be compared with what the warp that accesses knows. Then an access is only put on a
/// log. What is on the log is kept byte by byte when a line is accessed that may not be in order, or when the log is full: but what
/// every warp knows by then can be part of no race any more, and is dropped.

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <unordered_map>
#include <vector>

#include "emulator/race_cells.hpp"

namespace ptxgraft::emulator {

class RaceShadow {
  public:
    /// The first `observers` of the order's warps execute instructions; the others work for them. A line has
    /// `1 << line_shift` bytes.
    RaceShadow(const Order& order, std::size_t observers, unsigned line_shift)
        : order_(&order), cells_(order), observers_(observers), line_shift_(line_shift) {}
    /// Forgets everything. `keeps_writes`: unknown_write() will be asked about times that are not those of warps.
    void begin(bool keeps_writes);
    /// Notes an access of `bytes` bytes, a power of two, aligned; the race that it is part of, if it is.
    [[nodiscard]] std::optional<Race> note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, unsigned warp, unsigned lane,
                                           std::uint32_t pc);
    /// Notes those of the lanes of `mask`, in order. After a race those behind its lane are left in `mask`.
    [[nodiscard]] std::optional<Race> note(const LaneAccesses& accesses, std::uint32_t& mask);
    /// Of something that works asynchronously; the bytes lie in one line.
    [[nodiscard]] std::optional<Race> note(std::uint64_t address, std::uint32_t bytes, AccessKind kind, const Accessor& by, std::uint32_t pc);
    /// Reads of whole rows of 16 bytes; the first one that is part of a race.
    struct RaceAt {
        Race race;
        std::uint64_t address;
    };
    [[nodiscard]] std::optional<RaceAt> note_reads(std::uint64_t begin, std::uint64_t end, const Accessor& by, std::uint32_t pc);
    /// A write to the bytes that a clock does not know of, if there is one; those of `except` do not count.
    [[nodiscard]] std::optional<Race> unknown_write(std::uint64_t address, std::uint64_t bytes, const Clock& known, unsigned except);

  private:
    static constexpr std::size_t rows_per_warp = 64;

    static constexpr unsigned page_shift = 12;

    struct Latest {
        WarpTime read = 0, write = 0;
        std::uint32_t seen = 0;  // of the line's writes: the warp knows of all up to that one
    };
    struct Line {
        std::uint32_t generation = 0;
        std::uint32_t writes = 0;
        std::uint32_t logged = 0;  // the log that has accesses to it
        std::uint32_t writer = 0;  // the warp that wrote `words` and nothing else since every write was known
        std::uint64_t words = 0;
    };
    struct Page {
        std::vector<Line> lines;
        std::vector<Latest> latest;  // of each warp, line by line
    };
    struct Recent {
        std::uint64_t number = ~std::uint64_t{0};
        Page* page = nullptr;
    };
    struct Touched {
        Line* line;
        Latest* latest;       // of warp 0
        std::uint64_t words;  // that a write writes, of 4 bytes
    };
    /// The lines of an access; where lanes do not access consecutive places also some between them.
    struct Lines {
        std::array<Touched, 32> lines;
        unsigned count = 0;
    };
    struct Row {
        LaneAccesses accesses;
        std::uint32_t mask;
        WarpTime time;
        std::array<std::uint32_t, 32> offsets;
    };

    Page& page(std::uint64_t number);
    Page& find_page(std::uint64_t number);
    void limit_pages();
    [[nodiscard]] Touched line(std::uint64_t number);
    [[nodiscard]] Lines lines_of(const LaneAccesses& accesses, std::uint32_t mask);
    /// Whether no access to the line that its kind minds is unknown to all lanes of the warp.
    [[nodiscard]] bool is_in_order(const Touched& touched, AccessKind kind, unsigned warp) const;
    /// Whether all that is unknown are other words that the same warp wrote.
    [[nodiscard]] bool is_beside(const Touched& touched, unsigned warp) const;
    void touch(const Touched& touched, AccessKind kind, unsigned warp);
    void log(const LaneAccesses& accesses, std::uint32_t mask);
    void drop_known();
    void settle();
    void keep(Row& row);

    const Order* order_;
    RaceCells cells_;
    std::size_t observers_;
    unsigned line_shift_;
    bool keeps_writes_ = false;
    std::uint32_t generation_ = 1;
    std::uint32_t log_ = 1;  // its number
    std::vector<Row> rows_;
    std::size_t row_count_ = 0;
    std::unordered_map<std::uint64_t, Page> pages_;
    std::array<Recent, 16> recent_;
};

}  // namespace ptxgraft::emulator
