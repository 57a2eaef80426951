// Nearest names for a word that nothing knows.

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "stub/stack/text/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::size_t longest_word = 48, most_suggestions = 4;

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b, std::vector<std::size_t>& row) {
    row.resize(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 1; i <= a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i;
        for (std::size_t j = 1; j <= b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
            diagonal = row[j];
            row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
        }
    }
    return row.back();
}

std::vector<std::string> candidates(const InstructionSet& set, const Signature& signature,
                                    std::span<const Routine> routines) {
    std::vector<std::string> all;
    for (const SiteOperand& operand : signature.operands) all.push_back(element_name(operand, 0));
    for (const Routine& routine : routines) all.push_back(routine.name);
    for (const std::string_view word : language_words()) all.emplace_back(word);
    for (const Entry& entry : set.entries()) all.push_back(entry.name);
    for (const StackWord& word : stack_words())
        for (std::uint32_t type = 0; type < max_types; ++type)
            if (const auto name = set.type_name(static_cast<TypeId>(type)); !name.empty())
                all.push_back(fmt::format("{}.{}", word.word, name));
    return all;
}

// The types that most programs are about come first.
int rank(std::string_view name) { return name.ends_with(".f32") ? 0 : name.ends_with("32") ? 1 : 2; }

// `add` for `add.f32`: the shortest names that begin so.
std::vector<std::string_view> completions(std::string_view word, std::span<const std::string> names) {
    std::vector<std::string_view> found;
    for (const std::string& name : names)
        if (name.size() > word.size() && name.starts_with(word) && name[word.size()] == '.')
            found.push_back(name);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.size() != b.size() ? a.size() < b.size() : rank(a) < rank(b);
    });
    return found;
}

std::vector<std::string_view> closest(std::string_view word, std::span<const std::string> names) {
    std::vector<std::string_view> found;
    std::vector<std::size_t> row;
    std::size_t least = std::max<std::size_t>(1, word.size() / 3);
    for (const std::string& name : names) {
        // the distance is at least the difference of the lengths
        if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > least) continue;
        const std::size_t d = distance(word, name, row);
        if (d < least) found.clear();
        if (d > least) continue;
        least = d;
        found.push_back(name);
    }
    return found;
}

}  // namespace

std::string nearest(std::string_view word, std::span<const std::string> names) {
    if (word.size() > longest_word) return {};
    std::vector<std::string_view> near = completions(word, names);
    if (near.empty()) near = closest(word, names);
    if (near.empty()) return {};
    near.resize(std::min(near.size(), most_suggestions));
    return fmt::format("; did you mean {}?", fmt::join(near, ", "));
}

std::string suggestions(std::string_view word, const InstructionSet& set, const Signature& signature,
                        std::span<const Routine> routines) {
    return word.size() > longest_word ? "" : nearest(word, candidates(set, signature, routines));
}

}  // namespace ptxgraft::stack
