// CUDA to PTX by NVRTC, and the folder that keeps it between runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <thread>

#include "ptxgraft/cache.hpp"
#include "ptxgraft/link.hpp"
#include "support/files.hpp"
#include "support/link_examples.hpp"

namespace ptxgraft {
namespace {

using test::read_file, test::TemporaryFolder, test::write_file;

namespace fs = std::filesystem;
using test::at;
using test::detail;
using test::sum_cu;
using ::testing::AllOf;
using ::testing::HasSubstr;

std::string ptx_of(std::string_view source, const char* target = "sm_90a") {
    auto ptx = compile_cuda(source, {.target = target});
    EXPECT_TRUE(ptx) << describe(ptx.error(), source);
    return ptx ? ptx->text : std::string();
}

// --- CUDA to PTX

TEST(CompileCuda, GivesPtxForTheTarget) {
    for (const char* target : {"sm_75", "sm_80", "sm_90a", "sm_100a", "sm_100f", "sm_120a", "sm_121a"}) {
        const std::string ptx = ptx_of(sum_cu, target);
        EXPECT_THAT(ptx, HasSubstr(std::string(".target ") + target));
        EXPECT_THAT(ptx, HasSubstr(".entry sum("));
        EXPECT_EQ(ptx.find('\0'), std::string::npos);
    }
}

TEST(CompileCuda, UnknownTargetsAreErrorsThatNameTheKnownOnes) {
    for (const char* target :
         {"", "sm_", "sm_12", "90a", "sm_90b", "sm_90f", "sm_80a", "gfx90a", "sm_90a x"}) {
        const auto ptx = compile_cuda("int x;", {.target = target});
        ASSERT_FALSE(ptx) << target;
        EXPECT_EQ(ptx.error().code, Errc::target_unknown);
        EXPECT_THAT(detail(ptx.error()), AllOf(HasSubstr("sm_75"), HasSubstr("sm_120")));
    }
}

TEST(CompileCuda, SaysWhereTheFirstErrorIs) {
    struct Row {
        std::string_view source, place, message;
    };
    const Row rows[] = {
        {"__global__ void k(float* p) {\n\tp[0] = missing + 1;\n}\n", "missing", "\"missing\" is undefined"},
        {"__global__ void k(float* p) {\r\n  int unused;\r\n   other();\r\n}\r\n", "other",
         "\"other\" is undefined"},
        {"__device__ int x = 1;\n#include \"nowhere.h\"\n", "#include \"nowhere.h\"", "nowhere.h"},
        {"#error \"stop\"", "error", "stop"},
        {"__device__ int a; __device__ float a;", "a", "a"},
    };
    for (const auto& row : rows) {
        const auto ptx = compile_cuda(row.source);
        ASSERT_FALSE(ptx);
        EXPECT_EQ(ptx.error().code, Errc::cuda_compile_failed);
        EXPECT_EQ(at(row.source, ptx.error().span), row.place);
        EXPECT_THAT(detail(ptx.error()), HasSubstr(row.message));
    }
}

TEST(CompileCuda, ErrorsInAHeaderHaveNoPlaceInTheSource) {
    const TemporaryFolder folder;
    write_file(folder.path / "wrong.h", "int x = missing;\n");
    const auto ptx = compile_cuda("\n#include <wrong.h>\n", {.include_dirs = {folder.str()}});
    ASSERT_FALSE(ptx);
    EXPECT_FALSE(ptx.error().span.known());
    EXPECT_THAT(detail(ptx.error()), HasSubstr("wrong.h(1)"));
}

TEST(CompileCuda, HeadersOfTheHostAreNotThere) {
    for (const char* const header : {"stdio.h", "vector", "no_such_header.h"}) {
        const auto ptx = compile_cuda(std::string("#include <") + header + ">\n__global__ void k() {}\n", {});
        ASSERT_FALSE(ptx) << header;
        EXPECT_THAT(detail(ptx.error()), HasSubstr("no headers of the host's C and C++")) << header;
    }
    EXPECT_TRUE(
        compile_cuda("#include <cuda/std/cstdint>\n__global__ void k(cuda::std::uint32_t*) {}\n", {}));
    const auto other = compile_cuda("__global__ void k() { missing(); }\n", {});
    ASSERT_FALSE(other);
    EXPECT_THAT(detail(other.error()), testing::Not(HasSubstr("headers of the host")));
}

TEST(CompileCuda, OptionsDefinesAndFoldersReachNvrtc) {
    const TemporaryFolder folder;
    write_file(folder.path / "value.h", "#define VALUE 42\n");
    const std::string_view source =
        "#include <value.h>\n__global__ void k(int* p) { *p = VALUE + ADD; static_assert(__cplusplus == "
        "201703L); }";
    const auto ptx = compile_cuda(
        source,
        {.include_dirs = {folder.str()}, .defines = {"ADD=1000"}, .options = {"-std=c++17", "-lineinfo"}});
    ASSERT_TRUE(ptx) << describe(ptx.error(), source);
    EXPECT_THAT(ptx->text, AllOf(HasSubstr("1042"), HasSubstr(".loc")));
    EXPECT_TRUE(compile_cuda("static_assert(__cplusplus == 202002L);"));
    EXPECT_FALSE(compile_cuda("int x;", {.options = {"--bogus"}}));
}

TEST(CompileCuda, WarningsAreInTheLog) {
    const auto ptx = compile_cuda("__global__ void k() { int unused; }", {.file_name = "odd (name).cu"});
    ASSERT_TRUE(ptx);
    EXPECT_THAT(ptx->log, AllOf(HasSubstr("odd (name).cu(1): warning"), HasSubstr("unused")));
}

TEST(CompileCuda, SiteHeaderAndToolkitHeadersAreAtHand) {
    ASSERT_FALSE(toolkit_include_dirs().empty());
    EXPECT_TRUE(compile_cuda("#include <ptxgraft/site.cuh>\n#include \"ptxgraft/site.cuh\"\n",
                             {.toolkit_headers = false}));
    const std::string_view source =
        "#include <cuda_fp16.h>\n__global__ void k(__half* p) { *p = __float2half(1.5f); }";
    const auto with = compile_cuda(source);
    EXPECT_TRUE(with) << describe(with.error(), source);
    EXPECT_FALSE(compile_cuda(source, {.toolkit_headers = false}));
    const auto cccl = compile_cuda("#include <cuda/std/array>\n__device__ cuda::std::array<int, 3> a;\n");
    EXPECT_TRUE(cccl) << describe(cccl.error());
}

TEST(CompileCuda, ZeroBytesAreErrorsNotEnds) {
    using namespace std::string_view_literals;
    const auto ptx = compile_cuda("int x;\0 garbage"sv);
    ASSERT_FALSE(ptx);
    EXPECT_EQ(ptx.error().code, Errc::argument_invalid);
    EXPECT_EQ(ptx.error().span.begin, 6u);
    EXPECT_FALSE(compile_cuda("int x;", {.defines = {std::string("A\0B", 3)}}));
    EXPECT_TRUE(compile_cuda(""));
}

// --- the disk cache

// The entries of a cache's folder.
std::vector<fs::path> entries_of(const TemporaryFolder& cache) {
    std::vector<fs::path> entries;
    for (const auto& file : fs::directory_iterator(cache.path))
        if (file.path().extension() == ".ptxgraft") entries.push_back(file.path());
    return entries;
}
fs::path entry_of(const TemporaryFolder& cache) {
    const std::vector<fs::path> entries = entries_of(cache);
    EXPECT_EQ(entries.size(), 1u);
    return entries.empty() ? "" : entries[0];
}

TEST(CompileCache, SecondCompilationIsAHitWithTheSameResult) {
    const TemporaryFolder folder;
    const CudaOptions options{.cache_dir = (folder.path / "made" / "on demand").string()};
    const std::string source = "__global__ void k() { int unused; }";
    const auto first = compile_cuda(source, options), second = compile_cuda(source, options);
    ASSERT_TRUE(first && second);
    EXPECT_FALSE(first->from_cache);
    EXPECT_TRUE(second->from_cache);
    EXPECT_EQ(first->text, second->text);
    EXPECT_EQ(first->log, second->log);
    EXPECT_FALSE(first->log.empty());
}

TEST(CompileCache, EveryOptionIsPartOfTheKey) {
    const TemporaryFolder folder, headers;
    const CudaOptions base{.cache_dir = folder.str()};
    std::vector<CudaOptions> others(7, base);
    others[0].target = "sm_80";
    others[1].defines = {"A"};
    others[2].options = {"-lineinfo"};
    others[3].include_dirs = {headers.str()};
    others[4].file_name = "other.cu";
    others[5].toolkit_headers = false;
    others[6].defines = {"A", "B"};
    ASSERT_TRUE(compile_cuda("__device__ int x;", base));
    for (const auto& options : others) {
        const auto ptx = compile_cuda("__device__ int x;", options);
        ASSERT_TRUE(ptx);
        EXPECT_FALSE(ptx->from_cache);
    }
    EXPECT_TRUE(compile_cuda("__device__ int x;", base)->from_cache);
    EXPECT_FALSE(compile_cuda("__device__ int x; ", base)->from_cache);
}

// Each row: what a header chain looks like, and the file whose change must show.
TEST(CompileCache, ChangedHeadersAreMisses) {
    struct Row {
        std::string_view source, first, second, changes;
    };
    const Row rows[] = {
        {"#include <a.h>\n", "#include \"sub/b.h\"\n", "#define V 1", "sub/b.h"},
        {"#include \"a.h\"\n", "#define V 1", "", "a.h"},
        {"#if 1\n#  include <a.h>\n#endif\n", "#include <sub/b.h>", "#define V 1", "sub/b.h"},
        {"# /* why */ include /* not */ <a.h>\n", "#define V 1", "", "a.h"},
        {"/* x\n */ #include <a.h>\n", "#define V 1", "", "a.h"},
        {"#inc\\\nlude \"a.\\\nh\"\n", "#define V 1", "", "a.h"},
        {"%:include <a.h>\n", "#define V 1", "", "a.h"},
        {"#define NAME <a.h>\n#include NAME\n", "#define V 1", "", "a.h"},
    };
    for (const auto& row : rows) {
        const TemporaryFolder cache, headers;
        const CudaOptions options{.include_dirs = {headers.str()}, .cache_dir = cache.str()};
        write_file(headers.path / "a.h", row.first);
        write_file(headers.path / "sub/b.h", row.second);
        const std::string source = std::string(row.source) + "__global__ void k(int* p) { *p = 1000 + V; }";
        const auto old = compile_cuda(source, options);
        ASSERT_TRUE(old) << row.source << describe(old.error(), source);
        write_file(headers.path / row.changes, "#define V 2");
        const auto fresh = compile_cuda(source, options);
        ASSERT_TRUE(fresh);
        EXPECT_THAT(old->text, HasSubstr("1001")) << row.source;
        EXPECT_THAT(fresh->text, HasSubstr("1002")) << row.source;
    }
}

TEST(CompileCache, HeadersThatAppearAreMisses) {
    const TemporaryFolder cache, early, late;
    const CudaOptions options{.include_dirs = {early.str(), late.str()}, .cache_dir = cache.str()};
    write_file(late.path / "v.h", "#define V 1");
    const std::string shadowed = "#include <v.h>\n__global__ void k(int* p) { *p = 1000 + V; }";
    const std::string asked =
        "#if __has_include(<new.h>)\n#define V 2\n#else\n#define V 1\n#endif\n__global__ void k(int* p) { *p "
        "= 1000 + V; }";
    ASSERT_THAT(compile_cuda(shadowed, options)->text, HasSubstr("1001"));
    ASSERT_THAT(compile_cuda(asked, options)->text, HasSubstr("1001"));
    ASSERT_TRUE(compile_cuda(asked, options)->from_cache);
    write_file(early.path / "v.h", "#define V 2");
    write_file(early.path / "new.h", "");
    EXPECT_THAT(compile_cuda(shadowed, options)->text, HasSubstr("1002"));
    EXPECT_THAT(compile_cuda(asked, options)->text, HasSubstr("1002"));
}

TEST(CompileCache, HeadersWithIncludesOfTheToolkitAreHits) {
    const TemporaryFolder cache, headers;
    write_file(headers.path / "mine.h", "#pragma once\n#include <cuda_fp16.h>\n#include \"mine.h\"\n");
    const CudaOptions options{.include_dirs = {headers.str()}, .cache_dir = cache.str()};
    const std::string_view source =
        "#include <mine.h>\n__global__ void k(__half* p) { *p = __float2half(1.5f); }";
    ASSERT_TRUE(compile_cuda(source, options));
    EXPECT_TRUE(compile_cuda(source, options)->from_cache);
}

TEST(CompileCache, WhatTimeChangesIsNotCached) {
    const TemporaryFolder cache;
    const std::string_view source = "__device__ const char* built = __TIME__;";
    ASSERT_TRUE(compile_cuda(source, {.cache_dir = cache.str()}));
    EXPECT_FALSE(compile_cuda(source, {.cache_dir = cache.str()})->from_cache);
}

TEST(CompileCache, DamagedEntriesAreMissesAndAreRepaired) {
    const TemporaryFolder cache;
    const CudaOptions options{.cache_dir = cache.str()};
    const auto good = compile_cuda(sum_cu, options);
    ASSERT_TRUE(good);
    const fs::path entry = entry_of(cache);
    const std::string bytes = read_file(entry);
    for (const std::size_t cut : {std::size_t(0), std::size_t(10), bytes.size() / 2, bytes.size() - 1}) {
        write_file(entry, bytes.substr(0, cut));
        const auto ptx = compile_cuda(sum_cu, options);
        ASSERT_TRUE(ptx);
        EXPECT_FALSE(ptx->from_cache) << cut;
        EXPECT_EQ(ptx->text, good->text);
    }
    for (std::size_t flip = 0; flip < bytes.size(); flip += bytes.size() / 16) {
        std::string damaged = bytes;
        damaged[flip] = static_cast<char>(damaged[flip] ^ 0x20);
        write_file(entry, damaged);
        EXPECT_EQ(compile_cuda(sum_cu, options)->text, good->text) << flip;
    }
    EXPECT_TRUE(compile_cuda(sum_cu, options)->from_cache);
}

TEST(CompileCache, FoldersThatCannotBeWrittenAreNoError) {
    const TemporaryFolder folder;
    write_file(folder.path / "file", "not a folder");
    for (const std::string& dir : {folder.str() + "/file", std::string("/proc/no/such/folder")}) {
        const auto ptx = compile_cuda(sum_cu, {.cache_dir = dir});
        ASSERT_TRUE(ptx);
        EXPECT_FALSE(ptx->from_cache);
    }
}

// Whoever may write into the folder must not reach files outside of it.
TEST(CompileCache, NoFileIsReachedThroughALink) {
    const TemporaryFolder cache, outside;
    const CudaOptions options{.cache_dir = cache.str()};
    const auto good = compile_cuda(sum_cu, options);
    ASSERT_TRUE(good);
    const fs::path entry = entry_of(cache), precious = outside.path / "precious";
    const std::string bytes = read_file(entry);
    EXPECT_EQ(fs::status(entry).permissions() & fs::perms::owner_write, fs::perms::owner_write);
    // A link in the place of the entry, to a file that holds one: it is not read, and replaced without
    // touching the file.
    write_file(precious, bytes);
    fs::remove(entry);
    fs::create_symlink(precious, entry);
    EXPECT_FALSE(compile_cuda(sum_cu, options)->from_cache);
    EXPECT_TRUE(fs::is_regular_file(fs::symlink_status(entry)));
    EXPECT_EQ(read_file(precious), bytes);
    EXPECT_TRUE(compile_cuda(sum_cu, options)->from_cache);
    // Links under every name that a counter or a process number would give.
    write_file(precious, "precious");
    fs::remove(entry);
    for (int i = 0; i < 64; ++i)
        for (const std::string& name :
             {std::to_string(::getpid()) + "." + std::to_string(i), std::to_string(i), std::string("tmp")}) {
            std::error_code ignored;
            fs::create_symlink(precious, entry.string() + "." + name, ignored);
        }
    EXPECT_FALSE(compile_cuda(sum_cu, options)->from_cache);
    EXPECT_EQ(read_file(precious), "precious");
    EXPECT_TRUE(compile_cuda(sum_cu, options)->from_cache);
}

TEST(CompileCache, WhatIsNoFileIsAMiss) {
    const TemporaryFolder cache;
    const CudaOptions options{.cache_dir = cache.str()};
    ASSERT_TRUE(compile_cuda(sum_cu, options));
    const fs::path entry = entry_of(cache);
    fs::remove(entry);
    ASSERT_EQ(::mkfifo(entry.c_str(), 0600), 0);  // reading it would wait for ever
    EXPECT_FALSE(compile_cuda(sum_cu, options)->from_cache);
    fs::remove(entry);
    fs::create_directory(entry);
    EXPECT_FALSE(compile_cuda(sum_cu, options)->from_cache);
    EXPECT_TRUE(compile_cuda(sum_cu, options)->from_cache);
    entry_of(cache);  // nothing is left over
}

TEST(CompileCache, ErrorsAreKeptWithTheirPlace) {
    const auto cache = *Cache::open();
    const std::string_view source = "__global__ void k(int* p) { *p = missing; }";
    for (int i = 0; i < 2; ++i) {
        const auto ptx = compile_cuda(source, {.cache = &cache});
        ASSERT_FALSE(ptx);
        EXPECT_EQ(ptx.error().code, Errc::cuda_compile_failed);
        EXPECT_EQ(at(source, ptx.error().span), "missing");
        EXPECT_THAT(detail(ptx.error()), HasSubstr("\"missing\" is undefined"));
    }
    EXPECT_EQ(cache.counters().misses, 1u);
    EXPECT_EQ(cache.counters().memory_hits, 1u);
}

TEST(CompileCache, ACacheComesBeforeAFolder) {
    const TemporaryFolder folder;
    const auto cache = *Cache::open();
    const CudaOptions options{.cache_dir = folder.str(), .cache = &cache};
    EXPECT_FALSE(compile_cuda(sum_cu, options)->from_cache);
    EXPECT_TRUE(compile_cuda(sum_cu, options)->from_cache);
    EXPECT_EQ(cache.counters().memory_hits, 1u);
    EXPECT_TRUE(fs::is_empty(folder.path));
}

TEST(CompileCache, ThreadsShareIt) {
    const TemporaryFolder cache;
    const std::string expected = ptx_of(sum_cu);
    const auto work = [&] {
        bool right = true;
        for (int i = 0; i < 4; ++i) {
            const auto ptx = compile_cuda(sum_cu, {.cache_dir = cache.str()});
            right = right && ptx && ptx->text == expected;
        }
        return right;
    };
    bool right[2] = {};
    {
        std::jthread one([&] { right[0] = work(); }), two([&] { right[1] = work(); });
    }
    EXPECT_TRUE(right[0] && right[1]);
    // One entry and the ledger, and no temporary file left behind.
    EXPECT_EQ(entries_of(cache).size(), 1u);
    EXPECT_EQ(std::distance(fs::directory_iterator(cache.path), fs::directory_iterator()), 2);
}

}  // namespace
}  // namespace ptxgraft
