// Contexts: the primary one of a GPU and borrowed ones, what their users share, and errors that end them.

#include "device/context.hpp"

#include <fmt/format.h>

#include <map>

namespace ptxgraft::device {

using driver::Driver;
using driver::Result;

std::shared_ptr<ContextState> ContextState::of(driver::Context context) {
    static std::mutex mutex;
    static std::map<driver::Context, std::weak_ptr<ContextState>> all;
    const std::lock_guard lock(mutex);
    std::erase_if(all, [](const auto& one) { return one.second.expired(); });
    std::weak_ptr<ContextState>& known = all[context];
    auto state = known.lock();
    if (!state) known = state = std::make_shared<ContextState>();
    return state;
}

void ContextState::lose(const Error& error) {
    const std::lock_guard lock(mutex_);
    if (!health_.lost) health_.lost = error;
    lost_.store(true, std::memory_order_release);
}

DeviceHealth ContextState::health() const {
    if (!lost_.load(std::memory_order_acquire)) return {};
    const std::lock_guard lock(mutex_);
    return health_;
}

void ContextState::add_unload(driver::Module module) {
    const std::lock_guard lock(mutex_);
    unloads_.push_back(module);
}

std::vector<driver::Module> ContextState::take_unloads() {
    const std::lock_guard lock(mutex_);
    return std::exchange(unloads_, {});
}

driver::Context& guarded_context() {
    static thread_local driver::Context current = nullptr;
    return current;
}

Expected<std::shared_ptr<const CudaContext>> CudaContext::retain(std::shared_ptr<const Driver> driver,
                                                                 std::uint32_t ordinal) {
    driver::Device device = 0;
    driver::Context context = nullptr;
    TRY(driver->check(driver->cuDeviceGet(&device, static_cast<int>(ordinal)), "cuDeviceGet"));
    TRY(driver->check(driver->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain"));
    return std::shared_ptr<const CudaContext>(new CudaContext(std::move(driver), device, context, false));
}

Expected<std::shared_ptr<const CudaContext>> CudaContext::borrow(std::shared_ptr<const Driver> driver,
                                                                 driver::Context context) {
    auto borrowed = std::shared_ptr<CudaContext>(new CudaContext(std::move(driver), 0, context, true));
    TRY(borrowed->checked("cuCtxGetDevice",
                          [&](const Driver& d) { return d.cuCtxGetDevice(&borrowed->device_); }));
    return borrowed;
}

CudaContext::~CudaContext() {
    unload_what_waits();
    if (!borrowed_) driver_->cuDevicePrimaryCtxRelease_v2(device_);
}

Error CudaContext::error(Result result, std::string_view name, Errc otherwise) const {
    Error error = driver_->check(result, name, otherwise).error();
    if (!driver::loses_context(result)) return error;
    error.context_lost = true;
    error.detail = std::make_shared<const std::string>(
        fmt::format("{}; the GPU's context is lost, and another process has to go on", *error.detail));
    state_->lose(error);
    return error;
}

void CudaContext::unload(driver::Module module) const {
    const auto now = [&] {
        run([&](const Driver& driver) { return driver.cuModuleUnload(module); });
        --state_->modules;
    };
    if (!state_->lock.try_load(now)) state_->add_unload(module);
}

void CudaContext::unload_what_waits() const {
    for (driver::Module module : state_->take_unloads()) unload(module);
}

}  // namespace ptxgraft::device
