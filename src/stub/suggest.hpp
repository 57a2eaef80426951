#pragma once
// Nearest names for a word that nothing knows.

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace ptxgraft {

/// What a word could have meant, at most `most` names: "; did you mean add.f32, add.s32?"; or nothing.
[[nodiscard]] std::string did_you_mean(std::string_view word, std::span<const std::string_view> names,
                                       std::size_t most = 1);

}  // namespace ptxgraft
