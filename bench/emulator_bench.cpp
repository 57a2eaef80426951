// The emulator: how fast a module loads, and how many instructions a second its kernels make.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "compiler_module.hpp"
#include "ptxgraft/device.hpp"
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
// As fast kernels are written: 128 x 128 of the product in a block, 8 x 8 in a thread's registers.
extern "C" __global__ void __launch_bounds__(256) multiply_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float4 as[8][32], bs[8][32];
    const int t = threadIdx.x, x = t % 16, y = t / 16, row = blockIdx.y * 128, column = blockIdx.x * 128;
    float sum[8][8] = {};
    for (int k = 0; k < n; k += 8) {
        const float4 part = *(const float4*)&a[(row + t / 2) * n + k + t % 2 * 4];
        float* const column_of_a = (float*)as + t % 2 * 4 * 128 + t / 2;
        column_of_a[0] = part.x; column_of_a[128] = part.y; column_of_a[256] = part.z; column_of_a[384] = part.w;
        bs[t / 32][t % 32] = *(const float4*)&b[(k + t / 32) * n + column + t % 32 * 4];
        __syncthreads();
#pragma unroll
        for (int i = 0; i < 8; ++i) {
            const float4 a0 = as[i][y], a1 = as[i][y + 16], b0 = bs[i][x], b1 = bs[i][x + 16];
            const float u[8] = {a0.x, a0.y, a0.z, a0.w, a1.x, a1.y, a1.z, a1.w}, v[8] = {b0.x, b0.y, b0.z, b0.w, b1.x, b1.y, b1.z, b1.w};
#pragma unroll
            for (int p = 0; p < 8; ++p)
#pragma unroll
                for (int q = 0; q < 8; ++q) sum[p][q] += u[p] * v[q];
        }
        __syncthreads();
    }
    for (int p = 0; p < 8; ++p)
        for (int q = 0; q < 8; ++q)
            c[(row + y * 4 + p / 4 * 64 + p % 4) * n + column + x * 4 + q / 4 * 64 + q % 4] = sum[p][q];
}
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

// A module, from its text to a program whose every function can run, in a new emulator; and its end. The
// process has seen its instructions before.
void load(benchmark::State& state, const std::string& module) {
    for (auto _ : state) {
        Emulator emulator({.threads = static_cast<std::uint32_t>(state.range(1))});
        const auto loaded = emulator.load(module);
        if (!loaded) return state.SkipWithError("the module is wrong");
    }
    state.SetBytesProcessed(static_cast<std::int64_t>(module.size()) * state.iterations());
    state.counters["times_memcpy"] =
        benchmark::Counter(copy_seconds(module.size()),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// An entry of the kernels above, so many times.
std::string repeated(const std::string& entry, std::int64_t times) {
    const std::size_t begin = text().find(".visible .entry " + entry + "("),
                      end = text().find("\n}\n", begin) + 3;
    std::string module = text().substr(0, text().find(".visible .entry"));
    for (std::int64_t i = 0; i < times; ++i)
        module += ".visible .entry k" + std::to_string(i) +
                  text().substr(begin + 16 + entry.size(), end - begin - 16 - entry.size());
    return module;
}
// How many, and threads. 4000 short kernels are 14 MB, and so are 460 unrolled ones.
void BM_EmulatorLoad(benchmark::State& state) { load(state, repeated("multiply", state.range(0))); }
void BM_EmulatorLoadUnrolled(benchmark::State& state) {
    load(state, repeated("multiply_tiled", state.range(0)));
}
// Bytes, and threads.
void BM_EmulatorLoadCompilerModule(benchmark::State& state) {
    load(state, bench::module_of(static_cast<std::size_t>(state.range(0))));
}
void in_threads(benchmark::internal::Benchmark* bench, std::int64_t size) {
    for (const std::int64_t threads : {1, 2})
        bench->Args({size, threads})->Unit(benchmark::kMicrosecond)->UseRealTime();
}
BENCHMARK(BM_EmulatorLoad)->Args({1, 1})->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_EmulatorLoad)->Apply([](auto* bench) { in_threads(bench, 4000); });
BENCHMARK(BM_EmulatorLoadUnrolled)->Apply([](auto* bench) { in_threads(bench, 460); });
BENCHMARK(BM_EmulatorLoadCompilerModule)->Apply([](auto* bench) { in_threads(bench, 14 << 20); });

void BM_EmulatorEmptyLaunch(benchmark::State& state) {
    Emulator emulator({.fast = state.range(0) != 0});
    const auto module = emulator.load(text());
    for (auto _ : state) benchmark::DoNotOptimize(emulator.launch(**module, "nothing", {}, {}));
}
BENCHMARK(BM_EmulatorEmptyLaunch)->ArgName("fast")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

// The same through a device, whose lock it takes.
void BM_DeviceEmptyLaunch(benchmark::State& state) {
    const auto device = Device::emulator({.fast = state.range(0) != 0});
    const auto function = device->load(text(), "nothing");
    for (auto _ : state) benchmark::DoNotOptimize(function->launch({}, {}));
}
BENCHMARK(BM_DeviceEmptyLaunch)->ArgName("fast")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

// A kernel with a variable is made, launched and destroyed: alone, and beside a thread that launches kernels
// of some 3 ms in a loop.
const std::string loop_and_touch = R"(.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 counter = 7;
.visible .entry loop(.param .u32 n) {
	.reg .b32 %r<4>; .reg .pred %q;
	ld.param.u32 %r1, [n];
L:	sub.u32 %r1, %r1, 1; setp.ne.u32 %q, %r1, 0;
	@%q bra L;
	ret;
}
.visible .entry touch(.param .u64 p) { .reg .b64 %rd; ld.param.u64 %rd, [p]; st.global.u32 [%rd], 5; ret; }
)";
void make_kernels(benchmark::State& state, bool launches, bool waits) {
    const auto device = Device::emulator({.threads = 1});
    const auto loop = device->load(loop_and_touch, "loop");
    const auto buffer = device->allocate(4);
    std::atomic<bool> is_over = false;
    std::atomic<std::uint64_t> launched = 0;
    std::thread other([&] {
        const std::uint32_t n = 100'000;
        const std::array<Argument, 1> arguments{n};
        for (; launches && !is_over; ++launched) benchmark::DoNotOptimize(loop->launch({}, arguments));
    });
    while (launches && launched == 0) std::this_thread::yield();
    const std::uint64_t before = launched;
    for (auto _ : state) {
        const auto made = device->load(loop_and_touch, "touch");
        if (waits) benchmark::DoNotOptimize(made->launch({}, std::array<Argument, 1>{*buffer}));
    }
    state.counters["launches"] = static_cast<double>(launched - before);
    is_over = true;
    other.join();
}
void BM_DeviceKernelsMade(benchmark::State& state) { make_kernels(state, state.range(0) != 0, false); }
void BM_DeviceKernelsMadeAndLaunched(benchmark::State& state) {
    make_kernels(state, state.range(0) != 0, true);
}
BENCHMARK(BM_DeviceKernelsMade)
    ->ArgName("beside_launches")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();
BENCHMARK(BM_DeviceKernelsMadeAndLaunched)
    ->ArgName("beside_launches")
    ->Arg(0)
    ->Arg(1)
    ->Unit(benchmark::kMicrosecond)
    ->UseRealTime();

// A thread that allocates so many blocks of 16 bytes and frees them, in the other order.
void BM_EmulatorHeap(benchmark::State& state) {
    const std::string n = std::to_string(state.range(0));
    const std::string module =
        ".version 8.0\n.target sm_80\n.address_size 64\n.extern .func (.param .b64 r) malloc(.param .b64 "
        "n);\n.extern .func free(.param .b64 p);\n"
        ".visible .entry k(.param .u64 p) {\n.reg .b64 %rd<6>; .reg .b32 %r<4>; .reg .pred %q;\nld.param.u64 "
        "%rd1, [p]; mov.u32 %r1, 0;\n"
        "L: { .param .b64 n; .param .b64 r; st.param.b64 [n], 16; call (r), malloc, (n); ld.param.b64 %rd3, "
        "[r]; }\n"
        "st.global.u64 [%rd1], %rd3; add.u64 %rd1, %rd1, 8; add.u32 %r1, %r1, 1; setp.lt.u32 %q, %r1, " +
        n +
        "; @%q bra L;\n"
        "M: sub.u64 %rd1, %rd1, 8; ld.global.u64 %rd3, [%rd1]; { .param .b64 n; st.param.b64 [n], %rd3; call "
        "free, (n); }\n"
        "sub.u32 %r1, %r1, 1; setp.ne.u32 %q, %r1, 0; @%q bra M;\nret;\n}\n";
    Emulator emulator({.fast = true});
    const auto loaded = emulator.load(module);
    const std::uint64_t address = *emulator.allocate(static_cast<std::size_t>(state.range(0)) * 8);
    const std::array<std::span<const std::byte>, 1> arguments{std::as_bytes(std::span(&address, 1))};
    for (auto _ : state)
        if (!emulator.launch(**loaded, "k", {}, arguments)) return state.SkipWithError("the launch failed");
    state.SetItemsProcessed(state.iterations() * state.range(0) * 2);
}
BENCHMARK(BM_EmulatorHeap)->Arg(1000)->Arg(30000)->Arg(500000)->Unit(benchmark::kMicrosecond);

// What a search pays for a variant at a small size: the PTX is loaded, launched once, and gone.
struct Variant {
    const char *file, *entry;
    LaunchConfig shape;
    std::vector<std::uint32_t> numbers;  // behind the buffers
};
void screen(benchmark::State& state, const Variant& variant, std::size_t buffers) {
    std::ifstream file(std::string(PTXGRAFT_SOURCE_DIR "/templates/") + variant.file);
    const auto ptx = compile_cuda(std::string(std::istreambuf_iterator<char>(file), {}), {.target = "sm_90"});
    if (!ptx) return state.SkipWithError("the skeleton does not compile");
    Emulator emulator({.threads = 1, .fast = state.range(0) != 0});
    std::vector<std::uint64_t> addresses;
    for (std::size_t i = 0; i < buffers; ++i) {
        addresses.push_back(*emulator.allocate(1 << 16));
        benchmark::DoNotOptimize(emulator.fill(addresses.back(), std::byte{0}, 1 << 16));
    }
    std::vector<std::span<const std::byte>> arguments;
    for (const std::uint64_t& address : addresses) arguments.push_back(std::as_bytes(std::span(&address, 1)));
    for (const std::uint32_t& number : variant.numbers)
        arguments.push_back(std::as_bytes(std::span(&number, 1)));
    for (auto _ : state) {
        const auto module = emulator.load(ptx->text);
        if (!module || !emulator.launch(**module, variant.entry, variant.shape, arguments))
            return state.SkipWithError("the launch failed");
    }
}
// 4 rows of 256.
void BM_EmulatorScreenNorm(benchmark::State& state) {
    screen(state,
           {"norm/simple.cu", "rms_norm", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, {4, 256, 0x3727C5AC}},
           3);
}
// 64 x 64 x 16: a block.
void BM_EmulatorScreenGemm(benchmark::State& state) {
    screen(state, {"gemm/simt.cu", "gemm", {.grid = {1, 1, 1}, .block = {16, 16, 1}}, {64, 64, 16}}, 4);
}
BENCHMARK(BM_EmulatorScreenNorm)->ArgName("fast")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);
BENCHMARK(BM_EmulatorScreenGemm)->ArgName("fast")->Arg(1)->Arg(0)->Unit(benchmark::kMicrosecond);

void product(benchmark::State& state, const char* entry, std::uint32_t tile, Dim3 block,
             EmulatorChecks checks) {
    const auto n = static_cast<std::int32_t>(state.range(0));
    const std::size_t bytes = static_cast<std::size_t>(n) * static_cast<std::size_t>(n) * sizeof(float);
    Emulator emulator({.threads = static_cast<std::uint32_t>(state.range(1)), .checks = checks});
    const auto module = emulator.load(text());
    const std::uint64_t buffers[] = {*emulator.allocate(bytes), *emulator.allocate(bytes),
                                     *emulator.allocate(bytes)};
    for (const std::uint64_t buffer : buffers)
        benchmark::DoNotOptimize(emulator.fill(buffer, std::byte{0}, bytes));
    std::vector<std::span<const std::byte>> arguments;
    for (const std::uint64_t& buffer : buffers) arguments.push_back(std::as_bytes(std::span(&buffer, 1)));
    arguments.push_back(std::as_bytes(std::span(&n, 1)));
    const auto blocks = static_cast<std::uint32_t>(n) / tile;
    EmulatorStats stats;
    for (auto _ : state) {
        const auto run =
            emulator.launch(**module, entry, {.grid = {blocks, blocks, 1}, .block = block}, arguments);
        if (!run) return state.SkipWithError("the launch failed");
        stats = *run;
    }
    const auto per_second = benchmark::Counter::kIsIterationInvariantRate;
    state.counters["warp_instructions"] =
        benchmark::Counter(static_cast<double>(stats.warp_instructions), per_second);
    state.counters["lane_instructions"] =
        benchmark::Counter(static_cast<double>(stats.thread_instructions), per_second);
}
EmulatorChecks all_unless_fast(const benchmark::State& state) {
    return state.range(2) != 0 ? EmulatorChecks::none() : EmulatorChecks::all();
}
void BM_EmulatorProduct(benchmark::State& state) {
    product(state, "multiply", 16, {16, 16, 1}, all_unless_fast(state));
}
void BM_EmulatorTiledProduct(benchmark::State& state) {
    product(state, "multiply_tiled", 128, {256, 1, 1}, all_unless_fast(state));
}
// Each check by itself, behind none and all.
EmulatorChecks checks_of(benchmark::State& state) {
    const std::int64_t which = state.range(2);
    const EmulatorChecks checks = which == 0   ? EmulatorChecks::none()
                                  : which == 1 ? EmulatorChecks::all()
                                               : EmulatorChecks{static_cast<EmulatorCheck>(which - 2)};
    state.SetLabel(which == 1 ? "all" : names(checks));
    return checks;
}
void BM_EmulatorCheckedProduct(benchmark::State& state) {
    product(state, "multiply", 16, {16, 16, 1}, checks_of(state));
}
void BM_EmulatorCheckedTiledProduct(benchmark::State& state) {
    product(state, "multiply_tiled", 128, {256, 1, 1}, checks_of(state));
}
// Size, host threads, fast or checked.
void usual(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"n", "threads", "fast"})->Unit(benchmark::kMillisecond)->UseRealTime();
    for (const std::int64_t fast : {1, 0})
        for (const std::int64_t threads : {1, 2}) bench->Args({256, threads, fast});
}
BENCHMARK(BM_EmulatorProduct)->Args({64, 1, 1})->Apply(usual);
BENCHMARK(BM_EmulatorTiledProduct)->Apply(usual);
void check_by_check(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"n", "threads", "checks"})->Unit(benchmark::kMillisecond)->UseRealTime();
    for (std::int64_t which = 0; which < static_cast<std::int64_t>(emulator_check_count) + 2; ++which)
        bench->Args({256, 1, which});
}
BENCHMARK(BM_EmulatorCheckedProduct)->Apply(check_by_check);
BENCHMARK(BM_EmulatorCheckedTiledProduct)->Apply(check_by_check);

}  // namespace
}  // namespace ptxgraft
