// The tensor cores through PTX: kernels with mma.h and with inline PTX, compiled by NVRTC, compared with the
// host.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <numeric>
#include <random>

#include "ptxgraft/link.hpp"
#include "support/cache.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

std::string compiled(const std::string& source, const std::string& target) {
    auto ptx = compile_cuda(source, {.target = target, .cache = &test::cache()});
    if (!ptx) {
        ADD_FAILURE() << describe(ptx.error(), source);
        return {};
    }
    if (nvptxcompiler() != nullptr) {
        const auto cubin = nvptxcompiler()->assemble(ptx->text);
        EXPECT_TRUE(cubin || cubin.error().code != Errc::assemble_failed)
            << describe(cubin.error(), ptx->text);
    }
    return ptx->text;
}

void load(Machine& machine, const std::string& ptx) {
    const auto loaded = machine.load(ptx);
    ASSERT_TRUE(loaded) << describe(loaded.error(), ptx);
}

u16 bf16_bits(float value) {
    return static_cast<u16>(std::bit_cast<u32>(value) >> 16);
}  // exact for small integers
float bf16_value(u16 bits) { return std::bit_cast<float>(u32{bits} << 16); }
/// Of integers up to 2048.
u16 f16_bits(int value) {
    if (value == 0) return 0;
    const int magnitude = std::abs(value),
              exponent = static_cast<int>(std::bit_width(static_cast<unsigned>(magnitude))) - 1;
    return static_cast<u16>((value < 0 ? 0x8000 : 0) | (exponent + 15) << 10 |
                            ((magnitude << 10 >> exponent) & 0x3FF));
}

std::vector<int> small_integers(std::size_t count, unsigned seed, int least, int most) {
    std::mt19937 random(seed);
    std::vector<int> values(count);
    for (int& value : values)
        value = least + static_cast<int>(random() % static_cast<unsigned>(most - least + 1));
    return values;
}

template <class T, class F> std::vector<T> converted(const std::vector<int>& values, F convert) {
    std::vector<T> result;
    for (const int value : values) result.push_back(static_cast<T>(convert(value)));
    return result;
}

/// d = a * b + c, a by rows, b by columns.
std::vector<int> product(const std::vector<int>& a, const std::vector<int>& b, const std::vector<int>& c,
                         int m, int n, int k) {
    std::vector<int> d = c;
    for (int i = 0; i < m; ++i)
        for (int j = 0; j < n; ++j)
            for (int l = 0; l < k; ++l)
                d[static_cast<std::size_t>(i * n + j)] +=
                    a[static_cast<std::size_t>(i * k + l)] * b[static_cast<std::size_t>(j * k + l)];
    return d;
}

std::vector<int> transposed(const std::vector<int>& values, int rows, int columns) {
    std::vector<int> result(values.size());
    for (int i = 0; i < rows * columns; ++i)
        result[static_cast<std::size_t>(i % columns * rows + i / columns)] =
            values[static_cast<std::size_t>(i)];
    return result;
}

// --- mma.h

constexpr const char* wmma_source = R"(
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda::wmma;

// 4 steps of K; a by rows or columns, b by columns or rows, through shared memory or not.
template <int M, int N, int K, class T, class Memory, class LA, class LB, class C>
__device__ void gemm(const Memory* a, const Memory* b, const C* c, C* d, layout_t lc) {
    constexpr bool a_rows = LA::value, b_columns = LB::value;
    const int k = 4 * K;
    fragment<matrix_a, M, N, K, T, typename LA::type> fa;
    fragment<matrix_b, M, N, K, T, typename LB::type> fb;
    fragment<accumulator, M, N, K, C> fc;
    load_matrix_sync(fc, c, lc == mem_row_major ? N : M, lc);
    for (int i = 0; i < 4; ++i) {
        load_matrix_sync(fa, a + (a_rows ? i * K : i * K * M), a_rows ? k : M);
        load_matrix_sync(fb, b + (b_columns ? i * K : i * K * N), b_columns ? k : N);
        mma_sync(fc, fa, fb, fc);
    }
    store_matrix_sync(d, fc, lc == mem_row_major ? N : M, lc);
}
struct ByRows { static constexpr bool value = true; using type = row_major; };
struct ByColumns { static constexpr bool value = false; using type = col_major; };
struct BByColumns { static constexpr bool value = true; using type = col_major; };
struct BByRows { static constexpr bool value = false; using type = row_major; };

#define GEMM(name, M, N, K, T, Memory, C) \
    extern "C" __global__ void name##_rc(const Memory* a, const Memory* b, const C* c, C* d) { gemm<M, N, K, T, Memory, ByRows, BByColumns, C>(a, b, c, d, mem_row_major); } \
    extern "C" __global__ void name##_cr(const Memory* a, const Memory* b, const C* c, C* d) { gemm<M, N, K, T, Memory, ByColumns, BByRows, C>(a, b, c, d, mem_row_major); }
GEMM(f16_16, 16, 16, 16, __half, __half, float)
GEMM(f16_8, 8, 32, 16, __half, __half, float)
GEMM(f16_32, 32, 8, 16, __half, __half, float)
GEMM(half_16, 16, 16, 16, __half, __half, __half)
GEMM(s8_16, 16, 16, 16, signed char, signed char, int)
GEMM(u8_32, 32, 8, 16, unsigned char, unsigned char, int)
#if __CUDA_ARCH__ >= 800
GEMM(bf16_16, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float)
GEMM(bf16_8, 8, 32, 16, __nv_bfloat16, __nv_bfloat16, float)
GEMM(tf32_16, 16, 16, 8, precision::tf32, float, float)
GEMM(f64_8, 8, 8, 4, double, double, double)
#endif

extern "C" __global__ void u4(const unsigned* a, const unsigned* b, const int* c, int* d) {
    fragment<matrix_a, 8, 8, 32, experimental::precision::u4, row_major> fa;
    fragment<matrix_b, 8, 8, 32, experimental::precision::u4, col_major> fb;
    fragment<accumulator, 8, 8, 32, int> fc;
    load_matrix_sync(fc, c, 8, mem_row_major);
    load_matrix_sync(fa, a, 32);
    load_matrix_sync(fb, b, 32);
    mma_sync(fc, fa, fb, fc);
    store_matrix_sync(d, fc, 8, mem_col_major);
}
extern "C" __global__ void bits(const unsigned* a, const unsigned* b, const int* c, int* d) {
    fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> fa;
    fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> fb;
    fragment<accumulator, 8, 8, 128, int> fc;
    load_matrix_sync(fc, c, 8, mem_row_major);
    load_matrix_sync(fa, a, 128);
    load_matrix_sync(fb, b, 128);
    bmma_sync(fc, fa, fb, fc);
    store_matrix_sync(d, fc, 8, mem_row_major);
}
// Two warps and shared memory; elements of a fragment are scaled where they are.
extern "C" __global__ void shared_tiles(const __half* a, const __half* b, float* d) {
    __shared__ __align__(32) __half as[32 * 24], bs[16 * 24];
    for (int i = threadIdx.x; i < 32 * 16; i += 64) as[i / 16 * 24 + i % 16] = a[i];
    for (int i = threadIdx.x; i < 16 * 16; i += 64) bs[i / 16 * 24 + i % 16] = b[i];
    __syncthreads();
    const int warp = threadIdx.x / 32;
    fragment<matrix_a, 16, 16, 16, __half, row_major> fa;
    fragment<matrix_b, 16, 16, 16, __half, col_major> fb;
    fragment<accumulator, 16, 16, 16, float> fc;
    fill_fragment(fc, 1.0f);
    load_matrix_sync(fa, as + warp * 16 * 24, 24);
    load_matrix_sync(fb, bs, 24);
    mma_sync(fc, fa, fb, fc);
    for (int i = 0; i < fc.num_elements; ++i) fc.x[i] *= 2;
    store_matrix_sync(d + warp * 256, fc, 16, mem_row_major);
}
)";

class EmulatorMatrix : public testing::TestWithParam<const char*> {
  protected:
    void SetUp() override {
        static std::map<std::string, std::string> texts;
        std::string& text = texts[GetParam()];
        if (text.empty()) text = compiled(wmma_source, GetParam());
        load(machine, text);
    }

    template <class T, class C, class FT, class FC>
    void gemm(const std::string& name, int m, int n, int k, FT to_t, FC to_c, int least, int most) {
        k *= 4;
        const auto a = small_integers(static_cast<std::size_t>(m * k), 1, least, most),
                   b = small_integers(static_cast<std::size_t>(n * k), 2, least, most),
                   c = small_integers(static_cast<std::size_t>(m * n), 3, -9, 9);
        const auto want = converted<C>(product(a, b, c, m, n, k), to_c);
        for (const bool other : {false, true}) {
            SCOPED_TRACE(name + (other ? "_cr" : "_rc"));
            const u64 a_at = machine.upload(converted<T>(other ? transposed(a, m, k) : a, to_t));
            const u64 b_at = machine.upload(converted<T>(other ? transposed(b, n, k) : b, to_t));
            const u64 c_at = machine.upload(converted<C>(c, to_c)),
                      d_at = machine.upload(std::vector<C>(c.size()));
            EXPECT_RUNS(machine, machine.launch(name + (other ? "_cr" : "_rc"), {.block = {32, 1, 1}}, a_at,
                                                b_at, c_at, d_at));
            EXPECT_EQ(machine.download<C>(d_at, c.size()), want);
        }
    }
    Machine machine;
};

constexpr auto itself = [](int value) { return value; };

TEST_P(EmulatorMatrix, ProductsOfMmaH) {
    gemm<u16, float>("f16_16", 16, 16, 16, f16_bits, itself, -8, 8);
    gemm<u16, float>("f16_8", 8, 32, 16, f16_bits, itself, -8, 8);
    gemm<u16, float>("f16_32", 32, 8, 16, f16_bits, itself, -8, 8);
    gemm<u16, u16>("half_16", 16, 16, 16, f16_bits, f16_bits, -4, 4);
    gemm<std::int8_t, int>("s8_16", 16, 16, 16, itself, itself, -128, 127);
    gemm<std::uint8_t, int>("u8_32", 32, 8, 16, itself, itself, 0, 255);
    if (std::string_view(GetParam()) == "sm_75") return;
    const auto to_bf16 = [](int value) { return bf16_bits(static_cast<float>(value)); };
    gemm<u16, float>("bf16_16", 16, 16, 16, to_bf16, itself, -8, 8);
    gemm<u16, float>("bf16_8", 8, 32, 16, to_bf16, itself, -8, 8);
    gemm<float, float>("tf32_16", 16, 16, 8, itself, itself, -8, 8);
    gemm<double, double>("f64_8", 8, 8, 4, itself, itself, -1000, 1000);
}

TEST_P(EmulatorMatrix, SubByteProductsOfMmaH) {
    std::mt19937 random(4);
    std::vector<u32> a(32), b(32);
    for (auto* words : {&a, &b})
        for (u32& word : *words) word = static_cast<u32>(random());
    const auto c = small_integers(64, 5, -100, 100);
    const u64 a_at = machine.upload(a), b_at = machine.upload(b), c_at = machine.upload(c),
              d_at = machine.upload(std::vector<int>(64));
    EXPECT_RUNS(machine, machine.launch("u4", {.block = {32, 1, 1}}, a_at, b_at, c_at, d_at));
    const auto nibbles = machine.download<int>(d_at, 64);
    EXPECT_RUNS(machine, machine.launch("bits", {.block = {32, 1, 1}}, a_at, b_at, c_at, d_at));
    const auto bits = machine.download<int>(d_at, 64);
    for (unsigned row = 0; row < 8; ++row)
        for (unsigned col = 0; col < 8; ++col) {
            u32 sum = 0;
            int set = c[row * 8 + col];
            for (unsigned k = 0; k < 32; ++k)
                sum += (a[row * 4 + k / 8] >> k % 8 * 4 & 15) * (b[col * 4 + k / 8] >> k % 8 * 4 & 15);
            for (unsigned k = 0; k < 4; ++k) set += std::popcount(a[row * 4 + k] ^ b[col * 4 + k]);
            EXPECT_EQ(nibbles[col * 8 + row], c[row * 8 + col] + static_cast<int>(sum));
            EXPECT_EQ(bits[row * 8 + col], set);
        }
}

TEST_P(EmulatorMatrix, TilesInSharedMemory) {
    const auto a = small_integers(32 * 16, 6, -5, 5), b = small_integers(16 * 16, 7, -5, 5);
    const u64 a_at = machine.upload(converted<u16>(a, f16_bits)),
              b_at = machine.upload(converted<u16>(b, f16_bits)),
              d_at = machine.upload(std::vector<float>(512));
    EXPECT_RUNS(machine, machine.launch("shared_tiles", {.block = {64, 1, 1}}, a_at, b_at, d_at));
    const auto want = product(a, b, std::vector<int>(512, 1), 32, 16, 16);
    EXPECT_EQ(machine.download<float>(d_at, 512),
              converted<float>(want, [](int value) { return 2 * value; }));
}

INSTANTIATE_TEST_SUITE_P(Targets, EmulatorMatrix, testing::Values("sm_75", "sm_80", "sm_90a"),
                         [](const auto& info) { return std::string(info.param); });

// --- inline PTX

constexpr const char* mma_source = R"(
typedef unsigned u32;
// A 16x16 and B 16x8 of bf16 by ldmatrix, out of shared memory; D to registers of a row-major matrix.
extern "C" __global__ void ldmatrix_mma(const u32* a, const u32* b, float* d) {
    __shared__ __align__(16) u32 as[16 * 8], bs[8 * 8];  // b by columns
    for (int i = threadIdx.x; i < 128; i += 32) as[i] = a[i];
    for (int i = threadIdx.x; i < 64; i += 32) bs[i] = b[i];
    __syncwarp();
    int t = threadIdx.x;
    u32 a_at = (u32)__cvta_generic_to_shared(as + (t % 16) * 8 + t / 16 * 4), b_at = (u32)__cvta_generic_to_shared(bs + (t % 8) * 8 + t / 8 % 2 * 4);
    u32 x[4], y[2];
    float s[4] = {0, 0, 0, 0};
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];" : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3]) : "r"(a_at));
    asm volatile("ldmatrix.sync.aligned.m8n8.x2.b16 {%0,%1}, [%2];" : "=r"(y[0]), "=r"(y[1]) : "l"((const void*)(bs + (t % 8) * 8 + t / 8 % 2 * 4)));
    (void)b_at;
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(x[0]), "r"(x[1]), "r"(x[2]), "r"(x[3]), "r"(y[0]), "r"(y[1]));
    d[t / 4 * 8 + t % 4 * 2] = s[0]; d[t / 4 * 8 + t % 4 * 2 + 1] = s[1];
    d[(t / 4 + 8) * 8 + t % 4 * 2] = s[2]; d[(t / 4 + 8) * 8 + t % 4 * 2 + 1] = s[3];
}
// Lanes loop for as long as each wants to; then all or none multiply.
extern "C" __global__ void split(const int* in, float* d, int guard) {
    int t = threadIdx.x;
    u32 one = 0x3f803f80;
    float s[4] = {0, 0, 0, 0};
    for (int i = 0; i < in[t]; ++i) s[0] += in[i];
    asm volatile("{ .reg .pred p; setp.ne.s32 p, %6, 0; @p mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3}; }"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(one), "r"(one), "r"(guard));
    d[t] = s[0];
}
extern "C" __global__ void halves_only(float* d) {
    u32 one = 0;
    float s[4] = {0, 0, 0, 0};
    if (threadIdx.x < 16)
        asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%4}, {%5}, {%0,%1,%2,%3};"
            : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(one), "r"(one));
    d[threadIdx.x] = s[0];
}
extern "C" __global__ void after_exit(float* d) {
    u32 x = threadIdx.x;
    if (threadIdx.x >= 24) return;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %0;" : "+r"(x));
    d[threadIdx.x] = x;
}
extern "C" __global__ void sparse(const u32* a, const u32* b, u32 metadata, float* d) {
    int t = threadIdx.x;
    float s[4] = {0, 0, 0, 0};
    asm volatile("mma.sp::ordered_metadata.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5}, {%6,%7}, {%0,%1,%2,%3}, %8, 0x1;"
        : "+f"(s[0]), "+f"(s[1]), "+f"(s[2]), "+f"(s[3]) : "r"(a[t]), "r"(a[t + 32]), "r"(b[t]), "r"(b[t + 32]), "r"(metadata));
    for (int i = 0; i < 4; ++i) d[t * 4 + i] = s[i];
}
extern "C" __global__ void read_rows(const u32* global, u32* d) {
    u32 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.trans.b16 {%0}, [%1];" : "=r"(x) : "l"(global + threadIdx.x % 8 * 4));
    d[threadIdx.x] = x;
}
extern "C" __global__ void read_beyond(u32 at, u32* d) {
    u32 x;
    asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0}, [%1];" : "=r"(x) : "r"(at));
    d[threadIdx.x] = x;
}
extern "C" __global__ void stride(const u32* a, int stride, u32* d) {
    u32 x, y;
    asm volatile("wmma.load.a.sync.aligned.row.m16n16k16.global.s8 {%0,%1}, [%2], %3;" : "=r"(x), "=r"(y) : "l"(a), "r"(stride));
    d[threadIdx.x] = x + y;
}
#if __CUDA_ARCH__ >= 900
extern "C" __global__ void store_and_turn(const u32* in, u32* stored, u32* turned) {
    __shared__ __align__(16) u32 rows[32 * 4];
    int t = threadIdx.x;
    u32 x = in[t], y = in[t + 32], z = in[t + 64], w = in[t + 96], at = (u32)__cvta_generic_to_shared(rows + t * 4);
    asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1,%2,%3,%4};" :: "r"(at), "r"(x), "r"(y), "r"(z), "r"(w) : "memory");
    __syncwarp();
    for (int i = 0; i < 4; ++i) stored[t * 4 + i] = rows[t * 4 + i];
    __syncwarp();
    asm volatile("stmatrix.sync.aligned.m8n8.x1.trans.shared.b16 [%0], {%1};" :: "r"(at), "r"(x) : "memory");
    __syncwarp();
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(y) : "r"(x));
    turned[t] = y;
    turned[32 + t] = rows[t];
}
#endif
)";

class EmulatorMma : public testing::Test {
  protected:
    void SetUp() override {
        static const std::string text = compiled(mma_source, "sm_90a");
        load(machine, text);
    }
    /// The error of a launch of one warp, with its place.
    template <class... T> std::string error_of(std::string_view entry, const T&... arguments) {
        const auto outcome = machine.launch(entry, {.block = {32, 1, 1}}, arguments...);
        return outcome ? "none" : machine.text_of(outcome.error());
    }
    Machine machine;
};

using testing::HasSubstr;

TEST_F(EmulatorMma, LdmatrixFeedsMma) {
    const auto a = small_integers(256, 11, -7, 7), b = small_integers(128, 12, -7, 7);
    const auto to_bf16 = [](int value) { return bf16_bits(static_cast<float>(value)); };
    const u64 a_at = machine.upload(converted<u16>(a, to_bf16)),
              b_at = machine.upload(converted<u16>(b, to_bf16)),
              d_at = machine.upload(std::vector<float>(128));
    EXPECT_RUNS(machine, machine.launch("ldmatrix_mma", {.block = {32, 1, 1}}, a_at, b_at, d_at));
    EXPECT_EQ(machine.download<float>(d_at, 128),
              converted<float>(product(a, b, std::vector<int>(128), 16, 8, 16), itself));
}

TEST_F(EmulatorMma, LanesOfASplitWarpComeTogether) {
    const auto in = small_integers(32, 13, 0, 9);
    const u64 in_at = machine.upload(in), d_at = machine.upload(std::vector<float>(32));
    for (const int guard : {1, 0}) {
        EXPECT_RUNS(machine, machine.launch("split", {.block = {32, 1, 1}}, in_at, d_at, guard));
        const auto d = machine.download<float>(d_at, 32);
        for (unsigned lane = 0; lane < 32; ++lane)
            EXPECT_EQ(d[lane],
                      static_cast<float>(8 * guard + std::accumulate(in.begin(), in.begin() + in[lane], 0)))
                << lane;
    }
}

TEST(EmulatorMatrixText, LanesThatComeLateAreWaitedFor) {
    // The lower half of the warp is at the product first, and the upper one comes from behind it.
    Machine machine;
    load(machine, R"(.version 8.7
.target sm_80
.address_size 64
.visible .entry late(.param .u64 out) {
    .reg .pred p;
    .reg .b32 t, x, y;
    .reg .b64 at, offset;
    ld.param.u64 at, [out];
    mov.u32 t, %tid.x;
    mul.wide.u32 offset, t, 4;
    add.u64 at, at, offset;
    shl.b32 x, t, 1;
    setp.ge.u32 p, t, 16;
    @p bra LATE;
TOGETHER:
    movmatrix.sync.aligned.m8n8.trans.b16 y, x;
    st.global.u32 [at], y;
    ret;
LATE:
    add.u32 x, x, 100;
    bra TOGETHER;
})");
    const u64 out = machine.upload(std::vector<u32>(32));
    EXPECT_RUNS(machine, machine.launch("late", {.block = {32, 1, 1}}, out));
    const auto y = machine.download<u32>(out, 32);
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned j = 0; j < 2; ++j) {
            const unsigned row = lane % 4 * 2 + j, column = lane / 4, from = row * 4 + column / 2;
            EXPECT_EQ(y[lane] >> 16 * j & 0xFFFF, column % 2 != 0 ? 0 : from * 2 + (from >= 16 ? 100 : 0));
        }
}

TEST_F(EmulatorMma, AWarpThatIsNotWholeIsAnError) {
    const u64 d_at = machine.upload(std::vector<float>(256));
    EXPECT_THAT(error_of("after_exit", d_at), HasSubstr("an instruction of the whole warp: executed by the "
                                                        "lanes 0x00ffffff, and the others have exited"));
    EXPECT_THAT(error_of("halves_only", d_at),
                HasSubstr("an instruction of the whole warp: executed by the lanes 0x0000ffff"));
    const auto outcome = machine.launch("ldmatrix_mma", {.block = {20, 1, 1}}, d_at, d_at, d_at);
    ASSERT_FALSE(outcome);
    EXPECT_EQ(outcome.error().code, Errc::warp_not_whole);
}

TEST_F(EmulatorMma, SparseMetadataCome) {
    const auto a = small_integers(128, 14, -7, 7), b = small_integers(128, 15, -7, 7);
    const u64 a_at = machine.upload(converted<u16>(a, f16_bits)),
              b_at = machine.upload(converted<u16>(b, f16_bits)),
              d_at = machine.upload(std::vector<float>(128));
    EXPECT_RUNS(machine, machine.launch("sparse", {.block = {32, 1, 1}}, a_at, b_at, u32{0x9E4D9E4D}, d_at));
    const auto d = machine.download<float>(d_at, 128);
    // Element i of a lane of A: row lane / 4 (+ 8), chunk lane % 4, stored pair; B: rows 2t, 2t + 1 (+ 8) of
    // column lane / 4.
    for (unsigned lane = 0; lane < 32; ++lane)
        for (unsigned i = 0; i < 4; ++i) {
            const unsigned row = lane / 4, column = lane % 4 * 2 + i % 2;
            int sum = 0;
            for (unsigned chunk = 0; chunk < 4; ++chunk)
                for (unsigned j = 0; j < 2; ++j) {
                    const unsigned k = chunk * 4 + (0x9E4Du >> (chunk * 4 + j * 2) & 3);
                    const int x = a[(i / 2 * 32 + row * 4 + chunk) * 2 + j];
                    const int y = b[(k / 8 * 32 + column * 4 + k % 8 / 2) * 2 + k % 2];
                    sum += x * y;
                }
            EXPECT_EQ(d[lane * 4 + i], static_cast<float>(sum));
        }
    EXPECT_THAT(
        error_of("sparse", a_at, b_at, u32{0x9E4D9E40}, d_at),
        HasSubstr("bits 0 to 3 of the sparsity metadata of lane 1 are 0b0000, which names no elements"));
    // Zeros may stand anywhere.
    const u64 zeros = machine.upload(std::vector<u16>(a.size()));
    EXPECT_RUNS(machine, machine.launch("sparse", {.block = {32}}, zeros, b_at, u32{0}, d_at));
    EXPECT_EQ(machine.download<float>(d_at, 128), std::vector<float>(128));
}

TEST_F(EmulatorMma, WrongOperandsAreNamed) {
    const u64 d_at = machine.upload(std::vector<u32>(256));
    EXPECT_THAT(error_of("read_rows", d_at, d_at), HasSubstr("is not in shared memory"));
    EXPECT_THAT(error_of("read_beyond", u32{1 << 20}, d_at),
                HasSubstr("read of 16 bytes of shared memory at 0x100000"));
    EXPECT_THAT(error_of("read_beyond", u32{8}, d_at),
                HasSubstr("misaligned address: 16 bytes of shared memory at 0x8"));
    EXPECT_THAT(error_of("stride", d_at, 8, d_at),
                HasSubstr("a stride of 8 elements; one line of this matrix has 16"));
    EXPECT_THAT(error_of("stride", d_at + 2, 16, d_at),
                HasSubstr("misaligned address: 4 bytes of global memory"));
    EXPECT_EQ(error_of("stride", d_at, 16, d_at), "none");
    EXPECT_THAT(error_of("stride", d_at, 1 << 20, d_at), HasSubstr("address out of bounds"));
}

TEST_F(EmulatorMma, StmatrixAndMovmatrix) {
    std::vector<u32> in(128);
    for (u32 i = 0; i < 128; ++i) in[i] = i * 2 | (i * 2 + 1) << 16;  // half h of matrix m is 64 m + h
    const u64 in_at = machine.upload(in), stored_at = machine.upload(std::vector<u32>(128)),
              turned_at = machine.upload(std::vector<u32>(64));
    EXPECT_RUNS(machine,
                machine.launch("store_and_turn", {.block = {32, 1, 1}}, in_at, stored_at, turned_at));
    EXPECT_EQ(machine.download<u32>(stored_at, 128), in);  // row r of a matrix: halves 8r to 8r + 7
    const auto turned = machine.download<u16>(turned_at, 128);
    for (unsigned row = 0; row < 8; ++row)
        for (unsigned column = 0; column < 8; ++column) {
            EXPECT_EQ(turned[row * 8 + column], column * 8 + row);
            EXPECT_EQ(turned[64 + row * 8 + column], column * 8 + row);
        }
}

// --- wgmma

/// 64 x n x 64 of bf16: A and B K-major with 128-byte swizzling, by each thread's own stores; four steps of
/// K.
std::string wgmma_source(unsigned n, bool a_in_registers) {
    std::string accumulators, outputs;
    for (unsigned i = 0; i < n / 2; ++i) {
        accumulators += fmt::format("{}%{}", i == 0 ? "" : ",", i);
        outputs += fmt::format("{}\"+f\"(d[{}])", i == 0 ? "" : ",", i);
    }
    const std::string a = a_in_registers
                              ? fmt::format("{{%{},%{},%{},%{}}}", n / 2, n / 2 + 1, n / 2 + 2, n / 2 + 3)
                              : fmt::format("%{}", n / 2);
    const unsigned b = n / 2 + (a_in_registers ? 4 : 1);
    const std::string inputs =
        a_in_registers ? "\"r\"(r[0]),\"r\"(r[1]),\"r\"(r[2]),\"r\"(r[3])" : "\"l\"(a_desc + 2 * k)";
    return fmt::format(R"(
typedef unsigned u32; typedef unsigned long long u64;
__device__ u32 swizzled(u32 row, u32 column) {{ return row * 64 + ((column / 8 ^ row % 8) * 8 + column % 8); }}  // of 2-byte elements
extern "C" __global__ void product(const unsigned short* a, const unsigned short* b, float* out, int scale_d, u32 far) {{
    __shared__ __align__(1024) unsigned short as[64 * 64], bs[{0} * 64];
    for (int i = threadIdx.x; i < 64 * 64; i += 128) as[swizzled(i / 64, i % 64)] = a[i];
    for (int i = threadIdx.x; i < {0} * 64; i += 128) bs[swizzled(i / 64, i % 64)] = b[i];
    asm volatile("fence.proxy.async;" ::: "memory");
    __syncthreads();
    float d[{1}];
    for (int i = 0; i < {1}; ++i) d[i] = i;
    const u64 layout = (u64)1 << 62 | (u64)(1024 >> 4) << 32 | (u64)1 << 16;
    u64 a_desc = layout | ((u32)__cvta_generic_to_shared(as) & 0x3FFFF) >> 4, b_desc = layout | (((u32)__cvta_generic_to_shared(bs) + far) & 0x3FFFF) >> 4;
    asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
    for (int k = 0; k < 4; ++k) {{
        u32 r[4], lane = threadIdx.x % 32, row = threadIdx.x / 32 * 16 + lane / 4;
        for (int i = 0; i < 4; ++i) r[i] = *(const u32*)(a + (row + i % 2 * 8) * 64 + k * 16 + lane % 4 * 2 + i / 2 * 8);
        asm volatile("{{ .reg .pred p; setp.ne.b32 p, %{4}, 0; wgmma.mma_async.sync.aligned.m64n{0}k16.f32.bf16.bf16 {{{2}}}, {3}, %{5}, p, 1, {8}; }}"
            : {6} : {7}, "l"(b_desc + 2 * k), "r"(k == 0 ? scale_d : 1));
    }}
    asm volatile("wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0;" ::: "memory");
    u32 row = threadIdx.x / 32 * 16 + threadIdx.x % 32 / 4;
    for (int i = 0; i < {1}; ++i) out[(row + i / 2 % 2 * 8) * {0} + i / 4 * 8 + threadIdx.x % 4 * 2 + i % 2] = d[i];
}})",
                       n, n / 2, accumulators, a, b + 1, b, outputs, inputs,
                       a_in_registers ? "-1, 0" : "1, 0, 0");
}

void check_wgmma(unsigned n, bool a_in_registers) {
    Machine machine;
    load(machine, compiled(wgmma_source(n, a_in_registers), "sm_90a"));
    std::mt19937 random(n);
    std::normal_distribution<float> normal;
    std::vector<u16> a(64 * 64), b(n * 64);
    for (auto* values : {&a, &b})
        for (u16& value : *values) value = bf16_bits(normal(random));
    const u64 a_at = machine.upload(a), b_at = machine.upload(b),
              out_at = machine.upload(std::vector<float>(64 * n));
    const double sign = a_in_registers ? -1 : 1;  // imm-scale-b
    for (const int scale_d : {0, 1}) {
        EXPECT_RUNS(machine,
                    machine.launch("product", {.block = {128, 1, 1}}, a_at, b_at, out_at, scale_d, u32{0}));
        const auto out = machine.download<float>(out_at, 64 * n);
        for (unsigned row = 0; row < 64; ++row)
            for (unsigned column = 0; column < n; ++column) {
                const unsigned i = column / 8 * 4 + row % 16 / 8 * 2 + column % 2;
                double sum = scale_d != 0 ? i : 0, magnitudes = sum;
                for (unsigned k = 0; k < 64; ++k) {
                    const double one = sign * static_cast<double>(bf16_value(a[row * 64 + k])) *
                                       static_cast<double>(bf16_value(b[column * 64 + k]));
                    sum += one;
                    magnitudes += std::fabs(one);
                }
                ASSERT_NEAR(out[row * n + column], sum, magnitudes * 64 * 0x1p-24) << row << ", " << column;
            }
    }
    const auto outside =
        machine.launch("product", {.block = {128, 1, 1}}, a_at, b_at, out_at, 1, u32{64 * 1024});
    ASSERT_FALSE(outside);
    EXPECT_EQ(outside.error().code, Errc::matrix_operand_invalid);
    EXPECT_THAT(machine.text_of(outside.error()), HasSubstr("the descriptor of b reaches address 0x"));
}

TEST(EmulatorWgmma, ProductsAgainstDoubles) {
    check_wgmma(64, false);
    check_wgmma(256, false);
    check_wgmma(8, false);
    check_wgmma(96, true);
}

// --- what is wrong in the text

std::string load_error(const std::string& instruction) {
    Machine machine;
    const std::string text = test::kernel_text({.version = "8.7",
                                                .target = "sm_90a",
                                                .registers = {"b32 r<9>", "f32 f<9>", "b64 d<4>", "pred p"},
                                                .body = instruction,
                                                .name = "e"});
    auto loaded = machine.load(text);
    if (!loaded) return describe(loaded.error(), text);
    const auto outcome = machine.launch("e", {.block = {32, 1, 1}});
    return outcome ? "none" : machine.text_of(outcome.error());
}

TEST(EmulatorMatrixText, WrongTextIsNamedByLine) {
    EXPECT_THAT(load_error("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {f0,f1,f2}, {r0,r1,r2,r3}, "
                           "{r4,r5}, {f0,f1,f2,f3};"),
                testing::AllOf(HasSubstr("10:"), HasSubstr("is not a vector {…} of 4 registers of .f32")));
    EXPECT_THAT(
        load_error("mma.sync.aligned.m16n8k99.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, {r0,r1,r2,r3}, {r4,r5}, "
                   "{f0,f1,f2,f3};"),
        testing::AllOf(HasSubstr("10:"), HasSubstr("unknown modifier '.m16n8k99' for mma")));
    EXPECT_THAT(load_error("mma.sp.sync.aligned.m16n8k32.row.col.f32.f16.f16.f32 {f0,f1,f2,f3}, "
                           "{r0,r1,r2,r3}, {r4,r5,r6,r7}, {f0,f1,f2,f3}, r0, 2;"),
                HasSubstr("2, where a constant from 0 to 1 is wanted"));
    EXPECT_THAT(
        load_error(
            "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0,f1,f2,f3}, d0, d1, p, 0, 1, 0, 0;"),
        HasSubstr("'0' is out of range: one of -1, 1"));
    EXPECT_THAT(
        load_error("wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {f0,f1,f2,f3}, d0, d1, p, 1, 1;"),
        HasSubstr("wrong number of operands; form: wgmma.mma_async"));
    EXPECT_THAT(load_error("ldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {r0,r1}, [r2];"),
                HasSubstr("needs sm_100a, sm_100f"));
}

}  // namespace
}  // namespace ptxgraft
