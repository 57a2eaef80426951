// Searches whose candidates mean harm, and a kernel that gives them the chance to: its loop ends where the
// stub says so, and the stub may load and store wherever it wants. Nobody is lost and nobody is accepted who
// is not right, whatever becomes of the workers; what assembles takes no longer than it may.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <map>
#include <set>

#include "measure/support.hpp"
#include "ptxgraft/search_gates.hpp"
#include "ptxgraft/worker.hpp"
#include "search/loop.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::search {
namespace {

using namespace std::chrono_literals;
using measure::Pool;

constexpr std::string_view kernel = R"(#include <ptxgraft/site.cuh>
extern "C" __global__ void steps(const float* x, float* y, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    unsigned more;
    do {
        PTXGRAFT_SITE_ALLOWING("step", "load store", "mov.u32 _more, 0;", mod(f32, value),
                               in(u64, from, reinterpret_cast<unsigned long long>(x + i)),
                               in(u64, to, reinterpret_cast<unsigned long long>(y + i)), out(u32, more));
    } while (more != 0);
    y[i] = value;
}
)";
constexpr std::string_view reference = R"(#include <ptxgraft/site.cuh>
extern "C" __global__ void steps_reference(const float* x, double* y, unsigned n) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float value = x[i];
    unsigned more;
    PTXGRAFT_SITE_ALLOWING("step", "load store", "mov.u32 _more, 0;", mod(f32, value),
                           in(u64, from, reinterpret_cast<unsigned long long>(x + i)),
                           in(u64, to, reinterpret_cast<unsigned long long>(y + i)), out(u32, more));
    y[i] = value;
}
)";
constexpr std::string_view manifest = R"json({
  "family": "steps",
  "skeletons": [{
    "name": "steps",
    "source": "steps.cu",
    "entry": "steps",
    "meaning": "y = what is left of x when the stub wants no more steps",
    "target": "sm_75",
    "dimensions": {"n": {"meaning": "elements"}},
    "tunables": {},
    "arguments": [
      {"name": "x", "type": "f32", "shape": ["n"], "access": "in"},
      {"name": "y", "type": "f32", "shape": ["n"], "access": "out"},
      {"name": "n", "type": "u32"}
    ],
    "sites": {
      "step": {
        "signature": "mod f32 value, in u64 from, in u64 to, out u32 more; allow load store",
        "operands": {"value": "the element", "from": "its address in x", "to": "in y", "more": "0 ends"},
        "default": "the identity", "meaning": "a step", "where": "hot", "copies": "1"
      }
    },
    "launch": {"grid": ["(n + 63) / 64"], "block": ["64"], "shared_bytes": "0", "rule": "a thread an element"},
    "reference": {"source": "steps_reference.cu", "entry": "steps_reference",
                  "grid": ["(n + 63) / 64"], "block": ["64"]},
    "numpy": "y = x",
    "output": "y",
    "tolerance": {"relative": 0, "absolute": 0}
  }]
})json";

// x * x + 1, in one step.
std::string workload_text() {
    static const std::string folder = [] {
        const std::string root = testing::TempDir() + "ptxgraft_hostile_templates";
        std::filesystem::create_directories(root + "/steps");
        test::write_file(root + "/steps/steps.cu", kernel);
        test::write_file(root + "/steps/steps_reference.cu", reference);
        test::write_file(root + "/steps/manifest.json", manifest);
        return root;
    }();
    return R"({"template": "steps", "folder": ")" + folder +
           R"(", "shapes": [{"n": 70}, {"n": 33}], "relative": 1e-6, "absolute": 1e-6,
            "wanted": {"step": "value value mul.f32 1.0 add.f32 -> value; 0 -> more"}})";
}

constexpr std::string_view set = R"(add.f32
mul.f32
fma.rn.f32
add.u64
add.u32
setp.gt.f32
selp.b32
ld.global.f32
st.global.f32
)";

// What each of them does beside or instead of what is wanted, and how it may end.
struct Kind {
    std::string_view program;
    std::set<Status> ends;
};
const Kind kinds[] = {
    {"value value 1.0 fma.rn.f32 -> value; 0 -> more", {Status::ok}},
    // hangs: all threads, some, and those that what they have stored themselves tells to
    {"1 -> more", {Status::timed_out}},
    {"value value 1.0 fma.rn.f32 -> value; 1 0 value 0.0 setp.gt.f32 selp.b32 -> more", {Status::timed_out}},
    {"1.0 to st.global.f32 1 0 to ld.global.f32 0.0 setp.gt.f32 selp.b32 -> more", {Status::timed_out}},
    // wild pointers
    {"0u64 ld.global.f32 -> value; 0 -> more", {Status::wrong, Status::crashed}},
    {"to 0x7000000000u64 add.u64 ld.global.f32 -> value; 0 -> more", {Status::wrong, Status::crashed}},
    {"value to 0x7000000000u64 add.u64 st.global.f32 0 -> more", {Status::wrong, Status::crashed}},
    {"value from to add.u64 st.global.f32 0 -> more", {Status::wrong, Status::crashed}},
    // beside what is theirs
    {"from 4u64 add.u64 ld.global.f32 -> value; 0 -> more", {Status::wrong, Status::crashed}},
    {"value value 1.0 fma.rn.f32 dup.f32 to 1024u64 add.u64 st.global.f32 -> value; 0 -> more",
     {Status::wrong, Status::crashed}},
    // misaligned
    {"from 2u64 add.u64 ld.global.f32 -> value; 0 -> more", {Status::wrong, Status::crashed}},
    // over the inputs, with the right results
    {"0.0 from st.global.f32 value value 1.0 fma.rn.f32 -> value; 0 -> more", {Status::wrong}},
    // of the launch before; of the neighbour
    {"to ld.global.f32 -> value; 0 -> more", {Status::wrong, Status::crashed}},
    {"value to st.global.f32 to 4u64 add.u64 ld.global.f32 -> value; 0 -> more",
     {Status::wrong, Status::crashed}},
    // one result for all, none, a number that is none
    {"2.0 -> value; 0 -> more", {Status::wrong}},
    {"0 -> more", {Status::wrong}},
    {"nan -> value; 0 -> more", {Status::wrong}},
};

struct Fixture {
    Space space;
    Workloads kernels;
    std::vector<Genome> genomes;  // of the kinds
};
const Fixture& steps() {
    static const Fixture fixture = [] {
        auto workload = measure::Workload::parse(workload_text());
        EXPECT_TRUE(workload) << describe(workload.error());
        const auto parsed = stack::InstructionSet::parse(set);
        EXPECT_TRUE(parsed) << describe(parsed.error(), set);
        auto machine = stack::Machine::make(*parsed, *workload->skeleton().site("step"));
        EXPECT_TRUE(machine) << describe(machine.error());
        Space space{.sites = {{"step", *machine, {}, 24}}, .constants = {0, 1, 2, 4}};
        std::vector<Genome> genomes;
        for (const Kind& kind : kinds) {
            const auto program = stack::parse(kind.program, *machine);
            EXPECT_TRUE(program) << describe(program.error(), kind.program);
            genomes.push_back({.programs = {*program}, .tunables = {}});
        }
        auto kernels = Workloads::make(space, *workload);
        EXPECT_TRUE(kernels) << message(kernels.error());
        return Fixture{std::move(space), std::move(*kernels), std::move(genomes)};
    }();
    return fixture;
}

const Figures figures{.axes = {Objective::instructions}};

Options options_of(std::uint64_t seed) {
    Options options{.seed = seed, .axes = {{"instructions", {1, 2, 3, 4, 5, 6, 7, 8}}}};
    options.block = 50;
    options.refine = false;
    return options;
}

struct Judged {
    Genome genome;
    Status status;
    std::string detail;
};
std::vector<Judged> rows_of(const std::string& path) {
    std::vector<Judged> rows;
    const auto archive = Archive::open(path);
    EXPECT_TRUE(archive) << message(archive.error());
    if (!archive) return rows;
    EXPECT_TRUE(archive->for_each([&](const Candidate& candidate, const Result& result) {
        rows.push_back({candidate.genome, result.status, result.detail});
    }));
    return rows;
}

// With other inputs, of other lengths, that no search has seen.
class Judge {
  public:
    Judge() {
        std::string text = workload_text();
        text.replace(text.find("\"n\": 70"), 7, "\"n\": 257");
        auto workload = measure::Workload::parse(text);
        EXPECT_TRUE(workload) << describe(workload.error());
        checker_.emplace(
            made(measure::Checker::open(*workload, *Device::open("emulator"), {.seed = 77, .seeds = 3})));
    }
    bool is_right(const Genome& genome) {
        const auto stub =
            stack::make_stub(genome.programs[0], steps().space.sites[0].machine, program_options);
        EXPECT_TRUE(stub);
        const auto grafted = checker_->skeleton().graft({{"step", *stub}}, checker_->device());
        EXPECT_TRUE(grafted) << describe(grafted.error());
        const auto check = checker_->check(*grafted);
        return check && check->finding == measure::Finding::right;
    }

  private:
    std::optional<measure::Checker> checker_;
};

std::string text_of(const Genome& genome) {
    return stack::print(genome.programs[0], steps().space.sites[0].machine);
}

// Those of the kinds first, then what a search makes of them, in workers that are killed now and then.
TEST(HostileSearch, AThousandCandidatesAreJudgedAndNoneIsAcceptedThatIsWrong) {
    const std::string path = archive_path("thousand");
    measure::PoolReport report;
    {
        const Pool pool =
            measure::pool_of({.devices = {"emulator", "emulator"},
                              .memory_bytes = 1 << 30,
                              .spares = 2,
                              .command = {test::build_path("measure_faulty_worker"),
                                          "kill=97,twice=89,late=83,cut=301", test::build_path("ptxgraft")}});
        const auto assembler = made(worker_pool({.workers = 1, .timeout = 10s}));
        const auto code = made(assembly(steps().space, steps().kernels,
                                        {.batch = 25, .assembler = assembler, .figures = figures}));
        const auto check = made(checking(steps().space, steps().kernels, pool, {.figures = figures}));
        Gate* const gates[] = {code.get(), check.get()};
        auto search = made(Search::open(path, steps().space, options_of(1), steps().genomes));
        const auto summary = search.run(gates, {.budget = {.candidates = 1000}, .threads = 2});
        ASSERT_TRUE(summary) << describe(summary.error());
        report = pool.report();
    }
    const std::vector<Judged> rows = rows_of(path);
    ASSERT_EQ(rows.size(), 1000u) << "none is lost";
    for (std::size_t k = 0; k < std::size(kinds); ++k) {
        EXPECT_EQ(text_of(rows[k].genome), text_of(steps().genomes[k])) << k;
        EXPECT_TRUE(kinds[k].ends.contains(rows[k].status))
            << kinds[k].program << ": " << name(rows[k].status) << ' ' << rows[k].detail;
    }
    Judge judge;
    std::map<Status, int> counts;
    for (const Judged& row : rows) {
        ++counts[row.status];
        if (row.status == Status::ok) { EXPECT_TRUE(judge.is_right(row.genome)) << text_of(row.genome); }
    }
    for (const auto& [status, count] : counts) RecordProperty(std::string(name(status)), count);
    EXPECT_GT(counts[Status::timed_out], 20);
    EXPECT_GT(counts[Status::wrong] + counts[Status::crashed], 100);
    EXPECT_GT(counts[Status::ok], 1);
    EXPECT_GT(report.deaths, 5u);
    EXPECT_EQ(report.sick_devices, 0u);
    RecordProperty("slowest_recovery_ms", static_cast<int>(1000 * report.slowest_recovery));
    EXPECT_LT(report.slowest_recovery, 3);  // a third of a second where processors are not all busy
}

// The emulator of this process goes on behind whatever ended a launch, and says of each what a worker says.
TEST(HostileSearch, AnEmulatorInTheProcessFindsTheSame) {
    const std::string path = archive_path("here");
    const auto gate = made(emulation(steps().space, steps().kernels, {.figures = figures}));
    {
        Gate* const gates[] = {gate.get()};
        auto search = made(Search::open(path, steps().space, options_of(2), steps().genomes));
        ASSERT_TRUE(search.run(gates, {.budget = {.candidates = 300}, .threads = 2}));
    }
    const std::vector<Judged> rows = rows_of(path);
    ASSERT_EQ(rows.size(), 300u);
    const Pool pool = measure::pool_of({.devices = {"emulator"}});
    const auto check = made(checking(steps().space, steps().kernels, pool, {.figures = figures}));
    std::vector<Candidate> candidates(rows.size());
    std::vector<Result> results(rows.size());
    std::vector<const Candidate*> in;
    std::vector<Result*> out;
    for (std::size_t k = 0; k < rows.size(); ++k) {
        candidates[k].genome = rows[k].genome;
        in.push_back(&candidates[k]);
        out.push_back(&results[k]);
    }
    check->evaluate(in, out);
    for (std::size_t k = 0; k < rows.size(); ++k) {
        const bool is_wrong = rows[k].status == Status::infeasible;  // it takes part in selection here
        EXPECT_EQ(results[k].status, is_wrong ? Status::wrong : rows[k].status)
            << text_of(rows[k].genome) << ": " << rows[k].detail << " | " << results[k].detail;
    }
    EXPECT_EQ(pool.report().deaths, 0u);
}

// Programs that are short and make long stubs: an assembler that can be killed is, and the search goes on.
TEST(HostileSearch, CompileBombsTakeNoLongerThanTheyMay) {
    const std::string path = archive_path("bombs");
    std::vector<Genome> first;
    for (const char* program :
         {"value repeat 255 repeat 255 value value fma.rn.f32 end end -> value; 0 -> more",
          "value repeat 255 repeat 255 dup.f32 mul.f32 value 1.0 fma.rn.f32 end end -> value; 0 -> more",
          "repeat 255 repeat 255 value to st.global.f32 end end 0 -> more",
          "value value 1.0 fma.rn.f32 -> value; 0 -> more"}) {
        const auto parsed = stack::parse(program, steps().space.sites[0].machine);
        ASSERT_TRUE(parsed) << describe(parsed.error(), program);
        first.push_back({.programs = {*parsed}, .tunables = {}});
    }
    const auto assembler = made(worker_pool({.workers = 1, .timeout = 1s, .memory_bytes = 256 << 20}));
    const auto gate =
        made(assembly(steps().space, steps().kernels, {.assembler = assembler, .figures = figures}));
    Gate* const gates[] = {gate.get()};
    auto search = made(Search::open(path, steps().space, options_of(3), first));
    ASSERT_TRUE(search.run(gates, {.budget = {.candidates = 4}, .threads = 1}));
    const std::vector<Judged> rows = rows_of(path);
    ASSERT_EQ(rows.size(), 4u);
    for (std::size_t k = 0; k < 3; ++k) {
        EXPECT_EQ(rows[k].status, Status::timed_out) << k << ' ' << rows[k].detail;
        EXPECT_FALSE(rows[k].detail.empty()) << k;
    }
    EXPECT_EQ(rows[3].status, Status::ok) << rows[3].detail;
}

}  // namespace
}  // namespace ptxgraft::search
