// Verdicts on measured times: statistics.hpp. signed_rank.cpp has the test that they rest on.

#include "ptxgraft/measure/statistics.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string>

#include "base/try.hpp"
#include "measure/timing/signed_rank.hpp"

namespace ptxgraft::measure {
namespace {

constexpr std::uint32_t least_calibration = 8;

Error invalid(std::string what, std::size_t index = 0) {
    Error error = fail(Errc::argument_invalid, std::move(what)).value();
    error.index = static_cast<std::uint32_t>(index);
    return error;
}

Expected<void> check_times(std::span<const double> times) {
    for (std::size_t i = 0; i < times.size(); ++i)
        if (!(std::isfinite(times[i]) && times[i] > 0))
            return tl::unexpected(invalid(fmt::format("number {} is no time: {}", i, times[i]), i));
    return {};
}
Expected<void> check_finite(std::span<const double> values) {
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!std::isfinite(values[i]))
            return tl::unexpected(invalid(fmt::format("round {} has no ratio: {}", i, values[i]), i));
    return {};
}
Expected<void> check_part(double value, std::string_view what) {
    if (value > 0 && value < 1) return {};
    return fail(Errc::argument_invalid, fmt::format("{} is between 0 and 1, not {}", what, value));
}
Expected<void> check(const CompareOptions& options) {
    TRY(check_part(options.alpha, "alpha"));
    if (!(std::isfinite(options.least_effect) && options.least_effect >= 0))
        return fail(Errc::argument_invalid,
                    fmt::format("the least effect is 0 or more, not {}", options.least_effect));
    if (options.separation >= 0.5 && options.separation <= 1) return {};
    return fail(Errc::argument_invalid,
                fmt::format("the separation is 0.5 to 1, not {}", options.separation));
}

double superiority(std::span<const double> rounds) {
    double won = 0;
    for (const double round : rounds) won += round < 0 ? 1 : round == 0 ? 0.5 : 0;
    return won / static_cast<double>(rounds.size());
}

Verdict verdict(const Comparison& c, const CompareOptions& options, bool has_cycles) {
    if (c.low >= 1 - options.least_effect && c.high <= 1 + options.least_effect) return Verdict::same;
    const auto is_far = [&](double ratio) { return std::abs(ratio - 1) >= options.least_effect; };
    if (c.p > options.alpha || c.ratio == 1 || !is_far(c.ratio)) return Verdict::unsure;
    const bool is_faster = c.ratio < 1;
    if ((is_faster ? c.superiority : 1 - c.superiority) < options.separation) return Verdict::unsure;
    if (has_cycles && (!is_far(c.ratio_in_cycles) || (c.ratio_in_cycles < 1) != is_faster))
        return Verdict::unsure;
    return is_faster ? Verdict::faster : Verdict::slower;
}

}  // namespace

std::string_view name(Verdict verdict) {
    static constexpr std::array<std::string_view, 4> names{"faster", "slower", "same", "unsure"};
    return names[static_cast<std::size_t>(verdict)];
}

Expected<std::vector<double>> log_ratios(std::span<const double> baseline, std::span<const double> variant) {
    if (baseline.size() != variant.size())
        return fail(Errc::argument_invalid, fmt::format("{} rounds of the baseline and {} of the variant",
                                                        baseline.size(), variant.size()));
    TRY(check_times(baseline));
    TRY(check_times(variant));
    std::vector<double> ratios(baseline.size());
    for (std::size_t i = 0; i < ratios.size(); ++i) ratios[i] = std::log(variant[i] / baseline[i]);
    return ratios;
}

Expected<Comparison> compare(std::span<const double> rounds, std::span<const double> in_cycles,
                             const CompareOptions& options) {
    TRY(check(options));
    TRY(check_finite(rounds));
    TRY(check_finite(in_cycles));
    if (!in_cycles.empty() && in_cycles.size() != rounds.size())
        return fail(Errc::argument_invalid,
                    fmt::format("{} rounds, and {} in cycles", rounds.size(), in_cycles.size()));
    Comparison result;
    result.rounds = static_cast<std::uint32_t>(rounds.size());
    const Location location = hodges_lehmann(rounds, options.alpha);
    result.ratio = std::exp(location.estimate);
    result.low = std::exp(location.low), result.high = std::exp(location.high);
    if (rounds.empty()) return result;
    result.median = std::exp(median({rounds.begin(), rounds.end()}));
    result.p = signed_rank_p(rounds);
    result.superiority = superiority(rounds);
    if (!in_cycles.empty())
        result.ratio_in_cycles = std::exp(hodges_lehmann(in_cycles, options.alpha).estimate);
    result.verdict = verdict(result, options, !in_cycles.empty());
    return result;
}

Expected<std::uint32_t> rounds_needed(const RoundsWanted& wanted) {
    TRY(check_part(wanted.effect, "an effect"));
    TRY(check_part(wanted.alpha, "alpha"));
    TRY(check_part(wanted.power, "the power"));
    if (!(std::isfinite(wanted.sigma) && wanted.sigma >= 0))
        return fail(Errc::argument_invalid, fmt::format("sigma is 0 or more, not {}", wanted.sigma));
    const double z = normal_quantile(1 - wanted.alpha / 2);
    const double known = (z + normal_quantile(wanted.power)) * wanted.sigma / std::log1p(wanted.effect);
    const double unknown = wanted.sigma == 0 ? 0 : z * z / 2;
    // All rounds of one sign are as improbable as it gets: 2 in 2^n.
    const double least = std::ceil(1 - std::log2(wanted.alpha));
    const double rounds = std::max(least, std::ceil(std::numbers::pi / 3 * (known * known + unknown)));
    if (rounds > 1e9)
        return fail(Errc::argument_invalid, fmt::format("no number of rounds shows {} where one varies by {}",
                                                        wanted.effect, wanted.sigma));
    return static_cast<std::uint32_t>(rounds);
}

Expected<SequentialTest> SequentialTest::make(const SequentialOptions& options) {
    TRY(check(options.compare));
    if (options.group == 0 || options.groups == 0)
        return fail(Errc::argument_invalid, std::string("a test has a group of rounds at least"));
    return SequentialTest(options);
}

Expected<SequentialTest::Look> SequentialTest::look(std::span<const double> rounds,
                                                    std::span<const double> in_cycles) {
    if (is_over_) return fail(Errc::argument_invalid, std::string("the test is over"));
    const std::size_t wanted = std::size_t{looks_ + 1} * options_.group;
    if (rounds.size() != wanted)
        return fail(Errc::argument_invalid,
                    fmt::format("this look is at {} rounds, not {}", wanted, rounds.size()));
    const auto spent = [&](std::uint32_t looks) {
        return options_.compare.alpha * std::log1p((std::numbers::e - 1) * looks / options_.groups);
    };
    CompareOptions options = options_.compare;
    options.alpha = spent(looks_ + 1) - spent(looks_);
    Look look{TRY(compare(rounds, in_cycles, options)), options.alpha, false};
    ++looks_;
    look.is_over = is_over_ = looks_ == options_.groups || look.comparison.verdict != Verdict::unsure;
    return look;
}

Expected<Calibration> calibrate(std::span<const double> rounds, std::span<const double> milliseconds) {
    TRY(check_finite(rounds));
    TRY(check_times(milliseconds));
    if (rounds.size() < least_calibration || milliseconds.empty())
        return fail(Errc::argument_invalid, fmt::format("a calibration takes {} rounds, these are {}",
                                                        least_calibration, rounds.size()));
    // 80 % of a normal distribution lie within 2.5631 standard deviations. More than 10 % of spikes on a
    // side count; the two peaks of a bimodal series do, where a median of deviations would see none.
    const double inner = 2 * normal_quantile(0.9);
    std::vector<double> sorted(rounds.begin(), rounds.end());
    std::sort(sorted.begin(), sorted.end());
    Calibration result;
    result.rounds = static_cast<std::uint32_t>(rounds.size());
    result.sigma = (quantile(sorted, 0.9) - quantile(sorted, 0.1)) / inner;
    result.bias = hodges_lehmann(rounds, 0.05).estimate;
    result.p = signed_rank_p(rounds);
    result.milliseconds = median({milliseconds.begin(), milliseconds.end()});
    return result;
}

std::string moved(const Calibration& begin, const Calibration& end, const StabilityOptions& options) {
    const double drift = end.milliseconds / begin.milliseconds - 1;
    if (std::abs(drift) > options.most_drift)
        return fmt::format("the baseline took {:+.1f} % more time at the end", 100 * drift);
    const double before = std::max(begin.sigma, options.least_sigma);
    const double after = std::max(end.sigma, options.least_sigma);
    if (after / before > options.most_sigma_ratio)
        return fmt::format("the spread of a round went from {:.2f} % to {:.2f} %", 100 * begin.sigma,
                           100 * end.sigma);
    if (end.p < options.least_p && std::abs(end.bias) > end.least_effect())
        return fmt::format("the baseline differs from itself by {:+.2f} %", 100 * std::expm1(end.bias));
    return {};
}

Expected<OverallSpeed> overall(std::span<const ShapeSpeed> shapes) {
    if (shapes.empty()) return fail(Errc::argument_invalid, std::string("no shapes"));
    OverallSpeed result;
    double sum = 0;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
        const ShapeSpeed& shape = shapes[i];
        if (!(std::isfinite(shape.speedup) && shape.speedup > 0) ||
            !(std::isfinite(shape.roofline) && shape.roofline >= 0))
            return tl::unexpected(
                invalid(fmt::format("the speed of shape {} is none: {}", i, shape.speedup), i));
        const bool is_above = shape.roofline != 0 && shape.speedup > shape.roofline;
        const double speedup = is_above ? shape.roofline : shape.speedup;
        result.clipped += is_above;
        sum += std::log(speedup);
        if (i == 0 || speedup < result.worst) result.worst = speedup, result.worst_shape = i;
    }
    result.speedup = std::exp(sum / static_cast<double>(shapes.size()));
    return result;
}

}  // namespace ptxgraft::measure
