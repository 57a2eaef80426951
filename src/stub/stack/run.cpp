#include "stub/stack/run.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

#include "stub/stack/diagnose.hpp"
#include "stub/stack/fold.hpp"
#include "stub/stack/writer.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t no_match = 0xFFFFFFFFu;
constexpr std::uint32_t no_place = 0xFFFFFFFFu;
constexpr std::size_t max_parameters = 256;  // of a routine

// `selp` has no form for preds, .b8 and .b128.
bool select_takes_literals(RegisterClass c) { return c != RegisterClass::p && c != RegisterClass::b && c != RegisterClass::q; }

std::uint32_t low_half(std::uint64_t bits) { return static_cast<std::uint32_t>(bits); }
std::uint32_t high_half(std::uint64_t bits) { return static_cast<std::uint32_t>(bits >> 32); }

// One open bracket.
struct Frame {
    std::uint32_t begin;       // of a repeat: its place
    std::uint32_t left;        // rounds to go
    std::uint32_t* at_begin;   // of an `if`: the state at its begin
    std::uint32_t* first_arm;  // and that at the end of its first arm; null before
    NodeId pred;               // no_node: it is known, and only one arm is executed
    NodeId guard;              // what instructions with effects in this arm are executed under, made when one comes
    bool is_if;
};

// Of one run of code: the program's, or a routine's.
struct Scope {
    std::span<const Instruction> code;
    const std::uint32_t* matches;    // by place of a bracket: of its `else` or `end`; null when there are none
    std::uint32_t routines;          // routines that it may call: those before it
    bool is_program;
};

// The part of an f32 constant's node that is always the same.
const std::uint64_t f32_constant = [] {
    Node n{};
    n.kind = NodeKind::constant;
    n.type = type_id(Type::f32);
    n.last_use = not_used;
    std::uint64_t bits;
    std::memcpy(&bits, &n.entry, sizeof bits);
    return bits;
}();

// ", 0f3F800000", made and stored as one block
inline Name f32_name(std::uint32_t bits) {
    // its eight digits, the first in the lowest byte
    std::uint64_t digits = __builtin_bswap32(bits);
    digits = (digits | digits << 16) & 0x0000FFFF0000FFFFu;
    digits = (digits | digits << 8) & 0x00FF00FF00FF00FFu;
    digits = (digits >> 4 & 0x000F000F000F000Fu) | (digits & 0x000F000F000F000Fu) << 8;
    const std::uint64_t letters = (digits + 0x0606060606060606u) >> 4 & 0x0101010101010101u;
    digits += 0x3030303030303030u + letters * ('A' - '0' - 10);
    constexpr std::uint64_t begin = ',' | ' ' << 8 | '0' << 16 | std::uint64_t{'f'} << 24, length = 12;
    using Block [[gnu::vector_size(16)]] = std::uint64_t;
    return std::bit_cast<Name>(Block{begin | digits << 32, digits >> 32 | length << 56});
}

// The literal of a constant, where it is short.
void name_constant(Name& name, Type type, std::uint64_t bits) {
    if (type == Type::f32) {
        name = f32_name(low_half(bits));
        return;
    }
    name.length = Name::is_long;
    if (type == Type::f64 || high_half(bits) != 0) return;
    char text[Writer::room + Name::most];
    Writer out(text);
    if (type == Type::s16) out.integer(static_cast<std::int16_t>(bits));
    else if (type == Type::s32) out.integer(static_cast<std::int32_t>(bits));
    else out.number(low_half(bits));
    std::memcpy(name.text, ", ", Name::prefix);
    std::memcpy(name.text + Name::prefix, text, Name::most);
    name.length = static_cast<std::uint8_t>(Name::prefix + static_cast<std::size_t>(out.end() - text));
}

class Runner {
  public:
    Runner(ProgramView program, const Machine::Data& machine, const Bound& bound, const CompileOptions& options, Arena& arena)
        : program_(program), machine_(machine), code_(*machine.code), entries_(code_.entries.data()), present_(machine.present->data()),
          operands_(machine.operands.data()), operand_count_(static_cast<std::uint32_t>(machine.operands.size())), options_(options), types_(code_.type_count), must_(options.missing == Missing::error) {
        take_memory(bound, arena);
    }

    Expected<Dataflow> run();

    [[nodiscard]] std::uint32_t leftover_type() const;
    [[nodiscard]] std::uint32_t depth_of(std::uint32_t type) const { return depth_[type]; }
    /// For messages: executes the program and says which instruction pushed the value that ends as the `depth`th of a stack.
    [[nodiscard]] std::uint32_t origin_of_top(std::uint32_t type, std::uint32_t depth) {
        watched_ = type;
        watched_depth_ = depth;
        (void)execute_program();
        return origin_;
    }

  private:
    void take_memory(const Bound& bound, Arena& arena);
    void match_brackets(std::span<const Instruction> code, std::uint32_t* matches) const;

    bool execute_program();
    template <bool has_brackets, bool watches>
    bool execute(const Scope& scope);
    bool miss(const Instruction& i, std::uint32_t at, const Scope& scope);
    void watch(std::uint32_t at) {
        const NodeId value = depth_[watched_] >= watched_depth_ ? stacks_[watched_][watched_depth_ - 1] : no_node;
        if (value != no_node && value != stood_) origin_ = at;
        stood_ = value;
    }

    bool push_constant(TypeId type, std::uint64_t bits);
    bool apply(const Instruction& i);
    bool apply_general(const EntryCode& e, const Instruction& i);
    void push_special(const EntryCode& e);
    bool has_arguments(const EntryCode& e) const;
    void pop_arguments(const EntryCode& e, const Instruction& i, std::uint32_t* to);
    std::uint32_t immediate(const InputCode& input, std::uint32_t bits) const;
    NodeId copied(NodeId argument, TypeId type);
    void push_results(const EntryCode& e, NodeId form);
    bool fold(const EntryCode& e, NodeId form);
    bool assign(const Instruction& i, const Scope& scope);
    bool cast(const Instruction& i);
    bool rearrange(const Instruction& i);
    bool rearrange_at_depth(const Instruction& i);
    bool store(const Instruction& i);
    bool load(const Instruction& i);
    bool push_pooled(const Instruction& i);
    bool call(const Instruction& i, const Scope& scope);
    [[nodiscard]] bool fits(std::span<const TypeId> types) const;
    bool take_results(const Routine& routine);

    // --- brackets
    bool may_nest();
    bool open_repeat(const Scope& scope, std::uint32_t& at);
    bool open_if(const Scope& scope, std::uint32_t& at);
    bool turn(const Scope& scope, std::uint32_t& at);
    bool close(const Scope& scope, std::uint32_t& at);
    std::uint32_t* save(std::uint32_t* to) const;
    void restore(const std::uint32_t* from);
    NodeId chosen(NodeId pred, NodeId a, NodeId b);
    bool merge(const Frame& frame);
    template <class Select>
    const std::uint32_t* merge_cells(const std::uint32_t* other, Select select);
    template <class Select>
    bool merge_slot(std::uint32_t slot, NodeId there, Select select);
    NodeId guard();

    // --- nodes
    bool is_type(std::uint32_t type) const { return type < types_ && stack_of(static_cast<TypeId>(type)) == type; }
    // The stack of a type byte; types_ when there is none.
    std::uint32_t lane(std::uint32_t type) const { return type < types_ ? stack_of(static_cast<TypeId>(type)) : types_; }
    std::uint32_t room(std::uint32_t type) const { return depth_[type] - floor_[type]; }
    NodeId add(NodeKind kind, TypeId type, std::uint32_t entry = 0) {
        Node& n = nodes_[count_];
        n.entry = static_cast<std::uint16_t>(entry);
        n.kind = kind;
        n.type = type;
        n.last_use = not_used;
        n.target = no_node;
        return count_++;
    }
    // After a node's arguments stand: the same node made before, if sharing is asked for.
    NodeId shared(NodeId node) { return shared_ == nullptr ? node : find_shared(node); }
    NodeId find_shared(NodeId node);
    void push(std::uint32_t type, NodeId node) { stacks_[type][depth_[type]++] = node; }
    NodeId pop(std::uint32_t type) { return stacks_[type][--depth_[type]]; }
    NodeId constant(TypeId type, std::uint64_t bits) {
        const NodeId node = add(NodeKind::constant, type);
        nodes_[node].args[0] = low_half(bits);
        nodes_[node].args[1] = high_half(bits);
        flow_.name_of[node] = flow_.names + node;
        name_constant(flow_.names[node], static_cast<Type>(code_.bases[type]), bits);
        return shared(node);
    }
    std::uint32_t slot_of(const Instruction& i) const {
        if (i.index >= operand_count_) return no_place;
        const OperandCode& operand = operands_[i.index];
        return i.payload < operand.count ? operand.first + i.payload : no_place;
    }

    // --- after the program
    Expected<void> take_requests();
    Expected<void> finish();

    // --- mark
    void mark();
    void use(NodeId node, std::uint32_t user) {
        if (nodes_[node].last_use == not_used) nodes_[node].last_use = user;
    }
    void use_any(NodeId node, std::uint32_t user, bool takes_literal);
    void mark_form(const Node& n, NodeId id);
    [[nodiscard]] bool takes_literal(const EntryCode& e, std::uint32_t k, const Node& argument) const {
        if ((e.ranged >> k & 1) == 0) return (e.literals >> k & 1) != 0;
        return stack::takes_literal(code_.inputs[code_.input_bases[e.at] + k], argument);
    }
    [[nodiscard]] static bool takes_literal(const InputCode& input, const Node& argument) { return stack::takes_literal(input, argument); }
    void choose_targets();

    const ProgramView program_;
    const Machine::Data& machine_;
    const InstructionSet::Code& code_;
    const EntryCode* const entries_;
    const Present* const present_;
    const OperandCode* const operands_;
    const std::uint32_t operand_count_;
    const CompileOptions& options_;
    const std::uint32_t types_;
    const bool must_;

    Dataflow flow_;
    Node* nodes_ = nullptr;
    NodeId count_ = 0;
    std::uint32_t* extra_ = nullptr;
    std::uint32_t extra_count_ = 0;
    std::array<NodeId*, max_types> stacks_;
    std::array<std::uint32_t, max_types> depth_, floor_;
    Cell* cells_ = nullptr;
    std::uint32_t cell_count_ = 0, cell_floor_ = 0;
    Assignment* assignments_ = nullptr;
    std::uint32_t assignment_count_ = 0;
    std::uint32_t* save_at_ = nullptr;
    std::uint32_t* matches_ = nullptr;
    std::array<const std::uint32_t*, max_routines> routine_matches_;
    NodeId* shared_ = nullptr;
    std::uint64_t shared_mask_ = 0;
    std::array<std::pair<std::uint32_t, NodeId>, 16> specials_;
    std::uint32_t special_count_ = 0;
    std::array<Frame, max_depth> frames_;
    std::uint32_t frame_count_ = 0, calls_ = 0;
    std::uint32_t watched_ = no_place, watched_depth_ = 0, origin_ = 0;
    NodeId stood_ = no_node;  // in the watched place
    Expected<void> error_;
};

// ---- memory ------------------------------------------------------------------------------------------------------------------------------

void Runner::take_memory(const Bound& bound, Arena& arena) {
    const std::size_t slots = machine_.slots.size();
    nodes_ = arena.take<Node>(bound.nodes + 1);
    flow_.names = arena.take<Name>(bound.nodes + 1);
    std::memcpy(nodes_, machine_.inputs.data(), slots * sizeof(Node));
    flow_.name_of = arena.take<const Name*>(bound.nodes + 1);
    for (std::size_t s = 0; s < slots; ++s) flow_.name_of[s] = machine_.names.data() + s;
    flow_.live = arena.take<NodeId>(bound.nodes + 1);
    count_ = static_cast<NodeId>(slots);
    extra_ = arena.take<std::uint32_t>(bound.extra + 1);
    for (std::uint32_t t = 0; t < types_; ++t) {
        stacks_[t] = arena.take<NodeId>(bound.pushes + stack_slack);
        depth_[t] = floor_[t] = 0;
    }
    cells_ = arena.take<Cell>(bound.cells + 1);
    const std::uint64_t state = bound.pushes + types_ + 2 * bound.cells + slots + 8;
    save_at_ = arena.take<std::uint32_t>(saved_per_if * bound.if_depth * state + 1);
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

// For a `repeat` its `end`; for an `if` its `else` or `end`, for an `else` its `end`. Brackets without a partner match nothing. Open brackets are
// linked through their own places until they are closed.
void Runner::match_brackets(std::span<const Instruction> code, std::uint32_t* matches) const {
    std::uint32_t open = no_match;
    for (std::uint32_t at = 0; at < code.size(); ++at) {
        switch (code[at].opcode) {
            case Opcode::repeat: case Opcode::if_:
                matches[at] = std::exchange(open, at);
                break;
            case Opcode::else_:
                matches[at] = no_match;
                if (open == no_match || code[open].opcode != Opcode::if_) break;
                matches[at] = matches[open];  // the `else` stands in for its `if` among the open ones
                matches[open] = at;
                open = at;
                break;
            case Opcode::end: {
                matches[at] = no_match;
                if (open == no_match) break;
                const std::uint32_t begin = open;
                open = matches[begin];
                matches[begin] = at;
                matches[at] = begin;
                break;
            }
            default:
                break;
        }
    }
    // What is still open is never closed. An `else` among it belongs to an `if` that points to it.
    while (open != no_match) {
        const std::uint32_t next = matches[open];
        matches[open] = no_match;
        open = next;
    }
}

// ---- instructions ------------------------------------------------------------------------------------------------------------------------

inline bool Runner::push_constant(TypeId type, std::uint64_t bits) {
    const std::uint32_t stack = lane(type);
    if (stack == types_ || stack == type_b8 || stack == type_b128) return false;
    push(stack, constant(static_cast<TypeId>(stack), bits));
    return true;
}

// What a payload of 32 bits is as a constant of a type.
std::uint64_t widened(TypeId base, std::uint32_t payload) {
    switch (static_cast<Type>(base)) {
        case Type::pred: return payload & 1;
        case Type::b16: case Type::u16: case Type::s16: case Type::f16: case Type::bf16: return payload & 0xFFFF;
        case Type::s64: return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(payload)));
        case Type::f64: return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(payload)));
        default: return payload;
    }
}

std::uint64_t narrowed(TypeId base, std::uint64_t bits) {
    if (base >= type_b8) return bits;
    const std::uint32_t width = ptxgraft::bits(static_cast<Type>(base));
    return width >= 64 ? bits : bits & ((1ull << width) - 1);
}

inline bool Runner::apply(const Instruction& i) {
    if (present_[i.index] == Present::no) return false;
    const EntryCode& e = entries_[i.index];
    return apply_general(e, i);
}

// Whether each stack holds as many values as the entry pops.
bool Runner::has_arguments(const EntryCode& e) const {
    const InputCode* const inputs = code_.inputs.data() + code_.input_bases[e.at];
    for (std::size_t k = 0; k < e.inputs; ++k) {
        if (inputs[k].is_immediate) continue;
        std::uint32_t need = 0;
        for (std::size_t j = 0; j <= k; ++j) need += !inputs[j].is_immediate && inputs[j].stack == inputs[k].stack;
        if (room(inputs[k].stack) < need) return false;
    }
    return true;
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

void Runner::pop_arguments(const EntryCode& e, const Instruction& i, std::uint32_t* to) {
    const InputCode* const inputs = code_.inputs.data() + code_.input_bases[e.at];
    std::uint32_t immediates = 0;
    for (std::size_t k = e.inputs; k-- > 0;) {
        if (!inputs[k].is_immediate) {
            to[k] = pop(inputs[k].stack);
            if (inputs[k].is_exact && inputs[k].stack != type_b8 && nodes_[to[k]].kind != NodeKind::constant) to[k] = copied(to[k], inputs[k].stack);
            continue;
        }
        // the last stands in the instruction, those before it in the pool
        std::uint32_t bits = i.payload;
        if (immediates++ != 0) bits = program_.pool.empty() ? 0 : low_half(program_.pool[(i.type + immediates - 2) % program_.pool.size()]);
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
        std::fill(std::copy_n(arguments, e.inputs, nodes_[node].args), std::end(nodes_[node].args), node);
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
    flow_.effects |= e.effects;
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
    const InputCode* const inputs = code_.inputs.data() + code_.input_bases[e.at];
    std::uint64_t bits[EntryCode::inline_inputs];
    for (std::size_t k = 0; k < e.inputs; ++k) {
        const std::uint32_t argument = nodes_[form].args[k];
        if (inputs[k].is_immediate) {
            bits[k] = argument;
            continue;
        }
        if (nodes_[argument].kind != NodeKind::constant) return false;
        bits[k] = nodes_[argument].args[0] | static_cast<std::uint64_t>(nodes_[argument].args[1]) << 32;
    }
    const auto result = fold_entry(*e.entry, {bits, e.inputs});
    if (!result) return false;
    count_ = form;
    push(e.type, constant(e.type, narrowed(code_.bases[e.type], *result)));
    return true;
}

// A node equal to one made before is taken back.
NodeId Runner::find_shared(NodeId node) {
    Node& n = nodes_[node];
    std::size_t used = 0;
    switch (n.kind) {
        case NodeKind::form:
            used = entries_[n.entry].inputs;
            break;
        case NodeKind::constant:
            used = 2;
            break;
        case NodeKind::select:
            used = 3;
            break;
        default:
            used = n.kind == NodeKind::and_ ? 2 : 1;
    }
    std::fill(n.args + used, std::end(n.args), 0u);  // of a form the places behind its arguments are set again below
    std::uint64_t hash = static_cast<std::uint64_t>(n.kind) << 32 | static_cast<std::uint64_t>(n.type) << 16 | n.entry;
    for (const std::uint32_t arg : n.args) hash = (hash ^ arg) * 0x9E3779B97F4A7C15u, hash ^= hash >> 29;
    for (std::uint64_t at = hash & shared_mask_;; at = (at + 1) & shared_mask_) {
        if (shared_[at] == no_node) {
            if (n.kind == NodeKind::form) std::fill(n.args + used, std::end(n.args), node);
            return shared_[at] = node;
        }
        const Node& other = nodes_[shared_[at]];
        if (other.kind != n.kind || other.type != n.type || other.entry != n.entry || !std::equal(n.args, n.args + used, other.args)) continue;
        count_ = node;
        return shared_[at];
    }
}

bool Runner::assign(const Instruction& i, const Scope& scope) {
    const std::uint32_t slot = scope.is_program ? slot_of(i) : no_place;
    if (slot == no_place || machine_.slots[slot].direction == Direction::in) return false;
    const std::uint32_t type = machine_.slots[slot].type;
    if (room(type) == 0) {
        if (options_.empty == Empty::error && !must_) error_ = tl::unexpected(diagnose_request(machine_, slot, 0));
        return false;
    }
    if (flow_.values[slot] != no_node && must_) return false;
    flow_.values[slot] = pop(type);
    return true;
}

// The same bits under another type.
bool Runner::cast(const Instruction& i) {
    const std::uint32_t to = lane(i.type), from = lane(i.index);
    if (to == types_ || from == types_) return false;
    const RegisterClass to_class = code_.classes[to], from_class = code_.classes[from];
    if (class_infos[static_cast<std::size_t>(to_class)].bytes != class_infos[static_cast<std::size_t>(from_class)].bytes) return false;
    if (to != from && (to_class == RegisterClass::p || to_class == RegisterClass::b)) return false;
    if (room(from) == 0) return false;
    const NodeId value = pop(from);
    if (to == from) return push(to, value), true;
    if (nodes_[value].kind == NodeKind::constant) {
        const std::uint64_t bits = nodes_[value].args[0] | static_cast<std::uint64_t>(nodes_[value].args[1]) << 32;
        return push(to, constant(static_cast<TypeId>(to), bits)), true;
    }
    if (to_class == from_class) return push(to, value), true;
    const NodeId node = add(NodeKind::cast, static_cast<TypeId>(to));
    nodes_[node].args[0] = value;
    push(to, shared(node));
    return true;
}

inline bool Runner::rearrange(const Instruction& i) {
    const std::uint32_t type = lane(i.type);
    if (type == types_) return false;
    const std::uint32_t have = room(type);
    NodeId* const top = stacks_[type] + depth_[type];
    switch (i.opcode) {
        case Opcode::dup:
            return have >= 1 && (push(type, top[-1]), true);
        case Opcode::over:
            return have >= 2 && (push(type, top[-2]), true);
        case Opcode::drop:
            return have >= 1 && (--depth_[type], true);
        case Opcode::swap:
            return have >= 2 && (std::swap(top[-1], top[-2]), true);
        case Opcode::rotate:
            return have >= 3 && (std::rotate(top - 3, top - 2, top), true);
        case Opcode::reverse:
            return std::reverse(top - have, top), true;
        default:
            return depth_[type] = floor_[type], true;
    }
}

bool Runner::rearrange_at_depth(const Instruction& i) {
    const std::uint32_t type = lane(i.type);
    if (type == types_ || i.payload >= room(type)) return false;
    NodeId* const top = stacks_[type] + depth_[type] - 1;
    NodeId* const place = top - i.payload;
    if (i.opcode == Opcode::yank_dup) push(type, *place);
    else if (i.opcode == Opcode::swap_with) std::swap(*top, *place);
    else *place = pop(type);
    return true;
}

constexpr std::uint32_t cells_per_type = 256;

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
        if (cells_[k].key == type * cells_per_type + i.payload && cells_[k].node != no_node) return push(type, cells_[k].node), true;
    return false;
}

// ---- routines ----------------------------------------------------------------------------------------------------------------------------

// Arguments are popped, the last first, into stacks of the routine's own; its results leave in the same way.
bool Runner::call(const Instruction& i, const Scope& scope) {
    if (i.index >= std::min(scope.routines, max_routines)) return false;
    const Routine& routine = program_.routines[i.index];
    if (!fits(routine.arguments) || !fits(routine.results)) return false;
    std::array<std::uint32_t, max_types> floors = floor_;
    for (const TypeId t : routine.arguments)
        if (++floors[lane(t)] > depth_[lane(t)]) return false;
    if (!may_nest()) return false;
    ++calls_;
    // by value: what the caller pushed is the routine's from here on
    floors = floor_;
    std::copy_n(depth_.begin(), types_, floor_.begin());
    for (const TypeId t : routine.arguments) --floor_[lane(t)];
    const std::uint32_t cell_floor = std::exchange(cell_floor_, cell_count_);
    const Scope inner{routine.code, matches_ == nullptr ? nullptr : routine_matches_[i.index], i.index, false};
    if (!(matches_ != nullptr ? execute<true, false>(inner) : execute<false, false>(inner))) return false;
    if (!take_results(routine)) return false;
    floor_ = floors;
    cell_count_ = std::exchange(cell_floor_, cell_floor);
    --calls_;
    return true;
}

bool Runner::fits(std::span<const TypeId> types) const {
    return types.size() <= max_parameters && std::all_of(types.begin(), types.end(), [this](TypeId t) { return lane(t) != types_; });
}

// Leaves a routine's results in the place of its arguments.
bool Runner::take_results(const Routine& routine) {
    std::array<NodeId, max_parameters> results;
    for (std::size_t k = routine.results.size(); k-- > 0;) {
        const std::uint32_t type = lane(routine.results[k]);
        if (room(type) == 0 && must_) {
            error_ = fail(Errc::stack_routine, "routine " + routine.name + " leaves no " + std::string(machine_.set->type_name(routine.results[k])) + " for its results");
            return false;
        }
        results[k] = room(type) != 0 ? pop(type) : constant(static_cast<TypeId>(type), 0);
    }
    std::copy_n(floor_.begin(), types_, depth_.begin());
    for (std::size_t k = 0; k < routine.results.size(); ++k) push(lane(routine.results[k]), results[k]);
    return true;
}

// ---- brackets ----------------------------------------------------------------------------------------------------------------------------

bool Runner::may_nest() {
    const std::uint32_t most = std::min(options_.limits.depth, max_depth);
    if (frame_count_ + calls_ < most) return true;
    error_ = fail(Errc::stack_limit, "brackets and routines stand more than " + std::to_string(most) + " deep in each other");
    return false;
}

// The bracket functions move `at` to the last instruction that is done with.
bool Runner::open_repeat(const Scope& scope, std::uint32_t& at) {
    const std::uint32_t end = scope.matches[at];
    if (end == no_match) return false;
    const std::uint32_t rounds = std::min(scope.code[at].payload, max_repeats);
    if (rounds == 0) return at = end, true;
    if (!may_nest()) return false;
    frames_[frame_count_++] = {at, rounds, nullptr, nullptr, no_node, no_node, false};
    return true;
}

bool Runner::open_if(const Scope& scope, std::uint32_t& at) {
    const std::uint32_t next = scope.matches[at];
    if (next == no_match || scope.matches[next] == no_match) return false;  // it has no end
    const bool has_else = scope.code[next].opcode == Opcode::else_;
    constexpr auto pred = static_cast<std::uint32_t>(Type::pred);
    if (room(pred) == 0) {  // neither arm
        const std::uint32_t begin = std::exchange(at, has_else ? scope.matches[next] : next);
        if (miss(scope.code[begin], begin, scope)) return true;
        at = begin;
        return false;
    }
    if (!may_nest()) return false;
    const NodeId condition = pop(pred);
    Frame& frame = frames_[frame_count_++];
    frame = {at, 0, nullptr, nullptr, no_node, no_node, true};
    if (nodes_[condition].kind == NodeKind::constant) {  // one arm, as if it stood there alone
        if (nodes_[condition].args[0] == 0) at = has_else ? next : next - 1;
        return true;
    }
    frame.pred = condition;
    frame.at_begin = save_at_;
    save_at_ = save(save_at_);
    return true;
}

// At the `else`: what the first arm left is kept, and the second begins where the first began.
bool Runner::turn(const Scope& scope, std::uint32_t& at) {
    if (scope.matches[at] == no_match) return false;
    Frame& frame = frames_[frame_count_ - 1];
    if (frame.pred == no_node) {  // the arm that counts is over
        --frame_count_;
        at = scope.matches[at];
        return true;
    }
    frame.first_arm = save_at_;
    save_at_ = save(save_at_);
    restore(frame.at_begin);
    frame.guard = no_node;
    return true;
}

bool Runner::close(const Scope& scope, std::uint32_t& at) {
    if (scope.matches[at] == no_match) return false;
    Frame& frame = frames_[frame_count_ - 1];
    if (!frame.is_if) {
        if (--frame.left != 0) at = frame.begin;
        else --frame_count_;
        return true;
    }
    const Frame closed = frame;
    --frame_count_;
    if (closed.pred == no_node) return true;
    save_at_ = closed.at_begin;
    return merge(closed);
}

// Everything that an arm can change: stacks, cells, assignments.
std::uint32_t* Runner::save(std::uint32_t* to) const {
    for (std::uint32_t t = 0; t < types_; ++t) {
        *to++ = depth_[t];
        to = std::copy(stacks_[t] + floor_[t], stacks_[t] + depth_[t], to);
    }
    *to++ = cell_count_;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) *to++ = cells_[k].key, *to++ = cells_[k].node;
    return std::copy_n(flow_.values, machine_.slots.size(), to);
}

void Runner::restore(const std::uint32_t* from) {
    for (std::uint32_t t = 0; t < types_; ++t) {
        depth_[t] = *from++;
        std::copy_n(from, room(t), stacks_[t] + floor_[t]);
        from += room(t);
    }
    cell_count_ = *from++;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) cells_[k] = {from[0], from[1]}, from += 2;
    std::copy_n(from, machine_.slots.size(), flow_.values);
}

NodeId Runner::chosen(NodeId pred, NodeId a, NodeId b) {
    if (a == b) return a;
    const NodeId node = add(NodeKind::select, nodes_[a].type);
    nodes_[node].args[0] = pred;
    nodes_[node].args[1] = a;
    nodes_[node].args[2] = b;
    return shared(node);
}

// The arm that just ended stands in the stacks, the other one aside. Without an `else` that is the state before the `if`.
bool Runner::merge(const Frame& frame) {
    const bool has_else = frame.first_arm != nullptr;
    const std::uint32_t* other = has_else ? frame.first_arm : frame.at_begin;
    const auto select = [&](NodeId here, NodeId there) { return has_else ? chosen(frame.pred, there, here) : chosen(frame.pred, here, there); };
    for (std::uint32_t t = 0; t < types_; ++t) {
        const std::uint32_t depth = *other++;
        if (must_ && depth != depth_[t]) {
            error_ = fail(Errc::stack_bracket, "the arms of this `if` leave " + std::to_string(std::max(depth, depth_[t]) - std::min(depth, depth_[t])) + " more " +
                                                   std::string(machine_.set->type_name(static_cast<TypeId>(t))) + " in one than in the other");
            return false;
        }
        const std::uint32_t kept = std::min(depth, depth_[t]);
        NodeId* const stack = stacks_[t];
        for (std::uint32_t k = floor_[t]; k < kept; ++k) stack[k] = select(stack[k], other[k - floor_[t]]);
        other += depth - floor_[t];
        depth_[t] = kept;
    }
    other = merge_cells(other, select);
    for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot)
        if (other[slot] != flow_.values[slot] && !merge_slot(slot, other[slot], select)) return false;
    return true;
}

// A cell that only one arm has filled is empty.
template <class Select>
const std::uint32_t* Runner::merge_cells(const std::uint32_t* other, Select select) {
    const std::uint32_t count = *other++ - cell_floor_;
    for (std::uint32_t k = cell_floor_; k < cell_count_; ++k) {
        NodeId there = no_node;
        for (std::uint32_t j = 0; j < count; ++j)
            if (other[2 * j] == cells_[k].key) there = other[2 * j + 1];
        cells_[k].node = there == no_node || cells_[k].node == no_node ? no_node : select(cells_[k].node, there);
    }
    return other + 2 * count;
}

// An operand that only one arm assigns keeps its value in the other.
template <class Select>
bool Runner::merge_slot(std::uint32_t slot, NodeId there, Select select) {
    NodeId here = flow_.values[slot];
    const Slot& s = machine_.slots[slot];
    if (s.direction == Direction::out && must_ && (here == no_node || there == no_node)) {
        error_ = fail(Errc::stack_output_missing, "`out` operand " + machine_.signature.operands[s.operand].name + " is assigned in one arm of this `if` only");
        return false;
    }
    const auto kept = [&] { return s.direction == Direction::out ? constant(s.type, 0) : NodeId{slot}; };
    if (here == no_node) here = kept();
    if (there == no_node) there = kept();
    flow_.values[slot] = select(here, there);
    return true;
}

// The pred under which the arms that are open are executed; no_node outside of all.
NodeId Runner::guard() {
    NodeId all = no_node;
    for (std::uint32_t k = 0; k < frame_count_; ++k) {
        Frame& frame = frames_[k];
        if (!frame.is_if || frame.pred == no_node) continue;
        if (frame.guard == no_node) {
            NodeId arm = frame.pred;
            if (frame.first_arm != nullptr) {
                arm = add(NodeKind::not_, type_id(Type::pred));
                nodes_[arm].args[0] = frame.pred;
            }
            if (all != no_node) {
                const NodeId both = add(NodeKind::and_, type_id(Type::pred));
                nodes_[both].args[0] = all;
                nodes_[both].args[1] = arm;
                arm = both;
            }
            frame.guard = arm;
        }
        all = frame.guard;
    }
    return all;
}

// ---- the loop ----------------------------------------------------------------------------------------------------------------------------

// What most instructions are stands in the loop itself, on copies of what it reads.
template <bool has_brackets, bool watches>
bool Runner::execute(const Scope& scope) {
    const auto size = static_cast<std::uint32_t>(scope.code.size());
    const Instruction* const code = scope.code.data();
    Node* const nodes = nodes_;
    const EntryCode* const entries = entries_;
    const Present* const present = present_;
    const OperandCode* const operands = operands_;
    NodeId* const* const stacks = stacks_.data();
    std::uint32_t* const depth = depth_.data();
    const std::uint32_t* const floor = floor_.data();
    const std::uint32_t operand_count = scope.is_program ? operand_count_ : 0;
    const bool looks_back = options_.fold || shared_ != nullptr;
    Name* const names = flow_.names;
    const Name** const name_of = flow_.name_of;
    for (std::uint32_t at = 0; at < size; ++at) {
        const Instruction& i = code[at];
        bool done = false;
        switch (i.opcode) {
            case Opcode::input:
                if (i.index < operand_count) {
                    const OperandCode& operand = operands[i.index];
                    done = i.payload < operand.readable;
                    // the node of a slot has its number
                    if (done) stacks[operand.type][depth[operand.type]++] = operand.first + i.payload;
                }
                break;
            case Opcode::form:
                if (present[i.index] == Present::uniform && !looks_back) {
                    const EntryCode& e = entries[i.index];
                    const std::uint32_t type = e.type, inputs = e.inputs, have = depth[type];
                    if (have - floor[type] < inputs) break;
                    NodeId* const first = stacks[type] + (have - inputs);
                    const NodeId id = count_++;
                    Node& n = nodes[id];
                    // One by one: as a block they would have to wait for the pushes before. (Compiled without vectors of scalars, see CMakeLists.txt.)
                    for (std::size_t k = 0; k < EntryCode::inline_inputs; ++k) n.args[k] = k < inputs ? first[k] : id;
                    std::memcpy(&n.entry, &e.node, sizeof e.node);
                    n.target = no_node;
                    *first = id;
                    depth[type] = have - inputs + 1;
                    done = true;
                    break;
                }
                done = apply(i);
                break;
            case Opcode::constant:
                if (i.type == type_id(Type::f32) && !looks_back) {
                    const NodeId id = count_++;
                    Node& n = nodes[id];
                    n.args[0] = i.payload;
                    n.args[1] = 0;
                    std::memcpy(&n.entry, &f32_constant, sizeof f32_constant);
                    n.target = no_node;
                    names[id] = f32_name(i.payload);
                    name_of[id] = names + id;
                    stacks[type_id(Type::f32)][depth[type_id(Type::f32)]++] = id;
                    done = true;
                    break;
                }
                done = i.type < types_ && push_constant(i.type, widened(code_.bases[i.type], i.payload));
                break;
            case Opcode::assign: done = assign(i, scope); break;
            case Opcode::dup: case Opcode::swap: case Opcode::drop: case Opcode::over: case Opcode::rotate: case Opcode::reverse: case Opcode::clear:
                done = rearrange(i);
                break;
            case Opcode::cast: done = cast(i); break;
            case Opcode::pooled: done = push_pooled(i); break;
            case Opcode::yank_dup: case Opcode::swap_with: case Opcode::replace: done = rearrange_at_depth(i); break;
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

// Something is missing: an error, or nothing happens.
bool Runner::miss(const Instruction& i, std::uint32_t at, const Scope& scope) {
    if (!error_) {
        error_.error().index = at;
        return false;
    }
    if (must_) {
        std::array<std::uint32_t, max_types> rooms{};
        for (std::uint32_t t = 0; t < types_; ++t) rooms[t] = room(t);
        const std::uint32_t slot = i.opcode == Opcode::assign && scope.is_program ? slot_of(i) : no_place;
        const Situation situation{machine_, program_.routines.first(std::min<std::size_t>(scope.routines, program_.routines.size())), rooms, scope.is_program,
                                  slot != no_place && flow_.values[slot] != no_node};
        error_ = tl::unexpected(diagnose(i, at, situation));
        return false;
    }
    if (flow_.skipped++ == 0) flow_.first_skipped = scope.is_program ? at : 0;
    return true;
}

bool Runner::push_pooled(const Instruction& i) {
    if (i.type >= types_) return false;
    const std::uint64_t bits = program_.pool.empty() ? 0 : program_.pool[i.payload % program_.pool.size()];
    return push_constant(i.type, narrowed(code_.bases[i.type], bits));
}

// ---- after the program -------------------------------------------------------------------------------------------------------------------

// Each operand that is not assigned takes the top of its stack, the last one first.
Expected<void> Runner::take_requests() {
    for (std::uint32_t slot = static_cast<std::uint32_t>(machine_.slots.size()); slot-- > 0;) {
        const Slot& s = machine_.slots[slot];
        if (s.direction == Direction::in || flow_.values[slot] != no_node) continue;
        if (depth_[s.type] != 0) {
            flow_.values[slot] = pop(s.type);
            continue;
        }
        if (options_.empty == Empty::error) return tl::unexpected(diagnose_request(machine_, slot, static_cast<std::uint32_t>(program_.code.size())));
        if (options_.empty == Empty::zero && s.direction == Direction::mod) flow_.values[slot] = constant(s.type, 0);
    }
    return {};
}

// Every `out` is assigned.
Expected<void> Runner::finish() {
    if (options_.requests == Requests::top)
        if (auto taken = take_requests(); !taken) return taken;
    for (std::uint32_t slot = 0; slot < machine_.slots.size(); ++slot) {
        if (machine_.slots[slot].direction == Direction::out && flow_.values[slot] == no_node) {
            if (options_.empty == Empty::error) return tl::unexpected(diagnose_output(machine_, slot, static_cast<std::uint32_t>(program_.code.size())));
            flow_.values[slot] = constant(machine_.slots[slot].type, 0);
        }
        if (flow_.values[slot] != no_node) assignments_[assignment_count_++] = {slot, flow_.values[slot]};
    }
    for (std::uint32_t t = 0; t < types_; ++t) flow_.leftover += depth_[t];
    return {};
}

// ---- what is live ------------------------------------------------------------------------------------------------------------------------

// A constant is written as a literal where its user takes one, else it is put in a register.
void Runner::use_any(NodeId node, std::uint32_t user, bool takes_literal) {
    use(node, user);
    if (!takes_literal && nodes_[node].kind == NodeKind::constant) nodes_[node].target = 0;
}

void Runner::mark_form(const Node& n, NodeId id) {
    const EntryCode& e = entries_[n.entry];
    if (e.is_plain) {
        for (std::uint32_t k = 0; k < e.inputs; ++k) use_any(n.args[k], id, takes_literal(e, k, nodes_[n.args[k]]));
        return;
    }
    const std::uint32_t* const arguments = e.is_inline ? n.args : extra_ + n.args[0] + 1;
    if (!e.is_inline && arguments[-1] != no_node) use(arguments[-1], id);
    const InputCode* const inputs = code_.inputs.data() + code_.input_bases[e.at];
    for (std::uint32_t k = 0; k < e.inputs; ++k)
        if (!inputs[k].is_immediate) use_any(arguments[k], id, takes_literal(inputs[k], nodes_[arguments[k]]));
}

// From the last node to the first, so that the first use that is seen is the last one.
void Runner::mark() {
    for (std::uint32_t k = 0; k < assignment_count_; ++k) use_any(assignments_[k].node, to_the_end, true);
    NodeId* live = flow_.live;
    for (NodeId id = count_; id-- > static_cast<NodeId>(machine_.slots.size());) {
        Node& n = nodes_[id];
        if (n.last_use == not_used) {
            if (n.kind != NodeKind::form || !entries_[n.entry].has_effect) continue;
            n.last_use = id;
        }
        *live++ = id;
        switch (n.kind) {
            case NodeKind::form: {
                const EntryCode& e = entries_[n.entry];
                if (!e.takes_literals) {
                    mark_form(n, id);
                    break;
                }
                for (const NodeId argument : n.args) use(argument, id);  // what is no argument is the node itself
                break;
            }
            case NodeKind::result: use(n.args[0], id); --live; break;
            case NodeKind::cast: case NodeKind::not_: use_any(n.args[0], id, false); break;
            case NodeKind::and_: use_any(n.args[0], id, false), use_any(n.args[1], id, false); break;
            case NodeKind::select: {
                const bool literal = select_takes_literals(code_.classes[n.type]);
                use_any(n.args[0], id, false), use_any(n.args[1], id, literal), use_any(n.args[2], id, literal);
                break;
            }
            case NodeKind::constant: if (n.target == no_node) --live; break;
            case NodeKind::input: case NodeKind::special: break;
        }
    }
    flow_.live_count = static_cast<std::uint32_t>(live - flow_.live);
}

// A value that an operand receives is computed into its register at once where nobody reads the old value later.
void Runner::choose_targets() {
    for (std::uint32_t k = 0; k < assignment_count_; ++k) {
        const auto [index, id] = assignments_[k];
        Node& n = nodes_[id];
        if (n.kind == NodeKind::input || n.kind == NodeKind::constant || n.target != no_node) continue;
        const std::uint32_t last_read = nodes_[index].last_use;
        if (last_read != not_used && last_read > id) continue;
        if (n.kind == NodeKind::form) {
            const EntryCode& e = entries_[n.entry];
            if (e.exact_output && static_cast<std::uint8_t>(e.entry->form->operands[0].type) != static_cast<std::uint8_t>(machine_.slots[index].declared)) continue;
            if (!e.is_inline && extra_[n.args[0]] != no_node) continue;  // under a guard its register is made zero first
        } else if (n.kind == NodeKind::result) {
            continue;
        }
        n.target = index;
    }
}

// ---- all -------------------------------------------------------------------------------------------------------------------------------

bool Runner::execute_program() {
    const Scope scope{program_.code, matches_, static_cast<std::uint32_t>(program_.routines.size()), true};
    if (watched_ != no_place) return execute<true, true>(scope);
    return matches_ != nullptr ? execute<true, false>(scope) : execute<false, false>(scope);
}

Expected<Dataflow> Runner::run() {
    if (!execute_program()) return tl::unexpected(error_.error());
    if (auto done = finish(); !done) return tl::unexpected(done.error());
    mark();
    choose_targets();
    flow_.graph = {{nodes_, count_}, {extra_, extra_count_}, {assignments_, assignment_count_}};
    return flow_;
}

// A stack with values left; types_ when there is none.
std::uint32_t Runner::leftover_type() const {
    for (std::uint32_t t = 0; t < types_; ++t)
        if (depth_[t] != 0) return t;
    return no_place;
}

}  // namespace

bool takes_literal(const InputCode& input, const Node& constant) {
    if (!input.takes_literal) return false;
    if (input.low == INT64_MIN && input.high == INT64_MAX && input.step == 1) return true;
    const auto bits = constant.args[0] | static_cast<std::uint64_t>(constant.args[1]) << 32;
    const auto value = static_cast<std::int64_t>(bits);
    return value >= input.low && value <= input.high && (value - input.low) % input.step == 0;
}

Expected<Dataflow> run(ProgramView program, const Machine::Data& machine, const Bound& bound, const CompileOptions& options, Arena& arena) {
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
