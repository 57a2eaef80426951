// The symbol table of verify: names of the module and of nested scopes, single ones and ranges (`%r<5>`).

#include "isa/symbols.hpp"

#include <algorithm>
#include <string>

namespace ptxgraft::isa {

const Symbol* Symbols::declare(std::string_view name, const Symbol& symbol, std::uint32_t count) {
    const Entry* const before = clash(name, count);
    if (before != nullptr) {
        if (count == 0 || before->symbol.kind != SymbolKind::label) return &before->symbol;
        hide_labels(name, symbol, count);
    }
    Table::declare(name, symbol, count);
    return nullptr;
}

const Symbol* Symbols::find(std::string_view name) const {
    const Entry* const entry = Table::find(name);
    return entry == nullptr ? nullptr : &entry->symbol;
}

void Symbols::hide_labels(std::string_view stem, const Symbol& element, std::uint32_t count) {
    constexpr std::uint32_t looked_at = 65536;
    for (std::uint32_t i = 0; i < std::min(count, looked_at); ++i)
        if (Entry* const entry = declared_here(std::string(stem) + std::to_string(i));
            entry != nullptr && entry->symbol.kind == SymbolKind::label)
            entry->symbol = element;
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
