// Targets: their texts, families and limits.
#include "ptx/target.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptx/special_names.hpp"

namespace ptxgraft {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(Target, ParsesTheArchitecturesThatThereAre) {
    for (const char* text : {"sm_10", "sm_75", "sm_80", "sm_90", "sm_90a", "sm_100f", "sm_101f", "sm_121a"}) {
        const auto architecture = parse_architecture(text);
        ASSERT_TRUE(architecture) << text;
        EXPECT_EQ(name(*architecture), text);
    }
    EXPECT_EQ(*parse_architecture("sm_90a"), (Architecture{90, 'a'}));
    EXPECT_EQ(*parse_architecture("compute_90a"), (Architecture{90, 'a'}));  // PTX ISA 11.1.2
}

TEST(Target, RefusesOthersAndListsThoseThatThereAre) {
    for (const char* text : {"", "sm_", "sm_a", "sm_91", "sm_80a", "sm_90f", "sm_90b", "sm_90 ", "sm_+90",
                             "sm_65626", "compute_91", "compute_", "90", "gfx90a"}) {
        const auto architecture = parse_architecture(text);
        ASSERT_FALSE(architecture) << text;
        EXPECT_EQ(architecture.error().code, Errc::target_unknown);
        EXPECT_THAT(message(architecture.error()),
                    AllOf(HasSubstr("'" + std::string(text) + "'"), HasSubstr("sm_75"), HasSubstr("sm_121")));
    }
}

// CUDA C++ Programming Guide, technical specifications per compute capability.
TEST(Target, LimitsOfArchitectures) {
    const ArchitectureLimits turing = architecture_limits(75), hopper = architecture_limits(90),
                             blackwell = architecture_limits(120);
    EXPECT_EQ(turing.shared_bytes_per_block, 64u << 10);
    EXPECT_EQ(turing.reserved_shared_bytes_per_block, 0u);
    EXPECT_EQ(turing.threads_per_multiprocessor, 1024u);
    EXPECT_EQ(turing.blocks_per_multiprocessor, 16u);
    EXPECT_EQ(hopper.shared_bytes_per_block, 227u << 10);
    EXPECT_EQ(hopper.reserved_shared_bytes_per_block, 1024u);
    EXPECT_EQ(hopper.threads_per_multiprocessor, 2048u);
    EXPECT_EQ(hopper.blocks_per_multiprocessor, 32u);
    EXPECT_EQ(blackwell.threads_per_multiprocessor, 1536u);
    EXPECT_EQ(blackwell.blocks_per_multiprocessor, 24u);
    EXPECT_EQ(emulated_numbers().front(), 75u);
    EXPECT_EQ(emulated_numbers().back(), 121u);
}

struct RunRow {
    std::string_view ptx;
    std::uint16_t device;
    bool runs;
};

// PTX ISA 11.1.2: of sm_X on all later ones, of sm_Xa on X alone, of sm_Xf on later ones of its family.
TEST(Target, PtxRunsOnItsArchitectureItsFamilyOrAllLaterOnes) {
    for (const RunRow& row : {RunRow{"sm_80", 80, true},
                              {"sm_80", 121, true},
                              {"sm_90", 89, false},
                              {"sm_90a", 90, true},
                              {"sm_90a", 100, false},
                              {"sm_100f", 103, true},
                              {"sm_100f", 107, true},
                              {"sm_103f", 100, false},
                              {"sm_100f", 110, false},
                              {"sm_100f", 120, false},
                              {"sm_101f", 110, true},
                              {"sm_101f", 103, false},
                              {"sm_101f", 101, true},
                              {"sm_110f", 101, false},
                              {"sm_120f", 121, true},
                              {"sm_80", 130, true},  // a device of the future
                              {"sm_100f", 130, false},
                              {"sm_91", 100, false},
                              {"", 75, true}})
        EXPECT_EQ(runs_on(row.ptx, whole_architecture(row.device)), row.runs)
            << row.ptx << " on " << row.device;
}

TEST(Target, DevicesHaveTheSharedMemoryAndTheClustersOfTheirArchitecture) {
    struct Row {
        std::uint32_t sm, kilobytes, blocks;
    };
    for (const Row& row : {Row{75, 64, 1},
                           {80, 163, 1},
                           {86, 99, 1},
                           {89, 99, 1},
                           {90, 227, 16},
                           {100, 227, 16},
                           {120, 99, 16},
                           {130, 99, 16}}) {
        EXPECT_EQ(architecture_limits(row.sm).shared_bytes_per_block, row.kilobytes * 1024) << row.sm;
        EXPECT_EQ(architecture_limits(row.sm).blocks_per_cluster, row.blocks) << row.sm;
    }
}

TEST(Target, TheEmulatorIsOneOfSm75OrLater) {
    for (const std::uint32_t sm : {75u, 80u, 88u, 90u, 101u, 121u}) EXPECT_TRUE(is_emulated(sm)) << sm;
    for (const std::uint32_t sm : {0u, 72u, 77u, 122u, 65536u + 90}) EXPECT_FALSE(is_emulated(sm)) << sm;
    EXPECT_THAT(emulated_architectures(), AllOf(testing::StartsWith("sm_75, sm_80, "), HasSubstr("sm_121")));
}

// Those of isa's table, by its own rules of parts and numbers.
TEST(Target, SpecialRegistersAreKnownByName) {
    for (const char* name : {"%tid", "%tid.x", "%ctaid.w", "%tid.r", "%laneid", "%pm0", "%pm7", "%pm0_64",
                             "%envreg31", "%clock64", "%reserved_smem_offset_1", "%is_explicit_cluster"})
        EXPECT_TRUE(is_special_name(name)) << name;
    for (const char* name : {"", "%", "tid", "%ti", "%tid.q", "%tid.xy", "%tid1", "%laneid.x", "%pm", "%pm8",
                             "%pm07", "%envreg32", "%envreg-1", "%reserved_smem_offset_2", "%r1"})
        EXPECT_FALSE(is_special_name(name)) << name;
}

}  // namespace
}  // namespace ptxgraft
