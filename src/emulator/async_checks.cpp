// What a checked launch keeps of asynchronous copies: they are complete at once here, and yet a thread knows
// of one only after it has waited for its mbarrier or its group.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/cluster.hpp"
#include "emulator/mbarrier_object.hpp"
#include "emulator/warp.hpp"

namespace ptxgraft::emulator {

// --- bulk copies, of the async proxy (PTX ISA 9.7.9.25.2)

void Warp::begin_async(unsigned lane, const AsyncParty& party) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    async_.party = party.is_store ? checker.parties.bulk_stores() : checker.parties.async_proxy();
    async_.is_store = party.is_store;
    async_.lane = Parties::proxy_lane(party.mbarrier);
    Clock known(checker.order.size());
    checker.order.release(number(), 1u << lane, false, known);
    checker.order.acquire(async_.party, ~0u, true, known);
}

bool Warp::report_unfenced(const Race& write, unsigned lane, std::string_view what) {
    return report({EmulatorCheck::async, Errc::data_race, pc_, write.pc}, 1u << lane, [&] {
        return fmt::format(
            "shared memory was written on line {}, and no fence.proxy.async comes between that and this {}",
            line_of(write.pc), what);
    });
}

bool Warp::note_async(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                      AccessKind kind) {
    if (bytes == 0 || (!tracks_written_ && !notes_async_)) return true;
    Located at;
    describe(space, address, lane, at);
    const bool reads = kind == AccessKind::read || kind == AccessKind::strong_write;  // a reduction adds to what is there
    return note_written(at, address, lane, bytes, reads ? Use::read : Use::write) &&
           note_async_order(space, address, lane, bytes, kind);
}

void Warp::note_undefined_copy(std::uint64_t shared, std::uint64_t global, unsigned lane, std::uint64_t bytes) {
    const Place where = common_place(Space::shared_cluster, shared);
    remember(where.space, where.address, lane, bytes, origin_at(Space::global, global, lane));
}

bool Warp::note_async_order(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                            AccessKind kind) {
    if (bytes == 0 || !notes_async_) return true;
    const bool reads = kind == AccessKind::read;
    Located at;
    describe(space, address, lane, at);
    Checker& checker = *cta_->checker();
    if (at.is_shared && reads) {
        const auto unfenced = checker.shared_races.unknown_write(at.begin, bytes, checker.fenced,
                                                                 checker.parties.async_proxy());
        if (unfenced && !report_unfenced(*unfenced, lane, "copy")) return false;
    }
    if (!at.is_shared && !at.is_global) return true;
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const unsigned as = !async_.is_store ? async_.lane : reads ? Parties::reads_lane : Parties::writes_lane;
    const Accessor by{stamp(async_.party, as, checker.order.now(async_.party)), number(), lane};
    const std::uint64_t aligned = at.begin | bytes;
    const std::uint32_t unit = aligned % 16 == 0 ? 16 : aligned % 4 == 0 ? 4 : 1;
    for (std::uint64_t done = 0; done < bytes; done += unit, at.begin += unit) {
        const auto race = shadow.note(at.begin, unit, kind, by, pc_);
        if (race && !report_race(EmulatorCheck::async, *race, lane, at, unit, kind)) return false;
    }
    return true;
}

void Warp::finish_async_at(Space space, std::uint64_t address) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    checker.order.release(async_.party, 1u << async_.lane, false,
                          checker.arrivals(where.space, where.address));
}

void Warp::arrive_at(Space space, std::uint64_t address, unsigned lane) {
    if (!is_ordered_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    checker.order.release(number(), 1u << lane, live_ == 1u << lane,
                          checker.arrivals(where.space, where.address));
}

void Warp::finish_phase_at(Space space, std::uint64_t address, std::uint64_t before, std::uint64_t after) {
    if (!is_ordered_ || Mbarrier::of(before).phase == Mbarrier::of(after).phase) return;
    const Place where = common_place(space, address);
    cta_->checker()->finish_phase(where.space, where.address);
}

void Warp::commit_async_groups(std::uint32_t mask) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    const WarpTime time = checker.order.advance(checker.parties.bulk_stores());
    each_lane(mask, [&](unsigned lane) {
        checker.bulk_groups(number(), lane).commit(time);
        return true;
    });
}

void Warp::wait_async_groups(std::uint32_t mask, const BulkWait& wait) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    each_lane(mask, [&](unsigned lane) {
        const WarpTime time = checker.bulk_groups(number(), lane).complete(wait.pending);
        const Known known = wait.reads_only ? Known{0, time, 1u << Parties::reads_lane} : Known{time, 0, 0};
        if (time != 0) checker.order.learn(number(), 1u << lane, false, checker.parties.bulk_stores(), known);
        return true;
    });
}

void Warp::fence_async(std::uint32_t mask) {
    if (notes_async_) cta_->checker()->order.release(number(), mask, mask == live_, cta_->checker()->fenced);
}

// --- cp.async (PTX ISA 9.7.9.25.3): the copier of the warp is the one that reads and writes

bool Warp::note_copy(const Access& access, const Operation& operation, unsigned lane, std::uint64_t source,
                     std::uint32_t wanted) {
    if (!tracks_written_ && !notes_async_) return true;
    Located from, to;
    describe(access.space, address(access, operation, lane), lane, to);
    const std::byte* const host = find(access.space, address(access, operation, lane), lane, access.bytes, Use::read);
    const bool clears_again = wanted == 0 && host != nullptr && std::all_of(host, host + access.bytes, [](std::byte b) { return b == std::byte{0}; });
    if (!note_copied(to, lane, access.bytes, AccessKind::write, clears_again)) return false;
    if (to.written != nullptr) std::memset(to.written, all_bits, access.bytes);
    if (wanted == 0) return true;
    describe(Space::global, source, lane, from);
    if (from.written != nullptr) {
        std::memcpy(to.written, from.written, wanted);
        const bool is_whole = std::all_of(from.written, from.written + wanted,
                                          [](std::uint8_t bits) { return bits == all_bits; });
        if (!is_whole)
            remember(Space::shared, to.begin, lane, wanted, origin_at(Space::global, from.begin, lane));
    }
    return note_copied(from, lane, wanted, AccessKind::read);
}

// `clears_again`: zeros over zeros, which is no race with an earlier copy of the thread. Pipelines clear what lies behind a matrix in every
// stage that they fill, and begin anew before those stages had their turn.
bool Warp::note_copied(Located& at, unsigned lane, std::uint32_t bytes, AccessKind kind, bool clears_again) {
    if (!notes_async_) return true;
    Checker& checker = *cta_->checker();
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const Accessor by{stamp(checker.parties.copier(number()), lane, checker.copies(number(), lane).now),
                      number(), lane};
    // Copied in pieces of up to 16 bytes, of any length: noted byte by byte where it is none of the usual
    // ones.
    const std::uint32_t unit = bytes == 4 || bytes == 8 || bytes == 16 ? bytes : 1;
    for (std::uint32_t done = 0; done < bytes; done += unit, at.begin += unit) {
        const auto race = shadow.note(at.begin, unit, kind, by, pc_);
        if (!race || (clears_again && race->other.warp == by.stamp.warp && race->other.lane == lane)) continue;
        if (!report_race(EmulatorCheck::async, *race, lane, at, unit, kind)) return false;
    }
    return true;
}

void Warp::commit_copies(std::uint32_t mask) {
    if (!notes_async_) return;
    each_lane(mask, [&](unsigned lane) {
        ThreadCopies& copies = cta_->checker()->copies(number(), lane);
        copies.groups.commit(copies.now++);
        return true;
    });
}

void Warp::wait_copies(std::uint32_t mask, std::uint32_t pending) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    each_lane(mask, [&](unsigned lane) {
        const WarpTime time = checker.copies(number(), lane).groups.complete(pending);
        if (time != 0) checker.order.learn_copies(number(), lane, time);
        return true;
    });
}

void Warp::finish_copies_at(Space space, std::uint64_t address, unsigned lane) {
    if (!is_ordered_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    Clock& arrivals = checker.arrivals(where.space, where.address);
    checker.order.release(number(), 1u << lane, false, arrivals);
    if (!notes_async_) return;
    arrivals[checker.parties.copier(number())].join({0, checker.copies(number(), lane).now++, 1u << lane});
}

// --- who did it

// Of what the thread on `lane` does not know.
std::string Warp::name_of(const Stamp& who, unsigned lane) const {
    const Parties& parties = cta_->checker()->parties;
    const auto thread = [&](unsigned warp) {
        const std::uint32_t warps = cta_->warps();
        return cta_->cluster().cta(warp / warps).warp(warp % warps).place(who.lane);
    };
    if (who.warp < parties.warps()) return thread(who.warp);
    if (parties.is_warpgroup(who.warp)) return "a wgmma.mma_async, which is not known to be complete here,";
    if (!parties.is_copier(who.warp)) return "the asynchronous copy, for which this thread has not waited,";
    const unsigned warp = who.warp - parties.copiers();
    if (warp == number() && who.lane == lane)
        return "a cp.async of this thread, which has not waited for it,";
    return fmt::format("a cp.async of {}, which is not known to be complete here,", thread(warp));
}

}  // namespace ptxgraft::emulator
