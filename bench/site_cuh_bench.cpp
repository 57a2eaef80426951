// What marking costs when a skeleton is compiled: 256 sites of 4 operands under NVRTC, with the macro of
// site.cuh, against the same inline asm written by hand. CPU time, because NVRTC works
// on one thread and other programs do not.
#include <benchmark/benchmark.h>
#include <nvrtc.h>

#include <algorithm>
#include <ctime>
#include <limits>
#include <string>

namespace {

constexpr int sites = 256;

std::string by_macro(const std::string& i) {
    return "PTXGRAFT_SITE(\"site_" + i +
           "\", \"add.f32 _acc, _acc, _bias;\", mod(f32, acc), in(f32, bias, bias[col + " + i +
           "]), in(u32, row), in(u32, col));\n";
}

std::string by_hand(const std::string& i) {
    return "asm volatile(\"{ // PTXGRAFT_SITE site_" + i +
           "\\n\\t.reg .f32 _acc; // mod f32 acc\\n\\tmov.b32 _acc, %0;\\n\\t.reg .f32 _bias; // in f32 "
           "bias\\n\\tmov.b32 _bias, %1;"
           "\\n\\t.reg .u32 _row; // in u32 row\\n\\tmov.b32 _row, %2;\\n\\t.reg .u32 _col; // in u32 "
           "col\\n\\tmov.b32 _col, %3;"
           "\\n\\t// PTXGRAFT_STUB\\n\\tadd.f32 _acc, _acc, _bias;\\n\\t// PTXGRAFT_END\\n\\tmov.b32 %0, "
           "_acc;\\n\\t}\""
           " : \"+f\"(acc) : \"f\"(bias[col + " +
           i + "]), \"r\"(row), \"r\"(col));\n";
}

std::string kernel(const std::string& include, std::string (*site)(const std::string&)) {
    std::string source = include +
                         "extern \"C\" __global__ void kernel(float* p, const float* bias) {\n"
                         "unsigned row = threadIdx.x, col = threadIdx.y;\nfloat acc = p[row];\n";
    for (int i = 0; i < sites; ++i) source += site(std::to_string(i));
    return source + "p[row] = acc;\n}\n";
}

bool compile(const std::string& source) {
    nvrtcProgram program = nullptr;
    nvrtcCreateProgram(&program, source.c_str(), "kernel.cu", 0, nullptr, nullptr);
    const char* const options[] = {"-arch=sm_90", "-I" PTXGRAFT_BINARY_DIR "/include"};
    const bool okay = nvrtcCompileProgram(program, 2, options) == NVRTC_SUCCESS;
    nvrtcDestroyProgram(&program);
    return okay;
}

double seconds_of(const std::string& source) {
    const std::clock_t begin = std::clock();
    compile(source);
    return static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
}

void BM_SiteMacroUnderNvrtc(benchmark::State& state) {
    const std::string macro = kernel("#include <ptxgraft/site.cuh>\n", by_macro), hand = kernel("", by_hand);
    if (!compile(macro) || !compile(hand)) return state.SkipWithError("the kernel does not compile");
    double macro_seconds = std::numeric_limits<double>::max(), hand_seconds = macro_seconds;
    for (auto _ : state) {
        // In turn, the fastest of each: what is left of other programs' disturbance hits both alike.
        hand_seconds = std::min(hand_seconds, seconds_of(hand));
        macro_seconds = std::min(macro_seconds, seconds_of(macro));
    }
    state.counters["macro_ms"] = macro_seconds * 1e3;
    state.counters["hand_ms"] = hand_seconds * 1e3;
    state.counters["x_hand"] = macro_seconds / hand_seconds;
}
BENCHMARK(BM_SiteMacroUnderNvrtc)->MinTime(3.0)->Unit(benchmark::kMillisecond);

}  // namespace
