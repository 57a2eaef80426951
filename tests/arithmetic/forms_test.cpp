// The less common pure instructions against references of their own: the manual's pseudocode on wide
// integers, searches among all values of a small format, the host's arithmetic under its rounding modes.
#include <gtest/gtest.h>

#include <algorithm>
#include <cfenv>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "ptxgraft/isa.hpp"
#include "support/arithmetic_run.hpp"
#include "support/open_forms.hpp"
#include "support/video_reference.hpp"

namespace ptxgraft::arithmetic {
namespace {

constexpr std::size_t samples = 32 * 12;

std::vector<u64> words(unsigned seed) {
    std::mt19937_64 random(seed);
    constexpr u32 special[] = {0,          1,          0x7FFFFFFF, 0x80000000, 0xFFFFFFFF,
                               0x00FF00FF, 0x80808080, 0x7F7F7F7F, 0x80007FFF, 0x7FFF8000,
                               0xFFFE0001, 32,         33,         31};
    std::vector<u64> values(samples);
    for (u64& v : values)
        v = random() % 3 == 0 ? special[random() % std::size(special)]
                              : static_cast<u32>(random() >> (random() % 32));
    return values;
}

// ---- video ------------------------------------------------------------------------------------------------

__int128 extended(u64 bits, bool is_signed, int width) {
    const u64 low = width == 64 ? bits : bits & ((u64{1} << width) - 1);
    return is_signed && (low >> (width - 1)) != 0
               ? static_cast<__int128>(low) - (static_cast<__int128>(1) << width)
               : static_cast<__int128>(low);
}
__int128 clamped(__int128 t, bool is_signed, int width) {
    const __int128 least = is_signed ? -(static_cast<__int128>(1) << (width - 1)) : 0,
                   most = (static_cast<__int128>(1) << (is_signed ? width - 1 : width)) - 1;
    return t < least ? least : t > most ? most : t;
}
TEST(Arithmetic, VideoInstructionsAgainstTheManualsPseudocode) {
    const auto a = words(1), b = words(2), c = words(3);
    int forms = 0;
    for (const char* opcode :
         {"vadd",  "vsub",  "vabsdiff", "vmin",      "vmax",      "vshl",  "vshr",  "vmad",
          "vset",  "vadd2", "vsub2",    "vavrg2",    "vabsdiff2", "vmin2", "vmax2", "vset2",
          "vadd4", "vsub4", "vavrg4",   "vabsdiff4", "vmin4",     "vmax4", "vset4"}) {
        for (const isa::Form& form : isa::forms(opcode)) {
            if (test::is_left_open(form.spelling)) continue;
            const bool has_c = form.operands.size() == 4;
            const test::Video reference(form.spelling);
            const auto results = evaluate(form.spelling, has_c ? std::vector{a, b, c} : std::vector{a, b});
            for (std::size_t i = 0; i < samples; ++i) {
                const u32 third = has_c ? static_cast<u32>(c[i]) : 0,
                          expected = reference.run(static_cast<u32>(a[i]), static_cast<u32>(b[i]), third);
                ASSERT_EQ(static_cast<u32>(results[i][0]), expected)
                    << form.spelling << std::hex << " " << a[i] << " " << b[i] << " " << c[i];
            }
            ++forms;
        }
    }
    EXPECT_GT(forms, 900);
}

// ---- small formats ----------------------------------------------------------------------------------------

struct Small {
    const char* name;
    int exponent_bits, fraction_bits;
    u32 largest;   // magnitude
    bool has_nan;  // at and above largest + 1 (e5m2: infinity first)
    [[nodiscard]] int sign_bit() const { return exponent_bits + fraction_bits; }
    [[nodiscard]] int cell() const { return sign_bit() == 3 ? 4 : 8; }
    [[nodiscard]] double decode(u32 raw) const {
        const u32 m = raw & ((1u << sign_bit()) - 1), exponent = m >> fraction_bits,
                  fraction = m & ((1u << fraction_bits) - 1);
        const double sign = (raw >> sign_bit() & 1) != 0 ? -1 : 1,
                     one = static_cast<double>(1u << fraction_bits);
        const int bias = (1 << (exponent_bits - 1)) - 1;
        if (m > largest)
            return exponent_bits == 5 && fraction == 0 ? sign * INFINITY
                                                       : std::numeric_limits<double>::quiet_NaN();
        return sign * (exponent == 0
                           ? std::pow(2.0, 1 - bias) * (fraction / one)
                           : std::pow(2.0, static_cast<int>(exponent) - bias) * (1 + fraction / one));
    }
    // The nearest by trying all; of two, the even one.
    [[nodiscard]] u32 nearest(double a, bool relu) const {
        if (std::isnan(a)) return has_nan ? (1u << sign_bit()) - 1 : largest;
        if (relu && std::signbit(a)) return 0;
        u32 best = 0;
        for (u32 m = 1; m <= largest; ++m) {
            const double to_best = std::abs(std::abs(a) - decode(best)),
                         to_this = std::abs(std::abs(a) - decode(m));
            if (to_this < to_best || (to_this == to_best && m % 2 == 0)) best = m;
        }
        if (std::abs(a) > decode(largest)) best = largest;
        return best | (std::signbit(a) ? 1u << sign_bit() : 0);
    }
};
constexpr Small smalls[] = {{"e4m3x2", 4, 3, 0x7E, true},
                            {"e5m2x2", 5, 2, 0x7B, true},
                            {"e2m3x2", 2, 3, 0x1F, false},
                            {"e3m2x2", 3, 2, 0x1F, false},
                            {"e2m1x2", 2, 1, 7, false}};

// Numbers of every size that these formats have, ties among them.
std::vector<u64> small_floats(unsigned seed) {
    std::mt19937_64 random(seed);
    std::vector<u64> values = random32(samples, seed);
    for (std::size_t i = 0; i < samples; i += 2)
        values[i] = bits(std::ldexp(static_cast<float>(static_cast<int>(random() % 255) - 127),
                                    static_cast<int>(random() % 28) - 22));
    return values;
}
double half_value(u32 raw) {
    const int exponent = static_cast<int>(raw >> 10 & 31);
    const double fraction = (raw & 0x3FF) / 1024.0, sign = (raw & 0x8000) != 0 ? -1 : 1;
    if (exponent == 31)
        return (raw & 0x3FF) != 0 ? std::numeric_limits<double>::quiet_NaN() : sign * INFINITY;
    return sign *
           (exponent == 0 ? std::pow(2.0, -14) * fraction : std::pow(2.0, exponent - 15) * (1 + fraction));
}
double bfloat_value(u32 raw) { return static_cast<double>(std::bit_cast<float>((raw & 0xFFFF) << 16)); }

TEST(Arithmetic, SmallFormatsAgainstASearchAmongAllTheirValues) {
    const auto a = small_floats(10), b = small_floats(11), pairs = words(12);
    for (const Small& format : smalls) {
        for (const bool relu : {false, true}) {
            const std::string stem = std::string("cvt.rn.satfinite.") + (relu ? "relu." : "") + format.name;
            const auto from32 = evaluate(stem + ".f32", {a, b}), from16 = evaluate(stem + ".f16x2", {pairs}),
                       from_bf16 = evaluate(stem + ".bf16x2", {pairs});
            const auto packed = [&](double high, double low) {
                return format.nearest(high, relu) << format.cell() | format.nearest(low, relu);
            };
            const u32 mask = format.cell() == 4 ? 0xFF : 0xFFFF;
            for (std::size_t i = 0; i < samples; ++i) {
                const u32 p = static_cast<u32>(pairs[i]);
                ASSERT_EQ(from32[i][0] & mask, packed(f32(a[i]), f32(b[i])))
                    << stem << " " << f32(a[i]) << " " << f32(b[i]);
                ASSERT_EQ(from16[i][0] & mask, packed(half_value(p >> 16), half_value(p & 0xFFFF)))
                    << stem << ".f16x2 " << std::hex << p;
                ASSERT_EQ(from_bf16[i][0] & mask, packed(bfloat_value(p >> 16), bfloat_value(p)))
                    << stem << ".bf16x2 " << std::hex << p;
            }
        }
    }
}

TEST(Arithmetic, SmallFormatsWidenExactly) {
    std::vector<u64> all(65536);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (const Small& format : smalls) {
        const std::vector<u64> raw(all.begin(), all.begin() + (format.cell() == 4 ? 256 : 65536));
        for (const bool relu : {false, true}) {
            const std::string rounding = relu ? "cvt.rn.relu." : "cvt.rn.";
            const auto halves = evaluate(rounding + "f16x2." + format.name, {raw}),
                       bfloats = evaluate(rounding + "bf16x2." + format.name, {raw});
            for (std::size_t i = 0; i < raw.size(); ++i) {
                for (const int part : {0, 1}) {
                    double expected = format.decode(static_cast<u32>(i >> (part * format.cell())));
                    if (relu && std::signbit(expected) && !std::isnan(expected)) expected = 0;
                    const u32 half = static_cast<u32>(halves[i][0] >> (16 * part)) & 0xFFFF,
                              bfloat = static_cast<u32>(bfloats[i][0] >> (16 * part)) & 0xFFFF;
                    if (std::isnan(expected)) {
                        ASSERT_EQ(half, 0x7FFFu);
                        ASSERT_EQ(bfloat, 0x7FFFu);
                        continue;
                    }
                    ASSERT_EQ(half_value(half), expected) << format.name << " " << i;
                    ASSERT_EQ(bfloat_value(bfloat), expected) << format.name << " " << i;
                    ASSERT_EQ(half >> 15, std::signbit(expected) ? 1u : 0u);
                }
            }
        }
    }
}

TEST(Arithmetic, Ue8m0IsAPowerOfTwo) {
    const auto a = random32(samples, 20), b = random32(samples, 21);
    for (const bool up : {false, true}) {
        for (const bool finite : {false, true}) {
            const std::string name =
                std::string("cvt.") + (up ? "rp" : "rz") + (finite ? ".satfinite" : "") + ".ue8m0x2.f32";
            const auto expected = [&](double x) -> u32 {
                if (std::isnan(x)) return 0xFF;
                if (std::isinf(x)) return finite ? 0xFE : 0xFF;
                u32 power = 0;  // the largest power that is not above |x|, or 2^-127
                while (power < 0xFE && std::pow(2.0, static_cast<int>(power) + 1 - 127) <= std::abs(x))
                    ++power;
                if (up && std::pow(2.0, static_cast<int>(power) - 127) < std::abs(x)) ++power;
                return finite ? std::min(power, 0xFEu) : power;
            };
            const auto results = evaluate(name, {a, b});
            for (std::size_t i = 0; i < samples; ++i)
                ASSERT_EQ(results[i][0] & 0xFFFF, expected(f32(a[i])) << 8 | expected(f32(b[i])))
                    << name << " " << f32(a[i]) << " " << f32(b[i]);
        }
    }
    for (u32 power = 0; power < 255; ++power)
        EXPECT_EQ(bfloat_value(static_cast<u32>(one("cvt.rn.bf16x2.ue8m0x2", {power}))),
                  std::pow(2.0, static_cast<int>(power) - 127));
    EXPECT_EQ(one("cvt.rn.bf16x2.ue8m0x2", {0xFFFF}), 0x7FFF7FFFu);
}

// ---- packed integers --------------------------------------------------------------------------------------

TEST(Arithmetic, PackedIntegersDoEachElement) {
    const auto a = words(30), b = words(31);
    const struct {
        const char* name;
        __int128 (*operation)(__int128, __int128);
    } operations[] = {
        {"add", [](__int128 x, __int128 y) { return x + y; }},
        {"sub", [](__int128 x, __int128 y) { return x - y; }},
        {"min", [](__int128 x, __int128 y) { return x < y ? x : y; }},
        {"max", [](__int128 x, __int128 y) { return x < y ? y : x; }},
        {"add.sat", [](__int128 x, __int128 y) { return x + y; }},
        {"sub.sat", [](__int128 x, __int128 y) { return x - y; }},
        {"min.relu", [](__int128 x, __int128 y) { return std::max<__int128>(x < y ? x : y, 0); }},
        {"max.relu", [](__int128 x, __int128 y) { return std::max<__int128>(x < y ? y : x, 0); }}};
    for (const auto& operation : operations) {
        for (const char* type : {"u16x2", "s16x2", "u8x4", "s8x4", "u32", "s32"}) {
            const std::string name = std::string(operation.name) + "." + type;
            const bool is_signed = type[0] == 's', is_sat = name.find("sat") != std::string::npos;
            if (!isa::find_form(name)) continue;
            const int width = name.ends_with("16x2") ? 16 : name.ends_with("8x4") ? 8 : 32;
            const auto results = evaluate(name, {a, b});
            for (std::size_t i = 0; i < samples; ++i) {
                u32 expected = 0;
                for (int at = 0; at < 32; at += width) {
                    __int128 t = operation.operation(extended(a[i] >> at, is_signed, width),
                                                     extended(b[i] >> at, is_signed, width));
                    if (is_sat) t = clamped(t, is_signed, width);
                    expected |= static_cast<u32>((static_cast<u64>(t) & ((u64{1} << width) - 1)) << at);
                }
                ASSERT_EQ(static_cast<u32>(results[i][0]), expected)
                    << name << std::hex << " " << a[i] << " " << b[i];
            }
        }
    }
    EXPECT_EQ(one("neg.s8x4", {0x80017F00}), 0x80FF8100u);
}

TEST(Arithmetic, CvtPackClampsAndShifts) {
    const auto a = words(32), b = words(33), c = words(34);
    for (const int width : {16, 8, 4, 2}) {
        for (const bool is_signed : {false, true}) {
            const std::string name = std::string("cvt.pack.sat.") + (is_signed ? "s" : "u") +
                                     std::to_string(width) + ".s32" + (width == 16 ? "" : ".b32");
            const auto results = evaluate(name, width == 16 ? std::vector{a, b} : std::vector{a, b, c});
            for (std::size_t i = 0; i < samples; ++i) {
                const auto part = [&](u64 x) {
                    return static_cast<u64>(clamped(extended(x, true, 32), is_signed, width)) &
                           ((u64{1} << width) - 1);
                };
                const u64 expected =
                    (width == 16 ? 0 : c[i] << (2 * width)) | part(a[i]) << width | part(b[i]);
                ASSERT_EQ(static_cast<u32>(results[i][0]), static_cast<u32>(expected)) << name;
            }
        }
    }
}

TEST(Arithmetic, Lop3IsItsTable) {
    const auto a = words(35), b = words(36), c = words(37);
    for (u32 table = 0; table < 256; ++table) {
        const auto results = evaluate("lop3.b32", {a, b, c, std::vector<u64>(samples, table)});
        for (std::size_t i = 0; i < samples; i += 7) {
            u32 expected = 0;
            for (int bit = 0; bit < 32; ++bit)
                expected |= (table >> ((a[i] >> bit & 1) * 4 + (b[i] >> bit & 1) * 2 + (c[i] >> bit & 1)) & 1)
                            << bit;
            ASSERT_EQ(static_cast<u32>(results[i][0]), expected) << table;
        }
    }
}

// ---- comparisons ------------------------------------------------------------------------------------------

bool truth(const std::string& word, long double a, long double b) {
    const bool unordered = std::isnan(a) || std::isnan(b);
    if (word == "num") return !unordered;
    if (word == "nan") return unordered;
    if (unordered) return word.size() == 3;  // equ …
    const std::string_view stem = std::string_view(word).substr(0, 2);
    if (stem == "eq") return a == b;
    if (stem == "ne") return a != b;
    if (stem == "lt" || word == "lo") return a < b;
    if (stem == "le" || word == "ls") return a <= b;
    if (stem == "gt" || word == "hi") return a > b;
    return a >= b;
}
struct Comparable {
    const char* type;
    int width;
    long double (*value)(u64);
};
const Comparable comparables[] = {
    {"u16", 16, [](u64 a) { return static_cast<long double>(static_cast<std::uint16_t>(a)); }},
    {"s16", 16, [](u64 a) { return static_cast<long double>(static_cast<std::int16_t>(a)); }},
    {"u32", 32, [](u64 a) { return static_cast<long double>(static_cast<u32>(a)); }},
    {"s32", 32, [](u64 a) { return static_cast<long double>(static_cast<std::int32_t>(a)); }},
    {"u64", 64, [](u64 a) { return static_cast<long double>(a); }},
    {"s64", 64, [](u64 a) { return static_cast<long double>(static_cast<std::int64_t>(a)); }},
    {"b32", 32, [](u64 a) { return static_cast<long double>(static_cast<u32>(a)); }},
    {"f32", 32, [](u64 a) { return static_cast<long double>(f32(a)); }},
    {"f64", 64, [](u64 a) { return static_cast<long double>(f64(a)); }},
    {"f16", 16, [](u64 a) { return static_cast<long double>(half_value(static_cast<u32>(a) & 0xFFFF)); }},
    {"bf16", 16, [](u64 a) { return static_cast<long double>(bfloat_value(static_cast<u32>(a))); }}};
constexpr const char* compare_words[] = {"eq",  "ne",  "lt",  "le",  "gt",  "ge", "equ", "neu", "ltu",
                                         "leu", "gtu", "geu", "num", "nan", "lo", "ls",  "hi",  "hs"};

TEST(Arithmetic, ComparisonsOfEveryType) {
    std::mt19937_64 random(40);
    std::vector<u64> preds(samples);
    for (u64& v : preds) v = random() & 1;
    int forms = 0;
    for (const Comparable& t : comparables) {
        auto a = t.width == 64   ? random64(samples, 41)
                 : t.width == 32 ? random32(samples, 42)
                                 : words(43),
             b = t.width == 64   ? random64(samples, 44)
                 : t.width == 32 ? random32(samples, 45)
                                 : words(46);
        for (std::size_t i = 0; i < samples; i += 5) b[i] = a[i];
        for (const char* word : compare_words) {
            const std::string name = std::string("setp.") + word + "." + t.type;
            if (!isa::find_form(name)) continue;
            ++forms;
            const auto plain = evaluate(name, {a, b}),
                       both =
                           evaluate(std::string("setp.") + word + ".xor." + t.type, {a, b, preds}, true, 4),
                       number = evaluate(std::string("set.") + word + ".and.u32." + t.type, {a, b, preds});
            for (std::size_t i = 0; i < samples; ++i) {
                const bool expected = truth(word, t.value(a[i]), t.value(b[i]));
                ASSERT_EQ(plain[i][0], expected) << name << std::hex << " " << a[i] << " " << b[i];
                ASSERT_EQ(both[i][0], expected != (preds[i] == 1)) << name;
                ASSERT_EQ(both[i][1], !expected != (preds[i] == 1)) << name;
                ASSERT_EQ(static_cast<u32>(number[i][0]), expected && preds[i] == 1 ? 0xFFFFFFFFu : 0u)
                    << name;
            }
        }
    }
    EXPECT_GT(forms, 80);
}

TEST(Arithmetic, PackedComparisonsDoEachHalf) {
    const auto a = words(50), b = words(51), c = words(52);
    std::vector<u64> preds(samples);
    for (std::size_t i = 0; i < samples; ++i) preds[i] = c[i] & 1;
    for (const std::string type : {"f16", "bf16"}) {
        const auto value = [&](u64 raw) -> long double {
            return type == "f16" ? half_value(static_cast<u32>(raw) & 0xFFFF)
                                 : bfloat_value(static_cast<u32>(raw));
        };
        for (const char* word : {"eq", "lt", "geu", "num", "nan"}) {
            const std::string stem = std::string("set.") + word + ".or.";
            const auto single = evaluate(std::string("setp.") + word + "." + type + "x2", {a, b}),
                       mask = evaluate(stem + "u32." + type + "x2", {a, b, preds}),
                       numbers = evaluate(stem + type + "x2." + type + "x2", {a, b, preds}),
                       pair = evaluate(std::string("setp.") + word + ".and." + type + "x2", {a, b, preds},
                                       true, 4);
            for (std::size_t i = 0; i < samples; ++i) {
                const bool low = truth(word, value(a[i]), value(b[i])),
                           high = truth(word, value(a[i] >> 16), value(b[i] >> 16)), p = preds[i] == 1;
                const u32 one_bits = type == "f16" ? 0x3C00 : 0x3F80;
                ASSERT_EQ(single[i][0], low) << word;
                ASSERT_EQ(pair[i][0], low && p);
                ASSERT_EQ(pair[i][1], high && p);
                ASSERT_EQ(mask[i][0], (low || p ? 0xFFFFu : 0u) | (high || p ? 0xFFFF0000u : 0u)) << word;
                ASSERT_EQ(numbers[i][0], (low || p ? one_bits : 0u) | (high || p ? one_bits << 16 : 0u))
                    << word;
            }
        }
    }
}

// ---- floats -----------------------------------------------------------------------------------------------

struct Mode {
    const char* word;
    int mode;
};
constexpr Mode modes[] = {
    {".rn", FE_TONEAREST}, {".rz", FE_TOWARDZERO}, {".rm", FE_DOWNWARD}, {".rp", FE_UPWARD}};
float under(int mode, const std::function<float()>& operation) {
    std::fesetround(mode);
    const float result = operation();
    std::fesetround(FE_TONEAREST);
    return result;
}
u32 canonical(float a) { return std::isnan(a) ? 0x7FFFFFFFu : bits(a); }

TEST(Arithmetic, MixedPrecisionIsF32ArithmeticOnWidenedOperands) {
    const auto a = words(60), b = words(61), c = random32(samples, 62);
    for (const std::string type : {"f16", "bf16"}) {
        const auto value = [&](u64 raw) {
            return static_cast<float>(type == "f16" ? half_value(static_cast<u32>(raw) & 0xFFFF)
                                                    : bfloat_value(static_cast<u32>(raw)));
        };
        for (const Mode& mode : modes) {
            const std::string suffix = std::string(mode.word) + ".f32." + type;
            const auto sum = evaluate("add" + suffix, {a, c}), difference = evaluate("sub" + suffix, {a, c}),
                       fused = evaluate("fma" + suffix, {a, b, c}),
                       sat = evaluate(std::string("fma") + mode.word + ".sat.f32." + type, {a, b, c});
            for (std::size_t i = 0; i < samples; ++i) {
                volatile float x = value(a[i]), y = value(b[i]), z = f32(c[i]);
                ASSERT_EQ(static_cast<u32>(sum[i][0]), canonical(under(mode.mode, [&] { return x + z; })))
                    << suffix;
                ASSERT_EQ(static_cast<u32>(difference[i][0]),
                          canonical(under(mode.mode, [&] { return x - z; })))
                    << suffix;
                const float expected = under(mode.mode, [&] { return std::fma(x, y, z); });
                ASSERT_EQ(static_cast<u32>(fused[i][0]), canonical(expected)) << suffix;
                ASSERT_EQ(static_cast<u32>(sat[i][0]),
                          bits(!(expected > 0) ? 0.0f : std::min(expected, 1.0f)))
                    << suffix;
            }
        }
    }
}

TEST(Arithmetic, PairsOfF32DoEachHalf) {
    const auto a = random64(samples, 63), b = random64(samples, 64), c = random64(samples, 65);
    for (const char* stem : {"add", "sub.rz", "mul.ftz", "mul.rm.ftz", "fma.rn", "fma.rp.ftz"}) {
        const std::string name = stem;
        const bool three = name.starts_with("fma");
        const auto pairs = evaluate(name + ".f32x2", three ? std::vector{a, b, c} : std::vector{a, b});
        for (const int shift : {0, 32}) {
            const auto part = [&](std::vector<u64> column) {
                for (u64& v : column) v = v >> shift & 0xFFFFFFFF;
                return column;
            };
            const auto single = evaluate(name + ".f32", three ? std::vector{part(a), part(b), part(c)}
                                                              : std::vector{part(a), part(b)});
            for (std::size_t i = 0; i < samples; ++i)
                ASSERT_EQ(pairs[i][0] >> shift & 0xFFFFFFFF, single[i][0] & 0xFFFFFFFF) << name;
        }
    }
}

// Directed roundings of bf16: the neighbours of the exact value among all values of the format.
TEST(Arithmetic, Bf16FmaRoundsInEveryMode) {
    auto a = words(66), b = words(67), c = words(68);
    for (std::size_t i = 0; i < samples; ++i)  // of like sizes
        a[i] = (a[i] & 0x807F) | (100 + a[i] % 50) << 7, b[i] = (b[i] & 0x807F) | (100 + b[i] % 50) << 7,
        c[i] = (c[i] & 0x807F) | (90 + c[i] % 60) << 7;
    for (const Mode& mode : modes) {
        const auto results = evaluate(std::string("fma") + mode.word + ".bf16", {a, b, c}),
                   relu = evaluate(std::string("fma") + mode.word + ".relu.bf16", {a, b, c});
        for (std::size_t i = 0; i < samples; ++i) {
            const __float128 exact = static_cast<__float128>(bfloat_value(static_cast<u32>(a[i]))) *
                                         bfloat_value(static_cast<u32>(b[i])) +
                                     bfloat_value(static_cast<u32>(c[i]));
            if (exact == 0) continue;
            const bool negative = exact < 0;
            const __float128 magnitude = negative ? -exact : exact;
            u32 below = 0, above = 0x7F80;  // bits grow with the value
            while (above - below > 1)
                (bfloat_value((below + above) / 2) <= magnitude ? below : above) = (below + above) / 2;
            const __float128 under_it = magnitude - bfloat_value(below),
                             over_it = bfloat_value(below + 1) - magnitude;
            bool up = mode.mode == FE_UPWARD ? !negative : mode.mode == FE_DOWNWARD ? negative : false;
            if (mode.mode == FE_TONEAREST)
                up = under_it > over_it || (under_it == over_it && (below & 1) != 0);
            const u32 expected = (under_it != 0 && up ? below + 1 : below) | (negative ? 0x8000 : 0);
            ASSERT_EQ(results[i][0] & 0xFFFF, expected)
                << mode.word << std::hex << " " << a[i] << " " << b[i] << " " << c[i];
            ASSERT_EQ(relu[i][0] & 0xFFFF, negative ? 0 : expected);
        }
    }
}

// 9.7.3.11 and .12, by a total order of the bits.
TEST(Arithmetic, MinimaAndMaximaOfThreeAndOfMagnitudes) {
    const auto a = random32(samples, 70), b = random32(samples, 71), c = random32(samples, 72);
    const auto key = [](u32 raw) {
        return (raw >> 31) != 0 ? -static_cast<std::int64_t>(raw & 0x7FFFFFFF) - 1
                                : static_cast<std::int64_t>(raw);
    };
    const auto is_nan = [](u32 raw) { return (raw & 0x7FFFFFFF) > 0x7F800000; };
    for (const bool is_max : {false, true}) {
        for (const bool nan : {false, true}) {
            const auto chosen = [&](u32 x, u32 y) -> u32 {
                if (is_nan(x) || is_nan(y))
                    return nan || (is_nan(x) && is_nan(y)) ? 0x7FFFFFFF : is_nan(x) ? y : x;
                return (key(x) < key(y)) != is_max ? x : y;
            };
            const std::string stem = std::string(is_max ? "max" : "min") + (nan ? ".NaN" : "");
            const auto three = evaluate(stem + ".f32", {a, b, c}),
                       magnitudes = evaluate(stem + ".abs.f32", {a, b, c}),
                       xorsign = evaluate(stem + ".xorsign.abs.f32", {a, b}),
                       two = evaluate(stem + ".f32", {a, b});
            for (std::size_t i = 0; i < samples; ++i) {
                const u32 x = static_cast<u32>(a[i]), y = static_cast<u32>(b[i]), z = static_cast<u32>(c[i]),
                          m = 0x7FFFFFFF;
                ASSERT_EQ(static_cast<u32>(two[i][0]), chosen(x, y)) << stem;
                ASSERT_EQ(static_cast<u32>(three[i][0]), chosen(chosen(x, y), z)) << stem;
                ASSERT_EQ(static_cast<u32>(magnitudes[i][0]), chosen(chosen(x & m, y & m), z & m)) << stem;
                const u32 larger = chosen(x & m, y & m);
                ASSERT_EQ(static_cast<u32>(xorsign[i][0]),
                          is_nan(larger) ? larger : larger | ((x ^ y) & 0x80000000))
                    << stem;
            }
        }
    }
}

}  // namespace
}  // namespace ptxgraft::arithmetic
