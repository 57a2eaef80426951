// The verb doctor: what it finds where all is in its place, and what it says where something is not.

#include <nlohmann/json.hpp>

#include <map>

#include "ptxgraft/link.hpp"
#include "support/cli.hpp"
#include "support/paths.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::IsEmpty;
using Json = nlohmann::json;

std::map<std::string, Json> findings(const Result& result) {
    std::map<std::string, Json> all;
    const Json report = Json::parse(result.out);
    for (const Json& one : report.at("findings")) all[one.at("what")] = one;
    return all;
}

TEST_F(Cli, TheDoctorFindsWhatABuildHas) {
    const Result result = ptxgraft({"doctor", "--json", "--driver", "libthere_is_no_such_driver.so"});
    ASSERT_EQ(result.status, 0) << result.out << result.err;
    EXPECT_TRUE(Json::parse(result.out).at("works"));
    auto all = findings(result);
    for (const char* const what : {"library", "NVRTC", "CUDA's headers", "nvJitLink", "worker program",
                                   "emulator", "cache", "templates", "stubs and sets", "main job"}) {
        EXPECT_EQ(all[what]["state"], "ok") << what << all[what];
        EXPECT_TRUE(all[what]["remedy"].is_null()) << what;
    }
    EXPECT_THAT(all["library"]["found"].get<std::string>(), HasSubstr("libptxgraft.so"));
    EXPECT_THAT(all["emulator"]["found"].get<std::string>(), ContainsRegex("vectors of (128|256|512) bits"));
    EXPECT_THAT(all["cache"]["found"].get<std::string>(), HasSubstr(cache_.string() + "/ptxgraft, "));
    EXPECT_THAT(all["main job"]["found"].get<std::string>(),
                ContainsRegex("assembled by nv.*, run on the emulator in [0-9]+ ms"));
    EXPECT_EQ(all["GPU"]["state"], "absent");
    EXPECT_THAT(all["GPU"]["found"].get<std::string>(), HasSubstr("libthere_is_no_such_driver.so"));
}

TEST_F(Cli, TheDoctorListsGpusAndTheirDriver) {
    const auto all =
        findings(ptxgraft({"doctor", "--json", "--driver", test::build_path("libfake_cuda.so")}));
    EXPECT_EQ(all.at("GPU").at("state"), "ok");
    EXPECT_THAT(all.at("GPU").at("found").get<std::string>(),
                AllOf(HasSubstr("Fake GPU 0 (sm_90a)"), HasSubstr("driver 13.0")));
    EXPECT_THAT(ptxgraft({"doctor", "--driver", test::build_path("libfake_cuda_no_gpu.so")}).out,
                HasSubstr("absent  GPU             the driver finds none\n"
                          "                        kernels run on the emulator\n"));
}

// What the main job goes without is no failure.
TEST_F(Cli, TheDoctorSaysWhatToDoAboutWhatIsMissing) {
    write_file("a_file", "no folder");
    const Result result =
        ptxgraft({"doctor", "--json", "--cache", "a_file", "--python", "/no/python", "--driver", "none.so"});
    EXPECT_EQ(result.status, 0) << result.err;
    const auto all = findings(result);
    EXPECT_EQ(all.at("cache").at("state"), "broken");
    EXPECT_THAT(all.at("cache").at("remedy").get<std::string>(), HasSubstr("--cache DIR"));
    EXPECT_EQ(all.at("Python package").at("state"), "absent");
    EXPECT_THAT(all.at("Python package").at("found").get<std::string>(), HasSubstr("/no/python"));
    EXPECT_THAT(all.at("Python package").at("remedy").get<std::string>(), HasSubstr("pip install"));
}

// /proc takes no files, of no user; nor does what is no folder.
TEST_F(Cli, TheDoctorTriesToWriteInTheCache) {
    write_file("a_file", "no folder");
    const auto cache_at = [&](const std::string& folder) {
        return findings(ptxgraft({"doctor", "--json", "--cache", folder})).at("cache");
    };
    for (const std::string folder : {"/proc", "/proc/cache", "a_file/below"}) {
        const auto cache = cache_at(folder);
        EXPECT_EQ(cache.at("state"), "broken") << folder << cache;
        EXPECT_THAT(cache.at("remedy").get<std::string>(), HasSubstr("--cache DIR"));
    }
    EXPECT_THAT(cache_at("/proc/cache").at("found").get<std::string>(),
                HasSubstr("nothing can be written in /proc: "));
    EXPECT_EQ(cache_at("not/there/yet").at("state"), "ok");
    EXPECT_FALSE(fs::exists("not")) << "it leaves nothing behind";
    fs::create_directory("there");
    EXPECT_EQ(cache_at("there").at("state"), "ok");
    EXPECT_TRUE(fs::is_empty("there"));
}

TEST_F(Cli, TheDoctorFindsAPythonPackageAndAPtxas) {
    write_file("python", "#!/bin/sh\necho \"0.1.0, /somewhere/$2\"\n");
    fs::permissions("python", fs::perms::owner_all);
    EXPECT_THAT(
        findings(ptxgraft({"doctor", "--json", "--python", "./python"})).at("Python package").at("found"),
        HasSubstr("0.1.0, /somewhere/import ptxgraft"));
    write_file("ptxas", "#!/bin/sh\necho 'Cuda compilation tools, release 13.9, V13.9.1'\n");
    fs::permissions("ptxas", fs::perms::owner_all);
    const std::string path = std::getenv("PATH");
    setenv("PATH", (folder_.string() + ":" + path).c_str(), 1);
    const auto ptxas = findings(ptxgraft({"doctor", "--json"})).at("ptxas");
    setenv("PATH", path.c_str(), 1);
    EXPECT_EQ(ptxas.at("state"), "ok");
    EXPECT_EQ(ptxas.at("found"), "13.9.1, " + (folder_ / "ptxas").string());
}

// Sets a variable of the environment for the time of a scope; then it has no value.
struct Setting {
    Setting(const char* of, const std::string& value) : name(of) { setenv(name, value.c_str(), 1); }
    Setting(const Setting&) = delete;
    Setting& operator=(const Setting&) = delete;
    ~Setting() { unsetenv(name); }
    const char* name;
};

TEST_F(Cli, NvrtcAndNvJitLinkAreLoadedByWhatUsesThem) {
    const Setting setting("LD_DEBUG", "libs");
    const auto loads = [](const Result& result) {
        EXPECT_EQ(result.status, 0);
        EXPECT_THAT(result.err, HasSubstr("calling init: "));
        return std::pair(result.err.find("libnvrtc") != std::string::npos,
                         result.err.find("libnvJitLink") != std::string::npos);
    };
    write_file("empty.cu", "");
    EXPECT_EQ(loads(ptxgraft({"verify", "affine.ptx"})), std::pair(false, false));
    const bool links = nvptxcompiler() == nullptr;  // where there is none nvJitLink assembles
    EXPECT_EQ(loads(ptxgraft({"graft", "affine.ptx", "-o", "affine.cubin"})), std::pair(links, links));
    EXPECT_EQ(loads(ptxgraft({"compile", "empty.cu"})), std::pair(true, false));
    EXPECT_EQ(loads(ptxgraft({"--version"})), std::pair(true, true));
}

// A library that has a dlopen of its own, as AddressSanitizer's, is no reason to find others than without it.
TEST_F(Cli, TheSameNvrtcAndNvJitLinkAreFoundBesideAddressSanitizer) {
#ifdef __SANITIZE_ADDRESS__
    GTEST_SKIP() << "this program has the sanitizer itself: its other tests see what is found";
#endif
    const Result usual = ptxgraft({"--version"});
    const Setting preloaded("LD_PRELOAD", "libasan.so.8"), leaks("ASAN_OPTIONS", "detect_leaks=0");
    const Result beside = ptxgraft({"--version"});
    if (beside.err.find("cannot be preloaded") != std::string::npos)
        GTEST_SKIP() << "libasan.so.8, of g++ 12, is missing";
    EXPECT_EQ(beside.out, usual.out) << beside.err;
}

// The dynamic linker takes a file of the name for the library, and finds that it is none.
TEST_F(Cli, WithoutNvrtcAndNvJitLinkTheRestWorks) {
    fs::create_directory("libraries");
    for (const char* const name : {"libnvrtc.so.13", "libnvJitLink.so.13"})
        write_file((fs::path("libraries") / name).string(), "");
    const Setting setting("LD_LIBRARY_PATH", (folder_ / "libraries").string());
    EXPECT_EQ(ptxgraft({"verify", "affine.ptx"}).status, 0);
    const int assembled = nvptxcompiler() != nullptr ? 0 : 1;
    EXPECT_EQ(ptxgraft({"graft", "affine.ptx", "-o", "affine.cubin"}).status, assembled);
    write_file("empty.cu", "");
    const Result compiled = ptxgraft({"compile", "empty.cu"});
    EXPECT_EQ(compiled.status, 1);
    EXPECT_THAT(compiled.err,
                AllOf(HasSubstr("NVRTC cannot be loaded: "), HasSubstr("libnvrtc.so.13: file too short")));
    const Result linked = ptxgraft({"graft", "affine.ptx", "-o", "affine.cubin", "--assembler", "nvjitlink"});
    EXPECT_EQ(linked.status, 1);
    EXPECT_THAT(linked.err, HasSubstr("cannot be loaded: "));
    EXPECT_THAT(ptxgraft({"--version"}).out, HasSubstr("(no NVRTC, nv"));
    const auto all = findings(ptxgraft({"doctor", "--json"}));
    EXPECT_EQ(all.at("NVRTC").at("state"), "broken");
    EXPECT_THAT(all.at("NVRTC").at("found").get<std::string>(), HasSubstr("file too short"));
    EXPECT_EQ(all.at("nvJitLink").at("state"), "broken");
    EXPECT_EQ(all.at("emulator").at("state"), "ok");
}

}  // namespace
}  // namespace ptxgraft::test
