// Architectures and PTX versions: which there are, and which target supports which (PTX ISA 11.1).

#include "isa/target.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace ptxgraft::isa {
namespace {

struct Known {
    std::uint16_t sm;
    std::uint16_t since, since_a, since_f;  // PTX version of sm_X, sm_Xa, sm_Xf; 0: there is none
    std::uint16_t family;
};
// PTX ISA 11.1.2 and the versions that ptxas takes.
constexpr std::array<Known, 32> known = {{
    {10, 10, 0, 0, 0},      {11, 10, 0, 0, 0},      {12, 12, 0, 0, 0},      {13, 12, 0, 0, 0},
    {20, 20, 0, 0, 0},      {21, 20, 0, 0, 0},      {30, 31, 0, 0, 0},      {32, 40, 0, 0, 0},
    {35, 31, 0, 0, 0},      {37, 41, 0, 0, 0},      {50, 40, 0, 0, 0},      {52, 41, 0, 0, 0},
    {53, 42, 0, 0, 0},      {60, 50, 0, 0, 0},      {61, 50, 0, 0, 0},      {62, 50, 0, 0, 0},
    {70, 60, 0, 0, 0},      {72, 61, 0, 0, 0},      {75, 63, 0, 0, 0},      {80, 70, 0, 0, 0},
    {86, 71, 0, 0, 0},      {87, 74, 0, 0, 0},      {88, 74, 0, 0, 0},      {89, 78, 0, 0, 0},
    {90, 78, 80, 0, 0},     {100, 86, 86, 88, 100}, {101, 86, 86, 88, 110}, {103, 88, 88, 88, 100},
    {107, 94, 94, 94, 100}, {110, 90, 90, 90, 110}, {120, 87, 87, 88, 120}, {121, 88, 88, 88, 120},
}};

const Known* find(std::uint16_t sm) {
    const auto at = std::find_if(known.begin(), known.end(), [&](const Known& k) { return k.sm == sm; });
    return at == known.end() ? nullptr : &*at;
}

}  // namespace

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

std::optional<Architecture> parse_architecture(std::string_view text) {
    if (!text.starts_with("sm_")) return std::nullopt;
    text.remove_prefix(3);
    Architecture out;
    if (text.ends_with('a') || text.ends_with('f')) {
        out.variant = text.back();
        text.remove_suffix(1);
    }
    const auto read = std::from_chars(text.data(), text.data() + text.size(), out.sm);
    if (text.empty() || read.ec != std::errc() || read.ptr != text.data() + text.size() ||
        first_version(out) == 0)
        return std::nullopt;
    return out;
}

std::uint16_t first_version(Architecture architecture) {
    const Known* k = find(architecture.sm);
    if (k == nullptr) return 0;
    return architecture.variant == 'a' ? k->since_a : architecture.variant == 'f' ? k->since_f : k->since;
}

bool supports(Architecture target, Architecture needed) {
    if (needed.variant == 0) return target.sm >= needed.sm;
    if (needed.variant == 'a') return target == needed;
    const Known *t = find(target.sm), *n = find(needed.sm);
    return t != nullptr && n != nullptr && target.variant != 0 && t->family == n->family && n->family != 0 &&
           target.sm >= needed.sm;
}

std::string text(Architecture architecture) {
    std::string out = "sm_" + std::to_string(architecture.sm);
    if (architecture.variant != 0) out += architecture.variant;
    return out;
}

std::string version_text(std::uint16_t version) {
    return std::to_string(version / 10) + "." + std::to_string(version % 10);
}

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
        return {false, true, "PTX ISA " + version_text(s.ptx_version) + " or later"};
    }
    for (const Since& s : since)
        for (const Architecture a : s.architectures)
            if (const std::string name = text(a);
                (" " + out.needed + ",").find(" " + name + ",") == std::string::npos)
                out.needed.append(out.needed.empty() ? "" : ", ").append(name);
    return out;
}

}  // namespace ptxgraft::isa
