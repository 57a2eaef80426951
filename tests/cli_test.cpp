// The program as a user meets it: every test starts the binary and looks at what it prints, writes and
// returns.

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

extern char** environ;

namespace {

using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;
namespace fs = std::filesystem;

const std::string program = PTXGRAFT_BINARY_DIR "/ptxgraft";
const fs::path golden = PTXGRAFT_SOURCE_DIR "/tests/golden/cli";

std::string slurp(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    EXPECT_TRUE(file) << path;
    return {std::istreambuf_iterator<char>(file), {}};
}

void spill(const fs::path& path, std::string_view text) {
    std::ofstream(path, std::ios::binary).write(text.data(), static_cast<std::streamsize>(text.size()));
}

struct Result {
    int status;
    std::string out, err;
};

Result ptxgraft(const std::vector<std::string>& arguments, std::string_view input = {}) {
    spill("stdin", input);
    std::vector<char*> argv{const_cast<char*>(program.c_str())};
    for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 0, "stdin", O_RDONLY, 0);
    posix_spawn_file_actions_addopen(&files, 1, "stdout", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, "stderr", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    pid_t child = 0;
    EXPECT_EQ(posix_spawn(&child, program.c_str(), &files, nullptr, argv.data(), environ), 0);
    posix_spawn_file_actions_destroy(&files);
    int status = -1;
    waitpid(child, &status, 0);
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), slurp("stdout"),
            slurp("stderr")};
}

// A .npy file as NumPy makes it, but for the header that a test wants otherwise.
std::string npy(const std::string& header, std::string_view data) {
    std::string text = header;
    text.append(64 - (10 + text.size() + 1) % 64, ' ').push_back('\n');
    const auto size = static_cast<std::uint16_t>(text.size());
    return std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(size & 255) +
           static_cast<char>(size >> 8) + text + std::string(data);
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
    return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

std::string floats(const std::vector<float>& values) {
    return npy(
        "{'descr': '<f4', 'fortran_order': False, 'shape': (" + std::to_string(values.size()) + ",), }",
        bytes_of(values));
}

// The elements of an array file: what follows the first line.
template <class T>
std::vector<T> elements(const fs::path& path) {
    const std::string file = slurp(path);
    const std::string data = file.substr(file.find('\n') + 1);
    std::vector<T> values(data.size() / sizeof(T));
    std::memcpy(values.data(), data.data(), values.size() * sizeof(T));
    return values;
}

class Cli : public testing::Test {
  protected:
    void SetUp() override {
        std::string folder = testing::TempDir() + "ptxgraft-cli-XXXXXX";
        ASSERT_NE(mkdtemp(folder.data()), nullptr);
        folder_ = folder;
        fs::current_path(folder_);
        fs::copy(golden / "affine.ptx", "affine.ptx");
        spill("x.npy", floats({1, -2, 3, -4}));
    }
    void TearDown() override {
        fs::current_path("/");
        fs::remove_all(folder_);
    }
    fs::path folder_;
};

// A run that works; options in `more` take the place of its own.
std::vector<std::string> run_affine(const std::vector<std::string>& more = {}) {
    std::vector<std::string> arguments{"run", "affine.ptx"};
    for (const auto& [option, value] :
         {std::pair{"--device", "emulator"}, {"--entry", "affine"}, {"--block", "4"}})
        if (more.empty() || more[0] != option) arguments.insert(arguments.end(), {option, value});
    arguments.insert(arguments.end(), {"--arg", "in=x.npy", "out=f32:4:y.npy", "f32=0.5", "u32=4"});
    arguments.insert(arguments.end(), more.begin(), more.end());
    return arguments;
}

// ------------------------------------------------------------------------------------------------- the
// program

TEST_F(Cli, HelpAndVersionSucceed) {
    for (const char* verb : {"compile", "sites", "stub", "set", "graft", "roundtrip", "verify", "isa", "run"}) {
        EXPECT_THAT(ptxgraft({"--help"}).out, HasSubstr(verb));
        const Result help = ptxgraft({verb, "--help"});
        EXPECT_EQ(help.status, 0) << verb;
        EXPECT_THAT(help.out, HasSubstr("--help")) << verb;
    }
    const Result version = ptxgraft({"--version"});
    EXPECT_EQ(version.status, 0);
    EXPECT_THAT(version.out, StartsWith("ptxgraft 0."));
}

TEST_F(Cli, WrongCommandLinesAreStatusTwo) {
    const std::vector<std::vector<std::string>> rows = {
        {},
        {"fill"},
        {"sites"},
        {"sites", "affine.ptx", "--jsn"},
        {"graft", "affine.ptx", "--stub", "epilogue"},
        {"graft", "affine.ptx", "--program", "=x"},
        {"graft", "affine.ptx", "--program", "epilogue=acc -> acc", "--program", "epilogue=acc -> acc"},
        {"stub", "acc -> acc"},
        {"stub", "acc -> acc", "--site", "affine.ptx"},
        {"stub", "acc -> acc", "--site", "affine.ptx:epilogue", "--signature", "mod f32 acc"},
        {"stub"},
        {"stub", "acc -> acc", "--expr", "acc = acc", "--signature", "mod f32 acc"},
        {"stub", "--expr", "acc = acc", "--set", "f32", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--set", "none", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--target", "sm_91", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--bits"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--strikt"},
        {"stub", "-inf -> acc", "-inf -> acc", "--signature", "mod f32 acc"},
        {"stub", "--random", "0"},
        {"stub", "--random", "-1"},
        {"stub", "acc -> acc", "--random", "1"},
        {"stub", "acc -> acc", "--seed", "1", "--signature", "mod f32 acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc="},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1,,2"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=x"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1u32"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "b=1"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1", "acc=2"},
        {"stub", "acc -> acc", "--signature", "mod f32 acc, in f32 b", "--evaluate", "acc=1,2", "b=2"},
        {"stub", "1.0 -> acc", "--signature", "out f32 acc", "--evaluate", "acc=1"},
        {"roundtrip"},
        {"verify"},
        {"verify", "affine.ptx", "--target"},
        {"isa"}};
    for (const auto& row : rows) {
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 2) << testing::PrintToString(row) << result.err;
        EXPECT_THAT(result.err, StartsWith("error: ")) << testing::PrintToString(row);
        EXPECT_EQ(result.out, "") << testing::PrintToString(row);
    }
}

TEST_F(Cli, FilesThatCannotBeReadOrWrittenAreErrorsThatNameThem) {
    fs::create_directory("folder");
    const std::vector<std::vector<std::string>> rows = {{"sites", "none.ptx"},
                                                        {"sites", "folder"},
                                                        {"roundtrip", "none.ptx"},
                                                        {"roundtrip", "folder"},
                                                        {"verify", "none.ptx"},
                                                        {"isa", "--missing", "none.ptx"},
                                                        {"compile", "none.cu"},
                                                        {"run", "none.ptx"},
                                                        {"stub", "none.stub", "--signature", "mod f32 acc"},
                                                        {"graft", "affine.ptx", "-o", "no/such/folder.ptx"}};
    for (const auto& row : rows) {
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 1) << testing::PrintToString(row);
        EXPECT_THAT(result.err, HasSubstr(row.back() == "mod f32 acc" ? row[1] : row.back()))
            << testing::PrintToString(row);
        EXPECT_THAT(result.err, HasSubstr("error: cannot ")) << testing::PrintToString(row);
    }
}

// -------------------------------------------------------------------------------------------------------
// sites

TEST_F(Cli, SitesPrintsATable) {
    const Result result = ptxgraft({"sites", "affine.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, slurp(golden / "affine.sites"));
}

TEST_F(Cli, SitesPrintsJson) {
    const Result result = ptxgraft({"sites", "affine.ptx", "--json"});
    EXPECT_EQ(result.status, 0) << result.err;
    const auto json = nlohmann::json::parse(result.out);
    ASSERT_EQ(json["sites"].size(), 1u);
    const auto& site = json["sites"][0];
    EXPECT_EQ(site["name"], "epilogue");
    EXPECT_EQ(site["operands"][0]["name"], "acc");
    EXPECT_EQ(site["operands"][0]["direction"], "mod");
    EXPECT_EQ(site["operands"][1]["type"], "f32");
    EXPECT_EQ(site["policy"]["pure"], false);
    EXPECT_EQ(site["policy"]["allow"], nlohmann::json::array());
    EXPECT_EQ(site["copies"][0]["line"], 26);
    EXPECT_EQ(site["copies"][0]["function"], "affine");
}

TEST_F(Cli, SitesReadsStandardInput) {
    EXPECT_THAT(ptxgraft({"sites", "-"}, slurp("affine.ptx")).out, HasSubstr("epilogue"));
}

TEST_F(Cli, SitesReadsTheMarkersOfMmPtx) {
    spill("mm.ptx",
          ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k()\n{\n.reg .f32 %_x0, %_x1;\n"
          "// PTX_INJECT_START func\n// _x0 m f32 F32 v\n// _x1 i f32 F32 w\n// PTX_INJECT_END\nret;\n}\n");
    const Result result = ptxgraft({"sites", "mm.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(result.out, HasSubstr("func  1 copy\n    mod f32     v\n    in  f32     w\n"));
}

TEST_F(Cli, SitesOfABrokenModuleSaysWhere) {
    spill("broken.ptx", ".version 8.0\n.target sm_80\n.visible .entry k()\n{\n  add.f32 %f1, %f2\n}\n");
    const Result result = ptxgraft({"sites", "broken.ptx"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, testing::ContainsRegex("^broken\\.ptx:[56]:[0-9]+: error: "));
}

// -------------------------------------------------------------------------------------------------- stub,
// graft

TEST_F(Cli, StubCompilesForASiteForASignatureAndFromAFile) {
    spill("relu.stub", "signature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    const std::vector<std::vector<std::string>> rows = {
        {"acc 0.0 max.f32 -> acc", "--site", "affine.ptx:epilogue"},
        {"acc 0.0 max.f32 -> acc", "--signature", "mod f32 acc"},
        {"relu.stub"}};
    for (auto row : rows) {
        row.insert(row.begin(), "stub");
        const Result result = ptxgraft(row);
        EXPECT_EQ(result.status, 0) << result.err;
        EXPECT_THAT(result.out, HasSubstr("max.f32")) << testing::PrintToString(row);
        EXPECT_THAT(result.out, HasSubstr("_acc")) << testing::PrintToString(row);
    }
}

TEST_F(Cli, StubChecksHandWrittenPtx) {
    spill("square.ptx", "mul.f32 acc, acc, acc;\n");
    EXPECT_THAT(ptxgraft({"stub", "square.ptx", "--site", "affine.ptx:epilogue"}).out,
                HasSubstr("mul.f32 _acc, _acc, _acc;"));
    spill("wrong.ptx", "mul.f32 acc, acc,\n  nothing;\n");
    const Result wrong = ptxgraft({"stub", "wrong.ptx", "--site", "affine.ptx:epilogue"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_THAT(wrong.err, StartsWith("wrong.ptx:2:3: error: "));
}

TEST_F(Cli, StubErrorsHaveAPlaceInTheProgram) {
    const Result result = ptxgraft({"stub", "acc nothing add.f32 -> acc", "--site", "affine.ptx:epilogue"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("PROGRAM:1:5: error: "));
    EXPECT_THAT(result.err, HasSubstr("    ^~~~~~~\n"));
}

TEST_F(Cli, StubEvaluates) {
    const std::string xyz = "in f32 x, in f32 y, out f32 z";
    struct Row {
        std::vector<std::string> arguments;
        std::string out;
    };
    const std::vector<Row> rows = {
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=1,2,3", "y=4,5,6"}, "z = 5 7 9\n"},
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=1,2,3", "y=4,5,6", "--bits"}, "z = 0x40a00000 0x40e00000 0x41100000\n"},
        {{"--evaluate", "x=1,2,3", "y=4,5,6", "--signature", xyz, "x y sub.f32 -> z"}, "z = -3 -3 -3\n"},
        {{"x y div.rn.f32 -> z", "--signature", xyz, "--evaluate", "x=1,-1,0,0f3F800000", "y=3,0,-0.0,inf"}, "z = 0.33333334 -inf nan 0\n"},
        {{"x y add.f32 -> z", "--signature", xyz, "--evaluate", "x=nan,inff32,1e-45", "y=1,-inf,0", "--bits"}, "z = 0x7fffffff 0x7fffffff 0x00000001\n"},
        {{"--expr", "z = x + y; w = x < y", "--signature", xyz + ", out pred w", "--evaluate", "x=1,5", "y=4,4"}, "z = 5 9\nw = true false\n"},
        {{"n -> m", "--signature", "in b32 n, out b32 m", "--evaluate", "n=0xff,7,0xFFFFFFFF"}, "m = 255 7 4294967295\n"},
        {{"n neg.s16 -> m", "--signature", "in s16 n, out s16 m", "--evaluate", "n=-5,32767", "--bits"}, "m = 0x0005 0x8001\n"},
        {{"n -> m", "--signature", "in s64 n, out s64 m", "--evaluate", "n=-9223372036854775808,0x10"}, "m = -9223372036854775808 16\n"},
        {{"h -> k", "--signature", "in f16 h, out f16 k", "--evaluate", "h=0x3C00f16,0x3c00,1,1f16", "--bits"}, "k = 0x3c00 0x3c00 0x3c00 0x3c00\n"},
        {{"n -> m", "--signature", "in f64 n, out f64 m", "--evaluate", "n=0.1,0d3FF0000000000000,inff64"}, "m = 0.1 1 inf\n"},
        {{"frag[0] frag[1] -> h frag[1]; frag[1] -> frag[0]", "--signature", "mod f16 frag[2], out f16 h", "--evaluate", "frag[0]=1.5", "frag[1]=0x3c00"}, "frag[0] = 1\nfrag[1] = 1\nh = 1.5\n"},
        {{"a -> b", "--signature", "in bf16x2 a, out bf16x2 b", "--evaluate", "a=0x3f803f80"}, "b = 0x3F803F80\n"},
        {{"p not.pred -> p", "--signature", "mod pred p", "--evaluate", "p=true,0,1"}, "p = false true false\n"},
        {{"p not.pred -> p", "--signature", "mod pred p", "--evaluate", "p=true", "--bits"}, "p = 0x0\n"},
        {{"1.5 -> z", "--signature", "out f32 z", "--evaluate"}, "z = 1.5\n"},
        {{"import activation/relu.stub x relu -> x", "--signature", "mod f32 x, mod u32 n", "--evaluate", "x=-1,2", "n=3,4"}, "x = 0 2\nn = 3 4\n"}};
    for (const Row& row : rows) {
        std::vector<std::string> arguments = row.arguments;
        arguments.insert(arguments.begin(), "stub");
        const Result result = ptxgraft(arguments);
        EXPECT_EQ(result.status, 0) << testing::PrintToString(row.arguments) << result.err;
        EXPECT_EQ(result.out, row.out) << testing::PrintToString(row.arguments);
        EXPECT_EQ(result.err, "") << testing::PrintToString(row.arguments);
    }
}

TEST_F(Cli, StubEvaluatesFilesAndSaysWhatItCannot) {
    spill("relu.stub", "# of a file\nsignature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    EXPECT_EQ(ptxgraft({"stub", "relu.stub", "--evaluate", "acc=-1,1"}).out, "acc = 0 1\n");
    spill("wrong.stub", "signature: mod f32 acc\n\nacc 0.0 maximum.f32 -> acc\n");
    EXPECT_THAT(ptxgraft({"stub", "wrong.stub", "--evaluate", "acc=-1,1"}).err, StartsWith("wrong.stub:3:9: error: "));
    const Result special = ptxgraft({"stub", "%laneid -> n", "--signature", "out u32 n", "--evaluate"});
    EXPECT_EQ(special.status, 1);
    EXPECT_THAT(special.err, HasSubstr("cannot be evaluated"));
    spill("square.ptx", "mul.f32 acc, acc, acc;\n");
    EXPECT_EQ(ptxgraft({"stub", "square.ptx", "--signature", "mod f32 acc", "--evaluate", "acc=1"}).status, 2);
    EXPECT_THAT(ptxgraft({"stub", "acc -> acc", "--signature", "mod f32 acc", "--evaluate", "acc=1e99"}).err, HasSubstr("acc is f32: '1e99' is no value of it"));
    EXPECT_THAT(ptxgraft({"stub", "acc -> acc", "--signature", "mod f32 acc, in f32 b", "--evaluate", "acc=1"}).err, HasSubstr("b has no value"));
}

TEST_F(Cli, StubForgivesWhatIsMissingWithAWarning) {
    const std::vector<std::string> arguments = {"stub", "x add.f32 y -> z", "--signature", "in f32 x, in f32 y, out f32 z"};
    const Result lenient = ptxgraft(arguments);
    EXPECT_EQ(lenient.status, 0);
    EXPECT_EQ(lenient.out, "\tmov.f32 _z, _y;\n");
    EXPECT_THAT(lenient.err, StartsWith("PROGRAM:1:3: warning: too few values: add.f32 takes 2 f32 values, only 1 is there\n"));
    EXPECT_THAT(lenient.err, HasSubstr("PROGRAM:1:1: warning: 1 f32 value left over at the end"));
    auto strict = arguments;
    strict.push_back("--strict");
    EXPECT_EQ(ptxgraft(strict).status, 1);
    EXPECT_THAT(ptxgraft(strict).err, StartsWith("PROGRAM:1:3: error: too few values"));
    EXPECT_EQ(ptxgraft({"stub", "x y -> z", "--signature", "in f32 x, in f32 y, out f32 z", "--strict"}).status, 1);
    // a warning for each, at its place: in a routine and in a repeat once
    const Result many = ptxgraft({"stub", "routine r f32 -> f32 : add.u32 end x r r add.s32 repeat 3 mul.lo.u32 end -> z", "--signature", "in f32 x, out f32 z"});
    EXPECT_EQ(many.status, 0);
    EXPECT_THAT(many.err, StartsWith("PROGRAM:1:24: warning: too few values: in a routine: add.u32 takes 2"));
    EXPECT_THAT(many.err, HasSubstr("PROGRAM:1:42: warning: too few values: add.s32"));
    EXPECT_THAT(many.err, HasSubstr("PROGRAM:1:59: warning: too few values: mul.lo.u32"));
    EXPECT_EQ(std::count(many.err.begin(), many.err.end(), '^'), 3);
    // an output without a value, and what no values would mend, are errors
    EXPECT_THAT(ptxgraft({"stub", "x drop.f32", "--signature", "in f32 x, out f32 z"}).err, HasSubstr("error: operand z is `out` and is not assigned"));
    EXPECT_THAT(ptxgraft({"stub", "-> z", "--signature", "in f32 x, out f32 z"}).err, HasSubstr("error: "));
    EXPECT_THAT(ptxgraft({"stub", "x tanh.approx.f32 -> z", "--signature", "in f32 x, out f32 z", "--target", "sm_70"}).err, HasSubstr("error: tanh.approx.f32 is not available"));
    EXPECT_EQ(ptxgraft({"stub", "x tanh.approx.f32 -> z", "--signature", "in f32 x, out f32 z", "--target", "sm_75"}).status, 0);
}

TEST_F(Cli, StubAllowsEveryEffectWhereThereIsNoSite) {
    EXPECT_EQ(ptxgraft({"stub", "q ld.global.f32 -> x", "--signature", "in u64 q, mod f32 x"}).status, 0);
    EXPECT_THAT(ptxgraft({"stub", "0u64 ld.global.f32 -> acc", "--site", "affine.ptx:epilogue"}).err, HasSubstr("is not allowed here"));
}

TEST_F(Cli, StubProgramsMayBeginWithAMinus) {
    for (const char* program : {"-1.0 x max.f32 -> x", "-inf x max.f32 -> x", "-.5 x max.f32 -> x", "-1e3 x max.f32 -> x"}) {
        const Result result = ptxgraft({"stub", program, "--signature", "mod f32 x"});
        EXPECT_EQ(result.status, 0) << program << result.err;
        EXPECT_THAT(result.out, HasSubstr("max.f32 _x, 0f")) << program;
        EXPECT_EQ(ptxgraft({"stub", "--signature", "mod f32 x", program}).out, result.out) << program;
    }
    EXPECT_EQ(ptxgraft({"stub", "--expr", "-x", "--signature", "mod f32 x"}).status, 1);  // a value, but no assignment
    EXPECT_EQ(ptxgraft({"stub", "--expr", "x = -x", "--signature", "mod f32 x"}).status, 0);
}

TEST_F(Cli, StubTakesAnInstructionSet) {
    spill("mine.set", "mac = fma.rn.f32\n");
    EXPECT_EQ(ptxgraft({"stub", "x x x mac -> x", "--signature", "mod f32 x", "--set", "mine.set"}).out, "\tfma.rn.f32 _x, _x, _x, _x;\n");
    EXPECT_EQ(ptxgraft({"stub", "x x x fma.rn.f32 -> x", "--signature", "mod f32 x", "--set", "mine.set"}).status, 1);
    spill("broken.set", "mac = fma.rn.f33\n");
    EXPECT_THAT(ptxgraft({"stub", "x -> x", "--signature", "mod f32 x", "--set", "broken.set"}).err, StartsWith("broken.set:1:"));
}

TEST_F(Cli, StubPrintsRandomProgramsThatCompile) {
    const std::string signature = "in f32 x, mod f32 acc, mod u32 n";
    const Result result = ptxgraft({"stub", "--random", "20", "--seed", "3", "--set", "f32", "--signature", signature, "--length", "12"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(std::count(result.out.begin(), result.out.end(), '\n'), 20);
    EXPECT_EQ(ptxgraft({"stub", "--random", "1", "--seed", "4", "--set", "f32", "--signature", signature, "--length", "12"}).out,
              result.out.substr(result.out.find('\n') + 1, result.out.find('\n', result.out.find('\n') + 1) - result.out.find('\n')));
    std::istringstream lines(result.out);
    for (std::string line; std::getline(lines, line);) {
        const Result compiled = ptxgraft({"stub", line, "--signature", signature, "--set", "f32"});
        EXPECT_EQ(compiled.status, 0) << line << "\n" << compiled.err;
    }
    EXPECT_EQ(ptxgraft({"stub", "--random", "2", "--seed", "1", "--set", "full"}).status, 0);
}

TEST_F(Cli, GraftWithoutStubsChangesNothing) {
    const Result result = ptxgraft({"graft", "affine.ptx"});
    EXPECT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(result.out, slurp("affine.ptx"));
}

TEST_F(Cli, GraftReplacesTheDefaultStubAndNothingElse) {
    spill("relu.stub", "signature: mod f32 acc\nacc 0.0 max.f32 -> acc\n");
    EXPECT_EQ(ptxgraft({"graft", "affine.ptx", "--stub", "epilogue=relu.stub", "-o", "out.ptx"}).status, 0);
    const std::string before = slurp("affine.ptx"), after = slurp("out.ptx");
    const std::size_t begin = before.find("// PTXGRAFT_STUB\n") + 17, end = before.find("\t// PTXGRAFT_END");
    EXPECT_EQ(after.substr(0, begin), before.substr(0, begin));
    EXPECT_THAT(after, EndsWith(before.substr(end)));
    EXPECT_THAT(after, HasSubstr("max.f32"));
    EXPECT_THAT(after, testing::Not(HasSubstr("add.f32 _acc, _acc, _bias;")));
}

TEST_F(Cli, GraftAssembles) {
    const Result result =
        ptxgraft({"graft", "affine.ptx", "--program", "epilogue=acc acc mul.f32 -> acc", "-o", "out.cubin"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(slurp("out.cubin"), StartsWith("\x7f"
                                               "ELF"));
}

TEST_F(Cli, GraftNamesTheSitesThatThereAre) {
    const Result result =
        ptxgraft({"graft", "affine.ptx", "--program", "prologue=acc -> acc", "-o", "out.ptx"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("epilogue"));
    EXPECT_FALSE(fs::exists("out.ptx"));
}

TEST_F(Cli, GraftDescribesWhatTheAssemblerRefuses) {
    std::string ptx = slurp("affine.ptx");
    ptx.replace(ptx.find("mov.u32 %r2, %ctaid.x"), 7, "mov.f32");
    spill("refused.ptx", ptx);
    const Result result = ptxgraft({"graft", "refused.ptx", "-o", "out.cubin"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("refused.ptx:16:"));
    EXPECT_FALSE(fs::exists("out.cubin"));
}

// ---------------------------------------------------------------------------------------------------
// roundtrip

TEST_F(Cli, RoundtripCountsAndFails) {
    const Result good = ptxgraft({"roundtrip", "affine.ptx", "affine.ptx"});
    EXPECT_EQ(good.status, 0) << good.err;
    EXPECT_THAT(good.out, testing::MatchesRegex("2 files, 2 identical, [0-9]+\\.[0-9] MB/s\n"));
    spill("broken.ptx", ".version 8.0\n.visible .entry k() {\n");
    const Result bad = ptxgraft({"roundtrip", "affine.ptx", "broken.ptx"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, StartsWith("2 files, 1 identical, "));
    EXPECT_THAT(bad.err, testing::ContainsRegex("^broken\\.ptx:[0-9]+:[0-9]+: error: "));
}

// ------------------------------------------------------------------------------------------------------
// verify, isa

constexpr const char* wrong_ptx = ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 a<4>;\nadd.u32 a0, a1, b;\nadd.bogus.u32 a0, a1, a2;\n}\n";

TEST_F(Cli, VerifyPrintsALineAFinding) {
    spill("wrong.ptx", wrong_ptx);
    const Result good = ptxgraft({"verify", "affine.ptx", "affine.ptx"});
    EXPECT_EQ(good.status, 0) << good.out << good.err;
    EXPECT_EQ(good.out, "affine.ptx: ok\naffine.ptx: ok\n");
    const Result bad = ptxgraft({"verify", "wrong.ptx", "affine.ptx"});
    EXPECT_EQ(bad.status, 1);
    EXPECT_THAT(bad.out, StartsWith("wrong.ptx:6:17: error: 'b' is not declared\nwrong.ptx:7:4: error: unknown modifier '.bogus' for add"));
    EXPECT_THAT(bad.out, EndsWith("\naffine.ptx: ok\n"));
    EXPECT_EQ(bad.err, "");
    spill("broken.ptx", ".version 8.0\n.target sm_90\n.entry k() {\nadd.u32 a b;\nret\n}\n.entry l() { frob; }\n");
    const Result broken = ptxgraft({"verify", "none.ptx", "broken.ptx"});
    EXPECT_EQ(broken.status, 1);
    EXPECT_THAT(broken.err, HasSubstr("cannot open none.ptx"));
    EXPECT_THAT(broken.out, testing::AllOf(HasSubstr("broken.ptx:4:"), HasSubstr("broken.ptx:5:"), HasSubstr("broken.ptx:7:14: error: unknown opcode 'frob'")));
    const Result piped = ptxgraft({"verify", "-"}, wrong_ptx);
    EXPECT_THAT(piped.out, StartsWith("<stdin>:6:17: error: "));
}

TEST_F(Cli, VerifyGivesJsonAndTakesATarget) {
    spill("wrong.ptx", wrong_ptx);
    const auto rows = nlohmann::json::parse(ptxgraft({"verify", "--json", "wrong.ptx"}).out);
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["file"], "wrong.ptx");
    EXPECT_EQ(rows[0]["line"], 6);
    EXPECT_EQ(rows[0]["column"], 17);
    EXPECT_EQ(rows[0]["code"], "name_undeclared");
    EXPECT_EQ(rows[1]["code"], "modifier_unknown");
    EXPECT_EQ(nlohmann::json::parse(ptxgraft({"verify", "--json", "affine.ptx"}).out), nlohmann::json::array());
    spill("elect.ptx", ".version 8.0\n.target sm_90\n.address_size 64\n.entry k() {\n.reg .b32 a; .reg .pred p;\nelect.sync a|p, -1;\n}\n");
    EXPECT_EQ(ptxgraft({"verify", "elect.ptx"}).status, 0);
    const Result older = ptxgraft({"verify", "--target", "sm_80", "elect.ptx"});
    EXPECT_EQ(older.status, 1);
    EXPECT_THAT(older.out, HasSubstr("elect.sync needs sm_90; the target is sm_80"));
    EXPECT_THAT(ptxgraft({"verify", "--target", "sm_1", "elect.ptx"}).out, HasSubstr("elect.ptx: error: target 'sm_1' is not known"));
}

TEST_F(Cli, SetsAreListedAndPrinted) {
    const Result names = ptxgraft({"set"});
    EXPECT_EQ(names.status, 0);
    EXPECT_EQ(names.out, "expression\nf32\nfull\nhalf\ninteger\nmath\nmemory\nstandard\nwarp\n");
    const Result f32 = ptxgraft({"set", "f32"});
    EXPECT_EQ(f32.status, 0);
    EXPECT_THAT(f32.out, StartsWith("add.u32\n"));
    EXPECT_THAT(f32.out, HasSubstr("\nfma.rn.ftz.f32\n"));
    EXPECT_THAT(f32.out, HasSubstr("\nf16_to_f32 = cvt.f32.f16\n"));
    spill("f32.set", f32.out);
    EXPECT_EQ(ptxgraft({"set", "f32.set"}).out, f32.out);
    EXPECT_EQ(ptxgraft({"set", "-"}, "type philox u32\nbump = add.u32 philox, u32 -> philox weight 2 # more\nmin.f32\n").out,
              "type philox u32\nbump = add.u32 philox, u32 -> philox weight 2\nmin.f32\n");
}

TEST_F(Cli, WrongSetsAreExplained) {
    spill("wrong.set", "add.f32\nadd.f33\n");
    const Result wrong = ptxgraft({"set", "wrong.set"});
    EXPECT_EQ(wrong.status, 1);
    EXPECT_EQ(wrong.out, "");
    EXPECT_THAT(wrong.err, StartsWith("wrong.set:2:1: error: 'add.f33' is no form of PTX"));
    const Result none = ptxgraft({"set", "f33"});
    EXPECT_EQ(none.status, 1);
    EXPECT_THAT(none.err, StartsWith("error: f33 is no set and no file; the sets are expression, f32, "));
    EXPECT_EQ(ptxgraft({"set", "f32", "math"}).status, 2);
}

TEST_F(Cli, IsaPrintsRowsAndTheBacklog) {
    const Result rows = ptxgraft({"isa", "fma"});
    EXPECT_EQ(rows.status, 0);
    EXPECT_THAT(rows.out, HasSubstr("fma.rnd{.ftz}{.sat}.f32 d, a, b, c | 2.0 sm_20"));
    EXPECT_THAT(ptxgraft({"isa", "cp"}).out, HasSubstr("cp.async.bulk.commit_group"));
    const Result none = ptxgraft({"isa", "frobnicate"});
    EXPECT_EQ(none.status, 1);
    EXPECT_EQ(none.err, "error: the table has no opcode frobnicate\n");
    spill("new.ptx", ".version 8.0\n.target sm_90\n.entry k() {\nfrob.u32 a; frob.u32 b; add.u99 c, d, e; ret;\n}\n");
    EXPECT_EQ(ptxgraft({"isa", "--missing", "new.ptx"}).out, "       2  frob.u32\n       1  add.u99\n");
    EXPECT_EQ(ptxgraft({"isa", "--missing", "affine.ptx"}).out, "");
}

// ---------------------------------------------------------------------------------------------------------
// run

TEST_F(Cli, RunComputes) {
    const Result result = ptxgraft(run_affine());
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{1.5f, -1.5f, 3.5f, -3.5f}));
    EXPECT_EQ(slurp("y.npy"), [] {
        std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (4,), }";
        return npy(header.append(20, ' '), bytes_of(std::vector<float>{1.5f, -1.5f, 3.5f, -3.5f}));
    }());
}

TEST_F(Cli, RunGraftsStubs) {
    const Result result = ptxgraft(run_affine({"--program", "epilogue=acc bias mul.f32 0.0 max.f32 -> acc"}));
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{0.5f, 0, 1.5f, 0}));
}

TEST_F(Cli, RunTakesArgumentsOneByOneAndBeforeTheFile) {
    const Result result =
        ptxgraft({"run", "--device", "emulator", "--entry", "affine", "--block", "4x1,1", "--arg", "in=x.npy",
                  "--arg", "out=f32:2x2:y.npy", "--arg=f32=0.5", "--arg", "u32=4", "affine.ptx"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_THAT(slurp("y.npy"), HasSubstr("'shape': (2, 2)"));
}

TEST_F(Cli, WhatAKernelDoesNotWriteStaysPoisoned) {
    ASSERT_EQ(ptxgraft({"run", "affine.ptx", "--device", "emulator", "--entry", "affine", "--block", "4",
                        "--arg", "in=x.npy", "out=u32:4:y.npy", "f32=0.5", "u32=3"})
                  .status,
              0);
    EXPECT_EQ(elements<std::uint32_t>("y.npy"),
              (std::vector<std::uint32_t>{0x3fc00000, 0xbfc00000, 0x40600000, 0xffffffff}));
}

TEST_F(Cli, RunShowsWhereAKernelFails) {
    const std::vector<std::string> bad_store = {"run",      "affine.ptx",      "--device",
                                                "emulator", "--entry",         "touch",
                                                "--arg",    "out=u32:1:y.npy", "u64=0x10000000"};
    const Result result = ptxgraft(bad_store);
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("affine.ptx:47:2: error: "));
    EXPECT_THAT(result.err, HasSubstr("st.global.u32 [%rd3], %r1;"));
    EXPECT_FALSE(fs::exists("y.npy"));

    auto with_stub = bad_store;
    with_stub.insert(with_stub.end(), {"--program", "epilogue=acc -> acc"});
    const Result rendered = ptxgraft(with_stub);
    EXPECT_EQ(rendered.status, 1);
    EXPECT_THAT(rendered.err, StartsWith("affine.ptx (with stubs):"));
    EXPECT_THAT(rendered.err, HasSubstr("note: "));
}

TEST_F(Cli, RunRefusesWhatMakesNoSense) {
    struct Row {
        std::vector<std::string> more;
        int status;
        const char* message;
    };
    const Row rows[] = {
        {{"--grid", "0"}, 2, "--grid: invalid argument: '0' is not a shape"},
        {{"--grid", "1,2,3,4"}, 2, "--grid"},
        {{"--grid", "1,,2"}, 2, "--grid"},
        {{"--block", "-4"}, 2, "--block"},
        {{"--block", "4294967296"}, 2, "--block"},
        {{"--block", ""}, 2, "--block"},
        {{"--block", "2048"}, 1, "2048"},
        {{"--smem", "many"}, 2, "--smem"},
        {{"--smem", "-1"}, 2, "--smem"},
        {{"--entry", "none"}, 1, "affine"},
        {{"--device", "toaster"}, 1, "toaster"},
        {{"--arg", "f32=abc"}, 2, "'abc' is not a number for f32"},
        {{"--arg", "f32="}, 2, "is not a number"},
        {{"--arg", "f32=1e99"}, 2, "out of range of f32"},
        {{"--arg", "f16=65520"}, 2, "out of range of f16"},
        {{"--arg", "u8=256"}, 2, "256 is out of range of u8: 0 to 255"},
        {{"--arg", "s8=-129"}, 2, "-128 to 127"},
        {{"--arg", "u32=-1"}, 2, "out of range of u32"},
        {{"--arg", "u64=18446744073709551616"}, 2, "u64"},
        {{"--arg", "u32=5x"}, 2, "is not an integer for u32"},
        {{"--arg", "pred=maybe"}, 2, "neither true nor false"},
        {{"--arg", "x32=5"}, 2, "is not a kind of argument"},
        {{"--arg", "5"}, 2, "should be KIND=VALUE"},
        {{"--arg", "bytes=0g"}, 2, "hexadecimal"},
        {{"--arg", "bytes=000"}, 2, "hexadecimal"},
        {{"--arg", "out=f32:4"}, 2, "out=TYPE:SHAPE:FILE"},
        {{"--arg", "out=f33:4:y.npy"}, 2, "'f33' is not an element type"},
        {{"--arg", "out=f32:4x:y.npy"}, 2, "is not a shape"},
        {{"--arg", "out=f32:99999999999x99999999999:y.npy"}, 2, "too large"},
        {{"--arg", "inout=a.npy"}, 2, "inout=FILE:FILE"},
        {{"--arg", "in="}, 2, "in=FILE"},
        {{"--arg", "in=none.npy"}, 1, "cannot open none.npy"},
        {{"--arg", "u32=4"}, 1, "wrong number of arguments"},
    };
    for (const Row& row : rows) {
        const Result result = ptxgraft(run_affine(row.more));
        EXPECT_EQ(result.status, row.status) << testing::PrintToString(row.more) << result.err;
        EXPECT_THAT(result.err, HasSubstr(row.message)) << testing::PrintToString(row.more);
        EXPECT_THAT(result.err, HasSubstr("error: ")) << testing::PrintToString(row.more);
    }
    EXPECT_FALSE(fs::exists("y.npy"));
}

TEST_F(Cli, RunRefusesArgumentsOfAnotherNature) {
    const auto with = [](const char* bias, const char* n) {
        return ptxgraft({"run", "affine.ptx", "--device", "emulator", "--entry", "affine", "--arg",
                         "in=x.npy", "out=f32:4:y.npy", bias, n});
    };
    EXPECT_THAT(with("u32=1", "u32=4").err, HasSubstr("argument 3 (u32=1) for the parameter .f32 bias"));
    EXPECT_THAT(with("f32=1", "f32=4").err, HasSubstr("argument 4 (f32=4) for the parameter .u32 n"));
    EXPECT_EQ(with("f64=1", "u32=4").status, 1);
    EXPECT_EQ(with("b32=0x3f800000", "s32=4").status, 0);
}

TEST_F(Cli, RunWantsAnEntryWhereThereAreTwo) {
    const Result result = ptxgraft({"run", "affine.ptx", "--device", "emulator"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("affine"));
    EXPECT_THAT(result.err, HasSubstr("touch"));
}

// ------------------------------------------------------------------------------------------------ scalars,
// arrays

// A kernel with one entry, which may therefore stay unnamed, that stores its second argument into its first.
std::string echo_kernel(unsigned bytes) {
    const std::string bits = std::to_string(bytes * 8), reg = bytes == 8 ? "b64" : bytes == 4 ? "b32" : "b16";
    return ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry echo(.param .u64 p, .param .b" +
           bits + " v)\n{\n.reg .b64 %rd1; .reg ." + reg + " %v;\nld.param.u64 %rd1, [p];\nld.param.b" +
           bits + " %v, [v];\nst.global.b" + bits + " [%rd1], %v;\nret;\n}\n";
}

TEST_F(Cli, ScalarsHaveTheBitsOfTheirTypes) {
    struct Row {
        const char* argument;
        unsigned bytes;
        std::uint64_t bits;
    };
    const Row rows[] = {
        {"u8=255", 1, 0xff},
        {"s8=-128", 1, 0x80},
        {"b8=0xA5", 1, 0xa5},
        {"pred=true", 1, 1},
        {"bool=0", 1, 0},
        {"u16=65535", 2, 0xffff},
        {"s16=-2", 2, 0xfffe},
        {"b16=0b101", 2, 5},
        {"f16=1", 2, 0x3c00},
        {"f16=-0.1", 2, 0xae66},
        {"f16=65504", 2, 0x7bff},
        {"f16=65519.9", 2, 0x7bff},
        {"f16=1e-8", 2, 0},
        {"f16=5.9604645e-8", 2, 1},
        {"f16=6.1e-5", 2, 0x3ff},
        {"f16=-inf", 2, 0xfc00},
        {"f16=nan", 2, 0x7e00},
        {"bf16=1", 2, 0x3f80},
        {"bf16=3.14159", 2, 0x4049},
        {"bf16=1.00390625", 2, 0x3f80},
        {"bf16=1.01171875", 2, 0x3f82},
        {"f32=1.5", 4, 0x3fc00000},
        {"f32=-0", 4, 0x80000000},
        {"f32=+2", 4, 0x40000000},
        {"f32=inf", 4, 0x7f800000},
        {"f32=0f3F800000", 4, 0x3f800000},
        {"s32=-1", 4, 0xffffffff},
        {"u32=0x80000000", 4, 0x80000000},
        {"b32=0xdeadbeef", 4, 0xdeadbeef},
        {"f64=0.1", 8, 0x3fb999999999999a},
        {"f64=0d3FF0000000000000", 8, 0x3ff0000000000000},
        {"s64=-9223372036854775808", 8, 0x8000000000000000},
        {"u64=18446744073709551615", 8, ~std::uint64_t{0}},
        {"bytes=0102030405060708", 8, 0x0807060504030201},
    };
    for (const Row& row : rows) {
        spill("echo.ptx", echo_kernel(row.bytes));
        const Result result =
            ptxgraft({"run", "echo.ptx", "--device", "emulator", "--arg", "out=u8:8:v.npy", row.argument});
        ASSERT_EQ(result.status, 0) << row.argument << result.err;
        std::uint64_t bits = 0;
        std::memcpy(&bits, elements<char>("v.npy").data(), row.bytes);
        EXPECT_EQ(bits, row.bits) << row.argument;
    }
}

// Reads an array and writes it again: the kernel has nothing to do.
Result copy_array(std::string_view file) {
    spill("nothing.ptx",
          ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 p)\n{\nret;\n}\n");
    spill("before.npy", file);
    return ptxgraft({"run", "nothing.ptx", "--device", "emulator", "--arg", "inout=before.npy:after.npy"});
}

TEST_F(Cli, ArraysOfEveryKindAreReadAndWritten) {
    const std::pair<const char*, unsigned> dtypes[] = {{"|b1", 1}, {"|i1", 1}, {"|u1", 1}, {"<i2", 2},
                                                       {"<u2", 2}, {"<f2", 2}, {"<i4", 4}, {"<u4", 4},
                                                       {"<f4", 4}, {"<i8", 8}, {"<u8", 8}, {"<f8", 8}};
    for (const auto& [dtype, bytes] : dtypes)
        for (const auto& [shape, count] :
             {std::pair{"()", 1u}, {"(0,)", 0u}, {"(3,)", 3u}, {"(2, 3)", 6u}, {"(2, 0, 5)", 0u}}) {
            const std::string data(bytes * count, '\x5a');
            const Result result = copy_array(npy(
                "{'descr': '" + std::string(dtype) + "', 'fortran_order': False, 'shape': " + shape + ", }",
                data));
            ASSERT_EQ(result.status, 0) << dtype << shape << result.err;
            const std::string after = slurp("after.npy");
            EXPECT_THAT(after, HasSubstr("'descr': '" + std::string(dtype) +
                                         "', 'fortran_order': False, 'shape': " + shape));
            EXPECT_THAT(after, EndsWith("\n" + data)) << dtype << shape;
        }
}

TEST_F(Cli, FortranOrderIsReordered) {
    // a[i][j] = 10 i + j, stored column by column.
    const std::vector<std::int32_t> columns{0, 10, 1, 11, 2, 12};
    ASSERT_EQ(copy_array(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 3), }", bytes_of(columns)))
                  .status,
              0);
    EXPECT_EQ(elements<std::int32_t>("after.npy"), (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12}));
    std::vector<std::int32_t> cube;  // a[i][j][k] = 100 i + 10 j + k of shape (2, 2, 3)
    for (int k = 0; k < 3; ++k)
        for (int j = 0; j < 2; ++j)
            for (int i = 0; i < 2; ++i) cube.push_back(100 * i + 10 * j + k);
    ASSERT_EQ(copy_array(npy("{'descr': '<i4', 'fortran_order': True, 'shape': (2, 2, 3), }", bytes_of(cube)))
                  .status,
              0);
    EXPECT_EQ(elements<std::int32_t>("after.npy"),
              (std::vector<std::int32_t>{0, 1, 2, 10, 11, 12, 100, 101, 102, 110, 111, 112}));
}

TEST_F(Cli, LaterVersionsOfTheFormatAreRead) {
    std::string file = floats({1, 2});
    for (char version : {'\x02', '\x03'}) {
        std::string later = file;
        later[6] = version;
        later.insert(10, 2, '\0');
        EXPECT_EQ(copy_array(later).status, 0) << int(version);
        EXPECT_EQ(slurp("after.npy").substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
        EXPECT_EQ(elements<float>("after.npy"), (std::vector<float>{1, 2}));
    }
}

TEST_F(Cli, DamagedArraysAreErrors) {
    const auto with = [](const char* header) { return npy(header, std::string(64, 'x')); };
    const std::pair<std::string, const char*> rows[] = {
        {"", "does not start"},
        {"hello", "does not start"},
        {floats({1, 2}).substr(0, 9), "ends within the header"},
        {floats({1, 2}).substr(0, 40), "ends within the header"},
        {floats({1, 2, 3}).substr(0, 130), "truncated"},
        {with("{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }"), "big-endian"},
        {with("{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }"), "<c8"},
        {with("{'descr': '<U5', 'fortran_order': False, 'shape': (2,), }"), "<U5"},
        {with("{'descr': '|O', 'fortran_order': False, 'shape': (2,), }"), "|O"},
        {with("{'descr': '', 'fortran_order': False, 'shape': (2,), }"), "dtype"},
        {with("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }"), "a structure"},
        {with("{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (2 3), }"), "damaged"},
        {with("{'descr': '<f4', 'fortran_order': False, }"), "lacks a key"},
        {with("{'descr': '<f4', 'other': 5, 'shape': (2,), }"), "damaged"},
        {with("{'descr': '<f4"), "damaged"},
        {with("[1, 2]"), "not a dict"},
        {with("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999, 99999999999), }"),
         "too large"},
        {with("{'descr': '<f8', 'fortran_order': False, 'shape': (1152921504606846976,), }"), "truncated"},
        {"\x93NUMPY\x09" + floats({1}).substr(7), "format version 9"},
    };
    for (const auto& [file, message] : rows) {
        const Result result = copy_array(file);
        EXPECT_EQ(result.status, 1) << message;
        EXPECT_THAT(result.err, StartsWith("before.npy: error: "));
        EXPECT_THAT(result.err, HasSubstr(message));
    }
}

// ------------------------------------------------------------------------------------------------------ CUDA

constexpr const char* cuda_kernel = R"(#include <ptxgraft/site.cuh>
#include "offset.h"
extern "C" __global__ void shift(const float* x, float* y, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    float acc = x[i] + OFFSET * SCALE;
    PTXGRAFT_SITE("epilogue", "", mod(f32, acc));
    y[i] = acc;
}
)";

TEST_F(Cli, CudaIsCompiledAndRun) {
    spill("shift.cu", cuda_kernel);
    spill("offset.h", "#define OFFSET 10.0f\n");
    const Result compiled =
        ptxgraft({"compile", "shift.cu", "--target", "sm_80", "-DSCALE=2", "-o", "shift.ptx"});
    ASSERT_EQ(compiled.status, 0) << compiled.err;
    EXPECT_THAT(slurp("shift.ptx"), HasSubstr(".target sm_80"));
    EXPECT_THAT(ptxgraft({"sites", "shift.cu", "-D", "SCALE=2"}).out,
                HasSubstr("epilogue  1 copy\n    mod f32     acc\n"));

    const Result run =
        ptxgraft({"run", "shift.cu", "-DSCALE=2", "--device", "emulator", "--block", "4", "--program",
                  "epilogue=acc neg.f32 -> acc", "--arg", "in=x.npy", "out=f32:4:y.npy", "s32=4"});
    ASSERT_EQ(run.status, 0) << run.err;
    EXPECT_EQ(elements<float>("y.npy"), (std::vector<float>{-21, -18, -23, -16}));
}

TEST_F(Cli, CudaErrorsSayWhere) {
    spill("wrong.cu", "extern \"C\" __global__ void k(float* x) {\n    x[0] = undeclared;\n}\n");
    const Result result = ptxgraft({"compile", "wrong.cu"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, StartsWith("wrong.cu"));
    EXPECT_THAT(result.err, testing::ContainsRegex("wrong\\.cu[:(]2"));
    EXPECT_THAT(result.err, HasSubstr("undeclared"));
}

}  // namespace
