// verify: first values of variables (PTX ISA 5.4.4).

#include <algorithm>
#include <array>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"
#include "ptxgraft/syntax/types.hpp"
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

// PTX ISA 5.3, tables 10 to 12.
constexpr std::array<std::string_view, 7> field_words = {
    "nearest", "linear", "wrap", "mirror", "clamp_ogl", "clamp_to_edge", "clamp_to_border"};
struct Field {
    std::string_view name;
    bool is_of_texture, is_of_sampler, is_of_surface;
};
constexpr std::array<Field, 15> fields = {{
    {"width", true, false, true},
    {"height", true, false, true},
    {"depth", true, false, true},
    {"channel_data_type", true, false, true},
    {"channel_order", true, false, true},
    {"array_size", true, false, true},
    {"memory_layout", false, false, true},
    {"normalized_coords", true, false, false},
    {"num_mipmap_levels", true, false, false},
    {"num_samples", true, false, false},
    {"filter_mode", true, true, false},
    {"addr_mode_0", true, true, false},
    {"addr_mode_1", true, true, false},
    {"addr_mode_2", true, true, false},
    {"force_unnormalized_coords", false, true, false},
}};
bool is_field(std::string_view type, std::string_view name) {
    const auto field = std::ranges::find(fields, name, &Field::name);
    if (field == fields.end()) return false;
    return type == ".texref"       ? field->is_of_texture
           : type == ".samplerref" ? field->is_of_sampler
                                   : field->is_of_surface;
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
    if (syntax::is_handle(v.type)) return opaque_initialiser(v.type, d);
    if (type == RegisterType::none) return;  // which was said
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

// `{ field = value, … }` (PTX ISA 5.3), of an array one in braces for each element. ptxas asks for the names
// alone: every constant goes with every field.
void Verifier::opaque_initialiser(std::string_view type, const Statement::Declarator& d) {
    const std::span<const Token> tokens = d.initialiser;
    if (tokens.front().text != "{")
        return report(Errc::declaration_invalid, tokens.front().text,
                      "a " + std::string(type) + " has a list of fields as first value, as in { " +
                          (type == ".samplerref" ? "filter_mode = nearest" : "width = 8") + " }");
    std::vector<std::uint64_t> counts;  // of what stands in each open pair of braces
    for (std::size_t at = 0; at < tokens.size(); ++at) {
        const std::string_view text = tokens[at].text;
        if (text == "{") {
            const std::size_t depth = counts.size();
            if (depth > d.extents.size())
                return report(Errc::declaration_invalid, text, "a field has a name: { width = 8 }");
            if (depth != 0 && ++counts.back() > d.extents[depth - 1] && d.extents[depth - 1] != 0)
                return report(Errc::declaration_invalid, text,
                              "of " + std::to_string(d.extents[depth - 1]) + " elements this is one more");
            counts.push_back(0);
        }
        if (text == "}") counts.pop_back();
        if (text == "{" || text == "}" || text == ",") continue;
        if (at + 1 == tokens.size() || tokens[at + 1].text != "=")
            return report(Errc::declaration_invalid, text, "a field has a name: { width = 8 }");
        if (!is_field(type, text))
            report(Errc::declaration_invalid, text,
                   "a " + std::string(type) + " has no field " + quote(text));
        const std::size_t begin = at + 2;
        std::size_t parentheses = 0;
        for (at = begin; at < tokens.size(); ++at) {
            if (parentheses == 0 && (tokens[at].text == "," || tokens[at].text == "}")) break;
            parentheses += tokens[at].text == "(";
            parentheses -= tokens[at].text == ")";
        }
        field_value(tokens.subspan(begin, at - begin));
        --at;  // the comma or brace is looked at next
    }
}

void Verifier::field_value(std::span<const Token> value) {
    const std::string_view first = value.front().text;
    const bool is_word = value.size() == 1 && value.front().kind == TokenKind::identifier;
    if (is_word && std::ranges::find(field_words, first) != field_words.end()) return;
    if (is_word && first != "WARP_SZ")
        return report(Errc::declaration_invalid, first,
                      quote(first) +
                          " is no value of a field; there are nearest, linear, wrap, mirror, "
                          "clamp_ogl, clamp_to_edge, clamp_to_border and constants");
    if (const auto constant = syntax::evaluate(value); !constant) {
        const auto at = std::ranges::find(value, constant.error().span.begin, &Token::offset);
        report(constant.error().code, at == value.end() ? value.back().text : at->text,
               constant.error().detail ? *constant.error().detail : std::string());
    }
}

void Verifier::initial_value(RegisterType type, const syntax::InitialValue& value) {
    if (value.mask != nullptr)
        require(value.symbol != nullptr ? 71 : 72, {10, 0}, span_of(value.mask->text),
                "a mask of a first value");
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
    const bool is_function = symbol->kind == SymbolKind::function,
               is_entry = is_function && symbol->declaration.is_entry();
    if (value.is_generic) require(31, {10, 0}, span_of(name), "generic()");
    if (is_function)
        require(is_entry ? 31 : 21, {is_entry ? std::uint16_t{35} : std::uint16_t{20}, 0}, span_of(name),
                is_entry ? "the address of an entry" : "the address of a function");
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
    if (is_function && !setting_.has_abi && !is_entry)
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
