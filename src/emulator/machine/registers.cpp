// Operations on what a warp knows of itself, and on the parts of registers.
#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"

namespace ptxgraft::emulator {
namespace {

void spread(Warp& warp, Ref output, std::uint64_t value, std::uint32_t mask) {
    std::byte* const column = warp.column(output);
    each_bit(mask, [&](unsigned lane) { set_lane_value(column, width(output), lane, value); });
}

}  // namespace

Flow execute_local_address(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp, warp.operands(operation)[0], warp.frame().local_base + operation.frame_offset(), mask);
    return Flow::next;
}

// PTX ISA 9.7.9.18; what is in no window is global, except that constant memory is apart.
Flow execute_isspacep(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const auto wanted = operation.asked_space();
    const Ref output = warp.operands(operation)[0], addresses = warp.operands(operation)[1];
    each_bit(mask, [&](unsigned lane) {
        const std::uint64_t address = warp.value(addresses, lane);
        const Place in = place(address);
        Space space = in.space;
        if (space == Space::shared && wanted == Space::shared_cluster) space = Space::shared_cluster;
        if (space == Space::shared_cluster && wanted == Space::shared &&
            in.address >> cluster_rank_shift == warp.cta().rank() + 1)
            space = Space::shared;
        if (space == Space::global) {
            const Region* region = warp.launch().memory->find(address);
            if (region != nullptr && region->is_const) space = Space::const_;
        }
        warp.set(output, lane, space == wanted ? 1 : 0);
    });
    return Flow::next;
}

Flow execute_activemask(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp, warp.operands(operation)[0], mask, mask);
    return Flow::next;
}

Flow execute_refresh_clock(Warp& warp, const Operation&, std::uint32_t) {
    warp.refresh_clock();
    return Flow::next;
}

Flow execute_alloca(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref sizes = warp.operands(operation)[1];
    std::uint64_t bytes = 0;
    each_bit(mask, [&](unsigned lane) { bytes = std::max(bytes, warp.value(sizes, lane)); });
    std::uint32_t offset = 0;
    if (warp.launch().host_bytes->is_spent()) return warp.call_stack().fail_host_bytes(first_lane(mask));
    if (bytes > UINT32_MAX ||
        !warp.memory().extend_local(static_cast<std::uint32_t>(bytes), operation.alignment(), offset)) {
        return warp.fail(Errc::stack_overflow, first_lane(mask), fmt::format("alloca of {} bytes", bytes));
    }
    spread(warp, warp.operands(operation)[0], offset, mask);
    return Flow::next;
}

Flow execute_stacksave(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp, warp.operands(operation)[0], warp.frame().local_top, mask);
    return Flow::next;
}

// The lanes of a frame share its top: lanes apart from the others leave it where it is.
Flow execute_stackrestore(Warp& warp, const Operation& operation, std::uint32_t mask) {
    Frame& frame = warp.frame();
    const std::uint64_t top = warp.value(warp.operands(operation)[0], first_lane(mask));
    const std::uint32_t least = frame.local_base + frame.function->local_bytes;
    if (mask == frame.lanes && top >= least && top <= frame.local_top)
        frame.local_top = static_cast<std::uint32_t>(top);
    return Flow::next;
}

}  // namespace ptxgraft::emulator
