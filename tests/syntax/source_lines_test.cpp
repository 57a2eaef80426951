// The lines of the source that an instruction comes from, by .loc and .file.
#include <gtest/gtest.h>

#include <string>
#include <string_view>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::syntax {
namespace {

constexpr std::string_view located = R"(.version 8.5
.target sm_90
.address_size 64
.visible .entry first() {
	.loc	2 7 1
	ret;
}
.visible .entry second() {
	bar.sync 0;
	.loc	1 27 3
	.loc	1 10 5, function_name $L__info_string0, inlined_at 1 27 3
	.loc	2 15 9, function_name $L__info_string0+7, inlined_at 1 10 5
	add.u32 %r1, %r1, 1;
	.loc	1 28 2, function_name .debug_str+14, inlined_at 3 5 6
	add.u32 %r1, %r1, 2;
	{
	.loc	1 30 0
	add.u32 %r1, %r1, 3;
	}
	ret;
}
	.file	1 "a b.cu"
	.file	2 "/x/y.h", 1700000000, 12
	.section	.debug_str
	{
$L__info_string0:
.b8 95,90,49,97,105,98
.b8 0
.b8 95,90,49,98,118,0
.b8 0
.b8 112,108,97,105,110,0

	}
)";

std::string lines_at(std::string_view text, std::string_view instruction) {
    const auto module = parse(std::string(text));
    if (!module) return "does not parse";
    std::string all;
    for (const SourceLine& line : source_lines(*module, static_cast<std::uint32_t>(text.find(instruction))))
        all += line.file + ":" + std::to_string(line.line) + ":" + std::to_string(line.column) + " " +
               line.function + ";";
    return all;
}

TEST(SourceLines, FollowWhatWasInlinedOutwards) {
    EXPECT_EQ(lines_at(located, "add.u32 %r1, %r1, 1"),
              "/x/y.h:15:9 b();a b.cu:10:5 a(int, bool);a b.cu:27:3 ;");
}
TEST(SourceLines, EndWhereNoLocationIsThatOfTheCaller) {
    EXPECT_EQ(lines_at(located, "add.u32 %r1, %r1, 2"), "a b.cu:28:2 plain;file 3:5:6 ;");
}
TEST(SourceLines, OfABlock) { EXPECT_EQ(lines_at(located, "add.u32 %r1, %r1, 3"), "a b.cu:30:0 ;"); }
TEST(SourceLines, AreTheFunctionsOwn) {
    EXPECT_EQ(lines_at(located, "bar.sync"), "");
    EXPECT_EQ(lines_at(located, "ret"), "/x/y.h:7:1 ;");
    EXPECT_EQ(lines_at(located, ".version"), "");
}
TEST(SourceLines, OfLocationsThatInlineEachOtherEnd) {
    EXPECT_EQ(lines_at(".version 8.5\n.target sm_90\n.visible .entry k() {\n.loc 1 1 1, function_name f, "
                       "inlined_at 1 1 1\nret;\n}\n",
                       "ret"),
              "file 1:1:1 ;file 1:1:1 ;");
}

}  // namespace
}  // namespace ptxgraft::syntax
