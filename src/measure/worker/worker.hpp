#pragma once
/// @file worker.hpp
/// A worker, as the pool that has started it sees it.

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "link/worker/partner.hpp"
#include "measure/worker/frames.hpp"

namespace ptxgraft::measure {

/// Why there is no answer.
struct Death {
    bool is_late = false;    ///< its time was up, and it was killed
    bool has_begun = false;  ///< with the request, and said so
    /// What it said last of it.
    ProgressFrame last = {};
    std::string how = {};  ///< in words
};
/// What a request came to: an answer, or the worker's end.
template <class T> using Answer = std::variant<Expected<T>, Death>;

/// Threads: one at a time.
class Worker {
  public:
    using Clock = std::chrono::steady_clock;

    /// Starts one and waits until it speaks. Errors: Errc::measure_worker_failed.
    [[nodiscard]] static Expected<std::unique_ptr<Worker>> start(const PoolOptions& options,
                                                                 const std::string& device,
                                                                 const std::stop_token& stop);

    [[nodiscard]] const WorkerInfo& info() const { return info_; }
    [[nodiscard]] pid_t id() const { return partner_->id(); }
    /// Whether it is alive. What it has said that it was not asked for does not matter: an answer twice.
    [[nodiscard]] bool is_ready() const { return partner_->is_open() && partner_->is_there(); }
    void kill() { partner_->kill(); }

    [[nodiscard]] bool has(std::uint64_t workload) const;
    [[nodiscard]] Answer<Opened> open(std::uint64_t workload, std::string_view text,
                                      const std::stop_token& stop = {});
    [[nodiscard]] Answer<Check> check(std::uint64_t workload, const VariantCode& variant);
    [[nodiscard]] Answer<Check> health(std::uint64_t workload);
    [[nodiscard]] Answer<Timed> time(const TimeRequest& request);
    [[nodiscard]] bool has_timed() const { return has_timed_; }
    /// Of the last request to time; 0: none was answered.
    [[nodiscard]] std::uint64_t session() const { return session_; }

  private:
    struct Open {
        std::uint64_t workload;
        Opened opened;
    };
    Worker(const PoolOptions& options, std::unique_ptr<link::worker::Partner> partner)
        : options_(options), partner_(std::move(partner)) {}
    [[nodiscard]] Expected<void> greet(const std::stop_token& stop);
    struct Frame {
        FrameHeader header;
        std::string payload;
    };
    /// The next frame; without one the talk is closed.
    [[nodiscard]] std::variant<Frame, Death> next(Clock::time_point end, const std::stop_token& stop);
    /// The payload of a request's result. `first` is the time that the first phase has, `whole` all of them.
    [[nodiscard]] std::variant<std::string, Death> ask(const std::string& request, const Opened& opened,
                                                       Clock::duration first, Clock::duration whole,
                                                       const std::stop_token& stop = {});
    [[nodiscard]] Clock::duration time_of_check(const Opened& opened) const;
    template <class T>
    [[nodiscard]] Answer<T> read(const std::variant<std::string, Death>& payload,
                                 Expected<T> (*decode)(std::string_view));
    [[nodiscard]] Clock::duration time_of(FramePhase phase, const Opened& opened) const;
    [[nodiscard]] Opened use(std::uint64_t workload);
    [[nodiscard]] Death died(link::Wait waited);

    const PoolOptions& options_;
    std::unique_ptr<link::worker::Partner> partner_;
    WorkerInfo info_;
    std::vector<Open> open_;  // that the worker keeps: what was used last is the last
    std::uint64_t last_id_ = 0;
    bool has_timed_ = false;
    std::uint64_t session_ = 0;
};

}  // namespace ptxgraft::measure
