#pragma once
/// @file choices.hpp
/// What the tunables of a template are set to: `{{"tile_m", 64}, {"type", "f16"}}`.

#include <concepts>
#include <functional>
#include <map>
#include <string>

namespace ptxgraft {

/// What a tunable is set to: a number, or a word such as "bf16".
struct Choice {
    template <std::integral I> Choice(I number) : text(std::to_string(number)) {}
    Choice(const char* word) : text(word) {}
    Choice(std::string word) : text(std::move(word)) {}
    std::string text;
    friend bool operator==(const Choice&, const Choice&) = default;
};
/// Tunables by name.
using Choices = std::map<std::string, Choice, std::less<>>;

}  // namespace ptxgraft
