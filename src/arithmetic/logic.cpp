// PTX ISA 9.7.8 (logic and shift) and 9.7.9.7 (prmt).
#include <algorithm>

#include "arithmetic/pure.hpp"

namespace ptxgraft::arithmetic {
namespace {

template <class T> T and_of(T a, T b) { return static_cast<T>(a & b); }
template <class T> T or_of(T a, T b) { return static_cast<T>(a | b); }
template <class T> T xor_of(T a, T b) { return static_cast<T>(a ^ b); }
template <class T> T not_of(T a) {
    if constexpr (std::is_same_v<T, bool>)
        return !a;
    else
        return static_cast<T>(~a);
}
template <class T> T cnot(T a) { return a == 0 ? T{1} : T{0}; }

template <class T> T shl(T a, std::uint32_t b) { return b >= sizeof(T) * 8 ? T{0} : static_cast<T>(a << b); }
template <class T> T shr(T a, std::uint32_t b) {
    const std::uint32_t most = sizeof(T) * 8 - 1;
    if (b > most) return std::is_signed_v<T> ? static_cast<T>(a >> most) : T{0};
    return static_cast<T>(a >> b);
}

std::uint32_t lop3(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table) {
    std::uint32_t result = 0;
    if ((table & 0x01) != 0) result |= ~a & ~b & ~c;
    if ((table & 0x02) != 0) result |= ~a & ~b & c;
    if ((table & 0x04) != 0) result |= ~a & b & ~c;
    if ((table & 0x08) != 0) result |= ~a & b & c;
    if ((table & 0x10) != 0) result |= a & ~b & ~c;
    if ((table & 0x20) != 0) result |= a & ~b & c;
    if ((table & 0x40) != 0) result |= a & b & ~c;
    if ((table & 0x80) != 0) result |= a & b & c;
    return result;
}
template <bool Or>
Two<std::uint32_t, bool> lop3_pred(std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t table,
                                   bool q) {
    const std::uint32_t d = lop3(a, b, c, table);
    return {d, Or ? (d != 0 || q) : (d != 0 && q)};
}

template <bool Left, bool Clamp> std::uint32_t shf(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint32_t n = Clamp ? std::min(c, 32u) : c & 31;
    const std::uint64_t both = std::uint64_t{b} << 32 | a;
    return static_cast<std::uint32_t>(Left ? (both << n) >> 32 : both >> n);
}

std::uint32_t prmt(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    const std::uint64_t bytes = std::uint64_t{b} << 32 | a;
    std::uint32_t result = 0;
    for (std::uint32_t i = 0; i < 4; ++i) {
        const std::uint32_t control = c >> (4 * i) & 0xF;
        std::uint32_t byte = static_cast<std::uint32_t>(bytes >> (8 * (control & 7))) & 0xFF;
        if ((control & 8) != 0) byte = (byte & 0x80) != 0 ? 0xFF : 0;
        result |= byte << (8 * i);
    }
    return result;
}
// The manual's table as selectors of the generic form: one per mode and value of c[1:0].
constexpr std::uint32_t prmt_selectors[6][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543},  // f4e
    {0x5670, 0x6701, 0x7012, 0x0123},  // b4e
    {0x0000, 0x1111, 0x2222, 0x3333},  // rc8
    {0x3210, 0x3211, 0x3222, 0x3333},  // ecl
    {0x0000, 0x1110, 0x2210, 0x3210},  // ecr
    {0x1010, 0x3232, 0x1010, 0x3232},  // rc16
};
template <int Mode> std::uint32_t prmt_mode(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
    return prmt(a, b, prmt_selectors[Mode][c & 3]);
}

#define PTXGRAFT_MAKE(function) []<class T>() -> Resolved { return make_fast<&function<T>>(); }

Resolved resolve_and(Modifiers m, Shape) { return by_type<Pred, B16, B32, B64>(m, PTXGRAFT_MAKE(and_of)); }
Resolved resolve_or(Modifiers m, Shape) { return by_type<Pred, B16, B32, B64>(m, PTXGRAFT_MAKE(or_of)); }
Resolved resolve_xor(Modifiers m, Shape) { return by_type<Pred, B16, B32, B64>(m, PTXGRAFT_MAKE(xor_of)); }
Resolved resolve_not(Modifiers m, Shape) { return by_type<Pred, B16, B32, B64>(m, PTXGRAFT_MAKE(not_of)); }
Resolved resolve_cnot(Modifiers m, Shape) { return by_type<B16, B32, B64>(m, PTXGRAFT_MAKE(cnot)); }
Resolved resolve_shl(Modifiers m, Shape) { return by_type<B16, B32, B64>(m, PTXGRAFT_MAKE(shl)); }
Resolved resolve_shr(Modifiers m, Shape) {
    return by_type<B16, B32, B64, U16, U32, U64, S16, S32, S64>(m, PTXGRAFT_MAKE(shr));
}
#undef PTXGRAFT_MAKE

Resolved resolve_lop3(Modifiers m, Shape) {
    const int op = m.take_of({".or", ".and"});
    if (!m.take(".b32") || !m.done()) return std::nullopt;
    if (op < 0) return make_fast<&lop3>();
    return op == 0 ? make<&lop3_pred<true>>() : make<&lop3_pred<false>>();
}
Resolved resolve_shf(Modifiers m, Shape) {
    const int direction = m.take_of({".l", ".r"}), mode = m.take_of({".clamp", ".wrap"});
    if (direction < 0 || mode < 0 || !m.take(".b32") || !m.done()) return std::nullopt;
    return choose([]<bool Left, bool Clamp> { return make_fast<&shf<Left, Clamp>>(); }, direction == 0,
                  mode == 0);
}
Resolved resolve_prmt(Modifiers m, Shape) {
    if (!m.take(".b32")) return std::nullopt;
    const int mode = m.take_of({".f4e", ".b4e", ".rc8", ".ecl", ".ecr", ".rc16"});
    if (!m.done()) return std::nullopt;
    return mode < 0 ? make_fast<&prmt>()
                    : choose([]<int Mode> { return make<&prmt_mode<Mode>>(); }, Choice<int, 6>{mode});
}

constexpr ResolverRow rows[] = {
    {"and", resolve_and},   {"or", resolve_or},     {"xor", resolve_xor}, {"not", resolve_not},
    {"cnot", resolve_cnot}, {"shl", resolve_shl},   {"shr", resolve_shr}, {"lop3", resolve_lop3},
    {"shf", resolve_shf},   {"prmt", resolve_prmt},
};

}  // namespace

std::span<const ResolverRow> logic_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
