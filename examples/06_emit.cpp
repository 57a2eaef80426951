// A kernel written in C++, one call for one instruction, with a site; and a stub for it, written likewise.

#include <cstdio>
#include <ptxgraft/dsl.hpp>
#include <ptxgraft/ptxgraft.hpp>

using namespace ptxgraft::dsl;

void emit_apply(Module& module) {
    auto& k = module.entry("apply");
    const auto data = k.argument<u64>("data");
    const auto lane = k.reg<u32>();
    const auto address = k.reg<u64>();
    const auto x = k.reg<f32>();
    k.emit<"mov.u32">(lane, special<"%tid.x">);
    k.emit<"mad.wide.u32">(address, lane, 4, data);
    k.emit<"ld.global.f32">(x, at(address));
    k.site("f", {mod("x", x)}, {}, [] {});
    k.emit<"st.global.f32">(at(address), x);
    k.emit<"ret">();
}

int main() {
    const auto device = ptxgraft::Device::open().value();  // a GPU, else the emulator
    Module module({.target = device.target()});
    emit_apply(module);
    const auto skeleton = ptxgraft::Skeleton::from_ptx(module.ptx().value()).value();
    const auto square_above_zero = [](StubBuilder<>& b) {
        const auto x = b.operand<f32>("x");
        const auto p = b.reg<pred>();
        b.emit<"setp.gt.f32">(p, x, 0.0f);
        b.if_(p).emit<"mul.f32">(x, x, x);
    };
    const auto stub = ptxgraft::dsl::stub(*skeleton.site("f"), square_above_zero).value();
    std::printf("%s", stub.ptx().c_str());
    const auto data = device.upload(std::vector{-2.f, -1.f, 0.f, 3.f, 4.f}).value();
    const auto kernel = skeleton.graft({{"f", stub}}, device).value();
    if (!kernel.launch({.grid = {1}, .block = {5}}, data)) return 1;
    const auto y = data.download<float>().value();
    std::printf("%g %g %g %g %g\n", y[0], y[1], y[2], y[3], y[4]);
}
