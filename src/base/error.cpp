// Renders errors: the message of a code, and line, column and caret in the source.

#include "ptxgraft/error.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace ptxgraft {
namespace {

struct Row {
    Errc code;
    std::string_view name;
    std::string_view message;
};

constexpr Row rows[] = {
#define PTXGRAFT_ERRC(name, value, message) {Errc::name, #name, message},
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
};

const Row& row(Errc code) {
    const auto found =
        std::find_if(std::begin(rows), std::end(rows), [&](const Row& r) { return r.code == code; });
    return found == std::end(rows) ? rows[0] : *found;
}

std::string_view text_at(Span span, std::string_view source) {
    if (!span.known() || span.begin >= source.size()) return {};
    const std::size_t end = std::min<std::size_t>(std::max(span.end, span.begin), source.size());
    return source.substr(span.begin, end - span.begin);
}

std::string_view line_at(std::string_view source, std::uint32_t offset) {
    const std::size_t before = offset == 0 ? std::string_view::npos : source.rfind('\n', offset - 1);
    const std::size_t begin = before == std::string_view::npos ? 0 : before + 1;
    std::size_t end = std::min(source.find('\n', begin), source.size());
    if (end > begin && source[end - 1] == '\r') --end;
    return source.substr(begin, end - begin);
}

// The line, cut to a window around the column where it is very long, and a caret below; tabs keep their
// width.
std::string excerpt(std::string_view line, std::uint32_t column, std::size_t length) {
    constexpr std::size_t window = 160;
    std::size_t at = std::min<std::size_t>(column - 1, line.size());
    if (line.size() > window) {
        const std::size_t cut = at > window / 2 ? at - window / 2 : 0;
        line = line.substr(cut, window);
        at -= cut;
    }
    std::string caret;
    for (std::size_t i = 0; i < at; ++i) caret += line[i] == '\t' ? '\t' : ' ';
    caret += '^';
    if (length > 1)
        caret.append(std::min(length, line.size() - std::min(at, line.size())) - (at < line.size() ? 1 : 0),
                     '~');
    return fmt::format("{}\n{}\n", line, caret);
}

}  // namespace

tl::unexpected<Error> fail(Errc code, Span span) {
    return tl::unexpected<Error>(Error{code, span, 0, nullptr, nullptr});
}

tl::unexpected<Error> fail(Errc code, Span span, std::string detail) {
    return tl::unexpected<Error>(
        Error{code, span, 0, std::make_shared<const std::string>(std::move(detail)), nullptr});
}

tl::unexpected<Error> fail(Errc code, std::string detail) { return fail(code, Span{}, std::move(detail)); }

std::string_view name(Errc code) { return row(code).name; }

Position position(std::string_view source, std::uint32_t offset) {
    const std::string_view before = source.substr(0, std::min<std::size_t>(offset, source.size()));
    const std::size_t line_begin = before.rfind('\n') + 1;  // npos + 1 is 0
    return {static_cast<std::uint32_t>(std::count(before.begin(), before.end(), '\n') + 1),
            static_cast<std::uint32_t>(before.size() - line_begin + 1)};
}

std::string message(const Error& error, std::string_view source) {
    if (error.source) source = error.source->text;
    std::string text(row(error.code).message);
    const std::string_view filler =
        error.detail ? std::string_view(*error.detail) : text_at(error.span, source).substr(0, 60);
    if (const std::size_t hole = text.find("{}"); hole != std::string::npos) {
        text.replace(hole, 2, filler);
    } else if (error.detail) {
        text.append(": ").append(filler);
    }
    return text;
}

std::string describe(const Error& error, std::string_view source, std::string_view file) {
    if (error.source) {
        source = error.source->text;
        file = error.source->name;
    }
    const std::string text = message(error, source);
    std::string prefix(file);
    if (!prefix.empty()) prefix += ':';
    if (!error.span.known() || source.empty())
        return fmt::format("{}{}error: {}\n", prefix, prefix.empty() ? "" : " ", text);
    const Position at = position(source, error.span.begin);
    const std::size_t length = error.span.end > error.span.begin ? error.span.end - error.span.begin : 1;
    return fmt::format("{}{}:{}: error: {}\n{}", prefix, at.line, at.column, text,
                       excerpt(line_at(source, error.span.begin), at.column, length));
}

}  // namespace ptxgraft
