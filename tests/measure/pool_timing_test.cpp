// Timing in worker processes, on the fake driver with a scripted clock: what is faster is found and what is
// equal is not, whatever dies meanwhile; no result is lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <set>

#include "measure/support.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

using testing::AnyOf;
using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

const std::string fake_worker = test::build_path("measure_fake_worker");

PoolOptions fake_gpu(const std::string& script, std::vector<std::string> devices = {"cuda:0"}) {
    PoolOptions options{.devices = std::move(devices), .command = {fake_worker, script}};
    options.deadlines.launch = 700ms;
    return options;
}
PoolTimingOptions timed(Tier tier, std::uint64_t seed = 1) {
    PoolTimingOptions options{.timing = {.tier = tier}};
    options.protocol.seed = seed;
    options.protocol.most_sets = 2;
    options.protocol.calibration_rounds = 16;
    options.protocol.nvml = test::build_path("libfake_cuda.so");  // it is that too
    options.protocol.lock_folder = testing::TempDir();
    return options;
}
VariantCode variant(const std::string& said, const std::string& name = "honest") {
    static int last = 0;
    return as_text(salted(cheat(name), said + " " + std::to_string(++last)));
}
TimingStatus status(const Expected<VariantTiming>& timing) {
    EXPECT_TRUE(timing) << describe(timing.error());
    return timing ? timing->status : TimingStatus::failed;
}

TEST(PoolTiming, WhatIsFasterIsFoundAndWhatIsEqualIsNot) {
    const Pool pool = pool_of(fake_gpu("noise=1"));
    const std::vector<VariantCode> variants = {variant("(time 1)"), variant("(time 0.95)"),
                                               variant("(time 1.05)"), variant("(time 1)")};
    const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
    ASSERT_THAT(timing.variants, SizeIs(4));
    const Verdict wanted[] = {Verdict::same, Verdict::faster, Verdict::slower, Verdict::same};
    for (std::size_t k = 0; k < variants.size(); ++k) {
        ASSERT_TRUE(timing.variants[k]) << describe(timing.variants[k].error());
        const VariantTiming& one = *timing.variants[k];
        EXPECT_EQ(one.status, TimingStatus::ok) << one.why;
        EXPECT_THAT(one.comparison.verdict, AnyOf(wanted[k], k % 3 == 0 ? Verdict::unsure : wanted[k])) << k;
        EXPECT_LE(one.comparison.low, one.comparison.ratio);
    }
    EXPECT_NEAR(timing.variants[1]->comparison.ratio, 0.95, 0.005);
    EXPECT_NEAR(timing.variants[1]->milliseconds, 0.095, 0.002);
    // All that was measured is there: 32 rounds of 5, in both directions.
    ASSERT_THAT(timing.batches, SizeIs(1));
    const TimedBatch& batch = timing.batches[0];
    EXPECT_EQ(batch.variants, (std::vector<std::size_t>{0, 1, 2, 3}));
    EXPECT_EQ(batch.report.rounds, 32u);
    EXPECT_GE(batch.report.samples.size(), 32u * 5 * 2);
    EXPECT_EQ(batch.session.calibration.rounds, 16u);
    EXPECT_EQ(batch.session.clock, ClockSource::nvml);
    EXPECT_THAT(batch.session.device.name, HasSubstr("Fake GPU"));
    EXPECT_NE(batch.session_id, 0u);
    ASSERT_TRUE(batch.closing);
    EXPECT_EQ(batch.closing->moved, "");
    EXPECT_EQ(pool.report().deaths, 0u);
    EXPECT_EQ(pool.report().timings, 1u);
}

// Forty equals: the luckiest of them is chosen by some samples, and told by others.
TEST(PoolTiming, NoiseIsNotMined) {
    const Pool pool = pool_of(fake_gpu("noise=1,seed=5"));
    std::vector<VariantCode> variants;
    for (int k = 0; k < 40; ++k) variants.push_back(variant("(time 1)"));
    const PoolTiming timing = pool.time(square, variants, timed(Tier::race));
    EXPECT_THAT(timing.batches, SizeIs(3));
    int reported = 0;
    double lowest_chosen = 2;
    for (const auto& one : timing.variants) {
        ASSERT_EQ(status(one), TimingStatus::ok);
        lowest_chosen = std::min(lowest_chosen, one->selection.ratio);
        if (one->comparison.rounds == 0) continue;  // dropped
        ++reported;
        EXPECT_NE(one->comparison.verdict, Verdict::faster);
    }
    EXPECT_GT(reported, 3);
    EXPECT_LT(reported, 20);
    EXPECT_LT(lowest_chosen, 0.9995) << "there was luck to be had";
    // No sample is of both kinds.
    for (const TimedBatch& batch : timing.batches) {
        std::set<std::uint32_t> chosen, told;
        for (const Sample& sample : batch.report.samples)
            (sample.purpose == Sample::Purpose::selection ? chosen : told).insert(sample.round);
        for (const std::uint32_t round : told) EXPECT_FALSE(chosen.contains(round));
    }
}

TEST(PoolTiming, WhatIsNotRightHasNoTime) {
    const Pool pool = pool_of(fake_gpu("noise=0"));
    const std::vector<VariantCode> variants = {
        variant("(time 0.5)", "constant_output"), variant("(time 0.5)", "clock"), variant("(time 0.9)"),
        variant("(time 0.5) (wrong 9)"),          variant("(time 0.001)"),        variant("", "garbage")};
    const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
    const TimingStatus wanted[] = {TimingStatus::wrong, TimingStatus::rejected,   TimingStatus::ok,
                                   TimingStatus::wrong, TimingStatus::impossible, TimingStatus::rejected};
    for (std::size_t k = 0; k < variants.size(); ++k) {
        EXPECT_EQ(status(timing.variants[k]), wanted[k]) << k << ' ' << timing.variants[k]->why;
        if (k == 2) continue;
        EXPECT_EQ(timing.variants[k]->comparison.verdict, Verdict::unsure) << k;
        EXPECT_NE(timing.variants[k]->why, "") << k;
    }
    EXPECT_EQ(timing.variants[2]->comparison.verdict, Verdict::faster);
    // Samples go by the numbers of the request, also where some were refused.
    for (const Sample& sample : timing.batches.at(0).report.samples)
        EXPECT_THAT(sample.variant, AnyOf(0, 1, 3, 4, 5));
}

// A hang and a death each take two workers; the others are timed all the same.
TEST(PoolTiming, WhoHangsOrDiesIsAloneTheSecondTime) {
    const Pool pool = pool_of(fake_gpu("noise=1"));
    const std::vector<VariantCode> variants = {variant("(time 0.9)"), variant("(hang 20)"),
                                               variant("(time 1.1)"), variant("(die 3)"),
                                               variant("(time 1)"),   variant("(lose 30)")};
    const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
    EXPECT_EQ(status(timing.variants[0]), TimingStatus::ok);
    EXPECT_EQ(timing.variants[0]->comparison.verdict, Verdict::faster);
    EXPECT_EQ(status(timing.variants[1]), TimingStatus::hang);
    EXPECT_THAT(timing.variants[1]->why, HasSubstr("in time"));
    EXPECT_EQ(timing.variants[2]->comparison.verdict, Verdict::slower);
    EXPECT_EQ(status(timing.variants[3]), TimingStatus::crashed);
    EXPECT_THAT(timing.variants[3]->why, HasSubstr("died"));
    EXPECT_EQ(status(timing.variants[4]), TimingStatus::ok);
    EXPECT_EQ(timing.variants[4]->comparison.rounds, 32u);
    EXPECT_EQ(status(timing.variants[5]), TimingStatus::device_lost) << timing.variants[5]->why;
    const PoolReport report = pool.report();
    EXPECT_EQ(report.deaths, 6u);
    EXPECT_EQ(report.late, 2u);
    EXPECT_EQ(report.sick_devices, 0u);
    EXPECT_LT(report.slowest_recovery, 3);  // a tenth of a second where processors are not all busy
    RecordProperty("slowest_recovery_ms", static_cast<int>(1000 * report.slowest_recovery));
    // And the pool is well.
    const std::vector<VariantCode> more = {variant("(time 0.9)")};
    EXPECT_EQ(pool.time(square, more, timed(Tier::elite)).variants[0]->comparison.verdict, Verdict::faster);
    EXPECT_EQ(pool.check(square, more)[0]->finding, Finding::right);
}

// What the line or the system does to a worker is no variant's fault, as long as it is not twice.
TEST(PoolTiming, AWorkerThatIsKilledLosesNothing) {
    PoolOptions options = fake_gpu("noise=1");
    options.command = {faulty, "kill=3,twice=1", fake_worker, "noise=1"};
    const Pool pool = pool_of(options);
    for (int k = 0; k < 4; ++k) {
        const std::vector<VariantCode> variants = {variant("(time 0.9)"), variant("(time 1.1)")};
        const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
        ASSERT_EQ(status(timing.variants[0]), TimingStatus::ok) << timing.variants[0]->why;
        ASSERT_EQ(status(timing.variants[1]), TimingStatus::ok) << timing.variants[1]->why;
        EXPECT_EQ(timing.variants[0]->comparison.verdict, Verdict::faster);
        EXPECT_EQ(timing.variants[1]->comparison.verdict, Verdict::slower);
    }
    EXPECT_GE(pool.report().deaths, 2u);
}

TEST(PoolTiming, ABaselineThatWorkersDieOfMakesTheDeviceSick) {
    PoolOptions options = fake_gpu("noise=1");
    options.command = {faulty, "kill=1", fake_worker, "noise=1"};
    const Pool pool = pool_of(options);
    const std::vector<VariantCode> variants = {variant("(time 0.9)"), variant("(time 1.1)")};
    const PoolTiming timing = pool.time(square, variants, timed(Tier::screen));
    for (const auto& one : timing.variants) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().code, Errc::measure_worker_failed);
    }
    EXPECT_EQ(pool.report().sick_devices, 1u);
}

// The device slows down by a tenth while variants are measured: what was found is noise, and said so.
TEST(PoolTiming, ADeviceThatMovesMakesNoise) {
    const Pool pool = pool_of(fake_gpu("noise=1,warm=160"));
    const std::vector<VariantCode> variants = {variant("(time 0.9)")};
    const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
    EXPECT_EQ(status(timing.variants[0]), TimingStatus::noisy);
    EXPECT_EQ(timing.variants[0]->comparison.verdict, Verdict::unsure);
    ASSERT_TRUE(timing.batches.at(0).closing);
    EXPECT_THAT(timing.batches[0].closing->moved, HasSubstr("more time"));
    // The next session begins with the device as it is now.
    const PoolTiming again = pool.time(square, variants, timed(Tier::elite));
    EXPECT_EQ(again.variants[0]->comparison.verdict, Verdict::faster);
    EXPECT_NE(again.batches.at(0).session_id, timing.batches[0].session_id);
}

TEST(PoolTiming, SessionsLastUntilTheyAreClosedOrTheProtocolIsAnother) {
    const Pool pool = pool_of(fake_gpu("noise=1", {"cuda:0"}));
    const std::vector<VariantCode> variants = {variant("(time 0.9)")};
    PoolTimingOptions options = timed(Tier::screen);
    options.closes = false;
    options.requests = 3;
    std::vector<TimedBatch> batches;
    for (int k = 0; k < 4; ++k) batches.push_back(pool.time(square, variants, options).batches.at(0));
    for (const TimedBatch& batch : batches) EXPECT_EQ(batch.session_id, batches[0].session_id);
    EXPECT_FALSE(batches[0].closing);
    EXPECT_FALSE(batches[1].closing);
    EXPECT_TRUE(batches[2].closing) << "behind the third request";
    EXPECT_FALSE(batches[3].closing);
    options.protocol.seed = 2;
    const auto other = pool.time(square, variants, options);
    EXPECT_NE(other.batches.at(0).session_id, batches[0].session_id);
    options.in_new_process = true;
    const auto renewed = pool.time(square, variants, options);
    EXPECT_NE(renewed.batches.at(0).session_id, other.batches[0].session_id);
    EXPECT_EQ(pool.report().deaths, 0u);
    EXPECT_EQ(renewed.variants.at(0)->status, TimingStatus::ok);
}

TEST(PoolTiming, DevicesShareTheVariants) {
    const Pool pool = pool_of(fake_gpu("noise=1", {"cuda:0", "cuda:1"}));
    std::vector<VariantCode> variants;
    for (int k = 0; k < 12; ++k) variants.push_back(variant(k % 2 == 0 ? "(time 0.9)" : "(time 1.1)"));
    const PoolTiming timing = pool.time(square, variants, timed(Tier::elite));
    ASSERT_THAT(timing.batches, SizeIs(2));
    std::set<std::size_t> seen;
    for (const TimedBatch& batch : timing.batches) seen.insert(batch.variants.begin(), batch.variants.end());
    EXPECT_THAT(seen, SizeIs(12));
    for (std::size_t k = 0; k < variants.size(); ++k)
        EXPECT_EQ(timing.variants[k]->comparison.verdict, k % 2 == 0 ? Verdict::faster : Verdict::slower);
}

// Nothing says how long anything takes without a GPU.
TEST(PoolTiming, TheEmulatorHasNoTime) {
    const Pool pool = pool_of({.devices = {"emulator"}});
    const std::vector<VariantCode> variants = {cheat("honest"), cheat("honest")};
    const PoolTiming timing = pool.time(square, variants);
    ASSERT_THAT(timing.variants, SizeIs(2));
    for (const auto& one : timing.variants) {
        ASSERT_FALSE(one);
        EXPECT_EQ(one.error().code, Errc::timing_not_possible);
    }
    EXPECT_THAT(timing.batches, SizeIs(0));
    EXPECT_EQ(pool.check(square, variants)[0]->finding, Finding::right) << "and the worker is well";
    EXPECT_THAT(pool.time(square, {}).variants, SizeIs(0));
}

}  // namespace
}  // namespace ptxgraft::measure
