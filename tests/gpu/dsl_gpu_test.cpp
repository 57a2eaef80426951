// The kernels of examples/dsl on the GPU, against double precision, at sizes that fit nothing and at some
// that fill the device.

#include "attention_check.hpp"
#include "gemm_check.hpp"
#include "gpu/gpu.hpp"
#include "ptxgraft/dsl/tensor_kernel.hpp"
#include "run.hpp"

namespace ptxgraft {
namespace {

using namespace dsl;
using rows::must;

class DslGpu : public Gpu {
  protected:
    [[nodiscard]] bool is_hopper() const { return device().target() == "sm_90a"; }
    [[nodiscard]] std::uint32_t multiprocessors() const {
        return must(device().properties()).multiprocessors;
    }
    [[nodiscard]] Kernel load(const Module& module) const {
        const std::string ptx = must(module.ptx());
        return must(must(Skeleton::from_ptx(ptx)).graft({}, device()), ptx);
    }
};

template <dsl::Type T> void check_rows(const Device& device) {
    for (const rows::Kernel& kernel : rows::kernels<T>)
        for (const std::uint32_t columns : {1u, 1001u, 8192u}) {
            const auto access = columns == 8192 ? rows::Access::vector : rows::Access::element;
            EXPECT_LE(kernel.run(device, {.rows = 131, .columns = columns, .options = {.access = access}}), 1)
                << kernel.name << " of " << columns;
        }
}
TEST_F(DslGpu, RowsAreRight) {
    check_rows<f32>(device());
    check_rows<bf16>(device());
    check_rows<f16>(device());
}

constexpr gemm::Size gemm_sizes[] = {{1, 1, 1}, {131, 65, 40}, {257, 300, 1000}, {640, 512, 256}};

TEST_F(DslGpu, GemmByMmaIsRight) {
    Module module({.target = "sm_80"});
    gemm::emit_gemm_mma(module);
    const Kernel kernel = load(module);
    for (const gemm::Size& size : gemm_sizes)
        EXPECT_EQ(gemm::check(device(), size, gemm::launch_mma<gemm::MmaShape{}>(kernel, size)),
                  std::nullopt);
}
TEST_F(DslGpu, GroupedGemmIsRight) {
    Module module({.target = "sm_80"});
    gemm::emit_grouped_gemm(module);
    const auto plain = [](double acc, std::uint32_t, std::uint32_t, std::uint32_t) { return acc; };
    EXPECT_EQ(
        gemm::check_grouped<gemm::MmaShape{}>(device(), gemm_sizes, load(module), multiprocessors(), plain),
        std::nullopt);
}
TEST_F(DslGpu, GemmByWgmmaIsRight) {
    if (!is_hopper()) GTEST_SKIP() << "wgmma is of sm_90a alone";
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma(module);
    const Kernel kernel = load(module);
    for (const gemm::Size& size : gemm_sizes)
        EXPECT_EQ(gemm::check(device(), size,
                              gemm::launch_wgmma<gemm::WgmmaShape{}>(kernel, size, multiprocessors())),
                  std::nullopt);
}
TEST_F(DslGpu, GemmByWgmmaInClustersIsRight) {
    if (!is_hopper()) GTEST_SKIP() << "wgmma is of sm_90a alone";
    constexpr gemm::WgmmaShape shape = {.cluster = 2};
    Module module({.target = "sm_90a"});
    gemm::emit_gemm_wgmma<shape>(module);
    const Kernel kernel = load(module);
    for (const gemm::Size& size : gemm_sizes)
        EXPECT_EQ(gemm::check(device(), size, gemm::launch_wgmma<shape>(kernel, size, multiprocessors())),
                  std::nullopt);
}
TEST_F(DslGpu, SplitKIsRight) {
    if (!is_hopper()) GTEST_SKIP() << "wgmma is of sm_90a alone";
    Module module({.target = "sm_90a"});
    gemm::emit_split_k(module);
    const Kernel kernel = load(module);
    for (const gemm::Size& size : {gemm::Size{131, 65, 40}, gemm::Size{200, 140, 4096}})
        EXPECT_EQ(gemm::check(device(), size, gemm::launch_split_k<4, gemm::WgmmaShape{}>(kernel, size)),
                  std::nullopt);
}

template <attention::Options O>
void check_attention(const Device& device, const attention::Launch<O>& launch) {
    for (const attention::Size size : {attention::Size{1, 17}, attention::Size{130, 333, 4, 2, 2}}) {
        const attention::Case<O> of{size};
        EXPECT_LE(attention::run<O>(device, of, launch).in_allowed, 1) << size.rows << " " << size.columns;
    }
}
constexpr attention::Options plain{.type = bf16, .head_dim = 128},
    causal{.type = f16, .head_dim = 64, .is_causal = true};

TEST_F(DslGpu, AttentionByMmaIsRight) {
    Module one({.target = "sm_80"}), other({.target = "sm_80"});
    attention::emit_attention_mma<plain>(one);
    attention::emit_attention_mma<causal>(other);
    check_attention(device(), attention::launch_mma<plain>(load(one)));
    check_attention(device(), attention::launch_mma<causal>(load(other)));
}
TEST_F(DslGpu, AttentionByWgmmaIsRight) {
    if (!is_hopper()) GTEST_SKIP() << "wgmma is of sm_90a alone";
    Module one({.target = "sm_90a"}), other({.target = "sm_90a"});
    attention::emit_attention_wgmma<plain>(one);
    attention::emit_attention_wgmma<causal>(other);
    check_attention(device(), attention::launch_wgmma<plain>(device(), load(one)));
    check_attention(device(), attention::launch_wgmma<causal>(device(), load(other)));
}

TEST_F(DslGpu, TensorKernelsAreSpecialisedAndKept) {
    const TensorKernel fill({.name = "fill",
                             .outputs = {Tile("rows", 32, u32)},
                             .grid = [](const Specialisation& s) { return Dim3{s.extent("rows")}; },
                             .block = {32}},
                            [](FunctionBuilder<>& k, const Specialisation& s, const Tensor& y) {
                                const auto to = global_address(k, y);
                                const auto at_thread = read<"%ctaid.x">(k) * 32 + read<"%tid.x">(k);
                                const auto number = k.reg<u32>();
                                k.emit<"mad.wide.u32">(to, at_thread, 4, to);
                                k.emit<"mov.u32">(number, s.extent("rows"));
                                k.emit<"st.global.u32">(at(to), number);
                                k.emit<"ret">();
                            });
    for (const std::uint32_t rows : {3u, 5u, 3u}) {
        const auto y = must(device().allocate(std::size_t{rows} * 32 * 4));
        must(fill.launch(device(), {{y, {rows, 32}}}));
        EXPECT_EQ(must(y.download<std::uint32_t>()),
                  std::vector<std::uint32_t>(std::size_t{rows} * 32, rows));
    }
    EXPECT_EQ(fill.kept(), 2u);
}

}  // namespace
}  // namespace ptxgraft
