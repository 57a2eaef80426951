// Statements and directives (PTX ISA manual, chapters 4 and 11).

#include <algorithm>

#include "syntax/parser.hpp"

namespace ptxgraft::syntax {
namespace {

using L = Lexeme;
using C = DirectiveClass;

// Where a directive may stand.
enum class Place : std::uint8_t { anywhere, module, body };

Place place_of(C kind) {
    switch (kind) {
        case C::version:
        case C::target:
        case C::address_size:
        case C::file:
        case C::section: return Place::module;
        case C::location:
        case C::branch_targets:
        case C::call_targets:
        case C::prototype: return Place::body;
        default: return Place::anywhere;
    }
}

}  // namespace

Parser::Parser(ModuleData& data, std::uint32_t first_token, Context context, NodeIndex parent,
               std::uint32_t base, ErrorList* errors)
    : data_(data),
      tokens_(data.tokens.data()),
      text_(data.text.at(base, data.tokens.back().begin).data()),
      at_(first_token),
      first_token_(first_token),
      first_node_(data.nodes.size()),
      context_(context),
      root_(parent),
      parent_(parent),
      base_(base),
      end_token_(static_cast<std::uint32_t>(data.tokens.size() - 1)),
      previous_end_(base),
      errors_(errors) {}

Expected<Fragment> Parser::run() {
    for (;;) {
        const std::uint32_t first = at_;
        if (statement()) continue;
        if (error_.code == Errc::ok) return fragment_;
        if (errors_ == nullptr) return tl::unexpected<Error>(error_);
        if (!recover(first)) return fragment_;
    }
}

// --- tokens

// Asked several times about one token, as each part of the grammar looks whether it is its own.
const Directive& Parser::directive_here() const {
    static constexpr Directive none{};
    if (kind() != L::directive) return none;
    if (asked_ != at_) {
        answer_ = &directive(text());
        asked_ = at_;
    }
    return *answer_;
}

bool Parser::starts_line(std::uint32_t i) const {
    if (i == 0 || tokens_[i - 1].end() < base_) return true;
    const std::uint32_t from = tokens_[i - 1].end();
    return std::string_view(text_ + (from - base_), tokens_[i].begin - from).find('\n') !=
           std::string_view::npos;
}

// --- errors

bool Parser::error(Errc code, std::uint32_t begin, std::uint32_t end, std::string detail) {
    error_ = Error{code, {begin - base_, end - base_}, 0, nullptr, nullptr};
    if (!detail.empty()) error_.detail = std::make_shared<const std::string>(std::move(detail));
    return false;
}

std::string Parser::but_found(std::string_view what) const {
    std::string out(what);
    if (kind() == L::end) return out.append(", found the end of the text");
    return out.append(", found '").append(text().substr(0, 40)).append("'");
}

// Points behind the last token: there the missing thing belongs.
bool Parser::expected(std::string_view what) {
    const bool at_start = at_ == 0 || last_end() <= base_;
    const std::uint32_t place = at_start ? token().begin : last_end();
    return error(Errc::syntax_expected, place, place + (at_start ? 1 : 0), but_found(what));
}

// Points at the token that stands in the wrong place.
bool Parser::expected_here(std::string_view what) {
    if (kind() == L::end) return expected(what);
    return error_at(Errc::syntax_expected, token(), but_found(what));
}

// A token on the same line: a comma may be what is missing as well.
bool Parser::missing_terminator(std::string_view of) {
    const bool same_line = kind() != L::end && !starts_line(at_);
    return expected(same_line ? "',' or ';'" : "';' after " + std::string(of));
}

// A name that something can be called by: `_` is none.
bool Parser::require_name(std::string_view what) {
    if (kind() != L::identifier) return expected(what);
    if (is_sink(at_)) return expected_here(what);
    ++at_;
    return true;
}

// --- nodes

NodeIndex Parser::add(StatementKind kind, std::uint32_t first) { return add(kind, first, at_ - first); }

// Room for the nodes of all tokens, if they go on as up to here; behind other texts, as arrays grow.
void Parser::grow_nodes() {
    const double read = at_ - first_token_ + 1, left = end_token_ - std::min(at_, end_token_);
    const double more = static_cast<double>(data_.nodes.size() - first_node_) * left / read * 1.0625;
    const std::size_t least = data_.nodes.size() / (first_token_ == 0 ? 16 : 2) + 64;
    data_.nodes.reserve(data_.nodes.size() + std::max(static_cast<std::size_t>(more), least));
}

// Makes the node of `count` tokens and puts it behind its siblings.
NodeIndex Parser::add(StatementKind kind, std::uint32_t first, std::uint32_t count) {
    const auto index = static_cast<NodeIndex>(data_.nodes.size());
    if (data_.nodes.size() == data_.nodes.capacity()) grow_nodes();
    data_.nodes.push_back(
        {previous_end_, first, count, parent_, null_node, last_sibling_, null_node, kind, false});
    if (last_sibling_ != null_node) {
        data_.nodes[last_sibling_].next = index;
    } else if (parent_ != root_) {
        data_.nodes[parent_].first_child = index;
    } else if (fragment_.first == null_node) {
        fragment_.first = index;
    }
    last_sibling_ = index;
    if (parent_ == root_) fragment_.last = index;
    previous_end_ = data_.tokens[first + count - 1].end();
    return index;
}

void Parser::open_body(StatementKind kind, std::uint32_t first) {
    parent_ = add(kind, first);
    last_sibling_ = null_node;
}

bool Parser::close_body() {
    if (parent_ == root_) return error_at(Errc::brace_unopened, token());
    close_body_with(at_++);
    return true;
}

void Parser::close_body_with(std::uint32_t token) {
    const NodeIndex last = add(StatementKind::end, token, 1);
    Node& body = data_.nodes[parent_];
    data_.nodes[body.first_child].previous = last;
    last_sibling_ = parent_;
    parent_ = body.parent;
}

// --- statements

bool Parser::statement() {
    const std::uint32_t first = at_;
    switch (kind()) {
        case L::identifier: return next_kind() == L::colon ? label(first) : instruction(first);
        case L::at: return instruction(first);
        case L::directive: return directive_statement(first);
        case L::open_brace: return block(first);
        case L::close_brace: return close_body();
        case L::end: return end();
        default: return expected_here(in_body() ? "an instruction, label or directive" : "a directive");
    }
}

bool Parser::end() {
    if (parent_ != root_) {
        const Node& body = data_.nodes[parent_];
        return error_at(Errc::bracket_unclosed, tokens_[body.first_token + body.token_count - 1]);
    }
    fragment_.end = previous_end_;
    error_ = {};
    return false;
}

bool Parser::block(std::uint32_t first) {
    if (!in_body() && !headless_body_) return misplaced("a block outside a function; expected a directive");
    headless_body_ = false;
    ++at_;
    open_body(StatementKind::block, first);
    return true;
}

bool Parser::label(std::uint32_t first) {
    if (!in_body()) return misplaced("a label outside a function; expected a directive");
    if (!require_name("a label")) return false;
    ++at_;
    return done(StatementKind::label, first);
}

bool Parser::instruction(std::uint32_t first) {
    if (!in_body()) return misplaced("an instruction outside a function; expected a directive");
    if (take(L::at)) {
        take(L::exclaim);
        if (!require_name("a predicate after '@'")) return false;
        if (kind() != L::identifier) return expected("an instruction after the guard predicate");
        if (next_kind() == L::colon) return expected_here("an instruction after the guard predicate");
    }
    const RawToken opcode = token();
    if (!require_name("an opcode")) return false;
    for (; kind() == L::directive; ++at_) {
        if (is_reserved(text())) return expected_here("a modifier, an operand or ';'");
        if (next_kind() == L::open_bracket && is_bank(data_, at_)) at_ += bank_tokens;
    }
    const bool is_call = opcode.size == 4 && text_of(opcode) == "call";
    if (!(is_call ? call_operands() : operands())) return false;
    if (!take(L::semicolon)) return missing_terminator("the instruction");
    return done(StatementKind::instruction, first);
}

bool Parser::directive_statement(std::uint32_t first) {
    const Directive& row = directive_here();
    if (!in_its_place(row)) return false;
    switch (row.kind) {
        case C::linkage:
        case C::function:
        case C::space:
        case C::alignment:
        case C::attribute: return declaration(first);
        case C::entry_limit:
        case C::function_abi:
        case C::register_limit:
            return misplaced(std::string(row.word).append(" belongs between a function's head and its body"));
        case C::unknown:
        case C::vector:
        case C::type:
        case C::pointer:
        case C::part: return error_at(Errc::directive_unknown, token());
        default: ++at_; return directive_arguments(row, first);
    }
}

bool Parser::in_its_place(const Directive& row) {
    const Place place = place_of(row.kind);
    if (place == Place::module && in_body())
        return misplaced(std::string(row.word).append(" inside a function; expected it outside"));
    if (place == Place::body && !in_body())
        return misplaced(std::string(row.word).append(" outside a function; expected it inside"));
    return true;
}

bool Parser::directive_arguments(const Directive& row, std::uint32_t first) {
    using S = StatementKind;
    switch (row.kind) {
        case C::version:
            return require(L::floating, "a version number, as in .version 9.0") && done(S::version, first);
        case C::target: return names("a target, as in .target sm_90a") && done(S::target, first);
        case C::address_size: return require(L::integer, "32 or 64") && done(S::address_size, first);
        case C::location: return location() && done(S::directive, first);
        case C::file: return file() && done(S::directive, first);
        case C::section: return section() && done(S::directive, first);
        case C::pragma: return strings() && finished(S::directive, first);
        case C::alias: return alias() && finished(S::directive, first);
        case C::branch_targets: return branch_targets() && finished(S::directive, first);
        case C::call_targets: return names("a function") && finished(S::directive, first);
        default: return prototype() && finished(S::directive, first);
    }
}

bool Parser::finished(StatementKind kind, std::uint32_t first) {
    if (!take(L::semicolon)) return missing_terminator(text_of(tokens_[first]));
    return done(kind, first);
}

// --- directives

bool Parser::names(std::string_view what) {
    do
        if (!require_name(what)) return false;
    while (take(L::comma));
    return true;
}

// `.loc 1 4 0`, `.loc 1 4 0, function_name $L__info+3, inlined_at 1 5 0`
bool Parser::location() {
    constexpr std::string_view numbers = "three numbers: file, line and column";
    if (!integers(numbers)) return false;
    if (!take(L::comma)) return true;
    if (kind() != L::identifier || text() != "function_name") return expected_here("function_name");
    ++at_;
    if (kind() != L::identifier && !is_section_name()) return expected("a label after function_name");
    ++at_;
    if (take(L::plus) && !require(L::integer, "a number after '+'")) return false;
    if (!require(L::comma, "',' and inlined_at")) return false;
    if (kind() != L::identifier || text() != "inlined_at") return expected_here("inlined_at");
    ++at_;
    return integers(numbers);
}

bool Parser::integers(std::string_view what) {
    for (int i = 0; i < 3; ++i)
        if (!require_integer(what)) return false;
    return true;
}

// `.file 1 "a.cu", 1700000000, 1234`; clang may give folder and file apart, which ptxas does not take:
// `.file 1 "folder" "a.cl"`
bool Parser::file() {
    if (!require_integer("a file number") || !require(L::string, "a file name in double quotes"))
        return false;
    take(L::string);
    for (int i = 0; i < 2 && take(L::comma); ++i)
        if (!require_integer("a number: time stamp or file size")) return false;
    return true;
}

bool Parser::strings() {
    do
        if (!require(L::string, "a string in double quotes")) return false;
    while (take(L::comma));
    return true;
}

bool Parser::alias() {
    return require_name("the name of the alias") && require(L::comma, "',' after the alias") &&
           require_name("the function that the alias is for");
}

// `.branchtargets $L1, $L2`, `.branchtargets $L<8>, $M`
bool Parser::branch_targets() {
    do {
        if (!require_name("a label")) return false;
        if (take(L::less) &&
            !(require_integer("the number of labels after '<'") && require(L::greater, "'>'")))
            return false;
    } while (take(L::comma));
    return true;
}

// `.section .debug_info { .b8 1, 2 … }`
bool Parser::section() {
    if (!is_section_name()) return expected("a section's name, as in .debug_info");
    const std::uint32_t open = ++at_;
    if (!require(L::open_brace, "'{' after the section name")) return false;
    while (!take(L::close_brace)) {
        if (kind() == L::end) return error_at(Errc::bracket_unclosed, tokens_[open]);
        if (kind() == L::identifier && next_kind() == L::colon) {
            at_ += 2;
        } else if (!section_data()) {
            return false;
        }
    }
    return true;
}

// `.b8 1, -2`, `.b32 .debug_abbrev`, `.b64 $L__end-$L__begin`
bool Parser::section_data() {
    if (directive_here().kind != C::type) return expected_here("a label, .b8, .b16, .b32, .b64 or '}'");
    ++at_;
    do
        if (!section_value()) return false;
    while (take(L::comma));
    return true;
}

bool Parser::section_value() {
    const bool named = kind() == L::identifier;
    if (named || (is_section_name() && directive_here().kind == C::unknown)) {
        ++at_;
        if (named && kind() == L::directive && token().begin == last_end()) ++at_;  // clang: `image.loc`
        if (named && take(L::minus)) return require_name("a label after '-'");
        return !take(L::plus) || require(L::integer, "a number after '+'");
    }
    take(L::minus);
    return require(L::integer, "a number, a label or a section");
}

// `.debug_info`. Directly behind a word `.1` is one too (`.1d`), but elsewhere a number: it names nothing.
bool Parser::is_section_name() const {
    return kind() == L::directive && (text()[1] < '0' || text()[1] > '9');
}

Expected<Fragment> parse_statements(ModuleData& data, std::uint32_t first_token, Context context,
                                    NodeIndex parent, std::uint32_t base, ErrorList* errors) {
    return Parser(data, first_token, context, parent, base, errors).run();
}

}  // namespace ptxgraft::syntax
