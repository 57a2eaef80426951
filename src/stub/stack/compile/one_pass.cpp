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
        top_[no_stack] = bottom_[no_stack] = top_[own_stack] = bottom_[own_stack] = &none_;
        std::memset(uses_, 0, slots_ * sizeof(SlotUse));
        text_ = reinterpret_cast<char*>(arena.rest().data());
    }

    std::string_view compile();
    std::uint32_t instructions = 0, leftover = 0;

  private:
    // What most programs do not do is kept out of the loop, which needs the registers.
    [[gnu::noinline]] bool push_element(std::size_t at);
    [[gnu::noinline]] bool push_value(std::size_t at);
    Name* find_arguments(const Shape& shape, const EntryCode& e, Arguments& arguments);
    [[gnu::noinline]] const Name* assigned(std::size_t at, std::uint32_t type, const Name* place);
    bool rearrange(const Instruction& i);
    bool cast(const Instruction& i);
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
    std::array<Name*, lane_count> top_, bottom_;
    Name none_{};
    std::array<Special, most_specials> specials_;  // those pushed so far
    std::uint32_t special_count_ = 0;
    bool has_casts_ = false;
    char* text_;
};

// One loop with all that usual programs do: what it holds in registers would go through memory at each call.
std::string_view OnePass::compile() {
    constexpr std::string_view wrong;
    char* const begin = text_ + header_room;
    Writer out(begin);
    const std::size_t size = program_.size();
    // what a char* may not reach
    const Instruction* const code = program_.data();
    const Shape* const forms = machine_.shapes[static_cast<std::size_t>(Opcode::form)].shapes;
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
    return is_done() ? registers_.enclose(begin, out) : wrong;
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

// Where the arguments stand, of more than one stack or none that is written as a literal where it must not
// be. Pops those of the other stack. Null: some are missing; else where those of the result's stack begin.
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

// The register of the operand that the value at `place` of a stack, computed at `at`, is assigned to by the
// instruction behind it, which is done with then. Null where it must not name this register.
const Name* OnePass::assigned(std::size_t at, std::uint32_t type, const Name* place) {
    const std::uint32_t slot = target_of(program_[at + 1], type, place);
    if (slot >= slots_ || uses_[slot].computed != 0) return nullptr;
    uses_[slot].computed = static_cast<std::uint32_t>(at + 1);
    return machine_.names.data() + slot;
}

// What pushes values or rearranges them, and writes nothing.
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
        default: return false;
    }
}

bool OnePass::rearrange(const Instruction& i) {
    const std::uint32_t type = stack_of(i.type);
    Name* const top = top_[type];
    const std::ptrdiff_t have = room(type);
    switch (i.opcode) {
        case Opcode::dup: return have >= 1 && (push(type, top[-1]), true);
        case Opcode::over: return have >= 2 && (push(type, top[-2]), true);
        case Opcode::swap: return have >= 2 && (std::swap(top[-1], top[-2]), true);
        case Opcode::rotate: return have >= 3 && (std::rotate(top - 3, top - 2, top), true);
        case Opcode::drop: return have >= 1 && (--top_[type], is_free(top[-1]));
        case Opcode::yank_dup:
            return have > i.payload && (push(type, top[-1 - static_cast<std::ptrdiff_t>(i.payload)]), true);
        default:
            return have > i.payload &&
                   (std::swap(top[-1], top[-1 - static_cast<std::ptrdiff_t>(i.payload)]), true);
    }
}

// Within one class of registers nothing is written; see Runner::cast for the halves.
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

// Whether every constant among the arguments may be written as a literal.
bool OnePass::takes_all(const EntryCode& e, const Arguments& arguments) {
    std::uint32_t literals = 0;
    for (std::uint32_t k = 0; k < e.inputs; ++k)
        literals |= static_cast<std::uint32_t>(is_literal(*arguments[k])) << k;
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

// The slot whose register the value that will stand at `value` is computed into by the assignment behind it:
// nobody may read the operand's old value later.
std::uint32_t OnePass::target_of(const Instruction& i, std::uint32_t type, const Name* value) const {
    constexpr std::uint32_t none = 0xFFFFFFFFu;
    if (i.index >= machine_.operands.size() || i.payload >= machine_.operands[i.index].count) return none;
    const std::uint32_t slot = machine_.operands[i.index].first + i.payload;
    const Slot& s = machine_.slots[slot];
    if (s.direction == Direction::in || s.type != type) return none;
    return is_waiting(machine_.names[slot], type, value) ? none : slot;
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

// Nothing is left that an instruction was written for, and every operand has received its value, behind which
// nobody reads it.
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
    return !result.ptx.empty() && (pass.leftover == 0 || options.leftover == Leftover::allow);
}

}  // namespace ptxgraft::stack
