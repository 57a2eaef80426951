// Assembling in worker processes: as in process, whatever becomes of a worker.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <future>
#include <thread>

#include "ptxgraft/worker.hpp"
#include "support/children.hpp"
#include "support/compile_bombs.hpp"
#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/link_examples.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::children, test::detail, test::eventually, test::memory_bomb, test::time_bomb;

namespace fs = std::filesystem;
using testing::HasSubstr;
using namespace std::chrono_literals;

using Pool = std::shared_ptr<const Assembler>;

Pool pool_of(const WorkerPoolOptions& options) {
    auto pool = worker_pool(options);
    EXPECT_TRUE(pool) << describe(pool.error());
    return pool ? *pool : nullptr;
}

// Every module is another one.
std::string module_of(int number) {
    return test::kernel_text({.parameters = {"u64 p"},
                              .registers = {"b64 %d", "b32 %r"},
                              .body = "ld.param.u64 %d, [p];\nld.global.u32 %r, [%d];\nadd.u32 %r, %r, " +
                                      std::to_string(number) + ";\nst.global.u32 [%d], %r;\n"});
}

// An assembly that goes on until it is killed.
std::future<Expected<Cubin>> explode(const Pool& pool, AssembleOptions options = {}) {
    return std::async(std::launch::async,
                      [pool, options, bomb = time_bomb()] { return pool->assemble(bomb, options); });
}

// The worker that is at it, once it is: one that works longer than it takes to start or to assemble a small
// module.
pid_t busy_worker() {
    pid_t busy = 0;
    int looks = 0;
    EXPECT_TRUE(eventually([&] {
        if (test::process_state(busy).state == 'R') return ++looks == 100;
        looks = 0;
        for (const pid_t id : children()) busy = test::process_state(id).state == 'R' ? id : busy;
        return false;
    }));
    return busy;
}

void expect_equal(const Expected<Cubin>& got, const Expected<Cubin>& want, const std::string& ptx) {
    ASSERT_EQ(got.has_value(), want.has_value())
        << (got ? "" : describe(got.error(), ptx)) << (want ? "" : describe(want.error(), ptx));
    if (!got) {
        EXPECT_EQ(got.error().code, want.error().code);
        EXPECT_EQ(got.error().span, want.error().span);
        EXPECT_EQ(got.error().index, want.error().index);
        EXPECT_EQ(detail(got.error()), detail(want.error()));
        return;
    }
    EXPECT_TRUE(got->image == want->image);
    EXPECT_EQ(got->assembler, want->assembler);
    EXPECT_GT(got->assemble_ms, 0);
    EXPECT_EQ(got->constant_bytes, want->constant_bytes);
    ASSERT_EQ(got->functions.size(), want->functions.size());
    for (std::size_t i = 0; i < got->functions.size(); ++i) {
        const FunctionUsage &a = got->functions[i], &b = want->functions[i];
        EXPECT_EQ(a.name, b.name);
        EXPECT_EQ(a.is_entry, b.is_entry);
        EXPECT_EQ(a.registers, b.registers);
        EXPECT_EQ(a.code_bytes, b.code_bytes);
        EXPECT_EQ(a.parameter_bytes, b.parameter_bytes);
    }
    ASSERT_EQ(got->losses.size(), want->losses.size());
    for (std::size_t i = 0; i < got->losses.size(); ++i)
        EXPECT_EQ(got->losses[i].message, want->losses[i].message);
}

std::string gemm() {
    const std::string path = test::source_path("templates/gemm/simt.cu");
    const auto ptx = compile_cuda(test::read_file(path), {.target = "sm_90a", .file_name = path});
    EXPECT_TRUE(ptx);
    return ptx ? ptx->text : "";
}

TEST(WorkerPool, AssemblesAsInProcess) {
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->name(), default_assembler().name());
    EXPECT_EQ(pool->version(), default_assembler().version());
    const std::string loses =
        test::kernel_text({.target = "sm_90a", .body = "setmaxnreg.inc.sync.aligned.u32 40;\n"});
    for (const std::string& ptx : {module_of(1), gemm(), time_bomb(20), memory_bomb(300), loses})
        for (const AssembleOptions& options : {AssembleOptions{},
                                               {.optimisation = 0, .line_info = true},
                                               {.relocatable = true},
                                               {.max_registers = 24, .allow_performance_loss = true},
                                               {.options = {"--def-load-cache=cg"}},
                                               {.limits = {.registers = 12, .spill_bytes = 0}},
                                               {.limits = {.code_bytes = 512}}})
            expect_equal(pool->assemble(ptx, options), default_assembler().assemble(ptx, options), ptx);
}

TEST(WorkerPool, GivesTheErrorsOfTheAssemblerInProcess) {
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    const std::string good = module_of(1);
    for (const std::string& ptx :
         {std::string(), std::string("garbage"), good + std::string(1, '\0'), good + "}",
          test::kernel_text({.body = "add.u32 %nowhere, 1, 2;\n"}), test::kernel_text({.target = "sm_12"}),
          test::kernel_text({.registers = {"f32 %f"}, .body = "add.f32 %f, %f, %f\n"})}) {
        EXPECT_FALSE(pool->assemble(ptx)) << ptx;
        expect_equal(pool->assemble(ptx), default_assembler().assemble(ptx), ptx);
    }
    for (const AssembleOptions& options : {AssembleOptions{.target = "sm_12"}, {.options = {"--bogus"}}})
        expect_equal(pool->assemble(good, options), default_assembler().assemble(good, options), good);
    EXPECT_TRUE(pool->assemble(good));
    EXPECT_EQ(children().size(), 1u);  // none of that was a worker's end
}

TEST(WorkerPool, OfTheOtherAssembler) {
    const Pool pool = pool_of({.workers = 1, .assembler = "nvjitlink"});
    ASSERT_TRUE(pool);
    EXPECT_EQ(pool->name(), "nvjitlink");
    const std::string wgmma = test::kernel_text({.target = "sm_90a", .body = "wgmma.fence.sync.aligned;\n"});
    for (const std::string& ptx : {module_of(1), wgmma})
        expect_equal(pool->assemble(ptx), nvjitlink()->assemble(ptx), ptx);
    EXPECT_EQ(pool->assemble(wgmma).error().code, Errc::module_refused);
}

TEST(WorkerPool, StaysWarmStartsWhatItNeedsAndLeavesNothingBehind) {
    ASSERT_TRUE(children().empty());
    {
        const Pool pool = pool_of({.workers = 3});
        ASSERT_TRUE(pool);
        const auto first = children();
        ASSERT_EQ(first.size(), 1u);
        EXPECT_EQ(test::process_state(first[0]).name, "ptxgraft-worker");
        for (int i = 0; i < 5; ++i) EXPECT_TRUE(pool->assemble(module_of(i)));
        EXPECT_EQ(children(), first);
        auto busy = explode(pool);
        EXPECT_EQ(busy_worker(), first[0]);
        EXPECT_TRUE(pool->assemble(module_of(1)));
        EXPECT_EQ(children().size(), 2u);
        ::kill(first[0], SIGKILL);
        EXPECT_FALSE(busy.get());
    }
    EXPECT_TRUE(children().empty());  // not even a zombie
}

TEST(WorkerPool, WorkersMakeWayForNewOnes) {
    const Pool pool = pool_of({.workers = 1, .modules_per_worker = 2});
    ASSERT_TRUE(pool);
    const auto first = children();
    EXPECT_TRUE(pool->assemble(module_of(1)));
    EXPECT_EQ(children(), first);
    EXPECT_TRUE(pool->assemble(module_of(2)));
    EXPECT_TRUE(children().empty());
    EXPECT_TRUE(pool->assemble(module_of(3)));
    EXPECT_EQ(children().size(), 1u);
    EXPECT_NE(children(), first);
}

// --- what becomes of workers

TEST(WorkerPool, AnIdleWorkerThatDiesIsReplaced) {
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    for (int i = 0; i < 3; ++i) {
        const auto before = children();
        ASSERT_EQ(before.size(), 1u);
        ::kill(before[0], SIGKILL);
        ASSERT_TRUE(eventually([&] { return test::process_state(before[0]).state == 'Z'; }));
        EXPECT_TRUE(pool->assemble(module_of(i)));
        EXPECT_NE(children(), before);
    }
}

TEST(WorkerPool, AWorkerThatDiesOfItsModuleIsThatCallsError) {
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    for (const auto& [signal, word] : {std::pair{SIGSEGV, "Segmentation fault"}, {SIGKILL, "Killed"}}) {
        auto call = explode(pool);
        ::kill(busy_worker(), signal);
        const auto result = call.get();
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, Errc::assembler_ended);
        EXPECT_THAT(detail(result.error()), HasSubstr(word));
        EXPECT_THAT(detail(result.error()), HasSubstr(pool->version()));
        EXPECT_TRUE(pool->assemble(module_of(1)));
    }
}

TEST(WorkerPool, AModuleThatTakesTooLongHarmsNoOther) {
    const Pool pool = pool_of({.workers = 2, .timeout = 500ms});
    ASSERT_TRUE(pool);
    auto call = explode(pool);
    while (call.wait_for(0s) != std::future_status::ready) EXPECT_TRUE(pool->assemble(module_of(1)));
    const auto result = call.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::assembler_ended);
    EXPECT_THAT(detail(result.error()), HasSubstr("was killed after 500 ms, the limit for a module"));
    EXPECT_TRUE(pool->assemble(module_of(2)));
}

TEST(WorkerPool, AModuleThatTakesTooMuchMemoryHarmsNoOther) {
    const Pool pool = pool_of({.workers = 1, .memory_bytes = 64 << 20});
    ASSERT_TRUE(pool);
    for (int i = 0; i < 2; ++i) {
        const auto before = children();
        const auto result = pool->assemble(memory_bomb(20'000));
        ASSERT_FALSE(result);
        EXPECT_EQ(result.error().code, Errc::assembler_ended) << describe(result.error());
        EXPECT_THAT(detail(result.error()),
                    HasSubstr("wants more memory than 64 MiB, the limit for a worker"));
        EXPECT_TRUE(pool->assemble(module_of(1)));
        EXPECT_NE(children(), before);  // one that lacked memory has not freed what it had
    }
    // Even the text is too large for it.
    const auto text = pool->assemble(module_of(1) + std::string(100 << 20, '\n'));
    ASSERT_FALSE(text);
    EXPECT_THAT(detail(text.error()), HasSubstr("wants more memory than 64 MiB"));
    EXPECT_TRUE(pool->assemble(module_of(2)));
}

TEST(WorkerPool, OfTheOtherAssemblerHasLimitsToo) {
    const Pool pool = pool_of({.workers = 1, .memory_bytes = 64 << 20, .assembler = "nvjitlink"});
    ASSERT_TRUE(pool);
    const auto result = pool->assemble(memory_bomb(20'000));
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::assembler_ended) << describe(result.error());
    EXPECT_THAT(detail(result.error()), HasSubstr("wants more memory than 64 MiB"));
    EXPECT_TRUE(pool->assemble(module_of(1)));
}

TEST(WorkerPool, TheCallersStopEndsACall) {
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    std::stop_source at_work, waiting;
    auto first = explode(pool, {.stop = at_work.get_token()});
    busy_worker();
    auto second = explode(pool, {.stop = waiting.get_token()});  // there is no worker for it
    waiting.request_stop();
    EXPECT_EQ(second.get().error().code, Errc::assembler_ended);
    EXPECT_EQ(first.wait_for(0s), std::future_status::timeout);
    at_work.request_stop();
    const auto result = first.get();
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, Errc::assembler_ended);
    EXPECT_THAT(detail(result.error()), HasSubstr("the caller's stop"));
    for (const Assembler* assembler : {pool.get(), &default_assembler()}) {
        const auto late = assembler->assemble(module_of(1), {.stop = at_work.get_token()});
        ASSERT_FALSE(late);
        EXPECT_EQ(late.error().code, Errc::assembler_ended);
    }
    std::stop_source never;
    EXPECT_TRUE(pool->assemble(module_of(1), {.stop = never.get_token()}));
}

// --- many callers

TEST(WorkerPool, ThreadsShareIt) {
    const Pool pool = pool_of({.workers = 3});
    ASSERT_TRUE(pool);
    constexpr int threads = 8, modules = 12;
    std::atomic<int> right = 0;
    {
        std::vector<std::jthread> all;
        for (int t = 0; t < threads; ++t)
            all.emplace_back([&, t] {
                for (int i = 0; i < modules; ++i) {
                    const std::string ptx = module_of(t * modules + i);
                    const auto got = pool->assemble(ptx), want = default_assembler().assemble(ptx);
                    right += got && want && got->image == want->image;
                }
            });
    }
    EXPECT_EQ(right, threads * modules);
    EXPECT_LE(children().size(), 3u);
    EXPECT_GE(children().size(), 2u);
}

TEST(WorkerPool, ThreadsShareItWhileWorkersDie) {
    const Pool pool = pool_of({.workers = 2, .modules_per_worker = 5});
    ASSERT_TRUE(pool);
    std::atomic<bool> is_over = false;
    std::atomic<int> right = 0, ended = 0;
    {
        std::jthread killer([&] {
            for (unsigned i = 0; !is_over; ++i, std::this_thread::sleep_for(20ms))
                if (const auto all = children(); !all.empty()) ::kill(all[i % all.size()], SIGKILL);
        });
        std::vector<std::jthread> all;
        for (int t = 0; t < 4; ++t)
            all.emplace_back([&, t] {
                for (int i = 0; i < 15; ++i) {
                    const auto got = pool->assemble(module_of(t * 100 + i));
                    ended += !got && (got.error().code == Errc::assembler_ended ||
                                      got.error().code == Errc::assembler_not_usable);
                    right += got.has_value();
                }
            });
        all.clear();
        is_over = true;
    }
    EXPECT_EQ(right + ended, 60);
    EXPECT_TRUE(pool->assemble(module_of(1)));
}

// --- the process around it

TEST(WorkerPool, WorkersHaveNoFilesOfOurs) {
    const int inherited = ::dup(0);  // without close-on-exec
    const Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    ASSERT_TRUE(pool->assemble(module_of(1)));
    ::close(inherited);
    const fs::path process = "/proc/" + std::to_string(children().at(0));
    std::vector<std::string> files;
    for (const auto& file : fs::directory_iterator(process / "fd"))
        files.push_back(fs::read_symlink(file).string());
    std::sort(files.begin(), files.end());
    ASSERT_EQ(files.size(), 4u);
    EXPECT_THAT(files[0], HasSubstr("anon_inode:[pidfd]"));
    EXPECT_THAT(files[1], HasSubstr("pipe:"));
    EXPECT_EQ(files[2], files[1]);
    EXPECT_THAT(files[3], HasSubstr("socket:"));
    EXPECT_EQ(fs::read_symlink(process / "cwd"), "/");
}

TEST(WorkerPool, WorksWithoutStandardFilesAndWithoutNewsOfChildren) {
    std::array<int, 3> kept;
    for (int i = 0; i < 3; ++i) kept[static_cast<std::size_t>(i)] = ::fcntl(i, F_DUPFD_CLOEXEC, 10);
    ASSERT_NE(::signal(SIGCHLD, SIG_IGN), SIG_ERR);
    for (int i = 0; i < 3; ++i) ::close(i);
    auto pool = worker_pool({.workers = 1});
    const bool is_good = pool && (*pool)->assemble(module_of(1));
    const auto all = children();
    if (!all.empty()) ::kill(all[0], SIGKILL);
    const bool is_gone = eventually([&] { return children().empty(); });
    const bool is_good_again = pool && (*pool)->assemble(module_of(2));
    if (pool) pool->reset();
    const bool is_clean = eventually([&] { return children().empty(); });
    for (int i = 0; i < 3; ++i) ::dup2(kept[static_cast<std::size_t>(i)], i);
    for (const int file : kept) ::close(file);
    ::signal(SIGCHLD, SIG_DFL);
    EXPECT_TRUE(pool) << describe(pool.error());
    EXPECT_TRUE(is_good && is_gone && is_good_again && is_clean)
        << is_good << is_gone << is_good_again << is_clean;
}

TEST(WorkerPool, BelongsToItsProcess) {
    Pool pool = pool_of({.workers = 1});
    ASSERT_TRUE(pool);
    const auto before = children();
    const pid_t forked = ::fork();
    if (forked == 0) {
        const auto result = pool->assemble(module_of(1));
        const bool is_right = !result && result.error().code == Errc::assembler_not_usable;
        pool.reset();
        ::_exit(is_right ? 0 : 1);
    }
    int status = -1;
    ASSERT_EQ(::waitpid(forked, &status, 0), forked);
    EXPECT_EQ(status, 0);
    EXPECT_TRUE(pool->assemble(module_of(1)));
    EXPECT_EQ(children(), before);
}

// A process with a pool that has one worker at work and one idle. It is killed, and leaves no worker, even
// where a process that was forked from it holds its files.
TEST(WorkerPool, WorkersEndWithTheProcessThatOwnsThem) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    const pid_t owner = ::fork();
    if (owner == 0) {
        auto pool = worker_pool({.workers = 2});
        auto call = explode(*pool);
        busy_worker();
        static_cast<void>((*pool)->assemble(module_of(1)));
        const pid_t holder = ::fork();
        if (holder == 0) {
            ::sleep(120);
            ::_exit(0);
        }
        if (::write(ends[1], &holder, sizeof holder) != sizeof holder) ::_exit(1);
        ::sleep(120);
        ::_exit(0);
    }
    pid_t holder = 0;
    ASSERT_EQ(::read(ends[0], &holder, sizeof holder), static_cast<ssize_t>(sizeof holder));
    auto workers = test::children_of(owner);
    std::erase(workers, holder);
    EXPECT_EQ(workers.size(), 2u);
    ::kill(owner, SIGKILL);
    EXPECT_EQ(::waitpid(owner, nullptr, 0), owner);
    for (const pid_t worker : workers)
        EXPECT_TRUE(eventually([&] {
            const char state = test::process_state(worker).state;
            return state == 0 || state == 'Z';  // whoever has adopted it may not collect it
        }));
    ::kill(holder, SIGKILL);
    ::close(ends[0]);
    ::close(ends[1]);
}

// --- the program

// The second one that is started is killed as it starts; who waits for it gets the third.
TEST(WorkerPool, AWorkerThatIsKilledAsItStartsCostsNobodyHisModule) {
    const test::TemporaryFolder folder;
    const std::string script = (folder.path / "script").string(), count = (folder.path / "count").string();
    test::write_file(script, "#!/bin/sh\necho . >> " + count + "\n[ $(wc -l < " + count +
                                 ") = 2 ] && kill -9 $$\nexec " + test::build_path("ptxgraft-worker") +
                                 " \"$@\"\n");
    ::chmod(script.c_str(), 0700);
    const auto pool = worker_pool({.workers = 1, .modules_per_worker = 1, .program = script});
    ASSERT_TRUE(pool) << detail(pool.error());
    EXPECT_TRUE((*pool)->assemble(module_of(1)));
    EXPECT_TRUE((*pool)->assemble(module_of(2)));
    EXPECT_EQ(test::read_file(count), ".\n.\n.\n");
}

TEST(WorkerPool, WhatIsNoWorkerIsAnErrorAtOnce) {
    const test::TemporaryFolder folder;
    const std::string text = (folder.path / "text").string(), script = (folder.path / "script").string();
    test::write_file(text, "no program");
    test::write_file(script, "#!/bin/sh\necho a worker\necho speaks otherwise >&2\nexit 3\n");
    ::chmod(script.c_str(), 0700);
    for (const std::string& path : {std::string("/no/such/worker"), folder.str(), text, script,
                                    std::string("/bin/true"), std::string("/bin/cat")}) {
        const auto pool = worker_pool({.program = path});
        ASSERT_FALSE(pool) << path;
        EXPECT_EQ(pool.error().code, Errc::assembler_not_usable) << path;
        EXPECT_THAT(detail(pool.error()), HasSubstr(path));
    }
    EXPECT_THAT(detail(worker_pool({.program = script}).error()), HasSubstr("status 3\na worker\nspeaks"));
    EXPECT_EQ(worker_pool({.assembler = "ptxas"}).error().code, Errc::argument_invalid);
    EXPECT_EQ(worker_pool({.timeout = 0ms}).error().code, Errc::argument_invalid);
    EXPECT_TRUE(children().empty());
}

TEST(WorkerPool, ItsProgramSaysWhatItIsFor) {
    const std::string program = test::build_path("ptxgraft-worker");
    for (const char* arguments : {"", " --help", " serve-0 default 0", " serve-1 default many"})
        EXPECT_EQ(std::system((program + arguments + " 2>/dev/null </dev/null").c_str()), 2 << 8);
    EXPECT_TRUE(pool_of({.workers = 1, .program = program})->assemble(module_of(1)));
}

}  // namespace
}  // namespace ptxgraft
