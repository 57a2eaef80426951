// The GEMMs for sm_100a of examples/dsl on a GPU that can run them, against double precision.

#include "gpu/gpu.hpp"
#include "ptxgraft/dsl.hpp"
#include "ptxgraft/kernel.hpp"
#include "tcgen05_check.hpp"

namespace ptxgraft {
namespace {

using namespace dsl;
using gemm::BlockScaledShape;
using gemm::Size;
using gemm::Tcgen05Shape;
using enum MmaType;

class Tcgen05Gpu : public Gpu {
  protected:
    void SetUp() override {
        Gpu::SetUp();
        if (IsSkipped() || HasFatalFailure()) return;
        if (device().target() != "sm_100a") GTEST_SKIP() << device().name() << " is no sm_100a";
        multiprocessors_ = device().properties()->multiprocessors;
    }
    Kernel kernel_of(const Module& module) {
        const auto ptx = module.ptx();
        if (!ptx) throw std::runtime_error(describe(ptx.error()));
        const auto kernel = Skeleton::from_ptx(*ptx)->graft({}, device());
        if (!kernel) throw std::runtime_error(describe(kernel.error()));
        return *kernel;
    }
    // Multiples of nothing; less than a tile; more tiles than multiprocessors; fewer steps than stages.
    static constexpr Size sizes[] = {
        {256, 256, 512}, {131, 257, 96}, {1, 1, 32}, {3000, 2900, 320}, {129, 7, 1024}};
    template <Tcgen05Shape S> void check_plain() {
        Module module({.target = "sm_100a"});
        gemm::emit_gemm_tcgen05<S>(module);
        const auto kernel = kernel_of(module);
        for (const Size& size : sizes) {
            const auto wrong = gemm::check_tcgen05<S>(device(), kernel, size, multiprocessors_);
            EXPECT_EQ(wrong, std::nullopt)
                << *wrong << " of " << size.m << " " << size.n << " " << size.depth;
        }
    }
    template <BlockScaledShape S> void check_scaled() {
        Module module({.target = "sm_100a"});
        gemm::emit_gemm_block_scaled<S>(module);
        const auto kernel = kernel_of(module);
        for (const Size& size : sizes) {
            const auto wrong = gemm::check_block_scaled<S>(device(), kernel, size, multiprocessors_);
            EXPECT_EQ(wrong, std::nullopt)
                << *wrong << " of " << size.m << " " << size.n << " " << size.depth;
        }
    }

  private:
    std::uint32_t multiprocessors_ = 0;
};

TEST_F(Tcgen05Gpu, OneBlockATile) {
    check_plain<Tcgen05Shape{}>();
    check_plain<Tcgen05Shape{.type = f16, .tile_n = 128}>();
    check_plain<Tcgen05Shape{.type = e4m3}>();
    check_plain<Tcgen05Shape{.type = e5m2, .tile_n = 32, .stages = 2}>();
}
TEST_F(Tcgen05Gpu, TwoBlocksATile) {
    check_plain<Tcgen05Shape{.blocks = 2, .stages = 6}>();
    check_plain<Tcgen05Shape{.type = e4m3, .blocks = 2, .tile_n = 128, .stages = 3}>();
}
TEST_F(Tcgen05Gpu, BlockScaling) {
    check_scaled<BlockScaledShape{}>();
    check_scaled<BlockScaledShape{.type = e5m2, .tile_n = 256, .stages = 4}>();
    check_scaled<BlockScaledShape{.kind = MmaKind::mxf4, .type = e2m1}>();
    check_scaled<BlockScaledShape{.kind = MmaKind::mxf4nvf4, .type = e2m1, .block = 16, .scale = ue4m3}>();
    check_scaled<BlockScaledShape{
        .kind = MmaKind::mxf4nvf4, .type = e2m1, .block = 16, .tile_n = 256, .stages = 4}>();
}

}  // namespace
}  // namespace ptxgraft
