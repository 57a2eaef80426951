/// @file attention.cpp
/// Attention by tensor cores, by kernels that this program emits itself, with and without a stub on their
/// scores.

#include <cstdio>
#include <exception>

#include "attention_check.hpp"

namespace {

using namespace ptxgraft;
using namespace attention;

// A bias that falls with the distance of the key, for each head half as fast as for the one before (ALiBi).
Stub falling(const Site& site) {
    return rows::must(stub(site, [](StubBuilder<>& b) {
        const auto score = b.operand<f32>("score"), distance = b.reg<f32>(), slope = b.reg<f32>();
        const auto difference = b.reg<s32>();
        b.emit<"sub.s32">(difference, b.operand<u32>("column"), b.operand<u32>("row"));
        b.emit<"cvt.rn.f32.s32">(distance, difference);
        b.emit<"cvt.rn.f32.u32">(slope, b.operand<u32>("head"));
        b.emit<"neg.f32">(slope, slope);
        b.emit<"ex2.approx.ftz.f32">(slope, slope);
        b.emit<"fma.rn.f32">(score, distance, slope, score);
    }));
}
double falling_of(double score, std::uint32_t row, std::uint32_t column, std::uint32_t head) {
    return score + (static_cast<double>(column) - row) * std::ldexp(1.0, -static_cast<int>(head));
}

bool say(const char* name, const char* what, const auto& errors) {
    std::printf("%-10s %-18s largest error %.2g, %.2f of what may be\n", name, what, errors.absolute,
                errors.in_allowed);
    return errors.in_allowed <= 1;
}

// With the site as it is, and with a stub in it.
template <Options O>
bool run_both(const char* name, const Device& device, const Module& module, const Size& size,
              auto&& launch_of) {
    const auto skeleton = rows::must(module.ptx().and_then(Skeleton::from_ptx));
    const auto run_with = [&](const char* what, const std::vector<Graft>& grafts, const AtSite& score) {
        const auto kernel = rows::must(skeleton.graft(grafts, device));
        return say(name, what, run<O>(device, {size, score}, launch_of(kernel)));
    };
    const bool is_plain_right = run_with(O.is_causal ? "causal" : "full", {}, unchanged);
    return run_with(O.is_causal ? "causal, with ALiBi" : "full, with ALiBi",
                    {{"score", falling(*skeleton.site("score"))}}, falling_of) &&
           is_plain_right;
}

template <Options O> bool run_mma(const Device& device, const Size& size) {
    Module module({.target = "sm_80"});
    emit_attention_mma<O>(module);
    return run_both<O>("mma.sync", device, module, size, launch_mma<O>);
}
template <Options O> bool run_wgmma(const Device& device, const Size& size) {
    if (device.target() != "sm_90a") return std::puts("wgmma      is of sm_90a alone"), true;
    Module module({.target = "sm_90a"});
    emit_attention_wgmma<O>(module);
    return run_both<O>("wgmma", device, module, size,
                       [&](const Kernel& kernel) { return launch_wgmma<O>(device, kernel); });
}
template <Options O> bool run_all(const Device& device, const Size& size) {
    const bool is_mma_right = run_mma<O>(device, size), is_wgmma_right = run_wgmma<O>(device, size);
    return is_mma_right && is_wgmma_right;
}

}  // namespace

int main() try {
    const auto device = rows::must(Device::open("auto"));
    const Size size{.rows = 150, .columns = 200, .heads = 4, .group = 2};
    std::printf("%u queries, %u keys, %u heads, on %s\n", size.rows, size.columns, size.heads,
                device.name().c_str());
    const bool is_full_right = run_all<Options{.head_dim = 128}>(device, size);
    const bool is_causal_right =
        run_all<Options{.type = f16, .head_dim = 64, .is_causal = true}>(device, size);
    return is_full_right && is_causal_right ? 0 : 1;
} catch (const std::exception& error) { return std::puts(error.what()), 1; }
