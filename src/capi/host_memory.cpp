// Host memory that is lent to the emulator, in C.

#include "ptxgraft/host_memory.hpp"
#include "base/try.hpp"
#include "capi/boundary.hpp"
#include "capi/objects.hpp"

using namespace ptxgraft;
using capi::call;

struct ptxgraft_host_memory {
    LentMemory lent;
    ptxgraft_buffer buffer;
};

extern "C" {

ptxgraft_status ptxgraft_host_memory_create(ptxgraft_host_memory** lent, const ptxgraft_device* device,
                                            void* memory, size_t size, uint32_t read_only) {
    const void* const needed = size ? memory : device;  // no bytes need no address
    return call({{lent, "lent"}, {device, "device"}, {needed, "memory"}}, [&]() -> Expected<void> {
        auto made = LentMemory::lend(device->device, {static_cast<std::byte*>(memory), size},
                                     {.read_only = read_only != 0});
        if (!made) return tl::unexpected(std::move(made.error()));
        auto buffer = device->device.borrow_buffer(made->buffer().address(), size);
        if (!buffer) return tl::unexpected(std::move(buffer.error()));
        *lent = new ptxgraft_host_memory{std::move(*made), {std::move(*buffer)}};
        return {};
    });
}

void ptxgraft_host_memory_destroy(ptxgraft_host_memory* lent) { delete lent; }

ptxgraft_buffer* ptxgraft_host_memory_get_buffer(ptxgraft_host_memory* lent) {
    call({{lent, "lent"}}, [] { return Expected<void>(); });
    return lent ? &lent->buffer : nullptr;
}

}  // extern "C"
