// The bounds of approximate instructions, and how results are moved to their edges.

#include "arithmetic/approximate.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

using enum ErrorKind;

constexpr double any = std::numeric_limits<double>::infinity();
constexpr double two_pi = 2 * std::numbers::pi;
// 2^-20.5, 2^-14.7 and so on, rounded down
constexpr double two_to_minus_8 = 0x1p-8, two_to_minus_7 = 0x1p-7, two_to_minus_11 = 0x1p-11,
                 two_to_minus_22 = 0x1p-22, two_to_minus_23 = 0x1p-23,
                 two_to_minus_9_9 = 0x1.125fbee250664p-10, two_to_minus_10_987 = 0x1.025135375699p-11,
                 two_to_minus_14_7 = 0x1.3b2c47bff8328p-15, two_to_minus_20_5 = 0x1.6a09e667f3bccp-21,
                 two_to_minus_22_9 = 0x1.125fbee250664p-23;

// One bound for all inputs.
constexpr std::array<ErrorBound, 3> everywhere(ErrorKind kind, double size) { return {{{any, kind, size}}}; }
// [-2pi .. 2pi], [-100pi .. 100pi]; beyond "only best effort is provided"
constexpr std::array<ErrorBound, 3> of_sine = {
    {{two_pi, absolute, two_to_minus_20_5}, {50 * two_pi, absolute, two_to_minus_14_7}, {any, range, 1}}};

// The manual's order. Of f64 it calls the reciprocal "gross" and names no error: here it is a unit of the
// upper word's last place, and of the full double.
constexpr StatedError table[] = {
    {"div.approx.f32", "9.7.3.8", everywhere(ulp, 2)},
    {"div.full.f32", "9.7.3.8", everywhere(ulp, 2)},
    {"rcp.approx.f32", "9.7.3.13", everywhere(ulp, 1)},
    {"rcp.approx.ftz.f64", "9.7.3.14", everywhere(unstated, 0x1p-20)},
    {"sqrt.approx.f32", "9.7.3.15", everywhere(relative, two_to_minus_23)},
    {"rsqrt.approx.f32", "9.7.3.16", everywhere(relative, two_to_minus_22_9)},
    {"rsqrt.approx.f64", "9.7.3.16", everywhere(unstated, 0x1p-52)},
    {"rsqrt.approx.ftz.f64", "9.7.3.17", everywhere(unstated, 0x1p-20)},
    {"sin.approx.f32", "9.7.3.18", of_sine},
    {"cos.approx.f32", "9.7.3.19", of_sine},
    {"lg2.approx.f32",
     "9.7.3.20",
     // absolute in (0.5, 2)
     {{{0.5, relative, two_to_minus_22},
       {0x1.fffffep0, absolute, two_to_minus_22},
       {any, relative, two_to_minus_22}}}},
    {"ex2.approx.f32", "9.7.3.21", everywhere(ulp_from_rounded, 2)},
    {"tanh.approx.f32", "9.7.3.22", everywhere(relative, two_to_minus_11)},
    {"tanh.approx.f16", "9.7.4.9", everywhere(absolute, two_to_minus_10_987)},
    {"tanh.approx.bf16", "9.7.4.9", everywhere(absolute, two_to_minus_8)},
    {"ex2.approx.f16", "9.7.4.10", everywhere(relative, two_to_minus_9_9)},
    {"ex2.approx.bf16", "9.7.4.10", everywhere(relative, two_to_minus_7)},
};

constexpr const StatedError& stated(std::string_view form) {
    return *std::find_if(std::begin(table), std::end(table),
                         [=](const StatedError& row) { return row.form == form; });
}

// --- formats
template <class T> struct FormatOf;
template <> struct FormatOf<float> { static constexpr const Format& format = f32_format; };
template <> struct FormatOf<Half> { static constexpr const Format& format = f16_format; };
template <> struct FormatOf<Bfloat> { static constexpr const Format& format = bf16_format; };

double value(float a) { return static_cast<double>(a); }
template <class T> T of_bits(std::uint32_t bits) {
    if constexpr (sizeof(T) == 4)
        return std::bit_cast<T>(bits);
    else
        return T{static_cast<std::uint16_t>(bits)};
}
template <class T> T inside(double edge, bool up) {
    const Rounding mode = up ? Rounding::rm : Rounding::rp;
    if constexpr (std::is_same_v<T, float>)
        return to_f32(edge, mode);
    else
        return of_bits<T>(round_to(FormatOf<T>::format, edge, mode));
}
template <class T> T flushed_result(T a) {
    if constexpr (std::is_same_v<T, float>)
        return flush(a);
    else
        return (a.bits & FormatOf<T>::format.infinity) == 0 ? T{static_cast<std::uint16_t>(a.bits & 0x8000u)}
                                                            : a;
}
// The unit in the last place of values of a magnitude.
template <class T> double unit(double a) {
    constexpr const Format& format = FormatOf<T>::format;
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(a) >> 52 & 0x7FF) - 1023;
    const int scale = std::max(exponent, 1 - format.bias) - format.fraction_bits;
    return std::bit_cast<double>(static_cast<std::uint64_t>(scale + 1023) << 52);
}

// --- which edge
std::uint64_t mixed(std::uint64_t hash) {
    hash = (hash ^ hash >> 32) * 0x9E3779B97F4A7C15u;
    return hash ^ hash >> 29;
}
bool goes_up(const Perturbation& p, std::uint64_t input_bits) {
    if (p.edge != Edge::hashed) return p.edge == Edge::up;
    return (mixed(mixed(input_bits + 0x632BE59BD9B4E019u) ^ p.seed) >> 63) != 0;
}

// --- edges
// The result that is farthest on one side of what is within a bound of an exact value; no result lies beyond
// the one that is there already on the other side, nor changes its sign by a relative error.
template <class T> T at_edge(const ErrorBound& bound, double exact, double spare, T result, bool up) {
    const double now = value(result);
    if (bound.kind == range) return inside<T>(up ? bound.size : -bound.size, up);
    double error = bound.size;
    if (bound.kind == relative) error *= std::abs(exact);
    if (bound.kind == ulp) error *= unit<T>(exact);
    if (bound.kind == ulp_from_rounded) error *= unit<T>(now), exact = now, spare = 0;
    error = std::max(error - spare, 0.0);
    const T moved = inside<T>(up ? exact + error : exact - error, up);
    const bool is_beyond = up ? value(moved) > now : value(moved) < now;
    const bool changes_sign = bound.kind != absolute && std::signbit(value(moved)) != std::signbit(now);
    if (changes_sign) return of_bits<T>(std::uint32_t{std::signbit(now)} << FormatOf<T>::format.sign_bit);
    return is_beyond ? moved : result;
}

// The exact value: in double, or known by its result alone, where that is a hundredth of the bound away or
// the bound is from the result.
using Function = double (*)(double);
double by_its_result(double) { return 0; }
double rcp(double a) { return 1.0 / a; }
double sqrt_of(double a) { return std::sqrt(a); }
double rsqrt(double a) { return 1.0 / std::sqrt(a); }
double log2_of(double a) { return std::log2(a); }
double exp2_of(double a) { return std::exp2(a); }
double tanh_of(double a) { return std::tanh(a); }

template <class T> bool is_fixed(double input, T result) {
    return input == 0 || !std::isfinite(input) || !std::isfinite(value(result));
}
const ErrorBound& bound_at(const StatedError& error, double input) {
    const double magnitude = std::abs(input);
    return *std::find_if(error.bounds.begin(), error.bounds.end(),
                         [=](const ErrorBound& b) { return magnitude <= b.up_to; });
}

template <Word Form, class T, bool Ftz, Function Exact, int Elements = 1>
void perturb(void* output, const void* const* inputs, std::size_t count, const Perturbation& p) {
    static constexpr const StatedError& error = stated({Form.text, sizeof Form.text - 1});
    // 9.7.3.22: "The subnormal inputs gets passed through to the output"
    constexpr bool keeps_subnormals = std::string_view(Form.text) == "tanh.approx.f32";
    const auto* const from = static_cast<const std::byte*>(inputs[0]);
    auto* const to = static_cast<std::byte*>(output);
    for (std::size_t i = 0; i < Elements * count; ++i) {
        const T input = read<T>(from, i), result = read<T>(to, i);
        const double a = value(Ftz || keeps_subnormals ? flushed_result(input) : input);
        if (is_fixed(a, result)) continue;
        const double exact = Exact == by_its_result ? value(result) : Exact(a);
        const double spare = Exact == by_its_result ? unit<T>(exact) / 2 : 0;
        const T moved = at_edge(bound_at(error, a), exact, spare, result, goes_up(p, to_bits(input)));
        write(to, i, Ftz ? flushed_result(moved) : moved);
    }
}

template <Word Form, bool Ftz>
void perturb_div(void* output, const void* const* inputs, std::size_t count, const Perturbation& p) {
    static constexpr const StatedError& error = stated({Form.text, sizeof Form.text - 1});
    // 9.7.3.8: of larger divisors div.approx gives zero
    constexpr double largest_divisor =
        std::string_view(Form.text) == "div.approx.f32" ? 0x1p126 : std::numeric_limits<float>::max();
    auto* const to = static_cast<std::byte*>(output);
    for (std::size_t i = 0; i < count; ++i) {
        const float dividend = read<float>(static_cast<const std::byte*>(inputs[0]), i);
        const float divisor = read<float>(static_cast<const std::byte*>(inputs[1]), i);
        const float result = read<float>(to, i);
        const double a = value(flushed<Ftz>(dividend)), b = value(flushed<Ftz>(divisor));
        if (is_fixed(a, result) || is_fixed(b, result) || std::abs(b) > largest_divisor) continue;
        const bool up = goes_up(p, to_bits(dividend) | to_bits(divisor) << 32);
        const float moved = at_edge(error.bounds[0], a / b, 0, result, up);
        write(to, i, Ftz ? flush(moved) : moved);
    }
}

// Of f64: by the bits that the bound leaves.
template <Word Form>
void perturb64(void* output, const void* const* inputs, std::size_t count, const Perturbation& p) {
    static constexpr const StatedError& error = stated({Form.text, sizeof Form.text - 1});
    constexpr std::uint64_t step = static_cast<std::uint64_t>(error.bounds[0].size * 0x1p52);
    auto* const to = static_cast<std::byte*>(output);
    for (std::size_t i = 0; i < count; ++i) {
        const double a = read<double>(static_cast<const std::byte*>(inputs[0]), i);
        const double result = read<double>(to, i);
        if (!std::isnormal(a) || !std::isnormal(result)) continue;
        const bool away = goes_up(p, to_bits(a)) != std::signbit(result);
        const auto moved = std::bit_cast<double>(away ? to_bits(result) + step : to_bits(result) - step);
        if (std::isnormal(moved)) write(to, i, moved);
    }
}

// Without and with .ftz.
struct PerturbRow {
    std::string_view form;
    PerturbFunction plain, ftz;
};
template <Word Form, Function Exact = by_its_result> constexpr PerturbRow f32() {
    return {{Form.text, sizeof Form.text - 1},
            perturb<Form, float, false, Exact>,
            perturb<Form, float, true, Exact>};
}
constexpr PerturbRow rows[] = {
    {"div.approx.f32", perturb_div<"div.approx.f32", false>, perturb_div<"div.approx.f32", true>},
    {"div.full.f32", perturb_div<"div.full.f32", false>, perturb_div<"div.full.f32", true>},
    f32<"rcp.approx.f32", rcp>(),
    f32<"sqrt.approx.f32", sqrt_of>(),
    f32<"rsqrt.approx.f32", rsqrt>(),
    f32<"sin.approx.f32">(),
    f32<"cos.approx.f32">(),
    f32<"lg2.approx.f32", log2_of>(),
    f32<"ex2.approx.f32">(),
    f32<"tanh.approx.f32">(),
    {"rcp.approx.f64", nullptr, perturb64<"rcp.approx.ftz.f64">},
    {"rsqrt.approx.f64", perturb64<"rsqrt.approx.f64">, perturb64<"rsqrt.approx.ftz.f64">},
    {"tanh.approx.f16", perturb<"tanh.approx.f16", Half, false, tanh_of>, nullptr},
    {"tanh.approx.f16x2", perturb<"tanh.approx.f16", Half, false, tanh_of, 2>, nullptr},
    {"tanh.approx.bf16", perturb<"tanh.approx.bf16", Bfloat, false, tanh_of>, nullptr},
    {"tanh.approx.bf16x2", perturb<"tanh.approx.bf16", Bfloat, false, tanh_of, 2>, nullptr},
    {"ex2.approx.f16", perturb<"ex2.approx.f16", Half, false, exp2_of>, nullptr},
    {"ex2.approx.f16x2", perturb<"ex2.approx.f16", Half, false, exp2_of, 2>, nullptr},
    {"ex2.approx.bf16", nullptr, perturb<"ex2.approx.bf16", Bfloat, true, exp2_of>},
    {"ex2.approx.bf16x2", nullptr, perturb<"ex2.approx.bf16", Bfloat, true, exp2_of, 2>},
};

}  // namespace

std::span<const StatedError> stated_errors() { return table; }

PerturbFunction find_perturb(std::string_view opcode, std::span<const std::string_view> modifiers) {
    if (modifiers.size() < 2 || (modifiers[0] != ".approx" && modifiers[0] != ".full")) return nullptr;
    const bool ftz = std::ranges::find(modifiers, ".ftz") != modifiers.end();
    std::string form(opcode);
    form.append(modifiers.front()).append(modifiers.back());
    const auto row = std::ranges::find(rows, form, &PerturbRow::form);
    return row == std::end(rows) ? nullptr : ftz ? row->ftz : row->plain;
}

}  // namespace ptxgraft::arithmetic
