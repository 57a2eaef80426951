#pragma once
// The short way through compile, for the programs that a search makes most: inputs, constants, assignments,
// and forms that read and write one stack. Nothing in them is shared, so their dataflow is a forest that
// stands in the program itself: a value lies in one place of one stack from the instruction that pushes it to
// the one that pops it. One pass finds these places, one back from the end finds what is live, and the live
// instructions are emitted in order on stacks of names. No graph is made. Whatever else a program holds,
// `plan` says no, and the long way (run.cpp) compiles it to the same text.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/stack.hpp"
#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {

/// A place of a stack, and what an instruction is. Places of all stacks count from one; place 0 is nobody's,
/// and one for each slot follows it.
struct PlacedCode {
    std::uint32_t place;
    PlainCode code;
};

/// Who reads a value: an instruction (its place in the program, plus one), or the slot that it is assigned
/// to.
inline constexpr std::uint32_t assigned_to = 1u << 31;

struct LiveStep {
    std::uint32_t at, reader;
};

/// What a slot receives.
struct Receives {
    enum Kind : std::uint32_t { nothing, value, zero } kind;
    std::uint32_t place;  ///< of the value
};

struct Forest {
    std::span<const Instruction> code;
    PlacedCode* steps = nullptr;
    LiveStep* live = nullptr;  ///< last first
    std::uint32_t live_count = 0;
    std::uint32_t* readers = nullptr;     ///< by place, while `plan` goes back; 0: nobody
    Name* names = nullptr;                ///< by place, while the text is written
    std::uint32_t* last_reads = nullptr;  ///< by slot, plus one: the last that reads its operand; 0: nobody
    Receives* received = nullptr;         ///< by slot
    Assignment* assignments = nullptr;    ///< room for one per slot
    std::uint32_t skipped = 0, first_skipped = 0, leftover = 0;
    bool has_zeros = false;  ///< a slot receives zero
};

/// Whether programs of this length may go the short way under these options.
[[nodiscard]] inline bool may_be_forest(ProgramView program, const Machine::Data& machine,
                                        const CompileOptions& options) {
    constexpr std::size_t most_instructions = 1u << 24;
    return !machine.plain_types.empty() && !options.fold && !options.reuse && !options.hash &&
           program.code.size() <= most_instructions && program.code.size() <= options.limits.steps;
}

inline constexpr std::uint32_t place_slack = 4;  ///< an instruction looks at four places, whatever it reads
[[nodiscard]] inline std::uint64_t place_count(std::uint64_t instructions, const Machine::Data& machine) {
    return 1 + machine.slots.size() + machine.plain_types.size() * (instructions + place_slack) + place_slack;
}

/// Bytes of arena for it.
[[nodiscard]] inline std::size_t forest_bytes(std::size_t instructions, const Machine::Data& machine) {
    // `\top d, a, b, c;\n`; of a slot the moves of a parallel copy, one of them to break a cycle
    constexpr std::uint64_t instruction_text = EntryCode::text_room + 4 * sizeof(Name) + 2, slot_text = 128;
    const std::uint64_t places = place_count(instructions, machine), slots = machine.slots.size(),
                        nodes = 2 * slots;
    std::uint64_t bytes = Arena::bytes<PlacedCode>(instructions + 1) +
                          Arena::bytes<LiveStep>(instructions + 1) + Arena::bytes<std::uint32_t>(places) +
                          Arena::bytes<Name>(places);
    bytes += 2 * Arena::bytes<std::uint32_t>(slots + 1) + Arena::bytes<Receives>(slots + 1);
    bytes += Arena::bytes<Node>(nodes) + Arena::bytes<Name>(nodes) + Arena::bytes<const Name*>(nodes);
    bytes += Arena::bytes<NodeId>(slots + 1) + Arena::bytes<Assignment>(slots + 1) +
             Arena::bytes<SlotMove>(slots + 1);
    return bytes + header_room + instruction_text * (instructions + 1) + slot_text * slots + 256;
}

/// False: it is none, or something in it is an error.
[[nodiscard]] bool plan(Forest& forest, ProgramView program, const Machine::Data& machine,
                        const CompileOptions& options, Arena& arena);

/// Writes its PTX, and counts the instructions (emit.cpp).
[[nodiscard]] std::string_view emit(const Forest& forest, const Machine::Data& machine, Arena& arena,
                                    std::uint32_t& instruction_count);

}  // namespace ptxgraft::stack
