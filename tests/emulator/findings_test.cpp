// What a launch lists that keeps going: each mistake once, with how often it happened, in an order that does
// not depend on host threads; which checks are on; what is excused.
#include <gmock/gmock.h>

#include <string>
#include <vector>

#include "ptxgraft/device.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// %r1: %tid.x, %r2: %ctaid.x, %rd1: 4096 words that are zero, %r20: the thread's word in box, %rd2: in the
// words. Blocks of 64 threads.
std::string faulty_kernel(const std::string& body, const std::string& declarations = "") {
    return test::kernel_text(
        {.declarations = declarations,
         .parameters = {"u64 data"},
         .registers = {"pred %p<8>", "b32 %r<40>", "b64 %rd<16>"},
         .body = ".shared .align 8 .b32 box[128];\nld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\n"
                 "mov.u32 %r2, %ctaid.x;\nshl.b32 %r20, %r1, 2;\nmov.u32 %r21, box;\n"
                 "add.u32 %r20, %r20, %r21;\nmad.lo.u32 %r22, %r2, 64, %r1;\n"
                 "mul.wide.u32 %rd2, %r22, 4;\nadd.s64 %rd2, %rd1, %rd2;\n" +
                 body});
}
u32 line_of(const std::string& text, std::string_view what) {
    return position(text, static_cast<u32>(text.find(what))).line;
}

struct Outcome {
    Expected<EmulatorStats> done;
    EmulatorReport report;
    std::vector<u32> words;
    std::string text;

    [[nodiscard]] std::vector<u32> lines() const {
        std::vector<u32> all;
        for (const EmulatorFinding& finding : report.findings)
            all.push_back(position(text, finding.error.span.begin).line);
        return all;
    }
    [[nodiscard]] std::string told(std::size_t i) const {
        return describe(report.findings.at(i).error, text);
    }
};

Outcome run(const EmulatorOptions& options, const std::string& text, u32 blocks = 1) {
    Machine machine(options);
    const auto loaded = machine.load(text);
    EXPECT_TRUE(loaded) << describe(loaded.error(), text);
    const u64 data = machine.upload(std::vector<u32>(4096));
    Outcome result;
    result.done = machine.launch("k", {.grid = {blocks, 1, 1}, .block = {64, 1, 1}}, data);
    result.report = machine.emulator.take_report();
    result.words = machine.download<u32>(data, 4096);
    result.text = text;
    return result;
}

// Three mistakes: a race of two warps, a word that nothing wrote, a register that nothing wrote.
const std::string three = faulty_kernel(
    "st.shared.u32 [%r20], 0;\nbar.sync 0;\nst.shared.u32 [%r20], %r1;\nxor.b32 %r23, %r20, "
    "128;\nld.shared.u32 %r5, [%r23];\n"
    "ld.shared.u32 %r7, [%r20+256];\nadd.u32 %r8, %r7, %r5;\nadd.u32 %r3, %r30, 1;\nst.global.u32 [%rd2], "
    "%r8;\nst.global.u32 [%rd2+8192], %r3;");

TEST(EmulatorFindings, AreListedInOrderAndCounted) {
    const Outcome all = run({.keep_going = 10}, three, 3);
    ASSERT_TRUE(all.done) << describe(all.done.error(), three);
    EXPECT_THAT(all.lines(), ElementsAre(line_of(three, "ld.shared.u32 %r7"), line_of(three, "add.u32 %r3"),
                                         line_of(three, "st.shared.u32 [%r20], %r1"),
                                         line_of(three, "ld.shared.u32 %r5")));
    EXPECT_EQ(all.done->findings,
              4u);  // one warp writes what the other has read, and reads what it has written
    EXPECT_EQ(all.report.all_findings, 4u);
    EXPECT_EQ(all.report.findings[0].check, EmulatorCheck::unwritten);
    EXPECT_EQ(all.report.findings[0].threads, 3u * 64);
    const EmulatorFinding& race = all.report.findings[2];
    EXPECT_EQ(race.check, EmulatorCheck::races);
    EXPECT_EQ(race.blocks, 3u);
    EXPECT_EQ(race.threads, 3u * 32);
    EXPECT_THAT(all.told(0), HasSubstr("block (0, 0, 0), thread ("));
    for (u32 i = 0; i < 192; ++i) {
        EXPECT_EQ(all.words[i], i % 64 < 32 ? i % 64 + 32 : 0)
            << i;                                 // the last one that came to the barrier goes on first
        EXPECT_EQ(all.words[2048 + i], 1u) << i;  // registers begin with zeros here
    }
}

TEST(EmulatorFindings, EndALaunchThatDoesNotKeepGoing) {
    const Outcome first = run({}, three, 3);
    ASSERT_FALSE(first.done);
    EXPECT_EQ(first.done.error().code, Errc::memory_not_written);
    EXPECT_TRUE(first.report.findings.empty());
}

TEST(EmulatorFindings, AreNoMoreThanAskedFor) {
    const Outcome two = run({.keep_going = 2}, three, 3);
    ASSERT_TRUE(two.done);
    EXPECT_EQ(two.report.findings.size(), 2u);
    EXPECT_EQ(two.report.all_findings, 4u);
    EXPECT_EQ(two.done->findings, 4u);
    EXPECT_EQ(two.report.findings[1].threads, 3u * 64);
}

// A block makes its own mistake, which shows in the middle of the grid, besides those of all.
TEST(EmulatorFindings, DoNotDependOnHostThreads) {
    std::string body = "mov.u32 %r3, 0;\nL: add.u32 %r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 300;\n@%p1 bra L;\n";
    for (int i = 0; i < 12; ++i) {
        const std::string n = std::to_string(i), block = std::to_string(37 * i % 40);
        body += "setp.eq.u32 %p2, %r2, " + block + ";\n@!%p2 bra S" + n + ";\nst.shared.u32 [box+" +
                std::to_string(4 * i) + "], %r1;\nS" + n + ":\n";
    }
    const std::string text =
        faulty_kernel(body + "st.shared.u32 [box+256], %r1;\nst.global.u32 [%rd2], %r30;");
    const Outcome one = run({.threads = 1, .keep_going = 50}, text, 40);
    ASSERT_TRUE(one.done);
    EXPECT_EQ(one.report.findings.size(), 14u);
    for (const u32 threads : {2u, 5u, 16u}) {
        const Outcome several = run({.threads = threads, .keep_going = 50}, text, 40);
        ASSERT_TRUE(several.done);
        EXPECT_EQ(several.lines(), one.lines());
        for (std::size_t i = 0; i < one.report.findings.size(); ++i) {
            EXPECT_EQ(several.told(i), one.told(i));
            EXPECT_EQ(several.report.findings[i].threads, one.report.findings[i].threads);
            EXPECT_EQ(several.report.findings[i].blocks, one.report.findings[i].blocks);
        }
    }
}

// What comes behind the block that failed does not count, whoever was faster.
TEST(EmulatorFindings, EndWithWhatEndedTheLaunch) {
    const std::string text = faulty_kernel(
        "st.shared.u32 [box], %r1;\nsetp.eq.u32 %p1, %r2, 11;\n@%p1 st.global.u32 [%rd1+400000], "
        "%r1;\nst.global.u32 [%rd2], %r30;");
    for (const u32 threads : {1u, 2u, 8u}) {
        const Outcome ended = run({.threads = threads, .keep_going = 10}, text, 40);
        ASSERT_FALSE(ended.done);
        EXPECT_EQ(ended.done.error().code, Errc::address_out_of_bounds);
        EXPECT_THAT(ended.lines(),
                    ElementsAre(line_of(text, "st.shared.u32 [box]"), line_of(text, "st.global.u32 [%rd2]"),
                                line_of(text, "@%p1 st.global")));
        EXPECT_EQ(ended.report.findings[0].blocks, 12u);
        EXPECT_EQ(ended.report.findings[1].blocks, 11u);
        EXPECT_EQ(ended.report.findings[1].threads, 11u * 64);
        EXPECT_FALSE(ended.report.findings[2].check);
        EXPECT_EQ(ended.report.all_findings, 2u);
    }
}

TEST(EmulatorFindings, AMistakeInALoopIsOne) {
    const std::string text = faulty_kernel(
        "mov.u32 %r3, 0;\nmov.u32 %r5, 0;\nL: ld.shared.u32 %r4, [box+64];\nadd.u32 %r5, %r5, %r4;\nadd.u32 "
        "%r3, %r3, 1;\nsetp.lt.u32 %p1, %r3, 50;\n@%p1 bra L;\n"
        "st.global.u32 [%rd2], %r5;");
    const Outcome all = run({.keep_going = 10}, text);
    ASSERT_TRUE(all.done);
    EXPECT_THAT(all.lines(), ElementsAre(line_of(text, "L: ld.shared")));
    EXPECT_EQ(all.report.findings[0].threads, 64u);
}

TEST(EmulatorFindings, GoOnBehindEverythingThatIsNoEnd) {
    // A lane without a predicate, a barrier that is divergent, an atomic on what nothing wrote, an undefined
    // shuffle, an mbarrier made twice.
    const std::string text = faulty_kernel(
        "@%p5 st.shared.u32 [box+400], 7;\natom.shared.add.u32 %r4, [box+200], 1;\nsetp.eq.u32 %p1, %r1, "
        "0;\n@%p1 mbarrier.init.shared.b64 [box+128], 1;\n"
        "@%p1 mbarrier.init.shared.b64 [box+128], 2;\nand.b32 %r5, %r1, 1;\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 "
        "bra A;\nbar.sync 1;\nbra B;\nA: bar.sync 1;\nB:\n"
        "shfl.sync.down.b32 %r6, %r1, 1, 31, 0xffffffff;\nsetp.lt.u32 %p3, %r1, 32;\n@!%p3 bra "
        "C;\nshfl.sync.idx.b32 %r7, %r31, 5, 31, 0xffffffff;\n"
        "add.u32 %r6, %r6, %r7;\nC:\nst.global.u32 [%rd2], %r6;");
    const Outcome all = run({.instruction_budget = 1u << 16, .keep_going = 20}, text);
    ASSERT_TRUE(all.done) << describe(all.done.error(), text);
    EXPECT_THAT(all.lines(),
                testing::UnorderedElementsAre(line_of(text, "@%p5 st.shared"), line_of(text, "atom.shared"),
                                              line_of(text, "@%p1 mbarrier.init.shared.b64 [box+128], 2"),
                                              line_of(text, "A: bar.sync"), line_of(text, "shfl.sync.idx")));
}

TEST(EmulatorFindings, OfAClusterCountItsBlocks) {
    std::string text = faulty_kernel(
        "st.shared.u32 [box], %r1;\nsetp.eq.u32 %p1, %r2, 3;\n@%p1 st.global.u32 [%rd2], %r30;");
    Machine machine({.keep_going = 5});
    ASSERT_TRUE(machine.load(text));
    const u64 data = machine.upload(std::vector<u32>(4096));
    for (u32 times = 1; times <= 2; ++times) {
        EXPECT_RUNS(machine, machine.launch(
                                 "k", {.grid = {6, 1, 1}, .block = {40, 1, 1}, .cluster = {2, 1, 1}}, data));
        const EmulatorReport report = machine.emulator.take_report();
        ASSERT_EQ(report.findings.size(), 2u);
        EXPECT_EQ(report.findings[0].blocks, 6u);
        EXPECT_EQ(report.findings[0].threads, 6u * 39);
        EXPECT_EQ(report.findings[1].blocks, 1u);
        EXPECT_EQ(report.findings[1].threads, 40u);
        EXPECT_THAT(message(report.findings[1].error), HasSubstr("block (3, 0, 0)"));
    }
}

// A device that nobody asks keeps no more than it was told to.
TEST(EmulatorFindings, OfManyLaunchesAreNoMoreThanOfOne) {
    Machine machine({.keep_going = 3});
    ASSERT_TRUE(machine.load(three));
    const u64 data = machine.upload(std::vector<u32>(4096));
    u64 warp_instructions = 0;
    for (u32 i = 0; i < 4; ++i) {
        const auto done = machine.launch("k", {.block = {64, 1, 1}}, data);
        ASSERT_TRUE(done);
        warp_instructions += done->warp_instructions;
    }
    const EmulatorReport report = machine.emulator.take_report();
    EXPECT_EQ(report.findings.size(), 3u);
    EXPECT_EQ(report.all_findings, 16u);
    EXPECT_EQ(report.warp_instructions, warp_instructions);
    EXPECT_EQ(report.checks, EmulatorChecks::all());
}

// --- excuses

const std::string located = faulty_kernel(
                                ".loc 1 12 3\nadd.u32 %r3, %r30, 1;\n.loc 2 40 1, function_name names, "
                                "inlined_at 1 14 3\nadd.u32 %r4, %r31, 1;\n.loc 1 15 3\n"
                                "st.shared.u32 [box], %r1;\n.loc 1 16 1\nst.global.u32 [%rd2], "
                                "%r3;\nst.global.u32 [%rd2+8192], %r4;") +
                            ".file 1 \"/src/gpu/scan.cu\"\n.file 2 \"/src/gpu/warp.cuh\"\n.section "
                            ".debug_str\n{\nnames:\n.b8 102,0\n}\n";

TEST(EmulatorExcuses, NameALineOfThePtxOrOfTheSource) {
    const u32 first = line_of(located, "add.u32 %r3"), second = line_of(located, "add.u32 %r4"),
              third = line_of(located, "st.shared");
    struct Row {
        std::string excuse;
        std::vector<u32> left;
    };
    const Row rows[] = {
        {"unwritten@" + std::to_string(first), {second, third}},
        {"races@" + std::to_string(third), {first, second}},
        {"races@" + std::to_string(first), {first, second, third}},  // another check
        {"unwritten@scan.cu:12", {second, third}},
        {"unwritten@gpu/scan.cu:12", {second, third}},
        {"unwritten@/src/gpu/scan.cu:12", {second, third}},
        {"unwritten@an.cu:12", {first, second, third}},
        {"unwritten@scan.cu:13", {first, second, third}},
        {"unwritten@warp.cuh:40", {first, third}},
        {"unwritten@scan.cu:14", {first, third}},  // into which it was inlined
        {"races@scan.cu:15", {first, second}},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(row.excuse);
        const auto excuse = parse_excuse(row.excuse);
        ASSERT_TRUE(excuse);
        EXPECT_EQ(to_text(*excuse), row.excuse);
        const Outcome all = run({.keep_going = 10, .excuses = {*excuse}}, located);
        ASSERT_TRUE(all.done);
        EXPECT_THAT(all.lines(), testing::UnorderedElementsAreArray(row.left));
        EXPECT_EQ(all.report.excused.at(0), 3 - row.left.size());
    }
}

TEST(EmulatorExcuses, OfEitherPlaceOfARace) {
    const std::string text = faulty_kernel(
        "st.shared.u32 [%r20], 0;\nbar.sync 0;\nxor.b32 %r23, %r20, 128;\nsetp.lt.u32 %p1, %r1, 32;\n@%p1 "
        "st.shared.u32 [%r20], %r1;\n"
        "@!%p1 ld.shared.u32 %r5, [%r23];\n@!%p1 st.global.u32 [%rd2], %r5;");
    for (const char* const place : {"@%p1 st.shared", "@!%p1 ld.shared"}) {
        const Outcome excused =
            run({.excuses = {{.check = EmulatorCheck::races, .line = line_of(text, place)}}}, text);
        EXPECT_TRUE(excused.done);
        EXPECT_EQ(excused.report.excused.at(0), 1u);
    }
    EXPECT_FALSE(run({.excuses = {{.check = EmulatorCheck::races, .line = 5}}}, text).done);
}

TEST(EmulatorExcuses, MakeWhatIsUndefinedDefined) {
    const std::string text =
        faulty_kernel("add.u32 %r3, %r30, 1;\nadd.u32 %r4, %r3, 1;\nst.global.u32 [%rd2], %r4;");
    const Outcome excused =
        run({.excuses = {{.check = EmulatorCheck::unwritten, .line = line_of(text, "add.u32 %r3")}}}, text);
    ASSERT_TRUE(excused.done) << describe(excused.done.error(), text);
    EXPECT_EQ(excused.words[5], 2u);
}

TEST(EmulatorExcuses, AreReadFromText) {
    for (const char* const wrong : {"", "races", "races@", "races@0", "races@x", "races@a.cu:", "races@:3",
                                    "races@a.cu:3x", "races@4294967296", "races@-1"}) {
        const auto read = parse_excuse(wrong);
        ASSERT_FALSE(read) << wrong;
        EXPECT_EQ(read.error().code, Errc::excuse_malformed) << wrong;
        EXPECT_THAT(message(read.error()), HasSubstr("CHECK@LINE"));
    }
    const auto unknown = parse_excuse("race@3");
    ASSERT_FALSE(unknown);
    EXPECT_EQ(message(unknown.error()),
              "no check is named 'race'; there are races, unwritten, async, barriers, calls, heap, "
              "equal_stores, unwaited_stores");
}

TEST(EmulatorChecksByName, AreReadAndWritten) {
    using enum EmulatorCheck;
    const std::pair<const char*, EmulatorChecks> rows[] = {
        {"races", {races}},
        {"races,unwritten", {races, unwritten}},
        {"all", EmulatorChecks::all()},
        {"none", EmulatorChecks::none()},
        {"-races", EmulatorChecks::all().without(races)},
        {"-races,-heap", EmulatorChecks::all().without(races).without(heap)},
        {"all,-calls", EmulatorChecks::all().without(calls)},
        {"async,barriers,-async", {barriers}},
        {"+equal_stores", EmulatorChecks::all().with(equal_stores)},
        {"all,unwaited_stores", EmulatorChecks::all().with(unwaited_stores)},
        {"-races,+equal_stores", EmulatorChecks::all().without(races).with(equal_stores)}};
    for (const auto& [text, checks] : rows) {
        const auto read = parse_checks(text);
        ASSERT_TRUE(read) << text;
        EXPECT_EQ(*read, checks) << text;
    }
    EXPECT_EQ(names(EmulatorChecks::all()), "races unwritten async barriers calls heap");
    EXPECT_EQ(names(EmulatorChecks::none()), "none");
    for (const char* const wrong :
         {"", "race", "races,", "-", "--races", "-all", "+all", "+-races", "races unwritten"}) {
        const auto read = parse_checks(wrong);
        ASSERT_FALSE(read) << wrong;
        EXPECT_EQ(read.error().code, Errc::check_unknown);
        EXPECT_THAT(message(read.error()), HasSubstr("there are races, unwritten, async, barriers, calls, "
                                                     "heap, equal_stores, unwaited_stores, all and none"));
    }
}

// A device tells which stub a finding is in, as of errors.
TEST(EmulatorFindings, OfADeviceNameTheStub) {
    const std::string text = faulty_kernel(
        "{ // PTXGRAFT_SITE epilogue\n.reg .b32 _acc; // mod b32 acc\nmov.b32 _acc, %r1;\n// "
        "PTXGRAFT_STUB\nadd.u32 _acc, _acc, _acc;\n"
        "add.u32 _acc, _acc, %r30;\n// PTXGRAFT_END\nmov.b32 %r3, _acc;\n}\nst.global.u32 [%rd2], %r3;");
    auto device = Device::emulator({.keep_going = 5});
    ASSERT_TRUE(device);
    auto function = device->load(text, "k");
    ASSERT_TRUE(function);
    auto data = device->upload(std::vector<u32>(4096));
    const Argument arguments[] = {*data};
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(function->launch({.block = {64, 1, 1}}, arguments));
    const EmulatorReport report = device->take_report();
    ASSERT_EQ(report.findings.size(), 2u);
    EXPECT_THAT(describe(report.findings[0].error), testing::StartsWith("k.ptx:"));  // it brings the PTX
    EXPECT_THAT(describe(report.findings[0].error), HasSubstr("; in the stub of site epilogue, line 2\n"));
    EXPECT_GT(report.warp_instructions, 40u);
    EXPECT_EQ(device->take_report().warp_instructions, 0u);
}

}  // namespace
}  // namespace ptxgraft
