#pragma once
// The labels that a `.branchtargets` lists (PTX ISA 11.3.1).

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ptxgraft/syntax.hpp"
#include "syntax/constant.hpp"

namespace ptxgraft::syntax {

/// One label, or `N<3>`: N0, N1, N2.
struct BranchTargets {
    Token stem;
    bool is_range = false;
    std::uint64_t count = 1;
    [[nodiscard]] std::string name(std::uint64_t number) const {
        return std::string(stem.text) + (is_range ? std::to_string(number) : std::string());
    }
};

/// Of the tokens of the directive.
[[nodiscard]] inline std::vector<BranchTargets> branch_targets(std::span<const Token> tokens) {
    std::vector<BranchTargets> all;
    for (std::size_t i = 1; i < tokens.size(); ++i) {
        if (tokens[i].kind != TokenKind::identifier || tokens[i - 1].text == "<") continue;
        BranchTargets targets{.stem = tokens[i]};
        targets.is_range = i + 2 < tokens.size() && tokens[i + 1].text == "<";
        if (targets.is_range) targets.count = integer_value(tokens[i + 2].text).value_or(0);
        all.push_back(targets);
    }
    return all;
}

}  // namespace ptxgraft::syntax
