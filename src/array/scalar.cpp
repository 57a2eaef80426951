// Values of PTX types as text: numbers to bytes and back.

#include "array/scalar.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>

#include "array/float_format.hpp"

namespace ptxgraft::array {
namespace {

constexpr ElementType element_types[] = {
    {"u8", 1, 'u', "|u1"},   {"u16", 2, 'u', "<u2"},  {"u32", 4, 'u', "<u4"},  {"u64", 8, 'u', "<u8"},
    {"s8", 1, 's', "|i1"},   {"s16", 2, 's', "<i2"},  {"s32", 4, 's', "<i4"},  {"s64", 8, 's', "<i8"},
    {"f16", 2, 'f', "<f2"},  {"bf16", 2, 'f', "<u2"}, {"f32", 4, 'f', "<f4"},  {"f64", 8, 'f', "<f8"},
    {"b8", 1, 'b', "|u1"},   {"b16", 2, 'b', "<u2"},  {"b32", 4, 'b', "<u4"},  {"b64", 8, 'b', "<u8"},
    {"e4m3", 1, 'b', "|u1"}, {"e5m2", 1, 'b', "|u1"}, {"pred", 1, 'p', "|b1"}, {"bool", 1, 'p', "|b1"},
};

tl::unexpected<Error> wrong(std::string text) { return fail(Errc::argument_invalid, std::move(text)); }

template <class T> std::vector<std::byte> bytes_of(T value, std::size_t size = sizeof(T)) {
    std::vector<std::byte> bytes(size);
    std::memcpy(bytes.data(), &value, size);  // x86-64 and the GPU are little-endian
    return bytes;
}

Expected<std::vector<std::byte>> integer_bytes(const ElementType& type, std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto value = magnitude(text.substr(negative || text.starts_with('+') ? 1 : 0));
    const unsigned bits = type.bytes * 8 - (type.family == 's');
    const std::uint64_t most = bits == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits) - 1;
    if (!value) return wrong(fmt::format("'{}' is not an integer for {}", text, type.name));
    if (type.family == 's' ? *value > most + negative : *value > most || (negative && *value != 0))
        return wrong(fmt::format("{} is out of range of {}: {} to {}", text, type.name,
                                 type.family == 's' ? fmt::format("-{}", most + 1) : "0", most));
    return bytes_of(negative ? std::uint64_t{0} - *value : *value, type.bytes);
}

// PTX's own spelling of bits: 0f3F800000, 0d3FF0000000000000 (PTX ISA 4.5.2).
std::optional<double> hex_float(std::string_view text) {
    if (text.size() < 2 || text[0] != '0') return {};
    const bool is_double = text[1] == 'd' || text[1] == 'D';
    if (!is_double && text[1] != 'f' && text[1] != 'F') return {};
    if (text.size() != (is_double ? 18u : 10u)) return {};
    std::uint64_t bits = 0;
    const auto [end, error] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    if (is_double) return std::bit_cast<double>(bits);
    return std::bit_cast<float>(static_cast<std::uint32_t>(bits));
}

template <class T> Expected<T> decimal(const ElementType& type, std::string_view text) {
    if (const auto bits = hex_float(text)) return static_cast<T>(*bits);
    const std::string_view digits = text.substr(text.starts_with('+') ? 1 : 0);
    T value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error == std::errc::result_out_of_range)
        return wrong(fmt::format("{} is out of range of {}", text, type.name));
    if (error != std::errc() || end != digits.data() + digits.size())
        return wrong(fmt::format("'{}' is not a number for {}", text, type.name));
    return value;
}

Expected<std::vector<std::byte>> narrow_bytes(const ElementType& type, std::string_view text) {
    const auto value = decimal<double>(type, text);
    if (!value) return tl::unexpected(value.error());
    const FloatFormat& format = *find_format(type.name);
    if (std::isfinite(*value) && std::isinf(rounded(*value, format)))
        return wrong(fmt::format("{} is out of range of {}", text, type.name));
    return bytes_of(encode(*value, format), type.bytes);
}

Expected<std::vector<std::byte>> floating_bytes(const ElementType& type, std::string_view text) {
    const auto to_bytes = [](auto value) { return bytes_of(value); };
    if (type.bytes == 8) return decimal<double>(type, text).map(to_bytes);
    if (type.bytes == 4) return decimal<float>(type, text).map(to_bytes);
    return narrow_bytes(type, text);
}

Expected<std::vector<std::byte>> predicate_bytes(std::string_view text) {
    if (text == "true" || text == "1") return bytes_of(std::uint8_t{1});
    if (text == "false" || text == "0") return bytes_of(std::uint8_t{0});
    return wrong(fmt::format("'{}' is neither true nor false", text));
}

}  // namespace

const ElementType* find_type(std::string_view name) {
    const auto found = std::find_if(std::begin(element_types), std::end(element_types),
                                    [&](const auto& t) { return t.name == name; });
    return found == std::end(element_types) ? nullptr : found;
}

std::string type_names() {
    std::string names;
    for (const ElementType& type : element_types) names.append(names.empty() ? "" : " ").append(type.name);
    return names;
}

std::optional<std::uint64_t> magnitude(std::string_view text) {
    int base = 10;
    if (text.starts_with("0x") || text.starts_with("0X")) base = 16;
    if (text.starts_with("0b") || text.starts_with("0B")) base = 2;
    if (base != 10) text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    if (error != std::errc() || end != text.data() + text.size()) return {};
    return value;
}

Expected<std::vector<std::byte>> scalar_bytes(const ElementType& type, std::string_view text) {
    switch (type.family) {
        case 'f': return floating_bytes(type, text);
        case 'p': return predicate_bytes(text);
        default: return integer_bytes(type, text);
    }
}

Expected<std::vector<std::byte>> hex_bytes(std::string_view text) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
        unsigned value = 0;
        if (std::from_chars(&text[i], &text[i] + 2, value, 16).ptr != &text[i] + 2) break;
        bytes.push_back(static_cast<std::byte>(value));
    }
    if (bytes.empty() || bytes.size() * 2 != text.size())
        return wrong(fmt::format("'{}' is not a row of bytes, two hexadecimal digits each", text));
    return bytes;
}

}  // namespace ptxgraft::array
