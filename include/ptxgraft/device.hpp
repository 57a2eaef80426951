#pragma once
/// @file device.hpp
/// Where kernels run: a CUDA GPU through the driver (opened with dlopen; its absence is no error), or the
/// emulator. Device, Buffer, Stream, Event, Function are move-only or shared handles; each keeps what it
/// depends on alive. What somebody else owns (a context, a stream, a kernel, memory of PyTorch's) is
/// borrowed: used, and never destroyed.

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

#include "ptxgraft/device_properties.hpp"
#include "ptxgraft/emulator.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/launch.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/tensor_map.hpp"

namespace ptxgraft {

/// How devices are found.
struct DeviceOptions {
    std::string driver = "libcuda.so.1";  ///< the driver's library: a name for the dynamic loader, or a path
    /// of the emulator; what its name says (an architecture, `fast`) counts more
    EmulatorOptions emulator = {};
};

/// How a stream is made.
struct StreamOptions {
    /// Lower numbers come first; 0 is usual. A GPU takes the nearest one of Device::stream_priorities().
    std::int32_t priority = 0;
    /// It does not wait for launches without a stream and copies of buffers, nor they for it.
    bool non_blocking = false;
};
/// Which of the driver's two handles of a kernel it is.
enum class FunctionHandle : std::uint8_t {
    function,  ///< a CUfunction: of a module that is loaded in one context
    kernel,    ///< a CUkernel: of a library (cuLibraryLoadData), for every context
};
/// The numbers of priorities that make a difference: the most urgent is the lowest.
struct StreamPriorities {
    std::int32_t least = 0, greatest = 0;
};

class Device;
class Buffer;
class Stream;
class Event;
class Function;
class Graph;  // graph.hpp
class TimingGuard;
class CurrentDevice;
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
/// A launch on the emulator ends by itself: where neither it nor the device's options say another limit, with
/// usual_instruction_budget or usual_time_limit_ms of launch.hpp, as an error. LaunchLimits::stop lets
/// another thread end it. What it costs instruction by instruction is told by an EmulatorProfile
/// (DeviceOptions' emulator.observer).
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
    /// context is used, so that buffers can be shared with the CUDA runtime; no call but make_current changes
    /// which context is current in the calling thread. Errors: Errc::device_unknown, Errc::driver_missing,
    /// Errc::driver_failed.
    [[nodiscard]] static Expected<Device> open(std::string_view name = "auto",
                                               const DeviceOptions& options = {});
    /// An emulator with other options: the same as open("emulator", {.emulator = options}).
    [[nodiscard]] static Expected<Device> emulator(const EmulatorOptions& options);
    /// The GPU of a context that somebody else made, as a device that works in it and never destroys it:
    /// `context` is a CUcontext, as a number, which lives longer than the device. Errors:
    /// Errc::driver_missing, Errc::driver_failed.
    [[nodiscard]] static Expected<Device> borrow(std::uint64_t context, const DeviceOptions& options = {});
    /// Number of GPUs; 0 when there is no driver, or when it does not start.
    [[nodiscard]] static std::uint32_t cuda_count(const DeviceOptions& options = {});
    /// What each GPU is, in the order of their numbers; none of them is opened, no context is made. Empty
    /// where there is no GPU. Errors: Errc::driver_missing, Errc::driver_failed.
    [[nodiscard]] static Expected<std::vector<DeviceProperties>> list_cuda(const DeviceOptions& options = {});
    /// What the emulator can be: one for each of its architectures.
    [[nodiscard]] static std::vector<DeviceProperties> list_emulated();

    [[nodiscard]] DeviceKind kind() const;
    [[nodiscard]] std::string name() const;            ///< "NVIDIA H200", "emulator"
    [[nodiscard]] std::string target() const;          ///< "sm_90a": what skeletons for it are compiled for
    [[nodiscard]] std::string driver_version() const;  ///< "13.0"; of the emulator: ptxgraft's version

    [[nodiscard]] Expected<DeviceProperties> properties() const;
    /// What the calls on this device's context have reported so far, those of other handles and threads too.
    /// It asks the driver nothing, so it may be called at any time; that a kernel failed which is still on
    /// its way is known after synchronize(). The emulator is always well.
    [[nodiscard]] DeviceHealth health() const;
    /// Its CUcontext, as a number, for others who work in it; of the emulator 0.
    [[nodiscard]] std::uint64_t context() const;
    /// Makes its context current in this thread as long as the guard lives: a launch is then one call of the
    /// driver, where it takes two when the context happens to be current (one asks for it), and four when
    /// not.
    [[nodiscard]] Expected<CurrentDevice> make_current() const;

    /// While the guard lives, no other thread puts a module on this GPU or takes one away, whichever Device
    /// of this process it does it by: load, Function::other, Graph::instantiate wait for it (first come,
    /// first served), and modules whose last handle goes are unloaded when it ends. cuModuleLoad may wait for
    /// what the GPU does, and the GPU for it: that would be in the times. It waits for loads that are under
    /// way, and for timings of other threads. The thread itself may load all the same, and may have guards
    /// within guards. It must not wait for a thread that loads: neither would go on.
    [[nodiscard]] TimingGuard timing() const;
    /// Modules that are loaded on this GPU by this process's devices and not unloaded yet. On the emulator,
    /// where a module is memory like any other: 0.
    [[nodiscard]] std::size_t loaded_modules() const;

    [[nodiscard]] Expected<Buffer> allocate(std::size_t bytes) const;
    /// A buffer over memory that somebody else owns and frees, at a device address: it is checked for its
    /// bounds as any buffer, and never freed by it. Errors: Errc::argument_invalid for a range that begins at
    /// 0 or ends beyond the last address.
    [[nodiscard]] Expected<Buffer> borrow_buffer(std::uint64_t address, std::size_t bytes) const;
    /// A buffer with a copy of host data.
    template <class T> [[nodiscard]] Expected<Buffer> upload(std::span<const T> data) const;
    template <class T> [[nodiscard]] Expected<Buffer> upload(const std::vector<T>& data) const;

    /// A tensor map for kernels on this device, which take it by value. Errors: Errc::tensor_map_invalid,
    /// with the rule that is broken and what would be right; Errc::driver_too_old, Errc::driver_failed.
    [[nodiscard]] Expected<TensorMap> encode_tensor_map(const TensorMapOptions& options) const;

    [[nodiscard]] Expected<Stream> create_stream(const StreamOptions& options = {}) const;
    /// A stream that somebody else made in this device's context and destroys later than this handle:
    /// `stream` is a CUstream, as a number (PyTorch: torch.cuda.current_stream().cuda_stream). 0 is the
    /// default stream, on the emulator the only one. Errors: Errc::device_differs for one of another context.
    [[nodiscard]] Expected<Stream> borrow_stream(std::uint64_t stream) const;
    [[nodiscard]] Expected<StreamPriorities> stream_priorities() const;
    [[nodiscard]] Expected<Event> create_event() const;
    [[nodiscard]] Expected<Graph> create_graph() const;
    [[nodiscard]] Expected<void> synchronize() const;

    /// How much of the L2 cache is kept for accesses that ask to persist (DeviceProperties::
    /// persisting_l2_bytes at most; 0: nothing, as it begins). It is of the context, for all who work in it.
    /// The emulator has no cache: nothing happens. (CU_LIMIT_PERSISTING_L2_CACHE_SIZE)
    [[nodiscard]] Expected<void> set_persisting_l2(std::size_t bytes) const;
    [[nodiscard]] Expected<std::size_t> persisting_l2() const;
    /// Makes all lines that persist usual ones again, so that the next measurement begins as the first did.
    [[nodiscard]] Expected<void> reset_persisting_l2() const;

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

    /// A kernel that somebody else loaded in this device's context and unloads later than this handle and its
    /// variables: a CUfunction or a CUkernel, as a number. The driver says its name, how many bytes each
    /// parameter has and which cluster it requires; what else its PTX declares (`.reqntid`, the types) is not
    /// known here. Its parameters are named by their numbers, `0`, `1` …, and have types of bits alone, `b64`
    /// where one has 8 bytes, `b8` where no number has so many. It has no PTX, and of its module other()
    /// knows no other entry. Errors: Errc::argument_invalid for 0; Errc::device_differs on the emulator;
    /// Errc::driver_too_old before CUDA 12.4; Errc::driver_failed. (cuFuncGetParamInfo, cuKernelGetFunction)
    [[nodiscard]] Expected<Function> borrow_function(FunctionHandle kind, std::uint64_t handle) const;

    /// Whether two handles are of the same device: two emulators are not.
    friend bool operator==(const Device& a, const Device& b) { return a.data_ == b.data_; }

    struct Data;

  private:
    friend class device::Loader;
    friend class Buffer;
    explicit Device(std::shared_ptr<Data> data) : data_(std::move(data)) {}
    std::shared_ptr<Data> data_;
};

/// Keeps modules from coming and going while somebody measures: Device::timing(). Move-only, but it stays on
/// its thread. Keeps the device alive.
class PTXGRAFT_API TimingGuard {
  public:
    TimingGuard(TimingGuard&&) noexcept = default;
    TimingGuard& operator=(TimingGuard&&) = delete;
    ~TimingGuard();

  private:
    friend class Device;
    explicit TimingGuard(std::shared_ptr<Device::Data> device);
    std::shared_ptr<Device::Data> device_;
};

/// Keeps a device's context current in the thread that made it: Device::make_current(). Move-only, but it
/// stays on its thread; guards end in the reverse of the order in which they began, and nothing else changes
/// the current context in between (cudaSetDevice, cuCtxSetCurrent): launches would fail.
class PTXGRAFT_API CurrentDevice {
  public:
    CurrentDevice(CurrentDevice&&) noexcept = default;
    CurrentDevice& operator=(CurrentDevice&&) = delete;
    ~CurrentDevice();

  private:
    friend class Device;
    CurrentDevice(std::shared_ptr<Device::Data> device, std::uint64_t before)
        : device_(std::move(device)), before_(before) {}
    std::shared_ptr<Device::Data> device_;
    std::uint64_t before_;  // what the guard around this one made current
};

/// Device memory. Move-only; freed with its handle, unless it is borrowed or a module's variable. A buffer of
/// zero bytes is a buffer: its address is 0, copies of zero bytes succeed. Copies are synchronous, and come
/// after everything that was launched on the device before.
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
    [[nodiscard]] bool is_on(const Device& device) const { return device_ == device.data_; }

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
    bool borrowed_ = false;
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

    /// From now on launches on this stream do not run: they become a graph, which end_capture() gives. On a
    /// GPU so does what other libraries put on it, between the launches and in their order. Other streams,
    /// loading and allocating go on as ever (cuStreamBeginCapture, CU_STREAM_CAPTURE_MODE_RELAXED). While it
    /// is captured, one thread at a time uses the stream, and synchronize, Event::record, Graph::launch and
    /// Kernel::set_constants on it are Errc::argument_invalid. A stream that goes ends its capture. Errors:
    /// Errc::argument_invalid for a stream that is captured already; Errc::driver_too_old;
    /// Errc::driver_failed for the device's default stream.
    [[nodiscard]] Expected<void> begin_capture();
    /// The graph of what was launched since, numbered in the order of Function::launch on this stream: those
    /// launches Graph::change swaps, what other libraries added stays as it is. From then on launches run
    /// again. Errors: Errc::argument_invalid for a stream that is not captured; Errc::driver_failed when
    /// something that no graph can have was called meanwhile, which also ends the capture.
    /// (cuStreamEndCapture)
    [[nodiscard]] Expected<Graph> end_capture();
    [[nodiscard]] bool is_captured() const { return capture_ != nullptr; }

  private:
    friend class Device;
    friend class Event;
    friend class Function;
    void release() noexcept;
    friend class Graph;
    friend class device::Loader;
    Stream(std::shared_ptr<Device::Data> device, std::uint64_t handle);
    std::shared_ptr<Device::Data> device_;
    [[nodiscard]] Expected<void> check_not_captured(std::string_view what) const;
    std::uint64_t handle_ = 0;
    bool borrowed_ = false;
    std::shared_ptr<Graph> capture_;  // that is under way
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

/// A loaded entry, ready to launch. A shared handle: copies are the same function. Its module is unloaded
/// with the last of its functions and variables (Device::loaded_modules, Device::timing).
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
    /// with it: every call after that fails too (Device::health). It allocates nothing and takes no lock;
    /// what a launch needs once of the driver (more than 48 KB of shared memory, clusters of more than 8
    /// blocks) is asked for once.
    [[nodiscard]] Expected<void> launch(const LaunchConfig& config, std::span<const Argument> arguments,
                                        const Stream* stream = nullptr) const;
    /// As launch on the default stream, and waits: what the launch did. On a GPU, which counts nothing, 0.
    /// What take_report() gives has it too.
    [[nodiscard]] Expected<EmulatorStats> launch_counted(const LaunchConfig& config,
                                                         std::span<const Argument> arguments) const;

    [[nodiscard]] Expected<FunctionAttributes> attributes() const;
    /// Blocks of so many threads and bytes of dynamic shared memory that a multiprocessor runs at once; 0: a
    /// launch is not possible. The emulator, which counts no registers, gives what threads and shared memory
    /// allow. (cuOccupancyMaxActiveBlocksPerMultiprocessor)
    [[nodiscard]] Expected<std::uint32_t> blocks_per_multiprocessor(
        std::uint32_t block_threads, std::uint32_t dynamic_shared_bytes = 0) const;
    /// Clusters of a launch that the whole device runs at once. Errors: those of a launch's shape;
    /// Errc::launch_shape_invalid too for a launch without a cluster. (cuOccupancyMaxActiveClusters)
    [[nodiscard]] Expected<std::uint32_t> active_clusters(const LaunchConfig& config) const;
    /// How much of a multiprocessor's memory should be shared memory, in percent of the most there can be,
    /// the rest being its cache; -1: as the driver likes. A hint, for all handles of the entry. Errors:
    /// Errc::argument_invalid. (CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    [[nodiscard]] Expected<void> prefer_shared_memory(std::int32_t percent) const;

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
    friend class Device;
    friend class device::Loader;
    friend class Graph;
    explicit Function(std::shared_ptr<const Data> data) : data_(std::move(data)) {}
    std::shared_ptr<const Data> data_;
};

/// The GPU driver's own assembler (its JIT): the one assembler that a machine with a driver always has, and
/// that knows the GPU in it. As nvjitlink() it assembles as relocatable, so it refuses modules with
/// setmaxnreg or wgmma. `target` may be empty: the device's. What it takes of the options: target,
/// optimisation, max_registers, line_info; Errc::assembler_not_usable for `relocatable` and for options of
/// ptxas. Its version() is the driver's. Keeps the device alive. Errors: Errc::assembler_not_usable for the
/// emulator. (cuLinkCreate)
[[nodiscard]] PTXGRAFT_API Expected<std::shared_ptr<const Assembler>> driver_jit(const Device& device);

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
