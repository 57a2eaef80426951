// Numbers, lists and extents of a launch file, with their errors.

#include "cli/launch/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <limits>

namespace ptxgraft::cli {

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

}  // namespace ptxgraft::cli
