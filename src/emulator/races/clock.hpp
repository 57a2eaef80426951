#pragma once
/// @file clock.hpp
/// Happens-before (in PTX's words: causality order, PTX ISA 8.9.5) among the threads of a cluster, by vector
/// clocks.
///
/// Every warp has a time, which moves on when one of its lanes releases what it did. An access has an epoch:
/// its warp, its lane and the warp's time. A vector clock says up to which time the accesses of every lane
/// happen before what its owner does next. It is kept warp by warp, and lane by lane only where lanes differ;
/// nothing is rounded.
///
/// What copies or multiplies for a thread asynchronously is not part of its program order (PTX ISA 8.9.1.1).
/// It has epochs of its own, which the thread's clock covers once it has waited: the async proxy, the
/// cp.async of each warp, the wgmma of each warpgroup (checker.hpp). They and the warps are the *agents* of
/// the order.
/// Agents may be added while it is kept; a clock that is not a warp's may have been made when there were
/// fewer, and knows nothing of the others.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace ptxgraft::emulator {

using WarpTime = std::uint32_t;
using LaneTimes = std::array<WarpTime, 32>;

/// Who did something, and when.
struct Epoch {
    std::uint16_t agent = 0;
    std::uint8_t lane = 0;
    WarpTime time = 0;
};
[[nodiscard]] constexpr Epoch epoch(unsigned agent, unsigned lane, WarpTime time) {
    return {static_cast<std::uint16_t>(agent), static_cast<std::uint8_t>(lane), time};
}

/// A part of what the async proxy does: a lane of one of its agents. One wait says at once that all of it is
/// done.
struct ProxyLane {
    std::uint16_t agent = 0;  ///< of the order; 0: none
    std::uint8_t lane = 0;

    [[nodiscard]] bool is_any() const { return agent != 0; }
};

/// For every lane of every agent a time.
class VectorClock {
  public:
    explicit VectorClock(std::size_t agents = 0) : all_(agents) {}

    /// The time of all lanes of an agent; some may be ahead of it.
    [[nodiscard]] WarpTime all(unsigned agent) const { return all_[agent]; }
    [[nodiscard]] bool has_agents() const { return !all_.empty(); }
    [[nodiscard]] WarpTime all_or_none(unsigned agent) const {
        return agent < all_.size() ? all_[agent] : WarpTime{0};
    }
    [[nodiscard]] bool covers(const Epoch& of) const {
        return of.time <= all_[of.agent] || (!place_.empty() && of.time <= ahead(of.agent, of.lane));
    }
    void raise(unsigned agent, WarpTime time) { all_[agent] = all_[agent] < time ? time : all_[agent]; }
    void raise(unsigned agent, std::uint32_t lanes, WarpTime time);
    /// Each lane to its own time.
    void raise(unsigned agent, std::uint32_t lanes, const LaneTimes& times);
    void join(const VectorClock& other);
    void clear();
    /// There are so many agents now, at least.
    void grow(std::size_t agents);
    /// As if nothing of an agent were known.
    void forget(unsigned agent);

  private:
    [[nodiscard]] WarpTime ahead(unsigned agent, unsigned lane) const {
        return place_[agent] == 0 ? 0 : ahead_[place_[agent] - 1][lane];
    }
    [[nodiscard]] LaneTimes& lanes_of(unsigned agent);

    std::vector<WarpTime> all_;
    std::vector<LaneTimes> ahead_;      // of agents some of whose lanes are ahead
    std::vector<std::uint16_t> place_;  // of each agent there, from 1; empty when there are none
};

/// The state spaces that a fence.proxy.async may be limited to (PTX ISA 9.7.13.4).
enum class FencedSpace : std::uint8_t { shared, global };
constexpr std::size_t fenced_spaces = 2;

/// What a thread knows: which accesses happened before, and which reads are at least done, so that their
/// place may be written (Order::meet). The second is never less than the first.
/// Which accesses happened before a fence.proxy.async for a state space that happened before, says the third,
/// which is empty as long as there was none.
struct Clock {
    explicit Clock(std::size_t agents = 0) : accesses(agents), reads(agents) {}
    VectorClock accesses, reads;
    std::array<VectorClock, fenced_spaces> fenced;

    [[nodiscard]] VectorClock& fenced_for(FencedSpace space) {
        return fenced[static_cast<std::size_t>(space)];
    }
    [[nodiscard]] const VectorClock& fenced_for(FencedSpace space) const {
        return fenced[static_cast<std::size_t>(space)];
    }
    void join(const Clock& other) {
        accesses.join(other.accesses);
        reads.join(other.reads);
        for (std::size_t i = 0; i < fenced_spaces; ++i)
            if (other.fenced[i].has_agents()) fenced[i].join(other.fenced[i]);
    }
    void clear() {
        accesses.clear();
        reads.clear();
        for (VectorClock& one : fenced)
            if (one.has_agents()) one.clear();
    }
    void grow(std::size_t agents) {
        accesses.grow(agents);
        reads.grow(agents);
    }
    [[nodiscard]] bool covers(const Epoch& of, bool is_read) const {
        return accesses.covers(of) || (is_read && reads.covers(of));
    }
    /// Of all lanes of the agent.
    [[nodiscard]] bool covers_all(unsigned agent, WarpTime time, bool is_read) const {
        return time <= accesses.all(agent) || (is_read && time <= reads.all(agent));
    }
};

/// What a thread knew at a release, and its own epoch then.
struct Published {
    std::shared_ptr<const Clock> known;
    Epoch own;

    [[nodiscard]] bool is_any() const { return known != nullptr; }
    void join_into(Clock& clock) const {
        clock.join(*known);
        clock.accesses.raise(own.agent, 1u << own.lane, own.time);
    }
};

/// The order of the accesses of some warps, and of what works for them asynchronously.
class Order {
  public:
    /// The first `warps` of the agents are warps. `copiers`: the first of those that execute cp.async for the
    /// lanes of warp 0, warp 1 …; 0: there are none.
    Order(std::size_t agents, std::size_t warps, unsigned copiers = 0);
    void begin();
    /// One more agent, which executes no instructions and knows nothing.
    void add_agent();

    [[nodiscard]] std::size_t size() const { return warps_.size(); }
    [[nodiscard]] std::size_t warps() const { return count_; }
    [[nodiscard]] WarpTime now(unsigned agent) const { return warps_[agent].now; }
    /// What all lanes of a warp know.
    [[nodiscard]] const Clock& common(unsigned warp) const { return warps_[warp].common; }
    /// The time of an access of a warp.
    [[nodiscard]] WarpTime access(unsigned warp) {
        warps_[warp].has_accessed = true;
        return warps_[warp].now;
    }
    /// Whether an access happens before what a lane does next; `is_read`: or is known to be done, at least.
    [[nodiscard]] bool knows(unsigned warp, unsigned lane, const Epoch& of, bool is_read) const {
        if (of.agent == warp && of.lane == lane) return true;  // program order
        const Warp& observer = warps_[warp];
        if (observer.common.covers(of, is_read)) return true;
        const Clock* const own = observer.lanes[lane].get();
        if (own != nullptr && own->covers(of, is_read)) return true;
        if (is_read && of.agent == warp && observer.met != nullptr &&
            of.time <= (*observer.met)[lane][of.lane])
            return true;
        return copiers_ != 0 && of.agent == copiers_ + warp && of.lane == lane &&
               of.time <= observer.copied[lane];
    }

    /// Whether an access happens before what any warp does next, but those that have ended.
    [[nodiscard]] bool is_known_to_all(unsigned agent, WarpTime time, bool is_read) const;
    /// And a fence.proxy.async for the space comes between.
    [[nodiscard]] bool is_fenced_for_all(FencedSpace space, unsigned agent, WarpTime time) const;
    /// A warp has ended.
    void end(unsigned warp) { warps_[warp].has_ended = true; }

    /// Lanes of a warp (`all` when there are no others) let others know what they know and did.
    void release(unsigned warp, std::uint32_t lanes, bool all, Clock& into);
    /// Lanes of a warp get to know it.
    void acquire(unsigned warp, std::uint32_t lanes, bool all, const Clock& from);
    void acquire(unsigned warp, std::uint32_t lanes, bool all, const Published& from);
    /// Lanes of a warp execute a fence.proxy.async for a space.
    void fence_proxy(FencedSpace space, unsigned warp, std::uint32_t lanes, bool all);
    /// What happened before such a fence that a lane knows of; or an agent without lanes.
    [[nodiscard]] VectorClock fenced(FencedSpace space, unsigned agent,
                                     std::optional<unsigned> lane = {}) const;
    /// All lanes of a warp get to know what each of them has released into `from` before, and more.
    void acquire_own(unsigned warp, const Clock& from);
    /// Lanes of a warp get to know what one agent did.
    void learn(unsigned warp, std::uint32_t lanes, bool all, unsigned agent, std::uint32_t agents_lanes,
               WarpTime time);
    /// A lane has waited for its own copies up to a time.
    void learn_copies(unsigned warp, unsigned lane, WarpTime time);
    /// The time of an agent moves on; what it was.
    WarpTime advance(unsigned agent) { return warps_[agent].now++; }
    /// Lanes of one warp wait for each other.
    void synchronise(unsigned warp, std::uint32_t lanes, bool all);
    /// Lanes of one warp meet at a shuffle, a vote or a product, which orders nothing that they wrote
    /// themselves. But what one has waited for counts for all, as where one asks a flag; and what they read
    /// before is read, so that one may say so for all.
    void meet(unsigned warp, std::uint32_t lanes, bool all);
    /// Ends the epoch of a warp: what it accesses next has a later time than the one returned, and nothing
    /// before has.
    WarpTime close(unsigned warp) {
        Warp& closed = warps_[warp];
        if (closed.has_accessed) ++closed.now;
        closed.has_accessed = false;
        return closed.now - 1;
    }
    /// What a lane knows now, and did up to a time, to be published.
    [[nodiscard]] Published publish(unsigned warp, unsigned lane, WarpTime time);

  private:
    struct Warp {
        WarpTime now = 1;
        bool has_accessed = false;                     // at that time
        Clock common;                                  // what all lanes know
        std::array<std::unique_ptr<Clock>, 32> lanes;  // what single lanes know besides
        std::uint32_t with_clock = 0;
        std::uint32_t untold = 0;              // lanes that have got to know something since all lanes met
        std::array<WarpTime, 32> copied = {};  // up to when each lane has waited for its own copies
        bool has_copied = false;
        bool has_ended = false;
        // up to when each lane knows that others of the warp have read
        std::unique_ptr<std::array<LaneTimes, 32>> met;
        std::shared_ptr<const Clock> snapshot;  // of `common`, while it stays as it is
    };
    [[nodiscard]] static Clock& change(Warp& warp) {
        warp.snapshot.reset();
        return warp.common;
    }
    void forget_lanes(Warp& warp);
    static void meet_in_part(Warp& warp, std::uint32_t lanes, WarpTime now);
    void release_copies(unsigned index, std::uint32_t lanes, Clock& into) const;
    Clock& lane_clock(Warp& warp, unsigned lane);

    std::vector<Warp> warps_;
    std::size_t count_;  // of them those that execute instructions
    unsigned copiers_;
};

}  // namespace ptxgraft::emulator
