// Checks tensor maps by the rules of cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, encodes them in 128
// bytes, and decodes those.

#include "tensor/tensor_map.hpp"
#include "base/try.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>
#include <tuple>

namespace ptxgraft::tensor {
namespace {

constexpr std::uint64_t magic = 0x70614D726F536E54;  // "TnSorMap"; bit 21 is 0

// In the order of TensorType, with PTX's names.
constexpr TypeUnit units[] = {
    {1, 1, 1, false, "u8"},          {1, 2, 2, false, "u16"},    {1, 4, 4, false, "u32"},
    {1, 4, 4, false, "s32"},         {1, 8, 8, false, "u64"},    {1, 8, 8, false, "s64"},
    {1, 2, 2, true, "f16"},          {1, 4, 4, true, "f32"},     {1, 8, 8, true, "f64"},
    {1, 2, 2, true, "bf16"},         {1, 4, 4, true, "f32.ftz"}, {1, 4, 4, true, "tf32"},
    {1, 4, 4, true, "tf32.ftz"},     {2, 1, 1, false, "b4x16"},  {16, 8, 16, false, "b4x16_p64"},
    {16, 12, 16, false, "b6x16_p32"}};

constexpr std::string_view swizzle_names[] = {"none", "32B", "64B", "128B", "96B"};
constexpr std::uint32_t swizzle_spans[] = {0, 32, 64, 128, 96};

tl::unexpected<Error> wrong_map(std::string why) { return fail(Errc::tensor_map_invalid, std::move(why)); }

template <class Number>
Expected<void> in_range(std::string_view name, Number value, Number least, Number most) {
    if (value >= least && value <= most) return {};
    return wrong_map(fmt::format("{} is {}; it is {} to {}", name, value, least, most));
}

template <class Values, class Number>
Expected<void> check_each(std::string_view name, const Values& values, Number least, Number most) {
    unsigned i = 0;
    for (const Number value : values) TRY(in_range(fmt::format("{}[{}]", name, i++), value, least, most));
    return {};
}

constexpr unsigned most_box = 256, most_element_stride = 8, most_channels = 256, most_pixels = 1024;
constexpr int most_corner = 32768;

bool is_padded(TensorType type) { return type == TensorType::b4x16_p64 || type == TensorType::b6x16_p32; }

// The bytes of a row of a box in shared memory; dimension 0 without its traversal stride.
std::uint32_t row_bytes(const MapFields& map) {
    const TypeUnit& unit = unit_of(map.type);
    const std::uint32_t elements = map.is_im2col ? map.channels_per_pixel : map.box[0];
    return elements / unit.elements * unit.shared_bytes;
}

// ------------------------------------------------------------------------------------------------ the rules
// cuTensorMapEncodeTiled and cuTensorMapEncodeIm2col, parameter by parameter.

Expected<void> check_enumerations(const MapFields& map) {
    const std::pair<std::string_view, std::pair<unsigned, unsigned>> rows[] = {
        {"the data type", {static_cast<unsigned>(map.type), 15}},
        {"interleave", {static_cast<unsigned>(map.interleave), 2}},
        {"swizzle", {static_cast<unsigned>(map.swizzle), 4}},
        {"the swizzle's atomicity", {static_cast<unsigned>(map.atomicity), 3}},
        {"the L2 promotion", {static_cast<unsigned>(map.l2), 3}},
        {"fill", {static_cast<unsigned>(map.fill), 1}}};
    for (const auto& [name, row] : rows) TRY(in_range(name, row.first, 0u, row.second));
    return {};
}

Expected<void> check_rank(const MapFields& map) {
    const unsigned rank = map.rank;
    TRY(in_range("the rank", rank, 1u, most_tensor_dims));
    if (rank < 3 && map.interleave != TensorInterleave::none)
        return wrong_map(fmt::format("interleaved layouts have a rank of 3 to 5, this one {}", rank));
    if (rank < 3 && map.is_im2col)
        return wrong_map(fmt::format("the im2col mode has a rank of 3 to 5, not {}", rank));
    return {};
}

// Of the address and of strides.
std::uint64_t alignment(const MapFields& map) {
    return map.interleave == TensorInterleave::bytes32 || is_padded(map.type) ? 32 : 16;
}
std::string why_aligned(const MapFields& map) {
    if (map.interleave == TensorInterleave::bytes32) return " with the interleave 32B";
    return is_padded(map.type) ? fmt::format(" for {}", unit_of(map.type).name) : "";
}

Expected<void> check_address(const MapFields& map) {
    if (map.address % alignment(map) == 0) return {};
    return wrong_map(fmt::format("the address {:#x} is not a multiple of {}{}", map.address, alignment(map),
                                 why_aligned(map)));
}

Expected<void> check_dims(const MapFields& map) {
    TRY(check_each("dims", std::span(map.dims, map.rank), std::uint64_t{1}, std::uint64_t{1} << 32));
    const unsigned multiple = is_padded(map.type) ? 128 : map.type == TensorType::b4x16 ? 2 : 1;
    if (map.dims[0] % multiple == 0) return {};
    return wrong_map(fmt::format("dims[0] is {}; for {} it is a multiple of {}", map.dims[0],
                                 unit_of(map.type).name, multiple));
}

Expected<void> check_strides(const MapFields& map) {
    for (unsigned i = 0; i + 1u < map.rank; ++i) {
        if (map.strides[i] >= std::uint64_t{1} << 40)
            return wrong_map(fmt::format("strides[{}] is {}; it is less than 2^40", i, map.strides[i]));
        if (map.strides[i] % alignment(map) != 0)
            return wrong_map(fmt::format("strides[{}] is {} bytes; it is a multiple of {}{}", i,
                                         map.strides[i], alignment(map), why_aligned(map)));
    }
    return {};
}

Expected<void> check_element_strides(const MapFields& map) {
    return check_each("element_strides", std::span(map.element_strides, map.rank), 1u, most_element_stride);
}

// What holds of a box's innermost dimension, and of a pixel's channels.
Expected<void> check_row(const MapFields& map, std::string_view name, unsigned elements) {
    if (is_padded(map.type) && elements != 128)
        return wrong_map(fmt::format("{} is {}; for {} it is 128", name, elements, unit_of(map.type).name));
    if (map.interleave != TensorInterleave::none) return {};
    const TypeUnit& unit = unit_of(map.type);
    if (elements % unit.elements != 0 || row_bytes(map) % 16 != 0)
        return wrong_map(fmt::format("{} is {} elements of {}, {} bytes; they are a multiple of 16", name,
                                     elements, unit.name,
                                     static_cast<double>(elements) / unit.elements * unit.shared_bytes));
    const auto mode = static_cast<unsigned>(map.swizzle);
    if (map.swizzle == SwizzleMode::none || row_bytes(map) <= swizzle_spans[mode]) return {};
    return wrong_map(fmt::format("{} is {} elements of {}, {} bytes; with the swizzle {} at most {}", name,
                                 elements, unit.name, row_bytes(map), swizzle_names[mode],
                                 swizzle_spans[mode]));
}

Expected<void> check_box(const MapFields& map) {
    TRY(check_each("box", std::span(map.box, map.rank), 1u, most_box));
    return check_row(map, "box[0]", map.box[0]);
}

// The bounds of corners: 16 bits together, whatever the rank.
constexpr int corner_bound(unsigned rank) { return rank == 3 ? most_corner : rank == 4 ? 128 : 16; }

Expected<void> check_im2col(const MapFields& map) {
    const unsigned channels = map.channels_per_pixel, pixels = map.pixels_per_column;
    TRY(in_range("channels_per_pixel", channels, 1u, most_channels));
    TRY(in_range("pixels_per_column", pixels, 1u, most_pixels));
    const int bound = corner_bound(map.rank);
    for (unsigned i = 0; i + 2u < map.rank; ++i) {
        const int lower = map.lower_corner[i], upper = map.upper_corner[i];
        TRY(in_range(fmt::format("lower_corner[{}]", i), lower, -bound, bound - 1));
        TRY(in_range(fmt::format("upper_corner[{}]", i), upper, -bound, bound - 1));
        if (static_cast<std::int64_t>(map.dims[i + 1]) + upper - lower < 1)
            return wrong_map(fmt::format("the corners leave nothing of dims[{}] = {}: from {} to {} + {}",
                                         i + 1, map.dims[i + 1], lower, map.dims[i + 1], upper));
    }
    return check_row(map, "channels_per_pixel", channels);
}

Expected<void> check_swizzle(const MapFields& map) {
    if (map.swizzle == SwizzleMode::bytes96) return wrong_map("the swizzle 96B is one of sm_103a");
    if (map.atomicity != SwizzleAtomicity::bytes16 && map.swizzle != SwizzleMode::bytes128)
        return wrong_map(fmt::format("the swizzle {} has an atomicity of 16 bytes",
                                     swizzle_names[static_cast<unsigned>(map.swizzle)]));
    if (map.interleave == TensorInterleave::bytes32 && map.swizzle != SwizzleMode::bytes32)
        return wrong_map(fmt::format("the swizzle is {}; with the interleave 32B it is 32B",
                                     swizzle_names[static_cast<unsigned>(map.swizzle)]));
    if (!is_padded(map.type)) return {};
    const bool fits = (map.swizzle == SwizzleMode::none || map.swizzle == SwizzleMode::bytes128) &&
                      map.atomicity != SwizzleAtomicity::bytes32_flip8 &&
                      (map.type == TensorType::b6x16_p32 || map.atomicity != SwizzleAtomicity::bytes64);
    if (fits) return {};
    return wrong_map(fmt::format("{} has the swizzles none, 128B and 128B with atoms of 32B{}",
                                 unit_of(map.type).name, map.type == TensorType::b6x16_p32 ? " or 64B" : ""));
}

Expected<void> check_interleave_and_fill(const MapFields& map) {
    const TypeUnit& unit = unit_of(map.type);
    if (map.type == TensorType::b6x16_p32 && map.interleave != TensorInterleave::none)
        return wrong_map(fmt::format("{} has no interleaved layout", unit.name));
    if (map.fill == TensorFill::nan && !unit.is_floating)
        return wrong_map(fmt::format("the fill nan is for floating-point types, not for {}", unit.name));
    return {};
}

Expected<void> check(const MapFields& map) {
    using Rule = Expected<void> (*)(const MapFields&);
    constexpr Rule rules[] = {check_enumerations,
                              check_rank,
                              check_address,
                              check_dims,
                              check_strides,
                              check_element_strides,
                              check_interleave_and_fill,
                              check_swizzle};
    for (const Rule rule : rules) TRY(rule(map));
    return map.is_im2col ? check_im2col(map) : check_box(map);
}

// ------------------------------------------------------------------------------------------------- encoding

constexpr std::pair<SwizzleMode, SwizzleAtomicity> swizzles[] = {
    {SwizzleMode::none, SwizzleAtomicity::bytes16},
    {SwizzleMode::bytes32, SwizzleAtomicity::bytes16},
    {SwizzleMode::bytes64, SwizzleAtomicity::bytes16},
    {SwizzleMode::bytes128, SwizzleAtomicity::bytes16},
    {SwizzleMode::bytes128, SwizzleAtomicity::bytes32},
    {SwizzleMode::bytes128, SwizzleAtomicity::bytes32_flip8},
    {SwizzleMode::bytes128, SwizzleAtomicity::bytes64}};

Expected<void> check_length(std::string_view name, std::size_t length, std::size_t wanted) {
    if (length == wanted) return {};
    return wrong_map(fmt::format("{} has {} numbers; it has {}", name, length, wanted));
}

Expected<void> check_lengths(const TensorMapOptions& options) {
    const std::size_t rank = options.dims.size();
    TRY(in_range<std::size_t>("the number of dims", rank, 1, most_tensor_dims));
    TRY(check_length("strides", options.strides.size(), rank - 1));
    if (!options.element_strides.empty())
        TRY(check_length("element_strides", options.element_strides.size(), rank));
    if (!options.im2col) return check_length("box", options.box.size(), rank);
    if (rank < 3) return wrong_map(fmt::format("the im2col mode has 3 to 5 dims, not {}", rank));
    TRY(check_length("box", options.box.size(), 0));
    TRY(check_length("lower_corner", options.im2col->lower_corner.size(), rank - 2));
    return check_length("upper_corner", options.im2col->upper_corner.size(), rank - 2);
}

// The fields of a map are narrower than the parameters.
Expected<void> check_widths(const TensorMapOptions& options) {
    if (static_cast<unsigned>(options.swizzle) >= std::size(swizzles))
        return wrong_map(fmt::format("swizzle is {}; it is 0 to 6", static_cast<unsigned>(options.swizzle)));
    TRY(check_each("box", options.box, 1u, most_box));
    TRY(check_each("element_strides", options.element_strides, 1u, most_element_stride));
    if (!options.im2col) return {};
    const TensorIm2col& im2col = *options.im2col;
    TRY(in_range("channels_per_pixel", im2col.channels_per_pixel, 1u, most_channels));
    TRY(in_range("pixels_per_column", im2col.pixels_per_column, 1u, most_pixels));
    TRY(check_each("lower_corner", im2col.lower_corner, -most_corner, most_corner - 1));
    return check_each("upper_corner", im2col.upper_corner, -most_corner, most_corner - 1);
}

// Their values have been checked.
template <class Field> constexpr auto narrow = [](auto value) { return static_cast<Field>(value); };

void set_im2col(MapFields& map, const TensorIm2col& im2col) {
    map.is_im2col = 1;
    map.channels_per_pixel = static_cast<std::uint16_t>(im2col.channels_per_pixel);
    map.pixels_per_column = static_cast<std::uint16_t>(im2col.pixels_per_column);
    const auto& [lower, upper, channels, pixels] = im2col;
    std::transform(lower.begin(), lower.end(), map.lower_corner, narrow<std::int16_t>);
    std::transform(upper.begin(), upper.end(), map.upper_corner, narrow<std::int16_t>);
}

Expected<MapFields> fields_of(const std::byte* map) {
    MapFields fields;
    std::memcpy(&fields, map, sizeof fields);
    if (fields.magic != magic)
        return fail(Errc::tensor_map_unknown,
                    "these 128 bytes were not made by Device::encode_tensor_map for the emulator");
    return fields;
}

// ------------------------------------------------------------------------------------------------ replacing

// PTX ISA 9.7.9.28, table 33: not the order of CUtensorMapDataType.
constexpr TensorType element_types[] = {
    TensorType::u8,       TensorType::u16,   TensorType::u32,       TensorType::s32,
    TensorType::u64,      TensorType::s64,   TensorType::f16,       TensorType::f32,
    TensorType::f32_ftz,  TensorType::f64,   TensorType::bf16,      TensorType::tf32,
    TensorType::tf32_ftz, TensorType::b4x16, TensorType::b4x16_p64, TensorType::b6x16_p32};

// Programs make maps from nothing, too: they fill 128 bytes with zeros, and replace every field that is to be
// another.
Expected<MapFields> fields_to_replace(const std::byte* map) {
    if (std::any_of(map, map + sizeof(MapFields), [](std::byte byte) { return byte != std::byte{0}; }))
        return fields_of(map);
    MapFields blank{};
    blank.magic = magic;
    return blank;
}

struct FieldRow {
    std::string_view name;
    std::uint64_t least, most;
    std::uint32_t ordinals;  ///< 1 for a field that has none
    void (*write)(MapFields& map, std::uint32_t ordinal, std::uint64_t value);
};

// In the order of MapField.
constexpr FieldRow fields[] = {
    {".global_address", 0, ~std::uint64_t{0}, 1, [](auto& m, auto, auto v) { m.address = v; }},
    {".rank", 0, 4, 1, [](auto& m, auto, auto v) { m.rank = static_cast<std::uint8_t>(v + 1); }},
    {".box_dim", 1, 256, 5, [](auto& m, auto i, auto v) { m.box[i] = static_cast<std::uint16_t>(v); }},
    {".global_dim", 1, 0xFFFFFFFF, 5, [](auto& m, auto i, auto v) { m.dims[i] = v; }},
    {".global_stride", 0, (std::uint64_t{1} << 40) - 1, 4, [](auto& m, auto i, auto v) { m.strides[i] = v; }},
    {".element_stride", 1, 8, 5,
     [](auto& m, auto i, auto v) { m.element_strides[i] = static_cast<std::uint8_t>(v); }},
    {".elemtype", 0, 15, 1, [](auto& m, auto, auto v) { m.type = element_types[v]; }},
    {".interleave_layout", 0, 2, 1,
     [](auto& m, auto, auto v) { m.interleave = static_cast<TensorInterleave>(v); }},
    {".swizzle_mode", 0, 4, 1, [](auto& m, auto, auto v) { m.swizzle = static_cast<SwizzleMode>(v); }},
    {".swizzle_atomicity", 0, 3, 1,
     [](auto& m, auto, auto v) { m.atomicity = static_cast<SwizzleAtomicity>(v); }},
    {".fill_mode", 0, 1, 1, [](auto& m, auto, auto v) { m.fill = static_cast<TensorFill>(v); }}};

}  // namespace

const TypeUnit& unit_of(TensorType type) { return units[static_cast<unsigned>(type)]; }

Expected<TensorMap> encode(const TensorMapOptions& options) {
    TRY(check_lengths(options));
    TRY(check_widths(options));
    MapFields map{};
    map.magic = magic;
    map.address = options.address;
    map.rank = static_cast<std::uint8_t>(options.dims.size());
    std::copy(options.dims.begin(), options.dims.end(), map.dims);
    std::copy(options.strides.begin(), options.strides.end(), map.strides);
    std::transform(options.box.begin(), options.box.end(), map.box, narrow<std::uint16_t>);
    for (unsigned i = 0; i < std::min<unsigned>(map.rank, most_tensor_dims); ++i)
        map.element_strides[i] = options.element_strides.empty()
                                     ? std::uint8_t{1}
                                     : narrow<std::uint8_t>(options.element_strides[i]);
    std::tie(map.swizzle, map.atomicity) = swizzles[static_cast<unsigned>(options.swizzle)];
    map.type = options.type;
    map.interleave = options.interleave;
    map.fill = options.fill;
    map.l2 = options.l2;
    if (options.im2col) set_im2col(map, *options.im2col);
    TRY(check(map));
    TensorMap result;
    std::memcpy(&result, &map, sizeof result);
    return result;
}

Expected<MapFields> decode(const std::byte* map) {
    auto fields = fields_of(map);
    if (!fields) return fields;
    TRY(check(*fields));
    return fields;
}

Expected<void> replace(std::byte* map, MapField field, std::uint32_t ordinal, std::uint64_t value) {
    auto content = TRY(fields_to_replace(map));
    const FieldRow& row = fields[static_cast<unsigned>(field)];
    if (ordinal >= row.ordinals)
        return wrong_map(
            fmt::format("the ordinal of {} is {}; it is 0 to {}", row.name, ordinal, row.ordinals - 1));
    TRY(in_range(row.name, value, row.least, row.most));
    row.write(content, ordinal, value);
    std::memcpy(map, &content, sizeof content);
    return {};
}

std::uint32_t box_elements(const MapFields& map, unsigned dimension) {
    if (dimension == 0 && map.interleave == TensorInterleave::none) return map.box[0];
    const std::uint32_t stride = map.element_strides[dimension];
    return (map.box[dimension] + stride - 1) / stride;
}

std::uint32_t swizzled(const MapFields& map, std::uint32_t address) {
    // The number of a 128-byte line, from bit 7 on, is exclusive-ored into the number of a piece within the
    // line.
    const std::uint32_t line = address >> 7;
    switch (map.swizzle) {
        case SwizzleMode::bytes32: return address ^ (line & 1) << 4;
        case SwizzleMode::bytes64: return address ^ (line & 3) << 4;
        case SwizzleMode::bytes128: break;
        default: return address;
    }
    switch (map.atomicity) {
        case SwizzleAtomicity::bytes16: return address ^ (line & 7) << 4;
        case SwizzleAtomicity::bytes32: return address ^ (line & 3) << 5;
        case SwizzleAtomicity::bytes32_flip8: return address ^ (line & 3) << 5 ^ (line & 1) << 3;
        case SwizzleAtomicity::bytes64: return address ^ (line & 1) << 6;
    }
    return address;
}

}  // namespace ptxgraft::tensor
