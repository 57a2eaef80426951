// verify: the values of debug sections (PTX ISA 11.5).

#include <algorithm>
#include <array>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"

namespace ptxgraft::isa {

using syntax::Lexeme;
using syntax::TokenView;

namespace {

struct DataType {
    std::string_view word;
    std::uint64_t smallest;  // -128 is 128
    std::uint64_t largest;
    bool holds_address;
};
constexpr std::array<DataType, 4> data_types = {{
    {".b8", 0x80, 0xFF, false},
    {".b16", 0x8000, 0xFFFF, false},
    {".b32", 0x80000000, 0xFFFFFFFF, true},
    {".b64", 0x7FFFFFFFFFFFFFFF, 0xFFFFFFFF, true},
}};

// Of a number without a sign, ptxas compares the low 32 bits; and a lone -0 it takes for a .b64 only.
bool fits(const DataType& type, std::uint64_t value, bool is_negative, bool is_alone) {
    if (is_negative && is_alone && value == 0) return type.word == ".b64";
    return is_negative ? value <= type.smallest : (value & 0xFFFFFFFF) <= type.largest;
}
constexpr std::uint16_t first_with_sums = 32, first_with_labels = 70, first_with_negative = 75,
                        first_with_differences = 75;

bool is_name(Lexeme kind) { return kind == Lexeme::identifier || kind == Lexeme::directive; }

// A value is an integer, or a label or section with what is added to it.
std::size_t end_of_value(const TokenView& tokens, std::size_t at) {
    if (!is_name(tokens.kind(at))) return at + (tokens.kind(at) == Lexeme::minus ? 2 : 1);
    const bool has_suffix =
        tokens.kind(at + 1) == Lexeme::directive &&
        tokens.text(at, at + 1).size() == tokens.text(at).size() + tokens.text(at + 1).size();
    at += tokens.kind(at) == Lexeme::identifier && has_suffix ? 2 : 1;  // clang: `image.loc`
    return at + (tokens.kind(at) == Lexeme::plus || tokens.kind(at) == Lexeme::minus ? 2 : 0);
}

// `B-A`: of two labels; of a number, `A-4`, it is none.
bool is_difference(const TokenView& tokens, std::size_t begin, std::size_t end) {
    return end - begin > 2 && tokens.kind(end - 2) == Lexeme::minus && is_name(tokens.kind(end - 1));
}

bool fits_number(const DataType& type, const TokenView& tokens, std::size_t at) {
    const bool is_negative = tokens.kind(at) == Lexeme::minus;
    const auto value = syntax::parse_integer(tokens.text(at + is_negative));
    const bool is_alone =
        tokens.kind(at - 1) != Lexeme::comma && tokens.kind(at + is_negative + 1) != Lexeme::comma;
    return !value || fits(type, *value, is_negative, is_alone);
}

}  // namespace

// `LABEL:` and `.b8 1, 2` stand between the braces in any number.
void Verifier::section(const TokenView& tokens) {
    std::size_t at = 0;
    while (tokens.kind(at) != Lexeme::open_brace) ++at;
    const std::string_view name = tokens.text(1);
    if (is_debug_ && name == ".debug_frame" && tokens.kind(at + 1) != Lexeme::close_brace)
        report(Errc::directive_invalid, name, "ptxas writes .debug_frame itself in a module for a debugger");
    for (++at; tokens.kind(at) != Lexeme::close_brace;) {
        const bool is_label = tokens.kind(at) == Lexeme::identifier;
        if (is_label && !section_labels_.emplace(tokens.text(at), name).second)
            report(Errc::name_redeclared, tokens.text(at),
                   quote(tokens.text(at)) + " is a label of a section already");
        if (is_label) may_be_declared(tokens.text(at), true);
        if (is_label) section_version(tokens.text(at), first_with_labels, "a label in a section");
        at = is_label ? at + 2 : section_data(tokens, at);
    }
}

void Verifier::section_version(std::string_view at, std::uint16_t first, std::string_view what) {
    if (setting_.version < first)
        report(Errc::version_too_old, at,
               std::string(what) + " needs " + or_later(first) + "; the module has " +
                   version_text(setting_.version));
}

// A type and its values, one address or numbers with commas; gives the place behind them.
std::size_t Verifier::section_data(const TokenView& tokens, std::size_t at) {
    const std::string_view word = tokens.text(at);
    const auto type =
        std::find_if(data_types.begin(), data_types.end(), [&](const DataType& t) { return t.word == word; });
    if (type == data_types.end())
        report(Errc::directive_invalid, word,
               std::string(word) + " is no type of data in a section; there are .b8, .b16, .b32 and .b64");
    const std::size_t first = at + 1;
    do {
        const std::size_t begin = ++at;
        at = end_of_value(tokens, begin);
        const std::string_view value = tokens.text(begin, at - 1);
        const bool is_address = is_name(tokens.kind(begin));
        if (is_address && (begin != first || tokens.kind(at) == Lexeme::comma))
            report(Errc::directive_invalid, value,
                   "an address stands alone behind its type; give each value a " + std::string(word) +
                       " of its own");
        if (type == data_types.end()) continue;
        if (is_address && !type->holds_address)
            report(Errc::directive_invalid, value,
                   "a " + std::string(word) + " holds no address; .b32 and .b64 do");
        if (tokens.kind(begin) == Lexeme::minus)
            section_version(value, first_with_negative, "a negative number in a section");
        if (is_address && tokens.kind(at - 2) == Lexeme::plus)
            section_version(value, first_with_sums, "a number that is added to a label");
        if (is_address && is_difference(tokens, begin, at)) {
            section_version(value, first_with_differences, "a difference of labels");
            if (is_debug_ && tokens.text(1) != ".debug_info" && tokens.text(1) != ".debug_line")
                differences_.push_back({tokens.text(begin), tokens.text(at - 1)});
        }
        if (!is_address && !fits_number(*type, tokens, begin))
            report(Errc::immediate_out_of_range, value,
                   "a " + std::string(word) + " holds numbers from -" + std::to_string(type->smallest) +
                       (type->holds_address ? " on" : " to " + std::to_string(type->largest)));
    } while (tokens.kind(at) == Lexeme::comma);
    return at;
}

// PTX ISA 11.5.2: of labels of one section, which may stand behind their use. ptxas looks at them in a module
// for a debugger alone, and not in .debug_info and .debug_line.
void Verifier::section_differences() {
    for (const auto& [end, begin] : differences_) {
        const auto first = section_labels_.find(begin), last = section_labels_.find(end);
        const auto missing = last == section_labels_.end() ? end : begin;
        if (first == section_labels_.end() || last == section_labels_.end())
            report(Errc::label_undefined, missing, "no section has a label " + quote(missing));
        else if (first->second != last->second)
            report(Errc::directive_invalid, end,
                   quote(end) + " and " + quote(begin) + " are labels of two sections");
    }
}

}  // namespace ptxgraft::isa
