#pragma once
/// @file clock.hpp
/// What happens before what, among the threads of a CTA (or of a cluster).
///
/// Every warp has a time, which moves on when one of its lanes lets others know of what it did. An access is stamped with
/// its warp, its lane and the warp's time. A Clock says up to which times the accesses of every warp are known; what
/// waits at a barrier, or reads what another thread released, joins the clock that was released there. Where exactness
/// would cost too much, a clock knows too much and never too little: no race is reported that is none.
///
/// What copies or multiplies for a thread asynchronously has stamps of its own, which the thread knows once it has waited:
/// the async proxy, bulk stores, the cp.async of each warp, the wgmma of each warpgroup (checker.hpp).

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptxgraft::emulator {

using WarpTime = std::uint32_t;

/// Of one warp: the accesses of all lanes up to time `all`, those of some lanes up to time `some`, and what all lanes read up to `reads`.
struct Known {
    WarpTime all = 0, some = 0;
    std::uint32_t lanes = 0;
    WarpTime reads = 0;

    void join(const Known& other) {
        all = all < other.all ? other.all : all;
        reads = reads < other.reads ? other.reads : reads;
        if (other.some <= all) return;
        lanes = (some > all ? lanes : 0) | other.lanes;
        some = some < other.some ? other.some : some;
    }
    [[nodiscard]] bool has(unsigned lane, WarpTime time) const {
        return time <= all || (time <= some && (lanes >> lane & 1) != 0);
    }
};

class Clock {
  public:
    explicit Clock(std::size_t warps = 0) : known_(warps) {}
    void join(const Clock& other) {
        for (std::size_t i = 0; i < known_.size(); ++i) known_[i].join(other.known_[i]);
    }
    Known& operator[](std::size_t warp) { return known_[warp]; }
    const Known& operator[](std::size_t warp) const { return known_[warp]; }
    void clear() { known_.assign(known_.size(), {}); }

  private:
    std::vector<Known> known_;
};

/// Who did something, and when.
struct Stamp {
    std::uint16_t warp = 0;
    std::uint8_t lane = 0;
    WarpTime time = 0;
};
[[nodiscard]] constexpr Stamp stamp(unsigned warp, unsigned lane, WarpTime time) {
    return {static_cast<std::uint16_t>(warp), static_cast<std::uint8_t>(lane), time};
}

/// The order of the accesses of some warps, and of what works for them asynchronously: each is like a warp more.
class Order {
  public:
    /// `copiers`: the first of those that execute cp.async for the lanes of warp 0, warp 1 …; 0: there are none.
    explicit Order(std::size_t warps, unsigned copiers = 0) : warps_(warps), copiers_(copiers) {
        for (Warp& warp : warps_) warp.common = Clock(warps);
    }
    void begin();

    [[nodiscard]] std::size_t size() const { return warps_.size(); }
    [[nodiscard]] WarpTime now(unsigned warp) const { return warps_[warp].now; }
    /// Up to which time all of the first `observers` warps, but those that have ended, know what a warp did.
    [[nodiscard]] WarpTime known_to_all(unsigned warp, std::size_t observers) const;
    /// A warp has ended.
    void end(unsigned warp) { warps_[warp].has_ended = true; }
    /// What all lanes of a warp know.
    [[nodiscard]] const Clock& common(unsigned warp) const { return warps_[warp].common; }
    /// Whether a lane knows of an access.
    [[nodiscard]] bool knows(unsigned warp, unsigned lane, const Stamp& stamp) const {
        if (stamp.warp == warp && stamp.lane == lane) return true;
        const Warp& observer = warps_[warp];
        if (observer.common[stamp.warp].has(stamp.lane, stamp.time)) return true;
        const Clock* const own = observer.lanes[lane].get();
        if (own != nullptr && (*own)[stamp.warp].has(stamp.lane, stamp.time)) return true;
        return copiers_ != 0 && stamp.warp == copiers_ + warp && stamp.lane == lane && stamp.time <= observer.copied[lane];
    }
    /// Lanes of a warp (`all` when there are no others) tell what they know and did.
    void release(unsigned warp, std::uint32_t lanes, bool all, Clock& into);
    /// Lanes of a warp get to know it.
    void acquire(unsigned warp, std::uint32_t lanes, bool all, const Clock& from);
    /// Lanes of a warp get to know what one other did.
    void learn(unsigned warp, std::uint32_t lanes, bool all, unsigned other, const Known& known);
    /// A lane has waited for its own copies up to a time.
    void learn_copies(unsigned warp, unsigned lane, WarpTime time);
    /// The time of one that works asynchronously moves on; what it was.
    WarpTime advance(unsigned warp) { return warps_[warp].now++; }
    /// Lanes of one warp wait for each other.
    void synchronise(unsigned warp, std::uint32_t lanes, bool all);
    /// Lanes of one warp meet at a shuffle, a vote or a product, which makes nothing visible that they wrote themselves. But what one has
    /// waited for counts for all, as where one asks a flag; and what they read before is read, so that one may say so for all.
    void meet(unsigned warp, std::uint32_t lanes, bool all);
    /// Whether a lane knows that something has been read.
    [[nodiscard]] bool knows_read(unsigned warp, unsigned lane, const Stamp& read) const {
        if (knows(warp, lane, read)) return true;
        const Warp& observer = warps_[warp];
        const Clock* const own = observer.lanes[lane].get();
        return read.time <= observer.common[read.warp].reads || (own != nullptr && read.time <= (*own)[read.warp].reads) ||
               (read.warp == warp && observer.met[lane].has(read.lane, read.time));
    }

  private:
    struct Warp {
        WarpTime now = 1;
        Clock common;                                   // what all lanes know
        std::array<std::unique_ptr<Clock>, 32> lanes;   // what single lanes know besides
        std::uint32_t with_clock = 0;
        std::uint32_t untold = 0;  // lanes that have got to know something since all lanes met
        std::array<Known, 32> met = {};  // when each met some others
        std::array<WarpTime, 32> copied = {};  // up to when each lane has waited for its own copies
        bool has_copied = false;
        bool has_ended = false;
    };
    void forget_lanes(Warp& warp);
    void release_copies(unsigned index, std::uint32_t lanes, Clock& into) const;
    Clock& lane_clock(Warp& warp, unsigned lane);

    std::vector<Warp> warps_;
    unsigned copiers_;
};

}  // namespace ptxgraft::emulator
