// Functions by other names and through addresses.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "ptxgraft/link.hpp"
#include "ptxgraft/syntax.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

const std::string head = test::module_head("8.7");
const std::string body =
    "\n{\n.reg .u32 x;\nld.param.u32 x, [a];\nadd.u32 x, x, 100;\nst.param.u32 [r], x;\nret;\n}\n";
std::string func(const std::string& linkage, const std::string& name, const std::string& body = ";\n") {
    return linkage + ".func (.param .u32 r) " + name + "(.param .u32 a)" + body;
}
// Calls what `target` names, of the thread's number.
std::string entry(const std::string& target, const std::string& before = "",
                  const std::string& prototype = "") {
    return ".visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<6>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, "
           "[o];\nmov.u32 %r2, %tid.x;\n" +
           before + "{ .param .u32 p;\n.param .u32 q;\nst.param.u32 [p], %r2;\n" +
           (prototype.empty() ? "" : "P: .callprototype " + prototype + ";\n") + "call (q), " + target +
           ", (p)" + (prototype.empty() ? "" : ", P") +
           ";\nld.param.u32 %r1, [q]; }\nmul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd1, %rd1, "
           "%rd2;\nst.global.u32 [%rd1], %r1;\nret;\n}\n";
}
const std::string same = "(.param .u32 _) _ (.param .u32 _)";

struct AliasRow {
    std::string name, text;
};
void PrintTo(const AliasRow& row, std::ostream* out) { *out << row.name; }

const AliasRow aliases[] = {
    {"BehindTheDefinition",
     head + func(".visible ", "g") + func(".visible ", "f", body) + ".alias g, f;\n" + entry("g")},
    {"BeforeTheDefinition", head + func(".visible ", "f") + func(".visible ", "g") + ".alias g, f;\n" +
                                entry("g") + func(".visible ", "f", body)},
    {"BehindTheCall", head + func("", "g") + func("", "f", body) + entry("g") + ".alias g, f;\n"},
    {"WeakAndExternal", head + func(".extern ", "g") + func(".weak ", "h") + func("", "f", body) +
                            ".alias g, f;\n.alias h, f;\n" + entry("h")},
    {"OfAnotherAlias", head + func("", "g") + func("", "h") + func("", "f", body) +
                           ".alias g, h;\n.alias h, f;\n" + entry("g")},
    {"ThroughAnAddress", head + func("", "g") + func("", "f", body) + ".alias g, f;\n" +
                             entry("%rd3", "mov.u64 %rd3, g;\n", same)},
    {"InAnInitialiser", head + func("", "g") + func("", "f", body) +
                            ".alias g, f;\n.global .u64 table[2] = {g, f};\n" +
                            entry("%rd3", "ld.global.u64 %rd3, [table];\n", same)},
    {"InAnInitialiserBefore", head + func("", "g") + func("", "f", body) +
                                  ".global .u64 table[2] = {f, g};\n.alias g, f;\n" +
                                  entry("%rd3", "ld.global.u64 %rd3, [table+8];\n", same)},
    {"AmongTargets",
     head + func("", "g") + func("", "f", body) + ".alias g, f;\n" +
         ".visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<6>;\n.reg .b32 %r<4>;\nld.param.u64 %rd1, "
         "[o];\nmov.u32 %r2, %tid.x;\nmov.u64 %rd3, g;\n"
         "{ .param .u32 p;\n.param .u32 q;\nst.param.u32 [p], %r2;\nT: .calltargets f, g;\ncall (q), %rd3, "
         "(p), T;\nld.param.u32 %r1, [q]; }\n"
         "mul.wide.u32 %rd2, %r2, 4;\nadd.s64 %rd1, %rd1, %rd2;\nst.global.u32 [%rd1], %r1;\nret;\n}\n"},
};

class Alias : public testing::TestWithParam<AliasRow> {};

TEST_P(Alias, IsTheFunction) {
    const std::string& text = GetParam().text;
    if (const Assembler* assembler = nvptxcompiler()) {
        const auto cubin = assembler->assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    const auto module = syntax::parse(text);
    ASSERT_TRUE(module);
    for (const Error& error : isa::verify(*module)) ADD_FAILURE() << describe(error, text);
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const u64 out = machine.upload(std::vector<u32>(32));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {32, 1, 1}}, out));
    const auto words = machine.download<u32>(out, 32);
    for (u32 i = 0; i < 32; ++i) EXPECT_EQ(words[i], 100 + i);
}

INSTANTIATE_TEST_SUITE_P(Emulator, Alias, testing::ValuesIn(aliases),
                         [](const testing::TestParamInfo<AliasRow>& info) { return info.param.name; });

TEST(EmulatorAlias, HasTheAddressOfTheFunction) {
    const std::string text = head + func("", "g") + func("", "f", body) +
                             ".alias g, f;\n.visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<4>;\n"
                             "ld.param.u64 %rd1, [o];\nmov.u64 %rd2, f;\nmov.u64 %rd3, g;\nsub.u64 %rd2, "
                             "%rd2, %rd3;\nst.global.u64 [%rd1], %rd2;\nret;\n}\n";
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const u64 out = machine.upload(std::vector<u64>(1, 7));
    EXPECT_RUNS(machine, machine.launch("k", {}, out));
    EXPECT_EQ(machine.download<u64>(out, 1)[0], 0u);
}

TEST(EmulatorAlias, OfWhatIsDefinedElsewhereIsMissing) {
    const std::string text = head + func("", "f") + func("", "g") + ".alias g, f;\n" + entry("g");
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const auto done = machine.launch("k", {}, machine.upload(std::vector<u32>(1)));
    ASSERT_FALSE(done);
    EXPECT_EQ(message(done.error()).substr(0, 47), "no definition of the external function f, block");
}

TEST(EmulatorCalls, NameBothSignatures) {
    const std::string text = head +
                             ".func (.reg .u32 r) f(.reg .f32 a, .param .align 8 .b8 b[24])\n{ ret; }\n" +
                             ".visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, "
                             "[o];\nmov.u64 %rd3, 7;\nmov.u64 %rd2, f;\n"
                             "P: .callprototype (.reg .u64 _) _ (.reg .u64 _, .reg .u64 _);\ncall (%rd3), "
                             "%rd2, (%rd1, %rd1), P;\nst.global.u64 [%rd1], %rd3;\nret;\n}\n";
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const u64 out = machine.upload(std::vector<u64>(1));
    const auto done = machine.launch("k", {}, out);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::call_mismatch);
    EXPECT_THAT(message(done.error()),
                HasSubstr("a call unlike the function: by its .callprototype it is of (.b64) _ (.b64, .b64), "
                          "and the function is (.b32) f (.b32, .align 8 .b8[24])"));
}

// What a call passes may be a register where the function has a variable, an immediate, or nothing for an
// array without a size.
TEST(EmulatorCalls, ThatFitAreClean) {
    const std::string text = head +
                             ".func (.param .b32 r) f(.param .b32 a, .param .b64 b)\n{ .reg .b32 %x; "
                             "ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }\n"
                             ".func (.reg .b32 r) g(.reg .b32 a)\n{ add.u32 r, a, 1; ret; }\n.func h(.param "
                             ".b32 a, .param .align 8 .b8 rest[])\n{ ret; }\n"
                             ".visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<4>;\n.reg .b32 "
                             "%r<5>;\nld.param.u64 %rd1, [o];\nmov.u32 %r1, 4;\nmov.u64 %rd2, g;\n"
                             "call (%r2), f, (%r1, %rd1);\ncall (%r3), g, (5);\nP: .callprototype (.param "
                             ".b32 _) _ (.param .b32 _);\ncall (%r4), %rd2, (%r3), P;\ncall (_), g, (%r1);\n"
                             "{ .param .align 8 .b8 x[16];\nst.param.b64 [x], %rd1;\ncall h, (%r1, x); "
                             "}\nadd.u32 %r2, %r2, %r4;\nst.global.u32 [%rd1], %r2;\nret;\n}\n";
    if (const Assembler* assembler = nvptxcompiler()) {
        const auto cubin = assembler->assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const u64 out = machine.upload(std::vector<u32>(1));
    EXPECT_RUNS(machine, machine.launch("k", {}, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], 4u + 5 + 2);
}

// As ptxas passes them: an .f32 is rounded, all else takes the bits, or as many as it has.
TEST(EmulatorCalls, FloatingConstantsHaveTheTypeOfTheParameter) {
    const std::string text =
        head +
        ".func (.reg .b64 r) f(.reg .f32 a, .param .b32 b, .param .f64 c)\n{ .reg .b32 %x<3>; .reg .b64 %y;\n"
        "mov.b32 %x1, a; ld.param.b32 %x2, [b]; ld.param.b64 %y, [c];\n"
        "mov.b64 r, {%x2, %x1}; add.u64 r, r, %y; ret; }\n"
        ".visible .entry k(.param .u64 o)\n{\n.reg .b64 %rd<4>;\nld.param.u64 %rd1, [o];\n"
        "call (%rd2), f, (1.5, 0f00000007, 0f00000010);\nst.global.b64 [%rd1], %rd2;\n"
        "mov.u64 %rd3, f;\nP: .callprototype (.reg .b64 _) _ (.reg .f32 _, .param .b32 _, .param .f64 _);\n"
        "call (%rd2), %rd3, (0d3FF8000000000000, 2.5, 0d0000000000000003), P;\n"
        "st.global.b64 [%rd1+8], %rd2;\nT: .calltargets f;\n"
        "call (%rd2), %rd3, (1.5, 0f00000001, 0d0000000000000003), T;\nst.global.b64 [%rd1+16], %rd2;\n"
        "ret;\n}\n";
    if (const Assembler* assembler = nvptxcompiler()) {
        const auto cubin = assembler->assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    Machine machine;
    ASSERT_TRUE(machine.load(text));
    const u64 out = machine.upload(std::vector<u64>(3));
    EXPECT_RUNS(machine, machine.launch("k", {}, out));
    EXPECT_THAT(machine.download<u64>(out, 3),
                testing::ElementsAre(0x3FC0000000000017u, 0x3FC0000000000003u, 0x3FC0000000000004u));
}

// As ptxas has it, an .align of less than natural alignment counts for nothing.
TEST(EmulatorCalls, ParametersHaveNaturalAlignmentAtLeast) {
    Machine machine;
    ASSERT_TRUE(
        machine.load(head +
                     ".func (.param .b32 r) f(.param .align 1 .b32 a)\n{ .reg .b32 %x; "
                     "ld.param.b32 %x, [a]; st.param.b32 [r], %x; ret; }\n"
                     ".visible .entry k(.param .u64 o, .param .b8 a, .param .align 1 .b64 b)\n{\n"
                     ".reg .b64 %rd<4>;\n.reg .b32 %r1;\nld.param.u64 %rd1, [o];\nld.param.b64 %rd2, [b];\n"
                     "mov.u64 %rd3, f;\nP: .callprototype (.param .b32 _) _ (.param .b32 _);\n"
                     "call (%r1), %rd3, (7), P;\nst.global.b64 [%rd1], %rd2;\nst.global.b32 [%rd1], %r1;\n"
                     "ret;\n}\n"));
    const u64 out = machine.upload(std::vector<u64>(1));
    EXPECT_RUNS(machine, machine.launch("k", {}, out, std::uint8_t{1}, u64{0x500000009}));
    EXPECT_EQ(machine.download<u64>(out, 1)[0], 0x500000007u);
}

}  // namespace
}  // namespace ptxgraft
