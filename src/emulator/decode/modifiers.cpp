// What the modifiers of an instruction say, and its operands by name. That they go together, isa has found.
#include <algorithm>
#include <array>

#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {

using syntax::Instruction;

std::string_view one_of(const Instruction& instruction, std::initializer_list<std::string_view> words) {
    const auto found = std::ranges::find_first_of(instruction.modifiers, words);
    return found == instruction.modifiers.end() ? std::string_view() : *found;
}

std::string_view type_of(const Instruction& instruction) {
    const auto& words = instruction.modifiers;
    const auto found = std::find_if(words.rbegin(), words.rend(),
                                    [](std::string_view word) { return type_bits(word) != 0; });
    return found == words.rend() ? std::string_view() : *found;
}

Space space_of(const Instruction& instruction) {
    for (const std::string_view word : instruction.modifiers)
        if (const Space space = syntax::space_of(word); space != Space::generic) return space;
    return Space::generic;
}

Semantics semantics_of(const Instruction& instruction, Semantics none) {
    constexpr std::pair<std::string_view, Semantics> words[] = {{".volatile", Semantics::relaxed},
                                                                {".relaxed", Semantics::relaxed},
                                                                {".acquire", Semantics::acquire},
                                                                {".release", Semantics::release},
                                                                {".acq_rel", Semantics::acq_rel}};
    const auto* const found =
        std::ranges::find_if(words, [&](const auto& row) { return instruction.has(row.first); });
    return found == std::end(words) ? none : found->second;
}

Reach reach_of(const Instruction& instruction) {
    return instruction.has(".cta") ? Reach::cta : Reach::cluster;
}

Fence fence_of(const Instruction& instruction) {
    return {.semantics = semantics_of(instruction, Semantics::acq_rel), .reach = reach_of(instruction)};
}

std::uint8_t vector_of(const Instruction& instruction) {
    const std::string_view word = one_of(instruction, {".v2", ".v4", ".v8"});
    return word.empty() ? std::uint8_t{1} : static_cast<std::uint8_t>(word[2] - '0');
}

bool take_negation(syntax::Operand& operand) {
    if (operand.kind() != syntax::OperandKind::negation) return false;
    operand = syntax::Operand(operand.children().front());
    return true;
}

const syntax::Operand* MatchedInstruction::operand(std::string_view name) const {
    const isa::ActiveRules rules(*match, match->row->operands, operands.size());
    for (std::size_t i = 0; i < rules.size(); ++i)
        if (rules[i].name == name) return &operands[i];
    return nullptr;
}

}  // namespace ptxgraft::emulator
