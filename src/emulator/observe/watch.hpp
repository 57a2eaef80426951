#pragma once
/// @file watch.hpp
/// What ends a launch before its kernel does: a budget of work, a time limit, somebody's wish, a failure of
/// the host.

#include <atomic>
#include <chrono>
#include <cstdint>

#include "ptxgraft/emulator.hpp"

namespace ptxgraft::emulator {

enum class Ending : std::uint8_t { none, budget_spent, time_spent, stopped, failed };

/// The limits of a launch, for all of its host threads.
///
/// Work is counted in units of about a warp instruction; one that makes the host do much more counts as many
/// (Warp::charge).
class Watch {
  public:
    using Clock = std::chrono::steady_clock;

    /// `limits`: those of the launch, with the device's own where it has none. The time begins now.
    explicit Watch(const LaunchLimits& limits);
    Watch(const Watch&) = delete;
    Watch& operator=(const Watch&) = delete;

    [[nodiscard]] Ending ending() const { return ending_.load(std::memory_order_relaxed); }
    /// The first ending counts.
    void end(Ending ending);
    [[nodiscard]] const LaunchLimits& limits() const { return limits_; }

    /// Adds work that was done; what is left of the budget, and one more: then it is spent.
    std::uint64_t add(std::uint64_t units);
    void look_at(Clock::time_point now);
    /// Asks LaunchLimits::should_stop. By the launching thread.
    void ask();
    [[nodiscard]] bool asks() const { return limits_.should_stop != nullptr; }

    // What was executed.
    std::atomic<std::uint64_t> warp_instructions = 0, thread_instructions = 0;

  private:
    const LaunchLimits& limits_;
    const bool may_stop_;
    Clock::time_point deadline_ = Clock::time_point::max();
    std::atomic<std::uint64_t> work_ = 0;
    std::atomic<Ending> ending_ = Ending::none;
};

/// One host thread's view of the watch. It looks at the clock every millisecond or so: how much work that is,
/// it learns.
class Pace {
  public:
    enum class Thread : std::uint8_t { launching, other };

    Pace(Watch& watch, Thread thread);
    ~Pace();
    Pace(const Pace&) = delete;
    Pace& operator=(const Pace&) = delete;

    /// Work until the next look; at least 1.
    [[nodiscard]] std::uint64_t left() const { return left_; }
    /// Work was done. False: the launch has ended.
    [[nodiscard]] bool spend(std::uint64_t units) {
        if (units < left_) [[likely]] {
            left_ -= units;
            done_ += units;
            return true;
        }
        return look(units);
    }
    void count(std::uint64_t warp_instructions, std::uint64_t thread_instructions) {
        warp_instructions_ += warp_instructions;
        thread_instructions_ += thread_instructions;
    }
    [[nodiscard]] Watch& watch() { return watch_; }

  private:
    bool look(std::uint64_t units);
    void learn(Watch::Clock::duration since_last);

    static constexpr std::uint64_t first_interval = 256, most_interval = std::uint64_t{1} << 14;
    Watch& watch_;
    const Thread thread_;
    std::uint64_t left_;
    std::uint64_t interval_ = first_interval;
    std::uint64_t done_ = 0;  // since the last look
    std::uint64_t warp_instructions_ = 0, thread_instructions_ = 0;
    Watch::Clock::time_point last_look_ = {}, last_question_ = {};
};

}  // namespace ptxgraft::emulator
