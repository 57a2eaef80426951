// How many blocks a multiprocessor holds.

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ptxgraft/architectures.hpp"
#include "ptxgraft/static_cost.hpp"

namespace ptxgraft {
namespace {

constexpr std::array<std::string_view, 4> limit_names = {"blocks", "warps", "registers", "shared memory"};
constexpr std::uint32_t registers_of_part = 16384, parts = 4, most_registers = 255;
constexpr std::uint32_t warp_size = 32, most_threads = 1024;
constexpr std::uint32_t kilobyte = 1024;

constexpr std::uint32_t rounded_up(std::uint32_t value, std::uint32_t unit) {
    return (value + unit - 1) / unit * unit;
}

// Blocks that the registers are enough for: each part of a multiprocessor has registers of its own.
std::uint32_t blocks_by_registers(std::uint32_t registers, std::uint32_t warps) {
    if (registers > most_registers) return 0;
    const std::uint32_t of_warp = rounded_up(std::max(registers, 1u) * warp_size, 256);
    if (rounded_up(warps, parts) * of_warp > registers_of_part * parts) return 0;
    return registers_of_part / of_warp * parts / warps;
}

std::uint32_t blocks_by_shared(const architectures::ArchitectureRow& row, std::uint32_t bytes) {
    if (bytes > row.shared_kilobytes * kilobyte) return 0;
    const bool reserves = row.sm >= 80;
    const std::uint32_t all = (row.shared_kilobytes + (reserves ? 1u : 0u)) * kilobyte;
    const std::uint32_t of_block = rounded_up(bytes, row.sm >= 80 ? 128 : 256) + (reserves ? kilobyte : 0);
    return of_block == 0 ? ~0u : all / of_block;
}

}  // namespace

std::string_view name(OccupancyLimit limit) { return limit_names.at(static_cast<std::size_t>(limit)); }

Expected<Occupancy> occupancy(Architecture target, const BlockUsage& block) {
    const auto* const row = architectures::find(target.sm);
    if (row == nullptr || row->sm < 75)
        return fail(Errc::target_unknown, fmt::format("sm_{}: occupancy is known from sm_75 on", target.sm));
    if (block.threads == 0 || block.threads > most_threads)
        return fail(Errc::argument_invalid, fmt::format("a block of {} threads", block.threads));
    const std::uint32_t warps = (block.threads + warp_size - 1) / warp_size;
    const std::array<std::uint32_t, 4> most = {
        row->blocks_per_multiprocessor, row->warps_per_multiprocessor / warps,
        blocks_by_registers(block.registers, warps), blocks_by_shared(*row, block.shared_bytes)};
    const auto least = std::ranges::min_element(most);
    return Occupancy{.blocks = *least,
                     .warps = *least * warps,
                     .most_warps = row->warps_per_multiprocessor,
                     .limit = static_cast<OccupancyLimit>(least - most.begin())};
}

}  // namespace ptxgraft
