// What assembling in a worker costs beside assembling in process, and what several workers and the worker's
// malloc settings gain. Wall-clock time: the work is another process's.
#include <algorithm>
#include <chrono>
#include <future>
#include <string>
#include <vector>

#include "base/keep_memory.hpp"
#include "measure.hpp"
#include "ptxgraft/ptxgraft.hpp"

namespace ptxgraft::bench {
namespace {

// The fastest of each, in milliseconds.
class Fastest {
  public:
    template <class Work> bool take(Work work) {
        const auto begin = std::chrono::steady_clock::now();
        const bool is_good = work();
        const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - begin;
        milliseconds_ = std::min(milliseconds_, time.count());
        return is_good;
    }
    [[nodiscard]] double milliseconds() const { return milliseconds_; }

  private:
    double milliseconds_ = 1e9;
};

// A kernel of the templates: 0 the smallest, 1 a GEMM.
std::string module(benchmark::State& state) {
    const char* const files[] = {"/templates/elementwise/simple.cu", "/templates/gemm/simt.cu"};
    const char* const file = files[state.range(0)];
    state.SetLabel(file);
    const auto skeleton = Skeleton::from_file(std::string(PTXGRAFT_SOURCE_DIR) + file, {.target = "sm_90a"});
    return skeleton ? skeleton->ptx() : "";
}

void BM_InProcessAndInAWorker(benchmark::State& state) {
    const auto pool = worker_pool({.workers = 1});
    const std::string ptx = module(state);
    if (!pool || ptx.empty()) return state.SkipWithError("there is no pool or no module");
    Fastest in_process, in_worker;
    for (auto _ : state) {
        const bool is_good = in_process.take([&] { return default_assembler().assemble(ptx).has_value(); }) &&
                             in_worker.take([&] { return (*pool)->assemble(ptx).has_value(); });
        if (!is_good) return state.SkipWithError("an assembly failed");
    }
    state.counters["in_process_ms"] = in_process.milliseconds();
    state.counters["worker_ms"] = in_worker.milliseconds();
    state.counters["x_worker"] = in_process.milliseconds() / in_worker.milliseconds();
}
BENCHMARK(BM_InProcessAndInAWorker)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

// As many threads as workers assemble 8 modules each.
bool assemble_many(const Assembler& pool, const std::string& ptx, int workers) {
    std::vector<std::future<bool>> all;
    for (int i = 0; i < workers; ++i)
        all.push_back(std::async(std::launch::async, [&] {
            bool is_good = true;
            for (int k = 0; k < 8; ++k) is_good = pool.assemble(ptx).has_value() && is_good;
            return is_good;
        }));
    return std::ranges::all_of(all, [](auto& one) { return one.get(); });
}

void BM_Workers(benchmark::State& state) {
    const auto pool = worker_pool({.workers = 2});
    const std::string ptx = module(state);
    if (!pool || ptx.empty()) return state.SkipWithError("there is no pool or no module");
    Fastest one, two;
    for (auto _ : state)
        if (!one.take([&] { return assemble_many(**pool, ptx, 1); }) ||
            !two.take([&] { return assemble_many(**pool, ptx, 2); }))
            return state.SkipWithError("an assembly failed");
    state.counters["one_ms"] = one.milliseconds() / 8;
    state.counters["two_ms"] = two.milliseconds() / 16;
    state.counters["x_two"] = 2 * one.milliseconds() / two.milliseconds();
}
BENCHMARK(BM_Workers)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond)->UseRealTime();

void BM_StartOfAWorker(benchmark::State& state) {
    for (auto _ : state)
        if (!worker_pool({.workers = 1})) return state.SkipWithError("there is no pool");
}
BENCHMARK(BM_StartOfAWorker)->Unit(benchmark::kMillisecond)->UseRealTime();

void assemble_in_process(benchmark::State& state) {
    const std::string ptx = module(state);
    Fastest fastest;
    for (auto _ : state)
        if (!fastest.take([&] { return default_assembler().assemble(ptx).has_value(); }))
            return state.SkipWithError("an assembly failed");
    state.counters["fastest_ms"] = fastest.milliseconds();
}

// In this process with malloc as it is, and then, for good, as a worker sets it: these rows stand last.
void BM_MallocAsItIs(benchmark::State& state) { assemble_in_process(state); }
BENCHMARK(BM_MallocAsItIs)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

void BM_MallocOfAWorker(benchmark::State& state) {
    keep_memory();
    assemble_in_process(state);
}
BENCHMARK(BM_MallocOfAWorker)->Arg(0)->Arg(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace ptxgraft::bench
