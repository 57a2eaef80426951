#include "emulator/provenance.hpp"

#include <fmt/format.h>

#include "ptxgraft/syntax.hpp"

namespace ptxgraft::emulator {
namespace {

std::string of_source(std::string_view text, std::uint32_t offset) {
    if (text.find(".loc") == std::string_view::npos) return {};
    const auto module = syntax::parse(std::string(text));
    if (!module) return {};
    std::string detail;
    for (const syntax::SourceLine& line : syntax::source_lines(*module, offset)) {
        detail += fmt::format("{}{}:{}:{}", detail.empty() ? "; from " : ", inlined at ", line.file, line.line, line.column);
        if (!line.function.empty()) detail += fmt::format(" in {}", line.function);
    }
    return detail;
}

}  // namespace

Error with_provenance(Error error, std::string_view text) {
    if (!error.span.known() || error.source != nullptr) return error;
    const std::string more = of_source(text, error.span.begin);
    if (!more.empty()) error.detail = std::make_shared<const std::string>((error.detail ? *error.detail : std::string()) + more);
    return error;
}

}  // namespace ptxgraft::emulator
