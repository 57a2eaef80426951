// Searches: candidates a second without a gate, with a screen of 64 points, with 4,096 points, into an
// archive, and on two threads beside one; what a surrogate's guess costs, and a batch of results that it
// learns.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "base/keep_memory.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
#include "ptxgraft/search_gates.hpp"
#include "search/surrogate/surrogate.hpp"

namespace ptxgraft::search {
namespace {

// Of the clock on the wall: two threads are compared with one.
double seconds() {
    return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

Space space_of() {
    const auto set = stack::InstructionSet::parse(
        "add.f32\nsub.f32\nmul.f32\nfma.rn.f32\nmin.f32\nmax.f32\nneg.f32\nabs.f32\n");
    const auto machine = stack::Machine::make(*set, *Signature::parse("in f32 x, out f32 y"));
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 32});
    return space;
}

Cases cases_of(std::size_t count) {
    Cases cases{.count = count, .bound = 1e-6};
    std::vector<float> x;
    cases.right.resize(2);
    for (std::size_t k = 0; k < count; ++k) {
        x.push_back(-4 + 8 * static_cast<float>(k) / static_cast<float>(count - 1));
        cases.right[1].push_back(std::tanh(x.back()));
    }
    cases.inputs.resize(2);
    cases.inputs[0].resize(4 * count);
    std::memcpy(cases.inputs[0].data(), x.data(), 4 * count);
    return cases;
}

// Judges nothing: every candidate is as wrong as its index says.
struct NoGate final : Gate {
    [[nodiscard]] std::string_view name() const override { return "none"; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            results[k]->status = Status::infeasible;
            results[k]->errors = {static_cast<float>(candidates[k]->key.structure % 1000)};
        }
    }
};

const std::vector<Axis> axes = {{"instructions", {1, 2, 3, 4, 5, 6, 8, 10, 12, 16}}};

// Genomes drawn, and candidates judged, a second.
struct Rate {
    double drawn = 0, judged = 0;
};
Rate rate_of(Gate& gate, std::uint64_t candidates, std::uint32_t threads, const std::string& archive = {}) {
    auto search = Search::open(archive, space_of(), {.seed = 1, .axes = axes});
    if (!search) return {};
    Gate* const gates[] = {&gate};
    const double begin = seconds();
    const auto summary = search->run(gates, {.budget = {.candidates = candidates}, .threads = threads});
    const double spent = seconds() - begin;
    if (!summary) return {};
    return {static_cast<double>(search->ledger().drawn) / spent,
            static_cast<double>(summary->judged) / spent};
}

void BM_Draw(benchmark::State& state) {
    NoGate gate;
    for (auto _ : state) {
        const Rate rate = rate_of(gate, 200'000, 1);
        state.counters["drawn_per_s"] = rate.drawn;
        state.counters["judged_per_s"] = rate.judged;
    }
}
BENCHMARK(BM_Draw)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_Columns(benchmark::State& state) {
    const auto gate = columns(space_of(), cases_of(static_cast<std::size_t>(state.range(0))));
    for (auto _ : state) {
        const Rate rate = rate_of(**gate, 100'000, 1);
        state.counters["drawn_per_s"] = rate.drawn;
        state.counters["judged_per_s"] = rate.judged;
    }
}
BENCHMARK(BM_Columns)->Arg(64)->Arg(4096)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_TwoThreads(benchmark::State& state) {
    const auto gate = columns(space_of(), cases_of(64));
    for (auto _ : state) {
        const Rate one = rate_of(**gate, 100'000, 1), two = rate_of(**gate, 100'000, 2);
        state.counters["x_two"] = two.judged / one.judged;
    }
}
BENCHMARK(BM_TwoThreads)->Unit(benchmark::kMillisecond)->Iterations(1);

void BM_Archive(benchmark::State& state) {
    NoGate gate;
    const std::string path = std::string(PTXGRAFT_BINARY_DIR) + "/search_bench.sqlite";
    for (auto _ : state) {
        for (const char* ending : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + ending);
        const Rate rate = rate_of(gate, 100'000, 1, path);
        state.counters["rows_per_s"] = rate.judged;
        state.counters["bytes_per_row"] = static_cast<double>(std::filesystem::file_size(path)) / 100'000;
    }
}
BENCHMARK(BM_Archive)->Unit(benchmark::kMillisecond)->Iterations(1);

std::vector<Candidate> random_candidates(const Space& space, std::size_t count) {
    std::vector<Candidate> made(count);
    for (std::size_t k = 0; k < count; ++k)
        made[k].genome.programs.push_back(stack::random_program(space.sites[0].machine, k, 32));
    return made;
}

// Of programs of some 32 instructions, 1,024 at once; with 0 ridge, with 1 boosted trees.
void BM_Surrogate(benchmark::State& state) {
    const auto model = state.range(0) == 0 ? SurrogateModel::ridge : SurrogateModel::boosted_trees;
    if (model == SurrogateModel::boosted_trees && boosted_trees() == nullptr)
        state.SetLabel("there is no libxgboost.so: ridge");
    const Space space = space_of();
    const std::vector<Candidate> candidates = random_candidates(space, 1024);
    std::vector<const Candidate*> all;
    std::vector<double> values;
    for (const Candidate& candidate : candidates) {
        all.push_back(&candidate);
        values.push_back(static_cast<double>(candidate.genome.programs[0].code.size()));
    }
    Surrogate surrogate = Surrogate::make(space, {.model = model});
    const double begin = seconds();
    if (!surrogate.learn(all, values)) return state.SkipWithError("it did not learn");
    const double learnt = seconds() - begin;
    for (auto _ : state) benchmark::DoNotOptimize(surrogate.predict(all));
    state.counters["guesses_per_s"] = benchmark::Counter(1024, benchmark::Counter::kIsIterationInvariantRate);
    state.counters["ms_to_learn_1024"] = learnt * 1e3;
}
BENCHMARK(BM_Surrogate)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

// ---- gates of whole kernels, on one thread ----------------------------------------------------------------

// A template's kernel, and candidates of one of its sites that differ in a constant.
struct KernelSpace {
    Space space;
    std::optional<Workloads> kernels;
    std::vector<Candidate> candidates;
};
KernelSpace kernel_space(std::string_view workload_text, std::string_view site, std::string_view program,
                         int count) {
    const auto workload = measure::Workload::parse(workload_text);
    const auto set = stack::InstructionSet::parse("add.f32\nmul.f32\nmax.f32\n");
    const auto machine = stack::Machine::make(*set, *workload->skeleton().site(site));
    KernelSpace made;
    made.space.sites.push_back(
        {.name = std::string(site), .machine = *machine, .seeds = {}, .max_genes = 32});
    made.kernels = *Workloads::make(made.space, *workload);
    for (int k = 0; k < count; ++k) {
        std::string text(program);
        text.replace(text.find('#'), 1, "1." + std::to_string(1000 + k));
        Candidate candidate;
        candidate.index = static_cast<std::uint64_t>(k);
        candidate.genome.programs.push_back(*stack::parse(text, *machine));
        made.candidates.push_back(std::move(candidate));
    }
    return made;
}

// Of all threads of this process: other processes do not count, nor is anything assembled elsewhere.
double cpu_seconds() {
    timespec now{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Candidates a second of one core, so many at once.
void judge_all(benchmark::State& state, Gate& gate, const std::vector<Candidate>& candidates,
               std::size_t at_once) {
    std::size_t judged = 0, right = 0;
    double spent = 0;
    for (auto _ : state) {
        const double begin = cpu_seconds();
        for (std::size_t first = 0; first < candidates.size(); first += at_once) {
            const std::size_t count = std::min(at_once, candidates.size() - first);
            std::vector<Result> results(count);
            std::vector<const Candidate*> in;
            std::vector<Result*> out;
            for (std::size_t k = 0; k < count; ++k) {
                in.push_back(&candidates[first + k]);
                out.push_back(&results[k]);
            }
            gate.evaluate(in, out);
            for (const Result& result : results) right += result.status == Status::ok ? 1 : 0;
        }
        judged += candidates.size();
        spent += cpu_seconds() - begin;
    }
    state.counters["candidates_per_s"] = static_cast<double>(judged) / spent;
    state.counters["x_right"] = static_cast<double>(right) / static_cast<double>(judged);
}

constexpr std::string_view element = R"json({"template": "elementwise/simple", "shapes": [{"n": 64}]})json";

void BM_Assembly(benchmark::State& state) {
    keep_memory();  // as the program does
    const bool is_linked = state.range(0) != 0;
    const KernelSpace made =
        kernel_space(element, "function", "x # mul.f32 x add.f32 -> y", is_linked ? 512 : 128);
    const auto gate = assembly(
        made.space, *made.kernels,
        {.routes = {.route = is_linked ? Route::link : Route::inlined}, .batch = is_linked ? 32u : 1u});
    judge_all(state, **gate, made.candidates, 32);
}
BENCHMARK(BM_Assembly)->ArgName("linked")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(1);

// A small norm: 128 threads, two rows of 132 elements, one case.
void BM_Emulation(benchmark::State& state) {
    const KernelSpace made = kernel_space(
        R"json({"template": "norm/rms", "choices": {"type": "f32", "threads": 128},
            "shapes": [{"rows": 2, "columns": 132}], "regimes": ["usual"], "relative": 1})json",
        "epilogue", "y weight mul.f32 # mul.f32 -> y", 512);
    const auto gate = emulation(made.space, *made.kernels, {.fast = state.range(0) != 0});
    judge_all(state, **gate, made.candidates, 16);
}
BENCHMARK(BM_Emulation)->ArgName("fast")->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->Iterations(3);

}  // namespace
}  // namespace ptxgraft::search
