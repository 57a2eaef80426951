#pragma once
// The short way through compile, for the programs that a search makes most: inputs, constants, assignments, and forms that read and write one
// stack. Nothing in them is shared, so their dataflow is a forest that stands in the program itself: a value lies in one place of one stack
// from the instruction that pushes it to the one that pops it. One pass finds these places, one back from the end finds what is live, and
// the live instructions are emitted in order on stacks of names. No graph is made. Whatever else a program holds, `plan` says no, and the long
// way (run.cpp) compiles it to the same text.

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "ptxgraft/stack.hpp"
#include "stub/stack/arena.hpp"
#include "stub/stack/machine.hpp"
#include "stub/stack/run.hpp"

namespace ptxgraft::stack {

/// A place of a stack, and what an instruction is. Places of all stacks count from one; place 0 is nobody's, and one for each slot follows it.
struct Step {
    std::uint32_t place;
    PlainCode code;
};

/// Who reads a value: an instruction (its place in the program, plus one), or the slot that it is assigned to.
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
    Step* steps = nullptr;
    LiveStep* live = nullptr;  ///< last first
    std::uint32_t live_count = 0;
    std::uint32_t* readers = nullptr;    ///< by place, while `plan` goes back; 0: nobody
    Name* names = nullptr;               ///< by place, while the text is written
    std::uint32_t* last_reads = nullptr; ///< by slot, plus one: the last that reads its operand; 0: nobody
    Receives* received = nullptr;        ///< by slot
    Assignment* assignments = nullptr;   ///< room for one per slot
    std::uint32_t skipped = 0, first_skipped = 0, leftover = 0;
};

/// Whether programs of this length may go the short way under these options.
[[nodiscard]] bool may_be_forest(ProgramView program, const Machine::Data& machine, const CompileOptions& options);

/// Bytes of arena for it.
[[nodiscard]] std::size_t forest_bytes(std::size_t instructions, const Machine::Data& machine);

/// False: it is none, or something in it is an error.
[[nodiscard]] bool plan(Forest& forest, ProgramView program, const Machine::Data& machine, const CompileOptions& options, Arena& arena);

/// The instruction's entry in its table, found without a branch.
inline PlainCode plain_of(std::uint64_t word, const PlainTable* tables) {
    const PlainTable& table = tables[word & 0xFF];
    return table.codes[std::min(word >> table.shift & table.mask, table.count)];
}

/// A stack of places: where the next value goes, and where the first one stands.
struct PlaceStack {
    std::uint32_t top, bottom;
};
using PlaceStacks = std::array<PlaceStack, max_types>;
inline constexpr std::uint32_t place_slack = 4;  ///< an instruction looks at four places, whatever it reads

inline void set_up(PlaceStacks& stacks, const Machine::Data& machine, std::size_t instructions) {
    std::fill_n(stacks.begin(), machine.code->type_count, PlaceStack{0, 0});
    std::uint32_t place = 1 + static_cast<std::uint32_t>(machine.slots.size());
    for (const TypeId t : machine.plain_types) stacks[t] = {place, place}, place += static_cast<std::uint32_t>(instructions) + place_slack;
}
[[nodiscard]] std::uint64_t place_count(std::uint64_t instructions, const Machine::Data& machine);

/// Writes its PTX, and counts the instructions (emit.cpp).
[[nodiscard]] std::string_view emit(const Forest& forest, const Machine::Data& machine, Arena& arena, std::uint32_t& instruction_count);

}  // namespace ptxgraft::stack
