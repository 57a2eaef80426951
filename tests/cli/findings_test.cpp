// ptxgraft run: which checks are on, findings instead of the first error, excuses, and what a success says.
#include <nlohmann/json.hpp>

#include "support/cli.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::test {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

class CliFindings : public Cli {
  protected:
    void SetUp() override {
        Cli::SetUp();
        write_file(
            "wrong.ptx",
            kernel_text(
                {.parameters = {"u64 out"},
                 .registers = {"b32 %r<12>", "b64 %rd<8>"},
                 .body = ".shared .align 8 .b32 box[64];\nld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\n"
                         ".loc 1 7 3\nst.shared.u32 [box], %r1;\n.loc 1 8 3\nadd.u32 %r3, %r9, 1;\n"
                         "mul.wide.u32 %rd2, %r1, 4;\nadd.u64 %rd2, %rd1, %rd2;\n"
                         "st.global.u32 [%rd2], %r3;"}) +
                ".file 1 \"/src/box.cu\"\n");
    }
    static Result run(std::vector<std::string> flags, const std::string& device = "emulator") {
        flags.insert(flags.begin(), {"run", "wrong.ptx", "--grid", "2", "--block", "64", "--arg",
                                     "out=u32:64:o.npy", "--device", device});
        fs::remove("o.npy");
        return ptxgraft(flags);
    }
};

TEST_F(CliFindings, EndARunAtTheFirst) {
    const Result first = run({});
    EXPECT_EQ(first.status, 1);
    EXPECT_THAT(first.err, testing::StartsWith("wrong.ptx:12:1: error: data race: "));
    EXPECT_THAT(first.err, Not(HasSubstr("ok:")));
    EXPECT_FALSE(fs::exists("o.npy"));
}

TEST_F(CliFindings, AreListedAndOutputsWritten) {
    const Result all = run({"--keep-going", "10"});
    EXPECT_EQ(all.status, 1);
    EXPECT_EQ(all.out, "");
    EXPECT_THAT(
        all.err,
        MatchesRegex("wrong.ptx:12:1: error: data race: [^\n]*\n  first [^\n]*, from /src/box.cu:7:3, "
                     "[^\n]*\n  then [^\n]*\n[^\n]*\n[^\n]*\nnote: "
                     "found by the check of races, in 126 threads of 2 blocks\n"
                     "wrong.ptx:14:1: error: a register that nothing wrote: [^\n]*; from "
                     "/src/box.cu:8:3\n[^\n]*\n[^\n]*\n"
                     "note: found by the check of unwritten, in 128 threads of 2 blocks\n"
                     "error: 2 findings in 32 warp instructions .1,024 thread instructions. in [0-9.]+ ms, "
                     "checked: races unwritten async barriers calls heap\n"));
    EXPECT_TRUE(fs::exists("o.npy"));
    const Result one = run({"--keep-going", "1"});
    EXPECT_EQ(one.status, 1);
    EXPECT_THAT(one.err,
                HasSubstr("note: and 1 finding more; --keep-going lists more\nerror: 2 findings in "));
}

TEST_F(CliFindings, AreSwitchedOneByOne) {
    EXPECT_THAT(run({"--checks", "unwritten"}).err,
                testing::StartsWith("wrong.ptx:14:1: error: a register that nothing wrote"));
    EXPECT_THAT(run({"--checks", "-unwritten"}).err, testing::StartsWith("wrong.ptx:12:1: error: data race"));
    const std::string ok = "ok: 32 warp instructions .1,024 thread instructions. in [0-9.]+ ms, checked: ";
    for (const auto& [flags, names] :
         {std::pair<std::vector<std::string>, std::string>{{"--checks", "async,calls"}, "async calls"},
          {{"--checks", "none"}, "none"},
          {{"--fast"}, "none"},
          {{"--checks", "-races,-unwritten"}, "async barriers calls heap"}}) {
        const Result done = run(flags);
        EXPECT_EQ(done.status, 0) << done.err;
        EXPECT_EQ(done.out, "");
        EXPECT_THAT(done.err, MatchesRegex(ok + names + "\n"));
    }
    EXPECT_THAT(run({}, "emulator:fast").err, MatchesRegex(ok + "none\n"));
    EXPECT_THAT(run({}, "emulator:sm_90:checks=async,heap").err, MatchesRegex(ok + "async heap\n"));
}

TEST_F(CliFindings, AreExcused) {
    const Result excused =
        run({"--excuse", "races@box.cu:7", "--excuse", "unwritten@14", "--excuse", "heap@3"});
    EXPECT_EQ(excused.status, 0) << excused.err;
    EXPECT_THAT(excused.err, testing::StartsWith("note: --excuse heap@3 excused nothing\nok: "));
}

TEST_F(CliFindings, AreWrittenAsJson) {
    EXPECT_EQ(run({"--keep-going", "10", "--findings", "found.json"}).status, 1);
    const auto rows = nlohmann::json::parse(read_file("found.json"));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_EQ(rows[0]["file"], "wrong.ptx");
    EXPECT_EQ(rows[0]["line"], 12);
    EXPECT_EQ(rows[0]["column"], 1);
    EXPECT_EQ(rows[0]["check"], "races");
    EXPECT_EQ(rows[0]["code"], "data_race");
    EXPECT_EQ(rows[0]["threads"], 126);
    EXPECT_EQ(rows[0]["blocks"], 2);
    EXPECT_THAT(rows[1]["message"].get<std::string>(),
                testing::StartsWith("a register that nothing wrote: "));
    EXPECT_EQ(run({"--checks", "none", "--keep-going", "10", "--findings", "found.json"}).status, 0);
    EXPECT_EQ(read_file("found.json"), "[]\n");
}

TEST_F(CliFindings, EndWithWhatEndsTheLaunch) {
    std::string text = read_file("wrong.ptx");
    text.replace(text.find("[%rd2], %r3"), 11, "[%rd2+99999], %r3");
    write_file("wrong.ptx", text);
    const Result ended = run({"--keep-going", "10", "--findings", "found.json"});
    EXPECT_EQ(ended.status, 1);
    EXPECT_THAT(
        ended.err,
        MatchesRegex(
            "wrong.ptx:12:1: error: data race: [^\n]*\n  first [^\n]*\n  then [^\n]*\n[^\n]*\n[^\n]*\nnote: "
            "[^\n]*\nwrong.ptx:17:1: error: misaligned address: [^\n]*\n[^\n]*\n[^\n]*\n"));
    const auto rows = nlohmann::json::parse(read_file("found.json"));
    ASSERT_EQ(rows.size(), 2u);
    EXPECT_TRUE(rows[1]["check"].is_null());
    EXPECT_EQ(rows[1]["code"], "address_misaligned");
}

TEST_F(CliFindings, WrongFlagsSayWhatThereIs) {
    const std::pair<std::vector<std::string>, std::string> rows[] = {
        {{"--checks", "race"},
         "error: --checks: no check is named 'race'; there are races, unwritten, async, barriers, calls, "
         "heap, equal_stores, unwaited_stores, all and none\n"},
        {{"--excuse", "race@3"},
         "error: --excuse: no check is named 'race'; there are races, unwritten, async, barriers, calls, "
         "heap, equal_stores, unwaited_stores\n"},
        {{"--excuse", "races@"},
         "error: --excuse: 'races@' is no excuse: CHECK@LINE for a line of the PTX, or CHECK@FILE:LINE for "
         "one of the source\n"},
        {{"--checks", "-races", "--excuse", "races@3"}, "error: --excuse races@3: that check is not on\n"},
    };
    for (const auto& [flags, says] : rows) {
        const Result wrong = run(flags);
        EXPECT_EQ(wrong.status, 2);
        EXPECT_EQ(wrong.err, says);
    }
    for (const std::vector<std::string>& flags : {std::vector<std::string>{"--keep-going", "0"},
                                                  {"--keep-going", "x"},
                                                  {"--keep-going", "-1"},
                                                  {"--fast", "--checks", "all"},
                                                  {"--findings", "f.json"}})
        EXPECT_EQ(run(flags).status, 2) << flags[0];
}

}  // namespace
}  // namespace ptxgraft::test
