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

#include "measure/worker.hpp"

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

    const PoolOptions& options_;
    const std::string device_;
    WorkerInfo info_;
    std::unique_ptr<Worker> worker_;
    std::vector<std::pair<std::uint64_t, std::string>> known_;  // workloads that were open here; last first
    std::optional<Worker::Clock::time_point> died_at_;  // until its successor has found the baseline right
    std::uint32_t baseline_deaths_ = 0;
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
};

}  // namespace ptxgraft::measure
