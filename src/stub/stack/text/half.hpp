#pragma once
// f16 and bf16 as decimals, rounded once: to nearest, ties to even.

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace ptxgraft::stack {

struct HalfFormat {
    int exponent_bits, mantissa_bits;
};
inline constexpr HalfFormat f16_format = {5, 10}, bf16_format = {8, 7};

/// The bits of an unsigned decimal (`1.5`, `.5e-3`); nothing where it rounds to infinity, or to 0 without
/// being 0.
[[nodiscard]] std::optional<std::uint16_t> half_from_decimal(std::string_view number, HalfFormat format);
/// The shortest decimal that reads back, of a finite value.
[[nodiscard]] std::string half_to_decimal(std::uint16_t bits, HalfFormat format);

}  // namespace ptxgraft::stack
