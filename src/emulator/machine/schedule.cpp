// Groups of lanes: parked where a branch diverges, and merged again where they have come to the same place.
#include "emulator/machine/schedule.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "emulator/machine/cta.hpp"
#include "emulator/machine/warp.hpp"

namespace ptxgraft::emulator {

void Schedule::begin(Frame& frame, std::uint32_t pc, std::uint32_t lanes) {
    live_ = lanes;
    group_count_ = 0;
    mask_ = 0;
    in_turn_ = false;
    park({&frame, pc, lanes});
    frame_ = &frame;
    pc_ = pc;
}

// --- the running group

// The deepest frame and there the smallest program counter; or, in turn, the group that has not run for
// longest.
bool Schedule::select() {
    std::uint32_t best = no_pc;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        const Group& group = groups_[i];
        if (group.wait != Wait::none) continue;
        if (best == no_pc) {
            best = i;
            continue;
        }
        const Group& other = groups_[best];
        const bool better = in_turn_ ? group.last_run < other.last_run
                            : group.frame->depth != other.frame->depth
                                ? group.frame->depth > other.frame->depth
                                : group.pc < other.pc;
        if (better) best = i;
    }
    mask_ = 0;
    if (best == no_pc) return false;
    const Group group = take(best);
    in_turn_ = in_turn_ && group_count_ != 0;
    run_at(*group.frame, group.pc, group.mask);
    return true;
}

void Schedule::run_at(Frame& frame, std::uint32_t pc, std::uint32_t mask) {
    frame_ = &frame;
    warp_.enter(frame);
    pc_ = pc;
    mask_ = mask;
    update_next();
    reconverge_if_due();
}

// The running group has come to, or past, the place of another one of its frame.
bool Schedule::reconverge() {
    if (pc_ > next_pc_) {
        park(pc_, mask_);
        return select();
    }
    for (std::uint32_t i = 0; i < group_count_;) {
        if (groups_[i].wait == Wait::none && groups_[i].frame == frame_ && groups_[i].pc == pc_) {
            mask_ |= take(i).mask;
        } else {
            ++i;
        }
    }
    update_next();
    return true;
}

void Schedule::yield() {
    park(pc_, mask_);
    in_turn_ = true;
}

// --- operations that split the running group

Flow Schedule::branch(std::uint32_t target, std::uint32_t mask) {
    const std::uint32_t stay = mask_ & ~mask;
    if (stay != 0) {
        const bool back = target <= pc_;
        park(back ? pc_ + 1 : target, back ? stay : mask);
        mask_ = back ? mask : stay;
        pc_ = back ? target : pc_ + 1;
        update_next();
        return Flow::jump;
    }
    pc_ = target;
    return Flow::jump;
}

Flow Schedule::branch_by_index(const std::vector<std::uint32_t>& targets, Ref index, std::uint32_t mask) {
    const std::uint32_t stay = mask_ & ~mask;
    const bool ok = each_bit(mask, [&](unsigned lane) -> bool {
        const auto at = static_cast<std::uint32_t>(warp_.value(index, lane));
        if (at < targets.size()) {
            park(targets[at], 1u << lane);
            return true;
        }
        return warp_.fail(Errc::branch_index_out_of_range, lane,
                          fmt::format("{}, of {} targets", at, targets.size()));
    });
    if (!ok) return Flow::fail;
    park(pc_ + 1, stay);
    return Flow::select;
}

void Schedule::leave(std::uint32_t mask, std::uint32_t pc) {
    park(pc, mask);
    mask_ &= ~mask;
}

Flow Schedule::move_on() {
    leave(mask_, pc_ + 1);
    return Flow::select;
}

void Schedule::wait(std::uint32_t mask, Wait wait, std::uint32_t what) {
    leave(mask_ & ~mask, pc_ + 1);
    park(pc_, mask, wait, what);
    mask_ = 0;
}

// --- the other groups

void Schedule::park(const Group& group) {
    if (group.mask == 0) return;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& other = groups_[i];
        if (other.frame == group.frame && other.pc == group.pc && other.wait == group.wait &&
            other.what == group.what) {
            other.mask |= group.mask;
            return;
        }
    }
    groups_[group_count_++] = group;
}

void Schedule::park(std::uint32_t pc, std::uint32_t mask, Wait wait, std::uint32_t what) {
    park({frame_, pc, mask, wait, what, warp_.work().issued()});
}

Group Schedule::take(std::size_t index) {
    const Group group = groups_[index];
    groups_[index] = groups_[--group_count_];
    return group;
}

bool Schedule::join(std::size_t index) {
    if (groups_[index].frame != frame_ || groups_[index].pc != pc_) return false;
    mask_ |= take(index).mask;
    return true;
}

void Schedule::update_next() {
    next_pc_ = no_pc;
    if (in_turn_) return;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        if (groups_[i].wait == Wait::none && groups_[i].frame == frame_)
            next_pc_ = std::min(next_pc_, groups_[i].pc);
    }
}

std::uint32_t Schedule::release(std::uint32_t barrier, const Reductions& reductions) {
    std::uint32_t released = 0;
    for (std::uint32_t i = 0; i < group_count_; ++i) {
        Group& group = groups_[i];
        if (group.wait != Wait::barrier || group.what != barrier) continue;
        const Barrier& instruction = warp_.program().barrier_of(warp_.program().code[group.pc]);
        if (instruction.destination != no_ref) {
            const std::uint32_t result = instruction.kind == Barrier::Kind::popc   ? reductions.popc
                                         : instruction.kind == Barrier::Kind::and_ ? reductions.and_
                                                                                   : reductions.or_;
            std::byte* const destination = warp_.column(*group.frame, instruction.destination);
            each_bit(group.mask, [&](unsigned lane) {
                set_lane_value(destination, width(instruction.destination), lane, result);
            });
        }
        warp_.cta().pass_barrier(warp_, barrier, group.mask);
        warp_.observation().note_late(*group.frame, group.pc, group.mask);
        released |= group.mask;
        group.wait = Wait::none;
        ++group.pc;
    }
    return released;
}

const Group* Schedule::waits_elsewhere() const {
    const Group* const end = groups_.data() + group_count_;
    const Group* const found = std::find_if(groups_.data(), end, [this](const Group& group) {
        return group.wait == Wait::barrier && group.what != cluster_barrier && group.pc != pc_;
    });
    return found == end ? nullptr : found;
}

// Those that wait for lanes of their own warp say more than those at a barrier, which wait for everybody.
const Group* Schedule::waiting() const {
    const Group* const end = groups_.data() + group_count_;
    const Group* const found =
        std::find_if(groups_.data(), end, [](const Group& group) { return group.wait == Wait::members; });
    return found != end ? found : group_count_ == 0 ? nullptr : groups_.data();
}

}  // namespace ptxgraft::emulator
