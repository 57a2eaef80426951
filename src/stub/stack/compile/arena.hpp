#pragma once
// The caller's memory, dealt out from the front.

#include <cstddef>
#include <cstdint>
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

}  // namespace ptxgraft::stack
