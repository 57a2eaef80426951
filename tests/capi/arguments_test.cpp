// What the C interface says of arguments that are wrong, and of structs of other versions of it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "arguments.hpp"
#include "ptxgraft/ptxgraft.h"

// A struct as it may come to be: version 1 had `a`, version 2 also `b`, and this one `c` as well.
struct GrownOptions {
    std::size_t struct_size;
    std::uint64_t a, b, c;
};
template <> struct ptxgraft::capi::Versioned<GrownOptions> {
    static constexpr const char* name = "GrownOptions";
    static constexpr std::size_t first_size = 16;
    static constexpr GrownOptions init = {32, 1, 2, 3};
};

namespace {

using testing::HasSubstr;
using namespace ptxgraft::test;

constexpr std::string_view ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 p, .param .u32 n)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<2>;
	ld.param.u64 %rd1, [p];
	ld.param.u32 %r1, [n];
	{ // PTXGRAFT_SITE s
	.reg .b32 _x; // mod b32 x
	mov.b32 _x, %r1;
	// PTXGRAFT_STUB
	add.u32 _x, _x, 1;
	// PTXGRAFT_END
	mov.b32 %r1, _x;
	}
	st.global.u32 [%rd1], %r1;
	ld.global.u32 %r2, [%rd1+8];  // nothing wrote it
	st.global.u32 [%rd1+4], %r2;
	ret;
}
)";

struct CApiArguments : testing::Test {
    void SetUp() override {
        ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
        options.keep_going = 5;
        ASSERT_OK(ptxgraft_device_open_with_options(&device, "emulator", &options));
        ASSERT_OK(ptxgraft_skeleton_create_from_ptx(&skeleton, ptx.data(), ptx.size()));
        ASSERT_OK(ptxgraft_stub_create_from_ptx(&stub, skeleton, "s", "add.u32 x, x, 2;", 16));
        ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, nullptr));
        ASSERT_OK(ptxgraft_buffer_create(&buffer, device, 4096));
        ASSERT_OK(ptxgraft_event_create(&event, device));
        ASSERT_OK(ptxgraft_stream_create(&stream, device));
        ASSERT_OK(launch(nullptr));
        ASSERT_OK(ptxgraft_device_take_report(&report, device));
    }
    void TearDown() override {
        ptxgraft_report_destroy(report);
        ptxgraft_stream_destroy(stream);
        ptxgraft_event_destroy(event);
        ptxgraft_buffer_destroy(buffer);
        ptxgraft_kernel_destroy(kernel);
        ptxgraft_stub_destroy(stub);
        ptxgraft_skeleton_destroy(skeleton);
        ptxgraft_device_destroy(device);
    }

    // Calls with options that are good.
    ptxgraft_status open(const ptxgraft_device_options* options) const {
        ptxgraft_device* other = nullptr;
        const auto status = ptxgraft_device_open_with_options(&other, "emulator", options);
        EXPECT_EQ(other != nullptr, status == PTXGRAFT_STATUS_ok);
        ptxgraft_device_destroy(other);
        return status;
    }
    ptxgraft_status encode(const ptxgraft_tensor_map_options* options) const {
        ptxgraft_tensor_map map{};
        const auto status = ptxgraft_tensor_map_encode(&map, buffer, options);
        EXPECT_EQ(map.words[0] != 0 || map.words[1] != 0, status == PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_status bounds(const ptxgraft_sum_options* options) const {
        double lowest = 7, highest = 7;
        const auto status = ptxgraft_sum_get_bounds(&lowest, &highest, options);
        EXPECT_EQ(lowest == 7 && highest == 7, status != PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_status compile(const ptxgraft_cuda_options* options) const {
        const std::string source = "extern \"C\" __global__ void k() {}";
        ptxgraft_skeleton* made = nullptr;
        const auto status = ptxgraft_skeleton_create_from_cuda(&made, source.data(), source.size(), options);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        ptxgraft_skeleton_destroy(made);
        return status;
    }
    ptxgraft_status graft(const ptxgraft_graft_options* options) const {
        ptxgraft_kernel* made = nullptr;
        const auto status = ptxgraft_kernel_create(&made, skeleton, device, options);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        ptxgraft_kernel_destroy(made);
        return status;
    }
    ptxgraft_status launch(const ptxgraft_launch_options* options) const {
        const std::uint32_t n = 5;
        const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(buffer), PTXGRAFT_VALUE(n)};
        return ptxgraft_kernel_launch(kernel, options, arguments, 2);
    }
    static ptxgraft_tensor_map_options tensor_map() {
        static const std::uint64_t dims[] = {16, 4}, strides[] = {64};
        static const std::uint32_t box[] = {16, 4};
        ptxgraft_tensor_map_options options = PTXGRAFT_TENSOR_MAP_OPTIONS_INIT;
        options.type = PTXGRAFT_TENSOR_f32;
        options.rank = 2;
        options.dims = dims;
        options.strides = strides;
        options.box = box;
        return options;
    }

    ptxgraft_device* device = nullptr;
    ptxgraft_skeleton* skeleton = nullptr;
    ptxgraft_stub* stub = nullptr;
    ptxgraft_kernel* kernel = nullptr;
    ptxgraft_buffer* buffer = nullptr;
    ptxgraft_event* event = nullptr;
    ptxgraft_stream* stream = nullptr;
    ptxgraft_report* report = nullptr;
};

// -----------------------------------------------------------------------------------------------------
// structs

TEST_F(CApiArguments, OptionsOfAllVersionsAreRead) {
    expect_options_of_all_versions(ptxgraft_device_options PTXGRAFT_DEVICE_OPTIONS_INIT,
                                   "ptxgraft_device_options", 64, [&](auto* o) { return open(o); });
    expect_options_of_all_versions(tensor_map(), "ptxgraft_tensor_map_options", 72,
                                   [&](auto* o) { return encode(o); });
    expect_options_of_all_versions(ptxgraft_sum_options PTXGRAFT_SUM_OPTIONS_INIT, "ptxgraft_sum_options", 40,
                                   [&](auto* o) { return bounds(o); });
    expect_options_of_all_versions(ptxgraft_cuda_options PTXGRAFT_CUDA_OPTIONS_INIT, "ptxgraft_cuda_options",
                                   80, [&](auto* o) { return compile(o); });
    expect_options_of_all_versions(ptxgraft_graft_options PTXGRAFT_GRAFT_OPTIONS_INIT,
                                   "ptxgraft_graft_options", 48, [&](auto* o) { return graft(o); });
    expect_options_of_all_versions(ptxgraft_launch_options PTXGRAFT_LAUNCH_OPTIONS_INIT,
                                   "ptxgraft_launch_options", 96, [&](auto* o) { return launch(o); });
}

TEST_F(CApiArguments, WhatIsAlwaysZeroIsAsked) {
    ptxgraft_launch_options launching = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launching.zero = 1;
    EXPECT_INVALID(launch(&launching), "zero is 1; in a ptxgraft_launch_options of version");
    ptxgraft_device_options opening = PTXGRAFT_DEVICE_OPTIONS_INIT;
    opening.zero = 7;
    EXPECT_INVALID(open(&opening), "zero is 7; in a ptxgraft_device_options of version");
}

TEST_F(CApiArguments, InfosOfAllVersionsAreFilled) {
    expect_infos_of_all_versions(ptxgraft_report_info PTXGRAFT_REPORT_INFO_INIT, "ptxgraft_report_info", 48,
                                 [&](auto* i) { return ptxgraft_report_get_info(i, report); });
    expect_infos_of_all_versions(ptxgraft_finding_info PTXGRAFT_FINDING_INFO_INIT, "ptxgraft_finding_info",
                                 56, [&](auto* i) { return ptxgraft_report_get_finding(i, report, 0); });
    expect_infos_of_all_versions(ptxgraft_site_info PTXGRAFT_SITE_INFO_INIT, "ptxgraft_site_info", 40,
                                 [&](auto* i) { return ptxgraft_site_get_info(i, skeleton, 0); });
    expect_infos_of_all_versions(ptxgraft_operand_info PTXGRAFT_OPERAND_INFO_INIT, "ptxgraft_operand_info",
                                 48, [&](auto* i) { return ptxgraft_site_get_operand(i, skeleton, 0, 0); });
    expect_infos_of_all_versions(ptxgraft_copy_info PTXGRAFT_COPY_INFO_INIT, "ptxgraft_copy_info", 24,
                                 [&](auto* i) { return ptxgraft_site_get_copy(i, skeleton, 0, 0); });
    expect_infos_of_all_versions(ptxgraft_kernel_times PTXGRAFT_KERNEL_TIMES_INIT, "ptxgraft_kernel_times",
                                 32, [&](auto* i) { return ptxgraft_kernel_get_times(i, kernel); });
    expect_infos_of_all_versions(ptxgraft_parameter_info PTXGRAFT_PARAMETER_INFO_INIT,
                                 "ptxgraft_parameter_info", 32,
                                 [&](auto* i) { return ptxgraft_kernel_get_parameter(i, kernel, 1); });
}

// What no struct of ptxgraft.h has gone through yet: callers of versions 1, 2 and 3 meet a library of
// version 3.
TEST(CApiVersions, EarlierStructsGrow) {
    using namespace ptxgraft::capi;
    GrownOptions given = {16, 10, 20, 30};
    const auto read = [&](std::size_t size) {
        given.struct_size = size;
        const auto result = options_of(&given);
        return result ? std::vector<std::uint64_t>{result->a, result->b, result->c}
                      : std::vector<std::uint64_t>{};
    };
    EXPECT_EQ(read(16), (std::vector<std::uint64_t>{10, 2, 3}));
    EXPECT_EQ(read(24), (std::vector<std::uint64_t>{10, 20, 3}));
    EXPECT_EQ(read(32), (std::vector<std::uint64_t>{10, 20, 30}));
    EXPECT_EQ(read(15), (std::vector<std::uint64_t>{}));
    EXPECT_EQ(options_of<GrownOptions>(nullptr)->b, 2u);
    const auto fill = [](std::size_t size) {
        GrownOptions info = {size, 1, 2, 3};
        EXPECT_EQ(give_info(&info, {32, 10, 20, 30}).has_value(), size >= 16);
        EXPECT_EQ(info.struct_size, size);
        return std::vector<std::uint64_t>{info.a, info.b, info.c};
    };
    EXPECT_EQ(fill(16), (std::vector<std::uint64_t>{10, 2, 3}));
    EXPECT_EQ(fill(24), (std::vector<std::uint64_t>{10, 20, 3}));
    EXPECT_EQ(fill(32), (std::vector<std::uint64_t>{10, 20, 30}));
    EXPECT_EQ(fill(15), (std::vector<std::uint64_t>{1, 2, 3}));
}

// -------------------------------------------------------------------------------------------------
// enumerators

TEST_F(CApiArguments, EnumeratorsAreChecked) {
    const auto encode_map = [&](const auto* o) { return encode(o); };
    using Map = ptxgraft_tensor_map_options;
    expect_checked(tensor_map(), &Map::type, "type", 15, encode_map);
    expect_checked(tensor_map(), &Map::interleave, "interleave", 2, encode_map);
    expect_checked(tensor_map(), &Map::swizzle, "swizzle", 6, encode_map);
    expect_checked(tensor_map(), &Map::l2_promotion, "l2_promotion", 3, encode_map);
    expect_checked(tensor_map(), &Map::fill, "fill", 1, encode_map);
    using Sum = ptxgraft_sum_options;
    expect_checked(Sum PTXGRAFT_SUM_OPTIONS_INIT, &Sum::type, "type", 4,
                   [&](const auto* o) { return bounds(o); });
    expect_checked(Sum PTXGRAFT_SUM_OPTIONS_INIT, &Sum::accumulator, "accumulator", 1,
                   [&](const auto* o) { return bounds(o); });
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.optimisation = 4;
    EXPECT_INVALID(graft(&options), "optimisation is 4; it is 0 to 3");
}

// -------------------------------------------------------------------------------------------------------
// nulls

TEST_F(CApiArguments, NullWhereNoneIsAllowedIsNamed) {
    std::size_t size = 0;
    double number = 0;
    float time = 0;
    void* out = &size;
    ptxgraft_device* no_device = nullptr;
    ptxgraft_skeleton* no_skeleton = nullptr;
    ptxgraft_stub* no_stub = nullptr;
    ptxgraft_kernel* no_kernel = nullptr;
    ptxgraft_buffer* no_buffer = nullptr;
    ptxgraft_event* no_event = nullptr;
    ptxgraft_stream* no_stream = nullptr;
    ptxgraft_report* no_report = nullptr;
    ptxgraft_tensor_map map{};
    ptxgraft_sum_options sum = PTXGRAFT_SUM_OPTIONS_INIT;
    const ptxgraft_tensor_map_options map_options = tensor_map();
    ptxgraft_site_info site = PTXGRAFT_SITE_INFO_INIT;
    ptxgraft_operand_info operand = PTXGRAFT_OPERAND_INFO_INIT;
    ptxgraft_copy_info copy = PTXGRAFT_COPY_INFO_INIT;
    ptxgraft_kernel_times times = PTXGRAFT_KERNEL_TIMES_INIT;
    ptxgraft_parameter_info parameter = PTXGRAFT_PARAMETER_INFO_INIT;
    ptxgraft_report_info summary = PTXGRAFT_REPORT_INFO_INIT;
    ptxgraft_finding_info finding = PTXGRAFT_FINDING_INFO_INIT;
    const std::pair<std::function<ptxgraft_status()>, const char*> rows[] = {
        {[&] { return ptxgraft_device_open(nullptr, "emulator"); }, "device"},
        {[&] { return ptxgraft_device_open_with_options(nullptr, "emulator", nullptr); }, "device"},
        {[&] { return ptxgraft_device_synchronize(nullptr); }, "device"},
        {[&] { return ptxgraft_device_take_output(nullptr, nullptr, device); }, "size"},
        {[&] { return ptxgraft_device_take_output(nullptr, &size, nullptr); }, "device"},
        {[&] { return ptxgraft_device_take_report(nullptr, device); }, "report"},
        {[&] { return ptxgraft_device_take_report(&no_report, nullptr); }, "device"},
        {[&] { return ptxgraft_report_get_info(nullptr, report); }, "info"},
        {[&] { return ptxgraft_report_get_info(&summary, nullptr); }, "report"},
        {[&] { return ptxgraft_report_get_finding(nullptr, report, 0); }, "info"},
        {[&] { return ptxgraft_report_get_finding(&finding, nullptr, 0); }, "report"},
        {[&] { return ptxgraft_buffer_create(nullptr, device, 4); }, "buffer"},
        {[&] { return ptxgraft_buffer_create(&no_buffer, nullptr, 4); }, "device"},
        {[&] { return ptxgraft_buffer_create_from_variable(nullptr, kernel, "x"); }, "buffer"},
        {[&] { return ptxgraft_buffer_create_from_variable(&no_buffer, nullptr, "x"); }, "kernel"},
        {[&] { return ptxgraft_buffer_create_from_variable(&no_buffer, kernel, nullptr); }, "name"},
        {[&] { return ptxgraft_buffer_write(nullptr, 0, out, 4); }, "buffer"},
        {[&] { return ptxgraft_buffer_write(buffer, 0, nullptr, 4); }, "data"},
        {[&] { return ptxgraft_buffer_read(out, nullptr, 0, 4); }, "buffer"},
        {[&] { return ptxgraft_buffer_read(nullptr, buffer, 0, 4); }, "data"},
        {[&] { return ptxgraft_buffer_fill(nullptr, 0); }, "buffer"},
        {[&] { return ptxgraft_tensor_map_encode(nullptr, buffer, &map_options); }, "map"},
        {[&] { return ptxgraft_tensor_map_encode(&map, nullptr, &map_options); }, "buffer"},
        {[&] { return ptxgraft_tensor_map_encode(&map, buffer, nullptr); }, "options"},
        {[&] { return ptxgraft_sum_get_bounds(nullptr, &number, &sum); }, "lowest"},
        {[&] { return ptxgraft_sum_get_bounds(&number, nullptr, &sum); }, "highest"},
        {[&] { return ptxgraft_sum_get_bounds(&number, &number, nullptr); }, "options"},
        {[&] { return ptxgraft_stream_create(nullptr, device); }, "stream"},
        {[&] { return ptxgraft_stream_create(&no_stream, nullptr); }, "device"},
        {[&] { return ptxgraft_stream_synchronize(nullptr); }, "stream"},
        {[&] { return ptxgraft_event_create(nullptr, device); }, "event"},
        {[&] { return ptxgraft_event_create(&no_event, nullptr); }, "device"},
        {[&] { return ptxgraft_event_record(nullptr, stream); }, "event"},
        {[&] { return ptxgraft_event_get_elapsed(nullptr, event, event); }, "milliseconds"},
        {[&] { return ptxgraft_event_get_elapsed(&time, nullptr, event); }, "start"},
        {[&] { return ptxgraft_event_get_elapsed(&time, event, nullptr); }, "end"},
        {[&] { return ptxgraft_skeleton_create_from_cuda(nullptr, "", 0, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_skeleton_create_from_cuda(&no_skeleton, nullptr, 0, nullptr); }, "source"},
        {[&] { return ptxgraft_skeleton_create_from_ptx(nullptr, "", 0); }, "skeleton"},
        {[&] { return ptxgraft_skeleton_create_from_ptx(&no_skeleton, nullptr, 0); }, "ptx"},
        {[&] { return ptxgraft_skeleton_create_from_file(nullptr, "", nullptr); }, "skeleton"},
        {[&] { return ptxgraft_skeleton_create_from_file(&no_skeleton, nullptr, nullptr); }, "path"},
        {[&] { return ptxgraft_skeleton_create_from_template(nullptr, "", nullptr, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_skeleton_create_from_template(&no_skeleton, nullptr, nullptr, nullptr); },
         "name"},
        {[&] { return ptxgraft_skeleton_get_ptx(nullptr, nullptr, skeleton); }, "size"},
        {[&] { return ptxgraft_skeleton_get_ptx(nullptr, &size, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_skeleton_render(nullptr, nullptr, skeleton, nullptr, 0); }, "size"},
        {[&] { return ptxgraft_skeleton_render(nullptr, &size, nullptr, nullptr, 0); }, "skeleton"},
        {[&] { return ptxgraft_site_find(nullptr, skeleton, "s"); }, "site"},
        {[&] { return ptxgraft_site_find(&size, nullptr, "s"); }, "skeleton"},
        {[&] { return ptxgraft_site_find(&size, skeleton, nullptr); }, "name"},
        {[&] { return ptxgraft_site_get_info(nullptr, skeleton, 0); }, "info"},
        {[&] { return ptxgraft_site_get_info(&site, nullptr, 0); }, "skeleton"},
        {[&] { return ptxgraft_site_get_operand(nullptr, skeleton, 0, 0); }, "info"},
        {[&] { return ptxgraft_site_get_operand(&operand, nullptr, 0, 0); }, "skeleton"},
        {[&] { return ptxgraft_site_get_copy(nullptr, skeleton, 0, 0); }, "info"},
        {[&] { return ptxgraft_site_get_copy(&copy, nullptr, 0, 0); }, "skeleton"},
        {[&] { return ptxgraft_stub_create_from_program(nullptr, skeleton, "s", "", 0); }, "stub"},
        {[&] { return ptxgraft_stub_create_from_program(&no_stub, nullptr, "s", "", 0); }, "skeleton"},
        {[&] { return ptxgraft_stub_create_from_program(&no_stub, skeleton, nullptr, "", 0); }, "site"},
        {[&] { return ptxgraft_stub_create_from_program(&no_stub, skeleton, "s", nullptr, 0); }, "program"},
        {[&] { return ptxgraft_stub_create_from_ptx(nullptr, skeleton, "s", "", 0); }, "stub"},
        {[&] { return ptxgraft_stub_create_from_ptx(&no_stub, nullptr, "s", "", 0); }, "skeleton"},
        {[&] { return ptxgraft_stub_create_from_ptx(&no_stub, skeleton, nullptr, "", 0); }, "site"},
        {[&] { return ptxgraft_stub_create_from_ptx(&no_stub, skeleton, "s", nullptr, 0); }, "ptx"},
        {[&] { return ptxgraft_stub_create_for_signature(nullptr, "in b32 x", "", 0); }, "stub"},
        {[&] { return ptxgraft_stub_create_for_signature(&no_stub, nullptr, "", 0); }, "signature"},
        {[&] { return ptxgraft_stub_create_for_signature(&no_stub, "in b32 x", nullptr, 0); }, "program"},
        {[&] { return ptxgraft_stub_get_ptx(nullptr, nullptr, stub); }, "size"},
        {[&] { return ptxgraft_stub_get_ptx(nullptr, &size, nullptr); }, "stub"},
        {[&] { return ptxgraft_kernel_create(nullptr, skeleton, device, nullptr); }, "kernel"},
        {[&] { return ptxgraft_kernel_create(&no_kernel, nullptr, device, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_kernel_create(&no_kernel, skeleton, nullptr, nullptr); }, "device"},
        {[&] { return ptxgraft_kernel_get_ptx(nullptr, nullptr, kernel); }, "size"},
        {[&] { return ptxgraft_kernel_get_ptx(nullptr, &size, nullptr); }, "kernel"},
        {[&] { return ptxgraft_kernel_get_cubin(nullptr, nullptr, kernel); }, "size"},
        {[&] { return ptxgraft_kernel_get_cubin(nullptr, &size, nullptr); }, "kernel"},
        {[&] { return ptxgraft_kernel_get_times(nullptr, kernel); }, "times"},
        {[&] { return ptxgraft_kernel_get_times(&times, nullptr); }, "kernel"},
        {[&] { return ptxgraft_kernel_get_parameter(nullptr, kernel, 0); }, "info"},
        {[&] { return ptxgraft_kernel_get_parameter(&parameter, nullptr, 0); }, "kernel"},
        {[&] { return ptxgraft_kernel_launch(nullptr, nullptr, nullptr, 0); }, "kernel"},
    };
    for (const auto& [call, name] : rows)
        EXPECT_INVALID(call(), std::string("error: invalid argument: ") + name + " is null\n");
    EXPECT_FALSE(no_device || no_skeleton || no_stub || no_kernel || no_buffer || no_event || no_stream ||
                 no_report);
}

TEST(CApiGetters, OfNullGiveNothingAndSayIt) {
    const auto expect_said = [](const char* name) {
        EXPECT_EQ(ptxgraft_error_get_message(),
                  std::string("error: invalid argument: ") + name + " is null\n");
        EXPECT_EQ(ptxgraft_kernel_launch(nullptr, nullptr, nullptr, 0),
                  PTXGRAFT_STATUS_argument_invalid);  // another message
    };
    EXPECT_EQ(ptxgraft_device_get_kind(nullptr), PTXGRAFT_DEVICE_none);
    expect_said("device");
    EXPECT_STREQ(ptxgraft_device_get_name(nullptr), "");
    expect_said("device");
    EXPECT_STREQ(ptxgraft_device_get_target(nullptr), "");
    expect_said("device");
    EXPECT_EQ(ptxgraft_report_get_finding_count(nullptr), 0u);
    expect_said("report");
    EXPECT_EQ(ptxgraft_buffer_get_size(nullptr), 0u);
    expect_said("buffer");
    EXPECT_EQ(ptxgraft_buffer_get_address(nullptr), 0u);
    expect_said("buffer");
    EXPECT_STREQ(ptxgraft_skeleton_get_target(nullptr), "");
    expect_said("skeleton");
    EXPECT_EQ(ptxgraft_skeleton_get_entry_count(nullptr), 0u);
    expect_said("skeleton");
    EXPECT_EQ(ptxgraft_skeleton_get_entry_name(nullptr, 0), nullptr);
    expect_said("skeleton");
    EXPECT_EQ(ptxgraft_site_get_count(nullptr), 0u);
    expect_said("skeleton");
    EXPECT_EQ(ptxgraft_stub_get_instruction_count(nullptr), 0u);
    expect_said("stub");
    EXPECT_STREQ(ptxgraft_kernel_get_assembler(nullptr), "");
    expect_said("kernel");
    EXPECT_STREQ(ptxgraft_kernel_get_entry(nullptr), "");
    expect_said("kernel");
    EXPECT_EQ(ptxgraft_kernel_get_parameter_count(nullptr), 0u);
    expect_said("kernel");
}

TEST_F(CApiArguments, NullsInListsAreNamed) {
    const char* const texts[] = {"A", nullptr};
    ptxgraft_cuda_options cuda = PTXGRAFT_CUDA_OPTIONS_INIT;
    using Cuda = ptxgraft_cuda_options;
    const std::tuple<const char* const * Cuda::*, size_t Cuda::*, std::string> lists[] = {
        {&Cuda::include_dirs, &Cuda::include_dir_count, "include_dir"},
        {&Cuda::defines, &Cuda::define_count, "define"},
        {&Cuda::options, &Cuda::option_count, "option"}};
    for (const auto& [list, count, name] : lists) {
        cuda = PTXGRAFT_CUDA_OPTIONS_INIT;
        cuda.*count = 2;
        EXPECT_INVALID(compile(&cuda), name + "s is null, but " + name + "_count is 2");
        cuda.*list = texts;
        EXPECT_INVALID(compile(&cuda), name + "s[1] is null");
        cuda.*count = 0;
        EXPECT_EQ(compile(&cuda), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    }
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.excuse_count = 1;
    EXPECT_INVALID(open(&options), "excuses is null, but excuse_count is 1");
    options.excuses = texts + 1;
    EXPECT_INVALID(open(&options), "excuses[0] is null");

    const ptxgraft_graft grafts[] = {{"s", stub}, {"s", nullptr}, {nullptr, stub}};
    ptxgraft_graft_options grafting = PTXGRAFT_GRAFT_OPTIONS_INIT;
    std::size_t size = 0;
    grafting.graft_count = 2;
    EXPECT_INVALID(graft(&grafting), "grafts is null, but graft_count is 2");
    EXPECT_INVALID(ptxgraft_skeleton_render(nullptr, &size, skeleton, nullptr, 1),
                   "grafts is null, but count is 1");
    grafting.grafts = grafts;
    EXPECT_INVALID(graft(&grafting), "grafts[1].stub is null");
    EXPECT_INVALID(ptxgraft_skeleton_render(nullptr, &size, skeleton, grafts + 2, 1),
                   "grafts[0].site is null");
    EXPECT_EQ(size, 0u);

    const ptxgraft_argument arguments[] = {
        PTXGRAFT_BUFFER(buffer), {nullptr, nullptr, 4}, {buffer, &size, 4}};
    EXPECT_INVALID(ptxgraft_kernel_launch(kernel, nullptr, nullptr, 2), "arguments is null, but count is 2");
    EXPECT_INVALID(ptxgraft_kernel_launch(kernel, nullptr, arguments, 2),
                   "arguments[1] has neither buffer nor data");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_INVALID(ptxgraft_kernel_launch(kernel, nullptr, arguments + 2, 1),
                   "arguments[0] has both buffer and data");
    const ptxgraft_argument large[] = {PTXGRAFT_BUFFER(buffer), {nullptr, &size, SIZE_MAX}};
    EXPECT_INVALID(ptxgraft_kernel_launch(kernel, nullptr, large, 2),
                   "arguments[1].size is 18446744073709551615; no parameter is as large");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);

    for (const char* const name : {"dims", "strides", "box"}) {
        ptxgraft_tensor_map_options map = tensor_map();
        (name[0] == 'b' ? map.box : map.element_strides) = nullptr;
        if (name[0] == 'd') map.dims = nullptr;
        if (name[0] == 's') map.strides = nullptr;
        EXPECT_INVALID(encode(&map), std::string(name) + " is null, but rank is 2");
    }
}

// ------------------------------------------------------------------------------------------- the end of a
// thread

// A thread's own object, which is destroyed after the library's, since it was made before.
struct AtTheEnd {
    std::string name;
    std::string *before, *message;
    std::uint32_t *column, *index;
    ~AtTheEnd() {
        *before = ptxgraft_error_get_message();
        ptxgraft_stub* stub = nullptr;
        (void)ptxgraft_stub_create_for_signature(&stub, "mod b32 x", "x y", 3);
        *column = ptxgraft_error_get_column();
        EXPECT_STREQ(ptxgraft_error_get_source(), "");
        EXPECT_STREQ(ptxgraft_error_get_source_name(), "");
        const char* const defines[] = {"A", nullptr};
        ptxgraft_cuda_options options = PTXGRAFT_CUDA_OPTIONS_INIT;
        options.defines = defines;
        options.define_count = 2;
        ptxgraft_skeleton* skeleton = nullptr;
        (void)ptxgraft_skeleton_create_from_cuda(&skeleton, "", 0, &options);
        *index = ptxgraft_error_get_index();
        ptxgraft_device* device = nullptr;
        (void)ptxgraft_device_open(&device, name.c_str());
        *message = ptxgraft_error_get_message();
    }
};

// Messages are cut then, but not within a character.
TEST(CApiThreads, MayFailWhileTheyEnd) {
    std::string umlauts;
    for (int i = 0; i < 500; ++i) umlauts += "\xC3\xA4";
    for (const std::string& name : {umlauts, "y" + umlauts}) {
        std::string before, message;
        std::uint32_t column = 0, index = 0;
        std::thread([&] {
            static thread_local AtTheEnd end{name, &before, &message, &column, &index};
            (void)&end;
            EXPECT_NE(ptxgraft_device_open(nullptr, nullptr), PTXGRAFT_STATUS_ok);
        }).join();
        EXPECT_EQ(before, "error: invalid argument: device is null\n");
        EXPECT_EQ(column, 3u);
        EXPECT_EQ(index, 1u);
        EXPECT_THAT(message, testing::StartsWith("error: "));
        EXPECT_THAT(message.size(), testing::AnyOf(254u, 255u)) << message;
        EXPECT_EQ(message.back(), '\xA4') << message;
    }
}

}  // namespace
