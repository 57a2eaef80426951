#pragma once
/// @file checker.hpp
/// What a checked launch keeps of a cluster besides what runs: in which order its threads accessed memory,
/// and what was found.

#include <array>
#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "emulator/clock.hpp"
#include "emulator/findings.hpp"
#include "emulator/program.hpp"
#include "emulator/race.hpp"

namespace ptxgraft::emulator {

/// When a thread put its last copies into groups: what it waits for.
class CopyGroups {
  public:
    void commit(WarpTime time) { times_[count_++ % times_.size()] = time; }
    /// The time up to which the copies are complete when only the last `pending` groups may not be; 0: none.
    [[nodiscard]] WarpTime complete(std::uint32_t pending) const {
        if (count_ <= pending) return 0;
        const std::uint32_t kept =
            pending < times_.size() ? pending : static_cast<std::uint32_t>(times_.size()) - 1;
        return times_[(count_ - 1 - kept) % times_.size()];
    }

  private:
    std::array<WarpTime, 16> times_ = {};
    std::uint32_t count_ = 0;
};

/// The cp.async of a thread: its time moves on with every group, and with every mbarrier that is told of it.
struct ThreadCopies {
    WarpTime now = 1;
    CopyGroups groups;
};

/// What stored an undefined value, and where that came from.
struct StoredOrigin {
    std::uint32_t pc = 0, first_pc = 0;
    bool is_stored = false;
    [[nodiscard]] bool is_known() const { return is_stored; }
};

/// The places of undefined values that were stored; which of them are undefined still, others know.
class StoredOrigins {
  public:
    void clear() { origins_.clear(); }
    /// `thread`: of local memory.
    void add(Space space, std::uint64_t address, unsigned thread, std::uint64_t bytes,
             const StoredOrigin& origin);
    void remove(Space space, std::uint64_t address, unsigned thread, std::uint64_t bytes);
    [[nodiscard]] StoredOrigin find(Space space, std::uint64_t address, unsigned thread) const;

    static constexpr std::uint64_t unit = 4;  ///< bytes that share an origin

  private:
    static constexpr std::size_t most = 1u << 16;  // a message is not worth more memory
    static std::uint64_t key(Space space, std::uint64_t address, unsigned thread) {
        return std::uint64_t{static_cast<std::uint8_t>(space)} << 59 ^ std::uint64_t{thread} << 40 ^
               address / unit;
    }
    std::unordered_map<std::uint64_t, StoredOrigin> origins_;
};

/// Who is in the order of a cluster: its warps, and what works for them asynchronously, each like a warp
/// more.
class Parties {
  public:
    struct Asynchronous {
        bool copies = false;  ///< cp.async: one for each warp, with its lanes
        bool wgmma =
            false;  ///< one for each warpgroup, with a lane for each of its warps; its times are groups
    };
    Parties(std::uint32_t ctas, std::uint32_t warps_of_cta, Asynchronous what)
        : warps_(ctas * warps_of_cta), warpgroups_of_cta_((warps_of_cta + 3) / 4), size_(warps_ + 2) {
        if (what.copies) {
            copiers_ = size_;
            size_ += warps_;
        }
        if (what.wgmma) {
            warpgroups_ = size_;
            size_ += ctas * warpgroups_of_cta_;
        }
    }
    [[nodiscard]] unsigned size() const { return size_; }
    [[nodiscard]] unsigned warps() const { return warps_; }

    /// The async proxy where mbarriers say that it is done: a lane for each of 32 mbarriers that lie side by
    /// side.
    [[nodiscard]] unsigned async_proxy() const { return warps_; }
    [[nodiscard]] static unsigned proxy_lane(std::uint64_t mbarrier) {
        return static_cast<unsigned>(mbarrier / 8 % lane_count);
    }
    /// And where bulk groups do: a lane for what it reads, and one for what it writes.
    [[nodiscard]] unsigned bulk_stores() const { return warps_ + 1; }
    static constexpr unsigned reads_lane = 0, writes_lane = 1;

    [[nodiscard]] unsigned copiers() const { return copiers_; }  ///< 0: there are none
    [[nodiscard]] unsigned copier(unsigned warp) const { return copiers_ + warp; }
    [[nodiscard]] bool is_copier(unsigned party) const {
        return copiers_ != 0 && party >= copiers_ && party < copiers_ + warps_;
    }
    [[nodiscard]] unsigned warpgroup(unsigned cta, unsigned warp) const {
        return warpgroups_ + cta * warpgroups_of_cta_ + warp / 4;
    }
    [[nodiscard]] bool is_warpgroup(unsigned party) const { return warpgroups_ != 0 && party >= warpgroups_; }

  private:
    unsigned warps_, warpgroups_of_cta_, size_;
    unsigned copiers_ = 0, warpgroups_ = 0;  // the first ones
};

class Checker {
  public:
    explicit Checker(const Parties& all);
    /// `has_async_proxy`: the program copies or multiplies by it.
    void begin(bool has_async_proxy);

    /// The clock of what threads order themselves by at an address: an mbarrier, a flag, a lock. Rarely two
    /// addresses share one.
    [[nodiscard]] Clock& object(Space space, std::uint64_t address);
    /// What those did that arrived at an mbarrier in the phase that is not complete; object() is of the
    /// others.
    [[nodiscard]] Clock& arrivals(Space space, std::uint64_t address);
    /// The phase is complete.
    void finish_phase(Space space, std::uint64_t address);
    /// Whether somebody released something there.
    [[nodiscard]] bool has_object(Space space, std::uint64_t address) const {
        return objects_.contains(key(space, address));
    }
    /// Of one thread.
    [[nodiscard]] CopyGroups& bulk_groups(unsigned warp, unsigned lane) {
        return bulk_groups_[warp * lane_count + lane];
    }
    [[nodiscard]] ThreadCopies& copies(unsigned warp, unsigned lane) {
        return copies_[warp * lane_count + lane];
    }

    const Parties parties;
    Order order;
    Clock fenced;  ///< what threads did before a fence.proxy.async
    RaceShadow shared_races, global_races;
    Clock arrived,
        complete;  ///< of the cluster's barrier: those that wait for others, and those that all have come to
    /// What one warp's wgmma.mma_async reads, until some other product takes the place.
    struct WgmmaReads {
        Wgmma wgmma;
        std::uint64_t a_descriptor = 0, b_descriptor = 0;
        std::uint8_t warp = 0;
        bool a_in_registers = false;
        std::size_t of_a = 0;  ///< of the ranges; the others are of B
        std::vector<SharedRange> ranges;
    };
    [[nodiscard]] const WgmmaReads& wgmma_reads(const Wgmma& wgmma, const WgmmaOperands& operands);
    StoredOrigins stored;
    ClusterFindings findings;
    std::unordered_set<const std::byte*> mbarriers;  ///< where some were made

  private:
    // A thousand of each space.
    static std::uint64_t key(Space space, std::uint64_t address) {
        return (address / 4 * 0x9E3779B97F4A7C15u >> 54) * 2 + (space == Space::shared ? 1 : 0);
    }

    std::unordered_map<std::uint64_t, Clock> objects_, arrivals_;
    std::unordered_map<unsigned, CopyGroups> bulk_groups_;
    std::vector<ThreadCopies> copies_;
    std::array<WgmmaReads, 64> wgmma_reads_;
};

}  // namespace ptxgraft::emulator
