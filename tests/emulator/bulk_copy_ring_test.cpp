// A kernel of CUDA C++ that copies boxes by a ring of stages, as TMA kernels are built.
#include <gtest/gtest.h>

#include <array>
#include <utility>
#include <vector>

#include "ptxgraft/device.hpp"
#include "support/cache.hpp"

namespace ptxgraft {
namespace {

// A matrix product as TMA kernels are built: one thread fills a ring of stages, all others wait for full ones
// and give them back, a box of the result is stored at the end.
constexpr const char* ring_of_stages = R"(
typedef unsigned u32; typedef unsigned long long u64;
struct alignas(64) Map { char bytes[128]; };
__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ void wait(u32 bar, u32 parity) {
    asm volatile("{\n.reg .pred p;\nagain:\nmbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n@p bra done;\nbra again;\ndone:\n}"
                 :: "r"(bar), "r"(parity) : "memory");
}
__device__ void load(u32 to, const Map* map, int x, int y, u32 bar) {
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3}], [%4];"
                 :: "r"(to), "l"((u64)map), "r"(x), "r"(y), "r"(bar) : "memory");
}
constexpr int tile = 32, stages = 3;  // 32 floats are a row of 128 bytes: swizzled by 16
extern "C" __global__ void product(const __grid_constant__ Map a_map, const __grid_constant__ Map b_map,
                                   const __grid_constant__ Map c_map, int k) {
    __shared__ alignas(1024) float a[stages][tile][tile], b[stages][tile][tile], c[tile][tile];
    __shared__ u64 full[stages], empty[stages];
    const int x = blockIdx.x * tile, y = blockIdx.y * tile, steps = (k + tile - 1) / tile, thread = threadIdx.x - 32;
    if (threadIdx.x == 0) {
        for (int s = 0; s < stages; ++s) {
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(shared_address(&full[s])));
            asm volatile("mbarrier.init.shared::cta.b64 [%0], 256;" :: "r"(shared_address(&empty[s])));
        }
        asm volatile("fence.mbarrier_init.release.cluster;");
    }
    __syncthreads();
    if (threadIdx.x < 32) {
        if (threadIdx.x == 0)
            for (int i = 0; i < steps; ++i) {
                const int s = i % stages;
                wait(shared_address(&empty[s]), (i / stages & 1) ^ 1);
                asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" :: "r"(shared_address(&full[s])), "r"(2 * tile * tile * 4));
                load(shared_address(a[s]), &a_map, i * tile, y, shared_address(&full[s]));
                load(shared_address(b[s]), &b_map, x, i * tile, shared_address(&full[s]));
            }
    } else {
        float sums[4] = {};
        for (int i = 0; i < steps; ++i) {
            const int s = i % stages;
            wait(shared_address(&full[s]), i / stages & 1);
            for (int j = 0; j < tile; ++j)
                for (int e = 0; e < 4; ++e) {
                    const int row = thread / 32 + 8 * e, column = thread % 32;
                    sums[e] += a[s][row][((j / 4) ^ (row % 8)) * 4 + j % 4] * b[s][j][((column / 4) ^ (j % 8)) * 4 + column % 4];
                }
            asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" :: "r"(shared_address(&empty[s])) : "memory");
        }
        for (int e = 0; e < 4; ++e) c[thread / 32 + 8 * e][thread % 32] = sums[e];
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        asm volatile("bar.sync 1, 256;" ::: "memory");
        if (thread == 0) {
            asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];\n"
                         "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" :: "l"((u64)&c_map), "r"(x), "r"(y), "r"(shared_address(c)) : "memory");
        }
    }
}
)";

TEST(BulkCopy, AProductWithARingOfStages) {
    const Device emulator = std::move(*Device::open("emulator:sm_90a"));
    const auto compiled = compile_cuda(ring_of_stages, {.target = "sm_90a", .cache = &test::cache()});
    ASSERT_TRUE(compiled) << describe(compiled.error(), ring_of_stages);
    const unsigned m = 40, n = 72, k = 148;
    std::vector<float> a(m * k), b(k * n);
    for (unsigned i = 0; i < a.size(); ++i) a[i] = static_cast<float>(i % 13) - 6;
    for (unsigned i = 0; i < b.size(); ++i) b[i] = static_cast<float>(i % 7) - 3;
    auto a_buffer = emulator.upload(a), b_buffer = emulator.upload(b),
         c_buffer = emulator.upload(std::vector<float>(m * n, -1));
    const auto map = [](const Buffer& buffer, std::uint64_t rows, std::uint64_t columns,
                        TensorSwizzle swizzle) {
        return buffer.encode_tensor_map({.type = TensorType::f32,
                                         .dims = {columns, rows},
                                         .strides = {columns * 4},
                                         .box = {32, 32},
                                         .swizzle = swizzle});
    };
    const auto a_map = map(*a_buffer, m, k, TensorSwizzle::bytes128),
               b_map = map(*b_buffer, k, n, TensorSwizzle::bytes128),
               c_map = map(*c_buffer, m, n, TensorSwizzle::none);
    ASSERT_TRUE(a_map && b_map && c_map);
    auto function = emulator.load(compiled->text, "product");
    ASSERT_TRUE(function) << describe(function.error());
    const auto done = function->launch({.grid = {3, 2, 1}, .block = {288, 1, 1}},
                                       std::array<Argument, 4>{*a_map, *b_map, *c_map, int(k)});
    ASSERT_TRUE(done) << describe(done.error());
    const auto c = *c_buffer->download<float>();
    for (unsigned row = 0; row < m; ++row)
        for (unsigned column = 0; column < n; ++column) {
            float sum = 0;
            for (unsigned i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + column];
            ASSERT_EQ(c[row * n + column], sum) << row << " " << column;
        }
}

}  // namespace
}  // namespace ptxgraft
