// The device over the CUDA driver: its context, memory, streams, events and modules.

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "device/backend.hpp"
#include "device/context.hpp"
#include "device/cuda_entry.hpp"
#include "device/driver.hpp"

namespace ptxgraft::device {
namespace {

using driver::Driver;
using driver::Result;

template <class Handle> std::uint64_t number(Handle handle) {
    return reinterpret_cast<std::uint64_t>(handle);
}
driver::Event event_of(std::uint64_t handle) { return reinterpret_cast<driver::Event>(handle); }

class CudaBackend final : public Backend {
  public:
    static Expected<std::unique_ptr<Backend>> open(std::shared_ptr<const CudaContext> context);

    [[nodiscard]] DeviceKind kind() const override { return DeviceKind::cuda; }
    [[nodiscard]] std::string name() const override { return properties_.name; }
    [[nodiscard]] Architecture architecture() const override { return architecture_; }
    [[nodiscard]] std::string driver_version() const override { return properties_.driver_version; }
    [[nodiscard]] Expected<DeviceProperties> properties() const override { return properties_; }
    [[nodiscard]] DeviceHealth health() const override { return context_->state().health(); }
    [[nodiscard]] std::uint64_t context() const override { return number(context_->handle()); }

    [[nodiscard]] Expected<std::uint64_t> make_current() override {
        const Driver& driver = context_->driver();
        TRY(context_->check(driver.cuCtxPushCurrent_v2(context_->handle()), "cuCtxPushCurrent"));
        return number(std::exchange(guarded_context(), context_->handle()));
    }
    void end_current(std::uint64_t before) noexcept override {
        guarded_context() = reinterpret_cast<driver::Context>(before);
        driver::Context popped = nullptr;
        context_->driver().cuCtxPopCurrent_v2(&popped);
    }
    void begin_timing() override { context_->state().lock.begin_timing(); }
    void end_timing() noexcept override {
        if (context_->state().lock.end_timing()) context_->unload_what_waits();
    }
    [[nodiscard]] std::size_t loaded_modules() const override { return context_->state().modules; }

    [[nodiscard]] Expected<std::uint64_t> allocate(std::size_t bytes) override {
        driver::DevicePointer address = 0;
        auto done = context_->checked("cuMemAlloc",
                                      [&](const Driver& d) { return d.cuMemAlloc_v2(&address, bytes); });
        if (done) return address;
        Error error = std::move(done.error());
        error.detail =
            std::make_shared<const std::string>(fmt::format("{}, asked for {} bytes", *error.detail, bytes));
        return tl::unexpected(std::move(error));
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
    [[nodiscard]] Expected<void> set_persisting_l2(std::size_t bytes) override {
        return context_->checked("cuCtxSetLimit", [&](const Driver& d) {
            return d.cuCtxSetLimit(driver::Limit::persisting_l2_cache_size, bytes);
        });
    }
    [[nodiscard]] Expected<std::size_t> persisting_l2() const override {
        std::size_t bytes = 0;
        TRY(context_->checked("cuCtxGetLimit", [&](const Driver& d) {
            return d.cuCtxGetLimit(&bytes, driver::Limit::persisting_l2_cache_size);
        }));
        return bytes;
    }
    [[nodiscard]] Expected<void> reset_persisting_l2() override {
        TRY(Driver::present(context_->driver().cuCtxResetPersistingL2Cache, "cuCtxResetPersistingL2Cache"));
        return context_->checked("cuCtxResetPersistingL2Cache",
                                 [](const Driver& d) { return d.cuCtxResetPersistingL2Cache(); });
    }

    [[nodiscard]] Expected<std::uint64_t> create_stream(const StreamOptions& options) override {
        driver::Stream stream = nullptr;
        TRY(context_->checked("cuStreamCreateWithPriority", [&](const Driver& d) {
            return d.cuStreamCreateWithPriority(
                &stream, options.non_blocking ? driver::stream_non_blocking : driver::default_flags,
                options.priority);
        }));
        return number(stream);
    }
    [[nodiscard]] Expected<void> check_stream(std::uint64_t stream) const override;
    [[nodiscard]] Expected<StreamPriorities> stream_priorities() const override {
        StreamPriorities result;
        TRY(context_->checked("cuCtxGetStreamPriorityRange", [&](const Driver& d) {
            return d.cuCtxGetStreamPriorityRange(&result.least, &result.greatest);
        }));
        return result;
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
        if (!done) return tl::unexpected(std::move(done.error()));
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

    [[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> begin_capture(std::uint64_t stream) override {
        return capture_cuda_graph(context_, stream);
    }
    [[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> create_graph() override {
        return create_cuda_graph(context_);
    }
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(KnownModule module, const std::string& entry,
                                                              const Cubin* cubin) override {
        if (cubin != nullptr) return load(cubin->image, entry, module.banks);
        auto assembled =
            TRY(default_assembler().assemble(module.source->text, {.target = ptxgraft::name(architecture_)}));
        return load(assembled.image, entry, module.banks);
    }
    [[nodiscard]] Expected<BorrowedEntry> borrow(FunctionHandle kind, std::uint64_t handle) override {
        const TimingLock::Load load(context_->state().lock);
        return borrow_cuda_entry(context_, block_limits(), kind, handle);
    }
    [[nodiscard]] Expected<std::shared_ptr<const Assembler>> jit() override {
        return cuda_jit(context_, architecture_);
    }

  private:
    explicit CudaBackend(std::shared_ptr<const CudaContext> context, DeviceProperties properties)
        : context_(std::move(context)),
          properties_(std::move(properties)),
          architecture_(whole_architecture(properties_.compute_major * 10 + properties_.compute_minor)) {}
    // What waited for a timing of another thread goes first.
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> load(std::span<const std::byte> image,
                                                              const std::string& entry,
                                                              std::span<const Bank> banks) const {
        context_->unload_what_waits();
        const TimingLock::Load load(context_->state().lock);
        const auto module = std::make_shared<CudaModule>(context_, block_limits());
        TRY(module->load(image));
        TRY(module->take_banks(banks));
        return CudaEntry::find(module, entry);
    }

    [[nodiscard]] BlockLimits block_limits() const {
        return {properties_.shared_bytes_per_block_optin,
                architecture_limits(architecture_.sm).blocks_per_cluster};
    }

    std::shared_ptr<const CudaContext> context_;
    DeviceProperties properties_;
    Architecture architecture_;
};

Expected<void> CudaBackend::check_stream(std::uint64_t stream) const {
    const Driver& driver = context_->driver();
    if (stream == 0) return {};
    TRY(Driver::present(driver.cuStreamGetCtx, "cuStreamGetCtx"));
    driver::Context context = nullptr;
    TRY(context_->checked("cuStreamGetCtx",
                          [&](const Driver& d) { return d.cuStreamGetCtx(stream_of(stream), &context); }));
    if (context == context_->handle()) return {};
    return fail(Errc::device_differs, std::string("the stream is of another context"));
}

Expected<TensorMap> CudaBackend::encode_tensor_map(const TensorMapOptions& o) {
    const Driver& driver = context_->driver();
    TRY(Driver::present(driver.cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled"));
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

Expected<std::unique_ptr<Backend>> CudaBackend::open(std::shared_ptr<const CudaContext> context) {
    auto properties = TRY(cuda_properties(context->driver(), context->device()));
    return std::unique_ptr<Backend>(new CudaBackend(std::move(context), std::move(properties)));
}

}  // namespace

Expected<std::uint32_t> count_cuda(const std::string& driver_library) {
    const auto driver = TRY(Driver::open(driver_library));
    const auto count = TRY(driver->device_count());
    return static_cast<std::uint32_t>(std::max(count, 0));
}

Expected<std::vector<DeviceProperties>> list_cuda(const std::string& driver_library) {
    const auto driver = TRY(Driver::open(driver_library));
    const int count = TRY(driver->device_count());
    std::vector<DeviceProperties> all;
    for (int ordinal = 0; ordinal < count; ++ordinal) {
        driver::Device device = 0;
        TRY(driver->check(driver->cuDeviceGet(&device, ordinal), "cuDeviceGet"));
        auto one = TRY(cuda_properties(*driver, device));
        all.push_back(std::move(one));
    }
    return all;
}

Expected<std::unique_ptr<Backend>> open_cuda(std::uint32_t ordinal, const std::string& driver_library) {
    const auto count = TRY(count_cuda(driver_library));
    if (ordinal >= count)
        return fail(Errc::device_unknown, fmt::format("cuda:{} (this machine has {} GPU{})", ordinal, count,
                                                      count == 1 ? "" : "s"));
    auto driver = TRY(Driver::open(driver_library));
    auto context = TRY(CudaContext::retain(std::move(driver), ordinal));
    return CudaBackend::open(std::move(context));
}

Expected<std::unique_ptr<Backend>> borrow_cuda(std::uint64_t context, const std::string& driver_library) {
    auto driver = TRY(Driver::open(driver_library));
    auto borrowed = TRY(CudaContext::borrow(std::move(driver), reinterpret_cast<driver::Context>(context)));
    return CudaBackend::open(std::move(borrowed));
}

}  // namespace ptxgraft::device
