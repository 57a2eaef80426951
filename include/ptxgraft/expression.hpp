#pragma once
/// @file expression.hpp
/// Expressions: stubs in the notation of C.
///
///     acc = max(acc + bias, 0)
///
/// * several assignments, separated by `;` or line ends; each target is a `mod` or `out` operand, or a new name, which is then a local value. Operands
///   always have their value from before the stub, except that a name that was assigned has its new value from then on;
/// * `+ - * / %`, `& | ^ ~ << >>`, `< <= > >= == !=`, `&& || !`, `c ? a : b`, with C's precedence; parentheses; calls;
/// * types come from the operands. A literal takes the type of what it meets (`x + 1` is f32 where x is), else `1` is s32 and `1.5` f32. Nothing else
///   is converted by itself: `n * x` with s32 n and f32 x is an error that points at its column and names the cast, `f32(n)`;
/// * a cast is a call: `f32(n)` rounds to nearest even, `s32(x)` goes towards zero and saturates as PTX's cvt does, `u32(n)` of s32 keeps the bits;
///   `bits(x)` gives the bits of a float as an unsigned integer, `float_bits(n)` the reverse;
/// * exact by default: `+ - * /`, `sqrt`, `fma` are rounded to nearest, in forms that the assembler does not contract; `contract` and `approx` in
///   ExpressionOptions change that. Functions with an exact form: abs min max fma sqrt rcp floor ceil trunc round copysign clamp popc clz brev ffs
///   isnan isfinite isinf select. Approximate ones are called by name, `approx_exp2 approx_log2 approx_sin approx_cos approx_tanh approx_rsqrt approx_rcp
///   approx_sqrt approx_div approx_exp approx_log approx_sigmoid`; with the option `approx`, `exp2 log2 exp log sin cos tanh rsqrt sigmoid / sqrt rcp` are these,
///   without it those that PTX has no exact form for are computed by sequences with a stated error (see docs of each in expression.cpp's table);
/// * an operand of type u64 that the text indexes is a pointer: `f32[bias, col]`, or `bias[col]` where the signature says what it points to, by the user
///   type `ptr_f32:u64`: a load from global memory (the site must allow `load`);
/// * fragments: `frag[2]` with a constant index.

#include <string_view>

#include "ptxgraft/error.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft {

struct ExpressionOptions {
    bool contract = false;  ///< a * b + c may become one fma
    bool approx = false;    ///< plain function names and `/` mean the approximate forms
    bool ftz = false;       ///< f32 forms flush subnormals
    isa::Architecture target = {};
};

/// The set that programs of expressions use: shipped as `expression`.
[[nodiscard]] PTXGRAFT_API std::shared_ptr<const stack::InstructionSet> expression_set();

/// The stack program of an expression, for a machine of `expression_set()`. Errors have spans in `text`.
[[nodiscard]] PTXGRAFT_API Expected<stack::Program> parse_expression(std::string_view text, const stack::Machine& machine, const ExpressionOptions& options = {});

/// Expression to stub in one call.
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile_expression(std::string_view text, const Site& site, const ExpressionOptions& options = {});
[[nodiscard]] PTXGRAFT_API Expected<Stub> compile_expression(std::string_view text, const Signature& signature, const ExpressionOptions& options = {}, Policy policy = {});

}  // namespace ptxgraft
