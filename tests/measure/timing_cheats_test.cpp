// Kernels that look fast without being so, each as it was met in the wild (src/measure/README.md lists them
// with their sources). A cheat that is `ok` and faster is a failing test.
#include "measure/fake_session.hpp"

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;

class Cheat : public FakeSession {
  protected:
    VariantTiming timed(const FakeKernel& cheat, const TimingOptions& options = {}) {
        auto session = open();
        EXPECT_OK(session);
        auto report = session->compare(std::vector<Variant>{variant("cheat", cheat)}, options);
        EXPECT_OK(report);
        EXPECT_FALSE(report->ended_by);
        return report->variants[0];
    }
    void expect_wrong(const FakeKernel& cheat, Finding finding = Finding::wrong) {
        const VariantTiming timing = timed(cheat);
        EXPECT_EQ(timing.status, TimingStatus::wrong);
        EXPECT_EQ(timing.finding, finding) << name(timing.finding);
        EXPECT_EQ(timing.comparison.verdict, Verdict::unsure);
    }
};

// llm.c#852: right for the first calls, then less work.
TEST_F(Cheat, LessWorkAfterTheFirstCalls) {
    for (const int calls : {17, 18, 25, 60})
        expect_wrong({.milliseconds = 0.1, .run = [=](FakeRun& run) {
                          if (run.call < calls) return twice_as_much(run);
                          run.factor = 0.5;
                          run.y[0] = 2 * run.x[0];
                      }});
}

// Once in a while is enough.
TEST_F(Cheat, LessWorkInOneCallOfTwenty) {
    expect_wrong({.run = [](FakeRun& run) {
        if (run.call % 20 != 19) twice_as_much(run);
    }});
}

// pygpubench, submission_warmup: slow while it is warmed up, so that few repeats are chosen; then nothing.
TEST_F(Cheat, ItKnowsTheWarmUp) {
    const FakeKernel slow_first{.run = [](FakeRun& run) {
        twice_as_much(run);
        if (run.call < 16) run.factor = 1000;
    }};
    const VariantTiming timing = timed(slow_first);
    EXPECT_EQ(timing.status, TimingStatus::ok);
    EXPECT_EQ(timing.comparison.rounds, 32u) << "as many as of any variant";
    EXPECT_EQ(timing.comparison.verdict, Verdict::same);
    expect_wrong({.run = [](FakeRun& run) {
        if (run.call < 17) return twice_as_much(run);
        run.factor = 0.01;
    }});
}

// TVM#13354, reference-kernels#162: what did not run took no time. Its own launch is refused: the one between
// two events.
TEST_F(Cheat, ALaunchThatFails) {
    for (const auto phase : {Progress::Phase::admission, Progress::Phase::report}) {
        bool is_next = false;
        protocol_.progress = [&](const Progress& progress) {
            is_next = progress.variant == 1 && progress.phase == phase;
        };
        auto session = open();
        ASSERT_OK(session);
        const std::vector<Variant> variants{variant("good", {.milliseconds = 0.09}), variant("bad")};
        fake().on_call = [&](const FakeCuda&, const char* call) {
            if (!is_next || std::string_view(call) != "cuEventRecord") return;
            is_next = false;
            fake().failing_call = "cuLaunchKernel", fake().failing_result = 701, fake().failing_once = true;
        };
        const auto report = session->compare(variants);
        fake().on_call = nullptr;
        ASSERT_OK(report);
        EXPECT_FALSE(report->ended_by);
        EXPECT_EQ(report->variants[1].status, TimingStatus::failed);
        EXPECT_EQ(report->variants[1].error.code, Errc::launch_failed);
        EXPECT_THAT(report->variants[1].why, HasSubstr("cuLaunchKernel"));
        EXPECT_EQ(report->variants[1].comparison.rounds, 0u);
        EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::faster) << "the other goes on";
        for (const Sample& sample : report->samples) EXPECT_GT(sample.milliseconds, 0.05f);
    }
}

// A launch that takes no time, less than events tell, or no time that is one.
TEST_F(Cheat, NoTimeAtAll) {
    for (const double milliseconds : {0.0, 1e-6, 0.00049, -0.1}) {
        const VariantTiming timing = timed({.milliseconds = milliseconds});
        EXPECT_EQ(timing.status, TimingStatus::impossible) << milliseconds;
        EXPECT_THAT(timing.why, HasSubstr("two events alone"));
        EXPECT_EQ(timing.comparison.rounds, 0u) << "it is averaged nowhere";
    }
    EXPECT_EQ(timed({.milliseconds = 0.001}).status, TimingStatus::ok);
}

// CUDA-L1, tensara#238: what was computed for an address is copied when the address comes again.
TEST_F(Cheat, ResultsAreKeptByAddress) {
    auto kept = std::make_shared<std::map<const float*, std::vector<float>>>();
    expect_wrong({.run = [kept](FakeRun& run) {
        std::vector<float>& result = (*kept)[run.x];
        if (result.empty()) {
            twice_as_much(run);
            result.assign(run.y, run.y + elements);
        } else {
            std::copy(result.begin(), result.end(), run.y);
            run.factor = 0.5;
        }
    }});
}

// reference-kernels#104, #142: by the number of the call.
TEST_F(Cheat, ResultsAreKeptByCall) {
    auto kept = std::make_shared<std::vector<std::vector<float>>>();
    expect_wrong({.run = [kept](FakeRun& run) {
        if (run.call < 16) {
            twice_as_much(run);
            kept->emplace_back(run.y, run.y + elements);
        } else {
            std::copy_n((*kept)[static_cast<std::size_t>(run.call) % 16].begin(), elements, run.y);
            run.factor = 0.5;
        }
    }});
}

// Sakana 2025: whatever is in the output's memory already.
TEST_F(Cheat, TheLastResultIsStillThere) {
    expect_wrong({.milliseconds = 0.01, .run = [](FakeRun& run) {
                      if (run.call == 0) twice_as_much(run);
                  }});
    expect_wrong({.run = [](FakeRun& run) {
        if (run.call < 16) twice_as_much(run);
    }});
}

TEST_F(Cheat, APartOfTheOutput) {
    expect_wrong({.run = [](FakeRun& run) {
        for (std::size_t i = 0; i + 1 < elements; ++i) run.y[i] = 2 * run.x[i];
    }});
}

TEST_F(Cheat, WritesWhereItHasNothingToWrite) {
    expect_wrong({.run =
                      [](FakeRun& run) {
                          twice_as_much(run);
                          run.y[elements] = 0;
                      }},
                 Finding::out_of_bounds);
    expect_wrong({.run =
                      [](FakeRun& run) {
                          twice_as_much(run);
                          const_cast<float*>(run.x)[5] += 1;
                      }},
                 Finding::input_changed);
    // Only when it counts.
    expect_wrong({.run =
                      [](FakeRun& run) {
                          twice_as_much(run);
                          if (run.call > 40) const_cast<float*>(run.x)[5] += 1;
                      }},
                 Finding::input_changed);
}

// wafer.ai's 104 times: right by luck, and another time not.
TEST_F(Cheat, NotDeterministic) {
    expect_wrong({.run =
                      [](FakeRun& run) {
                          twice_as_much(run);
                          run.y[7] += 1e-5f * static_cast<float>(run.call % 3);
                      }},
                 Finding::not_deterministic);
}

// ShinkaEvolve#119: the luckiest of many equal ones.
TEST_F(Cheat, NoiseIsMined) {
    set_noise(Noise::spikes, 4, 0.01);
    auto session = open();
    ASSERT_OK(session);
    double best_chosen = 1;
    int faster = 0, reported = 0;
    for (int turn = 0; turn < 8; ++turn) {
        std::vector<Variant> variants;
        for (int i = 0; i < 15; ++i) variants.push_back(variant("v" + std::to_string(i)));
        const auto report = session->compare(variants, {.tier = Tier::race});
        ASSERT_OK(report);
        for (const VariantTiming& one : report->variants) {
            best_chosen = std::min(best_chosen, one.selection.ratio);
            reported += one.comparison.rounds != 0;
            faster += one.comparison.verdict == Verdict::faster;
        }
    }
    EXPECT_LT(best_chosen, 0.98) << "the choice favours the lucky";
    EXPECT_EQ(faster, 0) << "of " << reported;
}

// In a batch too each launch is looked at.
TEST_F(Cheat, WithinABatch) {
    kernel("baseline", {.milliseconds = 0.004});
    auto session = Session::open(work(), kernel("baseline", {.milliseconds = 0.004}), gpu(), protocol_);
    ASSERT_OK(session);
    const auto report = session->compare(
        std::vector<Variant>{variant("cheat", {.milliseconds = 0.003, .run = [](FakeRun& run) {
                                                   if (run.call < 100 || run.call % 16 != 3)
                                                       twice_as_much(run);
                                               }})});
    ASSERT_OK(report);
    EXPECT_EQ(report->variants[0].status, TimingStatus::wrong);
}

// The baseline is a kernel like any other.
TEST_F(Cheat, ABaselineThatCheats) {
    kernel("baseline", {.run = [](FakeRun& run) { run.y[0] = 1; }});
    const auto refused = Session::open(
        work(), kernel("baseline", {.run = [](FakeRun& run) { run.y[0] = 1; }}), gpu(), protocol_);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::baseline_wrong);
    behaviour("baseline") = {};
    auto session = open();
    ASSERT_OK(session);
    behaviour("baseline").run = [](FakeRun& run) {
        if (run.call % 50 != 0) twice_as_much(run);
    };
    const auto report = session->compare(std::vector<Variant>{variant("a", {.milliseconds = 0.05})});
    ASSERT_OK(report);
    ASSERT_TRUE(report->ended_by);
    EXPECT_EQ(report->ended_by->code, Errc::baseline_wrong);
}

}  // namespace
}  // namespace ptxgraft::measure
