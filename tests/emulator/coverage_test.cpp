// What the emulator runs of the instruction table: it may grow, and not shrink.
#include "ptxgraft/emulator_coverage.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

namespace ptxgraft {
namespace {

// Opcodes of which spellings are missing, and how many at most. All others are whole. Those of the second
// list came after the manual that the emulator follows, PTX ISA 9.1: of most the meaning is not public.
const std::map<std::string_view, std::size_t> gaps = {
    {"addc", 3},
    {"cvt", 2},
    {"cvta", 8},
    {"cvta.to", 8},
    {"fma", 22},
    {"madc.hi", 3},
    {"madc.lo", 2},
    {"mov", 3},
    {"rcp", 4},
    {"red.async", 24},
    {"st.async", 276},
    {"subc", 3},
    {"testp", 2},

    {"clmad.hi", 2},
    {"clmad.lo", 2},
    {"cp.async.bulk", 4},
    {"cp.async.bulk.tensor", 26},
    {"cp.async.bulk.wait_group", 1},
    {"ldmatrix", 9},
    {"mbarrier.check_layout", 6},
    {"mbarrier.init", 6},
    {"mbarrier.test_wait", 30},
    {"mbarrier.test_wait.parity", 45},
    {"mbarrier.try_wait", 30},
    {"mbarrier.try_wait.parity", 45},
};
constexpr std::size_t least_emulated = 98035;

class EmulatorCoverage : public testing::Test {
  protected:
    static const std::vector<EmulatedOpcode>& opcodes() {
        static const std::vector<EmulatedOpcode> all = emulated_opcodes();
        return all;
    }
    static const EmulatedOpcode& opcode(std::string_view name) {
        return *std::find_if(opcodes().begin(), opcodes().end(),
                             [&](const EmulatedOpcode& o) { return o.opcode == name; });
    }
};

TEST_F(EmulatorCoverage, EveryOpcodeIsWholeButForTheKnownGaps) {
    for (const EmulatedOpcode& one : opcodes()) {
        if (!one.out_of_scope.empty()) continue;
        const auto gap = gaps.find(one.opcode);
        EXPECT_LE(one.missing.size(), gap == gaps.end() ? 0 : gap->second)
            << one.opcode << ", such as " << one.missing.front();
    }
}

TEST_F(EmulatorCoverage, TheTotalDoesNotFall) {
    std::size_t emulated = 0;
    for (const EmulatedOpcode& one : opcodes())
        if (one.out_of_scope.empty()) emulated += one.emulated;
    EXPECT_GE(emulated, least_emulated);
}

// The table's own numbers, counted by hand from its rows.
TEST_F(EmulatorCoverage, CountsTheSpellingsOfATargetInRange) {
    EXPECT_EQ(opcode("elect").spellings, 1u);
    EXPECT_EQ(opcode("bra").spellings, 2u);   // .uni or not
    EXPECT_EQ(opcode("shfl").spellings, 8u);  // four modes, .sync or as PTX 6.3 on sm_75 still has it
    EXPECT_EQ(opcode("activemask").spellings, 1u);
    EXPECT_EQ(opcode("tex").out_of_scope, "textures");
    const auto is_of_blackwell = [](const EmulatedOpcode& o) { return o.opcode.starts_with("tcgen05"); };
    EXPECT_TRUE(std::none_of(opcodes().begin(), opcodes().end(), is_of_blackwell));
}

TEST_F(EmulatorCoverage, WhatIsMissingHasItsName) {
    const EmulatedOpcode& loads = opcode("tex");
    ASSERT_EQ(loads.missing.size(), loads.spellings - loads.emulated);
    for (const std::string& name : loads.missing) EXPECT_TRUE(name.starts_with("tex.")) << name;
}

}  // namespace
}  // namespace ptxgraft
