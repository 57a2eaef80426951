// What devices and functions say of themselves, and the knobs of a GPU: priorities, carve-out, L2 cache.
#include <gmock/gmock.h>

#include "device/fake_gpu.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

TEST_F(FakeGpu, SaysItsProperties) {
    const auto has = device().properties();
    ASSERT_OK(has);
    EXPECT_EQ(has->kind, DeviceKind::cuda);
    EXPECT_EQ(has->name, "Fake GPU 1");
    EXPECT_EQ(has->uuid, "GPU-a1a2a3a4-a5a6-a7a8-a9aa-abacadaeafb0");
    EXPECT_EQ(has->target, "sm_90a");
    EXPECT_EQ(has->driver_version, "13.0");
    EXPECT_EQ(has->compute_major, 9u);
    EXPECT_EQ(has->compute_minor, 0u);
    EXPECT_EQ(has->multiprocessors, 132u);
    EXPECT_EQ(has->clock_khz, 1980000u);
    EXPECT_EQ(has->memory_bytes, std::uint64_t{141} << 30);
    EXPECT_EQ(has->l2_bytes, 60u << 20);
    EXPECT_EQ(has->persisting_l2_bytes, 37u << 20);
    EXPECT_EQ(has->warp_size, 32u);
    EXPECT_EQ(has->threads_per_block, 1024u);
    EXPECT_EQ(has->threads_per_multiprocessor, 2048u);
    EXPECT_EQ(has->blocks_per_multiprocessor, 32u);
    EXPECT_EQ(has->registers_per_block, 65536u);
    EXPECT_EQ(has->registers_per_multiprocessor, 65536u);
    EXPECT_EQ(has->shared_bytes_per_block, 48u * 1024);
    EXPECT_EQ(has->shared_bytes_per_block_optin, 227u * 1024);
    EXPECT_EQ(has->shared_bytes_per_multiprocessor, 228u * 1024);
    EXPECT_EQ(has->reserved_shared_bytes_per_block, 1024u);
    EXPECT_EQ(has->blocks_per_cluster, 16u);
    EXPECT_TRUE(has->cooperative);
    // 6144 bits at 3.201 GHz, twice a cycle.
    EXPECT_DOUBLE_EQ(has->peak_bytes_per_second(), 6144 / 8 * 3.201e9 * 2);
}

TEST(Device, ListsGpusWithoutMakingAContext) {
    fake() = {};
    const auto all = Device::list_cuda(driver());
    ASSERT_OK(all);
    ASSERT_EQ(all->size(), 2u);
    EXPECT_EQ((*all)[0].name, "Fake GPU 0");
    EXPECT_EQ((*all)[1].name, "Fake GPU 1");
    EXPECT_EQ(fake().calls["cuDevicePrimaryCtxRetain"], 0);
    EXPECT_TRUE(Device::list_cuda(driver("_no_gpu"))->empty());
    EXPECT_EQ(Device::list_cuda(driver("_absent")).error().code, Errc::driver_missing);
    EXPECT_EQ(Device::list_cuda(driver("_broken")).error().code, Errc::driver_failed);
}

// What came with later drivers is 0; what every driver knows is an error where it is not to be had.
TEST(Device, PropertiesOfOldDrivers) {
    fake() = {};
    for (const int later : {106, 108, 111, 120}) fake().attributes.erase(later);
    const auto has = Device::open("cuda", driver())->properties();
    ASSERT_OK(has);
    EXPECT_EQ(has->blocks_per_multiprocessor, 0u);
    EXPECT_EQ(has->persisting_l2_bytes, 0u);
    EXPECT_EQ(has->blocks_per_cluster, 1u);
    fake().attributes.erase(16);
    EXPECT_EQ(Device::open("cuda", driver()).error().code, Errc::driver_failed);
    EXPECT_EQ(Device::open("cuda", driver("_old"))->properties()->uuid, "");
}

TEST(EmulatorDevice, SaysThePropertiesOfItsArchitecture) {
    struct Row {
        const char* name;
        std::uint32_t major, minor, threads, blocks, shared, reserved, cluster;
    };
    for (const Row& row : {Row{"emulator:sm_75", 7, 5, 1024, 16, 64, 0, 1},
                           {"emulator:sm_86", 8, 6, 1536, 16, 99, 1, 1},
                           {"emulator", 9, 0, 2048, 32, 227, 1, 16},
                           {"emulator:sm_103a", 10, 3, 2048, 32, 227, 1, 16},
                           {"emulator:sm_120a", 12, 0, 1536, 24, 99, 1, 16}}) {
        const auto has = Device::open(row.name)->properties();
        ASSERT_OK(has);
        EXPECT_EQ(has->kind, DeviceKind::emulator);
        EXPECT_EQ(has->compute_major, row.major);
        EXPECT_EQ(has->compute_minor, row.minor);
        EXPECT_EQ(has->threads_per_multiprocessor, row.threads) << row.name;
        EXPECT_EQ(has->blocks_per_multiprocessor, row.blocks) << row.name;
        EXPECT_EQ(has->shared_bytes_per_block_optin, row.shared * 1024) << row.name;
        EXPECT_EQ(has->shared_bytes_per_multiprocessor, (row.shared + row.reserved) * 1024) << row.name;
        EXPECT_EQ(has->blocks_per_cluster, row.cluster) << row.name;
        EXPECT_EQ(has->peak_bytes_per_second(), 0.0);
        EXPECT_EQ(has->uuid, "");
    }
}

TEST_F(FakeGpu, FunctionsSayWhatTheyTake) {
    fake().static_shared_bytes = 2048;
    fake().max_threads_per_block = 640;
    const auto function = load_fill();
    const auto has = function->attributes();
    ASSERT_OK(has);
    EXPECT_EQ(has->registers, 40u);
    EXPECT_EQ(has->local_bytes, 16u);
    EXPECT_EQ(has->const_bytes, 64u);
    EXPECT_EQ(has->static_shared_bytes, 2048u);
    EXPECT_EQ(has->most_dynamic_shared_bytes, 225u * 1024);
    EXPECT_EQ(has->threads_per_block, 640u);
    EXPECT_EQ(has->binary_version, 90u);
    EXPECT_EQ(has->ptx_version, 80u);
    break_call("cuFuncGetAttribute", 1);
    EXPECT_EQ(function->attributes().error().code, Errc::driver_failed);
}

TEST_F(FakeGpu, OccupancyIsOfTheDriver) {
    fake().static_shared_bytes = 1024;
    fake().max_threads_per_block = 512;
    const auto function = load_fill("other");
    EXPECT_EQ(*function->blocks_per_multiprocessor(128), 3u);
    EXPECT_EQ(fake().calls["cuFuncSetAttribute"], 0);
    EXPECT_EQ(*function->blocks_per_multiprocessor(128, 100 * 1024), 3u);  // opts in first
    EXPECT_EQ(fake().calls["cuFuncSetAttribute"], 1);
    const int asked = fake().calls["cuOccupancyMaxActiveBlocksPerMultiprocessor"];
    EXPECT_EQ(*function->blocks_per_multiprocessor(513), 0u);
    EXPECT_EQ(*function->blocks_per_multiprocessor(0), 0u);
    EXPECT_EQ(*function->blocks_per_multiprocessor(32, 227 * 1024), 0u);
    EXPECT_EQ(fake().calls["cuOccupancyMaxActiveBlocksPerMultiprocessor"], asked);

    EXPECT_EQ(*function->active_clusters({.grid = {8}, .cluster = {4}}), 7u);
    EXPECT_FALSE(fake().large_clusters);
    EXPECT_EQ(*function->active_clusters({.grid = {16}, .cluster = {16}}), 7u);
    EXPECT_TRUE(fake().large_clusters);
    EXPECT_EQ(function->active_clusters({.grid = {8}}).error().code, Errc::launch_shape_invalid);
    EXPECT_EQ(function->active_clusters({.grid = {7}, .cluster = {2}}).error().code,
              Errc::launch_shape_invalid);
}

TEST(EmulatorDevice, OccupancyIsWhatThreadsAndSharedMemoryAllow) {
    constexpr std::string_view text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".entry k() { .shared .b8 tile[16384]; .reg .b32 %r; mov.u32 %r, tile; ret; }\n"
        ".entry bare() { ret; }\n";
    const Device device = Device::open("emulator").value();
    const Function tiled = device.load(text, "k").value(), bare = tiled.other("bare").value();
    EXPECT_EQ(tiled.attributes()->static_shared_bytes, 16384u);
    EXPECT_EQ(tiled.attributes()->most_dynamic_shared_bytes, 211u * 1024);
    EXPECT_EQ(tiled.attributes()->registers, 0u);
    EXPECT_EQ(*bare.blocks_per_multiprocessor(32), 32u);
    EXPECT_EQ(*bare.blocks_per_multiprocessor(256), 8u);
    EXPECT_EQ(*bare.blocks_per_multiprocessor(257), 7u);
    EXPECT_EQ(*bare.blocks_per_multiprocessor(1025), 0u);
    EXPECT_EQ(*tiled.blocks_per_multiprocessor(128), 13u);  // 228 KB, 17 KB each
    EXPECT_EQ(*tiled.blocks_per_multiprocessor(128, 96 * 1024), 2u);
    EXPECT_EQ(*tiled.blocks_per_multiprocessor(128, 212 * 1024), 0u);
    EXPECT_EQ(*bare.active_clusters({.grid = {4}, .block = {1024}, .cluster = {4}}), 66u);
}

TEST_F(FakeGpu, CarveOutAndPriorities) {
    const auto function = load_fill("other");
    EXPECT_OK(function->prefer_shared_memory(75));
    EXPECT_EQ(fake().carveout, 75);
    EXPECT_OK(function->prefer_shared_memory(-1));
    EXPECT_EQ(fake().carveout, -1);
    EXPECT_THAT(failure(function->prefer_shared_memory(101)), HasSubstr("it is 0 to 100, or -1"));
    EXPECT_EQ(function->prefer_shared_memory(-2).error().code, Errc::argument_invalid);

    const auto range = device().stream_priorities();
    ASSERT_OK(range);
    EXPECT_EQ(range->least, 0);
    EXPECT_EQ(range->greatest, -5);
    const auto urgent = device().create_stream({.priority = -5, .non_blocking = true});
    ASSERT_OK(urgent);
    EXPECT_EQ(fake().stream_of[urgent->handle()].priority, -5);
    EXPECT_EQ(fake().stream_of[urgent->handle()].flags, 1u);
    EXPECT_EQ(fake().stream_of[device().create_stream()->handle()].flags, 0u);

    fake().argument_sizes.clear();
    EXPECT_OK(function->launch({.programmatic = true, .priority = -3}, {}, &*urgent));
    ASSERT_EQ(fake().launches.size(), 1u);
    EXPECT_TRUE(fake().launches[0].programmatic);
    EXPECT_EQ(fake().launches[0].priority, -3);
    EXPECT_FALSE(fake().launches[0].cooperative);
}

TEST_F(FakeGpu, PersistingL2) {
    EXPECT_EQ(*device().persisting_l2(), 0u);
    EXPECT_OK(device().set_persisting_l2(1 << 20));
    EXPECT_EQ(*device().persisting_l2(), 1u << 20);
    EXPECT_OK(device().reset_persisting_l2());
    EXPECT_EQ(fake().l2_resets, 1);
    EXPECT_EQ(Device::open("cuda", driver("_old"))->reset_persisting_l2().error().code, Errc::driver_too_old);
}

// Knobs of a GPU turn nothing on the emulator, and are no errors: a program runs on both.
TEST(EmulatorDevice, KnobsOfAGpuDoNothing) {
    const Device device = Device::open("emulator").value();
    EXPECT_OK(device.set_persisting_l2(1 << 20));
    EXPECT_EQ(*device.persisting_l2(), 0u);
    EXPECT_OK(device.reset_persisting_l2());
    EXPECT_OK(device.create_stream({.priority = -1, .non_blocking = true}));
    EXPECT_EQ(device.stream_priorities()->greatest, 0);
    EXPECT_OK(device.make_current());
    EXPECT_EQ(device.context(), 0u);
    EXPECT_TRUE(device.health().ok());
    EXPECT_EQ(device.loaded_modules(), 0u);
    const auto function = device.load(fill, "other");
    EXPECT_OK(function->prefer_shared_memory(50));
    EXPECT_OK(function->launch({.programmatic = true, .priority = -3}, {}));
}

}  // namespace
}  // namespace ptxgraft
