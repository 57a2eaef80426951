#pragma once
/// @file stack.hpp
/// The stack language: programs that compile to stubs in microseconds.
///
/// A program is a sequence of 8-byte instructions. One stack per type: pred, u32, s32, f32. b32 values live on the u32
/// stack: `and.b32`, `shl.b32`, `popc.b32` … work on u32 values, and operands of type b32 are pushed there.
/// Text form, one readable token per instruction:
///
///     # relu(acc + bias)
///     acc bias add.f32 0.0 max.f32 -> acc
///
/// * an operand's name pushes its value; `frag[2]` pushes an element. The value is always the one from before the
///   program: assignments are seen by nobody. An `out` operand has no value to push;
/// * a literal pushes a constant of its type: `1.5`, `.5`, `1e-3` f32; `7`, `0x1F` u32; `-7` s32; a suffix names another:
///   `7s32`, `1f32`, `0xFFb32`; PTX's hex floats `0f3F800000` are f32; `inf`, `-inf`, `nan` (PTX's, 0f7FFFFFFF) are f32;
///   `true`, `false` are pred. What does not fit its type is an error, and so is an integer with a leading 0;
/// * a token that is the name of a PTX form is that instruction: `add.f32`, `fma.rn.f32`, `setp.lt.f32`,
///   `cvt.rn.f32.u32`, `a b p selp.f32`. It pops its operands from the stacks of their types, the last operand is on
///   top: operands are written in the order of PTX, so `x y sub.f32` is x - y. The table of `lop3.b32` is a literal
///   from 0 to 255. Nothing is converted by itself: a u32 value does not serve where a form wants s32 or f32;
/// * `as.D.S` takes the bits of the topmost S as a D (u32, s32, f32, b32), in the order of `cvt`: `x as.u32.f32`.
///   Between u32 and s32 it costs nothing, else it is PTX's `mov.b32`;
/// * `dup.T` (a -> a a), `swap.T` (a b -> b a), `drop.T` (a ->), `over.T` (a b -> a b a), `rotate.T` (a b c -> b c a)
///   rearrange the stack of type T;
/// * `-> a b` assigns, from the top downwards per type, so that `x y -> a b` is a = x, b = y.
///   All inputs are read before any output is written: `x y -> y x` swaps. A `mod` operand that is not named keeps its
///   value; an `out` operand that is not named is an error, as is one that is named twice. A fragment's element is
///   named `frag[2]`. The names after an arrow end with the line or at `;`: more program and other arrows may follow;
/// * a value of a text that stands on a stack at the end is an error: it was computed for nothing. `drop.T` says that it
///   is meant;
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
    /// The instruction does nothing (the way of mutated programs), whatever is wrong with it: any bytes are a program.
    /// Of two assignments to one operand the last counts; an `out` that is not assigned becomes zero.
    skip,
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
/// The text of a program: `parse(print(p, s), s) == p`. An instruction that has no text (random bytes) is printed as its
/// eight bytes, `!0123456789ABCDEF`, which parse reads.
[[nodiscard]] PTXGRAFT_API std::string print(std::span<const Instruction> program, const Signature& signature);

/// The compiler. Keeps its buffers between calls: once it has seen a program of a size, no program up to it allocates.
/// Programs have at most 2^24 instructions, signatures at most 2^12 operands and 2^16 registers. One thread at a time.
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
/// agree with the site's operands by name, type, direction and count, in any order (the site may have further `in` and
/// `mod` operands). Errors have spans in `text`.
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
