// What is said of a wrong operand.

#include "isa/operands.hpp"

namespace ptxgraft::isa {
namespace {

using Kind = OperandProblem::Kind;

std::string type_text(RegisterType type) {
    return type == RegisterType::none ? "no type" : "." + std::string(info(type).name);
}

std::string kind_text(const Symbol& symbol) {
    switch (symbol.kind) {
        case SymbolKind::reg:
            return "a register of " +
                   std::string(symbol.vector > 1 ? ".v" + std::to_string(symbol.vector) + " " : "") +
                   type_text(symbol.type);
        case SymbolKind::variable: return "a variable in " + std::string(text(symbol.space));
        case SymbolKind::function: return "a function";
        case SymbolKind::label: return "a label";
        case SymbolKind::branch_targets:
        case SymbolKind::call_targets: return "a list of targets";
        case SymbolKind::prototype: return "a prototype";
        case SymbolKind::texref: return "a .texref";
        case SymbolKind::samplerref: return "a .samplerref";
        case SymbolKind::surfref: return "a .surfref";
    }
    return {};
}

// What an operand should be: "a register of .u32 or a constant".
std::string wanted(const OperandRule& rule, const Match& match) {
    if (rule.kind == RuleKind::vector && match.count(rule.count) != 1)
        return "a vector {…} of " + std::to_string(match.count(rule.count)) + " registers of " +
               type_text(match.type(rule.type));
    if (rule.kind != RuleKind::value && rule.kind != RuleKind::vector) return std::string(rule_text(rule));
    if (rule.constant_only) return rule.takes_sink ? "'_'" : "an integer constant";
    const RegisterType type = match.type(rule.type);
    std::string text = "a register of " + type_text(type) + (rule.is_wide ? " or wider" : "");
    const bool takes = takes_constant(type, syntax::Constant::Type::s64) ||
                       takes_constant(type, syntax::Constant::Type::f64);
    if (!rule.is_output && !rule.register_only && takes) text += " or a constant";
    return text;
}

std::string range_text(const Range& range) {
    if (!range.values.empty()) {
        std::string text;
        for (const std::int64_t value : range.values)
            text.append(text.empty() ? "" : ", ").append(std::to_string(value));
        return "one of " + text;
    }
    std::string text = std::to_string(range.low) + " to " + std::to_string(range.high);
    return range.step == 1 ? text : text + ", a multiple of " + std::to_string(range.step);
}

}  // namespace

// Why an expression has no value. Behind a base, an offset is an integer.
Error OperandProblem::constant_error() const {
    const std::string_view text = operand->kind() == syntax::OperandKind::sum
                                      ? operand->text().substr(operand->text().find('+'))
                                      : operand->text();
    const auto value = syntax::evaluate_constant(text);
    return value ? fail(Errc::operand_type_wrong, {}, "'" + std::string(text) + "' is no integer").value()
                 : value.error();
}

Errc OperandProblem::code() const {
    switch (kind) {
        case Kind::count: return Errc::operand_count_wrong;
        case Kind::type:
        case Kind::neighbour:
        case Kind::constant_kind: return Errc::operand_type_wrong;
        case Kind::range: return Errc::immediate_out_of_range;
        case Kind::constant_value: return constant_error().code;
        case Kind::undeclared: return Errc::name_undeclared;
        case Kind::vector_length: return Errc::vector_length_wrong;
        case Kind::space: return Errc::state_space_mismatch;
        case Kind::special: return Errc::special_register_invalid;
        default: return Errc::operand_kind_wrong;
    }
}

std::string OperandProblem::message(const Match& match) const {
    const std::string found = operand == nullptr ? "" : "'" + std::string(operand->text()) + "'";
    const std::string form = "; form: " + std::string(match.row->syntax);
    const std::string what = symbol == nullptr ? "" : " is " + kind_text(*symbol);
    switch (kind) {
        case Kind::count:
            return (operand == nullptr ? "wrong number of operands" : "wrong number of parts in " + found) +
                   form;
        case Kind::not_allowed:
            return found + (what.empty() ? " stands" : what) + (what.empty() ? " where " : "; expected ") +
                   wanted(*rule, match) + (what.empty() ? " is expected" : "") + form;
        case Kind::constant:
            return "a constant, " + found + ", where " + wanted(*rule, match) + " is expected" + form;
        case Kind::constant_kind:
            return found + " is no constant of its type; expected " + wanted(*rule, match) + form;
        case Kind::range: return found + " is out of range: " + range_text(*rule->range) + form;
        case Kind::constant_value:
            return constant_error().detail != nullptr ? *constant_error().detail : found;
        case Kind::component:
            return found + ": ptxas takes a register by its name alone here; move it to one" + form;
        case Kind::addition:
            return found + ": a number is added to registers of integers and of bits alone; '" +
                   std::string(operand->base()) + "'" + what + form;
        case Kind::no_array:
            return found + ": '" + std::string(operand->base()) + "'" + what + " and no array" + form;
        case Kind::neighbour:
            return found + (what.empty() ? " is a constant" : what) +
                   ", which does not go with the elements before it; expected " + wanted(*rule, match) + form;
        case Kind::type: return found + what + "; expected " + wanted(*rule, match) + form;
        case Kind::undeclared: return found;
        case Kind::vector_length: return found + " is not " + wanted(*rule, match) + form;
        case Kind::space:
            return found + what + ", but the instruction addresses " + std::string(text(space)) + form;
        case Kind::sink: return "'_' cannot stand here; expected " + wanted(*rule, match) + form;
        case Kind::special:
            return "the special register " + found + " cannot stand here; move it to a register first (mov)";
        case Kind::negation: return found + ": only a predicate that is read can be negated" + form;
        case Kind::minus:
            return found +
                   (rule->takes_minus
                        ? ": vmad negates its product, by one of a and b, or c, and neither with .po"
                        : ": a minus stands before registers of vmad alone; neg negates one") +
                   form;
    }
    return {};
}

}  // namespace ptxgraft::isa
