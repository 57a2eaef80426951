// verify: calls (PTX ISA 9.7.12.5): as many arguments as parameters, each of its parameter's size.

#include <algorithm>

#include "isa/declaration.hpp"
#include "isa/verifier.hpp"

namespace ptxgraft::isa {

using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;
using syntax::Statement;

void Verifier::call(const Instruction& i) {
    std::span<const Operand> operands = i.operands, returns, arguments;
    if (!operands.empty() && operands.front().kind() == OperandKind::list) {
        returns = operands.front().children();
        operands = operands.subspan(1);
    }
    if (operands.empty()) return;
    const Operand& callee = operands.front();
    operands = operands.subspan(1);
    if (!operands.empty() && operands.front().kind() == OperandKind::list) {
        arguments = operands.front().children();
        operands = operands.subspan(1);
    }
    const Symbol* symbol = symbols_.find(callee.text());
    if (symbol == nullptr) return;
    if (symbol->kind == SymbolKind::function) {
        if (symbol->declaration.is_entry()) return report(Errc::call_mismatch, callee.span(), "'" + std::string(callee.text()) + "' is an entry; only a .func can be called");
        return call_to(i, symbol->declaration, callee.text(), returns, arguments);
    }
    if (operands.empty()) return report(Errc::call_mismatch, callee.span(), "a call through a register names a .callprototype or .calltargets as its last operand");
    const Symbol* list = symbols_.find(operands.front().text());
    if (list != nullptr && list->kind == SymbolKind::prototype) call_to(i, list->declaration, operands.front().text(), returns, arguments);
    if (list == nullptr || list->kind != SymbolKind::call_targets) return;
    for (const syntax::Token& token : list->declaration.tokens())
        if (const Symbol* target = symbols_.find(token.text); target != nullptr && target->kind == SymbolKind::function) call_to(i, target->declaration, token.text, returns, arguments);
}

void Verifier::call_to(const Instruction& i, const Statement& callee, std::string_view name, std::span<const Operand> returns, std::span<const Operand> arguments) {
    check_arguments(returns, callee.return_parameters(), "return value", i, name);
    check_arguments(arguments, callee.parameters(), "argument", i, name);
}

void Verifier::check_arguments(std::span<const Operand> given, const std::vector<Statement::Parameter>& formal, std::string_view what, const Instruction& i, std::string_view name) {
    if (given.size() != formal.size()) {
        const bool is_return = what == "return value";
        const std::string text = "'" + std::string(name) + "' has " + std::to_string(formal.size()) + " " + std::string(what) + (formal.size() == 1 ? "" : "s") + ", the call gives " + std::to_string(given.size());
        return report(is_return && given.empty() ? Errc::return_value_missing : Errc::call_mismatch, i.span, text);
    }
    for (std::size_t k = 0; k < given.size(); ++k) {
        const Operand& operand = given[k];
        if (operand.kind() != OperandKind::identifier) continue;
        const Symbol* symbol = symbols_.find(operand.text());
        if (symbol == nullptr) {
            report(Errc::name_undeclared, operand.span(), "'" + std::string(operand.text()) + "'");
            continue;
        }
        const std::uint64_t wanted = std::uint64_t{bytes_of(type_of(formal[k].type))} * std::max<std::uint64_t>(formal[k].count, 1);
        const std::uint64_t bytes = symbol->kind == SymbolKind::reg ? info(symbol->type).bits / 8u : symbol->bytes;
        if (symbol->kind != SymbolKind::reg && symbol->kind != SymbolKind::variable) {
            report(Errc::operand_kind_wrong, operand.span(), "'" + std::string(operand.text()) + "' is neither a register nor a .param variable");
        } else if (bytes != 0 && wanted != 0 && bytes != wanted && !formal[k].is_open) {
            report(Errc::call_mismatch, operand.span(), "'" + std::string(operand.text()) + "' has " + std::to_string(bytes) + " bytes, " + std::string(what) + " " + std::to_string(k + 1) + " of '" + std::string(name) + "' has " + std::to_string(wanted));
        }
    }
}

}  // namespace ptxgraft::isa
