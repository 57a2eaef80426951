#include "stub/expr/lexer.hpp"

#include <algorithm>
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

// A sign alone, twice, and before `=`; `stray`: it is none.
struct Sign {
    Token alone, twice, with_equal;
};
constexpr std::array<Sign, 128> signs = [] {
    std::array<Sign, 128> table{};  // all stray
    table['('] = {Token::open, Token::stray, Token::stray};
    table[')'] = {Token::close, Token::stray, Token::stray};
    table['['] = {Token::open_bracket, Token::stray, Token::stray};
    table[']'] = {Token::close_bracket, Token::stray, Token::stray};
    table[','] = {Token::comma, Token::stray, Token::stray};
    table['?'] = {Token::question, Token::stray, Token::stray};
    table[':'] = {Token::colon, Token::stray, Token::stray};
    table['~'] = {Token::tilde, Token::stray, Token::stray};
    table['\n'] = table[';'] = {Token::line, Token::stray, Token::stray};
    table['='] = {Token::assign, Token::stray, Token::eq};
    table['!'] = {Token::not_, Token::stray, Token::ne};
    table['+'] = {Token::plus, Token::stray, Token::plus_assign};
    table['-'] = {Token::minus, Token::stray, Token::minus_assign};
    table['*'] = {Token::star, Token::stray, Token::star_assign};
    table['/'] = {Token::slash, Token::stray, Token::slash_assign};
    table['%'] = {Token::percent, Token::stray, Token::percent_assign};
    table['^'] = {Token::xor_, Token::stray, Token::xor_assign};
    table['&'] = {Token::and_, Token::and_and, Token::and_assign};
    table['|'] = {Token::or_, Token::or_or, Token::or_assign};
    table['<'] = {Token::lt, Token::shl, Token::le};
    table['>'] = {Token::gt, Token::shr, Token::ge};
    return table;
}();

}  // namespace

// Passes comments and the blanks around them; false at a `/*` that is never closed.
bool Lexer::skip_comments(std::size_t i) {
    for (;;) {
        while (class_of(at(i)) == blank || (skip_lines != 0 && at(i) == '\n')) ++i;
        begin = static_cast<std::uint32_t>(i);
        if (at(i) == '#' || (at(i) == '/' && at(i + 1) == '/')) {
            i = std::min(text_.find('\n', i), text_.size());
        } else if (at(i) == '/' && at(i + 1) == '*') {
            i = text_.find("*/", i + 2);
            if (i == std::string_view::npos) return false;
            i += 2;
        } else {
            return true;
        }
    }
}

// A number takes letters, digits and points, and a sign behind the `e` of a decimal exponent.
void Lexer::number(std::size_t i) {
    const bool is_decimal = !(at(i) == '0' && (at(i + 1) == 'x' || at(i + 1) == 'X' || at(i + 1) == 'f' || at(i + 1) == 'd'));
    while ((class_of(at(i)) & (digit | letter)) != 0 || at(i) == '.') {
        const bool is_exponent = is_decimal && (at(i) == 'e' || at(i) == 'E') && (at(i + 1) == '+' || at(i + 1) == '-');
        i += is_exponent ? 2 : 1;
    }
    end = static_cast<std::uint32_t>(i);
    kind = Token::number;
}

void Lexer::name(std::size_t i) {
    hash = first_hash;
    for (; (class_of(at(i)) & (digit | letter)) != 0; ++i) hash = hash_step(hash, text_[i]);
    hash = last_hash(hash);
    end = static_cast<std::uint32_t>(i);
    kind = Token::name;
}

void Lexer::symbol(char c) {
    const Sign sign = static_cast<unsigned char>(c) < signs.size() ? signs[static_cast<unsigned char>(c)] : Sign{};
    const char second = at(begin + std::size_t{1});
    kind = sign.alone;
    end = begin + 1;
    if (second == c && sign.twice != Token::stray) {
        kind = sign.twice;
        ++end;
        const bool is_shift = kind == Token::shl || kind == Token::shr;
        if (is_shift && at(end) == '=') {
            kind = kind == Token::shl ? Token::shl_assign : Token::shr_assign;
            ++end;
        }
    } else if (second == '=' && sign.with_equal != Token::stray) {
        kind = sign.with_equal;
        ++end;
    }
    if (static_cast<unsigned char>(c) < 0x80) return;
    while ((static_cast<unsigned char>(at(end)) & 0xC0) == 0x80) ++end;  // a whole character of UTF-8
}

void Lexer::next() {
    last_end = end;
    std::size_t i = end;
    while (class_of(at(i)) == blank) ++i;
    begin = static_cast<std::uint32_t>(i);
    char c = at(i);
    if (c == '#' || c == '/' || (c == '\n' && skip_lines != 0)) {
        if (!skip_comments(i)) {
            kind = Token::unclosed;
            end = begin + 2;
            return;
        }
        c = at(begin);
    }
    const std::uint8_t what = class_of(c);
    if ((what & letter) != 0) return name(begin);
    if (what == digit || (c == '.' && class_of(at(begin + std::size_t{1})) == digit)) return number(begin);
    if (begin != text_.size()) return symbol(c);
    kind = Token::end;
    end = begin;
}

bool Lexer::take_special() {
    std::size_t i = end;
    while ((class_of(at(i)) & (digit | letter)) != 0 || (at(i) == '.' && class_of(at(i + 1)) == letter)) ++i;
    if (i == end) return false;
    end = static_cast<std::uint32_t>(i);
    return true;
}

}  // namespace ptxgraft::expr
