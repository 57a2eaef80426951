// The device over the CUDA driver: context, memory, streams, events, modules and launches.

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/driver.hpp"

namespace ptxgraft::device {
namespace {

using driver::Driver;
using driver::Result;

/// A GPU's primary context, retained.
class PrimaryContext {
  public:
    PrimaryContext(std::shared_ptr<const Driver> driver, driver::Device device, driver::Context context)
        : driver_(std::move(driver)), device_(device), context_(context) {}
    ~PrimaryContext() { driver_->cuDevicePrimaryCtxRelease_v2(device_); }
    PrimaryContext(const PrimaryContext&) = delete;
    PrimaryContext& operator=(const PrimaryContext&) = delete;

    [[nodiscard]] const Driver& driver() const { return *driver_; }
    [[nodiscard]] driver::Device device() const { return device_; }

    /// Makes one driver call with this context current, and puts back what was current before: the CUDA
    /// runtime takes its device from there.
    template <class Call> Result run(Call&& call) const {
        if (const Result pushed = driver_->cuCtxPushCurrent_v2(context_); pushed != Result::success)
            return pushed;
        const Result result = call(*driver_);
        driver::Context popped = nullptr;
        driver_->cuCtxPopCurrent_v2(&popped);
        return result;
    }
    template <class Call>
    Expected<void> checked(std::string_view name, Call&& call, Errc otherwise = Errc::driver_failed) const {
        return driver_->check(run(std::forward<Call>(call)), name, otherwise);
    }

  private:
    std::shared_ptr<const Driver> driver_;
    driver::Device device_;
    driver::Context context_;
};

template <class Handle> std::uint64_t number(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}
driver::Stream stream_of(std::uint64_t handle) { return reinterpret_cast<driver::Stream>(handle); }
driver::Event event_of(std::uint64_t handle) { return reinterpret_cast<driver::Event>(handle); }

Expected<int> attribute(const Driver& driver, driver::Device device, driver::DeviceAttribute which) {
    int value = 0;
    if (auto done = driver.check(driver.cuDeviceGetAttribute(&value, which, device), "cuDeviceGetAttribute");
        !done)
        return tl::unexpected(done.error());
    return value;
}

// A function of later drivers.
template <class Call> Expected<void> present(Call* call, const char* name) {
    if (call != nullptr) return {};
    return fail(Errc::driver_too_old,
                fmt::format("it has no function {}; those from CUDA 12.0 on have it", name));
}

/// A module in a GPU's context, which its entries share. What the GPU lets a block have is noted with it.
class CudaModule {
  public:
    CudaModule(std::shared_ptr<const PrimaryContext> context, int shared_bytes_per_block,
               std::uint32_t blocks_per_cluster)
        : context_(std::move(context)),
          shared_bytes_per_block_(shared_bytes_per_block),
          blocks_per_cluster_(blocks_per_cluster) {}
    ~CudaModule() {
        if (handle_ != nullptr)
            context_->run([&](const Driver& driver) { return driver.cuModuleUnload(handle_); });
    }
    CudaModule(const CudaModule&) = delete;
    CudaModule& operator=(const CudaModule&) = delete;

    Expected<void> load(std::span<const std::byte> image) {
        std::array<char, 8192> log{};
        std::array options{driver::JitOption::error_log_buffer,
                           driver::JitOption::error_log_buffer_size_bytes};
        std::array<void*, 2> values{log.data(), reinterpret_cast<void*>(log.size())};
        const Result result = context_->run([&](const Driver& driver) {
            return driver.cuModuleLoadDataEx(&handle_, image.data(), options.size(), options.data(),
                                             values.data());
        });
        auto done = context_->driver().check(result, "cuModuleLoadDataEx", Errc::module_not_loaded);
        if (done || log[0] == '\0') return done;
        return fail(done.error().code, fmt::format("{}\n{}", *done.error().detail, log.data()));
    }
    [[nodiscard]] const std::shared_ptr<const PrimaryContext>& context() const { return context_; }
    [[nodiscard]] driver::Module handle() const { return handle_; }
    [[nodiscard]] int shared_bytes_per_block() const { return shared_bytes_per_block_; }
    [[nodiscard]] std::uint32_t blocks_per_cluster() const { return blocks_per_cluster_; }

    [[nodiscard]] Expected<Variable> variable(const std::string& name) const {
        driver::DevicePointer address = 0;
        std::size_t bytes = 0;
        const Result result = context_->run([&](const Driver& driver) {
            return driver.cuModuleGetGlobal_v2(&address, &bytes, handle_, name.c_str());
        });
        if (result == Result::not_found) return fail(Errc::symbol_unknown, name);
        TRY(context_->driver().check(result, "cuModuleGetGlobal"));
        return Variable{address, bytes};
    }

  private:
    std::shared_ptr<const PrimaryContext> context_;
    driver::Module handle_ = nullptr;
    int shared_bytes_per_block_;
    std::uint32_t blocks_per_cluster_;
};

class CudaEntry final : public LoadedEntry {
  public:
    static Expected<std::unique_ptr<LoadedEntry>> find(std::shared_ptr<const CudaModule> module,
                                                       const std::string& entry) {
        auto loaded = std::unique_ptr<CudaEntry>(new CudaEntry(std::move(module)));
        TRY(loaded->find_function(entry));
        return loaded;
    }

    [[nodiscard]] launch::EntryLimits limits() const override { return limits_; }
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const override {
        return find(module_, entry);
    }
    [[nodiscard]] Expected<Variable> variable(const std::string& name) const override {
        return module_->variable(name);
    }

    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        std::uint64_t stream) const override {
        if (auto done = check_limits(config.limits); !done) return done;
        if (auto done = opt_in(config.shared_bytes); !done) return done;
        // The driver only reads through the pointers, and copies what they point to before the call returns
        // (CUDA Driver API, cuLaunchKernel).
        std::array<void*, 64> few;
        std::vector<void*> many(arguments.size() > few.size() ? arguments.size() : 0);
        void** parameters = many.empty() ? few.data() : many.data();
        std::transform(arguments.begin(), arguments.end(), parameters,
                       [](const Argument& a) { return const_cast<std::byte*>(a.bytes().data()); });
        const Dim3 grid = config.grid, block = config.block;
        if (config.cooperative || blocks(config.cluster) > 1) return launch_with(config, parameters, stream);
        return context_->checked(
            "cuLaunchKernel",
            [&](const Driver& driver) {
                return driver.cuLaunchKernel(function_, grid.x, grid.y, grid.z, block.x, block.y, block.z,
                                             config.shared_bytes, stream_of(stream), parameters, nullptr);
            },
            Errc::launch_failed);
    }

  private:
    explicit CudaEntry(std::shared_ptr<const CudaModule> module)
        : module_(std::move(module)), context_(module_->context()) {}

    // Nothing ends a kernel that a GPU has begun.
    static Expected<void> check_limits(const LaunchLimits& limits) {
        if (limits.instruction_budget != 0 || limits.time_limit_ms != 0)
            return fail(Errc::limit_not_possible,
                        fmt::format("a GPU cannot end a kernel: the {} is of the emulator",
                                    limits.time_limit_ms != 0 ? "time limit" : "instruction budget"));
        if (limits.stop.stop_requested() || (limits.should_stop && limits.should_stop()))
            return fail(Errc::launch_stopped, "before it was queued");
        return {};
    }

    static std::uint32_t blocks(const Dim3& cluster) { return cluster.x * cluster.y * cluster.z; }

    // A launch that says more than its shape.
    Expected<void> launch_with(const LaunchConfig& config, void** parameters, std::uint64_t stream) const {
        if (auto done = present(context_->driver().cuLaunchKernelEx, "cuLaunchKernelEx"); !done) return done;
        const Dim3 grid = config.grid, block = config.block, cluster = config.cluster;
        constexpr std::uint32_t portable_blocks = 8;  // CUDA C++ Programming Guide, thread block clusters
        if (blocks(cluster) > portable_blocks)
            if (auto done = set_attribute(driver::FunctionAttribute::non_portable_cluster_size_allowed, 1);
                !done)
                return done;
        std::array<driver::LaunchAttribute, 2> attributes{};
        unsigned count = 0;
        if (config.cooperative) {
            attributes[count].id = driver::LaunchAttributeId::cooperative;
            attributes[count++].cooperative = 1;
        }
        if (blocks(cluster) > 1) {
            attributes[count].id = driver::LaunchAttributeId::cluster_dimension;
            std::copy_n(std::array{cluster.x, cluster.y, cluster.z}.begin(), 3, attributes[count++].cluster);
        }
        const driver::LaunchConfiguration whole{grid.x,
                                                grid.y,
                                                grid.z,
                                                block.x,
                                                block.y,
                                                block.z,
                                                config.shared_bytes,
                                                stream_of(stream),
                                                attributes.data(),
                                                count};
        const auto launch = [&](const Driver& driver) {
            return driver.cuLaunchKernelEx(&whole, function_, parameters, nullptr);
        };
        return context_->checked("cuLaunchKernelEx", launch, Errc::launch_failed);
    }

    Expected<void> set_attribute(driver::FunctionAttribute which, int value) const {
        return context_->checked("cuFuncSetAttribute", [&](const Driver& driver) {
            return driver.cuFuncSetAttribute(function_, which, value);
        });
    }

    Expected<void> find_function(const std::string& entry) {
        int threads = 0, static_bytes = 0;
        const Result result = context_->run([&](const Driver& driver) {
            Result found = driver.cuModuleGetFunction(&function_, module_->handle(), entry.c_str());
            if (found == Result::success)
                found = driver.cuFuncGetAttribute(&threads, driver::FunctionAttribute::max_threads_per_block,
                                                  function_);
            if (found == Result::success)
                found = driver.cuFuncGetAttribute(&static_bytes, driver::FunctionAttribute::shared_size_bytes,
                                                  function_);
            return found;
        });
        if (auto done = context_->driver().check(result, fmt::format("function {} of the module", entry));
            !done)
            return done;
        limits_ = {.threads_per_block = static_cast<std::uint32_t>(std::max(threads, 0)),
                   .static_shared_bytes = static_cast<std::uint32_t>(std::max(static_bytes, 0)),
                   .shared_bytes = static_cast<std::uint32_t>(std::max(module_->shared_bytes_per_block(), 0)),
                   .blocks_per_cluster = module_->blocks_per_cluster()};
        granted_ = static_cast<std::uint32_t>(std::max(48 * 1024 - static_bytes, 0));
        return {};
    }

    // Without it, a launch may ask for 48 KB of static and dynamic shared memory together.
    Expected<void> opt_in(std::uint32_t shared_bytes) const {
        if (shared_bytes <= granted_) return {};
        const std::uint32_t most = limits_.shared_bytes - limits_.static_shared_bytes;
        auto done =
            set_attribute(driver::FunctionAttribute::max_dynamic_shared_size_bytes, static_cast<int>(most));
        if (done) granted_ = most;
        return done;
    }

    std::shared_ptr<const CudaModule> module_;
    std::shared_ptr<const PrimaryContext> context_;
    driver::Function function_ = nullptr;
    launch::EntryLimits limits_;
    mutable std::atomic<std::uint32_t> granted_ = 0;
};

class CudaBackend final : public Backend {
  public:
    static Expected<std::unique_ptr<Backend>> open(std::shared_ptr<const Driver> driver,
                                                   std::uint32_t ordinal);

    [[nodiscard]] DeviceKind kind() const override { return DeviceKind::cuda; }
    [[nodiscard]] std::string name() const override { return name_; }
    [[nodiscard]] Architecture architecture() const override { return architecture_; }
    [[nodiscard]] std::string driver_version() const override {
        int version = 0;
        context_->driver().cuDriverGetVersion(&version);
        return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
    }

    [[nodiscard]] Expected<std::uint64_t> allocate(std::size_t bytes) override {
        driver::DevicePointer address = 0;
        auto done = context_->checked("cuMemAlloc",
                                      [&](const Driver& d) { return d.cuMemAlloc_v2(&address, bytes); });
        if (!done)
            return fail(done.error().code,
                        fmt::format("{}, asked for {} bytes", *done.error().detail, bytes));
        return address;
    }
    void free(std::uint64_t address) noexcept override {
        context_->run([&](const Driver& d) { return d.cuMemFree_v2(address); });
    }
    [[nodiscard]] Expected<void> write(std::uint64_t target, std::span<const std::byte> source) override {
        return context_->checked("cuMemcpyHtoD", [&](const Driver& d) {
            return d.cuMemcpyHtoD_v2(target, source.data(), source.size());
        });
    }
    [[nodiscard]] Expected<void> read(std::uint64_t source, std::span<std::byte> target) override {
        return context_->checked("cuMemcpyDtoH", [&](const Driver& d) {
            return d.cuMemcpyDtoH_v2(target.data(), source, target.size());
        });
    }
    [[nodiscard]] Expected<void> copy(std::uint64_t target, std::uint64_t source,
                                      std::size_t bytes) override {
        return context_->checked("cuMemcpyDtoD",
                                 [&](const Driver& d) { return d.cuMemcpyDtoD_v2(target, source, bytes); });
    }
    [[nodiscard]] Expected<void> fill(std::uint64_t target, std::byte value, std::size_t bytes) override {
        return context_->checked("cuMemsetD8", [&](const Driver& d) {
            return d.cuMemsetD8_v2(target, static_cast<unsigned char>(value), bytes);
        });
    }

    [[nodiscard]] Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) override;

    [[nodiscard]] Expected<void> synchronize() override {
        return context_->checked("cuCtxSynchronize", [](const Driver& d) { return d.cuCtxSynchronize(); });
    }
    [[nodiscard]] Expected<std::uint64_t> create_stream() override {
        driver::Stream stream = nullptr;
        auto done = context_->checked("cuStreamCreate", [&](const Driver& d) {
            return d.cuStreamCreate(&stream, driver::default_flags);
        });
        if (!done) return tl::unexpected(done.error());
        return number(stream);
    }
    void destroy_stream(std::uint64_t stream) noexcept override {
        context_->run([&](const Driver& d) { return d.cuStreamDestroy_v2(stream_of(stream)); });
    }
    [[nodiscard]] Expected<void> synchronize_stream(std::uint64_t stream) override {
        return context_->checked("cuStreamSynchronize",
                                 [&](const Driver& d) { return d.cuStreamSynchronize(stream_of(stream)); });
    }

    [[nodiscard]] Expected<std::uint64_t> create_event() override {
        driver::Event event = nullptr;
        auto done = context_->checked(
            "cuEventCreate", [&](const Driver& d) { return d.cuEventCreate(&event, driver::default_flags); });
        if (!done) return tl::unexpected(done.error());
        return number(event);
    }
    void destroy_event(std::uint64_t event) noexcept override {
        context_->run([&](const Driver& d) { return d.cuEventDestroy_v2(event_of(event)); });
    }
    [[nodiscard]] Expected<void> record_event(std::uint64_t event, std::uint64_t stream) override {
        return context_->checked("cuEventRecord", [&](const Driver& d) {
            return d.cuEventRecord(event_of(event), stream_of(stream));
        });
    }
    [[nodiscard]] Expected<float> elapsed(std::uint64_t start, std::uint64_t end) override {
        float milliseconds = 0;
        auto done = context_->checked("cuEventElapsedTime", [&](const Driver& d) {
            Result result = d.cuEventSynchronize(event_of(end));
            if (result == Result::success) result = d.cuEventSynchronize(event_of(start));
            if (result == Result::success)
                result = d.cuEventElapsedTime(&milliseconds, event_of(start), event_of(end));
            return result;
        });
        if (!done) return tl::unexpected(done.error());
        return milliseconds;
    }

    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(KnownModule module, const std::string& entry,
                                                              const Cubin* cubin) override {
        if (cubin != nullptr) return load(cubin->image, entry);
        auto assembled =
            TRY(default_assembler().assemble(module.source->text, {.target = ptxgraft::name(architecture_)}));
        return load(assembled.image, entry);
    }

  private:
    explicit CudaBackend(std::shared_ptr<const PrimaryContext> context) : context_(std::move(context)) {}
    Expected<void> describe();
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(std::span<const std::byte> image,
                                                              const std::string& entry) const {
        const auto module = std::make_shared<CudaModule>(
            context_, shared_bytes_, architecture_limits(architecture_.sm).blocks_per_cluster);
        TRY(module->load(image));
        return CudaEntry::find(module, entry);
    }

    std::shared_ptr<const PrimaryContext> context_;
    std::string name_;
    Architecture architecture_;
    int shared_bytes_ = 0;  // static and dynamic, of a block that opted in
};

Expected<TensorMap> CudaBackend::encode_tensor_map(const TensorMapOptions& o) {
    const Driver& driver = context_->driver();
    TRY(present(driver.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled"));
    const auto rank = static_cast<unsigned>(o.dims.size());
    std::vector<std::uint32_t> steps = o.element_strides;
    steps.resize(rank, 1);
    auto* const address = reinterpret_cast<void*>(o.address);
    const int type = static_cast<int>(o.type), interleave = static_cast<int>(o.interleave),
              swizzle = static_cast<int>(o.swizzle), l2 = static_cast<int>(o.l2),
              fill = static_cast<int>(o.fill);
    TensorMap map;
    const auto encode = [&](const Driver& d) {
        if (!o.im2col)
            return d.cuTensorMapEncodeTiled(&map, type, rank, address, o.dims.data(), o.strides.data(),
                                            o.box.data(), steps.data(), interleave, swizzle, l2, fill);
        return d.cuTensorMapEncodeIm2col(&map, type, rank, address, o.dims.data(), o.strides.data(),
                                         o.im2col->lower_corner.data(), o.im2col->upper_corner.data(),
                                         o.im2col->channels_per_pixel, o.im2col->pixels_per_column,
                                         steps.data(), interleave, swizzle, l2, fill);
    };
    TRY(context_->checked("cuTensorMapEncode", encode, Errc::tensor_map_invalid));
    return map;
}

Expected<std::unique_ptr<Backend>> CudaBackend::open(std::shared_ptr<const Driver> driver,
                                                     std::uint32_t ordinal) {
    driver::Device device = 0;
    driver::Context context = nullptr;
    if (auto done = driver->check(driver->cuDeviceGet(&device, static_cast<int>(ordinal)), "cuDeviceGet");
        !done)
        return tl::unexpected(done.error());
    const Result retained = driver->cuDevicePrimaryCtxRetain(&context, device);
    TRY(driver->check(retained, "cuDevicePrimaryCtxRetain"));
    auto backend = std::unique_ptr<CudaBackend>(
        new CudaBackend(std::make_shared<const PrimaryContext>(std::move(driver), device, context)));
    TRY(backend->describe());
    return backend;
}

Expected<void> CudaBackend::describe() {
    const Driver& driver = context_->driver();
    const driver::Device device = context_->device();
    std::array<char, 256> name{};
    if (auto done = driver.check(driver.cuDeviceGetName(name.data(), int{name.size() - 1}, device),
                                 "cuDeviceGetName");
        !done)
        return done;
    const auto major = attribute(driver, device, driver::DeviceAttribute::compute_capability_major);
    const auto minor = attribute(driver, device, driver::DeviceAttribute::compute_capability_minor);
    const auto shared = attribute(driver, device, driver::DeviceAttribute::max_shared_memory_per_block_optin);
    for (const auto* value : {&major, &minor, &shared})
        if (!*value) return tl::unexpected(value->error());
    name_ = name.data();
    architecture_ = whole_architecture(static_cast<std::uint32_t>(*major * 10 + *minor));
    shared_bytes_ = *shared;
    return {};
}

}  // namespace

Expected<std::uint32_t> count_cuda(const std::string& driver_library) {
    const auto driver = TRY(Driver::open(driver_library));
    const auto count = TRY(driver->device_count());
    return static_cast<std::uint32_t>(std::max(count, 0));
}

Expected<std::unique_ptr<Backend>> open_cuda(std::uint32_t ordinal, const std::string& driver_library) {
    const auto count = TRY(count_cuda(driver_library));
    if (ordinal >= count)
        return fail(Errc::device_unknown, fmt::format("cuda:{} (this machine has {} GPU{})", ordinal, count,
                                                      count == 1 ? "" : "s"));
    auto driver = TRY(Driver::open(driver_library));
    return CudaBackend::open(driver, ordinal);
}

}  // namespace ptxgraft::device
