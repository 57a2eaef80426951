#pragma once
// Why a program does not compile: the slow half of the compiler, run only once something is wrong.

#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// An instruction that could not be carried out, and what the stacks held.
struct Failure {
    const Machine& machine;
    ProgramView program;
    std::span<const Instruction> code;     ///< that it stands in: the program's or a routine's
    std::uint32_t position = 0;            ///< in `code`
    std::uint32_t at = 0;                  ///< in the program's code: `position`, or the call that led to it
    std::span<const std::uint32_t> depth;  ///< values on the stack of each TypeId, in the frame of `code`
};

/// Why it could not. The error's index is `at`.
[[nodiscard]] tl::unexpected<Error> diagnose(const Failure& failure);
/// An `out` operand that has no value at the end of a program of `at` instructions.
[[nodiscard]] tl::unexpected<Error> diagnose_output(const Machine& machine, std::uint32_t operand, std::uint32_t element, std::uint32_t at);
/// Values that stand on a stack when the program ends; `at` is where the last of them was pushed.
[[nodiscard]] tl::unexpected<Error> diagnose_leftover(const Machine& machine, TypeId type, std::uint32_t count, std::uint32_t at);

}  // namespace ptxgraft::stack
