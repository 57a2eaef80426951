// verify of a module like those that compilers make, against memcpy of the same bytes.

#include <benchmark/benchmark.h>

#include <string>

#include "compiler_module.hpp"
#include "ptxgraft/isa.hpp"

namespace {

using namespace ptxgraft;
using namespace ptxgraft::bench;

// The module is parsed already: this is the check alone.
void BM_IsaVerify(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    const auto module = syntax::parse(text);
    std::vector<Error> findings;
    against_memcpy(
        state, text, [] {}, [&] { findings = isa::verify(*module); });
    if (!findings.empty()) state.SkipWithError(describe(findings.front(), text).c_str());
}

constexpr std::int64_t small = 100 << 10, compiler_module = 14 << 20;
BENCHMARK(BM_IsaVerify)->Arg(small)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
