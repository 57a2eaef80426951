// PTX ISA 9.7.9.21: cvt to and from the packed formats of 8 bits and fewer (5.2.3), two values in a register.
#include <algorithm>
#include <cmath>

#include "arithmetic/rounding.hpp"

namespace ptxgraft::arithmetic {
namespace {

// e2m1, e2m3, e3m2 have neither infinity nor NaN: a NaN becomes the largest value.
constexpr Format e5m2{2, 15, 0x7C, 0x7B, 0x7F, 7};
constexpr Format e4m3{3, 7, 0, 0x7E, 0x7F, 7};
constexpr Format e2m3{3, 1, 0, 0x1F, 0x1F, 5};
constexpr Format e3m2{2, 3, 0, 0x1F, 0x1F, 5};
constexpr Format e2m1{1, 1, 0, 0x7, 0x7, 3};

// Two values of 4 bits share a byte; wider ones have a byte each.
template <const Format& F> constexpr int cell = F.sign_bit == 3 ? 4 : 8;
template <const Format& F> using Packed = std::conditional_t<cell<F> == 4, std::uint8_t, std::uint16_t>;

template <const Format& F, bool Relu> std::uint32_t to_narrow(double a) {
    if (std::isnan(a)) return F.nan;
    if (Relu && std::signbit(a)) return 0;
    const double most = value_of(F, F.largest);
    return round_to(F, std::clamp(a, -most, most), Rounding::rn);
}
template <const Format& F, bool Relu> Packed<F> packed(double high, double low) {
    return static_cast<Packed<F>>(to_narrow<F, Relu>(high) << cell<F> | to_narrow<F, Relu>(low));
}
template <const Format& F, bool Relu> Packed<F> of_f32(float a, float b) {
    return packed<F, Relu>(static_cast<double>(a), static_cast<double>(b));
}
template <const Format& F, bool Relu, class P> Packed<F> of_pair(P a) {
    return packed<F, Relu>(value(high(a)), value(low(a)));
}

// Every value of these formats is one of f16 and of bf16.
template <class T, const Format& F, bool Relu, bool Finite> T widened(std::uint32_t bits) {
    double a = value_of(F, bits & ((2u << F.sign_bit) - 1));
    if (Relu && !std::isnan(a) && std::signbit(a)) a = 0;
    if (Finite && std::isinf(a))
        return {static_cast<std::uint16_t>(format_of<T>().largest | (a < 0 ? 0x8000u : 0))};
    return narrow<T>(a, Rounding::rn);
}
template <class P, const Format& F, bool Relu, bool Finite> P to_pair(Packed<F> a) {
    return pack<P>(widened<Element<P>, F, Relu, Finite>(static_cast<std::uint32_t>(a >> cell<F>)),
                   widened<Element<P>, F, Relu, Finite>(a));
}

// ue8m0 is a power of two, of the magnitude alone; 0xFF is NaN.
template <bool Up, bool Finite> std::uint32_t to_ue8m0(float a) {
    // 2^-127
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(a) & 0x7FFFFFFFu, infinity = 0x7F800000u,
                        least = 0x00400000u;
    if (bits > infinity) return 0xFF;
    const std::uint32_t power = (bits >> 23) + (Up && (bits & 0x7FFFFF) != 0 && bits > least ? 1 : 0);
    return Finite ? std::min(power, 0xFEu) : power;
}
template <bool Up, bool Finite> std::uint16_t ue8m0_of_f32(float a, float b) {
    return static_cast<std::uint16_t>(to_ue8m0<Up, Finite>(a) << 8 | to_ue8m0<Up, Finite>(b));
}
template <bool Up, bool Finite> std::uint16_t ue8m0_of_pair(BfloatPair a) {
    return ue8m0_of_f32<Up, Finite>(std::bit_cast<float>(a.bits & 0xFFFF0000u),
                                    std::bit_cast<float>(a.bits << 16));
}
Bfloat of_ue8m0(std::uint32_t power) {
    if (power == 0xFF) return {static_cast<std::uint16_t>(bf16_format.nan)};
    return {static_cast<std::uint16_t>(power == 0 ? 0x40 : power << 7)};
}
BfloatPair pair_of_ue8m0(std::uint16_t a) { return pack<BfloatPair>(of_ue8m0(a >> 8u), of_ue8m0(a & 0xFFu)); }

// --- the choice
struct Wanted {
    int rounding;
    bool relu, finite;
    std::string_view to, from;
};

template <const Format& F, bool Relu> Resolved narrowing(std::string_view from) {
    if (from == ".f32") return make<&of_f32<F, Relu>>();
    if (from == ".f16x2") return make<&of_pair<F, Relu, HalfPair>>();
    if (from == ".bf16x2") return make<&of_pair<F, Relu, BfloatPair>>();
    return std::nullopt;
}
template <class P, const Format& F> Resolved widening(bool relu, bool finite) {
    return choose([]<bool Relu, bool Finite> { return make<&to_pair<P, F, Relu, Finite>>(); }, relu, finite);
}
template <const Format& F> Resolved of_format(const Wanted& w, std::string_view name) {
    if (w.rounding != 0) return std::nullopt;
    if (w.to == name)
        return !w.finite ? std::nullopt
                         : choose([&]<bool Relu> { return narrowing<F, Relu>(w.from); }, w.relu);
    if (w.to == ".f16x2" && !w.finite) return widening<HalfPair, F>(w.relu, false);
    return w.to == ".bf16x2" ? widening<BfloatPair, F>(w.relu, w.finite) : std::nullopt;
}
Resolved powers(const Wanted& w) {
    const bool up = w.rounding == 2;
    if (w.from == ".f32")
        return choose([]<bool Up, bool Finite> { return make<&ue8m0_of_f32<Up, Finite>>(); }, up, w.finite);
    if (w.from == ".bf16x2")
        return choose([]<bool Up, bool Finite> { return make<&ue8m0_of_pair<Up, Finite>>(); }, up, w.finite);
    return std::nullopt;
}

Resolved resolve_cvt(Modifiers m, Shape shape) {
    Wanted w{};
    w.rounding = m.take_of({".rn", ".rz", ".rp"});
    for (;;) {
        if (m.take(".relu"))
            w.relu = true;
        else if (m.take(".satfinite"))
            w.finite = true;
        else
            break;
    }
    w.to = m.take(), w.from = m.take();
    if (!m.done() || w.rounding < 0) return std::nullopt;
    constexpr std::pair<std::string_view, Resolved (*)(const Wanted&, std::string_view)> formats[] = {
        {".e4m3x2", of_format<e4m3>},
        {".e5m2x2", of_format<e5m2>},
        {".e2m3x2", of_format<e2m3>},
        {".e3m2x2", of_format<e3m2>},
        {".e2m1x2", of_format<e2m1>}};
    Resolved found;
    for (const auto& [name, of] : formats)
        if (w.to == name || w.from == name) found = of(w, name);
    if (w.to == ".ue8m0x2" && !w.relu && w.rounding != 0)
        found = powers(w);
    else if (w.from == ".ue8m0x2" && w.to == ".bf16x2" && w.rounding == 0 && !w.relu && !w.finite)
        found = make<&pair_of_ue8m0>();
    return found && shape.operands == std::size_t{found->outputs} + found->inputs ? found : std::nullopt;
}

constexpr ResolverRow rows[] = {{"cvt", resolve_cvt}};

}  // namespace

std::span<const ResolverRow> narrow_rows() { return rows; }

}  // namespace ptxgraft::arithmetic
