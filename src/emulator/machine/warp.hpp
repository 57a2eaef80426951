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
#include <unordered_map>
#include <vector>

#include "emulator/checks/checker.hpp"
#include "emulator/checks/findings.hpp"
#include "emulator/checks/hammock.hpp"
#include "emulator/machine/program.hpp"
#include "emulator/memory/host_bytes.hpp"
#include "emulator/memory/lanes.hpp"
#include "emulator/observe/watch.hpp"
#include "emulator/races/race.hpp"

namespace ptxgraft::emulator {

class Cta;
struct Frame;
struct Launch;

/// Where a value comes from that nothing wrote.
struct Origin {
    std::uint32_t pc = 0;  ///< of the instruction that read it
    bool is_of_memory = false;
    Space space = Space::global;
    bool is_of_absent_lane = false;  ///< the register of a lane that takes no part in a shuffle
    /// computed, or widened, and no copy of a structure with gaps, which nobody does with those
    bool is_value = false;
    std::uint64_t address = 0;
    StoredOrigin stored = {};  ///< of memory: when it was stored there undefined
};

/// Which bytes of a register something wrote, where that is not all of them; and where the others come from.
struct Taint {
    Origin origin;
    std::array<std::uint8_t, std::size_t{lane_count}* 16> bytes =
        {};  ///< the bits that were written, lane by lane at the register's width
};

/// For each byte of a register's lanes, the bits that something wrote.
using States = std::array<std::uint8_t, std::size_t{lane_count} * 16>;

/// What is kept of a register that a wgmma names: of its accumulator or its fragment of A.
struct Fragment {
    bool is_fragment = false, is_accumulator = false;  ///< of some wgmma of the function
    bool accumulates = false, is_read = false;         ///< by a wgmma that is not known to be complete
    bool is_copy = false;      ///< of an accumulator in flight: among the warp's pending copies
    bool is_written = false;   ///< what touched it last: a write, or a read
    std::uint32_t fences = 0;  ///< that the warp had passed then, and one more; 0: nothing touched it
    std::uint32_t pc = 0;
};

/// A wgmma.mma_async that is not known to be complete.
struct PendingWgmma {
    std::uint32_t pc = 0;
    Frame* frame = nullptr;
    std::uint32_t group = 0;  ///< that it is in, or will be; from 1
};

/// What a mov made of an accumulator before a wait for its wgmma. Compilers copy so, and assemblers take the
/// copy for the accumulator itself: it has its value once the wait has come, but the value of another wgmma
/// that has gone on with the accumulator by then.
struct PendingCopy {
    Frame* frame = nullptr;
    std::uint32_t column = 0, source = 0;  ///< of the copy, of the accumulator: offset / 32
    std::uint32_t lanes = 0;
    std::uint32_t pc = 0;  ///< of the mov
    PendingWgmma of = {};
    std::uint32_t spoiled_pc = no_pc;  ///< the wgmma that has gone on
};

/// One call of a function by some lanes.
struct Frame {
    const Function* function = nullptr;
    Frame* parent = nullptr;
    const Call* call = nullptr;
    std::uint32_t return_pc = 0;
    std::uint32_t local_base = 0;  ///< of its variables, in each thread's local memory
    std::uint32_t local_top = 0;
    std::uint32_t lanes = 0;  ///< that have not returned
    std::uint32_t depth = 0;
    std::vector<ColumnBlock> registers;
    // Of a checked launch, by offset / 32: the lanes of a register of which every byte was written, and what
    // is known of the others.
    std::vector<std::uint32_t> written;
    std::unordered_map<std::uint32_t, Taint> taints;
    std::vector<Fragment> fragments;  // of those that a wgmma names; empty where there is none
    /// A row of pure operations whose sources were found to be written by lanes, when `undefined` had a
    /// value.
    struct Found {
        std::uint32_t pc = 0, lanes = 0, undefined = 0;
    };
    std::uint32_t undefined = 0;   ///< how often an operation had or made something undefined
    std::array<Found, 128> found;  ///< by the number of the run

    [[nodiscard]] Found& found_of(const Operation& first) { return found[first.run_number % found.size()]; }
    [[nodiscard]] std::byte* columns() { return registers.empty() ? nullptr : registers[0].bytes.data(); }
};

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

/// Where a product read what nothing had written, of A and of B.
struct UndefinedOperands {
    std::optional<Origin> a, b;
};

enum class Use : std::uint8_t { read, write };

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

/// Calls `f(lane)` for every lane of a mask, in order, until it returns false. True when it never did.
template <class F> bool each_lane(std::uint32_t mask, F&& f) {
    for (; mask != 0; mask &= mask - 1) {
        if (!f(static_cast<unsigned>(std::countr_zero(mask)))) return false;
    }
    return true;
}

/// What the lanes of an instruction are about to store.
class StoredValues {
  public:
    virtual ~StoredValues() = default;
    /// The bytes of a lane, in a row, for as long as no other lane is asked for.
    [[nodiscard]] virtual const std::byte* of(unsigned lane) const = 0;
};

/// Rows of 16 bytes of shared memory, eight for each 8x8 matrix: row i is lane i's.
struct MatrixRows {
    unsigned count = 0;
    std::array<std::byte*, 32> bytes;
    // Of a checked launch.
    std::array<std::uint8_t*, 32> written;
    std::array<std::uint64_t, 32> places;  ///< in the cluster's shared memory
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
    [[nodiscard]] bool check_warpgroup(std::uint32_t groups);
    /// All lanes are at one instruction of the tensor cores, which is none before all have come.
    void meet();
    Flow wait_wgmma(std::uint32_t mask, std::uint32_t pending);
    /// All warps of the warpgroup have got so far: lanes that wait for it go on.
    void release_wgmma(Wait what, std::uint32_t count);

    // --- what a checked launch keeps track of; nothing of it happens in others

    [[nodiscard]] bool checks(EmulatorCheck check) const;
    /// It is kept which bits of registers and memory something wrote.
    [[nodiscard]] bool tracks_written() const { return tracks_written_; }
    /// It is kept which accesses are ordered.
    [[nodiscard]] bool is_ordered() const { return is_ordered_; }
    /// Of a mistake that a check found in lanes, whose first one `detail()` describes. True: the launch goes
    /// on, as if it were none. False, after fail(): it ends here.
    template <class Detail>
    [[nodiscard]] bool report(const Mistake& mistake, std::uint32_t lanes, Detail&& detail) {
        return is_noted(mistake, lanes) ||
               report_new(
                   mistake, lanes,
                   std::string(detail()) + ", " + place(static_cast<unsigned>(std::countr_zero(lanes))));
    }
    [[nodiscard]] bool is_observed() const;
    /// A launch that is observed tells of what an operation accesses otherwise than lane by lane.
    void observe(const AccessedPiece& piece) { pieces_.push_back(piece); }
    /// The line of an operation in the module's text, from 1.
    [[nodiscard]] std::size_t line_of(std::uint32_t pc) const;
    /// Reports lanes of the guard that nothing wrote, unless it decides no more than what is computed in
    /// registers: of lanes of which nobody knows it does not hold then, and those that a branch may have sent
    /// elsewhere have left.
    [[nodiscard]] bool check_guard(const Operation& operation, std::uint32_t& holds);
    /// Reports what lanes of a register nothing wrote; when the launch goes on, something did.
    [[nodiscard]] bool require(Ref ref, std::uint32_t mask);
    [[nodiscard]] bool require_all(std::span<const Ref> refs);  ///< by all lanes
    /// A register's lanes are written by an operation that does not name it among its outputs.
    void mark_written(Ref ref, std::uint32_t mask);
    void mark_slot(const Slot& slot, std::uint32_t mask);
    /// Races and what is known at flags, before a load; and before a store, which writes the bytes.
    [[nodiscard]] bool check_load(const Access& access, std::uint32_t mask, const Located& at);
    [[nodiscard]] bool check_store(const Access& access, const Ref* refs, std::uint32_t mask,
                                   const Located& at);
    /// One lane's copy from global memory to shared memory.
    struct CopiedPiece {
        std::uint64_t from = 0, to = 0;
        std::uint32_t wanted = 0;          ///< bytes that are read; zeros follow
        const std::byte* host = nullptr;   ///< what is there
        const std::byte* bytes = nullptr;  ///< and what will be
    };
    [[nodiscard]] bool note_copy(const Access& access, const CopiedPiece& piece, unsigned lane);
    /// What is kept of one lane's accessible bytes, at offset 0.
    void describe(Space space, std::uint64_t address, unsigned lane, Located& at);
    /// What was loaded may have been written by nobody.
    void note_loaded(const Operation& operation, std::uint32_t mask, const Located& at);
    /// What is stored is written now; fails when nothing wrote what goes to global memory. `refs`: the
    /// elements.
    [[nodiscard]] bool note_stored(const Access& access, const Ref* refs, std::uint32_t mask,
                                   const Located& at);
    /// Notes accesses of `bytes` bytes for each lane; false for a race.
    struct AccessNote {
        AccessKind kind = AccessKind::read;
        Reach reach = Reach::cluster;
        const StoredValues* values = nullptr;  ///< what is written, where equal stores are no race
    };
    [[nodiscard]] bool note_accesses(std::uint32_t mask, const Located& at, std::uint32_t bytes,
                                     const AccessNote& note);
    /// What the other access of a race stored, if it is a store. `mask`: the lanes that store `values` by
    /// this instruction, which are not in memory yet.
    [[nodiscard]] const std::byte* stored_by_other(const Race& race, const Located& at, std::uint32_t bytes,
                                                   const StoredValues* values, std::uint32_t mask) const;
    /// Of an mbarrier object: its initialisation, or what is done with it.
    [[nodiscard]] bool note_mbarrier(Space space, std::uint64_t address, unsigned lane, AccessKind kind);
    [[nodiscard]] bool note_mbarrier_init(Space space, std::uint64_t address, unsigned lane);
    // Of matrices (matrix_checks.cpp): what is undefined goes the way of the values.
    /// As note_access, but for what is known of the bytes.
    [[nodiscard]] bool note_order(Space space, std::uint64_t address, unsigned lane, std::uint32_t bytes,
                                  const AccessNote& note);
    [[nodiscard]] bool track_mma(const Operation& operation, const Mma& mma);
    void track_movmatrix(const Operation& operation);
    /// What ldmatrix loaded into registers, what stmatrix stored from them.
    void note_rows_loaded(const Ref* refs, Transposition transposition, const MatrixRows& rows);
    void note_rows_stored(const Ref* refs, Transposition transposition, const MatrixRows& rows);
    /// wmma.load, wmma.store: `addresses` of all accesses, lane by lane.
    void note_wmma_loaded(const Operation& operation, const MatrixInstruction& instruction,
                          const std::uint64_t* addresses);
    [[nodiscard]] bool note_wmma_stored(const Ref* refs, const MatrixInstruction& instruction,
                                        const std::uint64_t* addresses);
    // Of the async proxy, which copies for a lane (async_checks.cpp).
    struct AsyncParty {
        bool is_store = false;       ///< bulk groups say when it is done; else an mbarrier does:
        std::uint64_t mbarrier = 0;  ///< its address
    };
    /// It gets to know what the lane knows and did.
    void begin_async(unsigned lane, const AsyncParty& party);
    /// As note_range, of the proxy.
    [[nodiscard]] bool note_async(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                  AccessKind kind);
    /// Bytes from global memory, of which nothing wrote some, are in shared memory now.
    void note_undefined_copy(std::uint64_t shared, std::uint64_t global, unsigned lane, std::uint64_t bytes);
    /// But for what is known of the bytes.
    [[nodiscard]] bool note_async_order(Space space, std::uint64_t address, unsigned lane,
                                        std::uint64_t bytes, AccessKind kind);
    // Of an mbarrier: who waits for a phase knows what those did that arrived in it.
    void arrive_at(Space space, std::uint64_t address, unsigned lane, const Access& access);
    void wait_at(Space space, std::uint64_t address, unsigned lane, const Access& access);
    /// The object's words before and after an arrival, or what else may complete a phase.
    void finish_phase_at(Space space, std::uint64_t address, std::uint64_t before, std::uint64_t after);
    /// What the proxy did is known to who waits for an mbarrier.
    void finish_async_at(Space space, std::uint64_t address);
    /// Bulk groups of each lane: the last `pending` ones are not waited for, nor, with `reads_only`, what the
    /// others write.
    struct BulkWait {
        std::uint32_t pending = 0;
        bool reads_only = false;
    };
    void commit_async_groups(std::uint32_t mask);
    void wait_async_groups(std::uint32_t mask, const BulkWait& wait);
    /// Where the CTA has ended: its threads have waited for their bulk stores.
    [[nodiscard]] bool check_bulk_stores();
    /// fence.proxy.async: it may see what the lanes know and did.
    void fence_async(std::uint32_t mask);
    // Of cp.async.
    void commit_copies(std::uint32_t mask);
    void wait_copies(std::uint32_t mask, std::uint32_t pending);
    /// cp.async.mbarrier.arrive: what the lane has copied so far is known to who waits for the mbarrier.
    void finish_copies_at(Space space, std::uint64_t address, unsigned lane);
    // Of wgmma (warpgroup_checks.cpp).
    /// What a product reads of shared memory, by the async proxy; and what of its results is undefined.
    [[nodiscard]] bool note_wgmma(const Operation& operation, const WgmmaOperands& operands);
    /// An argument or a result of a call.
    [[nodiscard]] bool check_fragment(Ref ref, Use use, std::uint32_t mask);
    /// As note_access, of many bytes, which lie in one piece of memory.
    [[nodiscard]] bool note_range(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                                  Use use);
    /// Of one lane: fails where a byte was not written.
    [[nodiscard]] bool require_written(Space space, std::uint64_t address, unsigned lane,
                                       std::uint32_t bytes);
    /// Atomic accesses: the bytes must have been written.
    [[nodiscard]] bool check_atomic(const Access& access, std::uint32_t mask, const Located& at);
    /// What strong accesses, and fences, order.
    void synchronise_reads(const Access& access, std::uint32_t mask, const Located& at);
    enum class Updates : std::uint8_t { no, yes };
    void synchronise_writes(const Access& access, std::uint32_t mask, const Located& at, Updates updates);
    void fence(const Fence& fence, std::uint32_t mask);
    /// A read-modify-write of a lane on a lock that only the emulator sees.
    void hold(std::uint64_t lock, unsigned lane, Semantics semantics);
    /// The bytes that say what was written, of an address that is accessible; null where all is.
    [[nodiscard]] std::uint8_t* written_bytes(Space space, std::uint64_t address, unsigned lane);

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
    /// Nobody needs its text: it is known, or excused, or an earlier block has described it.
    [[nodiscard]] bool is_noted(const Mistake& mistake, std::uint32_t lanes);
    [[nodiscard]] bool report_new(const Mistake& mistake, std::uint32_t lanes, std::string detail);
    bool pause();
    State fail_ending();
    void park(const Group& group);
    void yield();
    bool select();
    bool reconverge();
    void run_at(Frame* frame, std::uint32_t pc, std::uint32_t mask);
    void update_next();
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
    /// The same for all CTAs of a cluster: shared memory of any of them with its rank, what is not generic.
    [[nodiscard]] Place common_place(Space space, std::uint64_t address) const;

    /// `read of 4 bytes of global memory at 0x10`
    [[nodiscard]] std::string describe(Space space, std::uint64_t address, std::uint64_t bytes,
                                       Use use) const;
    [[nodiscard]] std::string surroundings(Space space, std::uint64_t address, std::uint64_t bytes) const;
    [[nodiscard]] Piece piece(const Access& access, const Operation& operation, std::uint32_t mask, Use use);
    [[nodiscard]] Cta* owner_of(std::uint64_t address);
    void fill_special(const SpecialColumn& column);
    void fill_specials();
    void run_pure(const Operation& operation);
    void run_large(const Operation& operation);
    void run_pure(const Operation& operation, std::uint32_t mask);
    Flow run_many(const Operation& first);
    std::size_t run_row(const Operation& operation);
    bool track(const Operation& operation, std::uint32_t mask);
    [[nodiscard]] bool is_found(const Operation& first) const;
    [[nodiscard]] std::vector<Span> calls(const Frame* frame) const;
    void try_bits(const Operation& operation, std::uint8_t* states);
    void carry_states(const Operation& operation, std::uint8_t* states);
    void spread_states(const Operation& operation, Ref result, std::uint8_t* states);
    void read_data(Ref ref, std::uint8_t* data);
    [[nodiscard]] bool is_filled(const Operation& operation, unsigned lane);
    bool track_undefined(const Operation& operation, std::uint32_t mask);
    void taint(Ref ref, std::uint32_t mask, const Origin& origin, const std::uint8_t* states);
    void read_states(Ref ref, std::uint8_t* states);
    [[nodiscard]] Origin origin_of(Ref ref) const;
    [[nodiscard]] bool is_written(Ref ref) const;
    [[nodiscard]] const Hammock& hammock_of(std::uint32_t branch);
    [[nodiscard]] Origin origin_at(Space space, std::uint64_t address, unsigned lane) const;
    [[nodiscard]] Origin origin_of_row(const MatrixRows& rows, unsigned row);
    void begin_taint(Ref ref);
    void remember(Space space, std::uint64_t address, unsigned lane, std::uint64_t bytes,
                  const Origin& origin);
    [[nodiscard]] bool require_bytes(std::uint8_t* written, std::uint64_t address, unsigned lane,
                                     std::uint32_t bytes);
    [[nodiscard]] bool note_written(const Located& at, std::uint64_t address, unsigned lane,
                                    std::uint64_t bytes, Use use);
    [[nodiscard]] StrongOperation strong_operation(const Access& access, std::uint32_t mask,
                                                   bool is_update) const;
    /// Of one access, by lanes. `mask`: lanes that store `values` by this instruction. False: the launch
    /// ends. `lane`: who accesses, where it is not the lane of the race.
    [[nodiscard]] bool report_races(EmulatorCheck of, std::span<const Race> races,
                                    std::optional<unsigned> lane, const Located& at, std::uint32_t bytes,
                                    AccessKind kind, const StoredValues* values = nullptr,
                                    std::uint32_t mask = 0);
    [[nodiscard]] bool is_guess(const Race& race, AccessKind kind) const;
    [[nodiscard]] std::string describe_race(const Race& race, unsigned lane, const Located& at,
                                            std::uint32_t bytes, AccessKind kind, const StoredValues* values,
                                            std::uint32_t mask) const;
    [[nodiscard]] bool report_unwritten(Ref ref, std::uint32_t lanes);
    [[nodiscard]] bool report_unwritten(const Origin& origin, std::uint32_t lanes, Ref ref = no_ref);
    [[nodiscard]] bool report_unfenced(const Race& write, unsigned lane, std::string_view what);
    bool note_copied(const Located& at, unsigned lane, std::uint32_t bytes, AccessKind kind,
                     const StoredValues* values);
    /// As RaceShadow::note, of bytes that a lane stores in a row.
    [[nodiscard]] bool note_stores(RaceShadow& shadow, const Located& at, unsigned lane, std::uint64_t bytes,
                                   AccessKind kind, const Accessor& by, const StoredValues* values);
    // Of a race's report (race_report.cpp).
    [[nodiscard]] std::string describe_place(const Located& at, std::uint64_t address) const;
    [[nodiscard]] std::string describe_other(const Race& race, unsigned lane) const;
    [[nodiscard]] std::string describe_instruction(std::uint32_t pc) const;
    [[nodiscard]] std::string thread_of(unsigned warp, unsigned lane) const;
    void begin_fragments(Frame& frame) const;
    [[nodiscard]] bool names_fragments(const Operation& operation) const;
    [[nodiscard]] bool check_fragments(const Operation& operation, std::uint32_t mask);
    [[nodiscard]] bool check_copy(Ref ref, std::uint32_t mask);
    [[nodiscard]] bool report_copy(PendingCopy copy, Ref ref);
    [[nodiscard]] bool copy_fragments(const Operation& operation, std::uint32_t mask);
    void forget_copies(std::uint32_t column, std::uint32_t lanes);
    void mark_copies();
    void spoil_copies(Ref accumulator);
    [[nodiscard]] bool begin_wgmma(const Operation& operation);
    [[nodiscard]] bool check_accumulator(Ref ref, const Wgmma& wgmma);
    [[nodiscard]] bool check_fenced(Ref ref, bool accumulates);
    void mark_fragments(const PendingWgmma& pending);
    void finish_fence();
    void finish_wgmma(std::uint32_t groups);
    void finish_registers(std::uint32_t groups);
    void forget_wgmma(const Frame* frame);
    [[nodiscard]] const PendingWgmma* user_of(Ref ref) const;
    [[nodiscard]] bool report_in_flight(Ref ref, std::string_view use);
    [[nodiscard]] bool note_wgmma(const SharedRange& range, const Located& shared, unsigned warpgroup);
    [[nodiscard]] std::optional<Origin> first_undefined(const SharedRange& range,
                                                        const Located& shared) const;
    void track_wgmma(const Operation& operation, const WgmmaOperands& operands,
                     const UndefinedOperands& undefined);
    void pass_states(const Slot& from, Frame& source, const Slot& to, Frame& target, unsigned lane,
                     std::uint32_t bytes);
    [[nodiscard]] std::string name_of(Ref ref) const;
    [[nodiscard]] std::string name_of(const StoredOrigin& stored) const;
    Flow run_one(const Operation& operation);
    /// As run_one, and tells the launch's observer.
    Flow run_observed(const Operation& operation);
    void tell_late_results();
    void note_late(Frame* frame, std::uint32_t pc, std::uint32_t mask);
    template <bool Observed> State run_selected();
    void run_collective(const Operation& operation, const CollectiveCall& call, std::uint32_t mask);
    void move_states(const Operation& operation, std::uint32_t mask, const Origin& origin);
    void shuffle_states(const Operation& operation, const CollectiveCall& call, const void* const* inputs,
                        std::uint32_t mask);
    void order_members(const CollectiveCall& call, std::uint32_t mask);
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
    bool tracks_written_ = false, is_ordered_ = false;
    bool notes_async_ = false;  // what runs asynchronously is in the order too
    bool is_tracked_ = false;   // what operations do with the registers of the running frame
    struct {
        unsigned party = 0, lane = 0;
        bool is_store = false;
    } async_;  // who copies
    std::uint32_t wgmma_groups_ = 0;
    std::uint32_t products_ = 0;                           // of a checked launch: wgmma.mma_async so far
    std::array<std::uint32_t, 8> products_of_group_ = {};  // up to each of the last groups
    std::uint32_t wgmma_fences_ = 0;
    bool wgmma_stage_ = false;  // a wgmma.fence came, and no wait since
    std::vector<PendingWgmma> pending_wgmma_;
    std::vector<PendingCopy> pending_copies_;
    Fragment* fragments_ = nullptr;                        // of the running frame
    std::unordered_map<std::uint32_t, Hammock> hammocks_;  // of branches that were asked for
    std::uint32_t local_stride_ = 0;                       // bytes of each thread

    std::vector<AccessedPiece> pieces_;  // of a launch that is observed: those of the running operation
    std::vector<LateResult> late_results_;

    const Region* region_ = nullptr;  // the last one found
    Error error_;
};

}  // namespace ptxgraft::emulator
