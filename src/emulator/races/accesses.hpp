#pragma once
/// @file accesses.hpp
/// Accesses of memory, as those who look for races see them.

#include <cstdint>
#include <optional>

#include "emulator/memory/semantics.hpp"
#include "emulator/races/clock.hpp"

namespace ptxgraft::emulator {

/// How an access takes part in the memory consistency model (PTX ISA 8.4): `read` and `write` are weak;
/// `atomic` is a read-modify-write, `reduction` one of the async proxy.
enum class AccessKind : std::uint8_t { read, write, strong_read, strong_write, atomic, reduction };
[[nodiscard]] constexpr bool is_read(AccessKind kind) {
    return kind == AccessKind::read || kind == AccessKind::strong_read;
}
[[nodiscard]] constexpr bool is_weak(AccessKind kind) {
    return kind == AccessKind::read || kind == AccessKind::write;
}

/// Two accesses of one byte that are not ordered by happens-before.
struct Race {
    Epoch other;  ///< of the earlier access
    std::uint32_t pc = 0;
    AccessKind other_kind = AccessKind::read;
    unsigned lane = 0;          ///< of the access at hand
    std::uint64_t address = 0;  ///< of the bytes that both access
    std::uint32_t bytes = 0;
    bool stores_are_equal = false;
};

/// Tells which races are of two stores of equal bytes.
class EqualStores {
  public:
    virtual ~EqualStores() = default;
    [[nodiscard]] virtual bool are_equal(const Race& race) const = 0;
};

/// What works for a lane asynchronously: the epoch of its access, and the lane whose knowledge it has.
struct Accessor {
    Epoch epoch;
    unsigned agent = 0, lane = 0;
};

/// What the lanes of a warp access by one instruction: `bytes` bytes each, a power of two, aligned, from
/// `begin + offsets[lane]` on.
struct LaneAccesses {
    std::uint64_t begin;
    const std::uint32_t* offsets;
    std::uint32_t bytes;
    AccessKind kind;
    unsigned warp;
    std::uint32_t pc;
    Reach reach = Reach::cluster;  ///< of a strong one
    // Where all 32 lanes access.
    bool consecutive = false;           ///< each lane behind the one before
    bool all_equal = false;             ///< all at one place
    std::uint32_t least = 0, most = 0;  ///< of the offsets
    /// The agent that accesses for the lanes asynchronously, and its time; each lane has its own knowledge.
    std::optional<Epoch> by = {};
};

}  // namespace ptxgraft::emulator
