// Timing sessions on a scripted clock: what is measured, in which order, and what is said of it.
#include "ptxgraft/measure/timing.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "measure/fake_session.hpp"

namespace ptxgraft::measure {
namespace {

using testing::Contains;
using testing::Each;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using Timing = FakeSession;

// How often of `sessions` equal variants are told apart, or a difference is found.
struct Found {
    int faster = 0, slower = 0, other = 0;
};

TEST_F(Timing, VariantsBesideABaseline) {
    set_noise(Noise::white, 1, 0.001);
    auto session = open();
    ASSERT_OK(session);
    const auto report =
        session->compare(std::vector<Variant>{variant("fast", {.milliseconds = 0.097}),
                                              variant("slow", {.milliseconds = 0.105}), variant("equal")});
    ASSERT_OK(report);
    ASSERT_EQ(report->variants.size(), 3u);
    const VariantTiming &fast = report->variants[0], &slow = report->variants[1],
                        &equal = report->variants[2];
    for (const VariantTiming& one : report->variants) EXPECT_EQ(one.status, TimingStatus::ok) << one.why;
    EXPECT_EQ(fast.comparison.verdict, Verdict::faster);
    EXPECT_NEAR(fast.comparison.ratio, 0.97, 0.001);
    EXPECT_NEAR(fast.milliseconds, 0.097, 0.0002);
    EXPECT_EQ(fast.name, "fast");
    EXPECT_EQ(slow.comparison.verdict, Verdict::slower);
    EXPECT_EQ(equal.comparison.verdict, Verdict::same);
    EXPECT_EQ(fast.comparison.rounds, 32u);
    EXPECT_NEAR(report->baseline_milliseconds, 0.1, 0.0002);
    EXPECT_FALSE(report->ended_by);
    EXPECT_EQ(report->samples.size(), 32u * 2 * 4);
    // Every figure can be computed from the samples again.
    std::vector<double> base(32), other(32);
    for (const Sample& sample : report->samples) {
        const double half = std::log(static_cast<double>(sample.milliseconds)) / 2;
        const std::size_t round = sample.round - report->samples.front().round;
        if (sample.variant == 0) base[round] += half;
        if (sample.variant == 1) other[round] += half;
    }
    for (std::size_t i = 0; i < 32; ++i) other[i] -= base[i];
    EXPECT_NEAR(compare(other)->ratio, fast.comparison.ratio, 1e-6);
    const auto closing = session->close();
    ASSERT_OK(closing);
    EXPECT_EQ(closing->moved, "");
    const SessionFacts& facts = session->facts();
    EXPECT_EQ(facts.clock, ClockSource::nvml);
    EXPECT_EQ(facts.flush_bytes, 2 * fake_l2);
    EXPECT_EQ(facts.sets, 16u);
    EXPECT_EQ(facts.batch, 1u);
    EXPECT_NEAR(facts.calibration.sigma, 0.001, 0.0005);
}

// A sample is: restore and poison, flush, event, kernel, event, digest; on one stream; nothing else between
// the events, and nothing is loaded or allocated while rounds are measured.
TEST_F(Timing, ASampleIsTheSameEachTime) {
    auto session = open();
    ASSERT_OK(session);
    const std::vector<Variant> variants{variant("a"), variant("b")};
    streams_.clear();
    const int resets = fake().l2_resets;
    start_trace();
    const auto report = session->compare(variants, {.rounds = 6});
    const std::vector<std::string> trace = take_trace();
    ASSERT_OK(report);
    EXPECT_EQ(report->samples.size(), 6u * 2 * 3);
    EXPECT_EQ(streams_.size(), 1u);
    EXPECT_THAT(trace, Not(Contains("cuModuleLoadDataEx")));
    EXPECT_THAT(trace, Not(Contains("cuMemAlloc_v2")));
    EXPECT_THAT(trace, Not(Contains("cuEventCreate")));
    EXPECT_EQ(fake().persisting_l2, 0u);
    // Without what only asks which context is current.
    std::vector<std::string> calls;
    for (const std::string& call : trace)
        if (!call.starts_with("cuCtxP") && !call.starts_with("cuCtxG") && !call.starts_with("cuLaunch"))
            calls.push_back(call);
    int samples = 0;
    for (std::size_t i = 0; i < calls.size(); ++i) {
        if (calls[i] != "a" && calls[i] != "b" && calls[i] != "baseline") continue;
        ++samples;
        ASSERT_GE(i, 6u);
        const std::vector<std::string> around(calls.begin() + static_cast<std::ptrdiff_t>(i) - 6,
                                              calls.begin() + static_cast<std::ptrdiff_t>(i) + 4);
        EXPECT_EQ(around,
                  (std::vector<std::string>{"cuCtxResetPersistingL2Cache", "slots", "ptxgraft_copy", "flush",
                                            "ptxgraft_discard", "cuEventRecord", calls[i], "cuEventRecord",
                                            "ptxgraft_digest", "cuStreamSynchronize"}));
    }
    EXPECT_EQ(samples, 36 + 2 * 16);  // and one for each input, to see that a variant is right
    EXPECT_EQ(fake().l2_resets - resets, samples);
}

TEST_F(Timing, TheOrderIsBalanced) {
    auto session = open();
    ASSERT_OK(session);
    const auto report = session->compare(std::vector<Variant>{variant("a"), variant("b"), variant("c")});
    ASSERT_OK(report);
    std::array<int, 4> firsts{};
    std::map<std::uint32_t, std::vector<int>> rounds;
    std::set<std::pair<int, int>> settings;
    for (const Sample& sample : report->samples) {
        rounds[sample.round].push_back(sample.variant);
        settings.insert({sample.inputs, sample.place});
    }
    for (const auto& [round, order] : rounds) {
        ASSERT_EQ(order.size(), 8u);
        EXPECT_TRUE(std::equal(order.begin(), order.end(), order.rbegin())) << "no mirror";
        ++firsts[static_cast<std::size_t>(order[0])];
    }
    EXPECT_THAT(firsts, Each(testing::AllOf(testing::Ge(2), testing::Le(16))));
    EXPECT_GT(settings.size(), 40u) << "inputs and places are drawn apart";
    // The same seed has the same order, another one another.
    const auto orders = [&](std::uint64_t seed) {
        protocol_.seed = seed;
        auto again = open();
        std::vector<int> order;
        const auto report = again->compare(std::vector<Variant>{variant("a"), variant("b")});
        for (const Sample& sample : report->samples) order.push_back(sample.variant);
        return order;
    };
    EXPECT_EQ(orders(5), orders(5));
    EXPECT_NE(orders(5), orders(6));
}

TEST_F(Timing, EqualVariantsAreSeldomToldApart) {
    protocol_.most_sets = 2;
    for (const Noise noise : all_noise) {
        Found found;
        for (std::uint64_t i = 0; i < 30; ++i) {
            set_noise(noise, 1000 * i + 7);
            protocol_.seed = i;
            auto session = open();
            if (!session) continue;  // it differed from itself already
            const auto report = session->compare(std::vector<Variant>{variant("equal")}, {.rounds = 16});
            ASSERT_OK(report);
            const Verdict verdict = report->variants[0].comparison.verdict;
            found.faster += verdict == Verdict::faster, found.slower += verdict == Verdict::slower;
            found.other += verdict == Verdict::same || verdict == Verdict::unsure;
        }
        EXPECT_LE(found.faster + found.slower, 3) << noise_name(noise);  // of 30 at 5 %
        EXPECT_GE(found.other, 26) << noise_name(noise);
    }
}

TEST_F(Timing, DifferencesAreFound) {
    protocol_.most_sets = 2;
    for (const Noise noise : {Noise::none, Noise::white, Noise::ramp, Noise::drift}) {
        Found found;
        for (std::uint64_t i = 0; i < 25; ++i) {
            set_noise(noise, i, 0.0015);
            protocol_.seed = i;
            auto session = open();
            ASSERT_OK(session);
            const auto report = session->compare(
                std::vector<Variant>{variant("fast", {.milliseconds = 0.099})}, {.rounds = 16});
            ASSERT_OK(report);
            const Comparison& c = report->variants[0].comparison;
            found.faster += c.verdict == Verdict::faster, found.slower += c.verdict == Verdict::slower;
        }
        EXPECT_GE(found.faster, 23) << noise_name(noise);
        EXPECT_EQ(found.slower, 0) << noise_name(noise);
    }
}

// What a session cannot tell apart it does not judge.
TEST_F(Timing, ANoisyDeviceJudgesLess) {
    set_noise(Noise::white, 3, 0.02);
    auto session = open();
    ASSERT_OK(session);
    const auto report =
        session->compare(std::vector<Variant>{variant("fast", {.milliseconds = 0.099})}, {.rounds = 64});
    ASSERT_OK(report);
    EXPECT_GT(report->least_effect, 0.025);
    EXPECT_NE(report->variants[0].comparison.verdict, Verdict::faster);
}

// ---- clocks

TEST_F(Timing, SlowSamplesAreRepeated) {
    set_noise(Noise::throttle, 11);
    fake().throttled = 4;  // a power cap
    auto session = open();
    ASSERT_OK(session);
    const auto report = session->compare(std::vector<Variant>{variant("fast", {.milliseconds = 0.097})});
    ASSERT_OK(report);
    int repeated = 0;
    for (const Sample& sample : report->samples) {
        repeated += sample.repeated == Sample::Repeated::slow_clock;
        EXPECT_TRUE(sample.repeated == Sample::Repeated::no || sample.megahertz < 0.97 * 1980);
        EXPECT_GT(sample.megahertz, 1000);
        EXPECT_EQ(sample.celsius, 41);
        EXPECT_EQ(sample.throttled, 4u);
    }
    EXPECT_GE(repeated, 1);
    EXPECT_EQ(report->samples.size(), 32u * 4 + static_cast<std::size_t>(repeated));
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::faster) << report->variants[0].why;
    EXPECT_NEAR(report->variants[0].comparison.ratio_in_cycles, 0.97, 0.005);
}

TEST_F(Timing, AClockThatStaysLowMakesNoise) {
    auto session = open();
    ASSERT_OK(session);
    // One variant lowers the clock each time, as a power cap does.
    const Variant one = variant("hot", {.milliseconds = 0.09});
    fake().milliseconds_of = [inner = fake().milliseconds_of](const FakeLaunch& launch) {
        if (launch.function == "hot") fake().megahertz = 1700;
        return inner(launch);
    };
    const auto report = session->compare(std::vector<Variant>{one, variant("a"), variant("b")});
    ASSERT_OK(report);
    EXPECT_EQ(report->noisy_rounds, 32u);
    EXPECT_EQ(report->variants[0].status, TimingStatus::noisy);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::unsure);
    EXPECT_THAT(report->variants[0].why, HasSubstr("the clock fell in 32 of 32 rounds"));
    EXPECT_GT(report->variants[0].milliseconds, 0) << "an empty result is none";
    EXPECT_EQ(std::ranges::count(report->samples, 1, &Sample::variant), 32 * 2 * 4) << "thrice repeated";
}

TEST_F(Timing, WithoutNvmlAMarkerTellsTheClock) {
    protocol_.nvml = "";
    auto session = open();
    ASSERT_OK(session);
    EXPECT_EQ(session->facts().clock, ClockSource::marker);
    auto report = session->compare(std::vector<Variant>{variant("a")}, {.rounds = 6});
    ASSERT_OK(report);
    for (const Sample& sample : report->samples) EXPECT_EQ(sample.megahertz, 1980);
    marker_ns_ = 0;  // the timer stands
    session = open();
    ASSERT_OK(session);
    EXPECT_EQ(session->facts().clock, ClockSource::none);
    report = session->compare(std::vector<Variant>{variant("a", {.milliseconds = 0.09})}, {.rounds = 6});
    ASSERT_OK(report);
    for (const Sample& sample : report->samples) EXPECT_EQ(sample.megahertz, 0);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::faster);
    EXPECT_EQ(name(session->facts().clock), "none");
}

// ---- batches and tiers

TEST_F(Timing, ShortKernelsAreTimedInBatches) {
    kernel("baseline", {.milliseconds = 0.004});
    auto session = Session::open(work(), kernel("baseline", {.milliseconds = 0.004}), gpu(), protocol_);
    ASSERT_OK(session);
    EXPECT_EQ(session->facts().batch, 16u);
    const std::vector<Variant> variants{variant("fast", {.milliseconds = 0.0038})};
    const auto report = session->compare(variants, {.rounds = 8});
    ASSERT_OK(report);
    const VariantTiming& fast = report->variants[0];
    EXPECT_EQ(fast.status, TimingStatus::ok) << fast.why;
    EXPECT_EQ(fast.comparison.verdict, Verdict::faster);
    EXPECT_NEAR(fast.milliseconds, 0.0038, 1e-6);
    EXPECT_NEAR(fast.cold_milliseconds, 0.0038, 1e-6);
    EXPECT_EQ(std::ranges::count(report->samples, Sample::Purpose::cold, &Sample::purpose), 8 * 4);
    // 16 to see that it is right, 16 cold ones, and 16 in each of 16 batches; all in a graph but the first.
    EXPECT_EQ(behaviour("fast").calls, 16 + 16 + 16 * 16);
    EXPECT_GT(fake().calls["cuGraphLaunch"], 0);
}

TEST_F(Timing, ARaceReportsOtherSamplesThanItChoseBy) {
    set_noise(Noise::white, 5, 0.004);
    auto session = open();
    ASSERT_OK(session);
    std::vector<Variant> variants;
    for (int i = 0; i < 15; ++i)
        variants.push_back(variant("v" + std::to_string(i), {.milliseconds = i == 7   ? 0.095
                                                                             : i == 3 ? 0.12
                                                                                      : 0.1}));
    const auto report = session->compare(variants, {.tier = Tier::race});
    ASSERT_OK(report);
    int reported = 0;
    for (const VariantTiming& one : report->variants) {
        EXPECT_EQ(one.status, TimingStatus::ok);
        reported += one.comparison.rounds != 0;
        EXPECT_GE(one.selection.rounds, 8u);
        EXPECT_EQ(one.is_promising, one.comparison.rounds != 0);
    }
    EXPECT_EQ(reported, 4);
    EXPECT_EQ(report->variants[7].comparison.verdict, Verdict::faster);
    EXPECT_EQ(report->variants[7].comparison.rounds, 16u);
    EXPECT_EQ(report->variants[3].comparison.rounds, 0u);
    EXPECT_EQ(report->variants[3].selection.verdict, Verdict::slower);
    std::set<std::uint32_t> chosen, told;
    for (const Sample& sample : report->samples)
        (sample.purpose == Sample::Purpose::selection ? chosen : told).insert(sample.round);
    EXPECT_EQ(chosen.size(), 16u);
    EXPECT_EQ(told.size(), 16u);
    EXPECT_LT(*chosen.rbegin(), *told.begin());
}

TEST_F(Timing, AScreenSaysWhatIsWorthMore) {
    set_noise(Noise::white, 6, 0.002);
    auto session = open();
    ASSERT_OK(session);
    const auto report =
        session->compare(std::vector<Variant>{variant("fast", {.milliseconds = 0.09}), variant("equal")},
                         {.tier = Tier::screen});
    ASSERT_OK(report);
    EXPECT_TRUE(report->variants[0].is_promising);
    EXPECT_FALSE(report->variants[1].is_promising);
    EXPECT_EQ(report->variants[0].selection.rounds, 5u);
    EXPECT_EQ(report->variants[0].comparison.rounds, 0u);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::unsure);
    EXPECT_EQ(report->samples.size(), 5u * 3);
    EXPECT_EQ(session->compare(std::vector<Variant>{variant("a")}, {.tier = Tier::final_})->rounds, 64u);
}

// ---- what is impossible

TEST_F(Timing, NothingIsFasterThanTheRoofline) {
    TimedLaunch launch = work();
    // 3201 MHz, 6144 bits: 4.917 TB/s; L2 keeps 64 KB of it. 400 MB: 0.0813 ms.
    launch.necessary_bytes = 400e6;
    auto session = Session::open(launch, kernel("baseline"), gpu(), protocol_);
    ASSERT_OK(session);
    EXPECT_NEAR(session->facts().roofline_milliseconds, 0.0813, 0.0002);
    const auto report = session->compare(std::vector<Variant>{variant("good", {.milliseconds = 0.085}),
                                                              variant("bad", {.milliseconds = 0.08})});
    ASSERT_OK(report);
    EXPECT_EQ(report->variants[0].status, TimingStatus::ok);
    EXPECT_EQ(report->variants[1].status, TimingStatus::impossible);
    EXPECT_THAT(report->variants[1].why, HasSubstr("nothing can take less than 0.0813"));
    launch.necessary_bytes = 0, launch.necessary_operations = 1e9, protocol_.operations_per_second = 1e12;
    const auto slow = Session::open(launch, kernel("baseline"), gpu(), protocol_);
    ASSERT_FALSE(slow);
    EXPECT_EQ(slow.error().code, Errc::timing_not_possible);
    EXPECT_THAT(message(slow.error()), HasSubstr("takes 0.1"));
}

TEST_F(Timing, TheEmulatorHasNoTime) {
    const Device emulator = Device::open("emulator").value();
    const auto refused = Session::open(work(), kernel("baseline"), emulator, protocol_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::timing_not_possible);
}

TEST_F(Timing, MistakesAreRefused) {
    TimedLaunch launch = work();
    launch.is_right = nullptr;
    const auto refused = [&] {
        const auto session = Session::open(launch, kernel("baseline"), gpu(), protocol_);
        return !session && session.error().code == Errc::argument_invalid;
    };
    EXPECT_TRUE(refused());
    launch = work();
    launch.necessary_bytes = -1;
    EXPECT_TRUE(refused());
    launch = work();
    launch.input = [](const TemplateTensor&, std::uint64_t) { return std::vector<std::byte>(3); };
    EXPECT_TRUE(refused());
    launch = work();
    protocol_.calibration_rounds = 7;
    EXPECT_TRUE(refused());
    protocol_ = {.most_sets = 1, .nvml = "", .lock_folder = testing::TempDir()};
    EXPECT_TRUE(refused());
    protocol_.most_sets = 2;
    auto session = open();
    ASSERT_OK(session);
    EXPECT_EQ(session->compare({}).error().code, Errc::argument_invalid);
    EXPECT_FALSE(session->compare(std::vector<Variant>(16, variant("a"))));
    EXPECT_FALSE(session->compare(std::vector<Variant>(1, variant("a")), {.tier = Tier::race, .groups = 0}));
}

// ---- other people on the GPU

TEST_F(Timing, OneSessionAtATimeMeasures) {
    auto session = open();
    ASSERT_OK(session);
    const std::string path =
        testing::TempDir() + "/ptxgraft-timing-" + session->facts().device.uuid + ".lock";
    // Another process has the lock, as long as it lives.
    int ready[2];
    ASSERT_EQ(pipe(ready), 0);
    const pid_t child = fork();
    if (child == 0) {
        const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
        const char result = flock(file, LOCK_EX) == 0 ? 'y' : 'n';
        static_cast<void>(!write(ready[1], &result, 1));
        while (true) pause();
    }
    char byte = 0;
    ASSERT_EQ(read(ready[0], &byte, 1), 1);
    EXPECT_EQ(byte, 'y');
    protocol_.lock_seconds = 0.05;
    const auto refused = open();
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::timing_not_possible);
    EXPECT_THAT(message(refused.error()), HasSubstr("another session has measured on the GPU for 0.05 s"));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    close(ready[0]), close(ready[1]);
    EXPECT_OK(session->compare(std::vector<Variant>{variant("a")}, {.rounds = 6}));
    protocol_.lock_folder = "/nowhere";
    EXPECT_THAT(message(open().error()), HasSubstr("/nowhere/ptxgraft-timing-"));
}

TEST_F(Timing, ASharedGpuIsSaid) {
    auto session = open();
    ASSERT_OK(session);
    EXPECT_FALSE(session->facts().is_shared);
    fake().compute_processes = 2;
    EXPECT_TRUE(session->compare(std::vector<Variant>{variant("a")}, {.rounds = 6})->is_shared);
    EXPECT_TRUE(open()->facts().is_shared);
}

TEST_F(Timing, PersistingLinesAreForbiddenWhileASessionLives) {
    fake().persisting_l2 = 4096;
    {
        const auto session = open();
        ASSERT_OK(session);
        EXPECT_EQ(fake().persisting_l2, 0u);
    }
    EXPECT_EQ(fake().persisting_l2, 4096u);
}

// A part of a GPU (MIG) has no persisting lines, and its driver no limit of them.
TEST_F(Timing, ADeviceWithoutPersistingLines) {
    fake().attributes[108] = 0;
    reopen();
    fake().failing_call = "cuCtxSetLimit", fake().failing_result = 215;
    auto session = open();
    ASSERT_OK(session);
    EXPECT_OK(session->compare(std::vector<Variant>{variant("a")}, {.rounds = 6}));
    EXPECT_EQ(fake().l2_resets, 0);
}

// ---- a device that moves

TEST_F(Timing, ADeviceThatMovedLeavesNoVerdict) {
    auto session = open();
    ASSERT_OK(session);
    auto report = session->compare(std::vector<Variant>{variant("fast", {.milliseconds = 0.09})});
    ASSERT_OK(report);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::faster);
    behaviour("baseline").milliseconds = 0.11;
    const auto closing = session->close();
    ASSERT_OK(closing);
    EXPECT_THAT(closing->moved, HasSubstr("+10.0 % more time at the end"));
    mark(*report, *closing);
    EXPECT_EQ(report->variants[0].status, TimingStatus::noisy);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::unsure);
    EXPECT_EQ(report->variants[0].why, closing->moved);
}

TEST_F(Timing, ProgressSaysWhatIsInFlight) {
    std::vector<std::size_t> variants;
    int phases[5] = {};
    protocol_.progress = [&](const Progress& progress) {
        variants.push_back(progress.variant);
        ++phases[static_cast<int>(progress.phase)];
    };
    auto session = open();
    ASSERT_OK(session);
    EXPECT_THAT(variants, Each(Progress::baseline));
    variants.clear();
    EXPECT_OK(session->compare(std::vector<Variant>{variant("a"), variant("b")}, {.tier = Tier::race}));
    EXPECT_THAT(variants, testing::IsSupersetOf({std::size_t{0}, std::size_t{1}, Progress::baseline}));
    for (const int phase : phases) EXPECT_GT(phase, 0);
}

}  // namespace
}  // namespace ptxgraft::measure
