// The special registers by their names (PTX ISA chapter 10).
#include <string_view>

#include "emulator/decode/decode.hpp"

namespace ptxgraft::emulator {
namespace {

struct SpecialRow {
    std::string_view name;
    Special special;
    std::uint32_t bytes = 4;
};

// PTX ISA chapter 10.
constexpr SpecialRow special_rows[] = {
    {"%tid.x", Special::tid_x},
    {"%tid.y", Special::tid_y},
    {"%tid.z", Special::tid_z},
    {"%tid.w", Special::zero},
    {"%ntid.x", Special::ntid_x},
    {"%ntid.y", Special::ntid_y},
    {"%ntid.z", Special::ntid_z},
    {"%ntid.w", Special::zero},
    {"%ctaid.x", Special::ctaid_x},
    {"%ctaid.y", Special::ctaid_y},
    {"%ctaid.z", Special::ctaid_z},
    {"%ctaid.w", Special::zero},
    {"%nctaid.x", Special::nctaid_x},
    {"%nctaid.y", Special::nctaid_y},
    {"%nctaid.z", Special::nctaid_z},
    {"%nctaid.w", Special::zero},
    {"%laneid", Special::laneid},
    {"%warpid", Special::warpid},
    {"%nwarpid", Special::nwarpid},
    {"%smid", Special::smid},
    {"%nsmid", Special::nsmid},
    {"%gridid", Special::gridid, 8},
    {"%lanemask_eq", Special::lanemask_eq},
    {"%lanemask_le", Special::lanemask_le},
    {"%lanemask_lt", Special::lanemask_lt},
    {"%lanemask_ge", Special::lanemask_ge},
    {"%lanemask_gt", Special::lanemask_gt},
    {"%clock", Special::clock},
    {"%clock_hi", Special::clock_hi},
    {"%clock64", Special::clock64, 8},
    {"%globaltimer", Special::globaltimer, 8},
    {"%globaltimer_lo", Special::globaltimer_lo},
    {"%globaltimer_hi", Special::globaltimer_hi},
    {"%total_smem_size", Special::total_smem_size},
    {"%aggr_smem_size", Special::aggr_smem_size},
    {"%reserved_smem_offset_begin", Special::reserved_smem_begin},
    {"%reserved_smem_offset_end", Special::reserved_smem_end},
    {"%reserved_smem_offset_cap", Special::reserved_smem_cap},
    {"%reserved_smem_offset_0", Special::reserved_smem_begin},
    {"%reserved_smem_offset_1", Special::reserved_smem_1},
    {"%dynamic_smem_size", Special::dynamic_smem_size},
    {"%is_explicit_cluster", Special::is_explicit_cluster, 1},
    {"%clusterid.x", Special::clusterid_x},
    {"%clusterid.y", Special::clusterid_y},
    {"%clusterid.z", Special::clusterid_z},
    {"%nclusterid.x", Special::nclusterid_x},
    {"%nclusterid.y", Special::nclusterid_y},
    {"%nclusterid.z", Special::nclusterid_z},
    {"%cluster_ctaid.x", Special::cluster_ctaid_x},
    {"%cluster_ctaid.y", Special::cluster_ctaid_y},
    {"%cluster_ctaid.z", Special::cluster_ctaid_z},
    {"%cluster_nctaid.x", Special::cluster_nctaid_x},
    {"%cluster_nctaid.y", Special::cluster_nctaid_y},
    {"%cluster_nctaid.z", Special::cluster_nctaid_z},
    {"%clusterid.w", Special::zero},
    {"%nclusterid.w", Special::zero},
    {"%cluster_ctaid.w", Special::zero},
    {"%cluster_nctaid.w", Special::zero},
    {"%cluster_ctarank", Special::cluster_ctarank},
    {"%cluster_nctarank", Special::cluster_nctarank},
    {"%envreg1", Special::grid_workspace_hi},
    {"%envreg2", Special::grid_workspace_lo},
};

// Registers that are 0 here: `%envreg0` to `%envreg31`, of which CUDA sets those that have a row above;
// counters that nobody started; the graph that a launch is part of. Their width, or 0.
std::uint32_t zero_bytes(std::string_view name) {
    if (name == "%current_graph_exec") return 8;
    if (name.starts_with("%pm") && name.size() >= 4 && name[3] >= '0' && name[3] <= '7')
        return name.size() == 4 ? 4 : name.substr(4) == "_64" ? 8 : 0;
    if (!name.starts_with("%envreg")) return 0;
    const auto number = syntax::parse_integer(name.substr(7));
    return number && *number < 32 ? 4 : 0;
}

}  // namespace

std::optional<Ref> FunctionDecoder::find_special(std::string_view name) {
    for (const SpecialRow& row : special_rows) {
        if (row.name == name) return special_register(row.special, row.bytes);
    }
    const std::uint32_t bytes = zero_bytes(name);
    if (bytes == 0) return std::nullopt;
    return bytes == 8 ? constant(0, 8) : special_register(Special::zero, 4);
}

}  // namespace ptxgraft::emulator
