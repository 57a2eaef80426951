// Functions of expressions that are sequences of instructions: their errors against a wider type, what they
// give at the edges, and that ptxas takes every function of every type.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <random>
#include <type_traits>

#include "support/expression_run.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using test::Values;
using Word = std::uint64_t;

// ---- errors

/// What a result is measured against.
template <class F> using Wide = std::conditional_t<std::is_same_v<F, float>, double, long double>;

template <class F> struct FunctionRow {
    const char* text;
    Wide<F> (*exact)(Wide<F>);
    double bound;  ///< in units of the last place
};

template <class W> W sigmoid(W x) {
    return x >= 0 ? 1 / (1 + std::exp(-x)) : std::exp(x) / (1 + std::exp(x));
}

// The bounds are those of expression.hpp.
const FunctionRow<float> rows_of_f32[] = {
    {"exp(x)", std::exp, 1},
    {"exp2(x)", std::exp2, 1},
    {"exp10(x)", [](double x) { return std::pow(10.0, x); }, 1},
    {"expm1(x)", std::expm1, 1.5},
    {"log(x)", std::log, 1},
    {"log2(x)", std::log2, 2},
    {"log10(x)", std::log10, 2},
    {"log1p(x)", std::log1p, 2},
    {"sin(x)", std::sin, 2},
    {"cos(x)", std::cos, 2},
    {"tan(x)", std::tan, 3},
    {"asin(x)", std::asin, 2},
    {"acos(x)", std::acos, 1.5},
    {"atan(x)", std::atan, 1.5},
    {"sinh(x)", std::sinh, 2},
    {"cosh(x)", std::cosh, 1.5},
    {"tanh(x)", std::tanh, 1.5},
    {"sigmoid(x)", sigmoid, 3},
    {"erf(x)", std::erf, 2},
    {"erfc(x)", std::erfc, 4},
    {"cbrt(x)", std::cbrt, 1},
    {"rsqrt(x)", [](double x) { return 1 / std::sqrt(x); }, 1.5},
    {"rcp(x)", [](double x) { return 1 / x; }, 0.5},
    {"sqrt(x)", std::sqrt, 0.5},
    {"pow(x, 2.5)", [](double x) { return std::pow(x, 2.5); }, 1},
    {"pow(1.0001, x)", [](double x) { return std::pow(static_cast<double>(1.0001f), x); }, 1},
    {"pow(x, -3)", [](double x) { return std::pow(x, -3.0); }, 1},
    {"atan2(x, 3)", [](double x) { return std::atan2(x, 3.0); }, 2},
    {"atan2(-1.5, x)", [](double x) { return std::atan2(-1.5, x); }, 2},
    {"hypot(x, 1e-3)", [](double x) { return std::hypot(x, static_cast<double>(1e-3f)); }, 1},
    {"fmod(x, 0.7)", [](double x) { return std::fmod(x, static_cast<double>(0.7f)); }, 0},
    {"fmod(1e30, x)", [](double x) { return std::fmod(static_cast<double>(1e30f), x); }, 0},
};

// The reference of long double errs by 0.001 of these units.
const FunctionRow<double> rows_of_f64[] = {
    {"exp(x)", std::exp, 1},
    {"exp2(x)", std::exp2, 1},
    {"exp10(x)", [](long double x) { return std::pow(10.0L, x); }, 1},
    {"expm1(x)", std::expm1, 2},
    {"log(x)", std::log, 1},
    {"log2(x)", std::log2, 1},
    {"log10(x)", std::log10, 1},
    {"log1p(x)", std::log1p, 1.5},
    {"sin(x)", std::sin, 1},
    {"cos(x)", std::cos, 1},
    {"tan(x)", std::tan, 3},
    {"asin(x)", std::asin, 3},
    {"acos(x)", std::acos, 1.5},
    {"atan(x)", std::atan, 2},
    {"cbrt(x)", std::cbrt, 1},
    {"sinh(x)", std::sinh, 2},
    {"cosh(x)", std::cosh, 1.5},
    {"tanh(x)", std::tanh, 3},
    {"sigmoid(x)", sigmoid, 3},
    {"erf(x)", std::erf, 1.5},
    {"erfc(x)", std::erfc, 4},
    {"pow(x, 2.5)", [](long double x) { return std::pow(x, 2.5L); }, 2},
    {"pow(1.337, x)", [](long double x) { return std::pow(static_cast<long double>(1.337), x); }, 2},
    {"pow(x, -3)", [](long double x) { return std::pow(x, -3.0L); }, 2},
    {"pow(x, 0.1)", [](long double x) { return std::pow(x, static_cast<long double>(0.1)); }, 2},
    {"rsqrt(x)", [](long double x) { return 1 / std::sqrt(x); }, 1.5},
    {"rcp(x)", [](long double x) { return 1 / x; }, 0.501},
    {"sqrt(x)", std::sqrt, 0.501},
};

template <class F> constexpr const char* type_name = std::is_same_v<F, float> ? "f32" : "f64";

// In units of the last place; 0 where both are NaN, or the same infinity or zero.
template <class F> double error_of(F given, Wide<F> exact) {
    using Limits = std::numeric_limits<F>;
    if (std::isnan(given) || std::isnan(exact)) return std::isnan(given) && std::isnan(exact) ? 0 : HUGE_VAL;
    const auto rounded = static_cast<F>(exact);
    if (given == rounded && given == 0 && exact == 0)
        return std::signbit(given) == std::signbit(exact) ? 0 : HUGE_VAL;
    if (given == rounded && std::isinf(given)) return 0;
    if (std::isinf(rounded) || std::isinf(given))
        return std::fabs(rounded) >= Limits::max() && std::fabs(given) >= Limits::max() &&
                       std::signbit(given) == std::signbit(rounded)
                   ? 0
                   : HUGE_VAL;
    const int exponent =
        std::max(exact == 0 ? Limits::min_exponent - 1 : std::ilogb(exact), Limits::min_exponent - 1);
    return static_cast<double>(
        std::ldexp(std::fabs(static_cast<Wide<F>>(given) - exact), Limits::digits - 1 - exponent));
}

// Special values, and their neighbours.
template <class F> void add_specials(std::vector<F>& x) {
    using Limits = std::numeric_limits<F>;
    for (const double value : {0.0,
                               0.25,
                               1.0 / 3,
                               0.5,
                               0.6,
                               2.0 / 3,
                               1.0,
                               4.0 / 3,
                               1.5,
                               2.0,
                               10.5,
                               17.5,
                               37.5,
                               38.5318,
                               45.15,
                               88.7228,
                               89.4160,
                               103.97,
                               128.0,
                               149.0,
                               150.0,
                               307.95,
                               323.5,
                               709.7827,
                               710.4758,
                               745.1332,
                               1023.0,
                               1024.0,
                               1074.0,
                               1075.0,
                               static_cast<double>(Limits::min()),
                               static_cast<double>(Limits::max()),
                               static_cast<double>(Limits::denorm_min()),
                               HUGE_VAL})
        for (const F special : {static_cast<F>(value), static_cast<F>(-value)})
            for (const F near : {std::nextafter(special, -Limits::infinity()), special,
                                 std::nextafter(special, Limits::infinity())})
                x.push_back(near);
    x.push_back(Limits::quiet_NaN());
}

struct Worst {
    double error = 0;
    std::size_t at = 0;
    void take(double other, std::size_t i) {
        if (other > error) error = other, at = i;
    }
};

template <class F> void expect_errors_below(std::span<const FunctionRow<F>> rows, const std::vector<F>& x) {
    const auto signature =
        Signature::parse("in " + std::string(type_name<F>) + " x, out " + type_name<F> + " y");
    const auto machine = stack::Machine::make(expression_set(), *signature);
    std::vector<F> y(x.size());
    for (const FunctionRow<F>& row : rows) {
        const std::string text = "y = " + std::string(row.text);
        const auto program = parse_expression(text, *machine);
        ASSERT_TRUE(program) << describe(program.error(), text);
        const void* inputs[] = {x.data(), nullptr};
        void* outputs[] = {nullptr, y.data()};
        ASSERT_TRUE(stack::evaluate(*program, *machine, {inputs, outputs, x.size()}));
        Worst worst;
        for (std::size_t i = 0; i < x.size(); ++i)
            worst.take(error_of(y[i], row.exact(static_cast<Wide<F>>(x[i]))), i);
        EXPECT_LE(worst.error, row.bound)
            << row.text << " of " << std::hexfloat << x[worst.at] << " is " << y[worst.at];
        ::testing::Test::RecordProperty(row.text, std::to_string(worst.error));
    }
}

TEST(ExpressionFunctions, OfF32AreAsExactAsTheHeaderSays) {
    constexpr std::uint64_t stride = 20011, all = std::uint64_t{1} << 32;
    std::vector<float> x;
    for (std::uint64_t bits = 0; bits < all; bits += stride)
        x.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (int i = -20000; i < 20000; ++i) x.push_back(static_cast<float>(i) * 0.001f);
    add_specials(x);
    expect_errors_below<float>(rows_of_f32, x);
}

TEST(ExpressionFunctions, OfF64AreAsExactAsTheHeaderSays) {
    if (std::numeric_limits<long double>::digits < 64) GTEST_SKIP() << "long double is no wider than double";
    std::mt19937_64 random(5);
    std::vector<double> x;
    for (int i = 0; i < 20000; ++i) {
        const double unit = std::ldexp(static_cast<double>(random()), -64), sign = random() % 2 == 0 ? 1 : -1;
        for (const double value : {std::bit_cast<double>(random()), sign * unit * 4, sign * unit * 750,
                                   sign * std::exp2(20 * unit - 15)})
            x.push_back(value);
    }
    for (int i = 1; i < 5000; ++i) x.push_back(i * std::numbers::pi / 2);
    x.push_back(0x1.6ac5b262ca1ffp+849);  // of all f64 the nearest to a multiple of pi/2
    add_specials(x);
    expect_errors_below<double>(rows_of_f64, x);
}

// ---- of two arguments

template <class F> struct BinaryRow {
    const char* text;
    Wide<F> (*exact)(Wide<F>, Wide<F>);
    double bound;
};
const BinaryRow<float> binary_rows_of_f32[] = {{"pow(x, y)", std::pow, 1},
                                               {"atan2(x, y)", std::atan2, 2},
                                               {"hypot(x, y)", std::hypot, 1},
                                               {"fmod(x, y)", std::fmod, 0}};
const BinaryRow<double> binary_rows_of_f64[] = {
    {"pow(x, y)", std::pow, 2}, {"atan2(x, y)", std::atan2, 2}, {"hypot(x, y)", std::hypot, 1.5}};

template <class F> struct Pairs {
    std::vector<F> x, y;
    void add(F a, F b) { x.push_back(a), y.push_back(b); }
};

// Special values by each other, and random ones: of any size, of one size, below 1, and powers over the whole
// range of their results.
template <class F> Pairs<F> make_pairs() {
    using Limits = std::numeric_limits<F>;
    using Bits = std::conditional_t<std::is_same_v<F, float>, std::uint32_t, std::uint64_t>;
    constexpr F large = std::is_same_v<F, float> ? 16777215 : 9007199254740991.0, inf = Limits::infinity();
    const F numbers[] = {0,
                         -F{0},
                         1,
                         -1,
                         2,
                         -2,
                         F(0.5),
                         F(-0.5),
                         3,
                         -3,
                         F(1e30),
                         F(-1e30),
                         F(1e-30),
                         inf,
                         -inf,
                         Limits::quiet_NaN(),
                         large,
                         -large,
                         F(3.5),
                         Limits::denorm_min(),
                         512 * Limits::denorm_min(),
                         -Limits::min(),
                         Limits::max()};
    Pairs<F> made;
    for (const F a : numbers)
        for (const F b : numbers) made.add(a, b);
    std::mt19937_64 random(17);
    const auto unit = [&] { return static_cast<F>(std::ldexp(static_cast<double>(random()), -63) - 1); };
    for (int i = 0; i < 30000; ++i) {
        const F any = std::bit_cast<F>(static_cast<Bits>(random())), base = std::exp2(unit());
        made.add(any, std::bit_cast<F>(static_cast<Bits>(random())));
        made.add(any, any * unit());
        made.add(unit(), unit());
        made.add(base, unit() * Limits::max_exponent / std::log2(base));
    }
    return made;
}

template <class F> void expect_errors_below(std::span<const BinaryRow<F>> rows) {
    const std::string type = type_name<F>;
    const auto signature = Signature::parse("in " + type + " x, in " + type + " y, out " + type + " z");
    const auto machine = stack::Machine::make(expression_set(), *signature);
    const Pairs<F> pairs = make_pairs<F>();
    const auto& [x, y] = pairs;
    std::vector<F> z(x.size());
    for (const BinaryRow<F>& row : rows) {
        const auto program = parse_expression("z = " + std::string(row.text), *machine);
        ASSERT_TRUE(program);
        const void* inputs[] = {x.data(), y.data(), nullptr};
        void* outputs[] = {nullptr, nullptr, z.data()};
        ASSERT_TRUE(stack::evaluate(*program, *machine, {inputs, outputs, x.size()}));
        Worst worst;
        for (std::size_t i = 0; i < x.size(); ++i)
            worst.take(error_of(z[i], row.exact(static_cast<Wide<F>>(x[i]), static_cast<Wide<F>>(y[i]))), i);
        EXPECT_LE(worst.error, row.bound) << row.text << " of " << std::hexfloat << x[worst.at] << ' '
                                          << y[worst.at] << " is " << z[worst.at];
        ::testing::Test::RecordProperty(row.text, std::to_string(worst.error));
    }
}

TEST(ExpressionFunctions, OfTwoFollowC) {
    expect_errors_below<float>(binary_rows_of_f32);
    if (std::numeric_limits<long double>::digits >= 64) expect_errors_below<double>(binary_rows_of_f64);
}

// ---- the same everywhere

constexpr const char* of_one[] = {"exp",  "exp2",    "exp10", "expm1", "log",  "log2",  "log10", "log1p",
                                  "sin",  "cos",     "tan",   "asin",  "acos", "atan",  "sinh",  "cosh",
                                  "tanh", "sigmoid", "erf",   "erfc",  "cbrt", "rsqrt", "rcp",   "sqrt"};
constexpr const char* of_two[] = {"pow", "atan2", "hypot", "fmod"};  // fmod not of f64

TEST(ExpressionFunctions, GiveTheSameBitsOnTheEmulatorAndForHalves) {
    const auto signature = Signature::parse(
        "in f32 x, in f16 h, in bf16 b, in f64 d, out f32 y, out f16 yh, out bf16 yb, out f64 yd");
    const auto machine = stack::Machine::make(expression_set(), *signature);
    std::mt19937_64 random(3);
    Values inputs(8, std::vector<Word>(64));
    for (std::size_t i = 0; i < 64; ++i) {
        const double wide =
            std::ldexp(static_cast<double>(random() >> 32) - 0x1p31, static_cast<int>(random() % 40) - 55);
        inputs[0][i] = std::bit_cast<std::uint32_t>(static_cast<float>(wide));
        inputs[1][i] = random() & 0xFFFF;
        inputs[2][i] = inputs[0][i] >> 16;
        inputs[3][i] = std::bit_cast<Word>(wide);
    }
    std::vector<std::string> texts, stubs;
    const auto add = [&](const std::string& f, const std::string& more_x, const std::string& more_h,
                         const std::string& more_b, const std::string& of_d) {
        texts.push_back("y = " + f + "(x" + more_x + ")\nyh = " + f + "(h" + more_h + ")\nyb = " + f + "(b" +
                        more_b + ")\nyd = " + of_d);
    };
    for (const std::string f : of_one) add(f, "", "", "", f + "(d)");
    for (const std::string f : of_two) add(f, ", 1.7", ", 1.5", ", b", f == "fmod" ? "d" : f + "(d, 1.7)");
    for (const std::string& text : texts) {
        const auto stub = compile_expression(text, *signature);
        ASSERT_TRUE(stub) << describe(stub.error(), text);
        stubs.push_back(stub->ptx());
    }
    const auto emulated = test::by_emulator(*signature, stubs, inputs);
    ASSERT_TRUE(emulated) << describe(emulated.error());
    for (std::size_t t = 0; t < texts.size(); ++t) {
        const auto evaluated = test::by_evaluate(*parse_expression(texts[t], *machine), *machine, inputs);
        ASSERT_TRUE(evaluated);
        for (std::size_t r = 4; r < 8; ++r) EXPECT_EQ((*emulated)[t][r], (*evaluated)[r]) << texts[t];
    }
}

// ---- types

TEST(ExpressionFunctions, SayWhichTypesTheyTake) {
    const auto signature = Signature::parse("mod f64 x, mod f16x2 y, mod s32 n");
    const auto message_of = [&](const std::string& text) {
        const auto stub = compile_expression(text, *signature);
        EXPECT_FALSE(stub) << text;
        return stub ? "" : message(stub.error(), text);
    };
    EXPECT_THAT(message_of("x = fmod(x, x)"), testing::HasSubstr("fmod takes f16, bf16 and f32, x is f64"));
    for (const std::string f : of_one) {
        EXPECT_THAT(message_of("y = " + f + "(y)"),
                    testing::HasSubstr(f + " takes f16, bf16, f32 and f64, y is f16x2"));
        EXPECT_THAT(message_of("n = " + f + "(n)"),
                    testing::HasSubstr(f + " takes f16, bf16, f32 and f64, n is s32: write f32(n)"));
    }
}

// Every function on every type that it takes, by every option.
TEST(ExpressionFunctions, PtxasTakesEveryFunctionOfEveryType) {
    constexpr const char* unary[] = {"-",
                                     "~",
                                     "!",
                                     "abs",
                                     "floor",
                                     "ceil",
                                     "trunc",
                                     "round",
                                     "popc",
                                     "clz",
                                     "brev",
                                     "ffs",
                                     "isnan",
                                     "isfinite",
                                     "isinf",
                                     "bits",
                                     "approx_sqrt",
                                     "approx_rcp",
                                     "approx_rsqrt",
                                     "approx_exp",
                                     "approx_exp2",
                                     "approx_log",
                                     "approx_log2",
                                     "approx_sin",
                                     "approx_cos",
                                     "approx_tanh",
                                     "approx_sigmoid"};
    constexpr const char* binary[] = {"+", "-", "*",  "/", "%",  "&",  "|",
                                      "^", "<", "<=", ">", ">=", "==", "!="};
    constexpr const char* calls[] = {
        "min(x, y)",      "max(x, y)",   "fma(x, y, x)",         "copysign(x, y)",
        "clamp(x, y, x)", "mulhi(x, y)", "select(x == y, x, y)", "approx_div(x, y)",
        "x << 3",         "x >> 3"};
    constexpr Type all_types[] = {Type::pred, Type::u16, Type::s16,  Type::u32, Type::s32, Type::u64,
                                  Type::s64,  Type::f16, Type::bf16, Type::f32, Type::f64};
    std::vector<std::string> texts;
    for (const std::span<const char* const> names :
         {std::span<const char* const>(unary), std::span<const char* const>(of_one)})
        for (const char* f : names) texts.push_back(std::string(f) + "(x)");
    for (const char* f : of_two) texts.push_back(std::string(f) + "(x, y)");
    for (const char* f : binary) texts.push_back("x " + std::string(f) + " y");
    texts.insert(texts.end(), std::begin(calls), std::end(calls));
    for (const Type t : all_types) texts.push_back(std::string(name(t)) + "(x)");
    for (const std::uint16_t sm : {std::uint16_t{75}, std::uint16_t{90}, std::uint16_t{100}}) {
        for (const bool is_other : {false, true}) {
            std::string body;
            std::size_t taken = 0;
            std::vector<SiteOperand> operands;
            for (const Type t : {Type::pred, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64,
                                 Type::f16, Type::bf16, Type::f32, Type::f64, Type::f16x2, Type::bf16x2}) {
                for (const std::string& text : texts) {
                    // what it gives is found by trying
                    for (const Type out :
                         {t, Type::pred, Type::u16, Type::s16, Type::u32, Type::s32, Type::u64, Type::s64,
                          Type::f16, Type::bf16, Type::f32, Type::f64}) {
                        const std::string type(name(t));
                        const auto signature = Signature::parse("in " + type + " x, in " + type + " y, out " +
                                                                std::string(name(out)) + " z");
                        const auto stub = compile_expression(
                            "z = " + text, *signature,
                            {.contract = is_other, .approx = is_other, .ftz = is_other, .target = {sm, 0}});
                        if (!stub) continue;
                        ++taken;
                        body += "{\n" + test::declarations(*signature) + stub->ptx() + "}\n";
                        break;
                    }
                }
            }
            EXPECT_GT(taken, sm == 75 ? 440u : 520u);
            const std::string suffix = sm == 75 ? "" : "a";
            const std::string ptx = test::kernel_text(
                {.version = "9.0", .target = "sm_" + std::to_string(sm) + suffix, .body = body});
            const auto cubin = default_assembler().assemble(ptx, {.optimisation = 0});
            EXPECT_TRUE(cubin) << describe(cubin.error(), ptx);
        }
    }
}

}  // namespace
}  // namespace ptxgraft
