// Copies that run by themselves: cp.async through __pipeline_memcpy_async and cuda::pipeline with several
// stages, with sizes of 4, 8 and 16 and zeros behind the end.
#ifdef __CUDACC__
#include <cuda_pipeline.h>

#include <cuda/pipeline>
#endif
#include "twin.hpp"

namespace pipelines {

#ifdef __CUDACC__
ENTRY primitives(const u32* in, u32 rounds, u32* out) {
    __shared__ alignas(16) u32 stages[3][256];
    const u32 t = threadIdx.x;
    const auto fetch = [&](u32 round) {
        if (round < rounds) {
            u32* const to = stages[round % 3];
            const u32* const from = in + round * 256;
            __pipeline_memcpy_async(to + 4 * t, from + 4 * t, 16, round % 5 == 4 && t == 63 ? 8 : 0);
        }
        __pipeline_commit();
    };
    fetch(0), fetch(1);
    u32 sum = 0;
    for (u32 round = 0; round < rounds; ++round) {
        fetch(round + 2);
        __pipeline_wait_prior(2);
        __syncthreads();
        for (u32 i = 0; i < 4; ++i) sum = sum * 3 + stages[round % 3][(t * 4 + i * 67) % 256];
        __syncthreads();
    }
    out[t] = sum;
}

ENTRY staged(const u64* in, u32 rounds, u64* out) {
    __shared__ u64 stages[2][64];
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, 2> state;
    auto block = cuda::make_pipeline();
    const u32 t = threadIdx.x;
    u64 sum = 0;
    for (u32 round = 0; round <= rounds; ++round) {
        if (round < rounds) {
            block.producer_acquire();
            cuda::memcpy_async(&stages[round % 2][t], in + round * 64 + t, cuda::aligned_size_t<8>(8), block);
            block.producer_commit();
        }
        if (round == 0) continue;
        if (round < rounds)
            cuda::pipeline_consumer_wait_prior<1>(block);
        else
            cuda::pipeline_consumer_wait_prior<0>(block);
        __syncthreads();
        sum = sum * 5 + stages[(round - 1) % 2][63 - t];
        __syncthreads();
        block.consumer_release();
    }
    out[t] = sum;
}
#else
TWIN(Pipelines, "sm_80 nvcc", "sm_90a nvcc -G", "sm_75 nvcc -Xcicc -O0") {
    const u32 rounds = 7;
    const auto in = run.random_values<u32>(rounds * 256);
    const auto wide = run.random_values<u64>(rounds * 64);
    std::vector<u32> host(64);
    std::vector<u64> wide_host(64);
    for (u32 t = 0; t < 64; ++t)
        for (u32 round = 0; round < rounds; ++round) {
            for (u32 i = 0; i < 4; ++i) {
                const u32 at = (t * 4 + i * 67) % 256;
                host[t] = host[t] * 3 + (round % 5 == 4 && at >= 254 ? 0 : in[round * 256 + at]);
            }
            wide_host[t] = wide_host[t] * 5 + wide[round * 64 + 63 - t];
        }
    const u64 out = run.zeros<u32>(64), wide_out = run.zeros<u64>(64);
    run.launch("primitives", {.block = 64}, run.upload(in), rounds, out);
    run.expect_same("primitives", run.download<u32>(out, 64), host);
    run.launch("staged", {.block = 64}, run.upload(wide), rounds, wide_out);
    run.expect_same("staged", run.download<u64>(wide_out, 64), wide_host);
}
#endif
}  // namespace pipelines
