#pragma once
/// @file device.hpp
/// Where kernels run: a CUDA GPU through the driver (opened with dlopen; its absence is no error), or the
/// emulator. Device, Buffer, Stream, Event, Function are move-only or shared handles; each keeps what it
/// depends on alive.

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/launch.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft {

enum class DeviceKind : std::uint8_t { cuda, emulator };

/// How devices are found.
struct DeviceOptions {
    std::string driver = "libcuda.so.1";  ///< the driver's library: a name for the dynamic loader, or a path
    /// of the emulator; what its name says (an architecture, `fast`) counts more
    EmulatorOptions emulator = {};
};

class Device;
class Buffer;
class Stream;
class Event;
class Function;
namespace device {
class Loader;  // internal
}

/// A kernel's argument: the bytes of a scalar, or the address of a buffer. Converts from every arithmetic
/// type, from Buffer, and from trivially copyable structs. A value, which holds a copy of the bytes; of a
/// buffer it holds the address and does not keep the memory alive. Threads: any number may read one.
class PTXGRAFT_API Argument {
  public:
    Argument(const Buffer& buffer);
    template <class T>
    requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_null_pointer_v<T> &&
             !std::is_same_v<T, Argument>) Argument(const T& value)
        : Argument(std::as_bytes(std::span(&value, 1)), nullptr) {}
    /// A copy of `bytes`, of a parameter of that size.
    [[nodiscard]] static Argument raw(std::span<const std::byte> bytes) { return Argument(bytes, nullptr); }

    [[nodiscard]] std::span<const std::byte> bytes() const {
        return {size_ <= few_.size() ? few_.data() : many_.data(), size_};
    }

  private:
    friend class Function;
    Argument(std::span<const std::byte> bytes, const void* device);
    const void* device_;  // of a buffer: the device that it is on
    std::size_t size_;
    std::vector<std::byte> many_;                 // of a struct larger than `few_`
    alignas(64) std::array<std::byte, 128> few_;  // a tensor map, and all that is not larger
};

/// A shared handle: copies are the same device.
///
/// Threads: any number may use one device at once, through one handle or many. On the emulator launches and
/// copies take turns, first come, first served; all else (allocating, loading, destroying, taking output,
/// events) does not wait for them. What runs out of the host's memory is Errc::out_of_memory, and the device
/// works on.
class PTXGRAFT_API Device {
  public:
    /// "auto": the first GPU if there is one that works, else the emulator. "cuda", "cuda:1": that GPU.
    /// "emulator", "emulator:sm_80": the emulator, as a device of that architecture (when it is not said, of
    /// EmulatorOptions::sm, and then with all that it has: sm_90a); "emulator:fast", "emulator:sm_80:fast":
    /// without the checks that EmulatorOptions::fast leaves out; "emulator:checks=-races",
    /// "emulator:sm_80:checks=unwritten,async": with those that parse_checks() reads there. A GPU's primary
    /// context is used, so that buffers can be shared with the CUDA runtime; no call changes which context is
    /// current in the calling thread. Errors: Errc::device_unknown, Errc::driver_missing,
    /// Errc::driver_failed.
    [[nodiscard]] static Expected<Device> open(std::string_view name = "auto",
                                               const DeviceOptions& options = {});
    /// An emulator with other options: the same as open("emulator", {.emulator = options}).
    [[nodiscard]] static Expected<Device> emulator(const EmulatorOptions& options);
    /// Number of GPUs; 0 when there is no driver, or when it does not start.
    [[nodiscard]] static std::uint32_t cuda_count(const DeviceOptions& options = {});

    [[nodiscard]] DeviceKind kind() const;
    [[nodiscard]] std::string name() const;            ///< "NVIDIA H200", "emulator"
    [[nodiscard]] std::string target() const;          ///< "sm_90a": what skeletons for it are compiled for
    [[nodiscard]] std::string driver_version() const;  ///< "13.0"; of the emulator: ptxgraft's version

    [[nodiscard]] Expected<Buffer> allocate(std::size_t bytes) const;
    /// A buffer with a copy of host data.
    template <class T> [[nodiscard]] Expected<Buffer> upload(std::span<const T> data) const;
    template <class T> [[nodiscard]] Expected<Buffer> upload(const std::vector<T>& data) const;

    /// A tensor map for kernels on this device, which take it by value. Errors: Errc::tensor_map_invalid,
    /// with the rule that is broken and what would be right; Errc::driver_too_old, Errc::driver_failed.
    [[nodiscard]] Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) const;

    [[nodiscard]] Expected<Stream> create_stream() const;
    [[nodiscard]] Expected<Event> create_event() const;
    [[nodiscard]] Expected<void> synchronize() const;
    /// What kernels on the emulator have printed since the last call. A GPU's driver writes to standard
    /// output itself.
    [[nodiscard]] std::string take_output() const;
    /// What launches on the emulator have done since the last call, and what its checks have found where they
    /// keep going (EmulatorOptions::keep_going); their errors bring the PTX. Of a GPU: nothing.
    [[nodiscard]] EmulatorReport take_report() const;

    /// Loads a kernel. On a GPU, `cubin` is loaded when it is given, else `ptx` is assembled with the default
    /// assembler for this GPU; the emulator runs `ptx`. `entry` may be empty when the module has one entry.
    /// Errors: Errc::entry_unknown and Errc::entry_not_named list the entries; Errc::target_differs when PTX
    /// for its `.target` cannot run on this device; those of syntax::parse, of the assembler and of
    /// Emulator::load.
    [[nodiscard]] Expected<Function> load(std::string_view ptx, std::string_view entry,
                                          const Cubin* cubin = nullptr) const;

    struct Data;

  private:
    friend class device::Loader;
    explicit Device(std::shared_ptr<Data> data) : data_(std::move(data)) {}
    std::shared_ptr<Data> data_;
};

/// Device memory. Move-only; freed with its handle, unless it is a module's variable. A buffer of zero bytes
/// is a buffer: its address is 0, copies of zero bytes succeed. Copies are synchronous, and come after
/// everything that was launched on the device before.
///
/// Threads: any number may copy to and from one buffer at once; only to move or destroy it, one thread must
/// have it alone. It may be destroyed while launches run: on the emulator its memory then goes when they are
/// done.
class PTXGRAFT_API Buffer {
  public:
    Buffer(Buffer&&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;
    ~Buffer();
    [[nodiscard]] std::uint64_t address() const { return address_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    /// Copies within the buffer's bounds; otherwise Errc::buffer_exceeded and nothing is copied.
    [[nodiscard]] Expected<void> write(std::span<const std::byte> source, std::size_t offset = 0) const;
    [[nodiscard]] Expected<void> read(std::span<std::byte> target, std::size_t offset = 0) const;
    [[nodiscard]] Expected<void> fill(std::byte value) const;
    /// As fill, with what no program is to read: the emulator finds those that do.
    [[nodiscard]] Expected<void> poison(std::byte value) const;
    /// Takes a copy of another buffer of the same device and size, without the host. On a GPU it may still be
    /// under way when the call returns; whatever is launched later comes after it.
    [[nodiscard]] Expected<void> copy_from(const Buffer& source) const;
    /// The whole buffer as elements of T; its size must be a multiple of T's.
    template <class T> [[nodiscard]] Expected<std::vector<T>> download() const {
        if (bytes_ % sizeof(T) != 0)
            return fail(Errc::buffer_exceeded, "its size is not a multiple of the element's");
        std::vector<T> result(bytes_ / sizeof(T));
        if (auto done = read(std::as_writable_bytes(std::span<T>(result))); !done)
            return tl::unexpected(done.error());
        return result;
    }

    /// Device::encode_tensor_map for a tensor in this buffer: `options.address` is an offset in it.
    [[nodiscard]] Expected<TensorMap> encode_tensor_map(TensorMapOptions options) const;

  private:
    friend class Device;
    friend class Argument;
    friend class Function;
    void release() noexcept;
    Buffer(std::shared_ptr<Device::Data> device, std::uint64_t address, std::size_t bytes);
    std::shared_ptr<Device::Data> device_;
    std::shared_ptr<const void> module_;  // of a module's variable: its memory is the module's
    std::uint64_t address_ = 0;
    std::size_t bytes_ = 0;
};

/// An order of launches. Launches on different streams may overlap; copies of buffers and launches without a
/// stream wait for all streams, and all streams wait for them. The emulator runs everything at once, in
/// order.
///
/// Threads: any number may launch on one stream at once; only to move or destroy it, one thread must have it
/// alone.
class PTXGRAFT_API Stream {
  public:
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();
    [[nodiscard]] Expected<void> synchronize() const;
    [[nodiscard]] std::uint64_t handle() const { return handle_; }  ///< a CUstream; 0 on the emulator

  private:
    friend class Device;
    friend class Event;
    friend class Function;
    void release() noexcept;
    Stream(std::shared_ptr<Device::Data> device, std::uint64_t handle);
    std::shared_ptr<Device::Data> device_;
    std::uint64_t handle_ = 0;
};

/// A point in a stream's time; on the emulator the host's clock. Errors: Errc::event_not_recorded,
/// Errc::device_differs.
///
/// Threads: one at a time uses an event; different ones may be used at once.
class PTXGRAFT_API Event {
  public:
    Event(Event&&) noexcept;
    Event& operator=(Event&&) noexcept;
    ~Event();
    [[nodiscard]] Expected<void> record(const Stream* stream = nullptr);
    /// Milliseconds from an earlier event to this one; waits for this one.
    [[nodiscard]] Expected<float> elapsed_since(const Event& start) const;

  private:
    friend class Device;
    void release() noexcept;
    Event(std::shared_ptr<Device::Data> device, std::uint64_t handle);
    std::shared_ptr<Device::Data> device_;
    std::uint64_t handle_ = 0;
    bool recorded_ = false;
};

/// A loaded entry, ready to launch. A shared handle: copies are the same function.
///
/// Threads: any number may launch one function at once; its last handle may go on any thread, whatever else
/// runs on the device.
class PTXGRAFT_API Function {
  public:
    /// Checks the number and sizes of the arguments and the shape, then launches: on `stream`, or on the
    /// device's own default stream. On a GPU the launch is asynchronous. Errors:
    /// Errc::argument_count_wrong, Errc::argument_size_wrong (index), Errc::launch_shape_invalid,
    /// Errc::device_differs (a buffer or the stream), Errc::launch_failed; on the emulator those of
    /// Emulator::launch, with the PTX as their source, and those of LaunchLimits. A kernel that fails on a
    /// GPU is reported by a later call (synchronize, a copy) as Errc::launch_failed, and takes the context
    /// with it: every call after that fails too.
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        const Stream* stream = nullptr) const;
    /// Another entry of the same loaded module: the two share the module's variables, which two calls of
    /// Device::load do not. Errors: Errc::entry_unknown, Errc::entry_not_named.
    [[nodiscard]] Expected<Function> other(std::string_view entry) const;
    /// A `.global` or `.const` variable of the module, by its name in PTX: its memory as a buffer, which
    /// keeps the module loaded. Errors: Errc::symbol_unknown lists those that there are.
    /// (cuModuleGetGlobal)
    [[nodiscard]] Expected<Buffer> variable(std::string_view name) const;

    [[nodiscard]] std::string_view entry() const;
    [[nodiscard]] const std::vector<ParameterInfo>& parameters() const;
    /// The PTX that spans of launch errors on the emulator refer to.
    [[nodiscard]] std::string_view ptx() const;

    struct Data;

  private:
    friend class device::Loader;
    explicit Function(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

template <class T> Expected<Buffer> Device::upload(std::span<const T> data) const {
    auto buffer = allocate(data.size_bytes());
    if (!buffer) return buffer;
    if (auto done = buffer->write(std::as_bytes(data)); !done) return tl::unexpected(done.error());
    return buffer;
}
template <class T> Expected<Buffer> Device::upload(const std::vector<T>& data) const {
    return upload(std::span<const T>(data));
}

}  // namespace ptxgraft
