// PTX inside of CUDA: constraints of every kind, scopes with labels and registers of their own, predicates,
// vectors, memory, special registers, instructions that no intrinsic gives.
#include "twin.hpp"

namespace inline_ptx {

struct Three {
    u32 a, b, c;
};
constexpr u32 results = 22;

#ifdef __CUDACC__
DEVICE u32 loop(u32 n) {  // a label in a scope: it may stand in the text many times
    u32 sum;
    asm("{\n\t.reg .u32 i;\n\t.reg .pred more;\n\tmov.u32 i, %1;\n\tmov.u32 %0, 0;\nTop:\n\tmad.lo.u32 %0, "
        "i, i, %0;\n\tsetp.ne.u32 more, i, 0;\n\t@more sub.u32 i, i, 1;\n\t@more bra Top;\n\t}"
        : "=r"(sum)
        : "r"(n));
    return sum;
}

ENTRY all(const Three* in, u32* out, u32 count) {
    const u32 t = thread_number();
    if (t >= count) return;
    const u32 a = in[t].a, b = in[t].b, c = in[t].c;
    u32 r[results];
    asm("lop3.b32 %0, %1, %2, %3, 0x96;" : "=r"(r[0]) : "r"(a), "r"(b), "r"(c));
    asm("bfe.s32 %0, %1, %2, 7;" : "=r"(r[1]) : "r"(a), "r"(b & 31));
    asm("bfi.b32 %0, %1, %2, %3, 9;" : "=r"(r[2]) : "r"(a), "r"(b), "r"(c & 31));
    asm("vadd4.s32.s32.s32.sat %0, %1, %2, %3;" : "=r"(r[3]) : "r"(a), "r"(b), "r"(0));
    asm("{ .reg .b64 wide; mul.wide.u32 wide, %1, %2; shr.u64 wide, wide, 20; cvt.u32.u64 %0, wide; }"
        : "=r"(r[4])
        : "r"(a), "r"(b));
    asm("{ .reg .pred p, q; setp.lt.u32 p|q, %1, %2; selp.u32 %0, 3, 4, p; @q add.u32 %0, %0, 10; }"
        : "=r"(r[5])
        : "r"(a), "r"(b));
    r[6] = loop(a % 20) + loop(b % 7);
    u16 half;
    asm("{ .reg .b16 low; mov.b32 {low, %0}, %1; }" : "=h"(half) : "r"(a));
    r[7] = half;
    double real;
    asm("cvt.rn.f64.u32 %0, %1;" : "=d"(real) : "r"(c));
    float single;
    asm("cvt.rz.f32.f64 %0, %1;" : "=f"(single) : "d"(real));
    r[8] = __float_as_uint(single);
    asm volatile("{ .reg .u64 at; cvta.to.global.u64 at, %1; ld.global.nc.u32 %0, [at+4]; }"
                 : "=r"(r[9])
                 : "l"(in + t));
    u32 x, y;
    asm("{ .reg .b64 both; mov.b64 both, {%2, %3}; shl.b64 both, both, 5; mov.b64 {%0, %1}, both; }"
        : "=r"(x), "=r"(y)
        : "r"(a), "r"(b));
    r[10] = x, r[11] = y;
    u32 kept = a;
    asm("add.u32 %0, %0, %1;\n\txor.b32 %0, %0, 0x55;" : "+r"(kept) : "r"(b));
    r[12] = kept;
    asm("slct.u32.s32 %0, %1, %2, %3;" : "=r"(r[13]) : "r"(a), "r"(b), "r"((s32)c));
    asm("sad.s32 %0, %1, %2, %3;" : "=r"(r[14]) : "r"((s32)a), "r"((s32)b), "r"(c));
    asm("set.gt.u32.s32 %0, %1, %2;" : "=r"(r[15]) : "r"((s32)a), "r"((s32)b));
    asm("mov.u32 %0, %%laneid;" : "=r"(r[16]));
    asm("bfind.shiftamt.u32 %0, %1;" : "=r"(r[17]) : "r"(a));
    asm("{ .reg .u32 v0, v1, v2; .local .align 16 .b8 spot[16]; st.local.v4.u32 [spot], {%1, %2, %3, 5}; "
        "ld.local.v2.u32 {v1, v2}, [spot+8]; ld.local.u32 v0, [spot]; add.u32 v0, v0, v1; mad.lo.u32 %0, v0, "
        "v2, 1; }"
        : "=r"(r[18])
        : "r"(a), "r"(b), "r"(c));
    asm("{ .reg .u32 i; .reg .pred p; rem.u32 i, %1, 3; setp.eq.u32 p, i, 0; @p bra Zero; mov.u32 %0, 1; bra "
        "End; Zero: mov.u32 %0, 2; End: }"
        : "=r"(r[19])
        : "r"(a));
    asm("prmt.b32.rc8 %0, %1, %2, %3;" : "=r"(r[20]) : "r"(a), "r"(b), "r"(c));
    asm("{ .reg .s64 w; mad.wide.s32 w, %1, %2, 77; cvt.sat.s32.s64 %0, w; }"
        : "=r"(r[21])
        : "r"((s32)a >> 8), "r"((s32)b >> 12));
    for (u32 k = 0; k < results; ++k) out[t * results + k] = r[k];
}
#else
static u32 squares(u32 n) { return n * (n + 1) * (2 * n + 1) / 6; }

TWIN(InlinePtx, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a") {
    std::vector<Three> in(150);
    std::vector<u32> host;
    for (u32 t = 0; t < in.size(); ++t) {
        const u32 a = (u32)(run.random() >> run.random() % 40), b = (u32)run.random() >> run.random() % 20,
                  c = (u32)run.random();
        in[t] = {a, b, c};
        const s32 sa = (s32)a, sb = (s32)b;
        const u32 at = b & 31, field = c & 31, mask = 0x1ffu << field;
        s32 extracted = (s32)(a >> at) & 127;
        const u32 top = at + 6 > 31 ? 31 : at + 6;
        if (a >> top & 1) extracted |= at + 7 > 32 ? (s32)(~0u << (32 - at)) : ~127;
        u32 added = 0;
        for (u32 i = 0; i < 32; i += 8)
            added |= ((u32)std::clamp((s8)(a >> i) + (s8)(b >> i), -128, 127) & 255) << i;
        float single = (float)c;
        if ((double)single > c) single = std::nextafter(single, 0.0f);
        const u64 both = ((u64)b << 32 | a) << 5;
        const s64 wide = (s64)(sa >> 8) * (sb >> 12) + 77;
        for (const u32 r : {a ^ b ^ c,
                            (u32)extracted,
                            (b & ~mask) | (a << field & mask),
                            added,
                            (u32)((u64)a * b >> 20),
                            a < b ? 3u : 14u,
                            squares(a % 20) + squares(b % 7),
                            a >> 16,
                            std::bit_cast<u32>(single),
                            b,
                            (u32)both,
                            (u32)(both >> 32),
                            (a + b) ^ 0x55,
                            (s32)c >= 0 ? a : b,
                            (u32)std::abs((s64)sa - sb) + c,
                            sa > sb ? ~0u : 0,
                            t % 50 % 32,
                            a == 0 ? ~0u : (u32)std::countl_zero(a),
                            (a + c) * 5 + 1,
                            a % 3 == 0 ? 2u : 1u,
                            (u32)(((u64)b << 32 | a) >> 8 * (c & 3) & 255) * 0x01010101u,
                            (u32)std::clamp<s64>(wide, -0x80000000ll, 0x7fffffff)})
            host.push_back(r);
    }
    const u64 out = run.zeros<u32>(host.size());
    run.launch("all", {.grid = 3, .block = 50}, run.upload(in), out, (u32)in.size());
    run.expect_same("all", run.download<u32>(out, host.size()), host);
}
#endif
}  // namespace inline_ptx
