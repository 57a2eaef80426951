#pragma once
/// @file batch.hpp
/// Results of many candidates, which come from several threads.

#include <algorithm>
#include <atomic>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

/// Takes the results of a batch as they come.
template <class T> class Results {
  public:
    Results(std::size_t count, const OnResult<T>& on_result)
        : results_(count, fail(Errc::work_stopped)), on_result_(on_result) {}
    void set(std::size_t index, Expected<T> result) {
        const std::lock_guard lock(mutex_);
        results_[index] = std::move(result);
        is_set_[index] = true;
        if (on_result_) on_result_(index, results_[index]);
    }
    [[nodiscard]] bool has(std::size_t index) const { return is_set_[index]; }
    std::vector<Expected<T>> take() {
        for (std::size_t i = 0; i < results_.size(); ++i)
            if (!is_set_[i] && on_result_) on_result_(i, results_[i]);
        return std::move(results_);
    }

  private:
    std::mutex mutex_;
    std::vector<Expected<T>> results_;
    std::vector<bool> is_set_ = std::vector<bool>(results_.size());
    const OnResult<T>& on_result_;
};

/// Calls work(i) for all i below `count`, in turns on some threads, until somebody asks for a stop.
template <class Work> void for_each(std::size_t count, const ManyOptions& many, Work work) {
    std::atomic<std::size_t> next = 0;
    std::atomic<bool> has_thrown = false;
    on_threads(std::clamp<std::size_t>(count, 1, thread_count(many.threads)), [&](std::size_t) {
        for (std::size_t i; !has_thrown && !many.stop.stop_requested() && (i = next++) < count;) {
            try {
                work(i);
            } catch (...) {
                has_thrown = true;
                throw;
            }
        }
    });
}

/// What `make` gives; memory that runs out is an error of it alone.
template <class T, class Make> [[nodiscard]] Expected<T> without_throwing(Make make) {
    try {
        return make();
    } catch (const std::bad_alloc&) { return fail(Errc::out_of_memory); }
}

}  // namespace ptxgraft::kernel
