#pragma once
/// @file cuda_entry.hpp
/// Modules and their entries in a GPU's context.

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "device/backend.hpp"
#include "device/context.hpp"

namespace ptxgraft::device {

inline driver::Stream stream_of(std::uint64_t handle) { return reinterpret_cast<driver::Stream>(handle); }

/// The addresses of a launch's arguments, as the driver takes them. It only reads through them, and copies
/// what they point to before the call returns (CUDA Driver API, cuLaunchKernel, cuGraphAddKernelNode).
class ArgumentAddresses {
  public:
    explicit ArgumentAddresses(std::span<const Argument> arguments)
        : many_(arguments.size() > few_.size() ? arguments.size() : 0) {
        void** to = data();
        for (const Argument& argument : arguments) *to++ = const_cast<std::byte*>(argument.bytes().data());
    }
    [[nodiscard]] void** data() { return many_.empty() ? few_.data() : many_.data(); }

  private:
    std::array<void*, 64> few_;
    std::vector<void*> many_;
};

/// What a launch says beside its shape.
class LaunchAttributes {
  public:
    explicit LaunchAttributes(const CheckedLaunch& launch);
    [[nodiscard]] std::span<driver::LaunchAttribute> all() { return {attributes_.data(), count_}; }

  private:
    driver::LaunchAttributeValue& add(driver::LaunchAttributeId id);
    std::array<driver::LaunchAttribute, 4> attributes_{};
    std::size_t count_ = 0;
};

/// What the GPU of a module lets a block and a cluster have.
struct BlockLimits {
    std::uint32_t shared_bytes = 0;  ///< static and dynamic, of a block that opted in
    std::uint32_t blocks_per_cluster = 1;
};

/// A module in a GPU's context, which its entries share.
class CudaModule {
  public:
    CudaModule(std::shared_ptr<const CudaContext> context, BlockLimits limits)
        : context_(std::move(context)), limits_(limits) {}
    ~CudaModule() {
        if (handle_ != nullptr && !borrowed_) context_->unload(handle_);
    }
    CudaModule(const CudaModule&) = delete;
    CudaModule& operator=(const CudaModule&) = delete;

    [[nodiscard]] Expected<void> load(std::span<const std::byte> image);
    /// Instead of that: the module of a function of somebody else, who unloads it.
    [[nodiscard]] Expected<void> borrow_of(driver::Function function);
    /// Their bytes are there when it returns.
    [[nodiscard]] Expected<void> take_banks(std::span<const Bank> banks);
    [[nodiscard]] Expected<void> set_bank(std::size_t number, std::span<const std::byte> bytes,
                                          std::uint64_t stream) const;
    [[nodiscard]] Expected<Variable> variable(const std::string& name) const;
    [[nodiscard]] const std::shared_ptr<const CudaContext>& context() const { return context_; }
    [[nodiscard]] driver::Module handle() const { return handle_; }
    [[nodiscard]] const BlockLimits& limits() const { return limits_; }

  private:
    std::shared_ptr<const CudaContext> context_;
    driver::Module handle_ = nullptr;
    bool borrowed_ = false;
    BlockLimits limits_;
    std::vector<Variable> banks_;
};

class CudaEntry final : public LoadedEntry {
  public:
    /// An entry of a module, with its code on the GPU: a first launch is one as any other.
    [[nodiscard]] static Expected<std::unique_ptr<LoadedEntry>> find(std::shared_ptr<const CudaModule> module,
                                                                     const std::string& entry);
    /// A function of a module that was borrowed of it.
    [[nodiscard]] static Expected<std::unique_ptr<LoadedEntry>> borrow(
        std::shared_ptr<const CudaModule> module, driver::Function function);

    [[nodiscard]] launch::EntryLimits limits() const override { return limits_; }
    [[nodiscard]] Expected<void> launch(const CheckedLaunch& launch, std::uint64_t stream) const override;
    [[nodiscard]] Expected<EmulatorStats> launch_counted(const CheckedLaunch& launch) const override;
    [[nodiscard]] Expected<FunctionAttributes> attributes() const override;
    [[nodiscard]] Expected<std::uint32_t> blocks_per_multiprocessor(
        std::uint32_t block_threads, std::uint32_t dynamic_shared_bytes) const override;
    [[nodiscard]] Expected<std::uint32_t> active_clusters(const CheckedLaunch& launch) const override;
    [[nodiscard]] Expected<void> prefer_shared_memory(std::int32_t percent) const override;
    [[nodiscard]] Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const override;
    [[nodiscard]] Expected<Variable> variable(const std::string& name) const override {
        return module_->variable(name);
    }
    [[nodiscard]] Expected<void> set_bank(std::size_t number, std::span<const std::byte> bytes,
                                          std::uint64_t stream) const override {
        return module_->set_bank(number, bytes, stream);
    }

    [[nodiscard]] driver::Function handle() const { return function_; }
    /// What the driver has to allow before such a launch; asked for once.
    [[nodiscard]] Expected<void> prepare(const CheckedLaunch& launch) const;

  private:
    explicit CudaEntry(std::shared_ptr<const CudaModule> module)
        : module_(std::move(module)), context_(module_->context()) {}
    [[nodiscard]] Expected<void> find_function(const std::string& entry);
    /// Has the code of `function_` put on the GPU, and asks for its limits.
    [[nodiscard]] Expected<void> take_function(const std::string& name);
    [[nodiscard]] Expected<void> launch_with(const CheckedLaunch& launch, LaunchAttributes attributes,
                                             std::uint64_t stream) const;
    [[nodiscard]] Expected<void> opt_in(std::uint32_t shared_bytes) const;
    [[nodiscard]] Expected<void> set_attribute(driver::FunctionAttribute which, int value) const;

    std::shared_ptr<const CudaModule> module_;
    std::shared_ptr<const CudaContext> context_;
    driver::Function function_ = nullptr;
    launch::EntryLimits limits_;
    mutable std::atomic<std::uint32_t> granted_ = 0;  // dynamic shared memory
    mutable std::atomic<bool> large_clusters_ = false;
};

/// A kernel of somebody else in a context.
[[nodiscard]] Expected<BorrowedEntry> borrow_cuda_entry(std::shared_ptr<const CudaContext> context,
                                                        BlockLimits limits, FunctionHandle kind,
                                                        std::uint64_t handle);

/// An empty graph in a context.
[[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> create_cuda_graph(
    std::shared_ptr<const CudaContext> context);

/// A graph of what is launched on a stream from now on.
[[nodiscard]] Expected<std::unique_ptr<LoadedGraph>> capture_cuda_graph(
    std::shared_ptr<const CudaContext> context, std::uint64_t stream);

/// The driver's JIT, for a GPU of this architecture.
[[nodiscard]] std::shared_ptr<const Assembler> cuda_jit(std::shared_ptr<const CudaContext> context,
                                                        Architecture architecture);

/// The properties of a GPU, for which no context is needed.
[[nodiscard]] Expected<DeviceProperties> cuda_properties(const driver::Driver& driver, driver::Device device);
/// "13.0"
[[nodiscard]] std::string version_text(const driver::Driver& driver);

}  // namespace ptxgraft::device
