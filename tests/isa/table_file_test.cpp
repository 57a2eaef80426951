// Mistakes in ptx.isa end the build, by their line: the table's compiler is given the table with one more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "support/files.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

// What the compiler says of the table with `row` as its first line; empty: nothing.
std::string said_of(const std::string& row) {
    test::TemporaryFolder folder;
    const std::string table = folder.str() + "/ptx.isa";
    test::write_file(table, row + "\n" + test::read_file(test::source_path("src/isa/ptx.isa")));
    const std::string command =
        test::build_path("ptxgraft_isa_generate") + " " + table + " " + folder.str() + "/rows.inc 2>&1";
    FILE* const output = ::popen(command.c_str(), "r");
    std::string text;
    for (int c; (c = std::fgetc(output)) != EOF;) text += static_cast<char>(c);
    EXPECT_EQ(::pclose(output) == 0, text.empty()) << text;
    return text;
}

TEST(TableFile, MistakesHaveTheirLine) {
    const auto row = [](const std::string& since, const std::string& types) {
        return "szext.wrap.u32 d, a, b | " + since + " | " + types + " | pure";
    };
    EXPECT_EQ(said_of("# a comment"), "");
    EXPECT_EQ(said_of(row("7.6 sm_70", "d,a: .u32  b: plain .u32")), "");
    EXPECT_THAT(said_of(row("7.6 sm_2", "d,a: .u32  b: plain .u32")),
                StartsWith("ptx.isa:1: error: there is no sm_2;"));
    EXPECT_THAT(said_of(row("7.6 70", "d,a: .u32  b: plain .u32")),
                StartsWith("ptx.isa:1: error: '70' is no architecture"));
    EXPECT_THAT(said_of(row("7 sm_70", "d,a: .u32  b: plain .u32")),
                StartsWith("ptx.isa:1: error: '7' is no PTX version"));
    EXPECT_THAT(said_of("nothing.u32 d, a | 7.6 sm_70 | d,a: .u32 | pure"),
                StartsWith("ptx.isa:1: error: opcode nothing has no effect row"));
    // The first one is ours, and the table's own the second.
    EXPECT_THAT(said_of("special %laneid .u32 | 1.3 sm_10"),
                HasSubstr("%laneid stands twice among the special registers"));
}

}  // namespace
}  // namespace ptxgraft
