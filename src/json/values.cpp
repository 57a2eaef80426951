// Kinds, keys, names and whole numbers of a JSON file, with their errors.

#include "json/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "array/scalar.hpp"

namespace ptxgraft::json {

using array::magnitude;

tl::unexpected<Error> mistake(Span span, std::string why) {
    return fail(Errc::launch_file_invalid, span, std::move(why));
}

Expected<void> check_kind(const JsonValue& value, JsonKind kind, std::string_view name) {
    if (value.kind == kind) return {};
    return mistake(value.span, fmt::format("\"{}\" is {}, not {}", name, noun(kind), noun(value.kind)));
}

Expected<void> check_keys(const JsonValue& object, std::string_view name,
                          std::initializer_list<std::string_view> keys) {
    if (auto done = check_kind(object, JsonKind::object, name); !done) return done;
    for (const JsonValue& member : object.items)
        if (std::find(keys.begin(), keys.end(), member.key) == keys.end())
            return mistake(member.key_span, fmt::format("unknown key \"{}\"; \"{}\" has {}", member.key, name,
                                                        fmt::join(keys, ", ")));
    return {};
}

Expected<std::uint64_t> whole_number(const JsonValue& value, std::string_view name, std::uint64_t least,
                                     std::uint64_t most) {
    const auto result = value.kind == JsonKind::number ? magnitude(value.text) : std::nullopt;
    if (result && *result >= least && *result <= most) return *result;
    return mistake(value.span,
                   fmt::format("\"{}\" is a whole number from {} to {}, not {}", name, least, most,
                               value.kind == JsonKind::number ? value.text : std::string(noun(value.kind))));
}

Expected<std::vector<std::uint64_t>> whole_numbers(const JsonValue& value, std::string_view name,
                                                   std::uint64_t least, std::uint64_t most) {
    if (auto done = check_kind(value, JsonKind::array, name); !done) return passed(done);
    std::vector<std::uint64_t> result;
    for (const JsonValue& item : value.items) {
        const auto one = whole_number(item, name, least, most);
        if (!one) return passed(one);
        result.push_back(*one);
    }
    return result;
}

Expected<std::size_t> name_of(const JsonValue& value, std::string_view name,
                              std::span<const std::string_view> names) {
    const auto found =
        value.kind == JsonKind::string ? std::find(names.begin(), names.end(), value.text) : names.end();
    if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
    return mistake(value.span, fmt::format("\"{}\" is one of {}, not {}", name, fmt::join(names, ", "),
                                           value.kind == JsonKind::string ? fmt::format("\"{}\"", value.text)
                                                                          : std::string(noun(value.kind))));
}

Expected<std::string> text_of(const JsonValue& value, std::string_view name) {
    if (auto done = check_kind(value, JsonKind::string, name); !done) return passed(done);
    return value.text;
}

Expected<double> real_number(const JsonValue& value, std::string_view name) {
    double number = 0;
    const char* const end = value.text.data() + value.text.size();
    if (value.kind == JsonKind::number && std::from_chars(value.text.data(), end, number).ptr == end)
        return number;
    return mistake(value.span, fmt::format("\"{}\" is a number, not {}", name, noun(value.kind)));
}

Expected<const JsonValue*> needed(const JsonValue& object, std::string_view key) {
    const JsonValue* const value = object.find(key);
    if (value == nullptr) return mistake(object.span, fmt::format("it needs \"{}\"", key));
    return value;
}

Expected<double> distance_of(const JsonValue& value) {
    double result = -1;
    const char* const end = value.text.data() + value.text.size();
    const bool is_number =
        value.kind == JsonKind::number && std::from_chars(value.text.data(), end, result).ptr == end;
    if (is_number && result >= 0 && std::isfinite(result)) return result;
    return mistake(value.span, fmt::format("\"{}\" is a number from 0 on", value.key));
}

}  // namespace ptxgraft::json
