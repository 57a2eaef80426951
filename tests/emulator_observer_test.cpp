// What a launch tells of itself: numbers that can be counted by hand.
#include "ptxgraft/emulator_observer.hpp"

#include <gmock/gmock.h>

#include <functional>
#include <numeric>

#include "emulator_machine.hpp"

namespace ptxgraft {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using u32 = std::uint32_t;
using u64 = std::uint64_t;
using Kind = ObservedAccess::Kind;

ObservedAccess access(u32 bytes, const std::function<u64(u32)>& address, u32 lanes = ~0u, Kind kind = Kind::load) {
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
        {"HalfOfTheLanes", access(4, [](u32 l) { return 128 * l; }, 0x0000FFFF), 16, 1},
        {"OneLane", access(4, [](u32 l) { return 128 * l; }, 1u << 9), 1, 1},
        {"BytesOfTheSameWords", access(1, [](u32 l) { return l; }), 1, 1},
        {"HalvesOfAColumn", access(2, [](u32 l) { return 64 * l; }), 16, 1},
        {"EightBytes", access(8, [](u32 l) { return 8 * l; }), 2, 2},
        {"EightBytesAtAStride", access(8, [](u32 l) { return 16 * l; }), 4, 2},
        {"EightBytesOfHalfAWarp", access(8, [](u32 l) { return 8 * l; }, 0xFFFF0000), 1, 1},
        {"SixteenBytes", access(16, [](u32 l) { return 16 * l; }), 4, 4},
        {"SixteenBytesOfRowsOf128", access(16, [](u32 l) { return 128 * l; }), 32, 4},
        {"SixteenBytesOfSwizzledRows", access(16, [](u32 l) { return 128 * l + (l % 8) * 16; }), 4, 4},
        {"AtomicsAtOneWord", access(4, [](u32) { return 0; }, ~0u, Kind::atomic), 32, 1},
        {"AtomicsAtEight", access(4, [](u32 l) { return l % 8 * 4; }, ~0u, Kind::atomic), 4, 1},
        {"NoLane", access(4, [](u32 l) { return l; }, 0), 0, 0},
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
        {"TwoLanesFarApart", access(4, [](u32 l) { return l * 100000; }, 0x80000001), 2, 1},
    };
    for (const CostRow& row : rows) {
        EXPECT_EQ(global_sectors(row.access).actual, row.actual) << row.name;
        EXPECT_EQ(global_sectors(row.access).ideal, row.ideal) << row.name;
    }
}

// Line by line, counted by hand. Two blocks of 64 threads.
constexpr const char* kernel = R"(.version 8.0
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
ld.shared.u32 %r7, [%r6];
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
    void run(Observer& observer, std::string_view text = kernel, const EmulatorLaunch& shape = {.grid = {2}, .block = {64}}) {
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
    const std::map<std::string, u64> expected = {{"parameter load", 4},   {"move and convert", 16}, {"logic and shift", 8}, {"integer", 16},       {"shared store", 4},
                                                 {"barrier and fence", 4}, {"shared load", 4},       {"compare and select", 4}, {"global store", 4}, {"single precision", 4},
                                                 {"shared atomic", 4},     {"control", 4}};
    EXPECT_EQ(warps, expected);
}

TEST_F(EmulatorObserved, LaunchesOfAModuleAddUp) {
    EmulatorProfile profile;
    run(profile);
    run(profile);
    EXPECT_EQ(profile.lines()[0].warps, 8u);
    std::string other = kernel;
    other.replace(other.find("shl.b32 %r2, %r1, 7"), 19, "shl.b32 %r2, %r1, 2");
    run(profile, other);
    EXPECT_EQ(profile.lines()[0].warps, 4u);
    EXPECT_EQ(profile.lines()[17 - first_line].bank_conflicts(), 0u);
}

TEST_F(EmulatorObserved, ATraceHasValuesAndAddresses) {
    std::vector<std::string> lines;
    EmulatorTrace trace({.block = Dim3{1, 0, 0}, .warp = 1}, [&](std::string_view line) { lines.emplace_back(line); });
    run(trace);
    ASSERT_THAT(lines, SizeIs(19));
    const std::string front = "block (1, 0, 0) warp 1 lanes 0xffffffff ";
    std::string tids, stores;
    for (u32 lane = 0; lane < 32; ++lane) {
        char text[64];
        std::snprintf(text, sizeof text, "%s0x%x", lane == 0 ? "" : " ", 32 + lane);
        tids += text;
        if (lane < 8) std::snprintf(text, sizeof text, "%s%#llx", lane == 0 ? "" : " ", static_cast<unsigned long long>(base + 8 * (32 + lane)));
        stores += lane < 8 ? text : " -";
    }
    EXPECT_EQ(lines[1], front + "13:1: mov.u32 %r1, %tid.x; | %r1 = [" + tids + "]\n");
    EXPECT_EQ(lines[3], front + "15:1: mov.u32 %r3, s; | %r3 = 0x0\n");
    EXPECT_EQ(lines[14], "block (1, 0, 0) warp 1 lanes 0x000000ff 25:1: @%p1 st.global.f32 [%rd3], %f1; | global store of 4 bytes at [" + stores + "]\n");
    EXPECT_THAT(lines[16], HasSubstr("| shared atomic of 4 bytes at 0x0\n"));
    EXPECT_THAT(lines[13], HasSubstr("setp.lt.u32 %p1, %r1, 40; | %p1 = [0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x1 0x0 0x0"));
}

TEST_F(EmulatorObserved, ATraceShowsWhereALaunchFailed) {
    std::vector<std::string> lines;
    EmulatorTrace trace({}, [&](std::string_view line) { lines.emplace_back(line); });
    std::string text = kernel;
    text.replace(text.find("st.shared.u32 [%r4], %r1;"), 25, "st.shared.u32 [%r4+1000000], %r1;");
    run(trace, text, {.grid = {1}, .block = {32}});
    ASSERT_FALSE(done);
    ASSERT_FALSE(lines.empty());
    EXPECT_THAT(lines.back(), HasSubstr("17:1: st.shared.u32 [%r4+1000000], %r1; | shared store of 4 bytes at [0xf4240 0xf42c0"));
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
    return ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 data)\n{\n.reg .pred %p<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<4>;\n"
           ".shared .align 128 .b8 s[4096];\n" +
           text + "\nret;\n}\n";
}

TEST_F(EmulatorObserved, RegistersOfOneInstructionAreToldOnce) {
    Counter counter;
    run(counter, body("mov.u32 %r1, 70000;\nld.shared.u8 %r2, [s];\nmov.b64 {%r3, %r4}, 5;\nsetp.eq.u32 %p1|%p2, %r1, 3;\nshfl.sync.idx.b32 %r5|%p3, %r1, 0, 31, -1;\ncvt.u16.u32 %h1, %r1;"),
        {.grid = {1}, .block = {32}});
    ASSERT_TRUE(done) << message(done.error());
    EXPECT_THAT(counter.written, ElementsAre("%r1", "%r2", "%r3", "%r4", "%p1", "%p2", "%r5", "%p3", "%h1"));
    EXPECT_EQ(counter.steps, 7u);
}

TEST_F(EmulatorObserved, CopiesAndMatricesAreAccessesToo) {
    Counter counter;
    run(counter, body("ld.param.u64 %rd1, [data];\nmov.u32 %r1, %tid.x;\nshl.b32 %r2, %r1, 4;\nmov.u32 %r3, s;\nadd.u32 %r3, %r3, %r2;\ncp.async.ca.shared.global [%r3], [%rd1], 16;\n"
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

}  // namespace
}  // namespace ptxgraft
