// Puts stubs in place of what sites hold. The result is measured first, then written once.

#include "base/try.hpp"
#include "ptxgraft/site.hpp"

namespace ptxgraft {
namespace {

// For each site its replacement's text; data() is null for the sites that keep what they hold.
Expected<std::vector<std::string_view>> texts_by_site(const Sites& sites,
                                                      std::span<const Replacement> replacements) {
    std::vector<std::string_view> texts(sites.sites.size());
    for (std::uint32_t i = 0; i < replacements.size(); ++i) {
        const Site* const site = sites.find(replacements[i].site);
        auto failure =
            fail(site ? Errc::site_filled_twice : Errc::site_unknown, std::string(replacements[i].site));
        failure.value().index = i;
        if (!site) return failure;
        std::string_view& text = texts[static_cast<std::size_t>(site - sites.sites.data())];
        if (text.data()) return failure;
        text = replacements[i].text.data() ? replacements[i].text : std::string_view("");
    }
    return texts;
}

// The bytes of the result; nothing where a copy lies outside of the text, which then is not the text that was
// scanned.
Expected<std::size_t> rendered_size(std::string_view ptx, const Sites& sites,
                                    std::span<const std::string_view> texts) {
    std::size_t size = ptx.size(), end = 0;
    for (const auto [site, copy] : sites.order) {
        const Span stub = sites.sites[site].copies[copy].stub;
        if (stub.begin < end || stub.end < stub.begin || stub.end > ptx.size())
            return fail(Errc::argument_invalid, "the PTX is not the text that was scanned");
        end = stub.end;
        if (texts[site].data()) size += texts[site].size() - (stub.end - stub.begin);
    }
    return size;
}

}  // namespace

Expected<void> render_to(std::string& out, std::string_view ptx, const Sites& sites,
                         std::span<const Replacement> replacements) {
    const auto texts = TRY(texts_by_site(sites, replacements));
    const auto size = TRY(rendered_size(ptx, sites, texts));
    out.clear();
    out.reserve(size);
    std::size_t at = 0;
    for (const auto [site, copy] : sites.order) {
        const std::string_view text = texts[site];
        if (!text.data()) continue;
        const Span stub = sites.sites[site].copies[copy].stub;
        out.append(ptx, at, stub.begin - at).append(text);
        at = stub.end;
    }
    out.append(ptx, at);
    return {};
}

Expected<std::string> render(std::string_view ptx, const Sites& sites,
                             std::span<const Replacement> replacements) {
    std::string out;
    TRY(render_to(out, ptx, sites, replacements));
    return out;
}

}  // namespace ptxgraft
