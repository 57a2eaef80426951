// Elites whose cost is measured are measured again: luck does not stay, whatever happens in between is the
// same course, and who turns out wrong leaves.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cmath>
#include <filesystem>
#include <functional>

#include "ptxgraft/search.hpp"
#include "ptxgraft/search_report.hpp"
#include "search/loop.hpp"

namespace ptxgraft::search {
namespace {

using testing::HasSubstr;
using testing::Not;

const Space& space() {
    static const Space made = float_space();
    return made;
}

// What a program takes in truth, from 1 to 2.
double truth_of(const Candidate& candidate) {
    return 1 + static_cast<double>(candidate.key.structure % 1021) / 1021;
}
void note(Result& result, double cost, double half_width = 0.01) {
    result.cost = cost, result.low = cost - half_width, result.high = cost + half_width;
}
// Each measurement is off by up to a tenth, as its index has it.
void noisy_clock(const Candidate& candidate, Result& result) {
    const double noise = static_cast<double>((candidate.index * 0x9E3779B97F4A7C15 >> 40) % 2001) / 1000 - 1;
    note(result, truth_of(candidate) + 0.1 * noise, 0.02);
    result.descriptor = {static_cast<double>(candidate.genome.programs[0].code.size())};
}
Options remeasuring(std::uint32_t remeasure) {
    return {.axes = {{"genes", {4, 8, 12}}},
            .islands = 2,
            .block = 32,
            .migration = 100,
            .attempts = 64,
            .refine = false,
            .remeasure = remeasure};
}
Summary ran(Search& search, Gate& gate, std::uint64_t candidates, const RunOptions& more = {}) {
    RunOptions options = more;
    options.budget.candidates = candidates;
    Gate* const gates[] = {&gate};
    return made(search.run(gates, options));
}

TEST(Again, WhoWasOnlyLuckyLosesTheCell) {
    constexpr std::uint64_t lucky = 37;
    ByFunction gate("measured", [](const Candidate& candidate, Result& result) {
        const bool is_first = candidate.refine == Refine::none;
        note(result, is_first && candidate.index == lucky ? 0.2 : truth_of(candidate));
    });
    for (const std::uint32_t remeasure : {0u, 1000u}) {
        auto search = made(Search::open("", space(), {.islands = 2, .block = 32, .remeasure = remeasure}));
        const Summary summary = ran(search, gate, 512, {.threads = 1});
        ASSERT_TRUE(summary.best);
        const Ledger ledger = search.ledger();
        if (remeasure == 0) {
            EXPECT_EQ(summary.best->index, lucky) << "nobody looks again";
            EXPECT_EQ(ledger.measured_again, 0u);
            continue;
        }
        EXPECT_NE(summary.best->index, lucky);
        EXPECT_GE(summary.best->cost, 1);
        EXPECT_LT(summary.best->cost, 1.05) << "the next one that was known";
        EXPECT_GE(ledger.measured_again, 2u);
        EXPECT_EQ(ledger.disagreed, 1u);
        for (const Elite& elite : search.elites()) EXPECT_NE(elite.index, lucky);
    }
}

// The first measurement, that chose, does not count any more; all others do alike.
TEST(Again, CostsAreMeansOfWhatWasMeasuredAgain) {
    std::vector<double> told;
    ByFunction gate("measured", [&](const Candidate& candidate, Result& result) {
        if (candidate.refine != Refine::measure) return note(result, candidate.index == 0 ? 0.1 : 5);
        EXPECT_EQ(candidate.parents[0], 0u);
        told.push_back(0.8 + 0.1 * static_cast<double>(told.size()));
        note(result, told.back(), 0.05);
    });
    auto search = made(Search::open("", space(), {.islands = 1, .block = 16, .remeasure = 100}));
    ran(search, gate, 500, {.threads = 1});
    ASSERT_GE(told.size(), 4u);
    EXPECT_LE(told.size(), 6u) << "once in a hundred, and when it became one";
    double mean = 0;
    for (const double one : told) mean += one / static_cast<double>(told.size());
    const Elite best = search.elites().at(0);
    EXPECT_EQ(best.index, 0u);
    EXPECT_EQ(best.times, told.size());
    EXPECT_NEAR(best.cost, mean, 1e-12);
    EXPECT_NEAR(best.high - best.low, 0.1, 1e-12) << "no narrower";
}

TEST(Again, IsDueBehindSoManyCandidates) {
    const std::string path = archive_path("due");
    ByFunction gate("measured", [&](const Candidate& candidate, Result& result) {
        note(result, candidate.index == 0 || candidate.refine == Refine::measure ? 0.5 : 3);
    });
    {
        auto search = made(Search::open(path, space(), {.islands = 1, .block = 16, .remeasure = 100}));
        ran(search, gate, 700, {.threads = 1});
    }
    std::vector<std::uint64_t> places;
    ASSERT_TRUE(made(Archive::open(path)).for_each([&](const Candidate& candidate, const Result&) {
        if (candidate.refine == Refine::measure) places.push_back(candidate.index);
    }));
    ASSERT_GE(places.size(), 5u);
    EXPECT_LT(places[0], 3 * 16u) << "in the first block that is drawn when it is known";
    for (std::size_t k = 1; k < places.size(); ++k) {
        EXPECT_GE(places[k] - places[k - 1], 100u);
        EXPECT_LE(places[k] - places[k - 1], 100u + 2 * 16);
    }
}

// One thread and several, in parts, killed anywhere: one course, and one list of elites whoever makes it.
TEST(Again, IsTheSameCourseHoweverItIsRun) {
    constexpr std::uint64_t count = 600;
    const Options options = remeasuring(50);
    const auto texts_of = [](const std::vector<Elite>& elites) {
        std::vector<std::string> texts;
        for (const Elite& elite : elites) texts.push_back(json_text(elite, space()));
        return texts;
    };
    const std::string whole = archive_path("whole");
    ByFunction clock("measured", noisy_clock);
    std::vector<std::string> elites;
    Ledger ledger;
    {
        auto search = made(Search::open(whole, space(), options));
        ran(search, clock, count, {.threads = 1});
        elites = texts_of(search.elites());
        ledger = search.ledger();
    }
    EXPECT_GT(ledger.measured_again, 20u);
    EXPECT_GT(ledger.disagreed, 3u);
    const std::string wanted = exported(whole);
    EXPECT_THAT(wanted, HasSubstr(R"("refine":"measure")"));
    EXPECT_EQ(texts_of(made(made(Archive::open(whole)).elites())), elites);
    EXPECT_EQ(made(made(Archive::open(whole)).ledger()).disagreed, ledger.disagreed);

    for (const std::uint64_t part : {600u, 97u, 13u}) {
        const std::string path = archive_path("parts");
        for (std::uint64_t judged = 0; judged < count; judged += part) {
            auto search = made(Search::open(path, space(), options));
            ran(search, clock, std::min(part, count - judged), {.threads = 3});
            if (judged + part >= count) { EXPECT_EQ(texts_of(search.elites()), elites) << part; }
        }
        EXPECT_EQ(exported(path), wanted) << part;
    }
    // Killed in the middle of a judgement, again and again.
    const std::string path = archive_path("killed");
    int deaths = 0;
    for (bool has_ended = false; !has_ended;) {
        ASSERT_LT(deaths, 100);
        const pid_t child = fork();
        if (child == 0) {
            std::uint64_t came = 0;
            ByFunction deadly("measured", [&](const Candidate& candidate, Result& result) {
                if (++came == 71) ::kill(::getpid(), SIGKILL);
                noisy_clock(candidate, result);
            });
            auto search = Search::open(path, space(), options);
            if (!search) ::_exit(2);
            const std::uint64_t judged = search->ledger().judged;
            Gate* const gates[] = {&deadly};
            const auto done = search->run(gates, {.budget = {.candidates = count - judged}, .threads = 1});
            ::_exit(done ? 0 : 3);
        }
        int status = 0;
        ASSERT_EQ(waitpid(child, &status, 0), child);
        has_ended = WIFEXITED(status);
        if (has_ended) { EXPECT_EQ(WEXITSTATUS(status), 0); }
        deaths += has_ended ? 0 : 1;
    }
    EXPECT_GT(deaths, 5);
    EXPECT_EQ(exported(path), wanted);
    // In a collection too.
    const std::string all = archive_path("all");
    ASSERT_TRUE(merge(std::vector{whole, path}, all));
    EXPECT_EQ(texts_of(made(made(Archive::open(all)).elites())), elites);
}

TEST(Again, ATargetIsNotReachedByLuck) {
    constexpr std::uint64_t lucky = 20;
    ByFunction gate("measured", [](const Candidate& candidate, Result& result) {
        const bool is_first = candidate.refine == Refine::none;
        note(result, is_first && candidate.index == lucky ? 0.2 : candidate.index < 300 ? 2 : 0.4);
    });
    auto search = made(Search::open("", space(), {.islands = 1, .block = 32, .attempts = 64}));
    const Summary summary = ran(search, gate, 4000, {.target = Target{.cost = 0.5}, .threads = 2});
    EXPECT_EQ(summary.stop, Stop::target);
    EXPECT_GE(summary.best->index, 300u);
    EXPECT_GE(summary.best->times, 1u);
    EXPECT_LE(summary.judged, 450u);
    auto once = made(Search::open("", space(), {.islands = 1, .block = 32, .remeasure = 0}));
    EXPECT_EQ(ran(once, gate, 4000, {.target = Target{.cost = 0.5}, .threads = 2}).judged, lucky + 1);
}

// A noisy measurement says nothing; any other that ends otherwise than well ends an elite.
TEST(Again, WhoTurnsOutWrongLeaves) {
    for (const Status status : {Status::noisy, Status::wrong, Status::timed_out, Status::crashed}) {
        ByFunction gate("measured", [&](const Candidate& candidate, Result& result) {
            note(result, candidate.index == 3 ? 0.2 : 2);
            if (candidate.refine != Refine::measure) return;
            if (candidate.parents[0] == 3) result.status = status;
        });
        auto search = made(Search::open("", space(), {.islands = 1, .block = 32}));
        const Summary summary = ran(search, gate, 300, {.threads = 1});
        if (status == Status::noisy) {
            EXPECT_EQ(summary.best->index, 3u);
            EXPECT_EQ(summary.best->cost, 0.2);
            EXPECT_EQ(summary.best->times, 0u);
            EXPECT_EQ(search.ledger().disagreed, 0u);
        } else {
            EXPECT_EQ(summary.best->cost, 2) << name(status);
            EXPECT_EQ(search.ledger().disagreed, 1u);
        }
    }
}

// What was left behind claims no bound, and what is exact is what it is.
TEST(Again, NothingElseIsMeasuredAgain) {
    const auto run_with = [&](std::uint32_t remeasure, const ByFunction::Function& function) {
        const std::string path = archive_path("exact");
        ByFunction gate("measured", function);
        auto search = made(Search::open(path, space(), {.islands = 2, .block = 32, .remeasure = remeasure}));
        ran(search, gate, 400, {.threads = 2});
        EXPECT_EQ(search.ledger().measured_again, 0u);
        return exported(path);
    };
    const auto exact = [](const Candidate& candidate, Result& result) {
        result.cost = result.low = result.high = truth_of(candidate);
    };
    const auto left_behind = [](const Candidate& candidate, Result& result) {
        note(result, truth_of(candidate));
        result.high = INFINITY;
    };
    EXPECT_EQ(run_with(0, exact), run_with(10, exact));
    EXPECT_EQ(run_with(0, left_behind), run_with(10, left_behind));
}

// Whom a lucky one left behind has no upper end; when that one's luck is over it is measured, and wins.
TEST(Again, WhomLuckLeftBehindIsMeasured) {
    constexpr std::uint64_t lucky = 2, left = 4;
    ByFunction gate("measured", [](const Candidate& candidate, Result& result) {
        const bool is_again = candidate.refine == Refine::measure;
        const std::uint64_t of = is_again ? candidate.parents[0] : candidate.index;
        note(result, of == lucky ? (is_again ? 0.9 : 0.6) : of == left ? 0.8 : 1.2);
        if (!is_again && of != lucky) result.high = INFINITY;
    });
    auto search = made(Search::open("", space(), {.islands = 1, .block = 32}));
    const Summary summary = ran(search, gate, 300, {.threads = 1});
    EXPECT_EQ(summary.best->index, left);
    EXPECT_EQ(summary.best->cost, 0.8);
    EXPECT_LT(summary.best->high, 1);
    EXPECT_EQ(search.ledger().measured_again, 2u) << "nobody else may be better";
}

// Whose archive has another number is another search; those from before the option are of the usual one.
TEST(Again, TheOptionIsKept) {
    const std::string path = archive_path("option");
    { made(Search::open(path, space(), remeasuring(250))); }
    EXPECT_EQ(made(Archive::open(path)).options().remeasure, 250u);
    const auto other = Search::open(path, space(), remeasuring(1000));
    ASSERT_FALSE(other);
    EXPECT_EQ(other.error().code, Errc::archive_differs);
    EXPECT_THAT(message(other.error()), HasSubstr(R"("remeasure":250)"));
    const std::string usual = archive_path("usual");
    { made(Search::open(usual, space(), remeasuring(1000))); }
    EXPECT_EQ(made(Archive::open(usual)).options().remeasure, 1000u);
}

}  // namespace
}  // namespace ptxgraft::search
