// The emulator on PTX written by hand: one small body per feature, each also given to the assembler.
#include "ptxgraft/emulator.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <functional>

#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 threads = 64;

struct Row {
    std::string name;
    std::string body;                  // leaves its result in %r2; %r1 is %tid.x, %rd1 the results' address
    std::function<u32(u32)> expected;  // by thread
    std::string declarations = {};
};

std::string kernel(const std::string& body, const std::string& declarations = {}) {
    return test::kernel_text(
        {.declarations = declarations,
         .parameters = {"u64 out"},
         .registers = {"pred %p<8>", "b16 %rs<8>", "b32 %r<32>", "b64 %rd<16>", "f32 %f<8>", "f64 %fd<4>"},
         .body = "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n" + body +
                 "\nDONE:\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\n"
                 "st.global.u32 [%rd2], %r2;"});
}

std::string repeated(std::string_view text, int times) {
    std::string all;
    for (int i = 0; i < times; ++i) all += text;
    return all;
}

u32 sum_to(u32 n) { return n * (n + 1) / 2; }

const Row rows[] = {
    // --- divergence
    {"IfElse",
     "setp.lt.u32 %p1, %r1, 5;\n@%p1 bra A;\nmov.u32 %r2, 1;\nbra.uni B;\nA: mov.u32 %r2, 2;\nB: add.u32 "
     "%r2, %r2, 10;",
     [](u32 t) { return t < 5 ? 12u : 11u; }},
    {"LoopOfAnotherLengthInEachLane",
     "mov.u32 %r3, 0;\nL: setp.gt.u32 %p1, %r3, %r1;\n@%p1 bra E;\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r3, %r3, "
     "1;\nbra L;\nE:",
     sum_to},
    {"NestedLoopsWithBreakAndContinue",
     "mov.u32 %r3, 0;\n"
     "O: setp.ge.u32 %p1, %r3, 8;\n@%p1 bra E;\nadd.u32 %r3, %r3, 1;\n"
     "and.b32 %r4, %r1, 1;\nand.b32 %r5, %r3, 1;\nsetp.eq.u32 %p2, %r4, %r5;\n@%p2 bra O;\n"  // continue
     "mov.u32 %r6, 0;\n"
     "I: add.u32 %r2, %r2, 1;\nadd.u32 %r6, %r6, 1;\nsetp.eq.u32 %p3, %r6, %r1;\n@%p3 bra O;\n"  // continue
                                                                                                 // the outer
                                                                                                 // one
     "setp.lt.u32 %p4, %r6, %r3;\n@%p4 bra I;\nsetp.gt.u32 %p5, %r2, 20;\n@%p5 bra E;\nbra O;\nE:",
     [](u32 t) {
         u32 sum = 0;
         for (u32 i = 0; i < 8;) {
             ++i;
             if ((t & 1) == (i & 1)) continue;
             bool next = false;
             for (u32 j = 0; j < i;) {
                 ++sum;
                 if (++j == t) {
                     next = true;
                     break;
                 }
             }
             if (!next && sum > 20) break;
         }
         return sum;
     }},
    {"BranchIntoTheMiddleOfALoop",
     "mov.u32 %r3, 4;\nsetp.gt.u32 %p1, %r1, 9;\n@%p1 bra M;\nL: add.u32 %r2, %r2, 100;\nM: add.u32 %r2, "
     "%r2, 1;\nsub.u32 %r3, %r3, 1;\n"
     "setp.ne.u32 %p2, %r3, 0;\n@%p2 bra L;",
     [](u32 t) { return t > 9 ? 304u : 404u; }},
    {"SomeLanesReturnEarly",
     "mov.u32 %r2, 7;\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], "
     "%r1;\nand.b32 %r4, %r1, 1;\n"
     "setp.eq.u32 %p1, %r4, 1;\n@%p1 ret;\nsetp.gt.u32 %p2, %r1, 40;\n@%p2 exit;",
     [](u32 t) { return (t & 1) == 1 || t > 40 ? t : 7u; }},
    {"BranchByIndex",
     "and.b32 %r3, %r1, 3;\nT: .branchtargets C0, C1, C2, C1;\nbrx.idx %r3, T;\nC0: mov.u32 %r2, 10;\nbra "
     "E;\nC1: mov.u32 %r2, 11;\nbra E;\n"
     "C2: mov.u32 %r2, 12;\nE:",
     [](u32 t) {
         return std::array{10u, 11u, 12u, 11u}[t & 3];
     }},
    {"BlocksHaveTheirOwnRegistersAndLabels",
     "mov.u32 %r3, 5;\n{ .reg .b32 %r3; .reg .pred p; mov.u32 %r3, 9; setp.ne.u32 p, %r1, 0; @p bra L; "
     "add.u32 %r2, %r2, %r3; L: }\n"
     "{ .reg .b32 x; .reg .pred p; mov.u32 x, 1; setp.ne.u32 p, %r1, 1; @p bra L; add.u32 %r2, %r2, x; L: "
     "}\nadd.u32 %r2, %r2, %r3;",
     [](u32 t) { return 5u + (t == 0 ? 9u : 0u) + (t == 1 ? 1u : 0u); }},
    {"SpinLockInsideAWarp",
     "L: atom.global.cas.b32 %r3, [lock], 0, 1;\nsetp.ne.u32 %p1, %r3, 0;\n@%p1 bra L;\n"
     "ld.volatile.global.u32 %r4, [count];\nadd.u32 %r4, %r4, 1;\nst.volatile.global.u32 [count], "
     "%r4;\nmembar.gl;\n"
     "atom.global.exch.b32 %r5, [lock], 0;\nbar.sync 0;\nld.volatile.global.u32 %r2, [count];",
     [](u32) { return threads; }, ".global .u32 lock;\n.global .u32 count = 0;"},
    {"WaitForAnotherLaneOfTheWarp",
     "setp.eq.u32 %p1, %r1, 3;\n@%p1 bra W;\nL: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, "
     "0;\n@%p2 bra L;\nbra E;\n"
     "W: mov.u32 %r2, 77;\nst.volatile.global.u32 [flag], %r2;\nE:",
     [](u32) { return 77u; }, ".global .u32 flag;"},

    // --- memory
    {"SubWordLoadsExtendBySign",
     "ld.global.s8 %r3, [bytes+1];\nld.global.u8 %r4, [bytes+1];\nld.global.s16 %r5, "
     "[bytes+2];\nld.global.u16 %rs1, [bytes+2];\n"
     "cvt.u32.u16 %r6, %rs1;\nadd.u32 %r2, %r3, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;",
     [](u32) { return static_cast<u32>(-2 + 254 - 32767 + 32769); },
     ".global .align 4 .b8 bytes[4] = {1, 254, 1, 128};"},
    {"VectorsMoveInOneAccess",
     "mov.u32 %r3, 1;\nmov.u32 %r4, 2;\nmov.u32 %r5, 3;\nst.shared.v4.u32 [buffer+16], {%r3, %r4, %r5, 40};\n"
     "ld.shared.v2.u32 {%r6, %r7}, [buffer+24];\nld.shared.v4.u32 {%r8, _, _, _}, [buffer+16];\nadd.u32 %r2, "
     "%r6, %r7;\nadd.u32 %r2, %r2, %r8;",
     [](u32) { return 44u; }, ".shared .align 16 .b8 buffer[64];"},
    {"VectorRegisters",
     ".reg .v4 .u32 v;\nld.global.v4.u32 v, [table];\nadd.u32 %r2, v.x, v.w;\nadd.u32 %r2, %r2, v.g;",
     [](u32) { return 1u + 4u + 2u; }, ".global .align 16 .u32 table[4] = {1, 2, 3, 4};"},
    {"RangesOfVectorRegisters",
     ".local .align 16 .b8 l[16];\n.reg .v4 .u32 v<3>, w<2>;\n.reg .v2 .u32 q;\nld.global.v4.u32 v2, "
     "[table];\nmov.u32 q.x, 10;\nmov.u32 q.y, 20;\n"
     "{\n.reg .v2 .u32 w<1>;\nmov.v2.u32 w0, q;\nadd.u32 q.x, w0.y, 5;\n}\nmov.v4.u32 w0, "
     "v02;\nst.local.v4.u32 [l], w0;\n"
     "ld.local.u32 %r3, [l+12];\nadd.u32 %r2, v2.y, w0.b;\nmad.lo.u32 %r2, q.x, 100, %r2;\nadd.u32 %r2, %r2, "
     "%r3;",
     [](u32) { return 25u * 100 + 2 + 3 + 4; }, ".global .align 16 .u32 table[4] = {1, 2, 3, 4};"},
    {"LocalMemoryIsEachThreadsOwn",
     ".local .align 8 .b8 depot[32];\nmov.u64 %rd3, depot;\ncvta.local.u64 %rd4, %rd3;\nst.local.u32 "
     "[%rd3+4], %r1;\nst.u32 [%rd4+8], 5;\n"
     "bar.sync 0;\nld.u32 %r3, [%rd4+4];\nld.local.u32 %r4, [depot+8];\nadd.u32 %r2, %r3, %r4;",
     [](u32 t) { return t + 5; }},
    {"GenericAddressesOfAllSpaces",
     "mov.u64 %rd3, buffer;\ncvta.shared.u64 %rd4, %rd3;\nisspacep.shared %p1, %rd4;\nisspacep.global %p2, "
     "%rd4;\nselp.u32 %r3, 1, 0, %p1;\n"
     "selp.u32 %r4, 2, 0, %p2;\nadd.u32 %r2, %r3, %r4;\nmov.u64 %rd5, table;\ncvta.global.u64 %rd5, "
     "%rd5;\nisspacep.global %p3, %rd5;\n"
     "selp.u32 %r5, 4, 0, %p3;\nadd.u32 %r2, %r2, %r5;\ncvta.to.shared.u64 %rd6, %rd4;\nsetp.eq.u64 %p4, "
     "%rd3, %rd6;\n"
     "selp.u32 %r6, 8, 0, %p4;\nadd.u32 %r2, %r2, %r6;",
     [](u32) { return 1u + 4u + 8u; }, ".shared .u32 buffer[4];\n.global .u32 table[4];"},
    {"ThirtyTwoBitSharedAddresses",
     "mov.u32 %r3, buffer;\nshl.b32 %r4, %r1, 2;\nadd.u32 %r3, %r3, %r4;\nst.shared.u32 [%r3], "
     "%r1;\nbar.sync 0;\nxor.b32 %r5, %r4, 4;\n"
     "mov.u32 %r6, buffer;\nadd.u32 %r6, %r6, %r5;\nld.shared.u32 %r2, [%r6];",
     [](u32 t) { return t ^ 1; }, ".shared .u32 pad[3];\n.shared .u32 buffer[64];"},
    {"ConstantsAndNestedInitialisers",
     "ld.const.u32 %r3, [nested+16];\nld.const.u16 %rs1, [nested+0];\nld.const.f32 %f1, "
     "[real];\ncvt.rzi.u32.f32 %r4, %f1;\n"
     "ld.const.u64 %rd3, [pointer];\nld.u32 %r5, [%rd3];\nld.const.u8 %r6, [text+1];\nadd.u32 %r2, %r3, "
     "%r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;",
     [](u32) { return 6u + 7u + 20u + 98u; },
     ".const .u32 nested[2][3] = {{1, 2}, {4, 5, 6}};\n.const .f32 real = 0f40F00000;\n.global .u32 far[3] = "
     "{10, 20, 30};\n"
     ".const .u64 pointer = generic(far)+4;\n.const .b8 text[4] = {97, 98, 99, 0};"},
    {"BytesOfAddresses", "ld.global.u64 %rd3, [bytes];\nld.global.u32 %r2, [%rd3+4];", [](u32) { return 9u; },
     ".global .u32 target[2] = {8, 9};\n.global .align 8 .u8 bytes[8] = {0xFF(target), 0xFF00(target), "
     "0xFF0000(target), 0xFF000000(target),"
     " 0xFF00000000(target), 0xFF0000000000(target), 0xFF000000000000(target), 0xFF00000000000000(target)};"},
    {"PackAndUnpack",
     "mov.b64 %rd3, {%r1, 7};\nmov.b64 {%r3, %r4}, %rd3;\nmov.b32 {%rs1, %rs2}, 0x00050003;\nmov.b32 %r5, "
     "{%rs2, %rs1};\n"
     "mov.b64 {_, %r6}, %rd3;\nadd.u32 %r2, %r3, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;",
     [](u32 t) { return t + 7 + 0x00030005 + 7; }},
    {"AsyncCopies",
     "mov.u32 %r3, buffer;\nmov.u64 %rd3, table;\ncp.async.ca.shared.global [%r3], [%rd3], "
     "16;\ncp.async.ca.shared.global [%r3+16], [%rd3+4], 4, 0;\n"
     "cp.async.commit_group;\ncp.async.wait_group 0;\nbar.sync 0;\nld.shared.u32 %r2, "
     "[buffer+12];\nld.shared.u32 %r4, [buffer+16];\nadd.u32 %r2, %r2, %r4;",
     [](u32) { return 4u; },
     ".shared .align 16 .u32 buffer[8];\n.global .align 16 .u32 table[4] = {1, 2, 3, 4};"},

    // --- atomics
    {"AtomicsReturnWhatWasThere",
     "atom.shared.add.u32 %r3, [counter], 1;\nbar.sync 0;\nred.shared.max.u32 [largest], %r3;\nbar.sync "
     "0;\nld.shared.u32 %r4, [counter];\n"
     "ld.shared.u32 %r5, [largest];\nadd.u32 %r2, %r4, %r5;",
     [](u32) { return threads + threads - 1; }, ".shared .u32 counter;\n.shared .u32 largest;"},
    {"AtomicsOfFloats",
     "atom.global.add.f32 %f1, [sum], 0f3F000000;\nred.global.add.f64 [wide], 0d3FD0000000000000;\nbar.sync "
     "0;\nld.global.f32 %f2, [sum];\n"
     "cvt.rzi.u32.f32 %r3, %f2;\nld.global.f64 %fd1, [wide];\ncvt.rzi.u32.f64 %r4, %fd1;\nadd.u32 %r2, %r3, "
     "%r4;",
     [](u32) { return threads / 2 + threads / 4; }, ".global .f32 sum;\n.global .f64 wide;"},
    {"AtomicIncrementWraps", "atom.global.inc.u32 %r3, [wheel], 9;\nbar.sync 0;\nld.global.u32 %r2, [wheel];",
     [](u32) { return threads % 10; }, ".global .u32 wheel;"},
    {"AtomicOfHalves",
     "mov.b32 %r4, 0x3C003C00;\natom.global.add.noftz.f16x2 %r3, [halves], %r4;\nbar.sync 0;\nld.global.u32 "
     "%r2, [halves];",
     [](u32) { return 0x54005400u; }, ".global .align 4 .b32 halves;"},

    // --- warps
    {"ShuffleDown", "shfl.sync.down.b32 %r2|%p1, %r1, 3, 0x1f, 0xffffffff;\n@!%p1 mov.u32 %r2, 1000;",
     [](u32 t) { return t % 32 < 29 ? t + 3 : 1000; }},
    {"ShuffleUpInSegments", "shfl.sync.up.b32 %r2|%p1, %r1, 1, 0x1800, -1;\n@!%p1 add.u32 %r2, %r2, 500;",
     [](u32 t) { return t % 8 == 0 ? t + 500 : t - 1; }},
    {"ShuffleButterfly", "shfl.sync.bfly.b32 %r2, %r1, 16, 31, -1;", [](u32 t) { return t ^ 16; }},
    {"ShuffleByIndex", "shfl.sync.idx.b32 %r2, %r1, 5, 0x181f, -1;", [](u32 t) { return (t & ~7u) + 5; }},
    {"TilesOfAWarpShuffleApart",
     "mov.u32 %r9, %laneid;\nsetp.lt.u32 %p1, %r9, 16;\nselp.u32 %r3, 0x0000ffff, 0xffff0000, "
     "%p1;\nvote.sync.ballot.b32 %r2, %p1, %r3;",
     [](u32 t) { return t % 32 < 16 ? 0xFFFFu : 0u; }},
    {"ShuffleInBothBranches",
     "mov.u32 %r9, %laneid;\nsetp.lt.u32 %p1, %r9, 7;\n@%p1 bra A;\nshfl.sync.idx.b32 %r2, %r1, 0, 31, "
     "-1;\nbra E;\nA: shfl.sync.idx.b32 %r2, %r1, 0, 31, -1;\nE:",
     [](u32 t) { return t & ~31u; }},
    {"Votes",
     "setp.gt.u32 %p1, %r1, 40;\nvote.sync.any.pred %p2, %p1, -1;\nvote.sync.all.pred %p3, !%p1, "
     "-1;\nvote.sync.ballot.b32 %r3, %p1, -1;\n"
     "selp.u32 %r4, 1, 0, %p2;\nselp.u32 %r5, 2, 0, %p3;\npopc.b32 %r3, %r3;\nshl.b32 %r3, %r3, 4;\nadd.u32 "
     "%r2, %r3, %r4;\nadd.u32 %r2, %r2, %r5;",
     [](u32 t) { return t < 32 ? 2u : (23u << 4) + 1; }},
    {"Match", "and.b32 %r3, %r1, 3;\nmatch.any.sync.b32 %r2, %r3, -1;",
     [](u32 t) { return 0x11111111u << (t & 3); }},
    {"Redux", "redux.sync.add.s32 %r2, %r1, -1;", [](u32 t) { return t < 32 ? 496u : 496u + 1024; }},
    {"Elect", "elect.sync %r3|%p1, -1;\nselp.u32 %r2, 1, 0, %p1;",
     [](u32 t) { return t % 32 == 0 ? 1u : 0u; }},
    {"ActiveMask", "mov.u32 %r9, %laneid;\nsetp.gt.u32 %p1, %r9, 27;\n@!%p1 bra E;\nactivemask.b32 %r2;\nE:",
     [](u32 t) { return t % 32 > 27 ? 0xF0000000u : 0u; }},
    {"WarpBarrierAtTwoPlaces",
     "mov.u32 %r9, %laneid;\nsetp.lt.u32 %p1, %r9, 9;\n@%p1 bra A;\nmov.u32 %r2, 1;\nbar.warp.sync -1;\nbra "
     "E;\nA: mov.u32 %r2, 2;\nbar.warp.sync -1;\nE:",
     [](u32 t) { return t % 32 < 9 ? 2u : 1u; }},
    {"LaneMasks", "mov.u32 %r3, %lanemask_lt;\nmov.u32 %r4, %lanemask_ge;\nxor.b32 %r2, %r3, %r4;",
     [](u32) { return ~0u; }},

    // --- barriers
    {"BarrierReductions",
     "setp.lt.u32 %p1, %r1, 10;\nbar.red.popc.u32 %r3, 0, %p1;\nbar.red.and.pred %p2, 0, "
     "%p1;\nbar.red.or.pred %p3, 0, !%p1;\n"
     "selp.u32 %r4, 100, 0, %p2;\nselp.u32 %r5, 200, 0, %p3;\nadd.u32 %r2, %r3, %r4;\nadd.u32 %r2, %r2, %r5;",
     [](u32) { return 210u; }},
    {"ProducerAndConsumerWarps",
     "setp.lt.u32 %p1, %r1, 32;\n@%p1 bra P;\nbar.sync 1, 64;\nld.shared.u32 %r2, [box];\nbra E;\nP: mov.u32 "
     "%r2, 5;\nst.shared.u32 [box], 6;\n"
     "bar.arrive 1, 64;\nE:",
     [](u32 t) { return t < 32 ? 5u : 6u; }, ".shared .u32 box;"},
    {"BarrierAfterSomeLanesAreGone",
     "mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd3, %rd1, %rd2;\nst.global.u32 [%rd3], 1;\nsetp.gt.u32 %p1, %r1, "
     "50;\n@%p1 exit;\nst.shared.u32 [box], 4;\n"
     "bar.sync 0;\nld.shared.u32 %r2, [box];",
     [](u32 t) { return t > 50 ? 1u : 4u; }, ".shared .u32 box;"},

    {"MemoryBarriers",
     "mov.u32 %r3, gate;\nsetp.ne.u32 %p1, %r1, 0;\n@!%p1 mbarrier.init.shared.b64 [%r3], 64;\nbar.sync "
     "0;\n@!%p1 st.shared.u32 [box], 3;\n"
     "mbarrier.arrive.shared.b64 %rd3, [%r3];\nL: mbarrier.try_wait.shared.b64 %p2, [%r3], %rd3;\n@!%p2 bra "
     "L;\nld.shared.u32 %r2, [box];\n"
     "mbarrier.test_wait.parity.shared.b64 %p3, [%r3], 0;\n@%p3 add.u32 %r2, %r2, 10;\n"
     "mbarrier.test_wait.parity.shared.b64 %p3, [%r3], 1;\n@%p3 add.u32 %r2, %r2, 20;",
     [](u32) { return 13u; }, ".shared .align 8 .b64 gate;\n.shared .u32 box;"},
    {"ClusterBarriers",
     "st.shared.u32 [box], 5;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nld.shared.u32 %r2, [box];",
     [](u32) { return 5u; }, ".shared .u32 box;"},

    // --- calls
    {"CallByParameters",
     "{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r1; call.uni (r), triple, (a); ld.param.b32 %r2, "
     "[r]; }",
     [](u32 t) { return 3 * t; },
     ".func (.param .b32 r) triple(.param .b32 a)\n{ .reg .b32 %r<3>; ld.param.b32 %r1, [a]; mul.lo.u32 %r2, "
     "%r1, 3; st.param.b32 [r], %r2; ret; }"},
    {"CallByRegisters", "call (%r2), plus, (%r1, 10);", [](u32 t) { return t + 10; },
     ".func (.reg .b32 d) plus(.reg .b32 a, .reg .b32 b)\n{ add.u32 d, a, b; ret; }"},
    {"CallOfSomeLanesThatReturnApart",
     "setp.gt.u32 %p1, %r1, 20;\n@!%p1 bra E;\ncall (%r2), pick, (%r1);\nE: add.u32 %r2, %r2, 1;",
     [](u32 t) { return t <= 20      ? 1u
                        : t % 2 == 0 ? 101u
                                     : 201u; },
     ".func (.reg .b32 d) pick(.reg .b32 a)\n{ .reg .b32 x; .reg .pred p; and.b32 x, a, 1; setp.eq.u32 p, x, "
     "0; mov.u32 d, 100; @p ret; mov.u32 d, 200; ret; }"},
    {"Recursion",
     "and.b32 %r3, %r1, 7;\n{ .param .b32 a; .param .b32 r; st.param.b32 [a], %r3; call (r), factorial, (a); "
     "ld.param.b32 %r2, [r]; }",
     [](u32 t) {
         u32 product = 1;
         for (u32 i = 2; i <= (t & 7); ++i) product *= i;
         return product;
     },
     ".func (.param .b32 r) factorial(.param .b32 a)\n{ .reg .b32 %r<5>; .reg .pred p; ld.param.b32 %r1, "
     "[a]; mov.u32 %r2, 1; setp.lt.u32 p, %r1, 2;\n"
     "@p bra E; sub.u32 %r3, %r1, 1; { .param .b32 x; .param .b32 y; st.param.b32 [x], %r3; call (y), "
     "factorial, (x); ld.param.b32 %r4, [y]; }\n"
     "mul.lo.u32 %r2, %r1, %r4; E: st.param.b32 [r], %r2; ret; }"},
    {"IndirectCallsOfTwoFunctions",
     "mov.u64 %rd3, one;\nmov.u64 %rd4, two;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\nselp.b64 %rd5, "
     "%rd3, %rd4, %p1;\n"
     "P: .callprototype (.param .b32 _) _ ();\n{ .param .b32 r; call (r), %rd5, (), P; ld.param.b32 %r2, "
     "[r]; }",
     [](u32 t) { return t % 2 == 0 ? 1u : 2u; },
     ".func (.param .b32 r) one() { st.param.b32 [r], 1; ret; }\n.func (.param .b32 r) two() { st.param.b32 "
     "[r], 2; ret; }"},
    {"StructuresByValue",
     "{ .param .align 8 .b8 a[16]; .param .b32 r; st.param.b32 [a], 3; st.param.b64 [a+8], 4; call (r), sum, "
     "(a); ld.param.b32 %r2, [r]; }",
     [](u32) { return 7u; },
     ".func (.param .b32 r) sum(.param .align 8 .b8 a[16])\n{ .reg .b32 %r<4>; .reg .b64 x; ld.param.b32 "
     "%r1, [a]; ld.param.b64 x, [a+8]; cvt.u32.u64 %r2, x;\n"
     "add.u32 %r3, %r1, %r2; st.param.b32 [r], %r3; ret; }"},
};

// In them threads write one place at once, or read what nothing wrote: it makes no difference to their
// results.
constexpr std::string_view careless[] = {"VectorsMoveInOneAccess", "AsyncCopies",
                                         "AtomicsReturnWhatWasThere"};

void run(const Row& row, const EmulatorOptions& options) {
    Machine machine(options);
    const std::string text = kernel(row.body, row.declarations);
    const auto loaded = machine.load(text);
    ASSERT_TRUE(loaded) << describe(loaded.error(), text);
    const u64 out = machine.upload(std::vector<u32>(threads, 0xABABABAB));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    const auto results = machine.download<u32>(out, threads);
    for (u32 t = 0; t < threads; ++t) EXPECT_EQ(results[t], row.expected(t)) << "thread " << t;
}

TEST(Emulator, RunsEveryFeature) {
    for (const Row& row : rows) {
        SCOPED_TRACE(row.name);
        const std::string text = kernel(row.body, row.declarations);
        if (const Assembler* assembler = nvptxcompiler()) {
            const auto cubin = assembler->assemble(text);
            EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
        }
        run(row, {.fast = true});
        if (std::ranges::find(careless, row.name) == std::end(careless)) run(row, {});
    }
}

TEST(Emulator, AnAddressOutsideOfBuffersIsSaidOfTheNearestOne) {
    Machine machine;
    const std::string text = kernel("st.u32 [%rd1], %r1;");
    ASSERT_TRUE(machine.load(text));
    const u64 first = machine.upload(std::vector<u32>(25)), second = machine.upload(std::vector<u32>(50));
    ASSERT_LT(first, second);
    const auto said = [&](u64 address) { return machine.text_of(machine.launch("k", {}, address).error()); };
    EXPECT_THAT(said(first + 100),
                HasSubstr(fmt::format("0 bytes behind the end of the 100 bytes at {:#x}", first)));
    EXPECT_THAT(said(first - 4), HasSubstr(fmt::format("4 bytes before the 100 bytes at {:#x}", first)));
    EXPECT_THAT(said(second - 4), HasSubstr(fmt::format("4 bytes before the 200 bytes at {:#x}", second)));
    EXPECT_THAT(said(second + 220),
                HasSubstr(fmt::format("20 bytes behind the end of the 200 bytes at {:#x}", second)));
}

TEST(Emulator, AnInstructionThatIsMissingIsAnErrorOnlyWhenExecuted) {
    Machine machine;
    ASSERT_TRUE(
        machine.load(kernel("setp.gt.u32 %p1, %r1, 100;\n@%p1 istypep.texref %p2, %rd1;\nmov.u32 %r2, 3;")));
    const u64 out = machine.upload(std::vector<u32>(threads));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    EXPECT_EQ(machine.download<u32>(out, threads)[5], 3u);
}

TEST(Emulator, APartOfARegisterIsNoReasonToRefuseTheModule) {
    Machine machine;
    ASSERT_TRUE(
        machine.load(kernel("setp.gt.u32 %p1, %r1, 100;\n@%p1 vmad.u32.u32.u32.shr7 %r3, %r1.b0, %r1.b1, "
                            "%r2;\nmov.u32 %r2, 3;")));
    const u64 out = machine.upload(std::vector<u32>(threads));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    EXPECT_FALSE(machine.load(kernel("mov.u32 %r2, %r99.b0;")));
    EXPECT_FALSE(machine.load(kernel("mov.u32 %r2, %r1.q0;")));
}

TEST(Emulator, RefusesModulesWithoutBound) {
    Machine machine;
    const auto nested = machine.load(kernel(repeated("{", 300) + repeated("}", 300)));
    ASSERT_FALSE(nested);
    EXPECT_EQ(nested.error().code, Errc::module_not_emulated);
    const auto extents = machine.load(kernel("", ".global .b8 a" + repeated("[1]", 65) + ";"));
    ASSERT_FALSE(extents);
    EXPECT_EQ(extents.error().code, Errc::declaration_not_emulated);
}

// A module so long that threads share its decoding: entries of both halves have the same variables and
// functions.
TEST(Emulator, EntriesOfLongModulesShareFunctionsAndVariables) {
    const std::string padding = "//" + repeated(" ", 1300000) + "\n";
    const std::string text =
        ".version 8.5\n.target sm_90\n.address_size 64\n.global .u64 function;\n.global .u32 state = 5;\n"
        ".func (.reg .b32 r) half(.reg .b32 a) { shr.u32 r, a, 1; ret; }\n"
        ".func (.reg .b32 r) triple(.reg .b32 a) { mul.lo.u32 r, a, 3; ret; }\n"
        ".entry first() {\n.reg .b64 %d<3>; mov.u64 %d1, triple; st.global.u64 [function], %d1; "
        "st.global.u32 [state], 14;\n" +
        padding + "ret; }\n" + ".entry second(.param .u64 out) {\n.reg .b64 %d<3>; .reg .b32 %r<5>;\n" +
        padding +
        "ld.param.u64 %d1, [out]; ld.global.u64 %d2, [function]; ld.global.u32 %r1, [state];\n"
        "proto: .callprototype (.reg .b32 _) _ (.reg .b32 _);\ncall (%r2), %d2, (%r1), proto; st.global.u32 "
        "[%d1], %r2; ret; }\n";
    for (const std::uint32_t threads : {1u, 2u}) {
        Machine machine({.threads = threads});
        ASSERT_TRUE(machine.load(text));
        const u64 out = machine.upload(std::vector<u32>(1));
        EXPECT_RUNS(machine, machine.launch("first", {}));
        EXPECT_RUNS(machine, machine.launch("second", {}, out));
        EXPECT_EQ(machine.download<u32>(out, 1)[0], 42u);
        EXPECT_EQ(machine.emulator.symbol(*machine.module, "state")->bytes, 4u);
        EXPECT_EQ(machine.launch("third", {}).error().code, Errc::entry_unknown);
    }
}

TEST(Emulator, FirstValuesNameWhatTheirBlockSees) {
    Machine machine;
    EXPECT_RUNS(machine, machine.load(kernel(R"({
        .global .u32 inner = 2;
        .global .u64 both[2] = {inner, generic(outer)};
        .global .u64 itself = itself;
        .reg .b32 %q<3>;
        .reg .b64 %l<4>;
        {
            .global .u32 outer = 5;
            .global .u64 hiding = outer;
            ld.global.u64 %l1, [hiding];
            ld.global.u32 %q1, [%l1];
            mad.lo.u32 %r2, %q1, 100, 0;
        }
        ld.global.u64 %l1, [both];
        ld.global.u32 %q1, [%l1];
        mad.lo.u32 %r2, %q1, 10, %r2;
        ld.global.u64 %l1, [both+8];
        ld.u32 %q1, [%l1];
        add.u32 %r2, %q1, %r2;
        mov.u64 %l1, itself;
        ld.global.u64 %l2, [itself];
        sub.u64 %l3, %l1, %l2;
        cvt.u32.u64 %q1, %l3;
        add.u32 %r2, %q1, %r2;
    })",
                                             ".global .u32 outer = 1;\n")));
    const u64 out = machine.upload(std::vector<u32>(threads));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    EXPECT_EQ(machine.download<u32>(out, threads)[5], 521u);
}

TEST(Emulator, ARangeTakesRegistersOnlyForTheNamesThatOccur) {
    Machine machine;
    ASSERT_TRUE(machine.load(
        kernel("{ .reg .b32 %q<4000000000>; mov.u32 %q3999999999, 5; mov.u32 %r2, %q3999999999; }")));
    const u64 out = machine.upload(std::vector<u32>(threads));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    EXPECT_EQ(machine.download<u32>(out, threads)[5], 5u);
}

TEST(Emulator, RefusesMoreRegistersThanAHostHolds) {
    std::string names = "x";
    for (int i = 0; i < 600000; ++i) names += ",x" + std::to_string(i);
    Machine machine;
    ASSERT_TRUE(machine.load(kernel(".reg .b32 " + names + ";")));
    const u64 out = machine.upload(std::vector<u32>(1024));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {32, 1, 1}}, out));
    const auto run = machine.launch("k", {.block = {1024, 1, 1}}, out);
    ASSERT_FALSE(run);
    EXPECT_EQ(run.error().code, Errc::out_of_device_memory);
}

TEST(Emulator, ManyVariablesComeAndGoQuickly) {
    std::string declarations;
    for (int i = 0; i < 50000; ++i) declarations += ".const .u32 c" + std::to_string(i) + " = 1;\n";
    Machine machine;
    EXPECT_RUNS(machine, machine.load(kernel("", declarations)));
    EXPECT_RUNS(machine, machine.load(kernel("")));
}

TEST(Emulator, ChecksTheLaunch) {
    Machine machine;
    ASSERT_TRUE(
        machine.load(".version 8.5\n.target sm_90\n.address_size 64\n.entry a(.param .u32 x, .param .align 8 "
                     ".b8 s[12]) { ret; }\n"
                     ".entry r() .reqntid 32, 2 { ret; }\n.entry m() .maxntid 64 { ret; }\n.entry s() { "
                     ".shared .b8 x[40000]; ret; }\n.entry z() .reqnctapercluster 2, 0, 1 { ret; }\n"));
    const auto code = [&](std::string_view entry, const LaunchConfig& shape, const auto&... arguments) {
        const auto run = machine.launch(entry, shape, arguments...);
        return run ? Errc::ok : run.error().code;
    };
    const std::array<std::byte, 12> s = {};
    EXPECT_EQ(code("a", {}, 1u, s), Errc::ok);
    EXPECT_EQ(code("a", {}, 1u), Errc::argument_count_wrong);
    EXPECT_EQ(code("z", {.grid = {2, 1, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("z", {.grid = {2, 1, 1}, .cluster = {2, 0, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("m", {.cluster = {0, 0, 0}, .cooperative = true}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("a", {}, u64{1}, s), Errc::argument_size_wrong);
    EXPECT_EQ(code("b", {}), Errc::entry_unknown);
    EXPECT_EQ(code("r", {.block = {32, 2, 1}}), Errc::ok);
    EXPECT_EQ(code("r", {.block = {64, 1, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("m", {.block = {65, 1, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("m", {.block = {0, 1, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("m", {.grid = {1, 70000, 1}}), Errc::launch_shape_invalid);
    EXPECT_EQ(code("s", {.shared_bytes = 1000}), Errc::ok);
    EXPECT_EQ(code("s", {.shared_bytes = 200000}), Errc::launch_shape_invalid);
}

TEST(Emulator, MemoryIsAllocatedAndFreed) {
    Machine machine({.memory_bytes = 10000});
    const auto a = machine.emulator.allocate(5000), b = machine.emulator.allocate(5000);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(*a % 256, 0u);
    EXPECT_EQ(machine.emulator.allocate(1).error().code, Errc::out_of_device_memory);
    EXPECT_TRUE(machine.emulator.free(*a));
    EXPECT_EQ(machine.emulator.free(*a).error().code, Errc::address_not_allocated);
    EXPECT_EQ(machine.emulator.fill(*b, std::byte{1}, 5001).error().code, Errc::address_out_of_bounds);
    EXPECT_EQ(machine.emulator.fill(*a, std::byte{1}, 1).error().code, Errc::address_out_of_bounds);
    EXPECT_TRUE(machine.emulator.allocate(5000));
}

TEST(Emulator, SymbolsAreVariablesOfTheModule) {
    Machine machine;
    ASSERT_TRUE(machine.load(
        kernel("ld.global.u32 %r2, [knob];", ".visible .global .u32 knob = 4;\n.const .b8 pad[12];")));
    const auto knob = machine.emulator.symbol(*machine.module, "knob");
    ASSERT_TRUE(knob);
    EXPECT_EQ(knob->bytes, 4u);
    EXPECT_EQ(machine.download<u32>(knob->address, 1)[0], 4u);
    const std::vector<u32> value = {11};
    ASSERT_TRUE(machine.emulator.write(knob->address, std::as_bytes(std::span(value))));
    const u64 out = machine.upload(std::vector<u32>(threads));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {threads, 1, 1}}, out));
    EXPECT_EQ(machine.download<u32>(out, 1)[0], 11u);
    EXPECT_EQ(machine.emulator.symbol(*machine.module, "none").error().code, Errc::symbol_unknown);
}

// One CTA waits for what a later one writes: they must make progress together.
TEST(Emulator, CtasMayWaitForLaterOnes) {
    for (const u32 host_threads : {1u, 3u}) {
        Machine machine({.threads = host_threads});
        ASSERT_TRUE(machine.load(kernel(
            "mov.u32 %r3, %ctaid.x;\nsetp.eq.u32 %p1, %r3, 7;\n@%p1 st.volatile.global.u32 [flag], 1;\n"
            "L: ld.volatile.global.u32 %r2, [flag];\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra L;",
            ".global .u32 flag;")));
        const u64 out = machine.upload(std::vector<u32>(threads));
        EXPECT_RUNS(machine, machine.launch("k", {.grid = {8, 1, 1}, .block = {threads, 1, 1}}, out));
        EXPECT_EQ(machine.download<u32>(out, 1)[0], 1u);
    }
}

TEST(Emulator, TheFirstFailingCtaIsReported) {
    for (const u32 host_threads : {1u, 4u}) {
        Machine machine({.threads = host_threads});
        ASSERT_TRUE(machine.load(kernel("mov.u32 %r3, %ctaid.x;\nsetp.ge.u32 %p1, %r3, 3;\n@%p1 trap;")));
        const u64 out = machine.upload(std::vector<u32>(threads));
        const auto run = machine.launch("k", {.grid = {64, 1, 1}, .block = {threads, 1, 1}}, out);
        ASSERT_FALSE(run);
        EXPECT_THAT(machine.text_of(run.error()), HasSubstr("block (3, 0, 0)"));
    }
}

}  // namespace
}  // namespace ptxgraft
