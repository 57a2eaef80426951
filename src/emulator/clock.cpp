#include "emulator/clock.hpp"

#include <algorithm>

namespace ptxgraft::emulator {
namespace {

template <class F>
void for_each(std::uint32_t lanes, F&& f) {
    for (; lanes != 0; lanes &= lanes - 1) f(static_cast<unsigned>(std::countr_zero(lanes)));
}

}  // namespace

void Order::begin() {
    for (Warp& warp : warps_) {
        warp.now = 1;
        warp.has_ended = false;
        warp.common.clear();
        forget_lanes(warp);
        warp.copied.fill(0);
        warp.has_copied = false;
        warp.met.fill({});
    }
}

WarpTime Order::known_to_all(unsigned warp, std::size_t observers) const {
    WarpTime known = ~WarpTime{0};
    for (std::size_t i = 0; i < observers; ++i)
        if (!warps_[i].has_ended) known = std::min(known, warps_[i].common[warp].all);
    return known;
}

void Order::forget_lanes(Warp& warp) {
    for_each(warp.with_clock, [&](unsigned lane) { warp.lanes[lane].reset(); });
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
    for_each(lanes & warp.with_clock, [&](unsigned lane) { into.join(*warp.lanes[lane]); });
    into[index].join(all ? Known{warp.now, 0, 0, 0} : Known{0, warp.now, lanes, 0});
    for_each(lanes, [&](unsigned lane) { into[index].reads = std::max(into[index].reads, warp.met[lane].some); });
    if (warp.has_copied) release_copies(index, all ? ~0u : lanes, into);
    ++warp.now;
}

// Usually the lanes have waited for as much as each other. Else those that have waited for more count as the furthest.
void Order::release_copies(unsigned index, std::uint32_t lanes, Clock& into) const {
    const std::array<WarpTime, 32>& copied = warps_[index].copied;
    Known known{lanes == ~0u ? *std::ranges::min_element(copied) : 0, 0, 0, 0};
    for_each(lanes, [&](unsigned lane) {
        if (copied[lane] <= known.all) return;
        known.some = std::max(known.some, copied[lane]);
        known.lanes |= 1u << lane;
    });
    into[copiers_ + index].join(known);
}

void Order::learn(unsigned index, std::uint32_t lanes, bool all, unsigned other, const Known& known) {
    Warp& warp = warps_[index];
    if (all) return warp.common[other].join(known);
    for_each(lanes, [&](unsigned lane) { lane_clock(warp, lane)[other].join(known); });
}

void Order::learn_copies(unsigned index, unsigned lane, WarpTime time) {
    Warp& warp = warps_[index];
    warp.copied[lane] = std::max(warp.copied[lane], time);
    warp.has_copied = true;
}

void Order::acquire(unsigned index, std::uint32_t lanes, bool all, const Clock& from) {
    Warp& warp = warps_[index];
    if (all) return warp.common.join(from);
    for_each(lanes, [&](unsigned lane) { lane_clock(warp, lane).join(from); });
}

void Order::synchronise(unsigned index, std::uint32_t lanes, bool all) {
    Warp& warp = warps_[index];
    if (all) {
        for_each(warp.with_clock, [&](unsigned lane) { warp.common.join(*warp.lanes[lane]); });
        forget_lanes(warp);
        warp.common[index].join({warp.now, 0, 0, 0});
        if (warp.has_copied) release_copies(index, ~0u, warp.common);
        ++warp.now;
        return;
    }
    Clock together(warps_.size());
    for_each(lanes & warp.with_clock, [&](unsigned lane) { together.join(*warp.lanes[lane]); });
    together[index].join({0, warp.now, lanes, 0});
    if (warp.has_copied) release_copies(index, lanes, together);
    for_each(lanes, [&](unsigned lane) { lane_clock(warp, lane).join(together); });
    ++warp.now;
}

void Order::meet(unsigned index, std::uint32_t lanes, bool all) {
    Warp& warp = warps_[index];
    const WarpTime now = warp.now++;
    if (all) warp.common[index].reads = now;
    else for_each(lanes, [&](unsigned lane) { warp.met[lane].join({0, now, lanes, 0}); });
    if ((lanes & warp.untold) == 0) return;
    Clock together(warps_.size());
    for_each(lanes & warp.with_clock, [&](unsigned lane) { together.join(*warp.lanes[lane]); });
    together[index] = {};
    acquire(index, lanes, all, together);
    if (all) warp.untold = 0;
}

}  // namespace ptxgraft::emulator
