// The symbol table of verify: names of the module and of nested scopes, single ones and ranges (`%r<5>`).

#include "isa/symbols.hpp"

#include <algorithm>
#include <array>

namespace ptxgraft::isa {

namespace {
bool is_digit(char c) { return c >= '0' && c <= '9'; }
}  // namespace

void Symbols::close() {
    for (; entries_.size() > marks_.back(); entries_.pop_back()) {
        const Entry& e = entries_.back();
        (e.count == 0 ? e.names->single : e.names->range) = e.hidden;
    }
    marks_.pop_back();
    if (marks_.size() == 1) inner_.clear();
}

const Symbols::Names* Symbols::names_of(std::string_view name) const {
    const std::uint32_t hash = syntax::hash_of(name);
    const Names* names = inner_.find(name, hash);
    return names != nullptr ? names : outer_.find(name, hash);
}

// A name of a function that the module has too begins with what the module says of it.
Symbols::Names& Symbols::names_for(std::string_view name) {
    const std::uint32_t hash = syntax::hash_of(name);
    if (depth() <= 1) return *outer_.put(name, hash).first;
    const auto [names, is_new] = inner_.put(name, hash);
    if (is_new)
        if (const Names* outer = outer_.find(name, hash)) *names = *outer;
    return *names;
}

bool Symbols::declare(std::string_view name, const Symbol& symbol) {
    if (const auto n = numbered(name)) {
        if (const Entry* range = find_numbered(*n); range != nullptr && range->depth == depth()) return false;
        numbered_.add(n->stem);
    }
    Names& names = names_for(name);
    if (names.single != none && entries_[names.single].depth == depth()) return false;
    entries_.push_back({&names, names.single, depth(), 0, symbol});
    names.single = static_cast<std::uint32_t>(entries_.size() - 1);
    return true;
}

bool Symbols::declare_range(std::string_view stem, std::uint32_t count, const Symbol& symbol) {
    ranges_.add(stem);
    Names& names = names_for(stem);
    if (names.range != none && entries_[names.range].depth == depth()) return false;
    entries_.push_back({&names, names.range, depth(), count, symbol});
    names.range = static_cast<std::uint32_t>(entries_.size() - 1);
    return true;
}

const Symbols::Entry* Symbols::find_in_range(const Names& names, std::uint64_t number) const {
    for (std::uint32_t at = names.range; at != none; at = entries_[at].hidden)
        if (number < entries_[at].count) return &entries_[at];
    return nullptr;
}

// The element of a range. One whose stem ends in a digit (`a1<5>`) has none: ptxas takes a10 for number 10 of
// `a`.
const Symbols::Entry* Symbols::find_numbered(const Numbered& n) const {
    const Entry* found = nullptr;
    if (ranges_.may_have(n.stem))
        if (const Names* stem = names_of(n.stem)) found = find_in_range(*stem, n.number);
    return found;
}

const Symbols::Entry* Symbols::find_entry(std::string_view name) const {
    const Entry* found = nullptr;
    if (const auto n = numbered(name)) {
        found = find_numbered(*n);
        if (found != nullptr && !numbered_.may_have(n->stem)) return found;  // registers of `%r<N>`: one look
    }
    const Names* names = names_of(name);
    if (names == nullptr || names->single == none) return found;
    const Entry& single = entries_[names->single];
    return found == nullptr || single.depth >= found->depth ? &single : found;
}

const Symbol* Symbols::find(std::string_view name) const {
    const Entry* entry = find_entry(name);
    return entry == nullptr ? nullptr : &entry->symbol;
}

const Symbol* Symbols::find_innermost(std::string_view name) const {
    const Entry* entry = find_entry(name);
    return entry == nullptr || entry->depth != depth() ? nullptr : &entry->symbol;
}

std::optional<Numbered> numbered(std::string_view name) {
    std::size_t begin = name.size();
    while (begin > 0 && is_digit(name[begin - 1])) --begin;
    const std::size_t digits = name.size() - begin;
    if (digits == 0 || begin == 0 || digits > 18) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : name.substr(begin)) value = 10 * value + static_cast<std::uint64_t>(c - '0');
    return Numbered{name.substr(0, begin), value};
}

std::string_view text(Space space) { return space == Space::none ? "generic" : syntax::row(space).word; }

Space space_of(std::string_view word) {
    const Space space = syntax::space_of(word);
    return space == Space::shared_cluster ? Space::shared : space;
}

}  // namespace ptxgraft::isa
