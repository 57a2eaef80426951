// Clusters: their barrier, distributed shared memory, multicast, and grids whose blocks all wait for each
// other.
#include <gmock/gmock.h>

#include <numeric>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"
#include "support/cache.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr const char* cluster_source = R"(
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
typedef unsigned int u32; typedef unsigned long long u64;
#define ENTRY extern "C" __global__ void

// Each block adds its numbers, then reads the sums of the whole cluster.
ENTRY cluster_sum(const u32* in, u32* out) {
    __shared__ u32 sum;
    cg::cluster_group cluster = cg::this_cluster();
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    cluster.sync();
    if (threadIdx.x == 0) {
        u32 all = 0;
        for (u32 r = 0; r < cluster.num_blocks(); ++r) all += *cluster.map_shared_rank(&sum, r);
        out[blockIdx.x] = all;
    }
    cluster.sync();
}

// A histogram whose bins are spread over the cluster.
ENTRY spread_histogram(const u32* in, u32 n, u32* bins) {
    extern __shared__ u32 mine[];
    cg::cluster_group cluster = cg::this_cluster();
    const u32 per_block = 64, all = per_block * cluster.num_blocks();
    for (u32 i = threadIdx.x; i < per_block; i += blockDim.x) mine[i] = 0;
    cluster.sync();
    for (u32 i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        u32 bin = in[i] % all;
        atomicAdd(cluster.map_shared_rank(mine, bin / per_block) + bin % per_block, 1);
    }
    cluster.sync();
    for (u32 i = threadIdx.x; i < per_block; i += blockDim.x) atomicAdd(bins + cluster.block_rank() * per_block + i, mine[i]);
}

// What a block knows of itself.
ENTRY places(u32* out) {
    u32 v[12];
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(v[0]));
    asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(v[1]));
    asm("mov.u32 %0, %%cluster_ctaid.x;" : "=r"(v[2]));
    asm("mov.u32 %0, %%cluster_ctaid.y;" : "=r"(v[3]));
    asm("mov.u32 %0, %%cluster_ctaid.z;" : "=r"(v[4]));
    asm("mov.u32 %0, %%cluster_nctaid.y;" : "=r"(v[5]));
    asm("mov.u32 %0, %%clusterid.x;" : "=r"(v[6]));
    asm("mov.u32 %0, %%clusterid.y;" : "=r"(v[7]));
    asm("mov.u32 %0, %%clusterid.z;" : "=r"(v[8]));
    asm("mov.u32 %0, %%nclusterid.x;" : "=r"(v[9]));
    asm("mov.u32 %0, %%nclusterid.z;" : "=r"(v[10]));
    asm("{ .reg .pred p; mov.pred p, %%is_explicit_cluster; selp.u32 %0, 1, 0, p; }" : "=r"(v[11]));
    u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    if (threadIdx.x == 0)
        for (int i = 0; i < 12; ++i) out[block * 12 + i] = v[i];
}

extern "C" __global__ void __cluster_dims__(2, 1, 1) fixed(u32* out) {
    if (threadIdx.x == 0) atomicAdd(out, cg::this_cluster().num_blocks());
}

// All blocks of the grid in step.
ENTRY grid_steps(u32* data, u32 steps) {
    cg::grid_group grid = cg::this_grid();
    const u32 n = gridDim.x * blockDim.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    for (u32 s = 0; s < steps; ++s) {
        u32 next = ((volatile u32*)data)[(i + 1) % n] + 1;
        grid.sync();
        ((volatile u32*)data)[i] = next;
        grid.sync();
    }
}
ENTRY grid_is_valid(u32* out) { *out = cg::this_grid().is_valid(); }
)";

class EmulatorCluster : public testing::Test {
  protected:
    void SetUp() override {
        static const std::string text = [] {
            auto ptx = compile_cuda(cluster_source, {.target = "sm_90a", .cache = &test::cache()});
            EXPECT_TRUE(ptx) << (ptx ? "" : describe(ptx.error(), cluster_source));
            return ptx ? ptx->text : std::string();
        }();
        const auto loaded = machine.load(text);
        ASSERT_TRUE(loaded) << describe(loaded.error(), text);
    }
    Error error_of(std::string_view entry, const LaunchConfig& shape) {
        const u64 out = machine.upload(std::vector<u32>(4096));
        const auto done = machine.launch(entry, shape, out);
        return done ? Error{} : done.error();
    }
    Machine machine{EmulatorOptions{.sm = 90}};
};

TEST_F(EmulatorCluster, BlocksReadEachOthersSharedMemory) {
    for (const u32 size : {1u, 2u, 4u, 8u, 16u}) {
        std::vector<u32> in(16 * 96);
        std::iota(in.begin(), in.end(), 7);
        const u64 a = machine.upload(in), out = machine.upload(std::vector<u32>(16));
        EXPECT_RUNS(machine,
                    machine.launch("cluster_sum", {.grid = {16}, .block = {96}, .cluster = {size}}, a, out));
        const auto sums = machine.download<u32>(out, 16);
        for (u32 block = 0; block < 16; ++block) {
            const auto first = in.begin() + block / size * size * 96;
            EXPECT_EQ(sums[block], std::accumulate(first, first + size * 96, 0u)) << size << ' ' << block;
        }
    }
}

TEST_F(EmulatorCluster, AtomicsReachSharedMemoryOfOtherBlocks) {
    std::vector<u32> in(5000), bins(256);
    for (u32 i = 0; i < in.size(); ++i) ++bins[(in[i] = i * 2654435761u >> 7) % 256];
    const u64 a = machine.upload(in), out = machine.upload(std::vector<u32>(256));
    EXPECT_RUNS(machine, machine.launch("spread_histogram",
                                        {.grid = {8}, .block = {64}, .shared_bytes = 256, .cluster = {4}}, a,
                                        u32{5000}, out));
    EXPECT_EQ(machine.download<u32>(out, 256), bins);
}

// PTX ISA 2.2.3 and chapter 10, computed from the block's place.
TEST_F(EmulatorCluster, SpecialRegistersSayWhereABlockIs) {
    const Dim3 grid{4, 6, 2}, cluster{2, 3, 1};
    const u64 out = machine.upload(std::vector<u32>(48 * 12));
    EXPECT_RUNS(machine, machine.launch("places", {.grid = grid, .block = {32}, .cluster = cluster}, out));
    const auto all = machine.download<u32>(out, 48 * 12);
    for (u32 z = 0; z < grid.z; ++z)
        for (u32 y = 0; y < grid.y; ++y)
            for (u32 x = 0; x < grid.x; ++x) {
                const u32* v = &all[((z * grid.y + y) * grid.x + x) * 12];
                const std::vector<u32> expected = {
                    x % 2 + y % 3 * 2, 6, x % 2, y % 3, 0, 3, x / 2, y / 3, z, 2, 2, 1};
                EXPECT_EQ(std::vector<u32>(v, v + 12), expected) << x << ' ' << y << ' ' << z;
            }
    EXPECT_RUNS(machine, machine.launch("places", {.grid = {2}, .block = {32}}, out));
    EXPECT_EQ(machine.download<u32>(out, 24),
              (std::vector<u32>{0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 1, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 2, 1, 0}));
}

TEST_F(EmulatorCluster, ResultsDoNotDependOnHostThreads) {
    for (const u32 threads : {1u, 2u, 5u}) {
        Machine other({.threads = threads, .sm = 90});
        ASSERT_TRUE(other.load(ptx(*machine.module)));
        const u64 out = other.upload(std::vector<u32>(48 * 12));
        EXPECT_RUNS(other,
                    other.launch("places", {.grid = {4, 6, 2}, .block = {32}, .cluster = {2, 3, 1}}, out));
        EXPECT_EQ(other.download<u32>(out, 36),
                  (std::vector<u32>{0, 6, 0, 0, 0, 3, 0, 0, 0, 2, 2, 1, 1, 6, 1, 0, 0, 3,
                                    0, 0, 0, 2, 2, 1, 0, 6, 0, 0, 0, 3, 1, 0, 0, 2, 2, 1}));
    }
}

TEST_F(EmulatorCluster, AnEntryMayBringItsOwnCluster) {
    const u64 out = machine.upload(std::vector<u32>(1));
    EXPECT_RUNS(machine, machine.launch("fixed", {.grid = {6}, .block = {32}}, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], 12u);
    EXPECT_THAT(machine.text_of(error_of("fixed", {.grid = {6}, .block = {32}, .cluster = {3}})),
                HasSubstr("requires 2 x 1 x 1"));
    EXPECT_THAT(machine.text_of(error_of("fixed", {.grid = {5}, .block = {32}})),
                HasSubstr("grid of 5 x 1 x 1; it is a multiple of the cluster of 2 x 1 x 1"));
}

TEST_F(EmulatorCluster, LaunchesBeyondTheLimitsAreRefused) {
    EXPECT_THAT(machine.text_of(error_of("places", {.grid = {32}, .block = {32}, .cluster = {32}})),
                HasSubstr("at most 16 blocks"));
    EXPECT_THAT(machine.text_of(error_of("places", {.grid = {8, 8}, .block = {32}, .cluster = {8, 4}})),
                HasSubstr("at most 16 blocks"));
    EXPECT_THAT(machine.text_of(error_of("places", {.grid = {8}, .block = {32}, .cluster = {0}})),
                HasSubstr("cluster of 0 x 1 x 1 is empty"));
    Machine older({.sm = 80});
    ASSERT_TRUE(older.load(ptx(*machine.module)));
    const auto refused = older.launch("places", {.grid = {8}, .block = {32}, .cluster = {2}}, u64{0});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::launch_shape_invalid);
    EXPECT_THAT(older.text_of(refused.error()), HasSubstr("clusters need sm_90"));
}

TEST_F(EmulatorCluster, ACooperativeGridWaitsForItself) {
    const u32 blocks = 40, threads = 64, n = blocks * threads, steps = 5;
    std::vector<u32> data(n);
    for (u32 i = 0; i < n; ++i) data[i] = i * i;
    const u64 at = machine.upload(data);
    EXPECT_RUNS(
        machine,
        machine.launch("grid_steps", {.grid = {blocks}, .block = {threads}, .cooperative = true}, at, steps));
    const auto after = machine.download<u32>(at, n);
    for (u32 i = 0; i < n; ++i) EXPECT_EQ(after[i], data[(i + steps) % n] + steps) << i;
}

TEST_F(EmulatorCluster, OnlyACooperativeGridHasABarrier) {
    const u64 out = machine.upload(std::vector<u32>(1, 9));
    EXPECT_RUNS(machine, machine.launch("grid_is_valid", {.grid = {1}, .block = {1}}, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], 0u);
    EXPECT_RUNS(machine,
                machine.launch("grid_is_valid", {.grid = {1}, .block = {1}, .cooperative = true}, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], 1u);
    // 1024 threads are 32 warps: two blocks on each of 132 multiprocessors.
    EXPECT_THAT(machine.text_of(error_of("places", {.grid = {265}, .block = {1024}, .cooperative = true})),
                HasSubstr("264 fit on the device at once"));
    EXPECT_EQ(error_of("places", {.grid = {264}, .block = {1024}, .cooperative = true}).code, Errc::ok);
}

// --- in PTX: addresses, arrivals apart from waits

struct ClusterRow {
    std::string name, body;
    std::vector<u32> expected;  // block b leaves its value in out[b]
};

const ClusterRow cluster_rows[] = {
    {"AddressesOfTheSpaceAndGenericOnes",
     "mov.u32 %r3, %cluster_ctarank;\nxor.b32 %r4, %r3, 1;\nst.shared.u32 [s], "
     "%r3;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
     "mapa.shared::cluster.u32 %r5, s, %r4;\nld.shared::cluster.u32 %r6, [%r5];\n"
     "cvta.shared.u64 %rd3, s;\nmapa.u64 %rd4, %rd3, %r4;\nld.u32 %r7, [%rd4];\ngetctarank.u64 %r8, "
     "%rd4;\ngetctarank.shared::cluster.u32 %r9, %r5;\n"
     "mad.lo.u32 %r2, %r6, 1000, %r7;\nmad.lo.u32 %r2, %r8, 100, %r2;\nmad.lo.u32 %r2, %r9, 10, "
     "%r2;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
     {1111, 0, 1111, 0}},
    {"ADestinationOfItsOwnRankIsTheBlocksOwn",
     "mov.u32 %r3, %cluster_ctarank;\nmapa.shared::cluster.u32 %r5, s, %r3;\nmov.u32 %r4, "
     "%ctaid.x;\nst.shared::cluster.u32 [%r5+4], %r4;\nbar.sync 0;\nld.shared.u32 %r2, [s+4];",
     {0, 1, 2, 3}},
    {"SpacesOfAddresses",
     "mov.u32 %r3, %cluster_ctarank;\nxor.b32 %r4, %r3, 1;\ncvta.shared.u64 %rd3, s;\nmapa.u64 %rd4, %rd3, "
     "%r4;\nmapa.u64 %rd5, %rd3, %r3;\n"
     "isspacep.shared %p1, %rd4;\nselp.u32 %r2, 1, 0, %p1;\nisspacep.shared::cluster %p1, %rd4;\nselp.u32 "
     "%r5, 2, 0, %p1;\nadd.u32 %r2, %r2, %r5;\n"
     "isspacep.shared::cta %p1, %rd5;\nselp.u32 %r5, 4, 0, %p1;\nadd.u32 %r2, %r2, "
     "%r5;\nisspacep.shared::cluster %p1, %rd3;\nselp.u32 %r5, 8, 0, %p1;\nadd.u32 %r2, %r2, %r5;\n"
     "isspacep.global %p1, %rd4;\nselp.u32 %r5, 16, 0, %p1;\nadd.u32 %r2, %r2, %r5;",
     {14, 14, 14, 14}},
    {"WorkBetweenArrivalAndWait",
     "mov.u32 %r3, %cluster_ctarank;\nsub.u32 %r4, 1, %r3;\nadd.u32 %r6, %r3, 5;\nst.shared.u32 [s], "
     "%r6;\nbarrier.cluster.arrive.release;\nmul.lo.u32 %r7, %r3, 100;\nbarrier.cluster.wait.acquire;\n"
     "mapa.shared::cluster.u32 %r5, s, %r4;\nld.shared::cluster.u32 %r2, [%r5];\nadd.u32 %r2, %r2, "
     "%r7;\nbarrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;",
     {6, 105, 6, 105}},
    {"ThreadsThatHaveExitedAreNotWaitedFor",
     "mov.u32 %r2, 3;\nsetp.gt.u32 %p1, %r1, 7;\n@%p1 "
     "exit;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nmov.u32 %r2, 4;",
     {4, 4, 4, 4}},
    {"AtomicsAtOtherBlocks",
     "mov.u32 %r3, 0;\nst.shared.u32 [s], "
     "%r3;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nmapa.shared::cluster.u32 %r5, s, "
     "%r3;\natom.shared::cluster.add.u32 %r6, [%r5], 2;\n"
     "barrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.u32 %r2, [s];",
     {128, 0, 128, 0}},
    {"AnMbarrierOfAnotherBlockIsArrivedAt",
     "mov.u32 %r3, %cluster_ctarank;\nsub.u32 %r4, 1, %r3;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra "
     "W;\nmbarrier.init.shared.b64 [s+8], 32;\nfence.mbarrier_init.release.cluster;\n"
     "W: barrier.cluster.arrive;\nbarrier.cluster.wait;\nmapa.shared::cluster.u32 %r5, s, "
     "%r4;\nmbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r5+8];\n"
     "L: mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %p2, [s+8], 0;\n@!%p2 bra L;\nmov.u32 %r2, "
     "77;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
     {77, 77, 77, 77}},
    {"StoresThatTellAnMbarrier",
     "mov.u32 %r3, %cluster_ctarank;\nsub.u32 %r4, 1, %r3;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra "
     "W;\nmbarrier.init.shared.b64 [s+8], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [s+8], 128;\n"
     "W: barrier.cluster.arrive;\nbarrier.cluster.wait;\nmapa.shared::cluster.u32 %r5, s, %r4;\nshl.b32 %r6, "
     "%r1, 2;\nadd.u32 %r6, %r6, %r5;\nadd.u32 %r7, %r1, %r3;\n"
     "st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r6+64], %r7, [%r5+8];\n"
     "L: mbarrier.try_wait.parity.shared.b64 %p2, [s+8], 0;\n@!%p2 bra L;\nld.shared.u32 %r2, "
     "[s+104];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
     {11, 10, 11, 10}},
    {"ACopyToEveryBlockOfAMask",
     "mov.u32 %r3, %cluster_ctarank;\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\nmbarrier.init.shared.b64 [s+8], "
     "1;\nmbarrier.arrive.expect_tx.shared.b64 _, [s+8], 16;\n"
     "W: barrier.cluster.arrive;\nbarrier.cluster.wait;\nor.b32 %r4, %r1, %r3;\nsetp.ne.u32 %p1, %r4, "
     "0;\n@%p1 bra L;\nmov.b16 %h1, 3;\n"
     "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [s+16], "
     "[%rd1+64], 16, [s+8], %h1;\n"
     "L: mbarrier.try_wait.parity.shared.b64 %p2, [s+8], 0;\n@!%p2 bra L;\nld.shared.u32 %r2, "
     "[s+24];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
     {18, 18, 18, 18}},
    {"ABulkCopyIntoAnotherBlock",
     "mov.u32 %r3, %cluster_ctarank;\nsub.u32 %r4, 1, %r3;\nadd.u32 %r6, %r3, 30;\nst.shared.v4.u32 [s+32], "
     "{%r6, %r6, %r6, %r6};\nsetp.ne.u32 %p1, %r1, 0;\n@%p1 bra W;\n"
     "mbarrier.init.shared.b64 [s+8], 1;\nmbarrier.arrive.expect_tx.shared.b64 _, [s+8], "
     "16;\nfence.proxy.async.shared::cta;\nW: barrier.cluster.arrive;\nbarrier.cluster.wait;\n@%p1 bra L;\n"
     "mapa.shared::cluster.u32 %r5, s, %r4;\nadd.u32 %r7, %r5, 64;\nadd.u32 %r8, %r5, "
     "8;\ncp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [s+32], 16, [%r8];\n"
     "L: mbarrier.try_wait.parity.shared.b64 %p2, [s+8], 0;\n@!%p2 bra L;\nld.shared.u32 %r2, "
     "[s+76];\nbarrier.cluster.arrive;\nbarrier.cluster.wait;",
     {31, 30, 31, 30}},
};

TEST(EmulatorClusterPtx, Runs) {
    for (const ClusterRow& row : cluster_rows) {
        SCOPED_TRACE(row.name);
        const std::string text = test::kernel_text(
            {.version = "8.6",
             .parameters = {"u64 out"},
             .registers = {"pred %p<4>", "b16 %h<4>", "b32 %r<16>", "b64 %rd<8>"},
             .body = ".shared .align 16 .b8 s[256];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                     "mov.u32 %r2, 0;\n" +
                     row.body +
                     "\nmov.u32 %r10, %ctaid.x;\nmul.wide.u32 %rd2, %r10, 4;\n"
                     "add.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r2;"});
        if (const Assembler* assembler = nvptxcompiler()) {
            const auto cubin = assembler->assemble(text);
            EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
        }
        for (const u32 threads : {1u, 2u}) {
            Machine machine({.threads = threads, .sm = 90});
            const auto loaded = machine.load(text);
            ASSERT_TRUE(loaded) << describe(loaded.error(), text);
            std::vector<u32> memory(64);
            std::iota(memory.begin(), memory.end(), 0);
            const u64 out = machine.upload(memory);
            const auto done = machine.launch("k", {.grid = {4}, .block = {32}, .cluster = {2}}, out);
            ASSERT_TRUE(done) << machine.text_of(done.error());
            EXPECT_EQ(machine.download<u32>(out, 4), row.expected);
        }
    }
}

// Four blocks load a quarter of each tile for all of them; a tile is taken anew when all four have told each
// other's mbarriers that they are done.
constexpr const char* multicast = R"(
typedef unsigned int u32;
struct alignas(64) Map { char bytes[128]; };
__device__ u32 shared_address(const void* p) { return (u32)__cvta_generic_to_shared(p); }
__device__ bool is_complete(u32 bar, u32 parity) {
    u32 done;
    asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }" : "=r"(done) : "r"(bar), "r"(parity) : "memory");
    return done;
}
extern "C" __global__ void tiles(const __grid_constant__ Map map, float* out, int steps) {
    __shared__ alignas(1024) float tile[2][64 * 64];
    __shared__ alignas(8) unsigned long long full[2], empty[2];
    u32 rank;
    asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    if (threadIdx.x == 0)
        for (int i = 0; i < 2; ++i) {
            asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(&full[i])) : "memory");
            asm volatile("mbarrier.init.shared.b64 [%0], 4;" ::"r"(shared_address(&empty[i])) : "memory");
        }
    asm volatile("fence.mbarrier_init.release.cluster;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
    float sum = 0;
    for (int k = 0; k < steps; ++k) {
        const u32 stage = k & 1, phase = k >> 1 & 1, bar = shared_address(&full[stage]);
        if (threadIdx.x == 0) {
            while (!is_complete(shared_address(&empty[stage]), phase ^ 1)) {}
            asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(bar), "r"(64 * 64 * 4) : "memory");
            asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(
                             shared_address(&tile[stage][rank * 16 * 64])),
                         "l"(&map), "r"(k * 64), "r"(blockIdx.x / 4 * 64 + rank * 16), "r"(bar), "h"((short)15)
                         : "memory");
        }
        while (!is_complete(bar, phase)) {}
        for (int i = 0; i < 64 * 64; i += 128) sum += tile[stage][i + threadIdx.x] * (rank + 1);
        __syncthreads();
        if (threadIdx.x < 4)
            asm volatile("{ .reg .b32 there; mapa.shared::cluster.u32 there, %0, %1; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [there]; }" ::"r"(
                             shared_address(&empty[stage])),
                         "r"(threadIdx.x)
                         : "memory");
    }
    out[blockIdx.x * 128 + threadIdx.x] = sum;
    asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
)";

TEST(EmulatorClusterCopies, TilesForAllBlocksOfACluster) {
    const auto compiled = compile_cuda(multicast, {.target = "sm_90a", .cache = &test::cache()});
    ASSERT_TRUE(compiled) << describe(compiled.error(), multicast);
    const auto device = Device::open("emulator:sm_90a");
    ASSERT_TRUE(device);
    const u32 cluster_rows = 128, columns = 320;
    std::vector<float> in(cluster_rows * columns);
    for (u32 i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i * 7 % 31) - 15;
    auto cluster_source = device->upload(in), out = device->upload(std::vector<float>(8 * 128));
    ASSERT_TRUE(cluster_source && out);
    const auto map = cluster_source->encode_tensor_map({.type = TensorType::f32,
                                                        .dims = {columns, cluster_rows},
                                                        .strides = {columns * 4},
                                                        .box = {64, 16}});
    ASSERT_TRUE(map);
    auto function = device->load(compiled->text, "tiles");
    ASSERT_TRUE(function) << describe(function.error());
    const auto done = function->launch({.grid = {8}, .block = {128}, .cluster = {4}},
                                       std::array<Argument, 3>{*map, *out, int{5}});
    ASSERT_TRUE(done) << describe(done.error(), compiled->text);
    const auto sums = *out->download<float>();
    for (u32 block = 0; block < 8; ++block)
        for (u32 thread = 0; thread < 128; ++thread) {
            float expected = 0;
            for (u32 row = block / 4 * 64; row < block / 4 * 64 + 64; ++row)
                for (u32 column = 0; column < columns; ++column)
                    if ((row * 64 + column % 64) % 128 == thread)
                        expected += in[row * columns + column] * static_cast<float>(block % 4 + 1);
            ASSERT_EQ(sums[block * 128 + thread], expected) << block << ' ' << thread;
        }
}

}  // namespace
}  // namespace ptxgraft
