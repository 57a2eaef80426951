// From a stub to machine code, by route, in batches and out of a cache; beside whole assembly in the same
// run.
#include <algorithm>
#include <array>
#include <chrono>
#include <ctime>
#include <filesystem>
#include <limits>
#include <optional>
#include <random>
#include <set>
#include <string_view>

#include "measure.hpp"
#include "ptxgraft/ptxgraft.hpp"

namespace ptxgraft::bench {
namespace {

struct Case {
    const char *file, *site;
};
constexpr std::array cases{Case{"elementwise/simple.cu", "function"}, Case{"gemm/simt.cu", "epilogue"}};

// A stub of that many instructions, none like another.
Stub stub_of(const Site& site, std::int64_t instructions, unsigned seed,
             stack::Constants constants = stack::Constants::literals) {
    std::mt19937 random(seed);
    const auto readable = std::ranges::find_if(site.signature.operands, [](const SiteOperand& o) {
        return o.type == Type::f32 && o.direction != Direction::out;
    });
    const auto writable = std::ranges::find_if(site.signature.operands, [](const SiteOperand& o) {
        return o.type == Type::f32 && o.direction != Direction::in;
    });
    std::string text = readable->name;
    for (std::int64_t i = 0; i < instructions; ++i)
        text += " " + std::to_string(1 + random() % 1000) + "." + std::to_string(random() % 1000) +
                (i % 2 == 0 ? " add.f32" : " mul.f32");
    return *stack::compile(text + " -> " + writable->name, site,
                           {.compile = {.hash = true, .constants = constants}});
}

using Candidates = std::vector<std::vector<Graft>>;
Candidates candidates_of(const Case& of, const Skeleton& skeleton, std::int64_t instructions, unsigned count,
                         unsigned seed) {
    Candidates all;
    for (unsigned i = 0; i < count; ++i)
        all.push_back({{of.site, stub_of(*skeleton.site(of.site), instructions, seed * 1000 + i)}});
    return all;
}

Expected<Skeleton> skeleton_of(const Case& of) {
    return Skeleton::from_file(std::string(PTXGRAFT_SOURCE_DIR "/templates/") + of.file,
                               {.target = "sm_90a"});
}

// Seconds on the clock: helpers work beside the calling thread.
template <class Work> double time_of(Work work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

// Of the processor: what one thread does, whoever else is there.
template <class Work> double processor_time_of(Work work) {
    const std::clock_t start = std::clock();
    work();
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
}

// New stubs of 32 instructions, 64 at once, on one thread; each again alone once it is known; and the same as
// whole texts. Milliseconds of a candidate.
void BM_Link(benchmark::State& state) {
    const Case& of = cases.at(static_cast<std::size_t>(state.range(0)));
    const auto skeleton = skeleton_of(of);
    if (!skeleton) return state.SkipWithError("the skeleton does not compile");
    state.SetLabel(of.file);
    const GraftOptions linking{.routes = {.route = Route::link}};
    (void)skeleton->assemble(candidates_of(of, *skeleton, 32, 1, 99).front(), linking);
    unsigned seed = 1;
    bool has_failed = false;
    for (auto _ : state) {
        const Candidates candidates = candidates_of(of, *skeleton, 32, 64, seed++);
        const auto check = [&](const auto& results) {
            for (const auto& result : results) has_failed |= !result;
        };
        const double batch =
            time_of([&] { check(skeleton->assemble_many(candidates, linking, {.threads = 1})); });
        const std::span few = std::span(candidates).first(8);
        const double relink = time_of([&] {
                                  for (const auto& known : candidates)
                                      has_failed |= !skeleton->assemble(known, linking);
                              }) /
                              double(candidates.size());
        const double whole = time_of([&] { check(skeleton->assemble_many(few, {}, {.threads = 1})); }) / 8;
        state.counters["new_ms"] = batch / 64 * 1e3;
        state.counters["known_ms"] = relink * 1e3;
        state.counters["whole_ms"] = whole * 1e3;
        state.counters["x_new"] = whole / (batch / 64);
        state.counters["x_known"] = whole / relink;
    }
    if (has_failed) state.SkipWithError("a candidate failed");
}
BENCHMARK(BM_Link)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->Iterations(3);

// Whole texts and linked stubs on one thread and on two, in turns: the least time of each counts, because
// what else runs on the machine makes single times up to a third longer.
void BM_Threads(benchmark::State& state) {
    const Case& of = cases.at(1);
    const auto skeleton = skeleton_of(of);
    if (!skeleton) return state.SkipWithError("the skeleton does not compile");
    const Route route = state.range(0) == 0 ? Route::inlined : Route::link;
    state.SetLabel(std::string(name(route)));
    const GraftOptions options{.routes = {.route = route}};
    const unsigned count = route == Route::link ? 256 : 24;
    unsigned seed = 100;
    constexpr double most = std::numeric_limits<double>::infinity();
    std::array<double, 2> seconds{most, most};
    for (auto _ : state) {
        for (unsigned threads = 1; threads <= 2; ++threads) {
            const Candidates candidates = candidates_of(of, *skeleton, 32, count, seed++);
            double& least = seconds.at(threads - 1);
            least = std::min(least, time_of([&] {
                                 (void)skeleton->assemble_many(candidates, options, {.threads = threads});
                             }));
        }
        state.counters["one_ms"] = seconds[0] / count * 1e3;
        state.counters["two_ms"] = seconds[1] / count * 1e3;
        state.counters["x_two"] = seconds[0] / seconds[1];
    }
}
BENCHMARK(BM_Threads)->DenseRange(0, 1)->Unit(benchmark::kMillisecond)->Iterations(5);

// A candidate that is kept: in memory, and in a folder. Microseconds.
void BM_Kept(benchmark::State& state) {
    const Case& of = cases.at(1);
    const auto skeleton = skeleton_of(of);
    const std::string folder = std::filesystem::temp_directory_path() / "ptxgraft_machine_code_bench";
    const auto kept = Cache::open({.dir = folder});
    if (!skeleton || !kept) return state.SkipWithError("the skeleton does not compile");
    const Route route = static_cast<Route>(state.range(0));
    state.SetLabel(std::string(name(route)));
    const Candidates candidates = candidates_of(of, *skeleton, 32, 1, 1000);
    const GraftOptions options{.routes = {.route = route}, .cache = &*kept};
    bool is_kept = skeleton->assemble(candidates[0], options).has_value();
    double disk = 1, memory = 1;
    for (auto _ : state) {
        const auto fresh = Cache::open({.dir = folder});
        GraftOptions other = options;
        other.cache = &*fresh;
        disk = std::min(disk, time_of([&] {
                            is_kept &= skeleton->assemble(candidates[0], other)->from == CacheLevel::disk;
                        }));
        memory = std::min(memory, time_of([&] {
                              is_kept &=
                                  skeleton->assemble(candidates[0], options)->from == CacheLevel::memory;
                          }));
    }
    state.counters["disk_us"] = disk * 1e6;
    state.counters["memory_us"] = memory * 1e6;
    if (!is_kept) state.SkipWithError("it was not kept");
    std::filesystem::remove_all(folder);
}
BENCHMARK(BM_Kept)
    ->Arg(static_cast<int>(Route::inlined))
    ->Arg(static_cast<int>(Route::call))
    ->Arg(static_cast<int>(Route::link))
    ->Arg(static_cast<int>(Route::automatic))
    ->Unit(benchmark::kMicrosecond);

// New candidates of 32 instructions, so many to a module, on one thread: assembled for a GPU, and on the
// emulator from stubs to kernels. Milliseconds of the processor for a candidate.
void BM_Variants(benchmark::State& state) {
    const Case& of = cases.at(static_cast<std::size_t>(state.range(0)));
    const auto skeleton = skeleton_of(of);
    const auto device = Device::open("emulator");
    if (!skeleton || !device) return state.SkipWithError("the skeleton does not compile");
    state.SetLabel(of.file);
    const ManyOptions many{.threads = 1, .variants_per_module = static_cast<std::uint32_t>(state.range(1))};
    constexpr unsigned count = 32;
    unsigned seed = 5000;
    bool has_failed = false;
    constexpr double most = std::numeric_limits<double>::infinity();
    double assemble = most, graft = most, bytes = 0;
    for (auto _ : state) {
        const Candidates candidates = candidates_of(of, *skeleton, 32, count, seed++);
        std::set<std::shared_ptr<const Cubin>> cubins;
        assemble = std::min(assemble, processor_time_of([&] {
                                for (const auto& code : skeleton->assemble_many(candidates, {}, many)) {
                                    has_failed |= !code;
                                    if (code) cubins.insert(code->cubin);
                                }
                            }));
        graft = std::min(graft, processor_time_of([&] {
                             for (const auto& kernel : skeleton->graft_many(candidates, *device, {}, many))
                                 has_failed |= !kernel;
                         }));
        bytes = 0;
        for (const auto& cubin : cubins) bytes += static_cast<double>(cubin->image.size());
    }
    if (has_failed) return state.SkipWithError("a candidate failed");
    state.counters["assemble_ms"] = assemble / count * 1e3;
    state.counters["emulator_ms"] = graft / count * 1e3;
    state.counters["image_kb"] = bytes / count / 1024;
}
BENCHMARK(BM_Variants)->ArgsProduct({{0, 1}, {1, 4, 32}})->Unit(benchmark::kMillisecond)->Iterations(3);

// A variant that differs in its 32 constants alone, on the emulator: from its text to the kernel, from a stub
// that is there, and into a kernel that is loaded; beside the first one of its structure, and its machine
// code for a GPU. Microseconds, of the fastest of each.
void BM_Constants(benchmark::State& state) {
    const Case& of = cases.at(static_cast<std::size_t>(state.range(0)));
    const auto skeleton = skeleton_of(of);
    const auto device = Device::open("emulator");
    if (!skeleton || !device) return state.SkipWithError("the skeleton does not compile");
    state.SetLabel(of.file);
    const Site& site = *skeleton->site(of.site);
    const auto compiled = [&](unsigned seed) { return stub_of(site, 32, seed, stack::Constants::data); };
    const Stub first = compiled(1);
    std::vector<std::uint64_t> bits(first.constants().begin(), first.constants().end());
    double first_graft = 0, from_text = 1, from_stub = 1, set = 1, code = 1;
    std::optional<Kernel> kernel;
    first_graft = time_of([&] { kernel = *skeleton->graft({{of.site, first}}, *device); });
    bool has_failed = !skeleton->assemble({{of.site, first}});
    unsigned seed = 2;
    for (auto _ : state) {
        std::optional<Expected<Kernel>> other;
        from_text = std::min(from_text, time_of([&] {
                                 other = skeleton->graft({{of.site, compiled(seed)}}, *device);
                             }));
        has_failed |= !*other;
        bits[0] = ++seed;
        const Stub variant = *first.with_constants(bits);
        from_stub = std::min(from_stub, time_of([&] {
                                 other = skeleton->graft({{of.site, variant}}, *device);
                             }));
        has_failed |= !*other;
        set = std::min(set, time_of([&] { has_failed |= !kernel->set_constants(of.site, variant); }));
        code = std::min(code, time_of([&] {
                            const auto made = skeleton->assemble({{of.site, variant}});
                            has_failed |= !made || made->from != CacheLevel::memory;
                        }));
    }
    state.counters["first_graft_us"] = first_graft * 1e6;
    state.counters["text_us"] = from_text * 1e6;
    state.counters["stub_us"] = from_stub * 1e6;
    state.counters["set_us"] = set * 1e6;
    state.counters["code_us"] = code * 1e6;
    if (has_failed) state.SkipWithError("a variant failed, or was assembled");
}
BENCHMARK(BM_Constants)->DenseRange(0, 1)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace ptxgraft::bench
