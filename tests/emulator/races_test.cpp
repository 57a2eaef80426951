// What is a race and what is none: equal bytes, mbarrier objects, releases and their scopes, memory of any
// size; and what is said of one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// `body`: %r1 is the thread, %r2 the lane, %r3 the block's rank in its cluster; %p1 holds in warp 0, %p2 in
// lane 0, %p3 in thread 0, %p4 in lane 0 of warp 1; %rd1 is memory of 64 KB that is zero.
std::string racing_kernel(const std::string& body) {
    return test::kernel_text(
        {.version = "8.6",
         .parameters = {"u64 out"},
         .registers = {"pred %p<10>", "b32 %r<32>", "b64 %rd<8>"},
         .body = ".shared .align 128 .b8 s[4096];\n.shared .align 8 .b64 bar;\nld.param.u64 %rd1, [out];\n"
                 "mov.u32 %r1, %tid.x;\nmov.u32 %r2, %laneid;\nmov.u32 %r3, %cluster_ctarank;\n"
                 "setp.lt.u32 %p1, %r1, 32;\nsetp.eq.u32 %p2, %r2, 0;\nsetp.eq.u32 %p3, %r1, 0;\n"
                 "setp.eq.u32 %p4, %r1, 32;\n" +
                 body});
}

// "", or the error.
std::string outcome(const std::string& text, EmulatorOptions options = {},
                    const LaunchConfig& shape = {.block = {64, 1, 1}}) {
    options.instruction_budget = 1u << 22;
    options.sm = 90;
    Machine machine(options);
    if (const auto loaded = machine.load(text); !loaded)
        return "not loaded: " + describe(loaded.error(), text);
    const u64 out = machine.upload(std::vector<u32>(1u << 14));
    const auto done = machine.launch("k", shape, out);
    return done ? "" : machine.text_of(done.error());
}

// Two warps store to the same place what %r4 holds.
std::string stores_of(const std::string& values, const std::string& stores) {
    return racing_kernel(values + "shl.b32 %r5, %r2, 4;\nmov.u32 %r6, s;\nadd.u32 %r6, %r6, %r5;\n" + stores);
}
const char* const same = "mad.lo.u32 %r4, %r2, 7, 5;\n";
const char* const different = "mad.lo.u32 %r4, %r1, 7, 5;\n";
const char* const matrix_store = "stmatrix.sync.aligned.m8n8.x4.shared.b16 [%r6], {%r4, %r4, %r4, %r4};";
// From 16 bytes for each lane, or each thread, of global memory that the first instructions fill.
std::string async_copies(const std::string& whose) {
    return racing_kernel(
        "mul.wide.u32 %rd2, %r1, 16;\nadd.s64 %rd2, %rd1, %rd2;\nadd.u32 %r4, " + whose +
        ", 1;\nst.global.v4.b32 [%rd2], {%r4, %r4, %r4, %r4};\nbar.sync 0;\nshl.b32 %r5, %r2, "
        "4;\nmov.u32 %r6, s;\nadd.u32 %r6, %r6, "
        "%r5;\ncp.async.cg.shared.global [%r6], [%rd2], 16;\ncp.async.wait_all;");
}

TEST(EmulatorRaces, StoresOfEqualBytesAreNone) {
    struct Row {
        std::string equal, unequal;
    };
    const Row rows[] = {
        {stores_of(same, matrix_store), stores_of(different, matrix_store)},
        {stores_of(same, "st.shared.b32 [%r6], %r4;"), stores_of(different, "st.shared.b32 [%r6], %r4;")},
        {async_copies("%r2"), async_copies("%r1")}};
    for (const Row& row : rows) {
        EXPECT_EQ(outcome(row.equal), "") << row.equal;
        EXPECT_THAT(outcome(row.equal, {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}),
                    HasSubstr("data race"))
            << row.equal;
        EXPECT_THAT(outcome(row.unequal), HasSubstr("data race")) << row.unequal;
    }
}

// --- mbarrier objects

TEST(EmulatorRaces, AnMbarrierIsUsedBehindItsInitialisation) {
    const std::string uses[] = {"@USER mbarrier.arrive.shared.b64 _, [bar];\n",
                                "W: @USER mbarrier.try_wait.parity.shared.b64 %p5, [bar], 0;\n@!%p5 bra W;\n",
                                "@USER mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;\n"};
    const auto with = [](std::string text, const std::string& who, const std::string& guard) {
        for (std::size_t at = text.find(who); at != std::string::npos; at = text.find(who))
            text.replace(at, who.size(), guard);
        return text;
    };
    for (const std::string& use : uses)
        for (const bool is_first : {false, true}) {
            // Warp 0 runs first; it makes the object or uses it.
            const std::string maker = is_first ? "%p3" : "%p4", user = is_first ? "%p4" : "%p3";
            const std::string init = with(
                "setp.ne.u32 %p5, %r1, %r1;\n@!USER setp.eq.u32 %p5, %r1, %r1;\n@MAKER "
                "mbarrier.init.shared.b64 [bar], 1;\n",
                "MAKER", maker);
            const std::string arrival =
                use.starts_with("W:") ? "@" + maker + " mbarrier.arrive.shared.b64 _, [bar];\n" : "";
            EXPECT_THAT(outcome(racing_kernel(with(init + arrival + use, "USER", user))),
                        HasSubstr("error: "))
                << use << is_first;
            EXPECT_EQ(outcome(racing_kernel(with(init + arrival + "bar.sync 0;\n" + use, "USER", user))), "")
                << use << is_first;
        }
}

// --- releases

// Thread 0 writes data and the flag; thread 32 waits for the flag to be 1 and sets it to 2; thread 64 waits
// for that and reads the data.
std::string handed_on(const std::string& hand_on) {
    return racing_kernel(
        "setp.eq.u32 %p5, %r1, 64;\n@!%p3 bra B;\nst.global.u32 [%rd1+256], 7;\nst.release.gpu.global.u32 "
        "[%rd1], 1;\nbra END;\n"
        "B: @!%p4 bra C;\nWAIT1: ld.relaxed.gpu.global.u32 %r4, [%rd1];\nsetp.ne.u32 %p6, %r4, 1;\n@%p6 bra "
        "WAIT1;\n" +
        hand_on +
        "\nbra END;\nC: @!%p5 bra END;\nWAIT2: ld.acquire.gpu.global.u32 %r4, [%rd1];\nsetp.ne.u32 %p6, %r4, "
        "2;\n@%p6 bra WAIT2;\n"
        "ld.global.u32 %r5, [%rd1+256];\nst.global.u32 [%rd1+512], %r5;\nEND:");
}

TEST(EmulatorRaces, APlainWriteEndsAReleaseSequence) {
    const LaunchConfig shape{.block = {96, 1, 1}};
    EXPECT_EQ(outcome(handed_on("atom.relaxed.gpu.global.exch.b32 %r4, [%rd1], 2;"), {}, shape), "");
    EXPECT_EQ(outcome(handed_on("red.relaxed.gpu.global.add.u32 [%rd1], 1;"), {}, shape), "");
    EXPECT_EQ(outcome(handed_on("fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1], 2;"), {}, shape), "");
    EXPECT_THAT(outcome(handed_on("st.relaxed.gpu.global.u32 [%rd1], 2;"), {}, shape),
                HasSubstr("data race"));
    EXPECT_THAT(outcome(handed_on("st.release.gpu.global.u32 [%rd1], 2;"), {}, shape),
                HasSubstr("data race"));
}

// From the first block of a cluster to the second one.
std::string across(const std::string& release, const std::string& acquire) {
    return racing_kernel(
        "setp.ne.u32 %p5, %r3, 0;\n@!%p3 bra END;\n@%p5 bra B;\nst.global.u32 [%rd1+256], 7;\n" + release +
        "\nbra END;\nB: " + acquire +
        "\nsetp.ne.u32 %p6, %r4, 1;\n@%p6 bra B;\nld.global.u32 %r5, [%rd1+256];\nst.global.u32 "
        "[%rd1+512], %r5;\nEND:");
}

TEST(EmulatorRaces, AReleaseReachesAsFarAsItsScope) {
    const LaunchConfig shape{.grid = {2, 1, 1}, .block = {32, 1, 1}, .cluster = {2, 1, 1}};
    struct Row {
        std::string release, acquire;
        bool is_ordered;
    };
    const std::string wide = "st.release.gpu.global.u32 [%rd1], 1;",
                      read = "ld.acquire.gpu.global.u32 %r4, [%rd1];";
    const Row rows[] = {
        {wide, read, true},
        {"st.release.cluster.global.u32 [%rd1], 1;", "ld.acquire.cluster.global.u32 %r4, [%rd1];", true},
        {"st.release.cta.global.u32 [%rd1], 1;", read, false},
        {wide, "ld.acquire.cta.global.u32 %r4, [%rd1];", false},
        {"fence.acq_rel.gpu;\nst.relaxed.gpu.global.u32 [%rd1], 1;", read, true},
        {"fence.acq_rel.cta;\nst.relaxed.gpu.global.u32 [%rd1], 1;", read, false}};
    for (const Row& row : rows) {
        const std::string said = outcome(across(row.release, row.acquire), {}, shape);
        if (row.is_ordered)
            EXPECT_EQ(said, "") << row.release << row.acquire;
        else
            EXPECT_THAT(said, HasSubstr("data race")) << row.release << row.acquire;
    }
}

// A thread of the second block arrives at the first one's mbarrier.
TEST(EmulatorRaces, AWaitReachesAsFarAsItsScope) {
    const LaunchConfig shape{.grid = {2, 1, 1}, .block = {1, 1, 1}, .cluster = {2, 1, 1}};
    const auto of = [&](const std::string& arrival, const std::string& wait, const std::string& fence) {
        return outcome(
            racing_kernel(
                "mov.u32 %r5, s;\nmov.u32 %r6, bar;\nsetp.eq.u32 %p5, %r3, 1;\n"
                "mbarrier.init.shared::cta.b64 [bar], 1;\nfence.mbarrier_init.release.cluster;\n"
                "barrier.cluster.arrive;\nbarrier.cluster.wait;\n@!%p5 bra WAIT;\n"
                "mapa.shared::cluster.u32 %r7, %r5, 0;\nst.shared::cluster.u32 [%r7], 42;\n"
                "mapa.shared::cluster.u32 %r8, %r6, 0;\nmbarrier.arrive" +
                arrival + ".shared::cluster.b64 _, [%r8];\nbra END;\nWAIT:\nmbarrier.try_wait.parity" + wait +
                ".shared::cta.b64 %p6, [bar], 0;\n@!%p6 bra WAIT;\n" + fence +
                "ld.shared.u32 %r9, [s];\nst.global.u32 [%rd1], %r9;\nEND:\nbarrier.cluster.arrive;\n"
                "barrier.cluster.wait;"),
            {}, shape);
    };
    const std::string release = ".release.cluster", relaxed = ".relaxed.cluster";
    EXPECT_EQ(of(release, ".acquire.cluster", ""), "");
    EXPECT_EQ(of(release, relaxed, "fence.acq_rel.cluster;\n"), "");
    EXPECT_EQ(of("", "", ""), "");                   // as public code has it
    EXPECT_EQ(of(release, ".acquire.cta", ""), "");  // as compilers spell a wait without a scope
    EXPECT_THAT(of(".release.cta", ".acquire.cluster", ""), HasSubstr("data race"));
    EXPECT_THAT(of(release, relaxed, "fence.acq_rel.cta;\n"), HasSubstr("data race"));
    EXPECT_THAT(of(relaxed, ".acquire.cluster", ""), HasSubstr("data race"));
}

// The last thread that has to do with an object ends it, as cuda::pipeline's destructor does; data may only
// stand there afterwards.
TEST(EmulatorRaces, AnMbarrierThatEndsIsNoRaceWithArrivals) {
    const std::string init = "@%p3 mbarrier.init.shared.b64 [bar], 2;\nbar.sync 0;\n",
                      arrive = "@%p2 mbarrier.arrive.shared.b64 _, [bar];\n",
                      wait =
                          "@%p4 bra END;\n@!%p3 bra "
                          "END;\nWAIT:\nmbarrier.test_wait.parity.relaxed.cta.shared.b64 %p6, [bar], "
                          "0;\n@!%p6 bra WAIT;\nmbarrier.inval.shared.b64 [bar];\n",
                      end = "END:\n";
    EXPECT_EQ(outcome(racing_kernel(init + arrive + wait + end)), "");
    EXPECT_THAT(outcome(racing_kernel(init + arrive + wait + "st.shared.b32 [bar], 7;\n" + end)),
                HasSubstr("data race"));
    EXPECT_THAT(outcome(racing_kernel(init + arrive + wait + "mbarrier.init.shared.b64 [bar], 1;\n" + end)),
                HasSubstr("data race"));
}

// --- atomic operations

// Threads count in shared or global memory, and one looks at the sum.
TEST(EmulatorRaces, AWeakReadBesideAtomicsIsOneUnlessACasFollows) {
    for (const std::string& space : {std::string("shared"), std::string("global")}) {
        const std::string at = space == "shared" ? "[s]" : "[%rd1+64]";
        const std::string zero = "@%p3 st." + space + ".u32 " + at + ", 0;\nbar.sync 0;\n";
        const std::string read = "ld." + space + ".u32 %r5, " + at + ";\n";
        for (const std::string& count : {"atom." + space + ".add.u32 %r4, " + at + ", 1;\n",
                                         "red." + space + ".max.u32 " + at + ", %r1;\n",
                                         "atom." + space + ".exch.b32 %r4, " + at + ", 5;\n"}) {
            EXPECT_EQ(outcome(racing_kernel(zero + count + "bar.sync 0;\n@%p3 " + read)), "") << count;
            EXPECT_THAT(outcome(racing_kernel(zero + count + "@%p3 " + read)), HasSubstr("data race"))
                << count;
            EXPECT_THAT(outcome(racing_kernel(zero + "@%p3 " + read + count)), HasSubstr("data race"))
                << count;
            EXPECT_THAT(outcome(racing_kernel(zero + count + "@%p4 " + read)), HasSubstr("data race"))
                << count;
        }
        const std::string loop = "ld." + space + ".u32 %r5, " + at +
                                 ";\nAGAIN:\nadd.u32 %r6, %r5, 3;\natom." + space + ".cas.b32 %r7, " + at +
                                 ", %r5, %r6;\nsetp.ne.u32 %p5, %r7, %r5;\nmov.u32 %r5, "
                                 "%r7;\n@%p5 bra AGAIN;\n";
        EXPECT_EQ(outcome(racing_kernel(zero + loop)), "") << loop;
    }
}

// --- bulk stores

TEST(EmulatorRaces, AnUnwaitedBulkStoreAtTheBlocksEnd) {
    const std::string store =
        "@%p1 st.shared.b32 [s], 1;\n@%p3 st.shared.v4.b32 [s+16], {1, 1, 1, 1};\nbar.sync "
        "0;\nfence.proxy.async.shared::cta;\n"
        "@%p3 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s+16], 16;\n";
    const std::string commit = "@%p3 cp.async.bulk.commit_group;\n", strict = "the block ends";
    const EmulatorOptions asks{.checks = EmulatorChecks::all().with(EmulatorCheck::unwaited_stores)};
    EXPECT_EQ(outcome(racing_kernel(store + commit + "@%p3 cp.async.bulk.wait_group 0;"), asks), "");
    EXPECT_EQ(outcome(racing_kernel(store + commit + "@%p3 cp.async.bulk.wait_group.read 0;"), asks), "");
    EXPECT_THAT(outcome(racing_kernel(store + commit), asks), HasSubstr(strict));
    EXPECT_THAT(outcome(racing_kernel(store + "@%p3 cp.async.bulk.wait_group 0;"), asks),
                HasSubstr(strict));  // in no group
    EXPECT_THAT(outcome(racing_kernel(store + commit + "@%p3 cp.async.bulk.wait_group 1;"), asks),
                HasSubstr(strict));
    EXPECT_THAT(outcome(racing_kernel(store + commit + "@%p4 cp.async.bulk.wait_group 0;"), asks),
                HasSubstr("warp 0, block (0, 0, 0), thread (0, 0, 0)"));
    EXPECT_EQ(outcome(racing_kernel(store + commit)), "");
}

// --- memory of any size

// Warp 0 writes 16 MB; warp 1 waits for it and reads the first word.
std::string long_walk(const std::string& release, const std::string& acquire) {
    return test::kernel_text(
        {.version = "8.6",
         .parameters = {"u64 x", "u64 flag"},
         .registers = {"pred %p<4>", "b32 %r<8>", "b64 %rd<8>"},
         .body = "ld.param.u64 %rd1, [x];\nld.param.u64 %rd2, [flag];\nmov.u32 %r1, %tid.x;\n"
                 "setp.ge.u32 %p1, %r1, 32;\n@%p1 bra WAIT;\nmul.wide.u32 %rd3, %r1, 4;\n"
                 "add.s64 %rd3, %rd1, %rd3;\nadd.s64 %rd4, %rd1, 16777216;\n"
                 "L: st.global.u32 [%rd3], %r1;\nadd.s64 %rd3, %rd3, 128;\nsetp.lt.u64 %p2, %rd3, %rd4;\n"
                 "@%p2 bra L;\nbar.warp.sync -1;\nsetp.ne.u32 %p2, %r1, 0;\n@%p2 bra END;\n" +
                 release + "\nbra END;\nWAIT: " + acquire +
                 "\nsetp.eq.u32 %p2, %r2, 0;\n@%p2 bra WAIT;\nld.global.u32 %r3, [%rd1];\nEND:"});
}

std::string run_long_walk(const std::string& text, const EmulatorOptions& options) {
    Machine machine(options);
    EXPECT_TRUE(machine.load(text));
    const u64 x = *machine.emulator.allocate(16u << 20), flag = machine.upload(std::vector<u32>(1));
    const auto done = machine.launch("k", {.block = {64, 1, 1}}, x, flag);
    return done ? "" : machine.text_of(done.error());
}

TEST(EmulatorRaces, AreFoundHoweverMuchWasAccessedBetween) {
    const std::string ordered =
        long_walk("st.release.gpu.global.u32 [%rd2], 1;", "ld.acquire.gpu.global.u32 %r2, [%rd2];");
    const std::string unordered =
        long_walk("st.relaxed.gpu.global.u32 [%rd2], 1;", "ld.relaxed.gpu.global.u32 %r2, [%rd2];");
    EXPECT_EQ(run_long_walk(ordered, {}), "");
    EXPECT_THAT(run_long_walk(unordered, {}), HasSubstr("data race"));
    // But what was accessed first is forgotten first where the shadow memory is to be small.
    EXPECT_EQ(run_long_walk(ordered, {.shadow_bytes = 1}), "");
    EXPECT_EQ(run_long_walk(unordered, {.shadow_bytes = 1}), "");
}

// --- what is said

TEST(EmulatorRaces, BothAccessesAreNamedWithTheirValues) {
    struct Row {
        std::string body;
        std::vector<std::string> says;
    };
    const Row rows[] = {
        {"@%p2 st.shared.u32 [s+8], %r1;",
         {"two accesses of shared memory at 0x8 (s + 8) are not ordered, and what they store differs",
          "first `@%p2 st.shared.u32 [s+8], %r1;` on line 19, a write by warp 0, block (0, 0, 0), thread (0, "
          "0, 0), which stored 0x00000000",
          "then `@%p2 st.shared.u32 [s+8], %r1;` on line 19, a write of 4 bytes by warp 1, block (0, 0, 0), "
          "thread (32, 0, 0), which stores "
          "0x00000020"}},
        // Lanes of one instruction: neither value is in memory yet.
        {"@%p3 st.shared.u32 [s], 99;\nbar.warp.sync -1;\n@%p1 st.shared.u32 [s], %r1;",
         {"on line 21, a write by warp 0, block (0, 0, 0), thread (0, 0, 0), which stored 0x00000000",
          "thread (1, 0, 0), which stores 0x00000001", "what they store differs"}},
        {"@%p3 st.shared.u32 [s], 5;\n@%p4 ld.shared.u32 %r5, [s];",
         {"on line 19, a write by warp 0, block (0, 0, 0), thread (0, 0, 0), which stored 0x00000005",
          "on line 20, a read of 4 bytes by warp 1, block (0, 0, 0), thread (32, 0, 0)"}},
        {"@%p1 ld.global.u32 %r5, [%rd1+64];\n@%p4 st.global.u32 [%rd1+64], 6;",
         {"two accesses of global memory", "(byte 64 of the 65536 bytes at",
          "on line 19, a read by warp 0, block (0, 0, 0), thread (0, 0, 0)",
          "on line 20, a write of 4 bytes by warp 1, block (0, 0, 0), thread (32, 0, 0), which stores "
          "0x00000006"}},
    };
    for (const Row& row : rows) {
        const std::string said = outcome(racing_kernel(row.body));
        for (const std::string& what : row.says) EXPECT_THAT(said, HasSubstr(what)) << row.body;
    }
    EXPECT_THAT(outcome(racing_kernel("@%p2 st.shared.u32 [s+8], 3;"),
                        {.checks = EmulatorChecks::all().with(EmulatorCheck::equal_stores)}),
                HasSubstr("though what they store is the same"));
}

}  // namespace
}  // namespace ptxgraft
