// The symbol table of verify: names of the module and of nested scopes, single ones and ranges (`%r<5>`).

#include "isa/symbols.hpp"

namespace ptxgraft::isa {

bool Symbols::declare(std::string_view name, const Symbol& symbol) {
    const Entry* const element = range(syntax::numbered(name));
    if ((element != nullptr && element->depth == depth()) || declared_here(name) != nullptr) return false;
    Table::declare(name, symbol);
    return true;
}

bool Symbols::declare_range(std::string_view stem, std::uint32_t count, const Symbol& symbol) {
    if (declared_here(stem, count) != nullptr) return false;
    Table::declare(stem, symbol, count);
    return true;
}

const Symbol* Symbols::find(std::string_view name) const {
    const Entry* const entry = Table::find(name);
    return entry == nullptr ? nullptr : &entry->symbol;
}

const Symbol* Symbols::find_innermost(std::string_view name) const {
    const Entry* const entry = Table::find(name);
    return entry == nullptr || entry->depth != depth() ? nullptr : &entry->symbol;
}

std::string_view text(Space space) { return space == Space::none ? "generic" : syntax::row(space).word; }

Space space_of(std::string_view word) {
    const Space space = syntax::space_of(word);
    return space == Space::shared_cluster ? Space::shared : space;
}

}  // namespace ptxgraft::isa
