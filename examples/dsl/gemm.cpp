/// @file gemm.cpp
/// Matrices multiplied by tensor cores, by kernels that this program emits itself, with and without a stub in
/// their epilogue.

#include <algorithm>
#include <cstdio>

#include "gemm_check.hpp"

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

using MakeLaunch = std::function<Launch(const Kernel& kernel)>;

bool say(const char* name, const char* what, const std::optional<std::string>& wrong) {
    std::printf("%-10s %-12s %s\n", name, what, wrong ? wrong->c_str() : "equals the reference");
    return !wrong;
}

// With the site as it is, and with a stub in it.
bool run(const char* name, const Module& module, const Device& device, const Size& size,
         const MakeLaunch& launch) {
    const auto skeleton = module.ptx().and_then(Skeleton::from_ptx);
    if (!skeleton) return say(name, "", describe(skeleton.error()));
    const auto stub = relu(*skeleton->site("epilogue"));
    if (!stub) return say(name, "", describe(stub.error()));
    const auto run_with = [&](const char* what, const std::vector<Graft>& grafts, const Epilogue& epilogue) {
        const auto kernel = skeleton->graft(grafts, device);
        return say(name, what,
                   kernel ? check(device, size, launch(*kernel), epilogue) : describe(kernel.error()));
    };
    const bool is_plain_right = run_with("plain", {}, unchanged);
    return run_with("bias, relu", {{"epilogue", *stub}}, relu_of) && is_plain_right;
}

bool run_mma(const Device& device, const Size& size) {
    Module module({.target = "sm_80"});
    emit_gemm_mma(module);
    return run("mma.sync", module, device, size,
               [&](const Kernel& kernel) { return launch_mma<MmaShape{}>(kernel, size); });
}
using RunForSm90a = bool (*)(const Device& device, const Size& size, std::uint32_t multiprocessors);
bool run_on_sm_90a(const char* name, RunForSm90a run_it, const Device& device, const Size& size) {
    const auto properties = device.properties();
    if (!properties) return say(name, "", describe(properties.error()));
    if (device.target() != "sm_90a") return std::printf("%-10s is of sm_90a alone\n", name), true;
    return run_it(device, size, properties->multiprocessors);
}
bool run_wgmma(const Device& device, const Size& size, std::uint32_t multiprocessors) {
    Module module({.target = "sm_90a"});
    emit_gemm_wgmma(module);
    return run("wgmma", module, device, size, [&](const Kernel& kernel) {
        return launch_wgmma<WgmmaShape{}>(kernel, size, multiprocessors);
    });
}
bool run_split_k(const Device& device, const Size& size, std::uint32_t) {
    Module module({.target = "sm_90a"});
    emit_split_k(module);
    return run("split k", module, device, size,
               [&](const Kernel& kernel) { return launch_split_k<4, WgmmaShape{}>(kernel, size); });
}

// Three products in one launch, one of them empty.
bool run_grouped(const Device& device, const Size& size) {
    Module module({.target = "sm_80"});
    emit_grouped_gemm(module);
    const Size sizes[] = {size, {0, size.n, size.depth}, {size.n, 2 * size.m, size.depth / 3}};
    const auto properties = device.properties();
    const auto kernel = module.ptx().and_then(Skeleton::from_ptx).and_then([&](const Skeleton& skeleton) {
        return skeleton.graft({}, device);
    });
    if (!properties || !kernel) return say("grouped", "", "no kernel");
    return say("grouped", "plain",
               check_grouped<MmaShape{}>(device, sizes, *kernel, properties->multiprocessors,
                                         [](double acc, auto...) { return acc; }));
}

}  // namespace

int main() {
    const auto device = Device::open("auto");
    if (!device) return std::puts(describe(device.error()).c_str()), 1;
    const Size size{300, 270, 200};
    std::printf("C of %u rows and %u columns, depth %u, on %s\n", size.m, size.n, size.depth,
                device->name().c_str());
    const bool are_right[] = {run_mma(*device, size), run_grouped(*device, size),
                              run_on_sm_90a("wgmma", run_wgmma, *device, size),
                              run_on_sm_90a("split k", run_split_k, *device, size)};
    return std::all_of(std::begin(are_right), std::end(are_right), std::identity{}) ? 0 : 1;
}
