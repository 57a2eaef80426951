#pragma once
/// @file memory.hpp
/// The level of a cache in memory: the most recently used outcomes, up to a number of bytes. Its owner locks
/// it.

#include <cstdint>
#include <list>
#include <unordered_map>

#include "link/cache/entry.hpp"

namespace ptxgraft::link {

struct KeyHash {
    std::size_t operator()(const Key& key) const { return static_cast<std::size_t>(key.low); }
};

class Memory {
  public:
    struct Held {
        Key key;
        Outcome outcome;
        std::uint64_t bytes;
        std::int64_t refreshed;  ///< when the folder last heard of its use: seconds of the system's clock
    };

    explicit Memory(std::uint64_t most_bytes) : most_bytes_(most_bytes) {}

    /// What is held under a key, which is the most recently used then; null when there is none. It stays
    /// until the next call.
    [[nodiscard]] Held* find(const Key& key);
    /// Holds an outcome, instead of what it held under the key, and forgets the least recently used ones that
    /// there is no room for beside it.
    void keep(const Key& key, Outcome outcome, std::int64_t now);
    void clear();
    [[nodiscard]] CacheSize size() const { return {by_key_.size(), bytes_}; }

  private:
    std::uint64_t most_bytes_, bytes_ = 0;
    std::list<Held> held_;  // the most recently used first
    std::unordered_map<Key, std::list<Held>::iterator, KeyHash> by_key_;
};

}  // namespace ptxgraft::link
