// The numbers of dsl/tcgen05.hpp against the manual's tables, written out once more, and against descriptors
// that kernels of others pass; every combination that the tables leave out is refused; ptxas has every name.

#include "ptxgraft/dsl/tcgen05.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <vector>

#include "ptxgraft/dsl.hpp"
#include "ptxgraft/link.hpp"

namespace ptxgraft {
namespace {

using namespace dsl;
using testing::HasSubstr;
using enum MmaType;

InstructionDescriptor of_kind(MmaKind kind) {
    InstructionDescriptor of{.kind = kind};
    switch (kind) {
        case MmaKind::f16: return of;
        case MmaKind::tf32: of.a = of.b = tf32; return of;
        case MmaKind::f8f6f4:
        case MmaKind::mxf8f6f4: of.a = of.b = e4m3; return of;
        case MmaKind::i8: of.a = of.b = u8, of.d = s32; return of;
        default: of.a = of.b = e2m1; return of;
    }
}
const std::vector<MmaKind> all_kinds = {MmaKind::f16,      MmaKind::tf32, MmaKind::f8f6f4,  MmaKind::i8,
                                        MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4};

// ---- fields

struct FieldRow {
    MmaKind kind;
    void (*set)(InstructionDescriptor&);
    std::uint32_t bits;  // as tables 42 to 44 have them; M 128 is 8 << 24, N 128 is 16 << 17
};
constexpr std::uint32_t m128_n128 = 0x0820'0000, f32_sum = 0x10;

const std::vector<FieldRow> field_rows = {
    {MmaKind::f16, [](auto&) {}, m128_n128 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.d = f16; }, m128_n128},
    {MmaKind::f16, [](auto& d) { d.a = bf16; }, m128_n128 | f32_sum | 1 << 7},
    {MmaKind::f16, [](auto& d) { d.b = bf16; }, m128_n128 | f32_sum | 1 << 10},
    {MmaKind::f16, [](auto& d) { d.negate_a = true; }, m128_n128 | f32_sum | 1 << 13},
    {MmaKind::f16, [](auto& d) { d.negate_b = true; }, m128_n128 | f32_sum | 1 << 14},
    {MmaKind::f16, [](auto& d) { d.transpose_a = true; }, m128_n128 | f32_sum | 1 << 15},
    {MmaKind::f16, [](auto& d) { d.transpose_b = true; }, m128_n128 | f32_sum | 1 << 16},
    {MmaKind::f16, [](auto& d) { d.n = 8; }, 8u << 24 | 1 << 17 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.n = 256; }, 8u << 24 | 32 << 17 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.m = 64; }, 4u << 24 | 16 << 17 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.m = 256, d.cta_group = 2; }, 16u << 24 | 16 << 17 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.m = 32, d.is_weight_stationary = true; }, 2u << 24 | 16 << 17 | f32_sum},
    {MmaKind::f16, [](auto& d) { d.is_weight_stationary = true, d.max_shift = 8; },
     m128_n128 | f32_sum | 1u << 30},
    {MmaKind::f16, [](auto& d) { d.is_weight_stationary = true, d.max_shift = 16; },
     m128_n128 | f32_sum | 2u << 30},
    {MmaKind::f16, [](auto& d) { d.is_weight_stationary = true, d.max_shift = 32; },
     m128_n128 | f32_sum | 3u << 30},
    {MmaKind::f16, [](auto& d) { d.is_sparse = true, d.sparsity_selector = 3; }, m128_n128 | f32_sum | 7},
    {MmaKind::tf32, [](auto&) {}, m128_n128 | f32_sum | 2 << 7 | 2 << 10},
    {MmaKind::f8f6f4, [](auto& d) { d.a = e5m2, d.b = e2m3; }, m128_n128 | f32_sum | 1 << 7 | 3 << 10},
    {MmaKind::f8f6f4, [](auto& d) { d.a = e3m2, d.b = e2m1, d.d = f16; }, m128_n128 | 4 << 7 | 5 << 10},
    {MmaKind::i8, [](auto& d) { d.a = s8, d.saturate = true; }, m128_n128 | 2 << 4 | 1 << 7 | 1 << 3},
    {MmaKind::i8, [](auto& d) { d.b = s8; }, m128_n128 | 2 << 4 | 1 << 10},
    {MmaKind::mxf8f6f4, [](auto&) {}, m128_n128 | 1 << 23},
    {MmaKind::mxf8f6f4, [](auto& d) { d.a = e2m1, d.b = e3m2; }, m128_n128 | 1 << 23 | 5 << 7 | 4 << 10},
    {MmaKind::mxf8f6f4, [](auto& d) { d.scale_a_id = 3; }, m128_n128 | 1 << 23 | 3u << 29},
    {MmaKind::mxf8f6f4, [](auto& d) { d.scale_b_id = 3; }, m128_n128 | 1 << 23 | 3 << 4},
    {MmaKind::mxf8f6f4, [](auto& d) { d.m = 256, d.cta_group = 2; }, 2u << 27 | 16 << 17 | 1 << 23},
    {MmaKind::mxf8f6f4, [](auto& d) { d.is_sparse = true; }, m128_n128 | 1 << 23 | 1 << 2},
    {MmaKind::mxf4, [](auto&) {}, m128_n128 | 1 << 23 | 1 << 7 | 1 << 10},
    {MmaKind::mxf4, [](auto& d) { d.scale_a_id = 2; }, m128_n128 | 1 << 23 | 1 << 7 | 1 << 10 | 2u << 29},
    {MmaKind::mxf4nvf4, [](auto& d) { d.block = 16, d.scale = ue4m3; }, m128_n128 | 1 << 7 | 1 << 10},
    {MmaKind::mxf4nvf4, [](auto& d) { d.block = 16; }, m128_n128 | 1 << 23 | 1 << 7 | 1 << 10},
    {MmaKind::mxf4nvf4, [](auto& d) { d.cta_group = 2, d.m = 256, d.is_depth_96 = true; },
     2u << 27 | 16 << 17 | 1 << 23 | 1 << 7 | 1 << 10 | 1u << 31},
};

TEST(Tcgen05, FieldsAreWhereTheTablesHaveThem) {
    for (std::size_t i = 0; i < field_rows.size(); ++i) {
        InstructionDescriptor of = of_kind(field_rows[i].kind);
        field_rows[i].set(of);
        const auto bits = of.bits();
        ASSERT_TRUE(bits) << "row " << i << ": " << describe(bits.error());
        EXPECT_EQ(*bits, field_rows[i].bits) << "row " << i;
    }
}

// Numbers in kernels of others: those of several GEMMs for .f16 and .bf16 on sm_100a; pyptx's descriptor of
// K-major tiles; of TIRx's MXFP8 projection after cuDNN Frontend those of matrices, of scale factors and of
// the product of 192 columns; and its N-major tiles of .bf16.
static_assert(bits_of<InstructionDescriptor{.n = 256}> == 0x0840'0010);
static_assert(bits_of<InstructionDescriptor{.n = 256, .a = bf16, .b = bf16}> == 138413200);
static_assert(bits_of<InstructionDescriptor{.a = bf16, .b = bf16}> == 0x0820'0490);
static_assert(bits_of<InstructionDescriptor{.kind = MmaKind::mxf8f6f4, .n = 192, .a = e4m3, .b = e4m3}> ==
              0x08B0'0000);
static_assert(bits_of<SharedDescriptor{descriptor_of(tile_of(128))}> == 0x4000'4040'0001'0000);
static_assert(bits_of<scale_descriptor> == 0x4008'0001'0000);
static_assert(bits_of<SharedDescriptor{{8192, 1024, TensorSwizzle::bytes128}}> == 0x4000'4040'0200'0000);

// ---- shapes, types and options that are refused

// A line of table 39: of these kinds, the values of M and N.
struct ShapeRow {
    std::vector<MmaKind> kinds;
    bool ws;
    std::uint32_t cta_group;
    bool sparse;
    std::set<std::uint32_t> m, n;
};
std::set<std::uint32_t> steps(std::uint32_t step) {
    std::set<std::uint32_t> all;
    for (std::uint32_t n = step; n <= 256; n += step) all.insert(n);
    return all;
}
std::vector<ShapeRow> shape_rows() {
    const std::vector<MmaKind> plain = {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4}, i8 = {MmaKind::i8},
                               scaled = {MmaKind::mxf8f6f4, MmaKind::mxf4, MmaKind::mxf4nvf4},
                               unscaled = {MmaKind::f16, MmaKind::tf32, MmaKind::f8f6f4, MmaKind::i8};
    auto n_i8 = steps(16);
    n_i8.insert({8, 24});
    std::vector<ShapeRow> rows;
    for (const bool sparse : {false, true}) {
        rows.push_back({plain, false, 1, sparse, {64, 128}, steps(8)});
        rows.push_back({plain, false, 2, sparse, {128, 256}, steps(16)});
        rows.push_back({i8, false, 1, sparse, {64, 128}, n_i8});
        rows.push_back({i8, false, 2, sparse, {128, 256}, steps(32)});
        rows.push_back({scaled, false, 1, sparse, {128}, steps(8)});
    }
    rows.push_back({scaled, false, 2, false, {128, 256}, steps(16)});
    rows.push_back({scaled, false, 2, true, {256}, steps(16)});
    rows.push_back({unscaled, true, 1, false, {32, 64, 128}, {64, 128, 256}});
    rows.push_back({unscaled, true, 1, true, {32, 64, 128}, {64, 128}});
    return rows;
}
bool is_in_table(const InstructionDescriptor& of) {
    static const std::vector<ShapeRow> rows = shape_rows();
    return std::any_of(rows.begin(), rows.end(), [&](const ShapeRow& row) {
        return std::count(row.kinds.begin(), row.kinds.end(), of.kind) != 0 &&
               row.ws == of.is_weight_stationary && row.cta_group == of.cta_group &&
               row.sparse == of.is_sparse && row.m.contains(of.m) && row.n.contains(of.n);
    });
}

TEST(Tcgen05, ShapesAreThoseOfTheTable) {
    std::size_t right = 0;
    for (const MmaKind kind : all_kinds)
        for (unsigned options = 0; options < 16; ++options)
            for (std::uint32_t m = 0; m <= 288; m += 16)
                for (std::uint32_t n = 0; n <= 272; n += 4) {
                    InstructionDescriptor of = of_kind(kind);
                    of.is_weight_stationary = (options & 1) != 0, of.is_sparse = (options & 2) != 0;
                    of.cta_group = options >> 2, of.m = m, of.n = n;
                    ASSERT_EQ(of.bits().has_value(), is_in_table(of))
                        << static_cast<int>(kind) << " " << options << " " << m << " " << n << " "
                        << of.problem().view();
                    right += is_in_table(of);
                }
    EXPECT_GT(right, 1000u);
}

TEST(Tcgen05, TypesAreThoseOfTheKind) {
    const auto expect = [](MmaKind kind, const std::set<MmaType>& multiplicands,
                           const std::set<MmaType>& sums) {
        for (int i = 0; i < 14; ++i) {
            const auto type = static_cast<MmaType>(i);
            auto a = of_kind(kind), b = a, d = a;
            a.a = type, b.b = type, d.d = type;
            EXPECT_EQ(a.problem().empty(), multiplicands.contains(type)) << i << a.problem().view();
            EXPECT_EQ(b.problem().empty(), multiplicands.contains(type)) << i << b.problem().view();
            EXPECT_EQ(d.problem().empty(), sums.contains(type)) << i << d.problem().view();
        }
    };
    const std::set<MmaType> narrow = {e4m3, e5m2, e2m3, e3m2, e2m1};
    expect(MmaKind::f16, {f16, bf16}, {f16, f32});
    expect(MmaKind::tf32, {tf32}, {f32});
    expect(MmaKind::f8f6f4, narrow, {f16, f32});
    expect(MmaKind::i8, {u8, s8}, {s32});
    expect(MmaKind::mxf8f6f4, narrow, {f32});
    expect(MmaKind::mxf4, {e2m1}, {f32});
    expect(MmaKind::mxf4nvf4, {e2m1}, {f32});
}

struct Wrong {
    MmaKind kind;
    void (*set)(InstructionDescriptor&);
    const char* says;
};
const std::vector<Wrong> wrongs = {
    {MmaKind::f16, [](auto& d) { d.m = 96; }, ".kind::f16: m is 96; right: 64, 128"},
    {MmaKind::f16, [](auto& d) { d.cta_group = 2, d.m = 64; }, "m is 64; right: 128, 256"},
    {MmaKind::mxf4, [](auto& d) { d.m = 64; }, "m is 64; right: 128"},
    {MmaKind::f16, [](auto& d) { d.n = 12; }, "n is 12; right: 8, 16, 24, and on to 256 in steps of 8"},
    {MmaKind::i8, [](auto& d) { d.n = 40; }, "n is 40; right: 8, 16, 24, 32, and on to 256 in steps of 16"},
    {MmaKind::f16, [](auto& d) { d.cta_group = 3; }, "cta_group is 3; right: 1, 2"},
    {MmaKind::f16, [](auto& d) { d.a = e4m3; }, "a is e4m3; right: f16, bf16"},
    {MmaKind::f16, [](auto& d) { d.b = bf16, d.d = f16; }, "d is f16; right: f32"},
    {MmaKind::i8, [](auto& d) { d.d = f32; }, ".kind::i8: d is f32; right: s32"},
    {MmaKind::mxf8f6f4, [](auto& d) { d.is_weight_stationary = true; }, ".ws is of cta_group 1, without"},
    {MmaKind::f16, [](auto& d) { d.is_weight_stationary = true, d.cta_group = 2; }, ".ws is of cta_group 1"},
    {MmaKind::f16, [](auto& d) { d.is_depth_96 = true, d.cta_group = 2, d.m = 256; }, "a depth of 96 is of"},
    {MmaKind::mxf4, [](auto& d) { d.is_depth_96 = true; }, "a depth of 96 is of"},
    {MmaKind::mxf4, [](auto& d) { d.is_depth_96 = true, d.cta_group = 2; }, "m is 128; right: 256"},
    {MmaKind::i8, [](auto& d) { d.negate_a = true; }, "negate_a and negate_b are false"},
    {MmaKind::i8, [](auto& d) { d.negate_b = true; }, "negate_a and negate_b are false"},
    {MmaKind::mxf4, [](auto& d) { d.transpose_a = true; }, "transpose_a is false"},
    {MmaKind::mxf4nvf4, [](auto& d) { d.transpose_b = true; }, "transpose_b is false"},
    {MmaKind::f8f6f4, [](auto& d) { d.a = e2m3, d.transpose_a = true; }, "transpose_a is false"},
    {MmaKind::f8f6f4, [](auto& d) { d.b = e2m1, d.transpose_b = true; }, "transpose_b is false"},
    // Table 52
    {MmaKind::f8f6f4, [](auto& d) { d.transpose_b = true, d.n = 24; }, "n is 24; right: 16, 32, 48"},
    {MmaKind::i8, [](auto& d) { d.transpose_b = true, d.n = 8; }, "n is 8; right: 16, 32, 48"},
    {MmaKind::mxf8f6f4, [](auto& d) { d.transpose_b = true, d.n = 48, d.cta_group = 2; }, "in steps of 32"},
    {MmaKind::f16, [](auto& d) { d.saturate = true; }, "saturate is false"},
    {MmaKind::f16, [](auto& d) { d.sparsity_selector = 1; }, "sparsity_selector is 0"},
    {MmaKind::f16, [](auto& d) { d.is_sparse = true, d.sparsity_selector = 4; }, "sparsity_selector is 0"},
    {MmaKind::i8, [](auto& d) { d.is_sparse = true, d.sparsity_selector = 1; }, "sparsity_selector is 0"},
    {MmaKind::f16, [](auto& d) { d.max_shift = 8; }, "max_shift is 0"},
    {MmaKind::f16, [](auto& d) { d.is_weight_stationary = true, d.max_shift = 4; }, "max_shift is 0"},
    {MmaKind::mxf8f6f4, [](auto& d) { d.block = 16; }, "block is 16; right: 32"},
    {MmaKind::mxf4nvf4, [](auto& d) { d.block = 8; }, "block is 8; right: 16, 32"},
    {MmaKind::mxf4, [](auto& d) { d.block = 0; }, "block is 0; right: 32"},
    {MmaKind::mxf8f6f4, [](auto& d) { d.scale = ue4m3; }, "scale is ue4m3; right: ue8m0"},
    {MmaKind::mxf4nvf4, [](auto& d) { d.scale = ue4m3; }, "scale is ue4m3; right: ue8m0"},
    {MmaKind::f16, [](auto& d) { d.scale_b_id = 1; }, "scale_a_id and scale_b_id are 0"},
    {MmaKind::mxf8f6f4, [](auto& d) { d.scale_a_id = 4; }, "scale_a_id and scale_b_id are 0 to 3"},
    {MmaKind::mxf4, [](auto& d) { d.scale_b_id = 1; }, "scale_a_id and scale_b_id are 0 or 2"},
    {MmaKind::mxf4nvf4, [](auto& d) { d.block = 16, d.scale_a_id = 2; }, "scale_a_id and scale_b_id are 0"},
};
TEST(Tcgen05, WhatTheManualDoesNotAllowIsRefusedWithWhatWouldBeRight) {
    for (const Wrong& wrong : wrongs) {
        InstructionDescriptor of = of_kind(wrong.kind);
        wrong.set(of);
        const auto bits = of.bits();
        ASSERT_FALSE(bits) << wrong.says;
        EXPECT_EQ(bits.error().code, Errc::argument_invalid);
        EXPECT_THAT(describe(bits.error()), HasSubstr(wrong.says));
    }
}

// ---- what follows from a shape

TEST(Tcgen05, DepthsScalesAndColumnsFollowFromTheKind) {
    const std::uint32_t depths[] = {16, 8, 32, 32, 32, 64, 64};
    for (std::size_t i = 0; i < all_kinds.size(); ++i) {
        auto of = of_kind(all_kinds[i]);
        EXPECT_EQ(of.depth(), depths[i]);
        of.is_sparse = true;
        EXPECT_EQ(of.depth(), 2 * depths[i]);
    }
    EXPECT_EQ((InstructionDescriptor{.kind = MmaKind::mxf4, .is_depth_96 = true}.depth()), 96u);
    EXPECT_EQ(of_kind(MmaKind::mxf8f6f4).scales(), 1u);
    EXPECT_EQ(of_kind(MmaKind::mxf4).scales(), 2u);
    EXPECT_EQ((InstructionDescriptor{.kind = MmaKind::mxf4nvf4, .block = 16}.scales()), 4u);
    // 9.7.16.10.5: M rows, of each block, in 128 lanes; with M 64 half of the lanes are left empty.
    using D = InstructionDescriptor;
    EXPECT_EQ((D{.m = 128, .n = 96}.columns()), 96u);                                     // layout D
    EXPECT_EQ((D{.m = 64, .n = 96}.columns()), 96u);                                      // F
    EXPECT_EQ((D{.cta_group = 2, .m = 256, .n = 96}.columns()), 96u);                     // A
    EXPECT_EQ((D{.cta_group = 2, .m = 128, .n = 96}.columns()), 48u);                     // B
    EXPECT_EQ((D{.cta_group = 2, .m = 128, .n = 96, .is_sparse = true}.columns()), 96u);  // C
    EXPECT_EQ((D{.m = 64, .n = 128, .is_weight_stationary = true}.columns()), 64u);       // E
    EXPECT_EQ((D{.m = 32, .n = 128, .is_weight_stationary = true}.columns()), 32u);       // G
}

TEST(Tcgen05, TensorMemoryIsCountedAsTheManualCounts) {
    EXPECT_EQ(tensor_offset(1, 0), 0x10000u);
    EXPECT_EQ(tensor_offset(127, 511), 0x7F'01FFu);
    for (std::uint32_t warp = 0; warp < 12; ++warp) EXPECT_EQ(first_lane_of(warp), 32 * (warp & 3));
    for (const auto& [needed, allocated] : std::vector<std::pair<std::uint32_t, std::uint32_t>>{
             {1, 32}, {32, 32}, {33, 64}, {256, 256}, {288, 512}, {512, 512}, {513, 1024}})
        EXPECT_EQ(allocated_columns(needed), allocated);
    EXPECT_EQ(pair_mask(0), 3u);
    EXPECT_EQ(pair_mask(1), 3u);
    EXPECT_EQ(pair_mask(6), 0xC0u);
    EXPECT_EQ(pair_mask(15), 0xC000u);
}

// ---- descriptors of shared memory

TEST(Tcgen05, SharedDescriptorsHaveTheirFieldsWhereTheTableHasThem) {
    const std::uint64_t fixed = std::uint64_t{1} << 46;
    const auto bits = [](const SharedDescriptor& of, std::uint32_t address = 0) { return *of.bits(address); };
    EXPECT_EQ(bits({}), fixed);
    EXPECT_EQ(bits({}, 0x3'FFF0), fixed | 0x3FFF);
    EXPECT_EQ(bits({{.leading_bytes = 0x3'FFF0}}), fixed | std::uint64_t{0x3FFF} << 16);
    EXPECT_EQ(bits({{.stride_bytes = 0x3'FFF0}}), fixed | std::uint64_t{0x3FFF} << 32);
    EXPECT_EQ(bits({{.swizzle = TensorSwizzle::bytes128_atom32}}), fixed | std::uint64_t{1} << 61);
    EXPECT_EQ(bits({{.swizzle = TensorSwizzle::bytes128}}), fixed | std::uint64_t{2} << 61);
    EXPECT_EQ(bits({{.swizzle = TensorSwizzle::bytes64}}), fixed | std::uint64_t{4} << 61);
    EXPECT_EQ(bits({{.swizzle = TensorSwizzle::bytes32}}), fixed | std::uint64_t{6} << 61);
    EXPECT_EQ(bits({{.base_offset = 7}}), fixed | std::uint64_t{7} << 49);
    EXPECT_EQ(bits({{.leading_bytes = 0x400, .swizzle = TensorSwizzle::bytes128}, true}),
              fixed | std::uint64_t{0x40} << 16 | std::uint64_t{1} << 52 | std::uint64_t{2} << 61);
    // The examples of 9.7.16.3.3 that have strides, in bytes.
    EXPECT_EQ(bits({{.leading_bytes = 256, .stride_bytes = 128}}),
              fixed | 16u << 16 | std::uint64_t{8} << 32);
    EXPECT_EQ(bits({{256, 512, TensorSwizzle::bytes32}}),
              fixed | 16u << 16 | std::uint64_t{32} << 32 | std::uint64_t{6} << 61);
    EXPECT_EQ(bits({{512, 1024, TensorSwizzle::bytes64}}),
              fixed | 32u << 16 | std::uint64_t{64} << 32 | std::uint64_t{4} << 61);
}
TEST(Tcgen05, WrongSharedDescriptorsAreRefused) {
    const auto says = [](const SharedDescriptor& of, std::uint32_t address, const char* text) {
        const auto bits = of.bits(address);
        ASSERT_FALSE(bits) << text;
        EXPECT_THAT(describe(bits.error()), HasSubstr(text));
    };
    says({{.leading_bytes = 8}}, 0, "multiples of 16");
    says({{.stride_bytes = 1 << 18}}, 0, "multiples of 16");
    says({{.swizzle = TensorSwizzle::bytes128_atom64}}, 0, "bytes128_atom32 are right");
    says({{.swizzle = TensorSwizzle::bytes128_atom32_flip8}}, 0, "bytes128_atom32 are right");
    says({{.base_offset = 8}}, 0, "base_offset is 0 to 7");
    says({{.swizzle = TensorSwizzle::bytes64}, true}, 0, "is_leading_address is of bytes128");
    says({{.swizzle = TensorSwizzle::bytes128, .base_offset = 1}, true}, 0,
         "is_leading_address is of bytes128");
    says({}, 8, "an address of shared memory");
    says({}, 1 << 18, "an address of shared memory");
}
TEST(Tcgen05, TransposedMatricesWantTheSwizzleOfTheirElements) {
    const SharedDescriptor plain{{.swizzle = TensorSwizzle::bytes128}},
        atoms{{.swizzle = TensorSwizzle::bytes128_atom32}};
    InstructionDescriptor half, wide = of_kind(MmaKind::tf32);
    EXPECT_TRUE(takes_a(half, plain) && takes_a(half, atoms) && takes_b(wide, plain) && takes_b(wide, atoms));
    half.transpose_a = wide.transpose_a = true;
    EXPECT_TRUE(takes_a(half, plain) && !takes_a(half, atoms) && takes_b(half, atoms));
    EXPECT_TRUE(!takes_a(wide, plain) && takes_a(wide, atoms) && takes_b(wide, plain));
    half.transpose_b = wide.transpose_b = true;
    EXPECT_TRUE(takes_b(half, plain) && !takes_b(half, atoms));
    EXPECT_TRUE(!takes_b(wide, plain) && takes_b(wide, atoms));
}
TEST(Tcgen05, ProductsAlongKAdvanceADescriptor) {
    const SharedDescriptor swizzled{descriptor_of(tile_of(128))}, plain{{.leading_bytes = 2048}};
    EXPECT_EQ(swizzled.along_k(3), 96u);
    EXPECT_EQ(plain.along_k(1), 4096u);  // two pieces of 16 bytes
    EXPECT_EQ(swizzled.encode() + MatrixDescriptor::advance(96), swizzled.encode(96));
}
TEST(Tcgen05, ZeroColumnMasksHaveTheirFieldsWhereTheTableHasThem) {
    // Example 4 of 9.7.16.4.3.
    const ZeroColumnMask mask{{0, 1, 2, 1}, {true, true, false, false}, true, 2, 3, 2};
    EXPECT_EQ(*mask.bits(32), 0x0203'0283'0102'0100u);
    EXPECT_EQ(*(ZeroColumnMask{.is_any = false}.bits(128)), 0u);
    EXPECT_TRUE((ZeroColumnMask{.column_shift = 32}.bits(64)));
    EXPECT_FALSE((ZeroColumnMask{.column_shift = 33}.bits(64)));
    EXPECT_FALSE((ZeroColumnMask{.column_shift = 17}.bits(32)));
    EXPECT_FALSE((ZeroColumnMask{.skip_span = 256}.bits(128)));
    EXPECT_FALSE((ZeroColumnMask{.start_count = {0, 0, 256}}.bits(128)));
}

TEST(Tcgen05, ScaleTilesHaveAByteForEachRowAndBlock) {
    std::set<std::uint64_t> places;
    for (std::uint32_t row = 0; row < 300; ++row)
        for (std::uint32_t block = 0; block < 12; ++block)
            places.insert(ScaleTile::offset(row, block, ScaleTile::tiles_of_blocks(10)));
    EXPECT_EQ(places.size(), 300u * 12);
    EXPECT_LT(*places.rbegin(), 3u * 3 * 512);
    EXPECT_EQ(ScaleTile::offset(0, 3, 2), 3u);
    EXPECT_EQ(ScaleTile::offset(33, 0, 2), 16u + 4);
    EXPECT_EQ(ScaleTile::offset(0, 4, 2), 512u);
    EXPECT_EQ(ScaleTile::offset(128, 5, 2), 2 * 512u + 512 + 1);
}

// ---- names and text

template <InstructionDescriptor D> void emit_product(FunctionBuilder<sm_100a>& k) {
    const auto d = k.reg<b32>(), sparse = k.reg<b32>();
    const auto a = k.reg<u64>(), b = k.reg<u64>();
    const auto instruction = k.reg<u32>();
    const auto p = k.reg<pred>();
    k.emit<"mov.b32">(d, 0), k.emit<"mov.b32">(sparse, 0);
    k.emit<"mov.u64">(a, bits_of<SharedDescriptor{}>), k.emit<"mov.u64">(b, bits_of<SharedDescriptor{}>);
    k.emit<"mov.u32">(instruction, bits_of<D>);
    k.emit<"setp.eq.u32">(p, instruction, 0);
    if constexpr (D.is_scaled() && D.is_sparse)
        k.emit<tcgen05_mma<D>>(at(d), a, b, at(sparse), instruction, at(d), at(d), p);
    else if constexpr (D.is_scaled())
        k.emit<tcgen05_mma<D>>(at(d), a, b, instruction, at(d), at(d), p);
    else if constexpr (D.is_sparse)
        k.emit<tcgen05_mma<D>>(at(d), a, b, at(sparse), instruction, p);
    else
        k.emit<tcgen05_mma<D>>(at(d), a, b, instruction, p);
}
template <std::uint32_t CtaGroup, bool IsSparse> void emit_kinds(FunctionBuilder<sm_100a>& k) {
    using D = InstructionDescriptor;
    constexpr std::uint32_t g = CtaGroup, m = CtaGroup == 1 ? 128 : 256;
    constexpr bool sp = IsSparse;
    emit_product<D{.cta_group = g, .m = m, .a = bf16, .b = bf16, .is_sparse = sp}>(k);
    emit_product<D{.kind = MmaKind::tf32, .cta_group = g, .m = m, .a = tf32, .b = tf32, .is_sparse = sp}>(k);
    emit_product<D{.kind = MmaKind::f8f6f4, .cta_group = g, .m = m, .a = e5m2, .b = e2m1, .is_sparse = sp}>(
        k);
    emit_product<D{.kind = MmaKind::i8, .cta_group = g, .m = m, .a = u8, .b = s8, .d = s32, .is_sparse = sp}>(
        k);
    emit_product<D{.kind = MmaKind::mxf8f6f4, .cta_group = g, .m = m, .a = e4m3, .b = e4m3, .is_sparse = sp}>(
        k);
    emit_product<D{.kind = MmaKind::mxf4, .cta_group = g, .m = m, .a = e2m1, .b = e2m1, .is_sparse = sp}>(k);
    emit_product<D{.kind = MmaKind::mxf4nvf4,
                   .cta_group = g,
                   .m = m,
                   .a = e2m1,
                   .b = e2m1,
                   .is_sparse = sp,
                   .block = 16}>(k);
    k.emit<grouped<"tcgen05.relinquish_alloc_permit", g, ".sync.aligned">()>();
}
void expect_assembles(void (*emit)(FunctionBuilder<sm_100a>& k)) {
    Module module({.target = "sm_100a"});
    auto& k = module.entry<sm_100a>("products");
    emit(k);
    k.emit<"ret">();
    const auto ptx = module.ptx();
    ASSERT_TRUE(ptx) << describe(ptx.error());
    const auto cubin = default_assembler().assemble(*ptx, {});
    EXPECT_TRUE(cubin) << describe(cubin.error(), *ptx);
}
// All instructions of a kernel are of one CTA group.
TEST(Tcgen05, PtxasTakesTheInstructionOfEveryKind) {
    expect_assembles(emit_kinds<1, false>);
    expect_assembles(emit_kinds<2, false>);
    expect_assembles(emit_kinds<1, true>);
    expect_assembles(emit_kinds<2, true>);
    expect_assembles([](FunctionBuilder<sm_100a>& k) {
        emit_product<InstructionDescriptor{.m = 32, .is_weight_stationary = true}>(k);
        emit_product<InstructionDescriptor{.m = 32, .is_sparse = true, .is_weight_stationary = true}>(k);
    });
    EXPECT_EQ((tcgen05_mma<InstructionDescriptor{.is_sparse = true, .is_weight_stationary = true}>.view()),
              "tcgen05.mma.ws.sp.cta_group::1.kind::f16");
    EXPECT_EQ((tcgen05_mma<InstructionDescriptor{.kind = MmaKind::mxf4, .cta_group = 2}>.view()),
              "tcgen05.mma.cta_group::2.kind::mxf4.block_scale.block32");
}

TEST(Tcgen05, PrintsWhatItSays) {
    Module module({.target = "sm_100a"});
    auto& k = module.entry<sm_100a>("prints");
    const auto address = k.reg<u32>();
    k.emit<"mov.u32">(address, 1024);
    (void)shared_descriptor<SharedDescriptor{descriptor_of(tile_of(128))}>(k, address);
    k.emit<"ret">();
    EXPECT_THAT(*module.ptx(), HasSubstr("\tbfe.u32 %u2, %u1, 4, 14;\n"
                                         "\tcvt.u64.u32 %ud1, %u2;\n"
                                         "\tor.b64 %ud1, %ud1, 4611756662049538048;\n"));
}

}  // namespace
}  // namespace ptxgraft
