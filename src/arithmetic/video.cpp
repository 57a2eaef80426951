// PTX ISA 9.7.18: video instructions, on whole registers (operands without .b0 and the like).
//
// Each is an operation on exact integers, and then what becomes of its result: saturation, a second operation, a merge.
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
    if constexpr (O == add) return a + b;
    else if constexpr (O == sub) return a - b;
    else if constexpr (O == absdiff) return a < b ? b - a : a - b;
    else if constexpr (O == min_of) return std::min(a, b);
    else if constexpr (O == max_of) return std::max(a, b);
    else if constexpr (O == avrg) return (a + b >= 0 ? a + b + 1 : a + b) >> 1;
    else if constexpr (O == eq) return a == b;
    else if constexpr (O == ne) return a != b;
    else if constexpr (O == lt) return a < b;
    else if constexpr (O == le) return a <= b;
    else if constexpr (O == gt) return a > b;
    else return a >= b;
}

// --- 9.7.18.1: one value
template <Operation O, class A, class B> i64 scalar(A a, B b) { return operate<O>(a, b); }
template <class A, bool Left, bool Clamp> i64 shifted(A a, u32 b) {
    const u32 n = Clamp ? std::min(b, 32u) : b & 31;
    // Of a left shift only the low 32 bits are ever asked for.
    return Left ? static_cast<i64>(static_cast<std::uint64_t>(i64{a}) << n) : i64{a} >> n;
}

enum Second : int { nothing, and_add, and_min, and_max };
template <class D, bool Sat> i64 saturated(i64 t) {
    return Sat ? std::clamp<i64>(t, std::numeric_limits<D>::min(), std::numeric_limits<D>::max()) : t;
}
template <class D, bool Sat> u32 finish(i64 t) { return static_cast<u32>(saturated<D, Sat>(t)); }
template <class D, bool Sat, Second S> u32 finish_with(i64 t, u32 c) {
    t = saturated<D, Sat>(t);
    const i64 third = static_cast<D>(c);
    if constexpr (S == and_add) return static_cast<u32>(t + third);
    else if constexpr (S == and_min) return static_cast<u32>(std::min(t, third));
    else if constexpr (S == and_max) return static_cast<u32>(std::max(t, third));
    else return static_cast<u32>(t);  // a merge of the whole register
}
template <class D, bool Sat> Resolved finishing(int second, std::size_t operands) {
    if (second == nothing && operands == 3) return make<&finish<D, Sat>>();
    if (operands != 4) return std::nullopt;
    static constexpr PureInstruction seconds[] = {make<&finish_with<D, Sat, nothing>>(), make<&finish_with<D, Sat, and_add>>(),
                                                  make<&finish_with<D, Sat, and_min>>(), make<&finish_with<D, Sat, and_max>>()};
    return seconds[second];
}
Resolved finishing(bool is_signed, bool sat, int second, std::size_t operands) {
    if (is_signed) return sat ? finishing<s32, true>(second, operands) : finishing<s32, false>(second, operands);
    return sat ? finishing<u32, true>(second, operands) : finishing<u32, false>(second, operands);
}
Resolved both(const Resolved& first, const Resolved& second) { return first && second ? Resolved(then(*first, *second)) : std::nullopt; }

int take_sign(Modifiers& m) { return m.take_of({".u32", ".s32"}); }
int take_second(Modifiers& m) { return m.take_of({".add", ".min", ".max"}) + 1; }

template <Operation O> PureInstruction scalar_of(int a, int b) {
    static constexpr PureInstruction types[] = {make<&scalar<O, u32, u32>>(), make<&scalar<O, u32, s32>>(), make<&scalar<O, s32, u32>>(),
                                                make<&scalar<O, s32, s32>>()};
    return types[2 * a + b];
}
template <Operation O> Resolved resolve_scalar(Modifiers m, Shape shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m);
    const bool sat = m.take(".sat");
    const int second = take_second(m);
    if (d < 0 || a < 0 || b < 0 || !m.done()) return std::nullopt;
    return both(scalar_of<O>(a, b), finishing(d == 1, sat, second, shape.operands));
}
template <bool Left> Resolved resolve_shift(Modifiers m, Shape shape) {
    const int d = take_sign(m), a = take_sign(m);
    if (d < 0 || a < 0 || !m.take(".u32")) return std::nullopt;
    const bool sat = m.take(".sat");
    const int mode = m.take_of({".clamp", ".wrap"}), second = take_second(m);
    // The manual gives the shifted value 34 bits in one place and all of them in another: it matters where it is compared.
    if (mode < 0 || !m.done() || (Left && (sat || second > and_add))) return std::nullopt;
    static constexpr PureInstruction shifts[] = {make<&shifted<u32, Left, true>>(), make<&shifted<u32, Left, false>>(),
                                                 make<&shifted<s32, Left, true>>(), make<&shifted<s32, Left, false>>()};
    return both(shifts[2 * a + mode], finishing(d == 1, sat, second, shape.operands));
}
PureInstruction comparison_of(int compare, int a, int b) {
    switch (compare) {
        case 0: return scalar_of<eq>(a, b);
        case 1: return scalar_of<ne>(a, b);
        case 2: return scalar_of<lt>(a, b);
        case 3: return scalar_of<le>(a, b);
        case 4: return scalar_of<gt>(a, b);
        default: return scalar_of<ge>(a, b);
    }
}
Resolved resolve_set(Modifiers m, Shape shape) {
    const int a = take_sign(m), b = take_sign(m), compare = take_compare(m), second = take_second(m);
    if (a < 0 || b < 0 || compare < 0 || !m.done()) return std::nullopt;
    return both(comparison_of(compare, a, b), finishing(false, false, second, shape.operands));
}

// vmad: the product and the sum fit in 64 bits, signed unless both factors are unsigned.
template <class A, class B> std::uint64_t product(A a, B b) { return static_cast<std::uint64_t>(i64{a}) * static_cast<std::uint64_t>(i64{b}); }
template <bool Signed, bool PlusOne, bool Sat, int Shift> u32 sum_of(std::uint64_t product, u32 c) {
    const std::uint64_t third = Signed ? static_cast<std::uint64_t>(i64{static_cast<s32>(c)}) : c;
    const std::uint64_t sum = product + third + (PlusOne ? 1 : 0);
    if constexpr (Signed) return static_cast<u32>(saturated<s32, Sat>(static_cast<i64>(sum) >> Shift));
    else return static_cast<u32>(Sat ? std::min<std::uint64_t>(sum >> Shift, std::numeric_limits<u32>::max()) : sum >> Shift);
}
template <bool Signed, bool PlusOne, bool Sat> PureInstruction scaled(int scale) {
    static constexpr PureInstruction scales[] = {make<&sum_of<Signed, PlusOne, Sat, 0>>(), make<&sum_of<Signed, PlusOne, Sat, 7>>(),
                                                 make<&sum_of<Signed, PlusOne, Sat, 15>>()};
    return scales[scale];
}
template <bool Signed> PureInstruction sum_with(bool plus_one, bool sat, int scale) {
    if (plus_one) return sat ? scaled<Signed, true, true>(scale) : scaled<Signed, true, false>(scale);
    return sat ? scaled<Signed, false, true>(scale) : scaled<Signed, false, false>(scale);
}
Resolved resolve_mad(Modifiers m, Shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m);
    const bool plus_one = m.take(".po"), sat = m.take(".sat");
    const int scale = m.take_of({".shr7", ".shr15"}) + 1;
    if (d < 0 || a < 0 || b < 0 || !m.done()) return std::nullopt;
    static constexpr PureInstruction products[] = {make<&product<u32, u32>>(), make<&product<u32, s32>>(), make<&product<s32, u32>>(),
                                                   make<&product<s32, s32>>()};
    const bool is_signed = a + b != 0;
    return then(products[2 * a + b], is_signed ? sum_with<true>(plus_one, sat, scale) : sum_with<false>(plus_one, sat, scale));
}

// --- 9.7.18.2: two halves or four bytes. Between the two steps they stand in the parts of 64 bits.
template <int Count> struct Parts;
template <> struct Parts<2> { using u = std::uint16_t; using s = std::int16_t; using wide = std::int32_t; };
template <> struct Parts<4> { using u = std::uint8_t; using s = std::int8_t; using wide = std::int16_t; };

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
template <int Count, Mode M> u32 gathered(std::uint64_t all, u32 c) {
    using P = Parts<Count>;
    constexpr int wide = 64 / Count, narrow = 32 / Count;
    u32 result = M == accumulate ? c : 0;
    for (int i = 0; i < Count; ++i) {
        i64 t = static_cast<typename P::wide>(all >> (wide * i));
        if constexpr (M == accumulate) {
            result += static_cast<u32>(t);
            continue;
        }
        if constexpr (M == sat_unsigned) t = std::clamp<i64>(t, 0, std::numeric_limits<typename P::u>::max());
        if constexpr (M == sat_signed) t = std::clamp<i64>(t, std::numeric_limits<typename P::s>::min(), std::numeric_limits<typename P::s>::max());
        result |= u32{static_cast<typename P::u>(t)} << (narrow * i);
    }
    return result;
}
template <int Count> PureInstruction gathering(Mode mode) {
    static constexpr PureInstruction modes[] = {make<&gathered<Count, cut>>(), make<&gathered<Count, sat_unsigned>>(), make<&gathered<Count, sat_signed>>(),
                                                make<&gathered<Count, accumulate>>()};
    return modes[mode];
}
template <int Count, Operation O> PureInstruction each_of(int a, int b) {
    static constexpr PureInstruction types[] = {make<&each<Count, O, false, false>>(), make<&each<Count, O, false, true>>(), make<&each<Count, O, true, false>>(),
                                                make<&each<Count, O, true, true>>()};
    return types[2 * a + b];
}
template <int Count, Operation O> Resolved resolve_each(Modifiers m, Shape) {
    const int d = take_sign(m), a = take_sign(m), b = take_sign(m), how = m.take_of({".sat", ".add"});
    if (d < 0 || a < 0 || b < 0 || !m.done()) return std::nullopt;
    const Mode mode = how == 1 ? accumulate : how == 0 ? (d == 1 ? sat_signed : sat_unsigned) : cut;
    return then(each_of<Count, O>(a, b), gathering<Count>(mode));
}
template <int Count> Resolved resolve_set_each(Modifiers m, Shape) {
    const int a = take_sign(m), b = take_sign(m), compare = take_compare(m);
    const bool adds = m.take(".add");
    if (a < 0 || b < 0 || compare < 0 || !m.done()) return std::nullopt;
    const PureInstruction compared[] = {each_of<Count, eq>(a, b), each_of<Count, ne>(a, b), each_of<Count, lt>(a, b),
                                        each_of<Count, le>(a, b), each_of<Count, gt>(a, b), each_of<Count, ge>(a, b)};
    return then(compared[compare], gathering<Count>(adds ? accumulate : cut));
}

constexpr ResolverRow rows[] = {
    {"vadd", resolve_scalar<add>},       {"vsub", resolve_scalar<sub>},       {"vabsdiff", resolve_scalar<absdiff>},
    {"vmin", resolve_scalar<min_of>},    {"vmax", resolve_scalar<max_of>},    {"vshl", resolve_shift<true>},
    {"vshr", resolve_shift<false>},      {"vset", resolve_set},               {"vmad", resolve_mad},
    {"vadd2", resolve_each<2, add>},     {"vsub2", resolve_each<2, sub>},     {"vabsdiff2", resolve_each<2, absdiff>},
    {"vmin2", resolve_each<2, min_of>},  {"vmax2", resolve_each<2, max_of>},  {"vavrg2", resolve_each<2, avrg>},
    {"vset2", resolve_set_each<2>},      {"vadd4", resolve_each<4, add>},     {"vsub4", resolve_each<4, sub>},
    {"vabsdiff4", resolve_each<4, absdiff>}, {"vmin4", resolve_each<4, min_of>}, {"vmax4", resolve_each<4, max_of>},
    {"vavrg4", resolve_each<4, avrg>},   {"vset4", resolve_set_each<4>},
};

}  // namespace

std::span<const ResolverRow> video_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
