// The arithmetic of an entry: what its form computes.

#include "stub/stack/evaluate/arithmetic_of.hpp"

#include "stub/set/names.hpp"

namespace ptxgraft::stack {
std::optional<arithmetic::PureInstruction> arithmetic_of(const Entry& entry) {
    if (entry.form == nullptr || !entry.form->pure || is_move(entry)) return std::nullopt;
    const Spelling spelling(entry.form->spelling);
    std::size_t written = 0, inputs = 0, outputs = 0;
    for (const isa::OperandSpec& operand : entry.form->operands) {
        written += operand.is_second ? 0 : 1;
        (operand.is_output ? outputs : inputs) += operand.count;
    }
    const bool pair = written != entry.form->operands.size();
    auto found = arithmetic::find_pure(spelling.opcode, spelling.all(), written, pair);
    const bool fits = found && found->inputs == inputs && found->outputs == outputs && !found->reads_carry &&
                      !found->writes_carry;
    return fits ? found : std::nullopt;
}

bool is_move(const Entry& entry) {
    return entry.form != nullptr && entry.form->pure && entry.form->spelling.starts_with("mov.");
}

}  // namespace ptxgraft::stack
