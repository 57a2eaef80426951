// Cooperative groups: tiles of every width, partitions of partitions, coalesced threads, labelled and binary
// partitions, reductions and scans of groups, memcpy_async, the block as a group.
#ifdef __CUDACC__
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#endif
#include "twin.hpp"

namespace groups {

constexpr u32 results = 16;

#ifdef __CUDACC__
namespace cg = cooperative_groups;

template <u32 Width> DEVICE u32 tile_sum(const cg::thread_block& block, u32 x) {
    const auto tile = cg::tiled_partition<Width>(block);
    for (u32 d = tile.size() / 2; d > 0; d /= 2) x += tile.shfl_xor(x, d);
    return x * 3 + tile.thread_rank() + tile.meta_group_rank() * 100;
}

ENTRY tiles(const u32* in, u32* out) {
    const auto block = cg::this_thread_block();
    const u32 t = block.thread_rank(), x = in[t];
    u32 r[results] = {};
    r[0] = tile_sum<32>(block, x), r[1] = tile_sum<16>(block, x), r[2] = tile_sum<4>(block, x),
    r[3] = tile_sum<1>(block, x);
    const auto warp = cg::tiled_partition<32>(block);
    const auto quarter = cg::tiled_partition<8>(warp);
    r[4] = cg::reduce(quarter, x, cg::plus<u32>()), r[5] = cg::reduce(warp, (s32)x, cg::less<s32>()),
    r[6] = cg::reduce(warp, x, cg::bit_xor<u32>());
    r[7] = cg::inclusive_scan(quarter, x), r[8] = cg::exclusive_scan(warp, x, cg::greater<u32>());
    r[9] = warp.ballot(x & 1), r[10] = quarter.any(x % 16 == 0) * 2 + quarter.all(x % 16),
    r[11] = quarter.match_any(x % 3);
    if (x % 3 == 0) {
        const auto active = cg::coalesced_threads();
        r[12] = active.thread_rank() * 100 + active.size(), r[13] = active.shfl(x, 0);
        r[14] = cg::reduce(active, x, cg::plus<u32>());
    }
    warp.sync();
    const auto same = cg::labeled_partition(warp, (int)(x % 4));
    r[15] = same.size() * 1000 + same.thread_rank();
    for (u32 k = 0; k < results; ++k) out[t * results + k] = r[k];
}

ENTRY blocks(const u32* in, u32* out) {
    __shared__ u32 staged[128];
    const auto block = cg::this_thread_block();
    cg::memcpy_async(block, staged, in + blockIdx.x * 128, sizeof staged);
    cg::wait(block);
    const u32 t = block.thread_rank(), x = staged[127 - t] + block.group_index().x + block.dim_threads().x;
    block.sync();
    staged[t] = x;
    cg::sync(block);
    const auto pair = cg::binary_partition(cg::tiled_partition<32>(block), x % 2 == 0);
    out[blockIdx.x * 128 + t] = staged[(t + 1) % 128] * 64 + pair.size();
}
#else

template <class Function> static u32 over(const u32* x, u32 count, u32 start, Function f) {
    return std::accumulate(x, x + count, start, f);
}

TWIN(Groups, "sm_80", "sm_90a nvcc", "sm_75 nvcc -G", "sm_90a nvcc -G") {
    auto in = run.random_values<u32>(256);
    for (u32 i = 0; i < 128; i += 2) in[i] = in[i] % 40 * 4;
    std::vector<u32> host;
    for (u32 t = 0; t < 128; ++t) {
        const u32 x = in[t], lane = t % 32, *warp = in.data() + t / 32 * 32, *quarter = in.data() + t / 8 * 8;
        const auto tile = [&](u32 width) {
            return over(in.data() + t / width * width, width, 0, std::plus<u32>()) * 3 + t % width +
                   t / width * 100;
        };
        u32 r[results] = {tile(32), tile(16), tile(4), tile(1)};
        r[4] = over(quarter, 8, 0, std::plus<u32>());
        r[5] = over(warp, 32, warp[0], [](u32 a, u32 b) { return (u32)std::min((s32)a, (s32)b); });
        r[6] = over(warp, 32, 0, std::bit_xor<u32>()), r[7] = over(quarter, t % 8 + 1, 0, std::plus<u32>());
        r[8] = over(warp, lane, 0, [](u32 a, u32 b) { return std::max(a, b); });
        bool any = false, all = true;
        u32 rank = 0, threes = 0, first = 0, sum = 0, same = 0, same_rank = 0;
        for (u32 i = 0; i < 8; ++i) {
            any = any || quarter[i] % 16 == 0, all = all && quarter[i] % 16;
            r[11] |= (u32)(quarter[i] % 3 == x % 3) << i;
        }
        for (u32 i = 32; i-- > 0;) {
            r[9] |= (warp[i] & 1) << i;
            if (warp[i] % 3 == 0) ++threes, rank += i < lane, first = warp[i], sum += warp[i];
            if (warp[i] % 4 == x % 4) ++same, same_rank += i < lane;
        }
        r[10] = any * 2u + all;
        if (x % 3 == 0) r[12] = rank * 100 + threes, r[13] = first, r[14] = sum;
        r[15] = same * 1000 + same_rank;
        host.insert(host.end(), r, r + results);
    }
    const u64 at = run.upload(in), out = run.zeros<u32>(host.size()), block_out = run.zeros<u32>(256);
    run.launch("tiles", {.block = 128}, at, out);
    run.expect_same("tiles", run.download<u32>(out, host.size()), host);

    host.assign(256, 0);
    for (u32 block = 0; block < 2; ++block) {
        const auto value = [&](u32 t) { return in[block * 128 + 127 - t] + block + 128; };
        for (u32 t = 0; t < 128; ++t) {
            u32 even = 0;
            for (u32 i = t / 32 * 32; i < t / 32 * 32 + 32; ++i) even += value(i) % 2 == value(t) % 2;
            host[block * 128 + t] = value((t + 1) % 128) * 64 + even;
        }
    }
    run.launch("blocks", {.grid = 2, .block = 128}, at, block_out);
    run.expect_same("blocks", run.download<u32>(block_out, 256), host);
}
#endif
}  // namespace groups
