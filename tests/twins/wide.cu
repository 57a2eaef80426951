// Integers of 64 and 128 bits: quotients and remainders of every size, shifts by any count, products,
// conversions to floating point.
#include "twin.hpp"

namespace wide {

#ifndef __CUDACC__
__extension__ typedef unsigned __int128 u128;
__extension__ typedef __int128 s128;
#else
typedef unsigned __int128 u128;
typedef __int128 s128;
#endif

struct Two {
    u64 a, b, c, d;
};
struct Row {
    u128 product, quotient, remainder, shifted, signed_shifted;
    s128 signed_quotient, signed_remainder;
    u64 q64, r64, small;
    s64 sq64, sr64;
    double real, real_signed;
    float single, single_signed;
    u64 order, size;
};

BOTH inline Row row(const Two& t) {
    const u128 x = (u128)t.a << 64 | t.b, y = ((u128)t.c << 64 | t.d) | 1;
    Row r;
    r.product = x * y;
    r.quotient = x / y;
    r.remainder = x % y;
    r.signed_quotient = (s128)x / (s128)(y | 2);
    r.signed_remainder = (s128)x % (s128)(y | 2);
    r.shifted = x << (t.d & 127) ^ x >> (t.c & 127);
    r.signed_shifted = (u128)((s128)x >> (t.b & 127));
    r.q64 = t.a / (t.d | 1), r.r64 = t.a % (t.d | 1);
    r.sq64 = (s64)t.b / (s64)(t.d >> 3 | 1), r.sr64 = (s64)t.b % (s64)(t.d >> 3 | 1);
    r.small = t.a / ((u32)t.d | 1) + t.b % ((u16)t.c | 1) + t.c / 10 + t.b % 1000000007;
    r.real = (double)t.a, r.real_signed = (double)(s64)t.b;
    r.single = (float)t.a, r.single_signed = (float)(s64)t.b;
    r.size = sizeof r;
    r.order = x < y ? 1 : (s128)x < (s128)y ? 2 : 3;
    return r;
}

#ifdef __CUDACC__
ENTRY rows(const Two* in, Row* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) out[i] = row(in[i]);
}
#else

TWIN(WideIntegers, "sm_75 --device-int128", "sm_90a -G --device-int128", "sm_80 nvcc -Xcicc -O0") {
    std::vector<Two> in(300);
    for (std::size_t i = 0; i < in.size(); ++i) {
        const auto any = [&] { return run.random() >> run.random() % 64; };
        in[i] = {any(), any(), i % 3 == 0 ? 0 : any(), any()};
        if (i % 7 == 0) in[i].a = ~any(), in[i].b = ~any();
    }
    in[0] = {0, 0, 0, 0}, in[1] = {~0ull, ~0ull, ~0ull, ~0ull}, in[2] = {1ull << 63, 0, ~0ull, ~0ull},
    in[3] = {5, 6, 0, 1ull << 63};
    run.map<Row>("rows", in, row, 50);
}
#endif
}  // namespace wide
