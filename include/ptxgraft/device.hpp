#pragma once
/// @file device.hpp
/// Where kernels run: a CUDA GPU through the driver (opened with dlopen; its absence is no error), or the emulator.
/// Device, Buffer, Stream, LoadedModule, Function are move-only or shared handles; each keeps what it depends on alive.

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
#include "ptxgraft/link.hpp"

namespace ptxgraft {

/// The shape of a launch. Units: grid in blocks, block in threads, shared memory in bytes per block.
struct LaunchConfig {
    Dim3 grid;
    Dim3 block;
    std::uint32_t shared_bytes = 0;
};

enum class DeviceKind : std::uint8_t { cuda, emulator };

class Buffer;
class Stream;
class Event;
class Function;

/// A parameter of an entry, as its PTX declares it.
struct ParameterInfo {
    std::string name;
    std::string type;         ///< "u64", "f32", "b8"
    std::uint32_t bytes = 0;  ///< whole parameter, arrays included
};

/// A kernel's argument: the bytes of a scalar, or the address of a buffer. Converts from every arithmetic type, from
/// Buffer, and from trivially copyable structs. The referred value must outlive the launch call, nothing more.
class PTXGRAFT_API Argument {
  public:
    Argument(const Buffer& buffer);
    template <class T>
        requires(std::is_trivially_copyable_v<T> && !std::is_pointer_v<T> && !std::is_same_v<T, Argument>)
    Argument(const T& value) : bytes_(reinterpret_cast<const std::byte*>(&value), sizeof(T)) {}
    /// `bytes` of a parameter, as they are.
    static Argument raw(std::span<const std::byte> bytes) { return Argument(bytes, 0); }

    [[nodiscard]] std::span<const std::byte> bytes() const { return bytes_; }

  private:
    Argument(std::span<const std::byte> bytes, int) : bytes_(bytes) {}
    std::span<const std::byte> bytes_;
};

class PTXGRAFT_API Device {
  public:
    /// "auto": the first GPU if there is one, else the emulator. "cuda", "cuda:1": that GPU. "emulator", "emulator:sm_80": the emulator,
    /// as a device of that architecture (sm_90a when it is not said). Errors: Errc::no_such_device, Errc::no_cuda_driver.
    [[nodiscard]] static Expected<Device> open(std::string_view name = "auto");
    /// An emulator with other options.
    [[nodiscard]] static Expected<Device> emulator(const EmulatorOptions& options);
    /// Number of GPUs; 0 when there is no driver.
    [[nodiscard]] static std::uint32_t cuda_count();

    [[nodiscard]] DeviceKind kind() const;
    [[nodiscard]] std::string name() const;     ///< "NVIDIA H200", "emulator"
    [[nodiscard]] std::string target() const;   ///< "sm_90a": what skeletons for it are compiled for
    [[nodiscard]] std::string driver_version() const;  ///< "13.0"; of the emulator: ptxgraft's version

    [[nodiscard]] Expected<Buffer> allocate(std::size_t bytes) const;
    /// A buffer with a copy of host data.
    template <class T>
    [[nodiscard]] Expected<Buffer> upload(std::span<const T> data) const;
    template <class T>
    [[nodiscard]] Expected<Buffer> upload(const std::vector<T>& data) const;

    [[nodiscard]] Expected<Stream> create_stream() const;
    [[nodiscard]] Expected<Event> create_event() const;
    [[nodiscard]] Expected<void> synchronize() const;

    /// Loads a kernel. On a GPU, `cubin` is loaded when it is given, else `ptx` is assembled with the default assembler;
    /// the emulator runs `ptx`.
    [[nodiscard]] Expected<Function> load(std::string_view ptx, std::string_view entry, const Cubin* cubin = nullptr) const;

    struct Data;
    [[nodiscard]] const std::shared_ptr<Data>& data() const { return data_; }

  private:
    explicit Device(std::shared_ptr<Data> data) : data_(std::move(data)) {}
    std::shared_ptr<Data> data_;
};

/// Device memory. Move-only; freed with the last handle.
class PTXGRAFT_API Buffer {
  public:
    Buffer(Buffer&&) noexcept;
    Buffer& operator=(Buffer&&) noexcept;
    ~Buffer();
    [[nodiscard]] std::uint64_t address() const { return address_; }
    [[nodiscard]] std::size_t bytes() const { return bytes_; }

    [[nodiscard]] Expected<void> write(std::span<const std::byte> source, std::size_t offset = 0) const;
    [[nodiscard]] Expected<void> read(std::span<std::byte> target, std::size_t offset = 0) const;
    [[nodiscard]] Expected<void> fill(std::byte value) const;
    /// The whole buffer as elements of T; its size must be a multiple of T's.
    template <class T>
    [[nodiscard]] Expected<std::vector<T>> download() const {
        std::vector<T> result(bytes_ / sizeof(T));
        if (auto done = read(std::as_writable_bytes(std::span<T>(result))); !done) return tl::unexpected(done.error());
        return result;
    }

  private:
    friend class Device;
    friend class Argument;
    Buffer(std::shared_ptr<Device::Data> device, std::uint64_t address, std::size_t bytes);
    std::shared_ptr<Device::Data> device_;
    std::uint64_t address_ = 0;
    std::size_t bytes_ = 0;
};

/// An order of launches and copies. The emulator runs everything at once, in order.
class PTXGRAFT_API Stream {
  public:
    Stream(Stream&&) noexcept;
    Stream& operator=(Stream&&) noexcept;
    ~Stream();
    [[nodiscard]] Expected<void> synchronize() const;
    [[nodiscard]] std::uint64_t handle() const { return handle_; }  ///< a CUstream; 0 on the emulator

  private:
    friend class Device;
    friend class Function;
    Stream(std::shared_ptr<Device::Data> device, std::uint64_t handle);
    std::shared_ptr<Device::Data> device_;
    std::uint64_t handle_ = 0;
};

/// A point in a stream's time; on the emulator the host's clock.
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
    Event(std::shared_ptr<Device::Data> device, std::uint64_t handle);
    std::shared_ptr<Device::Data> device_;
    std::uint64_t handle_ = 0;
};

/// A loaded entry, ready to launch.
class PTXGRAFT_API Function {
  public:
    /// Checks the number and sizes of the arguments and the shape, then launches: on `stream`, or on the device's own
    /// default stream. On a GPU the launch is asynchronous. Errors: Errc::argument_count_differs, Errc::argument_size_differs (index),
    /// Errc::launch_shape_invalid, Errc::launch_failed; on the emulator those of Emulator::launch.
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        const Stream* stream = nullptr) const;
    [[nodiscard]] const std::vector<ParameterInfo>& parameters() const;
    /// The PTX that spans of launch errors on the emulator refer to.
    [[nodiscard]] std::string_view ptx() const;

    struct Data;

  private:
    friend class Device;
    explicit Function(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

template <class T>
Expected<Buffer> Device::upload(std::span<const T> data) const {
    auto buffer = allocate(data.size_bytes());
    if (!buffer) return buffer;
    if (auto done = buffer->write(std::as_bytes(data)); !done) return tl::unexpected(done.error());
    return buffer;
}
template <class T>
Expected<Buffer> Device::upload(const std::vector<T>& data) const {
    return upload(std::span<const T>(data));
}

}  // namespace ptxgraft
