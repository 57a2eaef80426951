// What a checked launch keeps of asynchronous copies: they are complete at once here, and yet a thread knows
// of one only after it has waited for its mbarrier or its group.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/mbarrier_object.hpp"
#include "emulator/machine/warp.hpp"

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
    if (!party.is_store) return;
    ThreadBulkStores& stores = checker.bulk_stores(number(), lane);
    stores.issued = checker.order.now(async_.party);
    stores.pc = pc_;
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
    const bool reads = kind != AccessKind::write;  // a reduction adds to what is there
    return note_written(at, address, lane, bytes, reads ? Use::read : Use::write) &&
           note_async_order(space, address, lane, bytes, kind);
}

void Warp::note_undefined_copy(std::uint64_t shared, std::uint64_t global, unsigned lane,
                               std::uint64_t bytes) {
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
        const auto unfenced = checker.shared_races.unknown_write(at.begin, at.begin + bytes, checker.fenced,
                                                                 checker.parties.async_proxy());
        if (unfenced && !report_unfenced(*unfenced, lane, "copy")) return false;
    }
    if (!at.is_shared && !at.is_global) return true;
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const unsigned as = !async_.is_store ? async_.lane : reads ? Parties::reads_lane : Parties::writes_lane;
    const Accessor by{epoch(async_.party, as, checker.order.access(async_.party)), number(), lane};
    if (!shadow.note(at.begin, at.begin + bytes, kind, by, pc_)) return true;
    return report_races(EmulatorCheck::async, shadow.found(), lane, at, static_cast<std::uint32_t>(bytes),
                        kind);
}

void Warp::finish_async_at(Space space, std::uint64_t address) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    checker.order.release(async_.party, 1u << async_.lane, false, checker.phases(where.address).near.arrived);
}

// An arrival with the scope .cta, from another CTA than the mbarrier's, is morally strong with no wait.
void Warp::arrive_at(Space space, std::uint64_t address, unsigned lane, const Access& access) {
    if (!is_ordered_) return;
    Checker& checker = *cta_->checker();
    const Place where = common_place(space, address);
    const bool is_near = where.address >> cluster_rank_shift == std::uint64_t{cta_->rank()} + 1;
    if (access.reach == Reach::cta && !is_near) return;
    Checker::Phases& phases = checker.phases(where.address);
    phases.has_far |= !is_near;
    checker.synchronisation.arrive(strong_operation(access, 1u << lane, true),
                                   (is_near ? phases.near : phases.far).arrived);
}

void Warp::wait_at(Space space, std::uint64_t address, unsigned lane, const Access& access) {
    if (!is_ordered_) return;
    Synchronisation& synchronisation = cta_->checker()->synchronisation;
    const Checker::Phases& phases = cta_->checker()->phases(common_place(space, address).address);
    const StrongOperation operation = strong_operation(access, 1u << lane, false);
    synchronisation.wait(operation, phases.near.complete, false);
    if (phases.has_far && access.reach != Reach::cta)
        synchronisation.wait(operation, phases.far.complete, true);
}

void Warp::finish_phase_at(Space space, std::uint64_t address, std::uint64_t before, std::uint64_t after) {
    if (!is_ordered_ || Mbarrier::of(before).phase == Mbarrier::of(after).phase) return;
    Checker::Phases& phases = cta_->checker()->phases(common_place(space, address).address);
    phases.near.complete.join(phases.near.arrived);
    phases.near.arrived.clear();
    if (!phases.has_far) return;
    phases.far.complete.join(phases.far.arrived);
    phases.far.arrived.clear();
}

// --- mbarrier objects: who makes one writes it, and who uses it has to come behind that

bool Warp::note_mbarrier(Space space, std::uint64_t address, unsigned lane, AccessKind kind) {
    if (std::uint8_t* const written = written_bytes(space, address, lane)) std::memset(written, all_bits, 8);
    return note_order(space, address, lane, 8, {kind});
}

bool Warp::note_mbarrier_init(Space space, std::uint64_t address, unsigned lane) {
    if (std::uint8_t* const written = written_bytes(space, address, lane)) std::memset(written, all_bits, 8);
    if (!is_ordered_) return true;
    Located at;
    describe(space, address, lane, at);
    Checker& checker = *cta_->checker();
    const Accessor by{checker.initialise(number(), lane), number(), lane};
    if (!checker.shared_races.note(at.begin, at.begin + 8, AccessKind::write, by, pc_)) return true;
    return report_races(EmulatorCheck::races, checker.shared_races.found(), lane, at, 8, AccessKind::write);
}

void Warp::commit_async_groups(std::uint32_t mask) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    const WarpTime time = checker.order.advance(checker.parties.bulk_stores());
    each_lane(mask, [&](unsigned lane) {
        checker.bulk_stores(number(), lane).groups.commit(time);
        return true;
    });
}

void Warp::wait_async_groups(std::uint32_t mask, const BulkWait& wait) {
    if (!notes_async_) return;
    Checker& checker = *cta_->checker();
    each_lane(mask, [&](unsigned lane) {
        ThreadBulkStores& stores = checker.bulk_stores(number(), lane);
        const WarpTime time = stores.groups.complete(wait.pending);
        stores.waited = std::max(stores.waited, time);
        const std::uint32_t what = wait.reads_only ? 1u << Parties::reads_lane : ~0u;
        if (time != 0)
            checker.order.learn(number(), 1u << lane, false, checker.parties.bulk_stores(), what, time);
        return true;
    });
}

// Shared memory is gone when the last thread of the CTA has ended, and only the thread that issued a bulk
// store can wait for it.
bool Warp::check_bulk_stores() {
    if (!notes_async_ || !checks(EmulatorCheck::unwaited_stores) || !cta_->has_ended()) return true;
    Checker& checker = *cta_->checker();
    const auto thread = checker.pending_bulk_store(number() - index_, cta_->warps());
    if (!thread) return true;
    const unsigned warp = *thread / lane_count, lane = *thread % lane_count;
    const Mistake mistake{EmulatorCheck::unwaited_stores, Errc::data_race,
                          checker.bulk_stores(warp, lane).pc};
    return is_noted(mistake, 1u << lane) ||
           report_new(
               mistake, 1u << lane,
               fmt::format("the block ends, and this asynchronous copy may still read its shared memory: the "
                           "thread waits "
                           "for it by no cp.async.bulk.wait_group behind a cp.async.bulk.commit_group, {}",
                           thread_of(warp, lane)));
}

void Warp::fence_async(std::uint32_t mask) {
    if (notes_async_) cta_->checker()->order.release(number(), mask, mask == live_, cta_->checker()->fenced);
}

// --- cp.async (PTX ISA 9.7.9.25.3): the copier of the warp is the one that reads and writes

namespace {

// What a cp.async copies.
class CopiedBytes : public StoredValues {
  public:
    explicit CopiedBytes(const std::byte* bytes) : bytes_(bytes) {}
    [[nodiscard]] const std::byte* of(unsigned) const override { return bytes_; }

  private:
    const std::byte* bytes_;
};

}  // namespace

bool Warp::note_copy(const Access& access, const CopiedPiece& piece, unsigned lane) {
    if (!tracks_written_ && !notes_async_) return true;
    Located from, to;
    describe(access.space, piece.to, lane, to);
    to.host = piece.host;
    const CopiedBytes bytes(piece.bytes);
    if (!note_copied(to, lane, access.bytes, AccessKind::write, &bytes)) return false;
    if (to.written != nullptr) std::memset(to.written, all_bits, access.bytes);
    if (piece.wanted == 0) return true;
    describe(Space::global, piece.from, lane, from);
    if (from.written != nullptr) {
        std::memcpy(to.written, from.written, piece.wanted);
        const bool is_whole = std::all_of(from.written, from.written + piece.wanted,
                                          [](std::uint8_t bits) { return bits == all_bits; });
        if (!is_whole)
            remember(Space::shared, to.begin, lane, piece.wanted, origin_at(Space::global, from.begin, lane));
    }
    return note_copied(from, lane, piece.wanted, AccessKind::read, nullptr);
}

bool Warp::note_copied(const Located& at, unsigned lane, std::uint32_t bytes, AccessKind kind,
                       const StoredValues* values) {
    if (!notes_async_) return true;
    Checker& checker = *cta_->checker();
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const Accessor by{epoch(checker.parties.copier(number()), lane, checker.copies(number(), lane).now),
                      number(), lane};
    if (!note_stores(shadow, at, lane, bytes, kind, by, values)) return true;
    return report_races(EmulatorCheck::async, shadow.found(), lane, at, bytes, kind, values);
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
    Clock& arrived = checker.phases(common_place(space, address).address).near.arrived;
    checker.order.release(number(), 1u << lane, false, arrived);
    if (!notes_async_) return;
    arrived.accesses.raise(checker.parties.copier(number()), 1u << lane,
                           checker.copies(number(), lane).now++);
}

}  // namespace ptxgraft::emulator
