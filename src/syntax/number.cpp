// Integers and floats as PTX spells them (PTX ISA 4.5).

#include <bit>
#include <charconv>

#include "ptxgraft/syntax.hpp"
#include "syntax/number.hpp"

namespace ptxgraft::syntax {
namespace {

std::uint32_t digit_value(char c) {
    if (c >= '0' && c <= '9') return static_cast<std::uint32_t>(c - '0');
    const char lower = static_cast<char>(c | 0x20);
    return lower >= 'a' && lower <= 'f' ? static_cast<std::uint32_t>(lower - 'a' + 10) : 16;
}

bool starts_with(std::string_view text, char lower_letter) {
    return text.size() > 2 && text[0] == '0' && (text[1] | 0x20) == lower_letter;
}

std::string_view without_sign(std::string_view text, bool& negative) {
    negative = !text.empty() && text.front() == '-';
    if (negative || (!text.empty() && text.front() == '+')) text.remove_prefix(1);
    while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
    return text;
}

}  // namespace

std::optional<std::uint64_t> digits_value(std::string_view digits, std::uint32_t base) {
    if (digits.empty()) return std::nullopt;
    std::uint64_t value = 0;
    for (char c : digits) {
        const std::uint32_t digit = digit_value(c);
        if (digit >= base || value > (~std::uint64_t{0} - digit) / base) return std::nullopt;
        value = value * base + digit;
    }
    return value;
}

namespace {

// A decimal number of so few digits that it has a place in 64 bits, as most are; nothing for others.
std::optional<std::uint64_t> short_decimal(std::string_view text) {
    constexpr std::size_t most_digits = 18;
    if (text.empty() || text.size() > most_digits || (text.size() > 1 && text[0] == '0')) return std::nullopt;
    std::uint64_t value = 0;
    for (const char c : text) {
        const auto digit = static_cast<unsigned char>(c - '0');
        if (digit > 9) return std::nullopt;
        value = 10 * value + digit;
    }
    return value;
}

}  // namespace

std::optional<std::uint64_t> parse_integer(std::string_view text) {
    if (const auto value = short_decimal(text)) return value;
    bool negative = false;
    text = without_sign(text, negative);
    if (!text.empty() && text.back() == 'U') text.remove_suffix(1);
    std::optional<std::uint64_t> value;
    if (starts_with(text, 'x')) {
        value = digits_value(text.substr(2), 16);
    } else if (starts_with(text, 'b')) {
        value = digits_value(text.substr(2), 2);
    } else {
        value = digits_value(text, text.size() > 1 && text[0] == '0' ? 8 : 10);
    }
    if (value && negative) value = 0 - *value;
    return value;
}

std::optional<FloatBits> parse_float(std::string_view text) {
    bool negative = false;
    text = without_sign(text, negative);
    if (starts_with(text, 'f')) {
        const auto bits = text.size() == 10 ? digits_value(text.substr(2), 16) : std::nullopt;
        if (!bits) return std::nullopt;
        return FloatBits{*bits ^ (negative ? 0x80000000u : 0u), false};
    }
    const std::uint64_t sign = negative ? 1ull << 63 : 0;
    if (starts_with(text, 'd')) {
        const auto bits = text.size() == 18 ? digits_value(text.substr(2), 16) : std::nullopt;
        if (!bits) return std::nullopt;
        return FloatBits{*bits ^ sign, true};
    }
    double value = 0;
    if (text.empty() || text.find_first_not_of("0123456789.eE+-") != std::string_view::npos)
        return std::nullopt;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
    return FloatBits{std::bit_cast<std::uint64_t>(value) ^ sign, true};
}

}  // namespace ptxgraft::syntax
