#pragma once
/// @file counters.hpp
/// Counters of a cache, which any thread adds to.

#include <atomic>
#include <cstdint>
#include <iterator>

#include "ptxgraft/cache.hpp"

namespace ptxgraft::link {

using Counter = std::uint64_t CacheCounters::*;
constexpr Counter all_counters[] = {&CacheCounters::memory_hits, &CacheCounters::disk_hits,
                                    &CacheCounters::joined,      &CacheCounters::misses,
                                    &CacheCounters::stored,      &CacheCounters::not_stored,
                                    &CacheCounters::evicted,     &CacheCounters::dropped,
                                    &CacheCounters::bytes_read,  &CacheCounters::bytes_written};
static_assert(sizeof(CacheCounters) == sizeof(std::uint64_t) * std::size(all_counters));

/// What a process counts, and which part of it the folder's ledger does not have yet.
class Counters {
  public:
    void add(Counter counter, std::uint64_t by = 1) {
        std::atomic_ref(total_.*counter).fetch_add(by, std::memory_order_relaxed);
    }
    [[nodiscard]] CacheCounters total() const {
        CacheCounters now;
        for (const Counter c : all_counters)
            now.*c = std::atomic_ref(const_cast<std::uint64_t&>(total_.*c)).load(std::memory_order_relaxed);
        return now;
    }
    // One thread at a time:

    /// Adds to a ledger's counters what it does not have yet.
    void add_rest(CacheCounters& to) const { add_rest(to, total()); }
    /// The same, and the ledger has it then.
    void hand_over(CacheCounters& to) {
        const CacheCounters now = total();
        add_rest(to, now);
        handed_over_ = now;
    }
    [[nodiscard]] bool has_rest() const { return !(total() == handed_over_); }

  private:
    void add_rest(CacheCounters& to, const CacheCounters& now) const {
        for (const Counter c : all_counters) to.*c += now.*c - handed_over_.*c;
    }

    CacheCounters total_, handed_over_;
};

}  // namespace ptxgraft::link
