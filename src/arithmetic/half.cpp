// PTX ISA 9.7.4 (half precision) and 9.7.5 (mixed precision): f16, bf16 and their pairs. Sums and products of
// 16-bit formats are exact in doubles, or rounded to odd, and rounded once to the format.
#include <cmath>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

enum Operation : int { add, sub, mul };
enum Finish : int { as_is, sat, relu };

template <class T> constexpr T bits_of(std::uint32_t bits) { return T{static_cast<std::uint16_t>(bits)}; }
template <class T> constexpr T nan_of() { return bits_of<T>(format_of<T>().nan); }
template <class T> bool is_subnormal(T a) { return (a.bits & format_of<T>().infinity) == 0; }
template <bool Ftz, class T> T flushed(T a) {
    if constexpr (Ftz)
        return is_subnormal(a) ? bits_of<T>(a.bits & 0x8000u) : a;
    else
        return a;
}
template <Finish F, bool Ftz, class T, Rounding R = Rounding::rn> T finish(double exact) {
    T result = flushed<Ftz>(narrow<T>(exact, R));
    const double rounded = value(result);
    if constexpr (F == sat)
        return rounded > 0 ? (rounded < 1 ? result : narrow<T>(1.0, Rounding::rn)) : bits_of<T>(0);
    if constexpr (F == relu) return rounded < 0 || result.bits == 0x8000 ? bits_of<T>(0) : result;
    return result;
}
template <Operation O, Finish F, bool Ftz, class T> T arithmetic(T a_bits, T b_bits) {
    const double a = value(flushed<Ftz>(a_bits)), b = value(flushed<Ftz>(b_bits));
    return finish<F, Ftz, T>(O == add ? add_odd(a, b) : O == sub ? add_odd(a, -b) : a * b);
}
template <Finish F, bool Ftz, class T, Rounding R = Rounding::rn> T fused(T a, T b, T c) {
    return finish<F, Ftz, T, R>(
        add_odd(value(flushed<Ftz>(a)) * value(flushed<Ftz>(b)), value(flushed<Ftz>(c)), R));
}
// A NaN becomes an unspecified NaN (9.7.4.5, 9.7.4.6): that of an addition, which ptxas makes of them.
template <class T> T canonical(T a) { return std::isnan(value(a)) ? nan_of<T>() : a; }
template <bool Ftz, class T> T abs_of(T a) { return canonical(flushed<Ftz>(bits_of<T>(a.bits & 0x7FFFu))); }
template <bool Ftz, class T> T neg(T a) { return canonical(flushed<Ftz>(bits_of<T>(a.bits ^ 0x8000u))); }

template <bool Max, bool Nan, class T> T select(T a, T b) {
    const double x = value(a), y = value(b);
    if (std::isnan(x) || std::isnan(y)) {
        if (Nan || (std::isnan(x) && std::isnan(y))) return nan_of<T>();
        return std::isnan(x) ? b : a;
    }
    if (x == y) return (std::signbit(x) != Max) ? a : b;  // -0 < +0
    return (x < y) != Max ? a : b;
}
template <bool Max, bool Ftz, bool Nan, bool Xorsign, class T> T min_max(T a, T b) {
    a = flushed<Ftz>(a), b = flushed<Ftz>(b);
    if constexpr (!Xorsign) return select<Max, Nan>(a, b);
    const T magnitude = select<Max, Nan>(bits_of<T>(a.bits & 0x7FFFu), bits_of<T>(b.bits & 0x7FFFu));
    if (std::isnan(value(magnitude))) return magnitude;
    return bits_of<T>(std::uint32_t{magnitude.bits} | ((a.bits ^ b.bits) & 0x8000u));
}
template <bool Ftz, class T> T ex2(T a) { return finish<as_is, Ftz, T>(std::exp2(value(flushed<Ftz>(a)))); }
template <class T> T tanh_of(T a) { return finish<as_is, false, T>(std::tanh(value(a))); }

// The packed forms do each half.
template <auto F, class P, class Signature> struct Halves;
template <auto F, class P, class R, class... A> struct Halves<F, P, R (*)(A...)> {
    template <class> using Pair = P;
    static P both(Pair<A>... pairs) { return pack<P>(F(high(pairs)...), F(low(pairs)...)); }
};
// F on elements, or on pairs of them.
template <auto F, class P> PureInstruction made(bool packed) {
    return packed ? make<&Halves<F, P, decltype(F)>::both>() : make<F>();
}

// Calls f.operator()<T, P>(packed) for the last modifier: T the element, P its pair.
template <class F> Resolved by_half(Modifiers& m, F f) {
    const int type = m.take_of({".f16", ".f16x2", ".bf16", ".bf16x2"});
    if (type < 0 || !m.done()) return std::nullopt;
    return type < 2 ? f.template operator()<Half, HalfPair>(type == 1)
                    : f.template operator()<Bfloat, BfloatPair>(type == 3);
}
bool ends_in_bfloat(Modifiers m) {
    std::string_view last;
    while (!m.done()) last = m.take();
    return last.starts_with(".bf16");
}

template <Operation O> Resolved resolve_arithmetic(Modifiers m, Shape) {
    m.take(".rn");  // the only rounding, and the default
    const bool bfloat = ends_in_bfloat(m);
    const bool ftz = m.take(".ftz"), saturate = m.take(".sat");
    if (bfloat && (ftz || saturate)) return std::nullopt;
    return by_half(m, [&]<class T, class P>(bool packed) {
        return choose(
            [&]<bool Ftz, bool Sat> { return made<&arithmetic<O, Sat ? sat : as_is, Ftz, T>, P>(packed); },
            ftz, saturate);
    });
}

// 9.7.4.4, .oob: what a tensor copy puts outside of a tensor (5.5.2.3: a special NaN; here those of
// tensor_copy.cpp) makes the result zero.
bool is_outside(Half a) { return a.bits == 0x7EFF; }
bool is_outside(Bfloat a) { return a.bits == 0x7FDF; }
template <auto F, class T> T unless_outside(T a, T b, T c) {
    return is_outside(a) || is_outside(b) || is_outside(c) ? T{0} : F(a, b, c);
}
// Only bf16 has the directed roundings, and neither .ftz nor .sat.
Resolved resolve_fma(Modifiers m, Shape) {
    const AnyRounding rounding = take_rounding(m);
    const bool bfloat = ends_in_bfloat(m), oob = m.take(".oob"), ftz = !oob && m.take(".ftz");
    const Choice<Finish, 3> how{m.take_of({".sat", ".relu"}) + 1};
    if (bfloat ? ftz || how.number == sat : rounding.number != 0) return std::nullopt;
    return by_half(m, [&]<class T, class P>(bool packed) {
        return choose(
            [&]<Rounding R, Finish F, bool Ftz, bool Oob>() -> Resolved {
                constexpr bool exists = std::is_same_v<T, Bfloat> ? !Ftz && F != sat : R == Rounding::rn;
                if constexpr (!exists)
                    return std::nullopt;
                else if constexpr (Oob)
                    return made<&unless_outside<&fused<F, false, T, R>, T>, P>(packed);
                else
                    return made<&fused<F, Ftz, T, R>, P>(packed);
            },
            rounding, how, ftz, oob);
    });
}
template <bool Abs> Resolved resolve_sign(Modifiers m, Shape) {
    const bool bfloat = ends_in_bfloat(m), ftz = m.take(".ftz");
    if (bfloat && ftz) return std::nullopt;
    return by_half(m, [&]<class T, class P>(bool packed) {
        return choose(
            [&]<bool Ftz> {
                return leaving(Open::nan,
                               Abs ? made<&abs_of<Ftz, T>, P>(packed) : made<&neg<Ftz, T>, P>(packed));
            },
            ftz);
    });
}
template <bool Max> Resolved resolve_min_max(Modifiers m, Shape shape) {
    if (shape.operands != 3) return std::nullopt;
    const bool bfloat = ends_in_bfloat(m);
    const bool ftz = m.take(".ftz"), nan = m.take(".NaN"), xorsign = m.take(".xorsign");
    if ((xorsign && !m.take(".abs")) || (bfloat && ftz)) return std::nullopt;
    return by_half(m, [&]<class T, class P>(bool packed) {
        return choose(
            [&]<bool Ftz, bool Nan, bool Xorsign> {
                return made<&min_max<Max, Ftz, Nan, Xorsign, T>, P>(packed);
            },
            ftz, nan, xorsign);
    });
}
// 9.7.4.10: ex2.approx.atype and ex2.approx.ftz.btype, where .ftz belongs to bf16 alone.
Resolved resolve_ex2(Modifiers m, Shape) {
    if (!m.take(".approx")) return std::nullopt;
    const bool bfloat = ends_in_bfloat(m), ftz = m.take(".ftz");
    if (bfloat != ftz) return std::nullopt;
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        return made<&ex2<std::is_same_v<T, Bfloat>, T>, P>(packed);
    });
}
Resolved resolve_tanh(Modifiers m, Shape) {
    if (!m.take(".approx")) return std::nullopt;
    return by_half(m, []<class T, class P>(bool packed) -> Resolved { return made<&tanh_of<T>, P>(packed); });
}

// --- 9.7.5: a narrow operand is widened exactly, the arithmetic is that of f32
float f32_of(double value, Rounding mode) { return std::bit_cast<float>(round_to(f32_format, value, mode)); }
template <bool Sat> float finish_f32(double exact, Rounding mode) {
    const float result = f32_of(exact, mode);
    return Sat ? saturate(result) : result;
}
template <bool Subtract, Rounding R, bool Sat, class T> float mixed_add(T a, float c) {
    return finish_f32<Sat>(add_odd(value(a), Subtract ? -static_cast<double>(c) : static_cast<double>(c), R),
                           R);
}
template <Rounding R, bool Sat, class T> float mixed_fma(T a, T b, float c) {
    return finish_f32<Sat>(add_odd(value(a) * value(b), static_cast<double>(c), R), R);
}
enum Mixed : int { mixed_is_add, mixed_is_sub, mixed_is_fma };
template <Mixed M> Resolved resolve_mixed(Modifiers m, Shape) {
    const AnyRounding written = take_rounding(m);
    if (M == mixed_is_fma && written.number < 0) return std::nullopt;
    const bool saturate = m.take(".sat");
    if (!m.take(".f32")) return std::nullopt;
    const int type = m.take_of({".f16", ".bf16"});
    if (type < 0 || !m.done()) return std::nullopt;
    return choose(
        []<Rounding R, bool Sat, bool IsBfloat> {
            using T = std::conditional_t<IsBfloat, Bfloat, Half>;
            if constexpr (M == mixed_is_fma)
                return make<&mixed_fma<R, Sat, T>>();
            else
                return make<&mixed_add<M == mixed_is_sub, R, Sat, T>>();
        },
        or_nearest(written), saturate, type == 1);
}

constexpr ResolverRow rows[] = {
    {"add", resolve_arithmetic<add>},
    {"add", resolve_mixed<mixed_is_add>},
    {"sub", resolve_arithmetic<sub>},
    {"sub", resolve_mixed<mixed_is_sub>},
    {"mul", resolve_arithmetic<mul>},
    {"fma", resolve_fma},
    {"fma", resolve_mixed<mixed_is_fma>},
    {"abs", resolve_sign<true>},
    {"neg", resolve_sign<false>},
    {"min", resolve_min_max<false>},
    {"max", resolve_min_max<true>},
    {"ex2", resolve_ex2},
    {"tanh", resolve_tanh},
};

}  // namespace

std::span<const ResolverRow> half_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
