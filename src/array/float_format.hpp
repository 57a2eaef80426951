#pragma once
/// @file float_format.hpp
/// Floating-point types as bits and as numbers.

#include <cstdint>
#include <string_view>

namespace ptxgraft::array {

/// A binary format: a sign, an exponent, a fraction.
struct FloatFormat {
    std::string_view name;  ///< PTX's
    int bits, fraction;     ///< in all, and of the fraction
    int least_exponent;     ///< of normal numbers
    double most;            ///< the largest number
    bool saturates;         ///< conversions give the largest number in place of an infinity
};
/// Of f16, bf16, f32, f64, e4m3, e5m2; null for others.
[[nodiscard]] const FloatFormat* find_format(std::string_view name);

/// The nearest number of a format, ties to even; beyond the largest one infinity, or that one where it
/// saturates.
[[nodiscard]] double rounded(double value, const FloatFormat& to);
/// The bits of the nearest number.
[[nodiscard]] std::uint64_t encode(double value, const FloatFormat& to);
[[nodiscard]] double decode(std::uint64_t bits, const FloatFormat& from);

}  // namespace ptxgraft::array
