// Operations on what a warp knows of itself, and on the parts of registers.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

#include <fmt/format.h>

#include "emulator/cta.hpp"
#include "emulator/operations.hpp"

namespace ptxgraft::emulator {
namespace {

void spread(Warp& warp, Ref output, std::uint64_t value, std::uint32_t mask) {
    std::byte* const column = warp.column(output);
    each_lane(mask, [&](unsigned lane) {
        set_lane_value(column, width(output), lane, value);
        return true;
    });
}

}  // namespace

Flow execute_local_address(Warp& warp, const Operation& operation, std::uint32_t mask) {
    spread(warp, warp.operands(operation)[0], warp.local_address(operation.extra), mask);
    return Flow::next;
}

// PTX ISA 9.7.9.18; what is in no window is global, except that constant memory is apart.
Flow execute_isspacep(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const auto wanted = static_cast<Space>(operation.extra);
    const Ref output = warp.operands(operation)[0], addresses = warp.operands(operation)[1];
    each_lane(mask, [&](unsigned lane) {
        const std::uint64_t address = warp.value(addresses, lane);
        const Place in = place(address);
        Space space = in.space;
        if (space == Space::shared && wanted == Space::shared_cluster) space = Space::shared_cluster;
        if (space == Space::shared_cluster && wanted == Space::shared && in.address >> cluster_rank_shift == warp.cta().rank() + 1) space = Space::shared;
        if (space == Space::global) {
            const Region* region = warp.launch().memory->find(address);
            if (region != nullptr && region->read_only) space = Space::constant;
        }
        warp.set(output, lane, space == wanted ? 1 : 0);
        return true;
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
    each_lane(mask, [&](unsigned lane) {
        bytes = std::max(bytes, warp.value(sizes, lane));
        return true;
    });
    std::uint32_t offset = 0;
    if (bytes > UINT32_MAX ||
        !warp.extend_local(static_cast<std::uint32_t>(bytes), operation.extra, offset)) {
        return warp.fail(Errc::stack_overflow, static_cast<unsigned>(std::countr_zero(mask)),
                         fmt::format("alloca of {} bytes", bytes));
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
    const std::uint64_t top =
        warp.value(warp.operands(operation)[0], static_cast<unsigned>(std::countr_zero(mask)));
    const std::uint32_t least = frame.local_base + frame.function->local_bytes;
    if (mask == frame.lanes && top >= least && top <= frame.local_top)
        frame.local_top = static_cast<std::uint32_t>(top);
    return Flow::next;
}

namespace {

// Elements of 1 to 8 bytes to and from registers of 2 to 16; the sources may be among the destinations.
struct alignas(64) Buffer {
    std::array<std::byte, std::size_t{lane_count} * 16> bytes;
};

}  // namespace

Flow execute_pack(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    const std::size_t whole = width(refs[0]), part = whole / operation.inputs;
    Buffer packed;
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const std::byte* const element = warp.column(refs[i + 1]);
        for (std::size_t lane = 0; lane < lane_count; ++lane)
            std::memcpy(&packed.bytes[lane * whole + i * part], element + lane * part, part);
    }
    warp.blend(refs[0], packed.bytes.data(), mask);
    return Flow::next;
}

Flow execute_unpack(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    const Ref source = refs[operation.outputs];
    const std::size_t whole = width(source), part = whole / operation.outputs;
    Buffer packed, element;
    std::memcpy(packed.bytes.data(), warp.column(source), whole * lane_count);
    for (unsigned i = 0; i < operation.outputs; ++i) {
        for (std::size_t lane = 0; lane < lane_count; ++lane)
            std::memcpy(&element.bytes[lane * part], &packed.bytes[lane * whole + i * part], part);
        warp.blend(refs[i], element.bytes.data(), mask);
    }
    return Flow::next;
}

Flow execute_copy_elements(Warp& warp, const Operation& operation, std::uint32_t mask) {
    const Ref* const refs = warp.operands(operation);
    std::array<Buffer, 4> values;
    for (unsigned i = 0; i < operation.inputs; ++i) {
        const Ref source = refs[operation.outputs + i];
        std::memcpy(values[i].bytes.data(), warp.column(source), std::size_t{width(source)} * lane_count);
    }
    for (unsigned i = 0; i < operation.outputs; ++i) warp.blend(refs[i], values[i].bytes.data(), mask);
    return Flow::next;
}

}  // namespace ptxgraft::emulator
