// Vector clocks: joined by an acquire, published by a release.
#include "emulator/races/clock.hpp"

#include <algorithm>

#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {
namespace {

// Compilers make a loop of vector instructions of it.
void join_times(WarpTime* to, const WarpTime* from, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) to[i] = to[i] < from[i] ? from[i] : to[i];
}

}  // namespace

LaneTimes& VectorClock::lanes_of(unsigned agent) {
    if (place_.empty()) place_.resize(all_.size());
    if (place_[agent] == 0) {
        ahead_.emplace_back().fill(0);
        place_[agent] = static_cast<std::uint16_t>(ahead_.size());
    }
    return ahead_[place_[agent] - 1];
}

void VectorClock::raise(unsigned agent, std::uint32_t lanes, WarpTime time) {
    if (lanes == ~0u) return raise(agent, time);
    if (agent >= all_.size()) grow(agent + 1);
    if (time <= all_[agent]) return;
    LaneTimes& times = lanes_of(agent);
    each_bit(lanes, [&](unsigned lane) { times[lane] = std::max(times[lane], time); });
}

void VectorClock::raise(unsigned agent, std::uint32_t lanes, const LaneTimes& from) {
    if (lanes == ~0u) raise(agent, *std::ranges::min_element(from));
    LaneTimes* times = nullptr;
    each_bit(lanes, [&](unsigned lane) {
        if (from[lane] <= all_[agent]) return;
        if (times == nullptr) times = &lanes_of(agent);
        (*times)[lane] = std::max((*times)[lane], from[lane]);
    });
}

void VectorClock::join(const VectorClock& other) {
    grow(other.all_.size());
    join_times(all_.data(), other.all_.data(), other.all_.size());
    if (other.ahead_.empty()) return;
    for (unsigned agent = 0; agent < other.all_.size(); ++agent) {
        if (other.place_[agent] == 0) continue;
        const LaneTimes& theirs = other.ahead_[other.place_[agent] - 1];
        if (*std::ranges::max_element(theirs) <= all_[agent]) continue;
        join_times(lanes_of(agent).data(), theirs.data(), theirs.size());
    }
}

void VectorClock::clear() {
    std::ranges::fill(all_, WarpTime{0});
    ahead_.clear();
    place_.clear();
}

void VectorClock::grow(std::size_t agents) {
    if (agents <= all_.size()) return;
    all_.resize(agents);
    if (!place_.empty()) place_.resize(agents);
}

void VectorClock::forget(unsigned agent) {
    if (agent >= all_.size()) return;
    all_[agent] = 0;
    if (!place_.empty() && place_[agent] != 0) ahead_[place_[agent] - 1].fill(0);
}

Order::Order(std::size_t agents, std::size_t warps, unsigned copiers)
    : warps_(agents), count_(warps), copiers_(copiers) {
    for (Warp& warp : warps_) warp.common = Clock(agents);
}

void Order::begin() {
    for (Warp& warp : warps_) {
        warp.now = 1;
        warp.has_accessed = false;
        change(warp).clear();
        forget_lanes(warp);
        warp.copied.fill(0);
        warp.has_copied = warp.has_ended = false;
        warp.met.reset();
    }
}

void Order::add_agent() {
    warps_.emplace_back();
    for (Warp& warp : warps_) {
        warp.common.grow(warps_.size());
        each_bit(warp.with_clock, [&](unsigned lane) { warp.lanes[lane]->grow(warps_.size()); });
    }
}

bool Order::is_known_to_all(unsigned agent, WarpTime time, bool is_read) const {
    return std::all_of(
        warps_.begin(), warps_.begin() + static_cast<std::ptrdiff_t>(count_),
        [&](const Warp& warp) { return warp.has_ended || warp.common.covers_all(agent, time, is_read); });
}

bool Order::is_fenced_for_all(FencedSpace space, unsigned agent, WarpTime time) const {
    return std::all_of(warps_.begin(), warps_.begin() + static_cast<std::ptrdiff_t>(count_),
                       [&](const Warp& warp) {
                           return warp.has_ended || time <= warp.common.fenced_for(space).all_or_none(agent);
                       });
}

void Order::fence_proxy(FencedSpace space, unsigned index, std::uint32_t lanes, bool all) {
    Warp& warp = warps_[index];
    const WarpTime now = close(index);
    const auto fence = [&](Clock& known, std::uint32_t own) {
        VectorClock& fenced = known.fenced_for(space);
        fenced.join(known.accesses);
        fenced.raise(index, own, now);
        if (warp.has_copied) fenced.raise(copiers_ + index, own, warp.copied);
    };
    if (all) {
        fence(change(warp), ~0u);
        return each_bit(warp.with_clock, [&](unsigned lane) { fence(*warp.lanes[lane], 1u << lane); });
    }
    each_bit(lanes, [&](unsigned lane) {
        Clock& own = lane_clock(warp, lane);
        own.fenced_for(space).join(warp.common.accesses);
        fence(own, 1u << lane);
    });
}

VectorClock Order::fenced(FencedSpace space, unsigned agent, std::optional<unsigned> lane) const {
    VectorClock known(warps_.size());
    known.join(warps_[agent].common.fenced_for(space));
    if (lane && warps_[agent].lanes[*lane] != nullptr)
        known.join(warps_[agent].lanes[*lane]->fenced_for(space));
    return known;
}

void Order::forget_lanes(Warp& warp) {
    each_bit(warp.with_clock, [&](unsigned lane) { warp.lanes[lane].reset(); });
    warp.with_clock = warp.untold = 0;
}

Clock& Order::lane_clock(Warp& warp, unsigned lane) {
    if (warp.lanes[lane] == nullptr) warp.lanes[lane] = std::make_unique<Clock>(warps_.size());
    warp.with_clock |= 1u << lane;
    warp.untold |= 1u << lane;
    return *warp.lanes[lane];
}

void Order::release(unsigned index, std::uint32_t lanes, bool all, Clock& into) {
    Warp& warp = warps_[index];
    into.join(warp.common);
    each_bit(lanes & warp.with_clock, [&](unsigned lane) { into.join(*warp.lanes[lane]); });
    if (warp.met != nullptr)
        each_bit(lanes, [&](unsigned lane) { into.reads.raise(index, ~0u, (*warp.met)[lane]); });
    into.accesses.raise(index, all ? ~0u : lanes, close(index));
    if (warp.has_copied) release_copies(index, all ? ~0u : lanes, into);
}

void Order::release_copies(unsigned index, std::uint32_t lanes, Clock& into) const {
    into.accesses.raise(copiers_ + index, lanes, warps_[index].copied);
}

void Order::acquire(unsigned index, std::uint32_t lanes, bool all, const Clock& from) {
    Warp& warp = warps_[index];
    if (all) return change(warp).join(from);
    each_bit(lanes, [&](unsigned lane) { lane_clock(warp, lane).join(from); });
}

void Order::acquire(unsigned index, std::uint32_t lanes, bool all, const Published& from) {
    Warp& warp = warps_[index];
    if (all) return from.join_into(change(warp));
    each_bit(lanes, [&](unsigned lane) { from.join_into(lane_clock(warp, lane)); });
}

void Order::acquire_own(unsigned index, const Clock& from) {
    Warp& warp = warps_[index];
    change(warp).join(from);
    forget_lanes(warp);
}

void Order::learn(unsigned index, std::uint32_t lanes, bool all, unsigned agent, std::uint32_t agents_lanes,
                  WarpTime time) {
    Warp& warp = warps_[index];
    if (all) return change(warp).accesses.raise(agent, agents_lanes, time);
    each_bit(lanes, [&](unsigned lane) { lane_clock(warp, lane).accesses.raise(agent, agents_lanes, time); });
}

void Order::learn_copies(unsigned index, unsigned lane, WarpTime time) {
    Warp& warp = warps_[index];
    warp.copied[lane] = std::max(warp.copied[lane], time);
    warp.has_copied = true;
}

void Order::synchronise(unsigned index, std::uint32_t lanes, bool all) {
    Warp& warp = warps_[index];
    const WarpTime now = close(index);
    if (all) {
        Clock& common = change(warp);
        each_bit(warp.with_clock, [&](unsigned lane) { common.join(*warp.lanes[lane]); });
        forget_lanes(warp);
        warp.met.reset();
        common.accesses.raise(index, now);
        if (warp.has_copied) release_copies(index, ~0u, common);
        return;
    }
    if (warp.met != nullptr) meet_in_part(warp, lanes, now);
    Clock together(warps_.size());
    each_bit(lanes & warp.with_clock, [&](unsigned lane) { together.join(*warp.lanes[lane]); });
    together.accesses.raise(index, lanes, now);
    if (warp.has_copied) release_copies(index, lanes, together);
    each_bit(lanes, [&](unsigned lane) { lane_clock(warp, lane).join(together); });
}

void Order::meet(unsigned index, std::uint32_t lanes, bool all) {
    Warp& warp = warps_[index];
    const WarpTime now = close(index);
    if (all) {
        change(warp).reads.raise(index, now);
        warp.met.reset();
    } else {
        if (warp.met == nullptr) warp.met = std::make_unique<std::array<LaneTimes, 32>>();
        meet_in_part(warp, lanes, now);
    }
    if ((lanes & warp.untold) == 0) return;
    Clock together(warps_.size());
    each_bit(lanes & warp.with_clock, [&](unsigned lane) { together.join(*warp.lanes[lane]); });
    together.accesses.forget(index);
    together.reads.forget(index);
    for (VectorClock& fenced : together.fenced) fenced.forget(index);
    acquire(index, lanes, all, together);
    if (all) warp.untold = 0;
}

// Each of the lanes gets to know what any of them knows that others of the warp have read, and what they
// themselves have.
void Order::meet_in_part(Warp& warp, std::uint32_t lanes, WarpTime now) {
    LaneTimes together = {};
    each_bit(lanes,
             [&](unsigned lane) { join_times(together.data(), (*warp.met)[lane].data(), together.size()); });
    each_bit(lanes, [&](unsigned lane) { together[lane] = now; });
    each_bit(lanes, [&](unsigned lane) { (*warp.met)[lane] = together; });
}

Published Order::publish(unsigned index, unsigned lane, WarpTime time) {
    Warp& warp = warps_[index];
    const Epoch own = epoch(index, lane, time);
    const bool is_alone = (warp.with_clock >> lane & 1) != 0 || (warp.has_copied && warp.copied[lane] != 0) ||
                          warp.met != nullptr;
    if (!is_alone) {
        if (warp.snapshot == nullptr) warp.snapshot = std::make_shared<const Clock>(warp.common);
        return {warp.snapshot, own};
    }
    auto known = std::make_shared<Clock>(warp.common);
    if (warp.lanes[lane] != nullptr) known->join(*warp.lanes[lane]);
    if (warp.met != nullptr) known->reads.raise(index, ~0u, (*warp.met)[lane]);
    if (warp.has_copied) release_copies(index, 1u << lane, *known);
    return {std::move(known), own};
}

}  // namespace ptxgraft::emulator
