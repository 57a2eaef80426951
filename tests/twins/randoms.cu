// Generators beside the standard library's: MT19937 (its state shared by a block), MT19937-64, minstd,
// ranlux; PCG, xoshiro, jumps ahead; a Monte Carlo integral, a shuffle, samples by rejection and by alias.
#include "twin.hpp"

namespace randoms {

struct Pcg {
    u64 state, increment;
    BOTH u32 next() {
        const u64 old = state;
        state = old * 6364136223846793005ull + increment;
        const u32 mixed = (u32)((old >> 18 ^ old) >> 27), turn = (u32)(old >> 59);
        return mixed >> turn | mixed << (-turn & 31);
    }
    BOTH void jump(u64 steps) {  // by squaring the map
        u64 a = 6364136223846793005ull, c = increment, total_a = 1, total_c = 0;
        for (; steps; steps >>= 1) {
            if (steps & 1) total_a *= a, total_c = total_c * a + c;
            c *= a + 1, a *= a;
        }
        state = total_a * state + total_c;
    }
};
struct Xoshiro {
    u64 s[4];
    BOTH u64 next() {
        const u64 x = s[1] * 5, result = (x << 7 | x >> 57) * 9, t = s[1] << 17;
        s[2] ^= s[0], s[3] ^= s[1], s[1] ^= s[2], s[0] ^= s[3], s[2] ^= t, s[3] = s[3] << 45 | s[3] >> 19;
        return result;
    }
    BOTH double real() { return (double)(next() >> 11) * 0x1p-53; }
};
BOTH inline u32 minstd(u32 x) { return (u32)((u64)x * 48271 % 2147483647); }

struct Results {
    u64 pcg, jumped, xoshiro, shuffled;
    u32 minstd, inside, accepted, alias;
    double mean;
};
BOTH inline Results draw(u32 t) {
    Results r;
    Pcg pcg = {t * 77ull + 1, 2 * t + 1ull}, ahead = pcg;
    for (u32 i = 0; i < 100; ++i) r.pcg = i == 0 ? pcg.next() : r.pcg * 3 + pcg.next();
    ahead.jump(100);
    r.jumped = ahead.state - pcg.state;
    ahead.jump(0x123456789abcull + t), r.jumped += ahead.next();
    Xoshiro x = {{t + 1ull, t * t + 5ull, ~(u64)t, 99}};
    for (u32 i = 0; i < 20; ++i) x.next();
    r.xoshiro = x.next();
    r.inside = 0, r.mean = 0;
    for (u32 i = 0; i < 200; ++i) {
        const double a = x.real(), b = x.real();
        r.inside += fma(a, a, b * b) < 1;
        r.mean += (a - r.mean) / (i + 1);
    }
    u8 deck[52];
    for (u32 i = 0; i < 52; ++i) deck[i] = (u8)i;
    for (u32 i = 51; i > 0; --i) {
        const u32 k = (u32)((u64)pcg.next() * (i + 1) >> 32);
        const u8 kept = deck[i];
        deck[i] = deck[k], deck[k] = kept;
    }
    r.shuffled = 0;
    for (const u8 card : deck) r.shuffled = r.shuffled * 53 + card;
    r.minstd = t + 1;
    for (u32 i = 0; i < 50; ++i) r.minstd = minstd(r.minstd);
    for (r.accepted = 1;; ++r.accepted) {  // rejection: a different number of rounds in each lane
        const u32 y = pcg.next() % 97;
        if (y * y % 97 == t % 97 || r.accepted > 300) break;
    }
    const u16 cut[4] = {60000, 30000, 50000, 65535};
    const u8 other[4] = {3, 0, 0, 3};
    r.alias = 0;
    for (u32 i = 0; i < 30; ++i) {
        const u32 y = pcg.next(), column = y & 3;
        r.alias = r.alias * 5 + ((y >> 16) < cut[column] ? column : other[column]);
    }
    return r;
}

#ifdef __CUDACC__
ENTRY draws(Results* out) { out[thread_number()] = draw(thread_number()); }

// MT19937: a block makes the next 624 words together; 227 of them do not depend on each other.
ENTRY mersenne(u32 seed, u32* out, u32 rounds) {
    __shared__ u32 s[624];
    const u32 t = threadIdx.x;
    if (t == 0) {
        s[0] = seed;
        for (u32 i = 1; i < 624; ++i) s[i] = 1812433253 * (s[i - 1] ^ s[i - 1] >> 30) + i;
    }
    __syncthreads();
    for (u32 round = 0; round < rounds; ++round) {
        for (u32 from = 0; from < 624; from += 227) {
            const u32 i = from + t;
            u32 made = 0;
            const bool mine = t < 227 && i < 624;
            if (mine) {
                const u32 y = (s[i] & 0x80000000) | (s[(i + 1) % 624] & 0x7fffffff);
                made = s[(i + 397) % 624] ^ y >> 1 ^ (y & 1 ? 0x9908b0df : 0);
            }
            __syncthreads();
            if (mine) s[i] = made;
            __syncthreads();
        }
        for (u32 i = t; i < 624; i += blockDim.x) {
            u32 y = s[i];
            y ^= y >> 11, y ^= y << 7 & 0x9d2c5680, y ^= y << 15 & 0xefc60000;
            out[round * 624 + i] = y ^ y >> 18;
        }
        __syncthreads();
    }
}
ENTRY mersenne64(u64 seed, u64* out, u32 count) {  // one thread each, its state in local memory
    u64 s[312];
    s[0] = seed + threadIdx.x;
    for (u32 i = 1; i < 312; ++i) s[i] = 6364136223846793005ull * (s[i - 1] ^ s[i - 1] >> 62) + i;
    for (u32 n = 0; n < count; ++n) {
        const u32 i = n % 312;
        const u64 x = (s[i] & 0xffffffff80000000) | (s[(i + 1) % 312] & 0x7fffffff);
        s[i] = s[(i + 156) % 312] ^ x >> 1 ^ (x & 1 ? 0xb5026f5aa96619e9 : 0);
        u64 y = s[i];
        y ^= y >> 29 & 0x5555555555555555, y ^= y << 17 & 0x71d67fffeda60000,
            y ^= y << 37 & 0xfff7eee000000000;
        out[threadIdx.x * count + n] = y ^ y >> 43;
    }
}
#else
TWIN(Randoms, "sm_75 --fmad=false", "sm_90a -G", "sm_80 nvcc -fmad=false -Xcicc -O0") {
    std::vector<Results> host;
    for (u32 t = 0; t < 96; ++t) host.push_back(draw(t));
    std::minstd_rand standard(1);
    standard.discard(49);
    run.expect(host[0].minstd == standard(), "minstd is the standard's");
    const u64 out = run.zeros<Results>(96), words = run.zeros<u32>(1248), wide = run.zeros<u64>(8 * 330);
    run.launch("draws", {.grid = 3, .block = 32}, out);
    run.expect_same("draws", run.download<Results>(out, 96), host);

    std::mt19937 mersenne(5489);
    std::vector<u32> expected(1248);
    for (u32& x : expected) x = (u32)mersenne();
    run.launch("mersenne", {.block = 256}, 5489u, words, 2u);
    run.expect_same("mt19937", run.download<u32>(words, 1248), expected);

    std::vector<u64> wide_expected;
    for (u32 t = 0; t < 8; ++t) {
        std::mt19937_64 generator(42 + t);
        for (u32 i = 0; i < 330; ++i) wide_expected.push_back(generator());
    }
    run.launch("mersenne64", {.block = 8}, u64{42}, wide, 330u);
    run.expect_same("mt19937-64", run.download<u64>(wide, wide_expected.size()), wide_expected);
}
#endif
}  // namespace randoms
