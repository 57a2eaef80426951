// Host memory that is lent to the emulator.
#include "ptxgraft/host_memory.hpp"

#include "base/try.hpp"
#include "device/backend.hpp"

namespace ptxgraft {

Expected<LentMemory> LentMemory::lend(const Device& device, std::span<std::byte> memory,
                                      LendOptions options) {
    std::uint64_t address = 0;  // of no bytes
    if (!memory.empty()) {
        const auto lent = TRY(device::Loader::backend(device).borrow_host(memory, options.read_only));
        address = lent;
    }
    auto buffer = device.borrow_buffer(address, memory.size());
    if (!buffer) return tl::unexpected(std::move(buffer.error()));
    return LentMemory(device, std::move(*buffer));
}

LentMemory::~LentMemory() {
    if (device_ && buffer_.bytes() != 0) device::Loader::backend(*device_).free(buffer_.address());
}

}  // namespace ptxgraft
