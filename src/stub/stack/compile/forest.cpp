#include "stub/stack/compile/forest.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace ptxgraft::stack {
namespace {

// A stack of places: where the next value goes, and where the first one stands.
struct PlaceStack {
    std::uint32_t top, bottom;
};

class Planner {
  public:
    Planner(Forest& forest, const Machine::Data& machine, const CompileOptions& options)
        : forest_(forest),
          machine_(machine),
          options_(options),
          steps_(forest.steps),
          readers_(forest.readers),
          first_operand_place_(1),
          slots_(static_cast<std::uint32_t>(machine.slots.size())) {
        const auto size = static_cast<std::uint32_t>(forest.code.size());
        std::uint32_t place = first_operand_place_ + slots_;
        std::memset(stacks_.data(), 0, machine.code->type_count * sizeof(PlaceStack));
        for (const TypeId t : machine.plain_types) stacks_[t] = {place, place}, place += size + place_slack;
        static_assert(Receives::nothing == 0);
        std::memset(forest.received, 0, slots_ * sizeof(Receives));
        std::memset(forest.last_reads, 0, (slots_ + 1) * sizeof(std::uint32_t));
    }

    bool plan() {
        if (!(machine_.plain_types.size() == 1 ? place_all<true>() : place_all<false>()) || !take_requests())
            return false;
        if (forest_.skipped != 0 && options_.missing == Missing::error) return false;
        for (const TypeId t : machine_.plain_types) forest_.leftover += stacks_[t].top - stacks_[t].bottom;
        if (forest_.leftover != 0 && options_.leftover == Leftover::error) return false;
        find_live();
        if (forest_.skipped != 0) forest_.first_skipped = first_skipped();
        return true;
    }

  private:
    template <bool has_one_stack> bool place_all();
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
    PlacedCode* const steps_;
    std::uint32_t* const readers_;
    const std::uint32_t first_operand_place_, slots_;
    std::uint32_t wanted_ = 0;  // values that are read and not found yet
    std::array<PlaceStack, max_types> stacks_;
};

// The place of each instruction's result. What comes next in a random program cannot be guessed, so that no
// branch depends on it; where there is but one stack, its depth stays in a register.
template <bool has_one_stack> bool Planner::place_all() {
    const Instruction* const code = forest_.code.data();
    const std::size_t size = forest_.code.size();
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
            if (code[at].opcode != Opcode::assign || !assign(code[at], static_cast<std::uint32_t>(at)))
                return false;
            depth = stacks[only].top - bottom;
            continue;
        }
        // more than there are in any stack, if one is missing anyway
        const auto inputs = static_cast<std::uint32_t>(what >> 24);
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
            readers[below] = 0;
            stack.top = is_missing ? stack.top : below + 1;
            skipped += is_missing;
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
        if (s.direction != Direction::out && !(takes_top && options_.empty == Empty::zero)) continue;
        received.kind = Receives::zero;
        forest_.has_zeros = true;
    }
    return true;
}

using Four [[gnu::vector_size(16)]] = std::uint32_t;
constexpr Four reads[most_plain_inputs + 1] = {{}, {~0u}, {~0u, ~0u}, {~0u, ~0u, ~0u}};  // by count of inputs

// Back from the end, as far as values are wanted. What reads a value is noted in its place.
void Planner::find_live() {
    const PlacedCode* const steps = steps_;
    std::uint32_t* const readers = readers_;
    std::uint32_t* const last_reads = forest_.last_reads;
    LiveStep* live = forest_.live;
    std::uint32_t wanted = wanted_;
    for (std::uint32_t at = static_cast<std::uint32_t>(forest_.code.size()); wanted != 0;) {
        const auto [place, what] = steps[--at];
        const std::uint32_t reader = readers[place];
        if (reader == 0) continue;
        if (place <= slots_) [[unlikely]] {  // an assignment
            readers[place] = 0;
            readers[forest_.received[place - 1].place] = reader;
            continue;
        }
        // As one block, and for operands and constants, which read nothing, too: branches would be guessed
        // wrong. Places above hold no value here.
        const std::uint32_t inputs = plain_inputs(what);
        const Four me = {at + 1, at + 1, at + 1, at + 1}, all = me & reads[inputs];
        std::memcpy(readers + place, &all, sizeof all);
        std::uint32_t& last_read = last_reads[plain_slot(what)];  // the first is nobody's
        last_read = std::max(last_read, reader);
        wanted += inputs - 1;
        *live++ = {at, reader};
    }
    forest_.live_count = static_cast<std::uint32_t>(live - forest_.live);
}

}  // namespace

bool plan(Forest& forest, ProgramView program, const Machine::Data& machine, const CompileOptions& options,
          Arena& arena) {
    const std::size_t size = program.code.size();
    const std::uint64_t places = place_count(size, machine);
    forest.code = program.code;
    forest.steps = arena.take<PlacedCode>(size + 1);
    forest.live = arena.take<LiveStep>(size + 1);
    forest.readers = arena.take<std::uint32_t>(places);
    forest.names = arena.take<Name>(places);
    forest.last_reads = arena.take<std::uint32_t>(machine.slots.size() + 1);
    forest.received = arena.take<Receives>(machine.slots.size() + 1);
    forest.assignments = arena.take<Assignment>(machine.slots.size() + 1);
    return Planner(forest, machine, options).plan();
}

}  // namespace ptxgraft::stack
