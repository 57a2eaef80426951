#pragma once
/// @file crew.hpp
/// The threads of a run: pieces of work are divided into parts, which any of them takes. Several pieces may
/// be under way at once, so that the calling thread commits and draws while the others judge.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ptxgraft::search {

class Crew {
  public:
    /// So many threads, the calling one among them; fewer where the system has no more.
    explicit Crew(std::uint32_t threads);
    ~Crew();
    Crew(const Crew&) = delete;
    Crew& operator=(const Crew&) = delete;

    [[nodiscard]] bool has_helpers() const { return !helpers_.empty(); }

    /// Work that has begun: `part` is called once for each number below `parts`, on any thread. What it
    /// throws ends the work: parts that have not begun are left out.
    class Task {
      public:
        Task(Crew& crew, std::size_t parts, std::function<void(std::size_t)> part);
        /// Leaves out what has not begun, and waits for the rest.
        ~Task();
        Task(const Task&) = delete;
        Task& operator=(const Task&) = delete;

        /// Takes part until all is done; throws what a part has thrown. Called once at most.
        void finish();

      private:
        friend class Crew;
        Crew& crew_;
        const std::size_t parts_;
        const std::function<void(std::size_t)> part_;
        // under the crew's mutex
        std::size_t next_ = 0, running_ = 0;
        std::exception_ptr thrown_ = nullptr;
    };

    /// A task from its begin to its end.
    void run(std::size_t parts, std::function<void(std::size_t)> part) {
        if (parts == 1) return part(0);
        Task(*this, parts, std::move(part)).finish();
    }

  private:
    void help();
    void take_part(Task& task, std::unique_lock<std::mutex>& lock);
    [[nodiscard]] Task* task_with_parts();

    std::mutex mutex_;
    std::condition_variable has_work_, is_done_;
    std::vector<Task*> tasks_;  ///< under way; what began last comes first: the calling thread waits for it
    bool is_over_ = false;
    std::vector<std::jthread> helpers_;
};

}  // namespace ptxgraft::search
