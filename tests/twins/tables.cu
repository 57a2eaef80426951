// Hash tables by atomicCAS: open addressing of 32- and 64-bit keys in global and shared memory, counts by
// atomicAdd, chains by atomicExch, a set of bits by atomicOr, the largest by atomicMax.
#include "twin.hpp"

namespace tables {

BOTH inline u64 mixed(u64 x) {
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9;
    x = (x ^ x >> 27) * 0x94d049bb133111eb;
    return x ^ x >> 31;
}

constexpr u32 slots = 512;

#ifdef __CUDACC__
ENTRY count_keys(const u64* keys, u32 count, u64* table, u32* counts) {
    const u32 i = thread_number();
    if (i >= count) return;
    for (u32 at = (u32)mixed(keys[i]) % slots;; at = (at + 1) % slots) {
        const u64 there = atomicCAS(&table[at], 0ull, keys[i]);
        if (there != 0 && there != keys[i]) continue;
        atomicAdd(&counts[at], 1);
        return;
    }
}

ENTRY distinct(const u32* values, u32 count, u32* out) {  // in shared memory
    __shared__ u32 table[slots], found;
    __shared__ u64 sum;
    for (u32 i = threadIdx.x; i < slots; i += blockDim.x) table[i] = ~0u;
    if (threadIdx.x == 0) found = 0, sum = 0;
    __syncthreads();
    for (u32 i = threadIdx.x; i < count; i += blockDim.x) {
        const u32 value = values[i];
        u32 at = (u32)mixed(value) % slots;
        for (;;) {
            const u32 there = atomicCAS(&table[at], ~0u, value);
            if (there == ~0u) {
                atomicInc(&found, 0xffffu);
                atomicAdd(&sum, (u64)value);
            }
            if (there == ~0u || there == value) break;
            at = (at + 1) % slots;
        }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[0] = found, out[1] = (u32)sum, out[2] = (u32)(sum >> 32);
}

struct Node {
    u32 value;
    s32 next;
};
ENTRY chains(const u32* values, u32 count, s32* heads, Node* nodes, u32* used) {
    const u32 i = thread_number();
    if (i >= count) return;
    const u32 node = atomicAdd(used, 1);
    nodes[node].value = values[i];
    nodes[node].next = atomicExch(&heads[values[i] % 16], (s32)node);
}

ENTRY summaries(const u32* values, u32 count, u32* out) {
    const u32 i = thread_number();
    if (i >= count) return;
    const u32 x = values[i];
    atomicOr(&out[0], 1u << x % 32);
    atomicAnd(&out[1], x);
    atomicXor(&out[2], x);
    atomicMax(&out[3], x);
    atomicMin(&out[4], x);
    atomicMax((s32*)&out[5], (s32)(x * 2654435761u));
    atomicMin((s32*)&out[6], (s32)(x * 2654435761u));
    atomicSub(&out[7], x);
    atomicMax((u64*)&out[8], mixed(x));
    atomicMin((u64*)&out[10], mixed(x));
    atomicAdd((u64*)&out[12], mixed(x));
    atomicMax((s64*)&out[14], (s64)mixed(x));
    atomicDec(&out[16], 1000u);
    atomicXor((u64*)&out[18], mixed(x));
    atomicExch(&out[20], 77u);
}
#else

TWIN(HashTables, "sm_80", "sm_75 -G", "sm_90a nvcc -Xcicc -O0") {
    const u32 count = 600;
    std::vector<u64> keys(count);
    std::vector<u32> values(count);
    for (u32 i = 0; i < count; ++i)
        keys[i] = mixed(run.random() % 300 + 1), values[i] = (u32)(run.random() % 400) * 16777259u;

    const u64 table = run.zeros<u64>(slots), counts = run.zeros<u32>(slots);
    run.launch("count_keys", {.grid = 10, .block = 64}, run.upload(keys), count, table, counts);
    const auto found = run.download<u64>(table, slots);
    const auto times = run.download<u32>(counts, slots);
    std::vector<std::pair<u64, u32> > device, host;
    for (u32 i = 0; i < slots; ++i)
        if (found[i] != 0) device.emplace_back(found[i], times[i]);
    auto sorted = keys;
    std::sort(sorted.begin(), sorted.end());
    for (u32 i = 0; i < count; ++i)
        if (i == 0 || sorted[i] != sorted[i - 1])
            host.emplace_back(sorted[i], 1);
        else
            ++host.back().second;
    std::sort(device.begin(), device.end());
    run.expect(device == host, "each key is once in the table, with its count");

    auto once = values;
    std::sort(once.begin(), once.end());
    once.erase(std::unique(once.begin(), once.end()), once.end());
    const u64 sum = std::accumulate(once.begin(), once.end(), u64{0}), at = run.upload(values),
              out = run.zeros<u32>(3);
    run.launch("distinct", {.block = 160}, at, count, out);
    run.expect_same("distinct", run.download<u32>(out, 3), {(u32)once.size(), (u32)sum, (u32)(sum >> 32)});

    struct Node {
        u32 value;
        s32 next;
    };
    const u64 heads = run.upload(std::vector<s32>(16, -1)), nodes = run.zeros<Node>(count),
              used = run.zeros<u32>(1);
    run.launch("chains", {.grid = 5, .block = 128}, at, count, heads, nodes, used);
    const auto head = run.download<s32>(heads, 16);
    const auto node = run.download<Node>(nodes, count);
    std::vector<u32> in_chains;
    for (u32 chain = 0; chain < 16; ++chain)
        for (s32 i = head[chain]; i >= 0 && in_chains.size() <= count; i = node[i].next)
            if (node[i].value % 16 == chain) in_chains.push_back(node[i].value);
    std::sort(in_chains.begin(), in_chains.end());
    std::sort(values.begin(), values.end());
    run.expect(in_chains == values, "each value is in its chain");

    std::vector<u32> expected(22), start(22);
    start[1] = expected[1] = start[4] = expected[4] = ~0u, start[6] = expected[6] = 0x7fffffff,
    start[5] = expected[5] = 0x80000000;
    u64 large = 0, small = ~0ull, total = 0, mixed_all = 0;
    s64 signed_large = 0;
    for (u32 x : values) {
        const u64 m = mixed(x);
        const s32 scrambled = (s32)(x * 2654435761u);
        expected[0] |= 1u << x % 32, expected[1] &= x, expected[2] ^= x;
        expected[3] = std::max(expected[3], x), expected[4] = std::min(expected[4], x), expected[7] -= x;
        expected[5] = (u32)std::max((s32)expected[5], scrambled),
        expected[6] = (u32)std::min((s32)expected[6], scrambled);
        large = std::max(large, m), small = std::min(small, m), total += m, mixed_all ^= m,
        signed_large = std::max(signed_large, (s64)m);
        expected[16] = expected[16] == 0 ? 1000 : expected[16] - 1;
    }
    start[10] = start[11] = ~0u;
    const u64 wide[] = {large, small, total, (u64)signed_large};
    std::memcpy(&expected[8], wide, sizeof wide), std::memcpy(&expected[18], &mixed_all, 8);
    expected[20] = 77;
    const u64 all = run.upload(start);
    run.launch("summaries", {.grid = 7, .block = 96}, at, count, all);
    run.expect_same("summaries", run.download<u32>(all, 22), expected);
}
#endif
}  // namespace tables
