#pragma once
/// @file population.hpp
/// What a search remembers of the candidates that were judged: an archive of elites and a population for each
/// island, and how parents are chosen among them.

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

/// One that was judged.
struct Member {
    std::uint64_t index = 0;
    std::uint64_t structure = 0;
    std::shared_ptr<const Genome> genome;
    double cost = 0;
    std::vector<double> descriptor;
    bool is_feasible = false;
    double low = 0, high = 0;  ///< of the cost

    [[nodiscard]] double bound() const { return Elite::bound_of(cost, low, high); }
    [[nodiscard]] Elite as_elite(std::vector<std::uint32_t> cell) const {
        return {index, *genome, cost, descriptor, std::move(cell), low, high};
    }

    /// By what the cost may be at most, by the cost, then by the descriptor from its first value on.
    [[nodiscard]] bool is_better_than(const Member& other) const;
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
    [[nodiscard]] const Member& any(Random& random) const;
    [[nodiscard]] bool empty() const { return cells_.empty(); }
    void clear();
    [[nodiscard]] const std::map<Cell, std::vector<Member>>& cells() const { return cells_; }

  private:
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
