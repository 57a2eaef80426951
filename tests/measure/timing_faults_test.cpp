// A driver that fails while a session measures: each of its calls, once or for ever. What was measured
// before is kept, and the status says what happened.
#include <thread>

#include "measure/fake_session.hpp"

namespace ptxgraft::measure {
namespace {

using testing::AnyOf;
using testing::HasSubstr;

class Faults : public FakeSession {
  protected:
    void SetUp() override {
        FakeSession::SetUp();
        protocol_.most_sets = 2;
        protocol_.calibration_rounds = 8;
    }
};

// Each call that a comparison makes fails once at the first, a later, and a late time.
TEST_F(Faults, EachCallFailsOnce) {
    const char* const calls[] = {
        "cuLaunchKernel",  "cuEventRecord",    "cuEventElapsedTime",          "cuStreamSynchronize",
        "cuMemcpyDtoH_v2", "cuCtxSynchronize", "cuCtxResetPersistingL2Cache", "cuEventSynchronize"};
    for (const char* const call : calls)
        for (const int after : {0, 3, 20, 150}) {
            SCOPED_TRACE(std::string(call) + " after " + std::to_string(after));
            auto session = open();
            ASSERT_OK(session);
            const std::vector<Variant> variants{variant("a", {.milliseconds = 0.09}), variant("b")};
            fake().failing_call = call, fake().failing_result = 2, fake().failing_once = true;
            fake().failing_after = after;
            const auto report = session->compare(variants, {.rounds = 12});
            const bool has_failed = fake().failing_call.empty();
            fake().failing_call.clear(), fake().failing_after = 0, fake().failing_once = false;
            ASSERT_OK(report);
            ASSERT_EQ(report->variants.size(), 2u);
            const bool is_told = report->ended_by || report->variants[0].status == TimingStatus::failed ||
                                 report->variants[1].status == TimingStatus::failed;
            EXPECT_EQ(is_told, has_failed);
            for (const VariantTiming& one : report->variants) {
                EXPECT_THAT(one.status, AnyOf(TimingStatus::ok, TimingStatus::failed));
                EXPECT_THAT(one.why, AnyOf("", HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
            }
            EXPECT_FALSE(after == 150 && report->ended_by && report->samples.empty()) << "they are kept";
            // The session goes on.
            const auto again = session->compare(variants, {.rounds = 12});
            ASSERT_OK(again);
            EXPECT_FALSE(again->ended_by);
            EXPECT_EQ(again->variants[0].comparison.verdict, Verdict::faster);
        }
}

// Of opening a session too; nothing is left behind (FakeGpu looks).
TEST_F(Faults, OpeningFailsAtEachCall) {
    const char* const calls[] = {
        "cuMemAlloc_v2",       "cuMemcpyHtoD_v2",    "cuModuleLoadDataEx", "cuStreamCreateWithPriority",
        "cuEventCreate",       "cuCtxSetLimit",      "cuLaunchKernel",     "cuEventRecord",
        "cuStreamSynchronize", "cuEventElapsedTime", "cuMemcpyDtoH_v2",    "cuModuleGetFunction"};
    static_cast<void>(kernel("baseline"));
    for (const char* const call : calls)
        for (const int after : {0, 2}) {
            fake().failing_call = call, fake().failing_result = 2;
            fake().failing_after = after, fake().failing_once = true;
            const auto session = open();
            if (!fake().failing_call.empty()) continue;  // fewer calls than that
            ASSERT_FALSE(session) << call << ' ' << after;
            EXPECT_THAT(session.error().code,
                        AnyOf(Errc::out_of_device_memory, Errc::driver_failed, Errc::module_not_loaded))
                << call << ": " << message(session.error());
        }
    fake().failing_call.clear();
    EXPECT_OK(open());
}

TEST_F(Faults, AKernelTakesTheDeviceAlong) {
    auto session = open();
    ASSERT_OK(session);
    const std::vector<Variant> variants{variant("good", {.milliseconds = 0.09}),
                                        variant("bad", {.run = [](FakeRun& run) {
                                                    twice_as_much(run);
                                                    if (run.call == 30) fake().lost_with = 700;
                                                }})};
    const auto report = session->compare(variants, {.rounds = 64});
    ASSERT_OK(report);
    ASSERT_TRUE(report->ended_by);
    EXPECT_TRUE(report->ended_by->context_lost);
    EXPECT_EQ(report->in_flight, 1u);
    EXPECT_EQ(report->variants[1].status, TimingStatus::device_lost);
    EXPECT_THAT(report->variants[1].why, HasSubstr("its launch was the last"));
    // What had been measured of the other stands.
    EXPECT_EQ(report->variants[0].status, TimingStatus::ok);
    EXPECT_EQ(report->variants[0].comparison.verdict, Verdict::faster);
    EXPECT_GE(report->variants[0].comparison.rounds, 10u);
    EXPECT_GE(report->samples.size(), 60u);
    // And then it is said at once.
    const auto later = session->compare(variants);
    ASSERT_OK(later);
    EXPECT_TRUE(later->ended_by);
    for (const VariantTiming& one : later->variants) EXPECT_EQ(one.status, TimingStatus::device_lost);
    EXPECT_FALSE(session->close());
    EXPECT_FALSE(open());
    fake().lost_with = 0;
}

TEST_F(Faults, EachCallLosesTheDevice) {
    for (const char* const call :
         {"cuLaunchKernel", "cuEventRecord", "cuStreamSynchronize", "cuMemcpyDtoH_v2"}) {
        SCOPED_TRACE(call);
        TearDown(), SetUp();  // a context that is lost stays so
        auto session = open();
        ASSERT_OK(session);
        const std::vector<Variant> variants{variant("a"), variant("b")};
        fake().failing_call = call, fake().failing_result = 719, fake().failing_for_ever = true;
        const auto report = session->compare(variants);
        ASSERT_OK(report);
        ASSERT_TRUE(report->ended_by);
        for (const VariantTiming& one : report->variants) EXPECT_EQ(one.status, TimingStatus::device_lost);
        fake().lost_with = 0, fake().failing_for_ever = false;
    }
}

// A call that does not come back: whoever watches knows which variant it was, and has what came before; the
// process is his to end. This one goes on when it is let.
TEST_F(Faults, AKernelThatHangs) {
    std::atomic<std::size_t> in_flight = 99;
    std::atomic<int> launches = 0;
    protocol_.progress = [&](const Progress& progress) { in_flight = progress.variant, ++launches; };
    auto session = open();
    ASSERT_OK(session);
    const std::vector<Variant> variants{variant("good"), variant("hangs", {.run = [](FakeRun& run) {
                                                                     twice_as_much(run);
                                                                     if (run.call == 9)
                                                                         fake().hanging_call =
                                                                             "cuStreamSynchronize";
                                                                 }})};
    launches = 0;
    std::thread measures([&] {
        const auto report = session->compare(variants, {.rounds = 12});
        EXPECT_OK(report);
        EXPECT_EQ(report->variants[0].status, TimingStatus::ok);
    });
    fake_call<void()>("fake_cuda_await_hanging")();
    EXPECT_EQ(in_flight, 1u);
    EXPECT_GE(launches, 10);
    fake().hanging_call.clear();
    fake_call<void()>("fake_cuda_let_go")();
    measures.join();
}

}  // namespace
}  // namespace ptxgraft::measure
