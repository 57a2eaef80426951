#pragma once
/// @file accesses.hpp
/// Accesses of memory, as those who look for races see them.

#include <cstdint>

#include "emulator/clock.hpp"

namespace ptxgraft::emulator {

/// `atomic`: reads and writes in one step. A weak read beside one is no race here: loops around atom.cas begin with it, and find
/// out when they read something old.
enum class AccessKind : std::uint8_t { read, write, strong_read, strong_write, atomic };

/// An earlier access that nothing orders before the one at hand.
struct Race {
    Stamp other;
    std::uint32_t pc = 0;
    bool other_writes = false;
    unsigned lane = 0;  ///< of the access at hand
};

/// What the lanes of a warp access by one instruction: `bytes` bytes each, a power of two, aligned, from `begin + offsets[lane]` on.
struct LaneAccesses {
    std::uint64_t begin;
    const std::uint32_t* offsets;
    std::uint32_t bytes;
    AccessKind kind;
    unsigned warp;
    std::uint32_t pc;
    // Where all 32 lanes access.
    bool is_whole = false;
    bool consecutive = false;           ///< each lane behind the one before
    std::uint32_t least = 0, most = 0;  ///< of the offsets
};

}  // namespace ptxgraft::emulator
