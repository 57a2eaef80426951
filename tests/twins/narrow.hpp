#pragma once
// Narrow floating-point formats on the host, by exact arithmetic: a reference that has nothing to do with
// CUDA's headers.
#include "twin.hpp"

namespace twin {

/// A binary format: bits of the significand with the hidden one, the exponent of the smallest normal, the
/// largest finite value.
struct Format {
    int precision, smallest;
    double largest;
};
inline constexpr Format f16{11, -14, 65504.0}, bf16{8, -126, 0x1.fep127}, e4m3{4, -6, 448.0},
    e5m2{3, -14, 57344.0};

enum class Towards { nearest_even, zero, up, down };

__extension__ typedef __float128 Exact;

/// `x` rounded to a format. Beyond the largest: infinity, or the largest where the direction or `saturate`
/// says so.
inline double rounded(Exact x, const Format& format, Towards towards = Towards::nearest_even,
                      bool saturate = false) {
    if (x != x || x == 0) return (double)x;
    const bool negative = x < 0;
    Exact size = negative ? -x : x;
    if (size > (Exact)1e300) return saturate ? (negative ? -format.largest : format.largest) : (double)x;
    int exponent = 0;  // size in [2^exponent, 2^(exponent + 1))
    Exact scale = 1;
    while (scale * 2 <= size) scale *= 2, ++exponent;
    while (scale > size && exponent > format.smallest) scale /= 2, --exponent;
    if (exponent < format.smallest) exponent = format.smallest;
    Exact unit = 1;
    for (int i = exponent - format.precision + 1; i > 0; --i) unit *= 2;
    for (int i = exponent - format.precision + 1; i < 0; ++i) unit /= 2;
    const Exact quotient = size / unit;  // exact: the unit is a power of two
    const auto whole = static_cast<u64>(quotient);
    const Exact rest = quotient - static_cast<Exact>(whole);
    const bool away = towards == Towards::nearest_even
                          ? rest > (Exact)0.5 || (rest == (Exact)0.5 && (whole & 1))
                      : towards == Towards::zero             ? false
                      : (towards == Towards::up) != negative ? rest > 0
                                                             : false;
    double result = static_cast<double>(static_cast<Exact>(whole + (away ? 1 : 0)) * unit);
    if (result > format.largest) {
        const bool to_infinity = towards == Towards::nearest_even ||
                                 (towards != Towards::zero && (towards == Towards::up) != negative);
        result = to_infinity && !saturate ? std::numeric_limits<double>::infinity() : format.largest;
    }
    return negative ? -result : result;
}

/// The value of a binary16's, or a bfloat16's bits, and the bits of a value that the format has.
inline double value_of_f16(u16 bits) {
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent == 31  ? (mantissa != 0 ? NAN : INFINITY)
                        : exponent == 0 ? std::ldexp(mantissa, -24)
                                        : std::ldexp(mantissa + 1024, exponent - 25);
    return bits >> 15 ? -size : size;
}
inline double value_of_bf16(u16 bits) { return std::bit_cast<float>(static_cast<u32>(bits) << 16); }

inline u16 bits_of_f16(double x) {
    const u16 sign = std::signbit(x) ? 0x8000 : 0;
    if (std::isnan(x)) return 0x7fff;
    if (std::isinf(x)) return sign | 0x7c00;
    if (x == 0) return sign;
    int exponent;
    const double fraction = std::frexp(std::abs(x), &exponent);  // in [0.5, 1)
    if (exponent - 1 < -14) return static_cast<u16>(sign | static_cast<u16>(std::ldexp(std::abs(x), 24)));
    return static_cast<u16>(sign | ((exponent + 14) << 10) |
                            (static_cast<u16>(std::ldexp(fraction, 11)) & 1023));
}
inline u16 bits_of_bf16(double x) {
    return std::isnan(x) ? 0x7fff : static_cast<u16>(std::bit_cast<u32>(static_cast<float>(x)) >> 16);
}

/// All kinds of values of 16 bits: random ones, zeros, subnormals, infinities, NaNs, neighbours of powers of
/// two.
inline std::vector<u16> all_kinds(Run& run, std::size_t count) {
    auto values = run.random_values<u16>(count);
    const u16 special[] = {0,      0x8000, 1,      0x8001, 0x3ff,  0x400,  0x7c00, 0xfc00, 0x7bff,
                           0xfbff, 0x7e00, 0xffff, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x7f80, 0xff80,
                           0x7f7f, 0x0080, 0x007f, 0x3f80, 0xbf80, 0x3f7f, 0x7fc0, 0x4700, 0x0c00};
    for (std::size_t i = 0; i < count; i += 3) values[i] = special[run.random() % std::size(special)];
    return values;
}

}  // namespace twin
