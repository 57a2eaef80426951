#pragma once
/// @file timing_lock.hpp
/// Loads may come together, a timing is alone; who came first has it first.

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

#include "device/fair_mutex.hpp"

namespace ptxgraft::device {

/// Whoever enters passes the gate; a load leaves it open behind itself, a timing holds it shut until it ends.
/// The thread that times may load, and may time within its timing: neither waits.
class TimingLock {
  public:
    void begin_timing() {
        if (is_timed_here()) {
            ++depth_;
            return;
        }
        gate_.lock();
        std::unique_lock lock(mutex_);
        no_loads_.wait(lock, [this] { return loads_ == 0; });
        depth_ = 1;
        timing_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    }
    /// True: nobody times any more.
    bool end_timing() {
        if (--depth_ != 0) return false;
        timing_.store({}, std::memory_order_relaxed);
        gate_.unlock();
        return true;
    }

    /// A load, for as long as it lives.
    class Load {
      public:
        explicit Load(TimingLock& lock) : lock_(lock.is_timed_here() ? nullptr : &lock) {
            if (lock_ == nullptr) return;
            lock_->gate_.lock();
            lock_->enter();
        }
        ~Load() {
            if (lock_ != nullptr) lock_->leave();
        }
        Load(const Load&) = delete;
        Load& operator=(const Load&) = delete;

      private:
        TimingLock* lock_;
    };

    /// Does `work` as a load if that need not wait for anybody. Within this thread's own timing it is not
    /// done.
    template <class Work> bool try_load(Work&& work) {
        if (is_timed_here()) return false;
        if (!gate_.lock_unless([] { return true; }, std::chrono::milliseconds(0))) return false;
        enter();
        work();
        leave();
        return true;
    }

  private:
    [[nodiscard]] bool is_timed_here() const {
        return timing_.load(std::memory_order_relaxed) == std::this_thread::get_id();
    }
    void enter() {
        {
            const std::lock_guard lock(mutex_);
            ++loads_;
        }
        gate_.unlock();
    }
    void leave() {
        const std::lock_guard lock(mutex_);
        if (--loads_ == 0) no_loads_.notify_all();
    }

    FairMutex gate_;
    std::mutex mutex_;
    std::condition_variable no_loads_;
    std::uint32_t loads_ = 0;
    std::uint32_t depth_ = 0;  // of the thread that times
    std::atomic<std::thread::id> timing_ = {};
};

}  // namespace ptxgraft::device
