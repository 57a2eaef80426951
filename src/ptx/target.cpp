#include "ptx/target.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <vector>

namespace ptxgraft {
namespace {

struct Row {
    std::uint16_t sm;
    std::uint16_t since, since_a, since_f;  // PTX version of sm_X, sm_Xa, sm_Xf; 0: there is none
    std::uint16_t family;                   // of sm_Xf
    std::uint16_t shared_kilobytes;         // of a block
    std::uint16_t blocks_per_cluster;
    std::uint16_t warps_per_multiprocessor, blocks_per_multiprocessor;
};
// PTX ISA 11.1.2, the versions that ptxas takes, and the CUDA C++ Programming Guide.
constexpr std::array<Row, 32> rows = {{
    {10, 10, 0, 0, 0, 16, 1, 24, 8},         {11, 10, 0, 0, 0, 16, 1, 24, 8},
    {12, 12, 0, 0, 0, 16, 1, 32, 8},         {13, 12, 0, 0, 0, 16, 1, 32, 8},
    {20, 20, 0, 0, 0, 48, 1, 48, 8},         {21, 20, 0, 0, 0, 48, 1, 48, 8},
    {30, 31, 0, 0, 0, 48, 1, 64, 16},        {32, 40, 0, 0, 0, 48, 1, 64, 16},
    {35, 31, 0, 0, 0, 48, 1, 64, 16},        {37, 41, 0, 0, 0, 48, 1, 64, 16},
    {50, 40, 0, 0, 0, 48, 1, 64, 32},        {52, 41, 0, 0, 0, 48, 1, 64, 32},
    {53, 42, 0, 0, 0, 48, 1, 64, 32},        {60, 50, 0, 0, 0, 48, 1, 64, 32},
    {61, 50, 0, 0, 0, 48, 1, 64, 32},        {62, 50, 0, 0, 0, 48, 1, 64, 32},
    {70, 60, 0, 0, 0, 96, 1, 64, 32},        {72, 61, 0, 0, 0, 96, 1, 64, 32},
    {75, 63, 0, 0, 0, 64, 1, 32, 16},        {80, 70, 0, 0, 0, 163, 1, 64, 32},
    {86, 71, 0, 0, 0, 99, 1, 48, 16},        {87, 74, 0, 0, 0, 163, 1, 48, 16},
    {88, 74, 0, 0, 0, 163, 1, 48, 16},       {89, 78, 0, 0, 0, 99, 1, 48, 24},
    {90, 78, 80, 0, 0, 227, 16, 64, 32},     {100, 86, 86, 88, 100, 227, 16, 64, 32},
    {101, 86, 86, 88, 110, 227, 16, 48, 24}, {103, 88, 88, 88, 100, 227, 16, 64, 32},
    {107, 94, 94, 94, 100, 227, 16, 64, 32}, {110, 90, 90, 90, 110, 227, 16, 48, 24},
    {120, 87, 87, 88, 120, 99, 16, 48, 24},  {121, 88, 88, 88, 120, 99, 16, 48, 24},
}};
constexpr std::uint16_t first_emulated = 75;

const Row* find(std::uint32_t sm) {
    const auto at = std::ranges::find(rows, sm, &Row::sm);
    return at == rows.end() ? nullptr : &*at;
}

std::string names_from(std::uint16_t first) {
    std::vector<std::string> names;
    for (const Row& row : rows)
        if (row.sm >= first) names.push_back(name(Architecture{row.sm, 0}));
    return fmt::format("{}", fmt::join(names, ", "));
}

}  // namespace

std::optional<Architecture> find_architecture(std::string_view text) {
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

std::uint16_t first_version(Architecture architecture) {
    const Row* row = find(architecture.sm);
    if (row == nullptr) return 0;
    return architecture.variant == 'a'   ? row->since_a
           : architecture.variant == 'f' ? row->since_f
                                         : row->since;
}

bool supports(Architecture target, Architecture needed) {
    if (needed.variant == 0) return target.sm >= needed.sm;
    if (needed.variant == 'a') return target == needed;
    const Row *t = find(target.sm), *n = find(needed.sm);
    return t != nullptr && n != nullptr && target.variant != 0 && t->family == n->family && n->family != 0 &&
           target.sm >= needed.sm;
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
    const auto behind = std::ranges::upper_bound(rows, sm, {}, &Row::sm);
    const Row& row = behind == rows.begin() ? rows.front() : *std::prev(behind);
    return {row.shared_kilobytes * 1024u, row.sm >= 80 ? 1024u : 0u, row.blocks_per_cluster,
            row.warps_per_multiprocessor * 32u, row.blocks_per_multiprocessor};
}

bool is_emulated(std::uint32_t sm) { return sm >= first_emulated && find(sm) != nullptr; }

std::vector<std::uint32_t> emulated_numbers() {
    std::vector<std::uint32_t> numbers;
    for (const Row& row : rows)
        if (row.sm >= first_emulated) numbers.push_back(row.sm);
    return numbers;
}

std::string emulated_architectures() { return names_from(first_emulated); }

}  // namespace ptxgraft
