// Lines of the source of a module, from its `.loc` and `.file` directives: where an instruction comes from,
// and through which inlined functions.

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <memory>
#include <optional>
#include <unordered_map>

#if __has_include(<cxxabi.h>)
#include <cxxabi.h>
#endif

#include "ptxgraft/syntax.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::syntax {
namespace {

constexpr std::size_t deepest_chain = 64;

struct SourcePlace {
    std::uint64_t file = 0, line = 0, column = 0;
    friend bool operator==(const SourcePlace&, const SourcePlace&) = default;
};
// `.loc 1 9 3, function_name label + 4, inlined_at 1 21 3`
struct Location {
    SourcePlace at;
    std::string_view label;
    std::uint64_t behind_label = 0;
    std::optional<SourcePlace> inlined_at;
};

std::uint64_t number_at(const std::vector<Token>& tokens, std::size_t i) {
    return i < tokens.size() ? integer_value(tokens[i].text).value_or(0) : 0;
}
SourcePlace place_at(const std::vector<Token>& tokens, std::size_t i) {
    return {number_at(tokens, i), number_at(tokens, i + 1), number_at(tokens, i + 2)};
}

Location read(const std::vector<Token>& tokens) {
    Location found;
    found.at = place_at(tokens, 1);
    for (std::size_t i = 4; i + 1 < tokens.size(); ++i) {
        if (tokens[i].text == "function_name") found.label = tokens[i + 1].text;
        if (tokens[i].text == "+") found.behind_label = number_at(tokens, i + 1);
        if (tokens[i].text == "inlined_at") found.inlined_at = place_at(tokens, i + 1);
    }
    return found;
}

// What `.loc` refers to, which stands at the module's level, before or after.
class Tables {
  public:
    explicit Tables(const Module& module) {
        for (const Statement& statement : module.statements()) {
            if (statement.kind() != StatementKind::directive) continue;
            const std::vector<Token> tokens = statement.tokens();
            if (tokens.size() >= 3 && tokens[0].text == ".file")
                files_[number_at(tokens, 1)] = unquoted(tokens[2].text);
            if (tokens.size() >= 3 && tokens[0].text == ".section" && tokens[1].text == ".debug_str")
                add_strings(tokens);
        }
    }
    [[nodiscard]] std::string file(std::uint64_t number) const {
        const auto found = files_.find(number);
        return found == files_.end() ? "file " + std::to_string(number) : std::string(found->second);
    }
    [[nodiscard]] std::string string(const Location& location) const {
        const auto label = labels_.find(location.label);
        if (label == labels_.end() && location.label != ".debug_str") return {};
        const std::size_t begin = (label == labels_.end() ? 0 : label->second) + location.behind_label;
        if (begin >= strings_.size()) return {};
        return strings_.substr(begin, strings_.find('\0', begin) - begin);
    }

  private:
    static std::string_view unquoted(std::string_view text) {
        return text.size() >= 2 && text.front() == '"' ? text.substr(1, text.size() - 2) : text;
    }
    // Bytes, and names for places among them.
    void add_strings(const std::vector<Token>& tokens) {
        for (std::size_t i = 2; i < tokens.size(); ++i) {
            if (tokens[i].kind == TokenKind::integer)
                strings_ += static_cast<char>(number_at(tokens, i));
            else if (tokens[i].kind == TokenKind::identifier && i + 1 < tokens.size() &&
                     tokens[i + 1].text == ":")
                labels_[tokens[i].text] = strings_.size();
        }
    }

    std::unordered_map<std::uint64_t, std::string_view> files_;
    std::unordered_map<std::string_view, std::size_t> labels_;
    std::string strings_;
};

std::string demangled(const std::string& name) {
#if __has_include(<cxxabi.h>)
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), &std::free);
    if (status == 0 && text != nullptr) return text.get();
#endif
    return name;
}

Statement function_around(const Module& module, std::uint32_t offset) {
    for (const Statement& function : module.functions()) {
        const Span span = function.span();
        if (offset >= span.begin && offset < span.end) return function;
    }
    return {};
}

}  // namespace

std::vector<SourceLine> source_lines(const Module& module, std::uint32_t offset) {
    std::vector<SourceLine> lines;
    const Statement function = function_around(module, offset);
    if (!function) return lines;
    std::vector<Location> locations;  // up to the offset
    for (const Statement statement : function.walk()) {
        if (statement.span().begin > offset) break;
        if (statement.kind() != StatementKind::directive) continue;
        const std::vector<Token> tokens = statement.tokens();
        if (tokens.size() >= 4 && tokens[0].text == ".loc") locations.push_back(read(tokens));
    }
    const Tables tables(module);
    auto end = locations.rbegin();
    for (std::optional<SourcePlace> wanted; end != locations.rend() && lines.size() < deepest_chain; ++end) {
        if (wanted && end->at != *wanted) continue;
        lines.push_back({tables.file(end->at.file), static_cast<std::uint32_t>(end->at.line),
                         static_cast<std::uint32_t>(end->at.column),
                         end->inlined_at ? demangled(tables.string(*end)) : std::string()});
        if (!end->inlined_at) return lines;
        wanted = end->inlined_at;
        const bool is_there = std::any_of(std::next(end), locations.rend(),
                                          [&](const Location& other) { return other.at == *wanted; });
        if (is_there) continue;
        lines.push_back({tables.file(wanted->file),
                         static_cast<std::uint32_t>(wanted->line),
                         static_cast<std::uint32_t>(wanted->column),
                         {}});
        return lines;
    }
    return lines;
}

std::string describe(std::span<const SourceLine> lines) {
    std::string text;
    for (const SourceLine& line : lines) {
        text.append(text.empty() ? "" : ", inlined at ").append(line.file);
        text.append(":" + std::to_string(line.line) + ":" + std::to_string(line.column));
        if (!line.function.empty()) text.append(" in ").append(line.function);
    }
    return text;
}

}  // namespace ptxgraft::syntax
