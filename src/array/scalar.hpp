#pragma once
/// @file scalar.hpp
/// Types of elements and scalars as the command line and launch files name them, and the bytes of values
/// written out.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::array {

/// A type. What NumPy has no type for is carried as its bits: bf16 as u16, e4m3 and e5m2 as u8.
struct ElementType {
    std::string_view name;
    std::uint32_t bytes;
    char family;  ///< 'u' unsigned, 's' signed, 'f' floating, 'b' bits, 'p' predicate
    std::string_view dtype;
};
/// The type of that name, or null.
[[nodiscard]] const ElementType* find_type(std::string_view name);
/// All names, with blanks between.
[[nodiscard]] std::string type_names();

/// A number (magnitude in base 10, or 16 after 0x, or 2 after 0b) or a predicate as the type's bytes.
[[nodiscard]] Expected<std::vector<std::byte>> scalar_bytes(const ElementType& type, std::string_view text);
/// Two hexadecimal digits a byte.
[[nodiscard]] Expected<std::vector<std::byte>> hex_bytes(std::string_view text);
/// The whole of `text` as an unsigned number.
[[nodiscard]] std::optional<std::uint64_t> magnitude(std::string_view text);

}  // namespace ptxgraft::array
