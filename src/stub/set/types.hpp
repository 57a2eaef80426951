#pragma once
// Which types of a machine stand for the operands of a form.

#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

/// The type of an operand where a set says nothing else: its own, or the one of its width.
[[nodiscard]] TypeId default_type(const isa::OperandSpec& spec);

/// The type of a name among those of PTX: "f32", "b8"; max_types: none.
[[nodiscard]] TypeId builtin_type(std::string_view name);
[[nodiscard]] std::string_view builtin_name(TypeId type);

/// Whether values of a type, `base` its register type, may stand for an operand (PTX ISA 9.4 and,
/// wide, 9.4.1).
[[nodiscard]] bool fits(TypeId base, const isa::OperandSpec& spec);

}  // namespace ptxgraft::stack
