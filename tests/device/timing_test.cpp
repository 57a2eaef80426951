// Modules come and go when nobody measures: the lock between loads and timings, and when modules are
// unloaded.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "device/fake_gpu.hpp"
#include "device/timing_lock.hpp"
#include "ptxgraft/graph.hpp"

namespace ptxgraft {
namespace {

using namespace std::chrono_literals;

TEST_F(FakeGpu, ModulesAreUnloadedWithTheirLastHandle) {
    EXPECT_EQ(device().loaded_modules(), 0u);
    auto function = std::optional(load_fill().value());
    auto other = std::optional(function->other("other").value());
    auto table = std::optional(function->variable("table").value());
    EXPECT_EQ(device().loaded_modules(), 1u);
    function.reset();
    other.reset();
    EXPECT_EQ(fake().calls["cuModuleUnload"], 0);
    table.reset();
    EXPECT_EQ(fake().calls["cuModuleUnload"], 1);
    EXPECT_EQ(device().loaded_modules(), 0u);
    break_call("cuModuleLoadDataEx", 1);
    EXPECT_FALSE(load_fill());
    EXPECT_EQ(device().loaded_modules(), 0u);
}

TEST_F(FakeGpu, AModuleIsUnloadedBehindATiming) {
    auto function = std::optional(load_fill().value());
    {
        const TimingGuard timing = device().timing();
        function.reset();
        std::thread([&] { static_cast<void>(device().allocate(4)); }).join();
        EXPECT_EQ(fake().calls["cuModuleUnload"], 0);
        EXPECT_EQ(device().loaded_modules(), 1u);
    }
    EXPECT_EQ(fake().calls["cuModuleUnload"], 1);
    EXPECT_EQ(device().loaded_modules(), 0u);
}

// The last handles of a module and of its device go within a timing of another device of the same GPU.
TEST_F(FakeGpu, AModuleOutlivesItsDeviceUntilTheTimingEnds) {
    auto second = std::optional(Device::open("cuda:1", driver()).value());
    auto function = std::optional(second->load(fill, "other", &elf).value());
    {
        const TimingGuard timing = device().timing();
        function.reset();
        second.reset();
        EXPECT_EQ(fake().modules, 1);
    }
    EXPECT_EQ(fake().modules, 0);
}

// A first launch that loads its function would be in the times.
TEST_F(FakeGpu, FunctionsAreLoadedWithTheirModule) {
    const auto function = load_fill("other");
    EXPECT_EQ(fake().calls["cuFuncLoad"], 1);
    break_call("cuFuncLoad", 1);
    EXPECT_FALSE(load_fill());
    EXPECT_FALSE(function->other("fill"));
    EXPECT_OK(Device::open("cuda", driver("_old"))->load(fill, "other", &elf));
}

TEST_F(FakeGpu, ATimingsOwnThreadLoads) {
    const TimingGuard timing = device().timing();
    {
        const TimingGuard within = device().timing();
        const auto function = load_fill();
        EXPECT_OK(function);
        EXPECT_OK(function->other("other"));
    }
    const Device again = Device::open("cuda:1", driver()).value();
    const TimingGuard there = again.timing();  // of the same GPU
    EXPECT_EQ(fake().modules, 1);              // the timing goes on
}

// A load of another thread begins when the timing has ended, and not before, whichever handle it is through.
void loads_wait(const Device& timed, const Device& loading, const Cubin* cubin) {
    std::atomic<bool> has_ended = false, began = false;
    std::optional<TimingGuard> timing(timed.timing());
    std::thread loads([&] {
        began = true;
        EXPECT_OK(loading.load(fill, "other", cubin));
        EXPECT_TRUE(has_ended);
    });
    while (!began) std::this_thread::yield();
    std::this_thread::sleep_for(10ms);  // to fail in, where nothing waits
    has_ended = true;
    timing.reset();
    loads.join();
}

TEST_F(FakeGpu, LoadsOfOtherThreadsWaitForATiming) {
    const Device again = Device::open("cuda:1", driver()).value();
    loads_wait(device(), device(), &elf);
    loads_wait(device(), again, &elf);
    // Another GPU does not wait.
    const TimingGuard timing = device().timing();
    std::thread([&] { EXPECT_OK(Device::open("cuda:0", driver())->load(fill, "other", &elf)); }).join();
}

TEST(EmulatorDevice, LoadsOfOtherThreadsWaitForATiming) {
    const Device device = Device::open("emulator").value();
    loads_wait(device, device, nullptr);
}

TEST_F(FakeGpu, GraphsAreInstantiatedBehindATiming) {
    const auto function = load_fill("other");
    Graph graph = device().create_graph().value();
    fake().argument_sizes.clear();
    EXPECT_OK(graph.add(*function, {}, {}));
    std::atomic<bool> has_ended = false;
    std::optional<TimingGuard> timing(device().timing());
    std::thread makes([&] {
        EXPECT_OK(graph.instantiate());
        EXPECT_TRUE(has_ended);
    });
    std::this_thread::sleep_for(5ms);
    has_ended = true;
    timing.reset();
    makes.join();
}

// Loads come together; timings alone; and nobody starves.
TEST(TimingLock, KeepsLoadsAndTimingsApart) {
    device::TimingLock lock;
    std::atomic<int> loads = 0, timings = 0;
    std::atomic<bool> wrong = false;
    const auto load = [&] {
        for (int i = 0; i < 300; ++i) {
            const device::TimingLock::Load one(lock);
            ++loads;
            wrong = wrong || timings != 0;
            --loads;
        }
    };
    const auto time = [&] {
        for (int i = 0; i < 300; ++i) {
            lock.begin_timing();
            wrong = wrong || ++timings != 1 || loads != 0;
            lock.begin_timing();
            EXPECT_FALSE(lock.end_timing());
            wrong = wrong || lock.try_load([] {});
            --timings;
            EXPECT_TRUE(lock.end_timing());
        }
    };
    std::thread threads[] = {std::thread(load), std::thread(time), std::thread(load), std::thread(time)};
    for (std::thread& thread : threads) thread.join();
    EXPECT_FALSE(wrong);
    EXPECT_TRUE(lock.try_load([] {}));
    lock.begin_timing();
    std::thread([&] { EXPECT_FALSE(lock.try_load([] {})); }).join();
    lock.end_timing();
}

}  // namespace
}  // namespace ptxgraft
