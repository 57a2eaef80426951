// Host threads take the clusters of a grid in order; one that waits for others lets them go on.
#include "emulator/machine/launch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>

namespace ptxgraft::emulator {
namespace {

// CTAs that one host thread keeps begun at a time: those of a grid may wait for each other. No fewer than a
// device holds.
constexpr std::size_t most_resident = 8192;
// How long CTAs in front of a failed one may go on: an error of theirs comes first.
constexpr unsigned last_turns = 2;

bool is_ending(Errc code) {
    return code == Errc::instruction_budget_spent || code == Errc::time_limit_spent ||
           code == Errc::launch_stopped;
}

class Grid {
  public:
    explicit Grid(const Launch& launch)
        : launch_(launch),
          watch_(*launch.watch),
          ctas_(launch.shape.cluster.x * launch.shape.cluster.y * launch.shape.cluster.z),
          count_(std::uint64_t{launch.shape.grid.x} * launch.shape.grid.y * launch.shape.grid.z / ctas_) {}

    Expected<void> run(std::uint32_t threads) {
        std::vector<std::jthread> others;
        begin_others(others, static_cast<std::size_t>(std::min<std::uint64_t>(threads, count_)) - 1);
        work_guarded(Pace::Thread::launching);
        if (watch_.asks()) wait_for_others();
        others.clear();
        launch_.findings.end();
        return result();
    }

  private:
    static constexpr std::uint64_t none = ~std::uint64_t{0};
    using Resident = std::deque<std::unique_ptr<Cluster>>;

    void begin_others(std::vector<std::jthread>& others, std::size_t wanted) {
        try {
            others.reserve(wanted);
            for (; others.size() < wanted; ++running_)
                others.emplace_back([this] {
                    work_guarded(Pace::Thread::other);
                    leave();
                });
        } catch (const std::system_error&) {  // fewer threads do the same
        } catch (const std::bad_alloc&) {}
    }

    void leave() {
        const std::scoped_lock lock(mutex_);
        ++left_;
        has_left_.notify_one();
    }

    // The launching thread has nothing to do any more, but to ask.
    void wait_for_others() {
        std::unique_lock lock(mutex_);
        while (left_ < running_ && watch_.ending() == Ending::none) {
            has_left_.wait_for(lock, std::chrono::milliseconds(2));
            lock.unlock();
            guarded([this] { watch_.ask(); });
            lock.lock();
        }
    }

    Expected<void> result() {
        if (thrown_ != nullptr) std::rethrow_exception(thrown_);
        if (failed_ != none) return tl::unexpected<Error>(std::move(error_));
        if (is_out_of_memory_) return tl::unexpected<Error>(Error{Errc::out_of_memory, {}, 0, {}, {}});
        if (watch_.ending() == Ending::none) return {};
        return tl::unexpected<Error>(ended_ ? std::move(*ended_) : launch_.ending({}, "at its end"));
    }

    // No exception may leave a host thread: the first one is for the launching thread, when all are done.
    template <class Work> void guarded(Work&& work) noexcept {
        try {
            work();
        } catch (const std::bad_alloc&) {
            is_out_of_memory_ = true;
            watch_.end(Ending::failed);
        } catch (...) {  // of an observer, or of should_stop
            const std::scoped_lock lock(mutex_);
            if (thrown_ == nullptr) thrown_ = std::current_exception();
            watch_.end(Ending::failed);
        }
    }
    void work_guarded(Pace::Thread thread) noexcept {
        guarded([this, thread] {
            Pace pace(watch_, thread);
            work(pace);
        });
    }

    // One host thread: runs a cluster until it ends; when it waits for others, begins the next one beside it.
    void work(Pace& pace) {
        Resident resident;
        std::unique_ptr<Cluster> spare;
        unsigned turns = 0;
        bool wants_more = true;
        while (watch_.ending() == Ending::none) {
            const std::uint64_t failed = failed_.load();
            if (failed != none && ++turns > last_turns * (resident.size() + 1)) return;
            if (wants_more && has_room(resident)) {
                if (auto cluster = begin_next(std::move(spare), pace))
                    resident.push_front(std::move(cluster));
            }
            if (resident.empty()) return;
            wants_more = false;
            std::unique_ptr<Cluster> cluster = std::move(resident.front());
            resident.pop_front();
            if (cluster->index() > failed) continue;
            switch (cluster->run(pace)) {
                case Cta::State::finished:
                    keep_findings(*cluster, false);
                    spare = std::move(cluster);
                    wants_more = resident.empty();
                    break;
                case Cta::State::yielded:
                    resident.push_back(std::move(cluster));
                    wants_more = true;
                    break;
                case Cta::State::failed:
                    keep_findings(*cluster, !is_ending(cluster->error().code));
                    report(*cluster);
                    break;
            }
        }
    }

    [[nodiscard]] bool has_room(const Resident& resident) const {
        return resident.empty() ||
               (resident.size() * ctas_ < most_resident && launch_.host_bytes->used() < most_begun_bytes);
    }

    // Null when there is no other, or the launch has ended.
    std::unique_ptr<Cluster> begin_next(std::unique_ptr<Cluster> cluster, Pace& pace) {
        if (failed_.load() != none) return nullptr;
        const std::uint64_t index = next_.fetch_add(1);
        if (index >= count_) return nullptr;
        if (cluster == nullptr) cluster = std::make_unique<Cluster>(launch_);
        if (cluster->begin(index, pace)) return cluster;
        report(*cluster);
        return nullptr;
    }

    void report(const Cluster& cluster) {
        const std::scoped_lock lock(mutex_);
        if (is_ending(cluster.error().code)) {
            if (!ended_) ended_ = cluster.error();
        } else if (cluster.index() <= failed_.load()) {
            failed_ = cluster.index();
            error_ = cluster.error();
        }
    }

    // Behind the last one they do not count.
    void keep_findings(Cluster& cluster, bool is_last) {
        ClusterFindings* const findings = cluster.findings();
        if (findings == nullptr || (!launch_.keeps_going && !launch_.excuses.any())) return;
        launch_.findings.add(cluster.index(), {std::move(findings->all()), cluster.cta(0).warps(), is_last});
    }

    const Launch& launch_;
    Watch& watch_;
    std::uint64_t ctas_;   // of a cluster
    std::uint64_t count_;  // clusters
    std::atomic<std::uint64_t> next_ = 0;
    std::atomic<std::uint64_t> failed_ = none;
    std::atomic<bool> is_out_of_memory_ = false;
    std::mutex mutex_;
    Error error_;
    std::optional<Error> ended_;
    std::exception_ptr thrown_;
    std::size_t running_ = 0, left_ = 0;  // of the other threads; the first of the launching thread alone
    std::condition_variable has_left_;
};

// As many threads as have room for a cluster each.
std::uint32_t host_threads(const Launch& launch, std::uint32_t wanted) {
    const std::uint64_t room = most_begun_bytes / std::max<std::uint64_t>(Cluster::host_bytes(launch), 1);
    return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(room, 1, std::max(wanted, 1u)));
}

}  // namespace

Error Launch::ending(Span where, std::string_view place) const {
    const auto error = [&](Errc code, const std::string& what) {
        return Error{
            code,
            where,
            0,
            std::make_shared<const std::string>(fmt::format("{}in {}, {}", what, entry->name, place)),
            {}};
    };
    const LaunchLimits& limits = watch->limits();
    switch (watch->ending()) {
        case Ending::budget_spent:
            return error(Errc::instruction_budget_spent,
                         fmt::format("{} warp instructions, ", limits.instruction_budget));
        case Ending::time_spent:
            return error(Errc::time_limit_spent, fmt::format("{} ms, ", limits.time_limit_ms));
        default: return error(Errc::launch_stopped, "");
    }
}

Expected<void> run(const Launch& launch, std::uint32_t threads) {
    return Grid(launch).run(host_threads(launch, threads));
}

}  // namespace ptxgraft::emulator
