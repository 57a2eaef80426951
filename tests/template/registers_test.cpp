// What manifests say of registers: a stub that keeps as many values alive as a site's spare_registers say
// costs neither spills nor a block of a multiprocessor, whatever its values are. And with other tunables than
// the usual ones a stub of 32 instructions does not spill.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "ptxgraft/template.hpp"
#include "support/cache.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using test::text_of;

std::string test_name(std::string name) {
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
}

struct Said {
    Template from;
    std::string target;
};
void PrintTo(const Said& said, std::ostream* out) { *out << said.from.name() << " for " << said.target; }
std::vector<Said> all_that_is_said() {
    std::vector<Said> all;
    for (const Template& from : Template::all().value_or(std::vector<Template>{})) {
        std::set<std::string> targets;
        for (const TemplateSite& site : from.sites())
            for (const auto& [target, registers] : site.spare_registers)
                if (registers != 0) targets.insert(target);
        for (const std::string& target : targets) all.push_back({from, target});
    }
    return all;
}

class SpareRegisters : public testing::TestWithParam<Said> {};
INSTANTIATE_TEST_SUITE_P(, SpareRegisters, testing::ValuesIn(all_that_is_said()), [](const auto& info) {
    return test_name(info.param.from.name() + "_" + info.param.target);
});

TEST_P(SpareRegisters, AreThere) {
    const auto& [from, target] = GetParam();
    for (const TemplateSite& site : from.sites()) {
        const auto said = site.spare_registers.find(target);
        if (said == site.spare_registers.end() || said->second == 0) continue;
        const Choices choices = from.choices_with(site.name).value();
        SCOPED_TRACE(site.name + " with " + text_of(choices));
        const auto measured = from.measure_spare_registers(choices, target,
                                                           {.sites = {site.name},
                                                            .most = said->second,
                                                            .first = said->second,
                                                            .graft = {.cache = &test::cache()}});
        ASSERT_TRUE(measured) << describe(measured.error());
        ASSERT_EQ(measured->size(), 1u);
        EXPECT_EQ(measured->front().registers, said->second) << "; " << measured->front().loss;
    }
}

// 32 instructions of the kinds that stubs have, products, special functions and integers, of all operands;
// four values are alive at once.
Stub mixed_stub(const Site& site) {
    std::vector<std::string> floats, words, results;
    for (const SiteOperand& operand : site.signature.operands)
        for (unsigned i = 0; i < std::max(operand.count, 1u); ++i) {
            const std::string name = operand.register_name + (operand.count != 0 ? fmt::format("{}", i) : "");
            if (operand.direction != Direction::out)
                (operand.type == Type::f32 ? floats : words).push_back(name);
            if (operand.direction != Direction::in) results.push_back(name);
        }
    std::string text = ".reg .f32 made<4>, made_float;\n.reg .b32 made_word;\n";
    if (floats.empty()) {
        text += words.empty() ? "mov.u32 made_word, %laneid;\n" : "mov.b32 made_word, " + words[0] + ";\n";
        text += "cvt.rn.f32.u32 made_float, made_word;\n";
        floats.emplace_back("made_float");
    }
    const auto floating = [&](unsigned i) { return floats[i % floats.size()]; };
    for (unsigned i = 0; i < 4; ++i)
        text += fmt::format("fma.rn.f32 made{}, {}, 0f3F{:02X}0001, {};\n", i, floating(i), i + 1,
                            floating(i + 1));
    for (unsigned i = 0; i < 12; ++i)
        text += fmt::format("{}.approx.ftz.f32 made{}, made{};\n", i % 2 == 0 ? "rcp" : "ex2", i % 4, i % 4);
    for (unsigned i = 1; i < 4; ++i) text += fmt::format("fma.rn.f32 made0, made0, made{}, made0;\n", i);
    text += "mov.b32 made_word, made0;\n";
    for (unsigned i = 0; i < 12; ++i)
        text += fmt::format("mad.lo.u32 made_word, made_word, 0x3F{:02X}0001, {};\n", i,
                            words.empty() ? "made_word" : words[i % words.size()]);
    for (const std::string& result : results) text += fmt::format("mov.b32 {}, made_word;\n", result);
    auto stub = Stub::from_ptx(text, site);
    EXPECT_TRUE(stub) << text << describe(stub.error());
    return std::move(stub.value());
}

std::vector<Template> all_templates() { return Template::all().value_or(std::vector<Template>{}); }
class OtherTunables : public testing::TestWithParam<Template> {};
INSTANTIATE_TEST_SUITE_P(, OtherTunables, testing::ValuesIn(all_templates()),
                         [](const auto& info) { return test_name(info.param.name()); });

// Beside 128 accumulators, with fragments on both sides of the site: templates/gemm/README.md.
bool is_tight(const Template& from, const Site& site) {
    return (from.name() == "gemm/mma" || from.name() == "gemm/splitk") && site.name.starts_with("prologue");
}

TEST_P(OtherTunables, HaveRegistersForStubs) {
    const Template& from = GetParam();
    const Choices choices = test::pairs_of(from, 2).back();
    SCOPED_TRACE(text_of(choices));
    const auto skeleton = from.skeleton(choices, {}, {.cache = &test::cache()});
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    for (const Site& site : skeleton->sites().sites) {
        if (is_tight(from, site)) continue;
        const auto code = skeleton->assemble(
            {Graft(site.name, mixed_stub(site))},
            {.entry = from.entry(), .assemble = {.limits = {.spill_bytes = 0}}, .cache = &test::cache()});
        EXPECT_TRUE(code) << site.name << ": " << describe(code.error());
    }
}

// Most of what they compute does not depend on the score, so that it could be done before the products are.
Stub alibi_stub(const Site& score) {
    auto stub = Stub::from_ptx(
        ".reg .f32 made<2>;\ncvt.rn.f32.u32 made0, _row;\ncvt.rn.f32.u32 made1, _column;\n"
        "sub.f32 made0, made0, made1;\nfma.rn.f32 _score, made0, 0f3DCCCCCD, _score;\n",
        score);
    EXPECT_TRUE(stub) << describe(stub.error());
    return std::move(stub.value());
}

class UsualTunables : public testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(, UsualTunables, testing::Values("attention/wgmma", "attention/quantised"),
                         [](const auto& info) { return test_name(info.param); });

TEST_P(UsualTunables, HaveRegistersForStubsOfScores) {
    const auto from = Template::find(GetParam());
    ASSERT_TRUE(from) << describe(from.error());
    const auto skeleton = from->skeleton({}, {}, {.cache = &test::cache()});
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const Site& score = *skeleton->find_site("score").value();
    for (const auto& stub_of : {alibi_stub, mixed_stub}) {
        const auto code = skeleton->assemble(
            {Graft(score.name, stub_of(score))},
            {.entry = from->entry(), .assemble = {.limits = {.spill_bytes = 0}}, .cache = &test::cache()});
        EXPECT_TRUE(code) << describe(code.error());
    }
}

}  // namespace
}  // namespace ptxgraft
