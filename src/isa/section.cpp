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

// Of a number without a sign, ptxas compares the low 32 bits.
bool fits(const DataType& type, std::uint64_t value, bool is_negative) {
    return is_negative ? value <= type.smallest : (value & 0xFFFFFFFF) <= type.largest;
}
constexpr std::uint16_t first_with_negative = 75;

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

bool fits_number(const DataType& type, const TokenView& tokens, std::size_t at) {
    const bool is_negative = tokens.kind(at) == Lexeme::minus;
    const auto value = syntax::parse_integer(tokens.text(at + is_negative));
    return !value || fits(type, *value, is_negative);
}

}  // namespace

// `LABEL:` and `.b8 1, 2` stand between the braces in any number.
void Verifier::section(const TokenView& tokens) {
    std::size_t at = 0;
    while (tokens.kind(at) != Lexeme::open_brace) ++at;
    for (++at; tokens.kind(at) != Lexeme::close_brace;) {
        const bool is_label = tokens.kind(at) == Lexeme::identifier;
        if (is_label && !section_labels_.insert(tokens.text(at)).second)
            report(Errc::name_redeclared, tokens.text(at),
                   quote(tokens.text(at)) + " is a label of a section already");
        at = is_label ? at + 2 : section_data(tokens, at);
    }
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
        if (tokens.kind(begin) == Lexeme::minus && setting_.version < first_with_negative)
            report(Errc::version_too_old, value,
                   "a negative number in a section needs " + or_later(first_with_negative) +
                       "; the module has " + version_text(setting_.version));
        if (!is_address && !fits_number(*type, tokens, begin))
            report(Errc::immediate_out_of_range, value,
                   "a " + std::string(word) + " holds numbers from -" + std::to_string(type->smallest) +
                       (type->holds_address ? " on" : " to " + std::to_string(type->largest)));
    } while (tokens.kind(at) == Lexeme::comma);
    return at;
}

}  // namespace ptxgraft::isa
