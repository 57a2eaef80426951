// MD5, FNV-1a and Adler-32 of short messages: table constants, byte loads, remainders, 64-bit products.
#include "twin.hpp"

namespace md5 {

BOTH inline u32 rotate_left(u32 x, u32 n) { return x << n | x >> (32 - n); }

BOTH inline u32 sine_constant(int i) {  // of 2^32 |sin(i + 1)|
#ifdef __CUDACC__
    static __constant__
#else
    static
#endif
        const u32 values[64] = {
            0xd76aa478, 0xe8c7b756, 0x242070db, 0xc1bdceee, 0xf57c0faf, 0x4787c62a, 0xa8304613, 0xfd469501,
            0x698098d8, 0x8b44f7af, 0xffff5bb1, 0x895cd7be, 0x6b901122, 0xfd987193, 0xa679438e, 0x49b40821,
            0xf61e2562, 0xc040b340, 0x265e5a51, 0xe9b6c7aa, 0xd62f105d, 0x02441453, 0xd8a1e681, 0xe7d3fbc8,
            0x21e1cde6, 0xc33707d6, 0xf4d50d87, 0x455a14ed, 0xa9e3e905, 0xfcefa3f8, 0x676f02d9, 0x8d2a4c8a,
            0xfffa3942, 0x8771f681, 0x6d9d6122, 0xfde5380c, 0xa4beea44, 0x4bdecfa9, 0xf6bb4b60, 0xbebfbc70,
            0x289b7ec6, 0xeaa127fa, 0xd4ef3085, 0x04881d05, 0xd9d4d039, 0xe6db99e5, 0x1fa27cf8, 0xc4ac5665,
            0xf4292244, 0x432aff97, 0xab9423a7, 0xfc93a039, 0x655b59c3, 0x8f0ccc92, 0xffeff47d, 0x85845dd1,
            0x6fa87e4f, 0xfe2ce6e0, 0xa3014314, 0x4e0811a1, 0xf7537e82, 0xbd3af235, 0x2ad7d2bb, 0xeb86d391};
    return values[i];
}

struct Md5 {
    u32 a, b, c, d;
};

// One block of 64 bytes: a message of at most 55.
BOTH inline Md5 md5(const u8* message, u32 size) {
    u8 block[64] = {};
    for (u32 i = 0; i < size; ++i) block[i] = message[i];
    block[size] = 0x80;
    block[56] = (u8)(size * 8), block[57] = (u8)(size * 8 >> 8);
    Md5 s = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
    const u8 shifts[4][4] = {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}};
    for (int i = 0; i < 64; ++i) {
        u32 f;
        int word;
        switch (i / 16) {
            case 0: f = (s.b & s.c) | (~s.b & s.d), word = i; break;
            case 1: f = (s.d & s.b) | (~s.d & s.c), word = (5 * i + 1) % 16; break;
            case 2: f = s.b ^ s.c ^ s.d, word = (3 * i + 5) % 16; break;
            default: f = s.c ^ (s.b | ~s.d), word = 7 * i % 16;
        }
        const u8* at = block + 4 * word;
        f += s.a + sine_constant(i) + (at[0] | (u32)at[1] << 8 | (u32)at[2] << 16 | (u32)at[3] << 24);
        s.a = s.d, s.d = s.c, s.c = s.b;
        s.b += rotate_left(f, shifts[i / 16][i % 4]);
    }
    return {s.a + 0x67452301, s.b + 0xefcdab89, s.c + 0x98badcfe, s.d + 0x10325476};
}

BOTH inline u64 fnv1a(const u8* message, u32 size) {
    u64 hash = 0xcbf29ce484222325;
    for (u32 i = 0; i < size; ++i) hash = (hash ^ message[i]) * 0x100000001b3;
    return hash;
}

BOTH inline u32 adler32(const u8* message, u32 size) {
    u32 a = 1, b = 0;
    for (u32 i = 0; i < size; ++i) {
        a = (a + message[i]) % 65521;
        b = (b + a) % 65521;
    }
    return b << 16 | a;
}

struct Digests {
    Md5 md5;
    u64 fnv;
    u32 adler, size;
};

BOTH inline Digests all_of(const u8* message, u32 size) {
    return {md5(message, size), fnv1a(message, size), adler32(message, size), size};
}

#ifdef __CUDACC__
ENTRY digests(const u8* text, Digests* out) {
    out[threadIdx.x] = all_of(text + threadIdx.x, threadIdx.x % 56);
}
#else

TWIN(Md5FnvAdler, "sm_80", "sm_90a nvcc -Xcicc -O0", "sm_75 -G") {
    auto text = run.random_values<u8>(160);
    text[3] = 'a', text[4] = 'b', text[5] = 'c';
    std::vector<Digests> host;
    for (u32 i = 0; i < 96; ++i) host.push_back(all_of(text.data() + i, i % 56));
    run.expect(
        host[3].md5.a == 0x98500190 && host[3].fnv == 0xe71fa2190541574b && host[3].adler == 0x024d0127,
        "published digests of abc");
    const u64 out = run.zeros<Digests>(96);
    run.launch("digests", {.block = 96}, run.upload(text), out);
    run.expect_same("digests", run.download<Digests>(out, 96), host);
}
#endif
}  // namespace md5
