// Calls and returns: frames are taken and given back, arguments and results are passed between them.
#include "emulator/machine/call_stack.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {
namespace {

constexpr std::uint32_t frame_alignment = 128;  // of the local memory of a call

}  // namespace

Frame& CallStack::begin(std::uint32_t lanes) {
    free_frames_.clear();
    for (const auto& frame : frames_) free_frames_.push_back(frame.get());
    const Function& entry = *warp_.launch().entry;
    Frame& frame = new_frame(entry);
    frame.lanes = lanes;
    frame.local_top = entry.local_bytes;
    return frame;
}

Frame& CallStack::new_frame(const Function& function) {
    const auto found = std::find_if(free_frames_.begin(), free_frames_.end(),
                                    [&](const Frame* frame) { return frame->function == &function; });
    Frame* frame;
    if (found != free_frames_.end()) {
        frame = *found;
        *found = free_frames_.back();
        free_frames_.pop_back();
        std::fill(frame->registers.begin(), frame->registers.end(), ColumnBlock{});
    } else {
        frame = frames_.emplace_back(std::make_unique_for_overwrite<Frame>()).get();
        frame->function = &function;
        frame->registers.resize((function.register_bytes + sizeof(ColumnBlock) - 1) / sizeof(ColumnBlock));
        frame_bytes_ += function.register_bytes + sizeof(Frame);
        host_bytes_.take(function.register_bytes + sizeof(Frame));
    }
    warp_.checks().begin_frame(*frame);
    frame->parent = nullptr;
    frame->call = nullptr;
    frame->local_base = frame->depth = 0;
    return *frame;
}

Failed CallStack::fail_host_bytes(unsigned lane) {
    return warp_.fail(
        Errc::out_of_device_memory, lane,
        fmt::format("the blocks that run take more than {} bytes of the host", most_host_bytes));
}

void CallStack::free_frame(Frame& frame) {
    warp_.checks().leave(frame);
    free_frames_.push_back(&frame);
}

Flow CallStack::call(const Function& function, const Call& call, std::uint32_t mask) {
    constexpr std::uint32_t deepest = 4096;
    constexpr std::uint64_t most_frame_bytes = std::uint64_t{64} << 20;
    const auto lane = first_lane(mask);
    Frame& caller = warp_.frame();
    const std::uint32_t base = (caller.local_top + frame_alignment - 1) / frame_alignment * frame_alignment;
    const std::uint64_t top = std::uint64_t{base} + function.local_bytes;
    if (warp_.launch().host_bytes->is_spent()) return fail_host_bytes(lane);
    if (caller.depth + 1 >= deepest || frame_bytes_ > most_frame_bytes ||
        !warp_.memory().reserve_local(top)) {
        return warp_.fail(Errc::stack_overflow, lane,
                          fmt::format("call {} of {}", caller.depth + 1, function.name));
    }
    Schedule& schedule = warp_.schedule();
    Frame& frame = new_frame(function);
    frame.parent = &caller;
    frame.call = &call;
    frame.return_pc = schedule.pc() + 1;
    frame.local_base = base;
    frame.local_top = static_cast<std::uint32_t>(top);
    frame.lanes = mask;
    frame.depth = caller.depth + 1;
    if (function.local_bytes != 0) clear_local(frame, mask);
    for (std::size_t i = 0; i < function.parameters.size() && i < call.arguments.size(); ++i)
        pass(call.arguments[i], caller, function.parameters[i], frame, mask);
    schedule.leave(schedule.running() & ~mask, schedule.pc() + 1);
    schedule.run_at(frame, function.begin, mask);
    return Flow::jump;
}

void CallStack::clear_local(const Frame& frame, std::uint32_t mask) {
    const std::uint32_t bytes = frame.function->local_bytes;
    each_bit(mask, [&](unsigned lane) {
        std::fill_n(warp_.memory().local(frame, lane, 0), bytes, std::byte{0});
        if (!warp_.checks().tracks_written()) return;
        std::fill_n(warp_.memory().local_written(frame, lane, 0), bytes, std::uint8_t{0});
        warp_.cta().checker()->stored.remove(Space::local, frame.local_base,
                                             warp_.number() * lane_count + lane, bytes);
    });
}

// Arguments and results are registers or bytes of the frames' local memory, on either side.
void CallStack::pass(const Slot& from, Frame& source, const Slot& to, Frame& target, std::uint32_t mask) {
    const auto place = [&](const Slot& slot, Frame& frame, unsigned lane) {
        if (slot.reg == no_ref) return warp_.memory().local(frame, lane, slot.offset);
        return warp_.column(frame, slot.reg) + std::size_t{lane} * width(slot.reg);
    };
    const auto room = [](const Slot& slot) { return slot.reg == no_ref ? slot.bytes : width(slot.reg); };
    const std::uint32_t bytes = std::min({from.bytes, to.bytes, room(from), room(to)});
    each_bit(mask, [&](unsigned lane) {
        std::byte* const target_bytes = place(to, target, lane);
        if (to.reg != no_ref) std::fill_n(target_bytes, width(to.reg), std::byte{0});
        std::copy_n(place(from, source, lane), bytes, target_bytes);
        if (warp_.checks().tracks_written())
            warp_.checks().definedness().pass(from, source, to, target, lane, bytes);
    });
}

void CallStack::leave_frames(Frame* frame, std::uint32_t mask) {
    while (frame != nullptr) {
        Frame* const parent = frame->parent;
        frame->lanes &= ~mask;
        if (frame->lanes == 0) free_frame(*frame);
        frame = parent;
    }
}

Flow CallStack::return_(std::uint32_t mask) {
    Frame& frame = warp_.frame();
    if (frame.parent == nullptr) return exit(mask);
    const Call& call = *frame.call;
    for (std::size_t i = 0; i < frame.function->returns.size() && i < call.returns.size(); ++i)
        pass(frame.function->returns[i], frame, call.returns[i], *frame.parent, mask);
    Schedule& schedule = warp_.schedule();
    schedule.park({frame.parent, frame.return_pc, mask, Wait::none, 0, warp_.work().issued()});
    schedule.leave(schedule.running() & ~mask, schedule.pc() + 1);
    frame.lanes &= ~mask;
    if (frame.lanes == 0) free_frame(frame);
    return Flow::select;
}

Flow CallStack::exit(std::uint32_t mask) {
    Schedule& schedule = warp_.schedule();
    schedule.leave(schedule.running() & ~mask, schedule.pc() + 1);
    leave_frames(&schedule.frame(), mask);
    schedule.end(mask);
    if (schedule.live() == 0) warp_.checks().races().end();
    warp_.cta().left(warp_);
    // member masks may be complete now: let them look again
    for (Group& group : schedule.groups())
        if (group.wait == Wait::members) group.wait = Wait::none;
    WarpChecks& checks = warp_.checks();
    const bool is_right = (schedule.live() != 0 || checks.warpgroup().check_end()) &&
                          checks.async().check_bulk_stores() && checks.races().check_end_of_cta();
    return is_right ? Flow::select : Flow::fail;
}

std::vector<Span> CallStack::calls(const Frame* frame) const {
    std::vector<Span> spans;
    for (; frame != nullptr && frame->parent != nullptr; frame = frame->parent)
        spans.push_back(warp_.program().spans[frame->return_pc - 1]);
    return spans;
}

}  // namespace ptxgraft::emulator
