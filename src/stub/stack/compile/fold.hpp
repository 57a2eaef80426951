#pragma once
// Constants computed by the compiler: the option `fold`.

#include <cstdint>
#include <optional>
#include <span>

#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

/// The bits of a pure entry's only result for arguments that are known (immediates included, in the order of
/// the inputs), each in the low bits of its word; nothing for entries of which PTX does not define the result
/// exactly (.approx and the like).
[[nodiscard]] std::optional<std::uint64_t> fold_entry(const Entry& entry,
                                                      std::span<const std::uint64_t> arguments);

}  // namespace ptxgraft::stack
