// Release and acquire patterns (PTX ISA 8.11): what strong writes and fences publish, and who reads it.
#include "emulator/checks/synchronisation.hpp"

#include <algorithm>
#include <bit>

#include "emulator/memory/lanes.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_contributions = 8, most_pending = 8, most_releases = 64;
// Locations that are told apart; the others share some, where more is known than there should be.
constexpr std::size_t most_locations = 1u << 16;
constexpr std::uint64_t shared_locations = std::uint64_t{1} << 62, shared_count = 1024;

std::uint64_t shared_location(std::uint64_t location) {
    return shared_locations | (location / 4 * 0x9E3779B97F4A7C15u >> 54) % shared_count;
}

}  // namespace

Synchronisation::Synchronisation(Order& order, unsigned warps, unsigned warps_of_cta)
    : order_(&order), warps_of_cta_(warps_of_cta), threads_(warps), fenced_(warps), pending_(warps) {}

void Synchronisation::begin() {
    locations_.clear();
    has_locations_ = false;
    for (auto& threads : threads_) threads.reset();
    std::ranges::fill(fenced_, 0u);
    std::ranges::fill(pending_, 0u);
}

Synchronisation::Thread& Synchronisation::thread(unsigned warp, unsigned lane) {
    if (threads_[warp] == nullptr) threads_[warp] = std::make_unique<Threads>();
    return (*threads_[warp])[lane];
}

Synchronisation::Location* Synchronisation::find(std::uint64_t location) {
    auto found = locations_.find(location);
    if (found == locations_.end() && locations_.size() >= most_locations)
        found = locations_.find(shared_location(location));
    return found == locations_.end() ? nullptr : &found->second;
}

Synchronisation::Location& Synchronisation::make(std::uint64_t location) {
    has_locations_ = true;
    if (locations_.size() >= most_locations && !locations_.contains(location))
        location = shared_location(location);
    return locations_[location];
}

// Whether the location's last write precedes the operation in observation order: they are morally strong.
bool Synchronisation::is_linked(const Location& at, const StrongOperation& operation) const {
    return at.cta == cta_of(operation.warp) ||
           (at.reach == Reach::cluster && operation.reach == Reach::cluster);
}

// PTX ISA 8.8: a release on a location and a strong write there behind it, in program order, are one pattern.
void Synchronisation::begin_sequence(Location& at, std::uint32_t thread) const {
    at.sequence.clear();
    for (const auto& release : at.releases)
        if (release.thread == thread) at.sequence.push_back(release.what);
}

void Synchronisation::contribute(Location& at, Contribution what) const {
    if (!what.what.is_any()) return;
    if (at.sequence.size() >= most_contributions) {
        // Those of one CTA and reach become one.
        std::vector<Contribution> merged;
        for (const Contribution& one : at.sequence) {
            const auto same = std::ranges::find_if(
                merged, [&](const Contribution& m) { return m.cta == one.cta && m.reach == one.reach; });
            if (same == merged.end()) {
                auto clock = std::make_shared<Clock>(order_->size());
                one.what.join_into(*clock);
                merged.push_back({{std::move(clock), one.what.own}, one.cta, one.reach});
            } else {
                one.what.join_into(
                    const_cast<Clock&>(*same->what.known));  // made here, and nobody else's yet
            }
        }
        at.sequence = std::move(merged);
    }
    at.sequence.push_back(std::move(what));
}

void Synchronisation::acquire(unsigned warp, unsigned lane, bool is_alone, const Published& what) {
    order_->acquire(warp, 1u << lane, is_alone, what);
}

bool Synchronisation::is_same(const Pending& a, const Pending& b) {
    return a.what.known == b.what.known && a.location == b.location && a.is_far == b.is_far &&
           a.what.own.agent == b.what.own.agent && a.what.own.lane == b.what.own.lane &&
           a.what.own.time == b.what.own.time;
}

// Loops that wait for a value read what they have read before.
void Synchronisation::add_pending(unsigned warp, unsigned lane, const Pending& what) {
    std::vector<Pending>& pending = thread(warp, lane).pending;
    if (std::ranges::any_of(pending, [&](const Pending& known) { return is_same(known, what); })) return;
    if (pending.size() >= most_pending) {
        auto clock = std::make_shared<Clock>(order_->size());
        for (const Pending& one : pending) one.what.join_into(*clock);
        const Published all{std::move(clock), what.what.own};
        const bool is_far = std::ranges::all_of(pending, &Pending::is_far);
        pending = {{all, everywhere, is_far}};
    }
    pending.push_back(what);
    pending_[warp] |= 1u << lane;
}

void Synchronisation::read(const StrongOperation& operation, unsigned lane, std::uint64_t location) {
    const bool is_alone = operation.is_whole_warp && std::has_single_bit(operation.lanes);
    if (const Location* const at = find(location); at != nullptr && is_linked(*at, operation)) {
        for (const Contribution& one : at->sequence) {
            const bool is_far = one.cta != cta_of(operation.warp);
            if (is_far && one.reach == Reach::cta) continue;
            if (!acquires(operation.semantics))
                add_pending(operation.warp, lane, {one.what, location, is_far});
            else if (!is_far || operation.reach == Reach::cluster)
                acquire(operation.warp, lane, is_alone, one.what);
        }
    }
    if (acquires(operation.semantics) && (pending_[operation.warp] >> lane & 1) != 0)
        acquire_pending(operation, lane, location);
}

void Synchronisation::read_together(const StrongOperation& operation, std::uint64_t location) {
    if (!acquires(operation.semantics) || pending_[operation.warp] != 0)
        return each_bit(operation.lanes, [&](unsigned lane) { read(operation, lane, location); });
    const Location* const at = find(location);
    if (at == nullptr || !is_linked(*at, operation)) return;
    for (const Contribution& one : at->sequence) {
        const bool is_far = one.cta != cta_of(operation.warp);
        if (!is_far || (one.reach == Reach::cluster && operation.reach == Reach::cluster))
            order_->acquire(operation.warp, operation.lanes, operation.is_whole_warp, one.what);
    }
}

// What was read before at the location, of an operation, or anywhere, of a fence.
void Synchronisation::acquire_pending(const StrongOperation& operation, unsigned lane,
                                      std::uint64_t location) {
    const bool is_alone = operation.is_whole_warp && std::has_single_bit(operation.lanes);
    std::vector<Pending>& pending = thread(operation.warp, lane).pending;
    std::erase_if(pending, [&](const Pending& one) {
        if (location != everywhere && one.location != location && one.location != everywhere) return false;
        if (one.is_far && operation.reach == Reach::cta) return false;
        acquire(operation.warp, lane, is_alone, one.what);
        return true;
    });
    if (pending.empty()) pending_[operation.warp] &= ~(1u << lane);
}

void Synchronisation::write(const StrongOperation& operation, unsigned lane, std::uint64_t location) {
    const unsigned warp = operation.warp;
    const bool is_fenced = (fenced_[warp] >> lane & 1) != 0, is_release = releases(operation.semantics);
    Location* at = find(location);
    if (at == nullptr && !is_fenced && !is_release) return;
    if (at == nullptr) at = &make(location);
    const bool is_shared = (location & shared_locations) != 0 || !locations_.contains(location);
    if (!is_shared && (!operation.is_update || !is_linked(*at, operation)))
        begin_sequence(*at, thread_of(warp, lane));
    const auto cta = static_cast<std::uint16_t>(cta_of(warp));
    at->cta = cta;
    at->reach = operation.reach;
    if (is_fenced) {
        const Thread& by = thread(warp, lane);
        contribute(*at, {by.far, cta, Reach::cluster});
        if (by.near.is_any() &&
            (!by.far.is_any() || by.near.known != by.far.known || by.near.own.time != by.far.own.time))
            contribute(*at, {by.near, cta, Reach::cta});
        contribute(*at, {by.only, cta, Reach::cluster});
    }
    if (!is_release) return;
    const Contribution released{order_->publish(warp, lane, order_->close(warp)), cta, operation.reach};
    contribute(*at, released);
    const auto own =
        std::ranges::find_if(at->releases, [&](const auto& r) { return r.thread == thread_of(warp, lane); });
    if (own != at->releases.end())
        own->what = released;
    else if (at->releases.size() < most_releases)
        at->releases.push_back({thread_of(warp, lane), released});
}

// Where all lanes have read the same, as when they wait for one flag, it is known to the warp.
bool Synchronisation::acquire_together(const StrongOperation& operation) {
    const unsigned warp = operation.warp;
    if (!operation.is_whole_warp || pending_[warp] != operation.lanes) return false;
    Threads& threads = *threads_[warp];
    const Thread& first = threads[first_lane(operation.lanes)];
    bool is_common = std::ranges::none_of(
        first.pending, [&](const Pending& one) { return one.is_far && operation.reach == Reach::cta; });
    each_bit(operation.lanes, [&](unsigned lane) {
        is_common &= std::ranges::equal(threads[lane].pending, first.pending, is_same);
    });
    if (!is_common) return false;
    for (const Pending& one : first.pending) order_->acquire(warp, operation.lanes, true, one.what);
    each_bit(operation.lanes, [&](unsigned lane) { threads[lane].pending.clear(); });
    pending_[warp] = 0;
    return true;
}

void Synchronisation::fence(const StrongOperation& operation) {
    const unsigned warp = operation.warp;
    if (acquires(operation.semantics) && (pending_[warp] & operation.lanes) != 0 &&
        !acquire_together(operation))
        each_bit(pending_[warp] & operation.lanes,
                 [&](unsigned lane) { acquire_pending(operation, lane, everywhere); });
    if (!releases(operation.semantics)) return;
    const WarpTime time = order_->close(warp);
    each_bit(operation.lanes, [&](unsigned lane) {
        Thread& by = thread(warp, lane);
        by.near = order_->publish(warp, lane, time);
        if (operation.reach == Reach::cluster) by.far = by.near;
    });
    fenced_[warp] |= operation.lanes;
}

void Synchronisation::fence_only(unsigned warp, unsigned lane, const Epoch& of) {
    thread(warp, lane).only = {std::make_shared<const Clock>(order_->size()), of};
    fenced_[warp] |= 1u << lane;
}

void Synchronisation::arrive(const StrongOperation& operation, Clock& into) {
    const unsigned warp = operation.warp;
    if (releases(operation.semantics))
        return order_->release(warp, operation.lanes, operation.is_whole_warp, into);
    each_bit(fenced_[warp] & operation.lanes, [&](unsigned lane) {
        const Thread& by = thread(warp, lane);
        const Published& fenced = operation.reach == Reach::cta ? by.near : by.far;
        if (fenced.is_any()) fenced.join_into(into);
        if (by.only.is_any()) by.only.join_into(into);
    });
}

void Synchronisation::wait(const StrongOperation& operation, const Clock& from, bool is_far) {
    if (acquires(operation.semantics))
        return order_->acquire(operation.warp, operation.lanes, operation.is_whole_warp, from);
    const auto known = std::make_shared<const Clock>(from);
    each_bit(operation.lanes, [&](unsigned lane) {
        add_pending(operation.warp, lane, {{known, {}}, everywhere, is_far});
    });
}

}  // namespace ptxgraft::emulator
