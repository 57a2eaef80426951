#pragma once
/// @file architectures.hpp
/// The target architectures that there are (PTX ISA 11.1.2), a row each, and which of them has what another
/// needs: constant expressions, for the emitter (dsl.hpp) too.

#include <algorithm>
#include <array>
#include <cstdint>

#include "ptxgraft/target.hpp"

namespace ptxgraft {
namespace architectures {

/// One architecture, with its variants.
struct ArchitectureRow {
    std::uint16_t sm;
    std::uint16_t since, since_a, since_f;  // PTX version of sm_X, sm_Xa, sm_Xf; 0: there is none
    std::uint16_t family;                   // of sm_Xf
    std::uint16_t shared_kilobytes;         // of a block
    std::uint16_t blocks_per_cluster;
    std::uint16_t warps_per_multiprocessor, blocks_per_multiprocessor;
};
// PTX ISA 11.1.2, the versions that ptxas takes, and the CUDA C++ Programming Guide.
inline constexpr std::array<ArchitectureRow, 32> all = {{
    {10, 10, 0, 0, 0, 16, 1, 24, 8},         {11, 10, 0, 0, 0, 16, 1, 24, 8},
    {12, 12, 0, 0, 0, 16, 1, 32, 8},         {13, 12, 0, 0, 0, 16, 1, 32, 8},
    {20, 20, 0, 0, 0, 48, 1, 48, 8},         {21, 20, 0, 0, 0, 48, 1, 48, 8},
    {30, 30, 0, 0, 0, 48, 1, 64, 16},        {32, 40, 0, 0, 0, 48, 1, 64, 16},
    {35, 31, 0, 0, 0, 48, 1, 64, 16},        {37, 41, 0, 0, 0, 48, 1, 64, 16},
    {50, 40, 0, 0, 0, 48, 1, 64, 32},        {52, 41, 0, 0, 0, 48, 1, 64, 32},
    {53, 42, 0, 0, 0, 48, 1, 64, 32},        {60, 50, 0, 0, 0, 48, 1, 64, 32},
    {61, 50, 0, 0, 0, 48, 1, 64, 32},        {62, 50, 0, 0, 0, 48, 1, 64, 32},
    {70, 60, 0, 0, 0, 96, 1, 64, 32},        {72, 61, 0, 0, 0, 96, 1, 64, 32},
    {75, 63, 0, 0, 0, 64, 1, 32, 16},        {80, 70, 0, 0, 0, 163, 1, 64, 32},
    {86, 71, 0, 0, 0, 99, 1, 48, 16},        {87, 74, 0, 0, 0, 163, 1, 48, 16},
    {88, 90, 0, 0, 0, 163, 1, 48, 16},       {89, 78, 0, 0, 0, 99, 1, 48, 24},
    {90, 78, 80, 0, 0, 227, 16, 64, 32},     {100, 86, 86, 88, 100, 227, 16, 64, 32},
    {101, 86, 86, 88, 110, 227, 16, 48, 24}, {103, 88, 88, 88, 100, 227, 16, 64, 32},
    {107, 94, 94, 94, 100, 227, 16, 64, 32}, {110, 90, 90, 90, 110, 227, 16, 48, 24},
    {120, 87, 87, 88, 120, 99, 16, 48, 24},  {121, 88, 88, 88, 120, 99, 16, 48, 24},
}};

/// The row of `sm_<number>`; null when there is none.
[[nodiscard]] constexpr const ArchitectureRow* find(std::uint32_t sm) {
    const auto at =
        std::find_if(all.begin(), all.end(), [sm](const ArchitectureRow& row) { return row.sm == sm; });
    return at == all.end() ? nullptr : &*at;
}

}  // namespace architectures

/// The first PTX version with the architecture (78: 7.8); 0 when there is none.
[[nodiscard]] constexpr std::uint16_t first_version(Architecture architecture) {
    const auto* row = architectures::find(architecture.sm);
    if (row == nullptr) return 0;
    return architecture.variant == 'a'   ? row->since_a
           : architecture.variant == 'f' ? row->since_f
                                         : row->since;
}

/// What needs `needed` is there for `target`: sm_90 on all later ones, sm_90a on it alone, sm_100f on its
/// family.
[[nodiscard]] constexpr bool supports(Architecture target, Architecture needed) {
    if (needed.variant == 0) return target.sm >= needed.sm;
    if (needed.variant == 'a') return target == needed;
    const auto *t = architectures::find(target.sm), *n = architectures::find(needed.sm);
    return t != nullptr && n != nullptr && target.variant != 0 && t->family == n->family && n->family != 0 &&
           target.sm >= needed.sm;
}

}  // namespace ptxgraft
