// wgmma, cp.async and bulk copies, which run beside the kernel: what is right to do before they are waited
// for, what their errors say, and waits without end. Kernels with one mistake each are in tests/cases/checks.
#include <gmock/gmock.h>

#include <algorithm>
#include <string>
#include <vector>

#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using u32 = std::uint32_t;
using u64 = std::uint64_t;

constexpr u32 copying_threads = 128, words_of_input = 4096;

// %r1: %tid.x; %p1: thread 0; %r20: the address of the thread's word in tile, %r21: of tile; %rd1: 4096
// words, %rd6: the thread's 16 bytes of them. The accumulators %f1 to %f16 and %r4 to %r7 are zero. Leaves
// its result in %f20.
std::string copying_kernel(const std::string& body) {
    std::string zeros;
    for (int i = 1; i <= 20; ++i) zeros += "mov.f32 %f" + std::to_string(i) + ", 0f00000000;\n";
    for (int i = 4; i <= 15; ++i) zeros += "mov.b32 %r" + std::to_string(i) + ", 0;\n";
    return test::kernel_text(
        {.target = "sm_90a",
         .parameters = {"u64 data"},
         .registers = {"pred %p<8>", "b32 %r<64>", "b64 %rd<32>", "f32 %f<32>"},
         .body = ".shared .align 1024 .b8 tile[16384];\n.shared .align 8 .b64 gate[8];\n"
                 "ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nsetp.eq.u32 %p1, %r1, 0;\n"
                 "shl.b32 %r20, %r1, 2;\nmov.u32 %r21, tile;\nadd.u32 %r20, %r20, %r21;\n"
                 "mul.wide.u32 %rd6, %r1, 16;\nadd.s64 %rd6, %rd1, %rd6;\n" +
                 zeros + body +
                 "\nDONE:\nbar.sync 0;\nmul.wide.u32 %rd14, %r1, 4;\nadd.s64 %rd14, %rd1, %rd14;\n"
                 "st.global.f32 [%rd14+8192], %f20;"});
}

// The descriptor of what stands `offset` bytes behind tile: 8x8 matrices of 128 bytes, without swizzling.
std::string descriptor(const std::string& reg, int offset) {
    return "add.u32 %r30, %r21, " + std::to_string(offset) + ";\nshr.u32 %r30, %r30, 4;\ncvt.u64.u32 " + reg +
           ", %r30;\nor.b64 " + reg + ", " + reg + ", 0x1000080000;\n";
}

// The threads write the first 8192 bytes of tile; A and B of two stages lie there.
const std::string fill =
    "mov.u32 %r31, 0;\nsetp.lt.u32 %p5, %r1, 128;\nFILL:\nshl.b32 %r32, %r31, 9;\nadd.u32 %r32, %r32, "
    "%r20;\n@%p5 st.shared.b32 [%r32], %r1;\nadd.u32 %r31, %r31, 1;\nsetp.lt.u32 %p7, %r31, 16;\n@%p7 bra "
    "FILL;\n";
const std::string descriptors =
    descriptor("%rd2", 0) + descriptor("%rd3", 2048) + descriptor("%rd4", 4096) + descriptor("%rd5", 6144);
const std::string fence_proxy = "fence.proxy.async.shared::cta;\n", sync = "bar.sync 0;\n";
const std::string ready = fill + fence_proxy + sync + descriptors;

const std::string fence = "wgmma.fence.sync.aligned;\n", commit = "wgmma.commit_group.sync.aligned;\n",
                  wait0 = "wgmma.wait_group.sync.aligned 0;\n", wait1 = "wgmma.wait_group.sync.aligned 1;\n";
const std::string tile_product =
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd2, %rd3, 1, 1, 1, 0, 0;";
const std::string wider =
    "wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4, %f9, %f10, %f11, %f12}, %rd2, "
    "%rd3, 1, 1, 1, 0, 0;";

// Of the copies that %r22 points to.
std::string read(int stage) { return "ld.shared.f32 %f20, [%r22+" + std::to_string(2048 * stage) + "];"; }
const std::string group = "cp.async.commit_group;\n";

const std::string gates =
    "@%p1 mbarrier.init.shared.b64 [gate], 1;\n@%p1 mbarrier.init.shared.b64 [gate+8], 1;\n@%p1 "
    "mbarrier.init.shared.b64 [gate+16], 128;\n" +
    sync;
std::string wait_for(int gate, int parity, const std::string& label) {
    return label + ": mbarrier.try_wait.parity.shared.b64 %p6, [gate+" + std::to_string(8 * gate) + "], " +
           std::to_string(parity) + ";\n@!%p6 bra " + label + ";\n";
}
std::string store(int stage) {
    return "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1+" + std::to_string(12288 + 2048 * stage) +
           "], [tile+" + std::to_string(2048 * stage) + "], 2048;\n";
}
const std::string bulk_group = "@%p1 cp.async.bulk.commit_group;\n";

// A warp that loads three tiles into one stage, one after the other, and a warpgroup that multiplies them.
std::string specialised(const std::string& consume, const std::string& produce) {
    return ready + gates +
           "setp.eq.u32 %p2, %r1, 128;\nsetp.ge.u32 %p3, %r1, 128;\nmov.u32 %r40, 0;\nmov.u32 %r41, 0;\n@%p3 "
           "bra PRODUCE;\nCONSUME:\n" +
           consume +
           "\nxor.b32 %r41, %r41, 1;\nadd.u32 %r40, %r40, 1;\nsetp.lt.u32 %p4, %r40, 3;\n@%p4 bra "
           "CONSUME;\n" +
           wait0 + "bra DONE;\nPRODUCE:\n@!%p2 bra DONE;\nMORE:\n" + produce +
           "\nxor.b32 %r41, %r41, 1;\nadd.u32 %r40, %r40, 1;\nsetp.lt.u32 %p4, %r40, 3;\n@%p4 bra MORE;\n";
}
const std::string
    full = "FULL: mbarrier.try_wait.parity.shared.b64 %p6, [gate], %r41;\n@!%p6 bra FULL;\n",
    empty =
        "xor.b32 %r42, %r41, 1;\nEMPTY: mbarrier.try_wait.parity.shared.b64 %p6, [gate+8], %r42;\n@!%p6 bra "
        "EMPTY;\n",
    bulk = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%rd1], 4096, [gate];",
    promise = "mbarrier.arrive.expect_tx.shared.b64 _, [gate], 4096;\n", refill = promise + bulk,
    free_stage = "@%p1 mbarrier.arrive.shared.b64 _, [gate+8];";

std::size_t line_at(const std::string& text, std::size_t at) {
    return static_cast<std::size_t>(
               std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n')) +
           1;
}

Expected<EmulatorStats> run_copies(Machine& machine, const std::string& text, u32 block) {
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << describe(loaded.error(), text);
    if (!loaded) return tl::unexpected(loaded.error());
    return machine.launch("k", {.block = {block, 1, 1}},
                          machine.upload(std::vector<u32>(words_of_input, 0x3F800000)));
}

// The error's line is the wanted one, or names it as the other of two accesses.
void expect_named(Machine& machine, const Error& error, const std::string& text, std::size_t line) {
    ASSERT_TRUE(error.span.known()) << machine.text_of(error);
    if (error.code == Errc::data_race && line_at(text, error.span.begin) != line) {
        EXPECT_THAT(machine.text_of(error),
                    testing::ContainsRegex("on line " + std::to_string(line) + "[ ,]"))
            << text;
    } else {
        EXPECT_EQ(line_at(text, error.span.begin), line) << machine.text_of(error) << text;
    }
}

// A box that is smaller than the tile: the rows and columns that it leaves out are multiplied, and nobody
// stores them.
TEST(EmulatorAsync, RowsAndColumnsThatNothingWroteMayGoUnused) {
    const std::string rows =
        ready + descriptor("%rd2", 7936) + fence + tile_product + "\n" + tile_product + "\n" + commit +
        wait0 + "setp.lt.u32 %p2, %r1, 32;\n@%p2 mov.f32 %f20, %f1;\n@%p2 add.f32 %f20, %f20, %f2;\n";
    const std::string columns = ready + descriptor("%rd3", 7936) + fence + wider + "\n" + commit + wait0 +
                                "add.f32 %f20, %f1, %f4;\n";
    for (const std::string& body : {rows, columns}) {
        Machine machine;
        EXPECT_RUNS(machine, run_copies(machine, copying_kernel(body), copying_threads));
    }
}

// As nvcc does, and as ptxas takes without waiting for it: %f1 to %f4 are of one group, %f5 to %f8 of the
// next.
TEST(EmulatorAsync, CopiesBeforeTheWaitHaveTheirValuesBehindIt) {
    const std::string ones =
        "mov.u32 %r41, 0x3F803F80;\nst.shared.b32 [%r20], %r41;\nst.shared.b32 [%r20+512], "
        "%r41;\nst.shared.b32 [%r20+1024], %r41;\n"
        "st.shared.b32 [%r20+1536], %r41;\nst.shared.b32 [%r20+2048], %r41;\n" +
        fence_proxy + sync;
    const std::string both = descriptors + ones + fence + tile_product + "\n" + commit +
                             "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f5, %f6, %f7, %f8}, "
                             "%rd2, %rd3, 1, 1, 1, 0, 0;\n" +
                             commit;
    struct Row {
        std::string copies, uses;
        float wanted;
    };
    const Row rows[] = {
        {"mov.b32 %r40, %f1;\n", wait1 + "mov.b32 %f20, %r40;\n" + wait0, 16},
        {"mov.b32 %r40, %f5;\nmov.b32 %r40, %f2;\n",
         wait1 + "mov.b32 %f20, %r40;\nadd.f32 %f20, %f20, %f20;\n" + wait0, 32},
        {"mov.b32 %r40, %f5;\nmov.b32 %r42, 7;\nmov.b32 %r40, %r42;\ncvt.rn.f32.u32 %f20, %r40;\n", wait0, 7},
        {"mov.b64 %rd10, {%f1, %f6};\n",
         wait0 + "mov.b64 {%f21, %f22}, %rd10;\nfma.rn.f32 %f20, %f21, %f22, %f3;\n", 272},
        {"mov.b32 %r40, %f1;\nmov.b32 %r42, %r40;\n",
         wait0 + fence + tile_product + "\n" + commit + wait0 +
             "mov.b32 %f21, %r42;\nadd.f32 %f20, %f21, %f1;\n",
         48}};
    for (const Row& row : rows) {
        SCOPED_TRACE(row.copies + row.uses);
        const std::string text = copying_kernel(both + row.copies + row.uses);
        if (const Assembler* assembler = nvptxcompiler()) {
            const auto cubin = assembler->assemble(text, {.target = "sm_90a"});
            // for a copy that outlives the accumulator's value
            const bool waits_by_itself = &row == std::end(rows) - 1;
            EXPECT_TRUE(waits_by_itself ? !cubin && cubin.error().code == Errc::performance_loss
                                        : cubin.has_value())
                << text;
        }
        Machine machine;
        ASSERT_TRUE(machine.load(text));
        const u64 data = machine.upload(std::vector<u32>(words_of_input, 0));
        EXPECT_RUNS(machine, machine.launch("k", {.block = {copying_threads, 1, 1}}, data));
        EXPECT_THAT(machine.download<float>(data + 8192, copying_threads), testing::Each(row.wanted));
    }
}

TEST(EmulatorAsync, OnlyAMovCopiesBeforeTheWait) {
    for (const char* const use :
         {"add.f32 %f20, %f1, %f1;", "cvt.rzi.s32.f32 %r40, %f1;",
          "mov.b32 %r41, %f2;\nselp.b32 %r40, %r41, 0, %p1;",
          "mov.b32 %r41, %f2;\nprmt.b32 %r40, %r41, 0, 0x3210;", "mov.b32 %r41, %f2;\nshl.b32 %r40, %r41, 0;",
          "mov.b32 %r41, %f2;\ncvt.u64.u32 %rd10, %r41;", "setp.gt.f32 %p2, %f3, 0f00000000;",
          "mov.b32 %r41, %f2;\nshfl.sync.idx.b32 %r40, %r41, 0, 31, -1;", "st.shared.f32 [%r20+8192], %f4;",
          "@%p1 mov.b32 %r41, %f2;"}) {
        Machine machine;
        const auto early = run_copies(
            machine, copying_kernel(ready + fence + tile_product + "\n" + commit + use + "\n" + wait0),
            copying_threads);
        ASSERT_FALSE(early) << use;
        EXPECT_EQ(early.error().code, Errc::register_in_flight) << use;
        EXPECT_RUNS(machine, run_copies(machine,
                                        copying_kernel(ready + fence + tile_product + "\n" + commit + wait0 +
                                                       "mov.b32 %r41, 0;\n" + use + "\n"),
                                        copying_threads));
    }
}

// Which mov, which wgmma, and what became of it.
TEST(EmulatorAsync, ACopyNamesWhereItComesFrom) {
    const std::string copied = ready + fence + tile_product + "\n" + commit + "mov.f32 %f21, %f4;\n";
    const auto says = [&](const std::string& body) {
        Machine machine;
        const std::string text = copying_kernel(body);
        const auto done = run_copies(machine, text, copying_threads);
        EXPECT_FALSE(done);
        const auto line = [&](const char* what, std::size_t from) {
            return std::to_string(line_at(text, std::min(text.find(what, from), text.size())));
        };
        const std::size_t first = text.find("wgmma.mma_async");
        const std::string made = "read of %f21, which line " + line("mov.f32 %f21, %f4", 0) +
                                 " copied from an accumulator of the wgmma.mma_async on line " +
                                 line("wgmma.mma_async", 0);
        return std::tuple(message(done.error(), text), made, line("wgmma.mma_async", first + 1));
    };
    const auto [early, made, none] = says(copied + "add.f32 %f20, %f21, %f21;\n" + wait0);
    EXPECT_THAT(early, testing::HasSubstr(made + ", for whose group no wgmma.wait_group has waited"));
    const auto [late, made_too, other] =
        says(copied + fence + tile_product + "\n" + commit + wait0 + "add.f32 %f20, %f21, %f21;\n");
    EXPECT_THAT(late,
                testing::HasSubstr(made_too +
                                   " before a wgmma.wait_group, and with which the wgmma.mma_async on line " +
                                   other + " has gone on"));
}

// A product that does not add to its accumulators gives them all their values.
TEST(EmulatorAsync, AProductThatOverwritesIsDefined) {
    const std::string overwrites =
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd4, %rd5, 0, 1, 1, 0, "
        "0;\n";
    Machine machine;
    EXPECT_RUNS(machine, run_copies(machine,
                                    copying_kernel(ready + descriptor("%rd2", 12288) + fence + tile_product +
                                                   "\n" + overwrites + commit + wait0 + "mov.f32 %f20, %f1;"),
                                    copying_threads));
}

// Warp 3 leaves before, or behind, the fence.
TEST(EmulatorAsync, AWarpgroupWaitsForAllOfItsWarps) {
    struct Row {
        std::string body, waits, says;
    };
    const std::string leave = "setp.ge.u32 %p2, %r1, 96;\n@%p2 bra DONE;\n",
                      rest = tile_product + "\n" + commit + wait0;
    const Row rows[] = {{ready + leave + fence + rest, fence, "never come to this wgmma.fence"},
                        {ready + fence + leave + rest, wait0, "never commit wgmma-group 1"}};
    for (const Row& row : rows)
        for (const bool fast : {false, true}) {
            Machine machine({.fast = fast});
            const std::string text = copying_kernel(row.body);
            const auto done = run_copies(machine, text, copying_threads);
            ASSERT_FALSE(done);
            EXPECT_EQ(done.error().code, Errc::barrier_deadlock);
            EXPECT_EQ(line_at(text, done.error().span.begin), line_at(text, text.find(row.waits)));
            EXPECT_THAT(machine.text_of(done.error()), testing::HasSubstr(row.says));
        }
}

// Lane 0 waits for what thread 128 says, which waits for thread 160, and asks again and again; the other
// lanes of its warp go ahead to the product.
TEST(EmulatorAsync, AProductGathersLanesThatRanInTurn) {
    const std::string lap = "xor.b32 %r41, %r41, 1;\nadd.u32 %r40, %r40, 1;\nsetp.lt.u32 %p4, %r40, 100;\n";
    const auto wait_at = [](int gate, const std::string& label) {
        return label + ": mbarrier.try_wait.parity.shared.b64 %p6, [gate+" + std::to_string(8 * gate) +
               "], %r41;\n@!%p6 bra " + label + ";\n";
    };
    const auto arrive_at = [](int gate) {
        return "mbarrier.arrive.shared.b64 _, [gate+" + std::to_string(8 * gate) + "];\n";
    };
    const std::string text = copying_kernel(
        ready + "@%p1 mbarrier.init.shared.b64 [gate+24], 1;\n" + gates +
        "mov.u32 %r40, 0;\nmov.u32 %r41, 0;\nsetp.eq.u32 %p2, %r1, 128;\n@%p2 bra SAY;\nsetp.eq.u32 %p2, "
        "%r1, 160;\n@%p2 bra "
        "ASK;\nsetp.ge.u32 %p2, %r1, 128;\n@%p2 bra DONE;\n" +
        fence + "MULTIPLY:\n@!%p1 bra GO;\n" + wait_at(0, "FULL") + "GO:\n" + tile_product + "\n" + commit +
        wait0 + "@%p1 " + arrive_at(1) + lap + "@%p4 bra MULTIPLY;\nbra DONE;\nSAY:\n" + wait_at(3, "ASKED") +
        arrive_at(0) + wait_at(1, "EMPTY") + lap + "@%p4 bra SAY;\nbra DONE;\nASK:\n" + arrive_at(3) +
        wait_at(1, "AGAIN") + lap + "@%p4 bra ASK;\n");
    for (const bool fast : {false, true}) {
        Machine machine({.instruction_budget = 1u << 22, .fast = fast});
        EXPECT_RUNS(machine, run_copies(machine, text, 192));
    }
}

// The threads of each warp write a part of B late, one warp later than the other; every warp multiplies all
// of B, and no barrier but the wgmma.fence comes between.
TEST(EmulatorAsync, AWgmmaFenceShowsWhatAllWarpsWrote) {
    const std::string late =
        "shr.u32 %r40, %r1, 5;\nmul.lo.u32 %r40, %r40, 1000;\nLATE:\nsub.u32 %r40, %r40, 1;\nsetp.gt.s32 "
        "%p2, %r40, 0;\n@%p2 bra "
        "LATE;\n";
    const std::string ones = "mov.u32 %r41, 0x3F803F80;\nst.shared.b32 [%r20], %r41;\n",
                      more = "st.shared.b32 [%r20+2048], %r41;\n";
    const std::string text = copying_kernel(descriptors + ones +
                                            "st.shared.b32 [%r20+512], %r41;\nst.shared.b32 [%r20+1024], "
                                            "%r41;\nst.shared.b32 [%r20+1536], %r41;\n" +
                                            late + more + fence_proxy + fence + tile_product + "\n" + commit +
                                            wait0 + "mov.f32 %f20, %f1;");
    for (const bool fast : {false, true}) {
        Machine machine({.fast = fast});
        ASSERT_TRUE(machine.load(text));
        const u64 data = machine.upload(std::vector<u32>(words_of_input, 0));
        EXPECT_RUNS(machine, machine.launch("k", {.block = {copying_threads, 1, 1}}, data));
        for (const float sum : machine.download<float>(data + 8192, copying_threads)) EXPECT_EQ(sum, 16);
    }
}

TEST(EmulatorAsync, AWarpgroupMultipliesWithAllOfItsWarps) {
    const std::string body = ready + "setp.ge.u32 %p2, %r1, 64;\n" + fence + "@%p2 bra OVER;\n" +
                             tile_product + "\nOVER:\n" + commit + wait0;
    Machine machine;
    const std::string text = copying_kernel(body);
    const auto done = run_copies(machine, text, copying_threads);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::warp_not_whole);
    EXPECT_EQ(line_at(text, done.error().span.begin), line_at(text, text.find(wait0)));
    EXPECT_THAT(machine.text_of(done.error()), testing::HasSubstr("up to this group the warp has executed"));
}

TEST(EmulatorAsync, HalfAWarpDoesNothingForItsWarpgroup) {
    for (const std::string& instruction :
         {fence, commit, std::string("setmaxnreg.dec.sync.aligned.u32 40;\n")}) {
        const std::string text =
            copying_kernel(ready + fence + tile_product +
                           "\nand.b32 %r40, %r1, 16;\nsetp.eq.u32 %p2, %r40, 0;\n@%p2 bra OVER;\n" +
                           instruction + "OVER:\n" + commit + wait0);
        Machine machine;
        const auto done = run_copies(machine, text, copying_threads);
        ASSERT_FALSE(done) << text;
        EXPECT_EQ(done.error().code, Errc::warp_not_whole);
        EXPECT_THAT(machine.text_of(done.error()),
                    testing::HasSubstr("executed by the lanes 0xffff0000, and the others are elsewhere"));
    }
}

void expect_race_at(const std::string& body, const std::string& access, u32 block) {
    Machine machine({.instruction_budget = 1u << 20});
    const std::string text = copying_kernel(body);
    const auto done = run_copies(machine, text, block);
    ASSERT_FALSE(done) << text;
    EXPECT_EQ(done.error().code, Errc::data_race);
    expect_named(machine, done.error(), text, line_at(text, text.find(access)));
}

// All lanes of a warp have come to a product when one of them goes on: it says for all that what they read
// before is read.
TEST(EmulatorAsync, LanesThatMultiplyHaveReadWhatTheyReadBefore) {
    const std::string access = "ld.shared.f32 %f20, [%r20];\n",
                      multiply = fence + tile_product + "\n" + commit + wait0,
                      freed =
                          "and.b32 %r43, %r1, 31;\nsetp.eq.u32 %p7, %r43, 0;\n@%p7 "
                          "mbarrier.arrive.shared.b64 _, [gate+24];",
                      free_again =
                          "xor.b32 %r42, %r41, 1;\nEMPTY: mbarrier.try_wait.parity.shared.b64 %p6, "
                          "[gate+24], %r42;\n@!%p6 bra EMPTY;\n";
    const auto body = [&](const std::string& consume) {
        return "@%p1 mbarrier.init.shared.b64 [gate+24], 4;\n" +
               specialised(full + consume + freed, free_again + refill);
    };
    Machine machine({.instruction_budget = 1u << 20});
    EXPECT_RUNS(machine, run_copies(machine, copying_kernel(body(access + multiply)), 160));
    expect_race_at(body(multiply + access), access, 160);
}

TEST(EmulatorAsync, LanesThatShuffleHaveReadWhatTheyReadBefore) {
    const std::string shuffle = "shfl.sync.idx.b32 %r30, %r1, 0, 31, 0xffffffff;\n",
                      store = "st.shared.b32 [%r20], %r1;\n",
                      other = "xor.b32 %r22, %r20, 4;\nld.shared.f32 %f20, [%r22];\n",
                      written = store + "bar.sync 0;\n";
    Machine machine({.instruction_budget = 1u << 20});
    EXPECT_RUNS(machine,
                run_copies(machine, copying_kernel(written + other + shuffle + store), copying_threads));
    expect_race_at(store + shuffle + other, "ld.shared.f32 %f20, [%r22]", copying_threads);
}

// One lane waits for other warps and tells its own by a shuffle, as groups of several warps do.
TEST(EmulatorAsync, AShuffleTellsWhatOneLaneHasWaitedFor) {
    const std::string body =
        "st.shared.b32 [%r20+1024], 0;\nbar.sync 0;\nand.b32 %r22, %r1, 31;\nsetp.eq.u32 %p2, %r22, "
        "0;\nsetp.lt.u32 %p3, %r1, 32;\n"
        "@%p3 bra WRITE;\nMORE:\nmov.b32 %r23, 0;\n@%p2 ld.acquire.cta.shared.b32 %r23, [tile+1024];\n"
        "shfl.sync.idx.b32 %r23, %r23, 0, 31, 0xffffffff;\nsetp.eq.u32 %p4, %r23, 0;\n@%p4 bra MORE;\n"
        "and.b32 %r24, %r20, 127;\nadd.u32 %r24, %r24, %r21;\nld.shared.f32 %f20, [%r24];\nbra "
        "DONE;\nWRITE:\n"
        "st.shared.b32 [%r20], %r1;\nbar.warp.sync -1;\n@%p2 st.release.cta.shared.b32 [tile+1024], 1;\n";
    for (const bool fast : {false, true}) {
        Machine machine({.instruction_budget = 1u << 20, .fast = fast});
        EXPECT_RUNS(machine, run_copies(machine, copying_kernel(body), copying_threads));
    }
}

TEST(EmulatorAsync, APhaseThatNobodyCompletesIsADeadlock) {
    const std::string wait = wait_for(2, 0, "W"), arrive = "@!%p1 mbarrier.arrive.shared.b64 _, [gate+16];\n";
    for (const bool fast : {false, true}) {
        Machine machine({.fast = fast});
        const std::string text = copying_kernel(gates + arrive + wait);
        const auto done = run_copies(machine, text, copying_threads);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::barrier_deadlock);
        EXPECT_EQ(line_at(text, done.error().span.begin), line_at(text, text.find("W: mbarrier.try_wait")));
        EXPECT_RUNS(machine,
                    run_copies(machine,
                               copying_kernel(gates + arrive +
                                              "@%p1 mbarrier.arrive.shared.b64 _, [gate+16];\n" + wait),
                               copying_threads));
    }
}

TEST(EmulatorAsync, LanesThatWaitAtSeveralPlacesAreADeadlockToo) {
    const std::string split = "and.b32 %r22, %r1, 31;\nsetp.eq.u32 %p2, %r22, 5;\n",
                      apart = split + "@%p2 bra ALONE;\n" + wait_for(2, 0, "W") + "bra DONE;\nALONE:\n" +
                              wait_for(2, 0, "V");
    const std::string arrive = "@!%p1 mbarrier.arrive.shared.b64 _, [gate+16];\n";
    for (const bool fast : {false, true}) {
        Machine machine({.fast = fast});
        const std::string text = copying_kernel(gates + arrive + apart);
        const auto done = run_copies(machine, text, copying_threads);
        ASSERT_FALSE(done);
        EXPECT_EQ(done.error().code, Errc::barrier_deadlock);
        EXPECT_TRUE(text.substr(done.error().span.begin).starts_with("mbarrier.try_wait"))
            << describe(done.error(), text);
        EXPECT_RUNS(machine,
                    run_copies(machine,
                               copying_kernel(gates + arrive +
                                              "@%p1 mbarrier.arrive.shared.b64 _, [gate+16];\n" + apart),
                               copying_threads));
    }
}

TEST(EmulatorAsync, AThreadClearsAStageTwice) {
    const std::string place = "mad.lo.u32 %r22, %r1, 16, %r21;\n",
                      clear = "cp.async.cg.shared.global [%r22], [%rd6], 16, 0;\n",
                      fill_it = "cp.async.cg.shared.global [%r22], [%rd6], 16, 16;\n",
                      end = "cp.async.wait_all;\n" + read(0);
    Machine machine({.instruction_budget = 1u << 20});
    EXPECT_RUNS(machine, run_copies(machine, copying_kernel(place + clear + clear + end), copying_threads));
    expect_race_at(place + clear + fill_it + end, fill_it, copying_threads);
    expect_race_at(place + fill_it + clear + end, clear, copying_threads);
}

// As the epilogues of CUTLASS do: no thread is elected, and the copies of the lanes are one copy.
TEST(EmulatorAsync, AWholeWarpIssuesOneStore) {
    const std::string store_all =
        "setp.lt.u32 %p2, %r1, 32;\n@%p2 cp.async.bulk.global.shared::cta.bulk_group [%rd1+12288], [%r40], "
        "2048;\n@%p2 cp.async.bulk.commit_group;\n@%p2 cp.async.bulk.wait_group 0;\n";
    const std::string same = ready + "mov.u32 %r40, %r21;\n" + store_all,
                      different = ready + "shl.b32 %r40, %r1, 4;\nadd.u32 %r40, %r40, %r21;\n" + store_all;
    Machine machine({.instruction_budget = 1u << 20});
    EXPECT_RUNS(machine, run_copies(machine, copying_kernel(same), copying_threads));
    const std::string text = copying_kernel(different);
    const auto done = run_copies(machine, text, copying_threads);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::data_race);
    EXPECT_EQ(line_at(text, done.error().span.begin), line_at(text, text.find("@%p2 cp.async.bulk.global")));
}

// Kernels end behind their last store: a block's shared memory is there until its copies have been made.
TEST(EmulatorAsync, ABlockMayEndBeforeItsStores) {
    for (const std::string& body :
         {ready + store(0) + bulk_group, ready + store(0) + bulk_group + store(1), ready + store(0)}) {
        Machine machine({.instruction_budget = 1u << 20});
        EXPECT_RUNS(machine, run_copies(machine, copying_kernel(body), copying_threads));
    }
}

// One thread says that a stage is free when its own warp has waited: the others have read it by then.
TEST(EmulatorAsync, AStageThatOneThreadFreesHasBeenReadByAllWarps) {
    std::string refill_next = refill;
    refill_next.replace(refill_next.find("[%rd1]"), 6, "[%rd7]");
    const std::string body =
        "mov.u64 %rd7, %rd1;\n" +
        specialised(full + fence + tile_product + "\n" + commit + wait0 + free_stage + "\nmov.f32 %f20, %f1;",
                    empty + refill_next + "\nadd.s64 %rd7, %rd7, 4096;");
    std::vector<u32> tiles(words_of_input);
    for (std::size_t i = 0; i < 3 * 1024; ++i)
        tiles[i] = i < 1024 ? 0x3F803F80 : i < 2048 ? 0x40004000 : 0x40404040;  // 1, 2, 3
    for (const bool fast : {false, true}) {
        Machine machine({.instruction_budget = 1u << 20, .fast = fast});
        ASSERT_TRUE(machine.load(copying_kernel(body)));
        const u64 data = machine.upload(tiles);
        EXPECT_RUNS(machine, machine.launch("k", {.block = {160, 1, 1}}, data));
        EXPECT_THAT(machine.download<float>(data + 8192, copying_threads),
                    testing::Each(16 * (1.0f + 4.0f + 9.0f)));
    }
}

}  // namespace
}  // namespace ptxgraft
