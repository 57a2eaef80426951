#pragma once
/// @file occupation.hpp
/// How long the GPUs of a pool have worked for a gate.

#include <algorithm>
#include <chrono>
#include <mutex>

namespace ptxgraft::search {

/// Integrates min(calls under way, GPUs) over time: a call that waits for another one's GPU costs nothing.
/// Threads: any number.
class Occupation {
  public:
    explicit Occupation(std::size_t gpus) : gpus_(gpus) {}

    /// Calls the pool, and counts the time that it takes.
    template <class Call> auto during(const Call& call) {
        const Guard guard(*this);
        return call();
    }
    [[nodiscard]] double seconds() const {
        const std::scoped_lock lock(mutex_);
        return spent_.count();
    }

  private:
    using Clock = std::chrono::steady_clock;
    struct Guard {
        explicit Guard(Occupation& of) : of_(of) { of_.change(true); }
        ~Guard() { of_.change(false); }
        Guard(const Guard&) = delete;
        Guard& operator=(const Guard&) = delete;
        Occupation& of_;
    };
    void change(bool begins) {
        const std::scoped_lock lock(mutex_);
        const Clock::time_point now = Clock::now();
        spent_ += static_cast<double>(std::min(calls_, gpus_)) * std::chrono::duration<double>(now - since_);
        since_ = now;
        calls_ = begins ? calls_ + 1 : calls_ - 1;
    }

    const std::size_t gpus_;
    mutable std::mutex mutex_;
    std::size_t calls_ = 0;
    Clock::time_point since_ = Clock::now();
    std::chrono::duration<double> spent_{0};
};

}  // namespace ptxgraft::search
