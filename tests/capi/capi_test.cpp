// The C API as a program in C++ calls it: statuses, errors, ownership.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "handles.hpp"
#include "ptxgraft/device.hpp"
#include "ptxgraft/error.hpp"
#include "ptxgraft/ptxgraft.h"
#include "ptxgraft/tolerance.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"
#include "two_calls.hpp"

namespace {

using testing::HasSubstr;
using testing::StartsWith;

std::string affine() {
    return ptxgraft::test::read_file(ptxgraft::test::source_path("tests/golden/cli/affine.ptx"));
}

struct CApi : testing::Test {
    void SetUp() override {
        const std::string ptx = affine();
        ASSERT_OK(ptxgraft_device_open(&device, "emulator:sm_80"));
        ASSERT_OK(ptxgraft_skeleton_create_from_ptx(&skeleton, ptx.data(), ptx.size()));
    }
    void TearDown() override {
        ptxgraft_skeleton_destroy(skeleton);
        ptxgraft_device_destroy(device);
    }
    ptxgraft_stub* stub(const std::string& program) {
        ptxgraft_stub* made = nullptr;
        EXPECT_EQ(
            ptxgraft_stub_create_from_program(&made, skeleton, "epilogue", program.data(), program.size()),
            PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        return made;
    }
    ptxgraft_device* device = nullptr;
    ptxgraft_skeleton* skeleton = nullptr;
};

// ---------------------------------------------------------------------------------------------------------
// status

TEST(CApiStatus, ValuesAreThoseOfTheLibrary) {
#define PTXGRAFT_ERRC(name, value, message)                             \
    static_assert(PTXGRAFT_STATUS_##name == value);                     \
    static_assert(PTXGRAFT_STATUS_##name == int(ptxgraft::Errc::name)); \
    EXPECT_STREQ(ptxgraft_status_get_name(PTXGRAFT_STATUS_##name), #name);
#include "ptxgraft/errc.def"
#undef PTXGRAFT_ERRC
    EXPECT_STREQ(ptxgraft_status_get_name(static_cast<ptxgraft_status>(99)), "unknown");
    static_assert(PTXGRAFT_STATUS_ok == 0);
    EXPECT_STREQ(ptxgraft_status_get_name(static_cast<ptxgraft_status>(-1)), "unknown");
}

TEST(CApiStatus, MessageIsTheThreadsOwnAndNeverNull) {
    ASSERT_NE(ptxgraft_device_open(nullptr, "emulator"), PTXGRAFT_STATUS_ok);
    EXPECT_STREQ(ptxgraft_error_get_message(), "error: invalid argument: device is null\n");
    std::string other = "untouched";
    std::thread([&] { other = ptxgraft_error_get_message(); }).join();
    EXPECT_EQ(other, "");
    EXPECT_EQ(ptxgraft_error_get_line(), 0u);
}

TEST(CApiStatus, DestroyOfNullDoesNothing) {
    ptxgraft_device_destroy(nullptr);
    ptxgraft_buffer_destroy(nullptr);
    ptxgraft_stream_destroy(nullptr);
    ptxgraft_event_destroy(nullptr);
    ptxgraft_skeleton_destroy(nullptr);
    ptxgraft_stub_destroy(nullptr);
    ptxgraft_kernel_destroy(nullptr);
    ptxgraft_report_destroy(nullptr);
}

TEST(CApiStatus, VersionHasThreeNumbers) {
    EXPECT_THAT(ptxgraft_library_get_version(), testing::MatchesRegex("[0-9]+\\.[0-9]+\\.[0-9]+"));
    EXPECT_THAT(ptxgraft_library_get_assembler(), testing::MatchesRegex("nv[a-z]+ 13\\.[0-9]+\\.[0-9]+"));
}

// ---------------------------------------------------------------------------------------------------- texts,
// structs

TEST_F(CApi, TextsAreWrittenWholeOrNotAtAll) {
    std::size_t needed = 0;
    ASSERT_OK(ptxgraft_skeleton_get_ptx(nullptr, &needed, skeleton));
    EXPECT_EQ(needed, affine().size() + 1);
    std::vector<char> buffer(needed, 'x');
    std::size_t size = needed - 1;
    EXPECT_EQ(ptxgraft_skeleton_get_ptx(buffer.data(), &size, skeleton), PTXGRAFT_STATUS_buffer_too_small);
    EXPECT_EQ(size, needed);
    EXPECT_EQ(buffer, std::vector<char>(needed, 'x'));
    buffer.resize(needed + 10, 'x');
    size = buffer.size();
    ASSERT_OK(ptxgraft_skeleton_get_ptx(buffer.data(), &size, skeleton));
    EXPECT_EQ(size, needed);
    EXPECT_EQ(std::string(buffer.data()), affine());
    EXPECT_EQ(buffer[needed], 'x');
}

// ------------------------------------------------------------------------------------------------ skeletons
// and sites

TEST_F(CApi, SkeletonTellsItsSites) {
    std::size_t site = 9;
    EXPECT_EQ(ptxgraft_site_get_count(skeleton), 1u);
    ASSERT_OK(ptxgraft_site_find(&site, skeleton, "epilogue"));
    EXPECT_EQ(site, 0u);
    ptxgraft_site_info info = PTXGRAFT_SITE_INFO_INIT;
    ASSERT_OK(ptxgraft_site_get_info(&info, skeleton, site));
    EXPECT_STREQ(info.name, "epilogue");
    EXPECT_EQ(info.operand_count, 2u);
    EXPECT_EQ(info.copy_count, 1u);
    EXPECT_EQ(info.allowed, 0u);
    ptxgraft_operand_info operand = PTXGRAFT_OPERAND_INFO_INIT;
    ASSERT_OK(ptxgraft_site_get_operand(&operand, skeleton, site, 1));
    EXPECT_STREQ(operand.name, "bias");
    EXPECT_EQ(operand.type, PTXGRAFT_TYPE_f32);
    EXPECT_EQ(operand.direction, PTXGRAFT_DIRECTION_in);
    EXPECT_EQ(operand.count, 0u);
    EXPECT_STREQ(operand.user_type, "");
    EXPECT_STREQ(operand.register_name, "_bias");
    ptxgraft_copy_info copy = PTXGRAFT_COPY_INFO_INIT;
    ASSERT_OK(ptxgraft_site_get_copy(&copy, skeleton, site, 0));
    EXPECT_STREQ(copy.function, "affine");
    EXPECT_EQ(copy.is_entry, 1u);
    EXPECT_EQ(copy.line, 26u);
}

TEST_F(CApi, IndicesAreChecked) {
    ptxgraft_site_info info = PTXGRAFT_SITE_INFO_INIT;
    ptxgraft_operand_info operand = PTXGRAFT_OPERAND_INFO_INIT;
    ptxgraft_copy_info copy = PTXGRAFT_COPY_INFO_INIT;
    EXPECT_EQ(ptxgraft_site_get_info(&info, skeleton, 1), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_site_get_operand(&operand, skeleton, 0, 2), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_site_get_copy(&copy, skeleton, 0, SIZE_MAX), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(info.name, nullptr);
    EXPECT_EQ(ptxgraft_skeleton_get_entry_name(skeleton, 2), nullptr);
    EXPECT_STREQ(ptxgraft_error_get_message(), "error: invalid argument: entry 2 of 2\n");
}

TEST_F(CApi, SkeletonTellsItsEntriesTargetAndPtx) {
    EXPECT_EQ(ptxgraft_skeleton_get_entry_count(skeleton), 2u);
    const char* const name = ptxgraft_skeleton_get_entry_name(skeleton, 1);
    EXPECT_STREQ(name, "touch");
    EXPECT_EQ(ptxgraft_skeleton_get_entry_name(skeleton, 1), name);  // it is the skeleton's
    EXPECT_STREQ(ptxgraft_skeleton_get_target(skeleton), "sm_80");
    EXPECT_EQ(ptxgraft::test::text_of(
                  [&](char* b, size_t* s) { return ptxgraft_skeleton_get_ptx(b, s, skeleton); }),
              affine());
}

TEST_F(CApi, ErrorsOfTextsHaveTheirPlace) {
    const std::string broken = ".version 8.0\n.target sm_80\n.visible .entry k()\n{\n  add.f32 %f1, %f2\n}\n";
    ptxgraft_skeleton* made = nullptr;
    EXPECT_NE(ptxgraft_skeleton_create_from_ptx(&made, broken.data(), broken.size()), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(made, nullptr);
    EXPECT_THAT(ptxgraft_error_get_message(),
                StartsWith("ptx:" + std::to_string(ptxgraft_error_get_line()) + ":"));
    EXPECT_GE(ptxgraft_error_get_line(), 5u);
    const std::string program = "acc\nnothing add.f32 -> acc";
    ptxgraft_stub* no_stub = nullptr;
    EXPECT_NE(
        ptxgraft_stub_create_from_program(&no_stub, skeleton, "epilogue", program.data(), program.size()),
        PTXGRAFT_STATUS_ok);
    EXPECT_EQ(no_stub, nullptr);
    EXPECT_EQ(ptxgraft_error_get_line(), 2u);
    EXPECT_EQ(ptxgraft_error_get_column(), 1u);
    EXPECT_THAT(ptxgraft_error_get_message(), StartsWith("program:2:1: error: "));
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("\n^~~~~~~\n"));
    EXPECT_EQ(ptxgraft_stub_create_from_program(&no_stub, skeleton, "prologue", "", 0),
              PTXGRAFT_STATUS_site_unknown);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("epilogue"));
}

TEST_F(CApi, InputsNeedNoZeroAtTheirEnd) {
    const std::string program = "acc bias mul.f32 -> acc garbage";
    ptxgraft_stub* made = nullptr;
    ASSERT_OK(
        ptxgraft_stub_create_from_program(&made, skeleton, "epilogue", program.data(), program.size() - 8));
    EXPECT_GE(ptxgraft_stub_get_instruction_count(made), 1u);
    ptxgraft_stub_destroy(made);
}

TEST_F(CApi, StubsComeFromPtxAndSignaturesToo) {
    ptxgraft_stub *by_hand = nullptr, *by_signature = nullptr;
    const std::string ptx = "mul.f32 acc, acc, bias;\n", program = "x y sub.f32 -> z";
    ASSERT_OK(ptxgraft_stub_create_from_ptx(&by_hand, skeleton, "epilogue", ptx.data(), ptx.size()));
    EXPECT_THAT(
        ptxgraft::test::text_of([&](char* b, size_t* s) { return ptxgraft_stub_get_ptx(b, s, by_hand); }),
        HasSubstr("mul.f32 _acc, _acc, _bias;"));
    ASSERT_OK(ptxgraft_stub_create_for_signature(&by_signature, "in f32 x, in f32 y, out f32 z",
                                                 program.data(), program.size()));
    EXPECT_THAT(ptxgraft::test::text_of(
                    [&](char* b, size_t* s) { return ptxgraft_stub_get_ptx(b, s, by_signature); }),
                HasSubstr("sub.f32"));
    ptxgraft_stub_destroy(by_hand);
    ptxgraft_stub_destroy(by_signature);
}

// -----------------------------------------------------------------------------------------------------------
// kernels

TEST(CApiTemplate, IsFoundByName) {
    ptxgraft_skeleton *skeleton = nullptr, *other = nullptr;
    ASSERT_OK(ptxgraft_skeleton_create_from_template(&skeleton, "gemm/simt", nullptr, nullptr));
    size_t site = 0;
    EXPECT_EQ(ptxgraft_site_find(&site, skeleton, "epilogue"), PTXGRAFT_STATUS_ok);
    ptxgraft_skeleton_destroy(skeleton);
    EXPECT_EQ(ptxgraft_skeleton_create_from_template(&other, "gemm/none", nullptr, nullptr),
              PTXGRAFT_STATUS_template_unknown);
    EXPECT_EQ(ptxgraft_skeleton_create_from_template(&other, "gemm/simt", "tile_m=64", nullptr),
              PTXGRAFT_STATUS_choice_invalid);
    EXPECT_EQ(ptxgraft_skeleton_create_from_template(&other, "gemm/simt", "tile_m", nullptr),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_skeleton_create_from_template(&other, "gemm/simt", "a=1,a=2", nullptr),
              PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(other, nullptr);
}

TEST_F(CApi, KernelsRunAndOutliveWhatTheyWereMadeOf) {
    ptxgraft_stub* relu = stub("acc bias add.f32 0.0 max.f32 -> acc");
    const ptxgraft_graft graft = {"epilogue", relu};
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.grafts = &graft;
    options.graft_count = 1;
    options.entry = "affine";
    ptxgraft_kernel* kernel = nullptr;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, &options));

    ptxgraft_buffer *x = nullptr, *y = nullptr;
    const std::vector<float> values{1, -2, 3, -4};
    ASSERT_OK(ptxgraft_buffer_create(&x, device, 16));
    ASSERT_OK(ptxgraft_buffer_create(&y, device, 16));
    ASSERT_OK(ptxgraft_buffer_write(x, 0, values.data(), 16));
    ptxgraft_stub_destroy(relu);
    ptxgraft_skeleton_destroy(std::exchange(skeleton, nullptr));
    ptxgraft_device_destroy(std::exchange(device, nullptr));

    const float bias = 0.5f;
    const std::uint32_t n = 4;
    const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(x), PTXGRAFT_BUFFER(y), PTXGRAFT_VALUE(bias),
                                           PTXGRAFT_VALUE(n)};
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.block[0] = 4;
    ASSERT_OK(ptxgraft_kernel_launch(kernel, &launch, arguments, 4));
    std::vector<float> result(4);
    ASSERT_OK(ptxgraft_buffer_read(result.data(), y, 0, 16));
    EXPECT_EQ(result, (std::vector<float>{1.5f, 0, 3.5f, 0}));

    EXPECT_STREQ(ptxgraft_kernel_get_entry(kernel), "affine");
    EXPECT_THAT(
        ptxgraft::test::text_of([&](char* b, size_t* s) { return ptxgraft_kernel_get_ptx(b, s, kernel); }),
        HasSubstr("max.f32"));
    ptxgraft_kernel_destroy(kernel);
    ptxgraft_buffer_destroy(x);
    ptxgraft_buffer_destroy(y);
}

TEST_F(CApi, KernelTellsItsParametersTimesAndMachineCode) {
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.entry = "affine";
    ptxgraft_kernel* kernel = nullptr;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, &options));
    std::size_t size = 0;
    EXPECT_EQ(ptxgraft_kernel_get_parameter_count(kernel), 4u);
    ptxgraft_parameter_info info = PTXGRAFT_PARAMETER_INFO_INIT;
    ASSERT_OK(ptxgraft_kernel_get_parameter(&info, kernel, 2));
    EXPECT_STREQ(info.name, "bias");
    EXPECT_STREQ(info.type, "f32");
    EXPECT_EQ(info.size, 4u);
    ptxgraft_kernel_times times = PTXGRAFT_KERNEL_TIMES_INIT;
    ASSERT_OK(ptxgraft_kernel_get_times(&times, kernel));
    EXPECT_GE(times.render, 0);
    EXPECT_EQ(ptxgraft_kernel_get_cubin(nullptr, &size, kernel), PTXGRAFT_STATUS_machine_code_missing);
    EXPECT_STREQ(ptxgraft_kernel_get_assembler(kernel), "");
    ptxgraft_kernel_destroy(kernel);
}

TEST_F(CApi, LaunchesAreChecked) {
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_kernel* kernel = nullptr;
    EXPECT_EQ(ptxgraft_kernel_create(&kernel, skeleton, device, &options), PTXGRAFT_STATUS_entry_not_named);
    options.entry = "touch";
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, &options));
    const std::uint64_t nowhere = 0x10000000, offset = 0;
    const std::uint32_t narrow = 0;
    const ptxgraft_argument good[] = {PTXGRAFT_VALUE(nowhere), PTXGRAFT_VALUE(offset)};
    const ptxgraft_argument bad_size[] = {PTXGRAFT_VALUE(nowhere), PTXGRAFT_VALUE(narrow)};
    ptxgraft_launch_options no_blocks = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    no_blocks.grid[1] = 0;
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, nullptr, good, 1), PTXGRAFT_STATUS_argument_count_wrong);
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, nullptr, bad_size, 2), PTXGRAFT_STATUS_argument_size_wrong);
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, &no_blocks, good, 2), PTXGRAFT_STATUS_launch_shape_invalid);
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, nullptr, good, 2), PTXGRAFT_STATUS_address_out_of_bounds);
    EXPECT_EQ(ptxgraft_error_get_line(), 47u) << ptxgraft_error_get_message();
    ptxgraft_kernel_destroy(kernel);
}

TEST_F(CApi, VariablesAreBuffers) {
    constexpr std::string_view ptx =
        ".version 8.0\n.target sm_80\n.address_size 64\n.global .align 4 .u32 count = 5;\n.visible .entry "
        "up()\n{\n"
        ".reg .b32 %r;\nld.global.u32 %r, [count];\nadd.u32 %r, %r, 1;\nst.global.u32 [count], "
        "%r;\nret;\n}\n";
    ptxgraft_skeleton* counting = nullptr;
    ASSERT_OK(ptxgraft_skeleton_create_from_ptx(&counting, ptx.data(), ptx.size()));
    ptxgraft_kernel* kernel = nullptr;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, counting, device, nullptr));
    ptxgraft_buffer* count = nullptr;
    ASSERT_OK(ptxgraft_buffer_create_from_variable(&count, kernel, "count"));
    ptxgraft_buffer* other = count;
    EXPECT_EQ(ptxgraft_buffer_create_from_variable(&other, kernel, "counts"), PTXGRAFT_STATUS_symbol_unknown);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("counts; the module has count"));
    EXPECT_EQ(ptxgraft_buffer_create_from_variable(&other, kernel, nullptr),
              PTXGRAFT_STATUS_argument_invalid);
    ASSERT_OK(ptxgraft_kernel_launch(kernel, nullptr, nullptr, 0));
    ptxgraft_kernel_destroy(kernel);
    std::uint32_t value = 0;
    ASSERT_OK(ptxgraft_buffer_read(&value, count, 0, sizeof value));
    EXPECT_EQ(value, 6u);
    ptxgraft_buffer_destroy(count);
    ptxgraft_skeleton_destroy(counting);
}

TEST_F(CApi, LaunchesMayHaveClusters) {
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.entry = "touch";
    ptxgraft_kernel* kernel = nullptr;
    ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, &options));
    const std::uint64_t nowhere = 0x10000000, offset = 0;
    const ptxgraft_argument arguments[] = {PTXGRAFT_VALUE(nowhere), PTXGRAFT_VALUE(offset)};
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.grid[0] = launch.cluster[0] = 2;
    launch.cooperative = 1;
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, &launch, arguments, 2), PTXGRAFT_STATUS_launch_shape_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("cluster of 2 x 1 x 1; clusters need sm_90"));
    ptxgraft_kernel_destroy(kernel);
}

constexpr std::string_view endless =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry endless() { L: bra L; }\n";

// A kernel without an end, on a device with limits of its own.
class CApiLimits : public testing::Test {
  protected:
    void SetUp() override {
        ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
        options.sm = 80;
        options.threads = 2;
        options.time_limit_ms = 30;
        options.memory_size = 1 << 20;
        ASSERT_OK(ptxgraft_device_open_with_options(&device, "emulator", &options));
        ASSERT_OK(ptxgraft_skeleton_create_from_ptx(&skeleton, endless.data(), endless.size()));
        ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, nullptr));
    }
    void TearDown() override {
        ptxgraft_kernel_destroy(kernel);
        ptxgraft_skeleton_destroy(skeleton);
        ptxgraft_device_destroy(device);
    }
    ptxgraft_device* device = nullptr;
    ptxgraft_skeleton* skeleton = nullptr;
    ptxgraft_kernel* kernel = nullptr;
};

TEST_F(CApiLimits, OfADevice) {
    EXPECT_STREQ(ptxgraft_device_get_target(device), "sm_80");
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, nullptr, nullptr, 0), PTXGRAFT_STATUS_time_limit_spent);
    EXPECT_THAT(ptxgraft_error_get_message(),
                HasSubstr("the time limit is spent: 30 ms, in endless, block (0, 0, 0), thread (0, 0, 0)"));
    EXPECT_EQ(ptxgraft_error_get_line(), 4u);
    ptxgraft_buffer* buffer = nullptr;
    EXPECT_EQ(ptxgraft_buffer_create(&buffer, device, 2 << 20), PTXGRAFT_STATUS_out_of_device_memory);
    ptxgraft_device* other = nullptr;
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.sm = 77;
    EXPECT_EQ(ptxgraft_device_open_with_options(&other, "emulator", &options),
              PTXGRAFT_STATUS_device_unknown);
    ASSERT_OK(ptxgraft_device_open_with_options(&other, "emulator:fast", nullptr));
    ptxgraft_device_destroy(other);
    EXPECT_EQ(ptxgraft_device_open_with_options(nullptr, "emulator", nullptr),
              PTXGRAFT_STATUS_argument_invalid);
}

TEST_F(CApiLimits, OfALaunch) {
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.instruction_budget = 1000;
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, &launch, nullptr, 0), PTXGRAFT_STATUS_instruction_budget_spent);
    launch.instruction_budget = 0;
    launch.time_limit_ms = 60;
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, &launch, nullptr, 0), PTXGRAFT_STATUS_time_limit_spent);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("60 ms"));
    int asked = 0;
    launch.time_limit_ms = 60'000;
    launch.payload = &asked;
    launch.should_stop = [](void* payload) { return ++*static_cast<int*>(payload) == 3 ? 1 : 0; };
    EXPECT_EQ(ptxgraft_kernel_launch(kernel, &launch, nullptr, 0), PTXGRAFT_STATUS_launch_stopped);
    EXPECT_EQ(asked, 3);
}

TEST_F(CApi, LegalSumsAreThoseOfTheLibrary) {
    double lowest = 0, highest = 0;
    const auto bounds = [&](ptxgraft_product_type type, ptxgraft_accumulator_type accumulator, double exact,
                            double magnitudes) {
        ptxgraft_sum_options options = PTXGRAFT_SUM_OPTIONS_INIT;
        options.type = type;
        options.accumulator = accumulator;
        options.products = 64;
        options.exact = exact;
        options.magnitudes = magnitudes;
        return ptxgraft_sum_get_bounds(&lowest, &highest, &options);
    };
    ASSERT_OK(bounds(PTXGRAFT_PRODUCT_bf16, PTXGRAFT_ACCUMULATOR_f32, 10.0, 100.0));
    const auto want = ptxgraft::legal_sum({.type = ptxgraft::ProductType::bf16, .products = 64}, 10.0, 100.0);
    EXPECT_EQ(lowest, want.lowest);
    EXPECT_EQ(highest, want.highest);
    EXPECT_TRUE(lowest < 10.0 && highest > 10.0 && highest < 10.01);
    const double single = lowest;
    ASSERT_OK(bounds(PTXGRAFT_PRODUCT_f16, PTXGRAFT_ACCUMULATOR_f16, 10.0, 100.0));
    EXPECT_LT(lowest, single);
    ASSERT_OK(bounds(PTXGRAFT_PRODUCT_bf16, PTXGRAFT_ACCUMULATOR_f32, -HUGE_VAL, HUGE_VAL));
    EXPECT_EQ(lowest, -HUGE_VAL);
    EXPECT_EQ(highest, -HUGE_VAL);
    ASSERT_OK(bounds(PTXGRAFT_PRODUCT_bf16, PTXGRAFT_ACCUMULATOR_f32, std::nan(""), HUGE_VAL));
    EXPECT_TRUE(std::isnan(lowest) && std::isnan(highest));
    ASSERT_OK(bounds(PTXGRAFT_PRODUCT_bf16, PTXGRAFT_ACCUMULATOR_f32, 1e39, 1e39));
    EXPECT_GT(lowest, 3e38);
    EXPECT_EQ(highest, HUGE_VAL);
}

TEST_F(CApi, TensorMapsAreEncoded) {
    ptxgraft_device* hopper = nullptr;
    ptxgraft_buffer *buffer = nullptr, *old = nullptr;
    ASSERT_OK(ptxgraft_device_open(&hopper, "emulator:sm_90a"));
    ASSERT_OK(ptxgraft_buffer_create(&buffer, hopper, 4096));
    ASSERT_OK(ptxgraft_buffer_create(&old, device, 4096));
    const std::uint64_t dims[] = {64, 16}, strides[] = {128};
    const std::uint32_t box[] = {64, 8}, no_box[] = {64, 0};
    ptxgraft_tensor_map_options options = PTXGRAFT_TENSOR_MAP_OPTIONS_INIT;
    options.type = PTXGRAFT_TENSOR_f16;
    options.rank = 2;
    options.dims = dims;
    options.strides = strides;
    options.box = box;
    options.swizzle = PTXGRAFT_SWIZZLE_128B;
    ptxgraft_tensor_map map{}, again{};
    ASSERT_OK(ptxgraft_tensor_map_encode(&map, buffer, &options));
    ASSERT_OK(ptxgraft_tensor_map_encode(&again, buffer, &options));
    EXPECT_EQ(std::memcmp(&map, &again, sizeof map), 0);
    EXPECT_EQ(ptxgraft_tensor_map_encode(&map, old, &options), PTXGRAFT_STATUS_tensor_map_invalid);
    const auto with = [&](auto change) {
        ptxgraft_tensor_map_options changed = options;
        change(changed);
        return ptxgraft_tensor_map_encode(&map, buffer, &changed);
    };
    EXPECT_EQ(with([](auto& o) { o.offset = 4096; }), PTXGRAFT_STATUS_ok);
    EXPECT_NE(std::memcmp(&map, &again, sizeof map), 0);
    EXPECT_EQ(with([](auto& o) { o.offset = 8; }), PTXGRAFT_STATUS_tensor_map_invalid);
    EXPECT_EQ(with([](auto& o) { o.offset = 4112; }), PTXGRAFT_STATUS_buffer_exceeded);
    EXPECT_EQ(with([&](auto& o) { o.box = no_box; }), PTXGRAFT_STATUS_tensor_map_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("box[1] is 0; it is 1 to 256"));
    EXPECT_EQ(with([](auto& o) { o.rank = 6; }), PTXGRAFT_STATUS_tensor_map_invalid);
    ptxgraft_buffer_destroy(buffer);
    ptxgraft_buffer_destroy(old);
    ptxgraft_device_destroy(hopper);
}

// 16 channels of 4 x 4 pixels, one image; a 2 x 2 filter. The values are those of
// BulkCopy.ColumnsAreLoaded.
struct CApiIm2col : testing::Test {
    void SetUp() override {
        ASSERT_OK(ptxgraft_device_open(&device, "emulator:sm_90"));
        ASSERT_OK(ptxgraft_buffer_create(&buffer, device, 16 * 4 * 4));
        options.rank = 4;
        options.dims = dims;
        options.strides = strides;
        options.lower_corner = lower;
        options.upper_corner = upper;
        options.channels_per_pixel = 16;
        options.pixels_per_column = 5;
    }
    void TearDown() override {
        ptxgraft_buffer_destroy(buffer);
        ptxgraft_device_destroy(device);
    }
    template <class Change> ptxgraft_status with(Change change) const {
        ptxgraft_tensor_map_options changed = options;
        change(changed);
        ptxgraft_tensor_map made{};
        const auto status = ptxgraft_tensor_map_encode(&made, buffer, &changed);
        EXPECT_EQ(made.words[0] != 0, status == PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_device* device = nullptr;
    ptxgraft_buffer* buffer = nullptr;
    const std::uint64_t dims[4] = {16, 4, 4, 1}, strides[3] = {16, 64, 256};
    const std::int32_t lower[2] = {0, 0}, upper[2] = {-1, -1};
    ptxgraft_tensor_map_options options = PTXGRAFT_TENSOR_MAP_OPTIONS_INIT;
};

TEST_F(CApiIm2col, MapsAreThoseOfTheLibrary) {
    ptxgraft_tensor_map map{};
    ASSERT_OK(ptxgraft_tensor_map_encode(&map, buffer, &options));
    const auto same = ptxgraft::Device::open("emulator:sm_90")
                          ->encode_tensor_map({.address = ptxgraft_buffer_get_address(buffer),
                                               .dims = {16, 4, 4, 1},
                                               .strides = {16, 64, 256},
                                               .im2col = ptxgraft::TensorIm2col{{0, 0}, {-1, -1}, 16, 5}});
    ASSERT_TRUE(same);
    EXPECT_EQ(std::memcmp(&map, &*same, sizeof map), 0);
}

TEST_F(CApiIm2col, WrongFieldsAreNamed) {
    const std::uint32_t box[] = {16, 1, 1, 1};
    const std::int32_t far[] = {0, 128}, nothing[] = {4, 0};
    using Options = ptxgraft_tensor_map_options;
    const std::tuple<std::function<void(Options&)>, ptxgraft_status, const char*> rows[] = {
        {[](Options& o) { o.rank = 2; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "rank is 2; with im2col it is 3 to 5"},
        {[](Options& o) { o.rank = 6; }, PTXGRAFT_STATUS_tensor_map_invalid, "rank is 6; it is 1 to 5"},
        {[&](Options& o) { o.box = box; }, PTXGRAFT_STATUS_argument_invalid, "box is given with im2col"},
        {[](Options& o) { o.lower_corner = nullptr; }, PTXGRAFT_STATUS_argument_invalid,
         "lower_corner is null"},
        {[](Options& o) { o.upper_corner = nullptr; }, PTXGRAFT_STATUS_argument_invalid,
         "upper_corner is null"},
        {[&](Options& o) { o.lower_corner = far; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "lower_corner[1] is 128; it is -128 to 127"},
        {[&](Options& o) { o.lower_corner = nothing; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "the corners leave nothing of dims[1] = 4"},
        {[](Options& o) { o.channels_per_pixel = 0; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "channels_per_pixel is 0; it is 1 to 256"},
        {[](Options& o) { o.channels_per_pixel = 8; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "channels_per_pixel is 8 elements of u8, 8 bytes; they are a multiple of 16"},
        {[](Options& o) { o.pixels_per_column = 0; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "pixels_per_column is 0; it is 1 to 1024"},
        {[](Options& o) { o.pixels_per_column = 1025; }, PTXGRAFT_STATUS_tensor_map_invalid,
         "pixels_per_column is 1025; it is 1 to 1024"},
        // Without any field of im2col the mode is that of tiles; a struct of version 1 ends before them.
        {[](Options& o) {
             o = {o.struct_size, 0,         o.type,         o.rank, o.dims,  o.strides, nullptr, nullptr,
                  o.interleave,  o.swizzle, o.l2_promotion, o.fill, nullptr, nullptr,   0,       0};
         },
         PTXGRAFT_STATUS_argument_invalid, "box is null, but rank is 4"},
        {[](Options& o) { o.struct_size = 72; }, PTXGRAFT_STATUS_argument_invalid,
         "box is null, but rank is 4"},
        {[&](Options& o) { o.struct_size = 72, o.box = box; }, PTXGRAFT_STATUS_ok, ""},
    };
    for (const auto& [change, status, message] : rows) {
        EXPECT_EQ(with(change), status) << message;
        EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr(message));
    }
}

TEST_F(CApi, RenderSplicesAndChecksItsGrafts) {
    ptxgraft_stub* square = stub("acc acc mul.f32 -> acc");
    const ptxgraft_graft graft = {"epilogue", square};
    EXPECT_THAT(ptxgraft::test::text_of(
                    [&](char* b, size_t* s) { return ptxgraft_skeleton_render(b, s, skeleton, &graft, 1); }),
                HasSubstr("mul.f32"));
    EXPECT_EQ(ptxgraft::test::text_of(
                  [&](char* b, size_t* s) { return ptxgraft_skeleton_render(b, s, skeleton, nullptr, 0); }),
              affine());
    ptxgraft_stub_destroy(square);
}

// -----------------------------------------------------------------------------------------------------------
// devices

TEST_F(CApi, DeviceTellsWhatItIs) {
    EXPECT_EQ(ptxgraft_device_get_kind(device), PTXGRAFT_DEVICE_emulator);
    EXPECT_STREQ(ptxgraft_device_get_name(device), "emulator");
    EXPECT_STREQ(ptxgraft_device_get_target(device), "sm_80");
    EXPECT_EQ(ptxgraft_device_get_cuda_count(), ptxgraft::Device::cuda_count());
    ptxgraft_device* none = nullptr;
    EXPECT_EQ(ptxgraft_device_open(&none, "toaster"), PTXGRAFT_STATUS_device_unknown);
    EXPECT_EQ(none, nullptr);
}

TEST_F(CApi, BuffersKeepTheirBounds) {
    ptxgraft_buffer* buffer = nullptr;
    ASSERT_OK(ptxgraft_buffer_create(&buffer, device, 8));
    std::uint64_t value = 0;
    EXPECT_EQ(ptxgraft_buffer_get_size(buffer), 8u);
    EXPECT_NE(ptxgraft_buffer_get_address(buffer), 0u);
    ASSERT_OK(ptxgraft_buffer_fill(buffer, 0x11));
    ASSERT_OK(ptxgraft_buffer_write(buffer, 6, "\x22\x33", 2));
    ASSERT_OK(ptxgraft_buffer_read(&value, buffer, 0, 8));
    EXPECT_EQ(value, 0x3322111111111111u);
    EXPECT_EQ(ptxgraft_buffer_write(buffer, 7, "\x22\x33", 2), PTXGRAFT_STATUS_buffer_exceeded);
    EXPECT_EQ(ptxgraft_buffer_read(&value, buffer, SIZE_MAX, 2), PTXGRAFT_STATUS_buffer_exceeded);
    EXPECT_EQ(ptxgraft_buffer_write(buffer, 0, nullptr, 2), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_buffer_write(buffer, 8, nullptr, 0), PTXGRAFT_STATUS_ok);
    ptxgraft_buffer_destroy(buffer);
}

TEST_F(CApi, StreamsAndEventsMeasureTime) {
    ptxgraft_stream* stream = nullptr;
    ptxgraft_event *start = nullptr, *end = nullptr;
    ASSERT_OK(ptxgraft_stream_create(&stream, device));
    ASSERT_OK(ptxgraft_event_create(&start, device));
    ASSERT_OK(ptxgraft_event_create(&end, device));
    float milliseconds = -1;
    EXPECT_EQ(ptxgraft_event_get_elapsed(&milliseconds, start, end), PTXGRAFT_STATUS_event_not_recorded);
    ASSERT_OK(ptxgraft_event_record(start, stream));
    ASSERT_OK(ptxgraft_event_record(end, nullptr));
    ASSERT_OK(ptxgraft_event_get_elapsed(&milliseconds, start, end));
    EXPECT_GE(milliseconds, 0);
    ASSERT_OK(ptxgraft_stream_synchronize(stream));
    ASSERT_OK(ptxgraft_device_synchronize(device));
    ptxgraft_event_destroy(start);
    ptxgraft_event_destroy(end);
    ptxgraft_stream_destroy(stream);
}

// -----------------------------------------------------------------------------------------------------------
// CUDA

TEST(CApiCuda, SkeletonsComeFromCuda) {
    const std::string source =
        "#include <ptxgraft/site.cuh>\nextern \"C\" __global__ void k(float* x) {\n float acc = *x * "
        "FACTOR;\n"
        " PTXGRAFT_SITE(\"epilogue\", \"\", mod(f32, acc));\n *x = acc;\n}\n";
    const char* const defines[] = {"FACTOR=2.0f"};
    ptxgraft_cuda_options options = PTXGRAFT_CUDA_OPTIONS_INIT;
    options.target = "sm_80";
    options.file_name = "k.cu";
    ptxgraft_skeleton* skeleton = nullptr;
    EXPECT_NE(ptxgraft_skeleton_create_from_cuda(&skeleton, source.data(), source.size(), &options),
              PTXGRAFT_STATUS_ok);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("k.cu"));
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("FACTOR"));
    options.defines = defines;
    options.define_count = 1;
    ASSERT_OK(ptxgraft_skeleton_create_from_cuda(&skeleton, source.data(), source.size(), &options));
    std::size_t site = 9;
    ASSERT_OK(ptxgraft_site_find(&site, skeleton, "epilogue"));
    ptxgraft_skeleton_destroy(skeleton);
}

}  // namespace
