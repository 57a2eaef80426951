#include "ptxgraft/emulator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>

#include "emulator/decode.hpp"
#include "emulator/launch.hpp"
#include "emulator/memory.hpp"
#include "emulator/share_columns.hpp"
#include "syntax/name_map.hpp"

namespace ptxgraft {

using emulator::Function;
using emulator::Launch;
using emulator::Memory;
using emulator::Program;

class EmulatedModule {
  public:
    explicit EmulatedModule(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
    ~EmulatedModule() {  // the last one first: those behind it would be moved
        for (auto address = allocations_.rbegin(); address != allocations_.rend(); ++address) {
            static_cast<void>(memory_->free(*address));
        }
    }
    EmulatedModule(const EmulatedModule&) = delete;
    EmulatedModule& operator=(const EmulatedModule&) = delete;

    Expected<void> decode(std::string text, emulator::DecoderMemory& kept, std::uint32_t threads) {
        auto tree = syntax::parse(std::move(text));
        if (!tree) return tl::unexpected<Error>(tree.error());
        if (tree->address_size() == 32) return fail(Errc::unsupported_module, "32-bit addresses");
        auto programs = emulator::decode_in_parts(*tree, *memory_, allocations_, kept, threads);
        if (!programs) return tl::unexpected<Error>(programs.error());
        for (Program& program : *programs) add(parts_.emplace_back(std::move(program)));
        text_ = std::move(*tree).take_source();
        return parts_[0].program.uses_heap ? memory_->reserve_heap() : Expected<void>{};
    }

    struct Entry {
        const Program* program = nullptr;
        const Function* function = nullptr;  ///< null: there is none of that name
    };
    /// An entry for a launch: what is done for the functions that run alone is done.
    [[nodiscard]] Entry prepare(std::string_view name) const {
        const PartEntry* const found = entries_.find(name);
        if (found == nullptr) return {};
        const std::scoped_lock lock(mutex_);
        Part& part = parts_[found->part];
        part.prepare(found->function);
        return {&part.program, &part.program.functions[found->function]};
    }

    [[nodiscard]] const std::unordered_map<std::string, emulator::Variable>& variables() const { return parts_[0].program.variables; }
    [[nodiscard]] const Memory* memory() const { return memory_.get(); }
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    // A function does not change once it was launched or may be called.
    struct Part {
        explicit Part(Program program_) : program(std::move(program_)), is_prepared(program.functions.size()) {}
        void prepare(std::size_t entry) {
            prepare_one(entry);
            const Function& function = program.functions[entry];
            if (function.first.calls == function.end.calls || callees_are_prepared) return;
            for (std::size_t i = 0; i < program.functions.size(); ++i)
                if (!program.functions[i].is_entry && program.functions[i].has_code) prepare_one(i);
            callees_are_prepared = true;
        }
        void prepare_one(std::size_t i) {
            if (!is_prepared[i]) share_columns(program, program.functions[i]);
            is_prepared[i] = true;
        }
        Program program;
        std::vector<bool> is_prepared;  // of its functions
        bool callees_are_prepared = false;
    };
    struct PartEntry {
        std::uint32_t part = 0, function = 0;
    };
    void add(const Part& part) {
        const auto number = static_cast<std::uint32_t>(parts_.size() - 1);
        for (std::uint32_t i = 0; i < part.program.functions.size(); ++i)
            if (const Function& function = part.program.functions[i]; function.is_entry && function.has_code) *entries_.put(function.name).first = {number, i};
    }

    std::string text_;
    std::shared_ptr<Memory> memory_;
    std::vector<std::uint64_t> allocations_;
    mutable std::deque<Part> parts_;  // of the module
    syntax::NameMap<PartEntry> entries_;
    mutable std::mutex mutex_;
};

struct Emulator::Data {
    EmulatorOptions options;
    std::uint32_t threads = 1;
    std::shared_ptr<Memory> memory;
    emulator::DecoderMemory decoder_memory;
    emulator::Checkers checkers;
    std::string output;
};

namespace {

constexpr std::uint32_t most_threads = 1024;

// Bytes of shared memory that a CTA may have: CUDA C++ Programming Guide, technical specifications per
// architecture.
std::uint32_t most_shared_bytes(std::uint32_t sm) {
    constexpr std::pair<std::uint32_t, std::uint32_t> rows[] = {{75, 64}, {80, 163}, {86, 99},   {87, 163},
                                                                {89, 99}, {90, 227}, {100, 227}, {120, 99}};
    std::uint32_t result = 48;
    for (const auto& [from, kilobytes] : rows) {
        if (sm >= from) result = kilobytes;
    }
    return result * 1024;
}

std::string shape_text(const Dim3& shape) { return fmt::format("({}, {}, {})", shape.x, shape.y, shape.z); }

// The limits of every architecture since sm_30 and those that the entry names.
Expected<void> check_shape(const Function& entry, const EmulatorLaunch& launch) {
    const Dim3& grid = launch.grid;
    const Dim3& block = launch.block;
    const std::uint64_t threads = std::uint64_t{block.x} * block.y * block.z;
    const bool block_fits =
        block.x <= 1024 && block.y <= 1024 && block.z <= 64 && threads > 0 && threads <= most_threads;
    if (!block_fits) {
        return fail(
            Errc::invalid_launch_shape,
            fmt::format("block {}; at most 1024 threads, 64 in z, and at least one", shape_text(block)));
    }
    const bool grid_fits =
        grid.x > 0 && grid.y > 0 && grid.z > 0 && grid.x <= 0x7FFFFFFF && grid.y <= 65535 && grid.z <= 65535;
    if (!grid_fits) {
        return fail(Errc::invalid_launch_shape,
                    fmt::format("grid {}; 1 to 2147483647 blocks in x, 65535 in y and z", shape_text(grid)));
    }
    const auto& required = entry.required_block;
    if (required[0] != 0 && (block.x != required[0] || block.y != required[1] || block.z != required[2])) {
        return fail(Errc::invalid_launch_shape,
                    fmt::format("block {}; {} requires ({}, {}, {})", shape_text(block), entry.name,
                                required[0], required[1], required[2]));
    }
    if (entry.max_threads != 0 && threads > entry.max_threads) {
        return fail(Errc::invalid_launch_shape,
                    fmt::format("{} threads; {} allows {}", threads, entry.name, entry.max_threads));
    }
    return {};
}

std::uint64_t blocks(const Dim3& shape) { return std::uint64_t{shape.x} * shape.y * shape.z; }

// The launch with the cluster that the entry requires where none is given, and the grid in blocks.
EmulatorLaunch with_cluster(const Function& entry, EmulatorLaunch launch) {
    const auto& required = entry.required_cluster;
    if (blocks(launch.cluster) == 1 && required[0] != 0) launch.cluster = {required[0], required[1], required[2]};
    if (!entry.blocks_are_clusters) return launch;
    const auto times = [](std::uint32_t a, std::uint32_t b) { return static_cast<std::uint32_t>(std::min<std::uint64_t>(std::uint64_t{a} * b, UINT32_MAX)); };
    launch.grid = {times(launch.grid.x, launch.cluster.x), times(launch.grid.y, launch.cluster.y), times(launch.grid.z, launch.cluster.z)};
    return launch;
}

// PTX ISA 11.7, and CUDA's limits: 8 blocks on every device with clusters, 16 on sm_90 and later data center ones.
Expected<void> check_cluster(const Function& entry, const EmulatorLaunch& launch, std::uint32_t sm) {
    constexpr std::uint32_t most_blocks = 16;
    const Dim3 &cluster = launch.cluster, &grid = launch.grid;
    const auto& required = entry.required_cluster;
    const std::uint64_t count = blocks(cluster);
    const auto refuse = [&](const std::string& what) { return fail(Errc::invalid_launch_shape, fmt::format("cluster {}; {}", shape_text(cluster), what)); };
    if (count == 0) return refuse("a cluster has at least one block");
    if (count == 1 && entry.wants_cluster) return refuse(fmt::format("{} wants one: it is .explicitcluster", entry.name));
    if (count > 1 && sm < 90) return refuse("clusters need sm_90");
    if (cluster.x > most_blocks || cluster.y > most_blocks || cluster.z > most_blocks || count > most_blocks)
        return refuse(fmt::format("at most {} blocks", most_blocks));
    if (required[0] != 0 && (cluster.x != required[0] || cluster.y != required[1] || cluster.z != required[2]))
        return refuse(fmt::format("{} requires ({}, {}, {})", entry.name, required[0], required[1], required[2]));
    if (entry.most_cluster_blocks != 0 && count > entry.most_cluster_blocks)
        return refuse(fmt::format("{} allows {} blocks", entry.name, entry.most_cluster_blocks));
    if (grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0) return {};
    return refuse(fmt::format("the grid {} is no multiple of it", shape_text(grid)));
}

// All blocks of a cooperative grid are on the device at once: those that an H100 holds, of its 132 multiprocessors.
Expected<void> check_cooperative(const Launch& launch) {
    constexpr std::uint64_t multiprocessors = 132, most_warps = 64, most_blocks = 32, shared_bytes = 228 << 10;
    if (!launch.shape.cooperative) return {};
    const std::uint64_t warps = (blocks(launch.shape.block) + 31) / 32;
    const std::uint64_t each = std::min({most_blocks, most_warps / warps, shared_bytes / (launch.reserved_shared + emulator::cuda_shared_bytes)});
    if (blocks(launch.shape.grid) <= each * multiprocessors) return {};
    return fail(Errc::invalid_launch_shape, fmt::format("a cooperative grid of {} blocks; {} fit on the device at once, {} on each of {} multiprocessors",
                                                        blocks(launch.shape.grid), each * multiprocessors, each, multiprocessors));
}

// What a grid-wide barrier counts in, for as long as the launch lasts.
class GridWorkspace {
  public:
    explicit GridWorkspace(Memory& memory) : memory_(&memory) {}
    ~GridWorkspace() {
        if (address_ != 0) static_cast<void>(memory_->free(address_));
    }
    GridWorkspace(const GridWorkspace&) = delete;
    GridWorkspace& operator=(const GridWorkspace&) = delete;

    Expected<std::uint64_t> make() {
        constexpr std::uint32_t bytes = 64;  // its size comes first, and then the counter
        auto address = memory_->allocate(bytes);
        if (!address) return address;
        address_ = *address;
        std::memset(memory_->host(address_, bytes), 0, bytes);
        std::memcpy(memory_->host(address_, bytes), &bytes, sizeof bytes);
        memory_->mark(address_, bytes, true);
        return address_;
    }

  private:
    Memory* memory_;
    std::uint64_t address_ = 0;
};

Expected<void> set_parameters(Launch& launch, std::span<const std::span<const std::byte>> arguments) {
    const Function& entry = *launch.entry;
    if (arguments.size() != entry.parameters.size()) {
        return fail(Errc::argument_count_mismatch, fmt::format("{} has {} parameters, {} given", entry.name,
                                                               entry.parameters.size(), arguments.size()));
    }
    launch.parameters.resize(entry.param_bytes);
    for (std::size_t i = 0; i < arguments.size(); ++i) {
        const emulator::Slot& slot = entry.parameters[i];
        if (arguments[i].size() != slot.bytes) {
            Error error{Errc::argument_size_mismatch,
                        {},
                        static_cast<std::uint32_t>(i),
                        std::make_shared<const std::string>(
                            fmt::format("parameter {} of {} has {} bytes, {} given", i, entry.name,
                                        slot.bytes, arguments[i].size()))};
            return tl::unexpected<Error>(std::move(error));
        }
        std::copy(arguments[i].begin(), arguments[i].end(), launch.parameters.begin() + slot.offset);
    }
    return {};
}

bool uses_reserved_shared(const emulator::Program& program) {
    return std::ranges::any_of(program.specials, [](const emulator::SpecialColumn& column) {
        return column.special >= emulator::Special::reserved_smem_begin && column.special <= emulator::Special::reserved_smem_1;
    });
}

Expected<void> set_shared(Launch& launch, std::uint32_t sm) {
    const std::uint64_t align = launch.program->dynamic_alignment;
    const std::uint64_t dynamic = (launch.entry->shared_bytes + align - 1) / align * align;
    const bool any_dynamic = launch.shape.shared_bytes != 0;
    const std::uint64_t bytes =
        any_dynamic ? dynamic + launch.shape.shared_bytes : launch.entry->shared_bytes;
    if (bytes > most_shared_bytes(sm)) {
        return fail(Errc::shared_memory_too_large,
                    fmt::format("{} bytes static, {} dynamic; sm_{} has {}", launch.entry->shared_bytes,
                                launch.shape.shared_bytes, sm, most_shared_bytes(sm)));
    }
    launch.dynamic_shared = static_cast<std::uint32_t>(dynamic);
    launch.reserved_shared = static_cast<std::uint32_t>((bytes + 127) / 128 * 128);  // in units in which it is allocated since sm_80
    launch.shared_bytes = uses_reserved_shared(*launch.program) ? launch.reserved_shared + emulator::cuda_shared_bytes : static_cast<std::uint32_t>(bytes);
    return {};
}

// For each cluster and each of the two state spaces: those of a cooperative launch are there at the same time.
std::size_t shadow_bytes(const EmulatorLaunch& shape, std::uint64_t all) {
    const std::uint64_t clusters = std::uint64_t{shape.grid.x} * shape.grid.y * shape.grid.z /
                                   (std::uint64_t{shape.cluster.x} * shape.cluster.y * shape.cluster.z);
    return static_cast<std::size_t>(all / 2 / (shape.cooperative ? std::max<std::uint64_t>(clusters, 1) : 1));
}

// A host holds the registers of all warps of a CTA.
Expected<void> check_registers(const Function& entry, const Dim3& block) {
    constexpr std::uint64_t most_bytes = std::uint64_t{2} << 30;
    const std::uint64_t warps = (std::uint64_t{block.x} * block.y * block.z + 31) / 32;
    if (warps * entry.register_bytes <= most_bytes) return {};
    return fail(Errc::out_of_device_memory,
                fmt::format("{} has {} bytes of registers in a warp, and {} warps", entry.name, entry.register_bytes, warps));
}

Expected<std::byte*> host_range(const Memory& memory, std::uint64_t address, std::size_t bytes) {
    std::byte* host = memory.host(address, bytes);
    if (host == nullptr)
        return fail(Errc::address_out_of_bounds, fmt::format("{} bytes at {:#x}", bytes, address));
    return host;
}

}  // namespace

Emulator::Emulator(const EmulatorOptions& options) : data_(std::make_unique<Data>()) {
    data_->options = options;
    data_->threads = options.threads != 0 ? options.threads : std::max(std::thread::hardware_concurrency(), 1u);  // asking takes as long as a small launch
    data_->memory = std::make_shared<Memory>(options.memory_bytes, !options.fast);
}
Emulator::~Emulator() = default;
Emulator::Emulator(Emulator&&) noexcept = default;
Emulator& Emulator::operator=(Emulator&&) noexcept = default;

Expected<std::shared_ptr<const EmulatedModule>> Emulator::load(std::string_view ptx) {
    auto module = std::make_shared<EmulatedModule>(data_->memory);
    if (auto done = module->decode(std::string(ptx), data_->decoder_memory, data_->threads); !done) return tl::unexpected<Error>(done.error());
    return std::shared_ptr<const EmulatedModule>(std::move(module));
}

Expected<std::uint64_t> Emulator::allocate(std::size_t bytes) { return data_->memory->allocate(bytes); }

Expected<void> Emulator::free(std::uint64_t address) { return data_->memory->free(address); }

Expected<void> Emulator::write(std::uint64_t address, std::span<const std::byte> bytes) {
    auto host = host_range(*data_->memory, address, bytes.size());
    if (!host) return tl::unexpected<Error>(host.error());
    if (!bytes.empty()) std::memcpy(*host, bytes.data(), bytes.size());
    data_->memory->mark(address, bytes.size(), true);
    return {};
}

Expected<void> Emulator::read(std::uint64_t address, std::span<std::byte> bytes) const {
    auto host = host_range(*data_->memory, address, bytes.size());
    if (!host) return tl::unexpected<Error>(host.error());
    if (!bytes.empty()) std::memcpy(bytes.data(), *host, bytes.size());
    return {};
}

Expected<void> Emulator::fill(std::uint64_t address, std::byte value, std::size_t bytes) {
    auto host = host_range(*data_->memory, address, bytes);
    if (!host) return tl::unexpected<Error>(host.error());
    std::fill_n(*host, bytes, value);
    data_->memory->mark(address, bytes, true);
    return {};
}

Expected<void> Emulator::forget(std::uint64_t address, std::size_t bytes) {
    auto host = host_range(*data_->memory, address, bytes);
    if (!host) return tl::unexpected<Error>(host.error());
    data_->memory->mark(address, bytes, false);
    return {};
}

Expected<Emulator::Symbol> Emulator::symbol(const EmulatedModule& module, std::string_view name) const {
    const auto& variables = module.variables();
    const auto found = variables.find(std::string(name));
    if (found == variables.end()) return fail(Errc::symbol_not_found, std::string(name));
    return Symbol{found->second.address, found->second.bytes};
}

Expected<EmulatorStats> Emulator::launch(const EmulatedModule& module, std::string_view entry,
                                         const EmulatorLaunch& shape,
                                         std::span<const std::span<const std::byte>> arguments) {
    if (module.memory() != data_->memory.get())
        return fail(Errc::invalid_argument, "the module was loaded by another emulator");
    const auto [program, function] = module.prepare(entry);
    if (function == nullptr) return fail(Errc::entry_not_found, std::string(entry));
    Launch launch;
    launch.program = program;
    launch.entry = function;
    launch.memory = data_->memory.get();
    launch.lane_functions = &emulator::lane_functions(arithmetic::this_processor());
    launch.shape = with_cluster(*function, shape);
    launch.budget = data_->options.instruction_budget;
    launch.text = module.text();
    launch.is_checked = !data_->options.fast;
    launch.checkers = &data_->checkers;
    launch.reports_equal_stores = data_->options.equal_stores;
    launch.reports_unwaited_stores = data_->options.unwaited_stores;
    launch.shadow_bytes = shadow_bytes(launch.shape, data_->options.shadow_bytes);
    launch.observer = data_->options.observer;
    if (launch.observer != nullptr) launch.names = emulator::register_names(*program, module.text());
    if (auto done = check_shape(*function, launch.shape); !done) return tl::unexpected<Error>(done.error());
    if (auto done = check_cluster(*function, launch.shape, data_->options.sm); !done) return tl::unexpected<Error>(done.error());
    if (auto done = check_registers(*function, shape.block); !done)
        return tl::unexpected<Error>(done.error());
    if (auto done = set_parameters(launch, arguments); !done) return tl::unexpected<Error>(done.error());
    if (auto done = set_shared(launch, data_->options.sm); !done) return tl::unexpected<Error>(done.error());
    if (auto done = check_cooperative(launch); !done) return tl::unexpected<Error>(done.error());
    GridWorkspace workspace(*data_->memory);
    if (shape.cooperative) {
        auto address = workspace.make();
        if (!address) return tl::unexpected<Error>(address.error());
        launch.grid_workspace = *address;
    }
    const std::uint32_t threads = launch.observer != nullptr ? 1 : data_->threads;
    if (auto done = emulator::run(launch, threads, data_->output); !done) return tl::unexpected<Error>(done.error());
    return EmulatorStats{launch.warp_instructions.load(), launch.thread_instructions.load()};
}

std::string Emulator::take_output() { return std::exchange(data_->output, {}); }

const EmulatorOptions& Emulator::options() const { return data_->options; }

std::string_view ptx(const EmulatedModule& module) { return module.text(); }

}  // namespace ptxgraft
