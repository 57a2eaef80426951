// One device of a pool: its worker is replaced when it dies, and what takes its place has to find the
// baseline right first.

#include <fmt/format.h>

#include <algorithm>
#include <system_error>
#include <utility>

#include "base/try.hpp"
#include "measure/worker/pool_data.hpp"

namespace ptxgraft::measure {
namespace {

// Of workers, and of what spares open ahead.
constexpr std::size_t most_known = 8, most_ahead = 2;

// A variant that two workers died of.
Check final_check(const Death& death) {
    Check check;
    check.finding = death.is_late ? Finding::hang : Finding::crashed;
    check.error = fail(Errc::measure_worker_failed, "the variant's worker " + death.how).value();
    return check;
}

}  // namespace

Seat::~Seat() {
    stop_.request_stop();  // of the spare that is being started
}

Expected<void> Seat::open() {
    worker_ = TRY(start());
    info_ = worker_->info();
    call_spares();
    return {};
}

// Other workers start while this one works.
void Seat::call_spares() {
    while (spares_.size() < options_.spares) {
        std::future<Started> spare;
        prepare(spare, {});
        if (!spare.valid()) return;
        spares_.push_back(std::move(spare));
    }
}

// Behind what a spare does already, or its start, it opens the workloads that were used last.
void Seat::prepare(std::future<Started>& spare, std::future<Started> before) {
    using Known = std::vector<std::pair<std::uint64_t, std::string>>;
    const auto count = static_cast<std::ptrdiff_t>(std::min(known_.size(), most_ahead));
    auto work = [this, before = std::move(before),
                 ahead = Known(known_.begin(), known_.begin() + count)]() mutable -> Started {
        auto worker = TRY(before.valid() ? before.get() : start());
        for (const auto& [key, text] : ahead) {
            if (worker->has(key)) continue;
            const auto answer = worker->open(key, text, stop_.get_token());
            if (const Death* const death = std::get_if<Death>(&answer))
                return fail(Errc::measure_worker_failed, "a spare " + death->how);
        }
        return worker;
    };
    try {
        spare = std::async(std::launch::async, std::move(work));
    } catch (const std::system_error&) {}  // no thread, no spare: one is started when it is needed
}

void Seat::bury(const Death& death) {
    ++report_.deaths;
    if (death.is_late) ++report_.late;
    died_at_ = Worker::Clock::now();
    let_die();
}

// A process whose GPU hangs may take its time to end; its successor does not wait for it.
void Seat::let_die() {
    if (!worker_) return;
    worker_->kill();
    const auto is_over = [](const std::future<void>& one) {
        return one.wait_for(std::chrono::seconds(0)) == std::future_status::ready;
    };
    std::erase_if(dying_, is_over);
    try {
        dying_.push_back(
            std::async(std::launch::async, [dead = std::move(worker_)]() mutable { dead.reset(); }));
    } catch (const std::system_error&) {}  // no thread: it was waited for here
}

void Seat::blame_device(std::string why) {
    trouble_ = std::move(why);
    let_die();
    if (!died_at_) died_at_ = Worker::Clock::now();
    is_sick_ = ++baseline_deaths_ >= options_.baseline_deaths;
    if (is_sick_) report_.sick_devices = 1;
}

// A worker that is alive, of the same kind as the first.
bool Seat::take_worker() {
    if (worker_ && worker_->is_ready()) return true;
    if (worker_ && !died_at_) died_at_ = Worker::Clock::now();
    let_die();
    Started started;
    while (!spares_.empty() && !(started && *started)) {
        if (spares_.front().valid()) started = spares_.front().get();
        spares_.pop_front();
        if (started && !(*started)->is_ready()) started->reset();
    }
    if (!started || !*started) started = start();
    if (!started) return blame_device(message(started.error())), false;
    worker_ = std::move(*started);
    call_spares();
    if (worker_->info() == info_) return true;
    return blame_device("its worker is another than it was"), false;
}

// Whether the workload is open; an error where that is the workload's fault.
Expected<bool> Seat::open_workload(const WorkloadText& workload) {
    if (worker_->has(workload.key)) return true;
    const auto is_it = [&](const auto& known) { return known.first == workload.key; };
    const bool was_open = std::ranges::any_of(known_, is_it);
    auto answer = worker_->open(workload.key, workload.text);
    if (const Death* const death = std::get_if<Death>(&answer))
        return blame_device("its worker " + death->how), false;
    const auto& opened = std::get<Expected<Opened>>(answer);
    if (!opened && !was_open && !died_at_) return tl::unexpected(opened.error());
    if (!opened) return blame_device(message(opened.error())), false;
    std::erase_if(known_, is_it);
    known_.insert(known_.begin(), {workload.key, std::string(workload.text)});
    if (known_.size() > most_known) known_.pop_back();
    for (std::future<Started>& spare : spares_) prepare(spare, std::move(spare));
    return true;
}

// A worker in the place of a dead one has to find the baseline right.
bool Seat::prove(const WorkloadText& workload) {
    const auto answer = worker_->health(workload.key);
    if (const Death* const death = std::get_if<Death>(&answer))
        return blame_device("its worker " + death->how), false;
    const auto& check = std::get<Expected<Check>>(answer);
    if (!check) return blame_device(message(check.error())), false;
    if (check->finding != Finding::right)
        return blame_device(fmt::format("its baseline is {}", name(check->finding))), false;
    return true;
}

Expected<bool> Seat::make_ready(const WorkloadText& workload) {
    while (!is_sick_) {
        if (!take_worker()) continue;
        if (!TRY(open_workload(workload))) continue;
        if (!died_at_) return true;
        if (!prove(workload)) continue;
        const std::chrono::duration<double> took = Worker::Clock::now() - *std::exchange(died_at_, {});
        report_.slowest_recovery = std::max(report_.slowest_recovery, took.count());
        ++report_.recovered;
        baseline_deaths_ = 0;
        return true;
    }
    return false;
}

Expected<std::optional<Check>> Seat::check(const WorkloadText& workload, const VariantCode& variant) {
    bool is_second = false;
    for (bool is_excused = false;;) {
        const bool is_ready = TRY(make_ready(workload));
        if (!is_ready) return std::nullopt;
        auto answer = worker_->check(workload.key, variant);
        if (const auto* const check = std::get_if<Expected<Check>>(&answer)) {
            if (!*check) return tl::unexpected(check->error());
            ++report_.checks;
            if ((*check)->finding != Finding::device_lost || is_second) return **check;
            bury({.how = "lost its device"});
            is_second = true;
            continue;
        }
        const Death& death = std::get<Death>(answer);
        // It was dying when it got the variant, which then has no part in it.
        if (!death.has_begun && !death.is_late && !std::exchange(is_excused, true)) {
            died_at_ = Worker::Clock::now();
            let_die();
            continue;
        }
        bury(death);
        if (!std::exchange(is_second, true)) continue;
        ++report_.checks;
        return final_check(death);
    }
}

Expected<std::optional<Check>> Seat::health(const WorkloadText& workload) {
    while (TRY(make_ready(workload))) {
        auto answer = worker_->health(workload.key);
        if (auto* const check = std::get_if<Expected<Check>>(&answer)) {
            if (!*check) return tl::unexpected(check->error());
            return **check;
        }
        blame_device("its worker " + std::get<Death>(answer).how);
    }
    return std::nullopt;
}

}  // namespace ptxgraft::measure
