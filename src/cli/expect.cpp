// Compares a buffer with what a launch file expects of it, element by element.

#include "expect.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "array/float_format.hpp"

namespace ptxgraft::cli {
namespace {

template <class T> T read(const std::byte* from) {
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
                            : decode(read<std::uint16_t>(from), *find_format("f16"));
    const std::uint64_t bits = bits_at(from, bytes);
    if (dtype[1] != 'i') return static_cast<double>(bits);
    const unsigned unused = static_cast<unsigned>(64 - 8 * bytes);
    return static_cast<double>(static_cast<std::int64_t>(bits << unused) >> unused);
}

double value_at(const std::byte* from, const ElementType& type) {
    if (type.name == "bf16" || type.name == "e4m3" || type.name == "e5m2")
        return decode(bits_at(from, type.bytes), *find_format(type.name));
    return number_at(from, type.dtype);
}

struct Range {
    double lowest, highest;
};

class Comparison {
  public:
    Comparison(const Array& array, const Expectation& expected) : array_(array), expected_(expected) {}

    [[nodiscard]] bool is_right(std::size_t i) const {
        if (expected_.tolerance.is_exact && has_own_type()) {
            if (std::memcmp(at(i), wanted_at(i), expected_.type.bytes) == 0) return true;
            return expected_.is_any_nan && std::isnan(value_of(i)) && std::isnan(wanted_of(i));
        }
        const double value = value_of(i), wanted = wanted_of(i);
        if (expected_.tolerance.sum && std::isnan(value)) return sum_bounds(i).contain(value);
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
            const SumBounds bounds = sum_bounds(i);
            return {in_type(bounds.lowest), in_type(bounds.highest)};
        }
        if (tolerance.is_exact || !std::isfinite(wanted)) return {in_type(wanted), in_type(wanted)};
        const double distance = tolerance.absolute + tolerance.relative * std::abs(wanted);
        return {wanted - distance, wanted + distance};
    }

  private:
    [[nodiscard]] SumBounds sum_bounds(std::size_t i) const {
        const Array& magnitudes = expected_.tolerance.magnitudes;
        const std::size_t bytes = static_cast<std::size_t>(magnitudes.dtype.back() - '0');
        return legal_sum(*expected_.tolerance.sum, wanted_of(i),
                         number_at(&magnitudes.data[i * bytes], magnitudes.dtype));
    }
    [[nodiscard]] bool has_own_type() const {
        return expected_.wanted.dtype.substr(1) == expected_.type.dtype.substr(1);
    }
    [[nodiscard]] double in_type(double value) const {
        const FloatFormat* const format = find_format(expected_.type.name);
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
    if (expected.source && expected.wanted.data.empty()) {
        Expectation whole = expected;
        whole.wanted.data.resize(array.data.size() / expected.type.bytes * expected.wanted_type.bytes);
        generate(*whole.source, whole.wanted_type, 0, whole.wanted.data);
        whole.source.reset();
        return difference(array, whole);
    }
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
                       expected.text, wrong, count, place(first, array.shape), comparison.value_of(first),
                       comparison.wanted_of(first), allowed);
}

}  // namespace ptxgraft::cli
