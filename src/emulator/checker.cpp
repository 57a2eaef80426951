#include "emulator/checker.hpp"

namespace ptxgraft::emulator {

void Checker::begin() {
    order.begin();
    shared_races.begin();
    global_races.begin();
    arrived.clear();
    complete.clear();
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
