// Lines and words of logs and sources.

#include "link/text.hpp"

#include <algorithm>
#include <cctype>

namespace ptxgraft::link {

std::string_view take_line(std::string_view& text) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    return line;
}

std::string_view trim(std::string_view text) {
    const std::size_t begin = text.find_first_not_of(" \t\r\n");
    if (begin == std::string_view::npos) return {};
    return text.substr(begin, text.find_last_not_of(" \t\r\n") - begin + 1);
}

std::string trimmed_log(std::string log) {
    while (!log.empty() && (log.back() == '\0' || log.back() == '\n')) log.pop_back();
    return log;
}

std::string_view tools_version(std::string_view text) {
    constexpr std::string_view mark = "Cuda compilation tools, release ";
    const std::size_t release = text.find(mark);
    const std::size_t version = text.find(", V", release);
    if (release == std::string_view::npos || version == std::string_view::npos) return {};
    text.remove_prefix(version + 3);
    return text.substr(0, text.find_first_not_of("0123456789."));
}

Span line_span(std::string_view source, std::uint32_t line) {
    std::string_view rest = source;
    std::string_view text;
    for (std::uint32_t i = 0; i < line; ++i) {
        if (rest.empty()) return {};
        text = take_line(rest);
    }
    const std::string_view part = trim(text);
    const char* const begin = part.empty() ? text.data() : part.data();
    const auto offset = static_cast<std::uint32_t>(begin - source.data());
    return {offset, offset + static_cast<std::uint32_t>(part.size())};
}

Span word_span(std::string_view source, Span span) {
    std::uint32_t end = span.begin;
    while (end < span.end && (std::isalnum(static_cast<unsigned char>(source[end])) || source[end] == '_'))
        ++end;
    return end == span.begin ? span : Span{span.begin, end};
}

}  // namespace ptxgraft::link
