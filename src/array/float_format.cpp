// The narrow floating-point formats: numbers rounded to them, encoded and decoded.

#include "array/float_format.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ptxgraft::array {
namespace {

constexpr FloatFormat formats[] = {{"f16", 16, 10, -14, 65504, false},
                                   {"bf16", 16, 7, -126, 0x1.fep127, false},
                                   {"f32", 32, 23, -126, 0x1.fffffep127, false},
                                   {"f64", 64, 52, -1022, std::numeric_limits<double>::max(), false},
                                   {"e4m3", 8, 3, -6, 448, true},
                                   {"e5m2", 8, 2, -14, 57344, true}};

// e4m3 has no infinities: the largest exponent has numbers, and one NaN.
bool is_finite_only(const FloatFormat& format) { return format.name == "e4m3"; }

std::uint64_t fraction_mask(const FloatFormat& format) { return (std::uint64_t{1} << format.fraction) - 1; }
std::uint64_t exponent_mask(const FloatFormat& format) {
    return (std::uint64_t{1} << (format.bits - 1 - format.fraction)) - 1;
}
std::uint64_t nan_bits(const FloatFormat& format) {
    const std::uint64_t fraction =
        is_finite_only(format) ? fraction_mask(format) : std::uint64_t{1} << (format.fraction - 1);
    return exponent_mask(format) << format.fraction | fraction;
}

}  // namespace

const FloatFormat* find_format(std::string_view name) {
    const auto found =
        std::find_if(std::begin(formats), std::end(formats), [&](const auto& f) { return f.name == name; });
    return found == std::end(formats) ? nullptr : found;
}

double rounded(double value, const FloatFormat& to) {
    if (!std::isfinite(value) || value == 0) return value;
    const int exponent = std::max(std::ilogb(value), to.least_exponent) - to.fraction;
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
    if (std::abs(result) <= to.most) return result;
    return std::copysign(to.saturates ? to.most : std::numeric_limits<double>::infinity(), value);
}

std::uint64_t encode(double value, const FloatFormat& to) {
    const std::uint64_t sign = std::uint64_t{std::signbit(value)} << (to.bits - 1);
    if (std::isnan(value)) return sign | nan_bits(to);
    double size = std::abs(rounded(value, to));
    if (std::isinf(size) && is_finite_only(to)) size = to.most;
    if (std::isinf(size)) return sign | exponent_mask(to) << to.fraction;
    if (size == 0) return sign;
    // Subnormal numbers have the exponent of the smallest normal one; the leading one of the others adds one
    // to theirs.
    const int exponent = std::max(std::ilogb(size), to.least_exponent);
    const auto significand = static_cast<std::uint64_t>(std::ldexp(size, to.fraction - exponent));
    return sign | ((static_cast<std::uint64_t>(exponent - to.least_exponent) << to.fraction) + significand);
}

double decode(std::uint64_t bits, const FloatFormat& from) {
    const std::uint64_t exponent = bits >> from.fraction & exponent_mask(from),
                        fraction = bits & fraction_mask(from);
    const double sign = (bits >> (from.bits - 1) & 1) != 0 ? -1 : 1;
    if (exponent == exponent_mask(from) && !is_finite_only(from))
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (exponent == exponent_mask(from) && fraction == fraction_mask(from))
        return std::numeric_limits<double>::quiet_NaN();
    const std::uint64_t significand = fraction + (exponent == 0 ? 0 : std::uint64_t{1} << from.fraction);
    const int power = std::max(static_cast<int>(exponent), 1) - 1 + from.least_exponent - from.fraction;
    return sign * std::ldexp(static_cast<double>(significand), power);
}

}  // namespace ptxgraft::array
