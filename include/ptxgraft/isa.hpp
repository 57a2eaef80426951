#pragma once
/// @file isa.hpp
/// The instruction table: the forms of PTX, read from src/isa/ptx.isa when the library is built.
///
/// A form is one fully spelled instruction (`fma.rn.ftz.f32`) with the types of its operands. A row of the
/// table, in the manual's notation (`add{.rnd}{.ftz}{.sat}.f32 d, a, b`), stands for all forms that its
/// modifiers make. Threads: every function may be called from any number at once, also on one module.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/syntax.hpp"
#include "ptxgraft/syntax/types.hpp"
#include "ptxgraft/target.hpp"

namespace ptxgraft::isa {

using ptxgraft::Architecture;

/// What an operand of a form is: a type of PTX, or the bits of one that no register is declared of.
using OperandType = syntax::Type;

/// One operand of a form, once its modifiers are fixed.
struct OperandSpec {
    OperandType type = OperandType::b32;
    std::uint8_t count = 1;  ///< elements; with `is_vector` written {a, b, …}
    bool is_output = false;
    bool is_vector = false;
    bool is_address = false;    ///< written [a]: a register of `type` (b64; b32 in .shared)
    bool is_second = false;     ///< written behind the one before with `|`
    bool is_immediate = false;  ///< only a constant
    bool is_register = false;   ///< no constant
    /// only a register declared with this very type, not of another one of its size
    bool is_exact = false;
    /// also a wider register (the relaxed rule of ld, st, cvt; PTX ISA 9.4.1)
    bool is_wide = false;
    std::int64_t low = INT64_MIN, high = INT64_MAX;  ///< what a constant must lie within
    std::int64_t step = 1;                           ///< and be `low` plus a multiple of
};

/// One fully spelled instruction: what a stack machine can have.
struct Form {
    std::string name;                   ///< unique: `add.f32`, `setp.lt.f32|q`, `mov.b64:b32x2` (see set.hpp)
    std::string spelling;               ///< in PTX: `setp.lt.f32`
    std::vector<OperandSpec> operands;  ///< in writing order, outputs first
    bool pure = false;                  ///< computes its outputs from its inputs and does nothing else
    std::uint16_t effects = 0;          ///< else: bits as in ptxgraft::Effect

  private:
    friend struct FormRow;
    const void* row_ = nullptr;  // of the table
};

/// Every form of an opcode (`add`, `mul.wide`) whose operands are registers, constants and addresses, in the
/// table's order. Made anew by each call. An optional operand makes two forms. None for rows with operands of
/// other kinds (labels, textures, an output that is read too).
[[nodiscard]] PTXGRAFT_API std::vector<Form> forms(std::string_view opcode);
/// The form of a name in the sense of Form::name; nothing when the table has none.
[[nodiscard]] PTXGRAFT_API std::optional<Form> find_form(std::string_view name);
/// The opcodes that have a pure form, ordered by name.
[[nodiscard]] PTXGRAFT_API std::vector<std::string_view> pure_opcodes();
/// Whether a PTX version (90: 9.0; 0: any) and target (sm 0: any) have a form.
[[nodiscard]] PTXGRAFT_API bool is_available(const Form& form, std::uint16_t ptx_version,
                                             Architecture target);
/// The type and kind of a special register (`%tid.x`, `%laneid`); nothing when there is none. `is_volatile`:
/// each read may differ (%clock …).
struct SpecialInfo {
    OperandType type;
    bool is_volatile;
};
[[nodiscard]] PTXGRAFT_API std::optional<SpecialInfo> special_register(std::string_view name);
[[nodiscard]] PTXGRAFT_API bool is_special_available(std::string_view name, std::uint16_t ptx_version,
                                                     Architecture target);

/// The rows of the table for an opcode (`add`, `mul.wide`, or `cp` for all that begin so), as they stand in
/// it, with versions; empty when there is none.
[[nodiscard]] PTXGRAFT_API std::vector<std::string> rows(std::string_view opcode);
/// Some row has this name: `cp.async.bulk.commit_group`. Modifiers may stand in any order that ptxas takes.
[[nodiscard]] PTXGRAFT_API bool knows(const syntax::Instruction& instruction);

/// What an instruction does with the registers of an operand, as the table has it: a syntax::AccessOf for
/// Names and outline, which by themselves know PTX's custom only. Of an instruction that fits no row:
/// syntax::usual_access.
/// @code
/// for (const syntax::Use& use : names.writes(names.find(at, "%r1"), isa::access)) …
/// @endcode
[[nodiscard]] PTXGRAFT_API syntax::Access access(const syntax::Instruction& instruction, std::size_t operand);

struct VerifyOptions {
    std::string_view target = {};  ///< verify for this one, not for the module's own: "sm_100a"
    /// modifiers that do not stand in the manual's order, which ptxas takes, are findings too
    bool manual_order = false;
};

/// What the front end of ptxas 13.5 would refuse in a module, in the order of the text: unknown opcodes and
/// modifiers, operands of the wrong number, kind, type or range, names that are not declared, forms that the
/// version or target lacks, declarations and directives that contradict themselves, bytes beyond ASCII
/// outside of comments. Older versions of ptxas may refuse more: forms newer than they are, and (13.0) such
/// bytes in comments. Each finding has a span in the module's source and says what would be right. Not looked
/// at: what ptxas sees only when it makes code or links (register pressure, too much shared memory, an
/// undefined .extern).
/// @code
/// for (const Error& error : isa::verify(*module)) std::cerr << describe(error, module->source(), "a.ptx");
/// @endcode
[[nodiscard]] PTXGRAFT_API std::vector<Error> verify(const syntax::Module& module,
                                                     const VerifyOptions& options = {});

/// What an opcode may do beyond its register outputs: bits as in ptxgraft::Effect. Covers every opcode of PTX
/// ISA 9.0. Unknown opcodes answer `unknown_opcode`.
inline constexpr std::uint16_t unknown_opcode = 0xFFFF;
[[nodiscard]] PTXGRAFT_API std::uint16_t effects(std::string_view opcode);

}  // namespace ptxgraft::isa
