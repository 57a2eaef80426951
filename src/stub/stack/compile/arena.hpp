#pragma once
// The caller's memory, dealt out from the front.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <span>

namespace ptxgraft::stack {

class Arena {
  public:
    explicit Arena(std::span<std::byte> memory) : at_(memory.data()), end_(memory.data() + memory.size()) {}

    /// Room for `count` elements, not initialised. The caller has counted: there is always enough.
    template <class T> T* take(std::uint64_t count) {
        at_ += (alignment - reinterpret_cast<std::uintptr_t>(at_) % alignment) % alignment;
        T* const begin = reinterpret_cast<T*>(at_);
        at_ += count * sizeof(T);
        return begin;
    }
    template <class T> static constexpr std::uint64_t bytes(std::uint64_t count) {
        return count * sizeof(T) + alignment;
    }
    [[nodiscard]] std::span<std::byte> rest() const { return {at_, end_}; }

  private:
    static constexpr std::uint64_t alignment = 64;
    std::byte* at_;
    std::byte* end_;
};

/// Memory that is kept between uses and at most twice what the largest of them needed.
class GrowingMemory {
  public:
    /// At least `needed` bytes, whatever stood there before; empty where there is not so much.
    std::span<std::byte> room(std::size_t needed) {
        if (needed > size_) {
            size_ = 0;
            memory_.reset();
            memory_.reset(new (std::nothrow) std::byte[std::bit_ceil(needed)]);
            if (memory_ == nullptr) return {};
            size_ = std::bit_ceil(needed);
        }
        return {memory_.get(), size_};
    }

  private:
    std::unique_ptr<std::byte[]> memory_;
    std::size_t size_ = 0;
};

}  // namespace ptxgraft::stack
