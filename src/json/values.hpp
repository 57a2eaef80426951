#pragma once
/// @file values.hpp
/// What stands at a place of a JSON file: the kind, range or name that is right there, or an error at that
/// place that says what would be (Errc::launch_file_invalid; who reads another kind of file gives its own).

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "json/tree.hpp"

namespace ptxgraft::json {

[[nodiscard]] tl::unexpected<Error> mistake(Span span, std::string why);

template <class T> tl::unexpected<Error> passed(const Expected<T>& failed) {
    return tl::unexpected(failed.error());
}

/// What was made of a text that stands in a file; an error brings that text, under that name.
template <class T> Expected<T> within(Expected<T> made, std::string name, std::string text) {
    if (!made && !made.error().source) {
        Error error = made.error();
        error.source = std::make_shared<const SourceText>(SourceText{std::move(name), std::move(text)});
        return tl::unexpected(std::move(error));
    }
    return made;
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

[[nodiscard]] Expected<std::string> text_of(const JsonValue& value, std::string_view name);
/// Any number.
[[nodiscard]] Expected<double> real_number(const JsonValue& value, std::string_view name);
/// The member of a key that must be there.
[[nodiscard]] Expected<const JsonValue*> needed(const JsonValue& object, std::string_view key);

/// A finite number from 0 on.
[[nodiscard]] Expected<double> distance_of(const JsonValue& value);

}  // namespace ptxgraft::json
