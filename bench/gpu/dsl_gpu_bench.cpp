// What the kernels of examples/dsl reach on a GPU: products in FLOPS, rows beside the copy bandwidth of the
// same run.

#include <benchmark/benchmark.h>

#include <stdexcept>
#include <string>

#include "attention_check.hpp"
#include "gemm_check.hpp"
#include "gpu_bench.hpp"

namespace ptxgraft {
namespace {

using dsl::Module;
using rows::must;

Kernel load(const Device& device, const Module& module) {
    const std::string ptx = must(module.ptx());
    return must(must(Skeleton::from_ptx(ptx)).graft({}, device), ptx);
}
void need_hopper(const Device& device) {
    if (device.target() != "sm_90a") throw std::runtime_error("wgmma is of sm_90a alone");
}

void report_flops(benchmark::State& state, double flops) {
    state.counters["TFLOPS"] =
        benchmark::Counter(flops / 1e12, benchmark::Counter::kIsIterationInvariantRate);
}

// A and B of numbers around 0, as trained weights are: what they are counts for the power that a GPU takes.
ptxgraft::Buffer numbers(const Device& device, std::size_t count, unsigned seed) {
    return rows::upload<dsl::bf16>(device, rows::some_values<dsl::bf16>(count, seed, -1, 1));
}

// Milliseconds of each iteration: some launches on the default stream, between two events.
template <class Launch> void time(benchmark::State& state, const Device& device, Launch&& launch) {
    constexpr int launches = 10;
    Event start = value(device.create_event()), end = value(device.create_event());
    done(launch());  // a first launch loads the function
    done(device.synchronize());
    for (auto _ : state) {
        done(start.record());
        for (int i = 0; i < launches; ++i) done(launch());
        done(end.record());
        state.SetIterationTime(value(end.elapsed_since(start)) / 1000.0 / launches);
    }
}

template <class LaunchOf>
void time_gemm(benchmark::State& state, const Device& device, const Module& module, LaunchOf&& launch_of) {
    const auto side = static_cast<std::uint32_t>(state.range(0));
    const gemm::Size size{side, side, side};
    const std::size_t count = std::size_t{side} * side;
    const gemm::Buffers buffers = {numbers(device, count, 1), numbers(device, count, 2),
                                   value(device.allocate(4 * count))};
    const gemm::Launch launch = launch_of(load(device, module), size);
    time(state, device, [&] { return launch(buffers); });
    report_flops(state, 2.0 * side * side * side);
}

void BM_DslGemmMma(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        Module module({.target = "sm_80"});
        gemm::emit_gemm_mma(module);
        time_gemm(state, device, module, [](const Kernel& kernel, const gemm::Size& size) {
            return gemm::launch_mma<gemm::MmaShape{}>(kernel, size);
        });
    });
}
BENCHMARK(BM_DslGemmMma)->Arg(2048)->Arg(4096)->Arg(8192)->UseManualTime()->Unit(benchmark::kMillisecond);

template <gemm::WgmmaShape S> void BM_DslGemmWgmma(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        need_hopper(device);
        const auto multiprocessors = value(device.properties()).multiprocessors;
        Module module({.target = "sm_90a"});
        gemm::emit_gemm_wgmma<S>(module);
        time_gemm(state, device, module, [&](const Kernel& kernel, const gemm::Size& size) {
            return gemm::launch_wgmma<S>(kernel, size, multiprocessors);
        });
    });
}
constexpr gemm::WgmmaShape usual = {}, wide = {.tile_n = 256, .stages = 3}, pairs = {.cluster = 2};
BENCHMARK(BM_DslGemmWgmma<usual>)->Arg(2048)->Arg(4096)->Arg(8192)->UseManualTime();
BENCHMARK(BM_DslGemmWgmma<wide>)->Arg(2048)->Arg(4096)->Arg(8192)->UseManualTime();
BENCHMARK(BM_DslGemmWgmma<pairs>)->Arg(2048)->Arg(4096)->Arg(8192)->UseManualTime();

template <attention::Options O, class LaunchOf>
void time_attention(benchmark::State& state, const Device& device, LaunchOf&& launch) {
    const auto length = static_cast<std::uint32_t>(state.range(0));
    const attention::Case<O> of{{.rows = length, .columns = length, .heads = 16}};
    const attention::Buffers buffers = {
        rows::upload<O.type>(device, of.q), rows::upload<O.type>(device, of.k),
        rows::upload<O.type>(device, of.v), rows::upload<O.type>(device, rows::Numbers(of.q.size()))};
    time(state, device, [&] { return launch(of, buffers); });
    report_flops(state, 4.0 * length * length * O.head_dim * 16 / (O.is_causal ? 2 : 1));
}
template <attention::Options O> void BM_DslAttentionMma(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        Module module({.target = "sm_80"});
        attention::emit_attention_mma<O>(module);
        time_attention<O>(state, device, attention::launch_mma<O>(load(device, module)));
    });
}
template <attention::Options O> void BM_DslAttentionWgmma(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        need_hopper(device);
        Module module({.target = "sm_90a"});
        attention::emit_attention_wgmma<O>(module);
        time_attention<O>(state, device, attention::launch_wgmma<O>(device, load(device, module)));
    });
}
constexpr attention::Options full{.type = dsl::bf16, .head_dim = 128},
    causal{.type = dsl::bf16, .head_dim = 128, .is_causal = true};
BENCHMARK(BM_DslAttentionMma<full>)->Arg(2048)->Arg(8192)->UseManualTime();
BENCHMARK(BM_DslAttentionMma<causal>)->Arg(2048)->Arg(8192)->UseManualTime();
BENCHMARK(BM_DslAttentionWgmma<full>)->Arg(2048)->Arg(8192)->UseManualTime();
BENCHMARK(BM_DslAttentionWgmma<causal>)->Arg(2048)->Arg(8192)->UseManualTime();

// One read and one write of each element, 16 bytes at once.
void BM_DslRmsNorm(benchmark::State& state) {
    with_gpu(state, [&](const Device& device) {
        const auto columns = static_cast<std::uint32_t>(state.range(0));
        const auto count = static_cast<std::uint32_t>(array_bytes / 2 / columns);
        Module module({.target = device.target()});
        const rows::RowOptions options = {.access = rows::Access::vector};
        rows::emit_rms_norm<dsl::bf16>(module, options);
        const Kernel kernel = load(device, module);
        const Buffer x = value(device.allocate(array_bytes)), y = value(device.allocate(array_bytes)),
                     weight = value(device.allocate(2 * columns));
        done(x.fill(std::byte{0x3F}));
        done(weight.fill(std::byte{0x3F}));
        time(state, device, [&] {
            return kernel.launch({.grid = {count}, .block = {options.threads}}, y, x, weight, columns, 1e-5f);
        });
        count_bytes(state, device, 2.0 * array_bytes);
    });
}
BENCHMARK(BM_DslRmsNorm)->Arg(1024)->Arg(8192)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptxgraft
