#pragma once
// Operations as texts in the language itself, by type.

#include <array>
#include <span>
#include <string_view>

#include "stub/expr/operations.hpp"

namespace ptxgraft::expr {

struct DefinitionRow {
    Op op;
    TypeSet types;
    std::string_view parameters;           ///< one letter each
    std::array<std::string_view, 9> text;  ///< one behind the other; `T` stands for the type
};

/// Functions that PTX has no exact instruction for. Their coefficients are minimax polynomials, rounded to
/// the type.
[[nodiscard]] std::span<const DefinitionRow> functions_of_f32();
[[nodiscard]] std::span<const DefinitionRow> functions_of_f64();

}  // namespace ptxgraft::expr
