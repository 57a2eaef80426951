#include "emulator/checker.hpp"

namespace ptxgraft::emulator {

void Checker::begin(bool has_async_proxy) {
    order.begin();
    shared_races.begin(has_async_proxy);
    global_races.begin(has_async_proxy);
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
