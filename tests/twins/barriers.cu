// Barriers: with counts of part of the block, named ones between producers and consumers, votes over the
// block, threads that have left.
#include "twin.hpp"

namespace barriers {

#ifdef __CUDACC__
DEVICE void sync(u32 barrier, u32 threads) {
    asm volatile("bar.sync %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}
DEVICE void arrive(u32 barrier, u32 threads) {
    asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "r"(threads) : "memory");
}

// Two buffers; the first 64 threads fill them, the other 32 add them up. Barriers 1 and 2: full, 3 and 4:
// empty.
ENTRY pipeline(const u32* in, u32 rounds, u32* out) {
    __shared__ u32 buffers[2][64];
    const u32 t = threadIdx.x;
    if (t < 64) {
        for (u32 i = 0; i < rounds; ++i) {
            if (i >= 2) sync(3 + i % 2, 96);
            buffers[i % 2][t] = in[64 * i + t] * 3;
            __threadfence_block();
            arrive(1 + i % 2, 96);
        }
    } else {
        u32 sum = 0;
        for (u32 i = 0; i < rounds; ++i) {
            sync(1 + i % 2, 96);
            sum = sum * 5 + buffers[i % 2][t - 64] + buffers[i % 2][t - 32];
            if (i + 2 < rounds) arrive(3 + i % 2, 96);
        }
        out[t - 64] = sum;
    }
}

// Each half of the block has a barrier of its own, used a different number of times.
ENTRY halves(u32* data) {
    extern __shared__ u32 a[];
    const u32 t = threadIdx.x, half = t / 64, rounds = half == 0 ? 5 : 9;
    a[t] = data[t];
    for (u32 i = 0; i < rounds; ++i) {
        sync(half + 1, 64);
        const u32 next = a[half * 64 + (t + 1) % 64];
        sync(half + 1, 64);
        a[t] = a[t] * 3 + next;
    }
    __syncthreads();
    data[t] = a[t] + a[127 - t];
}

ENTRY votes(const u32* in, u32* out) {
    const u32 x = in[threadIdx.x];
    u32 r = (u32)__syncthreads_count(x % 3 == 0);
    r = r << 1 | (u32)(__syncthreads_and(x != 12345) != 0);
    r = r << 1 | (u32)(__syncthreads_or(x == 12345) != 0);
    out[threadIdx.x] = r;
}

ENTRY leavers(const u32* in, u32* out) {  // whole warps that are gone do not count
    __shared__ u32 a[128];
    const u32 t = threadIdx.x;
    if (t >= 96) return;
    a[t] = in[t];
    __syncthreads();
    const u32 x = a[95 - t];
    if (t >= 32 && t < 64) return;
    __syncthreads();
    a[t] = x;
    __syncthreads();
    out[t] = a[t < 32 ? t + 64 : t - 64];
}

// A barrier in a loop whose count is the same for all, in a function that is not inlined, under a condition
// of the block.
DEVICE __noinline__ u32 total(u32* a, u32 x) {
    const u32 t = threadIdx.x;
    a[t] = x;
    for (u32 d = blockDim.x / 2; d > 0; d /= 2) {
        __syncthreads();
        if (t < d) a[t] += a[t + d];
    }
    __syncthreads();
    const u32 sum = a[0];
    __syncthreads();
    return sum;
}
ENTRY called(const u32* in, u32* out) {
    __shared__ u32 a[64];
    u32 x = in[thread_number()];
    if (blockIdx.x % 2 == 0)
        for (u32 i = 0; i < 3; ++i) x += total(a, x);
    else
        x ^= total(a, x);
    out[thread_number()] = x;
}
#else

TWIN(Barriers, "sm_75", "sm_90a -G", "sm_80 nvcc -Xcicc -O0", "sm_120a") {
    auto in = run.random_values<u32>(64 * 7);
    const u64 at = run.upload(in), sums = run.zeros<u32>(32);
    run.launch("pipeline", {.block = 96}, at, 7u, sums);
    std::vector<u32> host(32);
    for (u32 t = 0; t < 32; ++t)
        for (u32 i = 0; i < 7; ++i) host[t] = host[t] * 5 + 3 * (in[64 * i + t] + in[64 * i + t + 32]);
    run.expect_same("pipeline", run.download<u32>(sums, 32), host);

    std::vector<u32> data(in.begin(), in.begin() + 128);
    const u64 halves = run.upload(data);
    run.launch("halves", {.block = 128, .shared = 512}, halves);
    for (u32 half = 0; half < 2; ++half)
        for (u32 i = 0; i < (half == 0 ? 5 : 9); ++i) {
            const auto before = data;
            for (u32 t = 64 * half; t < 64 * half + 64; ++t)
                data[t] = before[t] * 3 + before[half * 64 + (t + 1) % 64];
        }
    host.clear();
    for (u32 t = 0; t < 128; ++t) host.push_back(data[t] + data[127 - t]);
    run.expect_same("halves", run.download<u32>(halves, 128), host);

    for (u32 with = 0; with < 2; ++with) {
        if (with) in[70] = 12345;
        const u64 answers = run.zeros<u32>(96);
        run.launch("votes", {.block = 96}, run.upload(in), answers);
        const auto count = (u32)std::count_if(in.begin(), in.begin() + 96, [](u32 x) { return x % 3 == 0; });
        run.expect_same("votes", run.download<u32>(answers, 96),
                        std::vector<u32>(96, count << 2 | (with ? 1 : 2)));
    }

    const u64 left = run.zeros<u32>(96);
    run.launch("leavers", {.block = 128}, run.upload(in), left);
    host.assign(96, 0);
    for (u32 t = 0; t < 96; ++t)
        if (t < 32 || t >= 64) host[t] = in[95 - (t < 32 ? t + 64 : t - 64)];
    run.expect_same("leavers", run.download<u32>(left, 96), host);

    const u64 totals = run.zeros<u32>(256);
    run.launch("called", {.grid = 4, .block = 64}, run.upload(in), totals);
    host.assign(in.begin(), in.begin() + 256);
    for (u32 block = 0; block < 4; ++block)
        for (u32 i = 0; i < (block % 2 == 0 ? 3 : 1); ++i) {
            const auto first = host.begin() + block * 64;
            const u32 sum = std::accumulate(first, first + 64, 0u);
            for (auto x = first; x != first + 64; ++x) *x = block % 2 == 0 ? *x + sum : *x ^ sum;
        }
    run.expect_same("called", run.download<u32>(totals, 256), host);
}
#endif
}  // namespace barriers
