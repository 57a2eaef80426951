#pragma once
/// @file rounding.hpp
/// Binary floating-point formats and PTX's rounding modes, on values held exactly, or rounded to odd, in
/// doubles.
///
/// Rounding to odd (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms
/// using rounding to odd", 2008): a double rounded to odd can be rounded once more to any format with at
/// least two fewer bits, in any mode, and gives what a single rounding of the exact value gives.

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {

enum class Rounding : std::uint8_t { rn, rz, rm, rp, rna };
using AnyRounding = Choice<Rounding, 4>;  ///< but for .rna, which is of cvt alone
inline AnyRounding take_rounding(Modifiers& m) { return {m.take_of({".rn", ".rz", ".rm", ".rp"})}; }
/// Without one it is .rn.
inline AnyRounding or_nearest(AnyRounding rounding) { return {std::max(rounding.number, 0)}; }

/// The nearest rounding is what programs use: it has functions for columns.
template <auto F, Rounding R> constexpr PureInstruction make_rounded() {
    if constexpr (R == Rounding::rn)
        return make_fast<F>();
    else
        return make<F>();
}

/// A format: bits of the stored fraction, the exponent's bias, the bits of infinity (or of the largest finite
/// value, where the format has none), the canonical NaN.
struct Format {
    int fraction_bits;
    int bias;
    std::uint32_t infinity;  ///< 0 when the format has no infinity
    std::uint32_t largest;   ///< the largest finite magnitude
    std::uint32_t nan;
    int sign_bit;
};
inline constexpr Format f32_format{23, 127, 0x7F800000, 0x7F7FFFFF, 0x7FFFFFFF, 31};
inline constexpr Format f16_format{10, 15, 0x7C00, 0x7BFF, 0x7FFF, 15};
inline constexpr Format bf16_format{7, 127, 0x7F80, 0x7F7F, 0x7FFF, 15};

/// Whether a magnitude is rounded away from zero: `low` is the last kept bit, `half` the first dropped,
/// `rest` the others.
constexpr bool rounds_up(Rounding mode, bool negative, bool low, bool half, bool rest) {
    switch (mode) {
        case Rounding::rn: return half && (rest || low);
        case Rounding::rna: return half;
        case Rounding::rz: return false;
        case Rounding::rm: return negative && (half || rest);
        case Rounding::rp: return !negative && (half || rest);
    }
    return false;
}

/// What an overflow becomes: infinity or the largest finite value.
constexpr std::uint32_t overflowed(const Format& format, Rounding mode, bool negative) {
    const bool to_largest =
        mode == Rounding::rz || (mode == Rounding::rm && !negative) || (mode == Rounding::rp && negative);
    if (format.infinity == 0) return to_largest ? format.largest : format.nan;
    return to_largest ? format.largest : format.infinity;
}

/// Rounds a double to a format's bits.
inline std::uint32_t round_to(const Format& format, double value, Rounding mode) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const bool negative = (bits >> 63) != 0;
    const std::uint32_t sign = std::uint32_t{negative} << format.sign_bit;
    if (std::isnan(value)) return format.nan;
    if (std::isinf(value)) return sign | (format.infinity != 0 ? format.infinity : format.nan);
    if (value == 0) return sign;
    int exponent = static_cast<int>(bits >> 52 & 0x7FF);
    std::uint64_t significand = bits & 0xFFFFFFFFFFFFFull;
    if (exponent == 0) {  // a subnormal double: far below every format here, only its being nonzero counts
        exponent = 1;
    } else {
        significand |= std::uint64_t{1} << 52;
    }
    const int target_exponent = exponent - 1023 + format.bias;  // of a normal result
    int drop = 52 - format.fraction_bits;
    if (target_exponent < 1) drop += 1 - target_exponent;
    if (drop > 63) drop = 63;
    std::uint64_t kept = significand >> drop;
    const bool half = (significand >> (drop - 1) & 1) != 0;
    const bool rest = (significand & ((std::uint64_t{1} << (drop - 1)) - 1)) != 0;
    if (rounds_up(mode, negative, (kept & 1) != 0, half, rest)) ++kept;
    // The carry of a rounding up walks into the exponent by itself: a full fraction becomes the next power of
    // two.
    const std::int64_t biased = target_exponent < 1 ? 0 : target_exponent - 1;
    const std::int64_t magnitude = (biased << format.fraction_bits) + static_cast<std::int64_t>(kept);
    if (magnitude > static_cast<std::int64_t>(format.largest))
        return sign | overflowed(format, mode, negative);
    return sign | static_cast<std::uint32_t>(magnitude);
}

/// The value of a format's bits, exactly. e4m3 has one NaN pattern and no infinity.
inline double value_of(const Format& format, std::uint32_t bits) {
    const std::uint32_t sign_mask = std::uint32_t{1} << format.sign_bit;
    const std::uint32_t magnitude = bits & (sign_mask - 1);
    const double sign = (bits & sign_mask) != 0 ? -1.0 : 1.0;
    if (magnitude == format.infinity && format.infinity != 0)
        return sign * std::numeric_limits<double>::infinity();
    if (magnitude > format.largest) return std::numeric_limits<double>::quiet_NaN();
    const int exponent = static_cast<int>(magnitude >> format.fraction_bits);
    const std::uint32_t fraction = magnitude & ((1u << format.fraction_bits) - 1);
    const int scale = (exponent == 0 ? 1 : exponent) - format.bias - format.fraction_bits;
    return sign * std::ldexp(exponent == 0 ? fraction : fraction + (1u << format.fraction_bits), scale);
}

/// Moves a result whose exact value lies `error` beyond it to the neighbour with an odd significand. This and
/// add_odd have no branch, so that columns are vectorised.
inline double to_odd(double result, double error) {
    const auto bits = std::bit_cast<std::uint64_t>(result);
    // Towards the error's side: away from zero when it has the result's sign.
    const std::uint64_t away = bits + 1, back = bits - 1;
    const double above = std::bit_cast<double>(result > 0 ? away : back);
    const double below = std::bit_cast<double>(result > 0 ? back : away);
    double odd = error > 0 ? above : below;
    odd = result == 0 ? error : odd;
    odd = error == 0 ? result : odd;
    odd = std::abs(result) <= std::numeric_limits<double>::max() ? odd : result;
    odd = (bits & 1) != 0 ? result : odd;
    return odd;
}

/// a + b rounded to odd. Exact cancellation gives +0, or -0 under .rm (PTX follows IEEE 754 6.3).
inline double add_odd(double a, double b, Rounding mode = Rounding::rn) {
    const double sum = a + b;
    const double b_part = sum - a;  // Knuth's TwoSum
    const double error = (a - (sum - b_part)) + (b - b_part);
    const double odd = to_odd(sum, error);
    if (mode != Rounding::rm) return odd;
    // of a sum that is zero, the sign of either
    const std::uint64_t signs =
        (std::bit_cast<std::uint64_t>(a) | std::bit_cast<std::uint64_t>(b)) >> 63 << 63;
    return sum == 0 ? std::bit_cast<double>(signs) : odd;
}
/// a / b rounded to odd, for operands of formats narrower than double.
inline double div_odd(double a, double b) {
    const double quotient = a / b;
    if (!std::isfinite(quotient) || quotient == 0 || !std::isfinite(b)) return quotient;
    const double remainder = std::fma(-quotient, b, a);
    return to_odd(quotient, b < 0 ? -remainder : remainder);
}
inline double sqrt_odd(double a) {
    const double root = std::sqrt(a);
    if (!std::isfinite(root) || root == 0) return root;
    return to_odd(root, std::fma(-root, root, a));
}

// --- the 16-bit formats
inline double value(Half a) {
    const std::uint32_t magnitude = a.bits & 0x7FFFu;
    // As the bits of a float it is too small by 2^112, subnormals too; infinity and NaN are ordinary floats
    // there.
    float scaled = std::bit_cast<float>(magnitude << 13) * 0x1p112f;
    scaled = magnitude >= 0x7C00 ? std::bit_cast<float>(magnitude << 13 | 0x7F800000u) : scaled;
    return static_cast<double>(
        std::bit_cast<float>(std::bit_cast<std::uint32_t>(scaled) | std::uint32_t{a.bits & 0x8000u} << 16));
}
inline double value(Bfloat a) {
    return static_cast<double>(std::bit_cast<float>(std::uint32_t{a.bits} << 16));
}
template <class T> constexpr const Format& format_of();
template <> constexpr const Format& format_of<Half>() { return f16_format; }
template <> constexpr const Format& format_of<Bfloat>() { return bf16_format; }
template <class T> T narrow(double value, Rounding mode) {
    return T{static_cast<std::uint16_t>(round_to(format_of<T>(), value, mode))};
}
template <class T> struct ElementOf;
template <> struct ElementOf<HalfPair> { using type = Half; };
template <> struct ElementOf<BfloatPair> { using type = Bfloat; };
template <class P> using Element = typename ElementOf<P>::type;
template <class P> Element<P> low(P pair) { return {static_cast<std::uint16_t>(pair.bits)}; }
template <class P> Element<P> high(P pair) { return {static_cast<std::uint16_t>(pair.bits >> 16)}; }
template <class P> P pack(Element<P> high, Element<P> low) {
    return {std::uint32_t{high.bits} << 16 | low.bits};
}

// --- f32
inline constexpr float canonical_nan = std::bit_cast<float>(0x7FFFFFFFu);
/// Subnormals become zeros of their sign.
inline float flush(float a) {
    const auto bits = std::bit_cast<std::uint32_t>(a);
    return (bits & 0x7F800000u) == 0 ? std::bit_cast<float>(bits & 0x80000000u) : a;
}
template <bool Ftz> float flushed(float a) {
    if constexpr (Ftz)
        return flush(a);
    else
        return a;
}
/// A double as a float, NaNs with whatever payload. Without a branch, so that columns are vectorised.
inline float to_f32(double value, Rounding mode) {
    const auto nearest = static_cast<float>(value);
    if (mode == Rounding::rn) return nearest;
    const auto rounded = static_cast<double>(nearest);
    // as an integer a float's neighbour towards zero is one less
    const auto bits = std::bit_cast<std::uint32_t>(nearest);
    const std::uint32_t is_negative = bits >> 31;
    const std::uint32_t is_above = rounded > value ? 1 : 0, is_below = rounded < value ? 1 : 0;
    const std::uint32_t up = bits + (1 - 2 * is_negative), down = bits - (1 - 2 * is_negative);
    const std::uint32_t below_it = is_above != 0 ? down : bits, above_it = is_below != 0 ? up : bits;
    if (mode == Rounding::rm) return std::bit_cast<float>(below_it);
    if (mode == Rounding::rp) return std::bit_cast<float>(above_it);
    return std::bit_cast<float>(is_negative != 0 ? above_it : below_it);
}
/// .sat: to [0, 1]; NaN and -0 become +0.
inline float saturate(float a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; }

}  // namespace ptxgraft::arithmetic
