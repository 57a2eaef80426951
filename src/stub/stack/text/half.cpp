// Decimal literals of f16 and bf16, rounded to nearest even.

#include "stub/stack/text/half.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptxgraft::stack {
namespace {

// A decimal as 0.DIGITS * 10^exponent, without zeros at either end of the digits.
struct Decimal {
    std::string digits;
    std::int64_t exponent = 0;
};

Decimal normalised(std::string_view number) {
    Decimal result;
    const std::size_t mark = std::min(number.find_first_of("eE"), number.size());
    const std::string_view mantissa = number.substr(0, mark);
    if (mark < number.size()) {
        std::string_view power = number.substr(mark + 1);
        if (power.starts_with('+')) power.remove_prefix(1);
        std::from_chars(power.data(), power.data() + power.size(), result.exponent);
    }
    const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
    result.digits.append(mantissa, 0, point);
    if (point < mantissa.size()) result.digits.append(mantissa, point + 1);
    const std::size_t zeros = std::min(result.digits.find_first_not_of('0'), result.digits.size());
    result.exponent += static_cast<std::int64_t>(point) - static_cast<std::int64_t>(zeros);
    result.digits.erase(0, zeros);
    result.digits.erase(result.digits.find_last_not_of('0') + 1);
    return result;
}

// The sign of a decimal minus a double, exactly.
int compare(std::string_view number, double value) {
    char buffer[900];  // a double has at most 767 digits
    const auto end =
        std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::scientific, 780).ptr;
    const Decimal a = normalised(number), b = normalised({buffer, static_cast<std::size_t>(end - buffer)});
    if (a.exponent != b.exponent) return a.exponent < b.exponent ? -1 : 1;
    return a.digits.compare(b.digits);
}

double value_of(std::uint16_t bits, HalfFormat format) {
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    const int exponent = (bits >> format.mantissa_bits) & ((1 << format.exponent_bits) - 1);
    const int mantissa =
        (bits & ((1 << format.mantissa_bits) - 1)) | (exponent == 0 ? 0 : 1 << format.mantissa_bits);
    const double size = std::ldexp(mantissa, std::max(exponent, 1) - bias - format.mantissa_bits);
    return (bits & 0x8000) != 0 ? -size : size;
}

}  // namespace

std::optional<std::uint16_t> half_from_decimal(std::string_view number, HalfFormat format) {
    double value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
        return std::nullopt;
    if (value == 0) return std::uint16_t{0};
    const int bias = (1 << (format.exponent_bits - 1)) - 1;
    // subnormals have the exponent of the smallest normal number; a carry out of the mantissa goes into the
    // exponent
    const int exponent = std::max(std::ilogb(value), 1 - bias);
    if (exponent > bias) return std::nullopt;
    const double scaled = std::ldexp(value, format.mantissa_bits - exponent), whole = std::floor(scaled),
                 rest = scaled - whole;
    auto mantissa = static_cast<std::uint32_t>(whole);
    // Rounding to double first is harmless unless it hits the middle: then the decimal itself decides.
    const int side = rest == 0.5 ? compare(number, value) : rest > 0.5 ? 1 : -1;
    if (side > 0 || (side == 0 && mantissa % 2 != 0)) ++mantissa;
    const std::uint32_t bits =
        (static_cast<std::uint32_t>(exponent + bias - 1) << format.mantissa_bits) + mantissa;
    const std::uint32_t infinity = ((1u << format.exponent_bits) - 1) << format.mantissa_bits;
    if (bits == 0 || bits >= infinity) return std::nullopt;
    return static_cast<std::uint16_t>(bits);
}

std::string half_to_decimal(std::uint16_t bits, HalfFormat format) {
    const double value = value_of(bits & 0x7FFF, format);
    std::string text = "0.0";
    for (int precision = 1; value != 0 && precision <= 9; ++precision) {
        text = fmt::format("{:.{}g}", value, precision);
        if (half_from_decimal(text, format) == static_cast<std::uint16_t>(bits & 0x7FFF)) break;
    }
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return (bits & 0x8000) != 0 ? "-" + text : text;
}

}  // namespace ptxgraft::stack
