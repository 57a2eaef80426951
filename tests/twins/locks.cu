// Threads that wait for each other: spin locks (with divergence inside a warp), ticket locks, a last block
// that adds what all have left, a queue between blocks, a barrier over the grid made of atomics.
#include "twin.hpp"

namespace locks {

#ifdef __CUDACC__
ENTRY spin(u32* lock, volatile u32* sum, u32 rounds) {
    for (u32 i = 0; i < rounds; ++i) {
        bool done = false;
        while (!done)
            if (atomicCAS(lock, 0, 1) == 0) {  // the classic that works without independent scheduling, too
                __threadfence();
                *sum = *sum + thread_number() + i;
                __threadfence();
                atomicExch(lock, 0);
                done = true;
            }
    }
}

ENTRY ticket(u32* next, volatile u32* serving, volatile u64* state) {  // one thread of each block
    if (threadIdx.x == 0) {
        const u32 mine = atomicAdd(next, 1);
        while (*serving != mine) {}
        __threadfence();
        *state = *state * 31 + mine;
        __threadfence();
        *serving = mine + 1;
    }
}

ENTRY last_block(const u32* in, u32 count, u32* partial, u32* arrived, u32* out) {
    __shared__ u32 sum;
    __shared__ bool last;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    const u32 i = thread_number();
    if (i < count) atomicAdd(&sum, in[i]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicInc(arrived, gridDim.x - 1) == gridDim.x - 1;  // leaves 0 for the next launch
    }
    __syncthreads();
    if (!last) return;
    __threadfence();
    u32 mine = 0;
    for (u32 k = threadIdx.x; k < gridDim.x; k += blockDim.x) mine += ((volatile u32*)partial)[k];
    mine = __reduce_add_sync(~0u, mine);
    if (threadIdx.x == 0) *out = mine;
}

// Even blocks make values, odd blocks take them, through a ring of 8 slots.
ENTRY ring(u32* slots, volatile u32* sum, u32 rounds) {
    if (threadIdx.x != 0) return;
    const u32 pair = blockIdx.x / 2;
    volatile u32* mine = slots + 8 * pair;
    u32 total = 0;
    for (u32 i = 0; i < rounds; ++i) {
        volatile u32* slot = mine + i % 8;
        if (blockIdx.x % 2 == 0) {
            while (*slot != 0) {}
            *slot = pair * 1000 + i + 1;
        } else {
            u32 value;
            while ((value = *slot) == 0) {}
            *slot = 0;
            total = total * 7 + value;
        }
        __threadfence();
    }
    if (blockIdx.x % 2 == 1) sum[pair] = total;
}

DEVICE void grid_barrier(u32* arrived, u32 phase) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(arrived, 1);
        while (*(volatile u32*)arrived < gridDim.x * phase) {}
        __threadfence();
    }
    __syncthreads();
}

ENTRY relax(u32* a, u32* b, u32 steps, u32* arrived) {  // a cellular automaton over the grid
    const u32 i = thread_number(), count = gridDim.x * blockDim.x;
    for (u32 step = 0; step < steps; ++step) {
        volatile u32* from = step % 2 ? b : a;
        volatile u32* to = step % 2 ? a : b;
        to[i] = from[i] * 3 + from[(i + 1) % count] + from[(i + count - 1) % count];
        grid_barrier(arrived, step + 1);
    }
}
#else

TWIN(Locks, "sm_80", "sm_90a -G", "sm_120a nvcc -Xcicc -O0") {
    const u64 lock = run.zeros<u32>(1), sum = run.zeros<u32>(1);
    run.launch("spin", {.grid = 3, .block = 48}, lock, sum, 3u);
    run.expect_same("sum", run.download<u32>(sum, 1), {3 * (144 * 143 / 2) + 144 * 3});

    u64 state = 0;
    for (u32 i = 0; i < 12; ++i) state = state * 31 + i;
    const u64 device_state = run.zeros<u64>(1);
    run.launch("ticket", {.grid = 12, .block = 32}, run.zeros<u32>(1), run.zeros<u32>(1), device_state);
    run.expect_same("tickets", run.download<u64>(device_state, 1), {state});

    const auto in = run.random_values<u32>(1000);
    const u64 total = run.zeros<u32>(1), arrived = run.zeros<u32>(1), partial = run.zeros<u32>(16),
              at = run.upload(in);
    for (int again = 0; again < 2; ++again) {
        run.launch("last_block", {.grid = 16, .block = 64}, at, 1000u, partial, arrived, total);
        run.expect_same("last block", run.download<u32>(total, 1),
                        {std::accumulate(in.begin(), in.end(), 0u)});
    }

    std::vector<u32> sums;
    for (u32 pair = 0; pair < 4; ++pair) {
        sums.push_back(0);
        for (u32 i = 0; i < 40; ++i) sums.back() = sums.back() * 7 + pair * 1000 + i + 1;
    }
    const u64 taken = run.zeros<u32>(4);
    run.launch("ring", {.grid = 8, .block = 32}, run.zeros<u32>(32), taken, 40u);
    run.expect_same("ring", run.download<u32>(taken, 4), sums);

    auto cells = run.random_values<u32>(160);
    const u64 a = run.upload(cells), b = run.upload(cells);
    run.launch("relax", {.grid = 5, .block = 32}, a, b, 6u, run.zeros<u32>(1));
    for (u32 step = 0; step < 6; ++step) {
        const auto from = cells;
        for (u32 i = 0; i < 160; ++i) cells[i] = from[i] * 3 + from[(i + 1) % 160] + from[(i + 159) % 160];
    }
    run.expect_same("cells", run.download<u32>(a, 160), cells);
}
#endif
}  // namespace locks
