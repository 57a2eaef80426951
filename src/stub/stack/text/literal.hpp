#pragma once
// Literals and the constants that they are.

#include <optional>
#include <string>
#include <string_view>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// A value of a type: `bits` in its width; of a b128 the low half, the high one is 0.
struct Constant {
    TypeId type = 0;
    std::uint64_t bits = 0;
};

/// The PTX type of a type: of a user's type what it stands for.
[[nodiscard]] TypeId base_of(TypeId type, const InstructionSet& set);
/// Bits of a value of a base type: 1 for pred.
[[nodiscard]] std::uint32_t width_of(TypeId base);

/// The value of a literal that starts with a digit, a sign or a dot, or is one of the words `inf`, `nan`,
/// `true`, `false` with their suffixes.
[[nodiscard]] Expected<Constant> parse_literal(std::string_view word, Span place, const InstructionSet& set);
/// Whether a word is one of these words.
[[nodiscard]] bool is_literal_word(std::string_view word, const InstructionSet& set);
/// The literal of a constant; empty for types that have none.
[[nodiscard]] std::string print_literal(const Constant& constant, const InstructionSet& set);

}  // namespace ptxgraft::stack
