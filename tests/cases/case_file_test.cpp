// The form of cases, and what --rebase makes of them.
#include "case_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include "run_case.hpp"
#include "support/files.hpp"

namespace ptxgraft::cases {
namespace {

namespace fs = std::filesystem;
using test::read_file, test::write_file;
using testing::HasSubstr;

// Files of every stage in a folder of their own.
class CaseFile : public testing::Test {
  protected:
    CaseFile() {
        for (const std::string& file : files_) {
            fs::create_directories((root_ / file).parent_path());
            fs::copy_file(folder / file, root_ / file);
        }
    }

    // Of the file: with `from` written as `to`.
    std::string spoil(const std::string& file, const std::string& from, const std::string& to) {
        std::string text = read_file(root_ / file);
        const std::size_t at = text.find(from);
        EXPECT_NE(at, std::string::npos) << text;
        text.replace(at, from.size(), to);
        write_file(root_ / file, text);
        return text;
    }
    // What the test of a file reports.
    std::string failures(const std::string& file) {
        testing::TestPartResultArray results;
        {
            const testing::ScopedFakeTestPartResultReporter reporter(
                testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
            expect_as_written(root_, file);
        }
        std::string text;
        for (int i = 0; i < results.size(); ++i) text += results.GetTestPartResult(i).message();
        return text;
    }

    const std::string race_ = "checks/races/no_barrier_between_write_and_read.ptx",
                      names_ = "verify/names/label_in_block_jumped_from_outside.ptx",
                      alias_ = "refusals/alias_of_itself.ptx";
    const std::vector<std::string> files_ = {race_, names_, alias_};
    const test::TemporaryFolder temporary_;
    const fs::path root_ = temporary_.path;
};

TEST_F(CaseFile, RebaseLeavesRightFilesAsTheyAre) {
    EXPECT_THAT(rebase(root_), testing::IsEmpty());
    for (const std::string& file : files_) {
        EXPECT_EQ(failures(file), "");
        EXPECT_EQ(read_file(root_ / file), read_file(folder / file)) << file;
    }
}

TEST_F(CaseFile, AnotherErrorFailsWithBothAndRebaseWritesTheRightOne) {
    spoil(race_, "error: data_race [races]", "error: memory_not_written [unwritten]");
    const std::string said = failures(race_);
    EXPECT_THAT(said, HasSubstr(race_ + ":22: ld.shared.u32 %r2, [%r22];"));
    EXPECT_THAT(said, HasSubstr("expected:  // error: memory_not_written [unwritten]"));
    EXPECT_THAT(said, HasSubstr("got:       // error: data_race [races]"));
    EXPECT_THAT(said, HasSubstr("are not ordered"));
    EXPECT_THAT(rebase(root_), testing::ElementsAre(race_));
    EXPECT_EQ(read_file(root_ / race_), read_file(folder / race_));
}

TEST_F(CaseFile, AMissingErrorAndOneTooManyFail) {
    spoil(race_, "  // error: data_race [races]", "");
    EXPECT_THAT(failures(race_), HasSubstr("expected:  nothing\n  got:       // error: data_race [races]"));
    spoil(names_, "ret;", "ret;  // error: label_undefined at 5");
    EXPECT_THAT(failures(names_),
                HasSubstr("expected:  // error: label_undefined at 5\n  got:       nothing"));
    EXPECT_THAT(rebase(root_), testing::ElementsAre(race_, names_));
    for (const std::string& file : files_)
        EXPECT_EQ(read_file(root_ / file), read_file(folder / file)) << file;
}

TEST_F(CaseFile, ColumnsAndTextsAreComparedWhereTheyAreGiven) {
    spoil(names_, "label_undefined at 16", "label_undefined at 15");
    EXPECT_THAT(failures(names_), HasSubstr("got:       // error: label_undefined at 16"));
    spoil(names_, "label_undefined at 15", "label_undefined");
    EXPECT_EQ(failures(names_), "");
    spoil(alias_, "an alias of itself", "an alias of another");
    EXPECT_THAT(failures(alias_), HasSubstr("an alias of itself"));
}

TEST_F(CaseFile, WhatIsRightMustBeClean) {
    spoil(race_, "// right: bar.sync 0;", "// right: bar.warp.sync -1;");
    EXPECT_THAT(failures(race_), HasSubstr("put right, line"));
}

TEST_F(CaseFile, ARightLineStandsForTheLineAboveAndForWrongOnes) {
    const auto read = read_case(
        "a;\n  b;  // wrong\n  c;  // error: data_race  // note\n  // right: d;\n  // right: e;\nf;\n");
    ASSERT_TRUE(read);
    EXPECT_EQ(read->twin, "a;\nd;\ne;\nf;\n");
}

TEST_F(CaseFile, RebaseKeepsWhatIsWrongAndAsMuchAsWasSaid) {
    const auto read = read_case("a;  // wrong  // error: trap_executed at 3 \"old\"\nb;  // note\nc;\n");
    ASSERT_TRUE(read);
    const Given error{.line = 1,
                      .column = 1,
                      .code = "data_race",
                      .message = "new",
                      .check = EmulatorCheck::races,
                      .named = {3}};
    EXPECT_EQ(rebased(*read, {error}),
              "a;  // wrong  // error: data_race at 1 [races] \"new\"\nb;\nc;  // note\n");
}

TEST_F(CaseFile, SettingsThatThereAreNotAreErrors) {
    for (const char* const wrong : {"//@ lunch block=1\n", "//@ launch\n", "//@ launch blocks=1\n",
                                    "//@ launch block=x\n", "//@ launch checks=some\n"})
        EXPECT_FALSE(read_case(wrong)) << wrong;
}

}  // namespace
}  // namespace ptxgraft::cases
