#pragma once
// Executes a program symbolically: its dataflow as a graph, and what of it is live.

#include <bit>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/bound.hpp"
#include "stub/stack/compile/graph.hpp"
#include "stub/stack/compile/machine.hpp"

namespace ptxgraft::stack {

inline constexpr std::uint64_t header_room = 320;

/// A cell of a type, and what `store` put there.
struct Cell {
    std::uint32_t key;  ///< type and number
    NodeId node;
};

/// What is left to do for an assigned slot once the values are computed.
enum class Move : std::uint8_t { done, from_operand, from_value };
struct SlotMove {
    Move move;
    std::uint32_t readers;  ///< operand moves that still have to read it
};

/// Words for the states that open `if`s keep aside: the one at its begin, and that of its first arm.
inline std::uint64_t saved_words(const Bound& bound, const Machine::Data& machine) {
    const std::uint64_t state =
        3 * bound.values + machine.code->type_count + machine.slots.size() + 8;  // stacks, and pairs of cells
    return 2 * bound.if_depth * state + 1;
}
inline std::uint64_t match_bytes(ProgramView program) {
    std::uint64_t bytes = Arena::bytes<std::uint32_t>(program.code.size() + 1);
    for (const Routine& r : program.routines) bytes += Arena::bytes<std::uint32_t>(r.code.size() + 1);
    return bytes;
}
inline std::uint64_t reuse_slots(std::uint64_t nodes) { return std::bit_ceil(2 * nodes + 16); }

/// The graph and what emit needs beside it.
struct Dataflow {
    Graph graph;
    Name* names = nullptr;           ///< room for one per node: of a constant its literal
    const Name** name_of = nullptr;  ///< by node: how it is written as an argument
    NodeId* live = nullptr;          ///< the nodes that are emitted, last first
    std::uint32_t live_count = 0;
    NodeId* values = nullptr;  ///< by slot: the node assigned to it, or no_node
    std::uint32_t skipped = 0, first_skipped = 0, leftover = 0, effects = 0;
    std::uint64_t text_bound = 0;
    std::uint64_t* constants = nullptr;  ///< room for those that are data; null where they are literals
    std::uint32_t constant_count = 0;
};

/// What is wrong with an instruction, and where it stands: in a routine, or in the program itself.
struct Fault {
    static constexpr std::uint32_t program = 0xFFFFFFFFu;
    Error error;
    std::uint32_t routine = program;
    std::uint32_t at = 0;  ///< its place there; behind the last one: what the routine leaves is wrong
};

/// For messages: all instructions that do nothing with Missing::skip, or else the one that is the error, each
/// once, in the order of execution.
[[nodiscard]] std::vector<Fault> find_faults(ProgramView program, const Machine& machine,
                                             const CompileOptions& options);

/// Runs and marks. Takes its memory from `arena`, which has room for `bound`.
[[nodiscard]] Expected<Dataflow> run(ProgramView program, const Machine::Data& machine, const Bound& bound,
                                     const CompileOptions& options, Arena& arena);

/// For a `repeat` its `end`; for an `if` its `else` or `end`, for an `else` its `end`; for those and for an
/// `end` without a partner no_match. Other places of `matches` are left as they are.
inline constexpr std::uint32_t no_match = 0xFFFFFFFFu;
void match_brackets(std::span<const Instruction> code, std::uint32_t* matches);

/// Writes the PTX of a graph and its assignments, and counts the instructions.
[[nodiscard]] std::string_view emit(Dataflow& flow, const Machine::Data& machine, Arena& arena,
                                    std::uint32_t& instruction_count);

/// For tests and benches: `compile` by way of the graph alone, whatever the program.
[[nodiscard]] Expected<Compiled> compile_by_graph(ProgramView program, const Machine& machine,
                                                  std::span<std::byte> arena, const CompileOptions& options);

/// Whether an input takes a constant as a literal.
[[nodiscard]] bool takes_literal(const InputCode& input, const Node& constant);

/// The bytes of a constant's place in a bank, and what a load of it begins with.
inline constexpr std::uint32_t constant_bytes = 8;
inline constexpr std::string_view constant_place = "[ptxgraft_constants+";
/// Of the load of any node.
inline constexpr std::uint64_t constant_load_text = 48;

/// Whether a constant may stand in a bank: a pred has no memory.
[[nodiscard]] inline bool may_be_data(const Node& constant, const SetCode& code) {
    return code.classes[constant.type] != RegisterClass::p;
}

/// Of more than most_data_constants.
[[nodiscard]] tl::unexpected<Error> too_many_constants(std::uint32_t count);

/// The hashes of the live part, see dataflow_hash.
struct Hashes {
    std::uint64_t whole;
    DataflowParts parts;
};
[[nodiscard]] Hashes hashes_of(const Dataflow& flow, const Machine::Data& machine, Arena& arena);
[[nodiscard]] DataflowParts parts_of(const Dataflow& flow, const Machine::Data& machine, Arena& arena);

}  // namespace ptxgraft::stack
