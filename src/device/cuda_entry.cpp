// Modules of a GPU: loading, the entries, what they take, and their launches.

#include "device/cuda_entry.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace ptxgraft::device {

using driver::Driver;
using driver::FunctionAttribute;
using driver::LaunchAttributeId;
using driver::Result;

namespace {

std::uint32_t natural(int value) { return static_cast<std::uint32_t>(std::max(value, 0)); }

std::uint32_t blocks(const Dim3& cluster) { return cluster.x * cluster.y * cluster.z; }

constexpr std::uint32_t portable_blocks = 8;  // CUDA C++ Programming Guide, thread block clusters

bool says_more_than_its_shape(const CheckedLaunch& launch) {
    const LaunchConfig& config = launch.config;
    return config.cooperative || config.programmatic || config.priority || blocks(launch.cluster) > 1;
}

// Nothing ends a kernel that a GPU has begun.
Expected<void> check_limits(const LaunchLimits& limits) {
    const bool has_time = limits.time_limit_ms != 0 && limits.time_limit_ms != no_time_limit;
    const bool has_budget =
        limits.instruction_budget != 0 && limits.instruction_budget != no_instruction_budget;
    if (has_time || has_budget)
        return fail(Errc::limit_not_possible,
                    fmt::format("a GPU cannot end a kernel: the {} is of the emulator",
                                has_time ? "time limit" : "instruction budget"));
    if (limits.stop.stop_requested() || (limits.should_stop && limits.should_stop()))
        return fail(Errc::launch_stopped, "before it was queued");
    return {};
}

driver::LaunchConfiguration configuration(const CheckedLaunch& launch,
                                          std::span<driver::LaunchAttribute> attributes,
                                          std::uint64_t stream) {
    const Dim3 grid = launch.config.grid, block = launch.config.block;
    return {grid.x,
            grid.y,
            grid.z,
            block.x,
            block.y,
            block.z,
            launch.config.shared_bytes,
            stream_of(stream),
            attributes.data(),
            static_cast<unsigned>(attributes.size())};
}

}  // namespace

LaunchAttributes::LaunchAttributes(const CheckedLaunch& launch) {
    const LaunchConfig& config = launch.config;
    if (config.cooperative) add(LaunchAttributeId::cooperative).cooperative = 1;
    if (blocks(launch.cluster) > 1)
        std::copy_n(std::array{launch.cluster.x, launch.cluster.y, launch.cluster.z}.begin(), 3,
                    add(LaunchAttributeId::cluster_dimension).cluster);
    if (config.programmatic) add(LaunchAttributeId::programmatic_stream_serialization).programmatic = 1;
    if (config.priority) add(LaunchAttributeId::priority).priority = *config.priority;
}

driver::LaunchAttributeValue& LaunchAttributes::add(LaunchAttributeId id) {
    attributes_[count_].id = id;
    return attributes_[count_++].value;
}

// --- modules

Expected<void> CudaModule::load(std::span<const std::byte> image) {
    std::array<char, 8192> log{};
    std::array options{driver::JitOption::error_log_buffer, driver::JitOption::error_log_buffer_size_bytes};
    std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
    const Result result = context_->run([&](const Driver& driver) {
        return driver.cuModuleLoadDataEx(&handle_, image.data(), options.size(), options.data(),
                                         values.data());
    });
    if (result == Result::success) ++context_->state().modules;
    auto done = context_->check(result, "cuModuleLoadDataEx", Errc::module_not_loaded);
    if (done || log[0] == '\0') return done;
    done.error().detail =
        std::make_shared<const std::string>(fmt::format("{}\n{}", *done.error().detail, log.data()));
    return done;
}

Expected<void> CudaModule::borrow_of(driver::Function function) {
    borrowed_ = true;
    TRY(Driver::present(context_->driver().cuFuncGetModule, "cuFuncGetModule"));
    return context_->checked(
        "cuFuncGetModule", [&](const Driver& driver) { return driver.cuFuncGetModule(&handle_, function); });
}

Expected<Variable> CudaModule::variable(const std::string& name) const {
    driver::DevicePointer address = 0;
    std::size_t bytes = 0;
    const Result result = context_->run([&](const Driver& driver) {
        return driver.cuModuleGetGlobal_v2(&address, &bytes, handle_, name.c_str());
    });
    if (result == Result::not_found) return fail(Errc::symbol_unknown, name);
    TRY(context_->check(result, "cuModuleGetGlobal"));
    return Variable{address, bytes};
}

Expected<void> CudaModule::take_banks(std::span<const Bank> banks) {
    if (banks.empty()) return {};
    for (std::size_t i = 0; i < banks.size(); ++i) {
        const Variable bank = TRY(variable(banks[i].variable));
        banks_.push_back(bank);
        TRY(set_bank(i, banks[i].bytes, 0));
    }
    // Streams that do not wait for the default one are launched on too.
    return context_->checked("cuStreamSynchronize",
                             [](const Driver& driver) { return driver.cuStreamSynchronize(nullptr); });
}

// The driver has read the bytes when the call returns (CUDA Driver API, "API synchronization behavior":
// pageable memory is staged first).
Expected<void> CudaModule::set_bank(std::size_t number, std::span<const std::byte> bytes,
                                    std::uint64_t stream) const {
    const Variable& bank = banks_[number];
    if (bytes.size() > bank.bytes)
        return fail(Errc::buffer_exceeded, fmt::format("{} bytes in a bank of {}", bytes.size(), bank.bytes));
    return context_->checked("cuMemcpyHtoDAsync", [&](const Driver& driver) {
        return driver.cuMemcpyHtoDAsync_v2(bank.address, bytes.data(), bytes.size(), stream_of(stream));
    });
}

// --- entries

Expected<std::unique_ptr<LoadedEntry>> CudaEntry::find(std::shared_ptr<const CudaModule> module,
                                                       const std::string& entry) {
    auto loaded = std::unique_ptr<CudaEntry>(new CudaEntry(std::move(module)));
    TRY(loaded->find_function(entry));
    return loaded;
}

Expected<std::unique_ptr<LoadedEntry>> CudaEntry::borrow(std::shared_ptr<const CudaModule> module,
                                                         driver::Function function) {
    auto loaded = std::unique_ptr<CudaEntry>(new CudaEntry(std::move(module)));
    loaded->function_ = function;
    TRY(loaded->take_function("that is borrowed"));
    return loaded;
}

Expected<std::unique_ptr<LoadedEntry>> CudaEntry::other(const std::string& entry) const {
    const TimingLock::Load load(context_->state().lock);
    return find(module_, entry);
}

Expected<void> CudaEntry::find_function(const std::string& entry) {
    const Result result = context_->run([&](const Driver& driver) {
        return driver.cuModuleGetFunction(&function_, module_->handle(), entry.c_str());
    });
    TRY(context_->check(result, fmt::format("function {} of the module", entry)));
    return take_function(fmt::format("{} of the module", entry));
}

Expected<void> CudaEntry::take_function(const std::string& name) {
    int threads = 0, static_bytes = 0;
    const Result result = context_->run([&](const Driver& driver) {
        // Lazy loading (CUDA_MODULE_LOADING) would put the code on the GPU at the first launch.
        Result found = driver.cuFuncLoad != nullptr ? driver.cuFuncLoad(function_) : Result::success;
        if (found == Result::success)
            found = driver.cuFuncGetAttribute(&threads, FunctionAttribute::max_threads_per_block, function_);
        if (found == Result::success)
            found = driver.cuFuncGetAttribute(&static_bytes, FunctionAttribute::shared_size_bytes, function_);
        return found;
    });
    TRY(context_->check(result, fmt::format("function {}", name)));
    limits_ = {.threads_per_block = natural(threads),
               .static_shared_bytes = natural(static_bytes),
               .shared_bytes = module_->limits().shared_bytes,
               .blocks_per_cluster = module_->limits().blocks_per_cluster};
    granted_ = natural(48 * 1024 - static_bytes);
    return {};
}

Expected<FunctionAttributes> CudaEntry::attributes() const {
    FunctionAttributes result{
        .static_shared_bytes = limits_.static_shared_bytes,
        .most_dynamic_shared_bytes =
            limits_.shared_bytes - std::min(limits_.static_shared_bytes, limits_.shared_bytes),
        .threads_per_block = limits_.threads_per_block};
    const std::pair<FunctionAttribute, std::uint32_t*> rows[] = {
        {FunctionAttribute::registers, &result.registers},
        {FunctionAttribute::local_size_bytes, &result.local_bytes},
        {FunctionAttribute::const_size_bytes, &result.const_bytes},
        {FunctionAttribute::binary_version, &result.binary_version},
        {FunctionAttribute::ptx_version, &result.ptx_version}};
    TRY(context_->checked("cuFuncGetAttribute", [&](const Driver& driver) {
        for (const auto& [attribute, target] : rows) {
            int value = 0;
            if (const Result got = driver.cuFuncGetAttribute(&value, attribute, function_);
                got != Result::success)
                return got;
            *target = natural(value);
        }
        return Result::success;
    }));
    return result;
}

Expected<std::uint32_t> CudaEntry::blocks_per_multiprocessor(std::uint32_t block_threads,
                                                             std::uint32_t dynamic_shared_bytes) const {
    if (block_threads == 0 || block_threads > limits_.threads_per_block ||
        std::uint64_t{limits_.static_shared_bytes} + dynamic_shared_bytes > limits_.shared_bytes)
        return 0;
    TRY(opt_in(dynamic_shared_bytes));
    int count = 0;
    TRY(context_->checked("cuOccupancyMaxActiveBlocksPerMultiprocessor", [&](const Driver& driver) {
        return driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &count, function_, static_cast<int>(block_threads), dynamic_shared_bytes);
    }));
    return natural(count);
}

Expected<std::uint32_t> CudaEntry::active_clusters(const CheckedLaunch& launch) const {
    TRY(Driver::present(context_->driver().cuOccupancyMaxActiveClusters, "cuOccupancyMaxActiveClusters"));
    TRY(prepare(launch));
    LaunchAttributes attributes(launch);
    const auto whole = configuration(launch, attributes.all(), 0);
    int count = 0;
    TRY(context_->checked("cuOccupancyMaxActiveClusters", [&](const Driver& driver) {
        return driver.cuOccupancyMaxActiveClusters(&count, function_, &whole);
    }));
    return natural(count);
}

Expected<void> CudaEntry::prefer_shared_memory(std::int32_t percent) const {
    return set_attribute(FunctionAttribute::preferred_shared_memory_carveout, percent);
}

// --- launches

Expected<void> CudaEntry::launch(const CheckedLaunch& launch, std::uint64_t stream) const {
    if (auto done = check_limits(launch.config.limits); !done) [[unlikely]]
        return done;
    if (auto done = prepare(launch); !done) [[unlikely]]
        return done;
    if (says_more_than_its_shape(launch)) return launch_with(launch, LaunchAttributes(launch), stream);
    ArgumentAddresses arguments(launch.arguments);
    const LaunchConfig& config = launch.config;
    const Dim3 &grid = config.grid, &block = config.block;
    return context_->checked(
        "cuLaunchKernel",
        [&](const Driver& driver) {
            return driver.cuLaunchKernel(function_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                         config.shared_bytes, stream_of(stream), arguments.data(), nullptr);
        },
        Errc::launch_failed);
}

Expected<void> CudaEntry::launch_with(const CheckedLaunch& launch, LaunchAttributes attributes,
                                      std::uint64_t stream) const {
    TRY(Driver::present(context_->driver().cuLaunchKernelEx, "cuLaunchKernelEx"));
    ArgumentAddresses arguments(launch.arguments);
    const auto whole = configuration(launch, attributes.all(), stream);
    const auto call = [&](const Driver& driver) {
        return driver.cuLaunchKernelEx(&whole, function_, arguments.data(), nullptr);
    };
    return context_->checked("cuLaunchKernelEx", call, Errc::launch_failed);
}

Expected<EmulatorStats> CudaEntry::launch_counted(const CheckedLaunch& launch) const {
    TRY(this->launch(launch, 0));
    TRY(context_->checked("cuStreamSynchronize",
                          [](const Driver& driver) { return driver.cuStreamSynchronize(nullptr); }));
    return EmulatorStats{};
}

Expected<void> CudaEntry::prepare(const CheckedLaunch& launch) const {
    if (launch.config.shared_bytes > granted_.load(std::memory_order_relaxed)) [[unlikely]]
        TRY(opt_in(launch.config.shared_bytes));
    if (blocks(launch.cluster) <= portable_blocks || large_clusters_.load(std::memory_order_relaxed))
        [[likely]]
        return {};
    TRY(set_attribute(FunctionAttribute::non_portable_cluster_size_allowed, 1));
    large_clusters_ = true;
    return {};
}

// Without it, a launch may ask for 48 KB of static and dynamic shared memory together. It changes nothing for
// launches that ask for less, so the most is asked for at once.
Expected<void> CudaEntry::opt_in(std::uint32_t shared_bytes) const {
    if (shared_bytes <= granted_) return {};
    const std::uint32_t most = limits_.shared_bytes - limits_.static_shared_bytes;
    TRY(set_attribute(FunctionAttribute::max_dynamic_shared_size_bytes, static_cast<int>(most)));
    granted_ = most;
    return {};
}

Expected<void> CudaEntry::set_attribute(FunctionAttribute which, int value) const {
    return context_->checked("cuFuncSetAttribute", [&](const Driver& driver) {
        return driver.cuFuncSetAttribute(function_, which, value);
    });
}

}  // namespace ptxgraft::device
