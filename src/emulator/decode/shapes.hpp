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

#include "emulator/decode/scopes.hpp"
#include "emulator/machine/program.hpp"
#include "isa/instruction_verifier.hpp"
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
    call,        ///< of a function, which calls like it were found to take
};

/// One instruction as its shape sees it.
struct Reading {
    static constexpr std::size_t most_registers = 48, carry = most_registers, first_temporary = carry + 1,
                                 first_immediate = 96, most_values = 128, most_key_words = 256;
    struct Immediate {
        std::string_view text;
        std::uint64_t value = 0;  ///< of an integer, or a variable's address
        bool is_floating = false;
    };

    /// What stands in the places of registers: those named, in order; the condition code; temporaries;
    /// immediates.
    std::array<Ref, most_values> values;
    /// of the instruction's, those that name the registers
    std::array<std::uint32_t, most_registers> tokens;
    std::array<Immediate, 4> immediates;
    std::array<std::uint64_t, most_key_words> key;
    std::size_t registers = 0, immediate_count = 0, key_words = 0;
    Shaping shaping = Shaping::none;
    bool has_address = false;  ///< of which the offset is:
    std::uint64_t offset = 0;

    [[nodiscard]] std::string_view shape() const {
        return {reinterpret_cast<const char*>(key.data()), key_words * sizeof key[0]};
    }
    [[nodiscard]] std::optional<std::size_t> register_at(std::string_view name,
                                                         const syntax::TokenView& instruction) const;
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
    bool has_own_collectives = false;  ///< whose member mask is a register
    std::vector<Barrier> barriers;
    std::vector<MatrixInstruction> matrices;
    // In the module at hand: constants, special registers and tables have their places.
    std::uint64_t module = 0;  ///< its number; 0: none
    std::vector<Operation> bound_operations;
    std::vector<Ref> bound_refs;
    std::vector<CollectiveCall> bound_collectives;
    /// for each of bound_refs, which of Reading::values it is where it is a place
    std::vector<std::uint8_t> places;
    bool is_simple = false;         ///< one operation on registers and what is the same everywhere
    std::uint64_t last_offset = 0;  ///< of an access that the module has already
    std::uint32_t last_access = 0;
    bool has_last_access = false;
};

/// The shapes that were seen, in all modules.
class Shapes {
  public:
    struct Name {
        std::uint32_t number = 0;
        Shaping shaping = Shaping::none;
    };
    /// Of an opcode with its modifiers.
    [[nodiscard]] Name name(std::string_view text);
    struct Entry {
        std::uint32_t seen = 0;                   ///< how many times, up to `often`
        std::unique_ptr<InstructionShape> shape;  ///< null: instructions are decoded by themselves
    };
    static constexpr std::uint32_t never = ~std::uint32_t{0};
    std::uint32_t often = 2;  ///< a shape that was seen so often is learned; never: each is read by itself
    [[nodiscard]] Entry& find(std::string_view key) {
        const std::uint32_t hash = syntax::hash_of(key);
        if (Entry* const known = entries_.find(key, hash)) return *known;
        return *entries_.put(kept_.emplace_back(key), hash).first;
    }
    /// What follows is of a module with this setting: what is known of instructions holds for one of them.
    void use_for(const isa::InstructionVerifier::Setting& setting);
    /// Which one that is.
    [[nodiscard]] std::uint32_t setting() const { return setting_; }
    /// A number for a module, which no other has.
    [[nodiscard]] std::uint64_t new_module() { return ++modules_; }
    /// Forgets all when there are many. Not while an instruction is looked at.
    void trim() {
        if (kept_.size() >= most) [[unlikely]]
            forget();
    }

  private:
    static constexpr std::size_t most = 1 << 15, most_settings = 64;
    void forget();
    std::vector<isa::InstructionVerifier::Setting> settings_;
    std::uint32_t setting_ = 0;     // of settings_
    std::deque<std::string> kept_;  // what names_ and entries_ have views of
    syntax::NameMap<Name> names_;
    syntax::NameMap<Entry> entries_;
    std::uint32_t numbers_ = 0;  // given to names, each once
    std::uint64_t modules_ = 0;
};

/// Makes a Reading of an instruction. False for one that has no shape; then it is decoded by itself. Of a
/// branch or a call, `at` is the first token behind the modifiers.
[[nodiscard]] bool read_shape(FunctionDecoder& decoder, const syntax::TokenView& tokens, Reading& reading,
                              std::size_t& at);

/// What decoding keeps from one module to the next.
struct DecoderMemory {
    Shapes shapes;
    Scopes scopes;  ///< empty between modules
};

/// What an instruction asks for while its shape is learned.
struct Learning {
    const Reading& reading;
    const syntax::TokenView& tokens;
    InstructionShape& shape;
    bool is_refused = false;  ///< it depends on more than its shape
    struct Entry {
        std::size_t operation;  ///< in the program's code
        TableEntry entry;
    };
    std::vector<Entry> entries = {};
};

}  // namespace ptxgraft::emulator
