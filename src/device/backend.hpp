#pragma once
/// What a device is made of: the one interface behind Device, Buffer, Stream, Event and Function, and its two
/// implementations.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "ptxgraft/device.hpp"

namespace ptxgraft::device {

/// The most that one launch of an entry may ask for. Bounds of grid and block alone are the same on every
/// architecture (CUDA C++ Programming Guide, table of technical specifications).
struct EntryLimits {
    std::uint32_t threads_per_block = 1024;
    std::uint32_t dynamic_shared_bytes = 48 * 1024;
    std::uint32_t blocks_per_cluster = 1;
};

/// Blocks of a cluster on an architecture: clusters came with sm_90; more than 8 blocks are not portable, 16
/// are what an sm_90 can have (CUDA C++ Programming Guide, thread block clusters).
constexpr std::uint32_t blocks_per_cluster(std::uint32_t sm) { return sm >= 90 ? 16 : 1; }
constexpr std::uint32_t portable_blocks_per_cluster = 8;

/// A `.global` or `.const` variable of a loaded module.
struct Variable {
    std::uint64_t address = 0, bytes = 0;
};

/// An entry on a device. Destroyed before its backend.
class LoadedEntry {
  public:
    virtual ~LoadedEntry() = default;
    [[nodiscard]] virtual EntryLimits limits() const = 0;
    /// `arguments` have been checked against the parameters, `config` against the limits.
    [[nodiscard]] virtual Expected<void> launch(const LaunchConfig& config,
                                                std::span<const Argument> arguments,
                                                std::uint64_t stream) const = 0;
    /// Another entry of the module, which shares its variables with this one; the module has it.
    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedEntry>> other(const std::string& entry) const = 0;
    /// Errors: Errc::symbol_unknown.
    [[nodiscard]] virtual Expected<Variable> variable(const std::string& name) const = 0;
};

/// Memory, streams, events and modules of one device. Handles are opaque; 0 is the default stream. Safe to
/// use from several threads.
class Backend {
  public:
    virtual ~Backend() = default;

    [[nodiscard]] virtual DeviceKind kind() const = 0;
    [[nodiscard]] virtual std::string name() const = 0;
    [[nodiscard]] virtual std::string target() const = 0;
    [[nodiscard]] virtual std::string driver_version() const = 0;

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
    /// What kernels printed, where the device hands it over.
    [[nodiscard]] virtual std::string take_output() { return {}; }
    /// What launches did and found, where the device knows.
    [[nodiscard]] virtual EmulatorReport take_report() { return {}; }
    [[nodiscard]] virtual Expected<std::uint64_t> create_stream() = 0;
    virtual void destroy_stream(std::uint64_t stream) noexcept = 0;
    [[nodiscard]] virtual Expected<void> synchronize_stream(std::uint64_t stream) = 0;
    [[nodiscard]] virtual Expected<std::uint64_t> create_event() = 0;
    virtual void destroy_event(std::uint64_t event) noexcept = 0;
    [[nodiscard]] virtual Expected<void> record_event(std::uint64_t event, std::uint64_t stream) = 0;
    /// Both have been recorded. Waits for both.
    [[nodiscard]] virtual Expected<float> elapsed(std::uint64_t start, std::uint64_t end) = 0;

    /// `entry` is one of the module's. `cubin` may be null.
    [[nodiscard]] virtual Expected<std::unique_ptr<LoadedEntry>> load(std::string_view ptx,
                                                                      const std::string& entry,
                                                                      const Cubin* cubin) = 0;
};

/// GPU number `ordinal` of a driver library. Errors: Errc::driver_missing, Errc::device_unknown,
/// Errc::driver_failed.
[[nodiscard]] Expected<std::unique_ptr<Backend>> open_cuda(std::uint32_t ordinal,
                                                           const std::string& driver_library);
[[nodiscard]] Expected<std::uint32_t> count_cuda(const std::string& driver_library);

/// The emulator, as a device of `target` ("sm_90a").
[[nodiscard]] std::unique_ptr<Backend> open_emulator(const EmulatorOptions& options, std::string target);

/// The number of a target: 90 of "sm_90a".
[[nodiscard]] std::uint32_t sm_of(std::string_view target);

/// Whether PTX with one `.target` runs on a GPU of another: PTX of `sm_80` on every later one, of `sm_100f`
/// on later ones of its family, of `sm_90a` on that alone (PTX ISA 11.1.2, .target).
[[nodiscard]] bool runs_on(std::string_view ptx_target, std::string_view device_target);

/// An entry of a module as its PTX declares it.
struct EntryInfo {
    std::string name;
    std::vector<ParameterInfo> parameters;
    std::string target;                     ///< the module's
    Dim3 required_cluster = {};             ///< of `.reqnctapercluster`
    std::uint32_t most_cluster_blocks = 0;  ///< of `.maxclusterrank`; 0: none
    bool wants_cluster = false;             ///< `.explicitcluster`
    bool blocks_are_clusters = false;       ///< `.blocksareclusters`: a launch's grid counts clusters
};
/// The entry of that name, or the only one when the name is empty.
[[nodiscard]] Expected<EntryInfo> find_entry(std::string_view ptx, std::string_view name);
/// The names of a module's `.global` and `.const` variables, with commas between; empty: there are none.
[[nodiscard]] std::string variable_names(std::string_view ptx);

}  // namespace ptxgraft::device

namespace ptxgraft {

struct Device::Data {
    std::unique_ptr<device::Backend> backend;
};

}  // namespace ptxgraft
