// What was measured on GPUs: how noisy it is, and every sample of the finalists.

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "search/report/html.hpp"
#include "search/report/sections.hpp"
#include "search/report/times.hpp"

namespace ptxgraft::search {
namespace {

using measure::Sample;

constexpr std::size_t most_finalists = 8, most_sessions = 24;
constexpr double width = 520, row_height = 26, left = 90, right = 16, top = 8, bottom = 34;

const MeasuredBatch* batch_of(const Facts& facts, std::uint64_t id) {
    const auto& all = facts.times.batches;
    const auto at = std::ranges::lower_bound(all, id, {}, &MeasuredBatch::id);
    return at != all.end() && at->id == id ? &*at : nullptr;
}

}  // namespace

measure::Verdict TimedCandidate::verdict() const {
    const measure::Verdict first = told.front()->comparison.verdict;
    const auto agrees = [&](const Measurement* m) { return m->comparison.verdict == first; };
    return std::ranges::all_of(told, agrees) ? first : measure::Verdict::unsure;
}

std::vector<TimedCandidate> timed_candidates(const Facts& facts) {
    std::map<std::uint64_t, TimedCandidate> all;
    for (const Measurement& one : facts.times.measurements) {
        const MeasuredBatch* const batch = batch_of(facts, one.batch);
        if (batch == nullptr || one.status != measure::TimingStatus::ok || one.comparison.rounds == 0)
            continue;
        TimedCandidate& made = all[one.candidate];
        made.candidate = one.candidate;
        if (batch->tier < made.tier) continue;
        if (batch->tier > made.tier) made = {.candidate = one.candidate, .told = {}, .tier = batch->tier};
        made.told.push_back(&one);
        made.sessions.insert(batch->session);
        made.low = std::min(made.low, one.comparison.low);
        made.high = std::max(made.high, one.comparison.high);
        made.rounds += one.comparison.rounds;
    }
    std::vector<TimedCandidate> made;
    for (auto& [candidate, one] : all) {
        std::ranges::sort(one.told, {}, [](const Measurement* m) { return m->comparison.ratio; });
        one.ratio = one.told[one.told.size() / 2]->comparison.ratio;
        made.push_back(std::move(one));
    }
    std::ranges::stable_sort(made, [](const TimedCandidate& a, const TimedCandidate& b) {
        return a.tier != b.tier ? a.tier > b.tier : a.high < b.high;
    });
    return made;
}

std::vector<TimeDot> dots_of(const Facts& facts, const TimedCandidate& of) {
    std::vector<TimeDot> dots;
    for (const Measurement& one : facts.times.measurements) {
        if (one.candidate != of.candidate) continue;
        const MeasuredBatch* const batch = batch_of(facts, one.batch);
        if (batch == nullptr) continue;
        std::vector<double> base;
        for (const Sample& sample : batch->samples)
            if (sample.variant == 0 && sample.purpose != Sample::Purpose::cold &&
                sample.repeated == Sample::Repeated::no)
                base.push_back(sample.milliseconds);
        if (base.empty()) continue;
        std::ranges::nth_element(base, base.begin() + static_cast<std::ptrdiff_t>(base.size() / 2));
        for (const Sample& sample : batch->samples)
            if (sample.variant == one.number && sample.purpose != Sample::Purpose::cold &&
                sample.repeated == Sample::Repeated::no)
                dots.push_back({sample.milliseconds / base[base.size() / 2],
                                sample.purpose == Sample::Purpose::selection});
    }
    return dots;
}

namespace {

std::string percent(double part) { return fmt::format("{:.2f} %", 100 * part); }

std::string sessions_table(const Facts& facts) {
    Table table{.caption =
                    "Sessions: the baseline measured against itself says what is noise. Differences below "
                    "0.5 %, or twice sigma, are not judged",
                .columns = {{"device", false},
                            {"driver", false},
                            {"clock by", false},
                            {"baseline, ms", true},
                            {"sigma", true},
                            {"bias", true},
                            {"batches", true},
                            {"notes", false}},
                .rows = {}};
    for (const MeasuredSession& one : facts.times.sessions) {
        if (table.rows.size() == most_sessions) break;
        const auto batches = static_cast<std::uint64_t>(
            std::ranges::count(facts.times.batches, one.id, &MeasuredBatch::session));
        std::string notes = one.moved;
        if (one.is_shared) notes += notes.empty() ? "shared" : "; shared";
        table.rows.push_back({escaped(fmt::format("{} ({})", one.device, one.uuid)), escaped(one.driver),
                              escaped(measure::name(one.clock)), number(one.calibration.milliseconds),
                              percent(one.calibration.sigma), percent(std::expm1(one.calibration.bias)),
                              number(batches), escaped(notes.empty() ? "–" : notes)});
    }
    return html_of(table);
}

std::string samples_figure(const Facts& facts, const std::vector<TimedCandidate>& finalists) {
    std::vector<std::vector<TimeDot>> rows;
    double low = 1, high = 1;
    for (const TimedCandidate& one : finalists) {
        rows.push_back(dots_of(facts, one));
        for (const TimeDot& dot : rows.back())
            low = std::min(low, dot.ratio), high = std::max(high, dot.ratio);
    }
    const double room = std::max(0.01, 0.04 * (high - low));
    low -= room, high += room;
    const auto x = [&](double ratio) { return left + (width - left - right) * (ratio - low) / (high - low); };
    const double height = top + row_height * static_cast<double>(rows.size()) + bottom;
    std::string svg = fmt::format(
        "<figure><svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" class=\"plot\" viewBox=\"0 0 {:g} "
        "{:g}\" aria-labelledby=\"samplest\"><title id=\"samplest\">Every sample of the finalists</title>\n"
        "<line class=\"axis\" x1=\"{:.1f}\" y1=\"{:g}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
        width, height, x(1), top, x(1), height - bottom);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const double y = top + row_height * (static_cast<double>(k) + 0.5);
        svg += fmt::format("<text class=\"end\" x=\"{:g}\" y=\"{:.1f}\">{}</text>\n", left - 8, y + 4,
                           number(finalists[k].candidate));
        for (std::size_t d = 0; d < rows[k].size(); ++d)
            svg += fmt::format("<circle class=\"dot{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"2\"/>",
                               rows[k][d].chose ? " chose" : "", x(rows[k][d].ratio),
                               y - 6 + static_cast<double>(d % 7) * 2);
        if (std::isfinite(finalists[k].high))
            svg += fmt::format(
                "\n<line class=\"range\" x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\"/>\n",
                x(std::max(finalists[k].low, low)), y + 10, x(std::min(finalists[k].high, high)), y + 10);
    }
    std::set<double> ticks{low + room, high - room};
    if (*ticks.begin() < 0.97 && *ticks.rbegin() > 1.03) ticks.insert(1);
    for (const double at : ticks)
        svg += fmt::format("<text class=\"middle\" x=\"{:.1f}\" y=\"{:.1f}\">{:.3f}</text>\n", x(at),
                           height - bottom + 18, at);
    return svg +
           "</svg><figcaption>Each dot is a sample, over the median of the baseline's in its batch; pale "
           "ones chose the candidate and are no part of its figure, which the line below them "
           "is.</figcaption></figure>\n";
}

std::string finalists_table(const std::vector<TimedCandidate>& finalists) {
    Table table{.caption = "Finalists by the upper end of the interval, of samples that chose nothing",
                .columns = {{"candidate", true},
                            {"of the baseline's time", true},
                            {"from", true},
                            {"to", true},
                            {"tier", false},
                            {"rounds", true},
                            {"sessions", true},
                            {"verdict", false}},
                .rows = {}};
    for (const TimedCandidate& one : finalists) {
        table.rows.push_back({number(one.candidate), number(one.ratio), number(one.low), number(one.high),
                              std::string(measure::name(one.tier)), number(std::uint64_t{one.rounds}),
                              number(std::uint64_t{one.sessions.size()}),
                              std::string(measure::name(one.verdict()))});
    }
    return html_of(table);
}

}  // namespace

std::string times_section(const Facts& facts) {
    if (facts.times.sessions.empty()) return {};
    std::vector<TimedCandidate> finalists = timed_candidates(facts);
    if (finalists.size() > most_finalists) finalists.resize(most_finalists);
    std::string html =
        "<p>Times are ratios to the baseline's within a round. Another run of this search measures, and may "
        "find, others.</p>\n" +
        sessions_table(facts);
    if (!finalists.empty()) html += finalists_table(finalists) + samples_figure(facts, finalists);
    return section("times", "Times", html);
}

}  // namespace ptxgraft::search
