#pragma once
/// @file tolerance.hpp
/// What the tensor cores' sums may be: PTX leaves the order and the precision of the intermediate sums of
/// floating-point products to the hardware (PTX ISA 9.7.14.5.14, 9.7.15.5: "accumulation order, rounding and
/// handling of subnormal inputs are unspecified").
///
/// The emulator's own order, the same in every run: products are exact, `acc = fma(a, b, acc)` in .f32 for k
/// ascending, rounded to nearest even, from `acc = c`; an .f16 accumulator is rounded once at the end of each
/// instruction. A GPU adds in another order, a few products at a time, aligns them to the largest and
/// truncates: its results differ in the last bits. legal_sum() says how far from the exact sum any of them
/// can be.
///
/// @code
/// // One element d of D = A * B + C, 64 products of bf16; `exact` and `magnitudes` are computed in double.
/// const SumBounds bounds = legal_sum({.type = ProductType::bf16, .products = 64}, exact, magnitudes);
/// const bool is_right = bounds.contain(d);
/// @endcode

#include <cmath>
#include <cstdint>

#include "ptxgraft/error.hpp"

namespace ptxgraft {

/// Of what is multiplied. Integers and .f64 have one result only.
enum class ProductType : std::uint8_t { f16, bf16, tf32, e4m3, e5m2 };
enum class AccumulatorType : std::uint8_t { f32, f16 };

/// A sum of products, by one instruction or by many that add to the same accumulator.
struct ProductSum {
    ProductType type = ProductType::f16;
    AccumulatorType accumulator = AccumulatorType::f32;
    std::uint64_t products = 0;  ///< in all: K of the whole matrix product
};

struct SumBounds {
    double lowest = 0, highest = 0;
    /// NaN is legal where the bounds are NaN, and then nothing else is; and where they are minus and plus
    /// infinity, since intermediate sums may overflow both ways there.
    [[nodiscard]] bool contain(double value) const {
        if (!std::isnan(value)) return value >= lowest && value <= highest;
        return std::isnan(lowest) || (lowest < 0 && highest > 0 && std::isinf(lowest) && std::isinf(highest));
    }
};

/// Between which values each legal computation of one element lies: any order of the products and of c among
/// them, intermediate sums rounded or truncated to the accumulator's precision, or to the 13 fraction bits
/// that sm_89 and sm_90 keep for .e4m3 and .e5m2. `exact` is c plus the sum of the products, `magnitudes` the
/// sum of their absolute values, both as good as double can.
///
/// | what is given | lowest and highest |
/// |---|---|
/// | no intermediate sum of any order overflows | finite; rounded, the upper one may be infinite |
/// | those of the positive terms may | the upper one is plus infinity |
/// | those of the negative terms may | the lower one is minus infinity |
/// | both may, or there are too many products for any bound | minus and plus infinity; NaN is legal too |
/// | `exact` is infinite, from terms that are | both are that infinity |
/// | `exact` is NaN | both are NaN, and NaN alone is legal |
[[nodiscard]] PTXGRAFT_API SumBounds legal_sum(const ProductSum& sum, double exact, double magnitudes);

}  // namespace ptxgraft
