// Operands of instructions (PTX ISA manual, chapter 6, and 4.5.4 for constant expressions).

#include <array>

#include "syntax/parser.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;
using LexemeSet = std::array<bool, lexeme_count>;

constexpr LexemeSet set_of(std::initializer_list<L> lexemes) {
    LexemeSet set{};
    for (L l : lexemes) set[static_cast<std::size_t>(l)] = true;
    return set;
}
constexpr LexemeSet prefixes = set_of({L::plus, L::minus, L::exclaim, L::tilde});
constexpr LexemeSet infixes = set_of({L::plus, L::minus, L::star, L::slash, L::percent, L::ampersand, L::bar,
                                      L::caret, L::less, L::greater, L::question, L::two_char_operator});
constexpr LexemeSet ends_of_operand = set_of({L::comma, L::semicolon, L::close_bracket, L::close_brace});

bool is_in(const LexemeSet& set, L kind) { return set[static_cast<std::size_t>(kind)]; }

}  // namespace

bool Parser::operands() {
    if (kind() == L::semicolon) return true;
    bool is_first = true;
    do {
        // A name by itself is the most frequent operand by far; of one character it may be `_`.
        const bool plain =
            kind() == L::identifier && token().size > 1 && is_in(ends_of_operand, tokens_[at_ + 1].kind());
        if (plain) {
            ++at_;
        } else if (!operand(is_first)) {
            return false;
        }
        is_first = false;
    } while (take(L::comma));
    return true;
}

bool Parser::operand(bool is_first) {
    switch (kind()) {
        case L::identifier: return named_operand(is_first);
        case L::open_bracket: return address();
        case L::open_brace: return vector_operand(is_first);
        case L::exclaim:
        case L::minus: return prefixed_operand();
        case L::integer:
        case L::floating:
        case L::plus:
        case L::tilde:
        case L::open_paren: return constant();
        default: return expected("an operand");
    }
}

// `%r1`, `_`, `%tid.x`, `foo+8`, `table[2]`, `p|q`, `WARP_SZ`
bool Parser::named_operand(bool is_first) {
    if (is_sink(at_)) {
        if (!is_first) return expected_here("an operand ('_' stands for a destination that is not wanted)");
        ++at_;
        return !take(L::bar) || require(L::identifier, "a name after '|'");
    }
    if (is_in(ends_of_operand, next_kind())) {
        ++at_;
        return true;
    }
    if (is_warp_size()) return constant();
    ++at_;
    switch (kind()) {
        case L::directive: take_component(); return true;
        case L::plus: ++at_; return constant();
        case L::bar:
            // Two results: ptxas takes them as the first operand only.
            if (!is_first) return true;
            ++at_;
            return require(L::identifier, "a name after '|'");
        case L::open_bracket: return subscript();
        default: return true;
    }
}

// `!%p1`, `-%r1`, `-%v.x`; before anything else it is a constant
bool Parser::prefixed_operand() {
    if (next_kind() != L::identifier) return constant();
    const bool negation = kind() == L::exclaim;
    ++at_;
    if (is_warp_size()) {
        --at_;
        return constant();
    }
    if (is_sink(at_)) return expected_here("a name");
    ++at_;
    if (!negation) take_component();
    return true;
}

// A component of a vector or special register, `%tid.x`, `%v .x`, or a part of a video instruction's,
// `%r1.b3210`
void Parser::take_component() {
    if (kind() == L::directive && (token().size == 2 || token().begin == last_end())) ++at_;
}

// `table[2]`, `a[i]`
bool Parser::subscript() {
    const std::uint32_t open = at_++;
    if (!address_part()) return false;
    if (!close(open, ']')) return false;
    if (kind() == L::directive && text() == ".unified") ++at_;
    return true;
}

// `{%f1, %f2, _}`, `{%r1, %r2}|%p1`; ptxas takes one letter behind it
bool Parser::vector_operand(bool is_first) {
    if (!vector()) return false;
    if (is_first && take(L::bar)) return require_name("a name after '|'");
    take_component();
    return true;
}

bool Parser::vector() {
    const std::uint32_t open = at_++;
    do
        if (!element()) return false;
    while (take(L::comma));
    return close(open, '}');
}

bool Parser::element() {
    if (kind() != L::identifier) {
        if (kind() == L::open_brace || kind() == L::open_bracket)
            return expected_here("an element of the vector");
        return constant();
    }
    if (is_warp_size()) return constant();
    const bool sink = is_sink(at_++);
    if (!sink) take_component();
    return true;
}

// `[%rd1+4]`, `[foo]`, `[16]`, `[tensor, {%x, %y}]`, `[texture, sampler, {%x, %y}]`
bool Parser::address() {
    const std::uint32_t open = at_++;
    const bool named = kind() == L::identifier;
    if (!address_part()) return false;
    if (named && kind() == L::comma && !coordinates()) return false;
    if (!close(open, ']')) return false;
    if (kind() == L::directive && text() == ".unified") ++at_;
    return true;
}

// A name with or without a constant, or a constant.
bool Parser::address_part() {
    if (kind() != L::identifier) {
        if (kind() == L::open_brace || kind() == L::open_bracket) return expected_here("an address");
        return constant();
    }
    if (is_warp_size()) return constant();
    if (is_sink(at_)) return expected_here("an address");
    ++at_;
    if (kind() == L::minus) return expected_here("'+' or ']' (an offset below 0 is written [name+-4])");
    return !take(L::plus) || constant();
}

// Behind the first name: names and vectors, the coordinates last: `[tensor, address, {sizes}, {strides},
// high, {%x, %y}]`.
bool Parser::coordinates() {
    while (take(L::comma)) {
        if (kind() == L::open_brace) {
            if (!vector()) return false;
        } else if (!require_name("a name or the coordinates in '{' '}'")) {
            return false;
        }
    }
    return true;
}

// `call (%r1), f, (%r2, 3), prototype`: PTX ISA 9.7.12.5
bool Parser::call_operands() {
    if (kind() == L::open_paren && (!call_list() || !require(L::comma, "',' after the return values")))
        return false;
    if (!require_name("a function to call")) return false;
    if (!take(L::comma)) return true;
    if (kind() != L::open_paren) return require_name("arguments in '(' ')' or a prototype");
    return call_list() && (!take(L::comma) || require_name("a prototype"));
}

bool Parser::call_list() {
    const std::uint32_t open = at_++;
    if (take(L::close_paren)) return true;
    do {
        if (kind() == L::identifier && !is_warp_size())
            ++at_;
        else if (kind() == L::open_brace || kind() == L::open_bracket)
            return expected_here("an argument: a name or a constant");
        else if (!constant())
            return false;
    } while (take(L::comma));
    return close(open, ')');
}

// A constant expression: literals, WARP_SZ, signs and operators, parentheses, casts, `? :`.
bool Parser::constant() {
    if ((kind() == L::integer || kind() == L::floating) && !is_in(infixes, next_kind())) {
        ++at_;
        return true;
    }
    open_.clear();
    for (;;) {
        while (is_in(prefixes, kind())) ++at_;
        if (kind() == L::open_paren) {
            if (!cast()) open_.push_back(at_++);
            continue;
        }
        if (!literal()) return expected("an operand");
        while (kind() == L::close_paren && !open_.empty())
            if (!close_constant()) return false;
        if (kind() == L::colon && !open_.empty() && tokens_[open_.back()].kind() == L::question) {
            open_.pop_back();
        } else if (kind() == L::question) {
            open_.push_back(at_);
        } else if (!is_in(infixes, kind())) {
            if (open_.empty()) return true;
            return tokens_[open_.back()].kind() == L::question ? expected("':' for the '?' before it")
                                                               : close(open_.back(), ')');
        }
        ++at_;
    }
}

bool Parser::literal() {
    if (kind() != L::integer && kind() != L::floating && !is_warp_size()) return false;
    ++at_;
    return true;
}

// PTX ISA 4.5.5: `(.s64)` and `(.u64)`
bool Parser::cast() {
    if (next_kind() != L::directive || tokens_[at_ + 2].kind() != L::close_paren) return false;
    const std::string_view type = text_of(tokens_[at_ + 1]);
    if (type != ".s64" && type != ".u64") return false;
    at_ += 3;
    return true;
}

bool Parser::close_constant() {
    if (tokens_[open_.back()].kind() == L::question) return expected_here("':' for the '?' before it");
    open_.pop_back();
    ++at_;
    return true;
}

// PTX ISA 4.5.1: the one name that is a constant
bool Parser::is_warp_size() const {
    return token().size == 7 && kind() == L::identifier && text() == "WARP_SZ";
}

// The closing bracket of the one at token `open`.
bool Parser::close(std::uint32_t open, char bracket) {
    const L wanted = bracket == ')' ? L::close_paren : bracket == ']' ? L::close_bracket : L::close_brace;
    if (take(wanted)) return true;
    const std::string closing = std::string("'").append(1, bracket).append("'");
    if (kind() == L::end) return error_at(Errc::bracket_unclosed, tokens_[open]);
    if (kind() == L::close_paren || kind() == L::close_bracket || kind() == L::close_brace)
        return expected_here(closing);
    return expected("',' or " + closing);
}

}  // namespace ptxgraft::syntax
