#pragma once
/// @file key_set.hpp
/// Keys that were seen: numbers that are hashes already, in one piece of memory.

#include <cstdint>
#include <utility>
#include <vector>

namespace ptxgraft::search {

class KeySet {
  public:
    /// Whether it is new.
    bool insert(std::uint64_t key) {
        if (key == 0) return !std::exchange(has_zero_, true);
        if (2 * (count_ + 1) > places_.size()) grow();
        std::uint64_t& place = find(key);
        if (place == key) return false;
        place = key;
        ++count_;
        return true;
    }

    /// Soon it will be inserted: the place where it belongs is brought nearer.
    void expect(std::uint64_t key) const {
        if (!places_.empty()) __builtin_prefetch(&places_[key & (places_.size() - 1)], 1);
    }

  private:
    // Its place, or the free one where it belongs.
    std::uint64_t& find(std::uint64_t key) {
        const std::size_t mask = places_.size() - 1;
        std::size_t at = key & mask;
        while (places_[at] != 0 && places_[at] != key) at = (at + 1) & mask;
        return places_[at];
    }
    void grow() {
        const std::vector<std::uint64_t> old =
            std::exchange(places_, std::vector<std::uint64_t>(places_.empty() ? 1024 : 2 * places_.size()));
        for (const std::uint64_t key : old)
            if (key != 0) find(key) = key;
    }

    std::vector<std::uint64_t> places_;  ///< a power of two of them, 0 where it is free
    std::size_t count_ = 0;
    bool has_zero_ = false;
};

}  // namespace ptxgraft::search
