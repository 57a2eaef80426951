// Variants in worker processes: the same as in process, whatever becomes of a worker.
#include "ptxgraft/measure/pool.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <future>
#include <thread>

#include "measure/support.hpp"
#include "ptxgraft/version.h"
#include "support/children.hpp"
#include "support/paths.hpp"

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;
using testing::SizeIs;
using namespace std::chrono_literals;

// Right ones and all kinds of wrong ones, each another text.
std::vector<VariantCode> some_variants(int rounds) {
    std::vector<VariantCode> variants;
    for (int round = 0; round < rounds; ++round)
        for (const char* name : {"honest", "constant_output", "hang", "wild_pointer", "honest", "trap",
                                 "partial_write", "over_inputs", "honest", "race"})
            variants.push_back(salted(cheat(name), std::to_string(variants.size())));
    return variants;
}

void expect_as_here(std::span<const Expected<Check>> checks, std::span<const VariantCode> variants) {
    Checker checker = checker_of(square);
    ASSERT_EQ(checks.size(), variants.size());
    for (std::size_t k = 0; k < checks.size(); ++k)
        expect_equal(checks[k], check_here(checker, variants[k]), std::to_string(k));
}

TEST(Pool, ChecksAsInProcessInOrder) {
    const Pool pool = pool_of({.devices = {"emulator", "emulator"}});
    ASSERT_THAT(pool.workers(), SizeIs(2));
    EXPECT_EQ(pool.workers()[0].library, PTXGRAFT_VERSION_STRING);
    EXPECT_EQ(pool.workers()[0].target, "sm_90a");
    const std::vector<VariantCode> variants = some_variants(2);
    expect_as_here(pool.check(square, variants), variants);
    EXPECT_EQ(pool.report().checks, variants.size());
    EXPECT_EQ(pool.report().deaths, 0u);
    for (const auto& check : pool.health(square)) EXPECT_EQ(check->finding, Finding::right);
}

TEST(Pool, AnyNumberOfThreadsMayCheck) {
    const Pool pool = pool_of({.devices = {"emulator"}, .spares = 0});
    const std::vector<VariantCode> variants = some_variants(1);
    std::vector<std::future<std::vector<Expected<Check>>>> all;
    for (int t = 0; t < 4; ++t)
        all.push_back(std::async(std::launch::async, [&] { return pool.check(square, variants); }));
    for (auto& one : all) expect_as_here(one.get(), variants);
}

TEST(Pool, RejectsWhatDoesNotLoad) {
    const Pool pool = pool_of({.devices = {"emulator"}, .spares = 0});
    const std::vector<VariantCode> variants = {cheat("garbage"), cheat("other_entry"),
                                               cheat("other_signature"), VariantCode{}, cheat("clock")};
    for (const auto& check : pool.check(square, variants)) {
        ASSERT_TRUE(check) << describe(check.error());
        EXPECT_EQ(check->finding, Finding::rejected) << name(check->finding);
        EXPECT_NE(check->error.code, Errc::ok);
    }
}

TEST(Pool, MistakesOfAWorkloadAreErrors) {
    const Pool pool = pool_of({.devices = {"emulator"}, .spares = 0});
    const std::vector<VariantCode> variants = {cheat("honest"), cheat("honest")};
    for (const auto& check : pool.check(R"({"template": "norm/rmx", "shapes": [{"n": 1}]})", variants)) {
        ASSERT_FALSE(check);
        EXPECT_EQ(check.error().code, Errc::template_unknown);
    }
    EXPECT_EQ(pool.check(square, variants)[0]->finding, Finding::right) << "and the worker is well";
}

// A worker keeps the eight that were used last; the others it opens again.
TEST(Pool, ManyWorkloadsTakeTurns) {
    const Pool pool = pool_of({.devices = {"emulator"}, .spares = 0});
    std::vector<std::string> workloads;
    for (int n = 30; n < 40; ++n) {
        std::string text(square);
        text.replace(text.find("33"), 2, std::to_string(n));
        workloads.push_back(std::move(text));
    }
    const std::vector<VariantCode> variants = {cheat("honest")};
    for (const std::size_t k : {0, 1, 2, 0, 3, 4, 0, 5, 6, 7, 0, 8, 1, 9, 0, 2, 8}) {
        const auto checks = pool.check(workloads[k], variants);
        ASSERT_TRUE(checks[0]) << k << describe(checks[0].error());
        EXPECT_EQ(checks[0]->finding, Finding::right);
    }
    EXPECT_EQ(pool.report().deaths, 0u);
}

// What takes more memory than a worker may have is that variant's fault, and another worker goes on.
TEST(Pool, MemoryHasALimit) {
    const Pool pool =
        pool_of({.devices = {"emulator"}, .deadlines = {.load = 20s}, .memory_bytes = 96 << 20});
    VariantCode large = cheat("honest");
    std::string more;
    for (int k = 0; k < 400'000; ++k) more += "fma.rn.f32 %f2, %f2, %f2, %f2;\n";
    large.ptx.insert(large.ptx.rfind("    ret;"), more);
    const std::vector<VariantCode> variants = {cheat("honest"), large, cheat("partial_write")};
    const auto checks = pool.check(square, variants);
    EXPECT_EQ(checks[0]->finding, Finding::right);
    ASSERT_TRUE(checks[1]) << describe(checks[1].error());
    EXPECT_EQ(checks[1]->finding, Finding::fault);
    EXPECT_EQ(checks[1]->error.code, Errc::out_of_memory) << message(checks[1]->error);
    EXPECT_EQ(checks[2]->finding, Finding::wrong);
}

TEST(Pool, AWorkerThatDoesNotStartIsAnError) {
    const auto expect = [](const PoolOptions& options, Errc code, std::string_view says) {
        const auto pool = Pool::open(options);
        ASSERT_FALSE(pool);
        EXPECT_EQ(pool.error().code, code);
        EXPECT_THAT(describe(pool.error()), HasSubstr(std::string(says)));
    };
    expect({.devices = {}}, Errc::argument_invalid, "a device");
    expect({.devices = {"emulator:sm_1"}}, Errc::measure_worker_failed, "sm_1");
    expect({.devices = {"emulator"}, .command = {"/bin/false"}}, Errc::measure_worker_failed, "status 1");
    expect({.devices = {"emulator"}, .command = {"/bin/echo"}}, Errc::measure_worker_failed, "not a frame");
    expect({.devices = {"emulator"}, .command = {"/nowhere/ptxgraft"}}, Errc::measure_worker_failed,
           "nowhere");
    expect({.devices = {"emulator"}, .deadlines = {.hello = 200ms}, .command = {"/bin/sh", "-c", "sleep 30"}},
           Errc::measure_worker_failed, "in time");
}

// As ssh, srun and Ray carry it.
TEST(Pool, FramesPassThroughPipes) {
    const Pool pool =
        pool_of({.devices = {"emulator"},
                 .spares = 0,
                 .command = {"/bin/sh", "-c", "cat | " + program + " \"$@\" | cat", "ptxgraft"}});
    const std::vector<VariantCode> variants = some_variants(1);
    expect_as_here(pool.check(square, variants), variants);
}

struct Junk {
    std::string bytes;
    std::string_view says;
};
// As the shell has it: what the worker says, and its exit status.
std::string worker_on(const std::string& bytes) {
    const std::string file = testing::TempDir() + "ptxgraft_junk_" + std::to_string(::getpid());
    test::write_file(file, bytes);
    const std::string command =
        program + " worker --device emulator < " + file + " 2>&1 > /dev/null; echo status $?";
    std::string said;
    if (std::FILE* const pipe = ::popen(command.c_str(), "r")) {
        for (int c; (c = std::fgetc(pipe)) != EOF;) said += static_cast<char>(c);
        ::pclose(pipe);
    }
    std::filesystem::remove(file);
    return said;
}

TEST(Pool, AWorkerEndsWithAMessageAfterWhatIsNoFrame) {
    const std::string header("\x05\0\0\0\x01\0\x05\0\x01\0\0\0\0\0\0\0", 16);
    std::string oversized = header, other_version = header, no_request = header;
    oversized[3] = '\x7f', other_version[4] = 9, no_request[6] = 7;
    const Junk junk[] = {{std::string(100, '\x5a'), "version"},
                         {oversized, "more than a frame may have"},
                         {other_version, "version 9"},
                         {no_request + "12345", "no request"},
                         {header + "12345", "the payload is no"}};
    for (const Junk& one : junk) {
        const std::string said = worker_on(one.bytes);
        EXPECT_THAT(said, HasSubstr("not a frame of the worker protocol"));
        EXPECT_THAT(said, HasSubstr(std::string(one.says)));
        EXPECT_THAT(said, HasSubstr("status 1"));
    }
    EXPECT_EQ(worker_on(header.substr(0, 9)), "status 0\n") << "the other side has gone";
}

// ---- what may happen to a worker

// Processes of the pool, which are children of this one, and what they have started.
std::vector<pid_t> workers() { return test::children(); }

TEST(Pool, AWorkerThatIsKilledIdleIsReplaced) {
    const Pool pool = pool_of({.devices = {"emulator"}, .spares = 0});
    const std::vector<VariantCode> variants = some_variants(1);
    static_cast<void>(pool.check(square, variants));
    for (const pid_t id : workers()) {
        ::kill(id, SIGKILL);
        EXPECT_TRUE(test::eventually([&] { return test::process_state(id).state == 'Z'; }));
    }
    expect_as_here(pool.check(square, variants), variants);
    EXPECT_EQ(pool.report().deaths, 0u) << "no variant had a part in it";
    EXPECT_EQ(pool.report().recovered, 1u);
}

TEST(Pool, AWorkerThatIsStoppedIsReplaced) {
    const Pool pool = pool_of({.devices = {"emulator"}, .deadlines = {.load = 500ms}});
    const std::vector<VariantCode> variants = some_variants(1);
    static_cast<void>(pool.check(square, std::span(variants).first(1)));
    const std::vector<pid_t> before = workers();
    ASSERT_GE(before.size(), 1u);
    ::kill(before.front(), SIGSTOP);
    expect_as_here(pool.check(square, variants), variants);
    EXPECT_LE(pool.report().deaths, 1u);
}

TEST(Pool, WorkersEndWithTheirPool) {
    {
        const Pool pool = pool_of({.devices = {"emulator"}});
        static_cast<void>(pool.check(square, some_variants(1)));
    }
    EXPECT_TRUE(test::eventually([] { return workers().empty(); }));
}

struct Fault {
    std::string_view name;
    bool kills;  ///< the worker, each time
};
class PoolFault : public testing::TestWithParam<Fault> {};

TEST_P(PoolFault, ChangesNoResult) {
    const Pool pool = pool_of({.devices = {"emulator"},
                               .deadlines = {.load = 1000ms},
                               .command = {faulty, std::string(GetParam().name), program}});
    const std::vector<VariantCode> variants = some_variants(1);
    expect_as_here(pool.check(square, variants), variants);
    if (GetParam().kills)
        EXPECT_GE(pool.report().deaths, 1u);
    else
        EXPECT_EQ(pool.report().deaths, 0u);
    EXPECT_LE(pool.report().recovered, pool.report().deaths);
    EXPECT_GE(pool.report().recovered + 1, pool.report().deaths) << "but for the last one";
}
INSTANTIATE_TEST_SUITE_P(All, PoolFault,
                         testing::Values(Fault{"kill=4", true}, Fault{"stop=6", true},
                                         Fault{"garbage=5", true}, Fault{"cut=5", true},
                                         Fault{"twice=2", false}, Fault{"late=2", false},
                                         Fault{"slow=3", false}, Fault{"noise=2", false},
                                         Fault{"twice=1,late=1,slow=4", false}));

TEST(Pool, TheSecondDeathOfAVariantIsFinal) {
    const Pool pool = pool_of(
        {.devices = {"emulator"}, .deadlines = {.load = 700ms}, .command = {faulty, "twice=3", program}});
    const std::vector<VariantCode> variants = {cheat("honest"), salted(cheat("honest"), "(kill the worker)"),
                                               salted(cheat("honest"), "(stop the worker)"),
                                               salted(cheat("honest"), "another")};
    const auto checks = pool.check(square, variants);
    EXPECT_EQ(checks[0]->finding, Finding::right);
    ASSERT_TRUE(checks[1]) << describe(checks[1].error());
    EXPECT_EQ(checks[1]->finding, Finding::crashed);
    EXPECT_THAT(describe(checks[1]->error), HasSubstr("died"));
    EXPECT_EQ(checks[2]->finding, Finding::hang);
    EXPECT_THAT(describe(checks[2]->error), HasSubstr("in time"));
    EXPECT_EQ(checks[3]->finding, Finding::right);
    EXPECT_EQ(pool.report().deaths, 4u);
    EXPECT_EQ(pool.report().late, 2u);
}

TEST(Pool, ASickDeviceHandsItsQueueBack) {
    // The first worker works until it is killed; no other one gets through its baseline.
    const Pool pool = pool_of({.devices = {"emulator"}, .command = {faulty, "kill=2,baseline=1", program}});
    const std::vector<VariantCode> variants = some_variants(1);
    const auto checks = pool.check(square, variants);
    ASSERT_TRUE(checks[0]);
    EXPECT_EQ(checks[0]->finding, Finding::right);
    for (std::size_t k = 1; k < checks.size(); ++k) {
        ASSERT_FALSE(checks[k]) << k;
        EXPECT_EQ(checks[k].error().code, Errc::measure_worker_failed);
        EXPECT_THAT(describe(checks[k].error()), HasSubstr("sick"));
    }
    EXPECT_EQ(pool.report().sick_devices, 1u);
    EXPECT_FALSE(pool.check(square, variants)[0]);
}

}  // namespace
}  // namespace ptxgraft::measure
