#include "emulator/checker.hpp"

namespace ptxgraft::emulator {

void Checker::begin() {
    order.begin();
    shared_races.begin();
    global_races.begin();
    arrived.clear();
    complete.clear();
    objects_.clear();
}

Clock& Checker::object(Space space, std::uint64_t address) {
    return objects_.try_emplace(key(space, address), order.size()).first->second;
}

}  // namespace ptxgraft::emulator
