#pragma once
/// @file values.hpp
/// What stands at a place of a launch file: the kind, range or name that is right there, or an error at that
/// place that says what would be (Errc::launch_file_invalid).

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "array/npy.hpp"
#include "array/scalar.hpp"
#include "json/values.hpp"
#include "ptxgraft/emulator.hpp"

namespace ptxgraft::cli {

using namespace array;
using namespace json;

/// One to three extents: `[4, 4, 1]`.
[[nodiscard]] Expected<Dim3> extents_of(const JsonValue& value, std::string_view name);
/// A power of two, at most 2^20.
[[nodiscard]] Expected<std::uint64_t> alignment_of(const JsonValue& value);

/// `"f32"`.
[[nodiscard]] Expected<const ElementType*> element_type(const JsonValue& value);
/// One number of a type. Numbers that JSON cannot spell are strings: "nan", "0x80", "0f3F800000". `key` is
/// the member's.
[[nodiscard]] Expected<std::vector<std::byte>> scalar_of(const JsonValue& value, const ElementType& type,
                                                         std::string_view key);
/// Numbers of a type in a list, or in lists of lists that are all as long as each other.
struct NumberList {
    std::vector<std::byte> bytes;
    std::vector<std::uint64_t> shape;
};
[[nodiscard]] Expected<NumberList> number_list(const JsonValue& list, const ElementType& type,
                                               std::string_view key);
}  // namespace ptxgraft::cli
