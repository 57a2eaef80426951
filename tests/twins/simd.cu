// The packed integer intrinsics, on bytes and on halves of a word: sums, averages, differences, comparisons,
// saturation.
#include "twin.hpp"

namespace simd {

struct Two {
    u32 a, b, c;
};
constexpr u32 results = 50;

#ifdef __CUDACC__
ENTRY packed(const Two* in, u32* out, u32 count) {
    const u32 i = thread_number();
    if (i >= count) return;
    const u32 a = in[i].a, b = in[i].b, c = in[i].c;
    bool left, right;
    const u32 low = __vibmin_u16x2(a, b, &left, &right);
    const u32 r[results] = {__vadd4(a, b),
                            __vadd2(a, b),
                            __vaddss4(a, b),
                            __vaddss2(a, b),
                            __vaddus4(a, b),
                            __vaddus2(a, b),
                            __vsub4(a, b),
                            __vsub2(a, b),
                            __vsubss4(a, b),
                            __vsubss2(a, b),
                            __vsubus4(a, b),
                            __vsubus2(a, b),
                            __vavgs4(a, b),
                            __vavgs2(a, b),
                            __vavgu4(a, b),
                            __vavgu2(a, b),
                            __vhaddu4(a, b),
                            __vhaddu2(a, b),
                            __vabs4(a),
                            __vabs2(a),
                            __vabsss4(a),
                            __vabsss2(a),
                            __vneg4(a),
                            __vneg2(a),
                            __vnegss4(a),
                            __vnegss2(a),
                            __vabsdiffs4(a, b),
                            __vabsdiffs2(a, b),
                            __vabsdiffu4(a, b),
                            __vabsdiffu2(a, b),
                            __vsads4(a, b),
                            __vsads2(a, b),
                            __vsadu4(a, b),
                            __vsadu2(a, b),
                            __vmaxs4(a, b),
                            __vmaxs2(a, b),
                            __vmaxu4(a, b),
                            __vmaxu2(a, b),
                            __vmins4(a, b),
                            __vminu2(a, b),
                            __vcmpeq4(a, b),
                            __vcmpgts2(a, b),
                            __vcmpleu4(a, b),
                            __vseteq2(a, b),
                            __vsetlts4(a, b),
                            __vsetgeu2(a, b),
                            (u32)__vimax3_s32((s32)a, (s32)b, (s32)c),
                            __vimin3_u16x2(a, b, c),
                            __viaddmax_s16x2_relu(a, b, c),
                            low ^ (u32)left << 5 ^ (u32)right};
    for (u32 k = 0; k < results; ++k) out[i * results + k] = r[k];
}
#else

// f over the parts of a word: `bits` each, sign extended or not; the result's low bits count.
template <class Function> static u32 parts(u32 bits, bool is_signed, u32 a, u32 b, Function f) {
    u32 r = 0;
    for (u32 at = 0; at < 32; at += bits) {
        const u32 mask = (1u << bits) - 1;
        const auto part = [&](u32 x) -> s32 {
            return is_signed ? (s32)(x << (32 - bits - at)) >> (32 - bits) : (s32)(x >> at & mask);
        };
        r |= ((u32)f(part(a), part(b)) & mask) << at;
    }
    return r;
}
template <class Function> static u32 sum_of_parts(u32 bits, bool is_signed, u32 a, u32 b, Function f) {
    u32 sum = 0;
    parts(bits, is_signed, a, b, [&](s32 x, s32 y) { return sum += (u32)f(x, y), 0; });
    return sum;
}

static void expected(const Two& in, std::vector<u32>& host) {
    const u32 a = in.a, b = in.b, c = in.c;
    const auto s = [&](u32 bits, auto f) { return parts(bits, true, a, b, f); };
    const auto u = [&](u32 bits, auto f) { return parts(bits, false, a, b, f); };
    const auto add = [](s32 x, s32 y) { return x + y; };
    const auto sub = [](s32 x, s32 y) { return x - y; };
    const auto clamp_s = [](u32 bits, auto f) {
        return [=](s32 x, s32 y) {
            const s32 top = (1 << (bits - 1)) - 1;
            return std::clamp(f(x, y), -top - 1, top);
        };
    };
    const auto clamp_u = [](u32 bits, auto f) {
        return [=](s32 x, s32 y) { return std::clamp(f(x, y), 0, (1 << bits) - 1); };
    };
    const auto average = [](s32 x, s32 y) { return (x + y + 1) >> 1; };
    const auto half = [](s32 x, s32 y) { return (x + y) >> 1; };
    const auto size = [](s32 x, s32) { return std::abs(x); };
    const auto negative = [](s32 x, s32) { return -x; };
    const auto apart = [](s32 x, s32 y) { return std::abs(x - y); };
    const auto most = [](s32 x, s32 y) { return std::max(x, y); };
    const auto least = [](s32 x, s32 y) { return std::min(x, y); };
    // __vavgs rounds halves away from zero.
    const auto average_signed = [](s32 x, s32 y) {
        return x + y < 0 ? -((-x - y + 1) >> 1) : (x + y + 1) >> 1;
    };
    (void)average;
    const u32 smallest = u(16, least);
    const bool left = a >> 16 <= b >> 16, right = (a & 0xffff) <= (b & 0xffff);
    for (const u32 r : {s(8, add),
                        s(16, add),
                        s(8, clamp_s(8, add)),
                        s(16, clamp_s(16, add)),
                        u(8, clamp_u(8, add)),
                        u(16, clamp_u(16, add)),
                        s(8, sub),
                        s(16, sub),
                        s(8, clamp_s(8, sub)),
                        s(16, clamp_s(16, sub)),
                        u(8, clamp_u(8, sub)),
                        u(16, clamp_u(16, sub)),
                        s(8, average_signed),
                        s(16, average_signed),
                        u(8, average),
                        u(16, average),
                        u(8, half),
                        u(16, half),
                        s(8, size),
                        s(16, size),
                        s(8, clamp_s(8, size)),
                        s(16, clamp_s(16, size)),
                        s(8, negative),
                        s(16, negative),
                        s(8, clamp_s(8, negative)),
                        s(16, clamp_s(16, negative)),
                        s(8, apart),
                        s(16, apart),
                        u(8, apart),
                        u(16, apart),
                        sum_of_parts(8, true, a, b, apart),
                        sum_of_parts(16, true, a, b, apart),
                        sum_of_parts(8, false, a, b, apart),
                        sum_of_parts(16, false, a, b, apart),
                        s(8, most),
                        s(16, most),
                        u(8, most),
                        u(16, most),
                        s(8, least),
                        u(16, least),
                        u(8, [](s32 x, s32 y) { return x == y ? ~0 : 0; }),
                        s(16, [](s32 x, s32 y) { return x > y ? ~0 : 0; }),
                        u(8, [](s32 x, s32 y) { return x <= y ? ~0 : 0; }),
                        u(16, [](s32 x, s32 y) { return x == y; }),
                        s(8, [](s32 x, s32 y) { return x < y; }),
                        u(16, [](s32 x, s32 y) { return x >= y; }),
                        (u32)std::max({(s32)a, (s32)b, (s32)c}),
                        parts(16, false, smallest, c, least),
                        parts(16, true, parts(16, true, a, b, add), c,
                              [](s32 x, s32 y) {
                                  return std::max({x, y, 0});
                              }),
                        smallest ^ (u32)left << 5 ^ (u32)right})
        host.push_back(r);
}

TWIN(PackedIntegers, "sm_75", "sm_80 -G", "sm_90a", "sm_90a nvcc -Xcicc -O0", "sm_120a") {
    const u32 count = 300;
    std::vector<Two> in(count);
    for (Two& t : in) t = {(u32)run.random(), (u32)run.random(), (u32)run.random()};
    // near to each other
    for (u32 i = 0; i < count; i += 3) in[i].b = in[i].a ^ (u32)(run.random() & run.random() & 0x81018101);
    in[1] = {0x80808080, 0x80808080, 0}, in[2] = {0x80008000, 0x7fff7fff, ~0u},
    in[4] = {0xff00ff00, 0x00ff00ff, 1}, in[5] = {0, 0, 0x80008000};
    std::vector<u32> host;
    for (const Two& t : in) expected(t, host);
    const u64 out = run.zeros<u32>(host.size());
    run.launch("packed", {.grid = 5, .block = 60}, run.upload(in), out, count);
    run.expect_same("packed", run.download<u32>(out, host.size()), host);
}
#endif
}  // namespace simd
