// PTX ISA 9.7.3: floating point, f32 and f64.
#include <cfenv>
#include <cmath>

#include "arithmetic/guess.hpp"
#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

enum Operation : int { add, sub, mul, div_, fma_ };

// NVIDIA's f32 units answer one NaN, whatever NaN came in.
float canonical(float a) { return std::isnan(a) ? canonical_nan : a; }

template <Operation O> float nearest(float a, float b) {
    if constexpr (O == add)
        return a + b;
    else if constexpr (O == sub)
        return a - b;
    else if constexpr (O == mul)
        return a * b;
    else
        return a / b;
}
// The exact result, or one rounded to odd, in a double.
template <Operation O, Rounding R> double odd(double a, double b) {
    if constexpr (O == add)
        return add_odd(a, b, R);
    else if constexpr (O == sub)
        return add_odd(a, -b, R);
    else if constexpr (O == mul)
        return a * b;
    else
        return div_odd(a, b);
}

template <bool Ftz, bool Sat> float finish(float result) {
    result = flushed<Ftz>(canonical(result));
    return Sat ? saturate(result) : result;
}
template <Operation O, Rounding R, bool Ftz, bool Sat> float arithmetic(float a, float b) {
    a = flushed<Ftz>(a), b = flushed<Ftz>(b);
    if constexpr (R == Rounding::rn)
        return finish<Ftz, Sat>(nearest<O>(a, b));
    else
        return finish<Ftz, Sat>(to_f32(odd<O, R>(a, b), R));
}
template <Rounding R, bool Ftz, bool Sat> float fused(float a, float b, float c) {
    a = flushed<Ftz>(a), b = flushed<Ftz>(b), c = flushed<Ftz>(c);
    // exact in libm too, where the processor has none
    if constexpr (R == Rounding::rn) return finish<Ftz, Sat>(std::fma(a, b, c));
    // The product of two floats is exact in a double, so that one rounding to odd leaves the exact fma's
    // rounding.
    const double product = static_cast<double>(a) * static_cast<double>(b);
    return finish<Ftz, Sat>(to_f32(add_odd(product, static_cast<double>(c), R), R));
}
// --- f64: nearest natively, the directed modes by the processor's control word, around one lane's operation
class RoundingScope {
  public:
    explicit RoundingScope(Rounding mode) : saved_(std::fegetround()) {
        std::fesetround(mode == Rounding::rz   ? FE_TOWARDZERO
                        : mode == Rounding::rm ? FE_DOWNWARD
                                               : FE_UPWARD);
    }
    ~RoundingScope() { std::fesetround(saved_); }

  private:
    int saved_;
};
template <Operation O> double plain(double a, double b, double c) {
    volatile double x = a, y = b, z = c;  // keeps the operation between the changes of the control word
    volatile double result = O == add    ? x + y
                             : O == sub  ? x - y
                             : O == mul  ? x * y
                             : O == div_ ? x / y
                                         : std::fma(x, y, z);
    return result;
}
// PTX leaves open which NaN an operation on doubles gives; here it is the first input that is one, made
// quiet, whatever order the compiler gave the operands of the host's instruction.
double quiet(double a) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) | std::uint64_t{1} << 51);
}
double nan_of(double result, double a, double b, double c) {
    double nan = std::bit_cast<double>(0xFFF8000000000000ull);
    nan = c != c ? quiet(c) : nan;
    nan = b != b ? quiet(b) : nan;
    nan = a != a ? quiet(a) : nan;
    return result != result ? nan : result;
}
template <Operation O, Rounding R> double arithmetic64(double a, double b) {
    if constexpr (R == Rounding::rn) {
        return nan_of(O == add ? a + b : O == sub ? a - b : O == mul ? a * b : a / b, a, b, 0);
    } else {
        const RoundingScope scope(R);
        return nan_of(plain<O>(a, b, 0), a, b, 0);
    }
}
template <Rounding R> double fused64(double a, double b, double c) {
    if constexpr (R == Rounding::rn) {
        return nan_of(std::fma(a, b, c), a, b, c);
    } else {
        const RoundingScope scope(R);
        return nan_of(plain<fma_>(a, b, c), a, b, c);
    }
}
template <Rounding R> double rcp64(double a) { return arithmetic64<div_, R>(1.0, a); }
template <Rounding R> double sqrt64(double a) {
    if constexpr (R == Rounding::rn) {
        return nan_of(std::sqrt(a), a, 0, 0);
    } else {
        const RoundingScope scope(R);
        volatile double x = a;
        volatile double result = std::sqrt(x);
        return nan_of(result, a, 0, 0);
    }
}

template <Rounding R, bool Ftz> float rcp(float a) { return arithmetic<div_, R, Ftz, false>(1.0f, a); }
template <Rounding R, bool Ftz> float sqrt_of(float a) {
    a = flushed<Ftz>(a);
    if constexpr (R == Rounding::rn)
        return finish<Ftz, false>(std::sqrt(a));
    else
        return finish<Ftz, false>(to_f32(sqrt_odd(a), R));
}

// --- approximations: computed in double and rounded once, inside every bound of the manual
enum Function : int { rcp_f, sqrt_f, rsqrt_f, sin_f, cos_f, lg2_f, ex2_f, tanh_f };
template <Function F> double exact(double a) {
    if constexpr (F == rcp_f)
        return 1.0 / a;
    else if constexpr (F == sqrt_f)
        return std::sqrt(a);
    else if constexpr (F == rsqrt_f)
        return 1.0 / std::sqrt(a);
    else if constexpr (F == sin_f)
        return std::sin(a);
    else if constexpr (F == cos_f)
        return std::cos(a);
    else if constexpr (F == lg2_f)
        return std::log2(a);
    else if constexpr (F == ex2_f)
        return std::exp2(a);
    else
        return std::tanh(a);
}
template <Function F, bool Ftz> float approximate(float a) {
    return finish<Ftz, false>(static_cast<float>(exact<F>(flushed<Ftz>(a))));
}
// 9.7.3.8: div.approx answers 0 when the divisor is so large that its reciprocal is flushed.
template <bool Ftz> float div_approx(float a, float b) {
    a = flushed<Ftz>(a), b = flushed<Ftz>(b);
    if (std::abs(b) > 0x1p126f && std::isfinite(b))
        return std::isinf(a)   ? canonical_nan
               : std::isnan(a) ? canonical_nan
                               : std::copysign(0.0f, std::signbit(a) != std::signbit(b) ? -1.0f : 1.0f);
    return finish<Ftz, false>(a / b);
}
template <bool Ftz> float div_full(float a, float b) {
    return arithmetic<div_, Rounding::rn, Ftz, false>(a, b);
}

// 9.7.3.14 and .17: the 20 upper bits of the significand, subnormals flushed, the lower word zero.
double upper_word(double a) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & 0xFFFFFFFF00000000ull);
}
double flush64(double a) { return std::fpclassify(a) == FP_SUBNORMAL ? std::copysign(0.0, a) : a; }
double rcp_approx64(double a) { return flush64(upper_word(1.0 / flush64(upper_word(a)))); }
double rsqrt_approx_ftz64(double a) { return upper_word(1.0 / std::sqrt(flush64(upper_word(a)))); }
double rsqrt_approx64(double a) { return 1.0 / std::sqrt(a); }

// --- sign and selection. A NaN becomes an unspecified NaN (9.7.3.9, 9.7.3.10): that of an addition, which
// ptxas makes of them.
template <bool Ftz> float abs_of(float a) {
    return canonical(flushed<Ftz>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & 0x7FFFFFFFu)));
}
template <bool Ftz> float neg(float a) {
    return canonical(flushed<Ftz>(std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) ^ 0x80000000u)));
}
double abs64(double a) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) & ~(std::uint64_t{1} << 63));
}
double neg64(double a) {
    return std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) ^ (std::uint64_t{1} << 63));
}
float copysign32(float a, float b) { return std::copysign(b, a); }
double copysign64(double a, double b) { return std::copysign(b, a); }

// -0 < +0 here. Written as selections, without a branch, so that columns are vectorised.
template <bool Max, class T> T tie(T x, T y) {
    using Bits = std::conditional_t<sizeof(T) == 8, std::uint64_t, std::uint32_t>;
    const auto a = std::bit_cast<Bits>(x), b = std::bit_cast<Bits>(y);
    return std::bit_cast<T>(Max ? (a & b) : (a | b));
}
template <bool Max, bool Nan, class T> T select(T x, T y) {
    const bool x_nan = x != x, y_nan = y != y;
    T result = Max ? (x > y ? x : y) : (x < y ? x : y);
    result = x == y ? tie<Max>(x, y) : result;
    if constexpr (Nan) return (x_nan | y_nan) ? static_cast<T>(canonical_nan) : result;
    result = x_nan ? y : result;
    result = y_nan ? x : result;
    return (x_nan & y_nan) ? static_cast<T>(canonical_nan) : result;
}
template <bool Max, bool Ftz, bool Nan, bool Abs, bool Xorsign> float min_max(float a, float b) {
    a = flushed<Ftz>(a), b = flushed<Ftz>(b);
    const bool negative = std::signbit(a) != std::signbit(b);
    const float result = Abs ? select<Max, Nan>(std::abs(a), std::abs(b)) : select<Max, Nan>(a, b);
    if (!Xorsign || std::isnan(result)) return canonical(result);
    return std::copysign(result, negative ? -1.0f : 1.0f);
}
template <bool Max, bool Ftz, bool Nan, bool Abs> float min_max3(float a, float b, float c) {
    return min_max<Max, Ftz, Nan, Abs, false>(min_max<Max, Ftz, Nan, Abs, false>(a, b), c);
}
template <bool Max> double min_max64(double a, double b) { return select<Max, false>(a, b); }

template <auto F, Rounding R> constexpr PureInstruction make_rounded64() {
    return leaving(Open::nan, make_rounded<F, R>());
}

// The forms of .f64, and those of .f32 with .ftz and .sat and of its pairs: `of_f64` and `of_f32` make them.
template <class F64, class F32>
Resolved at_rounding(Modifiers m, AnyRounding rounding, F64 of_f64, F32 of_f32) {
    if (m.take(".f64")) return m.done() ? choose(of_f64, rounding) : std::nullopt;
    const bool ftz = m.take(".ftz"), sat = m.take(".sat");
    const std::string_view type = m.take();
    if (!m.done() || (type != ".f32" && type != ".f32x2") || (sat && type == ".f32x2")) return std::nullopt;
    const Resolved scalar = choose(of_f32, rounding, ftz, sat);
    return scalar && type == ".f32x2" ? over_elements(*scalar) : scalar;
}
// The same without .sat and pairs.
template <class F64, class F32> Resolved at_rounding(Modifiers m, F64 of_f64, F32 of_f32) {
    const AnyRounding rounding = take_rounding(m);
    const bool ftz = m.take(".ftz");  // ptxas lets it stand in front of rcp's .f64, where it changes nothing
    if (m.take(".f64")) return m.done() ? choose(of_f64, rounding) : std::nullopt;
    return m.take(".f32") && m.done() ? choose(of_f32, rounding, ftz) : std::nullopt;
}

template <Operation O> Resolved resolve_arithmetic(Modifiers m, Shape) {
    const AnyRounding rounding = or_nearest(take_rounding(m));
    return at_rounding(
        m, rounding, []<Rounding R> { return make_rounded64<&arithmetic64<O, R>, R>(); },
        []<Rounding R, bool Ftz, bool Sat> { return make_fast<&arithmetic<O, R, Ftz, Sat>>(); });
}
Resolved fma_at(Modifiers m, AnyRounding rounding) {
    return at_rounding(
        m, rounding, []<Rounding R> { return make_rounded64<&fused64<R>, R>(); },
        []<Rounding R, bool Ftz, bool Sat> { return make_fast<&fused<R, Ftz, Sat>>(); });
}
Resolved resolve_fma(Modifiers m, Shape) {
    const AnyRounding rounding = take_rounding(m);
    return fma_at(m, rounding);
}
// mad.f32 is fma.f32 on every target that there is (9.7.3.7); without a rounding it is .rn.
Resolved resolve_mad(Modifiers m, Shape) {
    const AnyRounding rounding = or_nearest(take_rounding(m));
    const Resolved found = fma_at(m, rounding);
    return found && found->column_elements == 1 ? found : std::nullopt;
}
Resolved resolve_div(Modifiers m, Shape) {
    const int kind = m.take_of({".approx", ".full"});
    if (kind < 0)
        return at_rounding(
            m, []<Rounding R> { return make_rounded64<&arithmetic64<div_, R>, R>(); },
            []<Rounding R, bool Ftz> { return make_rounded<&arithmetic<div_, R, Ftz, false>, R>(); });
    const bool ftz = m.take(".ftz");
    if (!m.take(".f32") || !m.done()) return std::nullopt;
    if (kind == 0) return choose([]<bool Ftz> { return make<&div_approx<Ftz>>(); }, ftz);
    return choose([]<bool Ftz> { return make<&div_full<Ftz>>(); }, ftz);
}

template <Function F, bool Ftz> PureInstruction in_vectors() {
    if constexpr (F == sin_f)
        return make_guessed<GuessSin, Ftz, &approximate<F, Ftz>>();
    else if constexpr (F == cos_f)
        return make_guessed<GuessCos, Ftz, &approximate<F, Ftz>>();
    else if constexpr (F == lg2_f)
        return make_guessed<GuessLg2, Ftz, &approximate<F, Ftz>>();
    else if constexpr (F == ex2_f)
        return make_guessed<GuessEx2, Ftz, &approximate<F, Ftz>>();
    else if constexpr (F == tanh_f)
        return make_guessed<GuessTanh, Ftz, &approximate<F, Ftz>>();
    else
        return make_fast<&approximate<F, Ftz>>();  // a division or a root
}
template <Function F> Resolved approximation(Modifiers m) {
    const bool ftz = m.take(".ftz");
    if (!m.take(".f32") || !m.done()) return std::nullopt;
    return choose([]<bool Ftz> { return in_vectors<F, Ftz>(); }, ftz);
}
template <Function F> Resolved resolve_approximate(Modifiers m, Shape) {
    return m.take(".approx") ? approximation<F>(m) : std::nullopt;
}
Resolved resolve_rcp(Modifiers m, Shape) {
    if (m.take(".approx")) {
        Modifiers double_form = m;
        if (double_form.take(".ftz") && double_form.take(".f64"))
            return double_form.done() ? Resolved(make<&rcp_approx64>()) : std::nullopt;
        return approximation<rcp_f>(m);
    }
    return at_rounding(
        m, []<Rounding R> { return make_rounded64<&rcp64<R>, R>(); },
        []<Rounding R, bool Ftz> { return make_rounded<&rcp<R, Ftz>, R>(); });
}
Resolved resolve_sqrt(Modifiers m, Shape) {
    if (m.take(".approx")) return approximation<sqrt_f>(m);
    return at_rounding(
        m, []<Rounding R> { return make_rounded64<&sqrt64<R>, R>(); },
        []<Rounding R, bool Ftz> { return make_rounded<&sqrt_of<R, Ftz>, R>(); });
}
Resolved resolve_rsqrt(Modifiers m, Shape) {
    if (!m.take(".approx")) return std::nullopt;
    Modifiers double_form = m;
    const bool ftz = double_form.take(".ftz");
    if (double_form.take(".f64"))
        return !double_form.done() ? std::nullopt
                                   : Resolved(ftz ? make<&rsqrt_approx_ftz64>() : make<&rsqrt_approx64>());
    return approximation<rsqrt_f>(m);
}
// 9.7.3.22 has no .ftz: subnormals are kept.
Resolved resolve_tanh(Modifiers m, Shape) {
    return m.take(".approx") && m.take(".f32") && m.done() ? Resolved(in_vectors<tanh_f, false>())
                                                           : std::nullopt;
}
Resolved resolve_abs(Modifiers m, Shape) {
    if (m.take(".f64")) return m.done() ? Resolved(make_fast<&abs64>()) : std::nullopt;
    const bool ftz = m.take(".ftz");
    if (!m.take(".f32") || !m.done()) return std::nullopt;
    return choose([]<bool Ftz> { return leaving(Open::nan, make_fast<&abs_of<Ftz>>()); }, ftz);
}
Resolved resolve_neg(Modifiers m, Shape) {
    if (m.take(".f64")) return m.done() ? Resolved(leaving(Open::nan, make_fast<&neg64>())) : std::nullopt;
    const bool ftz = m.take(".ftz");
    if (!m.take(".f32") || !m.done()) return std::nullopt;
    return choose([]<bool Ftz> { return leaving(Open::nan, make_fast<&neg<Ftz>>()); }, ftz);
}
Resolved resolve_copysign(Modifiers m, Shape) {
    if (m.take(".f32")) return m.done() ? Resolved(make_fast<&copysign32>()) : std::nullopt;
    return m.take(".f64") && m.done() ? Resolved(make_fast<&copysign64>()) : std::nullopt;
}
template <bool Max> Resolved resolve_min_max(Modifiers m, Shape shape) {
    if (m.take(".f64"))
        return m.done() ? Resolved(leaving(Open::nan, make_fast<&min_max64<Max>>())) : std::nullopt;
    const bool ftz = m.take(".ftz"), nan = m.take(".NaN"), xorsign = m.take(".xorsign"), abs = m.take(".abs");
    if (!m.take(".f32") || !m.done() || (xorsign && !abs)) return std::nullopt;
    const bool three = shape.operands == 4;
    if (three ? xorsign : (abs && !xorsign)) return std::nullopt;
    return choose(
        [&]<bool Ftz, bool Nan, bool Abs> {
            if (three) return make<&min_max3<Max, Ftz, Nan, Abs>>();
            return Abs ? make<&min_max<Max, Ftz, Nan, true, true>>()
                       : make_fast<&min_max<Max, Ftz, Nan, false, false>>();
        },
        ftz, nan, abs);
}

constexpr ResolverRow rows[] = {
    {"add", resolve_arithmetic<add>},
    {"sub", resolve_arithmetic<sub>},
    {"mul", resolve_arithmetic<mul>},
    {"fma", resolve_fma},
    {"mad", resolve_mad},
    {"div", resolve_div},
    {"rcp", resolve_rcp},
    {"sqrt", resolve_sqrt},
    {"rsqrt", resolve_rsqrt},
    {"sin", resolve_approximate<sin_f>},
    {"cos", resolve_approximate<cos_f>},
    {"lg2", resolve_approximate<lg2_f>},
    {"ex2", resolve_approximate<ex2_f>},
    {"tanh", resolve_tanh},
    {"abs", resolve_abs},
    {"neg", resolve_neg},
    {"copysign", resolve_copysign},
    {"min", resolve_min_max<false>},
    {"max", resolve_min_max<true>},
};

}  // namespace

std::span<const ResolverRow> float_rows() { return rows; }

RowFunction row_function(ColumnFunction function) {
    static constexpr std::array<Rows, 3> all[] = {rows_of<&fused<Rounding::rn, false, false>>(),
                                                  rows_of<&fused<Rounding::rn, true, false>>(),
                                                  rows_of<&arithmetic<mul, Rounding::rn, false, false>>(),
                                                  rows_of<&arithmetic<mul, Rounding::rn, true, false>>(),
                                                  rows_of<&arithmetic<add, Rounding::rn, false, false>>(),
                                                  rows_of<&arithmetic<add, Rounding::rn, true, false>>(),
                                                  rows_of<&fused64<Rounding::rn>>()};
    for (const auto& levels : all)
        for (const Rows& one : levels)
            if (one.column == function) return one.row;
    return nullptr;
}

}  // namespace ptxgraft::arithmetic
