#include "emulator/checker.hpp"

#include <algorithm>

namespace ptxgraft::emulator {

void StoredOrigins::add(Space space, std::uint64_t address, unsigned thread, std::uint64_t bytes,
                        const StoredOrigin& origin) {
    if (origins_.size() >= most) return;
    for (std::uint64_t at = address / unit * unit; at < address + bytes; at += unit)
        origins_[key(space, at, thread)] = origin;
}

void StoredOrigins::remove(Space space, std::uint64_t address, unsigned thread, std::uint64_t bytes) {
    for (std::uint64_t at = address / unit * unit; !origins_.empty() && at < address + bytes; at += unit)
        origins_.erase(key(space, at, thread));
}

StoredOrigin StoredOrigins::find(Space space, std::uint64_t address, unsigned thread) const {
    const auto found = origins_.find(key(space, address, thread));
    return found != origins_.end() ? found->second : StoredOrigin{};
}

Checker::Checker(const Parties& all)
    : parties(all),
      order(all.size(), all.copiers()),
      fenced(all.size()),
      shared_races(order, all.warps(), 6),
      global_races(order, all.warps(), 8),
      arrived(all.size()),
      complete(all.size()),
      copies_(all.copiers() != 0 ? std::size_t{all.warps()} * lane_count : 0) {}

void Checker::begin(bool has_async_proxy) {
    order.begin();
    shared_races.begin(has_async_proxy);
    global_races.begin(has_async_proxy);
    arrived.clear();
    complete.clear();
    objects_.clear();
    arrivals_.clear();
    bulk_groups_.clear();
    fenced.clear();
    stored.clear();
    findings.clear();
    mbarriers.clear();
    std::ranges::fill(copies_, ThreadCopies{});
}

Clock& Checker::object(Space space, std::uint64_t address) {
    return objects_.try_emplace(key(space, address), order.size()).first->second;
}

Clock& Checker::arrivals(Space space, std::uint64_t address) {
    return arrivals_.try_emplace(key(space, address), order.size()).first->second;
}

void Checker::finish_phase(Space space, std::uint64_t address) {
    Clock& all = arrivals(space, address);
    object(space, address).join(all);
    all.clear();
}

const Checker::WgmmaReads& Checker::wgmma_reads(const Wgmma& wgmma, const WgmmaOperands& operands) {
    const bool a_in_registers = operands.a != nullptr;
    WgmmaReads& reads = wgmma_reads_[(operands.a_descriptor * 3 + operands.b_descriptor) / 2 * 4 % wgmma_reads_.size() + operands.warp % 4];
    if (reads.wgmma == wgmma && reads.a_descriptor == operands.a_descriptor && reads.b_descriptor == operands.b_descriptor &&
        reads.warp == operands.warp && reads.a_in_registers == a_in_registers)
        return reads;
    reads = {wgmma, operands.a_descriptor, operands.b_descriptor, operands.warp, a_in_registers, 0, std::move(reads.ranges)};
    reads.ranges.clear();
    reads.of_a = wgmma_ranges(wgmma, operands, reads.ranges);
    return reads;
}

}  // namespace ptxgraft::emulator
