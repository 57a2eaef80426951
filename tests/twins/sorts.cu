// Sorting: by each thread in local memory (heap, shell, quick with a stack of its own), by a block (bitonic,
// odd-even merge), by rank.
#include "twin.hpp"

namespace sorts {

BOTH inline void sift(s32* a, u32 root, u32 size) {
    for (;;) {
        u32 child = 2 * root + 1;
        if (child >= size) return;
        if (child + 1 < size && a[child] < a[child + 1]) ++child;
        if (a[root] >= a[child]) return;
        const s32 kept = a[root];
        a[root] = a[child], a[child] = kept;
        root = child;
    }
}

BOTH inline void heap_sort(s32* a, u32 size) {
    for (u32 i = size / 2; i-- > 0;) sift(a, i, size);
    for (u32 end = size; end-- > 1;) {
        const s32 kept = a[0];
        a[0] = a[end], a[end] = kept;
        sift(a, 0, end);
    }
}

BOTH inline void shell_sort(s32* a, u32 size) {
    for (u32 gap : {23u, 10u, 4u, 1u})
        for (u32 i = gap; i < size; ++i) {
            const s32 value = a[i];
            u32 j = i;
            for (; j >= gap && a[j - gap] > value; j -= gap) a[j] = a[j - gap];
            a[j] = value;
        }
}

BOTH inline void quick_sort(s32* a, u32 size) {
    struct Range {
        s32 low, high;
    } stack[16];
    int depth = 0;
    stack[depth++] = {0, (s32)size - 1};
    while (depth > 0) {
        Range r = stack[--depth];
        while (r.low < r.high) {
            const s32 pivot = a[(r.low + r.high) / 2];
            s32 i = r.low, j = r.high;
            while (i <= j) {
                while (a[i] < pivot) ++i;
                while (a[j] > pivot) --j;
                if (i <= j) {
                    const s32 kept = a[i];
                    a[i++] = a[j], a[j--] = kept;
                }
            }
            // The larger part waits: the stack stays small.
            const Range left = {r.low, j}, right = {i, r.high};
            const bool left_smaller = left.high - left.low < right.high - right.low;
            const Range larger = left_smaller ? right : left;
            if (larger.low < larger.high) stack[depth++] = larger;
            r = left_smaller ? left : right;
        }
    }
}

#ifdef __CUDACC__
ENTRY sort_each(const s32* in, s32* out, u32 size) {
    s32 a[40];
    const u32 t = thread_number();
    for (u32 i = 0; i < size; ++i) a[i] = in[t * size + i];
    switch (t % 3) {
        case 0: heap_sort(a, size); break;
        case 1: shell_sort(a, size); break;
        default: quick_sort(a, size);
    }
    for (u32 i = 0; i < size; ++i) out[t * size + i] = a[i];
}

ENTRY sort_bitonic(s32* data) {  // 256 values by 128 threads
    __shared__ s32 a[256];
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) a[i] = data[256 * blockIdx.x + i];
    for (u32 size = 2; size <= 256; size *= 2)
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            __syncthreads();
            const u32 low = 2 * threadIdx.x - (threadIdx.x & (stride - 1)), high = low + stride;
            const bool up = (low & size) == 0;
            if ((a[low] > a[high]) == up) {
                const s32 kept = a[low];
                a[low] = a[high], a[high] = kept;
            }
        }
    __syncthreads();
    for (u32 i = threadIdx.x; i < 256; i += blockDim.x) data[256 * blockIdx.x + i] = a[i];
}

ENTRY sort_by_rank(const s32* in, s32* out, u32 size) {
    extern __shared__ s32 values[];
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) values[i] = in[i];
    __syncthreads();
    for (u32 i = threadIdx.x; i < size; i += blockDim.x) {
        u32 rank = 0;
        for (u32 k = 0; k < size; ++k) rank += values[k] < values[i] || (values[k] == values[i] && k < i);
        out[rank] = values[i];
    }
}

ENTRY sort_warp(s32* data) {  // 32 values in registers, by exchange
    s32 x = data[thread_number()];
    const u32 lane = threadIdx.x % 32;
    for (u32 size = 2; size <= 32; size *= 2)
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            const s32 other = __shfl_xor_sync(~0u, x, stride);
            const bool keep_small = ((lane & size) == 0) == ((lane & stride) == 0);
            x = keep_small ? min(x, other) : max(x, other);
        }
    data[thread_number()] = x;
}
#else

TWIN(Sorts, "sm_75", "sm_80 -G", "sm_90a nvcc -Xcicc -O0") {
    auto values = run.random_values<s32>(48 * 40);
    for (std::size_t i = 0; i < values.size(); i += 3) values[i] %= 10;  // repeats
    auto host = values;
    const u64 in = run.upload(values), out = run.upload(values);
    run.launch("sort_each", {.block = 48}, in, out, 40u);
    for (u32 t = 0; t < 48; ++t) std::sort(host.begin() + t * 40, host.begin() + (t + 1) * 40);
    run.expect_same("each", run.download<s32>(out, host.size()), host);

    auto blocks = std::vector<s32>(values.begin(), values.begin() + 768);
    const u64 bitonic = run.upload(blocks), warps = run.upload(blocks), ranked = run.upload(blocks);
    run.launch("sort_bitonic", {.grid = 3, .block = 128}, bitonic);
    run.launch("sort_warp", {.grid = 4, .block = 192}, warps);
    run.launch("sort_by_rank", {.block = 100, .shared = 768 * 4}, run.upload(blocks), ranked, 768u);
    for (u32 t = 0; t < 24; ++t) std::sort(blocks.begin() + t * 32, blocks.begin() + (t + 1) * 32);
    run.expect_same("warps", run.download<s32>(warps, 768), blocks);
    for (u32 t = 0; t < 3; ++t) std::sort(blocks.begin() + t * 256, blocks.begin() + (t + 1) * 256);
    run.expect_same("bitonic", run.download<s32>(bitonic, 768), blocks);
    std::sort(blocks.begin(), blocks.end());
    run.expect_same("by rank", run.download<s32>(ranked, 768), blocks);
}
#endif
}  // namespace sorts
