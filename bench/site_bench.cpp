// Scan and render of annotated PTX: bytes a second, and the ratio to memcpy of the same bytes in the same
// run.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <limits>

#include "ptxgraft/site.hpp"

namespace {

using namespace ptxgraft;

constexpr std::string_view instruction =
    "\tfma.rn.f32 \t%f1024, %f1023, %f1022, %f1021;\n\tld.shared.v4.f32 \t{%f1, %f2, %f3, %f4}, "
    "[%r17+128];\n";
constexpr std::string_view stub = "\tadd.f32 _acc, _acc, _bias;\n\tmax.f32 _acc, _acc, 0f00000000;\n";

std::string copy_of(std::size_t site) {
    return "\t// begin inline asm\n\t{ // PTXGRAFT_SITE site_" + std::to_string(site) +
           "\n\t.reg .f32 _acc; // mod f32 acc\n\tmov.b32 _acc, %f5;\n\t.reg .f32 _bias; // in f32 "
           "bias\n\tmov.b32 _bias, %f6;\n"
           "\t// PTXGRAFT_STUB\n\tadd.f32 _acc, _acc, _bias;\n\t// PTXGRAFT_END\n\tmov.b32 %f5, "
           "_acc;\n\t}\n\t// end inline asm\n";
}

// A module of about `bytes` bytes with `copies` copies of `sites` sites, evenly spread.
std::string module_of(std::size_t bytes, std::size_t copies, std::size_t sites) {
    std::string ptx =
        ".version 8.0\n.target sm_90a\n.address_size 64\n\n.visible .entry kernel(\n\t.param .u64 "
        "kernel_param_0\n)\n{\n";
    for (std::size_t copy = 0; copy < copies; ++copy) {
        while (ptx.size() < bytes / copies * copy) ptx += instruction;
        ptx += copy_of(copy % sites);
    }
    while (ptx.size() < bytes) ptx += instruction;
    return ptx + "\tret;\n}\n";
}

// CPU time, as the ratio below is of CPU times.
double seconds_of_memcpy(std::string_view text) {
    std::string target(text.size(), ' ');
    double best = std::numeric_limits<double>::max();
    for (int i = 0; i < 9; ++i) {
        const std::clock_t begin = std::clock();
        std::memcpy(target.data(), text.data(), text.size());
        benchmark::DoNotOptimize(target.data());
        benchmark::ClobberMemory();
        best = std::min(best, static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC);
    }
    return best;
}

void report(benchmark::State& state, std::size_t bytes, double memcpy_seconds) {
    state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * bytes));
    // Inverted rate: seconds an iteration, over those of memcpy.
    state.counters["x_memcpy"] =
        benchmark::Counter(static_cast<double>(state.iterations()) * memcpy_seconds,
                           benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void BM_SiteScan(benchmark::State& state) {
    const std::string ptx =
        module_of(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
                  static_cast<std::size_t>(state.range(2)));
    const double memcpy_seconds = seconds_of_memcpy(ptx);
    for (auto _ : state) benchmark::DoNotOptimize(scan(ptx));
    report(state, ptx.size(), memcpy_seconds);
}
BENCHMARK(BM_SiteScan)
    ->ArgNames({"bytes", "copies", "sites"})
    ->Args({1 << 20, 8, 1})
    ->Args({20 << 20, 8, 1})
    ->Args({20 << 20, 128, 2})
    ->Args({20 << 20, 4096, 64})
    ->Args({20 << 20, 10000, 10000})
    ->Args({20 << 20, 40000, 40000})
    ->Unit(benchmark::kMillisecond);

void BM_SiteRender(benchmark::State& state) {
    const std::string ptx =
        module_of(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)),
                  static_cast<std::size_t>(state.range(2)));
    const Sites sites = scan(ptx).value();
    std::vector<Replacement> replacements;
    for (const Site& site : sites.sites) replacements.push_back({site.name, stub});
    std::string out = render(ptx, sites, replacements).value();
    const double memcpy_seconds = seconds_of_memcpy(out);
    for (auto _ : state) benchmark::DoNotOptimize(render_to(out, ptx, sites, replacements));
    report(state, out.size(), memcpy_seconds);
}
BENCHMARK(BM_SiteRender)
    ->ArgNames({"bytes", "copies", "sites"})
    ->Args({1 << 20, 128, 2})
    ->Args({20 << 20, 128, 2})
    ->Args({20 << 20, 4096, 64})
    ->Args({20 << 20, 40000, 40000})
    ->Unit(benchmark::kMillisecond);

}  // namespace
