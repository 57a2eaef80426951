// Searches whose best results are known: what is found, that the course is the same however it is run, and
// what archives say when they are not as they were.
#include "ptxgraft/search.hpp"
#include "support/archive_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <random>
#include <stdexcept>

#include "support/files.hpp"

namespace ptxgraft::search {
namespace {

using ptxgraft::test::archive_path;
using ptxgraft::test::exported;
using test::read_file;
using test::write_file;

constexpr std::string_view words = R"(add.u32
sub.u32
and.b32
or.b32
xor.b32
not.b32
neg.s32
shl.b32
shr.u32
)";
constexpr std::string_view floats = "add.f32\nsub.f32\nmul.f32\nfma.rn.f32\n";

Space space_of(std::string_view signature, std::string_view set, std::uint32_t genes = 24) {
    auto parsed = stack::InstructionSet::parse(set);
    EXPECT_TRUE(parsed) << describe(parsed.error(), set);
    auto machine = stack::Machine::make(*parsed, *Signature::parse(signature));
    EXPECT_TRUE(machine);
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = genes});
    return space;
}

// Points of a function of words.
template <class F> Cases word_cases(F f) {
    Cases cases{.count = 256, .measure = Measure::bits};
    std::mt19937 random(7);
    std::vector<std::uint32_t> x = {0, 1, 2, 3, 0x80000000u, 0x7FFFFFFFu, 0xFFFFFFFFu, 0xFFFFFFFEu};
    while (x.size() < cases.count) x.push_back(static_cast<std::uint32_t>(random()) >> random() % 32);
    cases.inputs.resize(2);
    cases.right.resize(2);
    cases.inputs[0].resize(4 * cases.count);
    std::memcpy(cases.inputs[0].data(), x.data(), cases.inputs[0].size());
    for (const std::uint32_t value : x) cases.right[1].push_back(f(value));
    return cases;
}

template <class F> Cases float_cases(float low, float high, std::size_t count, double bound, F f) {
    Cases cases{.count = count, .measure = Measure::absolute, .bound = bound};
    std::vector<float> x;
    for (std::size_t k = 0; k < count; ++k)
        x.push_back(low + (high - low) * static_cast<float>(k) / static_cast<float>(count - 1));
    cases.inputs.resize(2);
    cases.right.resize(2);
    cases.inputs[0].resize(4 * count);
    std::memcpy(cases.inputs[0].data(), x.data(), cases.inputs[0].size());
    for (const float value : x) cases.right[1].push_back(f(value));
    return cases;
}

std::vector<Axis> by_instructions() { return {{"instructions", {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16}}}; }

double without_lowest_bit(std::uint32_t x) { return x & (x - 1); }

Summary found(Search& search, Gate& gate, RunOptions options) {
    Gate* const gates[] = {&gate};
    const auto summary = search.run(gates, options);
    EXPECT_TRUE(summary) << message(summary.error());
    return summary.value_or(Summary{});
}

TEST(Search, FindsTheShortestProgramOfWords) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    ASSERT_TRUE(gate);
    auto search = Search::open("", space, {.seed = 3, .axes = by_instructions(), .block = 256});
    ASSERT_TRUE(search) << message(search.error());
    const Summary summary = found(
        *search, **gate, {.budget = {.candidates = 300'000}, .target = Target{.cost = 2}, .threads = 2});
    EXPECT_EQ(summary.stop, Stop::target);
    ASSERT_TRUE(summary.best);
    EXPECT_EQ(summary.best->cost, 2);
    const auto stub =
        stack::make_stub(summary.best->genome.programs[0], space.sites[0].machine, program_options);
    ASSERT_TRUE(stub);
    EXPECT_EQ(stub->instruction_count(), 2u);
}

TEST(Search, TunesConstants) {  // the best line for sqrt on [0, 1] is x + 1/8, off by 1/8
    const Space space = space_of("in f32 x, out f32 y", floats);
    const auto gate = columns(space, float_cases(0, 1, 257, 0.2, [](float x) { return std::sqrt(x); }),
                              {.objective = Objective::error});
    ASSERT_TRUE(gate);
    auto search = Search::open("", space, {.seed = 5, .axes = by_instructions(), .block = 256});
    ASSERT_TRUE(search);
    found(*search, **gate, {.budget = {.candidates = 40'000}, .threads = 2});
    const auto elites = search->elites();
    const auto one = std::ranges::find_if(elites, [](const Elite& e) { return e.descriptor[0] == 1; });
    ASSERT_NE(one, elites.end());
    EXPECT_LT(one->cost, 0.1251);
    EXPECT_GE(one->cost, 0.125 - 1e-6);
}

TEST(Search, TunesSeveralConstantsAtOnce) {  // to what Remez' algorithm gives
    Space space = space_of("in f32 x, out f32 y", floats);
    const auto program = stack::parse("0.3 x 0.6 fma.rn.f32 x 1.1 fma.rn.f32 -> y", space.sites[0].machine);
    ASSERT_TRUE(program);
    Cases cases = float_cases(0, 1, 1025, 1, [](float x) { return std::exp2(double{x}); });
    cases.measure = Measure::relative;
    const auto gate = columns(space, std::move(cases));
    ASSERT_TRUE(gate);
    const Candidate candidate{
        .genome = {.programs = {*program}, .tunables = {}}, .key = {}, .refine = Refine::constants};
    Result result;
    const Candidate* const in[] = {&candidate};
    Result* const out[] = {&result};
    (*gate)->evaluate(in, out);
    ASSERT_TRUE(result.genome);
    EXPECT_LT(result.descriptor[1], 1.735e-3);
    EXPECT_GT(result.descriptor[1], 1.725e-3);
}

TEST(Search, IsTheSameOnOneThreadAndOnMany) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    std::vector<std::string> texts;
    for (const std::uint32_t threads : {1u, 2u, 5u}) {
        const std::string path = archive_path("threads" + std::to_string(threads));
        auto search = Search::open(path, space, {.seed = 11, .axes = by_instructions(), .block = 128});
        ASSERT_TRUE(search) << message(search.error());
        found(*search, **gate, {.budget = {.candidates = 3000}, .threads = threads});
        texts.push_back(exported(path));
    }
    EXPECT_EQ(std::ranges::count(texts[0], '\n'), 3000);
    EXPECT_EQ(texts[0], texts[1]);
    EXPECT_EQ(texts[0], texts[2]);
}

TEST(Search, OtherSeedsGoOtherWays) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto a = Search::open("", space, {.seed = 1}), b = Search::open("", space, {.seed = 2});
    auto one = *Search::open("", space, {.seed = 1}), two = *Search::open("", space, {.seed = 2});
    EXPECT_NE(one.ask(10)->at(0).genome, two.ask(10)->at(0).genome);
}

TEST(Search, GoesOnWhereItWasStopped) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    const Options options{.seed = 4, .axes = by_instructions(), .block = 128, .migration = 500};
    const std::string whole = archive_path("whole"), parts = archive_path("parts");
    {
        auto search = Search::open(whole, space, options);
        found(*search, **gate, {.budget = {.candidates = 2000}, .threads = 2});
    }
    for (const std::uint64_t part : {100u, 1u, 500u, 128u, 271u, 1000u}) {
        auto search = Search::open(parts, space, options);
        ASSERT_TRUE(search) << message(search.error());
        found(*search, **gate, {.budget = {.candidates = part}, .threads = 1});
    }
    EXPECT_EQ(exported(whole), exported(parts));
    const auto archive = Archive::open(whole);
    auto again = Search::open(whole, space, options);
    ASSERT_TRUE(again) << message(again.error());
    const auto kept = *archive->elites(), live = again->elites();
    ASSERT_EQ(kept.size(), live.size());
    for (std::size_t k = 0; k < kept.size(); ++k) {
        EXPECT_EQ(kept[k].index, live[k].index);
        EXPECT_EQ(kept[k].genome, live[k].genome);
    }
    EXPECT_EQ(again->ledger().judged, 2000u);
}

TEST(Search, LosesNothingWhenItIsKilled) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    const Options options{.seed = 9, .axes = by_instructions(), .block = 128};
    const std::string whole = archive_path("unkilled"), killed = archive_path("killed");
    {
        auto search = Search::open(whole, space, options);
        found(*search, **gate, {.budget = {.candidates = 3000}, .threads = 2});
    }
    for (int k = 0; k < 3; ++k) {
        const pid_t child = fork();
        if (child == 0) {
            auto search = Search::open(killed, space, options);
            Gate* const gates[] = {gate->get()};
            const std::uint32_t threads = k == 0 ? 1 : 3;
            if (search) (void)search->run(gates, {.budget = {.candidates = 1'000'000}, .threads = threads});
            _exit(0);
        }
        const auto has_rows = [&] {
            std::error_code none;
            const auto size = std::filesystem::file_size(killed + "-wal", none);
            return !none && size > 200'000;
        };
        for (int waited = 0; waited < 1000 && !has_rows(); ++waited) ::usleep(10'000);
        ::usleep(30'000 + 20'000 * static_cast<unsigned>(k));
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
    }
    auto search = Search::open(killed, space, options);
    ASSERT_TRUE(search) << message(search.error());
    const std::uint64_t judged = search->ledger().judged;
    EXPECT_GT(judged, 0u);
    if (judged < 3000) found(*search, **gate, {.budget = {.candidates = 3000 - judged}, .threads = 2});
    const std::string text = exported(whole), other = exported(killed);
    EXPECT_EQ(text, other.substr(0, text.size()));
}

TEST(Search, NeverAsksTwice) {
    const Space space = space_of("in u32 x, out u32 y", "add.u32\nnot.b32\n", 4);
    auto search = Search::open("", space, {.block = 64});
    ASSERT_TRUE(search);
    std::vector<std::pair<std::uint64_t, std::uint64_t>> keys;
    for (int k = 0; k < 20; ++k) {
        const auto candidates = *search->ask(1000);
        std::vector<Result> results;
        for (const Candidate& c : candidates) {
            if (c.refine == Refine::none) keys.emplace_back(c.key.structure, c.key.constants);
            results.push_back({.index = c.index, .status = Status::infeasible, .errors = {1.0f}});
        }
        std::ranges::reverse(results);
        ASSERT_TRUE(search->tell(results));
    }
    EXPECT_GT(keys.size(), 10u);
    std::ranges::sort(keys);
    EXPECT_EQ(std::ranges::adjacent_find(keys), keys.end());
}

TEST(Search, EndsWhereTheSpaceDoes) {  // p, its negation, true and false, each with three tiles
    Space space = space_of("in pred p, out pred q", "not.pred\n", 2);
    space.tunables.push_back({.name = "tile", .values = {1, 2, 4}});
    auto search = Search::open("", space, {.islands = 1, .block = 16, .attempts = 1000, .refine = false});
    ASSERT_TRUE(search) << message(search.error());
    Cases cases{.count = 2, .measure = Measure::bits};
    cases.inputs = {{std::byte{0}, std::byte{1}}, {}};
    cases.right = {{}, {1, 0}};
    const auto gate = columns(space, cases);
    ASSERT_TRUE(gate) << message(gate.error());
    const Summary summary = found(*search, **gate, {.budget = {.candidates = 100'000}, .threads = 2});
    EXPECT_EQ(summary.stop, Stop::exhausted);
    EXPECT_EQ(summary.judged, 12u);
    ASSERT_TRUE(summary.best);
    EXPECT_EQ(summary.best->cost, 1);
}

TEST(Search, TakesResultsInAnyOrder) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    const Options options{.seed = 6, .axes = by_instructions(), .block = 64};
    const std::string by_run = archive_path("by_run"), by_hand = archive_path("by_hand");
    {
        auto search = Search::open(by_run, space, options);
        found(*search, **gate, {.budget = {.candidates = 640}, .threads = 1});
    }
    auto search = Search::open(by_hand, space, options);
    std::mt19937 random(1);
    std::vector<Result> waiting;
    while (search->ledger().judged < 640) {
        const auto candidates = *search->ask(40);
        for (const Candidate& c : candidates) {
            Result result{.index = c.index};
            const Candidate* const in[] = {&c};
            Result* const out[] = {&result};
            (*gate)->evaluate(in, out);
            waiting.push_back(std::move(result));
        }
        std::ranges::shuffle(waiting, random);
        const std::size_t n = candidates.empty() ? waiting.size() : waiting.size() / 2;
        ASSERT_TRUE(search->tell(std::span(waiting).first(n)));
        waiting.erase(waiting.begin(), waiting.begin() + static_cast<std::ptrdiff_t>(n));
    }
    const std::string text = exported(by_run), other = exported(by_hand);
    EXPECT_EQ(text, other.substr(0, text.size()));
}

TEST(Search, RefusesResultsThatItDidNotAskFor) {
    auto search = Search::open("", space_of("in u32 x, out u32 y", words), {.block = 64});
    const Result unknown[] = {{.index = 1'000'000}};
    const auto told = search->tell(unknown);
    ASSERT_FALSE(told);
    EXPECT_EQ(told.error().code, Errc::result_unknown);
    const Result nan[] = {{.index = search->ask(1)->at(0).index, .cost = NAN}};
    EXPECT_FALSE(search->tell(nan));
}

// A gate that throws, or gives no numbers, for a while.
struct BrokenGate final : Gate {
    std::atomic<int> left = 1;
    bool throws = true;
    [[nodiscard]] std::string_view name() const override { return "broken"; }
    void evaluate(std::span<const Candidate* const> candidates, std::span<Result* const> results) override {
        for (std::size_t k = 0; k < candidates.size(); ++k) {
            results[k]->status = Status::infeasible;
            results[k]->errors = {1.0f};
            if (left-- <= 0) continue;
            if (throws) throw std::runtime_error("broken");
            results[k]->cost = NAN;
        }
    }
};

TEST(Search, JudgesAgainWhatAGateDidNotJudge) {
    for (const bool throws : {true, false}) {
        auto search = Search::open("", space_of("in u32 x, out u32 y", words), {.block = 64});
        ASSERT_TRUE(search);
        BrokenGate gate;
        gate.throws = throws;
        Gate* const gates[] = {&gate};
        const RunOptions options{.budget = {.candidates = 100}, .threads = 2};
        if (throws) {
            EXPECT_THROW((void)search->run(gates, options), std::runtime_error);
        } else {
            EXPECT_EQ(search->run(gates, options).error().code, Errc::result_unknown);
        }
        EXPECT_EQ(search->ledger().judged, 0u);
        ASSERT_TRUE(search->run(gates, options));
        EXPECT_EQ(search->ledger().judged, 100u);
        EXPECT_EQ(search->ledger().by_status[static_cast<std::size_t>(Status::infeasible)], 100u);
    }
}

TEST(Search, RefusesWhatIsNoSpace) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto code_of = [&](Space with, Options options) {
        const auto search = Search::open("", std::move(with), std::move(options));
        return search ? Errc::ok : search.error().code;
    };
    EXPECT_EQ(code_of(space, {}), Errc::ok);
    EXPECT_EQ(code_of({}, {}), Errc::space_invalid);
    EXPECT_EQ(code_of(space_of("in u32 x", words), {}), Errc::space_invalid);
    EXPECT_EQ(code_of(space, {.islands = 0}), Errc::space_invalid);
    EXPECT_EQ(code_of(space, {.operators = {{"mutate", 1}}}), Errc::space_invalid);
    EXPECT_EQ(code_of(space, {.operators = {{"umad", 0}}}), Errc::space_invalid);
    EXPECT_EQ(code_of(space, {.axes = {{"a", {2, 1}}}}), Errc::space_invalid);
    Space tuned = space;
    tuned.tunables.push_back({.name = "tile", .values = {}});
    EXPECT_EQ(code_of(tuned, {}), Errc::space_invalid);
    tuned.tunables = {{.name = "tile", .values = {1, 2}}};
    EXPECT_EQ(code_of(tuned, {}), Errc::ok);
    tuned.tunables[0].name = tuned.sites[0].name;  // one key of an export for two things
    EXPECT_EQ(code_of(tuned, {}), Errc::space_invalid);
    tuned.tunables = {{.name = "tile", .values = {1}}, {.name = "tile", .values = {2}}};
    EXPECT_EQ(code_of(tuned, {}), Errc::space_invalid);
    Space twice = space;
    twice.sites.push_back(twice.sites[0]);
    EXPECT_EQ(code_of(twice, {}), Errc::space_invalid);
}

TEST(Search, CasesFitTheSignature) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto code_of = [&](const Cases& cases) {
        const auto gate = columns(space, cases);
        return gate ? Errc::ok : gate.error().code;
    };
    Cases cases = word_cases(without_lowest_bit);
    EXPECT_EQ(code_of(cases), Errc::ok);
    cases.right[1].pop_back();
    EXPECT_EQ(code_of(cases), Errc::cases_invalid);
    cases.right[1].clear();
    EXPECT_EQ(code_of(cases), Errc::cases_invalid);
    EXPECT_EQ(code_of({}), Errc::cases_invalid);
}

Enumeration enumerated(const Space& space, const Cases& cases, std::uint32_t most,
                       std::uint32_t threads = 2) {
    const auto made = enumerate(space, cases, {.instructions = most, .threads = threads});
    EXPECT_TRUE(made) << message(made.error());
    return made.value_or(Enumeration{});
}

TEST(Enumerate, ProvesThatNothingIsShorter) {
    Space space = space_of("in u32 x, out u32 y", words);
    space.constants = {1, 0xFFFFFFFFu};
    const auto shortest = [&](auto f) {
        const Cases cases = word_cases(f);
        const Enumeration made = enumerated(space, cases, 4);
        EXPECT_TRUE(made.is_complete);
        EXPECT_TRUE(made.program);
        if (!made.program) return ~0u;
        const auto stub = stack::make_stub(*made.program, space.sites[0].machine, program_options);
        EXPECT_TRUE(stub);
        EXPECT_EQ(stub->instruction_count(), made.instructions);
        const auto gate = columns(space, cases);
        Candidate candidate{.genome = {.programs = {*made.program}, .tunables = {}}, .key = {}};
        Result result;
        const Candidate* const in[] = {&candidate};
        Result* const out[] = {&result};
        (*gate)->evaluate(in, out);
        EXPECT_EQ(result.status, Status::ok);
        return made.instructions;
    };
    using u32 = std::uint32_t;
    EXPECT_EQ(enumerated(space, word_cases([](u32 x) { return x; }), 2).instructions, 0u);
    EXPECT_EQ(shortest([](u32 x) { return ~x; }), 1u);
    EXPECT_EQ(shortest([](u32 x) { return x & (x - 1); }), 2u);
    EXPECT_EQ(shortest([](u32 x) { return x & (0 - x); }), 2u);
    EXPECT_EQ(shortest([](u32 x) { return x ^ (x - 1); }), 2u);
    EXPECT_EQ(shortest([](u32 x) { return ~x & (x - 1); }), 3u);
    EXPECT_EQ(shortest([](u32 x) { return ((x | (x - 1)) + 1) & x; }), 4u);
}

TEST(Enumerate, SaysWhereNothingIsShortEnough) {
    const Space space = space_of("in u32 x, out u32 y", "add.u32\n");
    const Enumeration eight = enumerated(space, word_cases([](std::uint32_t x) { return 8 * x; }), 2);
    EXPECT_FALSE(eight.program);
    EXPECT_TRUE(eight.is_complete);
    EXPECT_EQ(enumerated(space, word_cases([](std::uint32_t x) { return 8 * x; }), 3).instructions, 3u);
    const auto few = enumerate(space_of("in u32 x, out u32 y", words),
                               word_cases([](std::uint32_t x) { return x * 77777u; }),
                               {.instructions = 4, .trials = 10'000});
    ASSERT_TRUE(few);
    EXPECT_FALSE(few->is_complete);
}

TEST(Enumerate, IsTheSameOnOneThreadAndOnMany) {
    Space space = space_of("in u32 x, out u32 y", words);
    space.constants = {1};
    const Cases cases = word_cases([](std::uint32_t x) { return ~x & (x + 1); });
    EXPECT_EQ(enumerated(space, cases, 3, 1).program, enumerated(space, cases, 3, 4).program);
}

TEST(Enumerate, TakesFormsWithImmediatesAndFloats) {
    Space space = space_of("in f32 x, out f32 y", floats);
    space.constants = {0.5, 1};
    EXPECT_EQ(enumerated(space, float_cases(-1, 1, 65, 1e-7, [](float x) { return 0.5 * x * x + 1; }), 3)
                  .instructions,
              2u);
}

TEST(Search, ComparesWordsAsWords) {
    const auto code_of = [](std::string_view signature, Measure measure, double right, std::size_t bytes) {
        const Space space = space_of(signature, "not.b32\n");
        Cases cases{.count = 1, .measure = measure};
        cases.inputs = {std::vector<std::byte>(bytes), {}};
        cases.right = {{}, {right}};
        const auto gate = columns(space, cases);
        return gate ? Errc::ok : gate.error().code;
    };
    EXPECT_EQ(code_of("in u32 x, out u32 y", Measure::bits, 7, 4), Errc::ok);
    EXPECT_EQ(code_of("in u32 x, out u32 y", Measure::bits, 1e300, 4), Errc::cases_invalid);
    EXPECT_EQ(code_of("in u32 x, out u32 y", Measure::bits, 1.5, 4), Errc::cases_invalid);
    EXPECT_EQ(code_of("in u64 x, out u64 y", Measure::bits, 0x1p60, 8), Errc::cases_invalid);
    // 2^53 + 1 as a number is that too
    EXPECT_EQ(code_of("in u64 x, out u64 y", Measure::bits, 0x1p53, 8), Errc::cases_invalid);
    EXPECT_EQ(code_of("in s64 x, out s64 y", Measure::bits, -0x1p53, 8), Errc::cases_invalid);
    EXPECT_EQ(code_of("in s64 x, out s64 y", Measure::bits, 1 - 0x1p53, 8), Errc::ok);
    EXPECT_EQ(code_of("in f32 x, out f32 y", Measure::bits, 1, 4), Errc::cases_invalid);
}

TEST(Search, WorksWithoutInstructions) {
    const Space space = space_of("in u32 x, out u32 y", "");
    const auto gate = columns(space, word_cases([](std::uint32_t x) { return x; }));
    auto search = Search::open("", space, {.block = 16, .attempts = 4});
    ASSERT_TRUE(search);
    EXPECT_TRUE(found(*search, **gate, {.budget = {.candidates = 40}, .threads = 1}).best);
}

TEST(Search, RefusesGenomesThatAreNotOfTheSpace) {
    auto search = Search::open("", space_of("in u32 x, out u32 y", words), {.block = 64});
    const std::uint64_t index = search->ask(1)->at(0).index;
    Result result{.index = index};
    result.genome = Genome{};
    EXPECT_EQ(search->tell(std::span(&result, 1)).error().code, Errc::result_unknown);
    result.genome = Genome{.programs = {stack::Program{
                               .code = std::vector<stack::Instruction>(1000), .pool = {}, .routines = {}}},
                           .tunables = {}};
    EXPECT_EQ(search->tell(std::span(&result, 1)).error().code, Errc::result_unknown);
    result.genome.reset();
    result.status = static_cast<Status>(77);
    EXPECT_EQ(search->tell(std::span(&result, 1)).error().code, Errc::result_unknown);
    result.status = Status::failed;
    EXPECT_TRUE(search->tell(std::span(&result, 1)));
}

TEST(Search, EndsInTime) {
    const Space space = space_of("in f32 x, out f32 y", floats);
    const auto gate = columns(space, float_cases(-4, 4, 1 << 20, 1e9, [](float x) { return std::tanh(x); }));
    auto search = Search::open("", space, {});
    ASSERT_TRUE(search);
    EXPECT_EQ(found(*search, **gate, {.budget = {.seconds = 0.2}, .threads = 1}).stop, Stop::budget);
    EXPECT_LT(search->ledger().judged, 1024u);  // a whole block would take many times as long
}

TEST(Enumerate, LooksAtAllPoints) {  // one that the screen does not see is wrong
    Space space = space_of("in u32 x, out u32 y", "add.u32\n");
    Cases cases{.count = 4096, .measure = Measure::bits};
    std::vector<std::uint32_t> x(cases.count, 5);
    cases.inputs = {std::vector<std::byte>(4 * cases.count), {}};
    cases.right = {{}, std::vector<double>(cases.count, 5)};
    x[1] = 6;  // between two points of the screen
    std::memcpy(cases.inputs[0].data(), x.data(), 4 * cases.count);
    EXPECT_FALSE(enumerated(space, cases, 1).program);
    cases.right[1][1] = 6;
    EXPECT_TRUE(enumerated(space, cases, 1).program);
}

TEST(Enumerate, HasConstantsOfAllTypes) {
    Space space = space_of("in f64 x, out f64 y", "add.f64\n");
    space.constants = {0.1};
    Cases cases{.count = 2, .measure = Measure::absolute};
    const double x[] = {1, 2};
    cases.inputs = {std::vector<std::byte>(16), {}};
    std::memcpy(cases.inputs[0].data(), x, 16);
    cases.right = {{}, {1.1, 2.1}};
    EXPECT_EQ(enumerated(space, cases, 2).instructions, 1u);
    for (int k = 0; k < 300; ++k) space.constants.push_back(k);
    EXPECT_FALSE(enumerate(space, cases));
}

TEST(Archive, IsOfOneSearch) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const std::string path = archive_path("one");
    const Options options{.seed = 1, .block = 64};
    auto search = Search::open(path, space, options);
    ASSERT_TRUE(search) << message(search.error());
    const auto code_of = [&](const Space& with, const Options& how) {
        const auto other = Search::open(path, with, how);
        return other ? Errc::ok : other.error().code;
    };
    EXPECT_EQ(code_of(space, options), Errc::archive_in_use);
    EXPECT_TRUE(Archive::open(path));  // to be read meanwhile
    search = tl::unexpected(Error{});
    EXPECT_EQ(code_of(space, {.seed = 2, .block = 64}), Errc::archive_differs);
    EXPECT_EQ(code_of(space_of("in u32 x, out u32 y", words, 25), options), Errc::archive_differs);
    EXPECT_EQ(code_of(space_of("in u32 x, out u32 y", "add.u32\n"), options), Errc::archive_differs);
    Options other_task = options;
    other_task.task = "another";
    EXPECT_EQ(code_of(space, other_task), Errc::archive_differs);
    EXPECT_EQ(code_of(space, options), Errc::ok);
}

TEST(Archive, NoticesWhenItIsCutOff) {
    const Space space = space_of("in u32 x, out u32 y", words);
    const auto gate = columns(space, word_cases(without_lowest_bit));
    const Options options{.seed = 1, .block = 64};
    const std::string path = archive_path("cut");
    {
        auto search = Search::open(path, space, options);
        found(*search, **gate, {.budget = {.candidates = 640}, .threads = 1});
    }
    const auto size = std::filesystem::file_size(path);
    const std::string whole = read_file(path);
    for (const double part : {0.999, 0.7, 0.3, 0.01}) {
        for (const char* ending : {"-wal", "-shm"}) std::filesystem::remove(path + ending);
        write_file(path, whole.substr(0, static_cast<std::size_t>(part * static_cast<double>(size))));
        const auto search = Search::open(path, space, options);
        EXPECT_FALSE(search) << part;
    }
    write_file(path, "this is not a database, but a letter to somebody");
    const auto search = Search::open(path, space, options);
    ASSERT_FALSE(search);
    EXPECT_EQ(search.error().code, Errc::archive_malformed);
}

TEST(Archive, SaysWhatItIsOf) {
    Space space = space_of("in u32 x, out u32 y", words);
    space.sites[0].seeds.push_back(*stack::parse("x 1 sub.u32 -> y", space.sites[0].machine));
    space.tunables.push_back({.name = "tile", .values = {32, 64}});
    space.constants = {0.5, 3};
    const std::string path = archive_path("about");
    ASSERT_TRUE(Search::open(path, space, {.axes = by_instructions(), .task = "of a test"}));
    const auto archive = Archive::open(path);
    ASSERT_TRUE(archive) << message(archive.error());
    EXPECT_EQ(archive->space().hash(), space.hash());
    EXPECT_EQ(archive->options().task, "of a test");
    EXPECT_EQ(archive->options().axes[0].edges, by_instructions()[0].edges);
}

}  // namespace
}  // namespace ptxgraft::search
