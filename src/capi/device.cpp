// Devices, buffers, streams and events in C.

#include <span>
#include <string>
#include <vector>

#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;
using capi::get;

namespace {

static_assert(PTXGRAFT_USUAL_INSTRUCTION_BUDGET == usual_instruction_budget &&
              PTXGRAFT_USUAL_TIME_LIMIT_MS == usual_time_limit_ms &&
              PTXGRAFT_NO_INSTRUCTION_BUDGET == no_instruction_budget &&
              PTXGRAFT_NO_TIME_LIMIT == no_time_limit);

std::span<const std::byte> bytes_at(const void* data, std::size_t size) {
    return {static_cast<const std::byte*>(data), size};
}

Expected<std::vector<EmulatorExcuse>> excuses_of(const ptxgraft_device_options& given) {
    std::vector<std::string> texts;
    if (auto copied = capi::copy_strings(texts, given.excuses, given.excuse_count, "excuses", "excuse_count");
        !copied)
        return tl::unexpected(std::move(copied.error()));
    std::vector<EmulatorExcuse> result;
    for (const std::string& text : texts) {
        auto excuse = parse_excuse(text);
        if (!excuse) return tl::unexpected(std::move(excuse.error()));
        result.push_back(std::move(*excuse));
    }
    return result;
}

Expected<EmulatorOptions> emulator_options(const ptxgraft_device_options& given) {
    EmulatorOptions options;
    if (given.sm != 0) options.sm = given.sm;
    options.threads = given.threads;
    if (given.memory_size != 0) options.memory_bytes = given.memory_size;
    options.instruction_budget = given.instruction_budget;
    options.time_limit_ms = given.time_limit_ms;
    options.keep_going = given.keep_going;
    options.process_memory = given.process_memory != 0;
    if (given.shadow_size != 0) options.shadow_bytes = given.shadow_size;
    const auto checks = TRY(given.checks ? parse_checks(given.checks) : options.checks);
    options.checks = checks;
    auto excuses = excuses_of(given);
    if (!excuses) return tl::unexpected(std::move(excuses.error()));
    options.excuses = std::move(*excuses);
    return options;
}

ptxgraft_device_kind kind_of(DeviceKind kind) {
    return kind == DeviceKind::cuda ? PTXGRAFT_DEVICE_cuda : PTXGRAFT_DEVICE_emulator;
}

// They are asked for once: their strings are the device's.
Expected<const DeviceProperties*> properties_of(const ptxgraft_device& device) {
    const std::scoped_lock lock(device.properties_mutex);
    if (!device.properties) device.properties = TRY(device.device.properties());
    return &*device.properties;
}

ptxgraft_device_properties properties_info(const DeviceProperties& p) {
    ptxgraft_device_properties info = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    info.kind = kind_of(p.kind);
    info.name = p.name.c_str();
    info.uuid = p.uuid.c_str();
    info.target = p.target.c_str();
    info.driver_version = p.driver_version.c_str();
    info.memory_size = p.memory_bytes;
    info.l2_size = p.l2_bytes;
    info.persisting_l2_size = p.persisting_l2_bytes;
    info.bandwidth = p.peak_bytes_per_second();
    info.compute_major = p.compute_major;
    info.compute_minor = p.compute_minor;
    info.multiprocessors = p.multiprocessors;
    info.clock_khz = p.clock_khz;
    info.memory_clock_khz = p.memory_clock_khz;
    info.memory_bus_bits = p.memory_bus_bits;
    info.warp_size = p.warp_size;
    info.threads_per_block = p.threads_per_block;
    info.threads_per_multiprocessor = p.threads_per_multiprocessor;
    info.blocks_per_multiprocessor = p.blocks_per_multiprocessor;
    info.registers_per_block = p.registers_per_block;
    info.registers_per_multiprocessor = p.registers_per_multiprocessor;
    info.shared_size_per_block = p.shared_bytes_per_block;
    info.shared_size_per_block_optin = p.shared_bytes_per_block_optin;
    info.shared_size_per_multiprocessor = p.shared_bytes_per_multiprocessor;
    info.reserved_shared_size_per_block = p.reserved_shared_bytes_per_block;
    info.blocks_per_cluster = p.blocks_per_cluster;
    info.cooperative = p.cooperative;
    return info;
}

}  // namespace

extern "C" {

ptxgraft_status ptxgraft_device_open(ptxgraft_device** device, const char* name) {
    return call({{device, "device"}}, [&] { return capi::give(device, Device::open(name ? name : "auto")); });
}

ptxgraft_status ptxgraft_device_open_with_options(ptxgraft_device** device, const char* name,
                                                  const ptxgraft_device_options* options) {
    return call({{device, "device"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        auto emulator = emulator_options(given);
        if (!emulator) return tl::unexpected(std::move(emulator.error()));
        auto observation = capi::Observation::make(given);
        emulator->observer = observation.get();
        auto opened = TRY(Device::open(name ? name : "auto", {.emulator = std::move(*emulator)}));
        *device = new ptxgraft_device(std::move(opened), std::move(observation));
        return {};
    });
}

ptxgraft_status ptxgraft_device_open_borrowed(ptxgraft_device** device, uint64_t context) {
    return call({{device, "device"}}, [&] { return capi::give(device, Device::borrow(context)); });
}

uint64_t ptxgraft_device_get_context(const ptxgraft_device* device) {
    return get(device, "device", uint64_t{0}, [](const ptxgraft_device& d) { return d.device.context(); });
}

ptxgraft_status ptxgraft_device_set_persisting_l2(const ptxgraft_device* device, size_t size) {
    return call({{device, "device"}}, [&] { return device->device.set_persisting_l2(size); });
}

ptxgraft_status ptxgraft_device_get_persisting_l2(size_t* size, const ptxgraft_device* device) {
    return call({{size, "size"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto now = TRY(device->device.persisting_l2());
        *size = now;
        return {};
    });
}

ptxgraft_status ptxgraft_device_clear_persisting_l2(const ptxgraft_device* device) {
    return call({{device, "device"}}, [&] { return device->device.reset_persisting_l2(); });
}

size_t ptxgraft_device_get_module_count(const ptxgraft_device* device) {
    return get(device, "device", size_t{0},
               [](const ptxgraft_device& d) { return d.device.loaded_modules(); });
}

ptxgraft_status ptxgraft_timing_create(ptxgraft_timing** timing, const ptxgraft_device* device) {
    return call({{timing, "timing"}, {device, "device"}}, [&]() -> Expected<void> {
        *timing = new ptxgraft_timing{device->device.timing()};
        return {};
    });
}

void ptxgraft_timing_destroy(ptxgraft_timing* timing) { delete timing; }

ptxgraft_status ptxgraft_current_create(ptxgraft_current** current, const ptxgraft_device* device) {
    return call({{current, "current"}, {device, "device"}},
                [&] { return capi::give(current, device->device.make_current()); });
}

void ptxgraft_current_destroy(ptxgraft_current* current) { delete current; }

void ptxgraft_device_destroy(ptxgraft_device* device) { delete device; }

uint32_t ptxgraft_device_get_cuda_count(void) {
    uint32_t count = 0;
    call({}, [&]() -> Expected<void> {
        count = Device::cuda_count();
        return {};
    });
    return count;
}

ptxgraft_device_kind ptxgraft_device_get_kind(const ptxgraft_device* device) {
    return get(device, "device", PTXGRAFT_DEVICE_none,
               [](const ptxgraft_device& d) { return kind_of(d.device.kind()); });
}

const char* ptxgraft_device_get_name(const ptxgraft_device* device) {
    return get(device, "device", "", [](const ptxgraft_device& d) { return d.name.c_str(); });
}

const char* ptxgraft_device_get_target(const ptxgraft_device* device) {
    return get(device, "device", "", [](const ptxgraft_device& d) { return d.target.c_str(); });
}

ptxgraft_status ptxgraft_device_get_properties(ptxgraft_device_properties* properties,
                                               const ptxgraft_device* device) {
    return call({{properties, "properties"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto known = TRY(properties_of(*device));
        return capi::give_info(properties, properties_info(*known));
    });
}

ptxgraft_status ptxgraft_device_get_health(const ptxgraft_device* device) {
    return call({{device, "device"}}, [&]() -> Expected<void> {
        DeviceHealth health = device->device.health();
        if (health.lost) return tl::unexpected(std::move(*health.lost));
        return {};
    });
}

ptxgraft_status ptxgraft_device_synchronize(const ptxgraft_device* device) {
    return call({{device, "device"}}, [&] { return device->device.synchronize(); });
}

ptxgraft_status ptxgraft_device_take_output(char* text, size_t* size, ptxgraft_device* device) {
    return call({{size, "size"}, {device, "device"}}, [&] {
        const std::scoped_lock lock(device->output_mutex);
        device->output += device->device.take_output();
        const auto done = capi::give_text(text, size, device->output);
        if (done && text) device->output.clear();
        return done;
    });
}

ptxgraft_status ptxgraft_device_take_report(ptxgraft_report** report, ptxgraft_device* device) {
    return call({{report, "report"}, {device, "device"}}, [&]() -> Expected<void> {
        *report = new ptxgraft_report(device->device.take_report());
        return {};
    });
}

ptxgraft_status ptxgraft_buffer_create(ptxgraft_buffer** buffer, const ptxgraft_device* device, size_t size) {
    return call({{buffer, "buffer"}, {device, "device"}},
                [&] { return capi::give(buffer, device->device.allocate(size)); });
}

ptxgraft_status ptxgraft_buffer_create_borrowed(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                                uint64_t address, size_t size) {
    return call({{buffer, "buffer"}, {device, "device"}},
                [&] { return capi::give(buffer, device->device.borrow_buffer(address, size)); });
}

void ptxgraft_buffer_destroy(ptxgraft_buffer* buffer) { delete buffer; }

ptxgraft_status ptxgraft_buffer_fill_unwritten(ptxgraft_buffer* buffer, uint8_t value) {
    return call({{buffer, "buffer"}}, [&] { return buffer->buffer.poison(std::byte{value}); });
}

ptxgraft_status ptxgraft_buffer_copy(ptxgraft_buffer* buffer, const ptxgraft_buffer* source) {
    return call({{buffer, "buffer"}, {source, "source"}},
                [&] { return buffer->buffer.copy_from(source->buffer); });
}

ptxgraft_status ptxgraft_buffer_write(ptxgraft_buffer* buffer, size_t offset, const void* data, size_t size) {
    const void* const needed = size ? data : buffer;  // no bytes need no address
    return call({{buffer, "buffer"}, {needed, "data"}},
                [&] { return buffer->buffer.write(bytes_at(data, size), offset); });
}

ptxgraft_status ptxgraft_buffer_read(void* data, const ptxgraft_buffer* buffer, size_t offset, size_t size) {
    const void* const needed = size ? data : buffer;
    return call({{buffer, "buffer"}, {needed, "data"}}, [&] {
        return buffer->buffer.read({static_cast<std::byte*>(data), size}, offset);
    });
}

ptxgraft_status ptxgraft_buffer_fill(ptxgraft_buffer* buffer, uint8_t value) {
    return call({{buffer, "buffer"}}, [&] { return buffer->buffer.fill(std::byte{value}); });
}

size_t ptxgraft_buffer_get_size(const ptxgraft_buffer* buffer) {
    return get(buffer, "buffer", size_t{0}, [](const ptxgraft_buffer& b) { return b.buffer.bytes(); });
}

uint64_t ptxgraft_buffer_get_address(const ptxgraft_buffer* buffer) {
    return get(buffer, "buffer", uint64_t{0}, [](const ptxgraft_buffer& b) { return b.buffer.address(); });
}

ptxgraft_status ptxgraft_stream_create(ptxgraft_stream** stream, const ptxgraft_device* device) {
    return call({{stream, "stream"}, {device, "device"}},
                [&] { return capi::give(stream, device->device.create_stream()); });
}

ptxgraft_status ptxgraft_stream_create_with_options(ptxgraft_stream** stream, const ptxgraft_device* device,
                                                    const ptxgraft_stream_options* options) {
    return call({{stream, "stream"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto given = TRY(capi::options_of(options));
        return capi::give(stream, device->device.create_stream(
                                      {.priority = given.priority, .non_blocking = given.non_blocking != 0}));
    });
}

ptxgraft_status ptxgraft_stream_create_borrowed(ptxgraft_stream** stream, const ptxgraft_device* device,
                                                uint64_t handle) {
    return call({{stream, "stream"}, {device, "device"}},
                [&] { return capi::give(stream, device->device.borrow_stream(handle)); });
}

ptxgraft_status ptxgraft_stream_get_priorities(int32_t* least, int32_t* greatest,
                                               const ptxgraft_device* device) {
    return call({{least, "least"}, {greatest, "greatest"}, {device, "device"}}, [&]() -> Expected<void> {
        const auto priorities = TRY(device->device.stream_priorities());
        *least = priorities.least;
        *greatest = priorities.greatest;
        return {};
    });
}

uint64_t ptxgraft_stream_get_handle(const ptxgraft_stream* stream) {
    return get(stream, "stream", uint64_t{0}, [](const ptxgraft_stream& s) { return s.stream.handle(); });
}

void ptxgraft_stream_destroy(ptxgraft_stream* stream) { delete stream; }

ptxgraft_status ptxgraft_stream_synchronize(const ptxgraft_stream* stream) {
    return call({{stream, "stream"}}, [&] { return stream->stream.synchronize(); });
}

ptxgraft_status ptxgraft_event_create(ptxgraft_event** event, const ptxgraft_device* device) {
    return call({{event, "event"}, {device, "device"}},
                [&] { return capi::give(event, device->device.create_event()); });
}

void ptxgraft_event_destroy(ptxgraft_event* event) { delete event; }

ptxgraft_status ptxgraft_event_record(ptxgraft_event* event, const ptxgraft_stream* stream) {
    return call({{event, "event"}}, [&] { return event->event.record(stream ? &stream->stream : nullptr); });
}

ptxgraft_status ptxgraft_event_get_elapsed(float* milliseconds, const ptxgraft_event* start,
                                           const ptxgraft_event* end) {
    return call({{milliseconds, "milliseconds"}, {start, "start"}, {end, "end"}}, [&]() -> Expected<void> {
        const auto elapsed = TRY(end->event.elapsed_since(start->event));
        *milliseconds = elapsed;
        return {};
    });
}

}  // extern "C"
