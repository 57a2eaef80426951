// The emulator on CUDA: kernels compiled by NVRTC for several targets, each compared with the same job on the
// host.
#include <gmock/gmock.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "ptxgraft/link.hpp"
#include "support/cache.hpp"
#include "support/emulator_machine.hpp"

namespace ptxgraft {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;
using s64 = std::int64_t;

constexpr const char* source = R"(
#include <cuda_fp16.h>
#define ENTRY extern "C" __global__ void
typedef unsigned int u32; typedef unsigned long long u64; typedef long long s64;

ENTRY reduce(const float* in, float* out, int n) {
    extern __shared__ float part[];
    float sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) sum += in[i];
    for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(0xffffffffu, sum, d);
    if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x < 32) {
        sum = threadIdx.x < blockDim.x / 32 ? part[threadIdx.x] : 0;
        for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, d);
        if (threadIdx.x == 0) atomicAdd(out, sum);
    }
}

ENTRY scan(u32* data, int n) {
    __shared__ u32 a[256];
    int t = threadIdx.x;
    a[t] = t < n ? data[t] : 0;
    for (int d = 1; d < 256; d *= 2) {
        __syncthreads();
        u32 left = t >= d ? a[t - d] : 0;
        __syncthreads();
        a[t] += left;
    }
    if (t < n) data[t] = a[t];
}

ENTRY histogram(const unsigned char* in, int n, u32* bins) {
    __shared__ u32 local[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) local[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&local[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x) if (local[i]) atomicAdd(&bins[i], local[i]);
}

ENTRY collatz(u32* out) {
    u64 x = blockIdx.x * blockDim.x + threadIdx.x + 1;
    u32 steps = 0;
    while (x != 1) { if (x & 1) x = 3 * x + 1; else x /= 2; ++steps; }
    out[blockIdx.x * blockDim.x + threadIdx.x] = steps;
}

ENTRY sort_each(const int* in, int* out, int n) {  // an array that is indexed by values lives in local memory
    int a[16];
    for (int i = 0; i < n; ++i) a[i] = in[threadIdx.x * n + i];
    for (int i = 1; i < n; ++i) {
        int x = a[i], j = i;
        while (j > 0 && a[j - 1] > x) { a[j] = a[j - 1]; --j; }
        a[j] = x;
    }
    for (int i = 0; i < n; ++i) out[threadIdx.x * n + i] = a[i];
}

struct Point { float x; double y; short z; unsigned char tag[5]; };
__device__ __noinline__ double weigh(Point p, int k) { return p.x * k + p.y - p.z + p.tag[k % 5]; }
ENTRY by_value(Point p, double* out) { out[threadIdx.x] = weigh(p, threadIdx.x); }

__device__ __noinline__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }
ENTRY recurse(int* out) { out[threadIdx.x] = fibonacci(threadIdx.x % 12); }

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};
__device__ int squares[8] = {0, 1, 4, 9, 16, 25, 36, 49};
__device__ const int* pointers[2] = {squares + 2, squares + 5};
ENTRY tables(int* out) { int t = threadIdx.x; out[t] = primes[t % 8] * 1000 + squares[t % 7] + *pointers[t & 1]; }

ENTRY choose(const int* in, int* out) {
    int t = threadIdx.x, x = in[t], r;
    switch (x) {
        case 0: r = 5; break;
        case 1: r = x * 77 + 1; break;
        case 2: r = -3;  // falls through
        case 3: r = t ^ 21; break;
        case 4: r = t * t; break;
        case 5: r = __popc(t); break;
        case 6: r = t / 3; break;
        case 7: r = t % 5; break;
        case 8: return;
        default: r = 99;
    }
    out[t] = r;
}

ENTRY shape(u32* out) {
    u32 block = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    u32 thread = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    u32 size = blockDim.x * blockDim.y * blockDim.z;
    out[block * size + thread] = block * 1000000 + threadIdx.z * 10000 + threadIdx.y * 100 + threadIdx.x;
}

ENTRY wide_division(const s64* a, const s64* b, s64* out, int n) {
    int i = threadIdx.x;
    if (i >= n) return;
    out[4 * i] = a[i] / b[i]; out[4 * i + 1] = a[i] % b[i];
    out[4 * i + 2] = (s64)((u64)a[i] / (u64)b[i]); out[4 * i + 3] = (s64)__umul64hi((u64)a[i], (u64)b[i]);
}

ENTRY doubles(const double* in, double* out) {
    double x = in[threadIdx.x];
    out[threadIdx.x] = sqrt(x) / (1.0 + x * x) - floor(x) + fma(x, x, -1.0);
}
ENTRY functions(const float* in, float* out) {
    float x = in[threadIdx.x];
    float* o = out + threadIdx.x * 6;
    o[0] = expf(x); o[1] = logf(x); o[2] = sinf(x); o[3] = powf(x, 1.5f); o[4] = tanhf(x); o[5] = x / 3.0f;
}
ENTRY halves(const float* in, float* out) {
    __half2 a = __floats2half2_rn(in[threadIdx.x], 2.0f);
    __half2 b = __hfma2(a, a, __float2half2_rn(0.5f));
    out[threadIdx.x] = __low2float(b) + __half2float(__high2half(b)) + __half2float(__hadd(__low2half(a), __float2half(1.0f)));
}

ENTRY say(int n) { if (threadIdx.x < n) printf("thread %d of %s: %.2f %c %5u|%-4d|%llx %%\n", threadIdx.x, "block", threadIdx.x * 0.5, 'a' + threadIdx.x, 7u, -3, 0x123456789abcull); }

ENTRY multiply(const float* a, const float* b, float* c, int n) {
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

__device__ u32 arrived;
ENTRY last_block(const u32* in, u32* partial, u32* out) {  // the last block to come adds what all have left
    __shared__ bool last;
    __shared__ u32 sum;
    if (threadIdx.x == 0) sum = 0;
    __syncthreads();
    atomicAdd(&sum, in[blockIdx.x * blockDim.x + threadIdx.x]);
    __syncthreads();
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(&arrived, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) { u32 all = 0; for (int i = 0; i < gridDim.x; ++i) all += ((volatile u32*)partial)[i]; *out = all; }
}
)";

class EmulatorCuda : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        static std::map<std::string, std::string> compiled;
        std::string& text = compiled[GetParam()];
        if (text.empty()) {
            auto ptx = compile_cuda(source, {.target = GetParam(), .cache = &test::cache()});
            ASSERT_TRUE(ptx) << describe(ptx.error(), source);
            text = ptx->text;
        }
        const auto loaded = machine.load(text);
        ASSERT_TRUE(loaded) << describe(loaded.error(), text);
    }
    Machine machine;
    std::mt19937 random{7};
};

TEST_P(EmulatorCuda, Reduce) {
    std::vector<float> in(10000);
    for (float& x : in) x = static_cast<float>(random() % 64);
    const u64 a = machine.upload(in), out = machine.upload(std::vector<float>(1));
    EXPECT_RUNS(machine,
                machine.launch("reduce", {.grid = {7, 1, 1}, .block = {128, 1, 1}, .shared_bytes = 16}, a,
                               out, 10000));
    EXPECT_EQ(machine.download<float>(out, 1)[0], std::accumulate(in.begin(), in.end(), 0.0f));
}

TEST_P(EmulatorCuda, Scan) {
    std::vector<u32> data(200);
    for (u32& x : data) x = static_cast<u32>(random());
    const u64 at = machine.upload(data);
    EXPECT_RUNS(machine, machine.launch("scan", {.block = {256, 1, 1}}, at, 200));
    std::partial_sum(data.begin(), data.end(), data.begin());
    EXPECT_EQ(machine.download<u32>(at, 200), data);
}

TEST_P(EmulatorCuda, Histogram) {
    std::vector<unsigned char> in(20000);
    std::vector<u32> bins(256);
    for (auto& x : in) ++bins[x = static_cast<unsigned char>(random() % 97)];
    const u64 a = machine.upload(in), out = machine.upload(std::vector<u32>(256));
    EXPECT_RUNS(machine,
                machine.launch("histogram", {.grid = {5, 1, 1}, .block = {192, 1, 1}}, a, 20000, out));
    EXPECT_EQ(machine.download<u32>(out, 256), bins);
}

TEST_P(EmulatorCuda, DivergentLoops) {
    const u64 out = machine.upload(std::vector<u32>(512));
    EXPECT_RUNS(machine, machine.launch("collatz", {.grid = {4, 1, 1}, .block = {128, 1, 1}}, out));
    const auto steps = machine.download<u32>(out, 512);
    for (u32 i = 0; i < 512; ++i) {
        u32 expected = 0;
        for (u64 x = i + 1; x != 1; ++expected) x = x % 2 == 1 ? 3 * x + 1 : x / 2;
        EXPECT_EQ(steps[i], expected) << i;
    }
}

TEST_P(EmulatorCuda, LocalArrays) {
    std::vector<int> in(64 * 13);
    for (int& x : in) x = static_cast<int>(random());
    const u64 a = machine.upload(in), out = machine.upload(in);
    EXPECT_RUNS(machine, machine.launch("sort_each", {.block = {64, 1, 1}}, a, out, 13));
    for (std::ptrdiff_t t = 0; t < 64; ++t) std::sort(in.begin() + t * 13, in.begin() + (t + 1) * 13);
    EXPECT_EQ(machine.download<int>(out, in.size()), in);
}

struct Point {
    float x;
    double y;
    short z;
    unsigned char tag[5];
};

TEST_P(EmulatorCuda, StructuresByValue) {
    const Point p = {1.5f, 2.25, -7, {1, 2, 3, 4, 5}};
    const u64 out = machine.upload(std::vector<double>(32));
    EXPECT_RUNS(machine, machine.launch("by_value", {.block = {32, 1, 1}}, p, out));
    const auto values = machine.download<double>(out, 32);
    for (int k = 0; k < 32; ++k)
        EXPECT_EQ(values[static_cast<std::size_t>(k)],
                  1.5f * static_cast<float>(k) + 2.25 + 7 + p.tag[k % 5]);
}

TEST_P(EmulatorCuda, Recursion) {
    const u64 out = machine.upload(std::vector<int>(40));
    EXPECT_RUNS(machine, machine.launch("recurse", {.block = {40, 1, 1}}, out));
    const std::array fibonacci = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    const auto values = machine.download<int>(out, 40);
    for (std::size_t t = 0; t < 40; ++t) EXPECT_EQ(values[t], fibonacci[t % 12]);
}

TEST_P(EmulatorCuda, ConstantAndGlobalTables) {
    const u64 out = machine.upload(std::vector<int>(64));
    EXPECT_RUNS(machine, machine.launch("tables", {.block = {64, 1, 1}}, out));
    const std::array primes = {2, 3, 5, 7, 11, 13, 17, 19};
    const auto values = machine.download<int>(out, 64);
    for (int t = 0; t < 64; ++t) {
        EXPECT_EQ(values[static_cast<std::size_t>(t)], primes[static_cast<std::size_t>(t % 8)] * 1000 +
                                                           (t % 7) * (t % 7) + ((t & 1) == 0 ? 4 : 25));
    }
}

TEST_P(EmulatorCuda, Switches) {
    std::vector<int> in(96);
    for (int& x : in) x = static_cast<int>(random() % 11);
    const u64 a = machine.upload(in), out = machine.upload(std::vector<int>(96, -1));
    EXPECT_RUNS(machine, machine.launch("choose", {.block = {96, 1, 1}}, a, out));
    const auto values = machine.download<int>(out, 96);
    for (int t = 0; t < 96; ++t) {
        const int x = in[static_cast<std::size_t>(t)];
        const std::array results = {5,     78,    t ^ 21, t ^ 21, t * t, std::popcount(static_cast<u32>(t)),
                                    t / 3, t % 5, -1};
        EXPECT_EQ(values[static_cast<std::size_t>(t)], x < 9 ? results[static_cast<std::size_t>(x)] : 99)
            << t;
    }
}

TEST_P(EmulatorCuda, GridsAndBlocksOfThreeDimensions) {
    constexpr u32 size = 5 * 3 * 4, blocks = 2 * 3 * 2;
    const u64 out = machine.upload(std::vector<u32>(size * blocks));
    EXPECT_RUNS(machine, machine.launch("shape", {.grid = {2, 3, 2}, .block = {5, 3, 4}}, out));
    const auto values = machine.download<u32>(out, size * blocks);
    for (u32 i = 0; i < size * blocks; ++i) {
        const u32 t = i % size;
        EXPECT_EQ(values[i], i / size * 1000000 + t / 15 * 10000 + t / 5 % 3 * 100 + t % 5);
    }
}

TEST_P(EmulatorCuda, SixtyFourBitDivision) {
    std::vector<s64> a, b;
    for (int i = 0; i < 32; ++i) {
        a.push_back(static_cast<s64>((u64{random()} << 32 | random()) >> (random() % 40)) *
                    (i % 3 == 0 ? -1 : 1));
        b.push_back(std::max<s64>(1, static_cast<s64>((u64{random()} << 31) >> (random() % 60))) *
                    (i % 5 == 0 ? -1 : 1));
    }
    const u64 pa = machine.upload(a), pb = machine.upload(b), out = machine.upload(std::vector<s64>(128));
    EXPECT_RUNS(machine, machine.launch("wide_division", {.block = {64, 1, 1}}, pa, pb, out, 32));
    const auto values = machine.download<s64>(out, 128);
    for (std::size_t i = 0; i < 32; ++i) {
        __extension__ using u128 = unsigned __int128;
        const u64 ua = static_cast<u64>(a[i]), ub = static_cast<u64>(b[i]);
        EXPECT_EQ(values[4 * i], a[i] / b[i]);
        EXPECT_EQ(values[4 * i + 1], a[i] % b[i]);
        EXPECT_EQ(values[4 * i + 2], static_cast<s64>(ua / ub));
        EXPECT_EQ(values[4 * i + 3], static_cast<s64>(static_cast<u64>((u128{ua} * ub) >> 64)));
    }
}

TEST_P(EmulatorCuda, DoublesAreExact) {
    std::vector<double> in(64);
    for (double& x : in) x = static_cast<double>(random()) / 1e8;
    const u64 a = machine.upload(in), out = machine.upload(in);
    EXPECT_RUNS(machine, machine.launch("doubles", {.block = {64, 1, 1}}, a, out));
    const auto values = machine.download<double>(out, 64);
    for (std::size_t i = 0; i < 64; ++i) {
        const double x = in[i];
        EXPECT_EQ(values[i], std::sqrt(x) / std::fma(x, x, 1.0) - std::floor(x) + std::fma(x, x, -1.0));
    }
}

TEST_P(EmulatorCuda, FunctionsOfTheMathLibrary) {
    std::vector<float> in(64);
    for (float& x : in) x = static_cast<float>(random() % 10000 + 1) / 1000.0f;
    const u64 a = machine.upload(in), out = machine.upload(std::vector<float>(64 * 6));
    EXPECT_RUNS(machine, machine.launch("functions", {.block = {64, 1, 1}}, a, out));
    const auto values = machine.download<float>(out, 64 * 6);
    for (std::size_t i = 0; i < 64; ++i) {
        const double x = in[i];
        const std::array expected = {std::exp(x),      std::log(x),  std::sin(x),
                                     std::pow(x, 1.5), std::tanh(x), x / 3};
        for (std::size_t f = 0; f < 6; ++f) {
            EXPECT_NEAR(values[i * 6 + f], expected[f], 4e-7 * std::max(1.0, std::abs(expected[f])))
                << x << " " << f;
        }
    }
}

TEST_P(EmulatorCuda, Halves) {
    const std::vector<float> in = {0.5f, 1.0f, 3.0f, -2.0f};
    const u64 a = machine.upload(in), out = machine.upload(in);
    EXPECT_RUNS(machine, machine.launch("halves", {.block = {4, 1, 1}}, a, out));
    const auto values = machine.download<float>(out, 4);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(values[i], in[i] * in[i] + 0.5f + 4.5f + in[i] + 1.0f);
}

TEST_P(EmulatorCuda, Printf) {
    EXPECT_RUNS(machine, machine.launch("say", {.block = {32, 1, 1}}, 2));
    EXPECT_EQ(machine.emulator.take_output(),
              "thread 0 of block: 0.00 a     7|-3  |123456789abc %\nthread 1 of block: 0.50 b     7|-3  "
              "|123456789abc %\n");
    EXPECT_EQ(machine.emulator.take_output(), "");
}

TEST_P(EmulatorCuda, TiledProduct) {
    constexpr std::size_t n = 48;
    std::vector<float> a(n * n), b(n * n);
    for (float& x : a) x = static_cast<float>(random() % 16);
    for (float& x : b) x = static_cast<float>(random() % 16);
    const u64 pa = machine.upload(a), pb = machine.upload(b), out = machine.upload(a);
    EXPECT_RUNS(machine, machine.launch("multiply", {.grid = {3, 3, 1}, .block = {16, 16, 1}}, pa, pb, out,
                                        static_cast<int>(n)));
    const auto c = machine.download<float>(out, n * n);
    for (std::size_t i = 0; i < n * n; ++i) {
        float sum = 0;
        for (std::size_t k = 0; k < n; ++k) sum += a[i / n * n + k] * b[k * n + i % n];
        EXPECT_EQ(c[i], sum) << i;
    }
}

TEST_P(EmulatorCuda, TheLastBlockSeesWhatAllHaveWritten) {
    std::vector<u32> in(20 * 64);
    for (u32& x : in) x = static_cast<u32>(random());
    const u64 a = machine.upload(in), partial = machine.upload(std::vector<u32>(20)),
              out = machine.upload(std::vector<u32>(1));
    EXPECT_RUNS(machine,
                machine.launch("last_block", {.grid = {20, 1, 1}, .block = {64, 1, 1}}, a, partial, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], std::accumulate(in.begin(), in.end(), u32{0}));
}

INSTANTIATE_TEST_SUITE_P(Targets, EmulatorCuda, testing::Values("sm_75", "sm_90a", "sm_120"));

}  // namespace
}  // namespace ptxgraft
