// What a launch costs beside the driver's own call: how often it calls the driver, and that it allocates
// nothing.
#include <gtest/gtest.h>

#include <thread>

#include "device/fake_gpu.hpp"

extern std::size_t allocations;  // support/allocations.cpp

namespace ptxgraft {
namespace {

class LaunchPath : public FakeGpu {
  protected:
    void SetUp() override {
        FakeGpu::SetUp();
        function_.emplace(load_fill("other").value());
        fake().argument_sizes.clear();
        ASSERT_OK(function_->launch({}, {}));
    }
    void TearDown() override {
        function_.reset();
        FakeGpu::TearDown();
    }
    [[nodiscard]] int calls_of(const LaunchConfig& config) const {
        const int before = fake().all_calls();
        EXPECT_OK(function_->launch(config, {}));
        return fake().all_calls() - before;
    }

  private:
    std::optional<Function> function_;
};

TEST_F(LaunchPath, OneCallWithinAGuard) {
    const auto current = device().make_current();
    ASSERT_OK(current);
    EXPECT_EQ(calls_of({}), 1);
    EXPECT_EQ(calls_of({.grid = {4}, .cluster = {2}, .cooperative = true}), 1);
    EXPECT_EQ(calls_of({.shared_bytes = 100 << 10}), 2);  // opts in, once
    EXPECT_EQ(calls_of({.shared_bytes = 200 << 10}), 1);
    EXPECT_EQ(calls_of({.grid = {16}, .cluster = {16}}), 2);  // so it does for clusters
    EXPECT_EQ(calls_of({.grid = {16}, .cluster = {16}}), 1);
}

TEST_F(LaunchPath, TwoCallsWhereTheContextHappensToBeCurrent) {
    using Push = int(void*);
    using Pop = int(void**);
    fake_call<Push>("cuCtxPushCurrent_v2")(reinterpret_cast<void*>(device().context()));
    EXPECT_EQ(calls_of({}), 2);
    void* popped = nullptr;
    fake_call<Pop>("cuCtxPopCurrent_v2")(&popped);
    EXPECT_EQ(calls_of({}), 4);
}

// A guard is of its thread, and of its device.
TEST_F(LaunchPath, GuardsWithinGuards) {
    const Device other = Device::open("cuda:0", driver()).value();
    {
        const auto outer = device().make_current();
        {
            const auto inner = other.make_current();
            EXPECT_EQ(calls_of({}), 4);
            std::thread([&] { EXPECT_EQ(calls_of({}), 4); }).join();
        }
        EXPECT_EQ(calls_of({}), 1);
        auto moved = device().make_current();
        const CurrentDevice kept = std::move(*moved);
        EXPECT_EQ(calls_of({}), 1);
    }
    EXPECT_EQ(calls_of({}), 4);
    break_call("cuCtxPushCurrent_v2", 1);
    EXPECT_EQ(device().make_current().error().code, Errc::driver_failed);
    fake().failing_call.clear();
}

TEST_F(LaunchPath, NothingIsAllocated) {
    const auto function = load_fill("fill");
    const auto buffer = device().allocate(64);
    const std::array<Argument, 3> arguments{*buffer, 16u, std::array<char, 12>{}};
    const auto stream = device().create_stream();
    fake().is_quiet = true;
    const std::size_t before = allocations;
    EXPECT_OK(function->launch({.grid = {4}, .block = {32}}, arguments));
    EXPECT_OK(function->launch({.grid = {4}, .block = {32}}, arguments, &*stream));
    EXPECT_EQ(allocations, before);
    fake().is_quiet = false;
}

}  // namespace
}  // namespace ptxgraft
