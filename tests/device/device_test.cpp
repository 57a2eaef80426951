// Devices: finding, memory, modules, launches, on the emulator and on the fake driver.
#include "ptxgraft/device.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

// --- finding devices

TEST(Device, AutoIsTheEmulatorWithoutADriver) {
    const DeviceOptions nothing{.driver = "libthere_is_no_such_driver.so"};
    EXPECT_EQ(Device::cuda_count(nothing), 0u);
    auto device = Device::open("auto", nothing);
    ASSERT_OK(device);
    EXPECT_EQ(device->kind(), DeviceKind::emulator);
    EXPECT_EQ(device->name(), "emulator");
    EXPECT_EQ(device->target(), "sm_90a");
    EXPECT_FALSE(device->driver_version().empty());
}

TEST(Device, NamesOfDevices) {
    struct Row {
        std::string_view name, variant;
        Errc code;
        std::string_view target;
    };
    const Row rows[] = {
        {"emulator", "", Errc::ok, "sm_90a"},
        {"emulator:sm_80", "", Errc::ok, "sm_80"},
        {"emulator:sm_90", "", Errc::ok, "sm_90"},
        {"emulator:sm_100a", "", Errc::ok, "sm_100a"},
        {"emulator:sm_120f", "", Errc::ok, "sm_120f"},
        {"emulator:sm_42", "", Errc::device_unknown, ""},
        {"emulator:fast", "", Errc::ok, "sm_90a"},
        {"emulator:checks=-races", "", Errc::ok, "sm_90a"},
        {"emulator:sm_80:checks=unwritten,async", "", Errc::ok, "sm_80"},
        {"emulator:checks=", "", Errc::device_unknown, ""},
        {"emulator:sm_80:checks=none,some", "", Errc::device_unknown, ""},
        {"emulator:sm_80a", "", Errc::device_unknown, ""},
        {"emulator:sm_90f", "", Errc::device_unknown, ""},
        {"emulator:", "", Errc::device_unknown, ""},
        {"", "", Errc::device_unknown, ""},
        {"gpu", "", Errc::device_unknown, ""},
        {"cuda:", "", Errc::device_unknown, ""},
        {"cuda:-1", "", Errc::device_unknown, ""},
        {"cuda:1x", "", Errc::device_unknown, ""},
        {"cuda:99999999999", "", Errc::device_unknown, ""},
        {"cuda:2", "", Errc::device_unknown, ""},
        {"cuda:1", "", Errc::ok, "sm_90a"},
        {"cuda", "", Errc::ok, "sm_90a"},
        {"auto", "", Errc::ok, "sm_90a"},
        {"cuda", "_broken", Errc::driver_failed, ""},
        {"cuda", "_no_gpu", Errc::device_unknown, ""},
        {"cuda", "_incomplete", Errc::driver_missing, ""},
        {"cuda", "_absent", Errc::driver_missing, ""},
        {"auto", "_broken", Errc::ok, "sm_90a"},
        {"auto", "_no_gpu", Errc::ok, "sm_90a"},
    };
    fake() = {};
    for (const Row& row : rows) {
        const auto device = Device::open(row.name, driver(std::string(row.variant)));
        EXPECT_EQ(device ? Errc::ok : device.error().code, row.code)
            << row.name << row.variant << failure(device);
        if (device) {
            EXPECT_EQ(device->target(), row.target) << row.name;
        } else {
            EXPECT_NE(device.error().detail, nullptr) << row.name;
        }
    }
}

TEST(Device, TargetsOfArchitectures) {
    struct Row {
        int major, minor;
        std::string_view target;
    };
    for (const Row& row : {Row{7, 5, "sm_75"},
                           {8, 0, "sm_80"},
                           {8, 9, "sm_89"},
                           {9, 0, "sm_90a"},
                           {10, 0, "sm_100a"},
                           {10, 3, "sm_103a"},
                           {12, 0, "sm_120a"},
                           {12, 1, "sm_121a"}}) {
        fake() = {};
        fake().major = row.major;
        fake().minor = row.minor;
        const auto device = Device::open("cuda", driver());
        ASSERT_OK(device);
        EXPECT_EQ(device->target(), row.target);
    }
}

// --- a GPU, through the driver of host memory

TEST_F(FakeGpu, SaysWhatItIs) {
    EXPECT_EQ(device().kind(), DeviceKind::cuda);
    EXPECT_EQ(device().name(), "Fake GPU 1");
    EXPECT_EQ(device().driver_version(), "13.0");
    EXPECT_EQ(Device::cuda_count(driver()), 2u);
}

TEST_F(FakeGpu, BuffersCopyWithinTheirBounds) {
    const std::vector<float> data = counting(100);
    auto buffer = device().upload(data);
    ASSERT_OK(buffer);
    EXPECT_EQ(buffer->bytes(), 400u);
    EXPECT_EQ(*buffer->download<float>(), data);

    std::array<float, 2> two{};
    EXPECT_OK(buffer->read(std::as_writable_bytes(std::span(two)), 392));
    EXPECT_THAT(two, ElementsAre(99.0f, 100.0f));
    const auto beyond = buffer->read(std::as_writable_bytes(std::span(two)), 396);
    ASSERT_FALSE(beyond);
    EXPECT_EQ(describe(beyond.error()),
              "error: outside of the buffer: 8 bytes from byte 396 of a buffer of 400\n");
    EXPECT_EQ(buffer->write(std::as_bytes(std::span(two)), SIZE_MAX).error().code, Errc::buffer_exceeded);
    EXPECT_EQ(buffer->write(std::as_bytes(std::span(two)), SIZE_MAX - 3).error().code, Errc::buffer_exceeded);

    EXPECT_OK(buffer->fill(std::byte{0}));
    EXPECT_EQ(*buffer->download<float>(), std::vector<float>(100));
    EXPECT_EQ((buffer->download<std::array<char, 3>>()).error().code, Errc::buffer_exceeded);
}

TEST_F(FakeGpu, BuffersOfZeroBytes) {
    auto empty = device().allocate(0);
    ASSERT_OK(empty);
    EXPECT_EQ(empty->address(), 0u);
    EXPECT_OK(empty->write({}));
    EXPECT_OK(empty->read({}));
    EXPECT_OK(empty->fill(std::byte{1}));
    EXPECT_TRUE(empty->download<float>()->empty());
    EXPECT_FALSE(empty->write(std::as_bytes(std::span("x"))));
    EXPECT_EQ(fake().calls["cuMemAlloc_v2"], 0);
}

TEST_F(FakeGpu, CopiesBetweenBuffersOfOneDevice) {
    auto a = device().upload(counting(10));
    auto b = device().allocate(40);
    auto c = device().allocate(44);
    auto elsewhere = Device::open("cuda:0", driver())->allocate(40);
    EXPECT_OK(b->copy_from(*a));
    EXPECT_EQ(*b->download<float>(), counting(10));
    EXPECT_EQ(c->copy_from(*a).error().code, Errc::buffer_exceeded);
    EXPECT_EQ(elsewhere->copy_from(*a).error().code, Errc::device_differs);
}

TEST_F(FakeGpu, HandlesMoveAndFreeOnce) {
    auto a = std::move(*device().allocate(16));
    auto b = std::move(*device().allocate(32));
    EXPECT_EQ(fake().allocations.size(), 2u);
    a = std::move(b);
    EXPECT_EQ(fake().allocations.size(), 1u);
    EXPECT_EQ(a.bytes(), 32u);
    const Buffer c = std::move(a);
    EXPECT_EQ(fake().allocations.size(), 1u);
    auto s = std::move(*device().create_stream());
    s = std::move(*device().create_stream());
    EXPECT_EQ(fake().streams, 1);
}

TEST_F(FakeGpu, HandlesKeepTheDeviceAlive) {
    auto buffer = device().upload(counting(4));
    auto function = load_fill();
    ASSERT_OK(function);
    drop_device();
    EXPECT_EQ(fake().retained[1], 1);
    EXPECT_EQ(*buffer->download<float>(), counting(4));
}

TEST_F(FakeGpu, ErrorsCarryTheDriversWords) {
    break_call("cuMemAlloc_v2", 2);
    const auto memory = device().allocate(1000);
    ASSERT_FALSE(memory);
    EXPECT_EQ(describe(memory.error()),
              "error: out of device memory: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY (out of memory), asked for "
              "1000 bytes\n");
    break_call("cuCtxSynchronize", 700);
    const auto failed = device().synchronize();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::launch_failed);
    EXPECT_THAT(describe(failed.error()), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"));
    break_call("cuCtxSynchronize", 12345);
    EXPECT_THAT(describe(device().synchronize().error()), HasSubstr("unknown error 12345"));
    break_call("cuCtxPushCurrent_v2", 1);
    EXPECT_THAT(describe(device().synchronize().error()), HasSubstr("CUDA_ERROR_INVALID_VALUE"));
}

TEST_F(FakeGpu, EveryFailingCallIsAnError) {
    auto buffer = device().upload(counting(4));
    auto stream = device().create_stream();
    auto event = device().create_event();
    EXPECT_OK(event->record());
    const std::pair<const char*, std::function<bool()>> rows[] = {
        {"cuMemcpyHtoD_v2", [&] { return bool(buffer->write(std::as_bytes(std::span("abc")))); }},
        {"cuMemcpyDtoH_v2", [&] { return bool(buffer->download<float>()); }},
        {"cuMemcpyDtoD_v2", [&] { return bool(buffer->copy_from(*buffer)); }},
        {"cuMemsetD8_v2", [&] { return bool(buffer->fill({})); }},
        {"cuStreamSynchronize", [&] { return bool(stream->synchronize()); }},
        {"cuEventRecord", [&] { return bool(event->record(&*stream)); }},
        {"cuEventSynchronize", [&] { return bool(event->elapsed_since(*event)); }},
        {"cuEventElapsedTime", [&] { return bool(event->elapsed_since(*event)); }},
        {"cuDevicePrimaryCtxRetain", [&] { return bool(Device::open("cuda:0", driver())); }},
        {"cuDeviceGetName", [&] { return bool(Device::open("cuda:0", driver())); }},
        {"cuDeviceGetAttribute", [&] { return bool(Device::open("cuda:0", driver())); }},
        {"cuDeviceGetCount", [&] { return bool(Device::open("cuda:0", driver())); }},
        {"cuModuleLoadDataEx", [&] { return bool(load_fill()); }},
        {"cuModuleGetFunction", [&] { return bool(load_fill()); }},
        {"cuFuncGetAttribute", [&] { return bool(load_fill()); }},
    };
    for (const auto& [call, works] : rows) {
        EXPECT_TRUE(works()) << call;
        break_call(call, 1);
        EXPECT_FALSE(works()) << call;
        fake().failing_call.clear();
    }
    fake().retained[0] = 0;  // the retain that failed
}

TEST_F(FakeGpu, StreamsAndEvents) {
    auto stream = device().create_stream();
    auto start = device().create_event();
    auto end = device().create_event();
    EXPECT_EQ(end->elapsed_since(*start).error().code, Errc::event_not_recorded);
    EXPECT_OK(start->record(&*stream));
    fake().milliseconds += 1.5;
    EXPECT_OK(end->record(&*stream));
    EXPECT_EQ(*end->elapsed_since(*start), 1.5f);
    EXPECT_OK(stream->synchronize());
    EXPECT_OK(device().synchronize());
    EXPECT_NE(stream->handle(), 0u);

    const Device other = std::move(*Device::open("cuda:0", driver()));
    auto foreign = other.create_stream();
    auto foreign_event = other.create_event();
    EXPECT_EQ(start->record(&*foreign).error().code, Errc::device_differs);
    EXPECT_OK(foreign_event->record());
    EXPECT_EQ(end->elapsed_since(*foreign_event).error().code, Errc::device_differs);
}

TEST_F(FakeGpu, LaunchesWithTheArgumentsAsBytes) {
    auto function = load_fill();
    ASSERT_OK(function);
    EXPECT_EQ(fake().image,
              "\x7F"
              "ELF");
    ASSERT_EQ(function->parameters().size(), 3u);
    EXPECT_EQ(function->parameters()[0].name, "a");
    EXPECT_EQ(function->parameters()[0].type, "u64");
    EXPECT_EQ(function->parameters()[2].bytes, 12u);
    EXPECT_EQ(function->entry(), "fill");

    auto buffer = device().upload(counting(8));
    auto stream = device().create_stream();
    const std::array<char, 12> text{'h', 'e', 'l', 'l', 'o'};
    const std::uint32_t count = 16;  // an Argument refers to its value
    const std::array<Argument, 3> arguments{*buffer, count, text};
    ASSERT_OK(function->launch({{2, 3, 4}, {32, 2, 1}, 64}, arguments, &*stream));
    ASSERT_EQ(fake().launches.size(), 1u);
    const FakeLaunch& launch = fake().launches[0];
    EXPECT_THAT(launch.grid, ElementsAre(2, 3, 4));
    EXPECT_THAT(launch.block, ElementsAre(32, 2, 1));
    EXPECT_EQ(launch.shared_bytes, 64u);
    EXPECT_EQ(launch.stream, stream->handle());
    EXPECT_EQ(std::memcmp(launch.arguments[2].data(), "hello", 5), 0);
    EXPECT_EQ(buffer->download<char>()->at(15), 'h');
    EXPECT_NE(buffer->download<char>()->at(16), 'h');
}

TEST_F(FakeGpu, ArgumentsAreCheckedBeforeTheLaunch) {
    auto function = load_fill();
    auto buffer = device().allocate(16);
    const std::array<char, 12> text{};
    const auto too_few = function->launch({}, std::array<Argument, 2>{*buffer, 16u});
    ASSERT_FALSE(too_few);
    EXPECT_EQ(describe(too_few.error()),
              "error: wrong number of arguments: fill(u64 a, u32 n, b8 s) takes 3, got 2\n");
    const auto wrong_size = function->launch({}, std::array<Argument, 3>{*buffer, std::size_t{16}, text});
    ASSERT_FALSE(wrong_size);
    EXPECT_EQ(wrong_size.error().index, 1u);
    EXPECT_EQ(describe(wrong_size.error()),
              "error: an argument does not fit its parameter: argument 1 of fill has 8 bytes, its parameter "
              "u32 n has 4\n");
    auto foreign = Device::open("emulator")->allocate(16);
    const auto elsewhere = function->launch({}, std::array<Argument, 3>{*foreign, 16u, text});
    EXPECT_EQ(elsewhere.error().code, Errc::device_differs);
    EXPECT_TRUE(fake().launches.empty());
}

TEST_F(FakeGpu, ShapesAreCheckedBeforeTheLaunch) {
    fake().static_shared_bytes = 1024;
    fake().max_threads_per_block = 512;
    auto function = load_fill("other");
    ASSERT_OK(function);
    struct Row {
        LaunchConfig config;
        bool possible;
    };
    const Row rows[] = {
        {{{1, 1, 1}, {512, 1, 1}}, true},
        {{{1, 1, 1}, {513, 1, 1}}, false},
        {{{1, 1, 1}, {1025, 1, 1}}, false},
        {{{1, 1, 1}, {1, 1, 65}}, false},
        {{{1, 1, 1}, {65536, 65536, 1}}, false},
        {{{0, 1, 1}, {1, 1, 1}}, false},
        {{{1, 1, 1}, {1, 0, 1}}, false},
        {{{1, 65536, 1}, {1, 1, 1}}, false},
        {{{1, 1, 65536}, {1, 1, 1}}, false},
        {{{2147483648u, 1, 1}, {1, 1, 1}}, false},
        {{{1, 1, 1}, {1, 1, 1}, 226 * 1024}, true},
        {{{1, 1, 1}, {1, 1, 1}, 226 * 1024 + 1}, false},
    };
    fake().argument_sizes.clear();
    for (const Row& row : rows) {
        const auto done = function->launch(row.config, {});
        EXPECT_EQ(bool(done), row.possible) << failure(done);
        if (!done) { EXPECT_EQ(done.error().code, Errc::launch_shape_invalid); }
    }
}

TEST_F(FakeGpu, SharedMemoryAbove48KBIsAskedForOnce) {
    fake().static_shared_bytes = 8 * 1024;
    auto function = load_fill("other");
    fake().argument_sizes.clear();
    EXPECT_OK(function->launch({{}, {}, 40 * 1024}, {}));
    EXPECT_EQ(fake().calls["cuFuncSetAttribute"], 0);
    EXPECT_OK(function->launch({{}, {}, 40 * 1024 + 1}, {}));
    EXPECT_OK(function->launch({{}, {}, 200 * 1024}, {}));
    EXPECT_EQ(fake().calls["cuFuncSetAttribute"], 1);
    EXPECT_EQ(fake().dynamic_shared_bytes, 219 * 1024);
}

TEST_F(FakeGpu, LaunchesThatFailAreErrors) {
    auto function = load_fill("other");
    fake().argument_sizes.clear();
    break_call("cuLaunchKernel", 1);
    const auto done = function->launch({}, {});
    ASSERT_FALSE(done);
    EXPECT_EQ(describe(done.error()), "error: the kernel failed: cuLaunchKernel: CUDA_ERROR_INVALID_VALUE\n");
}

TEST_F(FakeGpu, ModulesThatDoNotLoadBringTheDriversLog) {
    break_call("cuModuleLoadDataEx", 1);
    fake().module_log = "device kernel image is invalid";
    const auto function = load_fill();
    ASSERT_FALSE(function);
    EXPECT_EQ(function.error().code, Errc::module_not_loaded);
    EXPECT_THAT(describe(function.error()), HasSubstr("device kernel image is invalid"));
}

TEST_F(FakeGpu, PtxIsAssembledForTheGpu) {
    auto function = device().load(twice, "twice");
    ASSERT_OK(function);
    EXPECT_EQ(fake().image,
              "\x7F"
              "ELF");
}

TEST_F(FakeGpu, PtxForAnotherArchitectureIsRefused) {
    struct Row {
        std::string_view target;
        bool runs;
    };
    for (const Row& row : {Row{"sm_75", true},
                           {"sm_90", true},
                           {"sm_90a", true},
                           {"sm_100", false},
                           {"sm_100a", false},
                           {"sm_100f", false},
                           {"sm_120", false}}) {
        std::string ptx(twice);
        ptx.replace(ptx.find("sm_80"), 5, row.target);
        ptx.replace(ptx.find("8.0"), 3, "9.0");
        const auto function = device().load(ptx, "twice");
        EXPECT_EQ(bool(function), row.runs) << row.target << failure(function);
        if (!function) { EXPECT_EQ(function.error().code, Errc::target_differs) << failure(function); }
    }
}

TEST_F(FakeGpu, EntriesAreChosenByName) {
    const auto unknown = device().load(fill, "fil");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(describe(unknown.error()), "error: no such entry: fil; the module has fill, other\n");
    EXPECT_EQ(device().load(fill, "").error().code, Errc::entry_not_named);
    EXPECT_EQ(device().load(fill, "helper").error().code, Errc::entry_unknown);
    EXPECT_OK(device().load(twice, ""));
    EXPECT_EQ(device().load(".version 8.0\n.target sm_80\n.address_size 64\n", "").error().code,
              Errc::entry_unknown);
    EXPECT_FALSE(device().load("this is no PTX", "fill"));
    EXPECT_FALSE(device().load("", "fill"));
}

TEST_F(FakeGpu, ThreadsShareADevice) {
    auto buffer = device().upload(counting(4));
    std::thread([&] { EXPECT_EQ(*buffer->download<float>(), counting(4)); }).join();
}

// --- the emulator

TEST(EmulatorDevice, RunsAKernel) {
    const Device device = std::move(*Device::open("emulator"));
    const std::vector<float> x = counting(1000);
    auto in = device.upload(x);
    auto out = device.allocate(4000);
    auto function = device.load(twice, "twice");
    ASSERT_OK(function);
    ASSERT_OK(function->launch({{8, 1, 1}, {128, 1, 1}}, std::array<Argument, 3>{*in, *out, 1000u}));
    const std::vector<float> y = std::move(*out->download<float>());
    for (std::size_t i = 0; i < x.size(); ++i) ASSERT_EQ(y[i], 2 * x[i]) << i;
}

TEST(EmulatorDevice, BuffersCopyFillAndHaveBounds) {
    const Device device = std::move(*Device::open("emulator"));
    auto a = device.upload(counting(10));
    auto b = device.allocate(40);
    EXPECT_OK(b->copy_from(*a));
    EXPECT_EQ(*b->download<float>(), counting(10));
    EXPECT_OK(b->fill(std::byte{0}));
    EXPECT_EQ(*b->download<float>(), std::vector<float>(10));
    EXPECT_EQ(a->write(std::as_bytes(std::span("abcd")), 39).error().code, Errc::buffer_exceeded);
    EXPECT_OK(device.allocate(0)->fill(std::byte{1}));
}

TEST(EmulatorDevice, ErrorsOfAKernelBringTheirPtx) {
    const Device device = std::move(*Device::open("emulator"));
    auto in = device.upload(counting(4));
    auto out = device.allocate(16);
    auto function = device.load(twice, "twice");
    ASSERT_OK(function);
    const auto done = function->launch({{1, 1, 1}, {32, 1, 1}}, std::array<Argument, 3>{*in, *out, 32u});
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::address_out_of_bounds);
    EXPECT_THAT(describe(done.error()),
                AllOf(HasSubstr("twice.ptx:14:"), HasSubstr("ld.global.f32 %f1, [%rd4];")));
}

// PTX ISA 11.8.1: the grid counts clusters.

TEST(EmulatorDevice, ParametersThatAreReferencesHaveEightBytes) {
    const Device device = std::move(*Device::open("emulator"));
    const auto function = device.load(
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".entry k(.param .u64 out, .param .texref t, .param .u32 n) {\n.reg .b64 %a;\n.reg .b32 %n;\n"
        "ld.param.u64 %a, [out];\nld.param.u32 %n, [n];\nst.global.u32 [%a], %n;\nret;\n}\n",
        "k");
    ASSERT_OK(function);
    EXPECT_EQ(function->parameters()[1].bytes, 8u);
    auto out = device.allocate(4);
    EXPECT_OK(function->launch({}, std::array<Argument, 3>{*out, std::uint64_t{0}, 7u}));
    EXPECT_EQ(*out->download<std::uint32_t>(), std::vector<std::uint32_t>{7});
}

TEST(EmulatorDevice, HasTheLimitsOfItsArchitecture) {
    struct Row {
        std::string_view name;
        std::uint32_t kilobytes;
    };
    std::string ptx(fill);
    ptx.replace(ptx.find("sm_80"), 5, "sm_75");
    for (const Row& row : {Row{"emulator:sm_75", 64},
                           {"emulator:sm_80", 163},
                           {"emulator:sm_89", 99},
                           {"emulator", 227},
                           {"emulator:sm_120a", 99}}) {
        const Device device = std::move(*Device::open(row.name));
        auto function = device.load(ptx, "other");
        ASSERT_OK(function);
        EXPECT_OK(function->launch({{}, {}, row.kilobytes * 1024}, {})) << row.name;
        EXPECT_EQ(function->launch({{}, {}, row.kilobytes * 1024 + 1}, {}).error().code,
                  Errc::launch_shape_invalid);
    }
}

TEST(EmulatorDevice, EventsAreTimesOfTheHost) {
    const Device device = std::move(*Device::open("emulator"));
    auto stream = device.create_stream();
    auto start = device.create_event();
    auto end = device.create_event();
    EXPECT_EQ(end->elapsed_since(*start).error().code, Errc::event_not_recorded);
    EXPECT_OK(start->record(&*stream));
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    EXPECT_OK(end->record());
    EXPECT_GE(*end->elapsed_since(*start), 2.0f);
    EXPECT_OK(stream->synchronize());
    EXPECT_OK(device.synchronize());
}

// Two entries that share the variable `count`; `limit` is read only.
constexpr std::string_view counters = R"(.version 8.0
.target sm_80
.address_size 64
.visible .global .align 4 .u32 count = 5;
.visible .const .align 4 .u32 limit[2] = {7, 9};
.visible .entry add_limit()
{
	.reg .b32 %r<4>;
	ld.global.u32 %r1, [count]; ld.const.u32 %r2, [limit+4]; add.u32 %r3, %r1, %r2; st.global.u32 [count], %r3;
	ret;
}
.visible .entry twice() { .reg .b32 %r<3>; ld.global.u32 %r1, [count]; add.u32 %r2, %r1, %r1; st.global.u32 [count], %r2; ret; }
)";

TEST(EmulatorDevice, EntriesOfAModuleShareItsVariables) {
    const Device device = std::move(*Device::open("emulator"));
    auto first = device.load(counters, "add_limit");
    ASSERT_OK(first);
    auto second = first->other("twice");
    ASSERT_OK(second);
    EXPECT_EQ(second->entry(), "twice");
    auto count = second->variable("count");
    ASSERT_OK(count);
    EXPECT_EQ(count->bytes(), 4u);
    EXPECT_EQ(count->download<std::uint32_t>()->at(0), 5u);
    EXPECT_OK(first->launch({}, {}));
    EXPECT_OK(second->launch({}, {}));
    EXPECT_EQ(count->download<std::uint32_t>()->at(0), 28u);
    auto limit = first->variable("limit");
    ASSERT_OK(limit);
    EXPECT_EQ(limit->bytes(), 8u);
    const std::array<std::uint32_t, 1> three{3};
    EXPECT_OK(limit->write(std::as_bytes(std::span(three)), 4));
    EXPECT_EQ(limit->write(std::as_bytes(std::span(three)), 5).error().code, Errc::buffer_exceeded);
    EXPECT_OK(first->launch({}, {}));
    EXPECT_EQ(count->download<std::uint32_t>()->at(0), 31u);
    // Loaded once more, the module has variables of its own.
    auto again = device.load(counters, "twice");
    EXPECT_EQ(again->variable("count")->download<std::uint32_t>()->at(0), 5u);
    // A variable keeps its module.
    first = again;
    second = again;
    EXPECT_EQ(count->download<std::uint32_t>()->at(0), 31u);
    Buffer moved = std::move(*count);
    count = std::move(*again->variable("count"));
    EXPECT_EQ(moved.download<std::uint32_t>()->at(0), 31u);
    EXPECT_EQ(count->download<std::uint32_t>()->at(0), 5u);
}

TEST(EmulatorDevice, VariablesAndEntriesThatAreNotThereAreErrors) {
    const Device device = std::move(*Device::open("emulator"));
    auto function = device.load(counters, "twice");
    ASSERT_OK(function);
    const auto no_variable = function->variable("cuont");
    EXPECT_EQ(no_variable.error().code, Errc::symbol_unknown);
    EXPECT_THAT(describe(no_variable.error()),
                HasSubstr("no variable named cuont; the module has count, limit"));
    const auto no_entry = function->other("thrice");
    EXPECT_EQ(no_entry.error().code, Errc::entry_unknown);
    EXPECT_THAT(describe(no_entry.error()), HasSubstr("add_limit, twice"));
    EXPECT_EQ(function->other("").error().code, Errc::entry_not_named);
    EXPECT_THAT(describe(device.load(twice, "twice")->variable("x").error()),
                HasSubstr("x; the module has none"));
}

TEST_F(FakeGpu, EntriesOfAModuleShareItsVariables) {
    {
        auto first = load_fill();
        ASSERT_OK(first);
        auto second = first->other("other");
        ASSERT_OK(second);
        EXPECT_EQ(fake().modules, 1);
        const std::array<std::uint32_t, 1> value{42};
        auto table = first->variable("table");
        ASSERT_OK(table);
        EXPECT_EQ(table->bytes(), 64u);
        EXPECT_OK(table->write(std::as_bytes(std::span(value)), 60));
        EXPECT_EQ(second->variable("table")->download<std::uint32_t>()->at(15), 42u);
        EXPECT_EQ(second->variable("tables").error().code, Errc::symbol_unknown);
        fake().failing_call = "cuModuleGetGlobal_v2";
        fake().failing_result = 1;
        EXPECT_EQ(second->variable("table").error().code, Errc::driver_failed);
        fake().failing_call.clear();
        // The variable keeps the module when its functions are gone.
        first = load_fill();
        second = *first;
        EXPECT_EQ(fake().modules, 2);
        EXPECT_EQ(table->download<std::uint32_t>()->at(15), 42u);
    }
    EXPECT_EQ(fake().modules, 0);
    EXPECT_EQ(fake().calls["cuMemFree_v2"], 0);
}

// No GPU ends a kernel: what cannot be held is refused, and a wish that came before is granted.
TEST_F(FakeGpu, LimitsOfLaunchesAreRefused) {
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    const auto with = [&](LaunchLimits limits) {
        return function->launch({.limits = std::move(limits)}, {});
    };
    for (const auto& done : {with({.time_limit_ms = 1000}), with({.instruction_budget = 1})}) {
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::limit_not_possible);
        EXPECT_THAT(describe(done.error()), HasSubstr("a GPU cannot end a kernel"));
    }
    EXPECT_TRUE(fake().launches.empty());
    std::stop_source source;
    int asked = 0;
    EXPECT_OK(with({.stop = source.get_token(), .should_stop = [&] { return ++asked < 0; }}));
    EXPECT_EQ(asked, 1);
    EXPECT_EQ(with({.should_stop = [] { return true; }}).error().code, Errc::launch_stopped);
    source.request_stop();
    EXPECT_EQ(with({.stop = source.get_token()}).error().code, Errc::launch_stopped);
}

// A name that says an architecture counts more than the options, and these more than the default.
TEST(EmulatorDevice, ArchitecturesOfNamesAndOfOptions) {
    const auto target = [](std::string_view name, std::uint32_t sm) {
        const auto device = Device::open(name, {.driver = "no such library", .emulator = {.sm = sm}});
        return device ? device->target() : std::string(ptxgraft::name(device.error().code));
    };
    EXPECT_EQ(target("emulator", 90), "sm_90a");
    EXPECT_EQ(target("emulator", 80), "sm_80");
    EXPECT_EQ(target("auto", 80), "sm_80");
    EXPECT_EQ(target("emulator:fast", 75), "sm_75");
    EXPECT_EQ(target("emulator:sm_86", 80), "sm_86");
    EXPECT_EQ(target("emulator:sm_86:fast", 80), "sm_86");
    EXPECT_EQ(target("emulator", 77), "device_unknown");
    EXPECT_EQ(target("emulator:sm_86", 77), "sm_86");
    EXPECT_EQ(Device::emulator({.sm = 80})->target(), "sm_80");
    // And what it says reaches the emulator's limits: shared memory of sm_75 and of sm_90.
    std::string ptx(fill);
    ptx.replace(ptx.find("sm_80"), 5, "sm_75");
    for (const auto& [sm, kilobytes] : {std::pair{75u, 64u}, std::pair{90u, 227u}}) {
        const auto device = Device::open("emulator", {.emulator = {.sm = sm}}).value();
        const auto function = device.load(ptx, "other");
        ASSERT_OK(function);
        EXPECT_OK(function->launch({{}, {}, kilobytes * 1024}, {}));
        EXPECT_FALSE(function->launch({{}, {}, kilobytes * 1024 + 1}, {}));
    }
}

TEST(EmulatorDevice, OptionsReachTheEmulator) {
    const auto device = Device::emulator({.instruction_budget = 3, .sm = 80});
    ASSERT_OK(device);
    EXPECT_EQ(device->target(), "sm_80");
    auto buffer = device->allocate(16);
    auto function = device->load(twice, "twice");
    ASSERT_OK(function);
    EXPECT_EQ(function->launch({}, std::array<Argument, 3>{*buffer, *buffer, 4u}).error().code,
              Errc::instruction_budget_spent);
    EXPECT_EQ(Device::emulator({.sm = 1}).error().code, Errc::device_unknown);
    EXPECT_THAT(describe(Device::emulator({.sm = 122}).error()),
                HasSubstr("EmulatorOptions::sm is 122; architectures are sm_75, "));
    EXPECT_THAT(describe(Device::open("emulator:sm_90f").error()),
                HasSubstr("emulator:sm_90f; architectures are sm_75, "));
}

}  // namespace
}  // namespace ptxgraft
