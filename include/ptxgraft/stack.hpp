#pragma once
/// @file stack.hpp
/// The stack language: programs that compile to stubs in microseconds.
///
/// A program is a sequence of 8-byte instructions. One stack per type (pred, u32, s32, f32). Text form, one readable
/// token per instruction:
///
///     # relu(acc + bias)
///     acc bias add.f32 0.0 max.f32 -> acc
///
/// * an operand's name pushes its value; `frag[2]` pushes an element;
/// * a literal pushes a constant of its type: `1.5` f32, `7` u32, `-7` s32; a suffix names another: `7s32`, `1f32`;
///   PTX's hex floats `0f3F800000` are f32; `true`, `false` are pred;
/// * a token that is the name of a PTX form is that instruction: `add.f32`, `fma.rn.f32`, `setp.lt.f32`,
///   `cvt.rn.f32.u32`, `a b p selp.f32`. It pops its operands from the stacks of their types, the last operand is on
///   top: operands are written in the order of PTX, so `x y sub.f32` is x - y;
/// * `dup.T`, `swap.T`, `drop.T` and friends (below) rearrange the stack of type T;
/// * `-> a b` assigns, from the top downwards per type, so that `x y -> a b` is a = x, b = y.
///   All inputs are read before any output is written: `x y -> y x` swaps. A `mod` operand that is not named keeps its
///   value; an `out` operand that is not named is an error. A fragment's element is named `frag[2]`. The names
///   after an arrow end with the line or at `;`: more program and other arrows may follow;
/// * `#` and `//` start comments.
///
/// A `.stub` file is a signature line and a program:
///
///     signature: mod f32 acc, in f32 bias
///     acc bias add.f32 0.0 max.f32 -> acc

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"
#include "ptxgraft/site.hpp"
#include "ptxgraft/stub.hpp"

namespace ptxgraft::stack {

/// What an instruction does. Values are stable: programs may be stored.
enum class Opcode : std::uint8_t {
    input,     ///< push operand `index`, element `element`
    constant,  ///< push `payload` as the bits of a `type`
    form,      ///< the ISA form number `index` of the instruction set
    assign,    ///< pop into operand `index`, element `element`
    dup, swap, drop, over, rotate,  ///< on the stack of `type`
    cast,      ///< `as.D.S`: pop a value of the type numbered `index`, push the same bits as a `type`
};

/// One instruction: 8 bytes, trivially copyable.
struct Instruction {
    Opcode opcode = Opcode::drop;
    std::uint8_t type = 0;      ///< a ptxgraft::Type
    std::uint16_t index = 0;    ///< operand, form (its place in isa::forms()), or source type of a cast
    std::uint32_t payload = 0;  ///< constant bits; element of a fragment
    friend bool operator==(const Instruction&, const Instruction&) = default;
};
static_assert(sizeof(Instruction) == 8);

using Program = std::vector<Instruction>;

/// What an instruction does whose operands are missing.
enum class Missing : std::uint8_t {
    error,  ///< the compile fails (the default for text)
    skip,   ///< the instruction does nothing (the way of mutated programs)
};

/// What becomes of values that stand on a stack when the program ends.
enum class Leftover : std::uint8_t {
    allow,  ///< they are dropped, and what only they need is not emitted (the default for programs)
    error,  ///< the compile fails (texts: a value that nobody uses is a slip; `drop.f32` says that it is meant)
};

struct CompileOptions {
    Missing missing = Missing::error;
    Leftover leftover = Leftover::allow;
};

/// The program of a text, for a signature. Errors have spans in `text`.
[[nodiscard]] PTXGRAFT_API Expected<Program> parse(std::string_view text, const Signature& signature);
/// The text of a program: `parse(print(p, s), s) == p`.
[[nodiscard]] PTXGRAFT_API std::string print(std::span<const Instruction> program, const Signature& signature);

/// The compiler. Keeps its buffers between calls: after the first few programs a compile does not allocate.
class PTXGRAFT_API Compiler {
  public:
    Compiler();
    ~Compiler();
    Compiler(Compiler&&) noexcept;
    Compiler& operator=(Compiler&&) noexcept;

    /// PTX of a program for a signature, valid until the next call. Only live code is emitted, a shared value once;
    /// the assignments are a parallel copy. Errors: `index` is the instruction's position in the program.
    [[nodiscard]] Expected<std::string_view> compile(std::span<const Instruction> program, const Signature& signature,
                                                     const CompileOptions& options = {});
    [[nodiscard]] std::uint32_t instruction_count() const;  ///< of the last compile: PTX instructions emitted

  private:
    struct Data;
    Data* data_;
};

/// Text to stub in one call: parse, compile, check. The text may be a whole `.stub` file; then its signature line must
/// agree with the site's operands by name, type and direction (the site may have further `in` operands).
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile(std::string_view text, const Site& site);
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile(std::string_view text, const Signature& signature);
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile(std::span<const Instruction> program, const Signature& signature,
                                                  const CompileOptions& options = {});

/// A `.stub` file: its signature line, if it has one, and where the program starts.
struct StubFile {
    Signature signature;  ///< empty without a signature line
    std::uint32_t program_offset = 0;
};
[[nodiscard]] PTXGRAFT_API Expected<StubFile> parse_file(std::string_view text);

}  // namespace ptxgraft::stack
