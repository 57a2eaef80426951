#pragma once
// What rows say of instructions and forms, for other stages.

#include <string_view>
#include <vector>

#include "isa/match.hpp"

namespace ptxgraft::isa {

/// `mov.b64` of `mov.b64:b32x2`: up to the first ':' that stands alone, or '|'.
[[nodiscard]] std::string_view spelling_of(std::string_view name);

/// The forms of a spelling, modifiers in the manual's order.
[[nodiscard]] std::vector<Form> forms_spelled(std::string_view spelling);

/// The rules of `count` written operands, by the first row that takes the name and so many; empty when none
/// does.
[[nodiscard]] std::vector<const OperandRule*> operand_rules(std::string_view opcode,
                                                            std::span<const std::string_view> modifiers,
                                                            std::size_t count);

}  // namespace ptxgraft::isa
