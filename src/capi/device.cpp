#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "capi/boundary.hpp"
#include "capi/objects.hpp"
#include "ptxgraft/tolerance.hpp"

using namespace ptxgraft;
using capi::call;

namespace {

std::span<const std::byte> bytes_at(const void* data, std::size_t size) {
    return {static_cast<const std::byte*>(data), size};
}

template <class T>
std::vector<T> list(const T* numbers, std::size_t count) {
    return numbers ? std::vector<T>(numbers, numbers + count) : std::vector<T>();
}

Expected<TensorMapOptions> tensor_map_options(const ptxgraft_tensor_map_options& given) {
    if (given.rank < 1 || given.rank > 5)
        return fail(Errc::tensor_map_invalid, "rank is " + std::to_string(given.rank) + "; it is 1 to 5");
    if (!given.dims || !given.box) return fail(Errc::invalid_argument, std::string("dims or box is null"));
    return TensorMapOptions{.type = static_cast<TensorType>(given.type),
                            .address = given.offset,
                            .dims = list(given.dims, given.rank),
                            .strides = list(given.strides, given.rank - 1),
                            .box = list(given.box, given.rank),
                            .element_strides = list(given.element_strides, given.rank),
                            .interleave = static_cast<TensorInterleave>(given.interleave),
                            .swizzle = static_cast<TensorSwizzle>(given.swizzle),
                            .l2 = static_cast<TensorL2Promotion>(given.l2_promotion),
                            .fill = static_cast<TensorFill>(given.fill)};
}

EmulatorOptions emulator_options(const ptxgraft_device_options& given) {
    EmulatorOptions options;
    if (given.sm != 0) options.sm = given.sm;
    options.threads = given.threads;
    if (given.memory_size != 0) options.memory_bytes = given.memory_size;
    options.instruction_budget = given.instruction_budget;
    options.time_limit_ms = given.time_limit_ms;
    options.fast = given.fast != 0;
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
        const auto given = capi::options_of(options, ptxgraft_device_options PTXGRAFT_DEVICE_OPTIONS_INIT);
        if (!given) return tl::unexpected(given.error());
        return capi::give(device, Device::open(name ? name : "auto", {.emulator = emulator_options(*given)}));
    });
}

void ptxgraft_device_destroy(ptxgraft_device* device) { delete device; }

ptxgraft_status ptxgraft_device_get_kind(ptxgraft_device_kind* kind, const ptxgraft_device* device) {
    return call({{kind, "kind"}, {device, "device"}}, [&] {
        const bool is_cuda = device->device.kind() == DeviceKind::cuda;
        return capi::give_value(kind, is_cuda ? PTXGRAFT_DEVICE_CUDA : PTXGRAFT_DEVICE_EMULATOR);
    });
}

ptxgraft_status ptxgraft_device_get_name(char* text, size_t* size, const ptxgraft_device* device) {
    return call({{size, "size"}, {device, "device"}},
                [&] { return capi::give_text(text, size, device->device.name()); });
}

ptxgraft_status ptxgraft_device_get_target(char* text, size_t* size, const ptxgraft_device* device) {
    return call({{size, "size"}, {device, "device"}},
                [&] { return capi::give_text(text, size, device->device.target()); });
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

ptxgraft_status ptxgraft_cuda_count(uint32_t* count) {
    return call({{count, "count"}}, [&] { return capi::give_value(count, Device::cuda_count()); });
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

ptxgraft_status ptxgraft_buffer_get_size(size_t* size, const ptxgraft_buffer* buffer) {
    return call({{size, "size"}, {buffer, "buffer"}},
                [&] { return capi::give_value(size, buffer->buffer.bytes()); });
}

ptxgraft_status ptxgraft_buffer_get_address(uint64_t* address, const ptxgraft_buffer* buffer) {
    return call({{address, "address"}, {buffer, "buffer"}},
                [&] { return capi::give_value(address, buffer->buffer.address()); });
}

ptxgraft_status ptxgraft_tensor_map_encode(ptxgraft_tensor_map* map, const ptxgraft_buffer* buffer,
                                           const ptxgraft_tensor_map_options* options) {
    return call({{map, "map"}, {buffer, "buffer"}, {options, "options"}}, [&]() -> Expected<void> {
        const auto given = capi::options_of(options, ptxgraft_tensor_map_options PTXGRAFT_TENSOR_MAP_OPTIONS_INIT);
        if (!given) return tl::unexpected(given.error());
        auto wanted = tensor_map_options(*given);
        if (!wanted) return tl::unexpected(wanted.error());
        const auto encoded = buffer->buffer.encode_tensor_map(std::move(*wanted));
        if (!encoded) return tl::unexpected(encoded.error());
        static_assert(sizeof *map == sizeof *encoded);
        std::memcpy(map, &*encoded, sizeof *map);
        return {};
    });
}

ptxgraft_status ptxgraft_legal_sum(double* lowest, double* highest, ptxgraft_product_type type,
                                   ptxgraft_accumulator_type accumulator, uint64_t products, double exact,
                                   double magnitudes) {
    return call({{lowest, "lowest"}, {highest, "highest"}}, [&]() -> Expected<void> {
        if (static_cast<unsigned>(type) > PTXGRAFT_PRODUCT_e5m2)
            return fail(Errc::invalid_argument, "type is " + std::to_string(type) + "; it is 0 to 4");
        if (static_cast<unsigned>(accumulator) > PTXGRAFT_ACCUMULATOR_f16)
            return fail(Errc::invalid_argument, "accumulator is " + std::to_string(accumulator) + "; it is 0 or 1");
        static_assert(static_cast<int>(ProductType::e5m2) == PTXGRAFT_PRODUCT_e5m2 && static_cast<int>(AccumulatorType::f16) == PTXGRAFT_ACCUMULATOR_f16);
        const SumBounds bounds = legal_sum({.type = static_cast<ProductType>(type),
                                            .accumulator = static_cast<AccumulatorType>(accumulator),
                                            .products = products},
                                           exact, magnitudes);
        *lowest = bounds.lowest;
        *highest = bounds.highest;
        return {};
    });
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
        const auto elapsed = end->event.elapsed_since(start->event);
        if (!elapsed) return tl::unexpected(elapsed.error());
        return capi::give_value(milliseconds, *elapsed);
    });
}

}  // extern "C"
