// Which stub the place of an error stands in.
#include "site/stub_place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxgraft/site.hpp"
#include "site/called.hpp"

namespace ptxgraft::site {
namespace {

// The detail of an error at a place of a stub, whose text begins somewhere before it.
void add_stub(Error& error, std::string_view ptx, std::size_t begin, std::string_view site) {
    const auto line = 1 + std::ranges::count(ptx.substr(begin, error.span.begin - begin), '\n');
    const std::string detail = error.detail ? *error.detail : std::string();
    error.detail = std::make_shared<const std::string>(
        fmt::format("{}; in the stub of site {}, line {}", detail, site, line));
}

// The same of one that is called.
bool add_called_stub(Error& error, std::string_view ptx) {
    const std::size_t marker = ptx.rfind(called_begin, error.span.begin);
    if (marker == std::string_view::npos) return false;
    const std::size_t name = marker + called_begin.size(), line = ptx.find('\n', name) + 1;
    if (ptx.find(called_end, line) < error.span.begin) return false;
    add_stub(error, ptx, line, ptx.substr(name, line - 1 - name));
    return true;
}

}  // namespace

Error with_stub(Error error, std::string_view ptx) {
    if (!error.span.known() || error.source != nullptr || add_called_stub(error, ptx)) return error;
    if (ptx.find("PTXGRAFT_STUB") == std::string_view::npos &&
        ptx.find("PTX_INJECT_START") == std::string_view::npos)
        return error;
    const auto sites = scan(ptx);
    if (!sites) return error;
    const std::uint32_t at = error.span.begin;
    for (const Site& site : sites->sites) {
        for (const SiteCopy& copy : site.copies) {
            if (at < copy.stub.begin || at >= copy.stub.end) continue;
            add_stub(error, ptx, copy.stub.begin, site.name);
        }
    }
    return error;
}

}  // namespace ptxgraft::site
