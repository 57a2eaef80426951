// Bit tricks: counts, reversals, bytes, funnel shifts, high products, sums of absolute differences, dot
// products, averages.
#include "twin.hpp"

namespace bits {

struct Three {
    u32 a, b, c;
};
constexpr u32 results = 34;

#ifdef __CUDACC__
ENTRY tricks(const Three* in, u32* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const u32 a = in[i].a, b = in[i].b, c = in[i].c;
    const u64 wide = (u64)b << 32 | a;
    const u32 r[results] = {(u32)__popc(a),
                            (u32)__popcll(wide),
                            (u32)__clz(a),
                            (u32)__clzll(wide),
                            (u32)__ffs(a),
                            (u32)__ffsll(wide),
                            __brev(a),
                            (u32)(__brevll(wide) >> 32),
                            __funnelshift_l(a, b, c),
                            __funnelshift_r(a, b, c),
                            __funnelshift_lc(a, b, c),
                            __funnelshift_rc(a, b, c),
                            __byte_perm(a, b, c),
                            __umulhi(a, b),
                            (u32)__mulhi((s32)a, (s32)b),
                            (u32)(__umul64hi(wide, wide + c) >> 16),
                            (u32)(__mul64hi((s64)wide, (s64)c - (s64)wide) >> 16),
                            (u32)__mul24((s32)a, (s32)b),
                            __umul24(a, b),
                            __sad((s32)a, (s32)b, c),
                            __usad(a, b, c),
                            __uhadd(a, b),
                            (u32)__hadd((s32)a, (s32)b),
                            __urhadd(a, b),
                            (u32)__rhadd((s32)a, (s32)b),
                            (u32)__dp4a((s32)a, (s32)b, (s32)c),
                            __dp4a(a, b, c),
                            (u32)__dp2a_lo((s32)a, (s32)b, (s32)c),
                            __dp2a_hi(a, b, c),
                            a / (b | 1),
                            a % (b | 1),
                            (u32)((s32)a / ((s32)(b >> 7) + 1)),
                            (u32)((s32)a % ((s32)(b >> 7) + 1)),
                            __fns(a, b % 32, (s32)(c % 9) - 4)};
    for (u32 k = 0; k < results; ++k) out[i * results + k] = r[k];
}
#else

__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;

static u32 reversed(u32 x) {
    u32 r = 0;
    for (int i = 0; i < 32; ++i) r |= (x >> i & 1) << (31 - i);
    return r;
}
static u32 permuted(u32 a, u32 b, u32 s) {
    u32 r = 0;
    for (int i = 0; i < 4; ++i) {
        const u64 both = (u64)b << 32 | a;
        const u32 byte = (u32)(both >> 8 * (s >> 4 * i & 7)) & 255;
        r |= byte << 8 * i;
    }
    return r;
}
static u32 absolute_difference(s64 a, s64 b) { return (u32)(a > b ? a - b : b - a); }
template <class A> static u32 dot4(u32 a, u32 b, u32 c) {
    for (int i = 0; i < 4; ++i) c += (u32)((A)(a >> 8 * i) * (A)(b >> 8 * i));
    return c;
}
// The n-th set bit from `base` on (upwards for n > 0, downwards for n < 0), or -1.
static u32 find_nth(u32 mask, u32 base, s32 n) {
    if (n == 0) return mask >> base & 1 ? base : ~0u;
    s32 left = n > 0 ? n : -n;
    for (s32 at = (s32)base; at >= 0 && at<32; at += n> 0 ? 1 : -1)
        if (mask >> at & 1 && --left == 0) return (u32)at;
    return ~0u;
}

TWIN(BitTricks, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a") {
    const u32 count = 400;
    std::vector<Three> in(count);
    for (Three& t : in) t = {(u32)run.random(), (u32)run.random(), (u32)run.random()};
    in[0] = {0, 0, 0}, in[1] = {~0u, ~0u, ~0u}, in[2] = {0x80000000, 0x80000000, 32}, in[3] = {1, 0, 33},
    in[4] = {0, 1, 31}, in[5] = {0x80000000, 0x7f, 0};
    for (u32 i = 6; i < count; i += 4) in[i].c %= 40;
    std::vector<u32> host;
    for (const auto [a, b, c] : in) {
        const u64 wide = (u64)b << 32 | a;
        const s32 sa = (s32)a, sb = (s32)b;
        const s32 divisor = (s32)(b >> 7) + 1;
        const u32 turn = c % 32, clamped = std::min(c, 32u);
        for (const u32 r : {(u32)std::popcount(a),
                            (u32)std::popcount(wide),
                            (u32)std::countl_zero(a),
                            (u32)std::countl_zero(wide),
                            a == 0 ? 0 : (u32)std::countr_zero(a) + 1,
                            wide == 0 ? 0 : (u32)std::countr_zero(wide) + 1,
                            reversed(a),
                            reversed(a),
                            (u32)(wide << turn >> 32),
                            (u32)(wide >> turn),
                            clamped == 32 ? a : (u32)(wide << clamped >> 32),
                            (u32)(wide >> clamped),
                            permuted(a, b, c),
                            (u32)((u64)a * b >> 32),
                            (u32)((s64)sa * sb >> 32),
                            (u32)(u64)((u128)wide * (wide + c) >> 80),
                            (u32)((s64)((s128)(s64)wide * ((s64)c - (s64)wide) >> 64) >> 16),
                            (u32)((s64)((s32)(a << 8) >> 8) * ((s32)(b << 8) >> 8)),
                            (u32)((u64)(a & 0xffffff) * (b & 0xffffff)),
                            absolute_difference(sa, sb) + c,
                            absolute_difference(a, b) + c,
                            (u32)(((u64)a + b) >> 1),
                            (u32)(((s64)sa + sb) >> 1),
                            (u32)(((u64)a + b + 1) >> 1),
                            (u32)(((s64)sa + sb + 1) >> 1),
                            dot4<s8>(a, b, c),
                            dot4<u8>(a, b, c),
                            c + (u32)((s16)a * (s8)b) + (u32)((s16)(a >> 16) * (s8)(b >> 8)),
                            c + (u32)(u16)a * (u8)(b >> 16) + (u32)(u16)(a >> 16) * (u8)(b >> 24),
                            a / (b | 1),
                            a % (b | 1),
                            (u32)(sa / divisor),
                            (u32)(sa % divisor),
                            find_nth(a, b % 32, (s32)(c % 9) - 4)})
            host.push_back(r);
    }
    const u64 out = run.zeros<u32>(host.size());
    run.launch("tricks", {.grid = 4, .block = 100}, run.upload(in), out, count);
    run.expect_same("tricks", run.download<u32>(out, host.size()), host);
}
#endif
}  // namespace bits
