// The compile in one pass: stacks of names, and the text written behind them.

#include "stub/stack/compile/one_pass.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "stub/stack/compile/constant_name.hpp"
#include "stub/stack/compile/registers.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t most_specials = 16;

// `0f3F800000`, `-7`; names of registers begin with a letter, `_`, `$` or `%`.
bool is_literal(const Name& name) {
    return static_cast<unsigned>(name.text[Name::prefix] - '-') <= '9' - '-';
}

bool is_same(const Name& a, const Name& b) { return std::memcmp(&a, &b, sizeof(Name)) == 0; }

struct Special {
    std::uint32_t entry;
    Name name;
};

// A slot that receives an operand's value or a constant.
struct MoveAtEnd {
    std::uint32_t slot;
    Name value;
};
constexpr std::uint32_t most_moves = 8;
constexpr std::uint32_t at_the_end = 0xFFFFFFFFu;

using Arguments = std::array<const Name*, EntryCode::inline_inputs>;

class OnePass {
  public:
    OnePass(std::span<const Instruction> program, const Machine::Data& machine, const CompileOptions& options,
            Arena& arena)
        : machine_(machine),
          keeps_(options.requests == Requests::assigned),
          code_(*machine.code),
          program_(program),
          slots_(static_cast<std::uint32_t>(machine.slots.size())),
          registers_(machine),
          uses_(arena.take<SlotUse>(slots_)) {
        const std::uint64_t room = one_pass_room(program.size());
        Name* stack = arena.take<Name>(code_.type_count * room);
        for (std::uint32_t t = 0; t < code_.type_count; ++t, stack += room) top_[t] = bottom_[t] = stack;
        top_[no_stack] = bottom_[no_stack] = &none_;
        std::memset(uses_, 0, slots_ * sizeof(SlotUse));
        text_ = reinterpret_cast<char*>(arena.rest().data());
    }

    std::string_view compile();
    std::uint32_t instructions = 0, leftover = 0;

  private:
    // Functions that most programs never need are kept out of the loop, which needs the registers.
    [[gnu::noinline]] bool push_element(std::size_t at);
    [[gnu::noinline]] bool push_value(std::size_t at);
    Name* find_arguments(const Shape& shape, const EntryCode& e, Arguments& arguments);
    [[gnu::noinline]] const Name* assigned(std::size_t at, std::uint32_t type, const Name* place);
    bool rearrange(const Instruction& i);
    bool cast(const Instruction& i);
    bool move_at_end(const Instruction& i);
    [[gnu::noinline]] bool write_moves(Writer& out);
    [[nodiscard]] bool is_overwritten(const Name& operand) const;
    static bool takes_all(const EntryCode& e, const Arguments& arguments);
    [[nodiscard]] std::uint32_t target_of(const Instruction& i, std::uint32_t type, const Name* value) const;
    [[nodiscard]] bool is_waiting(const Name& name, std::uint32_t type, const Name* value) const;
    [[nodiscard]] bool is_done();
    // Whether it costs nothing that nobody reads a value: it is an operand's or a constant.
    [[nodiscard]] static bool is_free(const Name& name) { return name.text[Name::prefix] != '%'; }
    [[gnu::noinline]] Writer push_special(Writer out, const EntryCode& e);
    void push(std::uint32_t type, const Name& name) { *top_[type]++ = name; }
    [[nodiscard]] std::ptrdiff_t room(std::uint32_t type) const { return top_[type] - bottom_[type]; }

    const Machine::Data& machine_;
    const bool keeps_;  // a `mod` that is not assigned keeps its value
    const SetCode& code_;
    const std::span<const Instruction> program_;
    const std::uint32_t slots_;
    Registers registers_;
    SlotUse* const uses_;  // by slot
    std::array<Name*, stack_count> top_, bottom_;
    Name none_{};
    std::array<Special, most_specials> specials_;  // those pushed so far
    std::uint32_t special_count_ = 0;
    std::array<MoveAtEnd, most_moves> moves_;
    std::uint32_t move_count_ = 0;
    bool has_casts_ = false;
    char* text_;
};

// One loop does all that usual programs do: in functions of their own what it holds in registers would go
// through memory at each call.
std::string_view OnePass::compile() {
    constexpr std::string_view wrong;
    char* const begin = text_ + header_room;
    Writer out(begin);
    const std::size_t size = program_.size();
    // local copies, which no store through a char* can change
    const Instruction* const code = program_.data();
    const Shape* const forms = machine_.shapes[static_cast<std::size_t>(Opcode::form)].rows;
    const Present* const present = machine_.present->data();
    const EntryCode* const entries = code_.entries.data();
    const OperandCode* const operands = machine_.operands.data();
    const std::size_t operand_count = machine_.operands.size();
    SlotUse* const uses = uses_;
    std::uint32_t written = 0;
    Name made;
    for (std::size_t at = 0; at < size; ++at) {
        std::uint64_t word;
        std::memcpy(&word, code + at, sizeof word);
        const auto opcode = static_cast<Opcode>(word & 0xFF);
        if (opcode == Opcode::input) {
            const std::uint64_t index = word >> 16;  // with the payload: elements are another case
            if (index >= operand_count || operands[index].readable == 0) [[unlikely]] {
                if (!push_element(at)) return wrong;
                continue;
            }
            const OperandCode& operand = operands[index];
            uses[operand.first].last_input = static_cast<std::uint32_t>(at + 1);
            push(operand.type, operand.name);
            continue;
        }
        if ((word & 0xFFFF) == (static_cast<std::uint64_t>(type_id(Type::f32)) << 8 |
                                static_cast<std::uint64_t>(Opcode::constant))) {
            push(type_id(Type::f32), f32_name(static_cast<std::uint32_t>(word >> 32)));
            continue;
        }
        if (opcode != Opcode::form) {
            if (!push_value(at)) return wrong;
            continue;
        }
        const std::size_t index = word >> 16 & 0xFFFF;
        const Present kind = present[index];
        if (kind == Present::no) return wrong;
        const EntryCode& e = entries[index];
        const std::uint32_t type = e.type;
        Name* place = nullptr;
        Arguments arguments;
        if (kind == Present::yes_plain) {
            place = top_[type] - e.inputs;
            if (place < bottom_[type]) return wrong;
        } else if (kind == Present::yes_short) {
            place = find_arguments(forms[index], e, arguments);
            if (place == nullptr) return wrong;
        } else {
            if (!e.is_special || e.is_ordered) return wrong;
            out = push_special(out, e);
            continue;
        }
        const Name* own =
            at + 1 < size && code[at + 1].opcode == Opcode::assign ? assigned(at, type, place) : nullptr;
        if (own == nullptr) [[likely]] {
            own = registers_.next(e.register_class, made);
            top_[type] = place + 1;
        } else {
            top_[type] = place;
            ++at;  // past the assignment
        }
        out.blocks<EntryCode::text_room>(e.text, e.text_length);
        out = write_name(out, *own);
        if (kind == Present::yes_plain) {
            for (std::size_t k = 0; k < most_plain_inputs; ++k)
                out.block(place[k].text, place[k].length & e.masks[k]);
        } else {
            for (std::size_t k = 0; k < arguments.size(); ++k)
                out.block(arguments[k]->text, arguments[k]->length & e.masks[k]);
        }
        out.text(";\n");
        *place = *own;
        ++written;
    }
    instructions += written;
    return is_done() && (move_count_ == 0 || write_moves(out)) ? registers_.enclose(begin, out) : wrong;
}

// A vector's operand that is not its first.
bool OnePass::push_element(std::size_t at) {
    const Instruction& i = program_[at];
    if (i.index >= machine_.operands.size()) return false;
    const OperandCode& operand = machine_.operands[i.index];
    if (i.payload >= operand.readable) return false;
    const std::uint32_t slot = operand.first + i.payload;
    uses_[slot].last_input = static_cast<std::uint32_t>(at + 1);
    push(operand.type, machine_.names[slot]);
    return true;
}

// Finds the arguments of a form that reads two stacks, or whose literals are restricted, and pops those of
// the second stack. Returns the first argument's place on the result's stack; null if one is missing or must
// not be a literal.
inline Name* OnePass::find_arguments(const Shape& shape, const EntryCode& e, Arguments& arguments) {
    const std::uint32_t a = shape.stacks[0], b = shape.stacks[1];
    Name* const place = top_[a] - shape.pops[0];
    Name* const below = top_[b] - shape.pops[1];
    if (place < bottom_[a] || below < bottom_[b]) return nullptr;
    for (std::size_t k = 0; k < arguments.size(); ++k)
        arguments[k] = top_[shape.arguments[k]] + shape.depths[k];
    top_[b] = below;
    return e.takes_literals || takes_all(e, arguments) ? place : nullptr;
}

// Executes the assignment behind a form that computes, at `at`, the value at `place` of a stack: gives the
// operand's register, for the form to compute into. Null where that must not be its register.
const Name* OnePass::assigned(std::size_t at, std::uint32_t type, const Name* place) {
    const std::uint32_t slot = target_of(program_[at + 1], type, place);
    if (slot == no_slot || uses_[slot].computed != 0) return nullptr;
    uses_[slot].computed = static_cast<std::uint32_t>(at + 1);
    return machine_.names.data() + slot;
}

// Executes an instruction that pushes values, rearranges or assigns them, and writes nothing.
bool OnePass::push_value(std::size_t at) {
    const Instruction& i = program_[at];
    switch (i.opcode) {
        case Opcode::constant: {
            if (i.type >= code_.type_count || stack_of(i.type) >= type_b8) return false;
            const std::uint32_t type = stack_of(i.type);
            name_constant(*top_[type], static_cast<Type>(code_.bases[type]),
                          widened(code_.bases[i.type], i.payload));
            return top_[type]++->length != Name::is_long;
        }
        case Opcode::dup:
        case Opcode::over:
        case Opcode::swap:
        case Opcode::rotate:
        case Opcode::drop:
        case Opcode::yank_dup:
        case Opcode::swap_with: return i.type < code_.type_count && rearrange(i);
        case Opcode::cast: return i.type < code_.type_count && i.index < code_.type_count && cast(i);
        case Opcode::assign: return move_at_end(i);
        default: return false;
    }
}

// What an instruction computes is not dropped: it would be dead.
bool OnePass::rearrange(const Instruction& i) {
    const std::uint32_t type = stack_of(i.type);
    return (i.opcode != Opcode::drop || room(type) == 0 || is_free(top_[type][-1])) &&
           stack::rearrange(i, bottom_[type], top_[type]);
}

// A cast within one class of registers writes nothing; see Runner::cast for the halves.
bool OnePass::cast(const Instruction& i) {
    const std::uint32_t to = stack_of(i.type), from = stack_of(static_cast<TypeId>(i.index));
    if (code_.classes[to] != code_.classes[from] || is_half(code_.bases[to]) || to >= type_b8 ||
        room(from) == 0 || is_literal(top_[from][-1]))
        return false;
    const Name value = *--top_[from];
    has_casts_ = true;
    push(to, value);
    return true;
}

// The assignment of a value that no instruction computed. All operands are read before one is written.
bool OnePass::move_at_end(const Instruction& i) {
    const std::uint32_t slot = machine_.assigned_slot(i);
    if (slot == no_slot || uses_[slot].computed != 0 || move_count_ == moves_.size()) return false;
    const std::uint32_t type = machine_.slots[slot].type;
    if (room(type) == 0 || !is_free(top_[type][-1])) return false;
    const Name value = *--top_[type];
    uses_[slot].computed = at_the_end;
    if (!is_same(value, machine_.names[slot])) moves_[move_count_++] = {slot, value};
    return true;
}

// In the order of the graph's parallel copy (emit.cpp): operands from the last slot on, then constants from
// the first. False where a move would read an operand that is written: that wants a real parallel copy.
bool OnePass::write_moves(Writer& out) {
    const std::span<MoveAtEnd> moves(moves_.data(), move_count_);
    if (std::any_of(moves.begin(), moves.end(),
                    [this](const MoveAtEnd& m) { return !is_literal(m.value) && is_overwritten(m.value); }))
        return false;
    std::sort(moves.begin(), moves.end(), [](const MoveAtEnd& a, const MoveAtEnd& b) {
        const bool is_constant = is_literal(a.value);
        if (is_constant != is_literal(b.value)) return !is_constant;
        return is_constant ? a.slot < b.slot : a.slot > b.slot;
    });
    for (const MoveAtEnd& m : moves)
        out = write_move(out, machine_.slots[m.slot].register_class, machine_.names[m.slot], m.value);
    instructions += move_count_;
    return true;
}

bool OnePass::is_overwritten(const Name& operand) const {
    for (std::uint32_t s = 0; s < slots_; ++s)
        if (uses_[s].computed != 0 && is_same(machine_.names[s], operand)) return true;
    return false;
}

// Whether every constant among the arguments may be written as a literal.
bool OnePass::takes_all(const EntryCode& e, const Arguments& arguments) {
    std::uint32_t literals = 0;
    for (std::uint32_t k = 0; k < e.inputs; ++k)
        literals |= static_cast<std::uint32_t>(is_literal(*arguments[k])) << k;
    return (literals & ~(e.literals & ~static_cast<std::uint32_t>(e.ranged))) == 0;
}

// A special register is read where it is pushed first; every later push of it names the same register.
Writer OnePass::push_special(Writer out, const EntryCode& e) {
    for (std::uint32_t k = 0; k < special_count_; ++k)
        if (specials_[k].entry == e.at) return push(e.type, specials_[k].name), out;
    const RegisterClass c = code_.classes[e.type];
    const Name own = registers_.next(c);
    out = write_special(out, c, own, e.entry->special);
    ++instructions;
    if (special_count_ < specials_.size()) specials_[special_count_++] = {e.at, own};
    push(e.type, own);
    return out;
}

// The slot whose register a value at `value` may be computed into by the assignment behind it. The live range
// of the operand's old value must have ended: no name of it may wait on a stack.
std::uint32_t OnePass::target_of(const Instruction& i, std::uint32_t type, const Name* value) const {
    const std::uint32_t slot = machine_.assigned_slot(i);
    if (slot == no_slot || machine_.slots[slot].type != type) return no_slot;
    return is_waiting(machine_.names[slot], type, value) ? no_slot : slot;
}

bool OnePass::is_waiting(const Name& name, std::uint32_t type, const Name* value) const {
    const auto stands_in = [&name](const Name* first, const Name* last) {
        return std::any_of(first, last, [&name](const Name& n) { return is_same(n, name); });
    };
    if (stands_in(bottom_[type], value)) return true;
    for (std::uint32_t t = 0; has_casts_ && t < code_.type_count; ++t)
        if (t != type && stands_in(bottom_[t], top_[t])) return true;
    return false;
}

// Whether the speculation held: no value is left that an instruction computes, every operand has received its
// value, and nobody reads its old one later.
bool OnePass::is_done() {
    const bool is_empty = std::memcmp(top_.data(), bottom_.data(), code_.type_count * sizeof(Name*)) == 0;
    for (std::uint32_t t = 0; !is_empty && t < code_.type_count; ++t) {
        if (!std::all_of(bottom_[t], top_[t], is_free)) return false;
        leftover += static_cast<std::uint32_t>(room(t));
    }
    for (std::uint32_t s = 0; s < slots_; ++s) {
        const Direction direction = machine_.slots[s].direction;
        const SlotUse& use = uses_[s];
        if (use.computed == 0 ? direction == Direction::out || (direction == Direction::mod && !keeps_)
                              : use.last_input > use.computed)
            return false;
    }
    return true;
}

}  // namespace

bool compile_in_one_pass(std::span<const Instruction> code, const Machine::Data& machine,
                         const CompileOptions& options, Arena& arena, Compiled& result) {
    OnePass pass(code, machine, options, arena);
    result.ptx = pass.compile();
    result.instruction_count = pass.instructions;
    result.leftover = pass.leftover;
    return result.ptx.data() != nullptr && (pass.leftover == 0 || options.leftover == Leftover::allow);
}

}  // namespace ptxgraft::stack
