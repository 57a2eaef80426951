// The GEMMs of examples/dsl, on the emulator with all of its checks and through the assembler.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "gemm_check.hpp"
#include "support/emitted_kernel.hpp"

namespace ptxgraft::dsl {
namespace {

using gemm::MmaShape;
using gemm::Size;
using gemm::WgmmaShape;
using test::checked_device, test::expect_good_code;

std::string ptx_of(const Module& module) {
    auto ptx = module.ptx();
    if (!ptx) throw std::runtime_error(describe(ptx.error()));
    return *ptx;
}
Skeleton skeleton_of(const Module& module) {
    auto made = Skeleton::from_ptx(ptx_of(module));
    if (!made) throw std::runtime_error(describe(made.error()));
    return *made;
}
Kernel kernel_of(const Skeleton& skeleton, const Device& device, std::vector<Graft> grafts = {},
                 Route route = Route::inlined) {
    auto made = skeleton.graft(grafts, device, {.routes = {.route = route}});
    if (!made) throw std::runtime_error(describe(made.error()));
    return *made;
}

// Relu of what a weighted row and column are added to: exact in .f32 as all the rest.
Expected<Stub> relu_of_places(const Site& site) {
    return stub(site, [](StubBuilder<>& b) {
        const auto acc = b.operand<f32>("acc"), of = b.reg<f32>();
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>("row"));
        b.emit<"fma.rn.f32">(acc, of, 0.5f, acc);
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>("col"));
        b.emit<"fma.rn.f32">(acc, of, -0.25f, acc);
        b.emit<"max.f32">(acc, acc, 0.0f);
    });
}
double relu_of(double acc, std::uint32_t row, std::uint32_t col) {
    return std::max(acc + 0.5 * row - 0.25 * col, 0.0);
}

void expect_right(const Device& device, const Size& size, const gemm::Launch& launch,
                  const gemm::Epilogue& epilogue = gemm::unchanged) {
    const auto wrong = gemm::check(device, size, launch, epilogue);
    EXPECT_EQ(wrong, std::nullopt) << *wrong << " of " << size.m << " " << size.n << " " << size.depth;
}
template <MmaShape S> void check_mma(std::initializer_list<Size> sizes) {
    Module module({.target = "sm_80"});
    gemm::emit_gemm_mma<S>(module);
    expect_good_code(ptx_of(module));
    const auto device = checked_device();
    const auto kernel = kernel_of(skeleton_of(module), device);
    for (Size size : sizes) {
        size.b = S.b;
        expect_right(device, size, gemm::launch_mma<S>(kernel, size));
    }
}

// Sizes that are multiples of nothing; less than a tile; less than a piece of 16 bytes; fewer tiles than
// stages; no depth at all.
TEST(Gemm, MmaOfAnySize) {
    check_mma<MmaShape{}>(
        {{256, 128, 128}, {131, 257, 93}, {1, 1, 1}, {17, 3, 33}, {129, 130, 0}, {64, 300, 7}});
}
TEST(Gemm, MmaOfOtherTiles) {
    check_mma<MmaShape{.tile_m = 64, .tile_n = 128, .tile_depth = 64, .stages = 3}>(
        {{65, 127, 201}, {63, 129, 31}});
    check_mma<MmaShape{
        .tile_m = 128, .tile_n = 32, .tile_depth = 64, .warps_m = 4, .warps_n = 1, .stages = 2}>(
        {{129, 33, 200}, {5, 70, 64}});
    check_mma<MmaShape{.tile_m = 64, .tile_n = 64, .tile_depth = 16, .stages = 5}>({{70, 65, 90}});
}

// B with a row for each step along the depth: parts of a panel of 64 columns for a warp, one, and two.
TEST(Gemm, MmaOfAnNMajorB) {
    check_mma<MmaShape{.b = gemm::Major::mn}>(
        {{128, 128, 128}, {131, 257, 93}, {1, 1, 1}, {17, 3, 33}, {129, 130, 0}, {64, 300, 7}});
    check_mma<MmaShape{.tile_m = 64, .tile_n = 64, .tile_depth = 64, .stages = 3, .b = gemm::Major::mn}>(
        {{65, 127, 201}, {63, 129, 31}});
    check_mma<MmaShape{.tile_m = 64,
                       .tile_n = 128,
                       .tile_depth = 16,
                       .warps_m = 4,
                       .warps_n = 1,
                       .stages = 3,
                       .b = gemm::Major::mn}>({{70, 129, 90}});
}

TEST(Gemm, MmaWithAStub) {
    Module module({.target = "sm_80"});
    gemm::emit_gemm_mma(module);
    const auto skeleton = skeleton_of(module);
    const auto stub = relu_of_places(*skeleton.site("epilogue"));
    ASSERT_TRUE(stub) << describe(stub.error());
    const auto device = checked_device();
    const Size size{150, 139, 70};
    for (const Route route : {Route::inlined, Route::call}) {
        const auto kernel = kernel_of(skeleton, device, {{"epilogue", *stub}}, route);
        expect_good_code(kernel.ptx());
        expect_right(device, size, gemm::launch_mma<MmaShape{}>(kernel, size), relu_of);
    }
}

// What the checks are there for: without the barrier a warp may read what another has yet to copy.
TEST(Gemm, MmaNeedsItsBarrier) {
    Module module({.target = "sm_80"});
    gemm::emit_gemm_mma(module);
    std::string ptx = ptx_of(module);
    const std::string barrier = "\tbar.sync 0;\n";
    ptx.erase(ptx.find(barrier), barrier.size());
    const auto device = checked_device();
    const auto kernel = kernel_of(*Skeleton::from_ptx(ptx), device);
    const Size size{128, 128, 128};
    const auto wrong = gemm::check(device, size, gemm::launch_mma<MmaShape{}>(kernel, size));
    EXPECT_THAT(wrong.value_or(""), testing::HasSubstr("data race"));
}

// Of accesses to shared memory, those of ldmatrix and cp.async, by lines.
template <MmaShape S> void check_bank_conflicts() {
    Module module({.target = "sm_80"});
    gemm::emit_gemm_mma<S>(module);
    EmulatorProfile profile;
    const auto device = checked_device(&profile);
    const auto kernel = kernel_of(skeleton_of(module), device);
    const Size size{128, 128, 160, S.b};
    expect_right(device, size, gemm::launch_mma<S>(kernel, size));
    std::uint64_t reads = 0, writes = 0;
    for (const ProfileLine& line : profile.lines()) {
        if (line.wavefronts == 0) continue;
        EXPECT_EQ(line.bank_conflicts(), 0u) << line.text;
        (line.text.find("ldmatrix") != line.text.npos ? reads : writes) += line.warps;
    }
    EXPECT_EQ(reads, 4u * 5 * 2 * 8);  // warps, tiles, steps of 16; of A and B each four blocks
    EXPECT_EQ(writes, 4u * 5 * 8);
}
TEST(Gemm, MmaHasNoBankConflicts) {
    check_bank_conflicts<MmaShape{}>();
    check_bank_conflicts<MmaShape{.b = gemm::Major::mn}>();
}

template <WgmmaShape S> void check_wgmma(std::initializer_list<Size> sizes, std::uint32_t multiprocessors) {
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma<S>(module);
    expect_good_code(ptx_of(module));
    const auto device = checked_device();
    const auto kernel = kernel_of(skeleton_of(module), device);
    for (Size size : sizes) {
        size.b = S.b;
        expect_right(device, size, gemm::launch_wgmma<S>(kernel, size, multiprocessors));
    }
}

// On one multiprocessor a block takes all tiles, on many each takes one; on four some take more.
TEST(Gemm, WgmmaOfAnySize) {
    check_wgmma<WgmmaShape{}>({{256, 128, 128}, {131, 257, 93}, {1, 1, 1}, {17, 3, 65}}, 132);
    check_wgmma<WgmmaShape{}>({{300, 270, 200}}, 1);
    check_wgmma<WgmmaShape{}>({{260, 390, 330}}, 4);
}
TEST(Gemm, WgmmaOfOtherTiles) {
    check_wgmma<WgmmaShape{.tile_n = 256}>({{129, 257, 330}}, 2);
    check_wgmma<WgmmaShape{.consumers = 3, .tile_n = 128, .stages = 2}>({{200, 129, 201}}, 1);
    check_wgmma<WgmmaShape{.tile_n = 40, .stages = 6}>({{100, 79, 100}}, 1);
}

TEST(Gemm, WgmmaOfAnNMajorB) {
    check_wgmma<WgmmaShape{.b = gemm::Major::mn}>({{256, 128, 128}, {131, 257, 93}, {1, 1, 1}, {17, 3, 65}},
                                                  2);
    check_wgmma<WgmmaShape{.tile_n = 64, .stages = 6, .b = gemm::Major::mn}>({{100, 79, 200}}, 1);
    check_wgmma<WgmmaShape{.tile_n = 256, .b = gemm::Major::mn}>({{129, 257, 130}}, 2);
}

// Tiles of a cluster beyond C's last row; clusters with many tiles, and one with none; both layouts of B.
TEST(Gemm, WgmmaOfClusters) {
    check_wgmma<WgmmaShape{.cluster = 2}>({{256, 128, 128}, {131, 150, 93}, {1, 1, 1}, {300, 140, 65}}, 132);
    check_wgmma<WgmmaShape{.cluster = 2}>({{390, 140, 330}}, 2);
    check_wgmma<WgmmaShape{.stages = 3, .b = gemm::Major::mn, .cluster = 2}>({{300, 140, 200}}, 4);
    check_wgmma<WgmmaShape{.tile_n = 64, .stages = 2, .cluster = 4}>({{520, 70, 130}}, 3);
}
// Without the last barrier a CTA ends while another still tells it of what it has read.
TEST(Gemm, WgmmaOfClustersNeedsItsLastBarrier) {
    constexpr WgmmaShape shape{.cluster = 2};
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma<shape>(module);
    std::string ptx = ptx_of(module);
    for (const std::string_view line :
         {"\tbarrier.cluster.arrive.release.aligned;\n", "\tbarrier.cluster.wait.acquire.aligned;\n"})
        ptx.erase(ptx.rfind(line), line.size());
    const auto device = checked_device();
    const auto kernel = kernel_of(*Skeleton::from_ptx(ptx), device);
    const Size size{256, 128, 640};
    EXPECT_THAT(gemm::check(device, size, gemm::launch_wgmma<shape>(kernel, size, 2)).value_or(""),
                testing::HasSubstr("ended"));
}

TEST(Gemm, WgmmaWithAStub) {
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma(module);
    const auto skeleton = skeleton_of(module);
    const auto stub = relu_of_places(*skeleton.site("epilogue"));
    ASSERT_TRUE(stub) << describe(stub.error());
    const auto device = checked_device();
    const Size size{150, 139, 170};
    for (const Route route : {Route::inlined, Route::call}) {
        const auto kernel = kernel_of(skeleton, device, {{"epilogue", *stub}}, route);
        expect_good_code(kernel.ptx());
        expect_right(device, size, gemm::launch_wgmma<WgmmaShape{}>(kernel, size, 2), relu_of);
    }
}

// Without the wait for an empty stage a copy writes what a product still reads; without that for a full one
// the product reads what is not there yet; without the last wait accumulators are stored too early.
TEST(Gemm, WgmmaNeedsItsWaits) {
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma(module);
    const std::string ptx = ptx_of(module);
    const auto device = checked_device();
    const Size size{128, 128, 640};
    // What is wrong without the instructions from this place until the next address of a barrier.
    const auto without = [&](std::size_t begin) {
        std::string less = ptx;
        less.erase(begin, less.find("\tmad", begin) - begin);
        const auto kernel = kernel_of(*Skeleton::from_ptx(less), device);
        return gemm::check(device, size, gemm::launch_wgmma<WgmmaShape{}>(kernel, size, 1)).value_or("");
    };
    const std::string wait = "\tmbarrier.try_wait";
    const std::size_t empty = ptx.find(wait), full = ptx.find(wait, empty + 1);
    EXPECT_THAT(without(empty), testing::HasSubstr("data race"));
    EXPECT_THAT(without(full), testing::HasSubstr("data race"));
    EXPECT_THAT(without(ptx.find("\twgmma.wait_group.sync.aligned 0")),
                testing::HasSubstr("a register that a wgmma still uses"));
}

// ---- products of many sizes in one launch

template <MmaShape S>
void check_grouped(const std::vector<Size>& sizes, std::initializer_list<std::uint32_t> multiprocessors) {
    Module module({.target = "sm_80"});
    gemm::emit_grouped_gemm<S>(module);
    expect_good_code(ptx_of(module));
    const auto device = checked_device();
    const auto kernel = kernel_of(skeleton_of(module), device);
    for (const std::uint32_t count : multiprocessors) {
        const auto wrong =
            gemm::check_grouped<S>(device, sizes, kernel, count, [](double acc, auto...) { return acc; });
        EXPECT_EQ(wrong, std::nullopt) << *wrong << " on " << count;
    }
}
// Products that are empty, or have no depth; tiles of one product, of many, of none for a block.
TEST(Gemm, GroupedOfAnySizes) {
    check_grouped<MmaShape{}>({{131, 257, 93}, {0, 5, 7}, {1, 1, 1}, {64, 0, 64}, {20, 30, 0}, {17, 130, 33}},
                              {1, 2, 100});
    check_grouped<MmaShape{}>({}, {4});
    check_grouped<MmaShape{}>({{0, 0, 0}}, {4});
    check_grouped<MmaShape{.tile_m = 64, .tile_n = 64, .tile_depth = 16, .stages = 5}>(
        {{65, 100, 90}, {300, 1, 17}, {3, 70, 100}}, {2});
}

// Each product has a bias of its own.
TEST(Gemm, GroupedWithAStub) {
    Module module({.target = "sm_80"});
    gemm::emit_grouped_gemm(module);
    const auto skeleton = skeleton_of(module);
    const auto bias = stub(*skeleton.site("epilogue"), [](StubBuilder<>& b) {
        const auto of = b.reg<f32>();
        b.emit<"cvt.rn.f32.u32">(of, b.operand<u32>("product"));
        b.emit<"add.f32">(b.operand<f32>("acc"), b.operand<f32>("acc"), of);
    });
    ASSERT_TRUE(bias) << describe(bias.error());
    const auto device = checked_device();
    const auto kernel = kernel_of(skeleton, device, {{"epilogue", *bias}});
    expect_good_code(kernel.ptx());
    const auto wrong = gemm::check_grouped<MmaShape{}>(
        device, std::vector<Size>{{40, 50, 60}, {140, 50, 10}, {10, 20, 30}}, kernel, 1,
        [](double acc, auto, auto, std::uint32_t product) { return acc + product; });
    EXPECT_EQ(wrong, std::nullopt) << *wrong;
}
// From tile to tile the ring of stages goes on, also where a tile ends in the middle of it or has one step.
TEST(Gemm, GroupedGoesOnWithItsStages) {
    for (const std::uint32_t depth : {1u, 33u, 65u, 97u, 129u})
        check_grouped<MmaShape{}>({{128, 128, depth}, {128, 128, 32}, {128, 256, depth}}, {1});
}

// ---- a depth that the blocks of a cluster share

template <std::uint32_t Parts, WgmmaShape S> void check_split_k(std::initializer_list<Size> sizes) {
    Module module({.target = "sm_90a"});
    gemm::emit_split_k<Parts, S>(module);
    expect_good_code(ptx_of(module));
    const auto device = checked_device();
    const auto kernel = kernel_of(skeleton_of(module), device);
    for (Size size : sizes) {
        size.b = S.b;
        expect_right(device, size, gemm::launch_split_k<Parts, S>(kernel, size));
    }
}
// A depth that has fewer steps than there are parts; more; that is a multiple of nothing.
TEST(Gemm, SplitKOfAnySize) {
    check_split_k<4, WgmmaShape{}>({{128, 128, 512}, {131, 257, 301}, {1, 1, 1}, {17, 3, 130}});
    check_split_k<2, WgmmaShape{.tile_n = 48, .stages = 5}>({{100, 70, 1000}});
    check_split_k<4, WgmmaShape{.tile_n = 64, .b = gemm::Major::mn}>({{100, 70, 500}});
    check_split_k<8, WgmmaShape{.consumers = 3, .tile_n = 64, .stages = 2}>({{70, 65, 1300}});
    check_split_k<1, WgmmaShape{.tile_n = 256}>({{60, 300, 90}});
}

TEST(Gemm, SplitKWithAStub) {
    Module module({.target = "sm_90a"});
    gemm::emit_split_k(module);
    const auto skeleton = skeleton_of(module);
    const auto stub = relu_of_places(*skeleton.site("epilogue"));
    ASSERT_TRUE(stub) << describe(stub.error());
    const auto device = checked_device();
    const Size size{150, 139, 700};
    for (const Route route : {Route::inlined, Route::call}) {
        const auto kernel = kernel_of(skeleton, device, {{"epilogue", *stub}}, route);
        expect_good_code(kernel.ptx());
        expect_right(device, size, gemm::launch_split_k<4, WgmmaShape{}>(kernel, size), relu_of);
    }
}

// Without the barrier of the consumers accumulators lie where another still multiplies; without the first one
// of the cluster they are not there yet; without the second their block may have ended.
TEST(Gemm, SplitKNeedsItsBarriers) {
    Module module({.target = "sm_90a"});
    gemm::emit_split_k<2>(module);
    const std::string ptx = ptx_of(module);
    const auto device = checked_device();
    const Size size{128, 128, 640};
    const auto without = [&](std::initializer_list<std::string_view> lines, bool is_last) {
        std::string less = ptx;
        for (const std::string_view line : lines) {
            const std::size_t begin = is_last ? less.rfind(line) : less.find(line);
            less.erase(begin, line.size());
        }
        const auto kernel = kernel_of(*Skeleton::from_ptx(less), device);
        return gemm::check(device, size, gemm::launch_split_k<2, WgmmaShape{}>(kernel, size)).value_or("");
    };
    const auto arrive = "\tbarrier.cluster.arrive.release.aligned;\n",
               wait = "\tbarrier.cluster.wait.acquire.aligned;\n";
    EXPECT_THAT(without({"\tbar.sync 1, 256;\n"}, false), testing::HasSubstr("data race"));
    EXPECT_NE(without({arrive, wait}, false), "");
    EXPECT_THAT(without({arrive, wait}, true),
                testing::HasSubstr("not ordered before the end of that block"));
}

}  // namespace
}  // namespace ptxgraft::dsl
