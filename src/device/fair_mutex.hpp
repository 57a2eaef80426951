#pragma once
/// @file fair_mutex.hpp
/// A mutex that is taken in the order in which threads came for it.

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace ptxgraft::device {

/// First come, first served: who gives it back and comes again stands behind all who wait. Nothing of it
/// takes memory.
class FairMutex {
  public:
    FairMutex() = default;
    FairMutex(const FairMutex&) = delete;
    FairMutex& operator=(const FairMutex&) = delete;

    void lock() {
        lock_unless([] { return false; }, std::chrono::hours(1));
    }

    /// Waits for it, and asks every `interval` whether to give up. False: the mutex is not taken.
    template <class GivesUp, class Interval> bool lock_unless(GivesUp&& gives_up, Interval interval) {
        std::unique_lock lock(mutex_);
        if (!is_taken_) return is_taken_ = true;
        Waiting waiting(*this);
        while (!waiting.is_next) {
            if (waiting.woken.wait_for(lock, interval) != std::cv_status::timeout || waiting.is_next)
                continue;
            lock.unlock();
            bool is_over = false;
            try {
                is_over = gives_up();
            } catch (...) {
                lock.lock();
                if (waiting.is_next) hand_on();
                throw;
            }
            lock.lock();
            if (is_over && !waiting.is_next) return false;
        }
        return true;
    }

    void unlock() {
        const std::scoped_lock lock(mutex_);
        hand_on();
    }

  private:
    // With somebody in the queue it stays taken: the one who came first has it now.
    void hand_on() {
        is_taken_ = first_ != nullptr;
        if (first_ == nullptr) return;
        Waiting& next = *first_;
        next.leave();
        next.is_next = true;
        next.woken.notify_one();
    }

    /// A thread in the queue, which is a list of such objects on the threads' stacks. Made and destroyed
    /// while `mutex_` is held.
    class Waiting {
      public:
        explicit Waiting(FairMutex& all) : all_(all), previous_(all.last_) {
            (previous_ != nullptr ? previous_->next_ : all.first_) = this;
            all.last_ = this;
        }
        ~Waiting() {
            if (!is_next) leave();
        }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;
        void leave() {
            (previous_ != nullptr ? previous_->next_ : all_.first_) = next_;
            (next_ != nullptr ? next_->previous_ : all_.last_) = previous_;
        }

        std::condition_variable woken;
        bool is_next = false;

      private:
        FairMutex& all_;
        Waiting* previous_;
        Waiting* next_ = nullptr;
    };

    std::mutex mutex_;
    bool is_taken_ = false;
    Waiting* first_ = nullptr;
    Waiting* last_ = nullptr;
};

}  // namespace ptxgraft::device
