// Files that the program writes: whole, or as they were.

#include <sys/stat.h>

#include "support/cli.hpp"

namespace ptxgraft::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// A shell's command line, in which `$PTXGRAFT` is the program.
Result shell(const std::string& commands) {
    write_file("commands.sh", "PTXGRAFT='" + program + "'\n" + commands);
    const int status = std::system("bash commands.sh > stdout 2> stderr");
    return {WIFEXITED(status) ? WEXITSTATUS(status) : 1000 + WTERMSIG(status), read_file("stdout"),
            read_file("stderr")};
}

std::vector<std::string> names_in(const fs::path& folder) {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder)) names.push_back(entry.path().filename());
    return names;
}
bool has_temporary_file(const fs::path& folder) {
    const auto names = names_in(folder);
    return std::any_of(names.begin(), names.end(),
                       [](const std::string& name) { return name.starts_with(".ptxgraft"); });
}

constexpr const char* grow =
    ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry up(.param .u64 p)\n{\n"
    ".reg .b64 %rd<3>; .reg .b32 %r<4>;\nld.param.u64 %rd1, [p];\nld.global.u32 %r2, [%rd1];\nadd.u32 %r2, "
    "%r2, 1;\n"
    "st.global.u32 [%rd1], %r2;\nret;\n}\n";

std::string numbers(std::size_t count) {
    return npy("{'descr': '<u4', 'fortran_order': False, 'shape': (" + std::to_string(count) + ",), }",
               std::string(count * 4, '\0'));
}

TEST_F(Cli, AnArrayIsWrittenOverItself) {
    write_file("up.ptx", grow);
    write_file("x.npy", numbers(4));
    fs::permissions("x.npy", fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
    const Result result = ptxgraft({"run", "up.ptx", "--device", "emulator", "--arg", "inout=x.npy:x.npy"});
    ASSERT_EQ(result.status, 0) << result.err;
    EXPECT_EQ(elements<std::uint32_t>("x.npy"), (std::vector<std::uint32_t>{1, 0, 0, 0}));
    EXPECT_EQ(fs::status("x.npy").permissions(),
              fs::perms::owner_read | fs::perms::owner_write | fs::perms::others_read);
    EXPECT_FALSE(has_temporary_file("."));
}

// A file that may not grow stands for a full disk: the write fails in the middle.
TEST_F(Cli, AFullDiskLosesNothing) {
    write_file("up.ptx", grow);
    const std::string before = numbers(1 << 20);  // 4 MiB
    write_file("x.npy", before);
    const Result result =
        shell("ulimit -f 1024\n\"$PTXGRAFT\" run up.ptx --device emulator --arg inout=x.npy:x.npy");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("error: cannot write x.npy: File too large"));
    EXPECT_EQ(read_file("x.npy"), before);
    EXPECT_FALSE(has_temporary_file("."));
}

// The first of two outputs could be written, and is not.
TEST_F(Cli, SeveralOutputsAreWrittenTogetherOrNotAtAll) {
    write_file("up.ptx", grow);
    const std::string before = numbers(4), large = numbers(1 << 20);
    write_file("small.npy", before);
    write_file("large.npy", large);
    write_file(
        "launch.json",
        R"({"buffers": {"small": {"in": "small.npy", "out": "small.npy"}, "large": {"in": "large.npy", "out": "large.npy"},
        "new": {"in": "small.npy", "out": "new.npy"}}, "args": [{"buffer": "small"}]})");
    const Result result =
        shell("ulimit -f 1024\n\"$PTXGRAFT\" run up.ptx --device emulator --launch launch.json");
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("cannot write large.npy"));
    EXPECT_EQ(read_file("small.npy"), before);
    EXPECT_EQ(read_file("large.npy"), large);
    EXPECT_FALSE(fs::exists("new.npy"));
    ASSERT_EQ(ptxgraft({"run", "up.ptx", "--device", "emulator", "--launch", "launch.json"}).status, 0);
    EXPECT_EQ(elements<std::uint32_t>("small.npy")[0], 1u);
    EXPECT_TRUE(fs::exists("new.npy"));
    // One into a folder that is not there: the others stay as well.
    std::string json = read_file("launch.json");
    json.replace(json.find("\"new.npy\""), 9, "\"nowhere/new.npy\"");
    write_file("launch.json", json);
    EXPECT_THAT(ptxgraft({"run", "up.ptx", "--device", "emulator", "--launch", "launch.json"}).err,
                HasSubstr("cannot write nowhere/new.npy: No such file or directory"));
    EXPECT_EQ(elements<std::uint32_t>("small.npy")[0], 1u);
}

TEST_F(Cli, ALaunchThatFailsWritesNothing) {
    const std::string before = read_file("x.npy");
    const Result result =
        ptxgraft({"run", "affine.ptx", "--entry", "affine", "--device", "emulator", "--block", "64", "--arg",
                  "inout=x.npy:x.npy", "--arg", "out=f32:4:y.npy", "--arg", "f32=1", "--arg", "u32=64"});
    EXPECT_EQ(result.status, 1);
    EXPECT_THAT(result.err, HasSubstr("address out of bounds"));
    EXPECT_EQ(read_file("x.npy"), before);
    EXPECT_FALSE(fs::exists("y.npy"));
}

// Every verb that writes a file writes it in this way.
TEST_F(Cli, VerbsReplaceTheirOutputsWhole) {
    write_file("k.cu", "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 1; }\n");
    write_file("site.sig", "");
    const std::string old = "what was there before";
    const std::vector<std::string> rows[] = {
        {"canonical", "affine.ptx", "-o", "out"},
        {"compile", "k.cu", "-o", "out"},
        {"graft", "affine.ptx", "-o", "out"},
        {"stub", "x x add.f32 -> x", "--signature", "mod f32 x", "-o", "out"},
    };
    for (const auto& arguments : rows) {
        SCOPED_TRACE(arguments[0]);
        write_file("out", old);
        std::string line = "\"$PTXGRAFT\"";
        for (const std::string& a : arguments) line += " '" + a + "'";
        const Result full =
            shell("(ulimit -f 0; exec " + line + " 2>&1) | cat");  // not a byte may be written to a file
        EXPECT_THAT(full.out + full.err, HasSubstr("error: cannot write out: File too large")) << full.status;
        EXPECT_EQ(read_file("out"), old);
        EXPECT_FALSE(has_temporary_file("."));
        EXPECT_EQ(ptxgraft(arguments).status, 0);
        EXPECT_NE(read_file("out"), old);
    }
}

TEST_F(Cli, LinksAndSpecialFilesStayWhatTheyAre) {
    fs::create_directory("folder");
    write_file("folder/real.ptx", "old");
    fs::create_symlink("folder/real.ptx", "link.ptx");
    fs::create_symlink("folder/new.ptx", "dangling.ptx");
    for (const char* const link : {"link.ptx", "dangling.ptx"}) {
        ASSERT_EQ(ptxgraft({"canonical", "affine.ptx", "-o", link}).status, 0);
        EXPECT_TRUE(fs::is_symlink(link));
        EXPECT_THAT(read_file(link), HasSubstr(".visible .entry affine"));
    }
    EXPECT_THAT(read_file("folder/real.ptx"), HasSubstr(".visible .entry affine"));
    EXPECT_TRUE(fs::exists("folder/new.ptx"));
    EXPECT_FALSE(has_temporary_file("folder"));

    EXPECT_EQ(ptxgraft({"canonical", "affine.ptx", "-o", "/dev/null"}).status, 0);
    EXPECT_TRUE(fs::is_character_file("/dev/null"));
    const Result full = ptxgraft({"canonical", "affine.ptx", "-o", "/dev/full"});
    EXPECT_EQ(full.status, 1);
    EXPECT_THAT(full.err, HasSubstr("cannot write /dev/full: No space left on device"));
    EXPECT_THAT(shell("\"$PTXGRAFT\" canonical affine.ptx -o - > /dev/full").err,
                HasSubstr("cannot write standard output: No space left on device"));
    // Longer than the buffer: nothing is left of it for the last flush.
    EXPECT_THAT(shell("\"$PTXGRAFT\" completion bash > /dev/full").err,
                HasSubstr("cannot write standard output"));
    ASSERT_EQ(mkfifo("pipe", 0600), 0);
    EXPECT_THAT(shell("cat pipe & \"$PTXGRAFT\" canonical affine.ptx -o pipe; wait").out,
                HasSubstr(".visible .entry affine"));
    EXPECT_TRUE(fs::is_fifo("pipe"));
    const Result folder = ptxgraft({"canonical", "affine.ptx", "-o", "folder"});
    EXPECT_THAT(folder.err, HasSubstr("cannot write folder: Is a directory"));
    EXPECT_THAT(ptxgraft({"canonical", "affine.ptx", "-o", "folder/real.ptx/x"}).err,
                HasSubstr("cannot write folder/real.ptx/x: Not a directory"));
    EXPECT_THAT(ptxgraft({"canonical", "affine.ptx", "-o", std::string(300, 'x')}).err,
                HasSubstr("File name too long"));
}

// What a user's permissions forbid. The superuser has all of them, and becomes another user here.
TEST_F(Cli, ReadOnlyFilesAndFoldersAreRespected) {
    const bool is_root = geteuid() == 0;
    if (is_root &&
        std::system(("setpriv --reuid=65534 '" + program + "' --version > /dev/null 2>&1").c_str()) != 0)
        GTEST_SKIP() << "there is no other user to be";
    const std::string as_user = is_root ? "setpriv --reuid=65534 --regid=65534 --clear-groups " : "";
    const auto canonical = [&](const std::string& output) {
        return shell(as_user + "\"$PTXGRAFT\" canonical affine.ptx -o " + output);
    };
    fs::permissions(".", fs::perms::all);
    fs::permissions("affine.ptx", fs::perms::others_read, fs::perm_options::add);
    fs::create_directory("closed");
    for (const char* const name : {"kept.ptx", "closed/file.ptx"}) write_file(name, "old");
    fs::permissions("kept.ptx", fs::perms::owner_read | fs::perms::others_read);
    fs::permissions("closed/file.ptx", fs::perms::all);
    fs::permissions("closed", fs::perms::owner_read | fs::perms::owner_exec | fs::perms::others_read |
                                  fs::perms::others_exec);
    EXPECT_THAT(canonical("kept.ptx").err, HasSubstr("cannot write kept.ptx: Permission denied"));
    EXPECT_EQ(read_file("kept.ptx"), "old");
    const Result in_place = canonical("closed/file.ptx");
    EXPECT_EQ(in_place.status, 0) << in_place.err;
    EXPECT_THAT(read_file("closed/file.ptx"), HasSubstr(".visible .entry affine"));
    EXPECT_THAT(canonical("closed/new.ptx").err, HasSubstr("cannot write closed/new.ptx: Permission denied"));
    fs::permissions("closed", fs::perms::owner_all);
}

}  // namespace
}  // namespace ptxgraft::test
