// Bulk copies by ordinary headers: a block's tiles come with cp.async.bulk, which a barrier counts, and go
// back the same way.
#ifdef __CUDACC__
#include <cuda/barrier>
#include <cuda/ptx>
#endif
#include "twin.hpp"

namespace bulk_copies {

#ifdef __CUDACC__
ENTRY bulk(const u32* in, u32* out, u32 rounds) {
    using Barrier = cuda::barrier<cuda::thread_scope_block>;
    __shared__ alignas(128) u32 buffer[256];
#pragma nv_diag_suppress static_var_with_dynamic_init
    __shared__ Barrier barrier;
    const u32 t = threadIdx.x;
    if (t == 0) {
        init(&barrier, blockDim.x);
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
    }
    __syncthreads();
    for (u32 round = 0; round < rounds; ++round) {
        Barrier::arrival_token token;
        if (t == 0) {
            cuda::ptx::cp_async_bulk(cuda::ptx::space_cluster, cuda::ptx::space_global, buffer,
                                     in + round * 256, sizeof buffer,
                                     cuda::device::barrier_native_handle(barrier));
            token = cuda::device::barrier_arrive_tx(barrier, 1, sizeof buffer);
        } else {
            token = barrier.arrive();
        }
        barrier.wait(static_cast<Barrier::arrival_token&&>(token));
        for (u32 i = t; i < 256; i += blockDim.x) buffer[i] = buffer[i] * 5 + i;
        cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);
        __syncthreads();
        if (t == 0) {
            cuda::ptx::cp_async_bulk(cuda::ptx::space_global, cuda::ptx::space_shared, out + round * 256,
                                     buffer, sizeof buffer);
            cuda::ptx::cp_async_bulk_commit_group();
            cuda::ptx::cp_async_bulk_wait_group_read(cuda::ptx::n32_t<0>());
        }
        __syncthreads();
    }
}
#else
TWIN(BulkCopies, "sm_90a nvcc", "sm_90 nvcc -Xcicc -O0", "sm_90a nvcc -lineinfo") {
    const auto in = run.random_values<u32>(768);
    const u64 copied = run.zeros<u32>(768);
    run.launch("bulk", {.block = 64}, run.upload(in), copied, 3u);
    std::vector<u32> host;
    for (u32 i = 0; i < 768; ++i) host.push_back(in[i] * 5 + i % 256);
    run.expect_same("copied", run.download<u32>(copied, 768), host);
}
#endif
}  // namespace bulk_copies
