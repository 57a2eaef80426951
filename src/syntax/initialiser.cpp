// First values of variables.

#include "syntax/initialiser.hpp"

#include <algorithm>

namespace ptxgraft::syntax {
namespace {

bool is_name(const Token& token) { return token.kind == TokenKind::identifier && token.text != "WARP_SZ"; }

InitialValue read(std::span<const Token> tokens) {
    InitialValue value;
    value.tokens = tokens;
    if (tokens.size() > 1 && tokens[0].kind == TokenKind::integer && tokens[1].text == "(") {
        value.mask = &tokens[0];
        tokens = tokens.subspan(2, tokens.size() - 3);
    }
    value.is_generic = tokens.size() > 1 && tokens[0].text == "generic" && tokens[1].text == "(";
    if (value.is_generic || is_name(tokens.front())) value.symbol = &tokens[value.is_generic ? 2 : 0];
    const auto plus =
        std::find_if(tokens.begin(), tokens.end(), [](const Token& t) { return t.text == "+"; });
    value.constant = value.symbol != nullptr ? std::span(plus, tokens.end()) : tokens;
    return value;
}

}  // namespace

std::optional<unsigned> mask_shift(const Token& mask) {
    const auto value = parse_integer(mask.text);
    for (unsigned shift = 0; value && shift < 64; shift += 8)
        if (*value == std::uint64_t{0xFF} << shift) return shift;
    return std::nullopt;
}

InitialValues::InitialValues(const Statement::Variable& variable, const Statement::Declarator& declarator)
    : extents_(declarator.extents), tokens_(declarator.initialiser), is_vector_(variable.vector > 1) {
    if (is_vector_) extents_.push_back(variable.vector);
}

std::optional<InitialValue> InitialValues::next() {
    while (at_ < tokens_.size()) {
        const std::string_view text = tokens_[at_].text;
        if (text == "{" ? open() : text == "}" ? close() : text == ",") {
            ++at_;
            continue;
        }
        if (!problem_.empty()) return std::nullopt;
        if (counts_.size() != extents_.size())
            return fails("a value stands where a list in braces is expected"), std::nullopt;
        if (!count()) return std::nullopt;
        const std::size_t first = at_;
        at_ = end_of_value();
        return read(tokens_.subspan(first, at_ - first));
    }
    return std::nullopt;
}

bool InitialValues::open() {
    if (counts_.size() == extents_.size()) return fails("more braces than the variable has sizes");
    if (!count()) return false;
    counts_.push_back(0);
    return true;
}

bool InitialValues::close() {
    const bool is_innermost = counts_.size() == extents_.size();
    if (is_vector_ && is_innermost && counts_.back() != extents_.back())
        return fails("a vector has " + std::to_string(extents_.back()) + " elements");
    if (counts_.size() == 1 && extents_[0] == 0 && counts_[0] == 0)
        return fails("an array without a size has the size of its list, which is empty");
    counts_.pop_back();
    return true;
}

// One more value or list in the list that is open.
bool InitialValues::count() {
    if (counts_.empty()) return true;
    const std::uint64_t extent = extents_[counts_.size() - 1];
    if (++counts_.back() > extent && extent != 0)
        return fails("more values than the " + std::to_string(extent) + " elements");
    return true;
}

bool InitialValues::fails(std::string problem) {
    problem_ = std::move(problem);
    return false;
}

std::size_t InitialValues::end_of_value() const {
    std::size_t end = at_, depth = 0;
    for (; end < tokens_.size(); ++end) {
        const std::string_view text = tokens_[end].text;
        depth += text == "(" ? 1 : 0;
        if (depth == 0 && (text == "," || text == "}" || text == "{")) break;
        depth -= text == ")" ? 1 : 0;
    }
    return end;
}

std::uint64_t count_lists(std::span<const Token> initialiser) {
    std::uint64_t count = 0;
    std::size_t depth = 0;
    for (std::size_t i = 0; i < initialiser.size(); ++i) {
        const std::string_view text = initialiser[i].text;
        const bool closes = text == "}" || text == ")";
        if (depth == 1 && !closes && (initialiser[i - 1].text == "{" || initialiser[i - 1].text == ","))
            ++count;
        depth += text == "{" || text == "(" ? 1 : 0;
        depth -= closes ? 1 : 0;
    }
    return count;
}

}  // namespace ptxgraft::syntax
