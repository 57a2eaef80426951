/// @file gemm.cpp
/// Matrices multiplied by tensor cores, by kernels that this program emits itself, with and without a stub in
/// their epilogue.

#include <algorithm>
#include <cstdio>

#include "gemm_check.hpp"
#include "gemm_mma.hpp"

namespace {

using namespace ptxgraft;
using namespace gemm;

// Relu of what a bias of the column is added to.
Expected<Stub> relu(const Site& site) {
    return stub(site, [](StubBuilder<>& b) {
        const auto acc = b.operand<f32>("acc"), bias = b.reg<f32>();
        b.emit<"cvt.rn.f32.u32">(bias, b.operand<u32>("col"));
        b.emit<"fma.rn.f32">(acc, bias, -0.25f, acc);
        b.emit<"max.f32">(acc, acc, 0.0f);
    });
}
double relu_of(double acc, std::uint32_t, std::uint32_t col) { return std::max(acc - 0.25 * col, 0.0); }

struct Candidate {
    const char* name;
    std::vector<Graft> grafts;
    Epilogue epilogue;
};
using Check = std::function<std::optional<std::string>(const Kernel& kernel, const Epilogue& epilogue)>;

bool run(const char* name, const Module& module, const Device& device, const Check& check) {
    const auto skeleton = module.ptx().and_then(Skeleton::from_ptx);
    if (!skeleton) return std::printf("%s: %s\n", name, describe(skeleton.error()).c_str()), false;
    const Stub with_relu = relu(*skeleton->site("epilogue")).value();
    bool is_right = true;
    for (const Candidate& one :
         {Candidate{"plain", {}, unchanged}, Candidate{"bias, relu", {{"epilogue", with_relu}}, relu_of}}) {
        const auto kernel = skeleton->graft(one.grafts, device);
        const auto wrong = kernel ? check(*kernel, one.epilogue) : describe(kernel.error());
        std::printf("%-10s %-12s %s\n", name, one.name, wrong ? wrong->c_str() : "equals the reference");
        is_right = is_right && !wrong;
    }
    return is_right;
}

bool run_mma(const Device& device, const Size& size) {
    Module module({.target = "sm_80"});
    emit_gemm_mma(module);
    const auto launch = MmaGemm<MmaShape{}>::launch(size.m, size.n);
    return run("mma.sync", module, device, [&](const Kernel& kernel, const Epilogue& epilogue) {
        return check_mma(device, kernel, launch, size, epilogue);
    });
}

}  // namespace

int main() {
    const auto device = Device::open("auto").value();
    const Size size{300, 270, 200};
    std::printf("C of %u rows and %u columns, depth %u, on %s\n", size.m, size.n, size.depth,
                device.name().c_str());
    return run_mma(device, size) ? 0 : 1;
}
