// Values of a launch file as bytes: arguments, and what buffers are made of. Structs are laid out as C does
// it on the GPU's ABI, which is that of the host: every scalar at a multiple of its size, tensor maps at a
// multiple of 128 (cuda.h of CUDA 13), a struct's size a multiple of its alignment.

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "cli/launch/reader.hpp"

namespace ptxgraft::cli {
namespace {

constexpr std::uint64_t map_bytes = 128, address_bytes = 8;
constexpr std::string_view placing[] = {"offset", "align"};

std::uint64_t aligned(std::uint64_t at, std::uint64_t alignment) {
    return (at + alignment - 1) / alignment * alignment;
}

tl::unexpected<Error> too_large(Span span) {
    return mistake(span, fmt::format("this is larger than the {} MiB that a struct or an array may have; a "
                                     "longer buffer comes from a file",
                                     most_layout_bytes >> 20));
}

bool is_kind(std::string_view key) {
    return key == "buffer" || key == "tensormap" || key == "bytes" || key == "struct" || key == "array" ||
           find_type(key) != nullptr;
}
std::string kinds() { return fmt::format("buffer, tensormap, bytes, {}, struct, array", type_names()); }

// The member that says what a value is; the object has no other key but `also`.
Expected<const JsonValue*> kind_of(const JsonValue& object, std::string_view what,
                                   std::span<const std::string_view> also) {
    if (object.kind != JsonKind::object || object.items.empty())
        return mistake(
            object.span,
            fmt::format("{} is an object of its kind and value, such as {{\"u32\": 64}}; kinds are {}", what,
                        kinds()));
    const auto is_also = [&](const JsonValue& member) {
        return std::find(also.begin(), also.end(), member.key) != also.end();
    };
    const auto kind = std::find_if(object.items.begin(), object.items.end(),
                                   [](const JsonValue& member) { return is_kind(member.key); });
    if (kind == object.items.end()) {
        const auto unknown = std::find_if_not(object.items.begin(), object.items.end(), is_also);
        const JsonValue& shown = unknown == object.items.end() ? object.items[0] : *unknown;
        const std::string_view noun = what.substr(what.find(' ') + 1);
        return mistake(shown.key_span,
                       fmt::format("unknown kind of {} \"{}\"; kinds are {}", noun, shown.key, kinds()));
    }
    return &*kind;
}

Expected<void> check_others(const JsonValue& object, const JsonValue& kind, std::string_view what,
                            std::span<const std::string_view> own, std::span<const std::string_view> also) {
    for (const JsonValue& member : object.items) {
        const auto has = [&](std::span<const std::string_view> keys) {
            return std::find(keys.begin(), keys.end(), member.key) != keys.end();
        };
        if (&member == &kind || has(own) || has(also)) continue;
        std::vector<std::string_view> all(own.begin(), own.end());
        all.insert(all.end(), also.begin(), also.end());
        if (all.empty())
            return mistake(member.key_span,
                           fmt::format("{} of kind \"{}\" has no other key", what, kind.key));
        return mistake(member.key_span, fmt::format("unknown key \"{}\"; {} of kind \"{}\" has also {}",
                                                    member.key, what, kind.key, fmt::join(all, ", ")));
    }
    return {};
}

}  // namespace

void Layout::append(const Layout& part, std::uint64_t at) {
    value.bytes.resize(at);
    for (PlannedPlace place : part.value.places) {
        place.at += at;
        value.places.push_back(place);
    }
    value.bytes.insert(value.bytes.end(), part.value.bytes.begin(), part.value.bytes.end());
}

Expected<PlannedArgument> LaunchReader::argument(const JsonValue& given) {
    auto layout = value(given, "an argument", {});
    if (!layout) return passed(layout);
    return PlannedArgument{std::move(layout->text), layout->nature, std::move(layout->value),
                           given.items[0].key_span};
}

Expected<Layout> LaunchReader::value(const JsonValue& object, std::string_view what,
                                     std::span<const std::string_view> also) {
    const auto kind = kind_of(object, what, also);
    if (!kind) return passed(kind);
    const JsonValue& given = **kind;
    constexpr std::string_view of_structs[] = {"size"}, of_arrays[] = {"repeat"};
    const std::span<const std::string_view> own =
        given.key == "struct"  ? std::span<const std::string_view>(of_structs)
        : given.key == "array" ? std::span<const std::string_view>(of_arrays)
                               : std::span<const std::string_view>();
    if (given.key == "buffer") return address(object, also);
    if (auto done = check_others(object, given, what, own, also); !done) return passed(done);
    if (given.key == "tensormap") return tensor_map_place(given);
    if (given.key == "struct") return structure(object, given);
    if (given.key == "array") return array(object, given);
    if (const ElementType* type = find_type(given.key)) return scalar(given, *type);
    if (given.kind != JsonKind::string)
        return mistake(given.span, fmt::format("\"{}\" is a string of hexadecimal digits, not {}", given.key,
                                               noun(given.kind)));
    auto bytes = hex_bytes(given.text);
    if (!bytes) return mistake(given.span, message(bytes.error()));
    return Layout{.value = {std::move(*bytes)}, .text = fmt::format("bytes={}", given.text)};
}

// One number, or a list of them as an array.
Expected<Layout> LaunchReader::scalar(const JsonValue& given, const ElementType& type) {
    if (given.kind == JsonKind::array) {
        auto list = number_list(given, type, given.key);
        if (!list) return passed(list);
        return Layout{.value = {std::move(list->bytes)},
                      .alignment = type.bytes,
                      .text = fmt::format("{}=[…]", given.key)};
    }
    auto bytes = scalar_of(given, type, given.key);
    if (!bytes) return passed(bytes);
    return Layout{.value = {std::move(*bytes)},
                  .alignment = type.bytes,
                  .nature = nature_of(type),
                  .text = fmt::format("{}={}", given.key, given.text)};
}

// An address, or `count` of them, each `stride` bytes behind the one before. In a struct `offset` is still
// the buffer's: where the address stands, an element {"offset": …} before it says.
Expected<Layout> LaunchReader::address(const JsonValue& object, std::span<const std::string_view> also) {
    const bool may_align = std::find(also.begin(), also.end(), "align") != also.end();
    if (auto done = may_align ? check_keys(object, "a value with a buffer",
                                           {"buffer", "offset", "count", "stride", "align"})
                              : check_keys(object, "an argument with a buffer",
                                           {"buffer", "offset", "count", "stride"});
        !done)
        return passed(done);
    const JsonValue &name = *object.find("buffer"), *const offset = object.find("offset"),
                    *const count = object.find("count"), *const stride = object.find("stride");
    const auto buffer = buffer_named(name);
    if (!buffer) return passed(buffer);
    constexpr std::uint64_t most = std::numeric_limits<std::int64_t>::max();
    const auto first =
        offset == nullptr ? Expected<std::uint64_t>(0) : whole_number(*offset, "offset", 0, most);
    const auto addresses = count == nullptr
                               ? Expected<std::uint64_t>(1)
                               : whole_number(*count, "count", 1, most_layout_bytes / address_bytes);
    const auto step = stride == nullptr ? Expected<std::uint64_t>(0)
                                        : whole_number(*stride, "stride", 0, std::uint64_t{1} << 40);
    for (const auto* one : {&first, &addresses, &step})
        if (!*one) return passed(*one);
    if (stride != nullptr && count == nullptr)
        return mistake(stride->key_span, "a \"stride\" needs \"count\"");
    const JsonValue& shown = stride != nullptr ? *stride : offset != nullptr ? *offset : name;
    Layout result{.alignment = address_bytes,
                  .nature = *addresses == 1 ? Nature::address : Nature::bits,
                  .text = plan_.buffers[*buffer].text};
    result.value.bytes.resize(*addresses * address_bytes);
    for (std::uint64_t i = 0; i < *addresses; ++i)
        result.value.places.push_back(
            {.at = i * address_bytes, .buffer = *buffer, .offset = *first + i * *step, .span = shown.span});
    return result;
}

Expected<Layout> LaunchReader::tensor_map_place(const JsonValue& map) {
    if (auto done = check_keys(map, "tensormap",
                               {"buffer", "offset", "type", "dims", "strides", "box", "im2col",
                                "element_strides", "swizzle", "interleave", "l2", "fill"});
        !done)
        return passed(done);
    const JsonValue *const name = map.find("buffer"), *const offset = map.find("offset");
    if (name == nullptr) return mistake(map.span, fmt::format("\"{}\" needs \"buffer\"", map.key));
    const auto buffer = buffer_named(*name);
    if (!buffer) return passed(buffer);
    const auto first = offset == nullptr
                           ? Expected<std::uint64_t>(0)
                           : whole_number(*offset, "offset", 0, std::numeric_limits<std::int64_t>::max());
    if (!first) return passed(first);
    Layout result{.alignment = map_bytes, .nature = Nature::address, .text = "tensormap"};
    result.value.bytes.resize(map_bytes);
    result.value.places = {{.buffer = *buffer,
                            .offset = *first,
                            .map = static_cast<std::uint32_t>(maps_.size()),
                            .span = map.key_span}};
    maps_.push_back(&map);
    return result;
}

// ------------------------------------------------------------------------------------------------- structs

Expected<Layout> LaunchReader::structure(const JsonValue& object, const JsonValue& fields) {
    if (auto done = check_kind(fields, JsonKind::array, fields.key); !done) return passed(done);
    Layout result{.text = "struct"};
    for (const JsonValue& one : fields.items)
        if (auto done = field(one, result); !done) return passed(done);
    std::uint64_t size = aligned(result.size(), result.alignment);
    if (const JsonValue* const given = object.find("size")) {
        const auto bytes = whole_number(*given, "size", result.size(), most_layout_bytes);
        if (!bytes) return passed(bytes);
        size = *bytes;
    }
    if (size > most_layout_bytes) return too_large(fields.span);
    result.value.bytes.resize(size);
    return result;
}

Expected<void> LaunchReader::field(const JsonValue& value_or_place, Layout& structure) {
    const JsonValue& given = value_or_place;
    const bool is_place =
        given.kind == JsonKind::object && given.items.size() == 1 &&
        (given.items[0].key == "offset" || given.items[0].key == "align" || given.items[0].key == "pad");
    const JsonValue* const offset = given.find("offset");
    const JsonValue* const align = given.find("align");
    const bool has_position = offset != nullptr && given.find("buffer") == nullptr;
    Layout part;
    if (!is_place) {
        auto made = value(given, "a field", placing);
        if (!made) return passed(made);
        part = std::move(*made);
    }
    if (align != nullptr) {
        const auto bytes = alignment_of(*align);
        if (!bytes) return passed(bytes);
        part.alignment = *bytes;
    }
    std::uint64_t at = has_position ? structure.size() : aligned(structure.size(), part.alignment);
    if (has_position) {
        const auto bytes = whole_number(*offset, "offset", structure.size(), most_layout_bytes);
        if (!bytes) return passed(bytes);
        at = *bytes;
    }
    if (const JsonValue* const pad = is_place ? given.find("pad") : nullptr) {
        const auto bytes = whole_number(*pad, "pad", 0, most_layout_bytes);
        if (!bytes) return passed(bytes);
        at += *bytes;
    }
    if (at + part.size() > most_layout_bytes) return too_large(given.span);
    structure.append(part, at);
    structure.alignment = std::max(structure.alignment, part.alignment);
    return {};
}

// Elements of one size, one behind the other, and all of them again where they are repeated.
Expected<Layout> LaunchReader::array(const JsonValue& object, const JsonValue& elements) {
    if (auto done = check_kind(elements, JsonKind::array, elements.key); !done) return passed(done);
    Layout once{.text = "array"};
    std::uint64_t size = 0;
    for (const JsonValue& element : elements.items) {
        const auto one = value(element, "an element", {});
        if (!one) return passed(one);
        if (&element != elements.items.data() && one->size() != size)
            return mistake(
                element.span,
                fmt::format(
                    "this element has {} bytes, the first one {}; elements of several sizes are a struct",
                    one->size(), size));
        size = one->size();
        if (once.size() + size > most_layout_bytes) return too_large(elements.span);
        once.append(*one, once.size());
        once.alignment = std::max(once.alignment, one->alignment);
    }
    const JsonValue* const repeat = object.find("repeat");
    if (repeat == nullptr) return once;
    const auto count = whole_number(*repeat, "repeat", 1, most_layout_bytes);
    if (!count) return passed(count);
    if (once.size() * *count > most_layout_bytes) return too_large(repeat->span);
    Layout result{.alignment = once.alignment, .text = once.text};
    for (std::uint64_t i = 0; i < *count && once.size() != 0; ++i) result.append(once, result.size());
    return result;
}

}  // namespace ptxgraft::cli
