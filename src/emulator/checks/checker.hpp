#pragma once
/// @file checker.hpp
/// What a checked launch keeps of a cluster besides what runs: in which order its threads accessed memory,
/// and what was found.

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "emulator/checks/findings.hpp"
#include "emulator/checks/register_states.hpp"
#include "emulator/checks/synchronisation.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/races/clock.hpp"
#include "emulator/races/race.hpp"
#include "emulator/races/race_storage.hpp"

namespace ptxgraft::emulator {

/// When a thread put its last copies into groups: what it waits for.
class CopyGroups {
  public:
    void commit(WarpTime time) {
        if (times_.size() == most) times_.erase(times_.begin(), times_.begin() + most / 2);
        times_.push_back(time);
    }
    /// The time up to which the copies are complete when only the last `pending` groups may not be; 0: none.
    [[nodiscard]] WarpTime complete(std::uint32_t pending) const {
        return times_.size() <= pending ? 0 : times_[times_.size() - 1 - pending];
    }
    /// Nobody asks again for what is complete then.
    void forget(std::uint32_t pending) {
        if (times_.size() > pending) times_.erase(times_.begin(), times_.end() - pending);
    }

  private:
    static constexpr std::size_t most = 1024;  // then the older half is forgotten
    std::vector<WarpTime> times_;
};

/// The cp.async of a thread: its time moves on with every group, and with every mbarrier that is told of it.
struct ThreadCopies {
    WarpTime now = 1;
    CopyGroups groups;
};

/// The bulk stores of a thread, whose reads of shared memory it has to wait for.
struct ThreadBulkStores {
    CopyGroups groups;
    ProxyLane reads;                  ///< and the next lane is what they write; none, while there are none
    WarpTime issued = 0, waited = 0;  ///< of the last one, and up to when it has waited
    std::uint32_t pc = 0;             ///< of the last one

    [[nodiscard]] bool is_pending() const { return issued > waited; }
    [[nodiscard]] ProxyLane writes() const {
        return {reads.agent, static_cast<std::uint8_t>(reads.lane + 1)};
    }
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

/// Numbers the agents of a cluster's happens-before order: the warps first, CTA by CTA, then what works for
/// them asynchronously. Last come those of the async proxy, as many as there have to be (Checker).
class Agents {
  public:
    struct Asynchronous {
        bool copies = false;  ///< cp.async: one for each warp, with its lanes
        bool wgmma =
            false;  ///< one for each warpgroup, with a lane for each of its warps; its times are groups
        bool async_proxy = false;
    };
    Agents(std::uint32_t ctas, std::uint32_t warps_of_cta, Asynchronous what)
        : ctas_(ctas),
          warps_(ctas * warps_of_cta),
          warps_of_cta_(warps_of_cta),
          warpgroups_of_cta_((warps_of_cta + 3) / 4),
          size_(warps_ + ctas),
          is_synchronous_(!what.copies && !what.wgmma && !what.async_proxy) {
        if (what.copies) {
            copiers_ = size_;
            size_ += warps_;
        }
        if (what.wgmma) {
            warpgroups_ = size_;
            size_ += ctas * warpgroups_of_cta_;
        }
    }
    /// Without those of the async proxy.
    [[nodiscard]] unsigned size() const { return size_; }
    [[nodiscard]] unsigned warps() const { return warps_; }
    [[nodiscard]] unsigned warps_of_cta() const { return warps_of_cta_; }
    /// Nothing works asynchronously.
    [[nodiscard]] bool is_synchronous() const { return is_synchronous_; }
    [[nodiscard]] bool operator==(const Agents&) const = default;

    /// The first one of the async proxy.
    [[nodiscard]] unsigned async_proxy() const { return size_; }
    /// Who writes mbarrier objects for the threads that initialise them: a fence may order that alone
    /// (fence.mbarrier_init). Every object that is initialised has a time. One for each CTA, with a lane for
    /// each thread of a warp, and another one for the same thread of the next warp: who made an object knows
    /// nothing of those that other warps made before.
    [[nodiscard]] Epoch initialiser(unsigned warp, unsigned lane, WarpTime time) const {
        return epoch(warps_ + warp / warps_of_cta_, (warp % warps_of_cta_ + lane) % lane_count, time);
    }
    [[nodiscard]] bool is_initialiser(unsigned agent) const {
        return agent >= warps_ && agent < warps_ + ctas_;
    }

    [[nodiscard]] unsigned copiers() const { return copiers_; }  ///< 0: there are none
    [[nodiscard]] unsigned copier(unsigned warp) const { return copiers_ + warp; }
    [[nodiscard]] bool is_copier(unsigned agent) const {
        return copiers_ != 0 && agent >= copiers_ && agent < copiers_ + warps_;
    }
    [[nodiscard]] unsigned warpgroup(unsigned cta, unsigned warp) const {
        return warpgroups_ + cta * warpgroups_of_cta_ + warp / 4;
    }
    [[nodiscard]] bool is_warpgroup(unsigned agent) const {
        return warpgroups_ != 0 && agent >= warpgroups_ && agent < size_;
    }

  private:
    unsigned ctas_, warps_, warps_of_cta_, warpgroups_of_cta_, size_;
    bool is_synchronous_;
    unsigned copiers_ = 0, warpgroups_ = 0;  // the first ones
};

class Checker {
  public:
    /// `shadow_bytes`: host memory for the shadow memory of each of the two state spaces.
    Checker(const Agents& all, std::size_t shadow_bytes, std::unique_ptr<RaceStorage> storage,
            const LaneFunctions& functions);
    void begin();

    /// What those published that arrived at an mbarrier: in the phase that is not complete, and in those that
    /// are.
    struct Arrivals {
        Clock arrived, complete;
        void finish_phase() {
            complete.join(arrived);
            arrived.clear();
        }
    };
    /// Of its own CTA's threads and what runs asynchronously; of the threads of other CTAs, which a wait with
    /// the scope .cta does not synchronise with.
    struct Phases {
        Arrivals near, far;
        bool has_far = false;
        ProxyLane copies = {};  ///< that tell this mbarrier; none so far, if there are none
    };
    /// `mbarrier`: its address among the cluster's shared memory.
    [[nodiscard]] Phases& phases(std::uint64_t mbarrier);
    /// Where mbarriers are, or were, among some shared memory, in order.
    [[nodiscard]] std::vector<std::uint64_t> mbarriers_in(std::uint64_t begin, std::uint64_t end) const;
    /// What the async proxy does until it tells an mbarrier.
    [[nodiscard]] ProxyLane copies_until(std::uint64_t mbarrier);
    /// All threads know of everything that was accessed, and nothing works asynchronously: no access from now
    /// on is in a race with one from before.
    void forget_accesses();
    /// An mbarrier object was initialised by a lane; the epoch of that.
    [[nodiscard]] Epoch initialise(unsigned warp, unsigned lane);
    /// Who initialised one, as a warp and a lane; and the last one of a lane, if there is one.
    [[nodiscard]] Epoch initialiser(const Epoch& of) const { return initialisers_[of.time - 1]; }
    [[nodiscard]] std::optional<Epoch> last_initialised(unsigned warp, unsigned lane) const;
    /// Of one thread.
    [[nodiscard]] ThreadBulkStores& bulk_stores(unsigned warp, unsigned lane) {
        return bulk_stores_[warp * lane_count + lane];
    }
    /// The same, with lanes of the async proxy.
    [[nodiscard]] ThreadBulkStores& issue_bulk_store(unsigned warp, unsigned lane);
    /// The first thread of some warps that has not waited for its last one: as warp * lane_count + lane.
    [[nodiscard]] std::optional<unsigned> pending_bulk_store(unsigned first_warp, unsigned warps) const;
    [[nodiscard]] ThreadCopies& copies(unsigned warp, unsigned lane) {
        return copies_[warp * lane_count + lane];
    }

    /// Another cluster may use it.
    [[nodiscard]] bool fits(const Agents& all, std::size_t shadow_bytes) const {
        return agents == all && shadow_bytes_ == shadow_bytes;
    }

    const Agents agents;
    Order order;
    Synchronisation synchronisation;
    std::unique_ptr<RaceStorage> storage;
    RaceShadow shared_races, global_races;
    Clock arrived,
        complete;  ///< of the cluster's barrier: those that wait for others, and those that all have come to
    /// What its relaxed arrivals come behind: they order no accesses, but none of those before is under way
    /// any longer.
    Clock done;
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
    std::set<std::uint64_t> mbarriers;  ///< where some were made, among the cluster's shared memory
    /// Tensor maps of global memory, by address, behind whose last change no fence comes; the change's pc.
    std::unordered_map<std::uint64_t, std::uint32_t> changed_maps;

  private:
    [[nodiscard]] ProxyLane new_proxy_lanes(unsigned count);

    std::size_t shadow_bytes_;
    unsigned proxy_lanes_ = 0;  // in use
    std::unordered_map<std::uint64_t, Phases> phases_;
    std::vector<Epoch> initialisers_;                             // by the time of that, from 1
    std::unordered_map<unsigned, ThreadBulkStores> bulk_stores_;  // by thread
    std::vector<ThreadCopies> copies_;
    std::array<WgmmaReads, 64> wgmma_reads_;
};

/// Those that clusters of earlier launches have left: small launches would spend most of their time with the
/// allocation of a new one.
class Checkers {
  public:
    [[nodiscard]] std::unique_ptr<Checker> take(const Agents& all, std::size_t shadow_bytes,
                                                const LaneFunctions& functions, const void* program);
    void give(std::unique_ptr<Checker> checker) noexcept;

  private:
    std::mutex mutex_;
    std::array<std::unique_ptr<Checker>, 64> free_;
    std::size_t count_ = 0;
};

}  // namespace ptxgraft::emulator
