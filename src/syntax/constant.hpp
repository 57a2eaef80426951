#pragma once
// Integer constant expressions (PTX ISA manual, 4.5), as in the offsets of addresses.

#include <cstdint>
#include <optional>

#include "syntax/module.hpp"

namespace ptxgraft::syntax {

/// The value of the constant expression that the tokens [first, last) spell, as 64 bits; nothing when they
/// are no integer expression (names, floats) or divide by zero.
[[nodiscard]] std::optional<std::uint64_t> evaluate(const ModuleData& data, std::uint32_t first,
                                                    std::uint32_t last);

}  // namespace ptxgraft::syntax
