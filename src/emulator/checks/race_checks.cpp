// Accesses go to the shadow memory with the lane's epoch; strong accesses, fences and collectives move the
// warp's vector clocks.
#include "emulator/checks/race_checks.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

// Stores of equal bytes, as to a flag, are a race that changes nothing: what is there already, or what
// another lane of the instruction is about to write, is what this lane writes.
class StoresOfLanes : public EqualStores {
  public:
    StoresOfLanes(const RaceChecks& checks, const RacingAccess& access) : checks_(checks), access_(access) {}

    [[nodiscard]] bool are_equal(const Race& race) const override {
        const Located& at = access_.at;
        const bool is_store =
            race.other_kind == AccessKind::write || race.other_kind == AccessKind::strong_write;
        if (!is_store || at.host == nullptr) return false;
        std::array<std::byte, 64> own;
        std::memcpy(own.data(),
                    access_.values->of(race.lane) + (race.address - at.begin - at.offsets[race.lane]),
                    race.bytes);
        return std::memcmp(own.data(), checks_.stored_by_other(race, access_), race.bytes) == 0;
    }

  private:
    const RaceChecks& checks_;
    const RacingAccess& access_;
};

// The same, of an agent that works for one lane: what it wrote before is in memory.
class StoresOfBytes : public EqualStores {
  public:
    StoresOfBytes(std::uint64_t begin, const std::byte* host, const std::byte* bytes)
        : begin_(begin), host_(host), bytes_(bytes) {}

    [[nodiscard]] bool are_equal(const Race& race) const override {
        const bool is_store =
            race.other_kind == AccessKind::write || race.other_kind == AccessKind::strong_write;
        const std::uint64_t offset = race.address - begin_;
        return is_store && std::memcmp(host_ + offset, bytes_ + offset, race.bytes) == 0;
    }

  private:
    std::uint64_t begin_;
    const std::byte *host_, *bytes_;
};

}  // namespace

void RaceChecks::begin() {
    is_on_ = warp_.launch().is_ordered;
    if (is_on_) number_ = warp_.number();
}

bool RaceChecks::note_stores(RaceShadow& shadow, const Located& at, unsigned lane, std::uint64_t bytes,
                             AccessKind kind, const Accessor& by, const StoredValues* values) {
    const std::uint64_t begin = at.begin + at.offsets[lane], end = begin + bytes;
    if (values == nullptr || at.host == nullptr)
        return shadow.note(begin, end, kind, by, warp_.pc()).has_value();
    const StoresOfBytes equal(begin, at.host + at.offsets[lane], values->of(lane));
    return shadow.note(begin, end, kind, by, warp_.pc(), &equal).has_value();
}

bool RaceChecks::note_accesses(std::uint32_t mask, const Located& at, std::uint32_t bytes,
                               const AccessNote& note) {
    if (!is_on_ || (!at.is_shared && !at.is_global)) return true;
    Checker& checker = *warp_.cta().checker();
    if (at.is_shared && !checker.mbarriers.empty() && !note.is_of_mbarrier &&
        !warp_.checks().async().check_mbarriers(mask, at, bytes, note.kind))
        return false;
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const bool is_whole = mask == ~0u;
    const LaneAccesses accesses{.begin = at.begin,
                                .offsets = at.offsets,
                                .bytes = bytes,
                                .kind = note.kind,
                                .warp = number_,
                                .pc = warp_.pc(),
                                .reach = note.reach,
                                .consecutive = is_whole && at.consecutive,
                                .all_equal = is_whole && at.all_equal,
                                .least = at.least,
                                .most = at.most,
                                .by = note.by};
    const EmulatorCheck check = note.by ? EmulatorCheck::async : EmulatorCheck::races;
    if (note.values == nullptr) {
        if (!shadow.note(accesses, mask)) [[likely]]
            return true;
        return report_races(check, shadow.found(), {at, bytes, note.kind, nullptr, mask, {}, note.by});
    }
    const RacingAccess access{at, bytes, note.kind, note.values, mask, {}, note.by};
    const StoresOfLanes equal(*this, access);
    return !shadow.note(accesses, mask, &equal) || report_races(check, shadow.found(), access);
}

bool RaceChecks::note_access(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                             const AccessNote& note) {
    if (!is_on_) return true;
    Located at;
    warp_.memory().describe(space, address, lane, at);
    return note_accesses(1u << lane, at, bytes, note);
}

// --- strong accesses and fences

StrongOperation RaceChecks::strong_operation(const Access& access, std::uint32_t mask, bool is_update) const {
    return {.warp = number_,
            .lanes = mask,
            .is_whole_warp = mask == warp_.live(),
            .semantics = access.semantics,
            .reach = access.reach,
            .is_update = is_update};
}

void RaceChecks::synchronise_reads(const Access& access, std::uint32_t mask, const Located& at) {
    if (!is_on_ || (!at.is_shared && !at.is_global)) return;
    Synchronisation& synchronisation = warp_.cta().checker()->synchronisation;
    const StrongOperation operation = strong_operation(access, mask, false);
    if (!synchronisation.may_read(operation)) return;
    const Space space = at.is_shared ? Space::shared : Space::global;
    if (at.all_equal)
        return synchronisation.read_together(operation,
                                             Synchronisation::location_of(space, at.begin + at.offsets[0]));
    each_bit(mask, [&](unsigned lane) {
        synchronisation.read(operation, lane,
                             Synchronisation::location_of(space, at.begin + at.offsets[lane]));
    });
}

void RaceChecks::synchronise_writes(const Access& access, std::uint32_t mask, const Located& at,
                                    Updates updates) {
    if (!is_on_ || (!at.is_shared && !at.is_global)) return;
    Synchronisation& synchronisation = warp_.cta().checker()->synchronisation;
    const StrongOperation operation = strong_operation(access, mask, updates == Updates::yes);
    if (!synchronisation.may_write(operation)) return;
    const Space space = at.is_shared ? Space::shared : Space::global;
    each_bit(mask, [&](unsigned lane) {
        synchronisation.write(operation, lane,
                              Synchronisation::location_of(space, at.begin + at.offsets[lane]));
    });
}

void RaceChecks::hold(std::uint64_t lock, unsigned lane, Semantics semantics) {
    if (!is_on_) return;
    Synchronisation& synchronisation = warp_.cta().checker()->synchronisation;
    const StrongOperation operation = strong_operation({.semantics = semantics}, 1u << lane, true);
    const std::uint64_t location = Synchronisation::location_of(Space::global, lock);
    synchronisation.read(operation, lane, location);
    synchronisation.write(operation, lane, location);
}

void RaceChecks::fence(const Fence& fence, std::uint32_t mask) {
    if (!is_on_) return;
    Checker& checker = *warp_.cta().checker();
    if (fence.only_mbarrier_inits) {
        each_bit(mask, [&](unsigned lane) {
            if (const auto made = checker.last_initialised(number_, lane))
                checker.synchronisation.fence_only(number_, lane, *made);
        });
        return;
    }
    checker.synchronisation.fence({.warp = number_,
                                   .lanes = mask,
                                   .is_whole_warp = mask == warp_.live(),
                                   .semantics = fence.semantics,
                                   .reach = fence.reach});
}

// --- members of a collective

void RaceChecks::order_members(Collects what, std::uint32_t mask) {
    if (!is_on_) return;
    Order& order = warp_.cta().checker()->order;
    if (what == Collects::memory)
        order.synchronise(number_, mask, mask == warp_.live());
    else
        order.meet(number_, mask, mask == warp_.live());
}

void RaceChecks::meet() {
    if (is_on_) warp_.cta().checker()->order.meet(number_, ~0u, true);
}

void RaceChecks::end() {
    if (is_on_) warp_.cta().checker()->order.end(number_);
}

}  // namespace ptxgraft::emulator
