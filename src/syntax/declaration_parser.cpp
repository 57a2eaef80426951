// Declarations: variables (PTX ISA manual, 5.4), functions and what stands around them (11.2, 11.4 and 11.7).

#include "ptxgraft/syntax/types.hpp"
#include "syntax/parser.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;
using C = DirectiveClass;

}  // namespace

bool Parser::declaration(std::uint32_t first) {
    const bool has_linkage = directive_here().kind == C::linkage;
    const bool is_common = has_linkage && text() == ".common";
    at_ += has_linkage;
    const Directive& row = directive_here();
    if (row.kind == C::function && !is_common) return function(first);
    if (row.kind != C::space && row.kind != C::alignment && row.kind != C::attribute)
        return expected(is_common ? "a variable after .common" : "a function or variable after its linkage");
    return variable(first, has_linkage);
}

// `.global .align 4 .u32 a[2] = {1, 2}, b;`, `.reg .b32 %r<5>, x;`. ptxas takes a declaration of nothing.
bool Parser::variable(std::uint32_t first, bool has_linkage) {
    if (has_linkage && in_body()) {
        at_ = first;
        return misplaced("a variable with linkage inside a function; expected it outside");
    }
    if (!type_words("a type, as in .b32")) return false;
    if (kind() == L::semicolon) return finished(StatementKind::variable, first);
    do
        if (!declarator()) return false;
    while (take(L::comma));
    if (!take(L::semicolon)) return missing_terminator("the declaration");
    return done(StatementKind::variable, first);
}

bool Parser::declarator() {
    if (!require_name("a variable name")) return false;
    if (take(L::less))
        return require_integer("the number of registers after '<'") && require(L::greater, "'>'");
    return extents(false) && (!take(L::equal) || initialiser());
}

// `[2][3]`, `[]`: only the first may be open
bool Parser::extents(bool only_one) {
    for (bool may_be_open = true; take(L::open_bracket); may_be_open = false) {
        if (!take_integer() && !may_be_open) return expected("the number of elements");
        if (!require(L::close_bracket, "']' after the number of elements")) return false;
        if (only_one) break;
    }
    return true;
}

// State spaces, alignment and attributes in any order, then a vector's size and the type.
bool Parser::type_words(std::string_view what) {
    bool has_space = false;
    for (;;) {
        const Directive& row = directive_here();
        if (row.kind == C::space) {
            has_space = true;
            const bool banked = row.word == ".const" && next_kind() == L::open_bracket;
            ++at_;
            if (banked && !extents(true)) return false;  // `.const[2]`: PTX ISA before 2.2
        } else if (row.kind == C::alignment) {
            if (!alignment()) return false;
        } else if (row.kind == C::attribute) {
            if (!attribute()) return false;
        } else {
            break;
        }
    }
    if (!has_space) return expected_here("a state space, as in .param");
    if (directive_here().kind == C::vector) ++at_;
    if (directive_here().kind != C::type) return expected(what);
    ++at_;
    return true;
}

bool Parser::alignment() {
    ++at_;
    return require_integer("the alignment in bytes after .align");
}

// `.attribute(.managed)`, `.attribute(.unified(1, 2))`
bool Parser::attribute() {
    ++at_;
    const std::uint32_t open = at_;
    if (!require(L::open_paren, "'(' after .attribute")) return false;
    do
        if (!attribute_item()) return false;
    while (take(L::comma));
    return close(open, ')');
}

bool Parser::attribute_item() {
    if (kind() != L::directive || (text() != ".managed" && text() != ".unified"))
        return expected(".managed or .unified(…)");
    const bool managed = text() == ".managed";
    ++at_;
    if (managed) return true;
    const std::uint32_t open = at_;
    return require(L::open_paren, "'(' after .unified") && require_integer("a number") &&
           require(L::comma, "','") && require_integer("a number") && close(open, ')');
}

// --- initialisers: PTX ISA 5.4.4

// A value, or values in braces as deep as a text wants.
bool Parser::initialiser() {
    std::size_t depth = 0;
    const std::uint32_t open = at_;
    for (;;) {
        while (take(L::open_brace)) ++depth;
        const bool empty = depth != 0 && tokens_[at_ - 1].kind() == L::open_brace && kind() == L::close_brace;
        if (!empty && !initialiser_item()) return false;
        for (; depth != 0 && take(L::close_brace); --depth) {}
        if (depth == 0) return true;
        if (!take(L::comma)) return close(open, '}');
    }
}

bool Parser::initialiser_item() {
    if (kind() == L::identifier && !is_warp_size()) return symbol_value();
    if (kind() == L::integer && next_kind() == L::open_paren) return masked_value();
    return constant();
}

// `foo`, `foo+8`, `generic(foo)+8`, and a sampler's `filter_mode = nearest`
bool Parser::symbol_value() {
    for (;;) {
        if (!require_name("a name")) return false;
        if (!take(L::equal)) break;
        if (kind() != L::identifier) return constant();
    }
    if (kind() == L::open_paren) {
        if (text_of(tokens_[at_ - 1]) != "generic") return expected("generic before '('");
        const std::uint32_t open = at_++;
        if (!require_name("a variable or function") || !close(open, ')')) return false;
    }
    return !take(L::plus) || constant();
}

// `0xFF00(foo+4)`: a byte of an address
bool Parser::masked_value() {
    ++at_;
    const std::uint32_t open = at_++;
    const bool named = kind() == L::identifier && !is_warp_size();
    return (named ? symbol_value() : constant()) && close(open, ')');
}

// --- functions

bool Parser::function(std::uint32_t first) {
    const bool is_entry = text() == ".entry";
    if (is_entry && in_body()) {
        at_ = first;
        return misplaced("a function inside a function; is a '}' missing before it?");
    }
    ++at_;
    return function_head(is_entry) && function_tail(first, is_entry);
}

bool Parser::function_head(bool is_entry) {
    if (!is_entry && directive_here().kind == C::attribute && !attribute()) return false;
    if (!is_entry && kind() == L::open_paren && !parameters()) return false;
    if (!require_name("a function name")) return false;
    if (kind() == L::open_paren && !parameters()) return false;
    return is_entry ? entry_limits() : function_abi() && function_limit();
}

// A body, or a prototype's `;`, which ptxas does not ask for.
bool Parser::function_tail(std::uint32_t first, bool is_entry) {
    if (kind() == L::open_brace) {
        if (in_body()) {
            at_ = first;
            return misplaced("a function inside a function; is a '}' missing before it?");
        }
        ++at_;
        open_body(StatementKind::function, first);
        return true;
    }
    const C here = directive_here().kind;
    if (here == C::entry_limit || here == C::function_abi)
        return expected_here(is_entry ? "'{' or ';' (a directive that is for .func)"
                                      : "'{' or ';' (a directive that is for .entry)");
    const bool prototype_ends = kind() == L::directive || kind() == L::end || kind() == L::close_brace;
    if (!take(L::semicolon) && (is_entry || !prototype_ends))
        return expected("'{' or ';' after the function's head");
    data_.has_functions_in_bodies |= in_body();
    return done(StatementKind::function, first);
}

bool Parser::prototype() {
    if (kind() == L::open_paren && !parameters()) return false;
    if (!require(L::identifier, "a name, usually '_'")) return false;
    if (kind() == L::open_paren && !parameters()) return false;
    return function_abi();
}

// `(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 q[16])`
bool Parser::parameters() {
    const std::uint32_t open = at_++;
    if (take(L::close_paren)) return true;
    do
        if (!parameter()) return false;
    while (take(L::comma));
    if (take(L::close_paren)) return true;
    if (kind() == L::end) return error_at(Errc::bracket_unclosed, tokens_[open]);
    return expected("',' or ')' in the parameter list");
}

bool Parser::parameter() {
    if (kind() != L::directive) return expected_here("a parameter, as in .param .u64 p");
    if (!type_words("a parameter's type, as in .param .u64 p") || !pointer()) return false;
    return require(L::identifier, "a parameter name, or '_'") && extents(true);
}

// Behind the type: `.ptr .global .align 16`, or `.ptr .texref` as ptxas takes it
bool Parser::pointer() {
    if (directive_here().kind == C::pointer) {
        ++at_;
        const Directive& what = directive_here();
        const bool is_space =
            what.kind == C::space && what.word != ".param" && what.word != ".reg" && what.word != ".tex";
        if (is_space || is_handle(what.word)) ++at_;
    }
    return directive_here().kind != C::alignment || alignment();
}

// `.maxntid 128, 1, 1 .minnctapersm 2 .pragma "nounroll";` between an entry's head and its body
bool Parser::entry_limits() {
    for (;;) {
        const Directive& row = directive_here();
        if (row.kind == C::pragma) {
            ++at_;
            if (!strings() || !require(L::semicolon, "';' after .pragma")) return false;
        } else if (row.kind != C::entry_limit && row.kind != C::register_limit) {
            return true;
        } else if (!limit(row)) {
            return false;
        }
    }
}

// `.noreturn`, then `.abi_preserve N` and `.abi_preserve_control N`
bool Parser::function_abi() {
    bool first = true;
    for (;; first = false) {
        const Directive& row = directive_here();
        if (row.kind != C::function_abi || (row.arguments == 0 && !first)) return true;
        if (!limit(row)) return false;
    }
}

// `.local_maxnreg N`, which stands last, and once
bool Parser::function_limit() {
    const Directive& row = directive_here();
    return row.kind != C::register_limit || limit(row);
}

bool Parser::limit(const Directive& row) {
    ++at_;
    for (int i = 0; i < row.arguments; ++i) {
        if (i != 0 && !take(L::comma)) return true;
        if (!take_integer()) return expected(std::string("a number after ").append(row.word));
    }
    return true;
}

}  // namespace ptxgraft::syntax
