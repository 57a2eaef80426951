#pragma once
// The shortest way through compile, for programs of text and expressions: on the guess that all of a program
// is live and every value is assigned where it is computed, its instructions are written as they are
// executed, on stacks of names. Whatever else it holds, the guess is given up, and another way (forest.hpp,
// run.hpp) compiles it to the same text.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {

/// Whether programs of this length may go this way under these options.
[[nodiscard]] inline bool may_be_one_pass(ProgramView program, const Machine::Data& machine,
                                          const CompileOptions& options) {
    // more stacks than are used have room for so many names
    constexpr std::size_t most_instructions = 1u << 16;
    return options.missing == Missing::error && !options.fold && !options.reuse && !options.hash &&
           machine.has_short_names && program.code.size() <= most_instructions &&
           program.code.size() <= options.limits.steps;
}

/// What the way knows of a slot: places in the program, plus one, of the last instruction that pushed its
/// operand, and of the one that computed the value that it receives.
struct SlotUse {
    std::uint32_t last_input, computed;
};

/// Places of each stack.
[[nodiscard]] constexpr std::uint64_t one_pass_room(std::uint64_t instructions) {
    constexpr std::uint64_t slack = 4;  // an instruction looks at four, whatever it reads
    return instructions + slack;
}

/// Bytes of arena for it.
[[nodiscard]] inline std::size_t one_pass_bytes(std::size_t instructions, const Machine::Data& machine) {
    // `\top d, a, b, c, e;\n` or the move of a special register
    constexpr std::uint64_t instruction_text = EntryCode::text_room + 5 * sizeof(Name) + 2;
    return Arena::bytes<SlotUse>(machine.slots.size()) +
           Arena::bytes<Name>(machine.code->type_count * one_pass_room(instructions)) + header_room +
           instruction_text * (instructions + 1) + 256;
}

/// False where the guess was wrong, or something is an error; `result` means nothing then.
[[nodiscard]] bool compile_in_one_pass(std::span<const Instruction> code, const Machine::Data& machine,
                                       const CompileOptions& options, Arena& arena, Compiled& result);

}  // namespace ptxgraft::stack
