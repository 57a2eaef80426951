// What instructions do with their operands, for whoever follows registers.

#include <algorithm>

#include "isa/operands.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::isa {

using syntax::Access;
using syntax::Instruction;
using syntax::Operand;
using syntax::OperandKind;

namespace {

// As far as it shows without declarations: rows of one name differ in where addresses stand.
bool may_be(const OperandRule& rule, const Operand& operand) {
    const bool wants_address = rule.kind == RuleKind::address, wants_list = rule.kind == RuleKind::list;
    const bool is_element =
        wants_address && operand.kind() == OperandKind::element && rule.children.front().takes_element;
    const bool is_address = operand.kind() == OperandKind::address || is_element,
               is_list = operand.kind() == OperandKind::list;
    const bool is_loose = wants_address && rule.children.front().is_loose;
    return (is_address == wants_address || is_loose) && is_list == wants_list;
}

bool may_be(const ActiveRules& rules, const std::vector<Operand>& operands) {
    if (rules.size() != operands.size()) return false;
    for (std::size_t i = 0; i < operands.size(); ++i)
        if (!may_be(rules[i], operands[i])) return false;
    return true;
}

Access access(const OperandRule& rule) {
    const bool is_group = rule.kind == RuleKind::pair || rule.kind == RuleKind::list;
    if (is_group && !rule.children.empty()) return access(rule.children.front());
    const bool is_output =
        rule.is_output && rule.kind != RuleKind::address && rule.kind != RuleKind::prototype;
    if (!is_output) return Access::read;
    return rule.is_inout ? Access::read_write : Access::write;
}

}  // namespace

Access access(const Instruction& instruction, std::size_t operand) {
    for (const Match& match : match_name(instruction.opcode, instruction.modifiers).matches) {
        const ActiveRules rules(match, match.row->operands, instruction.operands.size());
        if (operand < rules.size() && may_be(rules, instruction.operands)) return access(rules[operand]);
    }
    return syntax::usual_access(instruction, operand);
}

}  // namespace ptxgraft::isa
