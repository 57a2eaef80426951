// Entries of the emulator: their launches and the errors of these, and what they take; graphs.

#include "device/emulated_entry.hpp"

#include <fmt/format.h>

#include "base/try.hpp"
#include "device/launch_limits.hpp"
#include "emulator/load.hpp"
#include "site/stub_place.hpp"

namespace ptxgraft::device {
namespace {

class EmulatedEntry final : public LoadedEntry {
  public:
    EmulatedEntry(std::shared_ptr<SharedEmulator> shared, std::shared_ptr<const EmulatedModule> module,
                  std::string entry, std::shared_ptr<EmulatedBanks> banks)
        : shared_(std::move(shared)),
          module_(std::move(module)),
          entry_(std::move(entry)),
          banks_(std::move(banks)) {}

    // Of the architecture; the emulator itself knows what the entry has.
    [[nodiscard]] launch::EntryLimits limits() const override {
        const ArchitectureLimits limits = architecture_limits(shared_->emulator.options().sm);
        return {.shared_bytes = limits.shared_bytes_per_block,
                .blocks_per_cluster = limits.blocks_per_cluster};
    }
    [[nodiscard]] Expected<void> launch(const CheckedLaunch& launch, std::uint64_t) const override {
        TRY(launch_counted(launch));
        return {};
    }
    [[nodiscard]] Expected<EmulatorStats> launch_counted(const CheckedLaunch& launch) const override;

    [[nodiscard]] Expected<FunctionAttributes> attributes() const override {
        const std::uint32_t shared = TRY(emulator::Loader::static_shared_bytes(*module_, entry_));
        const launch::EntryLimits most = limits();
        return FunctionAttributes{
            .static_shared_bytes = shared,
            .most_dynamic_shared_bytes = most.shared_bytes - std::min(shared, most.shared_bytes),
            .threads_per_block = most.threads_per_block};
    }
    [[nodiscard]] Expected<std::uint32_t> blocks_per_multiprocessor(
        std::uint32_t block_threads, std::uint32_t dynamic_shared_bytes) const override;
    [[nodiscard]] Expected<std::uint32_t> active_clusters(const CheckedLaunch& launch) const override {
        const Dim3 &block = launch.config.block, &cluster = launch.cluster;
        const std::uint32_t each =
            TRY(blocks_per_multiprocessor(block.x * block.y * block.z, launch.config.shared_bytes));
        return each * emulated_multiprocessors / (cluster.x * cluster.y * cluster.z);
    }
    [[nodiscard]] Expected<void> prefer_shared_memory(std::int32_t) const override { return {}; }

    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const override {
        const TimingLock::Load load(shared_->lock);
        return std::make_unique<EmulatedEntry>(shared_, module_, entry, banks_);
    }
    [[nodiscard]] Expected<Variable> variable(const std::string& name) const override {
        const auto found = TRY(shared_->emulator.symbol(*module_, name));
        return Variable{found.address, found.bytes};
    }
    [[nodiscard]] Expected<void> set_bank(std::size_t number, std::span<const std::byte> bytes,
                                          std::uint64_t) const override {
        banks_->set(number, bytes);
        return {};
    }

  private:
    void keep_report() const;

    std::shared_ptr<SharedEmulator> shared_;
    std::shared_ptr<const EmulatedModule> module_;
    std::string entry_;
    std::shared_ptr<EmulatedBanks> banks_;  // null where there are none
};

Expected<EmulatorStats> EmulatedEntry::launch_counted(const CheckedLaunch& launch) const {
    std::vector<std::span<const std::byte>> bytes(launch.arguments.size());
    std::transform(launch.arguments.begin(), launch.arguments.end(), bytes.begin(),
                   [](const Argument& a) { return a.bytes(); });
    LaunchConfig config = launch.config;
    config.cluster = launch.cluster;
    config.limits = launch_limits(config.limits, shared_->emulator.options());
    const LaunchLimits& limits = config.limits;
    const auto is_stopped = [&] {
        return limits.stop.stop_requested() || (limits.should_stop && limits.should_stop());
    };
    const auto run =
        shared_->in_turn_unless(is_stopped, std::chrono::milliseconds(2), [&]() -> Expected<EmulatorStats> {
            if (banks_ != nullptr) TRY(banks_->write(shared_->emulator));
            auto launched = shared_->emulator.launch(*module_, entry_, config, bytes);
            keep_report();
            return launched;
        });
    if (!run) return tl::unexpected(site::with_stub(run.error(), ptx(*module_)));
    return *run;
}

Expected<std::uint32_t> EmulatedEntry::blocks_per_multiprocessor(std::uint32_t block_threads,
                                                                 std::uint32_t dynamic_shared_bytes) const {
    const FunctionAttributes has = TRY(attributes());
    if (block_threads == 0 || block_threads > has.threads_per_block ||
        dynamic_shared_bytes > has.most_dynamic_shared_bytes)
        return 0;
    const DeviceProperties device =
        emulated_properties(whole_architecture(shared_->emulator.options().sm), 0);
    const std::uint32_t warps = (block_threads + device.warp_size - 1) / device.warp_size;
    const std::uint32_t shared =
        has.static_shared_bytes + dynamic_shared_bytes + device.reserved_shared_bytes_per_block;
    const std::uint32_t by_warps = device.threads_per_multiprocessor / device.warp_size / warps;
    const std::uint32_t by_shared = shared == 0 ? by_warps : device.shared_bytes_per_multiprocessor / shared;
    return std::min({device.blocks_per_multiprocessor, by_warps, by_shared});
}

void EmulatedEntry::keep_report() const {
    EmulatorReport report = shared_->emulator.take_report();
    std::shared_ptr<const SourceText> source;
    if (!report.findings.empty())
        source = std::make_shared<const SourceText>(SourceText{entry_ + ".ptx", std::string(ptx(*module_))});
    for (EmulatorFinding& finding : report.findings) {
        finding.error = site::with_stub(std::move(finding.error), source->text);
        if (finding.error.span.known() && !finding.error.source) finding.error.source = source;
    }
    shared_->add(std::move(report));
}

/// A list of launches. Its entries are kept by whoever has the graph.
class EmulatedGraph final : public LoadedGraph {
  public:
    [[nodiscard]] Expected<void> add(const LoadedEntry& entry, const CheckedLaunch& launch) override {
        launches_.push_back(one(entry, launch));
        return {};
    }
    [[nodiscard]] Expected<void> change(std::size_t number, const LoadedEntry& entry,
                                        const CheckedLaunch& launch) override {
        launches_[number] = one(entry, launch);
        return {};
    }
    [[nodiscard]] Expected<void> instantiate() override { return {}; }
    [[nodiscard]] Expected<void> launch(std::uint64_t stream) override {
        for (std::size_t i = 0; i < launches_.size(); ++i) {
            const One& next = launches_[i];
            auto done = next.entry->launch({next.config, next.config.cluster, next.arguments}, stream);
            if (done) continue;
            done.error().index = static_cast<std::uint32_t>(i);
            return done;
        }
        return {};
    }

  private:
    struct One {
        const LoadedEntry* entry;
        LaunchConfig config;
        std::vector<Argument> arguments;
    };
    static One one(const LoadedEntry& entry, const CheckedLaunch& launch) {
        One result{&entry, launch.config,
                   std::vector<Argument>(launch.arguments.begin(), launch.arguments.end())};
        result.config.cluster = launch.cluster;
        return result;
    }
    std::vector<One> launches_;
};

}  // namespace

Expected<void> EmulatedBanks::write(Emulator& emulator) const {
    const std::lock_guard lock(mutex_);
    for (const auto& [address, bytes] : banks_) TRY(emulator.write(address, bytes));
    return {};
}

DeviceProperties emulated_properties(Architecture architecture, std::uint64_t memory_bytes) {
    const ArchitectureLimits limits = architecture_limits(architecture.sm);
    return {.kind = DeviceKind::emulator,
            .name = "emulator",
            .target = name(architecture),
            .driver_version = PTXGRAFT_VERSION_STRING,
            .compute_major = architecture.sm / 10u,
            .compute_minor = architecture.sm % 10u,
            .multiprocessors = emulated_multiprocessors,
            .memory_bytes = memory_bytes,
            .threads_per_block = launch::EntryLimits().threads_per_block,
            .threads_per_multiprocessor = limits.threads_per_multiprocessor,
            .blocks_per_multiprocessor = limits.blocks_per_multiprocessor,
            .registers_per_block = 65536,
            .registers_per_multiprocessor = 65536,
            .shared_bytes_per_block = launch::EntryLimits().shared_bytes,
            .shared_bytes_per_block_optin = limits.shared_bytes_per_block,
            .shared_bytes_per_multiprocessor =
                limits.shared_bytes_per_block + limits.reserved_shared_bytes_per_block,
            .reserved_shared_bytes_per_block = limits.reserved_shared_bytes_per_block,
            .blocks_per_cluster = limits.blocks_per_cluster,
            .cooperative = true};
}

std::unique_ptr<LoadedEntry> emulated_entry(std::shared_ptr<SharedEmulator> shared,
                                            std::shared_ptr<const EmulatedModule> module, std::string entry,
                                            std::shared_ptr<EmulatedBanks> banks) {
    return std::make_unique<EmulatedEntry>(std::move(shared), std::move(module), std::move(entry),
                                           std::move(banks));
}

std::unique_ptr<LoadedGraph> emulated_graph() { return std::make_unique<EmulatedGraph>(); }

}  // namespace ptxgraft::device
