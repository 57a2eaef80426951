// AES-128 (its S-box computed, its tables in shared memory), ChaCha20, Keccak, BLAKE2b and SipHash.
#include "twin.hpp"

namespace ciphers {

BOTH inline u8 doubled(u8 x) { return (u8)(x << 1 ^ (x & 0x80 ? 0x1b : 0)); }
BOTH inline u8 product(u8 a, u8 b) {
    u8 r = 0;
    for (; b; b >>= 1, a = doubled(a))
        if (b & 1) r ^= a;
    return r;
}
BOTH inline u8 substituted(u8 x) {  // the inverse in GF(256), then an affine map
    u8 inverse = 0;
    for (u32 i = 1; i < 256 && x; ++i)
        if (product((u8)i, x) == 1) inverse = (u8)i;
    u8 r = 0x63;
    for (int i = 0; i < 5; ++i) r ^= (u8)(inverse << i | inverse >> (8 - i));
    return r;
}

BOTH inline void aes_encrypt(u8* block, const u8* key, const u8* box) {
    u8 round_key[16];
    for (int i = 0; i < 16; ++i) round_key[i] = key[i], block[i] ^= key[i];
    u8 constant = 1;
    for (int round = 1; round <= 10; ++round) {
        for (int i = 0; i < 4; ++i) round_key[i] ^= box[round_key[12 + (i + 1) % 4]];
        round_key[0] ^= constant, constant = doubled(constant);
        for (int i = 4; i < 16; ++i) round_key[i] ^= round_key[i - 4];
        u8 shifted[16];
        for (int i = 0; i < 16; ++i) shifted[i] = box[block[(i + 4 * (i % 4)) % 16]];
        for (int c = 0; c < 16; c += 4)
            for (int i = 0; i < 4; ++i) {
                const u8 a = shifted[c + i], b = shifted[c + (i + 1) % 4];
                const u8 rest = shifted[c + (i + 2) % 4] ^ shifted[c + (i + 3) % 4];
                block[c + i] =
                    (u8)((round == 10 ? a : doubled(a) ^ doubled(b) ^ b ^ rest) ^ round_key[c + i]);
            }
    }
}

BOTH inline u32 rotate(u32 x, int n) { return x << n | x >> (32 - n); }
BOTH inline void quarter(u32* s, int a, int b, int c, int d) {
    s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 16), s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 12);
    s[a] += s[b], s[d] = rotate(s[d] ^ s[a], 8), s[c] += s[d], s[b] = rotate(s[b] ^ s[c], 7);
}
BOTH inline void chacha20(const u32* state, u32* out) {
    u32 s[16];
    for (int i = 0; i < 16; ++i) s[i] = state[i];
    for (int round = 0; round < 10; ++round) {
        for (int i = 0; i < 4; ++i) quarter(s, i, 4 + i, 8 + i, 12 + i);
        for (int i = 0; i < 4; ++i) quarter(s, i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
    }
    for (int i = 0; i < 16; ++i) out[i] = s[i] + state[i];
}

BOTH inline u64 rotate(u64 x, int n) { return n == 0 ? x : x << n | x >> (64 - n); }
BOTH inline void keccak(u64* a) {
    const u8 turns[25] = {0,  1,  62, 28, 27, 36, 44, 6,  55, 20, 3,  10, 43,
                          25, 39, 41, 45, 15, 21, 8,  18, 2,  61, 56, 14};
    u32 lfsr = 1;
    for (int round = 0; round < 24; ++round) {
        u64 column[5], moved[25];
        for (int x = 0; x < 5; ++x) column[x] = a[x] ^ a[x + 5] ^ a[x + 10] ^ a[x + 15] ^ a[x + 20];
        for (int i = 0; i < 25; ++i) {
            const u64 mixed = a[i] ^ column[(i + 4) % 5] ^ rotate(column[(i + 1) % 5], 1);
            moved[i / 5 + 5 * ((2 * (i % 5) + 3 * (i / 5)) % 5)] = rotate(mixed, turns[i]);
        }
        for (int i = 0; i < 25; ++i)
            a[i] = moved[i] ^ (~moved[i / 5 * 5 + (i + 1) % 5] & moved[i / 5 * 5 + (i + 2) % 5]);
        for (int bit = 0; bit < 7; ++bit) {
            if (lfsr & 1) a[0] ^= 1ull << ((1 << bit) - 1);
            lfsr = lfsr << 1 ^ (lfsr & 0x80 ? 0x171 : 0);
        }
    }
}

BOTH inline void sip_round(u64* v) {
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32), v[2] += v[3],
                  v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0], v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2],
                  v[2] = rotate(v[2], 32);
}
BOTH inline u64 siphash(const u8* text, u32 size, u64 k0, u64 k1) {
    u64 v[4] = {k0 ^ 0x736f6d6570736575, k1 ^ 0x646f72616e646f6d, k0 ^ 0x6c7967656e657261,
                k1 ^ 0x7465646279746573};
    for (u32 at = 0;; at += 8) {
        u64 word = at + 8 > size ? (u64)size << 56 : 0;
        for (u32 i = 0; i < 8 && at + i < size; ++i) word |= (u64)text[at + i] << 8 * i;
        v[3] ^= word, sip_round(v), sip_round(v), v[0] ^= word;
        if (at + 8 > size) break;
    }
    v[2] ^= 0xff;
    for (int i = 0; i < 4; ++i) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

BOTH inline void blake2b(const u64* message, u64* h) {  // one last block of 128 bytes, without a key
    const u64 start[8] = {0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1,
                          0x510e527fade682d1, 0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179};
    const u8 orders[10][16] = {{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
                               {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
                               {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
                               {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
                               {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
                               {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
                               {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
                               {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
                               {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
                               {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0}};
    u64 v[16];
    for (int i = 0; i < 8; ++i) h[i] = start[i] ^ (i == 0 ? 0x01010040 : 0), v[i] = h[i], v[i + 8] = start[i];
    v[12] ^= 128, v[14] = ~v[14];
    for (int round = 0; round < 12; ++round) {
        const u8* order = orders[round % 10];
        for (int i = 0; i < 8; ++i) {
            const int turn = i / 4, a = i % 4, b = 4 + (a + turn) % 4, c = 8 + (a + 2 * turn) % 4,
                      d = 12 + (a + 3 * turn) % 4;
            v[a] += v[b] + message[order[2 * i]], v[d] = rotate(v[d] ^ v[a], 32), v[c] += v[d],
                                                  v[b] = rotate(v[b] ^ v[c], 40);
            v[a] += v[b] + message[order[2 * i + 1]], v[d] = rotate(v[d] ^ v[a], 48), v[c] += v[d],
                                                      v[b] = rotate(v[b] ^ v[c], 1);
        }
    }
    for (int i = 0; i < 8; ++i) h[i] ^= v[i] ^ v[i + 8];
}

struct Results {
    u8 aes[16];
    u32 chacha[16];
    u64 keccak[25], sip, blake[8];
};
BOTH inline void all_of(const u8* data, u32 t, const u8* box, Results& r) {
    for (int i = 0; i < 16; ++i) r.aes[i] = data[t + i];
    aes_encrypt(r.aes, data + 2 * t, box);
    u32 state[16];
    u64 message[16];
    for (int i = 0; i < 16; ++i)
        state[i] = data[t + i] * 0x01020304u + (u32)i, message[i] = state[i] * 0x100000001b3ull;
    chacha20(state, r.chacha);
    for (int i = 0; i < 25; ++i) r.keccak[i] = t == 0 ? 0 : message[i % 16] + (u32)i;
    keccak(r.keccak);
    r.sip = siphash(data + t, t, message[0], message[1]);
    blake2b(message, r.blake);
}

#ifdef __CUDACC__
ENTRY all(const u8* data, Results* out) {
    __shared__ u8 box[256];
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) box[i] = substituted((u8)i);
    __syncthreads();
    all_of(data, threadIdx.x, box, out[threadIdx.x]);
}
#else
TWIN(Ciphers, "sm_80", "sm_90a nvcc -Xcicc -O0", "sm_75 nvcc -G") {
    u8 box[256];
    for (u32 i = 0; i < 256; ++i) box[i] = substituted((u8)i);
    const auto data = run.random_values<u8>(160);
    std::vector<Results> host(48);
    for (u32 t = 0; t < 48; ++t) all_of(data.data(), t, box, host[t]);
    u8 block[16] = {0x32, 0x43, 0xf6, 0xa8, 0x88, 0x5a, 0x30, 0x8d,
                    0x31, 0x31, 0x98, 0xa2, 0xe0, 0x37, 0x07, 0x34};
    const u8 key[16] = {0x2b, 0x7e, 0x15, 0x16, 0x28, 0xae, 0xd2, 0xa6,
                        0xab, 0xf7, 0x15, 0x88, 0x09, 0xcf, 0x4f, 0x3c};
    aes_encrypt(block, key, box);
    run.expect(block[0] == 0x39 && block[15] == 0x32 && host[0].keccak[0] == 0xf1258f7940e1dde7,
               "published results");
    const u64 out = run.zeros<Results>(48);
    run.launch("all", {.block = 48}, run.upload(data), out);
    run.expect_same("all", run.download<Results>(out, 48), host);
}
#endif
}  // namespace ciphers
