// Which stub a place of a rendered text stands in.
#include "site/stub_place.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "ptxgraft/site.hpp"
#include "site/called.hpp"

namespace ptxgraft {
namespace {

// Of a stub whose text begins somewhere before the place.
StubPlace place_in(std::string_view ptx, std::size_t begin, std::uint32_t offset, std::string_view site) {
    const auto ends = std::ranges::count(ptx.substr(begin, offset - begin), '\n');
    return {std::string(site), static_cast<std::uint32_t>(1 + ends)};
}

// The same of one that is called.
std::optional<StubPlace> place_in_called(std::string_view ptx, std::uint32_t offset) {
    const std::size_t marker = ptx.rfind(site::called_begin, offset);
    if (marker == std::string_view::npos) return {};
    const std::size_t name = marker + site::called_begin.size(), line = ptx.find('\n', name) + 1;
    if (ptx.find(site::called_end, line) < offset) return {};
    return place_in(ptx, line, offset, ptx.substr(name, line - 1 - name));
}

}  // namespace

std::optional<StubPlace> find_stub_place(std::string_view ptx, std::uint32_t offset) {
    if (auto called = place_in_called(ptx, offset)) return called;
    if (ptx.find("PTXGRAFT_STUB") == std::string_view::npos &&
        ptx.find("PTX_INJECT_START") == std::string_view::npos)
        return {};
    const auto sites = scan(ptx);
    if (!sites) return {};
    for (const Site& site : sites->sites)
        for (const SiteCopy& copy : site.copies)
            if (offset >= copy.stub.begin && offset < copy.stub.end)
                return place_in(ptx, copy.stub.begin, offset, site.name);
    return {};
}

Error site::with_stub(Error error, std::string_view ptx) {
    if (!error.span.known() || error.source != nullptr) return error;
    if (const auto place = find_stub_place(ptx, error.span.begin))
        error.detail = std::make_shared<const std::string>(fmt::format("{}; in the stub of site {}, line {}",
                                                                       error.detail ? *error.detail : "",
                                                                       place->site, place->line));
    return error;
}

}  // namespace ptxgraft
