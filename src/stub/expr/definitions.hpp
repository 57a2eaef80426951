#pragma once
// Operations as texts in the language itself, by type.

#include <array>
#include <span>
#include <string_view>

#include "stub/expr/operations.hpp"

namespace ptxgraft::expr {

struct DefinitionRow {
    Op op;
    TypeSet types;
    std::string_view parameters;           ///< one letter each
    std::array<std::string_view, 9> text;  ///< one behind the other; `T` stands for the type
};

/// Parts that the functions of every float share: what stands behind `y`, the result of a positive argument …
namespace part {
inline constexpr std::string_view of_positive =
    "result = a > 0 && a < inf ? y : a == 0 ? -inf : a < 0 ? nan : a + a";
/// … of an odd function
inline constexpr std::string_view odd = "result = isnan(a) ? a + a : copysign(y, a)";
inline constexpr std::string_view finite = "result = isfinite(a) ? float_bits(y) : a - a";  ///< … by its bits
inline constexpr std::string_view above_minus_1 =
    "result = a > -1 && a < inf ? copysign(y, a) : a == -1 ? -inf : a < -1 ? nan : a + a";
inline constexpr std::string_view within_1 = "result = x <= 1 ? copysign(y, a) : nan";
/// 2^(n-1) * p is half of exp(|a|), which does not overflow before sinh and cosh do.
inline constexpr std::string_view halved = "n = n - 1\n";
inline constexpr std::string_view cosh_end = "\nresult = result + 0.25 / result";
/// `far` from 0, and what arctangents are taken of, in [0, 1].
inline constexpr std::string_view atan_begin =
    "x = abs(a)\n"
    "far = x > 1\n"
    "z = far ? 1 / x : x\n";
inline constexpr std::string_view atan2_begin =
    "x = abs(b)\n"
    "y = abs(a)\n"
    "steep = y > x\n"
    "d = steep ? y : x\n"
    "m = steep ? x : y\n"
    "z = d == 0 ? 0 : m == d ? 1 : m / d\n";
inline constexpr std::string_view atan2_end = "result = isnan(a) || isnan(b) ? nan : copysign(y, a)";
inline constexpr std::string_view expm1_end = "y = n == 0 ? p : 2 * fma(p, s, s - 0.5)\n";
inline constexpr std::string_view cbrt_end = "result = a == 0 || !isfinite(a) ? a + a : copysign(y, a)";
}  // namespace part

/// Functions that PTX has no exact instruction for. Their coefficients are minimax polynomials, rounded to
/// the type.
[[nodiscard]] std::span<const DefinitionRow> functions_of_f32();
[[nodiscard]] std::span<const DefinitionRow> functions_of_f64();

}  // namespace ptxgraft::expr
