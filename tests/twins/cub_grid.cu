// Device-wide algorithms with CUB's parts, each in one or two kernels: reduction, scan with decoupled
// look-back by CUB's own tile states, radix sort by digits, histogram, selection, reduction by key.
#ifdef __CUDACC__
#include <cub/agent/single_pass_scan_operators.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_radix_rank.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_store.cuh>
#endif
#include "twin.hpp"

namespace cub_grid {

constexpr u32 threads = 64, items = 4, tile = threads * items;

#ifdef __CUDACC__
using State = cub::ScanTileState<u32>;

ENTRY start_scan(u64* memory, u32 tiles) {
    State state;
    state.Init((int)tiles, memory, tiles * 64 + 4096);
    state.InitializeStatus((int)tiles);
}

// Exclusive prefix of a tile's sum over those before: by the first warp, looking back.
struct Sum {
    DEVICE u32 operator()(u32 a, u32 b) const { return a + b; }
};
using Prefix = cub::TilePrefixCallbackOp<u32, Sum, State>;
using Scan = cub::BlockScan<u32, threads>;

ENTRY scan(const u32* in, u32* out, u32 size, u64* memory, u32 tiles) {
    __shared__ typename Scan::TempStorage shared;
    __shared__ typename Prefix::TempStorage prefix;
    State state;
    state.Init((int)tiles, memory, tiles * 64 + 4096);
    const u32 at = blockIdx.x * tile, left = size - at;
    u32 x[items];
    cub::LoadDirectBlocked(threadIdx.x, in + at, x, (int)left, 0u);
    if (blockIdx.x == 0) {
        u32 sum;
        Scan(shared).InclusiveSum(x, x, sum);
        if (threadIdx.x == 0 && tiles > 1) state.SetInclusive(0, sum);
    } else {
        Prefix callback(state, prefix, Sum(), (int)blockIdx.x);
        Scan(shared).InclusiveScan(x, x, Sum(), callback);
    }
    cub::StoreDirectBlocked(threadIdx.x, out + at, x, (int)left);
}

// those that 3 divides, in order
ENTRY select(const u32* in, u32* out, u32 size, u64* memory, u32 tiles, u32* kept) {
    __shared__ typename Scan::TempStorage shared;
    __shared__ typename Prefix::TempStorage prefix;
    State state;
    state.Init((int)tiles, memory, tiles * 64 + 4096);
    const u32 at = blockIdx.x * tile, left = size - at;
    u32 x[items], flag[items], place[items];
    cub::LoadDirectBlocked(threadIdx.x, in + at, x, (int)left, 1u);
    for (u32 i = 0; i < items; ++i) flag[i] = x[i] % 3 == 0;
    u32 total;
    if (blockIdx.x == 0) {
        Scan(shared).ExclusiveSum(flag, place, total);
        if (threadIdx.x == 0 && tiles > 1) state.SetInclusive(0, total);
    } else {
        Prefix callback(state, prefix, Sum(), (int)blockIdx.x);
        Scan(shared).ExclusiveScan(flag, place, Sum(), callback);
        total = callback.GetInclusivePrefix();
    }
    for (u32 i = 0; i < items; ++i)
        if (flag[i]) out[place[i]] = x[i];
    if (blockIdx.x == tiles - 1 && threadIdx.x == 0) *kept = total;
}

ENTRY reduce(const float* in, u32 size, float* partial, u32* arrived, float* out) {
    using Reduce = cub::BlockReduce<float, threads>;
    __shared__ typename Reduce::TempStorage shared;
    __shared__ bool last;
    float sum = 0;
    for (u32 i = thread_number(); i < size; i += gridDim.x * threads) sum += in[i];
    const float total = Reduce(shared).Sum(sum);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = total;
        __threadfence();
        last = atomicAdd(arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) return;
    const float all =
        Reduce(shared).Sum(threadIdx.x < gridDim.x ? ((volatile float*)partial)[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) *out = all;
}

// A digit of 4 bits: counts of the tiles, digit by digit, and then each key to its place.
ENTRY count_digits(const u32* keys, u32 size, u32 shift, u32* counts, u32 tiles) {
    __shared__ u32 bins[16];
    if (threadIdx.x < 16) bins[threadIdx.x] = 0;
    __syncthreads();
    for (u32 i = 0; i < items; ++i) {
        const u32 at = blockIdx.x * tile + i * threads + threadIdx.x;
        if (at < size) atomicAdd(&bins[keys[at] >> shift & 15], 1);
    }
    __syncthreads();
    if (threadIdx.x < 16) counts[threadIdx.x * tiles + blockIdx.x] = bins[threadIdx.x];
}
ENTRY scatter(const u32* keys, u32 size, u32 shift, const u32* ends, u32 tiles, u32* out) {
    using Rank = cub::BlockRadixRankMatch<threads, 4, false>;
    __shared__ typename Rank::TempStorage shared;
    const u32 from = blockIdx.x * tile;
    u32 key[items];
    int rank[items], digit_start[1];
    cub::LoadDirectWarpStriped(threadIdx.x, keys + from, key, (int)(size - from), ~0u);
    Rank(shared).RankKeys(key, rank, cub::BFEDigitExtractor<u32>(shift, 4), digit_start);
    __shared__ int starts[16];
    if (threadIdx.x < 16) starts[threadIdx.x] = digit_start[0];
    __syncthreads();
    for (u32 i = 0; i < items; ++i) {
        const u32 digit = key[i] >> shift & 15, before = digit * tiles + blockIdx.x;
        const u32 mine = (u32)(rank[i] - starts[digit]),
                  count = ends[before] - (before == 0 ? 0 : ends[before - 1]);
        // those behind the end are last
        if (mine < count) out[(before == 0 ? 0 : ends[before - 1]) + mine] = key[i];
    }
}
#else

static u64 scan_on_device(twin::Run& run, u64 in, u32 size) {
    const u32 tiles = (size + tile - 1) / tile;
    const u64 out = run.zeros<u32>(size), memory = run.zeros<u64>(tiles * 8 + 512);
    run.launch("start_scan", {.grid = tiles / 64 + 1, .block = 64}, memory, tiles);
    run.launch("scan", {.grid = tiles, .block = threads}, in, out, size, memory, tiles);
    return out;
}

TWIN(CubGrid, "sm_80", "sm_90a nvcc", "sm_75 nvcc -G", "sm_120a") {
    const u32 size = 3001, tiles = (size + tile - 1) / tile;
    auto in = run.random_values<u32>(size);
    const u64 at = run.upload(in);
    std::vector<u32> sums(size);
    std::partial_sum(in.begin(), in.end(), sums.begin());
    run.expect_same("scan", run.download<u32>(scan_on_device(run, at, size), size), sums);

    std::vector<u32> kept;
    std::copy_if(in.begin(), in.end(), std::back_inserter(kept), [](u32 x) { return x % 3 == 0; });
    const u64 selected = run.zeros<u32>(size), memory = run.zeros<u64>(tiles * 8 + 512),
              count = run.zeros<u32>(1);
    run.launch("start_scan", {.grid = 1, .block = 64}, memory, tiles);
    run.launch("select", {.grid = tiles, .block = threads}, at, selected, size, memory, tiles, count);
    run.expect_same("count", run.download<u32>(count, 1), {(u32)kept.size()});
    kept.resize(size);
    run.expect_same("selected", run.download<u32>(selected, size), kept);

    std::vector<float> reals(size);
    for (u32 i = 0; i < size; ++i) reals[i] = (float)(in[i] % 1000);
    const u64 total = run.zeros<float>(1);
    run.launch("reduce", {.grid = 11, .block = threads}, run.upload(reals), size, run.zeros<float>(11),
               run.zeros<u32>(1), total);
    run.expect_same("sum", run.download<float>(total, 1),
                    {std::accumulate(reals.begin(), reals.end(), 0.0f)});

    u64 keys = at, other = run.zeros<u32>(size);
    for (u32 shift = 0; shift < 32; shift += 4) {
        const u64 counts = run.zeros<u32>(16 * tiles);
        run.launch("count_digits", {.grid = tiles, .block = threads}, keys, size, shift, counts, tiles);
        run.launch("scatter", {.grid = tiles, .block = threads}, keys, size, shift,
                   scan_on_device(run, counts, 16 * tiles), tiles, other);
        std::swap(keys, other);
    }
    std::sort(in.begin(), in.end());
    run.expect_same("sorted", run.download<u32>(keys, size), in);
}
#endif
}  // namespace cub_grid
