// The public emulator: modules, memory and launches over the rooms of this folder.
#include "ptxgraft/emulator.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <utility>

#include "base/host_memory.hpp"
#include "base/threads.hpp"
#include "emulator/decode/module.hpp"
#include "emulator/load.hpp"
#include "emulator/machine/launch.hpp"
#include "launch/rules.hpp"
#include "ptx/target.hpp"

namespace ptxgraft {

using emulator::Launch;
using emulator::Memory;

struct Emulator::Data {
    EmulatorOptions options;
    std::uint32_t threads = 1;
    std::shared_ptr<Memory> memory;
    emulator::Checkers checkers;
    std::mutex mutex;  // of what follows
    std::string output;
    EmulatorReport report;

    Expected<EmulatorStats> launch(const EmulatedModule& module, std::string_view entry,
                                   const LaunchConfig& shape,
                                   std::span<const std::span<const std::byte>> arguments);
    Expected<EmulatorStats> run(Launch& launch, const LaunchLimits& limits);
    EmulatorStats keep_report(Launch& launch, const Expected<void>& done);
    void keep(emulator::PrintedText& printed);
    void keep_if_possible(emulator::PrintedText& printed) noexcept;
};

namespace {

std::uint64_t blocks(const Dim3& shape) { return std::uint64_t{shape.x} * shape.y * shape.z; }

// All blocks of a cooperative grid are on the device at once: those that an H100 holds, of its 132
// multiprocessors.
Expected<void> check_cooperative(const Launch& launch) {
    constexpr std::uint64_t multiprocessors = 132, most_warps = 64, most_blocks = 32,
                            shared_bytes = 228 << 10;
    if (!launch.shape.cooperative) return {};
    const std::uint64_t warps = (blocks(launch.shape.block) + 31) / 32;
    const std::uint64_t each =
        std::min({most_blocks, most_warps / warps,
                  shared_bytes / (launch.reserved_shared + emulator::cuda_shared_bytes)});
    if (blocks(launch.shape.grid) <= each * multiprocessors) return {};
    return fail(
        Errc::launch_shape_invalid,
        fmt::format(
            "a cooperative grid of {} blocks; {} fit on the device at once, {} on each of {} multiprocessors",
            blocks(launch.shape.grid), each * multiprocessors, each, multiprocessors));
}

// What a grid-wide barrier counts in, for as long as the launch lasts.
class GridWorkspace {
  public:
    explicit GridWorkspace(Memory& memory) : memory_(memory) {}
    ~GridWorkspace() {
        if (address_ != 0) memory_.try_free(address_);
    }
    GridWorkspace(const GridWorkspace&) = delete;
    GridWorkspace& operator=(const GridWorkspace&) = delete;

    Expected<std::uint64_t> make() {
        constexpr std::uint32_t bytes = 64;  // its size comes first, and then the counter
        auto address = memory_.allocate(bytes);
        if (!address) return address;
        address_ = *address;
        const Memory::Use use(memory_);
        std::memcpy(memory_.host(address_, bytes), &bytes, sizeof bytes);
        memory_.mark(address_, bytes, true);
        return address_;
    }

  private:
    Memory& memory_;
    std::uint64_t address_ = 0;
};

// Each argument is of its parameter's size.
void set_parameters(Launch& launch, std::span<const std::span<const std::byte>> arguments) {
    launch.parameters.resize(launch.entry->param_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i)
        std::ranges::copy(arguments[i], launch.parameters.begin() + launch.entry->parameters[i].offset);
}

bool uses_reserved_shared(const emulator::Program& program) {
    return std::ranges::any_of(program.specials, [](const emulator::SpecialColumn& column) {
        return column.special.row->is_in_reserved_shared;
    });
}

// Where dynamic shared memory begins.
std::uint32_t dynamic_shared(const Launch& launch) {
    const std::uint64_t align = launch.program->dynamic_alignment;
    return static_cast<std::uint32_t>((launch.entry->shared_bytes + align - 1) / align * align);
}

launch::EntryLimits limits_of(const Launch& launch, std::uint32_t dynamic_bytes, std::uint32_t sm) {
    const ArchitectureLimits limits = architecture_limits(sm);
    return {.static_shared_bytes = dynamic_bytes != 0 ? dynamic_shared(launch) : launch.entry->shared_bytes,
            .shared_bytes = limits.shared_bytes_per_block,
            .blocks_per_cluster = limits.blocks_per_cluster};
}

// `bytes`: static and dynamic.
void set_shared(Launch& launch, std::uint32_t bytes) {
    launch.dynamic_shared = dynamic_shared(launch);
    // in units in which it is allocated since sm_80
    launch.reserved_shared = (bytes + 127) / 128 * 128;
    launch.shared_bytes =
        uses_reserved_shared(*launch.program) ? launch.reserved_shared + emulator::cuda_shared_bytes : bytes;
}

// For each cluster and each of the two state spaces: those of a cooperative launch are there at the same
// time.
std::size_t shadow_bytes(const LaunchConfig& shape, std::uint64_t all) {
    const std::uint64_t clusters = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z /
                                   (std::uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z);
    return static_cast<std::size_t>(all / 2 / (shape.cooperative ? std::max<std::uint64_t>(clusters, 1) : 1));
}

// A host holds the registers of all warps of a CTA, their local and their shared memory; of a cooperative
// grid, of all CTAs.
Expected<void> check_host_bytes(const Launch& launch) {
    const std::uint64_t clusters =
        launch.shape.cooperative ? blocks(launch.shape.grid) / blocks(launch.shape.cluster) : 1;
    const std::uint64_t bytes = emulator::Cluster::host_bytes(launch);
    if (bytes <= emulator::most_begun_bytes / clusters) return {};
    return fail(Errc::out_of_device_memory,
                fmt::format("{} blocks of {} that run together take {} bytes of the host each, for "
                            "registers, local and shared memory; {} in all are the limit",
                            clusters * blocks(launch.shape.cluster), launch.entry->name,
                            bytes / blocks(launch.shape.cluster), emulator::most_begun_bytes));
}

// Of what runs asynchronously only programs that use it need an order.
bool keeps_order(EmulatorChecks checks, const emulator::Program& program) {
    const bool is_async =
        program.uses_copies || program.uses_mbarriers || program.uses_wgmma || program.uses_async_proxy;
    return checks.has(EmulatorCheck::races) || checks.has(EmulatorCheck::equal_stores) ||
           (checks.has(EmulatorCheck::async) && is_async);
}

EmulatorReport report_of(const Launch& launch, const EmulatorOptions& options) {
    EmulatorReport report{.warp_instructions = launch.watch->warp_instructions.load(),
                          .thread_instructions = launch.watch->thread_instructions.load(),
                          .checks = launch.checks};
    report.excused.resize(options.excuses.size());
    for (auto& [finding, threads, blocks] : launch.findings.all()) {
        if (finding.excuse) {
            ++report.excused[*finding.excuse];
            continue;
        }
        if (finding.error.code == Errc::ok)
            finding.error = {finding.mistake.code, launch.program->spans[finding.mistake.pc], 0, {}, {}};
        if (report.all_findings++ < options.keep_going)
            report.findings.push_back({finding.mistake.check,
                                       launch.provenance.add_to(std::move(finding.error), finding.calls),
                                       threads, blocks});
    }
    return report;
}

}  // namespace

void EmulatorReport::add(EmulatorReport later, std::size_t most) {
    warp_instructions += later.warp_instructions;
    thread_instructions += later.thread_instructions;
    checks = later.checks;
    all_findings += later.all_findings;
    for (EmulatorFinding& finding : later.findings)
        if (findings.size() < most + (finding.check ? 0 : 1)) findings.push_back(std::move(finding));
    excused.resize(std::max(excused.size(), later.excused.size()));
    for (std::size_t i = 0; i < later.excused.size(); ++i) excused[i] += later.excused[i];
}

Emulator::Emulator(const EmulatorOptions& options) : data_(std::make_unique<Data>()) {
    data_->options = options;
    if (options.fast) data_->options.checks = EmulatorChecks::none();
    // asking takes as long as a small launch
    data_->threads = thread_count(options.threads);
    data_->memory = std::make_shared<Memory>(
        options.memory_bytes, data_->options.checks.has(EmulatorCheck::unwritten),
        options.process_memory ? emulator::AddressSpace::process : emulator::AddressSpace::own);
}
Emulator::~Emulator() = default;
Emulator::Emulator(Emulator&&) noexcept = default;
Emulator& Emulator::operator=(Emulator&&) noexcept = default;

Expected<std::shared_ptr<const EmulatedModule>> Emulator::load(std::string_view ptx) {
    using Result = Expected<std::shared_ptr<const EmulatedModule>>;
    return or_out_of_memory([&]() -> Result {
        auto tree = TRY(syntax::parse(std::string(ptx)));
        return emulator::Loader::load(*this, std::move(tree), nullptr);
    });
}

Expected<std::uint32_t> emulator::Loader::static_shared_bytes(const EmulatedModule& module,
                                                              std::string_view entry) {
    const EmulatedModule::Entry found = TRY(module.prepare(entry));
    return found.function->shared_bytes;
}

Expected<std::shared_ptr<const EmulatedModule>> emulator::Loader::load(
    Emulator& emulator, syntax::Module tree, std::shared_ptr<const launch::ModuleInfo> info) {
    using Result = Expected<std::shared_ptr<const EmulatedModule>>;
    return or_out_of_memory([&]() -> Result {
        Emulator::Data& data = *emulator.data_;
        if (!is_emulated(data.options.sm))
            return fail(Errc::argument_invalid, fmt::format("EmulatorOptions::sm is {}; architectures are {}",
                                                            data.options.sm, emulated_architectures()));
        auto module = std::make_shared<EmulatedModule>(data.memory);
        TRY(module->decode(std::move(tree), std::move(info), data.threads));
        return std::shared_ptr<const EmulatedModule>(std::move(module));
    });
}

Expected<std::uint64_t> Emulator::allocate(std::size_t bytes) {
    return or_out_of_memory([&] { return data_->memory->allocate(bytes); });
}

Expected<void> Emulator::free(std::uint64_t address) {
    return or_out_of_memory([&] { return data_->memory->free(address); });
}

namespace {

tl::unexpected<Error> out_of_bounds(std::uint64_t address, std::size_t bytes) {
    return fail(Errc::address_out_of_bounds, fmt::format("{} bytes at {:#x}", bytes, address));
}

// Calls `f(host bytes)` while nobody else uses the memory.
template <class F>
Expected<void> with_range(Memory& memory, std::uint64_t address, std::size_t bytes, F&& f) {
    return or_out_of_memory([&]() -> Expected<void> {
        const Memory::Use use(memory);
        std::byte* const host = memory.host(address, bytes);
        if (host == nullptr) return out_of_bounds(address, bytes);
        return f(host);
    });
}

// Of a process, what the host itself may not write: doing so would end it.
Expected<void> check_target(const Memory& memory, const EmulatorOptions& options, std::uint64_t address) {
    const emulator::Region* const region = options.process_memory ? memory.find(address) : nullptr;
    if (region == nullptr || !region->read_only) return {};
    return fail(Errc::memory_read_only, fmt::format("a copy to {:#x}", address));
}

}  // namespace

Expected<void> Emulator::write(std::uint64_t address, std::span<const std::byte> bytes) {
    return with_range(*data_->memory, address, bytes.size(), [&](std::byte* host) -> Expected<void> {
        TRY(check_target(*data_->memory, data_->options, address));
        if (!bytes.empty()) std::memmove(host, bytes.data(), bytes.size());  // a process's may overlap
        data_->memory->mark(address, bytes.size(), true);
        return {};
    });
}

Expected<void> Emulator::read(std::uint64_t address, std::span<std::byte> bytes) const {
    return with_range(*data_->memory, address, bytes.size(), [&](const std::byte* host) -> Expected<void> {
        if (!bytes.empty()) std::memmove(bytes.data(), host, bytes.size());
        return {};
    });
}

Expected<void> Emulator::fill(std::uint64_t address, std::byte value, std::size_t bytes) {
    return with_range(*data_->memory, address, bytes, [&](std::byte* host) -> Expected<void> {
        TRY(check_target(*data_->memory, data_->options, address));
        std::fill_n(host, bytes, value);
        data_->memory->mark(address, bytes, true);
        return {};
    });
}

Expected<void> Emulator::copy(std::uint64_t target, std::uint64_t source, std::size_t bytes) {
    Memory& memory = *data_->memory;
    return with_range(memory, source, bytes, [&](const std::byte* from) -> Expected<void> {
        std::byte* const to = memory.host(target, bytes);
        if (to == nullptr) return out_of_bounds(target, bytes);
        TRY(check_target(memory, data_->options, target));
        if (bytes == 0) return {};
        std::memmove(to, from, bytes);
        memory.copy_marks(target, source, bytes);
        return {};
    });
}

Expected<void> Emulator::forget(std::uint64_t address, std::size_t bytes) {
    return with_range(*data_->memory, address, bytes, [&](std::byte*) -> Expected<void> {
        data_->memory->mark(address, bytes, false);
        return {};
    });
}

Expected<Emulator::Symbol> Emulator::symbol(const EmulatedModule& module, std::string_view name) const {
    const auto& variables = module.variables();
    const auto found = variables.find(std::string(name));
    if (found == variables.end()) return fail(Errc::symbol_unknown, std::string(name));
    return Symbol{found->second.address, found->second.bytes};
}

namespace {

// The launch's own limits, and the emulator's where it has none.
LaunchLimits limits_of(const LaunchLimits& launch, const EmulatorOptions& options) {
    LaunchLimits limits = launch;
    if (limits.instruction_budget == 0) limits.instruction_budget = options.instruction_budget;
    if (limits.time_limit_ms == 0) limits.time_limit_ms = options.time_limit_ms;
    if (limits.instruction_budget == no_instruction_budget) limits.instruction_budget = 0;
    if (limits.time_limit_ms == no_time_limit) limits.time_limit_ms = 0;
    return limits;
}

// Shape, parameters and shared memory of a launch that keeps the rules.
Expected<void> set_up(Launch& launch, const launch::EntryInfo& entry, const LaunchConfig& config,
                      std::span<const std::span<const std::byte>> arguments, std::uint32_t sm) {
    const auto size = [](std::span<const std::byte> argument) { return argument.size(); };
    TRY(launch::check_arguments(entry, arguments, size));
    const launch::EntryLimits limits = limits_of(launch, config.shared_bytes, sm);
    const Dim3 cluster = TRY(launch::check_shape(entry, config, limits));
    launch.shape = config;
    launch.shape.cluster = cluster;
    launch.shape.grid = launch::grid_in_blocks(entry, config.grid, cluster);
    set_parameters(launch, arguments);
    set_shared(launch, limits.static_shared_bytes + config.shared_bytes);
    return {};
}

template <class F> class Finally {
  public:
    explicit Finally(F f) : f_(std::move(f)) {}
    ~Finally() { f_(); }
    Finally(const Finally&) = delete;
    Finally& operator=(const Finally&) = delete;

  private:
    F f_;
};

}  // namespace

Expected<EmulatorStats> Emulator::launch(const EmulatedModule& module, std::string_view entry,
                                         const LaunchConfig& shape,
                                         std::span<const std::span<const std::byte>> arguments) {
    return or_out_of_memory([&] { return data_->launch(module, entry, shape, arguments); });
}

Expected<EmulatorStats> Emulator::Data::launch(const EmulatedModule& module, std::string_view entry,
                                               const LaunchConfig& shape,
                                               std::span<const std::span<const std::byte>> arguments) {
    if (module.memory() != memory.get())
        return fail(Errc::argument_invalid, "the module was loaded by another emulator");
    const auto prepared = TRY(module.prepare(entry));
    const auto [program, function, info] = prepared;
    Launch launch(*program, *function, module.text(), options.excuses);
    launch.memory = memory.get();
    launch.lane_functions = &emulator::lane_functions(arithmetic::this_processor());
    launch.checks = options.checks;
    launch.is_ordered = keeps_order(options.checks, *program);
    launch.keeps_going = options.keep_going != 0;
    launch.checkers = &checkers;
    launch.observer = options.observer;
    if (launch.observer != nullptr) launch.names = emulator::register_names(*program, module.text());
    TRY(set_up(launch, *info, shape, arguments, options.sm));
    TRY(check_cooperative(launch));
    TRY(check_host_bytes(launch));
    launch.shadow_bytes = shadow_bytes(launch.shape, options.shadow_bytes);
    GridWorkspace workspace(*memory);
    if (shape.cooperative) {
        auto address = TRY(workspace.make());
        launch.grid_workspace = address;
    }
    return run(launch, limits_of(shape.limits, options));
}

EmulatorReport Emulator::take_report() {
    const std::scoped_lock lock(data_->mutex);
    return std::exchange(data_->report, {});
}

Expected<EmulatorStats> Emulator::Data::run(Launch& launch, const LaunchLimits& limits) {
    emulator::Watch watch(limits);
    emulator::PrintedText printed;
    emulator::HostBytes host_bytes;
    launch.watch = &watch;
    launch.printed = &printed;
    launch.host_bytes = &host_bytes;
    if (limits.stop.stop_requested()) {
        watch.end(emulator::Ending::stopped);
        return tl::unexpected<Error>(launch.ending({}, "before it began"));
    }
    const Memory::Use use(*memory);
    // of a launch that fails, and where an observer throws
    const Finally keep_text([&] { keep_if_possible(printed); });
    const auto done = emulator::run(launch, launch.observer != nullptr ? 1 : threads);
    const EmulatorStats stats = keep_report(launch, done);
    if (!done) return tl::unexpected<Error>(done.error());
    keep(printed);
    return stats;
}

EmulatorStats Emulator::Data::keep_report(Launch& launch, const Expected<void>& done) {
    EmulatorReport latest = report_of(launch, options);
    const EmulatorStats stats{latest.warp_instructions, latest.thread_instructions, latest.all_findings};
    if (!done && launch.keeps_going)
        latest.findings.push_back({.error = done.error(), .threads = 1, .blocks = 1});
    const std::scoped_lock lock(mutex);
    report.add(std::move(latest), options.keep_going);
    return stats;
}

void Emulator::Data::keep(emulator::PrintedText& printed) {
    constexpr std::size_t most_waiting = std::size_t{64} << 20;
    const std::string text = printed.take();
    if (text.empty()) return;
    const std::scoped_lock lock(mutex);
    if (output.size() >= most_waiting) return;
    output += text;
    if (output.size() >= most_waiting)
        output += fmt::format(
            "\n[what is printed from here on is lost until somebody takes these {} bytes]\n", output.size());
}

void Emulator::Data::keep_if_possible(emulator::PrintedText& printed) noexcept {
    try {
        keep(printed);
    } catch (const std::bad_alloc&) {  // the error is that of the launch
    }
}

std::string Emulator::take_output() {
    const std::scoped_lock lock(data_->mutex);
    return std::exchange(data_->output, {});
}

const EmulatorOptions& Emulator::options() const { return data_->options; }

std::string_view ptx(const EmulatedModule& module) { return module.text(); }

}  // namespace ptxgraft
