// Tokens of expressions.

#include "stub/expr/lexer.hpp"

#include <algorithm>

namespace ptxgraft::expr {
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
    const bool is_decimal =
        !(at(i) == '0' && (at(i + 1) == 'x' || at(i + 1) == 'X' || at(i + 1) == 'f' || at(i + 1) == 'd'));
    while ((class_of(at(i)) & (digit | letter)) != 0 || at(i) == '.') {
        const bool is_exponent =
            is_decimal && (at(i) == 'e' || at(i) == 'E') && (at(i + 1) == '+' || at(i + 1) == '-');
        i += is_exponent ? 2 : 1;
    }
    end = static_cast<std::uint32_t>(i);
    kind = Token::number;
}

bool Lexer::take_special() {
    std::size_t i = end;
    while ((class_of(at(i)) & (digit | letter)) != 0 || (at(i) == '.' && class_of(at(i + 1)) == letter)) ++i;
    if (i == end) return false;
    end = static_cast<std::uint32_t>(i);
    return true;
}

}  // namespace ptxgraft::expr
