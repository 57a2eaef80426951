// What a new variant of a GEMM costs from its stub's text to code that can be launched, step by step, beside
// what compiling its CUDA source costs before the assembler. Processor time: NVRTC and the assembler work on
// one thread, and other programs do not count.
#include <algorithm>
#include <array>
#include <limits>
#include <string_view>

#include "measure.hpp"
#include "ptxgraft/ptxgraft.hpp"

namespace ptxgraft::bench {
namespace {

constexpr const char* file = PTXGRAFT_SOURCE_DIR "/templates/gemm/simt.cu";
constexpr std::string_view site_name = "epilogue";
constexpr std::string_view program = "acc bias add.f32 0.0 max.f32 -> acc";

enum Step { cuda, stub, render, assemble, load, step_count };

// The fastest of every step, in seconds.
class Steps {
  public:
    template <class Work> auto take(Step step, Work work) {
        const double start = seconds();
        auto result = work();
        fastest_[step] = std::min(fastest_[step], seconds() - start);
        return result;
    }
    [[nodiscard]] double operator[](Step step) const { return fastest_[step]; }

  private:
    std::array<double, step_count> fastest_ = [] {
        std::array<double, step_count> never;
        never.fill(std::numeric_limits<double>::max());
        return never;
    }();
};

// Whether every step worked.
bool make_variant(Steps& steps, const Device& device, const CudaOptions& options) {
    const auto skeleton = steps.take(cuda, [&] { return Skeleton::from_file(file, options); });
    if (!skeleton || skeleton->site(site_name) == nullptr) return false;
    const Site& site = *skeleton->site(site_name);
    const auto compiled = steps.take(stub, [&] { return stack::compile(program, site); });
    if (!compiled) return false;
    const std::array grafts{Graft(site_name, *compiled)};
    const auto ptx = steps.take(render, [&] { return skeleton->render(grafts); });
    if (!ptx) return false;
    const auto cubin = steps.take(assemble, [&] { return default_assembler().assemble(*ptx); });
    const auto function = steps.take(load, [&] { return device.load(*ptx, skeleton->entries().front()); });
    return cubin && function;
}

void BM_Variant(benchmark::State& state) {
    const auto device = Device::open("emulator");
    if (!device) return state.SkipWithError("there is no emulator");
    const CudaOptions options{.target = "sm_90a"};
    Steps steps;
    for (auto _ : state)
        if (!make_variant(steps, *device, options)) return state.SkipWithError("a step failed");
    state.counters["cuda_ms"] = steps[cuda] * 1e3;
    state.counters["stub_us"] = steps[stub] * 1e6;
    state.counters["render_us"] = steps[render] * 1e6;
    state.counters["assemble_ms"] = steps[assemble] * 1e3;
    state.counters["emulator_load_us"] = steps[load] * 1e6;
    const double to_machine_code = steps[stub] + steps[render] + steps[assemble];
    state.counters["variant_ms"] = to_machine_code * 1e3;
    state.counters["x_cuda"] = (steps[cuda] + steps[assemble]) / to_machine_code;
}
BENCHMARK(BM_Variant)->Unit(benchmark::kMillisecond);

// The assembler's time by the route of a stub, and by its length: the GEMM's epilogue has 16 copies.
void BM_Route(benchmark::State& state) {
    const auto skeleton = Skeleton::from_file(file, {.target = "sm_90a"});
    if (!skeleton) return state.SkipWithError("the skeleton does not compile");
    std::string text = "acc";
    for (std::int64_t i = 0; i < state.range(0); ++i) text += i % 2 == 0 ? " bias add.f32" : " 1.5 mul.f32";
    const auto stub = stack::compile(text + " -> acc", *skeleton->site(site_name));
    if (!stub) return state.SkipWithError("the stub does not compile");
    const std::array grafts{Graft(site_name, *stub)};
    std::array<double, 2> fastest{1e9, 1e9};
    std::array<double, 2> render{1e9, 1e9};
    for (auto _ : state)
        for (const Route route : {Route::inlined, Route::call}) {
            const std::size_t at = route == Route::call;
            const double start = seconds();
            const auto rendered = skeleton->render_by(grafts, {.route = route});
            const double middle = seconds();
            if (!rendered || !default_assembler().assemble(rendered->ptx))
                return state.SkipWithError("a step failed");
            render[at] = std::min(render[at], middle - start);
            fastest[at] = std::min(fastest[at], seconds() - middle);
        }
    state.counters["inline_ms"] = fastest[0] * 1e3;
    state.counters["call_ms"] = fastest[1] * 1e3;
    state.counters["inline_render_us"] = render[0] * 1e6;
    state.counters["call_render_us"] = render[1] * 1e6;
    state.counters["x_call"] = fastest[0] / fastest[1];
}
BENCHMARK(BM_Route)->Arg(2)->Arg(8)->Arg(32)->Arg(128)->Arg(256)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptxgraft::bench
