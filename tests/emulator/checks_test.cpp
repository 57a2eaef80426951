// What checked launches find in kernels of many forms, and what they say of it. Kernels with one mistake each
// are in tests/cases/checks.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 checked_threads = 64;

// Leaves its result in %r2; %r1 is %tid.x, %rd1 the address of 64 words that hold 5.
std::string checked_kernel(const std::string& body, const std::string& declarations) {
    return test::kernel_text(
        {.declarations = declarations,
         .parameters = {"u64 out"},
         .registers = {"pred %p<8>", "b16 %rs<8>", "b32 %r<32>", "b64 %rd<16>", "f32 %f<8>"},
         .body = "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n" + body +
                 "\nDONE:\nbar.sync 0;\nmul.wide.u32 %rd14, %r1, 4;\nadd.s64 %rd14, %rd1, %rd14;\n"
                 "st.global.u32 [%rd14], %r2;"});
}

const char* const words = ".shared .align 16 .b32 box[128];";
const char* const gate = ".shared .align 8 .b64 gate;\n.shared .align 4 .u32 box;";
// the thread's word
const std::string own = "shl.b32 %r20, %r1, 2;\nmov.u32 %r21, box;\nadd.u32 %r20, %r20, %r21;\n";

const std::string bit = own +
                        "ld.shared.u8 %rs1, [%r20];\nand.b16 %rs1, %rs1, 251;\nor.b16 %rs1, %rs1, "
                        "4;\nst.shared.u8 [%r20], %rs1;\n";
const std::string low_bit = "and.b16 %rs3, %rs2, 1;\ncvt.u32.u16 %r2, %rs3;\nadd.u32 %r2, %r2, 1;";

Expected<EmulatorStats> run_checked(Machine& machine, const std::string& text) {
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << describe(loaded.error(), text);
    if (!loaded) return tl::unexpected(loaded.error());
    const u64 out = machine.upload(std::vector<u32>(checked_threads, 5));
    return machine.launch("k", {.block = {checked_threads, 1, 1}}, out);
}

// What is kept of words that several warps read in one block is gone in the next, which accesses their bytes.
TEST(EmulatorChecks, BytesWhereAnEarlierBlockReadWords) {
    const std::string body =
        own +
        "st.shared.u32 [%r20], %r1;\nst.shared.u32 [%r20+256], %r1;\nbar.sync 0;\nmov.u32 %r9, "
        "%ctaid.x;\nsetp.ne.u32 %p1, %r9, 0;\n"
        "@!%p1 ld.shared.u32 %r2, [box+16];\nadd.u32 %r21, %r21, %r1;\n@%p1 st.shared.u8 [%r21+64], %r1;";
    for (const u32 blocks : {1u, 2u, 5u}) {
        Machine machine({.threads = 1});
        ASSERT_TRUE(machine.load(checked_kernel(body, words)));
        const u64 out = machine.upload(std::vector<u32>(checked_threads, 5));
        EXPECT_RUNS(machine,
                    machine.launch("k", {.grid = {blocks, 1, 1}, .block = {checked_threads, 1, 1}}, out));
    }
}

// A member of a few bits is written without its neighbours ever having been, and read without them.
TEST(EmulatorChecks, BitsThatWereWritten) {
    Machine machine;
    EXPECT_RUNS(
        machine,
        run_checked(
            machine,
            checked_kernel(
                "and.b32 %r9, %r10, 254;\nor.b32 %r9, %r9, 1;\nand.b32 %r11, %r9, 1;\nadd.u32 %r2, %r11, 1;",
                "")));
    EXPECT_RUNS(
        machine,
        run_checked(
            machine,
            checked_kernel(bit + "ld.shared.u8 %rs2, [%r20];\nshr.u16 %rs2, %rs2, 2;\n" + low_bit, words)));
}

// Data that looks like an mbarrier object is none.
TEST(EmulatorChecks, AnMbarrierWhereDataWas) {
    Machine machine;
    EXPECT_RUNS(machine, run_checked(machine, checked_kernel(
                                                  "setp.eq.u32 %p1, %r1, 0;\nmov.u32 %r9, 0xbf800000;\n@%p1 "
                                                  "st.shared.v2.u32 [gate], {%r9, %r9};\n"
                                                  "@%p1 mbarrier.init.shared.b64 [gate], 64;\nbar.sync "
                                                  "0;\nmbarrier.arrive.shared.b64 _, [gate];",
                                                  gate)));
}

// Compilers compute with more than a member has, and drop the rest again: with what its neighbours in a
// structure are.
TEST(EmulatorChecks, ArithmeticBesideWhatNothingWrote) {
    const std::string beside =
        own + "st.shared.u8 [%r20], %r1;\nld.shared.u16 %rs1, [%r20];\nld.shared.u32 %r9, [%r20];\n";
    for (const char* const use :
         {"add.s16 %rs2, %rs1, 1;\nand.b16 %rs2, %rs2, 255;\ncvt.u32.u16 %r2, %rs2;",
          "sub.u32 %r3, 7, %r9;\nand.b32 %r2, %r3, 31;", "mul.lo.u32 %r3, %r9, %r1;\nbfe.u32 %r2, %r3, 0, 8;",
          "mad.lo.s32 %r3, %r9, 3, %r1;\nshl.b32 %r2, %r3, 24;",
          "mul.wide.u16 %r3, %rs1, 5;\nst.shared.u8 [%r20+1], %r3;\nld.shared.u16 %rs2, [%r20];\ncvt.u32.u16 "
          "%r2, %rs2;",
          "not.b32 %r3, %r9;\nneg.s32 %r3, %r3;\nand.b32 %r2, %r3, 15;",
          "xor.b32 %r3, %r9, -1;\nprmt.b32 %r2, %r3, 0, 0x4440;", "lop3.b32 %r2, %r9, 255, %r1, 0xEA;"}) {
        SCOPED_TRACE(use);
        Machine machine;
        EXPECT_RUNS(machine, run_checked(machine, checked_kernel(beside + use, words)));
    }
    for (const char* const use :
         {"add.s16 %rs2, %rs1, 1;\nand.b16 %rs2, %rs2, 256;\ncvt.u32.u16 %r2, %rs2;\nadd.u32 %r2, %r2, 1;",
          "add.u32 %r2, %r9, 1;", "add.sat.s32 %r3, %r9, 1;\nshl.b32 %r2, %r3, 31;\nadd.u32 %r2, %r2, 1;",
          "mul.hi.u32 %r3, %r9, %r1;\nand.b32 %r3, %r3, 1;\nadd.u32 %r2, %r3, 1;",
          "xor.b32 %r3, %r9, %r1;\nshr.u32 %r2, %r3, 31;\nadd.u32 %r2, %r2, 1;"}) {
        Machine machine;
        const auto done = run_checked(machine, checked_kernel(beside + use, words));
        ASSERT_FALSE(done) << use;
        EXPECT_EQ(done.error().code, Errc::memory_not_written) << use;
    }
}

// The gaps of structures are copied along with their members, also to global memory; what was widened is no
// copy.
TEST(EmulatorChecks, CopiesOfGaps) {
    const std::string declared =
        own + "st.shared.u8 [%r20], %r1;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n";
    for (const char* const copy :
         {"ld.shared.v4.u8 {%rs1, %rs2, %rs3, %rs4}, [%r20];\nst.global.v4.u8 [%rd2], {%rs1, %rs2, %rs3, "
          "%rs4};",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20+2];\nst.global.v2.u8 [%rd2+2], {%rs1, %rs2};",
          "ld.shared.u32 %r9, [%r20];\nst.global.u32 [%rd2], %r9;",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20];\ncvt.u32.u16 %r9, %rs2;\ncvt.u32.u16 %r10, %rs1;\nprmt.b32 "
          "%r11, %r9, %r10, 0x3304;\n"
          "st.global.u16 [%rd2], %r11;",
          "ld.shared.v2.u8 {%rs1, %rs2}, [%r20];\nshl.b16 %rs2, %rs2, 8;\nor.b16 %rs1, %rs1, "
          "%rs2;\nst.global.u16 [%rd2], %rs1;"}) {
        SCOPED_TRACE(copy);
        Machine machine;
        EXPECT_RUNS(machine, run_checked(machine, checked_kernel(declared + copy, words)));
    }
    for (const char* const use :
         {"ld.shared.u8 %rs1, [%r20+1];\ncvt.u32.u16 %r2, %rs1;", "ld.shared.u8 %r2, [%r20+3];",
          "ld.shared.u32 %r9, [%r20];\nshr.u32 %r2, %r9, 8;",
          "ld.shared.u8 %rs1, [%r20+1];\nst.global.u8 [%rd2], %rs1;",
          "ld.shared.u32 %r9, [%r20];\nbfe.u32 %r2, %r9, 12, 20;",
          "ld.shared.u32 %r9, [%r20+256];\nand.b32 %r2, %r9, 7;"}) {
        Machine machine;
        const auto done = run_checked(machine, checked_kernel(declared + use, words));
        ASSERT_FALSE(done) << use;
        EXPECT_EQ(done.error().code, Errc::memory_not_written) << use;
    }
}

// A pair of halves of which only one is of use.
TEST(EmulatorChecks, HalvesByThemselves) {
    const std::string declared =
        own +
        "cvt.rn.f16.u32 %rs1, %r1;\nst.shared.b16 [%r20], %rs1;\nld.shared.b32 %r9, [%r20];\n"
        "fma.rn.f16x2 %r10, %r9, %r9, %r9;\nmov.b32 {%rs2, %rs3}, %r10;\n";
    Machine machine;
    EXPECT_RUNS(machine,
                run_checked(machine, checked_kernel(declared + "cvt.rzi.u32.f16 %r2, %rs2;", words)));
    EXPECT_FALSE(run_checked(machine, checked_kernel(declared + "cvt.rzi.u32.f16 %r2, %rs3;", words)));
}

// An error in a function says who called it, in PTX and in the source.
TEST(EmulatorChecks, NameTheCalls) {
    const std::string functions =
        ".func inner(.param .b64 a)\n{\n.reg .b64 %a; .reg .b32 %r;\nld.param.b64 %a, [a];\nld.u32 %r, "
        "[%a];\nret;\n}\n"
        ".func outer(.param .b64 a)\n{\n.reg .b64 %a;\nld.param.b64 %a, [a];\n{ .param .b64 b;\nst.param.b64 "
        "[b], %a;\ncall inner, (b); }\nret;\n}\n"
        ".func again()\n{\ncall again;\nret;\n}\n";
    std::string text = checked_kernel(
        "add.s64 %rd2, %rd1, 256;\n{ .param .b64 c;\nst.param.b64 [c], %rd2;\n.loc 1 12 3\ncall outer, (c); "
        "}",
        functions);
    text += ".file 1 \"list.cu\"\n";
    Machine machine;
    const auto done = run_checked(machine, text);
    ASSERT_FALSE(done);
    EXPECT_THAT(machine.text_of(done.error()),
                testing::AllOf(testing::StartsWith("8:1: error: address out of bounds"),
                               HasSubstr("; called on line 17; called on line 39, from list.cu:12:3\n")));
    const auto deep = run_checked(machine, checked_kernel("call again;", functions));
    ASSERT_FALSE(deep);
    EXPECT_THAT(
        machine.text_of(deep.error()),
        testing::ContainsRegex("; called on line 2[0-9]; called on line 2[0-9];.*; and [0-9]+ calls before"));
}

// An error in code that a compiler inlined says where that was; one in a stub, where a device launches it, in
// which of its lines.
TEST(EmulatorChecks, NameTheSourceAndTheStub) {
    const std::string body =
        "mov.f32 %f1, 0f3F800000;\n.loc 1 20 4\n.loc 1 3 7, function_name names, inlined_at 1 20 4\n{ // "
        "PTXGRAFT_SITE epilogue\n.reg .f32 _acc; // mod f32 acc\nmov.b32 _acc, %f1;\n"
        "// PTXGRAFT_STUB\nadd.f32 _acc, _acc, _acc;\n\nadd.f32 _acc, _acc, %f2;\nmul.f32 _acc, _acc, "
        "_acc;\n// PTXGRAFT_END\nmov.b32 %f1, _acc;\n}\n"
        "mov.b32 %r2, %f1;";
    Machine machine;
    std::string text = checked_kernel(body, "");
    text += ".file 1 \"gemm.cu\"\n.section .debug_str\n{\nnames:\n.b8 95,90,52,112,105,99,107,102,0\n}\n";
    const auto done = run_checked(machine, text);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::register_not_written);
    const std::string source = "; from gemm.cu:3:7 in pick(float), inlined at gemm.cu:20:4";
    EXPECT_THAT(machine.text_of(done.error()), testing::HasSubstr(source + "\n"));
    auto device = Device::open("emulator");
    ASSERT_TRUE(device);
    auto function = device->load(text, "k");
    ASSERT_TRUE(function);
    auto out = device->upload(std::vector<u32>(checked_threads, 5));
    const Argument arguments[] = {*out};
    const auto launched = function->launch({.block = {checked_threads, 1, 1}}, arguments);
    ASSERT_FALSE(launched);
    EXPECT_THAT(describe(launched.error(), text),
                testing::HasSubstr(source + "; in the stub of site epilogue, line 3\n"));
}

}  // namespace
}  // namespace ptxgraft
