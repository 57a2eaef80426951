#pragma once
/// @file heap.hpp
/// The device's heap: a stretch of global memory whose blocks a kernel's `malloc` hands out and `free` takes
/// back. Both take logarithmic time in the number of blocks.

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace ptxgraft::emulator {

/// Bytes of the heap: CUDA's default cudaLimitMallocHeapSize.
inline constexpr std::uint64_t heap_bytes = std::uint64_t{8} << 20;

/// Thread-safe. A block that was freed stays free for long, so that a use after free finds nothing: the next
/// block is behind the last one, and where there is no room any more, in the widest gap. What throws
/// std::bad_alloc changes nothing.
class Heap {
  public:
    /// Gives it its addresses, all of which are free.
    void begin(std::uint64_t address);
    /// 16-byte aligned; 0 when no gap is wide enough, or for no bytes.
    [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes);
    /// False when the address is no live block's.
    [[nodiscard]] bool free(std::uint64_t address);
    /// Of a live block; else 0.
    [[nodiscard]] std::uint64_t size(std::uint64_t address) const;
    /// Whether an address is in a live block, with `bytes` bytes.
    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
    /// What there is at or near an address of the heap that is in no live block: for an error's text.
    [[nodiscard]] std::string surroundings(std::uint64_t address) const;

  private:
    using Extents = std::map<std::uint64_t, std::uint64_t>;           // begin to bytes
    using Sizes = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // bytes and begin
    struct Freed {
        std::uint64_t begin, bytes;
    };

    void make_nodes();
    void put_gap(std::uint64_t begin, std::uint64_t bytes) noexcept;
    void take_gap(Extents::iterator gap) noexcept;
    [[nodiscard]] Extents::iterator choose(std::uint64_t bytes);
    void remember(std::uint64_t begin, std::uint64_t bytes) noexcept;

    mutable std::mutex mutex_;
    std::uint64_t next_ = 0;    // behind the last block
    Extents blocks_;            // with the bytes that were asked for
    Extents gaps_;              // in whole units, no two of them adjacent
    Sizes by_size_;             // the same ones
    std::vector<Freed> freed_;  // the last ones
    // A change takes its nodes from here, where they are made before it begins: it cannot fail halfway.
    Extents::node_type spare_block_, spare_gap_;
    Sizes::node_type spare_size_;
};

}  // namespace ptxgraft::emulator
