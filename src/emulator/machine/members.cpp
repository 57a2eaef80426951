// Collectives of the member lanes of a warp. Members that come to one at different times wait for each other.
#include "emulator/machine/members.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/operations.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::size_t most_operands = 8;

// Only bar.warp.sync orders what the lanes wrote.
RaceChecks::Collects collects(const CollectiveCall& call) {
    return call.function == sync_collective() ? RaceChecks::Collects::memory : RaceChecks::Collects::values;
}

void run(Warp& warp, const Operation& operation, const CollectiveCall& call, std::uint32_t mask) {
    std::array<void*, most_operands> outputs;
    std::array<const void*, most_operands> inputs;
    const Ref* ref = warp.operands(operation);
    for (unsigned i = 0; i < operation.outputs; ++i) outputs[i] = warp.column(*ref++);
    for (unsigned i = 0; i < operation.inputs; ++i) inputs[i] = warp.column(*ref++);
    if (warp.checks().tracks_written() && call.moves)
        warp.checks().definedness().shuffle(operation, call, inputs.data(), mask);
    call.function(outputs.data(), inputs.data(), mask, call.extra);
    warp.checks().races().order_members(collects(call), mask);
}

// Other members may wait at another instruction of the same kind: values are gathered from, and results
// scattered to, the registers that each group's own instruction names.
bool join_members(Warp& warp, const Operation& operation, const CollectiveCall& call, std::uint32_t mask,
                  std::uint32_t members) {
    Schedule& schedule = warp.schedule();
    std::uint32_t together = mask;
    const auto joins = [&](const Group& group) {
        if (group.wait != Wait::members || group.what != members) return false;
        const Operation& other = warp.program().code[group.pc];
        const CollectiveCall& theirs = warp.program().collective_of(other);
        return theirs.function == call.function && theirs.extra == call.extra &&
               other.outputs == operation.outputs;
    };
    for (const Group& group : schedule.groups()) together |= joins(group) ? group.mask : 0;
    if ((members & warp.live() & ~together) != 0) return false;

    struct alignas(64) Column {
        std::byte bytes[std::size_t{lane_count} * 8];
    };
    std::array<Column, most_operands> values = {};
    const LaneFunctions& functions = *warp.launch().lane_functions;
    const auto move = [&](const Operation& o, Frame& frame, std::uint32_t lanes, unsigned first,
                          unsigned last, bool out) {
        for (unsigned i = first; i < last; ++i) {
            const Ref ref = warp.operands(o)[i];
            std::byte* const theirs = warp.column(frame, ref);
            functions.blend[ref & width_mask](out ? theirs : values[i].bytes, out ? values[i].bytes : theirs,
                                              lanes);
            if (out && warp.checks().tracks_written() && is_register(ref))
                frame.states.written[index_of(ref)] |= lanes;
        }
    };
    const unsigned outputs = operation.outputs, all = outputs + operation.inputs;
    const auto everyone = [&](unsigned first, unsigned last, bool out) {
        move(operation, warp.frame(), mask, first, last, out);
        for (const Group& group : schedule.groups())
            if (joins(group)) move(warp.program().code[group.pc], *group.frame, group.mask, first, last, out);
    };
    everyone(outputs, all, false);
    std::array<void*, most_operands> destinations;
    std::array<const void*, most_operands> sources;
    for (unsigned i = 0; i < outputs; ++i) destinations[i] = values[i].bytes;
    for (unsigned i = outputs; i < all; ++i) sources[i - outputs] = values[i].bytes;
    call.function(destinations.data(), sources.data(), together, call.extra);
    warp.checks().races().order_members(collects(call), together);
    everyone(0, outputs, true);
    for (std::size_t i = 0; i < schedule.groups().size();) {
        Group& group = schedule.groups()[i];
        if (!joins(group)) {
            ++i;
            continue;
        }
        warp.observation().note_late(*group.frame, group.pc, group.mask);
        group.wait = Wait::none;
        // also of lanes that run in turn: all go on together
        if (!schedule.join(i)) ++schedule.groups()[i++].pc;
    }
    schedule.update_next();
    return true;
}

}  // namespace

Flow run_collective(Warp& warp, const Operation& operation, const CollectiveCall& call, std::uint32_t mask) {
    Schedule& schedule = warp.schedule();
    std::uint32_t waiting = 0, left = mask;
    while (left != 0) {  // lanes with different member masks are different tiles of a warp
        std::uint32_t tile = left, members = left;
        if (call.member_mask != no_ref) {
            if (!warp.checks().definedness().require(call.member_mask, left)) return Flow::fail;
            members = static_cast<std::uint32_t>(warp.value(call.member_mask, first_lane(left)));
            tile = 0;
            each_bit(left, [&](unsigned lane) {
                if (static_cast<std::uint32_t>(warp.value(call.member_mask, lane)) == members)
                    tile |= 1u << lane;
            });
            if ((tile & ~members) != 0) {
                return warp.fail(Errc::warp_mask_mismatch, first_lane(tile & ~members),
                                 fmt::format("{:#010x} lacks the executing lane", members));
            }
        }
        left &= ~tile;
        if ((members & warp.live() & ~tile) ==
            0) {  // PTX ISA 9.7.9.6 and 9.7.13: nobody waits for those that have exited
            run(warp, operation, call, tile);
        } else if (!join_members(warp, operation, call, tile, members)) {
            schedule.park(schedule.pc(), tile, Wait::members, members);
            waiting |= tile;
        }
    }
    if (waiting == 0) return Flow::next;
    warp.observation().note_late(warp.frame(), warp.pc(), mask & ~waiting);
    schedule.park(schedule.pc() + 1, schedule.running() & ~waiting);
    return Flow::select;
}

}  // namespace ptxgraft::emulator
