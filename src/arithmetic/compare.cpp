// PTX ISA 9.7.6 (comparison and selection), 9.7.7 (half precision comparison) and 9.7.3.1 (testp).
#include <cmath>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

enum Compare : int { eq, ne, lt, le, gt, ge, equ, neu, ltu, leu, gtu, geu, num, nan_, compare_count };
enum Combine : int { none, and_, or_, xor_ };

// All comparisons are made on a type with C++'s own operators.
template <class T> auto comparable(T a) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, Bfloat>)
        return value(a);
    else
        return a;
}
template <Compare C, class T> bool ordered(T a, T b) {
    if constexpr (C == eq || C == equ)
        return a == b;
    else if constexpr (C == ne || C == neu)
        return a != b;
    else if constexpr (C == lt || C == ltu)
        return a < b;
    else if constexpr (C == le || C == leu)
        return a <= b;
    else if constexpr (C == gt || C == gtu)
        return a > b;
    else
        return a >= b;
}
template <Compare C, bool Ftz, class T> bool compare(T a_bits, T b_bits) {
    if constexpr (std::is_integral_v<T>) {
        return ordered<C>(a_bits, b_bits);
    } else {
        auto a = comparable(a_bits), b = comparable(b_bits);
        if constexpr (Ftz && std::is_same_v<T, float>) a = flush(a), b = flush(b);
        if constexpr (Ftz && std::is_same_v<T, Half>) {
            constexpr double least_normal = 0x1p-14;
            if (std::abs(a) < least_normal) a = 0;
            if (std::abs(b) < least_normal) b = 0;
        }
        const bool unordered = std::isnan(a) || std::isnan(b);
        if constexpr (C == num)
            return !unordered;
        else if constexpr (C == nan_)
            return unordered;
        else
            return unordered ? C >= equ : ordered<C>(a, b);
    }
}

// An instruction is a comparison, whose truth a second function turns into the destination.
template <Compare C, bool Ftz, class T> bool truth_of(T a, T b) { return compare<C, Ftz>(a, b); }
// The packed forms: the low half's answer first.
template <Compare C, bool Ftz, class P> Two<bool, bool> truth_of_halves(P a, P b) {
    return {compare<C, Ftz>(low(a), low(b)), compare<C, Ftz>(high(a), high(b))};
}

template <Combine B> bool combine(bool t, bool c) {
    if constexpr (B == and_)
        return t && c;
    else if constexpr (B == or_)
        return t || c;
    else
        return t != c;
}
Two<bool, bool> with_complement(bool t) { return {t, !t}; }
template <Combine B> Two<bool, bool> combine_both(bool t, bool c) {
    return {combine<B>(t, c), combine<B>(!t, c)};
}
template <Combine B> Two<bool, bool> combine_halves(bool p, bool q, bool c) {
    return {combine<B>(p, c), combine<B>(q, c)};
}

template <class D> D number(bool t) {
    if constexpr (std::is_integral_v<D>)
        return t ? static_cast<D>(-1) : D{0};
    else if constexpr (std::is_same_v<D, float>)
        return t ? 1.0f : 0.0f;
    else if constexpr (std::is_same_v<D, Half>)
        return D{static_cast<std::uint16_t>(t ? 0x3C00 : 0)};
    else
        return D{static_cast<std::uint16_t>(t ? 0x3F80 : 0)};
}
template <class D, Combine B> D number_with(bool t, bool c) { return number<D>(combine<B>(t, c)); }
std::uint32_t mask_halves(bool low_true, bool high_true) {
    return (low_true ? 0xFFFFu : 0) | (high_true ? 0xFFFF0000u : 0);
}
template <class P> P number_halves(bool low_true, bool high_true) {
    return pack<P>(number<Element<P>>(high_true), number<Element<P>>(low_true));
}

template <class T> constexpr bool is_pair = std::is_same_v<T, HalfPair> || std::is_same_v<T, BfloatPair>;

template <Compare C, bool Ftz, class T> constexpr PureInstruction comparison() {
    if constexpr (is_pair<T>)
        return make<&truth_of_halves<C, Ftz, T>>();
    else if constexpr (!Ftz && sizeof(T) >= 4)
        return make_fast<&truth_of<C, Ftz, T>>();
    else
        return make<&truth_of<C, Ftz, T>>();
}

// setp.f16x2 with one destination: the low half's.
bool first_of(bool p, bool) { return p; }
template <Combine B> bool combine_first(bool p, bool, bool c) { return combine<B>(p, c); }

PureInstruction setp_from(PureInstruction compared, Combine combination, bool pair) {
    static constexpr PureInstruction single[] = {
        {}, make_fast<&combine<and_>>(), make_fast<&combine<or_>>(), make_fast<&combine<xor_>>()};
    static constexpr PureInstruction both[] = {
        make_fast<&with_complement>(), make_fast<&combine_both<and_>>(), make_fast<&combine_both<or_>>(),
        make_fast<&combine_both<xor_>>()};
    static constexpr PureInstruction halves[] = {
        {}, make<&combine_halves<and_>>(), make<&combine_halves<or_>>(), make<&combine_halves<xor_>>()};
    static constexpr PureInstruction first[] = {make<&first_of>(), make<&combine_first<and_>>(),
                                                make<&combine_first<or_>>(), make<&combine_first<xor_>>()};
    if (compared.outputs == 2 && !pair) return then(compared, first[combination]);
    if (compared.outputs == 2) return combination == none ? compared : then(compared, halves[combination]);
    if (pair) return then(compared, both[combination]);
    return combination == none ? compared : then(compared, single[combination]);
}

// The index of a comparison; .lo .ls .hi .hs are those of .lt .le .gt .ge, of unsigned integers alone.
constexpr int of_unsigned = 32;
int take_compare(Modifiers& m) {
    const int signed_or_float = m.take_of({".eq", ".ne", ".lt", ".le", ".gt", ".ge", ".equ", ".neu", ".ltu",
                                           ".leu", ".gtu", ".geu", ".num", ".nan"});
    if (signed_or_float >= 0) return signed_or_float;
    const int unsigned_only = m.take_of({".lo", ".ls", ".hi", ".hs"});
    return unsigned_only < 0 ? -1 : unsigned_only + lt + of_unsigned;
}
Combine take_combine(Modifiers& m) { return static_cast<Combine>(m.take_of({".and", ".or", ".xor"}) + 1); }

// The comparison alone: the last modifier is the type of what is compared.
Resolved resolve_comparison(Modifiers m, int c, bool ftz) {
    const auto integers = [&]<class T>() {
        return choose([]<Compare C> { return comparison<C, false, T>(); },
                      Choice<Compare, equ>{c % of_unsigned});
    };
    if (c >= of_unsigned) return ftz ? std::nullopt : by_type<U16, U32, U64>(m, integers);
    const Choice<Compare, compare_count> any{c};
    if (Resolved found = by_type<F32, F16, F16x2>(m, [&]<class T>() {
            return choose([]<Compare C, bool Ftz> { return comparison<C, Ftz, T>(); }, any, ftz);
        }))
        return found;
    if (ftz) return std::nullopt;
    if (Resolved found = by_type<F64, Bf16, Bf16x2>(
            m, [&]<class T>() { return choose([]<Compare C> { return comparison<C, false, T>(); }, any); }))
        return found;
    if (Resolved found = by_type<U16, U32, U64, S16, S32, S64>(m, integers)) return found;
    return c <= ne ? by_type<B16, B32, B64>(m, integers) : std::nullopt;  // bits have no order
}

Resolved resolve_setp(Modifiers m, Shape shape) {
    const int c = take_compare(m);
    if (c < 0) return std::nullopt;
    const Combine combination = take_combine(m);
    if (shape.operands != (combination == none ? 3u : 4u)) return std::nullopt;
    const bool ftz = m.take(".ftz");
    const Resolved compared = resolve_comparison(m, c, ftz);
    if (!compared) return std::nullopt;
    return setp_from(*compared, combination, shape.pair);
}

template <class D> PureInstruction number_from(Combine combination) {
    static constexpr PureInstruction numbers[] = {make_fast<&number<D>>(), make_fast<&number_with<D, and_>>(),
                                                  make_fast<&number_with<D, or_>>(),
                                                  make_fast<&number_with<D, xor_>>()};
    return numbers[combination];
}
Resolved set_destination(std::string_view type, Combine combination) {
    const std::string_view one[] = {type};
    Modifiers only{one};
    return by_type<U16, S16, U32, S32, F32, F16, Bf16>(
        only, [&]<class D>() -> Resolved { return number_from<D>(combination); });
}
template <Combine B> std::uint32_t mask_halves_with(bool low_true, bool high_true, bool c) {
    return mask_halves(combine<B>(low_true, c), combine<B>(high_true, c));
}
template <class P, Combine B> P number_halves_with(bool low_true, bool high_true, bool c) {
    return number_halves<P>(combine<B>(low_true, c), combine<B>(high_true, c));
}
template <class P> PureInstruction number_halves_from(Combine combination) {
    static constexpr PureInstruction numbers[] = {
        make<&number_halves<P>>(), make<&number_halves_with<P, and_>>(), make<&number_halves_with<P, or_>>(),
        make<&number_halves_with<P, xor_>>()};
    return numbers[combination];
}
Resolved packed_destination(std::string_view type, Combine combination) {
    static constexpr PureInstruction masks[] = {make<&mask_halves>(), make<&mask_halves_with<and_>>(),
                                                make<&mask_halves_with<or_>>(),
                                                make<&mask_halves_with<xor_>>()};
    if (type == ".u32" || type == ".s32") return masks[combination];
    if (type == ".f16x2") return number_halves_from<HalfPair>(combination);
    if (type == ".bf16x2") return number_halves_from<BfloatPair>(combination);
    return std::nullopt;
}
Resolved resolve_set(Modifiers m, Shape shape) {
    const int c = take_compare(m);
    if (c < 0) return std::nullopt;
    const Combine combination = take_combine(m);
    if (shape.operands != (combination == none ? 3u : 4u)) return std::nullopt;
    const bool ftz = m.take(".ftz");
    const std::string_view destination = m.take();
    const Resolved compared = resolve_comparison(m, c, ftz);
    if (!compared) return std::nullopt;
    const Resolved made = compared->outputs == 2 ? packed_destination(destination, combination)
                                                 : set_destination(destination, combination);
    return made ? Resolved(then(*compared, *made)) : std::nullopt;
}

template <class T> T selp(T a, T b, bool c) { return c ? a : b; }
Resolved resolve_selp(Modifiers m, Shape) {
    return by_type<B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64>(
        m, []<class T>() -> Resolved { return make_fast<&selp<T>>(); });
}
template <class T> T slct_s32(T a, T b, std::int32_t c) { return c >= 0 ? a : b; }
// NaN selects b
template <class T, bool Ftz> T slct_f32(T a, T b, float c) { return flushed<Ftz>(c) >= 0 ? a : b; }
template <class T> Resolved slct_of(bool ftz, int selector) {
    if (selector == 0) return make_fast<&slct_s32<T>>();
    return choose([]<bool Ftz> { return make<&slct_f32<T, Ftz>>(); }, ftz);
}
Resolved resolve_slct(Modifiers m, Shape) {
    const bool ftz = m.take(".ftz");
    const std::string_view type = m.take();
    const int selector = m.take_of({".s32", ".f32"});
    if (selector < 0 || !m.done()) return std::nullopt;
    const std::string_view one[] = {type};
    Modifiers rest{one};
    return by_type<B16, B32, B64, U16, U32, U64, S16, S32, S64, F32, F64>(
        rest, [&]<class T>() { return slct_of<T>(ftz, selector); });
}

enum Test : int { finite, infinite, is_number, notanumber, normal, subnormal };
template <Test K, class T> bool testp(T a) {
    if constexpr (K == finite)
        return std::isfinite(a);
    else if constexpr (K == infinite)
        return std::isinf(a);
    else if constexpr (K == is_number)
        return !std::isnan(a);
    else if constexpr (K == notanumber)
        return std::isnan(a);
    // PTX ISA 9.7.3.1: zero is a normal number here.
    else if constexpr (K == normal)
        return std::isnormal(a) || a == 0;
    else
        return std::fpclassify(a) == FP_SUBNORMAL;
}
Resolved resolve_testp(Modifiers m, Shape) {
    const int kind = m.take_of({".finite", ".infinite", ".number", ".notanumber", ".normal", ".subnormal"});
    return by_type<F32, F64>(m, [&]<class T> {
        return choose([]<Test K> { return make<&testp<K, T>>(); }, Choice<Test, 6>{kind});
    });
}

constexpr ResolverRow rows[] = {
    {"setp", resolve_setp}, {"set", resolve_set},     {"selp", resolve_selp},
    {"slct", resolve_slct}, {"testp", resolve_testp},
};

}  // namespace

std::span<const ResolverRow> comparison_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
