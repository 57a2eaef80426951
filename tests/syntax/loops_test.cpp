// Which blocks of a function lie on a cycle of its control-flow graph.
#include "syntax/loops.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace ptxgraft::syntax {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The instructions `mov.u32 %r, N;` that stand in loops, by their numbers.
std::vector<std::string> looped(const std::string& body) {
    const std::string text =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred %p; .reg .b32 %r;\n" +
        body + "\n}\n";
    const auto module = parse(text);
    EXPECT_TRUE(module) << describe(module.error(), text);
    const Statement function = module->functions().front();
    const std::vector<Span> loops = blocks_in_loops(function);
    std::vector<std::string> found;
    for (const Statement s : function.instructions()) {
        const auto i = s.instruction();
        if (i->opcode != "mov") continue;
        for (const Span loop : loops)
            if (loop.begin <= s.span().begin && s.span().end <= loop.end)
                found.emplace_back(i->operands[1].text());
    }
    return found;
}

std::string mark(int number) { return "mov.u32 %r, " + std::to_string(number) + ";\n"; }

TEST(Loops, CodeThatRunsOnceIsInNone) {
    EXPECT_THAT(looped(""), IsEmpty());
    EXPECT_THAT(looped(mark(1) + "@%p bra L;\n" + mark(2) + "L:\n" + mark(3) + "ret;"), IsEmpty());
}

TEST(Loops, ABackwardBranchMakesOne) {
    EXPECT_THAT(looped(mark(1) + "L:\n" + mark(2) + "@%p bra L;\n" + mark(3)), ElementsAre("2"));
    EXPECT_THAT(looped("L: bra L;"), IsEmpty());
}

TEST(Loops, NestedOnesWithBranchesInside) {
    EXPECT_THAT(looped("A:\n" + mark(1) + "B:\n" + mark(2) + "@%p bra C;\n" + mark(3) + "C:\n@%p bra B;\n" +
                       mark(4) + "@!%p bra A;\n" + mark(5)),
                ElementsAre("1", "2", "3", "4"));
}

// A compiler puts what is rare behind the return: it comes back and is in no loop, or in one that it is part
// of.
TEST(Loops, BlocksBehindTheReturn) {
    EXPECT_THAT(
        looped(mark(1) + "@%p bra RARE;\nBACK:\n" + mark(2) + "ret;\nRARE:\n" + mark(3) + "bra BACK;"),
        IsEmpty());
    EXPECT_THAT(looped("TOP:\n@%p bra RARE;\nBACK:\n" + mark(1) + "@%p bra TOP;\n" + mark(2) +
                       "ret;\nRARE:\n" + mark(3) + "bra BACK;"),
                ElementsAre("1", "3"));
}

// Whether what stands at `<` is in a loop, and has no instruction of its own.
bool is_place_looped(std::string body) {
    const std::size_t at = body.find('<');
    body.replace(at, 1, "{ // here\n}");
    const std::string begin =
        ".version 8.0\n.target sm_80\n.address_size 64\n.entry k()\n{\n.reg .pred %p;\n";
    const auto module = parse(begin + body + "\n}\n");
    EXPECT_TRUE(module) << describe(module.error());
    const std::size_t place = begin.size() + at;
    bool is_looped = false;
    for (const Span loop : blocks_in_loops(module->functions().front()))
        is_looped |= loop.begin <= place && place < loop.end;
    return is_looped;
}

// A site without operands and with an empty default stub is no more than that.
TEST(Loops, PlacesWithoutAnInstruction) {
    EXPECT_TRUE(is_place_looped("L:\n<\n@%p bra L;\n"));
    EXPECT_TRUE(is_place_looped("L:\nmembar.cta;\n<\n@%p bra L;\n"));
    EXPECT_TRUE(is_place_looped("L:\nmembar.cta;\n<\nM:\n@%p bra L;\n"));
    EXPECT_TRUE(is_place_looped("L:\n@%p bra OUT;\n<\nM:\nbra L;\nOUT:\n"));
    EXPECT_TRUE(is_place_looped("L:\n@%p bra OUT;\n<\nbra L;\nOUT:\n"));
    EXPECT_FALSE(is_place_looped("<\nL:\n@%p bra L;\n"));
    EXPECT_FALSE(is_place_looped("membar.cta;\n<\nL:\n@%p bra L;\n"));
    EXPECT_FALSE(is_place_looped("@%p bra L;\n<\nL:\n@%p bra L;\n"));
    EXPECT_FALSE(is_place_looped("L:\n@%p bra L;\n<\nmembar.cta;\n"));
    EXPECT_FALSE(is_place_looped("L:\n@%p bra L;\n<\nM:\n"));
    EXPECT_FALSE(is_place_looped("L:\n@%p bra L;\n<"));
}

TEST(Loops, LeavingThemEndsThem) {
    EXPECT_THAT(looped("L:\n" + mark(1) + "@%p bra OUT;\n" + mark(2) + "@%p exit;\nbra L;\nOUT:\n" + mark(3) +
                       "exit;"),
                ElementsAre("1", "2"));
    EXPECT_THAT(looped("L:\n" + mark(1) + "ret;\n" + mark(2) + "bra L;"), IsEmpty());
}

TEST(Loops, TwoEntriesIntoOneCycle) {
    EXPECT_THAT(looped("@%p bra B;\nA:\n" + mark(1) + "B:\n" + mark(2) + "@%p bra A;\n" + mark(3)),
                ElementsAre("1", "2"));
}

TEST(Loops, AnIndirectBranchGoesToAllOfItsTable) {
    EXPECT_THAT(looped("TOP:\n" + mark(1) + "TABLE: .branchtargets ONE, TWO;\nbrx.idx %r, TABLE;\nONE:\n" +
                       mark(2) + "bra TOP;\nTWO:\n" + mark(3) + "ret;\n" + mark(4)),
                ElementsAre("1", "2"));
    EXPECT_THAT(looped("TOP:\n" + mark(1) + "TABLE: .branchtargets END, L<2>;\nbrx.idx %r, TABLE;\nL0:\n" +
                       mark(2) + "ret;\nL1:\n" + mark(3) + "bra TOP;\nL2:\n" + mark(4) + "bra TOP;\nEND:\n"),
                ElementsAre("1", "3"));
    // of labels that there are not
    EXPECT_THAT(looped("L0:\n" + mark(1) + "TABLE: .branchtargets L<4000000000>;\nbrx.idx %r, TABLE;\n"),
                ElementsAre("1"));
}

TEST(Loops, LabelsOfOneNameInTwoBlocks) {
    EXPECT_THAT(looped("{\nL:\n" + mark(1) + "@%p bra L;\n}\n" + mark(2) + "{\nL:\n" + mark(3) +
                       "@%p bra L;\n}\n" + mark(4)),
                ElementsAre("1", "3"));
    // as of a wait that is written twice
    const std::string wait = "{\nL:\n@%p bra DONE;\nbra L;\nDONE:\n}\n";
    EXPECT_THAT(looped(wait + mark(1) + wait), IsEmpty());
    EXPECT_THAT(looped("L:\n{\n" + mark(1) + "@%p bra L;\n}\n" + mark(2)), ElementsAre("1"));  // an outer one
}

TEST(Loops, ALongFunctionTakesNoStack) {
    std::string body = "TOP:\n";
    for (int i = 0; i < 200'000; ++i)
        body += "@%p bra L" + std::to_string(i) + ";\nL" + std::to_string(i) + ":\n";
    EXPECT_THAT(looped(body + mark(1) + "@%p bra TOP;\n" + mark(2)), ElementsAre("1"));
}

}  // namespace
}  // namespace ptxgraft::syntax
