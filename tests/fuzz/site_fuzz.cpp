// Any text either scans or is refused with a place in it; what scans is rendered unchanged, and changed only
// in stubs.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "ptxgraft/site.hpp"

static void require(bool holds) {
    if (!holds) std::abort();
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    using namespace ptxgraft;
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    if (const auto signature = Signature::parse(text))
        require(*Signature::parse(signature->text()) == *signature);
    const auto sites = scan(text);
    if (!sites) {
        require(sites.error().span.known() && sites.error().span.end <= size);
        require(!describe(sites.error(), text, "fuzz").empty());
        return 0;
    }
    require(*render(text, *sites, {}) == text);
    if (sites->sites.empty()) return 0;
    const Site& site = sites->sites[size % sites->sites.size()];
    const Replacement replacement{site.name, "\tnew;\n"};
    const std::string rendered = *render(text, *sites, {&replacement, 1});
    std::size_t kept = text.size(), expected = 0;
    for (const SiteCopy& copy : site.copies)
        kept -= copy.stub.end - copy.stub.begin, expected += replacement.text.size();
    require(rendered.size() == kept + expected);
    return 0;
}
