#include "emulator/race_storage.hpp"

namespace ptxgraft::emulator {

std::unique_ptr<RaceStorage> RaceStorages::take() {
    const std::scoped_lock lock(mutex_);
    if (free_.empty()) return std::make_unique<RaceStorage>();
    std::unique_ptr<RaceStorage> storage = std::move(free_.back());
    free_.pop_back();
    storage->patterns.begin();
    return storage;
}

void RaceStorages::give(std::unique_ptr<RaceStorage> storage) {
    const std::scoped_lock lock(mutex_);
    const bool is_large = storage->shared.bytes() + storage->global.bytes() > most_bytes || storage->shapes.is_half_full();
    if (!is_large && free_.size() < most) free_.push_back(std::move(storage));
}

}  // namespace ptxgraft::emulator
