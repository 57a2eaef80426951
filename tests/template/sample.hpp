#pragma once
// Which combinations of a template's tunables, which dimensions and which stubs a test tries.

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ptxgraft/expression.hpp"
#include "ptxgraft/target.hpp"
#include "ptxgraft/template.hpp"

namespace ptxgraft::test {

/// Combinations that have every pair of values of two tunables that the manifest allows, up to `most` of
/// them; the usual one first. Each adds as many new pairs as any of those left.
inline std::vector<Choices> pairs_of(const Template& from, std::size_t most) {
    using Pair = std::pair<std::string, std::string>;
    const auto pairs = [](const Choices& choices) {
        std::vector<Pair> all;
        for (auto a = choices.begin(); a != choices.end(); ++a)
            for (auto b = std::next(a); b != choices.end(); ++b)
                all.emplace_back(a->first + "=" + a->second.text, b->first + "=" + b->second.text);
        return all;
    };
    std::set<Pair> seen;
    const auto fresh = [&](const Choices& choices) {
        std::size_t count = 0;
        for (const Pair& pair : pairs(choices)) count += !seen.contains(pair);
        return count;
    };
    const std::vector<Choices> all = from.combinations();
    std::vector<Choices> sample{*from.complete({})};
    while (true) {
        for (const Pair& pair : pairs(sample.back())) seen.insert(pair);
        const auto best = std::max_element(
            all.begin(), all.end(), [&](const Choices& a, const Choices& b) { return fresh(a) < fresh(b); });
        if (sample.size() == most || best == all.end() || fresh(*best) == 0) return sample;
        sample.push_back(*best);
    }
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
/// eighth, by index where there is one; other types stay as they are.
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
    }
    auto stub = compile_expression(text, site);
    return std::move(stub.value());
}

}  // namespace ptxgraft::test
