#include "stub/stack/forest.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptxgraft::stack {
namespace {

constexpr std::size_t most_instructions = 1u << 24;
// `\top d, a, b, c;\n`; of a slot the moves of a parallel copy, one of them to break a cycle.
constexpr std::uint64_t instruction_text = EntryCode::text_room + 4 * sizeof(Name) + 2, slot_text = 128;

std::uint32_t sign(std::uint32_t n) { return static_cast<std::uint32_t>(static_cast<std::int32_t>(n) >> 31); }

class Planner {
  public:
    Planner(Forest& forest, const Machine::Data& machine, const CompileOptions& options)
        : forest_(forest), machine_(machine), options_(options), steps_(forest.steps), readers_(forest.readers),
          first_operand_place_(1), slots_(static_cast<std::uint32_t>(machine.slots.size())) {
        set_up(stacks_, machine, forest.code.size());
        readers_[0] = 0;
        for (std::uint32_t s = 0; s < slots_; ++s) {
            readers_[first_operand_place_ + s] = 0;
            forest.received[s] = {Receives::nothing, 0};
            forest.last_reads[s + 1] = 0;
        }
        forest.last_reads[0] = 0;
    }

    bool plan() {
        if (!(machine_.plain_types.size() == 1 ? place_all<true>() : place_all<false>()) || !take_requests()) return false;
        if (forest_.skipped != 0 && options_.missing == Missing::error) return false;
        for (const TypeId t : machine_.plain_types) forest_.leftover += stacks_[t].top - stacks_[t].bottom;
        if (forest_.leftover != 0 && options_.leftover == Leftover::error) return false;
        find_live();
        if (forest_.skipped != 0) forest_.first_skipped = first_skipped();
        return true;
    }

  private:
    template <bool has_one_stack>
    bool place_all();
    bool assign(const Instruction& i, std::uint32_t at);
    bool take_requests();
    void find_live();

    [[nodiscard]] std::uint32_t first_skipped() const {
        std::uint32_t at = 0;
        while (steps_[at].place != 0) ++at;
        return at;
    }

    Forest& forest_;
    const Machine::Data& machine_;
    const CompileOptions& options_;
    Step* const steps_;
    std::uint32_t* const readers_;
    const std::uint32_t first_operand_place_, slots_;
    std::uint32_t wanted_ = 0;  // values that are read and not found yet
    PlaceStacks stacks_;
};

// The place of each instruction's result. What comes next in a random program cannot be guessed, so that no branch depends on it; where there is
// but one stack, its depth stays in a register.
template <bool has_one_stack>
bool Planner::place_all() {
    const Instruction* const code = forest_.code.data();
    const auto size = static_cast<std::uint32_t>(forest_.code.size());
    Step* const steps = steps_;
    std::uint32_t* const readers = readers_;
    const std::array<PlainTable, plain_opcodes> tables = machine_.plain;
    PlaceStack* const stacks = stacks_.data();
    const std::uint32_t only = machine_.plain_types[0], bottom = stacks[only].bottom;
    std::uint32_t depth = 0, skipped = 0;
    if (has_one_stack) std::fill_n(readers + bottom, size + place_slack, 0u);
    for (std::uint32_t at = 0; at < size; ++at) {
        std::uint64_t word;
        std::memcpy(&word, code + at, sizeof word);
        if ((word & 0xFF) >= plain_opcodes) {
            if (has_one_stack) stacks[only].top = bottom + depth;
            if (code[at].opcode != Opcode::assign || !assign(code[at], at)) return false;
            depth = stacks[only].top - bottom;
            continue;
        }
        const PlainCode what = plain_of(word, tables.data());
        if (what == plain_never) return false;
        const std::uint32_t inputs = plain_inputs(what);
        if (has_one_stack) {
            const std::uint32_t below = depth - inputs, missing = sign(below | static_cast<std::uint32_t>(what));
            steps[at] = {(below + bottom) & ~missing, what};
            depth = below + 1 + ((inputs - 1) & missing);
            skipped -= missing;
        } else {
            PlaceStack& stack = stacks[plain_type(what)];
            const std::uint32_t place = stack.top - inputs, missing = sign((place - stack.bottom) | static_cast<std::uint32_t>(what));
            steps[at] = {place & ~missing, what};
            readers[place & ~missing] = 0;
            stack.top = place + 1 + ((inputs - 1) & missing);
            skipped -= missing;
        }
    }
    if (has_one_stack) stacks[only].top = bottom + depth;
    forest_.skipped = skipped;
    return true;
}

bool Planner::assign(const Instruction& i, std::uint32_t at) {
    if (i.index >= machine_.operands.size()) return false;
    const OperandCode& operand = machine_.operands[i.index];
    if (i.payload >= operand.count) return false;
    const std::uint32_t slot = operand.first + i.payload;
    PlaceStack& stack = stacks_[operand.type];
    if (machine_.slots[slot].direction == Direction::in || stack.top == stack.bottom) return false;
    Receives& received = forest_.received[slot];
    if (received.kind != Receives::nothing) {
        if (options_.missing == Missing::error) return false;
    } else {
        ++wanted_;
    }
    received = {Receives::value, --stack.top};
    steps_[at] = {first_operand_place_ + slot, 0};
    readers_[first_operand_place_ + slot] = assigned_to | slot;  // the last one counts
    return true;
}

// As Runner::take_requests and finish, run.cpp.
bool Planner::take_requests() {
    for (std::uint32_t slot = slots_; slot-- > 0;) {
        const Slot& s = machine_.slots[slot];
        Receives& received = forest_.received[slot];
        if (s.direction == Direction::in || received.kind != Receives::nothing) continue;
        PlaceStack& stack = stacks_[s.type];
        const bool takes_top = options_.requests == Requests::top;
        if (takes_top && stack.top != stack.bottom) {
            received = {Receives::value, --stack.top};
            readers_[stack.top] = assigned_to | slot;
            ++wanted_;
            continue;
        }
        if (options_.empty == Empty::error && (takes_top || s.direction == Direction::out)) return false;
        if (s.direction == Direction::out || (takes_top && options_.empty == Empty::zero)) received.kind = Receives::zero;
    }
    return true;
}

using Four [[gnu::vector_size(16)]] = std::uint32_t;
constexpr Four reads[most_plain_inputs + 1] = {{}, {~0u}, {~0u, ~0u}, {~0u, ~0u, ~0u}};  // by count of inputs

// Back from the end, as far as values are wanted. What reads a value is noted in its place.
void Planner::find_live() {
    const Step* const steps = steps_;
    std::uint32_t* const readers = readers_;
    std::uint32_t* const last_reads = forest_.last_reads;
    LiveStep* live = forest_.live;
    std::uint32_t wanted = wanted_;
    for (std::uint32_t at = static_cast<std::uint32_t>(forest_.code.size()); wanted != 0;) {
        const auto [place, what] = steps[--at];
        const std::uint32_t reader = readers[place];
        if (reader == 0) continue;
        const std::uint32_t inputs = plain_inputs(what);
        if (inputs == 0) {
            readers[place] = 0;
            if (place <= slots_) {  // an assignment
                readers[forest_.received[place - 1].place] = reader;
                continue;
            }
            std::uint32_t& last_read = last_reads[plain_slot(what)];  // the first is nobody's
            last_read = std::max(last_read, reader);
        } else {
            // as one block: a branch for each would be guessed wrong
            const Four me = {at + 1, at + 1, at + 1, at + 1}, all = me & reads[inputs];
            std::memcpy(readers + place, &all, sizeof all);
        }
        wanted += inputs - 1;
        *live++ = {at, reader};
    }
    forest_.live_count = static_cast<std::uint32_t>(live - forest_.live);
}

}  // namespace

std::uint64_t place_count(std::uint64_t instructions, const Machine::Data& machine) {
    return 1 + machine.slots.size() + machine.plain_types.size() * (instructions + place_slack) + place_slack;
}

bool may_be_forest(ProgramView program, const Machine::Data& machine, const CompileOptions& options) {
    return !machine.plain_types.empty() && !options.fold && !options.reuse && !options.hash && program.code.size() <= most_instructions &&
           program.code.size() <= options.limits.steps;
}

std::size_t forest_bytes(std::size_t instructions, const Machine::Data& machine) {
    const std::uint64_t places = place_count(instructions, machine), slots = machine.slots.size(), nodes = 2 * slots;
    std::uint64_t bytes = Arena::bytes<Step>(instructions + 1) + Arena::bytes<LiveStep>(instructions + 1) + Arena::bytes<std::uint32_t>(places) + Arena::bytes<Name>(places);
    bytes += 2 * Arena::bytes<std::uint32_t>(slots + 1) + Arena::bytes<Receives>(slots + 1);
    bytes += Arena::bytes<Node>(nodes) + Arena::bytes<Name>(nodes) + Arena::bytes<const Name*>(nodes);
    bytes += Arena::bytes<NodeId>(slots + 1) + Arena::bytes<Assignment>(slots + 1) + Arena::bytes<SlotMove>(slots + 1);
    return bytes + header_room + instruction_text * (instructions + 1) + slot_text * slots + 256;
}

bool plan(Forest& forest, ProgramView program, const Machine::Data& machine, const CompileOptions& options, Arena& arena) {
    const std::size_t size = program.code.size();
    const std::uint64_t places = place_count(size, machine);
    forest.code = program.code;
    forest.steps = arena.take<Step>(size + 1);
    forest.live = arena.take<LiveStep>(size + 1);
    forest.readers = arena.take<std::uint32_t>(places);
    forest.names = arena.take<Name>(places);
    forest.last_reads = arena.take<std::uint32_t>(machine.slots.size() + 1);
    forest.received = arena.take<Receives>(machine.slots.size() + 1);
    forest.assignments = arena.take<Assignment>(machine.slots.size() + 1);
    return Planner(forest, machine, options).plan();
}

}  // namespace ptxgraft::stack
