#pragma once
/// @file target_list.hpp
/// Which of several architectures a module is for (PTX ISA 11.1.2).

#include <algorithm>
#include <array>
#include <string_view>

namespace ptxgraft {

/// What names of architectures begin with: `compute_90` is a synonym of `sm_90`.
inline constexpr std::array<std::string_view, 2> architecture_prefixes = {"sm_", "compute_"};

/// Whether a word of `.target` is meant for an architecture, not for an option such as `debug`.
[[nodiscard]] constexpr bool is_architecture_name(std::string_view word) {
    return std::ranges::any_of(architecture_prefixes, [&](auto prefix) { return word.starts_with(prefix); });
}

/// ptxas goes by the last architecture that `.target` names, and keeps a letter of one number: sm_90a of
/// `.target sm_80, sm_90a, sm_90`. `last` is what came before, or empty.
[[nodiscard]] constexpr std::string_view target_with(std::string_view last, std::string_view next) {
    const bool is_within = last.size() == next.size() + 1 && last.starts_with(next) && last.back() >= 'a';
    return is_within ? last : next;
}

}  // namespace ptxgraft
