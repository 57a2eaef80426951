#include "stub/expr/lexer.hpp"

#include <array>
#include <cstddef>

namespace ptxgraft::expr {
namespace {

enum : std::uint8_t { blank = 1, digit = 2, letter = 4 };

constexpr std::array<std::uint8_t, 256> classes = [] {
    std::array<std::uint8_t, 256> table{};
    for (const unsigned char c : {' ', '\t', '\r', '\v', '\f'}) table[c] = blank;
    for (unsigned c = '0'; c <= '9'; ++c) table[c] = digit;
    for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = letter;
    table['_'] = table['$'] = letter;
    return table;
}();

std::uint8_t class_of(char c) { return classes[static_cast<unsigned char>(c)]; }

struct Symbol {
    char first, second, third;
    Token kind;
};
// The longest first.
constexpr Symbol symbols[] = {
    {'<', '<', '=', Token::shl_assign}, {'>', '>', '=', Token::shr_assign},
    {'<', '<', 0, Token::shl}, {'>', '>', 0, Token::shr}, {'<', '=', 0, Token::le}, {'>', '=', 0, Token::ge}, {'=', '=', 0, Token::eq},
    {'!', '=', 0, Token::ne}, {'&', '&', 0, Token::and_and}, {'|', '|', 0, Token::or_or}, {'+', '=', 0, Token::plus_assign},
    {'-', '=', 0, Token::minus_assign}, {'*', '=', 0, Token::star_assign}, {'/', '=', 0, Token::slash_assign},
    {'%', '=', 0, Token::percent_assign}, {'&', '=', 0, Token::and_assign}, {'|', '=', 0, Token::or_assign}, {'^', '=', 0, Token::xor_assign},
    {'(', 0, 0, Token::open}, {')', 0, 0, Token::close}, {'[', 0, 0, Token::open_bracket}, {']', 0, 0, Token::close_bracket},
    {',', 0, 0, Token::comma}, {'?', 0, 0, Token::question}, {':', 0, 0, Token::colon}, {'=', 0, 0, Token::assign},
    {'+', 0, 0, Token::plus}, {'-', 0, 0, Token::minus}, {'*', 0, 0, Token::star}, {'/', 0, 0, Token::slash}, {'%', 0, 0, Token::percent},
    {'&', 0, 0, Token::and_}, {'|', 0, 0, Token::or_}, {'^', 0, 0, Token::xor_}, {'~', 0, 0, Token::tilde}, {'!', 0, 0, Token::not_},
    {'<', 0, 0, Token::lt}, {'>', 0, 0, Token::gt}};

// The first symbol of each character, so that most are found at once.
constexpr std::array<std::uint8_t, 128> first_symbols = [] {
    std::array<std::uint8_t, 128> table{};
    for (auto& i : table) i = static_cast<std::uint8_t>(std::size(symbols));
    for (std::size_t i = std::size(symbols); i-- > 0;) table[static_cast<unsigned char>(symbols[i].first)] = static_cast<std::uint8_t>(i);
    return table;
}();

}  // namespace

// Passes blanks and comments; false at a `/*` that is never closed.
bool Lexer::skip_blanks() {
    std::size_t i = end;
    for (;;) {
        while (class_of(at(i)) == blank || (skip_lines != 0 && at(i) == '\n')) ++i;
        const bool is_comment = at(i) == '#' || (at(i) == '/' && at(i + 1) == '/');
        if (is_comment) {
            i = text_.find('\n', i);
        } else if (at(i) == '/' && at(i + 1) == '*') {
            begin = static_cast<std::uint32_t>(i);
            i = text_.find("*/", i + 2);
            if (i == std::string_view::npos) return false;
            i += 2;
            continue;
        }
        if (i == std::string_view::npos) i = text_.size();
        begin = static_cast<std::uint32_t>(i);
        if (!is_comment || skip_lines == 0 || i == text_.size()) return true;
    }
}

// A number takes letters, digits and points, and a sign behind the `e` of a decimal exponent.
void Lexer::number() {
    std::size_t i = begin;
    const bool is_decimal = !(at(i) == '0' && (at(i + 1) == 'x' || at(i + 1) == 'X' || at(i + 1) == 'f' || at(i + 1) == 'd'));
    while ((class_of(at(i)) & (digit | letter)) != 0 || at(i) == '.') {
        const bool is_exponent = is_decimal && (at(i) == 'e' || at(i) == 'E') && (at(i + 1) == '+' || at(i + 1) == '-');
        i += is_exponent ? 2 : 1;
    }
    end = static_cast<std::uint32_t>(i);
    kind = Token::number;
}

void Lexer::symbol() {
    const auto c = static_cast<unsigned char>(at(begin));
    const char second = at(begin + std::size_t{1}), third = at(begin + std::size_t{2});
    for (std::size_t i = c < 128 ? first_symbols[c] : std::size(symbols); i < std::size(symbols); ++i) {
        const Symbol& s = symbols[i];
        if (s.first != text_[begin] || (s.second != 0 && s.second != second) || (s.third != 0 && s.third != third)) continue;
        kind = s.kind;
        end = begin + (s.third != 0 ? 3 : s.second != 0 ? 2 : 1);
        return;
    }
    kind = Token::stray;
    end = begin + 1;
    while (c >= 0x80 && (static_cast<unsigned char>(at(end)) & 0xC0) == 0x80) ++end;  // a whole character of UTF-8
}

void Lexer::next() {
    last_end = end;
    if (!skip_blanks()) {
        kind = Token::unclosed;
        end = begin + 2;
        return;
    }
    const char c = at(begin);
    if (begin == text_.size()) {
        kind = Token::end;
        end = begin;
    } else if ((class_of(c) & letter) != 0) {
        std::size_t i = begin;
        while ((class_of(at(i)) & (digit | letter)) != 0) ++i;
        end = static_cast<std::uint32_t>(i);
        kind = Token::name;
    } else if (class_of(c) == digit || (c == '.' && class_of(at(begin + std::size_t{1})) == digit)) {
        number();
    } else if (c == '\n' || c == ';') {
        kind = Token::line;
        end = begin + 1;
    } else {
        symbol();
    }
}

bool Lexer::take_special() {
    std::size_t i = end;
    while ((class_of(at(i)) & (digit | letter)) != 0 || (at(i) == '.' && class_of(at(i + 1)) == letter)) ++i;
    if (i == end) return false;
    end = static_cast<std::uint32_t>(i);
    return true;
}

}  // namespace ptxgraft::expr
