// The arithmetic of an entry: what its form computes.

#include "stub/stack/evaluate/arithmetic_of.hpp"

#include <algorithm>
#include <array>

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

std::optional<std::uint64_t> fold_entry(const Entry& entry, std::span<const std::uint64_t> arguments) {
    const bool is_scalar_move = is_move(entry) && entry.form->operands.size() == 2 &&
                                !entry.form->operands[0].is_vector && !entry.form->operands[1].is_vector;
    if (is_scalar_move && arguments.size() == 1) return arguments[0];
    const auto found = arithmetic_of(entry);
    if (!found || found->outputs != 1 || found->open == arithmetic::Open::always ||
        arguments.size() != found->inputs)
        return std::nullopt;
    std::array<std::uint64_t, arithmetic::most_inputs> from{};
    std::ranges::copy(arguments, from.begin());
    std::array<std::uint64_t, arithmetic::most_outputs> to{};
    found->run(to.data(), from.data());
    if (found->leaves_open(to.data(), from.data())) return std::nullopt;
    return to[0];
}

bool is_move(const Entry& entry) {
    return entry.form != nullptr && entry.form->pure && entry.form->spelling.starts_with("mov.");
}

}  // namespace ptxgraft::stack
