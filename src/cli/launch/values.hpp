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

#include "cli/json.hpp"
#include "cli/npy.hpp"
#include "cli/scalar.hpp"
#include "ptxgraft/emulator.hpp"

namespace ptxgraft::cli {

[[nodiscard]] tl::unexpected<Error> mistake(Span span, std::string why);

template <class T> tl::unexpected<Error> passed(const Expected<T>& failed) {
    return tl::unexpected(failed.error());
}

[[nodiscard]] Expected<void> check_kind(const JsonValue& value, JsonKind kind, std::string_view name);
/// Every key of an object is one of these.
[[nodiscard]] Expected<void> check_keys(const JsonValue& object, std::string_view name,
                                        std::initializer_list<std::string_view> keys);

[[nodiscard]] Expected<std::uint64_t> whole_number(const JsonValue& value, std::string_view name,
                                                   std::uint64_t least, std::uint64_t most);
[[nodiscard]] Expected<std::vector<std::uint64_t>> whole_numbers(const JsonValue& value,
                                                                 std::string_view name, std::uint64_t least,
                                                                 std::uint64_t most);
/// One to three extents: `[4, 4, 1]`.
[[nodiscard]] Expected<Dim3> extents_of(const JsonValue& value, std::string_view name);
/// A power of two, at most 2^20.
[[nodiscard]] Expected<std::uint64_t> alignment_of(const JsonValue& value);

/// The number of one of these names.
[[nodiscard]] Expected<std::size_t> name_of(const JsonValue& value, std::string_view name,
                                            std::span<const std::string_view> names);
template <class Enumeration>
Expected<Enumeration> choice(const JsonValue& value, std::string_view name,
                             std::span<const std::string_view> names) {
    const auto found = name_of(value, name, names);
    if (!found) return passed(found);
    return static_cast<Enumeration>(*found);
}

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
/// A finite number from 0 on.
[[nodiscard]] Expected<double> distance_of(const JsonValue& value);

}  // namespace ptxgraft::cli
