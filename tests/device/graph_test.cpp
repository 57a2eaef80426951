// Graphs: launches that are queued together, and the swap of one of them.
#include "ptxgraft/graph.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstring>

#include "device/fake_gpu.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::string> launched() {
    std::vector<std::string> names;
    for (const FakeLaunch& launch : fake().launches) names.push_back(launch.function);
    return names;
}

constexpr std::string_view entries =
    ".version 8.0\n.target sm_90\n.address_size 64\n"
    ".entry first(.param .u32 n) { ret; }\n.entry second(.param .u32 n) { ret; }\n"
    ".entry third(.param .u32 n) { ret; }\n";

std::uint32_t argument_of(const FakeLaunch& launch) {
    std::uint32_t value = 0;
    std::memcpy(&value, launch.arguments[0].data(), sizeof value);
    return value;
}

TEST_F(FakeGpu, GraphsReplayTheirLaunches) {
    const Function first = device().load(entries, "first", &elf).value(),
                   second = first.other("second").value();
    fake().argument_sizes = {4};
    const Stream stream = device().create_stream().value();
    Graph graph = device().create_graph().value();
    {
        const Argument one[] = {1u}, two[] = {2u};
        EXPECT_EQ(*graph.add(first, {.grid = {3}, .block = {32}}, one), 0u);
        EXPECT_EQ(*graph.add(second, {.grid = {4}, .block = {64}, .shared_bytes = 100 << 10}, two), 1u);
    }
    EXPECT_EQ(graph.size(), 2u);
    EXPECT_TRUE(fake().launches.empty());
    EXPECT_OK(graph.launch(&stream));
    EXPECT_OK(graph.launch());
    EXPECT_EQ(fake().calls["cuGraphInstantiateWithFlags"], 1);
    EXPECT_EQ(fake().calls["cuGraphUpload"], 1);
    EXPECT_EQ(fake().calls["cuGraphLaunch"], 2);
    EXPECT_EQ(fake().calls["cuLaunchKernel"], 0);
    EXPECT_THAT(launched(), ElementsAre("first", "second", "first", "second"));
    EXPECT_EQ(fake().launches[0].stream, stream.handle());
    EXPECT_EQ(fake().launches[2].stream, 0u);
    EXPECT_THAT(fake().launches[1].grid, ElementsAre(4, 1, 1));
    EXPECT_THAT(fake().launches[1].block, ElementsAre(64, 1, 1));
    EXPECT_EQ(argument_of(fake().launches[1]), 2u);
    EXPECT_TRUE(fake().launches[1].of_graph);
}

TEST_F(FakeGpu, AVariantTakesThePlaceOfAnother) {
    const Function first = device().load(entries, "first", &elf).value(),
                   second = first.other("second").value();
    fake().argument_sizes = {4};
    Graph graph = device().create_graph().value();
    const Argument one[] = {1u}, two[] = {2u}, three[] = {3u};
    ASSERT_OK(graph.add(first, {}, one));
    ASSERT_OK(graph.add(first, {}, one));
    EXPECT_OK(graph.change(0, second, {.grid = {2}}, two));  // before it is instantiated
    EXPECT_OK(graph.launch());
    EXPECT_EQ(fake().calls["cuGraphKernelNodeSetParams_v2"], 1);
    {
        const Function variant = device().load(entries, "third", &elf).value();
        EXPECT_OK(graph.change(1, variant, {.grid = {5}}, three));
    }
    EXPECT_EQ(fake().modules, 2);  // the graph keeps it
    EXPECT_OK(graph.launch());
    EXPECT_EQ(fake().calls["cuGraphInstantiateWithFlags"], 1);
    EXPECT_EQ(fake().calls["cuGraphExecKernelNodeSetParams_v2"], 1);
    EXPECT_THAT(launched(), ElementsAre("second", "first", "second", "third"));
    EXPECT_EQ(argument_of(fake().launches[3]), 3u);
    EXPECT_THAT(fake().launches[3].grid, ElementsAre(5, 1, 1));
    EXPECT_OK(graph.change(1, first, {}, one));
    EXPECT_EQ(fake().modules, 1);
}

TEST_F(FakeGpu, AttributesOfAGraphsLaunchesStay) {
    const Function first = device().load(entries, "first", &elf).value();
    fake().argument_sizes = {4};
    Graph graph = device().create_graph().value();
    const Argument one[] = {1u};
    const LaunchConfig clustered{.grid = {4}, .cluster = {2}, .cooperative = true, .priority = -2};
    ASSERT_OK(graph.add(first, clustered, one));
    EXPECT_OK(graph.launch());
    EXPECT_EQ(fake().instantiate_flags, 8u);
    EXPECT_THAT(fake().launches[0].cluster, ElementsAre(2, 1, 1));
    EXPECT_TRUE(fake().launches[0].cooperative);
    EXPECT_EQ(fake().launches[0].priority, -2);
    EXPECT_OK(graph.change(0, first, clustered, one));
    for (const auto& [other, why] :
         {std::pair{LaunchConfig{.grid = {4}, .cooperative = true, .priority = -2},
                    "cluster stays 2 x 1 x 1"},
          {LaunchConfig{.grid = {4}, .cluster = {2}, .priority = -2}, "it stays cooperative"},
          {LaunchConfig{.grid = {4}, .cluster = {2}, .cooperative = true}, "its priority stays"}}) {
        const auto done = graph.change(0, first, other, one);
        ASSERT_FALSE(done) << why;
        EXPECT_EQ(done.error().code, Errc::graph_change_not_possible);
        EXPECT_THAT(message(done.error()), HasSubstr(why));
    }
}

TEST_F(FakeGpu, GraphsCheckTheirLaunches) {
    const Function first = device().load(entries, "first", &elf).value();
    const Device other = Device::open("cuda:0", driver()).value();
    const Function elsewhere = other.load(entries, "first", &elf).value();
    const Stream foreign = other.create_stream().value();
    fake().argument_sizes = {4};
    Graph graph = device().create_graph().value();
    const Argument one[] = {1u};
    EXPECT_OK(graph.launch());  // of nothing
    graph = device().create_graph().value();
    EXPECT_EQ(graph.add(first, {}, {}).error().code, Errc::argument_count_wrong);
    EXPECT_EQ(graph.add(first, {.block = {2000}}, one).error().code, Errc::launch_shape_invalid);
    EXPECT_EQ(graph.add(elsewhere, {}, one).error().code, Errc::device_differs);
    EXPECT_EQ(graph.add(first, {.programmatic = true}, one).error().code, Errc::argument_invalid);
    EXPECT_EQ(graph.size(), 0u);
    EXPECT_OK(graph.add(first, {}, one));
    EXPECT_EQ(graph.change(1, first, {}, one).error().code, Errc::argument_invalid);
    EXPECT_EQ(graph.launch(&foreign).error().code, Errc::device_differs);
    EXPECT_OK(graph.instantiate());
    EXPECT_OK(graph.instantiate());
    EXPECT_EQ(fake().executable_graphs, 1);
    EXPECT_EQ(graph.add(first, {}, one).error().code, Errc::graph_change_not_possible);
    EXPECT_EQ(Device::open("cuda", driver("_old"))->create_graph().error().code, Errc::driver_too_old);
    for (const char* call : {"cuGraphLaunch", "cuGraphExecKernelNodeSetParams_v2"}) {
        break_call(call, 1);
        EXPECT_FALSE(graph.launch() && graph.change(0, first, {}, one)) << call;
    }
    for (const char* call : {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
                             "cuGraphUpload", "cuGraphKernelNodeSetAttribute"}) {
        break_call(call, 1);
        auto next = device().create_graph();
        EXPECT_FALSE(next && next->add(first, {.cooperative = true}, one) && next->launch()) << call;
    }
}

// What is launched on a stream that is captured does not run, and is a graph afterwards.
TEST_F(FakeGpu, AStreamIsCaptured) {
    const Function first = device().load(entries, "first", &elf).value(),
                   second = first.other("second").value();
    fake().argument_sizes = {4};
    Stream stream = device().create_stream().value();
    const Argument one[] = {1u}, two[] = {2u}, three[] = {3u};
    EXPECT_FALSE(stream.is_captured());
    ASSERT_OK(stream.begin_capture());
    EXPECT_TRUE(stream.is_captured());
    EXPECT_OK(first.launch({.grid = {3}}, one, &stream));
    EXPECT_OK(second.launch({.grid = {4}, .cluster = {2}, .priority = -2}, two, &stream));
    EXPECT_TRUE(fake().launches.empty());
    EXPECT_OK(second.launch({}, three));  // on another stream it runs
    EXPECT_THAT(launched(), ElementsAre("second"));
    fake().launches.clear();
    Graph graph = stream.end_capture().value();
    EXPECT_FALSE(stream.is_captured());
    EXPECT_EQ(graph.size(), 2u);
    EXPECT_EQ(fake().calls["cuGraphAddKernelNode_v2"], 0);
    EXPECT_OK(graph.launch(&stream));
    EXPECT_OK(graph.launch());
    EXPECT_THAT(launched(), ElementsAre("first", "second", "first", "second"));
    EXPECT_EQ(fake().launches[0].stream, stream.handle());
    EXPECT_EQ(fake().launches[3].stream, 0u);
    EXPECT_EQ(argument_of(fake().launches[1]), 2u);
    EXPECT_THAT(fake().launches[1].cluster, ElementsAre(2, 1, 1));
    EXPECT_EQ(fake().calls["cuGraphInstantiateWithFlags"], 1);
    EXPECT_EQ(fake().instantiate_flags, 8u);  // a node has a priority
    // The stream is as it was, and may be captured again.
    fake().launches.clear();
    EXPECT_OK(first.launch({}, one, &stream));
    EXPECT_THAT(launched(), ElementsAre("first"));
    EXPECT_OK(stream.synchronize());
    ASSERT_OK(stream.begin_capture());
    Graph empty = stream.end_capture().value();
    EXPECT_EQ(empty.size(), 0u);
    EXPECT_OK(empty.launch());
}

// A search swaps its variants in a captured graph as in one that was added up; other libraries' nodes stay.
TEST_F(FakeGpu, AVariantTakesThePlaceOfACapturedLaunch) {
    const Function first = device().load(entries, "first", &elf).value(),
                   second = first.other("second").value();
    fake().argument_sizes = {4};
    Stream stream = device().create_stream().value();
    const Argument one[] = {1u}, two[] = {2u}, three[] = {3u};
    ASSERT_OK(stream.begin_capture());
    ASSERT_OK(first.launch({}, one, &stream));
    fake_call<void(std::uint64_t)>("fake_cuda_capture_foreign")(stream.handle());
    ASSERT_OK(first.launch({.cooperative = true}, one, &stream));
    Graph graph = stream.end_capture().value();
    EXPECT_EQ(graph.size(), 2u);
    EXPECT_OK(graph.change(1, second, {.grid = {2}, .cooperative = true}, two));
    EXPECT_OK(graph.launch());
    {
        const Function variant = device().load(entries, "third", &elf).value();
        EXPECT_OK(graph.change(1, variant, {.grid = {5}, .cooperative = true}, three));
    }
    EXPECT_EQ(fake().modules, 2);  // the graph keeps it
    EXPECT_OK(graph.launch(&stream));
    EXPECT_THAT(launched(), ElementsAre("first", "foreign", "second", "first", "foreign", "third"));
    EXPECT_EQ(argument_of(fake().launches[5]), 3u);
    EXPECT_THAT(fake().launches[5].grid, ElementsAre(5, 1, 1));
    EXPECT_TRUE(fake().launches[5].cooperative);
    EXPECT_EQ(fake().calls["cuGraphInstantiateWithFlags"], 1);
    const auto shaped = graph.change(1, first, {}, one);
    ASSERT_FALSE(shaped);
    EXPECT_THAT(message(shaped.error()), HasSubstr("it stays cooperative"));
    const auto added = graph.add(first, {}, one);
    ASSERT_FALSE(added);
    EXPECT_EQ(added.error().code, Errc::graph_change_not_possible);
    EXPECT_THAT(message(added.error()), HasSubstr("it was captured"));
}

TEST_F(FakeGpu, ACapturedStreamRefusesWhatNoGraphHas) {
    const Function first = device().load(entries, "first", &elf).value();
    const Device other = Device::open("cuda:0", driver()).value();
    const Function elsewhere = other.load(entries, "first", &elf).value();
    fake().argument_sizes = {4};
    Stream stream = device().create_stream().value();
    Event event = device().create_event().value();
    Graph graph = device().create_graph().value();
    const Argument one[] = {1u};
    EXPECT_EQ(stream.end_capture().error().code, Errc::argument_invalid);
    ASSERT_OK(stream.begin_capture());
    for (const auto& refused : {stream.begin_capture(), stream.synchronize(), event.record(&stream),
                                graph.launch(&stream), first.launch({.programmatic = true}, one, &stream)}) {
        ASSERT_FALSE(refused);
        EXPECT_EQ(refused.error().code, Errc::argument_invalid) << failure(refused);
    }
    EXPECT_EQ(first.launch({}, {}, &stream).error().code, Errc::argument_count_wrong);
    EXPECT_EQ(first.launch({.block = {2000}}, one, &stream).error().code, Errc::launch_shape_invalid);
    EXPECT_EQ(elsewhere.launch({}, one, &stream).error().code, Errc::device_differs);
    EXPECT_OK(first.launch({}, one, &stream));
    // It moves with its capture, and one that goes ends it.
    Stream moved = std::move(stream);
    EXPECT_TRUE(moved.is_captured());
    EXPECT_OK(first.launch({}, one, &moved));
    EXPECT_EQ(moved.end_capture()->size(), 2u);
    ASSERT_OK(moved.begin_capture());
    EXPECT_OK(first.launch({}, one, &moved));
    moved = device().create_stream().value();
    EXPECT_TRUE(fake().captures.empty());
    EXPECT_FALSE(moved.is_captured());
}

// Whatever the driver says of a capture, the stream goes on without it.
TEST_F(FakeGpu, CapturesFailAsTheDriverDoes) {
    const Function first = device().load(entries, "first", &elf).value();
    fake().argument_sizes = {4};
    const Argument one[] = {1u};
    for (const char* call :
         {"cuStreamBeginCapture_v2", "cuStreamGetCaptureInfo_v3", "cuStreamEndCapture", "cuLaunchKernel"}) {
        Stream stream = device().create_stream().value();
        break_call(call, 1);
        auto done = stream.begin_capture();
        if (done) done = first.launch({}, one, &stream);
        if (done) done = stream.end_capture().map([](const Graph&) {});
        ASSERT_FALSE(done) << call;
        const bool is_launch = std::string_view(call) == "cuLaunchKernel";
        EXPECT_EQ(done.error().code, is_launch ? Errc::launch_failed : Errc::driver_failed) << failure(done);
        fake().failing_call.clear();
        if (stream.is_captured()) { EXPECT_OK(stream.end_capture()); }
        fake().launches.clear();
        EXPECT_OK(first.launch({}, one, &stream));
        EXPECT_THAT(launched(), ElementsAre("first")) << call;
    }
    Stream stream = device().create_stream().value();
    ASSERT_OK(stream.begin_capture());
    fake().capture_is_invalidated = true;
    EXPECT_FALSE(first.launch({}, one, &stream));
    const auto ended = stream.end_capture();
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().code, Errc::driver_failed);
    fake().capture_is_invalidated = false;
    EXPECT_OK(first.launch({}, one, &stream));
    EXPECT_EQ(fake().graphs, 0);
    const Device old = Device::open("cuda", driver("_old")).value();
    EXPECT_EQ(old.create_stream()->begin_capture().error().code, Errc::driver_too_old);
}

// A launch on a stream that is not captured asks nothing more of the driver.
TEST_F(FakeGpu, CapturesCostOtherLaunchesNothing) {
    const Function first = device().load(entries, "first", &elf).value();
    fake().argument_sizes = {4};
    const Stream stream = device().create_stream().value();
    const Argument one[] = {1u};
    const auto calls_of = [&](const Stream* on) {
        const int before = fake().all_calls();
        EXPECT_OK(first.launch({}, one, on));
        return fake().all_calls() - before;
    };
    EXPECT_EQ(calls_of(&stream), calls_of(nullptr));
    EXPECT_EQ(fake().calls["cuLaunchKernel"], 2);
    EXPECT_EQ(fake().calls["cuStreamGetCaptureInfo_v3"], 0);
}

// A launch that cannot be added is not in the graph; one that could not be uploaded is tried again.
TEST_F(FakeGpu, AGraphIsWholeWhenACallFails) {
    const Function first = device().load(entries, "first", &elf).value(),
                   second = first.other("second").value();
    fake().argument_sizes = {4};
    Graph graph = device().create_graph().value();
    const Argument one[] = {1u};
    ASSERT_OK(graph.add(first, {}, one));
    break_call("cuGraphKernelNodeSetAttribute", 1);
    EXPECT_FALSE(graph.add(first, {.cooperative = true}, one));
    ASSERT_OK(graph.add(second, {}, one));
    EXPECT_EQ(graph.size(), 2u);
    break_call("cuGraphUpload", 2);
    EXPECT_EQ(graph.launch().error().code, Errc::out_of_device_memory);
    fake().failing_call.clear();
    EXPECT_OK(graph.launch());
    EXPECT_EQ(fake().executable_graphs, 1);
    EXPECT_THAT(launched(), ElementsAre("first", "second"));
}

TEST(EmulatorDevice, AStreamIsCaptured) {
    const Device device = Device::open("emulator").value();
    constexpr std::string_view text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".entry add(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %r<3>; ld.param.u64 %a, [p]; "
        "ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%a]; add.u32 %r2, %r2, %r1; st.global.u32 [%a], %r2; "
        "ret; }\n";
    const Function add = device.load(text, "add").value();
    const Buffer value = device.upload(std::vector<std::uint32_t>{1}).value();
    Stream stream = device.create_stream().value(), beside = device.create_stream().value();
    ASSERT_OK(stream.begin_capture());
    ASSERT_OK(add.launch({}, std::array<Argument, 2>{value, 10u}, &stream));
    ASSERT_OK(add.launch({}, std::array<Argument, 2>{value, 100u}, &stream));
    EXPECT_EQ(stream.synchronize().error().code, Errc::argument_invalid);
    ASSERT_OK(add.launch({}, std::array<Argument, 2>{value, 1000u}, &beside));
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 1001u);
    Graph graph = stream.end_capture().value();
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 1001u);
    EXPECT_OK(graph.launch(&stream));
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 1111u);
    EXPECT_OK(graph.change(1, add, {}, std::array<Argument, 2>{value, 200u}));
    EXPECT_OK(graph.launch());
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 1321u);
}

// On the emulator the same launches happen in the same order, one after the other.
TEST(EmulatorDevice, GraphsReplayTheirLaunches) {
    const Device device = Device::open("emulator").value();
    constexpr std::string_view text =
        ".version 8.0\n.target sm_80\n.address_size 64\n"
        ".entry add(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %r<3>; ld.param.u64 %a, [p]; "
        "ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%a]; add.u32 %r2, %r2, %r1; st.global.u32 [%a], %r2; "
        "ret; }\n"
        ".entry times(.param .u64 p, .param .u32 n) { .reg .b64 %a; .reg .b32 %r<3>; ld.param.u64 %a, [p]; "
        "ld.param.u32 %r1, [n]; ld.global.u32 %r2, [%a]; mul.lo.u32 %r2, %r2, %r1; st.global.u32 [%a], %r2; "
        "ret; }\n";
    const Function add = device.load(text, "add").value(), times = add.other("times").value();
    const Buffer value = device.upload(std::vector<std::uint32_t>{1}).value();
    Graph graph = device.create_graph().value();
    ASSERT_OK(graph.add(add, {}, std::array<Argument, 2>{value, 2u}));
    ASSERT_OK(graph.add(times, {}, std::array<Argument, 2>{value, 10u}));
    EXPECT_OK(graph.launch());
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 30u);
    EXPECT_OK(graph.change(1, add, {}, std::array<Argument, 2>{value, 5u}));
    EXPECT_OK(graph.launch());
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 37u);
    // Where one fails, the ones behind it do not run, and the error says which it was.
    EXPECT_OK(graph.change(0, add, {}, std::array<Argument, 2>{value, 100u}));
    EXPECT_OK(graph.change(1, add, {}, std::array<Argument, 2>{std::uint64_t{0}, 5u}));
    const auto failed = graph.launch();
    ASSERT_FALSE(failed);
    EXPECT_EQ(failed.error().code, Errc::address_out_of_bounds);
    EXPECT_EQ(failed.error().index, 1u);
    EXPECT_THAT(describe(failed.error()), HasSubstr("ld.global.u32 %r2, [%a];"));
    EXPECT_EQ(value.download<std::uint32_t>()->at(0), 137u);
}

}  // namespace
}  // namespace ptxgraft
