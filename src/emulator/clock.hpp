#pragma once
/// @file clock.hpp
/// What happens before what, among the threads of a CTA (or of a cluster).
///
/// Every warp has a time, which moves on when one of its lanes lets others know of what it did. An access is stamped with
/// its warp, its lane and the warp's time. A Clock says up to which times the accesses of every warp are known; what
/// waits at a barrier, or reads what another thread released, joins the clock that was released there. Where exactness
/// would cost too much, a clock knows too much and never too little: no race is reported that is none.

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace ptxgraft::emulator {

using WarpTime = std::uint32_t;

/// Of one warp: the accesses of all lanes up to time `all`, and those of some lanes up to time `some`.
struct Known {
    WarpTime all = 0, some = 0;
    std::uint32_t lanes = 0;

    void join(const Known& other) {
        all = all < other.all ? other.all : all;
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

/// The order of the accesses of some warps.
class Order {
  public:
    explicit Order(std::size_t warps) : warps_(warps) {
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
        return own != nullptr && (*own)[stamp.warp].has(stamp.lane, stamp.time);
    }
    /// Lanes of a warp (`all` when there are no others) tell what they know and did.
    void release(unsigned warp, std::uint32_t lanes, bool all, Clock& into);
    /// Lanes of a warp get to know it.
    void acquire(unsigned warp, std::uint32_t lanes, bool all, const Clock& from);
    /// Lanes of one warp wait for each other.
    void synchronise(unsigned warp, std::uint32_t lanes, bool all);

  private:
    struct Warp {
        WarpTime now = 1;
        Clock common;                                   // what all lanes know
        std::array<std::unique_ptr<Clock>, 32> lanes;   // what single lanes know besides
        std::uint32_t with_clock = 0;
        bool has_ended = false;
    };
    void forget_lanes(Warp& warp);
    Clock& lane_clock(Warp& warp, unsigned lane);

    std::vector<Warp> warps_;
};

}  // namespace ptxgraft::emulator
