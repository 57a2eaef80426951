#pragma once
/// @file again.hpp
/// Elites whose cost is measured, measured again: when one is due, and what all of its measurements say.
///
/// Of many that are measured the best is the luckiest, so the measurement that made an elite one is no
/// figure of it: behind the first measurement again the mean of those counts. The ends of the interval are
/// means too: it gets no narrower with their number, so that one who was measured often and one who was
/// measured once are compared alike.

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "ptxgraft/search.hpp"
#include "search/loop/population.hpp"

namespace ptxgraft::search {

class Again {
  public:
    /// Of the best of each cell of these grids, whose cost is measured, those that were never measured again,
    /// or not for `every` candidates; and of the others there, once, those whose cost has no upper end and is
    /// below that of the best. The longest ago first, and each once.
    [[nodiscard]] std::vector<Member> due(std::span<const Grid* const> grids, std::uint64_t judged,
                                          std::uint32_t every) const;
    /// It is on the way: not due for the next `every` candidates.
    void note_asked(std::uint64_t index, std::uint64_t judged);
    /// It is due at once, as it goes to another island.
    void note_moved(std::uint64_t index) { known_[index].is_asked = false; }
    /// A measurement of the elite that is the candidate's first parent. None: it has no cost any more, as it
    /// did not end well. A noisy one says nothing, and is not given here.
    [[nodiscard]] std::optional<MeasuredFigures> add(const Candidate& candidate, const Result& result);

  private:
    struct Known {
        bool is_asked = false;
        std::uint64_t asked = 0;  ///< candidates judged by then
        std::uint32_t times = 0;
        double cost = 0, low = 0, high = 0;  ///< sums
    };
    [[nodiscard]] std::vector<Member> all_due(const Grid& grid, std::uint64_t judged,
                                              std::uint32_t every) const;
    [[nodiscard]] bool is_due(std::uint64_t index, std::uint64_t judged, std::uint32_t every) const;

    std::map<std::uint64_t, Known> known_;  ///< by the elite's index
};

/// Of a cell of all islands: where the best turns out to have been lucky, the next one is the best.
inline constexpr std::size_t runners_up = 4;
[[nodiscard]] inline std::size_t depth_of_all(const Member& member) {
    return member.low < member.high ? runners_up : 1;
}

/// Whether a measurement again of an elite says what its figures did not: the intervals do not meet.
[[nodiscard]] bool disagree(const Member& elite, const Result& result);

}  // namespace ptxgraft::search
