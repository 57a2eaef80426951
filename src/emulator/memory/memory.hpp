#pragma once
/// @file memory.hpp
/// Global memory: allocations with device addresses, found by binary search, and with definedness bits where
/// they are tracked; and the windows of the generic address space.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "emulator/memory/heap.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/syntax/spaces.hpp"

namespace ptxgraft::emulator {

using syntax::Space;
[[nodiscard]] inline std::string_view name(Space space) { return syntax::row(space).name; }

/// The windows of the generic address space (PTX ISA 5.1, cvta). Each has 4 GiB, so that no 32-bit offset
/// leaves it. Every address below them is one of global memory; they lie behind all that a process has, whose
/// own memory may be global memory (47 bits on x86-64).
inline constexpr std::uint64_t window_bytes = std::uint64_t{1} << 32;
inline constexpr std::uint64_t first_global_address = std::uint64_t{0x10} << 32;
inline constexpr std::uint64_t shared_window = std::uint64_t{0x8001} << 32;
inline constexpr std::uint64_t local_window = std::uint64_t{0x8002} << 32;
inline constexpr std::uint64_t param_window = std::uint64_t{0x8003} << 32;
inline constexpr std::uint64_t function_window = std::uint64_t{0x8004} << 32;
/// A shared address holds the rank of its CTA in the cluster, plus 1, in its upper bits. 0 there stands for
/// the CTA of the thread that uses the address.
inline constexpr unsigned cluster_rank_shift = 24;
/// The first shared address of the CTA of a rank.
[[nodiscard]] constexpr std::uint64_t shared_place(std::uint32_t rank) {
    return (std::uint64_t{rank} + 1) << cluster_rank_shift;
}
/// A shared address in the cluster, in its CTA.
[[nodiscard]] constexpr std::uint64_t offset_in_cta(std::uint64_t shared_address) {
    return shared_address & ((std::uint64_t{1} << cluster_rank_shift) - 1);
}
inline constexpr std::uint64_t function_stride = 16;  // bytes between the addresses of two functions

/// The first generic address of a space's window; 0 for a space whose addresses are generic addresses
/// already.
[[nodiscard]] std::uint64_t window(Space space);
/// A generic address as its state space and the address within that space.
struct Place {
    Space space;
    std::uint64_t address;
};
[[nodiscard]] Place place(std::uint64_t generic);
/// The same of an address of any space.
[[nodiscard]] inline Place place(Space space, std::uint64_t address) {
    return space == Space::generic ? place(address) : Place{space, address};
}

/// The definedness bits of a byte that is wholly defined.
inline constexpr std::uint8_t all_bits = 0xFF;
/// The first byte of some that is not wholly defined, by their definedness bits; their end, where all are.
template <class Bits> [[nodiscard]] Bits* find_undefined(Bits* bits, std::size_t bytes) {
    return std::find_if(bits, bits + bytes, [](std::uint8_t of) { return of != all_bits; });
}
/// Whether all are. Null: no definedness bits are kept. Without branches: most are defined to the end.
[[nodiscard]] inline bool are_defined(const std::uint8_t* bits, std::size_t bytes) {
    if (bits == nullptr) return true;
    std::uint8_t all = all_bits;
    for (std::size_t i = 0; i < bytes; ++i) all &= bits[i];
    return all == all_bits;
}

/// An allocation of global memory.
struct Region {
    std::uint64_t begin = 0;
    std::uint64_t bytes = 0;
    std::byte* host = nullptr;
    /// Definedness bits: for each byte, a mask of the bits that something wrote. Null where they are not
    /// tracked.
    std::uint8_t* written = nullptr;
    bool read_only = false;
    bool is_const = false;  ///< a variable in .const, which is read-only
    bool is_heap = false;   ///< the device heap: only addresses in its live blocks are valid
    /// It was freed while the memory was in use, and is released when that use ends. Only Memory reads this.
    bool is_freed = false;

    [[nodiscard]] bool holds(std::uint64_t address, std::uint64_t size) const {
        const std::uint64_t offset = address - begin;
        return offset < bytes && bytes - offset >= size;
    }
};

/// Where the addresses of a Memory come from.
enum class AddressSpace : std::uint8_t { own, process };

/// The memory of this process that can be read, in the order of its addresses; neighbours of one kind are one
/// region. What cannot be written is read-only.
[[nodiscard]] std::vector<Region> process_memory();

/// All allocations of one emulator. No address is given twice, so that a dangling pointer never finds a later
/// allocation.
///
/// Any thread may reserve, add and free allocations at any time. Their bytes are accessed by one user at a
/// time, a launch or a copy; the owner of the emulator sees to that. While a Use lives, the allocations that
/// `find` sees do not change: those that other threads add become visible, and those that they free are
/// released, when it ends.
///
/// Of a process (AddressSpace::process), addresses are those of the host: an allocation has that of its
/// bytes, and a Use sees all memory that the process had when it began, without definedness bits.
class Memory {
  public:
    /// `is_checked`: definedness bits are tracked, in an address space of its own.
    Memory(std::uint64_t limit, bool is_checked, AddressSpace space = AddressSpace::own)
        : limit_(limit), is_checked_(is_checked && space == AddressSpace::own), space_(space) {}
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    // --- at any time, from any thread

    /// A zeroed allocation at an address of its own. The caller owns it until it adds it or gives it back.
    Expected<Region> reserve(std::uint64_t bytes);
    void give_back(const Region& region) noexcept;
    void add(const Region& region);
    /// Reserves and adds an allocation; its address.
    Expected<std::uint64_t> allocate(std::uint64_t bytes);
    Expected<void> free(std::uint64_t address);
    /// False when no allocation begins at the address.
    bool try_free(std::uint64_t address) noexcept;
    /// Reserves the device heap before a launch of a module that calls `malloc`. Later calls do nothing.
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
    /// Sets the definedness bits of bytes to all defined or all undefined, where they are tracked.
    void mark(std::uint64_t address, std::uint64_t bytes, bool is_written);
    /// Copies the definedness bits of the bytes at another address.
    void copy_marks(std::uint64_t target, std::uint64_t source, std::uint64_t bytes);
    /// Describes the allocations at or near an invalid address, for the text of an error.
    [[nodiscard]] std::string surroundings(std::uint64_t address) const;
    /// The host bytes of a range that lies in one allocation; null for other ranges.
    [[nodiscard]] std::byte* host(std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] Heap& heap() { return heap_; }

  private:
    using Regions = std::vector<Region>;

    /// What `find` looks in.
    [[nodiscard]] const Regions& seen() const {
        return space_ == AddressSpace::own ? regions_ : process_memory_;
    }
    /// Counts the bytes, and gives them an address where the memory has addresses of its own.
    Expected<Region> reserve_bytes(std::uint64_t bytes);
    void begin_use();
    /// Of a process: its memory, in which variables in .const are regions of their own.
    [[nodiscard]] Regions process_memory_with_constants() const;
    void end_use() noexcept;
    void insert_pending();
    void release_freed() noexcept;
    void release(const Region& region) noexcept;
    void record_freed(const Region& region) noexcept;
    [[nodiscard]] static Regions::iterator find_first_byte(Regions& regions, std::uint64_t address);
    static void insert(Regions& regions, const Region& region);

    Regions regions_;         // ordered by address
    Regions process_memory_;  // of a process: what the latest Use sees
    const std::uint64_t limit_;
    const bool is_checked_;
    const AddressSpace space_;
    Heap heap_;
    std::mutex heap_mutex_;  // held while the heap is reserved
    bool has_heap_ = false;

    // Guards all members below, and regions_ while it is changed, which never happens during a Use.
    mutable std::mutex mutex_;
    bool is_in_use_ = false, has_freed_ = false;
    Regions pending_;  // added during a Use
    Regions freed_;    // the most recently freed ones, without their bytes
    std::uint64_t used_ = 0;
    std::uint64_t next_ = first_global_address;
};

/// The variables of a module. They belong to this object while the module is decoded, are then added to a
/// memory, and are freed with this object.
class ModuleVariables {
  public:
    explicit ModuleVariables(std::shared_ptr<Memory> memory) : memory_(std::move(memory)) {}
    ~ModuleVariables();
    ModuleVariables(const ModuleVariables&) = delete;
    ModuleVariables& operator=(const ModuleVariables&) = delete;

    /// The pointer stays valid, and the region may be changed until add().
    Expected<Region*> reserve(std::uint64_t bytes);
    /// Makes the variables visible to launches.
    void add();
    [[nodiscard]] const std::shared_ptr<Memory>& memory() const { return memory_; }
    [[nodiscard]] const std::deque<Region>& regions() const { return regions_; }

  private:
    std::shared_ptr<Memory> memory_;
    std::deque<Region> regions_;
    std::size_t added_ = 0;
};

}  // namespace ptxgraft::emulator
