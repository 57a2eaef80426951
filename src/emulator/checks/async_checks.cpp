// Asynchronous copies are agents of their own in the happens-before order: what they did is acquired by a
// thread that waits for their mbarrier or group.
#include "emulator/checks/async_checks.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/mbarrier_object.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {

// --- bulk copies, of the async proxy (PTX ISA 9.7.9.25.2)

void AsyncChecks::begin() { is_on_ = warp_.launch().is_ordered && warp_.checks().has(EmulatorCheck::async); }

void AsyncChecks::begin_store(unsigned lane) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    ThreadBulkStores& stores = checker.issue_bulk_store(warp_.number(), lane);
    reads_ = stores.reads;
    writes_ = stores.writes();
    proxy_ = Proxy::async;
    stores.issued = checker.order.now(reads_.agent);
    stores.pc = warp_.pc();
}

void AsyncChecks::begin_copy(unsigned lane, Proxy proxy) {
    if (!is_on_) return;
    proxy_ = proxy;
    Checker& checker = *warp_.cta().checker();
    known_ = Clock(checker.order.size());
    checker.order.release(warp_.number(), 1u << lane, false, known_);
}

void AsyncChecks::begin_part(Space space, std::uint64_t mbarrier) {
    if (!is_on_) return;
    const Place where = warp_.memory().common_place(space, mbarrier);
    reads_ = writes_ = warp_.cta().checker()->copies_until(where.address);
}

bool AsyncChecks::note_async(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                             AccessKind kind) {
    if (bytes == 0 || (!warp_.checks().tracks_written() && !is_on_)) return true;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    const bool reads = kind != AccessKind::write;  // a reduction adds to what is there
    return warp_.checks().memory().note_written(at, address, lane, bytes, reads ? Use::read : Use::write) &&
           note_async_order(space, address, lane, bytes, kind);
}

bool AsyncChecks::note_async_order(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                   AccessKind kind) {
    if (bytes == 0 || !is_on_) return true;
    const bool reads = kind == AccessKind::read;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    Checker& checker = *warp_.cta().checker();
    if (!at.is_shared && !at.is_global) return true;
    if (at.is_shared && !checker.mbarriers.empty() && !check_mbarriers(1u << lane, at, bytes, kind))
        return false;
    RaceChecks& races = warp_.checks().races();
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const FencedSpace fenced = at.is_shared ? FencedSpace::shared : FencedSpace::global;
    std::optional<Race> unfenced;  // a write is looked for before the copy's own takes its place
    if (proxy_ == Proxy::async)
        unfenced = shadow.unfenced_write(at.begin, at.begin + bytes,
                                         checker.order.fenced(fenced, warp_.number(), lane),
                                         checker.agents.async_proxy());
    const ProxyLane& as = reads ? reads_ : writes_;
    const Accessor by{epoch(as.agent, as.lane, checker.order.access(as.agent)), warp_.number(), lane};
    if (shadow.note(at.begin, at.begin + bytes, kind, by, warp_.pc()) &&
        !races.report_races(
            EmulatorCheck::async, shadow.found(),
            {.at = at, .bytes = static_cast<std::uint32_t>(bytes), .kind = kind, .lane = lane}))
        return false;
    return !unfenced || races.report_unfenced(*unfenced, fenced, lane, "copy");
}

void AsyncChecks::finish_async_at(Space space, std::uint64_t address) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    const Place where = warp_.memory().common_place(space, address);
    // What other threads had it copy is not known to those who wait for this one's copy.
    Clock& arrived = checker.phases(where.address).near.arrived;
    arrived.join(known_);
    arrived.accesses.raise(writes_.agent, 1u << writes_.lane, checker.order.close(writes_.agent));
}

// An arrival with the scope .cta, from another CTA than the mbarrier's, is morally strong with no wait.
void AsyncChecks::arrive_at(Space space, std::uint64_t address, unsigned lane, const Access& access) {
    if (!warp_.checks().is_ordered()) return;
    Checker& checker = *warp_.cta().checker();
    const Place where = warp_.memory().common_place(space, address);
    const bool is_near = where.address >> cluster_rank_shift == std::uint64_t{warp_.cta().rank()} + 1;
    if (access.reach == Reach::cta && !is_near) return;
    Checker::Phases& phases = checker.phases(where.address);
    phases.has_far |= !is_near;
    checker.synchronisation.arrive(warp_.checks().races().strong_operation(access, 1u << lane, true),
                                   (is_near ? phases.near : phases.far).arrived);
}

void AsyncChecks::wait_at(Space space, std::uint64_t address, std::uint32_t lanes, const Access& access) {
    if (!warp_.checks().is_ordered()) return;
    Synchronisation& synchronisation = warp_.cta().checker()->synchronisation;
    const Checker::Phases& phases =
        warp_.cta().checker()->phases(warp_.memory().common_place(space, address).address);
    const StrongOperation operation = warp_.checks().races().strong_operation(access, lanes, false);
    synchronisation.wait(operation, phases.near.complete, false);
    if (phases.has_far && access.reach != Reach::cta)
        synchronisation.wait(operation, phases.far.complete, true);
}

void AsyncChecks::finish_phase_at(Space space, std::uint64_t address, std::uint64_t before,
                                  std::uint64_t after) {
    if (!warp_.checks().is_ordered() || Mbarrier::of(before).phase == Mbarrier::of(after).phase) return;
    Checker::Phases& phases =
        warp_.cta().checker()->phases(warp_.memory().common_place(space, address).address);
    phases.near.finish_phase();
    if (phases.has_far) phases.far.finish_phase();
}

// --- mbarrier objects: who makes one writes it, and who uses it has to come behind that

bool AsyncChecks::note_mbarrier(Space space, std::uint64_t address, std::uint32_t lanes, AccessKind kind) {
    const unsigned first = first_lane(lanes);
    warp_.checks().memory().mark(space, address, first, 8);
    if (!warp_.checks().is_ordered()) return true;
    Located at;
    warp_.memory().describe(space, address, first, at);
    each_bit(lanes, [&](unsigned lane) { at.offsets[lane] = 0; });
    at.all_equal = true;
    return warp_.checks().races().note_accesses(lanes, at, 8, {.kind = kind, .is_of_mbarrier = true});
}

bool AsyncChecks::keep_mbarrier(Space space, std::uint64_t address) {
    Checker* const checker = warp_.cta().checker();
    return checker == nullptr ||
           checker->mbarriers.insert(warp_.memory().common_place(space, address).address).second;
}

void AsyncChecks::forget_mbarrier(Space space, std::uint64_t address) {
    if (Checker* const checker = warp_.cta().checker())
        checker->mbarriers.erase(warp_.memory().common_place(space, address).address);
}

bool AsyncChecks::check_mbarriers(std::uint32_t mask, const Located& at, std::uint64_t bytes,
                                  AccessKind kind) {
    if (!is_on_) return true;
    std::set<std::uint64_t>& all = warp_.cta().checker()->mbarriers;
    // The first object that has a byte of a range.
    const auto find = [&](std::uint64_t begin, std::uint64_t end) {
        const auto found = all.lower_bound(begin - std::min<std::uint64_t>(begin, sizeof(std::uint64_t) - 1));
        return found != all.end() && *found < end ? found : all.end();
    };
    if (mask == ~0u && find(at.begin + at.least, at.begin + at.most + bytes) == all.end()) return true;
    return each_bit(mask, [&](unsigned lane) -> bool {
        const std::uint64_t begin = at.begin + at.offsets[lane];
        const auto found = find(begin, begin + bytes);
        if (found == all.end()) return true;
        const std::uint64_t object = *found;
        if (!is_read(kind)) all.erase(found);
        return warp_.checks().report(
            {EmulatorCheck::async, Errc::barrier_invalid, warp_.pc()}, 1u << lane, [&] {
                return fmt::format(
                    "an mbarrier object is at {:#x} of shared memory: until mbarrier.inval ends it, "
                    "mbarrier instructions alone may access it",
                    offset_in_cta(object));
            });
    });
}

bool AsyncChecks::note_mbarrier_init(Space space, std::uint64_t address, unsigned lane) {
    warp_.checks().memory().mark(space, address, lane, 8);
    if (!warp_.checks().is_ordered()) return true;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    Checker& checker = *warp_.cta().checker();
    const Accessor by{checker.initialise(warp_.number(), lane), warp_.number(), lane};
    if (!checker.shared_races.note(at.begin, at.begin + 8, AccessKind::write, by, warp_.pc())) return true;
    return warp_.checks().races().report_races(
        EmulatorCheck::races, checker.shared_races.found(),
        {.at = at, .bytes = 8, .kind = AccessKind::write, .lane = lane});
}

void AsyncChecks::commit_bulk_groups(std::uint32_t mask) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    each_bit(mask, [&](unsigned lane) {
        ThreadBulkStores& stores = checker.bulk_stores(warp_.number(), lane);
        stores.groups.commit(stores.reads.is_any() ? checker.order.advance(stores.reads.agent) : 0);
    });
}

void AsyncChecks::wait_bulk_groups(std::uint32_t mask, const BulkWait& wait) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    each_bit(mask, [&](unsigned lane) {
        ThreadBulkStores& stores = checker.bulk_stores(warp_.number(), lane);
        const WarpTime time = stores.groups.complete(wait.pending);
        if (!wait.reads_only) stores.groups.forget(wait.pending);
        stores.waited = std::max(stores.waited, time);
        const std::uint32_t what = (wait.reads_only ? 1u : 3u) << stores.reads.lane;
        if (time != 0) checker.order.learn(warp_.number(), 1u << lane, false, stores.reads.agent, what, time);
    });
}

// Shared memory is gone when the last thread of the CTA has ended, and only the thread that issued a bulk
// store can wait for it.
bool AsyncChecks::check_bulk_stores() {
    if (!is_on_ || !warp_.checks().has(EmulatorCheck::unwaited_stores) || !warp_.cta().has_ended())
        return true;
    Checker& checker = *warp_.cta().checker();
    const auto thread = checker.pending_bulk_store(warp_.number() - warp_.index(), warp_.cta().warps());
    if (!thread) return true;
    const unsigned warp = *thread / lane_count, lane = *thread % lane_count;
    const Mistake mistake{EmulatorCheck::unwaited_stores, Errc::data_race,
                          checker.bulk_stores(warp, lane).pc};
    return warp_.checks().is_noted(mistake, 1u << lane) ||
           warp_.checks().report_new(
               mistake, 1u << lane,
               fmt::format("the block ends, and this asynchronous copy may still read its shared memory: the "
                           "thread waits "
                           "for it by no cp.async.bulk.wait_group behind a cp.async.bulk.commit_group, {}",
                           warp_.checks().races().thread_of(warp, lane)));
}

void AsyncChecks::fence_proxy(std::uint32_t mask, const ProxyFence& fence) {
    if (!is_on_) return;
    Order& order = warp_.cta().checker()->order;
    const bool all = mask == warp_.live();
    if (fence.shared) order.fence_proxy(FencedSpace::shared, warp_.number(), mask, all);
    if (fence.global) order.fence_proxy(FencedSpace::global, warp_.number(), mask, all);
}

// --- tensor maps (PTX ISA 9.7.13.4)

void AsyncChecks::change_tensor_map(Space space, std::uint64_t address, unsigned lane) {
    if (!is_on_) return;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    if (at.is_global) warp_.cta().checker()->changed_maps[at.begin] = warp_.pc();
}

// Whichever thread executes the fence: what orders it before the copy is not asked for.
void AsyncChecks::fence_tensor_map(std::uint64_t address, unsigned lane) {
    if (!is_on_) return;
    Located at;
    warp_.memory().describe(Space::generic, address, lane, at);
    if (at.is_global) warp_.cta().checker()->changed_maps.erase(at.begin);
}

bool AsyncChecks::check_tensor_map(std::uint64_t address, unsigned lane) {
    if (!is_on_ || warp_.cta().checker()->changed_maps.empty()) return true;
    Located at;
    warp_.memory().describe(Space::generic, address, lane, at);
    const auto& changed = warp_.cta().checker()->changed_maps;
    const auto found = at.is_global ? changed.find(at.begin) : changed.end();
    if (found == changed.end()) return true;
    const std::uint32_t pc = found->second;
    return warp_.checks().report({EmulatorCheck::async, Errc::data_race, warp_.pc(), pc}, 1u << lane, [&] {
        return fmt::format(
            "the tensor map was changed on line {}, and no fence.proxy.tensormap::generic.acquire comes "
            "between that and this copy",
            warp_.checks().line_of(pc));
    });
}

// --- cp.async (PTX ISA 9.7.9.25.3): the copier of the warp is the one that reads and writes

bool AsyncChecks::note_copy(const Access& access, const CopiedPiece& piece, unsigned lane) {
    if (!warp_.checks().tracks_written() && !is_on_) return true;
    MemoryDefinedness& memory = warp_.checks().memory();
    Located from, to;
    warp_.memory().describe(access.space, piece.to, lane, to);
    to.host = piece.host;
    const ValuesBy bytes([&](unsigned) { return piece.bytes; });
    if (!note_copied(to, 1u << lane, access.bytes, AccessKind::write, &bytes)) return false;
    if (to.written != nullptr) std::memset(to.written, all_bits, access.bytes);
    if (piece.wanted == 0) return true;
    warp_.memory().describe(Space::global, piece.from, lane, from);
    if (from.written != nullptr) {
        std::memcpy(to.written, from.written, piece.wanted);
        if (!are_defined(from.written, piece.wanted))
            memory.remember(Space::shared, to.begin, lane, piece.wanted,
                            memory.origin_at(Space::global, from.begin, lane));
    }
    return note_copied(from, 1u << lane, piece.wanted, AccessKind::read, nullptr);
}

bool AsyncChecks::note_copies(const Located& from, const Located& to, std::uint32_t bytes,
                              std::uint32_t mask) {
    if (!warp_.checks().tracks_written() && !is_on_) return true;
    MemoryDefinedness& memory = warp_.checks().memory();
    const ValuesBy values([&](unsigned lane) { return from.host + from.offsets[lane]; });
    if (!note_copied(to, mask, bytes, AccessKind::write, &values)) return false;
    if (to.written != nullptr) {
        each_bit(mask, [&](unsigned lane) {
            std::uint8_t* const written = to.written + to.offsets[lane];
            if (from.written == nullptr) return void(std::memset(written, all_bits, bytes));
            std::memcpy(written, from.written + from.offsets[lane], bytes);
            if (!are_defined(written, bytes))
                memory.remember(Space::shared, to.begin + to.offsets[lane], lane, bytes,
                                memory.origin_at(Space::global, from.begin + from.offsets[lane], lane));
        });
    }
    return note_copied(from, mask, bytes, AccessKind::read, nullptr);
}

bool AsyncChecks::are_in_step(std::uint32_t mask) const {
    if (!is_on_) return true;
    Checker& checker = *warp_.cta().checker();
    const WarpTime now = checker.copies(warp_.number(), first_lane(mask)).now;
    return each_bit(mask, [&](unsigned lane) { return checker.copies(warp_.number(), lane).now == now; });
}

// Of lanes in step.
bool AsyncChecks::note_copied(const Located& at, std::uint32_t mask, std::uint32_t bytes, AccessKind kind,
                              const StoredValues* values) {
    if (!is_on_) return true;
    Checker& checker = *warp_.cta().checker();
    const unsigned warp = warp_.number();
    const Epoch by = epoch(checker.agents.copier(warp), 0, checker.copies(warp, first_lane(mask)).now);
    return warp_.checks().races().note_accesses(mask, at, bytes, {.kind = kind, .values = values, .by = by});
}

void AsyncChecks::commit_copies(std::uint32_t mask) {
    if (!is_on_) return;
    each_bit(mask, [&](unsigned lane) {
        ThreadCopies& copies = warp_.cta().checker()->copies(warp_.number(), lane);
        copies.groups.commit(copies.now++);
    });
}

void AsyncChecks::wait_copies(std::uint32_t mask, std::uint32_t pending) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    each_bit(mask, [&](unsigned lane) {
        CopyGroups& groups = checker.copies(warp_.number(), lane).groups;
        const WarpTime time = groups.complete(pending);
        groups.forget(pending);
        if (time != 0) checker.order.learn_copies(warp_.number(), lane, time);
    });
}

void AsyncChecks::finish_copies_at(Space space, std::uint64_t address, unsigned lane) {
    if (!warp_.checks().is_ordered()) return;
    Checker& checker = *warp_.cta().checker();
    Clock& arrived = checker.phases(warp_.memory().common_place(space, address).address).near.arrived;
    checker.order.release(warp_.number(), 1u << lane, false, arrived);
    if (!is_on_) return;
    arrived.accesses.raise(checker.agents.copier(warp_.number()), 1u << lane,
                           checker.copies(warp_.number(), lane).now++);
}

}  // namespace ptxgraft::emulator
