// What devices tell of launches, what somebody else owns, and what kernels say of themselves, in C.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <numeric>
#include <string>
#include <vector>

#include "arguments.hpp"
#include "handles.hpp"
#include "two_calls.hpp"

namespace {

using namespace ptxgraft::test;
using testing::HasSubstr;

using CProfile = Handle<ptxgraft_profile, ptxgraft_profile_destroy>;
using CStream = Handle<ptxgraft_stream, ptxgraft_stream_destroy>;
using CTiming = Handle<ptxgraft_timing, ptxgraft_timing_destroy>;
using CCurrent = Handle<ptxgraft_current, ptxgraft_current_destroy>;

constexpr std::string_view observed_ptx = R"(.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 p)
{
	.reg .b32 %r<3>;
	.reg .b64 %rd<3>;
	ld.param.u64 %rd1, [p];
	mov.u32 %r1, %tid.x;
	mul.wide.u32 %rd2, %r1, 4;
	add.u64 %rd1, %rd1, %rd2;
	st.global.u32 [%rd1], %r1;
	ret;
}
)";

struct Launched {
    CDevice device;
    CKernel kernel;
    CBuffer buffer;

    explicit Launched(const ptxgraft_device_options* options) {
        EXPECT_OK(ptxgraft_device_open_with_options(&device, "emulator:sm_80", options));
        EXPECT_OK(ptxgraft_kernel_create(&kernel, c_skeleton(observed_ptx), device, nullptr));
        EXPECT_OK(ptxgraft_buffer_create(&buffer, device, 256));
        launch();
    }
    void launch(const ptxgraft_stream* stream = nullptr) const {
        const ptxgraft_argument arguments[] = {PTXGRAFT_BUFFER(buffer)};
        ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
        launch.grid[0] = 1;
        launch.block[0] = 64;
        launch.stream = stream;
        launch.programmatic = 1;
        launch.has_priority = 1;
        EXPECT_OK(ptxgraft_kernel_launch(kernel, &launch, arguments, 1));
    }
};

void collect(const char* line, size_t size, void* payload) {
    static_cast<std::vector<std::string>*>(payload)->emplace_back(line, size);
}

TEST(CApiObserve, TracesInstructionsUntilTheDeviceGoes) {
    std::vector<std::string> lines;
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.trace = collect;
    options.payload = &lines;
    Launched launched(&options);
    EXPECT_EQ(lines.size(), 12u) << "six instructions of two warps";
    EXPECT_THAT(lines[4], HasSubstr("st.global.u32"));
    lines.clear();
    launched.device.reset();
    launched.launch();
    EXPECT_TRUE(lines.empty());
    options.trace_some = 2;
    options.trace_warp = 1;
    const Launched one(&options);
    EXPECT_EQ(lines.size(), 6u);
    lines.clear();
    options.trace_some = 3;
    options.trace_block[0] = 7;
    const Launched none(&options);
    EXPECT_TRUE(lines.empty());
}

// What a trace does to the device that calls it, at the third line of a launch.
struct Caller {
    ptxgraft_device* device = nullptr;
    const ptxgraft_buffer* buffer = nullptr;
    void (*act)(Caller&) = nullptr;
    size_t calls = 0;
};
void act_once(const char*, size_t, void* payload) {
    auto& caller = *static_cast<Caller*>(payload);
    if (caller.act != nullptr && caller.calls++ == 2) caller.act(caller);
}
uint64_t counted(const ptxgraft_device* device) {
    CProfile profile;
    EXPECT_OK(ptxgraft_profile_create(&profile, device));
    uint64_t warps = 0;
    for (size_t i = 0; i < ptxgraft_profile_get_class_count(profile); ++i) {
        ptxgraft_profile_class one = PTXGRAFT_PROFILE_CLASS_INIT;
        EXPECT_OK(ptxgraft_profile_get_class(&one, profile, i));
        warps += one.warps;
    }
    return warps;
}

// Ends the test program where a test waits for itself.
struct NoDeadlock {
    NoDeadlock() { alarm(60); }
    ~NoDeadlock() { alarm(0); }
};

TEST(CApiObserve, ATraceReadsClearsAndDestroysItsDevice) {
    const NoDeadlock watch;
    Caller caller;
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.trace = act_once;
    options.payload = &caller;
    options.profile = 1;
    const auto launch = [&](void (*act)(Caller&)) {
        caller = {};
        Launched launched(&options);  // whose launch has 12 lines
        caller = {launched.device, launched.buffer, act, 0};
        launched.launch();
        return launched;
    };
    {
        const Launched launched = launch([](Caller& c) { EXPECT_EQ(counted(c.device), 14u); });
        EXPECT_EQ(counted(launched.device), 24u);
    }
    {
        const Launched launched =
            launch([](Caller& c) { EXPECT_OK(ptxgraft_device_clear_profile(c.device)); });
        EXPECT_EQ(counted(launched.device), 10u) << "from the instruction on whose line it was cleared";
    }
    {
        const Launched launched = launch([](Caller& c) {
            uint32_t value = 0;
            EXPECT_EQ(ptxgraft_buffer_read(&value, c.buffer, 0, 4), PTXGRAFT_STATUS_device_in_use);
        });
        EXPECT_EQ(caller.calls, 12u);
    }
    caller = {};
    Launched launched(&options);
    caller = {launched.device.release(), nullptr, [](Caller& c) { ptxgraft_device_destroy(c.device); }, 0};
    launched.launch();
    EXPECT_EQ(caller.calls, 3u) << "it is not called any more";
    uint32_t values[64] = {};
    EXPECT_OK(ptxgraft_buffer_read(values, launched.buffer, 0, sizeof values));
    EXPECT_EQ(values[63], 63u) << "the launch went on";
}

TEST(CApiObserve, CountsLineByLine) {
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.profile = 1;
    const Launched launched(&options);
    CProfile profile;
    ASSERT_OK(ptxgraft_profile_create(&profile, launched.device));
    ASSERT_EQ(ptxgraft_profile_get_line_count(profile), 6u);
    ptxgraft_profile_line line = PTXGRAFT_PROFILE_LINE_INIT;
    ASSERT_OK(ptxgraft_profile_get_line(&line, profile, 4));
    EXPECT_EQ(line.line, 12u);
    EXPECT_THAT(line.instruction, HasSubstr("st.global.u32"));
    EXPECT_EQ(line.warps, 2u);
    EXPECT_EQ(line.lanes, 64u);
    EXPECT_EQ(line.sectors, 8u);
    EXPECT_EQ(line.global_size, 256u);
    EXPECT_INVALID(ptxgraft_profile_get_line(&line, profile, 6), "line 6 of 6");
    ASSERT_GT(ptxgraft_profile_get_class_count(profile), 0u);
    uint64_t warps = 0;
    for (size_t i = 0; i < ptxgraft_profile_get_class_count(profile); ++i) {
        ptxgraft_profile_class one = PTXGRAFT_PROFILE_CLASS_INIT;
        ASSERT_OK(ptxgraft_profile_get_class(&one, profile, i));
        EXPECT_STRNE(one.name, "");
        warps += one.warps;
    }
    EXPECT_EQ(warps, 12u);
    expect_infos_of_all_versions(ptxgraft_profile_line PTXGRAFT_PROFILE_LINE_INIT, "ptxgraft_profile_line",
                                 88, [&](auto* i) { return ptxgraft_profile_get_line(i, profile, 4); });
    expect_infos_of_all_versions(ptxgraft_profile_class PTXGRAFT_PROFILE_CLASS_INIT, "ptxgraft_profile_class",
                                 48, [&](auto* i) { return ptxgraft_profile_get_class(i, profile, 0); });
    ASSERT_OK(ptxgraft_device_clear_profile(launched.device));
    CProfile cleared;
    ASSERT_OK(ptxgraft_profile_create(&cleared, launched.device));
    EXPECT_EQ(ptxgraft_profile_get_line_count(cleared), 0u);
    EXPECT_EQ(ptxgraft_profile_get_line_count(profile), 6u) << "it never changes";
    CDevice plain;
    ASSERT_OK(ptxgraft_device_open(&plain, "emulator"));
    CProfile none;
    EXPECT_INVALID(ptxgraft_profile_create(&none, plain), "device keeps no profile");
    EXPECT_INVALID(ptxgraft_device_clear_profile(plain), "device keeps no profile");
    ptxgraft_profile_destroy(nullptr);
}

TEST(CApiDevice, MemoryOfOthersIsBorrowed) {
    const Launched launched(nullptr);
    CBuffer part, none;
    ASSERT_OK(ptxgraft_buffer_create_borrowed(&part, launched.device,
                                              ptxgraft_buffer_get_address(launched.buffer) + 128, 8));
    uint32_t values[2] = {};
    ASSERT_OK(ptxgraft_buffer_read(values, part, 0, 8));
    EXPECT_THAT(values, testing::ElementsAre(32, 33));
    part.reset();
    ASSERT_OK(ptxgraft_buffer_read(values, launched.buffer, 4, 8));
    EXPECT_THAT(values, testing::ElementsAre(1, 2));
    EXPECT_EQ(ptxgraft_buffer_create_borrowed(&none, launched.device, 0, 8),
              PTXGRAFT_STATUS_argument_invalid);
    CBuffer copy;
    ASSERT_OK(ptxgraft_buffer_create(&copy, launched.device, 256));
    ASSERT_OK(ptxgraft_buffer_copy(copy, launched.buffer));
    ASSERT_OK(ptxgraft_buffer_read(values, copy, 8, 8));
    EXPECT_THAT(values, testing::ElementsAre(2, 3));
    ASSERT_OK(ptxgraft_buffer_fill_unwritten(copy, 0xAB));
    ASSERT_OK(ptxgraft_buffer_read(values, copy, 0, 8));
    EXPECT_EQ(values[0], 0xABABABABu);
}

ptxgraft_status launch_on_pointer(const Launched& launched, uint32_t* pointer) {
    const ptxgraft_argument arguments[] = {PTXGRAFT_VALUE(pointer)};
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    launch.grid[0] = 1;
    launch.block[0] = 64;
    return ptxgraft_kernel_launch(launched.kernel, &launch, arguments, 1);
}

TEST(CApiDevice, MemoryOfTheProcessIsTheDevices) {
    ptxgraft_device_options options = PTXGRAFT_DEVICE_OPTIONS_INIT;
    options.process_memory = 1;
    const Launched launched(&options);
    std::vector<uint32_t> host(64, 9), want(64);
    std::iota(want.begin(), want.end(), 0u);
    ASSERT_OK(launch_on_pointer(launched, host.data()));
    EXPECT_EQ(host, want);
    EXPECT_EQ(reinterpret_cast<const uint32_t*>(ptxgraft_buffer_get_address(launched.buffer))[5], 5u)
        << "the host reads what was allocated";

    CBuffer lent;
    const auto address = reinterpret_cast<uint64_t>(host.data());
    ASSERT_OK(ptxgraft_buffer_create_borrowed(&lent, launched.device, address, 256));
    EXPECT_EQ(ptxgraft_buffer_get_address(lent), address);
    host[1] = 7;
    uint32_t read = 0;
    ASSERT_OK(ptxgraft_buffer_read(&read, lent, 4, 4));
    EXPECT_EQ(read, 7u);
    ASSERT_OK(ptxgraft_buffer_fill(lent, 0xAB));
    EXPECT_THAT(host, testing::Each(0xABABABABu));
    lent.reset();
    EXPECT_EQ(host[63], 0xABABABABu) << "what is borrowed stays";
}

TEST(CApiDevice, MemoryOfTheProcessIsNoUsualEmulators) {
    const Launched launched(nullptr);
    std::vector<uint32_t> host(64, 9);
    EXPECT_EQ(launch_on_pointer(launched, host.data()), PTXGRAFT_STATUS_address_out_of_bounds);
    EXPECT_THAT(host, testing::Each(9u));
}

TEST(CApiDevice, StreamsHavePriorities) {
    const Launched launched(nullptr);
    int32_t least = 9, greatest = 9;
    ASSERT_OK(ptxgraft_stream_get_priorities(&least, &greatest, launched.device));
    EXPECT_LE(greatest, least);
    ptxgraft_stream_options options = PTXGRAFT_STREAM_OPTIONS_INIT;
    options.priority = greatest;
    options.non_blocking = 1;
    const auto create = [&](const ptxgraft_stream_options* o) {
        CStream made;
        return ptxgraft_stream_create_with_options(&made, launched.device, o);
    };
    expect_options_of_all_versions(options, "ptxgraft_stream_options", 16, create);
    CStream stream, borrowed;
    ASSERT_OK(ptxgraft_stream_create_with_options(&stream, launched.device, &options));
    launched.launch(stream);
    ASSERT_OK(
        ptxgraft_stream_create_borrowed(&borrowed, launched.device, ptxgraft_stream_get_handle(stream)));
    launched.launch(borrowed);
    EXPECT_EQ(ptxgraft_stream_get_handle(nullptr), 0u);
}

TEST(CApiDevice, AnEmulatorHasNoContextNorCache) {
    const Launched launched(nullptr);
    EXPECT_EQ(ptxgraft_device_get_context(launched.device), 0u);
    EXPECT_EQ(ptxgraft_device_get_module_count(launched.device), 0u);
    size_t size = 7;
    EXPECT_OK(ptxgraft_device_set_persisting_l2(launched.device, 0));
    EXPECT_OK(ptxgraft_device_get_persisting_l2(&size, launched.device));
    EXPECT_EQ(size, 0u);
    EXPECT_OK(ptxgraft_device_clear_persisting_l2(launched.device));
    CTiming timing;
    EXPECT_OK(ptxgraft_timing_create(&timing, launched.device));
    CCurrent current;
    EXPECT_OK(ptxgraft_current_create(&current, launched.device));
    launched.launch();
    CTiming none;
    EXPECT_INVALID(ptxgraft_timing_create(&none, nullptr), "device is null");
    CDevice borrowed;
    EXPECT_NE(ptxgraft_device_open_borrowed(&borrowed, 0), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(borrowed, nullptr);
}

TEST(CApiKernel, SaysHowManyBlocksFit) {
    const Launched launched(nullptr);
    uint32_t blocks = 0;
    ASSERT_OK(ptxgraft_kernel_get_occupancy(&blocks, launched.kernel, 1024, 0));
    EXPECT_EQ(blocks, 2u) << "2,048 threads";
    ptxgraft_launch_options launch = PTXGRAFT_LAUNCH_OPTIONS_INIT;
    EXPECT_EQ(ptxgraft_kernel_get_active_clusters(&blocks, launched.kernel, &launch),
              PTXGRAFT_STATUS_launch_shape_invalid)
        << "it has no cluster";
    EXPECT_OK(ptxgraft_kernel_set_shared_percent(launched.kernel, 50));
    EXPECT_EQ(ptxgraft_kernel_set_shared_percent(launched.kernel, 101), PTXGRAFT_STATUS_argument_invalid);
}

}  // namespace
