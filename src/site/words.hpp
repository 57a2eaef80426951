#pragma once
// Words of a comment or a signature: pieces of a text between blanks, with their place in it.

#include <cstdint>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::site {

constexpr bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\f' || c == '\v'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }
constexpr bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
/// The bytes of PTX identifiers, directives and registers (PTX ISA 4.4).
constexpr bool is_word(char c) { return is_letter(c) || is_digit(c) || c == '$' || c == '%' || c == '.'; }
/// Whether it can follow `_` in the name of a register.
constexpr bool is_name(std::string_view name) {
    if (name.empty()) return false;
    for (const char c : name)
        if (!is_letter(c) && !is_digit(c) && c != '$') return false;
    return true;
}

/// Takes words off the front of text[begin, end).
class Words {
  public:
    Words(std::string_view text, std::size_t begin, std::size_t end) : text_(text), at_(begin), end_(end) {}

    /// The next word, empty at the end; `span` is then its place.
    std::string_view next() {
        while (at_ < end_ && is_blank(text_[at_])) ++at_;
        begin_ = at_;
        while (at_ < end_ && !is_blank(text_[at_])) ++at_;
        return text_.substr(begin_, at_ - begin_);
    }
    [[nodiscard]] Span span() const {
        return {static_cast<std::uint32_t>(begin_), static_cast<std::uint32_t>(at_)};
    }

  private:
    std::string_view text_;
    std::size_t at_, end_, begin_ = 0;
};

}  // namespace ptxgraft::site
