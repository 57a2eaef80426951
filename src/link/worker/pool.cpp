// The assembler that has workers assemble: who gets which worker, and when one makes way for another.

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/try.hpp"
#include "link/assembler.hpp"
#include "link/worker/process.hpp"
#include "ptxgraft/worker.hpp"

namespace ptxgraft {
namespace {

using namespace link;
using worker::Process;

class WorkerPool final : public Assembler {
  public:
    WorkerPool(const WorkerPoolOptions& options, std::string program)
        : setup_{std::move(program), options.assembler, options.timeout, options.memory_bytes},
          most_workers_(options.workers != 0 ? options.workers
                                             : std::max(1u, std::thread::hardware_concurrency())),
          modules_per_worker_(options.modules_per_worker) {}

    ~WorkerPool() override {
        for (const auto& idle : idle_) idle->kill();  // all of them, before the first is waited for
    }

    // The first worker says who assembles.
    Expected<void> open() {
        idle_.push_back(TRY(Process::start(setup_, {})));
        hello_ = idle_.back()->hello();
        return {};
    }

    std::string_view name() const override { return hello_.assembler; }
    std::string version() const override { return hello_.version; }
    bool is_other_process() const override { return true; }

    Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions& options) const override {
        // What needs no worker: the errors are those of the assembler itself.
        TRY(begin_assembly(ptx, options));
        if (::getpid() != owner_)
            return fail(Errc::assembler_not_usable, "a pool of workers belongs to the process that made it");
        Turn turn(*this, options.stop);
        for (bool is_first = true;; is_first = false) {
            Process* const process = TRY(turn.process());
            auto result = process->assemble(ptx, options);
            // It was dying when it was taken: the system ends idle workers too.
            if (!process->died_idle() || !is_first) return result;
        }
    }

  private:
    // A worker at most for one call; another call gets what is left of it.
    class Turn {
      public:
        Turn(const WorkerPool& pool, const std::stop_token& stop) : pool_(pool), stop_(stop) {
            std::unique_lock lock(pool.mutex_);
            is_ours_ = pool.returned_.wait(lock, stop, [&] { return pool.taken_ < pool.most_workers_; });
            if (!is_ours_) return;
            ++pool.taken_;
            if (pool.idle_.empty()) return;
            process_ = std::move(pool.idle_.back());
            pool.idle_.pop_back();
        }
        ~Turn() {
            if (!is_ours_) return;
            const bool is_worn = process_ && pool_.modules_per_worker_ != 0 &&
                                 process_->modules() >= pool_.modules_per_worker_;
            if (process_ && (is_worn || !process_->is_ready())) process_.reset();
            const std::lock_guard lock(pool_.mutex_);
            --pool_.taken_;
            if (process_) pool_.idle_.push_back(std::move(process_));
            pool_.returned_.notify_one();
        }
        Turn(const Turn&) = delete;
        Turn& operator=(const Turn&) = delete;

        Expected<Process*> process() {
            if (!is_ours_)
                return fail(Errc::assembler_ended, "the caller's stop came while all workers were busy");
            if (process_ && process_->is_ready()) return process_.get();
            auto process = Process::start(pool_.setup_, stop_);
            // One that is killed while it starts is no more than one that is killed idle.
            if (!process && !stop_.stop_requested()) process = Process::start(pool_.setup_, stop_);
            process_ = TRY(std::move(process));
            if (process_->hello() == pool_.hello_) return process_.get();
            return fail(Errc::assembler_not_usable, pool_.setup_.program + " is another than it was");
        }

      private:
        const WorkerPool& pool_;
        const std::stop_token& stop_;
        bool is_ours_ = false;
        std::unique_ptr<Process> process_;
    };

    const worker::Setup setup_;
    const unsigned most_workers_, modules_per_worker_;
    const pid_t owner_ = ::getpid();
    worker::Hello hello_;
    mutable std::mutex mutex_;
    mutable std::condition_variable_any returned_;
    mutable std::vector<std::unique_ptr<Process>> idle_;  // the one behind was used last and is the warmest
    mutable unsigned taken_ = 0;                          // turns: workers at work or being started
};

}  // namespace

Expected<std::shared_ptr<const Assembler>> worker_pool(const WorkerPoolOptions& options) {
    constexpr std::string_view in_process[] = {"default", "nvptxcompiler", "nvjitlink"};
    if (std::ranges::find(in_process, options.assembler) == std::end(in_process))
        return fail(
            Errc::argument_invalid,
            "a worker has default, nvptxcompiler or nvjitlink assemble, not '" + options.assembler + "'");
    if (options.timeout.count() <= 0) return fail(Errc::argument_invalid, "a timeout is above 0 ms");
    const auto pool =
        std::make_shared<WorkerPool>(options, TRY(worker::find_program(options.program, "ptxgraft-worker")));
    TRY(pool->open());
    return pool;
}

}  // namespace ptxgraft
