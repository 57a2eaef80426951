#pragma once
/// @file constant.hpp
/// Constant expressions of PTX (PTX ISA 4.5): what stands where an instruction takes an immediate, in offsets
/// of addresses, as indices of arrays and as initial values.
///
/// An integer has 64 bits and is signed (.s64) or unsigned (.u64); a floating-point constant is computed in
/// double precision; `0f3F800000` is exactly these bits and stands in no expression. Operators, precedences
/// and types are those of the manual; where it and ptxas disagree, values are ptxas's, because they are what
/// a GPU gets:
/// - `%` gives an unsigned result, and `& | ^` one of their operands' common type (the manual's table says
/// .s64, .u64);
/// - `c ? a : b` has the type of the operand that is chosen, and no floating-point operands;
/// - a shift's count is taken modulo 64;
/// - both operands of `&&`, `||` and `?:` must have a value: `1 || 1/0` has none.
///
/// @code
/// syntax::evaluate_constant("WARP_SZ*2")->bits;      // 64
/// syntax::evaluate_constant("(.u64)-1 >> 60")->bits; // 15
/// syntax::evaluate_constant("1.0/3.0")->type;        // Constant::Type::f64
/// syntax::evaluate_constant("5/0").error();          // Errc::constant_division_by_zero, at the '/'
/// @endcode

#include <cstdint>
#include <optional>
#include <string_view>

#include "ptxgraft/error.hpp"

namespace ptxgraft::syntax {

/// The value of a constant expression.
struct Constant {
    enum class Type : std::uint8_t {
        s64,  ///< a signed integer
        u64,  ///< an unsigned integer: of a literal with `U` or beyond .s64, of `~`, of `%`, of a cast
        f64,  ///< a floating-point constant: `1.5`, `0d3FF8000000000000`, `1.0/3.0`
        f32,  ///< `0f3F800000`, in the lower half of `bits`
    };
    Type type = Type::s64;
    std::uint64_t bits = 0;

    [[nodiscard]] bool is_integer() const { return type == Type::s64 || type == Type::u64; }
    /// Of an integer, as .s64.
    [[nodiscard]] std::int64_t as_signed() const { return static_cast<std::int64_t>(bits); }
    friend bool operator==(const Constant&, const Constant&) = default;
};

/// The value of an expression, with spans in `text`. Errors: Errc::constant_division_by_zero;
/// Errc::constant_operands_differ for an integer beside a floating-point constant;
/// Errc::constant_operand_invalid for an operator that does not take its operand (`~1.5`, `-0f3F800000`);
/// Errc::constant_out_of_range for a literal or quotient that no type holds (ptxas takes no decimal that is
/// nearer to zero than 0d0010000000000000 either); Errc::number_malformed for an integer of more than 64 bits
/// (which ptxas wraps around, most of the time); Errc::constant_malformed for what is no expression.
[[nodiscard]] PTXGRAFT_API Expected<Constant> evaluate_constant(std::string_view text);

}  // namespace ptxgraft::syntax
