#pragma once
// Dead-code elimination on a program itself, without a graph, for random programs of inputs, constants,
// assignments, and forms that read and write one stack, of which most are dead. Nothing in them is shared, so
// a value lies in one place of one stack from the instruction that pushes it to the one that pops it. One
// pass finds these places, and one back from the end finds what is live; one_pass.hpp then compiles what is
// left.
//
// What it buys beside the graph alone, in ns of an instruction: 9.8 instead of 24 in programs of 10, 2.3
// instead of 11 in those of 100, 1.6 instead of 10 in those of 300 (`build/stack_bench
// --benchmark_filter=StackCompileRandom/plain --benchmark_repetitions=9`). A program that holds anything else
// costs 1 to 9 % more for the attempt.

#include <cstddef>
#include <cstdint>
#include <span>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/one_pass.hpp"

namespace ptxgraft::stack {

/// Whether programs of this length may go this way under these options. Texts, whose mistakes are errors
/// (Missing::error), hold no dead code worth the passes.
[[nodiscard]] inline bool may_eliminate_dead_code(ProgramView program, const Machine::Data& machine,
                                                  const CompileOptions& options) {
    constexpr std::size_t most_instructions = 1u << 15;
    return options.missing == Missing::skip && !machine.plain_types.empty() && !options.fold &&
           !options.reuse && !options.hash && options.constants == Constants::literals &&
           program.code.size() <= most_instructions && program.code.size() <= options.limits.steps;
}

/// The live instructions of a program, each value that an operand receives followed by its assignment.
struct LiveCode {
    std::span<const Instruction> code;
    std::uint32_t skipped = 0, first_skipped = 0, leftover = 0;  ///< see Compiled
};

/// Bytes of arena for it, and for compiling what is left in one pass.
[[nodiscard]] std::size_t live_code_bytes(std::size_t instructions, const Machine::Data& machine);

/// False: the program holds something else, or something in it is an error.
[[nodiscard]] bool eliminate_dead_code(LiveCode& live, std::span<const Instruction> code,
                                       const Machine::Data& machine, const CompileOptions& options,
                                       Arena& arena);

}  // namespace ptxgraft::stack
