// What a candidate costs between its stub and its launch: the text rendered, and the kernel loaded on the
// emulator or by a CUDA driver of host memory, whose calls take no time, so that what is left is the host's.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <limits>

#include "ptxgraft/kernel.hpp"

namespace ptxgraft {
namespace {

Expected<Kernel> graft_gemm(const Skeleton& skeleton, const Device& device) {
    const auto stub = stack::compile("acc bias add.f32 0.0 max.f32 -> acc", *skeleton.site("epilogue"));
    if (!stub) return tl::unexpected(stub.error());
    return skeleton.graft({{"epilogue", *stub}}, device);
}

// The time of an iteration has everything in it, on a GPU milliseconds of assembly; the counters have the
// least that the other two steps took.
void graft(benchmark::State& state, const char* device_name) {
    const auto skeleton =
        Skeleton::from_file(PTXGRAFT_SOURCE_DIR "/templates/gemm/simt.cu", {.target = "sm_90"});
    const auto device = Device::open(device_name, {.driver = PTXGRAFT_BINARY_DIR "/libfake_cuda.so"});
    if (!skeleton || !device) return state.SkipWithError("no skeleton or no device");
    constexpr double most = std::numeric_limits<double>::infinity();
    GraftTimes least = {.render = most, .load = most};
    for (auto _ : state) {
        const auto kernel = graft_gemm(*skeleton, *device);
        if (!kernel) return state.SkipWithError(message(kernel.error()).c_str());
        least.render = std::min(least.render, kernel->times().render);
        least.load = std::min(least.load, kernel->times().load);
    }
    state.counters["render_us"] = least.render * 1000;
    state.counters["load_us"] = least.load * 1000;
    state.counters["ptx_bytes"] = static_cast<double>(skeleton->ptx().size());
}
void BM_GraftEmulator(benchmark::State& state) { graft(state, "emulator:sm_90"); }
void BM_GraftCuda(benchmark::State& state) { graft(state, "cuda"); }
BENCHMARK(BM_GraftEmulator)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_GraftCuda)->Unit(benchmark::kMicrosecond)->Iterations(50);

}  // namespace
}  // namespace ptxgraft
