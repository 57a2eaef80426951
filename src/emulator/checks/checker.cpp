// The vector clocks and the shadow memory of a cluster, and the tables of what runs asynchronously.
#include "emulator/checks/checker.hpp"

#include <algorithm>
#include <span>

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

Checker::Checker(const Agents& all, std::size_t shadow_bytes, std::unique_ptr<RaceStorage> its_storage,
                 const LaneFunctions& functions)
    : agents(all),
      order(all.size(), all.warps(), all.copiers()),
      synchronisation(order, all.warps(), all.warps_of_cta()),
      storage(std::move(its_storage)),
      shared_races(order, *storage, storage->shared, all.warps_of_cta(), functions),
      global_races(order, *storage, storage->global, all.warps_of_cta(), functions),
      arrived(all.size()),
      complete(all.size()),
      done(all.size()),
      shadow_bytes_(shadow_bytes),
      copies_(all.copiers() != 0 ? std::size_t{all.warps()} * lane_count : 0) {}

void Checker::begin() {
    order.begin();
    synchronisation.begin();
    const auto fenced = [this](FencedSpace space) {
        return agents.is_synchronous() ? std::nullopt : std::optional(space);
    };
    shared_races.begin(shadow_bytes_, fenced(FencedSpace::shared));
    global_races.begin(shadow_bytes_, fenced(FencedSpace::global));
    arrived.clear();
    complete.clear();
    done.clear();
    proxy_lanes_ = 0;
    phases_.clear();
    initialisers_.clear();
    bulk_stores_.clear();
    stored.clear();
    findings.clear();
    mbarriers.clear();
    changed_maps.clear();
    std::ranges::fill(copies_, ThreadCopies{});
}

Checker::Phases& Checker::phases(std::uint64_t mbarrier) {
    const auto found = phases_.find(mbarrier);
    if (found != phases_.end()) return found->second;
    return phases_
        .emplace(mbarrier, Phases{{Clock(order.size()), Clock(order.size())},
                                  {Clock(order.size()), Clock(order.size())}})
        .first->second;
}

std::vector<std::uint64_t> Checker::mbarriers_in(std::uint64_t begin, std::uint64_t end) const {
    std::vector<std::uint64_t> found;
    for (const auto& [mbarrier, phases] : phases_)
        if (mbarrier >= begin && mbarrier < end) found.push_back(mbarrier);
    std::ranges::sort(found);
    return found;
}

// Beyond the most agents that an access can name lanes are shared: what one wait says is taken for another's.
// `count`: 1, or 2 side by side.
ProxyLane Checker::new_proxy_lanes(unsigned count) {
    constexpr unsigned most_agents = 1u << AccessInfo::agent_bits;
    const unsigned first = (proxy_lanes_ + count - 1) / count * count;
    const unsigned number = first % ((most_agents - agents.async_proxy()) * lane_count);
    proxy_lanes_ = first + count;
    const unsigned agent = agents.async_proxy() + number / lane_count;
    if (agent == order.size()) order.add_agent();
    return {static_cast<std::uint16_t>(agent), static_cast<std::uint8_t>(number % lane_count)};
}

ProxyLane Checker::copies_until(std::uint64_t mbarrier) {
    ProxyLane& lane = phases(mbarrier).copies;
    if (!lane.is_any()) lane = new_proxy_lanes(1);
    return lane;
}

ThreadBulkStores& Checker::issue_bulk_store(unsigned warp, unsigned lane) {
    ThreadBulkStores& stores = bulk_stores(warp, lane);
    if (!stores.reads.is_any()) stores.reads = new_proxy_lanes(2);
    return stores;
}

void Checker::forget_accesses() {
    shared_races.forget();
    global_races.forget();
}

Epoch Checker::initialise(unsigned warp, unsigned lane) {
    initialisers_.push_back(epoch(warp, lane, 0));
    const Epoch made = agents.initialiser(warp, lane, static_cast<WarpTime>(initialisers_.size()));
    order.learn(warp, 1u << lane, false, made.agent, 1u << made.lane, made.time);
    return made;
}

std::optional<Epoch> Checker::last_initialised(unsigned warp, unsigned lane) const {
    for (std::size_t time = initialisers_.size(); time > 0; --time) {
        const Epoch& by = initialisers_[time - 1];
        if (by.agent == warp && by.lane == lane)
            return agents.initialiser(warp, lane, static_cast<WarpTime>(time));
    }
    return std::nullopt;
}

std::optional<unsigned> Checker::pending_bulk_store(unsigned first_warp, unsigned warps) const {
    std::optional<unsigned> first;
    for (const auto& [thread, stores] : bulk_stores_) {
        if (thread / lane_count - first_warp >= warps || !stores.is_pending()) continue;
        first = std::min(first.value_or(thread), thread);
    }
    return first;
}

const Checker::WgmmaReads& Checker::wgmma_reads(const Wgmma& wgmma, const WgmmaOperands& operands) {
    const bool a_in_registers = operands.a != nullptr;
    WgmmaReads& reads =
        wgmma_reads_[(operands.a_descriptor * 3 + operands.b_descriptor) / 2 * 4 % wgmma_reads_.size() +
                     operands.warp % 4];
    if (reads.wgmma == wgmma && reads.a_descriptor == operands.a_descriptor &&
        reads.b_descriptor == operands.b_descriptor && reads.warp == operands.warp &&
        reads.a_in_registers == a_in_registers)
        return reads;
    reads = {wgmma, operands.a_descriptor,  operands.b_descriptor, operands.warp, a_in_registers,
             0,     std::move(reads.ranges)};
    reads.ranges.clear();
    reads.of_a = wgmma_ranges(wgmma, operands, reads.ranges);
    return reads;
}

// One that fits, or what another one has in memory.
std::unique_ptr<Checker> Checkers::take(const Agents& all, std::size_t shadow_bytes,
                                        const LaneFunctions& functions, const void* program) {
    std::unique_ptr<Checker> found;
    {
        const std::scoped_lock lock(mutex_);
        if (count_ != 0) {
            const auto free = std::span(free_).first(count_);
            const auto fitting = std::find_if(free.rbegin(), free.rend(),
                                              [&](const auto& one) { return one->fits(all, shadow_bytes); });
            std::swap(fitting == free.rend() ? free.back() : *fitting, free.back());
            found = std::move(free.back());
            --count_;
        }
    }
    if (found == nullptr || !found->fits(all, shadow_bytes))
        found = std::make_unique<Checker>(all, shadow_bytes,
                                          found ? std::move(found->storage) : std::make_unique<RaceStorage>(),
                                          functions);
    found->storage->patterns.begin(program);
    return found;
}

void Checkers::give(std::unique_ptr<Checker> checker) noexcept {
    const std::scoped_lock lock(mutex_);
    if (checker->storage->is_small() && count_ < free_.size()) free_[count_++] = std::move(checker);
}

}  // namespace ptxgraft::emulator
