#pragma once
// A program written anew from its dataflow, as expressions.

#include <optional>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Every operand that receives a value is assigned, from an expression in postorder: one instruction for each
/// operand and constant that is read, and for each form; what several read is stored in a cell. Nothing where
/// the dataflow has more than expressions: effects, forms of several results, selections; or where there are
/// thousands of values.
[[nodiscard]] std::optional<Program> rebuild(ProgramView program, const Machine& machine,
                                             const CompileOptions& options);

}  // namespace ptxgraft::stack
