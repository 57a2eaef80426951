#include "stub/stack/one_pass.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "stub/stack/constant_name.hpp"
#include "stub/stack/registers.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint64_t name_slack = 4;
// `\top d, a, b, c, e;\n` or the move of a special register
constexpr std::uint64_t instruction_text = EntryCode::text_room + 5 * sizeof(Name) + 2;
constexpr std::uint32_t most_specials = 16;

constexpr std::uint64_t room_of(std::uint64_t instructions) { return instructions + name_slack; }

// `0f3F800000`, `-7`; names of registers begin with a letter, `_`, `$` or `%`.
bool is_literal(const Name& name) { return static_cast<unsigned>(name.text[Name::prefix] - '-') <= '9' - '-'; }

bool is_same(const Name& a, const Name& b) { return std::memcmp(&a, &b, sizeof(Name)) == 0; }

struct Special {
    std::uint32_t entry;
    Name name;
};
using Arguments = std::array<const Name*, EntryCode::inline_inputs>;

class OnePass {
  public:
    OnePass(std::span<const Instruction> program, const Machine::Data& machine, const CompileOptions& options, Arena& arena)
        : machine_(machine), keeps_(options.requests == Requests::assigned), code_(*machine.code), program_(program), slots_(static_cast<std::uint32_t>(machine.slots.size())), registers_(machine),
          last_input_(arena.take<std::uint32_t>(slots_ + 1)), computed_(arena.take<std::uint32_t>(slots_ + 1)) {
        const std::uint64_t room = room_of(program.size());
        Name* const names = arena.take<Name>(code_.type_count * room);
        for (std::uint32_t t = 0; t < code_.type_count; ++t) top_[t] = bottom_[t] = names + t * room;
        top_[no_stack] = bottom_[no_stack] = top_[own_stack] = bottom_[own_stack] = &none_;
        std::fill_n(last_input_, slots_, 0u);
        std::fill_n(computed_, slots_, 0u);
        text_ = reinterpret_cast<char*>(arena.rest().data());
    }

    std::string_view compile();
    std::uint32_t instructions = 0, leftover = 0;

  private:
    bool push_input(const Instruction& i);
    bool push_value(const Instruction& i);
    bool find_arguments(const Shape& shape, const EntryCode& e, Arguments& arguments);
    const Name* assigned(const Instruction& i, std::uint32_t type);
    bool rearrange(const Instruction& i);
    bool cast(const Instruction& i);
    static bool takes_all(const EntryCode& e, const Arguments& arguments);
    [[nodiscard]] std::uint32_t target_of(const Instruction& i, std::uint32_t type, const Name* value) const;
    [[nodiscard]] bool is_waiting(const Name& name, std::uint32_t type, const Name* value) const;
    [[nodiscard]] bool is_done();
    // Whether it costs nothing that nobody reads a value: it is an operand's or a constant.
    [[nodiscard]] static bool is_free(const Name& name) { return name.text[Name::prefix] != '%'; }
    Writer push_special(Writer out, const EntryCode& e);
    void push(std::uint32_t type, const Name& name) { *top_[type]++ = name; }
    [[nodiscard]] std::ptrdiff_t room(std::uint32_t type) const { return top_[type] - bottom_[type]; }

    const Machine::Data& machine_;
    const bool keeps_;  // a `mod` that is not assigned keeps its value
    const InstructionSet::Code& code_;
    const std::span<const Instruction> program_;
    const std::uint32_t slots_;
    Registers registers_;
    std::uint32_t* const last_input_;  // by slot: where its operand was pushed last, plus one
    std::uint32_t* const computed_;    // by slot: where the value that it receives was computed, plus one
    std::array<Name*, lane_count> top_, bottom_;
    Name none_{};
    std::array<Special, most_specials> specials_;  // those pushed so far
    std::uint32_t special_count_ = 0;
    std::uint32_t at_ = 0;
    bool has_casts_ = false;
    char* text_;
};

std::string_view OnePass::compile() {
    constexpr std::string_view wrong;
    char* const begin = text_ + header_room;
    Writer out(begin);
    const auto size = static_cast<std::uint32_t>(program_.size());
    const Instruction* const code = program_.data();
    const ShapeTable forms = machine_.shapes[static_cast<std::size_t>(Opcode::form)];
    const EntryCode* const entries = code_.entries.data();
    Name made;
    for (at_ = 0; at_ < size; ++at_) {
        const Instruction i = code[at_];
        if (i.opcode != Opcode::form) {
            if (!(i.opcode == Opcode::input ? push_input(i) : push_value(i))) return wrong;
            continue;
        }
        const std::uint64_t index = std::min<std::uint64_t>(i.index, forms.count);
        const Shape& shape = forms.shapes[index];
        const EntryCode& e = entries[index];
        const std::uint32_t a = shape.stacks[0];
        Name* const place = top_[a] - shape.pops[0];
        if (!shape.is_short) {
            if ((*machine_.present)[index] == Present::no || !e.is_special || e.is_ordered) return wrong;
            out = push_special(out, e);
            continue;
        }
        if (place < bottom_[a]) return wrong;
        Arguments arguments;
        if (!shape.is_plain && !find_arguments(shape, e, arguments)) return wrong;
        top_[a] = place;
        const Name* own = at_ + 1 < size ? assigned(code[at_ + 1], a) : nullptr;
        if (own == nullptr) [[likely]] {
            own = registers_.next(e.register_class, made);
            top_[a] = place + 1;
        }
        out.blocks<EntryCode::text_room>(e.text, e.text_length);
        out = write_name(out, *own);
        if (shape.is_plain) {
            for (std::size_t k = 0; k < most_plain_inputs; ++k) out.block(place[k].text, place[k].length & e.masks[k]);
        } else {
            for (std::size_t k = 0; k < arguments.size(); ++k) out.block(arguments[k]->text, arguments[k]->length & e.masks[k]);
        }
        out.text(";\n");
        *place = *own;
        ++instructions;
    }
    return is_done() ? registers_.enclose(begin, out) : wrong;
}

inline bool OnePass::push_input(const Instruction& i) {
    if (i.index >= machine_.operands.size()) return false;
    const OperandCode& operand = machine_.operands[i.index];
    if (i.payload >= operand.readable) return false;
    const std::uint32_t slot = operand.first + i.payload;
    last_input_[slot] = at_ + 1;
    push(operand.type, machine_.names[slot]);
    return true;
}

// Where the arguments stand, of more than one stack or none that is written as a literal where it must not be. Pops those of the other stack.
bool OnePass::find_arguments(const Shape& shape, const EntryCode& e, Arguments& arguments) {
    const std::uint32_t b = shape.stacks[1];
    Name* const below = top_[b] - shape.pops[1];
    if (below < bottom_[b]) return false;
    for (std::size_t k = 0; k < arguments.size(); ++k) arguments[k] = top_[shape.arguments[k]] + shape.depths[k];
    top_[b] = below;
    return e.takes_literals || takes_all(e, arguments);
}

// The register of the operand that the value on top of `type` is assigned to by the next instruction, which is done with then. Null where it is
// no assignment, or one that must not name this register.
inline const Name* OnePass::assigned(const Instruction& i, std::uint32_t type) {
    if (i.opcode != Opcode::assign) [[likely]] return nullptr;
    const std::uint32_t slot = target_of(i, type, top_[type]);
    if (slot >= slots_ || computed_[slot] != 0) return nullptr;
    computed_[slot] = ++at_;  // past the assignment
    return machine_.names.data() + slot;
}

// What pushes values or rearranges them, and writes nothing.
bool OnePass::push_value(const Instruction& i) {
    switch (i.opcode) {
        case Opcode::constant: {
            if (i.type == type_id(Type::f32)) return push(i.type, f32_name(i.payload)), true;
            if (i.type >= code_.type_count || stack_of(i.type) >= type_b8) return false;
            const std::uint32_t type = stack_of(i.type);
            name_constant(*top_[type], static_cast<Type>(code_.bases[type]), widened(code_.bases[i.type], i.payload));
            return top_[type]++->length != Name::is_long;
        }
        case Opcode::dup: case Opcode::over: case Opcode::swap: case Opcode::rotate: case Opcode::drop: case Opcode::yank_dup: case Opcode::swap_with:
            return i.type < code_.type_count && rearrange(i);
        case Opcode::cast:
            return i.type < code_.type_count && i.index < code_.type_count && cast(i);
        default:
            return false;
    }
}

bool OnePass::rearrange(const Instruction& i) {
    const std::uint32_t type = stack_of(i.type);
    Name* const top = top_[type];
    const std::ptrdiff_t have = room(type);
    switch (i.opcode) {
        case Opcode::dup:
            return have >= 1 && (push(type, top[-1]), true);
        case Opcode::over:
            return have >= 2 && (push(type, top[-2]), true);
        case Opcode::swap:
            return have >= 2 && (std::swap(top[-1], top[-2]), true);
        case Opcode::rotate:
            return have >= 3 && (std::rotate(top - 3, top - 2, top), true);
        case Opcode::drop:
            return have >= 1 && (--top_[type], is_free(top[-1]));
        case Opcode::yank_dup:
            return have > i.payload && (push(type, top[-1 - static_cast<std::ptrdiff_t>(i.payload)]), true);
        default:
            return have > i.payload && (std::swap(top[-1], top[-1 - static_cast<std::ptrdiff_t>(i.payload)]), true);
    }
}

// Within one class of registers nothing is written; see Runner::cast for the halves.
bool OnePass::cast(const Instruction& i) {
    const std::uint32_t to = stack_of(i.type), from = stack_of(static_cast<TypeId>(i.index));
    if (code_.classes[to] != code_.classes[from] || is_half(code_.bases[to]) || to >= type_b8 || room(from) == 0 || is_literal(top_[from][-1])) return false;
    const Name value = *--top_[from];
    has_casts_ = true;
    push(to, value);
    return true;
}

// Whether every constant among the arguments may be written as a literal.
bool OnePass::takes_all(const EntryCode& e, const Arguments& arguments) {
    std::uint32_t literals = 0;
    for (std::uint32_t k = 0; k < e.inputs; ++k) literals |= static_cast<std::uint32_t>(is_literal(*arguments[k])) << k;
    return (literals & ~(e.literals & ~static_cast<std::uint32_t>(e.ranged))) == 0;
}

// Written where it is pushed first, as every other push of it is the same value.
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

// The slot whose register the value that will stand at `value` is computed into by the assignment behind it: nobody may read the operand's old
// value later.
std::uint32_t OnePass::target_of(const Instruction& i, std::uint32_t type, const Name* value) const {
    constexpr std::uint32_t none = 0xFFFFFFFFu;
    if (i.index >= machine_.operands.size() || i.payload >= machine_.operands[i.index].count) return none;
    const std::uint32_t slot = machine_.operands[i.index].first + i.payload;
    const Slot& s = machine_.slots[slot];
    if (s.direction == Direction::in || s.type != type) return none;
    return is_waiting(machine_.names[slot], type, value) ? none : slot;
}

bool OnePass::is_waiting(const Name& name, std::uint32_t type, const Name* value) const {
    const auto stands_in = [&name](const Name* first, const Name* last) { return std::any_of(first, last, [&name](const Name& n) { return is_same(n, name); }); };
    if (stands_in(bottom_[type], value)) return true;
    for (std::uint32_t t = 0; has_casts_ && t < code_.type_count; ++t)
        if (t != type && stands_in(bottom_[t], top_[t])) return true;
    return false;
}

// Nothing is left that an instruction was written for, and every operand has received its value, behind which nobody reads it.
bool OnePass::is_done() {
    for (std::uint32_t t = 0; t < code_.type_count; ++t) {
        if (top_[t] == bottom_[t]) continue;
        if (!std::all_of(bottom_[t], top_[t], is_free)) return false;
        leftover += static_cast<std::uint32_t>(room(t));
    }
    for (std::uint32_t s = 0; s < slots_; ++s) {
        const Direction direction = machine_.slots[s].direction;
        if (computed_[s] == 0 ? direction == Direction::out || (direction == Direction::mod && !keeps_) : last_input_[s] > computed_[s]) return false;
    }
    return true;
}

}  // namespace

bool may_be_one_pass(ProgramView program, const Machine::Data& machine, const CompileOptions& options) {
    constexpr std::size_t most_instructions = 1u << 16;  // more stacks than are used have room for so many names
    return options.missing == Missing::error && !options.fold && !options.reuse && !options.hash && machine.has_short_names &&
           program.code.size() <= std::min<std::size_t>(most_instructions, options.limits.steps);
}

std::size_t one_pass_bytes(std::size_t instructions, const Machine::Data& machine) {
    const std::uint64_t slots = machine.slots.size();
    return 2 * Arena::bytes<std::uint32_t>(slots + 1) + Arena::bytes<Name>(machine.code->type_count * room_of(instructions)) + header_room +
           instruction_text * (instructions + 1) + 256;
}

bool compile_in_one_pass(std::span<const Instruction> code, const Machine::Data& machine, const CompileOptions& options, Arena& arena, Compiled& result) {
    OnePass pass(code, machine, options, arena);
    result.ptx = pass.compile();
    result.instruction_count = pass.instructions;
    result.leftover = pass.leftover;
    return !result.ptx.empty() && (pass.leftover == 0 || options.leftover == Leftover::allow);
}

}  // namespace ptxgraft::stack
