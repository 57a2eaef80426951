// Emitted instructions, from C++ to PTX text. `memcpy` is the time of copying the text, measured in the same
// run.

#include <benchmark/benchmark.h>

#include <string>

#include "measure.hpp"
#include "ptxgraft/dsl.hpp"

namespace {

using namespace ptxgraft;
using namespace ptxgraft::dsl;

constexpr int steps = 2000;  // of five instructions

// An inner loop of a GEMM, written out: loads, a conversion, two products and a comparison a step.
void emit_all(Module& module) {
    auto& k = module.entry("k");
    const auto address = k.argument<u64>("data");
    const auto a = k.regs<f32, 4>();
    const auto wide = k.reg<f64>();
    const auto p = k.reg<pred>();
    for (int i = 0; i < steps; ++i) {
        k.emit<"ld.global.v4.f32">(a, at(address, 16 * i));
        k.emit<"fma.rn.ftz.f32">(a[0], a[1], a[2], a[0]);
        k.emit<"mul.f32">(a[1], a[0], 1.5f);
        k.emit<"cvt.f64.f32">(wide, a[1]);
        k.if_(p).emit<"setp.lt.f64">(p, wide, 0.25);
    }
    k.emit<"ret">();
}

constexpr double instructions = 5.0 * steps + 2;

void BM_Emit(benchmark::State& state) {
    std::string text;
    const double start = bench::seconds();
    for (auto _ : state) {
        Module module({.target = "sm_80"});
        emit_all(module);
        text = module.text();
    }
    bench::report(state, "ns_per_instruction", instructions, text, bench::seconds() - start);
}
BENCHMARK(BM_Emit)->Unit(benchmark::kMicrosecond);

// With what isa::verify says of the module.
void BM_EmitAndVerify(benchmark::State& state) {
    Module module({.target = "sm_80"});
    emit_all(module);
    std::string text;
    const double start = bench::seconds();
    for (auto _ : state) text = *module.ptx();
    bench::report(state, "ns_per_instruction", instructions, text, bench::seconds() - start);
}
BENCHMARK(BM_EmitAndVerify)->Unit(benchmark::kMicrosecond);

// Checked when it runs.
void BM_EmitByName(benchmark::State& state) {
    std::string text;
    const double start = bench::seconds();
    for (auto _ : state) {
        Module module({.target = "sm_80"});
        auto& k = module.entry("k");
        const auto f = k.reg<f32>();
        for (int i = 0; i < steps; ++i)
            if (!k.emit("fma.rn.ftz.f32", f, f, f, 1.5f)) return state.SkipWithError("refused");
        text = module.text();
    }
    bench::report(state, "ns_per_instruction", steps, text, bench::seconds() - start);
}
BENCHMARK(BM_EmitByName)->Unit(benchmark::kMicrosecond);

}  // namespace
