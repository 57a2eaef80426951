#pragma once
// What a program that executes no brackets does to its stacks, value by value, and what is left of it when
// the values that nobody needs are never pushed.
//
// A value lies in one place of one stack from the instruction that pushes it to the one that pops it, so that
// it can be left out everywhere at once: who pushed it goes, and words that rearrange the stack become what
// they are among the values that stay (`rotate` of three of which one goes is `swap`, or nothing).

#include <cstdint>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

struct Trimmed {
    std::vector<Instruction> code;
    std::vector<std::uint32_t> live;  ///< places in the old code of what is left
    bool is_known = false;     ///< false: it executes brackets, or is far too long; nothing else is set
    bool has_missing = false;  ///< an instruction did nothing as its operands were missing
};

/// The code of a program without what does nothing. It computes the same under the same options.
[[nodiscard]] Trimmed trim(ProgramView program, const Machine& machine, const CompileOptions& options);

}  // namespace ptxgraft::stack
