// Parse and print of a module like those that compilers make, against memcpy of the same bytes.

#include <benchmark/benchmark.h>

#include <string>

#include "compiler_module.hpp"
#include "ptxgraft/syntax.hpp"

namespace {

using namespace ptxgraft;
using namespace ptxgraft::bench;

// The module takes the text over; making the string that it takes is not parsing.
void BM_SyntaxParse(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    std::string given;
    auto module = syntax::parse(text);
    against_memcpy(
        state, text, [&] { given = text; },
        [&] { module = syntax::parse(std::move(given), std::move(*module)); });
    state.counters["tree_bytes_per_byte"] =
        static_cast<double>(module->memory()) / static_cast<double>(text.size());
}

// Without the memory of an earlier module: the pages of the tree are new.
void BM_SyntaxParseFirst(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    std::string given;
    auto module = syntax::parse({});
    against_memcpy(
        state, text,
        [&] {
            given = text;
            module = syntax::parse({});
        },
        [&] { module = syntax::parse(std::move(given)); });
}

void BM_SyntaxPrint(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    const auto module = syntax::parse(text);
    std::string printed;
    against_memcpy(
        state, text, [] {}, [&] { printed = syntax::print(*module); });
    if (printed != text) state.SkipWithError("the print differs from the text");
}

// The view of every instruction: strings and operands are made and dropped.
void BM_SyntaxInstructions(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    const auto module = syntax::parse(text);
    std::size_t operands = 0;
    against_memcpy(
        state, text, [] {},
        [&] {
            for (const syntax::Statement& function : module->functions())
                for (const syntax::Statement& s : function.body_recursive())
                    if (const auto i = s.instruction()) operands += i->operands.size();
        });
    benchmark::DoNotOptimize(operands);
}

// Every name of the module bound to its declaration.
void BM_SyntaxNames(benchmark::State& state) {
    const std::string text = module_of(static_cast<std::size_t>(state.range(0)));
    const auto module = syntax::parse(text);
    syntax::Names names(*module);
    against_memcpy(
        state, text, [] {}, [&] { names = syntax::Names(*module); });
}

constexpr std::int64_t small = 100 << 10, compiler_module = 14 << 20;
BENCHMARK(BM_SyntaxParse)->Arg(small)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SyntaxParseFirst)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SyntaxPrint)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SyntaxInstructions)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(BM_SyntaxNames)->Arg(4 << 20)->Arg(compiler_module)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
