#include "expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ptxgraft::cli {
namespace {

// Floating types by their fraction bits, the exponent of the smallest normal number, and the largest number.
struct Format {
    std::string_view name;
    int fraction, least_exponent;
    double most;
    bool saturates;  // has no infinity that conversions give
};
constexpr Format formats[] = {{"f16", 10, -14, 65504, false},
                              {"bf16", 7, -126, 0x1.fep127, false},
                              {"f32", 23, -126, 0x1.fffffep127, false},
                              {"e4m3", 3, -6, 448, true},
                              {"e5m2", 2, -14, 57344, true}};

const Format* format_of(std::string_view name) {
    const auto found =
        std::find_if(std::begin(formats), std::end(formats), [&](const Format& f) { return f.name == name; });
    return found == std::end(formats) ? nullptr : found;
}

// To the nearest number of a format, ties to even.
double rounded(double value, const Format& to) {
    if (!std::isfinite(value) || value == 0) return value;
    const int exponent = std::max(std::ilogb(value), to.least_exponent) - to.fraction;
    const double result = std::ldexp(std::nearbyint(std::ldexp(value, -exponent)), exponent);
    if (std::abs(result) <= to.most) return result;
    return std::copysign(to.saturates ? to.most : std::numeric_limits<double>::infinity(), value);
}

// A small float by its bits: sign, exponent, fraction.
double small_float(std::uint64_t bits, unsigned width, const Format& format) {
    const unsigned exponent_bits = width - 1 - static_cast<unsigned>(format.fraction);
    const std::uint64_t fraction_mask = (1u << format.fraction) - 1,
                        exponent = bits >> format.fraction & ((1u << exponent_bits) - 1),
                        fraction = bits & fraction_mask;
    const double sign = (bits >> (width - 1) & 1) != 0 ? -1 : 1;
    const bool is_last = exponent + 1 == std::uint64_t{1} << exponent_bits;
    if (is_last && format.name != "e4m3")
        return fraction == 0 ? sign * std::numeric_limits<double>::infinity()
                             : std::numeric_limits<double>::quiet_NaN();
    if (is_last && fraction == fraction_mask) return std::numeric_limits<double>::quiet_NaN();
    const double significand =
        static_cast<double>(fraction) + (exponent == 0 ? 0 : static_cast<double>(1u << format.fraction));
    return sign * std::ldexp(significand, std::max(static_cast<int>(exponent), 1) - 1 +
                                              format.least_exponent - format.fraction);
}

template <class T>
T read(const std::byte* from) {
    T value;
    std::memcpy(&value, from, sizeof value);
    return value;
}

std::uint64_t bits_at(const std::byte* from, std::size_t bytes) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, from, bytes);
    return bits;
}

// Of a NumPy type: `<f4`.
double number_at(const std::byte* from, std::string_view dtype) {
    const std::size_t bytes = static_cast<std::size_t>(dtype.back() - '0');
    if (dtype[1] == 'f')
        return bytes == 8   ? read<double>(from)
               : bytes == 4 ? static_cast<double>(read<float>(from))
                            : small_float(read<std::uint16_t>(from), 16, formats[0]);
    const std::uint64_t bits = bits_at(from, bytes);
    if (dtype[1] != 'i') return static_cast<double>(bits);
    const unsigned unused = static_cast<unsigned>(64 - 8 * bytes);
    return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

double value_at(const std::byte* from, const ElementType& type) {
    if (type.name == "bf16")
        return static_cast<double>(
            std::bit_cast<float>(static_cast<std::uint32_t>(read<std::uint16_t>(from)) << 16));
    if (type.name == "e4m3" || type.name == "e5m2")
        return small_float(read<std::uint8_t>(from), 8, *format_of(type.name));
    return number_at(from, type.dtype);
}

struct Range {
    double lowest, highest;
};

class Comparison {
  public:
    Comparison(const Array& array, const Expectation& expected) : array_(array), expected_(expected) {}

    [[nodiscard]] bool is_right(std::size_t i) const {
        if (expected_.tolerance.is_exact && has_own_type())
            return std::memcmp(at(i), wanted_at(i), expected_.type.bytes) == 0;
        const double value = value_of(i), wanted = wanted_of(i);
        if (std::isnan(value) || std::isnan(wanted)) return std::isnan(value) && std::isnan(wanted);
        const Range range = range_of(i);
        return value >= range.lowest && value <= range.highest;
    }
    [[nodiscard]] double value_of(std::size_t i) const { return value_at(at(i), expected_.type); }
    [[nodiscard]] double wanted_of(std::size_t i) const {
        return has_own_type() ? value_at(wanted_at(i), expected_.type)
                              : number_at(wanted_at(i), expected_.wanted.dtype);
    }
    [[nodiscard]] Range range_of(std::size_t i) const {
        const Tolerance& tolerance = expected_.tolerance;
        const double wanted = wanted_of(i);
        if (tolerance.sum) {
            const Array& magnitudes = tolerance.magnitudes;
            const double magnitude =
                number_at(&magnitudes.data[i * static_cast<std::size_t>(magnitudes.dtype.back() - '0')],
                          magnitudes.dtype);
            const SumBounds bounds = legal_sum(*tolerance.sum, wanted, magnitude);
            return {in_type(bounds.lowest), in_type(bounds.highest)};
        }
        if (tolerance.is_exact || !std::isfinite(wanted)) return {in_type(wanted), in_type(wanted)};
        const double distance = tolerance.absolute + tolerance.relative * std::abs(wanted);
        return {wanted - distance, wanted + distance};
    }

  private:
    [[nodiscard]] bool has_own_type() const {
        return expected_.wanted.dtype.substr(1) == expected_.type.dtype.substr(1);
    }
    [[nodiscard]] double in_type(double value) const {
        const Format* const format = format_of(expected_.type.name);
        return format != nullptr ? rounded(value, *format) : value;
    }
    [[nodiscard]] const std::byte* at(std::size_t i) const { return &array_.data[i * expected_.type.bytes]; }
    [[nodiscard]] const std::byte* wanted_at(std::size_t i) const {
        return &expected_.wanted.data[i * static_cast<std::size_t>(expected_.wanted.dtype.back() - '0')];
    }
    const Array& array_;
    const Expectation& expected_;
};

// `[1, 7]` of an element's number.
std::string place(std::size_t i, const std::vector<std::uint64_t>& shape) {
    std::vector<std::uint64_t> indices(shape.size());
    for (std::size_t d = shape.size(); d-- > 0; i /= shape[d]) indices[d] = i % shape[d];
    return fmt::format("[{}]", fmt::join(indices, ", "));
}

}  // namespace

bool is_comparable(std::string_view dtype, const ElementType& type) {
    if (dtype.substr(1) == type.dtype.substr(1)) return true;
    const bool has_value = type.family == 'f' || type.name == "e4m3" || type.name == "e5m2" ||
                           type.family == 'u' || type.family == 's';
    return has_value && (dtype[1] == 'f' || (type.family != 'f' && (dtype[1] == 'i' || dtype[1] == 'u')));
}

std::string difference(const Array& array, const Expectation& expected) {
    const Comparison comparison(array, expected);
    const std::size_t count = array.data.size() / expected.type.bytes;
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < count; ++i)
        if (!comparison.is_right(i) && wrong++ == 0) first = i;
    if (wrong == 0) return {};
    const Range range = comparison.range_of(first);
    const std::string allowed =
        expected.tolerance.is_exact ? "" : fmt::format(" ({} to {})", range.lowest, range.highest);
    return fmt::format("differs from {} in {} of {} elements; the first one is {}: {}, not {}{}",
                       expected.file, wrong, count, place(first, array.shape), comparison.value_of(first),
                       comparison.wanted_of(first), allowed);
}

}  // namespace ptxgraft::cli
