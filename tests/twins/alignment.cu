// Dynamic programming: the longest common subsequence, edit distance and Smith-Waterman with affine gaps, by
// a thread in local memory and by a block along anti-diagonals; a knapsack in shared memory.
#include "twin.hpp"

namespace alignment {

constexpr s32 longest = 48;

BOTH inline s32 larger(s32 a, s32 b) { return a > b ? a : b; }

BOTH inline s32 common_subsequence(const u8* a, s32 n, const u8* b, s32 m) {
    u8 row[longest + 1] = {};
    for (s32 i = 0; i < n; ++i) {
        u8 diagonal = 0;
        for (s32 k = 1; k <= m; ++k) {
            const u8 above = row[k];
            row[k] = a[i] == b[k - 1] ? (u8)(diagonal + 1) : (u8)larger(row[k], row[k - 1]);
            diagonal = above;
        }
    }
    return row[m];
}

BOTH inline s32 edit_distance(const u8* a, s32 n, const u8* b, s32 m) {
    s16 row[longest + 1];
    for (s32 k = 0; k <= m; ++k) row[k] = (s16)k;
    for (s32 i = 1; i <= n; ++i) {
        s32 diagonal = row[0];
        row[0] = (s16)i;
        for (s32 k = 1; k <= m; ++k) {
            const s32 above = row[k];
            const s32 replaced = diagonal + (a[i - 1] != b[k - 1]);
            row[k] = (s16)-larger(-replaced, larger(-above - 1, -row[k - 1] - 1));
            diagonal = above;
        }
    }
    return row[m];
}

BOTH inline s32 local_alignment(const u8* a, s32 n, const u8* b, s32 m) {
    s32 score[longest + 1], gap[longest + 1], best = 0;
    for (s32 k = 0; k <= m; ++k) score[k] = 0, gap[k] = -1000;
    for (s32 i = 0; i < n; ++i) {
        s32 diagonal = 0, across = -1000;
        for (s32 k = 1; k <= m; ++k) {
            gap[k] = larger(gap[k] - 1, score[k] - 3);
            across = larger(across - 1, score[k - 1] - 3);
            const s32 here =
                larger(larger(0, diagonal + (a[i] == b[k - 1] ? 2 : -1)), larger(gap[k], across));
            diagonal = score[k];
            score[k] = here;
            best = larger(best, here);
        }
    }
    return best;
}

#ifdef __CUDACC__
ENTRY by_thread(const u8* text, s32* out) {
    const u32 t = thread_number();
    const s32 n = 1 + t * 7 % longest, m = 1 + t * 11 % longest;
    const u8 *a = text + t, *b = text + 2 * t + 5;
    s32 (*const functions[3])(const u8*, s32, const u8*, s32) = {common_subsequence, edit_distance,
                                                                 local_alignment};
    for (u32 i = 0; i < 3; ++i) out[3 * t + i] = functions[(i + t) % 3](a, n, b, m);
}

// Edit distance of two texts of blockDim.x: a thread per row, one diagonal after the other.
ENTRY by_diagonals(const u8* a, const u8* b, s32* out) {
    extern __shared__ s32 diagonals[];
    const s32 n = blockDim.x, i = threadIdx.x;
    s32 *before = diagonals, *last = diagonals + n + 1, *next = last + n + 1;
    for (s32 d = 0; d <= 2 * n; ++d) {
        for (s32 row = i; row <= n; row += n) {
            const s32 column = d - row;
            if (column < 0 || column > n) continue;
            if (row == 0 || column == 0) {
                next[row] = row + column;
            } else {
                const s32 replaced = before[row - 1] + (a[row - 1] != b[column - 1]);
                next[row] = min(replaced, min(last[row - 1], last[row]) + 1);
            }
        }
        __syncthreads();
        s32* const kept = before;
        before = last, last = next, next = kept;
    }
    if (i == 0) *out = last[n];
}

ENTRY knapsack(const u32* weights, const u32* values, u32 items, u32* out) {
    __shared__ u32 best[2][257];
    for (u32 c = threadIdx.x; c <= 256; c += blockDim.x) best[0][c] = 0;
    __syncthreads();
    for (u32 k = 0; k < items; ++k) {
        for (u32 c = threadIdx.x; c <= 256; c += blockDim.x) {
            const u32 without = best[k & 1][c];
            best[~k & 1][c] =
                c < weights[k] ? without : max(without, best[k & 1][c - weights[k]] + values[k]);
        }
        __syncthreads();
    }
    for (u32 c = threadIdx.x; c <= 256; c += blockDim.x) out[c] = best[items & 1][c];
}
#else

TWIN(Alignment, "sm_75", "sm_90a -G", "sm_80 nvcc -Xcicc -O0", "sm_120a") {
    auto text = run.random_values<u8>(400);
    for (u8& c : text) c %= 4;
    std::vector<s32> host;
    for (u32 t = 0; t < 96; ++t) {
        const s32 n = (s32)(1 + t * 7 % longest), m = (s32)(1 + t * 11 % longest);
        s32 (*const functions[3])(const u8*, s32, const u8*, s32) = {common_subsequence, edit_distance,
                                                                     local_alignment};
        for (u32 i = 0; i < 3; ++i)
            host.push_back(functions[(i + t) % 3](text.data() + t, n, text.data() + 2 * t + 5, m));
    }
    const u64 out = run.zeros<s32>(host.size()), at = run.upload(text);
    run.launch("by_thread", {.grid = 2, .block = 48}, at, out);
    run.expect_same("by a thread", run.download<s32>(out, host.size()), host);

    const u64 other = run.upload(std::vector<u8>(text.begin() + 100, text.end())),
              distance = run.zeros<s32>(1);
    run.launch("by_diagonals", {.block = 45, .shared = 3 * 46 * 4}, at, other, distance);
    run.expect_same("by diagonals", run.download<s32>(distance, 1),
                    {edit_distance(text.data(), 45, text.data() + 100, 45)});

    std::vector<u32> weights, values, best(257);
    for (u32 k = 0; k < 20; ++k)
        weights.push_back(1 + (u32)(run.random() % 60)), values.push_back((u32)(run.random() % 1000));
    for (u32 k = 0; k < 20; ++k)
        for (u32 c = 256; c >= weights[k]; --c) best[c] = std::max(best[c], best[c - weights[k]] + values[k]);
    const u64 sack = run.zeros<u32>(257);
    run.launch("knapsack", {.block = 80}, run.upload(weights), run.upload(values), 20u, sack);
    run.expect_same("knapsack", run.download<u32>(sack, 257), best);
}
#endif
}  // namespace alignment
