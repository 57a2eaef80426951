// Every pure instruction of the emulator against an independent reference: the host's own arithmetic and
// rounding modes, the loops of the manual's semantics, and for the 16-bit formats a search for the nearest
// value in a table of all.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "support/arithmetic_run.hpp"
#include "support/open_forms.hpp"

namespace ptxgraft::arithmetic {
namespace {

struct Mode {
    const char* word;
    int mode;
};
constexpr Mode modes[] = {
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

constexpr std::size_t samples = 32 * 300;

TEST(Arithmetic, F32InEveryRoundingMode) {
    const auto a = random32(samples, 1), b = random32(samples, 2), c = random32(samples, 3);
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
    for (const Mode& mode : modes) {
        for (const auto& operation : operations) {
            const std::string name = std::string(operation.name) + mode.word + ".f32";
            const auto results = evaluate(name, {a, b});
            for (std::size_t i = 0; i < samples; ++i)
                expect_f32(results[i][0],
                           under<float>(mode.mode, [&] { return operation.operation(f32(a[i]), f32(b[i])); }),
                           show(name, {a[i], b[i]}));
        }
        const std::string name = std::string("fma") + mode.word + ".f32";
        const auto results = evaluate(name, {a, b, c});
        for (std::size_t i = 0; i < samples; ++i) {
            volatile float x = f32(a[i]), y = f32(b[i]), z = f32(c[i]);
            expect_f32(results[i][0], under<float>(mode.mode, [&] { return std::fma(x, y, z); }),
                       show(name, {a[i], b[i], c[i]}));
        }
        const auto roots = evaluate(std::string("sqrt") + mode.word + ".f32", {a});
        const auto reciprocals = evaluate(std::string("rcp") + mode.word + ".f32", {a});
        for (std::size_t i = 0; i < samples; ++i) {
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
    const auto a = random64(samples, 4), b = random64(samples, 5), c = random64(samples, 6);
    for (const Mode& mode : modes) {
        const std::string suffix = std::string(mode.word) + ".f64";
        const auto sum = evaluate("add" + suffix, {a, b}), difference = evaluate("sub" + suffix, {a, b}),
                   product = evaluate("mul" + suffix, {a, b}), quotient = evaluate("div" + suffix, {a, b}),
                   fused = evaluate("fma" + suffix, {a, b, c}), root = evaluate("sqrt" + suffix, {a});
        for (std::size_t i = 0; i < samples; ++i) {
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

float flush(float a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0f, a) : a; }
float saturate(float a) { return std::isnan(a) || a <= 0 ? 0.0f : std::min(a, 1.0f); }

TEST(Arithmetic, FlushAndSaturate) {
    const auto a = random32(samples, 7), b = random32(samples, 8), c = random32(samples, 9);
    const auto ftz = evaluate("mul.ftz.f32", {a, b}), sat = evaluate("add.sat.f32", {a, b}),
               both = evaluate("fma.rn.ftz.sat.f32", {a, b, c}),
               fused = evaluate("fma.rn.ftz.f32", {a, b, c}), negated = evaluate("neg.ftz.f32", {a});
    for (std::size_t i = 0; i < samples; ++i) {
        const float x = flush(f32(a[i])), y = flush(f32(b[i])), z = flush(f32(c[i]));
        expect_f32(ftz[i][0], flush(x * y), show("mul.ftz", {a[i], b[i]}));
        expect_f32(sat[i][0], saturate(f32(a[i]) + f32(b[i])), show("add.sat", {a[i], b[i]}));
        expect_f32(fused[i][0], flush(std::fma(x, y, z)), show("fma.ftz", {a[i], b[i], c[i]}));
        expect_f32(both[i][0], saturate(flush(std::fma(x, y, z))), show("fma.ftz.sat", {a[i], b[i], c[i]}));
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
    const auto a = random16(samples, seed), b = random16(samples, seed + 1), c = random16(samples, seed + 2);
    const auto sum = evaluate("add.rn." + type, {a, b}), product = evaluate("mul." + type, {a, b}),
               fused = evaluate("fma.rn." + type, {a, b, c}),
               relu = evaluate("fma.rn.relu." + type, {a, b, c});
    for (std::size_t i = 0; i < samples; ++i) {
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
    const auto a = random32(samples, 40);
    const auto d = random64(samples, 41);
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
            for (std::size_t i = 0; i < samples; ++i) {
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
    std::vector<u64> a(samples);
    for (u64& v : a) v = random() >> (random() % 64);
    for (std::size_t i = 0; i < samples; i += 5) a[i] = ~a[i];
    for (const Mode& mode : modes) {
        const auto check = [&](const std::string& type, auto sample) {
            using T = decltype(sample);
            const auto single = evaluate(std::string("cvt") + mode.word + ".f32." + type, {a});
            const auto twice = evaluate(std::string("cvt") + mode.word + ".f64." + type, {a});
            for (std::size_t i = 0; i < samples; ++i) {
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
    const auto d = random64(samples, 60), a = random32(samples, 61);
    for (const Mode& mode : modes) {
        const auto narrowed = evaluate(std::string("cvt") + mode.word + ".f32.f64", {d});
        for (std::size_t i = 0; i < samples; ++i) {
            volatile double x = f64(d[i]);
            expect_f32(narrowed[i][0], under<float>(mode.mode, [&] { return static_cast<float>(x); }),
                       show("cvt.f32.f64", {d[i]}));
        }
    }
    const auto whole64 = evaluate("cvt.rzi.f64.f64", {d});
    for (std::size_t i = 0; i < samples; ++i)
        expect_f64(whole64[i][0], std::trunc(f64(d[i])), show("cvt.rzi.f64.f64", {d[i]}));
    const Table half(10, 15, 0x7BFF), bfloat(7, 127, 0x7F7F);
    const auto to_half = evaluate("cvt.rn.f16.f32", {a}), to_bfloat = evaluate("cvt.rn.bf16.f32", {a}),
               widened = evaluate("cvt.f64.f32", {a}), whole = evaluate("cvt.rmi.f32.f32", {a});
    for (std::size_t i = 0; i < samples; ++i) {
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

// Rows: name, inputs, result. Values are the manual's examples or worked by hand.
TEST(Arithmetic, Rows) {
    const struct {
        const char* name;
        std::vector<u64> inputs;
        u64 expected;
        std::size_t operands = 0;
    } rows[] = {
        {"fns.b32", {0xaaaaaaaa, 3, 1}, 3},
        {"fns.b32", {0xaaaaaaaa, 3, static_cast<u64>(-1)}, 3},
        {"fns.b32", {0xaaaaaaaa, 2, 1}, 3},
        {"fns.b32", {0xaaaaaaaa, 2, static_cast<u64>(-1)}, 1},
        {"fns.b32", {0xaaaaaaaa, 2, 0}, 0xFFFFFFFF},
        {"szext.wrap.u32", {0xffffffff, 0}, 0},
        {"szext.clamp.s32", {0x80, 8}, 0xFFFFFF80},
        {"bmsk.clamp.b32", {4, 8}, 0xFF0},
        {"bmsk.clamp.b32", {4, 32}, 0xFFFFFFF0},
        {"bmsk.wrap.b32", {4, 32}, 0},
        {"lop3.b32", {0x0F0F0F0F, 0x33333333, 0x55555555, 0x40}, 0x0F0F0F0F & 0x33333333 & ~0x55555555u},
        {"prmt.b32", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
        {"prmt.b32", {0x80, 0, 0x0008}, 0x808080FF},
        {"prmt.b32.b4e", {0x33221100, 0x77665544, 1}, 0x66770011},
        {"prmt.b32.rc16", {0x33221100, 0x77665544, 1}, 0x33223322},
        {"shf.l.wrap.b32", {0x80000000, 1, 1}, 3},
        {"shf.r.clamp.b32", {1, 2, 40}, 2},
        {"shl.b32", {1, 32}, 0},
        {"shr.s32", {0x80000000, 99}, 0xFFFFFFFF},
        {"shr.u32", {0x80000000, 31}, 1},
        {"bfe.s32", {0x00000F00, 8, 4}, 0xFFFFFFFF},
        {"bfe.u32", {0x00000F00, 8, 4}, 0xF},
        {"bfe.s32", {0x80000000, 40, 4}, 0xFFFFFFFF},
        {"bfe.s32", {0x80000000, 40, 0}, 0},
        {"bfi.b32", {0xAB, 0xFFFFFFFF, 8, 8}, 0xFFFFABFF},
        {"bfi.b32", {0xAB, 0xFFFFFFFF, 8, 0}, 0xFFFFFFFF},
        {"bfind.u32", {0}, 0xFFFFFFFF},
        {"bfind.s32", {0xFFFFFFFF}, 0xFFFFFFFF},
        {"bfind.u32", {0x00010000}, 16},
        {"bfind.shiftamt.u32", {0x00010000}, 15},
        {"clz.b64", {1}, 63},
        {"popc.b64", {0xFF00FF00FF00FF00}, 32},
        {"brev.b32", {1}, 0x80000000},
        {"sad.u32", {3, 10, 5}, 12},
        {"sad.s32", {static_cast<u32>(-3), 10, 5}, 18},
        {"mul.hi.u32", {0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFE},
        {"mul.hi.s32", {0xFFFFFFFF, 0xFFFFFFFF}, 0},
        {"mul.wide.s32", {0xFFFFFFFF, 2}, static_cast<u64>(-2)},
        {"mul.wide.u16", {0xFFFF, 0xFFFF}, 0xFFFE0001},
        {"mad.wide.s32", {0xFFFFFFFF, 3, 10}, 7},
        {"mad.hi.sat.s32", {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}, 0x7FFFFFFF},
        {"mul.hi.u64", {0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF}, 0xFFFFFFFFFFFFFFFE},
        {"add.sat.s32", {0x7FFFFFFF, 1}, 0x7FFFFFFF},
        {"sub.sat.s32", {0x80000000, 1}, 0x80000000},
        {"div.s32", {0x80000000, 0xFFFFFFFF}, 0x80000000},
        {"rem.s32", {static_cast<u32>(-7), 2}, static_cast<u32>(-1)},
        {"abs.s32", {0x80000000}, 0x80000000},
        // NaNs: that of an addition, or the bits of a move, as ptxas has it
        {"abs.f32", {0xFFC00001}, 0x7FFFFFFF},
        {"neg.ftz.f32", {0x7F800001}, 0x7FFFFFFF},
        {"abs.f16", {0xFE01}, 0x7FFF},
        {"neg.bf16", {0x7F81}, 0x7FFF},
        {"neg.f16x2", {0x7E013C00}, 0x7FFFBC00},
        {"cvt.f32.bf16", {0xFF81}, 0xFF810000},
        {"cvt.rz.f32.bf16", {0x7FC1}, 0x7FC10000},
        {"cvt.ftz.f32.bf16", {0x7FC1}, 0x7FFFFFFF},
        {"cvt.f32.f16", {0x7E01}, 0x7FFFFFFF},
        {"cvt.f32.f32", {0x7F800001}, 0x7F800001},
        {"cvt.ftz.f32.f32", {0x7F800001}, 0x7FFFFFFF},
        {"cvt.f64.f64", {0x7FF0000000000001}, 0x7FF0000000000001},
        {"cvt.f16.f16", {0x7E01}, 0x7FFF},
        {"min.relu.s32", {static_cast<u32>(-5), 3}, 0},
        {"ex2.approx.ftz.f32", {bits(3.0f)}, bits(8.0f)},
        {"max.s16x2", {0x0001FFFF, 0xFFFF0002}, 0x00010002},
        {"dp4a.s32.s32", {0xFF02FE03, 0x01010101, 10}, 10 + static_cast<u32>(-1 + 2 - 2 + 3)},
        {"dp4a.u32.s32", {0xFF000000, 0xFF000000, 0}, static_cast<u32>(-255)},
        {"dp2a.hi.s32.u32", {0x0002FFFF, 0x05030000, 1}, static_cast<u32>(1 - 3 + 10)},
        {"cvt.s32.s8", {0x80}, 0xFFFFFF80},
        {"cvt.u32.s8", {0x80}, 0xFFFFFF80},
        {"cvt.u8.u32", {0x1FF}, 0xFF},
        {"cvt.sat.u8.s32", {static_cast<u32>(-5)}, 0},
        {"cvt.sat.s8.s32", {1000}, 127},
        {"cvt.sat.s32.u32", {0xFFFFFFFF}, 0x7FFFFFFF},
        {"cvt.s64.s32", {0xFFFFFFFF}, 0xFFFFFFFFFFFFFFFF},
        {"cvt.u64.u32", {0xFFFFFFFF}, 0xFFFFFFFF},
        {"cvt.pack.sat.u8.s32.b32", {300, static_cast<u32>(-1), 0x0000ABCD}, 0xABCDFF00},
        {"cvt.pack.sat.s16.s32", {40000, static_cast<u32>(-40000)}, 0x7FFF8000},
        {"cvt.rn.f16x2.f32", {bits(1.0f), bits(2.0f)}, 0x3C004000},
        {"cvt.rn.bf16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3F80C000},
        {"cvt.rn.relu.bf16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3F800000},
        {"cvt.rn.satfinite.f16.f32", {bits(1e9f)}, 0x7BFF},
        {"cvt.rna.tf32.f32", {bits(1.0f) + 0x1000}, bits(1.0f) + 0x2000},
        {"cvt.rn.tf32.f32", {bits(1.0f) + 0x1000}, bits(1.0f)},
        {"cvt.rn.satfinite.e4m3x2.f32", {bits(1000.0f), bits(1.0f)}, 0x7E38},
        {"cvt.rn.satfinite.e5m2x2.f32", {bits(-1.0f), bits(0.5f)}, 0xBC38},
        {"cvt.rn.f16x2.e4m3x2", {0x7E38}, 0x5F003C00},
        {"cvt.sat.f32.f32", {bits(-3.0f)}, 0},
        {"copysign.f32", {bits(-1.0f), bits(5.0f)}, bits(-5.0f)},
        {"min.f32", {0x80000000, 0}, 0x80000000},
        {"max.f32", {0x80000000, 0}, 0},
        {"min.f32", {0x7FC00000, bits(3.0f)}, bits(3.0f)},
        {"min.NaN.f32", {0x7FC00000, bits(3.0f)}, 0x7FFFFFFF},
        {"max.xorsign.abs.f32", {bits(-4.0f), bits(3.0f)}, bits(-4.0f)},
        {"max.xorsign.abs.f32", {bits(-4.0f), bits(-3.0f)}, bits(4.0f)},
        {"max.f32", {bits(1.0f), bits(9.0f), bits(4.0f)}, bits(9.0f)},
        {"testp.normal.f32", {0}, 1},
        {"testp.subnormal.f32", {1}, 1},
        {"testp.notanumber.f64", {0x7FF8000000000000}, 1},
        {"setp.lt.f32", {bits(1.0f), bits(2.0f)}, 1},
        {"setp.lt.f32", {0x7FC00000, bits(2.0f)}, 0},
        {"setp.ltu.f32", {0x7FC00000, bits(2.0f)}, 1},
        {"setp.neu.f32", {0x7FC00000, 0x7FC00000}, 1},
        {"setp.ne.f32", {0x7FC00000, bits(2.0f)}, 0},
        {"setp.num.f64", {0, 0x7FF8000000000000}, 0},
        {"setp.eq.ftz.f32", {1, 0}, 1},
        {"setp.eq.f32", {1, 0}, 0},
        {"setp.hi.u32", {0xFFFFFFFF, 1}, 1},
        {"setp.gt.s32", {0xFFFFFFFF, 1}, 0},
        {"setp.lt.s64", {0xFFFFFFFFFFFFFFFF, 0}, 1},
        {"setp.lt.and.s32", {1, 2, 0}, 0},
        {"setp.lt.xor.s32", {1, 2, 1}, 0},
        {"setp.gt.f16", {0x4000, 0x3C00}, 1},
        {"set.lt.u32.f32", {bits(1.0f), bits(2.0f)}, 0xFFFFFFFF},
        {"set.lt.f32.s32", {1, 2}, bits(1.0f)},
        {"set.gt.or.s32.f32", {bits(1.0f), bits(2.0f), 1}, 0xFFFFFFFFFFFFFFFF},
        {"set.gt.f16x2.f16x2", {0x40003C00, 0x3C004000}, 0x3C000000},
        {"selp.b32", {7, 9, 0}, 9},
        {"slct.u32.s32", {7, 9, 0xFFFFFFFF}, 9},
        {"slct.f32.f32", {7, 9, 0x80000000}, 7},
        {"slct.f32.f32", {7, 9, 0x7FC00000}, 9},
        {"mov.f32", {0x7FC12345}, 0x7FC12345},
        {"not.pred", {0}, 1},
        {"cnot.b32", {0}, 1},
        {"add.f32x2",
         {u64{bits(1.0f)} << 32 | bits(2.0f), u64{bits(3.0f)} << 32 | bits(4.0f)},
         u64{bits(4.0f)} << 32 | bits(6.0f)},
        {"mul24.lo.s32", {0x00FFFFFF, 2}, static_cast<u32>(-2)},
        {"add.f32.f16", {0x3C00, bits(2.0f)}, bits(3.0f)},
        {"ex2.approx.f32", {bits(3.0f)}, bits(8.0f)},
        {"lg2.approx.f32", {bits(8.0f)}, bits(3.0f)},
        {"rsqrt.approx.f32", {bits(4.0f)}, bits(0.5f)},
        {"ex2.approx.f16", {0x4200}, 0x4800},
        {"ex2.approx.f32", {0xFF800000}, 0},
        {"lg2.approx.f32", {0}, 0xFF800000},
        {"rcp.approx.ftz.f64", {0x4000000000000000}, 0x3FE0000000000000},
    };
    for (const auto& row : rows) {
        const u64 actual = one(row.name, row.inputs, row.operands);
        EXPECT_EQ(actual & 0xFFFFFFFF, row.expected & 0xFFFFFFFF) << row.name << " low";
        const std::string name = row.name;
        const bool wide = name.find("64") != std::string::npos ||
                          name.find("wide.s32") != std::string::npos ||
                          name.find("f32x2") != std::string::npos;
        if (wide) { EXPECT_EQ(actual, row.expected) << row.name; }
    }
}

TEST(Arithmetic, PairsOfResults) {
    const auto both = evaluate("setp.lt.and.f32", {{bits(1.0f)}, {bits(2.0f)}, {1}}, true)[0];
    EXPECT_EQ(both[0], 1u);
    EXPECT_EQ(both[1], 0u);
    const auto halves = evaluate("setp.gt.f16x2", {{0x40003C00}, {0x3C004000}}, true)[0];
    EXPECT_EQ(halves[0], 0u);  // p is the low half's
    EXPECT_EQ(halves[1], 1u);
    const auto lop = evaluate("lop3.and.b32", {{6}, {3}, {0}, {0xC0}, {1}}, true, 6)[0];
    EXPECT_EQ(lop[0], 2u);
    EXPECT_EQ(lop[1], 1u);
}

TEST(Arithmetic, CarriesAndBorrows) {
    const auto add = *find("add.cc.u32", 3);
    EXPECT_TRUE(add.writes_carry);
    EXPECT_EQ(add.outputs, 1);
    const auto sum = evaluate("add.cc.u32", {{0xFFFFFFFF, 1}, {1, 1}});
    EXPECT_EQ(sum[0][0], 0u);
    EXPECT_EQ(sum[0][1], 1u);
    EXPECT_EQ(sum[1][1], 0u);
    const auto with = evaluate("addc.cc.u64", {{~u64{0}}, {0}, {1}}, false, 3);
    EXPECT_EQ(with[0][0], 0u);
    EXPECT_EQ(with[0][1], 1u);
    const auto difference = evaluate("sub.cc.u32", {{0}, {1}});
    EXPECT_EQ(static_cast<u32>(difference[0][0]), 0xFFFFFFFFu);
    EXPECT_EQ(difference[0][1], 0u);  // a borrow is no carry
    EXPECT_EQ(static_cast<u32>(evaluate("subc.u32", {{5}, {1}, {0}}, false, 3)[0][0]), 3u);
    EXPECT_EQ(static_cast<u32>(evaluate("subc.u32", {{5}, {1}, {1}}, false, 3)[0][0]), 4u);
    const auto product = evaluate("mad.lo.cc.u32", {{0xFFFFFFFF}, {0xFFFFFFFF}, {0xFFFFFFFF}}, false, 4);
    EXPECT_EQ(product[0][0], 0u);
    EXPECT_EQ(product[0][1], 1u);
    EXPECT_EQ(evaluate("madc.hi.u32", {{0xFFFFFFFF}, {0xFFFFFFFF}, {0}, {1}}, false, 4)[0][0], 0xFFFFFFFFu);
}

TEST(Arithmetic, CarriesOfTheFormsThatTheManualLacks) {
    const auto run = [](const char* name, u64 a, u64 b, u64 carry) {
        return evaluate(name, {{a}, {b}, {carry}}, false, 3)[0][0];
    };
    EXPECT_EQ(run("addc.u16", 0xFFFF, 1, 1) & 0xFFFF, 1u);
    EXPECT_EQ(run("addc.s16", 0x7FFF, 0, 1) & 0xFFFF, 0x8000u);
    EXPECT_EQ(run("subc.u16", 5, 3, 1) & 0xFFFF, 2u);
    EXPECT_EQ(run("subc.s16", 5, 3, 0) & 0xFFFF, 1u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0, 0)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x80000000, 0xFFFFFFFF, 0)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x80000000, 0xFFFFFFFF, 1)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0xFFFFFFFF, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x80000000, 0, 0)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x80000000, 0, 1)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x7FFFFFFF, 0xFFFFFFFF, 0)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 7, 3, 0)), 3u);
    const auto fused = [](const char* name, u64 a, u64 b, u64 c, u64 carry) {
        return evaluate(name, {{a}, {b}, {c}, {carry}}, false, 4)[0][0];
    };
    EXPECT_EQ(fused("madc.lo.s16", 0xFFFF, 3, 10, 1) & 0xFFFF, 8u);
    EXPECT_EQ(fused("madc.lo.u16", 300, 300, 1, 1) & 0xFFFF, (90000u + 2) & 0xFFFF);
    EXPECT_EQ(static_cast<u32>(fused("madc.hi.sat.s32", 0x40000000, 4, 0x7FFFFFFE, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(fused("madc.hi.sat.s32", 0x40000000, 4, 5, 1)), 7u);
    EXPECT_FALSE(find("addc.cc.u16", 3));
    EXPECT_FALSE(find("addc.sat.u32", 3));
    EXPECT_FALSE(find("madc.lo.cc.u16", 4));
}

TEST(Arithmetic, WhatIsOutsideOfATensorMakesAFusedResultZero) {
    struct Row {
        const char* name;
        u64 a, b, c, d;
    };
    constexpr Row rows[] = {
        {"fma.rn.oob.f16", 0x3C00, 0x4000, 0x3C00, 0x4200},
        {"fma.rn.oob.f16", 0x7EFF, 0x4000, 0x3C00, 0},
        {"fma.rn.oob.f16", 0x3C00, 0x7EFF, 0x3C00, 0},
        {"fma.rn.oob.f16", 0x7E00, 0x3C00, 0x3C00, 0x7FFF},
        {"fma.rn.oob.relu.f16", 0xBC00, 0x4000, 0x3C00, 0},
        {"fma.rn.oob.sat.f16", 0x3C00, 0x4000, 0x3C00, 0x3C00},
        {"fma.rn.oob.f16x2", 0x7EFF3C00, 0x40004000, 0x3C003C00, 0x4200},
        {"fma.rn.oob.bf16", 0x7FDF, 0x4000, 0x3F80, 0},
        {"fma.rn.oob.bf16", 0x3F80, 0x4000, 0x3F80, 0x4040},
        {"fma.rz.oob.bf16x2", 0x3F807FDF, 0x40004000, 0x3F803F80, 0x40400000},
        {"fma.rp.oob.relu.bf16", 0x3F80, 0x4000, 0x3F80, 0x4040},
    };
    for (const Row& row : rows)
        EXPECT_EQ(static_cast<u32>(one(row.name, {row.a, row.b, row.c}, 4)), row.d)
            << row.name << std::hex << ' ' << row.a;
    for (const char* name :
         {"fma.rz.oob.f16", "fma.rn.oob.sat.bf16", "fma.rn.oob.f32", "fma.oob.f16", "fma.rn.ftz.oob.f16"})
        EXPECT_FALSE(find(name, 4)) << name;
}

TEST(Arithmetic, WhatOnlyPtxasAccepts) {
    EXPECT_EQ(one("rcp.rn.ftz.f64", {0x4010000000000000}, 2), 0x3FD0000000000000u);
    EXPECT_EQ(one("rcp.rp.ftz.f64", {0x0008000000000000}, 2), one("rcp.rp.f64", {0x0008000000000000}, 2));
    EXPECT_EQ(one("cvt.bf16.f16", {0x3C01}, 2) & 0xFFFF, one("cvt.rn.bf16.f16", {0x3C01}, 2) & 0xFFFF);
    EXPECT_EQ(one("cvt.f16.bf16", {0x3F80}, 2) & 0xFFFF, 0x3C00u);
}

TEST(Arithmetic, ColumnsOfOtherWidthsAreReadFromTheirLowBytesAndWrittenExtended) {
    const auto found = find("add.s16", 3);
    ASSERT_TRUE(found);
    const std::array<std::uint8_t, 1> to_bytes = {4};
    const std::array<std::uint8_t, 2> from_bytes = {8, 2};
    const u64 a[] = {0x12340001, 0xFFFFFFFFFFFFFFFF};
    const std::uint16_t b[] = {2, 0xFFFF};
    std::uint32_t d[2] = {};
    void* const to[] = {d};
    const void* const from[] = {a, b};
    found->with_widths(to_bytes, from_bytes).run_columns(to, from, 2);
    EXPECT_EQ(d[0], 3u);
    EXPECT_EQ(d[1], 0xFFFFFFFEu);
}

// Operations one after the other, each on registers of 32 values, some of which the one before wrote.
TEST(Arithmetic, RowsDoWhatColumnFunctionsDoOneByOne) {
    constexpr std::size_t registers = 12, lanes = 32, count = 9;
    std::mt19937_64 random(3);
    for (const char* name : {"fma.rn.f32", "fma.rn.ftz.f32", "mul.rn.f32", "mul.ftz.f32", "add.f32",
                             "add.rn.ftz.f32", "fma.rn.f64"}) {
        const bool is_fused = std::string_view(name).starts_with("fma");
        const auto pure = find(name, is_fused ? 4 : 3);
        ASSERT_TRUE(pure) << name;
        for (const Processor level : {Processor::baseline, Processor::avx2, Processor::avx512}) {
            if (level > this_processor()) continue;
            const ColumnFunction one = pure->on(level).first_function();
            const RowFunction row = row_function(one);
            ASSERT_NE(row, nullptr) << name;
            const std::size_t bytes = pure->input_bytes[0], column = bytes * lanes,
                              operands = 1 + pure->all_inputs();
            std::vector<std::uint32_t> values(registers * column / 4);
            for (std::uint32_t& value : values)
                value = random() % 4 == 0 ? static_cast<std::uint32_t>(random())
                                          : 0x3F000000u + static_cast<std::uint32_t>(random() % 0x1000000);
            std::vector<std::uint32_t> expected = values, places;
            for (std::size_t i = 0; i < count; ++i) {
                void* to[1];
                const void* from[3];
                for (std::size_t k = 0; k < operands; ++k) {
                    const std::size_t chosen = random() % registers;
                    places.push_back(static_cast<std::uint32_t>(chosen * column) | 2);
                    (k == 0 ? to[0] : const_cast<void*&>(from[k - 1])) =
                        expected.data() + chosen * column / 4;
                }
                one(to, from, lanes);
            }
            row(reinterpret_cast<std::byte*>(values.data()), places.data(), ~31u, count);
            EXPECT_EQ(values, expected) << name;
        }
    }
}

TEST(Arithmetic, WhatIsUnknownIsNotGuessed) {
    for (const char* name : {"add.f16.sat",
                             "add.u8",
                             "add.rn.u32",
                             "fma.f32",
                             "mul.u32",
                             "cvt.f32.s32",
                             "cvt.u32.f32",
                             "cvt.rn.f16.f16",
                             "setp.lo.f32",
                             "setp.hi.s32",
                             "setp.lt.b32",
                             "min.ftz.f64",
                             "tanh.approx.ftz.f32",
                             "ex2.f32",
                             "add.sat.u64",
                             "shl.u32",
                             "add.rn.ftz.bf16",
                             "cvt.rs.f16x2.f32",
                             "ld.global.u32",
                             "bar.sync",
                             "add.frobnicate.u32",
                             "mov.b128",
                             "cvt.rn.rn.f32.f64",
                             ""})
        EXPECT_FALSE(find(name, 3)) << name;
}

TEST(Arithmetic, KnowsEveryPureFormOfTheTableThatTheManualDefines) {
    std::size_t known = 0;
    for (const std::string_view opcode : isa::pure_opcodes()) {
        for (const isa::Form& form : isa::forms(opcode)) {
            // vectors are moved by those who hold them
            if (!form.pure || form.spelling.starts_with("mov.")) continue;
            std::size_t written = 0, inputs = 0, outputs = 0;
            for (const isa::OperandSpec& operand : form.operands) {
                written += operand.is_second ? 0 : 1;
                (operand.is_output ? outputs : inputs) += operand.count;
            }
            const auto found = find(form.spelling, written, written != form.operands.size());
            EXPECT_EQ(found.has_value(), !test::is_left_open(form.spelling)) << form.name;
            if (!found) continue;
            EXPECT_EQ(found->inputs, inputs) << form.name;
            EXPECT_EQ(found->outputs, outputs) << form.name;
            ++known;
        }
    }
    EXPECT_GT(known, 5000u);
}

}  // namespace
}  // namespace ptxgraft::arithmetic
