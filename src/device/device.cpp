// Device by name (`auto`, `cuda:1`, `emulator:sm_80`), its buffers, streams and events, for either backend.

#include "ptxgraft/device.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "base/host_memory.hpp"
#include "device/backend.hpp"
#include "device/emulated_entry.hpp"
#include "ptxgraft/graph.hpp"
#include "tensor/tensor_map.hpp"

namespace ptxgraft {
namespace {

std::optional<std::uint32_t> read_number(std::string_view text) {
    std::uint32_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return value;
}

tl::unexpected<Error> unknown_device(std::string_view name) {
    return fail(Errc::device_unknown,
                fmt::format("\"{}\"; there are auto, cuda, cuda:N, emulator, emulator:sm_80, emulator:fast, "
                            "emulator:sm_80:fast, emulator:checks=-races",
                            name));
}

// `said`: the architecture in the caller's words.
Expected<std::unique_ptr<device::Backend>> open_emulator(EmulatorOptions options, Architecture architecture,
                                                         std::string_view said) {
    if (!is_emulated(architecture.sm) || first_version(architecture) == 0)
        return fail(Errc::device_unknown,
                    fmt::format("{}; architectures are {}", said, emulated_architectures()));
    options.sm = architecture.sm;
    return device::open_emulator(options, architecture);
}

Expected<std::unique_ptr<device::Backend>> open_backend(std::string_view name, const DeviceOptions& options) {
    const std::string& driver = options.driver;
    EmulatorOptions emulator = options.emulator;
    if (constexpr std::string_view fast = ":fast"; name.starts_with("emulator") && name.ends_with(fast)) {
        emulator.fast = true;
        name.remove_suffix(fast.size());
    }
    if (constexpr std::string_view word = ":checks=";
        name.starts_with("emulator") && name.find(word) != std::string_view::npos) {
        const auto checks = parse_checks(name.substr(name.find(word) + word.size()));
        if (!checks)
            return fail(Errc::device_unknown, fmt::format("\"{}\"; {}", name, message(checks.error())));
        emulator.checks = *checks;
        name = name.substr(0, name.find(word));
    }
    if (name == "auto") {
        const auto count = device::count_cuda(driver);
        return open_backend(count && *count > 0 ? "cuda:0" : "emulator", options);
    }
    if (name == "cuda") return device::open_cuda(0, driver);
    if (name == "emulator")
        return open_emulator(emulator, whole_architecture(emulator.sm),
                             fmt::format("EmulatorOptions::sm is {}", emulator.sm));
    if (name.starts_with("cuda:")) {
        const auto ordinal = read_number(name.substr(5));
        return ordinal ? device::open_cuda(*ordinal, driver) : unknown_device(name);
    }
    if (!name.starts_with("emulator:")) return unknown_device(name);
    return open_emulator(emulator, find_architecture(name.substr(9)).value_or(Architecture{}), name);
}

tl::unexpected<Error> other_device(std::string what) { return fail(Errc::device_differs, std::move(what)); }

}  // namespace

// --- Device

Expected<Device> Device::open(std::string_view name, const DeviceOptions& options) {
    return or_out_of_memory([&]() -> Expected<Device> {
        auto backend = TRY(open_backend(name, options));
        return Device(std::make_shared<Data>(Data{std::move(backend)}));
    });
}

Expected<Device> Device::emulator(const EmulatorOptions& options) {
    return open("emulator", {.emulator = options});
}

Expected<Device> Device::borrow(std::uint64_t context, const DeviceOptions& options) {
    return or_out_of_memory([&]() -> Expected<Device> {
        auto backend = TRY(device::borrow_cuda(context, options.driver));
        return Device(std::make_shared<Data>(Data{std::move(backend)}));
    });
}

Expected<std::vector<DeviceProperties>> Device::list_cuda(const DeviceOptions& options) {
    return or_out_of_memory([&] { return device::list_cuda(options.driver); });
}

std::vector<DeviceProperties> Device::list_emulated() {
    std::vector<DeviceProperties> all;
    for (const std::uint32_t sm : emulated_numbers())
        all.push_back(device::emulated_properties(whole_architecture(sm), EmulatorOptions().memory_bytes));
    return all;
}

std::uint32_t Device::cuda_count(const DeviceOptions& options) {
    return device::count_cuda(options.driver).value_or(0);
}

DeviceKind Device::kind() const { return data_->backend->kind(); }
std::string Device::name() const { return data_->backend->name(); }
std::string Device::target() const { return ptxgraft::name(data_->backend->architecture()); }
std::string Device::driver_version() const { return data_->backend->driver_version(); }
Expected<DeviceProperties> Device::properties() const {
    return or_out_of_memory([&] { return data_->backend->properties(); });
}
DeviceHealth Device::health() const { return data_->backend->health(); }
std::uint64_t Device::context() const { return data_->backend->context(); }
std::size_t Device::loaded_modules() const { return data_->backend->loaded_modules(); }
Expected<void> Device::set_persisting_l2(std::size_t bytes) const {
    return data_->backend->set_persisting_l2(bytes);
}
Expected<std::size_t> Device::persisting_l2() const { return data_->backend->persisting_l2(); }
Expected<void> Device::reset_persisting_l2() const { return data_->backend->reset_persisting_l2(); }
Expected<void> Device::synchronize() const { return data_->backend->synchronize(); }
std::string Device::take_output() const { return data_->backend->take_output(); }
EmulatorReport Device::take_report() const { return data_->backend->take_report(); }

Expected<CurrentDevice> Device::make_current() const {
    const std::uint64_t before = TRY(data_->backend->make_current());
    return CurrentDevice(data_, before);
}
CurrentDevice::~CurrentDevice() {
    if (device_) device_->backend->end_current(before_);
}

TimingGuard Device::timing() const { return TimingGuard(data_); }
TimingGuard::TimingGuard(std::shared_ptr<Device::Data> device) : device_(std::move(device)) {
    device_->backend->begin_timing();
}
TimingGuard::~TimingGuard() {
    if (device_) device_->backend->end_timing();
}

Expected<Buffer> Device::borrow_buffer(std::uint64_t address, std::size_t bytes) const {
    if (bytes != 0 && (address == 0 || bytes - 1 > UINT64_MAX - address))
        return fail(Errc::argument_invalid, fmt::format("no memory: {} bytes from {:#x}", bytes, address));
    Buffer buffer(data_, address, bytes);
    buffer.borrowed_ = true;
    return buffer;
}

Expected<Buffer> Device::allocate(std::size_t bytes) const {
    if (bytes == 0) return Buffer(data_, 0, 0);
    auto address = TRY(data_->backend->allocate(bytes));
    return Buffer(data_, address, bytes);
}

namespace {

Expected<TensorMap> encode(device::Backend& backend, const TensorMapOptions& options) {
    // Checked here for every device: a driver only says that some value is wrong.
    if (auto possible = tensor::encode(options); !possible) return possible;
    if (backend.architecture().sm < 90)
        return fail(Errc::tensor_map_invalid,
                    fmt::format("tensor maps need sm_90; this device is {}", name(backend.architecture())));
    return backend.encode_tensor_map(options);
}

}  // namespace

Expected<TensorMap> Device::encode_tensor_map(const TensorMapOptions& options) const {
    return or_out_of_memory([&] { return encode(*data_->backend, options); });
}

Expected<Stream> Device::create_stream(const StreamOptions& options) const {
    auto handle = TRY(data_->backend->create_stream(options));
    return Stream(data_, handle);
}

Expected<Stream> Device::borrow_stream(std::uint64_t handle) const {
    TRY(data_->backend->check_stream(handle));
    Stream stream(data_, handle);
    stream.borrowed_ = true;
    return stream;
}

Expected<StreamPriorities> Device::stream_priorities() const { return data_->backend->stream_priorities(); }

Expected<std::shared_ptr<const Assembler>> driver_jit(const Device& device) {
    return or_out_of_memory([&] { return device::Loader::backend(device).jit(); });
}

Expected<Event> Device::create_event() const {
    auto handle = or_out_of_memory([&] { return data_->backend->create_event(); });
    if (!handle) return tl::unexpected(handle.error());
    return Event(data_, *handle);
}

// --- Buffer

Argument::Argument(const Buffer& buffer)
    : Argument(std::as_bytes(std::span(&buffer.address_, 1)), buffer.device_.get()) {}

Argument::Argument(std::span<const std::byte> bytes, const void* device)
    : device_(device), size_(bytes.size()) {
    if (size_ <= few_.size())
        std::copy(bytes.begin(), bytes.end(), few_.begin());
    else
        many_.assign(bytes.begin(), bytes.end());
}

Buffer::Buffer(std::shared_ptr<Device::Data> device, std::uint64_t address, std::size_t bytes)
    : device_(std::move(device)), address_(address), bytes_(bytes) {}
Buffer::Buffer(Buffer&& other) noexcept
    : device_(std::move(other.device_)),
      module_(std::move(other.module_)),
      address_(std::exchange(other.address_, 0)),
      bytes_(std::exchange(other.bytes_, 0)),
      borrowed_(other.borrowed_) {}
Buffer& Buffer::operator=(Buffer&& other) noexcept {
    if (this == &other) return *this;
    release();
    device_ = std::move(other.device_);
    module_ = std::move(other.module_);
    address_ = std::exchange(other.address_, 0);
    bytes_ = std::exchange(other.bytes_, 0);
    borrowed_ = other.borrowed_;
    return *this;
}
Buffer::~Buffer() { release(); }
void Buffer::release() noexcept {
    if (device_ && !module_ && !borrowed_ && bytes_ != 0) device_->backend->free(address_);
}

namespace {

Expected<void> check_range(std::size_t offset, std::size_t bytes, std::size_t size) {
    if (offset <= size && bytes <= size - offset) return {};
    return fail(Errc::buffer_exceeded,
                fmt::format("{} bytes from byte {} of a buffer of {}", bytes, offset, size));
}

}  // namespace

Expected<void> Buffer::write(std::span<const std::byte> source, std::size_t offset) const {
    if (auto inside = check_range(offset, source.size(), bytes_); !inside || source.empty()) return inside;
    return device_->backend->write(address_ + offset, source);
}

Expected<void> Buffer::read(std::span<std::byte> target, std::size_t offset) const {
    if (auto inside = check_range(offset, target.size(), bytes_); !inside || target.empty()) return inside;
    return device_->backend->read(address_ + offset, target);
}

Expected<TensorMap> Buffer::encode_tensor_map(TensorMapOptions options) const {
    if (options.address > bytes_)
        return fail(Errc::buffer_exceeded,
                    fmt::format("a tensor from byte {} of a buffer of {}", options.address, bytes_));
    options.address += address_;
    return encode(*device_->backend, options);
}

Expected<void> Buffer::fill(std::byte value) const {
    if (bytes_ == 0) return {};
    return device_->backend->fill(address_, value, bytes_);
}

Expected<void> Buffer::poison(std::byte value) const {
    if (bytes_ == 0) return {};
    return device_->backend->poison(address_, value, bytes_);
}

Expected<void> Buffer::copy_from(const Buffer& source) const {
    if (source.device_ != device_) return other_device("the source of the copy");
    if (source.bytes_ != bytes_)
        return fail(Errc::buffer_exceeded,
                    fmt::format("a copy of {} bytes into a buffer of {}", source.bytes_, bytes_));
    if (bytes_ == 0) return {};
    return device_->backend->copy(address_, source.address_, bytes_);
}

// --- Stream

Stream::Stream(std::shared_ptr<Device::Data> device, std::uint64_t handle)
    : device_(std::move(device)), handle_(handle) {}
Stream::Stream(Stream&& other) noexcept
    : device_(std::move(other.device_)),
      handle_(std::exchange(other.handle_, 0)),
      borrowed_(other.borrowed_),
      capture_(std::move(other.capture_)) {}
Stream& Stream::operator=(Stream&& other) noexcept {
    if (this == &other) return *this;
    release();
    device_ = std::move(other.device_);
    handle_ = std::exchange(other.handle_, 0);
    borrowed_ = other.borrowed_;
    capture_ = std::move(other.capture_);
    return *this;
}
Stream::~Stream() { release(); }
void Stream::release() noexcept {
    capture_.reset();
    if (device_ && !borrowed_ && handle_ != 0) device_->backend->destroy_stream(handle_);
}
Expected<void> Stream::synchronize() const {
    TRY(check_not_captured("to wait for it"));
    return device_->backend->synchronize_stream(handle_);
}
Expected<void> Stream::check_not_captured(std::string_view what) const {
    if (!is_captured()) return {};
    return fail(Errc::argument_invalid, fmt::format("the stream is captured, and {} is not possible", what));
}

// --- Event

Event::Event(std::shared_ptr<Device::Data> device, std::uint64_t handle)
    : device_(std::move(device)), handle_(handle) {}
Event::Event(Event&& other) noexcept
    : device_(std::move(other.device_)),
      handle_(std::exchange(other.handle_, 0)),
      recorded_(std::exchange(other.recorded_, false)) {}
Event& Event::operator=(Event&& other) noexcept {
    if (this == &other) return *this;
    release();
    device_ = std::move(other.device_);
    handle_ = std::exchange(other.handle_, 0);
    recorded_ = std::exchange(other.recorded_, false);
    return *this;
}
Event::~Event() { release(); }
void Event::release() noexcept {
    if (device_ && handle_ != 0) device_->backend->destroy_event(handle_);
}

Expected<void> Event::record(const Stream* stream) {
    if (stream != nullptr && stream->device_ != device_) return other_device("the stream of an event");
    if (stream != nullptr) TRY(stream->check_not_captured("to record an event there"));
    auto done = device_->backend->record_event(handle_, stream == nullptr ? 0 : stream->handle_);
    recorded_ = recorded_ || done;
    return done;
}

Expected<float> Event::elapsed_since(const Event& start) const {
    if (!recorded_ || !start.recorded_) return fail(Errc::event_not_recorded);
    if (start.device_ != device_) return other_device("the start event");
    return device_->backend->elapsed(start.handle_, handle_);
}

}  // namespace ptxgraft
