#pragma once
// Which combinations of a template's tunables, which dimensions and which stubs a test tries.

#include <algorithm>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/target.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft::test {

/// Up to `most` combinations that the manifest allows, the usual one first. Each is the one of some dozens,
/// drawn in the same order in every run, that has most pairs of values of two tunables that none before it
/// has.
inline std::vector<Choices> pairs_of(const Template& from, std::size_t most) {
    constexpr int drawn = 4000, looked_at = 48;  // the former of any, the latter of those that are allowed
    using Pair = std::pair<std::string, std::string>;
    std::set<Pair> seen;
    const auto each_pair = [](const Choices& choices, auto visit) {
        for (auto a = choices.begin(); a != choices.end(); ++a)
            for (auto b = std::next(a); b != choices.end(); ++b)
                visit(Pair(a->first + "=" + a->second.text, b->first + "=" + b->second.text));
    };
    std::mt19937 random(1);
    std::vector<Choices> sample{from.complete({}).value()};
    while (sample.size() < most) {
        each_pair(sample.back(), [&](const Pair& pair) { seen.insert(pair); });
        std::optional<Choices> best;
        std::size_t most_fresh = 0;
        for (int draws = 0, allowed = 0; draws < drawn && allowed < looked_at; ++draws) {
            Choices choices;
            for (const TemplateTunable& tunable : from.tunables())
                choices.emplace(tunable.name, tunable.values[random() % tunable.values.size()]);
            if (!from.complete(choices)) continue;
            ++allowed;
            std::size_t fresh = 0;
            each_pair(choices, [&](const Pair& pair) { fresh += !seen.contains(pair); });
            if (fresh > most_fresh) most_fresh = fresh, best = choices;
        }
        if (!best) break;
        sample.push_back(*best);
    }
    return sample;
}

inline std::string text_of(const Choices& choices) {
    std::string text;
    for (const auto& [name, value] : choices) text += name + "=" + value.text + " ";
    return text;
}

/// Small odd dimensions: those of `base` up to a template's maximum, raised where it asks for a multiple.
inline Dimensions odd_dimensions(const Template& from, const Choices& choices,
                                 const std::vector<std::uint64_t>& base) {
    Dimensions dimensions;
    std::size_t next = 0;
    for (const TemplateDimension& dimension : from.dimensions()) {
        const std::uint64_t wanted = dimension.usual ? *dimension.usual + 1 : base[next++ % base.size()];
        dimensions[dimension.name] = std::clamp(wanted, dimension.least, dimension.most);
    }
    // A multiple is known by trying: it may be an expression of tunables.
    for (const TemplateDimension& dimension : from.dimensions()) {
        if (dimension.multiple_of.empty()) continue;
        for (int tries = 0; tries < 1024; ++tries, ++dimensions[dimension.name]) {
            const auto launch = from.launch(dimensions, choices);
            if (launch ||
                message(launch.error()).find(dimension.name + " is a multiple") == std::string::npos)
                break;
        }
    }
    return dimensions;
}

/// A stub that changes every value that it may write, and no value much: floats to 0.75 of them and an
/// eighth, by index where there is one; other types, and fragments that it may keep, stay as they are.
inline Stub mild_stub(const Site& site) {
    std::string text;
    for (const SiteOperand& operand : site.signature.operands) {
        if (operand.direction == Direction::in) continue;
        std::string value = operand.name;
        if (operand.direction == Direction::out) {
            value.clear();
            for (const SiteOperand& other : site.signature.operands)
                if (other.direction != Direction::out && other.type == operand.type) {
                    value = other.name;
                    break;
                }
            if (value.empty()) value = "0";
        }
        if (operand.type == Type::f32 && operand.count == 0)
            text += operand.name + " = " + value + " * 0.75 + 0.125\n";
        else if (operand.count == 0)
            text += operand.name + " = " + value + "\n";
        else if (operand.direction == Direction::mod)
            text += operand.name + "[0] = " + operand.name + "[0]\n";
    }
    auto stub = compile_expression(text, site);
    return std::move(stub.value());
}

/// Such a stub for every site whose stubs obey no law.
inline std::vector<Graft> mild_stubs(const Template& from, const Skeleton& skeleton) {
    std::vector<Graft> grafts;
    for (const Site& site : skeleton.sites().sites) {
        const auto said = std::find_if(from.sites().begin(), from.sites().end(),
                                       [&](const TemplateSite& s) { return s.name == site.name; });
        if (said == from.sites().end() || said->law.empty()) grafts.emplace_back(site.name, mild_stub(site));
    }
    return grafts;
}

}  // namespace ptxgraft::test
