// Finds the rows of an instruction by opcode and modifiers, and remembers them.

#include "isa/match.hpp"

#include <algorithm>

namespace ptxgraft::isa {
namespace {

WordId word_id(std::string_view modifier) {
    static const syntax::NameMap<WordId> ids = [] {
        syntax::NameMap<WordId> all;
        for (std::size_t i = 0; i < table_words.size(); ++i)
            *all.put(table_words[i]).first = static_cast<WordId>(i);
        return all;
    }();
    const WordId* const id = ids.find(modifier);
    return id == nullptr ? no_word : *id;
}

// The opcodes of the table that the words begin with, the longest first.
std::vector<const Opcode*> opcodes_of(std::string_view opcode, std::span<const std::string_view> modifiers) {
    constexpr std::size_t longest_opcode = 6;
    std::vector<const Opcode*> opcodes;
    std::string name(opcode);
    for (std::size_t n = 0;; ++n) {
        const auto at = first_row_from(table_opcodes, name, &Opcode::name);
        if (at == table_opcodes.end() || !at->name.view().starts_with(name)) break;
        if (at->name == name) opcodes.insert(opcodes.begin(), &*at);
        if (n == modifiers.size() || n + 1 == longest_opcode) break;
        name += modifiers[n];
    }
    return opcodes;
}

}  // namespace

std::string canonical_name(const Match& match) {
    std::string name(match.row->opcode);
    for (std::size_t i = 0; i < match.row->slots.size(); ++i)
        if (match.chosen[i] != no_word) name += table_words[match.chosen[i]];
    return name;
}

std::vector<std::string_view> canonical_modifiers(const Match& match) {
    std::vector<std::string_view> all;
    std::string_view opcode = match.row->opcode;
    for (std::size_t at = opcode.find('.'); at != std::string_view::npos; at = opcode.find('.', 1)) {
        opcode.remove_prefix(at);
        all.push_back(opcode.substr(0, opcode.find('.', 1)));
    }
    for (std::size_t i = 0; i < match.row->slots.size(); ++i)
        if (match.chosen[i] != no_word) all.push_back(table_words[match.chosen[i]]);
    return all;
}

std::vector<std::string_view> todays_modifiers(const Match& match, bool flushes) {
    const std::vector<std::string_view> written = canonical_modifiers(match);
    std::vector<std::string_view> all = written;
    for (const WordId word : match.row->implied) all.push_back(table_words[word]);
    const auto has = [&](std::string_view word) { return std::ranges::find(all, word) != all.end(); };
    if (flushes && has(".f32") && !has(".ftz")) all.push_back(".ftz");
    if (all.size() == written.size()) return written;
    const std::string_view opcode = match.row->opcode;
    const NameMatch today = match_name(opcode.substr(0, opcode.find('.')), all);
    return today.matches.empty() ? written : canonical_modifiers(today.matches.front());
}

NameMatch match_name(std::string_view opcode, std::span<const std::string_view> modifiers) {
    NameMatch out;
    const std::vector<const Opcode*> opcodes = opcodes_of(opcode, modifiers);
    for (const Opcode* one : opcodes) {
        const std::string_view name = one->name;
        const auto skipped = static_cast<std::size_t>(std::count(name.begin(), name.end(), '.'));
        std::vector<WordId> words;
        words.reserve(modifiers.size());
        for (const std::string_view modifier : modifiers.subspan(skipped))
            words.push_back(word_id(without_bank(modifier)));
        for (const Row& row : one->rows)
            if (const Attempt a = attempt(row, words, Aim::fit); a.fits()) out.matches.push_back(a.match);
    }
    if (std::ranges::any_of(modifiers, [](std::string_view m) { return m.ends_with(']'); }))
        for (Match& match : out.matches) match.in_order = false;
    if (!out.matches.empty()) return out;
    const NameProblem problem = explain_name(opcodes.empty() ? nullptr : opcodes.front(), opcode, modifiers);
    out.code = problem.code;
    out.modifier = problem.modifier;
    out.message = problem.message.view();
    return out;
}

std::vector<std::string_view> all_nearest(std::string_view word, std::span<const std::string_view> names) {
    Nearest nearest(word);
    std::vector<std::string_view> found;
    for (const std::string_view name : names) {
        const Nearest::Place place = nearest.offer(name);
        if (place == Nearest::Place::nearer) found.clear();
        if (place != Nearest::Place::farther) found.push_back(name);
    }
    return found;
}

const NameMatch& NameMatches::of(std::string_view name, std::string_view opcode,
                                 std::span<const std::string_view> modifiers) {
    if (const NameMatch* const known = matches_.find(name)) return *known;
    if (texts_.size() == most) {
        matches_.clear();
        texts_.clear();
    }
    NameMatch& match = *matches_.put(texts_.emplace_back(name)).first;
    match = match_name(opcode, modifiers);
    return match;
}

}  // namespace ptxgraft::isa
