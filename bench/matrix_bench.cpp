// The tensor cores of the emulator: floating-point operations per second of one core, by version.
#include <benchmark/benchmark.h>
#include <fmt/core.h>

#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "emulator/matrix/matrix.hpp"
#include "ptxgraft/emulator.hpp"

namespace {

using namespace ptxgraft::emulator;
using enum MatrixType;

struct alignas(64) Register {
    std::uint32_t lane[64];  // enough for .f64
};

/// Fragments of numbers near 1/64, in any type: subnormal ones cost the processor a hundred times as much.
struct Fragments {
    std::vector<Register> registers;
    std::vector<void*> pointers;
    std::vector<const void*> constants;
    explicit Fragments(unsigned count) : registers(count) {
        std::uint32_t x = 1;
        for (auto& one : registers) {
            for (auto& word : one.lane) word = ((x = x * 1664525u + 1013904223u) & 0x003F003Fu) | 0x3C003C00u;
            pointers.push_back(one.lane);
            constants.push_back(one.lane);
        }
    }
};

void count(benchmark::State& state, double operations) {
    state.counters["GFLOP/s"] =
        benchmark::Counter(operations * 1e-9, benchmark::Counter::kIsIterationInvariantRate);
}

void run_mma(benchmark::State& state, const Mma& mma) {
    select_engine(static_cast<MatrixEngine>(state.range(0)));
    const FragmentSizes sizes = fragment_sizes(mma);
    Fragments a(sizes.a), b(sizes.b), d(sizes.d);
    std::memset(d.registers.data(), 0, sizes.d * sizeof(Register));
    const std::vector<std::uint32_t> metadata(32, 0x4E9C4E9C);
    for (auto _ : state) {
        multiply(mma, {d.pointers.data(), a.constants.data(), b.constants.data(), d.constants.data(),
                       metadata.data()});
        benchmark::ClobberMemory();
    }
    count(state, 2.0 * mma.m * mma.n * mma.k);
}

void run_wgmma(benchmark::State& state, Wgmma wgmma, bool a_in_registers) {
    select_engine(static_cast<MatrixEngine>(state.range(0)));
    wgmma.n = static_cast<std::uint16_t>(state.range(1));
    Fragments a(4), d(accumulator_size(wgmma));
    std::memset(d.registers.data(), 0, d.registers.size() * sizeof(Register));
    std::vector<std::byte> shared(64 * 1024, std::byte{0x3F});
    const std::vector<std::uint32_t> metadata(32, 0x4E9C4E9C);
    const std::uint64_t stride = std::uint64_t{1024 >> 4} << 32, swizzle_128 = std::uint64_t{1} << 62;
    const std::uint64_t leading = std::uint64_t{1024 * 8 >> 4} << 16;
    for (auto _ : state) {
        for (std::uint8_t warp = 0; warp < 4; ++warp) {
            const WgmmaOperands operands{.d = d.pointers.data(),
                                         .a = a_in_registers ? a.constants.data() : nullptr,
                                         .a_descriptor = swizzle_128 | stride | leading,
                                         .b_descriptor = swizzle_128 | stride | leading | (16384 >> 4),
                                         .metadata = metadata.data(),
                                         .warp = warp};
            if (multiply(wgmma, operands, {shared.data(), static_cast<std::uint32_t>(shared.size())}))
                return state.SkipWithError("outside of shared memory");
        }
        benchmark::ClobberMemory();
    }
    count(state, 2.0 * 64 * wgmma.n * depth(wgmma));
}

void BM_Mma_m16n8k16_bf16(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 16, .a = bf16, .b = bf16});
}
void BM_Mma_m16n8k16_f16(benchmark::State& state) { run_mma(state, {.m = 16, .n = 8, .k = 16}); }
void BM_Mma_m16n8k16_f16_to_f16(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 16, .c = f16, .d = f16});
}
void BM_Mma_m16n8k8_tf32(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 8, .a = tf32, .b = tf32});
}
void BM_Mma_m16n8k32_e4m3(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 32, .a = e4m3, .b = e4m3});
}
void BM_Mma_m16n8k32_s8(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 32, .a = s8, .b = s8, .c = s32, .d = s32});
}
void BM_Mma_m16n8k16_f64(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 16, .a = f64, .b = f64, .c = f64, .d = f64});
}
void BM_Mma_m16n8k64_s4(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 64, .a = s4, .b = s4, .c = s32, .d = s32});
}
void BM_Mma_m16n8k256_b1(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 256, .a = b1, .b = b1, .c = s32, .d = s32});
}
void BM_Mma_sp_m16n8k32_f16(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 8, .k = 32, .sparsity = Sparsity::sp});
}
void BM_Mma_sp_m16n8k64_s8(benchmark::State& state) {
    run_mma(state,
            {.m = 16, .n = 8, .k = 64, .a = s8, .b = s8, .c = s32, .d = s32, .sparsity = Sparsity::sp});
}
void BM_Wmma_m16n16k16_f16(benchmark::State& state) {
    run_mma(state, {.m = 16, .n = 16, .k = 16, .wmma = true});
}
void BM_Wgmma_bf16(benchmark::State& state) { run_wgmma(state, {.a = bf16, .b = bf16}, false); }
void BM_Wgmma_bf16_A_in_registers(benchmark::State& state) { run_wgmma(state, {.a = bf16, .b = bf16}, true); }
void BM_Wgmma_bf16_B_n_major(benchmark::State& state) {
    run_wgmma(state, {.a = bf16, .b = bf16, .transpose_b = true}, false);
}
void BM_Wgmma_f16(benchmark::State& state) { run_wgmma(state, {.a = f16, .b = f16}, false); }
void BM_Wgmma_e4m3(benchmark::State& state) { run_wgmma(state, {.a = e4m3, .b = e4m3}, false); }
void BM_Wgmma_tf32(benchmark::State& state) { run_wgmma(state, {.a = tf32, .b = tf32}, false); }
void BM_Wgmma_sp_bf16(benchmark::State& state) {
    run_wgmma(state, {.a = bf16, .b = bf16, .sparse = true}, false);
}
void BM_Wgmma_s8(benchmark::State& state) { run_wgmma(state, {.a = s8, .b = s8, .d = s32}, false); }

// --- through PTX: a loop of one warp (of a warpgroup), everything but the decoding; fast, or with all checks

std::string cleared(const char* prefix, unsigned count, const char* type) {
    std::string text;
    for (unsigned i = 0; i < count; ++i)
        text += fmt::format("    mov.{} {}{}, {};\n", type, prefix, i, *type == 'f' ? "0.0" : "0");
    return text;
}

std::string numbered(const char* prefix, unsigned count) {
    std::string names;
    for (unsigned i = 0; i < count; ++i) names += fmt::format("{}{}{}", i == 0 ? "" : ",", prefix, i);
    return "{" + names + "}";
}

void run_loop(benchmark::State& state, const std::string& body, std::uint32_t threads, double operations) {
    constexpr unsigned rounds = 500;
    constexpr std::size_t memory_bytes = 1 << 16;
    const std::string text = R"(.version 8.7
.target sm_90a
.address_size 64
.visible .entry loop(.param .u64 memory) {
    .reg .b32 i, at, a<4>, b<8>;
    .reg .f32 d<128>;
    .reg .b64 global, desc;
    .reg .b32 to;
    .reg .pred p;
    .shared .align 1024 .b8 tile[49152];
    ld.param.u64 global, [memory];
    mov.b32 i, %tid.x;
    mov.b32 at, tile;
    mad.lo.u32 to, i, 16, at;
FILL:
    st.shared.v4.b32 [to], {0, 0, 0, 0};
    add.u32 to, to, )" + std::to_string(threads * 16) +
                             R"(;
    add.u32 i, i, )" + std::to_string(threads) +
                             R"(;
    setp.lt.u32 p, i, 3072;
    @p bra FILL;
    fence.proxy.async;
    bar.sync 0;
    mov.b64 desc, 0x4000004000010000;
    mov.b32 i, 0;
)" + cleared("a", 4, "b32") + cleared("b", 8, "b32") +
                             cleared("d", 128, "f32") + "LOOP:\n" + body +
                             "    add.u32 i, i, 1;\n    setp.lt.u32 p, i, " + std::to_string(rounds) +
                             ";\n    @p bra LOOP;\n    ret;\n}\n";
    ptxgraft::Emulator emulator({.fast = state.range(0) != 0});
    const auto module = emulator.load(text);
    if (!module) return state.SkipWithError(ptxgraft::describe(module.error(), text).c_str());
    const auto memory = emulator.allocate(memory_bytes);
    const std::vector<std::byte> zeros(memory_bytes);
    if (!memory || !emulator.write(*memory, zeros)) return state.SkipWithError("no memory");
    const std::span<const std::byte> arguments[] = {std::as_bytes(std::span(&*memory, 1))};
    for (auto _ : state) {
        const auto done = emulator.launch(**module, "loop", {.block = {threads, 1, 1}}, arguments);
        if (!done) return state.SkipWithError(ptxgraft::describe(done.error(), text).c_str());
    }
    count(state, rounds * operations);
}

void BM_Ptx_mma_m16n8k16_bf16(benchmark::State& state) {
    run_loop(state,
             "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + numbered("d", 4) + "," +
                 numbered("a", 4) + "," + numbered("b", 2) + "," + numbered("d", 4) + ";\n",
             32, 2.0 * 16 * 8 * 16);
}
void BM_Ptx_ldmatrix_and_mma(benchmark::State& state) {
    run_loop(state,
             "ldmatrix.sync.aligned.m8n8.x4.shared.b16 " + numbered("a", 4) +
                 ", [at];\nldmatrix.sync.aligned.m8n8.x2.shared.b16 " + numbered("b", 2) + ", [at];\n" +
                 "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 " + numbered("d", 4) + "," +
                 numbered("a", 4) + "," + numbered("b", 2) + "," + numbered("d", 4) + ";\n",
             32, 2.0 * 16 * 8 * 16);
}
void BM_Ptx_wmma_loads_and_mma(benchmark::State& state) {
    run_loop(state,
             "wmma.load.a.sync.aligned.row.m16n16k16.global.bf16 " + numbered("a", 4) +
                 ", [global], 16;\nwmma.load.b.sync.aligned.col.m16n16k16.global.bf16 " + numbered("b", 4) +
                 ", [global], 16;\nwmma.mma.sync.aligned.row.col.m16n16k16.f32.bf16.bf16.f32 " +
                 numbered("d", 8) + "," + numbered("a", 4) + "," + numbered("b", 4) + "," + numbered("d", 8) +
                 ";\n",
             32, 2.0 * 16 * 16 * 16);
}
void BM_Ptx_wgmma_m64n256k16_bf16(benchmark::State& state) {
    run_loop(state,
             "wgmma.fence.sync.aligned;\nwgmma.mma_async.sync.aligned.m64n256k16.f32.bf16.bf16 " +
                 numbered("d", 128) +
                 ", desc, desc, 1, 1, 1, 0, "
                 "0;\nwgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n",
             128, 2.0 * 64 * 256 * 16);
}

// Those that this processor has.
void engines(benchmark::internal::Benchmark* bench) {
    for (const int engine : {0, 1, 2})
        if (has_engine(static_cast<MatrixEngine>(engine))) bench->Arg(engine);
}
void engines_and_widths(benchmark::internal::Benchmark* bench) {
    for (const int width : {64, 256})
        for (const int engine : {0, 1, 2})
            if (has_engine(static_cast<MatrixEngine>(engine))) bench->Args({engine, width});
}

#define PTXGRAFT_LOOP(name) BENCHMARK(name)->ArgName("fast")->Arg(1)->Arg(0)
PTXGRAFT_LOOP(BM_Ptx_mma_m16n8k16_bf16);
PTXGRAFT_LOOP(BM_Ptx_ldmatrix_and_mma);
PTXGRAFT_LOOP(BM_Ptx_wmma_loads_and_mma);
PTXGRAFT_LOOP(BM_Ptx_wgmma_m64n256k16_bf16);

// The version (0 plain, 1 AVX2, 2 AVX-512); for wgmma also N.
#define PTXGRAFT_MMA(name) BENCHMARK(name)->ArgName("version")->Apply(engines)
#define PTXGRAFT_WGMMA(name) BENCHMARK(name)->ArgNames({"version", "n"})->Apply(engines_and_widths)
PTXGRAFT_MMA(BM_Mma_m16n8k16_bf16);
PTXGRAFT_MMA(BM_Mma_m16n8k16_f16);
PTXGRAFT_MMA(BM_Mma_m16n8k16_f16_to_f16);
PTXGRAFT_MMA(BM_Mma_m16n8k8_tf32);
PTXGRAFT_MMA(BM_Mma_m16n8k32_e4m3);
PTXGRAFT_MMA(BM_Mma_m16n8k32_s8);
PTXGRAFT_MMA(BM_Mma_m16n8k16_f64);
PTXGRAFT_MMA(BM_Mma_m16n8k64_s4);
PTXGRAFT_MMA(BM_Mma_m16n8k256_b1);
PTXGRAFT_MMA(BM_Mma_sp_m16n8k32_f16);
PTXGRAFT_MMA(BM_Mma_sp_m16n8k64_s8);
PTXGRAFT_MMA(BM_Wmma_m16n16k16_f16);
PTXGRAFT_WGMMA(BM_Wgmma_bf16);
PTXGRAFT_WGMMA(BM_Wgmma_bf16_A_in_registers);
PTXGRAFT_WGMMA(BM_Wgmma_bf16_B_n_major);
PTXGRAFT_WGMMA(BM_Wgmma_f16);
PTXGRAFT_WGMMA(BM_Wgmma_e4m3);
PTXGRAFT_WGMMA(BM_Wgmma_s8);
PTXGRAFT_WGMMA(BM_Wgmma_tf32);
PTXGRAFT_WGMMA(BM_Wgmma_sp_bf16);

}  // namespace
