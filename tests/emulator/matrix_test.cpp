// mma.sync of registers against the layouts of the PTX manual.
#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <string>

#include "support/matrix_layouts.hpp"

namespace ptxgraft::emulator {
namespace {

struct Row {
    unsigned m, k;  ///< n is 8
    std::vector<MatrixType> multiplicands, accumulators;
    bool mixed;  ///< a and b may differ
    Formula a, b;
};

const std::vector<Row>& rows() {
    static const std::vector<Row> all = {
        {16, 8, {f16}, {f16, f32}, false, a_m16n8k8_f16, b_m16n8k8_f16},
        {16, 16, {f16}, {f16, f32}, false, a_m16n8k16_f16, b_m16n8k16_f16},
        {16, 8, {bf16}, {f32}, false, a_m16n8k8_f16, b_m16n8k8_f16},
        {16, 16, {bf16}, {f32}, false, a_m16n8k16_f16, b_m16n8k16_f16},
        {16, 4, {tf32}, {f32}, false, a_m16n8k4, b_m16n8k4},
        {16, 8, {tf32}, {f32}, false, a_m16n8k8_tf32, b_m16n8k8_tf32},
        {16, 16, {e4m3, e5m2}, {f16, f32}, true, a_m16n8k16_s8, b_m16n8k16_s8},
        {16, 32, {e4m3, e5m2}, {f16, f32}, true, a_m16n8k32_s8, b_m16n8k32_s8},
        {8, 16, {s8, u8}, {s32}, true, a_m8n8k16, b_m8n8k16},
        {16, 16, {s8, u8}, {s32}, true, a_m16n8k16_s8, b_m16n8k16_s8},
        {16, 32, {s8, u8}, {s32}, true, a_m16n8k32_s8, b_m16n8k32_s8},
        {8, 32, {s4, u4}, {s32}, true, a_m8n8k32, b_m8n8k32},
        {16, 32, {s4, u4}, {s32}, true, a_m16n8k32_s4, b_m16n8k32_s4},
        {16, 64, {s4, u4}, {s32}, true, a_m16n8k64_s4, b_m16n8k64_s4},
        {8, 128, {b1}, {s32}, false, a_m8n8k128, b_m8n8k128},
        {16, 128, {b1}, {s32}, false, a_m16n8k128, b_m16n8k128},
        {16, 256, {b1}, {s32}, false, a_m16n8k256, b_m16n8k256},
    };
    return all;
}

/// Every instruction of a row.
std::vector<Mma> instructions(const Row& row) {
    std::vector<Mma> all;
    for (const MatrixType a : row.multiplicands)
        for (const MatrixType b : row.multiplicands)
            for (const MatrixType c : row.accumulators)
                for (const bool second : {false, true}) {
                    if (a != b && !row.mixed) continue;
                    if (second && c != s32) continue;
                    Mma mma{.m = static_cast<std::uint16_t>(row.m),
                            .n = 8,
                            .k = static_cast<std::uint16_t>(row.k),
                            .a = a,
                            .b = b,
                            .c = c,
                            .d = c};
                    if (a == b1)
                        mma.bits = second ? BitOperation::and_ : BitOperation::xor_;
                    else
                        mma.satfinite = second;
                    all.push_back(mma);
                }
    return all;
}

TEST(Matrix, MmaComputesWhatItsLayoutsSay) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        for (const Row& row : rows())
            for (const Mma& mma : instructions(row)) {
                SCOPED_TRACE(static_cast<int>(engine));
                ASSERT_TRUE(is_supported(mma)) << name_of(mma);
                for (const unsigned special : {0u, 0u, 1u, 4u, 32u}) {
                    RandomElements random(row.k + 100 * special + row.m, special);
                    Fragments fragments(mma, random);
                    fragments.run(mma);
                    const Matrix a = matrix_of(fragments.a, mma.a, row.a);
                    ASSERT_EQ(a.size(), row.m * row.k);
                    check(mma, fragments, a, row.b);
                    if (HasFailure()) return;
                }
            }
    }
}

TEST(Matrix, EveryNumberOfEachTypeIsItself) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        for (const MatrixType type : {f16, bf16, e4m3, e5m2}) {
            const Mma mma{.m = 16, .n = 8, .k = 16, .a = type, .b = type};
            const std::uint32_t one = type == f16    ? 0x3C00
                                      : type == bf16 ? 0x3F80
                                      : type == e4m3 ? 0x38
                                                     : 0x3C;
            RandomElements random(1, 0);
            Fragments fragments(mma, random);
            const unsigned bits = element_bits(type), numbers = 1u << bits;
            for (auto& c : fragments.c) c = {};
            for (auto& b : fragments.b) b = {};
            for (unsigned i = 0; i < 8; ++i)
                set_element(fragments.b.data(), type, 4 * i, 0, one);  // k = 0: all ones
            for (std::uint32_t first = 0; first < numbers; first += 16) {
                for (unsigned row = 0; row < 16; ++row)
                    set_element(fragments.a.data(), type, row % 8 * 4, row / 8 * (32 / bits), first + row);
                for (auto& a : fragments.a)
                    for (unsigned lane = 0; lane < 32; ++lane)
                        a.lane[lane] &= lane % 4 == 0 && (&a - fragments.a.data()) < 2
                                            ? (bits == 16 ? 0xFFFFu : 0xFFu)
                                            : 0;
                fragments.run(mma);
                for (unsigned row = 0; row < 16; ++row) {
                    const double want = value_of(type, first + row);
                    const auto got = std::bit_cast<float>(fragments.d[row / 8 * 2].lane[row % 8 * 4]);
                    if (std::isnan(want))
                        ASSERT_EQ(std::bit_cast<std::uint32_t>(got), 0x7FFFFFFFu);
                    else
                        ASSERT_EQ(static_cast<double>(got), want) << first + row;
                }
            }
        }
    }
}

TEST(Matrix, ResultsOfF16AreRoundedOnce) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        const Mma mma{.m = 16, .n = 8, .k = 16, .c = f16, .d = f16};
        RandomElements random(3, 0);
        for (int trial = 0; trial < 300; ++trial) {
            Fragments fragments(mma, random);
            for (auto* registers : {&fragments.a, &fragments.b, &fragments.c})
                for (auto& one : *registers)
                    for (auto& word : one.lane)
                        word = random.word() & 0xBFFFBFFF;  // small, many subnormal sums
            if (trial % 3 == 0)
                for (auto& one : fragments.a)
                    for (auto& word : one.lane)
                        word = random.word() & 0x03030303;  // results below the normal numbers
            fragments.run(mma);
            check(mma, fragments, matrix_of(fragments.a, f16, a_m16n8k16_f16), b_m16n8k16_f16);
            if (HasFailure()) return;
        }
    }
}

void check_that_doubles_are_fused() {
    struct Shape {
        unsigned m, k;
        Formula a, b;
    };
    const Shape shapes[] = {{8, 4, a_m8n8k4_f64, b_m8n8k4_f64},
                            {16, 4, a_m16n8k4, b_m16n8k4},
                            {16, 8, a_m16n8k8_tf32, b_m16n8k8_tf32},
                            {16, 16, a_m16n8k16_f64, b_m16n8k16_f64}};
    std::mt19937_64 random(5);
    for (const Shape& shape : shapes)
        for (const auto rounding :
             {MatrixRounding::rn, MatrixRounding::rz, MatrixRounding::rm, MatrixRounding::rp}) {
            const Mma mma{.m = static_cast<std::uint16_t>(shape.m),
                          .n = 8,
                          .k = static_cast<std::uint16_t>(shape.k),
                          .a = f64,
                          .b = f64,
                          .c = f64,
                          .d = f64,
                          .rounding = rounding};
            ASSERT_TRUE(is_supported(mma));
            const FragmentSizes sizes = fragment_sizes(mma);
            std::vector<TestDoubles> a(sizes.a), b(sizes.b), c(sizes.c), d(sizes.d);
            // Integers of 30 bits: products and sums of 62 and more are exact in 128, and rounded at each
            // step below.
            std::map<std::pair<unsigned, unsigned>, std::int64_t> a_matrix, b_matrix;
            const auto fill = [&](std::vector<TestDoubles>& to, Formula formula, auto* matrix) {
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned i = 0; i < to.size(); ++i) {
                        const auto value = static_cast<std::int64_t>(random() % (1ull << 40)) - (1ll << 39);
                        to[i].lane[lane] = static_cast<double>(value);
                        if (matrix != nullptr)
                            (*matrix)[{formula(lane, i).row, formula(lane, i).col}] = value;
                    }
            };
            fill(a, shape.a, &a_matrix);
            fill(b, shape.b, &b_matrix);
            fill(c, c_m16n8, static_cast<decltype(&a_matrix)>(nullptr));
            const auto d_pointers = pointers(d);
            const auto a_pointers = constant(pointers(a)), b_pointers = constant(pointers(b)),
                       c_pointers = constant(pointers(c));
            multiply(mma, {d_pointers.data(), a_pointers.data(), b_pointers.data(), c_pointers.data()});
            const auto rounded = [&](__int128 value) {  // to 53 bits
                const bool negative = value < 0;
                auto magnitude = static_cast<unsigned __int128>(negative ? -value : value);
                int shift = 0;
                while (magnitude >> shift >> 53 != 0) ++shift;
                const auto rest = magnitude & ((static_cast<unsigned __int128>(1) << shift) - 1);
                auto kept = magnitude >> shift;
                const auto half = shift == 0 ? 1 : static_cast<unsigned __int128>(1) << (shift - 1);
                const bool up = rounding == MatrixRounding::rn
                                    ? shift != 0 && (rest > half || (rest == half && kept % 2 == 1))
                                : rounding == MatrixRounding::rm ? negative && rest != 0
                                : rounding == MatrixRounding::rp ? !negative && rest != 0
                                                                 : false;
                if (up) ++kept;
                const auto result = static_cast<__int128>(kept << shift);
                return negative ? -result : result;
            };
            for (unsigned lane = 0; lane < 32; ++lane)
                for (unsigned i = 0; i < sizes.d; ++i) {
                    const MatrixPlace place = shape.m == 8 ? c_m8n8(lane, i) : c_m16n8(lane, i);
                    auto sum = static_cast<__int128>(c[i].lane[lane]);
                    for (unsigned k = 0; k < shape.k; ++k)
                        sum = rounded(sum + static_cast<__int128>(a_matrix[{place.row, k}]) *
                                                b_matrix[{k, place.col}]);
                    ASSERT_EQ(static_cast<__int128>(d[i].lane[lane]), sum)
                        << name_of(mma) << " lane " << lane << " d" << i;
                }
        }
}

TEST(Matrix, DoublesAreFusedInTheRoundingOfTheInstruction) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        SCOPED_TRACE(static_cast<int>(engine));
        check_that_doubles_are_fused();
    }
}

// The first of a, b and the sum that is a NaN, made quiet, as of fma.f64; and D may be A.
TEST(Matrix, NansAndInfinitiesOfDoublesAreThoseOfFma) {
    std::mt19937_64 random(9);
    const double values[] = {1.5,
                             -0.0,
                             0x1p-1070,
                             -0x1p1000,
                             std::numeric_limits<double>::infinity(),
                             std::bit_cast<double>(0x7FF8000000000123ull),
                             std::bit_cast<double>(0xFFF0000000000456ull)};
    for (unsigned trial = 0; trial < 300; ++trial) {
        const unsigned kinds = trial % 3 == 0 ? 3 : trial % 3 == 1 ? 5 : 7;
        const auto fill = [&](std::vector<TestDoubles>& to) {
            for (auto& one : to)
                for (double& value : one.lane)
                    value = random() % 4 == 0 ? values[random() % kinds] : static_cast<double>(random() % 8);
        };
        const Mma mma{.m = 16, .n = 8, .k = 16, .a = f64, .b = f64, .c = f64, .d = f64};
        std::vector<TestDoubles> a(8), b(4), c(4);
        fill(a), fill(b), fill(c);
        TestDoubles want[4];
        for (unsigned i = 0; i < 4; ++i)
            for (unsigned lane = 0; lane < 32; ++lane) {
                double sum = c[i].lane[lane];
                for (unsigned k = 0; k < 16; ++k) {
                    const double x = a[k / 4 * 2 + i / 2].lane[lane / 4 * 4 + k % 4],
                                 y = b[k / 4].lane[4 * (lane % 4 * 2 + i % 2) + k % 4];
                    const double nan = std::isnan(x)     ? x
                                       : std::isnan(y)   ? y
                                       : std::isnan(sum) ? sum
                                                         : std::bit_cast<double>(0xFFF8000000000000ull);
                    sum = std::fma(x, y, sum);
                    if (std::isnan(sum))
                        sum =
                            std::bit_cast<double>(std::bit_cast<std::uint64_t>(nan) | 0x0008000000000000ull);
                }
                want[i].lane[lane] = sum;
            }
        for (const MatrixEngine engine : engines()) {
            const WithEngine with(engine);
            auto copy = a;
            const auto d = pointers(copy);
            const auto a_pointers = constant(pointers(copy)), b_pointers = constant(pointers(b)),
                       c_pointers = constant(pointers(c));
            multiply(mma, {d.data(), a_pointers.data(), b_pointers.data(), c_pointers.data()});
            for (unsigned i = 0; i < 4; ++i)
                ASSERT_EQ(std::memcmp(copy[i].lane, want[i].lane, sizeof want[i].lane), 0)
                    << trial << " engine " << static_cast<int>(engine);
        }
    }
}

TEST(Matrix, QuadPairsOfM8n8k4) {
    // 9.7.14.5.1
    const auto a_place = [](MatrixLayout layout, unsigned lane, unsigned i) {
        if (layout == MatrixLayout::row) return MatrixPlace{lane < 16 ? lane % 4 : lane % 4 + 4, i};
        return MatrixPlace{lane < 16 ? i % 4 : i % 4 + 4, lane % 4};
    };
    const auto b_place = [](MatrixLayout layout, unsigned lane, unsigned i) {
        if (layout == MatrixLayout::row) return MatrixPlace{lane % 4, lane < 16 ? i : i + 4};
        return MatrixPlace{i, lane < 16 ? lane % 4 : lane % 4 + 4};
    };
    const auto c_place = [](MatrixType type, unsigned lane, unsigned i) {
        if (type == f16) return MatrixPlace{lane < 16 ? lane % 4 : lane % 4 + 4, i};
        const unsigned x = (lane & 0b1) + (i & 0b10);
        return MatrixPlace{lane < 16 ? x : x + 4, (i & 0b100) + (lane & 0b10) + (i & 0b1)};
    };
    constexpr std::pair<MatrixType, MatrixType> accumulators[] = {
        {f16, f16}, {f16, f32}, {f32, f32}};  // c, d
    for (const auto& [c, d] : accumulators)
        for (const auto a_layout : {MatrixLayout::row, MatrixLayout::col})
            for (const auto b_layout : {MatrixLayout::row, MatrixLayout::col}) {
                const Mma mma{
                    .m = 8, .n = 8, .k = 4, .c = c, .d = d, .a_layout = a_layout, .b_layout = b_layout};
                ASSERT_TRUE(is_supported(mma));
                RandomElements random(9, 1);
                Fragments fragments(mma, random);
                fragments.run(mma);
                std::array<Matrix, 4> a, b;
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned i = 0; i < 4; ++i) {
                        const MatrixPlace x = a_place(a_layout, lane, i), y = b_place(b_layout, lane, i);
                        a[lane % 16 / 4][{x.row, x.col}] = element_in(fragments.a.data(), f16, lane, i);
                        b[lane % 16 / 4][{y.row, y.col}] = element_in(fragments.b.data(), f16, lane, i);
                    }
                // C and D may lie differently: by place.
                std::array<Matrix, 4> c_matrix;
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned i = 0; i < 8; ++i) {
                        const MatrixPlace place = c_place(c, lane, i);
                        c_matrix[lane % 16 / 4][{place.row, place.col}] =
                            element_in(fragments.c.data(), c, lane, i);
                    }
                for (unsigned lane = 0; lane < 32; ++lane)
                    for (unsigned i = 0; i < 8; ++i) {
                        const MatrixPlace place = c_place(d, lane, i);
                        const unsigned pair = lane % 16 / 4;
                        ASSERT_EQ(
                            element_in(fragments.d.data(), d, lane, i),
                            expected_element(mma, a[pair], b[pair], c_matrix[pair].at(place.row, place.col),
                                             place.row, place.col))
                            << name_of(mma) << " lane " << lane << " element " << i;
                    }
            }
    EXPECT_FALSE(is_supported({.m = 8, .n = 8, .k = 4, .c = f32, .d = f16}));
}

TEST(Matrix, RegistersOfDMayBeThoseOfOthers) {
    for (const MatrixEngine engine : engines()) {
        const WithEngine with(engine);
        const Mma mma{.m = 16, .n = 8, .k = 16};
        RandomElements random(21, 0);
        Fragments fragments(mma, random);
        fragments.run(mma);
        const auto want = fragments.d;
        // D in C's registers, but in another order; then in those of A.
        for (const bool of_a : {false, true}) {
            auto copy = fragments;
            auto& target = of_a ? copy.a : copy.c;
            auto d = pointers(target);
            std::rotate(d.begin(), d.begin() + 1, d.end());
            const auto a = constant(pointers(copy.a)), b = constant(pointers(copy.b)),
                       c = constant(pointers(copy.c));
            multiply(mma, {d.data(), a.data(), b.data(), c.data()});
            for (unsigned i = 0; i < 4; ++i)
                EXPECT_EQ(std::memcmp(target[(i + 1) % 4].lane, want[i].lane, sizeof want[i].lane), 0)
                    << i << of_a;
        }
    }
}

// --- what there is

TEST(Matrix, OtherShapesAndTypesAreNotSupported) {
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 8, .k = 32}));                       // .f16 k32, dense
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 8, .k = 16, .a = f16, .b = bf16}));  // mixed
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 8, .k = 16, .c = f32, .d = f16}));   // d is not c
    EXPECT_FALSE(is_supported(
        Mma{.m = 16, .n = 8, .k = 16, .a = bf16, .b = bf16, .c = f16, .d = f16}));  // .bf16 to .f16
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 8, .k = 16, .a = s8, .b = e4m3, .c = s32, .d = s32}));
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 16, .k = 16}));  // wmma's, without wmma
    EXPECT_FALSE(is_supported(Mma{.m = 16, .n = 8, .k = 0}));
    EXPECT_FALSE(
        is_supported(Mma{.m = 16, .n = 16, .k = 16, .a = s8, .b = u8, .c = s32, .d = s32, .wmma = true}));
    EXPECT_FALSE(is_supported(
        Mma{.m = 16, .n = 8, .k = 16, .a = s8, .b = s8, .c = s32, .d = s32, .sparsity = Sparsity::sp}));
}

TEST(Matrix, AnyOrderLiesWithinTheBound) {
    std::mt19937 random(8);
    std::uniform_real_distribution<float> uniform(-2, 2);
    for (int trial = 0; trial < 20000; ++trial) {
        const unsigned k = 1 + trial % 64;
        std::vector<float> products(k);
        double exact = uniform(random), magnitudes = std::fabs(exact);
        const auto c = static_cast<float>(exact);
        exact = c;
        magnitudes = std::fabs(exact);
        for (float& one : products) {
            one = uniform(random) * std::ldexp(1.0f, static_cast<int>(random() % 20) - 10);
            exact += one;
            magnitudes += std::fabs(static_cast<double>(one));
        }
        std::shuffle(products.begin(), products.end(), random);
        float sum = c;
        for (const float one : products) {
            const double next = static_cast<double>(sum) + one;
            auto rounded = static_cast<float>(next);  // truncated, as hardware may
            if (std::fabs(static_cast<double>(rounded)) > std::fabs(next))
                rounded = std::nextafter(rounded, 0.0f);
            sum = rounded;
        }
        const auto bound = accumulation_bound(f16, f32, k, exact, magnitudes);
        ASSERT_LE(bound.lowest, sum);
        ASSERT_GE(bound.highest, sum);
        ASSERT_LT(bound.highest - bound.lowest, magnitudes * (k + 2) * 0x1p-21);
    }
    EXPECT_TRUE(std::isinf(accumulation_bound(f16, f16, 16, 65000, 65500).highest));
    EXPECT_GT(accumulation_bound(e4m3, f32, 32, 1, 1).highest,
              accumulation_bound(bf16, f32, 32, 1, 1).highest);
}

}  // namespace
}  // namespace ptxgraft::emulator
