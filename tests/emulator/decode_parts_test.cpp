// Long modules are decoded in several parts at once: what becomes of them is what becomes of the whole.
#include <gmock/gmock.h>

#include <cstring>

#include "emulator/decode/decode.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft::emulator {
namespace {

std::string with_head(const std::string& text) { return test::module_head("9.0", "sm_90a") + text; }

// Entries so long that modules of them are decoded in several parts; LAST_ONE is what the last one does.
std::string long_module(const std::string& last_one, const std::string& middle = {}) {
    std::string text = with_head(
        ".global .align 16 .b8 gv[64];\n.func (.reg .b32 r) fn(.reg .b32 a) { .shared .b32 own; add.u32 r, "
        "a, 7; ret; }\n");
    constexpr int entries = 60;
    for (int i = 0; i < entries; ++i) {
        const std::string body = i + 1 == entries ? last_one : i == entries / 2 ? middle : std::string();
        text +=
            ".entry k" + std::to_string(i) +
            "(.param .u64 p) {\n.reg .b32 %r<9>; .reg .b64 %rd<9>; .shared .b32 s[" + std::to_string(i + 1) +
            "];\n//" + std::string(50000, ' ') + "\nld.param.u64 %rd1, [p]; mov.u32 %r1, " +
            std::to_string(1000 + i) +
            "; shl.b32 %r2, %r1, 3; call (%r3), fn, (%r2); mov.u64 %rd2, gv; st.global.u32 [%rd1], %r3;\n" +
            body + "\nret;\n}\n";
    }
    return text;
}

struct DecodedInParts {
    DecodedInParts(const std::string& text, std::uint32_t threads)
        : tree(syntax::parse(text).value()),
          variables(std::make_shared<Memory>(std::uint64_t{1} << 30, false)),
          programs(decode_in_parts(tree, variables, threads)) {}
    // Where the variables are.
    [[nodiscard]] std::vector<std::uint64_t> addresses() const {
        std::vector<std::uint64_t> all;
        for (const Region& region : variables.regions()) all.push_back(region.begin);
        return all;
    }
    syntax::Module tree;
    ModuleVariables variables;
    Expected<std::vector<Program>> programs;
};

// What an entry's operations are, without where anything stands.
std::vector<std::string> operations_of(const Program& program, const Function& function,
                                       std::string_view text) {
    std::vector<std::string> all;
    for (std::uint32_t pc = function.begin; pc < function.end.code; ++pc) {
        const Operation& operation = program.code[pc];
        std::string one(
            text.substr(program.spans[pc].begin, program.spans[pc].end - program.spans[pc].begin));
        for (unsigned i = 0; i < operation.outputs + operation.inputs; ++i) {
            const Ref ref = program.refs[operation.operands + i];
            one += " " + std::to_string(width(ref)) +
                   (is_register(ref) ? "r" + std::to_string(offset(ref)) : "");
            if (ref >> bank_shift == constant_bank >> bank_shift) {
                std::uint32_t value = 0;
                std::memcpy(&value, program.constants[0].bytes.data() + offset(ref), sizeof value);
                one += "=" + std::to_string(value);
            }
        }
        all.push_back(std::move(one));
    }
    return all;
}

TEST(EmulatorDecode, LongModulesBecomeTheSameInParts) {
    const std::string text = long_module("add.u32 %r4, %r3, 12345; bra L; L: sub.u32 %r4, %r4, 9;");
    const DecodedInParts whole(text, 1), parts(text, 3);
    ASSERT_TRUE(whole.programs && parts.programs);
    ASSERT_EQ(whole.programs->size(), 1u);
    ASSERT_EQ(parts.programs->size(), 2u);
    EXPECT_EQ(parts.addresses(), whole.addresses());
    const Program& one = whole.programs->front();
    std::vector<unsigned> entries(2);
    for (std::size_t f = 0; f < one.functions.size(); ++f) {
        unsigned times = 0;
        for (std::size_t p = 0; p < 2; ++p) {
            const Program& program = (*parts.programs)[p];
            const Function &a = one.functions[f], &b = program.functions[f];
            EXPECT_EQ(a.name, b.name);
            if (!b.has_code) continue;
            ++times;
            entries[p] += b.is_entry ? 1 : 0;
            EXPECT_EQ(a.shared_bytes, b.shared_bytes) << a.name;
            EXPECT_EQ(a.register_bytes, b.register_bytes);
            EXPECT_EQ(operations_of(one, a, text), operations_of(program, b, text)) << a.name;
        }
        EXPECT_EQ(times, one.functions[f].is_entry ? 1u : 2u);
    }
    EXPECT_EQ(entries[0] + entries[1], 60u);
    EXPECT_NEAR(entries[0], 30, 2);
}

TEST(EmulatorDecode, ErrorsOfPartsAreThoseOfTheWhole) {
    const std::string texts[] = {long_module("mov.u32 %r1, %nope;"), long_module("", "mov.u32 %r1, %none;"),
                                 long_module("mov.u32 %r1, %nope;", "add.u32 %r1, %r2;"),
                                 long_module("bra NOWHERE;", "")};
    for (const std::string& text : texts) {
        const DecodedInParts whole(text, 1), parts(text, 2);
        ASSERT_FALSE(whole.programs);
        ASSERT_FALSE(parts.programs);
        EXPECT_EQ(whole.programs.error().code, parts.programs.error().code);
        EXPECT_EQ(whole.programs.error().span, parts.programs.error().span);
        EXPECT_EQ(*whole.programs.error().detail, *parts.programs.error().detail);
    }
}

// Variables of bodies stand in memory in the order of the text.
TEST(EmulatorDecode, ModulesWhoseBodiesHaveGlobalVariablesAreDecodedWhole) {
    for (const std::string& text :
         {long_module(".global .align 4 .b32 counter = 5; ld.global.u32 %r5, [counter];"),
          long_module("", ".const .align 4 .b32 three = 3; ld.const.u32 %r5, [three];")}) {
        const DecodedInParts whole(text, 1), parts(text, 2);
        ASSERT_TRUE(whole.programs && parts.programs);
        ASSERT_EQ(parts.programs->size(), 1u);
        EXPECT_EQ(parts.addresses(), whole.addresses());
        EXPECT_EQ(parts.addresses().size(), 2u);
        const Program &one = whole.programs->front(), &other = parts.programs->front();
        EXPECT_EQ(one.variables.size(), other.variables.size());
        for (std::size_t f = 0; f < one.functions.size(); ++f) {
            const Function &a = one.functions[f], &b = other.functions[f];
            EXPECT_TRUE(b.has_code);
            EXPECT_EQ(a.parameters.size(), b.parameters.size()) << a.name;
            EXPECT_EQ(a.returns.size(), b.returns.size()) << a.name;
            EXPECT_EQ(a.shared_bytes, b.shared_bytes) << a.name;
            EXPECT_EQ(a.register_bytes, b.register_bytes) << a.name;
            EXPECT_EQ(a.names.size(), b.names.size()) << a.name;
            EXPECT_EQ(operations_of(one, a, text), operations_of(other, b, text)) << a.name;
        }
    }
}

}  // namespace
}  // namespace ptxgraft::emulator
