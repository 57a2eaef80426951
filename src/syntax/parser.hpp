#pragma once
// The grammar of PTX (PTX ISA manual, chapters 4, 5 and 11), as strict as ptxas's. Opcodes and modifiers are
// any words. Nothing here recurses: open bodies are the parent links of the nodes, open brackets a stack on
// the heap.
//
// Every function that takes a part of the grammar moves the cursor behind it and gives true, or leaves it at
// the token that does not fit, sets the error and gives false.

#include "syntax/directives.hpp"
#include "syntax/error_list.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {

class Parser {
  public:
    /// With a list of errors the parser goes on behind each.
    Parser(ModuleData& data, std::uint32_t first_token, Context context, NodeIndex parent, std::uint32_t base,
           ErrorList* errors);

    Expected<Fragment> run();

  private:
    // --- tokens
    [[nodiscard]] RawToken token() const { return tokens_[at_]; }
    [[nodiscard]] Lexeme kind() const { return tokens_[at_].kind(); }
    [[nodiscard]] Lexeme next_kind() const {
        return kind() == Lexeme::end ? Lexeme::end : tokens_[at_ + 1].kind();
    }
    [[nodiscard]] std::string_view text_of(RawToken token) const {
        return std::string_view(text_ + (token.begin - base_), token.size);
    }
    [[nodiscard]] std::string_view text() const { return text_of(token()); }
    [[nodiscard]] std::uint32_t last_end() const { return tokens_[at_ - 1].end(); }
    [[nodiscard]] bool is_sink(std::uint32_t i) const {
        return tokens_[i].size == 1 && text_[tokens_[i].begin - base_] == '_';
    }
    bool take(Lexeme kind) {
        if (this->kind() != kind) return false;
        ++at_;
        return true;
    }
    [[nodiscard]] const Directive& directive_here() const;
    [[nodiscard]] bool starts_line(std::uint32_t i) const;

    // --- errors
    bool error(Errc code, std::uint32_t begin, std::uint32_t end, std::string detail = {});
    bool error_at(Errc code, RawToken token, std::string detail = {}) {
        return error(code, token.begin, token.end(), std::move(detail));
    }
    [[nodiscard]] std::string but_found(std::string_view what) const;
    bool expected(std::string_view what);
    bool expected_here(std::string_view what);
    bool misplaced(std::string detail) {
        return error_at(Errc::statement_misplaced, token(), std::move(detail));
    }
    bool missing_terminator(std::string_view of);
    bool require(Lexeme kind, std::string_view what) { return take(kind) || expected(what); }
    bool require_name(std::string_view what);
    // An integer where no expression may stand: a literal or WARP_SZ.
    bool take_integer() { return take(Lexeme::integer) || (is_warp_size() && take(Lexeme::identifier)); }
    bool require_integer(std::string_view what) { return take_integer() || expected(what); }

    // --- nodes
    NodeIndex add(StatementKind kind, std::uint32_t first);
    NodeIndex add(StatementKind kind, std::uint32_t first, std::uint32_t count);
    void grow_nodes();
    bool done(StatementKind kind, std::uint32_t first) {
        add(kind, first);
        return true;
    }
    void open_body(StatementKind kind, std::uint32_t first);
    bool close_body();
    void close_body_with(std::uint32_t token);
    [[nodiscard]] bool in_body() const { return parent_ != root_ || context_ == Context::body; }

    // --- going on behind an error
    bool recover(std::uint32_t first);
    [[nodiscard]] bool is_known() const;
    void close_open_bodies();
    void skip_statement(std::uint32_t first);
    [[nodiscard]] bool closes_body() const;
    [[nodiscard]] bool is_function_here() const;
    [[nodiscard]] bool may_start_statement() const;

    // --- statements
    bool statement();
    bool end();
    bool block(std::uint32_t first);
    bool label(std::uint32_t first);
    bool instruction(std::uint32_t first);
    bool directive_statement(std::uint32_t first);
    bool in_its_place(const Directive& row);
    bool directive_arguments(const Directive& row, std::uint32_t first);
    bool finished(StatementKind kind, std::uint32_t first);

    // --- directives
    bool names(std::string_view what);
    bool location();
    bool integers(std::string_view what);
    bool file();
    bool strings();
    bool alias();
    bool branch_targets();
    bool section();
    bool section_data();
    bool section_value();
    [[nodiscard]] bool is_section_name() const;

    // --- declarations
    bool declaration(std::uint32_t first);
    bool variable(std::uint32_t first, bool has_linkage);
    bool declarator();
    bool extents(bool only_one);
    bool type_words(std::string_view what);
    bool alignment();
    bool attribute();
    bool attribute_item();
    bool initialiser();
    bool initialiser_item();
    bool symbol_value();
    bool masked_value();
    bool function(std::uint32_t first);
    bool function_head(bool is_entry);
    bool function_tail(std::uint32_t first, bool is_entry);
    bool prototype();
    bool parameters();
    bool parameter();
    bool pointer();
    bool entry_limits();
    bool function_abi();
    bool function_limit();
    bool limit(const Directive& row);

    // --- operands
    bool operands();
    bool operand(bool is_first);
    bool named_operand(bool is_first);
    bool prefixed_operand();
    void take_component();
    bool subscript();
    bool vector_operand(bool is_first);
    bool vector();
    bool element();
    bool address();
    bool address_part();
    bool coordinates();
    bool call_operands();
    bool call_list();
    bool constant();
    bool literal();
    bool cast();
    bool close_constant();
    [[nodiscard]] bool is_warp_size() const;
    bool close(std::uint32_t open, char bracket);

    ModuleData& data_;
    const RawToken* tokens_;
    const char* text_;  // of the token at base_
    std::uint32_t at_;
    std::uint32_t first_token_;
    std::size_t first_node_;
    mutable std::uint32_t asked_ = 0xFFFFFFFFu;  // the token of directive_here's last answer
    mutable const Directive* answer_ = nullptr;
    Context context_;
    bool headless_body_ = false;  // the `{` here belongs to a function whose head did not parse
    NodeIndex root_;
    NodeIndex parent_;
    std::uint32_t base_;
    std::uint32_t end_token_;
    std::uint32_t previous_end_;
    NodeIndex last_sibling_ = null_node;
    Fragment fragment_;
    Array<std::uint32_t> open_;  // tokens of the `(` and `?` of a constant expression that are open
    ErrorList* errors_;
    Error error_;
    Errc last_error_ = Errc::ok;  // the one before
};

}  // namespace ptxgraft::syntax
