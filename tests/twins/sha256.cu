// SHA-256 of messages of 0 to 200 bytes, a thread each: rotations, big-endian loads, a table that is indexed
// in a loop.
#include "twin.hpp"

namespace sha256 {

#ifdef __CUDACC__
__constant__
#endif
    const u32 sha256_rounds[64] = {
        0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
        0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
        0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
        0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
        0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
        0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
        0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
        0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

BOTH inline u32 rotate_right(u32 x, int n) { return x >> n | x << (32 - n); }

BOTH inline u8 padded_byte(const u8* message, u32 size, u32 blocks, u32 at) {
    if (at < size) return message[at];
    if (at == size) return 0x80;
    const u32 end = blocks * 64;
    return at + 8 < end ? 0 : (u8)((u64)size * 8 >> (end - 1 - at) * 8);
}

BOTH inline void sha256(const u8* message, u32 size, u32* digest) {
    const u32 start[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                          0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    for (int i = 0; i < 8; ++i) digest[i] = start[i];
    const u32 blocks = (size + 8) / 64 + 1;
    for (u32 block = 0; block < blocks; ++block) {
        u32 w[64];
        for (u32 i = 0; i < 16; ++i) {
            w[i] = 0;
            for (u32 b = 0; b < 4; ++b)
                w[i] = w[i] << 8 | padded_byte(message, size, blocks, block * 64 + i * 4 + b);
        }
        for (int i = 16; i < 64; ++i) {
            const u32 s0 = rotate_right(w[i - 15], 7) ^ rotate_right(w[i - 15], 18) ^ w[i - 15] >> 3;
            const u32 s1 = rotate_right(w[i - 2], 17) ^ rotate_right(w[i - 2], 19) ^ w[i - 2] >> 10;
            w[i] = w[i - 16] + s0 + w[i - 7] + s1;
        }
        u32 s[8];
        for (int i = 0; i < 8; ++i) s[i] = digest[i];
        for (int i = 0; i < 64; ++i) {
            const u32 s1 = rotate_right(s[4], 6) ^ rotate_right(s[4], 11) ^ rotate_right(s[4], 25);
            const u32 t1 = s[7] + s1 + ((s[4] & s[5]) ^ (~s[4] & s[6])) + sha256_rounds[i] + w[i];
            const u32 s0 = rotate_right(s[0], 2) ^ rotate_right(s[0], 13) ^ rotate_right(s[0], 22);
            const u32 t2 = s0 + ((s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]));
            for (int j = 7; j > 0; --j) s[j] = s[j - 1];
            s[4] += t1;
            s[0] = t1 + t2;
        }
        for (int i = 0; i < 8; ++i) digest[i] += s[i];
    }
}

#ifdef __CUDACC__
ENTRY digests(const u8* text, const u32* sizes, u32* out, u32 count) {
    const u32 i = thread_number();
    if (i < count) sha256(text + i, sizes[i], out + 8 * i);
}
#else

TWIN(Sha256, "sm_75", "sm_90a nvcc -Xcicc -O0", "sm_120a -G") {
    const u32 count = 70;
    auto text = run.random_values<u8>(300);
    text[0] = 'a', text[1] = 'b', text[2] = 'c';
    std::vector<u32> sizes(count), host(8 * count);
    for (u32 i = 0; i < count; ++i) {
        sizes[i] = i == 0 ? 3 : i * 13 % 201;
        sha256(text.data() + i, sizes[i], host.data() + 8 * i);
    }
    run.expect(host[0] == 0xba7816bf && host[7] == 0xf20015ad,
               "the host's digest of abc is the published one");
    const u64 out = run.zeros<u32>(8 * count);
    run.launch("digests", {.grid = 3, .block = 32}, run.upload(text), run.upload(sizes), out, count);
    run.expect_same("digest", run.download<u32>(out, 8 * count), host);
}
#endif
}  // namespace sha256
