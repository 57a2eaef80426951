// Suggestions for unknown words: names that say more than they do, or else those nearest to them.

#include "stub/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isa/match.hpp"

namespace ptxgraft {
namespace {

// The types that most programs are about come first.
int rank(std::string_view name) { return name.ends_with(".f32") ? 0 : name.ends_with("32") ? 1 : 2; }

// What stands before the first dot; `text` goes on behind it.
std::string_view take_part(std::string_view& text) {
    const std::string_view part = text.substr(0, text.find('.'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    return part;
}

// Whether the name has the word's parts in their order, the first one first: `fma.rn.f32` has those of
// `fma.f32`.
bool has_parts(std::string_view name, std::string_view word) {
    if (take_part(name) != take_part(word)) return false;
    while (!word.empty()) {
        const std::string_view part = take_part(word);
        while (take_part(name) != part)
            if (name.empty()) return false;
    }
    return true;
}

// `add` for `add.f32`, `fma.f32` for `fma.rn.f32`: the shortest names that have its parts.
std::vector<std::string_view> completions(std::string_view word, std::span<const std::string_view> names) {
    std::vector<std::string_view> found;
    for (const std::string_view name : names)
        if (name.size() > word.size() && has_parts(name, word)) found.push_back(name);
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
        return a.size() != b.size() ? a.size() < b.size() : rank(a) < rank(b);
    });
    return found;
}

}  // namespace

std::string did_you_mean(std::string_view word, std::span<const std::string_view> names, std::size_t most) {
    std::vector<std::string_view> near = completions(word, names);
    if (near.empty()) near = isa::all_nearest(word, names);
    near.resize(std::min(near.size(), most));
    return near.empty() ? "" : fmt::format("; did you mean {}?", fmt::join(near, ", "));
}

}  // namespace ptxgraft
