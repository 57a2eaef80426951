#pragma once
/// @file times.hpp
/// What was measured of the finalists, for pages and for JSON.

#include <cmath>
#include <cstdint>
#include <set>
#include <vector>

#include "search/report/facts.hpp"

namespace ptxgraft::search {

/// What is known of a candidate that was timed: its measurements of the tier that is worth most.
struct TimedCandidate {
    std::uint64_t candidate = 0;
    std::vector<const Measurement*> told = {};  ///< of that tier, by their ratios
    measure::Tier tier = measure::Tier::screen;
    double low = INFINITY, high = 0, ratio = 1;
    std::set<std::uint64_t> sessions = {};
    std::uint32_t rounds = 0;
    /// What all sessions say; else unsure.
    [[nodiscard]] measure::Verdict verdict() const;
};
/// By samples that chose nothing: the tier with the most rounds, several sessions of it together, those of
/// the highest tier first, of one tier by the upper end.
[[nodiscard]] std::vector<TimedCandidate> timed_candidates(const Facts& facts);

/// A sample's time over the median of the baseline's in its batch.
struct TimeDot {
    double ratio;
    bool chose;  ///< no part of the figure
};
[[nodiscard]] std::vector<TimeDot> dots_of(const Facts& facts, const TimedCandidate& of);

}  // namespace ptxgraft::search
