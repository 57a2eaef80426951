// The special registers (PTX ISA chapter 10).
#include <algorithm>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint32_t multiprocessors = 132;
constexpr std::uint32_t most_warps = 64;  // of a multiprocessor

bool is_clock(Special special) { return special >= Special::clock && special <= Special::globaltimer_hi; }
// Those that stay when the warp runs for the next CTA.
bool is_of_warp(Special special) {
    return !is_clock(special) && special != Special::smid &&
           (special < Special::ctaid_x || special > Special::ctaid_z) &&
           (special < Special::clusterid_x || special > Special::clusterid_z);
}

// Of thread `thread` of the CTA, in lane `thread % 32`.
std::uint64_t of_thread(Special special, std::uint32_t thread, const Dim3& block) {
    const std::uint32_t lane = thread % lane_count, bit = 1u << lane;
    switch (special) {
        case Special::tid_x: return thread % block.x;
        case Special::tid_y: return thread / block.x % block.y;
        case Special::tid_z: return thread / block.x / block.y;
        case Special::laneid: return lane;
        case Special::lanemask_eq: return bit;
        case Special::lanemask_le: return bit | (bit - 1);
        case Special::lanemask_lt: return bit - 1;
        case Special::lanemask_ge: return ~(bit - 1);
        default: return ~(bit | (bit - 1));
    }
}

bool is_of_thread(Special special) {
    return special <= Special::tid_z || special == Special::laneid ||
           (special >= Special::lanemask_eq && special <= Special::lanemask_gt);
}

}  // namespace

std::uint64_t Warp::special_of_cta(Special special) const {
    constexpr std::uint64_t epoch = std::uint64_t{1} << 60;  // of the global timer
    const Dim3 &block = launch_->shape.block, &grid = launch_->shape.grid, &cluster = launch_->shape.cluster;
    switch (special) {
        case Special::ntid_x: return block.x;
        case Special::ntid_y: return block.y;
        case Special::ntid_z: return block.z;
        case Special::ctaid_x: return cta_->position().x;
        case Special::ctaid_y: return cta_->position().y;
        case Special::ctaid_z: return cta_->position().z;
        case Special::nctaid_x: return grid.x;
        case Special::nctaid_y: return grid.y;
        case Special::nctaid_z: return grid.z;
        case Special::warpid: return index_;
        case Special::nwarpid: return most_warps;
        case Special::smid: return cta_->index() % multiprocessors;
        case Special::nsmid: return multiprocessors;
        case Special::total_smem_size:
        case Special::reserved_smem_begin: return launch_->reserved_shared;
        case Special::aggr_smem_size:
        case Special::reserved_smem_end: return launch_->reserved_shared + std::uint64_t{cuda_shared_bytes};
        case Special::reserved_smem_cap: return cuda_shared_bytes;
        case Special::reserved_smem_1:  // groups of several warps have their barriers there
            return launch_->reserved_shared + std::uint64_t{cuda_shared_bytes} / 2;
        case Special::dynamic_smem_size: return launch_->shape.shared_bytes;
        case Special::dynamic_shared: return launch_->dynamic_shared;
        case Special::clusterid_x: return cta_->cluster().position().x;
        case Special::clusterid_y: return cta_->cluster().position().y;
        case Special::clusterid_z: return cta_->cluster().position().z;
        case Special::nclusterid_x: return grid.x / cluster.x;
        case Special::nclusterid_y: return grid.y / cluster.y;
        case Special::nclusterid_z: return grid.z / cluster.z;
        case Special::cluster_ctaid_x: return cta_->rank() % cluster.x;
        case Special::cluster_ctaid_y: return cta_->rank() / cluster.x % cluster.y;
        case Special::cluster_ctaid_z: return cta_->rank() / cluster.x / cluster.y;
        case Special::cluster_nctaid_x: return cluster.x;
        case Special::cluster_nctaid_y: return cluster.y;
        case Special::cluster_nctaid_z: return cluster.z;
        case Special::cluster_ctarank: return cta_->rank();
        case Special::cluster_nctarank: return cta_->cluster().size();
        case Special::is_explicit_cluster: return cta_->cluster().size() > 1 ? 1 : 0;
        case Special::grid_workspace_hi: return launch_->grid_workspace >> 32;
        case Special::grid_workspace_lo: return launch_->grid_workspace;
        // A clock tick is an issued warp instruction, so that runs are repeatable.
        case Special::clock:
        case Special::clock64: return work_.issued();
        case Special::clock_hi: return work_.issued() >> 32;
        case Special::globaltimer:
        case Special::globaltimer_lo: return epoch + work_.issued();
        case Special::globaltimer_hi: return (epoch + work_.issued()) >> 32;
        default: return 0;
    }
}

void Warp::fill_special(const SpecialColumn& special) {
    std::byte* const to = column(special.ref);
    const std::uint32_t bytes = width(special.ref);
    if (is_of_thread(special.special)) {
        for (std::uint32_t lane = 0; lane < lane_count; ++lane)
            set_lane_value(to, bytes, lane,
                           of_thread(special.special, index_ * lane_count + lane, launch_->shape.block));
        return;
    }
    const std::uint64_t value = special_of_cta(special.special);
    for (std::uint32_t lane = 0; lane < lane_count; ++lane) set_lane_value(to, bytes, lane, value);
}

void Warp::fill_specials() {
    for (const SpecialColumn& special : program_->specials)
        if (!has_specials_ || !is_of_warp(special.special)) fill_special(special);
    has_specials_ = true;
}

void Warp::refresh_clock() {
    for (const SpecialColumn& special : program_->specials)
        if (is_clock(special.special)) fill_special(special);
}

}  // namespace ptxgraft::emulator
