#pragma once
// The text form of the stack language.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// Appends the program of a text and, for each instruction, the place of its token. Clears both first.
Expected<void> parse_into(std::string_view text, const Signature& signature, Program& program,
                          std::vector<Span>& places);

/// The constant of a literal, which starts with a digit, a sign or a dot.
Expected<Instruction> parse_literal(std::string_view word, Span place);
/// The literal of a constant that `parse_literal` or a word (`true`, `inf`) reads back; nullopt if there is
/// none.
std::optional<std::string> print_literal(const Instruction& constant);

/// An enumerator for a type's name; nullopt for a word that is no type.
std::optional<Type> find_type(std::string_view name);

/// The words that rearrange a stack (`dup` …), in the order of their opcodes.
struct StackWord {
    std::string_view word;
    Opcode opcode;
};
std::span<const StackWord> stack_words();

/// What an unknown word could have meant: "; did you mean add.f32, add.s32?" or nothing.
std::string suggestions(std::string_view word, const Signature& signature);

}  // namespace ptxgraft::stack
