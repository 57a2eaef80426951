#pragma once
/// @file table.hpp
/// The instruction table as arrays of constants, which the build makes of src/isa/ptx.isa: what the emitter
/// (dsl.hpp) looks into while C++ compiles, and the library when it runs. Modifiers are numbers, places in
/// `table_words`, which is ordered by text. Arrays name one another by index, and all text stands in a few
/// literals, so that the whole table costs a compiler a third of a second. It is no stable interface: rows
/// change with each version.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <type_traits>

#include "ptxgraft/isa/types.hpp"
#include "ptxgraft/syntax/spaces.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft::isa {

using WordId = std::uint16_t;
constexpr WordId no_word = 0xFFFF;
constexpr std::uint8_t any_slot = 0xFF;

/// A piece of the table's text.
struct Text {
    std::uint32_t first;
    std::uint16_t count;
    [[nodiscard]] constexpr std::string_view view() const;
    [[nodiscard]] constexpr std::size_t size() const { return count; }
    constexpr operator std::string_view() const { return view(); }
    // By letters, not calls, while C++ compiles: g++ looks at the whole literal for each pointer into it
    // that a function is called with.
    friend constexpr bool operator==(Text a, std::string_view b) {
        const std::string_view text = a.view();
        if (!std::is_constant_evaluated() || text.size() != b.size()) return text == b;
        const char *const one = text.data(), *const other = b.data();
        for (std::size_t i = 0; i < a.count; ++i)
            if (one[i] != other[i]) return false;
        return true;
    }
};

/// A part of the array of all T.
template <class T> struct List {
    std::uint16_t first, count;
    [[nodiscard]] constexpr const T* data() const;
    [[nodiscard]] constexpr const T* begin() const { return data(); }
    [[nodiscard]] constexpr const T* end() const { return data() + count; }
    [[nodiscard]] constexpr std::size_t size() const { return count; }
    [[nodiscard]] constexpr bool empty() const { return count == 0; }
    [[nodiscard]] constexpr const T& operator[](std::size_t i) const { return data()[i]; }
    [[nodiscard]] constexpr const T& front() const { return *data(); }
    [[nodiscard]] constexpr const T& back() const { return data()[count - 1]; }
    constexpr operator std::span<const T>() const { return {data(), count}; }
};

/// A place in a syntax line: a modifier that stands for itself has one member.
struct Slot {
    Text name;  // as in the syntax line: ".rnd"
    List<WordId> members;
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
using Term = List<Atom>;

struct Since {
    std::uint16_t ptx_version;
    List<Architecture> architectures;  // one of them
};

struct Constraint {
    enum class Kind : std::uint8_t { needs, excludes, since } kind;
    List<Term> left, right;
    List<Since> since;
    Text text;  // as written in the row
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
    std::int64_t low, high, step;  // a multiple of step
    List<std::int64_t> values;     // or one of these
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
    Text name;
    RuleKind kind;
    TypeRef type;
    Count count;
    bool is_output, is_optional;
    bool register_only, constant_only, is_exact, is_wide, takes_sink, takes_special, takes_symbol, is_mixed,
        is_plain, needs_braces, is_loose, is_inout, takes_minus, takes_element;
    const Range* range;        // null: none
    List<Term> with, without;  // present exactly when one holds; when none holds
    List<Since> since;         // of an operand that need not be there
    List<OperandRule> children;
};

struct Row {
    Text opcode;  // "mul.wide"
    Text syntax;  // as written: "mul.wide.type d, a, b"
    List<Slot> slots;
    List<OperandRule> operands;
    List<Constraint> constraints;
    List<WordId> implied;  // of an old form, what its name lacks of today's
    List<Since> since;
    // gone after this PTX version on this architecture and later; 0: never
    std::uint16_t until_version, until_sm;
    bool pure;
};

struct Opcode {
    Text name;  // "add", "mul.wide"
    List<Row> rows;
};

struct SpecialRegister {
    Text name;  // "%tid", "%envreg"
    RegisterType type;
    bool is_vector;       // %tid: also .x .y .z .w
    bool is_narrow;       // mov takes it as a narrower integer, too
    bool is_volatile;     // each read may give another value
    std::uint16_t count;  // of a numbered family; 0: none
    List<Since> since;
};

/// A modifier, and what follows from its text.
struct Word {
    Text text;
    RegisterType type;     // that it names; none: it names none
    syntax::Space space;   // likewise
    std::uint16_t number;  // 4 of .v4 and .x4, 3 of .3d, 128 of .m64n128k16; 1 where it has none
};

struct OpcodeEffects {
    Text opcode;
    std::uint16_t bits;
};

/// What the generator writes.
namespace table {
inline constexpr std::uint16_t nowhere = 0xFFFF;
#include "ptxgraft/isa/rows.inc"
// The array of all T.
template <class T> constexpr const T* all() = delete;
template <> constexpr const Architecture* all() { return architectures; }
template <> constexpr const Since* all() { return sinces; }
template <> constexpr const WordId* all() { return members; }
template <> constexpr const Atom* all() { return atoms; }
template <> constexpr const Term* all() { return terms; }
template <> constexpr const Constraint* all() { return constraints; }
template <> constexpr const std::int64_t* all() { return values; }
template <> constexpr const OperandRule* all() { return operands; }
template <> constexpr const Slot* all() { return slots; }
template <> constexpr const Row* all() { return instructions; }
}  // namespace table

constexpr std::string_view Text::view() const {
    return {table::pages[first >> 16] + (first & 0xFFFF), count};
}
template <class T> constexpr const T* List<T>::data() const { return table::all<T>() + first; }

/// All modifiers, ordered by text.
inline constexpr struct {
    [[nodiscard]] constexpr std::size_t size() const { return std::size(table::words); }
    [[nodiscard]] constexpr std::string_view operator[](std::size_t id) const {
        return table::words[id].text;
    }
} table_words;
inline constexpr std::span<const WordId> table_repeatable = table::repeatable;     // that ptxas takes twice
inline constexpr std::span<const Opcode> table_opcodes = table::opcodes;           // ordered by name
inline constexpr std::span<const SpecialRegister> table_special = table::special;  // ordered by name
inline constexpr std::span<const OpcodeEffects> table_effects = table::effects;    // ordered by opcode

/// The first row whose name is not before one, in a table that is ordered by it.
template <class Row>
[[nodiscard]] constexpr auto first_row_from(std::span<const Row> rows, std::string_view name,
                                            Text Row::*key) {
    return std::lower_bound(rows.begin(), rows.end(), name, [key](const Row& row, std::string_view wanted) {
        return (row.*key).view() < wanted;
    });
}
/// The row of a name in such a table; null for one that it lacks.
template <class Row>
[[nodiscard]] constexpr const Row* find_row(std::span<const Row> rows, std::string_view name,
                                            Text Row::*key) {
    const auto at = first_row_from(rows, name, key);
    return at != rows.end() && (*at).*key == name ? &*at : nullptr;
}
/// The row of a name by its key, where the generator made a hash table of the places of rows; null for one
/// that is not there. It compares one text or two: compilers take microseconds for a letter.
template <class Row, std::size_t Slots>
[[nodiscard]] constexpr const Row* find_row(const Row* rows, const std::uint16_t (&places)[Slots],
                                            std::string_view name, std::uint32_t key, Text Row::*text) {
    for (std::size_t slot = key % Slots; places[slot] != table::nowhere; slot = (slot + 1) % Slots)
        if (rows[places[slot]].*text == name) return rows + places[slot];
    return nullptr;
}

}  // namespace ptxgraft::isa
