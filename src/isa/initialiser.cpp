// verify: first values of variables (PTX ISA 5.4.4).

#include <algorithm>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"
#include "syntax/constant.hpp"
#include "syntax/initialiser.hpp"

namespace ptxgraft::isa {

using syntax::Statement;
using syntax::Token;
using syntax::TokenKind;

namespace {

// A .b32 and its like take floating-point constants as first values, of any width.
syntax::ConstantUse use_of(TypeClass kind) {
    if (kind == TypeClass::floating) return syntax::ConstantUse::floating;
    return kind == TypeClass::bits ? syntax::ConstantUse::initial_bits : syntax::ConstantUse::integer;
}

}  // namespace

void Verifier::initialiser(const Statement::Variable& v, const Statement::Declarator& d) {
    if (v.linkage == ".extern")
        return report(Errc::declaration_invalid, d.name,
                      quote(d.name) + " is .extern, so its value stands elsewhere");
    if (v.space != ".global" && v.space != ".const")
        return report(Errc::declaration_invalid, d.name,
                      quote(d.name) + " cannot have a first value; only variables in .global and .const can");
    const RegisterType type = type_of(v.type);
    if (type == RegisterType::none) return;  // the properties of a .samplerref
    if (info(type).bits == 16 && info(type).kind != TypeClass::integer && info(type).kind != TypeClass::bits)
        return report(Errc::declaration_invalid, v.type,
                      "a " + std::string(v.type) + " cannot have a first value; declare a .b16");
    if (type == RegisterType::f16x2)
        return report(Errc::declaration_invalid, v.type,
                      "a .f16x2 cannot have a first value; declare a .b32");
    syntax::InitialValues values(v, d);
    while (const auto value = values.next()) initial_value(type, *value);
    if (!values.problem().empty())
        report(Errc::declaration_invalid, values.place().text, quote(d.name) + ": " + values.problem());
}

void Verifier::initial_value(RegisterType type, const syntax::InitialValue& value) {
    if (value.mask != nullptr && !syntax::mask_shift(*value.mask))
        report(Errc::declaration_invalid, value.mask->text,
               "a mask takes one byte of what is in parentheses: 0xFF, 0xFF00, …");
    if (value.symbol != nullptr) return initial_address(type, value);
    const auto constant = syntax::evaluate(value.constant);
    if (!constant) return initial_error(constant.error(), value);
    const std::string_view at = value.tokens.front().text;
    if (value.mask != nullptr && !constant->is_integer())
        return report(Errc::declaration_invalid, at, "a mask takes a byte of an integer or of an address");
    if (syntax::convert(*constant, use_of(info(type).kind), info(type).bits)) return;
    const bool wants_floating = info(type).kind == TypeClass::floating;
    report(Errc::declaration_invalid, at,
           "a ." + std::string(info(type).name) +
               (wants_floating ? " has a floating constant as first value, as in 1.0"
                               : " has an integer as first value"));
}

void Verifier::initial_error(const Error& error, const syntax::InitialValue& value) {
    const auto at = std::find_if(value.tokens.begin(), value.tokens.end(),
                                 [&](const Token& t) { return t.offset == error.span.begin; });
    report(error.code, at == value.tokens.end() ? value.tokens.back().text : at->text,
           error.detail ? *error.detail : std::string());
}

void Verifier::initial_address(RegisterType type, const syntax::InitialValue& value) {
    const std::string_view name = value.symbol->text;
    const Symbol* symbol = symbols_.find(name);
    if (symbol == nullptr) return report(Errc::name_undeclared, name, quote(name));
    const bool is_function = symbol->kind == SymbolKind::function;
    const bool is_variable = (symbol->kind == SymbolKind::variable &&
                              (symbol->space == Space::global || symbol->space == Space::const_)) ||
                             is_opaque(*symbol);
    if (!is_function && !is_variable)
        return report(Errc::declaration_invalid, name,
                      quote(name) +
                          " is no variable in .global or .const, nor a function; only of these a first value "
                          "can hold the address");
    const bool fits = type == RegisterType::u64 || type == RegisterType::u32 ||
                      (value.mask != nullptr && type == RegisterType::u8);
    if (!fits)
        report(Errc::declaration_invalid, name,
               "the address of " + quote(name) +
                   " is held by a .u64 (.u32 with 32-bit addresses), or by .u8 with a mask, as in 0xFF(" +
                   std::string(name) + ")");
    if (is_function && !setting_.has_abi && !symbol->declaration.is_entry())
        report(Errc::call_mismatch, name,
               quote(name) + " has no address in a module in which a function returns several registers");
    if (is_function && value.is_generic)
        report(Errc::declaration_invalid, name,
               "generic() is for variables, " + quote(name) + " is a function");
    if (value.constant.empty()) return;
    if (is_function)
        report(Errc::declaration_invalid, value.constant.front().text,
               quote(name) + " is a function, whose address stands without an offset");
    const auto offset = syntax::evaluate(value.constant);
    if (!offset) return initial_error(offset.error(), value);
    if (!offset->is_integer())
        report(Errc::declaration_invalid, value.constant.front().text,
               "the bytes behind " + quote(name) + " are an integer");
}

}  // namespace ptxgraft::isa
