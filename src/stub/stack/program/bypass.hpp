#pragma once
// An instruction by one of its operands.

#include <cstddef>
#include <vector>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

/// Where an entry gives one value and has no effect: how many of its operands are of the value's type.
[[nodiscard]] std::size_t operands_of_its_type(const SetCode& code, const EntryCode& entry);
/// Words that drop all operands of an entry, which lie on their stacks, but for one of the value's type;
/// `behind` others of that type come after it.
[[nodiscard]] std::vector<Instruction> words_that_keep(const SetCode& code, const EntryCode& entry,
                                                       std::size_t behind);
/// Words that drop all operands of an entry.
[[nodiscard]] std::vector<Instruction> words_that_drop(const SetCode& code, const EntryCode& entry);

}  // namespace ptxgraft::stack
