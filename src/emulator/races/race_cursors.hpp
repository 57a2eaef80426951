#pragma once
/// @file race_cursors.hpp
/// Lanes of a warp that walk over memory each by itself, as where every thread has a row: most of the time
/// all of them stay on the lines that they are on. A line where only one lane of a warp has been has a record
/// that names its cursor; what the lane accesses there is kept here until it leaves the line, or somebody
/// else comes.

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "emulator/memory/lanes.hpp"
#include "emulator/races/shadow.hpp"

namespace ptxgraft::emulator {

/// Of the lanes of one warp, in one epoch.
struct LaneCursors {
    static constexpr std::uint32_t no_line = ~std::uint32_t{0};
    /// What one instruction accesses.
    struct Way {
        AccessId id = 0;
        alignas(64) std::array<std::uint32_t, 32> words = {};  ///< of the line that each lane is on
    };
    alignas(64) std::array<std::uint32_t, 32> lines;  ///< from `begin` on
    std::uint64_t begin = 0;                          ///< the number of the line that offset 0 is in
    std::uint32_t generation = 0;                     ///< of another one there is nothing here
    std::uint32_t forgotten = 0;  ///< ShadowMemory::forgotten(): with more, a line may be here alone
    unsigned agent = 0;
    WarpTime time = 0;
    unsigned way_count = 0;
    static constexpr unsigned most_ways = 8;
    using Words = std::array<std::uint32_t, most_ways>;
    std::array<Way, most_ways> ways;
    unsigned left_count =
        0;  ///< ways by which the last lane that left a line had accessed it; 0: nothing is known of that
    Words left_words = {};      ///< which words, by each way
    ShadowLine left;            ///< and what became of the line
    std::uint8_t misses = 0;    ///< accesses in a row where most lanes were on other lines
    std::uint16_t skipped = 0;  ///< accesses that are to be noted otherwise

    [[nodiscard]] Way* find(AccessId id);
};

class CursorTable {
  public:
    /// The cursors of an instruction's lanes; null while it is one of those whose lanes stay nowhere.
    /// `index`: their number.
    [[nodiscard]] LaneCursors* find(unsigned agent, std::uint32_t pc, std::uint64_t begin,
                                    std::uint32_t first_line, std::uint32_t& index);
    [[nodiscard]] LaneCursors& operator[](std::uint32_t index) { return *cursors_[index]; }

  private:
    static constexpr unsigned per_agent = 4;
    struct Agent {
        std::array<std::uint32_t, per_agent> cursors = {};  // from 1
        unsigned next = 0;
    };
    struct Known {
        unsigned agent = 0;
        std::uint32_t pc = 0, index = 0;  // from 1
    };
    [[nodiscard]] std::uint32_t choose(unsigned agent, std::uint64_t begin, std::uint32_t first_line);

    std::vector<std::unique_ptr<LaneCursors>> cursors_;
    std::vector<Agent> agents_;
    std::array<Known, 512> known_;
};

}  // namespace ptxgraft::emulator
