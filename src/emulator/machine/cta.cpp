// The turns of the warps of a CTA, its barriers, and the report of a deadlock.
#include "emulator/machine/cta.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "emulator/machine/cluster.hpp"

namespace ptxgraft::emulator {
namespace {

// Instructions that a warp may issue before the next one has its turn.
constexpr std::uint64_t quantum = std::uint64_t{1} << 18;

}  // namespace

Cta::Cta(const Launch& launch, Cluster& cluster, std::uint32_t rank, Checker* checker)
    : launch_(&launch),
      cluster_(&cluster),
      rank_(rank),
      warps_((threads() + lane_count - 1) / lane_count),
      shared_(launch.shared_bytes),
      checker_(checker),
      host_bytes_(*launch.host_bytes) {
    for (std::uint32_t i = 0; i < warps_.capacity(); ++i) warps_.emplace_back(*this, launch, i);
    finished_.resize(warps_.size());
    if (launch.checks.has(EmulatorCheck::unwritten)) shared_written_.resize(shared_.size());
    host_bytes_.take(shared_.size() + shared_written_.size());
}

std::uint32_t Cta::threads() const {
    return launch_->shape.block.x * launch_->shape.block.y * launch_->shape.block.z;
}

Dim3 Cta::position() const {
    const Dim3& grid = launch_->shape.grid;
    const std::uint64_t row = index_ / grid.x;
    return {static_cast<std::uint32_t>(index_ % grid.x), static_cast<std::uint32_t>(row % grid.y),
            static_cast<std::uint32_t>(row / grid.y)};
}

bool Cta::begin(std::uint64_t index, Pace& pace) {
    index_ = index;
    is_finished_ = false;
    std::fill(shared_.begin(), shared_.end(), std::byte{0});
    std::fill(finished_.begin(), finished_.end(), std::uint8_t{0});
    barriers_ = {};
    std::fill(shared_written_.begin(), shared_written_.end(), std::uint8_t{0});
    if (shared_written_.size() > launch_->reserved_shared)
        std::fill(shared_written_.begin() + launch_->reserved_shared, shared_written_.end(), all_bits);
    for (Clock& clock : barrier_clocks_) clock.clear();
    constexpr std::uint64_t units_of_warp = 8, bytes_of_unit = 64;
    std::uint64_t units = (shared_.size() + shared_written_.size()) / bytes_of_unit;
    for (Warp& warp : warps_) {
        units += units_of_warp + warp.begin();
        if (pace.spend(std::exchange(units, 0))) continue;
        fail(warp.ending(), {});
        return false;
    }
    return true;
}

Cta::State Cta::round(Pace& pace, bool& ran, bool& yielded) {
    only_waits_ = true;
    for (Warp& warp : warps_) {
        if (finished_[warp.index()] != 0) continue;
        if (step(warp, pace, ran, yielded) == State::failed) return State::failed;
    }
    is_finished_ = std::all_of(finished_.begin(), finished_.end(), [](std::uint8_t f) { return f != 0; });
    return is_finished_ ? State::finished : State::yielded;
}

Cta::State Cta::step(Warp& warp, Pace& pace, bool& ran, bool& yielded) {
    const std::uint64_t before = warp.work().issued();
    const Warp::State state = warp.run(quantum, pace);
    const bool issued = warp.work().issued() != before;
    ran |= issued;
    yielded |= state == Warp::State::yielded;
    only_waits_ &= !issued || (state == Warp::State::yielded && warp.mbarrier_waits().are_all());
    if (state == Warp::State::finished) finished_[warp.index()] = 1;
    return state == Warp::State::failed ? fail(warp.error(), warp.calls()) : State::yielded;
}

Cta::State Cta::fail(const Error& error, std::span<const Span> calls) {
    error_ = launch_->provenance.add_to(error, calls);
    return State::failed;
}

std::string Cta::describe_barrier(std::uint32_t id) const {
    const std::uint32_t expected = barriers_[id].expected;
    if (expected <= warps_.size() * lane_count)
        return fmt::format("barrier {} waits for threads that never come", id);
    return fmt::format("barrier {} waits for {} threads, and the block has {}", id, expected, threads());
}

Cta::State Cta::deadlock() {
    for (Warp& warp : warps_) {
        if (finished_[warp.index()] != 0 || !warp.mbarrier_waits().are_all()) continue;
        const std::string place = warp.place(first_lane(warp.mbarrier_waits().mask()));
        return fail({Errc::barrier_deadlock, launch_->program->spans[warp.mbarrier_waits().pc()], 0,
                     std::make_shared<const std::string>(
                         fmt::format("the mbarrier waits for arrivals or bytes that never come, {}", place))},
                    warp.call_stack().calls(warp.mbarrier_waits().frame()));
    }
    for (Warp& warp : warps_) {
        const Group* group = warp.schedule().waiting();
        if (group == nullptr) continue;
        const auto lane = first_lane(group->mask);
        const std::string what =
            group->wait == Wait::barrier && group->what == cluster_barrier
                ? "the cluster's barrier waits for threads that never come"
            : group->wait == Wait::barrier     ? describe_barrier(group->what)
            : group->wait == Wait::wgmma_fence ? "other warps of the warpgroup never come to this wgmma.fence"
            : group->wait == Wait::wgmma_group
                ? fmt::format("other warps of the warpgroup never commit wgmma-group {}", group->what)
                : fmt::format("lanes of the member mask {:#010x} never come", group->what);
        return fail({Errc::barrier_deadlock, launch_->program->spans[group->pc], 0,
                     std::make_shared<const std::string>(fmt::format("{}, {}", what, warp.place(lane)))},
                    warp.call_stack().calls(group->frame));
    }
    return State::failed;
}

const Cta::Arrival* Cta::differs(std::uint32_t id, const Arrival& arrival) const {
    const BarrierState& barrier = barriers_[id];
    const auto all = static_cast<std::uint32_t>(warps_.size() * lane_count);
    const auto threads = [&](std::uint32_t count) { return count != 0 ? count : all; };
    if (barrier.arrived == 0 ||
        (threads(arrival.count) == threads(barrier.first.count) && arrival.reduces == barrier.first.reduces))
        return nullptr;
    return &barrier.first;
}

void Cta::arrive(const Warp& warp, std::uint32_t id, const Arrival& arrival, std::uint32_t mask,
                 std::uint32_t predicate) {
    BarrierState& barrier = barriers_[id];
    if (barrier.arrived == 0) barrier.first = arrival;
    const std::uint32_t count = arrival.count;
    if (Order* const known = order()) {
        if (id >= barrier_clocks_.size()) barrier_clocks_.resize(id + 1, Clock(known->size()));
        known->release(warp.number(), mask, mask == warp.live(), barrier_clocks_[id]);
    }
    if (count != 0) barrier.expected = count;
    barrier.popc += static_cast<std::uint32_t>(std::popcount(mask & predicate));
    barrier.arrived += static_cast<std::uint32_t>(std::popcount(mask));
    barrier.partial[warp.index()] |= mask;
    complete_warp(barrier, warp);
    release_if_complete(id);
}

// PTX ISA 9.7.13.1: threads are counted in whole warps; lanes that have exited or never were count as
// arrived.
void Cta::complete_warp(BarrierState& barrier, const Warp& warp) {
    std::uint32_t& partial = barrier.partial[warp.index()];
    if (partial == 0 || (warp.live() & ~partial) != 0) return;
    barrier.full |= 1u << warp.index();
    barrier.threads += 32;
    partial = 0;
}

void Cta::release_if_complete(std::uint32_t id) {
    BarrierState& barrier = barriers_[id];
    if (barrier.arrived == 0) return;
    std::uint32_t wanted = 0;
    for (const Warp& warp : warps_)
        if (warp.live() != 0) wanted |= 1u << warp.index();
    const bool complete =
        barrier.expected != 0 ? barrier.threads >= barrier.expected : (wanted & ~barrier.full) == 0;
    if (!complete) return;
    const Reductions reductions{barrier.popc, barrier.popc == barrier.arrived, barrier.popc != 0};
    barrier = {};
    std::uint32_t passed = 0, all = 0;
    for (Warp& warp : warps_) {
        if (warp.schedule().release(id, reductions) == warp.started()) ++passed;
        ++all;
    }
    if (order() == nullptr) return;
    barrier_clocks_[id].clear();
    if (passed == all && cluster_->size() == 1 && checker_->agents.is_synchronous())
        checker_->forget_accesses();
}

void Cta::pass_barrier(const Warp& warp, std::uint32_t id, std::uint32_t mask) {
    if (order() == nullptr) return;
    if (id == cluster_barrier)
        checker_->order.acquire(warp.number(), mask, mask == warp.live(), checker_->complete);
    // all of its lanes arrived there
    else if (mask == warp.live())
        checker_->order.acquire_own(warp.number(), barrier_clocks_[id]);
    else
        checker_->order.acquire(warp.number(), mask, false, barrier_clocks_[id]);
}

bool Cta::has_ended() const {
    return std::ranges::all_of(warps_, [](const Warp& warp) { return warp.live() == 0; });
}

void Cta::left(const Warp& warp) {
    for (std::uint32_t id = 0; id < barrier_count; ++id) {
        if (barriers_[id].arrived == 0) continue;
        complete_warp(barriers_[id], warp);
        release_if_complete(id);
    }
    if (launch_->program->uses_wgmma)
        for (const Wait what : {Wait::wgmma_fence, Wait::wgmma_group}) release_wgmma(warp, what);
    cluster_->complete();
}

std::span<Warp> Cta::warpgroup(const Warp& warp) {
    const std::uint32_t first = warp.index() / 4 * 4, end = std::min(first + 4, warps());
    return {warps_.begin() + first, warps_.begin() + end};
}

std::uint32_t Cta::wgmma_count(const Warp& warp, Wait what) {
    std::uint32_t least = ~std::uint32_t{0};
    for (const Warp& one : warpgroup(warp))
        if (one.live() != 0) least = std::min(least, one.wgmma().count(what));
    return least;
}

void Cta::release_wgmma(const Warp& warp, Wait what) {
    const std::uint32_t count = wgmma_count(warp, what);
    for (Warp& one : warpgroup(warp)) one.wgmma().release(what, count);
}

}  // namespace ptxgraft::emulator
