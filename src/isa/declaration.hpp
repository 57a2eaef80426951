#pragma once
// What the parts of verify that look at declarations share.

#include <string>
#include <string_view>
#include <vector>

#include "isa/symbols.hpp"
#include "ptxgraft/syntax/types.hpp"

namespace ptxgraft::isa {

[[nodiscard]] inline std::string quote(std::string_view text) { return "'" + std::string(text) + "'"; }

/// The type of a word such as ".b32"; none for other words.
[[nodiscard]] RegisterType type_of(std::string_view word);
[[nodiscard]] RegisterType type_of(const syntax::TypeRow* type);  ///< null: none
/// Bytes of a `.param` or variable of a type: 4 for b32; 0 when the type has none.
[[nodiscard]] std::uint32_t bytes_of(RegisterType type);
/// Bytes of an element of a parameter, also of a type that no variable has, `.e4m3x2`: functions that stand
/// elsewhere have such.
[[nodiscard]] std::uint32_t bytes_of(const syntax::Statement::Parameter& parameter);
/// What a parameter is aligned to: a smaller `.align` than is natural counts for nothing.
[[nodiscard]] std::uint32_t alignment_of(const syntax::Statement::Parameter& parameter);

// What a declaration makes a name stand for.
/// Symbol::is_no_address of what is declared by this name; of a range: of its elements.
[[nodiscard]] bool is_no_address(const Symbol& symbol, std::string_view name, bool is_range = false);
[[nodiscard]] Symbol variable_symbol(const syntax::Statement& statement,
                                     const syntax::Statement::Variable& variable,
                                     const syntax::Statement::Declarator& declarator);
[[nodiscard]] Symbol parameter_symbol(const syntax::Statement::Parameter& parameter);
[[nodiscard]] Symbol register_symbol(RegisterType type, const syntax::Statement& statement);
[[nodiscard]] Symbol function_symbol(const syntax::Statement& function);
/// What a label stands before: a place in the code, or a list of targets or a prototype, which is used only
/// behind it.
[[nodiscard]] Symbol label_symbol(const syntax::Statement& label);

/// The names of the functions of a call table, an array in .global or .const of whose first values each is a
/// function (PTX ISA 9.7.12.5); none where it is no such array.
[[nodiscard]] std::vector<syntax::Token> call_table(const Symbol& symbol, std::string_view name);

/// `.extern`, `.visible` or `.weak`, as a function begins; empty: none of them.
[[nodiscard]] std::string_view linkage_of(const std::vector<syntax::Token>& tokens);

/// What the parameters of two functions differ in; empty: nothing.
[[nodiscard]] std::string_view prototype_difference(const syntax::Statement& a, const syntax::Statement& b);

}  // namespace ptxgraft::isa
