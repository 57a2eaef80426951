// Pure instructions of the emulator against the manual's examples, values worked by hand, and the loops of
// the manual's semantics; rounding_test.cpp has those of floating point in every rounding mode.
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "ptxgraft/isa.hpp"
#include "support/arithmetic_run.hpp"
#include "support/open_forms.hpp"

namespace ptxgraft::arithmetic {
namespace {

// Rows: name, inputs, result. Values are the manual's examples or worked by hand.
TEST(Arithmetic, Rows) {
    const struct {
        const char* name;
        std::vector<u64> inputs;
        u64 expected;
        std::size_t operands = 0;
    } rows[] = {
        {"fns.b32", {0xaaaaaaaa, 3, 1}, 3},
        {"fns.b32", {0xaaaaaaaa, 3, static_cast<u64>(-1)}, 3},
        {"fns.b32", {0xaaaaaaaa, 2, 1}, 3},
        {"fns.b32", {0xaaaaaaaa, 2, static_cast<u64>(-1)}, 1},
        {"fns.b32", {0xaaaaaaaa, 2, 0}, 0xFFFFFFFF},
        {"szext.wrap.u32", {0xffffffff, 0}, 0},
        {"szext.clamp.s32", {0x80, 8}, 0xFFFFFF80},
        {"bmsk.clamp.b32", {4, 8}, 0xFF0},
        {"bmsk.clamp.b32", {4, 32}, 0xFFFFFFF0},
        {"bmsk.wrap.b32", {4, 32}, 0},
        {"lop3.b32", {0x0F0F0F0F, 0x33333333, 0x55555555, 0x40}, 0x0F0F0F0F & 0x33333333 & ~0x55555555u},
        {"prmt.b32", {0x33221100, 0x77665544, 0x7531}, 0x77553311},
        {"prmt.b32", {0x80, 0, 0x0008}, 0x808080FF},
        {"prmt.b32.b4e", {0x33221100, 0x77665544, 1}, 0x66770011},
        {"prmt.b32.rc16", {0x33221100, 0x77665544, 1}, 0x33223322},
        {"shf.l.wrap.b32", {0x80000000, 1, 1}, 3},
        {"shf.r.clamp.b32", {1, 2, 40}, 2},
        {"shl.b32", {1, 32}, 0},
        {"shr.s32", {0x80000000, 99}, 0xFFFFFFFF},
        {"shr.u32", {0x80000000, 31}, 1},
        {"bfe.s32", {0x00000F00, 8, 4}, 0xFFFFFFFF},
        {"bfe.u32", {0x00000F00, 8, 4}, 0xF},
        {"bfe.s32", {0x80000000, 40, 4}, 0xFFFFFFFF},
        {"bfe.s32", {0x80000000, 40, 0}, 0},
        {"bfi.b32", {0xAB, 0xFFFFFFFF, 8, 8}, 0xFFFFABFF},
        {"bfi.b32", {0xAB, 0xFFFFFFFF, 8, 0}, 0xFFFFFFFF},
        {"bfind.u32", {0}, 0xFFFFFFFF},
        {"bfind.s32", {0xFFFFFFFF}, 0xFFFFFFFF},
        {"bfind.u32", {0x00010000}, 16},
        {"bfind.shiftamt.u32", {0x00010000}, 15},
        {"clz.b64", {1}, 63},
        {"popc.b64", {0xFF00FF00FF00FF00}, 32},
        {"brev.b32", {1}, 0x80000000},
        {"sad.u32", {3, 10, 5}, 12},
        {"sad.s32", {static_cast<u32>(-3), 10, 5}, 18},
        {"mul.hi.u32", {0xFFFFFFFF, 0xFFFFFFFF}, 0xFFFFFFFE},
        {"mul.hi.s32", {0xFFFFFFFF, 0xFFFFFFFF}, 0},
        {"mul.wide.s32", {0xFFFFFFFF, 2}, static_cast<u64>(-2)},
        {"mul.wide.u16", {0xFFFF, 0xFFFF}, 0xFFFE0001},
        {"mad.wide.s32", {0xFFFFFFFF, 3, 10}, 7},
        {"mad.hi.sat.s32", {0x7FFFFFFF, 0x7FFFFFFF, 0x7FFFFFFF}, 0x7FFFFFFF},
        {"mul.hi.u64", {0xFFFFFFFFFFFFFFFF, 0xFFFFFFFFFFFFFFFF}, 0xFFFFFFFFFFFFFFFE},
        {"add.sat.s32", {0x7FFFFFFF, 1}, 0x7FFFFFFF},
        {"sub.sat.s32", {0x80000000, 1}, 0x80000000},
        {"div.s32", {0x80000000, 0xFFFFFFFF}, 0x80000000},
        {"rem.s32", {static_cast<u32>(-7), 2}, static_cast<u32>(-1)},
        {"abs.s32", {0x80000000}, 0x80000000},
        // NaNs: that of an addition, or the bits of a move, as ptxas has it
        {"abs.f32", {0xFFC00001}, 0x7FFFFFFF},
        {"neg.ftz.f32", {0x7F800001}, 0x7FFFFFFF},
        {"abs.f16", {0xFE01}, 0x7FFF},
        {"neg.bf16", {0x7F81}, 0x7FFF},
        {"neg.f16x2", {0x7E013C00}, 0x7FFFBC00},
        {"cvt.f32.bf16", {0xFF81}, 0xFF810000},
        {"cvt.rz.f32.bf16", {0x7FC1}, 0x7FC10000},
        {"cvt.ftz.f32.bf16", {0x7FC1}, 0x7FFFFFFF},
        {"cvt.f32.f16", {0x7E01}, 0x7FFFFFFF},
        {"cvt.f32.f32", {0x7F800001}, 0x7F800001},
        {"cvt.ftz.f32.f32", {0x7F800001}, 0x7FFFFFFF},
        {"cvt.f64.f64", {0x7FF0000000000001}, 0x7FF0000000000001},
        {"cvt.f16.f16", {0x7E01}, 0x7FFF},
        {"min.relu.s32", {static_cast<u32>(-5), 3}, 0},
        {"ex2.approx.ftz.f32", {bits(3.0f)}, bits(8.0f)},
        {"max.s16x2", {0x0001FFFF, 0xFFFF0002}, 0x00010002},
        {"dp4a.s32.s32", {0xFF02FE03, 0x01010101, 10}, 10 + static_cast<u32>(-1 + 2 - 2 + 3)},
        {"dp4a.u32.s32", {0xFF000000, 0xFF000000, 0}, static_cast<u32>(-255)},
        {"dp2a.hi.s32.u32", {0x0002FFFF, 0x05030000, 1}, static_cast<u32>(1 - 3 + 10)},
        {"cvt.s32.s8", {0x80}, 0xFFFFFF80},
        {"cvt.u32.s8", {0x80}, 0xFFFFFF80},
        {"cvt.u8.u32", {0x1FF}, 0xFF},
        {"cvt.sat.u8.s32", {static_cast<u32>(-5)}, 0},
        {"cvt.sat.s8.s32", {1000}, 127},
        {"cvt.sat.s32.u32", {0xFFFFFFFF}, 0x7FFFFFFF},
        {"cvt.s64.s32", {0xFFFFFFFF}, 0xFFFFFFFFFFFFFFFF},
        {"cvt.u64.u32", {0xFFFFFFFF}, 0xFFFFFFFF},
        {"cvt.pack.sat.u8.s32.b32", {300, static_cast<u32>(-1), 0x0000ABCD}, 0xABCDFF00},
        {"cvt.pack.sat.s16.s32", {40000, static_cast<u32>(-40000)}, 0x7FFF8000},
        {"cvt.rn.f16x2.f32", {bits(1.0f), bits(2.0f)}, 0x3C004000},
        {"cvt.rn.bf16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3F80C000},
        {"cvt.rn.relu.bf16x2.f32", {bits(1.0f), bits(-2.0f)}, 0x3F800000},
        {"cvt.rn.satfinite.f16.f32", {bits(1e9f)}, 0x7BFF},
        {"cvt.rna.tf32.f32", {bits(1.0f) + 0x1000}, bits(1.0f) + 0x2000},
        {"cvt.rn.tf32.f32", {bits(1.0f) + 0x1000}, bits(1.0f)},
        {"cvt.rn.satfinite.e4m3x2.f32", {bits(1000.0f), bits(1.0f)}, 0x7E38},
        {"cvt.rn.satfinite.e5m2x2.f32", {bits(-1.0f), bits(0.5f)}, 0xBC38},
        {"cvt.rn.f16x2.e4m3x2", {0x7E38}, 0x5F003C00},
        {"cvt.sat.f32.f32", {bits(-3.0f)}, 0},
        {"copysign.f32", {bits(-1.0f), bits(5.0f)}, bits(-5.0f)},
        {"min.f32", {0x80000000, 0}, 0x80000000},
        {"max.f32", {0x80000000, 0}, 0},
        {"min.f32", {0x7FC00000, bits(3.0f)}, bits(3.0f)},
        {"min.NaN.f32", {0x7FC00000, bits(3.0f)}, 0x7FFFFFFF},
        {"max.xorsign.abs.f32", {bits(-4.0f), bits(3.0f)}, bits(-4.0f)},
        {"max.xorsign.abs.f32", {bits(-4.0f), bits(-3.0f)}, bits(4.0f)},
        {"max.f32", {bits(1.0f), bits(9.0f), bits(4.0f)}, bits(9.0f)},
        {"testp.normal.f32", {0}, 1},
        {"testp.subnormal.f32", {1}, 1},
        {"testp.notanumber.f64", {0x7FF8000000000000}, 1},
        {"setp.lt.f32", {bits(1.0f), bits(2.0f)}, 1},
        {"setp.lt.f32", {0x7FC00000, bits(2.0f)}, 0},
        {"setp.ltu.f32", {0x7FC00000, bits(2.0f)}, 1},
        {"setp.neu.f32", {0x7FC00000, 0x7FC00000}, 1},
        {"setp.ne.f32", {0x7FC00000, bits(2.0f)}, 0},
        {"setp.num.f64", {0, 0x7FF8000000000000}, 0},
        {"setp.eq.ftz.f32", {1, 0}, 1},
        {"setp.eq.f32", {1, 0}, 0},
        {"setp.hi.u32", {0xFFFFFFFF, 1}, 1},
        {"setp.gt.s32", {0xFFFFFFFF, 1}, 0},
        {"setp.lt.s64", {0xFFFFFFFFFFFFFFFF, 0}, 1},
        {"setp.lt.and.s32", {1, 2, 0}, 0},
        {"setp.lt.xor.s32", {1, 2, 1}, 0},
        {"setp.gt.f16", {0x4000, 0x3C00}, 1},
        {"set.lt.u32.f32", {bits(1.0f), bits(2.0f)}, 0xFFFFFFFF},
        {"set.lt.f32.s32", {1, 2}, bits(1.0f)},
        {"set.gt.or.s32.f32", {bits(1.0f), bits(2.0f), 1}, 0xFFFFFFFFFFFFFFFF},
        {"set.gt.f16x2.f16x2", {0x40003C00, 0x3C004000}, 0x3C000000},
        {"selp.b32", {7, 9, 0}, 9},
        {"slct.u32.s32", {7, 9, 0xFFFFFFFF}, 9},
        {"slct.f32.f32", {7, 9, 0x80000000}, 7},
        {"slct.f32.f32", {7, 9, 0x7FC00000}, 9},
        {"mov.f32", {0x7FC12345}, 0x7FC12345},
        {"not.pred", {0}, 1},
        {"cnot.b32", {0}, 1},
        {"add.f32x2",
         {u64{bits(1.0f)} << 32 | bits(2.0f), u64{bits(3.0f)} << 32 | bits(4.0f)},
         u64{bits(4.0f)} << 32 | bits(6.0f)},
        {"mul24.lo.s32", {0x00FFFFFF, 2}, static_cast<u32>(-2)},
        {"add.f32.f16", {0x3C00, bits(2.0f)}, bits(3.0f)},
        {"ex2.approx.f32", {bits(3.0f)}, bits(8.0f)},
        {"lg2.approx.f32", {bits(8.0f)}, bits(3.0f)},
        {"rsqrt.approx.f32", {bits(4.0f)}, bits(0.5f)},
        {"ex2.approx.f16", {0x4200}, 0x4800},
        {"ex2.approx.f32", {0xFF800000}, 0},
        {"lg2.approx.f32", {0}, 0xFF800000},
        {"rcp.approx.ftz.f64", {0x4000000000000000}, 0x3FE0000000000000},
    };
    for (const auto& row : rows) {
        const u64 actual = one(row.name, row.inputs, row.operands);
        EXPECT_EQ(actual & 0xFFFFFFFF, row.expected & 0xFFFFFFFF) << row.name << " low";
        const std::string name = row.name;
        const bool wide = name.find("64") != std::string::npos ||
                          name.find("wide.s32") != std::string::npos ||
                          name.find("f32x2") != std::string::npos;
        if (wide) { EXPECT_EQ(actual, row.expected) << row.name; }
    }
}

TEST(Arithmetic, PairsOfResults) {
    const auto both = evaluate("setp.lt.and.f32", {{bits(1.0f)}, {bits(2.0f)}, {1}}, true)[0];
    EXPECT_EQ(both[0], 1u);
    EXPECT_EQ(both[1], 0u);
    const auto halves = evaluate("setp.gt.f16x2", {{0x40003C00}, {0x3C004000}}, true)[0];
    EXPECT_EQ(halves[0], 0u);  // p is the low half's
    EXPECT_EQ(halves[1], 1u);
    const auto lop = evaluate("lop3.and.b32", {{6}, {3}, {0}, {0xC0}, {1}}, true, 6)[0];
    EXPECT_EQ(lop[0], 2u);
    EXPECT_EQ(lop[1], 1u);
}

TEST(Arithmetic, CarriesAndBorrows) {
    const auto add = *find("add.cc.u32", 3);
    EXPECT_TRUE(add.writes_carry);
    EXPECT_EQ(add.outputs, 1);
    const auto sum = evaluate("add.cc.u32", {{0xFFFFFFFF, 1}, {1, 1}});
    EXPECT_EQ(sum[0][0], 0u);
    EXPECT_EQ(sum[0][1], 1u);
    EXPECT_EQ(sum[1][1], 0u);
    const auto with = evaluate("addc.cc.u64", {{~u64{0}}, {0}, {1}}, false, 3);
    EXPECT_EQ(with[0][0], 0u);
    EXPECT_EQ(with[0][1], 1u);
    const auto difference = evaluate("sub.cc.u32", {{0}, {1}});
    EXPECT_EQ(static_cast<u32>(difference[0][0]), 0xFFFFFFFFu);
    EXPECT_EQ(difference[0][1], 0u);  // a borrow is no carry
    EXPECT_EQ(static_cast<u32>(evaluate("subc.u32", {{5}, {1}, {0}}, false, 3)[0][0]), 3u);
    EXPECT_EQ(static_cast<u32>(evaluate("subc.u32", {{5}, {1}, {1}}, false, 3)[0][0]), 4u);
    const auto product = evaluate("mad.lo.cc.u32", {{0xFFFFFFFF}, {0xFFFFFFFF}, {0xFFFFFFFF}}, false, 4);
    EXPECT_EQ(product[0][0], 0u);
    EXPECT_EQ(product[0][1], 1u);
    EXPECT_EQ(evaluate("madc.hi.u32", {{0xFFFFFFFF}, {0xFFFFFFFF}, {0}, {1}}, false, 4)[0][0], 0xFFFFFFFFu);
}

TEST(Arithmetic, CarriesOfTheFormsThatTheManualLacks) {
    const auto run = [](const char* name, u64 a, u64 b, u64 carry) {
        return evaluate(name, {{a}, {b}, {carry}}, false, 3)[0][0];
    };
    EXPECT_EQ(run("addc.u16", 0xFFFF, 1, 1) & 0xFFFF, 1u);
    EXPECT_EQ(run("addc.s16", 0x7FFF, 0, 1) & 0xFFFF, 0x8000u);
    EXPECT_EQ(run("subc.u16", 5, 3, 1) & 0xFFFF, 2u);
    EXPECT_EQ(run("subc.s16", 5, 3, 0) & 0xFFFF, 1u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0, 0)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x80000000, 0xFFFFFFFF, 0)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x80000000, 0xFFFFFFFF, 1)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("addc.sat.s32", 0x7FFFFFFF, 0xFFFFFFFF, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x80000000, 0, 0)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x80000000, 0, 1)), 0x80000000u);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 0x7FFFFFFF, 0xFFFFFFFF, 0)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(run("subc.sat.s32", 7, 3, 0)), 3u);
    const auto fused = [](const char* name, u64 a, u64 b, u64 c, u64 carry) {
        return evaluate(name, {{a}, {b}, {c}, {carry}}, false, 4)[0][0];
    };
    EXPECT_EQ(fused("madc.lo.s16", 0xFFFF, 3, 10, 1) & 0xFFFF, 8u);
    EXPECT_EQ(fused("madc.lo.u16", 300, 300, 1, 1) & 0xFFFF, (90000u + 2) & 0xFFFF);
    EXPECT_EQ(static_cast<u32>(fused("madc.hi.sat.s32", 0x40000000, 4, 0x7FFFFFFE, 1)), 0x7FFFFFFFu);
    EXPECT_EQ(static_cast<u32>(fused("madc.hi.sat.s32", 0x40000000, 4, 5, 1)), 7u);
    EXPECT_FALSE(find("addc.cc.u16", 3));
    EXPECT_FALSE(find("addc.sat.u32", 3));
    EXPECT_FALSE(find("madc.lo.cc.u16", 4));
}

TEST(Arithmetic, WhatIsOutsideOfATensorMakesAFusedResultZero) {
    struct Row {
        const char* name;
        u64 a, b, c, d;
    };
    constexpr Row rows[] = {
        {"fma.rn.oob.f16", 0x3C00, 0x4000, 0x3C00, 0x4200},
        {"fma.rn.oob.f16", 0x7EFF, 0x4000, 0x3C00, 0},
        {"fma.rn.oob.f16", 0x3C00, 0x7EFF, 0x3C00, 0},
        {"fma.rn.oob.f16", 0x7E00, 0x3C00, 0x3C00, 0x7FFF},
        {"fma.rn.oob.relu.f16", 0xBC00, 0x4000, 0x3C00, 0},
        {"fma.rn.oob.sat.f16", 0x3C00, 0x4000, 0x3C00, 0x3C00},
        {"fma.rn.oob.f16x2", 0x7EFF3C00, 0x40004000, 0x3C003C00, 0x4200},
        {"fma.rn.oob.bf16", 0x7FDF, 0x4000, 0x3F80, 0},
        {"fma.rn.oob.bf16", 0x3F80, 0x4000, 0x3F80, 0x4040},
        {"fma.rz.oob.bf16x2", 0x3F807FDF, 0x40004000, 0x3F803F80, 0x40400000},
        {"fma.rp.oob.relu.bf16", 0x3F80, 0x4000, 0x3F80, 0x4040},
    };
    for (const Row& row : rows)
        EXPECT_EQ(static_cast<u32>(one(row.name, {row.a, row.b, row.c}, 4)), row.d)
            << row.name << std::hex << ' ' << row.a;
    for (const char* name :
         {"fma.rz.oob.f16", "fma.rn.oob.sat.bf16", "fma.rn.oob.f32", "fma.oob.f16", "fma.rn.ftz.oob.f16"})
        EXPECT_FALSE(find(name, 4)) << name;
}

TEST(Arithmetic, WhatOnlyPtxasAccepts) {
    EXPECT_EQ(one("rcp.rn.ftz.f64", {0x4010000000000000}, 2), 0x3FD0000000000000u);
    EXPECT_EQ(one("rcp.rp.ftz.f64", {0x0008000000000000}, 2), one("rcp.rp.f64", {0x0008000000000000}, 2));
    EXPECT_EQ(one("cvt.bf16.f16", {0x3C01}, 2) & 0xFFFF, one("cvt.rn.bf16.f16", {0x3C01}, 2) & 0xFFFF);
    EXPECT_EQ(one("cvt.f16.bf16", {0x3F80}, 2) & 0xFFFF, 0x3C00u);
}

TEST(Arithmetic, ColumnsOfOtherWidthsAreReadFromTheirLowBytesAndWrittenExtended) {
    const auto found = find("add.s16", 3);
    ASSERT_TRUE(found);
    const std::array<std::uint8_t, 1> to_bytes = {4};
    const std::array<std::uint8_t, 2> from_bytes = {8, 2};
    const u64 a[] = {0x12340001, 0xFFFFFFFFFFFFFFFF};
    const std::uint16_t b[] = {2, 0xFFFF};
    std::uint32_t d[2] = {};
    void* const to[] = {d};
    const void* const from[] = {a, b};
    found->with_widths(to_bytes, from_bytes).run_columns(to, from, 2);
    EXPECT_EQ(d[0], 3u);
    EXPECT_EQ(d[1], 0xFFFFFFFEu);
}

// Operations one after the other, each on registers of 32 values, some of which the one before wrote.
TEST(Arithmetic, RowsDoWhatColumnFunctionsDoOneByOne) {
    constexpr std::size_t registers = 12, lanes = 32, count = 9;
    std::mt19937_64 random(3);
    for (const char* name : {"fma.rn.f32", "fma.rn.ftz.f32", "mul.rn.f32", "mul.ftz.f32", "add.f32",
                             "add.rn.ftz.f32", "fma.rn.f64"}) {
        const bool is_fused = std::string_view(name).starts_with("fma");
        const auto pure = find(name, is_fused ? 4 : 3);
        ASSERT_TRUE(pure) << name;
        for (const Processor level : {Processor::baseline, Processor::avx2, Processor::avx512}) {
            if (level > this_processor()) continue;
            const ColumnFunction one = pure->on(level).first_function();
            const RowFunction row = row_function(one);
            ASSERT_NE(row, nullptr) << name;
            const std::size_t bytes = pure->input_bytes[0], column = bytes * lanes,
                              operands = 1 + pure->all_inputs();
            std::vector<std::uint32_t> values(registers * column / 4);
            for (std::uint32_t& value : values)
                value = random() % 4 == 0 ? static_cast<std::uint32_t>(random())
                                          : 0x3F000000u + static_cast<std::uint32_t>(random() % 0x1000000);
            std::vector<std::uint32_t> expected = values, places;
            for (std::size_t i = 0; i < count; ++i) {
                void* to[1];
                const void* from[3];
                for (std::size_t k = 0; k < operands; ++k) {
                    const std::size_t chosen = random() % registers;
                    places.push_back(static_cast<std::uint32_t>(chosen * column) | 2);
                    (k == 0 ? to[0] : const_cast<void*&>(from[k - 1])) =
                        expected.data() + chosen * column / 4;
                }
                one(to, from, lanes);
            }
            row(reinterpret_cast<std::byte*>(values.data()), places.data(), ~31u, count);
            EXPECT_EQ(values, expected) << name;
        }
    }
}

TEST(Arithmetic, WhatIsUnknownIsNotGuessed) {
    for (const char* name : {"add.f16.sat",
                             "add.u8",
                             "add.rn.u32",
                             "fma.f32",
                             "mul.u32",
                             "cvt.f32.s32",
                             "cvt.u32.f32",
                             "cvt.rn.f16.f16",
                             "setp.lo.f32",
                             "setp.hi.s32",
                             "setp.lt.b32",
                             "min.ftz.f64",
                             "tanh.approx.ftz.f32",
                             "ex2.f32",
                             "add.sat.u64",
                             "shl.u32",
                             "add.rn.ftz.bf16",
                             "cvt.rs.f16x2.f32",
                             "ld.global.u32",
                             "bar.sync",
                             "add.frobnicate.u32",
                             "mov.b128",
                             "cvt.rn.rn.f32.f64",
                             ""})
        EXPECT_FALSE(find(name, 3)) << name;
}

TEST(Arithmetic, KnowsEveryPureFormOfTheTableThatTheManualDefines) {
    std::size_t known = 0;
    for (const std::string_view opcode : isa::pure_opcodes()) {
        for (const isa::Form& form : isa::forms(opcode)) {
            // vectors are moved by those who hold them
            if (!form.pure || form.spelling.starts_with("mov.")) continue;
            std::size_t written = 0, inputs = 0, outputs = 0;
            for (const isa::OperandSpec& operand : form.operands) {
                written += operand.is_second ? 0 : 1;
                (operand.is_output ? outputs : inputs) += operand.count;
            }
            const auto found = find(form.spelling, written, written != form.operands.size());
            EXPECT_EQ(found.has_value(), !test::is_left_open(form.spelling)) << form.name;
            if (!found) continue;
            EXPECT_EQ(found->inputs, inputs) << form.name;
            EXPECT_EQ(found->outputs, outputs) << form.name;
            ++known;
        }
    }
    EXPECT_GT(known, 5000u);
}

}  // namespace
}  // namespace ptxgraft::arithmetic
