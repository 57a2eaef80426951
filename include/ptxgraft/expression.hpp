#pragma once
/// @file expression.hpp
/// Expressions: stubs in the notation of C. Threads: every function may be called from any number at once. A
/// thread keeps for its next expressions, until it ends: the machines of the last four sites, the syntax tree
/// and the program of its largest expression, and the arena of a Compiler for it (stack.hpp).
///
///     acc = max(acc + bias, 0)
///
/// * several assignments, separated by `;` or line ends; each target is a `mod` or `out` operand, an element
///   of a fragment (`frag[2]`), or a new name, which is then a local value. `+=` and the like assign too. A
///   name has the value that was assigned last, an operand before that the one from before the stub. A line
///   goes on where it cannot end: in brackets and behind an operator. `#`, `//` and `/* … */` are comments;
/// * `+ - * / %`, `& | ^ ~ << >>`, `< <= > >= == !=`, `&& || !`, `c ? a : b`, with C's precedence;
///   parentheses; calls; numbers (`1`, `0xFF`, `0b101`, `1.5`, `1e-3`, `0f3F800000`), with a type as suffix
///   where one is wanted (`7u64`, `1.5f16`, `1.5f`, `7u`); `true false inf nan`; special registers, `%tid.x`;
/// * types come from the operands. A literal takes the type of what it meets (`x + 1` is f32 where x is), by
///   way of names, functions and casts too (`w >= trunc(1e200)` compares f64 where w is); where it meets
///   nothing `1` is s32 and `1.5` f32, `sqrt(2)` f32. Nothing else is converted by itself: `n * x` with s32 n
///   and f32 x is an error that points at n and names the cast, `f32(n)`. Values of b16, b32, b64 operands
///   are u16, u32, u64. f16x2 and bf16x2 have + - *, fma, abs, min, max and `?:`;
/// * a cast is a call: `f32(n)` rounds to nearest even, `s32(x)` goes towards zero and saturates as PTX's cvt
///   does, integers keep their low bits, `pred(n)` is n != 0, `f32(p)` is 1 or 0; `bits(x)` gives the bits of
///   a float as an unsigned integer, `float_bits(n)` those of f32 and f64 from u32 and u64, `f16_bits(n)`,
///   `bf16_bits(n)` from u16;
/// * a comparison with NaN is false, but `!=` is true. `min` and `max` take the other number where one is
///   NaN, and -0 is below +0. Integer arithmetic wraps; `/` and `%` go towards zero, and division by 0 gives
///   what the machine gives (by a literal 0 it is an error). `>>` of a signed type is arithmetic. The count
///   of a shift is u32, or s32 taken as u32; counts of the width and more shift everything out;
/// * an operand of type u64 that the text indexes is a pointer to global memory (the site must allow `load`):
///   `bias[col]` loads the type that it meets (`acc + bias[col]` an f32 where acc is), or the one that the
///   signature names, by the user type `ptr_f32:u64`; `f32[bias, col]` names it in the text, for any pointer.
///   The index, u32, s32, u64 or s64, counts elements. In `c ? a : b`, `&&` and `||` memory is read only
///   where C would read it;
/// * exact by default: `+ - * /`, `sqrt`, `rcp`, `fma` are rounded to nearest, in forms that the assembler
///   does not contract; f16 and bf16 too.
///
/// | functions | of | |
/// |---|---|---|
/// | `abs min max clamp(x, low, high)` | numbers | |
/// | `fma sqrt rcp floor ceil trunc round copysign(size, sign)` | floats | exact; `round` to even |
/// | `isnan isfinite isinf` | floats | a pred |
/// | `popc clz ffs` | integers of 32 and 64 bits | a u32; `ffs` counts from 1, and is 0 of 0 |
/// | `brev`, `mulhi` | the same; integers | |
/// | `select(c, a, b)` | all | `c ? a : b` |
/// | `exp exp2 exp10 expm1 log log2 log10 log1p`, `cbrt rsqrt` | floats | see below |
/// | `sin cos tan asin acos atan sinh cosh tanh`, `sigmoid erf erfc` | floats | see below |
/// | `pow(x, y) atan2(y, x) hypot(x, y)` | floats | see below |
/// | `fmod(x, y)` | f16, bf16, f32 | exact |
/// | `approx_div approx_sqrt approx_rcp approx_rsqrt` | f16, bf16, f32 | PTX's `.approx` (`div.full`) |
/// | `approx_exp approx_exp2 approx_log approx_log2` | f16, bf16, f32 | the same, with PTX's errors |
/// | `approx_sin approx_cos approx_tanh approx_sigmoid` | f16, bf16, f32 | the same |
///
/// PTX has no exact form of exp and its like. They are sequences of instructions whose result PTX defines to
/// the bit (20 to 140 of them), so that they give the same number everywhere, over the whole range of the
/// type with its subnormals, infinities and NaN, and what C gives there. Their errors are at most, in units
/// in the last place of the result:
///
/// | | of f32 | of f64 |
/// |---|---|---|
/// | 1 | exp, exp2, exp10, log, pow, cbrt, hypot | exp, exp2, exp10, log, log2, log10, sin, cos, cbrt |
/// | 1.5 | expm1, cosh, tanh, acos, atan, rsqrt | log1p, cosh, acos, erf, hypot, rsqrt |
/// | 2 | log2, log10, log1p, sin, cos, asin, sinh, erf, atan2 | expm1, sinh, atan, atan2, pow |
/// | 3 | tan, sigmoid | tan, asin, tanh, sigmoid |
/// | 4 | erfc | erfc |
///
/// For f16 and bf16 the result of f32 is rounded once more. With the option `approx` the plain names, and
/// `/`, are the approximate forms where there are such, which is for f32 and what goes by way of it.

#include <string_view>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft {

struct ExpressionOptions {
    bool contract = false;  ///< a * b + c may become one fma
    bool approx = false;    ///< plain function names and `/` mean the approximate forms
    /// f32 forms flush subnormals (casts, and the functions that are sequences, do not)
    bool ftz = false;
    /// forms that it lacks are not taken; sm 0: what sm_75 has, for bf16 sm_80
    isa::Architecture target = {};
    /// `data`: literals, and the coefficients of functions, are loaded (stack.hpp)
    stack::Constants constants = stack::Constants::literals;
    /// fills Stub::dataflow_hash(), by which candidates that compute the same are found; with constants that
    /// are data it is always there
    bool hash = false;
};

/// The set that programs of expressions use: shipped as `expression`.
[[nodiscard]] PTXGRAFT_API std::shared_ptr<const stack::InstructionSet> expression_set();

/// The stack program of an expression, for a machine of `expression_set()`. It leaves nothing on the stacks.
/// Errors have spans in `text`.
[[nodiscard]] PTXGRAFT_API Expected<stack::Program> parse_expression(std::string_view text,
                                                                     const stack::Machine& machine,
                                                                     const ExpressionOptions& options = {});

/// Expression to stub in one call.
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile_expression(std::string_view text, const Site& site,
                                                             const ExpressionOptions& options = {});
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile_expression(std::string_view text,
                                                             const Signature& signature,
                                                             const ExpressionOptions& options = {},
                                                             Policy policy = {});

}  // namespace ptxgraft
