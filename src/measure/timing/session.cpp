// A session: what it makes once, and the baseline against itself at its begin and its end.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "base/try.hpp"
#include "measure/timing/device_lock.hpp"
#include "measure/timing/rounds.hpp"
#include "measure/timing/session_data.hpp"
#include "measure/timing/signed_rank.hpp"

namespace ptxgraft::measure {
namespace {

constexpr std::uint32_t least_rounds = 8;
constexpr std::uint64_t unknown_l2 = std::uint64_t{128} << 20;  // more than any GPU has
constexpr int first_launches = 3;                               // for whether to batch

Expected<void> check(const TimedLaunch& launch, const Protocol& protocol) {
    const auto invalid = [](std::string what) { return fail(Errc::argument_invalid, std::move(what)); };
    if (!launch.is_right) return invalid("nothing says which results are right (TimedLaunch::is_right)");
    if (protocol.calibration_rounds < least_rounds)
        return invalid(fmt::format("a calibration has {} rounds at least", least_rounds));
    if (protocol.most_sets < 2) return invalid("inputs are of 2 sets at least");
    if (protocol.empty_pairs == 0) return invalid("an empty pair of events at least is measured");
    for (const double number : {launch.necessary_bytes, launch.necessary_operations,
                                protocol.operations_per_second, protocol.batch_below_milliseconds})
        if (!(std::isfinite(number) && number >= 0))
            return invalid(fmt::format("{} is not 0 or more", number));
    return {};
}

// Dirty lines may still be in L2 when the kernel has ended, so that as much need not have gone anywhere.
double roofline(const Session::Data& s) {
    const double bytes_per_second = s.facts.device.peak_bytes_per_second();
    const double batch = s.facts.batch, kept = static_cast<double>(s.facts.device.l2_bytes) / batch;
    const double bytes = std::max(0.0, s.launch.necessary_bytes - kept);
    double seconds = bytes_per_second == 0 ? 0 : bytes / bytes_per_second;
    if (s.protocol.operations_per_second != 0)
        seconds = std::max(seconds, s.launch.necessary_operations / s.protocol.operations_per_second);
    return 1000 * seconds;
}

Expected<void> make_memory(Session::Data& s) {
    const std::uint64_t l2 = s.facts.device.l2_bytes == 0 ? unknown_l2 : s.facts.device.l2_bytes;
    const std::uint64_t set = layout_of(s.launch.launch).bytes;
    const std::uint64_t count = std::clamp<std::uint64_t>((2 * l2 + set - 1) / set, 2, s.protocol.most_sets);
    s.facts.sets = static_cast<std::uint32_t>(count);
    s.facts.set_bytes = set, s.facts.flush_bytes = 2 * l2;
    s.sets = TRY(Sets::make(s.launch, s.device, s.protocol.seed, count));
    s.sampler = TRY(Sampler::make(s.device, s.sets, s.facts, s.protocol.seed));
    return {};
}

// A part of a GPU (MIG) has none, and no limit of them.
Expected<void> forbid_persisting_lines(Session::Data& s) {
    if (s.facts.device.persisting_l2_bytes == 0) return {};
    const std::size_t before = TRY(s.device.persisting_l2());
    TRY(s.device.set_persisting_l2(0));
    s.persisting_l2 = before;
    return {};
}

void choose_clock(Session::Data& s) {
    s.nvml = Nvml::open(s.protocol.nvml, s.facts.device.uuid);
    s.sampler->use(s.nvml.get());
    s.sampler->use_marker(s.nvml == nullptr);
    s.facts.clock = s.nvml != nullptr ? ClockSource::nvml : ClockSource::marker;
    s.facts.is_shared = s.nvml != nullptr && s.nvml->processes() > s.protocol.own_processes;
}

Expected<void> measure_events(Session::Data& s) {
    std::vector<double> pairs;
    static_cast<void>(TRY(s.sampler->measure_nothing()));  // the first use of both
    for (std::uint32_t i = 0; i < s.protocol.empty_pairs; ++i)
        pairs.push_back(TRY(s.sampler->measure_nothing()));
    s.facts.event_milliseconds = median(std::move(pairs));
    return {};
}

// By the baseline alone: no variant has a say in how often it is launched.
Expected<void> choose_batch(Session::Data& s) {
    double least = INFINITY;
    const Setting setting{};
    for (int i = 0; i < first_launches; ++i) {
        const Measured measured = TRY(s.sampler->measure(s.launch, s.kernel, nullptr, {&setting, 1}));
        least = std::min(least, measured.milliseconds);
        if (measured.state.megahertz == 0) s.facts.clock = ClockSource::none;
    }
    if (s.facts.clock == ClockSource::none) s.sampler->use_marker(false);
    if (least >= s.protocol.batch_below_milliseconds) return {};
    s.facts.batch = s.facts.sets;
    s.baseline.batch = std::make_shared<Graph>(TRY(s.sampler->batch(s.launch, s.kernel)));
    return {};
}

Expected<Calibration> calibrate_session(Session::Data& s) {
    const TimingGuard guard = s.device.timing();
    const CurrentDevice current = TRY(s.device.make_current());
    Participant a = s.baseline, b = s.baseline;
    b.number = 1;
    const std::array<Participant*, 2> both{&a, &b};
    Rounds rounds(s, s.calibration_samples);
    const std::size_t first = s.calibration_samples.size();
    for (std::uint32_t i = 0; i < s.protocol.calibration_rounds; ++i)
        TRY(rounds.measure(both, {.purpose = Sample::Purpose::calibration,
                                  .phase = Progress::Phase::calibration,
                                  .is_batched = s.baseline.batch != nullptr}));
    // Rounds in which the clock fell say nothing of the others, as long as there are others.
    std::vector<double> ratios, all, times;
    for (std::size_t i = 0; i < a.data.size(); ++i) {
        all.push_back(b.data[i].log_milliseconds - a.data[i].log_milliseconds);
        if (!a.data[i].is_noisy) ratios.push_back(all.back());
    }
    if (ratios.size() < least_rounds) ratios = all;
    for (std::size_t i = first; i < s.calibration_samples.size(); ++i)
        if (s.calibration_samples[i].repeated == Sample::Repeated::no)
            times.push_back(s.calibration_samples[i].milliseconds);
    return calibrate(ratios, times);
}

Expected<void> check_calibration(const Session::Data& s) {
    const Calibration& c = s.facts.calibration;
    if (c.p < s.protocol.stability.least_p && std::abs(c.bias) > c.least_effect(s.protocol.least_effect))
        return fail(Errc::timing_not_possible,
                    fmt::format("the baseline differs from itself by {:+.2f} %", 100 * std::expm1(c.bias)));
    if (c.milliseconds < s.facts.roofline_milliseconds)
        return fail(Errc::timing_not_possible,
                    fmt::format("the baseline takes {} ms, and nothing can take less than {} ms",
                                c.milliseconds, s.facts.roofline_milliseconds));
    return {};
}

}  // namespace

Expected<Session> Session::open(TimedLaunch launch, const Kernel& baseline, const Device& device,
                                Protocol protocol) {
    if (device.kind() != DeviceKind::cuda)
        return fail(Errc::timing_not_possible, std::string("the emulator has no time of its own"));
    TRY(check(launch, protocol));
    auto data = std::make_unique<Data>(std::move(launch), baseline, device, std::move(protocol));
    Data& s = *data;
    s.facts.device = TRY(device.properties());
    const DeviceLock lock =
        TRY(DeviceLock::take(s.protocol.lock_folder, s.facts.device.uuid, s.protocol.lock_seconds));
    TRY(forbid_persisting_lines(s));
    TRY(make_memory(s));
    choose_clock(s);
    TRY(measure_events(s));
    s.baseline.kernel = &s.kernel;
    Rounds admission(s, s.calibration_samples);
    TRY(admission.admit(s.baseline, {}));
    TRY(choose_batch(s));
    s.facts.roofline_milliseconds = roofline(s);
    s.facts.calibration = TRY(calibrate_session(s));
    TRY(check_calibration(s));
    return Session(std::move(data));
}

Expected<Closing> Session::close() {
    Data& s = *data_;
    const DeviceLock lock =
        TRY(DeviceLock::take(s.protocol.lock_folder, s.facts.device.uuid, s.protocol.lock_seconds));
    Closing closing;
    closing.calibration = TRY(calibrate_session(s));
    closing.moved = moved(s.facts.calibration, closing.calibration, s.protocol.stability);
    return closing;
}

void mark(Report& report, const Closing& closing) {
    if (closing.moved.empty()) return;
    for (VariantTiming& variant : report.variants) {
        if (variant.status != TimingStatus::ok) continue;
        variant.status = TimingStatus::noisy;
        variant.why = closing.moved;
        variant.comparison.verdict = variant.selection.verdict = Verdict::unsure;
    }
}

const SessionFacts& Session::facts() const { return data_->facts; }
const std::vector<Sample>& Session::calibration_samples() const { return data_->calibration_samples; }

Session::Session(std::unique_ptr<Data> data) : data_(std::move(data)) {}
Session::Session(Session&&) noexcept = default;
Session& Session::operator=(Session&&) noexcept = default;
Session::~Session() = default;

}  // namespace ptxgraft::measure
