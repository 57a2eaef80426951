// How things lie in memory: unions, bit fields, packed and aligned structures, arrays of arrays, pointers to
// members, volatile, vectors of every width, narrow integers that wrap, enumerations, conversions between
// pointers and integers.
#ifndef __CUDACC__
#include <vector_types.h>
#endif
#include "twin.hpp"

namespace layouts {

union Number {
    u64 whole;
    u32 words[2];
    u8 bytes[8];
    float single;
    double real;
    struct {
        u16 a;
        s16 b;
        s32 c;
    } parts;
};
struct Fields {
    u32 a : 3;
    s32 b : 5;
    u32 c : 24;
    u64 d : 40;
    s64 e : 20;
    bool f : 1;
    u8 g : 2;
};
struct __attribute__((packed)) Packed {
    u8 a;
    u32 b;
    u16 c;
    u64 d;
};
struct alignas(32) Aligned {
    u8 a;
    double b;
    s16 c[3];
};
enum class Kind : u8 { none, some, all = 200 };

struct Results {
    u64 number, fields, packed, aligned, narrow, vectors, members, sizes;
};

BOTH inline u64 numbers(u32 x) {
    Number n;
    n.whole = x * 0x9e3779b97f4a7c15;
    n.bytes[x % 8] = (u8)x;
    n.parts.b = (s16)(n.parts.b >> 3);
    const u32 word = n.words[x & 1];
    n.single = n.single == n.single ? n.single * 0.5f : 1;
    return n.whole ^ word;
}
BOTH inline u64 fields(u32 x) {
    Fields f = {};
    f.a = x, f.b = (s32)x >> 2, f.c = x * 77, f.d = (u64)x * x, f.e = -(s64)(x % 1000), f.f = x & 8,
    f.g = x >> 6;
    f.b += 7, f.a--, f.g++, f.d <<= 3, f.e *= 3;
    return f.a + ((u64)(s64)f.b << 3) + ((u64)f.c << 8) + f.d * 5 + (u64)f.e * 11 + f.f + f.g * 2;
}
BOTH inline u64 packed(u32 x) {
    Packed p[3];
    for (u32 i = 0; i < 3; ++i)
        p[i].a = (u8)(x + i), p[i].b = x * (i + 3), p[i].c = (u16)(x >> i), p[i].d = (u64)x << (i * 9);
    p[x % 3].b ^= 0xffff, p[(x + 1) % 3].d += p[x % 3].c;
    u64 sum = 0;
    const u8* raw = (const u8*)p;
    for (u32 i = 0; i < sizeof p; ++i) sum = sum * 31 + raw[i];
    return sum;
}
BOTH inline u64 aligned(u32 x) {
    Aligned a[2][2] = {};
    a[x & 1][x >> 1 & 1].c[x % 3] = (s16)x;
    a[1][0].b = x * 0.25, a[0][1].a = (u8)(x >> 4);
    Aligned copy[2][2];
    memcpy(copy, a, sizeof a);
    const double sum = copy[1][0].b + copy[0][1].a;
    return (u64)sum + (u64)(s64)copy[x & 1][x >> 1 & 1].c[x % 3] +
           (u64)((const u8*)&a[1][1] - (const u8*)&a[0][0]) + (u64)&a[1][1] % 32;
}
BOTH inline u64 narrow(u32 x) {
    u8 a = (u8)x;
    s8 b = (s8)(x >> 8);
    u16 c = (u16)(x >> 3);
    s16 d = (s16)(x >> 16);
    volatile u8 e = (u8)(a + 200);
    a = (u8)(a * 3), b = (s8)(b << 1), c = (u16)(c - 60000), d = (s16)(d * b);
    e = (u8)(e >> 1);
    a += (u8)b, d /= (s16)(c | 1), b = (s8)(b >> 2);
    const Kind kind = x % 3 == 0 ? Kind::all : x % 3 == 1 ? Kind::some : Kind::none;
    const bool less = b < (s32)a, flag = (bool)(x & 64);
    return (u64)a + ((u64)(s64)b << 9) + ((u64)c << 20) + ((u64)(s64)d << 33) + e + (u64)kind * 3 + less +
           flag * 2u + (u64)(char)(x >> 24);
}
BOTH inline u64 vectors(u32 x) {
    const uint4 a = {x, x + 1, x * 2, ~x};
    const double2 d = {(double)x, x * 0.5};
    const uchar4 c = {(u8)x, (u8)(x >> 8), (u8)(x >> 16), 7};
    const short2 s = {(s16)x, (s16)-x};
    const float3 f = {1, (float)(x % 1000), 2};
    const ulonglong2 w = {(u64)x * x, 3};
    alignas(16) uint4 all[3] = {a, {a.w, a.z, a.y, a.x}, {c.x, c.y, c.z, c.w}};
    const uint4 picked = all[x % 3];
    return picked.x + (u64)picked.y * 3 + picked.z * 5u + picked.w * 7u + (u64)(d.x + d.y) +
           (u64)(s64)s.x * 2 + (u64)(s64)s.y + (u64)(f.x + f.y * f.z) + w.x + w.y;
}
struct Point {
    s32 x, y, z;
    BOTH s32 sum(s32 k) const { return x + y * k + z; }
    BOTH s32 product(s32 k) const { return x * y + z * k; }
};
BOTH inline u64 members(u32 x) {
    Point p = {(s32)x, 5, -3};
    s32 Point::*const which = x % 3 == 0 ? &Point::x : x % 3 == 1 ? &Point::y : &Point::z;
    s32 (Point::*const call)(s32) const = x & 4 ? &Point::sum : &Point::product;
    p.*which += 10;
    const u64 address = (u64)&p;
    return (u64)(s64)(p.*call)((s32)(x % 7)) + (u64) * (const s32*)(address + 4);
}

BOTH inline Results results(u32 x) {
    return {
        numbers(x), fields(x),  packed(x),  aligned(x),
        narrow(x),  vectors(x), members(x), sizeof(Fields) + sizeof(Packed) * 100 + sizeof(Aligned) * 10000};
}

#ifdef __CUDACC__
ENTRY all(const u32* in, Results* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = results(in[i]);
}
ENTRY copies(const uint4* in, uint4* out, const uchar4* small, uchar4* small_out, const double2* real,
             double2* real_out, const ushort2* halves, ushort2* halves_out) {
    const u32 t = thread_number();
    uint4 v = in[t];
    v.x += 1, v.w ^= v.y;
    out[t] = v;
    const uchar4 c = __ldg(small + t);
    __stcs(small_out + t, make_uchar4(c.w, c.z, c.y, c.x));
    const double2 d = __ldcg(real + t);
    __stwt(real_out + t, make_double2(d.y, -d.x));
    volatile const ushort2* h = halves + t;
    halves_out[t].x = h->y, halves_out[t].y = h->x;
}
#else
TWIN(Layouts, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0", "sm_120a nvcc") {
    run.map<Results>("all", run.random_values<u32>(150), results, 50);
    const auto a = run.random_values<u32>(64 * 4), halves = run.random_values<u32>(64);
    const auto small = run.random_values<u8>(64 * 4);
    const auto real = run.random_reals<double>(64 * 2, -1, 1);
    const u64 out = run.zeros<u32>(256), small_out = run.zeros<u8>(256), real_out = run.zeros<double>(128),
              halves_out = run.zeros<u32>(64);
    run.launch("copies", {.grid = 2, .block = 32}, run.upload(a), out, run.upload(small), small_out,
               run.upload(real), real_out, run.upload(halves), halves_out);
    auto host = a;
    auto host_small = small;
    auto host_real = real;
    auto host_halves = halves;
    for (u32 t = 0; t < 64; ++t) {
        host[4 * t] += 1, host[4 * t + 3] ^= host[4 * t + 1];
        std::reverse(host_small.begin() + 4 * t, host_small.begin() + 4 * t + 4);
        host_real[2 * t] = real[2 * t + 1], host_real[2 * t + 1] = -real[2 * t];
        host_halves[t] = halves[t] << 16 | halves[t] >> 16;
    }
    run.expect_same("vectors", run.download<u32>(out, 256), host);
    run.expect_same("bytes", run.download<u8>(small_out, 256), host_small);
    run.expect_same("doubles", run.download<double>(real_out, 128), host_real);
    run.expect_same("halves", run.download<u32>(halves_out, 64), host_halves);
}
#endif
}  // namespace layouts
