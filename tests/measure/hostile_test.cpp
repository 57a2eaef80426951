// A thousand variants that mean harm, and some that are right among them: each gets its own finding.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

#include "measure/support.hpp"
#include "ptxgraft/worker.hpp"
#include "support/compile_bombs.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

using namespace std::chrono_literals;

struct Hostile {
    VariantCode variant;
    Finding finding;
    bool is_any = false;  ///< bytes at random may still be PTX, and right
    std::string what;
};

constexpr std::pair<std::string_view, Finding> kinds[] = {
    {"honest", Finding::right},
    {"hang", Finding::hang},
    {"wild_pointer", Finding::out_of_bounds},
    {"trap", Finding::fault},
    {"hang_at_barrier", Finding::hang},
    {"misaligned", Finding::fault},
    {"memory_bomb", Finding::rejected},
    {"garbage", Finding::rejected},
    {"stale_output", Finding::wrong},
    {"copied_output", Finding::fault},
    {"constant_output", Finding::wrong},
    {"cached_by_pointer", Finding::rejected},
    {"cached_by_count", Finding::rejected},
    {"right_at_first", Finding::rejected},
    {"partial_write", Finding::wrong},
    {"skipped_block", Finding::wrong},
    {"over_inputs", Finding::input_changed},
    {"beside_outputs", Finding::out_of_bounds},
    {"nan_wildcard", Finding::wrong},
    {"low_precision", Finding::wrong},
    {"clipped", Finding::wrong},
    {"race", Finding::race},
    {"clock", Finding::rejected},
    {"evict_last", Finding::rejected},
    {"polling", Finding::rejected},
    {"other_signature", Finding::rejected},
};

// Some bytes of a right one are others.
VariantCode mutated(std::mt19937& random) {
    VariantCode variant = cheat("honest");
    for (int k = 0; k < 2; ++k)
        variant.ptx[100 + random() % (variant.ptx.size() - 100)] = static_cast<char>(' ' + random() % 95);
    return variant;
}

std::vector<Hostile> thousand() {
    std::mt19937 random(1);
    std::vector<Hostile> all;
    const auto add = [&](VariantCode variant, Finding finding, std::string_view what) {
        all.push_back(
            {salted(std::move(variant), std::to_string(all.size())), finding, false, std::string(what)});
    };
    while (all.size() < 1000) {
        const std::size_t k = all.size();
        if (k % 100 == 17)
            add(salted(cheat("honest"), "(kill the worker)"), Finding::crashed, "a crash");
        else if (k == 450)
            add(salted(cheat("honest"), "(stop the worker)"), Finding::hang, "a stop");
        else if (k % 100 == 33)
            add({.ptx = test::memory_bomb(2000), .entry = {}}, Finding::rejected, "a large one");
        else if (k % 100 == 66)
            add({.ptx = test::time_bomb(100), .entry = {}}, Finding::rejected, "loops in loops");
        else if (k % 10 == 9)
            add(mutated(random), Finding::wrong, "a mutated one"), all.back().is_any = true;
        else
            add(cheat(std::string(kinds[k % std::size(kinds)].first)), kinds[k % std::size(kinds)].second,
                kinds[k % std::size(kinds)].first);
    }
    return all;
}

TEST(Hostile, AThousandAreSurvivedAndNoneIsAccepted) {
    const std::vector<Hostile> all = thousand();
    std::vector<VariantCode> variants;
    for (const Hostile& one : all) variants.push_back(one.variant);
    std::vector<Expected<Check>> checks;
    PoolReport report;
    {
        const Pool pool = pool_of({.devices = {"emulator", "emulator"},
                                   .deadlines = {.load = 2s},
                                   .memory_bytes = 1 << 30,
                                   .spares = 2,
                                   .command = {faulty, "slow=97,twice=89,late=83", program}});
        checks = pool.check(square, variants);
        report = pool.report();
    }
    Checker checker = checker_of(square);
    std::map<std::string, int> counts;
    ASSERT_EQ(checks.size(), all.size());
    for (std::size_t k = 0; k < all.size(); ++k) {
        ASSERT_TRUE(checks[k]) << k << ' ' << all[k].what << describe(checks[k].error());
        const Finding found = checks[k]->finding;
        ++counts[std::string(name(found))];
        if (all[k].is_any) {
            const auto here = check_here(checker, all[k].variant);
            EXPECT_TRUE(found == Finding::rejected || (here && here->finding == found)) << k << name(found);
            continue;
        }
        EXPECT_EQ(found, all[k].finding)
            << k << ' ' << all[k].what << ": " << name(found) << ' ' << message(checks[k]->error);
    }
    for (const auto& [finding, count] : counts) RecordProperty(finding, count);
    EXPECT_EQ(report.deaths, 22u) << "two for each of those that kill";
    EXPECT_GE(report.recovered + 2, report.deaths) << "but for the last of a device";
    EXPECT_LE(report.recovered, report.deaths);
    EXPECT_EQ(report.sick_devices, 0u);
    RecordProperty("slowest_recovery_ms", static_cast<int>(1000 * report.slowest_recovery));
    EXPECT_LT(report.slowest_recovery, 3);  // a third of a second where processors are not all busy
}

// What would take an assembler minutes or gigabytes is given to one that can be killed.
TEST(Hostile, CompileBombsEndInTheirOwnProcess) {
    const auto assembler = worker_pool({.workers = 1, .timeout = 500ms, .memory_bytes = 200 << 20});
    ASSERT_TRUE(assembler) << describe(assembler.error());
    for (const std::string& bomb : {test::time_bomb(), test::memory_bomb(200'000)}) {
        const auto cubin = (*assembler)->assemble(bomb);
        ASSERT_FALSE(cubin);
        EXPECT_EQ(cubin.error().code, Errc::assembler_ended);
    }
    const auto workload = Workload::parse(square);
    ASSERT_TRUE(workload) << describe(workload.error());
    const auto variant =
        code_of(workload->skeleton(), workload->options().baseline, "elementwise", assembler->get());
    ASSERT_TRUE(variant) << describe(variant.error());
    EXPECT_FALSE(variant->cubin->image.empty());
}

}  // namespace
}  // namespace ptxgraft::measure
