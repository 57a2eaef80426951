#pragma once
// What each name means at the place that a walk over a module has come to (PTX ISA, chapter 5).

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "syntax/name_map.hpp"
#include "syntax/names.hpp"

namespace ptxgraft::syntax {

/// The number behind a stem: "%r12", and for ptxas "%r012" too, is 12 of "%r"; no stem without digits.
struct Numbered {
    std::string_view stem;
    std::uint64_t number = 0;
};
[[nodiscard]] constexpr Numbered numbered(std::string_view name) {
    constexpr std::size_t most_digits = 18;
    std::uint64_t number = 0, unit = 1;
    std::size_t begin = name.size();
    for (; begin > 0; --begin, unit *= 10) {
        const std::uint64_t digit = std::uint64_t{static_cast<unsigned char>(name[begin - 1])} - '0';
        if (digit > 9) break;
        number += digit * unit;
    }
    if (begin == name.size() || begin == 0 || name.size() - begin > most_digits) return {};
    return {name.substr(0, begin), number};
}

/// `%tid.x`, or `%tid .x` with blanks and comments between: the name, and the component with its dot.
struct NameParts {
    std::string_view stem, component;
};
[[nodiscard]] constexpr NameParts parts_of(std::string_view name) {
    const std::size_t dot = name.rfind('.');
    if (dot == std::string_view::npos) return {name, {}};
    const std::string_view stem = name.substr(0, dot);
    return {stem.substr(0, std::min(stem.find_first_of(" \t\r\n\f\x1A/"), stem.size())), name.substr(dot)};
}

/// Names in nested scopes, the module's around all; the innermost declaration counts. Views must outlive it.
template <class Symbol> class ScopeTable {
    // Places in entries_ of the innermost declaration; each knows the one that it hides.
    struct Names {
        std::uint32_t single = none, range = none;
    };

  public:
    static constexpr std::uint32_t any_depth = 0xFFFFFFFFu;
    struct Entry {
        Names* names;
        std::uint32_t hidden;
        std::uint32_t depth;  ///< of its scope; the module's: 0
        std::uint32_t count;  ///< of a range: `%r<5>` declares %r0 to %r4; 0: a single name
        Symbol symbol;
    };
    void open() { marks_.push_back(entries_.size()); }
    void close() {
        for (; entries_.size() > marks_.back(); entries_.pop_back()) {
            const Entry& entry = entries_.back();
            place_in(*entry.names, entry.count) = entry.hidden;
        }
        marks_.pop_back();
        if (marks_.empty()) inner_.clear();
    }
    /// Forgets all, and keeps the memory.
    void clear() {
        entries_.clear();
        marks_.clear();
        outer_.clear();
        inner_.clear();
        ranges_ = numbered_ = {};
    }
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(marks_.size()); }

    /// What the innermost scope itself has: a single name, or a range where `count` is not 0. Holds until the
    /// next declaration.
    [[nodiscard]] Entry* declared_here(std::string_view name, std::uint32_t count = 0) {
        const Names* const names = names_of(name);
        const std::uint32_t at = names == nullptr ? none : place_in(*names, count);
        return at != none && entries_[at].depth == depth() ? &entries_[at] : nullptr;
    }
    /// What the innermost scope has that another declaration of the name, or of a range of `count`, clashes
    /// with: `%r3` with `%r<5>` too, either way round.
    [[nodiscard]] const Entry* clash(std::string_view name, std::uint32_t count = 0) {
        constexpr std::uint32_t looked_at = 64;  // single names that a range would hide are few and small
        const Entry* before = declared_here(name, count);
        if (before == nullptr && count == 0) {
            before = range(numbered(name));
            return before != nullptr && before->depth == depth() ? before : nullptr;
        }
        if (before != nullptr || !may_have_numbered(name)) return before;
        for (std::uint32_t i = 0; i < std::min(count, looked_at) && before == nullptr; ++i)
            before = declared_here(std::string(name) + std::to_string(i));
        return before;
    }
    /// Adds it to the innermost scope, in front of all that it has of that name.
    void declare(std::string_view name, const Symbol& symbol, std::uint32_t count = 0) {
        if (count != 0)
            ranges_.add(name);
        else if (const Numbered n = numbered(name); !n.stem.empty())
            numbered_.add(n.stem);
        Names& names = names_for(name);
        std::uint32_t& place = place_in(names, count);
        entries_.push_back({&names, place, depth(), count, symbol});
        place = static_cast<std::uint32_t>(entries_.size() - 1);
    }
    /// False when surely no name was declared by itself that is this stem with digits behind it.
    [[nodiscard]] bool may_have_numbered(std::string_view stem) const { return numbered_.may_have(stem); }

    /// A name that was declared by itself, in a scope no deeper than `depth`.
    [[nodiscard]] const Entry* single(std::string_view name, std::uint32_t depth = any_depth) const {
        const Names* const names = names_of(name);
        std::uint32_t at = names == nullptr ? none : names->single;
        while (at != none && entries_[at].depth > depth) at = entries_[at].hidden;
        return at == none ? nullptr : &entries_[at];
    }
    /// The range that has the number.
    [[nodiscard]] const Entry* range(const Numbered& n, std::uint32_t depth = any_depth) const {
        if (n.stem.empty() || !ranges_.may_have(n.stem)) return nullptr;
        const Names* const names = names_of(n.stem);
        std::uint32_t at = names == nullptr ? none : names->range;
        while (at != none && (n.number >= entries_[at].count || entries_[at].depth > depth))
            at = entries_[at].hidden;
        return at == none ? nullptr : &entries_[at];
    }
    /// The innermost of both. A range whose stem ends in a digit (`a1<5>`) has no elements: ptxas takes a10
    /// for number 10 of `a`.
    [[nodiscard]] Entry* find(std::string_view name) {
        return const_cast<Entry*>(std::as_const(*this).find(name));
    }
    [[nodiscard]] const Entry* find(std::string_view name) const {
        const Numbered n = numbered(name);
        const Entry* const element = range(n);
        if (element != nullptr && !numbered_.may_have(n.stem)) return element;  // of `%r<N>`: one look
        const Entry* const alone = single(name);
        return element == nullptr || (alone != nullptr && alone->depth >= element->depth) ? alone : element;
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    template <class AnyNames> static auto& place_in(AnyNames& names, std::uint32_t count) {
        return count == 0 ? names.single : names.range;
    }
    [[nodiscard]] const Names* names_of(std::string_view name) const {
        const std::uint32_t hash = hash_of(name);
        const Names* const names = inner_.find(name, hash);
        return names != nullptr ? names : outer_.find(name, hash);
    }
    // A name of a function that the module has too begins with what the module says of it.
    [[nodiscard]] Names& names_for(std::string_view name) {
        const std::uint32_t hash = hash_of(name);
        if (depth() == 0) return *outer_.put(name, hash).first;
        const auto [names, is_new] = inner_.put(name, hash);
        if (is_new)
            if (const Names* outer = outer_.find(name, hash)) *names = *outer;
        return *names;
    }

    Stems ranges_;    // `%r` of `%r<5>`
    Stems numbered_;  // `a` of a single `a7`, of open scopes and maybe others
    // of the module; of the function that is open: small, and soon warm again
    NameMap<Names> outer_, inner_;
    std::vector<Entry> entries_;  // of the open scopes, in order
    std::vector<std::size_t> marks_;
};

/// The declarations that names are bound to.
class Scopes {
  public:
    void open() { table_.open(); }
    void close() { table_.close(); }
    /// In the innermost scope; with a range, `%r` stands for `%r0` and so on. Gives what the scope says of
    /// that name: this declaration or one before it.
    DeclarationIndex declare(std::string_view text, std::uint32_t range, DeclarationIndex declaration) {
        if (const Entry* const before = table_.declared_here(text, range)) return before->symbol;
        has_digit_stems_ |= range != 0 && trailing_digits(text) != 0;
        table_.declare(text, declaration, range);
        return declaration;
    }
    /// What a name means in scopes no deeper than `depth`.
    [[nodiscard]] NameIndex::Found find(std::string_view name,
                                        std::uint32_t depth = ScopeTable<DeclarationIndex>::any_depth) const {
        constexpr std::size_t most_digits = 64;  // of an element, with leading zeros
        const std::size_t digits = std::min({trailing_digits(name), name.size() - 1, most_digits});
        const Entry* found = nullptr;
        std::uint32_t element = whole_range;
        // Stems from the shortest on, as ptxas takes them.
        const std::size_t fewest = has_digit_stems_ ? 1 : digits;
        for (std::size_t n = digits; n != 0 && n >= fewest; --n) {
            const auto number = number_at_end(name, n);
            const Entry* const range =
                number ? table_.range({name.substr(0, name.size() - n), *number}, depth) : nullptr;
            if (range == nullptr || (found != nullptr && range->depth <= found->depth)) continue;
            found = range;
            element = *number;
        }
        const std::string_view stem = numbered(name).stem;
        const bool may_be_single = stem.empty() || table_.may_have_numbered(stem);
        const Entry* const single = may_be_single ? table_.single(name, depth) : nullptr;
        if (single != nullptr && (found == nullptr || single->depth >= found->depth))
            return {single->symbol, whole_range};
        return found == nullptr ? NameIndex::Found() : NameIndex::Found{found->symbol, element};
    }
    [[nodiscard]] NameIndex::Found find_in_module(std::string_view name) const { return find(name, 0); }

  private:
    using Entry = ScopeTable<DeclarationIndex>::Entry;
    ScopeTable<DeclarationIndex> table_;
    bool has_digit_stems_ = false;  // `a1` of `a1<5>`
};

}  // namespace ptxgraft::syntax
