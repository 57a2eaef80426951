#pragma once
/// @file set.hpp
/// Instruction sets: which instructions a stack machine has, under which names, and on which types they work.
///
/// A set is a `.set` file. Nine are in the library (`stack::find_set("f32")`; `ptxgraft set f32` prints one):
/// `f32` (the set of mm-ptx), `math`, `integer`, `half`, `warp`, `memory`, `full` (every pure form of the
/// table, and the special registers). Texts are read with `standard`, which is `full`, `warp` and `memory`
/// together; expressions with `expression`.
///
///     # comments, blank lines
///     include f32                        all of another set
///     type philox u32                    a type of your own over a register type: it has a stack of its own
///     add.f32                            a form of PTX, spelled as in the manual
///     add.rn.f32 weight 4                drawn four times as often when programs are made at random
///                                        (default 1; 0: never)
///     mac = fma.rn.f32                   a form under a name of your own
///     bump = add.u32 philox, u32 -> philox   … with types of your own in the place of its register types
///     min.*                              every pure form of an opcode; `*` alone: of all
///     %tid.x                             a special register: pushes its value
///
/// A form's name is its name in PTX (`fma.rn.ftz.f32`). Where PTX has several shapes under one name, the
/// plain one with the fewest inputs has the bare name and the others a suffix: `:3` three inputs
/// (`min.f32:3`), `:b32x2` one vector of inputs (`mov.b64:b32x2` packs two b32),
/// `:to.b32x2` a vector of results (`mov.b64:to.b32x2` unpacks); `:size8` a constant that is one of a list
/// (`cp.async.ca.shared.global:size8`), `|q` a second result (`setp.lt.f32|q`). Forms with `wide` operands
/// (ld, cvt of 8 bits) have 16-bit values there; types of your own may be wider
/// (`ld8 = ld.global.u8 u64 -> u32`). Types behind a form stand one per operand, constants left out; a vector
/// has one for all its elements; without results the arrow may go.
///
/// A name may stand twice only through `include` and `*`: a line of its own then gives the entry its weight.
/// A pattern (`*`, `min.*`) stands once. Forms that a machine cannot have: those whose operands are labels,
/// functions, textures; those that use the condition code (`add.cc.u32`, `addc.u32`); those of more than 64
/// values.
///
/// An instruction's number in a program is its place in the set, in the order of the file. It stays what it
/// is when the table grows, as long as the set's file stays and has no `*`.

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/isa.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft::stack {

/// The number of a type: those of ptxgraft::Type first, then `b8`, `b128`, then the set's own.
using TypeId = std::uint8_t;
inline constexpr TypeId type_b8 = 16, type_b128 = 17, first_user_type = 18, max_types = 64;
constexpr TypeId type_id(Type type) { return static_cast<TypeId>(type); }

/// One operand of an entry: a value popped or pushed, or an immediate, which is part of the instruction.
struct EntryOperand {
    TypeId type = 0;  ///< its stack is that of this type, see stack_of
    bool is_output = false;
    bool is_immediate = false;
    const isa::OperandSpec* spec = nullptr;  ///< the table's view of it
};

/// One instruction of a set.
struct Entry {
    std::string name;                 ///< `mac`; for most `fma.rn.f32`
    const isa::Form* form = nullptr;  ///< null: a special register
    std::string special;              ///< `%tid.x`, or empty
    TypeId special_type = 0;
    std::vector<EntryOperand> operands;  ///< in PTX's order, vectors laid out element by element
    double weight = 1;
    Effect effects = Effect::none;  ///< what a site must allow for it
};

/// Threads: any number may read one at once.
class PTXGRAFT_API InstructionSet {
  public:
    /// Reads a `.set` text. `include` finds shipped sets; others are an error. Errors have spans in `text`.
    [[nodiscard]] static Expected<std::shared_ptr<const InstructionSet>> parse(std::string_view text);

    [[nodiscard]] std::span<const Entry> entries() const;
    /// The number of an entry by name; -1 when there is none.
    [[nodiscard]] std::int32_t find(std::string_view name) const;

    struct UserType {
        std::string name;
        Type base;
    };
    [[nodiscard]] std::span<const UserType> user_types() const;  ///< type first_user_type + i
    /// "f32", "philox"; empty: no such type
    [[nodiscard]] std::string_view type_name(TypeId type) const;
    /// The type of a name, b32 and the like included; max_types: none.
    [[nodiscard]] TypeId find_type(std::string_view name) const;

    /// The text that parse reads to an equal set, `*` and `include` written out.
    [[nodiscard]] std::string text() const;

    InstructionSet(const InstructionSet&) = delete;
    InstructionSet& operator=(const InstructionSet&) = delete;
    ~InstructionSet();

    struct Data;  ///< of the library

  private:
    friend struct SetData;
    explicit InstructionSet(std::unique_ptr<Data> data);
    std::unique_ptr<Data> data_;
};

/// The type whose stack holds values of a type: `b32` values live with `u32`, `b16` with `u16`, `b64` with
/// `u64`; the others with themselves.
constexpr TypeId stack_of(TypeId type) {
    switch (type) {
        case type_id(Type::b16): return type_id(Type::u16);
        case type_id(Type::b32): return type_id(Type::u32);
        case type_id(Type::b64): return type_id(Type::u64);
        default: return type;
    }
}

/// A shipped set by name; null when there is none. Read once, on first use, and kept.
[[nodiscard]] PTXGRAFT_API std::shared_ptr<const InstructionSet> find_set(std::string_view name);
[[nodiscard]] PTXGRAFT_API std::vector<std::string_view> set_names();

/// The library of stubs and sets, as files of the folder `stubs/`: {"gelu.stub", text} …
struct LibraryFile {
    std::string_view name;  ///< `activation/gelu.stub`
    std::string_view text;
};
[[nodiscard]] PTXGRAFT_API std::span<const LibraryFile> library();

}  // namespace ptxgraft::stack
