// The session of a workload in a worker: opened when it is first asked for, closed now and then.
#include "measure/worker/timekeeper.hpp"

#include <random>
#include <utility>

#include "base/host_memory.hpp"
#include "base/try.hpp"

namespace ptxgraft::measure {
namespace {

std::uint64_t random_id() {
    std::random_device random;
    return (std::uint64_t{random()} << 32) | random();
}

VariantTiming rejected(const Error& error) {
    VariantTiming timing;
    timing.status = TimingStatus::rejected;
    timing.finding = Finding::rejected;
    timing.why = message(error);
    timing.error = error;
    timing.is_promising = false;
    return timing;
}

}  // namespace

// Until the baseline is calibrated, all it does is the session's; the reference runs meanwhile.
void Timekeeper::progressed(const Progress& progress) const {
    const bool is_baseline = progress.variant == Progress::baseline;
    const auto variant =
        is_baseline ? std::uint32_t{0} : static_cast<std::uint32_t>(compared_[progress.variant] + 1);
    if (is_opening_ && progress.phase != Progress::Phase::calibration)
        (*tell_)(FramePhase::session, 0);
    else
        (*tell_)(progress.phase == Progress::Phase::compare ? FramePhase::compare : FramePhase::launch,
                 is_opening_ ? 0 : variant);
}

// All sessions of this process want no persisting lines: with none before the first of them, each of them
// leaves none behind.
Expected<void> Timekeeper::open(const Checker& checker, const Protocol& protocol) {
    std::string wanted = bytes_of(protocol);
    if (session_ && wanted == protocol_) return {};
    session_.reset();
    (*tell_)(FramePhase::session, 0);
    const Device& device = checker.device();
    if (device.kind() == DeviceKind::cuda && TRY(device.properties()).persisting_l2_bytes != 0)
        TRY(device.set_persisting_l2(0));
    Protocol own = protocol;
    own.progress = [this](const Progress& progress) { progressed(progress); };
    is_opening_ = true;
    auto session = Session::open(checker, std::move(own));
    is_opening_ = false;
    if (!session) return tl::unexpected(session.error());
    session_ = std::move(*session);
    protocol_ = std::move(wanted);
    id_ = random_id();
    requests_ = 0;
    return {};
}

// Those that do not load take no part; the report has all, by the numbers of the request.
Expected<Report> Timekeeper::compare(const TimeRequest& request, const Load& load) {
    std::vector<Variant> variants;
    std::vector<std::optional<VariantTiming>> refused(request.variants.size());
    compared_.clear();
    for (std::size_t k = 0; k < request.variants.size(); ++k) {
        (*tell_)(FramePhase::load, static_cast<std::uint32_t>(k + 1));
        auto kernel = or_out_of_memory([&] { return load(request.variants[k]); });
        if (!kernel && kernel.error().context_lost) return tl::unexpected(kernel.error());
        if (kernel) {
            variants.push_back({{}, std::move(*kernel)});
            compared_.push_back(k);
        } else {
            refused[k] = rejected(kernel.error());
        }
    }
    Report report;
    if (!variants.empty()) report = TRY(session_->compare(variants, request.timing));
    std::vector<VariantTiming> all;
    std::size_t next = 0;
    for (std::optional<VariantTiming>& one : refused)
        all.push_back(one ? std::move(*one) : std::move(report.variants[next++]));
    report.variants = std::move(all);
    for (Sample& sample : report.samples)
        if (sample.variant != 0)
            sample.variant = static_cast<std::uint16_t>(compared_[sample.variant - 1u] + 1);
    if (report.in_flight != Progress::baseline && report.ended_by)
        report.in_flight = compared_[report.in_flight];
    return report;
}

Expected<Timed> Timekeeper::time(const Checker& checker, const TimeRequest& request, const Load& load,
                                 const Tell& tell) {
    tell_ = &tell;
    const bool only_closes = request.variants.empty();
    if (!only_closes || !session_) TRY(open(checker, request.protocol));
    Timed timed{.report = {}, .session = session_->facts(), .session_id = id_, .closing = {}};
    if (!only_closes) timed.report = TRY(compare(request, load));
    ++requests_;
    const bool is_over = timed.report.ended_by.has_value();
    if (!is_over && (only_closes || requests_ >= request.requests)) {
        timed.closing = TRY(session_->close());
        requests_ = 0;
    }
    if (is_over || (timed.closing && !timed.closing->moved.empty())) session_.reset();
    return timed;
}

}  // namespace ptxgraft::measure
