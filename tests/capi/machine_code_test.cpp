// Machine code through the C interface is that of the C++ interface, and everything about it can be read.
#include <elf.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "capi/objects.hpp"
#include "handles.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/compile_bombs.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;

constexpr std::pair<ptxgraft_route, Route> all_routes[] = {{PTXGRAFT_ROUTE_inline, Route::inlined},
                                                           {PTXGRAFT_ROUTE_call, Route::call},
                                                           {PTXGRAFT_ROUTE_link, Route::link},
                                                           {PTXGRAFT_ROUTE_auto, Route::automatic}};

// A log up to the times that it tells.
std::string log_of(const std::string& log) { return log.substr(0, log.find("Compile time")); }

struct CApiMachineCode : testing::Test {
    explicit CApiMachineCode(const std::string& text = two_copies)
        : skeleton(c_skeleton(text)), stub(c_stub(skeleton)) {
        options.grafts = &graft;
        options.graft_count = 1;
        graft.stub = stub;
    }
    ptxgraft_status create() {
        code.reset();
        return ptxgraft_machine_code_create(&code, skeleton, &options);
    }

    CSkeleton skeleton;
    CStub stub;
    ptxgraft_graft graft = {"s", nullptr};
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    CCode code;
};

TEST_F(CApiMachineCode, ImageRoutesAndFunctionsAreThoseOfTheCppInterface) {
    const Skeleton same = skeleton_of(two_copies);
    for (const auto& [c_route, route] : all_routes) {
        options.route = c_route;
        ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        const auto expected = same.assemble({{"s", stub_of(same)}}, {.routes = {.route = route}});
        ASSERT_TRUE(expected) << describe(expected.error());
        EXPECT_EQ(image_of(code), expected->cubin->image) << c_route;
        ASSERT_EQ(ptxgraft_machine_code_get_route_count(code), 1u);
        EXPECT_STREQ(route_of(code, 0).site, "s");
        EXPECT_EQ(route_of(code, 0).reason, expected->routes[0].reason);
        EXPECT_EQ(name(expected->routes[0].route), c_route == PTXGRAFT_ROUTE_auto ? "inline" : name(route));
        if (c_route != PTXGRAFT_ROUTE_auto) { EXPECT_EQ(route_of(code, 0).route, c_route); }
        ASSERT_EQ(ptxgraft_machine_code_get_function_count(code), expected->cubin->functions.size());
        for (std::size_t i = 0; i < expected->cubin->functions.size(); ++i) {
            const FunctionUsage& want = expected->cubin->functions[i];
            ptxgraft_function_info got = PTXGRAFT_FUNCTION_INFO_INIT;
            ASSERT_EQ(ptxgraft_machine_code_get_function(&got, code, i), PTXGRAFT_STATUS_ok);
            EXPECT_EQ(got.name, want.name);
            EXPECT_EQ(got.is_entry, want.is_entry ? 1u : 0u);
            EXPECT_EQ((std::vector{got.registers, got.spill_store_size, got.spill_load_size, got.stack_size,
                                   got.shared_size, got.barriers, got.code_size, got.constant_size,
                                   got.parameter_size}),
                      (std::vector{want.registers, want.spill_store_bytes, want.spill_load_bytes,
                                   want.stack_bytes, want.shared_bytes, want.barriers, want.code_bytes,
                                   want.constant_bytes, want.parameter_bytes}));
        }
        const ptxgraft_machine_code_info info = info_of(code);
        EXPECT_EQ(info.assembler, expected->cubin->assembler);
        EXPECT_EQ(log_of(info.log), log_of(expected->cubin->log));
        EXPECT_EQ(info.constant_size, expected->cubin->constant_bytes);
        EXPECT_EQ(info.from, PTXGRAFT_CACHE_LEVEL_none);
        EXPECT_GT(info.assemble + info.link, 0);
        EXPECT_GT(info.assembly, 0);
        EXPECT_EQ(info.link > 0, c_route == PTXGRAFT_ROUTE_link);
        EXPECT_EQ(info.load, 0);
    }
}

TEST_F(CApiMachineCode, WithoutOptionsSitesKeepTheirDefaults) {
    ASSERT_EQ(ptxgraft_machine_code_create(&code, skeleton, nullptr), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(image_of(code), skeleton_of(two_copies).assemble({})->cubin->image);
    EXPECT_EQ(ptxgraft_machine_code_get_route_count(code), 0u);
}

TEST_F(CApiMachineCode, OutlivesWhatItWasMadeOf) {
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    const auto before = image_of(code);
    stub.reset();
    skeleton.reset();
    EXPECT_EQ(image_of(code), before);
    EXPECT_STREQ(route_of(code, 0).site, "s");
}

TEST_F(CApiMachineCode, SitesHaveRoutesOfTheirOwn) {
    skeleton = c_skeleton(two_sites());
    const CStub other = c_stub(skeleton, adding(1), "t");
    const ptxgraft_graft grafts[] = {{"s", stub}, {"t", other}};
    const ptxgraft_site_route routes[] = {{"t", PTXGRAFT_ROUTE_inline}};
    options.grafts = grafts;
    options.graft_count = 2;
    options.route = PTXGRAFT_ROUTE_call;
    options.routes = routes;
    options.route_count = 1;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_EQ(route_of(code, 0).route, PTXGRAFT_ROUTE_call);
    EXPECT_EQ(route_of(code, 1).route, PTXGRAFT_ROUTE_inline);
    EXPECT_STREQ(route_of(code, 1).site, "t");

    std::size_t size = 0;
    ASSERT_EQ(ptxgraft_skeleton_render_with_options(nullptr, &size, skeleton, &options), PTXGRAFT_STATUS_ok);
    std::string text(size, 'x');
    ASSERT_EQ(ptxgraft_skeleton_render_with_options(text.data(), &size, skeleton, &options),
              PTXGRAFT_STATUS_ok);
    text.pop_back();
    const Skeleton same = skeleton_of(two_sites());
    const auto same_t = Stub::from_ptx(adding(1), *same.site("t"));
    const std::vector<Graft> same_grafts{{"s", stub_of(same)}, {"t", *same_t}};
    EXPECT_EQ(text, same.render_by(same_grafts, {Route::call, {{"t", Route::inlined}}})->ptx);
    EXPECT_THAT(text, HasSubstr(".func"));
    EXPECT_TRUE(default_assembler().assemble(text));
}

TEST_F(CApiMachineCode, OptionsReachTheAssembler) {
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    const auto usual = image_of(code);
    const Skeleton same = skeleton_of(two_copies);
    const auto expect = [&](const AssembleOptions& assemble) {
        ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        EXPECT_EQ(image_of(code),
                  same.assemble({{"s", stub_of(same)}}, {.assemble = assemble})->cubin->image);
        EXPECT_NE(image_of(code), usual);
    };
    const ptxgraft_graft_options plain = options;
    options.optimisation = 0;
    expect({.optimisation = 0});
    options = plain;
    options.max_registers = 16;
    expect({.max_registers = 16});
    options = plain;
    options.line_info = 1;
    expect({.line_info = true});
    options = plain;
    const char* const more[] = {"--fmad=false", "--maxrregcount=16"};
    options.assembler_options = more;
    options.assembler_option_count = 2;
    expect({.options = {"--fmad=false", "--maxrregcount=16"}});
    options = plain;
    options.relocatable = 1;
    expect({.relocatable = true});
    Elf64_Ehdr header;
    std::memcpy(&header, image_of(code).data(), sizeof header);
    EXPECT_EQ(header.e_type, ET_REL);
    CKernel kernel;
    CDevice device;
    ASSERT_EQ(ptxgraft_device_open(&device, "emulator"), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_kernel_create(&kernel, skeleton, device, &options), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("relocatable is set"));
    EXPECT_EQ(kernel, nullptr);
}

TEST_F(CApiMachineCode, TargetsAreTheCallers) {
    std::string older = two_copies;
    older.replace(older.find("sm_90a"), 6, "sm_80");
    skeleton = c_skeleton(older);
    for (const char* const target : {"sm_80", "sm_90"}) {
        options.target = target;
        ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
        const Skeleton same = skeleton_of(older);
        EXPECT_EQ(image_of(code),
                  same.assemble({{"s", stub_of(same)}}, {.assemble = {.target = target}})->cubin->image);
    }
    options.target = "sm_x";
    EXPECT_EQ(create(), PTXGRAFT_STATUS_target_unknown);
    EXPECT_EQ(code, nullptr);
}

TEST_F(CApiMachineCode, LimitsAreChecked) {
    ptxgraft_limit limits[] = {{PTXGRAFT_LIMIT_registers, 200},
                               {PTXGRAFT_LIMIT_spill_size, 0},
                               {PTXGRAFT_LIMIT_stack_size, 0},
                               {PTXGRAFT_LIMIT_code_size, 1 << 20}};
    options.limits = limits;
    options.limit_count = 4;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    const auto expect_exceeded = [&](const char* what) {
        EXPECT_EQ(create(), PTXGRAFT_STATUS_assemble_limit_exceeded) << what;
        EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr(what));
        EXPECT_EQ(code, nullptr);
    };
    limits[3] = {PTXGRAFT_LIMIT_registers, 3};  // of two for the same the lowest holds
    expect_exceeded("registers");
    std::swap(limits[0], limits[3]);
    expect_exceeded("registers");
    limits[0] = {PTXGRAFT_LIMIT_code_size, 128};
    expect_exceeded("code");
    skeleton = c_skeleton(memory_bomb(300));
    options.graft_count = 0;
    options.max_registers = 24;
    limits[0] = {PTXGRAFT_LIMIT_code_size, 1 << 20};
    expect_exceeded("spill");
    limits[1].most = 1 << 20;
    expect_exceeded("stack");
    limits[2].most = 1 << 20;
    EXPECT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
}

TEST_F(CApiMachineCode, ErrorsSayWhereAndBringTheirText) {
    skeleton = c_skeleton(warp_site());
    stub = c_stub(skeleton, refused(1));
    graft.stub = stub;
    EXPECT_EQ(create(), PTXGRAFT_STATUS_assemble_failed);
    EXPECT_EQ(code, nullptr);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("in the stub of site s, line "));
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "k.ptx");
    std::string_view rest = ptxgraft_error_get_source();
    for (std::uint32_t line = 1; line < ptxgraft_error_get_line(); ++line)
        rest.remove_prefix(rest.find('\n') + 1);
    EXPECT_THAT(std::string(rest.substr(0, rest.find('\n'))), HasSubstr("redux.sync.min.f32"));
    EXPECT_GT(ptxgraft_error_get_column(), 0u);
    EXPECT_EQ(ptxgraft_error_get_index(), 0u);

    const ptxgraft_graft twice[] = {graft, graft};
    options.grafts = twice;
    options.graft_count = 2;
    EXPECT_EQ(create(), PTXGRAFT_STATUS_site_filled_twice);
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    EXPECT_STREQ(ptxgraft_error_get_source(), "");
    EXPECT_STREQ(ptxgraft_error_get_source_name(), "");
}

TEST_F(CApiMachineCode, LossesAreErrorsUnlessTheyAreAllowed) {
    const std::string text =
        ".version 8.0\n.target sm_90a\n.address_size 64\n.visible .entry k()\n{\n"
        "\tsetmaxnreg.inc.sync.aligned.u32 40;\n\tret;\n}\n";
    skeleton = c_skeleton(text);
    options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    const auto expected = default_assembler().assemble(text, {.allow_performance_loss = true});
    if (!expected) GTEST_SKIP() << "the default assembler refuses setmaxnreg";
    EXPECT_EQ(create(), PTXGRAFT_STATUS_performance_loss);
    options.allow_performance_loss = 1;
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    ASSERT_EQ(ptxgraft_machine_code_get_loss_count(code), 1u);
    ptxgraft_loss_info loss = PTXGRAFT_LOSS_INFO_INIT;
    ASSERT_EQ(ptxgraft_machine_code_get_loss(&loss, code, 0), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(loss.code, expected->losses[0].code);
    EXPECT_EQ(loss.message, expected->losses[0].message);
    EXPECT_EQ(ptxgraft_machine_code_get_loss(&loss, code, 1), PTXGRAFT_STATUS_argument_invalid);
}

TEST_F(CApiMachineCode, IndicesAndBuffersAreChecked) {
    ASSERT_EQ(create(), PTXGRAFT_STATUS_ok);
    ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
    ptxgraft_route_info route = PTXGRAFT_ROUTE_INFO_INIT;
    EXPECT_EQ(ptxgraft_machine_code_get_function(&function, code, 1), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(ptxgraft_machine_code_get_route(&route, code, SIZE_MAX), PTXGRAFT_STATUS_argument_invalid);
    EXPECT_EQ(function.name, nullptr);
    EXPECT_EQ(route.site, nullptr);
    const auto image = image_of(code);
    std::vector<std::byte> buffer(image.size(), std::byte{7});
    std::size_t size = image.size() - 1;
    EXPECT_EQ(ptxgraft_machine_code_get_image(buffer.data(), &size, code), PTXGRAFT_STATUS_buffer_too_small);
    EXPECT_EQ(size, image.size());
    EXPECT_EQ(buffer, std::vector<std::byte>(image.size(), std::byte{7}));
}

// ---------------------------------------------------------------------------------------------------------
// preparations

TEST_F(CApiMachineCode, PreparationsAreMeasured) {
    CPreparation preparation;
    ASSERT_EQ(ptxgraft_skeleton_prepare(&preparation, skeleton, &options), PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
    ptxgraft_preparation_info info = PTXGRAFT_PREPARATION_INFO_INIT;
    ASSERT_EQ(ptxgraft_preparation_get_info(&info, preparation), PTXGRAFT_STATUS_ok);
    EXPECT_STREQ(info.not_linkable, "");
    for (const double time : {info.whole, info.skeleton, info.stub, info.link}) EXPECT_GT(time, 0);
    EXPECT_EQ(ptxgraft_skeleton_prepare(nullptr, skeleton, nullptr), PTXGRAFT_STATUS_ok);

    const CSkeleton without = c_skeleton(kernel(""));
    preparation.reset();
    ASSERT_EQ(ptxgraft_skeleton_prepare(&preparation, without, nullptr), PTXGRAFT_STATUS_ok);
    skeleton.reset();
    ASSERT_EQ(ptxgraft_preparation_get_info(&info, preparation), PTXGRAFT_STATUS_ok);
    EXPECT_STRNE(info.not_linkable, "");
    EXPECT_EQ(info.not_linkable, skeleton_of(kernel("")).prepare()->not_linkable);
    EXPECT_EQ(info.link, 0);
}

// ---------------------------------------------------------------------------------------------------------
// kernels

TEST_F(CApiMachineCode, OfAKernelOnTheEmulatorHasRoutesAlone) {
    CDevice device;
    CKernel kernel;
    options.route = PTXGRAFT_ROUTE_call;
    ASSERT_EQ(ptxgraft_device_open(&device, "emulator"), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_kernel_create(&kernel, skeleton, device, &options), PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
    ASSERT_EQ(ptxgraft_machine_code_create_from_kernel(&code, kernel), PTXGRAFT_STATUS_ok);
    kernel.reset();
    std::size_t size = 5;
    EXPECT_EQ(ptxgraft_machine_code_get_image(nullptr, &size, code), PTXGRAFT_STATUS_machine_code_missing);
    EXPECT_EQ(size, 5u);
    EXPECT_EQ(ptxgraft_machine_code_get_function_count(code), 0u);
    EXPECT_EQ(ptxgraft_machine_code_get_loss_count(code), 0u);
    EXPECT_STREQ(info_of(code).assembler, "");
    EXPECT_STREQ(info_of(code).log, "");
    ASSERT_EQ(ptxgraft_machine_code_get_route_count(code), 1u);
    EXPECT_EQ(route_of(code, 0).route, PTXGRAFT_ROUTE_call);
}

// A GPU of host memory.
TEST_F(CApiMachineCode, OfAKernelOnAGpuIsWhatIsLoaded) {
    auto opened = Device::open("cuda", {.driver = test::build_path("libfake_cuda.so")});
    ASSERT_TRUE(opened) << describe(opened.error());
    const ptxgraft_device device(*opened);
    CCache cache;
    ASSERT_EQ(ptxgraft_cache_open(&cache, nullptr), PTXGRAFT_STATUS_ok);
    options.cache = cache;
    for (const auto level : {PTXGRAFT_CACHE_LEVEL_none, PTXGRAFT_CACHE_LEVEL_memory}) {
        CKernel kernel;
        ASSERT_EQ(ptxgraft_kernel_create(&kernel, skeleton, &device, &options), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        code.reset();
        ASSERT_EQ(ptxgraft_machine_code_create_from_kernel(&code, kernel), PTXGRAFT_STATUS_ok);
        const Skeleton same = skeleton_of(two_copies);
        const GraftOptions how{.assemble = {.target = opened->target()}};
        EXPECT_EQ(image_of(code), same.assemble({{"s", stub_of(same)}}, how)->cubin->image);
        EXPECT_EQ(info_of(code).from, level);
        EXPECT_EQ(info_of(code).assembler, std::string(ptxgraft_library_get_assembler()));
        EXPECT_EQ(info_of(code).assembler, std::string(ptxgraft_kernel_get_assembler(kernel)));
        EXPECT_GT(info_of(code).load, 0);
    }
    options.route = PTXGRAFT_ROUTE_link;
    CKernel kernel;
    ASSERT_EQ(ptxgraft_kernel_create(&kernel, skeleton, &device, &options), PTXGRAFT_STATUS_ok);
    ptxgraft_kernel_times times = PTXGRAFT_KERNEL_TIMES_INIT;
    ASSERT_EQ(ptxgraft_kernel_get_times(&times, kernel), PTXGRAFT_STATUS_ok);
    EXPECT_GT(times.link, 0);
}

TEST_F(CApiMachineCode, KernelsTellTheirAttributes) {
    CDevice device;
    CKernel kernel;
    ASSERT_EQ(ptxgraft_device_open(&device, "emulator"), PTXGRAFT_STATUS_ok);
    ASSERT_EQ(ptxgraft_kernel_create(&kernel, skeleton, device, &options), PTXGRAFT_STATUS_ok);
    ptxgraft_kernel_attributes got = PTXGRAFT_KERNEL_ATTRIBUTES_INIT;
    ASSERT_EQ(ptxgraft_kernel_get_attributes(&got, kernel), PTXGRAFT_STATUS_ok);
    const Skeleton same = skeleton_of(two_copies);
    const auto loaded = same.graft({{"s", stub_of(same)}}, *Device::open("emulator"));
    const FunctionAttributes want = *loaded->function().attributes();
    EXPECT_EQ(
        (std::vector{got.registers, got.local_size, got.static_shared_size, got.most_dynamic_shared_size,
                     got.const_size, got.threads_per_block, got.binary_version, got.ptx_version}),
        (std::vector{want.registers, want.local_bytes, want.static_shared_bytes,
                     want.most_dynamic_shared_bytes, want.const_bytes, want.threads_per_block,
                     want.binary_version, want.ptx_version}));
    EXPECT_EQ(got.static_shared_size, 16u);
}

}  // namespace
}  // namespace ptxgraft::test
