// Assemblers and linkers: machine code, what it uses, errors and their places.
#include "ptxgraft/link.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <iterator>
#include <map>
#include <thread>

#include "support/kernel_text.hpp"
#include "support/link_examples.hpp"
#include "support/machine_code.hpp"
#include "support/paths.hpp"

namespace ptxgraft {
namespace {

using test::at;
using test::detail;
using test::sum_cu;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Sixty-four values that are all live at once.
std::string pressure_cu() {
    return R"(
extern "C" __global__ void pressure(float* p, int n) {
    float a[64];
    for (int i = 0; i < 64; ++i) a[i] = p[i * n];
    for (int j = 0; j < n; ++j) {
#pragma unroll
        for (int i = 0; i < 64; ++i) a[i] = a[i] * a[(i * 7 + 3) % 64] + p[i + j];
    }
    for (int i = 0; i < 64; ++i) p[i * n] = a[i];
}
)";
}

std::string ptx_of(std::string_view source, const char* target = "sm_90a") {
    auto ptx = compile_cuda(source, {.target = target});
    EXPECT_TRUE(ptx) << describe(ptx.error(), source);
    return ptx ? ptx->text : std::string();
}

// A module around a body: 7 lines before it.
std::string module_with(std::string_view body, std::string_view target = "sm_90a") {
    return test::kernel_text({.version = "8.0",
                              .target = std::string(target),
                              .parameters = {"u64 p"},
                              .registers = {"f32 %f<9>", "b64 %rd<9>"},
                              .body = std::string(body)});
}

std::vector<const Assembler*> linked_assemblers() {
    std::vector<const Assembler*> all{nvjitlink()};
    if (nvptxcompiler()) all.push_back(nvptxcompiler());
    return all;
}

#define SKIP_WITHOUT_NVPTXCOMPILER \
    if (!nvptxcompiler()) GTEST_SKIP() << "built without nvPTXCompiler"

// --- PTX to cubin

// The same version of ptxas, where it is at hand: versions differ in the code they make.
TEST(Assembler, MachineCodeEqualsThatOfPtxas) {
    SKIP_WITHOUT_NVPTXCOMPILER;
    const std::string path = test::program_path("ptxas");
    if (path.empty()) GTEST_SKIP() << "no ptxas program";
    const auto program = ptxas(path);
    ASSERT_TRUE(program) << describe(program.error());
    if ((*program)->version() != nvptxcompiler()->version())
        GTEST_SKIP() << "the toolkit's ptxas is " << (*program)->version() << ", the library's "
                     << nvptxcompiler()->version();
    for (const char* target : {"sm_80", "sm_90a", "sm_120a"}) {
        for (const std::string& source : {std::string(sum_cu), pressure_cu()}) {
            const std::string ptx = ptx_of(source, target);
            const auto expected = (*program)->assemble(ptx), cubin = nvptxcompiler()->assemble(ptx);
            ASSERT_TRUE(expected) << describe(expected.error(), ptx);
            ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
            EXPECT_TRUE(machine_code(*cubin) == machine_code(*expected)) << target;
            EXPECT_FALSE(machine_code(*cubin).empty());
        }
    }
}

TEST(Assembler, SaysWhatTheFunctionsUse) {
    const std::string ptx = ptx_of(sum_cu);
    for (const Assembler* assembler : linked_assemblers()) {
        const auto cubin = assembler->assemble(ptx);
        ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
        ASSERT_EQ(cubin->functions.size(), 1u) << cubin->log;
        const FunctionUsage& sum = cubin->functions[0];
        EXPECT_EQ(sum.name, "sum");
        EXPECT_TRUE(sum.is_entry);
        EXPECT_EQ(sum.shared_bytes, 512u) << assembler->name() << cubin->log;
        EXPECT_EQ(sum.barriers, 1u);
        EXPECT_EQ(sum.spill_store_bytes + sum.spill_load_bytes + sum.stack_bytes, 0u);
        EXPECT_GT(sum.registers, 7u);
        EXPECT_LT(sum.registers, 65u);
        EXPECT_TRUE(cubin->losses.empty());
        EXPECT_FALSE(assembler->version().empty());
    }
}

TEST(Assembler, FewRegistersMakeSpills) {
    const std::string ptx = ptx_of(pressure_cu());
    for (const Assembler* assembler : linked_assemblers()) {
        const auto wide = assembler->assemble(ptx), narrow = assembler->assemble(ptx, {.max_registers = 32});
        ASSERT_TRUE(wide && narrow);
        EXPECT_GT(find(*wide, "pressure")->registers, 64u);
        EXPECT_EQ(find(*narrow, "pressure")->registers, 32u);
        EXPECT_GT(find(*narrow, "pressure")->spill_store_bytes, 0u);
        EXPECT_GT(find(*narrow, "pressure")->spill_load_bytes,
                  find(*wide, "pressure")->spill_load_bytes + 64);
        EXPECT_GT(find(*narrow, "pressure")->stack_bytes, 0u);
    }
}

TEST(Assembler, OptimisationAndLineInformationReachTheAssembler) {
    const std::string ptx = ptx_of(sum_cu);
    for (const Assembler* assembler : linked_assemblers()) {
        const auto fast = assembler->assemble(ptx), slow = assembler->assemble(ptx, {.optimisation = 0});
        ASSERT_TRUE(fast && slow);
        EXPECT_NE(machine_code(*fast), machine_code(*slow)) << assembler->name();
        EXPECT_TRUE(assembler->assemble(ptx, {.line_info = true}));
        EXPECT_FALSE(assembler->assemble(ptx, {.options = {"--bogus"}})) << assembler->name();
    }
}

TEST(Assembler, ErrorsCarryTheirPlaceInTheText) {
    struct Row {
        std::string body;
        std::string_view place;
    };
    const Row rows[] = {
        {"  foo.f32 %f1, %f2;", "foo"},
        {"add.f32 %f1, %f2, %f3;\n\tadd.f32 %f1, %nowhere, %f3;", "add"},
        {"bra there;", "there"},
        {"add.f32 %f1, %f2;\r\n", "add"},
        {"// nothing\r\n\r\nmul.f32 %f1, %f2, %f99;", "mul"},
    };
    for (const Assembler* assembler : linked_assemblers()) {
        for (const auto& row : rows) {
            const std::string ptx = module_with(row.body);
            const auto cubin = assembler->assemble(ptx);
            ASSERT_FALSE(cubin) << row.body;
            EXPECT_EQ(cubin.error().code, Errc::assemble_failed);
            EXPECT_EQ(at(ptx, cubin.error().span), row.place) << describe(cubin.error(), ptx);
            EXPECT_THAT(detail(cubin.error()), HasSubstr("error"));
        }
    }
}

TEST(Assembler, TextsThatAreNoPtxAreErrors) {
    using namespace std::string_view_literals;
    const std::string cut = ptx_of(sum_cu);
    const std::string_view texts[] = {""sv,
                                      " "sv,
                                      "garbage"sv,
                                      "\x80\xff"sv,
                                      "// only a comment"sv,
                                      "/* open"sv,
                                      ".version 9.0"sv,
                                      ".version 9.0\n.target sm_90a\n{{{"sv,
                                      ".version 99.0\n.target sm_90a\n"sv,
                                      ".version 9.0\n.target sm_90a\n\x80"sv,
                                      ".version 9.0\n.target sm_90a\n\0garbage"sv,
                                      ".version 9.0\n.target\n"sv,
                                      ".version 9.0\n.target debug\n"sv,
                                      std::string_view(cut).substr(0, cut.size() / 2)};
    for (const Assembler* assembler : linked_assemblers())
        for (const auto text : texts)
            EXPECT_FALSE(assembler->assemble(text)) << assembler->name() << ": " << text;
}

TEST(Assembler, TakesTextsWithoutAnEndAndWithCarriageReturns) {
    std::string ptx = ptx_of(sum_cu);
    std::string crlf;
    for (const char c : ptx) crlf += c == '\n' ? "\r\n" : std::string(1, c);
    // The text ends where the view ends, whatever stands behind it.
    const std::string longer = ptx + "garbage";
    for (const Assembler* assembler : linked_assemblers()) {
        const auto plain = assembler->assemble(ptx);
        ASSERT_TRUE(plain);
        for (const std::string_view text :
             {std::string_view(crlf), std::string_view(longer).substr(0, ptx.size())}) {
            const auto cubin = assembler->assemble(text);
            ASSERT_TRUE(cubin) << describe(cubin.error(), text);
            EXPECT_EQ(machine_code(*cubin), machine_code(*plain));
        }
    }
}

TEST(Assembler, TargetIsTheModulesUnlessItIsGiven) {
    SKIP_WITHOUT_NVPTXCOMPILER;
    struct Row {
        std::string_view target, log;
    };
    const Row rows[] = {{"sm_90a", "sm_90a"},
                        {"sm_80, texmode_unified", "sm_80"},
                        {"\n  // .target sm_75\n sm_86,\ttexmode_independent", "sm_86"},
                        {"/* sm_90 */ sm_75", "sm_75"}};
    for (const auto& row : rows) {
        const std::string ptx = "// .target sm_120a\n" + module_with("", row.target);
        const auto cubin = nvptxcompiler()->assemble(ptx);
        ASSERT_TRUE(cubin) << describe(cubin.error(), ptx);
        EXPECT_THAT(cubin->log, HasSubstr("for '" + std::string(row.log) + "'"));
    }
    const auto newer = nvptxcompiler()->assemble(module_with("", "sm_80"), {.target = "sm_90"});
    ASSERT_TRUE(newer);
    EXPECT_THAT(newer->log, HasSubstr("for 'sm_90'"));
    EXPECT_FALSE(nvptxcompiler()->assemble(module_with("", "sm_90"), {.target = "sm_80"}));
    for (const Assembler* assembler : linked_assemblers())
        EXPECT_FALSE(assembler->assemble(module_with(""), {.target = "sm_12"}));
}

TEST(Assembler, NvJitLinkRefusesWhatItWouldChange) {
    const std::string setmaxnreg = module_with("setmaxnreg.inc.sync.aligned.u32 40;");
    const std::string wgmma = module_with("wgmma.fence.sync.aligned;");
    for (const std::string& ptx : {setmaxnreg, wgmma}) {
        const auto cubin = nvjitlink()->assemble(ptx);
        ASSERT_FALSE(cubin);
        EXPECT_EQ(cubin.error().code, Errc::module_refused);
        EXPECT_THAT(std::string(at(ptx, cubin.error().span)),
                    testing::AnyOf(HasSubstr("setmaxnreg.inc"), HasSubstr("wgmma.fence")));
    }
    // The words alone are no instructions.
    EXPECT_TRUE(
        nvjitlink()->assemble(module_with("// setmaxnreg.inc.sync.aligned.u32 40;\n/* wgmma.fence "
                                          "*/\n.pragma \"wgmma.x\";\nbra setmaxnreg;\nsetmaxnreg:")));
}

TEST(Assembler, PerformanceLossesAreErrorsUnlessAllowed) {
    SKIP_WITHOUT_NVPTXCOMPILER;
    // Without .maxntid the number of registers at entry is not known, and ptxas drops the instruction.
    const std::string lost = module_with("setmaxnreg.inc.sync.aligned.u32 40;");
    const auto refused = nvptxcompiler()->assemble(lost);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code, Errc::performance_loss);
    EXPECT_THAT(detail(refused.error()), AllOf(HasSubstr("C7508"), HasSubstr("setmaxnreg")));
    const auto allowed = nvptxcompiler()->assemble(lost, {.allow_performance_loss = true});
    ASSERT_TRUE(allowed);
    ASSERT_EQ(allowed->losses.size(), 1u);
    EXPECT_EQ(allowed->losses[0].code, 7508u);
    // As relocatable it is another one.
    const auto relocatable =
        nvptxcompiler()->assemble(lost, {.relocatable = true, .allow_performance_loss = true});
    ASSERT_TRUE(relocatable);
    ASSERT_EQ(relocatable->losses.size(), 1u);
    EXPECT_EQ(relocatable->losses[0].code, 7504u);
}

TEST(Assembler, NvPtxCompilerKeepsSetmaxnreg) {
    SKIP_WITHOUT_NVPTXCOMPILER;
    std::string kept = module_with("setmaxnreg.inc.sync.aligned.u32 40;");
    kept.replace(kept.find("\n{"), 1, "\n.maxntid 128\n.minnctapersm 1\n");
    std::string without = kept;
    without.erase(without.find("setmaxnreg"), std::string_view("setmaxnreg.inc.sync.aligned.u32 40;").size());
    const auto with = nvptxcompiler()->assemble(kept), plain = nvptxcompiler()->assemble(without);
    ASSERT_TRUE(with) << describe(with.error(), kept);
    ASSERT_TRUE(plain);
    EXPECT_TRUE(with->losses.empty());
    EXPECT_NE(machine_code(*with), machine_code(*plain));
}

TEST(Assembler, ThreadsMayShareIt) {
    const std::string ptx = ptx_of(sum_cu), bad = module_with("foo;");
    for (const Assembler* assembler : linked_assemblers()) {
        const auto expected = machine_code(*assembler->assemble(ptx));
        const auto work = [&](bool& right) {
            for (int i = 0; i < 5; ++i) {
                const auto cubin = assembler->assemble(ptx);
                const auto error = assembler->assemble(bad);
                right = right && cubin && machine_code(*cubin) == expected && !error &&
                        at(bad, error.error().span) == "foo";
            }
        };
        bool one_right = true, two_right = true;
        { std::jthread one(work, std::ref(one_right)), two(work, std::ref(two_right)); }
        EXPECT_TRUE(one_right && two_right);
    }
}

// --- linking

constexpr std::string_view caller_ptx = R"(.version 8.0
.target sm_90
.address_size 64
.extern .func (.param .b32 r) twice (.param .b32 x);
.visible .entry caller(.param .u64 p)
{
    .reg .b64 %rd<2>;
    .reg .f32 %f<3>;
    .shared .align 4 .b8 room[256];
    ld.param.u64 %rd1, [p];
    ld.global.f32 %f1, [%rd1];
    st.shared.f32 [room], %f1;
    bar.sync 0;
    ld.shared.f32 %f1, [room];
    {
    .param .b32 a; .param .b32 b;
    st.param.f32 [a], %f1;
    call (b), twice, (a);
    ld.param.f32 %f2, [b];
    }
    st.global.f32 [%rd1], %f2;
    ret;
}
)";
constexpr std::string_view callee_ptx = R"(.version 8.0
.target sm_90
.address_size 64
.visible .func (.param .b32 r) twice (.param .b32 x)
{
    .reg .f32 %f<3>;
    ld.param.f32 %f1, [x];
    add.f32 %f2, %f1, %f1;
    st.param.f32 [r], %f2;
    ret;
}
)";

TEST(Link, CallerAndExternalFunction) {
    for (const Assembler* assembler : linked_assemblers()) {
        const auto caller = assembler->assemble(caller_ptx, {.relocatable = true});
        const auto callee = assembler->assemble(callee_ptx, {.relocatable = true});
        ASSERT_TRUE(caller) << describe(caller.error(), caller_ptx);
        ASSERT_TRUE(callee) << describe(callee.error(), callee_ptx);
        ASSERT_TRUE(find(*callee, "twice"));
        EXPECT_FALSE(find(*callee, "twice")->is_entry);
        EXPECT_GT(find(*callee, "twice")->registers, 0u);
        const std::span<const std::byte> both[] = {caller->image, callee->image};
        const auto linked = link_cubins(both, "sm_90");
        ASSERT_TRUE(linked) << describe(linked.error());
        const auto code = machine_code(*linked);
        EXPECT_TRUE(code.contains(".text.caller") && code.contains(".text.twice"));
        ASSERT_TRUE(find(*linked, "caller"));
        EXPECT_TRUE(find(*linked, "caller")->is_entry);
        EXPECT_EQ(find(*linked, "caller")->shared_bytes, 256u);
        EXPECT_EQ(find(*linked, "caller")->barriers, 1u);
        EXPECT_GE(find(*linked, "caller")->registers, find(*caller, "caller")->registers);
    }
}

TEST(Link, SharedMemoryIsWhatTheModuleDeclares) {
    for (const char* target : {"sm_75", "sm_80", "sm_89", "sm_90", "sm_90a", "sm_100a", "sm_120a"}) {
        const std::string ptx = ptx_of(sum_cu, target);
        const auto part = default_assembler().assemble(ptx, {.relocatable = true});
        ASSERT_TRUE(part);
        const std::span<const std::byte> one[] = {part->image};
        const auto linked = link_cubins(one, target);
        ASSERT_TRUE(linked) << target << describe(linked.error());
        EXPECT_EQ(find(*linked, "sum")->shared_bytes, 512u) << target;
        EXPECT_EQ(find(*linked, "sum")->barriers, 1u) << target;
        EXPECT_EQ(find(*linked, "sum")->registers, find(*part, "sum")->registers) << target;
    }
}

TEST(Link, WhatIsMissingIsNamed) {
    const auto caller = default_assembler().assemble(caller_ptx, {.relocatable = true});
    ASSERT_TRUE(caller);
    const std::span<const std::byte> alone[] = {caller->image};
    const auto linked = link_cubins(alone, "sm_90");
    ASSERT_FALSE(linked);
    EXPECT_EQ(linked.error().code, Errc::link_failed);
    EXPECT_THAT(detail(linked.error()), HasSubstr("twice"));
}

TEST(Link, InputsThatAreNoCubinsAreErrorsWithTheirIndex) {
    const auto callee = default_assembler().assemble(callee_ptx, {.relocatable = true});
    ASSERT_TRUE(callee);
    const std::span<const std::byte> image = callee->image;
    const std::string garbage = "garbage garbage garbage garbage garbage garbage garbage garbage garbage";
    for (const auto bad : {std::span<const std::byte>(), std::as_bytes(std::span(garbage)), image.first(20),
                           image.first(200), image.first(image.size() - 1)}) {
        const std::span<const std::byte> inputs[] = {image, bad};
        const auto linked = link_cubins(inputs, "sm_90");
        ASSERT_FALSE(linked);
        EXPECT_EQ(linked.error().code, Errc::link_failed);
        EXPECT_EQ(linked.error().index, 1u);
    }
    EXPECT_EQ(link_cubins({}, "sm_90").error().code, Errc::argument_invalid);
    const std::span<const std::byte> good[] = {image};
    EXPECT_EQ(link_cubins(good, "sm_1").error().code, Errc::target_unknown);
    EXPECT_FALSE(link_cubins(good, "sm_80"));
}

}  // namespace
}  // namespace ptxgraft
