// Workloads and checkers: right variants are right, each kind of wrong one is found, mistakes have places.
#include "ptxgraft/measure/workload.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/stack.hpp"

namespace ptxgraft::measure {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

// Rows of odd lengths, with a SiLU behind the norm.
constexpr std::string_view silu = R"json(
{
  "template": "norm/rms",
  "choices": {"type": "f32"},
  "shapes": [{"rows": 3, "columns": 257}, {"rows": 1, "columns": 5}],
  "wanted": {"epilogue": {"expr": "y = y * weight * sigmoid(y * weight)"}},
  "relative": 1e-5, "absolute": 1e-6
})json";

Checker checker_of(std::string_view text, const CheckOptions& options = {}) {
    auto workload = Workload::parse(text);
    EXPECT_TRUE(workload) << describe(workload.error());
    auto checker = Checker::open(*workload, *Device::open("emulator"), options);
    EXPECT_TRUE(checker) << describe(checker.error());
    return std::move(*checker);
}

Check check_of(Checker& checker, std::string_view expression) {
    const Site& site = *checker.skeleton().site("epilogue");
    const auto stub = compile_expression(expression, site);
    EXPECT_TRUE(stub) << describe(stub.error());
    const auto kernel = checker.skeleton().graft({{"epilogue", *stub}}, checker.device());
    EXPECT_TRUE(kernel) << describe(kernel.error());
    const auto check = checker.check(*kernel);
    EXPECT_TRUE(check) << describe(check.error());
    return *check;
}

TEST(Workload, RightVariantsAreRight) {
    Checker checker = checker_of(silu);
    EXPECT_THAT(checker.cases(), SizeIs(8));
    const Check same = check_of(checker, "y = y * weight * sigmoid(y * weight)");
    EXPECT_EQ(same.finding, Finding::right) << same.worst;
    EXPECT_EQ(same.cases, 8u);
    EXPECT_GT(same.instructions, 100u);
    const Check other = check_of(checker, "v = y * weight\ny = v / (1 + exp(-v))");
    EXPECT_EQ(other.finding, Finding::right) << other.worst << " " << other.got << " " << other.wanted;
    EXPECT_LE(other.worst, 1);
}

TEST(Workload, EqualVariantsGetEqualChecks) {
    Checker checker = checker_of(silu), another = checker_of(silu);
    const Check a = check_of(checker, "y = y * weight * 0.5"), b = check_of(another, "y = y * weight * 0.5");
    const Check again = check_of(checker, "y = y * weight * 0.5");
    for (const Check& check : {b, again}) {
        EXPECT_EQ(a.worst, check.worst);
        EXPECT_EQ(a.element, check.element);
        EXPECT_EQ(a.cases, check.cases);
        EXPECT_EQ(a.instructions, check.instructions);
    }
}

TEST(Workload, WrongVariantsAreWrongWithTheirElement) {
    Checker checker = checker_of(silu);
    const Check off = check_of(checker, "y = y * weight * sigmoid(y * weight) * 1.001");
    EXPECT_EQ(off.finding, Finding::wrong);
    EXPECT_EQ(off.tensor, "y");
    EXPECT_GT(off.worst, 1);
    EXPECT_GT(std::abs(off.got - off.wanted), off.allowed);
    EXPECT_EQ(off.cases, 1u) << "it ends behind the first";
    EXPECT_EQ(check_of(checker, "y = 0.0").finding, Finding::wrong);
    // Right in the columns that the first shape's usual inputs reach alone.
    EXPECT_EQ(check_of(checker, "v = y * weight * sigmoid(y * weight)\ny = column == 256 ? 0.0 : v").finding,
              Finding::wrong);
}

// What usual inputs do not show: values beyond 8 are never among them.
TEST(Workload, LargeInputsFindWhatUsualOnesDoNot) {
    Checker all = checker_of(silu);
    constexpr std::string_view clipped = "v = min(y * weight, 4.0)\ny = v * sigmoid(v)";
    const Check check = check_of(all, clipped);
    EXPECT_EQ(check.finding, Finding::wrong);
    EXPECT_NE(check.where.regime, Regime::usual);
    std::string text(silu);
    text.insert(text.rfind('}'), R"(, "regimes": ["usual"])");
    Checker usual = checker_of(text);
    EXPECT_EQ(check_of(usual, clipped).finding, Finding::right);
}

TEST(Workload, BaselineHasToBeRight) {
    std::string text(silu);
    text.insert(text.rfind('}'), R"(, "baseline": {"epilogue": "y 2.0 mul.f32 -> y"})");
    const auto workload = Workload::parse(text);
    ASSERT_TRUE(workload) << describe(workload.error());
    const auto checker = Checker::open(*workload, *Device::open("emulator"));
    ASSERT_FALSE(checker);
    EXPECT_EQ(checker.error().code, Errc::baseline_wrong);
    EXPECT_THAT(describe(checker.error()), HasSubstr("usual inputs: wrong, y["));
}

TEST(Workload, HashIsOfWhatIsRight) {
    const auto a = Workload::parse(silu), b = Workload::parse(silu);
    ASSERT_TRUE(a && b);
    EXPECT_EQ(a->hash(), b->hash());
    for (const auto& [from, to] : {std::pair{"257", "258"}, {"1e-5", "1e-4"}, {"sigmoid", "tanh"}}) {
        std::string text(silu);
        text.replace(text.find(from), std::string_view(from).size(), to);
        const auto other = Workload::parse(text);
        ASSERT_TRUE(other) << describe(other.error());
        EXPECT_NE(a->hash(), other->hash()) << to;
    }
}

struct Mistake {
    std::string_view text, says;
};
TEST(Workload, MistakesHavePlaces) {
    constexpr Mistake mistakes[] = {
        {R"({"shapes": []})", R"("template")"},
        {R"({"template": "norm/rms"})", R"("shapes")"},
        {R"({"template": "norm/rms", "shapes": []})", "a shape at least"},
        {R"({"template": "norm/rmx", "shapes": [{}]})", "no such template"},
        {R"({"template": "norm/rms", "shapes": [{"rows": -1}]})", "whole number"},
        {R"({"template": "norm/rms", "shapes": [{"rows": 1, "columns": 4}], "regimes": ["odd"]})", "\"odd\""},
        {R"({"template": "norm/rms", "shapes": [{"rows": 1, "columns": 4}], "regimes": ["large"]})", "usual"},
        {R"({"template": "norm/rms", "shapes": [{"rows": 1, "columns": 4}], "wanted": {"x": "y"}})",
         "no site"},
        {R"({"template": "norm/rms", "shapes": [{"rows": 1, "columns": 4}], "wanted": {"epilogue": "y &"}})",
         "&"},
        {R"({"template": "norm/rms", "shapes": [{"rows": 1, "columns": 4}], "relative": -1})", "from 0 on"},
    };
    for (const Mistake& mistake : mistakes) {
        const auto workload = Workload::parse(mistake.text);
        ASSERT_FALSE(workload) << mistake.text;
        EXPECT_THAT(describe(workload.error(), mistake.text), HasSubstr(mistake.says)) << mistake.text;
    }
}

}  // namespace
}  // namespace ptxgraft::measure
