// Searches: candidates a second without a gate, with a screen of 64 points, with 4,096 points, into an
// archive, and on two threads beside one; what a surrogate's guess costs, and a batch of results that it
// learns.
#include <benchmark/benchmark.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
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

}  // namespace
}  // namespace ptxgraft::search
