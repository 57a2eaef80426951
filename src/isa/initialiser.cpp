// verify: first values of variables (PTX ISA 5.4.4).

#include <algorithm>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::Token;
using syntax::TokenKind;

namespace {

// Walks `{1, 2}, {3}`: values stand as deep as the variable has sizes, at most as many in a brace as its size.
class Shape {
  public:
    Shape(const Statement::Variable& v, const Statement::Declarator& d) : extents_(d.extents), tokens_(d.initialiser), is_vector_(v.vector > 1) {
        if (is_vector_) extents_.push_back(v.vector);
    }

    /// Calls `value(first, last)` with the tokens of each value; false: the braces are wrong, `problem` and `place` say how.
    template <class Value>
    bool walk(Value value) {
        for (at_ = 0; at_ < tokens_.size();) {
            const std::string_view text = tokens_[at_].text;
            if (text == "{") {
                if (counts_.size() == extents_.size()) return fail("more braces than the variable has sizes");
                if (!count()) return false;
                counts_.push_back(0);
                ++at_;
            } else if (text == "}") {
                if (is_vector_ && counts_.size() == extents_.size() && counts_.back() != extents_.back()) return fail("a vector has " + std::to_string(extents_.back()) + " elements");
                counts_.pop_back();
                ++at_;
            } else if (text == ",") {
                ++at_;
            } else {
                if (counts_.size() != extents_.size()) return fail("a value stands where a list in braces is expected");
                if (!count()) return false;
                const std::size_t first = at_;
                at_ = end_of_value();
                value(first, at_);
            }
        }
        return true;
    }
    std::string problem;
    [[nodiscard]] const Token& place() const { return tokens_[at_]; }

  private:
    bool fail(std::string text) {
        problem = std::move(text);
        return false;
    }
    bool count() {
        if (counts_.empty()) return true;
        const std::uint64_t extent = extents_[counts_.size() - 1];
        if (++counts_.back() > extent && extent != 0) return fail("more values than the " + std::to_string(extent) + " elements");
        return true;
    }
    [[nodiscard]] std::size_t end_of_value() const {
        std::size_t end = at_, depth = 0;
        for (; end < tokens_.size(); ++end) {
            const std::string_view text = tokens_[end].text;
            depth += text == "(";
            if (depth == 0 && (text == "," || text == "}" || text == "{")) break;
            depth -= text == ")";
        }
        return end;
    }
    std::vector<std::uint64_t> extents_;
    const std::vector<Token>& tokens_;
    bool is_vector_;
    std::vector<std::uint64_t> counts_;  // of the open braces
    std::size_t at_ = 0;
};

}  // namespace

void Verifier::initialiser(const Statement::Variable& v, const Statement::Declarator& d) {
    if (v.linkage == ".extern") return report(Errc::declaration_invalid, d.name, quote(d.name) + " is .extern, so its value stands elsewhere");
    if (v.space != ".global" && v.space != ".const") return report(Errc::declaration_invalid, d.name, quote(d.name) + " cannot have a first value; only variables in .global and .const can");
    const RegisterType type = type_of(v.type);
    if (type == RegisterType::none) return;  // the properties of a .samplerref
    if (info(type).bits == 16 && info(type).kind != TypeClass::integer && info(type).kind != TypeClass::bits) return report(Errc::declaration_invalid, v.type, "a " + std::string(v.type) + " cannot have a first value; declare a .b16");
    if (type == RegisterType::f16x2) return report(Errc::declaration_invalid, v.type, "a .f16x2 cannot have a first value; declare a .b32");
    Shape shape(v, d);
    if (!shape.walk([&](std::size_t first, std::size_t last) { initial_value(type, std::span(d.initialiser).subspan(first, last - first)); }))
        report(Errc::declaration_invalid, shape.place().text, quote(d.name) + ": " + shape.problem);
}

// One value: a constant expression, or the address of a variable or function: `x+4`, `generic(x)`, `0xFF00(x)`.
void Verifier::initial_value(RegisterType type, std::span<const Token> value) {
    const TypeClass wanted = info(type).kind;
    const std::string name = "." + std::string(info(type).name);
    const auto symbol_at = std::find_if(value.begin(), value.end(), [](const Token& t) { return t.kind == TokenKind::identifier && t.text != "generic" && t.text != "WARP_SZ"; });
    if (symbol_at != value.end()) return initial_address(type, value, *symbol_at);
    const auto is = [&](TokenKind kind) { return std::find_if(value.begin(), value.end(), [&](const Token& t) { return t.kind == kind; }); };
    const auto floating = is(TokenKind::floating), integer = is(TokenKind::integer);
    if (floating != value.end() && integer != value.end()) return report(Errc::declaration_invalid, integer->text, "a constant expression is of integers or of floating constants, not of both");
    if (floating != value.end() && wanted == TypeClass::integer) report(Errc::declaration_invalid, floating->text, "a " + name + " has an integer as first value");
    if (floating == value.end() && wanted == TypeClass::floating) report(Errc::declaration_invalid, value.front().text, "a " + name + " has a floating constant as first value, as in 1.0");
}

void Verifier::initial_address(RegisterType type, std::span<const Token> value, const Token& name) {
    const Symbol* symbol = symbols_.find(name.text);
    if (symbol == nullptr) return report(Errc::name_undeclared, name.text, quote(name.text));
    const bool is_function = symbol->kind == SymbolKind::function;
    const bool is_variable = (symbol->kind == SymbolKind::variable && (symbol->space == Space::global || symbol->space == Space::const_)) || symbol->kind == SymbolKind::texref ||
                             symbol->kind == SymbolKind::samplerref || symbol->kind == SymbolKind::surfref;
    if (!is_function && !is_variable) return report(Errc::declaration_invalid, name.text, quote(name.text) + " is no variable in .global or .const, nor a function; only of these a first value can hold the address");
    const bool is_masked = value.front().kind == TokenKind::integer;
    const bool fits = type == RegisterType::u64 || type == RegisterType::u32 || (is_masked && type == RegisterType::u8);
    if (!fits) report(Errc::declaration_invalid, name.text, "the address of " + quote(name.text) + " is held by a .u64 (.u32 with 32-bit addresses), or by .u8 with a mask, as in 0xFF(" + std::string(name.text) + ")");
    if (is_function && value.front().text == "generic") report(Errc::declaration_invalid, name.text, "generic() is for variables, " + quote(name.text) + " is a function");
    if (is_masked && !is_byte_mask(value.front())) report(Errc::declaration_invalid, value.front().text, "a mask takes one byte of the address: 0xFF, 0xFF00, …");
}

bool Verifier::is_byte_mask(const Token& token) {
    const auto value = syntax::parse_integer(token.text);
    for (unsigned shift = 0; value && shift < 64; shift += 8)
        if (*value == std::uint64_t{0xFF} << shift) return true;
    return false;
}

}  // namespace ptxgraft::isa
