// The device over the emulator.

#include <algorithm>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <utility>

#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/emulated_entry.hpp"
#include "emulator/load.hpp"
#include "tensor/tensor_map.hpp"

namespace ptxgraft::device {
namespace {

using Clock = std::chrono::steady_clock;

/// Modules that functions may share which differ in banks alone: those that use no variables of their own.
/// The last ones, by their text.
class KeptModules {
  public:
    using Module = std::shared_ptr<const EmulatedModule>;
    [[nodiscard]] Module find(const KnownModule& module) const {
        if (module.banks.empty()) return nullptr;
        const std::lock_guard lock(mutex_);
        const auto found = std::ranges::find(modules_, module.source, &Kept::source);
        return found == modules_.end() ? nullptr : found->module;
    }
    void keep(const KnownModule& module, Module loaded) {
        if (module.banks.empty() || names_variables(module)) return;
        const std::lock_guard lock(mutex_);
        if (std::ranges::find(modules_, module.source, &Kept::source) != modules_.end()) return;
        if (modules_.size() == most) modules_.pop_front();
        modules_.push_back({module.source, std::move(loaded)});
    }

  private:
    static constexpr std::size_t most = 8;
    struct Kept {
        std::shared_ptr<const SourceText> source;
        Module module;
    };
    // Whether a variable stands anywhere but in its declaration. (Compilers keep those that nobody uses.)
    [[nodiscard]] static bool names_variables(const KnownModule& module) {
        return std::ranges::any_of(module.info->variables, [&](const std::string& name) {
            return launch::count_name(module.source->text, name) > 1;
        });
    }
    mutable std::mutex mutex_;
    std::deque<Kept> modules_;
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
    [[nodiscard]] Expected<DeviceProperties> properties() const override {
        return emulated_properties(architecture_, shared_->emulator.options().memory_bytes);
    }
    void begin_timing() override { shared_->lock.begin_timing(); }
    void end_timing() noexcept override { shared_->lock.end_timing(); }

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
    [[nodiscard]] Expected<std::uint64_t> create_stream(const StreamOptions&) override { return 0; }
    [[nodiscard]] Expected<void> check_stream(std::uint64_t stream) const override {
        if (stream == 0) return {};
        return fail(Errc::device_differs, std::string("the stream is of a GPU, the device the emulator"));
    }
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
        const TimingLock::Load load(shared_->lock);
        std::shared_ptr<const EmulatedModule> loaded = kept_.find(module);
        const bool is_new = loaded == nullptr;
        if (is_new) loaded = TRY(decoded(module));
        auto banks = TRY(banks_of(module, *loaded));
        if (is_new) kept_.keep(module, loaded);
        return emulated_entry(shared_, std::move(loaded), entry, std::move(banks));
    }
    [[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> create_graph() override { return emulated_graph(); }
    [[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> begin_capture(std::uint64_t) override {
        return emulated_graph();
    }

  private:
    [[nodiscard]] Expected<std::shared_ptr<const EmulatedModule>> decoded(KnownModule& module) {
        if (!module.tree) {
            auto tree = TRY(syntax::parse(module.source->text));
            module.tree = std::move(tree);
        }
        return emulator::Loader::load(shared_->emulator, std::move(*module.tree), module.info);
    }
    [[nodiscard]] Expected<std::shared_ptr<EmulatedBanks>> banks_of(KnownModule& module,
                                                                    const EmulatedModule& loaded) const {
        if (module.banks.empty()) return nullptr;
        auto banks = std::make_shared<EmulatedBanks>();
        for (Bank& bank : module.banks) {
            const auto symbol = TRY(shared_->emulator.symbol(loaded, bank.variable));
            banks->add(symbol.address, std::move(bank.bytes));
        }
        return banks;
    }

    std::shared_ptr<SharedEmulator> shared_;
    KeptModules kept_;
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
