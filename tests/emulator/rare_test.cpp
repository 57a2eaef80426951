// Forms that compilers write rarely: one row each, with the value that the manual gives by thread.
#include <gmock/gmock.h>

#include <functional>

#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

struct RareRow {
    std::string name, body;
    std::function<u32(u32)> expected;  // of %r2, by thread of 64
    std::string version = "8.5", target = "sm_90";
};

u32 zero(u32) { return 0; }

const RareRow rare_rows[] = {
    {"CountersThatNobodyStarted",
     "mov.u32 %r2, %pm0;\nmov.u32 %r3, %pm7;\nmov.u64 %rd3, %pm3_64;\ncvt.u32.u64 %r4, %rd3;\nor.b32 %r2, "
     "%r2, %r3;\nor.b32 %r2, %r2, %r4;",
     zero},
    {"SharedMemoryThatIsReservedLiesBehind",
     "mov.u32 %r2, %reserved_smem_offset_begin;\nmov.u32 %r3, %reserved_smem_offset_end;\nmov.u32 %r4, "
     "%reserved_smem_offset_cap;\nsub.u32 %r3, %r3, %r2;\nsub.u32 %r3, %r3, %r4;\n"
     "mov.u32 %r5, %total_smem_size;\nsetp.ge.u32 %p1, %r2, %r5;\nselp.u32 %r2, 1, 0, %p1;\nmad.lo.u32 %r2, "
     "%r3, 1000, %r2;",
     [](u32) { return 1u; }},
    // as the barriers of cooperative groups do, whose bits are cleared first
    {"SharedMemoryThatIsReservedHoldsWhatIsWritten",
     "mov.u32 %r2, %reserved_smem_offset_1;\ncvt.u64.u32 %rd3, %r2;\ncvta.shared.u64 %rd3, "
     "%rd3;\nred.and.release.cta.b32 [%rd3+4], -2;\nbar.sync 0;\natom.add.u32 %r3, [%rd3+4], 2;\nbar.sync "
     "0;\n"
     "ld.u32 %r2, [%rd3+4];",
     [](u32) { return 128u; }},
    {"SharedMemoryByAGenericAddress",  // as kernels do that hand st.shared a pointer in 64 bits
     "mov.u64 %rd3, s;\ncvta.shared.u64 %rd3, %rd3;\nmul.wide.u32 %rd4, %r1, 4;\nadd.u64 %rd4, %rd3, "
     "%rd4;\nst.shared.u32 [%rd4], %r1;\nbar.sync 0;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\n"
     "@%p1 ld.shared.u32 %r2, [%rd3+8];\n@!%p1 ld.shared::cluster.u32 %r2, [%rd4];",
     [](u32 t) { return t % 2 == 0 ? 2u : t; }},
    {"NoGraph", "mov.u64 %rd3, %current_graph_exec;\ncvt.u32.u64 %r2, %rd3;", zero},
    {"Environment", "mov.u32 %r2, %envreg3;\nmov.u32 %r3, %envreg1;\nor.b32 %r2, %r2, %r3;", zero},
    {"SharedMemorySizes",
     "mov.u32 %r2, %dynamic_smem_size;\nmov.u32 %r3, %total_smem_size;\nmad.lo.u32 %r2, %r3, 1000, %r2;",
     [](u32) { return 256u * 1000 + 0; }},
    {"AVectorOfSpecialRegisters",
     ".reg .v4 .u32 v;\nmov.v4.u32 v, %tid;\nmov.u32 %r2, v.x;\nmov.v4.u32 {%r3, %r4, %r5, %r6}, "
     "%ntid;\nmad.lo.u32 %r2, %r3, 100, %r2;\nadd.u32 %r2, %r2, %r6;",
     [](u32 t) { return 6400 + t; }},
    {"PartsOfAFloatingPointConstant",  // of 1.5, 64 bits: 3ff8000000000000
     ".reg .f32 %f<5>;\nmov.v4.f32 {%f1, %f2, %f3, %f4}, 0f3FC00000;\nmov.b32 %r3, %f4;\n"
     "mov.v4.f32 {%f1, %f2, %f3, %f4}, 1.5;\nmov.b32 %r4, %f4;\nmov.v2.f32 {%f1, %f2}, 1.5;\n"
     "mov.b32 %r5, %f2;\n.reg .f64 %g<3>;\nmov.v2.f64 {%g1, %g2}, 0f3FC00000;\nmov.b64 %rd3, %g2;\n"
     "cvt.u32.u64 %r6, %rd3;\nadd.u32 %r2, %r3, %r4;\nadd.u32 %r2, %r2, %r5;\nadd.u32 %r2, %r2, %r6;",
     [](u32) { return 0x3f + 0x3ff8 + 0x3ff80000u + 0x3fc0; }},
    {"ASpecialRegisterAsAGuard",
     "mov.u32 %r2, 1;\n@%is_explicit_cluster mov.u32 %r2, 2;\n@!%is_explicit_cluster add.u32 %r2, %r2, 4;",
     [](u32) { return 5u; }},
    {"ANarrowSpecialRegister", "mov.u16 %h1, %tid.x;\ncvt.u32.u16 %r2, %h1;", [](u32 t) { return t; }},
    {"TheAddressOfAParameter",
     "mov.b64 %rd3, out;\nld.param.u64 %rd4, [%rd3];\nsetp.eq.u64 %p1, %rd4, %rd1;\nselp.u32 %r2, 1, 2, %p1;",
     [](u32) { return 1u; }},
    {"AParameterGenerically",
     "cvta.param.u64 %rd3, out;\nld.u64 %rd4, [%rd3];\nisspacep.param %p2, %rd3;\nsetp.eq.and.u64 %p1, %rd4, "
     "%rd1, %p2;\nselp.u32 %r2, 1, 2, %p1;",
     [](u32) { return 1u; }},
    {"CallThroughAnAddress", "mov.u64 %rd3, f1;\ncall (%r2), %rd3, (%r1), P;", [](u32 t) { return t + 1; }},
    {"CallOfAFunctionThatEachLaneChooses",
     "mov.u64 %rd3, f1;\nmov.u64 %rd4, f2;\nand.b32 %r3, %r1, 1;\nsetp.eq.u32 %p1, %r3, 0;\nselp.b64 %rd5, "
     "%rd3, %rd4, %p1;\ncall (%r2), %rd5, (%r1), P;",
     [](u32 t) { return t % 2 == 0 ? t + 1 : t * 3; }},
    {"CallThatNeverReturns", "mov.u32 %r2, 9;\nsetp.gt.u32 %p1, %r1, 70;\n@%p1 call never, ();",
     [](u32) { return 9u; }},
    {"BarriersOfChosenNumbersAndCounts",
     "mov.u32 %r5, 3;\nmov.u32 %r6, 64;\nmov.u32 %r3, s;\nshl.b32 %r4, %r1, 2;\nadd.u32 %r4, %r3, "
     "%r4;\nst.shared.u32 [%r4], %r1;\nbar.sync %r5, %r6;\nxor.b32 %r7, %r1, 63;\nshl.b32 %r7, %r7, 2;\n"
     "add.u32 %r7, %r3, %r7;\nld.shared.u32 %r2, [%r7];\nbarrier.sync %r5;\nbarrier.cta.sync.aligned 1, 64;",
     [](u32 t) { return 63 - t; }},
    {"ArrivalsOfOneWarpForAnother",
     "setp.lt.u32 %p1, %r1, 32;\nmov.u32 %r3, 5;\n@!%p1 bra W;\nst.shared.u32 [s+4], %r3;\nbar.arrive 2, "
     "64;\nbra E;\nW: bar.sync 2, 64;\nld.shared.u32 %r2, [s+4];\nE:",
     [](u32 t) { return t < 32 ? 0u : 5u; }},
    {"ReductionsAtABarrier",
     "setp.lt.u32 %p1, %r1, 5;\nbar.red.popc.u32 %r3, 1, %p1;\nbarrier.cta.red.and.pred %p2, 1, 64, "
     "!%p1;\nbar.cta.red.or.pred %p3, 0, %p1;\nbarrier.red.popc.aligned.u32 %r4, 4, !%p1;\n"
     "selp.u32 %r5, 100, 0, %p2;\nselp.u32 %r6, 1000, 0, %p3;\nadd.u32 %r2, %r3, %r5;\nadd.u32 %r2, %r2, "
     "%r6;\nmad.lo.u32 %r2, %r4, 10000, %r2;",
     [](u32) { return 5u + 1000 + 590000; }},
    {"VotesAndShufflesWithoutSync",
     "setp.lt.u32 %p1, %r1, 37;\nvote.ballot.b32 %r3, !%p1;\nvote.all.pred %p2, %p1;\nvote.uni.pred %p3, "
     "%p1;\nselp.u32 %r4, 1, 0, %p2;\nselp.u32 %r5, 2, 0, %p3;\nshfl.idx.b32 %r6, %r1, 3, 31;\n"
     "add.u32 %r2, %r4, %r5;\nadd.u32 %r2, %r2, %r6;\nxor.b32 %r2, %r2, %r3;",
     [](u32 t) { return t < 32 ? 1u + 2 + 3 : 35u ^ 0xFFFFFFE0u; }, "6.3", "sm_75"},
    {"ConstantsWithInitialisers",
     "and.b32 %r3, %r1, 3;\nmul.wide.u32 %rd3, %r3, 4;\nmov.u64 %rd4, c;\nadd.u64 %rd4, %rd4, "
     "%rd3;\nld.const.u32 %r2, [%rd4];\nld.const.u8 %r4, [c+4];\nadd.u32 %r2, %r2, %r4;",
     [](u32 t) { return (t % 4 + 1) * 10 + 20; }},
    {"LoadsThatAreUniform",
     "ldu.global.v2.u32 {%r2, %r3}, [g];\nldu.global.u32 %r4, [g+8];\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r2, "
     "%r2, %r4;",
     [](u32) { return 7u + 8 + 9; }},
    {"LoadsOfMappedDevices", "mov.u64 %rd3, g;\nld.mmio.relaxed.sys.global.u32 %r2, [%rd3+4];",
     [](u32) { return 8u; }},
    {"WhatOnlyCachesAndClocksHear",
     "mov.u64 %rd3, g;\nprefetch.global.L2 [%rd3];\nprefetchu.L1 "
     "[%rd3];\napplypriority.global.L2::evict_normal [%rd3], "
     "128;\ncreatepolicy.fractional.L2::evict_last.b64 %rd5, 1.0;\n"
     "ld.global.L2::cache_hint.u32 %r2, [%rd3], %rd5;\nnanosleep.u32 100;\npmevent "
     "3;\ngriddepcontrol.wait;\ngriddepcontrol.launch_dependents;",
     [](u32) { return 7u; }},
    {"DiscardedMemoryIsWrittenAnew",
     "mov.u64 %rd3, big;\ndiscard.global.L2 [%rd3], 128;\nbar.sync 0;\nst.volatile.global.u32 [%rd3+4], "
     "6;\nld.volatile.global.u32 %r2, [%rd3+4];",
     [](u32) { return 6u; }},
    {"StackOfAThread",
     "stacksave.u64 %rd6;\nmul.wide.u32 %rd3, 1, 64;\nalloca.u64 %rd4, %rd3, 16;\nst.local.u32 [%rd4+60], "
     "%r1;\nalloca.u32 %r5, 16;\nst.local.u32 [%r5], 5;\nld.local.u32 %r2, [%rd4+60];\n"
     "ld.local.u32 %r3, [%r5];\nadd.u32 %r2, %r2, %r3;\nstackrestore.u64 %rd6;\nalloca.u64 %rd7, %rd3, "
     "16;\nsetp.eq.u64 %p1, %rd7, %rd4;\nselp.u32 %r4, 100, 0, %p1;\nadd.u32 %r2, %r2, %r4;",
     [](u32 t) { return t + 5 + 100; }},
    {"FencesOfEveryKind",
     "mov.u32 %r2, "
     "4;\nfence.proxy.async;\nfence.acq_rel.gpu;\nmembar.gl;\nfence.mbarrier_init.release.cluster;\nfence.sc."
     "cta;\nfence.proxy.alias;\nfence.proxy.async.shared::cta;",
     [](u32) { return 4u; }},
    {"SixteenByteRegisters",
     "cvt.u64.u32 %rd3, %r1;\nmov.u64 %rd4, 11;\nmov.b128 %q1, {%rd3, %rd4};\nmov.b128 %q2, %q1;\nmov.b128 "
     "{%rd5, %rd6}, %q2;\nadd.u64 %rd5, %rd5, %rd6;\ncvt.u32.u64 %r2, %rd5;",
     [](u32 t) { return t + 11; }},
    {"BranchesByIndex",
     "rem.u32 %r3, %r1, 3;\nT: .branchtargets A, B, C;\nbrx.idx %r3, T;\nA: mov.u32 %r2, 1;\nbra D;\nB: "
     "mov.u32 %r2, 2;\nbra D;\nC: mov.u32 %r2, 4;\nD:",
     [](u32 t) { return 1u << t % 3; }},
};

std::string rare_kernel(const RareRow& row) {
    std::vector<std::string> registers = {"pred %p<4>", "b16 %h<4>", "b32 %r<16>", "b64 %rd<16>"};
    if (row.version >= "8.3") registers.emplace_back("b128 %q<4>");
    return test::kernel_text(
        {.version = row.version,
         .target = row.target,
         .declarations = ".const .align 4 .u32 c[4] = {10, 20, 30, 40};\n"
                         ".global .align 16 .u32 g[4] = {7, 8, 9, 10};\n.global .align 128 .b8 big[128];\n"
                         ".func (.reg .b32 r0) f1 (.reg .b32 a0) { add.u32 r0, a0, 1; ret; }\n"
                         ".func (.reg .b32 r0) f2 (.reg .b32 a0) { mul.lo.u32 r0, a0, 3; ret; }\n" +
                         std::string(row.version >= "6.4" ? ".func never () .noreturn { exit; }\n" : ""),
         .parameters = {"u64 out"},
         .registers = registers,
         .body = ".shared .align 16 .b8 s[256];\nP: .callprototype (.reg .b32 _) _ (.reg .b32 _);\n"
                 "ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, 0;\n" +
                 row.body +
                 "\nmul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd2, %rd1, %rd2;\nst.global.u32 [%rd2], %r2;"});
}

TEST(EmulatorRareForms, DoWhatTheManualSays) {
    for (const RareRow& row : rare_rows) {
        SCOPED_TRACE(row.name);
        const std::string text = rare_kernel(row);
        if (const Assembler* assembler = nvptxcompiler()) {
            const auto cubin = assembler->assemble(text);
            EXPECT_TRUE(cubin) << (cubin ? "" : describe(cubin.error(), text));
        }
        Machine machine;
        const auto loaded = machine.load(text);
        ASSERT_TRUE(loaded) << describe(loaded.error(), text);
        const u64 out = machine.upload(std::vector<u32>(64, 0xABABABAB));
        EXPECT_RUNS(machine, machine.launch("k", {.block = {64}}, out));
        const auto results = machine.download<u32>(out, 64);
        for (u32 t = 0; t < 64; ++t) EXPECT_EQ(results[t], row.expected(t)) << "thread " << t;
    }
}

}  // namespace
}  // namespace ptxgraft
