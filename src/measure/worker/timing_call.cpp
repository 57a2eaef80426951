// Who is timed with whom, and again, and what is said of whom in the end.

#include "measure/worker/timing_call.hpp"

#include <algorithm>

namespace ptxgraft::measure {
namespace {

constexpr std::size_t few = 4;  // with fewer variants in a batch a device is not worth its own

// What is known of a variant whatever became of the rounds.
bool is_final(TimingStatus status) {
    return status == TimingStatus::wrong || status == TimingStatus::impossible ||
           status == TimingStatus::rejected;
}

VariantTiming dead(const Death& death) {
    VariantTiming timing;
    timing.status = death.is_late ? TimingStatus::hang : TimingStatus::crashed;
    timing.finding = death.is_late ? Finding::hang : Finding::crashed;
    timing.error = fail(Errc::measure_worker_failed, "the variant's worker " + death.how).value();
    timing.why = message(timing.error);
    timing.is_promising = false;
    return timing;
}

}  // namespace

TimingCall::TimingCall(std::span<const VariantCode> variants, const PoolTimingOptions& options,
                       std::size_t devices)
    : variants_(variants),
      options_(options),
      places_(variants.size()),
      verdicts_(variants.size()),
      deaths_(variants.size()) {
    const std::size_t count = variants.size();
    parts_ = std::max((count + most_timed - 1) / most_timed, std::min(devices, (count + few - 1) / few));
    for (std::size_t part = 0; part < parts_; ++part) {
        TimingPart& made = waiting_.emplace_back();
        for (std::size_t k = count * part / parts_; k < count * (part + 1) / parts_; ++k)
            made.variants.push_back(k);
    }
}

std::optional<TimingPart> TimingCall::take() {
    const std::scoped_lock lock(mutex_);
    if (waiting_.empty()) return std::nullopt;
    TimingPart part = std::move(waiting_.front());
    waiting_.pop_front();
    return part;
}

void TimingCall::give_back(TimingPart part) {
    const std::scoped_lock lock(mutex_);
    waiting_.push_front(std::move(part));
}

// A culprit is timed alone, and not a third time; without one each half of the suspects is by itself.
void TimingCall::try_again(std::vector<std::size_t> variants, std::optional<std::size_t> culprit,
                           const VariantTiming& at_last) {
    if (!culprit && variants.size() == 1) culprit = variants.front();
    if (!culprit) {
        const auto middle = variants.begin() + static_cast<std::ptrdiff_t>(variants.size() / 2);
        waiting_.push_front({.variants = {middle, variants.end()}});
        variants.erase(middle, variants.end());
    } else {
        std::erase(variants, *culprit);
        if (++deaths_[*culprit] > 1)
            verdicts_[*culprit] = at_last;
        else
            waiting_.push_back({.variants = {*culprit}});
    }
    if (!variants.empty()) waiting_.push_front({.variants = std::move(variants)});
}

void TimingCall::answered(const TimingPart& part, Timed timed) {
    const std::scoped_lock lock(mutex_);
    const std::size_t batch = batches_.size();
    TimedBatch& made = batches_.emplace_back();
    made.variants = part.variants;
    made.report = std::move(timed.report);
    made.session = std::move(timed.session);
    made.session_id = timed.session_id;
    const Report& report = made.report;
    std::vector<std::size_t> unknown;
    for (std::size_t k = 0; k < part.variants.size(); ++k)
        if (!report.ended_by || is_final(report.variants[k].status))
            places_[part.variants[k]] = Place{batch, k};
        else
            unknown.push_back(part.variants[k]);
    if (!unknown.empty()) {
        std::optional<std::size_t> culprit;
        if (report.in_flight < part.variants.size() &&
            std::ranges::find(unknown, part.variants[report.in_flight]) != unknown.end())
            culprit = part.variants[report.in_flight];
        const std::size_t last = culprit.value_or(unknown.front());
        const auto at = std::ranges::find(part.variants, last) - part.variants.begin();
        const VariantTiming at_last = report.variants[static_cast<std::size_t>(at)];
        try_again(std::move(unknown), culprit, at_last);
    }
    if (timed.closing) close(timed.session_id, *timed.closing);
}

void TimingCall::died(const TimingPart& part, const Death& death) {
    const std::scoped_lock lock(mutex_);
    std::optional<std::size_t> culprit;
    if (death.last.variant != 0 && death.last.variant <= part.variants.size())
        culprit = part.variants[death.last.variant - 1];
    try_again(part.variants, culprit, dead(death));
}

void TimingCall::failed(const TimingPart& part, const Error& error) {
    const std::scoped_lock lock(mutex_);
    for (const std::size_t k : part.variants) verdicts_[k] = tl::unexpected<Error>(error);
}

void TimingCall::close(std::uint64_t session, const Closing& closing) {
    for (TimedBatch& batch : batches_) {
        if (batch.session_id != session || batch.closing) continue;
        batch.closing = closing;
        mark(batch.report, closing);
    }
}
void TimingCall::closed(std::uint64_t session, const Closing& closing) {
    const std::scoped_lock lock(mutex_);
    close(session, closing);
}

bool TimingCall::waits_for_closing(std::uint64_t session) const {
    const std::scoped_lock lock(mutex_);
    return std::ranges::any_of(
        batches_, [&](const TimedBatch& batch) { return batch.session_id == session && !batch.closing; });
}

bool TimingCall::renews(const void* device) {
    const std::scoped_lock lock(mutex_);
    return options_.in_new_process && renewed_.insert(device).second;
}

PoolTiming TimingCall::finish() {
    PoolTiming made;
    for (std::size_t k = 0; k < variants_.size(); ++k)
        if (places_[k])
            made.variants.emplace_back(batches_[places_[k]->batch].report.variants[places_[k]->number]);
        else
            made.variants.push_back(std::move(*verdicts_[k]));
    made.batches = std::move(batches_);
    return made;
}

}  // namespace ptxgraft::measure
