// What ends a launch on the emulator before its kernel does: a budget of work, a time limit, somebody's wish;
// and what bounds the memory that a kernel makes the host take.
#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>

#include "ptxgraft/device.hpp"
#include "ptxgraft/emulator_observer.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using std::chrono::milliseconds;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using Clock = std::chrono::steady_clock;

const std::string head = test::module_head("8.6", "sm_90a");

// An entry `k` that takes an address in %rd1 and has its thread's number in %r1.
std::string limited_kernel(const std::string& body, const std::string& declarations = {},
                           const std::string& inside = {}) {
    return test::kernel_text({.version = "8.6",
                              .target = "sm_90a",
                              .declarations = declarations,
                              .parameters = {"u64 p"},
                              .registers = {"b32 %r<20>", "b64 %rd<10>", "pred %q<4>", "f32 %f<140>"},
                              .body = inside + "ld.param.u64 %rd1, [p]; mov.u32 %r1, %tid.x;\n" + body});
}

const std::string shared_memory = ".extern .shared .align 128 .b8 s[];\n";
const std::string heap_functions =
    ".extern .func (.param .b64 r) malloc(.param .b64 n);\n.extern .func free(.param .b64 p);\n";
std::string allocate(const std::string& bytes) {
    return "{ .param .b64 n; .param .b64 r; st.param.b64 [n], " + bytes +
           "; call (r), malloc, (n); ld.param.b64 %rd3, [r]; }\n";
}
const std::string release = "{ .param .b64 n; st.param.b64 [n], %rd3; call free, (n); }\n";

// printf of a string of `length` letters, `times` times in one call.
std::string print_declarations(std::size_t length, std::size_t times) {
    std::string letters, format;
    for (std::size_t i = 0; i < length; ++i) letters += "65,";
    for (std::size_t i = 0; i < times; ++i) format += "37,115,";
    return ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 v);\n.global .align 1 .b8 "
           "format[] = {" +
           format + "0};\n.global .align 1 .b8 letters[] = {" + letters + "0};\n";
}
std::string print_values(std::size_t times) {
    std::string text =
        "mov.u64 %rd3, letters; cvta.global.u64 %rd3, %rd3; mov.u64 %rd4, values; cvta.local.u64 %rd4, "
        "%rd4;\n"
        "mov.u64 %rd5, format; cvta.global.u64 %rd5, %rd5;\n";
    for (std::size_t i = 0; i < times; ++i) text += "st.u64 [%rd4+" + std::to_string(8 * i) + "], %rd3;\n";
    return text;
}
const std::string print =
    "{ .param .b64 a, b; .param .b32 r; st.param.b64 [a], %rd5; st.param.b64 [b], %rd4; call (r), vprintf, "
    "(a, b); }\n";
const std::string fill_shared =
    "mov.u32 %r3, s; mov.u32 %r5, 0;\nZ: add.u32 %r6, %r3, %r5; st.shared.u32 [%r6], %r5; add.u32 %r5, %r5, "
    "4; setp.lt.u32 %q1, %r5, 131072; @%q1 bra "
    "Z;\nfence.proxy.async.shared::cta; bar.sync 0;\n";

std::string accumulators() {
    std::string text;
    for (int i = 0; i < 128; ++i) text += (i == 0 ? "%f" : ", %f") + std::to_string(i);
    return text;
}
std::string wgmma_loop() {
    std::string text;
    for (int i = 0; i < 128; ++i) text += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
    return text + fill_shared +
           "cvt.u64.u32 %rd3, %r3; shr.u64 %rd3, %rd3, 4; and.b64 %rd3, %rd3, 0x3fff; or.b64 %rd2, %rd3, "
           "0x4000004000010000;\n"
           "L: wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n256k16.f32.f16.f16 {" +
           accumulators() +
           "}, %rd2, %rd2, 1, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; wgmma.wait_group.sync.aligned 0; "
           "bra L;";
}

struct Endless {
    std::string name, ptx;
    LaunchConfig shape = {};
    bool is_fast_too = true;
};

// Kernels without an end, each by another instruction, or by what a launch does besides instructions.
std::vector<Endless> endless_kernels() {
    const LaunchConfig warp{.block = {32, 1, 1}}, block{.grid = {4, 1, 1}, .block = {1024, 1, 1}};
    LaunchConfig copies{.grid = {2, 1, 1}, .block = {1, 1, 1}, .shared_bytes = 131072},
        copies_of_warp = copies, products = copies;
    copies_of_warp.block = {32, 1, 1};
    products.block = {128, 1, 1};
    LaunchConfig clusters = block, many{.grid = {2147483647, 65535, 1}}, shared_only = many,
                 cooperative{.grid = {64, 1, 1}, .cooperative = true};
    clusters.grid = clusters.cluster = {16, 1, 1};
    shared_only.shared_bytes = 200000;
    LaunchConfig locals = many;
    locals.block = {1024, 1, 1};
    return {
        {"Loop", limited_kernel("L: add.u32 %r2, %r1, 1; bra L;"), warp},
        {"LoopOfManyBlocks",
         limited_kernel("L: add.u32 %r2, %r1, 1; bra L;"),
         {.grid = {100000, 1, 1}, .block = {64, 1, 1}}},
        {"Undefined",
         limited_kernel("L: and.b32 %r3, %r4, %r5; xor.b32 %r4, %r3, %r6; add.u32 %r5, %r4, %r3; bra L;"),
         warp},
        {"Nanosleep", limited_kernel("L: nanosleep.u32 1000; bra L;"), warp},
        {"Flag",
         limited_kernel("L: ld.volatile.global.u32 %r2, [%rd1]; setp.ne.u32 %q1, %r2, 77; @%q1 bra L;"),
         block},
        {"Atomic", limited_kernel("L: atom.global.add.u32 %r2, [%rd1], 1; bra L;"), block},
        {"Barrier", limited_kernel("L: bar.sync 0; bra L;"), block},
        {"ClusterBarrier", limited_kernel("L: barrier.cluster.arrive; barrier.cluster.wait; bra L;"),
         clusters},
        {"BlocksThatWait",
         limited_kernel("L: ld.acquire.gpu.global.u32 %r2, [%rd1]; setp.ne.u32 %q1, %r2, 77; @%q1 bra L;"),
         cooperative},
        {"Mbarrier",
         limited_kernel(
             "mov.u32 %r4, m; setp.ne.u32 %q2, %r1, 0; @%q2 bra R; mbarrier.init.shared.b64 [%r4], 1; R: "
             "bar.sync 0; setp.gt.u32 %q2, %r1, 5; @%q2 bra L;\n"
             "W: mbarrier.try_wait.parity.shared.b64 %q1, [%r4], 0; @!%q1 bra W; L: add.u32 %r2, %r1, 1; "
             "bra L;",
             ".shared .align 8 .b64 m;\n"),
         warp},
        {"BulkStore",
         limited_kernel(fill_shared + "L: cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r3], 131072; "
                                      "cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bra L;",
                        shared_memory),
         copies},
        {"BulkReduction",
         limited_kernel(fill_shared +
                            "L: cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd1], [%r3], "
                            "131072; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0; bra L;",
                        shared_memory),
         copies_of_warp},
        {"Wgmma", limited_kernel(wgmma_loop(), shared_memory), products},
        {"Print",
         limited_kernel(print_values(1) + "L: " + print + "bra L;", print_declarations(65000, 1),
                        ".local .align 8 .b8 values[8];\n"),
         warp},
        {"PrintOfManyStrings",
         limited_kernel(print_values(30) + "L: " + print + "bra L;", print_declarations(65000, 30),
                        ".local .align 8 .b8 values[256];\n"),
         warp},
        {"MallocOfMuch",
         limited_kernel("L: " + allocate("8000000") + release + "bra L;", heap_functions),
         {}},
        {"MallocOfLittle", limited_kernel("L: " + allocate("1") + "bra L;", heap_functions), block},
        {"Recursion",
         limited_kernel(
             "L: { .param .b32 b; st.param.b32 [b], 1000; call f, (b); } bra L;",
             ".func f(.param .b32 a) { .reg .b32 %r<4>; .reg .pred %q; ld.param.b32 %r1, [a]; setp.eq.u32 "
             "%q, %r1, 0; @%q ret; sub.u32 %r2, %r1, 1;\n"
             "{ .param .b32 b; st.param.b32 [b], %r2; call f, (b); } ret; }\n"),
         warp},
        {"Alloca",
         limited_kernel("L: stacksave.u64 %rd5; alloca.u64 %rd4, 60000; stackrestore.u64 %rd5; bra L;"),
         block},
        {"EmptyBlocks", limited_kernel(""), many},
        {"BlocksWithSharedMemory", limited_kernel("st.shared.u32 [s], 1;", shared_memory), shared_only},
        {"BlocksWithLocalMemory",
         limited_kernel("st.local.u32 [x], 5;", "", ".local .align 4 .b8 x[100000];\n"), locals},
    };
}

class Limits : public testing::TestWithParam<Endless> {};

// On a machine that does other things too; alone, the launches end a few milliseconds behind the limit.
constexpr milliseconds late{1500};

TEST_P(Limits, TimeEndsEveryKernel) {
    for (const bool fast : {false, true}) {
        for (const std::uint32_t threads : {1u, 16u}) {
            Machine machine({.threads = threads, .fast = fast});
            ASSERT_TRUE(machine.load(GetParam().ptx)) << GetParam().ptx;
            const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(65536));
            LaunchConfig shape = GetParam().shape;
            shape.limits.time_limit_ms = 150;
            const auto begin = Clock::now();
            const auto run = machine.launch("k", shape, buffer);
            const auto took = std::chrono::duration_cast<milliseconds>(Clock::now() - begin);
            ASSERT_FALSE(run);
            EXPECT_EQ(run.error().code, Errc::time_limit_spent) << machine.text_of(run.error());
            EXPECT_TRUE(run.error().span.known());
            EXPECT_THAT(*run.error().detail,
                        AllOf(HasSubstr("150 ms, in k, block ("), HasSubstr("thread (")));
            EXPECT_LT(took, milliseconds(150) + late) << "fast " << fast << ", " << threads << " threads";
            // The next launch is one as any other.
            ASSERT_TRUE(machine.load(limited_kernel("st.global.u32 [%rd1], 5;")));
            EXPECT_RUNS(machine, machine.launch("k", {}, buffer));
        }
    }
}

// A budget counts what instructions make the host do: a small one takes no hours, whatever it is spent on.
TEST_P(Limits, BudgetsBoundWork) {
    Machine machine({.instruction_budget = 1'000'000, .time_limit_ms = 600'000});
    ASSERT_TRUE(machine.load(GetParam().ptx));
    const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(65536));
    const auto run = machine.launch("k", GetParam().shape, buffer);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::instruction_budget_spent) << machine.text_of(run.error());
}

TEST_P(Limits, AWishEndsEveryKernel) {
    Machine machine({.threads = 2});
    ASSERT_TRUE(machine.load(GetParam().ptx));
    const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(65536));
    std::stop_source source;
    LaunchConfig shape = GetParam().shape;
    shape.limits.stop = source.get_token();
    std::jthread other([&] {
        std::this_thread::sleep_for(milliseconds(50));
        source.request_stop();
    });
    const auto begin = Clock::now();
    const auto run = machine.launch("k", shape, buffer);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::launch_stopped) << machine.text_of(run.error());
    EXPECT_LT(Clock::now() - begin, milliseconds(50) + late);
}

INSTANTIATE_TEST_SUITE_P(Endless, Limits, testing::ValuesIn(endless_kernels()),
                         [](const auto& info) { return info.param.name; });

// ------------------------------------------------------------------------------------------------ whose limi

const std::string endless = limited_kernel("L: add.u32 %r2, %r1, 1; bra L;");
const std::string short_loop =
    limited_kernel("mov.u32 %r2, 0; L: add.u32 %r2, %r2, 1; setp.lt.u32 %q1, %r2, 100; @%q1 bra L;");

TEST(LaunchLimits, OfALaunchCountMoreThanThoseOfTheDevice) {
    Machine machine({.instruction_budget = 100});
    ASSERT_TRUE(machine.load(short_loop));
    EXPECT_EQ(machine.launch("k", {}, std::uint64_t{0}).error().code, Errc::instruction_budget_spent);
    EXPECT_RUNS(machine, machine.launch("k", {.limits = {.instruction_budget = 1000}}, std::uint64_t{0}));
    Machine patient({.instruction_budget = 10'000, .time_limit_ms = 20});
    ASSERT_TRUE(patient.load(endless));
    const LaunchConfig long_budget{.limits = {.instruction_budget = ~std::uint64_t{0}}};
    EXPECT_EQ(patient.launch("k", long_budget, std::uint64_t{0}).error().code, Errc::time_limit_spent);
    EXPECT_EQ(patient.launch("k", {}, std::uint64_t{0}).error().code, Errc::instruction_budget_spent);
}

// Of instructions that cost no more than others, exactly so many run.
TEST(LaunchLimits, ABudgetIsExactForOneWarp) {
    Machine machine({.threads = 1});
    ASSERT_TRUE(machine.load(
        limited_kernel("st.global.u32 [%rd1], 1;\nst.global.u32 [%rd1], 2;\nst.global.u32 [%rd1], 3;")));
    const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(1));
    const auto all = machine.launch("k", {}, buffer);
    ASSERT_TRUE(all);
    const auto fits = [&](std::uint64_t budget) {
        return machine.launch("k", {.limits = {.instruction_budget = budget}}, buffer).has_value();
    };
    std::uint64_t least = all->warp_instructions;
    while (!fits(least)) ++least;
    EXPECT_LE(least, all->warp_instructions + 16);  // and what it takes to begin a block
    EXPECT_FALSE(fits(least - 1));
}

TEST(LaunchLimits, NoLimitIsReachedByWhatEndsInTime) {
    std::stop_source source;
    int asked = 0;
    const LaunchLimits limits{.instruction_budget = 1 << 20,
                              .time_limit_ms = 600'000,
                              .stop = source.get_token(),
                              .should_stop = [&] { return ++asked < 0; }};
    Machine machine;
    ASSERT_TRUE(machine.load(short_loop));
    for (int i = 0; i < 20; ++i)
        EXPECT_RUNS(machine, machine.launch("k", {.grid = {64, 1, 1}, .limits = limits}, std::uint64_t{0}));
}

TEST(LaunchLimits, AWishThatCameBeforeEndsTheLaunchAtOnce) {
    Machine machine;
    ASSERT_TRUE(machine.load(limited_kernel("st.global.u32 [%rd1], 5;")));
    const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>{1});
    std::stop_source source;
    source.request_stop();
    const auto run = machine.launch("k", {.limits = {.stop = source.get_token()}}, buffer);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::launch_stopped);
    EXPECT_EQ(machine.download<std::uint32_t>(buffer, 1)[0], 1u);
}

// The launching thread asks; also when the others run what is left.
TEST(LaunchLimits, TheLaunchingThreadAsks) {
    Machine machine({.threads = 2});
    // One block waits without an end; the launching thread may have got another one, which ends.
    ASSERT_TRUE(machine.load(
        limited_kernel("mov.u32 %r2, %ctaid.x; setp.ne.u32 %q1, %r2, 0; @%q1 bra E;\nL: bra L;\nE:")));
    for (int i = 0; i < 10; ++i) {
        const auto self = std::this_thread::get_id();
        int asked = 0;
        bool is_self = true;
        const auto run = machine.launch("k",
                                        {.grid = {2, 1, 1},
                                         .limits = {.should_stop =
                                                        [&] {
                                                            is_self &= std::this_thread::get_id() == self;
                                                            return ++asked == 3;
                                                        }}},
                                        std::uint64_t{0});
        ASSERT_FALSE(run);
        EXPECT_EQ(run.error().code, Errc::launch_stopped);
        EXPECT_TRUE(is_self);
        EXPECT_GE(asked, 3);
    }
}

TEST(LaunchLimits, WhatShouldStopThrowsComesOut) {
    Machine machine({.threads = 2});
    ASSERT_TRUE(machine.load(endless));
    const LaunchConfig shape{.grid = {8, 1, 1},
                             .limits = {.should_stop = []() -> bool { throw std::runtime_error("enough"); }}};
    EXPECT_THROW(static_cast<void>(machine.launch("k", shape, std::uint64_t{0})), std::runtime_error);
    ASSERT_TRUE(machine.load(short_loop));
    EXPECT_RUNS(machine, machine.launch("k", {}, std::uint64_t{0}));
}

// A mistake of the kernel is what is wrong with it, also when others of its blocks have no end.
TEST(LaunchLimits, AMistakeComesBeforeTheEndOfTime) {
    Machine machine({.threads = 2});
    ASSERT_TRUE(machine.load(
        limited_kernel("mov.u32 %r2, %ctaid.x; setp.ne.u32 %q1, %r2, 0; @%q1 bra E;\nL: bra L;\nE: trap;")));
    const auto run =
        machine.launch("k", {.grid = {2, 1, 1}, .limits = {.time_limit_ms = 300}}, std::uint64_t{0});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::trap_executed);
}

// ------------------------------------------------------------------------------------------------ where it w

std::string line_of(const std::string& ptx, const Error& error) {
    const std::size_t end = ptx.find('\n', error.span.begin), begin = ptx.rfind('\n', error.span.begin) + 1;
    return ptx.substr(begin, end - begin);
}

// Some lanes have left the loop and wait behind it: what is wrong is the loop.
TEST(LaunchLimits, NameThePlaceInTheLoop) {
    const std::string ptx = limited_kernel(
        "setp.gt.u32 %q1, %r1, 15;\n@%q1 bra DONE;\nL:\nadd.u32 %r2, %r1, 1;\nbra L;\nDONE:\nst.global.u32 "
        "[%rd1], 5;\nbar.sync 0;");
    for (const LaunchLimits& limits :
         {LaunchLimits{.instruction_budget = 12'345}, LaunchLimits{.instruction_budget = 3'000'000},
          LaunchLimits{.time_limit_ms = 30}}) {
        Machine machine;
        ASSERT_TRUE(machine.load(ptx));
        const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(1));
        const auto run = machine.launch("k", {.block = {32, 1, 1}, .limits = limits}, buffer);
        ASSERT_FALSE(run);
        EXPECT_THAT(line_of(ptx, run.error()), testing::AnyOf("add.u32 %r2, %r1, 1;", "bra L;"))
            << *run.error().detail;
        EXPECT_THAT(*run.error().detail, HasSubstr("in k, block (0, 0, 0), thread (0, 0, 0)"));
    }
}

TEST(LaunchLimits, NameTheStubAndTheCudaLine) {
    const std::string ptx =
        head +
        ".visible .entry k()\n{\n.reg .b32 %r<5>; .reg .pred %q<3>;\n.loc 1 7 5\nmov.u32 %r1, %tid.x;\n"
        "{ // PTXGRAFT_SITE f\n.reg .b32 _x; // mod u32 x\nmov.b32 _x, %r1;\n// PTXGRAFT_STUB\n"
        ".loc 1 12 5\nL:\nsetp.lt.u32 %q1, _x, 16;\n@%q1 bra L;\n"
        "// PTXGRAFT_END\nmov.b32 %r1, _x;\n}\nbar.sync 0;\nret;\n}\n.file 1 \"kernel.cu\"\n";
    const auto device = Device::emulator({});
    const auto function = device->load(ptx, "k");
    ASSERT_TRUE(function) << describe(function.error());
    const auto run = function->launch({.block = {32}, .limits = {.time_limit_ms = 30}}, {});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::time_limit_spent);
    EXPECT_THAT(*run.error().detail,
                AllOf(HasSubstr("in k, block (0, 0, 0), thread ("), HasSubstr("from kernel.cu:12:5"),
                      HasSubstr("in the stub of site f, line ")));
}

// ------------------------------------------------------------------------------------------------ devices

TEST(LaunchLimits, ReachTheEmulatorThroughADevice) {
    const auto device = Device::emulator({.time_limit_ms = 20});
    const auto function = device->load(endless, "k");
    const std::array<Argument, 1> none{Argument(std::uint64_t{0})};
    ASSERT_TRUE(function);
    EXPECT_EQ(function->launch({}, none).error().code, Errc::time_limit_spent);
    EXPECT_EQ(function->launch({.limits = {.instruction_budget = 1000}}, none).error().code,
              Errc::instruction_budget_spent);
    EXPECT_EQ(function->launch({.limits = {.should_stop = [] { return true; }}}, none).error().code,
              Errc::launch_stopped);
}

// A launch that waits for another one can be stopped, and that one goes on.
TEST(LaunchLimits, AWishEndsAWait) {
    const auto device = Device::emulator({});
    const auto function = device->load(endless, "k");
    const std::array<Argument, 1> none{Argument(std::uint64_t{0})};
    std::atomic<bool> has_begun = false;
    std::stop_source source;
    std::jthread other([&] {
        const auto run = function->launch({.limits = {.stop = source.get_token(),
                                                      .should_stop =
                                                          [&] {
                                                              has_begun = true;
                                                              return false;
                                                          }}},
                                          none);
        EXPECT_EQ(run.error().code, Errc::launch_stopped);
    });
    while (!has_begun) std::this_thread::yield();
    const auto waiting = function->launch({.limits = {.should_stop = [] { return true; }}}, none);
    ASSERT_FALSE(waiting);
    EXPECT_EQ(waiting.error().code, Errc::launch_stopped);
    EXPECT_THAT(*waiting.error().detail, HasSubstr("waited"));
    EXPECT_THROW(
        static_cast<void>(function->launch(
            {.limits = {.should_stop = []() -> bool { throw std::runtime_error("enough"); }}}, none)),
        std::runtime_error);
    source.request_stop();
}

// Who is asked, or told, on the launching thread cannot wait for the launch.
TEST(LaunchLimits, ALaunchDoesNotWaitForItself) {
    const auto device = Device::emulator({});
    const auto function = device->load(endless, "k");
    const auto buffer = device->allocate(16);
    const std::array<Argument, 1> none{Argument(std::uint64_t{0})};
    std::vector<Errc> codes;
    const auto ask = [&] {
        std::array<std::byte, 16> bytes;
        codes = {function->launch({}, none).error().code, buffer->fill(std::byte{1}).error().code,
                 buffer->read(bytes).error().code};
        EXPECT_TRUE(device->allocate(16));  // what does not wait is allowed
        EXPECT_EQ(device->take_output(), "");
        return true;
    };
    EXPECT_EQ(function->launch({.limits = {.should_stop = ask}}, none).error().code, Errc::launch_stopped);
    EXPECT_THAT(codes, testing::Each(Errc::device_in_use));
    EXPECT_TRUE(buffer->fill(std::byte{1}));
}

// ------------------------------------------------------------------------------------------------ observers

struct Thrower : EmulatorObserver {
    void step(const ObservedStep& step) override {
        is_launching &= std::this_thread::get_id() == self;
        if (++steps == last) throw std::runtime_error("no more");
        static_cast<void>(step);
    }
    std::thread::id self = std::this_thread::get_id();
    bool is_launching = true;
    long steps = 0, last = 100;
};

TEST(LaunchLimits, WhatAnObserverThrowsComesOut) {
    Thrower observer;
    Machine machine({.threads = 8, .observer = &observer});
    ASSERT_TRUE(machine.load(
        limited_kernel(print_values(1) + print + "st.global.u32 [%rd1], 7;\nL: add.u32 %r2, %r1, 1; bra L;",
                       print_declarations(3, 1), ".local .align 8 .b8 values[8];\n")));
    const std::uint64_t buffer = machine.upload(std::vector<std::uint32_t>(1));
    EXPECT_THROW(static_cast<void>(machine.launch("k", {.grid = {16, 1, 1}}, buffer)), std::runtime_error);
    EXPECT_EQ(observer.steps, 100);
    EXPECT_TRUE(observer.is_launching);
    // What the kernel wrote and printed is there, and the device is ready.
    EXPECT_EQ(machine.download<std::uint32_t>(buffer, 1)[0], 7u);
    EXPECT_EQ(machine.emulator.take_output(), "AAA");
    ASSERT_TRUE(machine.load(short_loop));
    EXPECT_RUNS(machine, machine.launch("k", {}, buffer));
}

// ------------------------------------------------------------------------------------------------ memory

TEST(LaunchLimits, PrintedTextIsKeptUpToALimit) {
    constexpr std::size_t most = std::size_t{16} << 20;
    for (const std::uint32_t threads : {1u, 4u}) {
        Machine machine({.threads = threads, .fast = true});
        // The length depends on the block: what is kept is told from its place.
        ASSERT_TRUE(machine.load(limited_kernel(print_values(1) + print, print_declarations(50000, 1),
                                                ".local .align 8 .b8 values[8];\n")));
        EXPECT_RUNS(machine,
                    machine.launch("k", {.grid = {400, 1, 1}, .block = {32, 1, 1}}, std::uint64_t{0}));
        const std::string text = machine.emulator.take_output();
        EXPECT_EQ(text.substr(0, most), std::string(most, 'A'));
        EXPECT_THAT(text.substr(most),
                    AllOf(HasSubstr("the rest of the printed text was lost"), EndsWith("]\n")));
        EXPECT_EQ(machine.emulator.take_output(), "");
    }
    Machine machine;
    ASSERT_TRUE(machine.load(limited_kernel(print_values(1) + print, print_declarations(50000, 1),
                                            ".local .align 8 .b8 values[8];\n")));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {32, 1, 1}}, std::uint64_t{0}));
    EXPECT_EQ(machine.emulator.take_output(), std::string(32 * 50000, 'A'));
}

// In the order of the blocks, whatever the order of time: which text is kept does not depend on the host's
// threads.
TEST(LaunchLimits, WhichTextIsKeptDependsOnTheBlocksAlone) {
    const std::string ptx =
        limited_kernel(print_values(1) +
                           "mov.u32 %r2, %ctaid.x; mul.lo.u32 %r3, %r2, 100; cvt.u64.u32 %rd6, "
                           "%r3; add.u64 %rd3, %rd3, %rd6; st.u64 [%rd4], %rd3;\n" +
                           print,
                       print_declarations(60000, 1), ".local .align 8 .b8 values[8];\n");
    std::string first;
    for (const std::uint32_t threads : {1u, 3u, 8u}) {
        Machine machine({.threads = threads, .fast = true});
        ASSERT_TRUE(machine.load(ptx));
        EXPECT_RUNS(machine,
                    machine.launch("k", {.grid = {590, 1, 1}, .block = {1, 1, 1}}, std::uint64_t{0}));
        const std::string text = machine.emulator.take_output();
        if (first.empty()) first = text;
        EXPECT_EQ(text.size(), first.size());
        EXPECT_TRUE(text == first);
    }
    EXPECT_GT(first.size(), std::size_t{16} << 20);
}

// CUDA C++ Programming Guide, formatted output: 32 values, and conversions behind them as they are.
TEST(LaunchLimits, AFormatTakes32Values) {
    Machine machine;
    ASSERT_TRUE(machine.load(limited_kernel(print_values(32) + print, print_declarations(1, 34),
                                            ".local .align 8 .b8 values[272];\n")));
    EXPECT_RUNS(machine, machine.launch("k", {}, std::uint64_t{0}));
    EXPECT_EQ(machine.emulator.take_output(), std::string(32, 'A') + "%s%s");
}

// A million calls, most of them of a full heap.
TEST(LaunchLimits, MallocTakesLogarithmicTime) {
    Machine machine({.fast = true});
    ASSERT_TRUE(
        machine.load(limited_kernel("mov.u32 %r2, 0;\nL: " + allocate("1") +
                                        "add.u32 %r2, %r2, 1; setp.lt.u32 %q1, %r2, 31250; @%q1 bra L;",
                                    heap_functions)));
    const auto begin = Clock::now();
    EXPECT_RUNS(machine, machine.launch("k", {.block = {32, 1, 1}}, std::uint64_t{0}));
    EXPECT_LT(Clock::now() - begin, std::chrono::seconds(30));
}

// Frames and local memory of all blocks that run are the host's.
TEST(LaunchLimits, BlocksTakeABoundedPartOfTheHost) {
    Machine machine;
    ASSERT_TRUE(machine.load(limited_kernel("st.local.u32 [x], 5;", "", ".local .align 4 .b8 x[500000];\n")));
    const auto run = machine.launch("k", {.grid = {16, 1, 1}, .block = {1024, 1, 1}, .cluster = {16, 1, 1}},
                                    std::uint64_t{0});
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::out_of_device_memory);
    EXPECT_THAT(*run.error().detail, HasSubstr("16 blocks of k that run together"));
}

}  // namespace
}  // namespace ptxgraft
