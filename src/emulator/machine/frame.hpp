#pragma once
/// @file frame.hpp
/// A frame of the call stack: one call of a function by some lanes of a warp, with their registers.

#include <cstdint>
#include <vector>

#include "emulator/checks/register_states.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/memory/lanes.hpp"

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

}  // namespace ptxgraft::emulator
