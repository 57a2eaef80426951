#pragma once
// A machine as the compiler wants it: entries and operands laid out for speed.

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/stack.hpp"

namespace ptxgraft::stack {

/// The registers that a compiled program declares.
enum class RegisterClass : std::uint8_t { p, b, h, r, d, q, f, e };  // .pred .b8 .b16 .b32 .b64 .b128 .f32 .f64
inline constexpr std::size_t class_count = 8;

struct ClassInfo {
    std::string_view declared;  ///< ".f32"
    char letter;                ///< %f0
    std::string_view move;      ///< "mov.f32"
    std::uint8_t bytes;         ///< 0: a predicate
};
inline constexpr std::array<ClassInfo, class_count> class_infos = {{
    {".pred", 'p', "mov.pred", 0},
    {".b8", 'b', "", 1},
    {".b16", 'h', "mov.b16", 2},
    {".b32", 'r', "mov.b32", 4},
    {".b64", 'd', "mov.b64", 8},
    {".b128", 'q', "mov.b128", 16},
    {".f32", 'f', "mov.f32", 4},
    {".f64", 'e', "mov.f64", 8},
}};

/// A short name, copied as one block.
struct Name {
    char text[15];
    std::uint8_t length;  ///< 0: longer, see the slot
};
static_assert(sizeof(Name) == 16);

/// One entry of the set.
struct EntryCode {
    static constexpr std::size_t text_room = 32, inline_inputs = 4, max_inputs = 32, max_outputs = 16;
    char text[text_room];          ///< "\tadd.f32 "; longer ones: `long_text`
    std::uint8_t text_length;      ///< 0: longer
    std::uint8_t inputs;           ///< with immediates
    std::uint8_t outputs;          ///< 0: stores and the like
    std::uint8_t immediates;       ///< how many inputs are part of the instruction
    bool is_there;                 ///< the machine's target and policy have it
    bool is_inline;                ///< at most 4 inputs, no effects: its inputs stand in the node
    bool is_plain;                 ///< inline, one output, no immediates, no brackets or braces: `op d, a, b;`
    bool is_uniform;               ///< plain, and all of one stack
    bool is_special;
    bool has_effect;               ///< emitted though nobody reads its results
    bool must_be_ordered;          ///< reads of memory and lanes: not shared by `reuse`
    std::uint8_t literals;         ///< bit i: a constant in input i (of the first 8) may be written as one
    std::uint8_t ranged;           ///< bit i: … if it lies within the operand's range
    TypeId type;                   ///< the stack of the first output
    std::array<TypeId, inline_inputs> stacks;  ///< of the first inputs
    std::uint16_t text_bound;      ///< bytes that the instruction has at most, its operands' names left out
    std::uint32_t effects;
    const Entry* entry;
    std::string_view long_text;
};

/// One register of an operand.
struct Slot {
    std::uint32_t operand, element;
    TypeId type;               ///< its stack
    RegisterClass register_class;
    Direction direction;
    Type declared;
    Name name;
    std::string_view long_name;
};

struct Machine::Data {
    std::shared_ptr<const InstructionSet> set;
    Signature signature;
    MachineOptions options;
    std::vector<EntryCode> entries;
    std::vector<Slot> slots;
    std::vector<std::uint32_t> bases;  ///< first slot of each operand, and one past the last
    std::array<RegisterClass, max_types> classes{};
    std::array<bool, max_types> is_type{};     ///< a type that has a stack of its own
    std::uint32_t type_count = 0;              ///< types below this one
    std::uint32_t longest_name = 0;            ///< of operands and of our registers
    std::array<Name, class_count> stems{};     ///< "%f", or longer where an operand's name clashes
    std::vector<std::string> long_texts;
    std::uint32_t most_outputs = 1;
};

[[nodiscard]] RegisterClass class_of_builtin(TypeId type);

}  // namespace ptxgraft::stack
