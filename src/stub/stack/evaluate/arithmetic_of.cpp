// The arithmetic of an entry: what its form computes.

#include "stub/stack/evaluate/arithmetic_of.hpp"

#include <array>

namespace ptxgraft::stack {
namespace {

constexpr std::size_t most_words = 16;

/// `fma.rn.f32` as `fma` and its modifiers.
struct Spelling {
    std::string_view opcode;
    std::array<std::string_view, most_words> modifiers;
    std::size_t count = 0;

    explicit Spelling(std::string_view text) {
        std::size_t dot = text.find('.');
        opcode = text.substr(0, dot);
        while (dot != std::string_view::npos && count < most_words) {
            text.remove_prefix(dot);
            dot = text.find('.', 1);
            modifiers[count++] = text.substr(0, dot);
        }
    }
};

}  // namespace

std::optional<arithmetic::PureInstruction> arithmetic_of(const Entry& entry) {
    if (entry.form == nullptr || !entry.form->pure || is_move(entry)) return std::nullopt;
    const Spelling spelling(entry.form->spelling);
    std::size_t written = 0, inputs = 0, outputs = 0;
    for (const isa::OperandSpec& operand : entry.form->operands) {
        written += operand.is_second ? 0 : 1;
        (operand.is_output ? outputs : inputs) += operand.count;
    }
    const bool pair = written != entry.form->operands.size();
    auto found =
        arithmetic::find_pure(spelling.opcode, {spelling.modifiers.data(), spelling.count}, written, pair);
    const bool fits = found && found->inputs == inputs && found->outputs == outputs && !found->reads_carry &&
                      !found->writes_carry;
    return fits ? found : std::nullopt;
}

bool is_move(const Entry& entry) {
    return entry.form != nullptr && entry.form->pure && entry.form->spelling.starts_with("mov.");
}

}  // namespace ptxgraft::stack
