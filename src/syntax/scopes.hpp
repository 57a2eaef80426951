#pragma once
// What each name means at the place that a walk over a module has come to.

#include <algorithm>
#include <string_view>
#include <vector>

#include "syntax/name_map.hpp"
#include "syntax/names.hpp"

namespace ptxgraft::syntax {

/// Opened and closed as the walk enters and leaves functions and blocks; the innermost declaration counts.
class Scopes {
  public:
    void open() { marks_.push_back(meanings_.size()); }
    void close() {
        for (; meanings_.size() > marks_.back(); meanings_.pop_back())
            *meanings_.back().place = meanings_.back().hidden;
        marks_.pop_back();
        if (marks_.empty()) inner_.clear();
    }
    /// In the innermost scope; with a range, `%r` stands for `%r0` and so on. Gives what the scope says of
    /// that name: this declaration or one before it.
    DeclarationIndex declare(std::string_view text, std::uint32_t range, DeclarationIndex declaration) {
        Meanings& meanings = meanings_for(text);
        std::uint32_t& place = range != 0 ? meanings.range : meanings.single;
        if (place != none && meanings_[place].depth == depth()) return meanings_[place].declaration;
        const std::size_t digits = trailing_digits(text);
        if (range != 0) {
            ranges_.add(text);
            has_digit_stems_ |= digits != 0;
        } else if (digits != 0 && digits < text.size()) {
            numbered_.add(text.substr(0, text.size() - digits));
        }
        meanings_.push_back({&place, place, depth(), range, declaration});
        place = static_cast<std::uint32_t>(meanings_.size() - 1);
        return declaration;
    }
    [[nodiscard]] NameIndex::Found find(std::string_view name) const {
        return find(name, [&](std::string_view text) { return meanings_of(text); });
    }
    /// What the module, without the open scopes, says of a name.
    [[nodiscard]] NameIndex::Found find_in_module(std::string_view name) const {
        return find(name, [&](std::string_view text) { return outer_.find(text); });
    }

  private:
    static constexpr std::uint32_t none = 0xFFFFFFFFu;
    // Places in meanings_ of the innermost one; each knows the one that it hides.
    struct Meanings {
        std::uint32_t single = none, range = none;
    };
    struct Meaning {
        std::uint32_t* place;
        std::uint32_t hidden;
        std::uint32_t depth;
        std::uint32_t range;
        DeclarationIndex declaration;
    };
    template <class MeaningsOf>
    [[nodiscard]] NameIndex::Found find(std::string_view name, MeaningsOf meanings_of) const {
        constexpr std::size_t most_digits = 64;  // of an element, with leading zeros
        const std::size_t all_digits = trailing_digits(name);
        const std::size_t digits = std::min({all_digits, name.size() - 1, most_digits});
        NameIndex::Found found;
        std::uint32_t found_depth = 0;
        // Stems from the shortest on, as ptxas takes them.
        const std::size_t fewest = has_digit_stems_ ? 1 : digits;
        for (std::size_t n = digits; n != 0 && n >= fewest; --n) {
            const std::string_view stem = name.substr(0, name.size() - n);
            if (!ranges_.may_have(stem)) continue;
            const auto number = number_at_end(name, n);
            const Meanings* meanings = number ? meanings_of(stem) : nullptr;
            std::uint32_t at = meanings == nullptr ? none : meanings->range;
            while (at != none && *number >= meanings_[at].range) at = meanings_[at].hidden;
            if (at == none || (found.declaration != no_declaration && meanings_[at].depth <= found_depth))
                continue;
            found = {meanings_[at].declaration, *number};
            found_depth = meanings_[at].depth;
        }
        const bool is_numbered = all_digits != 0 && all_digits < name.size();
        if (is_numbered && !numbered_.may_have(name.substr(0, name.size() - all_digits))) return found;
        const Meanings* meanings = meanings_of(name);
        if (meanings == nullptr || meanings->single == none) return found;
        const Meaning& single = meanings_[meanings->single];
        const bool is_nearer = found.declaration == no_declaration || single.depth >= found_depth;
        return is_nearer ? NameIndex::Found{single.declaration, whole_range} : found;
    }
    [[nodiscard]] std::uint32_t depth() const { return static_cast<std::uint32_t>(marks_.size()); }
    [[nodiscard]] const Meanings* meanings_of(std::string_view text) const {
        const std::uint32_t hash = hash_of(text);
        const Meanings* inner = inner_.find(text, hash);
        return inner != nullptr ? inner : outer_.find(text, hash);
    }
    // A text that the module has too begins with what the module says of it.
    Meanings& meanings_for(std::string_view text) {
        const std::uint32_t hash = hash_of(text);
        if (depth() == 0) return *outer_.put(text, hash).first;
        const auto [meanings, is_new] = inner_.put(text, hash);
        if (is_new)
            if (const Meanings* outer = outer_.find(text, hash)) *meanings = *outer;
        return *meanings;
    }

    Stems ranges_, numbered_;
    bool has_digit_stems_ = false;  // `a1` of `a1<5>`
    NameMap<Meanings> outer_,
        inner_;  // of the module; of the function that is open: small, and soon warm again
    std::vector<Meaning> meanings_;  // of the open scopes, in order
    std::vector<std::size_t> marks_;
};

}  // namespace ptxgraft::syntax
