// How far the elements of a tensor are from the right ones.

#include "template/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "array/float_format.hpp"
#include "base/try.hpp"

namespace ptxgraft::templates {
namespace {

// What the output's type has no numbers for is its infinity, or its largest number.
double in_range(double value, const array::ElementType& type) {
    const array::FloatFormat* const format = array::find_format(type.name);
    if (format == nullptr || std::isnan(value)) return value;
    const double nearest = array::rounded(value, *format);
    return std::isinf(nearest) || std::abs(nearest) == format->most ? nearest : value;
}

// Half a unit in the last place: what storing costs the nearest number.
double rounding(double value, const array::ElementType& type) {
    const array::FloatFormat* const format = array::find_format(type.name);
    if (format == nullptr || !std::isfinite(value)) return 0;
    const int exponent =
        value == 0 ? format->least_exponent : std::max(std::ilogb(value), format->least_exponent);
    return std::ldexp(0.5, exponent - format->fraction);
}

}  // namespace

double Elements::operator[](std::size_t i) const {
    std::uint64_t bits = 0;
    std::memcpy(&bits, bytes.data() + i * type->bytes, type->bytes);
    if (const array::FloatFormat* format = array::find_format(type->name))
        return array::decode(bits, *format);
    if (type->family != 's') return static_cast<double>(bits);
    const unsigned above = 64 - 8 * type->bytes;
    return static_cast<double>(static_cast<std::int64_t>(bits << above) >> above);
}

Expected<Elements> read_elements(const TemplateTensor& tensor, const Buffer& buffer) {
    Elements elements{array::find_type(tensor.type), std::vector<std::byte>(tensor.bytes)};
    TRY(buffer.read(elements.bytes));
    return elements;
}

void Comparison::compare(const std::string& name, const Elements& got_elements, const Elements& right,
                         const TemplateTolerance& tolerance) {
    elements += right.size();
    // What the reference stores in double precision has been rounded once, by the kernel.
    const double roundings = right.type->name == "f64" ? 1 : 2;
    for (std::size_t i = 0; i < right.size(); ++i) {
        const double value = in_range(right[i], *got_elements.type);
        look_at(name, i, got_elements[i], value,
                tolerance.relative * std::abs(value) + tolerance.absolute +
                    roundings * rounding(value, *got_elements.type));
    }
}

bool Comparison::compare_unchanged(const std::string& name, const Elements& before, const Elements& after) {
    const auto [was, is] = std::mismatch(before.bytes.begin(), before.bytes.end(), after.bytes.begin());
    if (was == before.bytes.end()) return true;
    const auto at = static_cast<std::size_t>(was - before.bytes.begin()) / before.type->bytes;
    worst = std::numeric_limits<double>::infinity();
    tensor = name, index = at;
    got = after[at], wanted = before[at], allowed = 0;
    ++wrong, ++elements;
    return false;
}

void Comparison::have_nothing(const std::string& name, std::uint64_t size) {
    worst = std::numeric_limits<double>::infinity();
    tensor = name, index = 0;
    got = wanted = std::numeric_limits<double>::quiet_NaN(), allowed = 0;
    wrong += size;
}

void Comparison::look_at(const std::string& name, std::size_t at, double is, double should_be, double may) {
    not_numbers += std::isnan(should_be) ? 1 : 0;
    if ((std::isnan(is) && std::isnan(should_be)) || is == should_be) return;
    double error = std::abs(is - should_be);
    if (std::isnan(error) || std::isinf(should_be)) error = std::numeric_limits<double>::infinity();
    largest_error = std::max(largest_error, error);
    const double part = error / may;
    if (!(part <= 1)) ++wrong;
    if (part <= worst) return;
    worst = part, tensor = name, index = at;
    got = is, wanted = should_be, allowed = may;
}

}  // namespace ptxgraft::templates
