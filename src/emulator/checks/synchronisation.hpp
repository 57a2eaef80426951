#pragma once
/// @file synchronisation.hpp
/// Which threads synchronise with each other through memory: release and acquire patterns (PTX ISA 8.8),
/// observation order with its release sequences (8.9.2), fences, and scopes (8.5, 8.9.4).
///
/// A release pattern on a location is an operation that releases, or a fence that does and a strong write
/// behind it; also a strong write behind an earlier release of the thread there. A location keeps what the
/// last write published, and what those published that the read-modify-writes since then carry on; a plain
/// write by anybody begins anew. An acquire pattern is an operation that acquires, or a strong read and a
/// fence behind it. Both synchronise where the scope of each includes the other's thread, link by link.
///
/// Not so here: a fence.sc orders as a fence.acq_rel does. Which of two comes first in Fence-SC order is
/// decided as the program runs, and a program that is ordered by that alone has another execution in which it
/// is not.

#include <array>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "emulator/memory/memory.hpp"
#include "emulator/memory/semantics.hpp"
#include "emulator/races/clock.hpp"

namespace ptxgraft::emulator {

/// What a strong operation of some lanes is to those that synchronise.
struct StrongOperation {
    unsigned warp = 0;
    std::uint32_t lanes = 0;
    bool is_whole_warp = false;  ///< there are no other lanes
    Semantics semantics = Semantics::relaxed;
    Reach reach = Reach::cluster;
    bool is_update = false;  ///< reads and writes in one step
};

class Synchronisation {
  public:
    /// `warps_of_cta`: of the order's agents the first ones are the warps, CTA by CTA.
    Synchronisation(Order& order, unsigned warps, unsigned warps_of_cta);
    void begin();

    /// What a lane's strong read synchronises with; before its own write. `location`: location_of().
    void read(const StrongOperation& operation, unsigned lane, std::uint64_t location);
    void write(const StrongOperation& operation, unsigned lane, std::uint64_t location);
    /// Of all lanes, at one location.
    void read_together(const StrongOperation& operation, std::uint64_t location);
    /// False where there is nothing to do: most programs have strong operations that nobody synchronises by.
    [[nodiscard]] bool may_read(const StrongOperation& operation) const {
        return has_locations_ || pending_[operation.warp] != 0;
    }
    [[nodiscard]] bool may_write(const StrongOperation& operation) const {
        return has_locations_ || fenced_[operation.warp] != 0 || releases(operation.semantics);
    }
    [[nodiscard]] bool has_location(std::uint64_t location) const { return locations_.contains(location); }
    /// A weak write is observed by nobody.
    void overwrite(std::uint64_t location) { locations_.erase(location); }

    void fence(const StrongOperation& operation);
    /// A fence for what agents other than the warp did for its lanes, one epoch for each
    /// (fence.mbarrier_init).
    void fence_only(unsigned warp, unsigned lane, const Epoch& of);

    /// An arrival at a barrier: what the lanes release, or what their fences did, to those of a CTA alone or
    /// to all.
    void arrive(const StrongOperation& operation, Clock& into);
    /// A wait at one: what is known there, now or behind a fence. `is_far`: from threads of other CTAs.
    void wait(const StrongOperation& operation, const Clock& from, bool is_far);

    [[nodiscard]] static std::uint64_t location_of(Space space, std::uint64_t address) {
        return address | (space == Space::shared ? std::uint64_t{1} << 63 : 0);
    }

  private:
    /// A part of what a location publishes.
    struct Contribution {
        Published what;
        std::uint16_t cta = 0;
        Reach reach = Reach::cluster;  ///< of the first operation of the release pattern
    };
    struct Location {
        std::uint16_t cta = 0;
        Reach reach = Reach::cluster;  ///< of the last write
        std::vector<Contribution> sequence;
        struct Release {
            std::uint32_t thread;
            Contribution what;
        };
        std::vector<Release> releases;  ///< the last one of each thread
    };
    struct Pending {
        Published what;
        std::uint64_t location = 0;
        bool is_far = false;  ///< of another CTA
    };
    struct Thread {
        Published near, far,
            only;  ///< at its last fences: of any scope, of one that reaches other CTAs, and fence_only()
        std::vector<Pending> pending;
    };
    using Threads = std::array<Thread, 32>;

    [[nodiscard]] unsigned cta_of(unsigned warp) const { return warp / warps_of_cta_; }
    [[nodiscard]] static std::uint32_t thread_of(unsigned warp, unsigned lane) { return warp * 32 + lane; }
    [[nodiscard]] Thread& thread(unsigned warp, unsigned lane);
    [[nodiscard]] Location* find(std::uint64_t location);
    [[nodiscard]] Location& make(std::uint64_t location);
    [[nodiscard]] bool is_linked(const Location& at, const StrongOperation& operation) const;
    void begin_sequence(Location& at, std::uint32_t thread) const;
    void contribute(Location& at, Contribution what) const;
    void acquire(unsigned warp, unsigned lane, bool is_alone, const Published& what);
    void acquire_pending(const StrongOperation& operation, unsigned lane, std::uint64_t location);
    [[nodiscard]] static bool is_same(const Pending& a, const Pending& b);
    void add_pending(unsigned warp, unsigned lane, const Pending& what);
    [[nodiscard]] bool acquire_together(const StrongOperation& operation);

    static constexpr std::uint64_t everywhere = ~std::uint64_t{0};

    Order* order_;
    unsigned warps_of_cta_;
    bool has_locations_ = false;
    std::unordered_map<std::uint64_t, Location> locations_;
    std::vector<std::unique_ptr<Threads>> threads_;  // by warp; of those that have any state
    std::vector<std::uint32_t> fenced_, pending_;    // lanes, by warp
};

}  // namespace ptxgraft::emulator
