// What a module's machine code uses, as figures, and limits on it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <numeric>

#include "ptxgraft/worker.hpp"
#include "support/compile_bombs.hpp"
#include "support/kernel_text.hpp"
#include "support/link_examples.hpp"
#include "support/machine_code.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::detail;
using testing::AllOf;
using testing::HasSubstr;

std::vector<std::shared_ptr<const Assembler>> named_assemblers() {
    std::vector<std::shared_ptr<const Assembler>> all;
    const std::string ptxas = test::program_path("ptxas");
    for (const std::string_view name : {"nvptxcompiler", "nvjitlink", "workers:1", ptxas.c_str()})
        if (auto found = !name.empty() ? find_assembler(name) : fail(Errc::assembler_not_usable))
            all.push_back(std::move(*found));
    return all;
}

const FunctionUsage& function(const Cubin& cubin, std::string_view name) {
    static const FunctionUsage none;
    for (const auto& f : cubin.functions)
        if (f.name == name) return f;
    ADD_FAILURE() << "no function " << name;
    return none;
}

Cubin assembled(const Assembler& assembler, const std::string& ptx, const AssembleOptions& options = {}) {
    auto cubin = assembler.assemble(ptx, options);
    EXPECT_TRUE(cubin) << assembler.name() << " " << describe(cubin.error(), ptx);
    return cubin ? std::move(*cubin) : Cubin();
}

// Two entries that call a function, which ptxas does not inline, and a table of branches.
constexpr std::string_view module = R"(.version 8.0
.target sm_90
.address_size 64
.const .align 4 .u32 bank[100] = {1, 2, 3, 4};
.func helper(.param .u64 p)
{
    .reg .b64 %d; .reg .b32 %r;
    ld.param.u64 %d, [p];
    ld.global.u32 %r, [%d];
    add.u32 %r, %r, 3;
    st.global.u32 [%d], %r;
    ret;
}
.visible .entry first(.param .u64 p)
{
    .reg .b64 %d; .reg .b32 %r;
    ld.param.u64 %d, [p];
    ld.const.u32 %r, [bank+4];
    st.global.u32 [%d+16], %r;
    { .param .b64 a; st.param.b64 [a], %d; call helper, (a); }
    ret;
}
.visible .entry second(.param .u64 p, .param .align 8 .b8 more[40])
{
    .reg .b64 %d; .reg .b32 %r;
    ld.param.u64 %d, [p];
    ld.global.u32 %r, [%d];
    { .param .b64 a; st.param.b64 [a], %d; call helper, (a); }
    and.b32 %r, %r, 7;
    targets: .branchtargets A, B, C, D, E, F, G, H;
    brx.idx %r, targets;
A:  st.global.u32 [%d], 1; bar.sync 0; ret;
B:  st.global.u32 [%d+4], 2; bar.sync 1; ret;
C:  st.global.u32 [%d+8], 3; bar.sync 2; ret;
D:  st.global.u32 [%d+12], 4; bar.sync 3; ret;
E:  st.global.u32 [%d+16], 5; bar.sync 4; ret;
F:  st.global.u32 [%d+20], 6; bar.sync 5; ret;
G:  st.global.u32 [%d+24], 7; bar.sync 6; ret;
H:  st.global.u32 [%d+28], 8; bar.sync 7; ret;
}
)";

TEST(Usage, CodeAndConstantsAreTheSectionsOfTheCubin) {
    for (const auto& assembler : named_assemblers())
        for (const bool relocatable : {false, true}) {
            const Cubin cubin = assembled(*assembler, std::string(module), {.relocatable = relocatable});
            const std::string name = assembler->name().data() + std::string(relocatable ? " -c" : "");
            for (const char* entry : {"first", "second"}) {
                const FunctionUsage& f = function(cubin, entry);
                EXPECT_TRUE(f.is_entry);
                EXPECT_GT(f.code_bytes, 100u);
                EXPECT_EQ(f.code_bytes, section(cubin, std::string(".text.") + entry).size()) << name;
                EXPECT_EQ(f.parameter_bytes, section(cubin, std::string(".nv.constant0.") + entry).size());
                EXPECT_EQ(f.constant_bytes, section(cubin, std::string(".nv.constant2.") + entry).size());
            }
            EXPECT_EQ(function(cubin, "first").constant_bytes, 0u);
            EXPECT_GE(function(cubin, "second").constant_bytes, 8u * 4u) << name;
            EXPECT_EQ(function(cubin, "second").parameter_bytes,
                      function(cubin, "first").parameter_bytes + 40);
            EXPECT_EQ(cubin.constant_bytes, 400u) << name;
            EXPECT_GT(cubin.assemble_ms, 0.1);
            EXPECT_LT(cubin.assemble_ms, 60'000);
        }
}

TEST(Usage, AFunctionsCodeIsThatOfItsCopies) {
    const Cubin whole = assembled(*nvptxcompiler(), std::string(module)),
                part = assembled(*nvptxcompiler(), std::string(module), {.relocatable = true});
    const std::uint32_t alone = function(part, "helper").code_bytes;
    EXPECT_EQ(alone, section(part, ".text.helper").size());
    EXPECT_FALSE(machine_code(whole).contains(".text.helper"));
    // A copy in each of the two entries, without the padding of a section.
    EXPECT_GT(function(whole, "helper").code_bytes, alone / 2);
    EXPECT_LT(function(whole, "helper").code_bytes,
              function(whole, "first").code_bytes + function(whole, "second").code_bytes);
}

TEST(Usage, LinkedCubinsHaveItToo) {
    const Cubin part = assembled(default_assembler(), std::string(module), {.relocatable = true});
    const std::span<const std::byte> one[] = {part.image};
    const auto linked = link_cubins(one, "sm_90");
    ASSERT_TRUE(linked) << describe(linked.error());
    EXPECT_GT(linked->assemble_ms, 0);
    EXPECT_EQ(linked->constant_bytes, 400u);
    for (const char* name : {"helper", "first", "second"}) {
        const FunctionUsage& f = function(*linked, name);
        EXPECT_EQ(f.code_bytes, section(*linked, std::string(".text.") + name).size()) << name;
        EXPECT_EQ(f.code_bytes, function(part, name).code_bytes);
        EXPECT_EQ(f.constant_bytes, function(part, name).constant_bytes);
    }
    const auto limited = link_cubins(one, "sm_90", {.code_bytes = 128});
    ASSERT_FALSE(limited);
    EXPECT_EQ(limited.error().code, Errc::assemble_limit_exceeded);
    EXPECT_TRUE(link_cubins(one, "sm_90", {.registers = 255, .spill_bytes = 0, .code_bytes = 10'000}));
}

TEST(AssembleLimits, AreKeptToTheLastOne) {
    const std::string ptx = test::memory_bomb(270);  // which spills
    for (const auto& assembler : named_assemblers()) {
        const Cubin cubin = assembled(*assembler, ptx);
        const FunctionUsage& k = function(cubin, "k");
        const std::uint32_t spills = k.spill_store_bytes + k.spill_load_bytes;
        ASSERT_GT(spills, 0u) << cubin.log;
        struct Row {
            std::optional<std::uint32_t> AssembleLimits::*limit;
            std::uint32_t used;
            std::string what;
        };
        for (const Row& row : {Row{&AssembleLimits::registers, k.registers, "registers"},
                               {&AssembleLimits::spill_bytes, spills, "bytes of spill stores and loads"},
                               {&AssembleLimits::stack_bytes, k.stack_bytes, "bytes of stack"},
                               {&AssembleLimits::code_bytes, k.code_bytes, "bytes of code"}}) {
            AssembleOptions options;
            options.limits.*row.limit = row.used;
            EXPECT_TRUE(assembler->assemble(ptx, options)) << row.what;
            options.limits.*row.limit = row.used - 1;
            const auto refused = assembler->assemble(ptx, options);
            ASSERT_FALSE(refused) << assembler->name() << row.what;
            EXPECT_EQ(refused.error().code, Errc::assemble_limit_exceeded);
            EXPECT_EQ(detail(refused.error()), "'k' has " + std::to_string(row.used) + " " + row.what +
                                                   "; the limit is " + std::to_string(row.used - 1));
        }
    }
}

TEST(AssembleLimits, NameTheFunction) {
    const auto refused = default_assembler().assemble(module, {.limits = {.code_bytes = 700}});
    ASSERT_FALSE(refused);
    EXPECT_THAT(message(refused.error()),
                AllOf(HasSubstr("over a limit: 'second' has "), HasSubstr("is 700")));
    // Registers are limited for entries, which include those of what they call.
    EXPECT_TRUE(default_assembler().assemble(".version 8.0\n.target sm_90\n.visible .func f() { ret; }\n",
                                             {.limits = {.registers = 0}}));
}

}  // namespace
}  // namespace ptxgraft
