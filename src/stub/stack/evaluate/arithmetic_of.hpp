#pragma once
// The arithmetic of an entry: what of a set the CPU can compute.

#include <cstdint>
#include <optional>
#include <span>

#include "arithmetic/arithmetic.hpp"
#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

/// The pure instruction of an entry, its operands in the entry's order, on columns of the operands' own
/// widths; nothing for effects, for special registers, for moves of vectors and for what only hardware knows.
[[nodiscard]] std::optional<arithmetic::PureInstruction> arithmetic_of(const Entry& entry);

/// A form whose outputs are its inputs' bytes in order: `mov` of scalars, and of vectors that it packs and
/// unpacks.
[[nodiscard]] bool is_move(const Entry& entry);

/// For the option `fold`: the bits of a pure entry's only result for arguments that are known (immediates
/// included, in the order of the inputs), each in the low bits of its word; nothing for entries of which PTX
/// does not define the result exactly (.approx and the like).
[[nodiscard]] std::optional<std::uint64_t> fold_entry(const Entry& entry,
                                                      std::span<const std::uint64_t> arguments);

}  // namespace ptxgraft::stack
