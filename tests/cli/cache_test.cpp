// What the program keeps between runs, and `ptxgraft cache`.
#include <nlohmann/json.hpp>

#include "ptxgraft/cache.hpp"
#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;
using Json = nlohmann::json;

constexpr const char* kernel_cu = "extern \"C\" __global__ void k(float* p) { *p = 2 * *p; }\n";

Json stats(const std::vector<std::string>& more = {}) {
    std::vector<std::string> words = {"cache", "stats", "--json"};
    words.insert(words.end(), more.begin(), more.end());
    const Result result = ptxgraft(words);
    EXPECT_EQ(result.status, 0) << result.err;
    return Json::parse(result.out);
}

TEST_F(Cli, ResultsAreKeptInTheUsersCache) {
    write_file("k.cu", kernel_cu);
    EXPECT_EQ(stats()["entries"], 0);
    EXPECT_FALSE(fs::exists(cache_));
    const Result first = ptxgraft({"graft", "k.cu", "-o", "first.cubin"});
    ASSERT_EQ(first.status, 0) << first.err;
    Json now = stats();
    EXPECT_EQ(now["folder"], (cache_ / "ptxgraft").string());
    EXPECT_EQ(now["entries"], 2);  // PTX and machine code
    EXPECT_EQ(now["misses"], 3);   // of machine code also its text, under which an error would be
    EXPECT_EQ(now["disk_hits"], 0);
    ASSERT_EQ(ptxgraft({"graft", "k.cu", "-o", "second.cubin"}).status, 0);
    EXPECT_EQ(stats()["disk_hits"], 2);
    EXPECT_EQ(read_file("first.cubin"), read_file("second.cubin"));
    EXPECT_EQ(ptxgraft({"compile", "k.cu"}).out, ptxgraft({"compile", "k.cu", "--no-cache"}).out);
    EXPECT_EQ(stats()["disk_hits"], 3);
    EXPECT_EQ(stats()["misses"], 3);
}

TEST_F(Cli, WarningsAndErrorsAreSaidAgain) {
    write_file("warns.cu", "__global__ void k() { int unused; }\n");
    write_file("fails.cu", "__global__ void k() { missing(); }\n");
    for (const char* const file : {"warns.cu", "fails.cu"}) {
        const Result first = ptxgraft({"compile", file}), second = ptxgraft({"compile", file});
        EXPECT_EQ(first.err, second.err);
        EXPECT_EQ(first.status, second.status);
        EXPECT_THAT(first.err, HasSubstr(file));
    }
    EXPECT_EQ(stats()["disk_hits"], 2);
}

TEST_F(Cli, WithoutACacheNothingIsKept) {
    write_file("k.cu", kernel_cu);
    EXPECT_EQ(ptxgraft({"graft", "k.cu", "--no-cache", "-o", "k.cubin"}).status, 0);
    EXPECT_FALSE(fs::exists(cache_));
    EXPECT_EQ(ptxgraft({"compile", "k.cu", "--no-cache", "--cache", "here"}).status, 2);
    setenv("XDG_CACHE_HOME", "relative", 1);  // counts as not set
    setenv("HOME", (cache_ / "home").c_str(), 1);
    EXPECT_EQ(stats()["folder"], (cache_ / "home/.cache/ptxgraft").string());
    setenv("HOME", "", 1);
    EXPECT_EQ(ptxgraft({"compile", "k.cu"}).status, 0);
    const Result nowhere = ptxgraft({"cache", "stats"});
    EXPECT_EQ(nowhere.status, 2);
    EXPECT_THAT(nowhere.err, HasSubstr("give --cache DIR"));
    EXPECT_FALSE(fs::exists("relative"));
}

TEST_F(Cli, CacheNamesAFolderOfItsOwn) {
    write_file("k.cu", kernel_cu);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(ptxgraft({"compile", "k.cu", "--cache", "here/it"}).status, 0);
    EXPECT_EQ(stats({"--cache", "here/it"})["disk_hits"], 1);
    EXPECT_FALSE(fs::exists(cache_));
    const Result file = ptxgraft({"compile", "k.cu", "--cache", "k.cu"});
    EXPECT_EQ(file.status, 1);
    EXPECT_EQ(file.err, "error: not a usable cache: k.cu is no folder\n");
    write_file(cache_, "a file in the place of the user's own");
    EXPECT_EQ(ptxgraft({"compile", "k.cu"}).status, 0);
}

TEST_F(Cli, CacheIsVerifiedAndCleared) {
    write_file("k.cu", kernel_cu);
    ASSERT_EQ(ptxgraft({"graft", "k.cu", "--cache", "here", "-o", "k.cubin"}).status, 0);
    const Result whole = ptxgraft({"cache", "verify", "--cache", "here"});
    EXPECT_EQ(whole.status, 0) << whole.err;
    EXPECT_THAT(whole.out, HasSubstr("             2  entries, which are whole\n"));
    EXPECT_THAT(whole.out, HasSubstr("             0  damaged files removed\n"));
    for (const auto& file : fs::directory_iterator("here"))
        if (file.path().extension() == ".ptxgraft") {
            fs::resize_file(file, 100);
            break;
        }
    const Json check = Json::parse(ptxgraft({"cache", "verify", "--cache", "here", "--json"}).out);
    EXPECT_EQ(check["entries"], 1);
    EXPECT_EQ(check["damaged"], 1);
    EXPECT_EQ(check["abandoned"], 0);
    EXPECT_EQ(check["folder"], (folder_ / "here").string());
    EXPECT_THAT(ptxgraft({"cache", "stats", "--cache", "here"}).out, HasSubstr("  entries stored\n"));
    const Result cleared = ptxgraft({"cache", "clear", "--cache", "here"});
    EXPECT_EQ(cleared.status, 0) << cleared.err;
    EXPECT_THAT(cleared.out, HasSubstr("             1  entries removed\n"));
    EXPECT_EQ(stats({"--cache", "here"})["entries"], 0);
    EXPECT_EQ(stats({"--cache", "here"})["stored"], 0);
    EXPECT_EQ(ptxgraft({"cache"}).status, 2);
    EXPECT_EQ(ptxgraft({"cache", "burn"}).status, 2);
}

}  // namespace
}  // namespace ptxgraft::test
