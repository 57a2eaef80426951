// Numbers, lists and extents of a launch file, with their errors.

#include "cli/launch/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace ptxgraft::cli {

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

Expected<Dim3> extents_of(const JsonValue& value, std::string_view name) {
    const auto extents = whole_numbers(value, name, 1, std::numeric_limits<std::uint32_t>::max());
    if (!extents) return passed(extents);
    if (extents->empty() || extents->size() > 3)
        return mistake(value.span,
                       fmt::format("\"{}\" has {} numbers; it has one to three, such as [4, 4, 1]", name,
                                   extents->size()));
    Dim3 result;
    std::uint32_t* const axes[] = {&result.x, &result.y, &result.z};
    for (std::size_t i = 0; i < extents->size(); ++i) *axes[i] = static_cast<std::uint32_t>((*extents)[i]);
    return result;
}

Expected<std::uint64_t> alignment_of(const JsonValue& value) {
    constexpr std::uint64_t most = std::uint64_t{1} << 20;
    const auto bytes = whole_number(value, value.key, 1, most);
    if (!bytes || std::has_single_bit(*bytes)) return bytes;
    return mistake(value.span, fmt::format("\"{}\" is a power of two, not {}", value.key, *bytes));
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

Expected<const ElementType*> element_type(const JsonValue& value) {
    const ElementType* const type = value.kind == JsonKind::string ? find_type(value.text) : nullptr;
    if (type != nullptr) return type;
    return mistake(value.span,
                   fmt::format("\"{}\" is one of {}, not {}", value.key, type_names(),
                               value.kind == JsonKind::string ? value.text : std::string(noun(value.kind))));
}

Expected<std::vector<std::byte>> scalar_of(const JsonValue& value, const ElementType& type,
                                           std::string_view key) {
    const bool fits = value.kind == JsonKind::string || value.kind == JsonKind::number ||
                      (type.family == 'p' && value.kind == JsonKind::boolean);
    if (!fits)
        return mistake(value.span,
                       fmt::format("\"{}\" is a number or a string with one, not {}", key, noun(value.kind)));
    auto bytes = scalar_bytes(type, value.text);
    if (!bytes) return mistake(value.span, message(bytes.error()));
    return bytes;
}

namespace {

Expected<void> collect(const JsonValue& value, const ElementType& type, std::string_view key,
                       std::size_t depth, NumberList& to) {
    const bool is_list = value.kind == JsonKind::array;
    if (depth == to.shape.size() && !is_list) {
        const auto bytes = scalar_of(value, type, key);
        if (!bytes) return passed(bytes);
        to.bytes.insert(to.bytes.end(), bytes->begin(), bytes->end());
        return {};
    }
    if (depth == to.shape.size() || !is_list)
        return mistake(value.span,
                       fmt::format("\"{}\" has {} here and {} before", key, is_list ? "a list" : "a number",
                                   is_list ? "a number" : "a list"));
    if (value.items.size() != to.shape[depth])
        return mistake(value.span, fmt::format("this list of \"{}\" has {} elements, the first one {}", key,
                                               value.items.size(), to.shape[depth]));
    for (const JsonValue& item : value.items)
        if (auto done = collect(item, type, key, depth + 1, to); !done) return done;
    return {};
}

}  // namespace

Expected<NumberList> number_list(const JsonValue& list, const ElementType& type, std::string_view key) {
    if (auto done = check_kind(list, JsonKind::array, key); !done) return passed(done);
    NumberList result;
    for (const JsonValue* first = &list; first != nullptr && first->kind == JsonKind::array;
         first = first->items.empty() ? nullptr : first->items.data())
        result.shape.push_back(first->items.size());
    if (auto done = collect(list, type, key, 0, result); !done) return passed(done);
    return result;
}

Expected<double> distance_of(const JsonValue& value) {
    double result = -1;
    const char* const end = value.text.data() + value.text.size();
    const bool is_number =
        value.kind == JsonKind::number && std::from_chars(value.text.data(), end, result).ptr == end;
    if (is_number && result >= 0 && std::isfinite(result)) return result;
    return mistake(value.span, fmt::format("\"{}\" is a number from 0 on", value.key));
}

}  // namespace ptxgraft::cli
