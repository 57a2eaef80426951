#pragma once
// The markers of sites. A marker is a `//` comment outside of strings and block comments whose first word is
// one of the words below, spelled exactly so; a word anywhere else is text like any other.

#include <optional>
#include <string_view>

#include "site/operand.hpp"

namespace ptxgraft::site {

enum class Marker : std::uint8_t { none, site, stub, end, inject_start, inject_end };

/// The marker that a comment is, from its two slashes to the end of its line.
[[nodiscard]] Marker marker_of(std::string_view comment);

struct Heading {
    std::string_view name;
    Policy policy;
    Span name_span;
};
/// Reads `PTXGRAFT_SITE name [pure] [allow WORD…]` or `PTX_INJECT_START name` in text[comment).
[[nodiscard]] Expected<Heading> read_heading(std::string_view text, Span comment, Marker marker);

/// Reads `in|mod|out TYPE NAME [COUNT]`.
[[nodiscard]] Expected<OperandText> read_operand_line(std::string_view text, Span comment);

/// Whether the comment is an operand line of mm-ptx: its first word is a register `_x0`, `%_x0` ….
[[nodiscard]] bool is_foreign_operand(std::string_view comment);
/// Reads `_x0 i|o|m TYPE TOKEN NAME`.
[[nodiscard]] Expected<OperandText> read_foreign_operand(std::string_view text, Span comment);

}  // namespace ptxgraft::site
