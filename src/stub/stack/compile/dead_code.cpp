// The place of each value on its stack, and liveness back from the end.

#include "stub/stack/compile/dead_code.hpp"

#include <array>
#include <cstring>

namespace ptxgraft::stack {
namespace {

// A place of a stack, and what an instruction is. Places of all stacks count from one; place 0 is nobody's,
// and one for each slot follows it: where assignments stand.
struct PlacedCode {
    std::uint32_t place;
    PlainCode code;
};

constexpr std::uint32_t place_slack = 4;  // an instruction writes four places, whatever it reads
constexpr std::uint32_t first_slot_place = 1;

std::uint64_t place_count(std::uint64_t instructions, const Machine::Data& machine) {
    return first_slot_place + machine.slots.size() +
           machine.plain_types.size() * (instructions + place_slack) + place_slack;
}

// Each instruction, and for each slot a zero and its assignment, or the assignment of what it pops at the
// end.
std::uint64_t most_live(std::uint64_t instructions, const Machine::Data& machine) {
    return instructions + 2 * machine.slots.size();
}

// Who reads the value in a place: an instruction, or the slot that it is assigned to.
constexpr std::uint32_t dead = 0, read = 1, assigned_to = 1u << 31;

// A stack of places: where the next value goes, and where the first one stands.
struct PlaceStack {
    std::uint32_t top, bottom;
};

class DeadCode {
  public:
    DeadCode(LiveCode& live, std::span<const Instruction> code, const Machine::Data& machine,
             const CompileOptions& options, Arena& arena)
        : live_(live),
          code_(code),
          machine_(machine),
          options_(options),
          slots_(static_cast<std::uint32_t>(machine.slots.size())),
          steps_(arena.take<PlacedCode>(code.size() + 1)),
          readers_(arena.take<std::uint32_t>(place_count(code.size(), machine))),
          received_(arena.take<std::uint32_t>(slots_ + 1)) {
        Instruction* const first = arena.take<Instruction>(most_live(code.size(), machine));
        end_ = begin_ = first + most_live(code.size(), machine);
        std::uint32_t place = first_slot_place + slots_;
        std::memset(stacks_.data(), 0, machine.code->type_count * sizeof(PlaceStack));
        for (const TypeId t : machine.plain_types)
            stacks_[t] = {place, place}, place += static_cast<std::uint32_t>(code.size()) + place_slack;
        std::memset(received_, 0, slots_ * sizeof(std::uint32_t));
    }

    bool eliminate() {
        if (!(machine_.plain_types.size() == 1 ? place_all<true>() : place_all<false>()) || !take_requests())
            return false;
        for (const TypeId t : machine_.plain_types) live_.leftover += stacks_[t].top - stacks_[t].bottom;
        if (live_.leftover != 0 && options_.leftover == Leftover::error) return false;
        find_live();
        live_.code = {begin_, end_};
        while (live_.skipped != 0 && steps_[live_.first_skipped].place != 0) ++live_.first_skipped;
        return true;
    }

  private:
    template <bool has_one_stack> bool place_all();
    bool assign(std::uint32_t at);
    bool take_requests();
    void find_live();

    [[nodiscard]] Instruction assignment(std::uint32_t slot) const {
        const Slot& s = machine_.slots[slot];
        return {Opcode::assign, 0, static_cast<std::uint16_t>(s.operand), s.element};
    }

    LiveCode& live_;
    const std::span<const Instruction> code_;
    const Machine::Data& machine_;
    const CompileOptions& options_;
    const std::uint32_t slots_;
    PlacedCode* const steps_;
    std::uint32_t* const readers_;   // by place
    std::uint32_t* const received_;  // by slot: the place of its value; 0: none
    const Instruction* end_;
    Instruction* begin_;        // the live code grows to the front
    std::uint32_t wanted_ = 0;  // values that are read and not found yet
    std::array<PlaceStack, max_types> stacks_;
};

// Finds the place of each instruction's result. No branch depends on what comes next, as in a random program
// that cannot be predicted; where there is but one stack, its depth stays in a register.
template <bool has_one_stack> bool DeadCode::place_all() {
    const Instruction* const code = code_.data();
    const std::size_t size = code_.size();
    PlacedCode* const steps = steps_;
    std::uint32_t* const readers = readers_;
    const PlainTables& tables = machine_.plain;
    PlaceStack* const stacks = stacks_.data();
    const std::uint32_t only = machine_.plain_types[0], bottom = stacks[only].bottom;
    std::uint32_t depth = 0, skipped = 0;
    std::memset(readers, 0, (has_one_stack ? bottom + size + place_slack : bottom) * sizeof(std::uint32_t));
    for (std::size_t at = 0; at < size; ++at) {
        std::uint64_t word;
        std::memcpy(&word, code + at, sizeof word);
        const PlainCode what = tables.find(word);
        if (what == plain_never) [[unlikely]] {
            if (has_one_stack) stacks[only].top = bottom + depth;
            if (!assign(static_cast<std::uint32_t>(at))) return false;
            depth = stacks[only].top - bottom;
            continue;
        }
        // more than there are in any stack, if one is missing anyway
        const std::uint32_t inputs = plain_inputs(what);
        if (has_one_stack) {
            if (depth < inputs) [[unlikely]] {
                steps[at] = {0, what};
                ++skipped;
                continue;
            }
            depth -= inputs;
            steps[at] = {bottom + depth++, what};
        } else {
            PlaceStack& stack = stacks[plain_type(what)];
            const bool is_missing = stack.top - stack.bottom < inputs;
            const std::uint32_t below = is_missing ? 0 : stack.top - inputs;
            steps[at] = {below, what};
            readers[below] = dead;
            stack.top = is_missing ? stack.top : below + 1;
            skipped += is_missing;
        }
    }
    if (has_one_stack) stacks[only].top = bottom + depth;
    live_.skipped = skipped;
    return true;
}

// An assignment stands in the place of its slot; the last one counts.
bool DeadCode::assign(std::uint32_t at) {
    const std::uint32_t slot =
        code_[at].opcode == Opcode::assign ? machine_.assigned_slot(code_[at]) : no_slot;
    if (slot == no_slot) return false;
    PlaceStack& stack = stacks_[machine_.slots[slot].type];
    if (stack.top == stack.bottom) return false;
    wanted_ += received_[slot] == 0;
    received_[slot] = --stack.top;
    steps_[at] = {first_slot_place + slot, 0};
    readers_[first_slot_place + slot] = assigned_to | slot;
    return true;
}

// As Runner::take_requests and finish, run.cpp.
bool DeadCode::take_requests() {
    const bool takes_top = options_.requests == Requests::top;
    for (std::uint32_t slot = slots_; slot-- > 0;) {
        const Slot& s = machine_.slots[slot];
        if (s.direction == Direction::in || received_[slot] != 0) continue;
        PlaceStack& stack = stacks_[s.type];
        if (takes_top && stack.top != stack.bottom) {
            readers_[--stack.top] = assigned_to | slot;
            ++wanted_;
            continue;
        }
        if (options_.empty == Empty::error && (takes_top || s.direction == Direction::out)) return false;
        if (s.direction != Direction::out && !(takes_top && options_.empty == Empty::zero)) continue;
        *--begin_ = assignment(slot);
        *--begin_ = {Opcode::constant, s.type, 0, 0};
    }
    return true;
}

using Four [[gnu::vector_size(16)]] = std::uint32_t;
// by count of inputs
constexpr Four reads[most_plain_inputs + 1] = {{}, {read}, {read, read}, {read, read, read}};

// Walks back from the end, as far as values are wanted. Who reads a value is noted in its place.
void DeadCode::find_live() {
    const PlacedCode* const steps = steps_;
    std::uint32_t* const readers = readers_;
    const Instruction* const code = code_.data();
    Instruction* begin = begin_;
    const std::uint32_t slots = slots_;
    std::uint32_t wanted = wanted_;
    for (std::size_t at = code_.size(); wanted != 0;) {
        const auto [place, what] = steps[--at];
        const std::uint32_t reader = readers[place];
        if (reader == dead) continue;
        if (place <= slots) [[unlikely]] {  // an assignment
            readers[place] = dead;
            readers[received_[place - first_slot_place]] = reader;
            continue;
        }
        if (reader >= assigned_to) [[unlikely]]
            *--begin = assignment(reader - assigned_to);
        *--begin = code[at];
        // As one block, and for operands and constants, which read nothing, too: a branch would be
        // mispredicted. Places above hold no value here.
        const std::uint32_t inputs = plain_inputs(what);
        std::memcpy(readers + place, &reads[inputs], sizeof(Four));
        wanted += inputs - 1;
    }
    begin_ = begin;
}

}  // namespace

std::size_t live_code_bytes(std::size_t instructions, const Machine::Data& machine) {
    const std::uint64_t live = most_live(instructions, machine);
    return Arena::bytes<PlacedCode>(instructions + 1) +
           Arena::bytes<std::uint32_t>(place_count(instructions, machine)) +
           Arena::bytes<std::uint32_t>(machine.slots.size() + 1) + Arena::bytes<Instruction>(live) +
           one_pass_bytes(live, machine);
}

bool eliminate_dead_code(LiveCode& live, std::span<const Instruction> code, const Machine::Data& machine,
                         const CompileOptions& options, Arena& arena) {
    return DeadCode(live, code, machine, options, arena).eliminate();
}

}  // namespace ptxgraft::stack
