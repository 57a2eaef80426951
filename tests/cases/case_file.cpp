// Case files: the marks beside their lines, read and written.
#include "case_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <set>

namespace ptxgraft::cases {
namespace {

constexpr std::string_view error_begin = "// error: ", note = "// note", wrong = "// wrong",
                           right_begin = "// right:", setting_begin = "//@ ";

std::vector<std::string_view> lines_of(std::string_view text) {
    std::vector<std::string_view> lines;
    while (!text.empty()) {
        const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
        lines.push_back(text.substr(0, end));
        text.remove_prefix(end);
    }
    return lines;
}

std::string_view trimmed(std::string_view text) {
    const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; };
    while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
    while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
    return text;
}

template <class T> bool read_number(std::string_view text, T& value) {
    const int base = text.starts_with("0x") ? 16 : 10;
    if (base == 16) text.remove_prefix(2);
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    return error == std::errc() && end == text.data() + text.size();
}

// The beginning of a mark at `at` or behind it.
std::size_t next_mark(std::string_view line, std::size_t at) {
    return std::min({line.find(error_begin, at), line.find(note, at), line.find(wrong, at)});
}

// A line's code and its marks.
struct Line {
    std::string_view code;  // with the line's end, where it has no marks
    std::vector<Mark> errors = {};
    bool has_note = false, is_wrong = false;
};

std::optional<EmulatorCheck> check_named(std::string_view text) {
    for (std::size_t i = 0; i < emulator_check_count; ++i)
        if (name(static_cast<EmulatorCheck>(i)) == text) return static_cast<EmulatorCheck>(i);
    return {};
}

Mark read_mark(std::string_view text) {
    Mark mark;
    if (const std::size_t quote = text.find('"'); quote != std::string_view::npos) {
        mark.text = text.substr(quote + 1, text.rfind('"') - quote - 1);
        text = trimmed(text.substr(0, quote));
    }
    if (const std::size_t bracket = text.find('['); bracket != std::string_view::npos) {
        std::string_view inside = text.substr(bracket + 1, text.rfind(']') - bracket - 1);
        mark.is_fatal = inside.ends_with(", fatal");
        if (mark.is_fatal) inside.remove_suffix(7);
        mark.check = check_named(inside);
        text = trimmed(text.substr(0, bracket));
    }
    if (const std::size_t at = text.find(" at "); at != std::string_view::npos) {
        std::uint32_t column = 0;
        if (read_number(text.substr(at + 4), column)) mark.column = column;
        text = text.substr(0, at);
    }
    mark.code = text;
    return mark;
}

Line read_line(std::string_view line) {
    std::size_t at = next_mark(line, 0);
    Line read{.code = at == std::string_view::npos ? line : line.substr(0, at)};
    while (at != std::string_view::npos) {
        const std::size_t next = next_mark(line, at + 3);
        const std::string_view mark = trimmed(line.substr(at, next - at));
        if (mark.starts_with(error_begin)) read.errors.push_back(read_mark(mark.substr(error_begin.size())));
        read.has_note |= mark.starts_with(note);
        read.is_wrong |= mark.starts_with(wrong);
        at = next;
    }
    return read;
}

bool is_right(const Mark& mark, const Given& error) {
    return mark.code == error.code && mark.column.value_or(error.column) == error.column &&
           mark.check == error.check && mark.is_fatal == error.is_fatal &&
           (!mark.text || error.message.find(*mark.text) != std::string::npos);
}

// The mark of an error, with as much of it as the mark says that stands there now.
Mark mark_of(const Given& error, const Mark* before, bool has_columns) {
    Mark mark{error.code, {}, error.check, error.is_fatal, {}};
    if (before != nullptr ? before->column.has_value() : has_columns) mark.column = error.column;
    if (before != nullptr && before->text)
        mark.text = error.message.find(*before->text) != std::string::npos ? *before->text : error.message;
    return mark;
}

// What the marks of a line are to be: its errors in their order, and whether others name it.
struct Wanted {
    std::vector<const Given*> errors = {};
    bool has_note = false;
};

std::map<std::size_t, Wanted> by_line(const std::vector<Given>& all) {
    std::map<std::size_t, Wanted> lines;
    for (const Given& error : all) {
        lines[error.line].errors.push_back(&error);
        for (const std::uint32_t line : error.named) lines[line].has_note = true;
    }
    return lines;
}

bool is_right(const Line& line, const Wanted& wanted) {
    return line.has_note == wanted.has_note &&
           std::ranges::equal(line.errors, wanted.errors,
                              [](const Mark& mark, const Given* error) { return is_right(mark, *error); });
}

std::string marks_of(const Line& line, const Wanted& wanted, bool has_columns) {
    std::string marks;
    for (std::size_t i = 0; i < wanted.errors.size(); ++i)
        marks += "  // error: " +
                 to_text(mark_of(*wanted.errors[i], i < line.errors.size() ? &line.errors[i] : nullptr,
                                 has_columns));
    if (wanted.has_note) marks += "  // note";
    return marks;
}

std::string marks_of(const Line& line) {
    std::string marks;
    for (const Mark& mark : line.errors) marks += "  // error: " + to_text(mark);
    if (line.has_note) marks += "  // note";
    return marks;
}

// The module with what stands behind `// right:` in place of the line above, and of those that are marked
// wrong above it.
std::string twin_of(std::string_view text) {
    std::vector<std::string> twin;
    bool is_behind_right = false;
    for (const std::string_view line : lines_of(text)) {
        const std::string_view comment = trimmed(line);
        if (!comment.starts_with(right_begin)) {
            twin.emplace_back(line);
            is_behind_right = false;
            continue;
        }
        if (!is_behind_right && !twin.empty()) {
            twin.pop_back();
            while (!twin.empty() && read_line(twin.back()).is_wrong) twin.pop_back();
        }
        twin.push_back(std::string(trimmed(comment.substr(right_begin.size()))) + "\n");
        is_behind_right = true;
    }
    std::string joined;
    for (const std::string& line : twin) joined += line;
    return joined;
}

bool read_launch_word(std::string_view key, std::string_view value, Launch& launch) {
    if (key == "grid") return read_number(value, launch.grid);
    if (key == "block") return read_number(value, launch.block);
    if (key == "cluster") return read_number(value, launch.cluster);
    if (key == "words") return read_number(value, launch.words);
    if (key == "fill" && value == "iota") return launch.is_iota = true;
    if (key == "fill") return read_number(value, launch.fill);
    if (key != "checks") return false;
    const auto checks = parse_checks(value);
    if (checks) launch.checks = *checks;
    return checks.has_value();
}

// KEY=VALUE …
bool read_launch(std::string_view text, Launch& launch) {
    while (!text.empty()) {
        const std::string_view word = text.substr(0, text.find(' '));
        const std::size_t equals = word.find('=');
        if (equals == std::string_view::npos ||
            !read_launch_word(word.substr(0, equals), word.substr(equals + 1), launch))
            return false;
        text = trimmed(text.substr(word.size()));
    }
    return true;
}

bool read_setting(std::string_view text, Case& read) {
    if (text == "ptxas differs") {
        read.does_ptxas_agree = false;
        return true;
    }
    return text.starts_with("launch ") && read_launch(text.substr(7), read.launch.emplace());
}

}  // namespace

std::string to_text(const Mark& mark) {
    std::string text = mark.code;
    if (mark.column) text += fmt::format(" at {}", *mark.column);
    if (mark.check) text += fmt::format(" [{}{}]", name(*mark.check), mark.is_fatal ? ", fatal" : "");
    if (mark.text) text += fmt::format(" \"{}\"", *mark.text);
    return text;
}

Given given(const Error& error, std::string_view text) {
    Given made{.code = std::string(name(error.code)), .message = message(error, text)};
    if (error.span.known()) {
        const Position at = position(text, error.span.begin);
        // the end of the text is no line of its own
        made.line = std::min(at.line, static_cast<std::uint32_t>(std::ranges::count(text, '\n')));
        made.column = at.column;
    }
    std::set<std::uint32_t> named;
    for (std::size_t at = made.message.find("line "); at != std::string::npos;
         at = made.message.find("line ", at + 1)) {
        const std::size_t end = made.message.find_first_not_of("0123456789", at + 5);
        std::uint32_t line = 0;
        if (read_number(std::string_view(made.message).substr(at + 5, end - at - 5), line) &&
            line != made.line)
            named.insert(line);
    }
    made.named.assign(named.begin(), named.end());
    return made;
}

Expected<Case> read_case(std::string text) {
    Case read{.text = std::move(text)};
    for (const std::string_view line : lines_of(read.text)) {
        const std::string_view comment = trimmed(line);
        read.has_twin |= comment.starts_with(right_begin);
        if (comment.starts_with(setting_begin) && !read_setting(comment.substr(setting_begin.size()), read))
            return fail(Errc::argument_invalid, "no setting of a case: " + std::string(comment));
    }
    if (read.has_twin) read.twin = twin_of(read.text);
    return read;
}

std::string rebased(const Case& wanted, const std::vector<Given>& all) {
    const auto marked = by_line(all);
    std::string text;
    std::size_t number = 0;
    for (const std::string_view line : lines_of(wanted.text)) {
        const auto found = marked.find(++number);
        const Wanted here = found == marked.end() ? Wanted() : found->second;
        const Line read = read_line(line);
        if (is_right(read, here)) {
            text += line;
            continue;
        }
        std::string_view code = read.code;
        while (!code.empty() && (code.back() == ' ' || code.back() == '\n')) code.remove_suffix(1);
        text += code;
        text += read.is_wrong ? "  // wrong" : "";
        text += marks_of(read, here, !wanted.launch) + "\n";
    }
    return text;
}

std::string difference(const Case& wanted, const std::vector<Given>& all, std::string_view file) {
    auto marked = by_line(all);
    std::string text;
    std::size_t number = 0;
    const auto or_nothing = [](const std::string& marks) { return marks.empty() ? "  nothing" : marks; };
    for (const std::string_view line : lines_of(wanted.text)) {
        const Wanted here = marked[++number];
        const Line read = read_line(line);
        if (is_right(read, here)) continue;
        text += fmt::format("{}:{}: {}\n  expected:{}\n  got:     {}\n", file, number, trimmed(read.code),
                            or_nothing(marks_of(read)), or_nothing(marks_of(read, here, !wanted.launch)));
        for (const Given* error : here.errors) text += "    " + error->message + "\n";
    }
    return text;
}

}  // namespace ptxgraft::cases
