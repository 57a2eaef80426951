// Targets as text and as numbers, and what each architecture has room for.
#include "ptx/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

#include "ptx/target_list.hpp"

namespace ptxgraft {
using architectures::ArchitectureRow;
namespace {

constexpr std::uint16_t first_emulated = 75;

std::string names_from(std::uint16_t first) {
    std::vector<std::string> names;
    for (const ArchitectureRow& row : architectures::all)
        if (row.sm >= first) names.push_back(name(Architecture{row.sm, 0}));
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<Architecture> find_architecture(std::string_view text) {
    const auto prefix =
        std::ranges::find_if(architecture_prefixes, [&](auto p) { return text.starts_with(p); });
    if (prefix == architecture_prefixes.end()) return std::nullopt;
    text.remove_prefix(prefix->size());
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

Expected<Architecture> parse_architecture(std::string_view text) {
    if (const auto found = find_architecture(text)) return *found;
    return fail(Errc::target_unknown,
                fmt::format("'{}'; architectures are {} (with a from sm_90 on, with f from sm_100 on)", text,
                            names_from(0)));
}

std::string name(Architecture architecture) {
    std::string out = "sm_" + std::to_string(architecture.sm);
    if (architecture.variant != 0) out += architecture.variant;
    return out;
}

bool runs_on(std::string_view ptx_target, Architecture device) {
    if (ptx_target.empty()) return true;
    const auto needed = find_architecture(ptx_target);
    return needed && supports(whole_architecture(device.sm), *needed);
}

Architecture whole_architecture(std::uint32_t sm) {
    if (sm > UINT16_MAX) return {};
    return {static_cast<std::uint16_t>(sm), sm >= 90 ? 'a' : char{0}};
}

ArchitectureLimits architecture_limits(std::uint32_t sm) {
    const auto behind = std::ranges::upper_bound(architectures::all, sm, {}, &ArchitectureRow::sm);
    const ArchitectureRow& row =
        behind == architectures::all.begin() ? architectures::all.front() : *std::prev(behind);
    return {row.shared_kilobytes * 1024u, row.sm >= 80 ? 1024u : 0u, row.blocks_per_cluster,
            row.warps_per_multiprocessor * 32u, row.blocks_per_multiprocessor};
}

bool is_emulated(std::uint32_t sm) { return sm >= first_emulated && architectures::find(sm) != nullptr; }

std::vector<std::uint32_t> emulated_numbers() {
    std::vector<std::uint32_t> numbers;
    for (const ArchitectureRow& row : architectures::all)
        if (row.sm >= first_emulated) numbers.push_back(row.sm);
    return numbers;
}

std::string emulated_architectures() { return names_from(first_emulated); }

}  // namespace ptxgraft
