#include "stub/stack/bound.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "stub/stack/arena.hpp"
#include "stub/stack/run.hpp"

namespace ptxgraft::stack {
namespace {

// Of `\tmov.b64 %d1, 0x0123456789ABCDEF;\n` around a name; of the instructions that a select of preds takes.
constexpr std::uint64_t move_text = 36, select_text = 4 * 24, select_names = 4 * 4;

constexpr std::uint64_t enough = 1ull << 56;
std::uint64_t saturated(std::uint64_t value) { return std::min(value, enough); }
std::uint64_t times_saturated(std::uint64_t a, std::uint64_t b) { return a == 0 || b == 0 ? 0 : a > enough / b ? enough : a * b; }

void form(Bound& b, const EntryCode& e, std::uint64_t name) {
    const std::uint64_t outputs = std::max<std::uint64_t>(e.outputs, 1), copies = e.is_plain ? 0 : e.inputs;
    b.nodes += outputs + copies;  // an input may be copied to a register of its exact type
    b.pushes += outputs, b.writes += outputs;
    b.extra += e.is_inline || e.is_special ? 0u : 1u + e.inputs;
    b.text += e.text_bound + (outputs + e.inputs + 1) * name + copies * (move_text + 2 * name) + (e.is_inline ? 0 : outputs * (move_text + name));
}

class Counter {
  public:
    Counter(const Machine::Data& machine, std::span<const Bound> routines)
        : code_(*machine.code), routines_(routines), name_(machine.longest_name + 2) {}

    Bound count(std::span<const Instruction> code) {
        for (const Instruction& i : code) one(i);
        while (open_ != 0) drop_outermost();
        return outside_;
    }

  private:
    // What stands inside of a bracket. One that is never closed does nothing.
    struct Frame {
        Bound inside;
        std::uint32_t times = 1;
        bool is_if = false;
    };

    Bound& now() { return open_ == 0 ? outside_ : frames_[(first_ + open_ - 1) % max_depth].inside; }

    void one(const Instruction& i) {
        Bound& b = now();
        ++b.steps;
        switch (i.opcode) {
            case Opcode::form:
                if (i.index < code_.entries.size()) form(b, code_.entries[i.index], name_);
                return;
            case Opcode::input:
                return value(b, 0);
            case Opcode::constant: case Opcode::pooled: case Opcode::cast:
                return value(b, move_text + 2 * name_);
            case Opcode::dup: case Opcode::over: case Opcode::yank_dup: case Opcode::load:
                ++b.pushes, ++b.writes;
                return;
            case Opcode::swap: case Opcode::swap_with: case Opcode::rotate: case Opcode::replace: case Opcode::assign:
                b.writes += 3;
                return;
            case Opcode::reverse:
                ++b.reverses;
                return;
            case Opcode::store:
                ++b.cells, ++b.writes;
                return;
            case Opcode::call:
                if (i.index < routines_.size()) b.add(routines_[i.index], 1);
                return;
            case Opcode::repeat: case Opcode::if_:
                return open(i);
            case Opcode::end:
                if (open_ != 0) close();
                return;
            default:
                return;
        }
    }

    static void value(Bound& b, std::uint64_t text) {
        ++b.nodes, ++b.pushes, ++b.writes;
        b.text += text;
    }

    void open(const Instruction& i) {
        if (open_ == max_depth) drop_outermost();
        ++open_;
        frames_[(first_ + open_ - 1) % max_depth] = {Bound(), i.opcode == Opcode::repeat ? std::min(i.payload, max_repeats) : 1, i.opcode == Opcode::if_};
    }

    // Brackets close from the inside: where more are open than a program may have inside each other, the outermost is never closed (or the
    // program is refused).
    void drop_outermost() {
        Frame& outermost = frames_[first_];
        first_ = (first_ + 1) % max_depth;
        --open_;
        outside_.add(outermost.inside, 1);
        outside_.has_brackets = true;
    }

    void close() {
        Frame& frame = frames_[(first_ + open_ - 1) % max_depth];
        --open_;
        if (frame.is_if) merge(frame.inside);
        Bound& outer = now();
        outer.add(frame.inside, frame.times);
        outer.has_brackets = true;
    }

    // Each place that an arm changed may need a select, and a pred or two for the guard.
    void merge(Bound& b) const {
        ++b.if_depth;
        b.merges += b.writes + 4;
        b.whole_merges += b.reverses;
        b.nodes += 2 * (b.writes + 4);
        b.text += (b.writes + 4) * (select_text + select_names * name_);
    }

    const InstructionSet::Code& code_;
    std::span<const Bound> routines_;
    const std::uint64_t name_;
    Bound outside_;
    std::array<Frame, max_depth> frames_;
    std::uint32_t first_ = 0, open_ = 0;
};

// What an instruction costs, in one word, so that a block of instructions is one sum: bytes of text, names, and whether it is more than this can say.
constexpr std::uint64_t cost_of(std::uint64_t text, std::uint64_t names, bool is_hard = false) {
    return text | names << 24 | static_cast<std::uint64_t>(is_hard) << 44;
}
constexpr std::size_t block_size = 4096;  // instructions of at most 4,095 bytes and 255 names do not run over
constexpr std::uint64_t text_of(std::uint64_t cost) { return cost & 0xFFFFFF; }
constexpr std::uint64_t names_of(std::uint64_t cost) { return cost >> 24 & 0xFFFFF; }
constexpr bool is_hard(std::uint64_t cost) { return cost >> 44 != 0; }

constexpr std::array<std::uint64_t, 256> opcode_costs = [] {
    std::array<std::uint64_t, 256> all{};
    for (const Opcode o : {Opcode::constant, Opcode::pooled, Opcode::cast}) all[static_cast<std::size_t>(o)] = cost_of(move_text, 2);
    for (const Opcode o : {Opcode::store, Opcode::call, Opcode::repeat, Opcode::if_, Opcode::else_, Opcode::end})
        all[static_cast<std::size_t>(o)] = cost_of(0, 0, true);
    return all;
}();

// Programs of plain instructions, the usual case, without a branch on what they are.
bool count_plain(ProgramView program, const Machine::Data& machine, Bound& bound) {
    const std::uint64_t* const costs = machine.code->costs.data();
    const std::size_t entries = machine.code->entries.size();
    std::uint64_t text = 0, names = 0;
    for (std::size_t begin = 0; begin < program.code.size(); begin += block_size) {
        std::uint64_t sum = 0;
        for (const Instruction& i : program.code.subspan(begin, std::min(block_size, program.code.size() - begin))) {
            const std::uint64_t of_form = 0 - static_cast<std::uint64_t>(i.opcode == Opcode::form);
            sum += opcode_costs[static_cast<std::size_t>(i.opcode)] + (costs[std::min<std::size_t>(i.index, entries)] & of_form);
        }
        if (is_hard(sum)) return false;
        text += text_of(sum);
        names += names_of(sum);
    }
    bound.steps = bound.nodes = bound.pushes = program.code.size();
    bound.text = text + names * (machine.longest_name + 2);
    return true;
}

void count_all(ProgramView program, const Machine::Data& machine, Bound& total) {
    std::array<Bound, max_routines> routines;
    const std::size_t count = std::min<std::size_t>(program.routines.size(), max_routines);
    for (std::size_t r = 0; r < count; ++r) {
        const Routine& routine = program.routines[r];
        Bound& b = routines[r] = Counter(machine, {routines.data(), r}).count(routine.code);
        b.nodes += routine.results.size();  // those that it does not make become zero
        b.pushes += routine.results.size() + routine.arguments.size();
        b.writes += routine.results.size();
        b.text += routine.results.size() * (move_text + machine.longest_name);
    }
    total = Counter(machine, {routines.data(), count}).count(program.code);
    const std::uint64_t whole = times_saturated(total.whole_merges, total.pushes + machine.slots.size());
    total.merges = saturated(total.merges + whole);
    total.nodes = saturated(total.nodes + 2 * whole);
    total.text = saturated(total.text + times_saturated(whole, select_text + select_names * (machine.longest_name + 2)));
}

}  // namespace

void Bound::add(const Bound& other, std::uint64_t times) {
    const auto more = [times](std::uint64_t& to, std::uint64_t from) { to = saturated(to + times_saturated(from, times)); };
    more(steps, other.steps);
    more(nodes, other.nodes);
    more(extra, other.extra);
    more(pushes, other.pushes);
    more(cells, other.cells);
    more(writes, other.writes);
    more(reverses, other.reverses);
    more(merges, other.merges);
    more(whole_merges, other.whole_merges);
    more(text, other.text);
    if_depth = std::max(if_depth, other.if_depth);
    has_brackets = has_brackets || other.has_brackets;
}

void add_cost(InstructionSet::Code& code, const EntryCode& e) {
    if (code.costs.empty()) code.costs.push_back(0);
    code.costs.back() = e.is_plain ? cost_of(e.text_bound, 3u + e.inputs) : cost_of(0, 0, true);
    code.costs.push_back(0);
}

Bound bound_of(ProgramView program, const Machine::Data& machine) {
    Bound total;
    if (!count_plain(program, machine, total)) count_all(program, machine, total);
    const std::uint64_t slots = machine.slots.size();
    total.nodes += 2 * slots + 1;  // the operands, and those that become zero
    total.text += header_room + slots * (2 * (move_text + 2 * (machine.longest_name + 2)));
    return total;
}

std::size_t bytes_of(const Bound& bound, ProgramView program, const Machine::Data& machine, const CompileOptions& options) {
    const std::uint64_t slots = machine.slots.size(), types = machine.code->type_count;
    const std::uint64_t state = bound.pushes + types + 2 * bound.cells + slots + 8;
    std::uint64_t bytes = Arena::bytes<Node>(bound.nodes + 1) + Arena::bytes<Name>(bound.nodes + 1) + Arena::bytes<const Name*>(bound.nodes + 1) + Arena::bytes<NodeId>(bound.nodes + 1) + Arena::bytes<std::uint32_t>(bound.extra + 1);
    bytes += types * Arena::bytes<NodeId>(bound.pushes + stack_slack);
    bytes += Arena::bytes<Cell>(bound.cells + 1) + Arena::bytes<std::uint32_t>(saved_per_if * bound.if_depth * state + 1);
    bytes += Arena::bytes<NodeId>(slots + 1) + Arena::bytes<Assignment>(slots + 1) + Arena::bytes<SlotMove>(slots + 1) + Arena::bytes<std::uint32_t>(slots + 1);
    if (bound.has_brackets) bytes += match_bytes(program);
    if (options.reuse) bytes += Arena::bytes<NodeId>(reuse_slots(bound.nodes));
    if (options.hash) bytes += Arena::bytes<std::uint64_t>(bound.nodes + 1);
    return bytes + bound.text + 256;
}

std::size_t arena_bound(ProgramView program, const Machine& machine, const CompileOptions& options) {
    const Machine::Data& data = machine.data();
    const Bound bound = bound_of(program, data);
    if (bound.steps > options.limits.steps) return 64;  // compile says so and needs no more
    return bytes_of(bound, program, data, options);
}

}  // namespace ptxgraft::stack
