// Launches of unusual shapes: clusters, cooperative launches, blocks that an entry names; and tensor maps.
#include <gmock/gmock.h>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr std::string_view clustered =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".visible .entry any() { ret; }\n"
    ".visible .entry two() .reqnctapercluster 2 { ret; }\n"
    ".visible .entry flat() .reqnctapercluster 2, 2 .maxntid 64 { ret; }\n"
    ".visible .entry most() .maxclusterrank 4 { ret; }\n"
    ".visible .entry explicit() .explicitcluster { ret; }\n"
    ".visible .entry whole() .blocksareclusters .reqntid 1 .reqnctapercluster 2 { ret; }\n"
    ".visible .entry zero() .reqnctapercluster 0 { ret; }\n"
    ".visible .entry gap() .reqnctapercluster 2, 0, 1 { ret; }\n"
    ".visible .entry hex() .reqnctapercluster 0x2 { ret; }\n"
    ".visible .entry both() .explicitcluster .reqnctapercluster 2, 1, 1 { ret; }\n"
    ".visible .entry one() .explicitcluster .reqnctapercluster 1, 1, 1 { ret; }\n";

TEST_F(FakeGpu, ClustersAndCooperativeLaunchesReachTheDriver) {
    struct Row {
        const char* entry;
        LaunchConfig config;
        std::array<unsigned, 3> cluster;
        bool large;
    };
    const Row rows[] = {
        {"any", {.grid = {8, 1, 1}}, {0, 0, 0}, false},
        {"any", {.grid = {8, 1, 1}, .cooperative = true}, {0, 0, 0}, false},
        {"any", {.grid = {8, 4, 2}, .cluster = {2, 2, 2}}, {2, 2, 2}, false},
        {"any", {.grid = {16, 1, 1}, .cluster = {16, 1, 1}, .cooperative = true}, {16, 1, 1}, true},
        {"two", {.grid = {8, 1, 1}}, {2, 1, 1}, false},
        {"two", {.grid = {8, 1, 1}, .cluster = {2, 1, 1}}, {2, 1, 1}, false},
        {"flat", {.grid = {8, 2, 1}}, {2, 2, 1}, false},
        {"both", {.grid = {2, 1, 1}}, {2, 1, 1}, false},
        {"one", {.grid = {3, 1, 1}}, {0, 0, 0}, false},
        {"explicit", {.grid = {2, 1, 1}, .cluster = {2, 1, 1}}, {2, 1, 1}, false},
        {"whole", {.grid = {3, 1, 1}}, {2, 1, 1}, false},
        {"most", {.grid = {4, 1, 1}, .cluster = {4, 1, 1}}, {4, 1, 1}, false}};
    for (const Row& row : rows) {
        fake().launches.clear();
        fake().large_clusters = false;
        fake().argument_sizes.clear();
        auto function = device().load(clustered, row.entry, &elf);
        ASSERT_OK(function);
        ASSERT_OK(function->launch(row.config, {}));
        ASSERT_EQ(fake().launches.size(), 1u);
        EXPECT_EQ(fake().launches[0].cluster, row.cluster) << row.entry;
        EXPECT_EQ(fake().launches[0].cooperative, row.config.cooperative);
        EXPECT_EQ(fake().launches[0].grid[0], row.config.grid.x);
        EXPECT_EQ(fake().large_clusters, row.large);
    }
}

struct ClusterRow {
    const char* entry;
    LaunchConfig config;
    const char* message;
};
const ClusterRow impossible_clusters[] = {
    {"any", {.cluster = {0, 1, 1}}, "cluster of 0 x 1 x 1 is empty"},
    {"any",
     {.grid = {9, 1, 1}, .cluster = {2, 1, 1}},
     "grid of 9 x 1 x 1; it is a multiple of the cluster of 2 x 1 x 1"},
    {"any", {.grid = {8, 1, 1}, .cluster = {1, 2, 1}}, "a multiple of the cluster of 1 x 2 x 1"},
    {"any", {.grid = {32, 1, 1}, .cluster = {32, 1, 1}}, "cluster of 32 x 1 x 1; at most 16 blocks"},
    {"any", {.grid = {65536, 65535, 1}, .cluster = {65536, 65536, 1}}, "at most 16 blocks"},
    {"two", {.grid = {8, 1, 1}, .cluster = {4, 1, 1}}, "cluster of 4 x 1 x 1; two requires 2 x 1 x 1"},
    {"two", {.grid = {7, 1, 1}}, "a multiple of the cluster of 2 x 1 x 1"},
    {"most", {.grid = {8, 1, 1}, .cluster = {8, 1, 1}}, "cluster of 8 blocks; most allows 4"},
    {"explicit", {.grid = {8, 1, 1}}, "explicit wants a cluster"},
    // Three numbers whose product in 64 bits is 1.
    {"any", {.grid = {8, 1, 1}, .cluster = {2996173443, 1119412321, 11}}, "at most 16 blocks"},
    {"zero", {.grid = {2, 1, 1}}, "zero requires a cluster of 0 x 1 x 1, which is empty"},
    {"gap", {.grid = {2, 1, 1}}, "gap requires a cluster of 2 x 0 x 1, which is empty"},
    {"gap", {.grid = {2, 1, 1}, .cluster = {2, 1, 1}}, "gap requires a cluster of 2 x 0 x 1, which is empty"},
    {"hex", {.grid = {4, 1, 1}, .cluster = {4, 1, 1}}, "cluster of 4 x 1 x 1; hex requires 2 x 1 x 1"}};

TEST_F(FakeGpu, ClustersThatCannotBeAreRefused) {
    for (const ClusterRow& row : impossible_clusters) {
        const auto done = device().load(clustered, row.entry, &elf)->launch(row.config, {});
        ASSERT_FALSE(done) << row.message;
        EXPECT_EQ(done.error().code, Errc::launch_shape_invalid);
        EXPECT_THAT(describe(done.error()), HasSubstr(row.message));
    }
    EXPECT_TRUE(fake().launches.empty());
}

TEST(EmulatorDevice, ClustersThatCannotBeAreRefused) {
    const Device device = std::move(*Device::open("emulator")),
                 older = std::move(*Device::open("emulator:sm_80"));
    for (const ClusterRow& row : impossible_clusters) {
        const auto done = device.load(clustered, row.entry)->launch(row.config, {});
        ASSERT_FALSE(done) << row.message;
        EXPECT_THAT(describe(done.error()), HasSubstr(row.message));
    }
    const Argument arguments[] = {Argument(std::uint64_t{0}), Argument(std::uint64_t{0}), Argument(0u)};
    const auto done =
        older.load(twice, "twice")->launch({.grid = {2, 1, 1}, .cluster = {2, 1, 1}}, arguments);
    EXPECT_THAT(failure(done), HasSubstr("cluster of 2 x 1 x 1; clusters need sm_90"));
}

TEST(EmulatorDevice, PtxForANewerArchitectureIsRefused) {
    const auto refused = Device::open("emulator:sm_80")->load(clustered, "any");
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::target_differs);
    EXPECT_THAT(failure(refused), HasSubstr("its PTX is for sm_90, the device is emulator (sm_80)"));
}

// PTX of a family runs on its later architectures: sm_101 is of sm_110's family, sm_103 of sm_100's.
TEST(EmulatorDevice, PtxOfAFamilyRunsInItsFamilyAlone) {
    constexpr const char* text = ".version 9.0\n.target sm_101f\n.address_size 64\n.entry k() { ret; }\n";
    EXPECT_OK(Device::open("emulator:sm_110a")->load(text, "k"));
    EXPECT_OK(Device::open("emulator:sm_101a")->load(text, "k"));
    for (const char* other : {"emulator:sm_100a", "emulator:sm_103a", "emulator:sm_121a"})
        EXPECT_EQ(Device::open(other)->load(text, "k").error().code, Errc::target_differs) << other;
}

// What the head of an entry says of blocks holds on a GPU as on the emulator.
TEST_F(FakeGpu, BlocksAreThoseThatTheEntryAllows) {
    constexpr std::string_view heads =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry exact() .reqntid 32, 2 { ret; }\n"
        ".entry most() .maxntid 64 { ret; }\n";
    const Device emulated = std::move(*Device::open("emulator"));
    fake().argument_sizes.clear();
    for (const Device* where : {&device(), &emulated}) {
        const Function exact = where->load(heads, "exact").value(), most = exact.other("most").value();
        EXPECT_OK(exact.launch({.block = {32, 2, 1}}, {}));
        EXPECT_OK(most.launch({.block = {8, 8, 1}}, {}));
        EXPECT_EQ(
            describe(exact.launch({.block = {64, 1, 1}}, {}).error()),
            "error: the launch shape is not possible: block of 64 x 1 x 1; exact requires 32 x 2 x 1\n");
        EXPECT_EQ(describe(most.launch({.block = {65, 1, 1}}, {}).error()),
                  "error: the launch shape is not possible: block of 65 threads; most allows 64\n");
    }
}

TensorMapOptions matrix(std::uint64_t address) {
    return {.type = TensorType::bf16,
            .address = address,
            .dims = {64, 32},
            .strides = {128},
            .box = {64, 8},
            .swizzle = TensorSwizzle::bytes128,
            .l2 = TensorL2Promotion::bytes256,
            .fill = TensorFill::nan};
}

TEST_F(FakeGpu, TensorMapsAreEncodedByTheDriver) {
    const auto map = device().encode_tensor_map(matrix(0x7f0000001000));
    ASSERT_OK(map);
    EXPECT_EQ(map->bytes[0], std::byte{1});
    ASSERT_EQ(fake().maps.size(), 1u);
    const FakeTensorMap& given = fake().maps[0];
    EXPECT_EQ(given.type, 9);
    EXPECT_EQ(given.address, 0x7f0000001000u);
    EXPECT_THAT(given.dims, ElementsAre(64, 32));
    EXPECT_THAT(given.strides, ElementsAre(128));
    EXPECT_THAT(given.box, ElementsAre(64, 8));
    EXPECT_THAT(given.element_strides, ElementsAre(1, 1));
    EXPECT_THAT(given.modes, ElementsAre(0, 3, 3, 1));
    TensorMapOptions columns{.type = TensorType::f16,
                             .address = 0x1000,
                             .dims = {64, 9, 14, 4},
                             .strides = {128, 1152, 16128},
                             .element_strides = {1, 2, 2, 1},
                             .im2col = TensorIm2col{{-1, -2}, {-3, -4}, 8, 64}};
    ASSERT_OK(device().encode_tensor_map(columns));
    EXPECT_THAT(fake().maps[1].corners, ElementsAre(-1, -2, -3, -4, 8, 64));
    EXPECT_THAT(fake().maps[1].element_strides, ElementsAre(1, 2, 2, 1));

    auto buffer = device().allocate(8192);
    auto in_buffer = matrix(4096);
    ASSERT_OK(buffer->encode_tensor_map(in_buffer));
    EXPECT_EQ(fake().maps[2].address, buffer->address() + 4096);
    in_buffer.address = 8208;
    EXPECT_EQ(buffer->encode_tensor_map(in_buffer).error().code, Errc::buffer_exceeded);
    EXPECT_FALSE(fake().called_without_context);
}

TEST_F(FakeGpu, TensorMapsThatCannotBeAreRefused) {
    const auto odd = device().encode_tensor_map(matrix(0x1008));
    ASSERT_FALSE(odd);
    EXPECT_EQ(describe(odd.error()),
              "error: the tensor map is not possible: the address 0x1008 is not a multiple of 16\n");
    EXPECT_EQ(fake().calls["cuTensorMapEncodeTiled"], 0);
    break_call("cuTensorMapEncodeTiled", 1);
    const auto refused = device().encode_tensor_map(matrix(0x1000));
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::tensor_map_invalid);
    EXPECT_THAT(describe(refused.error()), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
    fake().major = 8;
    EXPECT_THAT(failure(Device::open("cuda", driver())->encode_tensor_map(matrix(0x1000))),
                HasSubstr("tensor maps need sm_90; this device is sm_80"));
}

TEST(Device, DriversBeforeCuda12LackWhatCameLater) {
    const auto device = Device::open("cuda", driver("_old"));
    ASSERT_OK(device);
    const auto map = device->encode_tensor_map(matrix(0x1000));
    ASSERT_FALSE(map);
    EXPECT_EQ(map.error().code, Errc::driver_too_old);
    EXPECT_THAT(describe(map.error()), HasSubstr("cuTensorMapEncodeTiled; those from CUDA 12.0 on have it"));
    auto function = device->load(clustered, "any", &elf);
    ASSERT_OK(function);
    EXPECT_OK(function->launch({}, {}));
    EXPECT_EQ(function->launch({.cooperative = true}, {}).error().code, Errc::driver_too_old);
}

TEST(EmulatorDevice, TensorMapsAreArguments) {
    const Device device = std::move(*Device::open("emulator"));
    auto buffer = device.allocate(64 * 32 * 2);
    const auto map = device.encode_tensor_map(matrix(buffer->address()));
    ASSERT_OK(map);
    EXPECT_EQ(map->bytes, buffer->encode_tensor_map(matrix(0))->bytes);
    auto function = device.load(
        ".version 8.0\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .align 64 .b8 map[128]) { ret; }\n",
        "k");
    ASSERT_OK(function);
    EXPECT_OK(function->launch({}, std::array<Argument, 1>{*map}));
    EXPECT_THAT(failure(Device::open("emulator:sm_80")->encode_tensor_map(matrix(0x1000))),
                HasSubstr("tensor maps need sm_90"));
}

TEST(EmulatorDevice, BlocksAreClusters) {
    const Device device = std::move(*Device::open("emulator"));
    auto count = device.upload(std::vector<std::uint32_t>(2));
    auto function = device.load(
        ".version 9.0\n.target sm_90\n.address_size 64\n.entry k(.param .u64 p) .blocksareclusters .reqntid "
        "1 .reqnctapercluster 2 {\n"
        ".reg .b64 %a;\n.reg .b32 %n;\nld.param.u64 %a, [p];\nred.global.add.u32 [%a], 1;\nmov.u32 %n, "
        "%nctaid.x;\n"
        "red.global.max.u32 [%a+4], %n;\nret;\n}\n",
        "k");
    ASSERT_OK(function);
    ASSERT_OK(function->launch({{3, 1, 1}, {1, 1, 1}}, std::array<Argument, 1>{*count}));
    EXPECT_EQ(*count->download<std::uint32_t>(), (std::vector<std::uint32_t>{6, 6}));
}

// The grid is in clusters: in blocks it keeps the bounds of grids.
TEST_F(FakeGpu, BlocksAreClustersWithinTheBoundsOfAGrid) {
    constexpr std::string_view text =
        ".version 9.0\n.target sm_90\n.address_size 64\n"
        ".entry k() .blocksareclusters .reqntid 1 .reqnctapercluster 2 { ret; }\n";
    const Device emulated = std::move(*Device::open("emulator"));
    fake().argument_sizes.clear();
    for (const Device* where : {&device(), &emulated}) {
        const Function function = where->load(text, "k").value();
        EXPECT_OK(function.launch({.grid = {3, 1, 1}}, {}));
        EXPECT_THAT(failure(function.launch({.grid = {2147483647, 1, 1}}, {})),
                    HasSubstr("grid of 4294967294 x 1 x 1; at most 2147483647 x 65535 x 65535"));
    }
}

}  // namespace
}  // namespace ptxgraft
