#pragma once
// What the names of a module stand for, scope by scope (PTX ISA, chapter 5).

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "isa/types.hpp"
#include "ptxgraft/syntax.hpp"
#include "syntax/name_map.hpp"
#include "syntax/spaces.hpp"

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
    bool is_defined = false;  // not only declared
    bool is_array = false;
    std::uint32_t align = 0;        // of a variable, where it is not natural
    std::uint64_t bytes = 0;        // of a variable; 0: not known
    syntax::Statement declaration;  // of functions, prototypes and lists
};

/// The number behind a stem: "%r12", and for ptxas "%r012" too, is 12 of "%r"; nothing without digits.
struct Numbered {
    std::string_view stem;
    std::uint64_t number;
};
[[nodiscard]] std::optional<Numbered> numbered(std::string_view name);

/// Whoever knows what a name means at the place of the instruction that is checked.
class SymbolSource {
  public:
    [[nodiscard]] virtual const Symbol* find(std::string_view name) const = 0;

  protected:
    ~SymbolSource() = default;
};

/// Names in nested scopes. Views must outlive the table.
class Symbols final : public SymbolSource {
  public:
    void open() { marks_.push_back(entries_.size()); }
    void close();
    /// False when the scope has the name already.
    bool declare(std::string_view name, const Symbol& symbol);
    /// `%r<5>`: %r0 to %r4.
    bool declare_range(std::string_view stem, std::uint32_t count, const Symbol& symbol);
    /// False when surely no name was declared by itself that is this stem with digits behind it.
    [[nodiscard]] bool may_have_numbered(std::string_view stem) const { return numbered_.may_have(stem); }
    /// Puts another meaning in the place of a name of the innermost scope.
    void replace(std::string_view name, const Symbol& symbol) {
        entries_[names_of(name)->single].symbol = symbol;
    }
    [[nodiscard]] const Symbol* find(std::string_view name) const override;
    [[nodiscard]] const Symbol* find_innermost(std::string_view name) const;

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    // Places in entries_ of the innermost declaration; each knows the one that it hides.
    struct Names {
        std::uint32_t single = none, range = none;
    };
    struct Entry {
        Names* names;
        std::uint32_t hidden;
        std::uint32_t depth;
        std::uint32_t count;  // of a range; 0: a single name
        Symbol symbol;
    };
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(marks_.size()); }
    [[nodiscard]] const Names* names_of(std::string_view name) const;
    [[nodiscard]] Names& names_for(std::string_view name);
    [[nodiscard]] const Entry* find_entry(std::string_view name) const;
    [[nodiscard]] const Entry* find_numbered(const Numbered& numbered) const;
    [[nodiscard]] const Entry* find_in_range(const Names& names, std::uint64_t number) const;

    syntax::Stems ranges_;    // `%r` of `%r<5>`
    syntax::Stems numbered_;  // `a` of a single `a7`
    // of the module; of the function that is open: small, and soon warm again
    syntax::NameMap<Names> outer_, inner_;
    std::vector<Entry> entries_;  // of the open scopes, in order
    std::vector<std::size_t> marks_;
};

[[nodiscard]] std::string_view text(Space space);     // ".global"
[[nodiscard]] Space space_of(std::string_view word);  // ".shared::cluster" is shared; none for other words

}  // namespace ptxgraft::isa
