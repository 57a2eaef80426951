// Random inputs: usual ones, large ones, equal ones, and those with special values here and there.

#include "measure/check/regimes.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "array/float_format.hpp"
#include "array/scalar.hpp"
#include "ptxgraft/program.hpp"

namespace ptxgraft::measure {
namespace {

constexpr double largeness = 16;
// Infinities and NaN are rare: a row that has one tells nothing of its other elements.
constexpr std::uint64_t finite_special_in = 16, endless_special_in = 512;

std::vector<std::byte> large_bytes(TemplateTensor tensor, std::uint64_t seed) {
    if (array::find_format(tensor.type) != nullptr) tensor.low *= largeness, tensor.high *= largeness;
    return random_bytes(tensor, seed);
}

std::vector<std::byte> constant_bytes(TemplateTensor tensor, std::uint64_t seed) {
    const std::size_t whole = tensor.bytes, one = array::find_type(tensor.type)->bytes;
    tensor.bytes = std::min(whole, one);
    const std::vector<std::byte> element = random_bytes(tensor, seed);
    std::vector<std::byte> bytes(whole);
    for (std::size_t at = 0; at + one <= whole; at += one)
        std::memcpy(bytes.data() + at, element.data(), one);
    return bytes;
}

std::vector<std::byte> special_bytes(const TemplateTensor& tensor, std::uint64_t seed) {
    std::vector<std::byte> bytes = random_bytes(tensor, seed);
    const array::FloatFormat* const format = array::find_format(tensor.type);
    if (format == nullptr) return bytes;
    const double least = std::ldexp(1.0, format->least_exponent - format->fraction);
    const std::array finite = {0.0, -0.0, least, -least};
    constexpr double infinity = std::numeric_limits<double>::infinity();
    constexpr std::array endless = {infinity, -infinity, std::numeric_limits<double>::quiet_NaN()};
    const std::size_t one = array::find_type(tensor.type)->bytes;
    stack::Random random(seed, bytes.size());
    for (std::size_t at = 0; at + one <= bytes.size(); at += one) {
        std::optional<double> value;
        if (random.below(finite_special_in) == 0) value = finite[random.below(finite.size())];
        if (random.below(endless_special_in) == 0) value = endless[random.below(endless.size())];
        if (!value) continue;
        const std::uint64_t bits = array::encode(*value, *format);
        std::memcpy(bytes.data() + at, &bits, one);
    }
    return bytes;
}

}  // namespace

std::vector<std::byte> input_bytes(const TemplateTensor& tensor, Regime regime, std::uint64_t seed) {
    switch (regime) {
        case Regime::large: return large_bytes(tensor, seed);
        case Regime::constant: return constant_bytes(tensor, seed);
        case Regime::special: return special_bytes(tensor, seed);
        case Regime::usual: break;
    }
    return random_bytes(tensor, seed);
}

}  // namespace ptxgraft::measure
