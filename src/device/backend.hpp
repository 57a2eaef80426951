#pragma once
/// What a device is made of: the one interface behind Device, Buffer, Stream, Event and Function, and its two
/// implementations.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "device/load.hpp"
#include "launch/rules.hpp"
#include "ptx/target.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft::device {

/// A `.global` or `.const` variable of a loaded module.
struct Variable {
    std::uint64_t address = 0, bytes = 0;
};

/// A launch that keeps the rules of launches.
struct CheckedLaunch {
    const LaunchConfig& config;
    Dim3 cluster;  ///< the configuration's, or the one that the entry requires
    std::span<const Argument> arguments;
};

/// An entry on a device. Destroyed before its backend.
class LoadedEntry {
  public:
    virtual ~LoadedEntry() = default;
    [[nodiscard]] virtual launch::EntryLimits limits() const = 0;
    [[nodiscard]] virtual Expected<void> launch(const CheckedLaunch& launch, std::uint64_t stream) const = 0;
    /// As launch, and waits.
    [[nodiscard]] virtual Expected<EmulatorStats> launch_counted(const CheckedLaunch& launch) const = 0;

    [[nodiscard]] virtual Expected<FunctionAttributes> attributes() const = 0;
    [[nodiscard]] virtual Expected<std::uint32_t> blocks_per_multiprocessor(
        std::uint32_t block_threads, std::uint32_t dynamic_shared_bytes) const = 0;
    /// The launch has a cluster, and no arguments.
    [[nodiscard]] virtual Expected<std::uint32_t> active_clusters(const CheckedLaunch& launch) const = 0;
    [[nodiscard]] virtual Expected<void> prefer_shared_memory(std::int32_t percent) const = 0;

    /// Another entry of the module, which shares its variables with this one; the module has it.
    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const = 0;
    /// Errors: Errc::symbol_unknown.
    [[nodiscard]] virtual Expected<Variable> variable(const std::string& name) const = 0;
    /// The number of a bank that the module was loaded with, and as many bytes as it has.
    [[nodiscard]] virtual Expected<void> set_bank(std::size_t number, std::span<const std::byte> bytes,
                                                  std::uint64_t stream) const = 0;
};

/// An entry of somebody else, and what is known of it.
struct BorrowedEntry {
    launch::EntryInfo info;
    std::unique_ptr<LoadedEntry> loaded;
};

/// A chain of launches on a device. Destroyed before its backend and after its entries.
class LoadedGraph {
  public:
    virtual ~LoadedGraph() = default;
    [[nodiscard]] virtual Expected<void> add(const LoadedEntry& entry, const CheckedLaunch& launch) = 0;
    /// `number`: of a launch that was added.
    [[nodiscard]] virtual Expected<void> change(std::size_t number, const LoadedEntry& entry,
                                                const CheckedLaunch& launch) = 0;
    /// Of a graph that is being captured: what was launched meanwhile. After an error there is no capture
    /// either.
    [[nodiscard]] virtual Expected<void> end_capture() { return {}; }
    [[nodiscard]] virtual Expected<void> instantiate() = 0;
    /// It was instantiated.
    [[nodiscard]] virtual Expected<void> launch(std::uint64_t stream) = 0;
};

/// Memory, streams, events and modules of one device. Handles are opaque; 0 is the default stream. Safe to
/// use from several threads.
class Backend {
  public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual DeviceKind kind() const = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    /// On a GPU with all that its architecture has; on the emulator as its name says.
    [[nodiscard]] virtual Architecture architecture() const = 0;
    [[nodiscard]] virtual std::string driver_version() const = 0;
    [[nodiscard]] virtual Expected<DeviceProperties> properties() const = 0;
    [[nodiscard]] virtual DeviceHealth health() const { return {}; }
    [[nodiscard]] virtual std::uint64_t context() const { return 0; }
    /// Of this thread, until its guard ends: what end_current takes.
    [[nodiscard]] virtual Expected<std::uint64_t> make_current() { return 0; }
    virtual void end_current(std::uint64_t) noexcept {}
    virtual void begin_timing() = 0;
    virtual void end_timing() noexcept = 0;
    [[nodiscard]] virtual std::size_t loaded_modules() const { return 0; }

    // Memory: never of zero bytes, always within one allocation.
    [[nodiscard]] virtual Expected<std::uint64_t> allocate(std::size_t bytes) = 0;
    virtual void free(std::uint64_t address) noexcept = 0;
    [[nodiscard]] virtual Expected<void> write(std::uint64_t target, std::span<const std::byte> source) = 0;
    [[nodiscard]] virtual Expected<void> read(std::uint64_t source, std::span<std::byte> target) = 0;
    [[nodiscard]] virtual Expected<void> copy(std::uint64_t target, std::uint64_t source,
                                              std::size_t bytes) = 0;
    [[nodiscard]] virtual Expected<void> fill(std::uint64_t target, std::byte value, std::size_t bytes) = 0;
    /// As fill, with what no program is to read.
    [[nodiscard]] virtual Expected<void> poison(std::uint64_t target, std::byte value, std::size_t bytes) {
        return fill(target, value, bytes);
    }

    /// `options` keep the manual's rules.
    [[nodiscard]] virtual Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) = 0;

    [[nodiscard]] virtual Expected<void> synchronize() = 0;
    [[nodiscard]] virtual Expected<void> set_persisting_l2(std::size_t) { return {}; }
    [[nodiscard]] virtual Expected<std::size_t> persisting_l2() const { return 0; }
    [[nodiscard]] virtual Expected<void> reset_persisting_l2() { return {}; }
    /// What kernels printed, where the device hands it over.
    [[nodiscard]] virtual std::string take_output() { return {}; }
    /// What launches did and found, where the device knows.
    [[nodiscard]] virtual EmulatorReport take_report() { return {}; }
    [[nodiscard]] virtual Expected<std::uint64_t> create_stream(const StreamOptions& options) = 0;
    /// Errc::device_differs for a stream that is not of this device's context.
    [[nodiscard]] virtual Expected<void> check_stream(std::uint64_t stream) const = 0;
    [[nodiscard]] virtual Expected<StreamPriorities> stream_priorities() const { return StreamPriorities{}; }
    virtual void destroy_stream(std::uint64_t stream) noexcept = 0;
    [[nodiscard]] virtual Expected<void> synchronize_stream(std::uint64_t stream) = 0;
    [[nodiscard]] virtual Expected<std::uint64_t> create_event() = 0;
    virtual void destroy_event(std::uint64_t event) noexcept = 0;
    [[nodiscard]] virtual Expected<void> record_event(std::uint64_t event, std::uint64_t stream) = 0;
    /// Both have been recorded. Waits for both.
    [[nodiscard]] virtual Expected<float> elapsed(std::uint64_t start, std::uint64_t end) = 0;

    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedGraph>> create_graph() = 0;
    /// A graph of what its add() launches on the stream, until its end_capture().
    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedGraph>> begin_capture(std::uint64_t stream) = 0;

    /// `entry` is one of the module's. `cubin` may be null.
    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedEntry>> load(KnownModule module,
                                                                      const std::string& entry,
                                                                      const Cubin* cubin) = 0;
    /// Of a GPU alone; the handle is not 0.
    [[nodiscard]] virtual Expected<BorrowedEntry> borrow(FunctionHandle, std::uint64_t) {
        return fail(Errc::device_differs,
                    std::string("a kernel of the driver is a GPU's, and no emulator's"));
    }
    /// Of a GPU alone.
    [[nodiscard]] virtual Expected<std::shared_ptr<const Assembler>> jit() {
        return fail(Errc::assembler_not_usable, std::string("the emulator has no driver"));
    }
};

/// GPU number `ordinal` of a driver library. Errors: Errc::driver_missing, Errc::device_unknown,
/// Errc::driver_failed.
[[nodiscard]] Expected<std::unique_ptr<Backend>> open_cuda(std::uint32_t ordinal,
                                                           const std::string& driver_library);
/// In a context of somebody else.
[[nodiscard]] Expected<std::unique_ptr<Backend>> borrow_cuda(std::uint64_t context,
                                                             const std::string& driver_library);
[[nodiscard]] Expected<std::uint32_t> count_cuda(const std::string& driver_library);
[[nodiscard]] Expected<std::vector<DeviceProperties>> list_cuda(const std::string& driver_library);

/// The emulator, as a device of `architecture`, whose number is that of the options.
[[nodiscard]] std::unique_ptr<Backend> open_emulator(const EmulatorOptions& options,
                                                     Architecture architecture);

}  // namespace ptxgraft::device

namespace ptxgraft {

struct Device::Data {
    std::unique_ptr<device::Backend> backend;
};

}  // namespace ptxgraft
