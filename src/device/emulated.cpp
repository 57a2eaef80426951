#include <algorithm>
#include <chrono>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "device/backend.hpp"
#include "emulator/tensor_map.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::device {
namespace {

using Clock = std::chrono::steady_clock;

/// The emulator is not synchronised; every use of it takes the mutex.
struct SharedEmulator {
    explicit SharedEmulator(const EmulatorOptions& options) : emulator(options) {}
    std::mutex mutex;
    Emulator emulator;
};

// Shared memory per block, static and dynamic, in KB (CUDA C++ Programming Guide, technical specifications per
// compute capability).
std::uint32_t shared_kilobytes(std::uint32_t sm) {
    constexpr std::pair<std::uint32_t, std::uint32_t> rows[] = {{75, 64}, {80, 163}, {86, 99}, {87, 163}, {89, 99},
                                                                {90, 227}, {120, 99}};
    std::uint32_t result = 48;
    for (const auto& [from, kilobytes] : rows)
        if (sm >= from) result = kilobytes;
    return result;
}

// An error in a stub says so: its lines count from the one behind the marker.
Error with_stub(Error error, std::string_view ptx) {
    if (!error.span.known() || error.source != nullptr) return error;
    if (ptx.find("PTXGRAFT_STUB") == std::string_view::npos && ptx.find("PTX_INJECT_START") == std::string_view::npos) return error;
    const auto sites = scan(ptx);
    if (!sites) return error;
    const std::uint32_t at = error.span.begin;
    for (const Site& site : sites->sites) {
        for (const SiteCopy& copy : site.copies) {
            if (at < copy.stub.begin || at >= copy.stub.end) continue;
            const auto line = 1 + std::ranges::count(ptx.substr(copy.stub.begin, at - copy.stub.begin), '\n');
            const std::string detail = error.detail ? *error.detail : std::string();
            error.detail = std::make_shared<const std::string>(fmt::format("{}; in the stub of site {}, line {}", detail, site.name, line));
        }
    }
    return error;
}

class EmulatedEntry final : public LoadedEntry {
  public:
    EmulatedEntry(std::shared_ptr<SharedEmulator> shared, std::shared_ptr<const EmulatedModule> module, std::string entry)
        : shared_(std::move(shared)), module_(std::move(module)), entry_(std::move(entry)) {}

    [[nodiscard]] LaunchLimits limits() const override {
        const std::uint32_t sm = shared_->emulator.options().sm;
        return {.dynamic_shared_bytes = shared_kilobytes(sm) * 1024, .blocks_per_cluster = blocks_per_cluster(sm)};
    }
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        std::uint64_t) const override {
        std::vector<std::span<const std::byte>> bytes(arguments.size());
        std::transform(arguments.begin(), arguments.end(), bytes.begin(), [](const Argument& a) { return a.bytes(); });
        const EmulatorLaunch shape{config.grid, config.block, config.shared_bytes, config.cluster, config.cooperative};
        const std::lock_guard lock(shared_->mutex);
        auto run = shared_->emulator.launch(*module_, entry_, shape, bytes);
        if (!run) return tl::unexpected(with_stub(run.error(), ptx(*module_)));
        return {};
    }

  private:
    std::shared_ptr<SharedEmulator> shared_;
    std::shared_ptr<const EmulatedModule> module_;
    std::string entry_;
};

/// Everything happens at once and in order, so streams have no state and events are points of the host's time.
class EmulatorBackend final : public Backend {
  public:
    EmulatorBackend(const EmulatorOptions& options, std::string target)
        : shared_(std::make_shared<SharedEmulator>(options)), target_(std::move(target)) {}

    [[nodiscard]] DeviceKind kind() const override { return DeviceKind::emulator; }
    [[nodiscard]] std::string name() const override { return "emulator"; }
    [[nodiscard]] std::string target() const override { return target_; }
    [[nodiscard]] std::string driver_version() const override { return PTXGRAFT_VERSION_STRING; }

    [[nodiscard]] Expected<std::uint64_t> allocate(std::size_t bytes) override { return locked().emulator.allocate(bytes); }
    void free(std::uint64_t address) noexcept override {
        const auto freed = locked().emulator.free(address);
        static_cast<void>(freed);  // a Buffer frees what it allocated, once
    }
    [[nodiscard]] Expected<void> write(std::uint64_t target, std::span<const std::byte> source) override {
        return locked().emulator.write(target, source);
    }
    [[nodiscard]] Expected<void> read(std::uint64_t source, std::span<std::byte> target) override {
        return locked().emulator.read(source, target);
    }
    [[nodiscard]] Expected<void> copy(std::uint64_t target, std::uint64_t source, std::size_t bytes) override {
        std::vector<std::byte> between(bytes);
        const Locked lock = locked();
        if (auto done = lock.emulator.read(source, between); !done) return done;
        return lock.emulator.write(target, between);
    }
    [[nodiscard]] Expected<void> fill(std::uint64_t target, std::byte value, std::size_t bytes) override {
        return locked().emulator.fill(target, value, bytes);
    }
    [[nodiscard]] Expected<void> poison(std::uint64_t target, std::byte value, std::size_t bytes) override {
        const Locked lock = locked();
        if (auto filled = lock.emulator.fill(target, value, bytes); !filled) return filled;
        return lock.emulator.forget(target, bytes);
    }

    [[nodiscard]] Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) override {
        return emulator::encode(options);
    }

    [[nodiscard]] Expected<void> synchronize() override { return {}; }
    [[nodiscard]] std::string take_output() override { return locked().emulator.take_output(); }
    [[nodiscard]] Expected<std::uint64_t> create_stream() override { return 0; }
    void destroy_stream(std::uint64_t) noexcept override {}
    [[nodiscard]] Expected<void> synchronize_stream(std::uint64_t) override { return {}; }

    [[nodiscard]] Expected<std::uint64_t> create_event() override {
        const std::lock_guard lock(shared_->mutex);
        events_.emplace(++last_event_, Clock::time_point{});
        return last_event_;
    }
    void destroy_event(std::uint64_t event) noexcept override {
        const std::lock_guard lock(shared_->mutex);
        events_.erase(event);
    }
    [[nodiscard]] Expected<void> record_event(std::uint64_t event, std::uint64_t) override {
        const std::lock_guard lock(shared_->mutex);
        events_[event] = Clock::now();
        return {};
    }
    [[nodiscard]] Expected<float> elapsed(std::uint64_t start, std::uint64_t end) override {
        const std::lock_guard lock(shared_->mutex);
        return std::chrono::duration<float, std::milli>(events_[end] - events_[start]).count();
    }

    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(std::string_view ptx, const std::string& entry,
                                                              const Cubin*) override {
        auto module = locked().emulator.load(ptx);
        if (!module) return tl::unexpected(module.error());
        return std::make_unique<EmulatedEntry>(shared_, std::move(*module), entry);
    }

  private:
    struct Locked {
        std::unique_lock<std::mutex> lock;
        Emulator& emulator;
    };
    Locked locked() { return {std::unique_lock(shared_->mutex), shared_->emulator}; }

    std::shared_ptr<SharedEmulator> shared_;
    std::string target_;
    std::map<std::uint64_t, Clock::time_point> events_;
    std::uint64_t last_event_ = 0;
};

}  // namespace

std::unique_ptr<Backend> open_emulator(const EmulatorOptions& options, std::string target) {
    return std::make_unique<EmulatorBackend>(options, std::move(target));
}

}  // namespace ptxgraft::device
