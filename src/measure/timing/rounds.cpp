// Rounds of samples of several participants.
#include "measure/timing/rounds.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/try.hpp"

namespace ptxgraft::measure {
namespace {

template <class T> void shuffle(std::vector<T>& values, stack::Random& random) {
    for (std::size_t k = values.size(); k > 1; --k) std::swap(values[k - 1], values[random.below(k)]);
}

// Not the median: where most of a round was throttled, the one sample that was not would stand out.
double highest_clock(const std::vector<Sample>& samples, std::size_t first) {
    double clock = 0;
    for (std::size_t i = first; i < samples.size(); ++i)
        clock = std::max(clock, static_cast<double>(samples[i].megahertz));
    return clock;
}

}  // namespace

void Rounds::announce(const Participant& participant, Progress::Phase phase) {
    in_flight_ = participant.variant;
    if (s_.protocol.progress) s_.protocol.progress({phase, participant.variant, s_.rounds});
}

// Which inputs are where is drawn anew each time: what a kernel keeps by address is of other inputs.
std::vector<Setting> Rounds::settings(bool is_batched) {
    const std::size_t count = s_.sets.count();
    if (!is_batched) return {{s_.random.below(count), s_.random.below(count)}};
    std::vector<std::size_t> images(count);
    std::iota(images.begin(), images.end(), std::size_t{0});
    shuffle(images, s_.random);
    std::vector<Setting> all;
    for (std::size_t place = 0; place < count; ++place) all.push_back({images[place], place});
    return all;
}

std::vector<Participant*> Rounds::order_of(std::span<Participant* const> participants, bool is_mirrored) {
    std::vector<Participant*> order(participants.begin(), participants.end());
    shuffle(order, s_.random);
    if (is_mirrored) {
        const std::vector<Participant*> back(order.rbegin(), order.rend());
        order.insert(order.end(), back.begin(), back.end());
    }
    return order;
}

Expected<void> Rounds::check_baseline(const Participant& participant) const {
    if (participant.is_in() || participant.variant != Progress::baseline) return {};
    if (participant.status == TimingStatus::failed) return tl::unexpected(participant.error);
    return fail(
        participant.status == TimingStatus::impossible ? Errc::timing_not_possible : Errc::baseline_wrong,
        participant.why);
}

Expected<std::optional<Measured>> Rounds::launch(Participant& participant, Graph* graph,
                                                 std::span<const Setting> settings) {
    auto measured = s_.sampler->measure(s_.launch, *participant.kernel, graph, settings);
    if (measured) {
        TRY(compare_digests(participant, *measured, settings));
        TRY(check_baseline(participant));
        if (!participant.is_in()) return std::optional<Measured>();
        return std::optional(std::move(*measured));
    }
    const Error error = measured.error();
    if (error.context_lost || !s_.device.health().ok() || !s_.sampler->failed_in_launch())
        return tl::unexpected(error);
    participant.error = error;
    participant.leave(TimingStatus::failed, message(error));
    TRY(check_baseline(participant));
    TRY(s_.device.synchronize());  // what was queued before the launch
    return std::optional<Measured>();
}

Expected<void> Rounds::compare_digests(Participant& participant, const Measured& measured,
                                       std::span<const Setting> settings) {
    if (participant.wanted.empty()) return {};
    for (std::size_t i = 0; i < settings.size(); ++i) {
        const Setting& setting = settings[i];
        if (measured.digests[i] == participant.wanted[setting.image]) continue;
        announce(participant, Progress::Phase::compare);
        const std::vector<std::byte> now = TRY(s_.sampler->content(setting.place));
        const Finding finding = TRY(s_.sets.examine(s_.launch, setting.image, now));
        participant.finding = finding == Finding::right ? Finding::not_deterministic : finding;
        participant.leave(TimingStatus::wrong, fmt::format("a timed launch on inputs {} was {}",
                                                           setting.image, name(participant.finding)));
        return {};
    }
    return {};
}

Expected<void> Rounds::admit(Participant& participant, std::span<const std::uint64_t> known) {
    std::vector<std::uint64_t> digests(s_.sets.count());
    for (std::size_t image = 0; image < digests.size() && participant.is_in(); ++image) {
        announce(participant, Progress::Phase::admission);
        const Setting setting{image, s_.random.below(digests.size())};
        const auto measured = TRY(launch(participant, nullptr, {&setting, 1}));
        if (!measured) return {};
        digests[image] = measured->digests[0];
        if (!known.empty() && known[image] == digests[image]) continue;
        announce(participant, Progress::Phase::compare);
        const std::vector<std::byte> now = TRY(s_.sampler->content(setting.place));
        participant.finding = TRY(s_.sets.examine(s_.launch, image, now));
        if (participant.finding != Finding::right)
            participant.leave(TimingStatus::wrong,
                              fmt::format("a launch on inputs {} was {}", image, name(participant.finding)));
    }
    TRY(check_baseline(participant));
    if (participant.is_in()) participant.wanted = std::move(digests);
    return {};
}

// True: there is a sample. What is not longer than events can tell, or no number, is none.
Expected<bool> Rounds::take(Taken& taken, const RoundOptions& options) {
    Participant& participant = *taken.participant;
    announce(participant, options.phase);
    Graph* const graph = options.is_batched ? participant.batch.get() : nullptr;
    const auto measured = TRY(launch(participant, graph, taken.settings));
    if (!measured) return false;
    const double least = std::max(s_.protocol.event_resolution_milliseconds, s_.facts.event_milliseconds);
    if (!(std::isfinite(measured->milliseconds) && measured->milliseconds > least)) {
        participant.leave(TimingStatus::impossible,
                          fmt::format("a launch took {} ms, and two events alone up to {} ms",
                                      measured->milliseconds, least));
        TRY(check_baseline(participant));
        return false;
    }
    taken.sample = samples_.size();
    samples_.push_back(
        {static_cast<float>(measured->milliseconds / static_cast<double>(taken.settings.size())),
         static_cast<float>(measured->state.megahertz), measured->state.throttled, s_.rounds, order_++,
         participant.number, static_cast<std::uint16_t>(taken.settings[0].image),
         static_cast<std::uint16_t>(taken.settings[0].place),
         static_cast<std::uint8_t>(measured->state.celsius), options.purpose, Sample::Repeated::no});
    return true;
}

// True: some sample stayed slow.
Expected<bool> Rounds::repeat_slow_ones(std::vector<Taken>& taken, const RoundOptions& options) {
    if (taken.empty()) return false;
    const double least = s_.protocol.least_clock * highest_clock(samples_, taken.front().sample);
    bool is_noisy = false;
    for (Taken& one : taken) {
        const auto is_slow = [&] {
            const float clock = samples_[one.sample].megahertz;
            return clock != 0 && clock < least;
        };
        for (std::uint32_t i = 0; i < s_.protocol.most_repeats && is_slow(); ++i) {
            const std::size_t before = one.sample;
            const bool has_sample = TRY(take(one, options));
            if (!has_sample) break;
            samples_[before].repeated = Sample::Repeated::slow_clock;
        }
        is_noisy |= is_slow();
    }
    return is_noisy;
}

void Rounds::note(std::span<Participant* const> participants, std::span<const Taken> taken,
                  const RoundOptions& options, bool is_noisy) {
    for (Participant* const participant : participants) {
        Datum datum{s_.rounds, options.purpose, is_noisy, 0, 0.0};
        double count = 0;
        for (const Taken& one : taken) {
            if (one.participant != participant) continue;
            const Sample& sample = samples_[one.sample];
            const double log = std::log(static_cast<double>(sample.milliseconds));
            datum.log_milliseconds += log;
            if (sample.megahertz == 0)
                datum.log_cycles.reset();
            else if (datum.log_cycles)
                *datum.log_cycles += log + std::log(static_cast<double>(sample.megahertz));
            ++count;
        }
        if (count == 0 || !participant->is_in()) continue;
        datum.log_milliseconds /= count;
        if (datum.log_cycles) *datum.log_cycles /= count;
        participant->data.push_back(datum);
    }
}

// The whole device is idle before and behind a round: nothing that was launched elsewhere is left for later.
Expected<void> Rounds::measure(std::span<Participant* const> participants, const RoundOptions& options) {
    TRY(s_.device.synchronize());
    const std::vector<Participant*> order = order_of(participants, options.is_mirrored);
    std::vector<Taken> taken;
    std::vector<Setting> setting;
    order_ = 0;
    for (std::size_t k = 0; k < order.size(); ++k) {
        if (k % participants.size() == 0) setting = settings(options.is_batched);
        Taken one{order[k], setting, 0};
        if (!order[k]->is_in()) continue;
        const bool has_sample = TRY(take(one, options));
        if (has_sample) taken.push_back(std::move(one));
    }
    const bool is_noisy = TRY(repeat_slow_ones(taken, options));
    TRY(s_.device.synchronize());
    noisy_ += is_noisy;
    note(participants, taken, options, is_noisy);
    ++s_.rounds;
    return {};
}

}  // namespace ptxgraft::measure
