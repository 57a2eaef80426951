// PTX ISA 9.7.18: video instructions. Sources are whole registers: who decodes an instruction selects their
// parts, and merges the result with c where it is part of a register. What that changes of the operation
// follows the modifiers, as one more: the part of the destination, `.h0`, to whose range a result is clamped,
// without the operand c; the mask of an accumulation, `.h10`, `.b320`; of vmad's negated sources `.negab` and
// `.negc`, for `-(a * b)` and `-c`.
//
// Each is an operation on exact integers, and then what becomes of its result: saturation, a second
// operation, a merge.
#include <algorithm>
#include <limits>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {
namespace {

using i64 = std::int64_t;
using u32 = std::uint32_t;
using s32 = std::int32_t;

enum Operation : int { add, sub, absdiff, min_of, max_of, avrg, eq, ne, lt, le, gt, ge };
int take_compare(Modifiers& m) { return m.take_of({".eq", ".ne", ".lt", ".le", ".gt", ".ge"}); }

template <Operation O> constexpr i64 operate(i64 a, i64 b) {
    if constexpr (O == add)
        return a + b;
    else if constexpr (O == sub)
        return a - b;
    else if constexpr (O == absdiff)
        return a < b ? b - a : a - b;
    else if constexpr (O == min_of)
        return std::min(a, b);
    else if constexpr (O == max_of)
        return std::max(a, b);
    else if constexpr (O == avrg)
        return (a + b >= 0 ? a + b + 1 : a + b) >> 1;
    else if constexpr (O == eq)
        return a == b;
    else if constexpr (O == ne)
        return a != b;
    else if constexpr (O == lt)
        return a < b;
    else if constexpr (O == le)
        return a <= b;
    else if constexpr (O == gt)
        return a > b;
    else
        return a >= b;
}

// --- 9.7.18.1: one value
template <Operation O, class A, class B> i64 scalar(A a, B b) { return operate<O>(a, b); }
// A shifted value has the 34 bits that every intermediate result has, the highest its sign.
template <class A, bool Left, bool Clamp> i64 shifted(A a, u32 b) {
    constexpr int unused = 64 - 34;
    const u32 n = Clamp ? std::min(b, 32u) : b & 31;
    return Left ? static_cast<i64>(static_cast<std::uint64_t>(i64{a}) << n << unused) >> unused : i64{a} >> n;
}

template <bool Signed> using Word = std::conditional_t<Signed, s32, u32>;

enum Second : int { nothing, and_add, and_min, and_max };
template <class D, bool Sat> i64 saturated(i64 t) {
    return Sat ? std::clamp<i64>(t, std::numeric_limits<D>::min(), std::numeric_limits<D>::max()) : t;
}
template <class D, bool Sat> u32 finish(i64 t) { return static_cast<u32>(saturated<D, Sat>(t)); }
template <class D, bool Sat, Second S> u32 finish_with(i64 t, u32 c) {
    t = saturated<D, Sat>(t);
    const i64 third = static_cast<D>(c);
    if constexpr (S == and_add)
        return static_cast<u32>(t + third);
    else if constexpr (S == and_min)
        return static_cast<u32>(std::min(t, third));
    else if constexpr (S == and_max)
        return static_cast<u32>(std::max(t, third));
    else
        return static_cast<u32>(t);  // a merge of the whole register
}
// A result for a part of a register, in its low bits.
enum Part : int { whole_register, byte, half };
int take_part(Modifiers& m) {
    if (m.take_of({".b0", ".b1", ".b2", ".b3"}) >= 0) return byte;
    return m.take_of({".h0", ".h1"}) >= 0 ? half : whole_register;
}
template <class Byte, class Half, class Word> PureInstruction cutting(bool sat, int part) {
    if (!sat) return make<&finish<Word, false>>();
    return part == byte ? make<&finish<Byte, true>>() : make<&finish<Half, true>>();
}
Resolved finishing(bool is_signed, bool sat, int second, int part, std::size_t operands) {
    const bool is_alone = second == nothing && operands == 3;
    if (part != whole_register) {
        if (!is_alone) return std::nullopt;
        return is_signed ? cutting<std::int8_t, std::int16_t, s32>(sat, part)
                         : cutting<std::uint8_t, std::uint16_t, u32>(sat, part);
    }
    if (is_alone)
        return choose([]<bool Signed, bool Sat> { return make<&finish<Word<Signed>, Sat>>(); }, is_signed,
                      sat);
    if (operands != 4) return std::nullopt;
    return choose([]<bool Signed, bool Sat, Second S> { return make<&finish_with<Word<Signed>, Sat, S>>(); },
                  is_signed, sat, Choice<Second, 4>{second});
}
Resolved both(const Resolved& first, const Resolved& second) {
    return first && second ? Resolved(then(*first, *second)) : std::nullopt;
}

int take_sign(Modifiers& m) { return m.take_of({".u32", ".s32"}); }
int take_second(Modifiers& m) { return m.take_of({".add", ".min", ".max"}) + 1; }

template <Operation O> Resolved scalar_of(int a, int b) {
    return choose([]<bool A, bool B> { return make<&scalar<O, Word<A>, Word<B>>>(); }, a == 1, b == 1);
}
template <Operation O> Resolved resolve_scalar(Modifiers m, Shape shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m);
    const bool sat = m.take(".sat");
    const int second = take_second(m), part = take_part(m);
    if (d < 0 || a < 0 || b < 0 || !m.done()) return std::nullopt;
    return both(scalar_of<O>(a, b), finishing(d == 1, sat, second, part, shape.operands));
}
template <bool Left> Resolved resolve_shift(Modifiers m, Shape shape) {
    const int d = take_sign(m), a = take_sign(m);
    if (d < 0 || a < 0 || !m.take(".u32")) return std::nullopt;
    const bool sat = m.take(".sat");
    const int mode = m.take_of({".clamp", ".wrap"}), second = take_second(m), part = take_part(m);
    if (mode < 0 || !m.done()) return std::nullopt;
    const Resolved shift =
        choose([]<bool A, bool Clamp> { return make<&shifted<Word<A>, Left, Clamp>>(); }, a == 1, mode == 0);
    return both(shift, finishing(d == 1, sat, second, part, shape.operands));
}
// One of the six of take_compare().
constexpr Operation comparison_at(int number) { return static_cast<Operation>(eq + number); }
Resolved resolve_set(Modifiers m, Shape shape) {
    const int a = take_sign(m), b = take_sign(m), compare = take_compare(m), second = take_second(m),
              part = take_part(m);
    if (a < 0 || b < 0 || compare < 0 || !m.done()) return std::nullopt;
    const Resolved compared =
        choose([&]<int C> { return scalar_of<comparison_at(C)>(a, b); }, Choice<int, 6>{compare});
    return both(compared, finishing(false, false, second, part, shape.operands));
}

// vmad. What is added is signed with the result, which is signed unless both factors are unsigned and nothing
// is negated.
enum Sum : int { plain, plus_one, negated_product, negated_third };
template <class A, class B, Sum S, bool Sat, int Shift> u32 multiply_add(A a, B b, u32 c) {
    constexpr bool is_signed = std::is_signed_v<A> || std::is_signed_v<B> || S >= negated_product;
    const __int128 product = __int128{i64{a}} * i64{b};
    const i64 third = is_signed ? i64{static_cast<s32>(c)} : i64{c};
    const __int128 sum = (S == negated_product ? -product : product) + (S == negated_third ? -third : third) +
                         (S == plus_one ? 1 : 0);
    using D = std::conditional_t<is_signed, s32, u32>;
    const __int128 result = sum >> Shift;
    if constexpr (!Sat)
        return static_cast<u32>(result);
    else
        return static_cast<u32>(
            std::clamp<__int128>(result, std::numeric_limits<D>::min(), std::numeric_limits<D>::max()));
}
Resolved resolve_mad(Modifiers m, Shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m);
    const bool adds_one = m.take(".po"), sat = m.take(".sat");
    const int scale = m.take_of({".shr7", ".shr15"}) + 1, negated = m.take_of({".negab", ".negc"});
    if (d < 0 || a < 0 || b < 0 || !m.done() || (adds_one && negated >= 0)) return std::nullopt;
    const int sum = adds_one ? plus_one : negated < 0 ? plain : negated_product + negated;
    return choose(
        []<bool A, bool B, Sum S, bool Sat, int Scale> {
            constexpr int shifts[] = {0, 7, 15};
            return make<&multiply_add<Word<A>, Word<B>, S, Sat, shifts[Scale]>>();
        },
        a == 1, b == 1, Choice<Sum, 4>{sum}, sat, Choice<int, 3>{scale});
}

// --- 9.7.18.2: two halves or four bytes. Between the two steps they stand in the parts of 64 bits.
template <int Count> struct Parts;
template <> struct Parts<2> {
    using u = std::uint16_t;
    using s = std::int16_t;
    using wide = std::int32_t;
};
template <> struct Parts<4> {
    using u = std::uint8_t;
    using s = std::int8_t;
    using wide = std::int16_t;
};

template <int Count, Operation O, bool ASigned, bool BSigned> std::uint64_t each(u32 a, u32 b) {
    using P = Parts<Count>;
    using A = std::conditional_t<ASigned, typename P::s, typename P::u>;
    using B = std::conditional_t<BSigned, typename P::s, typename P::u>;
    constexpr int wide = 64 / Count, narrow = 32 / Count;
    std::uint64_t all = 0;
    for (int i = 0; i < Count; ++i) {
        const i64 t = operate<O>(static_cast<A>(a >> (narrow * i)), static_cast<B>(b >> (narrow * i)));
        all |= (static_cast<std::uint64_t>(t) & (~std::uint64_t{0} >> (64 - wide))) << (wide * i);
    }
    return all;
}
enum Mode : int { cut, sat_unsigned, sat_signed, accumulate };
template <int Count, Mode M> u32 gathered(std::uint64_t all, u32) {
    using P = Parts<Count>;
    constexpr int wide = 64 / Count, narrow = 32 / Count;
    u32 result = 0;
    for (int i = 0; i < Count; ++i) {
        i64 t = static_cast<typename P::wide>(all >> (wide * i));
        if constexpr (M == sat_unsigned) t = std::clamp<i64>(t, 0, std::numeric_limits<typename P::u>::max());
        if constexpr (M == sat_signed)
            t = std::clamp<i64>(t, std::numeric_limits<typename P::s>::min(),
                                std::numeric_limits<typename P::s>::max());
        result |= u32{static_cast<typename P::u>(t)} << (narrow * i);
    }
    return result;
}
// The results of the parts that are in the mask, added to c.
template <int Count, unsigned Mask> u32 accumulated(std::uint64_t all, u32 c) {
    using P = Parts<Count>;
    for (int i = 0; i < Count; ++i)
        if ((Mask >> i & 1) != 0)
            c += static_cast<u32>(static_cast<typename P::wide>(all >> (64 / Count * i)));
    return c;
}
template <int Count> Resolved gathering(Mode mode, unsigned mask) {
    if (mode == accumulate)
        return choose([]<int Before> { return make<&accumulated<Count, unsigned{Before} + 1>>(); },
                      Choice<int, (1 << Count) - 1>{static_cast<int>(mask) - 1});
    return choose([]<Mode M> { return make<&gathered<Count, M>>(); }, Choice<Mode, accumulate>{mode});
}
// `.h10`, `.b320`: the parts, the highest first; without one all of them. Zero: none such.
template <int Count> unsigned take_mask(Modifiers& m, Mode mode) {
    if (m.done() || mode != accumulate) return (1u << Count) - 1;
    const std::string_view word = m.take();
    unsigned mask = 0;
    int above = Count;
    if (word.size() < 3 || word[0] != '.' || word[1] != (Count == 2 ? 'h' : 'b')) return 0;
    for (const char digit : word.substr(2)) {
        const int part = digit - '0';
        if (part < 0 || part >= above) return 0;
        above = part;
        mask |= 1u << part;
    }
    return mask;
}
template <int Count, Operation O> Resolved each_of(int a, int b) {
    return choose([]<bool A, bool B> { return make<&each<Count, O, A, B>>(); }, a == 1, b == 1);
}
template <int Count, Operation O> Resolved resolve_each(Modifiers m, Shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m), how = m.take_of({".sat", ".add"});
    const Mode mode = how == 1 ? accumulate : how == 0 ? (d == 1 ? sat_signed : sat_unsigned) : cut;
    const unsigned mask = take_mask<Count>(m, mode);
    if (d < 0 || a < 0 || b < 0 || mask == 0 || !m.done()) return std::nullopt;
    return both(each_of<Count, O>(a, b), gathering<Count>(mode, mask));
}
template <int Count> Resolved resolve_set_each(Modifiers m, Shape) {
    const int a = take_sign(m), b = take_sign(m), compare = take_compare(m);
    const Mode mode = m.take(".add") ? accumulate : cut;
    const unsigned mask = take_mask<Count>(m, mode);
    if (a < 0 || b < 0 || compare < 0 || mask == 0 || !m.done()) return std::nullopt;
    const Resolved compared =
        choose([&]<int C> { return each_of<Count, comparison_at(C)>(a, b); }, Choice<int, 6>{compare});
    return both(compared, gathering<Count>(mode, mask));
}

constexpr ResolverRow rows[] = {
    {"vadd", resolve_scalar<add>},
    {"vsub", resolve_scalar<sub>},
    {"vabsdiff", resolve_scalar<absdiff>},
    {"vmin", resolve_scalar<min_of>},
    {"vmax", resolve_scalar<max_of>},
    {"vshl", resolve_shift<true>},
    {"vshr", resolve_shift<false>},
    {"vset", resolve_set},
    {"vmad", resolve_mad},
    {"vadd2", resolve_each<2, add>},
    {"vsub2", resolve_each<2, sub>},
    {"vabsdiff2", resolve_each<2, absdiff>},
    {"vmin2", resolve_each<2, min_of>},
    {"vmax2", resolve_each<2, max_of>},
    {"vavrg2", resolve_each<2, avrg>},
    {"vset2", resolve_set_each<2>},
    {"vadd4", resolve_each<4, add>},
    {"vsub4", resolve_each<4, sub>},
    {"vabsdiff4", resolve_each<4, absdiff>},
    {"vmin4", resolve_each<4, min_of>},
    {"vmax4", resolve_each<4, max_of>},
    {"vavrg4", resolve_each<4, avrg>},
    {"vset4", resolve_set_each<4>},
};

}  // namespace

std::span<const ResolverRow> video_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
