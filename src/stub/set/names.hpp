#pragma once
// What sets say of names that they cannot take.

#include <string>
#include <string_view>

namespace ptxgraft::stack {

/// Why a word cannot be the name of an instruction or type of a user's own; empty: it can.
[[nodiscard]] std::string instruction_name_problem(std::string_view name);
[[nodiscard]] std::string type_name_problem(std::string_view name);

/// Why there is no form of a name, with the names nearest to it.
[[nodiscard]] std::string unknown_form(std::string_view name);

/// `'text'`, shortened, without control characters.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace ptxgraft::stack
