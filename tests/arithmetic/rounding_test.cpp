// Arithmetic of floating point against an independent reference: the host's own arithmetic and rounding
// modes, and for the 16-bit formats a search for the nearest value in a table of all.

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "support/arithmetic_run.hpp"
#include "support/open_forms.hpp"

namespace ptxgraft::arithmetic {
namespace {

struct RoundingMode {
    const char* word;
    int mode;
};
constexpr RoundingMode rounding_modes[] = {
    {".rn", FE_TONEAREST}, {".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}};

template <class T> T under(int mode, const std::function<T()>& operation) {
    std::fesetround(mode);
    const T result = operation();
    std::fesetround(FE_TONEAREST);
    return result;
}
u32 expect32(float result) { return std::isnan(result) ? 0x7FFFFFFFu : bits(result); }
void expect_f32(u64 actual, float expected, const std::string& what) {
    EXPECT_EQ(static_cast<u32>(actual), expect32(expected)) << what;
}
void expect_f64(u64 actual, double expected, const std::string& what) {
    if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(f64(actual))) << what;
    else
        EXPECT_EQ(actual, std::bit_cast<u64>(expected)) << what;
}
std::string show(const std::string& name, std::initializer_list<u64> operands) {
    std::string text = name;
    for (const u64 o : operands) {
        char hex[24];
        std::snprintf(hex, sizeof hex, " %llx", static_cast<unsigned long long>(o));
        text += hex;
    }
    return text;
}

constexpr std::size_t many_samples = 32 * 300;

TEST(Arithmetic, F32InEveryRoundingMode) {
    const auto a = random32(many_samples, 1), b = random32(many_samples, 2), c = random32(many_samples, 3);
    const struct {
        const char* name;
        float (*operation)(float, float);
    } operations[] = {{"add",
                       [](float x, float y) {
                           volatile float a = x, b = y;
                           volatile float r = a + b;
                           return float{r};
                       }},
                      {"sub",
                       [](float x, float y) {
                           volatile float a = x, b = y;
                           volatile float r = a - b;
                           return float{r};
                       }},
                      {"mul",
                       [](float x, float y) {
                           volatile float a = x, b = y;
                           volatile float r = a * b;
                           return float{r};
                       }},
                      {"div", [](float x, float y) {
                           volatile float a = x, b = y;
                           volatile float r = a / b;
                           return float{r};
                       }}};
    for (const RoundingMode& mode : rounding_modes) {
        for (const auto& operation : operations) {
            const std::string name = std::string(operation.name) + mode.word + ".f32";
            const auto results = evaluate(name, {a, b});
            for (std::size_t i = 0; i < many_samples; ++i)
                expect_f32(results[i][0],
                           under<float>(mode.mode, [&] { return operation.operation(f32(a[i]), f32(b[i])); }),
                           show(name, {a[i], b[i]}));
        }
        const std::string name = std::string("fma") + mode.word + ".f32";
        const auto results = evaluate(name, {a, b, c});
        for (std::size_t i = 0; i < many_samples; ++i) {
            volatile float x = f32(a[i]), y = f32(b[i]), z = f32(c[i]);
            expect_f32(results[i][0], under<float>(mode.mode, [&] { return std::fma(x, y, z); }),
                       show(name, {a[i], b[i], c[i]}));
        }
        const auto roots = evaluate(std::string("sqrt") + mode.word + ".f32", {a});
        const auto reciprocals = evaluate(std::string("rcp") + mode.word + ".f32", {a});
        for (std::size_t i = 0; i < many_samples; ++i) {
            volatile float x = f32(a[i]);
            expect_f32(roots[i][0],
                       under<float>(mode.mode,
                                    [&] {
                                        volatile float r = std::sqrt(x);
                                        return r;
                                    }),
                       show(mode.word, {a[i]}));
            expect_f32(reciprocals[i][0], under<float>(mode.mode, [&] { return 1.0f / x; }),
                       show(mode.word, {a[i]}));
        }
    }
}

TEST(Arithmetic, F64InEveryRoundingMode) {
    const auto a = random64(many_samples, 4), b = random64(many_samples, 5), c = random64(many_samples, 6);
    for (const RoundingMode& mode : rounding_modes) {
        const std::string suffix = std::string(mode.word) + ".f64";
        const auto sum = evaluate("add" + suffix, {a, b}), difference = evaluate("sub" + suffix, {a, b}),
                   product = evaluate("mul" + suffix, {a, b}), quotient = evaluate("div" + suffix, {a, b}),
                   fused = evaluate("fma" + suffix, {a, b, c}), root = evaluate("sqrt" + suffix, {a});
        for (std::size_t i = 0; i < many_samples; ++i) {
            volatile double x = f64(a[i]), y = f64(b[i]), z = f64(c[i]);
            const std::string what = show(suffix, {a[i], b[i], c[i]});
            expect_f64(sum[i][0], under<double>(mode.mode, [&] { return x + y; }), what);
            expect_f64(difference[i][0], under<double>(mode.mode, [&] { return x - y; }), what);
            expect_f64(product[i][0], under<double>(mode.mode, [&] { return x * y; }), what);
            expect_f64(quotient[i][0], under<double>(mode.mode, [&] { return x / y; }), what);
            expect_f64(fused[i][0], under<double>(mode.mode, [&] { return std::fma(x, y, z); }), what);
            expect_f64(root[i][0],
                       under<double>(mode.mode,
                                     [&] {
                                         volatile double r = std::sqrt(x);
                                         return r;
                                     }),
                       what);
        }
    }
}

float flushed(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }
float saturate(float a) { return std::isnan(a) || a <= 0 ? 0.0f : std::min(a, 1.0f); }

TEST(Arithmetic, FlushAndSaturate) {
    const auto a = random32(many_samples, 7), b = random32(many_samples, 8), c = random32(many_samples, 9);
    const auto ftz = evaluate("mul.ftz.f32", {a, b}), sat = evaluate("add.sat.f32", {a, b}),
               both = evaluate("fma.rn.ftz.sat.f32", {a, b, c}),
               fused = evaluate("fma.rn.ftz.f32", {a, b, c}), negated = evaluate("neg.ftz.f32", {a});
    for (std::size_t i = 0; i < many_samples; ++i) {
        const float x = flushed(f32(a[i])), y = flushed(f32(b[i])), z = flushed(f32(c[i]));
        expect_f32(ftz[i][0], flushed(x * y), show("mul.ftz", {a[i], b[i]}));
        expect_f32(sat[i][0], saturate(f32(a[i]) + f32(b[i])), show("add.sat", {a[i], b[i]}));
        expect_f32(fused[i][0], flushed(std::fma(x, y, z)), show("fma.ftz", {a[i], b[i], c[i]}));
        expect_f32(both[i][0], saturate(flushed(std::fma(x, y, z))), show("fma.ftz.sat", {a[i], b[i], c[i]}));
        if (!std::isnan(x)) expect_f32(negated[i][0], -x, show("neg.ftz", {a[i]}));
    }
}

// All finite values of a 16-bit format in order, to find the nearest to an exact value.
struct Table {
    int fraction_bits, bias;
    std::vector<std::pair<__float128, u32>> values;  // magnitudes from 0
    Table(int fraction, int exponent_bias, u32 largest) : fraction_bits(fraction), bias(exponent_bias) {
        for (u32 m = 0; m <= largest; ++m) values.emplace_back(static_cast<__float128>(decode(m)), m);
    }
    [[nodiscard]] double decode(u32 raw) const {
        const u32 m = raw & 0x7FFF;
        const int exponent = static_cast<int>(m >> fraction_bits);
        const u32 fraction = m & ((1u << fraction_bits) - 1);
        const double sign = (raw & 0x8000) != 0 ? -1 : 1;
        if (exponent == (1 << (15 - fraction_bits)) - 1)
            return fraction != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
        return sign * (exponent == 0
                           ? std::ldexp(fraction, 1 - bias - fraction_bits)
                           : std::ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits));
    }
    [[nodiscard]] u32 nearest(__float128 exact, bool negative_zero) const {
        if (exact != exact) return 0x7FFF;
        const u32 sign = exact < 0 || (exact == 0 && negative_zero) ? 0x8000u : 0;
        const __float128 magnitude = exact < 0 ? -exact : exact;
        auto above = std::lower_bound(values.begin(), values.end(), magnitude,
                                      [](const auto& v, __float128 m) { return v.first < m; });
        if (above != values.end() && above->first == magnitude) return sign | above->second;
        const auto below = above - 1;
        // where infinity stands
        const __float128 next = above == values.end() ? below->first * 2 - (below - 1)->first : above->first;
        const __float128 to_below = magnitude - below->first, to_above = next - magnitude;
        const u32 upper = below->second + 1;
        if (to_below != to_above) return sign | (to_below < to_above ? below->second : upper);
        return sign | ((below->second & 1) != 0 ? upper : below->second);
    }
};

std::vector<u64> random16(std::size_t n, unsigned seed) {
    std::mt19937 random(seed);
    constexpr u32 special[] = {0,      0x8000, 1,      0x8001, 0x3FF,  0x400,  0x3C00, 0xBC00, 0x7BFF,
                               0xFBFF, 0x7C00, 0xFC00, 0x7E00, 0x7F80, 0xFF80, 0x7F7F, 0x3F80, 0x7FFF};
    std::vector<u64> values(n);
    for (u64& v : values) v = random() % 4 == 0 ? special[random() % std::size(special)] : random() & 0xFFFF;
    return values;
}

// a + b; where float128 loses bits of it, moved a little to the side of what was lost, so that no tie is
// invented.
__float128 sum_past_ties(__float128 a, __float128 b) {
    const __float128 sum = a + b, b_part = sum - a;
    const __float128 lost = (a - (sum - b_part)) + (b - b_part);
    const __float128 little = (sum < 0 ? -sum : sum) * 0x1p-100;
    return lost == 0 ? sum : lost > 0 ? sum + little : sum - little;
}

void check_half(const std::string& type, const Table& table, unsigned seed) {
    const auto a = random16(many_samples, seed), b = random16(many_samples, seed + 1),
               c = random16(many_samples, seed + 2);
    const auto sum = evaluate("add.rn." + type, {a, b}), product = evaluate("mul." + type, {a, b}),
               fused = evaluate("fma.rn." + type, {a, b, c}),
               relu = evaluate("fma.rn.relu." + type, {a, b, c});
    for (std::size_t i = 0; i < many_samples; ++i) {
        const double x = table.decode(static_cast<u32>(a[i])), y = table.decode(static_cast<u32>(b[i])),
                     z = table.decode(static_cast<u32>(c[i]));
        const bool finite = std::isfinite(x) && std::isfinite(y) && std::isfinite(z);
        const std::string what = show(type, {a[i], b[i], c[i]});
        if (!finite) {
            const double special = std::fma(x, y, z);
            const u32 expected = std::isnan(special)   ? 0x7FFFu
                                 : std::isinf(special) ? table.nearest(special > 0 ? 1e300 : -1e300, false)
                                                       : ~0u;
            if (expected != ~0u) { EXPECT_EQ(fused[i][0] & 0xFFFF, expected) << what; }
            continue;
        }
        EXPECT_EQ(sum[i][0] & 0xFFFF, table.nearest(static_cast<__float128>(x) + y, std::signbit(x + y)))
            << what;
        EXPECT_EQ(product[i][0] & 0xFFFF, table.nearest(static_cast<__float128>(x) * y, std::signbit(x * y)))
            << what;
        const u32 expected =
            table.nearest(sum_past_ties(static_cast<__float128>(x) * y, z), std::signbit(std::fma(x, y, z)));
        EXPECT_EQ(fused[i][0] & 0xFFFF, expected) << what;
        EXPECT_EQ(relu[i][0] & 0xFFFF, (expected & 0x8000) != 0 ? 0u : expected) << what;
    }
}
TEST(Arithmetic, F16AgainstATableOfAllValues) { check_half("f16", Table(10, 15, 0x7BFF), 10); }
TEST(Arithmetic, Bf16AgainstATableOfAllValues) { check_half("bf16", Table(7, 127, 0x7F7F), 20); }

TEST(Arithmetic, PackedHalvesDoEachHalf) {
    std::mt19937 random(30);
    std::vector<u64> a(320), b(320), c(320);
    for (auto* column : {&a, &b, &c})
        for (u64& v : *column) v = random();
    for (const std::string type : {"f16", "bf16"}) {
        for (const std::string operation : {"add.rn.", "mul.rn.", "fma.rn.", "min.", "max.NaN."}) {
            std::vector<std::vector<u64>> in =
                operation == "fma.rn." ? std::vector{a, b, c} : std::vector{a, b};
            const auto packed = evaluate(operation + type + "x2", in);
            const auto low = evaluate(operation + type, in);
            for (auto& column : in)
                for (u64& v : column) v >>= 16;
            const auto high = evaluate(operation + type, in);
            for (std::size_t i = 0; i < a.size(); ++i)
                EXPECT_EQ(packed[i][0], (high[i][0] & 0xFFFF) << 16 | (low[i][0] & 0xFFFF))
                    << operation << type;
        }
    }
}

TEST(Arithmetic, FloatsToIntegersClampAndRound) {
    const auto a = random32(many_samples, 40);
    const auto d = random64(many_samples, 41);
    const struct {
        const char* word;
        double (*round)(double);
    } roundings[] = {{".rni", [](double x) { return std::nearbyint(x); }},
                     {".rzi", [](double x) { return std::trunc(x); }},
                     {".rmi", [](double x) { return std::floor(x); }},
                     {".rpi", [](double x) { return std::ceil(x); }}};
    for (const auto& rounding : roundings) {
        const auto check = [&](const std::string& type, auto least, auto most, bool nan_is_high_of_f32) {
            using T = decltype(least);
            const auto from32 = evaluate(std::string("cvt") + rounding.word + "." + type + ".f32", {a});
            const auto from64 = evaluate(std::string("cvt") + rounding.word + "." + type + ".f64", {d});
            const T high = static_cast<T>(u64{1} << (sizeof(T) * 8 - 1));
            const auto expected = [&](double x, bool nan_high) -> T {
                if (std::isnan(x)) return nan_high ? high : T{0};
                const long double r = rounding.round(x);
                if (r < static_cast<long double>(least)) return least;
                if (r > static_cast<long double>(most)) return most;
                return static_cast<T>(r);
            };
            for (std::size_t i = 0; i < many_samples; ++i) {
                EXPECT_EQ(static_cast<T>(from32[i][0]), expected(f32(a[i]), nan_is_high_of_f32))
                    << show(type + rounding.word, {a[i]});
                EXPECT_EQ(static_cast<T>(from64[i][0]), expected(f64(d[i]), true))
                    << show(type + rounding.word, {d[i]});
            }
        };
        check("s32", INT32_MIN, INT32_MAX, false);
        check("u32", u32{0}, UINT32_MAX, false);
        check("s64", INT64_MIN, INT64_MAX, true);
        check("u64", u64{0}, UINT64_MAX, true);
        check("u8", std::uint8_t{0}, std::uint8_t{255}, false);
        check("s16", std::int16_t{-32768}, std::int16_t{32767}, false);
    }
}

TEST(Arithmetic, IntegersToFloatsInEveryRoundingMode) {
    std::mt19937_64 random(50);
    std::vector<u64> a(many_samples);
    for (u64& v : a) v = random() >> (random() % 64);
    for (std::size_t i = 0; i < many_samples; i += 5) a[i] = ~a[i];
    for (const RoundingMode& mode : rounding_modes) {
        const auto check = [&](const std::string& type, auto sample) {
            using T = decltype(sample);
            const auto single = evaluate(std::string("cvt") + mode.word + ".f32." + type, {a});
            const auto twice = evaluate(std::string("cvt") + mode.word + ".f64." + type, {a});
            for (std::size_t i = 0; i < many_samples; ++i) {
                volatile T x = static_cast<T>(a[i]);
                // A long double holds every 64-bit integer: one rounding.
                volatile long double exact = static_cast<long double>(x);
                expect_f32(single[i][0], under<float>(mode.mode, [&] { return static_cast<float>(exact); }),
                           show(type + mode.word, {a[i]}));
                expect_f64(twice[i][0], under<double>(mode.mode, [&] { return static_cast<double>(exact); }),
                           show(type + mode.word, {a[i]}));
            }
        };
        check("s32", std::int32_t{});
        check("u32", u32{});
        check("s64", std::int64_t{});
        check("u64", u64{});
        check("u8", std::uint8_t{});
    }
}

TEST(Arithmetic, FloatsToFloats) {
    const auto d = random64(many_samples, 60), a = random32(many_samples, 61);
    for (const RoundingMode& mode : rounding_modes) {
        const auto narrowed = evaluate(std::string("cvt") + mode.word + ".f32.f64", {d});
        for (std::size_t i = 0; i < many_samples; ++i) {
            volatile double x = f64(d[i]);
            expect_f32(narrowed[i][0], under<float>(mode.mode, [&] { return static_cast<float>(x); }),
                       show("cvt.f32.f64", {d[i]}));
        }
    }
    const auto whole64 = evaluate("cvt.rzi.f64.f64", {d});
    for (std::size_t i = 0; i < many_samples; ++i)
        expect_f64(whole64[i][0], std::trunc(f64(d[i])), show("cvt.rzi.f64.f64", {d[i]}));
    const Table half(10, 15, 0x7BFF), bfloat(7, 127, 0x7F7F);
    const auto to_half = evaluate("cvt.rn.f16.f32", {a}), to_bfloat = evaluate("cvt.rn.bf16.f32", {a}),
               widened = evaluate("cvt.f64.f32", {a}), whole = evaluate("cvt.rmi.f32.f32", {a});
    for (std::size_t i = 0; i < many_samples; ++i) {
        const float x = f32(a[i]);
        expect_f64(widened[i][0], static_cast<double>(x), show("cvt.f64.f32", {a[i]}));
        expect_f32(whole[i][0], std::floor(x), show("cvt.rmi", {a[i]}));
        if (std::isinf(x)) continue;
        EXPECT_EQ(to_half[i][0], half.nearest(x, std::signbit(x))) << show("cvt.f16.f32", {a[i]});
        EXPECT_EQ(to_bfloat[i][0], bfloat.nearest(x, std::signbit(x))) << show("cvt.bf16.f32", {a[i]});
    }
    for (u32 h = 0; h < 0x10000; ++h) {
        const double expected = half.decode(h);
        const u64 actual = one("cvt.f32.f16", {h});
        expect_f32(actual, static_cast<float>(expected), show("cvt.f32.f16", {h}));
        if (h % 64 != 0) h += 6;
    }
}

}  // namespace
}  // namespace ptxgraft::arithmetic
