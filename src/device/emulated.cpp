// The device over the emulator.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/fair_mutex.hpp"
#include "emulator/load.hpp"
#include "ptxgraft/site.hpp"
#include "site/stub_place.hpp"
#include "tensor/tensor_map.hpp"

namespace ptxgraft::device {
namespace {

using Clock = std::chrono::steady_clock;

/// Launches and copies, which use the bytes of its memory, come in turn; all else the emulator synchronises
/// itself.
class SharedEmulator {
  public:
    explicit SharedEmulator(const EmulatorOptions& options) : emulator(options) {}
    Emulator emulator;

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

class EmulatedEntry final : public LoadedEntry {
  public:
    EmulatedEntry(std::shared_ptr<SharedEmulator> shared, std::shared_ptr<const EmulatedModule> module,
                  std::string entry)
        : shared_(std::move(shared)), module_(std::move(module)), entry_(std::move(entry)) {}

    // Of the architecture; the emulator itself knows what the entry has.
    [[nodiscard]] launch::EntryLimits limits() const override {
        const ArchitectureLimits limits = architecture_limits(shared_->emulator.options().sm);
        return {.shared_bytes = limits.shared_bytes_per_block,
                .blocks_per_cluster = limits.blocks_per_cluster};
    }
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        std::uint64_t) const override {
        std::vector<std::span<const std::byte>> bytes(arguments.size());
        std::transform(arguments.begin(), arguments.end(), bytes.begin(),
                       [](const Argument& a) { return a.bytes(); });
        const LaunchLimits& limits = config.limits;
        const auto is_stopped = [&] {
            return limits.stop.stop_requested() || (limits.should_stop && limits.should_stop());
        };
        const auto run = shared_->in_turn_unless(is_stopped, std::chrono::milliseconds(2), [&] {
            auto launched = shared_->emulator.launch(*module_, entry_, config, bytes);
            keep_report();
            return launched;
        });
        if (!run) return tl::unexpected(site::with_stub(run.error(), ptx(*module_)));
        return {};
    }
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const override {
        return std::make_unique<EmulatedEntry>(shared_, module_, entry);
    }
    [[nodiscard]] Expected<Variable> variable(const std::string& name) const override {
        const auto found = TRY(shared_->emulator.symbol(*module_, name));
        return Variable{found.address, found.bytes};
    }

  private:
    void keep_report() const {
        EmulatorReport report = shared_->emulator.take_report();
        std::shared_ptr<const SourceText> source;
        if (!report.findings.empty())
            source =
                std::make_shared<const SourceText>(SourceText{entry_ + ".ptx", std::string(ptx(*module_))});
        for (EmulatorFinding& finding : report.findings) {
            finding.error = site::with_stub(std::move(finding.error), source->text);
            if (finding.error.span.known() && !finding.error.source) finding.error.source = source;
        }
        shared_->add(std::move(report));
    }

    std::shared_ptr<SharedEmulator> shared_;
    std::shared_ptr<const EmulatedModule> module_;
    std::string entry_;
};

/// Everything happens at once and in order, so streams have no state and events are points of the host's
/// time.
class EmulatorBackend final : public Backend {
  public:
    EmulatorBackend(const EmulatorOptions& options, Architecture architecture)
        : shared_(std::make_shared<SharedEmulator>(options)), architecture_(architecture) {}

    [[nodiscard]] DeviceKind kind() const override { return DeviceKind::emulator; }
    [[nodiscard]] std::string name() const override { return "emulator"; }
    [[nodiscard]] Architecture architecture() const override { return architecture_; }
    [[nodiscard]] std::string driver_version() const override { return PTXGRAFT_VERSION_STRING; }

    [[nodiscard]] Expected<std::uint64_t> allocate(std::size_t bytes) override {
        return shared_->emulator.allocate(bytes);
    }
    void free(std::uint64_t address) noexcept override {
        static_cast<void>(shared_->emulator.free(address));  // a Buffer frees what it allocated, once
    }
    [[nodiscard]] Expected<void> write(std::uint64_t target, std::span<const std::byte> source) override {
        return shared_->in_turn([&] { return shared_->emulator.write(target, source); });
    }
    [[nodiscard]] Expected<void> read(std::uint64_t source, std::span<std::byte> target) override {
        return shared_->in_turn([&] { return shared_->emulator.read(source, target); });
    }
    [[nodiscard]] Expected<void> copy(std::uint64_t target, std::uint64_t source,
                                      std::size_t bytes) override {
        return shared_->in_turn([&] { return shared_->emulator.copy(target, source, bytes); });
    }
    [[nodiscard]] Expected<void> fill(std::uint64_t target, std::byte value, std::size_t bytes) override {
        return shared_->in_turn([&] { return shared_->emulator.fill(target, value, bytes); });
    }
    [[nodiscard]] Expected<void> poison(std::uint64_t target, std::byte value, std::size_t bytes) override {
        return shared_->in_turn([&]() -> Expected<void> {
            if (auto filled = shared_->emulator.fill(target, value, bytes); !filled) return filled;
            return shared_->emulator.forget(target, bytes);
        });
    }

    [[nodiscard]] Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) override {
        return tensor::encode(options);
    }

    [[nodiscard]] Expected<void> synchronize() override { return {}; }
    [[nodiscard]] std::string take_output() override { return shared_->emulator.take_output(); }
    [[nodiscard]] EmulatorReport take_report() override { return shared_->take_report(); }
    [[nodiscard]] Expected<std::uint64_t> create_stream() override { return 0; }
    void destroy_stream(std::uint64_t) noexcept override {}
    [[nodiscard]] Expected<void> synchronize_stream(std::uint64_t) override { return {}; }

    [[nodiscard]] Expected<std::uint64_t> create_event() override {
        const std::lock_guard lock(events_mutex_);
        events_.emplace(++last_event_, Clock::time_point{});
        return last_event_;
    }
    void destroy_event(std::uint64_t event) noexcept override {
        const std::lock_guard lock(events_mutex_);
        events_.erase(event);
    }
    [[nodiscard]] Expected<void> record_event(std::uint64_t event, std::uint64_t) override {
        const std::lock_guard lock(events_mutex_);
        events_[event] = Clock::now();
        return {};
    }
    [[nodiscard]] Expected<float> elapsed(std::uint64_t start, std::uint64_t end) override {
        const std::lock_guard lock(events_mutex_);
        return std::chrono::duration<float, std::milli>(events_[end] - events_[start]).count();
    }

    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(KnownModule module, const std::string& entry,
                                                              const Cubin*) override {
        if (!module.tree) {
            auto tree = TRY(syntax::parse(module.source->text));
            module.tree = std::move(tree);
        }
        auto loaded =
            TRY(emulator::Loader::load(shared_->emulator, std::move(*module.tree), std::move(module.info)));
        return std::make_unique<EmulatedEntry>(shared_, std::move(loaded), entry);
    }

  private:
    std::shared_ptr<SharedEmulator> shared_;
    Architecture architecture_;
    std::mutex events_mutex_;
    std::map<std::uint64_t, Clock::time_point> events_;
    std::uint64_t last_event_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_emulator(const EmulatorOptions& options, Architecture architecture) {
    return std::make_unique<EmulatorBackend>(options, architecture);
}

}  // namespace ptxgraft::device
