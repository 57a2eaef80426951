// Work that makes work: blocks that stay and take tasks from a queue, a stack of free slots without a lock,
// priority queues of a block, a divide and conquer over a shared stack, stealing between blocks.
#include "twin.hpp"

namespace queues {

BOTH inline u32 children(u32 task) { return task % 4 == 0 || task > 4000 ? 0 : task % 3; }
BOTH inline u64 worth(u32 task) { return (u64)task * task + 7; }

#ifdef __CUDACC__
// Tasks appear while others run; `left` counts those that are not finished.
ENTRY persistent(u32* queue, u32* head, u32* tail, u32* left, u64* sum) {
    __shared__ u32 task;
    for (;;) {
        __syncthreads();
        if (threadIdx.x == 0) {
            task = 0;
            while (*(volatile u32*)left != 0) {
                const u32 at = *(volatile u32*)head;
                if (at < *(volatile u32*)tail) {
                    const u32 found = ((volatile u32*)queue)[at];
                    if (found != 0 && atomicCAS(head, at, at + 1) == at) {
                        task = found;
                        break;
                    }
                }
            }
        }
        __syncthreads();
        if (task == 0) return;
        if (threadIdx.x < children(task)) {
            atomicAdd(left, 1);
            const u32 at = atomicAdd(tail, 1);
            __threadfence();
            atomicExch(&queue[at], task * 3 + threadIdx.x + 1);
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            atomicAdd(sum, worth(task));
            __threadfence();
            atomicSub(left, 1);
        }
    }
}

// Each block owns a range; one that is done takes the upper half of another's. A range is one word: from, to.
ENTRY stealing(u64* ranges, u32* done, u32 blocks) {
    if (threadIdx.x != 0) return;
    for (u32 victim = blockIdx.x, tries = 0; tries < blocks;) {
        const u64 range = *(volatile u64*)&ranges[victim];
        const u32 from = (u32)range, to = (u32)(range >> 32);
        if (from >= to) {
            victim = (victim + 1) % blocks, ++tries;
            continue;
        }
        if (victim == blockIdx.x) {
            if (atomicCAS(&ranges[victim], range, (u64)to << 32 | (from + 1)) == range)
                atomicAdd(&done[from], 1), tries = 0;
        } else {
            const u32 middle = (from + to) / 2;
            if (atomicCAS(&ranges[victim], range, (u64)middle << 32 | from) != range) continue;
            atomicExch(&ranges[blockIdx.x], (u64)to << 32 | middle);
            victim = blockIdx.x, tries = 0;
        }
    }
}

// A free list of 64 slots: threads take one, use it, and put it back. The upper half of the word tells one
// round from the next.
ENTRY slots(u64* top, u32* next, u32* owner, u32* used, u32 rounds) {
    const u32 me = thread_number() + 1;
    for (u32 round = 0; round < rounds; ++round) {
        u32 slot = ~0u;
        while (slot == ~0u) {
            const u64 old = *(volatile u64*)top;
            if ((u32)old == ~0u) continue;
            const u32 below = ((volatile u32*)next)[(u32)old];
            if (atomicCAS(top, old, ((old >> 32) + 1) << 32 | below) == old) slot = (u32)old;
        }
        if (atomicExch(&owner[slot], me) == 0) atomicAdd(&used[slot], 1);  // nobody else holds it
        __threadfence();
        atomicExch(&owner[slot], 0);
        __threadfence();
        u64 old;
        do {
            old = *(volatile u64*)top;
            ((volatile u32*)next)[slot] = (u32)old;
            __threadfence();
        } while (atomicCAS(top, old, ((old >> 32) + 1) << 32 | slot) != old);
    }
}

// Quicksort of a block's shared memory: warps take ranges from a common stack.
ENTRY divide(u32* data, u32 size) {
    __shared__ u32 a[512], stack[128], depth, pending;
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) a[i] = data[i];
    if (threadIdx.x == 0) stack[0] = size << 16, depth = 1, pending = 1;
    __syncthreads();
    volatile u32 *const d = &depth, *const p = &pending;
    __shared__ u32 lock;
    if (threadIdx.x == 0) lock = 0;
    __syncthreads();
    if (threadIdx.x % 32 == 0) {
        const auto locked = [&](auto f) {
            while (atomicCAS(&lock, 0, 1) != 0) {}
            __threadfence_block();
            f();
            __threadfence_block();
            atomicExch(&lock, 0);
        };
        while (*p != 0) {
            u32 range = 0;
            locked([&] {
                if (*d > 0) {
                    *d = *d - 1;
                    range = ((volatile u32*)stack)[*d];
                }
            });
            if (range == 0) continue;
            u32 from = range & 0xffff, to = range >> 16;
            volatile u32* const v = a;
            while (to - from > 8) {
                const u32 pivot = v[(from + to) / 2];
                u32 i = from, k = to - 1;
                for (;; ++i, --k) {
                    while (v[i] < pivot) ++i;
                    while (v[k] > pivot) --k;
                    if (i >= k) break;
                    const u32 kept = v[i];
                    v[i] = v[k], v[k] = kept;
                }
                const u32 cut = k + 1;
                locked([&] {
                    ((volatile u32*)stack)[*d] = to << 16 | cut;
                    *d = *d + 1;
                    *p = *p + 1;
                });
                to = cut;
            }
            for (u32 i = from + 1; i < to; ++i) {
                const u32 x = v[i];
                u32 k = i;
                for (; k > from && v[k - 1] > x; --k) v[k] = v[k - 1];
                v[k] = x;
            }
            locked([&] { *p = *p - 1; });
        }
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) data[i] = a[i];
}
#else
TWIN(Queues, "sm_80 -default-device", "sm_75 nvcc -G --extended-lambda",
     "sm_90a nvcc -Xcicc -O0 --extended-lambda") {
    std::vector<u32> tasks = {5, 7, 11, 13};
    u64 sum = 0;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
        sum += worth(tasks[i]);
        for (u32 k = 0; k < children(tasks[i]); ++k) tasks.push_back(tasks[i] * 3 + k + 1);
    }
    std::vector<u32> queue(tasks.size() + 8);
    std::copy_n(tasks.begin(), 4, queue.begin());
    const u64 total = run.zeros<u64>(1), tail = run.upload(std::vector<u32>{4});
    run.launch("persistent", {.grid = 4, .block = 32}, run.upload(queue), run.zeros<u32>(1), tail,
               run.upload(std::vector<u32>{4}), total);
    run.expect_same("tasks", run.download<u32>(tail, 1), {(u32)tasks.size()});
    run.expect_same("sum", run.download<u64>(total, 1), {sum});

    std::vector<u64> ranges = {100ull << 32, 0, 150ull << 32 | 140, 0};
    const u64 done = run.zeros<u32>(150);
    run.launch("stealing", {.grid = 4, .block = 32}, run.upload(ranges), done, 4u);
    const auto times = run.download<u32>(done, 150);
    run.expect(std::count(times.begin(), times.begin() + 100, 1u) == 100 &&
                   std::count(times.begin() + 100, times.begin() + 140, 0u) == 40 &&
                   std::count(times.begin() + 140, times.end(), 1u) == 10,
               "each piece of work is done once");

    std::vector<u32> next(16);
    for (u32 i = 0; i < 16; ++i) next[i] = i + 1 < 16 ? i + 1 : ~0u;
    const u64 used = run.zeros<u32>(16);
    run.launch("slots", {.grid = 2, .block = 32}, run.zeros<u64>(1), run.upload(next), run.zeros<u32>(16),
               used, 3u);
    const auto uses = run.download<u32>(used, 16);
    run.expect(std::accumulate(uses.begin(), uses.end(), 0u) == 192, "a slot has one owner at a time");

    auto data = run.random_values<u32>(500);
    const u64 at = run.upload(data);
    run.launch("divide", {.block = 96}, at, 500u);
    std::sort(data.begin(), data.end());
    run.expect_same("sorted", run.download<u32>(at, 500), data);
}
#endif
}  // namespace queues
