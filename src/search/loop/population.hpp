#pragma once
/// @file population.hpp
/// What a search remembers of the candidates that were judged: an archive of elites and a population for each
/// island, and how parents are chosen among them.

#include <cmath>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "ptxgraft/search.hpp"
#include "search/random.hpp"

namespace ptxgraft::search {

/// What measurements again say of a member (again.hpp).
struct MeasuredFigures {
    double cost = 0, low = 0, high = 0;
    std::vector<double> descriptor;
    std::uint32_t times = 0;  ///< how many they are
};

/// One that was judged.
struct Member {
    std::uint64_t index = 0;
    std::uint64_t structure = 0;
    std::shared_ptr<const Genome> genome;
    double cost = 0;
    std::vector<double> descriptor;
    bool is_feasible = false;
    double low = 0, high = 0;  ///< of the cost
    std::uint32_t times = 0;   ///< that it was measured again

    /// Whether a bound of its cost is known that is not the cost itself.
    [[nodiscard]] bool is_measured() const { return low < high && std::isfinite(high); }
    [[nodiscard]] double bound() const { return Elite::bound_of(cost, low, high); }
    [[nodiscard]] Elite as_elite(std::vector<std::uint32_t> cell) const {
        return {index, *genome, cost, descriptor, std::move(cell), low, high, times};
    }

    /// By what the cost may be at most, by the cost, by how often it was measured again, then by the
    /// descriptor from its first value on.
    [[nodiscard]] bool is_better_than(const Member& other) const;
    /// The same with other figures.
    [[nodiscard]] Member with(const MeasuredFigures& figures) const;
};

/// Of errors of cases, so that what is infinitely wrong somewhere can still be compared.
[[nodiscard]] double sum_of(std::span<const float> errors);

using Cell = std::vector<std::uint32_t>;  ///< the bin on each axis
[[nodiscard]] Cell cell_of(std::span<const double> descriptor, std::span<const Axis> axes);

/// The elites of each cell, the best first, of different structures.
class Grid {
  public:
    /// Whether the member is now in the grid.
    bool insert(const Cell& cell, const Member& member, std::size_t depth);
    /// The same for one that has these figures now; without figures it leaves. It may come into another
    /// cell, and another one be the best where it was. What it was until then; none: it is not in the grid.
    std::optional<Member> measure(std::uint64_t index, const std::optional<MeasuredFigures>& figures,
                                  std::span<const Axis> axes, std::size_t depth);
    [[nodiscard]] bool is_best(const Cell& cell, std::uint64_t index) const;
    [[nodiscard]] const Member& any(Random& random) const;
    [[nodiscard]] bool empty() const { return cells_.empty(); }
    void clear();
    [[nodiscard]] const std::map<Cell, std::vector<Member>>& cells() const { return cells_; }

  private:
    std::optional<Member> take(std::uint64_t index);

    std::map<Cell, std::vector<Member>> cells_;
    std::vector<const std::vector<Member>*> list_;  ///< the cells in the order in which they were found
};

/// A population with its own archive.
class Island {
  public:
    struct ToRefine {
        Member member;
        Refine how;
    };

    /// Whether it became an elite.
    bool commit(Member member, std::span<const float> errors, const Options& options, bool is_refined);
    /// A member that has these figures now, wherever it is; without figures it is none any more.
    void measure(std::uint64_t index, const std::optional<MeasuredFigures>& figures, const Options& options);
    /// The thresholds of epsilon-lexicase selection, from the population as it is now.
    void measure_spread();
    [[nodiscard]] const Member* parent(Random& random, const Options& options) const;
    [[nodiscard]] bool empty() const { return population_.empty() && grid_.empty(); }
    /// Strategy::climb: the feasible one of the lowest cost, else the one of the least sum of errors.
    [[nodiscard]] const Member* best() const { return best_ ? &*best_ : nullptr; }
    [[nodiscard]] const Grid& grid() const { return grid_; }
    [[nodiscard]] std::optional<ToRefine> next_to_refine();
    void start_again();
    [[nodiscard]] std::uint64_t commits_without_elite() const { return without_elite_; }

  private:
    [[nodiscard]] const Member& lexicase(Random& random, std::size_t tournament) const;
    [[nodiscard]] std::size_t keep_near_best(std::span<const float*> left, std::size_t c,
                                             std::size_t next) const;
    [[nodiscard]] const Member& best_drawn(Random& random, std::size_t tournament) const;
    void keep_best(const Member& member, std::span<const float> errors);
    void keep_errors(std::size_t place, std::span<const float> errors);
    [[nodiscard]] float error(std::size_t place, std::size_t c) const { return errors_[place * cases_ + c]; }

    Grid grid_;
    std::vector<Member> population_;  ///< a ring of the last ones that were judged; their errors stand apart
    std::vector<float> errors_;       ///< of the population, a row for each
    std::size_t cases_ = 0;           ///< in a row
    std::size_t next_ = 0;            ///< the oldest of the population
    std::vector<float> epsilon_;      ///< by case: the median absolute deviation of its errors
    std::deque<ToRefine> to_refine_;
    std::optional<Member> best_;
    double best_errors_ = 0;
    std::uint64_t without_elite_ = 0;
};

}  // namespace ptxgraft::search
