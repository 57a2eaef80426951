#pragma once
// A machine as the compiler wants it: tables of entries and operands, laid out for speed.

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// The registers that a compiled program declares.
// .pred .b8 .b16 .b32 .b64 .b128 .f32 .f64
enum class RegisterClass : std::uint8_t { p, b, h, r, d, q, f, e };
inline constexpr std::size_t class_count = 8;

constexpr std::size_t index_of(RegisterClass c) { return static_cast<std::size_t>(c); }

struct ClassInfo {
    std::string_view declared;      ///< ".f32"
    char letter;                    ///< %f0
    std::uint8_t bytes;             ///< 0: a predicate
    std::string_view move;          ///< "mov.f32"
    std::string_view move_bits;     ///< from another class of its width: "mov.b32"
    std::string_view move_special;  ///< from a special register: "mov.u32"
    std::string_view select;        ///< "selp.f32"; empty: there is none
};
inline constexpr std::array<ClassInfo, class_count> class_infos = {{
    {".pred", 'p', 0, "mov.pred", "mov.pred", "mov.pred", ""},
    {".b8", 'b', 1, "", "", "", ""},
    {".b16", 'h', 2, "mov.b16", "mov.b16", "mov.u16", "selp.b16"},
    {".b32", 'r', 4, "mov.b32", "mov.b32", "mov.u32", "selp.b32"},
    {".b64", 'd', 8, "mov.b64", "mov.b64", "mov.u64", "selp.b64"},
    {".b128", 'q', 16, "mov.b128", "mov.b128", "", ""},
    {".f32", 'f', 4, "mov.f32", "mov.b32", "", "selp.f32"},
    {".f64", 'e', 8, "mov.f64", "mov.b64", "", "selp.f64"},
}};
constexpr const ClassInfo& info_of(RegisterClass c) { return class_infos[index_of(c)]; }

/// The short text of a value as an argument, copied as one block: ", %f1".
struct Name {
    static constexpr std::size_t prefix = 2, most = 13;  ///< of the comma; of what follows it
    char text[prefix + most];
    std::uint8_t length;  ///< with the comma; `is_long`: its text does not stand here
    static constexpr std::uint8_t is_long = 0x80;

    [[nodiscard]] std::string_view bare() const { return {text + prefix, length - prefix}; }
};
static_assert(sizeof(Name) == 16);

/// The text that declares the registers of a class, up to their count: "\t.reg .f32 %f<".
struct Declaration {
    static constexpr std::size_t room = 32;
    char text[room];
    std::size_t length;
};

/// The names of the first registers of each class, where no operand's name clashes with them; else there are
/// none.
struct UsualNames {
    std::array<const Name*, class_count> first{};
    std::uint32_t count = 0;  ///< of each class
};

/// An operand as `input` and `assign` look it up.
struct alignas(32) OperandCode {
    Name name;               ///< of its first slot
    std::uint32_t first;     ///< slot
    std::uint16_t count;     ///< of slots
    std::uint16_t readable;  ///< of slots that have a value: count, or 0
    TypeId type;
};
static_assert(sizeof(OperandCode) == 32);

/// Whether a machine has an entry, and how simply it is emitted.
enum class Present : std::uint8_t {
    no,         ///< the machine does not have it
    yes,        ///< it has it; nothing more is known
    yes_short,  ///< `op d, a, b, c, e;`: at most 4 inputs of at most 2 stacks; `op` fits EntryCode::text
    yes_plain,  ///< the same with 1 to 3 inputs, all of the result's stack and able to be literals
};

/// An instruction as dead_code.hpp sees it, in one word: its stack and how many values it pops from there; it
/// pushes one there. Negative: it is another kind of instruction, or one whose arguments are never there.
using PlainCode = std::int32_t;
inline constexpr PlainCode plain_never = INT32_MIN, plain_missing = -(1 << 24);
inline constexpr std::uint32_t most_plain_inputs = 3, most_plain_types = 4;
constexpr PlainCode plain_code(TypeId type, std::uint32_t inputs) {
    return static_cast<PlainCode>(inputs << 24 | type);
}
constexpr std::uint32_t plain_type(PlainCode code) { return static_cast<std::uint32_t>(code) & 0xFF; }
constexpr std::uint32_t plain_inputs(PlainCode code) { return static_cast<std::uint32_t>(code) >> 24; }

inline constexpr std::uint32_t plain_opcodes = 3;  ///< input, constant, form
static_assert(static_cast<std::uint32_t>(Opcode::input) == 0 &&
              static_cast<std::uint32_t>(Opcode::constant) == 1 &&
              static_cast<std::uint32_t>(Opcode::form) == 2);

/// What is known of the instructions of an opcode, by operand, type, or entry, looked up with the whole
/// instruction as one word and without a branch; the row at `count` serves all others. An input must have
/// payload 0: index and payload are one number of 48 bits.
template <class Row> struct RowTable {
    const Row* rows;
    std::uint64_t count, shift, mask;  ///< where in an instruction the number stands

    [[nodiscard]] const Row& find(std::uint64_t word) const {
        return rows[std::min(word >> shift & mask, count)];
    }
};

/// The plain codes by opcode, which may be any byte.
struct PlainTables {
    static constexpr PlainCode never = plain_never;
    std::array<RowTable<PlainCode>, 256> by_opcode;

    PlainTables() { by_opcode.fill({&never, 0, 0, 0}); }
    [[nodiscard]] PlainCode find(std::uint64_t word) const { return by_opcode[word & 0xFF].find(word); }
};

/// How an instruction moves values between stacks that pops at most four, of its result's stack and one more,
/// and pushes one: inputs, constants of 32 bits and most forms. `no_stack` is the second stack where it has
/// none, and the stack of an argument that it does not have.
inline constexpr std::uint32_t no_stack = max_types, stack_count = max_types + 1;
struct alignas(32) Shape {
    /// that of the result, the other one; how many values from each
    std::array<std::uint8_t, 2> stacks, pops;
    std::array<std::uint8_t, 4> arguments;  ///< their stacks
    std::array<std::int8_t, 4> depths;      ///< -1: the top
    std::uint32_t is_input, is_constant;    ///< all ones if so; an input makes no node
    std::uint16_t slot;                     ///< of an input
    std::uint64_t node;                     ///< the part of its nodes that is always the same
};
static_assert(sizeof(Shape) == 32);

/// What a policy and a target leave of a set.
struct Availability {
    std::vector<Present> present;  ///< by any 16 bits
    std::vector<PlainCode> plain;  ///< by entry, and one behind the last
    std::vector<Shape> shapes;     ///< the same
};

/// One entry of the set. What `run` reads stands first, in one cache line.
struct alignas(64) EntryCode {
    static constexpr std::size_t inline_inputs = 4, max_inputs = 64, max_outputs = 64, text_room = 32;
    /// one output, at most 4 inputs, no effects, immediates, braces or brackets: `op d, a, b;`
    bool is_plain;
    bool takes_literals;  ///< plain, and constants are literals in all inputs
    bool is_inline;       ///< at most 4 inputs, no effects: its inputs stand in the node
    bool is_special;      ///< a special register
    bool has_effect;      ///< emitted though nobody reads its results
    bool is_ordered;      ///< reads memory, lanes or clocks: takes no part in value numbering
    std::uint8_t inputs;  ///< immediates included
    std::uint8_t outputs;
    TypeId type;               ///< the stack of the first output
    std::uint8_t text_length;  ///< 0: see long_text
    /// bit i: a constant in input i (of a plain entry) may be written as one
    std::uint8_t literals;
    std::uint8_t ranged;   ///< bit i: … if it lies within the operand's range
    char text[text_room];  ///< "\tadd.f32 "
    /// bytes of the instruction at most, its operands' names left out
    std::uint16_t text_bound;
    std::uint16_t effects;
    RegisterClass register_class;                    ///< of the first output
    std::uint64_t node;                              ///< the part of its nodes that is always the same
    std::array<std::uint32_t, inline_inputs> masks;  ///< all ones for an input that it has
    /// the first output goes only to a register declared with its very type
    bool exact_output;
    std::uint32_t at;    ///< its place in the set
    std::uint64_t hash;  ///< of its form and stacks: the same in every set
    std::string_view long_text;
    const Entry* entry;
};
static_assert(sizeof(EntryCode) == 128);

/// The operands of an entry without its outputs, as `run` pops them.
struct InputCode {
    TypeId stack;
    bool is_immediate, is_exact;
    bool takes_literal;
    std::uint8_t depth;  ///< where it lies on its stack when all inputs are there; 1: the top
    std::int64_t low, high, step;
};

class ArithmeticCache;

struct SetCode {
    std::vector<EntryCode> entries;
    std::shared_ptr<const ArithmeticCache> arithmetic;  ///< of the entries
    std::vector<std::uint32_t> input_bases;             ///< place in `inputs` of an entry's first
    std::vector<InputCode> inputs;
    std::vector<std::uint64_t> costs = {0};  ///< by entry, and one behind the last: what bound.cpp counts
    std::vector<TypeId> output_stacks;       ///< of all outputs
    std::vector<std::uint32_t> output_bases;
    std::array<RegisterClass, max_types> classes{};
    std::array<TypeId, max_types> bases{};  ///< the PTX type of a type: of user types their base
    std::uint32_t type_count = 0;           ///< types below this one
    std::vector<double> weights;            ///< running sums
    std::vector<std::string> long_texts;

    /// What an entry pops.
    [[nodiscard]] std::span<const InputCode> inputs_of(const EntryCode& e) const {
        return {inputs.data() + input_bases[e.at], e.inputs};
    }

    /// What a machine has, without macros (is_macro) if its names forbid them. Kept per policy and target.
    [[nodiscard]] std::shared_ptr<const Availability> available(const InstructionSet& set,
                                                                const MachineOptions& options,
                                                                bool has_macros) const;

  private:
    struct Key {
        std::uint16_t allowed, version, sm;
        char variant;
        bool has_macros;
        friend bool operator==(const Key&, const Key&) = default;
    };
    mutable std::mutex mutex_;
    mutable std::vector<std::pair<Key, std::shared_ptr<const Availability>>> available_;
};

[[nodiscard]] const SetCode& code_of(const InstructionSet& set);

/// One register of an operand.
struct Slot {
    std::uint32_t operand, element;
    TypeId type;  ///< its stack
    RegisterClass register_class;
    Direction direction;
    Type declared;
    std::string name;
};

inline constexpr std::uint32_t no_slot = 0xFFFFFFFFu;

struct Node;

/// What a machine holds, for those who compile for it.
struct MachineData {
    static const Machine::Data& of(const Machine& machine) { return *machine.data_; }
};

struct Machine::Data {
    std::uint64_t id = 0;  ///< another one for each that is made
    std::shared_ptr<const InstructionSet> set;
    const SetCode* code = nullptr;
    std::shared_ptr<const std::vector<Present>> present;  ///< by the number of an instruction, any 16 bits
    Signature signature;
    MachineOptions options;
    std::vector<Slot> slots;
    std::vector<OperandCode> operands;
    std::vector<Node> inputs;        ///< the nodes that read the slots: the first ones of every graph
    std::vector<Name> names;         ///< of the slots, where they are short
    std::uint32_t longest_name = 0;  ///< of operands and of our registers
    bool has_short_names = true;     ///< of all operands
    /// the name of an operand for which there are no macros; empty: all names may stand in them
    std::string_view not_for_macros;
    /// the stacks of programs whose dead code dead_code.hpp eliminates; none: of no program
    std::vector<TypeId> plain_types;
    std::vector<PlainCode> plain_codes, plain_entries;
    PlainTables plain;
    std::vector<Shape> own_shapes;
    /// by opcode; the last row of each never finds its arguments
    std::array<RowTable<Shape>, plain_opcodes> shapes{};
    UsualNames usual_names;
    std::array<Name, class_count> stems{};  ///< ", %f", or longer where an operand's name clashes
    std::array<Declaration, class_count> declarations{};
    /// a register that a program may write is declared as an integer
    std::array<bool, class_count> has_integers{};

    /// The slot that an assignment writes; no_slot: none.
    [[nodiscard]] std::uint32_t assigned_slot(const Instruction& i) const {
        if (i.index >= operands.size() || i.payload >= operands[i.index].count) return no_slot;
        const std::uint32_t slot = operands[i.index].first + i.payload;
        return slots[slot].direction == Direction::in ? no_slot : slot;
    }

    Data();
    ~Data();
};

/// Executes an instruction that rearranges the stack from `floor` to `top`. False: its values are missing.
template <class Value> bool rearrange(const Instruction& i, Value* floor, Value*& top) {
    const std::ptrdiff_t have = top - floor, depth = i.payload;
    const auto push = [&top](const Value& value) { return *top++ = value, true; };
    switch (i.opcode) {
        case Opcode::dup: return have >= 1 && push(top[-1]);
        case Opcode::over: return have >= 2 && push(top[-2]);
        case Opcode::drop: return have >= 1 && (--top, true);
        case Opcode::swap: return have >= 2 && (std::swap(top[-1], top[-2]), true);
        case Opcode::rotate: return have >= 3 && (std::rotate(top - 3, top - 2, top), true);
        case Opcode::reverse: return std::reverse(floor, top), true;
        case Opcode::yank_dup: return have > depth && push(top[-1 - depth]);
        case Opcode::swap_with: return have > depth && (std::swap(top[-1], top[-1 - depth]), true);
        case Opcode::replace: return have > depth && (top[-1 - depth] = top[-1], --top, true);
        default: return top = floor, true;
    }
}

/// Video instructions (PTX ISA 9.7.18) are texts that ptxas (13.0) puts its operands in. It forgets the end
/// of a name of 16, 24, 32 … characters, reads on in its memory, and refuses the module or crashes.
[[nodiscard]] bool is_macro(const Entry& entry);
constexpr bool may_stand_in_macro(std::string_view name) { return name.size() % 8 != 0 || name.size() < 16; }

[[nodiscard]] RegisterClass class_of_builtin(TypeId type);

constexpr bool is_integer(Type declared) { return declared >= Type::u16 && declared <= Type::s64; }
constexpr bool is_half(TypeId type) { return type >= type_id(Type::f16) && type <= type_id(Type::bf16x2); }

}  // namespace ptxgraft::stack
