// What a checked launch keeps of the async proxy (PTX ISA 9.7.9.25.2): bulk copies are complete at once here,
// and yet a thread knows of one only after it has waited for its mbarrier or its bulk group.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/cluster.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {

void Warp::begin_async(unsigned lane) {
    if (!is_checked_) return;
    Checker& checker = *cta_->checker();
    Clock known(checker.order.size());
    checker.order.release(number(), 1u << lane, false, known);
    checker.order.acquire(checker.async_proxy(), 1, true, known);
}

bool Warp::note_async(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes, Use use) {
    if (!is_checked_ || bytes == 0) return true;
    Located at;
    describe(space, address, lane, at);
    if (!note_written(at, address, lane, bytes, use)) return false;
    Checker& checker = *cta_->checker();
    if (at.is_shared && use == Use::read) {
        if (const auto unfenced =
                checker.shared_races.unknown_write(at.begin, bytes, checker.fenced, checker.async_proxy())) {
            fail(Errc::data_race, lane,
                 fmt::format("shared memory was written on line {}, and no fence.proxy.async comes between "
                             "that and this copy",
                             line_of(unfenced->pc)));
            return false;
        }
    }
    if (!at.is_shared && !at.is_global) return true;
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const AccessKind kind = use == Use::read ? AccessKind::read : AccessKind::write;
    const std::uint32_t unit = at.begin % 4 == 0 && bytes % 4 == 0 ? 4 : 1;
    for (std::uint64_t done = 0; done < bytes; done += unit, at.begin += unit) {
        const auto race = shadow.note(at.begin, unit, kind, checker.async_proxy(), 0, pc_);
        if (!race) continue;
        fail_race(*race, lane, at, unit, kind);
        return false;
    }
    return true;
}

void Warp::finish_async_at(Space space, std::uint64_t address) {
    if (!is_checked_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    checker.order.release(checker.async_proxy(), 1, true, checker.object(where.space, where.address));
}

void Warp::finish_async_group(unsigned lane) {
    if (!is_checked_) return;
    Checker& checker = *cta_->checker();
    checker.order.release(checker.async_proxy(), 1, true, checker.bulk_group(number(), lane));
}

void Warp::wait_async_groups(std::uint32_t mask) {
    if (!is_checked_) return;
    Checker& checker = *cta_->checker();
    each_lane(mask, [&](unsigned lane) {
        checker.order.acquire(number(), 1u << lane, false, checker.bulk_group(number(), lane));
        return true;
    });
}

void Warp::fence_async(std::uint32_t mask) {
    if (is_checked_) cta_->checker()->order.release(number(), mask, mask == live_, cta_->checker()->fenced);
}

}  // namespace ptxgraft::emulator
