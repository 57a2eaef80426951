#pragma once
// Operands as they stand in a text, before they are copied into a Signature.

#include <span>
#include <string>
#include <string_view>

#include "ptxgraft/site.hpp"

namespace ptxgraft {

/// The detail of Errc::type_unknown: the word, and the types that there are.
[[nodiscard]] std::string unknown_type(std::string_view word);

/// The effect that a word of `allow` names; Errc::effect_unknown otherwise.
[[nodiscard]] Expected<Effect> effect_from_name(std::string_view name);

namespace site {

inline constexpr std::size_t max_operands = 64;
inline constexpr std::uint32_t max_registers = 256;

struct OperandText {
    std::string_view name;
    Type type = Type::f32;
    Direction direction = Direction::in;
    std::uint32_t count = 0;
    std::string_view user_type;
    std::string_view foreign_register;  ///< mm-ptx's, without its `%`; empty: named after the operand
    Span span;                          ///< its line or list item
};

/// Whether the text says what the operand is.
[[nodiscard]] bool same(const SiteOperand& operand, const OperandText& text);
[[nodiscard]] Signature make_signature(std::span<const OperandText> operands);
/// Reads `f32` or `q8:u32` into the operand.
[[nodiscard]] Expected<void> read_type(std::string_view word, Span span, OperandText& operand);
/// Reads the count of a fragment, 1 to 256.
[[nodiscard]] Expected<std::uint32_t> read_count(std::string_view digits, Span span);
/// Refuses too many operands or registers, and two operands with a register name in common.
[[nodiscard]] Expected<void> check_operands(std::span<const OperandText> operands);

}  // namespace site
}  // namespace ptxgraft
