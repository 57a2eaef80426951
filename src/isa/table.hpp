#pragma once
// The table as the generator lays it out (generate.cpp writes its data), in flat arrays: every span points
// into one. Modifiers are numbers, places in `table_words`, which is ordered by text.

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>

#include "isa/types.hpp"
#include "ptxgraft/isa.hpp"

namespace ptxgraft::isa {

using WordId = std::uint16_t;
constexpr WordId no_word = 0xFFFF;
constexpr std::uint8_t any_slot = 0xFF;

/// A place in a syntax line: a modifier that stands for itself has one member.
struct Slot {
    std::string_view name;  // as in the syntax line: ".rnd"
    std::span<const WordId> members;
    bool is_optional;
    std::uint8_t vocabulary;  // modifiers of one vocabulary keep their order; 0: of none
};

/// A modifier in a constraint: `word` in `slot`; no_word: whatever fills the slot; any_slot: wherever the
/// word stands.
struct Atom {
    std::uint8_t slot;
    WordId word;
    bool is_absent;
};
/// Atoms that hold together: `.ftz+.f32`.
using Term = std::span<const Atom>;

struct Since {
    std::uint16_t ptx_version;
    std::span<const Architecture> architectures;  // one of them
};

struct Constraint {
    enum class Kind : std::uint8_t { needs, excludes, since } kind;
    std::span<const Term> left, right;
    std::span<const Since> since;
    std::string_view text;  // as written in the row
};

/// The register type of an operand: fixed, or the member that fills a slot.
struct TypeRef {
    RegisterType type;
    std::uint8_t slot;  // any_slot: `type`
};

/// `.num*2`: the number in the member that fills a slot, or a fixed one, then steps of arithmetic.
struct Count {
    std::uint8_t slot;  // any_slot: `value`
    std::uint16_t value;
    std::uint8_t times, divided_by, minus;
    bool or_more;  // `2+`: this many or more, where ptxas takes 1, 2, 4 and 8
};

struct Range {
    std::int64_t low, high, step;          // a multiple of step
    std::span<const std::int64_t> values;  // or one of these
};

enum class RuleKind : std::uint8_t {
    value,    // a register or constant of `type`
    vector,   // {…} of `count` values
    pair,     // children: first and second
    address,  // [ children ]; the first is the base
    list,     // ( … )
    base,     // a plain address: register or variable, with offset
    label,
    labels,
    callee,
    prototype,
    texref,
    samplerref,
    surfref,
    selector,   // video: a register of 32 bits, with .b0 … .b3, .h0, .h1
    selector2,  // with .h00 … .h33
    selector4,  // with .b0000 … .b7777
    mask2,      // with .h0, .h1, .h10
    mask4,      // with .b0 … .b3210
};

struct OperandRule {
    std::string_view name;
    RuleKind kind;
    TypeRef type;
    Count count;
    bool is_output, is_optional;
    bool register_only, constant_only, is_exact, is_wide, takes_sink, takes_special, takes_symbol, is_mixed,
        is_plain, needs_braces, is_loose, is_inout, takes_minus, takes_element;
    const Range* range;                   // null: none
    std::span<const Term> with, without;  // present exactly when one holds; when none holds
    std::span<const OperandRule> children;
};

struct Row {
    std::string_view opcode;  // "mul.wide"
    std::string_view syntax;  // as written: "mul.wide.type d, a, b"
    std::span<const Slot> slots;
    std::span<const OperandRule> operands;
    std::span<const Constraint> constraints;
    std::span<const Since> since;
    // gone after this PTX version on this architecture and later; 0: never
    std::uint16_t until_version, until_sm;
    bool pure;
};

struct Opcode {
    std::string_view name;  // "add", "mul.wide"
    std::span<const Row> rows;
};

struct SpecialRegister {
    std::string_view name;  // "%tid", "%envreg"
    RegisterType type;
    bool is_vector;       // %tid: also .x .y .z .w
    bool is_narrow;       // mov takes it as a narrower integer, too
    bool is_volatile;     // each read may give another value
    std::uint16_t count;  // of a numbered family; 0: none
    std::span<const Since> since;
};

struct OpcodeEffects {
    std::string_view opcode;
    std::uint16_t bits;
};

extern const std::span<const std::string_view> table_words;
extern const std::span<const WordId> table_repeatable;        // that ptxas takes twice
extern const std::span<const Opcode> table_opcodes;           // ordered by name
extern const std::span<const SpecialRegister> table_special;  // ordered by name
extern const std::span<const OpcodeEffects> table_effects;    // ordered by opcode

/// The row of a name in a table that is ordered by it; null for one that it lacks.
template <class Row>
[[nodiscard]] const Row* find_row(std::span<const Row> rows, std::string_view name,
                                  std::string_view Row::*key) {
    const auto at = std::ranges::lower_bound(rows, name, {}, key);
    return at != rows.end() && (*at).*key == name ? &*at : nullptr;
}

}  // namespace ptxgraft::isa
