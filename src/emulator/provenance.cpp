#include "emulator/provenance.hpp"

#include <fmt/format.h>

#include <optional>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_calls = 8;  // that are worth reading

std::string of_source(const syntax::Module& module, std::uint32_t offset, std::string_view word) {
    std::string detail;
    for (const syntax::SourceLine& line : syntax::source_lines(module, offset)) {
        detail += fmt::format("{}{}:{}:{}", detail.empty() ? word : ", inlined at ", line.file, line.line, line.column);
        if (!line.function.empty()) detail += fmt::format(" in {}", line.function);
    }
    return detail;
}

}  // namespace

std::string source_of(std::string_view text, Span instruction) {
    if (text.find(".loc") == std::string_view::npos) return {};
    const auto module = syntax::parse(std::string(text));
    return module ? of_source(*module, instruction.begin, ", from ") : std::string();
}

Error with_provenance(Error error, std::string_view text, std::span<const Span> calls) {
    if (!error.span.known() || error.source != nullptr) return error;
    std::optional<syntax::Module> module;
    if (text.find(".loc") != std::string_view::npos)
        if (auto parsed = syntax::parse(std::string(text))) module = std::move(*parsed);
    std::string more = module ? of_source(*module, error.span.begin, "; from ") : std::string();
    for (std::size_t i = 0; i < calls.size() && i < most_calls; ++i) {
        more += fmt::format("; called on line {}", position(text, calls[i].begin).line);
        if (module) more += of_source(*module, calls[i].begin, ", from ");
    }
    if (calls.size() > most_calls) more += fmt::format("; and {} calls before", calls.size() - most_calls);
    if (!more.empty()) error.detail = std::make_shared<const std::string>((error.detail ? *error.detail : std::string()) + more);
    return error;
}

}  // namespace ptxgraft::emulator
