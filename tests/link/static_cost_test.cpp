// What machine code takes, against what ptxas says of it and against kernels whose instructions are counted
// by hand.

#include "ptxgraft/static_cost.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "support/files.hpp"
#include "support/kernel_text.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using enum InstructionClass;

const std::string nvdisasm = test::program_path("nvdisasm");

// Loads x, computes, stores y.
std::string element_text(std::string_view body, std::string target = "sm_90") {
    return test::kernel_text({.target = std::move(target),
                              .parameters = {"u64 out"},
                              .registers = {"u64 %d", "f32 %x", "f32 %y", "f32 %z", "f32 %w"},
                              .body = "ld.param.u64 %d, [out];\nld.global.f32 %x, [%d];\nmov.f32 %y, %x;\n" +
                                      std::string(body) + "st.global.f32 [%d], %y;"});
}
std::string repeated(std::string_view line, int count) {
    std::string text;
    while (count-- > 0) text.append(line).append("\n");
    return text;
}
// A function of 40 values that are all needed at once.
std::string wide_text() {
    std::string body = "ld.param.u64 %d, [out];\n";
    for (int k = 0; k < 60; ++k)
        body += "ld.volatile.global.f32 %f" + std::to_string(k) + ", [%d+" + std::to_string(4 * k) + "];\n";
    for (int k = 59; k >= 0; --k)
        body += "st.volatile.global.f32 [%d+" + std::to_string(4 * k) + "], %f" + std::to_string(k) + ";\n";
    return test::kernel_text(
        {.parameters = {"u64 out"}, .registers = {"u64 %d", "f32 %f<60>"}, .body = body});
}

Cubin assembled(const std::string& ptx, const AssembleOptions& options = {}) {
    const auto cubin = default_assembler().assemble(ptx, options);
    EXPECT_TRUE(cubin) << describe(cubin.error(), ptx);
    return cubin.value_or(Cubin{});
}
StaticCost cost_of(const std::string& ptx, StaticCostOptions options = {}) {
    options.nvdisasm.program = nvdisasm;
    const auto cost = static_cost(assembled(ptx), options);
    EXPECT_TRUE(cost) << message(cost.error());
    return cost.value_or(StaticCost{});
}

TEST(StaticCost, IsWhatPtxasSays) {
    const std::string program = test::program_path("ptxas");
    if (program.empty()) GTEST_SKIP() << "no ptxas";
    const test::TemporaryFolder folder;
    const std::string file = (folder.path / "k.ptx").string();
    test::write_file(file, wide_text());
    const std::string command = program + " -arch sm_90 -v --maxrregcount 32 " + file + " -o /dev/null 2>&1";
    std::FILE* const pipe = ::popen(command.c_str(), "r");
    ASSERT_NE(pipe, nullptr);
    std::string said(1 << 14, '\0');
    said.resize(std::fread(said.data(), 1, said.size(), pipe));
    ::pclose(pipe);
    const auto assembler = ptxas(program);
    ASSERT_TRUE(assembler) << message(assembler.error());
    const auto cubin = (*assembler)->assemble(wide_text(), {.max_registers = 32});
    ASSERT_TRUE(cubin) << message(cubin.error());
    const auto cost = static_cost(*cubin, {.disassemble = false});
    ASSERT_TRUE(cost) << message(cost.error());
    EXPECT_GT(cost->spill_store_bytes, 0u);
    EXPECT_THAT(said, HasSubstr("Used " + std::to_string(cost->registers) + " registers"));
    EXPECT_THAT(said, HasSubstr(std::to_string(cost->stack_bytes) + " bytes stack frame, " +
                                std::to_string(cost->spill_store_bytes) + " bytes spill stores, " +
                                std::to_string(cost->spill_load_bytes) + " bytes spill loads"));
}

TEST(StaticCost, CountsInstructionsByClass) {
    if (nvdisasm.empty()) GTEST_SKIP() << "no nvdisasm";
    for (const char* target : {"sm_75", "sm_80", "sm_90", "sm_100", "sm_120"}) {
        std::string ptx = element_text(repeated("fma.rn.f32 %y, %y, %y, %x;", 7) +
                                           "ex2.approx.ftz.f32 %y, %y;\ntanh.approx.f32 %y, %y;\n",
                                       target);
        ptx.replace(ptx.find("8.5"), 3, "8.7");
        const StaticCost cost = cost_of(ptx);
        ASSERT_TRUE(cost.disassembly) << cost.not_disassembled;
        const Disassembly& found = *cost.disassembly;
        EXPECT_GE(found.count(f32), 7u) << target;
        EXPECT_LE(found.count(f32), 8u) << target;  // ex2 may want its input scaled
        EXPECT_EQ(found.count(special), 2u) << target;
        EXPECT_EQ(found.count(load_global), 1u) << target;
        EXPECT_EQ(found.count(store_global), 1u) << target;
        EXPECT_EQ(found.count(branch), 1u) << target;  // EXIT
        EXPECT_EQ(found.count(local), 0u) << target;
        EXPECT_EQ(found.count(other), 0u) << target;
        std::uint32_t all = 0;
        for (const std::uint32_t count : found.mix) all += count;
        EXPECT_EQ(all, cost.machine_instructions) << target;
        ASSERT_EQ(found.blocks.size(), 1u) << target;
        EXPECT_EQ(found.blocks[0].instructions, all) << target;
    }
}

TEST(StaticCost, FollowsWhatAnInstructionNeeds) {
    if (nvdisasm.empty()) GTEST_SKIP() << "no nvdisasm";
    const auto chain_of = [](const std::string& body) {
        const StaticCost cost = cost_of(element_text(body));
        return cost.disassembly ? cost.disassembly->longest_chain() : 0;
    };
    const std::uint32_t none = chain_of("");
    EXPECT_EQ(none, 3u);  // the address, LDG, STG
    EXPECT_EQ(chain_of(repeated("fma.rn.f32 %y, %y, %y, %x;", 5)), none + 5);
    EXPECT_EQ(chain_of(repeated("fma.rn.f32 %y, %y, %y, %x;", 9)), none + 9);
    // two chains side by side, and one that joins them
    EXPECT_EQ(chain_of("mul.f32 %z, %x, %x;\n" + repeated("fma.rn.f32 %z, %z, %z, %x;", 3) +
                       repeated("fma.rn.f32 %y, %y, %y, %x;", 4) + "add.f32 %y, %y, %z;\n"),
              none + 5);
}

TEST(StaticCost, TellsLoopsFromWhatIsAroundThem) {
    if (nvdisasm.empty()) GTEST_SKIP() << "no nvdisasm";
    const std::string ptx = test::kernel_text(
        {.parameters = {"u64 out", "u32 n"},
         .registers = {"u64 %d", "f32 %x", "u32 %i", "u32 %n", "pred %p"},
         .body = "ld.param.u64 %d, [out];\nld.param.u32 %n, [n];\nmov.u32 %i, 0;\nmov.f32 %x, 0f3F800000;\n"
                 "L:\n.pragma \"nounroll\";\nfma.rn.f32 %x, %x, %x, %x;\nsqrt.approx.ftz.f32 %x, %x;\n"
                 "add.u32 %i, %i, 1;\nsetp.lt.u32 %p, %i, %n;\n@%p bra L;\nst.global.f32 [%d], %x;"});
    const StaticCost cost = cost_of(ptx);
    ASSERT_TRUE(cost.disassembly) << cost.not_disassembled;
    ASSERT_EQ(cost.disassembly->blocks.size(), 3u);
    const BasicBlock& loop = cost.disassembly->blocks[1];
    EXPECT_EQ(loop.instructions, 5u);  // IADD, FFMA, ISETP, MUFU, BRA
    EXPECT_EQ(loop.chain, 3u);         // IADD, ISETP, BRA
    EXPECT_EQ(loop.offset % 16, 0u);
}

TEST(StaticCost, SaysWhyThereIsNoDisassembly) {
    const Cubin cubin = assembled(element_text(""));
    const auto cost = static_cost(cubin, {.nvdisasm = {.program = "/no/such/nvdisasm"}});
    ASSERT_TRUE(cost) << message(cost.error());
    EXPECT_FALSE(cost->disassembly);
    EXPECT_THAT(cost->not_disassembled, HasSubstr("/no/such/nvdisasm"));
    EXPECT_GT(cost->machine_instructions, 4u);
    EXPECT_LT(cost->machine_instructions * 16, cost->code_bytes + 1);
    EXPECT_EQ(static_cost(cubin, {.entry = "q"}).error().code, Errc::entry_unknown);
    EXPECT_EQ(static_cost(Cubin{}, {}).error().code, Errc::entry_unknown);
    Cubin broken = cubin;
    broken.image.resize(100);
    EXPECT_EQ(static_cost(broken, {}).error().code, Errc::link_failed);
}

TEST(StaticCost, SaysWhatLimitsOccupancy) {
    const auto of = [](std::uint16_t sm, const BlockUsage& block) {
        return occupancy({.sm = sm}, block).value_or(Occupancy{});
    };
    struct Row {
        std::uint16_t sm;
        BlockUsage block;
        std::uint32_t blocks, warps;
        OccupancyLimit limit;
    };
    // By hand, from the rules of the CUDA C++ Programming Guide.
    using enum OccupancyLimit;
    const Row rows[] = {
        {90, {.threads = 256, .registers = 32}, 8, 64, warps},
        {90, {.threads = 256, .registers = 33}, 6, 48, registers},
        {90, {.threads = 256, .registers = 128}, 2, 16, registers},
        {90, {.threads = 384, .registers = 168}, 1, 12, registers},
        {90, {.threads = 32, .registers = 16}, 32, 32, blocks},
        {90, {.threads = 33, .registers = 16}, 32, 64, blocks},
        {90, {.threads = 128, .registers = 32, .shared_bytes = 100 * 1024}, 2, 8, shared_memory},
        {90, {.threads = 128, .registers = 32, .shared_bytes = 227 * 1024}, 1, 4, shared_memory},
        {90, {.threads = 128, .registers = 32, .shared_bytes = 227 * 1024 + 1}, 0, 0, shared_memory},
        {90, {.threads = 1024, .registers = 65}, 0, 0, registers},
        {75, {.threads = 256, .registers = 32}, 4, 32, warps},
        {75, {.threads = 64, .registers = 32, .shared_bytes = 16 * 1024}, 4, 8, shared_memory},
        {86, {.threads = 256, .registers = 40}, 6, 48, warps},
        {120, {.threads = 256, .registers = 48, .shared_bytes = 49 * 1024}, 2, 16, shared_memory},
    };
    for (const Row& row : rows) {
        const Occupancy made = of(row.sm, row.block);
        EXPECT_EQ(made.blocks, row.blocks) << row.sm << " " << row.block.registers;
        EXPECT_EQ(made.warps, row.warps) << row.sm << " " << row.block.registers;
        EXPECT_EQ(made.limit, row.limit) << row.sm << " " << row.block.registers << name(made.limit);
    }
    EXPECT_EQ(occupancy({.sm = 70}, {.threads = 32}).error().code, Errc::target_unknown);
    EXPECT_EQ(occupancy({.sm = 90}, {.threads = 0}).error().code, Errc::argument_invalid);
    EXPECT_EQ(occupancy({.sm = 90}, {.threads = 1025}).error().code, Errc::argument_invalid);
}

TEST(StaticCost, HasTheOccupancyOfItsEntry) {
    const auto cost =
        static_cost(assembled(element_text("")), {.threads_per_block = 256, .disassemble = false});
    ASSERT_TRUE(cost);
    ASSERT_TRUE(cost->occupancy);
    EXPECT_EQ(cost->occupancy->warps, 64u);
    EXPECT_FALSE(static_cost(assembled(element_text("")), {.disassemble = false})->occupancy);
}

}  // namespace
}  // namespace ptxgraft
