// The turns of the CTAs of a cluster, and barrier.cluster.
#include "emulator/machine/cluster.hpp"

#include <algorithm>
#include <exception>

namespace ptxgraft::emulator {
namespace {

// Turns of waiting for other threads after which other clusters go on: they may be what is waited for. Where
// all wait for each other all the time, sooner.
constexpr unsigned usual_turns = 256, cooperative_turns = 2;

Dim3 times(const Dim3& a, const Dim3& b) { return {a.x * b.x, a.y * b.y, a.z * b.z}; }

std::uint64_t product(const Dim3& shape) { return std::uint64_t{shape.x} * shape.y * shape.z; }

}  // namespace

Cluster::Cluster(const Launch& launch) : launch_(&launch) {
    const Dim3& shape = launch.shape.cluster;
    const auto size = static_cast<std::uint32_t>(product(shape));
    const auto warps =
        static_cast<std::uint32_t>((product(launch.shape.block) + lane_count - 1) / lane_count);
    if (launch.checks.any()) {
        const bool is_async = launch.checks.has(EmulatorCheck::async);
        const Agents::Asynchronous what{.copies = is_async && launch.program->uses_copies,
                                        .wgmma = is_async && launch.program->uses_wgmma,
                                        .async_proxy = is_async && launch.program->uses_async_proxy};
        checker_ = launch.checkers->take(launch.is_ordered ? Agents(size, warps, what) : Agents(0, warps, {}),
                                         launch.shadow_bytes, *launch.lane_functions, launch.program);
    }
    ctas_.reserve(size);
    for (std::uint32_t rank = 0; rank < size; ++rank)
        ctas_.push_back(std::make_unique<Cta>(launch, *this, rank, checker_.get()));
    lanes_.resize(std::size_t{size} * ctas_[0]->warps());
}

Cluster::~Cluster() {
    // What an exception has left behind is not used again.
    if (checker_ != nullptr && std::uncaught_exceptions() == 0) launch_->checkers->give(std::move(checker_));
}

std::uint64_t Cluster::host_bytes(const Launch& launch) {
    const std::uint64_t warps = (product(launch.shape.block) + lane_count - 1) / lane_count,
                        kept = launch.checks.has(EmulatorCheck::unwritten) ? 2 : 1;
    const std::uint64_t local = std::uint64_t{lane_count} * launch.entry->local_bytes * kept;
    return product(launch.shape.cluster) *
           (launch.shared_bytes * kept + warps * (launch.entry->register_bytes + local));
}

Dim3 Cluster::position() const {
    const Dim3 &grid = launch_->shape.grid, &shape = launch_->shape.cluster;
    const std::uint64_t width = grid.x / shape.x, height = grid.y / shape.y, row = index_ / width;
    return {static_cast<std::uint32_t>(index_ % width), static_cast<std::uint32_t>(row % height),
            static_cast<std::uint32_t>(row / height)};
}

bool Cluster::begin(std::uint64_t index, Pace& pace) {
    index_ = index;
    std::fill(lanes_.begin(), lanes_.end(), Lanes{});
    any_arrived_ = false;
    if (checker_ != nullptr) checker_->begin();
    const Dim3 &grid = launch_->shape.grid, &shape = launch_->shape.cluster, first = times(position(), shape);
    for (std::uint32_t rank = 0; rank < size(); ++rank) {
        const std::uint64_t x = first.x + rank % shape.x, y = first.y + rank / shape.x % shape.y,
                            z = first.z + rank / shape.x / shape.y;
        if (ctas_[rank]->begin((z * grid.y + y) * grid.x + x, pace)) continue;
        error_ = ctas_[rank]->error();
        return false;
    }
    return true;
}

Cta::State Cluster::run(Pace& pace) {
    const unsigned turns = launch_->shape.cooperative ? cooperative_turns : usual_turns;
    for (unsigned turn = 0; turn < turns; ++turn) {
        bool ran = false, yielded = false, finished = true, only_wait = true;
        for (const auto& cta : ctas_) {
            if (cta->is_finished()) continue;
            const Cta::State state = cta->round(pace, ran, yielded);
            if (state == Cta::State::failed) {
                error_ = cta->error();
                return state;
            }
            finished &= state == Cta::State::finished;
            only_wait &= cta->only_waits();
        }
        if (finished) return Cta::State::finished;
        // mbarriers are of the cluster: nobody outside can complete a phase. A CTA that has come to its end
        // just now may have let others go on.
        if (!ran || only_wait) return deadlock();
        if (!yielded) --turn;  // barriers only: nobody outside is waited for
    }
    return Cta::State::yielded;
}

Cta::State Cluster::deadlock() {
    for (const auto& cta : ctas_) {
        if (cta->is_finished()) continue;
        cta->deadlock();
        error_ = cta->error();
        break;
    }
    return Cta::State::failed;
}

Cluster::Lanes& Cluster::lanes(const Warp& warp) {
    return lanes_[std::size_t{warp.cta().rank()} * ctas_[0]->warps() + warp.index()];
}

Cluster::Arrival Cluster::arrive(const Warp& warp, std::uint32_t mask, Semantics semantics) {
    Lanes& here = lanes(warp);
    if (((here.arrived | here.complete) & mask) != 0) return Arrival::twice;
    here.arrived |= mask;
    if (launch_->is_ordered)
        checker_->synchronisation.arrive({.warp = warp.number(),
                                          .lanes = mask,
                                          .is_whole_warp = mask == warp.live(),
                                          .semantics = semantics},
                                         checker_->arrived);
    if (launch_->is_ordered && semantics == Semantics::relaxed)
        checker_->order.release(warp.number(), mask, mask == warp.live(), checker_->done);
    any_arrived_ = true;
    return Arrival::ok;
}

std::uint32_t Cluster::absent(const Warp& warp, std::uint32_t mask) {
    const Lanes& here = lanes(warp);
    return mask & ~(here.arrived | here.complete);
}

std::uint32_t Cluster::pass(const Warp& warp, std::uint32_t mask) {
    Lanes& here = lanes(warp);
    const std::uint32_t through = mask & here.complete;
    here.complete &= ~through;
    here.waiting |= mask & ~through;
    if (launch_->is_ordered && through != 0)
        checker_->order.acquire(warp.number(), through, through == warp.live(), checker_->complete);
    return through;
}

bool Cluster::is_complete() {
    for (const auto& cta : ctas_)
        for (std::uint32_t i = 0; i < cta->warps(); ++i) {
            const Warp& warp = cta->warp(i);
            if ((warp.live() & ~lanes(warp).arrived) != 0) return false;
        }
    return true;
}

void Cluster::complete() {
    if (!any_arrived_ || !is_complete()) return;
    any_arrived_ = false;
    if (launch_->is_ordered) {
        checker_->complete.join(checker_->arrived);
        checker_->arrived.clear();
    }
    for (Lanes& l : lanes_) {
        l.complete = l.arrived & ~l.waiting;
        l.arrived = l.waiting = 0;
    }
    for (const auto& cta : ctas_)
        for (std::uint32_t i = 0; i < cta->warps(); ++i) cta->warp(i).schedule().release(cluster_barrier, {});
}

}  // namespace ptxgraft::emulator
