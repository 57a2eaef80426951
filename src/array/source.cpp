// What a buffer holds before a launch, made by a rule: a number, a ramp, random numbers.

#include "array/source.hpp"

#include <cstring>

#include "array/float_format.hpp"

namespace ptxgraft::array {
namespace {

constexpr unsigned draws = 12;  // of one element: what the deviation of `normal` asks for

// SplitMix64 (Steele, Lea, Flood 2014), by the number of the draw: elements do not depend on those before
// them.
std::uint64_t mixed(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
}
std::uint64_t draw(std::uint64_t seed, std::uint64_t number) {
    constexpr std::uint64_t step = 0x9E3779B97F4A7C15;
    return mixed(mixed(seed * step + step) + (number + 1) * step);
}
// From 0 up to 1, exact in a double.
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }

double normal(std::uint64_t seed, std::uint64_t element) {
    double sum = 0;  // of 12 multiples of 2^-53 below 1: some sums are rounded, everywhere alike
    for (unsigned i = 0; i < draws; ++i) sum += unit(draw(seed, element * draws + i));
    return sum - draws / 2;
}

std::uint64_t whole(const Source& source, std::uint64_t bits) {
    const std::uint64_t count = source.most - source.least + 1;  // 0: all
    if (count == 0) return bits;
    return source.least + static_cast<std::uint64_t>((static_cast<unsigned __int128>(bits) * count) >> 64);
}

// The bit patterns of a format of 8 bits between two numbers.
std::vector<std::uint8_t> codes_between(double low, double high, const FloatFormat& format) {
    std::vector<std::uint8_t> codes;
    for (unsigned code = 0; code < 256; ++code)
        if (const double value = decode(code, format); value >= low && value <= high)
            codes.push_back(static_cast<std::uint8_t>(code));
    return codes;
}

// The bits of an element.
std::uint64_t element(const Source& source, const ElementType& type, const FloatFormat* format,
                      std::uint64_t i) {
    if (source.rule == Rule::iota && format != nullptr)
        return encode(static_cast<double>(i & ((std::uint64_t{2} << format->fraction) - 1)), *format);
    if (source.rule == Rule::iota)
        return type.family == 'p'   ? i & 1
               : type.family == 's' ? i & ~(std::uint64_t{1} << (8 * type.bytes - 1))
                                    : i;
    if (source.rule == Rule::normal) return encode(normal(source.seed, i), *format);
    const std::uint64_t bits = draw(source.seed, i * draws);
    if (format == nullptr) return whole(source, bits);
    return encode(source.low * (1 - unit(bits)) + source.high * unit(bits), *format);
}

}  // namespace

void generate(const Source& source, const ElementType& type, std::uint64_t first, std::span<std::byte> to) {
    const FloatFormat* const format = find_format(type.name);
    const std::vector<std::uint8_t> codes =
        source.rule == Rule::codes && format != nullptr && format->bits == 8
            ? codes_between(source.low, source.high, *format)
            : std::vector<std::uint8_t>{};
    for (std::size_t at = 0; at < to.size(); at += type.bytes) {
        if (source.rule == Rule::value) {
            std::memcpy(&to[at], source.value.data(), type.bytes);
            continue;
        }
        const std::uint64_t i = first + at / type.bytes;
        const std::uint64_t code = codes.empty() ? 0 : draw(source.seed, i * draws + 1);
        const std::uint64_t bits =
            code % 2 != 0 ? codes[code / 2 % codes.size()] : element(source, type, format, i);
        std::memcpy(&to[at], &bits, type.bytes);
    }
}

}  // namespace ptxgraft::array
