#pragma once
/// @file pool_data.hpp
/// A pool's devices, and who has which.

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "measure/worker/timing_call.hpp"

#include "measure/worker/worker.hpp"

namespace ptxgraft::measure {

using Started = Expected<std::unique_ptr<Worker>>;
struct WorkloadText {
    std::uint64_t key;
    std::string_view text;
};

/// A device: the worker at work, and the one that waits. Threads: whoever has taken it, alone.
class Seat {
  public:
    Seat(const PoolOptions& options, std::string device) : options_(options), device_(std::move(device)) {}
    ~Seat();
    Seat(const Seat&) = delete;
    Seat& operator=(const Seat&) = delete;

    /// Starts the first worker. Errors: Errc::measure_worker_failed.
    [[nodiscard]] Expected<void> open();
    [[nodiscard]] const WorkerInfo& info() const { return info_; }
    [[nodiscard]] bool is_sick() const { return is_sick_; }
    [[nodiscard]] bool has(std::uint64_t workload) const { return worker_ && worker_->has(workload); }

    /// Nothing where the device became sick: then the variant is another device's. Errors: the workload's.
    [[nodiscard]] Expected<std::optional<Check>> check(const WorkloadText& workload,
                                                       const VariantCode& variant);
    [[nodiscard]] Expected<std::optional<Check>> health(const WorkloadText& workload);
    /// Times a part of a call, which hears what came of it.
    void time(const WorkloadText& workload, TimingCall& call, TimingPart part);
    /// Measures the baseline again in the session that has timed last, where the call waits for that.
    void close_session(const WorkloadText& workload, TimingCall& call);

    [[nodiscard]] const PoolReport& report() const { return report_; }
    [[nodiscard]] const std::string& trouble() const { return trouble_; }  ///< why it is sick

  private:
    [[nodiscard]] Expected<bool> make_ready(const WorkloadText& workload);
    [[nodiscard]] bool take_worker();
    [[nodiscard]] Expected<bool> open_workload(const WorkloadText& workload);
    [[nodiscard]] bool prove(const WorkloadText& workload);
    [[nodiscard]] Started start() const { return Worker::start(options_, device_, stop_.get_token()); }
    void call_spares();
    void prepare(std::future<Started>& spare, std::future<Started> before);
    void bury(const Death& death);
    void let_die();
    void blame_device(std::string why);
    void blame_session(std::string why);
    void take_timing(TimingCall& call, TimingPart part, Expected<Timed>& timed);
    [[nodiscard]] TimeRequest request_of(const WorkloadText& workload, const TimingCall& call) const;
    void await_others() const;

    const PoolOptions& options_;
    const std::string device_;
    WorkerInfo info_;
    std::unique_ptr<Worker> worker_;
    std::vector<std::pair<std::uint64_t, std::string>> known_;  // workloads that were open here; last first
    std::optional<Worker::Clock::time_point> died_at_;  // until its successor has found the baseline right
    std::uint32_t baseline_deaths_ = 0;
    std::uint32_t session_deaths_ = 0;  // one after the other, of workers that were opening a session
    bool is_sick_ = false;
    std::string trouble_;
    PoolReport report_;
    std::stop_source stop_;
    std::deque<std::future<Started>> spares_;
    std::vector<std::future<void>> dying_;  // workers that were killed and have not ended
};

struct Pool::Data {
    explicit Data(const PoolOptions& given) : options(given) {}
    const PoolOptions options;
    std::vector<std::unique_ptr<Seat>> seats;

    mutable std::mutex mutex;
    std::condition_variable returned;
    std::vector<bool> taken;

    [[nodiscard]] tl::unexpected<Error> all_are_sick() const;
};

/// A device for as long as this lives; none where all are sick.
class Taken {
  public:
    /// An idle one, at best one that has the workload open.
    Taken(Pool::Data& pool, std::uint64_t workload) : pool_(pool) {
        std::unique_lock lock(pool.mutex);
        pool.returned.wait(lock, [&] { return choose(workload) || is_hopeless(); });
        if (seat_) pool.taken[*seat_] = true;
    }
    /// The one of this number, sick or not.
    struct This {};
    Taken(Pool::Data& pool, std::size_t number, This) : pool_(pool), seat_(number) {
        std::unique_lock lock(pool.mutex);
        pool.returned.wait(lock, [&] { return !pool.taken[number]; });
        pool.taken[number] = true;
    }
    ~Taken() {
        if (!seat_) return;
        const std::scoped_lock lock(pool_.mutex);
        pool_.taken[*seat_] = false;
        pool_.returned.notify_all();
    }
    Taken(const Taken&) = delete;
    Taken& operator=(const Taken&) = delete;

    [[nodiscard]] Seat* seat() const { return seat_ ? pool_.seats[*seat_].get() : nullptr; }

  private:
    bool choose(std::uint64_t workload) {
        for (std::size_t k = 0; k < pool_.seats.size(); ++k) {
            const Seat& seat = *pool_.seats[k];
            if (pool_.taken[k] || seat.is_sick()) continue;
            if (!seat_ || seat.has(workload)) seat_ = k;
            if (seat.has(workload)) break;
        }
        return seat_.has_value();
    }
    // Those that are taken may come back.
    [[nodiscard]] bool is_hopeless() const {
        for (std::size_t k = 0; k < pool_.seats.size(); ++k)
            if (pool_.taken[k] || !pool_.seats[k]->is_sick()) return false;
        return true;
    }

    Pool::Data& pool_;
    std::optional<std::size_t> seat_;
};

}  // namespace ptxgraft::measure
