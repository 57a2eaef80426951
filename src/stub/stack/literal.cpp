// Literals: `1.5` f32, `7` u32, `-7` s32, `0x1F` u32, `7s32`, `1f32`, `0f3F800000`.

#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "stub/stack/text.hpp"

namespace ptxgraft::stack {
namespace {

constexpr std::array type_words = {
    std::string_view("pred"), std::string_view("b16"),    std::string_view("b32"), std::string_view("b64"),
    std::string_view("u16"),  std::string_view("u32"),    std::string_view("u64"), std::string_view("s16"),
    std::string_view("s32"),  std::string_view("s64"),    std::string_view("f16"), std::string_view("f16x2"),
    std::string_view("bf16"), std::string_view("bf16x2"), std::string_view("f32"), std::string_view("f64")};

bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The parts of a literal: [sign] number [type].
struct Parts {
    bool is_negative = false, is_real = false;
    int base = 10;
    std::string_view number;  // digits, and for reals point and exponent
    std::string_view suffix;
};

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

Parts split(std::string_view word) {
    Parts parts;
    parts.is_negative = word.starts_with('-');
    if (parts.is_negative) word.remove_prefix(1);
    if (word.starts_with("0x") || word.starts_with("0X")) {
        parts.base = 16;
        const std::size_t end = std::min(word.find_first_not_of("0123456789abcdefABCDEF", 2), word.size());
        parts.number = word.substr(2, end - 2);
        parts.suffix = word.substr(end);
        return parts;
    }
    std::size_t end = skip_digits(word, 0);
    if (end < word.size() && word[end] == '.') {
        parts.is_real = true;
        end = skip_digits(word, end + 1);
    }
    const std::size_t exponent = skip_exponent(word, end);
    parts.is_real |= exponent != end;
    parts.number = word.substr(0, exponent);
    parts.suffix = word.substr(exponent);
    return parts;
}

Instruction constant(Type type, std::uint32_t bits) {
    return {Opcode::constant, static_cast<std::uint8_t>(type), 0, bits};
}

tl::unexpected<Error> out_of_range(std::string_view word, Span place, std::string_view range) {
    return fail(Errc::stack_literal_out_of_range, place, fmt::format("{} ({})", word, range));
}

Expected<Instruction> hex_float(std::string_view word, Span place) {
    std::uint32_t bits = 0;
    const auto end = word.data() + word.size();
    const auto [stop, code] = std::from_chars(word.data() + 2, end, bits, 16);
    if (code != std::errc() || stop != end || word.size() != 10)
        return fail(Errc::stack_literal_malformed, place,
                    fmt::format("{}: 0f takes 8 hexadecimal digits, as in 0f3F800000", word));
    return constant(Type::f32, bits);
}

Expected<Instruction> real(std::string_view word, const Parts& parts, Span place) {
    float value = 0;
    const auto end = parts.number.data() + parts.number.size();
    const auto [stop, code] = std::from_chars(parts.number.data(), end, value);
    if (code == std::errc::result_out_of_range)
        return out_of_range(word, place, "f32 reaches from 1.4e-45 to 3.4028235e38; inf is a word");
    if (code != std::errc() || stop != end) return fail(Errc::stack_literal_malformed, place);
    return constant(Type::f32, std::bit_cast<std::uint32_t>(parts.is_negative ? -value : value));
}

Expected<Instruction> integer(std::string_view word, const Parts& parts, Type type, Span place) {
    const bool is_signed = type == Type::s32;
    const std::string_view range = is_signed ? "s32 holds -2147483648 to 2147483647"
                                   : parts.is_negative
                                       ? "u32 holds 0 to 4294967295; a negative literal is s32"
                                       : "u32 holds 0 to 4294967295";
    std::uint64_t value = 0;
    const auto end = parts.number.data() + parts.number.size();
    const auto [stop, code] = std::from_chars(parts.number.data(), end, value, parts.base);
    if (code == std::errc::result_out_of_range) return out_of_range(word, place, range);
    if (code != std::errc() || stop != end) return fail(Errc::stack_literal_malformed, place);
    const std::uint64_t limit = !is_signed ? 0xFFFFFFFFu : parts.is_negative ? 0x80000000u : 0x7FFFFFFFu;
    if (value > limit || (!is_signed && parts.is_negative)) return out_of_range(word, place, range);
    const auto bits = static_cast<std::uint32_t>(value);
    return constant(type, parts.is_negative ? 0u - bits : bits);
}

Expected<Type> type_of(std::string_view word, const Parts& parts, Span place) {
    if (parts.suffix.empty()) return parts.is_real ? Type::f32 : parts.is_negative ? Type::s32 : Type::u32;
    if (parts.suffix == "U" && !parts.is_real && !parts.is_negative) return Type::u32;
    const auto type = find_type(parts.suffix);
    if (!type)
        return fail(Errc::stack_literal_malformed, place,
                    fmt::format("{}: {} is no type; a literal is 1.5, 7, -7, 7s32, 1f32, 0x1F or 0f3F800000",
                                word, parts.suffix));
    if (*type == Type::u32 || *type == Type::s32 || *type == Type::f32 || *type == Type::b32) return *type;
    return fail(Errc::stack_type_unsupported, place,
                fmt::format("{} literals are not part of the stack language: it has u32, s32, f32 and b32, "
                            "and true and false",
                            parts.suffix));
}

}  // namespace

std::optional<Type> find_type(std::string_view name) {
    for (std::size_t i = 0; i < type_words.size(); ++i)
        if (type_words[i] == name) return static_cast<Type>(i);
    return std::nullopt;
}

Expected<Instruction> parse_literal(std::string_view word, Span place) {
    if (word.starts_with("0f") || word.starts_with("0F")) return hex_float(word, place);
    if (word.starts_with("0d") || word.starts_with("0D"))
        return fail(Errc::stack_type_unsupported, place,
                    "f64 literals are not part of the stack language: it has u32, s32, f32 and b32");
    const Parts parts = split(word);
    const auto type = type_of(word, parts, place);
    if (!type) return tl::unexpected(type.error());
    if (parts.number.empty() || parts.number == ".") return fail(Errc::stack_literal_malformed, place);
    if (*type == Type::f32 && parts.base == 10) return real(word, parts, place);
    if (*type == Type::f32 || parts.is_real)
        return fail(Errc::stack_literal_malformed, place,
                    fmt::format("{}: {} is not an integer", word, parts.is_real ? parts.number : word));
    // 017 is 15 in PTX and 17 to most readers
    if (parts.base == 10 && parts.number.size() > 1 && parts.number[0] == '0')
        return fail(Errc::stack_literal_malformed, place,
                    fmt::format("{}: an integer does not start with 0", word));
    return integer(word, parts, *type, place);
}

std::optional<std::string> print_literal(const Instruction& constant) {
    const std::uint32_t bits = constant.payload;
    switch (static_cast<Type>(constant.type)) {
        case Type::pred:
            return bits > 1 ? std::nullopt : std::optional<std::string>(bits == 1 ? "true" : "false");
        case Type::u32:
            return fmt::format("{}", bits);
        case Type::b32:
            return fmt::format("{}b32", bits);
        case Type::s32:
            return bits >= 0x80000000u ? fmt::format("{}", static_cast<std::int32_t>(bits))
                                       : fmt::format("{}s32", bits);
        case Type::f32:
            break;
        default:
            return std::nullopt;
    }
    const auto value = std::bit_cast<float>(bits);
    if (!std::isfinite(value)) return fmt::format("0f{:08X}", bits);
    char buffer[64];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    std::string text(buffer, end);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

}  // namespace ptxgraft::stack
