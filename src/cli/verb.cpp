// What verbs share: how they fail, and `NAME=VALUE`.

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

}  // namespace ptxgraft::cli
