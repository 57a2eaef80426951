#pragma once
/// @file checker.hpp
/// What a checked launch keeps of a cluster besides what runs: in which order its threads accessed memory.

#include <cstddef>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "emulator/clock.hpp"
#include "emulator/program.hpp"
#include "emulator/race.hpp"

namespace ptxgraft::emulator {

class Checker {
  public:
    /// Of all warps of the cluster.
    explicit Checker(std::size_t warps)
        : order(warps + 1), fenced(warps + 1), shared_races(order, warps, 6), global_races(order, warps, 8), arrived(warps + 1), complete(warps + 1) {}
    /// `has_async_proxy`: the program copies or multiplies by it.
    void begin(bool has_async_proxy);

    /// The clock of what threads order themselves by at an address: an mbarrier, a flag, a lock. Rarely two addresses
    /// share one.
    [[nodiscard]] Clock& object(Space space, std::uint64_t address);
    /// Whether somebody released something there.
    [[nodiscard]] bool has_object(Space space, std::uint64_t address) const { return objects_.contains(key(space, address)); }

    /// The async proxy, which copies for the threads, is one warp more of the order, with one lane.
    [[nodiscard]] unsigned async_proxy() const { return static_cast<unsigned>(order.size() - 1); }
    /// The clock of a thread's bulk groups.
    [[nodiscard]] Clock& bulk_group(unsigned warp, unsigned lane);

    Order order;
    Clock fenced;  ///< what threads did before a fence.proxy.async
    RaceShadow shared_races, global_races;
    Clock arrived, complete;  ///< of the cluster's barrier: those that wait for others, and those that all have come to

  private:
    // A thousand of each space.
    static std::uint64_t key(Space space, std::uint64_t address) {
        return (address / 4 * 0x9E3779B97F4A7C15u >> 54) * 2 + (space == Space::shared ? 1 : 0);
    }

    std::unordered_map<std::uint64_t, Clock> objects_;
    std::unordered_map<unsigned, Clock> bulk_groups_;  // by thread
};

}  // namespace ptxgraft::emulator
