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
    const auto checks = TRY(given.checks ? parse_checks(given.checks) : options.checks);
    options.checks = checks;
    auto excuses = excuses_of(given);
    if (!excuses) return tl::unexpected(std::move(excuses.error()));
    options.excuses = std::move(*excuses);
    return options;
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
        return capi::give(device, Device::open(name ? name : "auto", {.emulator = std::move(*emulator)}));
    });
}

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
    return get(device, "device", PTXGRAFT_DEVICE_none, [](const ptxgraft_device& d) {
        return d.device.kind() == DeviceKind::cuda ? PTXGRAFT_DEVICE_cuda : PTXGRAFT_DEVICE_emulator;
    });
}

const char* ptxgraft_device_get_name(const ptxgraft_device* device) {
    return get(device, "device", "", [](const ptxgraft_device& d) { return d.name.c_str(); });
}

const char* ptxgraft_device_get_target(const ptxgraft_device* device) {
    return get(device, "device", "", [](const ptxgraft_device& d) { return d.target.c_str(); });
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

void ptxgraft_buffer_destroy(ptxgraft_buffer* buffer) { delete buffer; }

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
