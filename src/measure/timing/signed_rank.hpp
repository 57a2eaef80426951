#pragma once
/// @file signed_rank.hpp
/// Wilcoxon's signed-rank test of numbers that are symmetric around 0 if nothing differs, and the estimate
/// and interval that belong to it (Hollander, Wolfe, Chicken: Nonparametric Statistical Methods, chapter 3).

#include <cstdint>
#include <span>
#include <vector>

namespace ptxgraft::measure {

/// Two-sided. Exact up to most_exact_rounds, ties and zeros among them: ranks of zeros count and have no
/// sign (Pratt 1959), equal ones share theirs.
[[nodiscard]] double signed_rank_p(std::span<const double> values);

struct Location {
    double estimate = 0, low = 0, high = 0;
};
/// The median of all averages of two (Hodges and Lehmann 1963), and its interval of confidence 1 - alpha;
/// infinite where so few numbers have none.
[[nodiscard]] Location hodges_lehmann(std::span<const double> values, double alpha);

/// P(standard normal <= z), and the z of a probability in (0, 1).
[[nodiscard]] double normal_below(double z);
[[nodiscard]] double normal_quantile(double probability);

/// Of sorted numbers, interpolated; there is one at least.
[[nodiscard]] double quantile(std::span<const double> sorted, double part);
[[nodiscard]] double median(std::vector<double> values);

}  // namespace ptxgraft::measure
