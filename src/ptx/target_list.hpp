#pragma once
/// @file target_list.hpp
/// Which of several architectures a module is for (PTX ISA 11.1.2).

#include <string_view>

namespace ptxgraft {

/// ptxas goes by the last architecture that `.target` names, and keeps a letter of one number: sm_90a of
/// `.target sm_80, sm_90a, sm_90`. `last` is what came before, or empty.
[[nodiscard]] constexpr std::string_view target_with(std::string_view last, std::string_view next) {
    const bool is_within = last.size() == next.size() + 1 && last.starts_with(next) && last.back() >= 'a';
    return is_within ? last : next;
}

}  // namespace ptxgraft
