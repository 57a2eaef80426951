// Requests to time, and what comes of them, as bytes.

#include <bit>
#include <cmath>

#include "measure/worker/frame_bytes.hpp"

namespace ptxgraft::link {

// Where a writer looks for what is of no namespace of its own.
template <class Archive, Is<DeviceProperties> T> void visit(Archive& archive, T& device) {
    auto& [kind, name, uuid, target, driver, major, minor, processors, clock, memory_clock, bus, memory, l2,
           persisting, warp, threads, processor_threads, blocks, registers, processor_registers, shared,
           shared_optin, processor_shared, reserved, cluster, cooperative] = device;
    archive(kind, name, uuid, target, driver, major, minor, processors, clock, memory_clock, bus, memory, l2,
            persisting, warp, threads, processor_threads, blocks, registers, processor_registers, shared,
            shared_optin, processor_shared, reserved, cluster, cooperative);
}

}  // namespace ptxgraft::link

namespace ptxgraft::measure {

static_assert(std::endian::native == std::endian::little);

template <class Archive, Is<TimingOptions> T> void visit(Archive& archive, T& options) {
    auto& [tier, rounds, groups] = options;
    archive(tier, rounds, groups);
}
template <class Archive, Is<StabilityOptions> T> void visit(Archive& archive, T& options) {
    auto& [drift, ratio, least_sigma, least_p] = options;
    archive(drift, ratio, least_sigma, least_p);
}
template <class Archive, Is<Protocol> T> void visit(Archive& archive, T& protocol) {
    auto& [seed, calibration, alpha, effect, separation, stability, sets, batch_below, cold, least_clock,
           repeats, noisy, resolution, pairs, operations, nvml, folder, seconds, processes, progress] =
        protocol;
    static_cast<void>(progress);  // a function of the process that measures
    archive(seed, calibration, alpha, effect, separation, stability, sets, batch_below, cold, least_clock,
            repeats, noisy, resolution, pairs, operations, nvml, folder, seconds, processes);
}
template <class Archive, Is<TimeRequest> T> void visit(Archive& archive, T& request) {
    auto& [workload, variants, timing, protocol, requests] = request;
    archive(workload, variants, timing, protocol, requests);
}
template <class Archive, Is<Sample> T> void visit(Archive& archive, T& sample) {
    auto& [milliseconds, megahertz, throttled, round, order, variant, inputs, place, celsius, purpose,
           repeated] = sample;
    archive(milliseconds, megahertz, throttled, round, order, variant, inputs, place, celsius, purpose,
            repeated);
}
template <class Archive, Is<Comparison> T> void visit(Archive& archive, T& comparison) {
    auto& [verdict, rounds, ratio, low, high, median, p, superiority, cycles] = comparison;
    archive(verdict, rounds, ratio, low, high, median, p, superiority, cycles);
}
template <class Archive, Is<VariantTiming> T> void visit(Archive& archive, T& timing) {
    auto& [name, status, finding, why, error, comparison, selection, promising, milliseconds, cold] = timing;
    archive(name, status, finding, why, error, comparison, selection, promising, milliseconds, cold);
}
template <class Archive, Is<Report> T> void visit(Archive& archive, T& report) {
    auto& [variants, milliseconds, cold, effect, rounds, noisy, samples, shared, ended_by, in_flight] =
        report;
    archive(variants, milliseconds, cold, effect, rounds, noisy, samples, shared, ended_by, in_flight);
}
template <class Archive, Is<Calibration> T> void visit(Archive& archive, T& calibration) {
    auto& [rounds, sigma, bias, p, milliseconds] = calibration;
    archive(rounds, sigma, bias, p, milliseconds);
}
template <class Archive, Is<SessionFacts> T> void visit(Archive& archive, T& facts) {
    auto& [device, calibration, clock, event, sets, set_bytes, flush_bytes, batch, roofline, shared] = facts;
    archive(device, calibration, clock, event, sets, set_bytes, flush_bytes, batch, roofline, shared);
}
template <class Archive, Is<Closing> T> void visit(Archive& archive, T& closing) {
    auto& [calibration, moved] = closing;
    archive(calibration, moved);
}
template <class Archive, Is<Timed> T> void visit(Archive& archive, T& timed) {
    auto& [report, session, id, closing] = timed;
    archive(report, session, id, closing);
}

namespace {

bool is_sound(const Comparison& c) {
    const auto is_ratio = [](double value) { return value >= 0; };  // and no NaN; a bound may be infinite
    return c.verdict <= Verdict::unsure && is_ratio(c.ratio) && is_ratio(c.low) && is_ratio(c.high) &&
           c.low <= c.high && is_ratio(c.median) && is_ratio(c.p) && is_ratio(c.superiority) &&
           is_ratio(c.ratio_in_cycles);
}
bool is_sound(const VariantTiming& v) {
    return v.status <= TimingStatus::crashed && v.finding <= Finding::crashed && is_sound(v.comparison) &&
           is_sound(v.selection) && v.milliseconds >= 0 && v.cold_milliseconds >= 0;
}
bool is_sound(const Sample& s, std::size_t variants) {
    return s.milliseconds > 0 && std::isfinite(s.milliseconds) && s.megahertz >= 0 && s.variant <= variants &&
           s.purpose <= Sample::Purpose::report && s.repeated <= Sample::Repeated::slow_clock;
}
bool is_sound(const Timed& timed) {
    const Report& report = timed.report;
    for (const VariantTiming& variant : report.variants)
        if (!is_sound(variant)) return false;
    for (const Sample& sample : report.samples)
        if (!is_sound(sample, report.variants.size())) return false;
    return (report.in_flight < report.variants.size() || report.in_flight == Progress::baseline ||
            !report.ended_by) &&
           timed.session.clock <= ClockSource::nvml && timed.session.device.kind <= DeviceKind::emulator;
}

}  // namespace

std::string bytes_of(const Protocol& protocol) {
    std::string bytes;
    Writer writer(bytes);
    writer(protocol);
    return bytes;
}

std::string encode(std::uint64_t id, const TimeRequest& request) {
    return frame_of_content(FrameKind::time, id, request);
}
std::string encode(std::uint64_t id, const Expected<Timed>& result) { return frame_of_result(id, result); }

Expected<TimeRequest> decode_time(std::string_view payload) {
    auto request = content_of<TimeRequest>(Reader(payload), "request to time");
    if (request && (request->timing.tier > Tier::final_ || request->variants.size() > most_timed))
        return malformed("request to time");
    return request;
}
Expected<Timed> decode_timed(std::string_view payload) {
    auto timed = result_of<Timed>(Reader(payload), "timing");
    if (timed && !is_sound(*timed)) return malformed("timing");
    return timed;
}

}  // namespace ptxgraft::measure
