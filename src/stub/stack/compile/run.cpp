// Symbolic execution: instructions, routines, and what operands receive at the end.

#include <cstddef>
#include <memory>
#include <new>

#include "base/try.hpp"
#include "stub/stack/compile/diagnose.hpp"
#include "stub/stack/compile/runner.hpp"
#include "stub/stack/evaluate/arithmetic_of.hpp"

namespace ptxgraft::stack {

// ---- memory -----------------------------------------------------------------------------------------------

void Runner::take_memory(const Bound& bound, Arena& arena) {
    const std::size_t slots = machine_.slots.size();
    nodes_ = arena.take<Node>(bound.nodes + 1);
    flow_.names = arena.take<Name>(bound.nodes + 1);
    std::copy(machine_.inputs.begin(), machine_.inputs.end(), nodes_);
    flow_.name_of = arena.take<const Name*>(bound.nodes + 1);
    for (std::size_t s = 0; s < slots; ++s) flow_.name_of[s] = machine_.names.data() + s;
    flow_.live = arena.take<NodeId>(bound.nodes + 1);
    count_ = static_cast<NodeId>(slots);
    extra_ = arena.take<std::uint32_t>(bound.values + 1);
    NodeId* const stacks = arena.take<NodeId>(types_ * bound.values);
    for (std::uint32_t t = 0; t < types_; ++t) top_[t] = floor_[t] = stacks + t * bound.values;
    top_[no_stack] = floor_[no_stack] = &nothing_;
    cells_ = arena.take<Cell>(bound.values + 1);
    save_at_ = arena.take<std::uint32_t>(saved_words(bound, machine_));
    flow_.values = arena.take<NodeId>(slots + 1);
    std::fill_n(flow_.values, slots, no_node);
    assignments_ = arena.take<Assignment>(slots + 1);
    if (bound.has_brackets) {
        matches_ = arena.take<std::uint32_t>(program_.code.size() + 1);
        match_brackets(program_.code, matches_);
        for (std::size_t r = 0; r < std::min<std::size_t>(program_.routines.size(), max_routines); ++r) {
            std::uint32_t* const matches = arena.take<std::uint32_t>(program_.routines[r].code.size() + 1);
            match_brackets(program_.routines[r].code, matches);
            routine_matches_[r] = matches;
        }
    }
    if (options_.reuse) {
        const std::uint64_t size = reuse_slots(bound.nodes);
        shared_ = arena.take<NodeId>(size);
        shared_mask_ = size - 1;
        std::fill_n(shared_, size, no_node);
    }
}

// ---- instructions -----------------------------------------------------------------------------------------

inline bool Runner::apply_shape(const RowTable<Shape>& table, std::uint64_t word) {
    const Shape& shape = table.find(word);
    const std::uint32_t a = shape.stacks[0], b = shape.stacks[1];
    NodeId* const place = top_[a] - shape.pops[0];
    NodeId* const below = top_[b] - shape.pops[1];
    if (((place - floor_[a]) | (below - floor_[b])) < 0) return false;
    const NodeId id = count_;
    // all that a store might be thought to change is read before
    const NodeId* const tops[] = {top_[shape.arguments[0]], top_[shape.arguments[1]],
                                  top_[shape.arguments[2]], top_[shape.arguments[3]]};
    const NodeId first = tops[0][shape.depths[0]], second = tops[1][shape.depths[1]],
                 third = tops[2][shape.depths[2]], fourth = tops[3][shape.depths[3]];
    const std::uint64_t fixed = shape.node;
    const NodeId value = (id & ~shape.is_input) | (shape.slot & shape.is_input);
    const std::uint32_t is_constant = shape.is_constant;
    count_ = id + 1 + shape.is_input;
    top_[a] = place + 1;
    top_[b] = below;
    *place = value;
    Node& n = nodes_[id];
    // One by one: as a block they would have to wait for the pushes before. (Compiled without vectors of
    // scalars, see CMakeLists.txt.)
    n.args[0] = (first & ~is_constant) | (high_half(word) & is_constant);
    n.args[1] = second & ~is_constant;
    n.args[2] = third;
    n.args[3] = fourth;
    std::memcpy(&n.entry, &fixed, sizeof fixed);
    n.target = no_node;
    return true;
}

bool Runner::push_input(const Instruction& i, const Scope& scope) {
    if (!scope.is_program || i.index >= operand_count_ || i.payload >= operands_[i.index].readable)
        return false;
    push(operands_[i.index].type, operands_[i.index].first + i.payload);  // the node of a slot has its number
    return true;
}

inline bool Runner::push_constant(TypeId type, std::uint64_t bits) {
    const std::uint32_t stack = lane(type);
    if (stack == types_ || stack == type_b8 || stack == type_b128) return false;
    push(stack, constant(static_cast<TypeId>(stack), bits));
    return true;
}

inline bool Runner::apply(const Instruction& i) {
    return present_[i.index] != Present::no && apply_general(entries_[i.index], i);
}

// Whether each stack holds as many values as the entry pops.
bool Runner::has_arguments(const EntryCode& e) const {
    const auto inputs = code_.inputs_of(e);
    return std::all_of(inputs.begin(), inputs.end(), [this](const InputCode& input) {
        return input.is_immediate || room(input.stack) >= input.depth;
    });
}

// A number as the operand takes it: any bits are one.
std::uint32_t Runner::immediate(const InputCode& input, std::uint32_t bits) const {
    const std::int64_t value = static_cast<std::int32_t>(bits);
    if (input.low == INT64_MIN || input.high == INT64_MAX) return bits;
    const auto steps = static_cast<std::uint64_t>((input.high - input.low) / input.step) + 1;
    if (value >= input.low && value <= input.high && (value - input.low) % input.step == 0) return bits;
    return static_cast<std::uint32_t>(input.low + static_cast<std::int64_t>(bits % steps) * input.step);
}

// A register of the exact type that an operand wants: operands of the site may be declared otherwise.
NodeId Runner::copied(NodeId argument, TypeId type) {
    const NodeId copy = add(NodeKind::cast, type);
    nodes_[copy].args[0] = argument;
    return copy;
}

// Whether a value can only stand in a register of ours, as constants that are no literals do, and results
// that want an exact type themselves.
bool Runner::has_own_register(const Node& n) const {
    return n.kind == NodeKind::constant || (n.kind == NodeKind::form && entries_[n.entry].exact_output);
}

void Runner::pop_arguments(const EntryCode& e, const Instruction& i, std::uint32_t* to) {
    const auto inputs = code_.inputs_of(e);
    std::uint32_t immediates = 0;
    for (std::size_t k = e.inputs; k-- > 0;) {
        if (!inputs[k].is_immediate) {
            to[k] = pop(inputs[k].stack);
            if (inputs[k].is_exact && inputs[k].stack != type_b8 && !has_own_register(nodes_[to[k]]))
                to[k] = copied(to[k], inputs[k].stack);
            continue;
        }
        // the last stands in the instruction, those before it in the pool
        std::uint32_t bits = i.payload;
        if (immediates++ != 0)
            bits = program_.pool.empty()
                       ? 0
                       : low_half(program_.pool[(i.type + immediates - 2) % program_.pool.size()]);
        to[k] = immediate(inputs[k], bits);
    }
}

bool Runner::apply_general(const EntryCode& e, const Instruction& i) {
    if (e.is_special) return push_special(e), true;
    if (!has_arguments(e)) return false;
    if (e.is_inline) {
        std::uint32_t arguments[EntryCode::inline_inputs];
        pop_arguments(e, i, arguments);
        NodeId node = add(NodeKind::form, e.type, i.index);
        std::copy_n(arguments, e.inputs, nodes_[node].args);
        if (options_.fold && fold(e, node)) return true;
        if (e.outputs == 1) node = shared(node);
        push_results(e, node);
        return true;
    }
    const std::uint32_t place = extra_count_;
    extra_count_ += 1u + e.inputs;
    pop_arguments(e, i, extra_ + place + 1);
    extra_[place] = e.effects == 0 ? no_node : guard();
    const NodeId node = add(NodeKind::form, e.outputs == 0 ? TypeId{0} : e.type, i.index);
    nodes_[node].args[0] = place;
    if (extra_[place] != never_executed) flow_.effects |= e.effects;
    push_results(e, node);
    return true;
}

// The first result is the form's node, the others follow it.
void Runner::push_results(const EntryCode& e, NodeId form) {
    if (e.outputs == 0) return;
    push(e.type, form);
    const TypeId* const stacks = code_.output_stacks.data() + code_.output_bases[e.at];
    for (std::uint32_t k = 1; k < e.outputs; ++k) {
        const NodeId result = add(NodeKind::result, stacks[k]);
        nodes_[result].args[0] = form;
        nodes_[result].args[1] = k;
        push(stacks[k], result);
    }
}

void Runner::push_special(const EntryCode& e) {
    for (std::uint32_t k = 0; k < special_count_ && !e.is_ordered; ++k)
        if (specials_[k].first == e.at) return push(e.type, specials_[k].second);
    const NodeId node = add(NodeKind::special, e.type, e.at);
    if (!e.is_ordered && special_count_ < specials_.size()) specials_[special_count_++] = {e.at, node};
    push(e.type, node);
}

// Computes a form of constants. Its node, the last, becomes the constant.
bool Runner::fold(const EntryCode& e, NodeId form) {
    if (e.outputs != 1 || e.effects != 0) return false;
    const auto inputs = code_.inputs_of(e);
    std::uint64_t bits[EntryCode::inline_inputs];
    for (std::size_t k = 0; k < e.inputs; ++k) {
        const std::uint32_t argument = nodes_[form].args[k];
        if (inputs[k].is_immediate) {
            bits[k] = argument;
            continue;
        }
        if (nodes_[argument].kind != NodeKind::constant) return false;
        bits[k] = nodes_[argument].bits();
    }
    const auto result = fold_entry(code_.arithmetic->of(e, code_), {bits, e.inputs});
    if (!result) return false;
    count_ = form;
    push(e.type, constant(e.type, narrowed(code_.bases[e.type], *result)));
    return true;
}

namespace {

// What tells nodes apart.
struct NodeKey {
    explicit NodeKey(const Node& n) {
        std::memcpy(&low, n.args, sizeof low);
        std::memcpy(&high, n.args + 2, sizeof high);
        std::memcpy(&kind, &n.entry, sizeof kind);
    }
    [[nodiscard]] std::uint64_t hash() const {
        constexpr std::uint64_t odd = 0x9E3779B97F4A7C15u, other = 0xD1342543DE82EF95u;
        const std::uint64_t mixed = (low + kind) * odd ^ (high ^ std::uint64_t{kind} << 32) * other;
        return (mixed ^ mixed >> 32) * odd >> 32;
    }
    friend bool operator==(const NodeKey&, const NodeKey&) = default;

    std::uint64_t low, high;
    std::uint32_t kind;  ///< with type and entry
};
static_assert(offsetof(Node, type) - offsetof(Node, entry) == 3);

}  // namespace

// Local value numbering: a node equal to one made before is taken back, and that one stands for it.
NodeId Runner::find_shared(NodeId node) {
    Node& n = nodes_[node];
    std::size_t used = 0;
    switch (n.kind) {
        case NodeKind::form: used = entries_[n.entry].inputs; break;
        case NodeKind::constant: used = 2; break;
        case NodeKind::select: used = 3; break;
        default: used = n.kind == NodeKind::and_ ? 2 : 1;
    }
    std::fill(n.args + used, std::end(n.args), 0u);
    const NodeKey key(n);
    for (std::uint64_t at = key.hash() & shared_mask_;; at = (at + 1) & shared_mask_) {
        if (shared_[at] == no_node) return shared_[at] = node;
        if (NodeKey(nodes_[shared_[at]]) != key) continue;
        count_ = node;
        return shared_[at];
    }
}

// What apply_shape has just pushed, a new node, becomes a constant or an equal node that was made before.
void Runner::look_back() {
    const NodeId id = count_ - 1;
    const Node& n = nodes_[id];
    const TypeId stack = n.type;
    if (n.kind == NodeKind::constant) {
        if (options_.constants == Constants::literals) top_[stack][-1] = shared(id);
        return;
    }
    const EntryCode& e = entries_[n.entry];
    if (options_.fold && has_constants(n, e)) {
        pop(stack);
        if (fold(e, id)) return;
        push(stack, id);
    }
    top_[stack][-1] = shared(id);
}

// Whether all arguments are constants, of a form without immediates.
bool Runner::has_constants(const Node& form, const EntryCode& e) const {
    for (std::uint32_t k = 0; k < e.inputs; ++k)
        if (nodes_[form.args[k]].kind != NodeKind::constant) return false;
    return true;
}

bool Runner::assign(const Instruction& i, const Scope& scope) {
    const std::uint32_t slot = scope.is_program ? machine_.assigned_slot(i) : no_slot;
    if (slot == no_slot) return false;
    const std::uint32_t type = machine_.slots[slot].type;
    if (room(type) == 0) {
        if (options_.empty == Empty::error && !must_)
            error_ = tl::unexpected(diagnose_request(machine_, slot, 0));
        return false;
    }
    if (flow_.values[slot] != no_node && must_) return false;
    flow_.values[slot] = pop(type);
    return true;
}

// Half-precision instructions take no register that is declared as an integer, as operands of the site may
// be; those of ours are not.
bool Runner::may_be_integer(NodeId value, RegisterClass c) const {
    if (nodes_[value].kind == NodeKind::input) return is_integer(machine_.slots[value].declared);
    return !is_half(code_.bases[nodes_[value].type]) && machine_.has_integers[index_of(c)];
}

// The same bits under another type.
bool Runner::cast(const Instruction& i) {
    const std::uint32_t to = lane(i.type), from = lane(i.index);
    if (to == types_ || from == types_) return false;
    const RegisterClass to_class = code_.classes[to], from_class = code_.classes[from];
    if (info_of(to_class).bytes != info_of(from_class).bytes) return false;
    if (to != from && (to_class == RegisterClass::p || to_class == RegisterClass::b)) return false;
    if (room(from) == 0) return false;
    const NodeId value = pop(from);
    if (to == from) return push(to, value), true;
    if (nodes_[value].kind == NodeKind::constant)
        return push(to, constant(static_cast<TypeId>(to), nodes_[value].bits())), true;
    if (to_class == from_class && !(is_half(code_.bases[to]) && may_be_integer(value, to_class)))
        return push(to, value), true;
    const NodeId node = add(NodeKind::cast, static_cast<TypeId>(to));
    nodes_[node].args[0] = value;
    push(to, shared(node));
    return true;
}

inline bool Runner::rearrange(const Instruction& i) {
    const std::uint32_t type = lane(i.type);
    return type != types_ && stack::rearrange(i, floor_[type], top_[type]);
}

bool Runner::store(const Instruction& i) {
    const std::uint32_t type = lane(i.type);
    if (type == types_ || i.payload >= cells_per_type || room(type) == 0) return false;
    const std::uint32_t key = type * cells_per_type + i.payload;
    const NodeId value = pop(type);
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k)
        if (cells_[k].key == key) return cells_[k].node = value, true;
    cells_[cell_count_++] = {key, value};
    return true;
}

bool Runner::load(const Instruction& i) {
    const std::uint32_t type = lane(i.type);
    if (type == types_ || i.payload >= cells_per_type) return false;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k)
        if (cells_[k].key == type * cells_per_type + i.payload && cells_[k].node != no_node)
            return push(type, cells_[k].node), true;
    return false;
}

// ---- routines ---------------------------------------------------------------------------------------------

// Arguments are popped, the last first, into stacks of the routine's own; its results leave in the same way.
bool Runner::call(const Instruction& i, const Scope& scope) {
    if (i.index >= std::min(scope.routines, max_routines)) return false;
    const Routine& routine = program_.routines[i.index];
    if (!fits(routine.arguments) || !fits(routine.results)) return false;
    auto floors = floor_;
    for (const TypeId t : routine.arguments)
        if (++floors[lane(t)] > top_[lane(t)]) return false;
    if (!may_nest()) return false;
    ++calls_;
    // by value: what the caller pushed is the routine's from here on
    floors = floor_;
    std::copy_n(top_.begin(), types_, floor_.begin());
    for (const TypeId t : routine.arguments) --floor_[lane(t)];
    const std::uint32_t cell_floor = std::exchange(cell_floor_, cell_count_);
    const Scope inner{routine.code, matches_ == nullptr ? nullptr : routine_matches_[i.index], i.index,
                      false};
    if (!execute<false>(inner)) return false;
    if (!take_results(routine, i.index)) return false;
    floor_ = floors;
    cell_count_ = std::exchange(cell_floor_, cell_floor);
    --calls_;
    return true;
}

bool Runner::fits(std::span<const TypeId> types) const {
    return types.size() <= max_parameters &&
           std::all_of(types.begin(), types.end(), [this](TypeId t) { return lane(t) != types_; });
}

// Leaves a routine's results in the place of its arguments. What it does not leave is zero; of the types
// without constants it is not there.
bool Runner::take_results(const Routine& routine, std::uint32_t index) {
    std::array<NodeId, max_parameters> results;
    for (std::size_t k = routine.results.size(); k-- > 0;) {
        const std::uint32_t type = lane(routine.results[k]);
        if (room(type) == 0 && (must_ || collects_)) {
            const Error error =
                fail(Errc::stack_routine_wrong, "routine " + routine.name + " leaves no " +
                                                    std::string(machine_.set->type_name(routine.results[k])) +
                                                    " for its results")
                    .value();
            note(error, index, static_cast<std::uint32_t>(routine.code.size()));
            if (must_) return error_ = tl::unexpected(error), false;
        }
        const bool has_zero = type != type_b8 && type != type_b128;
        results[k] = room(type) != 0 ? pop(type)
                     : has_zero      ? constant(static_cast<TypeId>(type), 0)
                                     : no_node;
    }
    std::copy_n(floor_.begin(), types_, top_.begin());
    for (std::size_t k = 0; k < routine.results.size(); ++k)
        if (results[k] != no_node) push(lane(routine.results[k]), results[k]);
    return true;
}

// ---- the loop ---------------------------------------------------------------------------------------------

// Inputs, constants of 32 bits and most forms are executed in one way, without a branch on which of them it
// is: what comes next in a random program cannot be guessed. Where its arguments are missing, or it is of
// another kind, the switch goes on.
template <bool has_brackets, bool watches, bool looks_back> bool Runner::execute(const Scope& scope) {
    const auto size = static_cast<std::uint32_t>(scope.code.size());
    const Instruction* const code = scope.code.data();
    std::array<RowTable<Shape>, plain_opcodes> tables = machine_.shapes;
    if (!scope.is_program)
        tables[static_cast<std::size_t>(Opcode::input)].count = 0,
        tables[static_cast<std::size_t>(Opcode::input)].rows += machine_.operands.size();
    for (std::uint32_t at = 0; at < size; ++at) {
        std::uint64_t word;
        std::memcpy(&word, code + at, sizeof word);
        if ((word & 0xFF) < plain_opcodes && apply_shape(tables[word & 0xFF], word)) [[likely]] {
            if (looks_back && (word & 0xFF) != static_cast<std::uint64_t>(Opcode::input)) look_back();
            if (watches && scope.is_program) watch(at);
            continue;
        }
        const Instruction& i = code[at];
        bool done = false;
        switch (i.opcode) {
            case Opcode::input: done = push_input(i, scope); break;
            case Opcode::form: done = apply(i); break;
            case Opcode::constant:
                done = i.type < types_ && push_constant(i.type, widened(code_.bases[i.type], i.payload));
                break;
            case Opcode::assign: done = assign(i, scope); break;
            case Opcode::dup:
            case Opcode::swap:
            case Opcode::drop:
            case Opcode::over:
            case Opcode::rotate:
            case Opcode::reverse:
            case Opcode::clear:
            case Opcode::yank_dup:
            case Opcode::swap_with:
            case Opcode::replace: done = rearrange(i); break;
            case Opcode::cast: done = cast(i); break;
            case Opcode::pooled: done = push_pooled(i); break;
            case Opcode::store: done = store(i); break;
            case Opcode::load: done = load(i); break;
            case Opcode::call: done = call(i, scope); break;
            case Opcode::repeat: done = has_brackets && open_repeat(scope, at); break;
            case Opcode::if_: done = has_brackets && open_if(scope, at); break;
            case Opcode::else_: done = has_brackets && turn(scope, at); break;
            case Opcode::end: done = has_brackets && close(scope, at); break;
        }
        if (!done && !miss(i, at, scope)) return false;
        if (watches && scope.is_program) watch(at);
    }
    return true;
}

template <bool watches> bool Runner::execute(const Scope& scope) {
    const bool looks_back = options_.fold || shared_ != nullptr;
    if (matches_ != nullptr)
        return looks_back ? execute<true, watches, true>(scope) : execute<true, watches, false>(scope);
    return looks_back ? execute<false, watches, true>(scope) : execute<false, watches, false>(scope);
}

// Something is missing: an error, or nothing happens.
bool Runner::miss(const Instruction& i, std::uint32_t at, const Scope& scope) {
    const std::uint32_t routine = scope.is_program ? Fault::program : scope.routines;
    if (!error_) {
        error_.error().index = at;
        if (faults_.empty()) note(error_.error(), routine, at);
        return false;
    }
    if (must_ || collects_) {
        const Error error = why(i, at, scope);
        note(error, routine, at);
        if (must_) return error_ = tl::unexpected(error), false;
    }
    if (flow_.skipped++ == 0) flow_.first_skipped = scope.is_program ? at : 0;
    return true;
}

Error Runner::why(const Instruction& i, std::uint32_t at, const Scope& scope) const {
    std::array<std::uint32_t, max_types> rooms{};
    for (std::uint32_t t = 0; t < types_; ++t) rooms[t] = room(t);
    const Situation situation{
        machine_, program_.routines.first(std::min<std::size_t>(scope.routines, program_.routines.size())),
        rooms, scope.is_program};
    return diagnose(i, at, situation);
}

// Once for each place, however often it is executed.
void Runner::note(const Error& error, std::uint32_t routine, std::uint32_t at) {
    if (!collects_) return;
    const bool is_known = std::any_of(faults_.begin(), faults_.end(),
                                      [&](const Fault& f) { return f.routine == routine && f.at == at; });
    if (!is_known && faults_.size() < most_faults) faults_.push_back({error, routine, at});
}

bool Runner::push_pooled(const Instruction& i) {
    if (i.type >= types_) return false;
    const std::uint64_t bits = program_.pool.empty() ? 0 : program_.pool[i.payload % program_.pool.size()];
    return push_constant(i.type, narrowed(code_.bases[i.type], bits));
}

// ---- after the program ------------------------------------------------------------------------------------

// Each operand that is not assigned takes the top of its stack, the last one first.
Expected<void> Runner::take_requests() {
    for (std::uint32_t slot = static_cast<std::uint32_t>(machine_.slots.size()); slot-- > 0;) {
        const Slot& s = machine_.slots[slot];
        if (s.direction == Direction::in || flow_.values[slot] != no_node) continue;
        if (room(s.type) != 0) {
            flow_.values[slot] = pop(s.type);
            continue;
        }
        if (options_.empty == Empty::error)
            return tl::unexpected(
                diagnose_request(machine_, slot, static_cast<std::uint32_t>(program_.code.size())));
        if (options_.empty == Empty::zero && s.direction == Direction::mod)
            flow_.values[slot] = constant(s.type, 0);
    }
    return {};
}

// Every `out` is assigned.
Expected<void> Runner::finish() {
    if (options_.requests == Requests::top) TRY(take_requests());
    for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot) {
        if (machine_.slots[slot].direction == Direction::out && flow_.values[slot] == no_node) {
            if (options_.empty == Empty::error)
                return tl::unexpected(
                    diagnose_output(machine_, slot, static_cast<std::uint32_t>(program_.code.size())));
            flow_.values[slot] = constant(machine_.slots[slot].type, 0);
        }
        if (flow_.values[slot] != no_node) assignments_[assignment_count_++] = {slot, flow_.values[slot]};
    }
    for (std::uint32_t t = 0; t < types_; ++t) flow_.leftover += room(t);
    return {};
}

// ---- all --------------------------------------------------------------------------------------------------

bool Runner::execute_program() {
    const Scope scope{program_.code, matches_, static_cast<std::uint32_t>(program_.routines.size()), true};
    return watched_ != no_place ? execute<true>(scope) : execute<false>(scope);
}

Expected<Dataflow> Runner::run() {
    if (!execute_program()) return tl::unexpected(error_.error());
    TRY(finish());
    mark();
    choose_targets();
    flow_.graph = {{nodes_, count_}, {extra_, extra_count_}, {assignments_, assignment_count_}};
    return flow_;
}

// A stack with values left; types_ when there is none.
std::uint32_t Runner::leftover_type() const {
    for (std::uint32_t t = 0; t < types_; ++t)
        if (room(t) != 0) return t;
    return no_place;
}

std::vector<Fault> find_faults(ProgramView program, const Machine& machine, const CompileOptions& options) {
    const Machine::Data& data = MachineData::of(machine);
    const Bound bound = bound_of(program, data);
    if (passes(bound, options.limits)) return {};
    const std::size_t size = bytes_of(bound, program, data, options);
    const std::unique_ptr<std::byte[]> memory(new (std::nothrow) std::byte[size + 64]);
    if (memory == nullptr) return {};
    Arena arena({memory.get(), size + 64});
    return Runner(program, data, bound, options, arena).faults();
}

Expected<Dataflow> run(ProgramView program, const Machine::Data& machine, const Bound& bound,
                       const CompileOptions& options, Arena& arena) {
    Arena again = arena;
    Runner runner(program, machine, bound, options, arena);
    auto flow = runner.run();
    if (!flow || flow->leftover == 0 || options.leftover == Leftover::allow) return flow;
    const std::uint32_t type = runner.leftover_type(), count = runner.depth_of(type);
    Runner watcher(program, machine, bound, options, again);
    const std::uint32_t at = watcher.origin_of_top(type, count);
    return tl::unexpected(diagnose_leftover(machine.set->type_name(static_cast<TypeId>(type)), at, count));
}

}  // namespace ptxgraft::stack
