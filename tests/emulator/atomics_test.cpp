// Atomics, reductions and copies whose results are counted by the host.
#include <gmock/gmock.h>

#include <bit>

#include "ptxgraft/link.hpp"
#include "support/emulator_machine.hpp"
#include "support/kernel_text.hpp"

namespace ptxgraft {
namespace {

using testing::HasSubstr;
using u16 = std::uint16_t;
using u32 = std::uint32_t;
using u64 = std::uint64_t;

// Halves and bfloats of small whole numbers, exact in both.
u16 half(int value) {
    if (value == 0) return 0;
    const auto bits = std::bit_cast<u32>(static_cast<float>(value));
    return static_cast<u16>((bits >> 16 & 0x8000) | (((bits >> 23 & 0xFF) - 127 + 15) << 10) |
                            (bits >> 13 & 0x3FF));
}
u16 bfloat(int value) { return static_cast<u16>(std::bit_cast<u32>(static_cast<float>(value)) >> 16); }
u32 pair(u16 low, u16 high) { return low | static_cast<u32>(high) << 16; }

std::string atomic_kernel(const std::string& body) {
    return test::kernel_text(
        {.parameters = {"u64 data", "u64 out"},
         .registers = {"pred %p<4>", "b16 %h<16>", "b32 %r<16>", "b64 %rd<16>", "f32 %f<8>", "b128 %q<4>"},
         .body = ".shared .align 16 .b8 s[1024];\nld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [out];\n"
                 "mov.u32 %r1, %tid.x;\n" +
                 body});
}

class EmulatorAtomics : public testing::Test {
  protected:
    // Runs 32 threads on data that they share; `before` becomes what it is afterwards.
    template <class T>
    std::vector<T> run(const std::string& body, std::vector<T> before, std::size_t results = 32) {
        const std::string text = atomic_kernel(body);
        const auto cubin = default_assembler().assemble(text);
        EXPECT_TRUE(cubin) << (cubin ? "" : message(cubin.error(), text));
        const auto loaded = machine.load(text);
        EXPECT_TRUE(loaded) << (loaded ? "" : message(loaded.error(), text));
        if (!loaded) return {};
        const u64 data = machine.upload(before);
        out = machine.upload(std::vector<T>(results));
        EXPECT_RUNS(machine, machine.launch("k", {.grid = {1}, .block = {32}}, data, out));
        return machine.download<T>(data, before.size());
    }
    Machine machine;
    u64 out = 0;
};

TEST_F(EmulatorAtomics, VectorsOfHalvesAreElementsOfTheirOwn) {
    const auto after = run<u16>(
        "cvt.rn.f16.u32 %h1, %r1;\nmov.b16 %h2, 0x3C00;\nred.global.add.noftz.v4.f16 [%rd1], {%h1, %h2, %h1, "
        "%h2};",
        {half(5), half(0), half(-6), half(2)});
    EXPECT_EQ(after, (std::vector<u16>{half(5 + 496), half(32), half(-6 + 496), half(34)}));
}

TEST_F(EmulatorAtomics, EightElementsOfBfloats) {
    const auto after = run<u16>(
        "cvt.rn.bf16.u32 %h1, %r1;\nneg.bf16 %h2, %h1;\nred.relaxed.gpu.global.max.noftz.v8.bf16 [%rd1], "
        "{%h1, %h2, %h1, %h2, %h1, %h2, %h1, %h2};\n"
        "red.global.min.noftz.v2.bf16 [%rd1+4], {%h1, %h2};",
        std::vector<u16>(8, bfloat(-3)));
    const u16 most = bfloat(31), none = 0x8000;  // -0 of lane 0
    EXPECT_EQ(after, (std::vector<u16>{most, none, bfloat(0), bfloat(-31), most, none, most, none}));
}

TEST_F(EmulatorAtomics, PairsInVectors) {
    const auto after = run<u32>(
        "cvt.rn.f16.u32 %h1, %r1;\nmov.b32 %r2, {%h1, %h1};\natom.global.min.noftz.v2.f16x2 {%r3, %r4}, "
        "[%rd1], {%r2, %r2};\n"
        "setp.eq.u32 %p1, %r1, 0;\n@%p1 st.global.v2.u32 [%rd2], {%r3, %r4};",
        {pair(half(7), half(-7)), pair(half(-1), half(40))});
    EXPECT_EQ(after, (std::vector<u32>{pair(half(0), half(-7)), pair(half(-1), half(0))}));
    EXPECT_EQ(machine.download<u32>(out, 2),
              (std::vector<u32>{pair(half(7), half(-7)), pair(half(-1), half(40))}));
}

TEST_F(EmulatorAtomics, VectorsOfFloatsGiveWhatWasThere) {
    const auto after = run<float>(
        "cvt.rn.f32.u32 %f1, %r1;\natom.global.add.v4.f32 {%f2, %f3, %f4, %f5}, [%rd1], {%f1, %f1, %f1, "
        "%f1};\n"
        "setp.eq.u32 %p1, %r1, 31;\n@%p1 st.global.v4.f32 [%rd2], {%f2, %f3, %f4, %f5};",
        {1, 2, 3, 4});
    EXPECT_EQ(after, (std::vector<float>{497, 498, 499, 500}));
    EXPECT_EQ(machine.download<float>(out, 4), (std::vector<float>{466, 467, 468, 469}));
}

// The emulator is a team of one device.
TEST_F(EmulatorAtomics, MultimemReducesOneDevice) {
    const auto after = run<u32>(
        "setp.eq.u32 %p1, %r1, 0;\nmultimem.red.relaxed.sys.global.add.u32 [%rd1], "
        "%r1;\nmultimem.red.max.s32 [%rd1+4], %r1;\n"
        "and.b32 %r10, %r1, 7;\ncvt.rn.bf16.u32 %h1, %r10;\nmov.b32 %r2, {%h1, %h1};\nmov.b32 %r9, "
        "0;\nmultimem.red.release.gpu.add.v2.bf16x2 [%rd1+8], {%r2, %r9};\nbar.sync 0;\n"
        "multimem.ld_reduce.acquire.gpu.global.add.u32 %r3, [%rd1];\nmultimem.ld_reduce.min.s32 %r4, "
        "[%rd1+4];\n"
        "multimem.ld_reduce.weak.global.add.acc::f32.v2.bf16x2 {%r5, %r6}, "
        "[%rd1+8];\nmultimem.ld_reduce.and.b64 %rd3, [%rd1];\n"
        "shl.b32 %r7, %r1, 2;\ncvt.u64.u32 %rd4, %r7;\nadd.s64 %rd5, %rd2, %rd4;\ncvt.u32.u64 %r8, "
        "%rd3;\nadd.u32 %r8, %r8, %r4;\nadd.u32 %r8, %r8, %r6;\n"
        "multimem.st.relaxed.cta.global.u32 [%rd5], %r8;\nbar.sync 0;\nmov.f32 %f1, 0f3F800000;\n@%p1 "
        "multimem.st.weak.v4.f32 [%rd2+128], {%f1, %f1, %f1, %f1};",
        {1, static_cast<u32>(-7), 0, pair(bfloat(3), 0)}, 36);
    EXPECT_EQ(after, (std::vector<u32>{497, 31, pair(bfloat(112), bfloat(112)), pair(bfloat(3), 0)}));
    EXPECT_EQ(machine.download<u32>(out, 32), std::vector<u32>(32, 497 + 31 + pair(bfloat(3), 0)));
    EXPECT_EQ(machine.download<float>(out + 128, 4), std::vector<float>(4, 1.0f));
}

TEST_F(EmulatorAtomics, MultimemCopiesToOneDevice) {
    const std::string text = test::kernel_text(
        {.version = "9.1",
         .parameters = {"u64 to", "u64 sums"},
         .registers = {"b64 a, b, c", "b32 t, s, p", "pred q"},
         .body = ".shared .align 16 .b32 from[32];\nld.param.u64 a, [to];\nld.param.u64 b, [sums];\n"
                 "mov.u32 t, %tid.x;\nmov.u32 s, from;\nmad.lo.u32 p, t, 4, s;\nst.shared.u32 [p], t;\n"
                 "fence.proxy.async;\nbar.sync 0;\nsetp.ne.u32 q, t, 0;\n@q ret;\n"
                 "multimem.cp.async.bulk.global.shared::cta.bulk_group [a], [s], 128;\n"
                 "multimem.cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [b], [s], 128;\n"
                 "cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;"});
    const auto loaded = machine.load(text);
    ASSERT_TRUE(loaded) << message(loaded.error(), text);
    const u64 to = machine.upload(std::vector<u32>(32)), sums = machine.upload(std::vector<u32>(32, 1000));
    EXPECT_RUNS(machine, machine.launch("k", {.grid = {1}, .block = {32}}, to, sums));
    std::vector<u32> copied(32), added(32);
    for (u32 i = 0; i < 32; ++i) copied[i] = i, added[i] = 1000 + i;
    EXPECT_EQ(machine.download<u32>(to, 32), copied);
    EXPECT_EQ(machine.download<u32>(sums, 32), added);
}

TEST_F(EmulatorAtomics, SixteenBytesAreExchangedAtOnce) {
    // Each thread leaves its number in both halves, and gets what the one before left.
    const std::string body =
        "cvt.u64.u32 %rd3, %r1;\nmov.b128 %q1, {%rd3, %rd3};\natom.global.exch.b128 %q2, [%rd1], "
        "%q1;\nmov.b128 {%rd4, %rd5}, %q2;\n"
        "mul.wide.u32 %rd6, %r1, 16;\nadd.u64 %rd6, %rd6, %rd2;\nst.global.v2.u64 [%rd6], {%rd4, %rd5};";
    const auto after = run<u64>(body, {100, 200}, 64);
    EXPECT_EQ(after, (std::vector<u64>{31, 31}));
    const auto seen = machine.download<u64>(out, 64);
    EXPECT_EQ(seen[0], 100u);
    EXPECT_EQ(seen[1], 200u);
    for (std::size_t lane = 1; lane < 32; ++lane)
        EXPECT_EQ(seen[2 * lane] + seen[2 * lane + 1], 2 * (lane - 1));
}

TEST_F(EmulatorAtomics, SixteenBytesAreSwappedWhereBothHalvesAreEqual) {
    const std::string body =
        "mov.b64 %rd3, 7;\nmov.b64 %rd4, 8;\nmov.b64 %rd5, 9;\nmov.b128 %q1, {%rd3, %rd4};\nmov.b128 %q2, "
        "{%rd3, %rd5};\nmov.b128 %q3, {%rd5, %rd5};\n"
        "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra E;\natom.global.cas.b128 %q0, [%rd1], %q2, "
        "%q3;\natom.global.cas.b128 %q0, [%rd1+16], %q1, %q3;\nE:";
    EXPECT_EQ(run<u64>(body, {7, 8, 7, 8}), (std::vector<u64>{7, 8, 9, 9}));
}

TEST_F(EmulatorAtomics, SharedMemoryHasSixteenBytesToo) {
    const std::string body =
        "mov.b64 %rd3, 3;\nmov.b64 %rd4, 4;\nmov.b128 %q1, {%rd3, %rd4};\nst.shared.b128 [s+16], "
        "%q1;\nbar.warp.sync 0xffffffff;\natom.shared.exch.b128 %q2, [s+16], %q1;\n"
        "mov.b128 %q3, %q2;\nst.global.b128 [%rd1], %q3;";
    EXPECT_EQ(run<u64>(body, {0, 0}), (std::vector<u64>{3, 4}));
}

TEST_F(EmulatorAtomics, AVectorIsAlignedAsAWhole) {
    ASSERT_TRUE(
        machine.load(atomic_kernel("mov.f32 %f1, 0f3F800000;\nred.global.add.v2.f32 [%rd1+4], {%f1, %f1};")));
    const u64 data = machine.upload(std::vector<float>(4));
    const auto done = machine.launch("k", {.grid = {1}, .block = {32}}, data, data);
    ASSERT_FALSE(done);
    EXPECT_EQ(done.error().code, Errc::address_misaligned);
    EXPECT_THAT(machine.text_of(done.error()), HasSubstr("multiple of 8"));
}

TEST_F(EmulatorAtomics, ACopyMayIgnoreItsSource) {
    const std::string body =
        "and.b32 %r2, %r1, 1;\nsetp.eq.u32 %p1, %r2, 1;\nshl.b32 %r3, %r1, 4;\nmov.u32 %r4, s;\nadd.u32 %r4, "
        "%r4, %r3;\nst.shared.u32 [%r4], %r1;\n"
        "cvt.u64.u32 %rd3, %r3;\nadd.u64 %rd4, %rd1, %rd3;\ncp.async.ca.shared.global [%r4], [%rd4], 16, "
        "%p1;\ncp.async.wait_all;\n"
        "ld.shared.v4.u32 {%r5, %r6, %r7, %r8}, [%r4];\nadd.u32 %r5, %r5, %r8;\nmul.wide.u32 %rd5, %r1, "
        "4;\nadd.u64 %rd5, %rd5, %rd2;\nst.global.u32 [%rd5], %r5;";
    std::vector<u32> data(128);
    for (u32 i = 0; i < 128; ++i) data[i] = i + 1;
    run<u32>(body, data);
    const auto seen = machine.download<u32>(out, 32);
    for (u32 lane = 0; lane < 32; ++lane) EXPECT_EQ(seen[lane], lane % 2 == 1 ? 0 : 8 * lane + 5) << lane;
}

}  // namespace
}  // namespace ptxgraft
