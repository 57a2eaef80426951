#pragma once
// What the names of a module stand for, scope by scope (PTX ISA, chapter 5).

#include <cstdint>
#include <string_view>

#include "ptxgraft/isa/types.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/syntax/spaces.hpp"
#include "syntax/scopes.hpp"

namespace ptxgraft::isa {

using Space = syntax::Space;
enum class SymbolKind : std::uint8_t {
    reg,
    variable,
    function,
    label,
    branch_targets,
    call_targets,
    prototype,
    texref,
    samplerref,
    surfref
};

struct Symbol {
    SymbolKind kind = SymbolKind::reg;
    RegisterType type = RegisterType::none;
    Space space = Space::none;
    std::uint8_t vector = 1;  // elements of a `.v4` register
    bool is_input = false;    // a parameter of an entry or function
    bool is_return = false;   // a return parameter
    bool is_result = false;   // a .param variable that a call before gives its result to
    bool is_defined = false;  // not only declared
    bool is_array = false;
    static constexpr std::uint8_t input = 1, result = 2;
    std::uint8_t hides = 0;  // of a .param variable: which of its function's parameters has its name
    // A register, or a scalar in .param, by the name of a special register: ptxas dies of it in an address.
    bool is_no_address = false;
    std::uint32_t align = 0;        // of a variable, where it is not natural
    std::uint64_t bytes = 0;        // of a variable; 0: not known
    syntax::Statement declaration;  // of functions, prototypes and lists
};

/// A .param variable of a body: an argument or the result of a call.
[[nodiscard]] constexpr bool is_of_a_call(const Symbol& symbol) {
    return symbol.kind == SymbolKind::variable && symbol.space == Space::param && !symbol.is_input &&
           !symbol.is_return;
}

/// An array that the last operand of a call may name (PTX ISA 9.7.12.5).
[[nodiscard]] constexpr bool may_be_call_table(const Symbol& symbol) {
    return symbol.kind == SymbolKind::variable && symbol.is_array &&
           (symbol.space == Space::global || symbol.space == Space::const_);
}

/// A texture, a sampler or a surface.
[[nodiscard]] constexpr bool is_opaque(const Symbol& symbol) {
    return symbol.kind == SymbolKind::texref || symbol.kind == SymbolKind::samplerref ||
           symbol.kind == SymbolKind::surfref;
}

/// Whoever knows what a name means at the place of the instruction that is checked.
class SymbolSource {
  public:
    [[nodiscard]] virtual const Symbol* find(std::string_view name) const = 0;

  protected:
    ~SymbolSource() = default;
};

/// What the names of a module stand for while verify walks over it.
class Symbols final : public SymbolSource, public syntax::ScopeTable<Symbol> {
  public:
    using Table = syntax::ScopeTable<Symbol>;
    /// A single name, or the range `name<count>`. What the scope has in its place already; null: it is
    /// declared.
    const Symbol* declare(std::string_view name, const Symbol& symbol, std::uint32_t count = 0);
    /// A single name that find() does not know.
    void declare_new(std::string_view name, const Symbol& symbol) { Table::declare(name, symbol); }
    /// Puts another meaning in the place of a name of the innermost scope.
    void replace(std::string_view name, const Symbol& symbol) { declared_here(name)->symbol = symbol; }
    [[nodiscard]] const Symbol* find(std::string_view name) const override;
    [[nodiscard]] const Symbol* find_innermost(std::string_view name) const;
    /// A call has been met that gives its result to this variable.
    void mark_result(std::string_view name);
};

[[nodiscard]] std::string_view text(Space space);     // ".global"
[[nodiscard]] Space space_of(std::string_view word);  // ".shared::cluster" is shared; none for other words

}  // namespace ptxgraft::isa
