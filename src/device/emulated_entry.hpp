#pragma once
/// @file emulated_entry.hpp
/// The emulator as many threads use it, and entries and graphs on it.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "device/backend.hpp"
#include "device/fair_mutex.hpp"
#include "device/timing_lock.hpp"

namespace ptxgraft::device {

/// Launches and copies, which use the bytes of its memory, come in turn; all else the emulator synchronises
/// itself.
class SharedEmulator {
  public:
    explicit SharedEmulator(const EmulatorOptions& options) : emulator(options) {}
    Emulator emulator;
    TimingLock lock;

    /// What `use` returns, an Expected, in this thread's turn. While it waits, `gives_up` is asked every
    /// `interval`.
    template <class GivesUp, class Use>
    auto in_turn_unless(GivesUp&& gives_up, std::chrono::milliseconds interval, Use&& use)
        -> decltype(use()) {
        if (user_.load(std::memory_order_relaxed) == std::this_thread::get_id())
            return fail(
                Errc::device_in_use,
                std::string("by this thread's own launch, which asks should_stop or tells an observer"));
        if (!mutex_.lock_unless(gives_up, interval))
            return fail(Errc::launch_stopped, std::string("while it waited for its turn on the device"));
        const std::lock_guard lock(mutex_, std::adopt_lock);
        const User user(user_);
        return use();
    }
    template <class Use> auto in_turn(Use&& use) -> decltype(use()) {
        return in_turn_unless([] { return false; }, std::chrono::hours(1), use);
    }

    /// Of all launches since the last time.
    EmulatorReport take_report() {
        const std::lock_guard lock(report_mutex_);
        return std::exchange(report_, {});
    }
    void add(EmulatorReport report) {
        const std::lock_guard lock(report_mutex_);
        report_.add(std::move(report), emulator.options().keep_going);
    }

  private:
    struct User {
        explicit User(std::atomic<std::thread::id>& id_) : id(id_) {
            id.store(std::this_thread::get_id(), std::memory_order_relaxed);
        }
        ~User() { id.store({}, std::memory_order_relaxed); }
        User(const User&) = delete;
        User& operator=(const User&) = delete;
        std::atomic<std::thread::id>& id;
    };
    FairMutex mutex_;
    std::atomic<std::thread::id> user_ = {};
    std::mutex report_mutex_;
    EmulatorReport report_;
};

/// The banks of a function, which are written before each of its launches: functions of one module have
/// constants of their own. Threads: any number may use one.
class EmulatedBanks {
  public:
    /// A variable, and the bytes that it gets.
    void add(std::uint64_t address, std::vector<std::byte> bytes) {
        banks_.emplace_back(address, std::move(bytes));
    }
    void set(std::size_t number, std::span<const std::byte> bytes) {
        const std::lock_guard lock(mutex_);
        banks_[number].second.assign(bytes.begin(), bytes.end());
    }
    /// In the device's turn.
    [[nodiscard]] Expected<void> write(Emulator& emulator) const;

  private:
    mutable std::mutex mutex_;
    std::vector<std::pair<std::uint64_t, std::vector<std::byte>>> banks_;
};

/// %nsmid of the emulator.
inline constexpr std::uint32_t emulated_multiprocessors = 132;

/// What an architecture says of itself; 0 where it does not.
[[nodiscard]] DeviceProperties emulated_properties(Architecture architecture, std::uint64_t memory_bytes);

[[nodiscard]] std::unique_ptr<LoadedEntry> emulated_entry(std::shared_ptr<SharedEmulator> shared,
                                                          std::shared_ptr<const EmulatedModule> module,
                                                          std::string entry,
                                                          std::shared_ptr<EmulatedBanks> banks);
[[nodiscard]] std::unique_ptr<LoadedGraph> emulated_graph();

}  // namespace ptxgraft::device
