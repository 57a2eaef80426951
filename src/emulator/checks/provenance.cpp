// Source lines of instructions, from the `.loc` directives of the module.
#include "emulator/checks/provenance.hpp"

#include <fmt/format.h>

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_calls = 8;  // that are worth reading

}  // namespace

std::vector<syntax::SourceLine> Provenance::lines(std::uint32_t offset) const {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(is_parsed_, true) && text_.find(".loc") != std::string_view::npos)
        if (auto parsed = syntax::parse(std::string(text_))) module_ = std::move(*parsed);
    return module_ ? syntax::source_lines(*module_, offset) : std::vector<syntax::SourceLine>();
}

std::string Provenance::source_of(std::uint32_t offset, std::string_view word) const {
    const std::string text = syntax::describe(lines(offset));
    return text.empty() ? text : std::string(word) + text;
}

Error Provenance::add_to(Error error, std::span<const Span> calls) const {
    if (!error.span.known() || error.source != nullptr) return error;
    std::string more;
    const std::string source = source_of(error.span.begin, ", from ");
    if (!error.detail || error.detail->find(source) == std::string::npos)
        more = source_of(error.span.begin, "; from ");
    for (std::size_t i = 0; i < calls.size() && i < most_calls; ++i) {
        more += fmt::format("; called on line {}", position(text_, calls[i].begin).line);
        more += source_of(calls[i].begin, ", from ");
    }
    if (calls.size() > most_calls) more += fmt::format("; and {} calls before", calls.size() - most_calls);
    if (!more.empty())
        error.detail =
            std::make_shared<const std::string>((error.detail ? *error.detail : std::string()) + more);
    return error;
}

}  // namespace ptxgraft::emulator
