// Three passes over a program: `run` executes it symbolically and makes a graph of values, `mark` walks the
// graph from the assignments and finds what is live, `emit` writes the live values in program order. All
// buffers are kept.

#include <algorithm>
#include <bit>
#include <cstring>
#include <memory>
#include <utility>

#include "ptxgraft/stack.hpp"
#include "stub/stack/diagnose.hpp"
#include "stub/stack/machine.hpp"
#include "stub/stack/writer.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::uint32_t none = 0xFFFFFFFFu;
constexpr std::uint32_t to_the_end = 0xFFFFFFFEu;  // last use: the final moves
constexpr std::uint32_t max_slots = 1u << 16, max_operands = 1u << 12;
constexpr std::uint32_t max_program = 1u << 24;

// truth: a constant predicate, which needs a register
enum class Kind : std::uint8_t { input, constant, form, cast, truth };

struct Value {
    std::uint32_t args[max_inputs];  // of input: the slot; of constant and truth: the bits; else values
    char name[Writer::room];         // of its register, where it is short: one block to copy
    std::uint32_t last_use;          // position of the last value that reads it; none: dead
    std::uint32_t target;            // slot that it is computed into, or none
    std::uint16_t form;
    Kind kind;
    StackId type;
    std::uint8_t name_length;  // 0: the name is long, see the slot
};

// What is left to do for an assigned slot once the values are computed.
enum class Move : std::uint8_t { done, from_operand, from_value };

// One register of an operand.
struct Slot {
    std::uint32_t input;    // the value that reads it, or none
    std::uint32_t value;    // the value assigned to it, or none
    std::uint32_t readers;  // operand moves that still have to read it
    std::uint32_t name_at;
    std::uint32_t name_length;  // 0: not used so far
    std::uint32_t operand;
    StackId type;
    Direction direction;
    Move move;
};

struct Entry {
    std::uint32_t value;
    std::uint32_t origin;  // the instruction that pushed it
};

// A buffer that grows and keeps its room; its elements are not initialised.
template <class T>
class Buffer {
  public:
    T* reserve(std::size_t count) {
        if (count > capacity_) {
            capacity_ = std::bit_ceil(count);
            data_ = std::make_unique_for_overwrite<T[]>(capacity_);
        }
        return data_.get();
    }
    // As reserve, but keeps the first `used` elements.
    T* extend(std::size_t used, std::size_t count) {
        if (count <= capacity_) return data_.get();
        auto old = std::move(data_);
        reserve(count);
        std::copy_n(old.get(), used, data_.get());
        return data_.get();
    }
    T* get() const { return data_.get(); }

  private:
    std::unique_ptr<T[]> data_;
    std::size_t capacity_ = 0;
};

// Registers of ours: a stem and a number per class.
enum class Class : std::uint8_t { p, r, f };
constexpr std::size_t class_count = 3;
constexpr std::string_view class_types[class_count] = {".pred", ".b32", ".f32"};

constexpr Class class_of(StackId type) {
    return type == StackId::pred ? Class::p : type == StackId::f32 ? Class::f : Class::r;
}
constexpr std::string_view moves[class_count] = {"\tmov.pred ", "\tmov.b32 ", "\tmov.f32 "};
constexpr std::size_t header_room = 192;

struct Stem {
    char text[class_count][Writer::room];
    std::uint32_t length;
};

// Whether a name is `%f` and digits, one of ours.
bool clashes(std::string_view name, std::string_view stem) {
    return name.starts_with(stem) &&
           name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

bool clashes(const Signature& signature, const Stem& stem) {
    for (const SiteOperand& operand : signature.operands) {
        if (operand.register_name.empty() || operand.register_name[0] != '%') continue;
        for (const auto& text : stem.text)
            if (clashes(operand.register_name, {text, stem.length})) return true;
    }
    return false;
}

// `%f`; where an operand has such a name `%f$0_`, `%f$1_` …
Stem stem_for(const Signature& signature) {
    Stem stem{{"%p", "%r", "%f"}, 2};
    for (std::uint32_t attempt = 0; clashes(signature, stem); ++attempt) {
        for (auto& text : stem.text) {
            Writer out(text + 2);
            out.text("$");
            out.number(attempt);
            out.text("_");
            stem.length = static_cast<std::uint32_t>(out.end() - text);
        }
    }
    return stem;
}

// The compiler itself: of this file alone, so that its functions are inlined.
struct Work {
    std::span<const StackForm> forms = machine();
    Buffer<Value> values;
    Buffer<Slot> slots;
    Buffer<std::uint32_t> bases;     // first slot of each operand
    Buffer<std::uint32_t> assigned;  // slots, in order of assignment
    Buffer<std::uint32_t> ready;     // slots whose move may be emitted
    Buffer<Entry> entries;           // the four stacks
    Buffer<char> names, text;
    Entry* stacks[stack_count] = {};
    std::uint32_t depth[stack_count] = {};
    std::uint32_t operand_count = 0, value_count = 0, slot_count = 0, assigned_count = 0, names_used = 0;
    std::uint32_t longest_name = 0, instructions = 0;
    std::size_t bound = 0;
    std::uint32_t registers[class_count] = {};
    Stem stem;
    const Signature* signature = nullptr;
    CompileOptions options;

    Expected<std::string_view> compile(std::span<const Instruction> program);

    // --- run
    Expected<void> prepare(std::size_t program_size);
    Expected<void> run(std::span<const Instruction> program);
    bool step(const Instruction& instruction, std::uint32_t at);
    bool push_input(const Instruction& instruction, std::uint32_t at);
    bool push_constant(const Instruction& instruction, std::uint32_t at);
    bool apply_form(const Instruction& instruction, std::uint32_t at);
    bool apply_on_one_stack(const StackForm& form, std::uint16_t index, std::uint32_t at);
    bool assign(const Instruction& instruction);
    bool cast(const Instruction& instruction, std::uint32_t at);
    bool rearrange(const Instruction& instruction, std::uint32_t at);
    Slot* slot_of(const Instruction& instruction);
    void use_name(Slot& slot);
    void take_name(Value& value, const Slot& slot) const;
    Expected<void> finish(std::span<const Instruction> program);

    void push(StackId type, std::uint32_t value, std::uint32_t origin) {
        const auto lane = static_cast<std::size_t>(type);
        stacks[lane][depth[lane]++] = {value, origin};
    }
    std::uint32_t pop(StackId type) {
        const auto lane = static_cast<std::size_t>(type);
        return stacks[lane][--depth[lane]].value;
    }
    Value& add_value(Kind kind, StackId type) {
        Value& value = values.get()[value_count++];
        value.kind = kind;
        value.type = type;
        value.last_use = none;
        value.target = none;
        return value;
    }

    // --- mark
    void mark();
    void use(std::uint32_t value, std::uint32_t position) {
        Value& v = values.get()[value];
        if (v.last_use == none) v.last_use = position;
    }
    void choose_targets();

    // --- emit
    std::string_view emit();
    // Writers go by value: they stay in a register, where no store through a char* can reach them.
    [[nodiscard]] Writer emit_value(Writer out, Value& value);
    std::uint32_t sort_moves();
    [[nodiscard]] Writer emit_operand_moves(Writer out, std::uint32_t waiting);
    [[nodiscard]] Writer emit_move(Writer out, const Slot& to);
    [[nodiscard]] Writer open_cycle(Writer out, Slot& slot);
    char* emit_header(char* begin) const;
    [[nodiscard]] Writer write_slot(Writer out, const Slot& slot) const {
        out.name(names.get() + slot.name_at, slot.name_length);
        return out;
    }
    void name_register(Value& value);
    [[nodiscard]] Writer write_value(Writer out, const Value& value, StackId as, bool is_byte) const;
    [[nodiscard]] Writer write_destination(Writer out, Value& value);
};

// --- run
// ------------------------------------------------------------------------------------------------------------

// Lays out one slot per register of the operands and empty stacks.
Expected<void> Work::prepare(std::size_t program_size) {
    const auto& operands = signature->operands;
    std::uint64_t total = 0;
    for (const SiteOperand& operand : operands) total += std::max<std::uint64_t>(operand.count, 1);
    if (total > max_slots || operands.size() > max_operands)
        return fail(Errc::stack_too_large, "the signature has more than 4,096 operands or 65,536 registers");
    if (program_size > max_program)
        return fail(Errc::stack_too_large, "the program has more than 16,777,216 instructions");
    slot_count = 0;
    operand_count = static_cast<std::uint32_t>(operands.size());
    names_used = assigned_count = instructions = longest_name = value_count = 0;
    Slot* slot = slots.reserve(total + 1);
    std::uint32_t* base = bases.reserve(operands.size() + 1);
    for (std::uint32_t o = 0; o < operands.size(); ++o) {
        base[o] = slot_count;
        const std::uint32_t count = std::max<std::uint32_t>(operands[o].count, 1);
        for (std::uint32_t e = 0; e < count; ++e)
            slot[slot_count++] = {
                none, none, 0, 0, 0, o, stack_of(operands[o].type), operands[o].direction, Move::done};
    }
    base[operands.size()] = slot_count;
    assigned.reserve(total + 1);
    ready.reserve(total + 1);
    values.reserve(program_size + total + 1);
    Entry* entry = entries.reserve(stack_count * (program_size + 1));
    for (std::size_t i = 0; i < stack_count; ++i) stacks[i] = entry + i * (program_size + 1), depth[i] = 0;
    return {};
}

// The name of an operand's register, kept with room behind it so that the writer may copy whole blocks.
void Work::use_name(Slot& slot) {
    if (slot.name_length != 0) return;
    const SiteOperand& operand = signature->operands[slot.operand];
    const std::string& stem_text = operand.register_name;
    names.extend(names_used, names_used + stem_text.size() + 10 + Writer::room);
    Writer out(names.get() + names_used);
    out.text(stem_text);
    if (operand.count != 0)
        out.number(static_cast<std::uint32_t>(&slot - slots.get()) - bases.get()[slot.operand]);
    slot.name_at = names_used;
    slot.name_length = static_cast<std::uint32_t>(out.end() - (names.get() + names_used));
    names_used += slot.name_length;
    longest_name = std::max(longest_name, slot.name_length);
}

void Work::take_name(Value& value, const Slot& slot) const {
    std::memcpy(value.name, names.get() + slot.name_at, sizeof value.name);
    value.name_length =
        static_cast<std::uint8_t>(slot.name_length <= sizeof value.name ? slot.name_length : 0);
}

Slot* Work::slot_of(const Instruction& instruction) {
    if (instruction.index >= operand_count) return nullptr;
    const std::uint32_t* base = bases.get() + instruction.index;
    if (instruction.payload >= base[1] - base[0]) return nullptr;
    Slot* slot = slots.get() + base[0] + instruction.payload;
    return slot->type == StackId::none ? nullptr : slot;
}

bool Work::push_input(const Instruction& instruction, std::uint32_t at) {
    Slot* slot = slot_of(instruction);
    if (!slot || slot->direction == Direction::out) return false;
    if (slot->input == none) {
        slot->input = value_count;
        use_name(*slot);
        Value& value = add_value(Kind::input, slot->type);
        value.args[0] = static_cast<std::uint32_t>(slot - slots.get());
        take_name(value, *slot);
    }
    push(slot->type, slot->input, at);
    return true;
}

bool Work::push_constant(const Instruction& instruction, std::uint32_t at) {
    const StackId type = stack_of(instruction.type);
    if (type == StackId::none) return false;
    const bool is_pred = type == StackId::pred;
    push(type, value_count, at);
    add_value(is_pred ? Kind::truth : Kind::constant, type).args[0] =
        is_pred ? instruction.payload != 0 : instruction.payload;
    return true;
}

bool Work::apply_form(const Instruction& instruction, std::uint32_t at) {
    if (instruction.index >= forms.size()) return false;
    const StackForm& form = forms[instruction.index];
    if (form.inputs == 0) return false;
    if (form.one_stack) return apply_on_one_stack(form, instruction.index, at);
    for (std::size_t i = 0; i < stack_count; ++i)
        if (depth[i] < form.needs[i]) return false;
    Value& value = values.get()[value_count];
    for (std::size_t i = form.inputs; i-- > 0;) value.args[i] = pop(form.stacks[i]);
    for (unsigned mask = form.immediate_inputs; mask != 0; mask &= mask - 1) {
        const auto i = static_cast<std::size_t>(std::countr_zero(mask));
        const Value& literal = values.get()[value.args[i]];
        if (literal.kind == Kind::constant && literal.args[0] <= 255) continue;
        for (std::size_t k = 0; k < form.inputs; ++k)
            ++depth[static_cast<std::size_t>(form.stacks[k])];  // undo the pops
        return false;
    }
    add_value(Kind::form, form.output).form = instruction.index;
    push(form.output, value_count - 1, at);
    return true;
}

// The usual case: all operands are of one type.
bool Work::apply_on_one_stack(const StackForm& form, std::uint16_t index, std::uint32_t at) {
    std::uint32_t& have = depth[static_cast<std::size_t>(form.output)];
    if (have < form.inputs) return false;
    have -= form.inputs;
    Entry* const first = stacks[static_cast<std::size_t>(form.output)] + have++;
    const std::uint32_t position = value_count;
    Value& value = add_value(Kind::form, form.output);
    for (std::size_t i = 0; i < form.inputs; ++i) value.args[i] = first[i].value;
    value.form = index;
    *first = {position, at};
    return true;
}

bool Work::assign(const Instruction& instruction) {
    Slot* slot = slot_of(instruction);
    if (!slot || slot->direction == Direction::in || depth[static_cast<std::size_t>(slot->type)] == 0)
        return false;
    if (slot->value == none) {
        assigned.get()[assigned_count++] = static_cast<std::uint32_t>(slot - slots.get());
        use_name(*slot);
    } else if (options.missing == Missing::error) {
        return false;
    }
    slot->value = pop(slot->type);
    return true;
}

// The same bits under another type: nothing between integers, a mov.b32 between f32 and an integer.
bool Work::cast(const Instruction& instruction, std::uint32_t at) {
    const StackId to = stack_of(instruction.type);
    const StackId from =
        instruction.index > 0xFF ? StackId::none : stack_of(static_cast<std::uint8_t>(instruction.index));
    if (to == StackId::none || from == StackId::none || to == StackId::pred || from == StackId::pred)
        return false;
    if (depth[static_cast<std::size_t>(from)] == 0) return false;
    std::uint32_t value = pop(from);
    if (class_of(to) != class_of(from)) {
        const Value& source = values.get()[value];
        const bool is_constant = source.kind == Kind::constant;
        const std::uint32_t arg = is_constant ? source.args[0] : value;
        value = value_count;
        add_value(is_constant ? Kind::constant : Kind::cast, to).args[0] = arg;
    }
    push(to, value, at);
    return true;
}

bool Work::rearrange(const Instruction& instruction, std::uint32_t at) {
    const StackId type = stack_of(instruction.type);
    if (type == StackId::none) return false;
    const auto lane = static_cast<std::size_t>(type);
    Entry* top = stacks[lane] + depth[lane];
    const std::uint32_t have = depth[lane];
    switch (instruction.opcode) {
        case Opcode::dup:
            return have >= 1 && (push(type, top[-1].value, at), true);
        case Opcode::over:
            return have >= 2 && (push(type, top[-2].value, at), true);
        case Opcode::drop:
            return have >= 1 && (--depth[lane], true);
        case Opcode::swap:
            return have >= 2 && (std::swap(top[-1], top[-2]), true);
        default:
            return have >= 3 && (std::rotate(top - 3, top - 2, top), true);
    }
}

bool Work::step(const Instruction& instruction, std::uint32_t at) {
    switch (instruction.opcode) {
        case Opcode::input:
            return push_input(instruction, at);
        case Opcode::constant:
            return push_constant(instruction, at);
        case Opcode::form:
            return apply_form(instruction, at);
        case Opcode::assign:
            return assign(instruction);
        case Opcode::dup:
        case Opcode::swap:
        case Opcode::drop:
        case Opcode::over:
        case Opcode::rotate:
            return rearrange(instruction, at);
        case Opcode::cast:
            return cast(instruction, at);
    }
    return false;  // a byte that is no opcode
}

Expected<void> Work::run(std::span<const Instruction> program) {
    const bool must = options.missing == Missing::error;
    for (std::uint32_t at = 0; at < program.size(); ++at)
        if (!step(program[at], at) && must) return diagnose(program, at, *signature, depth);
    return finish(program);
}

// After the program: every out is assigned; under Missing::skip those that are not become zero.
Expected<void> Work::finish(std::span<const Instruction> program) {
    for (Slot* slot = slots.get(); slot != slots.get() + slot_count; ++slot) {
        if (slot->direction != Direction::out || slot->value != none) continue;
        const auto element = static_cast<std::uint32_t>(slot - slots.get()) - bases.get()[slot->operand];
        if (options.missing == Missing::error || slot->type == StackId::none)
            return diagnose_output(signature->operands[slot->operand], element,
                                   static_cast<std::uint32_t>(program.size()));
        slot->value = value_count;
        add_value(slot->type == StackId::pred ? Kind::truth : Kind::constant, slot->type).args[0] = 0;
        assigned.get()[assigned_count++] = static_cast<std::uint32_t>(slot - slots.get());
        use_name(*slot);
    }
    if (options.leftover == Leftover::allow) return {};
    for (std::size_t i = 0; i < stack_count; ++i)
        if (depth[i] != 0) return diagnose_leftover(stack_names[i], stacks[i][depth[i] - 1].origin, depth[i]);
    return {};
}

// --- mark
// -----------------------------------------------------------------------------------------------------------

// From the last value to the first, so that the first use that is seen is the last one. Counts the text on
// the way.
void Work::mark() {
    for (std::uint32_t i = 0; i < assigned_count; ++i) use(slots.get()[assigned.get()[i]].value, to_the_end);
    const std::size_t widest =
        std::max<std::size_t>(longest_name, stem.length + 10) + 2;  // with ", "; a literal has 12
    bound = Writer::room + header_room + assigned_count * (2 * (2 * widest + 16));
    for (std::uint32_t i = value_count; i-- > 0;) {
        const Value& value = values.get()[i];
        if (value.last_use == none) continue;
        if (value.kind == Kind::form) {
            const StackForm& form = forms[value.form];
            for (std::size_t k = 0; k < form.inputs; ++k) use(value.args[k], i);
            bound += form.text_length + 5 * widest;
        } else if (value.kind != Kind::input) {
            if (value.kind == Kind::cast) use(value.args[0], i);
            bound += 16 + 2 * widest;
        }
    }
}

// A value that an operand receives is computed into its register at once where nobody reads the old value
// later.
void Work::choose_targets() {
    for (std::uint32_t i = 0; i < assigned_count; ++i) {
        const std::uint32_t index = assigned.get()[i];
        const Slot& slot = slots.get()[index];
        Value& value = values.get()[slot.value];
        if (value.kind == Kind::input || value.kind == Kind::constant || value.target != none) continue;
        const std::uint32_t last_read = slot.input == none ? none : values.get()[slot.input].last_use;
        const bool fits = value.kind != Kind::form || !forms[value.form].exact_output ||
                          signature->operands[slot.operand].type == Type::b32;
        if (fits && (last_read == none || last_read <= slot.value)) value.target = index;
    }
}

// --- emit
// -----------------------------------------------------------------------------------------------------------

// A register of ours. A stem has at most 8 characters and a number at most 8 digits: the name is always
// short.
void Work::name_register(Value& value) {
    const auto c = static_cast<std::size_t>(class_of(value.type));
    std::memcpy(value.name, stem.text[c], sizeof value.name);
    Writer name(value.name + stem.length);
    name.number(registers[c]++);
    value.name_length = static_cast<std::uint8_t>(name.end() - value.name);
}

Writer Work::write_value(Writer out, const Value& value, StackId as, bool is_byte) const {
    if (value.kind != Kind::constant) {
        if (value.name_length == 0)
            return write_slot(out, slots.get()[value.kind == Kind::input ? value.args[0] : value.target]);
        out.block(value.name, value.name_length);
        return out;
    }
    const std::uint32_t bits = value.args[0];
    if (as == StackId::f32)
        out.float_bits(bits);
    else if (as == StackId::s32)
        out.integer(static_cast<std::int32_t>(bits));
    else
        out.number(is_byte ? bits & 0xFF : bits);
    return out;
}

Writer Work::write_destination(Writer out, Value& value) {
    if (value.target != none)
        take_name(value, slots.get()[value.target]);
    else
        name_register(value);
    return write_value(out, value, value.type, false);
}

Writer Work::emit_value(Writer out, Value& value) {
    ++instructions;
    if (value.kind == Kind::form) {
        const StackForm& form = forms[value.form];
        const Value* const all = values.get();
        out.name(form.text.data(), form.text_length);
        out = write_destination(out, value);
        for (std::size_t i = 0; i < form.inputs; ++i) {
            out.text(", ");
            out = write_value(out, all[value.args[i]], form.stacks[i], (form.byte_inputs >> i & 1) != 0);
        }
    } else if (value.kind == Kind::cast) {
        out.text("\tmov.b32 ");
        out = write_destination(out, value);
        out.text(", ");
        const Value& source = values.get()[value.args[0]];
        out = write_value(out, source, source.type, false);
    } else {
        out.text("\tmov.pred ");
        out = write_destination(out, value);
        out.text(", ");
        out.number(value.args[0]);
    }
    out.text(";\n");
    return out;
}

Writer Work::emit_move(Writer out, const Slot& to) {
    ++instructions;
    out.text(moves[static_cast<std::size_t>(class_of(to.type))]);
    out = write_slot(out, to);
    out.text(", ");
    out = write_value(out, values.get()[to.value], to.type, false);
    out.text(";\n");
    return out;
}

// Sorts the assignments: what is in place already, what is copied from operands, what comes from other
// values.
std::uint32_t Work::sort_moves() {
    Slot* slot = slots.get();
    std::uint32_t waiting = 0;
    for (std::uint32_t k = 0; k < assigned_count; ++k) {
        const std::uint32_t i = assigned.get()[k];
        const Value& value = values.get()[slot[i].value];
        const bool from_operand = value.kind == Kind::input;
        if (from_operand ? value.args[0] == i : value.target == i) continue;
        slot[i].move = from_operand ? Move::from_operand : Move::from_value;
        if (from_operand) ++slot[value.args[0]].readers, ++waiting;
    }
    return waiting;
}

// Saves an operand that the other moves of its cycle would overwrite; the move that reads it reads the copy.
Writer Work::open_cycle(Writer out, Slot& slot) {
    Value& value = values.get()[slot.input];
    out.text(moves[static_cast<std::size_t>(class_of(value.type))]);
    name_register(value);
    out.block(value.name, value.name_length);
    out.text(", ");
    out = write_slot(out, slot);
    out.text(";\n");
    ++instructions;
    value.kind = Kind::cast;  // from here on it is written as a temporary
    slot.readers = 0;
    return out;
}

// A parallel copy of operands: a move is emitted once nobody has to read its destination any more; where only
// cycles are left, one is opened with a temporary.
Writer Work::emit_operand_moves(Writer out, std::uint32_t waiting) {
    Slot* slot = slots.get();
    std::uint32_t* queue = ready.get();
    std::uint32_t queued = 0, cycle = 0;
    for (std::uint32_t k = 0; k < assigned_count; ++k)
        if (const std::uint32_t i = assigned.get()[k];
            slot[i].move == Move::from_operand && slot[i].readers == 0)
            queue[queued++] = i;
    for (; waiting != 0; --waiting) {
        if (queued == 0) {
            while (slot[assigned.get()[cycle]].move != Move::from_operand) ++cycle;
            queue[queued++] = assigned.get()[cycle];
            out = open_cycle(out, slot[queue[0]]);
        }
        Slot& to = slot[queue[--queued]];
        const Value& value = values.get()[to.value];
        out = emit_move(out, to);
        to.move = Move::done;
        if (value.kind != Kind::input) continue;
        const std::uint32_t from = value.args[0];
        if (--slot[from].readers == 0 && slot[from].move == Move::from_operand) queue[queued++] = from;
    }
    return out;
}

// The scope and its registers, written in front of the instructions.
char* Work::emit_header(char* begin) const {
    char buffer[header_room + Writer::room];
    Writer out(buffer);
    out.text("\t{\n");
    for (std::size_t c = 0; c < class_count; ++c) {
        if (registers[c] == 0) continue;
        out.text("\t.reg ");
        out.text(class_types[c]);
        out.text(" ");
        out.name(stem.text[c], stem.length);
        out.text("<");
        out.number(registers[c]);
        out.text(">;\n");
    }
    const auto length = out.end() - buffer;
    return static_cast<char*>(std::memcpy(begin - length, buffer, static_cast<std::size_t>(length)));
}

std::string_view Work::emit() {
    char* begin = text.reserve(bound) + header_room;
    std::fill(std::begin(registers), std::end(registers), 0);
    Writer out(begin);
    Value* const last = values.get() + value_count;
    for (Value* value = values.get(); value != last; ++value)
        if (value->last_use != none && value->kind != Kind::input && value->kind != Kind::constant)
            out = emit_value(out, *value);
    out = emit_operand_moves(out, sort_moves());
    for (std::uint32_t k = 0; k < assigned_count; ++k)
        if (const Slot& to = slots.get()[assigned.get()[k]]; to.move == Move::from_value)
            out = emit_move(out, to);
    if ((registers[0] | registers[1] | registers[2]) != 0) {
        begin = emit_header(begin);
        out.text("\t}\n");
    }
    return {begin, static_cast<std::size_t>(out.end() - begin)};
}

Expected<std::string_view> Work::compile(std::span<const Instruction> program) {
    if (auto ready_to_run = prepare(program.size()); !ready_to_run)
        return tl::unexpected(ready_to_run.error());
    if (auto done = run(program); !done) return tl::unexpected(done.error());
    mark();
    choose_targets();
    return emit();
}

}  // namespace

struct Compiler::Data : Work {};

Compiler::Compiler() : data_(new Data) {}
Compiler::~Compiler() { delete data_; }
Compiler::Compiler(Compiler&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
Compiler& Compiler::operator=(Compiler&& other) noexcept {
    std::swap(data_, other.data_);
    return *this;
}

Expected<std::string_view> Compiler::compile(std::span<const Instruction> program, const Signature& signature,
                                             const CompileOptions& options) {
    if (!data_) data_ = new Data;  // after a move
    data_->signature = &signature;
    data_->options = options;
    data_->stem = stem_for(signature);
    return data_->compile(program);
}

std::uint32_t Compiler::instruction_count() const { return data_ ? data_->instructions : 0; }

}  // namespace ptxgraft::stack
