#pragma once
// The arithmetic of an entry: what of a set the CPU can compute.

#include <optional>
#include <string_view>

#include "arithmetic/arithmetic.hpp"
#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

/// The pure instruction of an entry, its operands in the entry's order, on columns of the operands' own
/// widths; nothing for effects, for special registers, for moves of vectors and for what only hardware knows.
[[nodiscard]] std::optional<arithmetic::PureInstruction> arithmetic_of(const Entry& entry);

/// A form whose outputs are its inputs' bytes in order: `mov` of scalars, and of vectors that it packs and
/// unpacks.
[[nodiscard]] bool is_move(const Entry& entry);

}  // namespace ptxgraft::stack
