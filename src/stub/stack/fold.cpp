#include "stub/stack/fold.hpp"

namespace ptxgraft::stack {

std::optional<std::uint64_t> fold_entry(const Entry&, std::span<const std::uint64_t>) { return std::nullopt; }

}  // namespace ptxgraft::stack
