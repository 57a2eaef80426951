#pragma once
/// @file decode_shapes.hpp
/// Most instructions of a module look like others before them but for the registers that they name. What the
/// first of a *shape* became is kept, with places for registers and numbers, and the others are made from it.
///
/// The shape is all that decoding looks at: opcode and modifiers, the width of each register, what variables
/// are, the other tokens as written. Registers do not belong to it, nor do immediates of instructions without
/// other effects, nor the offset of an address that is loaded or stored.

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "emulator/program.hpp"
#include "emulator/scopes.hpp"
#include "syntax/name_map.hpp"
#include "syntax/token_view.hpp"

namespace ptxgraft::emulator {

class FunctionDecoder;
class ModuleDecoder;

/// The table of the program that an operation's `extra` is an index of.
enum class Table : std::uint8_t { none, accesses, collectives, barriers, matrices };
struct TableEntry {
    Table table = Table::none;
    std::uint32_t index = 0;
};

/// A Ref that is no column yet: its offset is a number of something that differs from instruction to
/// instruction. In the bank of registers: one of Reading::values; in those of constants and special
/// registers: a place in the shape's lists.
inline constexpr Ref place_bit = 16;
[[nodiscard]] constexpr Ref place(std::size_t number, std::uint32_t bytes) {
    return static_cast<Ref>(number) * lane_count | place_bit | static_cast<Ref>(std::countr_zero(bytes));
}
[[nodiscard]] constexpr bool is_place(Ref ref) { return ref != no_ref && (ref & place_bit) != 0; }
[[nodiscard]] constexpr std::size_t number_of(Ref place) { return offset(place) / lane_count; }

/// How an opcode is decoded by shape.
enum class Shaping : std::uint8_t {
    none,        ///< by itself
    plain,       ///< constants belong to the shape
    address,     ///< of its first address, variable and offset do not
    immediates,  ///< immediates do not
    branch,      ///< to a label
};

/// One instruction as its shape sees it.
struct Reading {
    static constexpr std::size_t most_registers = 48, carry = most_registers, first_temporary = carry + 1,
                                 first_immediate = 96, most_values = 112, most_key_bytes = 512;
    struct Immediate {
        std::string_view text;
        std::uint64_t value = 0;  ///< of an integer, or a variable's address
        bool is_floating = false;
    };

    /// What stands in the places of registers: those named, in order; the condition code; temporaries;
    /// immediates.
    std::array<Ref, most_values> values;
    std::array<std::string_view, most_registers> names;  ///< of the registers, where they stand in the text
    std::array<Immediate, 4> immediates;
    std::array<char, most_key_bytes> key;
    std::size_t registers = 0, immediate_count = 0, key_size = 0;
    Shaping shaping = Shaping::none;
    bool has_address = false;  ///< of which the offset is:
    std::uint64_t offset = 0;

    [[nodiscard]] std::optional<std::size_t> register_at(std::string_view name) const;
    [[nodiscard]] std::optional<std::size_t> immediate_at(std::string_view text) const;
};

/// A constant of a shape.
struct ShapeConstant {
    std::uint64_t bits = 0;
    std::uint8_t bytes = 4;
    ImmediateType type = ImmediateType::integer;
    std::int8_t immediate =
        -1;  ///< which of the instruction's, and `bits` which of the shape's; -1: `bits` it is
};

/// What the instructions of one shape become.
struct InstructionShape {
    std::vector<Operation> operations;  ///< `operands` from the first ref on, `extra` in the tables below
    std::vector<Table> tables;          ///< for each operation
    std::vector<Ref> refs;
    std::vector<ShapeConstant> constants;  ///< immediates too
    std::vector<ShapeConstant> immediates;
    std::vector<SpecialColumn> specials;  ///< refs: the width only
    std::vector<std::uint8_t> temporaries;
    bool uses_carry = false;
    std::vector<Access> accesses;
    std::vector<CollectiveCall> collectives;
    std::vector<Barrier> barriers;
    std::vector<MatrixInstruction> matrices;
    // In the module at hand: constants, special registers and tables have their places.
    std::uint64_t module = 0;  ///< its number; 0: none
    std::vector<Operation> bound_operations;
    std::vector<Ref> bound_refs;
    std::uint64_t last_offset = 0;  ///< of an access that the module has already
    std::uint32_t last_access = 0;
    bool has_last_access = false;
};

/// The shapes that an emulator has seen, of all its modules.
class Shapes {
  public:
    struct Name {
        std::uint32_t number = 0;
        Shaping shaping = Shaping::none;
    };
    /// Of an opcode with its modifiers.
    [[nodiscard]] const Name& name(std::string_view text);
    struct Entry {
        std::uint32_t seen = 0;                   ///< how many times, up to `often`
        std::unique_ptr<InstructionShape> shape;  ///< null: instructions are decoded by themselves
    };
    std::uint32_t often = 2;  ///< a shape that was seen so often is learned
    [[nodiscard]] Entry& find(std::string_view key);
    /// A number for a module, which no other has.
    [[nodiscard]] std::uint64_t new_module() { return ++modules_; }
    /// Forgets all when there are many. Not while an instruction is looked at.
    void trim() {
        if (count_ >= most) forget();
    }

  private:
    static constexpr std::size_t most = 1 << 15;
    void forget();
    std::deque<std::string> kept_;  // what the maps have views of
    syntax::NameMap<Name> names_;
    syntax::NameMap<Entry> shapes_;
    std::size_t count_ = 0;      // of both
    std::uint32_t numbers_ = 0;  // given to names, each once
    std::uint64_t modules_ = 0;
};

/// What decoding keeps from one module of an emulator to the next.
struct DecoderMemory {
    Shapes shapes;
    Scopes scopes;  ///< empty between modules
};

/// What an instruction asks for while its shape is learned.
struct Learning {
    const Reading& reading;
    InstructionShape& shape;
    bool is_refused = false;  ///< it depends on more than its shape
    struct Entry {
        std::size_t operation;  ///< in the program's code
        TableEntry entry;
    };
    std::vector<Entry> entries = {};
};

}  // namespace ptxgraft::emulator
