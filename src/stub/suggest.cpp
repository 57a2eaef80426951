// Suggestions for unknown words: names that begin with them, or else those nearest to them.

#include "stub/suggest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "isa/match.hpp"

namespace ptxgraft {
namespace {

// The types that most programs are about come first.
int rank(std::string_view name) { return name.ends_with(".f32") ? 0 : name.ends_with("32") ? 1 : 2; }

// `add` for `add.f32`: the shortest names that begin so.
std::vector<std::string_view> completions(std::string_view word, std::span<const std::string_view> names) {
    std::vector<std::string_view> found;
    for (const std::string_view name : names)
        if (name.size() > word.size() && name.starts_with(word) && name[word.size()] == '.')
            found.push_back(name);
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
