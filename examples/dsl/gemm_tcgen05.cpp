/// @file gemm_tcgen05.cpp
/// Matrices multiplied by the tensor cores of sm_100a, in the element types that these have: by one block a
/// tile, by two, and with a scale factor for every block of elements. Where there is no such GPU the kernels
/// are assembled and not run.

#include <cstdio>

#include "tcgen05_check.hpp"

namespace {

using namespace ptxgraft;
using namespace gemm;

const Size size{300, 270, 512};

bool say(const char* name, const std::optional<std::string>& wrong, const char* right) {
    std::printf("%-22s %s\n", name, wrong ? wrong->c_str() : right);
    return !wrong;
}

using Check = std::optional<std::string> (*)(const Device& device, const Kernel& kernel, const Size& size,
                                             std::uint32_t multiprocessors, const Epilogue& epilogue);

bool run(const char* name, void (*emit)(Module& module, std::string_view name), const Device& device,
         Check check) {
    Module module({.target = "sm_100a"});
    emit(module, "gemm");
    const auto ptx = module.ptx();
    if (!ptx) return say(name, describe(ptx.error()), "");
    if (device.target() != "sm_100a") {
        const auto cubin = default_assembler().assemble(*ptx, {.limits = {.spill_bytes = 0}});
        return say(name, cubin ? std::nullopt : std::optional(describe(cubin.error(), *ptx)), "is assembled");
    }
    const auto kernel = Skeleton::from_ptx(*ptx).value().graft({}, device);
    if (!kernel) return say(name, describe(kernel.error()), "");
    const auto properties = device.properties();
    if (!properties) return say(name, describe(properties.error()), "");
    return say(name, check(device, *kernel, size, properties->multiprocessors, unchanged),
               "equals the reference");
}
template <Tcgen05Shape S> bool run(const char* name, const Device& device) {
    return run(name, emit_gemm_tcgen05<S>, device, check_tcgen05<S>);
}
template <BlockScaledShape S> bool run(const char* name, const Device& device) {
    return run(name, emit_gemm_block_scaled<S>, device, check_block_scaled<S>);
}

}  // namespace

int main() {
    const auto device = Device::open("auto");
    if (!device) return std::puts(describe(device.error()).c_str()), 1;
    using enum MmaType;
    bool is_right = run<Tcgen05Shape{}>("bf16", *device);
    is_right &= run<Tcgen05Shape{.type = f16}>("f16", *device);
    is_right &= run<Tcgen05Shape{.type = e4m3}>("e4m3", *device);
    is_right &= run<Tcgen05Shape{.blocks = 2, .stages = 6}>("bf16, two blocks", *device);
    is_right &= run<Tcgen05Shape{.type = e4m3, .blocks = 2, .stages = 6}>("e4m3, two blocks", *device);
    is_right &= run<BlockScaledShape{}>("mxf8f6f4", *device);
    is_right &= run<BlockScaledShape{.kind = MmaKind::mxf4, .type = e2m1}>("mxf4", *device);
    is_right &= run<BlockScaledShape{.kind = MmaKind::mxf4nvf4, .type = e2m1, .block = 16, .scale = ue4m3}>(
        "mxf4nvf4", *device);
    return is_right ? 0 : 1;
}
