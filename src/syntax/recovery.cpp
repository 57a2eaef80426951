// Going on behind an error: the stretch that does not parse becomes a statement of kind `error`, so that the
// tree prints as the text; the parser goes on where the next statement may begin.

#include "syntax/error_list.hpp"
#include "syntax/parser.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;
using C = DirectiveClass;

// What never stands in a body: a `}` is missing before it.
bool belongs_outside(C kind) {
    return kind == C::function || kind == C::linkage || kind == C::file || kind == C::section;
}

// Directives that compilers begin a line with and that stand inside of no other statement.
bool begins_statement(C kind) {
    switch (kind) {
        case C::unknown:
        case C::alignment:
        case C::attribute:
        case C::vector:
        case C::type:
        case C::pointer:
        case C::entry_limit:
        case C::function_abi:
        case C::register_limit:
        case C::part: return false;
        default: return true;
    }
}

}  // namespace

// The statement that began at token `first` has failed. False at the end of the text.
bool Parser::recover(std::uint32_t first) {
    if (!is_known()) errors_->add(error_);
    last_error_ = error_.code;
    const bool missing_brace = error_.code == Errc::statement_misplaced && parent_ != root_ && at_ == first &&
                               belongs_outside(directive_here().kind);
    error_ = {};
    if (kind() == L::end && at_ == first) {
        close_open_bodies();
        end();
        return false;
    }
    if (missing_brace) {
        close_open_bodies();
        return true;
    }
    skip_statement(first);
    return true;
}

// The lexer has reported what it could not read, and behind a `}` too many every statement is out of place.
bool Parser::is_known() const {
    if (kind() == L::invalid) return true;
    const bool behind_error =
        last_sibling_ != null_node && data_.nodes[last_sibling_].kind == StatementKind::error;
    return behind_error && error_.code == Errc::statement_misplaced &&
           (last_error_ == Errc::statement_misplaced || last_error_ == Errc::brace_unopened);
}

// Closes all bodies here, as if their `}` stood before this token. Each has a token of no characters for it.
void Parser::close_open_bodies() {
    while (parent_ != root_) {
        const auto brace = static_cast<std::uint32_t>(data_.tokens.size());
        data_.tokens.push_back({previous_end_, 0, static_cast<std::uint8_t>(L::close_brace)});
        close_body_with(brace);
    }
    tokens_ = data_.tokens.data();
}

// Makes an `error` statement of the tokens from `first` to where a next statement may begin.
void Parser::skip_statement(std::uint32_t first) {
    const std::uint32_t failed = at_;
    at_ = first;
    const bool is_section = directive_here().kind == C::section;
    const bool is_function = is_function_here();
    if (take(L::invalid)) {
        while (take(L::invalid)) {}
        add(StatementKind::error, first);
        return;
    }
    std::size_t depth = 0;
    const auto pass = [&] {
        depth += kind() == L::open_brace;
        depth -= depth != 0 && kind() == L::close_brace;
        ++at_;
    };
    do pass();
    while (at_ < failed);
    for (; kind() != L::end; pass()) {
        if (is_section) {
            if (take(L::close_brace) || belongs_outside(directive_here().kind)) break;
        } else if (is_function) {
            if (kind() == L::open_brace || belongs_outside(directive_here().kind)) break;
            if (take(L::semicolon)) break;
        } else if (may_start_statement() || (depth == 0 && closes_body()) || take(L::semicolon)) {
            break;
        }
    }
    headless_body_ = is_function && kind() == L::open_brace && parent_ == root_;
    add(StatementKind::error, first);
}

// A `}`, unless something goes on behind it as behind a vector.
bool Parser::closes_body() const {
    const L next = next_kind();
    return kind() == L::close_brace && next != L::comma && next != L::semicolon && next != L::bar;
}

// A function, or a linkage and then no variable.
bool Parser::is_function_here() const {
    if (directive_here().kind != C::linkage) return directive_here().kind == C::function;
    const C next = next_kind() == L::directive ? directive_class(text_of(tokens_[at_ + 1])) : C::unknown;
    return next != C::space && next != C::alignment && next != C::attribute;
}

// The token begins its line and looks like the begin of a statement.
bool Parser::may_start_statement() const {
    const L here = kind();
    if (here != L::identifier && here != L::directive && here != L::at) return false;
    if (!starts_line(at_)) return false;
    if (here == L::directive) return begins_statement(directive_here().kind);
    const L next = next_kind();
    return here == L::at || next == L::colon || next == L::directive || next == L::semicolon;
}

}  // namespace ptxgraft::syntax
