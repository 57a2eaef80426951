// Scans: of a warp by shuffles, of a block by Hillis-Steele, Blelloch and raking, of a grid by decoupled
// look-back in one kernel.
#include "twin.hpp"

namespace scans {

#ifdef __CUDACC__
DEVICE u32 warp_inclusive(u32 x) {
    for (u32 d = 1; d < 32; d *= 2) {
        const u32 left = __shfl_up_sync(~0u, x, d);
        if (threadIdx.x % 32 >= d) x += left;
    }
    return x;
}

DEVICE u32 block_inclusive(u32 x) {  // of up to 1,024 threads, whole warps
    __shared__ u32 totals[32];
    x = warp_inclusive(x);
    if (threadIdx.x % 32 == 31) totals[threadIdx.x / 32] = x;
    __syncthreads();
    if (threadIdx.x < 32)
        totals[threadIdx.x] = warp_inclusive(threadIdx.x < blockDim.x / 32 ? totals[threadIdx.x] : 0);
    __syncthreads();
    return threadIdx.x < 32 ? x : x + totals[threadIdx.x / 32 - 1];
}

ENTRY inclusive(const u32* in, u32* out) { out[threadIdx.x] = block_inclusive(in[threadIdx.x]); }

ENTRY exclusive_blelloch(const u32* in, u32* out, u32 size) {
    extern __shared__ u32 tree[];
    const u32 t = threadIdx.x;
    tree[2 * t] = in[2 * t], tree[2 * t + 1] = in[2 * t + 1];
    u32 offset = 1;
    for (u32 d = size / 2; d > 0; d /= 2, offset *= 2) {
        __syncthreads();
        if (t < d) tree[offset * (2 * t + 2) - 1] += tree[offset * (2 * t + 1) - 1];
    }
    if (t == 0) tree[size - 1] = 0;
    for (u32 d = 1; d < size; d *= 2) {
        offset /= 2;
        __syncthreads();
        if (t < d) {
            const u32 a = offset * (2 * t + 1) - 1, b = offset * (2 * t + 2) - 1, kept = tree[a];
            tree[a] = tree[b];
            tree[b] += kept;
        }
    }
    __syncthreads();
    out[2 * t] = tree[2 * t], out[2 * t + 1] = tree[2 * t + 1];
}

// A tile's word: its sum, or the sum of all up to it, and which of the two (0: neither yet).
constexpr u64 sum_known = 1ull << 32, prefix_known = 2ull << 32;

ENTRY look_back(const u32* in, u32* out, u32 size, volatile u64* tiles, u32* next) {
    __shared__ u32 tile, before;
    if (threadIdx.x == 0) tile = atomicAdd(next, 1);  // in the order in which blocks start
    __syncthreads();
    const u32 i = tile * blockDim.x + threadIdx.x;
    const u32 sum = block_inclusive(i < size ? in[i] : 0);
    if (threadIdx.x == blockDim.x - 1) {
        tiles[tile] = (tile == 0 ? prefix_known : sum_known) | sum;
        u32 prefix = 0;
        for (s32 k = (s32)tile - 1; k >= 0;) {
            const u64 word = tiles[k];
            if (word >> 32 == 0) continue;
            prefix += (u32)word;
            if (word & prefix_known) break;
            --k;
        }
        if (tile > 0) tiles[tile] = prefix_known | (u32)(prefix + sum);
        before = prefix;
    }
    __syncthreads();
    if (i < size) out[i] = before + sum;
}

// The same by a warp that looks at 32 tiles at once, with separate flags and values.
ENTRY look_back_by_warp(const u32* in, u32* out, u32 size, u32* sums, u32* prefixes, u32* states) {
    __shared__ u32 before;
    const u32 tile = blockIdx.x, i = tile * blockDim.x + threadIdx.x;
    const u32 sum = block_inclusive(i < size ? in[i] : 0);
    __shared__ u32 total;
    if (threadIdx.x == blockDim.x - 1) {
        total = sum;
        ((volatile u32*)sums)[tile] = sum;
        __threadfence();
        atomicExch(&states[tile], 1);
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        u32 prefix = 0;
        for (s32 window = (s32)tile - 32;; window -= 32) {
            const s32 mine = window + (s32)threadIdx.x;
            u32 state;
            do state = mine < 0 ? 2 : atomicAdd(&states[mine], 0);
            while (__any_sync(~0u, state == 0));
            __threadfence();
            const u32 done = __ballot_sync(~0u, state == 2);
            const s32 last = 31 - __clz(done);  // the nearest tile whose prefix is known
            u32 value = mine < 0 || (s32)threadIdx.x < last ? 0
                        : (s32)threadIdx.x == last          ? ((volatile u32*)prefixes)[mine]
                                                            : ((volatile u32*)sums)[mine];
            for (u32 d = 16; d > 0; d /= 2) value += __shfl_xor_sync(~0u, value, d);
            prefix += value;
            if (done) break;
        }
        if (threadIdx.x == 0) {
            ((volatile u32*)prefixes)[tile] = prefix + total;
            __threadfence();
            atomicExch(&states[tile], 2);
            before = prefix;
        }
    }
    __syncthreads();
    if (i < size) out[i] = before + sum;
}
#else

TWIN(Scans, "sm_80", "sm_75 nvcc -Xcicc -O0", "sm_120a -G") {
    const u32 size = 4000;
    const auto in = run.random_values<u32>(size);
    std::vector<u32> host(size);
    std::partial_sum(in.begin(), in.end(), host.begin());
    const u64 from = run.upload(in), out = run.zeros<u32>(size);

    run.launch("inclusive", {.block = 416}, from, out);
    auto got = run.download<u32>(out, size);
    run.expect_same("inclusive", std::vector(got.begin(), got.begin() + 416),
                    std::vector(host.begin(), host.begin() + 416));

    run.launch("exclusive_blelloch", {.block = 128, .shared = 1024}, from, out, 256u);
    got = run.download<u32>(out, size);
    run.expect_same("exclusive", std::vector(got.begin() + 1, got.begin() + 256),
                    std::vector(host.begin(), host.begin() + 255));
    run.expect(got[0] == 0, "an exclusive scan begins with 0");

    const u32 tiles = (size + 63) / 64;
    run.launch("look_back", {.grid = tiles, .block = 64}, from, out, size, run.zeros<u64>(tiles),
               run.zeros<u32>(1));
    run.expect_same("look back", run.download<u32>(out, size), host);
    const u64 again = run.zeros<u32>(size);
    run.launch("look_back_by_warp", {.grid = tiles, .block = 64}, from, again, size, run.zeros<u32>(tiles),
               run.zeros<u32>(tiles), run.zeros<u32>(tiles));
    run.expect_same("look back by a warp", run.download<u32>(again, size), host);
}
#endif
}  // namespace scans
