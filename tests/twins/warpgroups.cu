// A matrix product as libraries write it for sm_90a: persistent clusters of two blocks; in each a warpgroup
// whose one thread fetches tiles by tensor maps, half of B for both blocks, into a ring of stages that
// mbarriers guard, and two warpgroups that multiply with wgmma, give up or take registers, pack the sums with
// stmatrix and send them by a tensor map. C = A * B^T, of bf16.
#ifdef __CUDACC__
#include <cuda_bf16.h>
#else
#include "narrow.hpp"
#endif
#include "twin.hpp"

namespace warpgroups {

constexpr u32 tile_m = 128, tile_n = 128, tile_k = 64, stages = 3, cluster = 2;

#ifdef __CUDACC__
struct alignas(64) Map {
    u64 words[16];
};

constexpr u32 a_bytes = tile_m * tile_k * 2, b_bytes = tile_n * tile_k * 2, half_b_bytes = b_bytes / cluster,
              out_bytes = 64 * tile_n * 2;

DEVICE u32 shared_address(const void* p) { return static_cast<u32>(__cvta_generic_to_shared(p)); }
DEVICE u32 in_block(u32 address, u32 rank) {
    u32 mapped;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(mapped) : "r"(address), "r"(rank));
    return mapped;
}
DEVICE void wait_for(u32 barrier, u32 parity) {
    asm volatile(
        "{\n.reg .pred done;\nTRY:\nmbarrier.try_wait.parity.shared::cta.b64 done, [%0], %1;\n@!done bra "
        "TRY;\n}" ::"r"(barrier),
        "r"(parity)
        : "memory");
}
DEVICE void fetch(u32 to, const Map& map, u32 column, u32 row, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
        "%3}], [%4];" ::"r"(to),
        "l"(&map), "r"(column), "r"(row), "r"(barrier)
        : "memory");
}
DEVICE void fetch_for_all(u32 to, const Map& map, u32 column, u32 row, u32 barrier) {
    asm volatile(
        "cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster "
        "[%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
        "l"(&map), "r"(column), "r"(row), "r"(barrier), "h"(static_cast<u16>(3))
        : "memory");
}
DEVICE u64 descriptor(u32 address) {  // K-major, in rows of 128 bytes that are swizzled
    return (address >> 4 & 0x3FFF) | u64{1} << 16 | u64{1024 >> 4} << 32 | u64{1} << 62;
}
DEVICE void multiply(float (&d)[64], u64 a, u64 b, u32 adds) {
    asm volatile(
        "{\n.reg .pred adds;\nsetp.ne.b32 adds, %66, 0;\n"
        "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
        "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
        "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
        "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
        "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63}, "
        "%64, %65, adds, 1, 1, 0, 0;\n}"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
          "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]),
          "+f"(d[15]), "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]),
          "+f"(d[22]), "+f"(d[23]), "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]),
          "+f"(d[29]), "+f"(d[30]), "+f"(d[31]), "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]),
          "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]), "+f"(d[40]), "+f"(d[41]), "+f"(d[42]),
          "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]), "+f"(d[48]), "+f"(d[49]),
          "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]), "+f"(d[56]),
          "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
        : "l"(a), "l"(b), "r"(adds));
}

DEVICE void produce(const Map& a, const Map& b, u32 memory, u32 full, u32 empty, u32 rank, u32 tiles_m,
                    u32 tiles, u32 steps) {
    u32 slot = 0, parity = 1;  // all stages are empty at first
    for (u32 tile = blockIdx.x / cluster; tile < tiles; tile += gridDim.x / cluster) {
        const u32 row = (tile % tiles_m * cluster + rank) * tile_m, column = tile / tiles_m * tile_n;
        for (u32 step = 0; step < steps; ++step) {
            wait_for(empty + 8 * slot, parity);
            const u32 to = memory + slot * (a_bytes + b_bytes), barrier = full + 8 * slot;
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier),
                         "r"(a_bytes + b_bytes)
                         : "memory");
            fetch(to, a, step * tile_k, row, barrier);
            fetch_for_all(to + a_bytes + rank * half_b_bytes, b, step * tile_k,
                          column + rank * tile_n / cluster, barrier);
            if (++slot == stages) slot = 0, parity ^= 1;
        }
    }
    for (u32 i = 0; i < stages; ++i) {  // nobody of the cluster reads or signals any more
        wait_for(empty + 8 * slot, parity);
        if (++slot == stages) slot = 0, parity ^= 1;
    }
}

DEVICE void consume(const Map& c, u32 memory, u32 out, u32 full, u32 empty, u32 rank, u32 group, u32 tiles_m,
                    u32 tiles, u32 steps) {
    const u32 t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
    u32 slot = 0, parity = 0;
    for (u32 tile = blockIdx.x / cluster; tile < tiles; tile += gridDim.x / cluster) {
        const u32 row = (tile % tiles_m * cluster + rank) * tile_m + group * 64,
                  column = tile / tiles_m * tile_n;
        float d[64];
        for (u32 step = 0; step < steps; ++step) {
            wait_for(full + 8 * slot, parity);
            const u64 a = descriptor(memory + slot * (a_bytes + b_bytes) + group * a_bytes / 2),
                      b = descriptor(memory + slot * (a_bytes + b_bytes) + a_bytes);
            asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
            for (u32 k = 0; k < tile_k / 16; ++k) multiply(d, a + 2 * k, b + 2 * k, step + k);
            asm volatile("wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;" ::: "memory");
            if (t < cluster)
                asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(
                                 in_block(empty + 8 * slot, t))
                             : "memory");
            if (++slot == stages) slot = 0, parity ^= 1;
        }
        if (t == 0) asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
        asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory");
        for (u32 i = 0; i < 8; ++i) {  // 16 rows of each warp, 16 columns at a time
            u32 packed[4];
            for (u32 j = 0; j < 4; ++j) {
                const __nv_bfloat162 two = __floats2bfloat162_rn(d[8 * i + 2 * j], d[8 * i + 2 * j + 1]);
                packed[j] = reinterpret_cast<const u32&>(two);
            }
            const u32 to = out + ((16 * warp + lane % 16) * tile_n + 16 * i + lane / 16 * 8) * 2;
            asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(to),
                         "r"(packed[0]), "r"(packed[1]), "r"(packed[2]), "r"(packed[3])
                         : "memory");
        }
        asm volatile("fence.proxy.async.shared::cta;\nbar.sync %0, 128;" ::"r"(1 + group) : "memory");
        if (t == 0)
            asm volatile(
                "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%1, %2}], "
                "[%3];\ncp.async.bulk.commit_group;" ::"l"(&c),
                "r"(column), "r"(row), "r"(out)
                : "memory");
    }
    if (t == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) __launch_bounds__(384, 1)
    product(const __grid_constant__ Map a, const __grid_constant__ Map b, const __grid_constant__ Map c,
            u32 tiles_m, u32 tiles, u32 steps) {
    extern __shared__ __align__(1024) unsigned char memory[];
    __shared__ __align__(8) u64 barriers[2 * stages];
    const u32 full = shared_address(barriers), empty = full + 8 * stages, group = threadIdx.x / 128;
    u32 rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0) {
        for (u32 i = 0; i < stages; ++i) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(full + 8 * i) : "memory");
            asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(empty + 8 * i), "r"(2 * cluster)
                         : "memory");
        }
        asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    }
    asm volatile("barrier.cluster.arrive.relaxed.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::
                     : "memory");
    if (group == 0) {
        asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
        if (threadIdx.x == 0) produce(a, b, shared_address(memory), full, empty, rank, tiles_m, tiles, steps);
    } else {
        asm volatile("setmaxnreg.inc.sync.aligned.u32 232;");
        const u32 out = shared_address(memory) + stages * (a_bytes + b_bytes) + (group - 1) * out_bytes;
        consume(c, shared_address(memory), out, full, empty, rank, group - 1, tiles_m, tiles, steps);
    }
}
#else
TWIN(Warpgroups, "sm_90a nvcc -lineinfo") {
    const u32 tiles_m = 2, tiles_n = 3, steps = 5;
    // behind the end of K are zeros
    const u32 m = tiles_m * cluster * tile_m, n = tiles_n * tile_n, k = steps * tile_k - 8;
    std::vector<float> a(m * k), b(n * k), c(m * n);
    for (auto* matrix : {&a, &b})
        // sums are exact in every order
        for (float& value : *matrix) value = static_cast<float>(static_cast<int>(run.random() % 7) - 3);
    for (u32 i = 0; i < m; ++i)
        for (u32 j = 0; j < n; ++j)
            c[i * n + j] = std::inner_product(&a[i * k], &a[i * k] + k, &b[j * k], 0.0f);
    const auto narrowed = [](const std::vector<float>& wide) {
        std::vector<u16> bits(wide.size());
        std::transform(wide.begin(), wide.end(), bits.begin(),
                       [](float value) { return twin::bits_of_bf16(twin::rounded(value, twin::bf16)); });
        return bits;
    };
    const u64 a_memory = run.upload(narrowed(a)), b_memory = run.upload(narrowed(b)),
              c_memory = run.zeros<u16>(m * n);
    const auto a_map = run.map_of_bf16(a_memory, k, m, tile_k, tile_m, true),
               b_map = run.map_of_bf16(b_memory, k, n, tile_k, tile_n / cluster, true),
               c_map = run.map_of_bf16(c_memory, n, m, tile_n, 64, false);
    const u32 shared = stages * (tile_m + tile_n) * tile_k * 2 + tile_m * tile_n * 2;
    for (const u32 clusters : {1u, 2u, 3u})
        run.launch("product", {.grid = clusters * cluster, .block = 384, .shared = shared}, a_map, b_map,
                   c_map, tiles_m, tiles_m * tiles_n, steps);
    run.expect_same("product", run.download<u16>(c_memory, m * n), narrowed(c));
}
#endif

}  // namespace warpgroups
