// Costs of instructions, summed up without executing them.

#include "stub/stack/compile/bound.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <type_traits>

#include "stub/stack/compile/arena.hpp"
#include "stub/stack/compile/dead_code.hpp"
#include "stub/stack/compile/one_pass.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {
namespace {

// Of `\tmov.b64 %d1, 0x0123456789ABCDEF;\n` around a name; of the instructions that a select of preds takes.
constexpr std::uint64_t move_text = 36, select_text = 4 * 24, select_names = 4 * 4;

constexpr std::uint64_t enough = 1ull << 56;
std::uint64_t saturated(std::uint64_t value) { return std::min(value, enough); }
std::uint64_t times_saturated(std::uint64_t a, std::uint64_t b) {
    return a == 0 || b == 0 ? 0 : a > enough / b ? enough : a * b;
}

// Nodes, and bytes of text where a name has `name` bytes.
struct Cost {
    std::uint64_t nodes, text;
};
Cost cost_of(const EntryCode& e, std::uint64_t name) {
    const std::uint64_t outputs = std::max<std::uint64_t>(e.outputs, 1), copies = e.is_plain ? 0 : e.inputs;
    const std::uint64_t extra = e.is_inline || e.is_special ? 0u : 1u + e.inputs;
    // an input may be copied to a register of its exact type
    return {std::max(outputs + copies, extra), e.text_bound + (outputs + e.inputs + 1) * name +
                                                   copies * (move_text + 2 * name) +
                                                   (e.is_inline ? 0 : outputs * (move_text + name))};
}

// What an instruction costs, in one word, so that a block of instructions is one sum: bytes of text, names,
// and nodes.
constexpr std::uint64_t most_text = 0x3FFF, most_names = 0x3FF, most_new_nodes = 0x1FF;
constexpr std::uint32_t names_at = 24, nodes_at = 44;
constexpr std::size_t block_size = 1024;       // instructions at most: their sum does not run over
constexpr std::uint64_t is_hard = 1ull << 63;  // it costs more, or stands around others
constexpr std::uint64_t packed(std::uint64_t text, std::uint64_t names, std::uint64_t nodes) {
    if (text > most_text || names > most_names || nodes > most_new_nodes) return is_hard;
    return text | names << names_at | nodes << nodes_at;
}
static_assert(most_text * block_size < 1u << names_at &&
              (most_names * block_size) >> (nodes_at - names_at) == 0 &&
              (most_new_nodes * block_size) >> (63 - nodes_at) == 0);

constexpr std::array<std::uint64_t, 256> opcode_costs = [] {
    std::array<std::uint64_t, 256> all{};
    for (const Opcode o : {Opcode::constant, Opcode::pooled, Opcode::cast})
        all[static_cast<std::size_t>(o)] = packed(move_text, 2, 1);
    for (const Opcode o :
         {Opcode::input, Opcode::dup, Opcode::over, Opcode::yank_dup, Opcode::load, Opcode::store})
        all[static_cast<std::size_t>(o)] = packed(0, 0, 1);
    for (const Opcode o : {Opcode::swap, Opcode::swap_with, Opcode::rotate, Opcode::replace, Opcode::assign})
        all[static_cast<std::size_t>(o)] = packed(0, 0, 3);  // places that change
    for (const Opcode o : {Opcode::call, Opcode::repeat, Opcode::if_, Opcode::else_, Opcode::end})
        all[static_cast<std::size_t>(o)] = is_hard;
    return all;
}();

// Found without a branch on what the instruction is.
std::uint64_t packed_cost(const Instruction& i, const std::uint64_t* costs, std::size_t entries) {
    const std::uint64_t of_form = 0 - static_cast<std::uint64_t>(i.opcode == Opcode::form);
    return opcode_costs[static_cast<std::size_t>(i.opcode)] +
           (costs[std::min<std::size_t>(i.index, entries)] & of_form);
}

void add(Bound& bound, const Cost& cost) {
    bound.nodes += cost.nodes;
    bound.values += cost.nodes;
    bound.text += cost.text;
}
// A cost, or the sum of a block.
void add(Bound& bound, std::uint64_t costs, std::uint64_t name) {
    const std::uint64_t names = costs >> names_at & ((1u << (nodes_at - names_at)) - 1);
    add(bound, {costs >> nodes_at, (costs & ((1u << names_at) - 1)) + names * name});
}

// Room for objects that are set before they are read: most programs need none of them, and making all would
// take longer than counting.
template <class T, std::size_t size> class Unset {
  public:
    static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);
    T* data() { return reinterpret_cast<T*>(bytes_); }
    T& operator[](std::size_t i) { return data()[i]; }
    T& set(std::size_t i, const T& value) { return *std::construct_at(data() + i, value); }

  private:
    alignas(T) std::byte bytes_[size * sizeof(T)];
};

class Counter {
  public:
    Counter(const Machine::Data& machine, std::span<const Bound> routines)
        : code_(*machine.code), routines_(routines), name_(machine.longest_name + 2) {}

    // Counts brackets without memory for those that are never closed. The last `end` that closes nothing
    // splits the code: before it no bracket stays open, so that part is counted forwards; behind it every
    // `end` closes a bracket, so that part is counted backwards.
    Bound count(std::span<const Instruction> code) {
        const std::size_t middle = behind_last_unopened(code);
        for (const Instruction& i : code.first(middle)) one(i, &Counter::open, &Counter::close);
        const auto rest = code.subspan(middle);
        for (auto i = rest.rbegin(); i != rest.rend(); ++i) one(*i, &Counter::close, &Counter::open);
        return outside_;
    }

  private:
    // What stands inside of a bracket, and the one of its ends that came first.
    struct Frame {
        Bound inside;
        Instruction bracket;
    };
    using Bracket = void (Counter::*)(const Instruction&);

    static std::size_t behind_last_unopened(std::span<const Instruction> code) {
        std::size_t middle = 0, open = 0;
        for (std::size_t at = 0; at < code.size(); ++at) {
            if (code[at].opcode == Opcode::repeat || code[at].opcode == Opcode::if_)
                ++open;
            else if (code[at].opcode == Opcode::end && open != 0)
                --open;
            else if (code[at].opcode == Opcode::end)
                middle = at + 1;
        }
        return middle;
    }

    Bound& now() { return open_ == 0 ? outside_ : frames_[open_ - 1].inside; }

    void one(const Instruction& i, Bracket at_begin, Bracket at_end) {
        if (i.opcode == Opcode::repeat || i.opcode == Opcode::if_)
            (this->*at_begin)(i);
        else if (i.opcode == Opcode::end)
            (this->*at_end)(i);
        else if (too_deep_ == 0)
            plain(i);
    }

    void plain(const Instruction& i) {
        Bound& b = now();
        ++b.steps;
        if (i.opcode == Opcode::reverse) ++b.reverses;
        if (i.opcode == Opcode::call && i.index < routines_.size()) b.add(routines_[i.index], 1);
        const std::uint64_t cost = packed_cost(i, code_.costs.data(), code_.entries.size());
        if (cost != is_hard)
            add(b, cost, name_);
        else if (i.opcode == Opcode::form)
            add(b, cost_of(code_.entries[i.index], name_));
    }

    // What more brackets stand around than a program may have inside each other is never executed.
    void open(const Instruction& i) {
        if (open_ == max_depth) {
            ++too_deep_;
            return;
        }
        ++now().steps;
        frames_.set(open_++, {Bound(), i});
    }

    void close(const Instruction& i) {
        if (too_deep_ != 0) {
            --too_deep_;
            return;
        }
        if (open_ == 0) {  // without a partner
            ++outside_.steps;
            return;
        }
        Frame& frame = frames_[--open_];
        const Instruction& begin = i.opcode == Opcode::end ? frame.bracket : i;
        ++frame.inside.steps;
        if (begin.opcode == Opcode::if_) merge(frame.inside);
        Bound& outer = now();
        outer.add(frame.inside, begin.opcode == Opcode::if_ ? 1 : std::min(begin.payload, max_repeats));
        outer.has_brackets = true;
    }

    // Each place that an arm changed may need a select, and a pred or two for the guard.
    void merge(Bound& b) const {
        ++b.if_depth;
        b.merges += b.values + 4;
        b.whole_merges += b.reverses;
        b.nodes += 2 * (b.values + 4);
        b.text += (b.values + 4) * (select_text + select_names * name_);
    }

    const SetCode& code_;
    std::span<const Bound> routines_;
    const std::uint64_t name_;
    Bound outside_;
    Unset<Frame, max_depth> frames_;
    std::uint32_t open_ = 0, too_deep_ = 0;
};

// Programs without brackets and routines, without a branch on what their instructions are.
bool count_straight(ProgramView program, const Machine::Data& machine, Bound& bound) {
    const std::uint64_t* const costs = machine.code->costs.data();
    const std::size_t entries = machine.code->entries.size();
    for (std::size_t begin = 0; begin < program.code.size(); begin += block_size) {
        std::uint64_t sum = 0, all = 0;
        for (const Instruction& i :
             program.code.subspan(begin, std::min(block_size, program.code.size() - begin))) {
            const std::uint64_t cost = packed_cost(i, costs, entries);
            all |= cost;
            sum += cost & ~is_hard;
        }
        if ((all & is_hard) != 0) return false;
        add(bound, sum, machine.longest_name + 2);
    }
    bound.steps = program.code.size();
    return true;
}

void count_all(ProgramView program, const Machine::Data& machine, Bound& total) {
    Unset<Bound, max_routines> routines;
    const std::size_t count = std::min<std::size_t>(program.routines.size(), max_routines);
    for (std::size_t r = 0; r < count; ++r) {
        const Routine& routine = program.routines[r];
        Bound& b = routines.set(r, Counter(machine, {routines.data(), r}).count(routine.code));
        b.nodes += routine.results.size();  // those that it does not make become zero
        b.values += routine.results.size() + routine.arguments.size();
        b.text += routine.results.size() * (move_text + machine.longest_name);
    }
    total = Counter(machine, {routines.data(), count}).count(program.code);
    const std::uint64_t whole = times_saturated(total.whole_merges, total.values + machine.slots.size());
    total.merges = saturated(total.merges + whole);
    total.nodes = saturated(total.nodes + 2 * whole);
    total.text = saturated(total.text +
                           times_saturated(whole, select_text + select_names * (machine.longest_name + 2)));
}

}  // namespace

void Bound::add(const Bound& other, std::uint64_t times) {
    const auto more = [times](std::uint64_t& to, std::uint64_t from) {
        to = saturated(to + times_saturated(from, times));
    };
    more(steps, other.steps);
    more(nodes, other.nodes);
    more(values, other.values);
    more(reverses, other.reverses);
    more(merges, other.merges);
    more(whole_merges, other.whole_merges);
    more(text, other.text);
    if_depth = std::max(if_depth, other.if_depth);
    has_brackets = has_brackets || other.has_brackets;
}

void add_cost(SetCode& code, const EntryCode& e) {
    const Cost without = cost_of(e, 0), with = cost_of(e, 1);
    code.costs.back() = packed(without.text, with.text - without.text, with.nodes);
    code.costs.push_back(0);
}

Bound bound_of(ProgramView program, const Machine::Data& machine) {
    Bound total;
    if (!count_straight(program, machine, total)) count_all(program, machine, total);
    const std::uint64_t slots = machine.slots.size();
    total.nodes += 2 * slots + 1;  // the operands, and those that become zero
    total.text += header_room + slots * (2 * (move_text + 2 * (machine.longest_name + 2)));
    return total;
}

bool passes(const Bound& bound, const Limits& limits) {
    return bound.steps > limits.steps || bound.nodes > most_nodes;
}

std::size_t bytes_of(const Bound& bound, ProgramView program, const Machine::Data& machine,
                     const CompileOptions& options) {
    const std::uint64_t slots = machine.slots.size(), types = machine.code->type_count;
    std::uint64_t bytes = Arena::bytes<Node>(bound.nodes + 1) + Arena::bytes<Name>(bound.nodes + 1) +
                          Arena::bytes<const Name*>(bound.nodes + 1) + Arena::bytes<NodeId>(bound.nodes + 1) +
                          Arena::bytes<std::uint32_t>(bound.values + 1);
    bytes += Arena::bytes<NodeId>(types * bound.values);
    bytes += Arena::bytes<Cell>(bound.values + 1) + Arena::bytes<std::uint32_t>(saved_words(bound, machine));
    bytes += Arena::bytes<NodeId>(slots + 1) + Arena::bytes<Assignment>(slots + 1) +
             Arena::bytes<SlotMove>(slots + 1) + Arena::bytes<std::uint32_t>(slots + 1);
    if (bound.has_brackets) bytes += match_bytes(program);
    if (options.reuse) bytes += Arena::bytes<NodeId>(reuse_slots(bound.nodes));
    if (options.hash) bytes += Arena::bytes<std::uint64_t>(bound.nodes + 1);
    if (options.constants == Constants::data)
        bytes += Arena::bytes<std::uint64_t>(bound.nodes + 1) + bound.nodes * constant_load_text;
    bytes += bound.text + 256;
    const std::size_t size = program.code.size();
    if (may_be_one_pass(program, machine, options))
        bytes = std::max<std::uint64_t>(bytes, one_pass_bytes(size, machine));
    if (may_eliminate_dead_code(program, machine, options))
        bytes = std::max<std::uint64_t>(bytes, live_code_bytes(size, machine));
    return bytes;
}

}  // namespace ptxgraft::stack
