// What the C interface says of wrong arguments where machine code, assemblers and caches are made.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>

#include "arguments.hpp"
#include "handles.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;

struct CApiMachineCodeArguments : testing::Test {
    void SetUp() override {
        ASSERT_OK(ptxgraft_device_open(&device, "emulator"));
        ASSERT_OK(ptxgraft_kernel_create(&kernel, skeleton, device, nullptr));
        ASSERT_OK(ptxgraft_cache_open(&cache, nullptr));
        ASSERT_OK(ptxgraft_assembler_open(&assembler, nullptr));
        ASSERT_OK(ptxgraft_stop_create(&stop));
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.grafts = &graft;
        options.graft_count = 1;
        graft.stub = stub;
        options.cache = cache;
        ASSERT_OK(ptxgraft_machine_code_create(&code, skeleton, &options));
        ASSERT_OK(ptxgraft_skeleton_prepare(&preparation, skeleton, nullptr));
        const ptxgraft_batch_options none = PTXGRAFT_BATCH_OPTIONS_INIT;
        ASSERT_OK(ptxgraft_batch_create(&batch, skeleton, nullptr, &none));
    }
    ptxgraft_status assemble(const ptxgraft_graft_options* options) const {
        CCode made;
        const auto status = ptxgraft_machine_code_create(&made, skeleton, options);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_status assemble_many(const ptxgraft_batch_options* many) const {
        CBatch made;
        const auto status = ptxgraft_batch_create(&made, skeleton, nullptr, many);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_status open(const ptxgraft_cache_options* options) const {
        CCache made;
        const auto status = ptxgraft_cache_open(&made, options);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        return status;
    }
    ptxgraft_status create_pool(const ptxgraft_worker_pool_options* options) const {
        CAssembler made;
        const auto status = ptxgraft_assembler_create_worker_pool(&made, options);
        EXPECT_EQ(made != nullptr, status == PTXGRAFT_STATUS_ok);
        return status;
    }

    CSkeleton skeleton = c_skeleton(two_copies);
    CStub stub = c_stub(skeleton);
    ptxgraft_graft graft = {"s", nullptr};
    CDevice device;
    CKernel kernel;
    CCache cache;
    CAssembler assembler;
    CStop stop;
    CCode code;
    CPreparation preparation;
    CBatch batch;
};

TEST_F(CApiMachineCodeArguments, OptionsOfAllVersionsAreRead) {
    ptxgraft_graft_options grafts = PTXGRAFT_GRAFT_OPTIONS_INIT;
    grafts.max_registers = 40;
    expect_options_of_all_versions(grafts, "ptxgraft_graft_options", 48,
                                   [&](auto* o) { return assemble(o); });
    expect_options_of_all_versions(ptxgraft_batch_options PTXGRAFT_BATCH_OPTIONS_INIT,
                                   "ptxgraft_batch_options", 56, [&](auto* o) { return assemble_many(o); });
    expect_options_of_all_versions(ptxgraft_cache_options PTXGRAFT_CACHE_OPTIONS_INIT,
                                   "ptxgraft_cache_options", 32, [&](auto* o) { return open(o); });
    ptxgraft_worker_pool_options pool = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    pool.workers = 1;
    expect_options_of_all_versions(pool, "ptxgraft_worker_pool_options", 48,
                                   [&](auto* o) { return create_pool(o); });
}

// What a program has that was compiled with version 1 of these structs: what lies behind is not its own.
TEST_F(CApiMachineCodeArguments, StructsOfVersion1AreReadToTheirEnd) {
    ptxgraft_graft_options options;
    std::memset(&options, 0x5A, sizeof options);
    const ptxgraft_graft_options init = PTXGRAFT_GRAFT_OPTIONS_INIT;
    std::memcpy(&options, &init, 48);
    options.struct_size = 48;
    EXPECT_EQ(assemble(&options), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    ptxgraft_kernel_times times = {32, -1, -1, -1, -1};
    EXPECT_EQ(ptxgraft_kernel_get_times(&times, kernel), PTXGRAFT_STATUS_ok);
    EXPECT_GE(times.load, 0);
    EXPECT_EQ(times.link, -1);
    const std::string ptx = "extern \"C\" __global__ void k() {}";
    ptxgraft_cuda_options cuda = PTXGRAFT_CUDA_OPTIONS_INIT;
    cuda.struct_size = 80;
    std::memset(&cuda.cache, 0x5A, sizeof cuda.cache);
    CSkeleton made;
    EXPECT_EQ(ptxgraft_skeleton_create_from_cuda(&made, ptx.data(), ptx.size(), &cuda), PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
}

TEST_F(CApiMachineCodeArguments, InfosOfAllVersionsAreFilled) {
    expect_infos_of_all_versions(ptxgraft_machine_code_info PTXGRAFT_MACHINE_CODE_INFO_INIT,
                                 "ptxgraft_machine_code_info", 80,
                                 [&](auto* i) { return ptxgraft_machine_code_get_info(i, code); });
    expect_infos_of_all_versions(ptxgraft_function_info PTXGRAFT_FUNCTION_INFO_INIT, "ptxgraft_function_info",
                                 56, [&](auto* i) { return ptxgraft_machine_code_get_function(i, code, 0); });
    expect_infos_of_all_versions(ptxgraft_route_info PTXGRAFT_ROUTE_INFO_INIT, "ptxgraft_route_info", 32,
                                 [&](auto* i) { return ptxgraft_machine_code_get_route(i, code, 0); });
    expect_infos_of_all_versions(ptxgraft_preparation_info PTXGRAFT_PREPARATION_INFO_INIT,
                                 "ptxgraft_preparation_info", 48,
                                 [&](auto* i) { return ptxgraft_preparation_get_info(i, preparation); });
    expect_infos_of_all_versions(ptxgraft_device_properties PTXGRAFT_DEVICE_PROPERTIES_INIT,
                                 "ptxgraft_device_properties", 152,
                                 [&](auto* i) { return ptxgraft_device_get_properties(i, device); });
    expect_infos_of_all_versions(ptxgraft_kernel_attributes PTXGRAFT_KERNEL_ATTRIBUTES_INIT,
                                 "ptxgraft_kernel_attributes", 40,
                                 [&](auto* i) { return ptxgraft_kernel_get_attributes(i, kernel); });
    expect_infos_of_all_versions(ptxgraft_cache_counters PTXGRAFT_CACHE_COUNTERS_INIT,
                                 "ptxgraft_cache_counters", 88,
                                 [&](auto* i) { return ptxgraft_cache_get_counters(i, cache); });
    expect_infos_of_all_versions(ptxgraft_cache_size PTXGRAFT_CACHE_SIZE_INIT, "ptxgraft_cache_size", 24,
                                 [&](auto* i) { return ptxgraft_cache_get_memory(i, cache); });
}

// Structs that a call may do without, and of which it has two: nothing is written, and nothing done.
TEST_F(CApiMachineCodeArguments, NothingIsDoneForAStructThatIsNone) {
    ptxgraft_cache_size size = PTXGRAFT_CACHE_SIZE_INIT, wrong_size = {8, 7, 7};
    ptxgraft_cache_counters wrong = PTXGRAFT_CACHE_COUNTERS_INIT;
    ptxgraft_cache_check check = {8, 7, 7, 7, 7};
    wrong.struct_size = 80;
    size.entries = 7;
    EXPECT_INVALID(ptxgraft_cache_get_folder(&size, &wrong, cache), "a ptxgraft_cache_counters has at least");
    EXPECT_EQ(size.entries, 7u);
    EXPECT_INVALID(ptxgraft_cache_clear(&wrong_size, cache), "a ptxgraft_cache_size has at least 24 bytes");
    EXPECT_INVALID(ptxgraft_cache_verify(&check, cache), "a ptxgraft_cache_check has at least 40 bytes");
    EXPECT_EQ(ptxgraft_cache_get_memory(&size, cache), PTXGRAFT_STATUS_ok);
    EXPECT_GT(size.entries, 0u) << "it was cleared";
}

TEST_F(CApiMachineCodeArguments, EnumeratorsAreChecked) {
    const auto call = [&](const auto* o) { return assemble(o); };
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    expect_checked(options, &ptxgraft_graft_options::route, "route", 3, call);
    for (const int value : {-1, 4, 256, INT32_MAX, INT32_MIN}) {
        const ptxgraft_site_route routes[] = {{"s", PTXGRAFT_ROUTE_call},
                                              {"s2", static_cast<ptxgraft_route>(value)}};
        options.routes = routes;
        options.route_count = 2;
        EXPECT_INVALID(assemble(&options), "routes[1].route is " + std::to_string(value) + "; it is 0 to 3");
        options.route_count = 0;
        const ptxgraft_limit limits[] = {{static_cast<ptxgraft_limit_kind>(value), 1}};
        options.limits = limits;
        options.limit_count = 1;
        EXPECT_INVALID(assemble(&options), "limits[0].kind is " + std::to_string(value) + "; it is 0 to 3");
        options.limit_count = 0;
    }
    options.optimisation = 4;
    EXPECT_INVALID(assemble(&options), "optimisation is 4; it is 0 to 3");
}

TEST_F(CApiMachineCodeArguments, WhatIsWrongWithListsIsNamed) {
    const auto rows = [&](auto list, auto count, const std::string& name, const auto* elements) {
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.*count = 2;
        const std::string count_name = name.substr(0, name.size() - 1) + "_count";
        EXPECT_INVALID(assemble(&options), name + " is null, but " + count_name + " is 2");
        options.*list = elements;
        options.*count = SIZE_MAX;
        EXPECT_INVALID(assemble(&options), count_name + " is 18446744073709551615; no list is as long");
        options.*count = 0;
        EXPECT_EQ(assemble(&options), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    };
    using Options = ptxgraft_graft_options;
    const ptxgraft_site_route route = {"s", PTXGRAFT_ROUTE_call};
    const ptxgraft_limit limit = {PTXGRAFT_LIMIT_registers, 0};
    const char* const text = "--bogus";
    rows(&Options::grafts, &Options::graft_count, "grafts", &graft);
    rows(&Options::routes, &Options::route_count, "routes", &route);
    rows(&Options::limits, &Options::limit_count, "limits", &limit);
    rows(&Options::assembler_options, &Options::assembler_option_count, "assembler_options", &text);

    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    const char* const texts[] = {"--fmad=false", nullptr};
    options.assembler_options = texts;
    options.assembler_option_count = 2;
    EXPECT_INVALID(assemble(&options), "assembler_options[1] is null");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    ptxgraft_site_route routes[] = {{"s", PTXGRAFT_ROUTE_call}, {nullptr, PTXGRAFT_ROUTE_call}};
    options.routes = routes;
    options.route_count = 2;
    EXPECT_INVALID(assemble(&options), "routes[1].site is null");
    routes[1].site = "s";
    EXPECT_INVALID(assemble(&options), "routes[1] is a second route of the site s");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
    routes[1].site = "nowhere";
    EXPECT_EQ(assemble(&options), PTXGRAFT_STATUS_site_unknown);
    const ptxgraft_graft grafts[] = {graft, {nullptr, stub}};
    options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.grafts = grafts;
    options.graft_count = 2;
    EXPECT_INVALID(assemble(&options), "grafts[1].site is null");
    EXPECT_EQ(ptxgraft_error_get_index(), 1u);
}

TEST_F(CApiMachineCodeArguments, TextsOf4GiBAreRefusedUnread) {
    CSkeleton no_skeleton;
    CStub no_stub;
    for (const std::size_t size : {SIZE_MAX, std::size_t{UINT32_MAX}}) {
        EXPECT_EQ(ptxgraft_skeleton_create_from_ptx(&no_skeleton, "x", size), PTXGRAFT_STATUS_text_too_large);
        EXPECT_EQ(ptxgraft_skeleton_create_from_cuda(&no_skeleton, "x", size, nullptr),
                  PTXGRAFT_STATUS_text_too_large);
        EXPECT_EQ(ptxgraft_stub_create_from_ptx(&no_stub, skeleton, "s", "x", size),
                  PTXGRAFT_STATUS_text_too_large);
        EXPECT_EQ(ptxgraft_stub_create_from_program(&no_stub, skeleton, "s", "x", size),
                  PTXGRAFT_STATUS_text_too_large);
        EXPECT_EQ(ptxgraft_stub_create_for_signature(&no_stub, "in b32 x", "x", size),
                  PTXGRAFT_STATUS_text_too_large);
    }
    EXPECT_TRUE(no_skeleton == nullptr && no_stub == nullptr);
    EXPECT_EQ(ptxgraft_skeleton_create_from_ptx(&no_skeleton, "", 0), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ptxgraft_skeleton_get_entry_count(no_skeleton), 0u);
}

TEST_F(CApiMachineCodeArguments, NullWhereNoneIsAllowedIsNamed) {
    std::size_t size = 7;
    CCode no_code;
    CKernel no_kernel;
    CCache no_cache;
    CAssembler no_assembler;
    CStop no_stop;
    CBatch no_batch;
    CPreparation no_preparation;
    const ptxgraft_batch_options many = PTXGRAFT_BATCH_OPTIONS_INIT;
    ptxgraft_machine_code_info info = PTXGRAFT_MACHINE_CODE_INFO_INIT;
    ptxgraft_function_info function = PTXGRAFT_FUNCTION_INFO_INIT;
    ptxgraft_route_info route = PTXGRAFT_ROUTE_INFO_INIT;
    ptxgraft_loss_info loss = PTXGRAFT_LOSS_INFO_INIT;
    ptxgraft_preparation_info prepared = PTXGRAFT_PREPARATION_INFO_INIT;
    ptxgraft_kernel_attributes attributes = PTXGRAFT_KERNEL_ATTRIBUTES_INIT;
    ptxgraft_device_properties properties = PTXGRAFT_DEVICE_PROPERTIES_INIT;
    ptxgraft_cache_counters counters = PTXGRAFT_CACHE_COUNTERS_INIT;
    ptxgraft_cache_size cached = PTXGRAFT_CACHE_SIZE_INIT;
    const std::pair<std::function<ptxgraft_status()>, const char*> rows[] = {
        {[&] { return ptxgraft_assembler_open(nullptr, "default"); }, "assembler"},
        {[&] { return ptxgraft_assembler_create_worker_pool(nullptr, nullptr); }, "assembler"},
        {[&] { return ptxgraft_stop_create(nullptr); }, "stop"},
        {[&] { return ptxgraft_stop_request(nullptr); }, "stop"},
        {[&] { return ptxgraft_cache_open(nullptr, nullptr); }, "cache"},
        {[&] { return ptxgraft_cache_get_counters(nullptr, cache); }, "counters"},
        {[&] { return ptxgraft_cache_get_counters(&counters, nullptr); }, "cache"},
        {[&] { return ptxgraft_cache_get_memory(nullptr, cache); }, "size"},
        {[&] { return ptxgraft_cache_get_memory(&cached, nullptr); }, "cache"},
        {[&] { return ptxgraft_cache_get_folder(&cached, &counters, nullptr); }, "cache"},
        {[&] { return ptxgraft_cache_clear(&cached, nullptr); }, "cache"},
        {[&] { return ptxgraft_cache_verify(nullptr, nullptr); }, "cache"},
        {[&] { return ptxgraft_skeleton_render_with_options(nullptr, nullptr, skeleton, nullptr); }, "size"},
        {[&] { return ptxgraft_skeleton_render_with_options(nullptr, &size, nullptr, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_machine_code_create(nullptr, skeleton, nullptr); }, "code"},
        {[&] { return ptxgraft_machine_code_create(&no_code, nullptr, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_machine_code_create_from_kernel(nullptr, kernel); }, "code"},
        {[&] { return ptxgraft_machine_code_create_from_kernel(&no_code, nullptr); }, "kernel"},
        {[&] { return ptxgraft_machine_code_create_from_batch(nullptr, batch, 0); }, "code"},
        {[&] { return ptxgraft_machine_code_create_from_batch(&no_code, nullptr, 0); }, "batch"},
        {[&] { return ptxgraft_kernel_create_from_batch(nullptr, batch, 0); }, "kernel"},
        {[&] { return ptxgraft_kernel_create_from_batch(&no_kernel, nullptr, 0); }, "batch"},
        {[&] { return ptxgraft_machine_code_get_image(nullptr, nullptr, code); }, "size"},
        {[&] { return ptxgraft_machine_code_get_image(nullptr, &size, nullptr); }, "code"},
        {[&] { return ptxgraft_machine_code_get_info(nullptr, code); }, "info"},
        {[&] { return ptxgraft_machine_code_get_info(&info, nullptr); }, "code"},
        {[&] { return ptxgraft_machine_code_get_function(nullptr, code, 0); }, "info"},
        {[&] { return ptxgraft_machine_code_get_function(&function, nullptr, 0); }, "code"},
        {[&] { return ptxgraft_machine_code_get_route(nullptr, code, 0); }, "info"},
        {[&] { return ptxgraft_machine_code_get_route(&route, nullptr, 0); }, "code"},
        {[&] { return ptxgraft_machine_code_get_loss(nullptr, code, 0); }, "info"},
        {[&] { return ptxgraft_machine_code_get_loss(&loss, nullptr, 0); }, "code"},
        {[&] { return ptxgraft_skeleton_prepare(&no_preparation, nullptr, nullptr); }, "skeleton"},
        {[&] { return ptxgraft_preparation_get_info(nullptr, preparation); }, "info"},
        {[&] { return ptxgraft_preparation_get_info(&prepared, nullptr); }, "preparation"},
        {[&] { return ptxgraft_kernel_get_attributes(nullptr, kernel); }, "attributes"},
        {[&] { return ptxgraft_kernel_get_attributes(&attributes, nullptr); }, "kernel"},
        {[&] { return ptxgraft_device_get_properties(nullptr, device); }, "properties"},
        {[&] { return ptxgraft_device_get_properties(&properties, nullptr); }, "device"},
        {[&] { return ptxgraft_device_get_health(nullptr); }, "device"},
        {[&] { return ptxgraft_batch_create(nullptr, skeleton, nullptr, &many); }, "batch"},
        {[&] { return ptxgraft_batch_create(&no_batch, nullptr, nullptr, &many); }, "skeleton"},
        {[&] { return ptxgraft_batch_create(&no_batch, skeleton, nullptr, nullptr); }, "many"},
        {[&] { return ptxgraft_batch_create_on_device(nullptr, skeleton, device, nullptr, &many); }, "batch"},
        {[&] { return ptxgraft_batch_create_on_device(&no_batch, nullptr, device, nullptr, &many); },
         "skeleton"},
        {[&] { return ptxgraft_batch_create_on_device(&no_batch, skeleton, nullptr, nullptr, &many); },
         "device"},
        {[&] { return ptxgraft_batch_create_on_device(&no_batch, skeleton, device, nullptr, nullptr); },
         "many"},
    };
    for (const auto& [call, name] : rows)
        EXPECT_INVALID(call(), std::string("error: invalid argument: ") + name + " is null\n");
    EXPECT_FALSE(no_code || no_kernel || no_cache || no_assembler || no_stop || no_batch || no_preparation);
    EXPECT_EQ(size, 7u);
}

TEST(CApiMachineCodeGetters, OfNullGiveNothingAndSayIt) {
    const auto expect_said = [](const char* name) {
        EXPECT_EQ(ptxgraft_error_get_message(),
                  std::string("error: invalid argument: ") + name + " is null\n");
        EXPECT_EQ(ptxgraft_kernel_launch(nullptr, nullptr, nullptr, 0), PTXGRAFT_STATUS_argument_invalid);
    };
    EXPECT_STREQ(ptxgraft_assembler_get_name(nullptr), "");
    expect_said("assembler");
    EXPECT_STREQ(ptxgraft_assembler_get_version(nullptr), "");
    expect_said("assembler");
    EXPECT_EQ(ptxgraft_stop_get_requested(nullptr), 0u);
    expect_said("stop");
    EXPECT_STREQ(ptxgraft_cache_get_dir(nullptr), "");
    expect_said("cache");
    EXPECT_EQ(ptxgraft_machine_code_get_function_count(nullptr), 0u);
    expect_said("code");
    EXPECT_EQ(ptxgraft_machine_code_get_route_count(nullptr), 0u);
    expect_said("code");
    EXPECT_EQ(ptxgraft_machine_code_get_loss_count(nullptr), 0u);
    expect_said("code");
    EXPECT_EQ(ptxgraft_batch_get_count(nullptr), 0u);
    expect_said("batch");
}

TEST(CApiMachineCodeGetters, DestroyOfNullDoesNothing) {
    ptxgraft_assembler_destroy(nullptr);
    ptxgraft_stop_destroy(nullptr);
    ptxgraft_cache_destroy(nullptr);
    ptxgraft_machine_code_destroy(nullptr);
    ptxgraft_preparation_destroy(nullptr);
    ptxgraft_batch_destroy(nullptr);
}

}  // namespace
}  // namespace ptxgraft::test
