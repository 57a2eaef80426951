// What somebody else owns, in C.

#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

extern "C" {

ptxgraft_status ptxgraft_device_borrow(ptxgraft_device** device, uint64_t context) {
    return call({{device, "device"}}, [&] { return capi::give(device, Device::borrow(context)); });
}

ptxgraft_status ptxgraft_stream_borrow(ptxgraft_stream** stream, const ptxgraft_device* device,
                                       uint64_t handle) {
    return call({{stream, "stream"}, {device, "device"}},
                [&] { return capi::give(stream, device->device.borrow_stream(handle)); });
}

ptxgraft_status ptxgraft_buffer_borrow(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                       uint64_t address, size_t size) {
    return call({{buffer, "buffer"}, {device, "device"}},
                [&] { return capi::give(buffer, device->device.borrow_buffer(address, size)); });
}

ptxgraft_status ptxgraft_buffer_borrow_host(ptxgraft_buffer** buffer, const ptxgraft_device* device,
                                            void* memory, size_t size, uint32_t read_only) {
    const void* const needed = size ? memory : buffer;  // no bytes need no address
    return call({{buffer, "buffer"}, {device, "device"}, {needed, "memory"}}, [&]() -> Expected<void> {
        auto lent = LentMemory::lend(device->device, {static_cast<std::byte*>(memory), size},
                                     {.read_only = read_only != 0});
        if (!lent) return tl::unexpected(std::move(lent.error()));
        auto kept = std::make_unique<const LentMemory>(std::move(*lent));
        auto seen = device->device.borrow_buffer(kept->buffer().address(), size);
        if (!seen) return tl::unexpected(std::move(seen.error()));
        *buffer = new ptxgraft_buffer{std::move(*seen), std::move(kept)};
        return {};
    });
}

}  // extern "C"
