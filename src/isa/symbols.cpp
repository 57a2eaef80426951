// The symbol table of verify: names of the module and of nested scopes, single ones and ranges (`%r<5>`).

#include "isa/symbols.hpp"

namespace ptxgraft::isa {

const Symbol* Symbols::declare(std::string_view name, const Symbol& symbol, std::uint32_t count) {
    if (const Entry* const before = clash(name, count)) return &before->symbol;
    Table::declare(name, symbol, count);
    return nullptr;
}

const Symbol* Symbols::find(std::string_view name) const {
    const Entry* const entry = Table::find(name);
    return entry == nullptr ? nullptr : &entry->symbol;
}

void Symbols::mark_result(std::string_view name) {
    if (Entry* const entry = Table::find(name)) entry->symbol.is_result = true;
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
