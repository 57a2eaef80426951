// What manifests say of registers: a stub that keeps as many values alive as a site's spare_registers say
// costs neither spills nor a block of a multiprocessor, whatever its values are.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <optional>

#include "ptxgraft/kernel.hpp"
#include "ptxgraft/static_cost.hpp"
#include "ptxgraft/target.hpp"
#include "ptxgraft/template.hpp"
#include "template/sample.hpp"

namespace ptxgraft {
namespace {

using test::text_of;

enum class Kind { floats, integers };

std::vector<std::string> registers_of(const SiteOperand& operand) {
    if (operand.count == 0) return {"_" + operand.name};
    std::vector<std::string> names;
    for (unsigned i = 0; i < operand.count; ++i) names.push_back(fmt::format("_{}{}", operand.name, i));
    return names;
}

// So many values, each made of the one before it and of an operand, and then added up from the last one on. A
// factor is a part of its instruction, so that no register has it.
std::string stub_with(unsigned values, Kind kind, const Site& site) {
    const bool is_f32 = kind == Kind::floats;
    std::vector<std::string> sources, others, results;
    for (const SiteOperand& operand : site.signature.operands)
        for (const std::string& name : registers_of(operand)) {
            if (operand.direction != Direction::out)
                ((operand.type == Type::f32) == is_f32 ? sources : others).push_back(name);
            if (operand.direction != Direction::in) results.push_back(name);
        }
    std::string text = is_f32 ? ".reg .f32 value<256>, only;\n" : ".reg .b32 value<256>, only;\n";
    if (sources.empty()) {
        text += fmt::format("{} only, {};\n", is_f32 ? "cvt.rn.f32.u32" : "mov.b32", others.at(0));
        sources.push_back("only");
    }
    const auto add = [&](unsigned to, const std::string& what, const std::string& term) {
        text += is_f32 ? fmt::format("fma.rn.f32 value{}, {}, 0f3F{:02X}0001, {};\n", to, what, to, term)
                       : fmt::format("mad.lo.u32 value{}, {}, 0x3F{:02X}0001, {};\n", to, what, to, term);
    };
    add(0, sources[0], sources[0]);
    for (unsigned i = 1; i < values; ++i) add(i, fmt::format("value{}", i - 1), sources[i % sources.size()]);
    for (unsigned i = values - 1; i-- > 0;) add(i, fmt::format("value{}", i + 1), fmt::format("value{}", i));
    for (const std::string& result : results) text += "mov.b32 " + result + ", value0;\n";
    return text;
}

// The usual choices, or those nearest to them with which there is the site.
std::optional<Choices> choices_with(const Template& from, const std::string& site) {
    const auto has = [&](const Choices& choices) { return from.copies(site, choices).value_or(0) != 0; };
    if (has({})) return Choices{};
    std::vector<Choices> singles;
    for (const TemplateTunable& tunable : from.tunables())
        for (const Choice& value : tunable.values) singles.push_back({{tunable.name, value}});
    for (const Choices& one : singles)
        if (has(one)) return one;
    for (const Choices& one : singles)
        for (const Choices& other : singles) {
            Choices both = one;
            both.insert(other.begin(), other.end());
            if (has(both)) return both;
        }
    return std::nullopt;
}

struct Said {
    Template from;
    std::string site, target;
    unsigned registers;
    Choices choices;
};
void PrintTo(const Said& said, std::ostream* out) { *out << said.registers << " registers"; }
std::vector<Said> all_that_is_said() {
    std::vector<Said> all;
    for (const Template& from : Template::all().value_or(std::vector<Template>{}))
        for (const TemplateSite& site : from.sites())
            for (const auto& [target, registers] : site.spare_registers)
                if (const auto choices = choices_with(from, site.name); registers != 0)
                    all.push_back({from, site.name, target, registers, choices.value()});
    return all;
}

class SpareRegisters : public testing::TestWithParam<Said> {};
INSTANTIATE_TEST_SUITE_P(, SpareRegisters, testing::ValuesIn(all_that_is_said()), [](const auto& info) {
    std::string name = info.param.from.name() + "_" + info.param.site + "_" + info.param.target;
    std::replace(name.begin(), name.end(), '/', '_');
    return name;
});

TEST_P(SpareRegisters, AreThere) {
    const auto& [from, name, target, registers, choices] = GetParam();
    SCOPED_TRACE(text_of(choices));
    const auto skeleton = from.skeleton(choices, target);
    ASSERT_TRUE(skeleton) << describe(skeleton.error());
    const auto launch = from.launch(test::odd_dimensions(from, choices, {65, 33, 40}), choices);
    ASSERT_TRUE(launch) << describe(launch.error());
    // 0 with spills.
    const auto blocks_with = [&](const std::vector<Graft>& grafts) -> unsigned {
        const auto code = skeleton->assemble(grafts, {.entry = from.entry()});
        EXPECT_TRUE(code) << describe(code.error());
        if (!code) return 0;
        const auto& functions = code->cubin->functions;
        const auto function = std::ranges::find(functions, from.entry(), &FunctionUsage::name);
        if (function->spill_store_bytes + function->spill_load_bytes != 0) return 0;
        const Dim3& block = launch->config.block;
        return occupancy(*parse_architecture(target),
                         {.threads = block.x * block.y * block.z,
                          .registers = function->registers,
                          .shared_bytes = function->shared_bytes + launch->config.shared_bytes})
            .value()
            .blocks;
    };
    const unsigned empty = blocks_with({});
    const Site& site = *skeleton->site(name);
    const auto fit = [&](unsigned values) {
        return std::ranges::all_of(std::array{Kind::floats, Kind::integers}, [&](Kind kind) {
            const auto stub = Stub::from_ptx(stub_with(values, kind, site), site);
            EXPECT_TRUE(stub) << describe(stub.error());
            return stub && blocks_with({Graft(name, *stub)}) >= empty;
        });
    };
    if (fit(registers)) return;
    unsigned most = 0;
    for (unsigned beyond = registers; beyond - most > 1;) {
        const unsigned middle = (most + beyond) / 2;
        (fit(middle) ? most : beyond) = middle;
    }
    FAIL() << "it says " << registers << " values; " << most << " fit";
}

}  // namespace
}  // namespace ptxgraft
