// What a kernel costs on a GPU: its launch, its loading, the way from stubs to the first launch; and what the
// templates reach, beside the copy bandwidth of the same run.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <stdexcept>
#include <string>
#include <vector>

#include "gpu/templates.hpp"
#include "gpu_bench.hpp"
#include "ptxgraft/kernel.hpp"

namespace ptxgraft {
namespace {

Skeleton skeleton_of(const std::string& file, const Device& device) {
    return value(Skeleton::from_file(templates_folder() + file, {.target = device.target()}));
}

constexpr std::string_view empty_kernel =
    ".version 7.0\n.target sm_75\n.address_size 64\n"
    ".visible .entry empty(.param .u64 a, .param .u32 n) { ret; }\n";

// Launch and wait.
void BM_LaunchAndSynchronize(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Function function = value(device.load(empty_kernel, "empty"));
        const Buffer buffer = value(device.allocate(4));
        const std::uint32_t n = 1;
        const std::array<Argument, 2> arguments{buffer, n};
        for (auto _ : state) {
            done(function.launch({}, arguments));
            done(device.synchronize());
        }
    });
}
BENCHMARK(BM_LaunchAndSynchronize)->Unit(benchmark::kMicrosecond);

// An assembled GEMM into the driver and out again.
void BM_ModuleLoad(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Skeleton skeleton = skeleton_of("gemm/simt.cu", device);
        const Cubin cubin = value(default_assembler().assemble(skeleton.ptx(), {.target = device.target()}));
        for (auto _ : state) benchmark::DoNotOptimize(value(device.load(skeleton.ptx(), "gemm", &cubin)));
        state.counters["cubin_bytes"] = static_cast<double>(cubin.image.size());
    });
}
BENCHMARK(BM_ModuleLoad)->Unit(benchmark::kMillisecond);

// From a stack program to a finished first launch of the GEMM, and the parts of it.
void BM_GraftToFirstLaunch(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Skeleton skeleton = skeleton_of("gemm/simt.cu", device);
        const Buffer a = value(device.allocate(64 * 64 * 4)), c = value(device.allocate(64 * 64 * 4));
        GraftTimes sum;
        for (auto _ : state) {
            const Stub stub =
                value(stack::compile("acc bias add.f32 0.0 max.f32 -> acc", *skeleton.site("epilogue")));
            const Kernel kernel = value(skeleton.graft({{"epilogue", stub}}, device));
            done(kernel.launch({{1, 1, 1}, {16, 16, 1}}, a, a, a, c, 64u, 64u, 64u));
            done(device.synchronize());
            sum.render += kernel.times().render;
            sum.assemble += kernel.times().assemble;
            sum.load += kernel.times().load;
        }
        const auto each = [&](double total) {
            return benchmark::Counter(total, benchmark::Counter::kAvgIterations);
        };
        state.counters["render_ms"] = each(sum.render);
        state.counters["assemble_ms"] = each(sum.assemble);
        state.counters["load_ms"] = each(sum.load);
    });
}
BENCHMARK(BM_GraftToFirstLaunch)->Unit(benchmark::kMillisecond);

void BM_Elementwise(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Skeleton skeleton = skeleton_of("elementwise/simple.cu", device);
        const Stub stub = value(stack::compile("x 0.0 max.f32 -> y", *skeleton.site("function")));
        const Kernel kernel = value(skeleton.graft({{"function", stub}}, device));
        const Buffer x = value(device.allocate(array_bytes)), y = value(device.allocate(array_bytes));
        done(x.fill(std::byte{0}));
        const auto n = static_cast<std::uint32_t>(array_bytes / sizeof(float));
        time_on_stream(state, device, 10, [&](const Stream& stream) {
            done(kernel.launch_on(stream, {{4096, 1, 1}, {256, 1, 1}}, x, y, n));
        });
        count_bytes(state, device, 2.0 * array_bytes);
    });
}
BENCHMARK(BM_Elementwise)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_RmsNorm(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Skeleton skeleton = skeleton_of("norm/simple.cu", device);
        const Kernel kernel = value(skeleton.graft({}, device));
        const auto columns = static_cast<std::uint32_t>(state.range(0));
        const auto rows = static_cast<std::uint32_t>(array_bytes / sizeof(float) / columns);
        const Buffer x = value(device.allocate(array_bytes)), y = value(device.allocate(array_bytes)),
                     weight = value(device.allocate(columns * sizeof(float)));
        done(x.fill(std::byte{0x3F}));
        done(weight.fill(std::byte{0x3F}));
        time_on_stream(state, device, 10, [&](const Stream& stream) {
            done(kernel.launch_on(stream, {{std::min(rows, 65535u), 1, 1}, {256, 1, 1}}, x, weight, y, rows,
                                  columns, 1e-5f));
        });
        count_bytes(state, device, 2.0 * array_bytes);  // the second reading of a row comes from a cache
    });
}
BENCHMARK(BM_RmsNorm)->Arg(1024)->Arg(8192)->UseManualTime()->Unit(benchmark::kMillisecond);

void BM_Gemm(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const Skeleton skeleton = skeleton_of("gemm/simt.cu", device);
        const Stub stub =
            value(stack::compile("acc bias add.f32 0.0 max.f32 -> acc", *skeleton.site("epilogue")));
        const Kernel kernel = value(skeleton.graft({{"epilogue", stub}}, device));
        const auto n = static_cast<std::uint32_t>(state.range(0));
        const std::size_t bytes = std::size_t{n} * n * sizeof(float);
        const Buffer a = value(device.allocate(bytes)), b = value(device.allocate(bytes)),
                     c = value(device.allocate(bytes)), bias = value(device.allocate(n * sizeof(float)));
        for (const Buffer* buffer : {&a, &b, &bias}) done(buffer->fill(std::byte{0x3C}));
        time_on_stream(state, device, 5, [&](const Stream& stream) {
            done(kernel.launch_on(stream, {{(n + 63) / 64, (n + 63) / 64, 1}, {16, 16, 1}}, a, b, bias, c, n,
                                  n, n));
        });
        state.counters["TFLOP/s"] =
            benchmark::Counter(2.0 * n * n * n / 1e12, benchmark::Counter::kIsIterationInvariantRate);
    });
}
BENCHMARK(BM_Gemm)->Arg(1024)->Arg(4096)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptxgraft
