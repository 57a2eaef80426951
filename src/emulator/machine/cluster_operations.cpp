// What the instructions of clusters do: barrier.cluster, mapa, getctarank.
#include <fmt/format.h>

#include <bit>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

// The rank of the CTA that an address of shared memory in the cluster lies in.
std::uint32_t rank_of(Warp& warp, std::uint64_t address) {
    const std::uint64_t tag = (address & 0xFFFFFFFFu) >> cluster_rank_shift;
    return tag == 0 ? warp.cta().rank() : static_cast<std::uint32_t>(tag) - 1;
}

// Generic addresses are those of shared memory.
bool check_shared(Warp& warp, const Operation& operation, std::uint64_t address, unsigned lane) {
    if (!operation.takes_generic()) return true;
    const Space space = place(address).space;
    if (space == Space::shared || space == Space::shared_cluster) return true;
    return warp.fail(Errc::address_out_of_bounds, lane,
                     fmt::format("{:#x} is no generic address of shared memory", address));
}

}  // namespace

Flow execute_cluster_arrive(Warp& warp, const Operation& operation, std::uint32_t mask) {
    Cluster& cluster = warp.cta().cluster();
    if (cluster.arrive(warp, mask, operation.is_relaxed() ? Semantics::relaxed : Semantics::release) ==
        Cluster::Arrival::twice)
        return warp.fail(Errc::barrier_invalid, first_lane(mask),
                         "a thread arrives at the cluster's barrier that has arrived and not waited yet");
    cluster.complete();
    return Flow::next;
}

Flow execute_cluster_wait(Warp& warp, const Operation&, std::uint32_t mask) {
    Cluster& cluster = warp.cta().cluster();
    if (const std::uint32_t absent = cluster.absent(warp, mask); absent != 0)
        return warp.fail(Errc::barrier_invalid, first_lane(absent),
                         "a thread waits at the cluster's barrier that has not arrived there");
    const std::uint32_t through = cluster.pass(warp, mask);
    if (through == mask) return Flow::next;
    warp.schedule().wait(mask & ~through, Wait::barrier, cluster_barrier);
    return Flow::select;
}

// PTX ISA 9.7.9.23: the address of the same place in another CTA; d, a, rank.
Flow execute_mapa(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    const std::uint32_t size = warp.cta().cluster().size();
    return next_if(each_bit(mask, [&](unsigned lane) -> bool {
        const std::uint64_t address = warp.value(refs[1], lane), rank = warp.value(refs[2], lane);
        if (rank >= size) {
            return warp.fail(Errc::address_out_of_bounds, lane,
                             fmt::format("the block of rank {} in a cluster of {}", rank, size));
        }
        if (!check_shared(warp, operation, address, lane)) return false;
        constexpr std::uint64_t tag_mask = std::uint64_t{0xFFFFFFFF} >> cluster_rank_shift
                                                                            << cluster_rank_shift;
        warp.set(refs[0], lane, (address & ~tag_mask) | (rank + 1) << cluster_rank_shift);
        return true;
    }));
}

Flow execute_getctarank(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    return next_if(each_bit(mask, [&](unsigned lane) {
        const std::uint64_t address = warp.value(refs[1], lane);
        if (!check_shared(warp, operation, address, lane)) return false;
        warp.set(refs[0], lane, rank_of(warp, address));
        return true;
    }));
}

}  // namespace ptxgraft::emulator
