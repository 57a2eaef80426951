// Launches on a Device of the emulator end: by the library's limits, by others, by another thread; and say
// what they did.
#include <gmock/gmock.h>

#include <atomic>
#include <thread>

#include "device/fake_gpu.hpp"
#include "device/launch_limits.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;

constexpr std::string_view endless =
    ".version 8.0\n.target sm_80\n.address_size 64\n.entry endless(.param .u64 flag) {\n.reg .b64 %a; .reg "
    ".b32 %r;\nld.param.u64 %a, [flag];\n$again:\nst.volatile.global.u32 [%a], 1;\nbra $again;\n}\n"
    ".entry counted(.param .u32 n) {\n.reg .b32 %r; .reg .pred %p;\nld.param.u32 %r, "
    "[n];\n$again:\nsub.u32 %r, %r, 1;\nsetp.ne.u32 %p, %r, 0;\n@%p bra $again;\nret;\n}\n";

struct Endless {
    explicit Endless(const EmulatorOptions& options = {})
        : device(Device::emulator(options).value()),
          function(device.load(endless, "endless").value()),
          flag(device.upload(std::vector<std::uint32_t>{0}).value()) {}
    [[nodiscard]] Expected<void> run(LaunchLimits limits) const {
        return function.launch({.limits = std::move(limits)}, std::array<Argument, 1>{flag});
    }
    Device device;
    Function function;
    Buffer flag;
};

// Warp instructions that a loop without an end is let do, as the error says; 0: it ended otherwise.
std::uint64_t budget_of(const Expected<void>& done) {
    EXPECT_FALSE(done);
    if (done.error().code != Errc::instruction_budget_spent) return 0;
    return std::stoull(*done.error().detail);
}

TEST(EmulatorDevice, LimitsOfTheLaunchCountFirst) {
    const Endless own({.instruction_budget = 2000});
    EXPECT_EQ(budget_of(own.run({})), 2000u);
    EXPECT_EQ(budget_of(own.run({.instruction_budget = 1000})), 1000u);
    EXPECT_EQ(own.run({.instruction_budget = no_instruction_budget, .time_limit_ms = 20}).error().code,
              Errc::time_limit_spent);
    EXPECT_EQ(Endless({.time_limit_ms = 20}).run({}).error().code, Errc::time_limit_spent);
    EXPECT_EQ(Endless().run({.time_limit_ms = 20}).error().code, Errc::time_limit_spent);
    EXPECT_EQ(budget_of(Endless({.time_limit_ms = no_time_limit}).run({.instruction_budget = 500})), 500u);
}

// Where nobody says when a launch ends, the library does; one limit of anybody's is enough for it not to.
TEST(EmulatorDevice, ALaunchWithoutLimitsHasThoseOfTheLibrary) {
    struct Row {
        LaunchLimits launch;
        EmulatorOptions options;
        std::uint64_t budget;
        std::uint32_t milliseconds;
    };
    const Row rows[] = {{{}, {}, usual_instruction_budget, usual_time_limit_ms},
                        {{.instruction_budget = 5}, {}, 5, 0},
                        {{.time_limit_ms = 5}, {}, 0, 5},
                        {{}, {.instruction_budget = 5}, 0, 0},  // the emulator knows its options
                        {{}, {.time_limit_ms = no_time_limit}, 0, 0}};
    for (const Row& row : rows) {
        const LaunchLimits limits = device::launch_limits(row.launch, row.options);
        EXPECT_EQ(limits.instruction_budget, row.budget);
        EXPECT_EQ(limits.time_limit_ms, row.milliseconds);
    }
}

// What is not limited at all ends when somebody says so.
TEST(EmulatorDevice, NoLimitIsNone) {
    const Endless endless({.instruction_budget = no_instruction_budget, .time_limit_ms = no_time_limit});
    int asked = 0;
    EXPECT_EQ(endless.run({.should_stop = [&] { return ++asked > 3; }}).error().code, Errc::launch_stopped);
    const Endless usual;
    asked = 0;
    EXPECT_EQ(
        usual.run({.instruction_budget = no_instruction_budget, .should_stop = [&] { return ++asked > 3; }})
            .error()
            .code,
        Errc::launch_stopped);
}

TEST(EmulatorDevice, AnotherThreadEndsALaunch) {
    const Endless endless;
    std::stop_source source;
    std::thread stops([&] { source.request_stop(); });
    EXPECT_EQ(endless.run({.stop = source.get_token()}).error().code, Errc::launch_stopped);
    stops.join();
    EXPECT_OK(endless.function.other("counted")->launch({}, std::array<Argument, 1>{3u}));
}

TEST(EmulatorDevice, ALaunchCountsWhatItDoes) {
    const Endless endless;
    const Function counted = endless.function.other("counted").value();
    const Argument ten[] = {10u};
    const auto one = counted.launch_counted({.block = {48}}, ten);
    ASSERT_OK(one);
    // Two warps, with a load, ten turns of three instructions, and a return.
    EXPECT_EQ(one->warp_instructions, 2u * (1 + 30 + 1));
    EXPECT_EQ(one->thread_instructions, 48u * (1 + 30 - 1 + 1));  // no thread takes the last branch
    EXPECT_OK(counted.launch({.block = {48}}, ten));
    EXPECT_EQ(endless.device.take_report().warp_instructions, 2 * one->warp_instructions);
    EXPECT_EQ(counted.launch_counted({}, {}).error().code, Errc::argument_count_wrong);
}

TEST_F(FakeGpu, LaunchesAreNotCountedOnAGpu) {
    const auto function = load_fill("other");
    fake().argument_sizes.clear();
    const auto done = function->launch_counted({}, {});
    ASSERT_OK(done);
    EXPECT_EQ(done->warp_instructions, 0u);
    EXPECT_EQ(fake().calls["cuStreamSynchronize"], 1);
    // That nothing limits it, a GPU can promise.
    EXPECT_OK(function->launch(
        {.limits = {.instruction_budget = no_instruction_budget, .time_limit_ms = no_time_limit}}, {}));
}

}  // namespace
}  // namespace ptxgraft
