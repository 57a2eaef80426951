// The library's skeletons in C, and variants of them in worker processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::ElementsAre;
using testing::HasSubstr;

using CTemplate = Handle<ptxgraft_template, ptxgraft_template_destroy>;
using CPlan = Handle<ptxgraft_plan, ptxgraft_plan_destroy>;
using CSpareRegisters = Handle<ptxgraft_spare_registers, ptxgraft_spare_registers_destroy>;
using CPool = Handle<ptxgraft_pool, ptxgraft_pool_destroy>;
using CChecks = Handle<ptxgraft_checks, ptxgraft_checks_destroy>;

CTemplate template_of(const char* name = "elementwise/simple") {
    CTemplate made;
    EXPECT_OK(ptxgraft_template_open(&made, name, nullptr));
    return made;
}
CPlan plan_of(const ptxgraft_template* from, const char* dimensions, const char* tunables = nullptr) {
    ptxgraft_plan_options options = PTXGRAFT_PLAN_OPTIONS_INIT;
    options.dimensions = dimensions;
    options.tunables = tunables;
    CPlan made;
    EXPECT_OK(ptxgraft_plan_create(&made, from, &options));
    return made;
}
CStub stub_of(const ptxgraft_skeleton* skeleton, const std::string& program) {
    CStub made;
    EXPECT_OK(ptxgraft_stub_create_from_program(&made, skeleton, "function", program.data(), program.size()));
    return made;
}

TEST(CApiTemplate, AreListedAndDescribed) {
    const auto names =
        text_of([](char* t, size_t* n) { return ptxgraft_library_get_template_names(t, n, nullptr); });
    EXPECT_THAT(names, HasSubstr("elementwise/simple\n"));
    EXPECT_THAT(names, HasSubstr("gemm/"));
    const CTemplate simple = template_of();
    const auto json =
        text_of([&](char* t, size_t* n) { return ptxgraft_template_get_description(t, n, simple); });
    EXPECT_THAT(json, HasSubstr(R"("name":"elementwise/simple")"));
    EXPECT_THAT(json, HasSubstr(R"("signature":"in f32 x, out f32 y, in u32 index")"));
    CTemplate none;
    EXPECT_EQ(ptxgraft_template_open(&none, "elementwise/none", nullptr), PTXGRAFT_STATUS_template_unknown);
    EXPECT_NE(ptxgraft_template_open(&none, "elementwise/simple", "/nowhere"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(none, nullptr);
    ptxgraft_template_destroy(nullptr);
    ptxgraft_plan_destroy(nullptr);
}

TEST(CApiTemplate, TunablesAreCompleted) {
    const CTemplate map = template_of("elementwise/map");
    const auto all = text_of([&](char* t, size_t* n) {
        return ptxgraft_template_get_tunables(t, n, map, "type=f16,threads=512");
    });
    EXPECT_THAT(all, HasSubstr("type=f16"));
    EXPECT_THAT(all, HasSubstr("threads=512"));
    EXPECT_EQ(
        text_of([&](char* t, size_t* n) { return ptxgraft_template_get_tunables(t, n, map, all.c_str()); }),
        all);
    const auto combinations =
        text_of([&](char* t, size_t* n) { return ptxgraft_template_get_combinations(t, n, map); });
    EXPECT_THAT(combinations, HasSubstr(all + "\n"));
    size_t size = 0;
    EXPECT_EQ(ptxgraft_template_get_tunables(nullptr, &size, map, "type=f17"),
              PTXGRAFT_STATUS_choice_invalid);
    EXPECT_INVALID(ptxgraft_template_get_tunables(nullptr, &size, map, "type"), "tunables are NAME=VALUE");
    EXPECT_INVALID(ptxgraft_template_get_tunables(nullptr, &size, map, "type=f16,type=f32"),
                   "tunable type is given twice");
}

TEST(CApiTemplate, SpareRegistersAreMeasured) {
    const CTemplate simple = template_of();
    ptxgraft_spare_registers_options options = PTXGRAFT_SPARE_REGISTERS_OPTIONS_INIT;
    options.most = options.first = 8;
    CSpareRegisters measured;
    ASSERT_OK(ptxgraft_spare_registers_create_of_template(&measured, simple, nullptr, &options));
    size_t count = 0;
    ASSERT_OK(ptxgraft_spare_registers_get_count(&count, measured));
    ASSERT_EQ(count, 1u);
    ptxgraft_spare_registers_info info = PTXGRAFT_SPARE_REGISTERS_INFO_INIT;
    ASSERT_OK(ptxgraft_spare_registers_get_site(&info, measured, 0));
    EXPECT_STREQ(info.site, "function");
    EXPECT_EQ(info.registers, 8u);
    EXPECT_STREQ(info.loss, "");
    EXPECT_INVALID(ptxgraft_spare_registers_get_site(&info, measured, 1), "site 1 of 1");

    CSkeleton skeleton;
    ASSERT_OK(ptxgraft_skeleton_create_of_template(&skeleton, simple, nullptr, nullptr));
    options.most = 256;
    options.first = 128;
    options.threads_per_block = 1024;  // of 64 registers each
    CSpareRegisters of_skeleton;
    ASSERT_OK(ptxgraft_spare_registers_create_of_skeleton(&of_skeleton, skeleton, &options));
    ASSERT_OK(ptxgraft_spare_registers_get_site(&info, of_skeleton, 0));
    EXPECT_LT(info.registers, 64u);
    EXPECT_STRNE(info.loss, "");

    const char* const none[] = {"nowhere"};
    options.sites = none;
    options.site_count = 1;
    CSpareRegisters nothing;
    EXPECT_EQ(ptxgraft_spare_registers_create_of_skeleton(&nothing, skeleton, &options),
              PTXGRAFT_STATUS_site_unknown);
    EXPECT_EQ(nothing, nullptr);
    options.sites = nullptr;
    EXPECT_INVALID(ptxgraft_spare_registers_create_of_template(&nothing, simple, nullptr, &options), "sites");
    options.site_count = 0;
    options.most = 8;
    expect_options_of_all_versions(options, "ptxgraft_spare_registers_options", 64, [&](const auto* o) {
        CSpareRegisters made;
        return ptxgraft_spare_registers_create_of_skeleton(&made, skeleton, o);
    });
    expect_infos_of_all_versions(ptxgraft_spare_registers_info PTXGRAFT_SPARE_REGISTERS_INFO_INIT,
                                 "ptxgraft_spare_registers_info", 32,
                                 [&](auto* i) { return ptxgraft_spare_registers_get_site(i, measured, 0); });
    ptxgraft_spare_registers_destroy(nullptr);
}

TEST(CApiTemplate, ALaunchComesFromDimensions) {
    const CTemplate simple = template_of();
    const CPlan plan = plan_of(simple, "n=600");
    ptxgraft_plan_info info = PTXGRAFT_PLAN_INFO_INIT;
    ASSERT_OK(ptxgraft_plan_get_info(&info, plan));
    EXPECT_STREQ(info.entry, "elementwise");
    EXPECT_EQ(info.grid[0], 3u);
    EXPECT_EQ(info.block[0], 256u);
    ASSERT_EQ(info.tensor_count, 2u);
    ptxgraft_tensor_info y = PTXGRAFT_TENSOR_INFO_INIT;
    ASSERT_OK(ptxgraft_plan_get_tensor(&y, plan, 1));
    EXPECT_STREQ(y.name, "y");
    EXPECT_STREQ(y.type, "f32");
    EXPECT_EQ(y.rank, 1u);
    EXPECT_EQ(y.shape[0], 600u);
    EXPECT_EQ(y.size, 2400u);
    EXPECT_EQ(y.access, PTXGRAFT_ACCESS_out);
    EXPECT_INVALID(ptxgraft_plan_get_tensor(&y, plan, 2), "tensor 2 of 2");
    double relative = 7, absolute = 7;
    ASSERT_OK(ptxgraft_template_get_tolerance(&relative, &absolute, simple, "n=600", nullptr));
    EXPECT_EQ(relative, 0);
    EXPECT_EQ(absolute, 0);
    CPlan none;
    ptxgraft_plan_options options = PTXGRAFT_PLAN_OPTIONS_INIT;
    EXPECT_EQ(ptxgraft_plan_create(&none, simple, &options), PTXGRAFT_STATUS_dimension_invalid);
    options.dimensions = "n=many";
    EXPECT_INVALID(ptxgraft_plan_create(&none, simple, &options), "dimension n is no number: 'many'");
    options.dimensions = "n=600";
    options.numbers = "eps=1e-5";
    EXPECT_EQ(ptxgraft_plan_create(&none, simple, &options), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(none, nullptr);
    options.numbers = nullptr;
    expect_options_of_all_versions(options, "ptxgraft_plan_options", 40, [&](const auto* o) {
        CPlan made;
        return ptxgraft_plan_create(&made, simple, o);
    });
    expect_infos_of_all_versions(ptxgraft_plan_info PTXGRAFT_PLAN_INFO_INIT, "ptxgraft_plan_info", 72,
                                 [&](auto* i) { return ptxgraft_plan_get_info(i, plan); });
    expect_infos_of_all_versions(ptxgraft_tensor_info PTXGRAFT_TENSOR_INFO_INIT, "ptxgraft_tensor_info", 80,
                                 [&](auto* i) { return ptxgraft_plan_get_tensor(i, plan, 0); });
}

TEST(CApiTemplate, RunsWithAStub) {
    const CTemplate simple = template_of();
    CSkeleton skeleton;
    ASSERT_OK(ptxgraft_skeleton_create_of_template(&skeleton, simple, nullptr, nullptr));
    CDevice device;
    ASSERT_OK(ptxgraft_device_open(&device, "emulator:sm_80"));
    const CStub stub = stub_of(skeleton, "x x mul.f32 -> y");
    const ptxgraft_graft graft = {"function", stub};
    ptxgraft_graft_options grafts = PTXGRAFT_GRAFT_OPTIONS_INIT;
    grafts.grafts = &graft;
    grafts.graft_count = 1;
    CKernel kernel;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, &grafts));
    const CPlan plan = plan_of(simple, "n=37");
    const auto x =
        list_of<std::byte>([&](auto* b, size_t* n) { return ptxgraft_plan_get_random(b, n, plan, 0, 5); });
    ASSERT_EQ(x.size(), 37u * 4);
    CBuffer in, out;
    ASSERT_OK(ptxgraft_buffer_create(&in, device, x.size()));
    ASSERT_OK(ptxgraft_buffer_create(&out, device, x.size()));
    ASSERT_OK(ptxgraft_buffer_write(in, 0, x.data(), x.size()));
    const ptxgraft_buffer* const buffers[] = {in, out};
    EXPECT_EQ(ptxgraft_plan_launch(plan, kernel, buffers, 1, nullptr), PTXGRAFT_STATUS_argument_count_wrong);
    ASSERT_OK(ptxgraft_plan_launch(plan, kernel, buffers, 2, nullptr));
    std::vector<float> y(37), values(37);
    ASSERT_OK(ptxgraft_buffer_read(y.data(), out, 0, x.size()));
    std::memcpy(values.data(), x.data(), x.size());
    for (size_t i = 0; i < 37; ++i) EXPECT_EQ(y[i], values[i] * values[i]);
    CBuffer small;
    ASSERT_OK(ptxgraft_buffer_create(&small, device, 4));
    const ptxgraft_buffer* const too_small[] = {in, small};
    EXPECT_EQ(ptxgraft_plan_launch(plan, kernel, too_small, 2, nullptr), PTXGRAFT_STATUS_buffer_exceeded);
    EXPECT_INVALID(ptxgraft_plan_launch(plan, kernel, nullptr, 2, nullptr),
                   "buffers is null, but count is 2");
}

TEST(CApiTemplate, IsTriedBesideItsReference) {
    const CTemplate simple = template_of();
    CSkeleton skeleton;
    ASSERT_OK(ptxgraft_skeleton_create_of_reference(&skeleton, simple, nullptr, nullptr));
    const CStub stub = stub_of(skeleton, "x 2.0 mul.f32 -> y");
    const ptxgraft_graft graft = {"function", stub};
    CDevice device;
    ASSERT_OK(ptxgraft_device_open(&device, "emulator:sm_80"));
    ptxgraft_trial_options options = PTXGRAFT_TRIAL_OPTIONS_INIT;
    options.dimensions = "n=37";
    options.grafts = &graft;
    options.graft_count = 1;
    ptxgraft_trial_info info = PTXGRAFT_TRIAL_INFO_INIT;
    ASSERT_OK(ptxgraft_template_try(&info, simple, device, &options));
    EXPECT_EQ(info.is_right, 1u);
    EXPECT_EQ(info.elements, 37u);
    EXPECT_EQ(info.wrong, 0u);
    EXPECT_GT(info.registers, 0u);
    const char* const names[] = {"x", nullptr};
    options.null_tensors = names;
    options.null_tensor_count = 2;
    EXPECT_INVALID(ptxgraft_template_try(&info, simple, device, &options), "null_tensors[1] is null");
    options.null_tensor_count = 0;
    expect_options_of_all_versions(options, "ptxgraft_trial_options", 96, [&](const auto* o) {
        ptxgraft_trial_info i = PTXGRAFT_TRIAL_INFO_INIT;
        return ptxgraft_template_try(&i, simple, device, o);
    });
    expect_infos_of_all_versions(ptxgraft_trial_info PTXGRAFT_TRIAL_INFO_INIT, "ptxgraft_trial_info", 104,
                                 [&](auto* i) { return ptxgraft_template_try(i, simple, device, &options); });
}

// ---------------------------------------------------------------------------------------------------- pools

constexpr std::string_view square_workload = R"json({
  "template": "elementwise/simple", "shapes": [{"n": 33}],
  "wanted": {"function": {"expr": "y = x * x + 1"}}, "baseline": {"function": {"expr": "y = x * x + 1"}},
  "relative": 1e-6, "absolute": 1e-6})json";

CPool pool_of() {
    const char* const devices[] = {"emulator"};
    ptxgraft_pool_options options = PTXGRAFT_POOL_OPTIONS_INIT;
    options.devices = devices;
    options.device_count = 1;
    options.spares = 0;
    options.load_ms = options.launch_ms = 60000;
    CPool made;
    EXPECT_OK(ptxgraft_pool_open(&made, &options));
    return made;
}

std::string rendered(const ptxgraft_skeleton* skeleton, const std::string& program) {
    const CStub stub = stub_of(skeleton, program);
    const ptxgraft_graft graft = {"function", stub};
    return text_of([&](char* t, size_t* n) { return ptxgraft_skeleton_render(t, n, skeleton, &graft, 1); });
}

TEST(CApiPool, ChecksVariants) {
    const CTemplate simple = template_of();
    CSkeleton skeleton;
    ASSERT_OK(ptxgraft_skeleton_create_of_template(&skeleton, simple, nullptr, nullptr));
    const std::string right = rendered(skeleton, "x x mul.f32 1.0 add.f32 -> y"),
                      wrong = rendered(skeleton, "x -> y");
    const std::string garbage = "garbage";
    const ptxgraft_variant variants[] = {{right.data(), right.size(), nullptr, nullptr},
                                         {wrong.data(), wrong.size(), "elementwise", nullptr},
                                         {garbage.data(), garbage.size(), nullptr, nullptr}};
    const CPool pool = pool_of();
    ASSERT_EQ(ptxgraft_pool_get_worker_count(pool), 1u);
    ptxgraft_worker_info worker = PTXGRAFT_WORKER_INFO_INIT;
    ASSERT_OK(ptxgraft_pool_get_worker(&worker, pool, 0));
    EXPECT_STREQ(worker.library, PTXGRAFT_VERSION_STRING);
    EXPECT_STREQ(worker.device, "emulator");
    EXPECT_INVALID(ptxgraft_pool_get_worker(&worker, pool, 1), "worker 1 of 1");
    ptxgraft_check_request request = PTXGRAFT_CHECK_REQUEST_INIT;
    request.workload = square_workload.data();
    request.workload_size = square_workload.size();
    request.variants = variants;
    request.variant_count = 3;
    CChecks checks;
    ASSERT_OK(ptxgraft_checks_create(&checks, pool, &request));
    ASSERT_EQ(ptxgraft_checks_get_count(checks), 3u);
    ptxgraft_check_info info = PTXGRAFT_CHECK_INFO_INIT;
    ASSERT_OK(ptxgraft_checks_get(&info, checks, 0));
    EXPECT_EQ(info.outcome, PTXGRAFT_OUTCOME_right);
    EXPECT_STREQ(info.message, "");
    EXPECT_GT(info.cases, 0u);
    EXPECT_GT(info.instructions, 0u);
    ASSERT_OK(ptxgraft_checks_get(&info, checks, 1));
    EXPECT_EQ(info.outcome, PTXGRAFT_OUTCOME_wrong);
    EXPECT_STREQ(info.tensor, "y");
    EXPECT_GT(info.worst, 1);
    ASSERT_OK(ptxgraft_checks_get(&info, checks, 2));
    EXPECT_EQ(info.outcome, PTXGRAFT_OUTCOME_rejected);
    EXPECT_NE(info.error, PTXGRAFT_STATUS_ok);
    EXPECT_STRNE(info.message, "");
    EXPECT_INVALID(ptxgraft_checks_get(&info, checks, 3), "check 3 of 3");
    CChecks health;
    ASSERT_OK(
        ptxgraft_checks_create_of_health(&health, pool, square_workload.data(), square_workload.size()));
    ASSERT_OK(ptxgraft_checks_get(&info, health, 0));
    EXPECT_EQ(info.outcome, PTXGRAFT_OUTCOME_right);
    ptxgraft_pool_report report = PTXGRAFT_POOL_REPORT_INIT;
    ASSERT_OK(ptxgraft_pool_get_report(&report, pool));
    EXPECT_EQ(report.checks, 3u);
    EXPECT_EQ(report.deaths, 0u);
    expect_infos_of_all_versions(ptxgraft_check_info PTXGRAFT_CHECK_INFO_INIT, "ptxgraft_check_info", 104,
                                 [&](auto* i) { return ptxgraft_checks_get(i, checks, 1); });
    expect_infos_of_all_versions(ptxgraft_pool_report PTXGRAFT_POOL_REPORT_INIT, "ptxgraft_pool_report", 56,
                                 [&](auto* i) { return ptxgraft_pool_get_report(i, pool); });
    expect_infos_of_all_versions(ptxgraft_worker_info PTXGRAFT_WORKER_INFO_INIT, "ptxgraft_worker_info", 72,
                                 [&](auto* i) { return ptxgraft_pool_get_worker(i, pool, 0); });
    request.variants = nullptr;
    CChecks none;
    EXPECT_INVALID(ptxgraft_checks_create(&none, pool, &request), "variants is null, but variant_count is 3");
    const std::string bad = "{";
    request = ptxgraft_check_request PTXGRAFT_CHECK_REQUEST_INIT;
    request.variants = variants;
    request.variant_count = 1;
    request.workload = bad.data();
    request.workload_size = 1;
    ASSERT_OK(ptxgraft_checks_create(&none, pool, &request));
    EXPECT_NE(ptxgraft_checks_get(&info, none, 0), PTXGRAFT_STATUS_ok)
        << "the workload's mistake, no variant's";
}

TEST(CApiPool, NamesWhatDoesNotStart) {
    const char* const devices[] = {"emulator"};
    const char* const command[] = {"/nowhere/ptxgraft"};
    ptxgraft_pool_options options = PTXGRAFT_POOL_OPTIONS_INIT;
    options.devices = devices;
    options.device_count = 1;
    options.command = command;
    options.command_count = 1;
    CPool none;
    EXPECT_EQ(ptxgraft_pool_open(&none, &options), PTXGRAFT_STATUS_measure_worker_failed);
    options.device_count = 2;
    options.devices = nullptr;
    EXPECT_INVALID(ptxgraft_pool_open(&none, &options), "devices is null, but device_count is 2");
    options.struct_size = 100;
    EXPECT_INVALID(ptxgraft_pool_open(&none, &options), "struct_size is 100");
    EXPECT_EQ(none, nullptr);
    ptxgraft_pool_destroy(nullptr);
    ptxgraft_checks_destroy(nullptr);
}

}  // namespace
