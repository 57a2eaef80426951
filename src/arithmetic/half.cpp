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
template <auto F, class P> P unary_halves(P a) { return pack<P>(F(high(a)), F(low(a))); }
template <auto F, class P> P binary_halves(P a, P b) {
    return pack<P>(F(high(a), high(b)), F(low(a), low(b)));
}
template <auto F, class P> P ternary_halves(P a, P b, P c) {
    return pack<P>(F(high(a), high(b), high(c)), F(low(a), low(b), low(c)));
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

template <Operation O, Finish F, bool Ftz> Resolved arithmetic_of(Modifiers m) {
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        return packed ? make<&binary_halves<&arithmetic<O, F, Ftz, T>, P>>()
                      : make<&arithmetic<O, F, Ftz, T>>();
    });
}
template <Operation O> Resolved resolve_arithmetic(Modifiers m) {
    m.take(".rn");  // the only rounding, and the default
    const bool bfloat = ends_in_bfloat(m);
    const bool ftz = m.take(".ftz"), saturate = m.take(".sat");
    if (bfloat && (ftz || saturate)) return std::nullopt;
    if (ftz) return saturate ? arithmetic_of<O, sat, true>(m) : arithmetic_of<O, as_is, true>(m);
    return saturate ? arithmetic_of<O, sat, false>(m) : arithmetic_of<O, as_is, false>(m);
}
template <Finish F, bool Ftz> Resolved fused_of(Modifiers m) {
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        return packed ? make<&ternary_halves<&fused<F, Ftz, T>, P>>() : make<&fused<F, Ftz, T>>();
    });
}
// Only bf16 has the directed roundings.
template <Rounding R> Resolved fused_bfloat(Modifiers m) {
    const bool with_relu = m.take(".relu");
    const int type = m.take_of({".bf16", ".bf16x2"});
    if (type < 0 || !m.done()) return std::nullopt;
    static constexpr PureInstruction forms[] = {
        make<&fused<as_is, false, Bfloat, R>>(),
        make<&ternary_halves<&fused<as_is, false, Bfloat, R>, BfloatPair>>(),
        make<&fused<relu, false, Bfloat, R>>(),
        make<&ternary_halves<&fused<relu, false, Bfloat, R>, BfloatPair>>()};
    return forms[2 * (with_relu ? 1 : 0) + type];
}

// 9.7.4.4, .oob: what a tensor copy puts outside of a tensor (5.5.2.3: a special NaN; here those of
// tensor_copy.cpp) makes the result zero.
bool is_outside(Half a) { return a.bits == 0x7EFF; }
bool is_outside(Bfloat a) { return a.bits == 0x7FDF; }
template <auto F, class T> T unless_outside(T a, T b, T c) {
    return is_outside(a) || is_outside(b) || is_outside(c) ? T{0} : F(a, b, c);
}
template <Finish F, Rounding R> Resolved fused_inside(Modifiers m) {
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        if constexpr (R != Rounding::rn && std::is_same_v<T, Half>)
            return std::nullopt;
        else
            return packed ? make<&ternary_halves<&unless_outside<&fused<F, false, T, R>, T>, P>>()
                          : make<&unless_outside<&fused<F, false, T, R>, T>>();
    });
}
Resolved resolve_fma_oob(Modifiers m, int rounding) {
    const int how = m.take_of({".sat", ".relu"}) + 1;
    if (how == sat)
        return rounding == 0 && !ends_in_bfloat(m) ? fused_inside<sat, Rounding::rn>(m) : std::nullopt;
    switch (rounding) {
        case 0:
            return how == relu ? fused_inside<relu, Rounding::rn>(m) : fused_inside<as_is, Rounding::rn>(m);
        case 1:
            return how == relu ? fused_inside<relu, Rounding::rz>(m) : fused_inside<as_is, Rounding::rz>(m);
        case 2:
            return how == relu ? fused_inside<relu, Rounding::rm>(m) : fused_inside<as_is, Rounding::rm>(m);
        default:
            return how == relu ? fused_inside<relu, Rounding::rp>(m) : fused_inside<as_is, Rounding::rp>(m);
    }
}
Resolved resolve_fma(Modifiers m) {
    Modifiers outside = m;
    if (const int rounding = outside.take_of({".rn", ".rz", ".rm", ".rp"});
        rounding >= 0 && outside.take(".oob"))
        return resolve_fma_oob(outside, rounding);
    if (m.take(".rz")) return fused_bfloat<Rounding::rz>(m);
    if (m.take(".rm")) return fused_bfloat<Rounding::rm>(m);
    if (m.take(".rp")) return fused_bfloat<Rounding::rp>(m);
    if (!m.take(".rn")) return std::nullopt;
    const bool bfloat = ends_in_bfloat(m);
    const bool ftz = m.take(".ftz");
    const int how = m.take_of({".sat", ".relu"}) + 1;
    if (bfloat && (ftz || how == sat)) return std::nullopt;
    if (ftz)
        return how == sat    ? fused_of<sat, true>(m)
               : how == relu ? fused_of<relu, true>(m)
                             : fused_of<as_is, true>(m);
    return how == sat    ? fused_of<sat, false>(m)
           : how == relu ? fused_of<relu, false>(m)
                         : fused_of<as_is, false>(m);
}
template <bool Ftz> Resolved abs_or_neg(Modifiers m, bool is_abs) {
    return by_half(m, [&]<class T, class P>(bool packed) -> Resolved {
        if (is_abs)
            return leaving(Open::nan,
                           packed ? make<&unary_halves<&abs_of<Ftz, T>, P>>() : make<&abs_of<Ftz, T>>());
        return leaving(Open::nan, packed ? make<&unary_halves<&neg<Ftz, T>, P>>() : make<&neg<Ftz, T>>());
    });
}
Resolved resolve_sign(Modifiers m, bool is_abs) {
    const bool bfloat = ends_in_bfloat(m);
    if (m.take(".ftz")) return bfloat ? std::nullopt : abs_or_neg<true>(m, is_abs);
    return abs_or_neg<false>(m, is_abs);
}
template <bool Max, bool Ftz, bool Nan, bool Xorsign> Resolved min_max_of(Modifiers m) {
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        return packed ? make<&binary_halves<&min_max<Max, Ftz, Nan, Xorsign, T>, P>>()
                      : make<&min_max<Max, Ftz, Nan, Xorsign, T>>();
    });
}
template <bool Max> Resolved resolve_min_max(Modifiers m, Shape shape) {
    if (shape.operands != 3) return std::nullopt;
    const bool bfloat = ends_in_bfloat(m);
    const bool ftz = m.take(".ftz"), nan = m.take(".NaN"), xorsign = m.take(".xorsign");
    if ((xorsign && !m.take(".abs")) || (bfloat && ftz)) return std::nullopt;
    if (ftz) {
        if (nan)
            return xorsign ? min_max_of<Max, true, true, true>(m) : min_max_of<Max, true, true, false>(m);
        return xorsign ? min_max_of<Max, true, false, true>(m) : min_max_of<Max, true, false, false>(m);
    }
    if (nan) return xorsign ? min_max_of<Max, false, true, true>(m) : min_max_of<Max, false, true, false>(m);
    return xorsign ? min_max_of<Max, false, false, true>(m) : min_max_of<Max, false, false, false>(m);
}
// 9.7.4.10: ex2.approx.atype and ex2.approx.ftz.btype, where .ftz belongs to bf16 alone.
Resolved resolve_ex2(Modifiers m) {
    if (!m.take(".approx")) return std::nullopt;
    const bool bfloat = ends_in_bfloat(m), ftz = m.take(".ftz");
    if (bfloat != ftz) return std::nullopt;
    return by_half(m, [&]<class T, class P>(bool packed) -> Resolved {
        if (ftz) return packed ? make<&unary_halves<&ex2<true, T>, P>>() : make<&ex2<true, T>>();
        return packed ? make<&unary_halves<&ex2<false, T>, P>>() : make<&ex2<false, T>>();
    });
}
Resolved resolve_tanh(Modifiers m) {
    if (!m.take(".approx")) return std::nullopt;
    return by_half(m, []<class T, class P>(bool packed) -> Resolved {
        return packed ? make<&unary_halves<&tanh_of<T>, P>>() : make<&tanh_of<T>>();
    });
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
template <Mixed M, Rounding R, bool Sat, class T> Resolved mixed() {
    if constexpr (M == mixed_is_fma)
        return make<&mixed_fma<R, Sat, T>>();
    else
        return make<&mixed_add<M == mixed_is_sub, R, Sat, T>>();
}
template <Mixed M, Rounding R> Resolved mixed_rounded(bool saturate, bool bfloat) {
    if (saturate) return bfloat ? mixed<M, R, true, Bfloat>() : mixed<M, R, true, Half>();
    return bfloat ? mixed<M, R, false, Bfloat>() : mixed<M, R, false, Half>();
}
template <Mixed M> Resolved resolve_mixed(Modifiers m) {
    const int written = m.take_of({".rn", ".rz", ".rm", ".rp"});
    if (M == mixed_is_fma && written < 0) return std::nullopt;
    const bool saturate = m.take(".sat");
    if (!m.take(".f32")) return std::nullopt;
    const int type = m.take_of({".f16", ".bf16"});
    if (type < 0 || !m.done()) return std::nullopt;
    switch (written) {
        case 1: return mixed_rounded<M, Rounding::rz>(saturate, type == 1);
        case 2: return mixed_rounded<M, Rounding::rm>(saturate, type == 1);
        case 3: return mixed_rounded<M, Rounding::rp>(saturate, type == 1);
        default: return mixed_rounded<M, Rounding::rn>(saturate, type == 1);
    }
}
template <Mixed M, Resolved (*Narrow)(Modifiers)> Resolved narrow_or_mixed(Modifiers m) {
    if (Resolved found = Narrow(m)) return found;
    return resolve_mixed<M>(m);
}

}  // namespace

Resolved resolve_half(std::string_view opcode, Modifiers m, Shape shape) {
    if (opcode == "add") return narrow_or_mixed<mixed_is_add, resolve_arithmetic<add>>(m);
    if (opcode == "sub") return narrow_or_mixed<mixed_is_sub, resolve_arithmetic<sub>>(m);
    if (opcode == "mul") return resolve_arithmetic<mul>(m);
    if (opcode == "fma") return narrow_or_mixed<mixed_is_fma, resolve_fma>(m);
    if (opcode == "abs") return resolve_sign(m, true);
    if (opcode == "neg") return resolve_sign(m, false);
    if (opcode == "min") return resolve_min_max<false>(m, shape);
    if (opcode == "max") return resolve_min_max<true>(m, shape);
    if (opcode == "ex2") return resolve_ex2(m);
    if (opcode == "tanh") return resolve_tanh(m);
    return std::nullopt;
}

}  // namespace ptxgraft::arithmetic
