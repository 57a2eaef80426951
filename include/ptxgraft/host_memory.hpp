#pragma once
/// @file host_memory.hpp
/// Memory of the host that kernels on the emulator work on in place, without a copy.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"

namespace ptxgraft {

struct LendOptions {
    bool read_only = false;  ///< a kernel that writes it is Errc::memory_read_only
};

/// Memory that its owner lends to an emulator. Move-only: with it the loan ends. The owner keeps the memory
/// until then, and until launches that run then have ended. Keeps the device alive.
///
/// @code
/// std::vector<float> x(1000);
/// const auto lent = ptxgraft::LentMemory::lend(device, std::as_writable_bytes(std::span(x)));
/// kernel.launch({.grid = {1000}}, lent->buffer());  // x has what the kernel wrote
/// @endcode
///
/// Threads: as Buffer; what the owner writes while a launch runs is a race like any other, which no check
/// finds.
class PTXGRAFT_API LentMemory {
  public:
    /// All of it counts as written. Errors: Errc::argument_invalid for memory that is not aligned to 16
    /// bytes, and on a GPU, which has memory of its own; Errc::out_of_device_memory.
    [[nodiscard]] static Expected<LentMemory> lend(const Device& device, std::span<std::byte> memory,
                                                   LendOptions options = {});
    LentMemory(LentMemory&&) noexcept = default;
    LentMemory& operator=(LentMemory&&) = delete;
    ~LentMemory();

    [[nodiscard]] const Buffer& buffer() const { return buffer_; }

  private:
    LentMemory(const Device& device, Buffer buffer)
        : device_(std::make_unique<Device>(device)), buffer_(std::move(buffer)) {}
    std::unique_ptr<const Device> device_;  // null: it was moved away
    Buffer buffer_;
};

}  // namespace ptxgraft
