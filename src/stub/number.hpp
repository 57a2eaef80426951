#pragma once
// What numbers are made of in stack programs and in expressions, and the constants that they become.

#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "arithmetic/rounding.hpp"
#include "ptxgraft/set.hpp"

namespace ptxgraft {

constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// A number of digits alone, of at most 64 bits.
[[nodiscard]] std::optional<std::uint64_t> whole_number(std::string_view digits, int base = 10);

/// Where the parts of a decimal number end that stands in a word: `12.5e-3f32`.
struct DecimalParts {
    std::size_t whole, mantissa, end;
    [[nodiscard]] bool is_fraction() const { return end != whole; }
};
[[nodiscard]] DecimalParts decimal_parts(std::string_view word, std::size_t begin);

/// `0f3F800000`, `0d3FF0000000000000` (PTX ISA 4.5.2): the bits.
[[nodiscard]] std::optional<std::uint64_t> hex_float_bits(std::string_view word);

/// The bits of f16 or bf16 of an unsigned decimal (`1.5`, `.5e-3`), rounded once: to nearest, ties to even;
/// nothing where it rounds to infinity, or to 0 without being 0.
[[nodiscard]] std::optional<std::uint32_t> half_from_decimal(std::string_view number,
                                                             const arithmetic::Format& format);
/// The shortest decimal that reads back, of a finite value.
[[nodiscard]] std::string half_to_decimal(std::uint32_t bits, const arithmetic::Format& format);

namespace stack {

/// The value that Opcode::constant pushes with a payload, of a type whose PTX type is `base`.
inline std::uint64_t widened(TypeId base, std::uint32_t payload) {
    switch (static_cast<Type>(base)) {
        case Type::pred: return payload & 1;
        case Type::b16:
        case Type::u16:
        case Type::s16:
        case Type::f16:
        case Type::bf16: return payload & 0xFFFF;
        case Type::s64:
            return static_cast<std::uint64_t>(static_cast<std::int64_t>(static_cast<std::int32_t>(payload)));
        case Type::f64:
            return std::bit_cast<std::uint64_t>(static_cast<double>(std::bit_cast<float>(payload)));
        default: return payload;
    }
}

/// The payload of Opcode::constant that pushes a value; nothing where only the pool can hold it.
[[nodiscard]] std::optional<std::uint32_t> payload_of(std::uint64_t bits, TypeId base);
/// The value that Opcode::constant pushes; nothing where the payload has more bits than the type.
[[nodiscard]] std::optional<std::uint64_t> bits_of(std::uint32_t payload, TypeId base);

}  // namespace stack
}  // namespace ptxgraft
