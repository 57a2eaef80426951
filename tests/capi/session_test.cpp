// Sessions of timing in C, on the fake driver with a clock that a test says; and what paired times say.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <dlfcn.h>

#include <cmath>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "capi/objects.hpp"
#include "fake_cuda/scripted_noise.hpp"
#include "handles.hpp"
#include "measure/fake_kernels.hpp"
#include "measure/support.hpp"
#include "support/paths.hpp"

namespace {

using namespace ptxgraft::test;
using ptxgraft::Noise;
using ptxgraft::NoiseScript;
using testing::HasSubstr;
using testing::Not;

using CSession = Handle<ptxgraft_session, ptxgraft_session_destroy>;
using CTimings = Handle<ptxgraft_timings, ptxgraft_timings_destroy>;

// ---- paired times

std::vector<double> times_of(double milliseconds, std::uint64_t seed, std::size_t count = 32) {
    NoiseScript noise(Noise::white, seed, 0.001);
    std::vector<double> made;
    for (std::size_t i = 0; i < count; ++i) made.push_back(milliseconds * noise.next());
    return made;
}

TEST(CApiTimes, AreComparedInPairs) {
    const auto base = times_of(0.1, 1), fast = times_of(0.09, 2), slow = times_of(0.11, 3),
               equal = times_of(0.1, 4);
    ptxgraft_speed_info info = PTXGRAFT_SPEED_INFO_INIT;
    ASSERT_OK(ptxgraft_times_compare(&info, base.data(), fast.data(), base.size(), nullptr));
    EXPECT_EQ(info.speed, PTXGRAFT_SPEED_faster);
    EXPECT_NEAR(info.ratio, 0.9, 0.001);
    EXPECT_LE(info.low, info.ratio);
    EXPECT_GE(info.high, info.ratio);
    EXPECT_LT(info.high - info.low, 0.003);
    EXPECT_NEAR(info.median, 0.9, 0.001);
    EXPECT_LT(info.p, 1e-6);
    EXPECT_EQ(info.superiority, 1);
    EXPECT_EQ(info.rounds, 32u);
    ASSERT_OK(ptxgraft_times_compare(&info, base.data(), slow.data(), base.size(), nullptr));
    EXPECT_EQ(info.speed, PTXGRAFT_SPEED_slower);
    ASSERT_OK(ptxgraft_times_compare(&info, base.data(), equal.data(), base.size(), nullptr));
    EXPECT_EQ(info.speed, PTXGRAFT_SPEED_same);
    // Three rounds show nothing, and a tenth is none for whoever wants a fifth.
    ASSERT_OK(ptxgraft_times_compare(&info, base.data(), fast.data(), 3, nullptr));
    EXPECT_EQ(info.speed, PTXGRAFT_SPEED_unsure);
    EXPECT_EQ(info.high, INFINITY);
    ptxgraft_speed_options options = PTXGRAFT_SPEED_OPTIONS_INIT;
    options.least_effect = 0.2;
    ASSERT_OK(ptxgraft_times_compare(&info, base.data(), fast.data(), base.size(), &options));
    EXPECT_EQ(info.speed, PTXGRAFT_SPEED_same);
}

TEST(CApiTimes, WhatIsNoTimeIsNamed) {
    const auto base = times_of(0.1, 1);
    for (const double wrong : {0.0, -1.0, HUGE_VAL, std::nan("")}) {
        auto other = base;
        other[7] = wrong;
        ptxgraft_speed_info info = PTXGRAFT_SPEED_INFO_INIT;
        const ptxgraft_speed_info before = info;
        EXPECT_EQ(ptxgraft_times_compare(&info, base.data(), other.data(), base.size(), nullptr),
                  PTXGRAFT_STATUS_argument_invalid);
        EXPECT_EQ(ptxgraft_error_get_index(), 7u);
        EXPECT_EQ(std::memcmp(&info, &before, sizeof info), 0);
    }
    ptxgraft_speed_info info = PTXGRAFT_SPEED_INFO_INIT;
    EXPECT_INVALID(ptxgraft_times_compare(&info, nullptr, base.data(), 1, nullptr), "baseline");
    EXPECT_INVALID(ptxgraft_times_compare(&info, base.data(), nullptr, 1, nullptr), "kernel");
    EXPECT_INVALID(ptxgraft_times_compare(nullptr, base.data(), base.data(), 1, nullptr), "info");
    ptxgraft_speed_options options = PTXGRAFT_SPEED_OPTIONS_INIT;
    options.alpha = 2;
    EXPECT_EQ(ptxgraft_times_compare(&info, base.data(), base.data(), base.size(), &options),
              PTXGRAFT_STATUS_argument_invalid);
}

TEST(CApiTimes, OfAKernelAgainstItselfAreTheNoise) {
    const auto first = times_of(0.1, 1, 64), second = times_of(0.1, 2, 64);
    ptxgraft_calibration_info info = PTXGRAFT_CALIBRATION_INFO_INIT;
    ASSERT_OK(ptxgraft_times_calibrate(&info, first.data(), second.data(), first.size()));
    EXPECT_EQ(info.rounds, 64u);
    EXPECT_NEAR(info.sigma, 0.001 * std::sqrt(2), 0.0005);
    EXPECT_NEAR(info.bias, 0, 0.001);
    EXPECT_NEAR(info.milliseconds, 0.1, 0.0003);
    EXPECT_EQ(info.least_effect, 0.005);
    EXPECT_STREQ(info.moved, "");
    EXPECT_EQ(ptxgraft_times_calibrate(&info, first.data(), second.data(), 7),
              PTXGRAFT_STATUS_argument_invalid);
}

// ---- sessions

FakeCuda& fake() {
    static void* const library = dlopen(ptxgraft::test::build_path("libfake_cuda.so").c_str(), RTLD_NOW);
    if (library == nullptr) throw std::runtime_error(dlerror());
    return *reinterpret_cast<FakeCuda* (*)()>(dlsym(library, "fake_cuda"))();
}

// The workload of measure/support.hpp, y = x * x + 1, on a GPU whose kernels take what a test says. A variant
// is a kernel of its own entry.
class CApiSession : public testing::Test {
  protected:
    void SetUp() override {
        fake() = {};
        fake().attributes[38] = 64 << 10;
        fake().keeps_launches = false;
        fake().argument_sizes = {8, 8, 4};
        ptxgraft::measure::add_timing_kernels(fake());
        fake().on_launch = [this](const FakeLaunch& launch) { run(launch); };
        fake().milliseconds_of = [this](const FakeLaunch&) { return milliseconds_; };
        auto gpu = ptxgraft::Device::open("cuda:1", {.driver = driver_});
        ASSERT_TRUE(gpu) << ptxgraft::describe(gpu.error());
        device_.emplace(std::move(*gpu));
        options_.nvml = driver_.c_str();
        options_.lock_folder = folder_.c_str();
    }
    void TearDown() override {
        kernels_.clear();
        device_.reset();
        EXPECT_TRUE(fake().allocations.empty()) << "memory was not freed";
        fake() = {};
    }
    ptxgraft_status open(CSession& session) {
        constexpr std::string_view text = ptxgraft::measure::square;
        return ptxgraft_session_open(&session, &*device_, text.data(), text.size(), &options_);
    }
    // A kernel with the parameters of the workload's, which takes so many milliseconds.
    const ptxgraft_kernel* kernel(const std::string& name, double milliseconds) {
        time_of_[name] = milliseconds;
        const std::string text = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry " + name +
                                 "(.param .u64 x, .param .u64 y, .param .u32 n) { ret; }\n";
        CSkeleton skeleton;
        EXPECT_OK(ptxgraft_skeleton_create_from_ptx(&skeleton, text.data(), text.size()));
        CKernel made;
        EXPECT_OK(ptxgraft_kernel_create(&made, skeleton, &*device_, nullptr));
        return kernels_.emplace_back(std::move(made));
    }

    ptxgraft_session_options options_ = PTXGRAFT_SESSION_OPTIONS_INIT;
    NoiseScript noise_{Noise::white, 1, 0.001};
    std::map<std::string, double> time_of_{{"elementwise", 0.1}};
    std::string wrong_;  // this one's results are not right
    std::optional<ptxgraft_device> device_;

  private:
    void run(const FakeLaunch& launch) {
        milliseconds_ = 0.002;
        if (ptxgraft::measure::run_timing_kernel(launch, 20'000, fake().megahertz)) return;
        if (launch.function == "elementwise_reference") return compute<double>(launch);
        compute<float>(launch);
        if (launch.function == wrong_) ptxgraft::measure::fake_pointer<float>(launch, 1)[3] += 1;
        milliseconds_ = time_of_[launch.function] * noise_.next();
    }
    template <class T> static void compute(const FakeLaunch& launch) {
        const auto* const x = ptxgraft::measure::fake_pointer<float>(launch, 0);
        for (std::size_t i = 0; i < ptxgraft::measure::fake_argument(launch, 2); ++i)
            ptxgraft::measure::fake_pointer<T>(launch, 1)[i] = std::fma(T{x[i]}, T{x[i]}, T{1});
    }

    const std::string driver_ = ptxgraft::test::build_path("libfake_cuda.so");
    std::string folder_ = testing::TempDir();
    std::vector<CKernel> kernels_;
    double milliseconds_ = 0;
};

ptxgraft_timing_info timing_at(const CTimings& timings, std::size_t kernel) {
    ptxgraft_timing_info info = PTXGRAFT_TIMING_INFO_INIT;
    EXPECT_OK(ptxgraft_timings_get(&info, timings, kernel));
    return info;
}

TEST_F(CApiSession, TellsWhichKernelIsFaster) {
    CSession session;
    ASSERT_OK(open(session));
    ptxgraft_calibration_info noise = PTXGRAFT_CALIBRATION_INFO_INIT;
    ASSERT_OK(ptxgraft_session_get_calibration(&noise, session));
    EXPECT_EQ(noise.rounds, 32u);
    EXPECT_NEAR(noise.sigma, 0.001, 0.0006);
    EXPECT_NEAR(noise.milliseconds, 0.1, 0.0005);
    ptxgraft_session_info facts = PTXGRAFT_SESSION_INFO_INIT;
    ASSERT_OK(ptxgraft_session_get_info(&facts, session));
    EXPECT_EQ(facts.flush_size, 2u * (64 << 10));
    EXPECT_EQ(facts.clock, PTXGRAFT_CLOCK_nvml);
    EXPECT_EQ(facts.launches, 1u);
    EXPECT_GE(facts.sets, 2u);
    EXPECT_EQ(facts.is_shared, 0u);

    wrong_ = "wrong";
    const ptxgraft_kernel* const kernels[] = {kernel("fast", 0.09), kernel("slow", 0.11),
                                              kernel("equal", 0.1), kernel("wrong", 0.05)};
    CTimings timings;
    ASSERT_OK(ptxgraft_timings_create(&timings, session, kernels, 4, nullptr));
    ASSERT_EQ(ptxgraft_timings_get_count(timings), 4u);
    const auto fast = timing_at(timings, 0), slow = timing_at(timings, 1), equal = timing_at(timings, 2),
               wrong = timing_at(timings, 3);
    EXPECT_EQ(fast.ending, PTXGRAFT_TIMED_ok);
    EXPECT_EQ(fast.speed, PTXGRAFT_SPEED_faster);
    EXPECT_NEAR(fast.ratio, 0.9, 0.002);
    EXPECT_NEAR(fast.milliseconds, 0.09, 0.0005);
    EXPECT_LE(fast.low, fast.ratio);
    EXPECT_GE(fast.high, fast.ratio);
    EXPECT_EQ(fast.rounds, 32u);
    EXPECT_STREQ(fast.message, "");
    EXPECT_EQ(slow.speed, PTXGRAFT_SPEED_slower);
    EXPECT_EQ(equal.speed, PTXGRAFT_SPEED_same);
    EXPECT_EQ(wrong.ending, PTXGRAFT_TIMED_wrong);
    EXPECT_STRNE(wrong.message, "");
    ptxgraft_round_info rounds = PTXGRAFT_ROUND_INFO_INIT;
    ASSERT_OK(ptxgraft_timings_get_rounds(&rounds, timings));
    EXPECT_EQ(rounds.rounds, 32u);
    EXPECT_NEAR(rounds.baseline_milliseconds, 0.1, 0.0005);
    EXPECT_EQ(rounds.least_effect, 0.005);

    ptxgraft_calibration_info closing = PTXGRAFT_CALIBRATION_INFO_INIT;
    ASSERT_OK(ptxgraft_session_close(&closing, session, &timings, 1));
    EXPECT_STREQ(closing.moved, "");
    EXPECT_EQ(timing_at(timings, 0).speed, PTXGRAFT_SPEED_faster);
}

TEST_F(CApiSession, WhatWasTimedWhileTheDeviceMovedIsNoisy) {
    CSession session;
    ASSERT_OK(open(session));
    const ptxgraft_kernel* const fast = kernel("fast", 0.09);
    CTimings before, after;
    ASSERT_OK(ptxgraft_timings_create(&before, session, &fast, 1, nullptr));
    time_of_["elementwise"] = 0.15;
    ASSERT_OK(ptxgraft_timings_create(&after, session, &fast, 1, nullptr));
    ptxgraft_timings* const both[] = {before, after};
    ptxgraft_calibration_info closing = PTXGRAFT_CALIBRATION_INFO_INIT;
    ASSERT_OK(ptxgraft_session_close(&closing, session, both, 2));
    EXPECT_THAT(closing.moved, Not(HasSubstr("\n")));
    EXPECT_STRNE(closing.moved, "");
    for (const ptxgraft_timing_info& one : {timing_at(before, 0), timing_at(after, 0)}) {
        EXPECT_EQ(one.ending, PTXGRAFT_TIMED_noisy);
        EXPECT_STRNE(one.message, "");
    }
}

TEST_F(CApiSession, ARaceLeavesTheSlowBehind) {
    CSession session;
    ASSERT_OK(open(session));
    const ptxgraft_kernel* const kernels[] = {kernel("a", 0.09), kernel("b", 0.12), kernel("c", 0.13)};
    ptxgraft_timings_options options = PTXGRAFT_TIMINGS_OPTIONS_INIT;
    options.tier = PTXGRAFT_TIER_race;
    CTimings timings;
    ASSERT_OK(ptxgraft_timings_create(&timings, session, kernels, 3, &options));
    EXPECT_EQ(timing_at(timings, 0).speed, PTXGRAFT_SPEED_faster);
    EXPECT_EQ(timing_at(timings, 0).rounds, 16u);
    EXPECT_EQ(timing_at(timings, 2).rounds, 0u);
    expect_checked(options, &ptxgraft_timings_options::tier, "tier", PTXGRAFT_TIER_final,
                   [&](const ptxgraft_timings_options* given) {
                       CTimings none;
                       return ptxgraft_timings_create(&none, session, kernels, 3, given);
                   });
}

TEST_F(CApiSession, RefusesWhatIsNone) {
    CSession session;
    constexpr std::string_view text = R"({"template": "elementwise/simple", "shapes": 3})";
    EXPECT_NE(ptxgraft_session_open(&session, &*device_, text.data(), text.size(), &options_),
              PTXGRAFT_STATUS_ok);
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "workload");
    EXPECT_EQ(ptxgraft_error_get_line(), 1u);
    EXPECT_GT(ptxgraft_error_get_column(), 30u);
    EXPECT_EQ(session, nullptr);
    CDevice emulator;
    ASSERT_OK(ptxgraft_device_open(&emulator, "emulator"));
    constexpr std::string_view square = ptxgraft::measure::square;
    EXPECT_EQ(ptxgraft_session_open(&session, emulator, square.data(), square.size(), nullptr),
              PTXGRAFT_STATUS_timing_not_possible);
    options_.calibration_rounds = 3;
    EXPECT_INVALID(open(session), "8 rounds");
    options_.calibration_rounds = 32;

    ASSERT_OK(open(session));
    const ptxgraft_kernel* const kernels[] = {kernel("a", 0.1), nullptr};
    CTimings timings;
    EXPECT_INVALID(ptxgraft_timings_create(&timings, session, kernels, 2, nullptr), "kernels[1] is null");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_EQ(ptxgraft_timings_create(&timings, session, kernels, 0, nullptr),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_INVALID(ptxgraft_timings_create(&timings, session, nullptr, 1, nullptr), "kernels");
    ASSERT_OK(ptxgraft_timings_create(&timings, session, kernels, 1, nullptr));
    ptxgraft_timing_info info = PTXGRAFT_TIMING_INFO_INIT;
    EXPECT_INVALID(ptxgraft_timings_get(&info, timings, 1), "kernel 1 of 1");
    // Timings outlive their session; of another session they are not closed.
    session.reset();
    EXPECT_EQ(timing_at(timings, 0).ending, PTXGRAFT_TIMED_ok);
    ASSERT_OK(open(session));
    ptxgraft_calibration_info closing = PTXGRAFT_CALIBRATION_INFO_INIT;
    EXPECT_INVALID(ptxgraft_session_close(&closing, session, &timings, 1), "of another session");
    CSkeleton skeleton;
    ASSERT_OK(ptxgraft_skeleton_create_from_session(&skeleton, session));
    EXPECT_EQ(ptxgraft_skeleton_get_entry_count(skeleton), 1u);
}

// ---- structs of other versions

TEST(CApiTimes, StructsOfAllVersions) {
    const auto base = times_of(0.1, 1), fast = times_of(0.09, 2);
    expect_options_of_all_versions(ptxgraft_speed_options PTXGRAFT_SPEED_OPTIONS_INIT,
                                   "ptxgraft_speed_options", 32, [&](const ptxgraft_speed_options* options) {
                                       ptxgraft_speed_info info = PTXGRAFT_SPEED_INFO_INIT;
                                       return ptxgraft_times_compare(&info, base.data(), fast.data(), 32,
                                                                     options);
                                   });
    expect_infos_of_all_versions(ptxgraft_speed_info PTXGRAFT_SPEED_INFO_INIT, "ptxgraft_speed_info", 64,
                                 [&](ptxgraft_speed_info* info) {
                                     return ptxgraft_times_compare(info, base.data(), fast.data(), 32,
                                                                   nullptr);
                                 });
    expect_infos_of_all_versions(ptxgraft_calibration_info PTXGRAFT_CALIBRATION_INFO_INIT,
                                 "ptxgraft_calibration_info", 64, [&](ptxgraft_calibration_info* info) {
                                     return ptxgraft_times_calibrate(info, base.data(), fast.data(), 32);
                                 });
}

TEST_F(CApiSession, StructsOfAllVersions) {
    constexpr std::string_view text = ptxgraft::measure::square;
    expect_options_of_all_versions(
        options_, "ptxgraft_session_options", 88, [&](const ptxgraft_session_options* options) {
            CSession none;
            return ptxgraft_session_open(&none, &*device_, text.data(), text.size(), options);
        });
    CSession session;
    ASSERT_OK(open(session));
    const ptxgraft_kernel* const fast = kernel("fast", 0.09);
    CTimings timings;
    ASSERT_OK(ptxgraft_timings_create(&timings, session, &fast, 1, nullptr));
    expect_options_of_all_versions(ptxgraft_timings_options PTXGRAFT_TIMINGS_OPTIONS_INIT,
                                   "ptxgraft_timings_options", 16,
                                   [&](const ptxgraft_timings_options* options) {
                                       CTimings none;
                                       return ptxgraft_timings_create(&none, session, &fast, 1, options);
                                   });
    expect_infos_of_all_versions(
        ptxgraft_session_info PTXGRAFT_SESSION_INFO_INIT, "ptxgraft_session_info", 56,
        [&](ptxgraft_session_info* info) { return ptxgraft_session_get_info(info, session); });
    expect_infos_of_all_versions(
        ptxgraft_timing_info PTXGRAFT_TIMING_INFO_INIT, "ptxgraft_timing_info", 104,
        [&](ptxgraft_timing_info* info) { return ptxgraft_timings_get(info, timings, 0); });
    expect_infos_of_all_versions(
        ptxgraft_round_info PTXGRAFT_ROUND_INFO_INIT, "ptxgraft_round_info", 48,
        [&](ptxgraft_round_info* info) { return ptxgraft_timings_get_rounds(info, timings); });
}

}  // namespace
