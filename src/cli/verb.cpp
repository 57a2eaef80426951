// What verbs share: how they fail, `NAME=VALUE`, words of a shell, and the names of effects.

#include "verb.hpp"

#include <fmt/format.h>

namespace ptxgraft::cli {

void fail_usage(std::string_view message) { throw Failure{fmt::format("error: {}\n", message), wrong_usage}; }

void fail_work(const Error& error, std::string_view source, std::string_view file) {
    std::string text = describe(error, source, file);
    if (text.empty() || text.back() != '\n') text += '\n';
    throw Failure{std::move(text), work_failed};
}

NamedValue split_named(std::string_view option, std::string_view text) {
    const std::size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
        fail_usage(fmt::format("{} wants NAME=VALUE, but got '{}'", option, text));
    return {std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

std::string wrong_from_zero(const std::string& text) {
    return text.starts_with('-') ? fmt::format("it is a number from 0 on, not {}", text) : std::string();
}

std::string shell_word(std::string_view text) {
    std::string word = "'";
    for (const char c : text) word += c == '\'' ? std::string("'\\''") : std::string(1, c);
    return word + "'";
}

std::vector<std::string> effect_names(Effect effects) {
    std::vector<std::string> names;
    for (unsigned bit = 1; bit <= unsigned(Effect::all); bit <<= 1)
        if (contains(effects, Effect(bit))) names.emplace_back(name(Effect(bit)));
    return names;
}

}  // namespace ptxgraft::cli
