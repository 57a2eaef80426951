// What a launch tells of itself: numbers that can be counted by hand.
#include "ptxgraft/emulator_observer.hpp"

#include <gmock/gmock.h>

#include <bit>
#include <functional>
#include <numeric>

#include "ptxgraft/isa/table.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Kind = ObservedAccess::Kind;

ObservedAccess access(u32 bytes, const std::function<u64(u32)>& address, u32 lanes = ~0u,
                      Kind kind = Kind::load) {
    ObservedAccess one{.kind = kind, .bytes = bytes, .lanes = lanes};
    for (u32 lane = 0; lane < 32; ++lane) one.addresses[lane] = address(lane);
    return one;
}

struct CostRow {
    std::string name;
    ObservedAccess access;
    u64 actual, ideal;
};

TEST(EmulatorObserver, WavefrontsOfSharedMemory) {
    const CostRow rows[] = {
        {"Consecutive", access(4, [](u32 l) { return 4 * l; }), 1, 1},
        {"Broadcast", access(4, [](u32) { return 64; }), 1, 1},
        {"TwoWordsOfOneBank", access(4, [](u32 l) { return l % 2 * 128; }), 2, 1},
        {"StrideOfTwoWords", access(4, [](u32 l) { return 8 * l; }), 2, 1},
        {"StrideOf32Words", access(4, [](u32 l) { return 128 * l; }), 32, 1},
        {"StrideOf33Words", access(4, [](u32 l) { return 132 * l; }), 1, 1},
        {"HalfOfTheLanes",
         access(
             4, [](u32 l) { return 128 * l; }, 0x0000FFFF),
         16, 1},
        {"OneLane",
         access(
             4, [](u32 l) { return 128 * l; }, 1u << 9),
         1, 1},
        {"BytesOfTheSameWords", access(1, [](u32 l) { return l; }), 1, 1},
        {"HalvesOfAColumn", access(2, [](u32 l) { return 64 * l; }), 16, 1},
        {"EightBytes", access(8, [](u32 l) { return 8 * l; }), 2, 2},
        {"EightBytesAtAStride", access(8, [](u32 l) { return 16 * l; }), 4, 2},
        {"EightBytesOfHalfAWarp",
         access(
             8, [](u32 l) { return 8 * l; }, 0xFFFF0000),
         1, 1},
        {"SixteenBytes", access(16, [](u32 l) { return 16 * l; }), 4, 4},
        {"SixteenBytesOfRowsOf128", access(16, [](u32 l) { return 128 * l; }), 32, 4},
        {"SixteenBytesOfSwizzledRows", access(16, [](u32 l) { return 128 * l + (l % 8) * 16; }), 4, 4},
        {"AtomicsAtOneWord",
         access(
             4, [](u32) { return 0; }, ~0u, Kind::atomic),
         32, 1},
        {"AtomicsAtEight",
         access(
             4, [](u32 l) { return l % 8 * 4; }, ~0u, Kind::atomic),
         4, 1},
        {"NoLane",
         access(
             4, [](u32 l) { return l; }, 0),
         0, 0},
    };
    for (const CostRow& row : rows) {
        EXPECT_EQ(shared_wavefronts(row.access).actual, row.actual) << row.name;
        EXPECT_EQ(shared_wavefronts(row.access).ideal, row.ideal) << row.name;
    }
}

TEST(EmulatorObserver, SectorsOfGlobalMemory) {
    const CostRow rows[] = {
        {"Coalesced", access(4, [](u32 l) { return 4096 + 4 * l; }), 4, 4},
        {"Misaligned", access(4, [](u32 l) { return 4100 + 4 * l; }), 5, 4},
        {"Reversed", access(4, [](u32 l) { return 4096 + 4 * (31 - l); }), 4, 4},
        {"StrideOfASector", access(4, [](u32 l) { return 4096 + 32 * l; }), 32, 4},
        {"StrideOfTwoWords", access(4, [](u32 l) { return 4096 + 8 * l; }), 8, 4},
        {"OneWord", access(4, [](u32) { return 4096; }), 1, 1},
        {"SixteenBytes", access(16, [](u32 l) { return 4096 + 16 * l; }), 16, 16},
        {"Bytes", access(1, [](u32 l) { return 4096 + l; }), 1, 1},
        {"BytesOverAnEdge", access(1, [](u32 l) { return 4112 + l; }), 2, 1},
        {"Overlapping", access(8, [](u32 l) { return 4096 + 8 * (l / 2); }), 4, 4},
        {"TwoLanesFarApart",
         access(
             4, [](u32 l) { return l * 100000; }, 0x80000001),
         2, 1},
    };
    for (const CostRow& row : rows) {
        EXPECT_EQ(global_sectors(row.access).actual, row.actual) << row.name;
        EXPECT_EQ(global_sectors(row.access).ideal, row.ideal) << row.name;
    }
}

// Line by line, counted by hand. Two blocks of 64 threads.
constexpr const char* observed_kernel = R"(.version 8.0
.target sm_90
.address_size 64
.visible .entry k(.param .u64 data)
{
.reg .pred %p<2>;
.reg .b16 %h<2>;
.reg .b32 %r<8>;
.reg .b64 %rd<4>;
.reg .f32 %f<3>;
.shared .align 16 .b8 s[8192];
ld.param.u64 %rd1, [data];
mov.u32 %r1, %tid.x;
shl.b32 %r2, %r1, 7;
mov.u32 %r3, s;
add.u32 %r4, %r3, %r2;
st.shared.u32 [%r4], %r1;
bar.sync 0;
shl.b32 %r5, %r1, 2; add.u32 %r6, %r3, %r5;
ld.volatile.shared.u32 %r7, [%r6];
mul.wide.u32 %rd2, %r1, 8;
add.u64 %rd3, %rd1, %rd2;
cvt.rn.f32.u32 %f1, %r1;
setp.lt.u32 %p1, %r1, 40;
@%p1 st.global.f32 [%rd3], %f1;
add.f32 %f2, %f1, %f1;
atom.shared.add.u32 %r7, [s], 1;
cvt.u16.u32 %h1, %r1;
ret;
}
)";
constexpr u32 first_line = 12;  // of the instructions

class EmulatorObserved : public testing::Test {
  protected:
    template <class Observer>
    void run(Observer& observer, std::string_view text = observed_kernel,
             const LaunchConfig& shape = {.grid = {2}, .block = {64}}) {
        Machine machine({.threads = 4, .observer = &observer});
        const auto loaded = machine.load(text);
        ASSERT_TRUE(loaded) << message(loaded.error(), text);
        const u64 data = machine.upload(std::vector<u64>(64));
        done = machine.launch("k", shape, data);
        base = data;
    }
    Expected<EmulatorStats> done;
    u64 base = 0;
};

TEST_F(EmulatorObserved, AProfileCountsEachLine) {
    EmulatorProfile profile;
    run(profile);
    ASSERT_TRUE(done);
    const auto lines = profile.lines();
    ASSERT_THAT(lines, SizeIs(18));  // two instructions stand in one line
    const auto at = [&](u32 line) { return lines[line - first_line]; };
    EXPECT_EQ(at(13).line, 13u);
    EXPECT_EQ(at(13).warps, 4u);
    EXPECT_EQ(at(13).lanes, 128u);
    EXPECT_EQ(at(13).text, "mov.u32 %r1, %tid.x;");
    EXPECT_EQ(at(17).wavefronts, 4u * 32);  // a stride of 128 bytes
    EXPECT_EQ(at(17).bank_conflicts(), 4u * 31);
    EXPECT_EQ(at(19).warps, 8u);
    EXPECT_EQ(at(20).wavefronts, 4u);
    EXPECT_EQ(at(20).bank_conflicts(), 0u);
    EXPECT_EQ(at(25).lanes, 2u * 40);
    EXPECT_EQ(at(25).average_lanes(), 20.0);
    EXPECT_EQ(at(25).sectors, 2u * (8 + 2));  // 32 and 8 lanes at a stride of 8 bytes
    EXPECT_EQ(at(25).ideal_sectors, 2u * (4 + 1));
    EXPECT_EQ(at(27).bank_conflicts(), 4u * 31);
    u64 warps = 0, lanes = 0;
    for (const ProfileLine& line : lines) {
        warps += line.warps;
        lanes += line.lanes;
    }
    EXPECT_EQ(warps, done->warp_instructions);
    EXPECT_EQ(lanes, done->thread_instructions);
}

TEST_F(EmulatorObserved, AProfileCountsClasses) {
    EmulatorProfile profile;
    run(profile);
    std::map<std::string, u64> warps;
    for (const ProfileClass& one : profile.classes()) warps[std::string(one.name)] = one.warps;
    const std::map<std::string, u64> expected = {
        {"parameter load", 4}, {"move and convert", 16}, {"logic and shift", 8}, {"integer", 16},
        {"shared store", 4},   {"barrier and fence", 4}, {"shared load", 4},     {"compare and select", 4},
        {"global store", 4},   {"single precision", 4},  {"shared atomic", 4},   {"control", 4}};
    EXPECT_EQ(warps, expected);
}

ObservedStep step_of(std::string_view instruction) {
    ObservedStep step;
    step.ptx = instruction;
    step.span = {0, static_cast<u32>(instruction.size())};
    return step;
}

TEST(EmulatorObserver, AProfileHasAClassForEveryOpcode) {
    std::vector<std::string_view> unknown;
    for (const isa::Opcode& opcode : isa::table_opcodes) {
        EmulatorProfile profile;
        profile.step(step_of(opcode.name));
        if (profile.classes().at(0).name == "other") unknown.push_back(opcode.name);
    }
    EXPECT_THAT(unknown, IsEmpty()) << "`class_rows` of profile.cpp has no place for these";
    EmulatorProfile profile;
    profile.step(step_of("nothing.u32"));
    EXPECT_EQ(profile.classes().at(0).name, "other");
}

TEST_F(EmulatorObserved, LaunchesOfAModuleAddUp) {
    EmulatorProfile profile;
    run(profile);
    run(profile);
    EXPECT_EQ(profile.lines()[0].warps, 8u);
    std::string other = observed_kernel;
    other.replace(other.find("shl.b32 %r2, %r1, 7"), 19, "shl.b32 %r2, %r1, 2");
    run(profile, other);
    EXPECT_EQ(profile.lines()[0].warps, 4u);
    EXPECT_EQ(profile.lines()[17 - first_line].bank_conflicts(), 0u);
}

TEST_F(EmulatorObserved, ATraceHasValuesAndAddresses) {
    std::vector<std::string> lines;
    EmulatorTrace trace({.block = Dim3{1, 0, 0}, .warp = 1},
                        [&](std::string_view line) { lines.emplace_back(line); });
    run(trace);
    ASSERT_THAT(lines, SizeIs(19));
    const std::string front = "block (1, 0, 0) warp 1 lanes 0xffffffff ";
    std::string tids, stores, stored, guard;
    for (u32 lane = 0; lane < 32; ++lane) {
        char text[64];
        std::snprintf(text, sizeof text, "%s0x%x", lane == 0 ? "" : " ", 32 + lane);
        tids += text;
        if (lane < 8)
            std::snprintf(text, sizeof text, "%s%#llx", lane == 0 ? "" : " ",
                          static_cast<unsigned long long>(base + 8 * (32 + lane)));
        stores += lane < 8 ? text : " -";
        const float value = static_cast<float>(32 + lane);
        std::snprintf(text, sizeof text, "%s%#x", lane == 0 ? "" : " ", std::bit_cast<u32>(value));
        stored += lane < 8 ? text : " -";
        guard += std::string(lane == 0 ? "" : " ") + (lane < 8 ? "0x1" : "0x0");
    }
    EXPECT_EQ(lines[1], front + "13:1: mov.u32 %r1, %tid.x; | %r1 = [" + tids + "]\n");
    EXPECT_EQ(lines[3], front + "15:1: mov.u32 %r3, s; | %r3 = 0x0\n");
    EXPECT_EQ(lines[14],
              "block (1, 0, 0) warp 1 lanes 0x000000ff 25:1: @%p1 st.global.f32 [%rd3], %f1; | %p1: [" +
                  guard + "] | %f1: [" + stored + "] | global store of 4 bytes at [" + stores + "]\n");
    EXPECT_THAT(lines[5],
                HasSubstr("st.shared.u32 [%r4], %r1; | %r1: [" + tids + "] | shared store of 4 bytes at ["));
    EXPECT_THAT(lines[16], HasSubstr("| shared atomic of 4 bytes at 0x0\n"));
    EXPECT_THAT(lines[13],
                HasSubstr("setp.lt.u32 %p1, %r1, 40; | %p1 = [0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x0 0x0"));
}

TEST_F(EmulatorObserved, ATraceShowsWhereALaunchFailed) {
    std::vector<std::string> lines;
    EmulatorTrace trace({}, [&](std::string_view line) { lines.emplace_back(line); });
    std::string text = observed_kernel;
    text.replace(text.find("st.shared.u32 [%r4], %r1;"), 25, "st.shared.u32 [%r4+1000000], %r1;");
    run(trace, text, {.grid = {1}, .block = {32}});
    ASSERT_FALSE(done);
    ASSERT_FALSE(lines.empty());
    EXPECT_THAT(lines.back(), HasSubstr("17:1: st.shared.u32 [%r4+1000000], %r1; | %r1: [0x0 0x1 0x2"));
    EXPECT_THAT(lines.back(), HasSubstr("| shared store of 4 bytes at [0xf4240 0xf42c0"));
}

// An observer that only counts what it hears.
class Counter : public EmulatorObserver {
  public:
    void step(const ObservedStep& step) override {
        if (!step.is_rest) ++steps;
        for (const ObservedRegister& reg : step.written) written.emplace_back(reg.name);
        for (const ObservedAccess& one : step.accesses) accesses.push_back(one);
    }
    u64 steps = 0;
    std::vector<std::string> written;
    std::vector<ObservedAccess> accesses;
};

std::string body(const std::string& text) {
    return test::kernel_text({.version = "8.0",
                              .parameters = {"u64 data"},
                              .registers = {"pred %p<4>", "b16 %h<4>", "b32 %r<16>", "b64 %rd<4>"},
                              .body = ".shared .align 128 .b8 s[4096];\n" + text});
}

// What goes to memory, element by element, as it was before: an atomic may give its result to the register
// that it takes.
TEST_F(EmulatorObserved, ATraceHasWhatIsStored) {
    std::vector<std::string> lines;
    EmulatorTrace trace({}, [&](std::string_view line) { lines.emplace_back(line); });
    run(trace,
        body("mov.u32 %r1, 0x12345;\nmov.u32 %r2, 7;\nmov.u16 %h1, 0x8142;\nsetp.eq.u32 %p1, %r2, "
             "7;\nsetp.eq.u32 %p2, %r2, 8;\nst.shared.v2.u32 [s], {%r1, %r2};\n"
             "st.shared.u8 [s+8], %r1;\nst.shared.u8 [s+9], %h1;\nst.shared.v4.u32 [s+16], {%r2, 5, %r1, "
             "%r2};\nbar.warp.sync -1;\natom.shared.add.u32 %r1, [s], %r1;\n"
             "atom.shared.cas.b32 %r3, [s], %r1, %r2;\nred.shared.max.u32 [s], 9;\nselp.b32 %r4, %r1, %r2, "
             "%p2;\n@!%p1 st.shared.u32 [s], %r2;\n"
             "setp.lt.and.u32 %p3, %r1, %r2, %p1;\n@%p1 bra L;\nL:\nbar.red.and.pred %p3, 0, %p2;\nmov.u32 "
             "%r5, %tid.x;\nshl.b32 %r5, %r5, 4;\nmov.u32 %r6, s;\nadd.u32 %r5, %r5, "
             "%r6;\nstmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1, %r2};"),
        {.grid = {1}, .block = {32}});
    ASSERT_TRUE(done) << message(done.error());
    const auto at = [&](std::string_view instruction) {
        const auto found = std::find_if(lines.begin(), lines.end(), [&](const std::string& line) {
            return line.find(instruction) != std::string::npos;
        });
        return found == lines.end() ? std::string()
                                    : found->substr(found->find(instruction) + instruction.size());
    };
    EXPECT_EQ(at("st.shared.v2.u32 [s], {%r1, %r2};"),
              " | %r1: 0x12345 | %r2: 0x7 | shared store of 8 bytes at 0x0\n");
    EXPECT_EQ(at("st.shared.u8 [s+8], %r1;"), " | %r1: 0x45 | shared store of 1 bytes at 0x8\n");
    EXPECT_EQ(at("st.shared.u8 [s+9], %h1;"), " | %h1: 0x42 | shared store of 1 bytes at 0x9\n");
    EXPECT_EQ(at("st.shared.v4.u32 [s+16], {%r2, 5, %r1, %r2};"),
              " | %r2: 0x7 | %r1: 0x12345 | %r2: 0x7 | shared store of 16 bytes at 0x10\n");
    EXPECT_THAT(at("atom.shared.add.u32 %r1, [s], %r1;"),
                testing::StartsWith(" | %r1: 0x12345 | %r1 = [0x12345 0x2468a "));
    EXPECT_THAT(at("atom.shared.cas.b32 %r3, [s], %r1, %r2;"),
                testing::AllOf(testing::StartsWith(" | %r1: [0x12345 "), HasSubstr("] | %r2: 0x7 | %r3 = ")));
    EXPECT_EQ(at("red.shared.max.u32 [s], 9;"), " | shared atomic of 4 bytes at 0x0\n");
    EXPECT_THAT(at("selp.b32 %r4, %r1, %r2, %p2;"), testing::StartsWith(" | %p2: 0x0 | %r4 = 0x7"));
    EXPECT_EQ(at("@!%p1 st.shared.u32 [s], %r2;"), " | %p1: 0x1 | %r2: -\n");
    EXPECT_THAT(at("setp.lt.and.u32 %p3, %r1, %r2, %p1;"), testing::StartsWith(" | %p1: 0x1 | %p3 = "));
    EXPECT_EQ(at("@%p1 bra L;"), " | %p1: 0x1\n");
    EXPECT_THAT(at("bar.red.and.pred %p3, 0, %p2;"), testing::StartsWith(" | %p2: 0x0"));
    EXPECT_THAT(at("stmatrix.sync.aligned.m8n8.x2.shared.b16 [%r5], {%r1, %r2};"),
                testing::StartsWith(" | %r1: [0x12345 "));
}

TEST_F(EmulatorObserved, RegistersOfOneInstructionAreToldOnce) {
    Counter counter;
    run(counter,
        body("mov.u32 %r1, 70000;\nld.shared.u8 %r2, [s];\nmov.b64 {%r3, %r4}, 5;\nsetp.eq.u32 %p1|%p2, %r1, "
             "3;\nshfl.sync.idx.b32 %r5|%p3, %r1, 0, 31, -1;\ncvt.u16.u32 %h1, %r1;"),
        {.grid = {1}, .block = {32}});
    ASSERT_TRUE(done) << message(done.error());
    EXPECT_THAT(counter.written, ElementsAre("%r1", "%r2", "%r3", "%r4", "%p1", "%p2", "%r5", "%p3", "%h1"));
    EXPECT_EQ(counter.steps, 7u);
}

TEST_F(EmulatorObserved, CopiesAndMatricesAreAccessesToo) {
    Counter counter;
    run(counter,
        body("ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.u32 %r3, "
             "s;\nadd.u32 %r3, %r3, %r2;\ncp.async.ca.shared.global [%r3], [%rd1], 16;\n"
             "cp.async.wait_all;\nldmatrix.sync.aligned.m8n8.x2.shared.b16 {%r4, %r5}, [%r3];"),
        {.grid = {1}, .block = {32}});
    ASSERT_TRUE(done) << message(done.error());
    ASSERT_THAT(counter.accesses, SizeIs(4));
    EXPECT_EQ(counter.accesses[1].kind, Kind::store);
    EXPECT_EQ(counter.accesses[1].addresses[31], 31u * 16);
    EXPECT_EQ(counter.accesses[2].space, ObservedAccess::Space::global);
    EXPECT_EQ(counter.accesses[2].addresses[7], base);
    EXPECT_EQ(counter.accesses[3].lanes, 0xFFFFu);  // two matrices of eight rows
    EXPECT_EQ(shared_wavefronts(counter.accesses[3]).actual, 2u);
}

// The results of instructions that wait come when the lanes go on, each warp's once.
TEST_F(EmulatorObserved, ResultsOfWhatWaitsComeLater) {
    std::vector<std::string> lines;
    EmulatorTrace trace({}, [&](std::string_view line) { lines.emplace_back(line); });
    run(trace,
        body("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 40;\nbarrier.cta.red.popc.u32 %r2, 1, "
             "%p1;\nadd.u32 %r3, %r2, 1;"),
        {.grid = {1}, .block = {64}});
    ASSERT_TRUE(done) << message(done.error());
    std::vector<std::string> results;
    for (const std::string& line : lines)
        if (line.find("| %r2 = ") != std::string::npos) results.push_back(line);
    ASSERT_THAT(results, SizeIs(2));
    EXPECT_THAT(results, testing::Contains(HasSubstr("warp 0 lanes 0xffffffff 13:1: barrier.cta.red.popc.u32 "
                                                     "%r2, 1, %p1; (further results) | %r2 = 0x28\n")));
    EXPECT_THAT(results, testing::Contains(HasSubstr("warp 1 lanes 0xffffffff 13:1: barrier.cta.red.popc.u32 "
                                                     "%r2, 1, %p1; (further results) | %r2 = 0x28\n")));
    const auto place = [&](const std::string& text) {
        return std::find_if(lines.begin(), lines.end(),
                            [&](const std::string& line) { return line.find(text) != std::string::npos; }) -
               lines.begin();
    };
    EXPECT_LT(place("warp 1 lanes 0xffffffff 13:1: barrier.cta.red.popc.u32 %r2, 1, %p1; | %p1: ["),
              place("warp 1 lanes 0xffffffff 13:1: barrier.cta.red.popc.u32 %r2, 1, %p1; (further"));
    EXPECT_LT(place("%r2 = 0x28"), place("add.u32 %r3"));
}

TEST_F(EmulatorObserved, ResultsOfLanesThatWaitForOthersComeWithThem) {
    Counter counter;
    run(counter,
        body("mov.u32 %r1, %tid.x;\nsetp.lt.u32 %p1, %r1, 16;\n@%p1 bra LOW;\nshfl.sync.idx.b32 %r2, %r1, 0, "
             "31, -1;\nbra OVER;\nLOW:\n"
             "shfl.sync.idx.b32 %r3, %r1, 0, 31, -1;\nOVER:\nmov.u32 %r4, 1;"),
        {.grid = {1}, .block = {32}});
    ASSERT_TRUE(done) << message(done.error());
    EXPECT_EQ(std::count(counter.written.begin(), counter.written.end(), "%r2"), 1);
    EXPECT_EQ(std::count(counter.written.begin(), counter.written.end(), "%r3"), 1);
}

TEST_F(EmulatorObserved, AWaitShowsWhetherThePhaseIsOver) {
    std::vector<std::string> lines;
    EmulatorTrace trace({}, [&](std::string_view line) { lines.emplace_back(line); });
    run(trace,
        body("mbarrier.init.shared.b64 [s], 1;\nmbarrier.try_wait.parity.shared.b64 %p1, [s], "
             "0;\nmbarrier.arrive.shared.b64 _, [s];\n"
             "mbarrier.try_wait.parity.shared.b64 %p2, [s], 0;"),
        {.grid = {1}, .block = {1}});
    ASSERT_TRUE(done) << message(done.error());
    EXPECT_THAT(lines, testing::Contains(HasSubstr("| %p1 = 0x0\n")));
    EXPECT_THAT(lines, testing::Contains(HasSubstr("| %p2 = 0x1\n")));
}

// What the async proxy and the tensor cores access: bytes counted by hand.
TEST_F(EmulatorObserved, BulkCopiesAndWarpgroupProductsAreCounted) {
    const std::string fill =
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\n"
        "st.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};\nst.shared.v4.b32 [%r3+2048], {%r1, %r1, %r1, %r1};\n";
    const std::string copy =
        "fence.proxy.async;\nbar.sync 0;\nsetp.eq.u32 %p1, %r1, 0;\nld.param.u64 %rd1, [data];\n"
        "@%p1 cp.async.bulk.global.shared::cta.bulk_group [%rd1], [s], 512;\n@%p1 "
        "cp.async.bulk.commit_group;\n@%p1 cp.async.bulk.wait_group 0;\n";
    const std::string product =
        "mov.b64 %rd2, 0x1000080000;\n.reg .f32 %f<5>;\nwgmma.fence.sync.aligned;\n"
        "wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {%f1, %f2, %f3, %f4}, %rd2, %rd2, 0, 1, 1, 0, "
        "0;\n"
        "wgmma.commit_group.sync.aligned;\nwgmma.wait_group.sync.aligned 0;\n";
    std::string text = body(fill + copy + product);
    text.replace(text.find("sm_90\n"), 6, "sm_90a\n");
    EmulatorProfile profile;
    run(profile, text, {.grid = {1}, .block = {128}});
    ASSERT_TRUE(done) << message(done.error(), text);
    std::map<std::string, ProfileClass> classes;
    for (const ProfileClass& one : profile.classes()) classes[std::string(one.name)] = one;
    EXPECT_EQ(classes["bulk copy"].warps, 4u);  // three of them without a lane
    EXPECT_EQ(classes["bulk copy"].shared_bytes, 512u);
    EXPECT_EQ(classes["bulk copy"].global_bytes, 512u);
    EXPECT_EQ(classes["tensor core"].warps, 4u);
    EXPECT_EQ(classes["tensor core"].shared_bytes, 64u * 32 + 8 * 32);  // A once, B once
    EXPECT_EQ(classes["shared store"].shared_bytes, 2u * 128 * 16);
    for (const ProfileLine& line : profile.lines()) {
        if (line.text.find("cp.async.bulk.global") != std::string_view::npos) {
            EXPECT_EQ(line.sectors, 16u);
            EXPECT_EQ(line.wavefronts, 4u);
        }
        if (line.text.starts_with("wgmma.mma_async")) {
            EXPECT_EQ(line.wavefronts, (64u * 32 + 8 * 32) / 128);
            EXPECT_EQ(line.bank_conflicts(), 0u);
        }
    }
}

TEST_F(EmulatorObserved, FragmentsAreAccesses) {
    const std::string text = body(
        "mov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 5;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, "
        "%r2;\nst.shared.v4.b32 [%r3], {%r1, %r1, %r1, %r1};\n"
        "st.shared.v4.b32 [%r3+16], {%r1, %r1, %r1, %r1};\nbar.warp.sync -1;\n.reg .f32 %f<9>;\n"
        "wmma.load.c.sync.aligned.row.m16n16k16.shared.f32 {%f1, %f2, %f3, %f4, %f5, %f6, %f7, %f8}, [s], "
        "16;\n"
        "ld.param.u64 %rd1, [data];\nwmma.store.d.sync.aligned.row.m16n16k16.global.f32 [%rd1], {%f1, %f1, "
        "%f1, %f1, %f1, %f1, %f1, %f1}, 16;");
    EmulatorProfile profile;
    Machine machine({.observer = &profile});
    ASSERT_TRUE(machine.load(text));
    const u64 data = machine.upload(std::vector<u32>(256));
    EXPECT_RUNS(machine, machine.launch("k", {.block = {32}}, data));
    std::map<std::string, ProfileClass> classes;
    for (const ProfileClass& one : profile.classes()) classes[std::string(one.name)] = one;
    EXPECT_EQ(classes["matrix load and store"].warps, 2u);
    EXPECT_EQ(classes["matrix load and store"].shared_bytes, 1024u);
    EXPECT_EQ(classes["matrix load and store"].global_bytes, 1024u);
}

}  // namespace
}  // namespace ptxgraft
