// Outcomes in memory, the least recently used of which go first.

#include "link/cache/memory.hpp"

#include <utility>

namespace ptxgraft::link {

Memory::Held* Memory::find(const Key& key) {
    const auto found = by_key_.find(key);
    if (found == by_key_.end()) return nullptr;
    held_.splice(held_.begin(), held_, found->second);
    return &held_.front();
}

void Memory::keep(const Key& key, Outcome outcome, std::int64_t now) {
    const std::uint64_t bytes = footprint(outcome);
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
        bytes_ -= found->second->bytes;
        held_.erase(found->second);
        by_key_.erase(found);
    }
    if (bytes > most_bytes_) return;
    held_.push_front({key, std::move(outcome), bytes, now});
    try {
        by_key_.emplace(key, held_.begin());
    } catch (...) {
        held_.pop_front();
        throw;
    }
    bytes_ += bytes;
    while (bytes_ > most_bytes_) {
        bytes_ -= held_.back().bytes;
        by_key_.erase(held_.back().key);
        held_.pop_back();
    }
}

void Memory::clear() {
    by_key_.clear();
    held_.clear();
    bytes_ = 0;
}

}  // namespace ptxgraft::link
