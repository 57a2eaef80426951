#pragma once
// Digits to values.

#include <cstdint>
#include <optional>
#include <string_view>

namespace ptxgraft::syntax {

/// The value of digits of a base up to 16; nothing for no digits, other characters or more than 64 bits.
/// (std::from_chars of libstdc++ 12 misses the overflow of 0x10000000000000000.)
[[nodiscard]] std::optional<std::uint64_t> digits_value(std::string_view digits, std::uint32_t base);

}  // namespace ptxgraft::syntax
