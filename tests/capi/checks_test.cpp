// The emulator's checks through the C interface: which are on, and what a launch that keeps going tells of
// them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string_view>
#include <utility>

#include "handles.hpp"
#include "ptxgraft/ptxgraft.h"

namespace {

using testing::HasSubstr;

// Every thread of a block writes its number to p[0], and thread 0 what nothing wrote to p[1].
constexpr std::string_view mistaken = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry mistaken(.param .u64 p)
{
	.reg .pred %q;
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	st.global.u32 [%rd1], %r1;
	setp.ne.u32 %q, %r1, 0;
	@%q ret;
	ld.global.u32 %r2, [%rd1+8];
	st.global.u32 [%rd1+4], %r2;
	ret;
}
)";

// A launch of it by 64 threads on an emulator with these checks, or with what its name says.
struct CApiChecks : testing::Test {
    ptxgraft_status launch(const char* name = "emulator:sm_80") {
        EXPECT_EQ(ptxgraft_device_open_with_options(&device, name, &options), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        ptxgraft_skeleton* skeleton = nullptr;
        ptxgraft_kernel* kernel = nullptr;
        ptxgraft_buffer* buffer = nullptr;
        EXPECT_EQ(ptxgraft_skeleton_create_from_ptx(&skeleton, mistaken.data(), mistaken.size()),
                  PTXGRAFT_STATUS_ok);
        EXPECT_EQ(ptxgraft_kernel_create(&kernel, skeleton, device, nullptr), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        EXPECT_EQ(ptxgraft_buffer_create(&buffer, device, 64), PTXGRAFT_STATUS_ok);
        const ptxgraft_argument argument = PTXGRAFT_BUFFER(buffer);
        ptxgraft_launch_options shape = PTXGRAFT_LAUNCH_OPTIONS_INIT;
        shape.block[0] = 64;
        const auto status = ptxgraft_kernel_launch(kernel, &shape, &argument, 1);
        EXPECT_EQ(ptxgraft_device_take_report(&report, device), PTXGRAFT_STATUS_ok);
        ptxgraft_buffer_destroy(buffer);
        ptxgraft_kernel_destroy(kernel);
        ptxgraft_skeleton_destroy(skeleton);
        ptxgraft_device_destroy(device);
        return status;
    }
    // With these checks, on a device of its own.
    ptxgraft_status launch_with(const char* checks, const char* name = "emulator:sm_80") {
        options.checks = checks;
        const auto status = launch(name);
        ptxgraft_report_destroy(std::exchange(report, nullptr));
        return status;
    }
    void TearDown() override { ptxgraft_report_destroy(report); }
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    ptxgraft_device* device = nullptr;
    ptxgraft_report* report = nullptr;
};

TEST_F(CApiChecks, AreChosenByName) {
    EXPECT_EQ(launch_with(nullptr), PTXGRAFT_STATUS_data_race);
    EXPECT_EQ(launch_with("all"), PTXGRAFT_STATUS_data_race);
    EXPECT_EQ(launch_with("races"), PTXGRAFT_STATUS_data_race);
    EXPECT_EQ(launch_with("-races"), PTXGRAFT_STATUS_memory_not_written);
    EXPECT_EQ(launch_with("barriers,unwritten"), PTXGRAFT_STATUS_memory_not_written);
    EXPECT_EQ(launch_with("-races,-unwritten"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(launch_with("none"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(launch_with(nullptr, "emulator:sm_80:fast"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(launch_with("none", "emulator:sm_80:checks=races"), PTXGRAFT_STATUS_data_race);
    for (const char* const wrong : {"race", "", "races unwritten"}) {
        options.checks = wrong;
        device = nullptr;
        EXPECT_EQ(ptxgraft_device_open_with_options(&device, "emulator", &options),
                  PTXGRAFT_STATUS_check_unknown);
        EXPECT_EQ(device, nullptr);
        EXPECT_THAT(ptxgraft_error_get_message(),
                    HasSubstr("there are races, unwritten, async, barriers, calls, heap, equal_stores, "
                              "unwaited_stores, all and none"));
    }
}

TEST_F(CApiChecks, FindingsAreReportedWhereALaunchKeepsGoing) {
    options.keep_going = 5;
    ASSERT_OK(launch());
    ptxgraft_report_info info = PTXGRAFT_REPORT_INFO_INIT;
    ASSERT_OK(ptxgraft_report_get_info(&info, report));
    EXPECT_GT(info.warp_instructions, 10u);
    EXPECT_GT(info.thread_instructions, 5 * 64u);
    EXPECT_EQ(info.found_count, 2u);
    EXPECT_EQ(info.excused_count, 0u);
    EXPECT_EQ(info.finding_count, 2u);
    ASSERT_EQ(ptxgraft_report_get_finding_count(report), 2u);
    ptxgraft_finding_info race = PTXGRAFT_FINDING_INFO_INIT, unwritten = PTXGRAFT_FINDING_INFO_INIT;
    ASSERT_OK(ptxgraft_report_get_finding(&race, report, 0));
    ASSERT_OK(ptxgraft_report_get_finding(&unwritten, report, 1));
    if (race.status != PTXGRAFT_STATUS_data_race) std::swap(race, unwritten);
    EXPECT_EQ(race.status, PTXGRAFT_STATUS_data_race);
    EXPECT_STREQ(race.check, "races");
    EXPECT_EQ(race.line, 11u);
    EXPECT_EQ(race.column, 2u);
    EXPECT_EQ(race.ended, 0u);
    EXPECT_GE(race.threads, 31u);
    EXPECT_EQ(race.blocks, 1u);
    EXPECT_THAT(race.message, HasSubstr(":11:2: error: "));
    EXPECT_THAT(race.message, HasSubstr("st.global.u32 [%rd1], %r1;\n"));
    EXPECT_EQ(unwritten.status, PTXGRAFT_STATUS_memory_not_written);
    EXPECT_STREQ(unwritten.check, "unwritten");
    EXPECT_EQ(unwritten.threads, 1u);
    EXPECT_EQ(ptxgraft_report_get_finding(&race, report, 2), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("finding 2 of 2"));
}

TEST_F(CApiChecks, MoreThanAreListedAreCounted) {
    options.keep_going = 1;
    ASSERT_OK(launch());
    ptxgraft_report_info info = PTXGRAFT_REPORT_INFO_INIT;
    ASSERT_OK(ptxgraft_report_get_info(&info, report));
    EXPECT_EQ(info.found_count, 2u);
    EXPECT_EQ(info.finding_count, 1u);
}

TEST_F(CApiChecks, WhatEndsALaunchIsTheLastOfItsReport) {
    options.keep_going = 5;
    options.instruction_budget = 12;
    EXPECT_EQ(launch(), PTXGRAFT_STATUS_instruction_budget_spent);
    ptxgraft_finding_info last = PTXGRAFT_FINDING_INFO_INIT;
    ASSERT_OK(ptxgraft_report_get_finding(&last, report, ptxgraft_report_get_finding_count(report) - 1));
    EXPECT_EQ(last.status, PTXGRAFT_STATUS_instruction_budget_spent);
    EXPECT_EQ(last.ended, 1u);
    EXPECT_STREQ(last.check, "");
}

TEST_F(CApiChecks, LinesMayBeExcused) {
    const char* const excuses[] = {"races@11", "unwritten@14"};
    options.excuses = excuses;
    options.excuse_count = 2;
    ASSERT_OK(launch());
    ptxgraft_report_info info = PTXGRAFT_REPORT_INFO_INIT;
    ASSERT_OK(ptxgraft_report_get_info(&info, report));
    EXPECT_EQ(info.found_count, 0u);
    EXPECT_EQ(info.excused_count, 2u);
    const char* const wrong[] = {"races@11", "races"};
    options.excuses = wrong;
    EXPECT_EQ(ptxgraft_device_open_with_options(&device, "emulator", &options),
              PTXGRAFT_STATUS_excuse_malformed);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("'races' is no excuse: CHECK@LINE"));
}

}  // namespace
