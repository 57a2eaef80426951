// The emulator: how fast a module loads, and how many instructions a second its kernels make.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

constexpr const char* source = R"(
extern "C" __global__ void multiply(const float* a, const float* b, float* c, int n) {
    __shared__ float as[16][16], bs[16][16];
    int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        as[y][x] = a[row * n + k + x]; bs[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += as[y][i] * bs[i][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
extern "C" __global__ void nothing() {}
)";

const std::string& text() {
    static const std::string ptx = [] {
        auto compiled = compile_cuda(source, {.target = "sm_90"});
        return compiled ? compiled->text : std::string();
    }();
    return ptx;
}

// Nanoseconds of copying `bytes` bytes, best of some: what the ratios are to.
double copy_seconds(std::size_t bytes) {
    std::string from(bytes, 'x'), to(bytes, 'y');
    double best = 1e9;
    for (int i = 0; i < 20; ++i) {
        const auto begin = std::chrono::steady_clock::now();
        std::memcpy(to.data(), from.data(), bytes);
        benchmark::DoNotOptimize(to.data());
        best =
            std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    return best;
}

void BM_EmulatorLoad(benchmark::State& state) {
    const auto functions = static_cast<std::size_t>(state.range(0));
    std::string many = text().substr(0, text().find(".visible .entry"));
    const std::string body = text().substr(many.size(), text().find("\n}\n", many.size()) + 3 - many.size());
    for (std::size_t i = 0; i < functions; ++i) {
        std::string one = body;
        one.replace(one.find("multiply"), 8, "k" + std::to_string(i));
        many += one;
    }
    for (auto _ : state) {
        Emulator emulator;
        benchmark::DoNotOptimize(emulator.load(many));
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(many.size()) * state.iterations());
    state.counters["times_memcpy"] =
        benchmark::Counter(copy_seconds(many.size()),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(BM_EmulatorLoad)->Arg(1)->Arg(1000)->Unit(benchmark::kMicrosecond);

void BM_EmulatorEmptyLaunch(benchmark::State& state) {
    Emulator emulator;
    const auto module = emulator.load(text());
    for (auto _ : state) benchmark::DoNotOptimize(emulator.launch(**module, "nothing", {}, {}));
}
BENCHMARK(BM_EmulatorEmptyLaunch)->Unit(benchmark::kMicrosecond);

void BM_EmulatorProduct(benchmark::State& state) {
    const auto n = static_cast<std::int32_t>(state.range(0));
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(float);
    Emulator emulator({.threads = static_cast<std::uint32_t>(state.range(1))});
    const auto module = emulator.load(text());
    const std::uint64_t buffers[] = {*emulator.allocate(bytes), *emulator.allocate(bytes),
                                     *emulator.allocate(bytes)};
    std::vector<std::span<const std::byte>> arguments;
    for (const std::uint64_t& buffer : buffers) arguments.push_back(std::as_bytes(std::span(&buffer, 1)));
    arguments.push_back(std::as_bytes(std::span(&n, 1)));
    const auto blocks = static_cast<std::uint32_t>(n / 16);
    EmulatorStats stats;
    for (auto _ : state) {
        const auto run = emulator.launch(**module, "multiply",
                                         {.grid = {blocks, blocks, 1}, .block = {16, 16, 1}}, arguments);
        if (!run) return state.SkipWithError("the launch failed");
        stats = *run;
    }
    const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
    state.counters["warp_instructions"] =
        benchmark::Counter(static_cast<double>(stats.warp_instructions), per_second);
    state.counters["lane_instructions"] =
        benchmark::Counter(static_cast<double>(stats.thread_instructions), per_second);
}
BENCHMARK(BM_EmulatorProduct)
    ->Args({64, 1})
    ->Args({256, 1})
    ->Args({256, 2})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace ptxgraft
