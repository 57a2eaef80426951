#include "emulator/provenance.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxgraft/site.hpp"
#include "ptxgraft/syntax.hpp"

namespace ptxgraft::emulator {
namespace {

// Lines of a stub count from the one behind its marker.
std::string of_stub(std::string_view text, std::uint32_t offset) {
    if (text.find("PTXGRAFT_STUB") == std::string_view::npos && text.find("PTX_INJECT_START") == std::string_view::npos) return {};
    const auto sites = scan(text);
    if (!sites) return {};
    for (const Site& site : sites->sites) {
        for (const SiteCopy& copy : site.copies) {
            if (offset < copy.stub.begin || offset >= copy.stub.end) continue;
            const std::string_view before = text.substr(copy.stub.begin, offset - copy.stub.begin);
            return fmt::format("; in the stub of site {}, line {}", site.name, 1 + std::count(before.begin(), before.end(), '\n'));
        }
    }
    return {};
}

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
    const std::string more = of_stub(text, error.span.begin) + of_source(text, error.span.begin);
    if (!more.empty()) error.detail = std::make_shared<const std::string>((error.detail ? *error.detail : std::string()) + more);
    return error;
}

}  // namespace ptxgraft::emulator
