// Hopper's clusters by ordinary headers: memory of other blocks, cluster barriers, atomics on a neighbour's
// shared memory.
#ifdef __CUDACC__
#include <cooperative_groups.h>
#endif
#include "twin.hpp"

namespace clusters {

#ifdef __CUDACC__
namespace cg = cooperative_groups;

ENTRY __cluster_dims__(4, 1, 1) rotate(const u32* in, u32* out) {
    __shared__ u32 mine[32];
    const cg::cluster_group cluster = cg::this_cluster();
    const u32 rank = cluster.block_rank(), blocks = cluster.num_blocks();
    mine[threadIdx.x] = in[thread_number()];
    cluster.sync();
    const u32* const next = cluster.map_shared_rank(mine, (rank + 1) % blocks);
    const u32* const before = cluster.map_shared_rank(mine, (rank + blocks - 1) % blocks);
    const u32 x = next[31 - threadIdx.x] * 3 + before[threadIdx.x];
    cluster.sync();  // nobody leaves while its memory is read
    out[thread_number()] = x + rank;
}

// A histogram of the cluster: each block holds a part of the bins.
ENTRY __cluster_dims__(2, 1, 1) histogram(const u8* in, u32 count, u32* out) {
    __shared__ u32 bins[128];
    const cg::cluster_group cluster = cg::this_cluster();
    for (u32 i = threadIdx.x; i < 128; i += blockDim.x) bins[i] = 0;
    cluster.sync();
    for (u32 i = cluster.thread_rank(); i < count; i += cluster.num_threads()) {
        u32* const owner = cluster.map_shared_rank(bins, in[i] / 128);
        atomicAdd(owner + in[i] % 128, 1);
    }
    cluster.sync();
    for (u32 i = threadIdx.x; i < 128; i += blockDim.x) out[cluster.block_rank() * 128 + i] = bins[i];
}

#else
TWIN(Clusters, "sm_90a nvcc", "sm_90 nvcc -Xcicc -O0", "sm_90a nvcc -lineinfo") {
    const auto in = run.random_values<u32>(512);
    const auto bytes = run.random_values<u8>(900);
    std::vector<u32> host;
    for (u32 i = 0; i < 256; ++i) {
        const u32 rank = i / 32 % 4, first = i / 128 * 128, t = i % 32;
        host.push_back(in[first + (rank + 1) % 4 * 32 + 31 - t] * 3 + in[first + (rank + 3) % 4 * 32 + t] +
                       rank);
    }
    const u64 at = run.upload(in), out = run.zeros<u32>(256), bins = run.zeros<u32>(256);
    run.launch("rotate", {.grid = 8, .block = 32}, at, out);
    run.expect_same("rotated", run.download<u32>(out, 256), host);

    std::vector<u32> counts(256);
    for (const u8 x : bytes) ++counts[x];
    run.launch("histogram", {.grid = 2, .block = 64}, run.upload(bytes), 900u, bins);
    run.expect_same("histogram", run.download<u32>(bins, 256), counts);
}
#endif
}  // namespace clusters
