#pragma once
/// @file schedule.hpp
/// Which lanes of a warp run where, when they have diverged.
///
/// Lanes that are at the same place run together as a group. Among the groups that can run, the deepest call
/// goes first, and there the one with the smallest program counter, so that lanes which skipped code or left
/// a loop wait until the others have come to the same place and reconverge with them. A group that waits for
/// what other threads write (a spin lock) yields, and then the group that has not run for longest goes on:
/// every lane makes progress, as on sm_70 and later.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "emulator/machine/frame.hpp"

namespace ptxgraft::emulator {

class Warp;

enum class Wait : std::uint8_t { none, barrier, members, wgmma_fence, wgmma_group };

/// Lanes at one place that are not running now.
struct Group {
    Frame* frame = nullptr;
    std::uint32_t pc = 0;
    std::uint32_t mask = 0;
    Wait wait = Wait::none;
    /// The barrier, the member mask, the wgmma.fence or the wgmma-group, counted from 1.
    std::uint32_t what = 0;
    std::uint64_t last_run = 0;
};

/// The results of a bar.red.
struct Reductions {
    std::uint32_t popc;
    bool and_, or_;
};

class Schedule {
  public:
    explicit Schedule(Warp& warp) : warp_(warp) {}
    /// All lanes that there are threads for are at the begin of a frame.
    void begin(Frame& frame, std::uint32_t pc, std::uint32_t lanes);

    // --- the running group

    [[nodiscard]] Frame& frame() const { return *frame_; }
    [[nodiscard]] std::uint32_t pc() const { return pc_; }
    [[nodiscard]] std::uint32_t running() const { return mask_; }
    /// The lanes that have not exited.
    [[nodiscard]] std::uint32_t live() const { return live_; }
    void advance(std::uint32_t operations = 1) { pc_ += operations; }
    /// After the program counter has changed: joins a group that waits there, or lets one before it go first.
    void reconverge_if_due() {
        if (pc_ >= next_pc_) reconverge();
    }
    /// Chooses the group that runs now; false when none can.
    bool select();
    /// The operation has ended the turn of the group that was chosen because it had not run for long.
    void end_turn() { in_turn_ = false; }
    /// Parks the running group for a while: others go first.
    void yield();
    void run_at(Frame& frame, std::uint32_t pc, std::uint32_t mask);

    // --- for the operations

    Flow branch(std::uint32_t target, std::uint32_t mask);
    Flow branch_by_index(const std::vector<std::uint32_t>& targets, Ref index, std::uint32_t mask);
    /// Lets the lanes of `mask` wait here and the other running lanes go on.
    void wait(std::uint32_t mask, Wait wait, std::uint32_t what);
    /// Parks running lanes at another place, where they can run.
    void leave(std::uint32_t mask, std::uint32_t pc);
    /// Lets running lanes come back to this operation after the others.
    void stay(std::uint32_t mask) { leave(mask, pc_); }
    /// The running lanes have done the operation, and others stay.
    Flow move_on();
    /// The lanes have exited.
    void end(std::uint32_t mask) { live_ &= ~mask; }

    // --- the other groups

    void park(const Group& group);
    /// Parks lanes of the running frame.
    void park(std::uint32_t pc, std::uint32_t mask, Wait wait = Wait::none, std::uint32_t what = 0);
    [[nodiscard]] std::span<Group> groups() { return std::span(groups_).first(group_count_); }
    /// Lets a group go on that stands at the running operation too: it becomes a part of the running group.
    /// False: it stands elsewhere.
    bool join(std::size_t index);
    /// After groups have begun or ceased to wait.
    void update_next();
    /// Lets the groups that wait at a barrier go on; writes the result of a bar.red. Those lanes.
    std::uint32_t release(std::uint32_t barrier, const Reductions& reductions);
    /// Lanes that wait for a barrier of the CTA at another instruction.
    [[nodiscard]] const Group* waits_elsewhere() const;
    /// A group that waits, for the report of a deadlock.
    [[nodiscard]] const Group* waiting() const;

  private:
    bool reconverge();
    Group take(std::size_t index);

    Warp& warp_;
    Frame* frame_ = nullptr;
    std::uint32_t pc_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t next_pc_ = 0;  // where the next parked group of this frame waits
    bool in_turn_ = false;       // chosen because it had not run for long, not by its place
    std::array<Group, lane_count> groups_ = {};
    std::uint32_t group_count_ = 0;
    std::uint32_t live_ = 0;
};

}  // namespace ptxgraft::emulator
