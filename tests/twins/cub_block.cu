// CUB over a block: radix and merge sorts, scans, reductions, histograms, exchanges, loads and stores in
// every arrangement, differences, run lengths, shuffles.
#ifdef __CUDACC__
#include <cub/block/block_adjacent_difference.cuh>
#include <cub/block/block_discontinuity.cuh>
#include <cub/block/block_exchange.cuh>
#include <cub/block/block_histogram.cuh>
#include <cub/block/block_load.cuh>
#include <cub/block/block_merge_sort.cuh>
#include <cub/block/block_radix_sort.cuh>
#include <cub/block/block_reduce.cuh>
#include <cub/block/block_run_length_decode.cuh>
#include <cub/block/block_scan.cuh>
#include <cub/block/block_shuffle.cuh>
#include <cub/block/block_store.cuh>
#endif
#include "twin.hpp"

namespace cub_block {

constexpr u32 threads = 96, items = 5, size = threads * items;

#ifdef __CUDACC__
struct Less {
    DEVICE bool operator()(u64 a, u64 b) const { return a < b; }
};
struct Largest {
    DEVICE s32 operator()(s32 a, s32 b) const { return a > b ? a : b; }
};

ENTRY radix_sort(u32* keys, float* values, s32* descending) {
    using Sort = cub::BlockRadixSort<u32, threads, items, float>;
    using Descending = cub::BlockRadixSort<s32, threads, items>;
    __shared__ union {
        typename Sort::TempStorage sort;
        typename Descending::TempStorage descending;
    } shared;
    u32 key[items];
    float value[items];
    s32 other[items];
    cub::LoadDirectBlocked(threadIdx.x, keys, key);
    cub::LoadDirectBlocked(threadIdx.x, values, value);
    cub::LoadDirectStriped<threads>(threadIdx.x, descending, other);
    Sort(shared.sort).Sort(key, value);
    __syncthreads();
    Descending(shared.descending).SortDescendingBlockedToStriped(other, 4, 28);
    cub::StoreDirectBlocked(threadIdx.x, keys, key);
    cub::StoreDirectBlocked(threadIdx.x, values, value);
    cub::StoreDirectStriped<threads>(threadIdx.x, descending, other);
}

ENTRY merge_sort(u64* keys) {
    using Sort = cub::BlockMergeSort<u64, 32, size / 32>;  // its threads are a power of two
    __shared__ typename Sort::TempStorage shared;
    u64 key[size / 32];
    cub::LoadDirectBlocked(threadIdx.x, keys, key);
    Sort(shared).Sort(key, Less());
    cub::StoreDirectBlocked(threadIdx.x, keys, key);
}

template <cub::BlockLoadAlgorithm Load, cub::BlockStoreAlgorithm Store, cub::BlockScanAlgorithm Scan>
DEVICE void scan_with(const s32* in, s32* out, s32* total) {
    using Loader = cub::BlockLoad<s32, threads, items, Load>;
    using Storer = cub::BlockStore<s32, threads, items, Store>;
    using Scanner = cub::BlockScan<s32, threads, Scan>;
    __shared__ union {
        typename Loader::TempStorage load;
        typename Storer::TempStorage store;
        typename Scanner::TempStorage scan;
    } shared;
    s32 x[items], sum;
    Loader(shared.load).Load(in, x, size - 7, -1);
    __syncthreads();
    Scanner(shared.scan).ExclusiveSum(x, x, sum);
    __syncthreads();
    Storer(shared.store).Store(out, x, size - 3);
    if (threadIdx.x == 0) *total = sum;
    __syncthreads();
}
ENTRY scans(const s32* in, s32* out, s32* totals) {
    scan_with<cub::BLOCK_LOAD_DIRECT, cub::BLOCK_STORE_DIRECT, cub::BLOCK_SCAN_RAKING>(in, out, totals);
    scan_with<cub::BLOCK_LOAD_TRANSPOSE, cub::BLOCK_STORE_TRANSPOSE, cub::BLOCK_SCAN_WARP_SCANS>(
        in, out + size, totals + 1);
    scan_with<cub::BLOCK_LOAD_WARP_TRANSPOSE, cub::BLOCK_STORE_WARP_TRANSPOSE,
              cub::BLOCK_SCAN_RAKING_MEMOIZE>(in, out + 2 * size, totals + 2);
    scan_with<cub::BLOCK_LOAD_VECTORIZE, cub::BLOCK_STORE_VECTORIZE, cub::BLOCK_SCAN_WARP_SCANS>(
        in, out + 3 * size, totals + 3);
    using Scanner = cub::BlockScan<s32, threads>;
    __shared__ typename Scanner::TempStorage shared;
    s32 most;
    Scanner(shared).InclusiveScan(in[threadIdx.x], most, Largest());
    out[4 * size + threadIdx.x] = most;
}

template <cub::BlockReduceAlgorithm Algorithm> DEVICE void reduce_with(const u32* in, u32* out) {
    using Reducer = cub::BlockReduce<u32, threads, Algorithm>;
    __shared__ typename Reducer::TempStorage shared;
    const u32 sum = Reducer(shared).Sum(in[threadIdx.x], 77);
    __syncthreads();
    const u32 least = Reducer(shared).Reduce(in[threadIdx.x], [](u32 a, u32 b) { return a < b ? a : b; });
    __syncthreads();
    if (threadIdx.x == 0) out[0] = sum, out[1] = least;
}
ENTRY reductions(const u32* in, u32* out) {
    reduce_with<cub::BLOCK_REDUCE_RAKING>(in, out);
    reduce_with<cub::BLOCK_REDUCE_WARP_REDUCTIONS>(in, out + 2);
    reduce_with<cub::BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY>(in, out + 4);
}

template <cub::BlockHistogramAlgorithm Algorithm> DEVICE void histogram_with(const u8* in, u32* out) {
    using Histogram = cub::BlockHistogram<u8, threads, items, 64, Algorithm>;
    __shared__ typename Histogram::TempStorage shared;
    __shared__ u32 bins[64];
    u8 x[items];
    cub::LoadDirectStriped<threads>(threadIdx.x, in, x);
    Histogram(shared).Histogram(x, bins);
    __syncthreads();
    if (threadIdx.x < 64) out[threadIdx.x] = bins[threadIdx.x];
    __syncthreads();
}
ENTRY histograms(const u8* in, u32* out) {
    histogram_with<cub::BLOCK_HISTO_ATOMIC>(in, out);
    histogram_with<cub::BLOCK_HISTO_SORT>(in, out + 64);
}

ENTRY arrangements(const u32* in, u32* out) {  // seven ways of `size` each
    using Exchange = cub::BlockExchange<u32, threads, items>;
    __shared__ typename Exchange::TempStorage shared;
    u32 x[items], y[items];
    s32 ranks[items];
    cub::LoadDirectBlocked(threadIdx.x, in, x);
    for (u32 i = 0; i < items; ++i) ranks[i] = (s32)((threadIdx.x * items + i) * 77 % size);
    const auto put = [&](u32 at) {
        cub::StoreDirectBlocked(threadIdx.x, out + at * size, y);
        __syncthreads();
    };
    Exchange(shared).BlockedToStriped(x, y), put(0);
    Exchange(shared).StripedToBlocked(x, y), put(1);
    Exchange(shared).BlockedToWarpStriped(x, y), put(2);
    Exchange(shared).WarpStripedToBlocked(x, y), put(3);
    Exchange(shared).ScatterToBlocked(x, y, ranks), put(4);
    Exchange(shared).ScatterToStriped(x, y, ranks), put(5);
    using Shuffle = cub::BlockShuffle<u32, threads>;
    __shared__ typename Shuffle::TempStorage shuffle;
    Shuffle(shuffle).Up(x, y);
    if (threadIdx.x == 0) y[0] = 0;
    put(6);
}

ENTRY neighbours(const s32* in, s32* differences, u32* flags) {
    using Differ = cub::BlockAdjacentDifference<s32, threads>;
    using Discontinuity = cub::BlockDiscontinuity<s32, threads>;
    __shared__ union {
        typename Differ::TempStorage differ;
        typename Discontinuity::TempStorage discontinuity;
    } shared;
    s32 x[items], d[items];
    int heads[items], tails[items];
    cub::LoadDirectBlocked(threadIdx.x, in, x);
    Differ(shared.differ).SubtractLeft(x, d, [](s32 a, s32 b) { return a - b; });
    __syncthreads();
    Discontinuity(shared.discontinuity).FlagHeadsAndTails(heads, tails, x, [](s32 a, s32 b) {
        return a != b;
    });
    for (u32 i = 0; i < items; ++i) {
        differences[threadIdx.x * items + i] = d[i];
        flags[threadIdx.x * items + i] = heads[i] | tails[i] << 1;
    }
}

ENTRY run_lengths(const u32* values, const u32* lengths, u32* out, u32* total) {
    using Decode = cub::BlockRunLengthDecode<u32, threads, 2, 4>;
    __shared__ typename Decode::TempStorage shared;
    u32 value[2], length[2], decoded[4], all;
    cub::LoadDirectBlocked(threadIdx.x, values, value);
    cub::LoadDirectBlocked(threadIdx.x, lengths, length);
    Decode decode(shared, value, length, all);
    for (u32 from = 0; from < all; from += threads * 4) {
        decode.RunLengthDecode(decoded, from);
        cub::StoreDirectBlocked(threadIdx.x, out + from, decoded, (s32)(all - from));
    }
    if (threadIdx.x == 0) *total = all;
}
#else

static void sorts(twin::Run& run) {
    auto keys = run.random_values<u32>(size);
    for (u32 i = 0; i < size; i += 3) keys[i] %= 16;
    const auto values = run.random_reals<float>(size, 0, 1);
    auto signed_keys = run.random_values<s32>(size);
    auto wide = run.random_values<u64>(size);
    const u64 a = run.upload(keys), b = run.upload(values), c = run.upload(signed_keys), d = run.upload(wide);
    run.launch("radix_sort", {.block = threads}, a, b, c);
    run.launch("merge_sort", {.block = 32}, d);
    std::vector<u32> order(size);
    std::iota(order.begin(), order.end(), 0);
    std::stable_sort(order.begin(), order.end(), [&](u32 i, u32 k) { return keys[i] < keys[k]; });
    std::vector<float> sorted;
    for (const u32 i : order) sorted.push_back(values[i]);
    run.expect_same("values", run.download<float>(b, size), sorted);
    std::sort(keys.begin(), keys.end()), std::sort(wide.begin(), wide.end());
    run.expect_same("keys", run.download<u32>(a, size), keys);
    run.expect_same("merged", run.download<u64>(d, size), wide);
    // The kernel reads them striped: thread t's i-th is at i * threads + t; the sort takes them as blocked,
    // and leaves them striped.
    std::vector<s32> blocked;
    for (u32 t = 0; t < threads; ++t)
        for (u32 i = 0; i < items; ++i) blocked.push_back(signed_keys[i * threads + t]);
    const auto digits = [](s32 x) { return ((u32)x ^ 0x80000000) >> 4 & 0xffffff; };
    std::stable_sort(blocked.begin(), blocked.end(), [&](s32 x, s32 y) { return digits(x) > digits(y); });
    run.expect_same("descending", run.download<s32>(c, size), blocked);
}

static void scans(twin::Run& run) {
    const auto in = run.random_values<s32>(size);
    std::vector<s32> host(5 * size), totals(4);
    const u64 out = run.zeros<s32>(host.size()), total = run.zeros<s32>(4);
    for (u32 way = 0; way < 4; ++way) {
        u32 sum = 0;
        for (u32 i = 0; i < size; ++i) {
            if (i < size - 3) host[way * size + i] = (s32)sum;
            sum += i < size - 7 ? (u32)in[i] : ~0u;
        }
        totals[way] = (s32)sum;
    }
    for (u32 i = 0; i < threads; ++i) host[4 * size + i] = *std::max_element(in.begin(), in.begin() + i + 1);
    run.launch("scans", {.block = threads}, run.upload(in), out, total);
    run.expect_same("scans", run.download<s32>(out, host.size()), host);
    run.expect_same("totals", run.download<s32>(total, 4), totals);
}

static void counts(twin::Run& run) {
    const auto in = run.random_values<u32>(threads);
    const u64 out = run.zeros<u32>(6), bins = run.zeros<u32>(128);
    run.launch("reductions", {.block = threads}, run.upload(in), out);
    const u32 sum = std::accumulate(in.begin(), in.begin() + 77, 0u),
              least = *std::min_element(in.begin(), in.end());
    run.expect_same("reductions", run.download<u32>(out, 6), {sum, least, sum, least, sum, least});
    auto bytes = run.random_values<u8>(size);
    std::vector<u32> host(128);
    for (u8& x : bytes) x %= 61, ++host[x], ++host[64 + x];
    run.launch("histograms", {.block = threads}, run.upload(bytes), bins);
    run.expect_same("histograms", run.download<u32>(bins, 128), host);
}

static void arrangements(twin::Run& run) {
    const auto in = run.random_values<u32>(size);
    std::vector<u32> host(7 * size);
    for (u32 i = 0; i < size; ++i) {
        const u32 thread = i / items, item = i % items, warp = thread / 32 * 32;
        const u32 striped = item * threads + thread, warp_striped = warp * items + item * 32 + thread % 32,
                  rank = i * 77 % size;
        host[i] = in[striped], host[size + striped] = in[i];
        host[2 * size + i] = in[warp_striped], host[3 * size + warp_striped] = in[i];
        host[4 * size + rank] = in[i], host[5 * size + (rank % threads * items + rank / threads)] = in[i];
        host[6 * size + i] = i == 0 ? 0 : in[i - 1];
    }
    const u64 out = run.zeros<u32>(host.size());
    run.launch("arrangements", {.block = threads}, run.upload(in), out);
    run.expect_same("arrangements", run.download<u32>(out, host.size()), host);
}

static void neighbours(twin::Run& run) {
    auto in = run.random_values<s32>(size);
    for (s32& x : in) x %= 3;
    std::vector<s32> differences(size);
    std::vector<u32> flags(size);
    for (u32 i = 0; i < size; ++i) {
        differences[i] = i == 0 ? in[0] : in[i] - in[i - 1];
        flags[i] = (u32)(i == 0 || in[i] != in[i - 1]) | (u32)(i == size - 1 || in[i] != in[i + 1]) << 1;
    }
    const u64 d = run.zeros<s32>(size), f = run.zeros<u32>(size);
    run.launch("neighbours", {.block = threads}, run.upload(in), d, f);
    run.expect_same("differences", run.download<s32>(d, size), differences);
    run.expect_same("flags", run.download<u32>(f, size), flags);

    const auto values = run.random_values<u32>(2 * threads);
    std::vector<u32> lengths(2 * threads), decoded;
    for (u32 i = 0; i < lengths.size(); ++i) {
        lengths[i] = (u32)(1 + run.random() % 9);
        decoded.insert(decoded.end(), lengths[i], values[i]);
    }
    const u64 out = run.zeros<u32>(decoded.size()), total = run.zeros<u32>(1);
    run.launch("run_lengths", {.block = threads}, run.upload(values), run.upload(lengths), out, total);
    run.expect_same("total", run.download<u32>(total, 1), {(u32)decoded.size()});
    run.expect_same("decoded", run.download<u32>(out, decoded.size()), decoded);
}

TWIN(CubBlock, "sm_80 -default-device", "sm_90a nvcc --extended-lambda", "sm_75 nvcc -G --extended-lambda") {
    sorts(run), scans(run), counts(run), arrangements(run), neighbours(run);
}
#endif
}  // namespace cub_block
