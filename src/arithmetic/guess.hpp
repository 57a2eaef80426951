#pragma once
/// @file guess.hpp
/// Transcendental functions of f32 in vectors, with the bits of the slow functions.
///
/// A guess computes a function in double with an error far below a float's last place: 2^-43 of its value or
/// less, in polynomials without a branch, so that the compiler makes vectors of a column. Where every value
/// within `guess_error` of it rounds to the same float, so does the value of the slow function, whose error
/// is smaller; elsewhere, of one input in 60,000 or so, the slow function decides.
/// tests/arithmetic/guess_test.cpp compares them.

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {

inline constexpr double guess_error = 0x1p-41;

/// Added to a double of less than 2^51 it leaves the nearest integer in the low bits.
inline constexpr double to_integer = 0x1.8p52;

/// Its coefficients from the lowest. Without a loop, so that one around it is made of vectors.
inline double polynomial(double, double c) { return c; }
template <class... Rest> inline double polynomial(double x, double c, Rest... rest) {
    return std::fma(polynomial(x, rest...), x, c);
}
/// A positive double times 2^n, where the low bits of `integer` hold n.
inline double scaled(double a, double integer) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) +
                                 (std::bit_cast<std::uint64_t>(integer) << 52));
}
inline double with_sign(double a, std::uint64_t sign) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) ^ sign << 63);
}
inline constexpr double guess_nan = std::numeric_limits<double>::quiet_NaN();

/// 2^f - 1 for |f| <= 1/2, its error 2^-43 of it.
inline double exp2_minus_1(double f) {
    return f * polynomial(f, 0x1.62e42fefa39efp-1, 0x1.ebfbdff823cedp-3, 0x1.c6b08d7047e52p-5,
                          0x1.3b2ab7181b757p-7, 0x1.5d87fe86fe949p-10, 0x1.4308ac85aa64ep-13,
                          0x1.ffcb951573425p-17, 0x1.63d1363688b5dp-20, 0x1.b63880e2c3a2ep-24);
}
/// A sine on [-pi/2, pi/2].
inline double sine(double r) {
    return r * polynomial(r * r, 0x1.ffffffffffe3ap-1, -0x1.5555555543bb3p-3, 0x1.11111109ee17bp-7,
                          -0x1.a019fd487d300p-13, 0x1.71dcf806fa7dap-19, -0x1.ae0443c43810ep-26,
                          0x1.52e518bf82f35p-33);
}
/// x - n * pi, as if pi had 106 bits.
inline double minus_multiple_of_pi(double x, double n) {
    return std::fma(-n, 0x1.1a62633145c07p-53, std::fma(-n, 0x1.921fb54442d18p+1, x));
}

struct GuessEx2 {
    static std::uint32_t doubt(float) { return 0; }
    static double value(float x) {
        const auto input = static_cast<double>(x);
        double a = input < -160 ? -160 : input;  // zero
        a = a > 130 ? 130 : a;                   // infinity
        const double n = a + to_integer;
        const double power = scaled(1 + exp2_minus_1(a - (n - to_integer)), n);
        return input != input ? input : power;
    }
};

struct GuessLg2 {
    static std::uint32_t doubt(float) { return 0; }
    static double value(float x) {
        constexpr std::uint64_t root_of_half = 0x3FE6A09E667F3BCDu, bias = 1023;
        // x = 2^e m with m within a factor of sqrt(2) of 1
        const auto input = static_cast<double>(x);
        const auto bits = std::bit_cast<std::uint64_t>(input);
        const std::uint64_t biased = (bits - root_of_half + (bias << 52)) >> 52;
        const double m = std::bit_cast<double>(bits - (biased << 52) + (bias << 52));
        const double e = std::bit_cast<double>(biased | 0x4330000000000000u) - (0x1p52 + bias);
        const double s = (m - 1) / (m + 1);
        double y =
            std::fma(s,
                     polynomial(s * s, 0x1.71547652b8253p+1, 0x1.ec709dc539e77p-1, 0x1.2776c295f0004p-1,
                                0x1.a61a2cc1e678bp-2, 0x1.4795a62c96b54p-2, 0x1.21ac9cc7f5df9p-2),
                     e);
        y = input == std::numeric_limits<double>::infinity() ? input : y;
        y = input == 0 ? -std::numeric_limits<double>::infinity() : y;
        return input >= 0 ? y : guess_nan;
    }
};

/// Farther out the slow function reduces the argument.
inline constexpr float most_turns = 0x1p24f;

struct GuessSin {
    static std::uint32_t doubt(float x) { return std::abs(x) <= most_turns ? 0 : 1; }
    static double value(float x) {
        const double a = static_cast<double>(x), n = a * 0x1.45f306dc9c883p-2 + to_integer;
        return with_sign(sine(minus_multiple_of_pi(a, n - to_integer)), std::bit_cast<std::uint64_t>(n));
    }
};
/// cos(x) is -sin(x - (n + 1/2) pi) for even n.
struct GuessCos {
    static std::uint32_t doubt(float x) { return std::abs(x) <= most_turns ? 0 : 1; }
    static double value(float x) {
        const double a = std::abs(static_cast<double>(x)), n = (a * 0x1.45f306dc9c883p-2 - 0.5) + to_integer;
        const double rest = minus_multiple_of_pi(a, n - to_integer + 0.5);
        return with_sign(sine(rest), ~std::bit_cast<std::uint64_t>(n));
    }
};

struct GuessTanh {
    static std::uint32_t doubt(float) { return 0; }
    static double value(float x) {
        const auto input = static_cast<double>(x);
        double a = std::abs(input);
        a = a > 20 ? 20 : a;  // one
        const double twice = a * 0x1.71547652b82fep+1, n = twice + to_integer;
        // of e^2a - 1
        const double power = scaled(1.0, n);
        const double grown = std::fma(power, exp2_minus_1(twice - (n - to_integer)), power - 1);
        const double y = std::copysign(grown / (grown + 2), input);
        return input != input ? input : y;
    }
};

/// A column of F, which flushes or does not, by a guess where it is sure.
template <class Guess, bool Ftz, auto F>
inline void run_guessed(void* const* outputs, const void* const* inputs, std::size_t count) {
    const auto* const in = static_cast<const std::byte*>(inputs[0]);
    auto* const out = static_cast<std::byte*>(outputs[0]);
    constexpr std::size_t piece = 32;
    std::size_t at = 0;
    for (; at + piece <= count; at += piece) {
        alignas(64) std::array<float, piece> results;
        alignas(64) std::array<std::uint32_t, piece> doubts;
        for (std::size_t i = 0; i < piece; ++i) {
            const float x = flushed<Ftz>(read<float>(in, at + i));
            const double y = Guess::value(x);
            const auto low = static_cast<float>(y * (1 - guess_error));
            const auto high = static_cast<float>(y * (1 + guess_error));
            results[i] = flushed<Ftz>(low != low ? canonical_nan : low);
            doubts[i] =
                (std::bit_cast<std::uint32_t>(low) ^ std::bit_cast<std::uint32_t>(high)) | Guess::doubt(x);
        }
        std::uint32_t unsure = 0;
        for (const std::uint32_t doubt : doubts) unsure |= doubt;
        if (unsure != 0) [[unlikely]]
            for (std::size_t i = 0; i < piece; ++i) results[i] = F(read<float>(in, at + i));
        std::memcpy(out + at * sizeof(float), results.data(), sizeof results);
    }
    for (; at < count; ++at) write(out, at, F(read<float>(in, at)));
}
template <class Guess, bool Ftz, auto F> struct Guessed {
    PTXGRAFT_AVX2 static void columns_avx2(void* const* outputs, const void* const* inputs,
                                           std::size_t count) {
        run_guessed<Guess, Ftz, F>(outputs, inputs, count);
    }
    PTXGRAFT_AVX512 static void columns_avx512(void* const* outputs, const void* const* inputs,
                                               std::size_t count) {
        run_guessed<Guess, Ftz, F>(outputs, inputs, count);
    }
};
/// F on processors without fused multiplication, elsewhere its guess.
template <class Guess, bool Ftz, auto F> constexpr PureInstruction make_guessed() {
    PureInstruction made = make<F>();
#if defined(__x86_64__)
    made.first[1] = Guessed<Guess, Ftz, F>::columns_avx2;
    made.first[2] = Guessed<Guess, Ftz, F>::columns_avx512;
#endif
    return made;
}

}  // namespace ptxgraft::arithmetic
