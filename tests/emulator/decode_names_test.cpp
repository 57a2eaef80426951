// Decoding names: where they are declared, what hides them, and the places of registers.
#include <gtest/gtest.h>

#include "ptxgraft/isa.hpp"
#include "support/decoded.hpp"

namespace ptxgraft::emulator {
namespace {

// A module sees no variable, function or list of targets before it is declared, whatever stands there.
TEST(EmulatorDecode, NamesAreUsedBehindTheirDeclarations) {
    const std::string_view texts[] = {
        ".global .u32 a; .entry k() { .reg .u32 %r; ld.global.u32 %r, [a]; ld.global.u32 %r, [a]; "
        "ld.global.u32 %r, [b]; ret; } .global .u32 b;",
        ".global .u32 a; .entry k() { .reg .u64 %r; mov.u64 %r, a; mov.u64 %r, a; mov.u64 %r, b; ret; } "
        ".global .u32 b;",
        ".entry k() { call f; ret; } .func f() { ret; }",
        ".entry k() { .reg .u32 %r; mov.u32 %r, 0; brx.idx %r, T; L: T: .branchtargets L; ret; }",
    };
    for (const std::string_view text : texts) {
        const std::string module = with_header(std::string(text));
        const auto findings = isa::verify(*syntax::parse(module));
        ASSERT_FALSE(findings.empty()) << text;
        for (const std::uint32_t often : {1u, never}) {
            const Decoded decoded(module, often);
            ASSERT_FALSE(decoded.program) << text;
            EXPECT_EQ(decoded.program.error().span, findings[0].span) << text;
        }
    }
}

// Results and first sources of a function's operations that have one result.
std::vector<std::pair<Ref, Ref>> moves_of(const Program& program, const Function& function) {
    std::vector<std::pair<Ref, Ref>> moves;
    for (std::uint32_t pc = function.begin; pc < function.end.code; ++pc)
        if (const Operation& operation = program.code[pc]; operation.outputs == 1)
            moves.emplace_back(program.refs[operation.operands], program.refs[operation.operands + 1]);
    return moves;
}

// Registers of a declared range take room as they are named, and numbers far apart are kept apart.
TEST(EmulatorDecode, RegistersOfHugeRangesAreKeptApart) {
    const Decoded decoded(
        with_header(".entry k() { .reg .b32 %q<4000000000>; mov.b32 %q0, 1; mov.b32 %q3999999999, 2; mov.b32 "
                    "%q2000000, 3; mov.b32 %q40000, %q3999999999; mov.b32 %q000, %q2000000; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 5u);
    EXPECT_EQ(moves[3].second, moves[1].first);
    EXPECT_EQ(moves[4].second, moves[2].first);
    EXPECT_EQ(moves[4].first, moves[0].first);
    EXPECT_NE(moves[0].first, moves[1].first);
    EXPECT_EQ(decoded.program->functions[0].register_bytes, 4 * 4 * lane_count);
}

// One that was far from the others keeps its place when those between them come into use.
TEST(EmulatorDecode, RegistersKeepTheirPlacesWhenARangeFills) {
    const Decoded decoded(
        with_header(".entry k() { .reg .b32 %q<4000000000>; mov.b32 %q100000, 1; mov.b32 %q30000, 2; mov.b32 "
                    "%q60000, 3; mov.b32 %q119000, 4; mov.b32 %q5, %q100000; mov.b32 %q7, %q060000; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 6u);
    EXPECT_EQ(moves[4].second, moves[0].first);
    EXPECT_EQ(moves[5].second, moves[2].first);
    EXPECT_EQ(decoded.program->functions[0].register_bytes, 6 * 4 * lane_count);
}

// A single register hides one of a range in its block alone, at whatever place names were asked for before.
TEST(EmulatorDecode, SingleNamesHideThoseOfRangesInTheirBlock) {
    const std::string body =
        ".entry NAME() { .reg .b32 %r<9>; mov.b32 %r1, 1; mov.b32 %r2, %r1; { .reg .b32 %r1; mov.b32 %r1, 2; "
        "mov.b32 %r3, %r1; { .reg .b32 %r<2>; mov.b32 %r1, 3; mov.b32 %r0, %r2; } mov.b32 %r4, %r1; } "
        "mov.b32 %r5, %r1; ret; }\n";
    std::string text = with_header("");
    for (const char* name : {"a", "b"}) text += std::string(body).replace(body.find("NAME"), 4, name);
    const Decoded decoded(text);
    ASSERT_TRUE(decoded.program);
    for (const Function& function : decoded.program->functions) {
        const auto moves = moves_of(*decoded.program, function);
        ASSERT_EQ(moves.size(), 8u);
        const Ref outer = moves[0].first, single = moves[2].first, inner = moves[4].first;
        EXPECT_EQ(moves[1].second, outer);
        EXPECT_EQ(moves[3].second, single);
        EXPECT_EQ(moves[5].second, moves[1].first);
        EXPECT_EQ(moves[6].second, single);
        EXPECT_EQ(moves[7].second, outer);
        EXPECT_TRUE(outer != single && single != inner && inner != outer);
    }
}

// What was known of a range holds behind declarations of other names, and no longer than its block.
TEST(EmulatorDecode, RangesDeclaredAfterAUseAndInBlocksThatEnd) {
    const Decoded decoded(with_header(
        ".entry k() { .reg .b32 %r<9>, %t<9>; mov.b32 %r1, 1; mov.b32 %t1, 2; "
        "{ .reg .b32 r1; mov.b32 r1, %r1; .reg .b32 %r<4>; mov.b32 %r1, r1; mov.b32 %t2, %r1; } "
        "{ .reg .b32 %t<4>; mov.b32 %t1, %r1; { .reg .b32 %u<4>; mov.b32 %u1, %t1; mov.b32 %r2, %u1; } "
        "mov.b32 %r3, %t1; } { .reg .b32 %v<4>; mov.b32 %v1, %t1; .reg .b32 %t1; mov.b32 %t1, %v1; } "
        "mov.b32 %r4, %r1; mov.b32 %r5, %t1; ret; }"));
    ASSERT_TRUE(decoded.program);
    const auto moves = moves_of(*decoded.program, decoded.program->functions[0]);
    ASSERT_EQ(moves.size(), 13u);
    const Ref r1 = moves[0].first, t1 = moves[1].first;
    EXPECT_EQ(moves[2].second, r1);              // beside `r1`
    EXPECT_EQ(moves[3].second, moves[2].first);  // `r1`
    EXPECT_NE(moves[3].first, r1);               // that of the range in the block
    EXPECT_EQ(moves[4].second, moves[3].first);
    EXPECT_EQ(moves[5].second, r1);
    EXPECT_NE(moves[5].first, t1);
    EXPECT_EQ(moves[6].second, moves[5].first);
    EXPECT_EQ(moves[8].second, moves[5].first);  // behind the block of `%u`
    EXPECT_EQ(moves[9].second, t1);              // behind that of the inner `%t`
    EXPECT_EQ(moves[10].second, moves[9].first);
    EXPECT_NE(moves[10].first, t1);
    EXPECT_EQ(moves[11].second, r1);
    EXPECT_EQ(moves[12].second, t1);
}

}  // namespace
}  // namespace ptxgraft::emulator
