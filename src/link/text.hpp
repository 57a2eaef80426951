#pragma once
/// @file text.hpp
/// Lines and words of logs and sources.

#include <string>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::link {

/// Takes the first line off a text, without its end.
[[nodiscard]] std::string_view take_line(std::string_view& text);
[[nodiscard]] std::string_view trim(std::string_view text);

/// A compiler's log without the zero bytes and line ends that it is padded with.
[[nodiscard]] std::string trimmed_log(std::string log);

/// The version in what CUDA's tools say of themselves: `13.5.37` of `Cuda compilation tools, release 13.5,
/// V13.5.37`. Empty when there is none.
[[nodiscard]] std::string_view tools_version(std::string_view text);

/// The bytes of a line, from 1, without its end and the blanks around it; unknown when there is no such line.
[[nodiscard]] Span line_span(std::string_view source, std::uint32_t line);

/// From the span's begin to the end of the word there, or of the line when there is no word.
[[nodiscard]] Span word_span(std::string_view source, Span span);

}  // namespace ptxgraft::link
