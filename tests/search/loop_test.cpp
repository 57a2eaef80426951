// The loop of a search: where it ends, what it may spend, what surrogates leave out, and what archives do
// with rows that are damaged, tables, and genomes of other searches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sqlite3.h>
#include <sys/wait.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cmath>
#include <filesystem>
#include <mutex>
#include <set>
#include <stdexcept>

#include "ptxgraft/program.hpp"
#include "ptxgraft/search.hpp"
#include "search/loop.hpp"

namespace ptxgraft::search {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using testing::StartsWith;

// ---- ends -------------------------------------------------------------------------------------------------

// A new best at these indices alone.
void improves_at_first(const Candidate& candidate, Result& result) {
    constexpr std::array<std::uint64_t, 4> places = {0, 3, 70, 411};
    result.cost = std::ranges::find(places, candidate.index) != places.end()
                      ? 1000.0 - static_cast<double>(candidate.index)
                      : 1000.0;
}

TEST(Loop, EndsWhereNothingBetterIsFoundForAWhile) {
    const Space space = float_space();
    const Options options{.block = 64, .attempts = 64, .refine = false};
    for (const std::uint32_t threads : {1u, 3u}) {
        auto search = Search::open("", space, options);
        ByFunction gate("right", improves_at_first);
        const Summary summary = ran(*search, {&gate}, {.stagnation = 500, .threads = threads});
        EXPECT_EQ(summary.stop, Stop::stagnation);
        EXPECT_EQ(name(summary.stop), "stagnation");
        EXPECT_EQ(summary.judged, 412u + 500);
        EXPECT_EQ(search->ledger().without_gain, 500u);
        EXPECT_EQ(summary.best->index, 411u);
    }
}

TEST(Loop, CountsForStagnationWhatWasJudgedBefore) {
    const Space space = float_space();
    const Options options{.block = 64, .attempts = 64, .refine = false};
    const std::string path = archive_path("stagnation");
    ByFunction gate("right", improves_at_first);
    for (const std::uint64_t part : {5u, 500u, 300u}) {
        auto search = Search::open(path, space, options);
        EXPECT_EQ(ran(*search, {&gate}, {.budget = {.candidates = part}, .stagnation = 500}).stop,
                  Stop::budget);
    }
    auto search = Search::open(path, space, options);
    EXPECT_EQ(ran(*search, {&gate}, {.stagnation = 500}).judged, 912u);
    EXPECT_EQ(ran(*search, {&gate}, {.stagnation = 500}).judged, 912u) << "it is over";
    EXPECT_EQ(ran(*search, {&gate}, {.stagnation = 510}).judged, 922u);
    search = tl::unexpected(Error{});
    const auto archive = Archive::open(path);
    EXPECT_EQ(archive->stop(), Stop::stagnation);
    EXPECT_EQ(archive->ledger()->without_gain, 510u);
}

// However a search comes to its end, on some threads, in parts, told by hand or when it is asked to stop amid
// a block: that is the candidate which the log says.
TEST(Loop, EndsBehindTheSameCandidateHoweverItIsRun) {
    const Space space = float_space();
    const Options options{.block = 64, .attempts = 64, .refine = false};
    const Target target{.cost = 600};
    struct End {
        RunOptions options;
        Stop stop;
        std::uint64_t judged;
    };
    for (const End& end :
         {End{{.target = target}, Stop::target, 412}, End{{.stagnation = 100}, Stop::stagnation, 171},
          End{{.budget = {.candidates = 70}}, Stop::budget, 70}}) {
        for (const std::uint32_t threads : {1u, 3u}) {
            auto search = Search::open("", space, options);
            std::atomic<bool> stop = false;
            ByFunction gate("right", [&](const Candidate& candidate, Result& result) {
                improves_at_first(candidate, result);
                if (candidate.index % 50 == 20) stop = true;  // those behind it have results, and others none
            });
            RunOptions run = end.options;
            run.threads = threads;
            run.stop = &stop;
            Summary summary{.stop = Stop::asked};
            for (; summary.stop == Stop::asked; stop = false) {
                run.budget.candidates = end.options.budget.candidates == 0
                                            ? 0
                                            : end.options.budget.candidates - search->ledger().judged;
                summary = ran(*search, {&gate}, run);
            }
            EXPECT_EQ(summary.stop, end.stop);
            EXPECT_EQ(summary.judged, end.judged) << threads;
        }
    }
    for (const std::uint64_t part : {1u, 7u, 63u, 64u, 100u}) {
        auto search = Search::open("", space, options);
        ByFunction gate("right", improves_at_first);
        Summary summary;
        while (summary.stop == Stop::budget)
            summary = ran(*search, {&gate}, {.budget = {.candidates = part}, .target = target});
        EXPECT_EQ(summary.judged, 412u) << part;
        // it goes on with what was judged behind the end
        EXPECT_EQ(ran(*search, {&gate}, {.budget = {.candidates = 5}}).judged, 417u) << part;
    }
}

// What was asked for and never told is judged by a run, and no end of the space.
TEST(Loop, RunsWithWhatNobodyHasTold) {
    auto search = Search::open("", float_space(), {.block = 16, .refine = false});
    ASSERT_THAT(*search->ask(1000), SizeIs(32));
    ByFunction gate("right", all_are_right);
    EXPECT_EQ(ran(*search, {&gate}, {.budget = {.candidates = 100}}).stop, Stop::budget);
    EXPECT_EQ(search->ledger().judged, 100u);
}

TEST(Loop, GoesNowhereBehindAnArchiveThatCouldNotBeWritten) {
    const std::string path = archive_path("unwritten");
    auto search = Search::open(path, float_space(), {.block = 16, .refine = false});
    change(path, "CREATE TRIGGER full BEFORE INSERT ON gate BEGIN SELECT RAISE(FAIL, 'no room'); END");
    ByFunction right("right", all_are_right);
    Gate* const gates[] = {&right};
    for (int k = 0; k < 2; ++k) {
        const auto summary = search->run(gates, {.budget = {.candidates = 1000}});
        ASSERT_FALSE(summary) << k << name(summary->stop);
        EXPECT_EQ(summary.error().code, Errc::archive_failed);
        EXPECT_THAT(message(summary.error()), HasSubstr("no room"));
    }
    EXPECT_LE(right.came, 48u) << "nothing is judged behind that but what was under way";
    search = tl::unexpected(Error{});
    change(path, "DROP TRIGGER full");
    search = Search::open(path, float_space(), {.block = 16, .refine = false});
    EXPECT_EQ(ran(*search, {&right}, {.budget = {.candidates = 100}}).judged, 100u);
}

// ---- several threads --------------------------------------------------------------------------------------

// The calling thread says what it has committed; meanwhile another one has begun with the next block.
TEST(Loop, JudgesABlockWhileTheOneBeforeIsCommitted) {
    auto search = Search::open("", float_space(), {.block = 64, .refine = false});
    std::atomic<std::uint64_t> last = 0;  // that was judged
    ByFunction gate("right", [&](const Candidate& candidate, Result& result) {
        all_are_right(candidate, result);
        std::uint64_t before = last;
        while (before < candidate.index && !last.compare_exchange_weak(before, candidate.index)) {}
    });
    std::uint64_t told = 0;
    const auto wait_for_next = [&](const Ledger& ledger) {
        ++told;
        if (ledger.judged >= 640) return;
        for (int k = 0; k < 10'000 && last < ledger.judged; ++k) ::usleep(1000);
        EXPECT_GE(last, ledger.judged) << "nobody judges meanwhile";
    };
    ran(*search, {&gate}, {.budget = {.candidates = 640}, .threads = 2, .progress = wait_for_next});
    EXPECT_GE(told, 10u);
}

// What a gate throws ends the run on all threads; what was committed until then is in the archive, and the
// search goes on as if nothing had been.
TEST(Loop, GoesOnBehindAGateThatThrew) {
    const std::string whole = archive_path("unthrown"), thrown = archive_path("thrown");
    const Options options{.block = 64, .refine = false};
    ByFunction right("right", all_are_right);
    {
        auto search = Search::open(whole, float_space(), options);
        ran(*search, {&right}, {.budget = {.candidates = 1000}});
    }
    bool throws = true;
    ByFunction other("right", [&](const Candidate& candidate, Result& result) {
        if (throws && candidate.index == 500) throw std::runtime_error("no device");
        all_are_right(candidate, result);
    });
    Gate* const gates[] = {&other};
    {
        auto search = Search::open(thrown, float_space(), options);
        EXPECT_THROW((void)search->run(gates, {.budget = {.candidates = 1000}, .threads = 3}),
                     std::runtime_error);
        EXPECT_GE(search->ledger().judged, 300u);
        const std::string begun = exported(thrown);
        EXPECT_EQ(static_cast<std::uint64_t>(std::ranges::count(begun, '\n')), search->ledger().judged);
        EXPECT_EQ(begun, exported(whole).substr(0, begun.size()));
    }
    throws = false;
    auto search = Search::open(thrown, float_space(), options);
    const std::uint64_t left = 1000 - search->ledger().judged;
    ran(*search, {&other}, {.budget = {.candidates = left}, .threads = 2});
    EXPECT_EQ(exported(thrown), exported(whole));
}

// p, its negation, true and false, each with three tiles.
Space of_twelve() {
    const auto machine = stack::Machine::make(*stack::InstructionSet::parse("not.pred\n"),
                                              *Signature::parse("in pred p, out pred q"));
    Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}, .max_genes = 2});
    space.tunables.push_back({.name = "tile", .values = {1, 2, 4}});
    return space;
}

TEST(Loop, ExhaustsASpaceInBlocksOfOne) {
    const Space space = of_twelve();
    ByFunction gate("right", all_are_right);
    const std::string path = archive_path("ones");
    for (const std::uint64_t most : {5u, 1000u}) {
        auto search = Search::open(path, space, {.islands = 1, .block = 1, .refine = false});
        ASSERT_TRUE(search) << message(search.error());
        const Summary summary = ran(*search, {&gate}, {.budget = {.candidates = most}});
        EXPECT_EQ(summary.stop, most == 5 ? Stop::budget : Stop::exhausted);
        if (most == 5) continue;
        // as hard as a search in blocks of 1,024 tries, and one is hardly ever drawn
        EXPECT_GE(search->ledger().duplicates, 3u * 1024 * 16);
        EXPECT_GE(summary.judged, 11u);
        EXPECT_LE(summary.judged, 12u);
    }
}

TEST(Loop, TriesNoLongerWhereASpaceIsExhaustedHoweverManyAttemptsThereAre) {
    auto search = Search::open("", of_twelve(), {.block = 64, .attempts = 4'000'000'000, .refine = false});
    ByFunction gate("right", all_are_right);
    const Summary summary = ran(*search, {&gate}, {.budget = {.candidates = 1000}});
    EXPECT_EQ(summary.stop, Stop::exhausted);
    EXPECT_EQ(summary.judged, 12u);
}

// A draw that is left off goes on where it was, and the course is the same.
TEST(Loop, LeavesOffDrawingWhenItIsAskedToStop) {
    const Options options{.islands = 1, .block = 512, .attempts = 200};
    const Space space = float_space("add.f32\nmul.f32\n", 6);
    const std::string whole = archive_path("drawn"), parts = archive_path("left_off");
    ByFunction gate("right", all_are_right);
    {
        auto search = Search::open(whole, space, options);
        ran(*search, {&gate}, {.budget = {.candidates = 3000}});
    }
    auto search = Search::open(parts, space, options);
    std::uint64_t left_off = 0, drawn = 0;
    while (search->ledger().judged < 3000) {
        std::atomic<bool> stop = false;
        ByFunction last("right", [&](const Candidate& candidate, Result& result) {
            all_are_right(candidate, result);
            if (candidate.index % 512 != 511) return;
            stop = true;  // what follows is a draw
            drawn = search->ledger().drawn;
        });
        const std::uint64_t left = 3000 - search->ledger().judged;
        const Summary summary =
            ran(*search, {&last}, {.budget = {.candidates = left}, .threads = 1, .stop = &stop});
        if (summary.stop != Stop::asked) continue;
        ++left_off;
        EXPECT_EQ(search->ledger().drawn, drawn) << "nothing more is drawn";
    }
    EXPECT_GT(left_off, 3u);
    search = tl::unexpected(Error{});
    EXPECT_EQ(exported(whole), exported(parts));
}

// ---- budgets ----------------------------------------------------------------------------------------------

TEST(Loop, EndsBeforeItPassesABudgetOfAssembliesOrEmulations) {
    const Space space = float_space();
    for (const std::uint32_t threads : {1u, 4u}) {
        ByFunction screen("columns", half_pass), code("assembly", half_pass), run("emulation", all_are_right);
        const auto come = [&](const Budget& budget) {
            auto search = Search::open("", space, {.block = 64});
            screen.came = code.came = run.came = 0;
            const Summary summary =
                ran(*search, {&screen, &code, &run}, {.budget = budget, .threads = threads});
            EXPECT_EQ(summary.stop, Stop::budget);
            return summary.judged;
        };
        come({.assemblies = 137});
        EXPECT_EQ(code.came, 137u);
        EXPECT_GT(screen.came, 200u);
        come({.emulations = 41});
        EXPECT_EQ(run.came, 41u);
        come({.candidates = 10'000, .assemblies = 90, .emulations = 10'000});
        EXPECT_EQ(code.came, 90u);
        EXPECT_EQ(come({.candidates = 333, .assemblies = 100'000}), 333u);
        ByFunction again("assembly", half_pass);  // two of them: each candidate may be assembled twice
        auto search = Search::open("", space, {.block = 64});
        code.came = 0;
        ran(*search, {&code, &again}, {.budget = {.assemblies = 60}, .threads = threads});
        EXPECT_LE(code.came + again.came, 60u);
        EXPECT_GE(code.came + again.came, 59u);
    }
}

TEST(Loop, EndsBeforeItPassesABudgetOfGpuSeconds) {
    const Space space = float_space();
    ByFunction screen("columns", half_pass), timing("timing", all_are_right, 0.25);
    auto search = Search::open(archive_path("gpu"), space, {.block = 64});
    const Summary summary = ran(*search, {&screen, &timing}, {.budget = {.gpu_seconds = 20}, .threads = 2});
    EXPECT_EQ(summary.stop, Stop::budget);
    EXPECT_LE(timing.gpu_seconds(), 20);
    EXPECT_GT(timing.gpu_seconds(), 19);
    EXPECT_DOUBLE_EQ(search->ledger().gates[1].gpu_seconds, timing.gpu_seconds());
    search = tl::unexpected(Error{});
    const auto archive = Archive::open(archive_path("none"));
    EXPECT_FALSE(archive);
}

// Small batches are for a price that is not known, and without a GPU there is none.
TEST(Loop, ABudgetOfGpuSecondsIsNothingToGatesWithoutOne) {
    for (const double price : {0.0, 0.001}) {
        auto search = Search::open("", float_space(), {.block = 256, .refine = false});
        ByFunction screen("columns", all_are_right), timing("timing", all_are_right, price);
        std::vector<std::uint64_t> judged;
        ran(*search, {&screen, &timing},
            {.budget = {.candidates = 700, .gpu_seconds = 5},
             .progress = [&](const Ledger& ledger) { judged.push_back(ledger.judged); }});
        EXPECT_EQ(judged[0], price == 0 ? 256u : 16u);
        EXPECT_EQ(judged.back(), 700u);
    }
}

TEST(Loop, KeepsSecondsOfGpusOfAllRuns) {
    const std::string path = archive_path("gpus");
    ByFunction timing("timing", all_are_right, 0.5);
    for (int k = 0; k < 2; ++k) {
        auto search = Search::open(path, float_space(), {.block = 64});
        ran(*search, {&timing}, {.budget = {.candidates = 10}});
    }
    EXPECT_DOUBLE_EQ(Archive::open(path)->ledger()->gates[0].gpu_seconds, 10);
}

TEST(Loop, ABudgetOfAssembliesIsNoPartOfTheCourse) {
    const Space space = float_space();
    const std::string whole = archive_path("whole"), parts = archive_path("parts");
    ByFunction screen("columns", half_pass), code("assembly", all_are_right);
    {
        auto search = Search::open(whole, space, {.block = 64});
        ran(*search, {&screen, &code}, {.budget = {.candidates = 900}, .threads = 2});
    }
    for (;;) {
        auto search = Search::open(parts, space, {.block = 64});
        if (search->ledger().judged >= 900) break;
        ran(*search, {&screen, &code}, {.budget = {.assemblies = 33}, .threads = 1});
    }
    const std::string text = exported(whole);
    EXPECT_EQ(text, exported(parts).substr(0, text.size()));
}

// ---- surrogates -------------------------------------------------------------------------------------------

// Machine code that is the longer the more instructions of PTX there are, with a limit; and the longer the
// better, so that there is much that passes it.
constexpr std::uint32_t most_bytes = 600;
ByFunction::Function assembler_of(const Space& space) {
    return [&space](const Candidate& candidate, Result& result) {
        const std::uint32_t length = length_of(candidate.genome, space);
        const auto noise = static_cast<std::uint32_t>(candidate.key.structure % 3);
        result.code = CodeSize{.registers = 8 + length, .code_bytes = 200 + 64 * length + 8 * noise};
        result.cost = 100 - static_cast<double>(length);
        result.descriptor = {static_cast<double>(length)};
        if (result.code->code_bytes <= most_bytes) return;
        result.status = Status::rejected;
        result.detail = "too large";
    };
}
void ask_for_long_ones(const Candidate& candidate, Result& result) {
    result.errors = {static_cast<float>(candidate.key.structure % 1000)};
}

Options with_surrogate() {
    Options options{.seed = 7,
                    .axes = {{"instructions", {1, 2, 3, 4, 5, 6, 7, 8}}},
                    .islands = 2,
                    .block = 64,
                    .refine = false};
    options.surrogate = GuessOptions{.code_bytes = most_bytes};
    return options;
}

struct Outcome {
    std::uint64_t assembled = 0, guessed = 0;
    double best = 0;
};
Outcome search_code(const std::string& path, std::uint64_t candidates, std::uint32_t threads,
                    const Options& options) {
    const Space space = float_space();
    auto search = Search::open(path, space, options);
    EXPECT_TRUE(search) << message(search.error());
    ByFunction screen("columns", ask_for_long_ones), code("assembly", assembler_of(space));
    const std::uint64_t judged = search->ledger().judged;
    const Summary summary =
        ran(*search, {&screen, &code}, {.budget = {.candidates = candidates - judged}, .threads = threads});
    return {code.came, search->ledger().guessed, summary.best ? summary.best->cost : INFINITY};
}

TEST(Loop, DoesNotAssembleWhatIsSurelyTooLarge) {
    Options without = with_surrogate();
    without.surrogate.reset();
    const std::string path = archive_path("guessed");
    const Outcome all = search_code("", 4000, 2, without),
                  some = search_code(path, 4000, 2, with_surrogate());
    EXPECT_EQ(all.assembled, 4000u);
    EXPECT_EQ(all.guessed, 0u);
    EXPECT_GT(some.guessed, 200u);
    EXPECT_EQ(some.assembled + some.guessed, 4000u);
    EXPECT_EQ(some.best, all.best);
    const auto archive = Archive::open(path);
    const Space space = float_space();
    std::uint64_t guessed = 0, wrongly = 0, long_ones = 0;
    ASSERT_TRUE(archive->for_each([&](const Candidate& candidate, const Result& result) {
        const std::uint32_t bytes = 200 + 64 * length_of(candidate.genome, space);
        if (result.detail.starts_with("guessed ")) {
            ++guessed;
            EXPECT_EQ(result.status, Status::rejected);
            EXPECT_THAT(result.detail, HasSubstr("bytes of code: not assembled"));
            EXPECT_FALSE(result.code);
            EXPECT_EQ(result.gate, 1);
            wrongly += bytes + 16 <= most_bytes ? 1 : 0;
        } else if (result.code && bytes > most_bytes + 3 * 64 && candidate.index > 2000) {
            ++long_ones;  // that keep the model honest
        }
    }));
    EXPECT_EQ(guessed, some.guessed);
    EXPECT_LE(wrongly * 10, guessed) << "of what is left out at most one in ten was within the limit";
    EXPECT_GT(long_ones, 0u);
    EXPECT_LT(long_ones * 4, guessed);
    EXPECT_EQ(archive->ledger()->guessed, guessed);
}

TEST(Loop, GuessesTheSameOnOneThreadAndOnManyAndWhenItIsKilled) {
    const std::string one = archive_path("guess1"), many = archive_path("guess4"),
                      parts = archive_path("guess_parts"), killed = archive_path("guess_killed");
    const Outcome whole = search_code(one, 3000, 1, with_surrogate());
    ASSERT_GT(whole.guessed, 100u);
    search_code(many, 3000, 4, with_surrogate());
    for (const std::uint64_t until : {10u, 700u, 701u, 1500u, 2222u, 3000u})
        search_code(parts, until, 2, with_surrogate());
    const pid_t child = ::fork();
    if (child == 0) {
        search_code(killed, 1'000'000, 1, with_surrogate());
        ::_exit(0);
    }
    const auto rows = [&] {
        std::error_code none;
        const auto size = std::filesystem::file_size(killed + "-wal", none);
        return none ? 0 : size;
    };
    for (int waited = 0; waited < 3000 && rows() < 400'000; ++waited) ::usleep(10'000);
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    {
        auto search = Search::open(killed, float_space(), with_surrogate());
        ASSERT_TRUE(search) << message(search.error());
        EXPECT_GT(search->ledger().judged, 0u);
        if (search->ledger().judged < 3000) {
            search = tl::unexpected(Error{});
            search_code(killed, 3000, 2, with_surrogate());
        }
    }
    const std::string text = exported(one);
    EXPECT_THAT(text, HasSubstr("not assembled"));
    EXPECT_EQ(text, exported(many));
    EXPECT_EQ(text, exported(parts));
    EXPECT_EQ(text, exported(killed).substr(0, text.size()));
}

TEST(Loop, PutsThePromisingOfABlockFirst) {
    const std::string path = archive_path("ordered");
    search_code(path, 4000, 1, with_surrogate());
    const Space space = float_space();
    double first = 0, last = 0;
    std::size_t blocks = 0;
    ASSERT_TRUE(Archive::open(path)->for_each([&](const Candidate& candidate, const Result&) {
        if (candidate.index < 2048) return;
        blocks += candidate.index % 64 == 0 ? 1 : 0;
        if (candidate.index % 64 < 16) first += length_of(candidate.genome, space);
        if (candidate.index % 64 >= 48) last += length_of(candidate.genome, space);
    }));
    EXPECT_GT(blocks, 10u);
    EXPECT_GT(first, 1.5 * last) << "the longest are the best";
}

TEST(Loop, SurrogatesAreAPartOfWhatAnArchiveIsOf) {
    const std::string path = archive_path("surrogate");
    Options other = with_surrogate();
    { ASSERT_TRUE(Search::open(path, float_space(), with_surrogate())); }
    other.surrogate->code_bytes = 1;
    EXPECT_EQ(Search::open(path, float_space(), other).error().code, Errc::archive_differs);
    other.surrogate.reset();
    EXPECT_EQ(Search::open(path, float_space(), other).error().code, Errc::archive_differs);
    const auto archive = Archive::open(path);
    ASSERT_TRUE(archive->options().surrogate);
    EXPECT_EQ(archive->options().surrogate->code_bytes, most_bytes);
    EXPECT_EQ(archive->options().surrogate->share, 0.05);
}

// ---- operators --------------------------------------------------------------------------------------------

TEST(Loop, TheLibraryBringsSegmentsOfPrograms) {
    Space space = float_space("add.f32\nmul.f32\nmax.f32\n");
    const stack::Machine& machine = space.sites[0].machine;
    space.sites[0].library = {*stack::parse("x 123.0 mul.f32 321.0 max.f32 -> y", machine)};
    const Options options{
        .seed = 2, .islands = 1, .block = 64, .refine = false, .operators = {{"library", 1}}};
    ByFunction gate("right", all_are_right);
    auto count_of = [&](const Space& of) {
        const std::string path = archive_path("library");
        auto search = Search::open(path, of, options);
        EXPECT_TRUE(search) << message(search.error());
        ran(*search, {&gate}, {.budget = {.candidates = 1000}});
        search = tl::unexpected(Error{});
        const auto archive = Archive::open(path);
        EXPECT_EQ(archive->space().hash(), of.hash());
        std::size_t with_word = 0;
        EXPECT_TRUE(archive->for_each([&](const Candidate& candidate, const Result&) {
            if (candidate.parents[0] == Candidate::no_parent) return;
            const std::string text = stack::print(candidate.genome.programs[0], machine);
            with_word += text.find("123.0 mul.f32") != std::string::npos ? 1 : 0;
        }));
        return with_word;
    };
    EXPECT_GT(count_of(space), 300u);
    Space without = space;
    without.sites[0].library.clear();
    EXPECT_NE(without.hash(), space.hash());
    EXPECT_EQ(count_of(without), 0u);
    without.sites[0].seeds = space.sites[0].library;
    EXPECT_GT(count_of(without), 300u) << "segments of seeds";
}

// Each of both instructions becomes each of its operands.
TEST(Loop, BypassesLeaveOperands) {
    Space space = float_space("add.f32\nmul.f32\n");
    const stack::Machine& machine = space.sites[0].machine;
    space.sites[0].seeds = {*stack::parse("37.5 x 19.25 mul.f32 add.f32 -> y", machine)};
    const Options options{
        .seed = 2, .islands = 1, .block = 16, .refine = false, .operators = {{"bypass", 1}}};
    const std::string path = archive_path("bypass");
    auto search = Search::open(path, space, options);
    ASSERT_TRUE(search) << message(search.error());
    ByFunction gate("right", all_are_right);
    ran(*search, {&gate}, {.budget = {.candidates = 200}});
    search = tl::unexpected(Error{});
    std::set<std::string> found;
    const auto archive = Archive::open(path);
    EXPECT_TRUE(archive->for_each([&](const Candidate& candidate, const Result&) {
        if (candidate.parents[0] == Candidate::no_parent) return;
        const auto shorter = stack::simplify(candidate.genome.programs[0], machine);
        found.insert(stack::print(*shorter, machine));
    }));
    for (const char* const wanted :
         {"37.5 x add.f32 -> y", "37.5 19.25 add.f32 -> y", "x 19.25 mul.f32 -> y"})
        EXPECT_THAT(found, testing::Contains(testing::StartsWith(wanted)));
}

// An archive could not say them.
TEST(Loop, RefusesOptionsThatAreNoNumbers) {
    for (const double edge : {double{INFINITY}, -double{INFINITY}, double{NAN}})
        EXPECT_EQ(Search::open("", float_space(), {.axes = {{"error", {edge}}}}).error().code,
                  Errc::space_invalid);
    for (const double share : {double{NAN}, -0.1, 1.1})
        EXPECT_EQ(Search::open("", float_space(), {.surrogate = GuessOptions{.share = share}}).error().code,
                  Errc::space_invalid);
}

// ---- costs that are intervals -----------------------------------------------------------------------------

Elite elite_of(double cost, double low, double high, std::uint64_t index = 0, double value = 0) {
    Elite elite;
    elite.index = index;
    elite.cost = cost, elite.low = low, elite.high = high;
    elite.descriptor = {value};
    return elite;
}

TEST(Loop, CostsBelowNothingAreExactToo) {
    EXPECT_EQ(elite_of(-3, 0, 0).bound(), -3);
    EXPECT_EQ(elite_of(-3, -3, -3).bound(), -3);
    EXPECT_EQ(elite_of(-3, -4, 0).bound(), 0);
    EXPECT_EQ(elite_of(3, 0, 0).bound(), 3);
    EXPECT_EQ(elite_of(3, 0, INFINITY).bound(), INFINITY);
    auto search = Search::open("", float_space(), {.block = 16, .refine = false});
    ByFunction gate("right", [](const Candidate& candidate, Result& result) {
        result.cost = -static_cast<double>(candidate.index);
    });
    const RunOptions until{.budget = {.candidates = 200}, .target = Target{.cost = -5}};
    const Summary summary = ran(*search, {&gate}, until);
    EXPECT_EQ(summary.stop, Stop::target);
    EXPECT_EQ(summary.judged, 6u) << "not the whole block";
}

// What chance made the lowest of costs is no reason to leave out what is known to be low.
TEST(Loop, TheFrontIsOfWhatCostsMayBeAtMost) {
    const std::vector<Elite> elites = {elite_of(0.7, 0.1, INFINITY, 0, 2), elite_of(0.8, 0.79, 0.82, 1, 3),
                                       elite_of(0.81, 0.8, 0.83, 2, 4), elite_of(0.6, 0.1, INFINITY, 3, 2)};
    std::vector<std::uint64_t> front;
    for (const Elite& elite : pareto_front(elites)) front.push_back(elite.index);
    EXPECT_THAT(front, testing::ElementsAre(1, 3));
}

}  // namespace
}  // namespace ptxgraft::search
