// Programs over columns on the CPU: operations a second, beside memcpy in the same run.
#include <benchmark/benchmark.h>

#include <cstring>
#include <string>
#include <vector>

#include "measure.hpp"
#include "ptxgraft/evaluate.hpp"

namespace ptxgraft {
namespace {

constexpr std::size_t points = 4096;

// 32 live instructions, as a search over f32 programs makes them, and the like of other types.
constexpr const char* programs[] = {
    "x y add.f32 z mul.f32 x y z fma.rn.f32 sub.f32 y max.f32 dup.f32 x mul.f32 y add.f32 z 2.5 fma.rn.f32 x "
    "add.f32 y max.f32 z mul.f32 x sub.f32 0.5 mul.f32 y add.f32 "
    "dup.f32 z fma.rn.f32 1.25 x fma.rn.f32 y min.f32 x add.f32 z mul.f32 y sub.f32 3.0 max.f32 x y "
    "fma.rn.f32 z add.f32 y mul.f32 x sub.f32 z max.f32 0.75 mul.f32 y add.f32 "
    "x z fma.rn.f32 -> acc",
    "n m add.u32 n mul.lo.u32 m xor.b32 n m 7 mad.lo.u32 sub.u32 m and.b32 n or.b32 3 shl.b32 m add.u32 n "
    "min.u32 m max.u32 n xor.b32 5 mul.lo.u32 m sub.u32 n add.u32 "
    "m n mad.lo.u32 11 shr.u32 n add.u32 m xor.b32 n and.b32 m or.b32 9 add.u32 n mul.lo.u32 m sub.u32 n "
    "max.u32 m min.u32 n add.u32 m xor.b32 2 shl.b32 n add.u32 m sub.u32 -> c",
};
constexpr const char* names[] = {"f32", "u32"};

using bench::seconds;

// Seconds of copying as many bytes as the columns that the programs read and write have.
double copy_seconds() {
    constexpr std::size_t bytes = 4 * sizeof(float) * points, rounds = 20000;
    std::vector<std::byte> from(bytes), to(bytes);
    const double begin = seconds();
    for (std::size_t i = 0; i < rounds; ++i) {
        std::memcpy(to.data(), from.data(), bytes);
        benchmark::DoNotOptimize(to.data());
        benchmark::ClobberMemory();
    }
    return (seconds() - begin) / rounds;
}

void BM_Evaluate(benchmark::State& state) {
    const auto which = static_cast<std::size_t>(state.range(0));
    const Signature signature =
        *Signature::parse("in f32 x, in f32 y, in f32 z, in u32 n, in u32 m, mod f32 acc, mod u32 c");
    const auto machine = stack::Machine::make(stack::find_set("full"), signature);
    const auto program = machine ? stack::parse(programs[which], *machine) : tl::unexpected(machine.error());
    if (!program) return state.SkipWithError(describe(program.error(), programs[which]).c_str());
    const auto evaluator = stack::Evaluator::make(*program, *machine);
    if (!evaluator) return state.SkipWithError(describe(evaluator.error(), programs[which]).c_str());
    std::vector<std::vector<float>> columns(7, std::vector<float>(points));
    for (std::size_t c = 0; c < columns.size(); ++c)
        for (std::size_t i = 0; i < points; ++i)
            columns[c][i] = static_cast<float>(static_cast<int>((i * 37 + c * 11) % 257) - 128) / 32.0f;
    std::vector<const void*> in;
    std::vector<void*> out;
    for (auto& column : columns) in.push_back(column.data()), out.push_back(column.data());
    std::vector<float> results(points);
    out[5] = out[6] = nullptr;
    out[which == 0 ? 5 : 6] = results.data();
    const double begin = seconds();
    for (auto _ : state) {
        evaluator->run({in, out, points});
        benchmark::DoNotOptimize(results.data());
        benchmark::ClobberMemory();
    }
    const double spent = (seconds() - begin) / static_cast<double>(state.iterations());
    state.SetLabel(names[which]);
    state.counters["instructions"] = evaluator->instruction_count();
    state.counters["operations"] =
        benchmark::Counter(static_cast<double>(evaluator->instruction_count()) * points,
                           benchmark::Counter::kIsIterationInvariantRate);
    state.counters["ratio_to_memcpy"] = spent / copy_seconds();
}
BENCHMARK(BM_Evaluate)->DenseRange(0, 1);

// Programs as a search makes them: 2^x for x <= 0 as FlashAttention-4 computes it, and the first one above.
struct Candidate {
    const char* name;
    const char* program;
};
constexpr Candidate candidates[] = {
    {"exp2",
     "x -127.0 max.f32 store.f32 0 load.f32 0 12582912.0 add.rm.f32 store.f32 1 "
     "load.f32 0 load.f32 1 12582912.0 sub.f32 sub.f32 store.f32 2 "
     "0.07711909 load.f32 2 0.22756439 fma.rn.f32 load.f32 2 0.69514614 fma.rn.f32 load.f32 2 1.0 "
     "fma.rn.f32 as.u32.f32 load.f32 1 as.u32.f32 23 shl.b32 add.u32 as.f32.u32 -> acc"},
    {"f32", programs[0]},
};

// Seconds of what is called many times.
template <class F> double seconds_of(F f) {
    constexpr int rounds = 20000;
    const double begin = seconds();
    for (int i = 0; i < rounds; ++i) f();
    return (seconds() - begin) / rounds;
}

// Making a program ready in an evaluator that is kept, beside compiling it to text in the same run.
void BM_EvaluatorPrepare(benchmark::State& state) {
    const Candidate& candidate = candidates[state.range(0)];
    const Signature signature =
        *Signature::parse("in f32 x, in f32 y, in f32 z, in u32 n, in u32 m, mod f32 acc, mod u32 c");
    const auto machine = *stack::Machine::make(stack::find_set("full"), signature);
    const auto program = stack::parse(candidate.program, machine);
    if (!program) return state.SkipWithError(describe(program.error(), candidate.program).c_str());
    stack::Evaluator evaluator;
    const double begin = seconds();
    for (auto _ : state) benchmark::DoNotOptimize(evaluator.prepare(*program, machine));
    const double spent = (seconds() - begin) / static_cast<double>(state.iterations());
    stack::Compiler compiler;
    state.SetLabel(candidate.name);
    state.counters["instructions"] = evaluator.instruction_count();
    state.counters["ratio_to_compile"] =
        spent / seconds_of([&] { benchmark::DoNotOptimize(compiler.compile(*program, machine)); });
}
BENCHMARK(BM_EvaluatorPrepare)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);

// Single forms over columns: nanoseconds of a point, and how many of an fma in the same run.
constexpr const char* forms[] = {
    "fma.rn.f32",     "add.rn.f32",         "add.rm.f32",       "mul.rz.f32",      "fma.rp.f32",
    "ex2.approx.f32", "ex2.approx.ftz.f32", "lg2.approx.f32",   "tanh.approx.f32", "sin.approx.f32",
    "cos.approx.f32", "rcp.approx.f32",     "rsqrt.approx.f32", "sqrt.approx.f32", "div.approx.f32"};

struct FormRun {
    std::vector<float> x, y;
    stack::Evaluator evaluator;

    explicit FormRun(std::string_view form) : x(points), y(points) {
        const auto machine =
            *stack::Machine::make(stack::find_set("full"), *Signature::parse("in f32 x, out f32 y"));
        const std::string_view opcode = form.substr(0, form.find('.'));
        const std::size_t inputs = opcode == "fma"                                         ? 3
                                   : opcode == "add" || opcode == "mul" || opcode == "div" ? 2
                                                                                           : 1;
        std::string program;
        for (std::size_t k = 0; k < inputs; ++k) program += "x ";
        program += std::string(form) + " -> y";
        evaluator = *stack::Evaluator::make(*stack::parse(program, machine), machine);
        for (std::size_t i = 0; i < points; ++i) x[i] = static_cast<float>(i % 1021) / 64.0f + 0.01f;
    }
    void run(const stack::RunOptions& options = {}) {
        const void* const in[] = {x.data(), nullptr};
        void* const out[] = {nullptr, y.data()};
        evaluator.run({in, out, points}, options);
        benchmark::DoNotOptimize(y.data());
        benchmark::ClobberMemory();
    }
};

void BM_EvaluateForm(benchmark::State& state) {
    const char* const form = forms[state.range(0)];
    const stack::RunOptions options{
        state.range(1) == 0 ? stack::Approximation::exact : stack::Approximation::hashed, 1};
    FormRun measured(form), fma("fma.rn.f32");
    const double begin = seconds();
    for (auto _ : state) measured.run(options);
    const double spent = (seconds() - begin) / static_cast<double>(state.iterations());
    state.SetLabel(std::string(form) + (state.range(1) == 0 ? "" : ", at edges"));
    state.counters["ns_per_point"] = spent / points * 1e9;
    state.counters["ratio_to_fma"] = spent / seconds_of([&] { fma.run(); });
}
BENCHMARK(BM_EvaluateForm)->ArgsProduct({benchmark::CreateDenseRange(0, std::size(forms) - 1, 1), {0}});
BENCHMARK(BM_EvaluateForm)->ArgsProduct({benchmark::CreateDenseRange(5, std::size(forms) - 1, 1), {1}});

}  // namespace
}  // namespace ptxgraft
