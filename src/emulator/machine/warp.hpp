#pragma once
/// @file warp.hpp
/// A warp: registers, call frames, and which lanes run where.
///
/// Lanes that are at the same place run together as a group. Among the groups that can run, the deepest call
/// goes first, and there the one with the smallest program counter, so that lanes which skipped code or left
/// a loop wait until the others have come to the same place. A group that waits for what other threads write
/// (a spin lock) yields, and then the group that has not run for longest goes on: every lane makes progress,
/// as on sm_70 and later.

#include <algorithm>
#include <bit>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "emulator/checks/warp_checks.hpp"
#include "emulator/machine/frame.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/memory/host_bytes.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/observe/watch.hpp"

namespace ptxgraft::emulator {

class Cta;
struct Launch;

enum class Wait : std::uint8_t { none, barrier, members, wgmma_fence, wgmma_group };

/// Lanes at one place that are not running now.
struct Group {
    Frame* frame = nullptr;
    std::uint32_t pc = 0;
    std::uint32_t mask = 0;
    Wait wait = Wait::none;
    /// the barrier, the member mask, the wgmma.fence or the wgmma-group, counted from 1
    std::uint32_t what = 0;
    std::uint64_t last_run = 0;
};

/// A contiguous access of an operation that some lane, or the whole warp, does.
struct AccessedPiece {
    Space space = Space::shared;
    std::uint64_t address = 0;
    std::uint32_t bytes = 0;
    AccessKind kind = AccessKind::read;
};

/// Lanes whose results an operation wrote after they had waited.
struct LateResult {
    Frame* frame = nullptr;
    std::uint32_t pc = 0;
    std::uint32_t mask = 0;
};

class Warp {
  public:
    enum class State : std::uint8_t { finished, blocked, yielded, failed };

    Warp(Cta& cta, const Launch& launch, std::uint32_t index);

    /// Puts all threads at the entry's begin. How much work that was.
    [[nodiscard]] std::uint64_t begin();
    /// Runs until all lanes wait or are gone, or about `quantum` instructions were issued, or the launch
    /// ends.
    State run(std::uint64_t quantum, Pace& pace);

    // --- for the operations

    [[nodiscard]] const Ref* operands(const Operation& operation) const { return refs_ + operation.operands; }
    [[nodiscard]] std::byte* column(Ref ref) { return banks_[ref >> bank_shift] + offset(ref); }
    template <class T> [[nodiscard]] T* column_of(Ref ref) { return reinterpret_cast<T*>(column(ref)); }
    /// The value of one lane, extended by zeros; of 16 bytes the lower 8.
    [[nodiscard]] std::uint64_t value(Ref ref, unsigned lane) {
        return lane_value(column(ref), width(ref), lane);
    }
    /// Writes the lanes of `mask` from a column of the register's width.
    void blend(Ref ref, const std::byte* from, std::uint32_t mask);
    void set(Ref ref, unsigned lane, std::uint64_t value) {
        set_lane_value(column(ref), width(ref), lane, value);
    }
    [[nodiscard]] std::uint32_t live() const { return live_; }
    [[nodiscard]] std::uint32_t running() const { return mask_; }
    [[nodiscard]] std::uint32_t index() const { return index_; }
    [[nodiscard]] unsigned number() const;  ///< among the warps of the cluster
    [[nodiscard]] Frame& frame() { return *frame_; }
    [[nodiscard]] std::uint32_t pc() const { return pc_; }
    [[nodiscard]] Cta& cta() const { return *cta_; }
    [[nodiscard]] const Launch& launch() const { return *launch_; }
    [[nodiscard]] const Program& program() const { return *program_; }
    [[nodiscard]] std::uint64_t issued() const { return issued_; }
    /// The running instruction makes the host do as much as so many others: the launch is looked at the
    /// sooner.
    void charge(std::uint64_t units) {
        charged_ += units;
        pause_ = pause_ - std::min(pause_, issued_) > units ? pause_ - units : issued_;
    }
    /// The same, in bytes that are moved or looked at.
    void charge_bytes(std::uint64_t bytes) { charge(bytes / bytes_of_unit); }
    /// For what takes milliseconds, in between: false, after fail(), where the launch has ended.
    [[nodiscard]] bool goes_on() { return pause() || fail_ending() != State::failed; }
    /// Lanes have asked an mbarrier whether a phase is complete. Of a warp that does nothing else for long
    /// only others can help.
    void note_wait(std::uint32_t mask, bool any_complete) {
        // by these lanes or others, at this mbarrier or another
        const bool is_again = issued_ - wait_issued_ <= most_between_waits;
        waits_ = any_complete ? 0 : is_again ? waits_ + 1 : 1;
        wait_pc_ = pc_, wait_mask_ = mask, wait_issued_ = issued_, wait_frame_ = frame_;
    }
    [[nodiscard]] bool only_waits() const { return waits_ >= many_waits; }
    [[nodiscard]] std::uint32_t wait_pc() const { return wait_pc_; }
    [[nodiscard]] std::uint32_t wait_mask() const { return wait_mask_; }
    [[nodiscard]] std::vector<Span> wait_calls() const { return calls(wait_frame_); }

    /// The host bytes of one lane's access, `bytes` a power of two; null after fail().
    [[nodiscard]] std::byte* resolve(const Access& access, const Operation& operation, unsigned lane,
                                     std::uint32_t bytes, Use use);
    [[nodiscard]] std::byte* resolve(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                                     Use use);
    /// As resolve, without alignment and without an error: null when the bytes are not all in one place.
    [[nodiscard]] std::byte* find(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                  Use use);
    [[nodiscard]] std::uint64_t address(const Access& access, const Operation& operation, unsigned lane);
    /// What is to be taken from the address of an access to have the one in its space.
    [[nodiscard]] static std::uint64_t generic_window(const Access& access, std::uint64_t address);
    /// True, after fail(): an address of shared memory in the cluster that belongs to no CTA that still runs.
    bool fail_without_owner(Space space, std::uint64_t address, unsigned lane);
    /// Where the lanes of `mask` access, when all do so in one piece of memory and nothing is wrong with any;
    /// else null, and each is to be resolved.
    [[nodiscard]] std::byte* locate(const Access& access, const Operation& operation, std::uint32_t mask,
                                    Use use, Located& located);
    /// The bytes of the frame's local memory at `offset`.
    [[nodiscard]] std::byte* local(const Frame& frame, unsigned lane, std::uint32_t offset);
    /// Takes `bytes` more of the running frame's local memory; its offset.
    [[nodiscard]] bool extend_local(std::uint32_t bytes, std::uint32_t alignment, std::uint32_t& offset);

    Flow branch(std::uint32_t target, std::uint32_t mask);
    Flow branch_by_index(const std::vector<std::uint32_t>& targets, Ref index, std::uint32_t mask);
    Flow call(const Function& function, const Call& call, std::uint32_t mask);
    Flow return_(std::uint32_t mask);
    Flow exit(std::uint32_t mask);
    /// Lets the lanes of `mask` wait here and the other running lanes go on.
    void wait(std::uint32_t mask, Wait wait, std::uint32_t what);
    /// Parks running lanes at another place, where they can run.
    void leave(std::uint32_t mask, std::uint32_t pc);
    void update_next();
    /// Lanes of the warp that wait for a barrier of the CTA at another instruction.
    [[nodiscard]] const Group* waits_elsewhere() const;
    /// Lets running lanes come back to this operation after the others.
    void stay(std::uint32_t mask) { leave(mask, pc_); }
    /// The running lanes have done the operation, and others stay.
    Flow moved_on();
    Flow collective(const Operation& operation, const CollectiveCall& call, std::uint32_t mask);
    /// Counts an operation that may be part of a loop which waits for other threads.
    Flow strong() { return ++strong_ >= strong_limit_ ? Flow::yield : Flow::next; }
    void refresh_clock();
    /// The current value of a `.local` variable's address.
    [[nodiscard]] std::uint32_t local_address(std::uint32_t offset) const {
        return frame_->local_base + offset;
    }

    // --- wgmma: the products of a warpgroup begin when all of its warps have come to the wgmma.fence before
    // them, and are complete when all have computed theirs

    /// How many fences the warp has come to, or groups it has committed.
    [[nodiscard]] std::uint32_t wgmma_count(Wait what) const {
        return what == Wait::wgmma_fence ? wgmma_fences_ : wgmma_groups_;
    }
    Flow fence_wgmma(std::uint32_t mask);
    void commit_wgmma();
    Flow wait_wgmma(std::uint32_t mask, std::uint32_t pending);
    /// All warps of the warpgroup have got so far: lanes that wait for it go on.
    void release_wgmma(Wait what, std::uint32_t count);

    /// Nothing of it happens in a launch without checks.
    [[nodiscard]] WarpChecks& checks() { return checks_; }
    /// The definedness bits of the frame's local memory at `offset`.
    [[nodiscard]] std::uint8_t* local_written(const Frame& frame, unsigned lane, std::uint32_t offset) {
        return &local_written_[std::size_t{lane} * local_stride_ + frame.local_base + offset];
    }
    /// The definedness bits of an address that is accessible; null where all are set.
    [[nodiscard]] std::uint8_t* written_bytes(Space space, std::uint64_t address, unsigned lane);
    /// The same address for all CTAs of a cluster: shared memory of any of them with its rank, and no generic
    /// one.
    [[nodiscard]] Place common_place(Space space, std::uint64_t address) const;
    /// What the checks look at of one lane's accessible bytes, at offset 0.
    void describe(Space space, std::uint64_t address, unsigned lane, Located& at);
    [[nodiscard]] bool is_observed() const;
    /// A launch that is observed tells of what an operation accesses otherwise than lane by lane.
    void observe(const AccessedPiece& piece) { pieces_.push_back(piece); }

    /// Sets the error, with the span of the running instruction and the thread's place.
    Flow fail(Errc code, unsigned lane, const std::string& detail);
    Flow fail(Error error);
    Flow fail_host_bytes(unsigned lane);
    [[nodiscard]] const Error& error() const { return error_; }

    // --- for the CTA

    /// The calls that led to where the warp or a group of its lanes runs, the innermost first.
    [[nodiscard]] std::vector<Span> calls() const { return calls(frame_); }
    [[nodiscard]] std::vector<Span> calls(const Group& group) const { return calls(group.frame); }

    /// Lets the groups that wait at a barrier go on; writes the result of a bar.red.
    struct Reductions {
        std::uint32_t popc;
        bool and_, or_;
    };
    std::uint32_t release(std::uint32_t barrier, const Reductions& reductions);  ///< those lanes
    /// the lanes that there are threads for
    [[nodiscard]] std::uint32_t started() const { return started_; }
    /// A lane that waits and its operation, for the report of a deadlock.
    [[nodiscard]] const Group* waiting() const;
    [[nodiscard]] std::uint64_t thread_instructions() const { return thread_instructions_; }
    [[nodiscard]] std::string place(unsigned lane) const;
    /// Why the launch has ended before its kernel did, where the warp ran last.
    [[nodiscard]] Error ending() const;

  private:
    bool pause();
    State fail_ending();
    void park(const Group& group);
    void yield();
    bool select();
    bool reconverge();
    void run_at(Frame* frame, std::uint32_t pc, std::uint32_t mask);
    Group take(std::uint32_t at);
    /// A piece of memory; `lane_stride`: bytes between the lanes' own.
    struct Piece {
        std::byte* host = nullptr;
        std::uint64_t begin = 0;
        std::uint64_t bytes = 0;
        std::uint32_t lane_stride = 0;
        std::uint8_t* written = nullptr;
        Space space = Space::global;
        std::uint32_t owner = 0;  ///< of shared memory: the rank of its CTA
    };
    [[nodiscard]] Piece shared_piece(Cta& owner, std::uint64_t begin) const;
    /// `read of 4 bytes of global memory at 0x10`
    [[nodiscard]] std::string describe(Space space, std::uint64_t address, std::uint64_t bytes,
                                       Use use) const;
    [[nodiscard]] std::string surroundings(Space space, std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] Piece piece(const Access& access, const Operation& operation, std::uint32_t mask, Use use);
    [[nodiscard]] Cta* owner_of(std::uint64_t address);
    [[nodiscard]] std::uint64_t special_of_cta(Special special) const;
    void fill_special(const SpecialColumn& special);
    void fill_specials();
    void run_pure(const Operation& operation);
    void run_large(const Operation& operation);
    void run_pure(const Operation& operation, std::uint32_t mask);
    Flow run_many(const Operation& first);
    std::size_t run_row(const Operation& operation);
    [[nodiscard]] std::vector<Span> calls(const Frame* frame) const;
    Flow run_one(const Operation& operation);
    /// As run_one, and tells the launch's observer.
    Flow run_observed(const Operation& operation);
    void tell_late_results();
    void note_late(Frame* frame, std::uint32_t pc, std::uint32_t mask);
    template <bool Observed> State run_selected();
    void run_collective(const Operation& operation, const CollectiveCall& call, std::uint32_t mask);
    bool join_members(const Operation& operation, const CollectiveCall& call, std::uint32_t mask,
                      std::uint32_t members);
    bool reserve_local(std::uint64_t bytes);
    void leave_frames(Frame* frame, std::uint32_t mask);
    Frame* new_frame(const Function& function);
    void free_frame(Frame* frame);
    void pass(const Slot& from, Frame& source, const Slot& to, Frame& target, std::uint32_t mask);
    [[nodiscard]] std::byte* column_in(Frame& frame, Ref ref);

    Cta* cta_;
    const Launch* launch_;
    const Program* program_;
    std::uint32_t index_;
    const Ref* refs_;

    // What runs now.
    std::array<std::byte*, 3> banks_ = {};
    Frame* frame_ = nullptr;
    std::uint32_t pc_ = 0;
    std::uint32_t mask_ = 0;
    std::uint32_t next_pc_ = 0;  // where the next parked group of this frame waits
    bool in_turn_ = false;       // chosen because it had not run for long, not by its place

    std::array<Group, 32> groups_ = {};
    std::uint32_t group_count_ = 0;
    std::uint32_t live_ = 0;
    std::uint32_t started_ = 0;  // the lanes that there are threads for
    std::uint64_t issued_ = 0;
    std::uint64_t thread_instructions_ = 0;
    static constexpr std::uint64_t bytes_of_unit = 64;
    Pace* pace_ = nullptr;
    std::uint64_t pause_ = 0;  // the launch is looked at when so many instructions were issued
    std::uint64_t turn_end_ = 0;
    std::uint64_t paid_ = 0, charged_ = 0;  // of the instructions, those that the pace knows of; what they
                                            // cost beyond their number
    std::uint32_t strong_ = 0;
    std::uint32_t strong_limit_ = 64;
    // instructions; waits in vain
    static constexpr std::uint64_t most_between_waits = 64, many_waits = 20000;
    std::uint64_t waits_ = 0, wait_issued_ = 0;
    std::uint32_t wait_pc_ = 0, wait_mask_ = 0;
    const Frame* wait_frame_ = nullptr;  // may have returned since: only the loop's next one is made of it

    std::vector<ColumnBlock> specials_;
    bool has_specials_ = false;  // those that are the same for every CTA
    std::vector<ColumnBlock> scratch_;
    std::vector<std::unique_ptr<Frame>> frames_;
    std::vector<Frame*> free_frames_;
    std::uint64_t frame_bytes_ = 0;
    HostBytes::Share host_bytes_;
    std::vector<std::byte> local_;
    std::vector<std::uint8_t> local_written_;
    std::uint32_t local_stride_ = 0;  // bytes of each thread
    std::uint32_t wgmma_groups_ = 0, wgmma_fences_ = 0;
    WarpChecks checks_;

    std::vector<AccessedPiece> pieces_;  // of a launch that is observed: those of the running operation
    std::vector<LateResult> late_results_;

    const Region* region_ = nullptr;  // the last one found
    Error error_;
};

}  // namespace ptxgraft::emulator
