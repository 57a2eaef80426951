#pragma once
/// @file frame.hpp
/// A frame of the call stack: one call of a function by some lanes of a warp, with their registers.

#include <cstdint>
#include <vector>

#include "emulator/checks/register_states.hpp"
#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

/// One call of a function by some lanes.
struct Frame {
    const Function* function = nullptr;
    Frame* parent = nullptr;
    const Call* call = nullptr;
    std::uint32_t return_pc = 0;
    std::uint32_t local_base = 0;  ///< of its variables, in each thread's local memory
    std::uint32_t local_top = 0;
    std::uint32_t lanes = 0;  ///< that have not returned
    std::uint32_t depth = 0;
    std::vector<ColumnBlock> registers;
    RegisterStates states;  ///< of a checked launch

    [[nodiscard]] std::byte* columns() { return registers.empty() ? nullptr : registers[0].bytes.data(); }
};

/// Whether an access of memory, or the use of a register, reads or writes.
enum class Use : std::uint8_t { read, write };

/// Calls `f(lane)` for every lane of a mask, in order, until it returns false. True when it never did.
template <class F> bool each_lane(std::uint32_t mask, F&& f) {
    for (; mask != 0; mask &= mask - 1) {
        if (!f(static_cast<unsigned>(std::countr_zero(mask)))) return false;
    }
    return true;
}

}  // namespace ptxgraft::emulator
