// site.cuh under every compiler at hand: NVRTC always, nvcc and clang where they are installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nvrtc.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sstream>

#include "ptxgraft/link.hpp"
#include "ptxgraft/site.hpp"
#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::read_file;

using testing::HasSubstr;

const std::filesystem::path tests_dir = test::source_path("tests");
const std::string include_option = "-I" + test::build_path("include");

struct Compiled {
    bool okay = false;
    std::string ptx, log;
};

using Options = std::vector<std::string>;

Compiled with_nvrtc(const std::filesystem::path& path, const Options& options) {
    std::vector<std::string> all{include_option, "-arch=sm_80"};
    all.insert(all.end(), options.begin(), options.end());
    std::vector<const char*> pointers;
    for (const std::string& option : all) pointers.push_back(option.c_str());
    nvrtcProgram program = nullptr;
    nvrtcCreateProgram(&program, read_file(path).c_str(), path.c_str(), 0, nullptr, nullptr);
    Compiled compiled;
    compiled.okay =
        nvrtcCompileProgram(program, static_cast<int>(pointers.size()), pointers.data()) == NVRTC_SUCCESS;
    std::size_t size = 0;
    nvrtcGetProgramLogSize(program, &size);
    compiled.log.resize(size);
    nvrtcGetProgramLog(program, compiled.log.data());
    if (compiled.okay) {
        nvrtcGetPTXSize(program, &size);
        compiled.ptx.resize(size);
        nvrtcGetPTX(program, compiled.ptx.data());
        compiled.ptx.resize(size - 1);
    }
    nvrtcDestroyProgram(&program);
    return compiled;
}

Compiled with_command(const std::string& compiler, const std::filesystem::path& path,
                      const Options& options) {
    const std::filesystem::path folder = test::build_path("site_cuh");
    std::filesystem::create_directories(folder);
    const std::filesystem::path ptx = folder / (path.stem().string() + ".ptx"),
                                log = folder / (path.stem().string() + ".log");
    std::string command = compiler + " " + include_option;
    for (const std::string& option : options) command += " " + option;
    command += " -o '" + ptx.string() + "' '" + path.string() + "' >'" + log.string() + "' 2>&1";
    Compiled compiled;
    compiled.okay = std::system(command.c_str()) == 0;
    compiled.log = read_file(log);
    if (compiled.okay) compiled.ptx = read_file(ptx);
    return compiled;
}

const std::string nvcc = test::program_path("nvcc");
const std::string clang = test::program_path("clang++");
const std::string clang_command =
    clang +
    " -x cuda --cuda-gpu-arch=sm_75 --cuda-device-only -nocudainc -nocudalib -std=c++17 -S "
    "-Wno-unknown-cuda-version"
    " -D__global__='__attribute__((global))' -D__device__='__attribute__((device))'";
const std::string nvcc_command = nvcc + " -ptx -arch=sm_80";

void expect_everything(const Compiled& compiled) {
    ASSERT_TRUE(compiled.okay) << compiled.log;
    const auto sites = scan(compiled.ptx);
    ASSERT_TRUE(sites) << describe(sites.error(), compiled.ptx);
    std::stringstream lines(read_file(tests_dir / "golden/site/everything.cu"));
    std::size_t expected = 0;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with("// site: ")) continue;
        ++expected;
        const std::size_t colon = line.find(':', 9);
        const Site* const site = sites->find(line.substr(9, colon - 9));
        ASSERT_TRUE(site) << line;
        EXPECT_EQ(site->signature.text(), colon + 2 < line.size() ? line.substr(colon + 2) : "") << line;
    }
    EXPECT_EQ(sites->sites.size(), expected);
    EXPECT_EQ(sites->find("loads")->policy, (Policy{Effect::load | Effect::warp, false}));
    EXPECT_TRUE(sites->find("looped")->policy.pure);
    EXPECT_EQ(sites->find("hot")->policy, (Policy{.heat = Heat::hot}));
    EXPECT_EQ(sites->find("cold")->policy, (Policy{.heat = Heat::cold}));
    EXPECT_EQ(sites->find("cold_loads")->policy, (Policy{.allowed = Effect::load, .heat = Heat::cold}));
    EXPECT_EQ(render(compiled.ptx, *sites, {}).value(), compiled.ptx);
}

TEST(SiteCuh, MarksEverythingUnderNvrtc) {
    const auto path = tests_dir / "golden/site/everything.cu";
    const Options rows[] = {{}, {"-std=c++20"}, {"-G"}, {"-lineinfo"}};
    for (const Options& options : rows) expect_everything(with_nvrtc(path, options));
}

TEST(SiteCuh, MarksEverythingUnderNvcc) {
    if (nvcc.empty()) GTEST_SKIP() << "no nvcc";
    const Options rows[] = {{}, {"-std=c++20"}, {"-G"}, {"-lineinfo"}};
    for (const Options& options : rows)
        expect_everything(with_command(nvcc_command, tests_dir / "golden/site/everything.cu", options));
}

TEST(SiteCuh, MarksEverythingUnderClang) {
    if (clang.empty()) GTEST_SKIP() << "no clang++";
    for (const char* level : {"-O0", "-O3"})
        expect_everything(with_command(clang_command, tests_dir / "golden/site/everything.cu", {level}));
}

std::vector<std::filesystem::path> faults() {
    std::vector<std::filesystem::path> files;
    for (const auto& entry : std::filesystem::directory_iterator(tests_dir / "compile_fail"))
        if (entry.path().extension() == ".cu") files.push_back(entry.path());
    std::sort(files.begin(), files.end());
    return files;
}

class SiteCuhFault : public testing::TestWithParam<std::filesystem::path> {
  protected:
    static std::string message() {
        const std::string text = read_file(GetParam());
        const std::size_t begin = sizeof("// error: ") - 1;
        return text.substr(begin, text.find('\n') - begin);
    }
    static void expect_fault(const Compiled& faulty, const Compiled& right) {
        EXPECT_FALSE(faulty.okay);
        EXPECT_THAT(faulty.log, HasSubstr(message()));
        EXPECT_TRUE(right.okay) << right.log;
    }
};

TEST_P(SiteCuhFault, IsACompileErrorUnderNvrtc) {
    expect_fault(with_nvrtc(GetParam(), {"-DFAULT"}), with_nvrtc(GetParam(), {}));
}

TEST_P(SiteCuhFault, IsACompileErrorUnderClang) {
    if (clang.empty()) GTEST_SKIP() << "no clang++";
    expect_fault(with_command(clang_command, GetParam(), {"-DFAULT"}),
                 with_command(clang_command, GetParam(), {}));
}

TEST_P(SiteCuhFault, IsACompileErrorUnderNvcc) {
    if (nvcc.empty()) GTEST_SKIP() << "no nvcc";
    expect_fault(with_command(nvcc_command, GetParam(), {"-DFAULT"}),
                 with_command(nvcc_command, GetParam(), {}));
}

INSTANTIATE_TEST_SUITE_P(Files, SiteCuhFault, testing::ValuesIn(faults()),
                         [](const auto& info) { return info.param.stem().string(); });

// NVRTC's preprocessor fails or crashes at unlucky lengths of a site's text, unless site.cuh makes room
// first.
TEST(SiteCuh, SitesOfEveryLengthCompileUnderNvrtc) {
    for (int length = 0; length < 64; ++length) {
        const std::string source =
            "#include <ptxgraft/site.cuh>\nextern \"C\" __global__ void k(float* o) {\n"
            "float v0 = threadIdx.x;\nunsigned v1 = threadIdx.x;\nint v2 = threadIdx.x;\n"
            "double v3 = threadIdx.x;\nunsigned long long v4 = threadIdx.x;\n"
            "PTXGRAFT_SITE(\"f\", \"//" +
            std::string(static_cast<std::size_t>(length), 'x') +
            "\", mod(f32, v0), in(u32, v1), mod(s32, v2), out(f64, v3), mod(u64, v4));\n"
            " o[0] = v0+v1+v2+v3+v4;}\n";
        const auto ptx = compile_cuda(source, {.target = "sm_80", .toolkit_headers = false});
        ASSERT_TRUE(ptx) << length << ": " << describe(ptx.error());
    }
}

}  // namespace
}  // namespace ptxgraft
