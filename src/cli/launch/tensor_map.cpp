// Tensor maps of a launch file. What a map does not say, its buffer does.

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>

#include "cli/launch/reader.hpp"
#include "tensor/words.hpp"

namespace ptxgraft::cli {
namespace {

using tensor::bits_of, tensor::dense_strides;

TensorType tensor_type_of(const ElementType& type) {
    constexpr std::pair<std::string_view, TensorType> rows[] = {
        {"u2", TensorType::u16}, {"i2", TensorType::u16}, {"u4", TensorType::u32},
        {"i4", TensorType::s32}, {"u8", TensorType::u64}, {"i8", TensorType::s64},
        {"f2", TensorType::f16}, {"f4", TensorType::f32}, {"f8", TensorType::f64}};
    if (type.name == "bf16") return TensorType::bf16;
    for (const auto& [name, tensor_type] : rows)
        if (type.dtype.ends_with(name)) return tensor_type;
    return TensorType::u8;
}

bool fits(const TensorMapOptions& options, std::uint64_t bytes) {
    const std::uint64_t bits = bits_of(options.type);
    if (options.dims.empty() || options.dims[0] * bits / 8 > bytes) return options.dims.empty();
    bytes -= options.dims[0] * bits / 8;
    for (std::size_t i = 1; i < options.dims.size() && i <= options.strides.size(); ++i) {
        const std::uint64_t stride = options.strides[i - 1],
                            steps = std::max<std::uint64_t>(options.dims[i], 1) - 1;
        if (stride != 0 && steps > bytes / stride) return false;
        bytes -= steps * stride;
    }
    return true;
}

Expected<void> check_size(const TensorMapOptions& options, Span span, std::uint64_t bytes,
                          std::string_view buffer) {
    if (fits(options, bytes)) return {};
    return mistake(
        span, fmt::format("a tensor of [{}] with strides of [{}] bytes is larger than the {} bytes of {}",
                          fmt::join(options.dims, ", "), fmt::join(options.strides, ", "), bytes, buffer));
}

// The lists that the map has.
struct Lists {
    std::vector<std::uint64_t> dims, strides, box, element_strides;
};
Expected<Lists> lists_of(const JsonValue& map) {
    // Wider than any that is right: which are, is for the encoding.
    constexpr std::uint64_t wide = std::uint64_t{1} << 40, narrow = std::numeric_limits<std::uint32_t>::max();
    Lists result;
    const std::tuple<const char*, std::vector<std::uint64_t>*, std::uint64_t> rows[] = {
        {"dims", &result.dims, wide},
        {"strides", &result.strides, wide},
        {"box", &result.box, narrow},
        {"element_strides", &result.element_strides, narrow}};
    for (const auto& [key, target, most] : rows) {
        const JsonValue* value = map.find(key);
        if (value == nullptr) continue;
        auto given = whole_numbers(*value, key, 0, most);
        if (!given) return passed(given);
        *target = std::move(*given);
    }
    const bool has_box = map.find("box") != nullptr;
    if (const JsonValue* mode = map.find("im2col"); mode != nullptr && has_box)
        return mistake(mode->span, "\"tensormap\" has \"box\" or \"im2col\", not both");
    else if (mode == nullptr && !has_box)
        return mistake(map.span, "\"tensormap\" needs \"box\"");
    return result;
}

Expected<std::vector<std::int32_t>> corner_of(const JsonValue& mode, std::string_view key) {
    const auto list = needed(mode, key);
    if (!list) return passed(list);
    if (auto done = check_kind(**list, JsonKind::array, key); !done) return passed(done);
    std::vector<std::int32_t> corner;
    for (const JsonValue& item : (*list)->items) {
        const auto value = real_number(item, key);
        if (!value) return passed(value);
        constexpr double most = std::numeric_limits<std::int16_t>::max();  // wider than any that is right
        if (*value != std::floor(*value) || *value < -most || *value > most)
            return mistake(item.span,
                           fmt::format("\"{}\" has whole numbers from {} to {}", key, -most, most));
        corner.push_back(static_cast<std::int32_t>(*value));
    }
    return corner;
}
// The im2col mode, which a map may have in place of a box.
Expected<void> read_im2col(const JsonValue& map, TensorMapOptions& options) {
    const JsonValue* const mode = map.find("im2col");
    if (mode == nullptr) return {};
    if (auto done = check_kind(*mode, JsonKind::object, "im2col"); !done) return passed(done);
    if (auto done = check_keys(*mode, "im2col",
                               {"lower_corner", "upper_corner", "channels_per_pixel", "pixels_per_column"});
        !done)
        return passed(done);
    options.im2col.emplace();
    for (const auto& [key, target] : {std::pair{"lower_corner", &options.im2col->lower_corner},
                                      {"upper_corner", &options.im2col->upper_corner}}) {
        auto corner = corner_of(*mode, key);
        if (!corner) return passed(corner);
        *target = std::move(*corner);
    }
    for (const auto& [key, target] : {std::pair{"channels_per_pixel", &options.im2col->channels_per_pixel},
                                      {"pixels_per_column", &options.im2col->pixels_per_column}}) {
        const auto value = needed(*mode, key);
        if (!value) return passed(value);
        const auto count = whole_number(**value, key, 0, std::numeric_limits<std::uint32_t>::max());
        if (!count) return passed(count);
        *target = static_cast<std::uint32_t>(*count);
    }
    return {};
}

// Dims, strides and the box. Dims and strides that are not given are the array's.
Expected<void> lay_out(const JsonValue& map, const PlannedBuffer& buffer, TensorMapOptions& options) {
    auto lists = lists_of(map);
    if (!lists) return passed(lists);
    const std::uint64_t bits = bits_of(options.type), element_bits = std::uint64_t{buffer.type.bytes} * 8;
    const std::vector<std::uint64_t> whole(buffer.array.shape.rbegin(), buffer.array.shape.rend());
    options.dims = std::move(lists->dims);
    options.strides = std::move(lists->strides);
    if (map.find("dims") == nullptr) {
        if (!buffer.has_shape)
            return mistake(map.span, fmt::format("{} has no \"shape\": \"dims\" must be given", buffer.text));
        if (element_bits != bits)
            return mistake(map.span,
                           fmt::format("elements of {} have {} bits, those of {} {}: \"dims\" must be given",
                                       tensor::type_words[static_cast<unsigned>(options.type)], bits,
                                       buffer.text, element_bits));
        options.dims = whole;
    }
    if (map.find("strides") == nullptr)
        options.strides = options.dims.size() == whole.size() && buffer.has_shape
                              ? dense_strides(whole, element_bits)
                              : dense_strides(options.dims, bits);
    const auto narrowed = [](std::uint64_t value) { return static_cast<std::uint32_t>(value); };
    std::transform(lists->box.begin(), lists->box.end(), std::back_inserter(options.box), narrowed);
    std::transform(lists->element_strides.begin(), lists->element_strides.end(),
                   std::back_inserter(options.element_strides), narrowed);
    return {};
}

}  // namespace

Expected<TensorMapOptions> LaunchReader::tensor_map(const JsonValue& map, const PlannedPlace& place) const {
    const PlannedBuffer& buffer = plan_.buffers[place.buffer];
    TensorMapOptions options;
    options.type = tensor_type_of(buffer.type);
    const auto choose = [&](std::string_view key, auto& target,
                            std::span<const std::string_view> names) -> Expected<void> {
        const JsonValue* value = map.find(key);
        if (value == nullptr) return {};
        const auto chosen = choice<std::remove_reference_t<decltype(target)>>(*value, key, names);
        if (!chosen) return passed(chosen);
        target = *chosen;
        return {};
    };
    for (auto done : {choose("type", options.type, tensor::type_words),
                      choose("swizzle", options.swizzle, tensor::swizzle_words),
                      choose("interleave", options.interleave, tensor::interleave_words),
                      choose("l2", options.l2, tensor::promotion_words),
                      choose("fill", options.fill, tensor::fill_words)})
        if (!done) return passed(done);
    if (auto done = lay_out(map, buffer, options); !done) return passed(done);
    if (auto done = read_im2col(map, options); !done) return passed(done);
    if (!buffer.has_shape) return options;
    if (const JsonValue* offset = map.find("offset"))
        if (auto inside = whole_number(*offset, "offset", 0, buffer.bytes); !inside) return passed(inside);
    if (auto done = check_size(options, map.span, buffer.bytes - place.offset, buffer.text); !done)
        return passed(done);
    return options;
}

Expected<void> check_place(const PlannedPlace& place, const LaunchPlan& plan, std::uint64_t bytes) {
    const PlannedBuffer& buffer = plan.buffers[place.buffer];
    if (place.offset > bytes)
        return mistake(place.span,
                       fmt::format("\"offset\" is a whole number from 0 to {}, not {}: {} has {} bytes",
                                   bytes, place.offset, buffer.text, bytes));
    if (place.map == PlannedPlace::no_map) return {};
    return check_size(plan.maps[place.map], place.span, bytes - place.offset, buffer.text);
}

}  // namespace ptxgraft::cli
