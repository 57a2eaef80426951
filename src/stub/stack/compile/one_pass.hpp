#pragma once
// The one fast way through compile, beside the graph (run.hpp): it speculates that every instruction of a
// program is live and that every value is assigned where it is computed, and writes each instruction as it
// executes it, on stacks of register names. Where the speculation fails it gives up, and the graph gives the
// same text. Texts and expressions go this way as they are, random programs once their dead code is gone
// (dead_code.hpp).
//
// What it buys beside the graph alone, in ns of an instruction, of 100 that are all live: 7.5 instead of 36
// with arithmetic of one type, 9.6 instead of 31 with shared values and several types; in the whole of a
// text's way to a stub about a third (`build/stack_bench --benchmark_filter=StackCompile/
// --benchmark_repetitions=9`).

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {

/// Whether programs of this length may be compiled in one pass under these options.
[[nodiscard]] inline bool may_be_one_pass(ProgramView program, const Machine::Data& machine,
                                          const CompileOptions& options) {
    // more stacks than are used have room for so many names
    constexpr std::size_t most_instructions = 1u << 16;
    return options.missing == Missing::error && !options.fold && !options.reuse && !options.hash &&
           options.constants == Constants::literals && machine.has_short_names &&
           program.code.size() <= most_instructions && program.code.size() <= options.limits.steps;
}

/// The live range of a slot, as places in the program plus one: of the last instruction that pushed its
/// operand, and of the one that computed the value that it receives. 0: none.
struct SlotUse {
    std::uint32_t last_input, computed;
};

/// How many names each stack has room for.
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

/// False where the speculation fails, or something is an error; `result` means nothing then.
[[nodiscard]] bool compile_in_one_pass(std::span<const Instruction> code, const Machine::Data& machine,
                                       const CompileOptions& options, Arena& arena, Compiled& result);

}  // namespace ptxgraft::stack
