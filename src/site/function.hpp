#pragma once
// What stands before the opening brace of a function.

#include <optional>
#include <string_view>

#include "ptxgraft/site.hpp"

namespace ptxgraft::site {

/// The function whose directive stands in text[begin, brace): its name, and its span from the directive to
/// the brace. Nothing when the statement is not a function: an initialiser, a debug section.
[[nodiscard]] std::optional<Sites::Function> function_before(std::string_view text, std::size_t begin,
                                                             std::size_t brace);

/// Where the comment or string that begins at `at` ends: behind its last byte (a `//` comment: at the end of
/// its line). A lone `/` is one byte long; a string without its closing quote ends with its line.
[[nodiscard]] std::size_t skip_opaque(std::string_view text, std::size_t at);

}  // namespace ptxgraft::site
