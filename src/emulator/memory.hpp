#pragma once
/// @file memory.hpp
/// Global memory: allocations at addresses like a device's, found by binary search; and the map of generic
/// addresses.

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::emulator {

enum class Space : std::uint8_t { generic, global, constant, shared, local, param, shared_cluster };
[[nodiscard]] std::string_view name(Space space);

/// The windows of the generic address space (PTX ISA 5.1, cvta): 4 GiB each, so that no 32-bit offset leaves
/// one. Everything below them is global memory.
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t first_global_address = std::uint64_t{0x10} << 32;
inline constexpr std::uint64_t shared_window = std::uint64_t{0x7F01} << 32;
inline constexpr std::uint64_t local_window = std::uint64_t{0x7F02} << 32;
inline constexpr std::uint64_t param_window = std::uint64_t{0x7F03} << 32;
inline constexpr std::uint64_t function_window = std::uint64_t{0x7F04} << 32;
/// An address of shared memory has the rank of its CTA in the cluster, plus 1, in its upper bits; 0 stands for the CTA that uses it.
inline constexpr unsigned cluster_rank_shift = 24;
/// Where the shared memory of the CTA of a rank begins.
[[nodiscard]] constexpr std::uint64_t shared_place(std::uint32_t rank) { return (std::uint64_t{rank} + 1) << cluster_rank_shift; }
inline constexpr std::uint64_t function_stride = 16;  // bytes between the addresses of two functions

/// The window of a space; 0 where the space's addresses are generic addresses.
[[nodiscard]] std::uint64_t window(Space space);
/// The space that a generic address lies in, and the address within it.
struct Place {
    Space space;
    std::uint64_t address;
};
[[nodiscard]] Place place(std::uint64_t generic);

/// A byte of which every bit was written.
inline constexpr std::uint8_t all_bits = 0xFF;

/// One allocation.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::byte* host = nullptr;
    std::uint8_t* written = nullptr;  ///< for each byte the bits that were written; null when nothing is checked
    bool read_only = false;
    bool is_heap = false;  ///< only blocks of it are anybody's

    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t size) const {
        const std::uint64_t offset = address - begin;
        return offset < bytes && bytes - offset >= size;
    }
};

/// All allocations of one emulator. Addresses are never used twice, so a stale pointer finds nothing. While a
/// launch runs only `find` is called, except for the device heap, which is one region with an allocator of
/// its own.
class Memory {
  public:
    /// `is_checked`: it keeps which bytes were written.
    Memory(std::uint64_t limit, bool is_checked) : limit_(limit), is_checked_(is_checked) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    Expected<std::uint64_t> allocate(std::uint64_t bytes);
    Expected<void> free(std::uint64_t address);
    void protect(std::uint64_t address);  ///< makes an allocation read-only for kernels
    [[nodiscard]] const Region* find(std::uint64_t address) const;
    /// Makes bytes known as written, or as not written, where that is kept.
    void mark(std::uint64_t address, std::uint64_t bytes, bool is_written);
    /// What there is at or near an address that is in no allocation: for an error's text.
    [[nodiscard]] std::string surroundings(std::uint64_t address) const;
    /// The host bytes of a range inside one allocation; null when it is not.
    [[nodiscard]] std::byte* host(std::uint64_t address, std::uint64_t bytes) const;

    /// The device's `malloc`: 16-byte aligned, null when the heap is full. Thread-safe.
    std::uint64_t heap_allocate(std::uint64_t bytes);
    /// The device's `free`: false when the address is no live heap block.
    bool heap_free(std::uint64_t address);
    /// Of a block that was not freed; else 0.
    [[nodiscard]] std::uint64_t heap_size(std::uint64_t address) const;
    /// Whether an address of the heap is in a live block, with `bytes` bytes.
    [[nodiscard]] bool heap_holds(std::uint64_t address, std::uint64_t bytes) const;
    /// Reserves the heap; before a launch of a module that calls `malloc`.
    Expected<void> reserve_heap();

  private:
    static void release(const Region& region);

    std::vector<Region> regions_;  // by address
    std::vector<Region> freed_;    // the last ones, without their bytes
    std::uint64_t limit_;
    bool is_checked_;
    std::uint64_t used_ = 0;
    std::uint64_t next_ = first_global_address;
    struct Block {
        std::uint64_t begin, bytes;
    };
    [[nodiscard]] std::uint64_t heap_gap(std::uint64_t from, std::uint64_t bytes) const;
    [[nodiscard]] std::string heap_surroundings(std::uint64_t address) const;

    mutable std::mutex heap_mutex_;
    std::uint64_t heap_ = 0;
    std::uint64_t heap_next_ = 0;                         // behind the last block: what is freed stays free for long
    std::map<std::uint64_t, std::uint64_t> heap_blocks_;  // address to bytes
    std::vector<Block> heap_freed_;                       // the last ones
};

}  // namespace ptxgraft::emulator
