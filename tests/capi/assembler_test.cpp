// Assemblers, pools of workers, stops and caches through the C interface.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <filesystem>
#include <string>
#include <thread>

#include "handles.hpp"
#include "ptxgraft/kernel.hpp"
#include "support/compile_bombs.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;

CAssembler open(const char* name) {
    CAssembler assembler;
    EXPECT_OK(ptxgraft_assembler_open(&assembler, name)) << name;
    return assembler;
}

std::string title(const ptxgraft_assembler* assembler) {
    return std::string(ptxgraft_assembler_get_name(assembler)) + " " +
           ptxgraft_assembler_get_version(assembler);
}

CCode assembled(const ptxgraft_skeleton* skeleton, const ptxgraft_graft_options& options) {
    CCode code;
    EXPECT_OK(ptxgraft_machine_code_create(&code, skeleton, &options));
    return code;
}

TEST(CApiAssembler, HaveNameAndVersion) {
    const std::string usual = ptxgraft_library_get_assembler();
    for (const char* const name : {static_cast<const char*>(nullptr), "", "default", "workers:1"})
        EXPECT_EQ(title(open(name)), usual);
    EXPECT_EQ(title(open("nvjitlink")), "nvjitlink " + nvjitlink()->version());
    if (nvptxcompiler()) { EXPECT_EQ(title(open("nvptxcompiler")), usual); }
    for (const char* const name : {"workers:0", "workers:-1", "workers:99999999999", "nothing", "/", "."}) {
        CAssembler none;
        EXPECT_EQ(ptxgraft_assembler_open(&none, name), PTXGRAFT_STATUS_assembler_not_usable) << name;
        EXPECT_EQ(none, nullptr);
    }
}

TEST(CApiAssembler, IsTheOneThatIsNamed) {
    const CSkeleton skeleton = c_skeleton(two_copies);
    const CStub stub = c_stub(skeleton);
    const ptxgraft_graft graft = {"s", stub};
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.grafts = &graft;
    options.graft_count = 1;
    const auto usual = image_of(assembled(skeleton, options));
    const std::string ptxas = program_path("ptxas");
    for (const char* const name : {"workers:2", "nvjitlink", ptxas.c_str()}) {
        if (*name == '\0') continue;  // there is no ptxas
        const CAssembler assembler = open(name);
        options.assembler = assembler;
        const CCode code = assembled(skeleton, options);
        EXPECT_THAT(info_of(code).assembler, HasSubstr(ptxgraft_assembler_get_version(assembler)));
        const auto same = find_assembler(name);
        const Skeleton cpp = skeleton_of(two_copies);
        EXPECT_EQ(image_of(code),
                  cpp.assemble({{"s", stub_of(cpp)}}, {.assembler = same->get()})->cubin->image);
        if (std::string_view(name) == "workers:2") { EXPECT_EQ(image_of(code), usual); }
    }
}

// ---------------------------------------------------------------------------------------------------------
// pools

TEST(CApiWorkerPool, HasLimits) {
    const std::string bomb = time_bomb(), large = memory_bomb(20'000);
    const CSkeleton slow = c_skeleton(bomb), big = c_skeleton(large);
    ptxgraft_worker_pool_options limits = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    limits.workers = 1;
    limits.timeout_ms = 300;
    CAssembler pool;
    ASSERT_EQ(ptxgraft_assembler_create_worker_pool(&pool, &limits), PTXGRAFT_STATUS_ok)
        << ptxgraft_error_get_message();
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.assembler = pool;
    CCode code;
    EXPECT_EQ(ptxgraft_machine_code_create(&code, slow, &options), PTXGRAFT_STATUS_assembler_ended);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("300 ms"));
    EXPECT_EQ(code, nullptr);

    limits = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    limits.workers = 1;
    limits.memory_size = 32 << 20;
    CAssembler small;
    ASSERT_EQ(ptxgraft_assembler_create_worker_pool(&small, &limits), PTXGRAFT_STATUS_ok);
    options.assembler = small;
    EXPECT_EQ(ptxgraft_machine_code_create(&code, big, &options), PTXGRAFT_STATUS_assembler_ended);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("32 MiB"));
    EXPECT_EQ(code, nullptr);
}

TEST(CApiWorkerPool, TakesTheLargestAndTheSmallestNumbers) {
    const CSkeleton skeleton = c_skeleton(two_copies);
    const auto usual = image_of(assembled(skeleton, PTXGRAFT_GRAFT_OPTIONS_INIT));
    for (const bool is_large : {false, true}) {
        ptxgraft_worker_pool_options limits = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
        limits.workers = is_large ? UINT32_MAX : 0;
        limits.timeout_ms = is_large ? UINT32_MAX : 60'000;
        limits.memory_size = is_large ? UINT64_MAX : 0;
        limits.modules_per_worker = is_large ? UINT32_MAX : 0;
        CAssembler pool;
        ASSERT_EQ(ptxgraft_assembler_create_worker_pool(&pool, &limits), PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.assembler = pool;
        EXPECT_EQ(image_of(assembled(skeleton, options)), usual) << is_large;
    }
}

TEST(CApiWorkerPool, RefusesWhatItIsNotMadeOf) {
    CAssembler pool;
    ptxgraft_worker_pool_options wrong = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    wrong.timeout_ms = 0;
    EXPECT_EQ(ptxgraft_assembler_create_worker_pool(&pool, &wrong), PTXGRAFT_STATUS_argument_invalid);
    wrong = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    wrong.assembler = "workers";
    EXPECT_EQ(ptxgraft_assembler_create_worker_pool(&pool, &wrong), PTXGRAFT_STATUS_argument_invalid);
    wrong = PTXGRAFT_WORKER_POOL_OPTIONS_INIT;
    wrong.program = "/nowhere/ptxgraft-worker";
    EXPECT_EQ(ptxgraft_assembler_create_worker_pool(&pool, &wrong), PTXGRAFT_STATUS_assembler_not_usable);
    EXPECT_THAT(ptxgraft_error_get_message(), HasSubstr("/nowhere/ptxgraft-worker"));
    EXPECT_EQ(pool, nullptr);
    ASSERT_EQ(ptxgraft_assembler_create_worker_pool(&pool, nullptr), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(title(pool), ptxgraft_library_get_assembler());
}

TEST(CApiStop, EndsWhatAWorkerAssembles) {
    const CAssembler pool = open("workers:1");
    CStop stop;
    ASSERT_EQ(ptxgraft_stop_create(&stop), PTXGRAFT_STATUS_ok);
    const CSkeleton skeleton = c_skeleton(time_bomb());
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.assembler = pool;
    options.stop = stop;
    CCode code;
    const auto begin = std::chrono::steady_clock::now();
    std::thread other([&] {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        EXPECT_EQ(ptxgraft_stop_request(stop), PTXGRAFT_STATUS_ok);
    });
    EXPECT_EQ(ptxgraft_machine_code_create(&code, skeleton, &options), PTXGRAFT_STATUS_assembler_ended);
    other.join();
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(15));  // it takes 25 s
    EXPECT_EQ(ptxgraft_machine_code_create(&code, skeleton, &options), PTXGRAFT_STATUS_assembler_ended);
    options.assembler = nullptr;  // nor does what assembles in process begin
    const CSkeleton small = c_skeleton(two_copies);
    EXPECT_EQ(ptxgraft_machine_code_create(&code, small, &options), PTXGRAFT_STATUS_assembler_ended);
    EXPECT_EQ(code, nullptr);
}

// ---------------------------------------------------------------------------------------------------------
// caches

struct CApiCache : testing::Test {
    CCache open() {
        CCache cache;
        ptxgraft_cache_options options = PTXGRAFT_CACHE_OPTIONS_INIT;
        const std::string dir = folder.str();
        options.dir = dir.c_str();
        EXPECT_OK(ptxgraft_cache_open(&cache, &options));
        return cache;
    }
    // Where the machine code of the default stubs comes from, made with a number of registers at most.
    ptxgraft_cache_level ask(const ptxgraft_cache* cache, std::uint32_t registers = 0) {
        ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
        options.cache = cache;
        options.max_registers = registers;
        const CCode code = assembled(skeleton, options);
        options.cache = nullptr;
        EXPECT_EQ(image_of(code), image_of(assembled(skeleton, options)));
        return info_of(code).from;
    }

    TemporaryFolder folder;
    CSkeleton skeleton = c_skeleton(two_copies);
};

TEST_F(CApiCache, KeepsMachineCodeInMemoryAndInAFolder) {
    {
        const CCache cache = open();
        EXPECT_EQ(ptxgraft_cache_get_dir(cache), folder.str());
        EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
        EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_memory);
        EXPECT_EQ(ask(cache, 40), PTXGRAFT_CACHE_LEVEL_none);
        const ptxgraft_cache_counters counters = counters_of(cache);
        EXPECT_EQ(counters.memory_hits, 1u);
        EXPECT_GE(counters.misses, 2u);
        EXPECT_GE(counters.stored, 2u);
        EXPECT_GT(counters.written_size, 1000u);
        ptxgraft_cache_size memory = PTXGRAFT_CACHE_SIZE_INIT;
        ASSERT_EQ(ptxgraft_cache_get_memory(&memory, cache), PTXGRAFT_STATUS_ok);
        EXPECT_GE(memory.entries, 2u);
        EXPECT_GT(memory.size, 1000u);
    }
    const CCache again = open();
    EXPECT_EQ(ask(again), PTXGRAFT_CACHE_LEVEL_disk);
    EXPECT_EQ(counters_of(again).disk_hits, 1u);
    EXPECT_GT(counters_of(again).read_size, 1000u);
    ptxgraft_cache_size size = PTXGRAFT_CACHE_SIZE_INIT;
    ptxgraft_cache_counters all = PTXGRAFT_CACHE_COUNTERS_INIT;
    ASSERT_EQ(ptxgraft_cache_get_folder(&size, &all, again), PTXGRAFT_STATUS_ok);
    EXPECT_GE(size.entries, 2u);
    EXPECT_EQ(size.size % 4096, 0u);
    EXPECT_EQ(all.memory_hits, 1u);  // of the first cache
    EXPECT_GE(all.misses, 2u);
    ptxgraft_cache_counters alone = PTXGRAFT_CACHE_COUNTERS_INIT;
    EXPECT_EQ(ptxgraft_cache_get_folder(nullptr, &alone, again), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(alone.misses, all.misses);
    EXPECT_EQ(ptxgraft_cache_get_folder(nullptr, nullptr, again), PTXGRAFT_STATUS_ok);
}

TEST_F(CApiCache, IsVerifiedAndCleared) {
    CCache cache = open();
    EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
    EXPECT_EQ(ask(cache, 40), PTXGRAFT_CACHE_LEVEL_none);
    ptxgraft_cache_check check = PTXGRAFT_CACHE_CHECK_INIT;
    ASSERT_EQ(ptxgraft_cache_verify(&check, cache), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_EQ(check.damaged, 0u);
    EXPECT_EQ(check.abandoned, 0u);
    const std::uint64_t entries = check.whole_entries;
    EXPECT_GE(entries, 2u);
    for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
        if (entry.path().extension() != ".ptxgraft") continue;
        write_file(entry.path(), "damaged");
        break;
    }
    EXPECT_EQ(ptxgraft_cache_verify(&check, cache), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(check.damaged, 1u);
    EXPECT_EQ(check.whole_entries, entries - 1);
    EXPECT_EQ(ptxgraft_cache_verify(nullptr, cache), PTXGRAFT_STATUS_ok);

    ptxgraft_cache_size cleared = PTXGRAFT_CACHE_SIZE_INIT;
    ASSERT_EQ(ptxgraft_cache_clear(&cleared, cache), PTXGRAFT_STATUS_ok) << ptxgraft_error_get_message();
    EXPECT_EQ(cleared.entries, entries - 1);
    EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
    EXPECT_EQ(ptxgraft_cache_clear(nullptr, cache), PTXGRAFT_STATUS_ok);
    ptxgraft_cache_size left = PTXGRAFT_CACHE_SIZE_INIT;
    ASSERT_EQ(ptxgraft_cache_get_folder(&left, nullptr, cache), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(left.entries, 0u);
    EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
}

TEST_F(CApiCache, HasCaps) {
    ptxgraft_cache_options options = PTXGRAFT_CACHE_OPTIONS_INIT;
    const std::string dir = folder.str();
    options.dir = dir.c_str();
    options.memory_size = 0;
    options.disk_size = 0;
    CCache cache;
    ASSERT_EQ(ptxgraft_cache_open(&cache, &options), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
    EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
    EXPECT_EQ(counters_of(cache).stored, 0u);
    EXPECT_GE(counters_of(cache).not_stored, 2u);
    options.memory_size = options.disk_size = UINT64_MAX;
    CCache largest;
    ASSERT_EQ(ptxgraft_cache_open(&largest, &options), PTXGRAFT_STATUS_ok);
    EXPECT_EQ(ask(largest), PTXGRAFT_CACHE_LEVEL_none);
    EXPECT_EQ(ask(largest), PTXGRAFT_CACHE_LEVEL_memory);
    EXPECT_GE(counters_of(largest).stored, 1u);
}

TEST_F(CApiCache, OfMemoryAloneHasNoFolder) {
    for (const char* const dir : {static_cast<const char*>(nullptr), ""}) {
        ptxgraft_cache_options options = PTXGRAFT_CACHE_OPTIONS_INIT;
        options.dir = dir;
        CCache cache;
        ASSERT_EQ(ptxgraft_cache_open(&cache, &options), PTXGRAFT_STATUS_ok);
        EXPECT_STREQ(ptxgraft_cache_get_dir(cache), "");
        EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
        EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_memory);
        ptxgraft_cache_size size = {sizeof size, 7, 7};
        ptxgraft_cache_check check = {sizeof check, 7, 7, 7, 7};
        ASSERT_EQ(ptxgraft_cache_get_folder(&size, nullptr, cache), PTXGRAFT_STATUS_ok);
        ASSERT_EQ(ptxgraft_cache_verify(&check, cache), PTXGRAFT_STATUS_ok);
        EXPECT_EQ(size.entries + size.size + check.whole_entries + check.damaged, 0u);
        EXPECT_EQ(ptxgraft_cache_clear(&size, cache), PTXGRAFT_STATUS_ok);
        EXPECT_EQ(ask(cache), PTXGRAFT_CACHE_LEVEL_none);
    }
    write_file(folder.path / "file", "x");
    const std::string file = (folder.path / "file").string();
    ptxgraft_cache_options options = PTXGRAFT_CACHE_OPTIONS_INIT;
    options.dir = file.c_str();
    CCache none;
    EXPECT_EQ(ptxgraft_cache_open(&none, &options), PTXGRAFT_STATUS_cache_not_usable);
    EXPECT_EQ(none, nullptr);
}

TEST_F(CApiCache, KeepsThePtxOfCuda) {
    const std::string source = "extern \"C\" __global__ void k(float* x) { *x = 1; }\n";
    const CCache cache = open();
    ptxgraft_cuda_options options = PTXGRAFT_CUDA_OPTIONS_INIT;
    options.cache = cache;
    for (std::uint64_t hits = 0; hits < 2; ++hits) {
        CSkeleton made;
        ASSERT_EQ(ptxgraft_skeleton_create_from_cuda(&made, source.data(), source.size(), &options),
                  PTXGRAFT_STATUS_ok)
            << ptxgraft_error_get_message();
        EXPECT_EQ(counters_of(cache).memory_hits, hits);
        EXPECT_EQ(counters_of(cache).misses, 1u);
    }
}

// A cache and an assembler may go before what they made, and before each other.
TEST_F(CApiCache, GoesInAnyOrder) {
    CCache cache = open();
    CAssembler pool;
    ASSERT_EQ(ptxgraft_assembler_open(&pool, "workers:1"), PTXGRAFT_STATUS_ok);
    ptxgraft_graft_options options = PTXGRAFT_GRAFT_OPTIONS_INIT;
    options.cache = cache;
    options.assembler = pool;
    const CCode code = assembled(skeleton, options);
    skeleton.reset();
    pool.reset();
    cache.reset();
    EXPECT_FALSE(image_of(code).empty());
}

}  // namespace
}  // namespace ptxgraft::test
