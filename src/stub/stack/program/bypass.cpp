// An instruction by one of its operands: the others are dropped from their stacks.

#include "stub/stack/program/bypass.hpp"

#include <algorithm>

#include "ptxgraft/program.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {
namespace {

std::vector<Instruction> drops_of_other_types(const SetCode& code, const EntryCode& entry) {
    std::vector<Instruction> words;
    for (const InputCode& input : code.inputs_of(entry))
        if (!input.is_immediate && input.stack != entry.type)
            words.push_back({Opcode::drop, input.stack, 0, 0});
    return words;
}

std::size_t count_of_its_type(const SetCode& code, const EntryCode& entry) {
    return static_cast<std::size_t>(std::ranges::count_if(code.inputs_of(entry), [&](const InputCode& input) {
        return !input.is_immediate && input.stack == entry.type;
    }));
}

}  // namespace

std::size_t operands_of_its_type(const SetCode& code, const EntryCode& entry) {
    return entry.outputs != 1 || entry.has_effect ? 0 : count_of_its_type(code, entry);
}

std::vector<Instruction> words_that_keep(const SetCode& code, const EntryCode& entry, std::size_t behind) {
    std::vector<Instruction> words = drops_of_other_types(code, entry);
    words.insert(words.end(), behind, {Opcode::drop, entry.type, 0, 0});
    for (std::size_t k = behind + 1; k < count_of_its_type(code, entry); ++k) {
        words.push_back({Opcode::swap, entry.type, 0, 0});
        words.push_back({Opcode::drop, entry.type, 0, 0});
    }
    return words;
}

std::vector<Instruction> words_that_drop(const SetCode& code, const EntryCode& entry) {
    std::vector<Instruction> words = drops_of_other_types(code, entry);
    words.insert(words.end(), count_of_its_type(code, entry), {Opcode::drop, entry.type, 0, 0});
    return words;
}

bool bypass(Program& program, const Machine& machine, std::size_t at, std::uint32_t operand) {
    const SetCode& code = *MachineData::of(machine).code;
    if (at >= program.code.size()) return false;
    const Instruction old = program.code[at];
    if (old.opcode != Opcode::form || old.index >= code.entries.size()) return false;
    const EntryCode& entry = code.entries[old.index];
    const std::size_t count = operands_of_its_type(code, entry);
    if (count == 0) return false;
    const std::vector<Instruction> words = words_that_keep(code, entry, operand % count);
    const auto place = program.code.begin() + static_cast<std::ptrdiff_t>(at);
    program.code.insert(program.code.erase(place), words.begin(), words.end());
    return true;
}

}  // namespace ptxgraft::stack
