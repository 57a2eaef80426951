#pragma once
// Reads a text into a workspace: one function per level of the grammar.

#include <optional>
#include <string>
#include <string_view>

#include "stub/expr/lexer.hpp"
#include "stub/expr/tree.hpp"

namespace ptxgraft::expr {

class Parser {
  public:
    Parser(std::string_view text, const Scope& scope, const ExpressionOptions& options, Workspace& work)
        : lexer_(text),
          scope_(scope),
          options_(options),
          work_(work),
          may_load_(text.find('[') != std::string_view::npos) {}

    std::optional<Error> run();

  private:
    // The grammar. Each returns the node it made, or `none` after an error.
    bool statement();
    std::uint32_t expression();
    std::uint32_t choice(std::uint32_t condition);
    std::uint32_t binary(int level);
    std::uint32_t logic(std::uint32_t left, Token token, Span place);
    std::uint32_t unary();
    std::uint32_t primary();
    std::uint32_t group();
    std::uint32_t number();
    std::uint32_t named();
    std::uint32_t special();
    std::uint32_t word_literal(std::string_view word, Span place);
    std::uint32_t call(Span name, std::uint32_t hash);
    std::uint32_t function_call(const Function& function, Span whole,
                                std::span<const std::uint32_t> arguments);
    std::uint32_t cast_call(Type type, Span whole, std::span<const std::uint32_t> arguments);
    std::uint32_t bits_call(std::string_view function, Span whole, std::span<const std::uint32_t> arguments);
    std::uint32_t read(std::uint32_t symbol, std::uint32_t element, Span place);
    std::uint32_t indexed(std::uint32_t symbol, Span name);
    std::uint32_t typed_load(Type type, Span name);
    std::uint32_t load(std::uint32_t address, std::uint32_t index, TypeRef type, Span place);
    std::uint32_t element_index(const Symbol& symbol);

    // Statements.
    struct Target {
        std::uint32_t symbol, element;
        Span span;
    };
    std::optional<Target> target();
    std::optional<Target> new_target(std::string_view word, Span name);
    bool check_target(const Symbol& symbol, Span place);
    bool end_of_statement();
    bool assign(const Target& target, std::uint32_t node);

    // Nodes and their types.
    std::uint32_t add(const Node& node);
    std::uint32_t add_binary(Op op, std::uint32_t left, std::uint32_t right, std::string_view sign);
    std::uint32_t negate(std::uint32_t operand, Span place, bool is_word);
    TypeRef new_variable(std::uint32_t TypeVariable::*what, std::uint32_t node);
    bool unify(std::uint32_t a, std::uint32_t b, std::string_view what);
    bool merge(TypeRef left, TypeRef right);
    bool bind(TypeRef variable, Type type, Span place);
    [[nodiscard]] bool may_be(TypeRef variable, Type type) const;
    bool settle_unless(TypeRef variable, Type type);
    void limit(std::uint32_t node, Op op);
    bool require_pred(std::uint32_t node, std::string_view what);
    bool settle(std::uint32_t node);
    bool settle_variable(TypeRef variable);
    void contract();
    bool settle_all();

    // Errors.
    std::uint32_t fail_at(Errc code, Span place, std::string detail);
    std::uint32_t expected(std::string_view what);
    std::uint32_t too_deep(Span place);
    std::uint32_t mismatch(std::uint32_t a, std::uint32_t b, std::string_view what);
    std::uint32_t untaken(Op op, std::uint32_t operand);
    std::uint32_t pointee_unknown(std::uint32_t load);
    std::uint32_t unknown_name(Span place);
    std::uint32_t unknown_function(Span place);
    bool argument_count(Span name, std::size_t wanted, std::size_t given);

    [[nodiscard]] Span here() const { return {lexer_.begin, lexer_.end}; }
    [[nodiscard]] std::string quoted(Span span) const { return expr::quoted(lexer_.text(), span); }
    [[nodiscard]] Node& at(std::uint32_t node) { return work_.nodes[node]; }
    [[nodiscard]] TypeRef type_at(std::uint32_t node) { return work_.root(work_.nodes[node].type); }
    [[nodiscard]] bool is_known(TypeRef type) const { return type < type_count; }
    [[nodiscard]] const SiteOperand& operand(const Symbol& symbol) const {
        return scope_.machine->signature().operands[symbol.operand];
    }
    void declare_operands();
    [[nodiscard]] std::vector<std::string_view> symbol_names() const;

    Lexer lexer_;
    const Scope& scope_;
    const ExpressionOptions& options_;
    Workspace& work_;
    bool may_load_;
    std::uint32_t depth_ = 0;
    std::uint32_t load_count_ = 0;
    std::optional<Error> error_;
};

}  // namespace ptxgraft::expr
