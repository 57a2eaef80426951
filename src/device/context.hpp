#pragma once
/// @file context.hpp
/// A GPU's context: calls in it, the errors of those calls, and what all devices of this process that work in
/// one context share.

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <utility>
#include <vector>

#include "base/try.hpp"
#include "device/driver.hpp"
#include "device/timing_lock.hpp"
#include "ptxgraft/device_properties.hpp"

namespace ptxgraft::device {

/// Of one context, whichever device and however many: its health, its lock, its modules.
class ContextState {
  public:
    /// That of a context, while anybody has it.
    [[nodiscard]] static std::shared_ptr<ContextState> of(driver::Context context);

    /// Keeps the first error that the context was lost with.
    void lose(const Error& error);
    [[nodiscard]] DeviceHealth health() const;

    TimingLock lock;
    std::atomic<std::size_t> modules = 0;

    void add_unload(driver::Module module);
    [[nodiscard]] std::vector<driver::Module> take_unloads();

  private:
    std::atomic<bool> lost_ = false;
    mutable std::mutex mutex_;
    DeviceHealth health_;
    std::vector<driver::Module> unloads_;  // that wait for the end of a timing
};

/// The context that a guard of this thread (CurrentDevice) has made current; null: there is none.
[[nodiscard]] driver::Context& guarded_context();

/// A context of a GPU: its primary one, retained as long as this lives, or one of somebody else.
class CudaContext {
  public:
    [[nodiscard]] static Expected<std::shared_ptr<const CudaContext>> retain(
        std::shared_ptr<const driver::Driver> driver, std::uint32_t ordinal);
    [[nodiscard]] static Expected<std::shared_ptr<const CudaContext>> borrow(
        std::shared_ptr<const driver::Driver> driver, driver::Context context);
    ~CudaContext();
    CudaContext(const CudaContext&) = delete;
    CudaContext& operator=(const CudaContext&) = delete;

    [[nodiscard]] const driver::Driver& driver() const { return *driver_; }
    [[nodiscard]] driver::Device device() const { return device_; }
    [[nodiscard]] driver::Context handle() const { return context_; }
    [[nodiscard]] ContextState& state() const { return *state_; }

    /// Makes calls of the driver with this context current, and puts back what was current before: the CUDA
    /// runtime takes its device from there. Within a guard it is current, and nothing else is called.
    template <class Call> driver::Result run(Call&& call) const {
        if (is_current()) return call(*driver_);
        if (const driver::Result pushed = driver_->cuCtxPushCurrent_v2(context_);
            pushed != driver::Result::success)
            return pushed;
        const driver::Result result = call(*driver_);
        driver::Context popped = nullptr;
        driver_->cuCtxPopCurrent_v2(&popped);
        return result;
    }
    /// The error of a call in this context, which may be its last.
    [[nodiscard]] Expected<void> check(driver::Result result, std::string_view name,
                                       Errc otherwise = Errc::driver_failed) const {
        if (result == driver::Result::success) [[likely]]
            return {};
        return tl::unexpected(error(result, name, otherwise));
    }
    template <class Call>
    Expected<void> checked(std::string_view name, Call&& call, Errc otherwise = Errc::driver_failed) const {
        return check(run(std::forward<Call>(call)), name, otherwise);
    }

    /// Now, or when the timing that is under way has ended.
    void unload(driver::Module module) const;
    /// What waited for that.
    void unload_what_waits() const;

  private:
    CudaContext(std::shared_ptr<const driver::Driver> driver, driver::Device device, driver::Context context,
                bool borrowed)
        : driver_(std::move(driver)),
          device_(device),
          context_(context),
          borrowed_(borrowed),
          state_(ContextState::of(context)) {}
    [[nodiscard]] bool is_current() const {
        if (guarded_context() == context_) return true;
        driver::Context current = nullptr;
        return driver_->cuCtxGetCurrent(&current) == driver::Result::success && current == context_;
    }
    [[nodiscard]] Error error(driver::Result result, std::string_view name, Errc otherwise) const;

    std::shared_ptr<const driver::Driver> driver_;
    driver::Device device_;
    driver::Context context_;
    bool borrowed_;
    std::shared_ptr<ContextState> state_;
};

}  // namespace ptxgraft::device
