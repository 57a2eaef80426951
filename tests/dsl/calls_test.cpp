// A call of every opcode, checked while C++ compiled, in a generated file. That such lines are what ptxas
// takes is the matter of coverage_test.cpp.

#include <gtest/gtest.h>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/syntax.hpp"

std::size_t emit_every_opcode(ptxgraft::dsl::FunctionBuilder<>& k);

namespace ptxgraft {
namespace {

TEST(DslCalls, EveryOpcodeIsOneInstruction) {
    dsl::Module module({.target = "sm_100a", .version = "9.5"});
    module.raw(".global .texref tex_;\n.global .surfref surf_;");
    module.raw(".func (.param .b32 r) fn1(.param .b32 x);");
    auto& k = module.entry("k");
    k.raw("L: T: .branchtargets L;");
    k.raw("P: .callprototype (.param .b32 _) _ (.param .b32 _);");
    const std::size_t calls = emit_every_opcode(k);
    EXPECT_EQ(calls, isa::table_opcodes.size());
    EXPECT_EQ(k.instruction_count(), calls);
    const std::string text = module.text();
    const auto parsed = syntax::parse(text);
    ASSERT_TRUE(parsed) << describe(parsed.error(), text);
    std::size_t instructions = 0;
    for (const syntax::Statement& s : parsed->functions().begin()[1].body_recursive())
        instructions += s.kind() == syntax::StatementKind::instruction;
    EXPECT_EQ(instructions, calls);
}

}  // namespace
}  // namespace ptxgraft
