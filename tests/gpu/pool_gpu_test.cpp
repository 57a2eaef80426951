// Workers on a GPU: what takes the context or the device's time with it is that variant's finding, and the
// others are checked all the same.

#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "gpu/gpu.hpp"
#include "measure/support.hpp"
#include "ptxgraft/measure/agreement.hpp"

namespace ptxgraft::measure {
namespace {

class Pools : public Gpu {};

// The worker has no network to leave and no memory to miss here: it is the device that is at stake.
TEST_F(Pools, SurviveWhatAGpuDoesNot) {
    const Pool pool = pool_of({.devices = {"cuda:0"}, .memory_bytes = 0});
    struct Row {
        const char* name;
        Finding finding;
    };
    const Row rows[] = {{"honest", Finding::right},
                        {"wild_pointer", Finding::fault},
                        {"honest", Finding::right},
                        {"trap", Finding::fault},
                        {"hang", Finding::hang},
                        {"honest", Finding::right},
                        {"partial_write", Finding::wrong},
                        {"over_inputs", Finding::input_changed},
                        {"before_outputs", Finding::out_of_bounds},
                        {"clock", Finding::rejected},
                        {"cached_by_count", Finding::rejected},
                        {"honest", Finding::right}};
    std::vector<VariantCode> variants;
    for (const Row& row : rows) variants.push_back(salted(cheat(row.name), std::to_string(variants.size())));
    const auto checks = pool.check(square, variants);
    for (std::size_t k = 0; k < checks.size(); ++k) {
        ASSERT_TRUE(checks[k]) << rows[k].name << describe(checks[k].error());
        EXPECT_EQ(checks[k]->finding, rows[k].finding) << rows[k].name << ' ' << name(checks[k]->finding);
    }
    EXPECT_EQ(pool.report().late, 2u) << "the hang, twice";
    RecordProperty("slowest_recovery_ms", static_cast<int>(1000 * pool.report().slowest_recovery));
}

// Machine code that was made elsewhere is what runs.
TEST_F(Pools, TakeMachineCode) {
    const Pool pool = pool_of({.devices = {"cuda:0"}, .memory_bytes = 0});
    VariantCode variant = cheat("honest");
    const auto cubin = default_assembler().assemble(variant.ptx, {.target = pool.workers()[0].target});
    ASSERT_TRUE(cubin) << describe(cubin.error());
    variant.cubin = std::make_shared<const Cubin>(*cubin);
    const auto checks = pool.check(square, std::vector<VariantCode>{variant});
    ASSERT_TRUE(checks[0]) << describe(checks[0].error());
    EXPECT_EQ(checks[0]->finding, Finding::right);
}

// An honest variant is none that is faster than the same baseline; who hangs is timed alone, twice.
TEST_F(Pools, TimeVariants) {
    const Pool pool = pool_of({.devices = {"cuda:0"}, .memory_bytes = 0});
    std::vector<VariantCode> variants;
    for (const char* const name : {"honest", "hang", "honest", "partial_write", "clock"})
        variants.push_back(salted(cheat(name), std::to_string(variants.size())));
    const PoolTiming timing = pool.time(square, variants, {.timing = {.tier = Tier::race}});
    const TimingStatus wanted[] = {TimingStatus::ok, TimingStatus::hang, TimingStatus::ok,
                                   TimingStatus::wrong, TimingStatus::rejected};
    for (std::size_t k = 0; k < variants.size(); ++k) {
        ASSERT_TRUE(timing.variants[k]) << describe(timing.variants[k].error());
        const VariantTiming& one = *timing.variants[k];
        EXPECT_EQ(one.status, wanted[k]) << k << ' ' << name(one.status) << ": " << one.why;
    }
    EXPECT_EQ(pool.report().late, 2u) << "the hang, twice";
    for (const TimedBatch& batch : timing.batches) {
        EXPECT_FALSE(batch.report.is_shared) << "the spare is the pool's own";
        RecordProperty("sigma_ppm", static_cast<int>(1e6 * batch.session.calibration.sigma));
        RecordProperty("clock", std::string(name(batch.session.clock)));
    }
    RecordProperty("slowest_recovery_ms", static_cast<int>(1000 * pool.report().slowest_recovery));
}

TEST_F(Pools, AssemblersAreComparedByWhatTheirCodeDoes) {
    auto workload = Workload::parse(square);
    ASSERT_TRUE(workload) << describe(workload.error());
    auto checker = Checker::open(*workload, device());
    ASSERT_TRUE(checker) << describe(checker.error());
    const Assembler* const both[] = {&default_assembler(), nvjitlink()};
    const auto agreement = compare_assemblers(*checker, cheat("honest"), both);
    ASSERT_TRUE(agreement) << describe(agreement.error());
    EXPECT_TRUE(agreement->was_run);
    EXPECT_TRUE(agreement->agrees);
}

}  // namespace
}  // namespace ptxgraft::measure
