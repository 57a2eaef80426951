// Literals: `1.5` f32, `7` u32, `-7` s32, `0x1F` u32, `7s32`, `1f64`, `0f3F800000`, `0x3C003C00f16x2`,
// `inff64`.

#include "stub/stack/text/literal.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>

#include "stub/number.hpp"
#include "stub/set/data.hpp"

namespace ptxgraft::stack {
namespace {

bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

constexpr TypeId id(Type type) { return type_id(type); }
bool is_half(TypeId base) { return base == id(Type::f16) || base == id(Type::bf16); }
bool is_pair(TypeId base) { return base == id(Type::f16x2) || base == id(Type::bf16x2); }
bool is_signed(TypeId base) {
    return base == id(Type::s16) || base == id(Type::s32) || base == id(Type::s64);
}
bool is_float(TypeId base) { return base == id(Type::f32) || base == id(Type::f64) || is_half(base); }

const arithmetic::Format& format_of(TypeId base) {
    return base == id(Type::f16) ? arithmetic::f16_format : arithmetic::bf16_format;
}

// The bits of inf and of PTX's canonical NaN (PTX ISA 9.7.3.1, 9.7.4.1), for the types that have them.
struct Specials {
    TypeId base;
    std::uint64_t infinity, nan, sign;
};
constexpr std::array specials = {
    Specials{id(Type::f32), 0x7F800000, 0x7FFFFFFF, 0x80000000},
    Specials{id(Type::f64), 0x7FF0000000000000, 0x7FFFFFFFFFFFFFFF, 0x8000000000000000},
    Specials{id(Type::f16), 0x7C00, 0x7FFF, 0x8000},
    Specials{id(Type::bf16), 0x7F80, 0x7FFF, 0x8000},
};
const Specials* specials_of(TypeId base) {
    const auto at =
        std::find_if(specials.begin(), specials.end(), [&](const Specials& s) { return s.base == base; });
    return at == specials.end() ? nullptr : &*at;
}

// A literal in the making.
struct Reading {
    std::string_view word;
    Span place;
    const InstructionSet& set;

    [[nodiscard]] tl::unexpected<Error> malformed(std::string_view why) const {
        return fail(Errc::stack_literal_malformed, place, fmt::format("{}: {}", word.substr(0, 60), why));
    }
    [[nodiscard]] tl::unexpected<Error> out_of_range(std::string_view range) const {
        return fail(Errc::stack_literal_out_of_range, place,
                    fmt::format("{} ({})", word.substr(0, 60), range));
    }

    [[nodiscard]] Expected<TypeId> type_of(std::string_view suffix) const {
        if (const TypeId type = set.find_type(suffix); type != max_types) return type;
        return malformed(
            fmt::format("{} is no type; a literal is 1.5, 7, -7, 7s32, 1f64, 0x1F, 0f3F800000 or 0xFFb32",
                        suffix.substr(0, 40)));
    }

    [[nodiscard]] Expected<Constant> hex() const;
    [[nodiscard]] Expected<Constant> decimal() const;
    [[nodiscard]] Expected<Constant> real(std::string_view number, TypeId type, TypeId base,
                                          bool is_negative) const;
    [[nodiscard]] Expected<Constant> integer(std::string_view digits, int radix, TypeId type, TypeId base,
                                             bool is_negative) const;
    [[nodiscard]] std::string range_of(TypeId base) const;
};

// Types whose names are hexadecimal digits: behind 0x… they are a suffix where they are written in lower
// case.
constexpr std::array<std::string_view, 9> hex_suffixes = {"bf16", "b128", "b16", "b32", "b64",
                                                          "f16",  "f32",  "f64", "b8"};

// Where the suffix of a word that begins with 0x starts. `0xabf16` could be 0xA bf16 or 0xABF16: the digits
// say it only where their letters are upper case.
std::size_t hex_end(std::string_view word, bool& is_ambiguous) {
    const std::size_t end =
        static_cast<std::size_t>(std::find_if_not(word.begin() + 2, word.end(), is_hex_digit) - word.begin());
    if (end != word.size() && word.substr(end) != "x2") return end;
    for (const std::string_view suffix : hex_suffixes) {
        if (!word.substr(0, end).ends_with(suffix) || end - suffix.size() < 2) continue;
        const std::size_t digits = end - suffix.size();
        is_ambiguous = end == word.size() &&
                       std::any_of(word.begin() + 2, word.begin() + static_cast<std::ptrdiff_t>(digits),
                                   [](char c) { return c >= 'a'; });
        return digits;
    }
    return end;
}

Expected<Constant> Reading::hex() const {
    bool is_ambiguous = false;
    const std::size_t end = hex_end(word, is_ambiguous);
    const std::string_view digits = word.substr(2, end - 2), suffix = word.substr(end);
    if (is_ambiguous) {
        std::string upper(digits);
        std::transform(upper.begin(), upper.end(), upper.begin(),
                       [](char c) { return static_cast<char>(c >= 'a' ? c - 32 : c); });
        return malformed(
            fmt::format("is {} a type? Write the digits in upper case: 0x{}{}", suffix, upper, suffix));
    }
    if (digits.empty()) return malformed("0x takes hexadecimal digits");
    if (suffix.empty() || suffix == "U") return integer(digits, 16, id(Type::u32), id(Type::u32), false);
    const auto type = TRY(type_of(suffix));
    const TypeId base = base_of(type, set);
    if (base == id(Type::f32)) return malformed("the bits of an f32 are written 0f3F800000");
    if (base == id(Type::f64)) return malformed("the bits of an f64 are written 0d3FF0000000000000");
    return integer(digits, 16, type, base, false);
}

Expected<Constant> Reading::decimal() const {
    const bool is_negative = word[0] == '-';
    const std::size_t begin = is_negative ? 1 : 0;
    const DecimalParts parts = decimal_parts(word, begin);
    const bool is_real = parts.is_fraction();
    const std::string_view number = word.substr(begin, parts.end - begin), suffix = word.substr(parts.end);
    if (parts.mantissa - begin == (parts.mantissa != parts.whole ? 1u : 0u))
        return malformed("a literal is 1.5, 7, -7, 7s32, 1f64, 0x1F or 0f3F800000");
    // 017 is 15 in PTX and 17 to most readers
    if (!is_real && number.size() > 1 && number[0] == '0')
        return malformed("an integer does not start with 0");
    if (suffix.empty()) {
        const TypeId type = id(is_real ? Type::f32 : is_negative ? Type::s32 : Type::u32);
        return is_real ? real(number, type, type, is_negative) : integer(number, 10, type, type, is_negative);
    }
    if (suffix == "U" && !is_real && !is_negative)
        return integer(number, 10, id(Type::u32), id(Type::u32), false);
    const auto type = TRY(type_of(suffix));
    const TypeId base = base_of(type, set);
    if (is_float(base)) return real(number, type, base, is_negative);
    if (base == id(Type::pred)) return malformed("the constants of pred are true and false");
    if (is_pair(base)) return malformed(fmt::format("write the bits of both, as in 0x3C003C00{}", suffix));
    if (is_real) return malformed(fmt::format("{} is not an integer, as {} wants it", number, suffix));
    return integer(number, 10, type, base, is_negative);
}

std::string Reading::range_of(TypeId base) const {
    if (base == id(Type::f32)) return "f32 reaches from 1.4e-45 to 3.4028235e38; inf is a word";
    if (base == id(Type::f64)) return "f64 reaches from 4.9e-324 to 1.797693134862315e308; inff64 is a word";
    if (base == id(Type::f16)) return "f16 reaches from 6e-8 to 65504; inff16 is a word";
    if (base == id(Type::bf16)) return "bf16 reaches from 9.2e-41 to 3.39e38; infbf16 is a word";
    const std::uint32_t width = std::min(width_of(base), 64u);
    const std::string_view name = set.type_name(base);
    const std::uint64_t most = ~std::uint64_t{0} >> (64 - width);
    if (is_signed(base)) return fmt::format("{} holds -{} to {}", name, most / 2 + 1, most / 2);
    const std::string_view hint =
        base == id(Type::u32) ? "; a negative literal is s32, a longer one is written 7u64" : "";
    if (base == type_b128) return fmt::format("a literal of b128 holds 0 to {}", most);
    return is_pair(base) ? fmt::format("{} has 32 bits", name)
                         : fmt::format("{} holds 0 to {}{}", name, most, hint);
}

Expected<Constant> Reading::integer(std::string_view digits, int radix, TypeId type, TypeId base,
                                    bool is_negative) const {
    if (base == id(Type::pred)) return malformed("the constants of pred are true and false");
    std::uint64_t value = 0;
    const auto [stop, code] = std::from_chars(digits.data(), digits.data() + digits.size(), value, radix);
    if (code == std::errc::result_out_of_range) return out_of_range(range_of(base));
    const std::uint32_t width = std::min(width_of(base), 64u);
    const std::uint64_t mask = ~std::uint64_t{0} >> (64 - width);
    const std::uint64_t most = is_signed(base) ? mask / 2 + (is_negative ? 1 : 0) : is_negative ? 0 : mask;
    if (value > most || (is_negative && !is_signed(base))) return out_of_range(range_of(base));
    return Constant{type, (is_negative ? 0 - value : value) & mask};
}

Expected<Constant> Reading::real(std::string_view number, TypeId type, TypeId base, bool is_negative) const {
    const auto read = [&](auto value, auto bits) -> Expected<Constant> {
        const auto code = std::from_chars(number.data(), number.data() + number.size(), value).ec;
        if (code != std::errc()) return out_of_range(range_of(base));
        return Constant{type, std::bit_cast<decltype(bits)>(is_negative ? -value : value)};
    };
    if (base == id(Type::f32)) return read(float{}, std::uint32_t{});
    if (base == id(Type::f64)) return read(double{}, std::uint64_t{});
    const auto bits = half_from_decimal(number, format_of(base));
    if (!bits) return out_of_range(range_of(base));
    return Constant{type, *bits | (is_negative ? 0x8000u : 0u)};
}

// `inf`, `-inf`, `nan`, with a suffix; `true`, `false`.
std::optional<Constant> named(std::string_view word, const InstructionSet& set) {
    if (word == "true") return Constant{id(Type::pred), 1};
    if (word == "false") return Constant{id(Type::pred), 0};
    const bool is_negative = word.starts_with('-');
    if (is_negative) word.remove_prefix(1);
    const bool is_infinity = word.starts_with("inf");
    if (!is_infinity && (is_negative || !word.starts_with("nan"))) return std::nullopt;
    const std::string_view suffix = word.substr(3);
    const TypeId type = suffix.empty() ? id(Type::f32) : set.find_type(suffix);
    const Specials* special = type == max_types ? nullptr : specials_of(base_of(type, set));
    if (special == nullptr) return std::nullopt;
    return Constant{type,
                    (is_infinity ? special->infinity : special->nan) | (is_negative ? special->sign : 0)};
}

template <class T> std::string shortest(T value) {
    char buffer[64];
    std::string text(buffer, std::to_chars(buffer, buffer + sizeof buffer, value).ptr);
    return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string print_real(const Constant& constant, TypeId base, std::string_view suffix) {
    const Specials& special = *specials_of(base);
    if (constant.bits == special.infinity) return fmt::format("inf{}", suffix);
    if (constant.bits == (special.infinity | special.sign)) return fmt::format("-inf{}", suffix);
    if (constant.bits == special.nan) return fmt::format("nan{}", suffix);
    const bool is_finite = (constant.bits & special.infinity) != special.infinity;
    if (base == id(Type::f32)) {
        if (!is_finite) return suffix.empty() ? fmt::format("0f{:08X}", constant.bits) : "";
        return shortest(std::bit_cast<float>(static_cast<std::uint32_t>(constant.bits))).append(suffix);
    }
    if (base == id(Type::f64)) {
        if (!is_finite) return suffix == "f64" ? fmt::format("0d{:016X}", constant.bits) : "";
        return shortest(std::bit_cast<double>(constant.bits)).append(suffix);
    }
    if (!is_finite) return fmt::format("0x{:04X}{}", constant.bits, suffix);
    return half_to_decimal(static_cast<std::uint32_t>(constant.bits), format_of(base)).append(suffix);
}

}  // namespace

TypeId base_of(TypeId type, const InstructionSet& set) { return SetData::of(set).base_of(type); }

std::uint32_t width_of(TypeId base) {
    if (base == type_b8) return 8;
    return base == type_b128 ? 128 : bits(static_cast<Type>(base));
}

bool is_literal_word(std::string_view word, const InstructionSet& set) {
    return named(word, set).has_value();
}

Expected<Constant> parse_literal(std::string_view word, Span place, const InstructionSet& set) {
    const Reading reading{word, place, set};
    const char first = word[word[0] == '-' && word.size() > 1 ? 1 : 0];
    if (!is_digit(first) && first != '.') {
        if (const auto constant = named(word, set)) return *constant;
        return reading.malformed(
            "a literal is 1.5, 7, -7, 7s32, 1f64, 0x1F, 0f3F800000, inf, nan, true or false");
    }
    if (first == '0' && word.size() > 2) {
        if (const auto bits = hex_float_bits(word))
            return Constant{id(word.size() == 10 ? Type::f32 : Type::f64), *bits};
        const char kind = static_cast<char>(word[1] | 0x20);
        if (kind == 'x') return reading.hex();
        if ((kind == 'f' || kind == 'd') && set.find_type(word.substr(1)) == max_types)
            return reading.malformed("0f takes 8 hexadecimal digits, as in 0f3F800000, 0d takes 16");
        if (word.starts_with("-0x") || word.starts_with("-0X"))
            return reading.malformed("a hexadecimal literal has no sign; write -1s32 or 0xFFFFFFFF");
        if (word[0] == '-' && hex_float_bits(word.substr(1)))
            return reading.malformed("bits have no sign: it is the first of them");
    }
    return reading.decimal();
}

std::string print_literal(const Constant& constant, const InstructionSet& set) {
    const TypeId base = base_of(constant.type, set);
    const std::string_view name = set.type_name(constant.type);
    if (base == id(Type::pred)) return constant.type != base ? "" : constant.bits != 0 ? "true" : "false";
    if (is_float(base)) return print_real(constant, base, constant.type == id(Type::f32) ? "" : name);
    if (is_pair(base)) return fmt::format("0x{:08X}{}", constant.bits, name);
    if (!is_signed(base))
        return fmt::format("{}{}", constant.bits, constant.type == id(Type::u32) ? "" : name);
    const auto shift = 64 - width_of(base);
    const std::int64_t value = static_cast<std::int64_t>(constant.bits << shift) >> shift;
    return fmt::format("{}{}", value, constant.type == id(Type::s32) && value < 0 ? "" : name);
}

}  // namespace ptxgraft::stack
