#pragma once
// The words of an expression's text.

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace ptxgraft::expr {

enum class Token : std::uint8_t {
    stray,  ///< a sign that is none
    end,    ///< of the text
    line,   ///< a line end outside of brackets, or `;`
    name,
    number,
    unclosed,
    open,
    close,
    open_bracket,
    close_bracket,
    comma,
    question,
    colon,
    assign,
    plus,
    minus,
    star,
    slash,
    percent,
    and_,
    or_,
    xor_,
    tilde,
    not_,
    shl,
    shr,
    lt,
    le,
    gt,
    ge,
    eq,
    ne,
    and_and,
    or_or,
    // `+=` and the like: in the order of `plus` …
    plus_assign,
    minus_assign,
    star_assign,
    slash_assign,
    percent_assign,
    and_assign,
    or_assign,
    xor_assign,
    shl_assign,
    shr_assign,
};

// What follows is called for every word: it stands here so that the parser has it in line.
enum CharClass : std::uint8_t { blank = 1, digit = 2, letter = 4 };

inline constexpr std::array<std::uint8_t, 256> char_classes = [] {
    std::array<std::uint8_t, 256> table{};
    for (const char c : {' ', '\t', '\r', '\v', '\f'}) table[static_cast<unsigned char>(c)] = blank;
    for (unsigned c = '0'; c <= '9'; ++c) table[c] = digit;
    for (unsigned c = 'a'; c <= 'z'; ++c) table[c] = table[c - 'a' + 'A'] = letter;
    table['_'] = table['$'] = letter;
    return table;
}();

inline std::uint8_t class_of(char c) { return char_classes[static_cast<unsigned char>(c)]; }

// A sign alone, twice, and before `=`; `stray`: it is none.
struct SignTokens {
    Token alone, twice, with_equal;
};
inline constexpr std::array<SignTokens, 128> sign_tokens = [] {
    std::array<SignTokens, 128> table{};  // all stray
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

/// Of a name, as tables of names have it.
constexpr std::uint32_t first_hash = 2166136261u;
constexpr std::uint32_t hash_step(std::uint32_t hash, char c) {
    return (hash ^ static_cast<unsigned char>(c)) * 16777619u;
}
constexpr std::uint32_t last_hash(std::uint32_t hash) { return hash ^ hash >> 15; }
constexpr std::uint32_t hash_of(std::string_view name) {
    std::uint32_t hash = first_hash;
    for (const char c : name) hash = hash_step(hash, c);
    return last_hash(hash);
}

/// Reads one word after the other. Line ends are words of their own unless `skip_lines` is above 0.
class Lexer {
  public:
    explicit Lexer(std::string_view text) : text_(text) { next(); }

    Token kind = Token::end;
    std::uint32_t begin = 0, end = 0;  ///< of the word
    std::uint32_t last_end = 0;        ///< where the word before it ended
    std::uint32_t skip_lines = 0;      ///< open brackets
    std::uint32_t hash = 0;            ///< of a name: hash_of

    void next();
    /// Leaves out line ends that stand here.
    void pass_lines() {
        while (kind == Token::line && text_[begin] != ';') next();
    }
    /// The word is `%`: takes the name behind it, `%tid.x`. False when there is none.
    bool take_special();
    [[nodiscard]] std::string_view word() const { return text_.substr(begin, end - begin); }
    [[nodiscard]] std::string_view text() const { return text_; }

  private:
    [[nodiscard]] char at(std::size_t i) const { return i < text_.size() ? text_[i] : '\0'; }
    bool skip_comments(std::size_t i);
    void name(std::size_t i);
    void number(std::size_t i);
    void symbol(char c);

    std::string_view text_;
};

inline void Lexer::name(std::size_t i) {
    hash = first_hash;
    for (; (class_of(at(i)) & (digit | letter)) != 0; ++i) hash = hash_step(hash, text_[i]);
    hash = last_hash(hash);
    end = static_cast<std::uint32_t>(i);
    kind = Token::name;
}

inline void Lexer::symbol(char c) {
    const SignTokens sign = static_cast<unsigned char>(c) < sign_tokens.size()
                                ? sign_tokens[static_cast<unsigned char>(c)]
                                : SignTokens{};
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

inline void Lexer::next() {
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

}  // namespace ptxgraft::expr
