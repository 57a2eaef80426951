// Wilcoxon's signed-rank test, its estimate and its interval.
#include "measure/timing/signed_rank.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "ptxgraft/measure/statistics.hpp"

namespace ptxgraft::measure {
namespace {

struct Ranks {
    std::vector<std::uint32_t> twice;  // of those that are not 0: whole numbers where ties share a rank
    std::uint64_t positive = 0;        // the sum of those of positive ones
};

Ranks rank(std::span<const double> values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto size_of = [&](std::size_t i) { return std::abs(values[i]); };
    std::sort(order.begin(), order.end(),
              [&](std::size_t a, std::size_t b) { return size_of(a) < size_of(b); });
    Ranks ranks;
    for (std::size_t first = 0; first < order.size();) {
        std::size_t end = first + 1;
        while (end < order.size() && size_of(order[end]) == size_of(order[first])) ++end;
        const auto twice = static_cast<std::uint32_t>(first + 1 + end);
        for (; first < end; ++first) {
            const double value = values[order[first]];
            if (value == 0) continue;
            ranks.twice.push_back(twice);
            if (value > 0) ranks.positive += twice;
        }
    }
    return ranks;
}

// How probable each sum of positive ranks is where each rank is positive or not with probability 1/2.
std::vector<double> distribution(std::span<const std::uint32_t> twice) {
    std::vector<double> part(std::accumulate(twice.begin(), twice.end(), std::size_t{0}) + 1);
    part[0] = 1;
    std::size_t most = 0;
    for (const std::uint32_t step : twice) {
        for (std::size_t sum = most + 1; sum-- > 0;) {
            part[sum] /= 2;
            part[sum + step] += part[sum];
        }
        most += step;
    }
    return part;
}

double exact_p(const Ranks& ranks) {
    const std::vector<double> part = distribution(ranks.twice);
    const auto at = part.begin() + static_cast<std::ptrdiff_t>(ranks.positive);
    const double below = std::accumulate(part.begin(), at + 1, 0.0);
    const double above = std::accumulate(at, part.end(), 0.0);
    return std::min(1.0, 2 * std::min(below, above));
}

// With the correction for continuity.
double normal_p(const Ranks& ranks) {
    double mean = 0, variance = 0;
    for (const std::uint32_t twice : ranks.twice) mean += twice / 2.0, variance += 0.25 * twice * twice;
    const double away = std::abs(static_cast<double>(ranks.positive) - mean) - 1;
    return std::min(1.0, 2 * normal_below(-std::max(0.0, away) / std::sqrt(variance)));
}

// How many averages from either end lie outside of the interval, of `n` numbers without ties.
std::size_t outside(std::size_t n, double alpha) {
    if (n > most_exact_rounds) {
        const double count = static_cast<double>(n), mean = count * (count + 1) / 4;
        const double deviation = std::sqrt(count * (count + 1) * (2 * count + 1) / 24);
        return static_cast<std::size_t>(
            std::max(0.0, std::floor(mean + normal_quantile(alpha / 2) * deviation)));
    }
    std::vector<std::uint32_t> ranks(n);
    std::iota(ranks.begin(), ranks.end(), 1u);
    const std::vector<double> part = distribution(ranks);
    double sum = 0;
    std::size_t k = 0;
    while (k < part.size() && (sum += part[k]) <= alpha / 2) ++k;
    return k;
}

}  // namespace

double signed_rank_p(std::span<const double> values) {
    const Ranks ranks = rank(values);
    if (ranks.twice.empty()) return 1;
    return ranks.twice.size() <= most_exact_rounds ? exact_p(ranks) : normal_p(ranks);
}

Location hodges_lehmann(std::span<const double> values, double alpha) {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (values.empty()) return {0, -infinity, infinity};
    std::vector<double> averages;
    averages.reserve(values.size() * (values.size() + 1) / 2);
    for (std::size_t i = 0; i < values.size(); ++i)
        for (std::size_t j = i; j < values.size(); ++j) averages.push_back((values[i] + values[j]) / 2);
    std::sort(averages.begin(), averages.end());
    const std::size_t k = std::min(outside(values.size(), alpha), (averages.size() + 1) / 2);
    return {quantile(averages, 0.5), k == 0 ? -infinity : averages[k - 1],
            k == 0 ? infinity : averages[averages.size() - k]};
}

double normal_below(double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); }

double normal_quantile(double probability) {
    double low = -40, high = 40;
    for (int i = 0; i < 80; ++i) {
        const double middle = (low + high) / 2;
        (normal_below(middle) < probability ? low : high) = middle;
    }
    return (low + high) / 2;
}

double quantile(std::span<const double> sorted, double part) {
    const double at = part * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const std::size_t above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (at - static_cast<double>(below)) * (sorted[above] - sorted[below]);
}

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return quantile(values, 0.5);
}

}  // namespace ptxgraft::measure
