#pragma once
// Constant expressions (PTX ISA manual, 4.5), wherever their tokens stand.

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "ptxgraft/constant.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {

/// The value of the expression that the tokens [first, last) spell; nothing when it has none:
/// evaluate_constant() of their text says why.
[[nodiscard]] std::optional<Constant> evaluate(const ModuleData& data, std::uint32_t first,
                                               std::uint32_t last);
/// The same of public tokens. Errors have spans in the text that the tokens' offsets count in.
[[nodiscard]] Expected<Constant> evaluate(std::span<const Token> tokens);

/// The value of a number or WARP_SZ; nothing when it is out of range.
[[nodiscard]] std::optional<Constant> literal_constant(TokenKind kind, std::string_view token);
/// The value of a token where the grammar has an integer and no expression: a literal or WARP_SZ.
[[nodiscard]] std::optional<std::uint64_t> integer_value(std::string_view token);

/// Where a constant is used, by what ptxas makes of it there.
enum class ConstantUse : std::uint8_t {
    predicate,     ///< PTX ISA 4.5.3: not zero is true
    integer,       ///< .u32, .s16 …
    bits,          ///< .b32 …
    floating,      ///< .f32, .f64
    initial_bits,  ///< the first value of a variable of .b32 …, which takes floating-point constants of any
                   ///< width
};
/// The bits of a constant as a type of `width` bits has it (PTX ISA 4.5.1 to 4.5.3); nothing when it is none
/// of that type.
[[nodiscard]] std::optional<std::uint64_t> convert(const Constant& constant, ConstantUse use,
                                                   std::uint32_t width);

}  // namespace ptxgraft::syntax
