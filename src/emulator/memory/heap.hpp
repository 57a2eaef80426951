#pragma once
/// @file heap.hpp
/// The device heap: a range of global memory from which a kernel's `malloc` allocates blocks. Allocating and
/// freeing take logarithmic time in the number of blocks.

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
/// What was freed is recorded, for the text of an error: so many blocks, and so many allocations
/// (memory.hpp).
inline constexpr std::size_t most_freed = 4096;

/// A thread-safe next-fit allocator. A block follows the one before it, and when the end is reached, goes to
/// the largest free extent: freed addresses are reused late, so that a use after free is found. An operation
/// that throws std::bad_alloc changes nothing.
class Heap {
  public:
    /// Makes all addresses from `address` on free: heap_bytes of them.
    void begin(std::uint64_t address);
    /// The address of a block, 16-byte aligned; 0 when no free extent is large enough, or for 0 bytes.
    [[nodiscard]] std::uint64_t allocate(std::uint64_t bytes);
    /// False when no live block begins at the address.
    [[nodiscard]] bool free(std::uint64_t address);
    /// The size of the live block that begins at an address; 0 when there is none.
    [[nodiscard]] std::uint64_t size(std::uint64_t address) const;
    /// Whether `bytes` bytes from an address on lie in one live block.
    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t bytes) const;
    /// Describes the blocks at or near an invalid address of the heap, for the text of an error.
    [[nodiscard]] std::string surroundings(std::uint64_t address) const;

  private:
    using Extents = std::map<std::uint64_t, std::uint64_t>;           // begin to bytes
    using Sizes = std::set<std::pair<std::uint64_t, std::uint64_t>>;  // bytes and begin
    struct Freed {
        std::uint64_t begin, bytes;
    };

    void make_nodes();
    void insert_free(std::uint64_t begin, std::uint64_t bytes) noexcept;
    void remove_free(Extents::iterator extent) noexcept;
    [[nodiscard]] Extents::iterator choose_free(std::uint64_t bytes);
    void record_freed(std::uint64_t begin, std::uint64_t bytes) noexcept;

    mutable std::mutex mutex_;
    std::uint64_t next_ = 0;    // the address behind the block that was allocated last
    Extents blocks_;            // live blocks, with the bytes that were asked for
    Extents free_;              // free extents, rounded to the alignment and coalesced
    Sizes free_by_size_;        // the same extents
    std::vector<Freed> freed_;  // the most recently freed blocks
    // Tree nodes that are allocated before a change begins, so that the change itself cannot fail.
    Extents::node_type spare_block_, spare_free_;
    Sizes::node_type spare_size_;
};

}  // namespace ptxgraft::emulator
