// The grammar of PTX statements (PTX ISA manual, chapters 4, 5 and 11). Opcodes and modifiers are any words.
// Nothing here recurses: open bodies are the parent links of the nodes, open brackets a stack on the heap.

#include <array>

#include "syntax/directives.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {
namespace {

enum class Step : std::uint8_t { value, prefix, infix, comma, open, close, directive, stop };

// What a token does where an operand begins, and behind an operand.
using OperandTable = std::array<std::array<Step, lexeme_count>, 2>;

constexpr OperandTable make_operand_table() {
    OperandTable t{};
    const auto set = [](std::array<Step, lexeme_count>& row, Step step,
                        std::initializer_list<Lexeme> lexemes) {
        for (Lexeme l : lexemes) row[static_cast<std::size_t>(l)] = step;
    };
    using L = Lexeme;
    auto& [before, behind] = t;
    before.fill(Step::stop);
    set(before, Step::value, {L::identifier, L::integer, L::floating, L::string});
    set(before, Step::prefix, {L::plus, L::minus, L::exclaim, L::tilde});
    set(before, Step::open, {L::open_brace, L::open_paren, L::open_bracket});
    set(before, Step::close, {L::close_paren, L::close_brace});
    set(before, Step::directive, {L::directive});
    behind.fill(Step::stop);
    set(behind, Step::infix,
        {L::plus, L::minus, L::star, L::slash, L::percent, L::ampersand, L::bar, L::caret, L::less,
         L::greater, L::question, L::colon, L::equal, L::two_char_operator});
    set(behind, Step::open, {L::open_paren, L::open_bracket});
    set(behind, Step::close, {L::close_paren, L::close_brace, L::close_bracket});
    set(behind, Step::comma, {L::comma});
    set(behind, Step::directive, {L::directive});
    return t;
}
constexpr OperandTable operand_table = make_operand_table();

constexpr std::size_t max_operand_depth = 16;

// Where a list of operands stands decides about commas and words.
enum class ListKind : std::uint8_t {
    instruction,  // commas; nesting is bounded because handles show it as a tree
    initialiser,  // one value; a comma outside brackets ends it
    section,      // commas; a section's name is a value
};

class Parser {
  public:
    Parser(ModuleData& data, std::uint32_t first_token, Context context, NodeIndex parent, std::uint32_t base)
        : data_(data),
          at_(first_token),
          context_(context),
          root_(parent),
          parent_(parent),
          base_(base),
          previous_end_(base) {}

    Expected<Fragment> run() {
        while (statement()) {
        }
        if (error_.code != Errc::ok) return tl::unexpected<Error>(error_);
        return fragment_;
    }

  private:
    // --- tokens
    [[nodiscard]] RawToken token() const { return data_.tokens[at_]; }
    [[nodiscard]] Lexeme kind() const { return data_.tokens[at_].kind(); }
    [[nodiscard]] Lexeme next_kind() const {
        return kind() == Lexeme::end ? Lexeme::end : data_.tokens[at_ + 1].kind();
    }
    [[nodiscard]] std::string_view text() const { return data_.text_of(token()); }
    [[nodiscard]] std::uint32_t last_end() const { return data_.tokens[at_ - 1].end(); }
    bool take(Lexeme kind) {
        if (this->kind() != kind) return false;
        ++at_;
        return true;
    }
    [[nodiscard]] bool glued() const { return token().begin == last_end(); }

    // --- errors
    bool error(Errc code, std::uint32_t begin, std::uint32_t end, std::string detail = {}) {
        error_ = Error{code, {begin - base_, end - base_}, 0, nullptr};
        if (!detail.empty()) error_.detail = std::make_shared<const std::string>(std::move(detail));
        return false;
    }
    [[nodiscard]] std::string but_found(std::string_view what) const {
        std::string out(what);
        if (kind() == Lexeme::end) return out.append(", found the end of the text");
        return out.append(", found '").append(text().substr(0, 40)).append("'");
    }
    // Points behind the last token: there the missing thing belongs.
    bool expected(std::string_view what) {
        const bool at_start = at_ == 0 || last_end() <= base_;
        const std::uint32_t place = at_start ? token().begin : last_end();
        return error(Errc::syntax_expected, place, place + (at_start ? 1 : 0), but_found(what));
    }
    // Points at the token that stands in the wrong place.
    bool expected_here(std::string_view what) {
        if (kind() == Lexeme::end) return expected(what);
        return error(Errc::syntax_expected, token().begin, token().end(), but_found(what));
    }
    bool misplaced(std::string detail) {
        return error(Errc::misplaced_statement, token().begin, token().end(), std::move(detail));
    }
    bool require(Lexeme kind, std::string_view what) { return take(kind) || expected(what); }

    // --- nodes
    // Makes the node of the tokens [first, at_) and puts it behind its siblings.
    NodeIndex add(StatementKind kind, std::uint32_t first) {
        const auto index = static_cast<NodeIndex>(data_.nodes.size());
        data_.nodes.push_back(
            {previous_end_, first, at_ - first, parent_, null_node, last_sibling_, null_node, kind, false});
        if (last_sibling_ != null_node) {
            data_.nodes[last_sibling_].next = index;
        } else if (parent_ != root_) {
            data_.nodes[parent_].first_child = index;
        } else if (fragment_.first == null_node) {
            fragment_.first = index;
        }
        last_sibling_ = index;
        if (parent_ == root_) fragment_.last = index;
        previous_end_ = last_end();
        return index;
    }
    bool done(StatementKind kind, std::uint32_t first) {
        add(kind, first);
        return true;
    }
    void open_body(StatementKind kind, std::uint32_t first) {
        parent_ = add(kind, first);
        last_sibling_ = null_node;
    }
    bool close_body() {
        if (parent_ == root_) return error(Errc::unopened_brace, token().begin, token().end());
        const std::uint32_t first = at_++;
        const NodeIndex last = add(StatementKind::end, first);
        Node& body = data_.nodes[parent_];
        data_.nodes[body.first_child].previous = last;
        last_sibling_ = parent_;
        parent_ = body.parent;
        return true;
    }
    [[nodiscard]] bool in_body() const { return parent_ != root_ || context_ == Context::body; }

    // --- statements
    bool statement() {
        const std::uint32_t first = at_;
        switch (kind()) {
            case Lexeme::identifier:
                return next_kind() == Lexeme::colon ? label(first) : instruction(first);
            case Lexeme::at:
                return instruction(first);
            case Lexeme::directive:
                return directive(first);
            case Lexeme::open_brace:
                return block(first);
            case Lexeme::close_brace:
                return close_body();
            case Lexeme::semicolon:
                ++at_;
                return done(StatementKind::empty, first);
            case Lexeme::end:
                return end();
            default:
                return expected_here(in_body() ? "an instruction, label or directive" : "a directive");
        }
    }

    bool end() {
        if (parent_ != root_) {
            const Node& body = data_.nodes[parent_];
            const RawToken brace = data_.tokens[body.first_token + body.token_count - 1];
            return error(Errc::unclosed_bracket, brace.begin, brace.end());
        }
        fragment_.end = previous_end_;
        return false;
    }

    bool block(std::uint32_t first) {
        if (!in_body()) return misplaced("a block outside a function; expected a directive");
        ++at_;
        open_body(StatementKind::block, first);
        return true;
    }

    bool label(std::uint32_t first) {
        at_ += 2;
        return done(StatementKind::label, first);
    }

    bool instruction(std::uint32_t first) {
        if (!in_body()) return misplaced("an instruction outside a function; expected a directive");
        if (take(Lexeme::at)) {
            take(Lexeme::exclaim);
            if (!require(Lexeme::identifier, "a predicate after '@'")) return false;
            if (kind() != Lexeme::identifier) return expected("an instruction after the guard predicate");
        }
        ++at_;
        while (kind() == Lexeme::directive) ++at_;
        if (kind() != Lexeme::semicolon && !operands(ListKind::instruction)) return false;
        if (!take(Lexeme::semicolon)) return missing_terminator("the instruction");
        return done(StatementKind::instruction, first);
    }

    // A token on the same line: a comma may be what is missing as well.
    bool missing_terminator(std::string_view of) {
        const std::uint32_t from = last_end();
        const bool same_line =
            kind() != Lexeme::end && data_.text.at(from, token().begin).find('\n') == std::string_view::npos;
        return expected(same_line ? "',' or ';'" : "';' after " + std::string(of));
    }

    bool directive(std::uint32_t first) {
        const DirectiveClass c = directive_class(text());
        switch (c) {
            case DirectiveClass::version:
                ++at_;
                if (!take(Lexeme::floating)) return expected("a version number, as in .version 9.0");
                return done(StatementKind::version, first);
            case DirectiveClass::target:
                ++at_;
                return words("a target, as in .target sm_90a") && done(StatementKind::target, first);
            case DirectiveClass::address_size:
                ++at_;
                if (!take(Lexeme::integer)) return expected("32 or 64");
                return done(StatementKind::address_size, first);
            case DirectiveClass::linkage:
            case DirectiveClass::function:
            case DirectiveClass::space:
                return declaration(first);
            case DirectiveClass::location:
                ++at_;
                return location() && done(StatementKind::directive, first);
            case DirectiveClass::file:
                ++at_;
                return file() && done(StatementKind::directive, first);
            case DirectiveClass::section:
                ++at_;
                return section() && done(StatementKind::directive, first);
            case DirectiveClass::list:
                ++at_;
                return operands(ListKind::instruction) && terminator(first) &&
                       done(StatementKind::directive, first);
            case DirectiveClass::prototype:
                ++at_;
                return prototype() && terminator(first) && done(StatementKind::directive, first);
            case DirectiveClass::unknown:
                break;
        }
        return error(Errc::unknown_directive, token().begin, token().end());
    }

    bool terminator(std::uint32_t first) {
        return take(Lexeme::semicolon) || missing_terminator(data_.text_of(data_.tokens[first]));
    }

    bool words(std::string_view what) {
        do
            if (!require(Lexeme::identifier, what)) return false;
        while (take(Lexeme::comma));
        return true;
    }

    // `.loc 1 4 0`, `.loc 1 4 0, function_name $L__info+3, inlined_at 1 5 0`
    bool location() {
        if (!integers("three numbers: file, line and column")) return false;
        while (take(Lexeme::comma)) {
            const std::string_view attribute = text();
            if (kind() != Lexeme::identifier || (attribute != "function_name" && attribute != "inlined_at"))
                return expected_here("function_name or inlined_at");
            ++at_;
            if (attribute == "inlined_at") {
                if (!integers("three numbers: file, line and column")) return false;
                continue;
            }
            if (!take(Lexeme::identifier) && !take(Lexeme::directive))
                return expected("a label after function_name");
            if (take(Lexeme::plus) && !require(Lexeme::integer, "a number after '+'")) return false;
        }
        return true;
    }

    bool integers(std::string_view what) {
        for (int i = 0; i < 3; ++i)
            if (!require(Lexeme::integer, what)) return false;
        return true;
    }

    // `.file 1 "a.cu", 1700000000, 1234`; clang may give folder and file apart: `.file 1 "folder" "a.cu"`
    bool file() {
        if (!require(Lexeme::integer, "a file number") ||
            !require(Lexeme::string, "a file name in double quotes"))
            return false;
        take(Lexeme::string);
        while (take(Lexeme::comma))
            if (!require(Lexeme::integer, "a number: time stamp or file size")) return false;
        return true;
    }

    // `.section .debug_info { .b8 1, 2 … }`
    bool section() {
        if (!take(Lexeme::directive) && !take(Lexeme::identifier) && !take(Lexeme::string))
            return expected("a section name");
        const std::uint32_t brace = at_;
        if (!require(Lexeme::open_brace, "'{' after the section name")) return false;
        while (!take(Lexeme::close_brace)) {
            if (kind() == Lexeme::end)
                return error(Errc::unclosed_bracket, data_.tokens[brace].begin, data_.tokens[brace].end());
            if (kind() == Lexeme::identifier && next_kind() == Lexeme::colon) {
                at_ += 2;
            } else if (!take(Lexeme::directive)) {
                return expected_here("a label, .b8, .b16, .b32, .b64 or '}'");
            } else if (!operands(ListKind::section)) {
                return false;
            }
        }
        return true;
    }

    // --- declarations
    bool declaration(std::uint32_t first) {
        while (kind() == Lexeme::directive && directive_class(text()) == DirectiveClass::linkage) ++at_;
        const DirectiveClass c =
            kind() == Lexeme::directive ? directive_class(text()) : DirectiveClass::unknown;
        if (c == DirectiveClass::function) return function(first);
        if (c == DirectiveClass::space) return variable(first);
        return expected("a function or variable after its linkage");
    }

    bool function(std::uint32_t first) {
        if (in_body()) return misplaced("a function inside a function; is a '}' missing before it?");
        ++at_;
        if (!attribute()) return false;
        if (kind() == Lexeme::open_paren && !parameters()) return false;
        if (!require(Lexeme::identifier, "a function name")) return false;
        if (kind() == Lexeme::open_paren && !parameters()) return false;
        if (!performance_directives()) return false;
        if (take(Lexeme::open_brace)) {
            open_body(StatementKind::function, first);
            return true;
        }
        if (!take(Lexeme::semicolon)) return expected("'{' or ';' after the function's head");
        return done(StatementKind::function, first);
    }

    // `.attribute(.managed)`, `.attribute(.unified(1, 2))`
    bool attribute() {
        if (kind() != Lexeme::directive || text() != ".attribute") return true;
        ++at_;
        if (kind() != Lexeme::open_paren) return expected("'(' after .attribute");
        return operands(ListKind::section);
    }

    bool prototype() {
        if (kind() == Lexeme::open_paren && !parameters()) return false;
        if (!require(Lexeme::identifier, "a name, usually '_'")) return false;
        if (kind() == Lexeme::open_paren && !parameters()) return false;
        return performance_directives();
    }

    // `(.param .u64 .ptr .global .align 16 p, .param .align 8 .b8 q[16])`
    bool parameters() {
        const std::uint32_t paren = at_++;
        if (take(Lexeme::close_paren)) return true;
        do
            if (!parameter()) return false;
        while (take(Lexeme::comma));
        if (take(Lexeme::close_paren)) return true;
        if (kind() == Lexeme::end)
            return error(Errc::unclosed_bracket, data_.tokens[paren].begin, data_.tokens[paren].end());
        return expected("',' or ')' in the parameter list");
    }

    bool parameter() {
        if (kind() != Lexeme::directive) return expected_here("a parameter, as in .param .u64 p");
        if (!type_words()) return false;
        if (take(Lexeme::identifier)) return extents();
        return true;
    }

    // State space, type, vector size, alignment and attribute, in any order: the manual and compilers differ.
    bool type_words() {
        while (kind() == Lexeme::directive) {
            const std::string_view word = text();
            if (word == ".attribute") {
                if (!attribute()) return false;
                continue;
            }
            ++at_;
            if (word == ".align" && !require(Lexeme::integer, "the alignment in bytes after .align"))
                return false;
            if (word == ".const" && kind() == Lexeme::open_bracket && !extents())
                return false;  // `.const[2]`, PTX ISA before 2.2
        }
        return true;
    }

    // `[2][3]`, `[]`
    bool extents() {
        while (take(Lexeme::open_bracket)) {
            take(Lexeme::integer);
            if (!require(Lexeme::close_bracket, "']' after the number of elements")) return false;
        }
        return true;
    }

    // `.maxntid 128, 1, 1 .minnctapersm 2`, `.pragma "…";`, `.noreturn` between a function's head and its
    // body
    bool performance_directives() {
        while (kind() == Lexeme::directive) {
            const DirectiveClass c = directive_class(text());
            const bool pragma = text() == ".pragma";
            if (c != DirectiveClass::unknown && !pragma)
                return expected("'{' or ';' after the function's head");
            ++at_;
            if (kind() == Lexeme::integer || kind() == Lexeme::string)
                if (!operands(ListKind::instruction)) return false;
            if (pragma && !require(Lexeme::semicolon, "';' after .pragma")) return false;
        }
        return true;
    }

    // `.global .align 4 .u32 a[2] = {1, 2}, b;`, `.reg .b32 %r<5>, x;`
    bool variable(std::uint32_t first) {
        if (!type_words()) return false;
        do
            if (!declarator()) return false;
        while (take(Lexeme::comma));
        if (!take(Lexeme::semicolon)) return missing_terminator("the declaration");
        return done(StatementKind::variable, first);
    }

    bool declarator() {
        if (!require(Lexeme::identifier, "a variable name")) return false;
        if (take(Lexeme::less))
            return require(Lexeme::integer, "the number of registers after '<'") &&
                   require(Lexeme::greater, "'>'");
        if (!extents()) return false;
        return !take(Lexeme::equal) || operands(ListKind::initialiser);
    }

    // --- operands: values, brackets and constant expressions, up to a token that belongs to none
    bool operands(ListKind list) {
        brackets_.clear();
        ternaries_ = 0;
        bool behind = false;
        const RawToken* const tokens = data_.tokens.data();
        for (;; ++at_) {
            // Values, signs and commas by themselves: most of what there is.
            std::uint32_t at = at_;
            Step step;
            while ((step = operand_table[behind][tokens[at].kind_value]) <= Step::prefix) {
                behind = step == Step::value;
                ++at;
            }
            at_ = at;
            switch (step) {
                case Step::infix:
                    if (!infix(list)) return finish();
                    behind = false;
                    break;
                case Step::comma:
                    if (list == ListKind::initialiser && brackets_.empty()) return true;
                    behind = false;
                    break;
                case Step::open:
                    if (behind && !subscript()) return finish();
                    if (too_deep(list)) return error(Errc::nested_too_deeply, token().begin, token().end());
                    brackets_.push_back(at_);
                    behind = false;
                    break;
                case Step::close:
                    if (!behind && !empty_brackets()) return expected_here("an operand");
                    if (brackets_.empty()) return true;
                    if (!close_bracket()) return false;
                    behind = true;
                    break;
                case Step::directive:
                    if (behind && !suffix()) return finish();
                    if (!behind && !word(list, behind)) return expected_here("an operand");
                    break;
                default:
                    return behind ? finish() : expected("an operand");
            }
        }
    }

    [[nodiscard]] bool too_deep(ListKind list) const {
        return list == ListKind::instruction && brackets_.size() >= max_operand_depth &&
               kind() != Lexeme::open_paren;
    }

    bool finish() {
        if (brackets_.empty()) return true;
        const RawToken bracket = data_.tokens[brackets_.back()];
        if (kind() == Lexeme::end) return error(Errc::unclosed_bracket, bracket.begin, bracket.end());
        return expected(std::string("',' or '").append(1, closing(bracket.kind())).append("'"));
    }

    static char closing(Lexeme open) {
        return open == Lexeme::open_brace ? '}' : open == Lexeme::open_paren ? ')' : ']';
    }

    // A ':' belongs to a '?'; an '=' to a field of a sampler's initialiser.
    bool infix(ListKind list) {
        if (kind() == Lexeme::question) ++ternaries_;
        if (kind() == Lexeme::colon) return ternaries_ != 0 && ternaries_-- != 0;
        if (kind() == Lexeme::equal) return list == ListKind::initialiser && !brackets_.empty();
        return true;
    }

    // `generic(x)`, `0xff(x)`, `table[2]`
    [[nodiscard]] bool subscript() const {
        const Lexeme before = data_.tokens[at_ - 1].kind();
        return before == Lexeme::identifier || before == Lexeme::directive ||
               (before == Lexeme::integer && kind() == Lexeme::open_paren);
    }

    // `()` in a call
    [[nodiscard]] bool empty_brackets() const {
        return !brackets_.empty() && brackets_.back() == at_ - 1 && kind() == Lexeme::close_paren &&
               data_.tokens[at_ - 1].kind() == Lexeme::open_paren;
    }

    bool close_bracket() {
        const RawToken open = data_.tokens[brackets_.back()];
        const char right = closing(open.kind());
        if (text().front() != right) return expected_here(std::string("'").append(1, right).append("'"));
        brackets_.pop_back();
        return true;
    }

    // Behind an operand: `%tid.x`, `%v .x`, `[a].unified`
    [[nodiscard]] bool suffix() const {
        const Lexeme before = data_.tokens[at_ - 1].kind();
        if (before == Lexeme::identifier) return glued() || token().size == 2;
        if (before == Lexeme::close_bracket) return glued() || text() == ".unified";
        return before == Lexeme::directive && glued();
    }

    // Where an operand begins: the cast `(.s64)`, a section or attribute name. `behind` becomes true for a
    // value.
    bool word(ListKind list, bool& behind) {
        const bool cast = data_.tokens[at_ - 1].kind() == Lexeme::open_paren &&
                          next_kind() == Lexeme::close_paren && !brackets_.empty() &&
                          list != ListKind::section;
        if (cast) {
            brackets_.pop_back();
            ++at_;
            return true;
        }
        behind = list == ListKind::section;
        return behind;
    }

    ModuleData& data_;
    std::uint32_t at_;
    Context context_;
    NodeIndex root_;
    NodeIndex parent_;
    std::uint32_t base_;
    std::uint32_t previous_end_;
    NodeIndex last_sibling_ = null_node;
    Fragment fragment_;
    Array<std::uint32_t> brackets_;  // tokens of the brackets that are open
    std::size_t ternaries_ = 0;
    Error error_;
};

}  // namespace

Expected<Fragment> parse_statements(ModuleData& data, std::uint32_t first_token, Context context,
                                    NodeIndex parent, std::uint32_t base) {
    return Parser(data, first_token, context, parent, base).run();
}

}  // namespace ptxgraft::syntax
