#pragma once
/// @file stack_options.hpp
/// How programs are compiled, as a C caller says it.

#include "capi/boundary.hpp"
#include "ptxgraft/expression.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::capi {

/// Null: those of programs that a search makes.
[[nodiscard]] Expected<stack::CompileOptions> mutated_options(const ptxgraft_compile_options* given);
/// Null: those of programs that people write.
[[nodiscard]] Expected<stack::CompileOptions> strict_options(const ptxgraft_compile_options* given);

/// What a ptxgraft_stub_options says of expressions.
[[nodiscard]] Expected<ExpressionOptions> expression_options(const ptxgraft_stub_options& given);

/// The effects of bits of ptxgraft_effect.
[[nodiscard]] Expected<Effect> effects_of(std::uint32_t bits);

}  // namespace ptxgraft::capi
