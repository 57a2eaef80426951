// Timing on one device of a pool: what a worker's answer or its death means for the variants that it had.

#include <algorithm>
#include <utility>

#include "base/threads.hpp"
#include "measure/worker/pool_data.hpp"

namespace ptxgraft::measure {
namespace {

constexpr auto longest_death = std::chrono::seconds(2);

}  // namespace

// A worker that dies before any variant is launched dies of the baseline, or of its device.
void Seat::blame_session(std::string why) {
    trouble_ = std::move(why);
    died_at_ = Worker::Clock::now();
    let_die();
    is_sick_ = ++session_deaths_ >= options_.baseline_deaths;
    if (is_sick_) report_.sick_devices = 1;
}

// Spares that start or open a workload use the device, and so does a kernel that hangs until its process is
// gone.
void Seat::await_others() const {
    for (const std::future<Started>& spare : spares_)
        if (spare.valid()) spare.wait();
    for (const std::future<void>& dying : dying_) dying.wait_for(longest_death);
}

TimeRequest Seat::request_of(const WorkloadText& workload, const TimingCall& call) const {
    const PoolTimingOptions& options = call.options();
    TimeRequest request{.workload = workload.key,
                        .timing = options.timing,
                        .protocol = options.protocol,
                        .requests = std::max(options.requests, 1u)};
    request.protocol.progress = nullptr;
    request.protocol.own_processes = std::max(options.protocol.own_processes, 1 + options_.spares);
    return request;
}

void Seat::time(const WorkloadText& workload, TimingCall& call, TimingPart part) {
    if (worker_ && worker_->has_timed() && call.renews(this)) let_die();
    const auto is_ready = make_ready(workload);
    if (!is_ready) return call.failed(part, is_ready.error());
    if (!*is_ready) return call.give_back(std::move(part));
    await_others();
    TimeRequest request = request_of(workload, call);
    for (const std::size_t k : part.variants) request.variants.push_back(call.variant(k));
    auto answer = worker_->time(request);
    if (auto* const timed = std::get_if<Expected<Timed>>(&answer))
        return take_timing(call, std::move(part), *timed);
    const Death& death = std::get<Death>(answer);
    // It was dying when it got the request.
    if (!death.has_begun && !death.is_late && !std::exchange(part.is_excused, true)) {
        died_at_ = Worker::Clock::now();
        let_die();
        return call.give_back(std::move(part));
    }
    bury(death);
    if (death.has_begun && death.last.phase == FramePhase::session) {
        blame_session("its worker " + death.how);
        return call.give_back(std::move(part));
    }
    call.died(part, death);
}

void Seat::take_timing(TimingCall& call, TimingPart part, Expected<Timed>& timed) {
    if (!timed && !timed.error().context_lost) return call.failed(part, timed.error());
    if (!timed) {
        blame_session(message(timed.error()));
        return call.give_back(std::move(part));
    }
    session_deaths_ = 0;
    ++report_.timings;
    if (timed->report.ended_by) bury({.how = "could not go on: " + message(*timed->report.ended_by)});
    call.answered(part, std::move(*timed));
}

void Seat::close_session(const WorkloadText& workload, TimingCall& call) {
    if (!worker_ || !worker_->is_ready() || !worker_->has(workload.key)) return;
    const std::uint64_t session = worker_->session();
    if (session == 0 || !call.waits_for_closing(session)) return;
    await_others();
    auto answer = worker_->time(request_of(workload, call));
    if (const Death* const death = std::get_if<Death>(&answer)) return bury(*death);
    const auto& timed = std::get<Expected<Timed>>(answer);
    if (!timed) {
        if (timed.error().context_lost) bury({.how = "lost its device"});
        return;
    }
    if (timed->session_id == session && timed->closing) call.closed(session, *timed->closing);
}

PoolTiming Pool::time(std::string_view workload, std::span<const VariantCode> variants,
                      const PoolTimingOptions& options) const {
    const WorkloadText text{workload_key(workload), workload};
    TimingCall call(variants, options, data_->seats.size());
    on_threads(std::min(data_->seats.size(), call.parts()), [&](std::size_t) {
        while (auto part = call.take()) {
            const Taken taken(*data_, text.key);
            if (taken.seat() == nullptr)
                call.failed(*part, data_->all_are_sick().value());
            else
                taken.seat()->time(text, call, std::move(*part));
        }
    });
    for (std::size_t k = 0; options.closes && k < data_->seats.size(); ++k) {
        const Taken taken(*data_, k, Taken::This{});
        taken.seat()->close_session(text, call);
    }
    return call.finish();
}

}  // namespace ptxgraft::measure
