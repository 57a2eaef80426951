#pragma once
/// @file share_columns.hpp
/// Compilers give every value a register of its own: the columns of an unrolled loop's are more than a cache
/// holds. Registers that live within a row of operations which is entered at its begin alone share columns
/// with others whose time has not come or is over.

#include <cstdint>

#include "emulator/machine/program.hpp"

namespace ptxgraft::emulator {

/// Less than this many bytes of registers stay as they are.
inline constexpr std::uint32_t least_shared_bytes = 16384;

/// Renames the registers of a function in its operations' operands and makes its frame smaller, unless that
/// is small. Function::declared keeps what the operands were. A register that may be read before it is
/// written shares nothing: what nobody wrote stays found. Before the function is executed for the first time.
void share_columns(Program& program, Function& function);

}  // namespace ptxgraft::emulator
