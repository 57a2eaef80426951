// PTX ISA 9.7.9.8 (mov of scalars), 9.7.9.21 (cvt) and 9.7.9.22 (cvt.pack).
//
// A conversion is two steps: the source as a wide value (a 64-bit integer; a double, rounded to odd where 64
// bits do not fit), and from there the destination. So the combinations add up and do not multiply.
#include <algorithm>
#include <cmath>
#include <limits>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

template <class T> T mov(T a) { return a; }
Resolved resolve_mov(Modifiers m, Shape) {
    // Floats move as bits: a move changes no NaN.
    using MovF32 = TypeWord<".f32", std::uint32_t>;
    using MovF64 = TypeWord<".f64", std::uint64_t>;
    const std::string_view type = m.take();
    if (!m.done()) return std::nullopt;
    const std::string_view one[] = {type};
    Modifiers only{one};
    Resolved found = by_type<Pred, B16, B32, B64, U16, U32, U64, S16, S32, S64, MovF32, MovF64>(
        only, []<class T>() -> Resolved { return make_fast<&mov<T>>(); });
    if (found && type == ".f32") found->input_types[0] = ImmediateType::f32;
    if (found && type == ".f64") found->input_types[0] = ImmediateType::f64;
    return found;
}

// --- integers
template <class S> std::int64_t widen(S a) { return static_cast<std::int64_t>(to_bits(a)); }
template <class D> D truncate(std::int64_t a) { return static_cast<D>(a); }
template <class D> D clamp_signed(std::int64_t a) {
    if (a < 0 && !std::is_signed_v<D>) return 0;
    if constexpr (sizeof(D) == 8)
        return static_cast<D>(a);
    else
        return static_cast<D>(
            std::clamp<std::int64_t>(a, std::numeric_limits<D>::min(), std::numeric_limits<D>::max()));
}
template <class D> D clamp_unsigned(std::int64_t bits) {
    return static_cast<D>(std::min(static_cast<std::uint64_t>(bits),
                                   static_cast<std::uint64_t>(std::numeric_limits<D>::max())));
}

// --- to double
template <class S> double integer_odd(S a) {
    if constexpr (sizeof(S) < 8) return static_cast<double>(a);
    const bool negative = a < 0;
    const std::uint64_t magnitude =
        negative ? 0 - static_cast<std::uint64_t>(a) : static_cast<std::uint64_t>(a);
    const int shift = std::max(0, 11 - std::countl_zero(magnitude | 1));
    const std::uint64_t lost = magnitude & ((std::uint64_t{1} << shift) - 1);
    const double result = std::ldexp(static_cast<double>(magnitude >> shift | (lost != 0 ? 1 : 0)), shift);
    return negative ? -result : result;
}
enum Integral : int { keep, rni, rzi, rmi, rpi };
template <Integral I> double integral(double a) {
    if constexpr (I == rni)
        return std::nearbyint(a);  // the processor's mode here is always to nearest even
    else if constexpr (I == rzi)
        return std::trunc(a);
    else if constexpr (I == rmi)
        return std::floor(a);
    else if constexpr (I == rpi)
        return std::ceil(a);
    else
        return a;
}
template <class S, Integral I, bool Ftz> double to_double(S a) {
    if constexpr (std::is_same_v<S, float>)
        return integral<I>(flushed<Ftz>(a));
    else if constexpr (std::is_same_v<S, double>)
        return integral<I>(a);
    else
        return integral<I>(value(a));
}

// --- from double
template <class D, bool NanIsHigh> D to_integer(double a) {
    constexpr auto least = std::numeric_limits<D>::min();
    constexpr auto most = std::numeric_limits<D>::max();
    if (std::isnan(a)) return NanIsHigh ? static_cast<D>(std::uint64_t{1} << (sizeof(D) * 8 - 1)) : D{0};
    if (a <= static_cast<double>(least)) return least;
    // of 64-bit types the bound rounds up to the power of two: just right
    if (a >= static_cast<double>(most)) return most;
    return static_cast<D>(a);
}
enum Finish : int { plain = 0, sat = 1, relu = 2, satfinite = 4 };
template <class T, Rounding R, int F> T to_half(double a) {
    const Format& format = format_of<T>();
    std::uint32_t bits = round_to(format, a, R);
    if ((F & satfinite) != 0 && !std::isnan(a) && (bits & 0x7FFFu) > format.largest)
        bits = (bits & 0x8000u) | format.largest;
    const double rounded = value_of(format, bits);
    if ((F & sat) != 0) bits = rounded > 0 ? (rounded < 1 ? bits : round_to(format, 1.0, R)) : 0;
    if ((F & relu) != 0 && !std::isnan(rounded) && (bits & 0x8000u) != 0) bits = 0;
    return T{static_cast<std::uint16_t>(bits)};
}
template <Rounding R, bool Ftz, bool Sat> float to_float(double a) {
    float result;
    // as the host rounds
    if constexpr (R == Rounding::rn)
        result = a != a ? canonical_nan : static_cast<float>(a);
    else
        result = std::bit_cast<float>(round_to(f32_format, a, R));
    result = flushed<Ftz>(result);
    return Sat ? saturate(result) : result;
}
// A NaN is made quiet, whether or not the host's own rounding to an integer did it.
template <bool Sat> double to_f64(double a) {
    if constexpr (Sat) return a > 0 ? std::min(a, 1.0) : 0.0;
    return a != a ? std::bit_cast<double>(std::bit_cast<std::uint64_t>(a) | std::uint64_t{1} << 51) : a;
}
// 64-bit integers to f64 round here, not through a double.
template <class S, Rounding R> double integer_to_f64(S a) {
    const auto nearest = static_cast<double>(a);
    if constexpr (R == Rounding::rn || sizeof(S) < 8) return nearest;
    // Where the nearest double lies on the wrong side, its neighbour is the answer. 2^64 and 2^63 lie above
    // every integer.
    const auto back = static_cast<__int128>(nearest);
    const auto exact = static_cast<__int128>(a);
    if (back == exact) return nearest;
    const bool down = R == Rounding::rm || (R == Rounding::rz && a > 0);
    if (down)
        return back > exact ? std::nextafter(nearest, -std::numeric_limits<double>::infinity()) : nearest;
    return back < exact ? std::nextafter(nearest, std::numeric_limits<double>::infinity()) : nearest;
}

// --- packed destinations. Input a is the upper part.
template <class P, Rounding R, int F> P pack_f32(float a, float b) {
    return pack<P>(to_half<Element<P>, R, F>(static_cast<double>(a)),
                   to_half<Element<P>, R, F>(static_cast<double>(b)));
}
inline constexpr Format tf32_format{10, 127, 0x3FC00, 0x3FBFF, 0x3FFFF, 18};
template <Rounding R, int F> std::uint32_t to_tf32(float a) {
    std::uint32_t bits = round_to(tf32_format, static_cast<double>(a), R);
    if ((F & satfinite) != 0 && !std::isnan(a) && (bits & 0x3FFFFu) > tf32_format.largest)
        bits = (bits & 0x40000u) | tf32_format.largest;
    if ((F & relu) != 0 && !std::isnan(a) && (bits & 0x40000u) != 0) bits = 0;
    return bits << 13;
}

// --- the choice
constexpr std::string_view float_types[] = {".f16", ".bf16", ".f32", ".f64"};
bool is_float(std::string_view type) { return std::ranges::find(float_types, type) != std::end(float_types); }

struct Conversion {
    int integral = 0;   // Integral
    int rounding = -1;  // index of rn rz rm rp rna; -1: none
    bool ftz = false;
    int finish = plain;
    std::string_view to, from;
};

template <class... Ts, class F> Resolved of_type(std::string_view type, F f) {
    const std::string_view one[] = {type};
    Modifiers only{one};
    return by_type<Ts...>(only, f);
}
template <class F> Resolved of_integer(std::string_view type, F f) {
    return of_type<U8, U16, U32, U64, S8, S16, S32, S64>(type, f);
}

Resolved integer_to_integer(const Conversion& c) {
    const Resolved first = of_integer(c.from, []<class S>() -> Resolved { return make_fast<&widen<S>>(); });
    const bool from_signed = c.from.starts_with(".s");
    const Resolved second = of_integer(c.to, [&]<class D>() -> Resolved {
        if (c.finish == plain) return make_fast<&truncate<D>>();
        return from_signed ? make_fast<&clamp_signed<D>>() : make_fast<&clamp_unsigned<D>>();
    });
    if (!first || !second || c.rounding >= 0 || c.integral != keep || c.ftz || (c.finish & ~sat) != 0)
        return std::nullopt;
    return then(*first, *second);
}

template <Integral I> Resolved widened(std::string_view from, bool ftz) {
    return of_type<F16, Bf16, F32, F64>(from, [&]<class S>() -> Resolved {
        if constexpr (std::is_same_v<S, float>) {
            if (ftz) return make_fast<&to_double<float, I, true>>();
        }
        return sizeof(S) >= 4 ? make_fast<&to_double<S, I, false>>() : make<&to_double<S, I, false>>();
    });
}
Resolved float_source(const Conversion& c) {
    return choose([&]<Integral I> { return widened<I>(c.from, c.ftz); }, Choice<Integral, 5>{c.integral});
}
Resolved float_to_integer(const Conversion& c) {
    if (c.integral == keep || c.rounding >= 0 || (c.finish & ~sat) != 0) return std::nullopt;
    const Resolved first = float_source(c);
    const bool from_double = c.from == ".f64";
    const Resolved second = of_integer(c.to, [&]<class D>() -> Resolved {
        return from_double || sizeof(D) == 8 ? make_fast<&to_integer<D, true>>()
                                             : make_fast<&to_integer<D, false>>();
    });
    return first && second ? Resolved(then(*first, *second)) : std::nullopt;
}

template <class T, Rounding R> Resolved half_finish(int finish) {
    return choose(
        []<int F>() -> Resolved {
            if constexpr ((F & sat) != 0 && F != sat)
                return std::nullopt;
            else
                return make<&to_half<T, R, F>>();
        },
        Choice<int, (relu | satfinite) + 1>{finish});
}
template <Rounding R> Resolved float_destination(const Conversion& c) {
    if (c.to == ".f16") return half_finish<Half, R>(c.finish);
    if (c.to == ".bf16") return half_finish<Bfloat, R>(c.finish);
    if ((c.finish & ~sat) != 0) return std::nullopt;
    const bool saturated = c.finish == sat;
    if (c.to == ".f64") return choose([]<bool Sat> { return make_fast<&to_f64<Sat>>(); }, saturated);
    return choose([]<bool Ftz, bool Sat> { return make_rounded<&to_float<R, Ftz, Sat>, R>(); }, c.ftz,
                  saturated);
}
Resolved rounded_destination(const Conversion& c) {
    return choose([&]<Rounding R> { return float_destination<R>(c); }, or_nearest({c.rounding}));
}
int width_of(std::string_view type) { return type == ".f64" ? 64 : type == ".f32" ? 32 : 16; }
Resolved float_to_float(const Conversion& c) {
    const bool loses = width_of(c.to) < width_of(c.from) ||
                       (c.to != c.from && width_of(c.to) == 16 && width_of(c.from) == 16);
    if (c.integral != keep ? c.to != c.from || c.rounding >= 0 : loses && c.rounding < 0) return std::nullopt;
    if (c.ftz && c.to != ".f32" && c.from != ".f32") return std::nullopt;
    const Resolved first = float_source(c), second = rounded_destination(c);
    return first && second ? Resolved(then(*first, *second)) : std::nullopt;
}

Resolved integer_to_float(const Conversion& c) {
    if (c.rounding < 0 || c.rounding > 3 || c.integral != keep) return std::nullopt;
    if (c.to == ".f64" && c.finish == plain && (c.from == ".s64" || c.from == ".u64")) {
        return of_type<S64, U64>(c.from, [&]<class S> {
            return choose([]<Rounding R> { return make<&integer_to_f64<S, R>>(); }, AnyRounding{c.rounding});
        });
    }
    const Resolved first =
        of_integer(c.from, []<class S>() -> Resolved { return make_fast<&integer_odd<S>>(); });
    const Resolved second = rounded_destination(c);
    return first && second ? Resolved(then(*first, *second)) : std::nullopt;
}

// The forms that pack, and tf32, which alone has .rna.
Resolved special(const Conversion& c) {
    if (c.ftz || c.integral != keep || c.from != ".f32" || (c.finish & sat) != 0) return std::nullopt;
    const Choice<Rounding, 2> rounding{c.rounding};
    const bool relus = (c.finish & relu) != 0, clamps = (c.finish & satfinite) != 0;
    if (c.to == ".f16x2" || c.to == ".bf16x2")
        return choose(
            []<Rounding R, bool Relu, bool Finite, bool IsBfloat> {
                using P = std::conditional_t<IsBfloat, BfloatPair, HalfPair>;
                return make<&pack_f32<P, R, (Relu ? relu : plain) | (Finite ? satfinite : plain)>>();
            },
            rounding, relus, clamps, c.to == ".bf16x2");
    if (c.to != ".tf32") return std::nullopt;
    return choose(
        []<Rounding R, bool Relu, bool Finite>() -> Resolved {
            if constexpr (R == Rounding::rm || R == Rounding::rp)
                return std::nullopt;
            else
                return make<&to_tf32<R, (Relu ? relu : plain) | (Finite ? satfinite : plain)>>();
        },
        Choice<Rounding, 5>{c.rounding}, relus, clamps);
}

// --- cvt.pack
template <int Bits, bool Signed> std::uint32_t clamp_bits(std::int32_t a) {
    constexpr std::int32_t least = Signed ? -(1 << (Bits - 1)) : 0,
                           most = Signed ? (1 << (Bits - 1)) - 1 : (1 << Bits) - 1;
    return static_cast<std::uint32_t>(std::clamp(a, least, most)) & ((1u << Bits) - 1);
}
template <bool Signed> std::uint32_t pack16(std::int32_t a, std::int32_t b) {
    return clamp_bits<16, Signed>(a) << 16 | clamp_bits<16, Signed>(b);
}
template <int Bits, bool Signed> std::uint32_t pack_onto(std::int32_t a, std::int32_t b, std::uint32_t c) {
    return c << (2 * Bits) | clamp_bits<Bits, Signed>(a) << Bits | clamp_bits<Bits, Signed>(b);
}
Resolved resolve_pack(Modifiers m) {
    if (!m.take(".sat")) return std::nullopt;
    const int type = m.take_of({".u16", ".s16", ".u8", ".s8", ".u4", ".s4", ".u2", ".s2"});
    if (type < 0 || !m.take(".s32")) return std::nullopt;
    if (type >= 2 && !m.take(".b32")) return std::nullopt;
    static constexpr PureInstruction forms[] = {make<&pack16<false>>(),       make<&pack16<true>>(),
                                                make<&pack_onto<8, false>>(), make<&pack_onto<8, true>>(),
                                                make<&pack_onto<4, false>>(), make<&pack_onto<4, true>>(),
                                                make<&pack_onto<2, false>>(), make<&pack_onto<2, true>>()};
    return m.done() ? Resolved(forms[type]) : std::nullopt;
}

// Where ptxas makes a move or a shift, NaNs keep their bits.
std::uint32_t shifted_up(std::uint16_t a) { return std::uint32_t{a} << 16; }
Resolved as_bits(const Conversion& c) {
    if (c.integral != keep || c.ftz || c.finish != plain) return std::nullopt;
    const auto floats = [](PureInstruction i, ImmediateType to, ImmediateType from) {
        i.output_type = to;
        i.input_types[0] = from;
        return Resolved(i);
    };
    if (c.to == ".f32" && c.from == ".bf16" && c.rounding < 4)
        return floats(make_fast<&shifted_up>(), ImmediateType::f32, ImmediateType::bf16);
    if (c.to != c.from || c.rounding >= 0) return std::nullopt;
    if (c.to == ".f32")
        return floats(make_fast<&mov<std::uint32_t>>(), ImmediateType::f32, ImmediateType::f32);
    if (c.to == ".f64")
        return floats(make_fast<&mov<std::uint64_t>>(), ImmediateType::f64, ImmediateType::f64);
    return std::nullopt;
}

Resolved resolve_cvt(Modifiers m, Shape shape) {
    if (m.take(".pack")) return resolve_pack(m);
    Conversion c;
    c.integral = m.take_of({".rni", ".rzi", ".rmi", ".rpi"}) + 1;
    c.rounding = m.take_of({".rn", ".rz", ".rm", ".rp", ".rna"});
    c.ftz = m.take(".ftz");
    for (;;) {
        if (m.take(".sat"))
            c.finish |= sat;
        else if (m.take(".relu"))
            c.finish |= relu;
        else if (m.take(".satfinite"))
            c.finish |= satfinite;
        else
            break;
    }
    c.to = m.take(), c.from = m.take();
    if (!m.done() || c.from.empty()) return std::nullopt;
    const bool to_float = is_float(c.to), from_float = is_float(c.from);
    const bool is_between_halves =
        (c.to == ".bf16" && c.from == ".f16") || (c.to == ".f16" && c.from == ".bf16");
    // as ptxas has it
    if (is_between_halves && c.rounding < 0 && c.integral == keep && c.finish == plain) c.rounding = 0;
    Resolved found = special(c);
    if (!found) found = as_bits(c);
    if (!found && to_float && from_float) found = float_to_float(c);
    if (!found && to_float && !from_float) found = integer_to_float(c);
    if (!found && !to_float && from_float) found = float_to_integer(c);
    if (!found && !to_float && !from_float) found = integer_to_integer(c);
    if (!found || shape.operands != std::size_t{found->outputs} + found->inputs) return std::nullopt;
    return leaving(Open::nan, *found);
}

constexpr ResolverRow rows[] = {{"mov", resolve_mov}, {"cvt", resolve_cvt}};

}  // namespace

std::span<const ResolverRow> conversion_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
