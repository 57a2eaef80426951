// What nothing wrote goes the way of the values through tensor cores and copies: an error where it matters,
// and none where nobody needs it.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ptxgraft/device.hpp"
#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct Case {
    std::string name;
    std::string body;    // reads something undefined between < and >
    std::string unused;  // behind it: uses what is defined
    std::string used;    // behind it: uses what is not
    Errc code = Errc::memory_not_written;
    std::string says = "used on line";
    bool at_use = false;  // the error is where it is used
};

void PrintTo(const Case& row, std::ostream* out) { *out << row.name; }

// %r1: %tid.x; %p1: lanes 0 to 3, which have rows 0 of fragments; %r21: the address of tile; %rd1: 1024 words
// in global memory; what fill wrote of tile are its first 512 bytes. The result is in %r2.
std::string kernel(const std::string& body) {
    return ".version 8.5\n.target sm_90a\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n"
           ".reg .pred %p<8>;\n.reg .b16 %h<8>;\n.reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n.reg .f32 %f<32>;\n"
           ".shared .align 1024 .b8 tile[16384];\n"
           "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 4;\nmov.u32 %r21, "
           "tile;\nmov.u32 %r2, 0;\n"
           "mov.f32 %f1, 0f00000000;\nmov.f32 %f2, %f1;\nmov.f32 %f3, %f1;\nmov.f32 %f4, %f1;\n"
           "shl.b32 %r20, %r1, 2;\nadd.u32 %r20, %r20, %r21;\n"
           "st.shared.b32 [%r20], %r1;\nst.shared.b32 [%r20+128], %r1;\nst.shared.b32 [%r20+256], "
           "%r1;\nst.shared.b32 [%r20+384], %r1;\n"
           "bar.sync 0;\nmov.b32 %r4, %r1;\nmov.b32 %r5, %r1;\nmov.b32 %r6, %r1;\nmov.b32 %r7, %r1;\nmov.b32 "
           "%r8, %r1;\nmov.b32 %r9, %r1;\n" +
           body +
           "\nmul.wide.u32 %rd14, %r1, 4;\nadd.s64 %rd14, %rd1, %rd14;\nst.global.u32 [%rd14], "
           "%r2;\nret;\n}\n";
}

const std::string mma = "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f5, %f6, %f7, %f8}, ";
// Rows of matrix i lie 128 * i + 16 * row behind tile.
const std::string rows = "shl.b32 %r22, %r1, 4;\nadd.u32 %r22, %r22, %r21;\n";
const std::string sum = "mov.b32 %r2, ";

const Case cases[] = {
    // A branch that skips what is computed in registers only, as of the rows that a tile has beyond its
    // matrix; and others.
    {"ABranchOverRegisters",
     "<ld.shared.f32 %f5, [%r20+4096];>\nsetp.eq.f32 %p2, %f5, 0f00000000;\nmov.f32 %f6, "
     "0f7F800000;\nmov.f32 %f7, %f6;\n@%p2 bra OVER;\nlg2.approx.f32 "
     "%f6, %f5;\nfma.rn.f32 %f6, %f6, %f1, %f2;\nOVER:\n",
     "mov.b32 %r2, %f7;", sum + "%f6;"},
    {"ABranchOverRegistersOfSomeLanes",
     "mov.f32 %f5, 0f3F800000;\n<@%p1 ld.shared.f32 %f5, [%r20+4096];>\nsetp.eq.f32 %p2, %f5, "
     "0f3F800000;\nmov.f32 %f6, %f1;\n@!%p2 bra OVER;\nmov.f32 "
     "%f6, %f5;\nOVER:\n",
     "@!%p1 mov.b32 %r2, %f6;", sum + "%f6;"},
    {"ABranchOverAStore", "<ld.shared.b32 %r30, [%r20+4096];>\nsetp.eq.u32 %p2, %r30, 0;\n", "",
     "@%p2 bra OVER;\nst.shared.b32 [%r20], %r1;\nOVER:\n"},
    {"ALoop", "<ld.shared.b32 %r30, [%r20+4096];>\nsetp.ne.u32 %p2, %r30, 0;\n", "",
     "mov.u32 %r31, 0;\nAGAIN:\nadd.u32 %r31, %r31, 1;\n@%p2 bra AGAIN;\n"},
    // %r30 is written in lanes 4 to 31: row 0 of A is not, nor column 0 of B.
    {"ARowOfA",
     "@!%p1 mov.b32 %r30, 1;\n<" + mma + "{%r30, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f2, %f3, %f4};>\n",
     "@!%p1 mov.b32 %r2, %f5;\n@!%p1 mov.b32 %r2, %f6;\nmov.b32 %r2, %f7;\nmov.b32 %r2, %f8;",
     "mov.b32 %r2, %f6;", Errc::register_not_written},
    {"AColumnOfB",
     "@!%p1 mov.b32 %r30, 1;\n<" + mma + "{%r4, %r5, %r6, %r7}, {%r30, %r9}, {%f1, %f2, %f3, %f4};>\n",
     "mov.b32 %r2, %f6;\nmov.b32 %r2, %f8;\nand.b32 %r31, %r1, 3;\nsetp.ne.u32 %p2, %r31, 0;\n@%p2 mov.b32 "
     "%r2, %f7;",
     "mov.b32 %r2, %f7;", Errc::register_not_written},
    {"AnElementOfC",
     "@!%p1 mov.f32 %f30, %f1;\n<" + mma + "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f30, %f3, %f4};>\n",
     "mov.b32 %r2, %f5;\nmov.b32 %r2, %f7;\n@!%p1 mov.b32 %r2, %f6;", "mov.b32 %r2, %f6;",
     Errc::register_not_written},
    {"AnAccumulatorThatStaysUndefined",
     "<" + mma +
         "{%r4, %r5, %r6, %r7}, {%r8, %r9}, {%f1, %f30, %f3, %f4};>\n"
         "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%f9, %f10, %f11, %f12}, {%r4, %r5, %r6, %r7}, "
         "{%r8, %r9}, {%f5, %f6, %f7, %f8};\n",
     "mov.b32 %r2, %f9;", "mov.b32 %r2, %f10;", Errc::register_not_written},
    // Of two matrices the second one is half written: matrix 3 of x4 is rows 24 to 31.
    {"RowsOfLdmatrix",
     rows + "add.u32 %r22, %r22, 64;\n<ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, "
            "[%r22];>\n",
     "mov.b32 %r2, %r12;\nsetp.lt.u32 %p2, %r1, 16;\n@%p2 mov.b32 %r2, %r13;", "mov.b32 %r2, %r13;"},
    {"ColumnsOfLdmatrix",
     rows + "add.u32 %r22, %r22, 64;\n<ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r10, %r11, %r12, "
            "%r13}, [%r22];>\n",
     "mov.b32 %r2, %r12;\nand.b32 %r31, %r1, 3;\nsetp.lt.u32 %p2, %r31, 2;\n@%p2 mov.b32 %r2, %r13;",
     "mov.b32 %r2, %r13;"},
    {"LdmatrixThenMma",
     rows +
         "add.u32 %r22, %r22, 64;\n<ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r10, %r11, %r12, %r13}, "
         "[%r22];>\n" +
         mma + "{%r10, %r13, %r12, %r11}, {%r8, %r9}, {%f1, %f2, %f3, %f4};\n",
     "mov.b32 %r2, %f5;\nsetp.lt.u32 %p2, %r1, 16;\n@%p2 mov.b32 %r2, %f7;", "mov.b32 %r2, %f7;"},
    {"RowsOfStmatrix",
     rows + "<@!%p1 mov.b32 %r30, 1;>\nstmatrix.sync.aligned.m8n8.x1.shared.b16 [%r22+1024], "
            "{%r30};\nbar.sync 0;\n",
     "ld.shared.b32 %r2, [%r21+1040];", "ld.shared.b32 %r2, [%r21+1024];", Errc::memory_not_written,
     "which line 37 stored undefined, used", true},
    {"Movmatrix", "@!%p1 mov.b32 %r30, 1;\n<movmatrix.sync.aligned.m8n8.trans.b16 %r10, %r30;>\n",
     "prmt.b32 %r2, %r10, 0, 0x3232;", "add.u32 %r2, %r10, 1;", Errc::register_not_written},
    // Rows of 8 columns of a 16 x 16 matrix: the first 512 bytes are written, and are its first 16 rows of 32
    // bytes.
    {"RowsOfAWmmaLoad",
     "<wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}, "
     "[tile], 16;>\n",
     "mov.b32 %r2, %f10;\nmov.b32 %r2, %f15;", "mov.b32 %r2, %f12;"},
    {"AWmmaStoreToSharedMemory",
     "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f10, %f11, %f12, %f13, %f14, %f15, %f16, %f17}, "
     "[tile], 16;\n"
     "<wmma.store.d.sync.aligned.row.m16n16k16.shared.f32 [tile+1024], {%f10, %f11, %f12, %f13, %f14, %f15, "
     "%f16, %f17}, 16;>\nbar.sync 0;\n",
     "ld.shared.b32 %r2, [tile+1024];", "ld.shared.b32 %r2, [tile+1536];", Errc::memory_not_written,
     "which line 35 stored undefined, as it was from line 34 on", true},
    // Stored and loaded.
    {"AStoreOfAnUndefinedRegister",
     "<st.shared.b32 [%r20+2048], %r30;>\nbar.sync 0;\nld.shared.b32 %r10, [%r20+2048];\n", "",
     "mov.b32 %r2, %r10;", Errc::memory_not_written, ", which line 34 stored undefined, used", true},
    {"AStoreOfWhatWasLoadedUndefined",
     "<ld.shared.b32 %r31, [%r20+4096];>\nst.shared.b32 [%r20+2048], %r31;\nld.shared.b32 %r32, "
     "[%r20+2048];\nst.shared.b32 [%r20+3072], %r32;\n"
     "ld.shared.b32 %r10, [%r20+3072];\n",
     "", "mov.b32 %r2, %r10;", Errc::memory_not_written,
     ", which line 37 stored undefined, as it was from line 34 on, used", true},
};

std::string without_marks(std::string text) {
    std::erase_if(text, [](char c) { return c == '<' || c == '>'; });
    return text;
}

std::size_t line_at(const std::string& text, std::size_t at) {
    return static_cast<std::size_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
}

Expected<EmulatorStats> run(Machine& machine, const std::string& text) {
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << describe(loaded.error(), text);
    if (!loaded) return tl::unexpected(loaded.error());
    return machine.launch("k", {.block = {32, 1, 1}}, machine.upload(std::vector<u32>(1024)));
}

class Undefined : public testing::TestWithParam<Case> {};

TEST_P(Undefined, IsAnErrorWhereItIsUsed) {
    const Case& row = GetParam();
    const std::string text = kernel(without_marks(row.body) + row.used), marked = kernel(row.body + row.used);
    Machine machine;
    const auto done = run(machine, text);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, row.code);
    ASSERT_TRUE(done.error().span.known());
    EXPECT_THAT(machine.text_of(done.error()), HasSubstr(row.says));
    if (!row.at_use) {
        EXPECT_EQ(line_at(text, done.error().span.begin),
                  line_at(marked, marked.find('<', marked.find("bar.sync"))))
            << machine.text_of(done.error()) << text;
    }
    Machine fast({.fast = true});
    EXPECT_RUNS(fast, run(fast, text));
}

TEST_P(Undefined, IsNoErrorWhereNobodyNeedsIt) {
    const std::string text = kernel(without_marks(GetParam().body) + GetParam().unused);
    if (const Assembler* assembler = nvptxcompiler()) {
        const auto cubin = assembler->assemble(text, {.target = "sm_90a"});
        EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
    }
    Machine machine;
    EXPECT_RUNS(machine, run(machine, text));
}

INSTANTIATE_TEST_SUITE_P(Emulator, Undefined, testing::ValuesIn(cases),
                         [](const testing::TestParamInfo<Case>& info) { return info.param.name; });

// A function's variable is not the one that stood there in an earlier call.
TEST(EmulatorUndefined, AVariableOfTheNextCallIsItsOwn) {
    const std::string text =
        ".version 8.5\n.target sm_90a\n.address_size 64\n.func stores (.param .b32 way) {\n.local .align 4 "
        ".b32 x[2];\n.reg .b32 %a, %b, %w;\n.reg .pred %p;\n"
        "ld.param.b32 %w, [way];\nsetp.ne.u32 %p, %w, 0;\n@%p bra READ;\nst.local.b32 [x], "
        "%a;\nret;\nREAD:\nld.local.b32 %b, [x];\n@%p setp.eq.u32 %p, %b, 0;\n"
        "@%p trap;\nret;\n}\n.entry k(.param .u64 data) { call stores, (0);\ncall stores, (1);\nret; }\n";
    Machine machine;
    const auto done = run(machine, text);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::memory_not_written);
    EXPECT_THAT(machine.text_of(done.error()), testing::Not(HasSubstr("stored undefined")));
}

}  // namespace
}  // namespace ptxgraft
