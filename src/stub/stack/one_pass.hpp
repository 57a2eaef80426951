#pragma once
// The shortest way through compile, for programs of text and expressions: on the guess that all of a program is live and every value is assigned
// where it is computed, its instructions are written as they are executed, on stacks of names. Whatever else it holds, the guess is given up, and
// another way (forest.hpp, run.hpp) compiles it to the same text.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"
#include "stub/stack/arena.hpp"
#include "stub/stack/machine.hpp"

namespace ptxgraft::stack {

/// Whether programs of this length may go this way under these options.
[[nodiscard]] bool may_be_one_pass(ProgramView program, const Machine::Data& machine, const CompileOptions& options);

/// Bytes of arena for it.
[[nodiscard]] std::size_t one_pass_bytes(std::size_t instructions, const Machine::Data& machine);

/// False where the guess was wrong, or something is an error; `result` means nothing then.
[[nodiscard]] bool compile_in_one_pass(std::span<const Instruction> code, const Machine::Data& machine, const CompileOptions& options, Arena& arena, Compiled& result);

}  // namespace ptxgraft::stack
