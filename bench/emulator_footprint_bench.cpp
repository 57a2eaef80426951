// What the emulator's checks cost where a block touches much memory: the ratio of a checked launch to one
// that is `fast`, in turns in the same run, for kernels of many ways to access memory and footprints from 64
// KB to 256 MB.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/emulator.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

// Every kernel works on `n` elements of 4 bytes for each of its blocks, of `x`, `y` or both.
constexpr const char* source = R"(
#define ALL_OF(n) for (unsigned i = threadIdx.x, end = (n); i < end; i += blockDim.x)
#define OF_BLOCK(p) ((p) + size_t(blockIdx.x) * n)
extern "C" __global__ void copy(const float* x, float* y, const unsigned*, unsigned n) {
    ALL_OF(n) OF_BLOCK(y)[i] = OF_BLOCK(x)[i];
}
extern "C" __global__ void axpy(const float* x, float* y, const unsigned*, unsigned n) {
    ALL_OF(n) OF_BLOCK(y)[i] = 2.f * OF_BLOCK(x)[i] + OF_BLOCK(y)[i];
}
extern "C" __global__ void in_place(float* x, float*, const unsigned*, unsigned n) { ALL_OF(n) OF_BLOCK(x)[i] *= 2.f; }
extern "C" __global__ void copy_vectors(const float4* x, float4* y, const unsigned*, unsigned n) {
    ALL_OF(n / 4) (y + size_t(blockIdx.x) * n / 4)[i] = (x + size_t(blockIdx.x) * n / 4)[i];
}
extern "C" __global__ void copy_bytes(const unsigned char* x, unsigned char* y, const unsigned*, unsigned n) {
    ALL_OF(n) (y + size_t(blockIdx.x) * n)[i] = (x + size_t(blockIdx.x) * n)[i];
}
// Every thread has a part of its own, so that a warp's lanes lie apart.
extern "C" __global__ void columns(const float* x, float* y, const unsigned*, unsigned n) {
    const unsigned part = n / blockDim.x;
    const float* from = OF_BLOCK(x) + threadIdx.x * part;
    float* to = OF_BLOCK(y) + threadIdx.x * part;
    for (unsigned i = 0; i < part; ++i) to[i] = from[i];
}
extern "C" __global__ void gather(const float* x, float* y, const unsigned* at, unsigned n) {
    ALL_OF(n) OF_BLOCK(y)[i] = OF_BLOCK(x)[at[i]];
}
extern "C" __global__ void scatter(const float* x, float* y, const unsigned* at, unsigned n) {
    ALL_OF(n) OF_BLOCK(y)[at[i]] = OF_BLOCK(x)[i];
}
extern "C" __global__ void stencil(const float* x, float* y, const unsigned*, unsigned n) {
    ALL_OF(n - 2) OF_BLOCK(y)[i + 1] = OF_BLOCK(x)[i] + OF_BLOCK(x)[i + 1] + OF_BLOCK(x)[i + 2];
}
extern "C" __global__ void reduce(const float* x, float* y, const unsigned*, unsigned n) {
    __shared__ float sums[1024];
    float sum = 0;
    ALL_OF(n) sum += OF_BLOCK(x)[i];
    sums[threadIdx.x] = sum;
    __syncthreads();
    for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
        if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
        __syncthreads();
    }
    if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}
// A reduction for each chunk of the block's size.
extern "C" __global__ void reduce_often(const float* x, float* y, const unsigned*, unsigned n) {
    __shared__ float sums[1024];
    for (unsigned begin = 0; begin < n; begin += blockDim.x) {
        sums[threadIdx.x] = OF_BLOCK(x)[begin + threadIdx.x];
        __syncthreads();
        for (unsigned half = blockDim.x / 2; half > 0; half /= 2) {
            if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
            __syncthreads();
        }
        if (threadIdx.x == 0) OF_BLOCK(y)[begin / blockDim.x] = sums[0];
        __syncthreads();
    }
}
extern "C" __global__ void histogram_shared(const unsigned* x, unsigned* y, const unsigned* at, unsigned n) {
    __shared__ unsigned bins[1024];
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) bins[i] = 0;
    __syncthreads();
    ALL_OF(n) atomicAdd(&bins[at[i] % 1024], 1);
    __syncthreads();
    for (unsigned i = threadIdx.x; i < 1024; i += blockDim.x) atomicAdd(&y[i], bins[i]);
}
extern "C" __global__ void histogram_global(const unsigned* x, unsigned* y, const unsigned* at, unsigned n) {
    ALL_OF(n) atomicAdd(&OF_BLOCK(y)[at[i]], 1);
}
// Squares of 32 by 32, one behind the other, for each warp.
extern "C" __global__ void transpose(const float* x, float* y, const unsigned*, unsigned n) {
    __shared__ float tile[32][33];
    const unsigned lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned begin = 0; begin < n; begin += 1024) {
        for (unsigned row = warp; row < 32; row += warps) tile[row][lane] = OF_BLOCK(x)[begin + row * 32 + lane];
        __syncthreads();
        for (unsigned row = warp; row < 32; row += warps) OF_BLOCK(y)[begin + row * 32 + lane] = tile[lane][row];
        __syncthreads();
    }
}
// Straight from memory to memory: a matrix of 1024 columns.
extern "C" __global__ void transpose_straight(const float* x, float* y, const unsigned*, unsigned n) {
    const unsigned rows = n / 1024, lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    for (unsigned row = warp; row < rows; row += warps)
        for (unsigned column = lane; column < 1024; column += 32) OF_BLOCK(y)[column * rows + row] = OF_BLOCK(x)[row * 1024 + column];
}
)";

constexpr const char* kernels[] = {"copy",
                                   "axpy",
                                   "in_place",
                                   "copy_vectors",
                                   "copy_bytes",
                                   "columns",
                                   "gather",
                                   "scatter",
                                   "stencil",
                                   "reduce",
                                   "reduce_often",
                                   "histogram_shared",
                                   "histogram_global",
                                   "transpose",
                                   "transpose_straight"};
constexpr const char* targets[] = {"sm_80", "sm_90a"};

const std::string& text(std::int64_t target) {
    static const auto compile = [](const char* of) {
        const auto compiled = compile_cuda(source, {.target = of});
        return compiled ? compiled->text : std::string();
    };
    static const std::string all[] = {compile(targets[0]), compile(targets[1])};
    return all[target];
}

double cpu_seconds() {
    timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// An emulator with the arrays of a launch, each of `blocks * n` elements.
class Run {
  public:
    Run(bool is_fast, const std::string& ptx, std::uint32_t blocks, std::uint32_t n,
        const std::vector<std::uint32_t>& indices)
        : emulator_({.threads = 1, .fast = is_fast}), n_(n) {
        module_ = *emulator_.load(ptx);
        const std::size_t bytes = std::size_t{blocks} * n * 4;
        for (std::uint64_t& buffer : buffers_)
            buffer = *emulator_.allocate(&buffer == &buffers_[2] ? indices.size() * 4 : bytes);
        if (!emulator_.fill(buffers_[0], std::byte{0}, bytes) ||
            !emulator_.fill(buffers_[1], std::byte{0}, bytes) ||
            !emulator_.write(buffers_[2], std::as_bytes(std::span(indices))))
            std::abort();
    }
    // Seconds of a launch; 0 when it fails.
    double operator()(const char* kernel, std::uint32_t blocks, std::uint32_t threads) {
        std::vector<std::span<const std::byte>> arguments;
        for (const std::uint64_t& buffer : buffers_)
            arguments.push_back(std::as_bytes(std::span(&buffer, 1)));
        arguments.push_back(std::as_bytes(std::span(&n_, 1)));
        const double begin = cpu_seconds();
        const auto run =
            emulator_.launch(*module_, kernel, {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}, arguments);
        if (run) instructions = run->warp_instructions;
        return run ? cpu_seconds() - begin : 0;
    }
    std::uint64_t instructions = 0;

  private:
    Emulator emulator_;
    std::shared_ptr<const EmulatedModule> module_;
    std::uint64_t buffers_[3] = {};
    std::uint32_t n_;
};

// Kernel, target, KiB of footprint, blocks, warps of a block. The best of some launches of each kind counts.
void BM_EmulatorFootprint(benchmark::State& state) {
    const char* const kernel = kernels[state.range(0)];
    const auto blocks = static_cast<std::uint32_t>(state.range(3)),
               threads = static_cast<std::uint32_t>(state.range(4) * 32);
    const bool is_one_array = state.range(0) == 2 || std::string(kernel).starts_with("reduce") ||
                              std::string(kernel) == "histogram_shared";
    const auto n = static_cast<std::uint32_t>(state.range(2) * 1024 / 4 / (is_one_array ? 1 : 2));
    std::vector<std::uint32_t> indices(n);
    for (std::uint32_t i = 0; i < n; ++i) indices[i] = i;
    std::shuffle(indices.begin(), indices.end(), std::mt19937_64(1));
    Run fast(true, text(state.range(1)), blocks, n, indices),
        checked(false, text(state.range(1)), blocks, n, indices);
    double least_fast = 1e9, least_checked = 1e9;
    for (auto _ : state) {
        const double of_fast = fast(kernel, blocks, threads), of_checked = checked(kernel, blocks, threads);
        if (of_fast == 0 || of_checked == 0) return state.SkipWithError("the launch failed");
        least_fast = std::min(least_fast, of_fast);
        least_checked = std::min(least_checked, of_checked);
    }
    const auto instructions = static_cast<double>(fast.instructions);
    state.SetLabel(std::string(kernel) + " " + targets[state.range(1)]);
    state.counters["ratio"] = least_checked / least_fast;
    state.counters["fast_ns"] = least_fast * 1e9 / instructions;
    state.counters["checked_ns"] = least_checked * 1e9 / instructions;
}

void all(benchmark::internal::Benchmark* bench) {
    bench->ArgNames({"kernel", "target", "KiB", "blocks", "warps"})->Unit(benchmark::kMillisecond);
    for (std::int64_t kernel = 0; kernel < std::ssize(kernels); ++kernel)
        for (const std::int64_t kib : {64, 4096, 65536})
            for (const std::int64_t warps : {1, 32}) bench->Args({kernel, 0, kib, 1, warps});
    // Another architecture, and blocks beside each other, change little.
    for (std::int64_t kernel = 0; kernel < std::ssize(kernels); ++kernel) {
        bench->Args({kernel, std::ssize(targets) - 1, 4096, 1, 32});
        bench->Args({kernel, 0, 4096, 4, 32});
    }
    bench->Args({0, 0, 262144, 1, 32});
}
BENCHMARK(BM_EmulatorFootprint)->Apply(all);

}  // namespace
}  // namespace ptxgraft
