// discard: memory whose bytes have no value from here on.
#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {

// PTX ISA 9.7.9.17 (discard): the bytes have no value from here on. Those that stand there are left, and
// nobody may rely on them.
Flow execute_discard(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Access& access = warp.program().access_of(operation);
    return next_if(each_bit(mask, [&](unsigned lane) {
        if (warp.memory().resolve(access, operation, lane, discarded_bytes, Use::write) == nullptr)
            return false;
        const std::uint64_t address = warp.memory().address(access, operation, lane);
        if (warp.checks().tracks_written()) warp.launch().memory->mark(address, discarded_bytes, false);
        return true;
    }));
}

}  // namespace ptxgraft::emulator
