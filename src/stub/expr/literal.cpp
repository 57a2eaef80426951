// Numbers: `1`, `0xFF`, `0b101`, `1.5`, `1e-3`, with a suffix that names the type (`7u64`, `1.5f16`, C's
// `1.5f` and `7u`), and PTX's hexadecimal floats `0f3F800000`, `0d3FF0000000000000`.

#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include "stub/expr/tree.hpp"
#include "stub/number.hpp"

namespace ptxgraft::expr {
namespace {

constexpr const char* malformed =
    "is no number; numbers are 1, 0xFF, 0b101, 1.5, 1e-3, with a type as suffix (7u64, 1.5f16), and "
    "0f3F800000";

// The digits of an integer; false where they have more than 64 bits.
bool integer(std::string_view digits, int base, Literal& literal) {
    const auto value = whole_number(digits, base);
    literal.magnitude = value.value_or(0);
    return value.has_value();
}

bool take_suffix(std::string_view suffix, NumberWord& number) {
    if (suffix.empty()) return true;
    if (suffix == "f" || suffix == "F")
        number.suffix = static_cast<std::size_t>(Type::f32);
    else if (suffix == "u" || suffix == "U")
        number.suffix = static_cast<std::size_t>(Type::u32);
    else
        number.suffix = find_type(suffix);
    return number.suffix != type_count && !has(pair_types | pred_type, static_cast<Type>(number.suffix));
}

NumberWord hex_float(std::uint64_t bits, Type type) {
    NumberWord number;
    number.literal.is_fraction = true;
    number.literal.bits_of = type;
    number.literal.magnitude = bits;
    number.suffix = static_cast<std::size_t>(type);
    return number;
}

NumberWord with_base(std::string_view word, int base) {
    NumberWord number;
    const char* const valid = base == 16 ? "0123456789abcdefABCDEF" : "01";
    const std::size_t end = std::min(word.find_first_not_of(valid, 2), word.size());
    number.literal.is_bits = true;
    if (end == 2 || !take_suffix(word.substr(end), number))
        number.problem = malformed;
    else if (!integer(word.substr(2, end - 2), base, number.literal))
        number.problem = "has more than 64 bits";
    return number;
}

NumberWord decimal(std::string_view word) {
    NumberWord number;
    const auto [whole, mantissa, end] = decimal_parts(word, 0);
    number.literal.is_fraction = end != whole;
    number.literal.digits = word.substr(0, end);
    if (end == 0 || !take_suffix(word.substr(end), number))
        number.problem = malformed;
    else if (!number.literal.is_fraction && whole > 1 && word[0] == '0')
        number.problem = "begins with 0: that is octal in C; write it without, or as 0x…";
    else if (!number.literal.is_fraction && !integer(word.substr(0, whole), 10, number.literal))
        number.problem = "has more than 64 bits";
    return number;
}

LiteralBits integer_bits(const Literal& literal, Type type) {
    const std::uint32_t width = bits(type);
    const std::uint64_t all = width == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << width) - 1;
    const std::uint64_t top = std::uint64_t{1} << (width - 1);
    const bool is_signed = has(signed_types, type);
    if (literal.is_fraction) return {0, "has a fraction"};
    const std::uint64_t limit = !is_signed            ? (literal.is_negative ? 0 : all)
                                : literal.is_negative ? top
                                : literal.is_bits     ? all
                                                      : top - 1;
    if (literal.magnitude > limit)
        return {0, !is_signed && literal.is_negative ? "is negative" : "is out of range"};
    return {(literal.is_negative ? 0 - literal.magnitude : literal.magnitude) & all, nullptr};
}

// A short decimal number: both parts of the quotient are exact, so that it is rounded once. False: the number
// is not short.
bool short_decimal(std::string_view digits, float& value) {
    constexpr std::size_t most = 8;  // with the point: 7 digits are below 2^24
    constexpr float powers[] = {1, 10, 100, 1e3f, 1e4f, 1e5f, 1e6f, 1e7f};
    if (digits.size() > most) return false;
    std::uint32_t whole = 0;
    std::size_t behind = 0, point = digits.size();
    for (std::size_t i = 0; i < digits.size(); ++i) {
        if (digits[i] == '.')
            point = i;
        else if (is_digit(digits[i]))
            whole = 10 * whole + static_cast<std::uint32_t>(digits[i] - '0');
        else
            return false;
    }
    if (point < digits.size())
        behind = digits.size() - point - 1;
    else if (digits.size() == most)
        return false;
    value = static_cast<float>(whole) / powers[behind];
    return true;
}

template <class T> LiteralBits decimal_bits(const Literal& literal, T& value) {
    const char* const end = literal.digits.data() + literal.digits.size();
    if (literal.digits.empty()) {
        value = static_cast<T>(literal.magnitude);
    } else if (std::from_chars(literal.digits.data(), end, value).ec == std::errc::result_out_of_range) {
        return {0, "is out of range"};
    }
    if (literal.is_negative) value = -value;
    return {};
}

// PTX's own NaN, which its arithmetic gives.
std::uint64_t canonical_nan(Type type) {
    switch (type) {
        case Type::f32: return 0x7FFFFFFF;
        case Type::f64: return 0x7FF8000000000000;
        case Type::f16x2:
        case Type::bf16x2: return 0x7FFF7FFF;
        default: return 0x7FFF;
    }
}

LiteralBits float_bits(const Literal& literal, Type type) {
    if (literal.bits_of == type) {
        const std::uint64_t sign = literal.is_negative ? std::uint64_t{1} << (bits(type) - 1) : 0;
        return {literal.magnitude ^ sign, nullptr};
    }
    if (literal.bits_of != Type::pred) return {0, "is of another type"};
    if (literal.digits == "nan") return {canonical_nan(type), nullptr};
    float single = 0;
    double wide = 0;
    if (type == Type::f32 && !literal.digits.empty() && short_decimal(literal.digits, single))
        return {std::bit_cast<std::uint32_t>(literal.is_negative ? -single : single), nullptr};
    const LiteralBits found = type == Type::f32 ? decimal_bits(literal, single) : decimal_bits(literal, wide);
    if (found.problem != nullptr) return found;
    if (type == Type::f32) return {std::bit_cast<std::uint32_t>(single), nullptr};
    if (type == Type::f64) return {std::bit_cast<std::uint64_t>(wide), nullptr};
    const bool is_f16 = type == Type::f16 || type == Type::f16x2;
    const arithmetic::Format& format = is_f16 ? arithmetic::f16_format : arithmetic::bf16_format;
    const std::uint64_t half = arithmetic::round_to(format, wide, arithmetic::Rounding::rn);
    if ((half & 0x7FFF) == format.infinity && !std::isinf(wide)) return {0, "is out of range"};
    return {type == Type::f16 || type == Type::bf16 ? half : half | half << 16, nullptr};
}

}  // namespace

NumberWord read_number(std::string_view word) {
    if (const auto bits = hex_float_bits(word))
        return hex_float(*bits, word.size() == 10 ? Type::f32 : Type::f64);
    const char second = word.size() > 1 && word[0] == '0' ? word[1] : '\0';
    if (second == 'x' || second == 'X') return with_base(word, 16);
    if (second == 'b' && word.size() > 2 && is_digit(word[2])) return with_base(word, 2);
    return decimal(word);
}

LiteralBits bits_of(const Literal& literal, Type type) {
    if (type == Type::pred) return {0, "is no pred; true and false are"};
    return has(integer_types, type) ? integer_bits(literal, type) : float_bits(literal, type);
}

}  // namespace ptxgraft::expr
