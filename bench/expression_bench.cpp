// Expressions to stubs: an expression of N operations, from its text to checked PTX in a Stub, for a site
// seen before. `memcpy` is the time of copying the output, measured in the same run.

#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "measure.hpp"
#include "ptxgraft/expression.hpp"

namespace {

using namespace ptxgraft;

using bench::memcpy_seconds, bench::seconds;

const Signature& signature() {
    static const Signature s = *Signature::parse("mod f32 acc, in f32 bias, in f32 scale, in s32 col");
    return s;
}

// `operations` of them: arithmetic, functions, comparisons, a cast.
std::string text_of(std::int64_t operations) {
    constexpr const char* parts[] = {" + bias", " * scale", " - max(bias, 0.5)",
                                     " + (bias < 0 ? scale : 1.5)", " / f32(col)"};
    constexpr int counts[] = {1, 1, 2, 3, 2};
    std::string text = "acc = acc";
    std::int64_t done = 0;
    for (std::size_t i = 0; done < operations; i = (i + 1) % std::size(parts)) {
        text += parts[i];
        done += counts[i];
    }
    return text;
}

void report(benchmark::State& state, double units, std::string_view output, double spent) {
    bench::report(state, "ns_per_operation", units, output, spent);
}

void BM_ExpressionToStub(benchmark::State& state) {
    const std::string text = text_of(state.range(0));
    std::string output;
    const double start = seconds();
    for (auto _ : state) {
        auto stub = compile_expression(text, signature());
        if (!stub) {
            state.SkipWithError(describe(stub.error(), text).c_str());
            return;
        }
        benchmark::DoNotOptimize(stub);
        if (output.empty()) output = stub->ptx();
    }
    report(state, static_cast<double>(state.range(0)), output, seconds() - start);
}
BENCHMARK(BM_ExpressionToStub)->Arg(2)->Arg(20)->Arg(200)->Arg(2000);

// The program alone, without its PTX.
void BM_ExpressionToProgram(benchmark::State& state) {
    const std::string text = text_of(state.range(0));
    const auto machine = stack::Machine::make(expression_set(), signature());
    std::size_t size = 0;
    const double start = seconds();
    for (auto _ : state) {
        const auto program = parse_expression(text, *machine);
        if (program) size = program->code.size();
        benchmark::DoNotOptimize(size);
    }
    state.counters["instructions"] = static_cast<double>(size);
    state.counters["ns_per_operation"] = (seconds() - start) / static_cast<double>(state.iterations()) /
                                         static_cast<double>(state.range(0)) * 1e9;
}
BENCHMARK(BM_ExpressionToProgram)->Arg(20)->Arg(200);

// Functions that are sequences of instructions.
void BM_ExpressionOfSequences(benchmark::State& state) {
    const std::string text = "acc = sigmoid(acc) * tanh(bias) + exp(scale)";
    std::string output;
    const double start = seconds();
    for (auto _ : state) {
        auto stub = compile_expression(text, signature());
        benchmark::DoNotOptimize(stub);
        if (stub && output.empty()) output = stub->ptx();
    }
    if (!output.empty()) report(state, 5, output, seconds() - start);
}
BENCHMARK(BM_ExpressionOfSequences);

}  // namespace
