#pragma once
/// @file pipeline.hpp
/// Modules of stubs are assembled while candidates are linked to those that are there.
///
/// nvJitLink works for one thread at a time: another one sleeps in nvJitLinkCreate or nvJitLinkComplete until
/// the first is done (measured: a call of nvJitLinkCreate takes 31 us with one thread that links, 308 us
/// with two). So one thread links and the others assemble, as long as there is something to assemble.

#include <algorithm>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/threads.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft::kernel {

class Pipeline {
  public:
    /// `users` has for each module the candidates that wait for it; `linked` are all candidates that are
    /// linked, `whole` those that are linked to nothing.
    Pipeline(std::vector<std::vector<std::size_t>> users, const std::vector<std::size_t>& linked,
             std::vector<std::size_t> whole)
        : users_(std::move(users)), whole_(std::move(whole)) {
        for (const std::size_t candidate : linked) waits_[candidate] = 0;
        for (const auto& candidates : users_)
            for (const std::size_t candidate : candidates) ++waits_[candidate];
        for (const std::size_t candidate : linked)
            if (waits_[candidate] == 0) ready_.push_back(candidate);
    }

    /// Calls assemble(module) for each module, and make(candidate) for each candidate, in turns on some
    /// threads, until somebody asks for a stop.
    template <class Assemble, class Make>
    void run(const ManyOptions& many, const Assemble& assemble, const Make& make) {
        const std::size_t tasks = users_.size() + whole_.size() + ready_.size();
        on_threads(std::clamp<std::size_t>(tasks, 1, thread_count(many.threads)), [&](std::size_t) {
            std::unique_lock lock(mutex_);
            while (!has_thrown_ && !many.stop.stop_requested()) {
                const Turn turn = take();
                if (turn.task == Task::none) break;
                if (turn.task == Task::wait)
                    changed_.wait(lock);
                else
                    work(turn, lock, assemble, make);
            }
            changed_.notify_all();
        });
    }

  private:
    enum class Task : std::uint8_t { link, assemble, make, wait, none };
    struct Turn {
        Task task;
        std::size_t index = 0;
    };

    [[nodiscard]] bool has_other_work() const {
        return next_module_ < users_.size() || next_whole_ < whole_.size();
    }
    Turn take() {
        if (!ready_.empty() && (linking_ == 0 || !has_other_work())) {
            const std::size_t candidate = ready_.front();
            ready_.pop_front();
            ++linking_;
            return {Task::link, candidate};
        }
        if (next_module_ < users_.size()) {
            ++assembling_;
            return {Task::assemble, next_module_++};
        }
        if (next_whole_ < whole_.size()) return {Task::make, whole_[next_whole_++]};
        return {assembling_ != 0 ? Task::wait : Task::none};
    }
    template <class Assemble, class Make>
    void work(const Turn& turn, std::unique_lock<std::mutex>& lock, const Assemble& assemble,
              const Make& make) {
        lock.unlock();
        try {
            if (turn.task == Task::assemble)
                assemble(turn.index);
            else
                make(turn.index);
        } catch (...) {
            lock.lock();
            has_thrown_ = true;
            changed_.notify_all();
            throw;
        }
        lock.lock();
        if (turn.task == Task::link) --linking_;
        if (turn.task != Task::assemble) return;
        --assembling_;
        for (const std::size_t candidate : users_[turn.index])
            if (--waits_[candidate] == 0) ready_.push_back(candidate);
        changed_.notify_all();
    }

    std::vector<std::vector<std::size_t>> users_;
    std::vector<std::size_t> whole_;
    std::unordered_map<std::size_t, std::size_t> waits_;  // of candidates: modules that are not there yet
    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<std::size_t> ready_;
    std::size_t next_module_ = 0, next_whole_ = 0, assembling_ = 0, linking_ = 0;
    bool has_thrown_ = false;
};

}  // namespace ptxgraft::kernel
