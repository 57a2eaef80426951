#pragma once
/// @file batch.hpp
/// Results of many candidates, which come from several threads.

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

/// Unwinds to the call of a batch whose callback has thrown.
struct CallbackThrew {};

/// Takes the results of a batch as they come.
template <class T> class Results {
  public:
    Results(std::size_t count, const OnResult<T>& on_result)
        : results_(count, fail(Errc::work_stopped)), on_result_(on_result) {}
    /// Throws CallbackThrew once the callback has thrown, which is not called again then.
    void set(std::size_t index, Expected<T> result) {
        const std::lock_guard lock(mutex_);
        if (thrown_) throw CallbackThrew{};
        results_[index] = std::move(result);
        is_set_[index] = true;
        if (!on_result_) return;
        try {
            on_result_(index, results_[index]);
        } catch (...) {
            thrown_ = std::current_exception();
            throw CallbackThrew{};
        }
    }
    [[nodiscard]] bool has(std::size_t index) const { return is_set_[index]; }
    /// Calls `work`, which sets results, and gives them all. What the callback threw comes out.
    template <class Work> std::vector<Expected<T>> after(const Work& work) {
        try {
            work();
        } catch (const CallbackThrew&) { std::rethrow_exception(thrown_); }
        for (std::size_t i = 0; i < results_.size(); ++i)
            if (!is_set_[i] && on_result_) on_result_(i, results_[i]);
        return std::move(results_);
    }

  private:
    std::mutex mutex_;
    std::exception_ptr thrown_;  // by the callback
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
