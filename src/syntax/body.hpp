#pragma once
/// @file body.hpp
/// How statements that an edit moves are laid out.

#include <string>
#include <string_view>

namespace ptxgraft::syntax {

/// What goes before a statement that is put before another one, with this trivia, so that it is laid out as
/// that: a line end and the indentation, or a blank.
[[nodiscard]] std::string line_like(std::string_view trivia);

}  // namespace ptxgraft::syntax
