#pragma once
// The words of an expression's text.

#include <cstdint>
#include <string_view>

namespace ptxgraft::expr {

enum class Token : std::uint8_t {
    stray,    ///< a sign that is none
    end,      ///< of the text
    line,     ///< a line end outside of brackets, or `;`
    name, number, unclosed,
    open, close, open_bracket, close_bracket, comma, question, colon, assign,
    plus, minus, star, slash, percent, and_, or_, xor_, tilde, not_, shl, shr,
    lt, le, gt, ge, eq, ne, and_and, or_or,
    // `+=` and the like: in the order of `plus` …
    plus_assign, minus_assign, star_assign, slash_assign, percent_assign, and_assign, or_assign, xor_assign, shl_assign, shr_assign,
};

/// Of a name, as tables of names have it.
constexpr std::uint32_t first_hash = 2166136261u;
constexpr std::uint32_t hash_step(std::uint32_t hash, char c) { return (hash ^ static_cast<unsigned char>(c)) * 16777619u; }
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

}  // namespace ptxgraft::expr
