// The views of declarations: variables, parameters, names.

#include <algorithm>
#include <limits>
#include <utility>

#include "syntax/constant.hpp"
#include "syntax/directives.hpp"
#include "syntax/module.hpp"

namespace ptxgraft::syntax {

// Walks the tokens of one statement, which the parser has accepted.
class DeclarationReader {
  public:
    DeclarationReader(const ModuleData& data, const Node& node)
        : data_(data), at_(node.first_token), last_(node.first_token + node.token_count) {}

    Statement::Variable variable() {
        Statement::Variable v;
        if (directive_class(text()) == DirectiveClass::linkage) v.linkage = text();
        while (directive_class(text()) == DirectiveClass::linkage) ++at_;
        const TypeWords words = type_words();
        v.space = words.space;
        v.type = words.type;
        v.vector = words.vector;
        v.align = words.align;
        if (kind() == Lexeme::semicolon) return v;  // ptxas takes a declaration of nothing
        do v.declarators.push_back(declarator());
        while (take(Lexeme::comma));
        return v;
    }

    /// Moves behind the linkage, `.entry` or `.func` and its attribute.
    void enter_function() {
        while (directive_class(text()) == DirectiveClass::linkage) ++at_;
        ++at_;
        if (kind() == Lexeme::directive) {  // .attribute
            ++at_;
            skip_brackets();
        }
    }
    [[nodiscard]] bool at_list() const { return kind() == Lexeme::open_paren; }
    [[nodiscard]] std::string_view text() const { return data_.text_of(data_.tokens[at_]); }
    [[nodiscard]] Lexeme kind() const { return at_ == last_ ? Lexeme::end : data_.tokens[at_].kind(); }
    void skip() { ++at_; }

    /// Moves behind the bracket that closes the one here.
    void skip_brackets() {
        std::size_t depth = 0;
        do {
            const Lexeme k = kind();
            depth += k == Lexeme::open_paren || k == Lexeme::open_bracket || k == Lexeme::open_brace;
            depth -= k == Lexeme::close_paren || k == Lexeme::close_bracket || k == Lexeme::close_brace;
            ++at_;
        } while (depth != 0);
    }

    std::vector<Statement::Parameter> parameters() {
        std::vector<Statement::Parameter> list;
        ++at_;
        if (take(Lexeme::close_paren)) return list;
        constexpr std::size_t usual = 4;
        list.reserve(usual);
        do list.push_back(parameter());
        while (take(Lexeme::comma));
        ++at_;
        return list;
    }

  private:
    struct TypeWords {
        std::string_view space;
        std::string_view type;
        std::uint32_t vector = 1;
        std::uint32_t align = 0;
    };

    bool take(Lexeme k) {
        if (kind() != k) return false;
        ++at_;
        return true;
    }

    Statement::Parameter parameter() {
        Statement::Parameter p;
        const TypeWords words = type_words();
        p.space = words.space;
        p.type = words.type;
        p.align = words.align;
        p.vector = words.vector;
        if (kind() == Lexeme::identifier) {
            p.name = text();
            ++at_;
        }
        bool is_first = true;
        for_each_extent([&](std::uint64_t size) {
            if (!std::exchange(is_first, false)) return;
            p.count = size;
            p.is_open = size == 0;
        });
        return p;
    }

    // `.global .align 8 .v2 .f32`, in any order; behind `.ptr` the words speak of what is pointed to
    TypeWords type_words() {
        TypeWords words;
        bool pointer = false;
        for (; kind() == Lexeme::directive;) {
            const std::string_view word = text();
            ++at_;
            if (word == ".attribute") {
                skip_brackets();
            } else if (word == ".align") {
                if (!pointer) words.align = small_integer();
                ++at_;
            } else if (word == ".ptr") {
                pointer = true;
            } else if (word.size() == 3 && word.starts_with(".v") && word[2] >= '0' && word[2] <= '9') {
                words.vector = static_cast<std::uint32_t>(word[2] - '0');
            } else if (!pointer && directive_class(word) != DirectiveClass::space) {
                words.type = word;
            } else if (!pointer) {
                words.space = word;
                if (kind() == Lexeme::open_bracket) skip_brackets();  // `.const[2]`
            }
        }
        return words;
    }

    Statement::Declarator declarator() {
        Statement::Declarator d;
        d.name = text();
        ++at_;
        if (take(Lexeme::less)) {
            d.range = small_integer();
            at_ += 2;
        }
        d.extents = extents();
        if (take(Lexeme::equal)) d.initialiser = initialiser();
        return d;
    }

    std::vector<std::uint64_t> extents() {
        std::vector<std::uint64_t> sizes;
        for_each_extent([&](std::uint64_t size) { sizes.push_back(size); });
        return sizes;
    }
    // `[4][]`: 4, then 0.
    template <class Visit> void for_each_extent(Visit visit) {
        while (take(Lexeme::open_bracket)) {
            const bool open = take(Lexeme::close_bracket);
            visit(open ? 0 : integer());
            if (!open) at_ += 2;
        }
    }

    std::vector<Token> initialiser() {
        std::vector<Token> tokens;
        std::size_t depth = 0;
        for (;; ++at_) {
            const Lexeme k = kind();
            if (depth == 0 && (k == Lexeme::comma || k == Lexeme::semicolon)) return tokens;
            depth += k == Lexeme::open_paren || k == Lexeme::open_bracket || k == Lexeme::open_brace;
            depth -= k == Lexeme::close_paren || k == Lexeme::close_bracket || k == Lexeme::close_brace;
            tokens.push_back(public_token(data_.tokens[at_], text()));
        }
    }

    [[nodiscard]] std::uint64_t integer() const { return integer_value(text()).value_or(0); }
    /// Numbers past 32 bits become the largest: too much for whoever uses them, where a wrapped one would be
    /// wrong.
    [[nodiscard]] std::uint32_t small_integer() const {
        return static_cast<std::uint32_t>(
            std::min<std::uint64_t>(integer(), std::numeric_limits<std::uint32_t>::max()));
    }

    const ModuleData& data_;
    std::uint32_t at_;
    std::uint32_t last_;
};

std::optional<Statement::Variable> Statement::variable() const {
    const Node* n = node();
    if (n == nullptr || n->kind != StatementKind::variable) return std::nullopt;
    return DeclarationReader(*module_, *n).variable();
}

bool Statement::is_entry() const {
    const Node* n = node();
    if (n == nullptr || n->kind != StatementKind::function) return false;
    DeclarationReader reader(*module_, *n);
    while (directive_class(reader.text()) == DirectiveClass::linkage) reader.skip();
    return reader.text() == ".entry";
}

namespace {
// Functions and `.callprototype (…) _ (…)`.
bool has_parameters(const ModuleData& data, const Node* node) {
    if (node == nullptr) return false;
    if (node->kind == StatementKind::function) return true;
    return node->kind == StatementKind::directive &&
           data.text_of(data.tokens[node->first_token]) == ".callprototype";
}
}  // namespace

std::vector<Statement::Parameter> Statement::return_parameters() const {
    const Node* n = node();
    if (!has_parameters(*module_, n)) return {};
    DeclarationReader reader(*module_, *n);
    reader.enter_function();
    return reader.at_list() ? reader.parameters() : std::vector<Parameter>();
}

std::vector<Statement::Parameter> Statement::parameters() const {
    const Node* n = node();
    if (!has_parameters(*module_, n)) return {};
    DeclarationReader reader(*module_, *n);
    reader.enter_function();
    if (reader.at_list()) reader.skip_brackets();
    reader.skip();  // the name
    return reader.at_list() ? reader.parameters() : std::vector<Parameter>();
}

std::string_view Statement::name() const {
    const Node* n = node();
    if (n == nullptr) return {};
    DeclarationReader reader(*module_, *n);
    switch (n->kind) {
        case StatementKind::label: return reader.text();
        case StatementKind::function:
            reader.enter_function();
            if (reader.at_list()) reader.skip_brackets();
            return reader.text();
        case StatementKind::variable: {
            const Statement::Variable v = reader.variable();
            return v.declarators.empty() ? std::string_view() : v.declarators.front().name;
        }
        default: return {};
    }
}

}  // namespace ptxgraft::syntax
