// Kernels that pretend: each of tests/measure/cheats is found by what its row says, and README.md there says
// which cheat it is.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <set>
#include <span>

#include "measure/support.hpp"
#include "ptxgraft/search.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

struct Row {
    std::string_view name;
    Finding pool;     ///< as a pool finds it
    Finding checker;  ///< without policy
};
constexpr Row rows[] = {
    {"honest", Finding::right, Finding::right},
    // values
    {"stale_output", Finding::wrong, Finding::wrong},
    {"copied_output", Finding::fault, Finding::fault},
    {"constant_output", Finding::wrong, Finding::wrong},
    {"cached_by_pointer", Finding::rejected, Finding::wrong},
    {"cached_by_count", Finding::rejected, Finding::wrong},
    {"right_at_first", Finding::rejected, Finding::wrong},
    {"partial_write", Finding::wrong, Finding::wrong},
    {"early_exit", Finding::wrong, Finding::wrong},
    {"skipped_block", Finding::wrong, Finding::wrong},
    {"over_inputs", Finding::input_changed, Finding::input_changed},
    {"beside_outputs", Finding::out_of_bounds, Finding::out_of_bounds},
    {"before_outputs", Finding::out_of_bounds, Finding::out_of_bounds},
    {"nan_wildcard", Finding::wrong, Finding::wrong},
    {"infinite_output", Finding::wrong, Finding::wrong},
    {"low_precision", Finding::wrong, Finding::wrong},
    {"without_tails", Finding::out_of_bounds, Finding::out_of_bounds},
    {"clipped", Finding::wrong, Finding::wrong},
    {"special_values", Finding::wrong, Finding::wrong},
    {"race", Finding::race, Finding::race},
    // times: right on the emulator, so that policy has to see them
    {"clock", Finding::rejected, Finding::right},
    {"evict_last", Finding::rejected, Finding::right},
    {"prefetch_next", Finding::rejected, Finding::right},
    {"polling", Finding::rejected, Finding::right},
    // processes
    {"hang", Finding::hang, Finding::hang},
    {"hang_at_barrier", Finding::hang, Finding::hang},
    {"wild_pointer", Finding::out_of_bounds, Finding::out_of_bounds},
    {"trap", Finding::fault, Finding::fault},
    {"misaligned", Finding::fault, Finding::fault},
    {"memory_bomb", Finding::rejected, Finding::rejected},
    {"garbage", Finding::rejected, Finding::rejected},
    {"other_signature", Finding::rejected, Finding::rejected},
    {"other_entry", Finding::rejected, Finding::rejected},
};

TEST(Cheats, EachIsFound) {
    const Pool pool = pool_of({.devices = {"emulator"}});
    std::vector<VariantCode> variants;
    for (const Row& row : rows) variants.push_back(cheat(std::string(row.name)));
    const auto checks = pool.check(square, variants);
    for (std::size_t k = 0; k < checks.size(); ++k) {
        ASSERT_TRUE(checks[k]) << rows[k].name << describe(checks[k].error());
        EXPECT_EQ(checks[k]->finding, rows[k].pool)
            << rows[k].name << ": " << name(checks[k]->finding) << ' ' << message(checks[k]->error);
    }
    EXPECT_EQ(pool.report().deaths, 0u);
}

// Values are found by what they are, not by their looks.
TEST(Cheats, CheckersFindValuesWithoutPolicy) {
    Checker checker = checker_of(square);
    for (const Row& row : rows) {
        const auto check = check_here(checker, cheat(std::string(row.name)));
        const Finding found = check ? check->finding : Finding::rejected;
        EXPECT_EQ(found, row.checker) << row.name << ": " << name(found);
    }
}

TEST(Cheats, EveryFileHasARow) {
    std::set<std::string> files, named;
    for (const auto& file : std::filesystem::directory_iterator(test::source_path("tests/measure/cheats")))
        if (file.path().extension() == ".ptx") files.insert(file.path().stem());
    for (const Row& row : rows) named.insert(std::string(row.name));
    EXPECT_EQ(files, named);
}

// A clipped input is the shape of a search that has seen usual inputs alone.
TEST(Cheats, UsualInputsAloneWouldNotFindAllOfThem) {
    std::string text(square);
    text.insert(text.rfind('}'), R"(, "regimes": ["usual"])");
    Checker checker = checker_of(text);
    EXPECT_EQ(check_here(checker, cheat("clipped"))->finding, Finding::right);
    EXPECT_EQ(check_here(checker, cheat("special_values"))->finding, Finding::right);
}

// What is evaluated here computes tanh.approx exactly to rounding, and a GPU within 2^-11: a search may find
// that it is a tanh. Columns at the edges of what the manual allows show that it is none.
TEST(Cheats, ExactEvaluatorsAreNoProof) {
    const auto set = stack::InstructionSet::parse("tanh.approx.f32\n");
    ASSERT_TRUE(set) << describe(set.error());
    const auto machine = stack::Machine::make(*set, *Signature::parse("in f32 x, out f32 y"));
    ASSERT_TRUE(machine);
    const auto program = stack::parse("x tanh.approx.f32", *machine);
    ASSERT_TRUE(program) << describe(program.error());
    search::Space space;
    space.sites.push_back({.name = "f", .machine = *machine, .seeds = {}});
    search::Cases cases{.count = 65, .measure = search::Measure::absolute, .bound = 1e-4};
    std::vector<float> x;
    for (int k = -32; k <= 32; ++k) x.push_back(static_cast<float>(k) / 8);
    const auto bytes = std::as_bytes(std::span(x));
    cases.inputs = {{bytes.begin(), bytes.end()}, {}};
    cases.right.resize(2);
    for (const float value : x) cases.right[1].push_back(std::tanh(static_cast<double>(value)));
    const auto status_of = [&](bool perturb) {
        const auto gate = search::columns(space, cases, {.perturb = perturb});
        EXPECT_TRUE(gate) << describe(gate.error());
        search::Candidate candidate;
        candidate.genome.programs = {*program};
        search::Result result;
        const search::Candidate* const candidates[] = {&candidate};
        search::Result* const results[] = {&result};
        (*gate)->evaluate(candidates, results);
        return result.status;
    };
    EXPECT_EQ(status_of(false), search::Status::ok) << "or there is nothing to exploit";
    EXPECT_NE(status_of(true), search::Status::ok);
}

}  // namespace
}  // namespace ptxgraft::measure
