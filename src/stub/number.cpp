// Numbers, to the bit.

#include "stub/number.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace ptxgraft {
namespace {

std::size_t skip_digits(std::string_view word, std::size_t at) {
    while (at < word.size() && is_digit(word[at])) ++at;
    return at;
}

std::size_t skip_exponent(std::string_view word, std::size_t at) {
    if (at >= word.size() || (word[at] != 'e' && word[at] != 'E')) return at;
    const std::size_t sign = at + 1 < word.size() && (word[at + 1] == '-' || word[at + 1] == '+') ? 1 : 0;
    const std::size_t end = skip_digits(word, at + 1 + sign);
    return end > at + 1 + sign ? end : at;
}

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

}  // namespace

std::optional<std::uint64_t> whole_number(std::string_view digits, int base) {
    std::uint64_t value = 0;
    const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, base);
    const bool is_whole = code == std::errc() && stop == digits.data() + digits.size();
    return is_whole ? std::optional(value) : std::nullopt;
}

DecimalParts decimal_parts(std::string_view word, std::size_t begin) {
    const std::size_t whole = skip_digits(word, begin);
    const std::size_t mantissa =
        whole < word.size() && word[whole] == '.' ? skip_digits(word, whole + 1) : whole;
    return {whole, mantissa, skip_exponent(word, mantissa)};
}

std::optional<std::uint64_t> hex_float_bits(std::string_view word) {
    const char kind = word.size() > 2 && word[0] == '0' ? static_cast<char>(word[1] | 0x20) : ' ';
    if (kind == 'f' ? word.size() != 10 : kind != 'd' || word.size() != 18) return std::nullopt;
    return whole_number(word.substr(2), 16);
}

// Rounded to odd first, so that the second rounding is that of the decimal itself.
std::optional<std::uint32_t> half_from_decimal(std::string_view number, const arithmetic::Format& format) {
    double value = 0;
    if (std::from_chars(number.data(), number.data() + number.size(), value).ec != std::errc())
        return std::nullopt;
    if (value == 0) return 0;
    const double odd = arithmetic::to_odd(value, compare(number, value));
    const std::uint32_t bits = arithmetic::round_to(format, odd, arithmetic::Rounding::rn);
    return bits == 0 || bits == format.infinity ? std::nullopt : std::optional(bits);
}

std::string half_to_decimal(std::uint32_t bits, const arithmetic::Format& format) {
    const double value = arithmetic::value_of(format, bits & 0x7FFF);
    std::string text = "0.0";
    for (int precision = 1; value != 0 && precision <= 9; ++precision) {
        text = fmt::format("{:.{}g}", value, precision);
        if (half_from_decimal(text, format) == (bits & 0x7FFF)) break;
    }
    if (text.find_first_of(".e") == std::string::npos) text += ".0";
    return (bits & 0x8000) != 0 ? "-" + text : text;
}

namespace stack {

std::optional<std::uint32_t> payload_of(std::uint64_t bits, TypeId base) {
    auto payload = static_cast<std::uint32_t>(bits);
    if (base == type_id(Type::f64)) {
        const auto value = std::bit_cast<double>(bits);
        if (std::isnan(value)) return std::nullopt;  // a conversion would make another NaN
        payload = std::bit_cast<std::uint32_t>(static_cast<float>(value));
    }
    return widened(base, payload) == bits ? std::optional(payload) : std::nullopt;
}

std::optional<std::uint64_t> bits_of(std::uint32_t payload, TypeId base) {
    const std::uint64_t bits = widened(base, payload);
    return payload_of(bits, base) == payload ? std::optional(bits) : std::nullopt;
}

}  // namespace stack
}  // namespace ptxgraft
