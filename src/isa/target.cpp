// Architectures and PTX versions: which there are, and which target supports which (PTX ISA 11.1).

#include "isa/target.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace ptxgraft::isa {
bool is_version(std::uint16_t version) {
    // the newest minor version of each major one, from 1.x on
    constexpr std::array<std::uint16_t, 9> newest_minor = {5, 3, 2, 3, 0, 5, 8, 8, newest_version % 10};
    const std::uint16_t major = version / 10;
    return major >= 1 && major <= newest_minor.size() && version % 10 <= newest_minor[major - 1u];
}

std::optional<std::uint16_t> parse_version(std::string_view text) {
    unsigned major = 0, minor = 0;
    const auto dot = text.find('.');
    if (dot == std::string_view::npos) return std::nullopt;
    const char* end = text.data() + text.size();
    const auto first = std::from_chars(text.data(), text.data() + dot, major);
    const auto second = std::from_chars(text.data() + dot + 1, end, minor);
    if (first.ec != std::errc() || second.ec != std::errc() || first.ptr != text.data() + dot ||
        second.ptr != end)
        return std::nullopt;
    if (major > 99 || minor > 9) return std::nullopt;
    return static_cast<std::uint16_t>(10 * major + minor);
}

std::string version_text(std::uint16_t version) {
    return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

std::string or_later(std::uint16_t version) { return "PTX ISA " + version_text(version) + " or later"; }

namespace {
bool any_supports(const Since& since, Architecture target) {
    return std::any_of(since.architectures.begin(), since.architectures.end(),
                       [&](Architecture a) { return supports(target, a); });
}
}  // namespace

bool is_available(std::span<const Since> since, std::uint16_t version, Architecture target) {
    return std::any_of(since.begin(), since.end(),
                       [&](const Since& s) { return version >= s.ptx_version && any_supports(s, target); });
}

Availability availability(std::span<const Since> since, std::uint16_t version, Architecture target) {
    if (is_available(since, version, target)) return {};
    Availability out{false, false, {}};
    for (const Since& s : since) {
        if (!any_supports(s, target)) continue;
        return {false, true, or_later(s.ptx_version)};
    }
    for (const Since& s : since)
        for (const Architecture a : s.architectures)
            if (const std::string spelling = name(a);
                (" " + out.needed + ",").find(" " + spelling + ",") == std::string::npos)
                out.needed.append(out.needed.empty() ? "" : ", ").append(spelling);
    return out;
}

}  // namespace ptxgraft::isa
