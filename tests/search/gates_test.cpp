// Gates of whole kernels: what they find and refuse, that a search through them takes the same course however
// it is run, and that what kills the process is judged twice at most.
#include "ptxgraft/search_gates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <atomic>
#include <cmath>
#include <csignal>
#include <cstring>
#include <filesystem>

#include "ptxgraft/static_cost.hpp"
#include "search/loop.hpp"

namespace ptxgraft::search {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

constexpr std::string_view float_forms = "add.f32\nsub.f32\nmul.f32\nfma.rn.f32\nmax.f32\nneg.f32\nabs.f32\n";

// y = max(x, 0) in the simplest kernel.
constexpr std::string_view relu = R"json({"template": "elementwise/simple", "shapes": [{"n": 37}],
    "regimes": ["usual", "constant"], "wanted": {"function": {"expr": "y = max(x, 0)"}},
    "absolute": 1e-3})json";

measure::Workload workload_of(std::string_view text) {
    auto workload = measure::Workload::parse(text);
    EXPECT_TRUE(workload) << describe(workload.error());
    return *workload;
}
SiteSpace site_of(const Skeleton& skeleton, std::string_view name, std::string_view set = float_forms) {
    const Site& site = *skeleton.site(name);
    auto machine = stack::Machine::make(*stack::InstructionSet::parse(set), site);
    EXPECT_TRUE(machine) << describe(machine.error());
    return {.name = std::string(name), .machine = *machine, .seeds = {}, .max_genes = 16};
}

// A template with one space, compiled once for all tests.
struct SimpleFixture {
    measure::Workload workload;
    Space space;
    Workloads kernels;
};
const SimpleFixture& simple() {
    static const SimpleFixture fixture = [] {
        measure::Workload workload = workload_of(relu);
        Space space{.sites = {site_of(workload.skeleton(), "function")}};
        auto kernels = Workloads::make(space, workload);
        EXPECT_TRUE(kernels) << message(kernels.error());
        return SimpleFixture{std::move(workload), std::move(space), std::move(*kernels)};
    }();
    return fixture;
}

Cases relu_cases() {
    Cases cases{.count = 64, .measure = Measure::absolute};
    std::vector<float> x;
    std::vector<double> y;
    for (int k = 0; k < 64; ++k) x.push_back(static_cast<float>(k - 32) / 8);
    for (const float value : x) y.push_back(std::max(value, 0.0f));
    cases.inputs.resize(3);
    cases.right.resize(3);
    cases.inputs[0].resize(256);
    cases.inputs[2].resize(256);
    std::memcpy(cases.inputs[0].data(), x.data(), 256);
    cases.right[1] = y;
    return cases;
}

Candidate candidate_of(const Space& space, std::vector<std::string> programs,
                       std::vector<std::uint32_t> tunables = {}) {
    Candidate made;
    for (std::size_t s = 0; s < programs.size(); ++s) {
        auto program = stack::parse(programs[s], space.sites[s].machine);
        EXPECT_TRUE(program) << describe(program.error(), programs[s]);
        made.genome.programs.push_back(*program);
    }
    made.genome.tunables = std::move(tunables);
    return made;
}
Result judged(Gate& gate, const Candidate& candidate, Result result = {}) {
    const Candidate* const in[] = {&candidate};
    Result* const out[] = {&result};
    gate.evaluate(in, out);
    return result;
}

TEST(Gates, LimitsCountInstructions) {
    const Space& space = simple().space;
    const auto gate = made(limits(space, {.instructions = 2}));
    const Result two = judged(*gate, candidate_of(space, {"x x add.f32 x mul.f32 -> y"}));
    EXPECT_EQ(two.status, Status::ok);
    EXPECT_EQ(two.cost, 2);
    EXPECT_EQ(two.descriptor[0], 2);
    EXPECT_EQ(two.descriptor[1], INFINITY);  // nobody found an error
    const Result three = judged(*gate, candidate_of(space, {"x x add.f32 x mul.f32 x add.f32 -> y"}));
    EXPECT_EQ(three.status, Status::rejected);
    EXPECT_THAT(three.detail, HasSubstr("3 instructions, more than 2"));
}

TEST(Gates, AssemblyFindsWhatTheMachineCodeTakes) {
    const Space& space = simple().space;
    const Figures figures{.cost = Objective::machine_instructions,
                          .axes = {Objective::registers, Objective::code_bytes, Objective::instructions}};
    const auto gate = made(assembly(space, simple().workload.skeleton(), {.figures = figures}));
    const std::pair<const char*, double> programs[] = {
        {"x -> y", 0}, {"x x add.f32 x mul.f32 -> y", 2}, {"x 0.0 max.f32 -> y", 1}};
    for (const auto& [program, length] : programs) {
        const Candidate candidate = candidate_of(space, {program});
        const Result result = judged(*gate, candidate);
        ASSERT_EQ(result.status, Status::ok) << result.detail;
        const auto stub =
            stack::make_stub(candidate.genome.programs[0], space.sites[0].machine, program_options);
        const auto code = simple().workload.skeleton().assemble({{"function", *stub}});
        ASSERT_TRUE(code) << describe(code.error());
        const auto cost = static_cost(*code->cubin, {.disassemble = false});
        ASSERT_TRUE(cost);
        EXPECT_EQ(result.descriptor[0], code->cubin->functions[0].registers) << program;
        EXPECT_EQ(result.descriptor[1], code->cubin->functions[0].code_bytes) << program;
        EXPECT_EQ(result.descriptor[2], length) << program;
        EXPECT_EQ(result.cost, cost->machine_instructions) << program;
        EXPECT_EQ(result.cost, result.low);
    }
}

TEST(Gates, AssemblyIsTheSameInBatchesOfLinkedStubs) {
    const Space& space = simple().space;
    const Figures figures{.cost = Objective::machine_instructions, .axes = {Objective::registers}};
    const auto gate_of = [&](std::uint32_t batch) {
        return made(assembly(space, simple().workload.skeleton(),
                             {.routes = {.route = Route::link}, .batch = batch, .figures = figures}));
    };
    const auto one = gate_of(1), many = gate_of(32);
    std::vector<Candidate> candidates;
    for (int k = 1; k <= 6; ++k) {
        std::string text = "x";
        for (int i = 0; i < k; ++i) text += " x mul.f32";
        candidates.push_back(candidate_of(space, {text + " -> y"}));
    }
    std::vector<Result> a(candidates.size()), b(candidates.size());
    std::vector<const Candidate*> in;
    std::vector<Result*> out;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        in.push_back(&candidates[k]);
        out.push_back(&b[k]);
        a[k] = judged(*one, candidates[k]);
    }
    many->evaluate(in, out);
    for (std::size_t k = 0; k < a.size(); ++k) {
        EXPECT_EQ(b[k].status, Status::ok) << b[k].detail;
        EXPECT_EQ(a[k].cost, b[k].cost);
        EXPECT_EQ(a[k].descriptor, b[k].descriptor);
        EXPECT_GT(a[k].cost, k == 0 ? 0 : a[k - 1].cost) << "a linked stub counts";
    }
}

// Gives up, or finds fault with, what has these words.
struct HostileAssembler final : Assembler {
    [[nodiscard]] std::string_view name() const override { return "hostile"; }
    [[nodiscard]] std::string version() const override { return "1"; }
    [[nodiscard]] Expected<Cubin> assemble(std::string_view ptx,
                                           const AssembleOptions& options) const override {
        if (ptx.find("neg.f32") != std::string_view::npos)
            return fail(Errc::assembler_ended, "a worker was killed after 10 s");
        if (ptx.find("sub.f32") != std::string_view::npos) return fail(Errc::performance_loss, "C7510");
        if (ptx.find("abs.f32") != std::string_view::npos) return fail(Errc::assemble_failed, "line 7");
        return default_assembler().assemble(ptx, options);
    }
};

TEST(Gates, AssemblySaysHowACandidateEnds) {
    const Space& space = simple().space;
    const Skeleton& skeleton = simple().workload.skeleton();
    const auto gate = made(assembly(space, skeleton, {.assembler = std::make_shared<HostileAssembler>()}));
    const auto of = [&](const char* program) { return judged(*gate, candidate_of(space, {program})); };
    EXPECT_EQ(of("x x mul.f32 -> y").status, Status::ok);
    EXPECT_EQ(of("x neg.f32 -> y").status, Status::timed_out);
    EXPECT_THAT(of("x neg.f32 -> y").detail, HasSubstr("killed after 10 s"));
    EXPECT_EQ(of("x x sub.f32 -> y").status, Status::rejected);
    EXPECT_EQ(of("x abs.f32 -> y").status, Status::failed);
    EXPECT_THAT(of("x abs.f32 -> y").detail, HasSubstr("line 7"));
    const auto narrow = made(assembly(space, skeleton, {.limits = {.registers = 4}}));
    const Result result = judged(*narrow, candidate_of(space, {"x x mul.f32 -> y"}));
    EXPECT_EQ(result.status, Status::rejected);
    EXPECT_THAT(result.detail, HasSubstr("registers"));
}

TEST(Gates, EmulationRunsTheWholeKernel) {
    const Space& space = simple().space;
    const auto gate = made(emulation(space, simple().kernels));
    Result screened;
    screened.errors = {0};  // a gate came before
    EXPECT_EQ(judged(*gate, candidate_of(space, {"x 0.0 max.f32 -> y"}), screened).status, Status::ok);
    const Result wrong = judged(*gate, candidate_of(space, {"x -> y"}), screened);
    EXPECT_EQ(wrong.status, Status::wrong);
    EXPECT_THAT(wrong.detail, StartsWith("wrong: y["));
    EXPECT_EQ(wrong.errors, screened.errors);
    std::string longer = "x";
    for (int k = 0; k < 40'000; ++k) longer += " x mul.f32";
    const Result late = judged(*gate, candidate_of(space, {longer + " -> y"}), screened);
    EXPECT_EQ(late.status, Status::timed_out) << late.detail;
}

TEST(Gates, EmulationAloneGivesErrorsToSelectBy) {
    const Space& space = simple().space;
    const auto gate = made(emulation(space, simple().kernels));
    const Result right = judged(*gate, candidate_of(space, {"x 0.0 max.f32 -> y"}));
    EXPECT_EQ(right.status, Status::ok);
    EXPECT_EQ(right.errors, (std::vector<float>{0, 0}));
    EXPECT_LE(right.descriptor[1], 1);
    EXPECT_EQ(right.cost, 1);
    const Result wrong = judged(*gate, candidate_of(space, {"x -> y"}));
    EXPECT_EQ(wrong.status, Status::infeasible);
    ASSERT_EQ(wrong.errors.size(), 2u);
    EXPECT_GT(wrong.errors[0], 1);
    EXPECT_GT(wrong.errors[1], 1e38);  // it was not tried
    const Result worse = judged(*gate, candidate_of(space, {"x 1000.0 add.f32 -> y"}));
    EXPECT_GT(worse.errors[0], wrong.errors[0]);
}

TEST(Gates, TunablesChooseTheKernel) {
    const measure::Workload workload = workload_of(R"json({"template": "norm/rms", "choices": {"type": "f32"},
        "shapes": [{"rows": 2, "columns": 20}], "regimes": ["usual"]})json");
    Space space{.sites = {site_of(workload.skeleton(), "epilogue")},
                .tunables = {{"vectors", {1, 4}}, {"cluster", {1, 3}}}};
    const auto kernels = Workloads::make(space, workload);
    ASSERT_TRUE(kernels) << message(kernels.error());
    const Figures figures{.cost = Objective::code_bytes, .axes = {Objective::registers}};
    const auto assembles = made(assembly(space, *kernels, {.figures = figures}));
    const auto emulates = made(emulation(space, *kernels, {.figures = figures}));
    const std::string program = "y weight mul.f32 -> y";
    const Result small = judged(*assembles, candidate_of(space, {program}, {0, 0})),
                 large = judged(*assembles, candidate_of(space, {program}, {1, 0}));
    EXPECT_EQ(small.status, Status::ok) << small.detail;
    EXPECT_EQ(large.status, Status::ok) << large.detail;
    EXPECT_LT(small.cost, large.cost);
    EXPECT_EQ(judged(*emulates, candidate_of(space, {program}, {1, 0})).status, Status::ok);
    EXPECT_EQ(judged(*emulates, candidate_of(space, {"y -> y"}, {1, 0})).status, Status::infeasible);
    for (Gate* gate : {assembles.get(), emulates.get()}) {  // a cluster of 3 there is not
        const Result none = judged(*gate, candidate_of(space, {program}, {0, 1}));
        EXPECT_EQ(none.status, Status::rejected);
        EXPECT_THAT(none.detail, HasSubstr("cluster"));
    }
    space.tunables[0].name = "vector";
    EXPECT_EQ(Workloads::make(space, workload).error().code, Errc::space_invalid);
    space.tunables.clear();
    space.sites[0].name = "middle";
    EXPECT_EQ(Workloads::make(space, workload).error().code, Errc::space_invalid);
}

// Points behind the screen are cases in groups: of each its largest error, wherever in the group that is.
TEST(Gates, ColumnsKeepTheLargestErrorOfAGroup) {
    const Space& space = simple().space;
    const Candidate right = candidate_of(space, {"x 0.0 max.f32 -> y"});
    for (const std::size_t bad : {1u, 2u, 3u, 30u, 61u, 62u}) {
        for (const double wanted : {double{NAN}, 7e37}) {
            Cases cases = relu_cases();
            cases.screen = 2;  // the first and the last point
            cases.right[1][bad] = wanted;
            const auto gate = made(columns(space, {cases}, {}));
            const Result result = judged(*gate, right);
            EXPECT_EQ(result.status, Status::infeasible) << bad;
            ASSERT_EQ(result.errors.size(), 2u + 16) << bad;
            for (std::size_t k = 0; k < result.errors.size(); ++k) {
                const bool is_bad = k == 2 + (bad - 1) * 16 / 62;
                const float all = std::isnan(wanted) ? 3e38f : 7e37f;
                EXPECT_EQ(result.errors[k], is_bad ? all : 0) << bad << ' ' << k;
            }
        }
    }
}
// There are as many groups as points at most, and what is right has no error in any.
TEST(Gates, ColumnsHaveNoGroupWithoutAPoint) {
    const Space& space = simple().space;
    Cases cases = relu_cases();
    cases.screen = 61;
    const auto gate = made(columns(space, {cases}, {}));
    const Result result = judged(*gate, candidate_of(space, {"x 0.0 max.f32 -> y"}));
    EXPECT_EQ(result.status, Status::ok);
    EXPECT_THAT(result.errors, testing::AllOf(testing::SizeIs(64), testing::Each(0)));
}

TEST(Gates, ColumnsOfSeveralSites) {
    const auto sum = stack::Machine::make(*stack::InstructionSet::parse(float_forms),
                                          *Signature::parse("in f32 a, in f32 b, out f32 y"));
    const auto one = stack::Machine::make(*stack::InstructionSet::parse(float_forms),
                                          *Signature::parse("in f32 x, out f32 y"));
    const Space space{.sites = {{.name = "f", .machine = *sum},
                                {.name = "g", .machine = *one},
                                {.name = "h", .machine = *one}}};
    const auto column = [](std::vector<float> values) {
        std::vector<std::byte> bytes(4 * values.size());
        std::memcpy(bytes.data(), values.data(), bytes.size());
        return bytes;
    };
    Cases add{.count = 2}, twice{.count = 2, .bound = 0.5};
    add.inputs = {column({1, 2}), column({3, 5}), {}};
    add.right = {{}, {}, {4, 7}};
    twice.inputs = {column({1, 2}), {}};
    twice.right = {{}, {2, 4}};
    const auto gate = made(columns(space, {add, twice, std::nullopt}, {}));
    const Result right =
        judged(*gate, candidate_of(space, {"a b add.f32 -> y", "x x add.f32 -> y", "x neg.f32 -> y"}));
    EXPECT_EQ(right.status, Status::ok);
    EXPECT_EQ(right.descriptor, (std::vector<double>{3, 0}));
    EXPECT_EQ(right.errors.size(), 4u);
    const Result wrong = judged(*gate, candidate_of(space, {"a b add.f32 -> y", "x -> y", "x -> y"}));
    EXPECT_EQ(wrong.status, Status::infeasible);
    EXPECT_EQ(wrong.descriptor, (std::vector<double>{1, 2}));
    EXPECT_EQ(wrong.errors, (std::vector<float>{0, 0, 1, 2}));
    const Candidate longer = [&] {
        Candidate c = candidate_of(space, {"a b add.f32 -> y", "x x add.f32 0.0 add.f32 -> y", "x -> y"});
        c.index = 1;  // the second screen's turn
        c.refine = Refine::shorten;
        return c;
    }();
    const Result shorter = judged(*gate, longer);
    ASSERT_TRUE(shorter.genome);
    EXPECT_EQ(shorter.genome->programs[0], longer.genome.programs[0]);
    EXPECT_EQ(shorter.descriptor[0], 2);
    EXPECT_EQ(columns(space, {add, twice}, {}).error().code, Errc::cases_invalid);
    EXPECT_EQ(columns(space, {std::nullopt, std::nullopt, std::nullopt}, {}).error().code,
              Errc::cases_invalid);
}

// ---- searches ---------------------------------------------------------------------------------------------

const Figures by_code{.cost = Objective::machine_instructions,
                      .axes = {Objective::instructions, Objective::registers}};
const Options kernel_options{.seed = 5,
                             .axes = {{"instructions", {1, 2, 3, 4, 6}}, {"registers", {8, 10, 12, 16}}},
                             .islands = 2,
                             .block = 64};

// All gates of relu, those that may kill the process guarded.
Summary search_relu(const std::string& path, std::uint64_t candidates, std::uint32_t threads) {
    const SimpleFixture& f = simple();
    auto search = Search::open(path, f.space, kernel_options);
    EXPECT_TRUE(search) << message(search.error());
    const auto screen = made(columns(f.space, {relu_cases()}, {.figures = by_code}));
    const auto code = made(guarded(made(assembly(f.space, f.kernels, {.figures = by_code})), path));
    const auto run = made(guarded(made(emulation(f.space, f.kernels, {.figures = by_code})), path));
    Gate* const gates[] = {screen.get(), code.get(), run.get()};
    const std::uint64_t judged = search->ledger().judged;
    if (judged >= candidates) return {};
    const auto summary =
        search->run(gates, {.budget = {.candidates = candidates - judged}, .threads = threads});
    EXPECT_TRUE(summary) << message(summary.error());
    return summary.value_or(Summary{});
}

TEST(Gates, ASearchIsTheSameOnOneThreadAndOnMany) {
    const std::string one = archive_path("one"), many = archive_path("many");
    const Summary summary = search_relu(one, 1500, 1);
    ASSERT_TRUE(summary.best);
    EXPECT_EQ(summary.best->descriptor[0], 1);  // max(x, 0)
    search_relu(many, 1500, 4);
    EXPECT_EQ(exported(one), exported(many));
    EXPECT_THAT(exported(one), HasSubstr("\"status\":\"ok\""));
}

TEST(Gates, ASearchThatIsKilledGoesOnTheSame) {
    const std::string whole = archive_path("whole"), killed = archive_path("killed");
    search_relu(whole, 1500, 1);
    const pid_t child = ::fork();
    if (child == 0) {
        search_relu(killed, 1'000'000, 1);
        ::_exit(0);
    }
    const auto has_rows = [&] {
        std::error_code none;
        const auto size = std::filesystem::file_size(killed + "-wal", none);
        return !none && size > 150'000;
    };
    for (int waited = 0; waited < 3000 && !has_rows(); ++waited) ::usleep(10'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    search_relu(killed, 1500, 2);
    const std::string text = exported(whole);
    EXPECT_EQ(text, exported(killed).substr(0, text.size()));
}

// Ends the process where a candidate's structure says so.
struct PoisonedGate final : Gate {
    bool kills = true;
    [[nodiscard]] std::string_view name() const override { return "poisoned"; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            results[k]->status = Status::infeasible;
            results[k]->errors = {static_cast<float>(candidates[k]->key.structure % 100)};
            if (candidates[k]->key.structure % 97 != 5) continue;
            if (kills) ::_exit(77);
            results[k]->errors.clear();
            results[k]->status = Status::crashed;
            results[k]->detail = "the process died while it was judged, twice";
        }
    }
};

TEST(Gates, WhatKillsTheProcessIsJudgedTwice) {
    const Space& space = simple().space;
    const Options options{.seed = 1, .block = 64, .refine = false};
    const auto run = [&](const std::string& path, bool kills) {
        auto search = Search::open(path, space, options);
        auto inner = std::make_unique<PoisonedGate>();
        inner->kills = kills;
        const auto gate = made(guarded(std::move(inner), path));
        Gate* const gates[] = {gate.get()};
        const std::uint64_t judged = search->ledger().judged;
        if (judged < 600) (void)search->run(gates, {.budget = {.candidates = 600 - judged}, .threads = 3});
    };
    const std::string calm = archive_path("calm"), poisoned = archive_path("poisoned");
    run(calm, false);
    int deaths = 0;
    for (int status = -1; status != 0 && deaths < 100;) {
        const pid_t child = ::fork();
        if (child == 0) {
            run(poisoned, true);
            ::_exit(0);
        }
        ::waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 77) ++deaths;
    }
    const auto archive = Archive::open(poisoned);
    ASSERT_TRUE(archive) << message(archive.error());
    int crashed = 0;
    ASSERT_TRUE(archive->for_each([&](const Candidate&, const Result& result) {
        if (result.status == Status::crashed) ++crashed;
    }));
    EXPECT_GT(crashed, 2);
    EXPECT_GE(deaths, crashed);
    EXPECT_LE(deaths, 2 * crashed);
    EXPECT_EQ(exported(calm), exported(poisoned));
}

}  // namespace
}  // namespace ptxgraft::search
