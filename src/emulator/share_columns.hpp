#pragma once
/// @file share_columns.hpp
/// Compilers give every value a register of its own: the columns of an unrolled loop's are more than a cache holds. Registers that live
/// within a row of operations which is entered at its begin alone share columns with others whose time has not come or is over.

#include <cstdint>
#include <vector>

#include "emulator/program.hpp"

namespace ptxgraft::emulator {

/// Less than this many bytes of registers stay as they are.
inline constexpr std::uint32_t least_shared_bytes = 16384;

/// Where a function's own entries begin in the program's tables.
struct FirstEntries {
    explicit FirstEntries(const Program& program)
        : barriers(program.barriers.size()), collectives(program.collectives.size()), calls(program.calls.size()) {}
    std::size_t barriers, collectives, calls;
};

/// Renames the registers of a function, the last of the program, in its operations' operands, and makes its frame smaller.
/// `is_target`: for each of its operations, whether a branch may lead there. Program::declared keeps what the operands were.
/// A register that may be read before it is written shares nothing: what nobody wrote stays found.
void share_columns(Program& program, Function& function, const FirstEntries& first, const std::vector<bool>& is_target);

}  // namespace ptxgraft::emulator
