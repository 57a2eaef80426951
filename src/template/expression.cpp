// Puts numbers in place of names, and lets PTX's constant expressions compute.

#include "template/expression.hpp"

#include <fmt/format.h>

#include "array/scalar.hpp"
#include "base/try.hpp"
#include "ptxgraft/constant.hpp"

namespace ptxgraft::templates {
namespace {

constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_";
constexpr std::string_view digits = "0123456789";

bool is_letter(char c) { return letters.find(c) != std::string_view::npos; }
bool is_digit(char c) { return digits.find(c) != std::string_view::npos; }

// The letters and digits that begin here.
std::string_view word_at(std::string_view text, std::size_t at) {
    std::size_t end = at;
    while (end < text.size() && (is_letter(text[end]) || is_digit(text[end]))) ++end;
    return text.substr(at, end - at);
}

// `(bf16)` behind `sizeof`: what stands in the parentheses, and how long all of it is.
std::pair<std::string_view, std::size_t> in_parentheses(std::string_view text) {
    const std::size_t open = text.find_first_not_of(' ');
    if (open == std::string_view::npos || text[open] != '(') return {};
    const std::size_t close = text.find(')', open);
    if (close == std::string_view::npos) return {};
    std::string_view inner = text.substr(open + 1, close - open - 1);
    inner.remove_prefix(std::min(inner.find_first_not_of(' '), inner.size()));
    return {inner.substr(0, inner.find_last_not_of(' ') + 1), close + 1};
}

}  // namespace

std::string_view stored_type(std::string_view type) { return type == "tf32" ? "f32" : type; }

std::uint32_t bytes_of_type(std::string_view type) {
    const array::ElementType* const found = array::find_type(stored_type(type));
    return found == nullptr ? 0 : found->bytes;
}

tl::unexpected<Error> manifest_error(const std::shared_ptr<const SourceText>& manifest, Span span,
                                     std::string why) {
    auto failed = fail(Errc::manifest_invalid, span, std::move(why));
    failed.value().source = manifest;
    return failed;
}

void Names::set_word(std::string_view name, std::string_view word) {
    words_[std::string(name)] = word;
    add_word(word);
}

void Names::add_word(std::string_view word) { ids_.emplace(word, static_cast<std::int64_t>(ids_.size())); }

std::string_view Names::word_of(std::string_view name) const {
    const auto found = words_.find(name);
    return found == words_.end() ? std::string_view() : std::string_view(found->second);
}

std::optional<std::int64_t> Names::find(std::string_view name) const {
    if (const auto number = numbers_.find(name); number != numbers_.end()) return number->second;
    const auto word = words_.find(name);
    const auto id = ids_.find(word == words_.end() ? name : std::string_view(word->second));
    if (id != ids_.end()) return id->second;
    return std::nullopt;
}

Expected<std::optional<std::int64_t>> Names::value_if_known(const Formula& formula,
                                                            const std::shared_ptr<const SourceText>& manifest,
                                                            std::string* unknown) const {
    const std::string_view text = formula.text;
    std::string numbers;
    for (std::size_t at = 0; at < text.size();) {
        if (!is_letter(text[at])) {
            const std::string_view number = is_digit(text[at]) ? word_at(text, at) : text.substr(at, 1);
            numbers += number;
            at += number.size();
            continue;
        }
        const std::string_view name = word_at(text, at);
        at += name.size();
        std::optional<std::int64_t> value;
        if (name == "sizeof") {
            const auto [type, length] = in_parentheses(text.substr(at));
            const std::string_view word = word_of(type);
            value = bytes_of_type(word.empty() ? type : word);
            if (*value == 0)
                return manifest_error(manifest, formula.span,
                                      fmt::format("'{}' is no type whose bytes sizeof() knows", type));
            at += length;
        } else {
            value = find(name);
        }
        if (!value) {
            if (unknown != nullptr) *unknown = name;
            return std::nullopt;
        }
        numbers += fmt::format("({})", *value);
    }
    const auto result = syntax::evaluate_constant(numbers);
    if (!result)
        return manifest_error(
            manifest, formula.span,
            fmt::format("{}, in '{}', which is {}", message(result.error(), numbers), formula.text, numbers));
    if (!result->is_integer())
        return manifest_error(manifest, formula.span, fmt::format("'{}' is no whole number", formula.text));
    return result->as_signed();
}

Expected<std::int64_t> Names::value(const Formula& formula,
                                    const std::shared_ptr<const SourceText>& manifest) const {
    std::string unknown;
    const auto value = TRY(value_if_known(formula, manifest, &unknown));
    if (value) return *value;
    return manifest_error(
        manifest, formula.span,
        fmt::format("'{}' in '{}' is no dimension, tunable or name", unknown, formula.text));
}

}  // namespace ptxgraft::templates
