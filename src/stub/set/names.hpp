#pragma once
// The names of types and instructions in sets, and what is said of those that they cannot take.

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "isa/match.hpp"
#include "ptxgraft/set.hpp"

namespace ptxgraft::stack {

/// `fma.rn.f32` as `fma` and its modifiers.
struct Spelling {
    static constexpr std::size_t most = isa::max_parts;  ///< modifiers; further ones are counted
    std::string_view opcode;
    std::array<std::string_view, most> modifiers;
    std::size_t count = 0;

    explicit Spelling(std::string_view text);
    [[nodiscard]] std::span<const std::string_view> all() const {
        return std::span(modifiers).first(std::min(count, most));
    }
};

/// Why a word cannot be the name of an instruction or type of a user's own; empty: it can.
[[nodiscard]] std::string instruction_name_problem(std::string_view name);
[[nodiscard]] std::string type_name_problem(std::string_view name);

/// Why there is no form of a name, with the names nearest to it.
[[nodiscard]] std::string unknown_form(std::string_view name);

/// `'text'`, shortened, without control characters.
[[nodiscard]] std::string quoted(std::string_view text);

/// The type of an operand where a set says nothing else: its own, or the one of its width.
[[nodiscard]] TypeId default_type(const isa::OperandSpec& spec);

/// The type of a name among those of PTX: "f32", "b8"; max_types: none.
[[nodiscard]] TypeId builtin_type(std::string_view name);
[[nodiscard]] std::string_view builtin_name(TypeId type);

/// Whether values of a type, `base` its register type, may stand for an operand (PTX ISA 9.4 and,
/// wide, 9.4.1).
[[nodiscard]] bool fits(TypeId base, const isa::OperandSpec& spec);

}  // namespace ptxgraft::stack
