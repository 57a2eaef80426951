#pragma once
// Splits PTX text into tokens (PTX ISA manual, 4.2 to 4.5). A token is 8 bytes: its place, size and kind;
// blanks and comments are what lies between the tokens.

#include <cstdint>
#include <string_view>

#include "ptxgraft/error.hpp"
#include "syntax/array.hpp"
#include "syntax/error_list.hpp"

namespace ptxgraft::syntax {

/// Each punctuation has a kind of its own, so that the parser never looks at the text for it.
enum class Lexeme : std::uint8_t {
    end,  // behind the last token of a text
    identifier,
    directive,
    integer,
    floating,
    string,
    comma,
    semicolon,
    colon,
    open_brace,
    close_brace,
    open_paren,
    close_paren,
    open_bracket,
    close_bracket,
    at,
    equal,
    plus,
    minus,
    exclaim,
    tilde,
    bar,
    less,
    greater,
    star,
    slash,
    percent,
    ampersand,
    caret,
    question,
    two_char_operator,  // << >> && || == != <= >=
    invalid,            // what is no token, in a text that is read on behind errors
};
constexpr std::size_t lexeme_count = static_cast<std::size_t>(Lexeme::invalid) + 1;

struct RawToken {
    std::uint32_t begin;  // in the module's text space
    std::uint32_t size : 24;
    std::uint32_t kind_value : 8;

    [[nodiscard]] Lexeme kind() const { return static_cast<Lexeme>(kind_value); }
    [[nodiscard]] std::uint32_t end() const { return begin + size; }
};
static_assert(sizeof(RawToken) == 8);
constexpr std::uint32_t max_token_size = (1u << 24) - 1;

/// Appends the tokens of `text` and a last one of kind `end`, empty, at the end of the text.
/// `text[text.size()]` must be readable and 0, as in a std::string. Tokens begin at `base`; errors have spans
/// within `text`.
[[nodiscard]] Expected<void> lex(std::string_view text, std::uint32_t base, Array<RawToken>& tokens);

/// The same for any text: what is no token becomes one of kind `invalid`.
void lex_all(std::string_view text, Array<RawToken>& tokens, ErrorList& errors);

/// True when the text is one identifier (a register, variable, function or label name) and nothing else.
[[nodiscard]] bool is_identifier(std::string_view text);

}  // namespace ptxgraft::syntax
