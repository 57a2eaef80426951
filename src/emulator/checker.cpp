#include "emulator/checker.hpp"

#include <algorithm>

namespace ptxgraft::emulator {

void Checker::begin() {
    order.begin();
    shared_races.begin();
    global_races.begin();
    std::fill(shared_written.begin(), shared_written.end(), std::uint8_t{0});
    for (Clock& clock : barriers_) clock.clear();
    objects_.clear();
    bulk_groups_.clear();
    fenced.clear();
}

Clock& Checker::bulk_group(unsigned warp, unsigned lane) {
    return bulk_groups_.try_emplace(warp * lane_count + lane, order.size()).first->second;
}

Clock& Checker::object(Space space, std::uint64_t address) {
    return objects_.try_emplace(key(space, address), order.size()).first->second;
}

}  // namespace ptxgraft::emulator
