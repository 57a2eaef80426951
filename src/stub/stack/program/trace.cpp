// Records a program value by value, finds back from its end what is needed, and writes the rest out again.

#include "stub/stack/program/trace.hpp"

#include <algorithm>
#include <array>
#include <span>

#include "stub/stack/compile/bound.hpp"
#include "stub/stack/compile/machine.hpp"
#include "stub/stack/compile/run.hpp"

namespace ptxgraft::stack {
namespace {

using Item = std::uint32_t;  // the number of a value that lies on a stack, or in a cell

constexpr std::uint32_t nobody = 0;
constexpr std::uint32_t cells_per_type = 256;

enum class Does : std::uint8_t {
    compute,    // pops values and pushes others
    assign,     // pops one; the last one of its slot counts
    copy,       // pushes a copy of its first item, which stays
    rearrange,  // the items from `first` on lie there in another order behind it
    drop,       // pops values for nothing
    store,
    load,
};

// One instruction that did something. Its items stand in Trace::items_.
struct Step {
    std::uint32_t at;
    std::uint32_t first;   // of those before it: popped ones, or all from the deepest that it moves
    std::uint32_t before;  // how many
    std::uint32_t after;   // how many behind them: pushed ones, or the same as they lie behind it
    Does does;
    bool has_effect = false;
    bool is_live = false;
    bool keeps_source = false;  // of a copy: its source is needed later, too
};

// When the value exists. Times are numbers of steps from 1 on; 0: never.
struct Life {
    std::uint32_t end = 0;        // when it is popped
    std::uint32_t last_need = 0;  // the last step that needs it
    TypeId type = 0;
    bool is_rest = false;  // nobody needs it, but it comes with others
};

class Trace {
  public:
    Trace(ProgramView program, const Machine::Data& machine, const CompileOptions& options)
        : program_(program),
          machine_(machine),
          code_(*machine.code),
          options_(options),
          stacks_(code_.type_count) {}

    Trimmed trim() {
        Trimmed result;
        if (!record()) return result;
        for (;;) {
            find_live();
            result.code.clear(), result.live.clear();
            if (rewrite(result)) break;  // else more is needed than it seemed
        }
        result.is_known = true;
        result.has_missing = has_missing_;
        return result;
    }

  private:
    using Stack = std::vector<Item>;

    // --- forwards: who pushes and pops what
    bool record();
    bool execute(const Instruction& i, std::uint32_t at);
    bool compute(std::uint32_t at, std::span<const TypeId> pops, std::span<const TypeId> pushes,
                 bool has_effect = false);
    bool form(const Instruction& i, std::uint32_t at);
    bool call(const Instruction& i, std::uint32_t at);
    bool cast(const Instruction& i, std::uint32_t at);
    bool assign(const Instruction& i, std::uint32_t at);
    bool rearrange(const Instruction& i, std::uint32_t at);
    bool store(const Instruction& i, std::uint32_t at);
    bool load(const Instruction& i, std::uint32_t at);
    bool push_one(std::uint32_t at, std::uint32_t type) {
        const auto pushed = static_cast<TypeId>(type);
        return type != types() && compute(at, {}, {&pushed, 1});
    }
    void take_requests();
    void find_effects();
    void match();
    bool pass_bracket(std::uint32_t& at);

    [[nodiscard]] std::uint32_t types() const { return code_.type_count; }
    [[nodiscard]] std::uint32_t lane(std::uint32_t type) const {
        return type < types() ? stack_of(static_cast<TypeId>(type)) : types();
    }
    Item make(TypeId type) {
        lives_.push_back({.type = type});
        return static_cast<Item>(lives_.size() - 1);
    }
    [[nodiscard]] std::uint32_t now() const { return static_cast<std::uint32_t>(steps_.size()); }
    Item pop(std::uint32_t type) {
        const Item item = stacks_[type].back();
        stacks_[type].pop_back();
        return item;
    }
    Step& begin(std::uint32_t at, Does does) {
        steps_.push_back({.at = at,
                          .first = static_cast<std::uint32_t>(items_.size()),
                          .before = 0,
                          .after = 0,
                          .does = does});
        return steps_.back();
    }
    void take(Step& step, Item item) {  // that is popped
        items_.push_back(item);
        ++step.before;
        lives_[item].end = now();
    }

    // --- backwards: who needs what
    void find_live();
    void need(Item item, std::uint32_t time) {
        if (lives_[item].last_need == nobody) lives_[item].last_need = time;
    }
    [[nodiscard]] bool is_needed(Item item) const { return lives_[item].last_need != nobody; }
    void find_live(Step& step, std::uint32_t time);

    // --- forwards again: what becomes of the code
    bool rewrite(Trimmed& result);
    bool rewrite(const Step& step, std::uint32_t time, std::vector<Instruction>& code);
    bool rewrite_copy(const Step& step, std::uint32_t time, std::vector<Instruction>& code);
    bool rewrite_order(const Step& step, std::uint32_t time, std::vector<Instruction>& code);
    [[nodiscard]] std::span<const Item> before(const Step& s) const {
        return {items_.data() + s.first, s.before};
    }
    [[nodiscard]] std::span<const Item> after(const Step& s) const {
        return {items_.data() + s.first + s.before, s.after};
    }
    // Whether it lies there when the step of that time begins.
    [[nodiscard]] bool exists(Item item, std::uint32_t time) const {
        const Life& life = lives_[item];
        return (life.is_rest ? life.end : life.last_need) >= time;
    }
    bool force(Item item) {  // to lie there until it is popped; the code must be made anew
        forced_.push_back(item);
        return false;
    }

    const ProgramView program_;
    const Machine::Data& machine_;
    const SetCode& code_;
    const CompileOptions& options_;
    std::vector<Stack> stacks_;
    std::vector<std::pair<std::uint32_t, Item>> cells_;  // by type and number
    std::vector<Life> lives_;
    std::vector<Item> items_;
    std::vector<Step> steps_;
    std::vector<std::uint32_t> assigned_;  // by slot: the step that assigned it last, or nobody
    std::vector<Item> requested_;
    std::vector<Item> forced_;
    std::vector<bool> has_effect_;        // by routine
    std::vector<std::uint32_t> matches_;  // by place of a bracket, see match_brackets
    bool has_missing_ = false;
    bool is_too_much_ = false;
};

// ---- forwards ---------------------------------------------------------------------------------------------

bool Trace::record() {
    const std::size_t size = program_.code.size();
    constexpr std::size_t most = 1u << 16;
    if (size > most) return false;
    find_effects();
    steps_.reserve(size), lives_.reserve(size + 8), items_.reserve(4 * size);
    assigned_.assign(machine_.slots.size(), nobody);
    match();
    for (std::uint32_t at = 0; at < size && !is_too_much_; ++at) {
        if (program_.code[at].opcode >= Opcode::repeat && program_.code[at].opcode <= Opcode::end)
            has_missing_ |= !pass_bracket(at);
        else
            has_missing_ |= !execute(program_.code[at], at);
        is_too_much_ |= items_.size() > 64 * size + 4096;
    }
    if (is_too_much_) return false;
    if (options_.requests == Requests::top) take_requests();
    const std::uint32_t end = now() + 1;
    for (Life& life : lives_)
        if (life.end == nobody) life.end = end;
    return true;
}

// Which routines have effects. Those that are called are not looked into otherwise: what they leave must be
// known from their types.
void Trace::find_effects() {
    const std::size_t count = std::min<std::size_t>(program_.routines.size(), max_routines);
    has_effect_.assign(count, false);
    for (std::size_t r = 0; r < count; ++r)
        for (const Instruction& i : program_.routines[r].code) {
            if (i.opcode == Opcode::form && (*machine_.present)[i.index] != Present::no &&
                code_.entries[i.index].has_effect)
                has_effect_[r] = true;
            if (i.opcode == Opcode::call && i.index < r && has_effect_[i.index]) has_effect_[r] = true;
        }
}

bool Trace::execute(const Instruction& i, std::uint32_t at) {
    switch (i.opcode) {
        case Opcode::input:
            return i.index < machine_.operands.size() && i.payload < machine_.operands[i.index].readable &&
                   push_one(at, machine_.operands[i.index].type);
        case Opcode::constant:
        case Opcode::pooled:
            return lane(i.type) != type_b8 && lane(i.type) != type_b128 && push_one(at, lane(i.type));
        case Opcode::form: return form(i, at);
        case Opcode::call: return call(i, at);
        case Opcode::cast: return cast(i, at);
        case Opcode::assign: return assign(i, at);
        case Opcode::dup:
        case Opcode::swap:
        case Opcode::drop:
        case Opcode::over:
        case Opcode::rotate:
        case Opcode::reverse:
        case Opcode::clear:
        case Opcode::yank_dup:
        case Opcode::swap_with:
        case Opcode::replace: return rearrange(i, at);
        case Opcode::store: return store(i, at);
        case Opcode::load: return load(i, at);
        default: return false;
    }
}

void Trace::match() {
    const bool has_brackets = std::ranges::any_of(program_.code, [](const Instruction& i) {
        return i.opcode >= Opcode::repeat && i.opcode <= Opcode::end;
    });
    if (!has_brackets) return;
    matches_.resize(program_.code.size());
    match_brackets(program_.code, matches_.data());
}

// Moves `at` to the end of brackets between which nothing is executed; others are too much. False: it belongs
// to no other one, or the pred is missing.
bool Trace::pass_bracket(std::uint32_t& at) {
    const std::uint32_t next = matches_[at];
    if (next == no_match) return false;
    const Instruction& i = program_.code[at];
    if (i.opcode == Opcode::repeat && i.payload == 0) return at = next, true;
    if (i.opcode == Opcode::if_) {
        if (matches_[next] == no_match) return false;  // it has no end
        if (stacks_[type_id(Type::pred)].empty()) {
            at = program_.code[next].opcode == Opcode::else_ ? matches_[next] : next;
            return false;
        }
    }
    return is_too_much_ = true;
}

// Pops the last first.
bool Trace::compute(std::uint32_t at, std::span<const TypeId> pops, std::span<const TypeId> pushes,
                    bool has_effect) {
    Step& step = begin(at, Does::compute);
    step.has_effect = has_effect;
    for (std::size_t k = pops.size(); k-- > 0;) take(step, pop(pops[k]));
    for (const TypeId type : pushes) {
        items_.push_back(make(type));
        ++step.after;
        stacks_[type].push_back(items_.back());
    }
    return true;
}

bool Trace::form(const Instruction& i, std::uint32_t at) {
    if ((*machine_.present)[i.index] == Present::no) return false;
    const EntryCode& e = code_.entries[i.index];
    if (e.is_special) return push_one(at, e.type);
    std::array<TypeId, EntryCode::max_inputs> pops;
    std::size_t count = 0;
    for (const InputCode& input : code_.inputs_of(e)) {
        if (input.is_immediate) continue;
        if (stacks_[input.stack].size() < input.depth) return false;
        pops[count++] = input.stack;
    }
    return compute(at, {pops.data(), count},
                   {code_.output_stacks.data() + code_.output_bases[e.at], e.outputs}, e.has_effect);
}

bool Trace::call(const Instruction& i, std::uint32_t at) {
    if (i.index >= has_effect_.size()) return false;
    const Routine& routine = program_.routines[i.index];
    std::vector<TypeId> pops, pushes;
    constexpr std::size_t max_parameters = 256;
    if (routine.arguments.size() > max_parameters || routine.results.size() > max_parameters) return false;
    for (const TypeId t : routine.arguments) pops.push_back(static_cast<TypeId>(lane(t)));
    for (const TypeId t : routine.results) {
        pushes.push_back(static_cast<TypeId>(lane(t)));
        if (lane(t) == type_b8 || lane(t) == type_b128) return is_too_much_ = true;  // it may leave none
    }
    std::array<std::uint32_t, max_types> wanted{};
    for (const TypeId t : pops)
        if (t == types() || ++wanted[t] > stacks_[t].size()) return false;
    if (std::find(pushes.begin(), pushes.end(), types()) != pushes.end()) return false;
    return compute(at, pops, pushes, has_effect_[i.index]);
}

// Between equal stacks it is nothing.
bool Trace::cast(const Instruction& i, std::uint32_t at) {
    const std::uint32_t to = lane(i.type), from = lane(i.index);
    if (to == types() || from == types() || stacks_[from].empty()) return false;
    const RegisterClass to_class = code_.classes[to], from_class = code_.classes[from];
    if (info_of(to_class).bytes != info_of(from_class).bytes) return false;
    if (to == from) return true;
    if (to_class == RegisterClass::p || to_class == RegisterClass::b) return false;
    const auto pops = static_cast<TypeId>(from), pushes = static_cast<TypeId>(to);
    return compute(at, {&pops, 1}, {&pushes, 1});
}

bool Trace::assign(const Instruction& i, std::uint32_t at) {
    const std::uint32_t slot = machine_.assigned_slot(i);
    if (slot == no_slot || stacks_[machine_.slots[slot].type].empty()) return false;
    Step& step = begin(at, Does::assign);
    take(step, pop(machine_.slots[slot].type));
    assigned_[slot] = now();
    return true;
}

bool Trace::rearrange(const Instruction& i, std::uint32_t at) {
    const std::uint32_t type = lane(i.type);
    if (type == types()) return false;
    Stack& stack = stacks_[type];
    const std::size_t depth = stack.size();
    switch (i.opcode) {
        case Opcode::dup:
        case Opcode::over:
        case Opcode::yank_dup: {
            const std::uint64_t down = i.opcode == Opcode::dup    ? 0u
                                       : i.opcode == Opcode::over ? 1u
                                                                  : i.payload;
            if (down >= depth) return false;
            Step& step = begin(at, Does::copy);
            step.before = static_cast<std::uint32_t>(down) + 1, step.after = 1;
            items_.insert(items_.end(), stack.end() - step.before, stack.end());
            items_.push_back(make(static_cast<TypeId>(type)));
            stack.push_back(items_.back());
            return true;
        }
        default: break;
    }
    // the top replaces itself: it goes
    if (i.opcode == Opcode::drop || i.opcode == Opcode::clear ||
        (i.opcode == Opcode::replace && i.payload == 0)) {
        if (i.opcode != Opcode::clear && depth == 0) return false;
        Step& step = begin(at, Does::drop);
        for (std::size_t n = i.opcode == Opcode::clear ? depth : 1; n-- > 0;) take(step, pop(type));
        return true;
    }
    // how many values, from the top, the word can move
    const std::uint64_t moved = i.opcode == Opcode::swap      ? 2u
                                : i.opcode == Opcode::rotate  ? 3u
                                : i.opcode == Opcode::reverse ? depth
                                                              : std::uint64_t{i.payload} + 1;
    if (moved > depth) return false;
    Step& step = begin(at, Does::rearrange);
    step.before = static_cast<std::uint32_t>(moved);
    items_.insert(items_.end(), stack.end() - step.before, stack.end());
    const bool replaces = i.opcode == Opcode::replace;
    if (replaces) lives_[stack[depth - moved]].end = now();
    Item* top = stack.data() + depth;
    (void)stack::rearrange(i, stack.data(), top);
    stack.resize(static_cast<std::size_t>(top - stack.data()));
    step.after = step.before - replaces;
    items_.insert(items_.end(), stack.end() - step.after, stack.end());
    return true;
}

bool Trace::store(const Instruction& i, std::uint32_t at) {
    const std::uint32_t type = lane(i.type);
    if (type == types() || i.payload >= cells_per_type || stacks_[type].empty()) return false;
    Step& step = begin(at, Does::store);
    take(step, pop(type));
    const std::uint32_t key = type * cells_per_type + i.payload;
    const Item stored = make(static_cast<TypeId>(type));
    items_.push_back(stored), step.after = 1;
    const auto cell =
        std::find_if(cells_.begin(), cells_.end(), [key](const auto& c) { return c.first == key; });
    if (cell == cells_.end())
        cells_.emplace_back(key, stored);
    else
        cell->second = stored;
    return true;
}

bool Trace::load(const Instruction& i, std::uint32_t at) {
    const std::uint32_t type = lane(i.type);
    if (type == types() || i.payload >= cells_per_type) return false;
    const std::uint32_t key = type * cells_per_type + i.payload;
    const auto cell =
        std::find_if(cells_.begin(), cells_.end(), [key](const auto& c) { return c.first == key; });
    if (cell == cells_.end()) return false;
    Step& step = begin(at, Does::load);
    items_.push_back(cell->second), step.before = 1;
    items_.push_back(make(static_cast<TypeId>(type))), step.after = 1;
    stacks_[type].push_back(items_.back());
    return true;
}

// As Runner::take_requests, run.cpp.
void Trace::take_requests() {
    for (std::uint32_t slot = static_cast<std::uint32_t>(machine_.slots.size()); slot-- > 0;) {
        const Slot& s = machine_.slots[slot];
        if (s.direction == Direction::in || assigned_[slot] != nobody || stacks_[s.type].empty()) continue;
        requested_.push_back(pop(s.type));
    }
}

// ---- backwards --------------------------------------------------------------------------------------------

void Trace::find_live() {
    const std::uint32_t end = now() + 1;
    for (Life& life : lives_) life.last_need = nobody, life.is_rest = false;
    for (const Item item : requested_) need(item, end);
    for (const Item item : forced_) need(item, lives_[item].end);
    for (std::uint32_t time = now(); time > 0; --time) find_live(steps_[time - 1], time);
}

void Trace::find_live(Step& step, std::uint32_t time) {
    const std::span<const Item> from = before(step), to = after(step);
    switch (step.does) {
        case Does::compute:
        case Does::store:
        case Does::load:
            step.is_live =
                step.has_effect || std::any_of(to.begin(), to.end(), [this](Item i) { return is_needed(i); });
            if (!step.is_live) break;
            for (const Item item : from) need(item, time);
            for (const Item item : to)
                if (!is_needed(item)) lives_[item].is_rest = true;
            break;
        case Does::assign:
            step.is_live = std::find(assigned_.begin(), assigned_.end(), time) != assigned_.end();
            if (step.is_live) need(from[0], time);
            break;
        case Does::copy:
            step.is_live = is_needed(to[0]);
            step.keeps_source = is_needed(from[0]);
            if (step.is_live) need(from[0], time);
            break;
        case Does::rearrange:
        case Does::drop: break;
    }
}

// ---- forwards again ---------------------------------------------------------------------------------------

bool Trace::rewrite(Trimmed& result) {
    for (std::uint32_t time = 1; time <= now(); ++time) {
        const Step& step = steps_[time - 1];
        const std::size_t size = result.code.size();
        if (!rewrite(step, time, result.code)) return false;
        const bool is_order = step.does == Does::rearrange && result.code.size() != size;
        if (is_order || (step.is_live && step.does != Does::drop && result.code.size() != size))
            result.live.push_back(step.at);
    }
    return true;
}

bool Trace::rewrite(const Step& step, std::uint32_t time, std::vector<Instruction>& code) {
    if (step.does == Does::copy) return rewrite_copy(step, time, code);
    if (step.does == Does::rearrange) return rewrite_order(step, time, code);
    if (step.is_live) return code.push_back(program_.code[step.at]), true;
    if (step.does == Does::load) return true;
    for (const Item item : before(step))
        if (exists(item, time)) code.push_back({Opcode::drop, lives_[item].type, 0, 0});
    return true;
}

// Where the source is not needed any more, it is moved.
bool Trace::rewrite_copy(const Step& step, std::uint32_t time, std::vector<Instruction>& code) {
    if (!step.is_live) return true;
    const std::span<const Item> from = before(step);
    const TypeId type = lives_[from[0]].type;
    const auto above = static_cast<std::uint32_t>(
        std::count_if(from.begin() + 1, from.end(), [&](Item item) { return exists(item, time); }));
    if (step.keeps_source) {
        constexpr std::array<Opcode, 2> words = {Opcode::dup, Opcode::over};
        code.push_back(above < words.size() ? Instruction{words[above], type, 0, 0}
                                            : Instruction{Opcode::yank_dup, type, 0, above});
        return true;
    }
    constexpr std::array<Opcode, 3> words = {Opcode::dup, Opcode::swap, Opcode::rotate};
    if (above >= words.size()) return force(from[0]);
    if (above != 0) code.push_back({words[above], type, 0, 0});
    return true;
}

// What stays of the order before and of that behind, and the words that make one of the other.
bool Trace::rewrite_order(const Step& step, std::uint32_t time, std::vector<Instruction>& code) {
    const std::span<const Item> from = before(step), to = after(step);
    if (to.empty()) return true;
    const TypeId type = lives_[from[0]].type;
    const Instruction& word = program_.code[step.at];
    std::vector<Item> here, there;
    for (const Item item : from)
        if (exists(item, time)) here.push_back(item);
    for (const Item item : to)
        if (exists(item, time)) there.push_back(item);
    const auto add = [&](Opcode opcode, std::size_t depth = 0) {
        code.push_back({opcode, type, 0, static_cast<std::uint32_t>(depth)});
        return true;
    };
    const std::size_t count = here.size();
    if (word.opcode == Opcode::replace && count != there.size()) {  // what it replaces lies there
        if (exists(from.back(), time)) return add(Opcode::replace, count - 1);
        if (count == 1) return add(Opcode::drop);
        if (count == 2) return add(Opcode::swap), add(Opcode::drop);
        return force(from.back());
    }
    if (here == there) return true;
    if (count == 2) return add(Opcode::swap);
    if (word.opcode == Opcode::reverse) return add(Opcode::reverse);
    if (here.front() == there.back() && here.back() == there.front())
        return add(Opcode::swap_with, count - 1);
    if (count == 3) {
        if (here.front() != there.back()) add(Opcode::rotate);
        return add(Opcode::rotate);
    }
    // One of the two that a word exchanges is gone, and too many lie between.
    return force(exists(from.front(), time) ? from.back() : from.front());
}

}  // namespace

Trimmed trim(ProgramView program, const Machine& machine, const CompileOptions& options) {
    return Trace(program, MachineData::of(machine), options).trim();
}

}  // namespace ptxgraft::stack
