// What is wrong with the names of a set, for messages.

#include "stub/set/names.hpp"

#include <algorithm>
#include <array>
#include <vector>

#include "isa/forms.hpp"
#include "isa/match.hpp"
#include "stub/number.hpp"
#include "stub/stack/text/words.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::array<std::string_view, 7> other_words = {"true",    "false", "inf",   "nan",
                                                         "include", "type",  "weight"};

bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }

// `inff64`, `nanbf16`: literals.
bool is_literal(std::string_view name) {
    return (name.starts_with("inf") || name.starts_with("nan")) &&
           (name.substr(3).starts_with('.') || builtin_type(name.substr(3)) != max_types);
}

std::string list_text(const std::vector<std::string>& names) {
    constexpr std::size_t most = 8;
    std::string text;
    for (std::size_t i = 0; i < names.size() && i < most; ++i)
        text.append(i == 0 ? "" : ", ").append(names[i]);
    return names.size() > most ? text + " …" : text;
}

}  // namespace

Spelling::Spelling(std::string_view text) {
    std::size_t dot = text.find('.');
    opcode = text.substr(0, dot);
    for (; dot != std::string_view::npos; ++count) {
        text.remove_prefix(dot);
        dot = text.find('.', 1);
        if (count < most) modifiers[count] = text.substr(0, dot);
    }
}

std::string quoted(std::string_view text) {
    constexpr std::size_t most = 60;
    std::string out = "'";
    for (const char c : text.substr(0, most))
        out += static_cast<unsigned char>(c) < ' ' || c == '\x7F' ? '?' : c;
    return out + (text.size() > most ? "…'" : "'");
}

std::string instruction_name_problem(std::string_view name) {
    const auto is_allowed = [](char c) {
        return is_letter(c) || is_digit(c) || c == '.' || c == ':' || c == '|';
    };
    if (name.empty() || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), is_allowed))
        return quoted(name) +
               " is no name; names are letters, digits, '_', '.', ':' and '|', the first a letter or '_'";
    const bool is_other_word = std::ranges::find(other_words, name) != other_words.end();
    return is_other_word || is_language_word(name) || is_stack_word(name) || is_literal(name)
               ? quoted(name) + " is a word of the language; programs could not use it as a name"
               : "";
}

std::string type_name_problem(std::string_view name) {
    const auto is_allowed = [](char c) { return is_letter(c) || is_digit(c); };
    if (name.empty() || !is_letter(name[0]) || !std::all_of(name.begin(), name.end(), is_allowed))
        return quoted(name) + " is no name of a type; names are letters, digits and '_', the first no digit";
    return isa::type_info(name) != nullptr ? quoted(name) + " is a type of PTX" : "";
}

std::string unknown_form(std::string_view name) {
    const std::string_view spelling = isa::spelling_of(name);
    const Spelling parts(spelling);
    if (parts.count > isa::max_parts) return quoted(name) + " has too many modifiers";
    const isa::NameMatch match = isa::match_name(parts.opcode, parts.all());
    if (match.matches.empty())
        return quoted(name) +
               " is no form of PTX: " + (match.code == Errc::opcode_unknown ? "unknown opcode " : "") +
               match.message;
    const std::string canonical = isa::canonical_name(match.matches.front());
    if (canonical != spelling)
        return quoted(name) + " is spelled " + canonical + std::string(name.substr(spelling.size()));
    std::vector<std::string> shapes;
    for (isa::Form& form : isa::forms_spelled(spelling)) shapes.push_back(std::move(form.name));
    if (shapes.empty()) return quoted(name) + " has operands that are no values of a stack machine";
    return quoted(name) + " is no shape of " + canonical + "; there are " + list_text(shapes);
}

}  // namespace ptxgraft::stack
