#pragma once
/// @file isa.hpp
/// The instruction table: the forms of PTX, read from src/isa/ptx.isa when the library is built.
///
/// A form is one fully spelled instruction name (`fma.rn.ftz.f32`) with the types of its operands. A row of the table,
/// in the manual's notation (`add{.rnd}{.ftz}{.sat}.f32 d, a, b`), stands for all forms that its modifiers make.

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::isa {

/// A target architecture: `sm_90` (and all later ones), `sm_90a` (only this one), `sm_100f` (its family).
struct Architecture {
    std::uint16_t sm = 0;  ///< 90
    char variant = 0;      ///< 'a', 'f' or 0
    friend bool operator==(Architecture, Architecture) = default;
};

/// What an operand of a form may be. The enumerators below `f64` are the types of registers.
enum class OperandType : std::uint8_t { pred, b16, b32, b64, u16, u32, u64, s16, s32, s64, f16, f16x2, bf16, bf16x2, f32, f64, other };

struct OperandSpec {
    OperandType type = OperandType::other;
    bool is_output = false;
    bool is_immediate = false;  ///< only an immediate is allowed, below 256 (the table of lop3)
    bool is_byte = false;       ///< only the low 8 bits are read, and an immediate must be below 256
    bool is_exact = false;      ///< only a register of this very type, not of another one of its size
};

struct Form {
    std::string_view name;                  ///< `fma.rn.f32`
    std::span<const OperandSpec> operands;  ///< in writing order, outputs first
    std::uint16_t ptx_version;              ///< first PTX ISA version, 10 * major + minor
    std::uint16_t sm;                       ///< first architecture, 90 for sm_90
    bool pure;                              ///< computes its outputs from its inputs and does nothing else
    bool stack;                             ///< usable in stack programs
};

/// All forms, ordered by name: the index of a form is its number.
[[nodiscard]] PTXGRAFT_API std::span<const Form> forms();
/// The form of a name; null when the table has none.
[[nodiscard]] PTXGRAFT_API const Form* find(std::string_view name);

/// The rows of the table for an opcode (`add`, `mul.wide`, or `cp` for all that begin so), as they stand in it, with versions; empty when
/// there is none.
[[nodiscard]] PTXGRAFT_API std::vector<std::string> rows(std::string_view opcode);
/// Some row has this name: `cp.async.bulk.commit_group`. Modifiers may stand in any order that ptxas takes.
[[nodiscard]] PTXGRAFT_API bool knows(const syntax::Instruction& instruction);

/// What an instruction does with the registers of an operand, as the table has it: a syntax::AccessOf for Names and outline, which by
/// themselves know PTX's custom only. Of an instruction that fits no row: syntax::usual_access.
/// @code
/// for (const syntax::Use& use : names.writes(names.find(at, "%r1"), isa::access)) …
/// @endcode
[[nodiscard]] PTXGRAFT_API syntax::Access access(const syntax::Instruction& instruction, std::size_t operand);

struct VerifyOptions {
    std::string_view target = {};  ///< verify for this one, not for the module's own: "sm_100a"
    bool manual_order = false;     ///< modifiers that do not stand in the manual's order, which ptxas takes, are findings too
};

/// What ptxas's front end would refuse in a module, in the order of the text: unknown opcodes and modifiers, operands of the wrong number,
/// kind, type or range, names that are not declared, forms that the version or target lacks, declarations and directives that contradict
/// themselves. Each finding has a span in the module's source and says what would be right. Not looked at: what ptxas sees only when it makes
/// code or links (register pressure, too much shared memory, an undefined .extern).
/// @code
/// for (const Error& error : isa::verify(*module)) std::cerr << describe(error, module->source(), "a.ptx");
/// @endcode
[[nodiscard]] PTXGRAFT_API std::vector<Error> verify(const syntax::Module& module, const VerifyOptions& options = {});

/// What an opcode may do beyond its register outputs: bits as in ptxgraft::Effect. Covers every opcode of PTX ISA 9.0.
/// Unknown opcodes answer `unknown_opcode`.
inline constexpr std::uint16_t unknown_opcode = 0xFFFF;
[[nodiscard]] PTXGRAFT_API std::uint16_t effects(std::string_view opcode);

}  // namespace ptxgraft::isa
