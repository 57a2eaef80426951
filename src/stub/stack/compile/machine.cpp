// Makes the tables of sets and machines.

#include "stub/stack/compile/machine.hpp"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstring>

#include "base/try.hpp"
#include "ptxgraft/target.hpp"
#include "stub/set/data.hpp"
#include "stub/stack/compile/bound.hpp"
#include "stub/stack/compile/graph.hpp"
#include "stub/stack/evaluate/arithmetic_of.hpp"

namespace ptxgraft::stack {
namespace {

using isa::OperandSpec;
using isa::OperandType;

std::uint64_t mix(std::uint64_t hash, std::uint64_t word) {
    hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
    return hash ^ (hash >> 32);
}

std::uint64_t hash_of(std::string_view text, std::uint64_t hash) {
    for (const char c : text) hash = mix(hash, static_cast<unsigned char>(c));
    return hash;
}

// A constant of these types has a literal in PTX; of others (f16 and the like) it needs a register.
bool has_literal(const OperandSpec& spec) {
    if (spec.is_register || spec.is_exact || spec.is_vector || spec.is_address) return false;
    switch (spec.type) {
        case OperandType::b16:
        case OperandType::u16:
        case OperandType::s16:
        case OperandType::b32:
        case OperandType::u32:
        case OperandType::s32:
        case OperandType::b64:
        case OperandType::u64:
        case OperandType::s64:
        case OperandType::f32:
        case OperandType::f64: return true;
        default: return false;
    }
}

bool has_range(const OperandSpec& spec) {
    return spec.low != INT64_MIN || spec.high != INT64_MAX || spec.step != 1;
}

// Packed values stand only in registers declared .b32 or .b64, though u32 and u64 values stand on their
// stacks too; operands of the site may be declared .u32 or .u64.
bool is_exact(const OperandSpec& spec) {
    switch (spec.type) {
        case OperandType::f32x2:
        case OperandType::u16x2:
        case OperandType::s16x2:
        case OperandType::u8x4:
        case OperandType::s8x4: return true;
        default: return spec.is_exact;
    }
}

std::uint64_t node_of(NodeKind kind, TypeId type, std::uint32_t entry) {
    Node node{};
    node.entry = static_cast<std::uint16_t>(entry);
    node.kind = kind;
    node.type = type;
    node.last_use = not_used;
    std::uint64_t bits;
    std::memcpy(&bits, &node.entry, sizeof bits);
    return bits;
}

// Lays out one entry; `code` receives its inputs and outputs.
struct EntryMaker {
    SetCode& code;

    EntryCode make(const Entry& entry, std::uint32_t at) {
        EntryCode e{};
        e.at = at;
        e.entry = &entry;
        e.effects = static_cast<std::uint16_t>(entry.effects);
        e.has_effect = (e.effects & ~static_cast<std::uint16_t>(Effect::load | Effect::warp)) != 0;
        code.input_bases.push_back(static_cast<std::uint32_t>(code.inputs.size()));
        code.output_bases.push_back(static_cast<std::uint32_t>(code.output_stacks.size()));
        if (entry.form == nullptr)
            special(e, entry);
        else
            form(e, entry);
        return e;
    }

    static void special(EntryCode& e, const Entry& entry) {
        const auto info = isa::special_register(entry.special);
        e.is_special = true;
        e.is_ordered = info && info->is_volatile;
        e.outputs = 1;
        e.type = stack_of(entry.special_type);
        e.text_bound = static_cast<std::uint16_t>(32 + entry.special.size());
        e.hash = hash_of(entry.special, 1);
    }

    void form(EntryCode& e, const Entry& entry) {
        e.is_ordered = e.effects != 0;
        e.hash = hash_of(entry.form->spelling, 2);
        bool is_simple = e.effects == 0;
        for (const EntryOperand& operand : entry.operands) {
            const OperandSpec& spec = *operand.spec;
            is_simple =
                is_simple && !spec.is_vector && !spec.is_address && !operand.is_immediate && !is_exact(spec);
            e.hash = mix(e.hash, operand.type + 64u * operand.is_output);
            operand.is_output ? output(e, operand) : input(e, operand);
        }
        e.is_inline = e.effects == 0 && e.inputs <= EntryCode::inline_inputs && e.outputs != 0;
        e.is_plain = is_simple && e.is_inline && e.outputs == 1;
        e.takes_literals = e.is_plain && e.ranged == 0 && e.literals == (1u << e.inputs) - 1;
        e.register_class = code.classes[e.type];
        for (std::size_t k = 0; k < EntryCode::inline_inputs; ++k)
            e.masks[k] = k < e.inputs ? 0xFFFFFFFFu : 0;
        e.node = node_of(NodeKind::form, e.type, e.at);
        text(e, entry.form->spelling);
    }

    void output(EntryCode& e, const EntryOperand& operand) {
        const TypeId stack = stack_of(operand.type);
        if (e.outputs++ == 0) {
            e.type = stack;
            e.exact_output = is_exact(*operand.spec);
        }
        code.output_stacks.push_back(stack);
    }

    void input(EntryCode& e, const EntryOperand& operand) {
        const OperandSpec& spec = *operand.spec;
        const std::size_t i = e.inputs++;
        const TypeId stack = stack_of(operand.type);
        const bool takes_literal = has_literal(spec);
        code.inputs.push_back(
            {stack, operand.is_immediate, is_exact(spec), takes_literal, 1, spec.low, spec.high, spec.step});
        if (!operand.is_immediate) bury(code.inputs.end() - e.inputs, code.inputs.end() - 1);
        if (i >= EntryCode::inline_inputs) return;
        if (takes_literal) e.literals = static_cast<std::uint8_t>(e.literals | 1u << i);
        if (takes_literal && has_range(spec)) e.ranged = static_cast<std::uint8_t>(e.ranged | 1u << i);
    }

    // Another value of the last one's stack lies above those before.
    static void bury(std::vector<InputCode>::iterator first, std::vector<InputCode>::iterator last) {
        for (; first != last; ++first)
            first->depth = static_cast<std::uint8_t>(first->depth +
                                                     (!first->is_immediate && first->stack == last->stack));
    }

    void text(EntryCode& e, std::string_view spelling) {
        const std::string line = "\t" + std::string(spelling) + " ";
        // "@%p1 ", and for every operand at most ", {}" or "[]"; ";\n"
        e.text_bound = static_cast<std::uint16_t>(line.size() + 16 + 6 * (e.inputs + std::size_t{e.outputs}));
        if (line.size() <= EntryCode::text_room) {
            std::copy(line.begin(), line.end(), e.text);
            e.text_length = static_cast<std::uint8_t>(line.size());
        } else {
            code.long_texts[e.at] = line;
            e.long_text = code.long_texts[e.at];
        }
    }
};

void lay_out_types(SetCode& code, const InstructionSet& set) {
    code.type_count = first_user_type + static_cast<std::uint32_t>(set.user_types().size());
    for (std::uint32_t t = 0; t < code.type_count; ++t) {
        const auto type = static_cast<TypeId>(t);
        code.bases[t] = SetData::of(set).base_of(type);
        code.classes[t] = class_of_builtin(code.bases[t]);
    }
}

}  // namespace

bool is_macro(const Entry& entry) {
    constexpr std::array<std::string_view, 10> stems = {"vabsdiff", "vadd", "vavrg", "vmad", "vmax",
                                                        "vmin",     "vset", "vshl",  "vshr", "vsub"};
    return entry.form != nullptr && std::any_of(stems.begin(), stems.end(), [&](std::string_view stem) {
               return entry.form->spelling.starts_with(stem);
           });
}

RegisterClass class_of_builtin(TypeId type) {
    if (type == type_b8) return RegisterClass::b;
    if (type == type_b128) return RegisterClass::q;
    switch (static_cast<Type>(type)) {
        case Type::pred: return RegisterClass::p;
        case Type::f32: return RegisterClass::f;
        case Type::f64: return RegisterClass::e;
        default: break;
    }
    const std::uint32_t width = bits(static_cast<Type>(type));
    return width == 16 ? RegisterClass::h : width == 32 ? RegisterClass::r : RegisterClass::d;
}

const SetCode& code_of(const InstructionSet& set) {
    InstructionSet::Data& data = SetData::of(set);
    std::call_once(data.code_made, [&] {
        auto code = std::make_shared<SetCode>();
        lay_out_types(*code, set);
        code->long_texts.resize(data.entries.size());
        EntryMaker maker{*code};
        double sum = 0;
        for (std::size_t i = 0; i < data.entries.size(); ++i) {
            code->entries.push_back(maker.make(data.entries[i], static_cast<std::uint32_t>(i)));
            code->weights.push_back(sum += data.entries[i].weight);
            add_cost(*code, code->entries.back());
        }
        code->arithmetic = std::make_shared<ArithmeticCache>(code->entries.size());
        data.code = std::move(code);
    });
    return *data.code;
}

namespace {

constexpr Shape never_shape = {
    {no_stack, no_stack}, {1, 0}, {no_stack, no_stack, no_stack, no_stack}, {}, 0, 0, 0, 0};

// Pushes one value and pops none.
Shape shape_of_value(TypeId type) {
    Shape shape = never_shape;
    shape.stacks[0] = type;
    shape.pops[0] = 0;
    return shape;
}

Shape shape_of_entry(const EntryCode& e, std::span<const InputCode> inputs) {
    if (!e.is_inline || e.outputs != 1 || e.is_special) return never_shape;
    Shape shape = shape_of_value(e.type);
    shape.node = e.node;
    std::size_t used = 1;
    for (std::size_t k = 0; k < e.inputs; ++k) {
        if (inputs[k].is_immediate || inputs[k].is_exact) return never_shape;
        const auto at = static_cast<std::size_t>(
            std::find(shape.stacks.begin(), shape.stacks.begin() + used, inputs[k].stack) -
            shape.stacks.begin());
        if (at == shape.stacks.size()) return never_shape;
        used = std::max(used, at + 1);
        shape.stacks[at] = inputs[k].stack;
        ++shape.pops[at];
        shape.arguments[k] = inputs[k].stack;
        shape.depths[k] = static_cast<std::int8_t>(-inputs[k].depth);
    }
    return shape;
}

// `op d, a, b, c;` at most, on one stack, whose arguments may be literals.
PlainCode plain_code_of(const EntryCode& e, const Shape& shape) {
    const bool is_plain = e.takes_literals && shape.stacks[0] != no_stack && shape.stacks[1] == no_stack &&
                          e.text_length != 0 && e.inputs != 0 && e.inputs <= most_plain_inputs;
    return is_plain ? plain_code(e.type, e.inputs) : plain_never;
}

Present present_of(const EntryCode& e, PlainCode code, const Shape& shape) {
    if (!e.is_plain || e.text_length == 0 || shape.stacks[0] == no_stack) return Present::yes;
    return code == plain_never ? Present::yes_short : Present::yes_plain;
}

}  // namespace

std::shared_ptr<const Availability> SetCode::available(const InstructionSet& set,
                                                       const MachineOptions& options, bool has_macros) const {
    const Key key{static_cast<std::uint16_t>(options.policy.allowed), options.ptx_version, options.target.sm,
                  options.target.variant, has_macros};
    const std::lock_guard lock(mutex_);
    for (const auto& [k, value] : available_)
        if (k == key) return value;
    const bool any_target = options.ptx_version == 0 && options.target.sm == 0;
    auto made = std::make_shared<Availability>();
    made->present.resize(1u << 16, Present::no);
    made->plain.resize(entries.size() + 1, plain_never);
    made->shapes.resize(entries.size() + 1, never_shape);
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const Entry& e = set.entries()[i];
        if (!contains(options.policy.allowed, e.effects) || (!has_macros && is_macro(e))) continue;
        if (any_target ||
            (e.form == nullptr ? isa::is_special_available(e.special, options.ptx_version, options.target)
                               : isa::is_available(*e.form, options.ptx_version, options.target))) {
            made->shapes[i] = shape_of_entry(entries[i], inputs_of(entries[i]));
            made->plain[i] = plain_code_of(entries[i], made->shapes[i]);
            made->present[i] = present_of(entries[i], made->plain[i], made->shapes[i]);
        }
    }
    constexpr std::size_t most = 64;  // policies and targets that are kept
    if (available_.size() == most) available_.erase(available_.begin());
    available_.emplace_back(key, made);
    return made;
}

namespace {

constexpr std::uint32_t max_slots = (1u << 16) - 1, max_operands = 1u << 12;

Name short_name(std::string_view text) {
    Name name{};
    name.length = Name::is_long;
    if (text.size() > Name::most) return name;
    name.text[0] = ',', name.text[1] = ' ';
    std::copy(text.begin(), text.end(), name.text + Name::prefix);
    name.length = static_cast<std::uint8_t>(Name::prefix + text.size());
    return name;
}

// Whether a name is `%f` and digits, one of ours.
bool clashes(std::string_view name, std::string_view stem) {
    return name.starts_with(stem) &&
           name.find_first_not_of("0123456789", stem.size()) == std::string_view::npos;
}

Name stem_of(char letter, std::uint32_t attempt) {
    std::string stem = {'%', letter};
    if (attempt != 0) stem += "$" + std::to_string(attempt) + "_";
    return short_name(stem);
}

// Where no operand's name clashes with them.
UsualNames usual_names() {
    constexpr std::uint32_t ready = 4096;
    static const std::vector<Name> all = [] {
        std::vector<Name> names;
        names.reserve(class_infos.size() * ready);
        for (const ClassInfo& info : class_infos)
            for (std::uint32_t k = 0; k < ready; ++k) {
                Name name = {{',', ' ', '%', info.letter}, 0};
                name.length = static_cast<std::uint8_t>(
                    std::to_chars(name.text + 4, std::end(name.text), k).ptr - name.text);
                names.push_back(name);
            }
        return names;
    }();
    UsualNames names;
    for (std::size_t c = 0; c < class_count; ++c) names.first[c] = all.data() + c * ready;
    names.count = ready;
    return names;
}

// `%f`; where an operand has such a name `%f$1_`, `%f$2_` …
void choose_stems(Machine::Data& data) {
    for (std::uint32_t attempt = 0;; ++attempt) {
        for (std::size_t c = 0; c < class_count; ++c) data.stems[c] = stem_of(class_infos[c].letter, attempt);
        const bool is_free = std::none_of(data.slots.begin(), data.slots.end(), [&](const Slot& slot) {
            if (!slot.name.starts_with('%')) return false;
            return std::any_of(data.stems.begin(), data.stems.end(),
                               [&](const Name& stem) { return clashes(slot.name, stem.bare()); });
        });
        if (is_free && attempt == 0) data.usual_names = usual_names();
        if (is_free) return;
    }
}

Declaration declaration_of(const ClassInfo& info, const Name& stem) {
    const std::string text = "\t.reg " + std::string(info.declared) + " " + std::string(stem.bare()) + "<";
    Declaration declaration{};
    declaration.length = text.copy(declaration.text, Declaration::room);
    return declaration;
}

TypeId type_of(const SiteOperand& operand, const InstructionSet& set) {
    for (std::size_t i = 0; i < set.user_types().size() && !operand.user_type.empty(); ++i)
        if (set.user_types()[i].name == operand.user_type && set.user_types()[i].base == operand.type)
            return static_cast<TypeId>(first_user_type + i);
    return stack_of(type_id(operand.type));
}

void add_slots(Machine::Data& data, std::uint32_t index) {
    const SiteOperand& operand = data.signature.operands[index];
    const std::uint32_t count = std::max<std::uint32_t>(operand.count, 1);
    for (std::uint32_t element = 0; element < count; ++element) {
        Slot slot{};
        slot.operand = index;
        slot.element = element;
        slot.type = type_of(operand, *data.set);
        slot.register_class = class_of_builtin(type_id(operand.type));
        slot.direction = operand.direction;
        slot.declared = operand.type;
        if (operand.direction != Direction::in && is_integer(operand.type))
            data.has_integers[index_of(slot.register_class)] = true;
        slot.name =
            operand.count == 0 ? operand.register_name : operand.register_name + std::to_string(element);
        data.longest_name = std::max(data.longest_name, static_cast<std::uint32_t>(slot.name.size()));
        Node node{};
        node.args[0] = static_cast<std::uint32_t>(data.slots.size());
        node.kind = NodeKind::input;
        node.type = slot.type;
        node.last_use = not_used;
        node.target = no_node;
        data.inputs.push_back(node);
        data.names.push_back(short_name(slot.name));
        data.slots.push_back(std::move(slot));
        if (!may_stand_in_macro(data.slots.back().name)) data.not_for_macros = data.slots.back().name;
    }
    const auto first = static_cast<std::uint32_t>(data.slots.size()) - count;
    const auto slots = static_cast<std::uint16_t>(count);
    data.operands.push_back({data.names[first], first, slots,
                             operand.direction == Direction::out ? std::uint16_t{0} : slots,
                             data.slots[first].type});
}

// Tables of a machine by opcode: rows of its operands and of its types, which `own` receives, and of the
// set's entries. `never` is behind the last of each.
template <class Row, class OfOperand, class OfType>
std::array<RowTable<Row>, plain_opcodes> lay_out(const Machine::Data& data, std::vector<Row>& own,
                                                 std::span<const Row> entries, const Row& never,
                                                 OfOperand of_operand, OfType of_type) {
    const std::size_t operands = data.operands.size(), types = data.code->type_count;
    for (const OperandCode& operand : data.operands)
        own.push_back(operand.readable == 0 ? never : of_operand(operand));
    own.push_back(never);
    for (std::size_t t = 0; t < types; ++t) own.push_back(of_type(static_cast<TypeId>(t)));
    own.push_back(never);
    return {{{own.data(), operands, 16, ~std::uint64_t{0}},
             {own.data() + operands + 1, types, 8, 0xFF},
             {entries.data(), entries.size() - 1, 16, 0xFFFF}}};
}

// The tables of what the loop of run.cpp executes in one way.
void lay_out_shapes(Machine::Data& data, const Availability& available) {
    const auto of_operand = [](const OperandCode& operand) {
        Shape shape = shape_of_value(operand.type);
        shape.is_input = 0xFFFFFFFFu;
        shape.slot = static_cast<std::uint16_t>(operand.first);
        return shape;
    };
    const auto of_type = [&](TypeId type) {
        const auto base = static_cast<Type>(data.code->bases[type]);
        const bool is_whole =
            stack_of(type) == type && (base == Type::f32 || base == Type::u32 || base == Type::s32 ||
                                       base == Type::f16x2 || base == Type::bf16x2);
        if (!is_whole) return never_shape;
        Shape shape = shape_of_value(type);
        shape.is_constant = 0xFFFFFFFFu;
        shape.node = node_of(NodeKind::constant, type, 0);
        return shape;
    };
    data.shapes = lay_out<Shape>(data, data.own_shapes, available.shapes, never_shape, of_operand, of_type);
}

// Types whose constants always have a short literal.
bool has_short_literals(Type base) {
    return base == Type::f32 || base == Type::u32 || base == Type::s32 || base == Type::b32;
}

// The tables of dead_code.hpp. Forms leave their result where they find their arguments, so that only
// operands and constants bring types in.
void lay_out_plain(Machine::Data& data, const Availability& available) {
    data.has_short_names = std::none_of(data.names.begin(), data.names.end(),
                                        [](const Name& name) { return name.length == Name::is_long; });
    if (!data.has_short_names) return;
    std::vector<TypeId> found = {type_id(Type::f32)};
    const auto is_there = [&found](std::uint32_t type) {
        return std::find(found.begin(), found.end(), type) != found.end();
    };
    for (const Slot& slot : data.slots)
        if (!is_there(slot.type)) found.push_back(slot.type);
    if (found.size() > most_plain_types) return;
    for (const PlainCode code : available.plain)  // no value of another type ever comes in
        data.plain_entries.push_back(code == plain_never || is_there(plain_type(code)) ? code
                                                                                       : plain_missing);
    const auto of_operand = [](const OperandCode& operand) { return plain_code(operand.type, 0); };
    const auto of_type = [&](TypeId type) {
        const bool is_plain = is_there(type) && has_short_literals(static_cast<Type>(data.code->bases[type]));
        return is_plain ? plain_code(type, 0) : plain_never;
    };
    std::ranges::copy(
        lay_out<PlainCode>(data, data.plain_codes, data.plain_entries, plain_never, of_operand, of_type),
        data.plain.by_opcode.begin());
    data.plain_types = std::move(found);
}

}  // namespace

Machine::Data::Data() = default;
Machine::Data::~Data() = default;

Expected<Machine> Machine::make(std::shared_ptr<const InstructionSet> set, const Signature& signature,
                                const MachineOptions& options) {
    if (options.target != Architecture{}) TRY(parse_architecture(name(options.target)));
    std::uint64_t total = 0;
    for (const SiteOperand& operand : signature.operands) total += std::max<std::uint64_t>(operand.count, 1);
    if (total > max_slots || signature.operands.size() > max_operands)
        return fail(Errc::stack_too_large, "the signature has more than 4,096 operands or 65,535 registers");
    auto data = std::make_shared<Data>();
    data->set = std::move(set);
    data->code = &code_of(*data->set);
    static std::atomic<std::uint64_t> made{0};
    data->id = ++made;
    data->options = options;
    data->signature = signature;
    data->slots.reserve(total);
    for (std::uint32_t i = 0; i < signature.operands.size(); ++i) add_slots(*data, i);
    const std::shared_ptr<const Availability> available =
        data->code->available(*data->set, options, data->not_for_macros.empty());
    data->present = {available, &available->present};
    choose_stems(*data);
    for (std::size_t c = 0; c < class_count; ++c)
        data->declarations[c] = declaration_of(class_infos[c], data->stems[c]);
    constexpr std::uint32_t most_digits = 10;
    data->longest_name = std::max(data->longest_name, data->stems[0].length + most_digits);
    lay_out_plain(*data, *available);
    lay_out_shapes(*data, *available);
    Machine machine;
    machine.data_ = std::move(data);
    return machine;
}

const InstructionSet& Machine::set() const { return *data_->set; }
const Signature& Machine::signature() const { return data_->signature; }

}  // namespace ptxgraft::stack
