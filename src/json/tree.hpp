#pragma once
/// @file tree.hpp
/// JSON as a tree whose values know where they stand, so that every mistake in a file can be shown.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/error.hpp"

namespace ptxgraft::json {

enum class JsonKind : std::uint8_t { null, boolean, number, string, array, object };

/// A value. Members of objects are values with a key.
struct JsonValue {
    JsonKind kind = JsonKind::null;
    std::string key;
    Span key_span;
    Span span;                     ///< of an array or object: its bracket
    std::string text;              ///< of a string: what it says; of others: as written
    std::vector<JsonValue> items;  ///< of arrays and objects

    /// The member of that key, or null.
    [[nodiscard]] const JsonValue* find(std::string_view name) const;
};

/// What a value is, for messages: "a number".
[[nodiscard]] std::string_view noun(JsonKind kind);

/// Reads a whole text. Errors, with their place: Errc::launch_file_invalid, also for a key that stands twice.
[[nodiscard]] Expected<JsonValue> parse_json(std::string_view text);

}  // namespace ptxgraft::json
