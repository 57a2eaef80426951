// Warps: shuffles of every kind and width and type, votes, matches, reductions, partial masks, divergent
// lanes that meet again.
#include "twin.hpp"

namespace warps {

constexpr u32 results = 30;

#ifdef __CUDACC__
ENTRY shuffles(const u32* in, u32* out) {
    const u32 t = thread_number(), lane = threadIdx.x % 32, x = in[t];
    const u64 wide = (u64)x << 32 | ~x;
    const double real = (double)x / 3;
    u32 r[results] = {};
    r[0] = __shfl_sync(~0u, x, 5), r[1] = __shfl_sync(~0u, x, lane * 7),
    r[2] = __shfl_sync(~0u, x, lane + 3, 8);
    r[3] = __shfl_up_sync(~0u, x, 1), r[4] = __shfl_up_sync(~0u, x, 5, 16),
    r[5] = __shfl_down_sync(~0u, x, 2), r[6] = __shfl_down_sync(~0u, x, 3, 4);
    r[7] = __shfl_xor_sync(~0u, x, 21), r[8] = __shfl_xor_sync(~0u, x, 9, 8),
    r[9] = (u32)(__shfl_xor_sync(~0u, wide, 3) >> 20);
    r[10] = __double2loint(__shfl_down_sync(~0u, real, 7)),
    r[11] = __float_as_uint(__shfl_sync(~0u, __uint_as_float(x), 31 - lane));
    r[12] = __ballot_sync(~0u, x & 1), r[13] = (u32)__any_sync(~0u, x == 77),
    r[14] = (u32)__all_sync(~0u, x != 78);
    r[15] = __match_any_sync(~0u, x % 5), r[16] = __match_any_sync(~0u, wide % 7);
    int all;
    r[17] = __match_all_sync(~0u, x / 0x10000000 * 0, &all) + (u32)all,
    r[18] = __match_all_sync(~0u, (u64)(x % 2), &all) + (u32)all * 100;
    r[19] = __activemask() == ~0u;
    // A part of the warp among itself.
    if (lane % 3 == 1) {
        const u32 mine = 0x92492492;
        r[20] = __shfl_sync(mine, x, (lane + 3) % 30), r[21] = __ballot_sync(mine, x & 2),
        r[22] = (u32)__popc(__match_any_sync(mine, x & 3));
        __syncwarp(mine);
        r[23] = __reduce_add_sync(mine, x);
    } else if (lane % 3 == 0) {
        r[20] = __reduce_max_sync(0x49249249, x), r[21] = (u32)__reduce_min_sync(0x49249249, (int)x);
        r[22] = __reduce_xor_sync(0x49249249, x), r[23] = __reduce_or_sync(0x49249249, x & 0xff0);
    }
    __syncwarp();
    r[24] = __reduce_add_sync(~0u, x), r[25] = (u32)__reduce_max_sync(~0u, (int)x),
    r[26] = __reduce_and_sync(~0u, x | 0xff);
    r[27] = __shfl_sync(~0u, r[23], 1), r[28] = lane == 31 ? 0 : __shfl_down_sync(0x7fffffff, x, 1),
    r[29] = __reduce_min_sync(~0u, x);
    if (lane == 30) r[28] = 0;  // from a lane outside of the mask: undefined
    for (u32 k = 0; k < results; ++k) out[t * results + k] = r[k];
}

// A filter that keeps the order, by ballots; the last warp is not whole.
ENTRY compact(const u32* in, u32 count, u32* out, u32* kept) {
    __shared__ u32 base;
    const u32 lane = threadIdx.x % 32;
    if (threadIdx.x == 0) base = 0;
    __syncthreads();
    for (u32 i = lane; i - lane < count; i += 32) {
        const bool keep = i < count && in[i] % 3 == 0;
        const u32 mask = __ballot_sync(__activemask(), keep);
        if (keep) out[base + __popc(mask & ((1u << lane) - 1))] = in[i];
        __syncwarp();
        if (lane == 0) base += __popc(mask);
        __syncwarp();
    }
    if (lane == 0) *kept = base;
}

// Lanes take turns, as many as there are different values.
ENTRY turns(const u32* in, u32* out) {
    const u32 x = in[threadIdx.x] % 6;
    u32 left = __ballot_sync(~0u, true), turn = 0, mine = 0, peers = 0;
    while (left) {
        const u32 leader = __ffs(left) - 1, value = __shfl_sync(~0u, x, leader);
        const u32 same = __ballot_sync(~0u, x == value);
        if (x == value) mine = turn, peers = same;
        left &= ~same, ++turn;
    }
    out[threadIdx.x] = mine << 8 | (u32)__popc(peers);
}
#else

struct Warp {
    const u32* x;
    template <class Function> u32 over(u32 mask, u32 start, Function f) const {
        for (u32 i = 0; i < 32; ++i)
            if (mask >> i & 1) start = f(start, x[i]);
        return start;
    }
    template <class Predicate> u32 ballot(u32 mask, Predicate p) const {
        u32 r = 0;
        for (u32 i = 0; i < 32; ++i) r |= (u32)(mask >> i & 1 && p(x[i])) << i;
        return r;
    }
};

static u64 wide(u32 x) { return (u64)x << 32 | (u32)~x; }

static std::vector<u32> lane_results(const Warp& w, u32 lane) {
    std::vector<u32> r(results);
    const u32* x = w.x;
    const auto down = [&](u32 d, u32 width) { return x[lane % width + d < width ? lane + d : lane]; };
    const auto up = [&](u32 d, u32 width) { return x[lane % width >= d ? lane - d : lane]; };
    const auto any = [](u32) { return true; };
    r[0] = x[5], r[1] = x[lane * 7 % 32], r[2] = x[lane / 8 * 8 + (lane + 3) % 8], r[3] = up(1, 32),
    r[4] = up(5, 16), r[5] = down(2, 32), r[6] = down(3, 4);
    const u32 across = lane ^ 9;
    r[7] = x[lane ^ 21], r[8] = across / 8 <= lane / 8 ? x[across] : x[lane],
    r[9] = (u32)(wide(x[lane ^ 3]) >> 20);
    r[10] = (u32)std::bit_cast<u64>((double)down(7, 32) / 3), r[11] = x[31 - lane];
    r[12] = w.ballot(~0u, [](u32 v) { return v & 1; }),
    r[13] = w.ballot(~0u, [](u32 v) { return v == 77; }) != 0;
    r[14] = w.ballot(~0u, [](u32 v) { return v == 78; }) == 0;
    r[15] = w.ballot(~0u, [&](u32 v) { return v % 5 == x[lane] % 5; }),
    r[16] = w.ballot(~0u, [&](u32 v) { return wide(v) % 7 == wide(x[lane]) % 7; });
    const bool same_parity = w.ballot(~0u, [&](u32 v) { return v % 2 == x[0] % 2; }) == ~0u;
    r[17] = 0, r[18] = same_parity ? ~0u + 100 : 0, r[19] = 1;
    const auto add = [](u32 a, u32 b) { return a + b; };
    const u32 second = 0x92492492, first = 0x49249249;
    const u32 sum = w.over(second, 0, add);
    if (lane % 3 == 1) {
        r[20] = x[(lane + 3) % 30], r[21] = w.ballot(second, [](u32 v) { return v & 2; });
        r[22] = (u32)std::popcount(w.ballot(second, [&](u32 v) { return (v & 3) == (x[lane] & 3); })),
        r[23] = sum;
    } else if (lane % 3 == 0) {
        r[20] = w.over(first, 0, [](u32 a, u32 b) { return std::max(a, b); }),
        r[21] = w.over(first, 0x7fffffff, [](u32 a, u32 b) { return (u32)std::min((s32)a, (s32)b); });
        r[22] = w.over(first, 0, [](u32 a, u32 b) { return a ^ b; }),
        r[23] = w.over(first, 0, [](u32 a, u32 b) { return a | (b & 0xff0); });
    }
    (void)any;
    r[24] = w.over(~0u, 0, add),
    r[25] = w.over(~0u, 0x80000000, [](u32 a, u32 b) { return (u32)std::max((s32)a, (s32)b); });
    r[26] = w.over(~0u, ~0u, [](u32 a, u32 b) { return a & (b | 0xff); }), r[27] = sum,
    r[28] = lane == 31   ? 0
            : lane == 30 ? 0
                         : x[lane + 1];
    r[29] = w.over(~0u, ~0u, [](u32 a, u32 b) { return std::min(a, b); });
    return r;
}

TWIN(Warps, "sm_80", "sm_90a -G", "sm_86 nvcc -Xcicc -O0", "sm_120a") {
    auto in = run.random_values<u32>(128);
    for (u32 i = 32; i < 64; ++i) in[i] = in[i] % 100 * 2;
    in[64] = 77, in[100] = 78;
    const u64 at = run.upload(in), out = run.zeros<u32>(128 * results);
    run.launch("shuffles", {.grid = 2, .block = 64}, at, out);
    auto device = run.download<u32>(out, 128 * results);
    std::vector<u32> host;
    for (u32 t = 0; t < 128; ++t)
        for (const u32 r : lane_results({in.data() + t / 32 * 32}, t % 32)) host.push_back(r);
    for (u32 t = 0; t < 128; ++t) {
        const u32 all = ~0u + 1;  // a match of all: the mask, and 1
        host[t * results + 17] = all;
    }
    run.expect_same("results", device, host);

    const u64 kept = run.zeros<u32>(128), count = run.zeros<u32>(1);
    run.launch("compact", {.block = 32}, at, 117u, kept, count);
    std::vector<u32> filtered(128);
    const auto end =
        std::copy_if(in.begin(), in.begin() + 117, filtered.begin(), [](u32 x) { return x % 3 == 0; });
    run.expect_same("kept", run.download<u32>(kept, 128), filtered);
    run.expect_same("count", run.download<u32>(count, 1), {(u32)(end - filtered.begin())});

    const u64 order = run.zeros<u32>(32);
    run.launch("turns", {.block = 32}, at, order);
    std::vector<u32> seen, expected;
    for (u32 i = 0; i < 32; ++i) {
        auto found = std::find(seen.begin(), seen.end(), in[i] % 6);
        if (found == seen.end()) seen.push_back(in[i] % 6), found = seen.end() - 1;
        const auto same =
            std::count_if(in.begin(), in.begin() + 32, [&](u32 x) { return x % 6 == in[i] % 6; });
        expected.push_back((u32)(found - seen.begin()) << 8 | (u32)same);
    }
    run.expect_same("turns", run.download<u32>(order, 32), expected);
}
#endif
}  // namespace warps
