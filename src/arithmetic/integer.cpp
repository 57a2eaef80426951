// PTX ISA 9.7.1 (integer arithmetic) and 9.7.2 (extended precision).
#include <algorithm>
#include <limits>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {
namespace {

template <class T> using Unsigned = std::make_unsigned_t<T>;
template <class T> struct Wider;
template <> struct Wider<std::uint16_t> { using type = std::uint32_t; };
template <> struct Wider<std::uint32_t> { using type = std::uint64_t; };
template <> struct Wider<std::uint64_t> { using type = unsigned __int128; };
template <> struct Wider<std::int16_t> { using type = std::int32_t; };
template <> struct Wider<std::int32_t> { using type = std::int64_t; };
template <> struct Wider<std::int64_t> { using type = __int128; };
template <class T> using Wide = typename Wider<T>::type;
template <class T> constexpr int width = static_cast<int>(sizeof(T) * 8);

// Wrapping arithmetic goes through 64-bit unsigned: no overflow is undefined, no 16-bit operand is promoted
// to int.
template <class T> constexpr T wrap(std::uint64_t value) { return static_cast<T>(value); }
template <class T> T add(T a, T b) { return wrap<T>(std::uint64_t(a) + std::uint64_t(b)); }
template <class T> T sub(T a, T b) { return wrap<T>(std::uint64_t(a) - std::uint64_t(b)); }
template <class T> T mul_lo(T a, T b) { return wrap<T>(std::uint64_t(a) * std::uint64_t(b)); }
template <class T> T mul_hi(T a, T b) { return static_cast<T>((Wide<T>(a) * Wide<T>(b)) >> width<T>); }
template <class T> Wide<T> mul_wide(T a, T b) { return static_cast<Wide<T>>(Wide<T>(a) * Wide<T>(b)); }
template <class T> T mad_lo(T a, T b, T c) { return add<T>(mul_lo(a, b), c); }
template <class T> T mad_hi(T a, T b, T c) { return add<T>(mul_hi(a, b), c); }
template <class T> Wide<T> mad_wide(T a, T b, Wide<T> c) { return add<Wide<T>>(mul_wide(a, b), c); }

std::int32_t clamp_s32(std::int64_t value) {
    return static_cast<std::int32_t>(std::clamp<std::int64_t>(value, INT32_MIN, INT32_MAX));
}
std::int32_t mad_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamp_s32(std::int64_t{mul_hi(a, b)} + c);
}

// 9.7.1.8: division by zero yields an unspecified machine-specific value; all ones is what NVIDIA's code
// gives.
template <class T> T div(T a, T b) {
    if (b == 0) return static_cast<T>(-1);
    if constexpr (std::is_signed_v<T>)
        if (b == -1) return sub<T>(0, a);
    return static_cast<T>(a / b);
}
template <class T> T rem(T a, T b) {
    if (b == 0) return a;
    if constexpr (std::is_signed_v<T>)
        if (b == -1) return 0;
    return static_cast<T>(a % b);
}
template <class T> T abs_of(T a) { return a < 0 ? sub<T>(0, a) : a; }
template <class T> T neg(T a) { return sub<T>(0, a); }
template <class T> T min_of(T a, T b) { return std::min(a, b); }
template <class T> T max_of(T a, T b) { return std::max(a, b); }
template <class T> T min_relu(T a, T b) { return std::max<T>(std::min(a, b), 0); }
template <class T> T max_relu(T a, T b) { return std::max<T>(std::max(a, b), 0); }
template <class T> T sad(T a, T b, T c) { return add<T>(c, a < b ? sub<T>(b, a) : sub<T>(a, b)); }

template <class T> T add_clamped(T a, T b) {
    return static_cast<T>(std::clamp<std::int64_t>(std::int64_t{a} + b, std::numeric_limits<T>::min(),
                                                   std::numeric_limits<T>::max()));
}
template <class T> T sub_clamped(T a, T b) {
    return static_cast<T>(std::clamp<std::int64_t>(std::int64_t{a} - b, std::numeric_limits<T>::min(),
                                                   std::numeric_limits<T>::max()));
}

// Four bytes of a 32-bit register, each by F.
template <auto F, class T> std::uint32_t bytes(std::uint32_t a, std::uint32_t b) {
    std::uint32_t result = 0;
    for (int i = 0; i < 32; i += 8)
        result |= std::uint32_t{static_cast<std::uint8_t>(F(static_cast<T>(a >> i), static_cast<T>(b >> i)))}
                  << i;
    return result;
}
std::uint32_t neg_bytes(std::uint32_t a) { return bytes<sub<std::int8_t>, std::int8_t>(0, a); }

std::int64_t low24(std::int32_t a) { return std::int32_t(std::uint32_t(a) << 8) >> 8; }
std::uint64_t low24(std::uint32_t a) { return a & 0xFFFFFFu; }
template <class T> T mul24_lo(T a, T b) { return static_cast<T>(low24(a) * low24(b)); }
template <class T> T mul24_hi(T a, T b) { return static_cast<T>((low24(a) * low24(b)) >> 16); }
template <class T> T mad24_lo(T a, T b, T c) { return add<T>(mul24_lo(a, b), c); }
template <class T> T mad24_hi(T a, T b, T c) { return add<T>(mul24_hi(a, b), c); }
std::int32_t mad24_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c) {
    return clamp_s32(std::int64_t{mul24_hi(a, b)} + c);
}

template <class T> std::uint32_t popc(T a) { return static_cast<std::uint32_t>(std::popcount(a)); }
template <class T> std::uint32_t clz(T a) { return static_cast<std::uint32_t>(std::countl_zero(a)); }
template <class T> std::uint32_t bfind(T a) {
    const auto bits = static_cast<Unsigned<T>>(a < 0 ? static_cast<T>(~a) : a);
    return static_cast<std::uint32_t>(width<T> - 1 - std::countl_zero(bits));  // -1 when no bit is set
}
template <class T> std::uint32_t bfind_shift(T a) {
    const std::uint32_t found = bfind(a);
    return found == 0xFFFFFFFFu ? found : static_cast<std::uint32_t>(width<T> - 1) - found;
}
template <class T> T brev(T a) {
    // Neighbouring bits, pairs, fours, bytes … change places.
    T swap = static_cast<T>(~T{0});
    for (int half = width<T> / 2; half > 0; half /= 2) {
        swap = static_cast<T>(swap ^ (swap << half));
        a = static_cast<T>((a >> half & swap) | (a << half & ~swap));
    }
    return a;
}
std::uint32_t fns(std::uint32_t mask, std::uint32_t base, std::int32_t offset) {
    base &= 31;
    if (offset == 0) return (mask >> base & 1) != 0 ? base : 0xFFFFFFFFu;
    std::int64_t count = offset < 0 ? -std::int64_t{offset} : offset;
    const int step = offset > 0 ? 1 : -1;
    for (int at = static_cast<int>(base); at >= 0 && at < 32; at += step)
        if ((mask >> at & 1) != 0 && --count == 0) return static_cast<std::uint32_t>(at);
    return 0xFFFFFFFFu;
}

template <class T> T bfe(T a, std::uint32_t b, std::uint32_t c) {
    const int msb = width<T> - 1, position = static_cast<int>(b & 0xFF), length = static_cast<int>(c & 0xFF);
    using U = Unsigned<T>;
    const auto bits = static_cast<U>(a);
    bool sign = false;
    if (std::is_signed_v<T> && length != 0) sign = (bits >> std::min(position + length - 1, msb) & 1) != 0;
    const int valid = std::max(0, std::min(length, msb + 1 - position));  // bits that come from a
    const U field = valid == 0 ? U{0} : static_cast<U>(bits >> position);
    const U mask = valid > msb ? static_cast<U>(~U{0}) : static_cast<U>((U{1} << valid) - 1);
    return static_cast<T>(sign ? (field & mask) | static_cast<U>(~mask) : field & mask);
}
template <class T> T bfi(T a, T b, std::uint32_t c, std::uint32_t d) {
    const std::uint32_t position = c & 0xFF, length = d & 0xFF;
    if (length == 0 || position >= static_cast<std::uint32_t>(width<T>)) return b;
    const T ones = length >= static_cast<std::uint32_t>(width<T>) ? static_cast<T>(~T{0})
                                                                  : static_cast<T>((T{1} << length) - 1);
    const T mask = static_cast<T>(ones << position);
    return static_cast<T>((b & ~mask) | (static_cast<T>(a << position) & mask));
}
template <bool Clamp, bool Signed> std::uint32_t szext(std::uint32_t a, std::uint32_t b) {
    if (Clamp && b >= 32) return a;
    const std::uint32_t n = b & 31;
    if (n == 0) return 0;
    const std::uint32_t mask = ~0u << n;
    const bool sign = Signed && (a >> (n - 1) & 1) != 0;
    return (a & ~mask) | (sign ? mask : 0);
}
template <bool Clamp> std::uint32_t bmsk(std::uint32_t a, std::uint32_t b) {
    if (Clamp && a >= 32) return 0;
    const std::uint32_t position = a & 31, length = Clamp ? std::min(b, 32u) : b & 31;
    if (length == 0) return 0;
    const std::uint32_t above = position + length >= 32 ? 0 : ~0u << (position + length);
    return (~0u << position) & ~above;
}

// An integer type of this width, signed or not.
template <bool Signed, class T> using Part = std::conditional_t<Signed, T, Unsigned<T>>;

template <class A, class B> std::uint32_t dp4a(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 32; i += 8)
        c += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A>(a >> i)) *
                                        static_cast<std::int32_t>(static_cast<B>(b >> i)));
    return c;
}
template <class A16, class B8, int Shift>
std::uint32_t dp2a(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    for (int i = 0; i < 2; ++i)
        c += static_cast<std::uint32_t>(static_cast<std::int32_t>(static_cast<A16>(a >> (16 * i))) *
                                        static_cast<std::int32_t>(static_cast<B8>(b >> (Shift + 8 * i))));
    return c;
}

// 9.7.2. The condition code is the carry of an addition. A subtraction adds the complement: its condition
// code is the carry of that, so 0 says that there is a borrow. The manual leaves it open; nvcc's division of
// 128 bits reads with addc what subc.cc has left.
template <class T> Two<T, bool> add_carry(T a, T b, bool carry) {
    const auto sum = static_cast<unsigned __int128>(a) + b + (carry ? 1 : 0);
    return {static_cast<T>(sum), (sum >> width<T> & 1) != 0};
}
template <class T> Two<T, bool> sub_carry(T a, T b, bool carry) {
    return add_carry(a, static_cast<T>(~b), carry);
}
template <class T> Two<T, bool> add_cc(T a, T b) { return add_carry(a, b, false); }
template <class T> Two<T, bool> sub_cc(T a, T b) { return sub_carry(a, b, true); }
template <class T> T addc(T a, T b, bool carry) { return add_carry(a, b, carry).first; }
template <class T> T subc(T a, T b, bool carry) { return sub_carry(a, b, carry).first; }
template <class T, auto Mul> Two<Unsigned<T>, bool> mad_cc(T a, T b, Unsigned<T> c) {
    return add_carry(static_cast<Unsigned<T>>(Mul(a, b)), c, false);
}
template <class T, auto Mul> Two<Unsigned<T>, bool> madc_cc(T a, T b, Unsigned<T> c, bool carry) {
    return add_carry(static_cast<Unsigned<T>>(Mul(a, b)), c, carry);
}
template <class T, auto Mul> Unsigned<T> madc(T a, T b, Unsigned<T> c, bool carry) {
    return madc_cc<T, Mul>(a, b, c, carry).first;
}

// Forms that ptxas knows and the manual does not: of 16 bits, and clamped.
std::int32_t addc_sat(std::int32_t a, std::int32_t b, bool carry) {
    return clamp_s32(std::int64_t{a} + b + (carry ? 1 : 0));
}
std::int32_t subc_sat(std::int32_t a, std::int32_t b, bool carry) {
    return clamp_s32(std::int64_t{a} - b - (carry ? 0 : 1));
}
std::int32_t madc_hi_sat(std::int32_t a, std::int32_t b, std::int32_t c, bool carry) {
    return addc_sat(mul_hi<std::int32_t>(a, b), c, carry);
}

// The packed types of an operation, by its functions on u16, s16, u8 and s8.
template <auto F16, auto G16, auto F8, auto G8> Resolved packed(Modifiers m) {
    using s8 = std::int8_t;
    using u8 = std::uint8_t;
    if (m.take(".u16x2")) return m.done() ? Resolved(over_elements(make_fast<F16>())) : std::nullopt;
    if (m.take(".s16x2")) return m.done() ? Resolved(over_elements(make_fast<G16>())) : std::nullopt;
    if (m.take(".u8x4")) return m.done() ? Resolved(make<&bytes<F8, u8>>()) : std::nullopt;
    if (m.take(".s8x4")) return m.done() ? Resolved(make<&bytes<G8, s8>>()) : std::nullopt;
    return std::nullopt;
}
#define PTXGRAFT_PACKED(function) \
    packed<&function<std::uint16_t>, &function<std::int16_t>, &function<std::uint8_t>, &function<std::int8_t>>

#define PTXGRAFT_MAKE(function) []<class T>() -> Resolved { return make<&function<T>>(); }
#define PTXGRAFT_FAST(function) []<class T>() -> Resolved { return make_fast<&function<T>>(); }

// The forms with the condition code, of 32 and 64 bits.
template <class Make> Resolved extended(Modifiers m, bool reads, bool writes, Make made) {
    return by_type<U32, S32, B32, U64, S64, B64>(m, [&]<class T>() -> Resolved {
        return with_carry(made.template operator()<Unsigned<T>>(), reads, writes);
    });
}

Resolved resolve_add(Modifiers m, Shape) {
    if (m.take(".cc")) return extended(m, false, true, []<class T> { return make<&add_cc<T>>(); });
    if (m.take(".sat")) {
        if (Resolved found = by_type<U32, S32>(m, PTXGRAFT_FAST(add_clamped))) return found;
        return PTXGRAFT_PACKED(add_clamped)(m);
    }
    if (Resolved found = PTXGRAFT_PACKED(add)(m)) return found;
    return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(add));
}
Resolved resolve_sub(Modifiers m, Shape) {
    if (m.take(".cc")) return extended(m, false, true, []<class T> { return make<&sub_cc<T>>(); });
    if (m.take(".sat")) {
        if (Resolved found = by_type<U32, S32>(m, PTXGRAFT_FAST(sub_clamped))) return found;
        return PTXGRAFT_PACKED(sub_clamped)(m);
    }
    if (Resolved found = PTXGRAFT_PACKED(sub)(m)) return found;
    return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(sub));
}
// Without .cc of 16 bits too.
template <auto Clamped, class Both, class Alone> Resolved carrying(Modifiers m, Both both, Alone alone) {
    if (m.take(".cc")) return extended(m, true, true, both);
    if (m.take(".sat"))
        return m.take(".s32") && m.done() ? Resolved(with_carry(make<Clamped>(), true, false)) : std::nullopt;
    if (Resolved found = extended(m, true, false, alone)) return found;
    return by_type<U16, S16>(m, [&]<class T>() -> Resolved {
        return with_carry(alone.template operator()<Unsigned<T>>(), true, false);
    });
}
Resolved resolve_addc(Modifiers m, Shape) {
    return carrying<&addc_sat>(
        m, []<class T> { return make<&add_carry<T>>(); }, []<class T> { return make<&addc<T>>(); });
}
Resolved resolve_subc(Modifiers m, Shape) {
    return carrying<&subc_sat>(
        m, []<class T> { return make<&sub_carry<T>>(); }, []<class T> { return make<&subc<T>>(); });
}
Resolved resolve_mul(Modifiers m, Shape) {
    if (m.take(".lo")) return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(mul_lo));
    if (m.take(".hi")) return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(mul_hi));
    if (m.take(".wide")) return by_type<U16, U32, S16, S32>(m, PTXGRAFT_FAST(mul_wide));
    return std::nullopt;
}
Resolved resolve_mad(Modifiers m, Shape) {
    if (m.take(".lo")) {
        if (m.take(".cc"))
            return by_type<U32, S32, U64, S64>(m, []<class T>() -> Resolved {
                return with_carry(make<&mad_cc<T, mul_lo<T>>>(), false, true);
            });
        return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(mad_lo));
    }
    if (m.take(".hi")) {
        if (m.take(".cc"))
            return by_type<U32, S32, U64, S64>(m, []<class T>() -> Resolved {
                return with_carry(make<&mad_cc<T, mul_hi<T>>>(), false, true);
            });
        if (m.take(".sat")) return m.take(".s32") && m.done() ? Resolved(make<&mad_hi_sat>()) : std::nullopt;
        return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(mad_hi));
    }
    if (m.take(".wide")) return by_type<U16, U32, S16, S32>(m, PTXGRAFT_FAST(mad_wide));
    return std::nullopt;
}
Resolved resolve_madc(Modifiers m, Shape) {
    const int half = m.take_of({".lo", ".hi"});
    if (half < 0) return std::nullopt;
    const bool writes = m.take(".cc");
    if (half == 1 && !writes && m.take(".sat"))
        return m.take(".s32") && m.done() ? Resolved(with_carry(make<&madc_hi_sat>(), true, false))
                                          : std::nullopt;
    if (half == 0 && !writes) {
        Modifiers narrow = m;
        const auto made = []<class T>() -> Resolved {
            return with_carry(make<&madc<T, mul_lo<T>>>(), true, false);
        };
        if (Resolved found = by_type<U16, S16>(narrow, made)) return found;
    }
    return by_type<U32, S32, U64, S64>(m, [&]<class T>() -> Resolved {
        if (writes)
            return with_carry(half == 0 ? make<&madc_cc<T, mul_lo<T>>>() : make<&madc_cc<T, mul_hi<T>>>(),
                              true, true);
        return with_carry(half == 0 ? make<&madc<T, mul_lo<T>>>() : make<&madc<T, mul_hi<T>>>(), true, false);
    });
}
Resolved resolve_mul24(Modifiers m, Shape) {
    if (m.take(".lo")) return by_type<U32, S32>(m, PTXGRAFT_FAST(mul24_lo));
    if (m.take(".hi")) return by_type<U32, S32>(m, PTXGRAFT_MAKE(mul24_hi));
    return std::nullopt;
}
Resolved resolve_mad24(Modifiers m, Shape) {
    if (m.take(".lo")) return by_type<U32, S32>(m, PTXGRAFT_FAST(mad24_lo));
    if (!m.take(".hi")) return std::nullopt;
    if (m.take(".sat")) return m.take(".s32") && m.done() ? Resolved(make<&mad24_hi_sat>()) : std::nullopt;
    return by_type<U32, S32>(m, PTXGRAFT_MAKE(mad24_hi));
}
Resolved resolve_sad(Modifiers m, Shape) {
    return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(sad));
}
Resolved resolve_div(Modifiers m, Shape) {
    return by_type<U16, U32, U64, S16, S32, S64>(
        m, []<class T>() -> Resolved { return leaving(Open::zero_divisor, make<&div<T>>()); });
}
Resolved resolve_rem(Modifiers m, Shape) {
    return by_type<U16, U32, U64, S16, S32, S64>(
        m, []<class T>() -> Resolved { return leaving(Open::zero_divisor, make<&rem<T>>()); });
}
Resolved resolve_abs(Modifiers m, Shape) { return by_type<S16, S32, S64>(m, PTXGRAFT_FAST(abs_of)); }
Resolved resolve_neg(Modifiers m, Shape) {
    if (m.take(".s8x4")) return m.done() ? Resolved(make<&neg_bytes>()) : std::nullopt;
    return by_type<S16, S32, S64>(m, PTXGRAFT_FAST(neg));
}

// With .relu.
template <auto F16, auto F8, auto F32> Resolved clamped_at_zero(Modifiers m) {
    if (!m.take(".relu")) return std::nullopt;
    const int type = m.take_of({".s16x2", ".s8x4", ".s32"});
    if (type < 0 || !m.done()) return std::nullopt;
    if (type == 0) return over_elements(make_fast<F16>());
    return type == 1 ? make<&bytes<F8, std::int8_t>>() : make_fast<F32>();
}
Resolved resolve_min(Modifiers m, Shape) {
    if (Resolved found =
            clamped_at_zero<&min_relu<std::int16_t>, &min_relu<std::int8_t>, &min_relu<std::int32_t>>(m))
        return found;
    if (Resolved found = PTXGRAFT_PACKED(min_of)(m)) return found;
    return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(min_of));
}
Resolved resolve_max(Modifiers m, Shape) {
    if (Resolved found =
            clamped_at_zero<&max_relu<std::int16_t>, &max_relu<std::int8_t>, &max_relu<std::int32_t>>(m))
        return found;
    if (Resolved found = PTXGRAFT_PACKED(max_of)(m)) return found;
    return by_type<U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_FAST(max_of));
}
Resolved resolve_popc(Modifiers m, Shape) { return by_type<B32, B64>(m, PTXGRAFT_FAST(popc)); }
Resolved resolve_clz(Modifiers m, Shape) { return by_type<B32, B64>(m, PTXGRAFT_FAST(clz)); }
Resolved resolve_brev(Modifiers m, Shape) { return by_type<B32, B64>(m, PTXGRAFT_FAST(brev)); }
Resolved resolve_bfe(Modifiers m, Shape) { return by_type<U32, U64, S32, S64>(m, PTXGRAFT_FAST(bfe)); }
Resolved resolve_bfi(Modifiers m, Shape) { return by_type<B32, B64>(m, PTXGRAFT_FAST(bfi)); }
Resolved resolve_bfind(Modifiers m, Shape) {
    if (m.take(".shiftamt")) return by_type<U32, U64, S32, S64>(m, PTXGRAFT_MAKE(bfind_shift));
    return by_type<U32, U64, S32, S64>(m, PTXGRAFT_MAKE(bfind));
}
Resolved resolve_fns(Modifiers m, Shape) {
    return m.take(".b32") && m.done() ? Resolved(make<&fns>()) : std::nullopt;
}

Resolved resolve_szext(Modifiers m, Shape) {
    const int mode = m.take_of({".clamp", ".wrap"}), type = m.take_of({".u32", ".s32"});
    if (mode < 0 || type < 0 || !m.done()) return std::nullopt;
    return choose([]<bool Clamp, bool Signed> { return make<&szext<Clamp, Signed>>(); }, mode == 0,
                  type == 1);
}
Resolved resolve_bmsk(Modifiers m, Shape) {
    const int mode = m.take_of({".clamp", ".wrap"});
    if (mode < 0 || !m.take(".b32") || !m.done()) return std::nullopt;
    return mode == 0 ? make<&bmsk<true>>() : make<&bmsk<false>>();
}
Resolved resolve_dp4a(Modifiers m, Shape) {
    const int a = m.take_of({".u32", ".s32"}), b = m.take_of({".u32", ".s32"});
    if (a < 0 || b < 0 || !m.done()) return std::nullopt;
    return choose([]<bool A, bool B> { return make<&dp4a<Part<A, std::int8_t>, Part<B, std::int8_t>>>(); },
                  a == 1, b == 1);
}
Resolved resolve_dp2a(Modifiers m, Shape) {
    const int half = m.take_of({".lo", ".hi"});
    const int a = m.take_of({".u32", ".s32"}), b = m.take_of({".u32", ".s32"});
    if (half < 0 || a < 0 || b < 0 || !m.done()) return std::nullopt;
    return choose(
        []<bool High, bool A, bool B> {
            return make<&dp2a<Part<A, std::int16_t>, Part<B, std::int8_t>, High ? 16 : 0>>();
        },
        half == 1, a == 1, b == 1);
}
#undef PTXGRAFT_MAKE
#undef PTXGRAFT_PACKED
#undef PTXGRAFT_FAST

constexpr ResolverRow rows[] = {
    {"add", resolve_add},     {"sub", resolve_sub},     {"addc", resolve_addc}, {"subc", resolve_subc},
    {"mul", resolve_mul},     {"mad", resolve_mad},     {"madc", resolve_madc}, {"mul24", resolve_mul24},
    {"mad24", resolve_mad24}, {"sad", resolve_sad},     {"div", resolve_div},   {"rem", resolve_rem},
    {"abs", resolve_abs},     {"neg", resolve_neg},     {"min", resolve_min},   {"max", resolve_max},
    {"popc", resolve_popc},   {"clz", resolve_clz},     {"brev", resolve_brev}, {"bfe", resolve_bfe},
    {"bfi", resolve_bfi},     {"bfind", resolve_bfind}, {"fns", resolve_fns},   {"szext", resolve_szext},
    {"bmsk", resolve_bmsk},   {"dp4a", resolve_dp4a},   {"dp2a", resolve_dp2a},
};

}  // namespace

std::span<const ResolverRow> integer_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
