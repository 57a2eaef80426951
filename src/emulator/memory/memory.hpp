#pragma once
/// @file memory.hpp
/// Global memory: allocations at addresses like a device's, found by binary search; and the map of generic
/// addresses.

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/memory/heap.hpp"
#include "ptxgraft/error.hpp"
#include "syntax/spaces.hpp"

namespace ptxgraft::emulator {

using syntax::Space;
[[nodiscard]] inline std::string_view name(Space space) { return syntax::row(space).name; }

/// The windows of the generic address space (PTX ISA 5.1, cvta): 4 GiB each, so that no 32-bit offset leaves
/// one. Everything below them is global memory.
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t first_global_address = std::uint64_t{0x10} << 32;
inline constexpr std::uint64_t shared_window = std::uint64_t{0x7F01} << 32;
inline constexpr std::uint64_t local_window = std::uint64_t{0x7F02} << 32;
inline constexpr std::uint64_t param_window = std::uint64_t{0x7F03} << 32;
inline constexpr std::uint64_t function_window = std::uint64_t{0x7F04} << 32;
/// An address of shared memory has the rank of its CTA in the cluster, plus 1, in its upper bits; 0 stands
/// for the CTA that uses it.
inline constexpr unsigned cluster_rank_shift = 24;
/// Where the shared memory of the CTA of a rank begins.
[[nodiscard]] constexpr std::uint64_t shared_place(std::uint32_t rank) {
    return (std::uint64_t{rank} + 1) << cluster_rank_shift;
}
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
    /// for each byte the bits that were written; null when nothing is checked
    std::uint8_t* written = nullptr;
    bool read_only = false;
    bool is_heap = false;   ///< only blocks of it are anybody's
    bool is_freed = false;  ///< it goes when nobody uses the memory; only Memory looks at this

    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t size) const {
        const std::uint64_t offset = address - begin;
        return offset < bytes && bytes - offset >= size;
    }
};

/// All allocations of one emulator. Addresses are never used twice, so a stale pointer finds nothing.
///
/// Any thread may reserve, add and free allocations at any time. Their bytes belong to one user at a time, a
/// launch or a copy: who that is, the emulator's owner decides. While a Use lives, the regions that `find`
/// looks at stay as they are; what others add or free meanwhile comes and goes at its end.
class Memory {
  public:
    /// `is_checked`: it keeps which bytes were written.
    Memory(std::uint64_t limit, bool is_checked) : limit_(limit), is_checked_(is_checked) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // --- at any time, from any thread

    /// Bytes that are zero, at an address of their own. They are the caller's, to add or to give back.
    Expected<Region> reserve(std::uint64_t bytes);
    void give_back(const Region& region) noexcept;
    void add(const Region& region);
    /// Bytes that are part of the memory.
    Expected<std::uint64_t> allocate(std::uint64_t bytes);
    Expected<void> free(std::uint64_t address);
    /// False, and nothing is freed: there is no allocation at the address.
    bool try_free(std::uint64_t address) noexcept;
    /// Reserves the heap, once; before a launch of a module that calls `malloc`.
    Expected<void> reserve_heap();

    // --- by the one who uses the bytes

    class Use {
      public:
        explicit Use(Memory& memory) : memory_(memory) { memory_.begin_use(); }
        ~Use() { memory_.end_use(); }
        Use(const Use&) = delete;
        Use& operator=(const Use&) = delete;

      private:
        Memory& memory_;
    };
    [[nodiscard]] const Region* find(std::uint64_t address) const;
    /// Makes bytes known as written, or as not written, where that is kept.
    void mark(std::uint64_t address, std::uint64_t bytes, bool is_written);
    /// The same, as the bytes at another address are.
    void copy_marks(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);
    /// What there is at or near an address that is in no allocation: for an error's text.
    [[nodiscard]] std::string surroundings(std::uint64_t address) const;
    /// The host bytes of a range inside one allocation; null when it is not.
    [[nodiscard]] std::byte* host(std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] Heap& heap() { return heap_; }

  private:
    using Regions = std::vector<Region>;

    void begin_use();
    void end_use() noexcept;
    void settle();
    void sweep() noexcept;
    void release(const Region& region) noexcept;
    void remember(const Region& region) noexcept;
    [[nodiscard]] static Regions::iterator at(Regions& regions, std::uint64_t address);
    static void insert(Regions& regions, const Region& region);

    Regions regions_;  // by address
    const std::uint64_t limit_;
    const bool is_checked_;
    Heap heap_;
    std::mutex heap_mutex_;  // while it is reserved
    bool has_heap_ = false;

    mutable std::mutex
        mutex_;  // of all below, and of changes of the regions, which are none while they are in use
    bool is_in_use_ = false, has_freed_ = false;
    Regions added_;  // while the others are in use
    Regions gone_;   // the last ones that were freed, without their bytes
    std::uint64_t used_ = 0;
    std::uint64_t next_ = first_global_address;
};

/// The variables of a module: its own while it is decoded, then part of a memory, and freed with this object.
class ModuleVariables {
  public:
    explicit ModuleVariables(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
    ~ModuleVariables();
    ModuleVariables(const ModuleVariables&) = delete;
    ModuleVariables& operator=(const ModuleVariables&) = delete;

    /// The region stays where it is, and may be changed until add().
    Expected<Region*> reserve(std::uint64_t bytes);
    /// From here on launches find them.
    void add();
    [[nodiscard]] const std::shared_ptr<Memory>& memory() const { return memory_; }
    [[nodiscard]] const std::deque<Region>& regions() const { return regions_; }

  private:
    std::shared_ptr<Memory> memory_;
    std::deque<Region> regions_;
    std::size_t added_ = 0;
};

}  // namespace ptxgraft::emulator
