// CUB over a warp: scans, reductions of segments, merge sort, exchanges, loads and stores, of whole and of
// smaller logical warps.
#ifdef __CUDACC__
#include <cub/warp/warp_exchange.cuh>
#include <cub/warp/warp_load.cuh>
#include <cub/warp/warp_merge_sort.cuh>
#include <cub/warp/warp_reduce.cuh>
#include <cub/warp/warp_scan.cuh>
#include <cub/warp/warp_store.cuh>
#endif
#include "twin.hpp"

namespace cub_warp {

constexpr u32 threads = 64, items = 3;

#ifdef __CUDACC__
template <u32 Width, class T> DEVICE void scan_with(const T* in, T* out) {
    using Scan = cub::WarpScan<T, Width>;
    __shared__ typename Scan::TempStorage shared[threads / Width];
    T before, sum, total;
    Scan(shared[threadIdx.x / Width]).Scan(in[threadIdx.x], sum, before, T(0), [](T a, T b) {
        return a + b;
    });
    __syncwarp();
    Scan(shared[threadIdx.x / Width]).InclusiveSum(in[threadIdx.x], sum, total);
    out[3 * threadIdx.x] = before, out[3 * threadIdx.x + 1] = sum, out[3 * threadIdx.x + 2] = total;
}
ENTRY scans(const u32* in, u32* out, const double* reals, double* real_out) {
    scan_with<32>(in, out), scan_with<8>(in, out + 3 * threads), scan_with<2>(in, out + 6 * threads);
    scan_with<16>(reals, real_out);
}
ENTRY reductions(const u32* in, u32* out) {
    using Reduce = cub::WarpReduce<u32>;
    using Small = cub::WarpReduce<u32, 16>;
    __shared__ typename Reduce::TempStorage shared[2];
    __shared__ typename Small::TempStorage small[4];
    const u32 t = threadIdx.x, x = in[t];
    const u32 sum = Reduce(shared[t / 32]).Sum(x), part = Reduce(shared[t / 32]).Sum(x, 13);
    const u32 segment = Reduce(shared[t / 32]).HeadSegmentedSum(x, x % 4 == 0);
    const u32 most = Small(small[t / 16]).Reduce(x, [](u32 a, u32 b) { return a > b ? a : b; });
    out[t] = t % 32 == 0 ? sum : 0, out[threads + t] = t % 32 == 0 ? part : 0;
    out[2 * threads + t] = t % 32 == 0 || x % 4 == 0 ? segment : 0,
                      out[3 * threads + t] = t % 16 == 0 ? most : 0;
}
ENTRY sorts(const s32* in, s32* out, const u32* ranks) {
    using Load = cub::WarpLoad<s32, items, cub::WARP_LOAD_TRANSPOSE, 32>;
    using Store = cub::WarpStore<s32, items, cub::WARP_STORE_STRIPED, 32>;
    using Sort = cub::WarpMergeSort<s32, items, 32>;
    using Exchange = cub::WarpExchange<s32, items, 32>;
    __shared__ union {
        typename Load::TempStorage load;
        typename Store::TempStorage store;
        typename Sort::TempStorage sort;
        typename Exchange::TempStorage exchange;
    } shared[2];
    auto& mine = shared[threadIdx.x / 32];
    const u32 at = threadIdx.x / 32 * 32 * items;
    s32 x[items];
    Load(mine.load).Load(in + at, x);
    __syncwarp();
    Sort(mine.sort).Sort(x, [](s32 a, s32 b) { return a < b; });
    __syncwarp();
    Exchange(mine.exchange).BlockedToStriped(x, x);
    __syncwarp();
    Store(mine.store).Store(out + at, x);
    u32 to[items];
    for (u32 i = 0; i < items; ++i) to[i] = ranks[threadIdx.x % 32 * items + i];
    __syncwarp();
    Exchange(mine.exchange).ScatterToStriped(x, to);
    __syncwarp();
    Store(mine.store).Store(out + threads * items + at, x);
}
#else

template <class T> static void scan_on_host(const std::vector<T>& in, u32 width, std::vector<T>& out) {
    for (u32 t = 0; t < threads; ++t) {
        const u32 first = t / width * width;
        T before = 0, total = 0;
        for (u32 i = first; i < t; ++i) before += in[i];
        for (u32 i = first; i < std::min(first + width, threads); ++i) total += in[i];
        out.insert(out.end(), {before, before + in[t], total});
    }
}

TWIN(CubWarp, "sm_80 -default-device", "sm_90a nvcc --extended-lambda", "sm_75 nvcc -G --extended-lambda",
     "sm_120a -default-device") {
    const auto in = run.random_values<u32>(threads);
    std::vector<double> reals(threads), real_host;
    for (u32 i = 0; i < threads; ++i) reals[i] = in[i] % 4096;  // sums are exact in any order
    std::vector<u32> host;
    for (const u32 width : {32u, 8u, 2u}) scan_on_host(in, width, host);
    scan_on_host(reals, 16, real_host);
    const u64 at = run.upload(in), out = run.zeros<u32>(host.size()),
              real_out = run.zeros<double>(real_host.size());
    run.launch("scans", {.block = threads}, at, out, run.upload(reals), real_out);
    run.expect_same("scans", run.download<u32>(out, host.size()), host);
    run.expect_same("reals", run.download<double>(real_out, real_host.size()), real_host);

    host.assign(4 * threads, 0);
    for (u32 t = 0; t < threads; ++t) {
        if (t % 32 == 0)
            host[t] = std::accumulate(in.begin() + t, in.begin() + t + 32, 0u),
            host[threads + t] = std::accumulate(in.begin() + t, in.begin() + t + 13, 0u);
        if (t % 32 == 0 || in[t] % 4 == 0) {
            u32 end = t + 1;
            while (end % 32 != 0 && in[end] % 4 != 0) ++end;
            host[2 * threads + t] = std::accumulate(in.begin() + t, in.begin() + end, 0u);
        }
        if (t % 16 == 0) host[3 * threads + t] = *std::max_element(in.begin() + t, in.begin() + t + 16);
    }
    const u64 reduced = run.zeros<u32>(host.size());
    run.launch("reductions", {.block = threads}, at, reduced);
    run.expect_same("reductions", run.download<u32>(reduced, host.size()), host);

    auto keys = run.random_values<s32>(threads * items);
    std::vector<u32> ranks(32 * items);
    std::iota(ranks.begin(), ranks.end(), 0);
    std::shuffle(ranks.begin(), ranks.end(), run.random);
    const u64 sorted = run.zeros<s32>(2 * keys.size());
    run.launch("sorts", {.block = threads}, run.upload(keys), sorted, run.upload(ranks));
    std::vector<s32> scattered(keys.size());
    for (u32 warp = 0; warp < 2; ++warp) {
        const u32 from = warp * 32 * items;
        std::sort(keys.begin() + from, keys.begin() + from + 32 * items);
        for (u32 t = 0; t < 32; ++t)
            for (u32 i = 0; i < items; ++i) scattered[from + ranks[t * items + i]] = keys[from + i * 32 + t];
    }
    auto expected = keys;
    expected.insert(expected.end(), scattered.begin(), scattered.end());
    run.expect_same("sorts", run.download<s32>(sorted, expected.size()), expected);
}
#endif
}  // namespace cub_warp
