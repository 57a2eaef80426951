#pragma once
/// @file facts.hpp
/// What a report says, as it is read from archives.

#include <array>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/search_measurements.hpp"

namespace ptxgraft::search {

/// One that is better than all before it.
struct Improvement {
    std::uint64_t judged = 0;  ///< candidates that were judged until then, itself included
    double cost = 0;           ///< what it may be at most (Elite::bound)
    double within = 0;         ///< the best value on the axis Facts::within, among those of this cost
};

/// How a search went.
struct Course {
    Strategy strategy = Strategy::evolve;
    std::uint64_t seed = 0, judged = 0;
    std::vector<Improvement> steps = {};
    /// The step that counts after so many candidates; null: nothing was right yet.
    [[nodiscard]] const Improvement* at(std::uint64_t judged) const;
};

/// Lower quartile, median and upper quartile: of n values those at (n - 1)/4, (n - 1)/2 and 3(n - 1)/4,
/// rounded. A search that has found nothing counts as infinity.
using Quartiles = std::array<double, 3>;
struct Group {
    Strategy strategy = Strategy::evolve;
    std::vector<const Course*> courses = {};
    std::uint64_t judged = 0;  ///< by each of them
    [[nodiscard]] Quartiles cost_at(std::uint64_t judged) const;
    [[nodiscard]] Quartiles within_at(std::uint64_t judged) const;
    [[nodiscard]] std::vector<std::uint64_t> changes() const;  ///< after how many one of them improved
};
[[nodiscard]] std::vector<Group> groups_of(std::span<const Course> courses);

struct GateFact {
    std::string name;
    std::uint64_t in = 0, out = 0;       ///< candidates that are in the archive
    std::optional<double> microseconds;  ///< of processors, for each one that came in
};

/// One step in the making of the best.
struct Ancestor {
    std::uint64_t index = 0;
    std::string maker;  ///< an operator, or what was refined
    std::optional<std::uint64_t> other_parent;
    Status status = Status::ok;
    double cost = 0, bound = 0;  ///< as Elite has them
    std::vector<double> descriptor;
    double errors = 0;  ///< their sum
    std::vector<std::string> programs;
    bool is_better = false;  ///< than its parent
    std::string gain;        ///< in words
};

struct Facts {
    std::string title;
    const Space* space = nullptr;
    const Options* options = nullptr;
    std::vector<Source> sources;
    std::optional<Stop> stop;
    Ledger ledger;
    std::uint64_t refinements = 0;      ///< candidates that were elites before
    std::optional<std::size_t> within;  ///< the first axis that is not the cost itself
    std::string cost_name = "cost";     ///< the axis that is the cost
    std::vector<Course> courses;        ///< the archive's own first; none of a collection
    std::vector<GateFact> gates;
    std::vector<Elite> elites, front;
    std::vector<Ancestor> ancestors;  ///< of the best, the oldest first
    Measurements times;
};

[[nodiscard]] Expected<Facts> facts_of(const Archive& archive, std::span<const Archive> beside,
                                       const std::string& title);

/// The one that `search best` prints: of the lowest bound, then cost. `front` is not empty.
[[nodiscard]] const Elite& best_of(std::span<const Elite> front);

}  // namespace ptxgraft::search
