// Which sums of products are legal, in whatever order a tensor core adds.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "ptxgraft/tolerance.hpp"

namespace ptxgraft {
namespace {

// Sums in other orders and with other roundings lie between the bounds; what a wrong product would give does
// not.
TEST(EmulatorSums, AnyOrderIsLegalAndAMissingTermIsNot) {
    std::mt19937 random(5);
    for (const unsigned products : {1u, 16u, 300u}) {
        std::vector<double> terms(products);
        double exact = 0, magnitudes = 0;
        for (double& term : terms) {
            term = (1.0 + static_cast<double>(random() % 128) / 128) * (random() % 2 == 0 ? 1 : -1);
            exact += term;
            magnitudes += std::abs(term);
        }
        const SumBounds bounds =
            legal_sum({.type = ProductType::bf16, .products = products}, exact, magnitudes);
        EXPECT_LE(bounds.lowest, exact);
        EXPECT_GE(bounds.highest, exact);
        for (int order = 0; order < 20; ++order) {
            std::shuffle(terms.begin(), terms.end(), random);
            float sum = 0;
            for (const double term : terms) sum += static_cast<float>(term);
            EXPECT_TRUE(bounds.contain(static_cast<double>(sum)));
        }
        EXPECT_FALSE(bounds.contain(exact - terms[0]));
    }
    EXPECT_GT(legal_sum({.type = ProductType::e4m3, .products = 32}, 1, 10).highest,
              legal_sum({.type = ProductType::f16, .products = 32}, 1, 10).highest);
}

// What is legal where sums overflow, and where a term is infinite or NaN.
TEST(EmulatorSums, OverflowsAndInfinitiesAreLegalWhereSomeOrderGivesThem) {
    const double infinity = std::numeric_limits<double>::infinity(), nan = std::nan(""),
                 most = 0x1.fffffep127;
    struct Row {
        ProductSum sum;
        double exact, magnitudes;
        std::vector<double> legal, illegal;
    };
    const ProductSum f32{.type = ProductType::bf16, .products = 64},
        f16{.accumulator = AccumulatorType::f16, .products = 4},
        long_f16{.accumulator = AccumulatorType::f16, .products = 4096},
        endless{.products = std::uint64_t{1} << 40};
    const Row rows[] = {
        {f32, 1, 10, {1, 1.00001}, {1.1, 0.9, infinity, -infinity, nan}},
        {f32, infinity, infinity, {infinity}, {0, 1, most, -infinity, nan}},
        {f32, -infinity, infinity, {-infinity}, {0, -1, -most, infinity, nan}},
        {f32, nan, infinity, {nan}, {0, 1, infinity, -infinity}},
        {f32, nan, nan, {nan}, {0, infinity}},
        // All terms are positive: at most the largest number, or beyond.
        {f32, 1e39, 1e39, {most, infinity}, {1, 3e38, -infinity, nan}},
        {f32, -1e39, 1e39, {-most, -infinity}, {-1, infinity, nan}},
        {f32, 3.39e38, 3.42e38, {3.39e38, infinity}, {3.3e38, 0, -infinity, nan}},
        // 3e38 + 3e38 - 3e38: infinite in one order, truncated to the largest number in another.
        {f32, 3e38, 9e38, {3e38, infinity, 5e37}, {-3e38, -infinity, nan}},
        {f32, -3e38, 9e38, {-3e38, -infinity, -5e37}, {3e38, infinity, nan}},
        // 6e38 and -6e38: one infinity, the other, their sum.
        {f32, 0, 1.2e39, {0, 1, -1, infinity, -infinity, nan}, {}},
        {f16, 60000, 70000, {60000, 60400}, {61000, infinity, nan}},
        {f16, 65000, 70000, {65000, infinity}, {60000, -infinity, nan}},
        {f16, 0, 200000, {0, 70000, infinity, -infinity, nan}, {}},
        {long_f16, 1, 1, {1, 2, 40}, {1000, infinity, nan}},
        {endless, 1, 1, {1, 1e30, -1e30, nan}, {}},
        {f32, 1, nan, {1, 100, nan}, {}},
        {f32, 1, infinity, {1, 100, nan}, {}},
    };
    for (const Row& row : rows) {
        SCOPED_TRACE(testing::Message()
                     << row.exact << " of " << row.magnitudes << ", " << row.sum.products << " products");
        const SumBounds bounds = legal_sum(row.sum, row.exact, row.magnitudes);
        for (const double value : row.legal) EXPECT_TRUE(bounds.contain(value)) << value;
        for (const double value : row.illegal)
            EXPECT_FALSE(bounds.contain(value))
                << value << " in " << bounds.lowest << " to " << bounds.highest;
    }
}

// Sums of large terms in any order, whose overflows are infinite or the largest number, lie between the
// bounds.
TEST(EmulatorSums, AnyOrderOfLargeTermsIsLegal) {
    std::mt19937 random(6);
    for (int round = 0; round < 2000; ++round) {
        const auto products = static_cast<unsigned>(1 + random() % 12);
        std::vector<float> terms(products);
        double exact = 0, magnitudes = 0;
        for (float& term : terms) {
            term =
                std::ldexp(static_cast<float>(1 + random() % 255), 120) * (random() % 3 == 0 ? -1.0f : 1.0f);
            exact += static_cast<double>(term);
            magnitudes += std::abs(static_cast<double>(term));
        }
        const SumBounds bounds =
            legal_sum({.type = ProductType::bf16, .products = products}, exact, magnitudes);
        const bool is_cut = random() % 2 == 0;
        float sum = 0;
        for (const float term : terms) {
            sum += term;
            if (is_cut && std::isinf(sum)) sum = std::copysign(std::numeric_limits<float>::max(), sum);
        }
        EXPECT_TRUE(bounds.contain(static_cast<double>(sum))) << sum << " of " << exact << ", " << magnitudes;
    }
}

}  // namespace
}  // namespace ptxgraft
