// Variants beside the baseline: which rounds are measured, who stays, and what is said of it.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/try.hpp"
#include "measure/timing/device_lock.hpp"
#include "measure/timing/rounds.hpp"
#include "measure/timing/session_data.hpp"
#include "measure/timing/signed_rank.hpp"

namespace ptxgraft::measure {
namespace {

using Purpose = Sample::Purpose;

constexpr std::size_t most_variants = 15;
constexpr std::uint32_t group_rounds = 8;
constexpr double promising_sigmas = 3;
// The least time of all is compared with: of a spread that was measured as 0, one thousandth.
constexpr double least_sigma = 0.001;

struct TierRow {
    std::string_view name;
    std::uint32_t rounds;
};
constexpr std::array<TierRow, 4> tiers{{{"screen", 5}, {"race", 16}, {"elite", 32}, {"final", 64}}};

class Comparing {
  public:
    Comparing(Session::Data& session, std::span<const Variant> variants, const TimingOptions& options)
        : s_(session), variants_(variants), options_(options), rounds_(session, report_.samples) {
        participants_.resize(variants.size());
        for (std::size_t i = 0; i < variants.size(); ++i) {
            participants_[i].kernel = &variants[i].kernel;
            participants_[i].number = static_cast<std::uint16_t>(i + 1);
            participants_[i].variant = i;
        }
    }

    Report run() {
        baseline_ = s_.baseline;
        baseline_.data.clear();
        if (auto done = measure(); !done) {
            report_.ended_by = done.error();
            report_.in_flight = rounds_.in_flight();
        }
        evaluate();
        return std::move(report_);
    }

  private:
    Expected<void> measure() {
        if (const DeviceHealth health = s_.device.health(); !health.ok()) return tl::unexpected(*health.lost);
        for (Participant& participant : participants_) TRY(admit(participant));
        const TimingGuard guard = s_.device.timing();
        const CurrentDevice current = TRY(s_.device.make_current());
        if (s_.facts.batch > 1)
            TRY(measure_rounds(s_.protocol.cold_rounds, {.purpose = Purpose::cold, .is_batched = false}));
        switch (options_.tier) {
            case Tier::screen: return screen();
            case Tier::race: TRY(race()); break;
            default: break;
        }
        return measure_rounds(rounds(), {.is_batched = s_.facts.batch > 1});
    }
    // Its graph is made and launched once here, where nobody measures.
    Expected<void> admit(Participant& participant) {
        TRY(rounds_.admit(participant, s_.baseline.wanted));
        if (!participant.is_in() || s_.facts.batch == 1) return {};
        auto graph = s_.sampler->batch(s_.launch, *participant.kernel);
        if (!graph) {
            if (graph.error().context_lost) return tl::unexpected(graph.error());
            participant.error = graph.error();
            participant.leave(TimingStatus::failed, message(graph.error()));
            return {};
        }
        participant.batch = std::make_shared<Graph>(std::move(*graph));
        return {};
    }
    [[nodiscard]] std::uint32_t rounds() const {
        return options_.rounds != 0 ? options_.rounds : tiers[static_cast<std::size_t>(options_.tier)].rounds;
    }
    // Who is still there, behind the baseline.
    std::vector<Participant*> present() {
        std::vector<Participant*> all{&baseline_};
        for (Participant& participant : participants_)
            if (participant.is_in() && !dropped_[participant.variant]) all.push_back(&participant);
        return all;
    }
    Expected<void> measure_rounds(std::uint32_t count, const RoundOptions& options) {
        for (std::uint32_t i = 0; i < count; ++i) {
            const std::vector<Participant*> all = present();
            if (all.size() == 1) return {};
            TRY(rounds_.measure(all, options));
            report_.rounds += options.purpose != Purpose::cold;
        }
        return {};
    }
    Expected<void> screen() {
        return measure_rounds(rounds(), {.purpose = Purpose::selection,
                                         .phase = Progress::Phase::selection,
                                         .is_mirrored = false,
                                         .is_batched = s_.facts.batch > 1});
    }
    // Successive halving: the clearly slower ones go, and the slower half of the others.
    Expected<void> race() {
        std::vector<SequentialTest> tests;
        for (std::size_t i = 0; i < variants_.size(); ++i)
            tests.push_back(TRY(SequentialTest::make({judged(), group_rounds, options_.groups})));
        for (std::uint32_t group = 0; group < options_.groups; ++group) {
            TRY(measure_rounds(group_rounds, {.purpose = Purpose::selection,
                                              .phase = Progress::Phase::selection,
                                              .is_batched = s_.facts.batch > 1}));
            TRY(drop(tests));
        }
        return {};
    }
    Expected<void> drop(std::vector<SequentialTest>& tests) {
        std::vector<std::pair<double, std::size_t>> order;
        for (Participant* const participant : present()) {
            if (participant == &baseline_) continue;
            const std::size_t i = participant->variant;
            const Ratios ratios = ratios_of(*participant, Purpose::selection, true);
            const Comparison now = TRY(measure::compare(ratios.times, ratios.cycles, judged()));
            // A test that was over stays so: it found the variant faster, or the same.
            if (const auto look = tests[i].look(ratios.times, ratios.cycles);
                look && look->comparison.verdict == Verdict::slower)
                dropped_[i] = true;
            else
                order.emplace_back(now.ratio, i);
        }
        std::ranges::sort(order);
        for (std::size_t k = (order.size() + 1) / 2; k < order.size(); ++k) dropped_[order[k].second] = true;
        return {};
    }

    [[nodiscard]] CompareOptions judged() const {
        return {s_.protocol.alpha, s_.facts.calibration.least_effect(s_.protocol.least_effect),
                s_.protocol.separation};
    }
    struct Ratios {
        std::vector<double> times, cycles;  // cycles: none where any is not known
        std::uint32_t noisy = 0;
    };
    [[nodiscard]] Ratios ratios_of(const Participant& participant, Purpose purpose, bool with_noisy) const {
        Ratios ratios;
        bool has_cycles = true;
        for (const Datum& datum : participant.data) {
            if (datum.purpose != purpose) continue;
            const auto base = std::ranges::find(baseline_.data, datum.round, &Datum::round);
            if (base == baseline_.data.end()) continue;
            ratios.noisy += datum.is_noisy;
            if (datum.is_noisy && !with_noisy) continue;
            ratios.times.push_back(datum.log_milliseconds - base->log_milliseconds);
            has_cycles &= datum.log_cycles && base->log_cycles;
            if (has_cycles) ratios.cycles.push_back(*datum.log_cycles - *base->log_cycles);
        }
        if (!has_cycles) ratios.cycles.clear();
        return ratios;
    }
    [[nodiscard]] std::vector<double> times_of(const Participant& participant, Purpose purpose) const {
        std::vector<double> times;
        for (const Sample& sample : report_.samples)
            if (sample.variant == participant.number && sample.purpose == purpose &&
                sample.repeated == Sample::Repeated::no)
                times.push_back(sample.milliseconds);
        return times;
    }
    [[nodiscard]] double median_of(const Participant& participant, Purpose purpose) const {
        std::vector<double> times = times_of(participant, purpose);
        return times.empty() ? 0 : median(std::move(times));
    }
    [[nodiscard]] double least_of(const Participant& participant) const {
        const std::vector<double> times = times_of(participant, Purpose::selection);
        return times.empty() ? std::numeric_limits<double>::infinity() : *std::ranges::min_element(times);
    }

    void evaluate() {
        report_.least_effect = judged().least_effect;
        report_.noisy_rounds = rounds_.noisy();
        report_.is_shared =
            s_.facts.is_shared || (s_.nvml != nullptr && s_.nvml->processes() > s_.protocol.own_processes);
        report_.baseline_milliseconds = median_of(baseline_, Purpose::report);
        report_.baseline_cold_milliseconds =
            s_.facts.batch > 1 ? median_of(baseline_, Purpose::cold) : report_.baseline_milliseconds;
        for (Participant& participant : participants_) report_.variants.push_back(evaluate(participant));
        double best = least_of(baseline_);
        for (const Participant& participant : participants_)
            if (participant.is_in()) best = std::min(best, least_of(participant));
        const double sigma = std::max(s_.facts.calibration.sigma, least_sigma);
        for (std::size_t i = 0; i < participants_.size(); ++i)
            report_.variants[i].is_promising =
                participants_[i].is_in() && !dropped_[i] &&
                (options_.tier != Tier::screen ||
                 least_of(participants_[i]) <= best * (1 + promising_sigmas * sigma));
    }
    VariantTiming evaluate(Participant& participant) {
        VariantTiming timing;
        timing.name = variants_[participant.variant].name;
        timing.milliseconds = median_of(participant, Purpose::report);
        timing.cold_milliseconds =
            s_.facts.batch > 1 ? median_of(participant, Purpose::cold) : timing.milliseconds;
        if (participant.is_in()) look_at_times(participant, timing);
        if (participant.is_in() && report_.ended_by) end(participant);
        timing.status = participant.status, timing.finding = participant.finding;
        timing.why = participant.why, timing.error = participant.error;
        if (timing.status != TimingStatus::ok)
            timing.comparison.verdict = timing.selection.verdict = Verdict::unsure;
        return timing;
    }
    void look_at_times(Participant& participant, VariantTiming& timing) {
        const Ratios chosen = ratios_of(participant, Purpose::selection, true);
        const Ratios ratios = ratios_of(participant, Purpose::report, false);
        timing.selection = *measure::compare(chosen.times, chosen.cycles, judged());
        timing.comparison = *measure::compare(ratios.times, ratios.cycles, judged());
        const double milliseconds =
            timing.milliseconds != 0 ? timing.milliseconds : median_of(participant, Purpose::selection);
        if (milliseconds != 0 && milliseconds < s_.facts.roofline_milliseconds)
            return participant.leave(TimingStatus::impossible,
                                     fmt::format("{} ms, and nothing can take less than {} ms", milliseconds,
                                                 s_.facts.roofline_milliseconds));
        const double all = static_cast<double>(ratios.times.size()) + ratios.noisy;
        if (ratios.noisy > s_.protocol.most_noisy_rounds * all)
            participant.leave(TimingStatus::noisy,
                              fmt::format("the clock fell in {} of {} rounds", ratios.noisy, all));
    }
    // What was measured of a session that ended early stands; of the others it is said why there is nothing.
    void end(Participant& participant) {
        const bool is_lost = report_.ended_by->context_lost || !s_.device.health().ok();
        const bool is_in_flight = report_.in_flight == participant.variant;
        if (!is_in_flight && !participant.data.empty()) return;
        participant.error = *report_.ended_by;
        participant.leave(is_lost ? TimingStatus::device_lost : TimingStatus::failed,
                          (is_in_flight ? "its launch was the last: " : "it was not measured: ") +
                              message(*report_.ended_by));
    }

    Session::Data& s_;
    std::span<const Variant> variants_;
    const TimingOptions& options_;
    Report report_ = {};
    Rounds rounds_;
    Participant baseline_ = {};
    std::vector<Participant> participants_ = {};
    std::array<bool, most_variants> dropped_{};
};

}  // namespace

std::string_view name(Tier tier) { return tiers[static_cast<std::size_t>(tier)].name; }
std::string_view name(TimingStatus status) {
    static constexpr std::array<std::string_view, 9> names{
        "ok", "noisy", "impossible", "wrong", "failed", "device_lost", "rejected", "hang", "crashed"};
    return names[static_cast<std::size_t>(status)];
}
std::string_view name(ClockSource source) {
    static constexpr std::array<std::string_view, 3> names{"none", "marker", "nvml"};
    return names[static_cast<std::size_t>(source)];
}

Expected<Report> Session::compare(std::span<const Variant> variants, const TimingOptions& options) {
    Data& s = *data_;
    if (variants.empty() || variants.size() > most_variants)
        return fail(Errc::argument_invalid,
                    fmt::format("1 to {} variants are compared with the baseline, not {}", most_variants,
                                variants.size()));
    if (options.tier == Tier::race && options.groups == 0)
        return fail(Errc::argument_invalid, std::string("a race has a group of rounds at least"));
    const DeviceLock lock =
        TRY(DeviceLock::take(s.protocol.lock_folder, s.facts.device.uuid, s.protocol.lock_seconds));
    return Comparing(s, variants, options).run();
}

}  // namespace ptxgraft::measure
