// What a checked launch does about races: it notes accesses, follows what synchronises, and reports.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "emulator/machine/cluster.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

// Stores of equal bytes, as to a flag, are a race that changes nothing: what is there already, or what
// another lane of the instruction is about to write, is what this lane writes.
class StoresOfLanes : public EqualStores {
  public:
    StoresOfLanes(const Warp& warp, const Located& at, std::uint32_t bytes, std::uint32_t mask,
                  const StoredValues& values)
        : warp_(&warp), at_(&at), bytes_(bytes), mask_(mask), values_(&values) {}

    [[nodiscard]] bool are_equal(const Race& race) const override {
        const bool is_store =
            race.other_kind == AccessKind::write || race.other_kind == AccessKind::strong_write;
        if (!is_store || at_->host == nullptr) return false;
        std::array<std::byte, 64> own;
        std::memcpy(own.data(),
                    values_->of(race.lane) + (race.address - at_->begin - at_->offsets[race.lane]),
                    race.bytes);
        return std::memcmp(own.data(), warp_->stored_by_other(race, *at_, bytes_, values_, mask_),
                           race.bytes) == 0;
    }

  private:
    const Warp* warp_;
    const Located* at_;
    std::uint32_t bytes_, mask_;
    const StoredValues* values_;
};

// As that, of something that works for one lane; what it wrote before is in memory.
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

bool Warp::note_stores(RaceShadow& shadow, const Located& at, unsigned lane, std::uint64_t bytes,
                       AccessKind kind, const Accessor& by, const StoredValues* values) {
    const std::uint64_t begin = at.begin + at.offsets[lane], end = begin + bytes;
    if (values == nullptr || at.host == nullptr) return shadow.note(begin, end, kind, by, pc_).has_value();
    const StoresOfBytes equal(begin, at.host + at.offsets[lane], values->of(lane));
    return shadow.note(begin, end, kind, by, pc_, &equal).has_value();
}

bool Warp::note_accesses(std::uint32_t mask, const Located& at, std::uint32_t bytes, const AccessNote& note) {
    if (!is_ordered_ || (!at.is_shared && !at.is_global)) return true;
    Checker& checker = *cta_->checker();
    RaceShadow& shadow = at.is_shared ? checker.shared_races : checker.global_races;
    const bool is_whole = mask == ~0u;
    const LaneAccesses accesses{.begin = at.begin,
                                .offsets = at.offsets,
                                .bytes = bytes,
                                .kind = note.kind,
                                .warp = number(),
                                .pc = pc_,
                                .reach = note.reach,
                                .consecutive = is_whole && at.consecutive,
                                .all_equal = is_whole && at.all_equal,
                                .least = at.least,
                                .most = at.most};
    std::optional<Race> race;
    if (note.values != nullptr) {
        const StoresOfLanes equal(*this, at, bytes, mask, *note.values);
        race = shadow.note(accesses, mask, &equal);
    } else {
        race = shadow.note(accesses, mask);
    }
    if (!race) [[likely]]
        return true;
    return report_races(EmulatorCheck::races, shadow.found(), std::nullopt, at, bytes, note.kind, note.values,
                        mask);
}

// --- strong accesses and fences

StrongOperation Warp::strong_operation(const Access& access, std::uint32_t mask, bool is_update) const {
    return {.warp = number(),
            .lanes = mask,
            .is_whole_warp = mask == live_,
            .semantics = access.semantics,
            .reach = access.reach,
            .is_update = is_update};
}

void Warp::synchronise_reads(const Access& access, std::uint32_t mask, const Located& at) {
    if (!is_ordered_ || (!at.is_shared && !at.is_global)) return;
    Synchronisation& synchronisation = cta_->checker()->synchronisation;
    const StrongOperation operation = strong_operation(access, mask, false);
    if (!synchronisation.may_read(operation)) return;
    const Space space = at.is_shared ? Space::shared : Space::global;
    if (at.all_equal)
        return synchronisation.read_together(operation,
                                             Synchronisation::location_of(space, at.begin + at.offsets[0]));
    each_lane(mask, [&](unsigned lane) {
        synchronisation.read(operation, lane,
                             Synchronisation::location_of(space, at.begin + at.offsets[lane]));
        return true;
    });
}

void Warp::synchronise_writes(const Access& access, std::uint32_t mask, const Located& at, Updates updates) {
    if (!is_ordered_ || (!at.is_shared && !at.is_global)) return;
    Synchronisation& synchronisation = cta_->checker()->synchronisation;
    const StrongOperation operation = strong_operation(access, mask, updates == Updates::yes);
    if (!synchronisation.may_write(operation)) return;
    const Space space = at.is_shared ? Space::shared : Space::global;
    each_lane(mask, [&](unsigned lane) {
        synchronisation.write(operation, lane,
                              Synchronisation::location_of(space, at.begin + at.offsets[lane]));
        return true;
    });
}

void Warp::hold(std::uint64_t lock, unsigned lane, Semantics semantics) {
    if (!is_ordered_) return;
    Synchronisation& synchronisation = cta_->checker()->synchronisation;
    const StrongOperation operation = strong_operation({.semantics = semantics}, 1u << lane, true);
    const std::uint64_t location = Synchronisation::location_of(Space::global, lock);
    synchronisation.read(operation, lane, location);
    synchronisation.write(operation, lane, location);
}

void Warp::fence(const Fence& fence, std::uint32_t mask) {
    if (!is_ordered_) return;
    Checker& checker = *cta_->checker();
    if (fence.only_mbarrier_inits) {
        each_lane(mask, [&](unsigned lane) {
            if (const auto made = checker.last_initialised(number(), lane))
                checker.synchronisation.fence_only(number(), lane, *made);
            return true;
        });
        return;
    }
    checker.synchronisation.fence({.warp = number(),
                                   .lanes = mask,
                                   .is_whole_warp = mask == live_,
                                   .semantics = fence.semantics,
                                   .reach = fence.reach});
}

}  // namespace ptxgraft::emulator
