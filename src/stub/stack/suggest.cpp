// Nearest names for a word that nothing knows.

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "ptxgraft/isa.hpp"
#include "stub/stack/machine.hpp"
#include "stub/stack/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::size_t longest_word = 48, most_suggestions = 4;

// Levenshtein's distance.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
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

std::vector<std::string> candidates(const Signature& signature) {
    std::vector<std::string> all;
    for (const SiteOperand& operand : signature.operands)
        all.push_back(operand.count == 0 ? operand.name : operand.name + "[0]");
    for (const isa::Form& form : isa::forms())
        if (form.stack) all.emplace_back(form.name);
    for (const StackWord& word : stack_words())
        for (const std::string_view type : stack_names) all.push_back(fmt::format("{}.{}", word.word, type));
    return all;
}

std::string joined(const std::vector<std::string>& names) {
    return fmt::format("; did you mean {}?", fmt::join(names, ", "));
}

}  // namespace

std::string suggestions(std::string_view word, const Signature& signature) {
    if (word.size() > longest_word) return {};
    const std::vector<std::string> all = candidates(signature);
    std::vector<std::string> near;
    // `add` for `add.f32`: the shortest forms that begin so
    for (const std::string& name : all)
        if (name.size() > word.size() && name.starts_with(word) && name[word.size()] == '.')
            near.push_back(name);
    std::stable_sort(near.begin(), near.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    if (near.empty()) {
        const std::size_t limit = std::max<std::size_t>(1, word.size() / 3);
        std::vector<std::pair<std::size_t, std::string>> ranked;
        for (const std::string& name : all) {
            // the distance is at least the difference of the lengths
            if (std::max(name.size(), word.size()) - std::min(name.size(), word.size()) > limit) continue;
            if (const std::size_t d = distance(word, name); d <= limit) ranked.emplace_back(d, name);
        }
        std::stable_sort(ranked.begin(), ranked.end(),
                         [](const auto& a, const auto& b) { return a.first < b.first; });
        for (auto& [d, name] : ranked)
            if (d == ranked.front().first) near.push_back(std::move(name));
    }
    if (near.empty()) return {};
    near.resize(std::min(near.size(), most_suggestions));
    return joined(near);
}

}  // namespace ptxgraft::stack
