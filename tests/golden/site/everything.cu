// Every kind of operand, and every place in which a site may stand. Signatures below, in the order of first copies:
// site: scalars: mod f32 acc, in f32 bias, in u32 row, out u32 y
// site: integers: in u16 a, in s16 b, in u32 c, in s32 d, mod u64 e, mod s64 f
// site: floats: mod f32 x, mod f64 z
// site: bits: in b16 a, in f16 b, in bf16 c, in b32 d, in f16x2 e, in bf16x2 f, in b64 g
// site: half: mod f16 h, out b32 w
// site: predicates: mod pred p, in pred q, out pred r
// site: flags: mod flag:pred f, in flag:pred g, out flag:pred h, in s32 minus, in s64 wide
// site: fragments: mod f32 acc[12], in f32 scale, in q8:u32 frag[3], out f16 half[2]
// site: hot: mod f32 a
// site: cold:
// site: cold_loads:
// site: nothing:
// site: loads: in b64 pointer, out f32 value
// site: looped: mod f32 x
// site: lambda: mod f32 x
// site: inlined: mod f32 x, in u32 n
#include <ptxgraft/site.cuh>

struct q8_t {
    unsigned bits;
};
#define PTXGRAFT_TYPE_q8 PTXGRAFT_USER_TYPE(q8, u32, q8_t)

struct flag_t {
    bool set;
};
#define PTXGRAFT_TYPE_flag PTXGRAFT_USER_TYPE(flag, pred, flag_t)

struct half_t {
    unsigned short bits;
};

template <int Factor, class T>
__device__ T scaled(T x) {
    return x * Factor;
}

template <class T>
__device__ T inlined(T x, unsigned n) {
    if constexpr (sizeof(T) == 4) PTXGRAFT_SITE("inlined", "", mod(f32, x), in(u32, n));
    return x;
}

extern "C" __global__ void kernel(float* p, double* d, const q8_t* q, half_t* h, unsigned n, int i, unsigned long size, bool flag) {
    float acc = p[0], frag[12];
    unsigned y;
    PTXGRAFT_SITE("scalars", "add.f32 _acc, _acc, _bias; mov.u32 _y, _row;", mod(f32, acc), in(f32, bias, scaled<3, float>(p[n])),
                  in(u32, row, i), out(u32, y));
    long long s = i;
    PTXGRAFT_SITE("integers", "", in(u16, a, n), in(s16, b, i), in(u32, c, n), in(s32, d, i), mod(u64, e, size), mod(s64, f, s));
    PTXGRAFT_SITE("floats", "add.f64 _z, _z, _z;", mod(f32, x, acc), mod(f64, z, d[1]));
    PTXGRAFT_SITE("bits", "", in(b16, a, h[0]), in(f16, b, h[1]), in(bf16, c, h[2].bits), in(b32, d, p[1]), in(f16x2, e, n),
                  in(bf16x2, f, q[0]), in(b64, g, p));
    half_t x = h[3];
    float w;
    PTXGRAFT_SITE("half", "mov.b32 _w, 0;", mod(f16, h, x), out(b32, w));
    bool r;
    PTXGRAFT_SITE("predicates", "and.pred _r, _p, _q; not.pred _p, _p;", mod(pred, p, flag), in(pred, q, i > 3), out(pred, r));
    flag_t set{r}, unset;
    PTXGRAFT_SITE("flags", "not.pred _h, _f;", mod(flag, f, set), in(flag, g, set), out(flag, h, unset), in(s32, minus, -5),
                  in(s64, wide, -5));
    r = r != set.set || unset.set;
#pragma unroll
    for (int k = 0; k < 12; ++k) frag[k] = p[k];
    PTXGRAFT_SITE("fragments", "mul.f32 _acc11, _acc11, _scale; mov.b16 _half0, 1; mov.b16 _half1, 2;", mods(f32, 12, acc, frag),
                  in(f32, scale, 2.0f), ins(q8, 3, frag, q + 1), outs(f16, 2, half, h + 4));
    PTXGRAFT_SITE("nothing", "");
    PTXGRAFT_HOT_SITE("hot", "", mod(f32, a, frag[0]));
    PTXGRAFT_COLD_SITE("cold", "");
    PTXGRAFT_SITE_ALLOWING("cold_loads", "load cold", "");
    float value;
    PTXGRAFT_SITE_ALLOWING("loads", "load warp", "ld.f32 _value, [_pointer];", in(b64, pointer, p + n), out(f32, value));
#pragma unroll
    for (int k = 0; k < 3; ++k) PTXGRAFT_PURE_SITE("looped", "add.f32 _x, _x, _x;", mod(f32, x, frag[k]));
    auto lambda = [&](float x) {
        PTXGRAFT_SITE("lambda", "", mod(f32, x)); PTXGRAFT_SITE("lambda", "", mod(f32, x));
        return x;
    };
    value = inlined(lambda(value), n) + inlined(acc, n + 1);
    h[3] = x;
    p[0] = value + acc + w + float(y) + float(size) + float(s) + (flag ? 1 : 0) + (r ? 1 : 0);
#pragma unroll
    for (int k = 0; k < 12; ++k) p[k] = frag[k];
}
