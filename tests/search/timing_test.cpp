// Searches that ask a pool: whether candidates are right on its devices, and, on the fake driver with a
// scripted clock, how long they take. The known fastest is found, its time is told by other samples than
// those that chose it, and without a GPU nothing is said of time.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>
#include <sqlite3.h>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "measure/support.hpp"
#include "ptxgraft/program.hpp"
#include "ptxgraft/search_measurements.hpp"
#include "ptxgraft/search_report.hpp"
#include "ptxgraft/search_task.hpp"
#include "search/loop.hpp"
#include "support/paths.hpp"

namespace ptxgraft::search {
namespace {

using measure::Pool;
using measure::PoolOptions;
using measure::Tier;
using measure::TimingStatus;
using measure::Verdict;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr std::string_view sums_and_products = "add.f32\nmul.f32\nfma.rn.f32\nsub.f32\n";

// Machine code that is its own PTX: the fake GPU (tests/measure/fake_worker.cpp) runs it, and takes 0.07 ms
// and 0.01 ms for each arithmetic instruction.
class TextAssembler final : public Assembler {
  public:
    [[nodiscard]] std::string_view name() const override { return "text"; }
    [[nodiscard]] std::string version() const override { return "1"; }
    [[nodiscard]] Expected<Cubin> assemble(std::string_view ptx, const AssembleOptions&) const override {
        return *measure::as_text({.ptx = std::string(ptx)}).cubin;
    }
};

PoolOptions fake_gpu(const std::string& script) {
    PoolOptions options{.devices = {"cuda:0"}, .command = {test::build_path("measure_fake_worker"), script}};
    options.deadlines.launch = 700ms;
    return options;
}
measure::Protocol protocol() {
    measure::Protocol made;
    made.most_sets = 2;
    made.calibration_rounds = 16;
    made.nvml = test::build_path("libfake_cuda.so");
    made.lock_folder = testing::TempDir();
    return made;
}

struct SquareFixture {
    Space space;
    Workloads kernels;
};
const SquareFixture& square() {
    static const SquareFixture fixture = [] {
        auto workload = measure::Workload::parse(measure::square);
        EXPECT_TRUE(workload) << describe(workload.error());
        auto machine = stack::Machine::make(*stack::InstructionSet::parse(sums_and_products),
                                            *workload->skeleton().site("function"));
        EXPECT_TRUE(machine) << describe(machine.error());
        Space space{.sites = {{"function", *machine, {}, 12}}, .constants = {1, 2}};
        auto kernels = Workloads::make(space, *workload);
        EXPECT_TRUE(kernels) << message(kernels.error());
        return SquareFixture{std::move(space), std::move(*kernels)};
    }();
    return fixture;
}

Candidate candidate_of(const std::string& program, std::uint64_t index = 0) {
    const auto parsed = stack::parse(program, square().space.sites[0].machine);
    EXPECT_TRUE(parsed) << describe(parsed.error(), program);
    Candidate made;
    made.index = index;
    made.genome.programs.push_back(*parsed);
    return made;
}
std::vector<Result> all_judged(Gate& gate, const std::vector<Candidate>& candidates) {
    std::vector<Result> results(candidates.size());
    std::vector<const Candidate*> in;
    std::vector<Result*> out;
    for (std::size_t k = 0; k < candidates.size(); ++k) {
        in.push_back(&candidates[k]);
        out.push_back(&results[k]);
    }
    gate.evaluate(in, out);
    return results;
}
const std::string fma = "x x 1.0 fma.rn.f32 -> y", mul_add = "x x mul.f32 1.0 add.f32 -> y",
                  four = "x x 1.0 fma.rn.f32 0.0 add.f32 0.0 add.f32 0.0 add.f32 -> y";

// ---- without a GPU

TEST(TimedSearch, WhatIsRightOnThePoolsEmulatorIsFound) {
    const Pool pool = measure::pool_of({.devices = {"emulator"}});
    const Figures figures{.axes = {Objective::instructions, Objective::error}};
    const auto gate = made(checking(square().space, square().kernels, pool, {.figures = figures}));
    const std::vector<Result> results =
        all_judged(*gate, {candidate_of(fma), candidate_of("x x add.f32 -> y"), candidate_of(mul_add)});
    EXPECT_EQ(results[0].status, Status::ok) << results[0].detail;
    EXPECT_EQ(results[0].descriptor[0], 1);
    EXPECT_LE(results[0].descriptor[1], 1);
    EXPECT_EQ(results[1].status, Status::wrong);
    EXPECT_THAT(results[1].detail, HasSubstr("wrong: y["));
    EXPECT_EQ(results[2].status, Status::ok) << results[2].detail;
    EXPECT_EQ(pool.report().checks, 3u);
    EXPECT_EQ(gate->gpu_seconds(), 0);  // of an emulator
}

TEST(TimedSearch, ThePolicyIsAskedBeforeAnythingIsAssembled) {
    const Workloads& kernels = square().kernels;
    const auto skeleton = kernels.find({})->skeleton();
    auto machine =
        stack::Machine::make(*stack::InstructionSet::parse("add.f32\ncvt.rn.f32.u32\n%smid\n%tid.x\n"),
                             *skeleton.site("function"));
    ASSERT_TRUE(machine) << describe(machine.error());
    const Space space{.sites = {{"function", *machine, {}, 12}}};
    const auto verdict = [&](const std::string& text, const measure::Policy& allowed = {}) {
        const auto gate = made(policy(space, {.allowed = allowed}));
        Candidate candidate;
        const auto program = stack::parse(text, *machine);
        EXPECT_TRUE(program) << describe(program.error(), text);
        candidate.genome.programs.push_back(*program);
        return all_judged(*gate, {candidate})[0];
    };
    EXPECT_EQ(verdict("x x add.f32 -> y").status, Status::ok);
    EXPECT_EQ(verdict("%tid.x cvt.rn.f32.u32 -> y").status, Status::ok);
    const Result where = verdict("%smid cvt.rn.f32.u32 -> y");
    EXPECT_EQ(where.status, Status::rejected);
    EXPECT_THAT(where.detail, AllOf(HasSubstr("function"), HasSubstr("%smid")));
    EXPECT_EQ(verdict("%smid cvt.rn.f32.u32 -> y", {.clocks = true}).status, Status::ok);
}

TEST(TimedSearch, WithoutAGpuThereIsNoTime) {
    const Pool pool = measure::pool_of({.devices = {"emulator"}});
    const auto gate = timing(square().space, square().kernels, pool);
    ASSERT_FALSE(gate);
    EXPECT_EQ(gate.error().code, Errc::timing_not_possible);
    EXPECT_THAT(message(gate.error()), HasSubstr("time needs a GPU"));
    EXPECT_FALSE(confirm({}, square().space, square().kernels, pool));
    // A workload that nobody has as JSON is none for another process.
    const auto parsed = measure::Workload::parse(measure::square);
    const auto other = measure::Workload::make(parsed->from(), parsed->options());
    const auto kernels = Workloads::make(square().space, *other);
    EXPECT_EQ(checking(square().space, *kernels, pool).error().code, Errc::workload_invalid);
}

TEST(TimedSearch, AnArchiveWithoutTimesSaysSo) {
    const std::string file = testing::TempDir() + "/untimed.sqlite";
    std::filesystem::remove(file);
    { ASSERT_TRUE(Search::open(file, square().space, {.axes = {{"instructions", {1, 2}}}})); }
    const auto archive = Archive::open(file);
    ASSERT_TRUE(archive);
    EXPECT_THAT(archive->measurements()->sessions, SizeIs(0));
    EXPECT_THAT(*report_html(*archive),
                AllOf(HasSubstr("nothing here is a time"), Not(HasSubstr("id=\"times\""))));
}

// ---- on the fake GPU

TEST(TimedSearch, RatiosAreThoseOfTheScript) {
    const Pool pool = measure::pool_of(fake_gpu("noise=1"));
    const auto assembler = std::make_shared<TextAssembler>();
    const Figures figures{.cost = Objective::time_ratio, .axes = {Objective::instructions}};
    const auto gate = made(timing(square().space, square().kernels, pool,
                                  {.protocol = protocol(), .assembler = assembler, .figures = figures}));
    const std::vector<Result> results =
        all_judged(*gate, {candidate_of(four, 0), candidate_of(fma, 1), candidate_of("x x add.f32 -> y", 2),
                           candidate_of(mul_add, 3)});
    EXPECT_EQ(results[1].status, Status::ok) << results[1].detail;
    EXPECT_NEAR(results[1].cost, 0.8, 0.005);
    EXPECT_LT(results[1].low, results[1].high);
    EXPECT_LE(results[1].low, results[1].cost);
    EXPECT_LT(results[1].high, 0.81);
    // Left behind by the screen: what that found, and nothing is claimed.
    EXPECT_EQ(results[0].status, Status::ok);
    EXPECT_EQ(results[0].high, INFINITY);
    EXPECT_NEAR(results[0].cost, 1.1, 0.01);
    EXPECT_EQ(results[3].high, INFINITY);
    EXPECT_NEAR(results[3].cost, 0.9, 0.01);
    EXPECT_EQ(results[2].status, Status::wrong);
    EXPECT_EQ(results[1].descriptor, std::vector<double>{1});
    EXPECT_GT(gate->gpu_seconds(), 0);
}

TEST(TimedSearch, AGateWhosePoolIsSickEndsTheSearch) {
    PoolOptions options = fake_gpu("noise=1");
    const Pool pool = measure::pool_of(options);
    const auto assembler = std::make_shared<TextAssembler>();
    measure::Protocol impossible = protocol();
    impossible.lock_folder = "/nowhere";  // no session opens
    const auto gate = made(
        timing(square().space, square().kernels, pool, {.protocol = impossible, .assembler = assembler}));
    EXPECT_THROW(all_judged(*gate, {candidate_of(fma)}), std::runtime_error);
}

struct Found {
    Summary summary;
    std::vector<Elite> elites;
};
Options options_of() {
    Options options;
    options.axes = {{"instructions", {1, 2, 3, 4, 5}}};
    options.islands = 1, options.block = 64, options.refine = false;
    return options;
}
Found run(const std::string& file, const Pool& pool, std::uint64_t candidates,
          const std::vector<std::string>& seeds = {four}) {
    const Figures figures{.cost = Objective::time_ratio, .axes = {Objective::instructions}};
    const auto assembler = std::make_shared<TextAssembler>();
    Space space = square().space;
    for (const std::string& seed : seeds)
        space.sites[0].seeds.push_back(candidate_of(seed.c_str()).genome.programs[0]);
    const auto kernels = square().kernels;
    auto search = Search::open(file, space, options_of());
    EXPECT_TRUE(search) << describe(search.error());
    const auto right = made(checking(space, kernels, pool, {.assembler = assembler, .figures = figures}));
    const auto fast =
        made(timing(space, kernels, pool,
                    {.protocol = protocol(), .assembler = assembler, .archive = file, .figures = figures}));
    Gate* const gates[] = {right.get(), fast.get()};
    const auto summary = search->run(gates, {.budget = {.candidates = candidates}, .threads = 2});
    EXPECT_TRUE(summary) << describe(summary.error());
    return {*summary, search->elites()};
}

TEST(TimedSearch, EndsWithTheKnownFastest) {
    const std::string file = testing::TempDir() + "/timed.sqlite";
    std::filesystem::remove(file);
    const Pool pool = measure::pool_of(fake_gpu("noise=1,seed=3"));
    Found found = run(file, pool, 192);
    found = run(file, pool, 192);  // continued: what is known is read
    EXPECT_EQ(found.summary.judged, 384u);
    ASSERT_TRUE(found.summary.best);
    const Elite& best = *found.summary.best;
    EXPECT_EQ(best.descriptor[0], 1) << program_text(best.genome.programs[0],
                                                     square().space.sites[0].machine);
    EXPECT_NEAR(best.cost, 0.8, 0.005);
    EXPECT_LE(best.low, best.cost);
    EXPECT_GE(best.bound(), best.cost);
    EXPECT_LT(best.bound(), 0.81);

    // Everything that was measured is in the archive, by candidates that are there.
    const auto archive = Archive::open(file);
    ASSERT_TRUE(archive) << describe(archive.error());
    const auto times = archive->measurements();
    ASSERT_TRUE(times) << describe(times.error());
    ASSERT_FALSE(times->sessions.empty());
    EXPECT_THAT(times->sessions[0].device, HasSubstr("Fake GPU"));
    EXPECT_THAT(times->sessions[0].uuid, HasSubstr("GPU-a0"));
    EXPECT_GT(times->sessions[0].calibration.sigma, 0);
    std::set<std::uint64_t> ids;
    for (const MeasuredSession& session : times->sessions) ids.insert(session.id);
    std::set<std::uint64_t> candidates;
    ASSERT_TRUE(archive->for_each(
        [&](const Candidate& candidate, const Result&) { candidates.insert(candidate.index); }));
    EXPECT_THAT(candidates, SizeIs(384));
    std::map<std::uint64_t, const MeasuredBatch*> batches;
    for (const MeasuredBatch& batch : times->batches) {
        EXPECT_TRUE(ids.contains(batch.session));
        EXPECT_FALSE(batch.samples.empty());
        batches[batch.id] = &batch;
    }
    bool is_there = false;
    for (const Measurement& one : times->measurements) {
        ASSERT_TRUE(batches.contains(one.batch));
        EXPECT_TRUE(candidates.contains(one.candidate)) << one.candidate;
        if (one.candidate != best.index || batches[one.batch]->tier != Tier::elite) continue;
        is_there = true;
        EXPECT_EQ(one.comparison.ratio, best.cost);
        EXPECT_EQ(one.comparison.high, best.high);
        EXPECT_EQ(one.comparison.verdict, Verdict::faster);
        const auto count = std::ranges::count_if(batches[one.batch]->samples, [&](const measure::Sample& s) {
            return s.variant == one.number && s.repeated == measure::Sample::Repeated::no;
        });
        EXPECT_EQ(count, 64) << "32 rounds, there and back";
    }
    EXPECT_TRUE(is_there);

    // Times are no part of an export, but of a report.
    std::string exported;
    ASSERT_TRUE(archive->export_json([&](std::string_view line) { exported += line; }));
    EXPECT_THAT(exported, Not(HasSubstr("milliseconds")));
    const auto page = report_html(*archive);
    ASSERT_TRUE(page) << describe(page.error());
    EXPECT_THAT(*page, AllOf(HasSubstr("id=\"times\""), HasSubstr("Fake GPU"), HasSubstr("class=\"dot"),
                             HasSubstr("faster"), Not(HasSubstr("nothing here is a time"))));

    // The best once more, in processes of their own.
    const auto assembler = std::make_shared<TextAssembler>();
    const auto finalists = confirm(found.elites, square().space, square().kernels, pool,
                                   {.finalists = 3,
                                    .sessions = 2,
                                    .protocol = protocol(),
                                    .assemblers = {assembler, assembler},
                                    .archive = file});
    ASSERT_TRUE(finalists) << describe(finalists.error());
    ASSERT_GE(finalists->size(), 1u);
    const Finalist& first = finalists->front();
    EXPECT_EQ(first.status, Status::ok) << first.detail;
    EXPECT_EQ(first.elite.descriptor[0], 1);
    EXPECT_EQ(first.verdict, Verdict::faster);
    EXPECT_NEAR(first.ratio, 0.8, 0.005);
    EXPECT_EQ(first.rounds, 128u);
    EXPECT_EQ(first.sessions, 2u);
    EXPECT_THAT(first.assemblers, SizeIs(2));
    for (const Finalist& one : *finalists) EXPECT_LE(first.high, one.high);
    // Its samples are of sessions that had no say before.
    const auto after = Archive::open(file)->measurements();
    std::set<std::uint64_t> confirmed;
    for (const MeasuredBatch& batch : after->batches)
        if (batch.tier == Tier::final_) {
            EXPECT_FALSE(ids.contains(batch.session));
            confirmed.insert(batch.session);
        }
    EXPECT_THAT(confirmed, SizeIs(2));
}

std::string fresh(const char* name) {
    const std::string path = testing::TempDir() + "/" + name;
    for (const char* ending : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(path + ending);
    return path;
}

// On the scripted clock a candidate is lucky in the screen, the race and the elite; then it is measured
// again, and the one that is the fastest has the cell.
TEST(TimedSearch, ALuckyEliteLosesItsCell) {
    const std::string lucky = "x x mul.f32 -1.0 sub.f32 -> y";  // of fma's length in truth: 0.9
    const std::string file = fresh("lucky.sqlite");
    const Figures figures{.cost = Objective::time_ratio, .axes = {}};
    const auto assembler = std::make_shared<TextAssembler>();
    Space space = square().space;
    for (const std::string& seed : {lucky, fma})
        space.sites[0].seeds.push_back(candidate_of(seed).genome.programs[0]);
    const auto run_for = [&](std::uint64_t candidates, const std::string& script) {
        auto search = Search::open(file, space, {.islands = 1, .block = 4, .refine = false});
        EXPECT_TRUE(search) << describe(search.error());
        const Pool pool = measure::pool_of(fake_gpu(script));
        const auto gate = made(
            timing(space, square().kernels, pool,
                   {.protocol = protocol(), .assembler = assembler, .archive = file, .figures = figures}));
        Gate* const gates[] = {gate.get()};
        const auto before = search->elites();
        const auto summary = search->run(gates, {.budget = {.candidates = candidates}, .threads = 1});
        EXPECT_TRUE(summary) << describe(summary.error());
        EXPECT_GT(search->ledger().measured_again, 0u);
        return std::pair(before, search->elites());
    };
    const Elite best = run_for(24, "noise=1,seed=3,lucky=3").second.at(0);
    EXPECT_NEAR(best.cost, 0.8, 0.01);
    EXPECT_NE(best.index, 0u);

    const auto archive = made(Archive::open(file));
    std::map<std::uint64_t, double> first, again;
    ASSERT_TRUE(archive.for_each([&](const Candidate& candidate, const Result& result) {
        if (candidate.refine == Refine::none) first[candidate.index] = result.cost;
        if (candidate.refine != Refine::measure) return;
        EXPECT_EQ(result.status, Status::ok) << result.detail;
        EXPECT_LT(result.high, INFINITY) << "it is timed to the end, whoever is faster";
        again[candidate.parents[0]] = result.cost;
    }));
    EXPECT_NEAR(first.at(0), 0.63, 0.01);
    ASSERT_TRUE(again.contains(0));
    EXPECT_NEAR(again.at(0), 0.9, 0.01);
    ASSERT_TRUE(again.contains(best.index)) << "the next one, when it became the best";
    // Every sample of it is there, in a batch of its own tier.
    std::set<std::uint64_t> measured;
    const Measurements times = made(archive.measurements());
    for (const Measurement& one : times.measurements)
        if (times.batches.at(one.batch - 1).tier == Tier::elite) measured.insert(one.candidate);
    ASSERT_TRUE(archive.for_each([&](const Candidate& candidate, const Result&) {
        if (candidate.refine == Refine::measure) { EXPECT_TRUE(measured.contains(candidate.index)); }
    }));
    const std::string page = made(report_html(archive));
    EXPECT_THAT(page, AllOf(HasSubstr("measurements again of elites"), HasSubstr("not what was measured")));
    // Continued, with another GPU's luck: what is known is read.
    const auto [read, later] = run_for(4, "noise=1,seed=4");
    ASSERT_EQ(read.size(), 1u);
    EXPECT_EQ(read[0].index, best.index);
    EXPECT_EQ(read[0].cost, best.cost);
    EXPECT_EQ(read[0].times, best.times);
    EXPECT_NEAR(later.at(0).cost, 0.8, 0.01);
}

// A collection has what its searches measured, by the same candidates.
TEST(TimedSearch, AreMergedWithTheirTimes) {
    const std::string one = fresh("one.sqlite"), other = fresh("other.sqlite"), all = fresh("all.sqlite"),
                      turned = fresh("turned.sqlite"), again = fresh("again.sqlite");
    run(one, measure::pool_of(fake_gpu("noise=1,seed=3")), 16, {four, mul_add, fma});
    run(other, measure::pool_of(fake_gpu("noise=1,seed=5")), 32, {four, mul_add, fma});
    ASSERT_TRUE(merge(std::vector{one, other}, all));
    ASSERT_TRUE(merge(std::vector{other, one}, turned));
    ASSERT_TRUE(merge(std::vector{all, other, all}, again));
    const auto times_of = [](const std::string& path) { return made(Archive::open(path)->measurements()); };
    const Measurements a = times_of(one), b = times_of(other), both = times_of(all);
    ASSERT_FALSE(a.measurements.empty());
    EXPECT_EQ(both.sessions.size(), a.sessions.size() + b.sessions.size());
    EXPECT_EQ(both.batches.size(), a.batches.size() + b.batches.size());
    EXPECT_EQ(both.measurements.size(), a.measurements.size() + b.measurements.size());
    const auto text_of = [](const Measurements& times) {
        std::string text;
        for (const Measurement& m : times.measurements)
            text += fmt::format("{} {} {} {}, ", m.candidate, m.batch, m.number, m.milliseconds);
        for (const MeasuredBatch& batch : times.batches)
            text += fmt::format("{} {} {}, ", batch.id, batch.session, batch.samples.size());
        for (const MeasuredSession& s : times.sessions) text += fmt::format("{} {}, ", s.id, s.uuid);
        return text;
    };
    EXPECT_EQ(text_of(both), text_of(times_of(turned)));
    EXPECT_EQ(text_of(both), text_of(times_of(again)));
    // each elite has the figure that it is there for
    std::map<std::uint64_t, double> costs;
    ASSERT_TRUE(Archive::open(all)->for_each([&](const Candidate& candidate, const Result& result) {
        if (result.status == Status::ok) costs[candidate.index] = result.cost;
    }));
    std::size_t told = 0;
    for (const Measurement& m : both.measurements) {
        const MeasuredBatch& batch = both.batches[m.batch - 1];
        EXPECT_LE(batch.session, both.sessions.size());
        if (batch.tier != Tier::elite || m.status != TimingStatus::ok) continue;
        EXPECT_EQ(m.comparison.ratio, costs[m.candidate]) << m.candidate;
        ++told;
    }
    ASSERT_GT(told, 1u);
    const auto report = nlohmann::json::parse(made(report_json(made(Archive::open(all)))));
    EXPECT_EQ(report.at("times").at("sessions").size(), both.sessions.size());
    EXPECT_EQ(report.at("times").at("sessions").at(0).at("device").get<std::string>().find("Fake GPU"), 0u);
    const auto best = report.at("times").at("candidates").at(0);
    EXPECT_EQ(best.at("tier"), "elite");
    EXPECT_EQ(best.at("ratio"), costs[best.at("candidate").get<std::uint64_t>()]);
    EXPECT_THAT(made(report_html(made(Archive::open(all)))), HasSubstr("id=\"times\""));
}

TEST(TimedSearch, NamesAMeasurementThatIsDamaged) {
    const std::string file = fresh("measured.sqlite");
    for (const auto& [sql, what] :
         {std::pair("UPDATE session SET sigma = sigma + 1 WHERE id = (SELECT min(id) FROM session)",
                    "session"),
          std::pair("UPDATE batch SET samples = substr(samples, 1, length(samples) - 32) WHERE id = 1",
                    "batch 1 is damaged"),
          std::pair("UPDATE measurement SET ratio = ratio + 1 WHERE batch = 1 AND number = 1",
                    "measurement")}) {
        static_cast<void>(fresh("measured.sqlite"));
        run(file, measure::pool_of(fake_gpu("noise=1,seed=3")), 4);
        ASSERT_TRUE(Archive::open(file)->measurements());
        sqlite3* database = nullptr;
        ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
        EXPECT_EQ(sqlite3_exec(database, sql, nullptr, nullptr, nullptr), SQLITE_OK);
        sqlite3_close(database);
        const auto times = Archive::open(file)->measurements();
        ASSERT_FALSE(times) << sql;
        EXPECT_EQ(times.error().code, Errc::archive_malformed);
        EXPECT_THAT(message(times.error()), AllOf(HasSubstr(what), HasSubstr("damaged")));
    }
}

// Equal ones of which a search keeps the luckiest: told by new samples none is faster than it is.
TEST(TimedSearch, LuckStaysBehind) {
    const Pool pool = measure::pool_of(fake_gpu("noise=1,seed=9"));
    const auto assembler = std::make_shared<TextAssembler>();
    const Figures figures{.cost = Objective::time_ratio, .axes = {Objective::instructions}};
    const auto gate = made(timing(square().space, square().kernels, pool,
                                  {.protocol = protocol(), .assembler = assembler, .figures = figures}));
    std::vector<Candidate> candidates;
    const char* const equal[] = {"x x mul.f32 1.0 add.f32 -> y", "1.0 x x mul.f32 add.f32 -> y"};
    for (int k = 0; k < 30; ++k)
        candidates.push_back(candidate_of(equal[k % 2], static_cast<std::uint64_t>(k)));
    const std::vector<Result> results = all_judged(*gate, candidates);
    const auto luckiest = std::ranges::min_element(results, {}, &Result::cost);
    std::vector<Elite> elites;
    for (std::size_t k = 0; k < results.size(); ++k)
        elites.push_back({.index = k,
                          .genome = candidates[k].genome,
                          .cost = results[k].cost,
                          .descriptor = results[k].descriptor,
                          .cell = {0},
                          .low = results[k].low,
                          .high = results[k].high});
    const auto finalists =
        confirm(elites, square().space, square().kernels, pool,
                {.finalists = 4, .sessions = 2, .protocol = protocol(), .assemblers = {assembler}});
    ASSERT_TRUE(finalists) << describe(finalists.error());
    for (const Finalist& one : *finalists) {
        EXPECT_NEAR(one.ratio, 0.9, 0.003);
        EXPECT_LE(one.low, 0.9005);
        EXPECT_GE(one.high, 0.8995) << "the interval has the truth";
    }
    EXPECT_LE(luckiest->cost, 0.9);
}

// ---- tasks

const std::string task_text = R"json({
  "workload": {"template": "elementwise/simple", "shapes": [{"n": 600}, {"n": 33}],
               "wanted": {"function": {"expr": "y = x * x + 1"}}, "relative": 1e-6, "absolute": 1e-6},
  "sites": {"function": {"set": ["add.f32", "mul.f32", "fma.rn.f32"], "genes": 8,
                         "seeds": ["x x 1.0 fma.rn.f32 0.0 add.f32 -> y"]}},
  "constants": [1],
  "devices": ["cuda:0"],
  "gates": ["policy", "checking", {"timing": {"last": "race", "seed": 7}}],
  "objective": "time_ratio",
  "axes": {"instructions": [1, 2, 3, 4]},
  "options": {"islands": 1, "block": 64},
  "budget": {"candidates": 64}
})json";

TEST(TimedSearch, TasksNameDevices) {
    auto task = parse_task(task_text);
    ASSERT_TRUE(task) << describe(task.error(), task_text);
    EXPECT_TRUE(task->is_timed());
    ASSERT_TRUE(task->pool);
    EXPECT_EQ(task->pool->devices, std::vector<std::string>{"cuda:0"});
    ASSERT_THAT(task->gates, SizeIs(3));
    const auto& timed = std::get<TimingGateOptions>(task->gates[2].options);
    EXPECT_EQ(timed.last, Tier::race);
    EXPECT_EQ(timed.protocol.seed, 7u);
    EXPECT_EQ(timed.figures.cost, Objective::time_ratio);

    // As a whole, on the fake GPU.
    task->pool = fake_gpu("noise=1");
    auto assembler = std::make_shared<TextAssembler>();
    std::get<CheckingOptions>(task->gates[1].options).assembler = assembler;
    auto& options = std::get<TimingGateOptions>(task->gates[2].options);
    options.assembler = assembler, options.protocol = protocol();
    const auto gates = gates_of(*task);
    ASSERT_TRUE(gates) << describe(gates.error());
    std::vector<Gate*> cascade;
    for (const auto& gate : *gates) cascade.push_back(gate.get());
    auto search = Search::open({}, task->space, task->options);
    const auto summary = search->run(cascade, {.budget = task->budget, .threads = 1});
    ASSERT_TRUE(summary) << describe(summary.error());
    EXPECT_EQ(summary->judged, 64u);
    const auto finalists = confirm(*task, search->elites());
    ASSERT_TRUE(finalists) << describe(finalists.error());
    ASSERT_GE(finalists->size(), 1u);
    EXPECT_EQ(finalists->front().status, Status::ok) << finalists->front().detail;
    EXPECT_EQ(finalists->front().sessions, 3u);
}

TEST(TimedSearch, ATaskWithoutAGpuSaysWhatIsMissing) {
    for (const char* const device : {"cuda:0", "emulator", "auto"}) {
        std::string text = task_text;
        text.replace(text.find("cuda:0"), 6, device);
        const auto task = parse_task(text);
        ASSERT_TRUE(task) << describe(task.error(), text);
        if (std::string_view(device) != "emulator" && Device::cuda_count() != 0) continue;
        const auto gates = gates_of(*task);
        ASSERT_FALSE(gates) << device;
        EXPECT_EQ(gates.error().code, Errc::timing_not_possible);
        EXPECT_THAT(message(gates.error()), HasSubstr("time needs a GPU"));
    }
}

TEST(TimedSearch, MistakesOfTasksHavePlaces) {
    const auto mistake = [](std::string_view from, std::string_view to) {
        std::string text = task_text;
        text.replace(text.find(from), from.size(), to);
        const auto task = parse_task(text);
        EXPECT_FALSE(task) << to;
        return task ? std::string() : message(task.error());
    };
    EXPECT_THAT(mistake(R"(, {"timing": {"last": "race", "seed": 7}})", ""),
                HasSubstr("no gate finds \"time_ratio\""));
    EXPECT_THAT(mistake(R"("last": "race")", R"("last": "screen")"), HasSubstr("screen"));
    EXPECT_THAT(mistake(R"(["cuda:0"])", "[]"), HasSubstr("has none"));
    EXPECT_THAT(mistake(R"("policy", "checking", {"timing": {"last": "race", "seed": 7}}],
  "objective": "time_ratio")",
                        R"("emulation"], "objective": "instructions")"),
                HasSubstr("no gate of this task asks devices"));
    std::string without = task_text;
    without.replace(without.find("  \"gates\""),
                    without.find("  \"objective\"") - without.find("  \"gates\""), "");
    const auto task = parse_task(without);
    ASSERT_TRUE(task) << describe(task.error(), without);
    EXPECT_THAT(task->gates, SizeIs(3)) << "policy, checking, timing";
}

}  // namespace
}  // namespace ptxgraft::search
